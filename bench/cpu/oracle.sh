#!/bin/bash
# oracle.sh - what the oracle costs on the CPU device: time against plain emulation, shadow by word.
#
#   oracle.sh DIR COLLIDER [NAME ...]     DIR is what tests/gpu/build.sh made
#
# One line a program (the fixed examples, then the kernels of bench/overhead by size small): processor
# time of both processes, loading and host code included, their ratio, and bytes of shadow (pages,
# sets, records, strong writes; clocks apart) for each word that was touched. Below 10 ms a ratio
# says little.
# LIMIT: seconds for each run (600).
set -u
dir=$1
lib=$(dirname "$(readlink -f "$2")")/../lib/collider/cpu/libcudart.so.13
shift 2
limit=${LIMIT:-600}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Seconds of a run; what it said is in $out.
seconds() { # seconds OPTIONS COMMAND ...
	local options=$1
	shift
	COLLIDER_CPU=seed=1:device-stats$options LD_PRELOAD=$lib timeout "$limit" "$@" >"$out" 2>&1
	sed -n 's/.* thread instructions, \([0-9.]*\) s.*/\1/p' "$out" | head -1
}

number() { # number WORD: the number before it in the line about the shadow
	sed -n "s/.*shadow: .*/&/p" "$out" | head -1 | tr -d , | grep -o "[0-9]* $1" | head -1 | cut -d' ' -f1
}

one() { # one NAME COMMAND ...
	local name=$1 plain oracle
	shift
	plain=$(seconds "" "$@")
	oracle=$(seconds :detector=oracle "$@")
	[ -n "$oracle" ] || { printf '%-20s %8s  not done in %s s\n' "$name" "$plain" "$limit"; return; }
	local clocks
	clocks=$(grep -o 'clocks: [0-9,]*' "$out" | head -1 | tr -dc 0-9)
	echo "$plain $oracle $(number "bytes for") $(number "words") $clocks" | awk -v n="$name" \
		'{ printf "%-20s %8.3f %9.3f %7.1f %10d %7.1f %7.1f\n",
			n, $1, $2, $2 / $1, $4, $3 / $4, $5 / $4 }'
}

printf '%-20s %8s %9s %7s %10s %7s %7s\n' program plain oracle ratio words bytes clocks
wanted() { [ -z "$names" ] || [[ " $names " == *" $1 "* ]]; }
names="$*"
for bin in "$dir"/plain/*.fixed; do
	name=$(basename "$bin")
	wanted "$name" && one "$name" "$bin"
done
for name in triad matmul reduction scan histogram stencil2d stencil3d bfs radix_sort transpose spmv \
	nbody softmax attention convolution bitonic; do
	wanted "$name" && one "$name" "$dir/plain/overhead" --size small --repeat 1 --only "$name"
done
