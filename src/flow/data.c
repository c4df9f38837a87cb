/*
 * data.c - a loaded value that is stored, and on which nothing is decided.
 *
 * A volatile load whose value comes to a comparison may wait for another thread, or find out
 * whether it is ready: its location is polled. One whose value only goes into what the thread
 * stores is data.
 *
 * How: the registers that may hold something computed from the value are followed, whatever they
 * are set to in between, by pure instructions; each other use must be by a store. Misses: what more
 * than 32 registers carry on, and what goes through a call or a shuffle, is taken for polled.
 */
#include "flow/priv.h"

#define REGS 32

struct data {
	uint32_t reg[REGS];
	uint32_t n;
};

static bool add(struct flow *fl, struct data *x, const struct ptx_opnd *o)
{
	uint32_t i = 0;

	if (o->kind != PTX_OPND_REG)
		return true;
	if (o->reg >= fl->f->nregs || fl->f->reg_type[o->reg] == PTX_TYPE_PRED)
		return false;
	while (i < x->n && x->reg[i] != o->reg)
		i++;
	if (i == REGS)
		return false;
	x->reg[i] = o->reg;
	x->n += i == x->n;
	return true;
}

static bool is_good(struct flow *fl, struct data *x, const struct ptx_stmt *s, uint32_t reg)
{
	if (s->kind != PTX_STMT_INST || s->pred == reg || !s->nops)
		return false;
	if (s->form->op == PTX_OP_ST)
		return true;
	if (!flow_is_pure(s))
		return false;
	if (s->ops->kind != PTX_OPND_VEC)
		return s->ops->kind == PTX_OPND_REG && add(fl, x, s->ops);
	for (unsigned i = 0; i < s->ops->nsub; i++)
		if (!add(fl, x, &s->ops->sub[i]))
			return false;
	return true;
}

bool flow_is_data(struct flow *fl, const struct ptx_stmt *load)
{
	struct data x = {{0}, 0};

	if (load->kind != PTX_STMT_INST || load->form->op != PTX_OP_LD || load->nops != 2 ||
	    load->ops[0].kind != PTX_OPND_REG || !add(fl, &x, &load->ops[0]))
		return false;
	for (uint32_t i = 0; i < x.n; i++) {
		uint32_t n;
		struct ptx_stmt *const *uses = flow_uses(fl, x.reg[i], &n);

		for (uint32_t k = 0; k < n; k++)
			if (!is_good(fl, &x, uses[k], x.reg[i]))
				return false;
	}
	return true;
}
