/*
 * cells.c - what a block's shared memory and its threads' stacks hold in a run with letters
 * (ranks.h).
 *
 * A byte that another thread has written is known after a barrier between the two, of the block or
 * of their warp. A store whose place is a letter makes the whole variable unknown, one that happens
 * under a condition leaves a choice.
 */
#include "prove/ranks/ranks.h"

#define MAX_SHARED  (64u << 10) /* of a variable; places from there on aren't followed */
#define MAX_TOUCHES (1u << 19)

/* ---- bytes of values ------------------------------------------------------------------------- */

/* n bytes from byte `at` of a value on. */
static const struct ex *slice(struct ranks *r, const struct ex *v, uint32_t at, unsigned n)
{
	struct ex_pool *p = r->c->pool;

	if (at)
		v = prove_ex_bin(p, EX_LSHR, v, prove_ex_const(p, v->w, 8 * at));
	return prove_ex_un(p, EX_TRUNC, 8 * n, v);
}

/* Bytes of several values; NULL: one is unknown, or they aren't numbers. */
static const struct ex *compose(struct ranks *r, const struct ev_cell *cell, unsigned n)
{
	uint64_t v = 0;
	bool is_one = cell[0].v && cell[0].v->w >= 8 * (cell[0].at + n), is_number = n <= 8;

	for (unsigned i = 0; i < n; i++) {
		is_one = is_one && cell[i].v == cell[0].v && cell[i].at == cell[0].at + i;
		is_number = is_number && cell[i].v && cell[i].v->op == EX_CONST;
		if (is_number)
			v |= (cell[i].v->imm >> (8 * cell[i].at) & 0xff) << (8 * i);
	}
	if (is_one)
		return slice(r, cell[0].v, cell[0].at, n);
	return is_number ? prove_ex_const(r->c->pool, 8 * n, v) : NULL;
}

/* ---- the thread's own ------------------------------------------------------------------------ */

static void forget_own(const struct ranks *r, struct ranks_thread *t, const struct ir_object *o)
{
	const struct ev *e = r->c->e;

	for (uint64_t i = 0; o->cell != IR_NONE && i < o->bytes; i++)
		t->own[o->cell - e->nregcells + i].v = NULL;
}

static struct ev_cell *own_at(const struct ranks *r, struct ranks_thread *t,
			      const struct ir_object *o, const struct ex *off, unsigned n)
{
	if (o->cell == IR_NONE || off->op != EX_CONST || off->imm > o->bytes ||
	    n > o->bytes - off->imm)
		return NULL;
	return &t->own[o->cell - r->c->e->nregcells + off->imm];
}

static const struct ex *load_own(struct ranks *r, struct ranks_thread *t, const struct ir_object *o,
				 const struct ex *off, unsigned n)
{
	struct ev_cell *cell = own_at(r, t, o, off, n);
	const struct ex *v = cell ? compose(r, cell, n) : NULL;

	if (v || !cell || n > 8)
		return v;
	bool is_empty = true;
	for (unsigned i = 0; i < n; i++)
		is_empty &= !cell[i].v;
	if (!is_empty)
		return NULL;
	v = ranks_fresh(r, 8 * n);
	for (unsigned i = 0; i < n; i++)
		cell[i] = (struct ev_cell){v, i};
	return v;
}

/* `when`: the store happens where this holds, on the way that the thread goes. */
static void store_own(struct ranks *r, struct ranks_thread *t, const struct ir_object *o,
		      const struct ex *off, unsigned n, const struct ex *v, const struct ex *when)
{
	struct ev_cell *cell = own_at(r, t, o, off, n);

	if (!cell) {
		forget_own(r, t, o);
		return;
	}
	if (v && (v->w < 8 * n || n > 8))
		v = NULL;
	if (v && when->op != EX_CONST) {
		const struct ex *was = load_own(r, t, o, off, n);
		v = was ? prove_ex_ite(r->c->pool, when, slice(r, v, 0, n), was) : NULL;
	}
	for (unsigned i = 0; i < n; i++)
		cell[i] = (struct ev_cell){v, v ? i : 0};
}

/* ---- shared memory --------------------------------------------------------------------------- */

static struct ranks_object *object_at(struct ranks *r, uint64_t id)
{
	const struct ir *ir = r->c->e->ir;
	bool is_dynamic = ir->objects.v[id].kind == IR_OBJ_DYNAMIC;

	/* all dynamic shared memory is one array */
	for (uint64_t i = 0; is_dynamic && i < id; i++)
		if (ir->objects.v[i].kind == IR_OBJ_DYNAMIC)
			id = i;
	struct ranks_object *o = &r->object[id];
	if (!o->byte) {
		uint64_t n = is_dynamic ? MAX_SHARED : ir->objects.v[id].bytes;
		o->n = n < MAX_SHARED ? n : MAX_SHARED;
		o->byte = BASE_NEWN(r->c->arena, struct ranks_byte, o->n + 1);
	}
	return o;
}

static struct ranks_when now(const struct ranks *r, const struct ranks_thread *t)
{
	uint32_t warp = t->number / RANKS_LANES;

	return (struct ranks_when){t->number, warp, r->phase, r->turn[warp]};
}

/* Does a barrier order it before what thread t does now, or did the thread itself do it? */
static bool is_before(const struct ranks *r, const struct ranks_when *x,
		      const struct ranks_thread *t)
{
	struct ranks_when at = now(r, t);

	return x->phase < at.phase || x->thread == at.thread ||
	       (x->warp == at.warp && x->turn < at.turn);
}

/* Both, as one that is ordered only where both are. */
static void add_when(struct ranks_when *x, const struct ranks_when *y)
{
	if (y->phase < x->phase)
		return;
	if (y->phase > x->phase) {
		*x = *y;
		return;
	}
	x->turn = x->turn > y->turn ? x->turn : y->turn;
	x->warp = x->warp == y->warp ? x->warp : RANKS_ANYBODY;
	x->thread = x->thread == y->thread ? x->thread : RANKS_ANYBODY;
}

static void note_read(struct ranks *r, const struct ranks_thread *t, struct ranks_object *o,
		      struct ranks_byte *x)
{
	struct ranks_when at = now(r, t);

	if (x->read.thread != at.thread)
		add_when(&x->read_before, &x->read);
	x->read = at;
	add_when(&o->read, &at);
}

/*
 * Another thread has read what was there before, or has written there, and no barrier is between
 * the two: whatever orders them, if anything does, may be the other way round than they were run.
 * Two atomic operations leave a letter either way.
 */
static void check_write(struct ranks *r, const struct ranks_thread *t, const struct ranks_byte *x,
			bool is_atomic)
{
	bool is_alike = is_atomic && x->written.thread == RANKS_ANYBODY;

	r->is_torn |= (!is_alike && !is_before(r, &x->written, t)) || !is_before(r, &x->read, t) ||
		      !is_before(r, &x->read_before, t);
}

static void wipe(struct ranks *r, const struct ranks_thread *t, struct ranks_object *o)
{
	r->is_torn |= !is_before(r, &o->read, t);
	o->wiped++;
	o->wiped_in = r->phase;
}

/* A store that may go anywhere: the thread's own memory, too. */
static void wipe_all(struct ranks *r, struct ranks_thread *t)
{
	const struct ir *ir = r->c->e->ir;

	for (size_t i = 0; i < ir->objects.n; i++) {
		wipe(r, t, &r->object[i]);
		if (ir->objects.v[i].kind == IR_OBJ_LOCAL)
			forget_own(r, t, &ir->objects.v[i]);
	}
}

/* Does the thread surely see what the byte holds, or was nothing written in this phase? */
static bool is_seen(const struct ranks *r, const struct ranks_thread *t,
		    const struct ranks_object *o, const struct ranks_byte *x)
{
	return x->wiped == o->wiped ? is_before(r, &x->written, t) : o->wiped_in < r->phase;
}

static const struct ex *load_shared(struct ranks *r, struct ranks_thread *t, struct ranks_object *o,
				    const struct ex *off, unsigned n)
{
	struct ev_cell cell[8] = {{NULL, 0}};
	bool is_empty = true;

	if (off->op != EX_CONST || n > 8 || off->imm > o->n || n > o->n - off->imm)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		struct ranks_byte *x = &o->byte[off->imm + i];
		if (!is_seen(r, t, o, x))
			return NULL;
		bool is_known = x->wiped == o->wiped;
		cell[i] = (struct ev_cell){is_known ? x->v : NULL, x->at};
		is_empty &= !cell[i].v;
	}
	const struct ex *v = compose(r, cell, n);
	for (unsigned i = 0; i < n && (v || is_empty); i++)
		note_read(r, t, o, &o->byte[off->imm + i]);
	if (v || !is_empty)
		return v;
	v = ranks_fresh(r, 8 * n); /* one for all that read it */
	for (unsigned i = 0; i < n; i++) {
		struct ranks_byte *x = &o->byte[off->imm + i];
		x->wiped = o->wiped; /* written before this phase, or never */
		x->v = v;
		x->at = i;
	}
	return v;
}

static void store_shared(struct ranks *r, struct ranks_thread *t, struct ranks_object *o,
			 const struct ex *off, unsigned n, const struct ex *v,
			 const struct ex *when)
{
	if (off->op != EX_CONST) {
		wipe(r, t, o);
		return;
	}
	if (off->imm > o->n || n > o->n - off->imm) /* outside of the array, or not followed */
		return;
	bool is_anybodys = !v; /* an atomic operation: each thread's own result is a letter */
	if (v && (v->w < 8 * n || n > 8))
		v = NULL;
	if (v && when->op != EX_CONST) {
		const struct ex *was = load_shared(r, t, o, off, n);
		v = was ? prove_ex_ite(r->c->pool, when, slice(r, v, 0, n), was) : NULL;
	}
	for (unsigned i = 0; i < n; i++) {
		struct ranks_byte *x = &o->byte[off->imm + i];
		check_write(r, t, x, is_anybodys);
		x->written = now(r, t);
		if (o->wiped_in < r->phase) { /* else a store may be here that happens later */
			x->v = v;
			x->at = v ? i : 0;
			x->wiped = o->wiped;
		}
		if (is_anybodys)
			x->written.thread = x->written.warp = RANKS_ANYBODY;
	}
}

/* ---- an access ------------------------------------------------------------------------------- */

/* The base among the terms of an address, to which 64-bit sums lead. */
static const struct ex *base_in(const struct ex *v)
{
	if (v->op == EX_SYM || v->op == EX_PARAM)
		return v;
	for (unsigned i = 0; v->op == EX_ADD && i < 2; i++) {
		const struct ex *x = base_in(v->a[i]);
		if (x)
			return x;
	}
	return NULL;
}

/* An index that is a sum of many letters isn't looked into. */
struct ev_root ranks_root(const struct ranks *r, const struct ex *addr, enum ir_space space)
{
	const struct ex *base = addr->w == 64 && addr->is_approx ? base_in(addr) : NULL;

	return prove_ev_find_root(r->c->e, base ? base : addr, space);
}

static const struct ex *without(struct ranks *r, const struct ex *v, const struct ex *base)
{
	struct ex_pool *p = r->c->pool;

	if (v == base)
		return prove_ex_const(p, v->w, 0);
	return v->op == EX_ADD ? prove_ex_bin(p, EX_ADD, without(r, v->a[0], base),
					      without(r, v->a[1], base))
			       : v;
}

const struct ex *ranks_offset(struct ranks *r, const struct ex *addr, const struct ev_root *root)
{
	return addr->w == 64 && addr->is_approx && root->base && root->base->w == 64
		       ? without(r, addr, root->base)
		       : prove_ev_offset(r->c->e, addr, root);
}

static bool is_plain(const struct ir_access *m)
{
	return !m->is_async && !m->is_bulk && !m->is_range && !m->matrix && !m->is_collective &&
	       !m->is_row;
}

static const struct ex *param_at(struct ranks *r, const struct ir_object *o, const struct ex *off,
				 unsigned n)
{
	return off->op == EX_CONST && n <= 8 ? prove_ex_param(r->c->pool, 8 * n, o->off + off->imm)
					     : NULL;
}

/* Global and shared memory: noted; what is loaded. */
static const struct ex *touch(struct ranks *r, struct ranks_thread *t, const struct ranks_touch *x,
			      const struct ev_root *root, const struct ex *v)
{
	const struct ir *ir = r->c->e->ir;
	const struct ir_access *m = ir->steps.v[x->step].mem;
	bool is_shared =
		root->kind == EV_ROOT_OBJECT && (ir->objects.v[root->id].kind == IR_OBJ_SHARED ||
						 ir->objects.v[root->id].kind == IR_OBJ_DYNAMIC);

	base_vec_push(&r->touches, *x);
	if (!is_shared) {
		if (m->kind != RACE_OP_READ &&
		    (root->kind == EV_ROOT_UNKNOWN || prove_ev_is_generic(r->c->e, root)))
			wipe_all(r, t);
		bool is_fixed = m->kind == RACE_OP_READ && m->strength == RACE_WEAK &&
				m->bytes <= 8 && root->kind != EV_ROOT_UNKNOWN &&
				!prove_ev_is_generic(r->c->e, root) &&
				!prove_ev_is_written(r->c->e, root);
		return is_fixed ? prove_ex_cload(r->c->pool, 8u * m->bytes, x->addr) : NULL;
	}
	struct ranks_object *o = object_at(r, root->id);
	const struct ex *off = ranks_offset(r, x->addr, root);
	if (m->kind == RACE_OP_READ)
		return m->strength == RACE_WEAK || m->is_volatile
			       ? load_shared(r, t, o, off, m->bytes)
			       : NULL;
	store_shared(r, t, o, off, m->bytes, m->kind == RACE_OP_WRITE ? v : NULL, x->guard);
	return NULL;
}

static const struct ex *reg_of(struct ranks *r, struct ranks_thread *t, uint32_t reg)
{
	if (reg == IR_NONE)
		return NULL;
	if (!t->reg[reg])
		t->reg[reg] = ranks_fresh(r, r->c->e->ir->width.v[reg]);
	return t->reg[reg];
}

bool ranks_access(struct ranks *r, struct ranks_thread *t, uint32_t step)
{
	const struct ev *e = r->c->e;
	const struct ir_step *st = &e->ir->steps.v[step];
	struct ex_pool *p = r->c->pool;
	const struct ex *addr = reg_of(r, t, st->src[0]), *v = reg_of(r, t, st->src[1]);
	const struct ex *when = prove_ex_const(p, 1, 1), *got = NULL;

	if (!is_plain(st->mem) || r->touches.n == MAX_TOUCHES)
		return false;
	if (st->pred != IR_NONE) {
		when = reg_of(r, t, st->pred);
		when = st->is_pred_not ? prove_ex_not(p, when) : when;
	}
	addr = prove_ex_bin(p, EX_ADD, addr, prove_ex_const(p, addr->w, (uint64_t)st->mem->off));
	struct ev_root root = ranks_root(r, addr, (enum ir_space)st->mem->space);
	const struct ex *off = ranks_offset(r, addr, &root);
	const struct ir_object *o = root.kind == EV_ROOT_PRIVATE || root.kind == EV_ROOT_CONST
					    ? &e->ir->objects.v[root.id]
					    : NULL;
	bool is_read = st->mem->kind == RACE_OP_READ, is_sure = when->op == EX_CONST;
	struct ranks_touch x = {.step = step, .thread = t->number, .phase = r->phase, .addr = addr};
	x.guard = prove_ex_and(p, t->here, when);
	if (st->mem->space == IR_LOCAL && !o)
		return false;
	if (is_sure && !when->imm) {
		/* it doesn't happen */
	} else if (root.kind == EV_ROOT_PRIVATE && o->kind == IR_OBJ_LOCAL) {
		if (is_read)
			got = load_own(r, t, o, off, st->mem->bytes);
		else
			store_own(r, t, o, off, st->mem->bytes,
				  st->mem->kind == RACE_OP_WRITE ? v : NULL, when);
	} else if (root.kind == EV_ROOT_CONST) {
		got = o->kind == IR_OBJ_PARAM ? param_at(r, o, off, st->mem->bytes)
		      : st->mem->bytes <= 8   ? prove_ex_cload(p, 8u * st->mem->bytes, addr)
					      : NULL;
	} else {
		got = touch(r, t, &x, &root, v);
	}
	if (st->mem->kind == RACE_OP_RMW)
		t->atomic = addr;
	if (st->dst == IR_NONE)
		return true;
	if (got && got->w != e->ir->width.v[st->dst])
		got = NULL;
	t->reg[st->dst] = got;
	return true;
}
