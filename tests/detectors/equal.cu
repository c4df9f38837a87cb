// equal.cu - kernels whose threads pass equal numbers of barriers, in forms that users write (equal.py).
//
// _whole: hirace and iguard must call the kernel complete, though threads part, leave or loop by their number, by
// what they loaded or drew. _part: some threads leave before a barrier of others, with accesses that it doesn't order.
#include <cuda_runtime.h>

#define T 64

__device__ float in[4096], out[4096];
__device__ int rows[64] = {0, 2, 3, 6}, count = 3, queue, result[4096];

#define ME (blockIdx.x * blockDim.x + threadIdx.x)
#define K(name, ...)                                                                               \
	__global__ void name(int n)                                                                \
	{                                                                                          \
		__shared__ float s[2 * T];                                                         \
		int t = threadIdx.x;                                                               \
		__VA_ARGS__                                                                        \
	}
#define ROUND(k)                                                                                   \
	s[t] = in[ME + (k)];                                                                       \
	__syncthreads();                                                                           \
	out[ME] += s[T - 1 - t];                                                                   \
	__syncthreads();

K(strided_whole,
  for (int i = t; i < 2 * T - n; i += T) s[i] = in[i];
  __syncthreads();
  out[ME] = s[(t + 5) % T];)
K(guarded_whole,
  if (t < T - n) s[t] = in[ME];
  __syncthreads();
  if (t < n) out[ME] = s[t + 9];
  __syncthreads();
  if (t > n) s[t] = 0;)
K(early_beside_syncwarp_whole,
  if (ME >= 128u - n) return;
  s[t] = in[ME];
  __syncwarp();
  out[ME] = s[t & ~1];)
K(early_at_first_whole,
  if (ME >= 100u) return;
  s[t] = in[ME];
  __syncthreads();
  out[ME] = s[t & 3];)
K(return_after_whole,
  s[t] = in[ME];
  __syncthreads();
  if (t >= n) return;
  out[ME] = s[T - 1 - t];)
K(last_warp_whole,
  s[t] = in[ME];
  __syncthreads();
  if (t >= 32) return;
  float x = s[t] + s[t + 32];
  __syncwarp();
  s[t] = x;
  __syncwarp();
  if (t < 16) out[ME] = s[t] + s[t + 16];)
K(by_block_whole,
  s[t] = 0;
  if (blockIdx.x == 0) { ROUND(0) }
  s[t] = 1;)
K(loaded_whole,
  int m = count;
  for (int k = 0; k < m; k++) { ROUND(k) })
K(by_rows_whole,
  for (int k = rows[blockIdx.x]; k < rows[blockIdx.x + 1]; k++) { ROUND(k) })
K(broadcast_whole,
  __shared__ int m;
  if (t == 0) m = atomicAdd(&queue, 1) % 3 + 1;
  __syncthreads();
  for (int k = 0; k < m; k++) { ROUND(k) })
K(queued_whole,
  __shared__ int m;
  for (;;) {
	if (t == 0) m = atomicAdd(&queue, 1);
	__syncthreads();
	int k = m;
	if (k > 20) break;
	s[t] = in[k];
	__syncthreads();
	result[k * T + t] = (int)s[T - 1 - t];
	__syncthreads();
  })
K(voted_whole,
  float x = in[ME];
  for (int k = 0; k < n; k++) {
	s[t] = x;
	if (__syncthreads_or(x > 100.f)) break;
	x += s[T - 1 - t];
	__syncthreads();
  }
  out[ME] = x;)
K(tree_whole,
  s[t] = in[ME];
  __syncthreads();
  for (int d = blockDim.x / 2; d; d >>= 1) {
	if (t < d) s[t] += s[t + d];
	__syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];)
K(counted_whole,
  int c = 0;
  for (int i = t; i < 100; i += T) c++;
  for (int k = 0; k < n; k++) { ROUND(c + k) })
K(nested_whole,
  if (n > 2) {
	if (t < 40) s[t] = in[ME];
	__syncthreads();
	if (n > 3) {
		s[t + T] = 1;
		__syncthreads();
	}
  } else {
	s[t] = 0;
	__syncthreads();
  }
  out[ME] = s[t % 40];)
K(until_none_changes_whole,
  __shared__ int changed;
  float x = in[ME];
  do {
	__syncthreads();
	if (t == 0) changed = 0;
	s[t] = x;
	__syncthreads();
	float y = fminf(x, s[(t + 1) % T]);
	if (y < x - 1) {
		atomicExch(&changed, 1);
		x = y;
	}
	__syncthreads();
  } while (changed);
  out[ME] = x;)
// Beside these a branch that loaded values, or the thread's number, takes.
K(leaves_by_value_part,
  s[t] = in[ME];
  if (in[ME] > 5000.f) return;
  __syncthreads();
  out[ME] = s[T - 1 - t];)
K(leaves_in_loop_part,
  for (int k = 0; k < n; k++) {
	s[t] = in[ME + k];
	if (t / 32 > k + 5) return;
	__syncthreads();
	out[ME] += s[T - 1 - t];
	__syncthreads();
  })

int main()
{
#define LAUNCH(kernel)                                                                             \
	kernel<<<2, T>>>(3);                                                                       \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                \
		return 1;
#include "launches.h"
	return 0;
}
