/*
 * log_compact.c - logs (form_log.c) are made shorter: of each thread the last access is enough.
 *
 * Done each time a log has doubled. If no thread is there twice, which a look at the runs mostly
 * says, nothing is to be done. Costs: a bit for each actor from the least to the greatest; else 12
 * bytes an entry and a table of the threads.
 */
#include "oracle/shadow/last.h"
#include "oracle/shadow/log.h"

struct entry {
	uint32_t actor;
	uint16_t epoch, site;
	bool is_read, is_gone;
};

/*
 * Does y, later and by the same actor in the same epoch, represent x? What is ordered after y is
 * ordered after x, and a thread that knows y's epoch has observed what x has.
 */
static bool stands_for(const struct oracle *o, const struct entry *y, const struct entry *x)
{
	const struct oracle_site *s = oracle_site_at(o, x->site), *t = oracle_site_at(o, y->site);

	if (x->actor != y->actor || x->epoch != y->epoch || x->is_read != y->is_read)
		return false;
	return s->a.scope == t->a.scope &&
	       (oracle_log_is_red(o, x->site) || !oracle_log_is_red(o, y->site));
}

/* Bits of actors, from `low` on. */
struct actors {
	uint64_t *bits;
	uint32_t low;
};

/* Adds `n` actors; is one of them there already? */
static bool add_actors(struct actors *a, uint32_t first, uint32_t n)
{
	bool is_there = false;

	for (uint32_t at = first - a->low, end = at + n, next; at < end; at = next) {
		next = (at | 63) + 1 < end ? (at | 63) + 1 : end;
		uint64_t bits = (next - at == 64 ? UINT64_MAX : (1ull << (next - at)) - 1)
				<< (at & 63);
		is_there |= (a->bits[at / 64] & bits) != 0;
		a->bits[at / 64] |= bits;
	}
	return is_there;
}

#define SPAN_MAX 64u /* actors for each number of the log */

/* Is no thread twice among the log's reads, nor among its writes? Mostly each is there once, and
 * neighbours are one run: then this is a look at the runs. */
static bool are_all_once(const struct oracle *o, const struct oracle_log *l)
{
	uint32_t span = l->high - l->low + 1;
	struct actors seen[2];
	bool is_again = false;

	if (span / SPAN_MAX > l->n)
		return false;
	for (unsigned k = 0; k < 2; k++)
		seen[k] = (struct actors){base_calloc(span / 64 + 1, sizeof(uint64_t)), l->low};
	for (const uint16_t *run = l->v, *end = l->v + l->n; run < end && !is_again;
	     run += oracle_log_units(run)) {
		struct actors *a = &seen[oracle_log_is_read(o, run[ORACLE_RUN_SITE])];
		uint32_t high = (uint32_t)run[ORACLE_RUN_ACTOR] << 16;
		uint32_t count = run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX;
		if (run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS)
			is_again = add_actors(a, high | run[ORACLE_RUN_UNITS], count);
		for (uint32_t i = 0; !(run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS) && i < count;
		     i++)
			is_again |= add_actors(a, high | run[ORACLE_RUN_UNITS + i], 1);
	}
	for (unsigned k = 0; k < 2; k++)
		free(seen[k].bits);
	return !is_again;
}

/* The size at which it is compacted again. */
static void compact_later(struct oracle_log *l)
{
	while (l->n * 2 > 1u << l->compact_at)
		l->compact_at++;
}

void oracle_log_compact(struct oracle *o, struct oracle_cell *c)
{
	struct oracle_log *l = oracle_log_of(c);
	struct entry *v = NULL;
	struct oracle_lasts last;
	uint32_t n = 0, cap = 0;

	if (are_all_once(o, l)) {
		compact_later(l);
		return;
	}
	for (struct oracle_log_walk w = oracle_log_from(l); oracle_log_next(&w); n++) {
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			v = base_realloc(v, cap * sizeof(*v));
		}
		v[n] = (struct entry){.actor = w.actor,
				      .epoch = (uint16_t)w.epoch,
				      .site = (uint16_t)w.site,
				      .is_read = oracle_log_is_read(o, w.site)};
	}
	/* A thread's epochs never fall: its next access of the kind is the one to compare with. */
	last = oracle_lasts_new(n);
	for (uint32_t i = n; i-- > 0;) {
		uint32_t *next = oracle_last_of(&last, v[i].actor, v[i].is_read);
		v[i].is_gone = *next != UINT32_MAX && stands_for(o, &v[*next], &v[i]);
		*next = i;
	}
	free(last.v);

	struct oracle_cell made = {0};
	made.w = (uintptr_t)oracle_log_new(o, l->before, l->device);
	oracle_log_of(&made)->has_write = l->has_write;
	oracle_log_of(&made)->is_own = l->is_own;
	for (uint32_t i = 0; i < n; i++)
		if (!v[i].is_gone)
			oracle_log_push(o, &made, v[i].actor, v[i].epoch, v[i].site);
	free(v);
	uint8_t at = l->compact_at;
	oracle_log_free(o, c);
	c->w = made.w;
	oracle_log_of(c)->compact_at = at;
	compact_later(oracle_log_of(c));
}
