#!/bin/bash
# run_cases.sh - the asynchronous kernels of tests/cpu/cases: a GPU must leave what the CPU device does
#
#   run_cases.sh COLLIDER GPU_CASES [-c] [-s SEEDS] [-k RUNS] [FILE.ptx...]
#
# Each launch that the files name (default: those for sm_90 with asynchronous copies, matrix products or
# mbarriers) is executed alone by the program GPU_CASES. On the CPU device, by the default detectors with
# SEEDS seeds (3), it is right if no seed has a finding, racy if each has one. A right one must leave the
# same memory with all seeds; on the GPU it is executed RUNS times (20) without Collider, and must leave
# that memory each time. With -c only the CPU device is asked, for the kernels of sm_100, too. A launch
# alone may lack what an earlier one of its file has stored: it is compared all the same.
#
# Prints a line for each launch that isn't as it must be, then sums. Exit code 1: a difference, a launch
# with findings in some seeds only, one named *_right or `fixed` with a finding; 2: wrong usage.
# JOBS: how many at once (2).
set -u

here=$(cd "$(dirname "$0")" && pwd)
usage="usage: $0 COLLIDER GPU_CASES [-c] [-s SEEDS] [-k RUNS] [FILE.ptx...]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
collider=$(realpath "$1") program=$(realpath "$2")
shift 2
seeds=3 runs=20 is_gpu=1 targets='sm_(80|90)'
while getopts cs:k: o; do
	case $o in
	c) is_gpu= targets=sm_ ;;
	s) seeds=$OPTARG ;;
	k) runs=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
files=("$@")
if [ $# -eq 0 ]; then
	cd "$here/../cpu/cases" || exit 2
	about='wgmma|tcgen05|cp\.(reduce\.)?async|mbarrier|[ls][dt]matrix|mma\.|(st|red)\.async|multimem|try_cancel'
	for f in *.ptx; do
		grep -qE "^\.target $targets" "$f" && grep -qE "$about" "$f" && ! grep -q '^// expect-fault' "$f" &&
			files+=("$PWD/$f")
	done
fi
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

# one FILE N KERNEL: a line `verdict file kernel what`
one() {
	local file=$1 n=$2 name work seed rc found=0 left= first= what=
	name="$(basename "$file" .ptx) $3"
	work=$(mktemp -d "$tmp/XXXXXX")
	for seed in $(seq "$seeds"); do
		"$collider" run --device=cpu --seed="$seed" --error-exitcode=9 --log-file="$work/log" -- \
			"$program" "$file" "$n" >"$work/out" 2>"$work/err"
		rc=$?
		case $rc in
		0) left=$(cat "$work/out") ;;
		9) found=$((found + 1)) ;;
		77) echo "skipped $name"; return ;;
		*) echo "BAD $name on the CPU device: $(tail -1 "$work/err")"; return ;;
		esac
		[ "$rc" = 9 ] || : "${first:=$left}"
		[ "$rc" = 9 ] || [ "$left" = "$first" ] || what="leaves other memory with other seeds"
	done
	case $found:$3 in
	0:*) ;;
	[1-9]*:*right | [1-9]*:fixed) echo "BAD $name has a finding"; return ;;
	"$seeds":*) echo "racy $name"; return ;;
	*) echo "BAD $name has a finding in $found of $seeds seeds"; return ;;
	esac
	[ -z "$what" ] || { echo "BAD $name $what"; return; }
	[ "$is_gpu" ] || { echo "right $name"; return; }
	timeout 60 "$program" "$file" "$n" "$runs" >"$work/out" 2>"$work/err"
	rc=$?
	if [ $rc != 0 ]; then
		echo "BAD $name on the GPU: code $rc, $(tail -1 "$work/err")"
	elif [ "$(cat "$work/out")" != "$first" ]; then
		echo "BAD $name leaves other memory on the GPU"
	else
		echo "right $name"
	fi
}
export -f one
export collider program seeds runs is_gpu tmp

for f in "${files[@]}"; do
	awk -v f="$f" '/^\/\/ launch / { print f, ++n, $3 }' "$f"
done >"$tmp/list" || exit 2
xargs -P "${JOBS:-2}" -L 1 bash -c 'one "$@"' one <"$tmp/list" >"$tmp/lines"
grep -E '^(BAD|skipped)' "$tmp/lines" | sort
for verdict in right racy skipped BAD; do
	echo "$verdict: $(grep -c "^$verdict " "$tmp/lines")"
done
! grep -q '^BAD' "$tmp/lines" && [ "$(wc -l <"$tmp/lines")" = "$(wc -l <"$tmp/list")" ]
