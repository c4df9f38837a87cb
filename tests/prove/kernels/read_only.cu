// read_only.cu - loads through the read-only path of memory that the launch writes: no order makes them right; each with
// a twin that loads elsewhere or as usual.
#include <sm_32_intrinsics.h>

// prove: reversed true class=read-only-changed --block-dim=64
__global__ void reversed(int *a)
{
	int v = threadIdx.x;
	a[blockIdx.x * 64 + threadIdx.x] = v;
	__syncthreads();
	a[gridDim.x * 64 + blockIdx.x * 64 + threadIdx.x] = __ldg(&a[blockIdx.x * 64 + 63 - threadIdx.x]);
}
// prove: reversed_usual race-free --block-dim=64
__global__ void reversed_usual(int *a)
{
	int v = threadIdx.x;
	a[blockIdx.x * 64 + threadIdx.x] = v;
	__syncthreads();
	a[gridDim.x * 64 + blockIdx.x * 64 + threadIdx.x] = a[blockIdx.x * 64 + 63 - threadIdx.x];
}
// prove: own_element true class=read-only-changed
__global__ void own_element(int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = __ldg(&a[i]) + 1;
}
// prove: own_usual race-free
__global__ void own_usual(int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = a[i] + 1;
}
// prove: one_thread true class=read-only-changed
__global__ void one_thread(int *a)
{
	if (blockIdx.x == 0 && threadIdx.x == 0) {
		a[5] = 1;
		a[6] = __ldg(&a[5]);
	}
}
// prove: one_thread_elsewhere race-free
__global__ void one_thread_elsewhere(int *a)
{
	if (blockIdx.x == 0 && threadIdx.x == 0) {
		a[5] = 1;
		a[6] = __ldg(&a[4]);
	}
}
// prove: halves race-free
__global__ void halves(int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = __ldg(&a[i + n]);
}
// prove: halves_meet true class=read-only-changed
__global__ void halves_meet(int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i <= n)
		a[i] = __ldg(&a[i + n]);
}
// prove: even_odd race-free
__global__ void even_odd(int *a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		a[2 * i] = __ldg(&a[2 * i + 1]);
}
// prove: later_turn true class=read-only-changed --block-dim=32 --grid-dim=1
__global__ void later_turn(int *a, int n)
{
	for (int i = 0; i < n; i++)
		a[32 * (i + 1) + threadIdx.x] = __ldg(&a[32 * i + threadIdx.x]);
}
// prove: later_turn_of_two race-free --block-dim=32 --grid-dim=1
__global__ void later_turn_of_two(int *a, const int *b, int n)
{
	for (int i = 0; i < n; i++)
		a[32 * (i + 1) + threadIdx.x] = __ldg(&b[32 * i + threadIdx.x]);
}
// prove: later_turn_aliased true class=read-only-changed --block-dim=32 --grid-dim=1 --may-alias
__global__ void later_turn_aliased(int *a, int n)
{
	const int *b = a;
	for (int i = 0; i < n; i++)
		a[32 * (i + 1) + threadIdx.x] = __ldg(&b[32 * i + threadIdx.x]);
}
#define LAST_READS(load)                                                                                       \
	__shared__ bool last;                                                                                  \
	if (threadIdx.x == 0) {                                                                                \
		part[blockIdx.x] = blockIdx.x;                                                                 \
		__threadfence();                                                                               \
		unsigned before = atomicAdd(count, 1);                                                         \
		__threadfence();                                                                               \
		last = before == gridDim.x - 1;                                                                \
	}                                                                                                      \
	__syncthreads();                                                                                       \
	if (last)                                                                                              \
		out[threadIdx.x] = load(part[threadIdx.x % gridDim.x]);
#define READ_ONLY(x) __ldg(&(x))
#define USUAL(x)     (x)

// A counter says which block is last, and its fence orders: an ordinary load is right, this one isn't.
// prove: last_reads potential class=read-only-changed --block-dim=64 --grid-dim=8
__global__ void last_reads(unsigned *count, float *part, float *out)
{
	LAST_READS(READ_ONLY)
}
// prove: last_reads_usual race-free --block-dim=64 --grid-dim=8
__global__ void last_reads_usual(unsigned *count, float *part, float *out)
{
	LAST_READS(USUAL)
}
// An atomic and a slot that only one thread of all gets.
// prove: slot_of_ticket potential class=read-only-changed --block-dim=32
__global__ void slot_of_ticket(int *a, unsigned *next)
{
	unsigned i = atomicAdd(next, 1);
	a[i] = __ldg(&a[i]) + 1;
}
// prove: updated true class=read-only-changed
__global__ void updated(int *a)
{
	atomicAdd(&a[threadIdx.x], __ldg(&a[0]));
}
// prove: updated_behind race-free --block-dim=32
__global__ void updated_behind(int *a)
{
	atomicAdd(&a[threadIdx.x], __ldg(&a[32]));
}
// What is assumed of all threads says nothing of one.
// prove: own_distinct potential class=read-only-changed
__global__ void own_distinct(int *a, const int *slot)
{
	int i = slot[blockIdx.x * blockDim.x + threadIdx.x];
	collider_distinct(i);
	a[i] = __ldg(&a[i]) + 1;
}
// prove: unwritten race-free
__global__ void unwritten(int *a, const int *__restrict__ b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = __ldg(&b[i]) + b[n - 1 - i];
}
