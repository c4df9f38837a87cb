// multi_process.cu - a process reads memory of another's that its kernel is still writing.
// scenario: multi_process
// table 3: race, not in it
// detector: collide
// options: dense=0
// delays: 1000000/1
// expect collide: clobbered-read|speculated-read at takes
// may: gives
// twin: -DFIXED: the reader is told when the writer has waited for its kernel

#include "hadron.h"

#include <sys/wait.h>
#include <unistd.h>

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;
static const int REPEATS = 128; /* with delays a quarter of a second or more: many turns */
#ifdef FIXED
static const bool IS_ORDERED = true;
#else
static const bool IS_ORDERED = false;
#endif

__device__ unsigned long long now()
{
	unsigned long long t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

/* In each pass anew: a word that the compiler keeps in a register is read but once. */
__global__ void produce(const unsigned *in, unsigned *data, unsigned long long *span)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i == 0)
		span[0] = now();
	for (int k = REPEATS; k > 0; k--) {
		asm volatile("" : "+r"(i));
		for (int r = 0; r < ROUNDS; r++)
			data[r * N + i] = in[r * N + i] * k; // race: gives
	}
	if (i == 0)
		span[1] = now();
}

__global__ void consume(const unsigned *data, unsigned *out, unsigned long long *span)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned acc = 0;

	if (i == 0)
		span[0] = now();
	for (int k = 0; k < REPEATS; k++) {
		asm volatile("" : "+r"(i));
		for (int r = ROUNDS - 1; r >= 0; r--)
			acc = acc * 31 + data[r * N + i]; // race: takes
	}
	out[i] = acc;
	if (i == 0)
		span[1] = now();
}

/* What the processes tell each other. CUDA is started in each of them, after the fork. */
struct message {
	cudaIpcMemHandle_t handle;
	int is_good;
};

static void put(int fd, const void *p, size_t n)
{
	if (write(fd, p, n) != (ssize_t)n)
		exit(3);
}

static void get(int fd, void *p, size_t n)
{
	for (char *c = (char *)p; n;) {
		ssize_t k = read(fd, c, n);
		if (k <= 0)
			exit(3);
		c += k;
		n -= (size_t)k;
	}
}

static int consumer(int in, int out)
{
	std::vector<unsigned> result(N);
	std::vector<unsigned long long> span(2);
	unsigned *data = nullptr;
	message m;

	get(in, &m, sizeof(m));
	if (!m.is_good)
		return 0;
	CHECK(cudaIpcOpenMemHandle((void **)&data, m.handle, cudaIpcMemLazyEnablePeerAccess));
	unsigned *d_out = example_upload(result);
	unsigned long long *d_span = example_upload(span);
	CHECK(cudaDeviceSynchronize());
	put(out, &m, 1); /* ready */
	get(in, &m, 1);	 /* go */
	consume<<<BLOCKS, THREADS>>>(data, d_out, d_span);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	result = example_download(d_out, result.size());
	span = example_download(d_span, span.size());
	put(out, result.data(), N * sizeof(result[0]));
	put(out, span.data(), 2 * sizeof(span[0]));
	CHECK(cudaIpcCloseMemHandle(data));
	CHECK(cudaFree(d_out));
	CHECK(cudaFree(d_span));
	return 0;
}

static int producer(int in, int out)
{
	std::vector<unsigned> numbers = hadron_numbers(ROUNDS * N, 23), want(N), got(N);
	std::vector<unsigned long long> ours(2), theirs(2);
	message m = {};
	char c = 0;

	for (size_t i = 0; i < want.size(); i++)
		for (int k = 0; k < REPEATS; k++)
			for (size_t r = ROUNDS; r--;)
				want[i] = want[i] * 31 + numbers[r * N + i];
	std::vector<unsigned> zeros(numbers.size());
	unsigned *d_in = example_upload(numbers), *d_data = example_upload(zeros);
	unsigned long long *d_span = example_upload(ours);
	m.is_good = cudaIpcGetMemHandle(&m.handle, d_data) == cudaSuccess;
	CHECK(cudaDeviceSynchronize());
	put(out, &m, sizeof(m));
	if (!m.is_good) {
		printf("skip: no memory can be shared between processes here\n");
		return HADRON_SKIP;
	}
	get(in, &c, 1);
	if (!IS_ORDERED)
		put(out, &c, 1);
	produce<<<BLOCKS, THREADS>>>(d_in, d_data, d_span);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	if (IS_ORDERED)
		put(out, &c, 1);
	get(in, got.data(), N * sizeof(got[0]));
	get(in, theirs.data(), 2 * sizeof(theirs[0]));
	ours = example_download(d_span, ours.size());
	/* Did the two overlap? Nobody can tell from the report. */
	fprintf(stderr, "produce ran for %.1f ms, consume from %.1f to %.1f ms after its start\n",
		(double)(ours[1] - ours[0]) / 1e6, (double)(long long)(theirs[0] - ours[0]) / 1e6,
		(double)(long long)(theirs[1] - ours[0]) / 1e6);
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_span));
	return example_finish(got == want, example_checksum(got));
}

int main()
{
	int there[2], back[2], status = 0, rc;

	if (pipe(there) || pipe(back))
		return 3;
	pid_t child = fork();
	if (child < 0)
		return 3;
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		exit(consumer(there[0], back[1]));
	}
	close(there[0]);
	close(back[1]);
	rc = producer(back[0], there[1]);
	waitpid(child, &status, 0);
	return rc ? rc : status ? 4 : 0;
}
