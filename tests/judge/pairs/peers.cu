// Two GPUs: kernels and copies of both use the same memory. Each kernel has the name of its pair.
// flags: -std=c++17
// needs: two GPUs
#include "streams.h"

// Of the second GPU: a stream and memory.
static struct {
	cudaStream_t s;
	int *p;
} y;

static void on(int gpu)
{
	CHECK(cudaSetDevice(gpu));
}

static void begin_two()
{
	on(0);
	begin();
	if (!y.p) {
		CHECK(cudaDeviceEnablePeerAccess(1, 0));
		on(1);
		CHECK(cudaDeviceEnablePeerAccess(0, 0));
		CHECK(cudaStreamCreateWithFlags(&y.s, cudaStreamNonBlocking));
		y.p = device<int>(2 * N);
		CHECK(cudaDeviceSynchronize());
		on(0);
	}
}

// What comes next in y.s waits for x.a.
static void cross()
{
	CHECK(cudaEventRecord(x.event, x.a));
	CHECK(cudaStreamWaitEvent(y.s, x.event, 0));
}

static void end_two()
{
	on(1);
	CHECK(cudaDeviceSynchronize());
	on(0);
}

READS(peer_reads)
BODY(peer_reads)
{
	begin_two();
	PUT(x.a, x.p);
	if (ORDER)
		cross();
	on(1);
	LAUNCH(peer_reads, y.s, x.p, y.p);
	end_two();
}

WRITES(peer_writes)
BODY(peer_writes)
{
	begin_two();
	PUT(x.a, x.p);
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	on(1);
	LAUNCH(peer_writes, y.s, x.p, 5);
	end_two();
}

WRITES(peer_copy)
BODY(peer_copy)
{
	begin_two();
	LAUNCH(peer_copy, x.a, x.p, 5);
	if (ORDER)
		cross();
	on(1);
	CHECK(cudaMemcpyPeerAsync(y.p, 1, x.p, 0, BYTES, y.s));
	end_two();
}

READS(copied_first)
BODY(copied_first)
{
	// The copy is the first GPU's, and the second one's kernel reads what it brings.
	begin_two();
	CHECK(cudaMemcpyPeerAsync(y.p, 1, x.p, 0, BYTES, x.a));
	if (ORDER)
		cross();
	on(1);
	LAUNCH(copied_first, y.s, y.p, y.p + N);
	end_two();
}

READS(two_defaults)
BODY(two_defaults)
{
	// The default streams of two GPUs are two.
	begin_two();
	PUT(nullptr, x.p);
	if (ORDER)
		CHECK(cudaDeviceSynchronize());
	on(1);
	LAUNCH(two_defaults, nullptr, x.p, y.p);
	end_two();
}

WRITES(shared_by_both)
BODY(shared_by_both)
{
	static int *m;

	begin_two();
	if (!m)
		CHECK(cudaMallocManaged(&m, BYTES));
	PUT(x.a, m);
	if (ORDER)
		cross();
	on(1);
	LAUNCH(shared_by_both, y.s, m, 5);
	end_two();
}

READS(wrong_gpu)
BODY(wrong_gpu)
{
	// The host waits for the wrong one.
	begin_two();
	PUT(x.a, x.p);
	on(ORDER ? 0 : 1);
	CHECK(cudaDeviceSynchronize());
	on(1);
	LAUNCH(wrong_gpu, y.s, x.p, y.p);
	end_two();
}

PAIRS(PAIR(peer_reads), PAIR(peer_writes), PAIR(peer_copy), PAIR(copied_first), PAIR(two_defaults),
      PAIR(shared_by_both), PAIR(wrong_gpu))
