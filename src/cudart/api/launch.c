/*
 * launch.c - entry points that launch kernels: <<<>>>, cudaLaunchKernel and its relatives.
 *
 * Attributes that only tune (priority, access window, carve-out, scheduling
 * policy, memory domains, preferred cluster size) are accepted and have no
 * effect.
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/report/gap.h"
#include "cudart/state/link.h"

#define CONFIG_DEPTH 64 /* arguments of a launch that are launches themselves */

struct config {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
};

static _Thread_local struct config configs[CONFIG_DEPTH];
static _Thread_local unsigned nconfigs;

enum rt_error rt_shape_read(const cudaLaunchAttribute *attrs, unsigned n, struct rt_shape *out)
{
	memset(out, 0, sizeof(*out));
	if (n && !attrs)
		return RT_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		const cudaLaunchAttributeValue *v = &attrs[i].val;
		switch ((int)attrs[i].id) {
		case cudaLaunchAttributeCooperative:
			out->is_cooperative = v->cooperative != 0;
			break;
		case cudaLaunchAttributeClusterDimension:
			out->cluster[0] = v->clusterDim.x;
			out->cluster[1] = v->clusterDim.y;
			out->cluster[2] = v->clusterDim.z;
			break;
		case cudaLaunchAttributeProgrammaticStreamSerialization:
			out->is_programmatic = v->programmaticStreamSerializationAllowed != 0;
			break;
		case cudaLaunchAttributeProgrammaticEvent:
			out->event = v->programmaticEvent.event;
			break;
		case cudaLaunchAttributeLaunchCompletionEvent:
			out->event = v->launchCompletionEvent.event;
			break;
		case cudaLaunchAttributeDeviceUpdatableKernelNode:
			if (v->deviceUpdatableKernelNode.deviceUpdatable)
				return rt_refuse("cudaLaunchAttributeDeviceUpdatableKernelNode");
			break;
		default:
			if ((int)attrs[i].id < 0 ||
			    attrs[i].id > cudaLaunchAttributeNvlinkUtilCentricScheduling)
				return RT_ERROR_INVALID_VALUE;
			break; /* tunes only */
		}
	}
	return RT_OK;
}

static struct rt_launch plain(const void *func, dim3 grid, dim3 block, void **args, size_t shared)
{
	return (struct rt_launch){.func = func,
				  .grid = RT_DIM(grid),
				  .block = RT_DIM(block),
				  .shared = shared,
				  .args = args};
}

static cudaError_t launch_plain(struct rt_launch l, cudaStream_t stream, bool is_per_thread)
{
	struct rt_shape shape = {.is_cooperative = false};

	RT_RETURN(rt_launch(&l, stream, &shape, is_per_thread));
}

static cudaError_t launch_cooperative(struct rt_launch l, cudaStream_t stream, bool is_per_thread)
{
	struct rt_shape shape = {.is_cooperative = true};

	RT_RETURN(rt_launch(&l, stream, &shape, is_per_thread));
}

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *func, void **args,
				 bool is_per_thread)
{
	struct rt_shape shape;

	if (!config)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_shape_read(config->attrs, config->numAttrs, &shape);
	if (e != RT_OK) {
		rt_images_lock();
		rt_gap_launch(rt_kern_find(func), e);
		rt_images_unlock();
		return rt_fail(e);
	}
	struct rt_launch l =
		plain(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes);
	RT_RETURN(rt_launch(&l, config->stream, &shape, is_per_thread));
}

/* ---- entry points ---------------------------------------------------------------------------- */

/* Declared by nvcc's own headers, for generated code only. */
RT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					    struct CUstream_st *stream);
RT_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
					      void *stream);
RT_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				      size_t shared, cudaStream_t stream);
RT_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
					   size_t shared, cudaStream_t stream);
RT_API cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
					 size_t shared, cudaStream_t stream);
RT_API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
					    void **args);
RT_API cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 grid, dim3 block,
						    void **args, size_t shared,
						    cudaStream_t stream);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
				     struct CUstream_st *stream)
{
	if (nconfigs == CONFIG_DEPTH) {
		rt_fail(RT_ERROR_LAUNCH_FAILURE);
		return 1;
	}
	configs[nconfigs++] = (struct config){grid, block, shared, stream};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!nconfigs)
		return rt_fail(RT_ERROR_MISSING_CONFIGURATION);
	const struct config *c = &configs[--nconfigs];
	if (grid)
		*grid = c->grid;
	if (block)
		*block = c->block;
	if (shared)
		*shared = c->shared;
	if (stream)
		*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared, cudaStream_t stream)
{
	return launch_plain(plain(kernel, grid, block, args, shared), stream, false);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t shared, cudaStream_t stream)
{
	return launch_plain(plain(kernel, grid, block, args, shared), stream, true);
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			     size_t sharedMem, cudaStream_t stream)
{
	return launch_plain(plain(func, gridDim, blockDim, args, sharedMem), stream, false);
}

cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t stream)
{
	return launch_plain(plain(func, grid, block, args, shared), stream, true);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
					size_t sharedMem, cudaStream_t stream)
{
	return launch_cooperative(plain(func, gridDim, blockDim, args, sharedMem), stream, false);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
					     size_t shared, cudaStream_t stream)
{
	return launch_cooperative(plain(func, grid, block, args, shared), stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	return launch_config(config, func, args, false);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args)
{
	return launch_config(config, func, args, true);
}
