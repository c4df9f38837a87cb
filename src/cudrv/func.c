/*
 * func.c - kernels: attributes, names, parameters, occupancy. A CUfunction and a CUkernel are the
 * same here, and those of the runtime are, too.
 */
#include "cudrv/drv.h"

/* Begins a question about a kernel on the current device; on success the images' lock is held. */
static CUresult begin(struct rt_query *q, const void *func)
{
	DRV_ENTER();
	return (CUresult)rt_query_begin(q, func);
}

/* The same on a device of its own. */
static CUresult begin_on(struct rt_query *q, const void *func, CUdevice dev)
{
	unsigned was = rt_thread()->device;

	DRV_ENTER_ANY();
	if (!rt_is_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	rt_thread()->device = (unsigned)dev;
	enum rt_error e = rt_query_begin(q, func);
	rt_thread()->device = was;
	return (CUresult)e;
}

static CUresult end(bool is_good)
{
	rt_images_unlock();
	return is_good ? CUDA_SUCCESS : drv_bad();
}

/* ---- attributes ----------------------------------------------------------------------- */

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct rt_query q;
	CUresult r = pi ? begin(&q, hfunc) : drv_bad();

	return r == CUDA_SUCCESS ? end(rt_query_attr(&q, (int)attrib, pi)) : r;
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
				      CUdevice dev)
{
	struct rt_query q;
	CUresult r = pi ? begin_on(&q, kernel, dev) : drv_bad();

	return r == CUDA_SUCCESS ? end(rt_query_attr(&q, (int)attrib, pi)) : r;
}

static CUresult set(struct rt_query *q, int attrib, int value)
{
	enum rt_error e = attrib < RT_ATTR_DYNAMIC ? RT_ERROR_INVALID_VALUE
						   : rt_kern_set_attr(&q->k->attr[q->device],
								      &q->info, attrib, value);

	rt_images_unlock();
	return (CUresult)e;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct rt_query q;
	CUresult r = begin(&q, hfunc);

	return r == CUDA_SUCCESS ? set(&q, (int)attrib, value) : r;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
				      CUdevice dev)
{
	struct rt_query q;
	CUresult r = begin_on(&q, kernel, dev);

	return r == CUDA_SUCCESS ? set(&q, (int)attrib, val) : r;
}

/* Hints: only the kernel must exist. */
CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	struct rt_query q;
	CUresult r = begin(&q, hfunc);

	(void)config;
	return r == CUDA_SUCCESS ? end(true) : r;
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	struct rt_query q;
	CUresult r = begin_on(&q, kernel, dev);

	(void)config;
	return r == CUDA_SUCCESS ? end(true) : r;
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	struct rt_query q;
	CUresult r = begin(&q, hfunc);

	(void)config;
	return r == CUDA_SUCCESS ? end(true) : r;
}

/* ---- what a kernel is ----------------------------------------------------------------- */

static CUresult kernel_of(const void *func, const void *out, struct rt_kern **k)
{
	DRV_ENTER_ANY();
	if (!out)
		return drv_bad();
	rt_images_lock();
	*k = rt_kern_find(func);
	rt_images_unlock();
	return *k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult name_of(const char **name, const void *func)
{
	struct rt_kern *k;
	CUresult r = kernel_of(func, name, &k);

	if (r == CUDA_SUCCESS)
		*name = k->name;
	return r;
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
	return name_of(name, hfunc);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
	return name_of(name, hfunc);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	struct rt_kern *k;
	CUresult r = kernel_of(hfunc, hmod, &k);

	if (r == CUDA_SUCCESS)
		*hmod = (CUmodule)(void *)k->image;
	return r;
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	struct rt_kern *k;
	CUresult r = kernel_of(kernel, pLib, &k);

	if (r == CUDA_SUCCESS)
		*pLib = (CUlibrary)(void *)k->image;
	return r;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct rt_query q;
	CUresult r = pFunc ? begin(&q, kernel) : drv_bad();

	if (r != CUDA_SUCCESS)
		return r;
	*pFunc = (CUfunction)(void *)q.k;
	return end(true);
}

static CUresult param(const void *func, size_t i, size_t *offset, size_t *size)
{
	struct rt_query q;
	uint32_t at, bytes;
	CUresult r = offset ? begin(&q, func) : drv_bad();

	if (r != CUDA_SUCCESS)
		return r;
	bool is_good = i <= UINT32_MAX && cpu_kernel_param(q.kernel, (uint32_t)i, &at, &bytes);
	if (is_good)
		*offset = at;
	if (is_good && size)
		*size = bytes;
	return end(is_good);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
				    size_t *paramSize)
{
	return param(func, paramIndex, paramOffset, paramSize);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
				      size_t *paramSize)
{
	return param(kernel, paramIndex, paramOffset, paramSize);
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	struct rt_query q;
	CUresult r = state ? begin(&q, function) : drv_bad();

	if (r != CUDA_SUCCESS)
		return r;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return end(true);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
	struct rt_query q;
	CUresult r = begin(&q, function);

	return r == CUDA_SUCCESS ? end(true) : r;
}

/* ---- occupancy ------------------------------------------------------------------------ */

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	struct rt_query q;
	CUresult r = drv_bad();

	if (numBlocks && blockSize > 0 && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		r = begin(&q, func);
	if (r != CUDA_SUCCESS)
		return r;
	*numBlocks = (int)rt_query_blocks(&q, (uint64_t)blockSize, dynamicSMemSize);
	return end(true);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
							     int blockSize, size_t dynamicSMemSize)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
								    dynamicSMemSize, 0);
}

/* The block with the most threads on a multiprocessor; of equal ones the largest. */
static CUresult best_block(int *grid, int *block, CUfunction func, CUoccupancyB2DSize size_of,
			   size_t shared, int limit)
{
	struct rt_query q;
	CUresult r = grid && block ? begin(&q, func) : drv_bad();
	uint32_t best = 0, blocks = 0;

	if (r != CUDA_SUCCESS)
		return r;
	uint32_t most = rt_kern_max_threads(&q.info);
	if (limit > 0 && (uint32_t)limit < most)
		most = (uint32_t)limit;
	for (uint32_t t = (most + CPU_WARP - 1) / CPU_WARP * CPU_WARP; t; t -= CPU_WARP) {
		uint32_t threads = t < most ? t : most;
		size_t bytes = size_of ? size_of((int)threads) : shared;
		uint32_t n = rt_query_blocks(&q, threads, bytes);
		if (n * threads > blocks * best) {
			best = threads;
			blocks = n;
		}
	}
	*block = (int)best;
	*grid = (int)(blocks * (rt.options.sms ? rt.options.sms : CPU_SMS));
	return end(true);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
						  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
						  size_t dynamicSMemSize, int blockSizeLimit)
{
	return best_block(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
			  blockSizeLimit);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
	int *minGridSize, int *blockSize, CUfunction func,
	CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
	unsigned int flags)
{
	if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return drv_bad();
	return best_block(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
			  blockSizeLimit);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
							 int numBlocks, int blockSize)
{
	struct rt_query q;
	CUresult r = drv_bad();

	if (dynamicSmemSize && numBlocks > 0 && blockSize > 0)
		r = begin(&q, func);
	if (r != CUDA_SUCCESS)
		return r;
	uint64_t bytes = rt_query_dynamic(&q, (uint32_t)numBlocks, (uint64_t)blockSize);
	if (bytes != UINT64_MAX)
		*dynamicSmemSize = bytes;
	return end(bytes != UINT64_MAX);
}

static uint64_t threads_of(const CUlaunchConfig *c)
{
	return (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
					      const CUlaunchConfig *config)
{
	struct rt_shape shape;
	struct rt_query q;
	CUresult r = drv_bad();

	if (numClusters && config)
		r = (CUresult)drv_shape_read(config->attrs, config->numAttrs, &shape);
	if (r == CUDA_SUCCESS)
		r = begin(&q, func);
	if (r != CUDA_SUCCESS)
		return r;
	r = (CUresult)rt_query_active_clusters(&q, threads_of(config), config->sharedMemBytes,
					       shape.cluster, numClusters);
	rt_images_unlock();
	return r;
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
						    const CUlaunchConfig *config)
{
	struct rt_query q;
	CUresult r = clusterSize && config ? begin(&q, func) : drv_bad();

	if (r != CUDA_SUCCESS)
		return r;
	*clusterSize = rt_query_cluster_size(&q, threads_of(config), config->sharedMemBytes);
	return end(true);
}
