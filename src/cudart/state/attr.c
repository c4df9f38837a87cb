/*
 * attr.c - attributes of kernels that a program may query and set; occupancy.
 *
 * Registers are an estimate (there is no register allocation); shared and
 * local memory are what the PTX declares. Occupancy is the machine's own, so
 * that a grid sized by it is one that a cooperative launch accepts.
 */
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

enum rt_error rt_query_begin(struct rt_query *q, rt_ref func)
{
	q->device = rt_thread()->device;
	rt_images_lock();
	q->k = rt_kern_find(func);
	/* What isn't a host function could be a handle: CUDA's code is that of an invalid one. */
	enum rt_error e =
		q->k ? rt_kern_load(q->k, q->device, &q->kernel) : RT_ERROR_INVALID_RESOURCE_HANDLE;
	if (e == RT_OK)
		cpu_kernel_get_info(q->kernel, &q->info);
	else
		rt_images_unlock();
	return e;
}

bool rt_query_attr(const struct rt_query *q, int attr, int *value)
{
	const struct rt_kern_attr *a = &q->k->attr[q->device];
	const uint32_t *cluster = q->info.cluster[0] ? q->info.cluster : a->cluster;
	const int values[] = {
		[RT_ATTR_THREADS] = (int)rt_kern_max_threads(&q->info),
		[RT_ATTR_SHARED] = (int)q->info.shared_static,
		[RT_ATTR_CONST] = (int)q->info.consts,
		[RT_ATTR_LOCAL] = (int)q->info.local,
		[RT_ATTR_REGISTERS] = (int)q->info.regs,
		[RT_ATTR_PTX] = (int)q->k->image->sm,
		[RT_ATTR_BINARY] = (int)CPU_SM_VERSION,
		[RT_ATTR_CACHE] = 0,
		[RT_ATTR_DYNAMIC] = (int)rt_kern_dynamic_limit(q->k, q->device, &q->info),
		[RT_ATTR_CARVEOUT] = a->carveout,
		[RT_ATTR_MUST_CLUSTER] = a->must_cluster || cluster[0],
		[RT_ATTR_CLUSTER_WIDTH] = (int)cluster[0],
		[RT_ATTR_CLUSTER_HEIGHT] = (int)cluster[1],
		[RT_ATTR_CLUSTER_DEPTH] = (int)cluster[2],
		[RT_ATTR_NON_PORTABLE] = a->may_nonportable,
		[RT_ATTR_POLICY] = a->policy,
	};

	if (attr < 0 || (size_t)attr >= BASE_COUNTOF(values))
		return false;
	*value = values[attr];
	return true;
}

enum rt_error rt_kern_set_attr(struct rt_kern_attr *a, const struct cpu_kernel_info *info, int attr,
			       int value)
{
	switch (attr) {
	case RT_ATTR_DYNAMIC:
		if (value < 0 || (uint64_t)value > below(CPU_SHARED_OPTIN, info->shared_static))
			return RT_ERROR_INVALID_VALUE;
		a->max_dynamic = value;
		return RT_OK;
	case RT_ATTR_CARVEOUT:
		if (value < -1 || value > 100)
			return RT_ERROR_INVALID_VALUE;
		a->carveout = value;
		return RT_OK;
	case RT_ATTR_MUST_CLUSTER:
		a->must_cluster = value != 0;
		return RT_OK;
	case RT_ATTR_CLUSTER_WIDTH:
	case RT_ATTR_CLUSTER_HEIGHT:
	case RT_ATTR_CLUSTER_DEPTH:
		if (info->cluster[0]) /* fixed at compile time */
			return RT_ERROR_NOT_PERMITTED;
		if (value < 1)
			return RT_ERROR_INVALID_VALUE;
		a->cluster[attr - RT_ATTR_CLUSTER_WIDTH] = (uint32_t)value;
		for (int i = 0; i < 3; i++)
			a->cluster[i] = a->cluster[i] ? a->cluster[i] : 1;
		return RT_OK;
	case RT_ATTR_NON_PORTABLE:
		a->may_nonportable = value != 0;
		return RT_OK;
	case RT_ATTR_POLICY:
		a->policy = value;
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

/* ---- occupancy ---------------------------------------------------------------------- */

/* As in CUDA's occupancy calculator, the limit of dynamic shared memory counts (0 blocks beyond
 * it), but __launch_bounds__ don't. */
uint32_t rt_query_blocks(const struct rt_query *q, uint64_t threads, size_t shared)
{
	if (threads > 1024 || shared > rt_kern_dynamic_limit(q->k, q->device, &q->info))
		return 0;
	return cpu_kernel_occupancy(q->kernel, (uint32_t)threads, shared);
}

uint64_t rt_query_dynamic(const struct rt_query *q, uint32_t blocks, uint64_t threads)
{
	uint64_t low = 0, high = rt_kern_dynamic_limit(q->k, q->device, &q->info);

	if (rt_query_blocks(q, threads, 0) < blocks)
		return UINT64_MAX;
	/* Occupancy falls with the size: the largest that still fits. */
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;
		if (rt_query_blocks(q, threads, mid) >= blocks)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

uint64_t rt_query_clusters(const struct rt_query *q, uint64_t threads, size_t shared, uint64_t size)
{
	uint64_t sms = rt.options.sms ? rt.options.sms : CPU_SMS;

	return threads && size ? sms * rt_query_blocks(q, threads, shared) / size : 0;
}

enum rt_error rt_query_active_clusters(const struct rt_query *q, uint64_t threads, size_t shared,
				       const uint32_t *cluster, int *out)
{
	const uint32_t *c = cluster[0] ? cluster : q->info.cluster;
	uint64_t size = c[0] ? (uint64_t)c[0] * c[1] * c[2] : 1;

	if (!size || size > CPU_CLUSTER_MAX || (size > 8 && !q->k->attr[q->device].may_nonportable))
		return RT_ERROR_INVALID_CLUSTER_SIZE;
	*out = (int)rt_query_clusters(q, threads, shared, size);
	return RT_OK;
}

int rt_query_cluster_size(const struct rt_query *q, uint64_t threads, size_t shared)
{
	uint64_t size = q->k->attr[q->device].may_nonportable ? CPU_CLUSTER_MAX : 8;

	while (size > 1 && !rt_query_clusters(q, threads, shared, size))
		size /= 2;
	return rt_query_clusters(q, threads, shared, size) ? (int)size : 0;
}
