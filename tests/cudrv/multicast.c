/*
 * multicast.c - multicast objects of two devices: what the driver answers, and kernels on them.
 *
 *   multicast right|racy|unmapped|ordinary     with two devices
 *
 * A kernel of either device adds by multimem.red, one sums by ld_reduce; in the pair of kernels one
 * warp stores by multimem.st and another reads one of the memories, after a barrier or without it.
 * What is bound twice, unbound, bound by address or not mapped is asked, too.
 *
 * "unmapped" and "ordinary" end in a fault: multimem where what is bound has no address of its own
 * yet, and an ordinary store at the object's address. (The PTX ISA leaves the second undefined. The
 * driver asks for no address in the first; the CPU device has none for that memory, and must say so
 * rather than leave it out.)
 */
#include "ask.h"

#define G ((size_t)2 << 20)

static const char ptx[] =
	".version 8.6\n.target sm_90\n.address_size 64\n"
	".visible .entry add(.param .u64 all)\n{\n"
	".reg .b32 t, v; .reg .b64 m, o;\n"
	"ld.param.u64 m, [all];\nmov.u32 t, %tid.x;\nmul.wide.u32 o, t, 4;\nadd.u64 m, m, o;\n"
	"add.u32 v, t, 1;\nmultimem.red.relaxed.sys.global.add.u32 [m], v;\nret;\n}\n"
	".visible .entry sum(.param .u64 all, .param .u64 one)\n{\n"
	".reg .b32 t, v; .reg .b64 m, d, o;\n"
	"ld.param.u64 m, [all];\nld.param.u64 d, [one];\nmov.u32 t, %tid.x;\n"
	"mul.wide.u32 o, t, 4;\nadd.u64 m, m, o;\nadd.u64 d, d, o;\n"
	"multimem.ld_reduce.relaxed.sys.global.add.u32 v, [m];\n"
	"st.global.u32 [d + 4096], v;\nret;\n}\n"
#define PAIR(name, between)                                                                        \
	".visible .entry " name "(.param .u64 all, .param .u64 one)\n{\n"                          \
	".reg .pred p; .reg .b32 t, v; .reg .b64 m, d;\n"                                          \
	"ld.param.u64 m, [all];\nld.param.u64 d, [one];\nmov.u32 t, %tid.x;\n"                     \
	"setp.eq.u32 p, t, 0;\n@p multimem.st.weak.global.u32 [m + 16], 5;\n" between              \
	"setp.eq.u32 p, t, 32;\n@p ld.global.u32 v, [d + 16];\n"                                   \
	"@p st.global.u32 [d + 8192], v;\nret;\n}\n"
	PAIR("right", "bar.sync 0;\n") PAIR(
		"racy",
		"") ".visible .entry ordinary(.param .u64 all)\n{\n"
		    ".reg .b64 m;\nld.param.u64 m, [all];\nst.global.u32 [m + 16], 5;\nret;\n}\n";

static CUcontext context[2];
static CUmodule module[2];

static void launch(unsigned device, const char *name, CUdeviceptr all, CUdeviceptr one)
{
	void *args[] = {&all, &one};
	CUfunction f;

	OK(cuCtxSetCurrent(context[device]));
	OK(cuModuleGetFunction(&f, module[device], name));
	OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
}

/* The kernel faults at an address, which all later calls of the context say. */
static void launch_faulty(const char *name, CUdeviceptr all)
{
	void *args[] = {&all};
	CUfunction f;

	OK(cuCtxSetCurrent(context[0]));
	OK(cuModuleGetFunction(&f, module[0], name));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static int end(void)
{
	printf("%u questions, %u answered in another way\n", asked, wrong);
	return wrong ? 1 : 0;
}

static unsigned word_at(CUdeviceptr p)
{
	unsigned v = 0;

	OK(cuMemcpyDtoH(&v, p, 4));
	return v;
}

static CUdeviceptr map(CUmemGenericAllocationHandle h)
{
	CUmemAccessDesc rw[2] = {0};
	CUdeviceptr p = 0;

	for (int d = 0; d < 2; d++)
		rw[d] = (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, d},
					  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	OK(cuMemAddressReserve(&p, G, 0, 0, 0));
	OK(cuMemMap(p, G, 0, h, 0));
	OK(cuMemSetAccess(p, G, rw, 2));
	return p;
}

static CUmemGenericAllocationHandle memory_of(int device)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
	CUmemGenericAllocationHandle h = 0;

	OK(cuMemCreate(&h, G, &prop, 0));
	return h;
}

static void test_create(void)
{
	CUmulticastObjectProp prop = {.numDevices = 2, .size = G}, bad = prop;
	CUmemGenericAllocationHandle h = 0;
	size_t g = 0;
	int has = 0;

	OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	IS(has, 1);
	OK(cuMulticastGetGranularity(&g, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
	IS(g, G);
	IS(cuMulticastGetGranularity(NULL, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastGetGranularity(&g, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastGetGranularity(&g, &prop, 7), CUDA_ERROR_INVALID_VALUE);
	bad.size = G + 4096;
	IS(cuMulticastCreate(&h, &bad), CUDA_ERROR_INVALID_VALUE);
	bad = prop;
	bad.numDevices = 0;
	IS(cuMulticastCreate(&h, &bad), CUDA_ERROR_INVALID_VALUE);
	bad = prop;
	bad.flags = 1;
	IS(cuMulticastCreate(&h, &bad), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastCreate(NULL, &prop), CUDA_ERROR_INVALID_VALUE);
}

static void test_bind(CUmemGenericAllocationHandle team, const CUmemGenericAllocationHandle *h)
{
	IS(cuMulticastBindMem(team, 0, h[0], 0, G, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastBindMem(team, 0, h[0], 0, G / 2, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastBindMem(team, G, h[0], 0, G, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastBindMem(team, 0, h[0], G, G, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastBindMem(team, 0, team, 0, G, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastBindMem(h[0], 0, h[1], 0, G, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMulticastBindMem(team, 0, h[0], 0, G, 0));
	IS(cuMulticastBindMem(team, 0, h[0], 0, G, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastUnbind(team, 1, 0, G), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastUnbind(team, 9, 0, G), CUDA_ERROR_INVALID_DEVICE);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "right";
	CUmulticastObjectProp prop = {.numDevices = 2, .size = G};
	CUmemGenericAllocationHandle h[2], team = 0;
	CUdeviceptr one[2], all;

	OK(cuInit(0));
	for (int d = 0; d < 2; d++) {
		OK(cuDevicePrimaryCtxRetain(&context[d], d));
		OK(cuCtxSetCurrent(context[d]));
		OK(cuModuleLoadData(&module[d], ptx));
		h[d] = memory_of(d);
	}
	test_create();
	OK(cuMulticastCreate(&team, &prop));
	OK(cuMulticastAddDevice(team, 0));
	IS(cuMulticastAddDevice(team, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMulticastAddDevice(team, 9), CUDA_ERROR_INVALID_DEVICE);
	OK(cuMulticastAddDevice(team, 1));
	test_bind(team, h);
	/* What is bound before it is mapped, and after. */
	all = map(team);
	if (!strcmp(kind, "unmapped")) {
		launch_faulty("add", all);
		return end();
	}
	one[0] = map(h[0]);
	if (!strcmp(kind, "ordinary")) {
		launch_faulty("ordinary", all);
		return end();
	}
	one[1] = map(h[1]);
	OK(cuMemsetD32(one[0], 0, G / 4));
	OK(cuMemsetD32(one[1], 0, G / 4));
	OK(cuCtxSynchronize()); /* the other device's kernels don't wait for it */
	launch(0, "add", all, 0);
	IS(word_at(one[0] + 8), 3);
	IS(word_at(one[1] + 8), 0); /* not bound yet */
	OK(cuMulticastBindAddr(team, 0, one[1], G, 0));
	launch(0, "add", all, 0);
	launch(1, "add", all, 0);
	IS(word_at(one[0] + 8), 9);
	IS(word_at(one[1] + 8), 6);
	launch(1, "sum", all, one[1]);
	IS(word_at(one[1] + 4096 + 8), 15);
	IS(word_at(one[0] + 4096 + 8), 0);
	launch(0, kind, all, one[0]);
	IS(word_at(one[1] + 16), 5);
	OK(cuMulticastUnbind(team, 1, 0, G));
	launch(0, "sum", all, one[0]);
	IS(word_at(one[0] + 4096 + 8), 9);
	OK(cuMemUnmap(all, G));
	OK(cuMemRelease(team)); /* and with it what is bound */
	for (int d = 0; d < 2; d++) {
		OK(cuMemRelease(h[d]));
		OK(cuMemUnmap(one[d], G));
	}
	IS(cuMulticastUnbind(team, 0, 0, G), CUDA_ERROR_INVALID_VALUE);
	return end();
}
