/*
 * oracle_row.c - plain accesses, by rows of words: the common case.
 *
 * Lanes of a warp that access neighbouring words with one clock are one row, and so is a copy. Where
 * each word is ordered behind what it was accessed by before, the row becomes its last access, 16
 * bytes a word. Reads of several that nothing orders are a set of readers that all words
 * of the row share: a reader says which lane had which word. A word where something
 * races or isn't known so simply goes the general way (oracle_shadow.c), alone.
 *
 * A read takes the place of reads before it, a write that of all: who races with these later, races
 * with it, too. Of fence.sc, an access's site tells which came before it, for the day when the
 * word is no longer plain: communication with an access that is ordered before tells nothing that
 * causality doesn't (the clock that knows the access knows its fences). Costs: a comparison for
 * each word, a look-up in the clock for each warp met.
 */
#include "cpu/oracle_shadow.h"

#define NO_WARP UINT32_MAX

bool oracle_is_plain(const struct oracle_now *n)
{
	const struct oracle_acc *acc = n->acc;

	return acc->strength == RACE_WEAK && acc->proxy == RACE_PROXY_GENERIC &&
	       acc->kind != RACE_OP_RMW && !n->is_pseudo &&
	       !(acc->flags & ~(ORACLE_NC | ORACLE_SHARED | ORACLE_SAW | ORACLE_SAW_LAST));
}

/* ---- what the clock knows ------------------------------------------------------------------ */

static void forget_leaf(struct oracle_now *n)
{
	n->leaf_warp = NO_WARP;
	n->known = NULL;
}

static void use_clock(struct oracle_now *n, const struct oracle_clock *clock)
{
	n->clock = clock;
	if (n->leaf_clock == clock)
		return;
	n->leaf_clock = clock;
	forget_leaf(n);
}

static inline void look_up(struct oracle_now *n, uint32_t actor)
{
	if (n->leaf_warp == actor >> 5)
		return;
	n->leaf_warp = actor >> 5;
	n->leaf = oracle_tree_leaf(n->clock->root[ORACLE_HB], actor, &n->leaf_value);
}

static inline bool is_known(struct oracle_now *n, uint32_t actor, uint32_t epoch)
{
	look_up(n, actor);
	return (n->leaf ? n->leaf[actor & 31] : n->leaf_value) >= epoch;
}

/* ... of all these lanes of a warp. */
static bool are_known(struct oracle_now *n, uint32_t warp, uint32_t lanes, uint32_t epoch)
{
	look_up(n, warp);
	if (!n->leaf)
		return n->leaf_value >= epoch;
	ORACLE_EACH(l, lanes)
	{
		if (n->leaf[l] < epoch)
			return false;
	}
	return true;
}

/* ---- read-only loads ------------------------------------------------------------------------ */

static bool is_nc_site(const struct oracle_now *n, uint32_t site)
{
	return oracle_site_at(n->o, site)->a.flags & ORACLE_NC;
}

/* Are both of one grid? The access's own is the group found last. */
static bool is_same_grid(const struct oracle_now *n, uint32_t actor)
{
	const struct oracle_group *g = oracle_group_of(n->o, n->actor);

	return g && g->is_grid && actor - g->first < g->n;
}

/* May the access take the place of a read that is ordered before it? */
static bool may_replace(const struct oracle_now *n, uint32_t actor, uint32_t site)
{
	if (!is_nc_site(n, site))
		return true;
	return !oracle_is_nc_kept(n->o, oracle_site_at(n->o, site), actor) ||
	       ((n->acc->flags & ORACLE_NC) && is_same_grid(n, actor));
}

/* ---- who accesses a word ---------------------------------------------------------------------- */

static inline uint32_t word_number(uint64_t address)
{
	return (uint32_t)(address >> 2);
}

static inline uint32_t actor_at(const struct oracle_row *row, uint32_t word)
{
	return row->actor + ((word - word_number(row->address)) >> row->shift);
}

static inline uint32_t reader_at(const struct oracle_reader *r, uint32_t word)
{
	return r->actor + ((word - r->at) >> r->shift);
}

/* Is an access by this actor the row's at that word, or before it? */
static inline bool is_before(struct oracle_now *n, const struct oracle_row *row, uint32_t word,
			     uint32_t actor, uint32_t epoch)
{
	if (row->is_mask ? row->actor == (actor & ~31u) && row->lanes == 1u << (actor & 31)
			 : actor_at(row, word) == actor)
		return true;
	return is_known(n, actor, epoch);
}

static bool is_write_before(struct oracle_now *n, const struct oracle_row *row, uint64_t w,
			    uint32_t word)
{
	if (!w)
		return true;
	if (!(w & 1))
		return false;
	if ((n->acc->flags & ORACLE_NC) && is_same_grid(n, oracle_packed_actor(w)))
		return false;
	return is_before(n, row, word, oracle_packed_actor(w), oracle_packed_epoch(w));
}

/* May a packed read go for the row's access? A set's lane counts as its own. */
static bool is_read_done(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			 uint32_t word)
{
	uint32_t actor = oracle_packed_actor(r);

	if (!may_replace(n, actor, oracle_packed_site(r)))
		return false;
	if (row->is_mask && row->actor == (actor & ~31u) && row->lanes >> (actor & 31) & 1)
		return true;
	return is_before(n, row, word, actor, oracle_packed_epoch(r));
}

/* ---- sets of readers --------------------------------------------------------------------------- */

static struct oracle_readers *set_of(uint64_t r)
{
	return (struct oracle_readers *)(uintptr_t)r;
}

static size_t set_bytes(uint32_t cap)
{
	return sizeof(struct oracle_readers) + cap * sizeof(struct oracle_reader);
}

static struct oracle_readers *set_new(struct oracle *o, uint32_t cap, uint32_t refs)
{
	struct oracle_readers *s = oracle_mem_new(o, set_bytes(cap));

	s->cap = cap;
	s->refs = refs;
	return s;
}

static void set_give(struct oracle_cell *c, uint32_t len, const struct oracle_readers *s)
{
	for (uint32_t i = 0; i < len; i++)
		c[i].r = (uintptr_t)s;
}

/* The same set with room for `cap`, of these words alone. */
static struct oracle_readers *set_own(struct oracle *o, struct oracle_cell *c, uint32_t len,
				      uint32_t cap)
{
	struct oracle_readers *old = set_of(c->r), *s = set_new(o, cap, len);

	s->n = old->n;
	s->has_nc = old->has_nc;
	memcpy(s->v, old->v, old->n * sizeof(s->v[0]));
	oracle_readers_unref(o, old, len);
	set_give(c, len, s);
	return s;
}

static struct oracle_reader reader_of(const struct oracle_row *row, uint32_t word)
{
	struct oracle_reader r = {.actor = row->actor,
				  .epoch = row->own,
				  .at = row->lanes,
				  .site = row->site & ((1u << 26) - 1),
				  .is_mask = row->is_mask};

	if (row->is_mask)
		return r;
	r.actor = actor_at(row, word);
	r.at = word - ((word - word_number(row->address)) & ((1u << row->shift) - 1));
	r.shift = row->shift & 31;
	return r;
}

/* The reader that a packed read at `word` stands for, with those of the words behind it. */
static struct oracle_reader reader_packed(const struct oracle_now *n, uint64_t p, uint32_t word)
{
	struct oracle_reader r = {.actor = oracle_packed_actor(p),
				  .epoch = oracle_packed_epoch(p),
				  .at = word,
				  .site = oracle_packed_site(p) & ((1u << 26) - 1),
				  .shift = ORACLE_ONE_ACTOR};
	uint32_t bytes = oracle_site_at(n->o, r.site)->a.bytes;

	if (bytes == 4 || bytes == 8 || bytes == 16) {
		r.shift = (uint32_t)__builtin_ctz(bytes / 4) & 31;
		r.at = word & (UINT32_MAX << r.shift);
	}
	return r;
}

static bool is_reader_known(struct oracle_now *n, const struct oracle_reader *r, uint32_t word,
			    uint32_t len)
{
	if (r->is_mask)
		return are_known(n, r->actor, r->at, r->epoch);
	for (uint32_t i = 0; i < len; i++) {
		if (!is_known(n, reader_at(r, word + i), r->epoch))
			return false;
		if (!n->leaf) /* all lanes alike, and a reader is of one warp */
			return true;
	}
	return true;
}

/* Do both read each of the words by the same actors (for sets: b's among a's)? */
static bool is_covered(const struct oracle_reader *a, const struct oracle_reader *b, uint32_t word,
		       uint32_t len)
{
	if (a->is_mask)
		return b->is_mask && a->actor == b->actor && !(b->at & ~a->at);
	return !b->is_mask && reader_at(a, word) == reader_at(b, word) &&
	       (len == 1 || (a->shift == b->shift &&
			     reader_at(a, word + len - 1) == reader_at(b, word + len - 1)));
}

static bool is_alike_nc(const struct oracle_now *n, const struct oracle_reader *a,
			const struct oracle_reader *b)
{
	return is_nc_site(n, a->site) == is_nc_site(n, b->site);
}

#define SORT_FROM 16u

static int by_actor(const void *a, const void *b)
{
	const struct oracle_reader *x = a, *y = b;
	const uint32_t v[2][5] = {{x->actor, x->is_mask, x->at, x->shift, x->epoch},
				  {y->actor, y->is_mask, y->at, y->shift, y->epoch}};

	for (unsigned i = 0; i < 5; i++)
		if (v[0][i] != v[1][i])
			return v[0][i] < v[1][i] ? -1 : 1;
	return 0;
}

/* Drops the readers that the row's access, or a later one of the same actors, stands for. */
static void set_compact(struct oracle_now *n, struct oracle_readers *s, uint32_t word, uint32_t len)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (!is_reader_known(n, &s->v[i], word, len) ||
		    !may_replace(n, s->v[i].is_mask ? s->v[i].actor : reader_at(&s->v[i], word),
				 s->v[i].site))
			s->v[kept++] = s->v[i];
	s->n = kept;
	if (s->n < (n->o->opt.is_tiny ? 2 : SORT_FROM))
		return;
	qsort(s->v, s->n, sizeof(s->v[0]), by_actor);
	kept = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (i + 1 == s->n || s->v[i + 1].epoch < s->v[i].epoch ||
		    !is_covered(&s->v[i + 1], &s->v[i], word, len) ||
		    !is_alike_nc(n, &s->v[i], &s->v[i + 1]))
			s->v[kept++] = s->v[i];
	s->n = kept;
}

#define LOOK_BEHIND 8u

/* The reader whose place the row's may take; with_lanes: or that it may join. */
static struct oracle_reader *set_find(const struct oracle_now *n, struct oracle_readers *s,
				      const struct oracle_reader *r, uint32_t word, uint32_t len)
{
	uint32_t last = n->o->opt.is_tiny ? 1 : LOOK_BEHIND;

	for (uint32_t i = s->n; i-- > 0 && s->n - i <= last;) {
		struct oracle_reader *x = &s->v[i];
		if (x->is_mask && r->is_mask && x->actor == r->actor && x->epoch == r->epoch &&
		    x->site == r->site)
			return x;
		if (is_covered(r, x, word, len) && is_alike_nc(n, r, x))
			return x;
	}
	return NULL;
}

static bool set_has(const struct oracle_reader *x, const struct oracle_reader *r)
{
	return x->epoch == r->epoch && x->site == r->site && (!r->is_mask || !(r->at & ~x->at));
}

static void set_put(struct oracle_reader *x, const struct oracle_reader *r)
{
	uint32_t lanes = x->is_mask && x->epoch == r->epoch && x->site == r->site ? x->at : 0;

	*x = *r;
	if (r->is_mask)
		x->at |= lanes;
}

static struct oracle_readers *set_limit(struct oracle_now *n, struct oracle_readers *s)
{
	uint32_t half = s->n / 2;

	if (s->n < n->o->opt.max_records)
		return s;
	memmove(s->v, s->v + half, (s->n - half) * sizeof(s->v[0]));
	s->n -= half;
	n->o->stats.dropped += half;
	return s;
}

/* The row reads `len` words from `word` on that share a set. */
static void set_add(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		    uint32_t word, uint32_t len)
{
	struct oracle_reader r = reader_of(row, word);
	struct oracle_readers *s = set_of(c->r);
	struct oracle_reader *x = set_find(n, s, &r, word, len);

	if (x && set_has(x, &r))
		return;
	if (s == n->known)
		n->known = NULL;
	if (s->refs != len) {
		size_t at = x ? (size_t)(x - s->v) : 0;
		s = set_own(n->o, c, len, x ? s->n : s->n + 1);
		x = x ? &s->v[at] : NULL;
	}
	if (x) {
		set_put(x, &r);
		return;
	}
	if (s->n == s->cap)
		set_compact(n, s, word, len);
	s = set_limit(n, s);
	if (s->n == s->cap)
		s = set_own(n->o, c, len, s->cap + (s->cap < 8 ? 2 : s->cap / 2));
	s->has_nc |= n->acc->flags & ORACLE_NC;
	s->v[s->n++] = r;
}

/* Are all readers of the set before the row's access to a word? */
static bool is_set_before(struct oracle_now *n, const struct oracle_row *row,
			  struct oracle_readers *s, uint32_t word)
{
	bool is_simple = true;

	if (s == n->known)
		return true;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct oracle_reader *r = &s->v[i];
		uint32_t actor = r->is_mask ? r->actor : reader_at(r, word);
		if (s->has_nc && !may_replace(n, actor, r->site))
			return false;
		if (!r->is_mask) {
			if (!is_before(n, row, word, actor, r->epoch))
				return false;
			look_up(n, actor);
			is_simple &= !n->leaf && n->leaf_value >= r->epoch;
			continue;
		}
		uint32_t me = actor_at(row, word), lanes = r->at;
		if ((me & ~31u) == actor)
			lanes &= ~(1u << (me & 31));
		if (!are_known(n, actor, lanes, r->epoch))
			return false;
		is_simple &= !n->leaf;
	}
	if (is_simple)
		n->known = s;
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

/* One word goes the general way, lane after lane. */
static void go_full(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		    uint64_t word)
{
	uint32_t lanes = row->is_mask ? row->lanes : 1;
	uint32_t actor = row->is_mask ? row->actor : actor_at(row, word_number(word));
	uint64_t bytes = 4ull << row->shift;

	n->word = word;
	n->mask = ORACLE_PLAIN_BYTES;
	n->address = row->start;
	if (row->shift != ORACLE_ONE_ACTOR && !row->is_mask)
		n->address += (word - row->start) & ~(bytes - 1);
	ORACLE_EACH(l, lanes)
	{
		n->actor = actor + l;
		n->t = row->t + (n->actor - row->actor);
		n->clock = n->t->clock;
		oracle_word_full(n, c);
	}
	/* Clocks may have changed in place. */
	n->actor = row->actor;
	n->clock = n->leaf_clock = row->clock;
	forget_leaf(n);
}

static uint64_t packed_at(const struct oracle_row *row, uint32_t word)
{
	return oracle_pack(actor_at(row, word), row->own, row->site);
}

static void row_write(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		      uint64_t word, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++, c++, word += 4) {
		uint32_t w = word_number(word);
		bool is_done = is_write_before(n, row, c->w, w);
		if (is_done && c->r)
			is_done = c->r & 1 ? is_read_done(n, row, c->r, w)
					   : is_set_before(n, row, set_of(c->r), w);
		if (!is_done) {
			go_full(n, row, c, word);
			continue;
		}
		if (c->r && !(c->r & 1))
			oracle_readers_unref(n->o, set_of(c->r), 1);
		n->o->words += !(c->w | c->r);
		c->w = packed_at(row, w);
		c->r = 0;
	}
}

/* How many words from here on share a set and can take the row's read. */
static uint32_t shared_run(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_cell *c, uint32_t word, uint32_t len)
{
	uint32_t i = 1;

	while (i < len && c[i].r == c->r && is_write_before(n, row, c[i].w, word + i))
		i++;
	return i;
}

/* How many packed reads from here on are one reader's, as r says, and stay beside the row's. */
static uint32_t packed_run(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_reader *r, const struct oracle_cell *c,
			   uint32_t word, uint32_t len)
{
	uint32_t i = 1;

	for (; i < len; i++) {
		uint32_t actor = reader_at(r, word + i);
		if (actor >> 5 != r->actor >> 5 ||
		    c[i].r != oracle_pack(actor, r->epoch, r->site) ||
		    is_read_done(n, row, c[i].r, word + i) ||
		    !is_write_before(n, row, c[i].w, word + i))
			break;
	}
	return i;
}

/* Words without a shared set: the row's read alone, or beside the packed one. */
static uint32_t read_packed(struct oracle_now *n, const struct oracle_row *row,
			    struct oracle_cell *c, uint32_t word, uint32_t len)
{
	bool is_alone = !c->r || is_read_done(n, row, c->r, word);
	uint32_t run = 1;

	n->o->words += !(c->w | c->r);
	if (is_alone && !row->is_mask) {
		c->r = packed_at(row, word);
		return 1;
	}
	struct oracle_reader old = {0};
	while (is_alone && run < len && c[run].r == c->r &&
	       is_write_before(n, row, c[run].w, word + run)) {
		n->o->words += !(c[run].w | c[run].r);
		run++;
	}
	if (!is_alone) {
		old = reader_packed(n, c->r, word);
		run = packed_run(n, row, &old, c, word, len);
	}
	struct oracle_readers *s = set_new(n->o, is_alone ? 1 : 2, run);
	if (!is_alone) {
		s->has_nc |= is_nc_site(n, old.site);
		s->v[s->n++] = old;
	}
	s->has_nc |= (n->acc->flags & ORACLE_NC) != 0;
	s->v[s->n++] = reader_of(row, word);
	set_give(c, run, s);
	return run;
}

static void row_read(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		     uint64_t word, uint32_t len)
{
	for (uint32_t i = 0, run = 1; i < len; i += run) {
		uint32_t w = word_number(word) + i;
		run = 1;
		if (!is_write_before(n, row, c[i].w, w)) {
			go_full(n, row, &c[i], word + i * 4);
		} else if (c[i].r && !(c[i].r & 1)) {
			run = shared_run(n, row, &c[i], w, len - i);
			set_add(n, row, &c[i], w, run);
		} else {
			run = read_packed(n, row, &c[i], w, len - i);
		}
	}
}

void oracle_row_access(struct oracle_now *n, struct oracle_row *row)
{
	uint64_t end = row->address + (uint64_t)row->nwords * 4;
	uint64_t fences = row->clock->root[ORACLE_FENCES];
	bool can_pack;

	row->site = fences ? oracle_site(n->o, n->acc, fences) : n->site;
	can_pack = oracle_can_pack(row->own, row->site);
	n->t = row->t;
	n->actor = row->actor;
	use_clock(n, row->clock);
	for (uint64_t a = row->address, next; a < end; a = next) {
		next = (a | ((1ull << ORACLE_PAGE_SHIFT) - 1)) + 1;
		next = next < end ? next : end;
		struct oracle_cell *c = oracle_cell_at(n->o, a, true);
		uint32_t len = (uint32_t)((next - a) / 4);
		if (!can_pack)
			for (uint32_t i = 0; i < len; i++)
				go_full(n, row, &c[i], a + i * 4);
		else if (n->acc->kind == RACE_OP_READ)
			row_read(n, row, c, a, len);
		else
			row_write(n, row, c, a, len);
	}
}
