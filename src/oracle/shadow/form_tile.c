/*
 * form_tile.c - words that pseudo-threads access: one list for all words of a piece.
 *
 * Copies and matrix products access long pieces of memory, mostly through another proxy than
 * threads do, and mostly the same pieces again and again. Words that they have accessed alike share
 * a list, each access 12 bytes, after the ordinary write before all of it, if there is one;
 * ordinary reads are beside it, in `r`. An access is compared with the list once for all words that
 * share it. If it is ordered after all that conflicts, it replaces what a record would replace
 * (access.c: supersedes); ordinary accesses that come after all of it do, too. Words where it isn't
 * get their records from the list, as if these had been made at once.
 *
 * A read makes another list of that of its words. Which list an access has made of which is
 * remembered for the last ones (last_tiles), so that a piece that is read or written in parts, as
 * the rows of a matrix are, has few lists. A list's reads are in the order of actors, and lists are
 * remembered by what is in them (same_tiles): words to which the same has happened in another order
 * come to share one again. (Without that a tile that four blocks copy at the same time, each in
 * pieces of its own, ends as a list for each 16 bytes.) A list remembers, too, the last actor that
 * came after it: what an actor knows only grows. Misses: nothing. Costs: 56 bytes and 12 an access,
 * for each list.
 */
#include "oracle/shadow/row.h"

struct oracle_tile_access {
	uint32_t actor, epoch, site;
};

struct oracle_tile {
	uint64_t before, step; /* the first word's ordinary write, packed; to the next word's */
	uint32_t at;	       /* number of the first word */
	uint32_t refs;	       /* words */
	uint32_t n, cap;
	uint64_t serial; /* another one after each change */
	uint16_t slot;	 /* of last_tiles, where it may be */
	uint16_t same;	 /* ... of same_tiles */
	uint16_t how;	 /* how_of the access that came after all that conflicts, ... */
	uint32_t after;	 /* its actor, or ORACLE_NO_ACTOR */
	struct oracle_tile_access v[];
};

/* How many accesses; then each word has its own records. */
#define MOST 64u

static uint32_t most(const struct oracle *o)
{
	return o->opt.is_tiny ? 3 : MOST;
}

static size_t tile_bytes(uint32_t cap)
{
	return sizeof(struct oracle_tile) + cap * sizeof(struct oracle_tile_access);
}

static struct oracle_tile *tile_new(struct oracle *o, uint32_t cap)
{
	struct oracle_tile *t = oracle_mem_new(o, tile_bytes(cap));

	t->cap = cap;
	t->serial = ++o->ntiles;
	t->after = ORACLE_NO_ACTOR;
	return t;
}

/* It isn't what it was. */
static void forget_last(struct oracle *o, struct oracle_tile *t)
{
	if (o->last_tiles[t->slot].to == t)
		o->last_tiles[t->slot].to = NULL;
	if (o->same_tiles[t->same] == t)
		o->same_tiles[t->same] = NULL;
	t->serial = ++o->ntiles;
	t->after = ORACLE_NO_ACTOR;
}

static void unref(struct oracle *o, struct oracle_tile *t, uint32_t words)
{
	t->refs -= words;
	if (t->refs)
		return;
	forget_last(o, t);
	oracle_mem_free(o, t, tile_bytes(t->cap));
}

void oracle_tile_leave(struct oracle *o, struct oracle_cell *c)
{
	unref(o, oracle_cell_tile(c), 1);
	c->w = 0;
}

static uint64_t before_of(const struct oracle_tile *t, uint32_t word)
{
	return t->before + (uint64_t)(int64_t)(int32_t)(word - t->at) * t->step;
}

/* ---- order ----------------------------------------------------------------------------------- */

#define SLOTS 16u

/* What has been found to come before the access: whole warps, by epoch and site. */
struct known {
	struct {
		uint32_t warp, epoch, site;
	} warp[SLOTS];
};

static bool is_write(const struct oracle_now *n)
{
	return n->acc->kind != RACE_OP_READ;
}

/* Are accesses of these lanes before it? */
static bool are_before(const struct oracle_now *n, struct known *k, uint32_t warp, uint32_t lanes,
		       uint32_t epoch, uint32_t site)
{
	const struct oracle_site *x = oracle_site_at(n->o, site);
	uint32_t slot = (warp >> 5 ^ site) % SLOTS, known = 0;

	if (k->warp[slot].epoch == epoch && k->warp[slot].warp == warp &&
	    k->warp[slot].site == site)
		return true;
	if (is_write(n) && x->a.flags & ORACLE_NC)
		return false;
	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		known |= (uint32_t)oracle_is_ordered(n, warp + l, epoch, x) << l;
	if (known == UINT32_MAX) {
		k->warp[slot].warp = warp;
		k->warp[slot].epoch = epoch;
		k->warp[slot].site = site;
	}
	return !(lanes & ~known);
}

static bool is_packed_before(const struct oracle_now *n, struct known *k, uint64_t p)
{
	struct oracle_lanes x = oracle_packed_lanes(n->o, p);

	return are_before(n, k, x.warp, x.mask, oracle_packed_epoch(p), oracle_packed_site(p));
}

static bool is_reader_before(const struct oracle_now *n, struct known *k,
			     const struct oracle_reader *r, uint32_t word)
{
	uint32_t first;

	for (uint32_t w = 0; r->is_mask && w <= r->warps; w++)
		if (!are_before(n, k, r->actor + w * 32, r->at, r->epoch, r->site))
			return false;
	if (r->is_mask)
		return true;
	first = oracle_reader_actor(r, word);
	return are_before(n, k, first & ~31u, oracle_lanes_of(r->shift, first), r->epoch, r->site);
}

static bool are_reads_before(const struct oracle_now *n, struct known *k, uint64_t r, uint32_t word)
{
	const struct oracle_readers *s = oracle_set_of(r);

	if (!r || oracle_is_packed(r))
		return !r || is_packed_before(n, k, r);
	for (uint32_t i = 0; i < s->n; i++) {
		struct oracle_reader x = oracle_reader_at(s, i);
		if (!is_reader_before(n, k, &x, word))
			return false;
	}
	return true;
}

/*
 * A write that the access n overwrites, and that a copy or product has read in between: that came
 * after the write and comes before n. (Blocks of a cluster hand a stage back so: they wait for the
 * products that have read it, and only one of them for the copies that had filled it.)
 */
static bool is_read_between(const struct oracle_now *n, const struct oracle_tile *t, uint32_t write)
{
	for (uint32_t i = write + 1; is_write(n) && i < t->n; i++) {
		const struct oracle_site *x = oracle_site_at(n->o, t->v[i].site);
		if (x->a.kind == RACE_OP_READ && t->v[i].actor != t->v[write].actor &&
		    oracle_is_ordered(n, t->v[i].actor, t->v[i].epoch, x))
			return true;
	}
	return false;
}

/* Is what of the list conflicts with the access before it? A write is the first of its list, as it
 * replaces what was there: a read looks no further. */
static bool is_list_before(const struct oracle_now *n, const struct oracle_tile *t)
{
	uint32_t end = is_write(n) || !t->n ? t->n : 1;

	for (uint32_t i = 0; i < end; i++) {
		const struct oracle_site *x = oracle_site_at(n->o, t->v[i].site);
		if (race_kinds_conflict(x->a.kind, n->acc->kind) &&
		    !oracle_is_ordered(n, t->v[i].actor, t->v[i].epoch, x) &&
		    (x->a.kind == RACE_OP_READ || !is_read_between(n, t, i)))
			return false;
	}
	return true;
}

/* What the order of accesses depends on, beside the actors and epochs. */
static uint16_t how_of(const struct oracle_acc *acc)
{
	return (uint16_t)(acc->kind | (acc->proxy << 4) |
			  (acc->flags & ORACLE_SHARED ? 1 << 12 : 0));
}

static bool is_tile_before(const struct oracle_now *n, struct oracle_tile *t)
{
	uint16_t how = how_of(n->acc);

	if (t->after == n->actor && t->how == how)
		return true;
	if (!is_list_before(n, t))
		return false;
	t->after = n->actor;
	t->how = how;
	return true;
}

bool oracle_tile_is_before(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_cell *c, uint32_t word)
{
	const struct oracle_tile *t = oracle_cell_tile(c);

	if (n->acc->flags & ORACLE_NC ||
	    (t->before && !oracle_row_is_after(n, row, before_of(t, word), word)))
		return false;
	if (n->tile_before == t)
		return true;
	if (!is_list_before(n, t))
		return false;
	n->tile_before = t;
	return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_own(const struct oracle_now *n, const struct oracle_tile_access *a)
{
	return a->actor == n->actor && a->epoch == n->t->own && a->site == n->site;
}

/*
 * What the list becomes by the read n, to v: without the reads that come before n, with n, in the
 * order of actors, so that lists to which the same has happened in another order are the same. (A
 * write is the first.) Returns how many; 0: too many.
 */
static uint32_t with_read(const struct oracle_now *n, const struct oracle_tile *t,
			  struct oracle_tile_access *v)
{
	struct oracle_tile_access own = {n->actor, n->t->own, n->site};
	uint32_t kept = 0, at;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct oracle_site *x = oracle_site_at(n->o, t->v[i].site);
		if (x->a.kind != RACE_OP_READ ||
		    (!is_own(n, &t->v[i]) &&
		     !oracle_is_ordered(n, t->v[i].actor, t->v[i].epoch, x)))
			v[kept++] = t->v[i];
	}
	if (kept >= most(n->o))
		return 0;
	for (at = kept; at && v[at - 1].actor > own.actor; at--) {
		if (oracle_site_at(n->o, v[at - 1].site)->a.kind != RACE_OP_READ)
			break;
		v[at] = v[at - 1];
	}
	v[at] = own;
	return kept + 1;
}

static void push(const struct oracle_now *n, struct oracle_tile *t)
{
	t->v[t->n++] = (struct oracle_tile_access){n->actor, n->t->own, n->site};
}

static uint32_t slot_of(const struct oracle_now *n, uint64_t from)
{
	uint64_t hash = (from * 0x9e3779b97f4a7c15ull) ^ (n->actor * 0x85ebca6bull) ^
			(n->site * 0xc2b2ae3d27d4eb4full);

	return (uint32_t)(hash >> 16) % ORACLE_LAST_TILES;
}

/* The list that this access has made of this one, or alone (from 0), if that is remembered. */
static struct oracle_tile *last_made(const struct oracle_now *n, uint64_t from)
{
	const struct oracle_last_tile *x = &n->o->last_tiles[slot_of(n, from)];

	return x->to && x->from == from && x->actor == n->actor && x->epoch == n->t->own &&
			       x->site == n->site
		       ? x->to
		       : NULL;
}

static void made(const struct oracle_now *n, uint64_t from, struct oracle_tile *to)
{
	if (n->o->last_tiles[to->slot].to == to)
		n->o->last_tiles[to->slot].to = NULL;
	to->slot = (uint16_t)slot_of(n, from);
	n->o->last_tiles[to->slot] =
		(struct oracle_last_tile){from, to, n->actor, n->t->own, n->site};
}

/* ---- lists that are the same ----------------------------------------------------------------- */

static uint16_t same_slot(const struct oracle_tile *t, const struct oracle_tile_access *v,
			  uint32_t n)
{
	uint64_t h = t->step;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ v[i].actor ^ (uint64_t)v[i].site << 32 ^ (uint64_t)v[i].epoch << 48) *
		    0x9e3779b97f4a7c15ull;
	return (uint16_t)(h >> 40) % ORACLE_SAME_TILES;
}

/* A list of v after the same ordinary writes as t's, if it is remembered. */
static struct oracle_tile *same_as(const struct oracle *o, const struct oracle_tile *t,
				   const struct oracle_tile_access *v, uint32_t n)
{
	struct oracle_tile *x = o->same_tiles[same_slot(t, v, n)];

	return x && x->n == n && !memcmp(x->v, v, n * sizeof(v[0])) && x->step == t->step &&
			       !x->before == !t->before && before_of(x, t->at) == t->before
		       ? x
		       : NULL;
}

/* A new list of v after the same writes as t's. */
static struct oracle_tile *list_new(const struct oracle_now *n, const struct oracle_tile *t,
				    const struct oracle_tile_access *v, uint32_t count)
{
	struct oracle_tile *x = tile_new(n->o, count);

	x->before = t->before;
	x->step = t->step;
	x->at = t->at;
	x->n = count;
	memcpy(x->v, v, count * sizeof(v[0]));
	x->same = same_slot(x, v, count);
	n->o->same_tiles[x->same] = x;
	return x;
}

/* The list, which no other words share, becomes v; it may move. */
static struct oracle_tile *list_set(const struct oracle_now *n, struct oracle_tile *t,
				    const struct oracle_tile_access *v, uint32_t count)
{
	forget_last(n->o, t);
	if (t->cap < count) {
		t = oracle_mem_resize(n->o, t, tile_bytes(t->cap), tile_bytes(2 * t->cap));
		t->cap *= 2;
	}
	t->n = count;
	memcpy(t->v, v, count * sizeof(v[0]));
	t->same = same_slot(t, v, count);
	n->o->same_tiles[t->same] = t;
	return t;
}

/* ---- lists of words that are accessed -------------------------------------------------------- */

/* Words that have had the list `old` (NULL: none) get t. */
static struct oracle_tile *move(struct oracle *o, struct oracle_tile *old, struct oracle_tile *t,
				uint32_t words)
{
	t->refs += words;
	if (old)
		unref(o, old, words);
	return t;
}

/* That of this access alone, for words that have had the list `old` or none. */
static struct oracle_tile *alone(const struct oracle_now *n, struct oracle_tile *old,
				 uint32_t words)
{
	struct oracle_tile *t = last_made(n, 0);

	if (!t) {
		t = tile_new(n->o, 2);
		push(n, t);
		made(n, 0, t);
	}
	return move(n->o, old, t, words);
}

/* The words' list with the read n, too. NULL: there are too many. */
static struct oracle_tile *read_list(const struct oracle_now *n, struct oracle_tile *old,
				     uint32_t words)
{
	struct oracle_tile_access v[MOST];
	struct oracle_tile *t = last_made(n, old->serial);
	uint32_t count;

	if (t)
		return move(n->o, old, t, words);
	count = with_read(n, old, v);
	if (!count)
		return NULL;
	t = same_as(n->o, old, v, count);
	if (t == old)
		return t;
	if (!t && old->refs == words)
		return list_set(n, old, v, count);
	if (!t)
		t = list_new(n, old, v, count);
	if (old->refs > words)
		made(n, old->serial, t);
	return move(n->o, old, t, words);
}

/* The ordinary write of these words, and the read n after it. */
static struct oracle_tile *after_write(const struct oracle_now *n, const struct oracle_cell *c,
				       uint32_t word, uint32_t words)
{
	struct oracle_tile_access own = {n->actor, n->t->own, n->site};
	struct oracle_tile head = {
		.before = c->w, .step = words > 1 ? c[1].w - c[0].w : 0, .at = word};
	struct oracle_tile *t = same_as(n->o, &head, &own, 1);

	return move(n->o, NULL, t ? t : list_new(n, &head, &own, 1), words);
}

/* ---- an access ------------------------------------------------------------------------------- */

/* Words whose accesses are a list, none, or packed, in equal steps of lanes; 0: the first has
 * others. */
static uint32_t run_of(const struct oracle_cell *c, uint32_t len)
{
	bool is_packed = oracle_is_packed(c->w);
	uint64_t step = is_packed && len > 1 ? c[1].w - c[0].w : 0;
	uint32_t i = 1;

	if (c->w && !is_packed && !oracle_cell_tile(c))
		return 0;
	if (step && oracle_but_lane(c[1].w) != oracle_but_lane(c[0].w))
		return 1;
	while (i < len && c[i].w == c[i - 1].w + step &&
	       oracle_but_lane(c[i].w) == oracle_but_lane(c->w))
		i++;
	return i;
}

/* Is all that conflicts with the access before it? */
static bool is_run_before(const struct oracle_now *n, struct known *k, const struct oracle_cell *c,
			  uint32_t word, uint32_t len)
{
	struct oracle_tile *t = oracle_cell_tile(c);

	if (t && !is_tile_before(n, t))
		return false;
	for (uint32_t i = 0; i < len; i++) {
		uint64_t w = t ? (t->before ? before_of(t, word + i) : 0) : c[i].w;
		if (w && !is_packed_before(n, k, w))
			return false;
		if (is_write(n) && !are_reads_before(n, k, c[i].r, word + i))
			return false;
		if (!is_write(n) && !w)
			break;
	}
	return true;
}

/* The words' reads by threads are replaced. */
static void drop_readers(const struct oracle_now *n, struct oracle_cell *c, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (oracle_is_set(c[i].r))
			oracle_readers_unref(n->o, oracle_set_of(c[i].r), 1);
		c[i].r = 0;
	}
}

/* The access becomes one of these words' list. false: nothing is done. */
static bool run_access(const struct oracle_now *n, struct known *k, struct oracle_cell *c,
		       uint32_t word, uint32_t len)
{
	struct oracle_tile *old = oracle_cell_tile(c), *t;

	if (!is_run_before(n, k, c, word, len))
		return false;
	if (is_write(n) || !c->w)
		t = alone(n, old, len);
	else if (!old)
		t = after_write(n, c, word, len);
	else
		t = read_list(n, old, len);
	if (!t)
		return false;
	for (uint32_t i = 0; i < len; i++) {
		n->o->words += !(c[i].w | c[i].r);
		c[i].w = oracle_of_tile(t);
	}
	if (is_write(n))
		drop_readers(n, c, len);
	return true;
}

static void words_full(struct oracle_now *n, struct oracle_cell *c, uint64_t address, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		n->word = address + i * 4;
		n->mask = ORACLE_PLAIN_BYTES;
		oracle_word_full(n, &c[i]);
	}
}

/* ======================================================================== */

bool oracle_is_tiled(const struct oracle_now *n)
{
	const struct oracle_acc *acc = n->acc;
	bool has_fences =
		n->o->opt.sc == ORACLE_SC_PROGRAM && (n->clock->root[ORACLE_FENCES] || n->t->fence);

	return n->is_pseudo && acc->strength == RACE_WEAK && acc->kind != RACE_OP_RMW &&
	       (acc->proxy == RACE_PROXY_GENERIC || acc->proxy == RACE_PROXY_ASYNC) &&
	       !(acc->flags & ~ORACLE_SHARED) && !n->chain && !has_fences;
}

void oracle_tile_access(struct oracle_now *n, uint64_t from, uint64_t to)
{
	struct known k = {0};

	for (uint64_t a = from, next; a < to; a = next) {
		next = (a | ((1u << ORACLE_PAGE_SHIFT) - 1)) + 1;
		next = next < to ? next : to;
		uint32_t len = (uint32_t)(next - a) / 4, run;
		struct oracle_cell *c = oracle_cells_at(n->o, a, len);
		for (uint32_t i = 0; i < len; i += run) {
			run = run_of(&c[i], len - i);
			if (run && run_access(n, &k, &c[i], oracle_word_number(a) + i, run))
				continue;
			run = run ? run : 1;
			words_full(n, &c[i], a + i * 4, run);
			memset(&k, 0, sizeof(k));
		}
	}
}

/* ---- what it is, as records -------------------------------------------------------------- */

uint64_t oracle_tile_before(const struct oracle_cell *c, uint64_t word)
{
	const struct oracle_tile *t = oracle_cell_tile(c);

	return t->before ? before_of(t, oracle_word_number(word)) : 0;
}

void oracle_tile_expand(struct oracle *o, struct oracle_tile *t, struct oracle_ext *e)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct oracle_rec r = {.actor = t->v[i].actor,
				       .epoch = t->v[i].epoch,
				       .site = t->v[i].site,
				       .bytes = ORACLE_PLAIN_BYTES,
				       .offset = ORACLE_OFF_RANGE};
		oracle_rec_push(o, e, &r);
	}
	unref(o, t, 1);
}
