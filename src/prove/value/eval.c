/*
 * eval.c - one kernel evaluated symbolically (eval.h).
 *
 * Blocks are visited in reverse post-order. A register with one definition has one value; registers
 * with several definitions and the bytes of private memory are cells with a value per block, merged
 * by the conditions of the edges (gated SSA). At a loop's header, cells that the body changes get
 * the values that loop.c guesses. The guesses, the cells that change, and which memory the kernel
 * writes are checked at the end, and the whole is done again until nothing changes.
 *
 * An access whose address is a choice between objects becomes one access for each of them. One of
 * private memory with an index of run time reads and writes the elements that the index's bounds
 * leave, where those are few.
 *
 * Misses: other private arrays with an index that isn't constant are forgotten when written, and
 * reading them gives a new value; objects above MAX_TRACKED bytes aren't tracked.
 * Costs: a turn is linear in steps plus blocks times cells; three to six turns are usual.
 */
#include "prove/value/private.h"
#include "prove/work.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TRACKED 4352 /* parameters, at most 4,096 bytes, and some more */
#define MAX_CELLS   16384
/* So many cells of all blocks take some 350 MB, where most blocks change theirs. */
#define MAX_CELLS_OF_BLOCKS (64u << 20)
#define MAX_TURNS	    40

static uint32_t counters_of(const struct ev *e, uint32_t block, const struct ex **a)
{
	uint32_t n = 0;

	for (uint32_t l = e->ir->blocks.v[block].loop; l != IR_NONE && n < 8;
	     l = e->ir->loops[l].parent)
		a[n++] = e->loops[l].ctr;
	return n;
}

const struct ex *prove_ev_fresh_of(struct ev *e, uint32_t block, uint64_t id, unsigned w,
				   enum ex_level level)
{
	const struct ex *a[8];
	uint32_t n = counters_of(e, block, a);

	return prove_ex_leaf(e->pool, EX_VAR, w, id, level, prove_ex_full(w),
			     (struct ex_args){.n = n, .a = a});
}

const struct ex *prove_ev_fresh(struct ev *e, uint32_t block, uint32_t step, unsigned which,
				unsigned w)
{
	return prove_ev_fresh_of(e, block, (uint64_t)which << 32 | step, w, EX_THREAD);
}

const struct ex *prove_ev_fresh_load(struct ev *e, uint32_t block, uint32_t step, unsigned w)
{
	return prove_ev_fresh(e, block, step, 0, w);
}

/* ---- cells ---------------------------------------------------------------------------- */

const struct ex *prove_ev_read_reg(struct ev *e, uint32_t block, uint32_t step, uint32_t r)
{
	unsigned w = e->ir->width.v[r];
	const struct ex *v;

	if (e->cell_of_reg[r] != IR_NONE) {
		v = prove_ev_cell(&e->out[block], e->cell_of_reg[r]).v;
	} else {
		uint32_t d = e->ir->def_block[r];
		v = e->ir->ndefs[r] && prove_ir_dominates(e->ir, d, block) ? e->val[r] : NULL;
		v = prove_ev_leave(e, v, d, block);
	}
	return v ? v : prove_ev_fresh(e, block, step, 1 + r, w);
}

static void write_reg(struct ev *e, uint32_t block, uint32_t r, const struct ex *v)
{
	if (e->cell_of_reg[r] != IR_NONE)
		prove_ev_set_cell(e, block, e->cell_of_reg[r], (struct ev_cell){v, 0});
	else
		e->val[r] = v;
}

/* ---- accesses --------------------------------------------------------------------------- */

bool prove_ev_is_written(const struct ev *e, const struct ev_root *r)
{
	if (e->is_all_written || e->may_alias)
		return e->is_all_written || e->written.n > 0;
	for (size_t i = 0; i < e->written.n; i++)
		if (prove_ev_same_root(&e->written.v[i], r) ||
		    prove_ev_alias(&e->written.v[i], r) != EV_APART)
			return true;
	return false;
}

static void note_write(struct ev *e, const struct ev_root *r)
{
	for (size_t i = 0; i < e->writes.n; i++)
		if (prove_ev_same_root(&e->writes.v[i], r))
			return;
	base_vec_push(&e->writes, *r);
}

static const struct ex *load_value(struct ev *e, uint32_t block, uint32_t step, struct ev_access *a,
				   const struct ex *addr)
{
	unsigned w = 8u * a->mem->bytes;

	if (w > 64)
		return NULL;
	if (a->root.kind == EV_ROOT_CONST && a->root.base->op == EX_SYM &&
	    e->ir->objects.v[a->root.id].kind == IR_OBJ_PARAM && a->off->op == EX_CONST)
		return prove_ex_param(e->pool, w, e->ir->objects.v[a->root.id].off + a->off->imm);
	bool is_fixed = a->root.kind == EV_ROOT_CONST ||
			(!a->is_shared && a->mem->space != IR_SHARED &&
			 a->mem->kind == RACE_OP_READ && a->mem->strength == RACE_WEAK &&
			 (!prove_ev_is_written(e, &a->root) || prove_ev_is_untouched(e, a)));
	if (is_fixed)
		return prove_ex_cload(e->pool, w, addr);
	a->loaded = prove_ev_common(e, a);
	return a->loaded ? a->loaded : prove_ev_fresh(e, block, step, 0, w);
}

static void note_value(struct ev *e, const struct ev_access *a)
{
	bool may_put = a->mem->kind == RACE_OP_RMW; /* what it puts isn't looked at */

	if (may_put && !e->is_new_known)
		e->is_new_known = e->is_changed = true;
	if (may_put && a->mem->bytes == 8 && !e->is_shared_known)
		e->is_shared_known = e->is_changed = true;
	if (!a->value)
		return;
	if (prove_ev_is_private(e, a->value))
		prove_ir_problem(e->ir, a->step->at,
				 "an address of the thread's own stack is stored in memory");
	if (!e->is_shared_known && prove_ev_is_shared_address(e, a->value))
		e->is_shared_known = e->is_changed = true;
	if (!e->is_new_known && prove_ev_is_new_address(e, a->value))
		e->is_new_known = e->is_changed = true;
}

/* One way that an access may go: its address has one base. Gives back what is read, or NULL. */
static const struct ex *access_at(struct ev *e, struct ev_access *a, const struct ex *addr,
				  const struct ex *guard)
{
	const struct ir_step *st = a->step;

	a->root = prove_ev_find_root(e, addr, (enum ir_space)st->mem->space);
	a->off = prove_ev_offset(e, addr, &a->root);
	a->is_shared = st->mem->space == IR_SHARED;
	a->loaded = NULL;
	if (a->root.kind == EV_ROOT_OBJECT)
		a->is_shared = e->ir->objects.v[a->root.id].kind == IR_OBJ_SHARED ||
			       e->ir->objects.v[a->root.id].kind == IR_OBJ_DYNAMIC;
	a->guard = e->guard[a->block];
	if (guard)
		a->guard = prove_ex_and(e->pool, a->guard, guard);
	a->off = prove_ev_under(e, a->off, a->guard);
	if (a->root.kind == EV_ROOT_PRIVATE) {
		a->whole = a->off;
		if (e->ir->objects.v[a->root.id].kind == IR_OBJ_LOCAL)
			base_vec_push(&e->own, *a);
		return prove_ev_private(e, a, guard);
	}
	if (st->mem->space == IR_LOCAL ||
	    (a->root.kind == EV_ROOT_UNKNOWN && prove_ev_is_private(e, addr))) {
		prove_ir_problem(e->ir, st->at, "a local address that is not understood");
		return NULL;
	}
	a->whole = a->off;
	if (a->is_shared)
		a->off = prove_ex_un(e->pool, a->off->w > 32 ? EX_TRUNC : EX_ZEXT, 32, a->off);
	const struct ex *v = NULL;
	if (st->dst != IR_NONE)
		v = load_value(e, a->block, a->index, a, addr);
	if (a->root.kind == EV_ROOT_CONST)
		return v;
	if (st->mem->kind != RACE_OP_READ)
		note_write(e, &a->root);
	if (a->guard->op != EX_CONST || a->guard->imm)
		base_vec_push(&e->accesses, *a);
	return v;
}

#define MAX_CHOICES 4

/* A choice between pointers makes two ways of an access. */
static const struct ex *choose(struct ev *e, struct ev_access *a, const struct ex *addr,
			       const struct ex *guard, unsigned depth)
{
	const struct ex *choice = depth < MAX_CHOICES ? prove_ev_find_choice(e, addr) : NULL, *v[2];

	a->is_way = depth > 0;
	if (!choice)
		return access_at(e, a, addr, guard);
	for (unsigned i = 0; i < 2; i++) {
		const struct ex *c = i ? prove_ex_not(e->pool, choice->a[0]) : choice->a[0];
		v[i] = choose(e, a, prove_ex_replace(e->pool, addr, choice, choice->a[1 + i]),
			      guard ? prove_ex_and(e->pool, guard, c) : c, depth + 1);
	}
	return v[0] && v[1] ? prove_ex_ite(e->pool, choice->a[0], v[0], v[1]) : NULL;
}

#define ANY_UNIT ((uint64_t)1 << 60) /* identities of other values are below */

/* The address of any unit of a descriptor's matrix; NULL: it isn't known. */
static const struct ex *find_unit(struct ev *e, uint32_t step, const struct ex *desc,
				  uint64_t *above)
{
	const struct ir_step *st = &e->ir->steps.v[step];
	struct ex_pool *p = e->pool;
	struct ev_matrix m;
	const char *why = prove_ev_find_matrix(e, desc, st->mem->matrix, &m);

	if (why) {
		prove_ir_problem(e->ir, st->at, "%s", why);
		return NULL;
	}
	*above = m.above;
	/* whichever, so that a place in another iteration has it, too (copies.c) */
	const struct ex *n = prove_ex_leaf(p, EX_VAR, 32, ANY_UNIT | step, EX_THREAD,
					   prove_ex_full(32), EX_NO_ARGS);
	n = prove_ex_bin(p, EX_UREM, n, prove_ex_const(p, 32, m.units));
	n = prove_ex_bin(p, EX_MUL, n, prove_ex_const(p, 32, PTX_MATRIX_UNIT));
	return prove_ex_bin(p, EX_ADD, m.start, n);
}

static void do_access(struct ev *e, uint32_t block, uint32_t step)
{
	const struct ir_step *st = &e->ir->steps.v[step];
	struct ev_access a = {.step = st, .mem = st->mem, .block = block, .index = step};
	const struct ex *addr = prove_ev_read_reg(e, block, step, st->src[0]), *guard = NULL;

	if (st->mem->matrix && !(addr = find_unit(e, step, addr, &a.above)))
		return;

	if (st->pred != IR_NONE) {
		guard = prove_ev_read_reg(e, block, step, st->pred);
		if (st->is_pred_not)
			guard = prove_ex_not(e->pool, guard);
	}
	if (st->src[1] != IR_NONE)
		a.value = prove_ev_read_reg(e, block, step, st->src[1]);
	addr = prove_ex_bin(e->pool, EX_ADD, addr,
			    prove_ex_const(e->pool, addr->w, (uint64_t)st->mem->off));
	size_t n = e->accesses.n;
	const struct ex *v = choose(e, &a, addr, guard, 0);
	if (e->accesses.n > n)
		note_value(e, &a);
	if (st->dst != IR_NONE)
		write_reg(e, block, st->dst,
			  v ? v : prove_ev_fresh(e, block, step, 0, e->ir->width.v[st->dst]));
}

static void do_assume(struct ev *e, uint32_t block, uint32_t step, const struct ir_step *st)
{
	const struct ex *size, *v = NULL;
	struct ev_assume a = {.loop = e->ir->blocks.v[block].loop, .block = block, .at = st->at};

	if (st->src[0] != IR_NONE)
		v = prove_ev_read_reg(e, block, step, st->src[0]);
	if (e->no_assumes && st->imm != IR_ASSUME_TICKET)
		return;
	a.index = step;
	a.kind = (uint8_t)st->imm;
	a.guard = e->guard[block];
	switch ((enum ir_assume)st->imm) {
	case IR_ASSUME_FACT:
		a.holds = prove_ex_not(
			e->pool, prove_ex_bin(e->pool, EX_EQ, v, prove_ex_const(e->pool, v->w, 0)));
		a.fact = prove_ex_or(e->pool, prove_ex_not(e->pool, a.guard), a.holds);
		break;
	case IR_ASSUME_DISTINCT:
		a.value = v;
		break;
	case IR_ASSUME_APART:
		a.value = v;
		a.count = prove_ev_read_reg(e, block, step, st->src[1]);
		a.off = prove_ev_read_reg(e, block, step, st->src[2]);
		break;
	case IR_ASSUME_INJECTIVE:
	case IR_ASSUME_SORTED:
		a.root = prove_ev_find_root(e, v, IR_GENERIC);
		a.off = prove_ev_offset(e, v, &a.root);
		a.count = prove_ev_read_reg(e, block, step, st->src[1]);
		size = prove_ev_read_reg(e, block, step, st->src[2]);
		a.bytes = size->op == EX_CONST ? (unsigned)size->imm : 0;
		break;
	case IR_ASSUME_WITHIN:
		return;
	case IR_ASSUME_TICKET:
		a.value = v;
		a.step = prove_ev_read_reg(e, block, step, st->src[1]);
		if (st->src[2] != IR_NONE)
			a.old = prove_ev_read_reg(e, block, step, st->src[2]);
		a.mem = st->mem;
		base_vec_push(&e->tickets, a);
		return;
	}
	base_vec_push(&e->assumes, a);
}

/* Is it one arrival, if it is one? */
static bool arrives_once(struct ev *e, uint32_t block, uint32_t step, const struct ir_mbar *m)
{
	const struct ex *n =
		m->count == IR_NONE ? NULL : prove_ev_read_reg(e, block, step, m->count);

	return !n || (n->op == EX_CONST && n->imm == 1);
}

/* An operation on an mbarrier. */
static void do_mbar(struct ev *e, uint32_t block, uint32_t step, const struct ir_step *st)
{
	static const struct ir_mbar other = {.kind = IR_MBAR_OTHER};
	const struct ir_mbar *m = st->mbar;
	struct ev_mbar x = {.mbar = m, .step = st, .block = block, .index = step};

	if (!arrives_once(e, block, step, m))
		x.mbar = &other;

	x.guard = e->guard[block];
	if (st->pred != IR_NONE) {
		const struct ex *g = prove_ev_read_reg(e, block, step, st->pred);
		x.guard = prove_ex_and(e->pool, x.guard,
				       st->is_pred_not ? prove_ex_not(e->pool, g) : g);
	}
	x.root.kind = EV_ROOT_UNKNOWN;
	if (m->addr != IR_NONE) {
		const struct ex *a = prove_ev_read_reg(e, block, step, m->addr);
		a = prove_ex_bin(e->pool, EX_ADD, a,
				 prove_ex_const(e->pool, a->w, (uint64_t)m->off));
		x.root = prove_ev_find_root(e, a, (enum ir_space)m->space);
		x.off = prove_ev_offset(e, a, &x.root);
		x.off = prove_ex_un(e->pool, x.off->w > 32 ? EX_TRUNC : EX_ZEXT, 32, x.off);
	}
	if (m->arg != IR_NONE)
		x.arg = prove_ev_read_reg(e, block, step, m->arg);
	if (m->result != IR_NONE)
		x.result = prove_ev_read_reg(e, block, step, m->result);
	base_vec_push(&e->mbars, x);
}

/* Of an unmodelled function. */
static struct ex_range bounds_of(const struct ir_step *st, const struct ex *const *x)
{
	bool counts = st->at && st->at->form->op == PTX_OP_POPC && x[0];

	return counts ? (struct ex_range){0, x[0]->w} : prove_ev_float_bounds(st, x);
}

static void do_value(struct ev *e, uint32_t block, uint32_t step, const struct ir_step *st)
{
	const struct ex *x[3] = {NULL, NULL, NULL}, *v = NULL;
	struct ex_range r;
	uint32_t n = 0;

	for (; n < 3 && st->src[n] != IR_NONE; n++)
		x[n] = prove_ev_read_reg(e, block, step, st->src[n]);
	switch ((enum ir_kind)st->kind) {
	case IR_CONST:
		v = prove_ex_const(e->pool, st->w, st->imm);
		break;
	case IR_BOX:
		if (st->imm && !e->no_assumes)
			v = prove_ex_const(e->pool, st->w, st->imm);
		break;
	case IR_SPEC:
		v = prove_ex_spec(e->pool, (enum prove_ex_spec)st->imm);
		break;
	case IR_ADDR:
		v = prove_ex_leaf(e->pool, EX_SYM, st->w, st->imm, EX_GRID, prove_ex_full(st->w),
				  EX_NO_ARGS);
		break;
	case IR_VAR:
		v = prove_ev_fresh_of(e, block, step, st->w, (enum ex_level)st->op);
		if (st->imm)
			base_vec_push(&e->lanes,
				      ((struct ev_lanes){block, step, {x[0], x[1], x[2]}, v}));
		break;
	case IR_COPY:
		v = x[0];
		break;
	case IR_IS_IN:
		v = prove_ev_is_in(e, x[0], (enum ir_space)st->imm);
		break;
	case IR_PURE:
		if (n == 1 && st->at && st->at->form->op == PTX_OP_POPC && st->w == 32)
			v = prove_ev_count_bits(e->pool, x[0]);
		if (v)
			break;
		r = bounds_of(st, x);
		v = r.lo == r.hi ? prove_ex_const(e->pool, st->w, r.lo)
				 : prove_ex_leaf(e->pool, EX_PURE, st->w, st->imm, EX_GRID, r,
						 (struct ex_args){.n = n, .a = x});
		break;
	case IR_VALUE:
		if (st->op == EX_ITE)
			v = prove_ev_choose(e, x[0], x[1], x[2]);
		else if (st->op == EX_EQ)
			v = prove_ev_equal(e, x[0], x[1]);
		else if (n == 1)
			v = prove_ex_un(e->pool, (enum ex_op)st->op, st->w, x[0]);
		else
			v = prove_ex_bin(e->pool, (enum ex_op)st->op, x[0], x[1]);
		break;
	default:
		break;
	}
	write_reg(e, block, st->dst, v ? v : prove_ev_fresh(e, block, step, 0, st->w));
}

static void do_step(struct ev *e, uint32_t block, uint32_t step)
{
	const struct ir_step *st = &e->ir->steps.v[step];

	if (st->kind == IR_ACCESS)
		do_access(e, block, step);
	else if (st->kind == IR_ASSUME)
		do_assume(e, block, step, st);
	else if (st->mbar)
		do_mbar(e, block, step, st);
	else if (st->dst != IR_NONE)
		do_value(e, block, step, st);
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void do_block(struct ev *e, uint32_t b)
{
	const struct ir_block *x = &e->ir->blocks.v[b];

	prove_ev_find_guard(e, b);
	prove_ev_enter(e, b);
	for (uint32_t i = 0; i < x->n; i++)
		do_step(e, b, x->first + i);
	const struct ir_step *last = x->n ? &e->ir->steps.v[x->first + x->n - 1] : NULL;
	e->arg[b] = NULL;
	if (last && (last->kind == IR_BARRIER || last->kind == IR_WARP_BARRIER) &&
	    last->src[0] != IR_NONE)
		e->arg[b] = prove_ev_read_reg(e, b, x->first + x->n, last->src[0]);
	if (x->cond != IR_NONE) {
		e->cond[b] = prove_ev_read_reg(e, b, x->first + x->n, x->cond);
		if (x->is_cond_not)
			e->cond[b] = prove_ex_not(e->pool, e->cond[b]);
	}
}

static bool is_covered(const struct ev *e, const struct ev_root *r)
{
	for (size_t i = 0; i < e->written.n; i++)
		if (prove_ev_same_root(&e->written.v[i], r))
			return true;
	return false;
}

/* Which memory is written: what this turn saw must be what it assumed. */
static void check_writes(struct ev *e)
{
	if (e->is_all_written) { /* what it saw came from loads of which nothing was known */
		e->is_all_written = false;
		e->is_changed = true;
		return;
	}
	for (size_t i = 0; i < e->writes.n; i++) {
		if (is_covered(e, &e->writes.v[i]))
			continue;
		base_vec_push(&e->written, e->writes.v[i]);
		e->is_changed = true;
	}
}

static void do_turn(struct ev *e)
{
	e->accesses.n = 0;
	e->own.n = 0;
	e->assumes.n = 0;
	e->tickets.n = 0;
	e->lanes.n = 0;
	e->mbars.n = 0;
	e->writes.n = 0;
	e->is_changed = false;
	memset(e->val, 0, e->ir->width.n * sizeof(*e->val));
	for (uint32_t i = 0; i < e->ir->nrpo; i++)
		do_block(e, e->ir->rpo[i]);
	for (uint32_t l = 0; l < e->ir->nloops; l++)
		prove_ev_loop_conditions(e, l);
	for (uint32_t l = 0; l < e->ir->nloops; l++)
		prove_ev_count_trips(e, l);
	for (uint32_t l = 0; l < e->ir->nloops; l++)
		prove_ev_check_loop(e, l);
	check_writes(e);
	prove_ev_note_stores(e);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void number_cells(struct ev *e)
{
	struct ir *ir = e->ir;

	const bool *is_open = prove_ev_find_open(e);
	for (uint32_t r = 0; r < ir->width.n; r++)
		e->cell_of_reg[r] = ir->ndefs[r] > 1 || is_open[r] ? e->ncells++ : IR_NONE;
	e->nregcells = e->ncells;
	e->reg_of_cell = BASE_NEWN(e->arena, uint32_t, e->nregcells + 1);
	for (uint32_t r = 0; r < ir->width.n; r++)
		if (e->cell_of_reg[r] != IR_NONE)
			e->reg_of_cell[e->cell_of_reg[r]] = r;
	for (size_t i = 0; i < ir->objects.n; i++) {
		struct ir_object *o = &ir->objects.v[i];
		o->cell = IR_NONE;
		if (o->kind != IR_OBJ_LOCAL || o->bytes > MAX_TRACKED ||
		    e->ncells + o->bytes > MAX_CELLS)
			continue;
		o->cell = e->ncells;
		e->ncells += (uint32_t)o->bytes;
	}
}

/* Some instruction of the header that has a line. */
static const struct ptx_stmt *place_of_loop(const struct ir *ir, const struct ir_block *h)
{
	for (uint32_t i = h->n; i-- > 0;)
		if (ir->steps.v[h->first + i].at && ir->steps.v[h->first + i].at->loc)
			return ir->steps.v[h->first + i].at;
	return h->at;
}

static void make_loops(struct ev *e)
{
	struct ir *ir = e->ir;

	e->loops = BASE_NEWN(e->arena, struct ev_loop, ir->nloops + 1);
	e->phi = BASE_NEWN(e->arena, struct ev_phi *, (size_t)ir->nloops * e->ncells + 1);
	for (uint32_t l = 0; l < ir->nloops; l++) {
		e->loops[l].ctr = prove_ex_leaf(e->pool, EX_CTR, 64, l, EX_GRID, prove_ex_full(64),
						EX_NO_ARGS);
		e->loops[l].level = EX_GRID;
		e->loops[l].at = place_of_loop(ir, &ir->blocks.v[ir->loops[l].header]);
	}
}

/* The counter of a loop's last iteration depends on the loops around it, and is as uniform as
 * what ends it. */
static void make_last(struct ev *e)
{
	const struct ex *a[8];

	for (uint32_t l = 0; l < e->ir->nloops; l++) {
		uint32_t n = 0;
		if (e->loops[l].trips) {
			e->loops[l].kexit = prove_ex_const(e->pool, 64, e->loops[l].trips - 1u);
			continue;
		}
		for (uint32_t p = e->ir->loops[l].parent; p != IR_NONE && n < 8;
		     p = e->ir->loops[p].parent)
			a[n++] = e->loops[p].ctr;
		e->loops[l].kexit =
			prove_ex_leaf(e->pool, EX_KEXIT, 64, l, (enum ex_level)e->loops[l].level,
				      prove_ex_full(64), (struct ex_args){.n = n, .a = a});
	}
}

void prove_ev_run(struct ev *e, struct ir *ir, struct ex_pool *pool, const struct ev_limits *limits)
{
	uint32_t n = (uint32_t)ir->blocks.n;

	memset(e, 0, sizeof(*e));
	e->ir = ir;
	e->may_alias = limits->may_alias;
	e->may_wrap = limits->may_wrap;
	e->no_assumes = limits->no_assumes;
	e->any_grid = limits->any_grid;
	e->pool = pool;
	e->arena = pool->arena;
	e->cell_of_reg = BASE_NEWN(e->arena, uint32_t, ir->width.n + 1);
	number_cells(e);
	if ((size_t)n * e->ncells > MAX_CELLS_OF_BLOCKS ||
	    (size_t)ir->nloops * e->ncells > 1u << 20) {
		prove_ir_problem(ir, NULL,
				 "the kernel is too large: %u blocks with %u private cells", n,
				 e->ncells);
		return;
	}
	prove_ev_make_cells(e);
	e->val = BASE_NEWN(e->arena, const struct ex *, ir->width.n + 1);
	e->cond = BASE_NEWN(e->arena, const struct ex *, n);
	e->arg = BASE_NEWN(e->arena, const struct ex *, n);
	e->local = BASE_NEWN(e->arena, const struct ex *, n);
	e->guard = BASE_NEWN(e->arena, const struct ex *, n);
	make_loops(e);
	e->is_from_stack = BASE_NEWN(e->arena, bool, ir->steps.n + 1);
	e->private_at = BASE_NEWN(e->arena, uint32_t, ir->steps.n + 1);
	e->is_all_written = true;
	prove_ev_note_stores(e);
	size_t problems = ir->problems.n;
	do {
		ir->problems.n = problems; /* each turn finds its own again */
		make_last(e);
		do_turn(e);
	} while (e->is_changed && ++e->turn < MAX_TURNS);
	for (uint32_t l = 0; l < ir->nloops; l++)
		prove_ev_bound_counter(e, l);
	prove_ev_check_matrices(e);
	if (e->is_changed)
		prove_ir_problem(ir, NULL, "the values of its loops could not be settled");
}

void prove_ev_free(struct ev *e)
{
	base_vec_free(&e->accesses);
	base_vec_free(&e->own);
	base_vec_free(&e->touches);
	base_vec_free(&e->assumes);
	base_vec_free(&e->tickets);
	base_vec_free(&e->lanes);
	base_vec_free(&e->mbars);
	base_vec_free(&e->written);
	base_vec_free(&e->writes);
	prove_ev_free_common(e);
}
