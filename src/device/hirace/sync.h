/*
 * sync.h - part of hirace.cu: what barriers, fences and strong accesses do to a thread's
 * numbers.
 *
 *	__collider_hirace_barrier	after a barrier of the block: the clocks
 *	__collider_hirace_lanes	around one of a warp
 *	__collider_hirace_sync		beside strong accesses, fences, barriers: release stamps
 */
extern "C" __device__ __noinline__ uint64_t __collider_hirace_barrier(uint64_t me)
{
	uint64_t step = 1ull << (HIRACE_PLACE_AT + RACE_ACTOR_BITS(me)), next;

	if (RACE_ACTOR_HAS(me) == 0)
		return 0;
	next = me & ~((uint64_t)HIRACE_WARP_LAST << HIRACE_WARP_AT | RACE_ACTOR_ASIDE);
	next += step;
	if (next < step) { /* the clock is full */
		DEV_INC64((uint64_t)&dev_tables()->threads_aside);
		return 0;
	}
	return next;
}

DEV_FN struct race_history_block *dev_block(uint64_t me)
{
	struct place p = dev_place();
	uint64_t key = (p.block << 10 | RACE_ACTOR_HAS(me)) * 0x9e3779b97f4a7c15ull;

	return &dev_tables()->blocks[key >> 48];
}

RACE_STATIC_ASSERT(RACE_HISTORY_BLOCKS == 1u << 16, "hashed to 16 bits");
RACE_STATIC_ASSERT(RACE_HISTORY_SIDES == 1u << 16, "hashed to 16 bits");

/* The host clears the tables when nothing runs. */
DEV_FN void dev_mark(void)
{
	struct race_history_tables *t = dev_tables();

	if (dev_word32(&t->is_ordered))
		return;
	asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(&t->is_ordered), "r"(1));
	if (t->ordered_at)
		DEV_STORE32(t->ordered_at, 1);
}

DEV_FN void dev_post(uint32_t *at, const struct race_stamp *s)
{
	if (dev_word32(&at[0]) < s->now)
		dev_max32(&at[0], s->now);
	if (dev_word32(&at[1]) < s->acquired)
		dev_max32(&at[1], s->acquired);
	if (s->read & ~dev_word32(&at[2]))
		dev_or32(&at[2], s->read);
}

DEV_FN struct race_stamp dev_posted(const uint32_t *at)
{
	struct race_stamp s = {dev_word32(&at[0]), dev_word32(&at[1]), dev_word32(&at[2])};

	return s;
}

/* Before a barrier: what the thread has goes where those that it meets find it. */
DEV_FN void dev_arrive(struct race_stamps *t, uint64_t me)
{
	struct race_history_block *b = dev_block(me);

	dev_mark();
	dev_post(&b->stamp[0], &t->own);
	dev_post(&b->stamp[3], &t->released);
	dev_post(&b->stamp[6], &t->seen);
}

/* After it. */
DEV_FN void dev_meet(struct race_stamps *t, uint64_t me)
{
	const struct race_history_block *b = dev_block(me);
	struct race_stamps all;

	all.own = dev_posted(&b->stamp[0]);
	all.released = dev_posted(&b->stamp[3]);
	all.seen = dev_posted(&b->stamp[6]);
	race_stamps_join(t, &all);
}

DEV_FN void dev_fence(void)
{
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* Before a strong write. A location that two launches release through is one that anybody may
 * have. */
DEV_FN void dev_write(struct race_stamps *t, uint64_t at, uint32_t launch)
{
	struct race_history_side *side = dev_side(at);
	struct hirace_side *s = (struct hirace_side *)side;

	RACE_STATIC_ASSERT(offsetof(struct race_history_side, launch) == sizeof(struct hirace_side),
			   "the one begins with the other");
	if (t->released.now) {
		uint32_t has = dev_word32(&side->launch), was = has;

		while (!(has & ~RACE_SIDE_READ)) {
			asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], %2, %3;"
				     : "=r"(was)
				     : "l"(&side->launch), "r"(has), "r"(has | launch));
			has = was == has ? has | launch : was;
		}
		if ((has & ~RACE_SIDE_READ) != launch)
			dev_max32(&side->now, 0xffffffffu);
	}
	dev_mark();
	hirace_strong_write(t, s);
	if (t->released.now) /* else there is no number to be seen before the write */
		dev_fence();
}

/* After a strong read. */
DEV_FN void dev_read(struct race_stamps *t, uint64_t at, uint32_t op)
{
	struct hirace_side *s = (struct hirace_side *)dev_side(at);
	uint32_t orders = dev_word32(&dev_tables()->unseen);

	dev_fence();
	if (orders & RACE_HISTORY_GRID_ORDERS ||
	    (op & RACE_SYNC_SYSTEM && orders & RACE_HISTORY_HOST_ORDERS)) {
		struct race_stamp any = {0, 0xffffffffu, 0xffffffffu};
		race_stamp_join(op & RACE_SYNC_ACQUIRE ? &t->own : &t->seen, any);
	}
	dev_mark();
	hirace_strong_read(t, s, 0, (op & RACE_SYNC_ACQUIRE) != 0);
}

/* These words were read strongly: the bits that races there ask for, and marks, which are there
 * before anything that this thread does later. Of shared memory the address in its window. */
DEV_FN uint32_t dev_observe(uint64_t at, uint32_t words)
{
	uint32_t bits = 0;

	if (__isShared((const void *)at))
		at = (uint32_t)__cvta_generic_to_shared((const void *)at);
#pragma unroll 1
	for (uint32_t i = 0; i < words; i++) {
		uint32_t *mark = &dev_side(at + 4u * i)->launch;

		if (!(dev_word32(mark) & RACE_SIDE_READ))
			dev_or32(mark, RACE_SIDE_READ);
		bits |= dev_read_bit(at + 4u * i);
	}
	return bits;
}

/* `op` is a set of RACE_SYNC_*, with the shape of a strong access, whose elements are operations
 * each. at: generic. */
extern "C" __device__ __noinline__ void __collider_hirace_sync(uint64_t me, uint64_t stamps,
							       uint64_t at, uint32_t op)
{
	struct race_stamps *t = (struct race_stamps *)stamps;

	if (RACE_ACTOR_HAS(me) == 0)
		return;
	if (op & RACE_SYNC_FENCE)
		hirace_fence(t);
	if (op & RACE_SYNC_RELEASE)
		race_stamps_release(t, true);
	if (op & RACE_SYNC_WRITE && at) {
#pragma unroll 1
		for (uint32_t i = 0; i < RACE_SYNC_ELEMS(op); i++)
			dev_write(t, at + i * RACE_SYNC_WIDTH(op), RACE_ACTOR_HAS(me));
	}
	if (op & RACE_SYNC_READ && at) {
		t->own.read |= dev_observe(at, RACE_SYNC_WORDS(op));
#pragma unroll 1
		for (uint32_t i = 0; i < RACE_SYNC_ELEMS(op); i++)
			dev_read(t, at + i * RACE_SYNC_WIDTH(op), op);
	}
	if (op & RACE_SYNC_POST)
		dev_arrive(t, me);
	if (op & RACE_SYNC_JOIN)
		dev_meet(t, me);
	if (op & RACE_SYNC_JOIN && me & RACE_ACTOR_LANES)
		race_lane_begin(dev_row(t), 0);
}

/* A lane whose number has changed: the clock of its warp, or the lane's own. */
DEV_FN uint64_t dev_lanes_move(uint64_t me, uint32_t clock)
{
	if (RACE_ACTOR_HAS(me) == 0)
		return 0;
	if (clock > HIRACE_WARP_LAST)
		return me | RACE_ACTOR_ASIDE;
	me &= ~((uint64_t)HIRACE_WARP_LAST << HIRACE_WARP_AT);
	return me | (uint64_t)clock << HIRACE_WARP_AT;
}

/* Around bar.warp.sync: RACE_LANES_*. stamps: 0 where the kernel has none. A lane without numbers
 * takes part in what the others of its warp do together. */
extern "C" __device__ __noinline__ uint64_t __collider_hirace_lanes(uint64_t me, uint64_t stamps,
								    uint32_t mask, uint32_t when)
{
	struct race_stamps *t = (struct race_stamps *)stamps;
	bool has_number = RACE_ACTOR_HAS(me) != 0;

	if (when & RACE_LANES_BEGIN) {
		race_lane_begin(dev_row(t), 0);
		return me;
	}
	if (t && has_number && !(when & RACE_LANES_AFTER))
		dev_arrive(t, me);
	if (!(when & RACE_LANES_AFTER))
		return me;
	if (t && has_number)
		dev_meet(t, me);
	if (when & RACE_LANES_ROW)
		return dev_lanes_move(me, dev_lanes_sync(dev_row(t), mask, dev_is_full(mask)));
	return dev_lanes_move(me, ((uint32_t)(me >> HIRACE_WARP_AT) & HIRACE_WARP_LAST) + 1u);
}
