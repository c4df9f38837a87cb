/*
 * shadow.h - the front header of src/shadow on the host: HiRace's tables, and their words.
 */
#ifndef COLLIDER_SHADOW_H
#define COLLIDER_SHADOW_H

#include "base/base.h"
#include "shadow/machine.h"

/* ---- table.c ---------------------------------------------------------------- */

/* Which machine judges. */
enum shadow_variant {
	SHADOW_CORRECTED, /* generated from the definition: no false alarm, no miss */
	SHADOW_PUBLISHED, /* as the paper's authors published it */
	SHADOW_VARIANTS
};

/* One entry where the two differ. */
struct shadow_correction {
	uint8_t state, access, sync, relation;
	uint8_t published;	    /* the next state there */
	const char *counterexample; /* see corrections.def */
};
#define SHADOW_CORRECTIONS 15u
extern const struct shadow_correction shadow_corrections[SHADOW_CORRECTIONS];

/*
 * The table of SHADOW_TABLE_SIZE entries, indexed by shadow_entry(). The published one never has
 * SHADOW_KEEP, since Algorithm 1 always stores, nor SHADOW_COVERS; it is made on
 * the first call, which threads must not share.
 */
const uint8_t *shadow_table(enum shadow_variant variant);

/* Names of the published table: "B-MR-BSYNC"; "BA"; "U"; "G". NULL for what is none. */
const char *shadow_state_name(uint32_t state);
const char *shadow_access_name(uint32_t access);
const char *shadow_sync_name(uint32_t sync);
const char *shadow_relation_name(uint32_t relation);
/* What a state stands for, in words. */
const char *shadow_state_histories(uint32_t state);

/* ---- describe.c -------------------------------------------------------------- */

/* The published form: a header line, then access,sync,relation,state,next_state for each entry. */
void shadow_print_csv(struct base_buf *out, enum shadow_variant variant);
/* For people: every state with what it stands for, every transition with its reason. */
void shadow_print_table(struct base_buf *out, enum shadow_variant variant);

#endif
