/*
 * texture.c - texture and surface objects: what the driver answers, and a kernel that reads the one
 * and writes the other. The answers are those of an H100's driver (580.159.04).
 */
#include "ask.h"

#define W 16
#define H 8

/* out[x] = tex(x + 0.5, 1.5); the surface's row 2 is its row 1 plus 100. */
static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry go(.param .u64 tex, .param .u64 surf, .param .u64 out)\n{\n"
	".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n"
	"ld.param.u64 %rd1, [tex];\nld.param.u64 %rd2, [surf];\nld.param.u64 %rd3, [out];\n"
	"mov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f1, %r1;\nadd.f32 %f1, %f1, 0f3F000000;\n"
	"mov.f32 %f2, 0f3FC00000;\n"
	"tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n"
	"mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd3, %rd4;\nst.global.f32 [%rd5], %f3;\n"
	"shl.b32 %r2, %r1, 2;\nmov.u32 %r3, 1;\nmov.u32 %r4, 2;\n"
	"suld.b.2d.b32.trap {%r5}, [%rd2, {%r2, %r3}];\nadd.u32 %r5, %r5, 100;\n"
	"sust.b.2d.b32.trap [%rd2, {%r2, %r4}], {%r5};\nret;\n}\n";

static CUarray new_array(CUarray_format format, unsigned channels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR a = {
		.Width = W, .Height = H, .Format = format, .NumChannels = channels, .Flags = flags};
	CUarray array = NULL;

	OK(cuArray3DCreate(&array, &a));
	return array;
}

static CUDA_RESOURCE_DESC of_array(CUarray a)
{
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};

	r.res.array.hArray = a;
	return r;
}

static void test_errors(CUarray array)
{
	CUDA_RESOURCE_DESC r = of_array(array), none = of_array(NULL), line, back;
	CUDA_TEXTURE_DESC t = {0}, bad = {0}, got;
	CUDA_RESOURCE_VIEW_DESC view;
	CUtexObject o = 0;
	CUsurfObject s = 0;
	CUdeviceptr p = 0;

	IS(cuTexObjectCreate(NULL, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuTexObjectCreate(&o, NULL, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuTexObjectCreate(&o, &r, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuTexObjectCreate(&o, &none, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	bad.addressMode[0] = 7;
	IS(cuTexObjectCreate(&o, &r, &bad, NULL), CUDA_ERROR_INVALID_VALUE);
	bad = t;
	bad.filterMode = 5;
	IS(cuTexObjectCreate(&o, &r, &bad, NULL), CUDA_ERROR_INVALID_VALUE);
	r.flags = 1;
	IS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	r.flags = 0;
	bad = t;
	bad.filterMode = CU_TR_FILTER_MODE_LINEAR;
	bad.flags = CU_TRSF_READ_AS_INTEGER; /* ignored: the array is of floats */
	OK(cuTexObjectCreate(&o, &r, &bad, NULL));
	OK(cuTexObjectGetResourceDesc(&back, o));
	THAT(back.resType == CU_RESOURCE_TYPE_ARRAY && back.res.array.hArray == array);
	OK(cuTexObjectGetTextureDesc(&got, o));
	THAT(got.filterMode == CU_TR_FILTER_MODE_LINEAR && got.flags == CU_TRSF_READ_AS_INTEGER);
	OK(cuTexObjectGetResourceViewDesc(&view, o));
	IS(cuTexObjectGetTextureDesc(NULL, o), CUDA_ERROR_INVALID_VALUE);
	OK(cuTexObjectDestroy(o));

	OK(cuMemAlloc(&p, 4096));
	line = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
	line.res.linear.devPtr = p;
	line.res.linear.format = CU_AD_FORMAT_FLOAT;
	line.res.linear.numChannels = 1;
	line.res.linear.sizeInBytes = 1024;
	OK(cuTexObjectCreate(&o, &line, &t, NULL));
	OK(cuTexObjectDestroy(o));
	line.res.linear.numChannels = 3;
	IS(cuTexObjectCreate(&o, &line, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	line.res.linear.numChannels = 1;
	line.res.linear.devPtr = p + 4;
	IS(cuTexObjectCreate(&o, &line, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	line.res.linear.devPtr = p;
	line.res.linear.sizeInBytes = 0;
	OK(cuTexObjectCreate(&o, &line, &t, NULL));
	OK(cuTexObjectDestroy(o));
	line.res.linear.sizeInBytes = 1024;
	IS(cuSurfObjectCreate(&s, &line), CUDA_ERROR_INVALID_VALUE);
	IS(cuSurfObjectCreate(&s, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuSurfObjectCreate(&s, &none), CUDA_ERROR_INVALID_VALUE);
	r = of_array(array); /* it wasn't made for surfaces */
	OK(cuSurfObjectCreate(&s, &r));
	OK(cuSurfObjectDestroy(s));
	OK(cuMemFree(p));
}

static void test_kernel(CUfunction f, CUarray_format format, unsigned flags, float scale)
{
	CUarray array = new_array(format, 1, 0);
	CUarray plane = new_array(CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
	CUDA_RESOURCE_DESC r = of_array(array), rs = of_array(plane), back;
	CUDA_TEXTURE_DESC t = {.flags = flags};
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			   .Height = H};
	unsigned char bytes[H][W];
	float floats[H][W], out[W];
	unsigned words[H][W];
	CUdeviceptr p = 0;
	CUtexObject tex = 0;
	CUsurfObject surf = 0;
	bool is_float = format == CU_AD_FORMAT_FLOAT;

	for (unsigned y = 0; y < H; y++)
		for (unsigned x = 0; x < W; x++) {
			floats[y][x] = (float)(y * W + x);
			bytes[y][x] = (unsigned char)(y * W + x);
			words[y][x] = y * 1000 + x;
		}
	c.srcHost = is_float ? (void *)floats : (void *)bytes;
	c.srcPitch = c.WidthInBytes = is_float ? sizeof(floats[0]) : sizeof(bytes[0]);
	c.dstArray = array;
	OK(cuMemcpy2D(&c));
	c.srcHost = words;
	c.srcPitch = c.WidthInBytes = sizeof(words[0]);
	c.dstArray = plane;
	OK(cuMemcpy2D(&c));
	OK(cuTexObjectCreate(&tex, &r, &t, NULL));
	OK(cuSurfObjectCreate(&surf, &rs));
	OK(cuSurfObjectGetResourceDesc(&back, surf));
	THAT(back.res.array.hArray == plane);
	OK(cuMemAlloc(&p, sizeof(out)));
	void *args[] = {&tex, &surf, &p};
	OK(cuLaunchKernel(f, 1, 1, 1, W, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(out, p, sizeof(out)));
	for (unsigned x = 0; x < W; x++)
		THAT(out[x] == (float)(W + x) / scale);
	c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			    .srcArray = plane,
			    .dstMemoryType = CU_MEMORYTYPE_HOST,
			    .dstHost = words,
			    .dstPitch = sizeof(words[0]),
			    .WidthInBytes = sizeof(words[0]),
			    .Height = H};
	OK(cuMemcpy2D(&c));
	for (unsigned x = 0; x < W; x++)
		IS(words[2][x], 1100 + x);
	OK(cuTexObjectDestroy(tex));
	OK(cuSurfObjectDestroy(surf));
	OK(cuMemFree(p));
	OK(cuArrayDestroy(array));
	OK(cuArrayDestroy(plane));
}

int main(void)
{
	CUcontext c;
	CUdevice d;
	CUmodule m;
	CUfunction f = NULL;

	OK(cuInit(0));
	OK(cuDeviceGet(&d, 0));
	OK(cuDevicePrimaryCtxRetain(&c, d));
	OK(cuCtxSetCurrent(c));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "go"));
	CUarray array = new_array(CU_AD_FORMAT_FLOAT, 1, 0);
	test_errors(array);
	OK(cuArrayDestroy(array));
	test_kernel(f, CU_AD_FORMAT_FLOAT, 0, 1);
	test_kernel(f, CU_AD_FORMAT_UNSIGNED_INT8, 0, 255);
	printf("%u questions, %u answered in another way\n", asked, wrong);
	return wrong ? 1 : 0;
}
