/*
 * product.c - matrix products of warpgroups as the oracle's events.
 *
 * Each warp's share is a pseudo-thread in the async proxy, which knows what the warp's lanes have
 * done when it is issued. It reads the warp's own rows of A, and all of B; what lies side by side
 * is one access. A wait joins the shares of all four warps. After WHOLE executions of an
 * instruction the units of B are read by one share each, another one each time: what differs
 * between the four is which of them a write before is ordered with.
 *
 * Registers of a product that its warp hasn't waited for are no memory: a use of them is a finding
 * of its own, without the oracle.
 */
#include "cpu/async/async.h"
#include "cpu/wgmma.h"
#include "cpu/events/internal.h"
#include "cpu/events/units.h"

#include <string.h>

#define ROWS_OF_SHARE (CPU_WGMMA_ROWS / CPU_GROUP_WARPS)
#define WHOLE	      64u

/* ---- memory ---------- */

/* One share reads. */
static void read_units(struct cpu_product *p, unsigned m, const struct events_units *u)
{
	events_units_read(cpu_events_of(p->first), p->actor[m], p->site, u);
}

static bool is_judged(const struct cpu_product *p)
{
	return p->site && cpu_events_of(p->first);
}

void cpu_event_product_issue(struct cpu_product *p, unsigned m, uint32_t mask)
{
	struct cpu_warp *w = p->first + m;
	struct cpu_events *x = cpu_events_of(w);

	if (!cpu_event_takes(w, p->in))
		return;
	events_lock(x);
	w->nevents++;
	p->site = cpu_site_of(w, p->in);
	p->actor[m] = oracle_fork_lanes(x->o, events_actor(w), mask);
	events_copy_issued(x, p->actor[m]);
	events_unlock(x);
}

void cpu_event_product_a(struct cpu_product *p, const struct ptx_matrix_shape *s,
			 const uint8_t *const *unit)
{
	uint32_t n = ptx_matrix_count(s), across = s->rows / 8;
	struct events_units u;

	if (!is_judged(p))
		return;
	events_lock(cpu_events_of(p->first));
	for (unsigned m = 0; m < CPU_GROUP_WARPS; m++) {
		events_units_begin(&u, p->first->cta);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t row = s->is_transposed ? i % across * 8 : i / s->units;
			if (row / ROWS_OF_SHARE == m)
				events_units_add(&u, unit[i]);
		}
		read_units(p, m, &u);
	}
	events_unlock(cpu_events_of(p->first));
}

void cpu_event_product_b(struct cpu_product *p, const uint8_t *const *unit, uint32_t n)
{
	struct events_units u;

	if (!is_judged(p))
		return;
	events_lock(cpu_events_of(p->first));
	uint32_t turn = p->site->nproducts++;
	for (unsigned m = 0; m < CPU_GROUP_WARPS; m++) {
		events_units_begin(&u, p->first->cta);
		for (uint32_t i = 0; i < n; i++)
			if (turn < WHOLE || (i * CPU_GROUP_WARPS / n + turn) % CPU_GROUP_WARPS == m)
				events_units_add(&u, unit[i]);
		read_units(p, m, &u);
	}
	events_unlock(cpu_events_of(p->first));
}

#define AT_ONCE 16u /* products */

void cpu_event_products_wait(struct cpu_warp *w, uint32_t mask, const struct cpu_product *first,
			     const struct cpu_product *end)
{
	struct cpu_events *x = cpu_events_of(w);
	uint32_t actors[AT_ONCE * CPU_GROUP_WARPS], n = 0;

	if (!x)
		return;
	events_lock(x);
	for (const struct cpu_product *p = first; p != end; p = p->next) {
		if (p->waited >> w->index % CPU_GROUP_WARPS & 1 || !is_judged(p))
			continue;
		w->nevents++;
		memcpy(&actors[n], p->actor, sizeof(p->actor));
		n += CPU_GROUP_WARPS;
		if (n < AT_ONCE * CPU_GROUP_WARPS)
			continue;
		oracle_join_lanes(x->o, events_actor(w), mask, actors, n);
		n = 0;
	}
	if (n)
		oracle_join_lanes(x->o, events_actor(w), mask, actors, n);
	events_unlock(x);
}

/* ---- registers ---------- */

/* Of a thread: the product's use of registers and another one. Lock held. */
static void found(struct cpu_events *x, uint32_t actor, enum race_kind kind,
		  const struct cpu_site *product, const struct cpu_site *other, bool is_write)
{
	struct oracle_side first = {.inst = product,
				    .actor = actor,
				    .place = oracle_place(x->o, actor),
				    .kind = RACE_OP_RMW,
				    .proxy = RACE_PROXY_ASYNC};
	struct oracle_side second = first;

	second.inst = other;
	second.kind = is_write ? RACE_OP_WRITE : RACE_OP_READ;
	second.proxy = RACE_PROXY_GENERIC;
	events_registers_found(x, kind, &first, &second);
}

void cpu_event_product_touched(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			       const struct cpu_product *p, bool is_write)
{
	struct cpu_events *x = cpu_events_of(w);
	uint32_t actor = events_actor(w) + (uint32_t)__builtin_ctz(mask);

	if (!is_judged(p) || !cpu_event_takes(w, in))
		return;
	events_lock(x);
	found(x, actor, RACE_KIND_REGISTERS, p->site, cpu_site_of(w, in), is_write);
	events_unlock(x);
}

/* The last write of the product's registers before it on all paths, with no fence between. */
static void unfenced(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_events *x = cpu_events_of(w);
	const struct cpu_wgmma *p = in->aux;

	if (!p->unfenced || !cpu_event_takes(w, in))
		return;
	events_lock(x);
	found(x, events_actor(w), RACE_KIND_PRODUCT_FENCE, cpu_site_of(w, in),
	      cpu_site_of(w, w->cur->func->code + p->unfenced - 1), true);
	events_unlock(x);
}

static bool shares_register(const uint32_t *a, unsigned na, const uint32_t *b, unsigned nb)
{
	for (unsigned i = 0; i < na; i++)
		for (unsigned k = 0; k < nb; k++)
			if (a[i] == b[k])
				return true;
	return false;
}

/* Accumulating into the registers of an earlier product of the same shape is in order by itself. */
static bool is_chained(const struct cpu_wgmma *a, const struct cpu_wgmma *b)
{
	return a->n == b->n && a->naccs == b->naccs &&
	       !memcmp(a->acc, b->acc, a->naccs * sizeof(a->acc[0]));
}

void cpu_event_product_registers(struct cpu_warp *w, const struct cpu_inst *in,
				 const struct cpu_product *first, const struct cpu_product *p)
{
	unsigned m = w->index % CPU_GROUP_WARPS;
	const struct cpu_wgmma *x = in->aux;

	if (!cpu_event_takes(w, in))
		return;
	unfenced(w, in);
	for (const struct cpu_product *q = first; q != p; q = q->next) {
		const struct cpu_wgmma *y = q->x;
		if (q->waited >> m & 1 || q->depth[m] != w->cur->depth)
			continue;
		bool is_write =
			shares_register(x->acc, x->naccs, y->areg, y->nareg) ||
			(!is_chained(x, y) && shares_register(x->acc, x->naccs, y->acc, y->naccs));
		if (is_write || shares_register(x->areg, x->nareg, y->acc, y->naccs))
			cpu_event_product_touched(w, in, UINT32_MAX, q, is_write);
	}
}
