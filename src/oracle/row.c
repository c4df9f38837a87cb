/*
 * row.c - plain accesses, by rows of words: the common case.
 *
 * Lanes of a warp that access neighbouring words with one clock are one row, and so is a copy.
 * If the row is ordered after each word's earlier accesses, it becomes the words' last access, 16
 * bytes a word. Unordered reads by several actors are a set of readers that all words of the row
 * share: a reader maps words to lanes. A word with a race, or whose order isn't found so simply,
 * takes the general path (shadow.c) alone.
 *
 * A read replaces earlier reads, a write all earlier accesses: an access that later races with
 * these races with it, too. A race that has been found before, between the same instructions, need
 * only be counted; then both accesses stay. An access's site records which fence.sc came before it,
 * in case the word ceases to be plain; communication with an access that is ordered before adds
 * nothing to causality (the clock that knows the access knows its fences). Costs: a comparison for
 * each word, a look-up in the clock for each warp encountered.
 */
#include "oracle/shadow.h"

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
	n->leaf_warp = ORACLE_NO_WARP;
	n->known = NULL;
	n->alike[0].key = n->alike[1].key = 0;
	n->alike_set = NULL;
}

static void use_clock(struct oracle_now *n, const struct oracle_clock *clock)
{
	n->clock = clock;
	if (n->leaf_clock == clock)
		return;
	n->leaf_clock = clock;
	forget_leaf(n);
}

bool oracle_row_knows_lanes(struct oracle_now *n, uint32_t warp, uint32_t lanes, uint32_t epoch)
{
	oracle_look_up(n, warp);
	if (!n->leaf)
		return n->leaf_value >= epoch;
	ORACLE_EACH (l, lanes) {
		if (n->leaf[l] < epoch)
			return false;
	}
	return true;
}

uint32_t oracle_row_others(const struct oracle_row *row, uint32_t word, uint32_t warp,
			   uint32_t lanes)
{
	uint32_t me;

	if (row->is_mask || oracle_is_narrow(row->shift))
		return lanes;
	me = oracle_row_actor(row, word);
	return (me & ~31u) == warp ? lanes & ~(1u << (me & 31)) : lanes;
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

/* May the access replace a read that is ordered before it? */
bool oracle_row_may_replace(const struct oracle_now *n, uint32_t actor, uint32_t site)
{
	if (!is_nc_site(n, site))
		return true;
	return !oracle_is_nc_kept(n->o, oracle_site_at(n->o, site), actor) ||
	       ((n->acc->flags & ORACLE_NC) && is_same_grid(n, actor));
}

/* ---- what is before the row ------------------------------------------------------------------ */

/* The lanes of a packed access that has a form. */
struct lanes {
	uint32_t warp, mask;
	uint32_t shift; /* ORACLE_BYTES, ORACLE_HALVES, or 0 for lanes that all read all of it */
};

static struct lanes lanes_of(const struct oracle_now *n, uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p);
	uint32_t bytes = oracle_site_at(n->o, oracle_packed_site(p))->a.bytes;
	struct lanes x = {.warp = actor & ~31u};

	if (bytes >= 4) {
		x.mask = oracle_node_lanes(actor & 31);
	} else {
		x.shift = bytes == 1 ? ORACLE_BYTES : ORACLE_HALVES;
		x.mask = oracle_lanes_of(x.shift, actor);
	}
	return x;
}

/* An access with a form: is it the row's own at that word, byte by byte, or before it? */
static bool are_before(struct oracle_now *n, const struct oracle_row *row, uint32_t word,
		       uint64_t p, bool are_reads)
{
	struct lanes x = lanes_of(n, p);
	uint32_t mask;

	if (x.shift && x.shift == row->shift &&
	    oracle_packed_actor(p) == oracle_row_actor(row, word))
		return true;
	mask = oracle_row_others(row, word, x.warp, x.mask);
	if (are_reads && row->is_mask && row->actor == x.warp)
		mask &= ~row->lanes;
	return !mask || oracle_row_knows_lanes(n, x.warp, mask, oracle_packed_epoch(p));
}

/* A single actor's. */
static inline bool is_before(struct oracle_now *n, const struct oracle_row *row, uint32_t word,
			     uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p);

	if (!row->is_mask && !oracle_is_narrow(row->shift) && oracle_row_actor(row, word) == actor)
		return true;
	return oracle_row_knows(n, actor, oracle_packed_epoch(p));
}

bool oracle_row_is_behind(struct oracle_now *n, const struct oracle_row *row, uint64_t w,
			  uint32_t word)
{
	if ((n->acc->flags & ORACLE_NC) && is_same_grid(n, oracle_packed_actor(w)))
		return false;
	return w & ORACLE_PACKED_FORM ? are_before(n, row, word, w, false)
				      : is_before(n, row, word, w);
}

static bool is_write_before(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word)
{
	if (!c->w)
		return true;
	if (c->w & 1)
		return oracle_row_is_behind(n, row, c->w, word);
	if (oracle_cell_strip(c))
		return oracle_strip_is_before(n, row, c, word);
	return oracle_cell_log(c) && oracle_log_is_before(n, row, c, word);
}

/* May the row's access replace a packed read? A set's lane counts as its own. */
static bool is_read_done(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			 uint32_t word)
{
	uint32_t actor = oracle_packed_actor(r);

	if (!oracle_row_may_replace(n, actor, oracle_packed_site(r)))
		return false;
	if (r & ORACLE_PACKED_FORM)
		return are_before(n, row, word, r, true);
	if (row->is_mask && row->actor == (actor & ~31u) && row->lanes >> (actor & 31) & 1)
		return true;
	return is_before(n, row, word, r);
}

bool oracle_row_reads_behind(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			     uint32_t word)
{
	if (!r)
		return true;
	return r & 1 ? is_read_done(n, row, r, word)
		     : oracle_set_is_before(n, row, oracle_set_of(r), word);
}

/* The reader that a packed read at `word` represents, with those of the words after it. */
static struct oracle_reader reader_packed(const struct oracle_now *n, uint64_t p, uint32_t word)
{
	struct oracle_reader r = {.actor = oracle_packed_actor(p),
				  .epoch = oracle_packed_epoch(p),
				  .at = word,
				  .site = oracle_packed_site(p) & ((1u << ORACLE_SITE_BITS) - 1),
				  .shift = ORACLE_ONE_ACTOR};
	uint32_t bytes = oracle_site_at(n->o, r.site)->a.bytes;

	if (p & ORACLE_PACKED_FORM) {
		struct lanes x = lanes_of(n, p);
		r.is_mask = !x.shift;
		r.actor = x.shift ? r.actor : x.warp;
		r.at = x.shift ? word : x.mask;
		r.shift = x.shift & 31;
	} else if (bytes == 4 || bytes == 8 || bytes == 16) {
		r.shift = (uint32_t)__builtin_ctz(bytes / 4) & 31;
		r.at = word & (UINT32_MAX << r.shift);
	}
	return r;
}

/* ---- races by the thousand --------------------------------------------------------------- */

/* Are the row, which has one actor a word, and the packed access of this site such that no more
 * than the order counts: no proxy, no read-only load? */
static bool is_simple(const struct oracle_now *n, uint32_t site)
{
	return oracle_is_plain(n) && !(n->acc->flags & ORACLE_NC) && !is_nc_site(n, site);
}

/* Does a fence.sc come before the packed access? Then the row's may be forced after it (sc.c). */
static bool has_fence_before(const struct oracle_now *n, uint64_t p)
{
	const struct oracle_site *x = oracle_site_at(n->o, oracle_packed_site(p));

	return n->o->sc_logs && (x->a.fences || oracle_fence_before(n->o, oracle_packed_actor(p),
								    oracle_packed_epoch(p)));
}

/* The pair of the row and a simple packed access of this site, if it need only be counted. The
 * words of a row mostly race with one site. */
static const struct oracle_repeat *pair_with(struct oracle_now *n, const struct oracle_row *row,
					     uint32_t site)
{
	const struct oracle_repeat *x = n->pair;

	if (!x || n->pair_first != site || n->pair_second != row->site) {
		n->pair_first = site;
		n->pair_second = row->site;
		n->pair_families[0] = site;
		n->pair_families[1] = row->site;
		x = oracle_repeat_at(n->o, &n->pair_families[0], &n->pair_families[1], ORACLE_RACE);
		n->pair = is_simple(n, site) ? x : NULL;
	}
	/* Another pair may have taken the place. */
	return n->pair && x->count && x->first == n->pair_families[0] &&
			       x->second == n->pair_families[1] && x->kind == ORACLE_RACE
		       ? x
		       : NULL;
}

/* Is the row's race with a packed access a pair sighted so often? Then it is counted. */
static bool is_packed_counted(struct oracle_now *n, const struct oracle_row *row, uint64_t p,
			      uint64_t least)
{
	const struct oracle_repeat *x;

	if (!(p & 1) || p & ORACLE_PACKED_FORM || row->is_mask || row->shift > 4)
		return false;
	x = pair_with(n, row, oracle_packed_site(p));
	if (!x || n->o->findings.v[x->index].count < least || has_fence_before(n, p))
		return false;
	oracle_count_pair(n->o, x);
	return true;
}

/* ---- words that are alike ---------------------------------------------------------------- */

#define LANE_BITS (31ull << ORACLE_ACTOR_SHIFT)

enum seen { SEEN_NOT /* look at it in full */, SEEN_BEFORE, SEEN_COUNTED };

static void alike_fill(struct oracle_now *n, const struct oracle_row *row, struct oracle_alike *a,
		       uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p), site = oracle_packed_site(p);

	a->key = p & ~LANE_BITS;
	a->row = row->site;
	a->is_simple = (p & 1) && !(p & ORACLE_PACKED_FORM) && !is_nc_site(n, site);
	if (!a->is_simple)
		return;
	oracle_look_up(n, actor);
	a->leaf = n->leaf;
	a->value = n->leaf_value;
	a->epoch = oracle_packed_epoch(p);
	a->is_asked = false;
}

/* Is the race of the row with the accesses that are alike of a pair sighted so often? */
static bool is_alike_counted(struct oracle_now *n, const struct oracle_row *row,
			     struct oracle_alike *a, uint64_t least)
{
	if (!a->is_asked) {
		a->pair = n->o->sc_logs ? NULL : pair_with(n, row, oracle_packed_site(a->key));
		a->is_asked = true;
	}
	return a->pair && n->o->findings.v[a->pair->index].count >= least;
}

/* Is a packed access before the row's, or is their race one of a pair sighted so often? Words of a
 * row mostly have accesses of one warp, epoch and site. */
static inline enum seen look_at(struct oracle_now *n, const struct oracle_row *row,
				struct oracle_alike *a, uint64_t p, uint32_t word, uint64_t least)
{
	uint32_t actor = oracle_packed_actor(p);

	if (!n->is_fast)
		return SEEN_NOT;
	if ((p & ~LANE_BITS) != a->key || a->row != row->site)
		alike_fill(n, row, a, p);
	if (!a->is_simple)
		return SEEN_NOT;
	if (actor == oracle_row_actor(row, word) ||
	    (a->leaf ? a->leaf[actor & 31] : a->value) >= a->epoch)
		return SEEN_BEFORE;
	return is_alike_counted(n, row, a, least) ? SEEN_COUNTED : SEEN_NOT;
}

/* Is the word's last write before the row's access, or is their race counted? */
static bool is_write_seen(struct oracle_now *n, const struct oracle_row *row,
			  const struct oracle_cell *c, uint32_t word, uint64_t least,
			  bool *is_counted)
{
	enum seen seen = c->w ? look_at(n, row, &n->alike[0], c->w, word, least) : SEEN_BEFORE;

	*is_counted = false;
	if (seen == SEEN_BEFORE || (seen == SEEN_NOT && is_write_before(n, row, c, word)))
		return true;
	*is_counted = seen == SEEN_COUNTED || is_packed_counted(n, row, c->w, least);
	if (seen == SEEN_COUNTED)
		oracle_count_pair(n->o, n->alike[0].pair);
	return *is_counted;
}

/* Is the word's last write before the row's read, or is their race counted? Both stay. */
static bool is_write_passed(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word)
{
	bool is_counted;

	return is_write_seen(n, row, c, word, 1, &is_counted);
}

/* Is the word's last write before the row's write? If not, but counted, it is forgotten. */
static bool is_write_replaced(struct oracle_now *n, const struct oracle_row *row,
			      const struct oracle_cell *c, uint32_t word)
{
	bool is_counted;

	if (!is_write_seen(n, row, c, word, ORACLE_HOT, &is_counted))
		return false;
	n->o->stats.raced_out += is_counted;
	return true;
}

#define KEPT_READERS 32u /* of a word that races: each of its writes looks at all of them */

/* Are the word's reads, which aren't before the row's write, counted? They stay: the write of
 * another line may race with them, too. */
static bool are_reads_counted(struct oracle_now *n, const struct oracle_row *row,
			      const struct oracle_cell *c, uint32_t word)
{
	struct oracle_readers *s = oracle_set_of(c->r);

	if (c->r & 1)
		return is_packed_counted(n, row, c->r, 1);
	return oracle_is_plain(n) && row->shift <= 4 && !row->is_mask && !s->has_nc &&
	       s->n <= KEPT_READERS && !n->o->sc_logs && oracle_set_count(n, row, s, word);
}

/* Are the word's reads before the row's write, or is their race counted, once for the word? */
static enum seen reads_seen(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word,
			    const struct oracle_repeat **pair)
{
	enum seen seen = SEEN_BEFORE;

	*pair = NULL;
	if (!c->r)
		return SEEN_BEFORE;
	if (c->r & 1) {
		seen = look_at(n, row, &n->alike[1], c->r, word, 1);
		*pair = n->alike[1].pair;
	} else if (n->is_fast && oracle_set_of(c->r)->n <= KEPT_READERS && !n->o->sc_logs) {
		seen = oracle_set_is_alike(n, row, oracle_set_of(c->r), pair)
			       ? (*pair ? SEEN_COUNTED : SEEN_BEFORE)
			       : SEEN_NOT;
	} else {
		seen = SEEN_NOT;
	}
	if (seen == SEEN_NOT && oracle_row_reads_behind(n, row, c->r, word))
		return SEEN_BEFORE;
	return seen;
}

/* ---- words of a row at once ---------------------------------------------------------------- */

#define AT_ONCE_FROM 4u

/* How many words from the first on have reads that differ in no more than the lane of packed ones.
 * *words: and writes. */
static uint32_t alike_run(const struct oracle_cell *c, uint32_t len, uint32_t *words)
{
	uint64_t w = c->w & 1 ? ~LANE_BITS : UINT64_MAX, r = c->r & 1 ? ~LANE_BITS : UINT64_MAX;
	uint32_t i;

	*words = 0;
	for (i = 1; i < len && !((c[i].r ^ c[0].r) & r); i++)
		if ((c[i].w ^ c[0].w) & w && !*words)
			*words = i;
	if (!*words)
		*words = i;
	return i;
}

/* What look_at says of each of the words, whose accesses are alike: `p` are those of the first, in
 * steps of a cell. SEEN_NOT, too, if it isn't the same of all. */
static enum seen look_at_all(struct oracle_now *n, const struct oracle_row *row,
			     struct oracle_alike *a, const uint64_t *p, uint32_t word, uint32_t len,
			     uint64_t least)
{
	uint32_t before = 0;

	if (!*p)
		return SEEN_BEFORE;
	if (!(*p & 1))
		return SEEN_NOT;
	if ((*p & ~LANE_BITS) != a->key || a->row != row->site)
		alike_fill(n, row, a, *p);
	if (!a->is_simple)
		return SEEN_NOT;
	if (!a->leaf && a->value >= a->epoch)
		return SEEN_BEFORE;
	for (uint32_t i = 0; i < len; i++, p += sizeof(struct oracle_cell) / sizeof(*p)) {
		uint32_t actor = oracle_packed_actor(*p);
		before += actor == oracle_row_actor(row, word + i) ||
			  (a->leaf ? a->leaf[actor & 31] : a->value) >= a->epoch;
	}
	if (before)
		return before == len ? SEEN_BEFORE : SEEN_NOT;
	return n->is_fast && is_alike_counted(n, row, a, least) ? SEEN_COUNTED : SEEN_NOT;
}

static void count_all(struct oracle *o, const struct oracle_repeat *pair, uint32_t len)
{
	o->races += len;
	o->findings.v[pair->index].count += len;
	*pair->count += len;
}

/* The packed access of the row to the word, which has a lane or actor of its own. */
static inline uint64_t packed_in(const struct oracle_row *row, uint64_t first, uint32_t at)
{
	return first + ((uint64_t)(at >> row->shift) << ORACLE_ACTOR_SHIFT);
}

/* The words, whose accesses are alike, become the row's write. false: nothing is done. */
static bool write_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			  uint32_t word, uint32_t len)
{
	const struct oracle_repeat *pair = NULL;
	struct oracle_readers *set = c->r & 1 ? NULL : oracle_set_of(c->r);
	uint32_t at = word - oracle_word_number(row->address);
	uint64_t first = oracle_pack(row->actor, row->own, row->site);
	enum seen reads, writes;

	if (!set) {
		reads = look_at_all(n, row, &n->alike[1], &c->r, word, len, 1);
		pair = n->alike[1].pair;
	} else if (n->is_fast && set->n <= KEPT_READERS && !n->o->sc_logs &&
		   oracle_set_is_alike(n, row, set, &pair)) {
		reads = pair ? SEEN_COUNTED : SEEN_BEFORE;
	} else {
		return false;
	}
	if (reads == SEEN_NOT)
		return false;
	writes = look_at_all(n, row, &n->alike[0], &c->w, word, len, ORACLE_HOT);
	if (writes == SEEN_NOT)
		return false;
	if (writes == SEEN_COUNTED) {
		count_all(n->o, n->alike[0].pair, len);
		n->o->stats.raced_out += len;
	}
	if (reads == SEEN_COUNTED)
		count_all(n->o, pair, len);
	else if (set)
		oracle_readers_unref(n->o, set, len);
	n->o->words += c->w | c->r ? 0 : len;
	for (uint32_t i = 0; i < len; i++)
		c[i].w = packed_in(row, first, at + i);
	for (uint32_t i = 0; reads == SEEN_BEFORE && i < len; i++)
		c[i].r = 0;
	return true;
}

/* The row reads the words, whose accesses are alike. false: nothing is done. */
static bool read_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			 uint32_t word, uint32_t len)
{
	uint32_t at = word - oracle_word_number(row->address);
	uint64_t first = oracle_pack(row->actor, row->own, row->site);
	bool has_set = c->r && !(c->r & 1);
	enum seen writes;

	if (!has_set && look_at_all(n, row, &n->alike[1], &c->r, word, len, UINT64_MAX) == SEEN_NOT)
		return false;
	writes = look_at_all(n, row, &n->alike[0], &c->w, word, len, 1);
	if (writes == SEEN_NOT)
		return false;
	if (writes == SEEN_COUNTED)
		count_all(n->o, n->alike[0].pair, len);
	if (has_set) {
		oracle_set_add(n, row, c, word, len);
		return true;
	}
	n->o->words += c->w | c->r ? 0 : len;
	for (uint32_t i = 0; i < len; i++)
		c[i].r = packed_in(row, first, at + i);
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Clocks may have changed in place. */
static void back_to_row(struct oracle_now *n, const struct oracle_row *row)
{
	n->actor = row->actor;
	n->clock = n->leaf_clock = row->clock;
	forget_leaf(n);
}

/* A word of several lanes from `actor` on takes the general path. */
static void narrow_full(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			uint64_t word, uint32_t actor)
{
	uint32_t bytes = 4u >> oracle_narrowness(row->shift);

	n->word = word;
	for (uint32_t i = 0; i < 4; i += bytes) {
		n->mask = ((1u << bytes) - 1) << i;
		n->address = word + i;
		n->actor = actor++;
		n->t = row->t + (n->actor - row->actor);
		n->clock = n->t->clock;
		oracle_word_full(n, c);
	}
	back_to_row(n, row);
}

/* One word takes the general path, lane after lane. */
static void go_full(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		    uint64_t word)
{
	uint32_t lanes = row->is_mask ? row->lanes : 1;
	uint32_t actor =
		row->is_mask ? row->actor : oracle_row_actor(row, oracle_word_number(word));
	uint64_t bytes = 4ull << row->shift;

	if (oracle_is_narrow(row->shift)) {
		narrow_full(n, row, c, word, actor);
		return;
	}
	n->word = word;
	n->mask = ORACLE_PLAIN_BYTES;
	n->address = row->start;
	if (row->shift != ORACLE_ONE_ACTOR && !row->is_mask)
		n->address += (word - row->start) & ~(bytes - 1);
	while (lanes) {
		uint32_t l = (uint32_t)__builtin_ctz(lanes);
		lanes &= lanes - 1;
		n->actor = actor + l;
		n->t = row->t + (n->actor - row->actor);
		n->clock = n->t->clock;
		if (oracle_word_full(n, c))
			lanes = oracle_last_lane(n->o, lanes);
	}
	back_to_row(n, row);
}

static uint64_t packed_at(const struct oracle_row *row, uint32_t word)
{
	return oracle_pack(oracle_row_actor(row, word), row->own, row->site) |
	       (oracle_is_narrow(row->shift) ? ORACLE_PACKED_FORM : 0);
}

/* Lanes that all read the words, or 0 if they can't be packed. */
static uint64_t packed_lanes(const struct oracle_row *row)
{
	uint32_t node = oracle_lanes_node(row->lanes);

	return node ? oracle_pack(row->actor + node, row->own, row->site) | ORACLE_PACKED_FORM : 0;
}

static void row_write(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		      uint64_t word, uint32_t len)
{
	const struct oracle_repeat *pair;

	for (uint32_t i = 0; i < len; i++, c++, word += 4) {
		uint32_t w = oracle_word_number(word);
		if (oracle_cell_ext(c)) {
			go_full(n, row, c, word);
			continue;
		}
		enum seen reads = reads_seen(n, row, c, w, &pair);
		bool is_behind = reads == SEEN_BEFORE;
		if (!is_write_replaced(n, row, c, w) ||
		    (reads == SEEN_NOT && !are_reads_counted(n, row, c, w))) {
			go_full(n, row, c, word);
			continue;
		}
		if (reads == SEEN_COUNTED)
			oracle_count_pair(n->o, pair);
		if (is_behind && c->r && !(c->r & 1))
			oracle_readers_unref(n->o, oracle_set_of(c->r), 1);
		n->o->words += !(c->w | c->r);
		if (oracle_cell_log(c))
			oracle_log_free(n->o, c);
		else if (oracle_cell_strip(c))
			oracle_strip_leave(n->o, c);
		c->w = packed_at(row, w);
		if (is_behind)
			c->r = 0;
	}
}

/* How many words from here on share a set and can accept the row's read. */
static uint32_t shared_run(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_cell *c, uint32_t word, uint32_t len)
{
	uint32_t i = 1;

	while (i < len && c[i].r == c->r && is_write_passed(n, row, &c[i], word + i))
		i++;
	return i;
}

/* How many packed reads from here on are one reader's, as r says, and stay beside the row's. */
static uint32_t packed_run(struct oracle_now *n, const struct oracle_row *row,
			   const struct oracle_reader *r, const struct oracle_cell *c,
			   uint32_t word, uint32_t len)
{
	uint64_t form = c->r & ORACLE_PACKED_FORM;
	uint32_t i = 1;

	for (; i < len; i++) {
		uint32_t actor = r->is_mask ? r->actor : oracle_reader_actor(r, word + i);
		if (actor >> 5 != r->actor >> 5 ||
		    c[i].r != (r->is_mask ? c->r : oracle_pack(actor, r->epoch, r->site) | form) ||
		    is_read_done(n, row, c[i].r, word + i) ||
		    !is_write_passed(n, row, &c[i], word + i))
			break;
	}
	return i;
}

/* Words whose reads the row's replaces. */
static uint32_t read_alone(struct oracle_now *n, const struct oracle_row *row,
			   struct oracle_cell *c, uint32_t word, uint32_t len)
{
	uint64_t lanes = row->is_mask ? packed_lanes(row) : 0;
	uint32_t run = 1;

	if (!row->is_mask || lanes) {
		c->r = lanes ? lanes : packed_at(row, word);
		return 1;
	}
	while (run < len && c[run].r == c->r && is_write_passed(n, row, &c[run], word + run)) {
		n->o->words += !(c[run].w | c[run].r);
		run++;
	}
	oracle_set_make(n, row, c, word, run, NULL);
	return run;
}

/* Words without a shared set: the row's read alone, or beside the packed one. */
static uint32_t read_packed(struct oracle_now *n, const struct oracle_row *row,
			    struct oracle_cell *c, uint32_t word, uint32_t len)
{
	struct oracle_reader old;
	uint32_t run;

	n->o->words += !(c->w | c->r);
	if (!c->r || is_read_done(n, row, c->r, word))
		return read_alone(n, row, c, word, len);
	old = reader_packed(n, c->r, word);
	run = packed_run(n, row, &old, c, word, len);
	oracle_set_make(n, row, c, word, run, &old);
	return run;
}

static void row_read(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		     uint64_t word, uint32_t len)
{
	for (uint32_t i = 0, run = 1; i < len; i += run) {
		uint32_t w = oracle_word_number(word) + i;
		run = 1;
		if (oracle_cell_ext(&c[i]) || !is_write_passed(n, row, &c[i], w)) {
			go_full(n, row, &c[i], word + i * 4);
		} else if (n->is_fast &&
			   (!c[i].r || look_at(n, row, &n->alike[1], c[i].r, w, UINT64_MAX))) {
			n->o->words += !(c[i].w | c[i].r);
			c[i].r = packed_at(row, w);
		} else if (c[i].r && !(c[i].r & 1)) {
			run = shared_run(n, row, &c[i], w, len - i);
			oracle_set_add(n, row, &c[i], w, run);
		} else {
			run = read_packed(n, row, &c[i], w, len - i);
		}
	}
}

/* Begins to fetch what the words keep elsewhere, so that one isn't waited for after the other. */
static void fetch(const struct oracle_cell *c, uint32_t len)
{
	uint32_t next = 0; /* lists of records */

	for (uint32_t i = 0; len > 1 && i < len; i++) {
		if (oracle_cell_ext(&c[i])) {
			__builtin_prefetch(oracle_cell_ext(&c[i]));
			next++;
		} else if (!(c[i].r & 1) && c[i].r && (!i || c[i].r != c[i - 1].r)) {
			__builtin_prefetch(oracle_set_of(c[i].r));
		}
	}
	for (uint32_t i = 0; next && i < len; i++)
		if (oracle_cell_ext(&c[i]))
			oracle_fetch_lists(oracle_cell_ext(&c[i]));
}

static void row_words(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		      uint64_t address, uint32_t len)
{
	fetch(c, len);
	if (!oracle_can_pack(row->own, row->site))
		for (uint32_t i = 0; i < len; i++)
			go_full(n, row, &c[i], address + i * 4);
	else if (n->acc->kind == RACE_OP_READ)
		row_read(n, row, c, address, len);
	else
		row_write(n, row, c, address, len);
}

/* Words of one page. */
static void row_part(struct oracle_now *n, const struct oracle_row *row, uint64_t address,
		     uint32_t len)
{
	struct oracle_cell *c = oracle_cells_at(n->o, address, len);
	bool is_read = n->acc->kind == RACE_OP_READ;

	while (n->can_be_at_once && len >= AT_ONCE_FROM) {
		uint32_t words, run = alike_run(c, len, &words), w = oracle_word_number(address);
		if (words >= AT_ONCE_FROM && (is_read ? read_at_once(n, row, c, w, words)
						      : write_at_once(n, row, c, w, words)))
			run = words;
		else
			/* Words with other reads have other sets. */
			row_words(n, row, c, address, run);
		c += run;
		len -= run;
		address += run * 4;
	}
	if (len)
		row_words(n, row, c, address, len);
}

/* Before anything is done with rows of this kind. */
static void prepare(struct oracle_now *n, struct oracle_row *row)
{
	uint64_t fences = oracle_fences_of(n->o, row->clock);

	row->site = fences ? oracle_site(n->o, n->acc, fences) : n->site;
	n->is_fast = !row->is_mask && row->shift <= 4 && !(n->acc->flags & ORACLE_NC);
	n->can_be_at_once = !row->is_mask && !oracle_is_narrow(row->shift) &&
			    !(n->acc->flags & ORACLE_NC) && oracle_can_pack(row->own, row->site);
}

static void use_row(struct oracle_now *n, const struct oracle_row *row)
{
	n->t = row->t;
	n->actor = row->actor;
	use_clock(n, row->clock);
}

/* What packed accesses of a single word are to the row. */
static enum seen look_at_word(struct oracle_now *n, const struct oracle_row *row,
			      struct oracle_alike *a, uint64_t p, uint32_t word, uint64_t least)
{
	return p ? look_at(n, row, a, p, word, least) : SEEN_BEFORE;
}

/* A lane's word, in the usual case. false: nothing is done. */
static bool word_at_once(struct oracle_now *n, const struct oracle_row *row)
{
	uint32_t word = oracle_word_number(row->address);
	struct oracle_cell *c = oracle_cells_at(n->o, row->address, 1);
	bool is_read = n->acc->kind == RACE_OP_READ;
	enum seen reads = look_at_word(n, row, &n->alike[1], c->r, word, is_read ? UINT64_MAX : 1);
	enum seen writes = look_at_word(n, row, &n->alike[0], c->w, word, is_read ? 1 : ORACLE_HOT);

	if (reads == SEEN_NOT || writes == SEEN_NOT)
		return false;
	n->o->words += !(c->w | c->r);
	if (writes == SEEN_COUNTED) {
		oracle_count_pair(n->o, n->alike[0].pair);
		n->o->stats.raced_out += !is_read;
	}
	if (is_read) {
		c->r = oracle_pack(row->actor, row->own, row->site);
		return true;
	}
	if (reads == SEEN_COUNTED)
		oracle_count_pair(n->o, n->alike[1].pair);
	else
		c->r = 0;
	c->w = oracle_pack(row->actor, row->own, row->site);
	return true;
}

uint32_t oracle_words_access(struct oracle_now *n, struct oracle_row *row, uint32_t mask,
			     const uint64_t *addresses)
{
	uint32_t done = 0, warp = row->actor;
	struct oracle_thread *t = row->t;

	prepare(n, row);
	ORACLE_EACH (l, n->can_be_at_once ? mask : 0) {
		if (t[l].clock != row->clock || t[l].own != row->own)
			break;
		row->t = &t[l];
		row->actor = warp + l;
		row->address = row->start = addresses[l];
		use_row(n, row);
		if (!word_at_once(n, row))
			break;
		done |= 1u << l;
	}
	return done;
}

void oracle_row_access(struct oracle_now *n, struct oracle_row *row)
{
	uint64_t end = row->address + (uint64_t)row->nwords * 4;

	prepare(n, row);
	use_row(n, row);
	for (uint64_t a = row->address, next; a < end; a = next) {
		next = (a | (ORACLE_ROW_BYTES - 1)) + 1;
		next = next < end ? next : end;
		row_part(n, row, a, (uint32_t)((next - a) / 4));
	}
}
