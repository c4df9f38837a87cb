/*
 * driver.c - the few driver functions that runtime programs use.
 *
 * cuTensorMapEncode* have no counterpart in the runtime, so programs get them
 * through cudaGetDriverEntryPoint or link libcuda for them; both find these.
 * A few others answer from the runtime's own state. All other driver functions are refused by name:
 * the entry point is reported as not found, as CUDA does. Tensor maps are 128 bytes in the
 * machine's own format and mean nothing to a GPU.
 */
#include <string.h>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "cudart/api/api.h"
#include "cudart/state/link.h"
#include "race/file/maps.h"

#define DRIVER_VERSION 13000

/* ---- tensor maps ----------------------------------------------------------------------------- */

static CUresult encode(struct cpu_tensormap_desc *d, CUtensorMap *map)
{
	const char *why = map ? cpu_tensormap_encode(d, map) : "no place for the map";

	if (!why)
		return CUDA_SUCCESS;
	rt_say("cuTensorMapEncode: %s", why);
	return CUDA_ERROR_INVALID_VALUE;
}

/* What tiled and im2col maps have in common. False: a needed array is missing. */
static bool describe(struct cpu_tensormap_desc *d, uint32_t rank, void *address,
		     const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *elements)
{
	memset(d, 0, sizeof(*d));
	if (rank < 1 || rank > 5 || !dims || !elements || (rank > 1 && !strides))
		return false;
	d->rank = rank;
	d->address = (uint64_t)(uintptr_t)address;
	for (uint32_t i = 0; i < rank; i++) {
		d->dims[i] = dims[i];
		d->element_strides[i] = elements[i];
		if (i + 1 < rank)
			d->strides[i] = strides[i];
	}
	return true;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(
	CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
	void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
	const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
	struct cpu_tensormap_desc d;

	if (!boxDim ||
	    !describe(&d, tensorRank, globalAddress, globalDim, globalStrides, elementStrides))
		return CUDA_ERROR_INVALID_VALUE;
	d.type = (uint32_t)tensorDataType;
	d.interleave = (uint32_t)interleave;
	d.swizzle = (uint32_t)swizzle;
	d.l2 = (uint32_t)l2Promotion;
	d.fill = (uint32_t)oobFill;
	memcpy(d.box, boxDim, tensorRank * sizeof(*boxDim));
	CUresult r = encode(&d, tensorMap);
	struct race_map_request q = {
		.address = d.address,
		.type = d.type,
		.rank = d.rank,
		.interleave = d.interleave,
		.swizzle = d.swizzle,
		.dims = d.dims,
		.strides = d.strides,
		.box = boxDim,
		.element_strides = elementStrides,
	};
	if (r == CUDA_SUCCESS)
		race_map_record(tensorMap, &q);
	return r;
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(
	CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
	void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
	const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
	cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
	struct cpu_tensormap_desc d;

	if (!pixelBoxLowerCorner || !pixelBoxUpperCorner || tensorRank < 3 ||
	    !describe(&d, tensorRank, globalAddress, globalDim, globalStrides, elementStrides))
		return CUDA_ERROR_INVALID_VALUE;
	d.type = (uint32_t)tensorDataType;
	d.interleave = (uint32_t)interleave;
	d.swizzle = (uint32_t)swizzle;
	d.l2 = (uint32_t)l2Promotion;
	d.fill = (uint32_t)oobFill;
	d.is_im2col = true;
	for (uint32_t i = 0; i < tensorRank - 2; i++) {
		d.lower[i] = pixelBoxLowerCorner[i];
		d.upper[i] = pixelBoxUpperCorner[i];
	}
	d.channels = channelsPerPixel;
	d.pixels = pixelsPerColumn;
	return encode(&d, tensorMap);
}

/* ---- the simple ones ------------------------------------------------------------------------- */

/* Numbers of errors and attributes are the same in both APIs. */
static CUresult result(cudaError_t e)
{
	return (CUresult)e;
}

static CUresult CUDAAPI drv_init(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : (CUresult)rt_enter_any();
}

static CUresult CUDAAPI drv_version(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI drv_device_count(int *count)
{
	return result(cudaGetDeviceCount(count));
}

static CUresult CUDAAPI drv_device_get(CUdevice *device, int ordinal)
{
	int count = 0;
	cudaError_t e = cudaGetDeviceCount(&count);

	if (e != cudaSuccess)
		return result(e);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (ordinal < 0 || ordinal >= count)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI drv_device_attribute(int *value, CUdevice_attribute attr, CUdevice device)
{
	return result(cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attr, device));
}

static CUresult CUDAAPI drv_error_string(CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = cudaGetErrorString((cudaError_t)error);
	return CUDA_SUCCESS;
}

/* The driver's names of common errors, which differ from the runtime's. */
static CUresult CUDAAPI drv_error_name(CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	switch (error) {
#define N(name)                                                                                    \
	case name:                                                                                 \
		*text = #name;                                                                     \
		return CUDA_SUCCESS
		N(CUDA_SUCCESS);
		N(CUDA_ERROR_INVALID_VALUE);
		N(CUDA_ERROR_OUT_OF_MEMORY);
		N(CUDA_ERROR_NOT_INITIALIZED);
		N(CUDA_ERROR_INVALID_DEVICE);
		N(CUDA_ERROR_NOT_FOUND);
		N(CUDA_ERROR_NOT_SUPPORTED);
		N(CUDA_ERROR_ILLEGAL_ADDRESS);
		N(CUDA_ERROR_LAUNCH_FAILED);
#undef N
	default:
		*text = cudaGetErrorName((cudaError_t)error);
		return CUDA_SUCCESS;
	}
}

static CUresult CUDAAPI drv_get_proc(const char *symbol, void **fn, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status);

struct entry {
	const char *name;
	void (*fn)(void);
	unsigned since; /* version of CUDA */
};

#define E(name, fn, since)                                                                         \
	{                                                                                          \
		name, (void (*)(void))fn, since                                                    \
	}
static const struct entry entries[] = {
	E("cuTensorMapEncodeTiled", cuTensorMapEncodeTiled, 12000),
	E("cuTensorMapEncodeIm2col", cuTensorMapEncodeIm2col, 12000),
	E("cuInit", drv_init, 2000),
	E("cuDriverGetVersion", drv_version, 2020),
	E("cuDeviceGetCount", drv_device_count, 2000),
	E("cuDeviceGet", drv_device_get, 2000),
	E("cuDeviceGetAttribute", drv_device_attribute, 2000),
	E("cuGetErrorString", drv_error_string, 6000),
	E("cuGetErrorName", drv_error_name, 6000),
	E("cuGetProcAddress", drv_get_proc, 12000),
};
#undef E

/* NULL: *status says why not. */
static void *find(const char *symbol, unsigned version,
		  enum cudaDriverEntryPointQueryResult *status)
{
	for (size_t i = 0; i < BASE_COUNTOF(entries); i++) {
		if (strcmp(entries[i].name, symbol) != 0)
			continue;
		*status = version < entries[i].since ? cudaDriverEntryPointVersionNotSufficent
						     : cudaDriverEntryPointSuccess;
		return version < entries[i].since ? NULL : (void *)(uintptr_t)entries[i].fn;
	}
	rt_refuse(symbol);
	*status = cudaDriverEntryPointSymbolNotFound;
	return NULL;
}

static CUresult CUDAAPI drv_get_proc(const char *symbol, void **fn, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status)
{
	enum cudaDriverEntryPointQueryResult r;

	(void)flags;
	if (!symbol || !fn || version < 0)
		return CUDA_ERROR_INVALID_VALUE;
	*fn = find(symbol, (unsigned)version, &r);
	if (status)
		*status = (CUdriverProcAddressQueryResult)r;
	return *fn || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static cudaError_t get_entry(const char *symbol, void **fn, unsigned version,
			     unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	enum cudaDriverEntryPointQueryResult r;

	RT_ENTER();
	if (!symbol || !*symbol || !fn || flags > cudaEnablePerThreadDefaultStream ||
	    version > DRIVER_VERSION + 999)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	*fn = find(symbol, version, &r);
	if (status)
		*status = r;
	return cudaSuccess;
}

RT_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn,
						unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *status);
RT_API cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
	const char *symbol, void **fn, unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status);
RT_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
					   unsigned long long flags,
					   enum cudaDriverEntryPointQueryResult *driverStatus);

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return get_entry(symbol, funcPtr, DRIVER_VERSION, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return get_entry(symbol, fn, DRIVER_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
					     unsigned int cudaVersion, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return get_entry(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **fn,
						  unsigned int version, unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *status)
{
	return get_entry(symbol, fn, version, flags, status);
}
