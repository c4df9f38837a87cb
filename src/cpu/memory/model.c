/*
 * model.c - memory models: their common part, and the choice between them.
 *
 * sc:   every access is to memory itself; nothing of this file is called.
 * weak: stores of a lane wait in its buffer, then in the block's cache, whose clean copies may
 *       be old (model_weak.c).
 * a1:   the model of the SuperCollider paper, appendix A.1: one memory and a view per
 *       thread (model_a1.c).
 *
 * Both keep a few entries per lane (struct cpu_pending). Race-free programs get
 * the same results in all three, because what orders two accesses by PTX ISA
 * chapter 8 is a release and an acquire here.
 * Costs: 330 bytes a thread, and a call for every element of every access.
 */
#include "cpu/memory/model.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries of lanes --------------------------------------------------------- */

void cpu_copy_in(void *out, const uint8_t *host, uint32_t bytes)
{
	uint64_t v;

	switch (((uintptr_t)host & (bytes - 1)) ? 0 : bytes) {
	case 2:
		v = __atomic_load_n((const uint16_t *)(const void *)host, __ATOMIC_RELAXED);
		break;
	case 4:
		v = __atomic_load_n((const uint32_t *)(const void *)host, __ATOMIC_RELAXED);
		break;
	case 8:
		v = __atomic_load_n((const uint64_t *)(const void *)host, __ATOMIC_RELAXED);
		break;
	default:
		memcpy(out, host, bytes);
		return;
	}
	memcpy(out, &v, bytes);
}

void cpu_copy_out(uint8_t *host, const void *data, uint32_t bytes)
{
	uint64_t v = 0;

	if (bytes <= 8)
		memcpy(&v, data, bytes);
	switch (((uintptr_t)host & (bytes - 1)) ? 0 : bytes) {
	case 2:
		__atomic_store_n((uint16_t *)(void *)host, (uint16_t)v, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((uint32_t *)(void *)host, (uint32_t)v, __ATOMIC_RELAXED);
		break;
	case 8:
		__atomic_store_n((uint64_t *)(void *)host, v, __ATOMIC_RELAXED);
		break;
	default:
		memcpy(host, data, bytes);
		break;
	}
}

void cpu_pending_overlay(const struct cpu_pending *p, const uint8_t *host, uint32_t bytes,
			 uint8_t *out)
{
	for (uint32_t i = 0; i < p->bytes; i++) {
		uint64_t at = (uint64_t)(p->host + i - host);
		if (at < bytes)
			out[at] = p->data[i];
	}
}

void cpu_pending_remove(struct cpu_warp *w, unsigned lane, uint32_t i)
{
	struct cpu_lane_state *s = cpu_lane_state(w, lane);

	s->e[i] = s->e[--s->n];
	if (!s->n)
		w->cta->l1->busy[w->index] &= ~(1u << lane);
}

struct cpu_pending *cpu_pending_add(struct cpu_warp *w, const struct cpu_elem *e, const void *data)
{
	struct cpu_lane_state *s = cpu_lane_state(w, e->lane);
	struct cpu_pending *p = &s->e[s->n++];

	p->host = e->host;
	p->bytes = (uint8_t)e->bytes;
	p->place = (uint8_t)e->place;
	memcpy(p->data, data, e->bytes);
	w->cta->l1->busy[w->index] |= 1u << e->lane;
	return p;
}

/* ---- between memory.c and the models ------------------------------------------ */

static bool is_weak(const struct cpu_warp *w)
{
	return w->cta->l1->model == CPU_MODEL_WEAK;
}

/* Strong accesses become events here, when it is known what they see. */
static bool is_event(const struct cpu_inst *in, const struct cpu_acc *acc)
{
	return !(in->flags & CPU_I_INSERTED) && acc->sem != PTX_SEM_WEAK &&
	       acc->sem != PTX_SEM_NONE;
}

bool cpu_model_has_ids(const struct cpu_warp *w)
{
	return cpu_model_is_on(w) && w->cta->l1->events;
}

void cpu_model_ids(struct cpu_warp *w, const uint8_t *at, const uint8_t *host, uint32_t bytes,
		   uint32_t *ids)
{
	cpu_weak_ids(w->cta->l1, at != host, host, bytes, ids);
}

void cpu_model_mark(struct cpu_warp *w, const uint8_t *at, const uint8_t *host, uint32_t bytes,
		    uint32_t id)
{
	cpu_weak_mark(w->cta->l1, at != host, host, bytes, id);
}

void cpu_model_load(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		    const struct cpu_elem *e, void *out)
{
	bool is_inserted = (in->flags & CPU_I_INSERTED) != 0;

	if (is_weak(w))
		cpu_weak_load(w, is_inserted, acc, e, out);
	else
		cpu_a1_load(w, is_inserted, acc, e, out);
	if (w->cta->l1->events && cpu_events_of(w) && is_event(in, acc))
		(void)cpu_event_strong(w, in, acc, e, w->cta->l1->ids);
}

void cpu_model_store(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		     const struct cpu_elem *e, const void *data)
{
	struct cpu_l1 *l1 = w->cta->l1;

	l1->id = 0;
	if (l1->events && cpu_events_of(w) && is_event(in, acc))
		l1->id = cpu_event_strong(w, in, acc, e, l1->ids);
	if (is_weak(w))
		cpu_weak_store(w, acc, e, data);
	else
		cpu_a1_store(w, e, data);
}

uint8_t *cpu_model_atomic(struct cpu_warp *w, unsigned lane, enum ptx_scope scope,
			  enum cpu_place place, uint8_t *host, uint32_t bytes)
{
	if (is_weak(w))
		return cpu_weak_atomic(w, lane, scope, place, host, bytes);
	cpu_a1_refresh(w, lane, host, bytes);
	return host;
}

void cpu_model_atomic_wrote(struct cpu_warp *w, const uint8_t *at, const uint8_t *host,
			    uint32_t bytes)
{
	if (at != host)
		cpu_weak_atomic_wrote(w->cta->l1, host, bytes);
}

void cpu_model_bypass_cta(struct cpu_cta *cta, uint8_t *host, uint64_t bytes)
{
	if (cta->l1 && cta->l1->model == CPU_MODEL_WEAK)
		cpu_weak_clean(cta->l1, host, bytes, true);
}

/* ---- machine.h ------------------------------------------------------------------- */

void cpu_release(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope)
{
	if (!cpu_model_is_on(w))
		return;
	if (is_weak(w))
		cpu_weak_release(w, mask, scope);
	else
		cpu_a1_synchronise(w, mask);
}

void cpu_acquire(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope)
{
	if (!cpu_model_is_on(w))
		return;
	if (is_weak(w))
		cpu_weak_acquire(w, scope);
	else
		cpu_a1_synchronise(w, mask);
}

void cpu_model_bypass(struct cpu_warp *w, unsigned lane, uint8_t *host, uint64_t bytes)
{
	if (!cpu_model_is_on(w))
		return;
	if (is_weak(w))
		cpu_weak_bypass(w, lane, host, bytes);
	else
		cpu_a1_refresh(w, lane, host, bytes);
}

void cpu_model_tick(struct cpu_warp *w)
{
	if (!cpu_model_is_on(w))
		return;
	if (is_weak(w))
		cpu_weak_tick(w);
	else
		cpu_a1_tick(w);
}

void cpu_model_flush(struct cpu_warp *w)
{
	if (cpu_model_is_on(w))
		cpu_release(w, UINT32_MAX, PTX_SCOPE_CTA);
}

void cpu_model_cta_init(struct cpu_cta *cta)
{
	enum cpu_model model = cta->grid->m->opt.model;
	struct cpu_l1 *l1;

	cta->l1 = NULL;
	if (model == CPU_MODEL_SC)
		return;
	l1 = calloc(1, sizeof(*l1));
	if (!l1)
		return;
	l1->model = model;
	l1->nwarps = cta->grid->nwarps;
	l1->lanes = calloc((size_t)l1->nwarps * CPU_WARP, sizeof(*l1->lanes));
	l1->busy = calloc(l1->nwarps, sizeof(*l1->busy));
	l1->rng = cta->grid->m->opt.seed ^ (cta->linear + 1) * 0x9e3779b97f4a7c15ull;
	if (cta->grid->events && cpu_ids_are_on(cta->grid->events))
		l1->events = cta->grid->events;
	cta->l1 = l1;
	/* Without memory for a model the block runs as sc, which every model allows. */
	if (!l1->lanes || !l1->busy)
		cpu_model_cta_free(cta);
}

void cpu_model_cta_free(struct cpu_cta *cta)
{
	struct cpu_l1 *l1 = cta->l1;

	if (!l1)
		return;
	cta->l1 = NULL;
	if (l1->model == CPU_MODEL_WEAK)
		cpu_weak_free(l1);
	free(l1->lanes);
	free(l1->busy);
	free(l1);
}
