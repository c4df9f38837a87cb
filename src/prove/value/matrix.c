/*
 * matrix.c - where the matrix lies that a descriptor of wgmma names (eval.h).
 *
 * A descriptor is a sum: the matrix's address in units of 16 bytes, in its low 14 bits, and
 * offsets and a swizzle above (PTX ISA 9.7.15.5.1). Here it is taken apart again: the address as
 * an expression, and the rest, which must be numbers. What the matrix's units may reach is one
 * range, from the least to the greatest of them, rounded to the lines in which a swizzle exchanges
 * units. By the contract the matrix lies in its array, so that what is added to an address doesn't
 * carry into the rest.
 *
 * Misses: descriptors from memory, offsets that aren't numbers, gaps between rows, starts that
 * loops of unknown length move on.
 */
#include "prove/eval.h"

#define START_BITS  14
#define START_TURN  (1 << (START_BITS + 4)) /* bytes */
#define MOST_SHARED (227 << 10)		    /* bytes of a block: an array has no more */
#define MAX_DEPTH   40

/* A part of a descriptor: bytes, 32 bits wide, and all bits above the address's. */
struct part {
	const struct ex *at;
	uint64_t above;
};

/* Bits that may be set in v. */
static uint64_t may_have(const struct ex *v, unsigned depth)
{
	uint64_t all = v->hi;

	for (unsigned s = 1; s < 64; s *= 2)
		all |= all >> s;
	if (!depth)
		return all;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return v->imm;
	case EX_AND:
		return all & may_have(v->a[0], depth - 1) & may_have(v->a[1], depth - 1);
	case EX_OR:
	case EX_XOR:
		return all & (may_have(v->a[0], depth - 1) | may_have(v->a[1], depth - 1));
	case EX_ZEXT:
	case EX_TRUNC:
		return all & may_have(v->a[0], depth - 1);
	case EX_MUL:
		if (v->a[1]->op == EX_CONST && v->a[1]->imm)
			return all & ~(((uint64_t)1 << __builtin_ctzll(v->a[1]->imm)) - 1);
		return all;
	case EX_UDIV:
		if (v->a[1]->op == EX_CONST && v->a[1]->imm && !(v->a[1]->imm & (v->a[1]->imm - 1)))
			return all & may_have(v->a[0], depth - 1) >> __builtin_ctzll(v->a[1]->imm);
		return all;
	default:
		return all;
	}
}

bool prove_ev_is_all_dynamic(const struct ir *ir, uint64_t object)
{
	for (size_t i = 0; i < ir->objects.n; i++)
		if (ir->objects.v[i].kind == IR_OBJ_SHARED)
			return false;
	return ir->objects.v[object].kind == IR_OBJ_DYNAMIC;
}

/* v modulo m, a power of two up to 1024; -1: that isn't known. */
static int rest_of(const struct ev *e, const struct ex *v, unsigned m, unsigned depth)
{
	int a, b;

	if (m == 1)
		return 0;
	if (!depth)
		return -1;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return (int)(v->imm % m);
	case EX_SYM: {
		const struct ptx_var *var = e->ir->objects.v[v->imm].var;
		return (var && var->align && var->align % m == 0) ||
				       (!e->no_assumes && prove_ev_is_all_dynamic(e->ir, v->imm))
			       ? 0
			       : -1;
	}
	case EX_ADD:
	case EX_SUB:
	case EX_XOR:
	case EX_OR:
		a = rest_of(e, v->a[0], m, depth - 1);
		b = rest_of(e, v->a[1], m, depth - 1);
		if (a < 0 || b < 0)
			return -1;
		return (int)((unsigned)(v->op == EX_ADD	  ? a + b
					: v->op == EX_SUB ? a - b
					: v->op == EX_XOR ? a ^ b
							  : a | b) %
			     m);
	case EX_MUL: {
		uint64_t c = v->a[1]->op == EX_CONST ? v->a[1]->imm : 1;
		unsigned g = 1;
		while (g < m && c % (2ull * g) == 0)
			g *= 2;
		a = v->a[1]->op == EX_CONST ? rest_of(e, v->a[0], m / g, depth - 1) : -1;
		return a < 0 ? -1 : (int)((uint64_t)a * c % m);
	}
	case EX_UREM:
		return v->a[1]->op == EX_CONST && v->a[1]->imm && v->a[1]->imm % m == 0
			       ? rest_of(e, v->a[0], m, depth - 1)
			       : -1;
	case EX_AND:
		return v->a[1]->op == EX_CONST && v->a[1]->imm % m == 0 ? 0 : -1;
	case EX_IND:
		return v->a[1]->op == EX_CONST && v->a[1]->imm % m == 0
			       ? rest_of(e, v->a[0], m, depth - 1)
			       : -1;
	case EX_ITE:
		a = rest_of(e, v->a[1], m, depth - 1);
		b = rest_of(e, v->a[2], m, depth - 1);
		return a == b ? a : -1;
	case EX_ZEXT:
	case EX_TRUNC:
		return v->w >= 8 && v->a[0]->w >= 8 ? rest_of(e, v->a[0], m, depth - 1) : -1;
	default:
		return -1;
	}
}

static const struct ex *as_32(struct ex_pool *p, const struct ex *v)
{
	return prove_ex_un(p, v->w > 32 ? EX_TRUNC : EX_ZEXT, 32, v);
}

static bool take_apart(struct ev *e, const struct ex *v, unsigned depth, struct part *out);

static bool add_parts(struct ev *e, const struct ex *v, unsigned depth, struct part *out)
{
	struct part x, y;

	if (!take_apart(e, v->a[0], depth, &x) || !take_apart(e, v->a[1], depth, &y))
		return false;
	out->at = prove_ex_bin(e->pool, EX_ADD, x.at, y.at);
	out->above = (x.above + y.above) & prove_ex_mask(v->w);
	return true;
}

/* What a mask leaves as it is: an address of shared memory whose low bits are 0. */
static const struct ex *unmasked(const struct ev *e, const struct ex *a)
{
	uint64_t mask, low;

	if ((a->op != EX_UREM && a->op != EX_AND) || a->a[1]->op != EX_CONST || !a->a[1]->imm)
		return a;
	mask = a->op == EX_UREM ? a->a[1]->imm - 1 : a->a[1]->imm;
	low = mask & (0 - mask);
	bool is_whole = !((mask | (low - 1)) & ((mask | (low - 1)) + 1)) &&
			(mask | (low - 1)) >> (START_BITS + 3);
	return is_whole && low <= 1024 && !rest_of(e, a->a[0], (unsigned)low, MAX_DEPTH) ? a->a[0]
											 : a;
}

/* An address by 16, which its own low bits don't reach. */
static bool take_address(struct ev *e, const struct ex *v, struct part *out)
{
	const struct ex *a = unmasked(e, v->a[0]);

	int rest = rest_of(e, a, PTX_MATRIX_UNIT, MAX_DEPTH);
	if (rest < 0)
		return false;
	out->above = 0;
	out->at = prove_ex_bin(e->pool, EX_SUB, as_32(e->pool, a),
			       prove_ex_const(e->pool, 32, (uint64_t)rest));
	return true;
}

/* Neither bits above nor an address: so many units. */
static bool take_number(struct ev *e, const struct ex *v, struct part *out)
{
	if (v->hi > PTX_MATRIX_START)
		return false;
	out->above = 0;
	out->at = prove_ex_bin(e->pool, EX_MUL, as_32(e->pool, v),
			       prove_ex_const(e->pool, 32, PTX_MATRIX_UNIT));
	return true;
}

/* A mask that leaves the address, or nothing of it. */
static bool mask_part(struct ev *e, uint64_t mask, struct part *x)
{
	x->above &= mask;
	if (!(mask & PTX_MATRIX_START))
		x->at = prove_ex_const(e->pool, 32, 0);
	return !(mask & PTX_MATRIX_START) || (mask & PTX_MATRIX_START) == PTX_MATRIX_START;
}

/* What is taken from an address is a small negative number. */
static bool take_constant(struct ev *e, const struct ex *v, struct part *out)
{
	uint64_t less = (0 - v->imm) & prove_ex_mask(v->w);
	bool is_less = less && less <= PTX_MATRIX_START;

	out->above = is_less ? 0 : v->imm & ~(uint64_t)PTX_MATRIX_START;
	out->at = prove_ex_const(e->pool, 32,
				 is_less ? 0 - less * PTX_MATRIX_UNIT
					 : (v->imm & PTX_MATRIX_START) * PTX_MATRIX_UNIT);
	return true;
}

static bool take_turns(struct ev *e, const struct ex *v, unsigned depth, struct part *out)
{
	struct ex_pool *p = e->pool;

	if (v->a[1]->op != EX_CONST || v->a[1]->imm > PTX_MATRIX_START ||
	    !take_apart(e, v->a[0], depth, out))
		return false;
	out->at = prove_ex_ind(p, (enum prove_ex_ind)v->imm, out->at,
			       prove_ex_const(p, 32, v->a[1]->imm * PTX_MATRIX_UNIT), v->a[2]);
	return true;
}

/* The bits that an extension of x puts above it. False: its sign is one of the address's bits. */
static bool copy_sign(const struct ex *v, struct part *x)
{
	unsigned w = v->a[0]->w;

	if (x->above >> (w - 1) & 1)
		x->above |= prove_ex_mask(v->w) & ~prove_ex_mask(w);
	return w > START_BITS;
}

static bool take_apart(struct ev *e, const struct ex *v, unsigned depth, struct part *out)
{
	struct ex_pool *p = e->pool;
	struct part y;

	if (!depth)
		return false;
	depth--;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return take_constant(e, v, out);
	case EX_ADD:
		return add_parts(e, v, depth, out);
	case EX_MUL: /* of a counter, such as the step along k */
		if (v->a[1]->op != EX_CONST || v->a[1]->imm > PTX_MATRIX_START ||
		    !take_apart(e, v->a[0], depth, out) || out->above)
			break;
		out->at = prove_ex_bin(p, EX_MUL, out->at, prove_ex_const(p, 32, v->a[1]->imm));
		return true;
	case EX_OR:
		return !(may_have(v->a[0], 8) & may_have(v->a[1], 8)) &&
		       add_parts(e, v, depth, out);
	case EX_ZEXT:
		return take_apart(e, v->a[0], depth, out);
	case EX_SEXT:
		return take_apart(e, v->a[0], depth, out) && copy_sign(v, out);
	case EX_TRUNC:
		if (!take_apart(e, v->a[0], depth, out))
			return false;
		out->above &= prove_ex_mask(v->w);
		return v->w >= START_BITS;
	case EX_UDIV:
		if (v->a[1]->op == EX_CONST && v->a[1]->imm == PTX_MATRIX_UNIT)
			return take_address(e, v, out);
		break;
	case EX_UREM:
		if (v->a[1]->op != EX_CONST || v->a[1]->imm <= PTX_MATRIX_START ||
		    (v->a[1]->imm & (v->a[1]->imm - 1)))
			break;
		return take_apart(e, v->a[0], depth, out) && mask_part(e, v->a[1]->imm - 1, out);
	case EX_AND:
		return v->a[1]->op == EX_CONST && take_apart(e, v->a[0], depth, out) &&
		       mask_part(e, v->a[1]->imm, out);
	case EX_IND:
		return take_turns(e, v, depth, out);
	case EX_ITE:
		if (!take_apart(e, v->a[1], depth, out) || !take_apart(e, v->a[2], depth, &y))
			return false;
		out->at = prove_ex_ite(p, v->a[0], out->at, y.at);
		return out->above == y.above;
	default:
		break;
	}
	return take_number(e, v, out);
}

/* From the least to the greatest line that units of the matrix are in, which begins `rest` bytes
 * into a line. */
static void find_reach(uint64_t above, const struct ptx_matrix_shape *shape, uint32_t rest,
		       uint32_t *lo, uint32_t *hi)
{
	/* bit 52 is tcgen05's */
	uint64_t desc = (above & ~(1ull << 52)) | rest / PTX_MATRIX_UNIT;
	uint32_t at[PTX_MATRIX_MAX_UNITS], n = ptx_matrix_units(desc, shape, at);
	uint32_t line = ptx_matrix_line(above);

	for (uint32_t i = 0; i < n; i++) {
		*lo = at[i] < *lo ? at[i] / line * line : *lo;
		*hi = at[i] >= *hi ? (at[i] + line) / line * line : *hi;
	}
}

const char *prove_ev_find_matrix(struct ev *e, const struct ex *desc,
				 const struct ptx_matrix_shape *shape, struct ev_matrix *out)
{
	struct ex_pool *p = e->pool;
	struct part x;
	uint32_t lo = UINT32_MAX, hi = 0, apart;
	int rest = -1;

	if (ptx_matrix_count(shape) > PTX_MATRIX_MAX_UNITS || !take_apart(e, desc, MAX_DEPTH, &x))
		return "a descriptor whose offsets and swizzle aren't known numbers";
	uint32_t line = ptx_matrix_line(x.above);
	struct ev_root root = prove_ev_find_root(e, x.at, IR_SHARED);
	if (root.kind != EV_ROOT_OBJECT || rest_of(e, root.base, line, 1) != 0)
		return "a descriptor of a matrix in no array that is aligned to a swizzle's line";
	/* it begins at this byte of a line, or `apart` more, in a loop over k */
	for (apart = line; rest < 0; apart /= 2) {
		rest = rest_of(e, x.at, apart, MAX_DEPTH);
		if (rest >= 0)
			break;
	}
	for (uint32_t r = (uint32_t)rest; r < line; r += apart)
		find_reach(x.above, shape, r, &lo, &hi);
	const struct ex *off = as_32(p, prove_ev_offset(e, x.at, &root));
	const struct ex *n = prove_ex_const(p, 32, line);
	off = apart == line ? prove_ex_const(p, 32, (uint32_t)rest)
			    : prove_ex_bin(p, EX_UREM, off, n);
	out->start = prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_SUB, x.at, off),
				  prove_ex_const(p, 32, lo));
	out->units = (hi - lo) / PTX_MATRIX_UNIT;
	/* bit 52 is tcgen05's */
	out->above = x.above & ~((uint64_t)1 << 52);
	return NULL;
}

/* Numbers with a sign, of 32 bits. */
struct span {
	int64_t lo, hi;
};

static bool span_of(const struct ev *e, const struct ex *v, unsigned depth, struct span *out);

static bool is_small(const struct span *s)
{
	return s->lo >= INT32_MIN && s->hi <= INT32_MAX;
}

static struct span join(struct span x, struct span y)
{
	return (struct span){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

/* The first value and so many times the second. */
static bool add_span(const struct ev *e, const struct ex *const *v, const struct span *times,
		     unsigned depth, struct span *out)
{
	struct span x, y;

	if (!span_of(e, v[0], depth, &x) || !span_of(e, v[1], depth, &y) || !is_small(times))
		return false;
	int64_t end[4] = {times->lo * y.lo, times->lo * y.hi, times->hi * y.lo, times->hi * y.hi};
	struct span sum = {end[0], end[0]};
	for (unsigned i = 1; i < 4; i++)
		sum = join((struct span){end[i], end[i]}, sum);
	*out = (struct span){x.lo + sum.lo, x.hi + sum.hi};
	return is_small(out);
}

/* What v can be, modulo 2^32. False: that isn't known. */
static bool span_of(const struct ev *e, const struct ex *v, unsigned depth, struct span *out)
{
	const struct ex *zero = prove_ex_const(e->pool, 32, 0);
	bool is_counter = v->op == EX_CTR || v->op == EX_KEXIT;
	uint64_t hi = is_counter ? e->loops[v->imm].last : v->hi;
	bool is_known = hi <= INT32_MAX;
	const struct span one = {1, 1}, less = {-1, -1};
	struct span n;

	if (is_known)
		*out = (struct span){(int64_t)v->lo, (int64_t)hi};
	if (!depth || v->w < 32)
		return is_known;
	depth--;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		*out = (struct span){(int32_t)(uint32_t)v->imm, (int32_t)(uint32_t)v->imm};
		return true;
	case EX_ADD:
		return add_span(e, v->a, &one, depth, out);
	case EX_SUB:
		return add_span(e, v->a, &less, depth, out);
	case EX_MUL:
		return span_of(e, v->a[0], depth, &n) &&
		       add_span(e, (const struct ex *const[]){zero, v->a[1]}, &n, depth, out);
	case EX_IND:
		return span_of(e, v->a[2], depth, &n) && add_span(e, v->a, &n, depth, out);
	case EX_ITE:
		if (!span_of(e, v->a[1], depth, out) || !span_of(e, v->a[2], depth, &n))
			return false;
		*out = join(*out, n);
		return true;
	case EX_TRUNC:
		return span_of(e, v->a[0], depth, out);
	default:
		return is_known;
	}
}

void prove_ev_check_matrices(struct ev *e)
{
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *a = &e->accesses.v[i];
		struct span s;
		if (a->mem->matrix && (!span_of(e, a->off, MAX_DEPTH, &s) ||
				       s.lo < MOST_SHARED - START_TURN || s.hi >= START_TURN))
			prove_ir_problem(e->ir, a->step->at,
					 "a descriptor whose start isn't known to stay within 2^18 "
					 "bytes of its array");
	}
}
