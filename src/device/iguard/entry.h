/*
 * entry.h - part of iguard.cu: one entry is judged and brought up to date, by the rules of
 * iguard/update.h or, for --iguard=published, of iguard/published.h.
 */
/* ---- accesses ------------------------------------------------------------------------------ */

#define MODE_MAYBE 1u /* the compiler may have invented the load */
#define MODE_WARP  2u /* the first of lanes that do the same, for all of them */
#define MODE_COPY  4u /* the write of a copy that is issued */
#define MODE_WIDTH 8u /* the width's place */

/* Rare, so a function of its own. */
extern "C" __device__ __noinline__ void
__collider_iguard_record(uint64_t me, uint64_t at, uint64_t was, uint32_t site, uint32_t kind_width)
{
	uint64_t shape = blockDim.x | blockDim.y << 16 | (uint64_t)blockDim.z << 32;
	uint64_t now = me & ~(uint64_t)(RACE_IGUARD_PLAIN | RACE_IGUARD_LANES);
	struct dev_found f = {dev_table(),
			      site,
			      (kind_width & 0xffu) | RACE_REC_TWO_SIDES << 16,
			      at,
			      {was, now},
			      {iguard_decode(was).site, shape},
			      kind_width >> 16,
			      kind_width >> 8 & 0xffu};

	dev_report(&f, dev_rt());
}

/* The lanes that are here together, if all have this entry; or 0. */
DEV_FN uint32_t dev_all_have(uint64_t entry)
{
	uint32_t lanes;

	asm volatile("{\n\t"
		     ".reg .b32 dev_active;\n\t"
		     "activemask.b32 dev_active;\n\t"
		     "match.all.sync.b64 %0, %1, dev_active;\n\t"
		     "}"
		     : "=r"(lanes)
		     : "l"(entry));
	return lanes;
}

/* If all have this entry and this context. */
DEV_FN uint32_t dev_alike(uint64_t entry, uint64_t context)
{
	uint32_t lanes = dev_all_have(entry), also = 0;

	if (lanes & (lanes - 1u))
		asm volatile("match.all.sync.b64 %0, %1, %2;"
			     : "=r"(also)
			     : "l"(context), "r"(lanes));
	return also;
}

/* Section 6.5: after a swap that failed, from 32 ns to a limit that grows with the threads. Gives
 * back for how long the next time. */
extern "C" __device__ __noinline__ uint32_t __collider_iguard_wait(uint32_t ns)
{
	uint64_t threads =
		(uint64_t)gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z;
	uint32_t limit = threads < 1u << 18 ? (uint32_t)threads >> 6 : 1u << 12;

	if (ns)
		asm volatile("nanosleep.u32 %0;" ::"r"(ns));
	ns = ns ? ns * 2u : 32u;
	return ns < limit ? ns : limit;
}

DEV_FN struct iguard_actor dev_actor(uint64_t me, const struct state *s)
{
	struct place p = dev_place();
	struct iguard_actor actor;

	actor.thread = (uint32_t)(me >> IGUARD_THREAD_AT);
	actor.block_first = actor.thread - p.in_block;
	actor.block_size = p.block_size;
	actor.context = iguard_decode(me).context;
	actor.own = iguard_context_decode(dev_own(me, s));
	actor.block_acquired = actor.device_acquired = actor.read = 0;
	if (me & RACE_IGUARD_ORDERS) {
		actor.block_acquired = s->stamps.block.set.own.acquired;
		actor.device_acquired = s->stamps.device.set.own.acquired;
		actor.read = s->stamps.block.set.own.read;
	}
	actor.contexts = dev_tables()->contexts_of;
	actor.now = me & RACE_IGUARD_ORDERS ? dev_tables()->nows : 0;
	actor.is_unsure = (me & RACE_IGUARD_UNSURE) != 0;
	actor.has_exits = (me & RACE_IGUARD_EXITS) != 0;
	actor.lanes = me & RACE_IGUARD_LANES ? dev_row(s) : 0;
	return actor;
}

/* Section 6.4: the word stands for all lanes that make this access together. */
DEV_FN uint64_t dev_of_warp(uint64_t word)
{
	struct iguard_word w = iguard_decode(word);

	if (w.extent == IGUARD_ONE)
		w.extent = IGUARD_OF_WARP;
	return iguard_encode(w);
}

DEV_FN struct iguard_entry dev_entry(const struct iguard_entry *at)
{
	struct iguard_entry e;

	asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];"
		     : "=l"(e.writer), "=l"(e.accessor)
		     : "l"(at));
	return e;
}

/* Does *was become this one? Both words at once, where the target can; else *was is what was
 * found. */
DEV_FN bool dev_put(struct iguard_entry *at, struct iguard_entry *was, struct iguard_entry next,
		    bool writes)
{
#ifdef IGUARD_CAS128
	struct iguard_entry old = *was;

	*was = IGUARD_CAS128(at, old, next);
	return was->writer == old.writer && was->accessor == old.accessor;
#else
	uint64_t *own = writes ? &at->writer : &at->accessor;
	uint64_t *other = writes ? &at->accessor : &at->writer;
	uint64_t own_was = writes ? was->writer : was->accessor;
	uint64_t own_next = writes ? next.writer : next.accessor;
	uint64_t other_was = writes ? was->accessor : was->writer;
	uint64_t other_next = writes ? next.accessor : next.writer;
	bool is_done = own_next == own_was || dev_swap(own, own_was, own_next) == own_was;

	if (is_done && other_next != other_was)
		is_done = dev_swap(other, other_was, other_next) == other_was;
	else if (is_done)
		is_done = dev_word(other) == other_was;
	if (!is_done)
		*was = dev_entry(at);
	return is_done;
#endif
}

/* stamps.block.set.seen.acquired among the numbers of a race_iguard_block: full after
 * iguard_open(). */
#define OPEN_AT (offsetof(struct iguard_level, set.seen.acquired) / 4u)

RACE_STATIC_ASSERT(offsetof(struct iguard_stamps, block) == 0, "the first");

/*
 * The other side of such a race must not be certain, either: its check came first, but its access
 * perhaps not. It looks at its next fence (dev_find_open). `word`: its.
 */
extern "C" __device__ __noinline__ void __collider_iguard_open(const struct state *s, uint64_t word)
{
	struct iguard_word w = iguard_decode(word);
	uint32_t size = dev_place().block_size, block = w.thread / size;
	uint32_t warp = w.extent == IGUARD_OF_BLOCK ? 0 : (w.thread - block * size) / 32u + 1u;
	struct race_iguard_block *b = dev_block(s->launch, block + 1u, warp);

	if (w.extent == IGUARD_OF_GRID)
		b = dev_block(s->launch, 0, 0);
	dev_mark();
	if (dev_word32(&b->stamp[OPEN_AT]) != 0xffffffffu)
		dev_max32(&b->stamp[OPEN_AT], 0xffffffffu);
	dev_fence();
}

/* Before a fence: has another thread found a race with this one? */
DEV_FN void dev_find_open(struct state *s)
{
	uint32_t warp = dev_place().in_block / 32u + 1u;

	dev_fence();
	if (dev_word32(&dev_block(s->launch, s->block, warp)->stamp[OPEN_AT]) == 0xffffffffu ||
	    dev_word32(&dev_block(s->launch, s->block, 0)->stamp[OPEN_AT]) == 0xffffffffu ||
	    dev_word32(&dev_block(s->launch, 0, 0)->stamp[OPEN_AT]) == 0xffffffffu)
		iguard_open(&s->stamps);
}

/*
 * iguard/update.h's iguard_update_words or iguard_update_pair, with 6.4 and 6.5 of the paper: lanes
 * that do the same to one entry each judge it, and the first of them stores for all. Not where
 * something older is kept that only one of them knows, nor where one has found something.
 */
DEV_FN struct iguard_seen dev_update(struct iguard_entry *at, const struct iguard_actor *actor,
				     const struct iguard_access *a, uint64_t me,
				     const struct state *s, uint32_t mode)
{
	uint32_t modes = dev_modes(), ns = 0, lanes = mode & MODE_WARP ? 1u : 0u;
	struct iguard_seen seen = {IGUARD_NO_RACE, true, 0, false};
	bool is_tried =
		(modes & RACE_IGUARD_MODE_ALONE) != 0 || (a->writes && !a->is_strong) || lanes != 0;

	struct iguard_entry e = dev_entry(at);
#pragma unroll 1
	for (;;) {
		struct iguard_result r = iguard_judge(e, actor, a);
		uint64_t *own = a->writes ? &r.next.writer : &r.next.accessor;

		iguard_note(&seen, &r, &e);
		if (r.open.writer && me & RACE_IGUARD_ORDERS)
			__collider_iguard_open(s, r.open.writer);
		if (r.open.accessor && me & RACE_IGUARD_ORDERS)
			__collider_iguard_open(s, r.open.accessor);
		if (mode & MODE_COPY) /* a word of no other write: iguard_is_copying() */
			r.next.writer |= IGUARD_OF_GRID;
		if (r.next.writer == e.writer && r.next.accessor == e.accessor && lanes == 0)
			return seen;
		if (!is_tried && r.verdict == IGUARD_NO_RACE &&
		    iguard_decode(*own).after == IGUARD_PURE)
			lanes = dev_alike((uint64_t)at, me & IGUARD_CONTEXT_MASK);
		if (!is_tried && lanes && !dev_is_leader(lanes))
			return seen;
		is_tried = true;
		if (lanes)
			*own = dev_of_warp(*own);
		if (dev_put(at, &e, r.next, a->writes))
			return seen;
		if (!(modes & RACE_IGUARD_MODE_EAGER))
			ns = __collider_iguard_wait(ns);
	}
}

/* Where the counters of a thread are now; of one that isn't known, those of its access. */
DEV_FN struct iguard_pub_counters dev_fences(const struct iguard_pub_side *side)
{
	uint64_t now = dev_word(&dev_tables()->nows[iguard_now_place(side->thread)]);
	uint32_t fences = (uint32_t)(now >> IGUARD_CONTEXT_AT) & 0xfffu;
	struct iguard_pub_counters c = side->at;

	if (now >> IGUARD_THREAD_AT == side->thread) {
		c.dev_fence = fences & 63u;
		c.blk_fence = fences >> 6;
	}
	return c;
}

RACE_STATIC_ASSERT(RACE_KIND_IGUARD_GRID - RACE_KIND_IGUARD_ATOMIC == IGUARD_R4 - IGUARD_R1,
		   "the kinds of R1 to R4 in their order");

/* --iguard=published: one entry by Table 2 to the letter. */
extern "C" __device__ __noinline__ void __collider_iguard_letter(uint64_t me, uint64_t state,
								 uint64_t entry, uint64_t at,
								 uint32_t what, uint32_t mode)
{
	const struct state *s = (const struct state *)state;
	struct iguard_entry *p = (struct iguard_entry *)entry;
	bool is_strong = (what & (RACE_IGUARD_STRONG | RACE_IGUARD_VOLATILE)) == RACE_IGUARD_STRONG;
	bool writes = (what & RACE_IGUARD_WRITES) != 0;
	bool is_plain = (me & RACE_IGUARD_PLAIN) != 0;
	struct iguard_pub_access a = {!writes, is_strong && writes, (what & RACE_IGUARD_CTA) != 0};
	struct iguard_word earlier = iguard_decode(me & ~((1ull << IGUARD_CONTEXT_AT) - 1u));
	struct iguard_pub_actor actor;
	enum iguard_pub_rule rule;

	actor.thread = (uint32_t)(me >> IGUARD_THREAD_AT);
	actor.block_size = dev_place().block_size;
	asm volatile("activemask.b32 %0;" : "=r"(actor.active));
	actor.locks = me & RACE_IGUARD_ORDERS ? iguard_locks_summary(&s->locks, s->block) : 0;
	actor.now.dev_fence = is_plain ? 0 : s->fences & 63u;
	actor.now.blk_fence = is_plain ? 0 : s->fences >> 6;
	actor.now.blk_bar = iguard_context_decode(dev_own(me, s)).block_clock;
	actor.now.warp_bar = is_plain ? 0 : s->warp_meets;
#pragma unroll 1
	for (;;) {
		struct iguard_entry e = dev_entry(p), next = iguard_pub_update(e, &actor, &a);
		struct iguard_pub_side md = iguard_pub_side_of(a.is_load ? e.writer : e.accessor);
		struct iguard_pub_counters now = dev_fences(&md);

		rule = iguard_pub_check(e, &actor, &a, &now);
		earlier.thread = md.thread;
		if ((next.writer == e.writer && next.accessor == e.accessor) ||
		    dev_put(p, &e, next, writes))
			break;
	}
	if (rule != IGUARD_PUB_NONE)
		__collider_iguard_record(
			me, at, iguard_encode(earlier), RACE_IGUARD_SITE(what),
			(rule == IGUARD_R5 ? RACE_KIND_IGUARD_LOCKS
					   : RACE_KIND_IGUARD_ATOMIC + (uint32_t)rule - IGUARD_R1) |
				mode / MODE_WIDTH << 8);
}

/* One entry; what: the low word; bit: of the location. */
extern "C" __device__ __noinline__ void __collider_iguard_entry(uint64_t me, uint64_t state,
								uint64_t entry, uint64_t at,
								uint32_t what, uint32_t bit,
								uint32_t mode)
{
	const struct state *s = (const struct state *)state;
	struct iguard_access a = {(what & RACE_IGUARD_WRITES) != 0,
				  (what & RACE_IGUARD_STRONG) != 0, (what & RACE_IGUARD_CTA) != 0,
				  RACE_IGUARD_SITE(what) + 1u, bit};
	struct iguard_entry *e = (struct iguard_entry *)entry;
	struct iguard_actor actor = dev_actor(me, s);
	struct iguard_seen seen = {IGUARD_NO_RACE, true, 0, false};
	uint32_t kind = RACE_KIND_NONE, may = RACE_MAY_NOTHING;
	uint64_t lane = 0; /* the word of one whose write is read in lockstep */

	if (dev_modes() & RACE_IGUARD_MODE_PUBLISHED) {
		if (!(mode & MODE_MAYBE))
			__collider_iguard_letter(me, state, entry, at, what, mode);
		return;
	}
	if (mode & MODE_MAYBE) {
		struct iguard_entry was = dev_entry(e);
		struct iguard_result r = iguard_judge(was, &actor, &a);
		iguard_note(&seen, &r, &was);
	} else {
		if (what & RACE_IGUARD_LOCKSTEP) {
			uint64_t writer = dev_entry(e).writer;
			lane = iguard_counts_on_lockstep(writer, &actor) ? writer : 0;
		}
		seen = dev_update(e, &actor, &a, me, s, mode);
	}
	if (seen.is_open && me & RACE_IGUARD_ORDERS)
		iguard_open(&((struct state *)state)->stamps);
	if (lane && seen.verdict == IGUARD_NO_RACE)
		__collider_iguard_record(me, at, lane, RACE_IGUARD_SITE(what),
					 RACE_KIND_IGUARD_LOCKSTEP | mode / MODE_WIDTH << 8);
	if (seen.verdict != IGUARD_POSSIBLE && seen.verdict != IGUARD_IS_RACE)
		return;
	if (seen.verdict == IGUARD_POSSIBLE)
		may = iguard_may(&seen, &actor, &a);
	else if (mode & MODE_MAYBE)
		kind = RACE_KIND_IGUARD_INVENTED;
	if (kind == RACE_KIND_NONE)
		kind = iguard_kind_of(&seen, &actor, &a, me & RACE_IGUARD_ORDERS ? &s->stamps : 0,
				      me & RACE_IGUARD_ORDERS && s->small_fence);
	__collider_iguard_record(me, at, seen.word, RACE_IGUARD_SITE(what),
				 kind | mode / MODE_WIDTH << 8 | may << 16);
}

/* The bit of a location in the set of those that were read strongly. Of shared memory: of the
 * address in its window. */
DEV_FN uint32_t dev_read_bit(uint64_t at)
{
	return iguard_read_bit(at << 2);
}

/* The entries of an access, without the fast path. */
extern "C" __device__ __noinline__ void
__collider_iguard_entries(uint64_t me, uint64_t state, uint64_t at, uint64_t first, uint64_t what64)
{
	uint32_t what = (uint32_t)what64, narrow = RACE_IGUARD_NARROW(what);
	uint32_t sure = RACE_IGUARD_SURE(what64), all = sure | RACE_IGUARD_MAYBE(what64);

#pragma unroll 1
	for (uint32_t i = 0; all >> i; i++) {
		uint32_t mode = sure >> i & 1u ? 0 : MODE_MAYBE, n = narrow ? narrow : 4u;
		uint32_t bit = dev_read_bit(at + 4u * i);

		if (!(all >> i & 1u))
			continue;
		mode |= RACE_IGUARD_FOR_ALL(what64) >> i & 1u ? MODE_WARP : 0u;
		mode |= what64 & RACE_COPY_ISSUED ? MODE_COPY : 0u;
		if (!(what & RACE_IGUARD_BYTES)) {
			__collider_iguard_entry(me, state, first + IGUARD_ENTRY_BYTES * i,
						at + 4u * i, what, bit, mode | MODE_WIDTH * n);
			continue;
		}
#pragma unroll 1
		for (uint32_t b = 4u * i; b < 4u * i + n; b++)
			__collider_iguard_entry(me, state, first + IGUARD_ENTRY_BYTES * b, at + b,
						what, bit, mode | MODE_WIDTH);
	}
}
