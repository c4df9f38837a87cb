/*
 * taint.c - sets of loads as a graph: making, using and dropping nodes (taint.h).
 *
 * What is used already is left out of new nodes, so a register whose value is stored in each round
 * of a loop holds no chain of all rounds. Walks keep their own stack.
 * Misses: what is made when 2^23 nodes exist is lost.
 * Costs: 32 bytes a node; amortised a step for each node and the lanes that use it; a question of
 * what two share, up to WALK_MAX nodes of each.
 */
#include "cpu/events/taint.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NODES (1u << 23)
#define WALK_MAX  128u

static uint32_t node_new(struct taint_graph *g)
{
	uint32_t id = g->free;

	if (id) {
		g->free = g->v[id].kid[0];
		__builtin_prefetch(&g->v[g->free]);
	} else {
		if (g->n == g->room) {
			uint32_t room = g->room ? 2 * g->room : 1024;
			struct taint_node *v =
				room > MAX_NODES ? NULL : realloc(g->v, room * sizeof(*v));
			if (!v)
				return 0;
			g->v = v;
			g->room = room;
			g->n += g->n == 0; /* 0 is nothing */
		}
		id = g->n++;
	}
	memset(&g->v[id], 0, sizeof(g->v[id]));
	g->v[id].refs = 1;
	g->births += g->births < UINT32_MAX;
	g->v[id].birth = g->births;
	return id;
}

uint32_t taint_leaf(struct taint_graph *g, uint32_t load, uint32_t parts, uint32_t lanes)
{
	uint32_t id = node_new(g);

	if (!id)
		return 0;
	struct taint_node *t = &g->v[id];
	t->is_leaf = true;
	t->kid[0] = load;
	t->kid[1] = parts;
	t->lanes[0] = lanes;
	return id;
}

/* Of two parts, each not empty, or the second one's node 0. */
static uint32_t pair_new(struct taint_graph *g, struct taint_part a, struct taint_part b)
{
	if (!b.node && !a.is_maybe && a.lanes == taint_lanes(g, a.node))
		return taint_keep(g, a.node);
	uint32_t id = node_new(g);
	if (!id)
		return 0;
	struct taint_node *t = &g->v[id];
	t->kid[0] = taint_keep(g, a.node);
	t->kid[1] = taint_keep(g, b.node);
	t->lanes[0] = a.lanes;
	t->lanes[1] = b.node ? b.lanes : 0;
	t->maybe = (a.is_maybe ? 1 : 0) | (b.node && b.is_maybe ? 2 : 0);
	t->holds_maybe = t->maybe || g->v[a.node].holds_maybe || g->v[b.node].holds_maybe;
	return id;
}

/* The node whose loads and lanes a node has that taint_again made; or the node. */
static uint32_t base_of(const struct taint_graph *g, uint32_t node)
{
	const struct taint_node *t = &g->v[node];

	return t->is_again ? t->kid[0] : node;
}

uint32_t taint_again(struct taint_graph *g, uint32_t node)
{
	uint32_t id = node ? node_new(g) : 0;

	if (!id)
		return 0;
	struct taint_node *t = &g->v[id];
	uint32_t base = base_of(g, node);
	t->kid[0] = taint_keep(g, base);
	t->lanes[0] = taint_lanes(g, base);
	t->holds_maybe = g->v[base].holds_maybe;
	t->is_again = true;
	return id;
}

/* Adds a part to those of `left`, which has k. */
static unsigned part_add(struct taint_part *left, unsigned k, struct taint_part p)
{
	for (unsigned j = 0; j < k; j++)
		if (left[j].node == p.node && left[j].is_maybe == p.is_maybe) {
			left[j].lanes |= p.lanes;
			return k;
		}
	left[k] = p;
	return k + 1;
}

uint32_t taint_join(struct taint_graph *g, const struct taint_part *parts, unsigned n)
{
	struct taint_part left[TAINT_PARTS];
	unsigned k = 0, bases = 0;

	for (unsigned i = 0; i < n && k < TAINT_PARTS; i++) {
		struct taint_part p = parts[i];
		p.lanes &= taint_lanes(g, p.node);
		if (!p.node || !p.lanes ||
		    (!(p.lanes & ~g->v[p.node].used) && !g->v[p.node].holds_maybe))
			continue;
		k = part_add(left, k, p);
	}
	if (!k)
		return 0;
	for (unsigned i = 0; k > 1 && i < k; i++) {
		struct taint_part p = left[i];
		p.node = base_of(g, p.node);
		bases = part_add(left, bases, p);
	}
	if (bases == 1 && !left[0].is_maybe && left[0].lanes == taint_lanes(g, left[0].node))
		return taint_again(g, left[0].node);
	k = bases ? bases : k;
	uint32_t id = pair_new(g, left[0], k > 1 ? left[1] : (struct taint_part){0});
	for (unsigned i = 2; i < k && id; i++) {
		struct taint_part all = {id, taint_lanes(g, id), false};
		uint32_t next = pair_new(g, all, left[i]);
		taint_drop(g, id);
		id = next;
	}
	return id;
}

void taint_drop(struct taint_graph *g, uint32_t node)
{
	size_t from = g->todo.n;

	if (!node)
		return;
	base_vec_push(&g->todo, ((struct taint_part){.node = node}));
	while (g->todo.n > from) {
		uint32_t id = g->todo.v[--g->todo.n].node;
		struct taint_node *t = &g->v[id];
		if (!id || --t->refs)
			continue;
		uint32_t a = t->kid[0], b = t->kid[1];
		bool is_leaf = t->is_leaf;
		t->kid[0] = g->free;
		g->free = id;
		if (is_leaf) {
			g->on_end(g->arg, a);
			continue;
		}
		base_vec_push(&g->todo, ((struct taint_part){.node = a}));
		base_vec_push(&g->todo, ((struct taint_part){.node = b}));
	}
}

void taint_use(struct taint_graph *g, uint32_t node, uint32_t lanes)
{
	size_t from = g->todo.n;

	base_vec_push(&g->todo, ((struct taint_part){node, lanes, false}));
	while (g->todo.n > from) {
		struct taint_part p = g->todo.v[--g->todo.n];
		struct taint_node *t = &g->v[p.node];
		p.lanes &= taint_lanes(g, p.node) & ~t->used;
		if (!p.node || !p.lanes)
			continue;
		t->used |= p.lanes;
		if (t->is_leaf) {
			g->on_use(g->arg, t->kid[0], t->kid[1], p.lanes);
			continue;
		}
		for (unsigned i = 0; i < 2; i++)
			if (!(t->maybe >> i & 1))
				base_vec_push(&g->todo,
					      ((struct taint_part){t->kid[i], p.lanes & t->lanes[i],
								   false}));
	}
}

/* Leaves below a node that may be below `other`, too: not those that are used, or came after it.
 * False: too many. */
static bool leaves_of(struct taint_graph *g, uint32_t node, uint32_t other, uint32_t *leaf,
		      unsigned *n)
{
	const uint32_t last = g->v[other].birth;
	size_t from = g->todo.n;
	unsigned steps = 0;

	*n = 0;
	g->walks++;
	base_vec_push(&g->todo, ((struct taint_part){.node = node}));
	while (g->todo.n > from) {
		uint32_t id = g->todo.v[--g->todo.n].node;
		struct taint_node *t = &g->v[id];
		if (!id || t->seen == g->walks)
			continue;
		t->seen = g->walks;
		if (++steps > WALK_MAX) {
			g->todo.n = from;
			return false;
		}
		if (t->is_leaf) {
			if (t->lanes[0] & ~t->used && t->birth <= last)
				leaf[(*n)++] = id;
			continue;
		}
		base_vec_push(&g->todo, ((struct taint_part){.node = t->kid[0]}));
		base_vec_push(&g->todo, ((struct taint_part){.node = t->kid[1]}));
	}
	return true;
}

uint32_t taint_shared(struct taint_graph *g, uint32_t a, uint32_t b)
{
	uint32_t la[WALK_MAX], lb[WALK_MAX], lanes = taint_lanes(g, a) & taint_lanes(g, b);
	uint32_t out = 0;
	unsigned na, nb;

	if (!lanes || a == b)
		return lanes;
	bool is_a = leaves_of(g, a, b, la, &na);
	if (is_a && !na)
		return 0;
	bool is_b = leaves_of(g, b, a, lb, &nb);
	if (is_b && !nb)
		return 0;
	if (!is_a || !is_b)
		return lanes;
	for (unsigned i = 0; i < na; i++)
		for (unsigned j = 0; j < nb; j++) {
			const struct taint_node *x = &g->v[la[i]], *y = &g->v[lb[j]];
			if (x->kid[0] == y->kid[0] && x->kid[1] & y->kid[1])
				out |= x->lanes[0] & y->lanes[0];
		}
	return out & lanes;
}

void taint_free(struct taint_graph *g)
{
	free(g->v);
	base_vec_free(&g->todo);
	memset(g, 0, sizeof(*g));
}
