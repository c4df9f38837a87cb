/*
 * hidden.c - may an address be hidden in a number, below other operations than sums (root.c)?
 *
 * `(p + 127 & ~127) + n` with n of 64 bits is an address in p's array, though n is the one whole
 * term of the sum. An address comes through what masks it, turns its bits on or off, puts it
 * together from parts, and divides and multiplies it by the same number. 4 * n is no address: what
 * is added to one and has a factor counts elements. Nor is what stays below 2^32, or the upper half
 * of a number of which 32 bits are left as an index.
 *
 * What a loop adds to a pointer is the difference of two addresses where one is hidden in it as
 * well as another one that is subtracted: `p += q - p` leads into another array. A number of 64
 * bits that is read, or a parameter, counts as a number there. Whatever is made of the addresses of
 * two variables, and added to one of them, counts as such a difference.
 *
 * Misses: factors that are split up in other ways (p / 6 * 2 * 3 is folded; p / n * m, n == m).
 * Costs: of a difference, the nodes of what is added; each sum in it anew where something in it is
 * subtracted.
 */
#include "prove/value/private.h"

#include <string.h>

#define MAX_DEPTH   24
#define FEW_NODES   64
#define MAX_ELEMENT 64 /* bytes: times an index of 32 bits below any address */

/* What is looked at is multiplied by `times` and divided by `by`, and negative where is_minus;
 * is_low: in an index of 32 bits, so that it is no upper part of an address. */
struct scale {
	uint64_t times, by;
	bool is_minus, is_low;
	unsigned depth;
	const struct ex *but;	 /* this address doesn't count */
	const struct ex **found; /* or NULL: gets the address */
};

static bool is_number(const struct ex *v)
{
	return v->op == EX_CONST || v->op == EX_SPEC || v->op == EX_CTR || v->op == EX_KEXIT ||
	       v->w == 1;
}

static bool is_same(const struct ex *a, const struct ex *b)
{
	return a == b || (a->op == EX_SYM && b->op == EX_SYM && a->imm == b->imm);
}

/* A whole address, or, of fewer bits, its upper part. */
static bool is_address(const struct ex *v, struct scale s)
{
	if (is_number(v) || s.is_minus || (s.but && is_same(v, s.but)))
		return false;
	if (s.found)
		*s.found = v;
	if (v->w == 64 || v->op == EX_SYM)
		return s.times == s.by;
	return !s.is_low && s.times / s.by > UINT32_MAX;
}

static bool is_small(const struct ex *v, struct scale s)
{
	uint64_t most;

	return !__builtin_mul_overflow(v->hi, s.times, &most) && most / s.by <= UINT32_MAX;
}

static bool hides(const struct ex *v, struct scale s);

/* A walk over what is left of addresses in 32 bits: nodes seen last, and how many it may see. */
struct low {
	const struct ex *seen[64];
	unsigned left;
};

/* Has the walk been at v already? */
static bool is_seen(struct low *l, const struct ex *v)
{
	const struct ex **at = &l->seen[v->id % 64];
	bool is = *at == v;

	*at = v;
	return is;
}

/* Is an address of 64 bits cut to what v is made of? */
static bool has_low_part(struct low *l, const struct ex *v)
{
	if (is_number(v) || v->w > 32 || is_seen(l, v))
		return false;
	if (!l->left)
		return true;
	l->left--;
	if (v->op == EX_TRUNC && v->a[0]->w == 64)
		return prove_ev_hides_address(v->a[0], false);
	for (uint32_t i = v->op == EX_ITE; i < v->n; i++)
		if (has_low_part(l, v->a[i]))
			return true;
	return false;
}

/* Is v, of 32 bits, one address less another one? */
static bool is_low_difference(const struct ex *v)
{
	const struct ex *x = v->op == EX_TRUNC ? v->a[0] : v;
	struct low a = {.left = FEW_NODES}, b = {.left = FEW_NODES};

	if (x->op != EX_SUB)
		return false;
	if (x->w == 64)
		return prove_ev_hides_address(x->a[0], false) &&
		       prove_ev_hides_address(x->a[1], false);
	return has_low_part(&a, x->a[0]) && has_low_part(&b, x->a[1]);
}

/* ... or a term of it? What a mask leaves of a difference is no way to another array. */
static bool has_low_difference(struct low *l, const struct ex *v)
{
	if (is_number(v) || v->w != 32 || v->hi <= INT32_MAX || is_seen(l, v))
		return false;
	if (!l->left || is_low_difference(v))
		return true;
	l->left--;
	switch ((enum ex_op)v->op) {
	case EX_ADD:
	case EX_SUB:
	case EX_AND:
	case EX_OR:
	case EX_XOR:
	case EX_ITE:
		for (uint32_t i = v->op == EX_ITE; i < v->n; i++)
			if (has_low_difference(l, v->a[i]))
				return true;
		return false;
	default:
		return false;
	}
}

/* The same, of a whole number: the walk's room is cleared only where there is one to make. */
static bool leads_on(const struct ex *v)
{
	struct low l = {.left = FEW_NODES};

	return has_low_difference(&l, v);
}

/* Is there a quotient by n in v that hides one? */
static bool hides_quotient(const struct ex *v, const struct ex *n, struct scale s)
{
	if (++s.depth > MAX_DEPTH)
		return true;
	if ((v->op == EX_UDIV || v->op == EX_SDIV) && v->a[1] == n)
		return hides(v->a[0], s);
	if (v->op == EX_CLOAD)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (hides_quotient(v->a[i], n, s))
			return true;
	return false;
}

static bool hides_in_product(const struct ex *v, struct scale s)
{
	const struct ex *x = v->a[0], *n = v->a[1];

	if (n->op != EX_CONST) /* n / m * m */
		return hides_quotient(x, n, s) || hides_quotient(n, x, s);
	uint64_t by = n->imm;
	if (prove_ex_signed(by, n->w) < 0) {
		by = 0 - (uint64_t)prove_ex_signed(by, n->w);
		s.is_minus = !s.is_minus;
	}
	return !__builtin_mul_overflow(s.times, by, &s.times) && hides(x, s);
}

static bool hides_in_quotient(const struct ex *v, struct scale s)
{
	const struct ex *n = v->a[1];

	return n->op == EX_CONST && n->imm && !__builtin_mul_overflow(s.by, n->imm, &s.by) &&
	       hides(v->a[0], s);
}

static bool hides(const struct ex *v, struct scale s)
{
	struct scale minus = s;

	if (++s.depth > MAX_DEPTH)
		return true;
	s.is_low |= v->w <= 32 && s.times / s.by <= MAX_ELEMENT;
	minus.is_low = s.is_low;
	minus.depth = s.depth;
	minus.is_minus = !s.is_minus;
	if (is_number(v))
		return false;
	if (v->w == 32 && !s.is_minus && s.times == s.by && leads_on(v))
		return true;
	if (is_small(v, s))
		return false;
	switch ((enum ex_op)v->op) {
	case EX_ADD:
	case EX_AND:
	case EX_OR:
	case EX_XOR:
		return hides(v->a[0], s) || hides(v->a[1], s);
	case EX_SUB:
		return hides(v->a[0], s) || hides(v->a[1], minus);
	case EX_NOT:
		return hides(v->a[0], minus);
	case EX_ITE:
		return hides(v->a[1], s) || hides(v->a[2], s);
	case EX_MUL:
		return hides_in_product(v, s);
	case EX_UDIV:
	case EX_SDIV:
		return hides_in_quotient(v, s);
	case EX_ASHR: /* by a number that isn't known: by 0, too */
		if (v->a[1]->op == EX_CONST &&
		    (v->a[1]->imm > 62 ||
		     __builtin_mul_overflow(s.by, 1ull << v->a[1]->imm, &s.by)))
			return false;
		return hides(v->a[0], s);
	case EX_LSHR:
	case EX_SHL:
	case EX_UREM: /* below 2^48, say: without its upper bits */
	case EX_SREM:
	case EX_IND:
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
		return hides(v->a[0], s);
	default:
		return is_address(v, s);
	}
}

bool prove_ev_hides_address(const struct ex *v, bool is_minus)
{
	return hides(v, (struct scale){.times = 1, .by = 1, .is_minus = is_minus});
}

/* A walk over all that a value is made of, each node once. */
struct walk {
	const struct ev *e;
	uint8_t *seen;
	uint32_t n;
	bool (*is_found)(const struct ex *v);
};

static bool find(struct walk *w, const struct ex *v)
{
	if (v->op == EX_CLOAD || v->w == 1 || (v->w == 64 && v->hi <= UINT32_MAX))
		return false;
	if (v->id >= w->n || w->seen[v->id])
		return v->id >= w->n;
	w->seen[v->id] = 1;
	if (v->op == EX_PHI) { /* it begins so, or an iteration makes it */
		const struct ev_phi *p = w->e->phi[v->imm];
		return !p->init || !p->next || find(w, p->init) || find(w, p->next);
	}
	if (v->n && w->is_found(v))
		return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (find(w, v->a[i]))
			return true;
	return false;
}

/* Two addresses of which one is subtracted; what lies between two places of one array doesn't
 * count. */
static bool has_both(const struct ex *v)
{
	const struct ex *at = NULL;
	struct scale minus = {.times = 1, .by = 1, .is_minus = true, .found = &at};

	if (!prove_ev_hides_address(v, false) || !hides(v, minus))
		return false;
	struct scale other = {.times = 1, .by = 1, .but = at};
	if (hides(v, other))
		return true;
	other.is_minus = true;
	return hides(v, other);
}

/* Is something subtracted? Of fewer bits than an address of memory has, one of a variable. */
static bool has_minus(const struct ex *v)
{
	bool is = v->op == EX_SUB || v->op == EX_NOT ||
		  (v->op == EX_MUL && v->a[1]->op == EX_CONST &&
		   prove_ex_signed(v->a[1]->imm, v->w) < 0);

	return is && (v->w == 64 || prove_ev_hides_address(v, true));
}

/* Surely without a minus, as a look at a few nodes shows? */
static bool is_plain(const struct ex *v, unsigned *left)
{
	if (v->w == 64 && v->hi <= UINT32_MAX)
		return true;
	if (v->op == EX_PHI || (v->n && has_minus(v)) || !*left)
		return false;
	--*left;
	for (uint32_t i = 0; i < v->n && v->op != EX_CLOAD; i++)
		if (!is_plain(v->a[i], left))
			return false;
	return true;
}

/* Which variables a value is made of, whatever is done with them. */
static void find_variables(struct walk *w, const struct ex *v, const struct ex *base, bool is[2])
{
	if (v->op == EX_CLOAD || v->w == 1 || v->id >= w->n || w->seen[v->id])
		return;
	w->seen[v->id] = 1;
	if (v->op == EX_SYM)
		is[v->imm == base->imm] = true;
	if (v->op == EX_PHI) {
		const struct ev_phi *p = w->e->phi[v->imm];
		for (unsigned i = 0; i < 2; i++)
			if (i ? p->next : p->init)
				find_variables(w, i ? p->next : p->init, base, is);
		return;
	}
	for (uint32_t i = 0; i < v->n; i++)
		find_variables(w, v->a[i], base, is);
}

/* Surely made of none, as a look at a few nodes shows? */
static bool has_no_variable(const struct ex *v, unsigned *left)
{
	if (v->op == EX_CLOAD || v->w == 1)
		return true;
	if (v->op == EX_SYM || v->op == EX_PHI || !*left)
		return false;
	--*left;
	for (uint32_t i = 0; i < v->n; i++)
		if (!has_no_variable(v->a[i], left))
			return false;
	return true;
}

/* Shared addresses have 32 bits and fewer, so that their size says nothing. */
static bool is_way_out(const struct ev *e, const struct ex *v, const struct ex *base)
{
	struct walk w = {.e = e, .n = e->pool->n + 1};
	struct base_arena tmp = {0};
	bool is[2] = {false, false};

	unsigned few = FEW_NODES;

	if (base->op != EX_SYM || has_no_variable(v, &few))
		return false;
	w.seen = base_zalloc(&tmp, w.n);
	find_variables(&w, v, base, is);
	base_arena_free(&tmp);
	return is[false] && is[true];
}

bool prove_ev_is_difference(const struct ev *e, const struct ex *v, const struct ex *base)
{
	struct walk w = {.e = e, .n = e->pool->n + 1, .is_found = has_minus};
	struct base_arena tmp = {0};
	unsigned few = FEW_NODES;

	if (is_way_out(e, v, base))
		return true;
	if (is_plain(v, &few))
		return false;
	w.seen = base_zalloc(&tmp, w.n);
	bool is = find(&w, v); /* mostly not, and that takes less */
	if (is) {
		memset(w.seen, 0, w.n);
		w.is_found = has_both;
		is = find(&w, v);
	}
	base_arena_free(&tmp);
	return is;
}
