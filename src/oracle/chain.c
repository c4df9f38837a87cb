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
#define SORT_FEW   16u

/* Actor and kind, then position, then epoch: as two numbers. */
static inline struct oracle_key key_of(const struct oracle_seen *s)
{
	return (struct oracle_key){.high = (uint64_t)s->actor << 1 | s->is_write,
				   .low = (uint64_t)s->pos << 32 | s->epoch};
}

static inline bool is_above(const struct oracle_seen *a, const struct oracle_seen *b)
{
	struct oracle_key v = key_of(a), w = key_of(b);

	return v.high != w.high ? v.high > w.high : v.low > w.low;
}

static void sort_all(struct oracle_seen *s, uint32_t n)
{
	struct oracle_key *key = base_malloc(n * sizeof(*key));

	for (uint32_t i = 0; i < n; i++)
		key[i] = key_of(&s[i]);
	oracle_sort(key, n);
	for (uint32_t i = 0; i < n; i++)
		s[i] = (struct oracle_seen){(uint32_t)(key[i].high >> 1), (uint32_t)key[i].low,
					    (uint32_t)(key[i].low >> 32) & (uint32_t)INT32_MAX,
					    key[i].high & 1};
	free(key);
}

/* What was kept at the last time is in order; only what came since is sorted, and merged. */
static void sort_seen(struct oracle_seen *s, uint32_t n)
{
	struct oracle_seen tail[SORT_FEW];
	uint32_t from = 1, i, k, at = n;

	while (from < n && !is_above(&s[from - 1], &s[from]))
		from++;
	if (from >= n)
		return;
	k = n - from;
	if (k > SORT_FEW) {
		sort_all(s, n);
		return;
	}
	/* By insertion, as actors mostly come in order. */
	for (i = 0; i < k; i++) {
		uint32_t j = i;
		for (; j && is_above(&tail[j - 1], &s[from + i]); j--)
			tail[j] = tail[j - 1];
		tail[j] = s[from + i];
	}
	for (i = from; k;)
		s[--at] = i && is_above(&s[i - 1], &tail[k - 1]) ? s[--i] : tail[--k];
}

static bool is_same(const struct oracle_seen *a, const struct oracle_seen *b)
{
	return a->actor == b->actor && a->is_write == b->is_write;
}

/* Positions in a chain. */
struct positions {
	BASE_VEC(uint32_t) v;
	uint32_t first, end; /* v from `first` up to `end` ... */
	uint32_t *next;	     /* ... for each the least one from it on; NULL: v is in order */
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

static void positions_sort(struct positions *p)
{
	uint32_t n = (uint32_t)p->v.n;
	struct oracle_key *key = base_malloc(n * sizeof(*key));

	for (uint32_t i = 0; i < n; i++)
		key[i] = (struct oracle_key){.low = p->v.v[i]};
	oracle_sort(key, n);
	for (uint32_t i = 0; i < n; i++)
		p->v.v[i] = (uint32_t)key[i].low;
	free(key);
}

#define SPREAD 8u /* so many times as many numbers as positions: a table of all is as short */

/* Positions of a list of records are mostly nearly all of a part of the chain. */
static void positions_order(struct positions *p)
{
	uint32_t n = (uint32_t)p->v.n, i, at;

	p->first = UINT32_MAX;
	p->end = 0;
	for (i = 0; i < n; i++) {
		p->first = p->v.v[i] < p->first ? p->v.v[i] : p->first;
		p->end = p->v.v[i] >= p->end ? p->v.v[i] + 1 : p->end;
	}
	if (!n || p->end - p->first > (uint64_t)n * SPREAD) {
		if (n)
			positions_sort(p);
		return;
	}
	p->next = base_calloc(p->end - p->first, sizeof(p->next[0]));
	for (i = 0; i < n; i++)
		p->next[p->v.v[i] - p->first] = 1;
	for (i = p->end - p->first, at = 0; i-- > 0; p->next[i] = at)
		at = p->next[i] ? p->first + i : at;
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
	positions_order(p);
}

static void positions_free(struct positions *p)
{
	base_vec_free(&p->v);
	free(p->next);
}

/* Is one of them above `low` (or any, for UINT32_MAX) and up to `high`? */
static bool positions_has(const struct positions *p, uint32_t low, uint32_t high)
{
	size_t from = 0, to = p->v.n;

	if (p->next) {
		low = low == UINT32_MAX || low < p->first ? p->first : low + 1;
		return low < p->end && p->next[low - p->first] <= high;
	}
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
	positions_free(&p);
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

/* From the end, where the last positions mostly are: of what comes before, only observations of a
 * later position are compared with the clock. */
bool oracle_chain_is_seen(struct oracle_sight *x, const struct oracle_chain *c, uint32_t pos,
			  uint32_t actor, uint64_t read, uint64_t rmw)
{
	uint32_t end = pos; /* what is before it is known to be seen */

	if (x->chain != c)
		*x = (struct oracle_sight){c, 0, UINT32_MAX, x->looked};
	if (pos < x->seen || pos >= x->unseen)
		return pos < x->seen;
	for (uint32_t i = c->nseen; i-- > 0;) {
		const struct oracle_seen *s = &c->seen[i];
		if (s->pos < end || s->pos >= x->unseen)
			continue;
		x->looked++;
		if (s->actor == actor ||
		    oracle_tree_get(s->is_write ? rmw : read, s->actor) >= s->epoch)
			end = s->pos + 1u;
	}
	x->unseen = end;
	x->seen = end > pos ? end : x->seen;
	return end > pos;
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
