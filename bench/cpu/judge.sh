#!/bin/bash
# judge.sh - what the oracle costs where races come by the thousand: a table of 40 racy programs.
#
#   judge.sh DIR COLLIDER NVCC [NAME ...]     DIR is what tests/gpu/build.sh made
#
# The 13 racy examples and the kernels of racy.cu (built in DIR): processor time of plain emulation and
# of --detector=oracle, seed 1, the least of RUNS (1), their ratio, and the geometric mean of all ratios.
# Below 10 ms a ratio says little: those programs are listed and not in the mean.
# LIMIT: seconds for each run (120).
set -u
dir=$1 nvcc=$3
here=$(cd "$(dirname "$0")" && pwd)
lib=$(dirname "$(readlink -f "$2")")/../lib/collider/cpu/libcudart.so.13
shift 3
names="$*"
[ "$dir/racy" -nt "$here/racy.cu" ] ||
	"$nvcc" -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared -o "$dir/racy" \
		"$here/racy.cu" || exit 1

once() { # once OPTIONS COMMAND ...: its seconds
	local options=$1
	shift
	COLLIDER_CPU=seed=1:device-stats$options LD_PRELOAD=$lib timeout "${LIMIT:-120}" "$@" 2>&1 |
		sed -n 's/.* thread instructions, \([0-9.]*\) s.*/\1/p' | head -1
}

least() { # least OPTIONS COMMAND ...
	local i
	for ((i = 0; i < ${RUNS:-1}; i++)); do
		once "$@"
	done | sort -g | head -1
}

one() { # one NAME COMMAND ...
	local name=$1
	shift
	[ -z "$names" ] || [[ " $names " == *" $name "* ]] || return
	echo "$name $(least "" "$@") $(least :detector=oracle "$@")"
}

{
	for bin in "$dir"/plain/*.fixed; do
		one "$(basename "$bin" .fixed)" "${bin%.fixed}"
	done
	for name in $("$dir/racy"); do
		one "$name" "$dir/racy" "$name"
	done
} | awk '
	BEGIN { printf "%-20s %8s %9s %7s\n", "program", "plain", "oracle", "ratio" }
	NF < 3 { printf "%-20s %8s  not done\n", $1, $2; next }
	{
		ratio = $2 > 0 ? $3 / $2 : 0
		printf "%-20s %8.3f %9.3f %7.1f\n", $1, $2, $3, ratio
		fflush()
	}
	$2 >= 0.01 { sum += log(ratio); n++; worst = ratio > worst ? ratio : worst }
	END { if (n) printf "%d of 10 ms and more: geometric mean %.1f, worst %.1f\n", n, exp(sum / n), worst }'
