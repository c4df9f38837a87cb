// Conversions and arithmetic in fp8, fp6, fp4, bf16, fp16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

__global__ void convert(const float2 *in, __nv_fp8x2_storage_t *out8, float2 *out,
			__nv_fp4x2_storage_t *out4, __nv_fp6x2_storage_t *out6)
{
	int t = threadIdx.x;
	float2 v = in[t];
	__nv_fp8x2_storage_t e4 = __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E4M3);
	__nv_fp8x2_storage_t e5 = __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E5M2);

	out8[2 * t] = e4;
	out8[2 * t + 1] = e5;
	out4[t] = __nv_cvt_float2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
	out6[t] = __nv_cvt_float2_to_fp6x2(v, __NV_E3M2, cudaRoundNearest);
	__half2 h = __half2(__nv_cvt_fp8x2_to_halfraw2(e4, __NV_E4M3));
	__nv_bfloat162 b = __float22bfloat162_rn(v);
	h = __hfma2(h, h, __hmax2(h, __float22half2_rn(v)));
	b = __hfma2_relu(b, b, __hneg2(b));
	out[t] = make_float2(__low2float(h) + __low2float(b), hsin(__high2half(h)));
	out[t].y += __half2float(htanh(__low2half(h))) + __bfloat162float(hexp(__high2bfloat16(b)));
}
