/*
 * loaded.cu - arrays whose address all threads read from one place in memory. Which array it is
 * doesn't matter: the threads that meet in it race.
 */
__device__ int *table, *other, *rows[64];

struct Mesh {
	int n;
	int *cell;
	float *value;
};

// prove: shifted true
__global__ void shifted()
{
	table[max((int)(blockIdx.x * blockDim.x + threadIdx.x), 1) - 1] = 1;
}

// prove: shifted_twin race-free
__global__ void shifted_twin()
{
	table[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// prove: neighbour true --block-dim=64
__global__ void neighbour(Mesh *m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	m->value[i] = 2 * m->value[i + 1];
}

// prove: neighbour_twin race-free --block-dim=64
__global__ void neighbour_twin(Mesh *m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	m->value[i] = 2 * m->cell[i + 1];
}

// A host that has no such array launches it, too; one that has it sees the race.
// prove: if_any true --block-dim=64
__global__ void if_any(int *out)
{
	int *t = table;
	if (t)
		t[threadIdx.x / 2] = threadIdx.x;
	out[blockIdx.x * 64 + threadIdx.x] = 1;
}

// Two variables: other arrays by the contract.
// prove: two race-free --block-dim=64
__global__ void two()
{
	int i = blockIdx.x * 64 + threadIdx.x;
	table[i] = other[i + 1];
}

// The kernel itself sets the pointer: what others read isn't known.
// prove: set potential racy --block-dim=64
__global__ void set(int *to)
{
	__shared__ int *p;
	if (threadIdx.x == 0)
		p = to;
	__syncthreads();
	p[blockIdx.x * 64 + threadIdx.x / 2] = threadIdx.x;
}

// An array for each thread, or for two of them.
// prove: of_threads race-free --block-dim=64 --grid-dim=1
__global__ void of_threads()
{
	rows[threadIdx.x][0] = threadIdx.x;
}

// prove: of_pairs potential racy --block-dim=64 --grid-dim=1
__global__ void of_pairs()
{
	rows[threadIdx.x / 2][0] = threadIdx.x;
}
