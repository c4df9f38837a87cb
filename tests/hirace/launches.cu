// launches.cu - pairs of two launches: kernels whose names say what detector hirace must report.
//
// Run by cases.py. The launches of x_race overlap in time and are unordered, those of x_clean are ordered or
// don't conflict; _quiet and _cpu as there. Each kernel touches its words in
// rounds with a pause, so that launches which the API leaves unordered overlap on a GPU, too.

#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                  \
	do {                                                                                          \
		cudaError_t e_ = (call);                                                              \
		if (e_ != cudaSuccess) {                                                              \
			printf("%s: %s\n", #call, cudaGetErrorString(e_));                            \
			return 1;                                                                     \
		}                                                                                     \
	} while (0)

#define ROUNDS 24
#define WORDS  128

__device__ unsigned int sink[WORDS], flag;

enum how { WRITE, READ, ADD, BLOCK_ADD, SAME };

#define EACH(statement)                                                                              \
	_Pragma("unroll 1") for (int r = 0; r < ROUNDS; r++) {                                        \
		statement;                                                                            \
		__nanosleep(20000);                                                                   \
	}

// A macro, so that the findings of each kernel have a line of their own.
#define KERNEL(name)                                                                                 \
	__global__ void name(unsigned int *p, how what)                                               \
	{                                                                                             \
		unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;                      \
		if (what == WRITE) {                                                                  \
			EACH(p[i] = i + r)                                                            \
		} else if (what == READ) {                                                            \
			EACH(sum += p[i])                                                             \
			if (sum == 0xabcdef)                                                          \
				sink[i] = sum;                                                        \
		} else if (what == ADD) {                                                             \
			EACH(atomicAdd(p + i, 1))                                                     \
		} else if (what == BLOCK_ADD) {                                                       \
			EACH(atomicAdd_block(p + i, 1))                                               \
		} else {                                                                              \
			EACH(p[i] = 1)                                                                \
		}                                                                                     \
	}

KERNEL(by_event_race)
KERNEL(by_event_clean)
KERNEL(by_host_race)
KERNEL(by_host_clean)
KERNEL(read_and_write_race)
KERNEL(read_and_write_clean)
KERNEL(write_and_read_race)
KERNEL(write_and_read_clean)
KERNEL(atomic_and_plain_race)
KERNEL(atomic_and_plain_clean)
KERNEL(by_legacy_stream_race)
KERNEL(by_legacy_stream_clean)
KERNEL(block_scope_race)
KERNEL(block_scope_clean)
KERNEL(same_value_race)
KERNEL(same_value_clean)
KERNEL(forked_race)
KERNEL(forked_clean)
KERNEL(joined_race)
KERNEL(joined_clean)
KERNEL(both_read_clean)
KERNEL(both_atomic_clean)
KERNEL(reused_memory_clean)
KERNEL(graph_branches_cpu)
KERNEL(graph_edge_clean)
// The first launch hands its word over to the second, which runs beside it: ordered by a flag.
__global__ void by_flag_quiet(unsigned int *p, how what)
{
	if (what == WRITE) {
		p[0] = 1;
		__threadfence();
		atomicExch(&flag, 1);
	} else {
		while (atomicAdd(&flag, 0) == 0)
			;
		__threadfence();
		sink[0] = p[0];
	}
}

// A launch that still runs hands its word over to a kernel that ends before the reader begins, by a flag, or by the
// word itself, which it writes strongly; or to none.
__device__ unsigned int handed, done[4];

#define LINGER(nth)                                                                                  \
	for (int n = 0; atomicAdd(&done[nth], 0) == 0 && n < 2000; n++)                               \
		__nanosleep(20000);
#define GIVE(nth)                                                                                    \
	{                                                                                             \
		p[0] = 1;                                                                             \
		__threadfence();                                                                      \
		atomicExch(&handed, 1);                                                               \
		LINGER(nth)                                                                           \
	}
#define SHOW(nth)                                                                                    \
	{                                                                                             \
		atomicExch(p, 1);                                                                     \
		LINGER(nth)                                                                           \
	}
#define TAKE(nth)                                                                                    \
	{                                                                                             \
		sink[nth] = p[0];                                                                     \
		atomicExch(&done[nth], 1);                                                            \
	}

__global__ void handed_race(unsigned int *p, how what)
{
	if (what == WRITE)
		GIVE(0)
	else
		TAKE(0)
}

__global__ void handed_quiet(unsigned int *p, how what)
{
	if (what == WRITE)
		GIVE(1)
	else
		TAKE(1)
}

__global__ void shown_race(unsigned int *p, how what)
{
	if (what == WRITE)
		SHOW(2)
	else
		TAKE(2)
}

__global__ void shown_quiet(unsigned int *p, how what)
{
	if (what == WRITE)
		SHOW(3)
	else
		TAKE(3)
}

__global__ void acquire_clean(unsigned int *flag)
{
	while (atomicAdd(flag, 0) == 0)
		;
	__threadfence();
}

__global__ void see_clean(unsigned int *p)
{
	while (*(volatile unsigned int *)p == 0)
		;
}

static int graph(unsigned int *p, cudaStream_t s)
{
	cudaGraph_t g;
	cudaGraphExec_t e;
	cudaGraphNode_t a, b;
	how what = WRITE;
	void *args[] = {&p, &what};

	for (int has_edge = 1; has_edge >= 0; has_edge--) {
		cudaKernelNodeParams n = {};
		n.func = has_edge ? (void *)graph_edge_clean : (void *)graph_branches_cpu;
		n.gridDim = dim3(2);
		n.blockDim = dim3(WORDS / 2);
		n.kernelParams = args;
		CHECK(cudaGraphCreate(&g, 0));
		CHECK(cudaGraphAddKernelNode(&a, g, NULL, 0, &n));
		CHECK(cudaGraphAddKernelNode(&b, g, has_edge ? &a : NULL, has_edge, &n));
		CHECK(cudaGraphInstantiate(&e, g, 0));
		CHECK(cudaGraphLaunch(e, s));
		CHECK(cudaStreamSynchronize(s));
		p += WORDS;
	}
	return 0;
}

int main()
{
	unsigned int *p, *q;
	cudaStream_t a, b, c;
	cudaEvent_t ev;

	CHECK(cudaMalloc(&p, 64 * WORDS * sizeof(*p)));
	CHECK(cudaMemset(p, 0, 64 * WORDS * sizeof(*p)));
	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaStreamCreate(&c));
	CHECK(cudaEventCreateWithFlags(&ev, cudaEventDisableTiming));
	CHECK(cudaDeviceSynchronize());
#define ENDS                                                                                         \
	CHECK(cudaDeviceSynchronize());                                                               \
	p += WORDS;
#define BOTH(name, x, y)                                                                             \
	name##_race<<<2, WORDS / 2, 0, a>>>(p, x);                                                    \
	name##_race<<<2, WORDS / 2, 0, b>>>(p, y);                                                    \
	ENDS                                                                                          \
	name##_clean<<<2, WORDS / 2, 0, a>>>(p, x);                                                   \
	CHECK(cudaEventRecord(ev, a));                                                                \
	CHECK(cudaStreamWaitEvent(b, ev, 0));                                                         \
	name##_clean<<<2, WORDS / 2, 0, b>>>(p, y);                                                   \
	ENDS
	BOTH(by_event, WRITE, WRITE)
	BOTH(read_and_write, READ, WRITE)
	BOTH(write_and_read, WRITE, READ)
	BOTH(atomic_and_plain, ADD, WRITE)
	BOTH(block_scope, BLOCK_ADD, BLOCK_ADD)
	BOTH(same_value, SAME, SAME)

	by_host_race<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	by_host_race<<<2, WORDS / 2, 0, b>>>(p, WRITE);
	ENDS
	by_host_clean<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	CHECK(cudaStreamSynchronize(a));
	by_host_clean<<<2, WORDS / 2, 0, b>>>(p, WRITE);
	ENDS

	// The legacy stream waits for blocking ones only.
	by_legacy_stream_race<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	by_legacy_stream_race<<<2, WORDS / 2>>>(p, WRITE);
	ENDS
	by_legacy_stream_clean<<<2, WORDS / 2, 0, c>>>(p, WRITE);
	by_legacy_stream_clean<<<2, WORDS / 2>>>(p, WRITE);
	ENDS

	// One launch, then two behind it.
	forked_race<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	CHECK(cudaEventRecord(ev, a));
	CHECK(cudaStreamWaitEvent(b, ev, 0));
	forked_race<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	forked_race<<<2, WORDS / 2, 0, b>>>(p, READ);
	ENDS
	forked_clean<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	CHECK(cudaEventRecord(ev, a));
	CHECK(cudaStreamWaitEvent(b, ev, 0));
	forked_clean<<<2, WORDS / 2, 0, a>>>(p, READ);
	forked_clean<<<2, WORDS / 2, 0, b>>>(p, READ);
	ENDS

	// Two launches, then one that waits for the first, or for both.
	joined_race<<<2, WORDS / 2, 0, a>>>(p, READ);
	for (int i = 0; i < 3; i++)
		joined_race<<<2, WORDS / 2, 0, b>>>(p, READ);
	joined_race<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	ENDS
	joined_clean<<<2, WORDS / 2, 0, a>>>(p, READ);
	joined_clean<<<2, WORDS / 2, 0, b>>>(p, READ);
	CHECK(cudaEventRecord(ev, b));
	CHECK(cudaStreamWaitEvent(a, ev, 0));
	joined_clean<<<2, WORDS / 2, 0, a>>>(p, WRITE);
	ENDS

	both_read_clean<<<2, WORDS / 2, 0, a>>>(p, READ);
	both_read_clean<<<2, WORDS / 2, 0, b>>>(p, READ);
	ENDS
	both_atomic_clean<<<2, WORDS / 2, 0, a>>>(p, ADD);
	both_atomic_clean<<<2, WORDS / 2, 0, b>>>(p, ADD);
	ENDS
	// What a GPU has seen to end since the launch before counts as ended beside the next one: a plain launch comes
	// before each that races.
	handed_race<<<1, 1, 0, a>>>(p, WRITE);
	handed_race<<<1, 1, 0, b>>>(p, READ);
	ENDS
	both_read_clean<<<2, WORDS / 2, 0, a>>>(p, READ);
	ENDS
	shown_race<<<1, 1, 0, a>>>(p, WRITE);
	shown_race<<<1, 1, 0, b>>>(p, READ);
	ENDS
	CHECK(cudaGetSymbolAddress((void **)&q, handed));
	CHECK(cudaMemset(q, 0, sizeof(*q)));
	CHECK(cudaDeviceSynchronize());
	handed_quiet<<<1, 1, 0, a>>>(p, WRITE);
	acquire_clean<<<1, 1, 0, b>>>(q);
	handed_quiet<<<1, 1, 0, b>>>(p, READ);
	ENDS
	shown_quiet<<<1, 1, 0, a>>>(p, WRITE);
	see_clean<<<1, 1, 0, b>>>(p);
	shown_quiet<<<1, 1, 0, b>>>(p, READ);
	ENDS
	by_flag_quiet<<<1, 1, 0, a>>>(p, WRITE);
	by_flag_quiet<<<1, 1, 0, b>>>(p, READ);
	ENDS
	CHECK(cudaMallocAsync(&q, 1 << 20, a));
	reused_memory_clean<<<2, WORDS / 2, 0, a>>>(q, WRITE);
	CHECK(cudaFreeAsync(q, a));
	CHECK(cudaMallocAsync(&q, 1 << 20, b));
	reused_memory_clean<<<2, WORDS / 2, 0, b>>>(q, WRITE);
	CHECK(cudaFreeAsync(q, b));
	ENDS
	if (graph(p, a))
		return 1;
	puts("PASS");
	return 0;
}
