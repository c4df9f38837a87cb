// Textures and surfaces: of a line of memory, of rows, of arrays; what reads them beside what writes
// them, and surfaces that threads write at the same place.
// flags: -std=c++17
#include "streams.h"

#define WIDTH  64
#define HEIGHT 32 /* WIDTH * HEIGHT is N */

static cudaTextureObject_t texture(const cudaResourceDesc &res)
{
	cudaTextureDesc d = {};
	cudaTextureObject_t out;

	d.readMode = cudaReadModeElementType;
	CHECK(cudaCreateTextureObject(&out, &res, &d, nullptr));
	return out;
}
static cudaResourceDesc of_array(cudaArray_t a)
{
	cudaResourceDesc d = {};

	d.resType = cudaResourceTypeArray;
	d.res.array.array = a;
	return d;
}
static cudaResourceDesc of_line(int *p)
{
	cudaResourceDesc d = {};

	d.resType = cudaResourceTypeLinear;
	d.res.linear.devPtr = p;
	d.res.linear.desc = cudaCreateChannelDesc<int>();
	d.res.linear.sizeInBytes = BYTES;
	return d;
}
static cudaResourceDesc of_rows(int *p)
{
	cudaResourceDesc d = {};

	d.resType = cudaResourceTypePitch2D;
	d.res.pitch2D.devPtr = p;
	d.res.pitch2D.desc = cudaCreateChannelDesc<int>();
	d.res.pitch2D.width = WIDTH;
	d.res.pitch2D.height = HEIGHT;
	d.res.pitch2D.pitchInBytes = WIDTH * sizeof(int);
	return d;
}
static cudaSurfaceObject_t surface(cudaArray_t a)
{
	cudaResourceDesc d = of_array(a);
	cudaSurfaceObject_t out;

	CHECK(cudaCreateSurfaceObject(&out, &d));
	return out;
}
// An array that holds 0, 1, 2 ..., each `step` times.
static cudaArray_t array(int step)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
	static int start[N];
	cudaArray_t a;

	for (int i = 0; i < N; i++)
		start[i] = i / step;
	CHECK(cudaMallocArray(&a, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
	CHECK(cudaMemcpy2DToArray(a, 0, 0, start, WIDTH * sizeof(int), WIDTH * sizeof(int), HEIGHT,
				  cudaMemcpyHostToDevice));
	return a;
}

// Another stream writes the memory.
template <bool ORDER> __global__ void k_line_texture(cudaTextureObject_t t, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = tex1Dfetch<int>(t, N - 1 - i);
}
template <bool ORDER> void line_texture()
{
	begin();
	cudaTextureObject_t t = texture(of_line(x.p));
	PUT(x.a, x.p);
	if (ORDER)
		order(x.a, x.b);
	LAUNCH(line_texture, x.b, t, x.out);
}

// The host copies to the memory.
template <bool ORDER> __global__ void k_rows_texture(cudaTextureObject_t t, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = tex2D<int>(t, (float)(i % WIDTH), (float)(i / WIDTH));
}
template <bool ORDER> void rows_texture()
{
	begin();
	cudaTextureObject_t t = texture(of_rows(x.p));
	LAUNCH(rows_texture, x.b, t, x.out);
	if (ORDER)
		order(x.b, x.a);
	CHECK(cudaMemcpyAsync(x.p, x.host, BYTES, cudaMemcpyHostToDevice, x.a));
}

// The host copies to the array.
template <bool ORDER> __global__ void k_array_texture(cudaTextureObject_t t, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = tex2D<int>(t, (float)(i % WIDTH), (float)(i / WIDTH));
}
template <bool ORDER> void array_texture()
{
	begin();
	cudaArray_t a = array(1);
	cudaTextureObject_t t = texture(of_array(a));
	LAUNCH(array_texture, x.b, t, x.out);
	if (ORDER)
		order(x.b, x.a);
	CHECK(cudaMemcpy2DToArrayAsync(a, 0, 0, x.host, WIDTH * sizeof(int), WIDTH * sizeof(int),
				       HEIGHT, cudaMemcpyHostToDevice, x.a));
}

// Places are in an array: two threads have the same one, where it says so.
template <bool ORDER> __global__ void k_texture_places(cudaTextureObject_t t, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[tex2D<int>(t, (float)(i % WIDTH), (float)(i / WIDTH))] = i;
}
template <bool ORDER> void texture_places()
{
	begin();
	cudaTextureObject_t t = texture(of_array(array(ORDER ? 1 : 2)));
	LAUNCH(texture_places, x.a, t, x.out);
}

// Threads write a texel each, or two of them the same one.
template <bool ORDER> __global__ void k_surface_store(cudaSurfaceObject_t s)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = ORDER ? i : i / 2;

	surf2Dwrite(i, s, at % WIDTH * 4, at / WIDTH);
}
template <bool ORDER> void surface_store()
{
	begin();
	LAUNCH(surface_store, x.a, surface(array(1)));
}

// Another thread's texel. (A barrier wouldn't order them: the guide leaves surface reads of what the
// same kernel has written undefined.)
template <bool ORDER>
__global__ void k_surface_load(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ 64;

	surf2Dwrite(i, to, i % WIDTH * 4, i / WIDTH);
	__syncthreads();
	out[i] = surf2Dread<int>(from, other % WIDTH * 4, other / WIDTH);
}
template <bool ORDER> void surface_load()
{
	begin();
	cudaArray_t a = array(1), b = ORDER ? array(1) : a;
	LAUNCH(surface_load, x.a, surface(a), surface(b), x.out);
}

PAIRS(PAIR(line_texture), PAIR(rows_texture), PAIR(array_texture), PAIR(texture_places),
      PAIR(surface_store), PAIR(surface_load))
