/*
 * device.c - devices, and the texts of errors.
 */
#include <stdio.h>
#include <string.h>

#include "cudrv/drv.h"

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
	DRV_ENTER_ANY();
	if (!count)
		return drv_bad();
	*count = (int)rt.ndevices;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
	DRV_ENTER_ANY();
	if (!device)
		return drv_bad();
	if (!rt_is_device(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

/* Begins a question about a device whose answer goes to `out`. */
#define DEVICE(dev, out)                                                                           \
	DRV_ENTER_ANY();                                                                           \
	if (!(out))                                                                                \
		return drv_bad();                                                                  \
	if (!rt_is_device(dev))                                                                    \
	return CUDA_ERROR_INVALID_DEVICE

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
	DEVICE(dev, name && len > 0);
	snprintf(name, (size_t)len, "%s", RT_DEVICE_NAME);
	return CUDA_SUCCESS;
}

static CUresult uuid(CUuuid *out, CUdevice dev)
{
	DEVICE(dev, out);
	memset(out, 0, sizeof(*out));
	memcpy(out->bytes, "collider-cpu", 12);
	out->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

#undef cuDeviceGetUuid
CUresult CUDAAPI cuDeviceGetUuid(CUuuid *out, CUdevice dev);

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *out, CUdevice dev)
{
	return uuid(out, dev);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *out, CUdevice dev)
{
	return uuid(out, dev);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
	uint64_t used, total;

	DEVICE(dev, bytes);
	cpu_mem_usage(rt.m, (unsigned)dev, &used, &total);
	*bytes = total;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attr, CUdevice dev)
{
	DEVICE(dev, value);
	return rt_device_attr((int)attr, (unsigned)dev, value) ? CUDA_SUCCESS : drv_bad();
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	DEVICE(dev, major && minor);
	*major = (int)CPU_SM_VERSION / 10;
	*minor = (int)CPU_SM_VERSION % 10;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	DEVICE(dev, prop);
	memset(prop, 0, sizeof(*prop));
#define GET(field, attr) rt_device_attr(CU_DEVICE_ATTRIBUTE_##attr, (unsigned)dev, &prop->field)
	GET(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
	for (int i = 0; i < 3; i++) {
		rt_device_attr(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i, (unsigned)dev,
			       &prop->maxThreadsDim[i]);
		rt_device_attr(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i, (unsigned)dev,
			       &prop->maxGridSize[i]);
	}
	GET(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
	GET(totalConstantMemory, TOTAL_CONSTANT_MEMORY);
	GET(SIMDWidth, WARP_SIZE);
	GET(memPitch, MAX_PITCH);
	GET(regsPerBlock, MAX_REGISTERS_PER_BLOCK);
	GET(clockRate, CLOCK_RATE);
	GET(textureAlign, TEXTURE_ALIGNMENT);
#undef GET
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	DEVICE(dev, id && len >= 13);
	snprintf(id, (size_t)len, "0000:%02X:00.0", (unsigned)dev + 1);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned a, b, c;

	DRV_ENTER_ANY();
	if (!dev || !id)
		return drv_bad();
	int n = sscanf(id, "%x:%x:%x", &a, &b, &c);
	unsigned domain = n == 3 ? a : 0, bus = n == 3 ? b : a, number = n == 3 ? c : b;
	if (n < 2 || domain || number || bus < 1 || bus > rt.ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = (int)bus - 1;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	DEVICE(dev, can);
	if (!rt_is_device(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = dev != peer;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attr, CUdevice src,
					 CUdevice dst)
{
	DEVICE(src, value);
	if (!rt_is_device(dst) || src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attr == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
		 attr == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
	return CUDA_SUCCESS;
}

/* ---- errors --------------------------------------------------------------------------- */

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
	const struct rt_error_text *t = rt_error_text((int)error);

	if (!text)
		return drv_bad();
	*text = t && t->driver ? t->text : NULL;
	return *text ? CUDA_SUCCESS : drv_bad();
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
	const struct rt_error_text *t = rt_error_text((int)error);

	if (!name)
		return drv_bad();
	*name = t ? t->driver : NULL;
	return *name ? CUDA_SUCCESS : drv_bad();
}

/* ---- profiling: there is nothing to profile, the machine's clock is not a GPU's ------- */

CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

CUresult CUDAAPI cuProfilerStart(void)
{
	DRV_RETURN(RT_OK);
}

CUresult CUDAAPI cuProfilerStop(void)
{
	DRV_RETURN(RT_OK);
}
