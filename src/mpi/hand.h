/*
 * hand.h - the runs of a sweep, handed out to ranks one at a time: the bookkeeping, without any
 * way to send a message.
 *
 * A rank that asks gets the next run that has not begun. When none is left it gets one that is out
 * for much longer than any has taken, as its rank may be lost: the first report of a run counts. A
 * sweep is over when each run has ended, or by the rule of `collider sweep`: at least 20 runs, the
 * later half of which brought nothing new, and no finding that only one run saw.
 */
#ifndef COLLIDER_MPI_HAND_H
#define COLLIDER_MPI_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAND_NONE UINT32_MAX /* nothing to do now, or at all (hand_is_over) */

struct hand_run {
	uint64_t began; /* when it was last handed out */
	bool is_out, is_done;
};

struct hand_found {
	uint64_t print;
	uint32_t seen;
};

struct hand {
	struct hand_run *runs;
	uint32_t n, next, ndone, last_new;
	uint64_t longest; /* that a run has taken */
	uint64_t look_at; /* none is out for too long before */
	bool goes_on;	  /* never stops early */
	struct hand_found *found;
	size_t nfound, cap;
};

/* False: no memory. Times are in any unit; `patience`: the least after which a run that is out is
 * handed out again. */
bool hand_init(struct hand *h, uint32_t runs, bool goes_on);
void hand_free(struct hand *h);
/* A run for a rank that asks. */
uint32_t hand_next(struct hand *h, uint64_t now, uint64_t patience);
/* A run has ended with these races, by their fingerprints. */
void hand_done(struct hand *h, uint32_t run, uint64_t now, const uint64_t *prints, size_t n);
/* A rank is known to be lost: its run is handed out again. */
void hand_lost(struct hand *h, uint32_t run);
bool hand_is_over(const struct hand *h);

#endif
