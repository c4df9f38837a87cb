/*
 * event.c - performs events that are data: each is the call of its type.
 */
#include "event.h"

static void feed_access(struct oracle *o, const struct list_event *e)
{
	struct oracle_acc acc = {.inst = e->inst,
				 .kind = e->kind,
				 .strength = e->strength,
				 .scope = e->scope,
				 .proxy = e->proxy,
				 .flags = e->flags,
				 .bytes = (uint32_t)e->bytes,
				 .id = e->id,
				 .saw = e->saw};

	if (e->mask)
		oracle_access_warp(o, e->actor, e->mask, &acc, e->addresses);
	else if (e->bytes > 64 && e->strength == RACE_WEAK && !e->flags && !e->proxy)
		oracle_access_range(o, e->actor, e->inst, e->kind, e->address, e->bytes);
	else
		oracle_access(o, e->actor, &acc, e->address);
}

/* Events of the host and of memory as a whole. */
static uint32_t feed_host(struct oracle *o, const struct list_event *e)
{
	switch (e->type) {
	case EVENT_HOST:
		return oracle_host(o);
	case EVENT_SUBMIT:
		oracle_op_submit(o, e->actor, e->key);
		break;
	case EVENT_DEPEND:
		oracle_op_depend(o, e->key, e->key2);
		break;
	case EVENT_START:
		return oracle_op_start(o, e->key, e->actor);
	case EVENT_END:
		oracle_op_end(o, e->key);
		break;
	case EVENT_HOST_WAIT:
		oracle_host_wait(o, e->actor, e->key);
		break;
	case EVENT_FORGET:
		oracle_forget(o, e->address, e->bytes);
		break;
	case EVENT_HEAP_FREE:
		oracle_heap_free(o, e->actor, e->address, e->bytes);
		break;
	case EVENT_HEAP_ALLOC:
		oracle_heap_alloc(o, e->actor, e->address, e->bytes);
		break;
	default:
		break;
	}
	return ORACLE_NO_ACTOR;
}

uint32_t list_feed(struct oracle *o, const struct list_event *e)
{
	switch (e->type) {
	case EVENT_GRID:
		return oracle_grid(o, e->grid);
	case EVENT_ACCESS:
		feed_access(o, e);
		break;
	case EVENT_FENCE:
		if (e->flags & ORACLE_MBARRIER) {
			oracle_init_fence(o, e->actor, e->mask, e->scope);
			break;
		}
		oracle_fence(o, e->actor, e->mask, e->strength, e->scope);
		break;
	case EVENT_PROXY:
		oracle_proxy_fence(o, e->actor, e->mask, e->proxy_kinds,
				   e->mask ? e->addresses : &e->address);
		break;
	case EVENT_ARRIVE:
		oracle_arrive(
			o, e->actor, e->mask,
			&(struct oracle_arrival){e->key, e->key2, e->count, e->flags, e->inst});
		break;
	case EVENT_LEAVE:
		oracle_leave(o, e->actor, e->mask, e->key, e->key2);
		break;
	case EVENT_WARP_SYNC:
		oracle_warp_sync(o, e->actor, e->mask);
		break;
	case EVENT_MB_ARRIVE:
		oracle_mbarrier_arrive(o, e->actor, e->address, e->key2, e->strength, e->scope);
		break;
	case EVENT_MB_WAIT:
		oracle_mbarrier_wait(o, e->actor, e->address, e->key2, e->strength, e->scope);
		break;
	case EVENT_FORK:
		return e->mask ? oracle_fork_lanes(o, e->actor, e->mask) : oracle_fork(o, e->actor);
	case EVENT_JOIN:
		if (e->mask) {
			oracle_join_lanes(o, e->actor, e->mask, &e->other, 1);
			break;
		}
		oracle_join(o, e->actor, e->other, (enum oracle_join)e->join);
		break;
	case EVENT_BLOCK_END:
		oracle_block_end(o, e->actor);
		break;
	default:
		return feed_host(o, e);
	}
	return ORACLE_NO_ACTOR;
}
