/*
 * demand.c - is the value of a load really used, or did the compiler invent the read?
 *
 * A value is *surely used* at its definition d if every path from d meets,
 * before the register is written again and before the function returns, a real use: an instruction
 * with an effect (address and value of a memory operation, branch, call, barrier, warp
 * communication), or a pure instruction whose own result is surely used from there on. Paths are
 * those on which a predicate that was tested has one value (known.c). So a phi (a
 * mov into a register with several definitions) counts exactly on the paths on which the moved
 * value survives. Operands that are taken under a condition, or that another one may mask, never
 * count (use.c).
 *
 * This is solved once per function for all definitions: all start as sure, a worklist withdraws
 * those with an escaping path, until nothing changes (the greatest solution). That is right for
 * every run that ends: it is finite, so a chain of sure uses ends at a real one. Loops that have an
 * exit are taken to end, as C++ and the compiler do; blocks from which no exit can be reached count
 * as left unused.
 *
 * That holds for the bytes of a register that are live (bytes.c), all of them; several uses in one
 * block may take them together.
 *
 * In a function that was compiled without optimisation (unoptimised.c) every load is sure.
 *
 * Misses: arithmetic that ignores an operand (x - x) and a store to the thread's
 * own stack that nothing reads are taken as uses. Past the limits below the
 * answer is "not sure", which can only demote a finding.
 * Costs: near O(1) per definition, as most values are used in their own block; one is looked at
 * again only when a definition that it relied on is withdrawn.
 */
#include "flow/priv.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_USES = 64,	/* statements listed for a FLOW_DEMAND_MAYBE */
	MAX_CHAIN = 64, /* pure results followed for them */
	MAX_PARTS = 16, /* uses of parts of a loaded register */
	MAX_ROUNDS = 24 /* evaluations per definition, on average, before giving up */
};

/* ---- surely used, for every definition --------------------------------------------- */

struct result {
	struct flow *fl;
	const struct ptx_stmt *s;
	bool is_sure, is_open; /* some result is; some isn't */
};

static void look_at_result(uint32_t reg, bool is_write, void *arg)
{
	struct result *r = arg;
	uint32_t d = is_write ? flow_def_of(r->fl, r->s, reg) : FLOW_NONE;
	bool is_sure = d != FLOW_NONE && r->fl->priv->sure[d];

	r->is_sure |= is_sure;
	r->is_open |= is_write && !is_sure;
}

/* Is a result of this pure statement surely used from there on? Of a value that is taken apart:
 * each part, as a compiler may have joined the reading of two. */
bool flow_result_sure(struct flow *fl, const struct ptx_stmt *u)
{
	struct result r = {fl, u, false, false};

	if (fl->blocks[u->mark].can_exit)
		ptx_each_reg(u, look_at_result, &r);
	return r.is_sure && !(flow_is_parting(u) && r.is_open);
}

/* The guard of definition d that still holds at `use_at`: same block, not written in between. */
static uint32_t guard_in_force(struct flow *fl, uint32_t d, const struct ptx_stmt *u,
			       uint32_t use_at)
{
	struct flow_priv *pr = fl->priv;
	const struct ptx_stmt *s = pr->def[d];
	if (s->pred == PTX_NO_REG || s->mark != u->mark || use_at < pr->def_at[d])
		return PTX_NO_REG;
	uint32_t hi = pr->def_off[s->pred + 1];
	uint32_t k = flow_lower(pr->def_at, pr->def_off[s->pred], hi, pr->def_at[d]);
	return k < hi && pr->def_at[k] < use_at ? PTX_NO_REG : s->pred;
}

/* ---- who relies on whom --------------------------------------------------------------- */

/* Definition `who` counts as sure because another one does. */
struct flow_reliance {
	uint32_t who, next; /* next: index, 0 ends */
};

struct worklist {
	struct flow *fl;
	uint32_t *def, *reg_of; /* stack of defs; register of each def */
	uint8_t *queued;
	uint32_t n;
	uint32_t *first; /* by def: who relies on it, index into `all` */
	BASE_VEC(struct flow_reliance) all;
	uint32_t who;		   /* whose uses are being looked at, */
	const struct ptx_stmt *at; /* and which one */
};

static void rely_on_result(uint32_t reg, bool is_write, void *arg)
{
	struct worklist *w = arg;
	struct flow_priv *pr = w->fl->priv;
	uint32_t d = is_write ? flow_def_of(w->fl, w->at, reg) : FLOW_NONE;

	if (d == FLOW_NONE || !pr->sure[d])
		return;
	base_vec_push(&w->all, ((struct flow_reliance){w->who, w->first[d]}));
	w->first[d] = (uint32_t)w->all.n - 1;
}

/* The bytes of d's value that really take effect at a use. */
static uint32_t real_bytes(struct flow *fl, uint32_t d, uint32_t reg, uint32_t use)
{
	struct flow_priv *pr = fl->priv;
	const struct ptx_stmt *u = pr->use[use];
	uint32_t g = PTX_NO_REG, bytes;
	bool is_not = pr->def[d]->is_pred_not;

	if (u->pred != PTX_NO_REG) {
		g = guard_in_force(fl, d, u, pr->use_at[use]);
		if (g == PTX_NO_REG && flow_known(fl, &pr->on_way, u->pred) >= 0) {
			g = u->pred;
			is_not = !flow_known(fl, &pr->on_way, g);
		}
	}
	switch (flow_use_kind(fl, u, reg, g, is_not)) {
	case FLOW_USE_REAL:
		return flow_taken_bytes(fl, u, reg);
	case FLOW_USE_PURE:
		bytes = flow_surely_taken(fl, u, reg);
		if (bytes && pr->solving) {
			pr->solving->at = u;
			pr->solving->who = d;
			ptx_each_reg(u, rely_on_result, pr->solving);
		}
		return bytes;
	default:
		return 0;
	}
}

/* Do all live bytes take effect there? */
static bool is_real(struct flow *fl, uint32_t d, uint32_t reg, uint32_t use)
{
	uint32_t live = fl->priv->live[reg];

	return live && (real_bytes(fl, d, reg, use) & live) == live;
}

/* What happens to a value between two places of one block. */
enum meet { MEET_NOTHING, MEET_USE, MEET_KILL };

/* The end of the part of [from, to) in which d's value is in the register; `to` if nothing
 * writes it. A guarded write may leave the value: it ends the part only for `is_strict`. */
static uint32_t part_end(struct flow_priv *pr, uint32_t reg, uint32_t from, uint32_t to,
			 bool is_strict)
{
	uint32_t hi = pr->def_off[reg + 1];
	uint32_t k = flow_lower(pr->def_at, pr->def_off[reg], hi, from);
	while (k < hi && !is_strict && pr->def[k]->pred != PTX_NO_REG)
		k++;
	return k < hi && pr->def_at[k] < to ? pr->def_at[k] : to;
}

/* Several uses together may take all of `bytes`. */
static enum meet scan_part(struct flow *fl, uint32_t d, uint32_t reg, uint32_t bytes, uint32_t from,
			   uint32_t to)
{
	struct flow_priv *pr = fl->priv;
	uint32_t end = part_end(pr, reg, from, to, true);
	uint32_t hi = pr->use_off[reg + 1];
	uint32_t left = bytes;

	for (uint32_t k = flow_lower(pr->use_at, pr->use_off[reg], hi, from);
	     k < hi && pr->use_at[k] <= end && pr->use_at[k] < to; k++) {
		left &= ~real_bytes(fl, d, reg, k);
		if (!left)
			return MEET_USE;
	}
	return end < to ? MEET_KILL : MEET_NOTHING;
}

/* Those that pr->on_way leaves open. */
static void push_open(struct flow *fl, uint32_t b, uint32_t *n)
{
	struct flow_priv *pr = fl->priv;
	for (uint32_t i = 0; i < fl->blocks[b].nsucc; i++) {
		uint32_t t = fl->blocks[b].succ[i];
		if (pr->seen[t] != pr->walk && flow_way_is_open(fl, &pr->on_way, b, t)) {
			pr->seen[t] = pr->walk;
			pr->queue[(*n)++] = t;
		}
	}
}

static bool is_left_unused(const struct flow_block *b)
{
	return b->exits || !b->can_exit;
}

/* What is known after d, and stays so to the end of its block. */
static struct flow_facts facts_after(struct flow *fl, uint32_t d)
{
	struct flow_priv *pr = fl->priv;
	const struct ptx_stmt *s = pr->def[d];
	struct flow_facts f = pr->facts[s->mark];

	flow_forget_written(fl, &f, pr->start[s->mark], pr->start[s->mark + 1]);
	if (s->pred != PTX_NO_REG) {
		flow_learn(fl, &f, s->pred, !s->is_pred_not);
		flow_forget_written(fl, &f, pr->def_at[d], pr->start[s->mark + 1]);
	}
	return f;
}

/* Walks the paths on which pr->on_way holds. It gets smaller where a block writes one of its
 * predicates: then the walk is to begin again, as it may have left out ways (MEET_NOTHING). */
static enum meet walk_on(struct flow *fl, uint32_t d, uint32_t reg, uint32_t bytes)
{
	struct flow_priv *pr = fl->priv;
	uint32_t b = pr->def[d]->mark, n = 0, nfacts = pr->on_way.n;
	bool is_used = false;

	pr->walk++;
	push_open(fl, b, &n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = pr->queue[i];
		enum meet m;
		flow_forget_written(fl, &pr->on_way, pr->start[t], pr->start[t + 1]);
		if (pr->on_way.n != nfacts)
			return MEET_NOTHING;
		m = scan_part(fl, d, reg, bytes, pr->start[t], pr->start[t + 1]);
		if (m == MEET_KILL || i >= FLOW_MAX_WALK)
			return MEET_KILL;
		is_used |= m == MEET_USE;
		if (m == MEET_USE)
			continue;
		if (is_left_unused(&fl->blocks[t]))
			return MEET_KILL;
		push_open(fl, t, &n);
	}
	return is_used ? MEET_USE : MEET_KILL; /* else a loop that never ends */
}

/* Are these bytes of d's value really used on every path? */
static bool def_is_sure(struct flow *fl, uint32_t d, uint32_t reg, uint32_t bytes)
{
	struct flow_priv *pr = fl->priv;
	uint32_t b = pr->def[d]->mark;
	enum meet m;

	if (!bytes)
		return false;
	pr->on_way = facts_after(fl, d);
	m = scan_part(fl, d, reg, bytes, pr->def_at[d] + 1, pr->start[b + 1]);
	if (m == MEET_NOTHING &&
	    (is_left_unused(&fl->blocks[b]) || pr->use_off[reg] == pr->use_off[reg + 1]))
		m = MEET_KILL;
	while (m == MEET_NOTHING)
		m = walk_on(fl, d, reg, bytes);
	pr->on_way.n = 0;
	return m == MEET_USE;
}

/* A def was withdrawn: those that relied on it may have lost their use. */
static void requeue_reliant(struct worklist *w, uint32_t d)
{
	for (uint32_t i = w->first[d]; i; i = w->all.v[i].next) {
		uint32_t k = w->all.v[i].who;
		if (w->fl->priv->sure[k] && !w->queued[k]) {
			w->queued[k] = 1;
			w->def[w->n++] = k;
		}
	}
	w->first[d] = 0;
}

static void solve_sure(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	uint32_t ndefs = pr->def_off[pr->nregs];
	struct worklist w = {.fl = fl};
	uint64_t left = (uint64_t)ndefs * MAX_ROUNDS + 1000;

	pr->sure = base_alloc(fl->arena, ndefs + 1u);
	memset(pr->sure, 1, ndefs + 1u);
	pr->seen = BASE_NEWN(fl->arena, uint32_t, fl->nblocks);
	pr->queue = BASE_NEWN(fl->arena, uint32_t, fl->nblocks + 1u);
	w.def = base_malloc(sizeof(*w.def) * (ndefs + 1u));
	w.reg_of = base_malloc(sizeof(*w.reg_of) * (ndefs + 1u));
	w.queued = base_malloc(ndefs + 1u);
	w.first = base_calloc(ndefs + 1u, sizeof(*w.first));
	base_vec_push(&w.all, ((struct flow_reliance){0, 0})); /* index 0 ends a list */
	memset(w.queued, 1, ndefs + 1u);
	pr->solving = &w;
	for (uint32_t r = 0; r < pr->nregs; r++)
		for (uint32_t k = pr->def_off[r]; k < pr->def_off[r + 1]; k++) {
			w.reg_of[k] = r;
			w.def[w.n++] = k; /* registers mostly come in text order: last first */
		}
	while (w.n) {
		uint32_t d = w.def[--w.n];
		w.queued[d] = 0;
		if (left && def_is_sure(fl, d, w.reg_of[d], pr->live[w.reg_of[d]])) {
			left--;
			continue;
		}
		pr->sure[d] = 0;
		requeue_reliant(&w, d);
	}
	pr->solving = NULL;
	base_vec_free(&w.all);
	free(w.first);
	free(w.def);
	free(w.reg_of);
	free(w.queued);
}

/* ---- used at all ------------------------------------------------------------------------ */

static bool has_live_use(struct flow *fl, uint32_t reg, uint32_t from, uint32_t to)
{
	struct flow_priv *pr = fl->priv;
	uint32_t hi = pr->use_off[reg + 1];
	for (uint32_t k = flow_lower(pr->use_at, pr->use_off[reg], hi, from);
	     k < hi && pr->use_at[k] < to; k++)
		if (flow_taken_bytes(fl, pr->use[k], reg))
			return true;
	return false;
}

static bool def_is_dead(struct flow *fl, uint32_t d, uint32_t reg)
{
	struct flow_priv *pr = fl->priv;
	uint32_t b = pr->def[d]->mark, n = 0, from = pr->def_at[d] + 1, to = pr->start[b + 1];

	if (!pr->live[reg])
		return true;
	if (pr->def_off[reg + 1] - pr->def_off[reg] == 1)
		return !has_live_use(fl, reg, 0, FLOW_NONE);
	pr->walk++;
	for (uint32_t i = 0;; i++) {
		uint32_t end = part_end(pr, reg, from, to, false);
		if (has_live_use(fl, reg, from, end < to ? end + 1 : to))
			return false;
		if (end == to)
			flow_push_successors(fl, b, &n);
		if (i == n)
			return true;
		b = pr->queue[i];
		from = pr->start[b];
		to = pr->start[b + 1];
	}
}

/* ---- the first real uses of a value that is not surely used ------------------------------ */

struct finder {
	struct flow *fl;
	uint32_t defs[MAX_CHAIN], regs[MAX_CHAIN]; /* the value and what was computed from it */
	bool near[MAX_CHAIN];			   /* computed after the load in its own block */
	uint32_t ndefs, load;			   /* the load's place */
	const struct ptx_stmt *from;		   /* whose results are being added */
	uint32_t from_def;			   /* index of the def that it reads */
	struct ptx_stmt *uses[MAX_USES];
	uint32_t nuses;
	struct flow_cond_use conds[MAX_USES];
	uint32_t nconds;
};

/* Does every way from the load to place `at`, on which the load isn't executed again, pass
 * definition d? Else the register may hold what d has made of an earlier execution's value. */
static bool all_pass(struct finder *f, uint32_t d, uint32_t at)
{
	struct flow_priv *pr = f->fl->priv;
	uint32_t here = f->load + 1, b = pr->stmt[f->load]->mark, n = 0;

	pr->walk++;
	for (uint32_t i = 0; i < FLOW_MAX_WALK; i++) {
		uint32_t end = pr->start[b + 1], stop = end;
		if (pr->def_at[d] >= here && pr->def_at[d] < stop)
			stop = pr->def_at[d];
		if (f->load >= here && f->load < stop)
			stop = f->load;
		/* The statement at `stop` reads before it writes. */
		if (at >= here && (at < stop || (at == stop && stop < end)))
			return false;
		if (stop == end)
			flow_push_successors(f->fl, b, &n);
		if (i == n)
			return true;
		b = pr->queue[i];
		here = pr->start[b];
	}
	return false;
}

/*
 * Whenever control comes from the load to place `at`, does the register hold d's value there, and
 * not on some paths another one (a phi)? Only then does code inserted at `at` refer to the load's
 * value. Every path must pass d after the load; and no other definition comes there, or d follows
 * the load in its block and none of the others can be reached from d.
 */
static bool holds_at(struct finder *f, uint32_t i, uint32_t at, uint32_t block)
{
	struct flow_priv *pr = f->fl->priv;
	uint32_t d = f->defs[i], reg = f->regs[i];
	struct flow_reaching r;

	if (pr->def[d]->pred != PTX_NO_REG || (i && !all_pass(f, d, at)))
		return false;
	if (pr->def_off[reg + 1] - pr->def_off[reg] == 1 && !pr->is_param[reg])
		return true;
	flow_find_reaching(f->fl, d, reg, at, block, &r);
	if (!r.n && !r.is_open)
		return true;
	return f->near[i] && r.n < FLOW_MAX_OTHERS && !flow_leads_to_others(f->fl, d, &r);
}

static void add_result(uint32_t reg, bool is_write, void *arg)
{
	struct finder *f = arg;
	struct flow_priv *pr = f->fl->priv;
	uint32_t d = is_write ? flow_def_of(f->fl, f->from, reg) : FLOW_NONE;
	if (d == FLOW_NONE || f->ndefs == MAX_CHAIN)
		return;
	for (uint32_t i = 0; i < f->ndefs; i++)
		if (f->defs[i] == d)
			return;
	if (pr->live[reg]) {
		uint32_t up = f->defs[f->from_def];
		f->near[f->ndefs] = f->near[f->from_def] && f->from->mark == pr->def[up]->mark &&
				    pr->def_at[d] > pr->def_at[up];
		f->regs[f->ndefs] = reg;
		f->defs[f->ndefs++] = d;
	}
}

static void add_use(struct finder *f, struct ptx_stmt *u)
{
	for (uint32_t i = 0; i < f->nuses; i++)
		if (f->uses[i] == u)
			return;
	if (f->nuses < MAX_USES)
		f->uses[f->nuses++] = u;
}

/* A use under a predicate that is held by one register, or where no operand masks the value. */
static void add_cond(struct finder *f, struct ptx_stmt *u, uint32_t reg)
{
	struct flow_demand_info info = {.pred = PTX_NO_REG};
	uint8_t tried = 0;

	if (f->nconds == MAX_USES)
		return;
	if (!flow_take_condition(f->fl, u, reg, &info)) {
		tried = (uint8_t)flow_tried_operand(f->fl, u, reg);
		info.pred = PTX_NO_REG;
		if (!tried || !flow_result_sure(f->fl, u))
			return;
	}
	if (flow_taken_bytes(f->fl, u, reg) != f->fl->priv->live[reg])
		return;
	f->conds[f->nconds++] = (struct flow_cond_use){u, info.pred, info.sense, tried};
}

/* A use that may be the first real use on some path; pending[] keeps it, as deciding needs a
 * separate walk. */
struct pending {
	BASE_VEC(uint32_t) use;
};

/* Uses of d in [from, to), up to the first real one; true: the path goes on. */
static bool find_in_part(struct finder *f, uint32_t d, uint32_t reg, uint32_t from, uint32_t to,
			 struct pending *pend)
{
	struct flow_priv *pr = f->fl->priv;
	uint32_t end = part_end(pr, reg, from, to, false), hi = pr->use_off[reg + 1];

	for (uint32_t k = flow_lower(pr->use_at, pr->use_off[reg], hi, from);
	     k < hi && pr->use_at[k] <= end && pr->use_at[k] < to; k++) {
		base_vec_push(&pend->use, k);
		if (is_real(f->fl, d, reg, k))
			return false;
	}
	return end == to;
}

static void settle_pending(struct finder *f, uint32_t i, const struct pending *pend)
{
	struct flow_priv *pr = f->fl->priv;
	uint32_t d = f->defs[i], reg = f->regs[i];
	for (size_t j = 0; j < pend->use.n; j++) {
		uint32_t k = pend->use.v[j];
		struct ptx_stmt *u = pr->use[k];
		enum flow_use kind = flow_use_kind(f->fl, u, reg, PTX_NO_REG, false);
		if (!holds_at(f, i, pr->use_at[k], u->mark))
			continue;
		f->from = u;
		f->from_def = i;
		if (is_real(f->fl, d, reg, k))
			add_use(f, u);
		else if (kind == FLOW_USE_MAYBE)
			add_cond(f, u, reg);
		else if (kind == FLOW_USE_PURE && flow_is_pure(u) && !flow_is_parting(u) &&
			 flow_taken_bytes(f->fl, u, reg) == pr->live[reg])
			ptx_each_reg(u, add_result, f);
	}
}

static void find_uses(struct finder *f, uint32_t at)
{
	struct flow_priv *pr = f->fl->priv;
	uint32_t d = f->defs[at], reg = f->regs[at];
	struct pending pend = {0};
	uint32_t b = pr->def[d]->mark, n = 0;

	pr->walk++;
	if (find_in_part(f, d, reg, pr->def_at[d] + 1, pr->start[b + 1], &pend))
		flow_push_successors(f->fl, b, &n);
	for (uint32_t i = 0; i < n && i < FLOW_MAX_WALK; i++) {
		b = pr->queue[i];
		if (find_in_part(f, d, reg, pr->start[b], pr->start[b + 1], &pend))
			flow_push_successors(f->fl, b, &n);
	}
	settle_pending(f, at, &pend);
	base_vec_free(&pend.use);
}

void flow_need_demand(struct flow *fl)
{
	if (fl->priv->sure)
		return;
	fl->priv->is_unoptimised = flow_is_unoptimised(fl);
	flow_need_facts(fl);
	flow_need_live_bytes(fl);
	solve_sure(fl);
}

/* ======================================================================== */

void flow_demand(struct flow *fl, const struct ptx_stmt *load, uint32_t reg,
		 struct flow_demand_info *out)
{
	struct flow_priv *pr = fl->priv;
	uint32_t d = flow_def_of(fl, load, reg);

	*out = (struct flow_demand_info){.demand = FLOW_DEMAND_MAYBE, .pred = PTX_NO_REG};
	if (d == FLOW_NONE)
		return;
	flow_need_demand(fl);
	if (pr->sure[d] || pr->is_unoptimised) {
		out->demand = FLOW_DEMAND_SURE;
		return;
	}
	if (def_is_dead(fl, d, reg)) {
		out->demand = FLOW_DEMAND_DEAD;
		return;
	}
	if (flow_find_select(fl, load, reg, out))
		return;
	struct finder f = {.fl = fl};
	f.defs[0] = d;
	f.regs[0] = reg;
	f.near[0] = load->pred == PTX_NO_REG;
	f.ndefs = 1;
	f.load = pr->def_at[d];
	for (uint32_t i = 0; i < f.ndefs; i++)
		find_uses(&f, i);
	out->nuses = f.nuses;
	out->uses = base_alloc(fl->arena, sizeof(*out->uses) * (f.nuses + 1u));
	memcpy(out->uses, f.uses, sizeof(*out->uses) * f.nuses);
	out->nconds = f.nconds;
	out->conds = base_alloc(fl->arena, sizeof(*out->conds) * (f.nconds + 1u));
	memcpy(out->conds, f.conds, sizeof(*out->conds) * f.nconds);
}

struct flow_bytes flow_demand_bytes(struct flow *fl, const struct ptx_stmt *load, uint32_t reg)
{
	struct flow_priv *pr = fl->priv;
	struct flow_demand_info info;
	struct flow_bytes out = {0, 0};
	uint32_t all = (uint32_t)((1ull << load->form->width) - 1), n, d;

	flow_demand(fl, load, reg, &info);
	d = flow_def_of(fl, load, reg);
	if (d == FLOW_NONE)
		return (struct flow_bytes){0, all};
	if (pr->is_unoptimised)
		return (struct flow_bytes){all, 0};
	if (info.demand == FLOW_DEMAND_DEAD)
		return out;
	out.maybe = pr->live[reg];
	if (info.demand == FLOW_DEMAND_SURE)
		out.sure = out.maybe;
	struct ptx_stmt *const *uses = flow_uses(fl, reg, &n);
	for (uint32_t i = 0; i < n && i < MAX_PARTS && !pr->sure[d]; i++) {
		uint32_t part = flow_is_pure(uses[i]) ? flow_surely_taken(fl, uses[i], reg)
						      : flow_taken_bytes(fl, uses[i], reg);
		if ((part & ~out.sure) && part != pr->live[reg] && def_is_sure(fl, d, reg, part))
			out.sure |= part;
	}
	out.sure = flow_element_bytes(load->form, out.sure);
	out.maybe = flow_element_bytes(load->form, out.maybe) & ~out.sure;
	return out;
}
