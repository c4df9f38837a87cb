/*
 * kind.h - which of iGUARD's kinds a finding is, in the order of the paper's rules: what is wrong
 * with the synchronisation that is there.
 *
 * None of this decides whether there is a race (update.h does). What the earlier thread has
 * synchronised since its access comes from the `now` table, what the later one has seen from its
 * stamps; where the first is not known a kind without such knowledge is taken. Freestanding C,
 * compiled by CUDA C too.
 */
#ifndef COLLIDER_IGUARD_KIND_H
#define COLLIDER_IGUARD_KIND_H

#include "iguard/update.h"

/* The earlier thread's context now; launch 0: not known. */
IGUARD_FN struct iguard_context iguard_earlier_now(const struct iguard_view *v,
						   const struct iguard_actor *me)
{
	uint64_t now = me->now ? IGUARD_LOAD64(&me->now[iguard_now_place(v->w.thread)]) : 0;
	uint32_t number = (uint32_t)(now >> IGUARD_CONTEXT_AT) & (IGUARD_CONTEXTS - 1u);

	if (v->w.extent != IGUARD_ONE || now >> IGUARD_THREAD_AT != v->w.thread || number == 0)
		return iguard_context_decode(0);
	return iguard_context_decode(IGUARD_LOAD64(&me->contexts[number]));
}

/* Two weak accesses: did one of the threads try to synchronise? */
IGUARD_FN uint32_t iguard_half_missing(const struct iguard_view *v, const struct iguard_actor *me,
				       const struct iguard_stamps *mine, bool has_small_fence)
{
	struct iguard_context now = iguard_earlier_now(v, me);
	const struct iguard_level *level = v->is_across ? &mine->device : &mine->block;
	uint32_t was = v->is_across ? v->c.device_stamp : v->c.block_stamp;
	uint32_t is = v->is_across ? now.device_stamp : now.block_stamp;

	if (now.launch != me->own.launch)
		return RACE_KIND_NONE;
	if (is > was)
		return level->set.seen.now <= was ? RACE_KIND_NONE
		       : has_small_fence	  ? RACE_KIND_IGUARD_FENCE
						  : RACE_KIND_IGUARD_ACQUIRE;
	if (v->is_across && now.block_stamp > v->c.block_stamp)
		return RACE_KIND_IGUARD_FENCE;
	return mine->block.set.own.read & RACE_READ_FLAG ? RACE_KIND_IGUARD_RELEASE
							 : RACE_KIND_NONE;
}

/* What may order the access with the earlier one, where they are only possible: enum race_may. For
 * the report; the first reason that holds. */
IGUARD_FN uint32_t iguard_may(const struct iguard_seen *seen, const struct iguard_actor *me,
			      const struct iguard_access *a)
{
	struct iguard_view v = iguard_view_of(seen->word, me);

	if (me->is_unsure)
		return RACE_MAY_KERNEL;
	if (iguard_is_blurred(&v, me, a))
		return RACE_MAY_MASK;
	if (seen->is_write && v.w.is_strong && me->read & a->bit)
		return RACE_MAY_OBSERVED;
	return (v.is_across ? v.c.device_stamp : v.c.block_stamp) <
			       (v.is_across ? me->device_acquired : me->block_acquired)
		       ? RACE_MAY_RELEASE
		       : RACE_MAY_MIXED;
}

/* `stamps` may be NULL: the kernel has nothing that orders. */
IGUARD_FN uint32_t iguard_kind_of(const struct iguard_seen *seen, const struct iguard_actor *me,
				  const struct iguard_access *a, const struct iguard_stamps *stamps,
				  bool has_small_fence)
{
	struct iguard_view v = iguard_view_of(seen->word, me);
	uint32_t kind = RACE_KIND_NONE;

	if (seen->verdict != IGUARD_IS_RACE)
		return v.c.locks | me->own.locks ? RACE_KIND_IGUARD_LOCK
						 : RACE_KIND_IGUARD_POSSIBLE;
	if (seen->is_write && iguard_is_copying(v.w))
		return RACE_KIND_IGUARD_BLOCK;
	if (v.w.is_strong && a->is_strong && !v.w.after)
		return seen->is_write && a->writes ? RACE_KIND_IGUARD_ATOMIC
						   : RACE_KIND_IGUARD_PAIR;
	if (v.w.is_strong || a->is_strong)
		return RACE_KIND_IGUARD_MIXED;
	if (v.c.locks && me->own.locks && !iguard_locks_meet_in(v.c.locks, me->own.locks))
		return RACE_KIND_IGUARD_LOCKS;
	if (stamps)
		kind = iguard_half_missing(&v, me, stamps, has_small_fence);
	if (kind != RACE_KIND_NONE)
		return kind;
	if (v.is_across)
		return RACE_KIND_IGUARD_GRID;
	return v.relation <= IGUARD_SAME_WARP && v.w.extent <= IGUARD_OF_WARP
		       ? RACE_KIND_IGUARD_WARP
		       : RACE_KIND_IGUARD_BLOCK;
}

#endif
