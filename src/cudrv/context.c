/*
 * context.c - starting, versions, contexts and the calling thread's stack of them.
 *
 * The current context is the thread's (cudart/state/context.h), shared with the runtime; those
 * below it are kept here.
 */
#include "cudart/state/context.h"
#include "cudrv/drv.h"

static _Thread_local struct {
	struct rt_context **v;
	size_t n, cap;
} below;

enum rt_error drv_enter_any(void)
{
	if (!atomic_load(&rt.is_driver_ready))
		return RT_ERROR_INITIALIZATION_ERROR;
	return rt_enter_any();
}

enum rt_error drv_enter(void)
{
	enum rt_error e = drv_enter_any();
	const struct rt_context *c = rt_thread()->context;

	if (e != RT_OK)
		return e;
	if (!c)
		return RT_ERROR_DEVICE_UNINITIALIZED; /* CUDA_ERROR_INVALID_CONTEXT */
	if (!c->refs && !c->is_primary)
		return RT_ERROR_CONTEXT_IS_DESTROYED;
	return rt_device_error(c->device);
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	if (flags)
		return drv_bad();
	enum rt_error e = rt_enter_any();
	if (e == RT_OK)
		atomic_store(&rt.is_driver_ready, true);
	return (CUresult)e;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	if (!version)
		return drv_bad();
	*version = DRV_VERSION;
	return CUDA_SUCCESS;
}

/* ---- primary contexts ----------------------------------------------------------------- */

/* The device's primary context, or NULL and *e. */
static struct rt_context *primary(CUdevice dev, CUresult *e)
{
	*e = (CUresult)drv_enter_any();
	if (*e == CUDA_SUCCESS && !rt_is_device(dev))
		*e = CUDA_ERROR_INVALID_DEVICE;
	return *e == CUDA_SUCCESS ? rt_context_primary((unsigned)dev) : NULL;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	CUresult e;
	struct rt_context *c = primary(dev, &e);

	if (!c)
		return e;
	if (!pctx)
		return drv_bad();
	rt_context_retain(c);
	*pctx = (CUcontext)(void *)c;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
	CUresult e;
	struct rt_context *c = primary(dev, &e);

	if (!c)
		return e;
	return rt_context_release(c) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	CUresult e;
	struct rt_context *c = primary(dev, &e);

	if (!c)
		return e;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return drv_bad();
	c->flags = flags;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	CUresult e;
	struct rt_context *c = primary(dev, &e);

	if (!c)
		return e;
	if (!flags || !active)
		return drv_bad();
	*flags = c->flags;
	*active = c->refs > 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
	CUresult e;
	struct rt_context *c = primary(dev, &e);

	if (c)
		rt_context_reset(c->device);
	return e;
}

/* ---- the stack ------------------------------------------------------------------------ */

static void push(struct rt_context *c)
{
	if (rt_thread()->context)
		base_vec_push(&below, rt_thread()->context);
	rt_context_set(c);
}

static void pop(void)
{
	rt_context_set(below.n ? below.v[--below.n] : NULL);
}

/* A context that can be current; NULL: none. */
static struct rt_context *alive(CUcontext ctx)
{
	struct rt_context *c = rt_context_find(ctx);

	return c && (c->refs || c->is_primary) ? c : NULL;
}

static CUresult create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned version)
{
	DRV_ENTER_ANY();
	if (!pctx || flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return drv_bad();
	if (!rt_is_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	struct rt_context *c = rt_context_new((unsigned)dev, flags);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->version = version;
	push(c);
	*pctx = (CUcontext)(void *)c;
	return CUDA_SUCCESS;
}

#undef cuCtxCreate
CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int n,
				unsigned int flags, CUdevice dev);

CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev, 3010);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev, 3020);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int n,
				unsigned int flags, CUdevice dev)
{
	if (params || n)
		return (CUresult)rt_refuse_use("cuCtxCreate", "an execution affinity");
	return create(pctx, flags, dev, 3021);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags,
				CUdevice dev)
{
	if (params &&
	    (params->execAffinityParams || params->numExecAffinityParams || params->cigParams))
		return (CUresult)rt_refuse_use("cuCtxCreate", "parameters");
	return create(pctx, flags, dev, 3021);
}

CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
	DRV_ENTER_ANY();
	struct rt_context *c = alive(ctx);
	if (!c)
		return ctx ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	if (c->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	rt_context_release(c);
	if (rt_thread()->context == c)
		pop();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext ctx)
{
	DRV_ENTER_ANY();
	struct rt_context *c = alive(ctx);
	if (!c)
		return ctx ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	push(c);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *pctx)
{
	DRV_ENTER_ANY();
	struct rt_context *c = rt_thread()->context;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (pctx)
		*pctx = (CUcontext)(void *)c;
	pop();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	DRV_ENTER_ANY();
	struct rt_context *c = ctx ? alive(ctx) : NULL;
	if (ctx && !c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (c)
		rt_context_set(c);
	else
		pop();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
	DRV_ENTER_ANY();
	if (!pctx)
		return drv_bad();
	*pctx = (CUcontext)(void *)rt_thread()->context;
	return CUDA_SUCCESS;
}

/* ---- what a context is ---------------------------------------------------------------- */

/* NULL: the current one. */
static struct rt_context *which(CUcontext ctx, CUresult *e)
{
	struct rt_context *c = ctx ? alive(ctx) : rt_thread()->context;

	*e = (CUresult)drv_enter_any();
	if (*e == CUDA_SUCCESS && !c)
		*e = CUDA_ERROR_INVALID_CONTEXT;
	return *e == CUDA_SUCCESS ? c : NULL;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	CUresult e;
	const struct rt_context *c = which(NULL, &e);

	if (c && !device)
		return drv_bad();
	if (c)
		*device = (CUdevice)c->device;
	return e;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	CUresult e;
	const struct rt_context *c = which(ctx, &e);

	if (c && !device)
		return drv_bad();
	if (c)
		*device = (CUdevice)c->device;
	return e;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
	CUresult e;
	const struct rt_context *c = which(NULL, &e);

	if (c && !flags)
		return drv_bad();
	if (c)
		*flags = c->flags;
	return e;
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
	CUresult e;
	struct rt_context *c = which(NULL, &e);

	if (c && flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return drv_bad();
	if (c)
		c->flags = flags;
	return e;
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	CUresult e;
	const struct rt_context *c = which(ctx, &e);

	if (c && !id)
		return drv_bad();
	if (c)
		*id = c->id;
	return e;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	CUresult e;
	const struct rt_context *c = which(ctx, &e);

	if (c && !version)
		return drv_bad();
	if (c)
		*version = c->version ? c->version : 3020;
	return e;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
	DRV_RETURN(rt_device_synchronize());
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
	CUresult e;
	struct rt_context *c = which(ctx, &e), *was = rt_thread()->context;

	if (!c)
		return e;
	rt_context_set(c);
	e = (CUresult)rt_device_synchronize();
	rt_context_set(was);
	return e;
}

static CUresult no_limit(CUlimit limit)
{
	return (unsigned)limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : drv_bad();
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
	DRV_ENTER();
	unsigned d = rt_thread()->device;
	if (!rt_device_limit(d, (int)limit))
		return no_limit(limit);
	return (CUresult)rt_device_set_limit(d, (int)limit, value);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
	DRV_ENTER();
	const size_t *v = rt_device_limit(rt_thread()->device, (int)limit);
	if (!value || !v)
		return value ? no_limit(limit) : drv_bad();
	*value = *v;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config)
{
	DRV_ENTER();
	if (!config)
		return drv_bad();
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
	(void)config; /* a hint */
	DRV_RETURN(RT_OK);
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	DRV_ENTER();
	if (!config)
		return drv_bad();
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	(void)config; /* a hint */
	DRV_RETURN(RT_OK);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	DRV_ENTER();
	if (least)
		*least = 0;
	if (greatest)
		*greatest = RT_PRIORITY_MAX;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
	DRV_RETURN(RT_OK);
}

/* ---- peers ---------------------------------------------------------------------------- */

static CUresult set_peer(CUcontext peer, bool is_on)
{
	const struct rt_context *c = alive(peer);

	DRV_ENTER();
	if (!c || c->device == rt_thread()->device)
		return c ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_CONTEXT;
	return (CUresult)rt_peer_set((int)c->device, is_on);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	return flags ? drv_bad() : set_peer(peer, true);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
	return set_peer(peer, false);
}
