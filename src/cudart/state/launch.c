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

#include "cudart/report/collider.h"
#include "cudart/report/gap.h"
#include "cudart/state/link.h"
#include "race/file/shm_write.h"

#define PARAM_MAX 32764u

/* What ends and what leads an entry of `extra`: CU_LAUNCH_PARAM_... of the driver. */
#define EXTRA_END     ((void *)0)
#define EXTRA_POINTER ((void *)1)
#define EXTRA_SIZE    ((void *)2)

/* ---- checks -------------------------------------------------------------------------------- */

/* The codes are those of CUDA 13.0 on an H100; before, it was RT_ERROR_INVALID_CONFIGURATION. */
static enum rt_error check_dims(const uint32_t *grid, const uint32_t *block)
{
	for (int i = 0; i < 3; i++) {
		if (!grid[i] || !block[i])
			return RT_ERROR_INVALID_VALUE;
	}
	if (grid[0] > INT_MAX || grid[1] > 65535 || grid[2] > 65535)
		return RT_ERROR_INVALID_VALUE;
	if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 ||
	    (uint64_t)block[0] * block[1] * block[2] > 1024)
		return RT_ERROR_INVALID_VALUE;
	return RT_OK;
}

/*
 * The kernel's own limits: __launch_bounds__ and .reqntid. Too many registers for a block can't
 * happen: they are an estimate, which fits the bounds.
 */
static enum rt_error check_block(const struct cpu_kernel_info *info, const uint32_t *block)
{
	uint32_t threads = block[0] * block[1] * block[2];

	if (info->reqntid[0]) {
		for (int i = 0; i < 3; i++) {
			if (block[i] != (info->reqntid[i] ? info->reqntid[i] : 1))
				return RT_ERROR_INVALID_VALUE;
		}
	}
	return threads > rt_kern_max_threads(info) ? RT_ERROR_INVALID_VALUE : RT_OK;
}

/* Determines the cluster of a launch, in `shape`. Images' lock held. */
static enum rt_error check_cluster(const struct rt_kern *k, unsigned device,
				   const struct cpu_kernel_info *info, const uint32_t *grid,
				   struct rt_shape *shape)
{
	const struct rt_kern_attr *a = &k->attr[device];
	const uint32_t *required = info->cluster[0] ? info->cluster : a->cluster;
	uint32_t *c = shape->cluster, size = 1;

	if (!c[0] && !c[1] && !c[2]) {
		if (!required[0])
			return a->must_cluster ? RT_ERROR_INVALID_CLUSTER_SIZE : RT_OK;
		memcpy(c, required, 3 * sizeof(*c));
	} else if (required[0] && memcmp(c, required, 3 * sizeof(*c)) != 0) {
		return RT_ERROR_INVALID_CLUSTER_SIZE;
	}
	for (int i = 0; i < 3; i++) {
		if (!c[i])
			return RT_ERROR_INVALID_VALUE;
		if (c[i] > CPU_CLUSTER_MAX)
			return RT_ERROR_INVALID_CLUSTER_SIZE;
		size *= c[i];
	}
	/* 8 blocks are what every device can do; more must be allowed by the program. */
	if (size > CPU_CLUSTER_MAX || (size > 8 && !a->may_nonportable))
		return RT_ERROR_INVALID_CLUSTER_SIZE;
	for (int i = 0; i < 3; i++) {
		if (grid[i] % c[i])
			return RT_ERROR_INVALID_CLUSTER_SIZE;
	}
	return RT_OK;
}

static enum rt_error check_cooperative(const struct cpu_kernel *kernel, const uint32_t *grid,
				       uint32_t threads, size_t shared)
{
	uint64_t sms = rt.options.sms ? rt.options.sms : CPU_SMS;
	uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];

	return blocks > sms * cpu_kernel_occupancy(kernel, threads, shared)
		       ? RT_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
		       : RT_OK;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static enum rt_error gather(const struct cpu_kernel *kernel, void **args, uint8_t *block,
			    uint32_t bytes)
{
	uint32_t offset, n;

	for (uint32_t i = 0; cpu_kernel_param(kernel, i, &offset, &n); i++) {
		if (!args || !args[i] || offset > bytes || n > bytes - offset)
			return RT_ERROR_INVALID_VALUE;
		memcpy(block + offset, args[i], n);
	}
	return RT_OK;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER p, CU_LAUNCH_PARAM_BUFFER_SIZE &n, CU_LAUNCH_PARAM_END. */
static enum rt_error gather_extra(void **extra, uint8_t *block, uint32_t bytes)
{
	const void *p = NULL;
	size_t n = 0;

	for (; *extra != EXTRA_END; extra += 2) {
		if (*extra == EXTRA_POINTER)
			p = extra[1];
		else if (*extra == EXTRA_SIZE)
			n = extra[1] ? *(size_t *)extra[1] : 0;
		else
			return RT_ERROR_INVALID_VALUE;
	}
	if (bytes && (!p || n > PARAM_MAX))
		return RT_ERROR_INVALID_VALUE;
	/* A buffer may end after the last parameter, without the block's padding. */
	if (bytes)
		memcpy(block, p, n < bytes ? n : bytes);
	return RT_OK;
}

static enum rt_error make_params(struct cpu_kernel *kernel, void **args, void **extra,
				 struct rt_work *out)
{
	uint32_t bytes = cpu_kernel_param_bytes(kernel);
	uint8_t *block = calloc(1, bytes ? bytes : 1);
	enum rt_error e;

	if (!block)
		return RT_ERROR_MEMORY_ALLOCATION;
	e = extra && !args ? gather_extra(extra, block, bytes) : gather(kernel, args, block, bytes);
	if (e != RT_OK) {
		free(block);
		return e;
	}
	out->cpu.launch.params = block;
	out->param_bytes = bytes;
	return RT_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Everything but the parameters. Images' lock held. */
static enum rt_error check(struct rt_kern *k, const struct rt_launch *l, struct rt_shape *shape,
			   struct cpu_kernel **kernel)
{
	struct cpu_kernel_info info;
	const uint32_t *block = l->block;
	enum rt_error e = rt_kern_load(k, l->device, kernel);

	if (e == RT_OK)
		e = check_dims(l->grid, block);
	if (e != RT_OK)
		return e;
	if (rt_kern_is_refused(k, *kernel))
		return RT_ERROR_NOT_SUPPORTED;
	cpu_kernel_get_info(*kernel, &info);
	e = check_block(&info, block);
	if (e == RT_OK && l->shared > rt_kern_dynamic_limit(k, l->device, &info))
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		e = check_cluster(k, l->device, &info, l->grid, shape);
	if (e == RT_OK && shape->is_cooperative)
		e = check_cooperative(*kernel, l->grid, block[0] * block[1] * block[2], l->shared);
	return e;
}

static enum rt_error prepare(const struct rt_launch *l, struct rt_shape *shape, struct rt_work *out)
{
	struct cpu_kernel *kernel = NULL;
	enum rt_error e;

	memset(out, 0, sizeof(*out));
	uint32_t origin = rt_origin(); /* before the lock (race_script) */
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(l->func);
	e = k ? check(k, l, shape, &kernel)
	      : RT_ERROR_INVALID_RESOURCE_HANDLE; /* as for an invalid handle */
	if (e == RT_OK)
		rt_collider_kernel(k);
	else
		rt_gap_launch(k, e);
	rt_images_unlock();
	if (e != RT_OK)
		return e;
	out->func = k->host ? k->host : l->func; /* stubs launch by handle */
	out->kern = k;
	out->cpu.kind = CPU_WORK_KERNEL;
	out->cpu.origin = origin;
	out->cpu.launch = (struct cpu_launch){
		.kernel = kernel,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
		.shared_dyn = l->shared,
		.is_cooperative = shape->is_cooperative,
		.is_programmatic = shape->is_programmatic,
	};
	rt_images_lock();
	if (race_choice_concerns(k->name))
		out->cpu.launch.plain = rt_kern_plain(k, l->device);
	if (rt_history_asks_text(k))
		out->cpu.launch.text = rt_kern_plain(k, l->device);
	out->cpu.launch.tag = k;
	rt_collider_shuffle(k, l->device, &out->cpu.launch);
	rt_images_unlock();
	e = make_params(kernel, l->args, l->extra, out);
	if (e != RT_OK)
		rt_gap_launch(k, e);
	return e;
}

enum rt_error rt_launch_prepare(const struct rt_launch *l, struct rt_work *out)
{
	struct rt_shape shape = {.is_cooperative = false};

	return prepare(l, &shape, out);
}

enum rt_error rt_launch(struct rt_launch *l, rt_ref stream, struct rt_shape *shape,
			bool is_per_thread)
{
	struct cpu_op *op = NULL;
	struct rt_work w;

	l->device = rt_stream_device(stream, is_per_thread);
	enum rt_error e = prepare(l, shape, &w);
	if (e != RT_OK)
		return e;
	rt_launches_record(&w);
	rt_capsules_launch(&w);
	rt_proven_launch(&w);
	e = rt_stream_submit(stream, is_per_thread, &w, &op);
	if (e != RT_OK)
		rt_gap_launch(w.kern, e);
	free((void *)(uintptr_t)w.cpu.launch.params);
	if (e == RT_OK && op && shape->event)
		e = rt_event_set(shape->event, op);
	if (op)
		cpu_op_put(op);
	return e;
}
