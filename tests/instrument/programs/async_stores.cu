// async_stores.cu - the blocks of a cluster send each other words, doubles and vectors with st.async, and
// read the other's box through distributed shared memory. Each word that arrived is compared, so a dirty
// value that stayed would show. -DRACY: the receiver clears a box into which its peer stores.
// expect: lost-update at box

#include "example.h"

static const int BLOCKS = 4; // two clusters
static const int THREADS = 64;
static const int ROUNDS = 12;
static const int BYTES = THREADS * (4 + 8 + 16);

#define SMEM(p) ((unsigned)__cvta_generic_to_shared(p))
#define CLUSTER_SYNC()                                                                             \
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")

struct box {
	unsigned words[THREADS];
	unsigned long long doubles[THREADS];
	uint4 vectors[THREADS];
};

static __device__ unsigned of_peer(unsigned shared, unsigned peer)
{
	unsigned there;

	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(peer));
	return there;
}

#define SEND(to, value, bar)                                                                       \
	asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"( \
			     to),                                                                  \
		     "r"(value), "r"(bar)                                                          \
		     : "memory")
#define SEND_DOUBLE(to, value, bar)                                                                \
	asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"( \
			     to),                                                                  \
		     "l"(value), "r"(bar)                                                          \
		     : "memory")
#define SEND_VECTOR(to, a, bar)                                                                    \
	asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %1, " \
		     "%2}, [%3];" ::"r"(to),                                                       \
		     "r"(a), "r"((a) + 1), "r"(bar)                                                \
		     : "memory")

__global__ void __cluster_dims__(2) exchange(const unsigned *in, unsigned *out)
{
	__shared__ alignas(16) struct box mine[2];
	__shared__ unsigned long long bar;
	int t = threadIdx.x;
	unsigned peer = blockIdx.x % 2 ^ 1, wrong = 0;

	if (t == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
				     SMEM(&bar))
			     : "memory");
	CLUSTER_SYNC();
	for (int r = 0; r < ROUNDS; r++) {
		struct box *b = &mine[r % 2];
		unsigned x = in[(r * BLOCKS + blockIdx.x) * THREADS + t];
		unsigned its = in[(r * BLOCKS + (blockIdx.x ^ 1)) * THREADS + t];
		unsigned there = of_peer(SMEM(&bar), peer), is_done = 0, seen;

		if (t == 0)
			asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
					     SMEM(&bar)),
				     "r"(BYTES)
				     : "memory");
		CLUSTER_SYNC();
		SEND(of_peer(SMEM(&b->words[t]), peer), x, there);			  // race: box
		SEND_DOUBLE(of_peer(SMEM(&b->doubles[t]), peer), x * 0x100000001ull, there); // race: box
		SEND_VECTOR(of_peer(SMEM(&b->vectors[t]), peer), x, there);		  // race: box
#ifdef RACY
		b->words[THREADS - 1 - t] = 0; // race: box
		b->vectors[THREADS - 1 - t].y = 0; // race: box
#endif
		while (!is_done)
			asm volatile("{\n\t.reg .pred p;\n\t"
				     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
				     "selp.u32 %0, 1, 0, p;\n\t}"
				     : "=r"(is_done)
				     : "r"(SMEM(&bar)), "r"(r % 2)
				     : "memory");
		wrong |= b->words[t] != its || b->doubles[t] != its * 0x100000001ull; // race: use
		wrong |= b->vectors[t].x != its || b->vectors[t].y != its + 1 || // race: use
			 b->vectors[t].z != its || b->vectors[t].w != its + 1; // race: use
		asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
		asm volatile("ld.shared::cluster.u32 %0, [%1];" // race: use
			     : "=r"(seen)
			     : "r"(of_peer(SMEM(&b->words[t]), peer))
			     : "memory");
		wrong |= seen != x;
		out[(r * BLOCKS + blockIdx.x) * THREADS + t] = wrong ? 0xbad : b->words[t] + seen; // race: use
	}
	CLUSTER_SYNC();
}

int main()
{
	std::vector<unsigned> in(ROUNDS * BLOCKS * THREADS), want(in.size()), got;
	uint32_t seed = 17;

	for (unsigned &x : in)
		x = example_random(&seed) * 255 + 1;
	for (size_t i = 0; i < in.size(); i++)
		want[i] = in[i] + in[i ^ THREADS];
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	exchange<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	return example_finish(got == want, example_checksum(got));
}
