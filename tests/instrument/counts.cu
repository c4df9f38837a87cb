// counts.cu - accesses of every shape that a call checks, for counts.sh: with an argument, two blocks race.
#include <cstdio>
#include <cstdlib>

// 14 checked accesses of each of 64 threads: 2 loads and 1 store of ints, 1 load and 1 store of bytes, 1
// load and 1 store of four ints, of two doubles each 1, of shared memory 2, a generic load and store;
// and 1 store by every second thread.
__global__ void clean(int *p, unsigned char *b, int4 *v, double2 *d, int **g, int n)
{
	__shared__ int s[32];
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	s[threadIdx.x] = p[i] + p[i + 64];
	__syncthreads();
	p[i + 128] = s[threadIdx.x ^ 1];
	b[i] = (unsigned char)(b[i + 64] + 1);
	v[i] = v[i + 64];
	d[i] = d[i + 64];
	__syncthreads();
	if (i % 2 < n)
		p[i + 192] = i;
	int *q = (int *)((char *)g[0] + 4 * i);
	__syncthreads();
	*q += 1;
}

__global__ void racy(int *p, unsigned char *b)
{
	if (blockIdx.x == 0) {
		p[threadIdx.x] = 1 + (int)threadIdx.x; // race: store
		b[threadIdx.x] = 1;		       // race: byte
	} else {
		p[64 + threadIdx.x] = p[threadIdx.x]; // race: load
		b[64 + threadIdx.x] = b[threadIdx.x]; // race: byte load
	}
}

int main(int argc, char **)
{
	int *p, **g, *q;
	unsigned char *b;
	int4 *v;
	double2 *d;
	bool bad = cudaMalloc(&p, 4096) || cudaMalloc(&b, 4096) || cudaMalloc(&v, 4096) ||
		   cudaMalloc(&d, 4096) || cudaMalloc(&g, 8) || cudaMalloc(&q, 4096);

	bad |= cudaMemset(p, 0, 4096) || cudaMemset(b, 0, 4096) || cudaMemset(v, 0, 4096) ||
	       cudaMemset(d, 0, 4096) || cudaMemset(q, 0, 4096) ||
	       cudaMemcpy(g, &q, 8, cudaMemcpyHostToDevice);
	if (argc > 1)
		racy<<<2, 32>>>(p, b);
	else
		clean<<<2, 32>>>(p, b, v, d, g, 1);
	bad |= cudaDeviceSynchronize() != cudaSuccess;
	printf("%s\n", bad ? "an error" : "done");
	return bad;
}
