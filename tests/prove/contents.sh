#!/bin/bash
# What arrays hold as a launch begins: recorded, and assumed of that launch alone.
#   contents.sh COLLIDER COLLIDER-NVCC
collider=$1 nvcc=$2 failed=0
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 2
export XDG_CACHE_HOME=$tree

cat >app.cu <<'CU'
#include <vector>
typedef long long wide;
/* The same kernel by two names, which are launched with other contents. */
#define BOTH(name, params, ...)                                                                    \
	__global__ void name params __VA_ARGS__ __global__ void name##_twin params __VA_ARGS__

BOTH(scatter, (float *out, const int *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
BOTH(scatter_wide, (float *out, const wide *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
BOTH(scatter_first, (float *out, const int *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
BOTH(rows, (float *out, const int *first, int n), {
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < n)
		for (int i = first[r]; i < first[r + 1]; i++)
			out[i] = r;
})
BOTH(segments, (float *key, const int *first, const int *end, const int *bin, int n), {
	int b = (blockIdx.x * blockDim.x + threadIdx.x) / 2, lane = threadIdx.x & 1;
	if (b >= n)
		return;
	int k = first[bin[b]], size = end[bin[b]] - k;
	if (2 * lane < size)
		key[k + 2 * lane] = b;
	if (2 * lane + 1 < size)
		key[k + 2 * lane + 1] = b;
})
/* What is never so in this launch has no load left by which it decides. */
BOTH(chosen, (float *out, const int *to, const int *flag, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && flag[i] < 100)
		out[to[i]] = i;
	else if (i < n)
		out[i / 2] = i;
})
/* The list is its own: what it holds as the launch begins doesn't last. */
__global__ void own(int *to, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		to[to[i]] = i / 2;
}
BOTH(streamed, (float *out, const int *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
BOTH(several, (float *out, const int *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
BOTH(of_graph, (float *out, const int *to, int n), {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[to[i]] = i;
})
__global__ void list(int *to, int n, int step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		to[i] = i * step % 256;
}

template <class T> static T *array(const std::vector<T> &from)
{
	T *p;
	cudaMalloc(&p, from.size() * sizeof(T));
	cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
	return p;
}
template <class T> static std::vector<T> mixed(int n)
{
	std::vector<T> v(n);
	for (int i = 0; i < n; i++)
		v[i] = i * 77 % n; /* in no order; n is a power of two */
	return v;
}

int main()
{
	const int n = 256;
	float *out;
	cudaMalloc(&out, 4096 * sizeof(*out));
	auto to = mixed<int>(n), twice = to, part = to;
	twice[200] = twice[7];
	int *d_to = array(to), *d_twice = array(twice);
	scatter<<<4, 64>>>(out, d_to, n);
	scatter_twin<<<4, 64>>>(out, d_twice, n);

	auto far = mixed<wide>(n), far_twice = far;
	far_twice[255] = far_twice[0];
	scatter_wide<<<4, 64>>>(out, array(far), n);
	scatter_wide_twin<<<4, 64>>>(out, array(far_twice), n);

	part.resize(n + 64); /* zeros, which aren't used */
	int *d_part = array(part);
	scatter_first<<<4, 64>>>(out, d_part, n);
	scatter_first_twin<<<5, 64>>>(out, d_part, n + 64);

	std::vector<int> first(n + 1), back;
	for (int i = 0; i <= n; i++)
		first[i] = i * 3 + i % 3;
	back = first;
	back[100] = back[103];
	int *d_first = array(first), *d_back = array(back);
	rows<<<4, 64>>>(out, d_first, n);
	rows_twin<<<4, 64>>>(out, d_back, n);
	segments<<<8, 64>>>(out, d_first, d_first + 1, d_to, n);
	segments_twin<<<8, 64>>>(out, d_first, d_first + 1, d_twice, n);
	std::vector<int> none(n), some(n);
	some[9] = 100;
	chosen<<<4, 64>>>(out, d_to, array(none), n);
	chosen_twin<<<4, 64>>>(out, d_to, array(some), n);
	own<<<4, 64>>>(array(to), n);

	/* What counts is what the stream's earlier work leaves there. */
	cudaStream_t s;
	cudaStreamCreate(&s);
	int *made = array(twice), *unmade = array(to);
	list<<<4, 64, 0, s>>>(made, n, 5);
	streamed<<<4, 64, 0, s>>>(out, made, n);
	list<<<4, 64, 0, s>>>(unmade, n, 4);
	streamed_twin<<<4, 64, 0, s>>>(out, unmade, n);
	cudaStreamSynchronize(s);

	/* All launches of a shape. */
	several<<<4, 64>>>(out, d_to, n);
	several<<<4, 64>>>(out, made, n);
	several_twin<<<4, 64>>>(out, d_to, n);
	several_twin<<<4, 64>>>(out, d_twice, n);

	cudaGraph_t g;
	cudaGraphExec_t x;
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	list<<<4, 64, 0, s>>>(made, n, 7);
	of_graph<<<4, 64, 0, s>>>(out, made, n);
	list<<<4, 64, 0, s>>>(unmade, n, 6);
	of_graph_twin<<<4, 64, 0, s>>>(out, unmade, n);
	cudaStreamEndCapture(s, &g);
	cudaGraphInstantiate(&x, g, 0);
	cudaGraphLaunch(x, s);
	return cudaDeviceSynchronize() != cudaSuccess;
}
CU

says() { # says FILE PATTERN
	grep -qE -- "$2" "$1" || { echo "FAIL $1 doesn't say '$2'"; cat "$1"; failed=1; }
}
"$nvcc" -g -O3 -arch=compute_90 -o app app.cu || exit 2
"$collider" run --device=cpu --record-launches=seen -- ./app >log 2>&1 || { cat log; exit 1; }
# Each kernel's verdict and its contract as one line.
"$collider" prove --no-cache --no-remedies --launches=seen >all 2>&1
awk '/^[a-z_]+\(.*: /{name=$0} /^  contract: /{print name " " $0}' all >lines
verdict() { # verdict KERNEL PATTERN: of its line, with the contract
	grep -qE "^$1\([^:]*: $2" lines || { echo "FAIL $1: expected '$2'"; grep "^$1(" lines; failed=1; }
}
for kernel in scatter scatter_wide scatter_first rows segments chosen streamed several of_graph; do
	verdict $kernel race-free
	verdict ${kernel}_twin '(potential alarms only|true alarm)'
done
# What a proof rests on is in its contract, and what helps nothing in none.
verdict scatter '.*; the elements of parameter 2 are all different, as in the recorded launch;'
verdict scatter_wide '.*; the elements of parameter 2 are all different, as in the recorded launch;'
verdict scatter_first '.*; the first 25[67] elements of parameter 2 are all different, as in the recorded launch;'
verdict rows '.*; the elements of parameter 2 are sorted, as in the recorded launch;'
verdict segments '.*; the elements of parameter 2 are sorted, as in the recorded launch;'
verdict segments '.*; the elements of parameter 4 are all different, as in the recorded launch;'
verdict segments '.*; the elements of parameter 4 are 0 to 255, as in the recorded launch'
verdict chosen '.*; the elements of parameter 3 are 0 to 0, as in the recorded launch'
verdict several '.*; the elements of parameter 2 are all different, as in the recorded launches;'
# (Of several_twin one launch is proven by them.)
grep -E '^(list|[a-z_]+_twin)\(' lines | grep -v ^several | grep 'as in the recorded' && { echo 'FAIL what is not needed is assumed'; failed=1; }
# The list is the kernel's own: what it holds as the launch begins doesn't last.
verdict own '(potential alarms only|true alarm)'
"$collider" prove --no-cache --no-remedies --format=json --launches=seen --kernel=7scatterPf >json 2>&1
says json '"rests_on_contents":true'

# Nor does a check rest on it: what the CPU device asks is about any contents.
{ grep -m1 '^{"ptx"' seen; grep -m1 '"kernel":"_Z7scatterPf' seen; } >one
bash -c "exec -a collider-prove-launch $collider 10000 3<one 4>answer"
[ "$(head -1 answer)" != proven ] || { echo 'FAIL a check is left out by contents'; failed=1; }
# A recording without them, of before, proves nothing by them.
sed -E 's/,"(sorted|injective|within|least|most)":\[[0-9,-]*\]//g' seen >before
"$collider" prove --no-cache --no-remedies --format=json --launches=before --kernel=7scatterPf >json 2>&1
says json '"verdict":"potential-alarm"'
says json '"rests_on_contents":false'
exit $failed
