/*
 * hadron.h - what the scenarios share beyond example.h: asynchronous copies in PTX, mbarriers,
 * streams and managed memory.
 *
 * The copies are macros, so that a report names the line of the program. Managed memory stays on
 * the host and every device maps it: nothing migrates, both sides really touch it at once.
 */
#ifndef COLLIDER_HADRON_H
#define COLLIDER_HADRON_H

#include "example.h"

#define SHARED_ADDRESS(p) ((unsigned)__cvta_generic_to_shared(p))
#define GLOBAL_ADDRESS(p) (__cvta_generic_to_global(p))

/* ---- cp.async -------------------------------------------------------------------- */

#define CP_ASYNC4(to, from)                                                                        \
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED_ADDRESS(to)),         \
		     "l"(GLOBAL_ADDRESS(from))                                                     \
		     : "memory")
#define CP_ASYNC_WAIT() asm volatile("cp.async.wait_all;" ::: "memory")

/* ---- cp.async.bulk ----------------------------------------------------------------- */

#define BULK_TO_GLOBAL(to, from, bytes)                                                            \
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(          \
			     GLOBAL_ADDRESS(to)),                                                  \
		     "r"(SHARED_ADDRESS(from)), "r"(bytes)                                         \
		     : "memory")
#define BULK_COMMIT()	 asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define BULK_WAIT()	 asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define BULK_TO_SHARED(to, from, bytes, bar)                                                       \
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "          \
		     "[%0], [%1], %2, [%3];" ::"r"(SHARED_ADDRESS(to)),                            \
		     "l"(GLOBAL_ADDRESS(from)), "r"(bytes), "r"(SHARED_ADDRESS(bar))               \
		     : "memory")
/* Between plain accesses to shared memory and bulk copies of the same. */
#define FENCE_ASYNC() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

/* ---- mbarriers ------------------------------------------------------------------------ */

typedef unsigned long long mbarrier;

static __device__ inline void mbarrier_init(mbarrier *bar)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SHARED_ADDRESS(bar))
		     : "memory");
}

static __device__ inline void mbarrier_expect(mbarrier *bar, unsigned bytes)
{
	asm volatile(
		"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED_ADDRESS(bar)),
		"r"(bytes)
		: "memory");
}

static __device__ inline void mbarrier_wait(mbarrier *bar, unsigned parity)
{
	unsigned is_done = 0;

	while (!is_done)
		asm volatile("{\n\t.reg .pred p;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, p;\n\t}"
			     : "=r"(is_done)
			     : "r"(SHARED_ADDRESS(bar)), "r"(parity)
			     : "memory");
}

/* ---- the host's side ---------------------------------------------------------------------- */

#define HADRON_SKIP 77 /* exit code: this machine can't run the scenario */

static inline std::vector<unsigned> hadron_numbers(size_t n, uint32_t seed)
{
	std::vector<unsigned> v(n);

	for (unsigned &x : v)
		x = example_random(&seed) | 1;
	return v;
}

static inline cudaStream_t hadron_stream()
{
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	return s;
}

/* What `later` gets from now on waits for what `first` has now. */
static inline void hadron_order(cudaStream_t first, cudaStream_t later)
{
	cudaEvent_t e;

	CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	CHECK(cudaEventRecord(e, first));
	CHECK(cudaStreamWaitEvent(later, e, 0));
	CHECK(cudaEventDestroy(e));
}

static inline void hadron_need_devices(int n)
{
	int has = 0;

	CHECK(cudaGetDeviceCount(&has));
	if (has >= n)
		return;
	printf("skip: %d devices needed, there are %d\n", n, has);
	exit(HADRON_SKIP);
}

/* n zeros that the host and all devices may touch at the same time. */
static inline unsigned *hadron_managed(size_t n)
{
	cudaMemLocation place = {};
	unsigned *p = nullptr;
	int devices = 0, is_concurrent = 0;

	CHECK(cudaGetDeviceCount(&devices));
	for (int d = 0; d < devices; d++) {
		CHECK(cudaDeviceGetAttribute(&is_concurrent, cudaDevAttrConcurrentManagedAccess,
					     d));
		if (!is_concurrent) {
			printf("skip: device %d shares no memory with a running host\n", d);
			exit(HADRON_SKIP);
		}
	}
	CHECK(cudaMallocManaged(&p, n * sizeof(*p)));
	place.type = cudaMemLocationTypeHost;
	CHECK(cudaMemAdvise(p, n * sizeof(*p), cudaMemAdviseSetPreferredLocation, place));
	place.type = cudaMemLocationTypeDevice;
	for (int d = 0; d < devices; d++) {
		place.id = d;
		CHECK(cudaMemAdvise(p, n * sizeof(*p), cudaMemAdviseSetAccessedBy, place));
	}
	for (size_t i = 0; i < n; i++)
		p[i] = 0;
	return p;
}

#endif
