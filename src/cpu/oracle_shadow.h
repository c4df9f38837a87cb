/*
 * oracle_shadow.h - what oracle_shadow.c and oracle_row.c share: the access being checked.
 */
#ifndef COLLIDER_CPU_ORACLE_SHADOW_H
#define COLLIDER_CPU_ORACLE_SHADOW_H

#include "cpu/oracle_impl.h"

#define ORACLE_PLAIN_BYTES 0xfu

struct oracle_now {
	struct oracle *o;
	struct oracle_thread *t;
	const struct oracle_clock *clock;
	uint32_t actor;
	const struct oracle_acc *acc;
	uint32_t site;
	uint64_t address, bytes; /* of all of the access */
	uint64_t word;		 /* the word being checked */
	uint32_t mask;		 /* its bytes */
	uint32_t place;		 /* oracle_place_key of strong ones */
	struct oracle_chain *chain;
	uint32_t pos;
	bool is_range, is_pseudo;
	/* What `clock` knows of the warp looked up last (oracle_row.c). */
	const struct oracle_clock *leaf_clock;
	uint32_t leaf_warp, leaf_value;
	const uint32_t *leaf;
	const struct oracle_readers *known; /* all of these are known to leaf_clock */
};

/* Words in a row that one actor, or lanes one after the other, access with one clock. */
struct oracle_row {
	struct oracle_thread *t; /* of the actor */
	uint32_t actor;		 /* of the first word; is_mask: of lane 0 */
	uint32_t own;		 /* the epoch of all */
	uint32_t site;		 /* with the fences before it; made by oracle_row_access */
	const struct oracle_clock *clock;
	uint32_t lanes; /* is_mask: all of these access all of the words */
	uint32_t shift; /* log2 of the words of a lane; ORACLE_ONE_ACTOR */
	uint32_t nwords;
	uint64_t address, start; /* of the first word; of the access of its actor */
	bool is_mask;
};

static inline const struct oracle_site *oracle_site_at(const struct oracle *o, uint32_t site)
{
	return o->sites.v[site];
}

#define ORACLE_OFF_RANGE (-128)

/* oracle_ext.c: records by class. */
enum oracle_class oracle_class_of(const struct oracle_site *s);
void oracle_rec_drop(struct oracle *o, struct oracle_rec *r);
void oracle_list_push(struct oracle *o, struct oracle_list **at, const struct oracle_rec *r);
/* The list (or NULL) changes: what it remembered of its order doesn't hold. */
void oracle_list_touch(struct oracle *o, struct oracle_list *l);
/* A read-only load stays for the writes of its grid while that runs. */
bool oracle_is_nc_kept(struct oracle *o, const struct oracle_site *x, uint32_t actor);
/* A word's check and keeping in general; n->word and n->mask are set. */
void oracle_word_full(struct oracle_now *n, struct oracle_cell *c);

/* oracle_row.c: may the access stay in cells? */
bool oracle_is_plain(const struct oracle_now *n);
/* Checks and keeps a plain access of whole words. */
void oracle_row_access(struct oracle_now *n, struct oracle_row *row);

#endif
