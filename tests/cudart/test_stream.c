/*
 * test_stream.c - what streams, events and host functions order, and what not.
 *
 * Host functions add a letter to a text; copies and fills carry values from
 * one stream to the next.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static char text[64];
static _Atomic unsigned len;

static void put(void *letter)
{
	text[atomic_fetch_add(&len, 1)] = (char)(intptr_t)letter;
}

#define LETTER(c) ((void *)(intptr_t)(c))

static void reset(void)
{
	memset(text, 0, sizeof(text));
	atomic_store(&len, 0);
}

static void test_in_order(void)
{
	cudaStream_t s;

	reset();
	OK(cudaStreamCreate(&s));
	for (int c = 'a'; c <= 'p'; c++)
		OK(cudaLaunchHostFunc(s, put, LETTER(c)));
	OK(cudaStreamSynchronize(s));
	CHECK(strcmp(text, "abcdefghijklmnop") == 0);
	OK(cudaStreamQuery(s));
	OK(cudaStreamDestroy(s));
	if (is_cpu_device()) { /* destroyed; elsewhere it must not be used */
		CHECK_IS(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
		CHECK_IS(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
		cudaGetLastError();
	}
}

static void test_event_orders(void)
{
	cudaStream_t s, t;
	cudaEvent_t e;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	OK(cudaStreamWaitEvent(t, e, 0)); /* never recorded: no wait */
	for (int round = 0; round < 20; round++) {
		reset();
		OK(cudaLaunchHostFunc(s, put, LETTER('a')));
		OK(cudaLaunchHostFunc(s, put, LETTER('b')));
		OK(cudaEventRecord(e, s));
		OK(cudaStreamWaitEvent(t, e, 0));
		OK(cudaLaunchHostFunc(t, put, LETTER('c')));
		OK(cudaStreamSynchronize(t));
		CHECK(strcmp(text, "abc") == 0);
	}
	OK(cudaEventSynchronize(e));
	OK(cudaEventQuery(e));
	OK(cudaEventDestroy(e));
	if (is_cpu_device()) {
		CHECK_IS(cudaEventQuery(e), cudaErrorInvalidResourceHandle);
		cudaGetLastError();
	}
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
}

/* The twin of the above: without the event both orders happen. */
static void test_no_event_no_order(void)
{
	int seen[2] = {0, 0};
	cudaStream_t s, t;
	char c, *d;

	OK(cudaMalloc((void **)&d, 1));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	for (int round = 0; round < 200 && !(seen[0] && seen[1]); round++) {
		OK(cudaMemsetAsync(d, 0, 1, s));
		OK(cudaMemsetAsync(d, 1, 1, t));
		OK(cudaDeviceSynchronize());
		OK(cudaMemcpy(&c, d, 1, cudaMemcpyDeviceToHost));
		seen[(int)c] = 1;
	}
	/* FAKE_ORDER=last always takes the newest first, and a GPU may always take the oldest. */
	if (is_cpu_device())
		CHECK(seen[0] && (seen[1] || getenv("FAKE_ORDER")));
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
	OK(cudaFree(d));
}

static void test_legacy_joins(void)
{
	cudaStream_t s, t;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamCreate(&t));
	for (int round = 0; round < 20; round++) {
		reset();
		OK(cudaLaunchHostFunc(s, put, LETTER('a')));
		OK(cudaLaunchHostFunc(NULL, put, LETTER('b')));
		OK(cudaLaunchHostFunc(t, put, LETTER('c')));
		OK(cudaLaunchHostFunc(cudaStreamLegacy, put, LETTER('d')));
		OK(cudaLaunchHostFunc(cudaStreamPerThread, put, LETTER('e')));
		OK(cudaLaunchHostFunc(NULL, put, LETTER('f')));
		OK(cudaStreamSynchronize(NULL));
		CHECK(strcmp(text, "abcdef") == 0);
	}
	/* A destroyed stream's work is joined, too. */
	reset();
	for (int c = 'a'; c < 'k'; c++)
		OK(cudaLaunchHostFunc(s, put, LETTER(c)));
	OK(cudaStreamDestroy(s));
	OK(cudaLaunchHostFunc(NULL, put, LETTER('z')));
	OK(cudaStreamSynchronize(NULL));
	CHECK(strcmp(text, "abcdefghijz") == 0);
	OK(cudaStreamDestroy(t));
}

static void test_copies_follow(void)
{
	cudaStream_t s, t;
	cudaEvent_t e;
	int *a, *b, *host;

	OK(cudaMalloc((void **)&a, 4096));
	OK(cudaMalloc((void **)&b, 4096));
	OK(cudaMallocHost((void **)&host, 4096));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaEventCreate(&e));
	for (int round = 0; round < 20; round++) {
		memset(host, round, 4096);
		OK(cudaMemcpyAsync(a, host, 4096, cudaMemcpyHostToDevice, s));
		OK(cudaMemsetAsync(a, 0x11, 16, s));
		OK(cudaEventRecord(e, s));
		OK(cudaStreamWaitEvent(t, e, 0));
		OK(cudaMemcpyAsync(b, a, 4096, cudaMemcpyDeviceToDevice, t));
		OK(cudaStreamSynchronize(t));
		OK(cudaMemcpy(host, b, 4096, cudaMemcpyDeviceToHost));
		CHECK(host[0] == 0x11111111 && host[4] == round * 0x01010101);
	}
	OK(cudaFreeHost(host));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaEventDestroy(e));
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
}

static void test_times(void)
{
	cudaEvent_t a, b, c;
	float ms = -1;

	OK(cudaEventCreate(&a));
	OK(cudaEventCreate(&b));
	OK(cudaEventCreateWithFlags(&c, cudaEventDisableTiming));
	CHECK_IS(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
	OK(cudaEventRecord(a, NULL));
	OK(cudaLaunchHostFunc(NULL, put, LETTER('x')));
	OK(cudaEventRecord(b, NULL));
	OK(cudaEventRecord(c, NULL));
	OK(cudaEventSynchronize(b));
	OK(cudaEventElapsedTime(&ms, a, b));
	CHECK(ms >= 0);
	CHECK_IS(cudaEventElapsedTime(&ms, a, c), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	OK(cudaEventDestroy(a));
	OK(cudaEventDestroy(b));
	OK(cudaEventDestroy(c));
}

static cudaError_t inside;

static void call_cuda(void *arg)
{
	void *p;

	(void)arg;
	inside = cudaMalloc(&p, 4);
}

static void callback(cudaStream_t s, cudaError_t status, void *arg)
{
	CHECK(status == cudaSuccess);
	*(cudaStream_t *)arg = s;
}

static void test_host_functions(void)
{
	cudaStream_t s, got = NULL;

	OK(cudaStreamCreate(&s));
	OK(cudaLaunchHostFunc(s, call_cuda, NULL));
	OK(cudaStreamAddCallback(s, callback, &got, 0));
	OK(cudaStreamSynchronize(s));
	CHECK_IS(inside, cudaErrorNotPermitted);
	CHECK(got == s);
	OK(cudaStreamDestroy(s));
}

static void test_properties(void)
{
	unsigned long long id, id2;
	cudaStream_t s;
	unsigned flags;
	int priority, device;

	OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -100));
	OK(cudaStreamGetFlags(s, &flags));
	OK(cudaStreamGetPriority(s, &priority));
	OK(cudaStreamGetId(s, &id));
	OK(cudaStreamGetId(NULL, &id2));
	OK(cudaStreamGetDevice(s, &device));
	CHECK(flags == cudaStreamNonBlocking && priority == -5 && id != id2 && device == 0);
	OK(cudaStreamDestroy(s));
}

static void *other_thread(void *arg)
{
	unsigned long long *id = arg;

	OK(cudaStreamGetId(cudaStreamPerThread, id));
	OK(cudaLaunchHostFunc(cudaStreamPerThread, put, LETTER('t')));
	OK(cudaStreamSynchronize(cudaStreamPerThread));
	return NULL;
}

static void test_per_thread(void)
{
	unsigned long long mine, other;
	pthread_t t;

	reset();
	OK(cudaStreamGetId(cudaStreamPerThread, &mine));
	CHECK(pthread_create(&t, NULL, other_thread, &other) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(mine != other && len == 1);
}

int main(void)
{
	test_in_order();
	test_event_orders();
	test_no_event_no_order();
	test_legacy_joins();
	test_copies_follow();
	test_times();
	test_host_functions();
	test_properties();
	test_per_thread();
	return 0;
}
