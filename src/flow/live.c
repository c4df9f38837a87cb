/*
 * live.c - which registers are live at the end of each block.
 *
 * Register by register: each use that no unguarded write in its block precedes
 * makes the register live at the end of all predecessors, and from there backwards through blocks
 * that don't write it. A guarded write doesn't end a live range.
 *
 * Costs: time in proportion to the answer, and nblocks * nregs bits of memory
 * (30 MB for a function of 50,000 registers in 5,000 blocks); so it is computed
 * only when asked for.
 */
#include "flow/priv.h"

#include <stdlib.h>

/* Is there an unguarded write of reg in [from, to)? */
static bool is_killed(const struct flow_priv *pr, uint32_t reg, uint32_t from, uint32_t to)
{
	uint32_t hi = pr->def_off[reg + 1];
	for (uint32_t k = flow_lower(pr->def_at, pr->def_off[reg], hi, from);
	     k < hi && pr->def_at[k] < to; k++)
		if (pr->def[k]->pred == PTX_NO_REG)
			return true;
	return false;
}

/* Marks reg live out of block's predecessors and goes on where it isn't written. */
static void spread(struct flow *fl, uint32_t reg, uint32_t block, uint32_t *stack)
{
	struct flow_priv *pr = fl->priv;
	uint32_t n = 0;
	uint64_t bit = (uint64_t)1 << (reg & 63);

	stack[n++] = block;
	while (n) {
		const struct flow_block *b = &fl->blocks[stack[--n]];
		for (uint32_t i = 0; i < b->npred; i++) {
			uint32_t p = b->pred[i];
			if (pr->live_out[p][reg >> 6] & bit)
				continue;
			pr->live_out[p][reg >> 6] |= bit;
			if (!is_killed(pr, reg, pr->start[p], pr->start[p + 1]))
				stack[n++] = p;
		}
	}
}

/* `off`, `use` and `at`: one of the lists of reads. */
static void spread_reads(struct flow *fl, const uint32_t *off, struct ptx_stmt *const *use,
			 const uint32_t *at, uint32_t *stack)
{
	struct flow_priv *pr = fl->priv;

	for (uint32_t r = 0; r < pr->nregs; r++)
		for (uint32_t k = off[r]; k < off[r + 1]; k++) {
			uint32_t b = use[k]->mark;
			bool is_first = k == off[r] || use[k - 1]->mark != b;
			if (is_first && !is_killed(pr, r, pr->start[b], at[k]))
				spread(fl, r, b, stack);
		}
}

static void solve_live(struct flow *fl)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;
	size_t words = (pr->nregs + 63u) / 64u + 1;
	uint64_t *bits = base_zalloc(fl->arena, sizeof(*bits) * words * fl->nblocks);
	uint32_t *stack = base_malloc(sizeof(*stack) * (fl->nblocks + 1u));

	pr->live_out = base_alloc(fl->arena, sizeof(*pr->live_out) * fl->nblocks);
	for (uint32_t b = 0; b < fl->nblocks; b++)
		pr->live_out[b] = bits + words * b;
	spread_reads(fl, pr->use_off, pr->use, pr->use_at, stack);
	spread_reads(fl, pr->our_off, pr->our_use, pr->our_at, stack);
	free(stack);
}

/* ======================================================================== */

const uint64_t *flow_live_out(struct flow *fl, uint32_t block)
{
	if (!fl->priv->live_out)
		solve_live(fl);
	return fl->priv->live_out[block];
}
