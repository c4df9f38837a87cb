/*
 * gone.c - which of the accesses that were forgotten after many races (spent.c) are missed.
 *
 * Such an access is missed if a later one, that isn't ordered after it, may race with it in a pair
 * of lines of which no race has been found. A flag that all threads of a block set to the same
 * value is set a thousand times, and nothing is missed if all pass a barrier before it is read. So
 * a word's forgotten accesses of one line are kept as one sum: the actors from the first to the
 * last of them, and the latest of their epochs. Each later access asks whether its clock knows all
 * of that; a sum that it doesn't know counts as missed, all of it.
 *
 * Misses nothing: actors between the first and the last are asked about, too, and where there is no
 * room for a sum it counts at once.
 * Costs: nothing while nothing was forgotten; then a look at a filter for each word accessed.
 */
#include "oracle/shadow.h"

#define MAX_WORDS  65536u
#define MAX_ACTORS 65536u /* from the first to the last */

/* Of one family of lines; a word's are a list. */
struct oracle_gone_sum {
	struct oracle_gone_sum *next;
	uint32_t site, first, last, epoch;
	uint64_t count;
	struct oracle_clock *known_to; /* knows all of them; or NULL */
	uint8_t bytes;
};

struct oracle_gone {
	uint64_t word;
	struct oracle_gone_sum *sums;
	UT_hash_handle hh;
};

/* The bytes of a word that are from `from` on and below `end`. */
static uint32_t bytes_in(uint64_t word, uint64_t from, uint64_t end)
{
	uint32_t mask = ORACLE_PLAIN_BYTES;

	if (word < from)
		mask &= ORACLE_PLAIN_BYTES << (from - word);
	if (end - word < 4)
		mask &= (1u << (end - word)) - 1;
	return mask;
}

/* Neighbours lie side by side; which kilobytes do is a hash. */
static uint32_t filter_at(uint64_t word)
{
	uint32_t page = (uint32_t)((word >> 12) * 0x9e3779b97f4a7c15u >> 56);

	return page << 10 | (word >> 2 & 1023);
}

static bool may_be_gone(const struct oracle *o, uint64_t word)
{
	return o->gone && o->gone_filter[filter_at(word) / 64] >> filter_at(word) % 64 & 1;
}

#define BITS_LEFT 256u /* so few bits of words that are gone from the table don't matter */

static void filter_add(struct oracle *o, uint64_t word)
{
	if (!o->gone && o->ngone_bits > BITS_LEFT) {
		memset(o->gone_filter, 0, sizeof(o->gone_filter));
		o->ngone_bits = 0;
	}
	o->ngone_bits += !(o->gone_filter[filter_at(word) / 64] >> filter_at(word) % 64 & 1);
	o->gone_filter[filter_at(word) / 64] |= 1ull << filter_at(word) % 64;
}

static struct oracle_gone **near_at(struct oracle *o, uint64_t word)
{
	return &o->gone_near[(word >> 2) % ORACLE_GONE_NEAR];
}

static void sum_free(struct oracle *o, struct oracle_gone_sum *s)
{
	oracle_clock_unref(&o->pool, s->known_to);
	free(s);
}

static void gone_free(struct oracle *o, struct oracle_gone *g)
{
	struct oracle_gone_sum *s, *next;

	for (s = g->sums; s; s = next) {
		next = s->next;
		sum_free(o, s);
	}
	HASH_DEL(o->gone, g);
	if (*near_at(o, g->word) == g)
		*near_at(o, g->word) = NULL;
	free(g);
}

static struct oracle_gone *gone_at(struct oracle *o, uint64_t word, bool may_make)
{
	struct oracle_gone **near = near_at(o, word), *g = *near;

	if (g && g->word == word)
		return g;
	HASH_FIND(hh, o->gone, &word, sizeof(word), g);
	if (g)
		*near = g;
	if (g || !may_make || HASH_COUNT(o->gone) >= MAX_WORDS)
		return g;
	filter_add(o, word);
	g = base_calloc(1, sizeof(*g));
	g->word = word;
	HASH_ADD(hh, o->gone, word, sizeof(g->word), g);
	return g;
}

static struct oracle_gone_sum *sum_of(struct oracle *o, struct oracle_gone *g, uint32_t site)
{
	for (struct oracle_gone_sum *s = g->sums; s; s = s->next)
		if (o->families.v[s->site] == o->families.v[site])
			return s;
	struct oracle_gone_sum *s = base_calloc(1, sizeof(*s));
	s->next = g->sums;
	s->site = site;
	s->first = UINT32_MAX;
	g->sums = s;
	return s;
}

void oracle_gone_add(struct oracle *o, uint64_t word, uint32_t bytes, uint32_t site,
		     struct oracle_actors a)
{
	const struct oracle_site *x = oracle_site_at(o, site);
	uint32_t last = a.first + 31u - (uint32_t)__builtin_clz(a.mask);
	uint32_t first = a.first + (uint32_t)__builtin_ctz(a.mask);
	struct oracle_gone *g = NULL;

	if (x->a.proxy == RACE_PROXY_GENERIC && !(x->a.flags & ORACLE_NC))
		g = gone_at(o, word, true);
	if (!g) {
		o->stats.missed += (unsigned)__builtin_popcount(a.mask);
		return;
	}
	struct oracle_gone_sum *s = sum_of(o, g, site);
	s->first = first < s->first ? first : s->first;
	s->last = last > s->last ? last : s->last;
	s->epoch = a.epoch > s->epoch ? a.epoch : s->epoch;
	s->bytes |= (uint8_t)bytes;
	s->count += (unsigned)__builtin_popcount(a.mask);
	oracle_clock_unref(&o->pool, s->known_to);
	s->known_to = NULL;
}

void oracle_gone_others(const struct oracle_now *n, const struct oracle_list *l,
			const struct oracle_rec *kept)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (&l->v[i] != kept)
			oracle_gone_rec(n, &l->v[i]);
}

void oracle_gone_lanes(const struct oracle_now *n, uint32_t warp, uint32_t lanes)
{
	struct oracle_actors a = {warp, lanes, n->t->own};
	uint64_t end = n->address + n->bytes;

	for (uint64_t w = n->address & ~3ull; w < end; w += 4)
		oracle_gone_add(n->o, w, bytes_in(w, n->address, end), n->site, a);
}

/* ---- later accesses ------------------------------------------------------------------------ */

struct later {
	struct oracle *o;
	const struct oracle_clock *clock;
	uint32_t actor, site;
	const struct oracle_acc *acc;
	bool is_plain;
};

static bool knows(const struct later *x, struct oracle_gone_sum *s)
{
	bool is_own = false;

	if (s->known_to == x->clock)
		return true;
	if (s->last - s->first > MAX_ACTORS)
		return false;
	for (uint32_t a = s->first & ~31u; a <= s->last; a += 32) {
		uint32_t value;
		const uint32_t *leaf = oracle_tree_leaf(x->clock->root[ORACLE_HB], a, &value);
		for (uint32_t l = 0; l < ORACLE_LANES; l++) {
			bool is_in = a + l >= s->first && a + l <= s->last;
			if (!is_in || (leaf ? leaf[l] : value) >= s->epoch)
				continue;
			if (a + l != x->actor)
				return false;
			is_own = true;
		}
	}
	if (!is_own) {
		oracle_clock_unref(&x->o->pool, s->known_to);
		s->known_to = oracle_clock_ref((struct oracle_clock *)(uintptr_t)x->clock);
	}
	return true;
}

/* Equal values, too: what is forgotten was compared with those that are kept. */
static bool is_pair_found(const struct later *x, const struct oracle_gone_sum *s)
{
	const struct oracle_site *y = oracle_site_at(x->o, s->site);
	bool is_weak = y->a.strength == RACE_WEAK || x->acc->strength == RACE_WEAK;
	enum oracle_kind kind = is_weak ? ORACLE_RACE : ORACLE_RACE_SCOPE;

	return oracle_repeat_of(x->o, s->site, x->site, kind) ||
	       oracle_is_found(x->o, kind, y->a.inst, x->acc->inst);
}

/* May the sum go? It does where it is missed, or where this write, which comes after all of it,
 * does for it from now on. */
static bool is_over(const struct later *x, struct oracle_gone_sum *s, uint32_t bytes)
{
	if (!(s->bytes & bytes) ||
	    !race_kinds_conflict(oracle_site_at(x->o, s->site)->a.kind, x->acc->kind) ||
	    is_pair_found(x, s))
		return false;
	if (x->acc->proxy == RACE_PROXY_GENERIC && !(x->acc->flags & ORACLE_NC) && knows(x, s))
		return x->is_plain && x->acc->kind == RACE_OP_WRITE && !(s->bytes & ~bytes);
	x->o->stats.missed += s->count;
	return true;
}

static void look_at_word(const struct later *x, uint64_t word, uint32_t bytes)
{
	struct oracle_gone *g = gone_at(x->o, word, false);
	struct oracle_gone_sum *s;

	for (struct oracle_gone_sum **at = g ? &g->sums : NULL; at && (s = *at);) {
		if (!is_over(x, s, bytes)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		sum_free(x->o, s);
	}
	if (g && !g->sums)
		gone_free(x->o, g);
}

static void look(const struct later *x, uint64_t from, uint64_t bytes)
{
	uint64_t end = from + bytes;
	struct oracle_gone *g, *tmp;

	if (bytes / 4 > HASH_COUNT(x->o->gone)) {
		HASH_ITER(hh, x->o->gone, g, tmp)
		{
			if (g->word + 4 > from && g->word < end)
				look_at_word(x, g->word, bytes_in(g->word, from, end));
		}
		return;
	}
	for (uint64_t w = from & ~3ull; w < end; w += 4)
		if (may_be_gone(x->o, w))
			look_at_word(x, w, bytes_in(w, from, end));
}

void oracle_gone_look(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
		      const struct oracle_acc *acc, uint64_t address, uint64_t bytes)
{
	struct later x = {.o = o,
			  .clock = t->clock,
			  .actor = actor,
			  .site = oracle_site(o, acc, 0),
			  .acc = acc,
			  .is_plain = acc->strength == RACE_WEAK && !oracle_is_pseudo(o, actor)};

	if (x.clock)
		look(&x, address, bytes);
}

void oracle_gone_look_warp(struct oracle *o, const struct oracle_thread *t, uint32_t warp,
			   uint32_t mask, const struct oracle_acc *acc, const uint64_t *addresses)
{
	struct later x = {.o = o,
			  .site = oracle_site(o, acc, 0),
			  .acc = acc,
			  .is_plain = acc->strength == RACE_WEAK};

	ORACLE_EACH (l, mask) {
		uint64_t word = addresses[l] & ~3ull;
		/* Most accesses are of a word, and of no word that was forgotten. */
		if (!t[l].clock || (addresses[l] + acc->bytes <= word + 4 && !may_be_gone(o, word)))
			continue;
		x.clock = t[l].clock;
		x.actor = warp + l;
		look(&x, addresses[l], acc->bytes);
	}
}

/* ---- the end of memory --------------------------------------------------------------------- */

void oracle_gone_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	struct oracle_gone *g, *tmp;

	if (bytes / 4 > HASH_COUNT(o->gone)) {
		HASH_ITER(hh, o->gone, g, tmp)
		{
			if (g->word >= (address & ~3ull) && g->word - address < bytes)
				gone_free(o, g);
		}
		return;
	}
	for (uint64_t w = address & ~3ull; w < address + bytes; w += 4)
		if (may_be_gone(o, w) && (g = gone_at(o, w, false)))
			gone_free(o, g);
}

void oracle_gone_free(struct oracle *o)
{
	struct oracle_gone *g, *tmp;

	HASH_ITER(hh, o->gone, g, tmp)
	{
		gone_free(o, g);
	}
}
