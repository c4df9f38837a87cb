/*
 * symbol.c - variables of the device by their host names: addresses, copies.
 *
 * A copy to or from a symbol is a plain copy to its address after a check of
 * the range; streams, captures and waiting are handled by copy.c.
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

/* A copy between a symbol and memory of the program's. */
struct symbol_copy {
	const void *symbol;
	void *memory;
	size_t count, offset; /* the latter in the symbol */
	enum cudaMemcpyKind kind;
	bool is_to_symbol;
};

static enum rt_error find(const struct symbol_copy *c, char **at)
{
	uint64_t addr, bytes;
	enum rt_error e = rt_enter();

	if (e == RT_OK)
		e = rt_symbol_find(c->symbol, rt_thread()->device, &addr, &bytes);
	if (e == RT_OK && (c->offset > bytes || c->count > bytes - c->offset))
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		*at = (char *)(uintptr_t)addr + c->offset;
	return e;
}

static cudaError_t copy(struct symbol_copy c, struct rt_call call)
{
	enum cudaMemcpyKind wrong =
		c.is_to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
	char *at;
	enum rt_error e = find(&c, &at);

	if (e == RT_OK && (c.kind == wrong || c.kind == cudaMemcpyHostToHost))
		e = RT_ERROR_INVALID_MEMCPY_DIRECTION;
	if (e == RT_OK)
		e = rt_copy(c.is_to_symbol ? at : c.memory, c.is_to_symbol ? c.memory : at, c.count,
			    (enum rt_copy_kind)c.kind, call.stream, call.is_per_thread,
			    call.is_async);
	return rt_fail(e);
}

static struct symbol_copy to(const void *symbol, const void *src, size_t count, size_t offset,
			     enum cudaMemcpyKind kind)
{
	return (struct symbol_copy){symbol, (void *)(uintptr_t)src, count, offset, kind, true};
}

static struct symbol_copy from(void *dst, const void *symbol, size_t count, size_t offset,
			       enum cudaMemcpyKind kind)
{
	return (struct symbol_copy){symbol, dst, count, offset, kind, false};
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
