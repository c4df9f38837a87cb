// bulk_forms.cu - bulk copies in every direction and in sizes from 16 bytes to 4 KiB: global to shared,
// shared to global, to the other block of the cluster, to both at once, and reductions. Every word that
// was copied is compared on the host or in the kernel, so a dirty value that stayed would show. -DRACY:
// the tile is filled again while the copy to global memory still reads it.
// expect: clobbered-read at copy
// told: 1 unchecked instruction: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 (destination)
// also: --copy-window=0
// also built: --call-free

#include "example.h"

static const int BLOCKS = 4; // two clusters
static const int THREADS = 64;
static const int ROUNDS = 8;
static const unsigned WORDS = 1024;

#define SMEM(p) ((unsigned)__cvta_generic_to_shared(p))
#define GMEM(p) (__cvta_generic_to_global(p))
#define FENCE() asm volatile("fence.proxy.async;" ::: "memory")
#define EXPECT(bar, bytes)                                                                         \
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SMEM(bar)),    \
		     "r"(bytes)                                                                    \
		     : "memory")
#define LOAD(to, from, bytes, bar)                                                                 \
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "          \
		     "[%0], [%1], %2, [%3];" ::"r"(SMEM(to)),                                      \
		     "l"(GMEM(from)), "r"(bytes), "r"(SMEM(bar))                                   \
		     : "memory")
#define LOAD_BOTH(to, from, bytes, bar)                                                            \
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"           \
		     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(SMEM(to)),              \
		     "l"(GMEM(from)), "r"(bytes), "r"(SMEM(bar)), "h"((unsigned short)3)           \
		     : "memory")
#define SEND(to, from, bytes, bar)                                                                 \
	asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "     \
		     "[%0], [%1], %2, [%3];" ::"r"(to),                                            \
		     "r"(SMEM(from)), "r"(bytes), "r"(bar)                                         \
		     : "memory")
#define STORE(to, from, bytes)                                                                     \
	asm volatile(                                                                              \
		"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(GMEM(to)),     \
		"r"(SMEM(from)), "r"(bytes)                                                        \
		: "memory")
#define REDUCE(to, from, bytes)                                                                    \
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], "     \
		     "%2;" ::"l"(GMEM(to)),                                                        \
		     "r"(SMEM(from)), "r"(bytes)                                                   \
		     : "memory")
#define CLUSTER_SYNC()                                                                             \
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memor"  \
											  "y")

static __device__ void wait(unsigned long long *bar, unsigned parity)
{
	unsigned is_done = 0;

	while (!is_done)
		asm volatile("{\n\t.reg .pred p;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, p;\n\t}"
			     : "=r"(is_done)
			     : "r"(SMEM(bar)), "r"(parity)
			     : "memory");
}

static __device__ unsigned of_peer(unsigned shared, unsigned peer)
{
	unsigned there;

	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(peer));
	return there;
}

/* The words of round r: 4, 12, 260, 1024, ... */
__host__ __device__ static unsigned words_of(int r)
{
	return r % 4 == 0 ? 4 : r % 4 == 1 ? 12 : r % 4 == 2 ? 260 : WORDS;
}

__global__ void __cluster_dims__(2) forms(const unsigned *in, unsigned *out, unsigned *sum)
{
	__shared__ alignas(128) unsigned tile[WORDS], sent[WORDS], both[WORDS];
	__shared__ unsigned long long bar[3];
	int t = threadIdx.x, wrong = 0;
	unsigned rank = blockIdx.x % 2;

	if (t == 0)
		for (int k = 0; k < 3; k++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SMEM(&bar[k]))
				     : "memory");
	FENCE();
	CLUSTER_SYNC();
	for (int r = 0; r < ROUNDS; r++) {
		unsigned n = words_of(r), bytes = n * 4;
		const unsigned *from = in + (blockIdx.x * ROUNDS + r) * WORDS;
		const unsigned *first = in + ((blockIdx.x - rank) * ROUNDS + r) * WORDS;
		const unsigned *peers = in + ((blockIdx.x ^ 1) * ROUNDS + r) * WORDS;
		unsigned *to = out + (blockIdx.x * ROUNDS + r) * WORDS;

		if (t == 0) {
			EXPECT(&bar[0], bytes);
			EXPECT(&bar[1], bytes);
			EXPECT(&bar[2], bytes);
			LOAD(tile, from, bytes, &bar[0]); // race: load
		}
		wait(&bar[0], r % 2);
		for (unsigned i = t; i < n; i += THREADS) {
			wrong |= tile[i] != from[i]; // race: use
			tile[i] += 3;		     // race: fill
		}
		FENCE();
		CLUSTER_SYNC();
		if (t == 0) {
			STORE(to, tile, bytes);			       // race: copy
			REDUCE(sum + blockIdx.x * WORDS, tile, bytes); // race: copy
			asm volatile("cp.async.bulk.commit_group;" ::: "memory");
			SEND(of_peer(SMEM(sent), rank ^ 1), tile, bytes, // race: send
			     of_peer(SMEM(&bar[1]), rank ^ 1));
			if (rank == 0)
				LOAD_BOTH(both, first, bytes, &bar[2]); // race: load
#ifndef RACY
			asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
		}
#ifdef RACY
		for (unsigned i = t; i < n && t >= 32; i += THREADS)
			tile[i] = r; // race: fill
#endif
		wait(&bar[1], r % 2);
		wait(&bar[2], r % 2);
		for (unsigned i = t; i < n; i += THREADS) {
			wrong |= sent[i] != peers[i] + 3; // race: use
			wrong |= both[i] != first[i];	  // race: use
		}
		CLUSTER_SYNC();
	}
	if (t == 0)
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	__syncthreads();
	for (unsigned i = t; i < WORDS * ROUNDS; i += THREADS) {
		unsigned at = blockIdx.x * ROUNDS * WORDS + i;
		if (i % WORDS < words_of(i / WORDS))
			wrong |= out[at] != in[at] + 3; // race: use
	}
	if (wrong)
		out[blockIdx.x * ROUNDS * WORDS] = 0xbad; // race: use
}

int main()
{
	std::vector<unsigned> in(BLOCKS * ROUNDS * WORDS), want(in.size()), got;
	std::vector<unsigned> sum(BLOCKS * WORDS), sums;
	uint32_t seed = 13;

	for (unsigned &x : in)
		x = example_random(&seed) * 253;
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	unsigned *d_sum = example_upload(sum);
	for (size_t i = 0; i < in.size(); i++)
		if (i % WORDS < words_of((int)(i / WORDS % ROUNDS))) {
			want[i] = in[i] + 3;
			sum[i / WORDS / ROUNDS * WORDS + i % WORDS] += want[i];
		}
	forms<<<BLOCKS, THREADS>>>(d_in, d_out, d_sum);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	sums = example_download(d_sum, sum.size());
	return example_finish(got == want && sums == sum, example_checksum(got));
}
