/*
 * clock.h - trees (tree.c), clocks (clock.c) and their pool: persistent, counted, shared.
 */
#ifndef COLLIDER_ORACLE_CLOCK_H
#define COLLIDER_ORACLE_CLOCK_H

#include "oracle/oracle.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/*
 * A tree maps actors to numbers, absent ones to 0. It is a word: 0: empty; odd: all below have the
 * value tree >> 1; else a node. Nodes are shared and counted; one with a single owner is changed
 * in place. A root is 0 or a node, which knows its level, so small runs have low trees.
 */
struct oracle_node {
	uint32_t refs;
	uint32_t level; /* 0: a leaf */
	union {
		uint64_t child[32];
		uint32_t value[32]; /* leaf; a leaf is allocated only up to here */
	} u;
};

struct oracle_clock;

enum oracle_memo_kind {
	ORACLE_MEMO_JOIN,
	ORACLE_MEMO_LEARN,
	ORACLE_MEMO_LEARN_ARRIVAL,
	ORACLE_MEMO_HAND,   /* what an mbarrier's arrival publishes */
	ORACLE_MEMO_FORCED, /* by communication */
	ORACLE_MEMO_FENCE   /* a fence.sc of a warp, of a scope */
};

/* The result of an operation on a clock that many share: the lanes of a warp often learn the same.
 * All are held. */
struct oracle_memo {
	struct oracle_clock *from, *to; /* from: NULL for none */
	uint64_t with;			/* JOIN, LEARN: a clock; FORCED: a tree */
	uint32_t actor, number;
	enum oracle_memo_kind kind;
};

#define ORACLE_MEMOS 64u

struct oracle_pool {
	struct oracle_memo memo[ORACLE_MEMOS];
	uint64_t joined[3]; /* the trees joined last by oracle_tree_join_again, and theirs */
	struct oracle_node *free_inner, *free_leaf;
	struct base_arena arena;
	uint64_t bytes;	 /* in use */
	uint32_t clocks; /* made */
};

uint32_t oracle_tree_get(uint64_t root, uint32_t key);
/* The values of 32 actors at once: a leaf's values, or NULL and *uniform for all of them. */
const uint32_t *oracle_tree_leaf(uint64_t root, uint32_t key, uint32_t *uniform);
void oracle_tree_raise(struct oracle_pool *p, uint64_t *root, uint32_t key, uint32_t value);
/* Raises the keys base + l for l in mask; base is a multiple of 32. */
void oracle_tree_raise_mask(struct oracle_pool *p, uint64_t *root, uint32_t base, uint32_t mask,
			    uint32_t value);
void oracle_tree_raise_range(struct oracle_pool *p, uint64_t *root, uint32_t first, uint32_t n,
			     uint32_t value);
void oracle_tree_join(struct oracle_pool *p, uint64_t *root, uint64_t with);
bool oracle_tree_is_shared(uint64_t t);
uint64_t oracle_tree_ref(uint64_t root);
void oracle_tree_unref(struct oracle_pool *p, uint64_t root);
/* Calls fn for each key from `first` on and below `end` whose value in a is above that in b. */
void oracle_tree_above(uint64_t a, uint64_t b, uint32_t first, uint64_t end,
		       void (*fn)(void *arg, uint32_t key, uint32_t value), void *arg);
/* Is no value in b above that in a? */
bool oracle_tree_covers(uint64_t a, uint64_t b);
/* ... of the keys that differ from `key` in the low `bits` bits at most? Perhaps false where that
 * is due to others. */
bool oracle_tree_covers_near(uint64_t a, uint64_t b, uint32_t key, uint32_t bits);

enum oracle_root {
	ORACLE_HB,     /* epochs: base causality */
	ORACLE_FENCES, /* epoch of the last fence.sc of each other actor in the past */
	ORACLE_FORCED, /* ... after which an access in the past has communicated; not those that
			  are only in ORACLE_FENCES */
	ORACLE_CROSS,  /* epochs with a proxy fence after them: global, shared, tensormap, and
			* what the end of a launch or copy is alone: texture */
	ORACLE_CROSS_TMAP = ORACLE_CROSS + 2,
	ORACLE_CROSS_TEXTURE,
	ORACLE_TMAP_RELEASED, /* ... and the tensormap proxy's releasing fence alone */
	ORACLE_HANDED,	      /* ... and an arrival at an mbarrier that was waited for */
	ORACLE_ROOTS
};

/*
 * Immutable once shared. It may have a name: a clock that knows this epoch of the actor knows all
 * of this clock. With epoch 0: one that knows any of `span` actors from this one on does.
 */
struct oracle_clock {
	uint32_t refs;
	uint32_t actor, epoch, span; /* epoch and span 0: no name */
	uint32_t number;	     /* of those that the pool has made */
	uint64_t root[ORACLE_ROOTS];
};

static inline struct oracle_clock *oracle_clock_ref(struct oracle_clock *c)
{
	c->refs++;
	return c;
}

struct oracle_clock *oracle_clock_new(struct oracle_pool *p);
void oracle_clock_unref(struct oracle_pool *p, struct oracle_clock *c);
/* Gives it the name, if it has none. */
void oracle_clock_name(struct oracle_clock *c, uint32_t actor, uint32_t epoch);
/* Makes *c the caller's own, without a name, so that it can be changed. */
struct oracle_clock *oracle_clock_own(struct oracle_pool *p, struct oracle_clock **c);
void oracle_clock_join(struct oracle_pool *p, struct oracle_clock **c, struct oracle_clock *with);
/* Has the same been done to *c before? Then *c becomes the result. */
bool oracle_memo_get(struct oracle_pool *p, struct oracle_clock **c, const struct oracle_memo *m);
/* Remembers that the operation on m->from has given m->to. Takes the references it needs. */
void oracle_memo_put(struct oracle_pool *p, const struct oracle_memo *m);
void oracle_memos_free(struct oracle_pool *p);

#endif
