/*
 * reach.c - which other definitions of a register come to a place, walked back from it (demand.c).
 *
 * Costs: a walk over at most FLOW_MAX_WALK blocks for each question.
 */
#include "flow/priv.h"

void flow_push_successors(struct flow *fl, uint32_t b, uint32_t *n)
{
	struct flow_priv *pr = fl->priv;
	for (uint32_t i = 0; i < fl->blocks[b].nsucc; i++) {
		uint32_t t = fl->blocks[b].succ[i];
		if (pr->seen[t] != pr->walk) {
			pr->seen[t] = pr->walk;
			pr->queue[(*n)++] = t;
		}
	}
}

/* Walks one block back from place `at`; true if an unguarded definition ends the walk there. */
static bool walk_block_back(struct flow_priv *pr, uint32_t d, uint32_t reg, uint32_t at,
			    uint32_t from, struct flow_reaching *r)
{
	uint32_t lo = pr->def_off[reg];
	uint32_t k = flow_lower(pr->def_at, lo, pr->def_off[reg + 1], at);
	while (k > lo && pr->def_at[k - 1] >= from) {
		k--;
		if (k != d && r->n < FLOW_MAX_OTHERS)
			r->others[r->n++] = k;
		else if (k != d)
			r->is_open = true;
		if (pr->def[k]->pred == PTX_NO_REG)
			return true;
	}
	return false;
}

void flow_find_reaching(struct flow *fl, uint32_t d, uint32_t reg, uint32_t at, uint32_t block,
			struct flow_reaching *r)
{
	struct flow_priv *pr = fl->priv;
	uint32_t n = 0;

	*r = (struct flow_reaching){.n = 0};
	pr->walk++;
	for (uint32_t i = 0; i < FLOW_MAX_WALK; i++) {
		if (!walk_block_back(pr, d, reg, at, pr->start[block], r)) {
			r->is_open |= block == 0;
			for (uint32_t p = 0; p < fl->blocks[block].npred; p++) {
				uint32_t t = fl->blocks[block].pred[p];
				if (pr->seen[t] != pr->walk) {
					pr->seen[t] = pr->walk;
					pr->queue[n++] = t;
				}
			}
		}
		if (i == n)
			return;
		block = pr->queue[i];
		at = pr->start[block + 1];
	}
	r->is_open = true;
}

bool flow_leads_to_others(struct flow *fl, uint32_t d, const struct flow_reaching *r)
{
	struct flow_priv *pr = fl->priv;
	uint32_t n = 0;

	pr->walk++;
	flow_push_successors(fl, pr->def[d]->mark, &n);
	for (uint32_t i = 0; i < n; i++)
		flow_push_successors(fl, pr->queue[i], &n);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t k = r->others[i];
		if (pr->seen[pr->def[k]->mark] == pr->walk ||
		    (pr->def[k]->mark == pr->def[d]->mark && pr->def_at[k] > pr->def_at[d]))
			return true;
	}
	return false;
}
