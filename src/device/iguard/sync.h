/*
 * sync.h - part of iguard.cu: what strong accesses, fences, locks and barriers leave for the
 * threads that meet them there, and take from those.
 */
/* Before a barrier: what the thread has goes where those that it meets find it. */
DEV_FN void dev_arrive(const struct state *s, struct race_iguard_block *b, uint32_t number)
{
	const uint32_t *own = (const uint32_t *)&s->stamps;
	uint32_t locks = iguard_locks_own(&s->locks, s->block);

	dev_mark();
#pragma unroll 1
	for (uint32_t i = 0; i < 24u; i += 3u) {
		if (dev_word32(&b->stamp[i]) < own[i])
			dev_max32(&b->stamp[i], own[i]);
		if (dev_word32(&b->stamp[i + 1u]) < own[i + 1u])
			dev_max32(&b->stamp[i + 1u], own[i + 1u]);
		if (own[i + 2u] & ~dev_word32(&b->stamp[i + 2u]))
			dev_or32(&b->stamp[i + 2u], own[i + 2u]);
	}
	if (locks)
		dev_or32(&b->locks[number & 3u], locks);
}

/* After it. Locks: by number of the barrier; that of two barriers on is made empty: those of two
 * barriers before were read by all. is_whole: of the block or the warp. */
DEV_FN void dev_meet(struct state *s, struct race_iguard_block *b, uint32_t number, bool is_whole)
{
	struct iguard_stamps all;
	uint32_t *words = (uint32_t *)&all;

#pragma unroll 1
	for (uint32_t i = 0; i < 24u; i++)
		words[i] = dev_word32(&b->stamp[i]);
	iguard_join_all(&s->stamps, &all);
	if (!is_whole)
		return;
	iguard_locks_meet(&s->locks, dev_word32(&b->locks[number & 3u]));
	if (dev_word32(&b->locks[(number + 2u) & 3u]))
		dev_store32(&b->locks[(number + 2u) & 3u], 0);
}

DEV_FN struct race_iguard_side *dev_side(uint64_t at)
{
	return &dev_tables()->sides[(at >> 2) * 0x9e3779b97f4a7c15ull >> 48];
}

DEV_FN struct iguard_op dev_op(const struct state *s, uint32_t bit, uint32_t op)
{
	struct iguard_op o = {s->block, bit, (op & RACE_IGUARD_SYNC_WIDE) != 0,
			      (op & RACE_IGUARD_SYNC_ACQUIRE) != 0};

	return o;
}

/* Before a strong write. A location that two launches release through is one that anybody may
 * have. */
DEV_FN void dev_write(struct state *s, uint64_t at, uint32_t op)
{
	struct race_iguard_side *side = dev_side(at);
	struct iguard_side *g = (struct iguard_side *)side;

	if (s->stamps.block.set.released.now) {
		uint32_t owner = dev_word32(&side->launch);

		if (owner == 0)
			owner = dev_swap32(&side->launch, 0, s->launch);
		if (owner && owner != s->launch) {
			dev_max32(&g->part[1].now, 0xffffffffu);
			dev_max32(&g->part[1].device_now, 0xffffffffu);
			dev_max32(&g->owner, 0xffffffffu);
		}
	}
	dev_mark();
	iguard_strong_write(&s->stamps, g, dev_op(s, 0, op));
	dev_fence();
}

/* The bits that races at these words ask for. */
DEV_FN uint32_t dev_read_bits(uint64_t at, uint32_t words)
{
	uint32_t bits = 0;

	if (__isShared((const void *)at))
		at = (uint32_t)__cvta_generic_to_shared((const void *)at);
#pragma unroll 1
	for (uint32_t i = 0; i < words; i++)
		bits |= dev_read_bit(at + 4u * i);
	return bits;
}

/* After a strong read. */
DEV_FN void dev_read(struct state *s, uint64_t at, uint32_t op)
{
	uint32_t orders = dev_word32(&dev_tables()->unseen), bits;

	dev_fence();
	if (orders & RACE_HISTORY_GRID_ORDERS ||
	    (op & RACE_IGUARD_SYNC_SYSTEM && orders & RACE_HISTORY_HOST_ORDERS)) {
		race_stamp_join(&s->stamps.block.set.seen, iguard_anything());
		race_stamp_join(&s->stamps.device.set.seen, iguard_anything());
		if (op & RACE_IGUARD_SYNC_ACQUIRE) {
			race_stamp_join(&s->stamps.block.set.own, iguard_anything());
			race_stamp_join(&s->stamps.device.set.own, iguard_anything());
			race_stamp_join(&s->stamps.block.set.released, iguard_anything());
			race_stamp_join(&s->stamps.device.set.released, iguard_anything());
		}
	}
	dev_mark();
	bits = dev_read_bits(at, RACE_IGUARD_SYNC_WORDS(op));
	bits |= op & RACE_IGUARD_SYNC_PLACE ? 0 : RACE_READ_FLAG;
#pragma unroll 1
	for (uint32_t i = 0; i < RACE_IGUARD_SYNC_ELEMS(op); i++)
		iguard_strong_read(
			&s->stamps,
			(struct iguard_side *)dev_side(at + i * RACE_IGUARD_SYNC_WIDTH(op)),
			dev_op(s, i ? 0 : bits, op));
}

/* Section 6.1: a fence of a scope wider than .cta counts as both. */
DEV_FN void dev_count_fence(struct state *s, bool is_wide)
{
	uint32_t wide = (s->fences + (is_wide ? 1u : 0u)) & 63u;
	uint32_t narrow = ((s->fences >> 6) + 1u) & 63u;

	s->fences = wide | narrow << 6;
}

/* `op` is a set of RACE_IGUARD_SYNC_*. at: generic; the elements of a vector are operations
 * each. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_sync(uint64_t me, uint64_t state,
								   uint64_t at, uint32_t op)
{
	struct state *s = (struct state *)state;
	bool is_wide = (op & RACE_IGUARD_SYNC_WIDE) != 0;
	bool is_release = (op & RACE_IGUARD_SYNC_RELEASE) != 0;

	if (dev_is_out(state))
		return me;
	/* A thread that learns of this fence or release must not find this thread's earlier
	 * state. */
	if (op & RACE_IGUARD_SYNC_FENCE || is_release)
		dev_set_now(me, s, 0);
	if (op & RACE_IGUARD_SYNC_FENCE) {
		dev_count_fence(s, is_wide);
		s->small_fence |=
			!is_wide && s->stamps.device.near.now < s->stamps.device.set.seen.now;
		dev_find_open(s);
		iguard_fence(&s->stamps, is_wide);
		iguard_lock_fence(&s->locks, is_wide);
	}
	if (is_release)
		iguard_release(&s->stamps, is_wide);
	if (op & RACE_IGUARD_SYNC_WRITE && at) {
		if (!(op & RACE_IGUARD_SYNC_LOCK) && iguard_lock_wrote(&s->locks, at, is_release))
			dev_store32(&dev_side(at)->bare, s->launch);
#pragma unroll 1
		for (uint32_t i = 0; i < RACE_IGUARD_SYNC_ELEMS(op); i++)
			dev_write(s, at + i * RACE_IGUARD_SYNC_WIDTH(op), op);
	}
	if (op & RACE_IGUARD_SYNC_READ && at)
		dev_read(s, at, op);
	return dev_renew(me, s);
}

/* Is what would be a lock none, since it was given back without a release? */
DEV_FN bool dev_is_bare(const struct state *s, uint64_t at)
{
	return dev_word32(&dev_side(at)->bare) == s->launch;
}

/* After a sum or a strong read: is it the thread's turn? */
DEV_FN void dev_wait(struct state *s, uint64_t at, uint64_t old, uint64_t added, uint32_t op)
{
	if (dev_is_bare(s, at))
		return;
	if (op & RACE_IGUARD_SYNC_DRAW && added == 1u)
		iguard_lock_draw(&s->locks, at, old);
	else if (op & RACE_IGUARD_SYNC_LOOK || added == 0)
		iguard_lock_saw(&s->locks, at, old, (op & RACE_IGUARD_SYNC_WIDE) != 0,
				(op & RACE_IGUARD_SYNC_ACQUIRE) != 0);
}

/* After a compare-and-swap or exchange, whose result is `old`; or as dev_wait(), with what was
 * added in `stored`. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_lock(uint64_t me, uint64_t state,
								   uint64_t at, uint64_t old,
								   uint64_t wanted, uint64_t stored,
								   uint32_t op)
{
	struct state *s = (struct state *)state;
	bool is_wide = (op & RACE_IGUARD_SYNC_WIDE) != 0;
	bool is_acquire = (op & RACE_IGUARD_SYNC_ACQUIRE) != 0;
	bool is_swap = (op & RACE_IGUARD_SYNC_SWAP) != 0;
	bool is_bare = false;
	uint32_t was, entry;

	if (dev_is_out(state) || !at)
		return me;
	was = iguard_locks_own(&s->locks, s->block);
	/* cuda::binary_semaphore takes the one that is there, and leaves 0. */
	if (is_swap && stored == 0)
		wanted = old;
	if (op & (RACE_IGUARD_SYNC_DRAW | RACE_IGUARD_SYNC_LOOK))
		dev_wait(s, at, old, stored, op);
	else if (is_swap && old != wanted && old != stored)
		iguard_lock_join(&s->locks, at, old, is_wide);
	else if (old != wanted)
		;
	else if ((entry = iguard_lock_free(&s->locks, at)))
		is_bare = iguard_lock_is_bare(entry, (op & RACE_IGUARD_SYNC_RELEASE) != 0);
	else if (dev_is_bare(s, at))
		;
	else if (!is_swap && stored != 0 && stored == wanted - 1u)
		; /* a semaphore that lets others in, too */
	else if (stored == wanted)
		iguard_lock_saw(&s->locks, at, old, is_wide, is_acquire);
	else if (is_swap && stored > 1u)
		iguard_lock_begin(&s->locks, at, is_wide, is_acquire);
	else
		iguard_lock_try(&s->locks, at, is_wide, is_acquire);
	if (is_bare)
		dev_store32(&dev_side(at)->bare, s->launch);
	return was == iguard_locks_own(&s->locks, s->block) ? me : dev_renew(me, s);
}

/* Around a barrier of the block: before it (is_after 0) and after it. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_barrier(uint64_t me, uint64_t state,
								      uint32_t is_after)
{
	struct state *s = (struct state *)state;

	if (me & RACE_IGUARD_PLAIN)
		return is_after && !dev_is_aside(me) ? dev_move_on(me, dev_own(me, s), 1) : me;
	if (dev_is_out(state))
		return me;
	if (!is_after) {
		if (me & RACE_IGUARD_ORDERS) {
			dev_set_now(me, s, 0);
			dev_arrive(s, dev_block(s->launch, s->block, 0), s->block_clock);
		}
		return me;
	}
	if (me & RACE_IGUARD_ORDERS)
		dev_meet(s, dev_block(s->launch, s->block, 0), s->block_clock, true);
	if (me & RACE_IGUARD_LANES)
		race_lane_begin(dev_row(s), 0);
	s->block_clock += s->block_clock != 0xffffffffu;
	s->warp_clock = 0;
	return dev_renew(me, s);
}

/* Around bar.warp.sync. With RACE_IGUARD_LANES each lane has a clock; a lane without numbers takes
 * part in what the others of its warp do together. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_warp(uint64_t me, uint64_t state,
								   uint32_t mask, uint32_t is_after)
{
	struct state *s = (struct state *)state;
	struct race_iguard_block *b;
	bool is_out = dev_is_out(state);

	if (is_after & RACE_LANES_BEGIN) {
		race_lane_begin(dev_row(s), 0);
		return me;
	}
	b = dev_block(s->launch, s->block, dev_place().in_block / 32u + 1u);
	if (!(is_after & RACE_LANES_AFTER)) {
		if (!is_out && me & RACE_IGUARD_ORDERS) {
			dev_set_now(me, s, 0);
			dev_arrive(s, b, s->warp_meets);
		}
		return me;
	}
	if (is_after & RACE_LANES_ROW) {
		bool is_full = dev_is_full(mask);
		s->warp_clock = dev_lanes_sync(dev_row(s), mask, is_full);
		if (is_out)
			return me;
		dev_meet(s, b, s->warp_meets, is_full);
		s->warp_meets += is_full;
		return dev_renew(me, s);
	}
	if (is_out)
		return me;
	if (me & RACE_IGUARD_ORDERS)
		dev_meet(s, b, s->warp_meets, true);
	s->warp_clock += s->warp_clock != 0xffffffffu;
	s->warp_meets++;
	return dev_renew(me, s);
}
