/*
 * own.c - addresses that no two threads of a launch have in common.
 *
 * An index is a sum of products of the thread's numbers, dimensions and scalars of the kernel
 * (y*n + x with x = ctaid.x*ntid.x + tid.x). Each of the six numbers by which threads differ is a
 * digit: where a digit's stride is at least what all smaller ones reach, two threads differ in the
 * index. So the answer is a list of bounds, products of two dimensions, scalars or constants: where
 * a launch keeps to all of them, each thread has its own index. Digits that the index lacks must be
 * 0 in the launch.
 *
 * Steps of 32 bits may wrap: sums and products are right modulo 2^32, and the last bound keeps all
 * indices within 2^32 of one another. What follows of 64 bits is a multiple of the index, and an
 * access must fit between two multiples.
 *
 * Misses: registers with several definitions (loops), indices computed in 64 bits, `or` as a sum,
 * digits that are taken apart (tid.x / 32). Costs: at most DEPTH definitions on a way, 6! orders.
 */
#include "flow/priv.h"

#include <string.h>

enum { DEPTH = 24, FIRST_DIM = 7, FIRST_PARAM = 13, MOST_ATOMS = 250 };

/* ---- sums ------------------------------------------------------------------------------------ */

static const struct flow_sum no_sum;

static struct flow_sum of_number(int64_t n)
{
	return (struct flow_sum){.known = true, .n = n != 0, .p = {{.by = n}}};
}

static struct flow_sum of_atom(unsigned atom)
{
	struct flow_sum s = {.known = atom && atom < MOST_ATOMS, .n = 1, .p = {{.by = 1}}};

	s.p[0].atom[0] = (uint8_t)atom;
	return s;
}

static bool is_alike(const struct flow_product *a, const struct flow_product *b)
{
	return !memcmp(a->atom, b->atom, sizeof(a->atom));
}

static void take_out(struct flow_sum *s, uint32_t i)
{
	s->p[i] = s->p[--s->n];
	s->p[s->n] = (struct flow_product){0};
}

static void add_product(struct flow_sum *s, const struct flow_product *p)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (!is_alike(&s->p[i], p))
			continue;
		s->known &= !__builtin_add_overflow(s->p[i].by, p->by, &s->p[i].by);
		if (!s->p[i].by)
			take_out(s, i);
		return;
	}
	if (s->n == FLOW_PRODUCTS)
		s->known = false;
	else if (p->by)
		s->p[s->n++] = *p;
}

/* Their atoms in order, 0 last; false: too many, or too great a number. */
static bool times(const struct flow_product *a, const struct flow_product *b,
		  struct flow_product *out)
{
	uint32_t i = 0, k = 0, n = 0;

	*out = (struct flow_product){0};
	if (__builtin_mul_overflow(a->by, b->by, &out->by))
		return false;
	while ((i < FLOW_ATOMS && a->atom[i]) || (k < FLOW_ATOMS && b->atom[k])) {
		bool is_a = i < FLOW_ATOMS && a->atom[i] &&
			    (k == FLOW_ATOMS || !b->atom[k] || a->atom[i] <= b->atom[k]);
		if (n == FLOW_ATOMS)
			return false;
		out->atom[n++] = is_a ? a->atom[i++] : b->atom[k++];
	}
	return true;
}

static struct flow_sum product_of(struct flow_sum a, struct flow_sum b)
{
	struct flow_sum s = {.known = a.known && b.known};

	for (uint32_t i = 0; s.known && i < a.n; i++)
		for (uint32_t k = 0; s.known && k < b.n; k++) {
			struct flow_product p;
			s.known = times(&a.p[i], &b.p[k], &p);
			if (s.known)
				add_product(&s, &p);
		}
	return s.known ? s : no_sum;
}

static struct flow_sum sum_of(struct flow_sum a, struct flow_sum b, int64_t sign)
{
	b = product_of(b, of_number(sign));
	a.known &= b.known;
	for (uint32_t i = 0; a.known && i < b.n; i++)
		add_product(&a, &b.p[i]);
	return a.known ? a : no_sum;
}

/* ---- from the text, 32 bits ------------------------------------------------------------------ */

static unsigned special_atom(struct ptx_str s)
{
	static const char *const names[] = {"%tid", "%ctaid", "%ntid", "%nctaid"};

	if (s.n < 3 || s.p[s.n - 2] != '.' || s.p[s.n - 1] < 'x' || s.p[s.n - 1] > 'z')
		return 0;
	for (unsigned i = 0; i < 4; i++)
		if (ptx_str_is((struct ptx_str){s.p, s.n - 2}, names[i]))
			return 1 + 3 * i + (unsigned)(s.p[s.n - 1] - 'x');
	return 0;
}

/* The parameter that is loaded as a whole, by its index; UINT32_MAX: none. */
static uint32_t loaded_param(const struct flow *fl, const struct ptx_stmt *s, uint32_t width)
{
	const struct ptx_opnd *a = ptx_address(s);
	uint32_t i = 0;

	if (s->form->op != PTX_OP_LD || s->form->space != PTX_SPACE_PARAM || !fl->f->is_entry ||
	    s->form->effects != PTX_EFF_READ || !a || a->kind != PTX_OPND_ADDR || !a->nsub ||
	    a->sub[0].kind != PTX_OPND_SYM || a->off || s->form->vec != 1 ||
	    s->form->width != width)
		return UINT32_MAX;
	for (const struct ptx_param *p = fl->f->params; p; p = p->next, i++)
		if (ptx_str_eq(p->name, a->sub[0].text))
			return p->bytes == width ? i : UINT32_MAX;
	return UINT32_MAX;
}

/* The only definition, without a guard; NULL: none. */
static const struct ptx_stmt *def_of(struct flow *fl, const struct ptx_opnd *o)
{
	const struct ptx_stmt *s = NULL;

	if (o->kind == PTX_OPND_REG && !o->flags && !o->comp && o->reg < fl->priv->nregs &&
	    !fl->priv->is_param[o->reg])
		s = flow_single_def(fl, o->reg);
	return s && s->kind == PTX_STMT_INST && s->pred == PTX_NO_REG && s->nops >= 2 &&
			       s->ops[0].kind == PTX_OPND_REG && !s->ops[0].comp
		       ? s
		       : NULL;
}

static bool is_integer(const struct ptx_form *f, unsigned i, unsigned bytes)
{
	enum ptx_type t = (enum ptx_type)f->types[i];
	enum ptx_type_class c = ptx_type_class(t);

	return i < f->ntypes && ptx_type_bytes(t) == bytes &&
	       (c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT);
}

/* Of its first type alone, without another meaning than the plain one. */
static bool is_plain(const struct ptx_form *f, unsigned bytes)
{
	return is_integer(f, 0, bytes) && !ptx_form_has(f, PTX_MOD_HI) &&
	       !ptx_form_has(f, PTX_MOD_SAT) && !ptx_form_has(f, PTX_MOD_CC) &&
	       !ptx_form_has(f, PTX_MOD_WIDE);
}

static bool is_shift(const struct ptx_stmt *s, int64_t bits)
{
	return s->ops[2].kind == PTX_OPND_INT && s->ops[2].imm >= 0 && s->ops[2].imm < bits;
}

static struct flow_sum index_of(struct flow *fl, const struct ptx_opnd *o, unsigned depth)
{
	if (o->kind == PTX_OPND_INT && !o->flags)
		return of_number(o->imm);
	if (o->kind == PTX_OPND_SPECIAL)
		return of_atom(special_atom(o->text));
	const struct ptx_stmt *s = def_of(fl, o);
	if (!s || !depth)
		return no_sum;
	uint32_t param = loaded_param(fl, s, 4);
	if (param != UINT32_MAX)
		return of_atom(FIRST_PARAM + (param < MOST_ATOMS ? param : MOST_ATOMS));
	if (!flow_is_pure(s) || !is_plain(s->form, 4))
		return no_sum;
	struct flow_sum a = index_of(fl, &s->ops[1], depth - 1);
	switch (s->form->op) {
	case PTX_OP_MOV:
		return s->nops == 2 ? a : no_sum;
	case PTX_OP_CVT:
		return is_integer(s->form, 1, 4) ? a : no_sum;
	case PTX_OP_NEG:
		return sum_of(of_number(0), a, -1);
	case PTX_OP_ADD:
		return sum_of(a, index_of(fl, &s->ops[2], depth - 1), 1);
	case PTX_OP_SUB:
		return sum_of(a, index_of(fl, &s->ops[2], depth - 1), -1);
	case PTX_OP_MUL:
		return product_of(a, index_of(fl, &s->ops[2], depth - 1));
	case PTX_OP_MAD:
		return sum_of(product_of(a, index_of(fl, &s->ops[2], depth - 1)),
			      index_of(fl, &s->ops[3], depth - 1), 1);
	case PTX_OP_SHL:
		return is_shift(s, 32) ? product_of(a, of_number((int64_t)1 << s->ops[2].imm))
				       : no_sum;
	default:
		return no_sum;
	}
}

/* ---- 64 bits --------------------------------------------------------------------------------- */

/* base + scale * index + off; without an index the scale is 0. */
struct address {
	bool known, has_base, is_signed;
	uint32_t param;
	struct flow_sum index;
	int64_t scale, off;
};

static const struct address no_address;

static struct address scaled(struct address a, int64_t by)
{
	a.known &= !a.has_base && by > 0 && by < (int64_t)1 << 31;
	if (!a.known || __builtin_mul_overflow(a.scale, by, &a.scale) ||
	    __builtin_mul_overflow(a.off, by, &a.off) || a.scale > (int64_t)1 << 31)
		return no_address;
	return a;
}

static struct address both(struct address a, struct address b)
{
	if (!a.known || !b.known || (a.has_base && b.has_base) || (a.scale && b.scale) ||
	    __builtin_add_overflow(a.off, b.off, &a.off))
		return no_address;
	if (b.has_base) {
		a.has_base = true;
		a.param = b.param;
	}
	if (b.scale) {
		a.scale = b.scale;
		a.index = b.index;
		a.is_signed = b.is_signed;
	}
	return a;
}

/* An index as 64 bits. */
static struct address widened(struct flow *fl, const struct ptx_opnd *o, enum ptx_type from,
			      int64_t scale)
{
	struct address a = {.known = true, .scale = 1};

	a.is_signed = ptx_type_class(from) == PTX_CLASS_SINT;
	a.index = index_of(fl, o, DEPTH);
	a.known = a.index.known;
	return scaled(a, scale);
}

static struct address address_of(struct flow *fl, const struct ptx_opnd *o, unsigned depth)
{
	struct address a = {.known = true};

	if (o->kind == PTX_OPND_INT && !o->flags) {
		a.off = o->imm;
		return a;
	}
	const struct ptx_stmt *s = def_of(fl, o);
	if (!s || !depth)
		return no_address;
	a.param = loaded_param(fl, s, 8);
	a.has_base = a.param != UINT32_MAX;
	if (a.has_base)
		return a;
	const struct ptx_form *f = s->form;
	bool is_wide = ptx_form_has(f, PTX_MOD_WIDE) && is_integer(f, 0, 4) && s->nops >= 3 &&
		       s->ops[2].kind == PTX_OPND_INT;
	if (!flow_is_pure(s))
		return no_address;
	if (is_wide && f->op == PTX_OP_MUL)
		return widened(fl, &s->ops[1], (enum ptx_type)f->types[0], s->ops[2].imm);
	if (is_wide && f->op == PTX_OP_MAD)
		return both(widened(fl, &s->ops[1], (enum ptx_type)f->types[0], s->ops[2].imm),
			    address_of(fl, &s->ops[3], depth - 1));
	if (!is_plain(f, 8))
		return no_address;
	switch (f->op) {
	case PTX_OP_MOV:
		return s->nops == 2 ? address_of(fl, &s->ops[1], depth - 1) : no_address;
	case PTX_OP_CVTA:
		return f->space == PTX_SPACE_GLOBAL ? address_of(fl, &s->ops[1], depth - 1)
						    : no_address;
	case PTX_OP_CVT:
		return is_integer(f, 1, 4) ? widened(fl, &s->ops[1], (enum ptx_type)f->types[1], 1)
					   : no_address;
	case PTX_OP_ADD:
		return both(address_of(fl, &s->ops[1], depth - 1),
			    address_of(fl, &s->ops[2], depth - 1));
	case PTX_OP_MUL:
		return s->ops[2].kind == PTX_OPND_INT
			       ? scaled(address_of(fl, &s->ops[1], depth - 1), s->ops[2].imm)
			       : no_address;
	case PTX_OP_SHL:
		return is_shift(s, 31) ? scaled(address_of(fl, &s->ops[1], depth - 1),
						(int64_t)1 << s->ops[2].imm)
				       : no_address;
	default:
		return no_address;
	}
}

bool flow_own_address(struct flow *fl, const struct ptx_stmt *mem, struct flow_own *out)
{
	const struct ptx_opnd *at = ptx_address(mem);

	flow_need_defuse(fl);
	if (!at || at->kind != PTX_OPND_ADDR || at->nsub != 1)
		return false;
	struct address a = address_of(fl, &at->sub[0], DEPTH);
	if (!a.known || !a.has_base || __builtin_add_overflow(a.off, at->off, &a.off) ||
	    a.off < -((int64_t)1 << 40) || a.off > (int64_t)1 << 40)
		return false;
	*out = (struct flow_own){.param = a.param,
				 .is_signed = a.is_signed,
				 .scale = a.scale,
				 .index = a.index,
				 .low = a.off,
				 .high = a.off + (int64_t)mem->form->vec * mem->form->width};
	return true;
}

bool flow_own_join(struct flow_own *a, const struct flow_own *b)
{
	struct flow_sum rest = sum_of(a->index, b->index, -1);

	if (a->param != b->param || a->scale != b->scale || a->is_signed != b->is_signed ||
	    (a->scale && (!rest.known || rest.n)))
		return false;
	a->low = a->low < b->low ? a->low : b->low;
	a->high = a->high > b->high ? a->high : b->high;
	return true;
}

/* ---- digits ---------------------------------------------------------------------------------- */

#define DIGITS 6u

struct digit {
	struct flow_product stride;
	uint8_t range; /* an atom */
	bool is_there;
};

struct chain {
	struct digit digit[DIGITS];
	struct flow_bound bound[FLOW_BOUNDS];
	uint32_t n, cost;
	/* The cheapest so far. */
	struct flow_bound *best;
	uint32_t nbest, least;
};

static struct flow_factor factor_of(unsigned atom)
{
	return atom >= FIRST_PARAM ? (struct flow_factor){FLOW_FACTOR_PARAM, atom - FIRST_PARAM}
				   : (struct flow_factor){FLOW_FACTOR_DIM, atom - FIRST_DIM};
}

/* The product as two factors, whose product is below 2^64; false: it has more. */
static bool two_factors(const struct flow_product *p, struct flow_factor out[2])
{
	const struct flow_factor one = {FLOW_FACTOR_CONST, 1};
	uint32_t n = 0;

	out[0] = out[1] = one;
	if (p->by <= 0 || p->by > (int64_t)1 << 32)
		return false;
	if (p->by != 1)
		out[n++] = (struct flow_factor){FLOW_FACTOR_CONST, (uint64_t)p->by};
	for (uint32_t i = 0; i < FLOW_ATOMS && p->atom[i]; i++) {
		if (n == 2)
			return false;
		out[n++] = factor_of(p->atom[i]);
	}
	return true;
}

static bool add_bound(struct chain *c, const struct flow_product *a, const struct flow_product *b)
{
	struct flow_factor x[2], y[2];

	if (c->n == FLOW_BOUNDS || !two_factors(a, x) || !two_factors(b, y))
		return false;
	c->bound[c->n++] = (struct flow_bound){x[0], x[1], y[0], y[1]};
	return true;
}

static void take_atom(struct flow_product *p, uint32_t i)
{
	for (; i + 1 < FLOW_ATOMS; i++)
		p->atom[i] = p->atom[i + 1];
	p->atom[FLOW_ATOMS - 1] = 0;
}

/* Without the factors that both have: none is 0, as no stride is. */
static void cancel(struct flow_product *a, struct flow_product *b)
{
	for (uint32_t i = 0; i < FLOW_ATOMS && a->atom[i];) {
		uint32_t k = 0;
		while (k < FLOW_ATOMS && b->atom[k] != a->atom[i])
			k++;
		if (k == FLOW_ATOMS) {
			i++;
			continue;
		}
		take_atom(a, i);
		take_atom(b, k);
	}
}

static bool has_atom(const struct flow_product *p, bool (*is)(unsigned))
{
	for (uint32_t i = 0; i < FLOW_ATOMS && p->atom[i]; i++)
		if (is(p->atom[i]))
			return true;
	return false;
}

static bool is_digit(unsigned atom)
{
	return atom < FIRST_DIM;
}

static bool is_scalar(unsigned atom)
{
	return atom >= FIRST_PARAM;
}

/* All that the digits reach is at most 2^32: of three factors, two of them and the third at most
 * 2^16 each. */
static bool add_total(struct chain *c, struct flow_product reach)
{
	struct flow_product most = {.by = (int64_t)1 << 32}, half = {.by = 1 << 16}, rest = reach;

	if (!reach.atom[2]) {
		if (reach.atom[1]) {
			most.by /= reach.by;
			reach.by = 1;
		}
		return add_bound(c, &reach, &most);
	}
	/* Dimensions come before scalars. */
	rest.atom[0] = reach.atom[2];
	rest.atom[1] = rest.atom[2] = 0;
	reach.atom[2] = 0;
	reach.by = 1;
	return add_bound(c, &reach, &half) && add_bound(c, &rest, &half);
}

/* How likely is it that a launch doesn't keep to a bound? What a scalar may be isn't known. */
static uint32_t cost_of(const struct flow_product *a, const struct flow_product *b)
{
	return 1u + has_atom(b, is_scalar) + 10u * has_atom(a, is_scalar);
}

static void take_order(struct chain *c, const struct flow_product *reach)
{
	uint32_t n = c->n;

	if (c->cost < c->least && add_total(c, *reach)) {
		memcpy(c->best, c->bound, c->n * sizeof(c->bound[0]));
		c->nbest = c->n;
		c->least = c->cost;
	}
	c->n = n;
}

/* Tries all orders of the digits that are left, after those that reach so far. */
static void try_orders(struct chain *c, unsigned left, const struct flow_product *reach)
{
	const uint32_t n = c->n, cost = c->cost;

	if (!left)
		take_order(c, reach);
	for (unsigned i = 0; i < DIGITS; i++) {
		const struct digit *d = &c->digit[i];
		struct flow_product range = {.by = 1}, a = *reach, b = d->stride, next;
		bool is_first = !reach->by;

		range.atom[0] = d->range;
		if (!(left >> i & 1u) || !times(&d->stride, &range, &next) ||
		    (is_first && has_atom(&d->stride, is_scalar)))
			continue;
		cancel(&a, &b);
		if (!is_first && (a.by > b.by || a.atom[0] || b.atom[0])) {
			if (!add_bound(c, &a, &b))
				continue;
			c->cost += cost_of(&a, &b);
		}
		try_orders(c, left & ~(1u << i), &next);
		c->n = n;
		c->cost = cost;
	}
}

static bool find_digits(const struct flow_sum *s, struct chain *c)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct flow_product p = s->p[i];
		unsigned at = 0, ndigits = 0;
		for (unsigned k = 0; k < FLOW_ATOMS && p.atom[k]; k++)
			if (is_digit(p.atom[k])) {
				ndigits++;
				at = k;
			}
		if (!ndigits)
			continue; /* the same in all threads */
		struct digit *d = &c->digit[p.atom[at] - 1];
		if (ndigits > 1 || d->is_there || p.by <= 0)
			return false;
		d->is_there = true;
		take_atom(&p, at);
		d->stride = p;
	}
	return true;
}

uint32_t flow_own_bounds(const struct flow_own *o, struct flow_bound bound[FLOW_BOUNDS])
{
	struct chain c = {.best = bound, .least = UINT32_MAX};
	const struct flow_product one = {.by = 1}, none = {0};
	unsigned left = 0;

	if (!o->scale || o->high - o->low > o->scale || !find_digits(&o->index, &c))
		return 0;
	for (unsigned i = 0; i < DIGITS; i++) {
		struct flow_product range = {.by = 1};
		c.digit[i].range = range.atom[0] = (uint8_t)(FIRST_DIM + i);
		if (c.digit[i].is_there)
			left |= 1u << i;
		else if (!add_bound(&c, &range, &one))
			return 0;
	}
	if (left)
		try_orders(&c, left, &none);
	return c.nbest;
}
