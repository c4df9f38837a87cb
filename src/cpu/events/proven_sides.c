/*
 * proven_sides.c - what a proven launch accessed, for the oracle, and as the sides of findings.
 *
 * For the oracle the launch is a grid of one thread: that accesses, in the order of the text, the
 * bytes of each instruction. Findings name that thread; what they are about lies in the launch's
 * own notes, from which a side gets a thread that accessed the byte, and its element. The
 * notes are kept until the oracle has forgotten the operation, as the host knows that it has ended.
 *
 * Misses: threads and lines where there were too many notes, or no memory to settle them; then the
 * side is the whole launch, and the report is partial.
 */
#include "cpu/events/proven_run.h"

#include <stdlib.h>

#define KEPT_BYTES (256ull << 20)
#define KEPT_RUNS  4096u

/* What is left of a launch that has ended. */
struct events_proven {
	uint64_t grid; /* the key */
	uint64_t op, bytes;
	struct cpu_proven_run *run;
	const struct cpu_site *whole[2]; /* the launch's reads, and its writes */
	struct events_proven *next;	 /* that ended later */
	UT_hash_handle hh;
};

/* ---- the start ---------------------------------------------------------------------------- */

void events_proven_start(struct cpu_events *x, struct cpu_op *op)
{
	const struct cpu_grid *g = op->grid;
	struct events_grid info = {.id = g->id,
				   .kernel = base_strdup(&x->arena, g->func->name),
				   .is_graph = op->work.is_graph,
				   .origin = op->work.origin,
				   .stream = op->work.stream + 1u};

	memcpy(info.grid, g->grid, sizeof(info.grid));
	memcpy(info.block, g->block, sizeof(info.block));
	memcpy(info.cluster, g->cluster, sizeof(info.cluster));
	base_vec_push(&x->grids, info);
	base_vec_push(&x->live, g->id);
	op->events_grid = g->id;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* One that returns nothing, of the atomics that a launch has which workers judge (judges.c). */
static bool is_red(const struct cpu_site *s)
{
	return s->func->stmts[s->pc]->form->op == PTX_OP_RED;
}

/* For whom a launch accesses what its notes say. */
struct accessor {
	struct cpu_events *x;
	uint32_t actor;
};

/* Bytes that the instruction has accessed, side by side; of atomics, element by element. */
static void access_range(void *arg, const struct proven_touch *t, uint64_t at, uint64_t bytes)
{
	const struct accessor *by = arg;
	struct oracle_acc acc = {.inst = t->site,
				 .kind = RACE_OP_RMW,
				 .strength = RACE_RELAXED,
				 .scope = t->scope,
				 .flags = is_red(t->site) ? ORACLE_RED : 0,
				 .bytes = 1u << t->shift};

	if (!t->is_update)
		oracle_access_range(by->x->o, by->actor, t->site,
				    t->is_write ? RACE_OP_WRITE : RACE_OP_READ, at, bytes);
	for (uint64_t i = 0; t->is_update && i < bytes; i += acc.bytes)
		oracle_access(by->x->o, by->actor, &acc, at + i);
}

/* Bytes that are really used. */
static uint64_t size_of(const struct cpu_proven_run *r)
{
	uint64_t n = sizeof(*r) + r->ninsts * 2u * sizeof(*r->first);

	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		const struct proven_touch *t = &r->touch[i];
		uint64_t rows = t->row && t->row_hi > t->row_lo ? t->row_hi - t->row_lo : 0;
		uint64_t words = t->thread && t->done.hi > t->done.lo ? t->done.hi - t->done.lo : 0;
		n += sizeof(*t) + rows * sizeof(*t->row) + words * sizeof(*t->done.bits) +
		     words * (PROVEN_WORD >> t->shift) * sizeof(*t->thread) +
		     proven_ways_bytes(r, t);
	}
	return n;
}

static void drop_first(struct cpu_events *x)
{
	struct events_proven *p = x->proven_first;

	x->proven_first = p->next;
	x->nproven--;
	x->proven_bytes -= p->bytes;
	proven_run_free(p->run, x->m->engine);
	p->run = NULL;
}

/* Drops notes that nothing can ask for, and the oldest where there are too many. */
static void drop(struct cpu_events *x)
{
	while (x->proven_first && !oracle_has_op(x->o, x->proven_first->op)) {
		struct events_proven *p = x->proven_first;
		drop_first(x);
		HASH_DEL(x->proven, p);
		free(p);
	}
	while (x->nproven > 1 && (x->nproven > KEPT_RUNS || x->proven_bytes > KEPT_BYTES)) {
		oracle_flush_late(x->o);
		drop_first(x);
	}
}

/* The launch's notes become the machine's. */
static void keep(struct cpu_events *x, struct cpu_op *op)
{
	struct events_proven *p = base_calloc(1, sizeof(*p));

	p->grid = op->events_grid;
	p->op = op->id;
	p->run = op->proven;
	p->bytes = size_of(op->proven);
	for (unsigned k = 0; k < 2; k++)
		p->whole[k] = cpu_site_of_op(x, op, k);
	op->proven = NULL;
	HASH_ADD(hh, x->proven, grid, sizeof(p->grid), p);
	if (x->proven_first)
		x->proven_last->next = p;
	else
		x->proven_first = p;
	x->proven_last = p;
	x->nproven++;
	x->proven_bytes += p->bytes;
}

/* Notes that have become exact take more. */
static void count_bytes(struct cpu_events *x, const struct cpu_proven_run *r)
{
	struct events_proven *p = x->proven_first;

	while (p && p->run != r)
		p = p->next;
	if (!p)
		return;
	x->proven_bytes -= p->bytes;
	p->bytes = size_of(r);
	x->proven_bytes += p->bytes;
}

/* What has been accessed; it has been counted, by warps. */
static void make_all(void *arg, uint32_t actor)
{
	struct cpu_proven_run *r = arg;
	struct cpu_events *x = r->events;
	struct accessor by = {x, actor};
	uint64_t before = oracle_get_stats(x->o).accesses;

	bool are_settled = proven_settle(r);
	count_bytes(x, r);
	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		struct proven_touch *t = &r->touch[i];
		const struct proven_array *a = &r->array[t->array];
		proven_each(t, a, access_range, &by);
		if (!are_settled && t->is_made)
			proven_each_way(r, t, a, access_range, &by);
	}
	x->njudged -= oracle_get_stats(x->o).accesses - before;
}

/* All of it. */
struct summary {
	uint64_t accesses, lo, end; /* of warps */
	bool has_any, has_updates;
};

static struct summary gather(struct cpu_events *x, struct cpu_proven_run *r)
{
	struct summary all = {.lo = UINT64_MAX};

	for (uint32_t i = 0; i < x->m->engine->nworkers; i++)
		all.accesses += r->count[i].n;
	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		struct proven_touch *t = &r->touch[i];
		const struct proven_array *a = &r->array[t->array];
		if (!t->is_made)
			continue;
		t->site = events_site_new(x, r->proven.kernel->func, t->pc);
		all.has_any = true;
		all.lo = a->base < all.lo ? a->base : all.lo;
		all.end = a->base + a->extent.bytes > all.end ? a->base + a->extent.bytes : all.end;
		all.has_updates |= t->is_update;
	}
	return all;
}

static uint32_t threads_of(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	uint32_t n = 1; /* that it fits has been tested (events_may_be_whole) */

	for (unsigned i = 0; i < 3; i++)
		n *= l->grid[i] * l->block[i];
	return n;
}

/* For findings that are made later, too: it is the notes' first use. */
void events_proven_end(struct cpu_events *x, struct cpu_op *op)
{
	struct oracle_grid one = {.grid = op->events_grid,
				  .device = op->work.device,
				  .blocks = 1,
				  .block_threads = 1,
				  .cluster_blocks = 1};
	struct cpu_proven_run *r = op->proven;
	struct events_grid *info = events_grid_of(x, op->events_grid);
	uint32_t actor = oracle_grid(x->o, &one);

	oracle_op_start(x->o, op->id, actor);
	op->events_actor = actor;
	if (info)
		info->is_doubtful = events_grid_is_doubtful(x, actor);
	events_wrote_all(x);
	r->events = x;
	struct summary all = gather(x, r);
	drop(x);
	keep(x, op);
	/* Judges have counted what they judged. */
	if (!r->has_judges && !oracle_is_full(x->o))
		x->njudged += all.accesses;
	if (r->has_judges)
		x->nthreads += threads_of(op) - 1u;
	if (all.has_any && (all.has_updates || !oracle_access_late(x->o, actor, all.lo,
								   all.end - all.lo, make_all, r)))
		make_all(r, actor);
	proven_drop_old(r);
}

void events_proven_free(struct cpu_events *x)
{
	struct events_proven *p, *next;

	HASH_ITER(hh, x->proven, p, next)
	{
		HASH_DEL(x->proven, p);
		proven_run_free(p->run, NULL);
		free(p);
	}
}

/* ---- sides -------------------------------------------------------------------------------- */

static struct events_proven *proven_of(const struct cpu_events *x, const struct oracle_side *s)
{
	struct events_proven *p;

	HASH_FIND(hh, x->proven, &s->place.grid, sizeof(s->place.grid), p);
	return p;
}

/* What the instruction of the side has accessed; NULL: not this byte. */
static const struct proven_touch *touch_of(const struct cpu_proven_run *r,
					   const struct oracle_side *s, uint64_t address)
{
	const struct cpu_site *site = s->inst;

	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		const struct proven_touch *t = &r->touch[i];
		const struct proven_array *a = &r->array[t->array];
		uint64_t at = address - a->base;
		if (t->is_made && t->pc == site->pc && at < a->extent.bytes && proven_has(a, t, at))
			return t;
	}
	return NULL;
}

static void fill_side(struct oracle_side *s, const struct events_proven *p, uint64_t address)
{
	const struct cpu_proven_run *r = p->run;
	const struct proven_touch *t = r ? touch_of(r, s, address) : NULL;

	if (!t) {
		s->inst = p->whole[(s->kind & RACE_OP_WRITE) != 0];
		s->place = (struct race_place){.device = RACE_HOST};
		return;
	}
	const struct proven_array *a = &r->array[t->array];
	uint64_t at = address - a->base;
	uint32_t thread = proven_least(t, proven_element(a, t, at));
	s->place.cta = s->place.cluster = thread / r->block_threads;
	s->place.warp = thread % r->block_threads / CPU_WARP;
	s->place.lane = thread % CPU_WARP;
	s->bytes = 1u << t->shift;
	s->address = address - ((a->extent.base + at) & (s->bytes - 1));
}

const struct oracle_finding *events_proven_sides(const struct cpu_events *x,
						 const struct oracle_finding *f,
						 struct oracle_finding *out)
{
	const struct events_proven *p, *q;

	if (!x->proven || !f->first.inst || !f->second.inst)
		return f;
	p = proven_of(x, &f->first);
	q = proven_of(x, &f->second);
	if (!p && !q)
		return f;
	*out = *f;
	if (p)
		fill_side(&out->first, p, f->address);
	if (q)
		fill_side(&out->second, q, f->address);
	return out;
}

/* The bytes that the side, a store of a proven launch that is being handed over, has left are those
 * that were there before. */
bool events_proven_left_same(const struct cpu_events *x, const struct oracle_side *s)
{
	const struct events_proven *p = x->proven ? proven_of(x, s) : NULL;
	const struct proven_touch *t = p && p->run ? touch_of(p->run, s, s->address) : NULL;

	if (!t || !p->run->array[t->array].old)
		return false;
	return !memcmp((const void *)(uintptr_t)s->address,
		       p->run->array[t->array].old + (s->address - p->run->array[t->array].base),
		       s->bytes);
}

void events_proven_raced(struct cpu_events *x, const struct cpu_site *a, const struct cpu_site *b)
{
	const struct cpu_listener *to = &x->m->listener;

	if (to->left && (a->is_proven || b->is_proven))
		to->left(to->proven_arg, NULL, false);
}
