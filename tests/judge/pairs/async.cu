// Asynchronous copies, mbarriers, rings, matrix accesses.
// flags: -std=c++17
#include "copies.h"
#include <cuda_pipeline.h>
#include <mma.h>

// ---- cp.async

// A thread uses what it copied itself without waiting.
template <bool ORDER> __global__ void k_copy_wait(const int *in, int *out)
{
	__shared__ alignas(16) int s[512];
	int t = threadIdx.x;

	__pipeline_memcpy_async(&s[t * 4], &in[t * 4], 16);
	__pipeline_commit();
	if (ORDER)
		__pipeline_wait_prior(0);
	out[blockIdx.x * 128 + t] = s[t * 4] + s[t * 4 + 1];
}
template <bool ORDER> void copy_wait()
{
	k_copy_wait<ORDER><<<2, 128>>>(device<int>(512), device<int>(128 * 2));
}

// It waits for its own copies, and uses its neighbour's.
template <bool ORDER> __global__ void k_copy_barrier(const int *in, int *out)
{
	__shared__ alignas(16) int s[512];
	int t = threadIdx.x;

	__pipeline_memcpy_async(&s[t * 4], &in[t * 4], 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	if (ORDER)
		__syncthreads();
	out[blockIdx.x * 128 + t] = s[511 - t * 4];
}
template <bool ORDER> void copy_barrier()
{
	k_copy_barrier<ORDER><<<2, 128>>>(device<int>(512), device<int>(256));
}

// Two stages: the wait leaves one group in flight too many.
template <bool ORDER> __global__ void k_copy_stages(const int *in, int *out)
{
	__shared__ alignas(16) int s[2][512];
	int t = threadIdx.x, sum = 0;

	__pipeline_memcpy_async(&s[0][t * 4], &in[t * 4], 16);
	__pipeline_commit();
	for (int i = 0; i < 8; i++) {
		if (i < 7)
			__pipeline_memcpy_async(&s[(i + 1) & 1][t * 4], &in[(i + 1) * 512 + t * 4], 16);
		__pipeline_commit();
		__pipeline_wait_prior(ORDER ? 1 : 2);
		__syncthreads();
		sum += s[i & 1][(t * 4 + 5) & 511];
		__syncthreads();
	}
	out[blockIdx.x * 128 + t] = sum;
}
template <bool ORDER> void copy_stages()
{
	k_copy_stages<ORDER><<<4, 128>>>(device<int>(4096), device<int>(512));
}

// The buffer is filled again before all have read it.
template <bool ORDER> __global__ void k_copy_reuse(const int *in, int *out)
{
	__shared__ alignas(16) int s[512];
	int t = threadIdx.x, sum = 0;

	for (int i = 0; i < 4; i++) {
		__pipeline_memcpy_async(&s[t * 4], &in[i * 512 + t * 4], 16);
		__pipeline_commit();
		__pipeline_wait_prior(0);
		__syncthreads();
		sum += s[(t * 4 + 36) & 511];
		if (ORDER)
			__syncthreads();
	}
	out[t] = sum;
}
template <bool ORDER> void copy_reuse()
{
	k_copy_reuse<ORDER><<<1, 128>>>(device<int>(2048), device<int>(128));
}

// ---- bulk copies

template <bool ORDER> __global__ void k_bulk_wait(const int *in, int *out)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(8) uint64_t full;
	int t = threadIdx.x;

	if (t == 0) {
		mbar_init(&full, 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (t == 0) {
		mbar_expect(&full, 1024);
		bulk_load(s, in, 1024, &full);
	}
	if (ORDER)
		mbar_wait(&full, 0);
	out[blockIdx.x * 256 + t] = s[t];
}
template <bool ORDER> void bulk_wait()
{
	k_bulk_wait<ORDER><<<2, 256>>>(device<int>(256), device<int>(512));
}

// Rings of two slots: consumers wait for `full`, which has a barrier for each load so that none of
// them hangs, and the producer for `empty`.
static __device__ void ring_start(uint64_t *full, uint64_t *empty, int n)
{
	if (threadIdx.x == 0) {
		for (int i = 0; i < n; i++)
			mbar_init(&full[i], 1);
		for (int i = 0; i < 2; i++)
			mbar_init(&empty[i], 256);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
}

// The producer doesn't wait, or with the parity of the phase before, which passes at once.
template <bool IS_PARITY, bool ORDER> __device__ void ring(const int *in, int *out)
{
	const int n = 4;
	__shared__ alignas(128) int s[2][256];
	__shared__ alignas(8) uint64_t full[n], empty[2];
	int t = threadIdx.x, sum = 0;

	ring_start(full, empty, n);
	if (t >= 256) {
		for (int i = 0; i < n && t == 256; i++) {
			if (IS_PARITY && !ORDER && i >= 2)
				mbar_try(&empty[i & 1], 1);
			else if (IS_PARITY)
				mbar_wait(&empty[i & 1], ~(i >> 1) & 1);
			else if (ORDER && i >= 2)
				mbar_wait(&empty[i & 1], ((i >> 1) - 1) & 1);
			mbar_expect(&full[i], 1024);
			bulk_load(s[i & 1], in + i * 256, 1024, &full[i]);
		}
		return;
	}
	for (int i = 0; i < n; i++) {
		mbar_wait(&full[i], 0);
		sum += s[i & 1][t ^ 1];
		mbar_arrive(&empty[i & 1]);
	}
	out[t] = sum;
}
template <bool ORDER> __global__ void k_bulk_ring(const int *in, int *out)
{
	ring<false, ORDER>(in, out);
}
template <bool ORDER> void bulk_ring()
{
	k_bulk_ring<ORDER><<<1, 288>>>(device<int>(4 * 256), device<int>(256));
}
template <bool ORDER> __global__ void k_parity(const int *in, int *out)
{
	ring<true, ORDER>(in, out);
}
template <bool ORDER> void parity()
{
	k_parity<ORDER><<<1, 288>>>(device<int>(4 * 256), device<int>(256));
}

// Consumers wait for a phase that is over.
template <bool ORDER> __global__ void k_stale_phase(const int *in, int *out)
{
	__shared__ alignas(128) int s[3][256];
	__shared__ alignas(8) uint64_t full[3];
	int t = threadIdx.x, sum = 0;

	if (t == 0) {
		for (int i = 0; i < 3; i++)
			mbar_init(&full[i], 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	for (int i = 0; i < 3; i++) {
		if (t == 0) {
			mbar_expect(&full[i], 1024);
			bulk_load(s[i], in + i * 256, 1024, &full[i]);
		}
		if (ORDER)
			mbar_wait(&full[i], 0);
		else
			mbar_try(&full[i], 1);
		sum += s[i][t];
	}
	for (int i = 0; i < 3; i++)
		mbar_wait(&full[i], 0);
	out[t] = sum;
}
template <bool ORDER> void stale_phase()
{
	k_stale_phase<ORDER><<<1, 256>>>(device<int>(3 * 256), device<int>(256));
}

// Shared memory is written again while a bulk store still reads it.
template <bool ORDER> __global__ void k_bulk_store_reuse(int *out)
{
	__shared__ alignas(128) int s[256];
	int t = threadIdx.x;

	for (int i = 0; i < 4; i++) {
		s[t] = i + t;
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		__syncthreads();
		if (t == 0) {
			bulk_store(out + i * 256, s, 1024);
			if (ORDER)
				asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
		}
		__syncthreads();
	}
	if (t == 0)
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
template <bool ORDER> void bulk_store_reuse()
{
	k_bulk_store_reuse<ORDER><<<1, 256>>>(device<int>(1024));
}

// Only an elected lane arrives for its warp, before the others have written.
template <bool ORDER> __global__ void k_elected(int *out)
{
	__shared__ int s[128];
	__shared__ alignas(8) uint64_t ready;
	int t = threadIdx.x;

	if (t == 0)
		mbar_init(&ready, 4);
	__syncthreads();
	s[t] = t * 3;
	if (ORDER)
		__syncwarp();
	if (t % 32 == 0)
		mbar_arrive(&ready);
	mbar_wait(&ready, 0);
	out[t] = s[127 - t];
}
template <bool ORDER> void elected()
{
	k_elected<ORDER><<<1, 128>>>(device<int>(128));
}

// ---- tensor copies

// Half of the threads don't wait.
template <bool ORDER> __global__ void k_tensor(const __grid_constant__ CUtensorMap map, int *out)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(8) uint64_t full;
	int t = threadIdx.x;

	if (t == 0) {
		mbar_init(&full, 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (t == 0) {
		mbar_expect(&full, 1024);
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile."
			     "mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(s)),
			     "l"(&map), "r"(32 * (blockIdx.x & 1)), "r"(0), "r"(smem(&full))
			     : "memory");
	}
	if (ORDER || t < 128)
		mbar_wait(&full, 0);
	out[blockIdx.x * 256 + t] = s[t];
	mbar_wait(&full, 0);
}
template <bool ORDER> void tensor()
{
	k_tensor<ORDER><<<4, 256>>>(make_map(device<int>(64 * 128), 128, 64), device<int>(1024));
}

// Of a picture 64 wide with 32 channels: columns of 8 pixels, any of which may be left out.
static CUtensorMap make_columns(void *at)
{
	auto encode = (decltype(&cuTensorMapEncodeIm2col))find_driver("cuTensorMapEncodeIm2col");
	cuuint64_t dims[] = {32, 64, 2}, strides[] = {128, 64 * 128};
	cuuint32_t each[] = {1, 1, 1};
	int lower = -1, upper = -1;
	CUtensorMap map;

	if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, at, dims, strides, &lower, &upper, 32, 8,
		   each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
		exit(1);
	return map;
}

// Half of the threads don't wait.
template <bool ORDER> __global__ void k_im2col(const __grid_constant__ CUtensorMap map, int *out)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(8) uint64_t full;
	int t = threadIdx.x;

	if (t == 0) {
		mbar_init(&full, 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (t == 0) {
		mbar_expect(&full, 1024);
		asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col."
			     "mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5], {%6};" ::
				     "r"(smem(s)),
			     "l"(&map), "r"(0), "r"(8 * (int)blockIdx.x - 1), "r"(1),
			     "r"(smem(&full)), "h"((short)1)
			     : "memory");
	}
	if (ORDER || t < 128)
		mbar_wait(&full, 0);
	out[blockIdx.x * 256 + t] = s[t];
	mbar_wait(&full, 0);
}
template <bool ORDER> void im2col()
{
	k_im2col<ORDER><<<4, 256>>>(make_columns(device<int>(2 * 64 * 32)), device<int>(1024));
}

// ---- matrices

using namespace nvcuda;

template <bool ORDER> __global__ void k_wmma_store(const half *a, float *out)
{
	__shared__ alignas(32) float s[256];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	if (threadIdx.x < 32) {
		wmma::load_matrix_sync(fa, a, 16);
		wmma::load_matrix_sync(fb, a + 256, 16);
		wmma::fill_fragment(fc, 0.f);
		wmma::mma_sync(fc, fa, fb, fc);
		wmma::store_matrix_sync(s, fc, 16, wmma::mem_row_major);
	}
	if (ORDER)
		__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		out[i] = s[i];
}
template <bool ORDER> void wmma_store()
{
	k_wmma_store<ORDER><<<1, 64>>>(device<half>(512), device<float>(256));
}

template <bool ORDER> __global__ void k_wmma_load(const half *in, float *out)
{
	__shared__ alignas(32) half s[512];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	for (int i = threadIdx.x; i < 512; i += blockDim.x)
		s[i] = in[i];
	if (ORDER)
		__syncthreads();
	wmma::load_matrix_sync(fa, s, 16);
	wmma::load_matrix_sync(fb, s + 256, 16);
	wmma::fill_fragment(fc, 0.f);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(out + threadIdx.x / 32 * 256, fc, 16, wmma::mem_row_major);
}
template <bool ORDER> void wmma_load()
{
	k_wmma_load<ORDER><<<1, 128>>>(device<half>(512), device<float>(1024));
}

template <bool ORDER> __global__ void k_ldmatrix(const unsigned *in, unsigned *out)
{
	__shared__ alignas(16) unsigned s[128];
	unsigned t = threadIdx.x, r;

	s[t] = in[t];
	s[t + 64] = in[t + 64];
	if (ORDER)
		__syncthreads();
	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
		     : "=r"(r)
		     : "r"(smem(&s[(t & 7) * 4 + 32 * (t / 32)])));
	out[t] = r;
}
template <bool ORDER> void ldmatrix()
{
	k_ldmatrix<ORDER><<<1, 64>>>(device<unsigned>(128), device<unsigned>(64));
}

PAIRS(PAIR(copy_wait), PAIR(copy_barrier), PAIR(copy_stages), PAIR(copy_reuse), PAIR(bulk_wait),
      PAIR(bulk_ring), PAIR(parity), PAIR(stale_phase), PAIR(bulk_store_reuse), PAIR(elected),
      PAIR(wmma_store), PAIR(wmma_load), PAIR(ldmatrix), PAIR(tensor),
      PAIR(im2col))
