// byte_smem_rw.racy.cu - the same with an index slip: both warps use the even bytes.
// scenario: Byte granularity SMEM RW
// detector: collide
// options: dense=256
// delays: 5000/1
// expect collide: clobbered-read at takes
// expect oracle: unordered at gives
// expect oracle: unordered at takes
// may: gives
// twin: byte_smem_rw.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int WARP = 32;
static const int ROUNDS = 64;
static const int ROW = 2 * WARP; /* bytes */

__global__ void share_words(const unsigned char *in, unsigned *out)
{
	__shared__ unsigned char data[ROUNDS * ROW];
	int lane = threadIdx.x % WARP;
	unsigned acc = 0;

	in += blockIdx.x * ROUNDS * ROW;
	for (int i = threadIdx.x; i < ROUNDS * ROW; i += 2 * WARP)
		data[i] = in[i];
	__syncthreads();
	if (threadIdx.x < WARP) {
		for (int r = 0; r < ROUNDS; r++)
			data[r * ROW + 2 * lane] = (unsigned char)(r ^ 0x55); // race: gives
	} else {
		for (int r = ROUNDS - 1; r >= 0; r--)
			acc = acc * 31 + data[r * ROW + 2 * lane]; // race: takes
	}
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++)
		acc = acc * 31 + data[r * ROW + threadIdx.x];
	out[blockIdx.x * 2 * WARP + threadIdx.x] = acc;
}

int main()
{
	std::vector<unsigned char> in(BLOCKS * ROUNDS * ROW);
	std::vector<unsigned> want(BLOCKS * 2 * WARP), got;
	uint32_t seed = 23;

	for (unsigned char &x : in)
		x = (unsigned char)(example_random(&seed) & 0x3f);
	for (size_t i = 0; i < want.size(); i++) {
		const unsigned char *rows = &in[i / ROW * ROUNDS * ROW];
		size_t t = i % ROW, lane = t % WARP;

		for (size_t r = ROUNDS; t >= WARP && r--;)
			want[i] = want[i] * 31 + rows[r * ROW + 2 * lane + 1];
		for (unsigned r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 + (t % 2 ? rows[r * ROW + t] : r ^ 0x55);
	}
	unsigned char *d_in = example_upload(in);
	unsigned *d_out = example_upload(want);
	share_words<<<BLOCKS, 2 * WARP>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
