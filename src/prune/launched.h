/*
 * launched.h - private to src/prune: proofs for what a kernel's launches had in common.
 */
#ifndef COLLIDER_PRUNE_LAUNCHED_H
#define COLLIDER_PRUNE_LAUNCHED_H

#include "prune/search.h"
#include "race/noted.h"

#define PRUNE_TURNS 5u

/* A kernel that has notes. */
struct prune_launched {
	const char *name;
	struct race_noted all;
	bool is_proven; /* with all of them */
	bool is_known;	/* without any */
	unsigned parts; /* of them that are enough */
};

struct prune_noted {
	BASE_VEC(struct prune_launched) kernels;
	/* With each choice of what is taken for granted. */
	struct prune_turn {
		struct prune_assumes m;
		struct race_proofs r;
		bool has_proofs;
	} turn[PRUNE_TURNS];
};

/* What is proven without. */
struct prune_known {
	const struct race_proofs *some, *more; /* more: NULL: none */
	const struct prune_assumes *m;	       /* of those */
};

/* Of each kernel of the job that has notes: with all that was noted, before anything else is
 * asked. n is zero before; the caller frees it. */
void prune_prove_noted(const struct prune_search *x, struct prune_noted *n);
/* Says which of the kernels need their notes and, in out->lacks_notes, whether others lack any;
 * then asks with less of them, and with larger scalars, where that may be enough. */
void prune_widen_noted(const struct prune_search *x, const struct prune_known *known,
		       struct prune_noted *n);
/* Puts these proofs in place of what kernels have that need them. The last one found counts. */
void prune_add_noted(const struct prune_search *x, const struct prune_noted *n);
void prune_noted_free(struct prune_noted *n);

#endif
