/*
 * copies.c - stores of one element by several threads, which a tensor compiler's layout asks for.
 *
 * Where a tensor has fewer elements than a block has threads (after a reduction, in a conversion of
 * layouts) Triton lets lanes and warps hold copies of them, and each stores its own to shared
 * memory: one store of the program, by threads that nothing orders. So in such modules
 * (ptx_has_tiles) a weak store of shared memory is another thread's store, and no access of its
 * own, if that was by the same instruction to the same bytes with an equal value, and no barrier of
 * the block has completed in between. The first thread's is judged, against all others.
 *
 * Misses: a race of a copy alone, where the first thread is ordered with the other side: an
 * instruction in a loop that stores an equal value again before any barrier. Costs: a look-up and
 * a hash a lane; 24 bytes for each byte of shared memory, of which only the pages are touched whose
 * places are stored to.
 */
#include "cpu/sched.h"
#include "cpu/events/internal.h"

#include <stdlib.h>

struct copy {
	const struct cpu_inst *in; /* that stored here last; NULL: none did */
	uint64_t phase;		   /* barriers that had completed */
	uint64_t value;		   /* a hash of what it stored */
};

struct events_copies {
	uint64_t bytes;
	struct copy at[];
};

static struct events_copies *copies_of(struct cpu_cta *cta)
{
	if (!cta->copies) {
		cta->copies = calloc(1, sizeof(*cta->copies) +
						cta->shared_bytes * sizeof(cta->copies->at[0]));
		if (cta->copies)
			cta->copies->bytes = cta->shared_bytes;
	}
	return cta->copies;
}

static uint64_t value_of(struct cpu_warp *w, const struct cpu_acc *acc, uint32_t lane)
{
	uint64_t h = BASE_FNV_INIT;

	for (unsigned e = 0; e < acc->vec; e++) {
		const uint8_t *value = cpu_slot(w, acc->values[e]);
		h = base_hash(value + lane * acc->each, acc->width, h);
	}
	return h;
}

uint32_t events_first_copies(struct cpu_warp *w, const struct cpu_inst *in,
			     const struct cpu_acc *acc, uint32_t mask, const uint64_t *at)
{
	const struct cpu_site *site = cpu_site_of(w, in);
	struct cpu_cta *cta = w->cta;
	uint64_t base = (uintptr_t)cta->shared;

	if (!acc->values || acc->sem != PTX_SEM_WEAK || !site->func ||
	    !ptx_has_tiles(site->func->part))
		return mask;
	struct events_copies *all = copies_of(cta);
	struct copy now = {.in = in, .phase = cpu_barrier_phase(cta)};
	uint32_t left = mask;
	CPU_EACH_LANE (l, mask) {
		/* Another block's of the cluster; the system's part. */
		if (!all || at[l] - base >= all->bytes)
			continue;
		struct copy *c = &all->at[at[l] - base];
		now.value = value_of(w, acc, l);
		if (c->in == in && c->phase == now.phase && c->value == now.value)
			left &= ~(1u << l);
		else
			*c = now;
	}
	return left;
}

void events_copies_end(struct cpu_cta *cta)
{
	free(cta->copies);
	cta->copies = NULL;
}
