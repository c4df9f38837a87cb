// tma_mainloop.cu - the shape of CUTLASS's main loops with TMA and ordinary reads (its sm90 "rs" and sm120 ones): a
// producer warp fills stages by bulk copies, consumers read them by ldmatrix for mma.sync, meet at a named barrier, and
// one thread of each warp gives the stage back by an mbarrier. No proxy fence: the mbarrier is enough for that.
// expect: nothing
// small: 5 8

#include "racefree.h"
#include <cstdint>

static const int STAGES = 3;
static const int CONSUMERS = 64;
static const int THREADS = CONSUMERS + 32;
static const int TILE = 16 * 16; /* halves */

__device__ static uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ static void wait(const uint64_t *bar, int parity)
{
	asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
		     "@!p bra W;\n}" ::"r"(shared_address(bar)),
		     "r"(parity)
		     : "memory");
}

__device__ static void arrive(const uint64_t *bar)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

__device__ static void fill(unsigned short *to, const unsigned short *from, const uint64_t *full)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(shared_address(full))
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], 512, [%2];" ::"r"(shared_address(to)),
		     "l"(from), "r"(shared_address(full))
		     : "memory");
}

/* c += a * b, both from the stage: a 16x16, b the transposed left half. */
__device__ static void multiply(const unsigned short *stage, int lane, float *c)
{
	uint32_t a[4], b[2], row = shared_address(stage + lane % 16 * 16 + lane / 16 * 8);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
		     : "r"(row)
		     : "memory");
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		     : "=r"(b[0]), "=r"(b[1])
		     : "r"(row)
		     : "memory");
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
		     "{%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void mainloop(const unsigned short *in, float *out, int tiles)
{
	__shared__ alignas(128) unsigned short stage[STAGES][TILE];
	__shared__ alignas(8) uint64_t full[STAGES], empty[STAGES];
	int t = threadIdx.x, lane = t % 32;
	float c[4] = {0, 0, 0, 0};

	if (t == 0) {
		for (int s = 0; s < STAGES; s++) {
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
				shared_address(full + s)));
			asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
					     shared_address(empty + s)),
				     "r"(CONSUMERS / 32));
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
	in += (size_t)blockIdx.x * tiles * TILE;
	if (t >= CONSUMERS) {
		for (int k = 0; k < tiles && lane == 0; k++) {
			if (k >= STAGES)
				wait(empty + k % STAGES, (k / STAGES - 1) % 2);
			fill(stage[k % STAGES], in + k * TILE, full + k % STAGES);
		}
		return;
	}
	for (int k = 0; k < tiles; k++) {
		wait(full + k % STAGES, k / STAGES % 2);
		multiply(stage[k % STAGES], lane, c);
		asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
		if (lane == 0)
			arrive(empty + k % STAGES);
	}
	for (int i = 0; i < 4; i++)
		out[(blockIdx.x * CONSUMERS + t) * 4 + i] = c[i];
}

/* 0, 1, 2 or 3: sums and products are exact. */
static unsigned short half_of(unsigned x)
{
	static const unsigned short halves[4] = {0x0000, 0x3c00, 0x4000, 0x4200};

	return halves[x % 4];
}

int main(int argc, char **argv)
{
	int tiles = racefree_loops(argc, argv, 40), blocks = racefree_part(argc, argv, 264);
	std::vector<unsigned> value((size_t)tiles * blocks * TILE);
	std::vector<unsigned short> in(value.size());
	std::vector<float> want((size_t)blocks * CONSUMERS * 4), got;
	uint32_t seed = 1;

	for (size_t i = 0; i < in.size(); i++) {
		value[i] = example_random(&seed) % 4;
		in[i] = half_of(value[i]);
	}
	unsigned short *d_in = example_upload(in);
	float *d_out = example_upload(want);
	RUN(mainloop<<<blocks, THREADS>>>(d_in, d_out, tiles));
	for (size_t i = 0; i < want.size(); i++) {
		size_t block = i / (CONSUMERS * 4), lane = i / 4 % 32, r = lane / 4 + i % 4 / 2 * 8;
		size_t col = lane % 4 * 2 + i % 2;
		for (int k = 0; k < tiles; k++)
			for (size_t x = 0; x < 16; x++) {
				const unsigned *v = &value[(block * tiles + k) * TILE];
				want[i] += (float)(v[r * 16 + x] * v[x * 16 + col]);
			}
	}
	got = example_download(d_out, want.size());
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
