/*
 * alike.c - words of a row that have been accessed alike, at once.
 *
 * Most rows come to words whose last accesses are of one warp, epoch and site, each of a lane of
 * its own. One look at the clock, and at the pair of sites, says the same of all of them; then
 * they become the row's in one pass. Words here and there are taken one by one in the same way, as
 * long as no more is needed. Costs: two passes over 16 bytes a word.
 */
#include "oracle/shadow/row.h"

/* ---- races by the thousand --------------------------------------------------------------- */

/* Are the row, which has one actor a word, and the packed access of this site such that no more
 * than the order counts: no proxy, no read-only load? */
static bool is_simple(const struct oracle_now *n, uint32_t site)
{
	return oracle_is_plain(n) && !(n->acc->flags & ORACLE_NC) && !oracle_is_nc_site(n, site);
}

/* Does a fence.sc come before the packed access? Then the row's may be forced after it
 * (fence_sc.c). */
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

bool oracle_is_packed_counted(struct oracle_now *n, const struct oracle_row *row, uint64_t p,
			      uint64_t least)
{
	const struct oracle_repeat *x;

	if (!oracle_is_one(p) || row->is_mask || row->shift > 4)
		return false;
	x = pair_with(n, row, oracle_packed_site(p));
	if (x && x->is_same &&
	    !oracle_is_stored_same(n->o, oracle_packed_site(p), oracle_packed_actor(p), row->actor))
		return false;
	if (!x || n->o->findings.v[x->index].count < least || has_fence_before(n, p))
		return false;
	oracle_count_pair(n->o, x);
	return true;
}

/* ---- what the row is to them --------------------------------------------------------------- */

/* Is nothing but the order to be asked? A read-only load isn't right with a write of its grid in
 * any order, and stays for the writes to come. */
static bool is_order_all(const struct oracle_now *n, uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p), site = oracle_packed_site(p);

	if (oracle_site_at(n->o, site)->a.kind & RACE_OP_WRITE)
		return !(n->acc->flags & ORACLE_NC) || !oracle_is_own_grid(n, actor);
	return oracle_row_may_replace(n, actor, site);
}

void oracle_alike_fill(struct oracle_now *n, const struct oracle_row *row, struct oracle_alike *a,
		       uint64_t p)
{
	uint32_t actor = oracle_packed_actor(p);

	a->key = oracle_but_lane(p);
	a->row = row->site;
	a->is_simple = oracle_is_one(p) && is_order_all(n, p);
	if (!a->is_simple)
		return;
	oracle_look_up(n, actor);
	a->leaf = n->leaf;
	a->value = n->leaf_value;
	a->epoch = oracle_packed_epoch(p);
	a->is_asked = false;
}

bool oracle_is_alike_counted(struct oracle_now *n, const struct oracle_row *row,
			     struct oracle_alike *a, uint64_t least)
{
	if (!a->is_asked) {
		a->pair = n->o->sc_logs ? NULL : pair_with(n, row, oracle_packed_site(a->key));
		a->pair = a->pair && a->pair->is_same ? NULL : a->pair; /* word by word */
		a->is_asked = true;
	}
	return a->pair && n->o->findings.v[a->pair->index].count >= least;
}

/* ---- words of a row at once ---------------------------------------------------------------- */

uint32_t oracle_alike_run(const struct oracle_cell *c, uint32_t len, uint32_t *words)
{
	uint64_t w = oracle_is_packed(c->w) ? ~ORACLE_LANE_BITS : UINT64_MAX,
		 r = oracle_is_packed(c->r) ? ~ORACLE_LANE_BITS : UINT64_MAX;
	uint64_t other_w = 0, other_r = 0;
	uint32_t i;

	/* Mostly all of them. */
	for (i = 1; i < len; i++) {
		other_w |= c[i].w ^ c[0].w;
		other_r |= c[i].r ^ c[0].r;
	}
	*words = len;
	if (!(other_w & w) && !(other_r & r))
		return len;
	*words = 0;
	for (i = 1; i < len && !((c[i].r ^ c[0].r) & r); i++)
		if ((c[i].w ^ c[0].w) & w && !*words)
			*words = i;
	if (!*words)
		*words = i;
	return i;
}

/* What oracle_look_at says of each of the words, whose accesses are alike: `p` are those of the
 * first, in steps of a cell. ORACLE_LOOK_FULL, too, if it isn't the same of all. */
static enum oracle_look look_at_all(struct oracle_now *n, const struct oracle_row *row,
				    struct oracle_alike *a, const uint64_t *p, uint32_t word,
				    uint32_t len, uint64_t least)
{
	uint32_t before = 0;

	if (!*p)
		return ORACLE_LOOK_BEFORE;
	if (!oracle_is_packed(*p))
		return ORACLE_LOOK_FULL;
	if (oracle_but_lane(*p) != a->key || a->row != row->site)
		oracle_alike_fill(n, row, a, *p);
	if (!a->is_simple)
		return ORACLE_LOOK_FULL;
	if (!a->leaf && a->value >= a->epoch)
		return ORACLE_LOOK_BEFORE;
	for (uint32_t i = 0; i < len; i++, p += sizeof(struct oracle_cell) / sizeof(*p)) {
		uint32_t actor = oracle_packed_actor(*p);
		before += actor == oracle_row_actor(row, word + i) ||
			  (a->leaf ? a->leaf[actor & 31] : a->value) >= a->epoch;
	}
	if (before)
		return before == len ? ORACLE_LOOK_BEFORE : ORACLE_LOOK_FULL;
	return n->is_fast && oracle_is_alike_counted(n, row, a, least) ? ORACLE_LOOK_COUNTED
								       : ORACLE_LOOK_FULL;
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

bool oracle_write_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			  uint32_t word, uint32_t len)
{
	const struct oracle_repeat *pair = NULL;
	struct oracle_readers *set = oracle_is_packed(c->r) ? NULL : oracle_set_of(c->r);
	uint32_t at = word - oracle_word_number(row->address);
	uint64_t first = oracle_pack(row->actor, row->own, row->site);
	enum oracle_look reads, writes;

	if (!set) {
		reads = look_at_all(n, row, &n->alike[1], &c->r, word, len, 1);
		pair = n->alike[1].pair;
	} else if (n->is_fast && set->n <= ORACLE_KEPT_READERS && !n->o->sc_logs &&
		   oracle_set_is_alike(n, row, set, word, &pair)) {
		reads = pair ? ORACLE_LOOK_COUNTED : ORACLE_LOOK_BEFORE;
	} else {
		return false;
	}
	if (reads == ORACLE_LOOK_FULL)
		return false;
	writes = look_at_all(n, row, &n->alike[0], &c->w, word, len, ORACLE_HOT);
	if (writes == ORACLE_LOOK_FULL)
		return false;
	if (writes == ORACLE_LOOK_COUNTED) {
		count_all(n->o, n->alike[0].pair, len);
		n->o->stats.raced_out += len;
		for (uint32_t i = 0; i < len; i++)
			oracle_gone_packed(n->o, oracle_row_word(row, word + i), c[i].w);
	}
	if (reads == ORACLE_LOOK_COUNTED)
		count_all(n->o, pair, len);
	else if (set)
		oracle_readers_unref(n->o, set, len);
	n->o->words += c->w | c->r ? 0 : len;
	for (uint32_t i = 0; i < len; i++)
		c[i].w = packed_in(row, first, at + i);
	for (uint32_t i = 0; reads == ORACLE_LOOK_BEFORE && i < len; i++)
		c[i].r = 0;
	return true;
}

bool oracle_read_at_once(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			 uint32_t word, uint32_t len)
{
	uint32_t at = word - oracle_word_number(row->address);
	uint64_t first = oracle_pack(row->actor, row->own, row->site);
	bool has_set = oracle_is_set(c->r);
	enum oracle_look writes;

	if (has_set)
		__builtin_prefetch(oracle_set_of(c->r));
	if (!has_set &&
	    look_at_all(n, row, &n->alike[1], &c->r, word, len, UINT64_MAX) == ORACLE_LOOK_FULL)
		return false;
	writes = look_at_all(n, row, &n->alike[0], &c->w, word, len, 1);
	if (writes == ORACLE_LOOK_FULL)
		return false;
	if (writes == ORACLE_LOOK_COUNTED)
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

/* ---- a lane's words alone ------------------------------------------------------------------ */

/* The lane's only word has records: it goes there at once. */
static void full_word(struct oracle_now *n, struct oracle_cell *c, uint64_t address)
{
	n->address = n->word = address;
	n->mask = ORACLE_PLAIN_BYTES;
	oracle_word_full(n, c);
	oracle_forget_pairs(n);
}

/* The words of one lane, which have been accessed as one, by a lane each time: they become the
 * lane's. false: nothing is done. */
static inline bool lane_at_once(struct oracle_now *n, const struct oracle_row *row,
				struct oracle_cell *c, uint32_t word, uint32_t len)
{
	bool is_read = n->acc->kind == RACE_OP_READ;
	uint64_t w = c->w, r = c->r, p, differ = 0;

	for (uint32_t i = 1; i < len; i++)
		differ |= (c[i].w ^ w) | (c[i].r ^ r);
	if (differ || (w && !oracle_is_one(w)) || (r && !oracle_is_one(r)) ||
	    (w &&
	     oracle_look_at(n, row, &n->alike[0], w, word, UINT64_MAX) != ORACLE_LOOK_BEFORE) ||
	    (r && oracle_look_at(n, row, &n->alike[1], r, word, UINT64_MAX) != ORACLE_LOOK_BEFORE))
		return false;
	n->o->words += w | r ? 0 : len;
	p = oracle_pack(row->actor, row->own, row->site);
	for (uint32_t i = 0; i < len; i++) {
		c[i].w = is_read ? w : p;
		c[i].r = is_read ? p : 0;
	}
	return true;
}

/* Words of one lane. */
static void lane_access(struct oracle_now *n, struct oracle_row *row, uint64_t address)
{
	uint32_t word = oracle_word_number(address), len = row->nwords, alike;
	struct oracle_cell *c = oracle_cells_at(n->o, address, len);

	bool is_read = n->acc->kind == RACE_OP_READ;

	if (len == 1 && oracle_cell_ext(c)) {
		full_word(n, c, address);
		return;
	}
	if (lane_at_once(n, row, c, word, len))
		return;
	oracle_alike_run(c, len, &alike);
	if (alike != len || !(is_read ? oracle_read_at_once(n, row, c, word, len)
				      : oracle_write_at_once(n, row, c, word, len)))
		oracle_row_access(n, row);
}

uint32_t oracle_lanes_access(struct oracle_now *n, struct oracle_row *row, uint32_t mask,
			     const uint64_t *addresses)
{
	uint32_t done = 0, warp = row->actor;
	struct oracle_thread *t = row->t;

	oracle_row_prepare(n, row);
	ORACLE_EACH (l, mask) {
		if (t[l].clock != row->clock || t[l].own != row->own) {
			row->clock = t[l].clock;
			row->own = t[l].own;
			oracle_row_prepare(n, row);
		}
		/* Words of one page. */
		if (!n->can_be_at_once || addresses[l] & (n->acc->bytes - 1))
			break;
		row->t = &t[l];
		row->actor = warp + l;
		row->address = row->start = addresses[l];
		oracle_row_use(n, row);
		lane_access(n, row, addresses[l]);
		done |= 1u << l;
	}
	return done;
}
