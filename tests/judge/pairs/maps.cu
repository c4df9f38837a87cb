// Tensor maps in constant and global memory, and one that the kernel changes: half of the threads don't
// wait for the copy, or nothing orders the change before the copy reads the map.
// flags: -std=c++17
#include "copies.h"

#define ROWS	64
#define COLUMNS 128
#define MATRIX	(ROWS * COLUMNS)

// Copies a tile to s, of which thread 0 is in charge.
static __device__ void load(int *s, const void *map, int column, uint64_t *full)
{
	mbar_expect(full, 1024);
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile."
		     "mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(s)),
		     "l"(map), "r"(column), "r"(0), "r"(smem(full))
		     : "memory");
}
static __device__ void start(uint64_t *full)
{
	if (threadIdx.x == 0) {
		mbar_init(full, 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
}
// The tile by a map that is there.
template <bool ORDER> static __device__ void tile(const CUtensorMap *map, int *out)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(8) uint64_t full;
	int t = threadIdx.x;

	start(&full);
	if (t == 0)
		load(s, map, 32 * (blockIdx.x & 1), &full);
	if (ORDER || t < 128)
		mbar_wait(&full, 0);
	out[blockIdx.x * 256 + t] = s[t];
	mbar_wait(&full, 0);
}

static __constant__ CUtensorMap fixed_map;

template <bool ORDER> __global__ void k_const_map(int *out)
{
	tile<ORDER>(&fixed_map, out);
}
template <bool ORDER> void const_map()
{
	CUtensorMap map = make_map(device<int>(MATRIX), ROWS, COLUMNS);

	CHECK(cudaMemcpyToSymbol(fixed_map, &map, sizeof(map)));
	k_const_map<ORDER><<<4, 256>>>(device<int>(1024));
}

// A map for each block, as kernels for groups of matrices have them; some of 128 bytes lie in two of
// the pages of 64 KiB in which the judge reads memory.
#define MAPS 520

template <bool ORDER> __global__ void k_map_array(const CUtensorMap *maps, int *out)
{
	tile<ORDER>(&maps[blockIdx.x ? MAPS - 1 - blockIdx.x : 0], out);
}
template <bool ORDER> void map_array()
{
	static CUtensorMap maps[MAPS];
	char *at = device<char>(sizeof(maps) + 64);
	int *in = device<int>(MATRIX);

	for (int i = 0; i < MAPS; i++)
		maps[i] = make_map(in, ROWS / 2 + i % 8, COLUMNS);
	CHECK(cudaMemcpy(at + 64, maps, sizeof(maps), cudaMemcpyHostToDevice));
	k_map_array<ORDER><<<16, 256>>>((const CUtensorMap *)(at + 64), device<int>(16 * 256));
}

// The map is copied to shared memory, gets another address, and is stored to the block's place.
template <bool ORDER>
__global__ void k_changed_map(const __grid_constant__ CUtensorMap map, CUtensorMap *places, int *in,
			      int *out)
{
	__shared__ alignas(128) int s[256];
	__shared__ alignas(128) uint64_t own[16];
	__shared__ alignas(8) uint64_t full;
	CUtensorMap *place = &places[blockIdx.x];
	int t = threadIdx.x;

	start(&full);
	if (t < 16)
		own[t] = ((const uint64_t *)&map)[t];
	__syncwarp();
	if (t == 0)
		asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::
				     "r"(smem(own)),
			     "l"(in + MATRIX / 2)
			     : "memory");
	__syncwarp();
	if (ORDER && t < 32) {
		asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
			     "gpu.sync.aligned [%0], [%1], 128;" ::"l"(place),
			     "r"(smem(own))
			     : "memory");
		asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(place)
			     : "memory");
	} else if (t < 16) {
		((uint64_t *)place)[t] = own[t];
	}
	__syncwarp();
	if (t == 0)
		load(s, place, 0, &full);
	mbar_wait(&full, 0);
	out[blockIdx.x * 256 + t] = s[t];
}
template <bool ORDER> void changed_map()
{
	int *in = device<int>(MATRIX);
	CUtensorMap map = make_map(in, ROWS / 2, COLUMNS), *places = device<CUtensorMap>(4);

	/* What is there before is a map, too: the GPU may read that. */
	for (int i = 0; i < 4; i++)
		CHECK(cudaMemcpy(&places[i], &map, sizeof(map), cudaMemcpyHostToDevice));
	k_changed_map<ORDER><<<4, 256>>>(map, places, in, device<int>(1024));
}

PAIRS(PAIR(const_map), PAIR(map_array), PAIR(changed_map))
