/* textures.cu - texture and surface objects: formats, address modes, filters, arrays, errors. */
#include "expect.h"

#include <cmath>
#include <vector>
#include <surface_indirect_functions.h>
#include <texture_indirect_functions.h>

#define N 64

template <class T> __global__ void fetch_line(cudaTextureObject_t t, T *out, int from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<T>(t, from + i);
}

template <class T> __global__ void fetch_1d(cudaTextureObject_t t, T *out, const float *x, int n)
{
	if (threadIdx.x < n)
		out[threadIdx.x] = tex1D<T>(t, x[threadIdx.x]);
}

template <class T>
__global__ void fetch_2d(cudaTextureObject_t t, T *out, const float2 *at, int n)
{
	if (threadIdx.x < n)
		out[threadIdx.x] = tex2D<T>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

__global__ void fetch_3d(cudaTextureObject_t t, float *out, float x, float y, float z)
{
	out[threadIdx.x] = tex3D<float>(t, x + threadIdx.x, y, z);
}

__global__ void fetch_layers(cudaTextureObject_t t, int *out)
{
	out[threadIdx.x] = tex2DLayered<int>(t, threadIdx.x % 4, 1, threadIdx.x / 4);
}

__global__ void gather(cudaTextureObject_t t, float4 *out, float x, float y)
{
	*out = tex2Dgather<float4>(t, x, y, 0);
}

__global__ void two_objects(cudaTextureObject_t a, cudaTextureObject_t b, int *out)
{
	int i = threadIdx.x;

	out[i] = tex1Dfetch<int>(i % 3 ? a : b, i);
}

__global__ void add_one(cudaSurfaceObject_t s, int w)
{
	int x = threadIdx.x % w, y = threadIdx.x / w, v;

	surf2Dread(&v, s, x * 4, y);
	surf2Dwrite(v + 1, s, x * 4, y);
}

__global__ void surface_edges(cudaSurfaceObject_t s, int *out)
{
	out[0] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeZero);
	out[1] = surf2Dread<int>(s, -4, 0, cudaBoundaryModeClamp);
	out[2] = surf2Dread<int>(s, 400, 100, cudaBoundaryModeClamp);
	out[3] = surf2Dread<int>(s, 0, 9, cudaBoundaryModeZero);
}

__global__ void surface_trap(cudaSurfaceObject_t s)
{
	surf2Dwrite(1, s, 4000, 0);
}

static cudaTextureDesc how(cudaTextureAddressMode mode = cudaAddressModeClamp,
			   cudaTextureFilterMode filter = cudaFilterModePoint,
			   cudaTextureReadMode read = cudaReadModeElementType, bool is_normalized = false)
{
	cudaTextureDesc d = {};

	for (int i = 0; i < 3; i++)
		d.addressMode[i] = mode;
	d.filterMode = filter;
	d.readMode = read;
	d.normalizedCoords = is_normalized;
	return d;
}

static cudaResourceDesc line(void *p, cudaChannelFormatDesc f, size_t bytes)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = f;
	r.res.linear.sizeInBytes = bytes;
	return r;
}

static cudaResourceDesc of(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static cudaTextureObject_t make(const cudaResourceDesc &r, const cudaTextureDesc &d)
{
	cudaTextureObject_t t = 0;

	OK(cudaCreateTextureObject(&t, &r, &d, NULL));
	return t;
}

template <class T> static T *device(const std::vector<T> &v)
{
	T *p;

	OK(cudaMalloc(&p, v.size() * sizeof(T)));
	OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

template <class T> static std::vector<T> host(const T *p, size_t n)
{
	std::vector<T> v(n);

	OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

static bool is_near(float a, float b)
{
	return fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b));
}

/* ---- memory ------------------------------------------------------------------------ */

static void formats()
{
	std::vector<int> ints(N);
	std::vector<signed char> bytes(N);
	std::vector<unsigned short> shorts(N);
	std::vector<float4> vectors(N);

	for (int i = 0; i < N; i++) {
		ints[i] = i * 7 - 100;
		bytes[i] = (signed char)(i * 5 - 128);
		shorts[i] = (unsigned short)(i * 1000);
		vectors[i] = make_float4(i, -i, i * .5f, 1e10f * i);
	}
	int *di = device(ints), *oi = device(std::vector<int>(N + 8, 77));
	cudaTextureDesc coloured = how();
	coloured.borderColor[0] = 8; /* has no say here */
	cudaTextureObject_t t = make(line(di, cudaCreateChannelDesc<int>(), N * 4), coloured);
	fetch_line<int><<<1, 128>>>(t, oi, -4, N + 8);
	auto ri = host(oi, N + 8);
	for (int i = -4; i < N + 4; i++) /* beyond the memory: 0 */
		THAT(ri[i + 4] == (i >= 0 && i < N ? ints[i] : 0));

	auto *db = device(bytes);
	signed char *ob = (signed char *)oi;
	t = make(line(db, cudaCreateChannelDesc<signed char>(), N), how());
	fetch_line<signed char><<<1, 64>>>(t, ob, 0, N);
	auto rb = host(ob, N);
	for (int i = 0; i < N; i++)
		THAT(rb[i] == bytes[i]);
	t = make(line(db, cudaCreateChannelDesc<signed char>(), N),
		 how(cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat));
	fetch_line<float><<<1, 64>>>(t, (float *)oi, 0, N);
	auto rf = host((float *)oi, N);
	for (int i = 0; i < N; i++)
		THAT(is_near(rf[i], fmaxf(bytes[i] / 127.f, -1)));

	auto *ds = device(shorts);
	t = make(line(ds, cudaCreateChannelDesc<ushort2>(), N * 2),
		 how(cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat));
	float2 *of2 = device(std::vector<float2>(N));
	fetch_line<float2><<<1, 64>>>(t, of2, 0, N / 2);
	auto r2 = host(of2, N / 2);
	for (int i = 0; i < N / 2; i++)
		THAT(is_near(r2[i].x, shorts[2 * i] / 65535.f) &&
		     is_near(r2[i].y, shorts[2 * i + 1] / 65535.f));

	float4 *dv = device(vectors), *ov = device(std::vector<float4>(N));
	t = make(line(dv, cudaCreateChannelDesc<float4>(), N * 16), how());
	fetch_line<float4><<<2, 32>>>(t, ov, 0, N);
	auto rv = host(ov, N);
	THAT(!memcmp(rv.data(), vectors.data(), N * 16));

	std::vector<int> other(N, 5);
	int *dother = device(other);
	cudaTextureObject_t u = make(line(dother, cudaCreateChannelDesc<int>(), N * 4), how());
	t = make(line(di, cudaCreateChannelDesc<int>(), N * 4), how());
	two_objects<<<1, 64>>>(t, u, oi);
	ri = host(oi, N);
	for (int i = 0; i < N; i++)
		THAT(ri[i] == (i % 3 ? ints[i] : 5));
	OK(cudaDestroyTextureObject(u));
}

/* Rows of memory with a pitch, by numbers of texels and by fractions. */
static void rows()
{
	const int w = 20, h = 6;
	size_t pitch;
	unsigned char *p;
	std::vector<uchar4> v(w * h);
	std::vector<float2> at = {{0.5f, 0.5f}, {3.9f, 2.1f}, {19.5f, 5.5f}, {-7, 3.5f},
				  {25, -1},	{4, 4},	      {4.999f, 4.999f}};
	cudaResourceDesc r = {};

	for (int i = 0; i < w * h; i++)
		v[i] = make_uchar4(i, i * 2, 255 - i, i ^ 85);
	OK(cudaMallocPitch(&p, &pitch, w * 4, h));
	OK(cudaMemcpy2D(p, pitch, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypePitch2D;
	r.res.pitch2D = {p, cudaCreateChannelDesc<uchar4>(), w, h, pitch};
	float2 *dat = device(at);
	uchar4 *out = device(std::vector<uchar4>(at.size()));
	fetch_2d<uchar4><<<1, 32>>>(make(r, how()), out, dat, (int)at.size());
	auto got = host(out, at.size());
	for (size_t i = 0; i < at.size(); i++) {
		int x = (int)fminf(fmaxf(floorf(at[i].x), 0), w - 1);
		int y = (int)fminf(fmaxf(floorf(at[i].y), 0), h - 1);
		THAT(!memcmp(&got[i], &v[y * w + x], 4));
	}
	/* Linear filter, halfway between the texels of two rows: values as fractions of 255. */
	std::vector<float2> mid = {{3.5f, 2.f}, {4.f, 2.5f}, {4.f, 3.f}};
	float4 *of4 = device(std::vector<float4>(mid.size()));
	fetch_2d<float4><<<1, 32>>>(make(r, how(cudaAddressModeClamp, cudaFilterModeLinear,
						cudaReadModeNormalizedFloat)),
				    of4, device(mid), (int)mid.size());
	auto m = host(of4, mid.size());
	auto f = [&](int x, int y) { return v[y * w + x].x / 255.f; };
	THAT(is_near(m[0].x, (f(3, 1) + f(3, 2)) / 2));
	THAT(is_near(m[1].x, (f(3, 2) + f(4, 2)) / 2));
	THAT(is_near(m[2].x, (f(3, 2) + f(4, 2) + f(3, 3) + f(4, 3)) / 4));
}

/* ---- arrays ------------------------------------------------------------------------ */

/* The programming guide's formulas, for a line of n floats. */
static float line_of(const std::vector<float> &v, float x, cudaTextureAddressMode mode, bool is_linear,
		     bool is_normalized)
{
	int n = (int)v.size();
	auto texel = [&](long i) -> float {
		if (i >= 0 && i < n)
			return v[i];
		switch (mode) {
		case cudaAddressModeWrap:
			return v[((i % n) + n) % n];
		case cudaAddressModeMirror: {
			long t = ((i % (2 * n)) + 2 * n) % (2 * n);
			return v[t < n ? t : 2 * n - 1 - t];
		}
		case cudaAddressModeBorder:
			return 9; /* the border's colour */
		default:
			return i < 0 ? v[0] : v[n - 1];
		}
	};
	double at = is_normalized ? (double)x * n : x;

	if (!is_linear)
		return texel((long)floor(at));
	at -= 0.5;
	long i = (long)floor(at);
	double a = floor((at - i) * 256 + 0.5) / 256;
	return (float)((1 - a) * texel(i) + a * texel(i + 1));
}

static void modes()
{
	std::vector<float> v = {1, 5, 2, 8, 3, 3.5f, -4, 10}, xs;
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	for (float x = -2.3f; x < 2.5f; x += 0.15f)
		xs.push_back(x);
	OK(cudaMallocArray(&a, &f, v.size()));
	OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), 32, 32, 1, cudaMemcpyHostToDevice));
	float *dx = device(xs), *out = device(std::vector<float>(xs.size()));
	for (int mode = cudaAddressModeWrap; mode <= cudaAddressModeBorder; mode++)
		for (int filter = 0; filter < 2; filter++)
			for (int normalized = 0; normalized < 2; normalized++) {
				cudaTextureDesc d = how((cudaTextureAddressMode)mode,
							(cudaTextureFilterMode)filter,
							cudaReadModeElementType, normalized);
				d.borderColor[0] = 9;
				cudaTextureObject_t t = make(of(a), d);
				fetch_1d<float><<<1, 64>>>(t, out, dx, (int)xs.size());
				auto got = host(out, xs.size());
				/* Without normalized coordinates these two clamp. */
				auto m = !normalized && mode != cudaAddressModeBorder
						 ? cudaAddressModeClamp
						 : (cudaTextureAddressMode)mode;
				for (size_t i = 0; i < xs.size(); i++)
					THAT(is_near(got[i],
						     line_of(v, xs[i], m, filter, normalized)));
				OK(cudaDestroyTextureObject(t));
			}
	OK(cudaFreeArray(a));
}

static void volumes()
{
	const int w = 6, h = 5, d = 4;
	std::vector<float> v(w * h * d);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaMemcpy3DParms c = {};
	cudaArray_t a;

	for (int i = 0; i < w * h * d; i++)
		v[i] = (float)i;
	OK(cudaMalloc3DArray(&a, &f, make_cudaExtent(w, h, d)));
	c.srcPtr = make_cudaPitchedPtr(v.data(), w * 4, w, h);
	c.dstArray = a;
	c.extent = make_cudaExtent(w, h, d);
	c.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&c));
	float *out = device(std::vector<float>(8));
	fetch_3d<<<1, 4>>>(make(of(a), how()), out, 1.5f, 2.5f, 3.5f);
	auto got = host(out, 4);
	for (int i = 0; i < 4; i++)
		THAT(got[i] == v[(3 * h + 2) * w + 1 + i]);
	fetch_3d<<<1, 1>>>(make(of(a), how(cudaAddressModeClamp, cudaFilterModeLinear)), out, 2, 3,
			   2);
	THAT(is_near(host(out, 1)[0], (v[(1 * h + 2) * w + 1] + v[(2 * h + 3) * w + 2]) / 2));
	/* A part of it, back. */
	std::vector<float> part(2 * 3 * 2, -1);
	c = {};
	c.srcArray = a;
	c.srcPos = make_cudaPos(1, 2, 1);
	c.dstPtr = make_cudaPitchedPtr(part.data(), 2 * 4, 2, 3);
	c.extent = make_cudaExtent(2, 3, 2);
	c.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&c));
	for (int i = 0; i < 12; i++)
		THAT(part[i] == v[((1 + i / 6) * h + 2 + i / 2 % 3) * w + 1 + i % 2]);
	OK(cudaFreeArray(a));
	OK(cudaFree(out));
}

static void layers()
{
	std::vector<int> v(4 * 2 * 3);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<int>();
	cudaMemcpy3DParms c = {};
	cudaArray_t a;

	for (size_t i = 0; i < v.size(); i++)
		v[i] = (int)i * 3;
	OK(cudaMalloc3DArray(&a, &f, make_cudaExtent(4, 2, 3), cudaArrayLayered));
	c.srcPtr = make_cudaPitchedPtr(v.data(), 16, 4, 2);
	c.dstArray = a;
	c.extent = make_cudaExtent(4, 2, 3);
	c.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&c));
	int *out = device(std::vector<int>(16));
	fetch_layers<<<1, 16>>>(make(of(a), how()), out);
	auto got = host(out, 16);
	for (int i = 0; i < 16; i++) /* layers clamp */
		THAT(got[i] == v[(i / 4 < 3 ? i / 4 : 2) * 8 + 4 + i % 4]);
}

static void footprints()
{
	std::vector<float> v(16);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
	cudaArray_t a;
	float4 *out = device(std::vector<float4>(1));

	for (int i = 0; i < 16; i++)
		v[i] = (float)i;
	OK(cudaMallocArray(&a, &f, 4, 4, cudaArrayTextureGather));
	OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), 16, 16, 4, cudaMemcpyHostToDevice));
	gather<<<1, 1>>>(make(of(a), how()), out, 2, 2);
	float4 g = host(out, 1)[0];
	THAT(g.x == v[2 * 4 + 1] && g.y == v[2 * 4 + 2] && g.z == v[1 * 4 + 2] && g.w == v[1 * 4 + 1]);
}

/* ---- surfaces, copies ---------------------------------------------------------------- */

static void surfaces()
{
	const int w = 8, h = 4;
	std::vector<int> v(w * h), back(w * h);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<int>(), g;
	cudaArray_t a, b;
	cudaSurfaceObject_t s;
	cudaExtent e;
	unsigned flags;

	for (int i = 0; i < w * h; i++)
		v[i] = i * 10;
	OK(cudaMallocArray(&a, &f, w, h, cudaArraySurfaceLoadStore));
	OK(cudaMallocArray(&b, &f, w, h));
	OK(cudaMemcpy2DToArray(a, 0, 0, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	cudaResourceDesc r = of(a);
	OK(cudaCreateSurfaceObject(&s, &r));
	add_one<<<1, w * h>>>(s, w);
	OK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, w * 4, h));
	OK(cudaMemcpy2DFromArray(back.data(), w * 4, b, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
	for (int i = 0; i < w * h; i++)
		THAT(back[i] == v[i] + 1);
	/* A rectangle within, from a stream. */
	std::vector<int> part(2 * 3);
	OK(cudaMemcpy2DFromArrayAsync(part.data(), 8, b, 3 * 4, 1, 8, 3, cudaMemcpyDeviceToHost, 0));
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 6; i++)
		THAT(part[i] == v[(1 + i / 2) * w + 3 + i % 2] + 1);
	int *out = device(std::vector<int>(4, -1));
	surface_edges<<<1, 1>>>(s, out);
	auto got = host(out, 4);
	THAT(got[0] == 0 && got[1] == 1 && got[2] == v[w * h - 1] + 1 && got[3] == 0);
	OK(cudaArrayGetInfo(&g, &e, &flags, a));
	THAT(g.x == 32 && g.y == 0 && g.f == cudaChannelFormatKindSigned && e.width == w &&
	     e.height == h && e.depth == 0 && flags == cudaArraySurfaceLoadStore);
	EXPECT(cudaMemcpy2DToArray(a, 4, 0, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice),
	       cudaErrorInvalidValue);
	OK(cudaDestroySurfaceObject(s));
	OK(cudaFreeArray(b));
	OK(cudaFreeArray(a));
}

static void errors()
{
	cudaChannelFormatDesc f = cudaCreateChannelDesc<int>(), odd = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
	cudaTextureObject_t t;
	cudaArray_t a;
	int *p;

	OK(cudaMalloc(&p, 4096));
	cudaResourceDesc r = line(p, f, 4096);
	cudaTextureDesc d = how();
	EXPECT(cudaMallocArray(&a, &odd, 8), cudaErrorInvalidChannelDescriptor);
	EXPECT(cudaCreateTextureObject(&t, &r, NULL, NULL), cudaErrorInvalidValue);
	d.readMode = cudaReadModeNormalizedFloat;
	EXPECT(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidNormSetting);
	OK(cudaMallocArray(&a, &f, 8));
	cudaResourceDesc ra = of(a);
	d = how(cudaAddressModeClamp, cudaFilterModeLinear);
	EXPECT(cudaCreateTextureObject(&t, &ra, &d, NULL), cudaErrorInvalidFilterSetting);
	OK(cudaFreeArray(a));
	OK(cudaDestroyTextureObject(0));
	/* The last one: the device is lost then. */
	OK(cudaMallocArray(&a, &f, 8, 8, cudaArraySurfaceLoadStore));
	cudaSurfaceObject_t s;
	ra = of(a);
	OK(cudaCreateSurfaceObject(&s, &ra));
	surface_trap<<<1, 1>>>(s);
	THAT(cudaDeviceSynchronize() != cudaSuccess);
}

int main()
{
	formats();
	rows();
	modes();
	volumes();
	layers();
	footprints();
	surfaces();
	errors();
	puts("ok");
	return 0;
}
