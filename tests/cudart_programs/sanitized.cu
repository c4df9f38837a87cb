// sanitized.cu - for sanitized.sh: a racy kernel, managed and pinned memory, a host function, threads that wait
// for each other; with an argument it leaks 4 bytes, or has a race of its own threads.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <cuda_runtime.h>

__global__ void fill(int *p)
{
	p[threadIdx.x / 2] = threadIdx.x; // the kernel's race
}

static std::mutex m;
static std::condition_variable c;
static int stage, racy;

static void on_stream(void *)
{
	std::lock_guard<std::mutex> l(m);
	stage = 1;
	c.notify_all();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int *p, *h;

	cudaMallocManaged(&p, 256);
	cudaMallocHost(&h, 256);
	fill<<<1, 64>>>(p);
	cudaMemcpyAsync(h, p, 256, cudaMemcpyDefault);
	cudaLaunchHostFunc(0, on_stream, nullptr);
	std::thread t([how] {
		if (!strcmp(how, "race"))
			racy = 1;
		cudaSetDevice(0);
		std::unique_lock<std::mutex> l(m);
		c.wait(l, [] { return stage == 1; });
		cudaDeviceSynchronize();
	});
	if (!strcmp(how, "race"))
		racy = 2;
	cudaDeviceSynchronize();
	t.join();
	if (!strcmp(how, "leak"))
		*(volatile int *)malloc(4) = 1;
	cudaFreeHost(h);
	cudaFree(p);
	puts(racy < 3 ? "done" : "");
	return fflush(stdout) ? 1 : 3;
}
