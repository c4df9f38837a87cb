/*
 * history.h - the front header of src/hirace on the host: HiRace's tables, and their words.
 */
#ifndef COLLIDER_HIRACE_HIRACE_H
#define COLLIDER_HIRACE_HIRACE_H

#include "base/base.h"
#include "hirace/machine.h"

/* ---- table.c ---------------------------------------------------------------- */

/* Which machine judges. */
enum hirace_variant {
	HIRACE_CORRECTED, /* generated from the definition: no false alarm, no miss */
	HIRACE_PUBLISHED, /* as the paper's authors published it */
	HIRACE_VARIANTS
};

/* One entry where the two differ. */
struct hirace_correction {
	uint8_t state, access, sync, relation;
	uint8_t published;	    /* the next state there */
	const char *counterexample; /* see corrections.def */
};
#define HIRACE_CORRECTIONS 15u
extern const struct hirace_correction hirace_corrections[HIRACE_CORRECTIONS];

/*
 * The table of HIRACE_TABLE_SIZE entries, indexed by hirace_entry(). The published one never has
 * HIRACE_KEEP, since Algorithm 1 always stores, nor HIRACE_COVERS; it is made on
 * the first call, which threads must not share.
 */
const uint8_t *hirace_table(enum hirace_variant variant);

/* Names of the published table: "B-MR-BSYNC"; "BA"; "U"; "G". NULL for what is none. */
const char *hirace_state_name(uint32_t state);
const char *hirace_access_name(uint32_t access);
const char *hirace_sync_name(uint32_t sync);
const char *hirace_relation_name(uint32_t relation);
/* What a state stands for, in words. */
const char *hirace_state_histories(uint32_t state);

/* ---- describe.c -------------------------------------------------------------- */

/* The published form: a header line, then access,sync,relation,state,next_state for each entry. */
void hirace_print_csv(struct base_buf *out, enum hirace_variant variant);
/* For people: every state with what it stands for, every transition with its reason. */
void hirace_print_table(struct base_buf *out, enum hirace_variant variant);

#endif
