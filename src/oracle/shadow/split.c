/*
 * split.c - an access in parts: rows for row.c, words for access.c.
 *
 * A row is what lanes of a warp access with one clock: neighbouring words in order, all of them the
 * same words, or bytes and halves of words side by side. Bytes at the ends of a row that don't fill
 * their word are handled alone, and so are accesses that aren't plain. Costs: a pass over the
 * lanes.
 */
#include "oracle/shadow/row.h"

/* Bytes from `from` up to `to` of the access, word by word. true: nothing new, as oracle_word_full
 * has it. */
static bool access_words(struct oracle_now *n, uint64_t from, uint64_t to)
{
	bool is_nothing_new = true;

	for (uint64_t a = from & ~3ull; a < to; a += 4) {
		n->word = a;
		n->mask = ORACLE_PLAIN_BYTES;
		if (a < from)
			n->mask &= ORACLE_PLAIN_BYTES << (from - a);
		if (to - a < 4)
			n->mask &= (1u << (to - a)) - 1;
		is_nothing_new &= oracle_word_full(n, oracle_cell_at(n->o, a, true));
	}
	return is_nothing_new;
}

#define ROW_BYTES (1ull << 30) /* of one actor */

/* A plain access of one actor: whole words as rows, the bytes around them alone. */
static void access_plain(struct oracle_now *n)
{
	struct oracle_row row = {.shift = ORACLE_ONE_ACTOR,
				 .t = n->t,
				 .actor = n->actor,
				 .own = n->t->own,
				 .clock = n->t->clock,
				 .start = n->address};
	uint64_t end = n->address + n->bytes, from = (n->address + 3) & ~3ull, to = end & ~3ull;

	if (from >= to) {
		access_words(n, n->address, end);
		return;
	}
	access_words(n, n->address, from);
	for (uint64_t a = from; a < to; a += ROW_BYTES) {
		row.address = a;
		row.nwords = (uint32_t)((to - a < ROW_BYTES ? to - a : ROW_BYTES) / 4);
		oracle_row_access(n, &row);
	}
	access_words(n, to, end);
}

/* A pseudo-thread's access. */
static void access_tiles(struct oracle_now *n)
{
	uint64_t end = n->address + n->bytes, from = (n->address + 3) & ~3ull, to = end & ~3ull;

	if (from >= to) {
		access_words(n, n->address, end);
		return;
	}
	access_words(n, n->address, from);
	oracle_tile_access(n, from, to);
	access_words(n, to, end);
}

void oracle_shadow_access(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			  const struct oracle_acc *acc, uint64_t address, uint64_t bytes,
			  const struct oracle_link *link)
{
	struct oracle_now n;

	oracle_now_begin(&n, o, acc);
	n.t = t;
	n.clock = t->clock;
	n.actor = actor;
	n.address = address;
	n.bytes = bytes;
	n.chain = link ? link->chain : NULL;
	n.pos = link ? link->pos : 0;
	n.is_range = bytes != acc->bytes || bytes > 64;
	n.is_pseudo = oracle_is_pseudo(o, actor);
	if (acc->strength != RACE_WEAK)
		n.place = oracle_place_key(o, actor, acc->scope);
	if (oracle_is_plain(&n))
		access_plain(&n);
	else if (oracle_is_tiled(&n))
		access_tiles(&n);
	else
		access_words(&n, address, address + bytes);
}

static bool has_one_clock(struct oracle *o, const struct oracle_thread *t, uint32_t warp)
{
	struct oracle_one_clock *x = &o->one_clock[(warp >> 5) % ORACLE_ONE_CLOCKS];
	uint64_t event = o->stats.events - o->nplain + 1, differ = 0;

	if (x->t == t && x->event == event)
		return x->is_one;
	for (uint32_t l = 0; l < ORACLE_LANES; l++)
		differ |= ((uintptr_t)t[l].clock ^ (uintptr_t)t[0].clock) | (t[l].own ^ t[0].own);
	*x = (struct oracle_one_clock){t, event, !differ};
	return !differ;
}

/* Have all lanes the same clock, and addresses in steps of this size? */
static bool are_alike(const struct oracle_now *n, const struct oracle_thread *t,
		      const uint64_t *addresses, uint32_t step)
{
	uint64_t differ = 0;

	/* Of most that haven't, the last lane says so. */
	if (addresses[ORACLE_LANES - 1] != addresses[0] + (uint64_t)(ORACLE_LANES - 1) * step)
		return false;
	for (uint32_t l = 0; n->acc->shape == ORACLE_ANYHOW && l < ORACLE_LANES; l++)
		differ |= addresses[l] ^ (addresses[0] + (uint64_t)l * step);
	return !differ && has_one_clock(n->o, t, n->warp);
}

/* The lanes from l on that access neighbouring words with the same clock. */
static uint32_t row_lanes(const struct oracle_now *now, const struct oracle_thread *t,
			  uint32_t mask, uint32_t l, const uint64_t *addresses, uint32_t bytes)
{
	uint32_t n = 1;

	if (l + n < ORACLE_LANES && addresses[l + n] != addresses[l] + bytes)
		return 1;
	if (mask == UINT32_MAX && are_alike(now, t, addresses, bytes))
		return ORACLE_LANES;
	while (l + n < ORACLE_LANES && mask >> (l + n) & 1 &&
	       addresses[l + n] == addresses[l + n - 1] + bytes && t[l + n].clock == t[l].clock &&
	       t[l + n].own == t[l].own)
		n++;
	return n;
}

/* ... and the next ones that access the same words. */
static uint32_t equal_lanes(const struct oracle_thread *t, uint32_t mask, uint32_t l,
			    const uint64_t *addresses)
{
	uint32_t n = 1;

	while (l + n < ORACLE_LANES && mask >> (l + n) & 1 && addresses[l + n] == addresses[l] &&
	       t[l + n].clock == t[l].clock && t[l + n].own == t[l].own)
		n++;
	return n;
}

/* ... that access the same words as l. */
static uint32_t same_lanes(const struct oracle_thread *t, uint32_t mask, uint32_t l,
			   const uint64_t *addresses)
{
	uint32_t same = 0;

	ORACLE_EACH (i, mask) {
		if (addresses[i] == addresses[l] && t[i].clock == t[l].clock &&
		    t[i].own == t[l].own)
			same |= 1u << i;
	}
	return same;
}

/* One lane's bytes, alone. true: nothing new. */
static bool access_lane(struct oracle_now *n, struct oracle_thread *t, uint32_t actor,
			uint64_t address)
{
	n->t = t;
	n->clock = t->clock;
	n->actor = actor;
	n->address = address;
	return access_words(n, address, address + n->bytes);
}

/* ... plain ones, of one word; `one`: the row of all such. */
static bool access_part(struct oracle_now *n, struct oracle_row *one, struct oracle_thread *t,
			uint32_t actor, uint64_t address)
{
	struct oracle_cell *c = oracle_cell_at(n->o, address, true);
	bool is_nothing_new;

	n->t = t;
	n->clock = t->clock;
	n->actor = actor;
	n->address = address;
	n->word = address & ~3ull;
	n->mask = ((1u << n->acc->bytes) - 1) << (address & 3);
	if (n->mask >> 4)
		return access_words(n, address, address + n->bytes);
	if (!oracle_cell_ext(c) && oracle_narrow_access(n, one, c))
		return false;
	is_nothing_new = oracle_word_full(n, c);
	oracle_forget_pairs(n);
	one->clock = NULL;
	return is_nothing_new;
}

/* Without the next lanes that access the same as lane l, but for the last one, which does for
 * all. */
static uint32_t without_alike(struct oracle_now *n, const struct oracle_thread *t, uint32_t mask,
			      uint32_t l, const uint64_t *addresses)
{
	uint32_t warp = n->actor - l;
	uint32_t same = oracle_alike_from(t, mask, l, addresses);

	return (mask & ~same) | oracle_last_lane(n, warp, same);
}

/* Begins to fetch what bytes here and there have been accessed by. */
static void fetch_narrow(const struct oracle_now *n, uint32_t mask, const uint64_t *addresses)
{
	const struct oracle_cell *c[ORACLE_LANES], *byte[ORACLE_LANES];
	uint32_t l = (uint32_t)__builtin_ctz(mask), end = 0;

	if (!(mask & (mask - 1)) ||
	    addresses[__builtin_ctz(mask & (mask - 1))] - addresses[l] <= n->acc->bytes)
		return;
	ORACLE_EACH (i, mask) {
		c[i] = oracle_cell_at(n->o, addresses[i], false);
		if (c[i])
			__builtin_prefetch(c[i]);
	}
	ORACLE_EACH (k, mask) {
		if (!c[k] || !oracle_cell_narrow(c[k]))
			continue;
		byte[end] = &oracle_narrow_cells(c[k])[addresses[k] & 3];
		__builtin_prefetch(byte[end++]);
	}
	for (uint32_t i = 0; i < end; i++)
		if (oracle_is_set(byte[i]->r))
			__builtin_prefetch(oracle_set_of(byte[i]->r));
}

/* Bytes or halves: words that belong to the row's lanes alone, and the bytes beside them. */
static void access_narrow(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			  uint32_t mask, const uint64_t *addresses)
{
	uint32_t bytes = n->acc->bytes, some = 4 / bytes;
	struct oracle_row one = {.nwords = 1};

	fetch_narrow(n, mask, addresses);
	while (mask) {
		uint32_t l = (uint32_t)__builtin_ctz(mask);
		uint32_t end = l + row_lanes(n, t, mask, l, addresses, bytes);
		if (end == l + 1) {
			mask &= mask - 1;
			if (access_part(n, &one, &t[l], warp + l, addresses[l]))
				mask = without_alike(n, t, mask, l, addresses);
			continue;
		}
		for (; l < end && (addresses[l] & 3); l++)
			access_part(n, &one, &t[l], warp + l, addresses[l]);
		struct oracle_row row = {.t = &t[l & 31],
					 .actor = warp + l,
					 .own = t[l & 31].own,
					 .clock = t[l & 31].clock,
					 .shift = bytes == 1 ? ORACLE_BYTES : ORACLE_HALVES,
					 .nwords = (end - l) / some,
					 .address = addresses[l & 31],
					 .start = addresses[l & 31]};
		if (row.nwords && l < end)
			oracle_row_access(n, &row);
		for (l += row.nwords * some; l < end; l++)
			access_part(n, &one, &t[l], warp + l, addresses[l]);
		mask &= end == ORACLE_LANES ? 0 : UINT32_MAX << end;
	}
}

#define FETCH_FROM 8 /* lanes */

/* The cells of the lanes' words, one for neighbours of one address; those that are there. */
static uint32_t cells_of(struct oracle *o, uint32_t mask, const uint64_t *addresses,
			 const struct oracle_cell **c)
{
	uint64_t last = UINT64_MAX;
	uint32_t n = 0;

	ORACLE_EACH (l, mask) {
		if (addresses[l] == last)
			continue;
		last = addresses[l];
		c[n] = oracle_cell_at(o, addresses[l], false);
		if (c[n])
			__builtin_prefetch(c[n++]);
	}
	return n;
}

uint32_t oracle_fetch(struct oracle *o, uint32_t mask, const uint64_t *addresses,
		      const struct oracle_ext **e)
{
	const struct oracle_cell *c[ORACLE_LANES];
	const struct oracle_readers *sets[ORACLE_LANES];
	uint32_t n = 0, nsets = 0, ncells;

	if (__builtin_popcount(mask) < FETCH_FROM)
		return 0;
	ncells = cells_of(o, mask, addresses, c);
	for (uint32_t i = 0; ncells > 1 && i < ncells; i++) {
		e[n] = oracle_cell_ext(c[i]);
		if (e[n])
			__builtin_prefetch(e[n++]);
		else if (oracle_cell_log(c[i]))
			__builtin_prefetch(oracle_cell_log(c[i]));
		if (!oracle_cell_ext(c[i]) && oracle_is_set(c[i]->r))
			__builtin_prefetch(sets[nsets++] = oracle_set_of(c[i]->r));
	}
	/* New readers come last, and are compared with the last few. */
	for (uint32_t i = 0; i < nsets; i++) {
		const struct oracle_readers *s = sets[i];
		uint32_t end = s->is_packed ? (s->n + 1) / 2 : s->n;
		__builtin_prefetch(&s->v[end]);
		__builtin_prefetch(&s->v[end > 4 ? end - 4 : 0]);
		if (!s->is_packed)
			__builtin_prefetch(&s->v[end > 8 ? end - 8 : 0]);
	}
	return n;
}

/* Lanes that access words here and there. */
static void fetch_scattered(const struct oracle_now *n, uint32_t mask, const uint64_t *addresses)
{
	const struct oracle_ext *e[ORACLE_LANES];
	uint32_t l = (uint32_t)__builtin_ctz(mask), others = mask & (mask - 1), k, count;

	if (!others)
		return;
	k = (uint32_t)__builtin_ctz(others);
	if (addresses[l] == addresses[k] || addresses[l] + n->acc->bytes == addresses[k])
		return;
	count = oracle_fetch(n->o, mask, addresses, e);
	for (uint32_t i = 0; i < count; i++)
		oracle_fetch_lists(e[i]);
}

/* The lanes that may access the word of another one, by a hash of the addresses. */
static uint32_t twins_of(uint32_t mask, const uint64_t *addresses)
{
	uint8_t first[256] = {0}; /* lane + 1 */
	uint32_t twins = 0;

	ORACLE_EACH (l, mask) {
		/* Addresses may differ in any of their bits, in high ones only, too. */
		uint8_t *at = &first[(addresses[l] >> 2) * 0x9e3779b97f4a7c15u >> 56];
		if (*at)
			twins |= 1u << l | 1u << (*at - 1);
		else
			*at = (uint8_t)(l + 1);
	}
	return twins;
}

/* The first lanes of `mask` that are done alone, each without a twin. */
static uint32_t access_singles(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			       uint32_t mask, uint32_t twins, const uint64_t *addresses)
{
	uint32_t l = (uint32_t)__builtin_ctz(mask);
	struct oracle_row row = {
		.t = t,
		.actor = warp,
		.own = t[l].own,
		.clock = t[l].clock,
		.shift = (uint32_t)__builtin_ctz(n->acc->bytes / 4),
		.nwords = n->acc->bytes / 4,
	};

	twins &= mask;
	if (twins)
		mask &= (twins & -twins) - 1;
	return oracle_lanes_access(n, &row, mask, addresses);
}

/* The lanes of `lanes`, whose first one is l, read the same words. */
static void read_same(struct oracle_now *n, struct oracle_thread *t, uint32_t warp, uint32_t lanes,
		      uint32_t l, uint64_t address)
{
	struct oracle_row row = {.t = t,
				 .actor = warp,
				 .own = t[l].own,
				 .clock = t[l].clock,
				 .shift = (uint32_t)__builtin_ctz(n->acc->bytes / 4),
				 .nwords = n->acc->bytes / 4,
				 .address = address,
				 .start = address,
				 .lanes = lanes,
				 .is_mask = true};

	oracle_row_access(n, &row);
}

static void access_rows(struct oracle_now *n, struct oracle_thread *t, uint32_t warp, uint32_t mask,
			const uint64_t *addresses)
{
	uint32_t bytes = n->acc->bytes, words = bytes / 4;
	uint32_t twins = 0;
	bool has_twins = false, is_read = n->acc->kind == RACE_OP_READ;

	if (is_read && mask == UINT32_MAX && are_alike(n, t, addresses, 0)) {
		read_same(n, t, warp, mask, 0, addresses[0]);
		return;
	}
	fetch_scattered(n, mask, addresses);
	while (mask) {
		uint32_t l = (uint32_t)__builtin_ctz(mask), same, lanes, took;

		if (is_read && !has_twins && (same = equal_lanes(t, mask, l, addresses)) > 1) {
			took = (same == ORACLE_LANES ? UINT32_MAX : (1u << same) - 1) << l;
			read_same(n, t, warp, took, l, addresses[l]);
			mask &= ~took;
			continue;
		}
		lanes = row_lanes(n, t, mask, l, addresses, bytes);
		struct oracle_row row = {.t = &t[l],
					 .actor = warp + l,
					 .own = t[l].own,
					 .clock = t[l].clock,
					 .shift = (uint32_t)__builtin_ctz(words),
					 .nwords = lanes * words,
					 .address = addresses[l],
					 .start = addresses[l]};

		took = (lanes == ORACLE_LANES ? UINT32_MAX : (1u << lanes) - 1) << l;
		if (lanes == 1 && is_read && mask != took && !has_twins) {
			twins = twins_of(mask, addresses);
			has_twins = true;
		}
		if (lanes == 1 && !(twins & took)) {
			uint32_t done = access_singles(n, t, warp, mask, twins, addresses);
			mask &= ~done;
			if (done)
				continue;
		}
		if (lanes == 1 && twins & took) {
			took = same_lanes(t, mask, l, addresses);
			if (took & (took - 1)) {
				row.is_mask = true;
				row.lanes = took;
				row.actor = warp;
				row.t = t;
			}
		}
		oracle_row_access(n, &row);
		mask &= ~took;
	}
}

void oracle_shadow_warp(struct oracle *o, struct oracle_thread *t, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses)
{
	uint64_t all = acc->bytes == 4 || acc->bytes == 8 || acc->bytes == 16 ? 0 : 3;
	struct oracle_now n;

	oracle_now_begin(&n, o, acc);
	n.warp = warp;
	if ((acc->bytes == 1 || acc->bytes == 2) && oracle_is_plain(&n)) {
		access_narrow(&n, t, warp, mask, addresses);
		return;
	}
	if (acc->shape != ORACLE_ANYHOW)
		all |= addresses[0];
	else if (mask == UINT32_MAX)
		for (uint32_t i = 0; i < ORACLE_LANES; i++)
			all |= addresses[i];
	else
		ORACLE_EACH (k, mask)
			all |= addresses[k];
	if (!(all & 3) && oracle_is_plain(&n)) {
		access_rows(&n, t, warp, mask, addresses);
		return;
	}
	ORACLE_EACH (l, mask) {
		access_lane(&n, &t[l], warp + l, addresses[l]);
	}
}
