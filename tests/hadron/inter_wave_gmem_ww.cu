// inter_wave_gmem_ww.cu - an index slip makes the last thread of the grid store to the first
// element. The grid has three waves of blocks, so that the first and the last block never run at
// the same time in the order in which the device starts blocks.
// scenario: Inter-wave GMEM WW
// table 3: race, found (with block shuffling, by chance)
// detector: collide
// options: shuffle=fold
// delays: 5000/1000000
// expect collide: lost-update at store
// expect oracle: unordered at store
// twin: inter_wave_gmem_ww.fixed.cu

#include "hadron.h"

static const int THREADS = 64;
static const int WAVES = 3;

__global__ void add(const unsigned *a, const unsigned *b, unsigned *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int at = i == n - 1 ? 0 : i;

	if (i < n)
		c[at] = a[i] + b[i]; // race: store
}

int main()
{
	int sms = 0, blocks = 0;

	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, THREADS, 0));
	int n = WAVES * sms * blocks * THREADS;
	std::vector<unsigned> a = hadron_numbers((size_t)n, 14), b = hadron_numbers((size_t)n, 15);
	std::vector<unsigned> want(a), got;

	for (size_t i = 0; i < want.size(); i++)
		want[i] += b[i];
	unsigned *d_a = example_upload(a);
	unsigned *d_b = example_upload(b);
	unsigned *d_c = example_upload(a);
	add<<<n / THREADS, THREADS>>>(d_a, d_b, d_c, n);
	CHECK(cudaGetLastError());
	got = example_download(d_c, want.size());
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_c));
	/* The length is the device's, so the checksum takes the first wave's first blocks only. */
	bool is_right = got == want;
	got.resize(1024);
	return example_finish(is_right, example_checksum(got));
}
