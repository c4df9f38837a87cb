/* Driver functions through the runtime: those that are there, and some that are not. */
#include <cuda.h>

#include "expect.h"

int main()
{
	cudaDriverEntryPointQueryResult status;
	void *fn = nullptr;
	int *p;

	OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000, cudaEnableDefault,
					    &status));
	THAT(status == cudaDriverEntryPointSuccess && fn);
	OK(cudaMalloc(&p, 64 * 64 * sizeof(int)));
	CUtensorMap map;
	cuuint64_t dims[2] = {64, 64}, strides[1] = {64 * sizeof(int)};
	cuuint32_t box[2] = {16, 16}, one[2] = {1, 1};
	auto encode = (decltype(&cuTensorMapEncodeTiled))fn;
	THAT(encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, p, dims, strides, box, one,
		    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		    CU_TENSOR_MAP_L2_PROMOTION_NONE,
		    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
	box[0] = 300; /* at most 256 */
	THAT(encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, p, dims, strides, box, one,
		    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		    CU_TENSOR_MAP_L2_PROMOTION_NONE,
		    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_ERROR_INVALID_VALUE);

	OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 11000, cudaEnableDefault,
					    &status));
	THAT(status == cudaDriverEntryPointVersionNotSufficent && !fn);
	/* A GPU's driver has it; here it answers that it isn't supported. */
	OK(cudaGetDriverEntryPointByVersion("cuIpcGetMemHandle", &fn, 12000, cudaEnableDefault,
					    &status));
	THAT(status == cudaDriverEntryPointSuccess && fn);
	CUipcMemHandle handle;
	if (is_cpu_device())
		THAT(((decltype(&cuIpcGetMemHandle))fn)(&handle, 0) == CUDA_ERROR_NOT_SUPPORTED);
	OK(cudaGetDriverEntryPointByVersion("cuNoSuchName", &fn, 12000, cudaEnableDefault, &status));
	THAT(status == cudaDriverEntryPointSymbolNotFound && !fn);
	puts("ok");
}
