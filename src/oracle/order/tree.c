/*
 * tree.c - persistent tries over actors, with a fan-out of 32.
 *
 * A block's stride is a power of two, so blocks and warps are aligned subtrees, and a subtree whose
 * actors have one value is one word. Joining stops where two subtrees are the same node and
 * returns one of its two sides if that side contains the other, so clocks that went through the
 * same barriers keep sharing. Costs: 272 bytes an inner node, 136 a leaf; a change copies the path
 * to one leaf, or nothing if it has no other holder.
 */
#include "oracle/types.h"

#define LEAF_BYTES (offsetof(struct oracle_node, u) + 32 * sizeof(uint32_t))

static inline bool is_uniform(uint64_t t)
{
	return !t || (t & 1);
}

static inline uint32_t uniform_of(uint64_t t)
{
	return (uint32_t)(t >> 1);
}

static inline uint64_t uniform(uint32_t v)
{
	return v ? (uint64_t)v << 1 | 1 : 0;
}

static inline struct oracle_node *node_of(uint64_t t)
{
	return (struct oracle_node *)(uintptr_t)t;
}

static inline uint64_t tree_of(const struct oracle_node *n)
{
	return (uintptr_t)n;
}

static struct oracle_node *node_new(struct oracle_pool *p, uint32_t level)
{
	struct oracle_node **list = level ? &p->free_inner : &p->free_leaf;
	size_t size = level ? sizeof(struct oracle_node) : LEAF_BYTES;
	struct oracle_node *n = *list;

	if (n)
		*list = node_of(n->u.child[0]);
	else
		n = base_alloc(&p->arena, size);
	p->bytes += size;
	n->refs = 1;
	n->level = level;
	return n;
}

bool oracle_tree_is_shared(uint64_t t)
{
	return is_uniform(t) || node_of(t)->refs > 1;
}

uint64_t oracle_tree_ref(uint64_t t)
{
	if (!is_uniform(t))
		node_of(t)->refs++;
	return t;
}

void oracle_tree_unref(struct oracle_pool *p, uint64_t t)
{
	struct oracle_node *n = node_of(t);

	if (is_uniform(t) || --n->refs)
		return;
	if (n->level)
		for (unsigned i = 0; i < 32; i++)
			oracle_tree_unref(p, n->u.child[i]);
	struct oracle_node **list = n->level ? &p->free_inner : &p->free_leaf;
	p->bytes -= n->level ? sizeof(*n) : LEAF_BYTES;
	n->u.child[0] = tree_of(*list);
	*list = n;
}

/* A node of this level that only the caller holds; takes over the caller's reference to t. */
static struct oracle_node *node_own(struct oracle_pool *p, uint64_t t, uint32_t level)
{
	struct oracle_node *old = node_of(t), *n;

	if (!is_uniform(t) && old->refs == 1)
		return old;
	n = node_new(p, level);
	if (is_uniform(t)) {
		for (unsigned i = 0; i < 32; i++)
			if (level)
				n->u.child[i] = t;
			else
				n->u.value[i] = uniform_of(t);
		return n;
	}
	if (level) {
		for (unsigned i = 0; i < 32; i++)
			n->u.child[i] = oracle_tree_ref(old->u.child[i]);
	} else {
		memcpy(n->u.value, old->u.value, sizeof(n->u.value));
	}
	oracle_tree_unref(p, t);
	return n;
}

/* A node whose parts are all one value becomes that value. */
static uint64_t collapse(struct oracle_pool *p, struct oracle_node *n)
{
	if (n->level) {
		if (!is_uniform(n->u.child[0]))
			return tree_of(n);
		for (unsigned i = 1; i < 32; i++)
			if (n->u.child[i] != n->u.child[0])
				return tree_of(n);
	} else {
		for (unsigned i = 1; i < 32; i++)
			if (n->u.value[i] != n->u.value[0])
				return tree_of(n);
	}
	uint64_t t = n->level ? n->u.child[0] : uniform(n->u.value[0]);
	oracle_tree_unref(p, tree_of(n));
	return t;
}

const uint32_t *oracle_tree_leaf(uint64_t root, uint32_t key, uint32_t *value)
{
	uint32_t level;

	*value = 0;
	if (!root || (uint64_t)key >> 5 * ((level = node_of(root)->level) + 1))
		return NULL;
	for (; level; level--) {
		root = node_of(root)->u.child[key >> 5 * level & 31];
		if (is_uniform(root)) {
			*value = uniform_of(root);
			return NULL;
		}
	}
	return node_of(root)->u.value;
}

uint32_t oracle_tree_get(uint64_t root, uint32_t key)
{
	uint32_t value;
	const uint32_t *leaf = oracle_tree_leaf(root, key, &value);

	return leaf ? leaf[key & 31] : value;
}

/* Raises the root until it covers the key. */
static void lift(struct oracle_pool *p, uint64_t *root, uint32_t key)
{
	if (!*root)
		*root = tree_of(node_own(p, 0, 0));
	while ((uint64_t)key >> 5 * (node_of(*root)->level + 1)) {
		struct oracle_node *n = node_own(p, 0, node_of(*root)->level + 1);
		n->u.child[0] = *root;
		*root = tree_of(n);
	}
}

static void raise_leaf(struct oracle_node *n, uint32_t mask, uint32_t value)
{
	ORACLE_EACH (i, mask) {
		if (n->u.value[i] < value)
			n->u.value[i] = value;
	}
}

/* Takes over t, of this level; base: the leaf's first key. */
static uint64_t raise_mask(struct oracle_pool *p, uint64_t t, uint32_t level, uint32_t base,
			   uint32_t mask, uint32_t value)
{
	if (is_uniform(t) && uniform_of(t) >= value)
		return t;
	if (!level && mask == UINT32_MAX && is_uniform(t))
		return uniform(value);
	struct oracle_node *n = node_own(p, t, level);
	if (!level) {
		raise_leaf(n, mask, value);
	} else {
		uint64_t *c = &n->u.child[base >> 5 * level & 31];
		*c = raise_mask(p, *c, level - 1, base, mask, value);
	}
	return collapse(p, n);
}

void oracle_tree_raise_mask(struct oracle_pool *p, uint64_t *root, uint32_t base, uint32_t mask,
			    uint32_t value)
{
	if (!mask || !value)
		return;
	lift(p, root, base | 31);
	/* The root stays a node. */
	struct oracle_node *n = node_own(p, *root, node_of(*root)->level);
	if (!n->level) {
		raise_leaf(n, mask, value);
	} else {
		uint64_t *c = &n->u.child[base >> 5 * n->level & 31];
		*c = raise_mask(p, *c, n->level - 1, base, mask, value);
	}
	*root = tree_of(n);
}

void oracle_tree_raise(struct oracle_pool *p, uint64_t *root, uint32_t key, uint32_t value)
{
	if (oracle_tree_get(*root, key) < value)
		oracle_tree_raise_mask(p, root, key & ~31u, 1u << (key & 31), value);
}

/* Keys first .. end-1 get at least `value`. */
struct raise {
	struct oracle_pool *p;
	uint64_t first, end;
	uint32_t value;
};

static uint64_t raise_range(const struct raise *r, uint64_t t, uint32_t level, uint64_t at,
			    bool is_root)
{
	uint64_t step = 1ull << 5 * level;

	if (is_uniform(t) && !is_root &&
	    (uniform_of(t) >= r->value || (r->first <= at && at + step * 32 <= r->end)))
		return uniform_of(t) >= r->value ? t : uniform(r->value);
	struct oracle_node *n = node_own(r->p, t, level);
	for (unsigned i = 0; i < 32; i++, at += step) {
		if (at >= r->end || at + step <= r->first)
			continue;
		if (level)
			n->u.child[i] = raise_range(r, n->u.child[i], level - 1, at, false);
		else if (n->u.value[i] < r->value)
			n->u.value[i] = r->value;
	}
	return is_root ? tree_of(n) : collapse(r->p, n);
}

void oracle_tree_raise_range(struct oracle_pool *p, uint64_t *root, uint32_t first, uint32_t n,
			     uint32_t value)
{
	struct raise r = {p, first, (uint64_t)first + n, value};

	if (!n)
		return;
	lift(p, root, first + n - 1);
	*root = raise_range(&r, *root, node_of(*root)->level, 0, true);
}

static uint64_t join(struct oracle_pool *p, uint64_t a, uint64_t b, uint32_t level, bool is_root);

typedef int32_t lanes4 __attribute__((vector_size(16)));

/* A leaf's values, four at a time (they are no more than INT32_MAX); u: of a uniform one. */
static inline lanes4 values_of(uint64_t t, unsigned at, const lanes4 *u)
{
	lanes4 v;

	if (is_uniform(t))
		return *u;
	memcpy(&v, &node_of(t)->u.value[at], sizeof(v));
	return v;
}

static inline lanes4 all_of(uint64_t t)
{
	return (lanes4){0} + (is_uniform(t) ? (int32_t)uniform_of(t) : 0);
}

static bool has_any(lanes4 v)
{
	return v[0] | v[1] | v[2] | v[3];
}

/* Of two leaves, or a leaf and a uniform one. Takes over a. */
static uint64_t join_leaf(struct oracle_pool *p, uint64_t a, uint64_t b)
{
	lanes4 above_a = {0}, above_b = {0}, ua = all_of(a), ub = all_of(b), v[8];

	for (unsigned i = 0; i < 8; i++) {
		lanes4 x = values_of(a, i * 4, &ua), y = values_of(b, i * 4, &ub);
		lanes4 is_x = x > y;
		above_b |= is_x;
		above_a |= y > x;
		v[i] = (x & is_x) | (y & ~is_x);
	}
	if (!has_any(above_a))
		return a;
	if (!has_any(above_b)) {
		oracle_tree_unref(p, a);
		return oracle_tree_ref(b);
	}
	struct oracle_node *n = node_own(p, a, 0);
	memcpy(n->u.value, v, sizeof(v));
	return collapse(p, n);
}

static inline uint64_t child_of(uint64_t t, unsigned i)
{
	return is_uniform(t) ? t : node_of(t)->u.child[i];
}

/* a has no other holder: its children are changed where they are. Takes over a. */
static uint64_t join_own(struct oracle_pool *p, uint64_t a, uint64_t b, uint32_t level,
			 bool is_root)
{
	struct oracle_node *n = node_of(a);
	bool is_b = true;

	for (unsigned i = 0; i < 32; i++) {
		uint64_t y = child_of(b, i);
		if (n->u.child[i] != y)
			n->u.child[i] = join(p, n->u.child[i], y, level - 1, false);
		is_b &= n->u.child[i] == y;
	}
	if (is_b && !is_uniform(b)) {
		oracle_tree_unref(p, a);
		return oracle_tree_ref(b);
	}
	return is_root ? a : collapse(p, n);
}

/* The children that have been joined are held, the others are one side's. */
static uint64_t join_inner(struct oracle_pool *p, uint64_t a, uint64_t b, uint32_t level,
			   bool is_root)
{
	uint32_t not_a = 0, not_b = 0, held = 0;
	uint64_t v[32];

	for (unsigned i = 0; i < 32; i++) {
		uint64_t x = child_of(a, i), y = child_of(b, i);
		v[i] = x;
		if (x == y)
			continue;
		if (is_uniform(x) && is_uniform(y)) {
			v[i] = x > y ? x : y;
		} else if (!x) {
			v[i] = y;
		} else if (y) {
			v[i] = join(p, oracle_tree_ref(x), y, level - 1, false);
			held |= 1u << i;
		}
		not_a |= (uint32_t)(v[i] != x) << i;
		not_b |= (uint32_t)(v[i] != y) << i;
	}
	if (!not_a || !not_b) {
		ORACLE_EACH (k, held)
			oracle_tree_unref(p, v[k]);
		if (!not_a)
			return a;
		oracle_tree_unref(p, a);
		return oracle_tree_ref(b);
	}
	/* Before a is released, which may be their only holder. */
	ORACLE_EACH (m, not_a & ~held)
		oracle_tree_ref(v[m]);
	struct oracle_node *n = node_own(p, a, level);
	ORACLE_EACH (l, not_a | held) {
		oracle_tree_unref(p, n->u.child[l]);
		n->u.child[l] = v[l];
	}
	return is_root ? tree_of(n) : collapse(p, n);
}

/* Takes over a, borrows b; both of this level. */
static uint64_t join(struct oracle_pool *p, uint64_t a, uint64_t b, uint32_t level, bool is_root)
{
	if (a == b || !b)
		return a;
	if (!a)
		return oracle_tree_ref(b);
	if (is_uniform(a) && is_uniform(b))
		return a > b ? a : b;
	if (!level)
		return join_leaf(p, a, b);
	return !is_uniform(a) && node_of(a)->refs == 1 ? join_own(p, a, b, level, is_root)
						       : join_inner(p, a, b, level, is_root);
}

void oracle_tree_join(struct oracle_pool *p, uint64_t *root, uint64_t with)
{
	if (*root == with || !with)
		return;
	if (!*root) {
		*root = oracle_tree_ref(with);
		return;
	}
	uint32_t level = node_of(with)->level;
	if (node_of(*root)->level < level)
		lift(p, root, (uint32_t)((1ull << 5 * (level + 1)) - 1));
	if (node_of(*root)->level == level) {
		uint64_t r = join(p, *root, with, level, true);
		if (is_uniform(r)) /* of two leaves as roots */
			r = tree_of(node_own(p, r, level));
		*root = r;
		return;
	}
	/* With a lower tree: into the first child, and so on. */
	struct oracle_node *n = node_own(p, *root, node_of(*root)->level);
	*root = tree_of(n);
	while (n->level > level + 1) {
		struct oracle_node *c = node_own(p, n->u.child[0], n->level - 1);
		n->u.child[0] = tree_of(c);
		n = c;
	}
	n->u.child[0] = join(p, n->u.child[0], with, level, false);
}

/* Two trees side by side, from the level of the higher one on. */
struct pair {
	uint64_t t[2];
	uint32_t level;
	struct oracle_node top[8]; /* new roots for the lower one */
};

static void pair_init(struct pair *p, uint64_t a, uint64_t b)
{
	uint32_t x = a ? node_of(a)->level : 0, y = b ? node_of(b)->level : 0;
	unsigned low = x > y;
	uint32_t from = low ? y : x;

	p->t[0] = a;
	p->t[1] = b;
	p->level = low ? x : y;
	for (unsigned i = 0; p->t[low] && from < p->level; i++) {
		struct oracle_node *n = &p->top[i];
		memset(n, 0, sizeof(*n));
		n->level = ++from;
		n->u.child[0] = p->t[low];
		p->t[low] = tree_of(n);
	}
}

struct above {
	uint64_t first, end;
	void (*fn)(void *arg, uint32_t key, uint32_t value);
	void *arg;
};

static void above(const struct above *x, uint64_t a, uint64_t b, uint32_t level, uint64_t at)
{
	uint64_t step = 1ull << 5 * level;

	if (a == b || !a)
		return;
	for (unsigned i = 0; i < 32; i++, at += step) {
		if (at >= x->end || at + step <= x->first)
			continue;
		if (level) {
			above(x, child_of(a, i), child_of(b, i), level - 1, at);
			continue;
		}
		uint32_t v = is_uniform(a) ? uniform_of(a) : node_of(a)->u.value[i];
		uint32_t w = is_uniform(b) ? uniform_of(b) : node_of(b)->u.value[i];
		if (v > w)
			x->fn(x->arg, (uint32_t)at, v);
	}
}

void oracle_tree_above(uint64_t a, uint64_t b, uint32_t first, uint64_t end,
		       void (*fn)(void *arg, uint32_t key, uint32_t value), void *arg)
{
	const struct above x = {first, end, fn, arg};
	struct pair p;

	if (!a || a == b)
		return;
	pair_init(&p, a, b);
	above(&x, p.t[0], p.t[1], p.level, 0);
}

static bool covers(uint64_t a, uint64_t b, uint32_t level)
{
	if (a == b || !b)
		return true;
	if (!a || (is_uniform(a) && is_uniform(b)))
		return a >= b && a;
	for (unsigned i = 0; i < 32; i++) {
		if (level) {
			if (!covers(child_of(a, i), child_of(b, i), level - 1))
				return false;
			continue;
		}
		uint32_t v = is_uniform(a) ? uniform_of(a) : node_of(a)->u.value[i];
		uint32_t w = is_uniform(b) ? uniform_of(b) : node_of(b)->u.value[i];
		if (w > v)
			return false;
	}
	return true;
}

bool oracle_tree_covers(uint64_t a, uint64_t b)
{
	struct pair p;

	if (a == b || !b)
		return true;
	if (!a)
		return false;
	if (node_of(a)->level == node_of(b)->level)
		return covers(a, b, node_of(a)->level);
	pair_init(&p, a, b);
	return covers(p.t[0], p.t[1], p.level);
}

/* The subtree of this level that has the key, of a tree that isn't lower. */
static uint64_t subtree(uint64_t t, uint32_t key, uint32_t low)
{
	uint32_t level = t ? node_of(t)->level : low;

	if ((uint64_t)key >> 5 * (level + 1))
		return 0;
	for (; !is_uniform(t) && level > low; level--)
		t = node_of(t)->u.child[key >> 5 * level & 31];
	return t;
}

static uint32_t value_of(uint64_t t, unsigned i)
{
	return is_uniform(t) ? uniform_of(t) : node_of(t)->u.value[i];
}

bool oracle_tree_covers_near(uint64_t a, uint64_t b, uint32_t key, uint32_t bits)
{
	uint32_t low = bits > 5 ? (bits - 1) / 5 : 0, n = (1u << bits) >> 5 * low;
	uint32_t first = (key >> bits << bits) >> 5 * low & 31;

	if (a == b || !b)
		return true;
	if ((a && node_of(a)->level < low) || node_of(b)->level < low)
		return oracle_tree_covers(a, b);
	a = subtree(a, key, low);
	b = subtree(b, key, low);
	if (a == b || !b)
		return true;
	for (unsigned i = first; i < first + n; i++)
		if (low ? !covers(child_of(a, i), child_of(b, i), low - 1)
			: value_of(b, i) > value_of(a, i))
			return false;
	return true;
}
