/*
 * attr.c - attributes of kernels that a program may query and set; occupancy.
 *
 * Registers are an estimate (there is no register allocation); shared and
 * local memory are what the PTX declares. Occupancy is the machine's own, so
 * that a grid sized by it is one that a cooperative launch accepts.
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/link.h"

#define REGISTERS 65536u /* of a multiprocessor, and a block */

/* ---- limits of a kernel ---------------------------------------------------------------------- */

static uint64_t below(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

uint64_t rt_kern_dynamic_limit(const struct rt_kern *k, unsigned device,
			       const struct cpu_kernel_info *info)
{
	int set = k->attr[device].max_dynamic;

	return set >= 0 ? (uint64_t)set : below(CPU_SHARED_STATIC, info->shared_static);
}

uint32_t rt_kern_max_threads(const struct cpu_kernel_info *info)
{
	/* Registers come in units of 8 a thread. */
	uint32_t by_regs = REGISTERS / ((info->regs + 7) & ~7u) & ~(CPU_WARP - 1);

	return info->max_threads < by_regs ? info->max_threads : by_regs;
}

/* The kernel of an entry point's `func` on the current device. */
struct query {
	struct rt_kern *k;
	struct cpu_kernel *kernel;
	struct cpu_kernel_info info;
	unsigned device;
};

/* On success the images' lock is held. */
static cudaError_t query_begin(struct query *q, const void *func)
{
	cudaError_t e = rt_enter();

	if (e != cudaSuccess)
		return e;
	q->device = rt_thread()->device;
	rt_images_lock();
	q->k = rt_kern_find(func);
	/* What isn't a host function could be a cudaKernel_t; CUDA returns the code for an invalid
	 * one. */
	e = q->k ? rt_kern_load(q->k, q->device, &q->kernel) : cudaErrorInvalidResourceHandle;
	if (e == cudaSuccess)
		cpu_kernel_get_info(q->kernel, &q->info);
	else
		rt_images_unlock();
	return e;
}

/* ---- attributes ------------------------------------------------------------------------------ */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct query q;
	cudaError_t e = attr ? query_begin(&q, func) : cudaErrorInvalidValue;

	if (e != cudaSuccess)
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

static cudaError_t set_attribute(struct rt_kern_attr *a, const struct cpu_kernel_info *info,
				 enum cudaFuncAttribute attr, int value)
{
	switch ((int)attr) {
	case cudaFuncAttributeMaxDynamicSharedMemorySize:
		if (value < 0 || (uint64_t)value > below(CPU_SHARED_OPTIN, info->shared_static))
			return cudaErrorInvalidValue;
		a->max_dynamic = value;
		return cudaSuccess;
	case cudaFuncAttributePreferredSharedMemoryCarveout:
		if (value < -1 || value > 100)
			return cudaErrorInvalidValue;
		a->carveout = value;
		return cudaSuccess;
	case cudaFuncAttributeClusterDimMustBeSet:
		a->must_cluster = value != 0;
		return cudaSuccess;
	case cudaFuncAttributeRequiredClusterWidth:
	case cudaFuncAttributeRequiredClusterHeight:
	case cudaFuncAttributeRequiredClusterDepth:
		if (info->cluster[0]) /* fixed at compile time */
			return cudaErrorNotPermitted;
		if (value < 1)
			return cudaErrorInvalidValue;
		a->cluster[attr - cudaFuncAttributeRequiredClusterWidth] = (uint32_t)value;
		for (int i = 0; i < 3; i++)
			a->cluster[i] = a->cluster[i] ? a->cluster[i] : 1;
		return cudaSuccess;
	case cudaFuncAttributeNonPortableClusterSizeAllowed:
		a->may_nonportable = value != 0;
		return cudaSuccess;
	case cudaFuncAttributeClusterSchedulingPolicyPreference:
		a->policy = value;
		return cudaSuccess;
	default:
		return cudaErrorInvalidValue;
	}
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	struct query q;
	cudaError_t e = query_begin(&q, func);

	if (e != cudaSuccess)
		return rt_fail(e);
	e = set_attribute(&q.k->attr[q.device], &q.info, attr, value);
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
		return rt_fail(cudaErrorInvalidDevice);
	rt_images_lock();
	struct rt_kern *k = rt_kern_find((const void *)kernel);
	cudaError_t e = k ? rt_kern_load(k, (unsigned)device, &c) : cudaErrorInvalidResourceHandle;
	if (e == cudaSuccess) {
		cpu_kernel_get_info(c, &info);
		e = set_attribute(&k->attr[device], &info, attr, value);
	}
	rt_images_unlock();
	return rt_fail(e);
}

/* Hints: only the function must exist. */
static cudaError_t hint(const void *func)
{
	struct query q;
	cudaError_t e = query_begin(&q, func);

	if (e == cudaSuccess)
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
		return rt_fail(cudaErrorInvalidResourceHandle);
	return rt_fail(name ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
				 size_t *paramSize)
{
	struct query q;
	uint32_t offset, bytes;
	cudaError_t e = paramOffset ? query_begin(&q, func) : cudaErrorInvalidValue;

	if (e != cudaSuccess)
		return rt_fail(e);
	if (paramIndex > UINT32_MAX ||
	    !cpu_kernel_param(q.kernel, (uint32_t)paramIndex, &offset, &bytes)) {
		e = cudaErrorInvalidValue;
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
		return rt_fail(cudaErrorInvalidValue);
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(func);
	rt_images_unlock();
	*out = k;
	return rt_fail(k ? cudaSuccess : cudaErrorInvalidDeviceFunction);
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

/* As in CUDA's occupancy calculator, the limit of dynamic shared memory counts (0 blocks beyond
 * it), but __launch_bounds__ don't. */
static uint32_t blocks_per_sm(const struct query *q, uint64_t threads, size_t shared)
{
	if (threads > 1024 || shared > rt_kern_dynamic_limit(q->k, q->device, &q->info))
		return 0;
	return cpu_kernel_occupancy(q->kernel, (uint32_t)threads, shared);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
								   int blockSize,
								   size_t dynamicSMemSize,
								   unsigned int flags)
{
	struct query q;
	cudaError_t e = cudaErrorInvalidValue;

	if (numBlocks && blockSize > 0 && flags <= cudaOccupancyDisableCachingOverride)
		e = query_begin(&q, func);
	if (e != cudaSuccess)
		return rt_fail(e);
	*numBlocks = (int)blocks_per_sm(&q, (uint64_t)blockSize, dynamicSMemSize);
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
	struct query q;
	cudaError_t e = cudaErrorInvalidValue;

	if (dynamicSmemSize && numBlocks > 0 && blockSize > 0)
		e = query_begin(&q, func);
	if (e != cudaSuccess)
		return rt_fail(e);
	uint64_t low = 0, high = rt_kern_dynamic_limit(q.k, q.device, &q.info);
	if (blocks_per_sm(&q, (uint64_t)blockSize, 0) < (uint32_t)numBlocks)
		e = cudaErrorInvalidValue;
	/* Occupancy falls with the size: the largest that still fits. */
	while (e == cudaSuccess && low < high) {
		uint64_t mid = low + (high - low + 1) / 2;
		if (blocks_per_sm(&q, (uint64_t)blockSize, mid) >= (uint32_t)numBlocks)
			low = mid;
		else
			high = mid - 1;
	}
	if (e == cudaSuccess)
		*dynamicSmemSize = low;
	rt_images_unlock();
	return rt_fail(e);
}

/* Clusters of `size` blocks that run at the same time. */
static uint64_t active_clusters(const struct query *q, const cudaLaunchConfig_t *c, uint64_t size)
{
	uint64_t sms = rt.options.sms ? rt.options.sms : CPU_SMS;
	uint64_t threads = (uint64_t)c->blockDim.x * c->blockDim.y * c->blockDim.z;

	return threads && size ? sms * blocks_per_sm(q, threads, c->dynamicSmemBytes) / size : 0;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
					   const cudaLaunchConfig_t *launchConfig)
{
	struct rt_shape shape;
	struct query q;
	cudaError_t e = cudaErrorInvalidValue;

	if (numClusters && launchConfig)
		e = rt_shape_read(launchConfig->attrs, launchConfig->numAttrs, &shape);
	if (e == cudaSuccess)
		e = query_begin(&q, func);
	if (e != cudaSuccess)
		return rt_fail(e);
	const uint32_t *c = shape.cluster[0] ? shape.cluster : q.info.cluster;
	uint64_t size = c[0] ? (uint64_t)c[0] * c[1] * c[2] : 1;
	if (!size || size > CPU_CLUSTER_MAX || (size > 8 && !q.k->attr[q.device].may_nonportable))
		e = cudaErrorInvalidClusterSize;
	else
		*numClusters = (int)active_clusters(&q, launchConfig, size);
	rt_images_unlock();
	return rt_fail(e);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
						 const cudaLaunchConfig_t *launchConfig)
{
	struct query q;
	cudaError_t e = clusterSize && launchConfig ? query_begin(&q, func) : cudaErrorInvalidValue;

	if (e != cudaSuccess)
		return rt_fail(e);
	uint64_t size = q.k->attr[q.device].may_nonportable ? CPU_CLUSTER_MAX : 8;
	while (size > 1 && !active_clusters(&q, launchConfig, size))
		size /= 2;
	*clusterSize = active_clusters(&q, launchConfig, size) ? (int)size : 0;
	rt_images_unlock();
	return cudaSuccess;
}
