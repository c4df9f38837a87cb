/* Kernels that wait for what another stream, a copy, a host function, a host thread or a signal
 * handler writes late: no deadlock. The last waits for what nobody writes, and is ended, with its
 * line. */
#include "expect.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

__global__ void wait_for(volatile int *flag, int *seen)
{
	while (!*flag)
		;
	*seen += 1;
}

__global__ void set(volatile int *flag)
{
	*flag = 1;
}

__global__ void nothing()
{
}

static volatile int *volatile signalled;

static void on_alarm(int)
{
	*signalled = 1;
}

/* Longer than the device looks on before it calls a deadlock one. */
static void nap()
{
	std::this_thread::sleep_for(std::chrono::seconds(2));
}

static void late_host(void *flag)
{
	nap();
	*(volatile int *)flag = 1;
}

int main()
{
	int *flag, *seen, *device, *mapped, one = 1;
	cudaStream_t a, b;

	OK(cudaMallocManaged(&flag, sizeof(*flag)));
	OK(cudaMallocManaged(&seen, sizeof(*seen)));
	OK(cudaMalloc(&device, sizeof(*device)));
	OK(cudaHostAlloc(&mapped, sizeof(*mapped), cudaHostAllocMapped));
	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	*seen = 0;

	/* Another thread, that naps meanwhile, through managed memory. */
	*flag = 0;
	wait_for<<<1, 1, 0, a>>>(flag, seen);
	std::thread writer([&] { nap(), *(volatile int *)flag = 1; });
	OK(cudaStreamSynchronize(a));
	writer.join();
	THAT(*seen == 1);

	/* A thread that waits for a stream of its own first: it isn't forgotten while the other
	 * thread's kernel runs on. */
	*flag = 0;
	wait_for<<<1, 1, 0, a>>>(flag, seen);
	std::thread waiter([&] {
		nothing<<<1, 1, 0, b>>>();
		OK(cudaStreamSynchronize(b));
		*(volatile int *)flag = 1;
	});
	OK(cudaStreamSynchronize(a));
	waiter.join();
	THAT(*seen == 2);

	/* This thread, which asks now and then. */
	*mapped = 0;
	wait_for<<<1, 1, 0, a>>>(mapped, seen);
	for (int i = 0; i < 20; i++)
		EXPECT(cudaStreamQuery(a), cudaErrorNotReady);
	nap();
	*(volatile int *)mapped = 1;
	OK(cudaStreamSynchronize(a));
	THAT(*seen == 3);

	/* A copy after a host function, and a kernel after that, in another stream. */
	OK(cudaMemset(device, 0, sizeof(*device)));
	OK(cudaDeviceSynchronize());
	*flag = 0;
	wait_for<<<1, 1, 0, a>>>(device, seen);
	OK(cudaLaunchHostFunc(b, late_host, flag));
	OK(cudaMemcpyAsync(device, &one, sizeof(one), cudaMemcpyHostToDevice, b));
	OK(cudaStreamSynchronize(a));
	THAT(*seen == 4 && *flag);
	OK(cudaDeviceSynchronize());
	OK(cudaMemset(device, 0, sizeof(*device)));
	OK(cudaDeviceSynchronize());
	wait_for<<<1, 1, 0, a>>>(device, seen);
	set<<<1, 1, 0, b>>>(device);
	OK(cudaDeviceSynchronize());
	THAT(*seen == 5);

	/* A handler of a signal. */
	*mapped = 0;
	signalled = mapped;
	signal(SIGALRM, on_alarm);
	alarm(2);
	wait_for<<<1, 1, 0, a>>>(mapped, seen);
	OK(cudaStreamSynchronize(a));
	THAT(*seen == 6);
	signal(SIGALRM, SIG_DFL);

	/* Nobody. */
	*mapped = 0;
	wait_for<<<1, 1, 0, a>>>(mapped, seen);
	EXPECT(cudaStreamSynchronize(a), cudaErrorLaunchTimeout);
	puts("ok");
}
