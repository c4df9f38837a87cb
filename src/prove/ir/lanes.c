/*
 * lanes.c - what a warp's lanes give each other: shuffles and votes, and masks of lanes (ir.h).
 *
 * To the analysis of one thread the result is a new value at each execution. Its step names what
 * goes in, so that a whole block can be run (ranks/).
 *
 * Misses: reductions (redux), matches, and instructions under a predicate are new values only.
 */
#include "prove/ir.h"

uint32_t prove_ir_lanemask(struct ir_frame *fr, struct ptx_str name)
{
	/* lanes below, and with the own one: 2^lane - 1, 2^(lane + 1) - 1; else the rest */
	bool is_lt = ptx_str_is(name, "%lanemask_lt"), is_le = ptx_str_is(name, "%lanemask_le");
	bool is_ge = ptx_str_is(name, "%lanemask_ge"), is_gt = ptx_str_is(name, "%lanemask_gt");
	bool is_eq = ptx_str_is(name, "%lanemask_eq");

	if (!is_lt && !is_le && !is_ge && !is_gt && !is_eq)
		return IR_NONE;
	uint32_t first = prove_ir_const(fr, 32, is_le || is_gt ? 2 : 1);
	uint32_t v = prove_ir_bin(fr, EX_SHL, first, prove_ir_lane(fr));
	if (is_eq)
		return v;
	v = prove_ir_bin(fr, EX_SUB, v, prove_ir_const(fr, 32, 1));
	return is_ge || is_gt ? prove_ir_value(fr, EX_NOT, 32, v, IR_NONE, IR_NONE) : v;
}

static void write_lanes(struct ir_frame *fr, const struct ptx_opnd *dst, uint64_t kind,
			const uint32_t *src)
{
	uint32_t d = prove_ir_new_reg(fr->ir, 32);
	struct ir_step *st = prove_ir_push(fr, IR_VAR, d);

	st->imm = kind;
	for (unsigned i = 0; i < 3; i++)
		st->src[i] = src[i];
	prove_ir_write(fr, dst, d, false);
}

/* shfl.sync.MODE.b32 d[|p], a, b, c, mask */
static bool lower_shuffle(struct ir_frame *fr, const struct ptx_stmt *s)
{
	const struct ptx_opnd *d = &s->ops[0];
	enum ir_lanes kind = ptx_form_has(s->form, PTX_MOD_UP)	   ? IR_LANES_UP
			     : ptx_form_has(s->form, PTX_MOD_DOWN) ? IR_LANES_DOWN
			     : ptx_form_has(s->form, PTX_MOD_BFLY) ? IR_LANES_XOR
								   : IR_LANES_OF;

	if (s->nops != 5 || (d->kind != PTX_OPND_REG && (d->kind != PTX_OPND_PAIR || d->nsub != 2)))
		return false;
	uint32_t src[] = {prove_ir_operand(fr, &s->ops[1], 32),
			  prove_ir_operand(fr, &s->ops[2], 32),
			  prove_ir_operand(fr, &s->ops[4], 32)};
	uint32_t segment = prove_ir_resize(fr, prove_ir_operand(fr, &s->ops[3], 32), 64, false);
	segment = prove_ir_bin(fr, EX_SHL, segment, prove_ir_const(fr, 64, 32));
	src[2] = prove_ir_bin(fr, EX_OR, prove_ir_resize(fr, src[2], 64, false), segment);
	if (d->kind == PTX_OPND_PAIR)
		prove_ir_write_unknown(fr, &d->sub[1]);
	d = d->kind == PTX_OPND_PAIR ? &d->sub[0] : d;
	if (d->kind == PTX_OPND_REG)
		write_lanes(fr, d, kind, src);
	return true;
}

bool ir_waits_for_lanes(const struct ptx_stmt *s)
{
	switch (s && s->form ? (enum ptx_op)s->form->op : PTX_OP_BRKPT) {
	case PTX_OP_SHFL_SYNC:
	case PTX_OP_VOTE_SYNC:
	case PTX_OP_MATCH_ANY_SYNC:
	case PTX_OP_MATCH_ALL_SYNC:
	case PTX_OP_REDUX_SYNC:
		return true;
	default:
		return false;
	}
}

/* The mask is the last operand; it stands where a shuffle has it. */
void prove_ir_unknown_lanes(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint32_t mask = IR_NONE;

	if (ir_waits_for_lanes(s) && s->nops && s->pred == PTX_NO_REG)
		mask = prove_ir_operand(fr, &s->ops[s->nops - 1], 32);
	size_t from = fr->ir->steps.n;
	prove_ir_unknown_results(fr, s);
	for (size_t i = from; i < fr->ir->steps.n && mask != IR_NONE; i++) {
		struct ir_step *st = &fr->ir->steps.v[i];
		if (st->kind != IR_VAR)
			continue;
		st->src[2] = mask;
		return;
	}
}

bool prove_ir_lower_lanes(struct ir_frame *fr, const struct ptx_stmt *s)
{
	if (s->pred != PTX_NO_REG)
		return false;
	if (s->form->op == PTX_OP_SHFL_SYNC)
		return lower_shuffle(fr, s);
	if (s->form->op != PTX_OP_VOTE_SYNC || !ptx_form_has(s->form, PTX_MOD_BALLOT) ||
	    s->nops != 3 || s->ops[0].kind != PTX_OPND_REG)
		return false;
	/* the mask stands where a shuffle has it */
	const uint32_t p = prove_ir_operand(fr, &s->ops[1], 1);
	const uint32_t src[] = {p, p, prove_ir_operand(fr, &s->ops[2], 32)};
	write_lanes(fr, &s->ops[0], IR_LANES_VOTE, src);
	return true;
}
