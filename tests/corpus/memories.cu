// Managed, constant, device and shared variables with initialisers, pointers among them included.
struct pair {
	const float *at;
	int n;
	unsigned char tag[3];
};

__constant__ float weights[8] = {0.5f, 1e-30f, -0.0f, 1.0f / 3.0f};
__constant__ double precise = 0.1;
__device__ float table[4] = {1, 2, 3, 4};
__device__ pair pairs[2] = {{table + 1, 3, {1, 2, 3}}, {weights, 8, {4, 5, 6}}};
__device__ const char text[] = "text with \"quotes\", \\ and \n newline";
__device__ const char *texts[] = {text, text + 5, "third"};
__managed__ unsigned long long managed = 0x123456789abcdefull;
__device__ volatile int flag;
__device__ __align__(64) char buffer[1000];
__device__ short numbers[] = {-1, 32767, -32768};
extern __shared__ double dynamic[];

__global__ void use(float *out, int i)
{
	__shared__ float tile[33];
	__shared__ unsigned char bytes[5];

	tile[i] = weights[i] + (float)precise;
	bytes[i % 5] = (unsigned char)i;
	dynamic[i] = table[i & 3];
	__syncthreads();
	managed += numbers[i % 3];
	while (flag == 0)
		;
	flag = 0;
	buffer[i] = texts[i % 3][i];
	out[i] = *pairs[i & 1].at + pairs[i & 1].tag[1] + tile[32 - i] + bytes[1] +
		 (float)dynamic[1];
}
