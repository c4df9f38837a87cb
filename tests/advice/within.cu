// within.cu - races within one launch, a kernel each, with the words that advice on them must have
// and must not have (words.py). `by` names detectors that must find it; the words hold for all.
#include <cuda/atomic>
#include <cuda_runtime.h>
#include <stdint.h>

#define LANE (threadIdx.x & 31)

// case lanes_exchange by oracle hirace iguard: __syncwarp\(\) not: event, grid\.sync, atomic
__global__ void lanes_exchange(int *out, int *)
{
	__shared__ int s[32];
	s[threadIdx.x] = (int)threadIdx.x;
	out[threadIdx.x] = s[31 - threadIdx.x];
}

// case warps_exchange by oracle hirace iguard: __syncthreads\(\) not: event, grid\.sync, split the kernel
__global__ void warps_exchange(int *out, int *)
{
	__shared__ int s[64];
	s[threadIdx.x] = (int)threadIdx.x;
	out[threadIdx.x] = s[63 - threadIdx.x];
}

// case reuse by oracle hirace iguard: __syncthreads\(\) not: event, fence
__global__ void reuse(int *out, int *)
{
	__shared__ int s[64];
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		s[threadIdx.x] = i + (int)threadIdx.x;
		__syncthreads();
		sum += s[63 - threadIdx.x];
	}
	out[threadIdx.x] = sum;
}

// case blocks_exchange by oracle hirace iguard: no barrier reaches another block not: __syncthreads, __syncwarp, Event
__global__ void blocks_exchange(int *out, int *p)
{
	p += 512;
	p[blockIdx.x * blockDim.x + threadIdx.x] = 1;
	out[blockIdx.x * blockDim.x + threadIdx.x] =
		p[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x];
}

// case count by oracle hirace iguard: atomicAdd\(\) not: fence, __syncthreads
__global__ void count(int *, int *p)
{
	p[0] += 1;
}

// case count_shared by oracle hirace iguard: atomicAdd\(\) not: fence, __syncthreads
__global__ void count_shared(int *out, int *)
{
	__shared__ int n;
	if (threadIdx.x == 0)
		n = 0;
	__syncthreads();
	n += 1;
	__syncthreads();
	if (threadIdx.x == 0)
		out[0] = n;
}

// case collect by oracle hirace iguard: atomicOr\(\) not: atomicAdd, fence, __syncthreads
__global__ void collect(int *, int *p)
{
	p[1] |= 1 << (blockIdx.x & 31);
}

// case claim by oracle hirace iguard: atomicCAS\(\) not: __syncthreads, atomicAdd, grid\.sync
__global__ void claim(int *, int *p)
{
	if (threadIdx.x == 0 && p[2] == 0)
		p[2] = (int)blockIdx.x + 1;
}

// case maximum by oracle hirace iguard: one step not: __syncthreads, grid\.sync
__global__ void maximum(int *, int *p)
{
	int v = (int)blockIdx.x * 7 % 5 + 1;
	if (threadIdx.x == 0 && v > p[3])
		p[3] = v;
}

// case reset_round by oracle hirace iguard: __sync(threads|warp)\(\) not: atomic, one step
__global__ void reset_round(int *out, int *)
{
	__shared__ int changed;
	int n = 0;
	if (threadIdx.x == 0)
		changed = 1;
	__syncthreads();
	while (changed) {
		if (threadIdx.x == 0)
			changed = 0;
		__syncthreads();
		if (threadIdx.x == 32 && n++ < 3)
			changed = 1;
		__syncthreads();
	}
	out[threadIdx.x] = n;
}

// case counted_beside by oracle unless iguard: atomicAdd\(\) not: release half, acquire half
__global__ void counted_beside(int *out, int *p)
{
	int at = atomicAdd(&p[4], 1);
	out[at] = at;
	if (threadIdx.x == 0)
		p[5] += at;
}

__device__ int lock_word[8];

// case lock_release by oracle hirace iguard: __threadfence\(\) not: instead of the load, doesn't help, __syncthreads\(\) between
__global__ void lock_release(int *, int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock_word[0], 0, 1))
		;
	__threadfence();
	p[8] += 1;
	atomicExch(&lock_word[0], 0);
}

// case lock_check by oracle hirace: __threadfence not: doesn't help, __syncthreads\(\) between
__global__ void lock_check(int *, int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock_word[4], 0, 1))
		;
	__threadfence();
	if (p[31] < (int)blockIdx.x)
		p[31] = (int)blockIdx.x;
	atomicExch(&lock_word[4], 0);
}

// case lock_acquire by oracle: acquire half not: instead of the load, doesn't help, release half
__global__ void lock_acquire(int *, int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(&lock_word[1], 0, 1))
		;
	p[9] += 1;
	__threadfence();
	atomicExch(&lock_word[1], 0);
}

// case queue_release by oracle: release half not: instead of the load, doesn't help
__global__ void queue_release(int *out, int *p)
{
	if (threadIdx.x)
		return;
	for (int i = 0; i < 3; i++) {
		while (atomicCAS(&lock_word[2], 0, 1))
			;
		__threadfence();
		if (p[10] < 100)
			out[p[10]++ & 63] = i;
		atomicExch(&lock_word[2], 0);
	}
}

// case semaphore by oracle: release half not: instead of the load, doesn't help
__global__ void semaphore(int *, int *p)
{
	if (threadIdx.x == 0) {
		while (atomicAdd(&lock_word[3], 0) != (int)blockIdx.x)
			;
		__threadfence();
	}
	__syncthreads();
	p[64 + threadIdx.x] = blockIdx.x ? p[64 + threadIdx.x] + 1 : 0;
	__syncthreads();
	if (threadIdx.x == 0)
		atomicExch(&lock_word[3], (int)blockIdx.x + 1);
}

__device__ int flags[16];

__device__ void raise(int *flag)
{
	atomicExch(flag, 1);
}

__device__ void await(int *flag)
{
	while (atomicAdd(flag, 0) == 0)
		;
}

// case flag_release by oracle iguard: release half not: acquire half, grid\.sync, atomicAdd
__global__ void flag_release(int *out, int *p)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		p[12] = 5;
		raise(&flags[0]);
	} else if (blockIdx.x == 1) {
		await(&flags[0]);
		__threadfence();
		out[0] = p[12];
	}
}

// case flag_acquire by oracle iguard: acquire half not: release half, grid\.sync, atomicAdd
__global__ void flag_acquire(int *out, int *p)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		p[13] = 5;
		__threadfence();
		raise(&flags[1]);
	} else if (blockIdx.x == 1) {
		await(&flags[1]);
		out[0] = p[13];
	}
}

// case flag_narrow by oracle iguard: in place of __threadfence_block\(\) not: grid\.sync, half is missing
__global__ void flag_narrow(int *out, int *p)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		p[14] = 5;
		__threadfence_block();
		raise(&flags[2]);
	} else if (blockIdx.x == 1) {
		await(&flags[2]);
		__threadfence();
		out[0] = p[14];
	}
}

// case flag_small by oracle: scope \.gpu not: grid\.sync, half is missing, __syncthreads
__global__ void flag_small(int *out, int *p)
{
	cuda::atomic_ref<int, cuda::thread_scope_block> f(flags[3]);
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		p[15] = 5;
		f.store(1, cuda::memory_order_release);
	} else if (blockIdx.x == 1) {
		while (!f.load(cuda::memory_order_acquire))
			;
		out[0] = p[15];
	}
}

// case flag_before by oracle: before the thread that sets the flag not: half is missing, grid\.sync
__global__ void flag_before(int *out, int *p)
{
	if (blockIdx.x == 0) {
		p[128 + threadIdx.x] = 5;
		__threadfence_block();
		if (threadIdx.x == 0) {
			__threadfence();
			raise(&flags[4]);
		}
	} else if (blockIdx.x == 1) {
		if (threadIdx.x == 0) {
			await(&flags[4]);
			__threadfence();
		}
		__syncthreads();
		out[threadIdx.x] = p[128 + threadIdx.x];
	}
}

// case flag_after by oracle: after the fence of the thread that read the flag not: half is missing, grid\.sync
__global__ void flag_after(int *out, int *p)
{
	if (blockIdx.x == 0) {
		p[192 + threadIdx.x] = 5;
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence();
			raise(&flags[5]);
		}
	} else if (blockIdx.x == 1) {
		if (threadIdx.x == 0) {
			await(&flags[5]);
			__threadfence();
		} else {
			for (int i = 0; i < 40; i++)
				__nanosleep(1000);
		}
		out[threadIdx.x] = p[192 + threadIdx.x];
	}
}

// case last_block by oracle: release half not: grid\.sync, atomicAdd
__global__ void last_block(int *out, int *p)
{
	__shared__ bool is_last;
	if (threadIdx.x == 0) {
		p[256 + blockIdx.x] = (int)blockIdx.x;
		is_last = atomicAdd(&flags[6], 1) == (int)gridDim.x - 1;
	}
	__syncthreads();
	if (is_last && threadIdx.x == 0) {
		int sum = 0;
		__threadfence();
		for (int i = 0; i < (int)gridDim.x; i++)
			sum += p[256 + i];
		out[0] = sum;
	}
}

// case warp_flag by oracle: __threadfence_block\(\) not: grid\.sync, atomicAdd
__global__ void warp_flag(int *out, int *)
{
	__shared__ int data, flag;
	if (threadIdx.x == 0)
		flag = 0;
	__syncthreads();
	if (threadIdx.x == 0) {
		*(volatile int *)&flag = 0;
		data = out[0] + 3;
		atomicExch(&flag, 1);
	} else if (threadIdx.x == 32) {
		while (atomicAdd(&flag, 0) == 0)
			;
		__threadfence_block();
		out[0] = data;
	}
}

// case half_atomic by oracle hirace iguard: plain store atomic not: __threadfence
__global__ void half_atomic(int *, int *p)
{
	if (blockIdx.x == 0)
		p[16] = 4;
	else
		atomicAdd(&p[16], 1);
}

// case one_writer by oracle hirace iguard: one thread write not: event, grid\.sync
__global__ void one_writer(int *out, int *)
{
	__shared__ int n;
	n = (int)threadIdx.x >> 5;
	__syncthreads();
	out[threadIdx.x] = n;
}

// case one_element by oracle hirace iguard: element of its own not: __syncthreads, __syncwarp
__global__ void one_element(int *, int *p)
{
	if (threadIdx.x == 0)
		p[17] = (int)blockIdx.x;
}

// case two_sizes by oracle: one type everywhere not: __syncthreads, atomicAdd
__global__ void two_sizes(int *, int *p)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0)
		atomicAdd((unsigned long long *)(p + 18), 1ull);
	else
		atomicAdd(p + 18, 1);
}

// case scope_block by oracle iguard unless hirace: scope \.gpu not: __syncthreads, instead of the load
__global__ void scope_block(int *, int *p)
{
	if (threadIdx.x == 0)
		atomicAdd_block(p + 20, 1);
}

// case read_only by oracle unless hirace: __ldg\(\) not: __syncthreads\(\), atomic
__global__ void read_only(int *out, int *p)
{
	int n;
	if (blockIdx.x == 0 && threadIdx.x == 0)
		p[21] = 1;
	asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(n) : "l"(p + 21));
	out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}

// case remote by oracle: cluster\.sync\(\) not: __syncthreads, grid\.sync, event
__global__ void __cluster_dims__(2, 1, 1) remote(int *out, int *)
{
	__shared__ int s;
	uint32_t own = (uint32_t)__cvta_generic_to_shared(&s), other;
	int n;
	if (threadIdx.x)
		return;
	s = (int)blockIdx.x;
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
		     : "=r"(other)
		     : "r"(own), "r"((blockIdx.x & 1) ^ 1));
	asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(n) : "r"(other) : "memory");
	out[blockIdx.x] = n;
	asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

// case warp_volatile by oracle: __syncwarp\(\) not: atomicExch, atomic_ref, event
__global__ void warp_volatile(int *out, int *)
{
	__shared__ int s[32];
	s[threadIdx.x] = out[threadIdx.x];
	out[threadIdx.x] = *(volatile int *)&s[threadIdx.x ^ 1];
}

// case block_volatile by oracle: volatile orders nothing: __syncthreads\(\) not: atomicExch, event
__global__ void block_volatile(int *out, int *)
{
	__shared__ int s[64];
	s[threadIdx.x] = out[threadIdx.x];
	out[threadIdx.x] = *(volatile int *)&s[63 - threadIdx.x];
}

// case early_use by oracle: after initialising an mbarrier not: atomicAdd, event
__global__ void early_use(int *out, int *)
{
	__shared__ uint64_t bar;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&bar);
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
	asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at) : "memory");
	out[threadIdx.x] = 1;
}

int main()
{
	int *out, *p;
	cudaMalloc(&out, 4096);
	cudaMalloc(&p, 4096);
	cudaMemset(p, 0, 4096);
#define RUN(kernel, blocks, threads) kernel<<<blocks, threads>>>(out, p)
	RUN(lanes_exchange, 1, 32);
	RUN(warps_exchange, 1, 64);
	RUN(reuse, 1, 64);
	RUN(blocks_exchange, 4, 32);
	RUN(count, 8, 1);
	RUN(count_shared, 1, 64);
	RUN(collect, 8, 1);
	RUN(claim, 8, 32);
	RUN(maximum, 8, 32);
	RUN(reset_round, 1, 64);
	RUN(counted_beside, 8, 32);
	RUN(lock_release, 6, 32);
	RUN(lock_acquire, 6, 32);
	RUN(queue_release, 6, 32);
	RUN(semaphore, 4, 64);
	RUN(flag_release, 2, 32);
	RUN(flag_acquire, 2, 32);
	RUN(flag_narrow, 2, 32);
	RUN(flag_small, 2, 32);
	RUN(flag_before, 2, 64);
	RUN(flag_after, 2, 64);
	RUN(last_block, 4, 32);
	RUN(warp_flag, 1, 64);
	RUN(half_atomic, 2, 1);
	RUN(one_writer, 1, 64);
	RUN(one_element, 4, 32);
	RUN(two_sizes, 2, 32);
	RUN(scope_block, 4, 32);
	RUN(read_only, 2, 32);
	RUN(remote, 2, 32);
	RUN(lock_check, 6, 32);
	RUN(warp_volatile, 1, 32);
	RUN(block_volatile, 1, 64);
	RUN(early_use, 1, 64); /* last: some schedules stop it, and the device with it */
	return cudaDeviceSynchronize() != cudaSuccess;
}
