// copy_pipeline.cu - two buffers in turn; nothing lets the copies back wait for the kernel.
// scenario: copy_pipeline
// table 3: race, not in it
// detector: collide
// expect collide: clobbered-read at copy
// may: gives|fill
// twin: -DFIXED: ordered by events and waits as it should be

#include "hadron.h"

static const int BLOCKS = 16;
static const int THREADS = 64;
static const size_t TOTAL = (size_t)1 << 16;
static const size_t BYTES = TOTAL * sizeof(unsigned);
static const int ROUNDS = 16;

__global__ void triple(const unsigned *in, unsigned *out)
{
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < TOTAL; i += BLOCKS * THREADS)
		out[i] = in[i] * 3; // race: gives
}

/* Pinned memory goes in, is tripled, comes back; the host reuses it as soon as it may. */
int main()
{
	std::vector<unsigned> want(TOTAL), got(TOTAL), pageable(TOTAL);
	cudaStream_t up = hadron_stream(), work = hadron_stream(), down = hadron_stream();
	cudaEvent_t free_in[2], full_in[2], free_out[2], full_out[2];
	unsigned *host_in[2], *host_out[2], *d_in[2], *d_out[2], *d_more;

	for (int b = 0; b < 2; b++) {
		cudaEvent_t *all[] = {&free_in[b], &full_in[b], &free_out[b], &full_out[b]};
		for (cudaEvent_t *e : all)
			CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
		CHECK(cudaMallocHost(&host_in[b], BYTES));
		CHECK(cudaMallocHost(&host_out[b], BYTES));
		CHECK(cudaMalloc(&d_in[b], BYTES));
		CHECK(cudaMalloc(&d_out[b], BYTES));
	}
	for (int r = 0; r < ROUNDS; r++) {
		int b = r & 1;
		/* The copies of two rounds ago are over: the host may write and read again. */
		CHECK(cudaEventSynchronize(full_in[b]));
		CHECK(cudaEventSynchronize(full_out[b]));
		for (size_t i = 0; i < TOTAL; i++) {
			got[i] += r > 1 ? host_out[b][i] : 0;
			host_in[b][i] = (unsigned)(i + r);
			want[i] += (unsigned)(i + r) * 3;
		}
		CHECK(cudaStreamWaitEvent(up, free_in[b], 0));
		CHECK(cudaMemcpyAsync(d_in[b], host_in[b], BYTES, cudaMemcpyHostToDevice, up));
		CHECK(cudaEventRecord(full_in[b], up));
		CHECK(cudaStreamWaitEvent(work, full_in[b], 0));
		CHECK(cudaStreamWaitEvent(work, full_out[b], 0));
		CHECK(cudaMemsetAsync(d_out[b], 0xff, BYTES, work)); // race: fill
		triple<<<BLOCKS, THREADS, 0, work>>>(d_in[b], d_out[b]);
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(free_in[b], work));
		CHECK(cudaEventRecord(free_out[b], work));
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(down, free_out[b], 0));
#endif
		CHECK(cudaMemcpyAsync(host_out[b], d_out[b], BYTES, cudaMemcpyDeviceToHost, down)); // race: copy
		CHECK(cudaEventRecord(full_out[b], down));
	}
	CHECK(cudaStreamSynchronize(down));
	for (size_t i = 0; i < TOTAL; i++)
		got[i] += host_out[0][i] + host_out[1][i];

	/* Pageable memory: the call is over with the copy, so another stream may write at once. */
	CHECK(cudaMemcpyAsync(pageable.data(), d_out[0], BYTES, cudaMemcpyDeviceToHost, down)); // race: copy
	triple<<<BLOCKS, THREADS, 0, work>>>(d_in[1], d_out[0]);
	CHECK(cudaGetLastError());
	/* Memory that is given back in the stream that used it. */
	CHECK(cudaMallocAsync(&d_more, BYTES, up));
	CHECK(cudaMemcpyAsync(d_more, host_in[0], BYTES, cudaMemcpyHostToDevice, up));
	CHECK(cudaFreeAsync(d_more, up));
	CHECK(cudaDeviceSynchronize());
	for (int b = 0; b < 2; b++) {
		CHECK(cudaFree(d_in[b]));
		CHECK(cudaFree(d_out[b]));
		CHECK(cudaFreeHost(host_in[b]));
		CHECK(cudaFreeHost(host_out[b]));
	}
	return example_finish(got == want, example_checksum(got));
}
