/*
 * device.c - devices: count, properties, attributes, limits, peers, reset.
 *
 * Each fact about the device is in attrs.def, once; cudaDeviceProp is filled from there. The limit
 * of the heap is the device's; the others are only stored and returned, and the stack and printf
 * buffer don't depend on them (a program that sets one and reads it again gets its value).
 * cudaDeviceReset drops the device's memory, streams' work and modules, and its sticky fault, so
 * that a program can continue after an error without a new process.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/internal.h"

#define DEVICE_NAME "Collider CPU device"
#define VERSION	    13000

bool rt_device_attr(enum cudaDeviceAttr attr, unsigned device, int *value)
{
	const struct cpu_options *o = &rt.options;
	const unsigned d = device;

	switch ((int)attr) {
#define A(name, v)                                                                                 \
	case cudaDevAttr##name:                                                                    \
		*value = (int)(v);                                                                 \
		return true;
#define N(number, v)                                                                               \
	case number:                                                                               \
		*value = (int)(v);                                                                 \
		return true;
#include "cudart/api/attrs.def"
#undef N
#undef A
	}
	return false;
}

static void limits_init(struct rt_device *d)
{
	d->stack_limit = 1024;
	d->heap_limit = CPU_HEAP;
	d->fifo_limit = 1 << 20;
	d->l2_limit = d->fetch_limit = 0;
}

void rt_device_init(unsigned device)
{
	struct rt_device *d = &rt.dev[device];

	limits_init(d);
	d->legacy = rt_stream_new(device, cudaStreamDefault, 0);
	d->legacy->is_legacy = true;
	rt_pools_init(device);
}

static bool is_device(int device)
{
	return device >= 0 && (unsigned)device < rt.ndevices;
}

/* ---- properties ------------------------------------------------------------------ */

static int attr(enum cudaDeviceAttr a, unsigned device)
{
	int v = 0;

	rt_device_attr(a, device, &v);
	return v;
}

static void fill_limits(struct cudaDeviceProp *p, unsigned d)
{
	p->sharedMemPerBlock = (size_t)attr(cudaDevAttrMaxSharedMemoryPerBlock, d);
	p->regsPerBlock = attr(cudaDevAttrMaxRegistersPerBlock, d);
	p->warpSize = attr(cudaDevAttrWarpSize, d);
	p->memPitch = (size_t)attr(cudaDevAttrMaxPitch, d);
	p->maxThreadsPerBlock = attr(cudaDevAttrMaxThreadsPerBlock, d);
	for (int i = 0; i < 3; i++) {
		p->maxThreadsDim[i] = attr((enum cudaDeviceAttr)(cudaDevAttrMaxBlockDimX + i), d);
		p->maxGridSize[i] = attr((enum cudaDeviceAttr)(cudaDevAttrMaxGridDimX + i), d);
	}
	p->totalConstMem = (size_t)attr(cudaDevAttrTotalConstantMemory, d);
	p->major = attr(cudaDevAttrComputeCapabilityMajor, d);
	p->minor = attr(cudaDevAttrComputeCapabilityMinor, d);
	p->textureAlignment = (size_t)attr(cudaDevAttrTextureAlignment, d);
	p->texturePitchAlignment = (size_t)attr(cudaDevAttrTexturePitchAlignment, d);
	p->surfaceAlignment = (size_t)attr(cudaDevAttrSurfaceAlignment, d);
	p->multiProcessorCount = attr(cudaDevAttrMultiProcessorCount, d);
	p->maxThreadsPerMultiProcessor = attr(cudaDevAttrMaxThreadsPerMultiProcessor, d);
	p->sharedMemPerMultiprocessor =
		(size_t)attr(cudaDevAttrMaxSharedMemoryPerMultiprocessor, d);
	p->regsPerMultiprocessor = attr(cudaDevAttrMaxRegistersPerMultiprocessor, d);
	p->sharedMemPerBlockOptin = (size_t)attr(cudaDevAttrMaxSharedMemoryPerBlockOptin, d);
	p->maxBlocksPerMultiProcessor = attr(cudaDevAttrMaxBlocksPerMultiprocessor, d);
	p->reservedSharedMemPerBlock = (size_t)attr(cudaDevAttrReservedSharedMemoryPerBlock, d);
	p->l2CacheSize = attr(cudaDevAttrL2CacheSize, d);
	p->persistingL2CacheMaxSize = attr(cudaDevAttrMaxPersistingL2CacheSize, d);
	p->accessPolicyMaxWindowSize = attr(cudaDevAttrMaxAccessPolicyWindowSize, d);
	p->memoryBusWidth = attr(cudaDevAttrGlobalMemoryBusWidth, d);
}

static void fill_textures(struct cudaDeviceProp *p, unsigned d)
{
	p->maxTexture1D = attr(cudaDevAttrMaxTexture1DWidth, d);
	p->maxTexture2D[0] = attr(cudaDevAttrMaxTexture2DWidth, d);
	p->maxTexture2D[1] = attr(cudaDevAttrMaxTexture2DHeight, d);
	p->maxTexture2DLinear[0] = attr(cudaDevAttrMaxTexture2DLinearWidth, d);
	p->maxTexture2DLinear[1] = attr(cudaDevAttrMaxTexture2DLinearHeight, d);
	p->maxTexture2DLinear[2] = attr(cudaDevAttrMaxTexture2DLinearPitch, d);
	p->maxTexture2DGather[0] = attr(cudaDevAttrMaxTexture2DGatherWidth, d);
	p->maxTexture2DGather[1] = attr(cudaDevAttrMaxTexture2DGatherHeight, d);
	p->maxTexture3D[0] = attr(cudaDevAttrMaxTexture3DWidth, d);
	p->maxTexture3D[1] = attr(cudaDevAttrMaxTexture3DHeight, d);
	p->maxTexture3D[2] = attr(cudaDevAttrMaxTexture3DDepth, d);
	p->maxTexture1DLayered[0] = attr(cudaDevAttrMaxTexture1DLayeredWidth, d);
	p->maxTexture1DLayered[1] = attr(cudaDevAttrMaxTexture1DLayeredLayers, d);
	p->maxTexture2DLayered[0] = attr(cudaDevAttrMaxTexture2DLayeredWidth, d);
	p->maxTexture2DLayered[1] = attr(cudaDevAttrMaxTexture2DLayeredHeight, d);
	p->maxTexture2DLayered[2] = attr(cudaDevAttrMaxTexture2DLayeredLayers, d);
	p->maxSurface1D = attr(cudaDevAttrMaxSurface1DWidth, d);
	p->maxSurface2D[0] = attr(cudaDevAttrMaxSurface2DWidth, d);
	p->maxSurface2D[1] = attr(cudaDevAttrMaxSurface2DHeight, d);
	p->maxSurface3D[0] = attr(cudaDevAttrMaxSurface3DWidth, d);
	p->maxSurface3D[1] = attr(cudaDevAttrMaxSurface3DHeight, d);
	p->maxSurface3D[2] = attr(cudaDevAttrMaxSurface3DDepth, d);
	p->maxSurface1DLayered[0] = attr(cudaDevAttrMaxSurface1DLayeredWidth, d);
	p->maxSurface1DLayered[1] = attr(cudaDevAttrMaxSurface1DLayeredLayers, d);
	p->maxSurface2DLayered[0] = attr(cudaDevAttrMaxSurface2DLayeredWidth, d);
	p->maxSurface2DLayered[1] = attr(cudaDevAttrMaxSurface2DLayeredHeight, d);
	p->maxSurface2DLayered[2] = attr(cudaDevAttrMaxSurface2DLayeredLayers, d);
}

static void fill_abilities(struct cudaDeviceProp *p, unsigned d)
{
	p->integrated = attr(cudaDevAttrIntegrated, d);
	p->canMapHostMemory = attr(cudaDevAttrCanMapHostMemory, d);
	p->concurrentKernels = attr(cudaDevAttrConcurrentKernels, d);
	p->pciBusID = attr(cudaDevAttrPciBusId, d);
	p->pciDeviceID = attr(cudaDevAttrPciDeviceId, d);
	p->pciDomainID = attr(cudaDevAttrPciDomainId, d);
	p->asyncEngineCount = attr(cudaDevAttrAsyncEngineCount, d);
	p->unifiedAddressing = attr(cudaDevAttrUnifiedAddressing, d);
	p->streamPrioritiesSupported = attr(cudaDevAttrStreamPrioritiesSupported, d);
	p->globalL1CacheSupported = attr(cudaDevAttrGlobalL1CacheSupported, d);
	p->localL1CacheSupported = attr(cudaDevAttrLocalL1CacheSupported, d);
	p->managedMemory = attr(cudaDevAttrManagedMemory, d);
	p->multiGpuBoardGroupID = attr(cudaDevAttrMultiGpuBoardGroupID, d);
	p->concurrentManagedAccess = attr(cudaDevAttrConcurrentManagedAccess, d);
	p->computePreemptionSupported = attr(cudaDevAttrComputePreemptionSupported, d);
	p->canUseHostPointerForRegisteredMem =
		attr(cudaDevAttrCanUseHostPointerForRegisteredMem, d);
	p->cooperativeLaunch = attr(cudaDevAttrCooperativeLaunch, d);
	p->hostRegisterSupported = attr(cudaDevAttrHostRegisterSupported, d);
	p->memoryPoolsSupported = attr(cudaDevAttrMemoryPoolsSupported, d);
	p->clusterLaunch = attr(cudaDevAttrClusterLaunch, d);
	p->deviceNumaId = attr(cudaDevAttrNumaId, d);
	p->hostNumaId = attr(cudaDevAttrHostNumaId, d);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	cudaError_t e = rt_enter_any();

	if (e != cudaSuccess)
		return rt_fail(e);
	if (!prop)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(device))
		return rt_fail(cudaErrorInvalidDevice);

	uint64_t used, total;
	unsigned d = (unsigned)device;
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "%s", DEVICE_NAME);
	memcpy(prop->uuid.bytes, "collider-cpu", 12);
	prop->uuid.bytes[15] = (char)d;
	cpu_mem_usage(rt.m, d, &used, &total);
	prop->totalGlobalMem = total;
	fill_limits(prop, d);
	fill_abilities(prop, d);
	fill_textures(prop, d);
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr a, int device)
{
	cudaError_t e = rt_enter_any();

	if (e != cudaSuccess)
		return rt_fail(e);
	if (!value)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(device))
		return rt_fail(cudaErrorInvalidDevice);
	return rt_fail(rt_device_attr(a, (unsigned)device, value) ? cudaSuccess
								  : cudaErrorInvalidValue);
}

/* The device that fits the properties best; all of ours are equal. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	cudaError_t e = rt_enter_any();

	if (e == cudaSuccess && (!device || !prop))
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		*device = 0;
	return rt_fail(e);
}

/* ---- the current device ------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t e = rt_enter_any();

	if (e == cudaSuccess && !count)
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		*count = (int)rt.ndevices;
	return rt_fail(e);
}

cudaError_t cudaSetDevice(int device)
{
	cudaError_t e = rt_enter_any();

	if (e != cudaSuccess)
		return rt_fail(e);
	if (!is_device(device))
		return rt_fail(cudaErrorInvalidDevice);
	rt_thread()->device = (unsigned)device;
	return rt_fail(rt_enter());
}

cudaError_t cudaGetDevice(int *device)
{
	cudaError_t e = rt_enter_any();

	if (e == cudaSuccess && !device)
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		*device = (int)rt_thread()->device;
	return rt_fail(e);
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	RT_ENTER();
	if (!is_device(device))
		return rt_fail(cudaErrorInvalidDevice);
	if (flags & cudaInitDeviceFlagsAreValid)
		rt.dev[device].flags = deviceFlags;
	return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
	RT_ENTER();
	if (len < 0 || (len && !device_arr))
		return rt_fail(cudaErrorInvalidValue);
	for (int i = 0; i < len; i++) {
		if (!is_device(device_arr[i]))
			return rt_fail(cudaErrorInvalidDevice);
	}
	return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	RT_ENTER();
	if (flags & ~(unsigned)cudaDeviceMask)
		return rt_fail(cudaErrorInvalidValue);
	rt.dev[rt_thread()->device].flags = flags;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	RT_ENTER();
	if (!flags)
		return rt_fail(cudaErrorInvalidValue);
	*flags = rt.dev[rt_thread()->device].flags | cudaDeviceMapHost;
	return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
	RT_ENTER_UNSAFE();
	unsigned d = rt_thread()->device;

	cpu_wait_idle(rt.m, d);
	rt_collider_synced(d);
	return rt_fail(rt_device_error(d));
}

cudaError_t cudaDeviceReset(void)
{
	cudaError_t e = rt_enter_any();

	if (e != cudaSuccess)
		return rt_fail(e);
	unsigned d = rt_thread()->device;

	cpu_wait_idle(rt.m, d);
	rt_collider_synced(d);
	(void)rt_device_error(d); /* a fault that no call has returned is reported nevertheless */
	rt_streams_reset(d);
	rt_modules_reset(d);
	rt_memory_reset(d);
	cpu_heap_reset(rt.m, d);
	rt_lock();
	limits_init(&rt.dev[d]);
	cpu_fault_clear(rt.m, d);
	rt.dev[d].is_fault_told = false;
	for (unsigned p = 0; p < rt.ndevices; p++) {
		if (rt.dev[d].peer[p])
			cpu_mem_set_peer(rt.m, d, p, false);
		rt.dev[d].peer[p] = false;
	}
	rt_unlock();
	rt_thread()->last = cudaSuccess;
	return cudaSuccess;
}

/* ---- limits and configuration -------------------------------------------------------- */

/* NULL: not a limit that can be set. */
static size_t *limit_of(struct rt_device *d, enum cudaLimit limit)
{
	switch (limit) {
	case cudaLimitStackSize:
		return &d->stack_limit;
	case cudaLimitMallocHeapSize:
		return &d->heap_limit;
	case cudaLimitPrintfFifoSize:
		return &d->fifo_limit;
	case cudaLimitPersistingL2CacheSize:
		return &d->l2_limit;
	case cudaLimitMaxL2FetchGranularity:
		return &d->fetch_limit;
	default:
		return NULL;
	}
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	RT_ENTER();
	size_t *v = limit_of(&rt.dev[rt_thread()->device], limit);

	if (!v)
		return rt_fail(cudaErrorInvalidValue);
	/* As the toolkit documents: not after the launch of a kernel that uses malloc or free. */
	if (limit == cudaLimitMallocHeapSize &&
	    !cpu_heap_set_limit(rt.m, rt_thread()->device, value))
		return rt_fail(cudaErrorInvalidValue);
	*v = value;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	RT_ENTER();
	const size_t *v = limit_of(&rt.dev[rt_thread()->device], limit);

	if (!pValue)
		return rt_fail(cudaErrorInvalidValue);
	if (!v)
		return rt_fail(cudaErrorInvalidValue);
	*pValue = *v;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	RT_ENTER();
	if (!pCacheConfig)
		return rt_fail(cudaErrorInvalidValue);
	*pCacheConfig = cudaFuncCachePreferNone;
	return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	RT_ENTER();
	(void)cacheConfig; /* a hint */
	return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
	RT_ENTER();
	if (!pConfig)
		return rt_fail(cudaErrorInvalidValue);
	*pConfig = cudaSharedMemBankSizeFourByte;
	return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	RT_ENTER();
	(void)config; /* a hint */
	return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	RT_ENTER();
	return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	RT_ENTER();
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = RT_PRIORITY_MAX;
	return cudaSuccess;
}

/* ---- PCI, versions, memory size ---------------------------------------------------------- */

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
	RT_ENTER();
	if (!pciBusId || len < 13)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(device))
		return rt_fail(cudaErrorInvalidDevice);
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device + 1);
	return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	unsigned a, b, c;

	RT_ENTER();
	if (!device || !pciBusId)
		return rt_fail(cudaErrorInvalidValue);
	/* domain:bus:device or bus:device, each with an optional .function */
	int n = sscanf(pciBusId, "%x:%x:%x", &a, &b, &c);
	unsigned domain = n == 3 ? a : 0, bus = n == 3 ? b : a, dev = n == 3 ? c : b;
	if (n < 2 || domain || dev || bus < 1 || bus > rt.ndevices)
		return rt_fail(cudaErrorInvalidDevice);
	*device = (int)bus - 1;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return rt_fail(cudaErrorInvalidValue);
	*driverVersion = VERSION;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return rt_fail(cudaErrorInvalidValue);
	*runtimeVersion = VERSION;
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	uint64_t used, all;

	RT_ENTER();
	if (!free || !total)
		return rt_fail(cudaErrorInvalidValue);
	cpu_mem_usage(rt.m, rt_thread()->device, &used, &all);
	*free = all - used;
	*total = all;
	return cudaSuccess;
}

/* ---- peers ---------------------------------------------------------------------------------- */

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	RT_ENTER();
	if (!canAccessPeer)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(device) || !is_device(peerDevice))
		return rt_fail(cudaErrorInvalidDevice);
	*canAccessPeer = device != peerDevice;
	return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	cudaError_t e = cudaSuccess;

	RT_ENTER();
	unsigned d = rt_thread()->device;
	if (flags)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(peerDevice) || (unsigned)peerDevice == d)
		return rt_fail(cudaErrorInvalidDevice);
	rt_lock();
	if (rt.dev[d].peer[peerDevice])
		e = cudaErrorPeerAccessAlreadyEnabled;
	rt.dev[d].peer[peerDevice] = true;
	rt_unlock();
	cpu_mem_set_peer(rt.m, d, (unsigned)peerDevice, true);
	return rt_fail(e);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
	cudaError_t e = cudaSuccess;

	RT_ENTER();
	unsigned d = rt_thread()->device;
	if (!is_device(peerDevice))
		return rt_fail(cudaErrorInvalidDevice);
	rt_lock();
	if (!rt.dev[d].peer[peerDevice])
		e = cudaErrorPeerAccessNotEnabled;
	rt.dev[d].peer[peerDevice] = false;
	rt_unlock();
	if (e == cudaSuccess)
		cpu_mem_set_peer(rt.m, d, (unsigned)peerDevice, false);
	return rt_fail(e);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr a, int srcDevice,
				      int dstDevice)
{
	RT_ENTER();
	if (!value)
		return rt_fail(cudaErrorInvalidValue);
	if (!is_device(srcDevice) || !is_device(dstDevice) || srcDevice == dstDevice)
		return rt_fail(cudaErrorInvalidDevice);
	switch (a) {
	case cudaDevP2PAttrPerformanceRank:
		*value = 0;
		return cudaSuccess;
	case cudaDevP2PAttrAccessSupported:
	case cudaDevP2PAttrNativeAtomicSupported:
		*value = 1;
		return cudaSuccess;
	case cudaDevP2PAttrCudaArrayAccessSupported:
		*value = 0;
		return cudaSuccess;
	default:
		*value = 0;
		return rt_fail((int)a == 5 ? cudaSuccess : cudaErrorInvalidValue);
	}
}
