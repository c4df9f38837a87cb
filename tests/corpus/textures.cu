// Texture and surface objects: fetches of every shape, level, gradient, gather, queries.
#include <surface_indirect_functions.h>
#include <texture_indirect_functions.h>
__global__ void fetch(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3,
		      cudaTextureObject_t lay, cudaTextureObject_t cube, float4 *out)
{
	int i = threadIdx.x;
	float x = i * 0.1f;
	float4 v = tex1Dfetch<float4>(t1, i);

	v.x += tex1D<float>(t1, x) + tex1DLod<float>(t1, x, 1.0f) +
	       tex1DGrad<float>(t1, x, 0.1f, 0.2f);
	v.y += tex2D<float>(t2, x, x) + tex2DLod<float>(t2, x, x, 2.0f);
	v.y += tex2DGrad<float>(t2, x, x, make_float2(0.1f, 0.2f), make_float2(0.3f, 0.4f));
	v.z += tex3D<float>(t3, x, x, x) + tex2Dgather<float4>(t2, x, x, 2).w;
	v.w += tex2DLayered<float>(lay, x, x, 3) + texCubemap<float>(cube, x, x, x);
	v.w += texCubemapLayered<float>(cube, x, x, x, 2) + tex1DLayered<uint2>(lay, x, 1).y;
	out[i] = v;
}

__global__ void surfaces(cudaSurfaceObject_t s1, cudaSurfaceObject_t s2, cudaSurfaceObject_t s3)
{
	int i = threadIdx.x;
	int a = surf1Dread<int>(s1, i * 4, cudaBoundaryModeClamp);
	uchar4 b = surf2Dread<uchar4>(s2, i * 4, i, cudaBoundaryModeZero);
	float2 c;

	surf3Dread(&c, s3, i * 8, i, i);
	surf1Dwrite(a + b.x, s1, i * 4);
	surf2Dwrite(b, s2, i * 4, i, cudaBoundaryModeTrap);
	surf3Dwrite(c, s3, i * 8, i, i);
	surf2DLayeredwrite(make_uint4(a, 1, 2, 3), s2, i * 16, i, 1);
}
