/*
 * mbarrier.c - steps of operations on mbarriers, and of bulk copies that they wait for (ir.h).
 *
 * An operation on an mbarrier is an IR_ORDER that says what it does and at which address;
 * order/mbarriers.c knows what that orders. The object itself is opaque: nothing else may access it
 * (PTX ISA 9.7.13.15).
 *
 * A bulk copy from global to shared memory (9.7.9.25) reads and writes any byte of its range, at
 * any time from its issue to the completion of the mbarrier's phase; one the other way until the
 * thread's wait for its group.
 *
 * A tensor copy's box only the host's map says: its bytes are an IR_BOX, which boxes.c finds. In
 * global memory it accesses what the map names, which is apart from all else by the contract.
 *
 * Misses: copies that are masked, multicast or of im2col::w, that reduce into shared memory or go
 * to another block: not modelled. Arrivals of a count other than 1, relaxed operations, those in
 * other blocks, cp.async that arrive without .noinc: may be anything.
 */
#define _GNU_SOURCE
#include "flow/flow.h"
#include "prove/ir.h"

#include <string.h>

static bool has_text(const struct ptx_form *f, const char *part)
{
	return memmem(f->text.p, f->text.n, part, strlen(part)) != NULL;
}

/* The step of an operation on the mbarrier at an address. */
static struct ir_mbar *push_mbar(struct ir_frame *fr, enum ir_mbar_kind kind,
				 const struct ptx_opnd *addr, enum ir_space space)
{
	struct ir_mbar *m = BASE_NEW(fr->ir->arena, struct ir_mbar);
	int64_t off = 0;

	m->kind = kind;
	m->space = (uint8_t)space;
	m->arg = m->result = m->count = IR_NONE;
	m->addr = addr ? prove_ir_base_of(fr, addr, &off) : IR_NONE;
	m->off = off;
	if (m->addr == IR_NONE)
		m->kind = IR_MBAR_OTHER;
	struct ir_step *st = prove_ir_push(fr, IR_ORDER, IR_NONE);
	st->mbar = m;
	prove_ir_guard(fr, st);
	return m;
}

static enum ir_mbar_kind kind_of(const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_own = f->space == PTX_SPACE_GENERIC || f->space == PTX_SPACE_SHARED;

	if (!is_own || f->has_unknown_mod)
		return IR_MBAR_OTHER;
	switch (f->op) {
	case PTX_OP_MBARRIER_INIT:
		return IR_MBAR_INIT;
	case PTX_OP_MBARRIER_INVAL:
		return IR_MBAR_INVAL;
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		return has_text(f, ".noinc") ? IR_MBAR_ARRIVE_ASYNC : IR_MBAR_OTHER;
	case PTX_OP_MBARRIER_ARRIVE:
		return f->sem == PTX_SEM_RELEASE && !has_text(f, ".noComplete") ? IR_MBAR_ARRIVE
										: IR_MBAR_OTHER;
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT:
		return f->sem == PTX_SEM_ACQUIRE && s->ops[0].kind == PTX_OPND_REG &&
				       s->pred == PTX_NO_REG && s->nops >= 3
			       ? IR_MBAR_WAIT
			       : IR_MBAR_OTHER;
	default:
		return IR_MBAR_OTHER;
	}
}

void prove_ir_lower_mbarrier(struct ir_frame *fr, const struct ptx_stmt *s)
{
	enum ir_mbar_kind kind = kind_of(s);
	unsigned at = 0;

	while (at < s->nops && s->ops[at].kind != PTX_OPND_ADDR)
		at++;
	/* a wait that isn't understood orders nothing, and changes nothing */
	bool is_wait =
		s->form->op == PTX_OP_MBARRIER_TEST_WAIT || s->form->op == PTX_OP_MBARRIER_TRY_WAIT;
	uint32_t arg = IR_NONE;
	bool is_parity = has_text(s->form, ".parity");
	bool has_arg = kind == IR_MBAR_INIT || kind == IR_MBAR_WAIT ||
		       (kind == IR_MBAR_ARRIVE && has_text(s->form, ".expect_tx"));
	if (has_arg && at + 1 < s->nops)
		arg = prove_ir_operand(fr, &s->ops[at + 1],
				       kind == IR_MBAR_WAIT && !is_parity ? 64 : 32);
	else if (has_arg)
		kind = IR_MBAR_OTHER;
	uint32_t count = kind == IR_MBAR_ARRIVE && !has_arg && at + 1 < s->nops
				 ? prove_ir_operand(fr, &s->ops[at + 1], 32)
				 : IR_NONE;
	prove_ir_unknown_results(fr, s);
	if (kind == IR_MBAR_OTHER && is_wait) {
		prove_ir_push(fr, IR_ORDER, IR_NONE);
		return;
	}
	struct ir_mbar *m =
		push_mbar(fr, kind, at < s->nops ? &s->ops[at] : NULL, prove_ir_space_of(s->form));
	m->arg = arg;
	m->count = count;
	m->is_parity = is_parity;
	if (kind != IR_MBAR_INIT && s->ops[0].kind == PTX_OPND_REG)
		m->result = fr->reg_base + s->ops[0].reg;
}

uint32_t prove_ir_byte_of(struct ir_frame *fr, uint32_t base, uint32_t bytes)
{
	uint32_t v = prove_ir_new_reg(fr->ir, 32);

	prove_ir_push(fr, IR_VAR, v)->w = 32;
	v = prove_ir_value(fr, EX_UREM, 32, v, bytes, IR_NONE);
	if (fr->ir->width.v[base] == 64)
		v = prove_ir_value(fr, EX_ZEXT, 64, v, IR_NONE, IR_NONE);
	return prove_ir_value(fr, EX_ADD, fr->ir->width.v[base], base, v, IR_NONE);
}

/* The one side of a copy of `bytes` (a register); group: COPY, as it is in none, or BULK. */
static void push_half(struct ir_frame *fr, uint32_t base, int64_t off, uint32_t bytes,
		      enum race_op_kind kind, enum ir_group group)
{
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	bool is_read = kind == RACE_OP_READ;
	uint32_t here = prove_ir_new_reg(fr->ir, fr->ir->width.v[base]);
	uint32_t addr = prove_ir_byte_of(fr, base, bytes);

	/* as it is here, whatever the register holds later in the block (boxes.c) */
	prove_ir_push(fr, IR_COPY, here)->src[0] = base;
	struct ir_step *st =
		prove_ir_push(fr, IR_ACCESS, is_read ? prove_ir_new_reg(fr->ir, 8) : IR_NONE);
	a->kind = (uint8_t)kind;
	a->space = is_read == (group == IR_GROUP_COPY) ? IR_GLOBAL : IR_SHARED;
	a->bytes = 1;
	a->off = off;
	a->is_bulk = group == IR_GROUP_COPY;
	a->is_async = !a->is_bulk;
	a->group = (uint8_t)group;
	a->is_range = true;
	a->base = here;
	a->count = bytes;
	st->mem = a;
	st->src[0] = addr;
	prove_ir_guard(fr, st);
}

bool prove_ir_lower_bulk(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_load = has_text(f, ".global.mbarrier::complete_tx::bytes");
	bool is_store = has_text(f, ".global.shared::cta.bulk_group");
	bool is_odd = has_text(f, ".multicast") || has_text(f, ".cp_mask") ||
		      has_text(f, ".ignore_oob") || f->has_unknown_mod;
	int64_t off[2];
	uint32_t base[2];

	if (is_odd || is_load == is_store || s->nops < 3u + is_load ||
	    s->ops[0].kind != PTX_OPND_ADDR || s->ops[1].kind != PTX_OPND_ADDR ||
	    (is_load && s->ops[3].kind != PTX_OPND_ADDR))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		base[i] = prove_ir_base_of(fr, &s->ops[i], &off[i]);
		if (base[i] == IR_NONE)
			return false;
	}
	uint32_t bytes = prove_ir_operand(fr, &s->ops[2], 32);
	enum ir_group group = is_load ? IR_GROUP_COPY : IR_GROUP_BULK;
	push_half(fr, base[1], off[1], bytes, RACE_OP_READ, group);
	push_half(fr, base[0], off[0], bytes, RACE_OP_WRITE, group);
	if (is_load)
		push_mbar(fr, IR_MBAR_COPY, &s->ops[3], IR_SHARED)->arg = bytes;
	return true;
}

/* The bytes of a tensor map's box. */
static uint32_t push_box(struct ir_frame *fr, bool is_most)
{
	uint32_t v = prove_ir_new_reg(fr->ir, 32);
	struct ir_step *st = prove_ir_push(fr, IR_BOX, v);

	st->w = 32;
	st->op = is_most ? IR_MOST : 0;
	return v;
}

/* The shared half of a tensor copy, or of one that reduces what a map names. With im2col the map
 * says otherwise which elements the box has, which are as many in shared memory. */
bool prove_ir_lower_tensor(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_load = has_text(f, ".mbarrier::complete_tx::bytes");
	bool is_store = has_text(f, ".global.shared::cta") && has_text(f, ".bulk_group");
	unsigned at = is_load ? 0 : 1;
	int64_t off;

	if (is_load == is_store || has_text(f, ".multicast") || has_text(f, ".im2col::w") ||
	    has_text(f, ".cta_group") || has_text(f, "::gather") || has_text(f, "::scatter") ||
	    f->has_unknown_mod || s->nops < 2u + is_load || s->ops[at].kind != PTX_OPND_ADDR ||
	    (is_load && s->ops[2].kind != PTX_OPND_ADDR))
		return false;
	uint32_t base = prove_ir_base_of(fr, &s->ops[at], &off);
	if (base == IR_NONE)
		return false;
	uint32_t bytes = push_box(fr, is_store);
	push_half(fr, base, off, bytes, is_load ? RACE_OP_WRITE : RACE_OP_READ,
		  is_load ? IR_GROUP_COPY : IR_GROUP_BULK);
	if (is_load)
		push_mbar(fr, IR_MBAR_COPY, &s->ops[2], IR_SHARED)->arg = bytes;
	return true;
}

/* Of copies: one more group, or a wait for all but the latest N. */
bool prove_ir_lower_group(struct ir_frame *fr, const struct ptx_stmt *s)
{
	enum ptx_op op = (enum ptx_op)s->form->op;
	bool is_all = op == PTX_OP_CP_ASYNC_WAIT_ALL;
	bool is_bulk_wait = op == PTX_OP_CP_ASYNC_BULK_WAIT_GROUP;
	bool is_wait = op == PTX_OP_CP_ASYNC_WAIT_GROUP || is_bulk_wait;

	if (is_wait && (!s->nops || s->ops[0].kind != PTX_OPND_INT || s->ops[0].imm < 0))
		return false;
	struct ir_step *st = prove_ir_push(fr, is_all || is_wait ? IR_WAIT : IR_COMMIT, IR_NONE);
	st->imm = is_all ? IR_WAIT_ALL : is_wait ? (uint64_t)s->ops[0].imm : 0;
	if (is_bulk_wait && has_text(s->form, ".read"))
		st->op = IR_GROUP_BULK_READ;
	else if (is_bulk_wait || op == PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP)
		st->op = IR_GROUP_BULK;
	prove_ir_guard(fr, st);
	return true;
}

/* A kernel waits for its cp.async by mbarriers, or by groups; where it does both, groups count and
 * what such an arrival does isn't known. */
void prove_ir_find_arriving(struct ir *ir)
{
	bool has_arrivals = false, has_waits = false;

	for (size_t i = 0; i < ir->steps.n; i++) {
		const struct ir_step *st = &ir->steps.v[i];
		has_arrivals |= st->mbar && st->mbar->kind == IR_MBAR_ARRIVE_ASYNC;
		has_waits |= st->kind == IR_WAIT && st->op == IR_GROUP_COPY;
	}
	for (size_t i = 0; i < ir->steps.n && has_arrivals; i++) {
		struct ir_step *st = &ir->steps.v[i];
		if (has_waits && st->mbar && st->mbar->kind == IR_MBAR_ARRIVE_ASYNC) {
			struct ir_mbar *m = base_alloc(ir->arena, sizeof(*m));
			*m = *st->mbar;
			m->kind = IR_MBAR_OTHER;
			st->mbar = m;
		}
		if (has_waits || st->kind != IR_ACCESS || !st->mem->is_async ||
		    st->mem->group != IR_GROUP_COPY)
			continue;
		struct ir_access *a = base_alloc(ir->arena, sizeof(*a));
		*a = *st->mem;
		a->is_async = false;
		a->is_bulk = true;
		st->mem = a;
	}
}
