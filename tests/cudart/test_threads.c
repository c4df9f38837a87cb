/*
 * test_threads.c - several host threads use streams, events, memory at the same time.
 */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 30, N = 256 };

static void *work(void *arg)
{
	int id = (int)(intptr_t)arg, *d, *host;
	cudaStream_t s;
	cudaEvent_t e;

	OK(cudaMallocHost((void **)&host, N * sizeof(int)));
	for (int round = 0; round < ROUNDS; round++) {
		OK(cudaStreamCreate(&s));
		OK(cudaEventCreate(&e));
		OK(cudaMallocAsync((void **)&d, N * sizeof(int), s));
		for (int i = 0; i < N; i++)
			host[i] = id * 1000 + i + round;
		OK(cudaMemcpyAsync(d, host, N * sizeof(int), cudaMemcpyHostToDevice, s));
		OK(cudaEventRecord(e, s));
		OK(cudaStreamWaitEvent(cudaStreamPerThread, e, 0));
		OK(cudaMemsetAsync(d, 0, sizeof(int), cudaStreamPerThread));
		OK(cudaStreamSynchronize(cudaStreamPerThread));
		OK(cudaMemcpy(host, d, N * sizeof(int), cudaMemcpyDeviceToHost));
		CHECK(host[0] == 0 && host[N - 1] == id * 1000 + N - 1 + round);
		OK(cudaFreeAsync(d, s));
		OK(cudaEventDestroy(e));
		OK(cudaStreamDestroy(s));
	}
	OK(cudaFreeHost(host));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, work, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	OK(cudaDeviceSynchronize());
	return 0;
}
