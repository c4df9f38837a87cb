/*
 * indices.cu - numbers that loops carry, or that are put together from parts, beside an address.
 */

// Bytes that a thread makes for itself, and uses up one by one.
// prove: own_position race-free --block-dim=64 --grid-dim=4
__global__ void own_position(unsigned char *out, const unsigned char *in, int n)
{
	unsigned char own[64];
	size_t position = 64;
	for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) {
		if (position >= 64) {
			for (int k = 0; k < 64; k++)
				own[k] = in[k] + i;
			position = 0;
		}
		out[i] ^= own[position++];
	}
}

// prove: own_position_racy true --block-dim=64 --grid-dim=4
__global__ void own_position_racy(unsigned char *out, const unsigned char *in, int n)
{
	unsigned char own[64];
	size_t position = 64;
	for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 255) {
		if (position >= 64) {
			for (int k = 0; k < 64; k++)
				own[k] = in[k] + i;
			position = 0;
		}
		out[i] ^= own[position++];
	}
}

// The same of an array that all read.
// prove: read_position race-free --block-dim=64 --grid-dim=4
__global__ void read_position(unsigned char *out, const unsigned char *in, int n)
{
	size_t position = 64;
	for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) {
		if (position >= 64)
			position = i % 3;
		out[i] ^= in[position++];
	}
}

// prove: read_position_written true --block-dim=64 --grid-dim=4
__global__ void read_position_written(unsigned char *out, int n)
{
	size_t position = 64;
	for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) {
		if (position >= 64)
			position = i % 3;
		out[i] ^= out[position++];
	}
}

// ... and of shared memory, beside another variable.
// prove: shared_position race-free --block-dim=64 --grid-dim=1
__global__ void shared_position(const unsigned char *in, unsigned char *out, int n)
{
	__shared__ unsigned char key[64], sum[64];
	size_t position = 64;
	key[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int i = 0; i < n; i++) {
		if (position >= 64)
			position = i % 3;
		sum[threadIdx.x] += key[position++];
	}
	out[threadIdx.x] = sum[threadIdx.x];
}

// prove: shared_position_written true --block-dim=64 --grid-dim=1
__global__ void shared_position_written(const unsigned char *in, unsigned char *out, int n)
{
	__shared__ unsigned char key[64];
	size_t position = 64;
	key[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int i = 0; i < n; i++) {
		if (position >= 64)
			position = i % 3;
		key[threadIdx.x] += key[position++];
	}
	out[threadIdx.x] = key[threadIdx.x];
}

// What the loop carries becomes the address of another array: it is no number of bytes.
// prove: position_is_address potential racy --block-dim=64 --grid-dim=1
__global__ void position_is_address(unsigned char *a, unsigned char *b, int n)
{
	size_t position = 0;
	for (int i = 0; i < n; i++) {
		a[position] = b[threadIdx.x];
		position = (size_t)b + position % 2 - (size_t)a;
	}
}

// The upper half of what is cut to an index is no address.
// prove: mixed_index race-free --block-dim=64 --grid-dim=4
__global__ void mixed_index(int *out, const int *in, unsigned x, unsigned y)
{
	unsigned i = blockIdx.x * 64 + threadIdx.x;
	unsigned long long mixed = ((unsigned long long)(x + i) << 32 | y) >> (x & 31);
	out[i] = in[(unsigned)mixed];
}

// prove: mixed_index_written true --block-dim=64 --grid-dim=4
__global__ void mixed_index_written(int *out, unsigned x, unsigned y)
{
	unsigned i = blockIdx.x * 64 + threadIdx.x;
	unsigned long long mixed = ((unsigned long long)(x + i) << 32 | y) >> (x & 31);
	out[i] = out[(unsigned)mixed];
}

// ... of what isn't cut it may be one.
// prove: halves_of_address potential racy --block-dim=64 --grid-dim=4
__global__ void halves_of_address(int *out, unsigned low, unsigned high)
{
	int *p = (int *)((unsigned long long)high << 32 | low);
	out[threadIdx.x + blockIdx.x * 64] = p[threadIdx.x];
}
