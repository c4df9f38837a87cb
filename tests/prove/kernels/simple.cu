/*
 * simple.cu - one access per thread, and the ways to get it wrong.
 */

// prove: saxpy race-free
__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}

// prove: off_by_one true
__global__ void off_by_one(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = y[i + 1];
}

// prove: no_block_offset true
__global__ void no_block_offset(float *y)
{
	y[threadIdx.x] = (float)blockIdx.x;
}

// prove: one_word true
__global__ void one_word(float *y)
{
	y[0] = (float)threadIdx.x;
}

// prove: one_thread race-free
__global__ void one_thread(float *y)
{
	if (threadIdx.x == 0 && blockIdx.x == 0)
		y[0] = 1.0f;
}

// prove: one_thread_per_block true
__global__ void one_thread_per_block(float *y)
{
	if (threadIdx.x == 0)
		y[0] = (float)blockIdx.x;
}

// prove: two_elements race-free
__global__ void two_elements(float *y)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	y[2ull * i] = 1.0f;
	y[2ull * i + 1] = 2.0f;
}

// prove: overlapping true
__global__ void overlapping(float *y)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	y[2 * i] = 1.0f;
	y[2 * i + 2] = 2.0f;
}

// prove: wraps_mask true
__global__ void wraps_mask(float *y)
{
	y[(threadIdx.x - 1u) & 31] = 1.0f;
}

// prove: mask_in_block single --block-dim=32
__global__ void mask_in_block(float *y)
{
	y[(threadIdx.x - 1u) & 31] = 1.0f;
}

// prove: bytes_and_words true
__global__ void bytes_and_words(unsigned char *y)
{
	if (threadIdx.x == 0)
		*(unsigned *)y = 0;
	else
		y[threadIdx.x] = 1;
}

// prove: bytes single
__global__ void bytes(unsigned char *y)
{
	y[threadIdx.x] = 1;
}

// prove: even_odd single
__global__ void even_odd(float *y, const float *x)
{
	unsigned i = threadIdx.x;
	if (i % 2 == 0)
		y[i] = x[i];
	else
		y[i] = x[i - 1];
}

// prove: modulo true
__global__ void modulo(float *y)
{
	y[threadIdx.x % 16] = 1.0f;
}

// prove: divide true
__global__ void divide(float *y)
{
	y[threadIdx.x / 2] = 1.0f;
}

// prove: reversed single
__global__ void reversed(float *y)
{
	y[blockDim.x - 1 - threadIdx.x] = 1.0f;
}

// prove: vectors race-free
__global__ void vectors(float4 *y)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	y[i] = make_float4(1, 2, 3, 4);
}

// prove: in_place race-free
__global__ void in_place(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	y[i] *= 2;
}

struct pair {
	float a;
	int b;
};

// prove: struct_fields race-free
__global__ void struct_fields(struct pair *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i].a = 1;
	p[i].b = 2;
}

union word {
	unsigned u;
	unsigned char c[4];
};

// prove: union_bytes race-free
__global__ void union_bytes(union word *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i].u = 0;
	p[i].c[3] = 1;
}

__device__ float helper(float *p, int i)
{
	return p[i] + 1;
}

__device__ void store(float *p, int i, float v)
{
	p[i] = v;
}

// prove: device_functions race-free
__global__ void device_functions(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		store(y, i, helper(y, i));
}

// prove: device_functions_racy true
__global__ void device_functions_racy(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i + 1 < n)
		store(y, i, helper(y, i + 1));
}

__device__ void swap(int &a, int &b)
{
	int t = a;
	a = b;
	b = t;
}

// prove: by_reference single
__global__ void by_reference(int *y)
{
	int a = threadIdx.x, b = 1000;
	swap(a, b);
	y[b] = a;
}

__device__ int state[1024];

// prove: module_variable single
__global__ void module_variable()
{
	state[threadIdx.x] += 1;
}
