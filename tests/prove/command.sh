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
expect 0 'parameter 2 = 1' --param=2=1 "$tree/param.cu"
expect 2 'INDEX=VALUE' --param=n=1 "$tree/param.cu"
expect 2 'expected numbers' --block-dim=many "$tree/param.cu"
expect 2 'takes a .cu or .ptx' --block-dim=4
expect 1 'No such file' "$tree/none.ptx"
echo 'this is no PTX' >"$tree/bad.ptx"
expect 1 'bad.ptx:1:' "$tree/bad.ptx"
expect 11 'could not prove' "$dir/steps/unknown.ptx"
expect 12 'potential' "$dir/steps/undefined.ptx"
expect 0 '"verdict":"race-free"' --format=json "$dir/steps/switch.ptx"
exit $failed
