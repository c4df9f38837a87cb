/*
 * form_readers.c - sets of readers: unordered reads of the words of a row.
 *
 * A reader maps words to lanes, so that the words of one row share a set. Warps of a block
 * that read the same words at one instruction, in one epoch, become one reader. In a set of one
 * word all readers are masks, so that lanes of a warp join even if they came there one by one; as
 * long as each is a single lane, they are packed (form_singles.c). Before a set grows, it drops the
 * readers that a later one represents. Costs: 16 bytes a reader and a set; adding looks at the last
 * few readers.
 */
#include "oracle/shadow/row.h"

static struct oracle_readers *set_new(struct oracle *o, uint32_t cap, uint32_t refs)
{
	struct oracle_readers *s = oracle_mem_new(o, oracle_set_bytes(cap, false));

	s->cap = cap;
	s->refs = refs;
	return s;
}

static void set_give(struct oracle_cell *c, uint32_t len, const struct oracle_readers *s)
{
	for (uint32_t i = 0; i < len; i++)
		c[i].r = (uintptr_t)s;
}

void oracle_readers_unref(struct oracle *o, struct oracle_readers *s, uint32_t words)
{
	s->refs -= words;
	if (!s->refs)
		oracle_mem_free(o, s, oracle_set_bytes(s->cap, s->is_packed));
}

/* A reader of a single word, as the mask of a lane. */
static void make_mask(struct oracle_reader *r, uint32_t word)
{
	uint32_t actor = r->actor;

	if (r->is_mask || r->shift == ORACLE_ONE_ACTOR || oracle_is_narrow(r->shift))
		return;
	actor = oracle_reader_actor(r, word);
	r->actor = actor & ~31u;
	r->at = 1u << (actor & 31);
	r->shift = 0;
	r->warps = 0;
	r->is_mask = 1;
}

/* The set is one word's. */
static void make_single(struct oracle_readers *s, uint32_t word)
{
	for (uint32_t i = 0; !s->is_single && i < s->n; i++)
		make_mask(&s->v[i], word);
	s->is_single = 1;
}

/* The same set with room for `cap`, for these words alone. */
static struct oracle_readers *set_own(struct oracle *o, struct oracle_cell *c, uint32_t len,
				      uint32_t cap)
{
	struct oracle_readers *old = oracle_set_of(c->r), *s;

	if (old->refs == len) {
		s = oracle_mem_resize(o, old, oracle_set_bytes(old->cap, false),
				      oracle_set_bytes(cap, false));
		s->cap = cap;
	} else {
		s = set_new(o, cap, len);
		s->n = old->n;
		s->has_nc = old->has_nc & 1;
		memcpy(s->v, old->v, old->n * sizeof(s->v[0]));
		oracle_readers_unref(o, old, len);
	}
	set_give(c, len, s);
	return s;
}

struct oracle_reader oracle_reader_of(const struct oracle_row *row, uint32_t word)
{
	struct oracle_reader r = {.actor = row->actor,
				  .epoch = row->own,
				  .at = row->lanes,
				  .site = row->site & ((1u << ORACLE_SITE_BITS) - 1),
				  .is_mask = row->is_mask};

	if (row->is_mask)
		return r;
	r.actor = oracle_row_actor(row, word);
	r.at = word;
	if (!oracle_is_narrow(row->shift))
		r.at -= (word - oracle_word_number(row->address)) & ((1u << row->shift) - 1);
	r.shift = row->shift & 31;
	return r;
}

static bool is_reader_known(struct oracle_now *n, const struct oracle_reader *r, uint32_t word,
			    uint32_t len)
{
	for (uint32_t w = 0; r->is_mask && w <= r->warps; w++)
		if (!oracle_row_knows_lanes(n, r->actor + w * 32, r->at, r->epoch))
			return false;
	for (uint32_t i = 0; !r->is_mask && i < len; i++) {
		uint32_t first = oracle_reader_actor(r, word + i);
		if (!oracle_row_knows_lanes(n, first & ~31u, oracle_lanes_of(r->shift, first),
					    r->epoch))
			return false;
		if (!n->leaf) /* all lanes alike, and a reader is of one warp */
			return true;
	}
	return true;
}

static bool has_warp(const struct oracle_reader *a, const struct oracle_reader *b)
{
	return b->actor >= a->actor && b->actor + b->warps * 32 <= a->actor + a->warps * 32;
}

/* Do both read each of the words by the same actors (for sets: b's among a's)? */
static bool is_covered(const struct oracle_reader *a, const struct oracle_reader *b, uint32_t word,
		       uint32_t len)
{
	if (a->is_mask || b->is_mask)
		return a->is_mask && b->is_mask && has_warp(a, b) && !(b->at & ~a->at);
	if (oracle_is_narrow(a->shift) || oracle_is_narrow(b->shift))
		return a->shift == b->shift &&
		       oracle_reader_actor(a, word) == oracle_reader_actor(b, word);
	return oracle_reader_actor(a, word) == oracle_reader_actor(b, word) &&
	       (len == 1 ||
		(a->shift == b->shift &&
		 oracle_reader_actor(a, word + len - 1) == oracle_reader_actor(b, word + len - 1)));
}

static bool is_alike_nc(const struct oracle_now *n, const struct oracle_reader *a,
			const struct oracle_reader *b)
{
	return oracle_is_nc_site(n, a->site) == oracle_is_nc_site(n, b->site);
}

static int by_actor(const void *a, const void *b)
{
	const struct oracle_reader *x = a, *y = b;
	const uint32_t v[2][5] = {{x->is_mask, x->warps, x->at, x->shift, x->epoch},
				  {y->is_mask, y->warps, y->at, y->shift, y->epoch}};

	if (x->actor != y->actor) /* mostly */
		return x->actor < y->actor ? -1 : 1;
	for (unsigned i = 0; i < 5; i++)
		if (v[0][i] != v[1][i])
			return v[0][i] < v[1][i] ? -1 : 1;
	return 0;
}

/* Drops the readers that the row's access, or a later one of the same actors, represents; of many
 * not before there are two to four times as many as were kept last. */
static void set_compact(struct oracle_now *n, struct oracle_readers *s, uint32_t word, uint32_t len)
{
	uint32_t kept = 0;

	if (s->n >> s->compact_at == 0)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct oracle_reader *r = &s->v[i];
		uint32_t actor = r->is_mask ? r->actor : oracle_reader_actor(r, word);
		if (!is_reader_known(n, r, word, len) || !oracle_row_may_replace(n, actor, r->site))
			s->v[kept++] = *r;
	}
	s->n = kept;
	if (s->n < oracle_sort_from(n->o))
		return;
	qsort(s->v, s->n, sizeof(s->v[0]), by_actor);
	kept = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (i + 1 == s->n || s->v[i + 1].epoch < s->v[i].epoch ||
		    !is_covered(&s->v[i + 1], &s->v[i], word, len) ||
		    !is_alike_nc(n, &s->v[i], &s->v[i + 1]))
			s->v[kept++] = s->v[i];
	s->n = kept;
	s->compact_at = (33u - (uint32_t)__builtin_clz(kept)) & 63;
}

/* ---- readers of several lanes and warps ------------------------------------------------------ */

#define WARPS_MAX 1024u

static bool is_next_to(const struct oracle_reader *a, const struct oracle_reader *b)
{
	return a->actor + (a->warps + 1u) * 32 == b->actor && a->warps + b->warps + 2u <= WARPS_MAX;
}

/* May b join a? Both are masks of one epoch and site. */
static bool can_join(const struct oracle_reader *a, const struct oracle_reader *b)
{
	if (!a->is_mask || !b->is_mask || a->epoch != b->epoch || a->site != b->site)
		return false;
	if (has_warp(a, b) && !(b->at & ~a->at))
		return true;
	if (!a->warps && !b->warps && a->actor == b->actor)
		return true;
	return a->at == b->at && (is_next_to(a, b) || is_next_to(b, a));
}

static void join(struct oracle_reader *a, const struct oracle_reader *b)
{
	if (has_warp(a, b) && !(b->at & ~a->at))
		return;
	if (a->actor == b->actor) {
		a->at |= b->at;
		return;
	}
	a->actor = a->actor < b->actor ? a->actor : b->actor;
	a->warps = (a->warps + b->warps + 1u) & (WARPS_MAX - 1);
}

/* A reader that has grown may now touch the beginning of others. */
static void set_close(const struct oracle_now *n, struct oracle_readers *s, uint32_t at)
{
	if (!s->v[at].is_mask)
		return;
	for (uint32_t i = s->n, first = oracle_set_look_from(n->o, s); i-- > first;) {
		if (i == at || !can_join(&s->v[at], &s->v[i]))
			continue;
		join(&s->v[at], &s->v[i]);
		memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof(s->v[0]));
		s->n--;
		at -= i < at;
	}
}

/* The reader that the row's may replace or join. Most are neither. */
static struct oracle_reader *set_find(const struct oracle_now *n, struct oracle_readers *s,
				      const struct oracle_reader *r, uint32_t word, uint32_t len)
{
	uint32_t first = oracle_set_look_from(n->o, s);

	for (uint32_t i = s->n; i-- > first;) {
		struct oracle_reader *x = &s->v[i];
		if (x->is_mask != r->is_mask ||
		    (!r->is_mask && oracle_reader_actor(x, word) != r->actor))
			continue;
		if ((r->is_mask && can_join(x, r)) ||
		    (is_covered(r, x, word, len) && is_alike_nc(n, r, x)))
			return x;
	}
	return NULL;
}

static bool set_has(const struct oracle_reader *x, const struct oracle_reader *r, uint32_t word,
		    uint32_t len)
{
	return x->epoch == r->epoch && x->site == r->site && is_covered(x, r, word, len);
}

static void set_put(const struct oracle_now *n, struct oracle_readers *s, uint32_t at,
		    const struct oracle_reader *r)
{
	if (!can_join(&s->v[at], r)) {
		s->v[at] = *r;
		return;
	}
	join(&s->v[at], r);
	set_close(n, s, at);
}

/* ---- what a row does with them --------------------------------------------------------------- */

void oracle_set_limit(struct oracle_now *n, struct oracle_readers *s)
{
	uint32_t half = s->n / 2;

	if (s->n < n->o->opt.max_records)
		return;
	if (s->is_packed)
		memmove(oracle_singles_of(s), oracle_singles_of(s) + half,
			(s->n - half) * sizeof(uint64_t));
	else
		memmove(s->v, s->v + half, (s->n - half) * sizeof(s->v[0]));
	s->n -= half;
	n->o->stats.dropped += half;
}

/* One more reader; it touches none of the last ones unless may_touch. */
static void set_push(struct oracle_now *n, struct oracle_readers *s, struct oracle_cell *c,
		     uint32_t word, uint32_t len, const struct oracle_reader *r, bool may_touch)
{
	if (s->n == s->cap)
		set_compact(n, s, word, len);
	oracle_set_limit(n, s);
	if (s->n == s->cap)
		s = set_own(n->o, c, len, oracle_set_next_cap(s->cap));
	s->has_nc |= (n->acc->flags & ORACLE_NC) != 0;
	s->v[s->n++] = *r;
	if (may_touch)
		set_close(n, s, s->n - 1);
}

static void reader_remove(struct oracle_readers *s, uint32_t at)
{
	memmove(&s->v[at], &s->v[at + 1], (s->n - at - 1) * sizeof(s->v[0]));
	s->n--;
}

/* The lane of r reads the set's only word: it joins those of its warp, and leaves the reader that
 * has an earlier read of it. */
static void single_add(struct oracle_now *n, struct oracle_cell *c, uint32_t word,
		       const struct oracle_reader *r)
{
	struct oracle_readers *s = oracle_set_of(c->r);
	uint32_t first = oracle_set_look_from(n->o, s);
	uint32_t with = UINT32_MAX; /* the one to join */
	bool may_touch = false;	    /* the lane is that of readers of other warps */

	for (uint32_t i = s->n; i-- > first;) {
		struct oracle_reader *x = &s->v[i];
		may_touch |= x->at == r->at;
		if (!x->is_mask || x->warps || x->actor != r->actor)
			continue;
		if (x->epoch == r->epoch && x->site == r->site) {
			if (x->at & r->at)
				return;
			with = i;
			continue;
		}
		if (!(x->at & r->at) || !is_alike_nc(n, r, x))
			continue;
		x->at &= ~r->at;
		if (x->at)
			continue;
		with -= with != UINT32_MAX;
		reader_remove(s, i);
	}
	if (s == n->known)
		n->known = NULL;
	if (with != UINT32_MAX)
		s->v[with].at |= r->at;
	else
		set_push(n, s, c, word, 1, r, may_touch);
}

void oracle_set_add(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		    uint32_t word, uint32_t len)
{
	struct oracle_readers *s = oracle_set_of(c->r);

	if (s->is_packed) {
		if (!row->is_mask && row->shift < ORACLE_HALVES &&
		    oracle_singles_add(
			    n, c, oracle_pack(oracle_row_actor(row, word), row->own, row->site)))
			return;
		n->known = s == n->known ? NULL : n->known;
		s = oracle_singles_unpack(n->o, c);
	}
	struct oracle_reader r = oracle_reader_of(row, word);

	if (len == 1 && s->refs == 1) {
		if (!s->is_single) {
			make_single(s, word);
			if (oracle_singles_pack(n, c)) {
				oracle_set_add(n, row, c, word, len);
				return;
			}
		}
		make_mask(&r, word);
		if (r.is_mask && !row->is_mask) {
			single_add(n, c, word, &r);
			return;
		}
	}
	struct oracle_reader *x = set_find(n, s, &r, word, len);
	uint32_t at = x ? (uint32_t)(x - s->v) : 0;

	if (x && set_has(x, &r, word, len))
		return;
	if (s == n->known)
		n->known = NULL;
	if (s->refs != len)
		s = set_own(n->o, c, len, x ? s->n : s->n + 1);
	if (x) {
		set_put(n, s, at, &r);
		return;
	}
	set_push(n, s, c, word, len, &r, true);
}

void oracle_set_make(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		     uint32_t word, uint32_t len, const struct oracle_reader *old)
{
	struct oracle_reader r[2] = {oracle_reader_of(row, word)};
	bool has_nc = (n->acc->flags & ORACLE_NC) != 0;
	uint32_t count = 1;
	struct oracle_readers *s;

	if (old) {
		r[count++] = r[0];
		r[0] = *old;
		has_nc |= oracle_is_nc_site(n, old->site);
	}
	for (uint32_t i = 0; len == 1 && i < count; i++)
		make_mask(&r[i], word);
	if (len > 1 || count < 2 || !oracle_singles_make(n, c, r)) {
		s = set_new(n->o, count, len);
		s->n = count;
		s->is_single = len == 1;
		memcpy(s->v, r, count * sizeof(r[0]));
		set_close(n, s, count - 1);
		set_give(c, len, s);
	}
	oracle_set_of(c->r)->has_nc = has_nc;
}

/* Is the reader before the row's access? *is_simple: and one look at the clock said so. */
static bool is_reader_before(struct oracle_now *n, const struct oracle_row *row,
			     const struct oracle_readers *s, const struct oracle_reader *r,
			     uint32_t word, bool *is_simple)
{
	uint32_t actor = r->is_mask ? r->actor : oracle_reader_actor(r, word);
	uint32_t lanes = r->is_mask ? r->at : oracle_lanes_of(r->shift, actor);

	*is_simple = false;
	if (s->has_nc && !oracle_row_may_replace(n, actor, r->site))
		return false;
	if (!r->is_mask && oracle_is_narrow(r->shift) && r->shift == row->shift &&
	    actor == oracle_row_actor(row, word))
		return true;
	*is_simple = true;
	for (uint32_t w = 0; w <= r->warps; w++) {
		uint32_t warp = (actor & ~31u) + w * 32;
		uint32_t others = oracle_row_others(row, word, warp, lanes);
		if (others && !oracle_row_knows_lanes(n, warp, others, r->epoch))
			return false;
		*is_simple &= others == lanes && !n->leaf;
	}
	return true;
}

bool oracle_set_is_before(struct oracle_now *n, const struct oracle_row *row,
			  struct oracle_readers *s, uint32_t word)
{
	bool are_simple = true, is_simple;

	if (s == n->known)
		return true;
	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader r = oracle_reader_at(s, i);
		if (!is_reader_before(n, row, s, &r, word, &is_simple))
			return false;
		are_simple &= is_simple;
	}
	if (are_simple)
		n->known = s;
	return true;
}

/* Is the reader's lane of the row's warp, at each word, the row's own, or never? */
static bool is_own(const struct oracle_row *row, const struct oracle_reader *r)
{
	return !r->is_mask && oracle_row_actor(row, r->at) == r->actor;
}

static bool has_one_order(const struct oracle_row *row, const struct oracle_reader *r)
{
	return r->is_mask ? (r->at & (r->at - 1)) != 0 : !r->shift && !row->shift;
}

/* Is the reader before the row (1), or isn't it (2), at each of the row's words that it reads? 0:
 * not known. The clock must know the same of each lane of a warp; a mask of several lanes of the
 * row's own warp has others than the word's. */
static unsigned reader_order(struct oracle_now *n, const struct oracle_row *row,
			     const struct oracle_readers *s, const struct oracle_reader *r,
			     uint32_t word)
{
	unsigned order = 1;
	bool is_simple;

	if (s->has_nc)
		return 0;
	if (s->refs == 1)
		return is_reader_before(n, row, s, r, word, &is_simple) ? 1 : 2;
	for (uint32_t w = 0; w <= r->warps; w++) {
		uint32_t warp = (r->actor & ~31u) + w * 32;
		bool is_same = warp == (row->actor & ~31u);
		oracle_look_up(n, warp);
		if (n->leaf || (is_same && !has_one_order(row, r)))
			return 0;
		if (n->leaf_value < r->epoch && !(is_same && is_own(row, r)))
			order = 2;
	}
	return order;
}

static bool has_warp_of(const struct oracle_reader *r, const struct oracle_row *row)
{
	return (row->actor >> 5) - (r->actor >> 5) <= r->warps;
}

bool oracle_set_is_alike(struct oracle_now *n, const struct oracle_row *row,
			 const struct oracle_readers *s, uint32_t word,
			 const struct oracle_repeat **pair)
{
	uint32_t hot = ORACLE_NO_SITE, a, b = row->site;
	uint32_t lanes = row->actor - oracle_word_number(row->address);
	const struct oracle_repeat *x = NULL;
	bool has_own = false;

	if (s == n->alike_set && row->site == n->alike_row &&
	    (!n->has_alike_own || lanes == n->alike_lanes)) {
		*pair = n->alike_pair;
		return true;
	}
	if (s->is_packed)
		return !s->has_nc && oracle_singles_are_alike(n, row, s, word, pair);
	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader r = oracle_reader_at(s, i);
		a = n->o->families.v[r.site];
		if (a == hot)
			continue;
		unsigned order = reader_order(n, row, s, &r, word);
		if (!order)
			return false;
		has_own |= has_warp_of(&r, row);
		if (order == 1)
			continue;
		if (x || !oracle_is_repeated(n->o, a, b, ORACLE_HOT, ORACLE_RACE))
			return false;
		hot = a;
		x = oracle_repeat_at(n->o, &a, &b, ORACLE_RACE);
	}
	n->alike_set = s;
	n->alike_row = row->site;
	n->alike_lanes = lanes;
	n->has_alike_own = has_own;
	n->alike_pair = *pair = x;
	return true;
}

/* The reads of r that aren't before the row's access. */
static uint32_t reads_after(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_reader *r, uint32_t word)
{
	uint32_t count = 0;

	for (uint32_t w = 0; r->is_mask && w <= r->warps; w++) {
		uint32_t warp = r->actor + w * 32;
		uint32_t others = oracle_row_others(row, word, warp, r->at);
		ORACLE_EACH (l, others) {
			count += !oracle_row_knows(n, warp + l, r->epoch);
		}
	}
	return r->is_mask ? count : 1;
}

bool oracle_set_count(struct oracle_now *n, const struct oracle_row *row,
		      const struct oracle_readers *s, uint32_t word)
{
	uint32_t hot = ORACLE_NO_SITE; /* the family of readers found last that is */
	bool is_simple, is_counted = false;

	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader r = oracle_reader_at(s, i);
		uint32_t family = n->o->families.v[r.site];
		if (family == hot)
			continue;
		if (oracle_is_repeated(n->o, family, row->site, ORACLE_HOT, ORACLE_RACE)) {
			hot = family;
			continue;
		}
		if (!oracle_is_repeated(n->o, family, row->site, 1, ORACLE_RACE) &&
		    !is_reader_before(n, row, s, &r, word, &is_simple))
			return false;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader r = oracle_reader_at(s, i);
		bool is_hot = n->o->families.v[r.site] == hot;
		if ((is_hot && is_counted) || is_reader_before(n, row, s, &r, word, &is_simple))
			continue;
		for (uint32_t k = is_hot ? 1 : reads_after(n, row, &r, word); k; k--)
			oracle_count(n->o, r.site, row->site);
		is_counted |= is_hot;
	}
	return true;
}
