/*
 * private.c - what a thread's own memory holds: the bytes of local variables and of the parameters,
 * kept as cells (eval.c).
 *
 * An access stays within its object by the contract, so that an index with few values is a choice
 * among elements. Misses: an index with more than MAX_ELEMENTS; what it writes becomes unknown.
 */
#include "prove/value/private.h"

/* How many of n bytes from cell `cell` on are those of one value, one after another, or are all
 * unknown: 1, 2, 4 or 8. */
static unsigned length_of_run(const struct ev_row *row, uint32_t cell, unsigned n)
{
	struct ev_cell first = prove_ev_cell(row, cell);
	unsigned k = 1;

	for (; k < n; k++) {
		struct ev_cell c = prove_ev_cell(row, cell + k);
		if (c.v != first.v || (c.v && (c.at != first.at + k || c.v->w < 8 * (c.at + 1))))
			break;
	}
	while (k & (k - 1))
		k &= k - 1;
	return k;
}

/* n bytes of c's value from its byte on. */
static const struct ex *read_run(struct ev *e, struct ev_cell c, unsigned n)
{
	const struct ex *v = c.v;

	if (c.at)
		v = prove_ex_bin(e->pool, EX_LSHR, v, prove_ex_const(e->pool, v->w, 8 * c.at));
	return prove_ex_un(e->pool, EX_TRUNC, 8 * n, v);
}

/* Cell `at` of private memory is a byte of a parameter: which, or UINT64_MAX. */
static uint64_t param_byte(const struct ev *e, uint32_t block, uint64_t at)
{
	struct ev_cell c = prove_ev_cell(&e->out[block], (uint32_t)at);

	return c.v && c.v->op == EX_PARAM ? c.v->imm + c.at : UINT64_MAX;
}

static const struct ex *read_bytes(struct ev *e, uint32_t block, uint32_t step, uint32_t cell,
				   unsigned n)
{
	const struct ev_row *row = &e->out[block];
	const struct ex *r = NULL;
	unsigned run = length_of_run(row, cell, n);

	if (run == n && prove_ev_cell(row, cell).v)
		return read_run(e, prove_ev_cell(row, cell), n);
	uint64_t param = param_byte(e, block, cell);
	for (unsigned i = 1; i < n && param != UINT64_MAX; i++)
		if (param_byte(e, block, cell + i) != param + i)
			param = UINT64_MAX;
	if (param != UINT64_MAX) /* a pointer that was copied by halves */
		return prove_ex_param(e->pool, 8 * n, param);
	for (unsigned i = 0; i < n; i += run) { /* a struct that is copied, as it was stored */
		struct ev_cell c = prove_ev_cell(row, cell + i);
		run = length_of_run(row, cell + i, n - i);
		const struct ex *b = c.v ? read_run(e, c, run)
					 : prove_ev_fresh(e, block, step, 0x80000000u + i, 8 * run);
		b = prove_ex_un(e->pool, EX_ZEXT, 8 * n, b);
		if (i)
			b = prove_ex_bin(e->pool, EX_SHL, b, prove_ex_const(e->pool, 8 * n, 8 * i));
		r = i ? prove_ex_bin(e->pool, EX_OR, r, b) : b;
	}
	return r;
}

/* A guarded store keeps what was there where its guard fails. */
static void write_bytes(struct ev *e, uint32_t block, uint32_t step, uint32_t cell, unsigned n,
			const struct ex *v, const struct ex *guard)
{
	bool is_sure = !guard || (guard->op == EX_CONST && guard->imm);

	if (v && !is_sure)
		v = prove_ex_ite(e->pool, guard, v, read_bytes(e, block, step, cell, n));
	for (unsigned i = 0; i < n; i++)
		prove_ev_set_cell(e, block, cell + i, (struct ev_cell){v, v ? i : 0});
}

#define MAX_ELEMENTS 16
/* In the first turns counters have no bounds yet, and what is lost in a loop stays so. */
#define TURNS_BEFORE_LOSS 3

/* The largest value of v where the guard holds. */
static uint64_t most(const struct ex *guard, const struct ex *v, unsigned depth)
{
	uint64_t half = prove_ex_mask(v->w) >> 1, x, y, r;

	if (v->op == EX_CONST || depth > 8)
		return v->hi;
	if ((v->op == EX_IND || v->op == EX_PHI) && v->hi <= half) {
		r = prove_ev_bound_of(guard, v, 0);
		return r < v->hi ? r : v->hi;
	}
	x = v->n ? most(guard, v->a[0], depth + 1) : v->hi;
	y = v->n == 2 ? most(guard, v->a[1], depth + 1) : 0;
	switch ((enum ex_op)v->op) {
	case EX_ZEXT:
		break;
	case EX_SEXT:
		if (x > prove_ex_mask(v->a[0]->w) >> 1)
			return v->hi;
		break;
	case EX_ADD:
		if (__builtin_add_overflow(x, y, &x))
			return v->hi;
		break;
	case EX_MUL:
		if (__builtin_mul_overflow(x, y, &x))
			return v->hi;
		break;
	default:
		return v->hi;
	}
	return x < v->hi ? x : v->hi;
}

/* Which elements of n bytes a private access may be to: the first, and how many; none: any. By the
 * contract it stays within the object, and it lies at a multiple of its size (PTX ISA 5.1). */
static uint32_t elements(const struct ev *e, const struct ev_access *a, uint64_t *first)
{
	const struct ir_object *o = &e->ir->objects.v[a->root.id];
	const struct ex *off = a->off;
	unsigned n = a->mem->bytes;
	uint64_t lo = off->lo, hi = most(e->guard[a->block], off, 0);

	if (o->cell == IR_NONE || n > 8 || o->bytes < n)
		return 0;
	hi = hi > o->bytes - n ? o->bytes - n : hi;
	if (off->op != EX_CONST)
		lo = (lo + n - 1) / n * n;
	*first = lo;
	if (hi < lo || (hi - lo) / n >= MAX_ELEMENTS || (off->op != EX_CONST && o->align < n))
		return 0;
	return (uint32_t)((hi - lo) / n + 1);
}

static const struct ex *is_at(struct ev *e, const struct ev_access *a, uint64_t at)
{
	return prove_ex_bin(e->pool, EX_EQ, a->off, prove_ex_const(e->pool, a->off->w, at));
}

/* An element of a structure that was given by value and copied to the stack, and is as it was: what
 * is read is a part of the parameter. */
static const struct ex *read_copy(struct ev *e, const struct ev_access *a)
{
	const struct ir_object *o = &e->ir->objects.v[a->root.id];
	uint64_t lo = a->off->lo, hi = a->off->hi, n = a->mem->bytes;

	if (o->cell == IR_NONE || n > 8 || o->bytes < n || a->off->w != 64)
		return NULL;
	hi = hi > o->bytes - n ? o->bytes - n : hi;
	uint64_t first = lo <= hi ? param_byte(e, a->block, o->cell + lo) : UINT64_MAX;
	for (uint64_t i = lo; i < hi + n && first != UINT64_MAX; i++)
		if (param_byte(e, a->block, o->cell + i) != first + (i - lo))
			return NULL;
	for (uint32_t i = 0; i < e->ir->objects.n && first != UINT64_MAX; i++) {
		const struct ir_object *p = &e->ir->objects.v[i];
		if (p->kind != IR_OBJ_PARAM || first < p->off || first >= p->off + p->bytes)
			continue;
		const struct ex *base = prove_ex_leaf(e->pool, EX_SYM, 64, i, EX_GRID,
						      prove_ex_full(64), EX_NO_ARGS);
		base = prove_ex_bin(e->pool, EX_ADD, base,
				    prove_ex_const(e->pool, 64, first - p->off - lo));
		return prove_ex_cload(e->pool, 8 * (unsigned)n,
				      prove_ex_bin(e->pool, EX_ADD, base, a->off));
	}
	return NULL;
}

static const struct ex *read_private(struct ev *e, const struct ev_access *a)
{
	const struct ir_object *o = &e->ir->objects.v[a->root.id];
	const struct ex *v = NULL;
	unsigned n = a->mem->bytes;
	uint64_t first;
	uint32_t count = elements(e, a, &first);

	if (count != 1)
		v = read_copy(e, a);
	if (v)
		return v;
	for (uint32_t i = 0; i < count; i++) {
		const struct ex *x =
			read_bytes(e, a->block, a->index, o->cell + (uint32_t)(first + i * n), n);
		v = v ? prove_ex_ite(e->pool, is_at(e, a, first + i * n), x, v) : x;
	}
	e->is_from_stack[a->index] |= !v;
	return v;
}

static void write_private(struct ev *e, const struct ev_access *a, const struct ex *v,
			  const struct ex *guard)
{
	const struct ir_object *o = &e->ir->objects.v[a->root.id];
	unsigned n = a->mem->bytes;
	uint64_t first;
	uint32_t count = elements(e, a, &first);

	if (e->turn < TURNS_BEFORE_LOSS && o->bytes >= n &&
	    most(e->guard[a->block], a->off, 0) > o->bytes - n) {
		e->is_changed = true;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct ex *c = count > 1 ? is_at(e, a, first + i * n) : NULL;
		c = c && guard ? prove_ex_and(e->pool, c, guard) : c ? c : guard;
		write_bytes(e, a->block, a->index, o->cell + (uint32_t)(first + i * n), n, v, c);
	}
	for (uint64_t i = 0; i < o->bytes && !count && o->cell != IR_NONE; i++)
		prove_ev_set_cell(e, a->block, o->cell + (uint32_t)i, (struct ev_cell){NULL, 0});
}

const struct ex *prove_ev_private(struct ev *e, const struct ev_access *a, const struct ex *guard)
{
	const struct ir_step *st = a->step;

	prove_ev_note_private(e, a->index, (uint32_t)a->root.id);
	if (a->mem->kind == RACE_OP_READ)
		return read_private(e, a);
	bool has_value = st->src[1] != IR_NONE && a->mem->kind == RACE_OP_WRITE;
	write_private(e, a, has_value ? prove_ev_read_reg(e, a->block, a->index, st->src[1]) : NULL,
		      guard);
	return NULL;
}
