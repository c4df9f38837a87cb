/*
 * tensor.c - tensor maps: 128 bytes in the machine's own format, which mean nothing to a GPU.
 *
 * The library of the runtime exports these functions, too: programs of the runtime link libcuda for
 * them only.
 */
#include <string.h>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "cudrv/drv.h"
#include "race/file/maps.h"

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

static void set_modes(struct cpu_tensormap_desc *d, CUtensorMapDataType type,
		      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
		      CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
	d->type = (uint32_t)type;
	d->interleave = (uint32_t)interleave;
	d->swizzle = (uint32_t)swizzle;
	d->l2 = (uint32_t)l2;
	d->fill = (uint32_t)fill;
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
	set_modes(&d, tensorDataType, interleave, swizzle, l2Promotion, oobFill);
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
	set_modes(&d, tensorDataType, interleave, swizzle, l2Promotion, oobFill);
	d.is_im2col = true;
	for (uint32_t i = 0; i < tensorRank - 2; i++) {
		d.lower[i] = pixelBoxLowerCorner[i];
		d.upper[i] = pixelBoxUpperCorner[i];
	}
	d.channels = channelsPerPixel;
	d.pixels = pixelsPerColumn;
	return encode(&d, tensorMap);
}

CUresult CUDAAPI cuTensorMapEncodeIm2colWide(
	CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
	void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
	int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
	cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
	CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
	CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
	CUtensorMapFloatOOBfill oobFill)
{
	struct cpu_tensormap_desc d;

	if (tensorRank < 3 ||
	    !describe(&d, tensorRank, globalAddress, globalDim, globalStrides, elementStrides))
		return CUDA_ERROR_INVALID_VALUE;
	set_modes(&d, tensorDataType, interleave, swizzle, l2Promotion, oobFill);
	d.is_im2col = true;
	d.wide = (uint32_t)mode + 1;
	d.lower[0] = pixelBoxLowerCornerWidth;
	d.upper[0] = pixelBoxUpperCornerWidth;
	d.channels = channelsPerPixel;
	d.pixels = pixelsPerColumn;
	return encode(&d, tensorMap);
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
	const char *why =
		tensorMap ? cpu_tensormap_move(tensorMap, (uint64_t)(uintptr_t)globalAddress)
			  : "no map";

	if (!why)
		return CUDA_SUCCESS;
	rt_say("cuTensorMapReplaceAddress: %s", why);
	return CUDA_ERROR_INVALID_VALUE;
}
