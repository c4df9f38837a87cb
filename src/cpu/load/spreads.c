/*
 * spreads.c - accesses whose lanes lie as those of an earlier one do.
 *
 * Unrolled loops and structures make groups of loads and stores that add constants to one base
 * register. Within a block of code in which nothing writes that register and nothing is called, the
 * first of a group finds at run time how the lanes are spread (struct cpu_spread, alu/ldst.c), and
 * the others only add their distance. Spreads are kept in a few places of the worker, used in turn.
 *
 * The first has no guard: it is executed whenever the others are, by the same lanes or more. Lanes
 * that have parted from it find another mask there, and look for themselves. So does the first of
 * the group after another warp's turn, and leaves what it found to the rest.
 *
 * Misses: base registers of other blocks, and groups of accesses with different widths.
 */
#include "cpu/load/decode.h"

#include <string.h>

static void drop_written(uint32_t reg, bool is_write, void *arg)
{
	struct cpu_dec *d = arg;

	for (unsigned i = 0; is_write && i < CPU_SPREADS; i++)
		if (d->spreads[i].first && d->spreads[i].reg == reg)
			d->spreads[i].first = NULL;
}

void dec_spreads_after(struct cpu_dec *d, const struct ptx_stmt *s)
{
	if (s->form->effects & (PTX_EFF_CALL | PTX_EFF_UNKNOWN))
		memset(d->spreads, 0, sizeof(d->spreads));
	ptx_each_reg(s, drop_written, d);
}

void cpu_dec_spread(struct cpu_dec *d, const struct ptx_stmt *s, const struct ptx_opnd *address,
		    uint32_t vec, uint32_t width, struct cpu_spread_use *use)
{
	const struct ptx_opnd *b =
		address->kind == PTX_OPND_ADDR && address->nsub ? &address->sub[0] : address;
	struct dec_spread *g;

	*use = (struct cpu_spread_use){0};
	if (b->kind != PTX_OPND_REG || b->reg >= DEC_FAKE_REG || s->mark == UINT32_MAX)
		return;
	if (s->mark != d->spreads_block)
		memset(d->spreads, 0, sizeof(d->spreads));
	d->spreads_block = s->mark;
	for (unsigned i = 0; i < CPU_SPREADS; i++) {
		g = &d->spreads[i];
		/* Addresses wrap. */
		int64_t apart = (int64_t)((uint64_t)address->off - (uint64_t)g->off);
		if (!g->first || g->reg != b->reg || g->comp != b->comp || g->vec != vec ||
		    g->width != width || apart % width)
			continue;
		g->first->is_first = true;
		use->first = g->first;
		use->way = g->first->way;
		use->apart = apart;
		return;
	}
	if (s->pred != PTX_NO_REG)
		return;
	use->way = (uint8_t)(d->nspreads++ % CPU_SPREADS);
	d->spreads[use->way] = (struct dec_spread){.reg = b->reg,
						   .comp = b->comp,
						   .vec = vec,
						   .width = width,
						   .off = address->off,
						   .first = use};
}
