// parted.cu - races behind a barrier, shuffle or vote of all lanes of a warp that only some lanes come to. Lanes that
// have ended aren't waited for (PTX ISA 9.7.13.4; docs/cpu-device.md); others are, for ever if they never come. Each
// kernel that waits so has a twin that all lanes pass. The launch has 64 threads.
#define t threadIdx.x

// Half of a warp waits for the other, which waits at the block's barrier.
template <bool APART> __device__ void at_the_block(int *p)
{
	if (!APART || t % 32 < 16)
		__syncwarp();
	__syncthreads();
	p[0] = t;
}
// prove: waits_at_the_block potential --block-dim=64
__global__ void waits_at_the_block(int *p) { at_the_block<true>(p); }
// prove: comes_to_the_block true racy --block-dim=64
__global__ void comes_to_the_block(int *p) { at_the_block<false>(p); }

// Of the second warp only, and the race is of the first's.
template <bool APART> __device__ void other_warp(int *p)
{
	if (!APART ? t >= 32 : t >= 48)
		__syncwarp();
	__syncthreads();
	if (t < 32)
		p[0] = t;
}
// prove: other_warp_waits potential --block-dim=64
__global__ void other_warp_waits(int *p) { other_warp<true>(p); }
// prove: other_warp_comes true racy --block-dim=64
__global__ void other_warp_comes(int *p) { other_warp<false>(p); }

// The others have ended: they aren't waited for.
// prove: others_have_ended true racy --block-dim=64
__global__ void others_have_ended(int *p)
{
	if (t % 32 >= 16)
		return;
	__syncwarp();
	p[0] = t;
}
// They end later, behind what is theirs.
// prove: others_end_later true racy --block-dim=64
__global__ void others_end_later(int *p)
{
	if (t % 32 < 16) {
		__syncwarp();
		p[0] = t;
	} else {
		p[t] = 1;
	}
}

// At two barriers with the same mask, once each: any two go together.
template <bool APART> __device__ void two_masks(int *p)
{
	if (t % 32 < 16)
		__syncwarp();
	else
		__syncwarp(APART ? 0xffff0000 : 0xffffffff);
	__syncthreads();
	p[0] = t;
}
// prove: waits_at_two_masks potential --block-dim=64
__global__ void waits_at_two_masks(int *p) { two_masks<true>(p); }

// prove: two_places true racy --block-dim=64
__global__ void two_places(int *p) { two_masks<false>(p); }

// Each half has a mask of its own.
template <unsigned LOW> __device__ void halves(int *p)
{
	if (t % 32 < 16)
		__syncwarp(LOW);
	else
		__syncwarp(0xffff0000);
	__syncthreads();
	if (t >= 32)
		p[0] = t;
}
// prove: halves_wait potential --block-dim=64
__global__ void halves_wait(int *p) { halves<0x1ffff>(p); }
// prove: halves_come true racy --block-dim=64
__global__ void halves_come(int *p) { halves<0xffff>(p); }

// The access is behind it, and only of the lanes that come.
template <bool APART> __device__ void behind(int *p)
{
	__shared__ int s[64];
	if (!APART || t % 32 < 16) {
		__syncwarp();
		s[t / 32] = t;
	}
	__syncthreads();
	p[t] = s[t];
}
// prove: behind_it potential --block-dim=64
__global__ void behind_it(int *p) { behind<true>(p); }
// prove: behind_all true racy --block-dim=64
__global__ void behind_all(int *p) { behind<false>(p); }

// In front of it, nothing keeps lanes from a race.
// prove: in_front_of_it true racy --block-dim=64
__global__ void in_front_of_it(int *p)
{
	p[0] = t;
	if (t % 32 < 16)
		__syncwarp();
	__syncthreads();
}

// A shuffle and a vote wait like that.
template <bool APART> __device__ void shuffles(int *p)
{
	int v = t;
	if (!APART || t % 32 < 16)
		v = __shfl_xor_sync(0xffffffff, v, 1);
	__syncthreads();
	p[0] = v;
}
// prove: waits_at_a_shuffle potential --block-dim=64
__global__ void waits_at_a_shuffle(int *p) { shuffles<true>(p); }
// prove: comes_to_a_shuffle true racy --block-dim=64
__global__ void comes_to_a_shuffle(int *p) { shuffles<false>(p); }
template <bool APART> __device__ void votes(int *p)
{
	int v = t;
	if (!APART || t % 32 < 16)
		v = __any_sync(0xffffffff, v & 1);
	__syncthreads();
	p[0] = v;
}
// prove: waits_at_a_vote potential --block-dim=64
__global__ void waits_at_a_vote(int *p) { votes<true>(p); }
// prove: comes_to_a_vote true racy --block-dim=64
__global__ void comes_to_a_vote(int *p) { votes<false>(p); }

// The lanes that the mask names are those that come.
// prove: half_shuffles true racy --block-dim=64
__global__ void half_shuffles(int *p)
{
	int v = t;
	if (t % 32 < 16)
		v = __shfl_xor_sync(0xffff, v, 1);
	__syncthreads();
	p[0] = v;
}

// One more turn than the others.
template <bool APART> __device__ void turns(int *p)
{
	for (int i = 0; i < (APART && t % 32 == 5 ? 5 : 4); i++)
		__syncwarp();
	__syncthreads();
	p[0] = t;
}
// prove: one_more_turn potential --block-dim=64
__global__ void one_more_turn(int *p) { turns<true>(p); }
// prove: as_many_turns true racy --block-dim=64
__global__ void as_many_turns(int *p) { turns<false>(p); }

// A schedule of copies: likewise.
template <int WAY> __device__ void copied(float *out, float *in)
{
	__shared__ float s[64];
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&s[t])),
		     "l"(&in[t])
		     : "memory");
	asm volatile("cp.async.commit_group;" ::: "memory");
	int v = t;
	if (WAY == 1 && t % 32 < 16)
		v = __shfl_xor_sync(0xffffffff, v, 1);
	else if (WAY == 0)
		v = __shfl_xor_sync(0xffffffff, v, 1);
	else if (t % 32 < 16)
		__syncwarp();
	__syncthreads();
	out[t] = s[t ^ 1] + v;
	asm volatile("cp.async.wait_all;" ::: "memory");
}
// prove: copied_by_all true racy --block-dim=64
__global__ void copied_by_all(float *out, float *in) { copied<0>(out, in); }
// prove: copied_behind_a_shuffle potential --block-dim=64
__global__ void copied_behind_a_shuffle(float *out, float *in) { copied<1>(out, in); }
// prove: copied_behind_a_barrier potential --block-dim=64
__global__ void copied_behind_a_barrier(float *out, float *in) { copied<2>(out, in); }
