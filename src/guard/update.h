/*
 * update.h - iGUARD's rules (SOSP'21, Table 2) for one access, without its machine.
 *
 * An access is judged against the last write and, if it writes, the reads since then; then the
 * entry is brought up to date. What Table 2 asks, in this order:
 *
 *	P1, P2	nobody was there, or nobody wrote		the word is empty, or of reads
 *	P3	the same thread, and nobody else		extent ONE, the same thread
 *	P4	a __syncwarp since				warp clocks differ
 *	P5	a __syncthreads since				block clocks differ
 *	P6	both atomic, scopes sufficient			guard_conflict: NONE
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
 *    stays in sight after strong ones that are ordered after it (guard_behind).
 *
 * A group's stamps and locks are the least that all have: what is certain of the group is certain
 * of the member that conflicts.
 *
 * From sm_90 on the 16 bytes are swapped at once; below, word by word: then a reader and a writer
 * that come at the same moment may miss each other (each looks again after its own swap). The
 * includer defines, beside those of stamps.h:
 *
 *	GUARD_LOAD64(p), GUARD_CAS64(p, old, new)	relaxed
 *	GUARD_NEW_CONTEXT()	(optional) counts an entry taken in the table of contexts
 *	GUARD_CAS128(p, old, new)	(optional) relaxed; entries; returns what was there
 *
 * Misses: pairs of two launches. Costs, where the entry can stay: two loads of 8 bytes and one for
 * each context that isn't the thread's own.
 */
#ifndef COLLIDER_GUARD_UPDATE_H
#define COLLIDER_GUARD_UPDATE_H

#include "guard/locks.h"
#include "guard/stamps.h"
#include "race/layout/lanes.h"

#define GUARD_LANES 32u

#ifndef GUARD_NEW_CONTEXT
#define GUARD_NEW_CONTEXT() ((void)0)
#endif

/* ---- contexts ---------------------------------------------------------------------------- */

#define GUARD_PROBES 32u

/* The number of a context in the table, which is stored if it is new; 0: it is 0, or no room. */
GUARD_FN uint32_t guard_intern(uint64_t *contexts, uint64_t context)
{
	uint32_t at = (uint32_t)(context * 0x9e3779b97f4a7c15ull >> (64u - GUARD_CONTEXT_BITS));

	if (context == 0)
		return 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
	for (uint32_t i = 0; i < GUARD_PROBES; i++) {
		uint64_t found;

		at = (at + (i != 0)) & (GUARD_CONTEXTS - 1u);
		at += at == 0;
		found = GUARD_LOAD64(&contexts[at]);
		if (found == 0)
			found = GUARD_CAS64(&contexts[at], 0, context);
		if (found == 0)
			GUARD_NEW_CONTEXT();
		if (found == 0 || found == context)
			return at;
	}
	return 0;
}

/* ---- who accesses, and how ----------------------------------------------------------------- */

struct guard_actor {
	uint32_t thread, block_first, block_size; /* numbers in the grid; of its block */
	uint32_t context;			  /* its number; 0: the thread steps aside */
	struct guard_context own; /* the same, as it is stored: full stamps are full */
	uint32_t block_acquired, device_acquired; /* A of its stamps */
	uint32_t read;				  /* their set */
	uint64_t *contexts;
	const uint64_t *now;	       /* of GUARD_NOWS: what a thread's context is now; or NULL */
	bool is_unsure;		       /* something else may order it: nothing is certain */
	const struct race_lane *lanes; /* its row; NULL: full masks only */
};

/* Of a thread: its number << GUARD_THREAD_AT, and its context now at GUARD_CONTEXT_AT; a context of
 * 0 while it synchronises. By hash: who finds another thread's knows nothing. */
#define GUARD_NOWS (1u << 17)

RACE_FN uint32_t guard_now_place(uint32_t thread)
{
	return thread & (GUARD_NOWS - 1u);
}

struct guard_access {
	bool writes, is_strong, has_cta; /* has_cta: strong, of scope .cta */
	uint32_t site;			 /* plus 1 */
	uint32_t bit;			 /* of the location: guard_read_bit */
};

enum guard_relation { GUARD_SELF, GUARD_SAME_WARP, GUARD_SAME_BLOCK, GUARD_OTHER_BLOCK };

RACE_FN enum guard_relation guard_relation_of(const struct guard_actor *me, uint32_t thread)
{
	uint32_t place = thread - me->block_first;

	if (place >= me->block_size)
		return GUARD_OTHER_BLOCK;
	if (thread == me->thread)
		return GUARD_SELF;
	return place / GUARD_LANES == (me->thread - me->block_first) / GUARD_LANES
		       ? GUARD_SAME_WARP
		       : GUARD_SAME_BLOCK;
}

enum guard_verdict {
	GUARD_NO_RACE,
	GUARD_LOCKED,	/* may be ordered, and both hold a lock: taken for ordered */
	GUARD_POSSIBLE, /* no barrier orders the two, but something else may */
	GUARD_IS_RACE,
	GUARD_ASIDE /* not judged */
};

/* What a word is to an access. */
struct guard_view {
	struct guard_word w;
	struct guard_context c;
	enum guard_relation relation;
	bool is_there;	/* somebody of this launch */
	bool is_across; /* some member is of another block */
};

GUARD_FN struct guard_view guard_view_of(uint64_t word, const struct guard_actor *me)
{
	struct guard_view v;

	v.w = guard_decode(word);
	v.c = me->own;
	if (v.w.context != me->context)
		v.c = guard_context_decode(v.w.context ? GUARD_LOAD64(&me->contexts[v.w.context])
						       : 0);
	v.relation = guard_relation_of(me, v.w.thread);
	v.is_there = v.c.launch == me->own.launch && v.c.launch != 0;
	v.is_across = v.relation == GUARD_OTHER_BLOCK || v.w.extent == GUARD_OF_GRID;
	return v;
}

/*
 * Of a word's thread in this warp, since the block's last barrier. With rows (partial masks) the
 * members of a group are all behind a full mask, or none is: one that joined later was not.
 */
RACE_FN enum race_lane_order guard_lane_order(const struct guard_view *v,
					      const struct guard_actor *me)
{
	if (me->lanes)
		return race_lane_order(me->lanes, (me->thread - me->block_first) % GUARD_LANES,
				       (v->w.thread - me->block_first) % GUARD_LANES,
				       v->c.warp_clock);
	if (v->c.warp_clock != me->own.warp_clock)
		return RACE_BEHIND_FULL;
	return v->relation == GUARD_SELF ? RACE_MINE : RACE_OTHER;
}

/* Do barriers and program order order all members before this access (P3 to P5)? */
RACE_FN bool guard_is_ordered(const struct guard_view *v, const struct guard_actor *me)
{
	if (v->is_across)
		return false;
	if (v->c.block_clock != me->own.block_clock)
		return true;
	if (v->w.extent > GUARD_OF_WARP || v->relation > GUARD_SAME_WARP)
		return false;
	if (v->w.extent == GUARD_ONE)
		return v->relation == GUARD_SELF || guard_lane_order(v, me) != RACE_OTHER;
	return guard_lane_order(v, me) == RACE_BEHIND_FULL;
}

enum guard_conflict { GUARD_CONFLICT_NONE, GUARD_CONFLICT_MAYBE, GUARD_CONFLICT_SURE };

/* Is the older weak access, which strong ones followed, unordered with a strong access? */
RACE_FN bool guard_meets_behind(const struct guard_view *v, const struct guard_actor *me)
{
	bool is_barred = v->c.block_clock != me->own.block_clock;
	bool is_warped = is_barred || guard_lane_order(v, me) == RACE_BEHIND_FULL;

	if (v->w.behind == GUARD_PURE || v->relation == GUARD_SELF)
		return false;
	if (v->relation == GUARD_OTHER_BLOCK)
		return true;
	if (v->w.behind == GUARD_BEHIND_BLOCK)
		return false;
	if (v->relation == GUARD_SAME_BLOCK)
		return !is_barred;
	return v->w.behind == GUARD_BEHIND_SELF && !is_warped;
}

/*
 * A conflict within the warp that isn't certain: the word names one of several accesses, and this
 * lane, which took part in a partial mask, may be ordered after the one that conflicts. A group
 * whose named lane isn't ordered conflicts for certain, unless strong and weak ones are mixed.
 */
RACE_FN bool guard_is_blurred(const struct guard_view *v, const struct guard_actor *me,
			      const struct guard_access *a)
{
	bool is_group = v->w.extent == GUARD_OF_WARP, is_older = v->w.behind != GUARD_PURE;

	if (!me->lanes || !me->lanes->is_partial || v->is_across || v->relation > GUARD_SAME_WARP ||
	    v->w.extent > GUARD_OF_WARP)
		return false;
	if (a->is_strong && is_older)
		return true;
	return is_group && guard_lane_order(v, me) != RACE_OTHER;
}

/* Does the access conflict with a member that barriers don't order before it (and P6)? The word is
 * not ordered as a whole. */
RACE_FN enum guard_conflict guard_conflict_of(const struct guard_view *v,
					      const struct guard_actor *me,
					      const struct guard_access *a)
{
	bool is_elsewhere = v->relation == GUARD_OTHER_BLOCK && v->w.extent != GUARD_OF_GRID;
	bool is_mixed = !v->w.is_strong && v->w.behind == GUARD_MIXED;
	bool is_blurred = guard_is_blurred(v, me, a);

	if (!a->is_strong || (!v->w.is_strong && !is_mixed))
		return is_blurred ? GUARD_CONFLICT_MAYBE : GUARD_CONFLICT_SURE;
	/* All members are in one other block, and one of them conflicts. */
	if (is_elsewhere && (is_mixed || v->w.has_cta || a->has_cta || v->w.behind))
		return GUARD_CONFLICT_SURE;
	if (v->is_across && a->has_cta)
		return GUARD_CONFLICT_SURE;
	if (!is_mixed && guard_meets_behind(v, me))
		return is_blurred ? GUARD_CONFLICT_MAYBE : GUARD_CONFLICT_SURE;
	return is_mixed || (v->is_across && v->w.has_cta) ? GUARD_CONFLICT_MAYBE
							  : GUARD_CONFLICT_NONE;
}

/* Does the access conflict with that of the word's own thread? Older ones, which the thread's
 * follows, may leave a scope of .cta there, or a weak access behind. */
RACE_FN bool guard_meets_own(const struct guard_view *v, const struct guard_access *a)
{
	return !a->is_strong || !v->w.is_strong || (v->is_across && a->has_cta);
}

/* Has the earlier thread not synchronised in any way since its access? A full stamp doesn't show
 * another release. */
GUARD_FN bool guard_is_still(const struct guard_view *v, const struct guard_actor *me)
{
	uint64_t now;

	if (!me->now || v->w.extent != GUARD_ONE || v->c.block_stamp == GUARD_STAMP_FULL)
		return false;
	now = GUARD_LOAD64(&me->now[guard_now_place(v->w.thread)]);
	return now >> GUARD_THREAD_AT == v->w.thread && v->w.context != 0 &&
	       ((uint32_t)(now >> GUARD_CONTEXT_AT) & (GUARD_CONTEXTS - 1u)) == v->w.context;
}

/* Can nothing have ordered the pair? is_write: the word is the writer's. */
GUARD_FN bool guard_is_certain(const struct guard_view *v, const struct guard_actor *me,
			       const struct guard_access *a, bool is_write)
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
	return !(is_write && v->w.is_strong) && guard_meets_own(v, a) && guard_is_still(v, me);
}

/* One word against the access. */
GUARD_FN enum guard_verdict guard_against(const struct guard_view *v, const struct guard_actor *me,
					  const struct guard_access *a, bool is_write)
{
	enum guard_conflict conflict;

	if (!v->is_there || (!is_write && !a->writes) || guard_is_ordered(v, me))
		return GUARD_NO_RACE;
	conflict = guard_conflict_of(v, me, a);
	if (conflict == GUARD_CONFLICT_NONE)
		return GUARD_NO_RACE;
	if (conflict == GUARD_CONFLICT_SURE && guard_is_certain(v, me, a, is_write))
		return GUARD_IS_RACE;
	return guard_locks_meet_in(v->c.locks, me->own.locks) ? GUARD_LOCKED : GUARD_POSSIBLE;
}

/* ---- what becomes of the words -------------------------------------------------------------- */

RACE_FN uint64_t guard_mine(const struct guard_actor *me, const struct guard_access *a)
{
	struct guard_word w = {GUARD_ONE, GUARD_PURE,  a->is_strong, a->has_cta,
			       a->site,	  me->context, me->thread};

	return guard_encode(w);
}

/* Level of the barrier between all members and this access, which are ordered. */
RACE_FN uint32_t guard_distance(const struct guard_view *v, const struct guard_actor *me)
{
	if (v->c.block_clock != me->own.block_clock)
		return GUARD_BEHIND_BLOCK;
	return guard_lane_order(v, me) == RACE_BEHIND_FULL ? GUARD_BEHIND_WARP : GUARD_BEHIND_SELF;
}

/* A context with another's stamps and locks, so that all it says is true of both. */
GUARD_FN uint32_t guard_least(uint32_t number, struct guard_context c, struct guard_context other,
			      uint64_t *contexts)
{
	uint32_t locks = c.locks & other.locks;
	bool is_less = other.block_stamp < c.block_stamp || other.device_stamp < c.device_stamp ||
		       locks != c.locks;

	if (!is_less)
		return number;
	c.block_stamp = c.block_stamp < other.block_stamp ? c.block_stamp : other.block_stamp;
	c.device_stamp = c.device_stamp < other.device_stamp ? c.device_stamp : other.device_stamp;
	c.locks = locks;
	return guard_intern(contexts, guard_context_encode(c));
}

/* The access comes after all members, and some of them conflict with more than it does. */
GUARD_FN uint64_t guard_follow(const struct guard_view *v, const struct guard_actor *me,
			       const struct guard_access *a)
{
	struct guard_word w = guard_decode(guard_mine(me, a));
	uint32_t distance = guard_distance(v, me);
	bool has_weak = !v->w.is_strong || v->w.behind;

	if (!a->is_strong || (!has_weak && (!v->w.has_cta || a->has_cta)))
		return guard_mine(me, a);
	if (has_weak)
		w.behind = distance > v->w.behind || !v->w.is_strong ? distance : v->w.behind;
	w.has_cta |= v->w.has_cta;
	w.context = guard_least(me->context, me->own, v->c, me->contexts);
	return w.context ? guard_encode(w) : guard_mine(me, a);
}

/* The access joins members that nothing orders with it. */
GUARD_FN uint64_t guard_group(const struct guard_view *v, const struct guard_actor *me,
			      const struct guard_access *a, uint64_t word)
{
	struct guard_word w = v->w;
	uint32_t extent = v->is_across			    ? GUARD_OF_GRID
			  : v->relation == GUARD_SAME_BLOCK ? GUARD_OF_BLOCK
							    : GUARD_OF_WARP;
	bool is_mixed = !v->w.is_strong && v->w.behind == GUARD_MIXED;

	if (w.extent < extent)
		w.extent = extent;
	/* Only reads: writes would have raced. */
	if (is_mixed || v->w.is_strong != a->is_strong || guard_meets_behind(v, me)) {
		w.behind = GUARD_MIXED;
		w.is_strong = false;
	}
	w.has_cta |= a->has_cta;
	w.context = guard_least(v->w.context, v->c, me->own, me->contexts);
	return w.context ? guard_encode(w) : word;
}

/* The accessor's word after a read. */
GUARD_FN uint64_t guard_after_read(uint64_t word, const struct guard_view *v,
				   const struct guard_actor *me, const struct guard_access *a)
{
	if (!v->is_there)
		return guard_mine(me, a);
	if (!guard_is_ordered(v, me))
		return guard_group(v, me, a, word);
	/* The same reader in the same context once more: it covers as much. */
	if (v->relation == GUARD_SELF && v->w.extent == GUARD_ONE && v->w.context == me->context &&
	    (!v->w.is_strong || (a->is_strong && v->w.has_cta >= a->has_cta)))
		return word;
	return guard_follow(v, me, a);
}

/* The writer's word after a write; is_clean: it conflicted with nobody there. */
GUARD_FN uint64_t guard_after_write(uint64_t word, const struct guard_view *v,
				    const struct guard_actor *me, const struct guard_access *a,
				    bool is_clean)
{
	if (!v->is_there || !a->is_strong || !is_clean)
		return guard_mine(me, a);
	if (guard_is_ordered(v, me)) {
		bool is_same = v->relation == GUARD_SELF && v->w.extent == GUARD_ONE &&
			       v->w.context == me->context && v->w.is_strong;
		if (is_same && (v->w.has_cta || !a->has_cta))
			return word;
		return guard_follow(v, me, a);
	}
	return guard_group(v, me, a, word);
}

/* The accessor's word after a write. */
RACE_FN uint64_t guard_left_readers(uint64_t word, const struct guard_view *v,
				    const struct guard_actor *me, const struct guard_access *a,
				    bool is_clean)
{
	bool is_strong = v->w.is_strong && v->w.behind == GUARD_PURE;

	if (!v->is_there || !a->is_strong || !is_clean)
		return 0;
	if (guard_is_ordered(v, me) && is_strong && (!v->w.has_cta || a->has_cta))
		return 0;
	return word;
}

/* ---- an access ---------------------------------------------------------------------------- */

struct guard_result {
	struct guard_entry next;
	enum guard_verdict verdict;
	bool is_write;		 /* the verdict is about the writer's word */
	struct guard_entry open; /* the words of which guard_is_open holds; the others 0 */
};

/*
 * A pair that races may order what the stamps know nothing of: two fence.sc, the earlier side's
 * before it and the later side's behind it, since what the later side read or overwrote shows which
 * came first. Weak accesses show it, too, and leave no stamp. Does the later thread perhaps not
 * have the earlier one's stamps? Where A is above that of the access, it has: what the earlier
 * thread did before a fence has no higher ones.
 */
GUARD_FN bool guard_is_open(const struct guard_view *v, const struct guard_actor *me,
			    enum guard_verdict verdict)
{
	/* Stamps of a group, and of what has an older access behind it, are the least of all. */
	bool is_exact = v->w.extent == GUARD_ONE && v->w.behind == GUARD_PURE;

	if (verdict == GUARD_NO_RACE)
		return false;
	return !is_exact || v->c.block_stamp == GUARD_STAMP_FULL ||
	       v->c.device_stamp == GUARD_STAMP_FULL || v->c.block_stamp >= me->block_acquired ||
	       v->c.device_stamp >= me->device_acquired;
}

/* The entry after the access, and the verdict. Stores nothing but contexts. */
GUARD_FN struct guard_result guard_judge(struct guard_entry e, const struct guard_actor *me,
					 const struct guard_access *a)
{
	struct guard_view w = guard_view_of(e.writer, me), r = guard_view_of(e.accessor, me);
	struct guard_result out = {e, GUARD_NO_RACE, true, {0, 0}};
	enum guard_verdict of_writer = guard_against(&w, me, a, true);
	enum guard_verdict of_reader = guard_against(&r, me, a, false);

	out.verdict = of_writer;
	out.open.writer = guard_is_open(&w, me, of_writer) ? e.writer : 0;
	out.open.accessor = guard_is_open(&r, me, of_reader) ? e.accessor : 0;
	if (of_reader > of_writer) {
		out.verdict = of_reader;
		out.is_write = false;
	}
	if (!a->writes) {
		out.next.accessor = guard_after_read(e.accessor, &r, me, a);
		return out;
	}
	out.next.writer = guard_after_write(e.writer, &w, me, a, of_writer == GUARD_NO_RACE);
	out.next.accessor = guard_left_readers(e.accessor, &r, me, a, of_reader == GUARD_NO_RACE);
	return out;
}

/* What was found: the earlier side's word, and the verdict. */
struct guard_seen {
	enum guard_verdict verdict;
	bool is_write;
	uint64_t word;
	bool is_open; /* guard_open() */
};

RACE_FN void guard_note(struct guard_seen *seen, const struct guard_result *r,
			const struct guard_entry *e)
{
	seen->is_open |= (r->open.writer | r->open.accessor) != 0;
	if (r->verdict <= seen->verdict)
		return;
	seen->verdict = r->verdict;
	seen->is_write = r->is_write;
	seen->word = r->is_write ? e->writer : e->accessor;
}

#ifdef GUARD_CAS128
/* An access of the location at `at`; both words at once. */
GUARD_FN struct guard_seen guard_update_pair(struct guard_entry *at, const struct guard_actor *me,
					     const struct guard_access *a)
{
	struct guard_seen seen = {GUARD_NO_RACE, true, 0, false};
	struct guard_entry e = {0, 0};

	if (me->context == 0) {
		seen.verdict = GUARD_ASIDE;
		return seen;
	}
	e.writer = GUARD_LOAD64(&at->writer);
	e.accessor = GUARD_LOAD64(&at->accessor);
	for (;;) {
		struct guard_result r = guard_judge(e, me, a);
		struct guard_entry was;

		seen.verdict = GUARD_NO_RACE;
		guard_note(&seen, &r, &e);
		was = GUARD_CAS128(at, e, r.next);
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
GUARD_FN struct guard_seen guard_update_words(struct guard_entry *at, const struct guard_actor *me,
					      const struct guard_access *a)
{
	struct guard_seen seen = {GUARD_NO_RACE, true, 0, false};

	if (me->context == 0) {
		seen.verdict = GUARD_ASIDE;
		return seen;
	}
#ifdef __CUDACC__
#pragma unroll 1
#endif
	for (;;) {
		struct guard_entry e = {GUARD_LOAD64(&at->writer), GUARD_LOAD64(&at->accessor)};
		struct guard_result r = guard_judge(e, me, a);
		uint64_t *own = a->writes ? &at->writer : &at->accessor;
		uint64_t *other = a->writes ? &at->accessor : &at->writer;
		uint64_t was = a->writes ? e.writer : e.accessor;
		uint64_t next = a->writes ? r.next.writer : r.next.accessor;
		uint64_t beside = a->writes ? e.accessor : e.writer;
		uint64_t beside_next = a->writes ? r.next.accessor : r.next.writer;

		guard_note(&seen, &r, &e);
		if (next != was && GUARD_CAS64(own, was, next) != was)
			continue;
		if (beside_next != beside && GUARD_CAS64(other, beside, beside_next) == beside)
			return seen;
		if (beside_next == beside && (next == was || GUARD_LOAD64(other) == beside))
			return seen;
	}
}

#endif
