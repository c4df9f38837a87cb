/*
 * test_graph.c - capture, explicit graphs, launches, updates; without kernels.
 */
#include "check.h"

static char text[64];
static unsigned len;

static void put(void *letter)
{
	text[__atomic_fetch_add(&len, 1, __ATOMIC_RELAXED)] = (char)(intptr_t)letter;
}

#define LETTER(c) ((void *)(intptr_t)(c))

static void reset(void)
{
	memset(text, 0, sizeof(text));
	len = 0;
}

static void launch(cudaGraphExec_t x, cudaStream_t s)
{
	reset();
	OK(cudaGraphLaunch(x, s));
	OK(cudaStreamSynchronize(s));
}

/* a, then b in another stream beside c, joined by d. */
static cudaGraph_t capture_diamond(cudaStream_t s, cudaStream_t t)
{
	enum cudaStreamCaptureStatus st;
	cudaEvent_t fork, join;
	cudaGraph_t g, seen;
	const cudaGraphNode_t *deps;
	unsigned long long id;
	size_t n;

	reset();
	OK(cudaEventCreate(&fork));
	OK(cudaEventCreate(&join));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaStreamIsCapturing(s, &st));
	CHECK(st == cudaStreamCaptureStatusActive);
	OK(cudaLaunchHostFunc(s, put, LETTER('a')));
	OK(cudaEventRecord(fork, s));
	OK(cudaStreamWaitEvent(t, fork, 0));
	OK(cudaStreamGetCaptureInfo(t, &st, &id, &seen, &deps, NULL, &n));
	CHECK(st == cudaStreamCaptureStatusActive && n == 1);
	OK(cudaLaunchHostFunc(t, put, LETTER('b')));
	OK(cudaLaunchHostFunc(s, put, LETTER('c')));
	OK(cudaEventRecord(join, t));
	OK(cudaStreamWaitEvent(s, join, 0));
	OK(cudaLaunchHostFunc(s, put, LETTER('d')));
	OK(cudaStreamEndCapture(s, &g));
	CHECK(g == seen && len == 0);
	OK(cudaStreamIsCapturing(t, &st));
	CHECK(st == cudaStreamCaptureStatusNone);
	CHECK_IS(cudaEventSynchronize(join), cudaErrorInvalidValue);
	CHECK_IS(cudaEventQuery(join), cudaErrorInvalidValue);
	CHECK_IS(cudaStreamWaitEvent(t, join, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaEventDestroy(fork));
	OK(cudaEventDestroy(join));
	return g;
}

static void test_capture(cudaStream_t s, cudaStream_t t)
{
	cudaGraphNode_t from[8], to[8];
	cudaGraphExec_t x;
	cudaGraph_t g;
	size_t n;

	g = capture_diamond(s, t);
	OK(cudaGraphGetNodes(g, NULL, &n));
	CHECK(n == 4);
	OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &n));
	CHECK(n == 4);
	n = 8;
	OK(cudaGraphGetEdges(g, from, to, NULL, &n));
	CHECK(n == 4 && from[4] == NULL);
	OK(cudaGraphGetRootNodes(g, NULL, &n));
	CHECK(n == 1);
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphDestroy(g));
	for (int i = 0; i < 20; i++) {
		launch(x, s);
		CHECK(strcmp(text, "abcd") == 0 || strcmp(text, "acbd") == 0);
	}
	/* Launches of one graph follow each other, and work after them in the stream, too. */
	reset();
	OK(cudaGraphLaunch(x, s));
	OK(cudaGraphLaunch(x, t));
	OK(cudaLaunchHostFunc(t, put, LETTER('e')));
	OK(cudaDeviceSynchronize());
	CHECK(len == 9 && text[0] == 'a' && text[3] == 'd' && text[4] == 'a' && text[8] == 'e');
	OK(cudaGraphExecDestroy(x));
}

static void test_capture_errors(cudaStream_t s, cudaStream_t t)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	cudaEvent_t e;
	cudaGraph_t g;
	void *p;

	OK(cudaEventCreate(&e));
	CHECK_IS(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
		 cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorIllegalState);
	/* Unjoined: t's work never comes back. */
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaEventRecord(e, s));
	OK(cudaStreamWaitEvent(t, e, 0));
	OK(cudaLaunchHostFunc(t, put, LETTER('x')));
	CHECK_IS(cudaStreamEndCapture(t, &g), cudaErrorStreamCaptureUnmatched);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	CHECK(g == NULL);
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaEventRecord(e, s));
	OK(cudaStreamWaitEvent(t, e, 0));
	OK(cudaLaunchHostFunc(t, put, LETTER('x')));
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureUnjoined);
	/* A stream may be destroyed meanwhile, joined or not. */
	for (int is_joined = 0; is_joined < 2; is_joined++) {
		cudaStream_t u;
		OK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
		OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		OK(cudaEventRecord(e, s));
		OK(cudaStreamWaitEvent(u, e, 0));
		OK(cudaLaunchHostFunc(u, put, LETTER('x')));
		OK(cudaEventRecord(e, u));
		if (is_joined)
			OK(cudaStreamWaitEvent(s, e, 0));
		OK(cudaStreamDestroy(u));
		CHECK_IS(cudaStreamEndCapture(s, &g),
			 is_joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
		if (is_joined)
			OK(cudaGraphDestroy(g));
	}
	/* Waiting and allocating are unsafe; relaxed they aren't. */
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK_IS(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaLaunchHostFunc(s, put, NULL), cudaErrorStreamCaptureInvalidated);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	CHECK_IS(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == cudaStreamCaptureModeGlobal);
	OK(cudaMalloc(&p, 4));
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphDestroy(g));
	/* The legacy stream would join the captured one. */
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	CHECK_IS(cudaMemset(p, 0, 4), cudaErrorStreamCaptureImplicit);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	/* An event of the capture has nothing to wait for. */
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	OK(cudaEventRecord(e, s));
	CHECK_IS(cudaEventQuery(e), cudaErrorCapturedEvent);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	/* An event from outside. */
	OK(cudaEventRecord(e, t));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	CHECK_IS(cudaStreamWaitEvent(s, e, 0), cudaErrorStreamCaptureIsolation);
	CHECK_IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	cudaGetLastError();
	OK(cudaDeviceSynchronize());
	OK(cudaFree(p));
	OK(cudaEventDestroy(e));
}

static void test_explicit(cudaStream_t s)
{
	cudaGraphNode_t set, copy, host, empty, event, found;
	struct cudaMemsetParams m = {.value = 0x1234, .elementSize = 2, .width = 8, .height = 1};
	struct cudaHostNodeParams h = {put, LETTER('h')};
	enum cudaGraphNodeType type;
	cudaGraphExec_t x;
	cudaGraph_t g, clone;
	cudaEvent_t e;
	unsigned enabled;
	short *d, out[8] = {0};

	OK(cudaMalloc((void **)&d, 16));
	OK(cudaEventCreate(&e));
	OK(cudaGraphCreate(&g, 0));
	m.dst = d;
	OK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &m));
	OK(cudaGraphAddMemcpyNode1D(&copy, g, &set, 1, out, d, 16, cudaMemcpyDeviceToHost));
	OK(cudaGraphAddHostNode(&host, g, &copy, 1, &h));
	OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
	OK(cudaGraphAddEventRecordNode(&event, g, &host, 1, e));
	OK(cudaGraphAddDependencies(g, &empty, &set, NULL, 1));
	CHECK_IS(cudaGraphAddDependencies(g, &empty, &set, NULL, 1), cudaErrorInvalidValue);
	OK(cudaGraphNodeGetType(set, &type));
	CHECK(type == cudaGraphNodeTypeMemset);
	OK(cudaGraphClone(&clone, g));
	OK(cudaGraphNodeFindInClone(&found, host, clone));
	CHECK(found != host);

	OK(cudaGraphInstantiateWithFlags(&x, g, 0));
	launch(x, s);
	CHECK(out[0] == 0x1234 && out[7] == 0x1234 && strcmp(text, "h") == 0);
	OK(cudaEventQuery(e));

	/* Changing the executable graph leaves the graph alone, and the other way round. */
	m.value = 0x77;
	OK(cudaGraphExecMemsetNodeSetParams(x, set, &m));
	h.userData = LETTER('i');
	OK(cudaGraphHostNodeSetParams(host, &h));
	launch(x, s);
	CHECK(out[3] == 0x77 && strcmp(text, "h") == 0);
	OK(cudaGraphNodeSetEnabled(x, copy, 0));
	OK(cudaGraphNodeGetEnabled(x, copy, &enabled));
	CHECK(!enabled);
	out[3] = 1;
	launch(x, s);
	CHECK(out[3] == 1);
	OK(cudaGraphNodeSetEnabled(x, copy, 1));

	cudaGraphExecUpdateResultInfo info;
	OK(cudaGraphExecUpdate(x, g, &info));
	CHECK(info.result == cudaGraphExecUpdateSuccess);
	launch(x, s);
	CHECK(out[3] == 0x1234 && strcmp(text, "i") == 0);
	OK(cudaGraphDestroyNode(host));
	CHECK_IS(cudaGraphExecUpdate(x, g, &info), cudaErrorGraphExecUpdateFailure);
	CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
	if (is_cpu_device()) /* destroyed */
		CHECK_IS(cudaGraphNodeGetType(host, &type), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaGraphExecDestroy(x));
	OK(cudaGraphDestroy(clone));
	OK(cudaGraphDestroy(g));
	OK(cudaEventDestroy(e));
	OK(cudaFree(d));
}

static void test_cycle(void)
{
	cudaGraphNode_t a, b;
	cudaGraphExec_t x;
	cudaGraph_t g;

	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddEmptyNode(&a, g, NULL, 0));
	OK(cudaGraphAddEmptyNode(&b, g, &a, 1));
	OK(cudaGraphAddDependencies(g, &b, &a, NULL, 1));
	CHECK_IS(cudaGraphInstantiate(&x, g, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaGraphRemoveDependencies(g, &b, &a, NULL, 1));
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphExecDestroy(x));
	OK(cudaGraphDestroy(g));
}

static void test_children(cudaStream_t s, cudaStream_t t)
{
	struct cudaHostNodeParams h = {put, LETTER('0')};
	cudaGraphNode_t first, child, last;
	cudaGraphExec_t x;
	cudaGraph_t g, inner;

	inner = capture_diamond(s, t);
	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddHostNode(&first, g, NULL, 0, &h));
	OK(cudaGraphAddChildGraphNode(&child, g, &first, 1, inner));
	h.userData = LETTER('1');
	OK(cudaGraphAddHostNode(&last, g, &child, 1, &h));
	OK(cudaGraphDestroy(inner));
	OK(cudaGraphInstantiate(&x, g, 0));
	for (int i = 0; i < 10; i++) {
		launch(x, s);
		CHECK(strcmp(text, "0abcd1") == 0 || strcmp(text, "0acbd1") == 0);
	}
	/* A launch can't be captured; another stream's is as ever. */
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	reset();
	OK(cudaGraphLaunch(x, t));
	CHECK_IS(cudaGraphLaunch(x, s), cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaGraphLaunch(x, s), cudaErrorStreamCaptureUnsupported);
	CHECK_IS(cudaLaunchHostFunc(s, put, LETTER('2')), cudaErrorStreamCaptureInvalidated);
	CHECK_IS(cudaStreamEndCapture(s, &inner), cudaErrorStreamCaptureInvalidated);
	CHECK(!inner);
	cudaGetLastError();
	OK(cudaStreamSynchronize(t));
	CHECK(len == 6);
	launch(x, s);
	CHECK(len == 6);
	OK(cudaGraphExecDestroy(x));
	OK(cudaGraphDestroy(g));
}

/* Copies in a graph read host memory when the graph runs, not when it was captured. */
static void test_captured_copy(cudaStream_t s)
{
	cudaGraphExec_t x;
	cudaGraph_t g;
	int in = 1, out = 0, *d;

	OK(cudaMalloc((void **)&d, 4));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	OK(cudaMemcpyAsync(d, &in, 4, cudaMemcpyHostToDevice, s));
	OK(cudaMemcpyAsync(&out, d, 4, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphInstantiate(&x, g, 0));
	for (in = 10; in < 13; in++) {
		launch(x, s);
		CHECK(out == in);
	}
	OK(cudaGraphExecDestroy(x));
	OK(cudaGraphDestroy(g));
	OK(cudaFree(d));
}

static void test_graph_memory(cudaStream_t s)
{
	unsigned long long used;
	enum cudaGraphNodeType type;
	cudaGraphNode_t nodes[8];
	cudaGraphExec_t x;
	cudaGraph_t g;
	int out = 0;
	void *p, *q;
	size_t n = 8;

	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	OK(cudaMallocAsync(&p, 64, s));
	OK(cudaMemsetAsync(p, 3, 64, s));
	OK(cudaMemcpyAsync(&out, p, 4, cudaMemcpyDeviceToHost, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphGetNodes(g, nodes, &n));
	CHECK(n == 4);
	OK(cudaGraphNodeGetType(nodes[0], &type));
	CHECK(type == cudaGraphNodeTypeMemAlloc);
	OK(cudaGraphMemFreeNodeGetParams(nodes[3], &q));
	CHECK(q == p);
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphDestroy(g));
	for (int i = 0; i < 3; i++) {
		out = 0;
		launch(x, s);
		CHECK(out == 0x03030303);
	}
	OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	CHECK(is_cpu_device() ? used == 64 : used >= 64);
	OK(cudaGraphExecDestroy(x));
	OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	if (is_cpu_device()) /* a GPU's runtime may keep it for a while */
		CHECK(used == 0);
	CHECK_IS(cudaFree(p), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void destroyed(void *arg)
{
	++*(int *)arg;
}

static void test_user_objects(void)
{
	cudaUserObject_t o;
	cudaGraphExec_t x;
	cudaGraph_t g;
	int n = 0;

	OK(cudaGraphCreate(&g, 0));
	OK(cudaUserObjectCreate(&o, &n, destroyed, 1, cudaUserObjectNoDestructorSync));
	OK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphDestroy(g));
	CHECK(n == 0);
	OK(cudaGraphExecDestroy(x));
	CHECK(n == 1);
}

int main(void)
{
	cudaStream_t s, t;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	test_capture(s, t);
	test_capture_errors(s, t);
	test_explicit(s);
	test_cycle();
	test_children(s, t);
	test_captured_copy(s);
	test_graph_memory(s);
	test_user_objects();
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
	return 0;
}
