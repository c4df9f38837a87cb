/*
 * products.c - steps of matrix products of a warpgroup (ir.h).
 *
 * wgmma.mma_async (PTX ISA 9.7.15) reads the matrices in shared memory that its descriptors name,
 * at any time from its issue to the wait for its group: so it is as a copy that reads, of a family
 * of groups of its own. Each thread is held to read all of both matrices, though a warp reads 16
 * rows of A alone: more reads than there are. Accumulators are no memory, and what is in them
 * afterwards isn't known; wgmma.fence is about registers.
 *
 * Misses: which registers are used too early, for which the CPU device has findings of its own.
 */
#define _GNU_SOURCE
#include "prove/ir.h"

#include <string.h>

#define ROWS_OF_A 64

static uint32_t bits_of(enum ptx_type t)
{
	return t == PTX_TYPE_B1 ? 1 : t == PTX_TYPE_TF32 ? 32 : 8 * ptx_type_bytes(t);
}

/* Any unit of the matrix that a descriptor names, in a register. */
static void push_matrix(struct ir_frame *fr, const struct ptx_opnd *desc,
			const struct ptx_matrix_shape *shape, bool is_left)
{
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	struct ptx_matrix_shape *m = BASE_NEW(fr->ir->arena, struct ptx_matrix_shape);
	uint32_t at = prove_ir_operand(fr, desc, 64);

	*m = *shape;
	a->kind = RACE_OP_READ;
	a->space = IR_SHARED;
	a->bytes = PTX_MATRIX_UNIT;
	a->is_async = true;
	a->group = IR_GROUP_PRODUCT;
	a->is_range = true;
	a->base = at;
	a->count = IR_NONE;
	a->matrix = m;
	a->is_left = is_left;
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, prove_ir_new_reg(fr->ir, 64));
	st->mem = a;
	st->src[0] = at;
	prove_ir_guard(fr, st);
}

/* What is transposed: the last operands, of 16 bits alone. */
static bool find_transposed(const struct ptx_stmt *s, bool is_left_here, uint32_t bits,
			    bool is_transposed[2])
{
	is_transposed[0] = is_transposed[1] = false;
	if (bits != 16)
		return true;
	for (unsigned i = 0; i < 1u + is_left_here; i++) {
		const struct ptx_opnd *o = &s->ops[s->nops - 1 - i];
		if (o->kind != PTX_OPND_INT)
			return false;
		is_transposed[1 - i] = o->imm != 0;
	}
	return true;
}

static bool lower_mma(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	bool is_sparse = f->op == PTX_OP_WGMMA_MMA_ASYNC_SP, is_transposed[2];
	unsigned shape[3];

	if (f->has_unknown_mod || f->ntypes != 3 || !prove_ir_shape(f, shape) || s->nops < 5)
		return false;
	uint32_t bits = bits_of((enum ptx_type)f->types[1]);
	bool is_left_here = s->ops[1].kind == PTX_OPND_REG;
	if (!bits || shape[0] != ROWS_OF_A || shape[1] > 256 || shape[1] % 8 ||
	    shape[2] * bits != (is_sparse ? 512 : 256) ||
	    (!is_left_here && s->ops[1].kind != PTX_OPND_VEC) || s->ops[2].kind != PTX_OPND_REG ||
	    !find_transposed(s, is_left_here, bits, is_transposed))
		return false;
	prove_ir_push(fr, IR_TOGETHER, IR_NONE)->imm = 32;
	/* 32 bytes of k: a sparse A has half of the elements */
	struct ptx_matrix_shape a = {.rows = ROWS_OF_A,
				     .k = shape[2] >> is_sparse,
				     .units = 2,
				     .is_transposed = is_transposed[0]};
	struct ptx_matrix_shape b = {.rows = shape[1],
				     .k = shape[2],
				     .units = is_sparse ? 4 : 2,
				     .is_transposed = is_transposed[1]};
	if (is_left_here)
		push_matrix(fr, &s->ops[1], &a, true);
	push_matrix(fr, &s->ops[2], &b, false);
	prove_ir_write_unknown(fr, &s->ops[0]);
	return true;
}

bool prove_ir_lower_product(struct ir_frame *fr, const struct ptx_stmt *s)
{
	bool is_commit = s->form->op == PTX_OP_WGMMA_COMMIT_GROUP;

	if (!is_commit && s->form->op != PTX_OP_WGMMA_WAIT_GROUP)
		return lower_mma(fr, s);
	if (!is_commit && (s->nops != 1 || s->ops[0].kind != PTX_OPND_INT || s->ops[0].imm < 0))
		return false;
	/* it waits for the other warps' shares, too (docs/soundness.md) */
	if (!is_commit)
		prove_ir_push(fr, IR_TOGETHER, IR_NONE)->imm = 128;
	struct ir_step *st = prove_ir_push(fr, is_commit ? IR_COMMIT : IR_WAIT, IR_NONE);
	st->op = IR_GROUP_PRODUCT;
	st->imm = is_commit ? 0 : (uint64_t)s->ops[0].imm;
	prove_ir_guard(fr, st);
	return true;
}
