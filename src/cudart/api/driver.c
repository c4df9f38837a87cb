/*
 * driver.c - the driver's functions by name, for programs of the runtime.
 */
#include "cudart/api/api.h"
#include "cudrv/cudrv.h"

_Static_assert((int)DRV_NO_SYMBOL == (int)cudaDriverEntryPointSymbolNotFound &&
		       (int)DRV_TOO_OLD == (int)cudaDriverEntryPointVersionNotSufficent,
	       "enum drv_found");

static cudaError_t get_entry(const char *symbol, void **fn, unsigned version,
			     unsigned long long flags, bool is_per_thread,
			     enum cudaDriverEntryPointQueryResult *status)
{
	enum drv_found why;

	RT_ENTER();
	if (!symbol || !*symbol || !fn || flags > cudaEnablePerThreadDefaultStream ||
	    version > DRV_VERSION + 999)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (flags)
		is_per_thread = flags == cudaEnablePerThreadDefaultStream;
	*fn = drv_find(symbol, version, is_per_thread, &why);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)why;
	return cudaSuccess;
}

RT_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn,
						unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *status);
RT_API cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
	const char *symbol, void **fn, unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status);
RT_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
					   unsigned long long flags,
					   enum cudaDriverEntryPointQueryResult *driverStatus);

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return get_entry(symbol, funcPtr, DRV_VERSION, flags, false, driverStatus);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return get_entry(symbol, fn, DRV_VERSION, flags, true, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
					     unsigned int cudaVersion, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return get_entry(symbol, funcPtr, cudaVersion, flags, false, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **fn,
						  unsigned int version, unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *status)
{
	return get_entry(symbol, fn, version, flags, true, status);
}
