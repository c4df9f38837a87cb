/*
 * proc.c - cuGetProcAddress.
 */
#include <string.h>

#include "cudrv/drv.h"
#include "cudrv/refuse.h"

int drv_refuse(const char *name)
{
	return (int)rt_refuse(name);
}

/*
 * Private tables of the driver: a runtime that is linked into a library asks for them before its
 * first call has a result. Programs' own runtimes are replaced, and come here only if they had
 * started before.
 */
CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	(void)ppExportTable, (void)pExportTableId;
	if (rt_refuse_runtime(__builtin_return_address(0)))
		return CUDA_ERROR_NOT_SUPPORTED;
	return (CUresult)rt_refuse("cuGetExportTable");
}

#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
				     cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	enum drv_found why;

	if (!symbol || !*symbol || !pfn || cudaVersion < 0)
		return drv_bad();
	*pfn = drv_find(symbol, (unsigned)cudaVersion,
			flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &why);
	if (status)
		*status = (CUdriverProcAddressQueryResult)why;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}
