#!/bin/sh
# told.sh COLLIDER SOURCE_FOLDER - a report says what is so: after a program was ended from outside, when a
# device stopped, about the host's copies, about graphs, and when nothing was checked.
set -eu
collider=$1
src=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_RUNTIME_DIR="$dir/run"
mkdir run
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0

fail() {
	echo "FAILED: $*"
	echo "  last command: $last"
	sed 's/^/  /' out
	failed=1
}

# run CODE ARGUMENTS...: collider run on the CPU device, its output in out
run() {
	want=$1 rc=0
	shift
	last="$*"
	"$collider" run --device=cpu --detector=collide "$@" >out 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc, expected $want"
}
has() { grep -qE -e "$1" out || fail "no line with '$1'"; }
hasnt() { ! grep -qE -e "$1" out || fail "a line with '$1'"; }

build() { "$collider" nvcc -arch=compute_90 --no-fit -g -lineinfo "$@" >out 2>&1 || { last=build; fail "$*"; }; }
for p in told_copies told_graph told_stop killed; do
	build "$src/$p.cu" -o $p
done

# Ended by the time limit: what was judged and checked until then, and "at least".
run 143 --detector=oracle --timeout=2 ./told_stop loop
has 'kernel launch, at least [0-9,]{4,} accesses by'
has 'DATA RACE'
run 143 --detector=oracle --timeout=2 ./told_stop loop-quiet
has '======== no race seen in at least [0-9,]{4,} judged accesses'
hasnt 'NOTHING'
run 143 --timeout=2 ./told_stop loop-quiet
has '======== no race seen in at least [0-9,]{4,} checked accesses'
run 134 --detector=oracle ./told_stop abort
has '======== no race seen in at least [0-9,]{2,} judged accesses'
# The twin ended by itself: exact figures.
run 137 --detector=oracle ./killed fixed
hasnt 'at least'
run 137 --verbose ./killed fixed
has 'these counters are exact'

# What stopped the device, headed by the race that explains it.
run 0 --detector=oracle ./told_stop free
has '^Stopped : store of 4 bytes at .*memory freed'
has 'by the data race that is shown first'
has '^1. DATA RACE: memory freed while it was still used'
has 'RACES WITH cudaFreeAsync on stream'
has 'told_stop.cu:65'
run 0 --detector=oracle ./told_stop free-ordered
has '======== no race seen'
hasnt Stopped
run 0 --detector=oracle --seed=1 ./told_stop index
has '^Stopped : store of 4 bytes'
has 'perhaps by a data race of this function, below'
run 0 --detector=oracle ./told_stop index-ordered
has '======== no race seen'
for seed in 1 2 3 4; do
	run 0 --detector=oracle --seed=$seed ./told_stop mbarrier
	has '^1. DATA RACE: unordered writes'
	has 'after initialising an mbarrier'
	hasnt Stopped
	run 0 --detector=oracle --seed=$seed ./told_stop mbarrier-ordered
	has '======== no race seen'
done
run 0 ./told_stop free
has '^Stopped : store of 4 bytes'
hasnt 'by the data race'

# Copies: who reads, which function, which line; each direction for itself.
seen=
for seed in 1 2 3 4 5 6 7 8; do
	run 0 --detector=oracle --seed=$seed ./told_copies
	if grep -q 'told_copies.cu:24' out; then
		has 'DATA RACE: unordered read and write'
		has 'cudaMemcpyAsync on stream 3, reads'
		seen="$seen read"
	fi
	if grep -q 'told_copies.cu:25' out; then
		has 'DATA RACE: unordered writes'
		seen="$seen write"
	fi
	has 'RACES WITH cudaMemcpyAsync on stream 3, '
	run 0 --detector=oracle --seed=$seed ./told_copies ordered
	has '======== no race seen'
done
case $seen in *read*write* | *write*read*) ;; *) fail "not both copies were seen: $seen" ;; esac

# In a graph an event orders nothing.
run 0 --detector=oracle ./told_graph
has 'DATA RACE'
has 'an edge between the two nodes of the graph'
hasnt 'launch both into one stream'
run 0 --detector=oracle ./told_graph edge
has '======== no race seen'

# The first race ends the program, with or without a detector of its own.
for how in --detector=collide --detector=oracle; do
	run 9 --halt-on-race --error-exitcode=9 --timeout=60 $how ./told_stop loop
	has 'Note: the program was ended by --halt-on-race'
	run 143 --halt-on-race --timeout=2 $how ./told_stop loop-quiet
	has 'ended by --timeout=2'
done

# Nothing was checked, and why.
cat >none.cu <<'EOF'
#include <cstdio>
__global__ void k(int *p) { p[0] = 1; }
int main(int argc, char **argv)
{
	int *p;
	if (argc < 2)
		return puts("usage: none WHAT") < 0;
	cudaMalloc(&p, 4);
	if (argv[1][0] == 'k')
		k<<<1, 1>>>(p);
	cudaDeviceSynchronize();
	return 0;
}
EOF
build none.cu -o none
COLLIDER_DISABLE=1 "$collider" nvcc -arch=sm_90 none.cu -o none_static
COLLIDER_DISABLE=1 "$collider" nvcc -arch=sm_90 -cudart shared none.cu -o none_plain
COLLIDER_DISABLE=1 "$collider" nvcc -gencode arch=compute_90,code=sm_90 -cudart shared none.cu -o none_code
run 0 --fail-unchecked ./none k
run 73 --fail-unchecked ./none
has 'NOTHING WAS CHECKED: the program ended before its first CUDA call'
run 73 --fail-unchecked --error-exitcode=9 ./none memory
has 'NOTHING WAS CHECKED: the program launched no kernel'
run 73 --fail-unchecked ./none_static
has 'NOTHING WAS CHECKED: the program ended before its first CUDA call'
run 0 --fail-unchecked ./none_static k
has 'no race seen in 1 checked access'
# What was built without checks gets them when the device loads it.
run 0 --fail-unchecked ./none_plain k
has 'no race seen in 1 checked access'
run 73 --fail-unchecked ./none_code k
has 'NOTHING WAS CHECKED: GPU code could not be loaded: .*none_code holds machine code only'
has '^  kernel k\(int\*\): GPU code could not be loaded'
run 73 --fail-unchecked /bin/true
has "NOTHING WAS CHECKED: /bin/true has no GPU code and isn't linked with CUDA"
run 0 /bin/true

# -rdc: a kernel whose accesses are all in another object is a launch, too.
cat >rdc_a.cu <<'EOF'
__device__ void write(int *p);
__global__ void k(int *p) { write(p); }
int main()
{
	int *p;
	cudaMalloc(&p, 4096);
	for (int i = 0; i < 3; i++)
		k<<<2, 32>>>(p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
EOF
cat >rdc_b.cu <<'EOF'
__device__ void write(int *p) { p[blockIdx.x * 32 + threadIdx.x] = 1; }
EOF
build -rdc=true rdc_a.cu rdc_b.cu -o rdc
run 0 ./rdc
has '^What was checked: 3 kernel launches with instrumentation \(3 launches in all\)'
has '^  192 accesses read again'

# `x += 1` in many blocks.
cat >update.cu <<'EOF'
__global__ void k(int *p) { for (int i = 0; i < 100; i++) *p += 1; }
int main()
{
	int *p;
	cudaMalloc(&p, 4);
	k<<<64, 1>>>(p);
	return cudaDeviceSynchronize() != cudaSuccess;
}
EOF
build update.cu -o update
run 0 ./update
has 'atomicAdd\(\) instead of the load and the'
hasnt 'within a block __syncthreads'
run 0 --detector=oracle ./update
has 'atomicAdd\(\) instead of the load and the store'

# A killed collider run: the program ends, and what it found is there.
"$collider" run --device=cpu --detector=collide ./told_stop loop >out 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	# The first child is the one that keeps the file, the second the program.
	app=$(cut -d' ' -f2 /proc/$pid/task/$pid/children)
	[ -n "$app" ] && [ $i -ge 4 ] && break
	sleep 0.5
done
kill -9 $pid
wait $pid 2>/dev/null || true
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	ls run/collider/*.rescue >/dev/null 2>&1 && break
	sleep 0.5
done
last="report --rescue"
grep -q '^State:	[^Z]' "/proc/$app/status" 2>/dev/null && fail "the program $app is still there"
"$collider" report --rescue >out 2>&1 || fail "exit code $?"
has 'DATA RACE'
has 'COLLIDER REPORT: ./told_stop loop'
has 'rescued from .*/run/collider/[0-9]*\.rescue'
rm -r run/collider
rc=0
"$collider" report --rescue >out 2>&1 || rc=$?
[ $rc = 1 ] || fail "exit code $rc without a file, expected 1"
has 'no collider run left a file in'
run 0 ./told_graph edge
[ ! -e run/collider ] || fail "a run that ended left a file"
exit $failed
