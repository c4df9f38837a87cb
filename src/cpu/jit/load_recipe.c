/*
 * load_recipe.c - loads as part of a run (loads.h).
 *
 * The loads of a group are at constant distances from its first one, and as wide: the first one's
 * alignment is all of theirs. A load ends the run where its register was written in the run, where
 * its lanes lie anyhow, where it has a guard or is for some lanes only, and where vectors lie side
 * by side.
 */
#include "cpu/jit/ir.h"
#include "cpu/jit/rows.h"

#define FARTHEST (1 << 20)

static bool is_written(const struct jit_gen *g, uint32_t slot)
{
	for (unsigned i = 0; i < g->nslots; i++)
		if (g->slots[i].slot == slot && g->slots[i].is_written)
			return true;
	return false;
}

static bool are_one_group(const struct jit_load *a, const struct jit_load *b)
{
	return a->base == b->base && a->is_base32 == b->is_base32 && a->space == b->space &&
	       a->access == b->access && a->width * a->n == b->width * b->n;
}

static enum jit_kind kind_of(const struct jit_gen *g, const struct jit_load *l)
{
	if (!g->w)
		return JIT_ONE_ADDRESS;
	if (jit_is_watched(g->w, l))
		return JIT_ANYHOW;
#ifdef CPU_HAS_V3
	return cpu_jit_kind_v3(g->w, l);
#else
	return cpu_jit_kind_base(g->w, l);
#endif
}

/* The load's group, as a number; JIT_GROUPS: it can't be in one. */
static unsigned group_of(struct jit_gen *g, const struct cpu_inst *in, const struct jit_load *l)
{
	uint32_t step = (uint32_t)l->width * l->n;

	for (unsigned i = 0; i < g->ngroups; i++) {
		struct jit_group *x = &g->groups[i];
		int64_t apart = l->off - x->first, end = x->load.off + x->bytes;
		if (!are_one_group(&x->load, l) || apart < -FARTHEST || apart > FARTHEST ||
		    apart % step)
			continue;
		if (end < l->off + step)
			end = l->off + step;
		if (x->load.off > l->off)
			x->load.off = l->off;
		x->bytes = (uint32_t)(end - x->load.off);
		return i;
	}
	if (g->ngroups == JIT_GROUPS)
		return JIT_GROUPS;
	enum jit_kind kind = kind_of(g, l);
	if (kind == JIT_ANYHOW)
		return JIT_GROUPS;
	g->groups[g->ngroups] = (struct jit_group){.in = in,
						   .load = *l,
						   .first = l->off,
						   .pc = (uint32_t)(in - g->f->code),
						   .bytes = step,
						   .kind = (uint8_t)kind};
	return g->ngroups++;
}

static bool put(struct jit_gen *g, const struct jit_load *l, unsigned group, unsigned e)
{
	bool is_one = g->groups[group].kind == JIT_ONE_ADDRESS;
	int32_t apart = (int32_t)(l->off - g->groups[group].first) + (int32_t)(e * l->width);
	struct jit_pair p;

	if (l->width == 4)
		return jit_put(g, l->slot[e],
			       is_one ? jit_memory(g, JIT_MEMORY, M(VBROADCASTSS), group, apart)
				      : jit_memory(g, JIT_MEMORY_32, 0, group, apart));
	if (is_one) {
		p.lo = p.hi = jit_memory(g, JIT_MEMORY, M(VBROADCASTSD), group, apart);
	} else {
		p.lo = jit_memory(g, JIT_MEMORY_64, 0, group, apart);
		p.hi = jit_memory(g, JIT_MEMORY_64_HIGH, 0, group, apart);
	}
	return jit_put64(g, l->slot[e], p);
}

static bool load(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg)
{
	struct jit_load l;
	unsigned group;

	(void)arg;
	if (g->is_partial || in->guard != CPU_NOSLOT || !jit_load_of(in, &l) ||
	    (l.base != CPU_NOSLOT && is_written(g, l.base)))
		return false;
	group = group_of(g, in, &l);
	if (group == JIT_GROUPS || (l.n > 1 && g->groups[group].kind != JIT_ONE_ADDRESS))
		return false;
	g->ways |= l.ways;
	for (unsigned e = 0; e < l.n; e++)
		if (l.slot[e] != CPU_NOSLOT && !put(g, &l, group, e))
			return false;
	return true;
}

static const struct jit_recipe recipes[JIT_ROWS] = {
#define LDST(handler, recipe, arg) [JIT_LDST_##handler] = {recipe, arg},
#include "cpu/jit/rows.def"
};

const struct jit_recipe *jit_load_recipe(unsigned row)
{
	return &recipes[row];
}
