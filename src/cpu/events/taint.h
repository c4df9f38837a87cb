/*
 * taint.h - the loads whose values are in a register of a warp, as a graph.
 *
 * A node is a set of (load, lane): a leaf is what one execution of a load gave its lanes, any other
 * node has up to two others, each for some lanes. An operation on registers makes at most a few
 * nodes, whatever they hold; so a sum of a thousand loads is a chain of a thousand. Using a node
 * marks all that is below it, each node once for each lane. Nodes are counted references, 0 is the
 * empty set.
 *
 * What one operation leaves in several registers, or bytes of one, is a node for each: whether two
 * are one node says something of their values (depends.c). All but the first are that one again
 * (taint_again), which operations look through.
 *
 * A part that is `maybe` is one on which the value may depend or not: using the node doesn't use
 * it. It is kept for the question whether two values may share a load (taint_shared).
 */
#ifndef COLLIDER_CPU_EVENTS_TAINT_H
#define COLLIDER_CPU_EVENTS_TAINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct taint_node {
	uint32_t kid[2];   /* a leaf: the load, and a set of parts of it */
	uint32_t lanes[2]; /* for which lanes; a leaf: the first */
	uint32_t used;	   /* these lanes are done: all that is surely below is marked */
	uint32_t birth;	   /* rises from node to node; at the end all are equal */
	uint32_t seen;	   /* the walk that was here last */
	uint32_t refs : 27, is_leaf : 1;
	uint32_t is_again : 1;	  /* of one part, which is all of a node (taint_again) */
	uint32_t maybe : 2;	  /* a bit for each kid */
	uint32_t holds_maybe : 1; /* something below is */
};

struct taint_part {
	uint32_t node, lanes;
	bool is_maybe;
};

struct taint_graph {
	struct taint_node *v; /* v[0] is nothing */
	uint32_t n, room, free, births, walks;
	BASE_VEC(struct taint_part) todo;
	/* Lanes have used parts of a load; a leaf of it is gone. */
	void (*on_use)(void *arg, uint32_t load, uint32_t parts, uint32_t lanes);
	void (*on_end)(void *arg, uint32_t load);
	void *arg;
};

static inline uint32_t taint_lanes(const struct taint_graph *g, uint32_t node)
{
	return node ? g->v[node].lanes[0] | g->v[node].lanes[1] : 0;
}

/* Is anything in the node that a new one would have, too: not used yet, or `maybe`? */
static inline bool taint_is_open(const struct taint_graph *g, uint32_t node)
{
	return node && (taint_lanes(g, node) & ~g->v[node].used || g->v[node].holds_maybe);
}

static inline uint32_t taint_keep(struct taint_graph *g, uint32_t node)
{
	if (node)
		g->v[node].refs++;
	return node;
}

/* These return a reference of their own, or 0: nothing, or no memory (the values are lost). */
uint32_t taint_leaf(struct taint_graph *g, uint32_t load, uint32_t parts, uint32_t lanes);
#define TAINT_PARTS 48u /* those beyond are lost */
uint32_t taint_join(struct taint_graph *g, const struct taint_part *parts, unsigned n);
/* Another node that holds the same. */
uint32_t taint_again(struct taint_graph *g, uint32_t node);
void taint_drop(struct taint_graph *g, uint32_t node);
void taint_use(struct taint_graph *g, uint32_t node, uint32_t lanes);
/* Lanes in which both may hold the value of one execution of a load that isn't used yet; more where
 * that is too much to look through. */
uint32_t taint_shared(struct taint_graph *g, uint32_t a, uint32_t b);
void taint_free(struct taint_graph *g);

#endif
