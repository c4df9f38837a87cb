/*
 * select.c - a load whose value is taken under one known predicate.
 *
 * `if (c) v = x` compiled without a branch is a load, perhaps some arithmetic
 * on its value, and selp. Followed from the load: as long as the value has one
 * use, in the load's block, and that is a plain pure instruction, go on with its
 * result; stop at a selp with it as one of the two data operands, at an and/or
 * of predicates or a setp.and/.or with it on one side, or at an instruction
 * under a guard. The result must be surely used (demand.c), or the predicate
 * would not be the whole condition.
 *
 * Misses (left as FLOW_DEMAND_MAYBE): two selects in a row, a value used by two
 * selects, a selp in a later block.
 */
#include "flow/priv.h"

enum { MAX_STEPS = 16 };

/* The only statement that reads reg, which only `def` writes, later in the same block. */
static struct ptx_stmt *only_use(struct flow *fl, const struct ptx_stmt *def, uint32_t reg)
{
	uint32_t ndefs, nuses;
	flow_defs(fl, reg, &ndefs);
	struct ptx_stmt *const *uses = flow_uses(fl, reg, &nuses);
	if (ndefs != 1 || nuses != 1 || fl->priv->is_param[reg] || uses[0]->mark != def->mark)
		return NULL;
	return flow_place(fl, uses[0]) > flow_place(fl, def) ? uses[0] : NULL;
}

static bool is_reg(const struct ptx_opnd *o, uint32_t reg)
{
	return o->kind == PTX_OPND_REG && o->reg == reg;
}

static bool is_pred(const struct flow *fl, const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_REG && o->reg < fl->f->nregs &&
	       fl->f->reg_type[o->reg] == PTX_TYPE_PRED;
}

static bool take(struct flow_demand_info *out, const struct ptx_opnd *p, bool sense)
{
	out->pred = p->reg;
	out->sense = (p->flags & PTX_OPND_NOT) ? !sense : sense;
	return true;
}

/* Under which predicate does the pure statement u take its operand reg? */
static bool condition_of(const struct flow *fl, const struct ptx_stmt *u, uint32_t reg,
			 struct flow_demand_info *out)
{
	const struct ptx_opnd *o = u->ops;
	bool is_and = ptx_form_has(u->form, PTX_MOD_AND);

	switch (u->form->op) {
	case PTX_OP_SELP:
		if (u->nops != 4 || is_reg(&o[3], reg) || is_reg(&o[1], reg) == is_reg(&o[2], reg))
			return false;
		return is_pred(fl, &o[3]) && take(out, &o[3], is_reg(&o[1], reg));
	case PTX_OP_AND:
	case PTX_OP_OR:
		if (u->nops != 3 || is_reg(&o[1], reg) == is_reg(&o[2], reg))
			return false;
		o = is_reg(&o[1], reg) ? &o[2] : &o[1];
		return is_pred(fl, o) && take(out, o, u->form->op == PTX_OP_AND);
	case PTX_OP_SETP:
		if (u->nops != 4 || is_reg(&o[3], reg) || !is_pred(fl, &o[3]))
			return false;
		return (is_and || ptx_form_has(u->form, PTX_MOD_OR)) && take(out, &o[3], is_and);
	default:
		return false;
	}
}

/* Is the result used on every path, or, for an effect under a guard, the effect itself? */
static bool takes_for_good(struct flow *fl, const struct ptx_stmt *u)
{
	return flow_is_pure(u) ? flow_result_sure(fl, u) : true;
}

/* The predicate under which u takes reg with effect, into out->pred and .sense; false: not
 * known. */
bool flow_take_condition(struct flow *fl, const struct ptx_stmt *u, uint32_t reg,
			 struct flow_demand_info *out)
{
	bool is_guarded = u->pred != PTX_NO_REG;
	if (is_guarded) {
		/* The condition is the guard, if no other condition is involved. */
		enum flow_use k = flow_use_kind(fl, u, reg, u->pred, u->is_pred_not);
		if (u->pred == reg || (k != FLOW_USE_REAL && k != FLOW_USE_PURE))
			return false;
		out->pred = u->pred;
		out->sense = !u->is_pred_not;
	} else if (!flow_is_pure(u) || !condition_of(fl, u, reg, out)) {
		return false;
	}
	return out->pred != reg && takes_for_good(fl, u);
}

/* The register that a pure statement with one result writes, or PTX_NO_REG. */
static uint32_t result_of(const struct ptx_stmt *u)
{
	return u->nops && u->ops[0].kind == PTX_OPND_REG ? u->ops[0].reg : PTX_NO_REG;
}

/* ======================================================================== */

bool flow_find_select(struct flow *fl, const struct ptx_stmt *load, uint32_t reg,
		      struct flow_demand_info *out)
{
	const struct ptx_stmt *def = load;
	if (load->pred != PTX_NO_REG)
		return false; /* two conditions */
	for (int i = 0; i < MAX_STEPS && reg != PTX_NO_REG; i++) {
		struct ptx_stmt *u = only_use(fl, def, reg);
		if (!u)
			return false;
		if (flow_use_kind(fl, u, reg, PTX_NO_REG, false) != FLOW_USE_PURE) {
			if (!flow_take_condition(fl, u, reg, out)) {
				out->pred = PTX_NO_REG;
				return false;
			}
			out->demand = FLOW_DEMAND_SELECT;
			out->at = u;
			return true;
		}
		def = u;
		reg = result_of(u);
	}
	return false;
}
