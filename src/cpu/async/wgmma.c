/*
 * wgmma.c - matrix products of warpgroups under way: issued, executed, waited for.
 *
 * Each of the four warps issues its share when it comes to the instruction. When all four have,
 * the product can be executed, after those that the group has issued before: at once, at any time
 * from then on, or, mostly, when a warp waits for it; the seed picks. Then all of it happens:
 * matrices and registers of A are read, accumulators are added to and written. So what a program
 * overwrites too early is there in some runs, and what it reads too early is what was there
 * before.
 *
 * A wait covers the whole product, the neighbours' shares, too: the ISA doesn't say so, but
 * CUTLASS lets one thread hand a stage back for its warpgroup (docs/soundness.md). A register of a
 * product that its warp hasn't waited for is reported when it is used (pending.c puts
 * cpu_wgmma_touched before each instruction that may); accumulators are waited for then, as the
 * code that ptxas makes does.
 *
 * Misses: a product is executed as one; two of its reads never see different moments.
 * Costs: some 3 KiB of a product under way; they are kept for the next one.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"
#include "cpu/wgmma.h"

#include <stdlib.h>
#include <string.h>

#define ALL_WARPS ((1u << CPU_GROUP_WARPS) - 1)
#define EAGER	  4 /* one product in that many is executed as soon as it can be */
#define STEPPED	  4 /* one of the others in that many between turns; the rest when waited for */

static struct cpu_wgmma_group *group_of(const struct cpu_warp *w)
{
	const struct cpu_async *as = w->cta->async;

	return as && as->groups ? &as->groups[w->index / CPU_GROUP_WARPS] : NULL;
}

/* Made with the block's first product; NULL: no memory. */
static struct cpu_wgmma_group *group_make(struct cpu_warp *w)
{
	struct cpu_async *as = cpu_async_get(w->cta);

	if (as && !as->groups)
		as->groups = calloc((w->cta->nwarps + 3) / CPU_GROUP_WARPS, sizeof(*as->groups));
	return group_of(w);
}

static unsigned member(const struct cpu_warp *w)
{
	return w->index % CPU_GROUP_WARPS;
}

/* ---- execution ---------- */

static uint32_t *register_at(const struct cpu_product *p, unsigned m, uint32_t slot)
{
	const struct cpu_warp *w = p->first + m;
	size_t frame = (size_t)p->depth[m] * w->grid->func->layout->frame;

	return (uint32_t *)(void *)(w->frames + frame + slot);
}

static bool find_units(struct cpu_product *p, uint64_t desc, const struct ptx_matrix_shape *shape,
		       const uint8_t **unit, uint32_t *at)
{
	uint32_t n = ptx_matrix_units(desc, shape, at);

	return cpu_resolve_units(p->first->cta, p->in, at, n, unit);
}

static struct ptx_matrix_shape shape_a(const struct cpu_wgmma *x)
{
	return (struct ptx_matrix_shape){.rows = CPU_WGMMA_ROWS,
					 .k = x->is_sparse ? x->k / 2u : x->k,
					 .units = x->units_a,
					 .is_transposed = x->is_trans_a};
}

static struct ptx_matrix_shape shape_b(const struct cpu_wgmma *x)
{
	return (struct ptx_matrix_shape){
		.rows = x->n, .k = x->k, .units = x->units_b, .is_transposed = x->is_trans_b};
}

/* Everything of the oldest product that isn't executed yet. False: a fault was raised. */
static bool execute(struct cpu_product *p)
{
	const struct cpu_wgmma *x = p->x;
	uint32_t at[CPU_WGMMA_UNITS_B];
	struct cpu_wgmma_tile t;
	struct ptx_matrix_shape sa = shape_a(x), sb = shape_b(x);

	p->is_done = true;
	if (!x->is_a_reg) {
		if (!find_units(p, p->desc_a, &sa, t.a, at))
			return false;
		cpu_event_product_a(p, &sa, t.a);
	}
	if (!find_units(p, p->desc_b, &sb, t.b, at))
		return false;
	cpu_event_product_b(p, t.b, ptx_matrix_count(&sb));
	for (unsigned m = 0; m < CPU_GROUP_WARPS; m++) {
		for (unsigned i = 0; i < x->naccs; i++)
			t.acc[m][i] = register_at(p, m, x->acc[i]);
		for (unsigned i = 0; i < x->nareg; i++)
			t.areg[m][i] = register_at(p, m, x->areg[i]);
		t.meta[m] = p->meta[m];
		t.is_added[m] = p->is_added >> m & 1;
	}
	x->multiply(x, &t);
	return true;
}

static bool is_ready(const struct cpu_product *p)
{
	return p && p->issued == ALL_WARPS && !p->is_done;
}

/* The oldest product that isn't executed. */
static struct cpu_product *next_of(const struct cpu_wgmma_group *g)
{
	struct cpu_product *p = g->first;

	while (p && p->is_done)
		p = p->next;
	return p;
}

/* Those up to `last`; false: a fault was raised, or a warp hasn't issued one of them. */
static bool execute_until(struct cpu_wgmma_group *g, const struct cpu_product *last)
{
	struct cpu_product *p;

	while (!last->is_done) {
		p = next_of(g);
		if (!is_ready(p) || !execute(p))
			return false;
	}
	return true;
}

/* ---- issue ---------- */

static struct cpu_product *product_new(struct cpu_wgmma_group *g)
{
	struct cpu_product *p = cpu_kept_take(&g->unused, sizeof(*p));

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	if (g->last)
		g->last->next = p;
	else
		g->first = p;
	g->last = p;
	return p;
}

/* The product of the group that is this warp's next one; NULL: a fault was raised. */
static struct cpu_product *product_of(struct cpu_warp *w, const struct cpu_inst *in,
				      struct cpu_wgmma_group *g)
{
	struct cpu_product *p = g->first;
	unsigned m = member(w);

	while (p && p->issued >> m & 1)
		p = p->next;
	if (p && p->in != in) {
		cpu_fault(
			w, in, 0, CPU_FAULT_ILLEGAL,
			"a wgmma that is not the one that another warp of the warpgroup executes");
		return NULL;
	}
	if (p)
		return p;
	p = product_new(g);
	if (!p) {
		cpu_fault(w, in, 0, CPU_FAULT_RESOURCES, "no memory for a matrix product");
		return NULL;
	}
	p->in = in;
	p->x = in->aux;
	p->first = w - m;
	p->is_eager = !cpu_random_below(w->worker, EAGER);
	p->is_stepped = !cpu_random_below(w->worker, STEPPED);
	return p;
}

/* What all lanes must agree on (PTX ISA 9.7.15.5.1). */
static bool is_same(struct cpu_warp *w, const struct cpu_inst *in, uint32_t slot, const char *what)
{
	const uint64_t *v = cpu_u64(w, slot);

	for (unsigned l = 1; l < CPU_WARP; l++)
		if (v[l] != v[0]) {
			cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "%s differs from lane 0's", what);
			return false;
		}
	return true;
}

static bool set_descriptor(struct cpu_warp *w, const struct cpu_inst *in, bool is_first,
			   uint32_t slot, uint64_t *to, const char *what)
{
	if (slot == CPU_NOSLOT)
		return true;
	if (!is_same(w, in, slot, what))
		return false;
	if (is_first)
		*to = cpu_u64(w, slot)[0];
	if (*to == cpu_u64(w, slot)[0])
		return true;
	cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL, "%s differs from that of another warp", what);
	return false;
}

static bool has_group(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	if (w->index - member(w) + CPU_GROUP_WARPS > w->cta->nwarps) {
		cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
			  "wgmma in warp %u of %u: a warpgroup is four warps, the first one's "
			  "number a multiple of 4",
			  w->index, w->cta->nwarps);
		return false;
	}
	if (mask == UINT32_MAX)
		return true;
	cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_ILLEGAL,
		  "wgmma without lanes 0x%08x of the warp", ~mask);
	return false;
}

enum cpu_step cpu_wgmma_issue(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_wgmma *x = in->aux;
	struct cpu_wgmma_group *g;
	struct cpu_product *p;
	unsigned m = member(w);

	if (!has_group(w, in, mask))
		return CPU_FAULTED;
	g = group_make(w);
	if (!g)
		return cpu_fault(w, in, 0, CPU_FAULT_RESOURCES, "no memory for a matrix product");
	p = product_of(w, in, g);
	if (!p ||
	    !set_descriptor(w, in, !p->issued, x->desc_a, &p->desc_a, "matrix A's descriptor") ||
	    !set_descriptor(w, in, !p->issued, x->desc_b, &p->desc_b, "matrix B's descriptor"))
		return CPU_FAULTED;
	cpu_event_product_registers(w, in, g->first, p);
	uint32_t scale = *cpu_pred(w, x->scale) ^ (0u - (uint32_t)x->is_scale_not);
	p->is_added |= (uint8_t)((scale & 1) << m);
	if (x->meta != CPU_NOSLOT)
		memcpy(p->meta[m], cpu_u32(w, x->meta), sizeof(p->meta[m]));
	p->depth[m] = w->cur->depth;
	p->group[m] = g->open[m];
	/* What these lanes have stored is in memory before the product reads it. */
	cpu_release(w, mask, PTX_SCOPE_CTA);
	cpu_event_product_issue(p, m, mask);
	p->issued |= (uint8_t)(1u << m);
	if (p->is_eager && p->issued == ALL_WARPS && !execute_until(g, p))
		return CPU_FAULTED;
	return CPU_OK;
}

/* ---- groups ---------- */

static enum cpu_step exec_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return has_group(w, in, mask) ? CPU_OK : CPU_FAULTED;
}

static enum cpu_step exec_commit(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_wgmma_group *g;

	if (!has_group(w, in, mask))
		return CPU_FAULTED;
	g = group_make(w);
	if (!g)
		return cpu_fault(w, in, 0, CPU_FAULT_RESOURCES, "no memory for a matrix product");
	g->open[member(w)]++;
	return CPU_OK;
}

/* Products for which all warps have waited. */
static void retire(struct cpu_wgmma_group *g)
{
	while (g->first && g->first->waited == ALL_WARPS) {
		struct cpu_product *p = g->first;
		g->first = p->next;
		if (!g->first)
			g->last = NULL;
		cpu_kept_put(&g->unused, p);
	}
}

/* in->imm: the groups that may be unfinished. */
static enum cpu_step exec_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_wgmma_group *g = group_of(w);
	struct cpu_product *end = g ? g->first : NULL;
	unsigned m = member(w);

	if (!has_group(w, in, mask))
		return CPU_FAULTED;
	for (; end && end->issued >> m & 1 && g->open[m] - end->group[m] > in->imm;
	     end = end->next) {
		if (end->issued != ALL_WARPS)
			return CPU_RETRY;
		if (!execute_until(g, end))
			return CPU_FAULTED;
	}
	if (g && end != g->first)
		cpu_event_products_wait(w, mask, g->first, end);
	/* Kernels let one lane hand a stage back that all lanes of the warp have read from. */
	cpu_event_warp_sync(w, in, mask);
	if (!g || end == g->first)
		return CPU_OK;
	for (struct cpu_product *p = g->first; p != end; p = p->next)
		p->waited |= (uint8_t)(1u << m);
	retire(g);
	return CPU_OK;
}

static enum cpu_bound bind_wait(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	if (s->nops != 1 || s->ops[0].kind != PTX_OPND_INT || s->ops[0].imm < 0)
		return cpu_dec_unsupported(d, in, "the number of groups is no constant");
	in->imm = (uint64_t)s->ops[0].imm;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_wait;
	return CPU_BOUND;
}

/* ---- registers ---------- */

static bool has_slot(const uint32_t *slots, unsigned n, uint32_t slot)
{
	for (unsigned i = 0; i < n; i++)
		if (slots[i] == slot)
			return true;
	return false;
}

enum cpu_step cpu_wgmma_touched(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_wgmma_check *c = in->aux;
	struct cpu_wgmma_group *g = group_of(w);
	unsigned m = member(w);

	for (struct cpu_product *p = g ? g->first : NULL; p; p = p->next) {
		if (!(p->issued >> m & 1) || p->waited >> m & 1 || p->depth[m] != w->cur->depth)
			continue;
		for (uint32_t i = 0; i < c->n; i++) {
			const struct cpu_wgmma_touch *t = &c->touch[i];
			bool is_acc = has_slot(p->x->acc, p->x->naccs, t->slot);
			bool is_a = t->is_write && has_slot(p->x->areg, p->x->nareg, t->slot);
			if (!is_acc && !is_a)
				continue;
			if (!c->is_copy || t->is_write)
				cpu_event_product_touched(w, in, mask, p, t->is_write);
			if (!is_acc || p->is_done)
				continue;
			if (p->issued != ALL_WARPS)
				return CPU_RETRY;
			if (!execute_until(g, p))
				return CPU_FAULTED;
		}
	}
	return CPU_OK;
}

/* ---- public ---------- */

bool cpu_products_pending(const struct cpu_async *as, uint32_t nwarps)
{
	for (uint32_t i = 0; as->groups && i < nwarps / CPU_GROUP_WARPS; i++) {
		const struct cpu_product *p = next_of(&as->groups[i]);
		if (is_ready(p) && p->is_stepped)
			return true;
	}
	return false;
}

bool cpu_products_step(struct cpu_worker *k, struct cpu_cta *cta)
{
	struct cpu_async *as = cta->async;
	uint32_t n = as->groups ? cta->nwarps / CPU_GROUP_WARPS : 0;

	for (uint32_t i = n ? cpu_random_below(k, n) : 0, left = n; left; left--, i = (i + 1) % n) {
		struct cpu_product *p = next_of(&as->groups[i]);
		if (!is_ready(p) || !p->is_stepped)
			continue;
		execute(p);
		return true;
	}
	return false;
}

void cpu_products_free(struct cpu_cta *cta)
{
	struct cpu_async *as = cta->async;

	for (uint32_t i = 0; as->groups && i < (cta->nwarps + 3) / CPU_GROUP_WARPS; i++) {
		struct cpu_wgmma_group *g = &as->groups[i];
		/* The judge must also see those that haven't been waited for. */
		while (cta->grid->events && is_ready(next_of(g)) && execute(next_of(g)))
			;
		cpu_kept_free(g->first);
		cpu_kept_free(g->unused);
	}
	free(as->groups);
	as->groups = NULL;
}

cpu_binder cpu_bind_warpgroup;

enum cpu_bound cpu_bind_warpgroup(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	in->flags |= CPU_I_GATHER;
	in->gather = CPU_GATHER_ALL;
	switch (s->form->op) {
	case PTX_OP_WGMMA_FENCE:
		in->fn = exec_fence;
		return CPU_BOUND;
	case PTX_OP_WGMMA_COMMIT_GROUP:
		in->fn = exec_commit;
		return CPU_BOUND;
	case PTX_OP_WGMMA_WAIT_GROUP:
		return bind_wait(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
