/*
 * sum.c - a loaded value that goes into a sum.
 *
 * In `sum += a[i]` the value is added, in the load's own block, to a register that holds what came
 * before. From then on it is part of the register's value until something else is assigned there.
 * So a use of the sum uses the values of all executions of the load since the last assignment,
 * not only that of the last one.
 *
 * Misses: sums of which the compiler has made several, added up at the end; subtraction, minimum
 * and the like.
 */
#include "flow/priv.h"

static bool reads_register(const struct ptx_stmt *s, unsigned first, uint32_t reg)
{
	for (unsigned i = first; i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_REG && s->ops[i].reg == reg)
			return true;
	return false;
}

bool flow_is_sum_step(const struct ptx_stmt *s, uint32_t sum)
{
	if (s->kind != PTX_STMT_INST || s->nops < 3 || s->ops[0].kind != PTX_OPND_REG ||
	    s->ops[0].reg != sum)
		return false;
	switch (s->form->op) {
	case PTX_OP_ADD:
		return reads_register(s, 1, sum);
	case PTX_OP_MAD:
	case PTX_OP_FMA:
		return s->ops[3].kind == PTX_OPND_REG && s->ops[3].reg == sum;
	default:
		return false;
	}
}

static bool writes_register(struct flow *fl, const struct ptx_stmt *s, uint32_t reg)
{
	uint32_t n;
	struct ptx_stmt *const *defs = flow_defs(fl, reg, &n);

	for (uint32_t i = 0; i < n; i++)
		if (defs[i] == s)
			return true;
	return false;
}

bool flow_sum_of(struct flow *fl, const struct ptx_stmt *load, uint32_t reg, uint32_t *sum)
{
	for (const struct ptx_stmt *s = load->next; s && s->mark == load->mark; s = s->next) {
		if (s->kind != PTX_STMT_INST || s->inserted)
			continue;
		if (s->pred == PTX_NO_REG && s->nops >= 3 && s->ops[0].kind == PTX_OPND_REG &&
		    s->ops[0].reg != reg && flow_is_sum_step(s, s->ops[0].reg) &&
		    reads_register(s, 1, reg)) {
			*sum = s->ops[0].reg;
			return true;
		}
		if (writes_register(fl, s, reg))
			return false;
	}
	return false;
}
