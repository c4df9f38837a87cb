/*
 * update.h - iGUARD's rules (SOSP'21, Table 2) for one access, without its machine.
 *
 * An access is judged against the last write and, if it writes, the reads since then; then the
 * entry is brought up to date. What Table 2 asks, in this order:
 *
 *	P1, P2	no thread was there, or none wrote		the word is empty, or of reads
 *	P3	the same thread, and no other		extent ONE, the same thread
 *	P4	a __syncwarp since				warp clocks differ
 *	P5	a __syncthreads since				block clocks differ
 *	P6	both atomic, scopes sufficient			iguard_conflict: NONE
 *	R1..R4	no fence orders the two				the stamps: RACE
 *	R5	no common lock					POSSIBLE
 *
 * with these readings, where the paper's text is open or wrong:
 *
 *  - the counters of R2 to R4 are those of the *earlier* accessor now: has it fenced since? That
 *    proves a race whatever the later thread has acquired (`now` table), and the release stamps
 *    (stamps.h) prove it where nothing can have reached the later thread. Fences are cumulative
 *    over barriers, so a writer after whose __syncthreads another thread fences is not blamed;
 *  - lanes that are active together are not ordered (P4's exemption is in published.h only);
 *  - an acquire is a half fence: of its operation's scope, in its direction;
 *  - R5 alone is *possible*; a common lock takes a pair that may be ordered for ordered;
 *  - the accessor is never replaced by one that can race with less: readers that nothing orders are
 *    a group with its extent (the paper's BlkShared and DevShared), and an older weak access
 *    stays in sight after strong ones that are ordered after it (iguard_after).
 *
 * A group's stamps and locks are the least that all have: what is certain of the group is certain
 * of the member that conflicts.
 *
 * From sm_90 on the 16 bytes are swapped at once; below, word by word: then a reader and a writer
 * that come at the same moment may miss each other (each looks again after its own swap). The
 * includer defines, beside those of stamps.h:
 *
 *	IGUARD_LOAD64(p), IGUARD_CAS64(p, old, new)	relaxed
 *	IGUARD_NEW_CONTEXT()	(optional) counts an entry taken in the table of contexts
 *	IGUARD_CAS128(p, old, new)	(optional) relaxed; entries; returns what was there
 *
 * Misses: pairs of two launches. Costs, where the entry can stay: two loads of 8 bytes and one for
 * each context that isn't the thread's own.
 */
#ifndef COLLIDER_IGUARD_UPDATE_H
#define COLLIDER_IGUARD_UPDATE_H

#include "iguard/locks.h"
#include "iguard/stamps.h"
#include "race/layout/lanes.h"

#define IGUARD_LANES 32u

#ifndef IGUARD_NEW_CONTEXT
#define IGUARD_NEW_CONTEXT() ((void)0)
#endif

/* ---- contexts ---------------------------------------------------------------------------- */

#define IGUARD_PROBES 32u

/* The number of a context in the table, which is stored if it is new; 0: it is 0, or no room. */
IGUARD_FN uint32_t iguard_intern(uint64_t *contexts, uint64_t context)
{
	uint32_t at = (uint32_t)(context * 0x9e3779b97f4a7c15ull >> (64u - IGUARD_CONTEXT_BITS));

	if (context == 0)
		return 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < IGUARD_PROBES; i++) {
		uint64_t found;

		at = (at + (i != 0)) & (IGUARD_CONTEXTS - 1u);
		at += at == 0;
		found = IGUARD_LOAD64(&contexts[at]);
		if (found == 0)
			found = IGUARD_CAS64(&contexts[at], 0, context);
		if (found == 0)
			IGUARD_NEW_CONTEXT();
		if (found == 0 || found == context)
			return at;
	}
	return 0;
}

/* ---- who accesses, and how ----------------------------------------------------------------- */

struct iguard_actor {
	uint32_t thread, block_first, block_size; /* numbers in the grid; of its block */
	uint32_t context;			  /* its number; 0: the thread steps aside */
	struct iguard_context own; /* the same, as it is stored: full stamps are full */
	uint32_t block_acquired, device_acquired; /* A of its stamps */
	uint32_t read;				  /* their set */
	uint64_t *contexts;
	const uint64_t *now;	       /* of IGUARD_NOWS: what a thread's context is now; or NULL */
	bool is_unsure;		       /* something else may order it: nothing is certain */
	bool has_exits;		       /* threads may leave before a barrier that others wait at */
	const struct race_lane *lanes; /* its row; NULL: full masks only */
};

/* Of a thread: its number << IGUARD_THREAD_AT, and its context now at IGUARD_CONTEXT_AT; a context
 * of 0 while it synchronises. Threads share these by a hash: a reader that finds another thread's
 * learns nothing. */
#define IGUARD_NOWS (1u << 17)

RACE_FN uint32_t iguard_now_place(uint32_t thread)
{
	return thread & (IGUARD_NOWS - 1u);
}

struct iguard_access {
	bool writes, is_strong, has_cta; /* has_cta: strong, of scope .cta */
	uint32_t site;			 /* plus 1 */
	uint32_t bit;			 /* of the location: iguard_read_bit */
};

enum iguard_relation { IGUARD_SELF, IGUARD_SAME_WARP, IGUARD_SAME_BLOCK, IGUARD_OTHER_BLOCK };

RACE_FN enum iguard_relation iguard_relation_of(const struct iguard_actor *me, uint32_t thread)
{
	uint32_t place = thread - me->block_first;

	if (place >= me->block_size)
		return IGUARD_OTHER_BLOCK;
	if (thread == me->thread)
		return IGUARD_SELF;
	return place / IGUARD_LANES == (me->thread - me->block_first) / IGUARD_LANES
		       ? IGUARD_SAME_WARP
		       : IGUARD_SAME_BLOCK;
}

enum iguard_verdict {
	IGUARD_NO_RACE,
	IGUARD_LOCKED,	 /* may be ordered, and both hold a lock: taken for ordered */
	IGUARD_POSSIBLE, /* no barrier orders the two, but something else may */
	IGUARD_IS_RACE,
	IGUARD_ASIDE /* not judged */
};

/* What a word is to an access. */
struct iguard_view {
	struct iguard_word w;
	struct iguard_context c;
	enum iguard_relation relation;
	bool is_there;	/* a thread of this launch */
	bool is_across; /* some member is of another block */
};

IGUARD_FN struct iguard_view iguard_view_of(uint64_t word, const struct iguard_actor *me)
{
	struct iguard_view v;

	v.w = iguard_decode(word);
	v.c = me->own;
	if (v.w.context != me->context)
		v.c = iguard_context_decode(v.w.context ? IGUARD_LOAD64(&me->contexts[v.w.context])
							: 0);
	v.relation = iguard_relation_of(me, v.w.thread);
	v.is_there = v.c.launch == me->own.launch && v.c.launch != 0;
	v.is_across = v.relation == IGUARD_OTHER_BLOCK || v.w.extent == IGUARD_OF_GRID;
	return v;
}

/*
 * Of a word's thread in this warp, since the block's last barrier. With rows (partial masks) the
 * members of a group are all after a full mask, or none is: one that joined later was not.
 */
RACE_FN enum race_lane_order iguard_lane_order(const struct iguard_view *v,
					       const struct iguard_actor *me)
{
	if (me->lanes)
		return race_lane_order(me->lanes, (me->thread - me->block_first) % IGUARD_LANES,
				       (v->w.thread - me->block_first) % IGUARD_LANES,
				       v->c.warp_clock);
	if (v->c.warp_clock != me->own.warp_clock)
		return RACE_AFTER_FULL;
	return v->relation == IGUARD_SELF ? RACE_MINE : RACE_OTHER;
}

/* Do barriers and program order order all members before this access (P3 to P5)? */
RACE_FN bool iguard_is_ordered(const struct iguard_view *v, const struct iguard_actor *me)
{
	if (v->is_across)
		return false;
	if (v->c.block_clock != me->own.block_clock)
		return true;
	if (v->w.extent > IGUARD_OF_WARP || v->relation > IGUARD_SAME_WARP)
		return false;
	if (v->w.extent == IGUARD_ONE)
		return v->relation == IGUARD_SELF || iguard_lane_order(v, me) != RACE_OTHER;
	return iguard_lane_order(v, me) == RACE_AFTER_FULL;
}

enum iguard_conflict { IGUARD_CONFLICT_NONE, IGUARD_CONFLICT_MAYBE, IGUARD_CONFLICT_SURE };

/* Is the older weak access, which strong ones followed, unordered with a strong access? */
RACE_FN bool iguard_meets_older(const struct iguard_view *v, const struct iguard_actor *me)
{
	bool is_barred = v->c.block_clock != me->own.block_clock;
	bool is_warped = is_barred || iguard_lane_order(v, me) == RACE_AFTER_FULL;

	if (v->w.after == IGUARD_PURE || v->relation == IGUARD_SELF)
		return false;
	if (v->relation == IGUARD_OTHER_BLOCK)
		return true;
	if (v->w.after == IGUARD_AFTER_BLOCK)
		return false;
	if (v->relation == IGUARD_SAME_BLOCK)
		return !is_barred;
	return v->w.after == IGUARD_AFTER_SELF && !is_warped;
}

/*
 * A conflict within the warp that isn't certain: the word names one of several accesses, and this
 * lane, which took part in a partial mask, may be ordered after the one that conflicts. A group
 * whose named lane isn't ordered conflicts for certain, unless strong and weak ones are mixed.
 */
RACE_FN bool iguard_is_blurred(const struct iguard_view *v, const struct iguard_actor *me,
			       const struct iguard_access *a)
{
	bool is_group = v->w.extent == IGUARD_OF_WARP, is_older = v->w.after != IGUARD_PURE;

	if (!me->lanes || !me->lanes->is_partial || v->is_across ||
	    v->relation > IGUARD_SAME_WARP || v->w.extent > IGUARD_OF_WARP)
		return false;
	if (a->is_strong && is_older)
		return true;
	return is_group && iguard_lane_order(v, me) != RACE_OTHER;
}

/* Does the access conflict with a member that barriers don't order before it (and P6)? The word is
 * not ordered as a whole. */
RACE_FN enum iguard_conflict iguard_conflict_of(const struct iguard_view *v,
						const struct iguard_actor *me,
						const struct iguard_access *a)
{
	bool is_elsewhere = v->relation == IGUARD_OTHER_BLOCK && v->w.extent != IGUARD_OF_GRID;
	bool is_mixed = !v->w.is_strong && v->w.after == IGUARD_MIXED;
	bool is_blurred = iguard_is_blurred(v, me, a);

	if (!a->is_strong || (!v->w.is_strong && !is_mixed))
		return is_blurred ? IGUARD_CONFLICT_MAYBE : IGUARD_CONFLICT_SURE;
	/* All members are in one other block, and one of them conflicts. */
	if (is_elsewhere && (is_mixed || v->w.has_cta || a->has_cta || v->w.after))
		return IGUARD_CONFLICT_SURE;
	if (v->is_across && a->has_cta)
		return IGUARD_CONFLICT_SURE;
	if (!is_mixed && iguard_meets_older(v, me))
		return is_blurred ? IGUARD_CONFLICT_MAYBE : IGUARD_CONFLICT_SURE;
	return is_mixed || (v->is_across && v->w.has_cta) ? IGUARD_CONFLICT_MAYBE
							  : IGUARD_CONFLICT_NONE;
}

/* Does the access conflict with that of the word's own thread? Older ones, which the thread's
 * follows, may leave a scope of .cta there, or a weak access behind. */
RACE_FN bool iguard_meets_own(const struct iguard_view *v, const struct iguard_access *a)
{
	return !a->is_strong || !v->w.is_strong || (v->is_across && a->has_cta);
}

/* Has the earlier thread not synchronised in any way since its access? A full stamp doesn't show
 * another release. */
IGUARD_FN bool iguard_is_still(const struct iguard_view *v, const struct iguard_actor *me)
{
	uint64_t now;

	if (!me->now || v->w.extent != IGUARD_ONE || v->c.block_stamp == IGUARD_STAMP_FULL)
		return false;
	now = IGUARD_LOAD64(&me->now[iguard_now_place(v->w.thread)]);
	return now >> IGUARD_THREAD_AT == v->w.thread && v->w.context != 0 &&
	       ((uint32_t)(now >> IGUARD_CONTEXT_AT) & (IGUARD_CONTEXTS - 1u)) == v->w.context;
}

/* Can nothing have ordered the pair? is_write: the word is the writer's. */
IGUARD_FN bool iguard_is_certain(const struct iguard_view *v, const struct iguard_actor *me,
				 const struct iguard_access *a, bool is_write)
{
	uint32_t stamp = v->is_across ? v->c.device_stamp : v->c.block_stamp;
	uint32_t acquired = v->is_across ? me->device_acquired : me->block_acquired;

	if (me->is_unsure)
		return false;
	/* A strong write may have been observed. */
	if (is_write && v->w.is_strong && me->read & a->bit)
		return false;
	if (stamp >= acquired)
		return true;
	return !(is_write && v->w.is_strong) && iguard_meets_own(v, a) && iguard_is_still(v, me);
}

/*
 * Do barriers order the pair by their number only, since the earlier thread has left before they
 * came? It hasn't synchronised since its access; had it come to one of those that this thread has
 * passed, that would show, as it says so before the barrier.
 */
IGUARD_FN bool iguard_has_left(const struct iguard_view *v, const struct iguard_actor *me,
			       const struct iguard_access *a, bool is_write)
{
	return me->has_exits && !me->is_unsure && !v->is_across && v->w.after == IGUARD_PURE &&
	       v->c.block_clock != me->own.block_clock && v->relation != IGUARD_SELF &&
	       !(is_write && v->w.is_strong) && iguard_meets_own(v, a) && iguard_is_still(v, me);
}

/*
 * Does an asynchronous copy write there, for which its thread has not waited? Such a word is that
 * of a weak write with extent GRID, which no write leaves else: no barrier orders it. An access
 * that finds it races with the copy, as only the copy's thread orders it, by its wait, and what
 * was ordered before the copy was judged when it was issued.
 */
RACE_FN bool iguard_is_copying(struct iguard_word w)
{
	return !w.is_strong && w.extent == IGUARD_OF_GRID;
}

/* This thread (its word is `me`) has waited for its copy: the writer's word then. Of one without
 * a context nothing is left. */
RACE_FN uint64_t iguard_completed(uint64_t word, uint64_t me)
{
	struct iguard_word w = iguard_decode(word), mine = iguard_decode(me);

	if (!iguard_is_copying(w))
		return word;
	if (mine.context == 0)
		return 0;
	if (w.thread != mine.thread)
		return word;
	w.extent = IGUARD_ONE;
	w.context = mine.context;
	return iguard_encode(w);
}

/* One word against the access. */
IGUARD_FN enum iguard_verdict iguard_against(const struct iguard_view *v,
					     const struct iguard_actor *me,
					     const struct iguard_access *a, bool is_write)
{
	enum iguard_conflict conflict;

	if (!v->is_there || (!is_write && !a->writes))
		return IGUARD_NO_RACE;
	if (is_write && iguard_is_copying(v->w))
		return IGUARD_IS_RACE;
	if (iguard_is_ordered(v, me))
		return iguard_has_left(v, me, a, is_write) ? IGUARD_IS_RACE : IGUARD_NO_RACE;
	conflict = iguard_conflict_of(v, me, a);
	if (conflict == IGUARD_CONFLICT_NONE)
		return IGUARD_NO_RACE;
	if (conflict == IGUARD_CONFLICT_SURE && iguard_is_certain(v, me, a, is_write))
		return IGUARD_IS_RACE;
	return iguard_locks_meet_in(v->c.locks, me->own.locks) ? IGUARD_LOCKED : IGUARD_POSSIBLE;
}

/*
 * Does the access read what another lane of its warp wrote, with nothing between that may order the
 * two? Both are strong, so that is no race, but the program counts on lockstep. Asked only where no
 * strong read can order lanes (instrument/lockstep.c).
 */
IGUARD_FN bool iguard_counts_on_lockstep(uint64_t writer, const struct iguard_actor *me)
{
	struct iguard_view v = iguard_view_of(writer, me);

	return me->context != 0 && v.is_there && v.w.is_strong && v.w.extent == IGUARD_ONE &&
	       v.relation == IGUARD_SAME_WARP && !iguard_is_ordered(&v, me) &&
	       v.c.block_stamp == me->own.block_stamp && v.c.device_stamp == me->own.device_stamp;
}

/* ---- what becomes of the words -------------------------------------------------------------- */

RACE_FN uint64_t iguard_mine(const struct iguard_actor *me, const struct iguard_access *a)
{
	struct iguard_word w = {IGUARD_ONE, IGUARD_PURE, a->is_strong, a->has_cta,
				a->site,    me->context, me->thread};

	return iguard_encode(w);
}

/* Level of the barrier between all members and this access, which are ordered. */
RACE_FN uint32_t iguard_distance(const struct iguard_view *v, const struct iguard_actor *me)
{
	if (v->c.block_clock != me->own.block_clock)
		return IGUARD_AFTER_BLOCK;
	return iguard_lane_order(v, me) == RACE_AFTER_FULL ? IGUARD_AFTER_WARP : IGUARD_AFTER_SELF;
}

/* A context with another's stamps and locks, so that all it says is true of both. */
IGUARD_FN uint32_t iguard_least(uint32_t number, struct iguard_context c,
				struct iguard_context other, uint64_t *contexts)
{
	uint32_t locks = c.locks & other.locks;
	bool is_less = other.block_stamp < c.block_stamp || other.device_stamp < c.device_stamp ||
		       locks != c.locks;

	if (!is_less)
		return number;
	c.block_stamp = c.block_stamp < other.block_stamp ? c.block_stamp : other.block_stamp;
	c.device_stamp = c.device_stamp < other.device_stamp ? c.device_stamp : other.device_stamp;
	c.locks = locks;
	return iguard_intern(contexts, iguard_context_encode(c));
}

/* The access comes after all members, and some of them conflict with more than it does. */
IGUARD_FN uint64_t iguard_follow(const struct iguard_view *v, const struct iguard_actor *me,
				 const struct iguard_access *a)
{
	struct iguard_word w = iguard_decode(iguard_mine(me, a));
	uint32_t distance = iguard_distance(v, me);
	bool has_weak = !v->w.is_strong || v->w.after;

	if (!a->is_strong || (!has_weak && (!v->w.has_cta || a->has_cta)))
		return iguard_mine(me, a);
	if (has_weak)
		w.after = distance > v->w.after || !v->w.is_strong ? distance : v->w.after;
	w.has_cta |= v->w.has_cta;
	w.context = iguard_least(me->context, me->own, v->c, me->contexts);
	return w.context ? iguard_encode(w) : iguard_mine(me, a);
}

/* The access joins members that nothing orders with it. */
IGUARD_FN uint64_t iguard_group(const struct iguard_view *v, const struct iguard_actor *me,
				const struct iguard_access *a, uint64_t word)
{
	struct iguard_word w = v->w;
	uint32_t extent = v->is_across			     ? IGUARD_OF_GRID
			  : v->relation == IGUARD_SAME_BLOCK ? IGUARD_OF_BLOCK
							     : IGUARD_OF_WARP;
	bool is_mixed = !v->w.is_strong && v->w.after == IGUARD_MIXED;

	if (w.extent < extent)
		w.extent = extent;
	/* Only reads: writes would have raced. */
	if (is_mixed || v->w.is_strong != a->is_strong || iguard_meets_older(v, me)) {
		w.after = IGUARD_MIXED;
		w.is_strong = false;
	}
	w.has_cta |= a->has_cta;
	w.context = iguard_least(v->w.context, v->c, me->own, me->contexts);
	return w.context ? iguard_encode(w) : word;
}

/* The accessor's word after a read. */
IGUARD_FN uint64_t iguard_after_read(uint64_t word, const struct iguard_view *v,
				     const struct iguard_actor *me, const struct iguard_access *a)
{
	if (!v->is_there)
		return iguard_mine(me, a);
	if (!iguard_is_ordered(v, me))
		return iguard_group(v, me, a, word);
	/* The same reader in the same context once more: it covers as much. */
	if (v->relation == IGUARD_SELF && v->w.extent == IGUARD_ONE &&
	    v->w.context == me->context &&
	    (!v->w.is_strong || (a->is_strong && v->w.has_cta >= a->has_cta)))
		return word;
	return iguard_follow(v, me, a);
}

/* The writer's word after a write; is_clean: it conflicted with none there. */
IGUARD_FN uint64_t iguard_after_write(uint64_t word, const struct iguard_view *v,
				      const struct iguard_actor *me, const struct iguard_access *a,
				      bool is_clean)
{
	if (!v->is_there || !a->is_strong || !is_clean)
		return iguard_mine(me, a);
	if (iguard_is_ordered(v, me)) {
		bool is_same = v->relation == IGUARD_SELF && v->w.extent == IGUARD_ONE &&
			       v->w.context == me->context && v->w.is_strong;
		if (is_same && (v->w.has_cta || !a->has_cta))
			return word;
		return iguard_follow(v, me, a);
	}
	return iguard_group(v, me, a, word);
}

/* The accessor's word after a write. */
RACE_FN uint64_t iguard_left_readers(uint64_t word, const struct iguard_view *v,
				     const struct iguard_actor *me, const struct iguard_access *a,
				     bool is_clean)
{
	bool is_strong = v->w.is_strong && v->w.after == IGUARD_PURE;

	if (!v->is_there || !a->is_strong || !is_clean)
		return 0;
	if (iguard_is_ordered(v, me) && is_strong && (!v->w.has_cta || a->has_cta))
		return 0;
	return word;
}

/* ---- an access ---------------------------------------------------------------------------- */

struct iguard_result {
	struct iguard_entry next;
	enum iguard_verdict verdict;
	bool is_write;		  /* the verdict is about the writer's word */
	struct iguard_entry open; /* the words of which iguard_is_open holds; the others 0 */
};

/*
 * A race may itself order two fence.sc: the earlier side's before it and the later side's after it,
 * since the value that the later side read or overwrote shows which came first. Weak accesses show
 * it, too, and leave no stamp. Does the later thread perhaps lack the earlier one's stamps? Not
 * where A is above the stamp of the access: what the earlier thread did before a fence has no
 * higher ones.
 */
IGUARD_FN bool iguard_is_open(const struct iguard_view *v, const struct iguard_actor *me,
			      enum iguard_verdict verdict)
{
	/* Stamps of a group, and of what has an older access after it, are the least of all. */
	bool is_exact = v->w.extent == IGUARD_ONE && v->w.after == IGUARD_PURE;

	if (verdict == IGUARD_NO_RACE)
		return false;
	return !is_exact || v->c.block_stamp == IGUARD_STAMP_FULL ||
	       v->c.device_stamp == IGUARD_STAMP_FULL || v->c.block_stamp >= me->block_acquired ||
	       v->c.device_stamp >= me->device_acquired;
}

/* The entry after the access, and the verdict. Stores nothing but contexts. */
IGUARD_FN struct iguard_result iguard_judge(struct iguard_entry e, const struct iguard_actor *me,
					    const struct iguard_access *a)
{
	struct iguard_view w = iguard_view_of(e.writer, me), r = iguard_view_of(e.accessor, me);
	struct iguard_result out = {e, IGUARD_NO_RACE, true, {0, 0}};
	enum iguard_verdict of_writer = iguard_against(&w, me, a, true);
	enum iguard_verdict of_reader = iguard_against(&r, me, a, false);

	out.verdict = of_writer;
	out.open.writer = iguard_is_open(&w, me, of_writer) ? e.writer : 0;
	out.open.accessor = iguard_is_open(&r, me, of_reader) ? e.accessor : 0;
	if (of_reader > of_writer) {
		out.verdict = of_reader;
		out.is_write = false;
	}
	if (!a->writes) {
		out.next.accessor = iguard_after_read(e.accessor, &r, me, a);
		return out;
	}
	out.next.writer = iguard_after_write(e.writer, &w, me, a, of_writer == IGUARD_NO_RACE);
	out.next.accessor = iguard_left_readers(e.accessor, &r, me, a, of_reader == IGUARD_NO_RACE);
	return out;
}

/* What was found: the earlier side's word, and the verdict. */
struct iguard_seen {
	enum iguard_verdict verdict;
	bool is_write;
	uint64_t word;
	bool is_open; /* iguard_open() */
};

RACE_FN void iguard_note(struct iguard_seen *seen, const struct iguard_result *r,
			 const struct iguard_entry *e)
{
	seen->is_open |= (r->open.writer | r->open.accessor) != 0;
	if (r->verdict <= seen->verdict)
		return;
	seen->verdict = r->verdict;
	seen->is_write = r->is_write;
	seen->word = r->is_write ? e->writer : e->accessor;
}

#ifdef IGUARD_CAS128
/* An access of the location at `at`; both words at once. */
IGUARD_FN struct iguard_seen iguard_update_pair(struct iguard_entry *at,
						const struct iguard_actor *me,
						const struct iguard_access *a)
{
	struct iguard_seen seen = {IGUARD_NO_RACE, true, 0, false};
	struct iguard_entry e = {0, 0};

	if (me->context == 0) {
		seen.verdict = IGUARD_ASIDE;
		return seen;
	}
	e.writer = IGUARD_LOAD64(&at->writer);
	e.accessor = IGUARD_LOAD64(&at->accessor);
	for (;;) {
		struct iguard_result r = iguard_judge(e, me, a);
		struct iguard_entry was;

		seen.verdict = IGUARD_NO_RACE;
		iguard_note(&seen, &r, &e);
		was = IGUARD_CAS128(at, e, r.next);
		if (was.writer == e.writer && was.accessor == e.accessor)
			return seen;
		e = was;
	}
}
#endif

/*
 * The same, word by word: the access's own word first. A race that was found at an earlier look
 * stays found: the verdict was about what stood there.
 */
IGUARD_FN struct iguard_seen iguard_update_words(struct iguard_entry *at,
						 const struct iguard_actor *me,
						 const struct iguard_access *a)
{
	struct iguard_seen seen = {IGUARD_NO_RACE, true, 0, false};

	if (me->context == 0) {
		seen.verdict = IGUARD_ASIDE;
		return seen;
	}
#ifdef __CUDACC__
#pragma unroll 1
#endif
	for (;;) {
		struct iguard_entry e = {IGUARD_LOAD64(&at->writer), IGUARD_LOAD64(&at->accessor)};
		struct iguard_result r = iguard_judge(e, me, a);
		uint64_t *own = a->writes ? &at->writer : &at->accessor;
		uint64_t *other = a->writes ? &at->accessor : &at->writer;
		uint64_t was = a->writes ? e.writer : e.accessor;
		uint64_t next = a->writes ? r.next.writer : r.next.accessor;
		uint64_t beside = a->writes ? e.accessor : e.writer;
		uint64_t beside_next = a->writes ? r.next.accessor : r.next.writer;

		iguard_note(&seen, &r, &e);
		if (next != was && IGUARD_CAS64(own, was, next) != was)
			continue;
		if (beside_next != beside && IGUARD_CAS64(other, beside, beside_next) == beside)
			return seen;
		if (beside_next == beside && (next == was || IGUARD_LOAD64(other) == beside))
			return seen;
	}
}

#endif
