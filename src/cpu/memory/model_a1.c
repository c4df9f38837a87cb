/*
 * model_a1.c - the execution model of the SuperCollider paper, appendix A.1.
 *
 * One memory M and for each thread t a view V_t that may be older. A weak load
 * of address a gives V_t(a); a weak store sets M(a) and V_t(a); a strong
 * operation works on M and refreshes V_t(a); a synchronisation of t refreshes all
 * of V_t. Stores of others never touch V_t.
 *
 * V_t is kept for the last CPU_PENDING places that the thread loaded, and some
 * are forgotten at random, so that a loop that waits on a weak load ends.
 * Re-reads of the instrumentation read M and leave V_t, so that later loads of
 * the program find what they would have found.
 * Misses: everything that needs a delayed store; a view older than its oldest entry.
 */
#include "cpu/memory/model.h"

#include <string.h>

void cpu_a1_refresh(struct cpu_warp *w, unsigned lane, const uint8_t *host, uint64_t bytes)
{
	struct cpu_lane_state *s = cpu_lane_state(w, lane);

	for (uint32_t i = s->n; i-- > 0;)
		if (cpu_overlaps(host, bytes, s->e[i].host, s->e[i].bytes))
			cpu_pending_remove(w, lane, i);
}

void cpu_a1_synchronise(struct cpu_warp *w, uint32_t mask)
{
	uint32_t lanes = w->cta->l1->busy[w->index] & mask;

	CPU_EACH_LANE (l, lanes) {
		cpu_lane_state(w, l)->n = 0;
	}
	w->cta->l1->busy[w->index] &= ~lanes;
}

static bool is_weak_access(const struct cpu_acc *acc)
{
	return acc->sem == PTX_SEM_WEAK || acc->sem == PTX_SEM_NONE;
}

void cpu_a1_load(struct cpu_warp *w, bool is_inserted, const struct cpu_acc *acc,
		 const struct cpu_elem *e, void *out)
{
	struct cpu_lane_state *s = cpu_lane_state(w, e->lane);

	cpu_copy_in(out, e->host, e->bytes);
	if (!is_weak_access(acc)) {
		if (!is_inserted)
			cpu_a1_refresh(w, e->lane, e->host, e->bytes);
		return;
	}
	for (uint32_t i = 0; i < s->n; i++)
		cpu_pending_overlay(&s->e[i], e->host, e->bytes, out);
	cpu_a1_refresh(w, e->lane, e->host, e->bytes);
	if (s->n == CPU_PENDING)
		cpu_pending_remove(w, e->lane, cpu_random_below(w->worker, CPU_PENDING));
	cpu_pending_add(w, e, out);
}

void cpu_a1_store(struct cpu_warp *w, const struct cpu_elem *e, const void *data)
{
	cpu_copy_out(e->host, data, e->bytes);
	/* V_t(a) = M(a): the place needs no entry of its own any more. */
	cpu_a1_refresh(w, e->lane, e->host, e->bytes);
}

void cpu_a1_tick(struct cpu_warp *w)
{
	uint32_t busy = w->cta->l1->busy[w->index];

	if (!busy || (cpu_random(w->worker) & 15))
		return;
	uint32_t skip = cpu_random_below(w->worker, (uint32_t)__builtin_popcount(busy));
	while (skip--)
		busy &= busy - 1;
	unsigned lane = (unsigned)__builtin_ctz(busy);
	cpu_pending_remove(w, lane, cpu_random_below(w->worker, cpu_lane_state(w, lane)->n));
}
