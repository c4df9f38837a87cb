/*
 * test_memory.c - allocations, copies of all shapes and kinds, fills, pointers.
 */
#include "check.h"

#define N 1000

static void test_alloc(void)
{
	struct cudaPointerAttributes a;
	size_t free0, free1, total;
	void *p, *q;

	OK(cudaMemGetInfo(&free0, &total));
	CHECK(free0 <= total && total >= 1 << 20);
	OK(cudaMalloc(&p, N));
	CHECK((uintptr_t)p % 256 == 0);
	OK(cudaMemGetInfo(&free1, &total));
	CHECK(free1 < free0);
	OK(cudaPointerGetAttributes(&a, (char *)p + 7));
	CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && !a.hostPointer);
	CHECK(a.devicePointer == (char *)p + 7);
	OK(cudaFree(p));
	CHECK_IS(cudaFree(p), cudaErrorInvalidValue);
	CHECK_IS(cudaFree(&p), cudaErrorInvalidValue);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidValue);
	OK(cudaGetLastError());
	OK(cudaFree(NULL));
	OK(cudaMalloc(&p, 0));
	CHECK(p == NULL);
	CHECK_IS(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
	CHECK_IS(cudaGetLastError(), cudaErrorMemoryAllocation);

	OK(cudaMallocManaged(&p, N, cudaMemAttachGlobal));
	OK(cudaPointerGetAttributes(&a, p));
	CHECK(a.type == cudaMemoryTypeManaged && a.hostPointer == p && a.devicePointer == p);
	OK(cudaFree(p));
	CHECK_IS(cudaMallocManaged(&p, N, 77), cudaErrorInvalidValue);

	OK(cudaMallocHost(&p, N));
	OK(cudaPointerGetAttributes(&a, p));
	CHECK(a.type == cudaMemoryTypeHost);
	OK(cudaHostGetDevicePointer(&q, p, 0));
	CHECK(q == p);
	CHECK_IS(cudaFree(p), cudaErrorInvalidValue);
	OK(cudaFreeHost(p));
	OK(cudaPointerGetAttributes(&a, &total));
	CHECK(a.type == cudaMemoryTypeUnregistered && a.devicePointer == NULL);
}

static void test_register(void)
{
	static char buf[8192];
	struct cudaPointerAttributes a;
	unsigned flags;

	OK(cudaHostRegister(buf, sizeof(buf), cudaHostRegisterDefault));
	CHECK_IS(cudaHostRegister(buf, 10, cudaHostRegisterDefault),
		 cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaPointerGetAttributes(&a, buf + 100));
	CHECK(a.type == cudaMemoryTypeHost);
	OK(cudaHostGetFlags(&flags, buf));
	CHECK(flags & cudaHostRegisterMapped);
	OK(cudaHostUnregister(buf));
	CHECK_IS(cudaHostUnregister(buf), cudaErrorHostMemoryNotRegistered);
	OK(cudaPointerGetAttributes(&a, buf));
	CHECK(a.type == cudaMemoryTypeUnregistered);
}

static void test_copy_kinds(void)
{
	char in[N], out[N];
	void *d, *e;

	for (int i = 0; i < N; i++)
		in[i] = (char)i;
	OK(cudaMalloc(&d, N));
	OK(cudaMalloc(&e, N));
	OK(cudaMemcpy(d, in, N, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(e, d, N, cudaMemcpyDeviceToDevice));
	memset(out, 0, N);
	OK(cudaMemcpy(out, e, N, cudaMemcpyDeviceToHost));
	CHECK(memcmp(in, out, N) == 0);
	memset(out, 0, N);
	OK(cudaMemcpy(out, e, N, cudaMemcpyDefault));
	CHECK(memcmp(in, out, N) == 0);
	OK(cudaMemcpy(out, in + 1, N - 1, cudaMemcpyHostToHost));
	CHECK(memcmp(in + 1, out, N - 1) == 0);

	/* A side that isn't what the kind says; one byte too many; no memory at all. */
	CHECK_IS(cudaMemcpy(d, in, N, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy(out, d, N, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy(d, in, N + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy(NULL, in, N, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_IS(cudaMemcpy(d, in, N, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
	OK(cudaFree(e));
	CHECK_IS(cudaMemcpy(out, e, N, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	OK(cudaFree(d));
	cudaGetLastError();
}

static void test_copy_2d(void)
{
	char in[20][30], out[20][40];
	size_t pitch;
	void *d;

	for (int y = 0; y < 20; y++)
		for (int x = 0; x < 30; x++)
			in[y][x] = (char)(y * 30 + x);
	OK(cudaMallocPitch(&d, &pitch, 25, 20));
	CHECK(pitch >= 25 && pitch % 32 == 0);
	OK(cudaMemcpy2D(d, pitch, in[0] + 2, 30, 25, 20, cudaMemcpyHostToDevice));
	memset(out, 0x55, sizeof(out));
	OK(cudaMemcpy2D(out, 40, d, pitch, 25, 20, cudaMemcpyDeviceToHost));
	for (int y = 0; y < 20; y++) {
		CHECK(memcmp(out[y], in[y] + 2, 25) == 0);
		CHECK(out[y][25] == 0x55);
	}
	CHECK_IS(cudaMemcpy2D(d, pitch, in, 30, 31, 20, cudaMemcpyHostToDevice),
		 cudaErrorInvalidPitchValue);
	OK(cudaMemset2D(d, pitch, 7, 3, 20));
	OK(cudaMemcpy2D(out, 40, d, pitch, 25, 20, cudaMemcpyDeviceToHost));
	CHECK(out[19][2] == 7 && out[19][3] == in[19][5]);
	OK(cudaFree(d));
}

static void test_copy_3d(void)
{
	enum { W = 6, H = 5, D = 4 };
	char in[D][H][W], out[D][H][W];
	struct cudaPitchedPtr p;
	struct cudaExtent whole = {W, H, D}, part = {2, 3, 2};

	for (int i = 0; i < D * H * W; i++)
		(&in[0][0][0])[i] = (char)i;
	OK(cudaMalloc3D(&p, whole));
	CHECK(p.ysize == H && p.pitch >= W);
	OK(cudaMemset3D(p, 1, whole));
	struct cudaMemcpy3DParms c = {.srcPtr = {in, W, W, H},
				      .srcPos = {1, 1, 1},
				      .dstPtr = p,
				      .dstPos = {3, 0, 2},
				      .extent = part,
				      .kind = cudaMemcpyHostToDevice};
	OK(cudaMemcpy3D(&c));
	struct cudaMemcpy3DParms r = {.srcPtr = p,
				      .dstPtr = {out, W, W, H},
				      .extent = whole,
				      .kind = cudaMemcpyDeviceToHost};
	OK(cudaMemcpy3D(&r));
	for (int z = 0; z < D; z++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++) {
				int is_in = x >= 3 && x < 5 && y < 3 && z >= 2;
				char want = is_in ? in[z - 1][y + 1][x - 2] : 1;
				CHECK(out[z][y][x] == want);
			}
	OK(cudaFree(p.ptr));
}

static void test_async_pageable(void)
{
	char in[N], out[N];
	cudaStream_t s;
	void *d;

	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&d, N));
	memset(in, 3, N);
	OK(cudaMemcpyAsync(d, in, N, cudaMemcpyHostToDevice, s));
	memset(in, 9, N); /* the copy has been staged */
	OK(cudaMemcpyAsync(out, d, N, cudaMemcpyDeviceToHost, s));
	CHECK(out[0] == 3 && out[N - 1] == 3); /* to pageable memory it waits */
	OK(cudaMemsetAsync(d, 4, N / 2, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy(out, d, N, cudaMemcpyDeviceToHost));
	CHECK(out[N / 2 - 1] == 4 && out[N / 2] == 3);
	CHECK_IS(cudaMemset(in, 0, N), cudaErrorInvalidValue);
	OK(cudaFree(d));
	OK(cudaStreamDestroy(s));
}

static void test_pools(void)
{
	unsigned long long used, threshold = 1 << 20, got;
	cudaMemPool_t pool, own;
	cudaStream_t s;
	void *p, *q;
	char c = 0;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	struct cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemGetMemPool(&own, &here, cudaMemAllocationTypePinned));
	CHECK(own == pool);
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
	CHECK(got == threshold);
	OK(cudaMallocAsync(&p, N, s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	CHECK(used >= N);
	OK(cudaMemsetAsync(p, 5, N, s));
	OK(cudaMemcpyAsync(&c, p, 1, cudaMemcpyDeviceToHost, s));
	CHECK(c == 5);
	OK(cudaFreeAsync(p, s));
	CHECK_IS(cudaFreeAsync(p, s), cudaErrorInvalidValue);
	OK(cudaStreamSynchronize(s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	CHECK(used == 0);
	OK(cudaMemPoolTrimTo(pool, 0));

	struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
					 .location = {cudaMemLocationTypeDevice, 0},
					 .maxSize = N};
	OK(cudaMemPoolCreate(&own, &props));
	OK(cudaMallocFromPoolAsync(&q, N, own, s));
	if (is_cpu_device()) /* a GPU's pool is as large as its pages */
		CHECK_IS(cudaMallocFromPoolAsync(&p, 1, own, s), cudaErrorMemoryAllocation);
	OK(cudaFree(q));
	OK(cudaMemPoolDestroy(own));
	CHECK_IS(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
	OK(cudaStreamDestroy(s));
}

int main(void)
{
	test_alloc();
	test_register();
	test_copy_kinds();
	test_copy_2d();
	test_copy_3d();
	test_async_pageable();
	test_pools();
	return 0;
}
