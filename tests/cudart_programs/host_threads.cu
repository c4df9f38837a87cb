// host_threads.cu - two host threads launch kernels on the same memory, ordered by what the
// argument names: mutex, condition, barrier, semaphore, once, join, event (of the API), atomic, or
// nothing. Prints "ok". host_threads.sh says what the oracle must report.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "expect.h"

#define N 256

__global__ void first(int *p)
{
	p[threadIdx.x] = 1; // race: first
}

__global__ void second(int *p)
{
	p[threadIdx.x] += 1; // race: second
}

static int *mem;
static const char *how;
static std::mutex m;
static std::condition_variable changed;
static bool is_done;
static pthread_barrier_t barrier;
static sem_t semaphore;
static std::once_flag once;
static std::atomic<bool> flag;
static cudaEvent_t event;

static bool is(const char *s)
{
	return !strcmp(how, s);
}

static void launch_first()
{
	cudaStream_t s;
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	first<<<1, N, 0, s>>>(mem);
	OK(cudaStreamSynchronize(s));
	OK(cudaStreamDestroy(s));
}

static void one()
{
	if (is("mutex")) {
		// In either order: the kernels are ordered by the lock either way.
		std::lock_guard<std::mutex> l(m);
		launch_first();
		return;
	}
	if (is("once")) {
		std::call_once(once, launch_first);
		return;
	}
	if (is("event")) {
		cudaStream_t s;
		OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		first<<<1, N, 0, s>>>(mem);
		OK(cudaEventRecord(event, s));
		pthread_barrier_wait(&barrier);
		return;
	}
	launch_first();
	if (is("condition")) {
		std::lock_guard<std::mutex> l(m);
		is_done = true;
		changed.notify_one();
	}
	if (is("barrier"))
		pthread_barrier_wait(&barrier);
	if (is("atomic"))
		flag = true;
	if (is("semaphore"))
		OK((cudaError_t)sem_post(&semaphore));
}

static void other()
{
	cudaStream_t s;
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	std::unique_lock<std::mutex> l(m, std::defer_lock);
	if (is("mutex") || is("condition"))
		l.lock();
	if (is("condition"))
		changed.wait(l, [] { return is_done; });
	if (is("barrier") || is("event"))
		pthread_barrier_wait(&barrier);
	if (is("event"))
		OK(cudaStreamWaitEvent(s, event, 0));
	if (is("semaphore"))
		while (sem_wait(&semaphore))
			;
	while (is("atomic") && !flag)
		std::this_thread::yield();
	if (is("once"))
		std::call_once(once, launch_first);
	second<<<1, N, 0, s>>>(mem);
	OK(cudaStreamSynchronize(s));
	OK(cudaStreamDestroy(s));
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "mutex";
	OK(cudaMalloc(&mem, N * sizeof(int)));
	OK(cudaMemset(mem, 0, N * sizeof(int)));
	OK(cudaEventCreate(&event));
	OK(cudaDeviceSynchronize());
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&semaphore, 0, 0);
	std::thread a(one);
	if (is("join"))
		a.join();
	std::thread b(other);
	if (a.joinable())
		a.join();
	b.join();
	// A copy by this thread, which has joined both.
	int got[N];
	OK(cudaMemcpy(got, mem, sizeof(got), cudaMemcpyDeviceToHost));
	THAT(got[0] == 1 || got[0] == 2);
	puts("ok");
	return 0;
}
