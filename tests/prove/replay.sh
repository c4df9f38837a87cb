#!/bin/bash
# replay.sh - from proofs to runs and back: replay.sh COLLIDER COLLIDER_NVCC
#
# A reproducer that prove wrote is built and run: the oracle must report the alarm's lines. The
# launches that a run recorded are given to prove: what holds for those launches must be proven, and
# what races in them must not.
set -u
collider=$1 nvcc=$2 here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 2
failed=0

expect() { # expect CODE PATTERN COMMAND...
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$@" 2>&1)
	rc=$?
	[[ $rc -eq $code ]] || { echo "FAIL $*: expected exit code $code, found $rc"; echo "$out"; failed=1; }
	grep -Eq -- "$pattern" <<<"$out" || { echo "FAIL $*: expected $pattern, found:"; echo "$out"; failed=1; }
}

cat >app.cu <<'CU'
#include <cstdio>

namespace ns
{
// Threads of one half each; races unless n is 1.
template <typename T> __global__ void halves(T *y, unsigned n)
{
	extern __shared__ T s[];
	s[threadIdx.x / n] = threadIdx.x + ADD;
	__syncthreads();
	y[threadIdx.x] = s[threadIdx.x / n];
}
}

int main(int argc, char **argv)
{
	float *y;
	cudaMalloc(&y, 64 * sizeof(*y));
	ns::halves<float><<<1, 64, 256>>>(y, argc > 1 ? 2 : 1);
	ns::halves<float><<<1, 32, 256>>>(y, argc > 1 ? 2 : 1);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
CU

# an alarm, its reproducer, the oracle's verdict
expect 10 'reproducer: ./race1.cu' "$collider" prove --no-cache --no-remedies --confirm --reproducer=. \
	--grid-dim=1 --param=n=2 app.cu -- -DADD=1
options=$(sed -n 's|^// *collider nvcc\(.*\) -o race ./race1.cu$|\1|p' race1.cu)
[ "$options" = " --sanitize=none -G -arch=sm_90 '-DADD=1'" ] || { echo "FAIL race1.cu: options $options"; failed=1; }
line=$(grep -n 's\[threadIdx.x / n\] = ' app.cu | cut -d: -f1)
if eval "$nvcc $options -o race race1.cu" >log 2>&1; then
	expect 0 "at .*/app.cu:$line:" "$collider" run --device=cpu --detector=oracle --seed=1 ./race
else
	echo 'FAIL the reproducer does not compile'; cat race1.cu log; failed=1
fi
# prove knows a function by its name; the oracle sees the copy within
expect 10 'confirmed: the launch raced' "$collider" prove --no-cache --no-remedies --confirm "$here/steps/copy_call_racy.ptx"
# a few blocks of a launch that is too large to run as a whole
expect 10 'confirmed: the launch raced' "$collider" prove --no-cache --no-remedies --confirm --block-dim=128 \
	--grid-dim=100000 "$here/steps/copy_call_racy.ptx"
# contents that the solver chose for an array: listed, and in the reproducer
cat >held.cu <<'CU'
__global__ void fill(int *y, const int *flag, int n)
{
	if (flag[blockIdx.x + 3] == 50)
		y[threadIdx.x / 2] = n;
}
CU
rm -f race*.cu
expect 12 'if memory holds flag.3. = 50$' "$collider" prove --no-cache --no-remedies --confirm --reproducer=. \
	--block-dim=32 --grid-dim=1 held.cu
expect 12 'confirmed: .* memory as above and zeros elsewhere' "$collider" prove --no-cache --no-remedies --confirm \
	--block-dim=32 --grid-dim=1 held.cu
if "$nvcc" --sanitize=none -G -o race race1.cu -arch=compute_90 >log 2>&1; then
	expect 0 "at .*/held.cu:4:" "$collider" run --device=cpu --detector=oracle --seed=1 ./race
else
	echo 'FAIL the reproducer with contents does not compile'; cat race1.cu log; failed=1
fi
# of a potential alarm without being asked for, where nothing is assumed of contents
expect 12 'confirmed: .* memory as above and zeros elsewhere; with other contents it may not$' \
	"$collider" prove --no-cache --no-remedies --block-dim=32 --grid-dim=1 held.cu
for options in --no-confirm '--assume=sorted(flag)'; do
	"$collider" prove --no-cache --no-remedies "$options" --block-dim=32 --grid-dim=1 held.cu >log
	! grep confirmed log || { echo "FAIL $options: confirmed"; cat log; failed=1; }
done
sed 's|x / 2|x * 2|' held.cu >held_twin.cu
expect 0 'race-free' "$collider" prove --no-cache --confirm --block-dim=32 --grid-dim=1 held_twin.cu
# a kernel that races only if a sort's input isn't sorted: mixed numbers
cat >mixed.cu <<'CU'
__global__ void sort_pairs(int *s)
{
	unsigned i = threadIdx.x;
	int a = s[i], b = s[i + 1];
	if (a > b) {
		s[i] = b;
		s[i + 1] = a;
	}
}
CU
rm -f race*.cu
expect 12 'confirmed: .* with mixed numbers' "$collider" prove --no-cache --no-remedies --confirm --reproducer=. \
	--block-dim=32 --grid-dim=1 mixed.cu
grep -q 'factor = 2654435761u' race*.cu || { echo 'FAIL no reproducer with mixed numbers'; cat race*.cu; failed=1; }
# Assumptions about contents are kept by words that hold their own numbers, and facts by the run: each
# kernel has a twin that races only where they don't hold.
cat >counted.cu <<'CU'
__global__ void none_twice(int *y, const int *to) { y[to[threadIdx.x] / DIV] = threadIdx.x; }
__global__ void in_code(int *y, const int *to, int n)
{
	collider_injective(to, n);
	__requires(n == 32);
	y[to[threadIdx.x] / DIV & 1023] = threadIdx.x;
}
__global__ void of_threads(int *y, const int *to)
{
	collider_assume(to[threadIdx.x] >= (int)threadIdx.x);
	y[to[threadIdx.x] / DIV] = threadIdx.x;
}
__global__ void distinct(int *y, const int *to)
{
	collider_distinct(to[threadIdx.x]);
	y[to[threadIdx.x] / DIV & 1023] = threadIdx.x;
}
CU
for div in 1 2; do # of numbers from 0 on halves race
	for kernel in none_twice in_code of_threads distinct; do
		rm -f race*.cu
		assume=--assume=1; [ $kernel != none_twice ] || assume='--assume=injective(to)'
		"$collider" prove --no-cache --no-remedies --confirm --reproducer=. --kernel=$kernel --block-dim=32 \
			--grid-dim=1 "$assume" counted.cu -- -DDIV=$div >log
		is=$(grep -c 'confirmed: .* arrays of 0, 1, 2 and so on' log)
		wanted=$((div == 2)); [ $kernel != distinct ] || wanted=0
		[ "$is" = $wanted ] && [ "$(grep -c confirmed: log)" = "$is" ] ||
			{ echo "FAIL $kernel of $div: $is"; cat log; failed=1; }
		[ "$is" = 0 ] || grep -q 'step = 1;' race1.cu ||
			{ echo 'FAIL no reproducer with its own numbers'; cat race*.cu; failed=1; }
	done
done
expect 12 'confirmed: .* arrays of zeros' "$collider" prove --no-cache --no-remedies --block-dim=32 --grid-dim=1 \
	--kernel=none_twice counted.cu -- -DDIV=1
expect 0 'race-free' "$collider" prove --no-cache --block-dim=32 --grid-dim=1 --kernel=none_twice \
	'--assume=injective(to)' counted.cu -- -DDIV=1
# which warps meet at this barrier depends on the schedule: the reproducer names the seed
cat >half.cu <<'CU'
__global__ void half(float *y)
{
	__shared__ float s[128];
	s[threadIdx.x] = 1;
	asm volatile("barrier.sync 1, 64;" ::: "memory");
	y[threadIdx.x] = s[127 - threadIdx.x];
}
CU
rm -f race*.cu
expect 12 'confirmed: the launch raced' "$collider" prove --no-cache --no-remedies --confirm --reproducer=. \
	--block-dim=128 half.cu
seed=$(sed -n 's|^// *collider run .* --seed=\([0-9]*\) ./race$|\1|p' race1.cu)
options=$(sed -n 's|^// *collider nvcc\(.*\) -o race ./race1.cu$|\1|p' race1.cu)
if eval "$nvcc $options -o race race1.cu" >log 2>&1; then
	expect 0 "at .*/half.cu:6:" "$collider" run --device=cpu --detector=oracle --seed="$seed" ./race
else
	echo 'FAIL the reproducer of a schedule does not compile'; cat race1.cu log; failed=1
fi
sed 's/1, 64/1, 128/' half.cu >whole.cu
expect 14 'race-free' "$collider" prove --no-cache --confirm --block-dim=128 whole.cu
# where nothing races there is none
rm -f race*.cu
expect 0 'race-free' "$collider" prove --no-cache --confirm --reproducer=. --grid-dim=1 --param=n=1 app.cu -- -DADD=1
[ ! -e race1.cu ] || { echo 'FAIL a reproducer without an alarm'; failed=1; }

# launches that a run recorded
"$nvcc" -DADD=0 -arch=compute_90 -o app app.cu || exit 2
for n in 1 2; do
	arguments=()
	[ $n = 2 ] && arguments=(more)
	expect 0 'no error' "$collider" run --device=cpu --record-launches=seen$n -- ./app "${arguments[@]}"
	grep -q '"block":\[64,1,1\],"grid":\[1,1,1\]' seen$n || { echo 'FAIL no launch of 64'; cat seen$n; failed=1; }
	grep -q '"block":\[32,1,1\],"grid":\[1,1,1\]' seen$n || { echo 'FAIL no launch of 32'; cat seen$n; failed=1; }
	grep -q "\"offset\":8,\"bytes\":4,\"value\":$n}" seen$n || { echo "FAIL no n = $n"; cat seen$n; failed=1; }
done
expect 0 'a recorded launch' "$collider" prove --no-cache --launches=seen1 app.cu -- -DADD=0
expect 10 'true data race' "$collider" prove --no-cache --no-remedies --launches=seen2 app.cu -- -DADD=0
# one that can't be written is refused before the program starts, one that is full doesn't disturb it
expect 1 'record-launches: .*nowhere' "$collider" run --device=cpu --record-launches=nowhere/seen -- ./app
expect 0 'record-launches: /dev/full' "$collider" run --device=cpu --record-launches=/dev/full -- ./app

# a launch doesn't say of which of two kernels of one name it is; the same kernel twice is one
cat >common.h <<'CU'
template <typename T> __global__ void both(T *p, int n)
{
	p[threadIdx.x / n] = threadIdx.x;
}
CU
for f in one two; do
	n=$([ $f = one ] && echo 1 || echo 2)
	cat >$f.cu <<CU
#include "common.h"
static __global__ void k(int *p, int n)
{
	p[threadIdx.x / (NAMESAKE == $n ? 1 : n)] = n;
}
void $f(int *p)
{
	k<<<1, 64>>>(p, NAMESAKE == $n ? 2 : 1);
	both<<<1, 64>>>(p, RACY && NAMESAKE == $n ? 2 : 1);
}
CU
done
echo 'void one(int *); void two(int *);
int main() { int *p; cudaMalloc(&p, 4096); one(p); two(p); return cudaDeviceSynchronize(); }' >main.cu
build() { "$nvcc" "$@" -arch=compute_90 -o both one.cu two.cu main.cu || exit 2; }
build -DNAMESAKE=1 -DRACY=0
expect 11 'k\(int\*, int\): could not prove' "$collider" prove --run --no-cache --no-remedies --confirm -- ./both
expect 11 'several kernels of this name' "$collider" prove --run --no-cache --no-remedies -- ./both
build -DNAMESAKE=0 -DRACY=0
expect 0 'k\(int\*, int\): race-free' "$collider" prove --run --no-cache -- ./both
build -DNAMESAKE=1 -DRACY=1
expect 10 'both<int>\(int\*, int\): true alarm' "$collider" prove --run --no-cache --no-remedies -- ./both
exit $failed
