/*
 * launch.c - kernel launches: their checks, parameters, how they become work.
 *
 * A launch is checked here in the order in which CUDA does it (configuration,
 * function, cluster, shared memory, cooperative fit), so that a wrong one
 * returns CUDA's code and has no effect; what the machine refuses beyond that is an
 * out-of-resources error. Parameters are gathered into one block by the offsets and sizes of the
 * PTX declaration.
 *
 * Launch completion and programmatic events are set to the launch's
 * end, which is later than the earliest moment CUDA allows.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/state/collider.h"
#include "cudart/state/gap.h"
#include "cudart/state/link.h"
#include "race/file/shm_write.h"

#define PARAM_MAX 32764u

/* What ends and what leads an entry of `extra`: CU_LAUNCH_PARAM_... of the driver. */
#define EXTRA_END     ((void *)0)
#define EXTRA_POINTER ((void *)1)
#define EXTRA_SIZE    ((void *)2)

/* ---- checks -------------------------------------------------------------------------------- */

/* The codes are those of CUDA 13.0 on an H100; before, it was cudaErrorInvalidConfiguration. */
static cudaError_t check_dims(dim3 grid, dim3 block)
{
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
		return cudaErrorInvalidValue;
	if (grid.x > INT_MAX || grid.y > 65535 || grid.z > 65535)
		return cudaErrorInvalidValue;
	if (block.x > 1024 || block.y > 1024 || block.z > 64 ||
	    (uint64_t)block.x * block.y * block.z > 1024)
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

/*
 * The kernel's own limits: __launch_bounds__ and .reqntid. cudaErrorLaunchOutOfResources, for too
 * many registers, can't happen: they are an estimate, which fits the bounds.
 */
static cudaError_t check_block(const struct cpu_kernel_info *info, dim3 block)
{
	const uint32_t b[3] = {block.x, block.y, block.z};
	uint32_t threads = block.x * block.y * block.z;

	if (info->reqntid[0]) {
		for (int i = 0; i < 3; i++) {
			if (b[i] != (info->reqntid[i] ? info->reqntid[i] : 1))
				return cudaErrorInvalidValue;
		}
	}
	return threads > rt_kern_max_threads(info) ? cudaErrorInvalidValue : cudaSuccess;
}

/* Determines the cluster of a launch, in `shape`. Images' lock held. */
static cudaError_t check_cluster(const struct rt_kern *k, unsigned device,
				 const struct cpu_kernel_info *info, dim3 grid,
				 struct rt_shape *shape)
{
	const struct rt_kern_attr *a = &k->attr[device];
	const uint32_t *required = info->cluster[0] ? info->cluster : a->cluster;
	const uint32_t g[3] = {grid.x, grid.y, grid.z};
	uint32_t *c = shape->cluster, size = 1;

	if (!c[0] && !c[1] && !c[2]) {
		if (!required[0])
			return a->must_cluster ? cudaErrorInvalidClusterSize : cudaSuccess;
		memcpy(c, required, 3 * sizeof(*c));
	} else if (required[0] && memcmp(c, required, 3 * sizeof(*c)) != 0) {
		return cudaErrorInvalidClusterSize;
	}
	for (int i = 0; i < 3; i++) {
		if (!c[i])
			return cudaErrorInvalidValue;
		if (c[i] > CPU_CLUSTER_MAX)
			return cudaErrorInvalidClusterSize;
		size *= c[i];
	}
	/* 8 blocks are what every device can do; more must be allowed by the program. */
	if (size > CPU_CLUSTER_MAX || (size > 8 && !a->may_nonportable))
		return cudaErrorInvalidClusterSize;
	for (int i = 0; i < 3; i++) {
		if (g[i] % c[i])
			return cudaErrorInvalidClusterSize;
	}
	return cudaSuccess;
}

static cudaError_t check_cooperative(const struct cpu_kernel *kernel, dim3 grid, uint32_t threads,
				     size_t shared)
{
	uint64_t sms = rt.options.sms ? rt.options.sms : CPU_SMS;
	uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;

	return blocks > sms * cpu_kernel_occupancy(kernel, threads, shared)
		       ? cudaErrorCooperativeLaunchTooLarge
		       : cudaSuccess;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static cudaError_t gather(const struct cpu_kernel *kernel, void **args, uint8_t *block,
			  uint32_t bytes)
{
	uint32_t offset, n;

	for (uint32_t i = 0; cpu_kernel_param(kernel, i, &offset, &n); i++) {
		if (!args || !args[i] || offset > bytes || n > bytes - offset)
			return cudaErrorInvalidValue;
		memcpy(block + offset, args[i], n);
	}
	return cudaSuccess;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER p, CU_LAUNCH_PARAM_BUFFER_SIZE &n, CU_LAUNCH_PARAM_END. */
static cudaError_t gather_extra(void **extra, uint8_t *block, uint32_t bytes)
{
	const void *p = NULL;
	size_t n = 0;

	for (; *extra != EXTRA_END; extra += 2) {
		if (*extra == EXTRA_POINTER)
			p = extra[1];
		else if (*extra == EXTRA_SIZE)
			n = extra[1] ? *(size_t *)extra[1] : 0;
		else
			return cudaErrorInvalidValue;
	}
	if (bytes && (!p || n > PARAM_MAX))
		return cudaErrorInvalidValue;
	/* A buffer may end after the last parameter, without the block's padding. */
	if (bytes)
		memcpy(block, p, n < bytes ? n : bytes);
	return cudaSuccess;
}

static cudaError_t make_params(struct cpu_kernel *kernel, void **args, void **extra,
			       struct rt_work *out)
{
	uint32_t bytes = cpu_kernel_param_bytes(kernel);
	uint8_t *block = calloc(1, bytes ? bytes : 1);
	cudaError_t e;

	if (!block)
		return cudaErrorMemoryAllocation;
	e = extra && !args ? gather_extra(extra, block, bytes) : gather(kernel, args, block, bytes);
	if (e != cudaSuccess) {
		free(block);
		return e;
	}
	out->cpu.launch.params = block;
	out->param_bytes = bytes;
	return cudaSuccess;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Everything but the parameters. Images' lock held. */
static cudaError_t check(struct rt_kern *k, const struct rt_launch *l, struct rt_shape *shape,
			 struct cpu_kernel **kernel)
{
	struct cpu_kernel_info info;
	dim3 block = l->block;
	cudaError_t e = rt_kern_load(k, l->device, kernel);

	if (e == cudaSuccess)
		e = check_dims(l->grid, block);
	if (e != cudaSuccess)
		return e;
	if (rt_kern_is_refused(k, *kernel))
		return cudaErrorNotSupported;
	cpu_kernel_get_info(*kernel, &info);
	e = check_block(&info, block);
	if (e == cudaSuccess && l->shared > rt_kern_dynamic_limit(k, l->device, &info))
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		e = check_cluster(k, l->device, &info, l->grid, shape);
	if (e == cudaSuccess && shape->is_cooperative)
		e = check_cooperative(*kernel, l->grid, block.x * block.y * block.z, l->shared);
	return e;
}

static cudaError_t prepare(const struct rt_launch *l, struct rt_shape *shape, struct rt_work *out)
{
	struct cpu_kernel *kernel = NULL;
	cudaError_t e;

	memset(out, 0, sizeof(*out));
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(l->func);
	e = k ? check(k, l, shape, &kernel)
	      : cudaErrorInvalidResourceHandle; /* as for an invalid handle */
	if (e == cudaSuccess)
		rt_collider_kernel(k);
	else
		rt_gap_launch(k, e);
	rt_images_unlock();
	if (e != cudaSuccess)
		return e;
	out->func = k->host ? k->host : l->func; /* stubs launch by handle */
	out->kern = k;
	out->cpu.kind = CPU_WORK_KERNEL;
	out->cpu.origin = rt_origin();
	out->cpu.launch = (struct cpu_launch){
		.kernel = kernel,
		.grid = {l->grid.x, l->grid.y, l->grid.z},
		.block = {l->block.x, l->block.y, l->block.z},
		.cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
		.shared_dyn = l->shared,
		.is_cooperative = shape->is_cooperative,
		.is_programmatic = shape->is_programmatic,
	};
	rt_images_lock();
	if (race_choice_concerns(k->name))
		out->cpu.launch.plain = rt_kern_plain(k, l->device);
	out->cpu.launch.tag = k;
	rt_collider_shuffle(k, l->device, &out->cpu.launch);
	rt_images_unlock();
	e = make_params(kernel, l->args, l->extra, out);
	if (e != cudaSuccess)
		rt_gap_launch(k, e);
	return e;
}

cudaError_t rt_launch_prepare(const struct rt_launch *l, struct rt_work *out)
{
	struct rt_shape shape = {.is_cooperative = false};

	return prepare(l, &shape, out);
}

cudaError_t rt_launch(struct rt_launch *l, cudaStream_t stream, struct rt_shape *shape,
		      bool is_per_thread)
{
	struct cpu_op *op = NULL;
	struct rt_work w;

	l->device = rt_stream_device(stream, is_per_thread);
	cudaError_t e = prepare(l, shape, &w);
	if (e != cudaSuccess)
		return e;
	rt_launches_record(&w);
	e = rt_stream_submit(stream, is_per_thread, &w, &op);
	if (e != cudaSuccess)
		rt_gap_launch(w.kern, e);
	free((void *)(uintptr_t)w.cpu.launch.params);
	if (e == cudaSuccess && op && shape->event)
		e = rt_event_set(shape->event, op);
	if (op)
		cpu_op_put(op);
	return e;
}
