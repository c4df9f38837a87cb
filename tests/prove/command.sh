#!/bin/bash
# command.sh - collider prove as a command: exit codes, sources, options: command.sh COLLIDER DIR
set -u
collider=$1 dir=$2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

expect() { # expect CODE PATTERN ARGUMENTS...
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$collider" prove "$@" 2>&1)
	rc=$?
	[ $rc -eq "$code" ] || { echo "FAIL prove $*: expected exit code $code, found $rc"; echo "$out"; failed=1; }
	grep -Eq -- "$pattern" <<<"$out" || { echo "FAIL prove $*: expected $pattern, found:"; echo "$out"; failed=1; }
}

cat >"$tree/mask.cu" <<'CU'
//--blockDim=32 --gridDim=1
#ifndef OFFSET
#define OFFSET 1u
#endif
__global__ void mask(float *y) { y[(threadIdx.x - OFFSET) & 31] = 1.0f; }
CU
expect 0 'blockDim.x = 32' "$tree/mask.cu"
expect 10 'threadIdx.x' --block-dim=64 "$tree/mask.cu"
expect 0 'race-free' "$tree/mask.cu" -- -DOFFSET=5u
cat >"$tree/assume.cu" <<'CU'
__global__ void half(float *y, int n)
{
	collider_assume(n == 1);
	y[threadIdx.x / n] = 1.0f;
}
CU
expect 0 'collider_assume' "$tree/assume.cu"
cat >"$tree/param.cu" <<'CU'
__global__ void half(float *y, int n) { y[threadIdx.x / n] = 1.0f; }
CU
expect 10 'true data race' "$tree/param.cu"
expect 10 'scalar parameters may be anything here' --block-dim=4 "$tree/param.cu"
expect 10 'what it uses: --param=NAME=VALUE$' --block-dim=4 --grid-dim=1 "$tree/param.cu"
expect 0 'parameter 2 = 1' --param=2=1 "$tree/param.cu"
cat >"$tree/tile.cu" <<'CU'
__global__ void tile(float *y)
{
	__shared__ float s[256];
	s[threadIdx.x % 256] = 1.0f;
	y[blockIdx.x * 256 + threadIdx.x % 256] = 1.0f;
}
CU
expect 10 'because blockDim.x, gridDim.x may be anything here' "$tree/tile.cu"
expect 10 'what it uses: --block-dim=X,Y,Z --grid-dim=X,Y,Z$' "$tree/tile.cu"
expect 10 'found with blockDim \(' "$tree/tile.cu"
expect 10 '"free":\["blockDim.x","gridDim.x"\]' --format=json "$tree/tile.cu"
expect 0 '^tile.*race-free$' --block-dim=256 "$tree/tile.cu"
expect 10 'because gridDim.x may be anything' --block-dim=512 "$tree/tile.cu"
expect 11 'assume.cu:3: this assumption contradicts the others' --param=2=2 "$tree/assume.cu"
expect 11 'parameter 2 = 2 contradicts the others' --param=2=2 "$tree/assume.cu"
expect 0 'race-free' --param=2=1 "$tree/assume.cu"
expect 11 'error: vacuous' --param=2=1,2=2 "$tree/param.cu"
expect 11 '"verdict":"vacuous"' --format=json --block-dim=2048 "$tree/param.cu"
expect 11 "blockDim.x = 2048 is above CUDA's limit" --block-dim=2048 "$tree/param.cu"
for second in 32 64; do
	printf '//--blockDim=64\n//--blockDim=%s\n%s\n' $second \
		'__global__ void k(float *y) { y[threadIdx.x] = 1.0f; }' >"$tree/lines$second.cu"
done
expect 11 'lines32.cu:2: vacuous: --blockDim=32 contradicts line 1' "$tree/lines32.cu"
expect 0 'race-free' "$tree/lines64.cu"
expect 0 'parameter n = 1' --param=n=1 "$tree/param.cu"
expect 11 "no parameter 'm'" --param=m=1 "$tree/param.cu"
expect 2 'NAME=VALUE' --param=n "$tree/param.cu"
expect 2 'expected numbers' --block-dim=many "$tree/param.cu"
expect 2 'takes a .cu or .ptx' --block-dim=4
expect 1 'No such file' "$tree/none.ptx"
echo 'this is no PTX' >"$tree/bad.ptx"
expect 1 'bad.ptx:1:' "$tree/bad.ptx"
expect 11 'could not prove' "$dir/steps/unknown.ptx"
expect 12 'potential' "$dir/steps/undefined.ptx"
expect 0 '"verdict":"race-free"' --format=json "$dir/steps/switch.ptx"
exit $failed
