/*
 * attr.c - entry points for attributes of kernels, and occupancy.
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/link.h"

/* On success the images' lock is held. */
static enum rt_error begin(struct rt_query *q, const void *func)
{
	enum rt_error e = rt_enter();

	return e == RT_OK ? rt_query_begin(q, func) : e;
}

/* ---- attributes ------------------------------------------------------------------------------ */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct rt_query q;
	enum rt_error e = attr ? begin(&q, func) : RT_ERROR_INVALID_VALUE;

	if (e != RT_OK)
		return rt_fail(e);
	const struct rt_kern_attr *a = &q.k->attr[q.device];
	const uint32_t *cluster = q.info.cluster[0] ? q.info.cluster : a->cluster;
	memset(attr, 0, sizeof(*attr));
	attr->sharedSizeBytes = q.info.shared_static;
	attr->constSizeBytes = q.info.consts;
	attr->localSizeBytes = q.info.local;
	attr->maxThreadsPerBlock = (int)rt_kern_max_threads(&q.info);
	attr->numRegs = (int)q.info.regs;
	attr->ptxVersion = (int)q.k->image->sm;
	attr->binaryVersion = (int)CPU_SM_VERSION;
	attr->maxDynamicSharedSizeBytes = (int)rt_kern_dynamic_limit(q.k, q.device, &q.info);
	attr->preferredShmemCarveout = a->carveout;
	attr->clusterDimMustBeSet = a->must_cluster || cluster[0];
	attr->requiredClusterWidth = (int)cluster[0];
	attr->requiredClusterHeight = (int)cluster[1];
	attr->requiredClusterDepth = (int)cluster[2];
	attr->clusterSchedulingPolicyPreference = a->policy;
	attr->nonPortableClusterSizeAllowed = a->may_nonportable;
	rt_images_unlock();
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	struct rt_query q;
	enum rt_error e = begin(&q, func);

	if (e != RT_OK)
		return rt_fail(e);
	e = rt_kern_set_attr(&q.k->attr[q.device], &q.info, (int)attr, value);
	rt_images_unlock();
	return rt_fail(e);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
					    int value, int device)
{
	struct cpu_kernel_info info;
	struct cpu_kernel *c;

	RT_ENTER();
	if (device < 0 || (unsigned)device >= rt.ndevices)
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	rt_images_lock();
	struct rt_kern *k = rt_kern_find((const void *)kernel);
	enum rt_error e =
		k ? rt_kern_load(k, (unsigned)device, &c) : RT_ERROR_INVALID_RESOURCE_HANDLE;
	if (e == RT_OK) {
		cpu_kernel_get_info(c, &info);
		e = rt_kern_set_attr(&k->attr[device], &info, (int)attr, value);
	}
	rt_images_unlock();
	return rt_fail(e);
}

/* Hints: only the function must exist. */
static cudaError_t hint(const void *func)
{
	struct rt_query q;
	enum rt_error e = begin(&q, func);

	if (e == RT_OK)
		rt_images_unlock();
	return rt_fail(e);
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	(void)cacheConfig;
	return hint(func);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	(void)config;
	return hint(func);
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	RT_ENTER();
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(func);
	if (k && name)
		*name = k->name;
	rt_images_unlock();
	if (!k)
		return rt_fail(RT_ERROR_INVALID_RESOURCE_HANDLE);
	return rt_fail(name ? RT_OK : RT_ERROR_INVALID_VALUE);
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
				 size_t *paramSize)
{
	struct rt_query q;
	uint32_t offset, bytes;
	enum rt_error e = paramOffset ? begin(&q, func) : RT_ERROR_INVALID_VALUE;

	if (e != RT_OK)
		return rt_fail(e);
	if (paramIndex > UINT32_MAX ||
	    !cpu_kernel_param(q.kernel, (uint32_t)paramIndex, &offset, &bytes)) {
		e = RT_ERROR_INVALID_VALUE;
	} else {
		*paramOffset = offset;
		if (paramSize)
			*paramSize = bytes;
	}
	rt_images_unlock();
	return rt_fail(e);
}

static cudaError_t kernel_handle(const void *func, void **out)
{
	RT_ENTER();
	if (!out)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(func);
	rt_images_unlock();
	*out = k;
	return rt_fail(k ? RT_OK : RT_ERROR_INVALID_DEVICE_FUNCTION);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	return kernel_handle(symbolPtr, (void **)functionPtr);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	return kernel_handle(entryFuncAddr, (void **)kernelPtr);
}

/* ---- occupancy ------------------------------------------------------------------------------- */

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
								   int blockSize,
								   size_t dynamicSMemSize,
								   unsigned int flags)
{
	struct rt_query q;
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	if (numBlocks && blockSize > 0 && flags <= cudaOccupancyDisableCachingOverride)
		e = begin(&q, func);
	if (e != RT_OK)
		return rt_fail(e);
	*numBlocks = (int)rt_query_blocks(&q, (uint64_t)blockSize, dynamicSMemSize);
	rt_images_unlock();
	return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
							  int blockSize, size_t dynamicSMemSize)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
								      dynamicSMemSize, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
						      int numBlocks, int blockSize)
{
	struct rt_query q;
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	if (dynamicSmemSize && numBlocks > 0 && blockSize > 0)
		e = begin(&q, func);
	if (e != RT_OK)
		return rt_fail(e);
	uint64_t bytes = rt_query_dynamic(&q, (uint32_t)numBlocks, (uint64_t)blockSize);
	if (bytes == UINT64_MAX)
		e = RT_ERROR_INVALID_VALUE;
	else
		*dynamicSmemSize = bytes;
	rt_images_unlock();
	return rt_fail(e);
}

static uint64_t threads_of(const cudaLaunchConfig_t *c)
{
	return (uint64_t)c->blockDim.x * c->blockDim.y * c->blockDim.z;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
					   const cudaLaunchConfig_t *launchConfig)
{
	struct rt_shape shape;
	struct rt_query q;
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	if (numClusters && launchConfig)
		e = rt_shape_read(launchConfig->attrs, launchConfig->numAttrs, &shape);
	if (e == RT_OK)
		e = begin(&q, func);
	if (e != RT_OK)
		return rt_fail(e);
	e = rt_query_active_clusters(&q, threads_of(launchConfig), launchConfig->dynamicSmemBytes,
				     shape.cluster, numClusters);
	rt_images_unlock();
	return rt_fail(e);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
						 const cudaLaunchConfig_t *launchConfig)
{
	struct rt_query q;
	enum rt_error e = clusterSize && launchConfig ? begin(&q, func) : RT_ERROR_INVALID_VALUE;

	if (e != RT_OK)
		return rt_fail(e);
	*clusterSize =
		rt_query_cluster_size(&q, threads_of(launchConfig), launchConfig->dynamicSmemBytes);
	rt_images_unlock();
	return cudaSuccess;
}
