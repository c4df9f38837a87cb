#!/bin/bash
# What an alarm says that helps: by what the two threads are to each other, and nothing where it isn't certain to race.
#   helps.sh COLLIDER
collider=$1 failed=0
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 2
export XDG_CACHE_HOME=$tree
cat >k.cu <<'CU'
__global__ void sum_block(float *out)
{
	__shared__ float s[64];
	s[threadIdx.x] = threadIdx.x;
	out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void smooth(float *a)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	a[i] = a[i + 1] / 2;
}
__global__ void count(int *total) { *total += 1; }
__global__ void may_count(int *bins, const int *in) { bins[in[threadIdx.x]] = threadIdx.x; }
__global__ void fixed(int *total) { atomicAdd(total, 1); }
CU
# says KERNEL CODE TEXT: what helps, or, without a text, nothing does
says() {
	"$collider" prove --no-cache --block-dim=64 --kernel="$1" k.cu >out 2>&1
	rc=$?
	[ $rc = "$2" ] || { echo "FAILED: $1: exit code $rc, expected $2" && cat out && failed=1; }
	if [ -n "$3" ]; then
		grep -A1 'What usually helps' out | grep -q -- "$3" || { echo "FAILED: $1: no '$3'" && cat out && failed=1; }
	else
		! grep 'What usually helps' out || { echo "FAILED: $1" && failed=1; }
	fi
}
says sum_block 10 '__syncthreads() between the two'
says smooth 10 'no barrier reaches another block' # though threads of one block race, too
says count 10 'one atomic step for the whole update'
says fixed 0 ''
"$collider" prove --no-cache --no-confirm --block-dim=64 --kernel=may_count k.cu >out 2>&1
! grep 'What usually helps' out || { echo "FAILED: may_count" && failed=1; }
"$collider" prove --no-cache --block-dim=64 --kernel=count --format=sarif k.cu | grep -q 'one atomic step' ||
	{ echo "FAILED: no help in another form" && failed=1; }
exit $failed
