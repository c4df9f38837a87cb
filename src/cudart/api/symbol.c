/*
 * symbol.c - variables of the device by their host names: addresses, copies.
 */
#include "cudart/api/api.h"
#include "cudart/state/copy.h"
#include "cudart/state/link.h"

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	uint64_t addr, bytes;

	RT_ENTER();
	if (!devPtr)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_symbol_find(symbol, rt_thread()->device, &addr, &bytes);
	if (e == RT_OK)
		*devPtr = (void *)(uintptr_t)addr;
	return rt_fail(e);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	uint64_t addr, bytes;

	RT_ENTER();
	if (!size)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_symbol_find(symbol, rt_thread()->device, &addr, &bytes);
	if (e == RT_OK)
		*size = bytes;
	return rt_fail(e);
}

static cudaError_t copy(struct rt_symbol_copy c, struct rt_call call)
{
	RT_RETURN(rt_copy_symbol(c, call));
}

static struct rt_symbol_copy to(const void *symbol, const void *src, size_t count, size_t offset,
				enum cudaMemcpyKind kind)
{
	return (struct rt_symbol_copy){symbol, (void *)(uintptr_t)src,	count,
				       offset, (enum rt_copy_kind)kind, true};
}

static struct rt_symbol_copy from(void *dst, const void *symbol, size_t count, size_t offset,
				  enum cudaMemcpyKind kind)
{
	return (struct rt_symbol_copy){symbol, dst, count, offset, (enum rt_copy_kind)kind, false};
}

/* ---- entry points; those of --default-stream per-thread after each -------------------------- */

RT_API cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
					   size_t offset, enum cudaMemcpyKind kind);
RT_API cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count,
					     size_t offset, enum cudaMemcpyKind kind);
RT_API cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t count,
						size_t offset, enum cudaMemcpyKind kind,
						cudaStream_t stream);
RT_API cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t count,
						  size_t offset, enum cudaMemcpyKind kind,
						  cudaStream_t stream);

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
			       enum cudaMemcpyKind kind)
{
	return copy(to(symbol, src, count, offset, kind), (struct rt_call){0, false, false});
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind)
{
	return copy(to(symbol, src, count, offset, kind), (struct rt_call){0, true, false});
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
				 enum cudaMemcpyKind kind)
{
	return copy(from(dst, symbol, count, offset, kind), (struct rt_call){0, false, false});
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind)
{
	return copy(from(dst, symbol, count, offset, kind), (struct rt_call){0, true, false});
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(to(symbol, src, count, offset, kind), (struct rt_call){stream, false, true});
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t count,
					 size_t offset, enum cudaMemcpyKind kind,
					 cudaStream_t stream)
{
	return copy(to(symbol, src, count, offset, kind), (struct rt_call){stream, true, true});
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(from(dst, symbol, count, offset, kind), (struct rt_call){stream, false, true});
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t count,
					   size_t offset, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	return copy(from(dst, symbol, count, offset, kind), (struct rt_call){stream, true, true});
}
