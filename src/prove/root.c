/*
 * root.c - which object an address points into, and where in it (eval.h).
 *
 * An address is a sum; its base is the one term that is the address of a variable, else the one
 * pointer among the parameters, else the one pointer that was read from memory. What has none or
 * two is unknown, and is held to point anywhere.
 */
#include "prove/eval.h"

#define MAX_BASES 8

struct bases {
	const struct ex *v[MAX_BASES];
	unsigned n;
	bool is_lost;
};

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
	case EX_IND:
	case EX_ZEXT:
	case EX_TRUNC:
		collect(e, a->a[0], b, depth + 1);
		break;
	case EX_ITE: { /* both sides must have the same base */
		struct bases x = {0}, y = {0};
		collect(e, a->a[1], &x, depth + 8);
		collect(e, a->a[2], &y, depth + 8);
		if (x.is_lost || y.is_lost || x.n != y.n ||
		    (x.n && (x.v[0]->imm != y.v[0]->imm || x.v[0]->op != y.v[0]->op))) {
			b->is_lost = x.n || y.n;
			break;
		}
		for (unsigned i = 0; i < x.n && b->n < MAX_BASES; i++)
			b->v[b->n++] = x.v[i];
		break;
	}
	case EX_PHI: { /* a pointer that a loop moves on keeps its object */
		const struct ev_phi *p = &e->phi[a->imm];
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
		break;
	}
}

/* Does every way around the loop keep the base? Unsolved pointers only. */
static bool keeps_base(const struct ev *e, const struct ex *a, const struct ex *base,
		       unsigned depth)
{
	if (depth > 64)
		return false;
	if (a->op == EX_PHI && a->w == 64) {
		const struct ev_phi *p = &e->phi[a->imm];
		struct bases b = {0};
		if (!p->next || !p->init)
			return false;
		if (p->next == a)
			return true;
		/* next = phi + ..., or a new pointer into the same object */
		for (const struct ex *x = p->next; x; x = x->n ? x->a[0] : NULL) {
			if (x == a)
				return true;
			if (x->op != EX_ADD && x->op != EX_SUB)
				break;
			if (x->op == EX_ADD && ex_contains(x->a[1], a))
				return false;
		}
		collect(e, p->next, &b, depth + 8);
		return b.n == 1 && b.v[0] == base && !b.is_lost;
	}
	if (a->op == EX_ADD)
		return keeps_base(e, a->a[0], base, depth + 1) &&
		       keeps_base(e, a->a[1], base, depth + 1);
	if (a->op == EX_SUB || a->op == EX_IND || a->op == EX_ZEXT || a->op == EX_TRUNC)
		return keeps_base(e, a->a[0], base, depth + 1);
	if (a->op == EX_ITE)
		return keeps_base(e, a->a[1], base, depth + 1) &&
		       keeps_base(e, a->a[2], base, depth + 1);
	return true;
}

static const struct ex *the_base(const struct bases *b)
{
	static const enum ex_op order[] = {EX_SYM, EX_PARAM};

	if (b->is_lost)
		return NULL;
	for (unsigned o = 0; o < BASE_COUNTOF(order); o++) {
		const struct ex *found = NULL;
		unsigned n = 0;
		for (unsigned i = 0; i < b->n; i++) {
			if (b->v[i]->op == order[o]) {
				found = b->v[i];
				n++;
			}
		}
		if (n)
			return n == 1 ? found : NULL;
	}
	return b->n == 1 ? b->v[0] : NULL;
}

struct ev_root ev_find_root(const struct ev *e, const struct ex *addr, enum ir_space space)
{
	struct bases b = {0};
	struct ev_root r = {.kind = EV_ROOT_UNKNOWN, .id = space};

	collect(e, addr, &b, 0);
	const struct ex *base = the_base(&b);
	if (!base || !keeps_base(e, addr, base, 0))
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
	}
	return r;
}

static const struct ex *strip(struct ev *e, const struct ex *a, const struct ex *base)
{
	struct ex_pool *p = e->pool;
	bool is_base = a == base || (a->op == EX_SYM && base->op == EX_SYM && a->imm == base->imm);

	if (is_base)
		return ex_const(p, a->w, 0);
	switch ((enum ex_op)a->op) {
	case EX_ADD:
		return ex_bin(p, EX_ADD, strip(e, a->a[0], base), strip(e, a->a[1], base));
	case EX_SUB:
		return ex_bin(p, EX_SUB, strip(e, a->a[0], base), a->a[1]);
	case EX_IND:
		return ex_ind(p, (enum ex_ind)a->imm, strip(e, a->a[0], base), a->a[1], a->a[2]);
	case EX_ITE:
		return ex_ite(p, a->a[0], strip(e, a->a[1], base), strip(e, a->a[2], base));
	case EX_ZEXT:
	case EX_TRUNC:
		return ex_un(p, (enum ex_op)a->op, a->w, strip(e, a->a[0], base));
	default: /* an unsolved pointer stands for its own offset from here on */
		return a;
	}
}

const struct ex *ev_offset(struct ev *e, const struct ex *addr, const struct ev_root *r)
{
	return r->base ? strip(e, addr, r->base) : addr;
}

bool ev_same_root(const struct ev_root *a, const struct ev_root *b)
{
	return a->kind == b->kind && a->id == b->id &&
	       (a->kind != EV_ROOT_LOADED || a->base == b->base);
}

bool ev_is_private(const struct ev *e, const struct ex *v)
{
	struct bases b = {0};

	if (v->w != 64)
		return false;
	collect(e, v, &b, 0);
	for (unsigned i = 0; i < b.n; i++)
		if (b.v[i]->op == EX_SYM && e->ir->objects.v[b.v[i]->imm].kind == IR_OBJ_LOCAL)
			return true;
	return b.is_lost;
}
