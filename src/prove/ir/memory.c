/*
 * memory.c - steps of instructions with an effect: accesses, barriers, fences, lanes (ir.h).
 *
 * Vectors become one access per element. Barrier 0 of all threads is a barrier; a named or partial
 * one, an mbarrier (mbarrier.c), a cluster barrier and a fence may order something, of which order/
 * knows some. What a lane gets from another is a new value. An effect that isn't handled here makes
 * the kernel "could not prove", with its line.
 *
 * Misses: matrix accesses of 4 bits or one, conversions and atomics of surfaces, tcgen05:
 * not modelled yet.
 */
#define _GNU_SOURCE
#include "flow/flow.h"
#include "prove/ir.h"

#include <string.h>

enum ir_space prove_ir_space_of(const struct ptx_form *f)
{
	switch ((enum ptx_space)f->space) {
	case PTX_SPACE_GENERIC:
		return IR_GENERIC;
	case PTX_SPACE_GLOBAL:
		return IR_GLOBAL;
	case PTX_SPACE_SHARED:
		return IR_SHARED;
	case PTX_SPACE_LOCAL:
		return IR_LOCAL;
	case PTX_SPACE_PARAM:
		return IR_PARAM;
	case PTX_SPACE_CONST:
		return IR_CONSTANT;
	default:
		return IR_GENERIC;
	}
}

#define TENSOR "tensor memory and its products (tcgen05) aren't modelled"

/* Of a kernel with tensor memory, which has dozens of such instructions, that is said once. */
static void say_unmodelled(struct ir *ir, const struct ptx_stmt *s)
{
	const struct ptx_str *t = &s->form->text;
	bool is_tensor = t->n > 8 && !memcmp(t->p, "tcgen05.", 8);

	for (size_t i = 0; i < ir->problems.n && is_tensor; i++)
		if (!strcmp(ir->problems.v[i].text, TENSOR))
			return;
	if (is_tensor)
		prove_ir_problem(ir, s, "%s", TENSOR);
	else
		prove_ir_problem(ir, s, "the effect of %.*s is not modelled", (int)t->n, t->p);
}

void prove_ir_unmodelled(struct ir_frame *fr, const struct ptx_stmt *s)
{
	prove_ir_push(fr, IR_UNKNOWN, IR_NONE);
	say_unmodelled(fr->ir, s);
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_DST || ptx_stmt_role(s, i) == PTX_ROLE_INOUT)
			prove_ir_write_unknown(fr, &s->ops[i]);
}

static uint32_t unknown(struct ir_frame *fr, unsigned w)
{
	uint32_t p = prove_ir_new_reg(fr->ir, w);

	prove_ir_push(fr, IR_VAR, p);
	return p;
}

void prove_ir_guard(struct ir_frame *fr, struct ir_step *st)
{
	if (fr->at->pred == PTX_NO_REG)
		return;
	st->pred = prove_ir_before(fr, fr->at->pred);
	st->is_pred_not = fr->at->is_pred_not;
}

static struct ir_access *access_of(struct ir_frame *fr, const struct ptx_stmt *s, unsigned bytes)
{
	const struct ptx_form *f = s->form;
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);

	a->space = (uint8_t)prove_ir_space_of(f);
	a->strength = (uint8_t)flow_strength(f->sem);
	a->is_volatile = f->sem == PTX_SEM_VOLATILE;
	a->scope = (uint8_t)flow_scope(f->sem, f->scope);
	a->is_nc = ptx_form_has(f, PTX_MOD_NC);
	a->bytes = (uint16_t)bytes;
	return a;
}

/* The address of [base + off]: the base's register, and the offset in *off. */
uint32_t prove_ir_base_of(struct ir_frame *fr, const struct ptx_opnd *o, int64_t *off)
{
	*off = o->off;
	if (!o->nsub)
		return IR_NONE;
	if (o->sub[0].kind == PTX_OPND_INT) {
		*off += o->sub[0].imm;
		return prove_ir_operand(fr, &(struct ptx_opnd){.kind = PTX_OPND_INT}, 64);
	}
	unsigned w = 64;
	if (o->sub[0].kind == PTX_OPND_REG)
		w = fr->ir->width.v[fr->reg_base + o->sub[0].reg];
	return prove_ir_operand(fr, &o->sub[0], w);
}

static void lower_load(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	const struct ptx_opnd *dst = &s->ops[0];
	bool is_signed = ptx_type_class((enum ptx_type)f->types[0]) == PTX_CLASS_SINT;
	int64_t off;
	uint32_t base = prove_ir_base_of(fr, &s->ops[1], &off);

	for (unsigned i = 0; i < f->vec; i++) {
		const struct ptx_opnd *to = dst->kind == PTX_OPND_VEC ? &dst->sub[i] : dst;
		struct ir_access *a = access_of(fr, s, f->width);
		uint32_t d = prove_ir_new_reg(fr->ir, f->width > 8 ? 64 : 8u * f->width);
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, d);
		a->kind = RACE_OP_READ;
		a->off = off + (int64_t)i * f->width;
		a->elem = i;
		st->mem = a;
		st->src[0] = base;
		prove_ir_guard(fr, st);
		if (f->width > 8)
			prove_ir_write_unknown(fr, to);
		else
			prove_ir_write(fr, to, d, is_signed);
	}
}

static void lower_store(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	const struct ptx_opnd *src = &s->ops[1];
	int64_t off;
	uint32_t base = prove_ir_base_of(fr, &s->ops[0], &off);

	for (unsigned i = 0; i < f->vec; i++) {
		const struct ptx_opnd *from =
			src->kind == PTX_OPND_VEC && f->vec > 1 ? &src->sub[i] : src;
		struct ir_access *a = access_of(fr, s, f->width);
		uint32_t v = f->width > 8 ? IR_NONE : prove_ir_operand(fr, from, 8u * f->width);
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
		a->kind = RACE_OP_WRITE;
		a->off = off + (int64_t)i * f->width;
		a->elem = i;
		st->mem = a;
		st->src[0] = base;
		st->src[1] = v;
		prove_ir_guard(fr, st);
	}
}

struct ir_step *prove_ir_ticket(struct ir_frame *fr, const struct ir_access *a, uint32_t result,
				uint32_t step)
{
	struct ir_step *st = prove_ir_push(fr, IR_ASSUME, IR_NONE);

	st->imm = IR_ASSUME_TICKET;
	st->mem = a;
	st->src[0] = result;
	st->src[1] = step;
	return st;
}

static void lower_atomic(struct ir_frame *fr, const struct ptx_stmt *s)
{
	unsigned at = s->form->op == PTX_OP_ATOM ? 1 : 0;
	unsigned bytes = s->form->width;
	int64_t off;

	if (!bytes && s->form->ntypes)
		bytes = ptx_type_bytes((enum ptx_type)s->form->types[s->form->ntypes - 1]);
	if (!bytes) {
		prove_ir_unmodelled(fr, s);
		return;
	}
	uint32_t base = prove_ir_base_of(fr, &s->ops[at], &off);
	struct ir_access *a = NULL;
	unsigned halves = prove_ir_halves(s->form), vec = s->form->vec ? s->form->vec : 1;
	bytes /= halves;
	for (unsigned i = 0; i < vec * halves; i++) {
		a = access_of(fr, s, bytes);
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
		a->kind = RACE_OP_RMW;
		a->rmw = (uint8_t)prove_ir_rmw(s->form);
		a->off = off + (int64_t)(i * bytes);
		a->elem = i;
		st->mem = a;
		st->src[0] = base;
		prove_ir_guard(fr, st);
	}
	if (at)
		prove_ir_write_unknown(fr, &s->ops[0]);
	if (a->rmw == IR_RMW_OTHER || s->nops < at + 2 ||
	    (at && (s->ops[0].kind != PTX_OPND_REG || s->ops[0].comp)) || s->pred != PTX_NO_REG ||
	    bytes > 8 || s->form->vec > 1)
		return;
	bool is_cas = a->rmw == IR_RMW_CAS;
	if (is_cas && s->nops < at + 3)
		return;
	uint32_t old = is_cas ? prove_ir_operand(fr, &s->ops[at + 1], 8 * bytes) : IR_NONE;
	uint32_t put = prove_ir_operand(fr, &s->ops[at + 1 + is_cas], 8 * bytes);
	uint32_t got =
		at ? prove_ir_resize(fr, fr->reg_base + s->ops[0].reg, 8 * bytes, false) : IR_NONE;
	prove_ir_ticket(fr, a, got, put)->src[2] = old;
}

static bool is_count(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_INT && o->imm > 0 && o->imm <= UINT16_MAX;
}

/* Not all threads of the CTA may come to this barrier: what has its number is no longer sure. */
static void lower_partial(struct ir_frame *fr, const struct ptx_stmt *s, unsigned at)
{
	struct ir_step *st = prove_ir_push(fr, IR_ORDER, IR_NONE);
	const struct ptx_opnd *number = &s->ops[at];

	st->imm = IR_PARTIAL_ANY;
	if (number->kind == PTX_OPND_INT && number->imm >= 0 && number->imm < IR_NUMBERS)
		st->imm = IR_PARTIAL + (uint64_t)number->imm;
	if (s->pred == PTX_NO_REG && s->nops > at + 1 && is_count(&s->ops[at + 1]))
		st->threads = (uint16_t)s->ops[at + 1].imm;
}

/*
 * __syncthreads(), its counting forms, and numbered barriers. The number may be in a register
 * (cooperative groups), and whether a count is all threads depends on the launch:
 * prove_ev_settle_barriers decides when the kernel is evaluated.
 */
static void lower_barrier(struct ir_frame *fr, const struct ptx_stmt *s)
{
	bool is_red = s->form->op == PTX_OP_BAR_RED || s->form->op == PTX_OP_BARRIER_RED;
	unsigned at = is_red ? 1 : 0, want = is_red ? 3 : 1;
	bool has_count = s->nops == want + 1;
	uint32_t number = IR_NONE;

	const struct ptx_opnd *count = has_count ? &s->ops[at + 1] : NULL;
	bool is_odd = count && !is_count(count);
	if ((s->nops != want && !has_count) || s->pred != PTX_NO_REG || is_odd ||
	    (s->ops[at].kind != PTX_OPND_INT && s->ops[at].kind != PTX_OPND_REG)) {
		if (is_red)
			prove_ir_write_unknown(fr, &s->ops[0]);
		lower_partial(fr, s, at);
		return;
	}
	if (is_red) /* as all that take part are given (9.7.13.1) */
		prove_ir_write_common(fr, &s->ops[0]);
	if (s->ops[at].kind == PTX_OPND_REG || s->ops[at].imm)
		number = prove_ir_operand(fr, &s->ops[at], 32);
	struct ir_step *st = prove_ir_push(fr, IR_BARRIER, IR_NONE);
	st->imm = IR_RANK_CTA;
	st->src[0] = number;
	st->threads = count ? (uint16_t)count->imm : 0;
}

/*
 * cp.async: a load and a store that happen at any time before the thread's next wait. With a size
 * of its own or a predicate it may read less.
 */
static bool lower_copy(struct ir_frame *fr, const struct ptx_stmt *s)
{
	int64_t off[2];
	uint32_t base[2];

	if (s->nops < 3 || s->ops[0].kind != PTX_OPND_ADDR || s->ops[1].kind != PTX_OPND_ADDR ||
	    s->ops[2].kind != PTX_OPND_INT || s->ops[2].imm < 4 || s->ops[2].imm > 16)
		return false;
	for (unsigned i = 0; i < 2; i++)
		base[i] = prove_ir_base_of(fr, &s->ops[i], &off[i]);
	for (unsigned i = 2; i-- > 0;) {
		struct ir_access *a = access_of(fr, s, (unsigned)s->ops[2].imm);
		uint32_t some = IR_NONE, d = IR_NONE;
		if (i && s->nops > 3)
			some = unknown(fr, 1);
		if (i)
			d = prove_ir_new_reg(fr->ir, 64);
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, d);
		a->kind = i ? RACE_OP_READ : RACE_OP_WRITE;
		a->space = i ? IR_GLOBAL : IR_SHARED;
		a->off = off[i];
		a->is_async = true;
		st->mem = a;
		st->src[0] = base[i];
		prove_ir_guard(fr, st);
		if (some != IR_NONE && st->pred == IR_NONE)
			st->pred = some;
	}
	return true;
}

void prove_ir_unknown_results(struct ir_frame *fr, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_DST)
			prove_ir_write_unknown(fr, &s->ops[i]);
}

static bool lower_memory(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;

	if (f->proxy != PTX_PROXY_GENERIC || f->space == PTX_SPACE_SHARED_CLUSTER)
		return false;
	switch (f->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
		if (!f->width || s->nops < 2 || s->ops[1].kind != PTX_OPND_ADDR)
			return false;
		lower_load(fr, s);
		if (f->sem != PTX_SEM_WEAK) /* what it saw may order what follows */
			prove_ir_push(fr, IR_ORDER, IR_NONE);
		return true;
	case PTX_OP_ST:
		if (!f->width || s->nops < 2 || s->ops[0].kind != PTX_OPND_ADDR)
			return false;
		lower_store(fr, s);
		return true;
	case PTX_OP_ATOM:
	case PTX_OP_RED:
		lower_atomic(fr, s);
		prove_ir_push(fr, IR_ORDER, IR_NONE);
		return true;
	default:
		return false;
	}
}

/* ---- matrices ----------------------------------------------------------------------------- */

bool prove_ir_shape(const struct ptx_form *f, unsigned shape[3])
{
	static const char letters[] = "mnk";
	uint32_t at = 0;

	while (at + 2 < f->text.n && !(f->text.p[at] == '.' && f->text.p[at + 1] == 'm' &&
				       f->text.p[at + 2] >= '0' && f->text.p[at + 2] <= '9'))
		at++;
	at++;
	for (unsigned i = 0; i < 3; i++) {
		shape[i] = 0;
		if (at >= f->text.n || f->text.p[at] != letters[i])
			return i == 2;
		for (at++; at < f->text.n && f->text.p[at] >= '0' && f->text.p[at] <= '9'; at++)
			shape[i] = 10 * shape[i] + (unsigned)(f->text.p[at] - '0');
		if (!shape[i] || shape[i] > 256)
			return false;
	}
	return true;
}

static bool has_text(const struct ptx_form *f, const char *part)
{
	return memmem(f->text.p, f->text.n, part, strlen(part)) != NULL;
}

/* An unknown number below n, as 64 bits. */
static uint32_t some_below(struct ir_frame *fr, unsigned n)
{
	uint32_t v = prove_ir_new_reg(fr->ir, 32), c = prove_ir_new_reg(fr->ir, 32);

	prove_ir_push(fr, IR_VAR, v)->w = 32;
	struct ir_step *st = prove_ir_push(fr, IR_CONST, c);
	st->imm = n;
	st->w = 32;
	return prove_ir_value(fr, EX_ZEXT, 64, prove_ir_value(fr, EX_UREM, 32, v, c, IR_NONE),
			      IR_NONE, IR_NONE);
}

static uint32_t number(struct ir_frame *fr, uint64_t n)
{
	uint32_t c = prove_ir_new_reg(fr->ir, 64);
	struct ir_step *st = prove_ir_push(fr, IR_CONST, c);

	st->imm = n;
	st->w = 64;
	return c;
}

static void push_matrix(struct ir_frame *fr, const struct ptx_stmt *s, uint32_t at,
			struct ir_access *a, bool is_load)
{
	uint32_t d = is_load ? prove_ir_new_reg(fr->ir, 64) : IR_NONE;
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, d);

	a->kind = is_load ? RACE_OP_READ : RACE_OP_WRITE;
	a->is_collective = true;
	st->mem = a;
	st->src[0] = at;
	prove_ir_guard(fr, st);
	prove_ir_unknown_results(fr, s);
}

/*
 * wmma.load and wmma.store: which lane accesses which element isn't said (9.7.14.4), so that each
 * may access any. Rows that stand together in memory are `apart` elements from each other.
 */
static bool lower_wmma(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_load = f->op == PTX_OP_WMMA_LOAD, is_row = has_text(f, ".row");
	unsigned shape[3], at = is_load ? 1 : 0, bytes = 0;
	int64_t off;

	if (f->ntypes)
		bytes = ptx_type_bytes((enum ptx_type)f->types[f->ntypes - 1]);
	if (!prove_ir_shape(f, shape) || !bytes || has_text(f, ".s4") || has_text(f, ".u4") ||
	    has_text(f, ".b1") || s->nops < 2 || s->ops[at].kind != PTX_OPND_ADDR)
		return false;
	bool is_a = has_text(f, ".load.a"), is_b = has_text(f, ".load.b");
	unsigned rows = is_b ? shape[2] : shape[0], columns = is_a ? shape[2] : shape[1];
	unsigned outer = is_row ? rows : columns, inner = is_row ? columns : rows;
	if (!outer || !inner)
		return false;
	uint32_t base = prove_ir_base_of(fr, &s->ops[at], &off), apart = number(fr, inner);
	if (s->nops > 2) {
		uint32_t v = prove_ir_operand(fr, &s->ops[2], 32);
		apart = prove_ir_value(fr, EX_ZEXT, 64, v, IR_NONE, IR_NONE);
	}
	if (base == IR_NONE || fr->ir->width.v[base] != 64)
		return false;
	uint32_t e = prove_ir_value(fr, EX_MUL, 64, some_below(fr, outer), apart, IR_NONE);
	e = prove_ir_value(fr, EX_ADD, 64, e, some_below(fr, inner), IR_NONE);
	e = prove_ir_value(fr, EX_MUL, 64, e, number(fr, bytes), IR_NONE);
	struct ir_access *a = access_of(fr, s, bytes);
	a->off = off;
	push_matrix(fr, s, prove_ir_value(fr, EX_ADD, 64, base, e, IR_NONE), a, is_load);
	return true;
}

/* ldmatrix and stmatrix of 8 x 8 elements of 16 bits: each lane names a row of 16 bytes, which any
 * lane may access. */
static bool lower_rows(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_load = f->op == PTX_OP_LDMATRIX;
	unsigned at = is_load ? 1 : 0;
	int64_t off;

	if (!has_text(f, ".m8n8.") || !has_text(f, ".b16") || s->nops < 2 ||
	    s->ops[at].kind != PTX_OPND_ADDR)
		return false;
	uint32_t base = prove_ir_base_of(fr, &s->ops[at], &off);
	struct ir_access *a = access_of(fr, s, 16);
	a->off = off;
	a->is_row = true;
	push_matrix(fr, s, base, a, is_load);
	return base != IR_NONE;
}

/*
 * A surface is memory of its own, behind its handle: byte x of row y in layer z lies at
 * x + y * 2^20 + z * 2^40 there. By the contract accesses stay within it, and no surface is that
 * wide. What is clamped to the surface's edge may be any element.
 */
static bool lower_surface(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_load = f->op == PTX_OP_SULD, is_array = has_text(f, ".a1d") || has_text(f, ".a2d");
	const struct ptx_opnd *o = s->nops == 2 ? &s->ops[is_load] : NULL;
	unsigned dims = has_text(f, ".1d")			    ? 1
			: has_text(f, ".2d") || has_text(f, ".a1d") ? 2
			: has_text(f, ".3d") || has_text(f, ".a2d") ? 3
								    : 0;
	unsigned bytes = f->ntypes ? ptx_type_bytes((enum ptx_type)f->types[0]) : 0;

	bytes *= f->vec ? f->vec : 1;
	if (!o || o->kind != PTX_OPND_ADDR || o->nsub != 2 || o->sub[0].kind != PTX_OPND_REG ||
	    fr->ir->width.v[fr->reg_base + o->sub[0].reg] != 64 || !has_text(f, ".b.") || !dims ||
	    o->sub[1].nsub < dims || !bytes || bytes > 16)
		return false;
	uint32_t at = prove_ir_operand(fr, &o->sub[0], 64);
	for (unsigned i = 0; i < dims; i++) {
		/* of layers the number comes first */
		unsigned d = !is_array ? i : i ? i - 1 : dims - 1;
		uint32_t v = has_text(f, ".clamp") ? unknown(fr, 32)
						   : prove_ir_operand(fr, &o->sub[1].sub[i], 32);
		v = prove_ir_value(fr, EX_ZEXT, 64, v, IR_NONE, IR_NONE);
		v = prove_ir_value(fr, EX_MUL, 64, v, number(fr, 1ull << (20 * d)), IR_NONE);
		at = prove_ir_value(fr, EX_ADD, 64, at, v, IR_NONE);
	}
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	a->kind = is_load ? RACE_OP_READ : RACE_OP_WRITE;
	a->space = IR_GLOBAL;
	a->bytes = (uint16_t)bytes;
	a->is_surface = true;
	struct ir_step *st =
		prove_ir_push(fr, IR_ACCESS, is_load ? prove_ir_new_reg(fr->ir, 64) : IR_NONE);
	st->mem = a;
	st->src[0] = at;
	prove_ir_guard(fr, st);
	if (is_load)
		prove_ir_unknown_results(fr, s);
	return true;
}

static void lower_fence(struct ir_frame *fr, const struct ptx_stmt *s)
{
	struct ir_step *st = prove_ir_push(fr, IR_ORDER, IR_NONE);
	enum race_strength x = flow_strength(s->form->sem);
	bool is_plain = s->form->op == PTX_OP_FENCE || s->form->op == PTX_OP_MEMBAR;

	if (is_plain && s->form->scope != PTX_SCOPE_NONE && s->pred == PTX_NO_REG &&
	    !s->form->has_unknown_mod && (x == RACE_ACQ_REL || x == RACE_SC))
		st->imm = IR_FENCE + (uint64_t)flow_scope(s->form->sem, s->form->scope);
}

/* Between ordinary accesses and copies, in both directions: of all memory, or of one space. */
static void lower_proxy_fence(struct ir_frame *fr, const struct ptx_stmt *s)
{
	struct ir_step *st = prove_ir_push(fr, IR_ORDER, IR_NONE);

	st->imm = IR_FENCE_PROXY;
	st->op = has_text(s->form, ".shared")	? IR_SHARED
		 : has_text(s->form, ".global") ? IR_GLOBAL
						: IR_GENERIC;
	prove_ir_guard(fr, st);
}

void prove_ir_lower_effect(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint32_t effects = s->form->effects;

	switch (s->form->op) {
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BARRIER_SYNC:
	case PTX_OP_BAR_RED:
	case PTX_OP_BARRIER_RED:
		lower_barrier(fr, s);
		return;
	case PTX_OP_BAR_ARRIVE:
	case PTX_OP_BARRIER_ARRIVE:
		lower_partial(fr, s, 0);
		return;
	case PTX_OP_BARRIER_CLUSTER_ARRIVE:
	case PTX_OP_BARRIER_CLUSTER_WAIT:
		prove_ir_push(fr, IR_ORDER, IR_NONE);
		return;
	case PTX_OP_BAR_WARP_SYNC: {
		uint32_t mask = prove_ir_operand(fr, &s->ops[0], 32);
		struct ir_step *st = prove_ir_push(fr, IR_WARP_BARRIER, IR_NONE);
		st->src[0] = mask;
		prove_ir_guard(fr, st);
		return;
	}
	case PTX_OP_ELECT_SYNC:
		if (!prove_ir_lower_elect(fr, s))
			prove_ir_unknown_results(fr, s);
		return;
	case PTX_OP_CP_ASYNC:
		if (!lower_copy(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_WMMA_LOAD:
	case PTX_OP_WMMA_STORE:
		if (!lower_wmma(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
		if (!lower_rows(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_SULD:
	case PTX_OP_SUST:
		if (!lower_surface(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_ALL:
	case PTX_OP_CP_ASYNC_WAIT_GROUP:
	case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		if (!prove_ir_lower_group(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_MBARRIER_INIT:
	case PTX_OP_MBARRIER_INVAL:
	case PTX_OP_MBARRIER_EXPECT_TX:
	case PTX_OP_MBARRIER_COMPLETE_TX:
	case PTX_OP_MBARRIER_ARRIVE:
	case PTX_OP_MBARRIER_ARRIVE_DROP:
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT:
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		prove_ir_lower_mbarrier(fr, s);
		return;
	case PTX_OP_CP_ASYNC_BULK:
		if (!prove_ir_lower_bulk(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_CP_ASYNC_BULK_TENSOR:
	case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
		if (!prove_ir_lower_tensor(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_CP_ASYNC_BULK_PREFETCH:
	case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
		return;
	case PTX_OP_WGMMA_MMA_ASYNC:
	case PTX_OP_WGMMA_MMA_ASYNC_SP:
	case PTX_OP_WGMMA_COMMIT_GROUP:
	case PTX_OP_WGMMA_WAIT_GROUP:
		if (!prove_ir_lower_product(fr, s))
			prove_ir_unmodelled(fr, s);
		return;
	case PTX_OP_WGMMA_FENCE: /* of registers */
		return;
	case PTX_OP_ACTIVEMASK:
	case PTX_OP_TEX:
	case PTX_OP_TLD4:
		prove_ir_unknown_results(fr, s);
		return;
	case PTX_OP_BRKPT:
	case PTX_OP_PMEVENT:
	case PTX_OP_SETMAXNREG:
	case PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS:
		return;
	case PTX_OP_GRIDDEPCONTROL_WAIT:
		prove_ir_push(fr, IR_ORDER, IR_NONE);
		return;
	default:
		break;
	}
	if (s->form->op == PTX_OP_FENCE_PROXY && s->form->proxy == PTX_PROXY_ASYNC &&
	    !has_text(s->form, "::generic")) {
		lower_proxy_fence(fr, s);
		return;
	}
	if (effects == PTX_EFF_FENCE && s->form->proxy == PTX_PROXY_GENERIC) {
		lower_fence(fr, s);
		return;
	}
	if (!(effects & ~(uint32_t)(PTX_EFF_SLEEP | PTX_EFF_PREFETCH)))
		return;
	if (effects == PTX_EFF_CONVERGENT) { /* shuffles, votes, mma: registers only */
		if (!prove_ir_lower_lanes(fr, s))
			prove_ir_unknown_lanes(fr, s);
		return;
	}
	if (!lower_memory(fr, s))
		prove_ir_unmodelled(fr, s);
}
