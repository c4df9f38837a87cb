/*
 * lockstep.c - which volatile loads of a kernel may count on lanes that run in lockstep.
 *
 * Such a load takes what another lane of its warp wrote, volatile, with no __syncwarp() between.
 * Both are strong, so it is no race, but lanes are scheduled independently. Right code has volatile
 * loads that wait for another thread, and what is read after such a wait is ordered by it in
 * practice. So the loads are asked about only in kernels in which no strong read can order threads:
 * all strong accesses are volatile loads on whose value nothing is decided (flow_is_data) and
 * volatile stores; no atomics, no calls. There a location is never polled either.
 *
 * Misses: kernels with anything else; a store that overtakes another lane's load; functions that
 * are called.
 */
#include "instrument/internal.h"

static bool is_data_load(struct inst_ctx *cx, const struct inst_event *e)
{
	return e->stmt->form->sem == PTX_SEM_VOLATILE && e->reads && !e->writes &&
	       flow_is_data(cx->fl, e->stmt);
}

static bool is_plain_store(const struct inst_event *e)
{
	return e->stmt->form->sem == PTX_SEM_VOLATILE && e->writes && !e->reads;
}

static bool has_call(const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && !s->inserted && s->form->effects & PTX_EFF_CALL)
			return true;
	}
	return false;
}

void inst_find_lockstep(struct inst_ctx *cx, struct inst_events *ev)
{
	if (!cx->f->is_entry || ev->is_unsure || has_call(cx->f))
		return;
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind == INST_EVENT_ACCESS && e->strength != RACE_WEAK &&
		    !is_plain_store(e) && !is_data_load(cx, e))
			return;
	for (struct inst_event *e = ev->first; e; e = e->next)
		e->is_lockstep =
			e->kind == INST_EVENT_ACCESS && e->strength != RACE_WEAK && e->reads;
}
