extern __device__ int add(int *p, int v);

__global__ void k(int *p)
{
	add(p, 1);
}

int main(int argc, char **)
{
	if (argc > 9)
		k<<<1, 32>>>(nullptr);
	return 0;
}
