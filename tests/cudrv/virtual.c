/*
 * virtual.c - virtual memory: what the driver answers, and kernels on it.
 *
 * The answers are those of an H100's driver (580.159.04); on a GPU with KEEP_GOING=1. "right": two
 * blocks add to words at both sides of the border of two mappings; "racy": they store to one.
 */
#include "ask.h"

#define MIB ((size_t)1 << 20)
#define G   (2 * MIB)

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry right(.param .u64 out)\n{\n"
			  ".reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
			  "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\n"
			  "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
			  "mov.u32 %r2, 1;\natom.global.add.u32 %r3, [%rd3], %r2;\nret;\n}\n"
			  ".visible .entry racy(.param .u64 out)\n{\n"
			  ".reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
			  "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\n"
			  "st.global.u32 [%rd1], %r1;\nret;\n}\n";

static CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static CUmemAccessDesc rw = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
			     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void test_create(void)
{
	CUmemGenericAllocationHandle h = 0;
	CUmemAllocationProp bad = prop, back;
	size_t g = 0;

	OK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	IS(g, G);
	OK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	IS(g, G);
	IS(cuMemGetAllocationGranularity(NULL, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAllocationGranularity(&g, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemGetAllocationGranularity(&g, &prop, 7), CUDA_ERROR_INVALID_VALUE);
	bad.type = 0;
	OK(cuMemGetAllocationGranularity(&g, &bad, 0));
	IS(cuMemCreate(&h, G, &bad, 0), CUDA_ERROR_INVALID_VALUE);
	bad = prop;
	bad.location.id = 99;
	IS(cuMemCreate(&h, G, &bad, 0), CUDA_ERROR_INVALID_DEVICE);
	bad = prop;
	bad.location.type = 0;
	IS(cuMemCreate(&h, G, &bad, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&h, G + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&h, G, &prop, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&h, G, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(NULL, G, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemCreate(&h, (size_t)1 << 44, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemCreate(&h, G, &prop, 0));
	OK(cuMemGetAllocationPropertiesFromHandle(&back, h));
	THAT(back.type == prop.type && back.location.type == prop.location.type);
	IS(cuMemGetAllocationPropertiesFromHandle(NULL, h), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemRelease(h));
	IS(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
}

static void test_reserve(void)
{
	CUdeviceptr p = 0, q = 0;

	IS(cuMemAddressReserve(&p, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&p, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&p, G, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(&p, G, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressReserve(NULL, G, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressReserve(&p, G, 0, 0, 0));
	IS(p % G, 0);
	OK(cuMemAddressReserve(&q, G, 16 * MIB, 0, 0));
	IS(q % (16 * MIB), 0);
	IS(cuMemAddressFree(p, G / 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressFree(p + 4096, G), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressFree(p, G));
	IS(cuMemAddressFree(p, G), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressFree(q, G));
}

/* Two mappings beside each other, with access, and a hole. */
static void test_map(CUdeviceptr p, const CUmemGenericAllocationHandle *h)
{
	CUmemGenericAllocationHandle again = 0;
	CUmemAccessDesc bad = rw;
	CUmemorytype type = 0;
	CUdeviceptr base = 0;
	unsigned long long flags = 9;
	unsigned word = 5;
	size_t n = 0;

	IS(cuMemMap(p, G, 4096, h[0], 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(p, G, 0, h[0], 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(p + 4096, G, 0, h[0], 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(p, 2 * G, 0, h[0], 0), CUDA_ERROR_NOT_SUPPORTED);
	IS(cuMemMap(p, G, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemMap(p + 4 * G, G, 0, h[0], 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(p, G, 0, h[0], 0));
	IS(cuMemMap(p, G, 0, h[1], 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAddressFree(p, 4 * G), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetAccess(&flags, &rw.location, p));
	IS(flags, 0);
	IS(cuMemcpyHtoD(p, &word, 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(p, 2 * G, &rw, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(p, G, &rw, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemSetAccess(p, G, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	bad.location.id = 99;
	IS(cuMemSetAccess(p, G, &bad, 1), CUDA_ERROR_INVALID_VALUE);
	bad = rw;
	bad.flags = 2;
	IS(cuMemSetAccess(p, G, &bad, 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemSetAccess(p, G, &rw, 1));
	OK(cuMemGetAccess(&flags, &rw.location, p + 100));
	IS(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	IS(cuMemGetAccess(&flags, &rw.location, p + G), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(p + G, G, 0, h[1], 0));
	OK(cuMemSetAccess(p, 2 * G, &rw, 1));
	OK(cuMemGetAddressRange(&base, &n, p + G + 8));
	THAT(base == p + G);
	IS(n, G);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + G));
	IS(type, CU_MEMORYTYPE_DEVICE);
	IS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 2 * G),
	   CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(p + G + 4)));
	THAT(again == h[1]);
	OK(cuMemRelease(again));
	IS(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(p + 2 * G)),
	   CUDA_ERROR_INVALID_VALUE);
}

/* Copies, fills and a kernel across the border. */
static void test_use(CUdeviceptr p, CUfunction f, bool is_right)
{
	CUdeviceptr border = p + G - 8;
	unsigned out[4] = {0}, in[4] = {1, 2, 3, 4};
	void *args[] = {&border};

	OK(cuMemcpyHtoD(border, in, sizeof(in)));
	OK(cuMemcpyDtoH(out, border, sizeof(out)));
	THAT(!memcmp(in, out, sizeof(in)));
	OK(cuMemsetD32(border, 7, 4));
	OK(cuLaunchKernel(f, 4, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(out, border, sizeof(out)));
	for (int i = 0; i < 4; i++)
		THAT(is_right ? out[i] == 8 : i ? out[i] == 7 : out[i] < 4);
	IS(cuMemcpyHtoD(p + 2 * G - 8, in, sizeof(in)), CUDA_ERROR_INVALID_VALUE);
}

/* What was mapped keeps its contents at another address. */
static void test_unmap(CUdeviceptr p, const CUmemGenericAllocationHandle *h)
{
	unsigned word = 42, back = 0;

	OK(cuMemcpyHtoD(p + G, &word, 4));
	IS(cuMemUnmap(p, G / 2), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(p + 2 * G, G)); /* nothing is there */
	OK(cuMemUnmap(p + G, G));
	IS(cuMemcpyDtoH(&back, p + G, 4), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(p + 3 * G, G, 0, h[1], 0));
	OK(cuMemSetAccess(p + 3 * G, G, &rw, 1));
	OK(cuMemRelease(h[1])); /* it lives on as long as it is mapped */
	OK(cuMemcpyDtoH(&back, p + 3 * G, 4));
	IS(back, 42);
	OK(cuMemUnmap(p, 4 * G)); /* holes among it */
	OK(cuMemUnmap(p, G));
	OK(cuMemRelease(h[0]));
	OK(cuMemAddressFree(p, 4 * G));
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "right";
	CUmemGenericAllocationHandle h[2];
	CUdeviceptr p = 0;
	CUcontext c;
	CUdevice d;
	CUmodule m;
	CUfunction f = NULL;
	int has = 0;
	size_t before = 0, after = 0, all;

	OK(cuInit(0));
	OK(cuDeviceGet(&d, 0));
	OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, d));
	IS(has, 1);
	OK(cuDevicePrimaryCtxRetain(&c, d));
	OK(cuCtxSetCurrent(c));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, kind));
	test_create();
	test_reserve();
	OK(cuMemGetInfo(&before, &all));
	OK(cuMemCreate(&h[0], G, &prop, 0));
	OK(cuMemCreate(&h[1], G, &prop, 0));
	OK(cuMemGetInfo(&after, &all));
	IS(before - after, 2 * G);
	OK(cuMemAddressReserve(&p, 4 * G, 0, 0, 0));
	test_map(p, h);
	test_use(p, f, !strcmp(kind, "right"));
	test_unmap(p, h);
	OK(cuMemGetInfo(&after, &all));
	IS(after, before);
	printf("%u questions, %u answered in another way\n", asked, wrong);
	return wrong ? 1 : 0;
}
