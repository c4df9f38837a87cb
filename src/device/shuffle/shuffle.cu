/*
 * shuffle.cu - block shuffling: which block this one works as: __collider_block.
 *
 * Called at the entry of kernels and functions that read %ctaid or %clusterid, when an order was
 * asked for; `order` is the knob (enum race_shuffle, not plain). The arithmetic is
 * race/shuffle/blocks.h's. Returns x in the low 32 bits, y in 16 bits after it, z in the highest
 * 16: %nctaid.y and .z are below 2^16 (CUDA C++ programming guide, technical specifications).
 *
 * Weak, so that the copies of several objects merge. Costs: nothing with --shuffle=off, else some
 * ten divisions once per thread.
 */
#include "race/shuffle/blocks.h"

#include "device/gpu_ops.h"

RACE_STATIC_ASSERT(offsetof(struct race_knobs, order_a) == 40, "read below");
RACE_STATIC_ASSERT(offsetof(struct race_knobs, order_b) == 48, "read below");

#define KNOB(v, at) asm volatile("ld.const.u32 %0, [__collider_knobs+" #at "];" : "=r"(v))

extern "C" __device__ __noinline__ __attribute__((weak)) uint64_t __collider_block(uint32_t order)
{
	struct race_shuffle_keys k;
	uint32_t size[3], cluster[3], block[3], shape;

	KNOB(k.a[0], 40);
	KNOB(k.a[1], 44);
	KNOB(k.b, 48);
	DEV_SREG32(size[0], "%nctaid.x");
	DEV_SREG32(size[1], "%nctaid.y");
	DEV_SREG32(size[2], "%nctaid.z");
	DEV_SREG32(block[0], "%ctaid.x");
	DEV_SREG32(block[1], "%ctaid.y");
	DEV_SREG32(block[2], "%ctaid.z");
	/* src/instrument puts the target's shape of clusters in the place of %nsmid. */
	DEV_SREG32(shape, "%nsmid");
	cluster[0] = shape & 0xffu;
	cluster[1] = shape >> 8 & 0xffu;
	cluster[2] = shape >> 16;
	race_shuffle_block(order, &k, dev_grid(), size, cluster, block);
	return (uint64_t)block[2] << 48 | (uint64_t)block[1] << 32 | block[0];
}
