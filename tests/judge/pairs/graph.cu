// Graphs, copies of several dimensions, programmatic launches: what orders their parts, and kernels of
// graphs with faults of their own. Each kernel has the name of its pair.
// flags: -std=c++17
#include "streams.h"

// A graph of two branches of a capture that begins and ends in x.a: first() in x.a, then second() in
// x.b, which waits for the first if ORDER.
template <bool ORDER, typename First, typename Second>
static cudaGraph_t two_branches(First first, Second second)
{
	cudaGraph_t g;

	CHECK(cudaStreamBeginCapture(x.a, cudaStreamCaptureModeThreadLocal));
	if (!ORDER)
		order(x.a, x.b);
	first();
	if (ORDER)
		order(x.a, x.b);
	second();
	order(x.b, x.a);
	CHECK(cudaStreamEndCapture(x.a, &g));
	return g;
}

static cudaGraphExec_t made(cudaGraph_t g)
{
	cudaGraphExec_t e;

	CHECK(cudaGraphInstantiate(&e, g, 0));
	return e;
}

static void run(cudaGraph_t g, cudaStream_t s, int times = 1)
{
	cudaGraphExec_t e = made(g);

	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(e, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaGraphExecDestroy(e));
	CHECK(cudaGraphDestroy(g));
}

template <typename... T>
static cudaGraphNode_t add(cudaGraph_t g, void (*f)(T...), cudaGraphNode_t after, T... given)
{
	void *args[] = {&given...};
	cudaKernelNodeParams p = {};
	cudaGraphNode_t n;

	p.func = (void *)f;
	p.gridDim = N / 256;
	p.blockDim = 256;
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&n, g, &after, after ? 1 : 0, &p));
	return n;
}

static cudaGraph_t graph()
{
	cudaGraph_t g;

	CHECK(cudaGraphCreate(&g, 0));
	return g;
}

READS(branches)
BODY(branches)
{
	begin();
	run(two_branches<ORDER>([] { PUT(x.a, x.p); }, [] { LAUNCH(branches, x.b, x.p, x.out); }),
	    x.a);
}

WRITES(set_branch)
BODY(set_branch)
{
	begin();
	run(two_branches<ORDER>([] { CHECK(cudaMemsetAsync(x.p, 1, BYTES, x.a)); },
				[] { LAUNCH(set_branch, x.b, x.p, 4); }),
	    x.c, 3);
}

WRITES(copy_branch)
BODY(copy_branch)
{
	begin();
	run(two_branches<ORDER>([] { LAUNCH(copy_branch, x.a, x.p, 4); },
				[] {
					CHECK(cudaMemcpyAsync(x.host, x.p, BYTES,
							      cudaMemcpyDeviceToHost, x.b));
				}),
	    x.a);
}

READS(nodes)
BODY(nodes)
{
	begin();
	cudaGraph_t g = graph();
	cudaGraphNode_t first = add(g, put<ORDER>, nullptr, x.p, 2);
	add(g, k_nodes<ORDER>, ORDER ? first : nullptr, (const int *)x.p, x.out);
	run(g, x.a);
}

READS(child_of)
BODY(child_of)
{
	begin();
	cudaGraph_t inner = graph(), g = graph();
	add(inner, put<ORDER>, add(inner, put<ORDER>, nullptr, x.q, 2), x.p, 2);
	cudaGraphNode_t n;
	CHECK(cudaGraphAddChildGraphNode(&n, g, nullptr, 0, inner));
	add(g, k_child_of<ORDER>, ORDER ? n : nullptr, (const int *)x.p, x.out);
	run(g, x.a);
}

WRITES(given_later)
BODY(given_later)
{
	// The second node's parameters change, to what the first writes.
	begin();
	cudaGraph_t g = graph();
	add(g, put<ORDER>, nullptr, x.p, 2);
	cudaGraphNode_t n = add(g, k_given_later<ORDER>, nullptr, x.q, 2);
	cudaGraphExec_t e = made(g);
	cudaKernelNodeParams p = {};
	int *at = ORDER ? x.p + N : x.p, v = 5;
	void *args[] = {&at, &v};
	CHECK(cudaGraphKernelNodeGetParams(n, &p));
	p.kernelParams = args;
	CHECK(cudaGraphLaunch(e, x.a));
	CHECK(cudaGraphExecKernelNodeSetParams(e, n, &p));
	CHECK(cudaGraphLaunch(e, x.a));
	CHECK(cudaStreamSynchronize(x.a));
}

WRITES(updated)
BODY(updated)
{
	begin();
	auto second = [](int *at) { LAUNCH(updated, x.b, at, 4); };
	cudaGraphExec_t e = made(two_branches<false>([] { PUT(x.a, x.p); }, [=] { second(x.q); }));
	cudaGraph_t g = two_branches<false>([] { PUT(x.a, x.p); },
					    [=] { second(ORDER ? x.p + N : x.p); });
	cudaGraphExecUpdateResultInfo how;
	CHECK(cudaGraphLaunch(e, x.a));
	CHECK(cudaGraphExecUpdate(e, g, &how));
	CHECK(cudaGraphLaunch(e, x.a));
	CHECK(cudaStreamSynchronize(x.a));
}

READS(beside_graph)
BODY(beside_graph)
{
	begin();
	cudaGraph_t g = graph();
	add(g, put<ORDER>, add(g, put<ORDER>, nullptr, x.q, 2), x.p, 2);
	cudaGraphExec_t e = made(g);
	CHECK(cudaGraphLaunch(e, x.a));
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(beside_graph, x.b, x.p, x.out);
	CHECK(cudaDeviceSynchronize());
}

WRITES(two_graphs)
BODY(two_graphs)
{
	begin();
	cudaGraph_t g = graph();
	add(g, k_two_graphs<ORDER>, nullptr, x.p, 2);
	cudaGraphExec_t e = made(g), f = made(g);
	CHECK(cudaGraphLaunch(e, x.a));
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	CHECK(cudaGraphLaunch(f, x.b));
	CHECK(cudaDeviceSynchronize());
}

// Each element goes where an index says: all their own, or some the same.
template <bool ORDER> __global__ void k_scattered(const int *at, int *p)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	p[at[i]] = i;
}
template <bool ORDER> __global__ void indexes(int *at)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	at[i] = ORDER ? N - 1 - i : i / 2;
}
BODY(scattered)
{
	// The indexes are made in the graph.
	begin();
	cudaGraph_t g = graph();
	cudaGraphNode_t n = add(g, indexes<ORDER>, add(g, indexes<!ORDER>, nullptr, x.q), x.q);
	add(g, k_scattered<ORDER>, n, (const int *)x.q, x.out);
	run(g, x.a, 2);
}

template <bool ORDER> __global__ void k_unsynced(const int *p, int *out)
{
	__shared__ int s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	s[threadIdx.x] = p[i];
	if (ORDER)
		__syncthreads();
	out[i] = s[threadIdx.x ^ 64];
}
BODY(unsynced)
{
	begin();
	run(two_branches<true>([] { PUT(x.a, x.p); }, [] { LAUNCH(unsynced, x.b, x.p, x.out); }),
	    x.a);
}

WRITES(column)
BODY(column)
{
	// Rows of 64 bytes, of which a copy takes the first half; x.p + N begins them.
	begin();
	LAUNCH(column, x.a, x.p, 3);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpy2DAsync(x.q, 64, x.p, 64, 32, N * sizeof(int) / 64, cudaMemcpyDeviceToDevice,
				x.b));
}

// Writes the second half of each row.
template <bool ORDER> __global__ void k_halves_of_rows(int *p)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 16 >= (ORDER ? 8 : 7))
		p[i] = i;
}
BODY(halves_of_rows)
{
	begin();
	LAUNCH(halves_of_rows, x.a, x.p);
	CHECK(cudaMemcpy2DAsync(x.p, 64, x.q, 64, 32, N * sizeof(int) / 64, cudaMemcpyDeviceToDevice,
				x.b));
}

WRITES(cube)
BODY(cube)
{
	cudaMemcpy3DParms c = {};

	begin();
	c.srcPtr = make_cudaPitchedPtr(x.p, 64, 64, 4);
	c.dstPtr = make_cudaPitchedPtr(x.q, 64, 64, 4);
	c.extent = make_cudaExtent(64, 4, 8);
	c.kind = cudaMemcpyDeviceToDevice;
	LAUNCH(cube, x.a, ORDER ? x.p + N : x.p, 3);
	CHECK(cudaMemcpy3DAsync(&c, x.b));
}

template <bool ORDER> __global__ void k_early(const int *p, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (ORDER)
		asm volatile("griddepcontrol.wait;" ::: "memory");
	out[i] = p[i];
}
template <bool ORDER> __global__ void put_early(int *p, int v)
{
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
	p[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// A programmatic launch in x.a.
template <typename... T> static void early(void (*f)(T...), T... given)
{
	cudaLaunchAttribute at = {};
	cudaLaunchConfig_t c = {};

	at.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	at.val.programmaticStreamSerializationAllowed = 1;
	c.gridDim = N / 256;
	c.blockDim = 256;
	c.stream = x.a;
	c.attrs = &at;
	c.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&c, f, given...));
}

BODY(early)
{
	begin();
	put_early<ORDER><<<N / 256, 256, 0, x.a>>>(x.p, 3);
	early(k_early<ORDER>, (const int *)x.p, x.out);
}

template <bool ORDER> __global__ void k_early_write(int *p, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (!ORDER)
		p[i] = v;
	asm volatile("griddepcontrol.wait;" ::: "memory");
	if (ORDER)
		p[i] = v;
}
BODY(early_write)
{
	begin();
	put_early<ORDER><<<N / 256, 256, 0, x.a>>>(x.p, 3);
	early(k_early_write<ORDER>, x.p, 4);
}

PAIRS(PAIR(branches), PAIR(set_branch), PAIR(copy_branch), PAIR(nodes), PAIR(child_of),
      PAIR(given_later), PAIR(updated), PAIR(beside_graph), PAIR(two_graphs), PAIR(scattered),
      PAIR(unsynced), PAIR(column), PAIR(halves_of_rows), PAIR(cube), PAIR(early), PAIR(early_write))
