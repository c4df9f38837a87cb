/*
 * lanes_gpu.h - part of hirace.cu and iguard.cu: the rows of a warp's lanes (race/layout/lanes.h).
 *
 * Costs: 16 votes at a full mask, 16 shuffles for each lane of a partial one. Kernels whose masks
 * are full by their text never come here.
 */
#ifndef COLLIDER_DEVICE_LANES_GPU_H
#define COLLIDER_DEVICE_LANES_GPU_H

/* Does the mask hold all lanes of the warp? */
DEV_FN bool dev_is_full(uint32_t mask)
{
	struct place p = dev_place();
	uint32_t first = p.in_block & ~31u, lanes = p.block_size - first;
	uint32_t all = lanes >= 32u ? 0xffffffffu : (1u << lanes) - 1u;

	return (mask & all) == all;
}

/* The lanes of the mask whose bit is set. Lanes with other masks may be here, too. */
DEV_FN uint32_t dev_vote(uint32_t mask, bool bit)
{
	return __ballot_sync(mask, bit) & mask;
}

/* The highest clock of the lanes, and one: no lane has had it. By votes, in which lanes that have
 * ended take no part. */
DEV_FN uint32_t dev_lanes_next(const struct race_lane *l, uint32_t lane, uint32_t mask)
{
	uint32_t clock = l->seen[lane], most = 0;
	bool leads = true;

#pragma unroll 1
	for (uint32_t bit = 1u << 15; bit; bit >>= 1) {
		bool has = leads && (clock & bit);
		if (dev_vote(mask, has)) {
			leads = has;
			most |= bit;
		}
	}
	return most + (most < 0xffffu);
}

/* All lanes of the mask have just passed their __syncwarp. Gives back the lane's clock. */
DEV_FN uint32_t dev_lanes_sync(struct race_lane *l, uint32_t mask, bool is_full)
{
	uint32_t lane = dev_place().in_block % 32u, here = dev_vote(mask, true);
	struct race_lane all;

	if (is_full) {
		uint32_t next = dev_lanes_next(l, lane, mask);
		race_lane_begin(l, next);
		return next;
	}
	race_lane_arrive(l, lane);
	all = *l;
#pragma unroll 1
	for (; here; here &= here - 1u) {
		int from = __ffs((int)here) - 1;
		struct race_lane other;
#pragma unroll 1
		for (uint32_t i = 0; i < RACE_LANES; i += 2u) {
			uint32_t two = l->seen[i] | (uint32_t)l->seen[i + 1u] << 16;
			two = __shfl_sync(mask, two, from);
			other.seen[i] = (uint16_t)two;
			other.seen[i + 1u] = (uint16_t)(two >> 16);
		}
		race_lane_join(&all, &other);
	}
	*l = all;
	return l->seen[lane];
}

#endif
