/*
 * kept.c - registers that an instruction reads and overwrites (ir.h).
 *
 * `ld.v2.u64 {%rd1, %rd2}, [%rd1]`: the second element is at the old %rd1, too. Where an
 * instruction becomes several steps, some read its operands after the first result is written: they
 * find a copy that is made before.
 */
#include "prove/ir.h"

uint32_t prove_ir_before(const struct ir_frame *fr, uint32_t reg)
{
	for (const struct ir_kept *k = fr->kept; k; k = k->next)
		if (k->reg == reg)
			return k->copy;
	return fr->reg_base + reg;
}

/* Does it read the register as a number, an address or its predicate? */
static bool reads(const struct ptx_stmt *s, uint32_t reg)
{
	bool is = s->pred == reg;

	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (o->kind == PTX_OPND_REG && ptx_stmt_role(s, i) != PTX_ROLE_DST)
			is |= o->reg == reg;
		for (unsigned k = 0; o->kind == PTX_OPND_ADDR && k < o->nsub; k++)
			is |= o->sub[k].kind == PTX_OPND_REG && o->sub[k].reg == reg;
	}
	return is;
}

static void keep_overwritten(struct ir_frame *fr, const struct ptx_stmt *s,
			     const struct ptx_opnd *o)
{
	bool is_list = o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PAIR;

	for (unsigned i = 0; i < o->nsub && is_list; i++)
		keep_overwritten(fr, s, &o->sub[i]);
	if (o->kind != PTX_OPND_REG || !reads(s, o->reg))
		return;
	struct ir_kept *k = BASE_NEW(fr->ir->arena, struct ir_kept);
	uint32_t from = fr->reg_base + o->reg;
	*k = (struct ir_kept){fr->kept, o->reg, prove_ir_new_reg(fr->ir, fr->ir->width.v[from])};
	prove_ir_push(fr, IR_COPY, k->copy)->src[0] = from;
	fr->kept = k;
}

void prove_ir_keep_overwritten(struct ir_frame *fr, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_DST &&
		    (s->form->effects || s->ops[i].kind != PTX_OPND_REG))
			keep_overwritten(fr, s, &s->ops[i]);
}
