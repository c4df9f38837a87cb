/*
 * hirace.cu - detector `hirace` on the device: what an instrumented module calls.
 *
 *	__collider_hirace_enter	at a kernel's entry: the launch, and is it alone?
 *	__collider_hirace_begin	then: thread number and launch in one word
 *	__collider_hirace_end		at every way out
 *	__collider_hirace_shared	at a kernel's entry: the block's table for shared memory
 *	__collider_hirace_scratch*	the same in global memory, see scratch.h
 *	__collider_hirace_g, _s, _x	before an access: global, shared, generic address
 *	__collider_hirace_copy		at a cp.async; _copies at its commit and wait: copying.h
 *	__collider_hirace_matrix		before wmma.load and wmma.store
 *	__collider_hirace_hold		at a load that may be invented; _settle, _used: held.h
 *	__collider_hirace_sync		beside strong accesses, fences, barriers: release stamps
 *	__collider_hirace_barrier	after a barrier of the block: the clocks
 *	__collider_hirace_lanes	the same of a warp
 *
 * The update is hirace/update.h and nothing else. Compiled to PTX when Collider is built and pasted
 * into each module, local to it: the hash of its site table stands in here. All accesses are
 * relaxed. Nothing orders memory but two fences in __collider_hirace_sync: L of a location
 * (hirace/release.h) must be visible no later than the program's strong write that comes next,
 * and be read no earlier than its strong read; they run only in kernels that have releases or
 * fences. This detector judges by history, so they hide no race.
 *
 * Misses: accesses of pieces that got no block (counted). Costs: a call, a load of the word and
 * one of the table for each 4 bytes that stay as they are, some 150 instructions; a
 * compare-and-swap where the word changes.
 */
#define DEV_KNOBS "__collider_hirace"
#include "race/layout/copies.h"
#include "race/layout/held.h"
#include "race/layout/history.h"

#include "device/gpu_ops.h"

#include "device/report_core.h"

#include "hirace/machine.h"

#include "hirace/hirace_table.h"

/* ---- the operations of update.h -------------------------------------------------------- */

/* A red takes no generic address on every target; these are in the host's tables. */
DEV_FN void dev_max32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(p), "r"(v));
}

DEV_FN void dev_or32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.global.or.b32 [%0], %1;" ::"l"(p), "r"(v));
}

#define HIRACE_FN		   DEV_FN
#define HIRACE_LOAD64(p)	   dev_word(p)
#define HIRACE_LOAD32(p)	   dev_word32(p)
#define HIRACE_CAS64(p, old, next) dev_swap(p, old, next)
#define HIRACE_MAX32(p, v)	   dev_max32(p, v)
#define HIRACE_OR32(p, v)	   dev_or32(p, v)
DEV_FN uint32_t dev_overlap(uint32_t mine, uint32_t other);
#define HIRACE_OVERLAPS(mine, launch) ((enum hirace_overlap)dev_overlap(mine, launch))
#include "hirace/update.h"

extern "C" __device__ const uint8_t __collider_hirace_table[HIRACE_TABLE_SIZE] =
	HIRACE_TABLE_ENTRIES;

#define DEV_TAKE     __collider_hirace_take
#define DEV_BLOCK_OF __collider_hirace_block_of
#define DEV_WORD     RACE_HISTORY_WORD_BYTES
#include "device/pieces.h"
RACE_STATIC_ASSERT(offsetof(struct race_history, machine) == 128, "read below");

DEV_FN struct race_history_tables *dev_tables(void)
{
	return dev_head();
}

#include "grids.h"

#include "device/lanes_gpu.h"

#define DEV_SCRATCH_BYTES(n, has_bytes) RACE_HISTORY_SHARED_BYTES(n, has_bytes, false)
#define DEV_SCRATCH_FALLS_BACK		true
#include "device/scratch.h"

extern "C" __device__ __noinline__ void __collider_hirace_scratch_take(uint64_t me, uint32_t bytes)
{
	dev_scratch_take(RACE_ACTOR_HAS(me), bytes);
}

extern "C" __device__ __noinline__ uint64_t __collider_hirace_scratch_find(uint64_t me)
{
	return dev_scratch_find(RACE_ACTOR_HAS(me));
}

extern "C" __device__ __noinline__ void __collider_hirace_scratch_give(uint64_t table)
{
	dev_scratch_give(table);
}

/* ---- who a thread is --------------------------------------------------------------------- */

/* The launch, and RACE_ACTOR_BESIDE. A call of its own: the first thread has much to do, which
 * must cost the others no register. */
extern "C" __device__ __noinline__ uint64_t __collider_hirace_enter(uint32_t flags)
{
	struct race_history_tables *t = dev_tables();
	struct hirace_word w = {0, 0, 0, 0, 0, 0};

	if (t == 0 || t->unseen & RACE_HISTORY_BLIND)
		return 0;
	w.launch = dev_enter(t, flags);
	return hirace_encode(w, HIRACE_THREAD_BITS_MIN) | dev_beside(t);
}

extern "C" __device__ __noinline__ uint64_t __collider_hirace_begin(uint64_t entered,
								     uint32_t flags)
{
	struct race_history_tables *t = dev_tables();
	struct place p = dev_place();
	uint64_t thread = p.block * hirace_block_stride(p.block_size) + p.in_block;
	struct hirace_word w = {0, 0, 0, 0, 0, 0};
	uint32_t bits;

	if (t == 0)
		return 0;
	bits = dev_thread_bits(p);
	w.launch = RACE_ACTOR_HAS(entered);
	if (thread >> bits || w.launch == 0) {
		DEV_INC64((uint64_t)&t->threads_aside);
		return 0;
	}
	w.thread = (uint32_t)thread;
	return hirace_encode(w, bits) | (bits - HIRACE_THREAD_BITS_MIN) | flags |
	       (entered & RACE_ACTOR_BESIDE);
}

/* A thread leaves a kernel without RACE_ACTOR_APART. */
extern "C" __device__ __noinline__ void __collider_hirace_end(uint64_t me)
{
	struct race_history_tables *t = dev_tables();
	uint32_t launch = RACE_ACTOR_HAS(me);

	if (t == 0 || t->unseen & RACE_HISTORY_BLIND)
		return;
	if (launch == 0) /* this thread stepped aside */
		launch = dev_enter(t, 0);
	if (launch)
		dev_leave(t, launch);
}

/* The machine: the module's own, or the one that the run asked for. */
DEV_FN const uint8_t *dev_machine(void)
{
	uint64_t v;

	FIELD(v, 128);
	return v ? (const uint8_t *)v : __collider_hirace_table;
}

/* --hirace=published: the paper to the letter, which knows no fence, and of strong accesses the
 * atomics. */
DEV_FN bool dev_is_published(void)
{
	uint64_t v;

	FIELD(v, 128);
	return v != 0;
}

/* What a volatile access is then: an ordinary load or store. */
DEV_FN uint32_t dev_published_what(uint32_t what)
{
	uint32_t access = what & RACE_HISTORY_STRONG ? HIRACE_R : HIRACE_W;

	if (!(what & RACE_HISTORY_VOLATILE))
		return what;
	what &= ~(RACE_HISTORY_STRONG | RACE_HISTORY_VOLATILE | 3u << RACE_HISTORY_ACCESS_AT);
	return what | access << RACE_HISTORY_ACCESS_AT;
}

RACE_STATIC_ASSERT(sizeof(struct race_stamps) <= RACE_LANES_ROW_AT, "the row comes after them");

RACE_STATIC_ASSERT(offsetof(struct race_stamps, own.read) == RACE_STAMPS_READ_AT,
		   "written by inlined code");

/* Of a kernel with RACE_ACTOR_LANES. */
DEV_FN struct race_lane *dev_row(const struct race_stamps *stamps)
{
	return (struct race_lane *)((uint64_t)stamps + RACE_LANES_ROW_AT);
}

DEV_FN struct hirace_actor dev_actor(uint64_t me, const struct race_stamps *stamps)
{
	struct hirace_actor a;
	struct place p = dev_place();
	uint32_t bits = RACE_ACTOR_BITS(me);
	struct hirace_word w = hirace_decode(me, bits);

	a.thread = w.thread;
	a.block_first = w.thread - p.in_block;
	a.block_size = p.block_size;
	a.block_clock = w.block_clock;
	a.warp_clock = w.warp_clock;
	a.launch = w.launch;
	a.thread_bits = bits;
	a.is_beyond = false;
	a.lanes = me & RACE_ACTOR_LANES ? dev_row(stamps) : 0;
	a.stamps.own.now = a.stamps.own.acquired = a.stamps.own.read = 0;
	if (stamps)
		a.stamps.own = stamps->own;
	if (me & RACE_ACTOR_UNSURE)
		a.stamps.own.acquired = 0xffffffffu;
	return a;
}

/* ---- accesses ------------------------------------------------------------------------------ */

/* Where the words of an address are, and what lies beside them. */
struct where {
	uint64_t at;	      /* for the report */
	uint64_t words, left; /* of the 4 bytes that hold it */
	uint64_t bytes, bytes_left;
};

/* Does it work for iguard, which was asked for (--iguard-kernels)? */
DEV_FN bool dev_is_for_iguard(void)
{
	uint64_t v;

	FIELD(v, 120);
	return (v & RACE_HISTORY_FOR_IGUARD) != 0;
}

/* Of what the word stands for, are all that race with a weak access of this thread atomics? */
DEV_FN bool dev_meets_atomics(uint64_t was, const struct hirace_actor *a)
{
	struct hirace_word w = hirace_decode(was, a->thread_bits);
	uint32_t relation = w.launch == a->launch ? hirace_relation_of(a, w.thread) : HIRACE_GRID;

	switch (hirace_base(w.state)) {
	case HIRACE_BATOM:
	case HIRACE_BATOM_W:
	case HIRACE_BATOM_B:
	case HIRACE_GATOM:
	case HIRACE_GATOM_W:
	case HIRACE_GATOM_B:
	case HIRACE_GATOM_G:
		return true;
	case HIRACE_BSYNC_ATOM:
	case HIRACE_BSYNC_ATOM_B:
	case HIRACE_BSYNC_ATOM_W: /* a barrier that this thread has passed is before them */
		return relation != HIRACE_GRID && w.block_clock == a->block_clock;
	default:
		return false;
	}
}

/* The kind that iguard's rules give to two accesses of which one is weak (iguard/kind.h). Of two
 * launches they say nothing. */
DEV_FN uint32_t dev_kind_of_iguard(uint32_t kind, uint64_t me, uint64_t was, bool is_strong)
{
	struct hirace_actor a = dev_actor(me, 0);
	struct hirace_word w = hirace_decode(was, a.thread_bits);
	uint32_t relation = hirace_relation_of(&a, w.thread);

	if (w.launch != a.launch)
		return kind;
	if (kind == RACE_KIND_HISTORY_POSSIBLE)
		return RACE_KIND_IGUARD_POSSIBLE;
	if (kind == RACE_KIND_HISTORY_INVENTED)
		return RACE_KIND_IGUARD_INVENTED;
	if (kind != RACE_KIND_HISTORY)
		return kind;
	if (is_strong || dev_meets_atomics(was, &a))
		return RACE_KIND_IGUARD_MIXED;
	if (relation == HIRACE_GRID || w.state == HIRACE_GREAD)
		return RACE_KIND_IGUARD_GRID;
	if (relation == HIRACE_BLOCK || w.state == HIRACE_BREAD || w.state == HIRACE_B_MR_BSYNC)
		return RACE_KIND_IGUARD_BLOCK;
	return RACE_KIND_IGUARD_WARP;
}

#define RECORD_STRONG 0x80000000u /* beside kind and width: the access is an atomic */

/* Rare, so a function of its own. earlier_site: race_history_who(). */
extern "C" __device__ __noinline__ void __collider_hirace_record(uint64_t me, uint64_t at,
								uint64_t was, uint32_t earlier_site,
								uint32_t site, uint32_t kind_width)
{
	uint64_t shape = RACE_HISTORY_SHAPE(blockDim.x, blockDim.y, blockDim.z, 0);
	uint64_t earlier = earlier_site;

	uint32_t kind = (kind_width & 0xffu) | RACE_REC_TWO_SIDES << 16;

	me &= ~(uint64_t)RACE_ACTOR_LANES;
	if (dev_is_for_iguard())
		kind = dev_kind_of_iguard(kind & 0xffu, me, was, kind_width & RECORD_STRONG) |
		       (RACE_REC_TWO_SIDES | RACE_REC_OF_WORD) << 16;
	if (RACE_ACTOR_HAS(was) != RACE_ACTOR_HAS(me))
		dev_of_other(was, &me, &earlier, &shape);
	struct dev_found f = {dev_table(),
			      site,
			      kind,
			      at,
			      {was, me},
			      {earlier, shape},
			      kind_width >> 16 & 0x7fffu,
			      kind_width >> 8 & 0xffu};
	dev_report(&f, dev_rt());
}

/* L and B of the location at `at`; of shared memory its offset does, too. */
DEV_FN struct race_history_side *dev_side(uint64_t at)
{
	return &dev_tables()->sides[(at >> 2) * 0x9e3779b97f4a7c15ull >> 48];
}

#define MODE_MAYBE 4u  /* beside enum hirace_how: the compiler may have invented the load */
#define MODE_SEED  8u  /* or it begins a compare-and-swap loop */
#define MODE_LANES 16u /* or may count on lockstep */
#define MODE_WIDTH 32u /* the width's place */

/* What may order a pair that isn't certain (enum race_may). */
DEV_FN uint32_t dev_may(uint64_t me, uint64_t was, const struct hirace_actor *a, uint32_t bit,
			uint32_t what)
{
	return me & RACE_ACTOR_UNSURE ? RACE_MAY_KERNEL
				      : hirace_may(was, a, RACE_HISTORY_ACCESS(what), bit,
						   (what & RACE_HISTORY_STRONG) != 0);
}

/* The bit that a race at `at` asks for; and what --hirace=published leaves of the stamps. */
DEV_FN uint32_t dev_asked(uint64_t me, struct hirace_actor *a, uint64_t at, uint32_t what,
			  uint32_t bit)
{
	if (dev_is_published() && !(me & RACE_ACTOR_UNSURE)) {
		a->stamps.own.acquired = 0;
		return 0;
	}
	/* Many locations share a bit; those that were read strongly are marked. */
	if (a->stamps.own.read & bit && !(what & RACE_HISTORY_OBSERVES) &&
	    !(dev_word32(&dev_side(at)->launch) & RACE_SIDE_READ))
		return 0;
	return bit;
}

/* The earlier side of a race with the access: race_history_who(). */
DEV_FN uint32_t dev_who(uint32_t beside, uint64_t was, uint32_t what, uint32_t thread_bits)
{
	return race_history_who(
		beside, was, RACE_HISTORY_ACCESS(what) == HIRACE_R || (what & RACE_HISTORY_STRONG),
		RACE_HISTORY_ACCESS(what) != HIRACE_W &&
			hirace_has_plain(hirace_decode(was, thread_bits).state));
}

/* A race that is certain. */
DEV_FN uint32_t dev_kind(uint32_t mode, uint64_t was, const struct hirace_actor *a)
{
	if (mode & MODE_SEED)
		return dev_meets_atomics(was, a) ? RACE_KIND_HISTORY_SEED : RACE_KIND_HISTORY;
	return mode & MODE_MAYBE ? RACE_KIND_HISTORY_INVENTED : RACE_KIND_HISTORY;
}

/* What lies beside a word that another thread has just changed comes a moment later. */
#define LATE_TRIES 16
#define LATE_NS	   200u

/* Of a race with the access that left `was`. */
DEV_FN uint32_t dev_beside_race(uint64_t left, uint64_t was, uint32_t launch)
{
	uint32_t beside = dev_word32((const void *)left);

#pragma unroll 1
	for (int i = 0; i < LATE_TRIES && RACE_ACTOR_HAS(was) == launch &&
			!race_history_is_of(beside, was);
	     i++) {
		__nanosleep(LATE_NS);
		beside = dev_word32((const void *)left);
	}
	return beside;
}

/* One word. `left`: what lies beside it, or 0; what: the low word; bit: of the location. */
extern "C" __device__ __noinline__ void __collider_hirace_word(uint64_t me, uint64_t stamps,
								uint64_t word, uint64_t left,
								uint64_t at, uint32_t what,
								uint32_t bit, uint32_t mode)
{
	struct hirace_actor a = dev_actor(me, (const struct race_stamps *)stamps);
	uint32_t site = RACE_HISTORY_SITE(what), kind, beside = 0, sites;
	enum hirace_verdict verdict;
	struct hirace_seen seen;

	bit = dev_asked(me, &a, at, what, bit);
	verdict = hirace_access_at((uint64_t *)word, bit, dev_machine(), &a,
				   RACE_HISTORY_ACCESS(what), (enum hirace_how)(mode & 3u), &seen);
	if (left && (verdict == HIRACE_IS_RACE || verdict == HIRACE_POSSIBLE))
		beside = dev_beside_race(left, seen.was, a.launch);
	else if (left && seen.next != seen.was)
		beside = dev_word32((const void *)left);
	if (left && seen.next != seen.was) {
		bool is_known = RACE_ACTOR_HAS(seen.was) == a.launch &&
				race_history_is_of(beside, seen.was);
		sites = race_history_sites(site, RACE_HISTORY_ACCESS(what) == HIRACE_W,
					   RACE_HISTORY_ACCESS(what) > HIRACE_W,
					   is_known ? beside : 0);
		asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(left),
			     "r"(sites | race_history_mix(seen.next)));
	}
	if (stamps && (verdict == HIRACE_IS_RACE || verdict == HIRACE_POSSIBLE ||
		       hirace_has_raced(seen.was, &a)))
		hirace_open((struct race_stamps *)stamps);
	if (verdict == HIRACE_NO_RACE && mode & MODE_LANES && what & RACE_HISTORY_STRONG &&
	    hirace_counts_on_lockstep(seen.was, &a))
		kind = RACE_KIND_HISTORY_LOCKSTEP;
	else if (verdict != HIRACE_IS_RACE && verdict != HIRACE_POSSIBLE)
		return;
	else if (verdict != HIRACE_IS_RACE)
		kind = RACE_KIND_HISTORY_POSSIBLE | dev_may(me, seen.was, &a, bit, what) << 16;
	else
		kind = dev_kind(mode, seen.was, &a);
	if (left && kind == RACE_KIND_HISTORY_LOCKSTEP)
		beside = dev_word32((const void *)left);
	beside = kind == RACE_KIND_HISTORY_SEED
			 ? race_history_who(beside, seen.was, false, false)
			 : dev_who(beside, seen.was, what, a.thread_bits);
	if (RACE_HISTORY_ACCESS(what) > HIRACE_W)
		kind |= RECORD_STRONG;
	__collider_hirace_record(me, at, seen.was, beside, site, kind | mode / MODE_WIDTH << 8);
}

/* The bit of a location's word in the set of those that were read strongly (hirace/release.h). */
DEV_FN uint32_t dev_read_bit(uint64_t at)
{
	return hirace_read_bit(at >> 2 << 3);
}

/* The words of an access. Of 4 bytes: their word, and in kernels that access bytes, too, those of
 * the bytes are looked at; of bytes: the other way round. */
extern "C" __device__ __noinline__ void
__collider_hirace_words(uint64_t me, uint64_t stamps, uint64_t at, uint64_t words, uint64_t left,
			 uint64_t bytes, uint64_t bytes_left, uint64_t what64)
{
	uint32_t what =
		dev_is_published() ? dev_published_what((uint32_t)what64) : (uint32_t)what64;
	uint32_t narrow = RACE_HISTORY_NARROW(what);
	uint32_t sure = RACE_HISTORY_SURE(what64), all = sure | RACE_HISTORY_MAYBE(what64);
	uint32_t store = what & RACE_HISTORY_STRONG	      ? HIRACE_STRONG_READ
			 : what64 & RACE_COPY_ISSUED ? HIRACE_ISSUE
						     : HIRACE_STORE;
	uint32_t look = what & RACE_HISTORY_STRONG ? HIRACE_STRONG_READ : HIRACE_LOOK;

#pragma unroll 1
	for (uint32_t i = 0; all >> i; i++) {
		uint32_t maybe = sure >> i & 1u ? 0 : MODE_MAYBE, n = narrow ? narrow : 4u;
		uint32_t of_word = narrow || maybe ? look : store;
		uint32_t of_bytes = narrow && !maybe ? store : look;
		uint32_t bit = dev_read_bit(at + 4u * i);

		if (!(all >> i & 1u))
			continue;
		if (what64 & RACE_HISTORY_SEED)
			maybe |= MODE_SEED;
		if (what64 & RACE_HISTORY_LOCKSTEP)
			maybe |= MODE_LANES;
		/* What this access leaves comes before what it looks at: of two accesses that
		 * check at the same time, one of them sees the other. */
#pragma unroll 1
		for (uint32_t k = 0; k <= n; k++) {
			bool is_word = k == (narrow ? n : 0u);
			uint32_t b = 4u * i + (is_word ? 0u : narrow ? k : k - 1u);
			uint64_t word = is_word ? words + 8u * i : bytes + 8u * b;
			uint64_t beside = is_word ? left : bytes_left;
			if (!is_word && !bytes)
				continue;
			if (beside)
				beside += 4u * (is_word ? i : b);
			__collider_hirace_word(me, stamps, word, beside, at + b, what, bit,
						(is_word ? of_word : of_bytes) | maybe |
							MODE_WIDTH * (is_word ? n : 1u));
		}
	}
}

/* A read that is only looked at: its place, or NULL, and what was found. NULL: another access. */
struct held_look {
	struct race_held_place *place;
	uint32_t way; /* enum race_held_way */
	bool is_race;
};

DEV_FN void dev_look(uint64_t me, uint64_t stamps, const struct where *w, uint64_t what64,
		     struct held_look *look);

DEV_FN void dev_check(uint64_t me, uint64_t stamps, const struct where *w, uint64_t what,
		      struct held_look *look)
{
	if (look)
		dev_look(me, stamps, w, what, look);
	else
		__collider_hirace_words(me, stamps, w->at, w->words, w->left, w->bytes,
					 w->bytes_left, what);
}

DEV_FN bool dev_is_aside(uint64_t me)
{
	return RACE_ACTOR_HAS(me) == 0 || (me & RACE_ACTOR_ASIDE);
}

/* What lies beside a word of a pool; 0: nothing does. */
DEV_FN uint64_t dev_beside(uint64_t word, uint64_t pool, uint64_t sites)
{
	return sites && word ? sites + (word - pool) / 2u : 0;
}

DEV_FN void dev_global(uint64_t me, uint64_t stamps, uint64_t at, uint64_t what,
		       struct held_look *look)
{
	uint64_t words, sites, bytes, byte_sites, block = dev_block_at(at);
	uint32_t narrow = RACE_HISTORY_NARROW((uint32_t)what);
	struct where w = {at, 0, 0, 0, 0};

	FIELD(words, 72);
	FIELD(sites, 80);
	FIELD(bytes, 96);
	FIELD(byte_sites, 104);
	if (!block) {
		dev_untracked();
		return;
	}
	w.words = block + (at % RACE_HISTORY_PIECE >> 2 << 3);
	w.left = dev_beside(w.words, words, sites);
	if (what & RACE_HISTORY_BYTES || narrow) {
		w.bytes = dev_bytes(at, block, narrow != 0);
		w.bytes_left = dev_beside(w.bytes, bytes, byte_sites);
	}
	if (narrow && !w.bytes) {
		dev_untracked();
		return;
	}
	dev_check(me, stamps, &w, what, look);
	/* The words of bytes may have come meanwhile, with an access that has looked at this one's
	 * word before it was there. */
	if (w.bytes || look || !(what & RACE_HISTORY_BYTES))
		return;
	w.bytes = dev_bytes(at, block, false);
	w.bytes_left = dev_beside(w.bytes, bytes, byte_sites);
	if (w.bytes)
		dev_check(me, stamps, &w, what, look);
}

/* The first word of a block's shared memory; its table is one word in a register (RACE_TABLE_*). */
DEV_FN uint64_t dev_shared_words(uint64_t table)
{
	return table & RACE_TABLE_IS_SCRATCH
		       ? dev_scratch_words(table)
		       : (uint64_t)__cvta_shared_to_generic(RACE_TABLE_WORDS(table));
}

DEV_FN void dev_in_shared(uint64_t me, uint64_t stamps, uint64_t table, uint32_t at, uint64_t what,
			  struct held_look *look)
{
	uint64_t words = dev_shared_words(table);
	uint32_t off = at - RACE_TABLE_FIRST(table), n = RACE_TABLE_TRACKED(table);
	struct where w = {at, 0, 0, 0, 0};

	if (off >= n ||
	    n - off < 4u * (32u - __clz(RACE_HISTORY_SURE(what) | RACE_HISTORY_MAYBE(what) | 1u)) -
			      (off & 3u)) {
		dev_untracked();
		return;
	}
	w.words = words + (off >> 2 << 3);
	words += RACE_HISTORY_SHARED_WORDS(n);
	if (table & RACE_TABLE_HAS_SITES) {
		w.left = words + (off & ~3u);
		words += RACE_HISTORY_SHARED_SITES(n);
	}
	if (what & (3u << RACE_HISTORY_NARROW_AT | RACE_HISTORY_BYTES) &&
	    table & RACE_TABLE_HAS_BYTES) {
		w.bytes = words + off * 8u;
		if (w.left)
			w.bytes_left = words + n * 8u + off * 4u;
	}
	if (RACE_HISTORY_NARROW((uint32_t)what) && !w.bytes)
		dev_untracked();
	else
		dev_check(me, stamps, &w, what, look);
}

extern "C" __device__ __noinline__ void __collider_hirace_g(uint64_t me, uint64_t stamps,
							     uint64_t at, uint64_t what)
{
	if (at && !dev_is_aside(me))
		dev_global(me, stamps, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_hirace_s(uint64_t me, uint64_t stamps, uint64_t table, uint32_t at, uint64_t what)
{
	if (at != 0xffffffffu && !dev_is_aside(me))
		dev_in_shared(me, stamps, table, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_hirace_x(uint64_t me, uint64_t stamps, uint64_t table, uint64_t at, uint64_t what)
{
	const void *p = (const void *)at;

	if (!at || dev_is_aside(me) || __isLocal(p))
		return;
	if (__isShared(p))
		dev_in_shared(me, stamps, table, (uint32_t)__cvta_generic_to_shared(p), what, 0);
	else if (__isGlobal(p))
		dev_global(me, stamps, at, what, 0);
	else
		dev_untracked(); /* shared memory of another block of the cluster */
}

#include "held.h"

#include "device/matrix.h"

extern "C" __device__ __noinline__ void __collider_hirace_matrix(uint64_t me, uint64_t stamps,
							   uint64_t table, uint64_t at,
							   uint64_t what, uint64_t matrix)
{
	if (!dev_is_aside(me) && !dev_is_nothing(at, what))
		dev_matrix(me, stamps, table, at, what, matrix);
}

#include "copying.h"

#include "step.h"

/* ---- a block's table for shared memory ------------------------------------------------------ */

/* All threads of the block; a barrier comes after. bytes: the table's, a multiple of 16. */
extern "C" __device__ __noinline__ void __collider_hirace_shared(uint64_t table, uint32_t bytes)
{
	struct place p = dev_place();

	for (uint32_t i = 16u * p.in_block; i < bytes; i += 16u * p.block_size)
		asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(
				     RACE_TABLE_WORDS(table) + i),
			     "r"(0));
}

#include "sync.h"
