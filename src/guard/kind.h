/*
 * kind.h - which of iGUARD's kinds a finding is, in the order of the paper's rules: what is wrong
 * with the synchronisation that is there.
 *
 * None of this decides whether there is a race (update.h does). What the earlier thread has
 * synchronised since its access comes from the `now` table, what the later one has seen from its
 * stamps; where the first is not known a kind without such knowledge is taken. Freestanding C,
 * compiled by CUDA C too.
 */
#ifndef COLLIDER_GUARD_KIND_H
#define COLLIDER_GUARD_KIND_H

#include "guard/update.h"

/* The earlier thread's context now; launch 0: not known. */
GUARD_FN struct guard_context guard_earlier_now(const struct guard_view *v,
						const struct guard_actor *me)
{
	uint64_t now = me->now ? GUARD_LOAD64(&me->now[guard_now_place(v->w.thread)]) : 0;
	uint32_t number = (uint32_t)(now >> GUARD_CONTEXT_AT) & (GUARD_CONTEXTS - 1u);

	if (v->w.extent != GUARD_ONE || now >> GUARD_THREAD_AT != v->w.thread || number == 0)
		return guard_context_decode(0);
	return guard_context_decode(GUARD_LOAD64(&me->contexts[number]));
}

/* Two weak accesses: did one of the threads try to synchronise? */
GUARD_FN uint32_t guard_half_missing(const struct guard_view *v, const struct guard_actor *me,
				     const struct guard_stamps *mine, bool has_small_fence)
{
	struct guard_context now = guard_earlier_now(v, me);
	const struct guard_level *level = v->is_across ? &mine->device : &mine->block;
	uint32_t was = v->is_across ? v->c.device_stamp : v->c.block_stamp;
	uint32_t is = v->is_across ? now.device_stamp : now.block_stamp;

	if (now.launch != me->own.launch)
		return RACE_KIND_NONE;
	if (is > was)
		return level->seen.now <= was ? RACE_KIND_NONE
		       : has_small_fence      ? RACE_KIND_GUARD_FENCE
					      : RACE_KIND_GUARD_ACQUIRE;
	if (v->is_across && now.block_stamp > v->c.block_stamp)
		return RACE_KIND_GUARD_FENCE;
	return mine->block.own.read & RACE_READ_FLAG ? RACE_KIND_GUARD_RELEASE : RACE_KIND_NONE;
}

/* What may order the access with the earlier one, where they are only possible: enum race_may. For
 * the report; the first reason that holds. */
GUARD_FN uint32_t guard_may(const struct guard_seen *seen, const struct guard_actor *me,
			    const struct guard_access *a)
{
	struct guard_view v = guard_view_of(seen->word, me);

	if (me->is_unsure)
		return RACE_MAY_KERNEL;
	if (guard_is_blurred(&v, me, a))
		return RACE_MAY_MASK;
	if (seen->is_write && v.w.is_strong && me->read & a->bit)
		return RACE_MAY_OBSERVED;
	return (v.is_across ? v.c.device_stamp : v.c.block_stamp) <
			       (v.is_across ? me->device_acquired : me->block_acquired)
		       ? RACE_MAY_RELEASE
		       : RACE_MAY_MIXED;
}

/* `stamps` may be NULL: the kernel has nothing that orders. */
GUARD_FN uint32_t guard_kind_of(const struct guard_seen *seen, const struct guard_actor *me,
				const struct guard_access *a, const struct guard_stamps *stamps,
				bool has_small_fence)
{
	struct guard_view v = guard_view_of(seen->word, me);
	uint32_t kind = RACE_KIND_NONE;

	if (seen->verdict != GUARD_IS_RACE)
		return v.c.locks | me->own.locks ? RACE_KIND_GUARD_LOCK : RACE_KIND_GUARD_POSSIBLE;
	if (v.w.is_strong && a->is_strong && !v.w.behind)
		return seen->is_write && a->writes ? RACE_KIND_GUARD_ATOMIC : RACE_KIND_GUARD_PAIR;
	if (v.w.is_strong || a->is_strong)
		return RACE_KIND_GUARD_MIXED;
	if (v.c.locks && me->own.locks && !guard_locks_meet_in(v.c.locks, me->own.locks))
		return RACE_KIND_GUARD_LOCKS;
	if (stamps)
		kind = guard_half_missing(&v, me, stamps, has_small_fence);
	if (kind != RACE_KIND_NONE)
		return kind;
	if (v.is_across)
		return RACE_KIND_GUARD_GRID;
	return v.relation <= GUARD_SAME_WARP && v.w.extent <= GUARD_OF_WARP ? RACE_KIND_GUARD_WARP
									    : RACE_KIND_GUARD_BLOCK;
}

#endif
