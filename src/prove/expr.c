/*
 * expr.c - the shared graph of values (expr.h): construction, folding, simplification.
 *
 * Every node is looked up in one open hash table before it is made. Simplification is local: a rule
 * looks at a node's arguments and at theirs. Shifts by constants become products and quotients, and
 * masks of low bits remainders, because that is what the integer encoding understands.
 *
 * Misses: everything a rule would need more than two levels for; the solver finds that.
 * Costs: some 100 bytes and 100 ns a node.
 */
#include "prove/expr.h"

#include "prove/work.h"

#include <stdlib.h>
#include <string.h>

static bool is_commutative(enum ex_op op)
{
	return op == EX_ADD || op == EX_MUL || op == EX_AND || op == EX_OR || op == EX_XOR ||
	       op == EX_EQ;
}

static uint64_t hash_key(const struct ex *k, const struct ex *const *a)
{
	uint64_t h =
		base_hash(&k->imm, sizeof(k->imm),
			  BASE_FNV_INIT ^ k->op ^ (uint64_t)k->w << 8 ^ (uint64_t)k->level << 16);
	for (uint32_t i = 0; i < k->n; i++)
		h = (h ^ a[i]->id) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static bool is_same(const struct ex *x, const struct ex *k, const struct ex *const *a)
{
	return x->op == k->op && x->w == k->w && x->level == k->level && x->imm == k->imm &&
	       x->n == k->n && x->lo == k->lo && x->hi == k->hi && x->is_approx == k->is_approx &&
	       (!k->n || !memcmp(x->a, a, k->n * sizeof(*a)));
}

static void grow(struct ex_pool *p)
{
	uint32_t cap = p->cap ? p->cap * 2 : 4096;
	const struct ex **old = p->table, **t = BASE_NEWN(p->arena, const struct ex *, cap);

	for (uint32_t i = 0; i < p->cap; i++) {
		if (!old[i])
			continue;
		uint64_t h = hash_key(old[i], old[i]->a);
		while (t[h & (cap - 1)])
			h++;
		t[h & (cap - 1)] = old[i];
	}
	p->table = t;
	p->cap = cap;
}

void prove_ex_pool_init(struct ex_pool *p, struct base_arena *arena, const struct ex_launch *launch)
{
	memset(p, 0, sizeof(*p));
	p->arena = arena;
	p->launch = *launch;
	grow(p);
}

void prove_ex_pool_free(struct ex_pool *p)
{
	free(p->memo.e);
	free(p->stripped.e);
	free(p->kept.e);
	memset(p, 0, sizeof(*p));
}

/* ---- making nodes ------------------------------------------------------------ */

static const struct ex *make(struct ex_pool *p, const struct ex *k, const struct ex *const *a)
{
	if (2 * (p->n + 1) > p->cap)
		grow(p);
	work_add(WORK_NODE, 1);
	uint64_t h = hash_key(k, a);
	for (;; h++) {
		const struct ex *x = p->table[h & (p->cap - 1)];
		if (!x)
			break;
		if (is_same(x, k, a))
			return x;
	}
	struct ex *x = base_alloc(p->arena, sizeof(*x) + k->n * sizeof(*a));
	memcpy(x, k, sizeof(*x));
	x->id = p->n++;
	if (k->n)
		memcpy(x->a, a, k->n * sizeof(*a));
	p->table[h & (p->cap - 1)] = x;
	return x;
}

/* What a node's arguments rest on, and its own bit where it is a leaf. */
static void find_leaves(struct ex *k, const struct ex *const *a)
{
	for (uint32_t i = 0; i < k->n; i++)
		k->leaves |= a[i]->leaves;
	if (k->op > EX_CONST && k->op < EX_CLOAD)
		k->leaves |= 1ull << ((k->op * 31u + k->imm) * 0x9e3779b97f4a7c15ull >> 58);
}

static const struct ex *node(struct ex_pool *p, enum ex_op op, unsigned w, uint64_t imm, uint32_t n,
			     const struct ex *const *a)
{
	struct ex k = {.op = (uint8_t)op, .w = (uint8_t)w, .level = EX_GRID, .n = n, .imm = imm};

	k.hi = prove_ex_mask(w);
	for (uint32_t i = 0; i < n; i++) {
		if (a[i]->level < k.level)
			k.level = a[i]->level;
		k.is_approx |= a[i]->is_approx;
		k.has_ctr |= a[i]->has_ctr;
	}
	if (op == EX_CLOAD)
		k.is_approx = true;
	k.has_ctr |= op == EX_CTR;
	find_leaves(&k, a);
	prove_ex_find_bounds(p, &k, a);
	prove_ex_find_bits(&k, a);
	if (op >= EX_ADD && op <= EX_TRUNC && (k.zeros | k.ones) == prove_ex_mask(w))
		return prove_ex_const(p, w, k.ones);
	return make(p, &k, a);
}

const struct ex *prove_ex_leaf(struct ex_pool *p, enum ex_op op, unsigned w, uint64_t imm,
			       enum ex_level level, struct ex_range r, struct ex_args args)
{
	const struct ex *const *a = args.a;
	struct ex k = {.op = (uint8_t)op, .w = (uint8_t)w, .imm = imm, .n = args.n};

	k.level = (uint8_t)level;
	k.lo = r.lo;
	k.hi = r.hi & prove_ex_mask(w);
	k.is_approx = op == EX_VAR || (op == EX_PHI && !args.is_exact) || op == EX_PURE;
	for (uint32_t i = 0; i < args.n; i++) {
		if (op == EX_PURE && a[i]->level < k.level)
			k.level = a[i]->level;
		k.is_approx |= a[i]->is_approx && op == EX_PURE;
		k.has_ctr |= a[i]->has_ctr;
	}
	k.has_ctr |= op == EX_CTR;
	find_leaves(&k, a);
	prove_ex_find_bits(&k, a);
	return make(p, &k, a);
}

const struct ex *prove_ex_const(struct ex_pool *p, unsigned w, uint64_t v)
{
	return node(p, EX_CONST, w, v & prove_ex_mask(w), 0, NULL);
}

const struct ex *prove_ex_spec(struct ex_pool *p, enum prove_ex_spec s)
{
	const struct ex_launch *l = &p->launch;

	if (s >= EX_NTID_X && l->dim[s - EX_NTID_X])
		return prove_ex_const(p, 32, l->dim[s - EX_NTID_X]);
	if (s < EX_CTAID_X && l->max[s] == 1)
		return prove_ex_const(p, 32, 0);
	if (s >= EX_CTAID_X && s < EX_NTID_X && l->max[s - EX_CTAID_X + 3] == 1)
		return prove_ex_const(p, 32, 0);
	if (s >= EX_NTID_X && l->max[s - EX_NTID_X] == 1)
		return prove_ex_const(p, 32, 1);
	return node(p, EX_SPEC, 32, s, 0, NULL);
}

const struct ex *prove_ex_any_param(struct ex_pool *p, unsigned w, uint64_t off)
{
	return prove_ex_leaf(p, EX_PARAM, w, off, EX_GRID, prove_ex_full(w), EX_NO_ARGS);
}

static void note_read(struct ex_pool *p, unsigned w, uint64_t off)
{
	for (uint32_t i = 0; i < p->nreads; i++)
		if (p->read[i].off == off && p->read[i].w == w)
			return;
	if (p->nreads < EX_MAX_READS)
		p->read[p->nreads++] = (struct ex_read){off, w};
}

const struct ex *prove_ex_param(struct ex_pool *p, unsigned w, uint64_t off)
{
	note_read(p, w, off);
	for (uint32_t i = 0; i < p->launch.nsame && w == 64; i++) {
		const struct ex_same *s = &p->launch.same[i];
		if (s->off == off)
			return prove_ex_bin(p, EX_ADD, prove_ex_any_param(p, 64, s->of),
					    prove_ex_const(p, 64, s->delta));
	}
	for (uint32_t i = 0; i < p->npins; i++) {
		const struct ex_pin *x = &p->pin[i];
		if (x->off != off || x->w != w)
			continue;
		if (x->lo == x->hi)
			return prove_ex_const(p, w, x->lo);
		return prove_ex_leaf(p, EX_PARAM, w, off, EX_GRID, (struct ex_range){x->lo, x->hi},
				     EX_NO_ARGS);
	}
	return prove_ex_any_param(p, w, off);
}

bool prove_ex_fold(enum ex_op op, unsigned w, unsigned wa, uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t v = 0;
	int64_t sa = prove_ex_signed(a, wa), sb = prove_ex_signed(b, wa);

	/* clang-format off */
	switch (op) {
	case EX_ADD: v = a + b; break;
	case EX_SUB: v = a - b; break;
	case EX_MUL: v = a * b; break;
	case EX_UDIV: if (!b) return false; v = a / b; break;
	case EX_UREM: if (!b) return false; v = a % b; break;
	case EX_SDIV: if (!b) return false; v = sb == -1 ? 0 - a : (uint64_t)(sa / sb); break;
	case EX_SREM: if (!b) return false; v = sb == -1 ? 0 : (uint64_t)(sa % sb); break;
	case EX_AND: v = a & b; break;
	case EX_OR: v = a | b; break;
	case EX_XOR: v = a ^ b; break;
	case EX_NOT: v = ~a; break;
	case EX_BREV: for (unsigned i = 0; i < w; i++) v |= (a >> i & 1) << (w - 1 - i); break;
	case EX_CLZ: v = a ? (uint64_t)__builtin_clzll(a) - (64 - w) : w; break;
	case EX_SHL: v = b >= w ? 0 : a << b; break;
	case EX_LSHR: v = b >= w ? 0 : a >> b; break;
	case EX_ASHR: v = (uint64_t)(sa >> (b >= w ? w - 1 : b)); break;
	case EX_EQ: v = a == b; break;
	case EX_ULT: v = a < b; break;
	case EX_SLT: v = sa < sb; break;
	case EX_ZEXT: case EX_TRUNC: v = a; break;
	case EX_SEXT: v = (uint64_t)sa; break;
	default: return false;
	}
	/* clang-format on */
	*out = v & prove_ex_mask(w);
	return true;
}

/* The low bits of the result depend on the low bits of the operands alone. */
static bool is_modular(enum ex_op op)
{
	return op == EX_ADD || op == EX_SUB || op == EX_MUL || op == EX_AND || op == EX_OR ||
	       op == EX_XOR;
}

static bool is_widened(const struct ex *v)
{
	return v->op == EX_ZEXT || v->op == EX_SEXT;
}

static bool is_choice_of_numbers(const struct ex *v)
{
	return v->op == EX_ITE && v->a[1]->op == EX_CONST && v->a[2]->op == EX_CONST;
}

const struct ex *prove_ex_un(struct ex_pool *p, enum ex_op op, unsigned w, const struct ex *a)
{
	uint64_t v;

	if (op != EX_NOT && op != EX_BREV && op != EX_CLZ && w == a->w)
		return a;
	if (a->op == EX_CONST && prove_ex_fold(op, w, a->w, a->imm, 0, &v))
		return prove_ex_const(p, w, v);
	if (is_choice_of_numbers(a))
		return prove_ex_ite(p, a->a[0], prove_ex_un(p, op, w, a->a[1]),
				    prove_ex_un(p, op, w, a->a[2]));
	if ((op == EX_NOT || op == EX_BREV) && a->op == op)
		return a->a[0];
	if (op == EX_ZEXT && a->w == 1)
		return prove_ex_ite(p, a, prove_ex_const(p, w, 1), prove_ex_const(p, w, 0));
	if (op == EX_ZEXT && a->op == EX_ZEXT)
		return prove_ex_un(p, op, w, a->a[0]);
	if (op == EX_SEXT && (a->op == EX_ZEXT || a->hi <= prove_ex_mask(a->w) >> 1))
		return prove_ex_un(p, EX_ZEXT, w, a);
	if (op == EX_SEXT && a->op == EX_SEXT)
		return prove_ex_un(p, op, w, a->a[0]);
	if (op == EX_TRUNC && (a->op == EX_ZEXT || a->op == EX_SEXT))
		return a->a[0]->w >= w ? prove_ex_un(p, EX_TRUNC, w, a->a[0])
				       : prove_ex_un(p, (enum ex_op)a->op, w, a->a[0]);
	if (op == EX_TRUNC && a->op == EX_TRUNC)
		return prove_ex_un(p, op, w, a->a[0]);
	if (op == EX_TRUNC && is_modular((enum ex_op)a->op) &&
	    (is_widened(a->a[0]) || is_widened(a->a[1])))
		return prove_ex_bin(p, (enum ex_op)a->op, prove_ex_un(p, op, w, a->a[0]),
				    prove_ex_un(p, op, w, a->a[1]));
	if ((op == EX_ZEXT || op == EX_TRUNC) && a->op == EX_SYM)
		return prove_ex_leaf(p, EX_SYM, w, a->imm, (enum ex_level)a->level,
				     prove_ex_full(w), EX_NO_ARGS);
	return node(p, op, w, 0, 1, &a);
}

bool prove_ex_is_down(const struct ex *step)
{
	uint64_t half = prove_ex_mask(step->w) >> 1;

	if (step->op == EX_SUB && step->a[0]->op == EX_CONST && !step->a[0]->imm)
		return step->a[1]->hi <= half;
	return step->op == EX_CONST && step->imm > half;
}

const struct ex *prove_ex_not(struct ex_pool *p, const struct ex *a)
{
	return prove_ex_un(p, EX_NOT, a->w, a);
}

/* Rules for two values of one bit. NULL: none applies. */
static const struct ex *simplify_bool(struct ex_pool *p, enum ex_op op, const struct ex *a,
				      const struct ex *b)
{
	if (op == EX_AND || op == EX_OR) {
		enum ex_op other = op == EX_AND ? EX_OR : EX_AND;
		if (a == b)
			return a;
		if (prove_ex_not(p, a) == b)
			return prove_ex_const(p, 1, op == EX_OR);
		/* absorption, and (x & c) | (x & !c) = x with its dual */
		for (int turn = 0; turn < 2; turn++) {
			const struct ex *x = turn ? b : a, *y = turn ? a : b;
			if (x->op == op && (x->a[0] == y || x->a[1] == y))
				return x;
			if (x->op != other)
				continue;
			if (x->a[0] == y || x->a[1] == y)
				return y;
			for (int i = 0; i < 2; i++)
				if (prove_ex_not(p, x->a[i]) == y)
					return prove_ex_bin(p, op, x->a[!i], y);
			if (y->op != other)
				continue;
			for (int i = 0; i < 4; i++)
				if (x->a[i & 1] == y->a[i >> 1] &&
				    prove_ex_not(p, x->a[!(i & 1)]) == y->a[!(i >> 1)])
					return x->a[i & 1];
		}
	}
	if (b->op == EX_CONST) {
		bool one = b->imm & 1;
		if (op == EX_AND)
			return one ? a : b;
		if (op == EX_OR)
			return one ? b : a;
		if (op == EX_XOR)
			return one ? prove_ex_not(p, a) : a;
		if (op == EX_EQ)
			return one ? a : prove_ex_not(p, a);
	}
	return NULL;
}

/* (x << k) >> c with the sign, where c is at most k: the low bits of x, widened, times 2^(k - c).
 * NULL: it isn't one. */
static const struct ex *sign_of_low(struct ex_pool *p, const struct ex *a, uint64_t c)
{
	if (a->op != EX_MUL || a->a[1]->op != EX_CONST || !a->a[1]->imm)
		return NULL;
	unsigned w = a->w, k = (unsigned)__builtin_ctzll(a->a[1]->imm);
	if (c > k || w - k < 8)
		return NULL;
	const struct ex *x =
		prove_ex_bin(p, EX_MUL, a->a[0], prove_ex_const(p, w, a->a[1]->imm >> k));
	x = prove_ex_un(p, EX_SEXT, w, prove_ex_un(p, EX_TRUNC, w - k, x));
	return prove_ex_bin(p, EX_MUL, x, prove_ex_const(p, w, 1ull << (k - c)));
}

/* a / c: a field of a word that a constant and a product without carries are put into. */
static const struct ex *quotient(struct ex_pool *p, const struct ex *a, uint64_t c)
{
	const struct ex *by = a->n == 2 && a->a[1]->op == EX_CONST ? a->a[1] : NULL;
	if (c == 1 || (c && a->hi < c))
		return c == 1 ? a : prove_ex_const(p, a->w, 0);
	if (!c || c & (c - 1) || !by)
		return NULL;
	if (a->op == EX_OR)
		return prove_ex_or(p, prove_ex_bin(p, EX_UDIV, a->a[0], prove_ex_const(p, a->w, c)),
				   prove_ex_const(p, a->w, by->imm / c));
	if (a->op == EX_MUL && by->imm && !(by->imm % c) &&
	    a->a[0]->hi <= prove_ex_mask(a->w) / by->imm)
		return prove_ex_bin(p, EX_MUL, a->a[0], prove_ex_const(p, a->w, by->imm / c));
	return NULL;
}

/* Rules with a constant b on the right. */
static const struct ex *simplify_const(struct ex_pool *p, enum ex_op op, const struct ex *a,
				       const struct ex *b)
{
	unsigned w = a->w;
	uint64_t c = b->imm, m = prove_ex_mask(w);

	if (is_choice_of_numbers(a))
		return prove_ex_ite(p, a->a[0], prove_ex_bin(p, op, a->a[1], b),
				    prove_ex_bin(p, op, a->a[2], b));
	/* clang-format off */
	switch (op) {
	case EX_SUB: return prove_ex_bin(p, EX_ADD, a, prove_ex_const(p, w, 0 - c));
	case EX_ADD:
		if (!c) return a;
		if (a->op == EX_ADD && a->a[1]->op == EX_CONST)
			return prove_ex_bin(p, op, a->a[0], prove_ex_const(p, w, c + a->a[1]->imm));
		break;
	case EX_MUL:
		if (!c) return b;
		if (c == 1) return a;
		if (a->op == EX_MUL && a->a[1]->op == EX_CONST)
			return prove_ex_bin(p, op, a->a[0], prove_ex_const(p, w, c * a->a[1]->imm));
		break;
	case EX_UDIV: return quotient(p, a, c);
	case EX_UREM:
		if (c == 1) return prove_ex_const(p, w, 0);
		if (c && a->hi < c) return a;
		break;
	case EX_AND:
		if (!c) return b;
		if (!(~c & m & ~a->zeros)) return a;
		if (!(c & (c + 1))) return prove_ex_bin(p, EX_UREM, a, prove_ex_const(p, w, c + 1));
		break;
	case EX_OR: if (c == m) return b; if (!c) return a; break;
	case EX_XOR: if (!c) return a; if (c == m) return prove_ex_not(p, a); break;
	case EX_SHL:
		return c >= w ? prove_ex_const(p, w, 0)
			      : prove_ex_bin(p, EX_MUL, a, prove_ex_const(p, w, 1ull << c));
	case EX_LSHR:
		if (c >= w) return prove_ex_const(p, w, 0);
		return prove_ex_bin(p, EX_UDIV, a, prove_ex_const(p, w, 1ull << c));
	case EX_ASHR:
		if (!c) return a;
		if (a->hi <= m >> 1) return prove_ex_bin(p, EX_LSHR, a, b);
		return sign_of_low(p, a, c);
	case EX_SDIV:
		if (c == 1) return a;
		if (a->hi <= m >> 1 && c <= m >> 1) return prove_ex_bin(p, EX_UDIV, a, b);
		break;
	case EX_SREM:
		if (a->hi <= m >> 1 && c <= m >> 1) return prove_ex_bin(p, EX_UREM, a, b);
		break;
	case EX_EQ:
		if (c < a->lo || c > a->hi || (c & a->zeros) || (~c & a->ones))
			return prove_ex_const(p, 1, 0);
		if (a->op == EX_ZEXT && a->a[0]->w < 64) {
			const struct ex *n = a->a[0];
			if (c >> n->w) return prove_ex_const(p, 1, 0);
			return prove_ex_bin(p, EX_EQ, n, prove_ex_const(p, n->w, c));
		}
		break;
	default: break;
	}
	/* clang-format on */
	return NULL;
}

const struct ex *prove_ex_bin(struct ex_pool *p, enum ex_op op, const struct ex *a,
			      const struct ex *b)
{
	bool is_test = op == EX_EQ || op == EX_ULT || op == EX_SLT;
	unsigned w = is_test ? 1 : a->w;
	const struct ex *r = NULL;
	uint64_t v;

	if (a->op == EX_CONST && b->op == EX_CONST &&
	    prove_ex_fold(op, w, a->w, a->imm, b->imm, &v))
		return prove_ex_const(p, w, v);
	if (is_commutative(op) && (a->op == EX_CONST || (b->op != EX_CONST && a->id > b->id))) {
		const struct ex *t = a;
		a = b;
		b = t;
	}
	if (a == b) {
		if (op == EX_SUB || op == EX_XOR)
			return prove_ex_const(p, w, 0);
		if (op == EX_AND || op == EX_OR)
			return a;
		if (is_test)
			return prove_ex_const(p, 1, op == EX_EQ);
	}
	if (op == EX_ULT && a->hi < b->lo)
		return prove_ex_const(p, 1, 1);
	if (op == EX_ULT && a->lo >= b->hi)
		return prove_ex_const(p, 1, 0);
	if (op == EX_SLT && a->hi <= prove_ex_mask(a->w) >> 1 && b->hi <= prove_ex_mask(a->w) >> 1)
		return prove_ex_bin(p, EX_ULT, a, b);
	if (a->w == 1 && (!is_test || op == EX_EQ))
		r = simplify_bool(p, op, a, b);
	if (!r && b->op == EX_CONST)
		r = simplify_const(p, op, a, b);
	if (!r && op == EX_SUB)
		r = prove_ex_rest(p, a, b);
	/* a factor that integers and strides know */
	if (!r && op == EX_SHL && a->op != EX_CONST)
		r = prove_ex_bin(p, EX_MUL, a, prove_ex_bin(p, EX_SHL, prove_ex_const(p, w, 1), b));
	if (!r && a->op == EX_CONST && is_choice_of_numbers(b))
		r = prove_ex_ite(p, b->a[0], prove_ex_bin(p, op, a, b->a[1]),
				 prove_ex_bin(p, op, a, b->a[2]));
	if (!r && is_choice_of_numbers(a) && is_choice_of_numbers(b) && a->a[0] == b->a[0])
		r = prove_ex_ite(p, a->a[0], prove_ex_bin(p, op, a->a[1], b->a[1]),
				 prove_ex_bin(p, op, a->a[2], b->a[2]));
	const struct ex *args[2] = {a, b};
	return r ? r : node(p, op, w, 0, 2, args);
}

const struct ex *prove_ex_and(struct ex_pool *p, const struct ex *a, const struct ex *b)
{
	return prove_ex_bin(p, EX_AND, a, b);
}

const struct ex *prove_ex_or(struct ex_pool *p, const struct ex *a, const struct ex *b)
{
	return prove_ex_bin(p, EX_OR, a, b);
}

const struct ex *prove_ex_ite(struct ex_pool *p, const struct ex *c, const struct ex *a,
			      const struct ex *b)
{
	if (c->op == EX_CONST)
		return c->imm ? a : b;
	if (a == b)
		return a;
	if (c->op == EX_NOT)
		return prove_ex_ite(p, c->a[0], b, a);
	if (a->w == 1 && a->op == EX_CONST)
		return a->imm ? prove_ex_or(p, c, b) : prove_ex_and(p, prove_ex_not(p, c), b);
	if (b->w == 1 && b->op == EX_CONST)
		return b->imm ? prove_ex_or(p, prove_ex_not(p, c), a) : prove_ex_and(p, c, a);
	if (prove_ex_is_bypass(p, c, a, b))
		return b;
	const struct ex *args[3] = {c, a, b};
	return node(p, EX_ITE, a->w, 0, 3, args);
}

const struct ex *prove_ex_cload(struct ex_pool *p, unsigned w, const struct ex *addr)
{
	return node(p, EX_CLOAD, w, 0, 1, &addr);
}

const struct ex *prove_ex_ind(struct ex_pool *p, enum prove_ex_ind kind, const struct ex *init,
			      const struct ex *step, const struct ex *ctr)
{
	const struct ex *args[3] = {init, step, ctr};

	if (step->op == EX_CONST && !step->imm)
		return init;
	if (ctr->op == EX_CONST && ctr->imm <= UINT32_MAX) /* not the one before the first */
		return prove_ex_bin(
			p, EX_ADD, init,
			prove_ex_bin(p, EX_MUL, step, prove_ex_const(p, step->w, ctr->imm)));
	return node(p, EX_IND, init->w, kind, 3, args);
}
