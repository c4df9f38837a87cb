/* Variables by their host names: sizes, copies with offsets, managed ones from the host. */
#include "expect.h"

__device__ int plain = 5;
__device__ short many[6] = {1, 2, 3, 4, 5, 6};
__constant__ float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
static __device__ long long hidden = -7;
__managed__ int shared_with_host = 11;
int not_a_symbol;

__global__ void use(int *out)
{
	out[0] = plain;
	out[1] = many[5];
	out[2] = (int)(table[3] * 2);
	out[3] = (int)hidden;
	out[4] = shared_with_host;
	shared_with_host += 100;
}

int main()
{
	int *out, n, got[5];
	size_t size;
	void *p;

	THAT(shared_with_host == 11); /* before anything else has touched the device */
	OK(cudaGetSymbolSize(&size, plain));
	THAT(size == 4);
	OK(cudaGetSymbolSize(&size, many));
	THAT(size == 12);
	OK(cudaGetSymbolAddress(&p, table));
	THAT(p != (void *)table);
	EXPECT(cudaGetSymbolAddress(&p, not_a_symbol), cudaErrorInvalidSymbol);

	n = 42;
	OK(cudaMemcpyToSymbol(plain, &n, sizeof(n)));
	short s = 60;
	OK(cudaMemcpyToSymbol(many, &s, sizeof(s), 10));
	EXPECT(cudaMemcpyToSymbol(many, &n, sizeof(n), 10), cudaErrorInvalidValue);
	EXPECT(cudaMemcpyToSymbol(many, &n, sizeof(n), 0, cudaMemcpyDeviceToHost),
	       cudaErrorInvalidMemcpyDirection);
	float f = 10;
	OK(cudaMemcpyToSymbolAsync(table, &f, sizeof(f), 12, cudaMemcpyHostToDevice, 0));
	long long h = 0;
	OK(cudaMemcpyFromSymbol(&h, hidden, sizeof(h)));
	THAT(h == -7);
	shared_with_host = 12;

	OK(cudaMalloc(&out, sizeof(got)));
	use<<<1, 1>>>(out);
	OK(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDefault));
	THAT(got[0] == 42 && got[1] == 60 && got[2] == 20 && got[3] == -7 && got[4] == 12);
	THAT(shared_with_host == 112);
	OK(cudaMemcpyFromSymbol(&n, shared_with_host, sizeof(n)));
	THAT(n == 112);
	OK(cudaFree(out));
	puts("ok");
}
