/*
 * iguard.h - what the files of detector `iguard` in this room share: iguard.c, fast.c.
 */
#ifndef COLLIDER_INSTRUMENT_IGUARD_H
#define COLLIDER_INSTRUMENT_IGUARD_H

#include "instrument/follower.h"

#include "race/layout/iguard.h"

#define CONTEXTS_AT inst_num((int64_t)offsetof(struct race_iguard_tables, contexts_of))

struct inst_iguard_kernel {
	struct inst_follow f;	      /* its table: only in scratch, or of a variant */
	uint32_t near, spans, launch; /* registers */
	bool can_swap; /* common swaps are inlined: both words at once, blocks order threads */
	bool has_bytes
		[2];	/* global, shared memory is accessed by bytes: entries are those of bytes */
	bool is_plain;	/* only barriers of the block order its threads: RACE_IGUARD_PLAIN */
	bool has_exits; /* threads may leave before others' barriers: RACE_IGUARD_EXITS */
	bool has_waits; /* it may draw tickets or join queues */
	uint32_t tracked; /* bytes of shared memory; 0: no table */
};

/* What a check is given: site, access and words (RACE_IGUARD_*). */
int64_t inst_iguard_what(const struct inst_iguard_kernel *k, const struct inst_event *e);

/* fast.c. The words of an access that inlined code decides, 4 bytes each; 0: the access is
 * called. */
unsigned inst_iguard_words(const struct inst_iguard_kernel *k, const struct inst_event *e);
/* The inlined code: what it decides goes to `over`, what it doesn't falls through to the call. */
void inst_iguard_put_fast(struct inst_iguard_kernel *k, const struct inst_event *e, unsigned words,
			  struct ptx_opnd at, struct ptx_opnd what, struct ptx_label *over);

#endif
