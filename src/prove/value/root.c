/*
 * root.c - which object an address points into, and where in it (eval.h).
 *
 * An address is a sum; its base is the one term that is the address of a variable, else the one
 * parameter or value from memory with as many bits. What has none or two is unknown, and is held
 * to point anywhere: which of the two is the pointer and which a number of bytes isn't known.
 *
 * A pointer that was read from memory has a *slot*: the place that it was read from. By the
 * contract the pointers in different slots point to different arrays, as those in different
 * parameters do, where the slot is a part of the parameters or of a variable, or one place of a
 * structure that all threads read. A table in memory that threads index (rows of a matrix, nodes
 * with links) may hold a pointer twice: then only the same slot says the same array. So may a
 * variable whose initialiser names others, and of two structures whose pointers were read from
 * memory the one may be the other, unless each pointer has a fixed place there.
 */
#include "prove/eval.h"

#define MAX_BASES 8
#define MAX_PHIS  16

struct bases {
	const struct ex *v[MAX_BASES];
	unsigned n;
	bool is_lost;
	bool has_hidden; /* one may be in another term (hidden.c) */
};

/* One variable, parameter or loaded pointer. The name of a variable has several widths. */
static bool is_same_base(const struct ex *a, const struct ex *b)
{
	return a == b || (a->op == EX_SYM && b->op == EX_SYM && a->imm == b->imm);
}

static bool are_same_bases(const struct bases *x, const struct bases *y)
{
	bool is_same = x->n == y->n;

	for (unsigned i = 0; i < x->n && is_same; i++)
		is_same = is_same_base(x->v[i], y->v[i]);
	return is_same;
}

static void collect(const struct ev *e, const struct ex *a, struct bases *b, unsigned depth)
{
	if (depth > 64 || b->n == MAX_BASES) {
		b->is_lost = true;
		return;
	}
	switch ((enum ex_op)a->op) {
	case EX_ADD:
		collect(e, a->a[0], b, depth + 1);
		collect(e, a->a[1], b, depth + 1);
		break;
	case EX_SUB:
		collect(e, a->a[0], b, depth + 1);
		b->has_hidden |= prove_ev_hides_address(a->a[1], true);
		break;
	case EX_IND:
	case EX_ZEXT:
	case EX_TRUNC:
		collect(e, a->a[0], b, depth + 1);
		break;
	case EX_ITE: { /* both sides must have the same base */
		struct bases x = {0}, y = {0};
		collect(e, a->a[1], &x, depth + 8);
		collect(e, a->a[2], &y, depth + 8);
		b->has_hidden |= x.has_hidden || y.has_hidden;
		if (x.is_lost || y.is_lost || !are_same_bases(&x, &y)) {
			b->is_lost = x.n || y.n;
			break;
		}
		for (unsigned i = 0; i < x.n && b->n < MAX_BASES; i++)
			b->v[b->n++] = x.v[i];
		break;
	}
	case EX_PHI: { /* a pointer that a loop moves on keeps its object */
		const struct ev_phi *p = e->phi[a->imm];
		if (a->w == 64 && p->init && p->init != a && p->init->w == 64)
			collect(e, p->init, b, depth + 8);
		break;
	}
	case EX_SYM:
	case EX_PARAM:
	case EX_CLOAD:
	case EX_VAR:
		if (a->op == EX_SYM || a->w == 64)
			b->v[b->n++] = a;
		break;
	default:
		b->has_hidden |= prove_ev_hides_address(a, false);
		break;
	}
}

/* Values of loops on the way to a pointer, of which it is asked whether they keep its base. */
struct way {
	const struct ev *e;
	const struct ex *base;
	const struct ex *phi[MAX_PHIS];
	unsigned nphis;
};

static bool keeps_base(struct way *w, const struct ex *a, unsigned depth);

/* What is added to a value where its next one is itself and that; or NULL. */
static const struct ex *steps_of(const struct way *w, const struct ex *a, const struct ex *next)
{
	const struct ex *steps = prove_ex_const(w->e->pool, a->w, 0), *x = next;

	while (x != a) {
		if (x->op != EX_ADD && x->op != EX_SUB)
			return NULL;
		bool is_right = prove_ex_contains(x->a[1], a);
		if (is_right && (x->op == EX_SUB || prove_ex_contains(x->a[0], a)))
			return NULL;
		steps = prove_ex_bin(w->e->pool, (enum ex_op)x->op, steps, x->a[!is_right]);
		x = x->a[is_right];
	}
	return steps;
}

/*
 * Does every way around the loop keep the base? Unsolved pointers only. All of them that lead to
 * each other are looked at, each once: `p = q; q = r; r = other` brings p there in the third
 * iteration. A step may be any number, but no difference of two addresses.
 */
static bool loop_keeps_base(struct way *w, const struct ex *a, unsigned depth)
{
	const struct ev_phi *p = w->e->phi[a->imm];
	const struct ex *steps;
	struct bases b = {0};

	for (unsigned i = 0; i < w->nphis; i++)
		if (w->phi[i] == a)
			return true;
	if (!p->next || !p->init || w->nphis == MAX_PHIS)
		return false;
	w->phi[w->nphis++] = a;
	if (!keeps_base(w, p->init, depth + 1))
		return false;
	steps = steps_of(w, a, p->next);
	if (steps)
		return !prove_ev_is_difference(w->e, steps, w->base);
	collect(w->e, p->next, &b, depth + 8);
	return b.n == 1 && b.v[0] == w->base && !b.is_lost && !b.has_hidden &&
	       keeps_base(w, p->next, depth + 1);
}

/* Choices share their sides: each is looked at once. */
static bool both_keep_base(struct way *w, const struct ex *a, unsigned depth)
{
	struct ex_memo *m = &w->e->pool->kept;

	if (a->id < m->n && m->e[a->id].turn == m->turn)
		return m->e[a->id].v != NULL;
	bool keeps = keeps_base(w, a->a[1], depth + 1) && keeps_base(w, a->a[2], depth + 1);
	if (a->id < m->n) {
		m->e[a->id].turn = m->turn;
		m->e[a->id].v = keeps ? a : NULL;
	}
	return keeps;
}

/* A term of a sum: the pointer, or a number. */
static bool term_keeps_base(struct way *w, const struct ex *a, unsigned depth)
{
	struct bases b = {0};

	collect(w->e, a, &b, depth + 1);
	return b.n || b.is_lost ? keeps_base(w, a, depth + 1)
				: !prove_ev_is_difference(w->e, a, w->base);
}

static bool keeps_base(struct way *w, const struct ex *a, unsigned depth)
{
	if (depth > 64)
		return false;
	if (a->op == EX_PHI && a->w == 64)
		return loop_keeps_base(w, a, depth);
	if (a->op == EX_ADD)
		return term_keeps_base(w, a->a[0], depth) && term_keeps_base(w, a->a[1], depth);
	if ((a->op == EX_IND || a->op == EX_SUB) && prove_ev_is_difference(w->e, a->a[1], w->base))
		return false;
	if (a->op == EX_SUB || a->op == EX_IND || a->op == EX_ZEXT || a->op == EX_TRUNC)
		return keeps_base(w, a->a[0], depth + 1);
	return a->op != EX_ITE || both_keep_base(w, a, depth);
}

static bool way_keeps_base(const struct ev *e, const struct ex *a, const struct ex *base)
{
	struct way w = {.e = e, .base = base};

	e->pool->kept.from = NULL; /* what loops make of their pointers may have changed */
	prove_ex_memo_open(&e->pool->kept, a, base, NULL);
	return keeps_base(&w, a, 0);
}

static const struct ex *the_base(const struct bases *b)
{
	const struct ex *found = NULL;
	unsigned n = 0;

	if (b->is_lost)
		return NULL;
	for (unsigned i = 0; i < b->n; i++)
		if (b->v[i]->op == EX_SYM) {
			found = b->v[i];
			n++;
		}
	if (n) /* a variable is surely what a sum with its address is about */
		return n == 1 ? found : NULL;
	return b->n == 1 && !b->has_hidden ? b->v[0] : NULL;
}

/* Another name for each place that pointers are read from; 0: the parameters. */
static uint64_t name_of(const struct ev *e, const struct ev_root *r)
{
	switch (r->kind) {
	case EV_ROOT_CONST:
		return e->ir->objects.v[r->id].kind == IR_OBJ_PARAM ? 0 : 4 * r->id + 1;
	case EV_ROOT_OBJECT:
		return 4 * r->id + 1;
	case EV_ROOT_PARAM:
		return 4 * r->id + 2;
	default:
		return 4 * (uint64_t)r->base->id + 3;
	}
}

static const struct ex *strip(struct ex_pool *p, const struct ex *a, const struct ex *base);

/* Is it a pointer that malloc gave? */
static bool is_new(const struct ev *e, const struct ex *v)
{
	return v->op == EX_VAR && v->w == 64 &&
	       (prove_ev_is_new_cell(e, v) ||
		(v->imm < e->ir->steps.n && e->ir->steps.v[v->imm].kind == IR_HEAP));
}

static void find_slot(const struct ev *e, struct ev_root *r)
{
	r->is_new = is_new(e, r->base);
	if (r->kind == EV_ROOT_PARAM) {
		r->slot = prove_ex_const(e->pool, 64, r->id);
		r->is_apart = true;
	}
	if (r->kind != EV_ROOT_LOADED || r->base->op != EX_CLOAD)
		return;
	const struct ex *at = r->base->a[0];
	struct ev_root in = prove_ev_find_root(e, at, IR_GENERIC);
	if (in.kind == EV_ROOT_UNKNOWN || at->w != 64)
		return;
	bool is_one = at->level == EX_GRID && !at->has_ctr;
	bool is_memory = in.kind == EV_ROOT_PARAM || in.kind == EV_ROOT_LOADED;
	if (in.kind == EV_ROOT_LOADED && (!in.is_apart || !is_one))
		return;
	r->slot = strip(e->pool, at, in.base);
	r->in = name_of(e, &in);
	if (in.kind == EV_ROOT_CONST && !r->in)
		r->slot = prove_ex_bin(e->pool, EX_ADD, r->slot,
				       prove_ex_const(e->pool, 64, e->ir->objects.v[in.id].off));
	bool is_variable = in.kind == EV_ROOT_OBJECT || in.kind == EV_ROOT_CONST;
	r->is_apart =
		(!is_memory || is_one) && !(is_variable && e->ir->objects.v[in.id].has_addresses);
	r->of = in.is_some ? EV_ANYWHERE : in.in;
	r->is_inner = is_memory;
	r->is_some = is_memory && (in.is_some || !in.slot || in.slot->op != EX_CONST);
}

struct ev_root prove_ev_find_root(const struct ev *e, const struct ex *addr, enum ir_space space)
{
	struct bases b = {0};
	struct ev_root r = {.kind = EV_ROOT_UNKNOWN, .id = space};

	collect(e, addr, &b, 0);
	const struct ex *base = the_base(&b);
	if (!base || !way_keeps_base(e, addr, base))
		return r;
	r.base = base;
	r.id = base->imm;
	if (base->op == EX_SYM) {
		switch ((enum ir_object_kind)e->ir->objects.v[base->imm].kind) {
		case IR_OBJ_LOCAL:
			r.kind = EV_ROOT_PRIVATE;
			break;
		case IR_OBJ_PARAM:
		case IR_OBJ_CONST:
			r.kind = EV_ROOT_CONST;
			break;
		default:
			r.kind = EV_ROOT_OBJECT;
			break;
		}
	} else {
		r.kind = base->op == EX_PARAM ? EV_ROOT_PARAM : EV_ROOT_LOADED;
		find_slot(e, &r);
	}
	return r;
}

const struct ex *prove_ev_is_in(struct ev *e, const struct ex *addr, enum ir_space space)
{
	struct ev_root r = prove_ev_find_root(e, addr, IR_GENERIC);
	enum ir_space is;

	if (r.kind == EV_ROOT_PARAM)
		is = IR_GLOBAL;
	else if (r.kind == EV_ROOT_PRIVATE)
		is = IR_LOCAL;
	else if (r.kind == EV_ROOT_OBJECT)
		is = e->ir->objects.v[r.id].kind == IR_OBJ_GLOBAL ? IR_GLOBAL : IR_SHARED;
	else
		return NULL;
	return prove_ex_const(e->pool, 1, is == space);
}

static const struct ex *strip_choice(struct ex_pool *p, const struct ex *a, const struct ex *base);

static const struct ex *strip(struct ex_pool *p, const struct ex *a, const struct ex *base)
{
	if (is_same_base(a, base))
		return prove_ex_const(p, a->w, 0);
	switch ((enum ex_op)a->op) {
	case EX_ADD:
		return prove_ex_bin(p, EX_ADD, strip(p, a->a[0], base), strip(p, a->a[1], base));
	case EX_SUB:
		return prove_ex_bin(p, EX_SUB, strip(p, a->a[0], base), a->a[1]);
	case EX_IND:
		return prove_ex_ind(p, (enum prove_ex_ind)a->imm, strip(p, a->a[0], base), a->a[1],
				    a->a[2]);
	case EX_ITE:
		return strip_choice(p, a, base);
	case EX_ZEXT:
	case EX_TRUNC:
		return prove_ex_un(p, (enum ex_op)a->op, a->w, strip(p, a->a[0], base));
	default: /* an unsolved pointer stands for its own offset from here on */
		return a;
	}
}

/* Choices share their sides: each is looked at once for a base. */
static const struct ex *strip_choice(struct ex_pool *p, const struct ex *a, const struct ex *base)
{
	struct ex_memo *m = &p->stripped;

	prove_ex_memo_open(m, a, base, NULL);
	if (m->e[a->id].turn == m->turn)
		return m->e[a->id].v;
	const struct ex *x = strip(p, a->a[1], base), *y = strip(p, a->a[2], base);
	const struct ex *r = prove_ex_ite(p, a->a[0], x, y);
	m->e[a->id].turn = m->turn;
	m->e[a->id].v = r;
	return r;
}

const struct ex *prove_ev_offset(struct ev *e, const struct ex *addr, const struct ev_root *r)
{
	return r->base ? strip(e->pool, addr, r->base) : addr;
}

bool prove_ev_same_root(const struct ev_root *a, const struct ev_root *b)
{
	return a->kind == b->kind && a->id == b->id &&
	       (a->kind != EV_ROOT_LOADED || a->base == b->base);
}

static bool is_pointer(const struct ev_root *r)
{
	return r->kind == EV_ROOT_PARAM || (r->kind == EV_ROOT_LOADED && r->slot);
}

/* Were both read from structures, which may be one? */
static bool is_perhaps_one(const struct ev_root *a, const struct ev_root *b)
{
	return a->is_inner && b->is_inner && (a->is_some || b->is_some) &&
	       (a->of == b->of || a->of == EV_ANYWHERE || b->of == EV_ANYWHERE);
}

enum prove_ev_alias prove_ev_alias(const struct ev_root *a, const struct ev_root *b)
{
	bool is_a = is_pointer(a), is_b = is_pointer(b);

	if (a->kind == EV_ROOT_OBJECT && b->kind == EV_ROOT_OBJECT)
		return a->id == b->id ? EV_SAME : EV_APART;
	if (a->is_new != b->is_new) {
		const struct ev_root *other = a->is_new ? b : a;
		if (is_pointer(other) || other->kind == EV_ROOT_OBJECT ||
		    other->kind == EV_ROOT_CONST)
			return EV_APART;
	}
	if (is_a && is_b && a->in == b->in) {
		bool is_fixed = a->slot->op == EX_CONST && b->slot->op == EX_CONST;
		if (!is_fixed)
			return EV_BY_SLOT;
		if (a->slot == b->slot)
			return EV_SAME;
	} else if (is_perhaps_one(a, b)) {
		return EV_ANYTHING;
	}
	bool is_far = (!is_a || a->is_apart) && (!is_b || b->is_apart);
	bool is_known = (is_a || a->kind == EV_ROOT_OBJECT || a->kind == EV_ROOT_CONST) &&
			(is_b || b->kind == EV_ROOT_OBJECT || b->kind == EV_ROOT_CONST);
	return is_far && is_known ? EV_APART : EV_ANYTHING;
}

const struct ex *prove_ev_find_choice(const struct ev *e, const struct ex *a)
{
	const struct ex *found;

	switch ((enum ex_op)a->op) {
	case EX_ADD:
		found = prove_ev_find_choice(e, a->a[0]);
		return found ? found : prove_ev_find_choice(e, a->a[1]);
	case EX_SUB:
	case EX_IND:
	case EX_ZEXT:
	case EX_TRUNC:
		return prove_ev_find_choice(e, a->a[0]);
	case EX_ITE: {
		struct bases b = {0};
		collect(e, a, &b, 0);
		return b.is_lost ? a : NULL;
	}
	default:
		return NULL;
	}
}

#define OF_HEAP (1u << 31) /* the kinds of objects are below */

/* Is the address of one of the objects of these kinds in a value? A pointer that a loop carries may
 * be what it was before the loop or what an iteration makes of it. */
static bool holds_address(const struct ev *e, const struct ex *v, unsigned kinds, uint8_t *seen,
			  uint32_t nseen)
{
	if (v->op == EX_SYM)
		return kinds >> e->ir->objects.v[v->imm].kind & 1;
	if (is_new(e, v))
		return kinds & OF_HEAP;
	if (v->id >= nseen || seen[v->id])
		return v->id >= nseen;
	seen[v->id] = 1;
	if (v->op == EX_PHI) {
		const struct ev_phi *p = e->phi[v->imm];
		return (p->init && holds_address(e, p->init, kinds, seen, nseen)) ||
		       (p->next && holds_address(e, p->next, kinds, seen, nseen));
	}
	if (v->op == EX_EQ || v->op == EX_ULT || v->op == EX_SLT || v->op == EX_CLOAD)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (holds_address(e, v->a[i], kinds, seen, nseen))
			return true;
	return false;
}

static bool has_address(const struct ev *e, const struct ex *v, unsigned kinds)
{
	struct base_arena tmp = {0};
	bool r = holds_address(e, v, kinds, base_zalloc(&tmp, e->pool->n + 1u), e->pool->n + 1);

	base_arena_free(&tmp);
	return r;
}

bool prove_ev_is_private(const struct ev *e, const struct ex *v)
{
	return v->w == 64 && has_address(e, v, 1u << IR_OBJ_LOCAL);
}

bool prove_ev_is_shared_address(const struct ev *e, const struct ex *v)
{
	return v->w >= 32 && has_address(e, v, 1u << IR_OBJ_SHARED | 1u << IR_OBJ_DYNAMIC);
}

bool prove_ev_is_new_address(const struct ev *e, const struct ex *v)
{
	return has_address(e, v, OF_HEAP);
}

bool prove_ev_is_array(const struct ev *e, uint64_t param)
{
	for (size_t i = 0; i < e->accesses.n; i++)
		if (e->accesses.v[i].root.kind == EV_ROOT_PARAM &&
		    e->accesses.v[i].root.id == param)
			return true;
	return false;
}

bool prove_ev_is_generic(const struct ev *e, const struct ev_root *r)
{
	if (r->kind == EV_ROOT_UNKNOWN)
		return r->id == IR_GENERIC;
	if (r->kind != EV_ROOT_LOADED || r->slot || r->is_new)
		return false;
	uint32_t step = (uint32_t)r->base->imm;
	bool is_load = r->base->op == EX_VAR && step < e->ir->steps.n && !(r->base->imm >> 32) &&
		       e->ir->steps.v[step].kind == IR_ACCESS && !e->is_from_stack[step];
	return !is_load || e->is_shared_known;
}
