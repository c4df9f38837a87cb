/*
 * place.c - a value that does nothing but choose a place.
 *
 * `list[atomicAdd(&n, 1)] = x` draws a place; no thread learns from it whether another one is
 * ready. A value on which a decision may depend (a comparison, a select), or that goes anywhere
 * else (memory, a call, a shuffle), may be a flag.
 *
 * How: the registers that are computed from it by pure instructions are followed; each other use
 * must be in the address of an access. Misses: values that more than 16 registers carry on are
 * taken for flags.
 */
#include "flow/priv.h"

#define REGS 16

struct places {
	uint32_t reg[REGS];
	uint32_t n;
};

static bool is_in_address(const struct ptx_opnd *o, uint32_t reg)
{
	return o->kind == PTX_OPND_ADDR && o->nsub && o->sub[0].kind == PTX_OPND_REG &&
	       o->sub[0].reg == reg;
}

/* Is the register only in the address of this access? */
static bool is_place_of(const struct ptx_stmt *s, uint32_t reg)
{
	bool is_place = false;

	if (s->kind != PTX_STMT_INST || s->pred == reg ||
	    !(s->form->effects & (PTX_EFF_READ | PTX_EFF_WRITE)))
		return false;
	for (unsigned i = 0; i < s->nops; i++) {
		if (is_in_address(&s->ops[i], reg))
			is_place = true;
		else if (s->ops[i].kind != PTX_OPND_INT &&
			 (s->ops[i].kind != PTX_OPND_REG || s->ops[i].reg == reg))
			return false;
	}
	return is_place;
}

/* Its result, computed from the register and no decision; false: something else. */
static bool carry_on(struct flow *fl, struct places *p, const struct ptx_stmt *s)
{
	const struct ptx_opnd *to = s->ops;
	uint32_t i = 0;

	if (!flow_is_pure(s) || s->pred != PTX_NO_REG || s->nops < 2 || to->kind != PTX_OPND_REG ||
	    to->comp || to->reg >= fl->f->nregs || fl->f->reg_type[to->reg] == PTX_TYPE_PRED ||
	    s->form->op == PTX_OP_SELP || s->form->op == PTX_OP_SLCT || s->form->op == PTX_OP_SET)
		return false;
	while (i < p->n && p->reg[i] != to->reg)
		i++;
	if (i == REGS)
		return false;
	p->reg[i] = to->reg;
	p->n += i == p->n;
	return true;
}

bool flow_is_only_place(struct flow *fl, uint32_t reg)
{
	struct places p = {{reg}, 1};

	for (uint32_t i = 0; i < p.n; i++) {
		uint32_t n;
		struct ptx_stmt *const *uses = flow_uses(fl, p.reg[i], &n);

		for (uint32_t k = 0; k < n; k++)
			if (!is_place_of(uses[k], p.reg[i]) && !carry_on(fl, &p, uses[k]))
				return false;
	}
	return true;
}
