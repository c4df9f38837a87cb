// stream_order.cu - a kernel fills what a kernel of another stream reads. Launched first, it has
// always done so in time, since another kernel stands before the reader: nothing orders the two,
// but only another order of the streams shows it.
// scenario: stream_order
// table 3: race, not in it
// detector: later (which stream is held is chance; tests/gpu/schedules.sh counts it)
// options: shuffle-streams:dense=0
// delays: 5000/1
// expect collide: clobbered-read|speculated-read at takes
// expect oracle: unordered at takes
// may: gives
// twin: -DFIXED: the reader waits for an event after the kernel that fills

#include <algorithm>
#include "hadron.h"

static const int THREADS = 64;
static const int WORDS = 64;   /* for each thread */
static const int REPEATS = 64; /* about a millisecond with delays */
static const int TIMES = 24;
#ifdef FIXED
static const bool IS_ORDERED = true;
#else
static const bool IS_ORDERED = false;
#endif

/* Other work, in a time that no check makes longer. */
__global__ void work()
{
	unsigned long long start, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
	do {
		__nanosleep(1000);
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	} while (now - start < 100000);
}

__global__ void fill(unsigned *data, unsigned value)
{
	for (int r = 0; r < WORDS; r++)
		data[r * THREADS + threadIdx.x] = value + r; // race: gives
}

__global__ void read(const unsigned *data, unsigned *out)
{
	unsigned acc = 0, i = threadIdx.x;

	for (int k = 0; k < REPEATS; k++) {
		asm volatile("" : "+r"(i)); /* or each word would be read once */
		for (int r = 0; r < WORDS; r++)
			acc = acc * 31 + data[r * THREADS + i]; // race: takes
	}
	out[threadIdx.x] = acc;
}

static unsigned expected(unsigned value)
{
	unsigned acc = 0;

	for (int k = 0; k < REPEATS; k++)
		for (int r = 0; r < WORDS; r++)
			acc = acc * 31 + value + r;
	return acc;
}

int main()
{
	std::vector<unsigned> zeros(THREADS * WORDS), result(THREADS), want(THREADS);
	unsigned *data = example_upload(zeros), *out = example_upload(result);
	cudaStream_t first, second;
	cudaEvent_t filled;
	bool is_right = true;

	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&filled));
	for (int t = 0; t < TIMES; t++) {
		unsigned value = (t + 1) * 1000003u;

		fill<<<1, THREADS, 0, first>>>(data, value);
		CHECK(cudaEventRecord(filled, first));
		work<<<1, 1, 0, second>>>();
		if (IS_ORDERED)
			CHECK(cudaStreamWaitEvent(second, filled, 0));
		read<<<1, THREADS, 0, second>>>(data, out);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
		std::fill(want.begin(), want.end(), expected(value));
		result = example_download(out, result.size());
		is_right = is_right && result == want;
	}
	CHECK(cudaFree(data));
	CHECK(cudaFree(out));
	return example_finish(is_right, example_checksum(want));
}
