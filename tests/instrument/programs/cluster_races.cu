// cluster_races.cu - a tile comes by a multicast bulk copy, goes to the other block of the cluster by a bulk
// copy between shared memories, and is added to a sum by a bulk reduction. With an argument there is a
// race: 1 another warp writes the source of the copy to the other block, 2 its destination, 3 reads that
// without having waited, 4 writes the source of the multicast, 5 that of the reduction.
// expect 1: clobbered-read at send
// expect 2: lost-update at send|patch
// expect 3: clobbered-read at early
// expect 4: clobbered-read at both
// expect 5: clobbered-read at sum
// never 1: lost-update at send|sum|both
// never 5: lost-update at send|sum|both
// told: 1 unchecked instruction: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 (destination)
// also: --copy-window=0
// also built, in soak: --call-free

#include "example.h"
#include "told.h"

static const int BLOCKS = 4; // two clusters
static const int THREADS = 64;
static const int ROUNDS = 6;
static const unsigned WORDS = 256;

#define GMEM(p) (__cvta_generic_to_global(p))
#define FENCE() asm volatile("fence.proxy.async;" ::: "memory")
#define EXPECT(bar)                                                                                \
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SMEM(bar)),    \
		     "r"(WORDS * 4)                                                                \
		     : "memory")
#define LOAD_BOTH(to, from, bar)                                                                   \
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"           \
		     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(SMEM(to)),              \
		     "l"(GMEM(from)), "r"(WORDS * 4), "r"(SMEM(bar)), "h"((unsigned short)3)       \
		     : "memory")
#define SEND(to, from, bar)                                                                        \
	asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "     \
		     "[%0], [%1], %2, [%3];" ::"r"(to),                                            \
		     "r"(SMEM(from)), "r"(WORDS * 4), "r"(bar)                                     \
		     : "memory")
#define REDUCE(to, from)                                                                           \
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], "     \
		     "%2;" ::"l"(GMEM(to)),                                                        \
		     "r"(SMEM(from)), "r"(WORDS * 4)                                               \
		     : "memory")
#define CLUSTER_SYNC()                                                                             \
	asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")

static __device__ void wait(unsigned long long *bar, unsigned parity)
{
	unsigned is_done = 0;

	while (!is_done)
		asm volatile("{\n\t.reg .pred p;\n\t"
			     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
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

__global__ void __cluster_dims__(2) tiles(unsigned *in, unsigned *out, unsigned *total, unsigned *sums,
					  int race)
{
	__shared__ alignas(128) unsigned tile[WORDS], sent[WORDS];
	__shared__ unsigned long long bar[2];
	__shared__ unsigned flag[3];
	unsigned t = threadIdx.x, lane = t - 32, rank = blockIdx.x % 2;
	unsigned *mine = sums + blockIdx.x * 32 + lane % 32;
	unsigned peers_flag = of_peer(SMEM(&flag[1]), rank ^ 1);
	bool is_racing = t >= 32;

	if (t == 0)
		for (int k = 0; k < 2; k++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SMEM(&bar[k]))
				     : "memory");
	if (t < 3)
		flag[t] = 0;
	FENCE();
	CLUSTER_SYNC();
	for (unsigned r = 0; r < ROUNDS; r++) {
		unsigned *from = in + (blockIdx.x / 2 * ROUNDS + r) * WORDS;

		if (t == 0)
			for (int k = 0; k < 2; k++)
				EXPECT(&bar[k]);
		CLUSTER_SYNC();
		if (t == 0 && rank == 0) {
			LOAD_BOTH(tile, from, &bar[0]); // race: both
			tell(SMEM(&flag[0]), r + 1);
		}
		if (race == 4 && is_racing && rank == 0)
			UNTIL_TOLD(pass, SMEM(&flag[0]), r + 1)
				for (unsigned i = lane; i < WORDS; i += 32)
					from[i] = pass; // race: patch_in
		wait(&bar[0], r % 2);
		for (unsigned i = t; i < WORDS; i += THREADS)
			tile[i] += rank; // race: change
		FENCE();
		CLUSTER_SYNC();
		if (t == 0) {
			SEND(of_peer(SMEM(sent), rank ^ 1), tile, // race: send
			     of_peer(SMEM(&bar[1]), rank ^ 1));
			tell(peers_flag, r + 1);
			REDUCE(total + blockIdx.x * WORDS, tile); // race: sum
			asm volatile("cp.async.bulk.commit_group;" ::: "memory");
			tell(SMEM(&flag[2]), r + 1);
		}
		if ((race == 1 || race == 5) && is_racing)
			UNTIL_TOLD(pass, SMEM(&flag[2]), r + 1)
				for (unsigned i = lane; i < WORDS; i += 32)
					tile[i] = pass; // race: refill
		if (race == 2 && is_racing)
			UNTIL_TOLD(pass, SMEM(&flag[1]), r + 1)
				for (unsigned i = lane; i < WORDS; i += 32)
					sent[i] = pass; // race: patch
		if (race == 3 && is_racing)
			UNTIL_TOLD(pass, SMEM(&flag[1]), r + 1)
				for (unsigned i = lane; i < WORDS; i += 32)
					mine[0] += sent[i]; // race: early
		if (t == 0)
			asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
		wait(&bar[1], r % 2);
		for (unsigned i = t; i < WORDS; i += THREADS)
			out[(blockIdx.x * ROUNDS + r) * WORDS + i] = sent[i] * 2; // race: use
		CLUSTER_SYNC();
	}
}

int main(int argc, char **argv)
{
	std::vector<unsigned> in(BLOCKS / 2 * ROUNDS * WORDS), want(BLOCKS * ROUNDS * WORDS), got;
	std::vector<unsigned> total(BLOCKS * WORDS), sums(32 * BLOCKS), all;
	uint32_t seed = 23;

	for (unsigned &x : in)
		x = example_random(&seed);
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	unsigned *d_total = example_upload(total), *d_sums = example_upload(sums);
	for (unsigned b = 0; b < BLOCKS; b++)
		for (unsigned i = 0; i < ROUNDS * WORDS; i++) {
			unsigned x = in[b / 2 * ROUNDS * WORDS + i];
			want[b * ROUNDS * WORDS + i] = (x + (b ^ 1) % 2) * 2;
			total[b * WORDS + i % WORDS] += x + b % 2;
		}
	tiles<<<BLOCKS, THREADS>>>(d_in, d_out, d_total, d_sums, race_of(argc, argv));
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	all = example_download(d_total, total.size());
	return example_finish(got == want && all == total, example_checksum(got));
}
