/*
 * log.h - what form_log.c and log_compact.c share: a log and its entries.
 */
#ifndef COLLIDER_ORACLE_SHADOW_LOG_H
#define COLLIDER_ORACLE_SHADOW_LOG_H

#include "oracle/shadow.h"

/* A thread that has read the word after the log's first writes: those of the runs before `run`, a
 * number in v, and of the first `done` entries of that. What knows this epoch of it is after them,
 * too. */
struct oracle_log_seen_by {
	uint32_t actor, epoch;
	uint32_t run, done;
};

/* The last such thread, and one before it, whom it knows: threads that read one after the other
 * without an order, as all do after a barrier, know the one before. */
struct oracle_log_seen {
	struct oracle_log_seen_by last, before;
};

struct oracle_log {
	uint64_t before;	      /* a weak write before all of it: packed, or 0 */
	struct oracle_log_seen *seen; /* of a long one that was read, or NULL */
	uint32_t n;		      /* of v */
	uint32_t last;		      /* where the last run starts */
	uint32_t low, high;	      /* the least and the greatest actor so far */
	uint8_t device;
	uint8_t compact_at; /* log2 of n */
	uint8_t known_at;   /* in known_logs */
	bool has_write : 1; /* an RMW: the first one's thread has written `before`, too, */
	bool is_own : 1;    /* ... and so begins the chain with it */
	uint16_t v[];
};

/* A run, as it lies in v: then either `count` low halves of actors, or the first of neighbours. */
enum { ORACLE_RUN_ACTOR, ORACLE_RUN_EPOCH, ORACLE_RUN_SITE, ORACLE_RUN_COUNT, ORACLE_RUN_UNITS };

#define ORACLE_RUN_NEIGHBOURS 0x8000u /* in ORACLE_RUN_COUNT */
#define ORACLE_RUN_MAX	      0x7fffu

_Static_assert(ORACLE_EPOCH_BITS <= 16 && ORACLE_SITE_BITS <= 16, "fit a run");

static inline struct oracle_log *oracle_log_of(const struct oracle_cell *c)
{
	return (struct oracle_log *)(uintptr_t)c->w;
}

/* A walk over the entries. */
struct oracle_log_walk {
	const struct oracle_log *l;
	const uint16_t *run;
	uint32_t i, count; /* of the run */
	uint32_t actor, epoch, site;
};

static inline struct oracle_log_walk oracle_log_from(const struct oracle_log *l)
{
	return (struct oracle_log_walk){.l = l, .run = l->v};
}

static inline uint32_t oracle_log_units(const uint16_t *run)
{
	return ORACLE_RUN_UNITS +
	       (run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS ? 1 : run[ORACLE_RUN_COUNT]);
}

static inline bool oracle_log_next(struct oracle_log_walk *w)
{
	if (w->count && ++w->i == w->count) {
		w->run += oracle_log_units(w->run);
		w->i = w->count = 0;
	}
	if (!w->count) {
		if (w->run == w->l->v + w->l->n)
			return false;
		w->count = w->run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX;
		w->epoch = w->run[ORACLE_RUN_EPOCH];
		w->site = w->run[ORACLE_RUN_SITE];
	}
	uint32_t low = w->run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS
			       ? w->run[ORACLE_RUN_UNITS] + w->i
			       : w->run[ORACLE_RUN_UNITS + w->i];
	w->actor = (uint32_t)w->run[ORACLE_RUN_ACTOR] << 16 | low;
	return true;
}

static inline bool oracle_log_is_read(const struct oracle *o, uint32_t site)
{
	return oracle_site_at(o, site)->a.kind == RACE_OP_READ;
}

static inline bool oracle_log_is_red(const struct oracle *o, uint32_t site)
{
	return oracle_site_at(o, site)->a.flags & ORACLE_RED;
}

/* form_log.c */
struct oracle_log *oracle_log_new(struct oracle *o, uint64_t before, uint32_t device);
void oracle_log_push(struct oracle *o, struct oracle_cell *c, uint32_t actor, uint32_t epoch,
		     uint32_t site);
/* log_compact.c: of each thread the last access of an epoch stays. */
void oracle_log_compact(struct oracle *o, struct oracle_cell *c);

#endif
