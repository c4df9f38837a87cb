/*
 * row.c - plain accesses, by rows of words: the common case.
 *
 * Lanes of a warp that access neighbouring words with one clock are one row, and so is a copy.
 * alike.c takes words of it that were accessed alike.
 * If the row is ordered after each word's earlier accesses, it becomes the words' last access, 16
 * bytes a word. Unordered reads by several actors are a set of readers that all words of the row
 * share: a reader maps words to lanes. A word with a race, or whose order isn't found so simply,
 * takes the general path (access.c) alone.
 *
 * A read replaces earlier reads, a write all earlier accesses: an access that later races with
 * these races with it, too. A race that has been found before, between the same instructions, need
 * only be counted; then both accesses stay. An access's site records which fence.sc came before it,
 * in case the word ceases to be plain; communication with an access that is ordered before adds
 * nothing to causality (the clock that knows the access knows its fences). Costs: a comparison for
 * each word, a look-up in the clock for each warp encountered.
 */
#include "oracle/shadow/row.h"

bool oracle_is_plain(const struct oracle_now *n)
{
	const struct oracle_acc *acc = n->acc;

	return acc->strength == RACE_WEAK && acc->proxy == RACE_PROXY_GENERIC &&
	       acc->kind != RACE_OP_RMW && !n->is_pseudo &&
	       !(acc->flags & ~(ORACLE_NC | ORACLE_SHARED | ORACLE_SAW | ORACLE_SAW_LAST));
}

/* ---- what the clock knows ------------------------------------------------------------------ */

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

/* May the access replace a read that is ordered before it? */
bool oracle_row_may_replace(const struct oracle_now *n, uint32_t actor, uint32_t site)
{
	if (!oracle_is_nc_site(n, site))
		return true;
	return !oracle_is_nc_kept(n->o, oracle_site_at(n->o, site), actor) ||
	       ((n->acc->flags & ORACLE_NC) && oracle_is_own_grid(n, actor));
}

/* ---- what is before the row ------------------------------------------------------------------ */

/* An access of lanes: is it the row's own at that word, byte by byte, or before it? */
static bool are_before(struct oracle_now *n, const struct oracle_row *row, uint32_t word,
		       uint64_t p, bool are_reads)
{
	struct oracle_lanes x = oracle_packed_lanes(n->o, p);
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

bool oracle_row_is_after(struct oracle_now *n, const struct oracle_row *row, uint64_t w,
			 uint32_t word)
{
	if ((n->acc->flags & ORACLE_NC) && oracle_is_own_grid(n, oracle_packed_actor(w)))
		return false;
	return oracle_is_of_lanes(w) ? are_before(n, row, word, w, false)
				     : is_before(n, row, word, w);
}

static bool is_write_before(struct oracle_now *n, const struct oracle_row *row,
			    const struct oracle_cell *c, uint32_t word)
{
	if (!c->w)
		return true;
	if (oracle_is_packed(c->w))
		return oracle_row_is_after(n, row, c->w, word);
	if (oracle_cell_strip(c))
		return oracle_strip_is_before(n, row, c, word);
	if (oracle_cell_tile(c))
		return oracle_tile_is_before(n, row, c, word);
	return oracle_cell_log(c) && oracle_log_is_before(n, row, c, word);
}

/* May the row's access replace a packed read? A set's lane counts as its own. */
static bool is_read_done(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			 uint32_t word)
{
	uint32_t actor = oracle_packed_actor(r);

	if (!oracle_row_may_replace(n, actor, oracle_packed_site(r)))
		return false;
	if (oracle_is_of_lanes(r))
		return are_before(n, row, word, r, true);
	if (row->is_mask && row->actor == (actor & ~31u) && row->lanes >> (actor & 31) & 1)
		return true;
	return is_before(n, row, word, r);
}

bool oracle_row_is_after_reads(struct oracle_now *n, const struct oracle_row *row, uint64_t r,
			       uint32_t word)
{
	if (!r)
		return true;
	return oracle_is_packed(r) ? is_read_done(n, row, r, word)
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

	if (oracle_is_of_lanes(p)) {
		struct oracle_lanes x = oracle_packed_lanes(n->o, p);
		r.is_mask = !x.shift;
		r.actor = x.shift ? r.actor : x.warp;
		r.at = x.shift ? word : x.mask;
		r.shift = x.shift & 31;
	} else if (bytes == 1 || bytes == 2) {
		r.shift = 0; /* of a byte (form_narrow.c) */
	} else if (bytes == 4 || bytes == 8 || bytes == 16) {
		r.shift = (uint32_t)__builtin_ctz(bytes / 4) & 31;
		r.at = word & (UINT32_MAX << r.shift);
	}
	return r;
}

/* ---- races that are only counted ------------------------------------------------------------ */

/* Is the word's last write before the row's access, or is their race counted? */
static bool is_write_seen(struct oracle_now *n, const struct oracle_row *row,
			  const struct oracle_cell *c, uint32_t word, uint64_t least,
			  bool *is_counted)
{
	enum oracle_look seen =
		c->w ? oracle_look_at(n, row, &n->alike[0], c->w, word, least) : ORACLE_LOOK_BEFORE;

	*is_counted = false;
	if (seen == ORACLE_LOOK_BEFORE ||
	    (seen == ORACLE_LOOK_FULL && is_write_before(n, row, c, word)))
		return true;
	*is_counted = seen == ORACLE_LOOK_COUNTED || oracle_is_packed_counted(n, row, c->w, least);
	if (seen == ORACLE_LOOK_COUNTED)
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
	if (is_counted)
		oracle_gone_packed(n->o, oracle_row_word(row, word), c->w);
	return true;
}

/* Are the word's reads, which aren't before the row's write, counted? They stay: the write of
 * another line may race with them, too. */
static bool are_reads_counted(struct oracle_now *n, const struct oracle_row *row,
			      const struct oracle_cell *c, uint32_t word)
{
	struct oracle_readers *s = oracle_set_of(c->r);

	if (oracle_is_packed(c->r))
		return oracle_is_packed_counted(n, row, c->r, 1);
	return oracle_is_plain(n) && row->shift <= 4 && !row->is_mask && !s->has_nc &&
	       s->n <= ORACLE_KEPT_READERS && !n->o->sc_logs && oracle_set_count(n, row, s, word);
}

/* Are the word's reads before the row's write, or is their race counted, once for the word? */
static enum oracle_look reads_seen(struct oracle_now *n, const struct oracle_row *row,
				   const struct oracle_cell *c, uint32_t word,
				   const struct oracle_repeat **pair)
{
	enum oracle_look seen = ORACLE_LOOK_BEFORE;

	*pair = NULL;
	if (!c->r)
		return ORACLE_LOOK_BEFORE;
	if (oracle_is_packed(c->r)) {
		seen = oracle_look_at(n, row, &n->alike[1], c->r, word, 1);
		*pair = n->alike[1].pair;
	} else if (n->is_fast && oracle_set_of(c->r)->n <= ORACLE_KEPT_READERS && !n->o->sc_logs) {
		seen = oracle_set_is_alike(n, row, oracle_set_of(c->r), word, pair)
			       ? (*pair ? ORACLE_LOOK_COUNTED : ORACLE_LOOK_BEFORE)
			       : ORACLE_LOOK_FULL;
	} else {
		seen = ORACLE_LOOK_FULL;
	}
	if (seen == ORACLE_LOOK_FULL && oracle_row_is_after_reads(n, row, c->r, word))
		return ORACLE_LOOK_BEFORE;
	return seen;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void back_to_row(struct oracle_now *n, const struct oracle_row *row)
{
	n->actor = row->actor;
	n->clock = row->clock;
	oracle_forget_pairs(n);
	n->leaf_clock = row->clock;
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
			lanes = oracle_last_lane(n, row->actor, lanes);
	}
	back_to_row(n, row);
}

static uint64_t packed_at(const struct oracle_row *row, uint32_t word)
{
	return oracle_pack(oracle_row_actor(row, word), row->own, row->site) |
	       (oracle_is_narrow(row->shift) ? ORACLE_IS_OF_LANES : 0);
}

/* Lanes that all read the words, or 0 if they can't be packed. */
static uint64_t packed_lanes(const struct oracle_row *row)
{
	uint32_t node = oracle_lanes_node(row->lanes);

	return node ? oracle_pack_lanes(row->actor + node, row->own, row->site) : 0;
}

static void row_write(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		      uint64_t word, uint32_t len)
{
	const struct oracle_repeat *pair;

	for (uint32_t i = 0; i < len; i++, c++, word += 4) {
		uint32_t w = oracle_word_number(word);
		if (oracle_cell_ext(c) ||
		    (oracle_cell_narrow(c) && !oracle_narrow_row(n, row, c, w))) {
			go_full(n, row, c, word);
			continue;
		}
		enum oracle_look reads = reads_seen(n, row, c, w, &pair);
		bool is_after = reads == ORACLE_LOOK_BEFORE;
		if (!is_write_replaced(n, row, c, w) ||
		    (reads == ORACLE_LOOK_FULL && !are_reads_counted(n, row, c, w))) {
			go_full(n, row, c, word);
			continue;
		}
		if (reads == ORACLE_LOOK_COUNTED)
			oracle_count_pair(n->o, pair);
		if (is_after && oracle_is_set(c->r))
			oracle_readers_unref(n->o, oracle_set_of(c->r), 1);
		n->o->words += !(c->w | c->r);
		if (oracle_cell_log(c))
			oracle_log_free(n->o, c);
		else if (oracle_cell_strip(c))
			oracle_strip_leave(n->o, c);
		else if (oracle_cell_tile(c))
			oracle_tile_leave(n->o, c);
		c->w = packed_at(row, w);
		if (is_after)
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
	uint64_t lanes = c->r & ORACLE_IS_OF_LANES;
	uint32_t i = 1;

	for (; i < len; i++) {
		uint32_t actor = r->is_mask ? r->actor : oracle_reader_actor(r, word + i);
		if (actor >> 5 != r->actor >> 5 ||
		    c[i].r != (r->is_mask ? c->r : oracle_pack(actor, r->epoch, r->site) | lanes) ||
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

void oracle_row_read_word(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
			  uint32_t word)
{
	if (oracle_is_set(c->r))
		oracle_set_add(n, row, c, word, 1);
	else
		read_packed(n, row, c, word, 1);
}

static void row_read(struct oracle_now *n, const struct oracle_row *row, struct oracle_cell *c,
		     uint64_t word, uint32_t len)
{
	for (uint32_t i = 0, run = 1; i < len; i += run) {
		uint32_t w = oracle_word_number(word) + i;
		run = 1;
		if (oracle_cell_narrow(&c[i])) {
			if (!oracle_narrow_row(n, row, &c[i], w))
				go_full(n, row, &c[i], word + i * 4);
		} else if (oracle_cell_ext(&c[i]) || !is_write_passed(n, row, &c[i], w)) {
			go_full(n, row, &c[i], word + i * 4);
		} else if (n->is_fast && (!c[i].r || oracle_look_at(n, row, &n->alike[1], c[i].r, w,
								    UINT64_MAX))) {
			n->o->words += !(c[i].w | c[i].r);
			c[i].r = packed_at(row, w);
		} else if (oracle_is_set(c[i].r)) {
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
			continue;
		}
		if (oracle_cell_log(&c[i]))
			__builtin_prefetch(oracle_cell_log(&c[i]));
		if (oracle_cell_narrow(&c[i]))
			__builtin_prefetch(oracle_cell_narrow(&c[i]));
		if (oracle_is_set(c[i].r) && (!i || c[i].r != c[i - 1].r))
			__builtin_prefetch(oracle_set_of(c[i].r));
	}
	for (uint32_t i = 0; next && i < len; i++)
		if (oracle_cell_ext(&c[i]))
			oracle_fetch_lists(oracle_cell_ext(&c[i]));
}

#define AT_ONCE_FROM 4u

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
		uint32_t words, run = oracle_alike_run(c, len, &words),
				w = oracle_word_number(address);
		if (words >= AT_ONCE_FROM && (is_read ? oracle_read_at_once(n, row, c, w, words)
						      : oracle_write_at_once(n, row, c, w, words)))
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

void oracle_row_access(struct oracle_now *n, struct oracle_row *row)
{
	uint64_t end = row->address + (uint64_t)row->nwords * 4;

	oracle_row_prepare(n, row);
	oracle_row_use(n, row);
	for (uint64_t a = row->address, next; a < end; a = next) {
		next = (a | (ORACLE_ROW_BYTES - 1)) + 1;
		next = next < end ? next : end;
		row_part(n, row, a, (uint32_t)((next - a) / 4));
	}
}
