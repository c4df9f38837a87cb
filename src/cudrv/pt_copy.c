/*
 * pt_copy.c - copies and fills; compiled twice (drv.h).
 */
#include "cudart/state/array.h"
#include "cudart/state/copy.h"
#include "cudart/state/memory.h"
#include "cudrv/drv.h"

static struct rt_call sync_call(void)
{
	return (struct rt_call){NULL, DRV_PER_THREAD, false};
}

static struct rt_call async_call(CUstream s)
{
	return (struct rt_call){s, DRV_PER_THREAD, true};
}

static CUresult copy(void *dst, const void *src, size_t n, enum rt_copy_kind kind,
		     struct rt_call call)
{
	struct rt_work w;

	DRV_ENTER();
	enum rt_error e = rt_copy_make_1d(&w, dst, src, n, kind);
	if (e == RT_OK)
		e = rt_copy_submit(&w, call);
	return (CUresult)e;
}

/* ---- bytes ---------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	return copy(drv_pointer(dst), drv_pointer(src), ByteCount, RT_BY_ADDRESS, sync_call());
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return copy(drv_pointer(dst), drv_pointer(src), ByteCount, RT_BY_ADDRESS,
		    async_call(hStream));
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t ByteCount)
{
	return copy(drv_pointer(dst), src, ByteCount, RT_HOST_TO_DEVICE, sync_call());
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t ByteCount,
				   CUstream hStream)
{
	return copy(drv_pointer(dst), src, ByteCount, RT_HOST_TO_DEVICE, async_call(hStream));
}

CUresult CUDAAPI cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t ByteCount)
{
	return copy(dst, drv_pointer(src), ByteCount, RT_DEVICE_TO_HOST, sync_call());
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return copy(dst, drv_pointer(src), ByteCount, RT_DEVICE_TO_HOST, async_call(hStream));
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	return copy(drv_pointer(dst), drv_pointer(src), ByteCount, RT_BETWEEN_DEVICES, sync_call());
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
				   CUstream hStream)
{
	return copy(drv_pointer(dst), drv_pointer(src), ByteCount, RT_BETWEEN_DEVICES,
		    async_call(hStream));
}

/* Addresses say which device they belong to. */
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src,
			      CUcontext srcContext, size_t ByteCount)
{
	struct cpu_mem_info a, b;

	(void)dstContext, (void)srcContext;
	DRV_ENTER();
	if (!cpu_mem_find(rt.m, dst, &a) || !cpu_mem_find(rt.m, src, &b))
		return drv_bad();
	return (CUresult)rt_memcpy_peer(drv_pointer(dst), (int)a.device, drv_pointer(src),
					(int)b.device, ByteCount);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src,
				   CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	(void)dstContext, (void)srcContext;
	return copy(drv_pointer(dst), drv_pointer(src), ByteCount, RT_BETWEEN_DEVICES,
		    async_call(hStream));
}

/* ---- descriptions --------------------------------------------------------------------- */

static CUresult copy_made(struct rt_copy_3d *c, enum rt_error e, struct rt_call call)
{
	struct rt_work w;

	DRV_ENTER();
	if (e == RT_OK)
		e = rt_copy_make_3d(&w, *c);
	/* The driver has one code for all that is wrong in a description. */
	if (e == RT_ERROR_INVALID_PITCH_VALUE)
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		e = rt_copy_submit(&w, call);
	return (CUresult)e;
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *pCopy)
{
	struct rt_copy_3d c;
	enum rt_error e = drv_copy_2d(pCopy, &c);

	return copy_made(&c, e, sync_call());
}

CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *pCopy)
{
	struct rt_copy_3d c;
	enum rt_error e = drv_copy_2d(pCopy, &c);

	return copy_made(&c, e, sync_call());
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	struct rt_copy_3d c;
	enum rt_error e = drv_copy_2d(pCopy, &c);

	return copy_made(&c, e, async_call(hStream));
}

CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D *pCopy)
{
	struct rt_copy_3d c;
	enum rt_error e = drv_copy_3d(pCopy, &c);

	return copy_made(&c, e, sync_call());
}

CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	struct rt_copy_3d c;
	enum rt_error e = drv_copy_3d(pCopy, &c);

	return copy_made(&c, e, async_call(hStream));
}

/* Addresses say which device they belong to. */
static CUDA_MEMCPY3D without_peers(const CUDA_MEMCPY3D_PEER *p)
{
	return (CUDA_MEMCPY3D){.srcXInBytes = p->srcXInBytes,
			       .srcY = p->srcY,
			       .srcZ = p->srcZ,
			       .srcLOD = p->srcLOD,
			       .srcMemoryType = p->srcMemoryType,
			       .srcHost = p->srcHost,
			       .srcDevice = p->srcDevice,
			       .srcArray = p->srcArray,
			       .srcPitch = p->srcPitch,
			       .srcHeight = p->srcHeight,
			       .dstXInBytes = p->dstXInBytes,
			       .dstY = p->dstY,
			       .dstZ = p->dstZ,
			       .dstLOD = p->dstLOD,
			       .dstMemoryType = p->dstMemoryType,
			       .dstHost = p->dstHost,
			       .dstDevice = p->dstDevice,
			       .dstArray = p->dstArray,
			       .dstPitch = p->dstPitch,
			       .dstHeight = p->dstHeight,
			       .WidthInBytes = p->WidthInBytes,
			       .Height = p->Height,
			       .Depth = p->Depth};
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	CUDA_MEMCPY3D c;

	if (!pCopy)
		return drv_bad();
	c = without_peers(pCopy);
	return cuMemcpy3D(&c);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	CUDA_MEMCPY3D c;

	if (!pCopy)
		return drv_bad();
	c = without_peers(pCopy);
	return cuMemcpy3DAsync(&c, hStream);
}

/* ---- arrays, in the order of rows ----------------------------------------------------- */

/* An address in an array, or NULL. */
static void *in_array(CUarray array, size_t offset, size_t n)
{
	const struct rt_array *a = rt_array_find(array);
	uint64_t slices = a && a->extent.depth ? a->extent.depth : 1;

	if (!a || offset > a->slice * slices || n > a->slice * slices - offset)
		return NULL;
	return drv_pointer(a->base + offset);
}

CUresult CUDAAPI cuMemcpyHtoA(CUarray dst, size_t dstOffset, const void *src, size_t ByteCount)
{
	return copy(in_array(dst, dstOffset, ByteCount), src, ByteCount, RT_HOST_TO_DEVICE,
		    sync_call());
}

CUresult CUDAAPI cuMemcpyHtoAAsync(CUarray dst, size_t dstOffset, const void *src, size_t ByteCount,
				   CUstream hStream)
{
	return copy(in_array(dst, dstOffset, ByteCount), src, ByteCount, RT_HOST_TO_DEVICE,
		    async_call(hStream));
}

CUresult CUDAAPI cuMemcpyAtoH(void *dst, CUarray src, size_t srcOffset, size_t ByteCount)
{
	return copy(dst, in_array(src, srcOffset, ByteCount), ByteCount, RT_DEVICE_TO_HOST,
		    sync_call());
}

CUresult CUDAAPI cuMemcpyAtoHAsync(void *dst, CUarray src, size_t srcOffset, size_t ByteCount,
				   CUstream hStream)
{
	return copy(dst, in_array(src, srcOffset, ByteCount), ByteCount, RT_DEVICE_TO_HOST,
		    async_call(hStream));
}

CUresult CUDAAPI cuMemcpyDtoA(CUarray dst, size_t dstOffset, CUdeviceptr src, size_t ByteCount)
{
	return copy(in_array(dst, dstOffset, ByteCount), drv_pointer(src), ByteCount,
		    RT_BETWEEN_DEVICES, sync_call());
}

CUresult CUDAAPI cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t srcOffset, size_t ByteCount)
{
	return copy(drv_pointer(dst), in_array(src, srcOffset, ByteCount), ByteCount,
		    RT_BETWEEN_DEVICES, sync_call());
}

CUresult CUDAAPI cuMemcpyAtoA(CUarray dst, size_t dstOffset, CUarray src, size_t srcOffset,
			      size_t ByteCount)
{
	return copy(in_array(dst, dstOffset, ByteCount), in_array(src, srcOffset, ByteCount),
		    ByteCount, RT_BETWEEN_DEVICES, sync_call());
}

/* ---- fills ---------------------------------------------------------------------------- */

/* Rows of `width` elements of `size` bytes. */
static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned value, unsigned size,
		     struct rt_extent x, struct rt_call call)
{
	struct rt_pitched p = {drv_pointer(dst), pitch, x.width * size, x.height};
	struct rt_work w;

	DRV_ENTER();
	enum rt_error e = rt_fill_make(&w, p, value, size, x);
	if (e == RT_OK)
		e = rt_fill_submit(&w, call);
	return (CUresult)e;
}

static CUresult fill_1d(CUdeviceptr dst, unsigned value, unsigned size, size_t n,
			struct rt_call call)
{
	return fill(dst, n * size, value, size, (struct rt_extent){n, 1, 1}, call);
}

static CUresult fill_2d(CUdeviceptr dst, size_t pitch, unsigned value, unsigned size, size_t width,
			size_t height, struct rt_call call)
{
	return fill(dst, pitch, value, size, (struct rt_extent){width, height, 1}, call);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr dst, unsigned char uc, size_t N)
{
	return fill_1d(dst, uc, 1, N, sync_call());
}

CUresult CUDAAPI cuMemsetD16(CUdeviceptr dst, unsigned short us, size_t N)
{
	return fill_1d(dst, us, 2, N, sync_call());
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr dst, unsigned int ui, size_t N)
{
	return fill_1d(dst, ui, 4, N, sync_call());
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char uc, size_t N, CUstream hStream)
{
	return fill_1d(dst, uc, 1, N, async_call(hStream));
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dst, unsigned short us, size_t N, CUstream hStream)
{
	return fill_1d(dst, us, 2, N, async_call(hStream));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dst, unsigned int ui, size_t N, CUstream hStream)
{
	return fill_1d(dst, ui, 4, N, async_call(hStream));
}

CUresult CUDAAPI cuMemsetD2D8(CUdeviceptr dst, size_t dstPitch, unsigned char uc, size_t Width,
			      size_t Height)
{
	return fill_2d(dst, dstPitch, uc, 1, Width, Height, sync_call());
}

CUresult CUDAAPI cuMemsetD2D16(CUdeviceptr dst, size_t dstPitch, unsigned short us, size_t Width,
			       size_t Height)
{
	return fill_2d(dst, dstPitch, us, 2, Width, Height, sync_call());
}

CUresult CUDAAPI cuMemsetD2D32(CUdeviceptr dst, size_t dstPitch, unsigned int ui, size_t Width,
			       size_t Height)
{
	return fill_2d(dst, dstPitch, ui, 4, Width, Height, sync_call());
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dst, size_t dstPitch, unsigned char uc, size_t Width,
				   size_t Height, CUstream hStream)
{
	return fill_2d(dst, dstPitch, uc, 1, Width, Height, async_call(hStream));
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dst, size_t dstPitch, unsigned short us,
				    size_t Width, size_t Height, CUstream hStream)
{
	return fill_2d(dst, dstPitch, us, 2, Width, Height, async_call(hStream));
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dst, size_t dstPitch, unsigned int ui, size_t Width,
				    size_t Height, CUstream hStream)
{
	return fill_2d(dst, dstPitch, ui, 4, Width, Height, async_call(hStream));
}

/* ---- stream-ordered memory ------------------------------------------------------------ */

static CUresult alloc(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	void *p = NULL;

	DRV_ENTER();
	if (!dptr)
		return drv_bad();
	if (!bytes) {
		*dptr = 0;
		return CUDA_SUCCESS;
	}
	enum rt_error e = rt_pool_alloc(&p, bytes, pool, stream, DRV_PER_THREAD);
	if (e == RT_OK)
		*dptr = (uintptr_t)p;
	return (CUresult)e;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return alloc(dptr, bytesize, NULL, hStream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
					 CUstream hStream)
{
	return pool ? alloc(dptr, bytesize, pool, hStream) : drv_bad();
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	DRV_ENTER();
	return dptr ? (CUresult)rt_pool_free(drv_pointer(dptr), hStream, DRV_PER_THREAD)
		    : CUDA_SUCCESS;
}

/* It takes its place in the stream and has no effect. */
static CUresult prefetch(CUdeviceptr p, size_t count, bool is_device, int device, CUstream stream)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};

	DRV_ENTER();
	if (!rt_is_managed(drv_pointer(p), count))
		return drv_bad();
	if (is_device && !rt_is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return (CUresult)rt_stream_submit(stream, DRV_PER_THREAD, &w, NULL);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUmemLocation location,
				    unsigned int flags, CUstream hStream)
{
	if (flags)
		return drv_bad();
	return prefetch(devPtr, count, location.type == CU_MEM_LOCATION_TYPE_DEVICE, location.id,
			hStream);
}

#undef cuMemPrefetchAsync
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define OLD_PREFETCH cuMemPrefetchAsync_ptsz
#else
#define OLD_PREFETCH cuMemPrefetchAsync
#endif
CUresult CUDAAPI OLD_PREFETCH(CUdeviceptr devPtr, size_t count, CUdevice device, CUstream hStream);

CUresult CUDAAPI OLD_PREFETCH(CUdeviceptr devPtr, size_t count, CUdevice device, CUstream hStream)
{
	return prefetch(devPtr, count, device != CU_DEVICE_CPU, device, hStream);
}
