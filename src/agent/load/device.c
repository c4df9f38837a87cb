/*
 * device.c - for which devices an image is loaded.
 */
#include "agent/forward/forward.h"
#include "agent/load/load.h"

#define DEVICES 64

static unsigned version_of(CUdevice device)
{
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	int major = 0, minor = 0;

	*(void **)&attribute = forward_find("cuDeviceGetAttribute");
	if (!attribute ||
	    attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
		    CUDA_SUCCESS ||
	    attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
		return 0;
	return (unsigned)(major * 10 + minor);
}

static unsigned of_context(void)
{
	CUresult (*get_device)(CUdevice *);
	CUdevice device;

	*(void **)&get_device = forward_find("cuCtxGetDevice");
	return get_device && get_device(&device) == CUDA_SUCCESS ? version_of(device) : 0;
}

static unsigned of_all(void)
{
	CUresult (*count)(int *);
	unsigned all = 0;
	int n = 0;

	*(void **)&count = forward_find("cuDeviceGetCount");
	if (!count || count(&n) != CUDA_SUCCESS || n > DEVICES)
		return 0;
	for (int i = 0; i < n; i++) {
		unsigned one = version_of(i);
		if (!one || (all && one != all))
			return 0;
		all = one;
	}
	return all;
}

unsigned load_device(bool is_library)
{
	return is_library ? of_all() : of_context();
}
