/*
 * bytes.c - which bytes of a register something depends on.
 *
 * A compiler joins neighbours into one load and takes the register apart again: two halves by mov,
 * bytes by bfe, shr, and, prmt or a narrower store. A byte of a load that nothing takes was read by
 * no thread of the source, and one that is taken under a condition only perhaps (demand.c). So each
 * register has a set of live bytes: those that reach an effect, found backwards from the effects.
 *
 * Followed by place are moves, selects, conversions of integers, bitwise operations, shifts, bit
 * fields and permutations by constants; sums and products take the bytes below. Anything else takes
 * all bytes.
 * Misses: shifts and fields by registers take all.
 * Costs: each use of a register once for every growth of a result's set.
 */
#include "flow/priv.h"

#include <stdlib.h>

static uint32_t low(unsigned n)
{
	return n >= 32 ? UINT32_MAX : (1u << n) - 1;
}

static unsigned size_of(const struct flow *fl, uint32_t reg)
{
	unsigned n = reg < fl->f->nregs ? ptx_type_bytes((enum ptx_type)fl->f->reg_type[reg]) : 0;

	return n ? n : 16;
}

static bool is_int(const struct ptx_stmt *u, unsigned i)
{
	return i < u->nops && u->ops[i].kind == PTX_OPND_INT;
}

/* The bytes of an operand of `size` bytes that `live` bytes of the result have `n` bits below. */
static uint32_t moved(uint32_t live, int n, unsigned size)
{
	uint32_t out = 0;

	for (int j = 0; j < 16; j++) {
		int from = 8 * j + n, to = from + 7;
		if (!(live >> j & 1))
			continue;
		for (int i = 0; i < (int)size; i++)
			out |= (uint32_t)(8 * i <= to && from <= 8 * i + 7) << i;
	}
	return out;
}

/* The bytes that have a bit of [from, to). */
static uint32_t bytes_within(int64_t from, int64_t to)
{
	uint32_t out = 0;

	for (int i = 0; i < 16; i++)
		out |= (uint32_t)(8 * i < to && from < 8 * i + 8) << i;
	return out;
}

static uint32_t up_to_highest(uint32_t live)
{
	return live ? low(32u - (unsigned)__builtin_clz(live)) : 0;
}

static bool is_signed(uint8_t type)
{
	return ptx_type_class((enum ptx_type)type) == PTX_CLASS_SINT;
}

static bool is_float(uint8_t type)
{
	enum ptx_type_class c = ptx_type_class((enum ptx_type)type);

	return c == PTX_CLASS_FLOAT || c == PTX_CLASS_PACKED;
}

/* A result as wide as `size` bytes in a register, and what an extension of its sign makes of it. */
static uint32_t extended(uint32_t live, unsigned size, bool is_sign)
{
	return (live & low(size)) | (is_sign && live & ~low(size) ? 1u << (size - 1) : 0);
}

/* ---- by operation ------------------------------------------------------------------------ */

static uint32_t of_logic(const struct ptx_stmt *u, unsigned i, uint32_t live, unsigned size)
{
	if (u->nops != 3 || !is_int(u, 3 - i) || u->form->op == PTX_OP_XOR)
		return live;
	uint64_t imm = (uint64_t)u->ops[3 - i].imm, none = u->form->op == PTX_OP_AND ? 0 : 0xff;
	uint32_t out = 0;

	for (unsigned j = 0; j < size && j < 8; j++)
		out |= (uint32_t)((imm >> 8 * j & 0xff) != none) << j;
	return live & out;
}

static uint32_t of_shift(const struct ptx_stmt *u, uint32_t live, unsigned size)
{
	int64_t n = u->ops[2].imm;
	bool is_right = u->form->op == PTX_OP_SHR, is_sign = is_signed(u->form->types[0]);

	if (n < 0 || n > 255)
		return low(size);
	uint32_t out = moved(live & low(size), (int)(is_right ? n : -n), size);
	/* What comes in from above: the sign. */
	if (is_right && is_sign && moved(live, (int)n, 31) & ~low(size))
		out |= 1u << (size - 1);
	return out;
}

static uint32_t of_conversion(const struct ptx_stmt *u, uint32_t live)
{
	uint8_t to = u->form->types[0], from = u->form->types[1];
	unsigned m = ptx_type_bytes((enum ptx_type)to), n = ptx_type_bytes((enum ptx_type)from);

	if (!m || !n)
		return UINT32_MAX;
	if (is_float(to) || is_float(from) || ptx_form_has(u->form, PTX_MOD_SAT))
		return live ? low(n) : 0;
	live = extended(live, m, is_signed(to));
	return m > n ? extended(live, n, is_signed(from)) : live;
}

static uint32_t of_field(const struct ptx_stmt *u, uint32_t live, unsigned size)
{
	int64_t at = u->ops[2].imm & 0xff, n = u->ops[3].imm & 0xff;
	uint32_t out = 0;

	for (int j = 0; j < (int)size; j++) {
		int64_t from = 8 * j, to = from + 8 < n ? from + 8 : n;
		if (live >> j & 1 && from < to)
			out |= bytes_within(at + from, at + to);
	}
	if (is_signed(u->form->types[0]) && live && n)
		out |= bytes_within(at + n - 1, at + n) | 1u << (size - 1);
	return out & low(size);
}

static uint32_t of_permutation(const struct ptx_stmt *u, unsigned i, uint32_t live)
{
	uint32_t out = 0;

	for (unsigned j = 0; j < 4; j++) {
		uint64_t from = (uint64_t)u->ops[3].imm >> 4 * j & 7;
		if (live >> j & 1 && from / 4 == i - 1)
			out |= 1u << from % 4;
	}
	return out;
}

static uint32_t of_insertion(const struct ptx_stmt *u, unsigned i, uint32_t live, unsigned size)
{
	int64_t at = u->ops[3].imm & 0xff, n = u->ops[4].imm & 0xff;
	uint32_t out = 0;

	if (i == 1)
		return moved(live & bytes_within(at, at + n), (int)-at, size);
	for (int j = 0; j < (int)size; j++) {
		bool is_covered = at <= 8 * j && 8 * j + 8 <= at + n;
		out |= (uint32_t)(live >> j & 1 && !is_covered) << j;
	}
	return out;
}

/* The bytes of operand i that the live bytes of the result depend on. */
static uint32_t of_operand(const struct ptx_stmt *u, unsigned i, uint32_t live)
{
	const struct ptx_form *fm = u->form;
	unsigned size = ptx_type_bytes((enum ptx_type)fm->types[0]);
	bool is_sum = !is_float(fm->types[0]) && !ptx_form_has(fm, PTX_MOD_SAT);

	if (!live)
		return 0;
	if (size < 2)
		return UINT32_MAX;
	switch (fm->op) {
	case PTX_OP_MOV:
	case PTX_OP_NOT:
		return live;
	case PTX_OP_SELP:
		return i <= 2 ? live : UINT32_MAX;
	case PTX_OP_LOP3:
		return u->ops[0].kind == PTX_OPND_REG && u->nops == 5 ? live : UINT32_MAX;
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
		return of_logic(u, i, live, size);
	case PTX_OP_SHL:
	case PTX_OP_SHR:
		return i == 1 && is_int(u, 2) ? of_shift(u, live, size) : UINT32_MAX;
	case PTX_OP_CVT:
		return of_conversion(u, live);
	case PTX_OP_BFE:
		return i == 1 && is_int(u, 2) && is_int(u, 3) ? of_field(u, live, size)
							      : UINT32_MAX;
	case PTX_OP_BFI:
		return i <= 2 && is_int(u, 3) && is_int(u, 4) ? of_insertion(u, i, live, size)
							      : UINT32_MAX;
	case PTX_OP_PRMT:
		return i <= 2 && is_int(u, 3) && ptx_str_eq(fm->text, PTX_STR("prmt.b32"))
			       ? of_permutation(u, i, live)
			       : UINT32_MAX;
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_NEG:
		return is_sum ? up_to_highest(live) : UINT32_MAX;
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		return is_sum && ptx_form_has(fm, PTX_MOD_LO) ? up_to_highest(live) : UINT32_MAX;
	default:
		return UINT32_MAX;
	}
}

/* ---- statements -------------------------------------------------------------------------- */

/* What is asked of the results: all live bytes, where they are surely used alone, or some bytes of
 * one of them. */
struct results {
	struct flow *fl;
	const struct ptx_stmt *u;
	bool sure_only;
	uint32_t reg, bytes; /* reg: PTX_NO_REG for all */
	uint32_t live;	     /* the answer */
};

static uint32_t live_result(const struct results *r, uint32_t reg)
{
	struct flow_priv *pr = r->fl->priv;
	uint32_t d = r->sure_only ? flow_def_of(r->fl, r->u, reg) : 0;

	if (reg >= pr->nregs || (r->sure_only && (d == FLOW_NONE || !pr->sure[d])))
		return 0;
	if (r->reg != PTX_NO_REG)
		return reg == r->reg ? r->bytes : 0;
	return pr->live[reg];
}

static void add_result(uint32_t reg, bool is_write, void *arg)
{
	struct results *r = arg;

	if (is_write)
		r->live |= live_result(r, reg);
}

/* mov.b64 {a, b}, v. */
static uint32_t of_parting(const struct results *r, const struct ptx_stmt *u)
{
	unsigned n = ptx_type_bytes((enum ptx_type)u->form->types[0]) / u->ops[0].nsub;
	uint32_t out = 0;

	for (unsigned k = 0; k < u->ops[0].nsub; k++)
		if (u->ops[0].sub[k].kind == PTX_OPND_REG)
			out |= (live_result(r, u->ops[0].sub[k].reg) & low(n)) << k * n;
	return out;
}

/* mov.b64 v, {a, b}. */
static uint32_t of_packing(const struct ptx_stmt *u, uint32_t reg, uint32_t live)
{
	unsigned n = ptx_type_bytes((enum ptx_type)u->form->types[0]) / u->ops[1].nsub;
	uint32_t out = 0;

	for (unsigned k = 0; k < u->ops[1].nsub; k++)
		if (u->ops[1].sub[k].kind == PTX_OPND_REG && u->ops[1].sub[k].reg == reg)
			out |= live >> k * n & low(n);
	return out;
}

/* A narrow store takes the low bytes of what it stores. */
static uint32_t of_effect(const struct ptx_stmt *u, uint32_t reg)
{
	bool is_store = u->form->op == PTX_OP_ST && u->form->width && u->nops >= 2;

	if (!is_store || u->pred == reg || flow_mentions(&u->ops[0], reg))
		return UINT32_MAX;
	return low(u->form->width);
}

static bool sets_carry(const struct ptx_stmt *s)
{
	return ptx_form_has(s->form, PTX_MOD_CC);
}

static uint32_t taken(struct results *r, uint32_t reg)
{
	const struct ptx_stmt *u = r->u;
	uint32_t all = low(size_of(r->fl, reg)), out = 0;
	bool is_move = flow_is_parting(u) || flow_is_packing(u);

	if (!flow_is_pure(u) || (sets_carry(u) && !r->sure_only))
		return of_effect(u, reg) & all;
	ptx_each_reg(u, add_result, r);
	if ((u->pred == reg || sets_carry(u)) && r->live)
		return all;
	if (flow_is_parting(u))
		out = of_parting(r, u);
	else if (flow_is_packing(u))
		out = of_packing(u, reg, r->live);
	for (unsigned i = 1; i < u->nops && !is_move; i++)
		if (u->ops[i].kind == PTX_OPND_REG && u->ops[i].reg == reg && !u->ops[i].comp)
			out |= of_operand(u, i, r->live);
		else if (flow_mentions(&u->ops[i], reg) && r->live)
			out = UINT32_MAX;
	return out & all;
}

/* ---- all registers ------------------------------------------------------------------------- */

struct solver {
	struct flow *fl;
	const struct ptx_stmt *u;
	uint8_t *queued;
	uint32_t *stack, n;
};

static void grow(uint32_t reg, bool is_write, void *arg)
{
	struct solver *s = arg;
	struct flow_priv *pr = s->fl->priv;

	if (is_write || reg >= pr->nregs)
		return;
	uint32_t all = pr->live[reg] | flow_taken_bytes(s->fl, s->u, reg);
	if (all == pr->live[reg])
		return;
	pr->live[reg] = all;
	if (!s->queued[reg])
		s->stack[s->n++] = reg;
	s->queued[reg] = 1;
}

/* ======================================================================== */

void flow_need_live_bytes(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	struct solver s = {.fl = fl};

	if (pr->live)
		return;
	flow_need_defuse(fl);
	pr->live = BASE_NEWN(fl->arena, uint32_t, pr->nregs + 1u);
	s.stack = base_malloc(sizeof(*s.stack) * (pr->nregs + 1u));
	s.queued = base_calloc(pr->nregs + 1u, 1);
	for (uint32_t i = 0; i < pr->nstmts; i++) {
		s.u = pr->stmt[i];
		if (s.u->kind == PTX_STMT_INST && !s.u->inserted &&
		    (!flow_is_pure(s.u) || sets_carry(s.u)))
			ptx_each_reg(s.u, grow, &s);
	}
	while (s.n) {
		uint32_t reg = s.stack[--s.n];
		s.queued[reg] = 0;
		for (uint32_t k = pr->def_off[reg]; k < pr->def_off[reg + 1]; k++) {
			s.u = pr->def[k];
			ptx_each_reg(s.u, grow, &s);
		}
	}
	free(s.stack);
	free(s.queued);
}

uint32_t flow_live_bytes(struct flow *fl, uint32_t reg)
{
	flow_need_live_bytes(fl);
	return reg < fl->priv->nregs ? fl->priv->live[reg] : 0;
}

uint32_t flow_taken_bytes(struct flow *fl, const struct ptx_stmt *u, uint32_t reg)
{
	struct results r = {fl, u, false, PTX_NO_REG, 0, 0};

	flow_need_live_bytes(fl);
	return taken(&r, reg);
}

uint32_t flow_bytes_for(struct flow *fl, const struct ptx_stmt *u, uint32_t reg, uint32_t to,
			uint32_t bytes)
{
	struct results r = {fl, u, false, to, bytes, 0};

	return taken(&r, reg);
}

uint32_t flow_surely_taken(struct flow *fl, const struct ptx_stmt *u, uint32_t reg)
{
	struct results r = {fl, u, true, PTX_NO_REG, 0, 0};

	return fl->blocks[u->mark].can_exit ? taken(&r, reg) : 0;
}

/* Does the statement take a register apart, and more than one part counts? */
static bool has_live_parts(struct flow *fl, const struct ptx_stmt *u)
{
	unsigned n = 0;

	for (unsigned k = 0; flow_is_parting(u) && k < u->ops[0].nsub; k++)
		n += u->ops[0].sub[k].kind == PTX_OPND_REG &&
		     flow_live_bytes(fl, u->ops[0].sub[k].reg);
	return n > 1;
}

bool flow_is_whole(struct flow *fl, uint32_t reg)
{
	uint32_t n, live = flow_live_bytes(fl, reg);
	struct ptx_stmt *const *uses = flow_uses(fl, reg, &n);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = flow_taken_bytes(fl, uses[i], reg);
		if (t && (t != live || has_live_parts(fl, uses[i])))
			return false;
	}
	return true;
}

uint32_t flow_element_bytes(const struct ptx_form *fm, uint32_t bytes)
{
	bool is_sign = is_signed(fm->types[fm->ntypes ? fm->ntypes - 1u : 0]);

	return fm->width ? extended(bytes, fm->width, is_sign) : bytes;
}
