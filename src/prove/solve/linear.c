/*
 * linear.c - pairs whose offsets are linear in the bits of thread and block (check.h).
 *
 * Each bit of an offset that is made by masks, shifts, exclusive ors, sums without carries and
 * divisions by powers of two is a sum modulo 2 of bits of threadIdx, blockIdx and of values that
 * aren't known, which are bits of their own: one for both threads where they share the value. What
 * the guards say of single bits (t % 32 == 0, t < 64) is an equation, and so is each bit in which
 * two overlapping accesses agree. Where the equations have no solution, or only such with the same
 * thread twice, the pair never meets: permutations of lanes, swizzles by xor, bytes of histograms,
 * butterflies.
 *
 * Sums are taken apart first, and values that both threads add alike fall away. A bit after a
 * carry that isn't known is a new unknown, or says nothing.
 *
 * Misses: bounds that are no powers of two, products, order of iterations.
 * Costs: some ten microseconds.
 */
#include "prove/check.h"

#include <string.h>

#define WORDS	  4
#define MAX_VARS  (64 * WORDS)
#define MAX_NODES 600
#define MAX_TERMS 24

/* A sum modulo 2 of variables and 1; or nothing is known. */
struct form {
	uint64_t v[WORDS];
	bool one, is_known;
};

struct value {
	struct form bit[64];
};

struct space {
	const struct check *c;
	const uint8_t *counters;
	struct base_arena arena;
	struct {
		const struct ex *v;
		unsigned t, bit;
	} var[MAX_VARS];
	unsigned nvars, nodes;
	struct form row[MAX_VARS];
	unsigned pivot[MAX_VARS], nrows;
	bool is_void; /* the equations have no solution */
};

static const struct form zero = {.is_known = true}, unknown;

static struct form sum(struct form a, const struct form *b)
{
	for (unsigned i = 0; i < WORDS; i++)
		a.v[i] ^= b->v[i];
	a.one ^= b->one;
	a.is_known &= b->is_known;
	return a.is_known ? a : unknown;
}

static bool is_number(const struct form *a)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < WORDS; i++)
		any |= a->v[i];
	return a->is_known && !any;
}

static bool is_zero(const struct form *a)
{
	return is_number(a) && !a->one;
}

static bool is_equal(const struct form *a, const struct form *b)
{
	struct form d = sum(*a, b);

	return is_zero(&d);
}

static struct form number(bool one)
{
	struct form f = zero;

	f.one = one;
	return f;
}

static struct form flipped(struct form a)
{
	a.one ^= a.is_known;
	return a;
}

/* ---- bits of values ------------------------------------------------------------------------ */

/* Bit `bit` of a node as a variable of thread t, or of both. */
static struct form variable(struct space *s, const struct ex *v, unsigned t, unsigned bit)
{
	struct form f = zero;
	unsigned n = 0;

	if (bit < 64 && !(v->hi >> bit))
		return zero;
	t = quick_is_shared(s->c, v, s->counters) ? 0 : t;
	while (n < s->nvars && (s->var[n].v != v || s->var[n].t != t || s->var[n].bit != bit))
		n++;
	if (n == MAX_VARS)
		return unknown;
	if (n == s->nvars) {
		s->var[n].v = v;
		s->var[n].t = t;
		s->var[n].bit = bit;
		s->nvars++;
	}
	f.v[n / 64] |= 1ull << (n % 64);
	return f;
}

/* At least two of the three are set: known where two are alike, or each other's opposite. */
static struct form carry_of(const struct form *a, const struct form *b, const struct form *c)
{
	const struct form *x[3] = {a, b, c};

	for (unsigned i = 0; i < 3; i++) {
		const struct form *p = x[i], *q = x[(i + 1) % 3], *r = x[(i + 2) % 3];
		struct form opposite = flipped(*q);
		if (p->is_known && q->is_known && is_equal(p, q))
			return *p;
		if (p->is_known && q->is_known && is_equal(p, &opposite))
			return *r;
	}
	return unknown;
}

/* a += b */
static void add_to(struct value *a, const struct value *b, unsigned w)
{
	struct form carry = zero;

	for (unsigned i = 0; i < w; i++) {
		struct form next = carry_of(&a->bit[i], &b->bit[i], &carry);
		a->bit[i] = sum(sum(a->bit[i], &b->bit[i]), &carry);
		carry = next;
	}
}

static void set_number(struct value *out, uint64_t v)
{
	for (unsigned i = 0; i < 64; i++)
		out->bit[i] = number(v >> i & 1);
}

/* Up by n bits, or down by -n; `fill` comes in from above. */
static void shift(struct value *x, int n, unsigned w, struct form fill)
{
	struct value r;

	for (int i = 0; i < (int)w; i++)
		r.bit[i] = i - n < 0 ? zero : i - n >= (int)w ? fill : x->bit[i - n];
	memcpy(x->bit, r.bit, w * sizeof(r.bit[0]));
}

static void bits_of(struct space *s, const struct ex *v, unsigned t, struct value *out);

static unsigned log_of(const struct ex *v)
{
	bool is_power = v->op == EX_CONST && v->imm && !(v->imm & (v->imm - 1));

	return is_power ? (unsigned)__builtin_ctzll(v->imm) : 64;
}

/* times * x, where the number has few bits. */
static void scale(struct value *x, uint64_t times, unsigned w)
{
	struct value one = *x, part;
	bool first = true;

	if (!times) {
		set_number(x, 0);
		return;
	}
	for (unsigned i = 0; i < w && times >> i; i++) {
		if (!(times >> i & 1))
			continue;
		part = one;
		shift(&part, (int)i, w, zero);
		if (first)
			*x = part;
		else
			add_to(x, &part, w);
		first = false;
	}
}

static void bits_of_binary(struct space *s, const struct ex *v, unsigned t, struct value *x)
{
	struct value *y = base_alloc(&s->arena, sizeof(*y));
	unsigned w = v->w;

	bits_of(s, v->a[0], t, x);
	bits_of(s, v->a[1], t, y);
	for (unsigned i = 0; i < w && v->op == EX_SUB; i++)
		y->bit[i] = flipped(y->bit[i]);
	if (v->op == EX_ADD || v->op == EX_SUB) {
		add_to(x, y, w);
		if (v->op == EX_SUB) {
			set_number(y, 1);
			add_to(x, y, w);
		}
		return;
	}
	for (unsigned i = 0; i < w; i++) {
		struct form *a = &x->bit[i], b = y->bit[i];
		if (v->op == EX_XOR) {
			*a = sum(*a, &b);
			continue;
		}
		bool is_and = v->op == EX_AND;
		bool is_fixed =
			(is_number(a) && a->one != is_and) || (is_number(&b) && b.one != is_and);
		if (is_fixed)
			*a = number(!is_and);
		else if (is_number(a))
			*a = b;
		else if (!is_number(&b) && !(a->is_known && b.is_known && is_equal(a, &b)))
			*a = unknown;
	}
}

/* With a number on the right: false where that isn't a case of its own. */
static bool bits_of_shift(struct space *s, const struct ex *v, unsigned t, struct value *out)
{
	unsigned log = v->n == 2 ? log_of(v->a[1]) : 64, w = v->w;

	switch ((enum ex_op)v->op) {
	case EX_MUL:
		if (v->a[1]->op != EX_CONST)
			return false;
		bits_of(s, v->a[0], t, out);
		scale(out, v->a[1]->imm, w);
		return true;
	case EX_UDIV:
		if (log == 64)
			return false;
		bits_of(s, v->a[0], t, out);
		shift(out, -(int)log, w, zero);
		return true;
	case EX_UREM:
		if (log == 64)
			return false;
		bits_of(s, v->a[0], t, out);
		for (unsigned i = log; i < w; i++)
			out->bit[i] = zero;
		return true;
	case EX_ASHR:
		if (v->a[1]->op != EX_CONST || v->a[1]->imm >= w)
			return false;
		bits_of(s, v->a[0], t, out);
		shift(out, -(int)v->a[1]->imm, w, out->bit[w - 1]);
		return true;
	default:
		return false;
	}
}

static void bits_of(struct space *s, const struct ex *v, unsigned t, struct value *out)
{
	unsigned w = v->w, from;

	set_number(out, 0);
	if (++s->nodes > MAX_NODES) {
		for (unsigned i = 0; i < w; i++)
			out->bit[i] = unknown;
		return;
	}
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		set_number(out, v->imm);
		break;
	case EX_ADD:
	case EX_SUB:
	case EX_AND:
	case EX_OR:
	case EX_XOR:
		bits_of_binary(s, v, t, out);
		break;
	case EX_NOT:
		bits_of(s, v->a[0], t, out);
		for (unsigned i = 0; i < w; i++)
			out->bit[i] = flipped(out->bit[i]);
		break;
	case EX_BREV:
		bits_of(s, v->a[0], t, out);
		for (unsigned i = 0; i < w / 2; i++) {
			struct form f = out->bit[i];
			out->bit[i] = out->bit[w - 1 - i];
			out->bit[w - 1 - i] = f;
		}
		break;
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
		bits_of(s, v->a[0], t, out);
		from = v->a[0]->w;
		for (unsigned i = from; i < w; i++)
			out->bit[i] = v->op == EX_SEXT ? out->bit[from - 1] : zero;
		break;
	case EX_MUL:
	case EX_UDIV:
	case EX_UREM:
	case EX_ASHR:
		if (bits_of_shift(s, v, t, out))
			break;
		/* fall through */
	default:
		for (unsigned i = 0; i < w; i++)
			out->bit[i] = variable(s, v, t, i);
	}
	for (unsigned i = 0; i < w; i++) {
		if (!(v->hi >> i))
			out->bit[i] = zero;
		else if (!out->bit[i].is_known)
			out->bit[i] = variable(s, v, t, i);
	}
	for (unsigned i = w; i < 64; i++)
		out->bit[i] = zero;
}

/* ---- equations ----------------------------------------------------------------------------- */

static struct form reduced(const struct space *s, struct form f)
{
	for (unsigned i = 0; i < s->nrows; i++)
		if (f.v[s->pivot[i] / 64] >> (s->pivot[i] % 64) & 1)
			f = sum(f, &s->row[i]);
	return f;
}

/* The form is 0. */
static void hold(struct space *s, struct form f)
{
	if (!f.is_known || s->is_void)
		return;
	f = reduced(s, f);
	if (is_number(&f)) {
		s->is_void |= f.one;
		return;
	}
	for (unsigned i = 0; i < WORDS; i++) {
		if (!f.v[i])
			continue;
		s->pivot[s->nrows] = 64 * i + (unsigned)__builtin_ctzll(f.v[i]);
		s->row[s->nrows++] = f;
		return;
	}
}

/* x < bound, a number: the bits above it are 0. */
static void hold_below(struct space *s, const struct ex *x, uint64_t bound, unsigned t)
{
	struct value *b = base_alloc(&s->arena, sizeof(*b));

	bits_of(s, x, t, b);
	for (unsigned i = 0; i < x->w; i++)
		if (!((bound - 1) >> i))
			hold(s, b->bit[i]);
}

static void hold_equal(struct space *s, const struct ex *x, const struct ex *y, unsigned t)
{
	struct value *a = base_alloc(&s->arena, sizeof(*a)), *b = base_alloc(&s->arena, sizeof(*b));

	bits_of(s, x, t, a);
	bits_of(s, y, t, b);
	for (unsigned i = 0; i < x->w; i++)
		hold(s, sum(a->bit[i], &b->bit[i]));
}

/* The single bit in which the two may differ does. */
static void hold_unequal(struct space *s, const struct ex *x, const struct ex *y, unsigned t)
{
	struct value *a = base_alloc(&s->arena, sizeof(*a)), *b = base_alloc(&s->arena, sizeof(*b));
	struct form only = unknown;
	unsigned n = 0;

	bits_of(s, x, t, a);
	bits_of(s, y, t, b);
	for (unsigned i = 0; i < x->w; i++) {
		struct form d = reduced(s, sum(a->bit[i], &b->bit[i]));
		if (!a->bit[i].is_known || !b->bit[i].is_known)
			return;
		if (is_zero(&d))
			continue;
		only = d;
		n++;
	}
	if (n <= 1)
		hold(s, n ? flipped(only) : number(true));
}

static void hold_fact(struct space *s, const struct ex *f, unsigned t, unsigned depth)
{
	bool is_not = f->op == EX_NOT;
	const struct ex *x = is_not ? f->a[0] : f;

	if (depth > 40)
		return;
	if (f->op == EX_CONST && !(f->imm & 1)) {
		s->is_void = true;
	} else if (f->op == EX_AND) {
		hold_fact(s, f->a[0], t, depth + 1);
		hold_fact(s, f->a[1], t, depth + 1);
	} else if (x->op == EX_EQ && x->a[0]->w > 1 && !is_not) {
		hold_equal(s, x->a[0], x->a[1], t);
	} else if (x->op == EX_EQ && x->a[0]->w > 1) {
		hold_unequal(s, x->a[0], x->a[1], t);
	} else if (x->op == EX_ULT) {
		/* x < bound, or !(bound < x), which is x < bound + 1 */
		uint64_t bound = x->a[!is_not]->hi;
		if (is_not ? bound < UINT64_MAX >> 1 : bound > 0)
			hold_below(s, x->a[is_not], bound + is_not, t);
	}
}

/* ---- offsets ------------------------------------------------------------------------------- */

/* The sum of numbers times values, exact modulo 2^bits. */
struct offset {
	unsigned bits, n;
	uint64_t constant;
	struct {
		const struct ex *v;
		uint64_t times;
		unsigned low; /* so many of its lowest bits are taken as 0 */
	} term[MAX_TERMS];
	bool is_lost;
};

static void add_term(struct offset *o, const struct ex *v, uint64_t times, unsigned low)
{
	for (unsigned i = 0; i < o->n; i++) {
		if (o->term[i].v == v && o->term[i].low == low) {
			o->term[i].times += times;
			return;
		}
	}
	if (o->n == MAX_TERMS) {
		o->is_lost = true;
		return;
	}
	o->term[o->n].v = v;
	o->term[o->n].low = low;
	o->term[o->n++].times = times;
}

static void take_apart(struct offset *o, const struct ex *v, uint64_t times, unsigned depth)
{
	unsigned exact = v->w + (times ? (unsigned)__builtin_ctzll(times) : 64);

	if (exact < o->bits)
		o->bits = exact;
	o->is_lost |= depth > 40;
	if (o->is_lost)
		return;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		o->constant += v->imm * times;
		return;
	case EX_ADD:
	case EX_SUB:
		take_apart(o, v->a[0], times, depth + 1);
		take_apart(o, v->a[1], v->op == EX_ADD ? times : 0 - times, depth + 1);
		return;
	case EX_MUL:
		if (v->a[1]->op != EX_CONST)
			break;
		take_apart(o, v->a[0], times * v->a[1]->imm, depth + 1);
		return;
	case EX_UREM: /* - x % 2^k = - x + (x without its lowest k bits) */
		if (log_of(v->a[1]) == 64 || times <= INT64_MAX)
			break;
		take_apart(o, v->a[0], times, depth + 1);
		add_term(o, v->a[0], 0 - times, log_of(v->a[1]));
		return;
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
		take_apart(o, v->a[0], times, depth + 1);
		return;
	case EX_IND:
		if (v->a[1]->op != EX_CONST)
			break;
		take_apart(o, v->a[0], times, depth + 1);
		take_apart(o, v->a[2], times * v->a[1]->imm, depth + 1);
		return;
	default:
		break;
	}
	add_term(o, v, times, 0);
}

/* What both threads add alike falls away. */
static void cancel(struct space *s, struct offset *a, struct offset *b)
{
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned k = 0; k < b->n; k++)
			if (a->term[i].v == b->term[k].v && a->term[i].low == b->term[k].low &&
			    a->term[i].times == b->term[k].times &&
			    quick_is_shared(s->c, a->term[i].v, s->counters))
				a->term[i].times = b->term[k].times = 0;
	uint64_t d = a->constant - b->constant;
	bool is_down = d & (1ull << (a->bits - 1));
	a->constant = is_down ? 0 : d;
	b->constant = is_down ? 0 - d : 0;
}

static void value_of(struct space *s, struct offset *o, unsigned t, struct value *out)
{
	struct value *x = base_alloc(&s->arena, sizeof(*x));

	set_number(out, 0);
	for (unsigned i = 0; i < o->n; i++) {
		uint64_t times = o->term[i].times & prove_ex_mask(o->bits);
		if (!times)
			continue;
		bits_of(s, o->term[i].v, t, x);
		for (unsigned k = 0; k < o->term[i].low; k++)
			x->bit[k] = zero;
		if (times >> (o->bits - 1) & 1) { /* - y = ~y + 1 */
			scale(x, (0 - times) & prove_ex_mask(o->bits), o->bits);
			for (unsigned k = 0; k < o->bits; k++)
				x->bit[k] = flipped(x->bit[k]);
			o->constant++;
		} else {
			scale(x, times, o->bits);
		}
		add_to(out, x, o->bits);
	}
	set_number(x, o->constant);
	add_to(out, x, o->bits);
}

static bool is_aligned(const struct value *x, unsigned bytes)
{
	for (unsigned i = 0; 1u << i < bytes; i++)
		if (!is_zero(&x->bit[i]))
			return false;
	return !(bytes & (bytes - 1));
}

/* Accesses that lie in aligned blocks of their size overlap where their blocks of the larger size
 * are one. False: nothing is known of that. */
static bool hold_overlap(struct space *s)
{
	const struct check *c = s->c;
	unsigned na = c->pair.a->mem->bytes, nb = c->pair.b->mem->bytes, from = 0;
	struct offset *o = base_zalloc(&s->arena, 2 * sizeof(*o));
	struct value *x = base_alloc(&s->arena, 2 * sizeof(*x));

	o[0].bits = o[1].bits = c->pair.a->off->w;
	take_apart(&o[0], c->pair.a->off, 1, 0);
	take_apart(&o[1], c->pair.b->off, 1, 0);
	o[0].bits = o[1].bits = o[0].bits < o[1].bits ? o[0].bits : o[1].bits;
	if (o[0].is_lost || o[1].is_lost || o[0].bits < 2)
		return false;
	cancel(s, &o[0], &o[1]);
	value_of(s, &o[0], 0, &x[0]);
	value_of(s, &o[1], 1, &x[1]);
	if (!is_aligned(&x[0], na) || !is_aligned(&x[1], nb))
		return false;
	while (1u << from < (na > nb ? na : nb))
		from++;
	for (unsigned i = from; i < o[0].bits; i++)
		hold(s, sum(x[0].bit[i], &x[1].bit[i]));
	return true;
}

/* Threads of one warp agree in the number's upper bits, where a block has one dimension. */
static void hold_warp(struct space *s)
{
	const struct ex_launch *l = &s->c->pool->launch;
	const struct ex *tid = prove_ex_spec(s->c->pool, EX_TID_X);

	if (s->c->level.apart > RACE_LEVEL_BLOCK || s->c->level.warp != SMT_SAME_WARP ||
	    l->max[1] > 1 || l->max[2] > 1)
		return;
	for (unsigned i = 5; i < 32; i++) {
		struct form b = variable(s, tid, 1, i);
		hold(s, sum(variable(s, tid, 0, i), &b));
	}
}

/* Is the pair one thread (or two of one block, where blocks are asked about) in all solutions? */
static bool is_one_thread(struct space *s)
{
	const struct check *c = s->c;
	bool is_far = c->level.apart >= RACE_LEVEL_CLUSTER;

	for (unsigned d = 0; d < 3; d++) {
		enum prove_ex_spec which =
			(enum prove_ex_spec)((is_far ? EX_CTAID_X : EX_TID_X) + d);
		const struct ex *v = prove_ex_spec(c->pool, which);
		for (unsigned i = 0; i < 32 && v->op == EX_SPEC; i++) {
			struct form b = variable(s, v, 1, i);
			struct form f = sum(variable(s, v, 0, i), &b);
			f = f.is_known ? reduced(s, f) : f;
			if (!is_zero(&f))
				return false;
		}
	}
	return true;
}

bool linear_is_apart(struct check *c, const uint8_t *counters)
{
	struct base_arena tmp = {0};
	struct space *s = base_zalloc(&tmp, sizeof(*s));
	bool is_apart = false;

	work_add(WORK_LINEAR, 1);
	s->c = c;
	s->counters = counters;
	if (c->pair.a->off->w == c->pair.b->off->w && hold_overlap(s)) {
		hold_warp(s);
		hold_fact(s, c->pair.a->guard, 0, 0);
		hold_fact(s, c->pair.b->guard, 1, 0);
		is_apart = s->is_void || is_one_thread(s);
	}
	base_arena_free(&s->arena);
	base_arena_free(&tmp);
	return is_apart;
}
