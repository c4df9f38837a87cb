#!/bin/bash
# prune.sh - collider nvcc --prune leaves out what is proven, and nothing else, on the CPU device.
#
#   prune.sh COLLIDER COLLIDER-NVCC PRUNE.CU
#
# Kernels of prune.cu that are proven run without findings and with fewer checks; the same kernels
# launched outside of the proof's contract still report their races; a racy kernel keeps all checks.
# So for collide, hirace and iguard.
collider=$1 nvcc=$2 source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache # what one build proves the next ones know
mkdir "$XDG_CACHE_HOME"
failed=0

detector=collide

# run PROGRAM EXIT-CODE KERNEL BLOCK... : the report in $dir/out. collide finds no_barrier's race in 18 of
# 20 seeds.
run() {
	local program=$1 code=$2
	shift 2
	local seed got
	for seed in 1 2 3 4; do
		"$collider" run --device=cpu --detector=$detector --seed=$seed --error-exitcode=10 "$dir/$program" "$@" >"$dir/out" 2>&1
		got=$?
		[ "$code" = 10 ] && [ $got = 0 ] && [ $detector = collide ] || break
	done
	checked=$(sed -nE 's/^  ([0-9,]*) access(es)? (read again|judged by the history).*/\1/p' "$dir/out" | tr -d ,)
	checked=${checked:-0}
	[ $got = "$code" ] && return
	echo "FAIL $program $*: expected exit code $code, found $got"
	cat "$dir/out"
	failed=1
}

# says TEXT / says_not TEXT: of the latest run
says() {
	grep -qF -- "$1" "$dir/out" && return
	echo "FAIL expected: $1"
	cat "$dir/out"
	failed=1
}

says_not() {
	grep -qF -- "$1" "$dir/out" || return
	echo "FAIL not expected: $1"
	cat "$dir/out"
	failed=1
}

# is NUMBER NUMBER WHAT
is() {
	[ "$1" = "$2" ] && return
	echo "FAIL $3: expected $2, found $1"
	failed=1
}

# The CPU device needs the PTX only: no registers to fit, for which ptxas takes long.
ptx='--no-fit -gencode arch=compute_90,code=compute_90'
"$nvcc" --prune=proved -arch=sm_90 -o "$dir/proved" "$source" || exit 1
for prune in none proved-global; do
	"$nvcc" --prune=$prune $ptx -o "$dir/$prune" "$source" || exit 1
done
ls "$XDG_CACHE_HOME/collider/" | grep -q '^prove-' || { echo 'FAIL --prune keeps no results'; failed=1; }

run none 0 mirror 64
is "$checked" 128 'checks of mirror without --prune'
says_not 'proven'
run proved 0 mirror 64
is "$checked" 0 'checks of mirror within its contract'
says 'to shared memory, proven race-free for some launches; in all others they are checked'
run proved 10 mirror 64 2
says 's[threadIdx.x] = atomicAdd'

run none 0 folded 64
is "$checked" 128 'checks of folded without --prune'
run proved 0 folded 64
is "$checked" 0 'checks of folded with 64 threads'
run proved 10 folded 128
says 's[threadIdx.x % 64] = atomicAdd'

run none 0 tile 16 16
is "$checked" 4096 'checks of tile without --prune'
run proved 0 tile 16 16
is "$checked" 2048 'checks of tile with 16 by 16 threads: those of global memory'
run proved 10 tile 32 8

run none 10 no_barrier 64
all=$checked
run proved 10 no_barrier 64
is "$checked" "$all" 'checks of no_barrier: a racy kernel keeps them'

run none 0 shared_by_all 16 4
[ "$checked" -gt 0 ] || { echo 'FAIL shared_by_all has no checks without --prune'; failed=1; }
run proved 0 shared_by_all 16 4
is "$checked" 1 'checks of shared_by_all: the one load of global memory'
says 'to shared memory, proven race-free (--prune)'

# that accesses stay within their arrays is proven, or they keep their checks
run none 10 slip 64 2
run proved 10 slip 64 2
says 'DATA RACE: lost update'
run proved 0 slip 64

run proved 0 copy 64
is "$checked" 256 'checks of copy: global memory is not left out'
run proved-global 0 copy 64
is "$checked" 0 'checks of copy with --prune=proved-global'
says 'races with other kernels and the host go unseen'

run none 0 last 64
is "$checked" 5 'checks of last without --prune'
run proved-global 0 last 64
is "$checked" 4 'checks of last: what rests on the contents of memory keeps them'

# detectors that follow every access: atomics are still followed, and found is what collide finds
for detector in hirace iguard; do
	"$nvcc" --prune=proved --sanitize=$detector $ptx -o "$dir/$detector" "$source" || exit 1
	run $detector 0 mirror 64
	is "$checked" 128 "accesses of mirror that $detector judges: the atomics"
	says '5 to shared memory, proven race-free for some launches; in all others they are checked'
	run $detector 10 mirror 64 2
	is "$checked" 384 "accesses of mirror that $detector judges outside of its contract"
	says 's[threadIdx.x] = atomicAdd'
	run $detector 0 folded 64
	is "$checked" 128 "accesses of folded that $detector judges with 64 threads"
	run $detector 10 folded 128
	says 's[threadIdx.x % 64] = atomicAdd'
	run $detector 10 no_barrier 64
	is "$checked" 256 "accesses of no_barrier that $detector judges: a racy kernel keeps them"
	run $detector 0 copy 64
	is "$checked" 256 "accesses of copy that $detector judges: global memory is not left out"
done
detector=hirace
"$nvcc" --prune=proved-global --sanitize=hirace $ptx -o "$dir/global" "$source" || exit 1
run global 0 copy 64
is "$checked" 0 'accesses of copy that hirace judges with --prune=proved-global'
says 'races with other kernels and the host go unseen'
run global 10 no_barrier 64
run global 0 beside

# proved-alone: as proved-global where one kernel runs, and as proved where another one runs beside it
detector=hirace,iguard
"$nvcc" --prune=proved-alone --sanitize=$detector $ptx -o "$dir/alone" "$source" || exit 1
run alone 0 copy 64
is "$checked" 0 'accesses of copy that hirace and iguard judge with --prune=proved-alone'
says 'to global memory, proven race-free within a launch'
run alone 10 no_barrier 64
run alone 10 beside
says 'out[i] = in[i] + 1'
# collide knows of no other kernel, so it keeps its checks of global memory
detector=collide
"$nvcc" --prune=proved-alone $ptx -o "$dir/alone" "$source" || exit 1
run alone 0 copy 64
is "$checked" 256 'checks of copy by collide with --prune=proved-alone'

# where all of a kernel is proven, such a launch runs the program's own code
"$nvcc" --sanitize=none -lineinfo -arch=sm_90 -ptx -o "$dir/none.ptx" "$source" || exit 1
text_of() { "$collider" instrument --sanitize=none "$1" -o - | grep -vE '^\.version|^[[:space:]]*(\.loc|//|$)|maxnreg'; }
detector=hirace
"$nvcc" --prune=proved-alone --sanitize=$detector $ptx -o "$dir/alone" "$source" || exit 1
run alone 0 copy 64
is "$checked" 0 'accesses of copy that hirace judges with --prune=proved-alone'
run alone 0 folded 64
run alone 10 folded 128
says 's[threadIdx.x % 64] = atomicAdd'
run alone 10 no_barrier 64
run alone 10 beside
says 'out[i] = in[i] + 1'
run alone 0 image 32 8
is "$checked" 0 'accesses of image that hirace judges with blocks of its tile'
run alone 10 image 64 8
says 'out[y * n + x] = x'
run alone 0 warps 64
is "$checked" 0 'accesses of warps that hirace judges with whole warps'
run alone 10 warps 48
says 'blockDim.x + threadIdx.x) / 32] = threadIdx.x'
# A group of reads is led by one whose check is left out; the others keep theirs.
root=$(dirname "$source")/../..
"$nvcc" --prune=proved --sanitize=$detector $ptx -I"$root/examples" -o "$dir/levels" "$root/examples/reduction.cu" || exit 1
run levels 10
for detector in hirace iguard; do
	flags="--prune=proved-alone --sanitize=$detector"
	"$nvcc" $flags $ptx -ptx -o "$dir/alone.ptx" "$source" || exit 1
	grep -q '^$collider_plain:' "$dir/alone.ptx" || { echo "FAIL $detector: no kernel has code without checks"; failed=1; }
	"$collider" instrument --strip "$dir/alone.ptx" -o "$dir/stripped.ptx" || failed=1
	diff <(text_of "$dir/stripped.ptx") <(text_of "$dir/none.ptx") >"$dir/out" || {
		echo "FAIL $detector: --strip leaves another text"
		head -20 "$dir/out"
		failed=1
	}
done

# what is left out is not in the code at all, or behind the contract's predicate
"$nvcc" --prune=wrong -arch=sm_90 -o "$dir/wrong" "$source" >"$dir/out" 2>&1
[ $? = 2 ] || { echo 'FAIL --prune=wrong: expected exit code 2'; failed=1; }
exit $failed
