// Kernels for record.c: parameters of all kinds.
struct shape {
	int w, h;
	float *row;
	char tail[3];
};

extern "C" __global__ void scale(float *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] *= 2;
}
extern "C" __global__ void pair(float *a, const float *b, int n, double f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = b[i] * (float)f;
}
extern "C" __global__ void by_struct(char c, shape s, float *p)
{
	int i = threadIdx.x;
	if (i < s.w * s.h)
		p[i] = s.row[i] + c + s.tail[0];
}
extern "C" __global__ void nothing()
{
}
/* More words than the recorder has room for at hand. */
struct many {
	int v[300];
	float *p;
};
extern "C" __global__ void wide(many m)
{
	m.p[threadIdx.x] = m.v[threadIdx.x];
}
