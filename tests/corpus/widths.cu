// Loads and stores of every width, vector and cache operator; parameters of every kind.
#include <sm_32_intrinsics.h>
struct __align__(16) wide
{
	double a;
	float b[2];
};
struct odd {
	char c[7];
	short s;
};

__global__ void __launch_bounds__(256, 2)
	widths(const char *__restrict__ in8, char4 *v8, short2 *v16, int4 *v32, double2 *v64,
	       wide *w, const __grid_constant__ odd o, float *f, __int128 *q)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	char4 c = v8[i];
	wide x = w[i];

	v8[i + 1] = make_char4(c.w, c.z, c.y, in8[i]);
	v16[i] = make_short2((short)(c.x + o.s), o.c[i % 7]);
	int4 k = __ldcs(v32 + i);
	__stcg(v32 + i + 1, make_int4(k.w, k.z, k.y, k.x));
	double2 d = __ldcg(v64 + i);
	__stwt(v64 + i, make_double2(d.y, d.x));
	f[i] = __ldca(f + 1) + __ldcv(f + 2) + __ldlu(f + 3) + __ldg(f + 4) + x.b[0];
	__stcs(f + i + 5, x.b[1]);
	__stwb(f + i + 6, (float)x.a);
	w[i + 1] = x;
	q[i] = q[i + 1] * 3;
	volatile float *vf = f;
	vf[i] = vf[i + 7] + 1;
}

__global__ void __maxnreg__(32) three(float4 *a, const float *b, int n)
{
	float s = 0;

	for (int i = threadIdx.x; i < n; i += 32)
		s += a[i].x * b[3 * i] + a[i].y * b[3 * i + 1] + a[i].z * b[3 * i + 2];
	a[0].w = s;
}
