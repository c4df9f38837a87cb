// flag.cu - one block writes a message and raises a flag, another waits for the flag and reads
// the message. Nothing orders the message before the flag: a fence on both sides is missing.
// detector: later (flag without a fence: not visible as a changed value; the oracle reports it)
// expect oracle: unordered at read
// expect oracle: unordered at write
// twin: flag.fixed.cu

#include "example.h"

static const int PAIRS = 8;
static const int WORDS = 32;
static const int ROUNDS = 50;

/* Blocks 2k write, blocks 2k + 1 read; all 16 are small enough to be on the GPU together. */
__global__ void talk(unsigned *message, unsigned *flag, unsigned *heard)
{
	int pair = blockIdx.x / 2, t = threadIdx.x;
	unsigned sum = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned *m = message + (pair * ROUNDS + round) * WORDS;
		unsigned *f = flag + pair;

		if (blockIdx.x % 2 == 0) {
			m[t] = round * 1000 + t; // race: write
			__syncwarp();
			if (t == 0)
				atomicExch(f, round + 1);
		} else {
			if (t == 0)
				while (atomicAdd(f, 0) <= round)
					;
			__syncwarp();
			sum += m[(t + 1) % WORDS]; // race: read
		}
	}
	if (blockIdx.x % 2 != 0)
		heard[pair * WORDS + t] = sum;
}

int main()
{
	std::vector<unsigned> message(PAIRS * ROUNDS * WORDS), flag(PAIRS);
	std::vector<unsigned> want(PAIRS * WORDS), got(PAIRS * WORDS);

	for (size_t i = 0; i < want.size(); i++)
		for (unsigned round = 0; round < ROUNDS; round++)
			want[i] += round * 1000 + (unsigned)((i + 1) % WORDS);
	unsigned *d_message = example_upload(message);
	unsigned *d_flag = example_upload(flag);
	unsigned *d_heard = example_upload(got);
	talk<<<2 * PAIRS, WORDS>>>(d_message, d_flag, d_heard);
	CHECK(cudaGetLastError());
	got = example_download(d_heard, got.size());
	CHECK(cudaFree(d_message));
	CHECK(cudaFree(d_flag));
	CHECK(cudaFree(d_heard));
	return example_finish(got == want, example_checksum(got));
}
