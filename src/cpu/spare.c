/*
 * spare.c - the units of ended grids, kept for the next launch of the same kernel with such blocks.
 *
 * Programs launch a kernel thousands of times, and the memory of the blocks that fit on the device
 * at a time is tens of megabytes: to allocate, clear and free it took longer than short kernels. A
 * launch finds it as the next block of a grid does. Kernels whose last launch is the longest ago
 * give way.
 *
 * Several workers take from here without the engine's lock (apart.c), so it has one of its own.
 * They take as many as a group has, of those that they had before: these are in their caches.
 *
 * Costs: up to CPU_SPARE_BYTES of memory; it is freed where an allocation for a unit fails.
 */
#include "cpu/sched.h"

static bool is_spare_of(const struct cpu_spare *s, const struct cpu_grid *g)
{
	return s->func == g->func && s->nthreads == g->nthreads && s->size == cpu_grid_unit(g) &&
	       s->shared == g->shared_static + g->shared_dyn;
}

static unsigned list_of(const struct cpu_worker *k)
{
	return (unsigned)(k - k->m->engine->workers) % CPU_SPARE_LISTS;
}

static void spare_clear(struct cpu_engine *e, struct cpu_spare *s)
{
	for (unsigned i = 0; i < CPU_SPARE_LISTS; i++)
		cpu_units_free(s->units[i]);
	e->spare_bytes -= s->bytes;
	*s = (struct cpu_spare){0};
}

void cpu_spares_clear(struct cpu_engine *e, const struct cpu_module *mod)
{
	pthread_mutex_lock(&e->spare_lock);
	for (unsigned i = 0; i < CPU_SPARES; i++)
		if (e->spares[i].n && (!mod || e->spares[i].func->mod == mod))
			spare_clear(e, &e->spares[i]);
	pthread_mutex_unlock(&e->spare_lock);
}

static uint64_t unit_bytes(const struct cpu_unit *u)
{
	const struct cpu_layout *l = u->cluster.grid->func->layout;
	uint64_t bytes = 0;

	for (uint32_t r = 0; r < u->cluster.size; r++) {
		const struct cpu_cta *cta = &u->blocks[r].cta;
		bytes += cta->shared_bytes + CPU_SHARED_RESERVED;
		for (uint32_t i = 0; i < cta->nwarps; i++) {
			const struct cpu_warp *w = &cta->warps[i];
			bytes += sizeof(*w) + sizeof(struct cpu_warp_priv);
			bytes += w->depth_cap * ((uint64_t)l->frame + CPU_WARP * l->param +
						 sizeof(*w->ret) + sizeof(*w->fp));
			bytes += (uint64_t)w->local_stride * CPU_WARP;
		}
	}
	return bytes;
}

void cpu_spare_put(struct cpu_engine *e, const struct cpu_grid *g, struct cpu_unit *units)
{
	struct cpu_spare *s = &e->spares[0];

	pthread_mutex_lock(&e->spare_lock);
	for (unsigned i = 0; i < CPU_SPARES; i++) {
		struct cpu_spare *t = &e->spares[i];
		if (t->n && is_spare_of(t, g)) {
			s = t;
			break;
		}
		if (!t->n || (s->n && t->used < s->used))
			s = t;
	}
	if (s->n && !is_spare_of(s, g))
		spare_clear(e, s);
	s->func = g->func;
	s->nthreads = g->nthreads;
	s->size = cpu_grid_unit(g);
	s->shared = g->shared_static + g->shared_dyn;
	s->used = g->id;
	for (struct cpu_unit *u = units, *next; u; u = next) {
		uint64_t bytes = unit_bytes(u);
		next = u->next;
		while (e->spare_bytes + bytes > CPU_SPARE_BYTES) {
			struct cpu_spare *old = s;
			for (unsigned i = 0; i < CPU_SPARES; i++)
				if (e->spares[i].n && e->spares[i].used < old->used)
					old = &e->spares[i];
			if (old == s)
				break;
			spare_clear(e, old);
		}
		if (e->spare_bytes + bytes > CPU_SPARE_BYTES) {
			u->next = NULL;
			cpu_units_free(u);
			continue;
		}
		u->bytes = bytes;
		s->bytes += bytes;
		e->spare_bytes += bytes;
		struct cpu_unit **list = &s->units[list_of(u->worker)];
		u->next = *list;
		*list = u;
		s->n++;
	}
	pthread_mutex_unlock(&e->spare_lock);
}

/* Up to n units, of one list. */
static struct cpu_unit *take_of(struct cpu_engine *e, struct cpu_spare *s, struct cpu_unit **list,
				uint64_t n)
{
	struct cpu_unit *first = *list, **at = list;

	for (; *at && n; n--, at = &(*at)->next) {
		s->n--;
		s->bytes -= (*at)->bytes;
		e->spare_bytes -= (*at)->bytes;
	}
	struct cpu_unit *rest = *at;
	*at = NULL;
	*list = rest;
	return first;
}

static struct cpu_unit *take(struct cpu_worker *k, const struct cpu_grid *g)
{
	struct cpu_engine *e = k->m->engine;
	struct cpu_unit *u = NULL;
	unsigned own = list_of(k);

	pthread_mutex_lock(&e->spare_lock);
	for (unsigned i = 0; i < CPU_SPARES && !u; i++) {
		struct cpu_spare *s = &e->spares[i];
		if (!s->n || !is_spare_of(s, g))
			continue;
		if (s->units[own])
			u = take_of(e, s, &s->units[own], k->is_beside ? e->apart.units : 1);
		for (unsigned l = 0; l < CPU_SPARE_LISTS && !u; l++)
			if (s->units[l])
				u = take_of(e, s, &s->units[l], 1);
	}
	pthread_mutex_unlock(&e->spare_lock);
	return u;
}

static void set_grid(struct cpu_unit *u, struct cpu_grid *g)
{
	u->cluster.grid = g;
	for (uint32_t r = 0; r < u->cluster.size; r++) {
		struct cpu_cta *cta = &u->blocks[r].cta;
		cta->grid = g;
		for (uint32_t j = 0; j < cta->nwarps; j++)
			cta->warps[j].grid = g;
	}
}

struct cpu_unit *cpu_spare_take(struct cpu_worker *k, struct cpu_grid *g)
{
	struct cpu_unit *all = take(k, g);

	for (struct cpu_unit *u = all; u; u = u->next)
		set_grid(u, g);
	return all;
}
