// What only the API orders: streams, events, waits, the default stream, frees. Each kernel has the
// name of its pair and no fault of its own; the twin differs in one call.
// flags: -std=c++17
#include "streams.h"

READS(event)
BODY(event)
{
	begin();
	PUT(x.a, x.p);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(event, x.b, x.p, x.out);
}

WRITES(stream_wait)
BODY(stream_wait)
{
	begin();
	PUT(x.a, x.p);
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	LAUNCH(stream_wait, x.b, x.p, 5);
}

WRITES(event_wait)
BODY(event_wait)
{
	begin();
	PUT(x.a, x.p);
	CHECK(cudaEventRecord(x.event, x.a));
	if (ORDER)
		CHECK(cudaEventSynchronize(x.event));
	LAUNCH(event_wait, x.c, x.p, 5);
}

READS(device_wait)
BODY(device_wait)
{
	begin();
	PUT(x.c, x.p);
	if (ORDER)
		CHECK(cudaDeviceSynchronize());
	LAUNCH(device_wait, x.b, x.p, x.out);
}

WRITES(wrong_stream_wait)
BODY(wrong_stream_wait)
{
	begin();
	PUT(x.a, x.p);
	CHECK(cudaStreamSynchronize(ORDER ? x.a : x.c));
	LAUNCH(wrong_stream_wait, x.b, x.p, 5);
}

READS(early_event)
BODY(early_event)
{
	begin();
	if (!ORDER)
		CHECK(cudaEventRecord(x.event, x.a));
	PUT(x.a, x.p);
	if (ORDER)
		CHECK(cudaEventRecord(x.event, x.a));
	CHECK(cudaStreamWaitEvent(x.b, x.event, 0));
	LAUNCH(early_event, x.b, x.p, x.out);
}

READS(other_event)
BODY(other_event)
{
	begin();
	PUT(x.a, x.p);
	CHECK(cudaEventRecord(x.event, x.a));
	CHECK(cudaEventRecord(x.other, x.c));
	CHECK(cudaStreamWaitEvent(x.b, ORDER ? x.event : x.other, 0));
	LAUNCH(other_event, x.b, x.p, x.out);
}

READS(wrong_waiter)
BODY(wrong_waiter)
{
	begin();
	PUT(x.a, x.p);
	CHECK(cudaEventRecord(x.event, x.a));
	CHECK(cudaStreamWaitEvent(ORDER ? x.b : x.c, x.event, 0));
	LAUNCH(wrong_waiter, x.b, x.p, x.out);
}

READS(late_wait)
BODY(late_wait)
{
	begin();
	PUT(x.a, x.p);
	CHECK(cudaEventRecord(x.event, x.a));
	if (ORDER)
		CHECK(cudaStreamWaitEvent(x.b, x.event, 0));
	LAUNCH(late_wait, x.b, x.p, x.out);
	CHECK(cudaStreamWaitEvent(x.b, x.event, 0));
}

WRITES(joined_one)
BODY(joined_one)
{
	// Two halves, of which the last stream waits for one.
	begin();
	PUT(x.a, x.p);
	PUT(x.c, x.p + N);
	order(x.a, x.b);
	if (ORDER)
		order(x.c, x.b);
	k_joined_one<ORDER><<<2 * N / 256, 256, 0, x.b>>>(x.p, 5);
}

READS(back_again)
BODY(back_again)
{
	// a, then b, then a again, which doesn't wait for b.
	begin();
	PUT(x.a, x.q);
	order(x.a, x.b);
	PUT(x.b, x.p);
	if (ORDER)
		order(x.b, x.a);
	LAUNCH(back_again, x.a, x.p, x.out);
}

WRITES(overtaken)
BODY(overtaken)
{
	// The reader may not have ended when its input is written anew.
	begin();
	CHECK(cudaMemcpyAsync(x.host, x.p, BYTES, cudaMemcpyDeviceToHost, x.a));
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(overtaken, x.b, x.p, 5);
}

WRITES(copied_out)
BODY(copied_out)
{
	begin();
	LAUNCH(copied_out, x.a, x.p, 5);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpyAsync(x.host, x.p, BYTES, cudaMemcpyDeviceToHost, x.b));
}

READS(copied_in)
BODY(copied_in)
{
	begin();
	CHECK(cudaMemcpyAsync(x.p, x.host, BYTES, cudaMemcpyHostToDevice, x.a));
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(copied_in, x.b, x.p, x.out);
}

WRITES(copied_away)
BODY(copied_away)
{
	begin();
	LAUNCH(copied_away, x.a, x.p, 5);
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	CHECK(cudaMemcpyAsync(x.q, x.p, BYTES, cudaMemcpyDeviceToDevice, x.b));
}

READS(copied_over)
BODY(copied_over)
{
	begin();
	LAUNCH(copied_over, x.a, x.p, x.out);
	CHECK(cudaMemcpyAsync(x.p, x.q, BYTES, cudaMemcpyDeviceToDevice, ORDER ? x.a : x.b));
}

WRITES(copied_too_much)
BODY(copied_too_much)
{
	begin();
	LAUNCH(copied_too_much, x.a, x.p + N, 5);
	size_t bytes = ORDER ? BYTES : BYTES + sizeof(int);
	CHECK(cudaMemcpyAsync(x.host, x.p, bytes, cudaMemcpyDeviceToHost, x.b));
}

READS(set_beside)
BODY(set_beside)
{
	begin();
	LAUNCH(set_beside, x.a, x.p, x.out);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemsetAsync(x.p, 0, BYTES, x.b));
}

WRITES(set_before)
BODY(set_before)
{
	begin();
	CHECK(cudaMemsetAsync(x.p, 0, BYTES, x.c));
	if (ORDER)
		order(x.c, x.a);
	LAUNCH(set_before, x.a, x.p, 5);
}

WRITES(default_set)
BODY(default_set)
{
	// The default stream waits for blocking streams alone.
	begin();
	LAUNCH(default_set, ORDER ? x.blocking : x.a, x.p, 5);
	CHECK(cudaMemsetAsync(x.p, 0, BYTES, 0));
}

READS(default_kernel)
BODY(default_kernel)
{
	begin();
	PUT((cudaStream_t)0, x.p);
	LAUNCH(default_kernel, ORDER ? x.blocking : x.b, x.p, x.out);
}

WRITES(default_copy)
BODY(default_copy)
{
	// A copy that the host waits for waits for no stream of its own.
	begin();
	LAUNCH(default_copy, x.a, x.p, 5);
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	CHECK(cudaMemcpy(x.host, x.p, BYTES, cudaMemcpyDeviceToHost));
}

READS(per_thread)
BODY(per_thread)
{
	begin();
	PUT(cudaStreamPerThread, x.p);
	if (ORDER)
		CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	LAUNCH(per_thread, x.b, x.p, x.out);
}

WRITES(between)
BODY(between)
{
	// Two blocking streams are ordered by what the default stream does between.
	cudaStream_t other;

	begin();
	CHECK(cudaStreamCreate(&other));
	PUT(x.blocking, x.p);
	if (ORDER)
		PUT((cudaStream_t)0, x.q);
	LAUNCH(between, other, x.p, 5);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamDestroy(other));
}

READS(freed)
BODY(freed)
{
	int *own;

	begin();
	CHECK(cudaMallocAsync(&own, BYTES, x.a));
	CHECK(cudaStreamSynchronize(x.a));
	LAUNCH(freed, x.b, own, x.out);
	if (ORDER)
		order(x.b, x.a);
	pause_for_kernel<ORDER>();
	CHECK(cudaFreeAsync(own, x.a));
}

WRITES(freed_early)
BODY(freed_early)
{
	// The event that stands for the last use was recorded before it.
	int *own;

	begin();
	CHECK(cudaMallocAsync(&own, BYTES, x.a));
	CHECK(cudaStreamSynchronize(x.a));
	if (!ORDER)
		CHECK(cudaEventRecord(x.event, x.b));
	LAUNCH(freed_early, x.b, own, 5);
	if (ORDER)
		CHECK(cudaEventRecord(x.event, x.b));
	CHECK(cudaStreamWaitEvent(x.a, x.event, 0));
	pause_for_kernel<ORDER>();
	CHECK(cudaFreeAsync(own, x.a));
}

WRITES(cached)
BODY(cached)
{
	// A block of a program's own cache gets another user while the first still has it.
	begin();
	PUT(x.a, x.q + N);
	CHECK(cudaEventRecord(x.event, ORDER ? x.a : x.c));
	CHECK(cudaStreamWaitEvent(x.b, x.event, 0));
	LAUNCH(cached, x.b, x.q + N, 5);
}

static __device__ int level[N];
template <bool ORDER> __global__ void k_variable_of(int v)
{
	level[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
BODY(variable_of)
{
	begin();
	LAUNCH(variable_of, x.a, 5);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpyFromSymbolAsync(x.host, level, BYTES, 0, cudaMemcpyDeviceToHost, x.b));
}

template <bool ORDER> __global__ void k_counted(unsigned *count)
{
	atomicAdd(count, 1);
}
BODY(counted)
{
	begin();
	LAUNCH(counted, x.a, (unsigned *)x.q);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpyAsync(x.host, x.q, sizeof(int), cudaMemcpyDeviceToHost, x.b));
}

READS(pinned)
BODY(pinned)
{
	// The kernel reads the host's memory.
	begin();
	CHECK(cudaMemcpyAsync(x.host, x.p, BYTES, cudaMemcpyDeviceToHost, x.a));
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(pinned, x.b, x.host, x.out);
}

template <bool ORDER> __global__ void k_halo_of(const int *p, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = p[i] + p[i + 1];
}
BODY(halo_of)
{
	// The last element's neighbour is the other stream's.
	begin();
	PUT(x.a, x.p + N);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(halo_of, x.b, x.p, x.out);
}

READS(in_turn)
BODY(in_turn)
{
	// Two buffers in turn: the third copy goes into the first one's.
	begin();
	for (int i = 0; i < 3; i++) {
		int *buffer = i % 2 ? x.q : x.p;
		if (ORDER && i == 2)
			CHECK(cudaStreamWaitEvent(x.a, x.other, 0));
		CHECK(cudaMemcpyAsync(buffer, x.host, BYTES, cudaMemcpyHostToDevice, x.a));
		order(x.a, x.b);
		LAUNCH(in_turn, x.b, buffer, x.out);
		if (i == 0)
			CHECK(cudaEventRecord(x.other, x.b));
	}
}

READS(managed)
BODY(managed)
{
	static int *both;

	begin();
	if (!both)
		CHECK(cudaMallocManaged(&both, BYTES));
	PUT(x.a, both);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(managed, x.b, both, x.out);
}

template <bool ORDER> __global__ void k_added(int *p)
{
	atomicAdd(&p[blockIdx.x * blockDim.x + threadIdx.x], 1);
}
BODY(added)
{
	begin();
	PUT(x.a, x.p);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(added, x.b, x.p);
}

WRITES(set_part)
BODY(set_part)
{
	begin();
	LAUNCH(set_part, x.a, x.p, 5);
	CHECK(cudaMemsetAsync(ORDER ? x.p + N : x.p + N - 1, 0, BYTES, x.b));
}

WRITES(halves)
BODY(halves)
{
	begin();
	PUT(x.a, x.p);
	LAUNCH(halves, x.b, ORDER ? x.p + N : x.p + N - 1, 5);
}

template <bool ORDER> __global__ void k_diamond(const int *p, const int *q, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = p[i] + q[i];
}
BODY(diamond)
{
	begin();
	CHECK(cudaMemsetAsync(x.out, 0, BYTES, x.a));
	order(x.a, x.b);
	order(x.a, x.c);
	PUT(x.b, x.p);
	PUT(x.c, x.q);
	order(x.b, x.a);
	if (ORDER)
		order(x.c, x.a);
	LAUNCH(diamond, x.a, x.p, x.q, x.out);
}

WRITES(legacy_handle)
BODY(legacy_handle)
{
	begin();
	PUT(cudaStreamLegacy, x.p);
	LAUNCH(legacy_handle, ORDER ? x.blocking : x.c, x.p, 5);
}

template <bool ORDER> __global__ void k_far_block(int *p)
{
	if (threadIdx.x == 0)
		p[blockIdx.x] = blockIdx.x;
}
BODY(far_block)
{
	// The last of 4,000 blocks.
	static int *large;

	if (!large)
		large = device<int>(4096);
	begin();
	k_far_block<ORDER><<<4000, 32, 0, x.a>>>(large);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpyAsync(x.host, large + 3999, sizeof(int), cudaMemcpyDeviceToHost, x.b));
}

template <bool ORDER> __global__ void k_vectors(const int4 *p, int4 *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N / 4)
		out[i] = p[i];
}
BODY(vectors)
{
	begin();
	PUT(x.a, x.p);
	if (ORDER)
		CHECK(cudaStreamSynchronize(x.a));
	LAUNCH(vectors, x.b, (const int4 *)x.p, (int4 *)x.out);
}

READS(recorded_again)
BODY(recorded_again)
{
	// The wait is for what the event was recorded for last.
	begin();
	PUT(x.a, x.p);
	CHECK(cudaEventRecord(x.event, x.a));
	if (!ORDER)
		CHECK(cudaEventRecord(x.event, x.c));
	CHECK(cudaStreamWaitEvent(x.b, x.event, 0));
	LAUNCH(recorded_again, x.b, x.p, x.out);
}

template <bool ORDER> __global__ void k_symbol_in(int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = level[i];
}
BODY(symbol_in)
{
	begin();
	LAUNCH(symbol_in, x.a, x.out);
	if (ORDER)
		order(x.a, x.b);
	CHECK(cudaMemcpyToSymbolAsync(level, x.host, BYTES, 0, cudaMemcpyHostToDevice, x.b));
}

READS(two_users)
BODY(two_users)
{
	// Two streams use memory, and the free waits for one of them.
	int *own;

	begin();
	CHECK(cudaMallocAsync(&own, BYTES, x.a));
	CHECK(cudaMemsetAsync(own, 0, BYTES, x.a));
	CHECK(cudaStreamSynchronize(x.a));
	LAUNCH(two_users, x.b, own, x.out);
	CHECK(cudaMemcpyAsync(x.host, own, BYTES, cudaMemcpyDeviceToHost, x.c));
	order(x.c, x.a);
	if (ORDER)
		order(x.b, x.a);
	pause_for_kernel<ORDER>();
	CHECK(cudaFreeAsync(own, x.a));
}

template <bool ORDER> __global__ void k_async_reader(const int *p, int *out)
{
	__shared__ alignas(16) int s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n\tcp.async.wait_all;"
		     :
		     : "r"(smem(&s[threadIdx.x])), "l"(p + i)
		     : "memory");
	out[i] = s[threadIdx.x];
}
BODY(async_reader)
{
	begin();
	PUT(x.a, x.p);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(async_reader, x.b, x.p, x.out);
}

PAIRS(PAIR(event), PAIR(stream_wait), PAIR(event_wait), PAIR(device_wait), PAIR(wrong_stream_wait),
      PAIR(early_event), PAIR(other_event), PAIR(wrong_waiter), PAIR(late_wait), PAIR(joined_one),
      PAIR(back_again), PAIR(overtaken), PAIR(copied_out), PAIR(copied_in), PAIR(copied_away),
      PAIR(copied_over), PAIR(copied_too_much), PAIR(set_beside), PAIR(set_before),
      PAIR(default_set), PAIR(default_kernel), PAIR(default_copy), PAIR(per_thread), PAIR(between),
      PAIR(freed), PAIR(freed_early), PAIR(cached), PAIR(variable_of), PAIR(counted), PAIR(pinned),
      PAIR(halo_of), PAIR(in_turn), PAIR(managed), PAIR(added), PAIR(set_part), PAIR(halves),
      PAIR(diamond), PAIR(legacy_handle), PAIR(far_block), PAIR(vectors), PAIR(recorded_again),
      PAIR(symbol_in), PAIR(two_users), PAIR(async_reader))
