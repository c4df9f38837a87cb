// byte_gmem_ww.racy.cu - the same with an index slip: both warps use the even bytes.
// scenario: Byte granularity GMEM WW
// detector: collide
// expect collide: lost-update at first|second
// expect oracle: unordered at first
// expect oracle: unordered at second
// twin: byte_gmem_ww.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int WARP = 32;
static const int ROUNDS = 64;
static const int ROW = 2 * WARP; /* bytes */

__global__ void share_words(unsigned char *data, unsigned *out)
{
	int lane = threadIdx.x % WARP;
	unsigned acc = 0;

	data += blockIdx.x * ROUNDS * ROW;
	if (threadIdx.x < WARP) {
		for (int r = 0; r < ROUNDS; r++)
			data[r * ROW + 2 * lane] = (unsigned char)(r ^ 0x55); // race: first
	} else {
		for (int r = ROUNDS - 1; r >= 0; r--)
			data[r * ROW + 2 * lane] = (unsigned char)(r ^ 0xaa); // race: second
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
		unsigned flip = i % 2 ? 0xaa : 0x55;

		for (unsigned r = 0; r < ROUNDS; r++)
			want[i] = want[i] * 31 + (r ^ flip);
	}
	unsigned char *d_data = example_upload(in);
	unsigned *d_out = example_upload(want);
	share_words<<<BLOCKS, 2 * WARP>>>(d_data, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
