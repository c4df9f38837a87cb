/*
 * chain.c - which threads have seen a strong write: observation.
 *
 * Writes and the RMWs that read them form a chain; a morally strong read has seen its chain up to a
 * position, and is kept with the chain by its epoch: a later access that knows that epoch comes
 * after these writes. Costs: 12 bytes an observation.
 */
#include "oracle/shadow.h"

struct oracle_chain *oracle_chain_new(struct oracle *o)
{
	struct oracle_chain *c = oracle_mem_new(o, sizeof(*c));

	c->serial = ++o->nchains;
	c->seen = c->few;
	c->cap = ORACLE_FEW_SEEN;
	return c;
}

void oracle_chain_unref(struct oracle *o, struct oracle_chain *c)
{
	if (!c || --c->refs)
		return;
	if (c->seen != c->few)
		oracle_mem_free(o, c->seen, c->cap * sizeof(c->seen[0]));
	oracle_mem_free(o, c, sizeof(*c));
}

#define LOOK_BACK  4u
#define PRUNE_FROM 16u
#define SORT_FEW   64u

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Records come in the order of their writes, mostly. */
static void sort_positions(uint32_t *v, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && v[i - 1] <= v[i])
		i++;
	if (i < n)
		qsort(v, n, sizeof(v[0]), by_number);
}

/* Actor and kind, then position, then epoch: as two numbers. */
static int by_observer(const void *a, const void *b)
{
	const struct oracle_seen *x = a, *y = b;
	uint64_t v = (uint64_t)x->actor << 1 | x->is_write,
		 w = (uint64_t)y->actor << 1 | y->is_write;

	if (v == w) {
		v = (uint64_t)x->pos << 32 | x->epoch;
		w = (uint64_t)y->pos << 32 | y->epoch;
	}
	return (v > w) - (v < w);
}

/* What was kept at the last time is in order; only what came since is sorted, and merged. */
static void sort_seen(struct oracle_seen *s, uint32_t n)
{
	struct oracle_seen tail[SORT_FEW];
	uint32_t from = 1, i, k, at = n;

	while (from < n && by_observer(&s[from - 1], &s[from]) <= 0)
		from++;
	if (from >= n)
		return;
	k = n - from;
	if (k > SORT_FEW) {
		qsort(s, n, sizeof(*s), by_observer);
		return;
	}
	/* By insertion, as actors mostly come in order. */
	for (i = 0; i < k; i++) {
		uint32_t j = i;
		for (; j && by_observer(&tail[j - 1], &s[from + i]) > 0; j--)
			tail[j] = tail[j - 1];
		tail[j] = s[from + i];
	}
	for (i = from; k;)
		s[--at] = i && by_observer(&s[i - 1], &tail[k - 1]) > 0 ? s[--i] : tail[--k];
}

static bool is_same(const struct oracle_seen *a, const struct oracle_seen *b)
{
	return a->actor == b->actor && a->is_write == b->is_write;
}

struct positions {
	BASE_VEC(uint32_t) v;
};

static void positions_of(const struct oracle_list *l, const struct oracle_chain *c,
			 struct positions *p)
{
	for (uint32_t i = 0; l && i < l->n; i++) {
		const struct oracle_rec *r = &l->v[i];
		int lanes = r->mask ? __builtin_popcount(r->mask) : 1;
		for (int k = 0; r->chain == c && k < lanes; k++)
			base_vec_push(&p->v, r->pos + (uint32_t)k);
	}
}

/* The positions in the chain that a later access may need: those of records kept. */
static void positions_get(struct oracle *o, const struct oracle_write *w, struct positions *p)
{
	for (uint64_t a = w->address & ~3ull; a < w->address + w->bytes; a += 4) {
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		struct oracle_ext *e = c ? oracle_cell_ext(c) : NULL;
		if (!e)
			continue;
		positions_of(e->list[ORACLE_STRONG], w->chain, p);
		positions_of(e->list[ORACLE_WRITES], w->chain, p);
	}
	if (p->v.n)
		sort_positions(p->v.v, (uint32_t)p->v.n);
}

/* Is one of them above `low` (or any, for UINT32_MAX) and up to `high`? */
static bool positions_has(const struct positions *p, uint32_t low, uint32_t high)
{
	size_t from = 0, to = p->v.n;

	while (from < to) {
		size_t mid = (from + to) / 2;
		if (low == UINT32_MAX || p->v.v[mid] > low)
			to = mid;
		else
			from = mid + 1;
	}
	return from < p->v.n && p->v.v[from] <= high;
}

/*
 * One of a thread's observations says all that later ones would, except about writes made since: of
 * a poll's RMWs the last is kept for each of the other writes, not all.
 */
static void chain_prune(struct oracle *o, const struct oracle_write *w)
{
	struct oracle_chain *c = w->chain;
	struct oracle_seen *s = c->seen;
	struct positions p = {0};
	uint32_t low = c->nseen, kept = 0;

	positions_get(o, w, &p);
	sort_seen(s, c->nseen);
	/* Drops those that saw less at a later time, ... */
	for (uint32_t i = c->nseen; i-- > 0;)
		if (low == c->nseen || !is_same(&s[i], &s[low]) || s[i].epoch < s[low].epoch)
			s[--low] = s[i];
	/* ... and those that an earlier one implies. */
	for (uint32_t i = low; i < c->nseen; i++) {
		bool is_first = !kept || !is_same(&s[i], &s[kept - 1]);
		if (positions_has(&p, is_first ? UINT32_MAX : s[kept - 1].pos, s[i].pos))
			s[kept++] = s[i];
	}
	c->nseen = kept;
	base_vec_free(&p.v);
}

static void seen_grow(struct oracle *o, struct oracle_chain *c, uint32_t cap)
{
	size_t from = c->cap * sizeof(c->seen[0]), to = cap * sizeof(c->seen[0]);

	if (c->seen == c->few)
		c->seen = memcpy(oracle_mem_resize(o, NULL, 0, to), c->few, from);
	else
		c->seen = oracle_mem_resize(o, c->seen, from, to);
	c->cap = cap;
}

void oracle_chain_add(struct oracle *o, struct oracle_chain *c, uint32_t pos, uint32_t actor,
		      uint32_t epoch, bool is_write)
{
	struct oracle_seen s = {actor, epoch, pos & (uint32_t)INT32_MAX, is_write};

	if (c->nseen == c->cap)
		seen_grow(o, c, c->cap + (c->cap < 8 ? 4 : c->cap / 2));
	c->seen[c->nseen++] = s;
}

void oracle_chain_see(struct oracle *o, const struct oracle_write *w, uint32_t actor,
		      uint32_t epoch, bool is_write)
{
	struct oracle_chain *c = w->chain;
	uint32_t pos = w->pos;

	for (uint32_t i = c->nseen; i-- > 0 && c->nseen - i <= LOOK_BACK;) {
		struct oracle_seen *old = &c->seen[i];
		if (old->actor == actor && old->epoch == epoch && old->is_write == is_write) {
			if (old->pos < pos)
				old->pos = pos & (uint32_t)INT32_MAX;
			return;
		}
	}
	if (c->nseen == c->cap && c->cap >= (o->opt.is_tiny ? 4 : PRUNE_FROM)) {
		chain_prune(o, w);
		/* A list that is nearly full would be pruned again at once. */
		if (c->nseen > c->cap - c->cap / 4 && c->nseen < c->cap)
			seen_grow(o, c, c->cap + c->cap / 2);
	}
	oracle_chain_add(o, c, pos, actor, epoch, is_write);
}

bool oracle_chain_is_seen(const struct oracle_chain *c, uint32_t pos, uint32_t actor, uint64_t read,
			  uint64_t rmw)
{
	for (uint32_t i = 0; i < c->nseen; i++) {
		const struct oracle_seen *s = &c->seen[i];
		if (s->pos < pos)
			continue;
		if (s->actor == actor ||
		    oracle_tree_get(s->is_write ? rmw : read, s->actor) >= s->epoch)
			return true;
	}
	return false;
}

#define COVER_MAX 16u /* above this, the comparison doesn't pay */

bool oracle_chain_covers(const struct oracle_chain *b, uint32_t bpos, const struct oracle_chain *a,
			 uint32_t apos)
{
	if (a->nseen > COVER_MAX || b->nseen > COVER_MAX)
		return false;
	for (uint32_t i = 0; i < a->nseen; i++) {
		const struct oracle_seen *s = &a->seen[i];
		bool is_found = s->pos < apos;
		for (uint32_t k = 0; k < b->nseen && !is_found; k++)
			is_found = b->seen[k].actor == s->actor &&
				   b->seen[k].is_write == s->is_write &&
				   b->seen[k].epoch <= s->epoch && b->seen[k].pos >= bpos;
		if (!is_found)
			return false;
	}
	return true;
}
