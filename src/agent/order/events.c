/*
 * events.c - what each event of the program comes after, by its handle. Under the lock of
 * order.c.
 */
#include <stdlib.h>

#include "agent/order.h"
#include "agent/table.h"

struct event {
	UT_hash_handle hh;
	CUevent handle;
	struct agent_clock clock;
};

static struct event *events;

static struct event *find(CUevent handle)
{
	struct event *e;

	HASH_FIND_PTR(events, &handle, e);
	return e;
}

const struct agent_clock *agent_order_event(CUevent handle)
{
	const struct event *e = find(handle);

	return e ? &e->clock : NULL;
}

void agent_order_event_drop(CUevent handle)
{
	struct event *e = find(handle);

	if (!e)
		return;
	HASH_DEL(events, e);
	free(e);
}

void agent_order_event_set(CUevent handle, const struct agent_clock *clock)
{
	struct event *e = find(handle);

	if (!e && (e = calloc(1, sizeof(*e)))) {
		e->handle = handle;
		AGENT_TABLE_ADD(events, handle, e);
	}
	if (e)
		e->clock = *clock;
}

void agent_order_event_drop_all(void)
{
	struct event *e, *next;

	HASH_ITER(hh, events, e, next)
	{
		HASH_DEL(events, e);
		free(e);
	}
}
