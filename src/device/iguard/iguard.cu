/*
 * iguard.cu - detector `iguard` on the device: what an instrumented module calls.
 *
 *	__collider_iguard_begin		at a kernel's entry: the thread's state and word
 *	__collider_iguard_shared	at a kernel's entry: the block's table for shared memory
 *	__collider_iguard_step, _step_s	before an access that the fast path doesn't decide
 *	__collider_iguard_g, _s, _x	before an access: global, shared, generic address
 *	__collider_iguard_copy		at a cp.async; _copies at its commit and wait: copying.h
 *	__collider_iguard_matrix		before wmma.load and wmma.store
 *	__collider_iguard_hold		at a load that may be invented; _settle, _used: held.h
 *	__collider_iguard_sync		beside strong accesses and fences: release stamps
 *	__collider_iguard_lock		after an atomic that may have taken a lock, and after strong
 *					reads that may see a thread's turn
 *	__collider_iguard_barrier	around a barrier of the block
 *	__collider_iguard_warp		around one of a warp
 *
 * The rules are iguard/update.h and nothing else. Compiled to PTX when Collider is built and pasted
 * into each module, local to it. All accesses are relaxed. Nothing orders memory but the fences in
 * dev_write and dev_read: what is left beside a location must be visible no later than the
 * program's strong write that comes next, and be read no earlier than its strong read; they run
 * only in kernels that have releases or fences. This detector judges by history, so they hide no
 * race.
 *
 * Entries are swapped word by word, so it runs on every target. Misses: an access outside of the
 * tracked range (counted). Costs: a call, two loads of 8 bytes and the thread's state.
 */
#define DEV_KNOBS "__collider_iguard"
#include "race/layout/iguard.h"
#include "race/layout/copies.h"
#include "race/layout/held.h"
#include "race/layout/history.h"

#include "device/gpu_ops.h"

#include "device/report_core.h"

#define DEV_TAKE     __collider_iguard_take
#define DEV_BLOCK_OF __collider_iguard_block_of
#define DEV_WORD     IGUARD_ENTRY_BYTES
#include "device/pieces.h"

DEV_FN struct race_iguard_tables *dev_tables(void)
{
	return (struct race_iguard_tables *)dev_head();
}

/* RACE_IGUARD_MODE_* */
DEV_FN uint32_t dev_modes(void)
{
	uint64_t v;

	FIELD(v, 120);
	return (uint32_t)v;
}

DEV_FN void dev_new_context(void)
{
	DEV_INC64((uint64_t)&dev_head()->contexts);
}

/* ---- the operations of iguard/ ------------------------------------------------------------ */

DEV_FN void dev_max32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.max.u32 [%0], %1;" ::"l"(p), "r"(v));
}

DEV_FN void dev_or32(void *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.or.b32 [%0], %1;" ::"l"(p), "r"(v));
}

#ifdef IGUARD_SWAPS_PAIRS
/* Both words of an entry, at an address of any space. */
DEV_FN struct iguard_entry dev_swap128(struct iguard_entry *p, struct iguard_entry old,
				      struct iguard_entry next)
{
	struct iguard_entry was;

	asm volatile("{\n\t"
		     ".reg .b128 dev_o, dev_n, dev_w;\n\t"
		     "mov.b128 dev_o, {%3, %4};\n\t"
		     "mov.b128 dev_n, {%5, %6};\n\t"
		     "atom.relaxed.gpu.cas.b128 dev_w, [%2], dev_o, dev_n;\n\t"
		     "mov.b128 {%0, %1}, dev_w;\n\t"
		     "}"
		     : "=l"(was.writer), "=l"(was.accessor)
		     : "l"(p), "l"(old.writer), "l"(old.accessor), "l"(next.writer),
		       "l"(next.accessor));
	return was;
}
#define IGUARD_CAS128(p, old, next) dev_swap128(p, old, next)
#endif

#define IGUARD_NEW_CONTEXT()	  dev_new_context()
#define IGUARD_FN		  DEV_FN
#define IGUARD_LOAD64(p)		  dev_word(p)
#define IGUARD_LOAD32(p)		  dev_word32(p)
#define IGUARD_CAS64(p, old, next) dev_swap(p, old, next)
#define IGUARD_CAS32(p, old, next) dev_swap32(p, old, next)
#define IGUARD_MAX32(p, v)	  dev_max32(p, v)
#define IGUARD_OR32(p, v)	  dev_or32(p, v)
#include "iguard/kind.h"
#include "iguard/published.h"

RACE_STATIC_ASSERT(sizeof(struct iguard_side) == sizeof(((struct race_iguard_side *)0)->stamp),
		   "the one begins with the other");
RACE_STATIC_ASSERT(sizeof(struct iguard_stamps) == sizeof(((struct race_iguard_block *)0)->stamp),
		   "posted by words");
RACE_STATIC_ASSERT(IGUARD_CONTEXTS == 1u << 18 && IGUARD_NOWS == 1u << 17, "in the tables");

/* ---- who a thread is --------------------------------------------------------------------- */

/* In the thread's own memory; declared in iguard.ptxt. Not with RACE_IGUARD_PLAIN. */
struct state {
	struct iguard_stamps stamps;
	struct iguard_locks locks;
	uint64_t own; /* its context, as iguard_context_encode makes it */
	uint32_t launch, block_clock, warp_clock;
	uint32_t warp_meets;  /* barriers of its warp so far */
	uint32_t small_fence; /* it has fenced for its block what came from another */
	uint32_t block;
	uint32_t fences; /* of the published rules: 6 bits of scope .gpu, 6 of scope .cta */
};
RACE_STATIC_ASSERT(sizeof(struct state) <= RACE_IGUARD_STATE_BYTES, "iguard.c");
RACE_STATIC_ASSERT(offsetof(struct state, stamps.block.set.own.read) == RACE_STAMPS_READ_AT,
		   "written by inlined code");

/* With RACE_IGUARD_LANES the lane's row comes after it. */
DEV_FN struct race_lane *dev_row(const struct state *s)
{
	return (struct race_lane *)((uint64_t)s + RACE_IGUARD_STATE_BYTES);
}

/* What other threads find of this one: its context, or 0 while it synchronises. */
DEV_FN void dev_set_now(uint64_t me, const struct state *s, uint32_t context)
{
	uint32_t thread = (uint32_t)(me >> IGUARD_THREAD_AT);
	uint64_t v;

	if (dev_modes() & RACE_IGUARD_MODE_PUBLISHED)
		context = s->fences;
	v = (uint64_t)thread << IGUARD_THREAD_AT | (uint64_t)context << IGUARD_CONTEXT_AT;

	if (me & RACE_IGUARD_ORDERS)
		asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(
				     &dev_tables()->nows[iguard_now_place(thread)]),
			     "l"(v));
}

/* Stamps and locks are kept only where something orders. */
DEV_FN struct iguard_context dev_context(uint64_t me, const struct state *s)
{
	struct iguard_context c = {s->launch, s->block_clock, s->warp_clock, 0, 0, 0};

	if (me & RACE_IGUARD_ORDERS) {
		c.block_stamp = s->stamps.block.set.own.now;
		c.device_stamp = s->stamps.device.set.own.now;
		c.locks = iguard_locks_summary(&s->locks, s->block);
	}
	return c;
}

/* A context's number; its first place in the table is looked at in the L1 cache. What is there
 * stays, so only what seems to be free needs the memory that all share. */
DEV_FN uint32_t dev_intern(uint64_t own)
{
	uint64_t *contexts = dev_tables()->contexts_of;
	uint32_t at = (uint32_t)(own * 0x9e3779b97f4a7c15ull >> (64u - IGUARD_CONTEXT_BITS));

	at += at == 0;
	if (own && dev_word_near(&contexts[at]) == own)
		return at;
	return iguard_intern(contexts, own);
}

/* What a context's number means. */
DEV_FN uint64_t dev_meaning(uint32_t number)
{
	uint64_t *at = &dev_tables()->contexts_of[number];
	uint64_t v = dev_word_near(at);

	return v ? v : dev_word(at);
}

DEV_FN uint32_t dev_number(uint64_t word)
{
	return (uint32_t)(word >> IGUARD_CONTEXT_AT) & (IGUARD_CONTEXTS - 1u);
}

/* The thread's context. */
DEV_FN uint64_t dev_own(uint64_t me, const struct state *s)
{
	return me & RACE_IGUARD_PLAIN ? dev_meaning(dev_number(me)) : s->own;
}

/* The thread's word for the state that it is in now. */
DEV_FN uint64_t dev_renew(uint64_t me, struct state *s)
{
	uint64_t was = me & IGUARD_CONTEXT_MASK;
	uint64_t own = iguard_context_encode(dev_context(me, s));
	uint32_t context = dev_intern(own);

	s->own = own;
	me = (me & ~IGUARD_CONTEXT_MASK) | (uint64_t)context << IGUARD_CONTEXT_AT;
	if (context == 0 && was)
		DEV_INC64((uint64_t)&dev_tables()->threads_aside);
	dev_set_now(me, s, context);
	return me;
}

DEV_FN bool dev_is_aside(uint64_t me)
{
	return (me & IGUARD_CONTEXT_MASK) == 0;
}

/* Without tables or a number the thread does nothing at all. */
DEV_FN bool dev_is_out(uint64_t state)
{
	return ((const struct state *)state)->launch == 0;
}

/* Of RACE_IGUARD_PLAIN: the word after so many more barriers. What has no room steps aside for
 * good. */
DEV_FN uint64_t dev_move_on(uint64_t me, uint64_t own, uint32_t barriers)
{
	struct iguard_context c = iguard_context_decode(own);
	uint32_t context;

	c.block_clock += barriers;
	context = dev_intern(iguard_context_encode(c));
	if (context == 0)
		DEV_INC64((uint64_t)&dev_tables()->threads_aside);
	return (me & ~IGUARD_CONTEXT_MASK) | (uint64_t)context << IGUARD_CONTEXT_AT;
}

/* `state`: 0 with RACE_IGUARD_PLAIN. Without RACE_IGUARD_ORDERS stamps and locks are not
 * touched. */
extern "C" __device__ __noinline__ uint64_t __collider_iguard_begin(uint64_t state, uint32_t flags)
{
	struct race_iguard_tables *t = dev_tables();
	struct state *s = (struct state *)state;
	struct place p = dev_place();
	uint64_t thread = p.block * p.block_size + p.in_block;
	uint32_t launch = 0;
	uint32_t from = flags & RACE_IGUARD_ORDERS ? 0 : offsetof(struct state, own) / 4u;

	if (t && thread <= IGUARD_THREAD_LAST)
		launch = dev_launch();
	if (t && launch == 0)
		DEV_INC64((uint64_t)&t->threads_aside);
	if (flags & RACE_IGUARD_PLAIN)
		return launch ? dev_move_on(thread << IGUARD_THREAD_AT | flags, launch, 0) : flags;
#pragma unroll 1
	for (uint32_t i = from; i < sizeof(*s) / 4u; i++)
		((uint32_t *)s)[i] = 0;
	if (launch == 0)
		return 0;
	s->block = (uint32_t)p.block + 1u;
	s->launch = launch;
	return dev_renew(thread << IGUARD_THREAD_AT | flags, s);
}

/* ---- beside the entries ---------------------------------------------------------------------- */

/* The host clears the tables when nothing runs. */
DEV_FN void dev_mark(void)
{
	struct race_iguard_tables *t = dev_tables();

	if (dev_word32(&t->is_ordered))
		return;
	dev_store32(&t->is_ordered, 1);
	if (t->ordered_at)
		DEV_STORE32(t->ordered_at, 1);
}

/* block: plus 1; 0: what concerns all. warp: plus 1; 0: the whole block. */
DEV_FN struct race_iguard_block *dev_block(uint32_t launch, uint32_t block, uint32_t warp)
{
	uint64_t key = ((uint64_t)block << 20 | warp << 10 | launch) * 0x9e3779b97f4a7c15ull;

	return &dev_tables()->blocks[key >> 48];
}

RACE_STATIC_ASSERT(RACE_IGUARD_BLOCKS == 1u << 16, "hashed to 16 bits");
RACE_STATIC_ASSERT(RACE_IGUARD_SIDES == 1u << 16, "hashed to 16 bits");

DEV_FN void dev_fence(void)
{
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

#include "device/lanes_gpu.h"

/* Entries of words or of bytes: a kernel that accesses bytes has no use for the others. */
#define DEV_SCRATCH_BYTES(n, has_bytes) ((n) * ((has_bytes) ? 16u : 4u))
#define DEV_SCRATCH_FALLS_BACK		false
#include "device/scratch.h"

#include "entry.h"

#include "fast.h"

/* ---- from an access to its entries ---------------------------------------------------------- */

/* A read that is only looked at: its place, or NULL, and what was found. NULL: another access. */
struct held_look {
	struct race_held_place *place;
	uint32_t way; /* enum race_held_way */
	bool is_race;
};

DEV_FN void dev_look(uint64_t me, uint64_t state, uint64_t at, uint64_t first, uint64_t what64,
		     struct held_look *look);

/* `first`: the entry of its first word, or of its first byte. */
DEV_FN void dev_entries(uint64_t me, uint64_t state, uint64_t at, uint64_t first, uint64_t what64,
			bool is_shared, struct held_look *look)
{
	uint32_t what = (uint32_t)what64, narrow = RACE_IGUARD_NARROW(what);
	uint32_t sure = RACE_IGUARD_SURE(what64), all = sure | RACE_IGUARD_MAYBE(what64);
	struct quick q = {me, state, dev_spans(), is_shared};

	if (look) {
		dev_look(me, state, at, first, what64, look);
		return;
	}
	if (what & (RACE_IGUARD_BYTES | RACE_IGUARD_STRONG) || what64 & RACE_COPY_ISSUED ||
	    me & RACE_IGUARD_LANES ||
	    dev_modes() & RACE_IGUARD_MODE_PUBLISHED) {
		__collider_iguard_entries(me, state, at, first, what64);
		return;
	}
#pragma unroll 1
	for (uint32_t i = 0; all >> i; i++) {
		uint64_t entry = first + IGUARD_ENTRY_BYTES * i;
		uint64_t near = entry;
		uint32_t mode = MODE_MAYBE;

		if (is_shared)
			near = (uint32_t)__cvta_generic_to_shared((const void *)entry);
		if (sure >> i & 1u)
			mode = dev_try(&q, near, (what & RACE_IGUARD_WRITES) != 0,
				       RACE_IGUARD_SITE(what) + 1u,
				       RACE_IGUARD_FOR_ALL(what64) >> i & 1u ? MODE_WARP : 0u);

		if (all >> i & 1u && mode != QUICK_DONE)
			__collider_iguard_entry(me, state, entry, at + 4u * i, what,
					       dev_read_bit(at + 4u * i),
					       mode | MODE_WIDTH * (narrow ? narrow : 4u));
	}
}

DEV_FN void dev_global(uint64_t me, uint64_t state, uint64_t at, uint64_t what,
		       struct held_look *look)
{
	uint64_t first = dev_block_at(at);

	if (first && (uint32_t)what & RACE_IGUARD_BYTES)
		first = dev_bytes(at, first, true);
	else if (first)
		first += at % RACE_HISTORY_PIECE / 4u * IGUARD_ENTRY_BYTES;
	if (first)
		dev_entries(me, state, at, first, what, false, look);
	else
		dev_untracked();
}

#include "shared.h"

extern "C" __device__ __noinline__ void
__collider_iguard_g(uint64_t me, uint64_t state, uint64_t at,
							   uint64_t what)
{
	if (at && !dev_is_aside(me))
		dev_global(me, state, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_iguard_s(uint64_t me, uint64_t state, uint64_t table, uint32_t at, uint64_t what)
{
	if (at != 0xffffffffu && !dev_is_aside(me))
		dev_in_shared(me, state, table, at, what, 0);
}

extern "C" __device__ __noinline__ void
__collider_iguard_x(uint64_t me, uint64_t state, uint64_t table, uint64_t at, uint64_t what)
{
	const void *p = (const void *)at;

	if (!at || dev_is_aside(me) || __isLocal(p))
		return;
	if (__isShared(p))
		dev_in_shared(me, state, table, (uint32_t)__cvta_generic_to_shared(p), what, 0);
	else if (__isGlobal(p))
		dev_global(me, state, at, what, 0);
	else
		dev_untracked(); /* shared memory of another block of the cluster */
}

#include "held.h"

#include "device/matrix.h"

extern "C" __device__ __noinline__ void __collider_iguard_matrix(uint64_t me, uint64_t state,
							   uint64_t table, uint64_t at,
							   uint64_t what, uint64_t matrix)
{
	if (!dev_is_aside(me) && !dev_is_nothing(at, what))
		dev_matrix(me, state, table, at, what, matrix);
}

#include "copying.h"

#include "sync.h"
