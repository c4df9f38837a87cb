/*
 * hand.c - which run a rank does next (hand.h).
 *
 * Costs: a step a run, and one for each finding of it; where none is left that has not begun a look
 * through all runs, when the oldest that is out may be late.
 */
#include "mpi/hand.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH 20u
#define SLOWER 3u /* times the longest run: its rank may be lost */

bool hand_init(struct hand *h, uint32_t runs, bool goes_on)
{
	memset(h, 0, sizeof(*h));
	h->runs = calloc(runs ? runs : 1, sizeof(*h->runs));
	h->n = runs;
	h->goes_on = goes_on;
	return h->runs != NULL;
}

void hand_free(struct hand *h)
{
	free(h->runs);
	free(h->found);
	memset(h, 0, sizeof(*h));
}

static bool is_saturated(const struct hand *h)
{
	if (h->goes_on || !h->nfound || h->ndone < ENOUGH || h->last_new > h->ndone / 2)
		return false;
	for (size_t i = 0; i < h->nfound; i++)
		if (h->found[i].seen < 2)
			return false;
	return true;
}

bool hand_is_over(const struct hand *h)
{
	return h->ndone == h->n || is_saturated(h);
}

/* One that is out for too long, the oldest. */
static uint32_t find_late(struct hand *h, uint64_t now, uint64_t patience)
{
	uint64_t limit = SLOWER * h->longest > patience ? SLOWER * h->longest : patience;
	uint32_t oldest = HAND_NONE;

	if (now < h->look_at)
		return HAND_NONE;
	for (uint32_t i = 0; i < h->n; i++) {
		const struct hand_run *r = &h->runs[i];
		if (r->is_out && !r->is_done &&
		    (oldest == HAND_NONE || r->began < h->runs[oldest].began))
			oldest = i;
	}
	if (oldest == HAND_NONE || now - h->runs[oldest].began >= limit)
		return oldest;
	/* Those that are out begin no earlier later on, and the limit only grows. */
	h->look_at = h->runs[oldest].began + limit;
	return HAND_NONE;
}

uint32_t hand_next(struct hand *h, uint64_t now, uint64_t patience)
{
	uint32_t run;

	if (hand_is_over(h))
		return HAND_NONE;
	while (h->next < h->n && (h->runs[h->next].is_out || h->runs[h->next].is_done))
		h->next++;
	run = h->next < h->n ? h->next : find_late(h, now, patience);
	if (run == HAND_NONE)
		return run;
	h->runs[run].is_out = true;
	h->runs[run].began = now;
	return run;
}

static void count(struct hand *h, uint64_t print)
{
	for (size_t i = 0; i < h->nfound; i++)
		if (h->found[i].print == print) {
			h->found[i].seen++;
			return;
		}
	if (h->nfound == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : 16;
		struct hand_found *more = realloc(h->found, cap * sizeof(*more));
		if (!more)
			return;
		h->found = more;
		h->cap = cap;
	}
	h->found[h->nfound++] = (struct hand_found){print, 1};
	h->last_new = h->ndone;
}

void hand_done(struct hand *h, uint32_t run, uint64_t now, const uint64_t *prints, size_t n)
{
	struct hand_run *r = run < h->n ? &h->runs[run] : NULL;

	if (!r || r->is_done)
		return;
	r->is_done = true;
	h->ndone++;
	if (r->is_out && now - r->began > h->longest)
		h->longest = now - r->began;
	for (size_t i = 0; i < n; i++)
		count(h, prints[i]);
}

void hand_lost(struct hand *h, uint32_t run)
{
	if (run >= h->n || h->runs[run].is_done)
		return;
	h->runs[run].is_out = false;
	if (run < h->next)
		h->next = run;
}
