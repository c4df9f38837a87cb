/*
 * device.c - devices: count, properties, attributes, limits, peers, reset.
 *
 * Each fact about the device is in state/attrs.def, once; cudaDeviceProp is filled from there.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/context.h"
#include "cudart/state/internal.h"

#define VERSION 13000

/* ---- properties ------------------------------------------------------------------ */

static int attr(enum cudaDeviceAttr a, unsigned device)
{
	int v = 0;

	rt_device_attr((int)a, device, &v);
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
	enum rt_error e = rt_enter_any();

	if (e != RT_OK)
		return rt_fail(e);
	if (!prop)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);

	uint64_t used, total;
	unsigned d = (unsigned)device;
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "%s", RT_DEVICE_NAME);
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
	enum rt_error e = rt_enter_any();

	if (e != RT_OK)
		return rt_fail(e);
	if (!value)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	return rt_fail(rt_device_attr((int)a, (unsigned)device, value) ? RT_OK
								       : RT_ERROR_INVALID_VALUE);
}

/* The device that fits the properties best; all of ours are equal. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	enum rt_error e = rt_enter_any();

	if (e == RT_OK && (!device || !prop))
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		*device = 0;
	return rt_fail(e);
}

/* ---- the current device ------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count)
{
	enum rt_error e = rt_enter_any();

	if (e == RT_OK && !count)
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		*count = (int)rt.ndevices;
	return rt_fail(e);
}

cudaError_t cudaSetDevice(int device)
{
	enum rt_error e = rt_enter_any();

	if (e != RT_OK)
		return rt_fail(e);
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	rt_context_set(rt_context_primary((unsigned)device));
	rt_context_attach();
	return rt_fail(rt_enter());
}

cudaError_t cudaGetDevice(int *device)
{
	enum rt_error e = rt_enter_any();

	if (e == RT_OK && !device)
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		*device = (int)rt_thread()->device;
	return rt_fail(e);
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	RT_ENTER();
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	if (flags & cudaInitDeviceFlagsAreValid)
		rt.dev[device].flags = deviceFlags;
	return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
	RT_ENTER();
	if (len < 0 || (len && !device_arr))
		return rt_fail(RT_ERROR_INVALID_VALUE);
	for (int i = 0; i < len; i++) {
		if (!rt_is_device(device_arr[i]))
			return rt_fail(RT_ERROR_INVALID_DEVICE);
	}
	return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	RT_ENTER();
	if (flags & ~(unsigned)cudaDeviceMask)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	rt.dev[rt_thread()->device].flags = flags;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	RT_ENTER();
	if (!flags)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*flags = rt.dev[rt_thread()->device].flags | cudaDeviceMapHost;
	return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
	RT_RETURN(rt_device_synchronize());
}

cudaError_t cudaDeviceReset(void)
{
	enum rt_error e = rt_enter_any();

	if (e != RT_OK)
		return rt_fail(e);
	rt_context_reset(rt_thread()->device);
	rt_thread()->context = NULL; /* the next call has it again */
	rt_thread()->last = RT_OK;
	return cudaSuccess;
}

/* ---- limits and configuration -------------------------------------------------------- */

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	RT_RETURN(rt_device_set_limit(rt_thread()->device, (int)limit, value));
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	RT_ENTER();
	const size_t *v = rt_device_limit(rt_thread()->device, (int)limit);

	if (!pValue || !v)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*pValue = *v;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	RT_ENTER();
	if (!pCacheConfig)
		return rt_fail(RT_ERROR_INVALID_VALUE);
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
		return rt_fail(RT_ERROR_INVALID_VALUE);
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
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device + 1);
	return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	unsigned a, b, c;

	RT_ENTER();
	if (!device || !pciBusId)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	/* domain:bus:device or bus:device, each with an optional .function */
	int n = sscanf(pciBusId, "%x:%x:%x", &a, &b, &c);
	unsigned domain = n == 3 ? a : 0, bus = n == 3 ? b : a, dev = n == 3 ? c : b;
	if (n < 2 || domain || dev || bus < 1 || bus > rt.ndevices)
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	*device = (int)bus - 1;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*driverVersion = VERSION;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*runtimeVersion = VERSION;
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	uint64_t used, all;

	RT_ENTER();
	if (!free || !total)
		return rt_fail(RT_ERROR_INVALID_VALUE);
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
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(device) || !rt_is_device(peerDevice))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	*canAccessPeer = device != peerDevice;
	return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	RT_RETURN(flags ? RT_ERROR_INVALID_VALUE : rt_peer_set(peerDevice, true));
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
	RT_RETURN(rt_peer_set(peerDevice, false));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr a, int srcDevice,
				      int dstDevice)
{
	RT_ENTER();
	if (!value)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(srcDevice) || !rt_is_device(dstDevice) || srcDevice == dstDevice)
		return rt_fail(RT_ERROR_INVALID_DEVICE);
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
		return rt_fail((int)a == 5 ? RT_OK : RT_ERROR_INVALID_VALUE);
	}
}
