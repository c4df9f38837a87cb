/*
 * place.c - where actors are: a pseudo-thread is where its issuer is.
 */
#include "oracle/types.h"

static bool has_issuer(const struct oracle_misc *m)
{
	return m->kind == ORACLE_MISC_PSEUDO || m->kind == ORACLE_MISC_INIT;
}

static const struct oracle_group *place_group(struct oracle *o, uint32_t *actor)
{
	const struct oracle_group *g = oracle_group_of(o, *actor);

	while (g && !g->is_grid && has_issuer(&g->misc[*actor - g->first])) {
		*actor = g->misc[*actor - g->first].issuer;
		g = oracle_group_of(o, *actor);
	}
	return g;
}

static uint32_t cluster_of(const struct oracle_group *g, uint32_t cta)
{
	return g->grid.cluster_of ? g->grid.cluster_of[cta] : cta / g->grid.cluster_blocks;
}

struct race_place oracle_place(const struct oracle *oc, uint32_t actor)
{
	struct oracle *o = (struct oracle *)(uintptr_t)oc; /* only to remember the group found */
	const struct oracle_group *g = place_group(o, &actor);

	if (!g || !g->is_grid)
		return (struct race_place){.device = RACE_HOST};
	uint32_t at = actor - g->first, in = at & ((1u << g->shift) - 1);
	return (struct race_place){.device = g->grid.device,
				   .grid = g->grid.grid,
				   .cta = at >> g->shift,
				   .cluster = cluster_of(g, at >> g->shift),
				   .warp = in >> 5,
				   .lane = in & 31};
}

uint32_t oracle_device(struct oracle *o, uint32_t actor)
{
	const struct oracle_group *g = place_group(o, &actor);

	return g && g->is_grid ? g->grid.device : RACE_HOST;
}

uint32_t oracle_place_key(struct oracle *o, uint32_t actor, uint8_t scope)
{
	const struct oracle_group *g = place_group(o, &actor);

	if (scope < RACE_SCOPE_GPU)
		return g && g->is_grid ? ORACLE_PLACE_BLOCK | (actor >> g->shift << g->shift) : 0;
	return (g && g->is_grid ? g->grid.device + 1 : ORACLE_PLACE_BLOCK - 1);
}

uint64_t oracle_near_key(struct oracle *o, uint32_t actor)
{
	const struct oracle_group *g = place_group(o, &actor);

	if (!g || !g->is_grid)
		return (uint64_t)actor << 32 | UINT32_MAX;
	return (uint64_t)g->first << 32 | cluster_of(g, (actor - g->first) >> g->shift);
}

enum race_scope oracle_level(struct oracle *o, uint32_t a, uint32_t b)
{
	const struct oracle_group *g = place_group(o, &a), *h = place_group(o, &b);
	uint32_t x, y;

	if (a == b)
		return RACE_SCOPE_CTA;
	if (!g || !h || !g->is_grid || !h->is_grid)
		return g && h && !g->is_grid && !h->is_grid ? RACE_SCOPE_GPU : RACE_SCOPE_SYS;
	if (g->grid.device != h->grid.device)
		return RACE_SCOPE_SYS;
	if (g != h)
		return RACE_SCOPE_GPU;
	x = (a - g->first) >> g->shift;
	y = (b - g->first) >> g->shift;
	if (x == y)
		return RACE_SCOPE_CTA;
	return cluster_of(g, x) == cluster_of(g, y) ? RACE_SCOPE_CLUSTER : RACE_SCOPE_GPU;
}
