/*
 * symbol.c - variables of the device by their host names: addresses, copies.
 *
 * A copy to or from a symbol is a plain copy to its address after a check of
 * the range; streams, captures and waiting are copy.c's business.
 */
#include "cudart/state/link.h"

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	uint64_t addr, bytes;

	RT_ENTER();
	if (!devPtr)
		return rt_fail(cudaErrorInvalidValue);
	cudaError_t e = rt_symbol_find(symbol, rt_thread()->device, &addr, &bytes);
	if (e == cudaSuccess)
		*devPtr = (void *)(uintptr_t)addr;
	return rt_fail(e);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	uint64_t addr, bytes;

	RT_ENTER();
	if (!size)
		return rt_fail(cudaErrorInvalidValue);
	cudaError_t e = rt_symbol_find(symbol, rt_thread()->device, &addr, &bytes);
	if (e == cudaSuccess)
		*size = bytes;
	return rt_fail(e);
}

static cudaError_t range(const void *symbol, size_t count, size_t offset, char **at)
{
	uint64_t addr, bytes;
	cudaError_t e = rt_enter();

	if (e == cudaSuccess)
		e = rt_symbol_find(symbol, rt_thread()->device, &addr, &bytes);
	if (e == cudaSuccess && (offset > bytes || count > bytes - offset))
		e = cudaErrorInvalidValue;
	if (e == cudaSuccess)
		*at = (char *)(uintptr_t)addr + offset;
	return e;
}

static cudaError_t copy_to(const void *symbol, const void *src, size_t count, size_t offset,
			   enum cudaMemcpyKind kind, cudaStream_t stream, bool is_per_thread,
			   bool is_async)
{
	char *at;
	cudaError_t e = range(symbol, count, offset, &at);

	if (e == cudaSuccess && (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost))
		e = cudaErrorInvalidMemcpyDirection;
	if (e == cudaSuccess)
		e = rt_copy(at, src, count, kind, stream, is_per_thread, is_async);
	return rt_fail(e);
}

static cudaError_t copy_from(void *dst, const void *symbol, size_t count, size_t offset,
			     enum cudaMemcpyKind kind, cudaStream_t stream, bool is_per_thread,
			     bool is_async)
{
	char *at;
	cudaError_t e = range(symbol, count, offset, &at);

	if (e == cudaSuccess && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost))
		e = cudaErrorInvalidMemcpyDirection;
	if (e == cudaSuccess)
		e = rt_copy(dst, at, count, kind, stream, is_per_thread, is_async);
	return rt_fail(e);
}

/* ---- entry points; those of --default-stream per-thread behind each -------------------------- */

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
	return copy_to(symbol, src, count, offset, kind, 0, false, false);
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind)
{
	return copy_to(symbol, src, count, offset, kind, 0, true, false);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
				 enum cudaMemcpyKind kind)
{
	return copy_from(dst, symbol, count, offset, kind, 0, false, false);
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind)
{
	return copy_from(dst, symbol, count, offset, kind, 0, true, false);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
				    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_to(symbol, src, count, offset, kind, stream, false, true);
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t count,
					 size_t offset, enum cudaMemcpyKind kind,
					 cudaStream_t stream)
{
	return copy_to(symbol, src, count, offset, kind, stream, true, true);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_from(dst, symbol, count, offset, kind, stream, false, true);
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t count,
					   size_t offset, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	return copy_from(dst, symbol, count, offset, kind, stream, true, true);
}
