/* A signal that all threads of the program block, to wait for it, isn't taken by a thread of the CPU device. */
#include <csignal>
#include <ctime>
#include <unistd.h>

#include "expect.h"

/* Its blocks don't communicate, and are worth several threads. */
__global__ void compute(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i;

	for (int k = 0; k < 200; k++)
		x = x * 1664525u + 1013904223u;
	out[i] = x;
}

int main()
{
	const int blocks = 200, threads = 128;
	const timespec wait = {60, 0};
	unsigned *p;
	sigset_t set;

	OK(cudaMalloc(&p, blocks * threads * sizeof(*p)));
	compute<<<blocks, threads>>>(p);
	OK(cudaDeviceSynchronize()); /* now all of the device's threads are there */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	THAT(!pthread_sigmask(SIG_BLOCK, &set, nullptr));
	for (int i = 0; i < 40; i++) {
		int s = i % 2 ? SIGUSR1 : SIGTERM;
		kill(getpid(), s); /* of the process: any thread that doesn't block it may take it */
		THAT(sigtimedwait(&set, nullptr, &wait) == s);
	}
	compute<<<blocks, threads>>>(p);
	OK(cudaDeviceSynchronize());
	puts("ok");
}
