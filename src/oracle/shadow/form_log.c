/*
 * form_log.c - words that many threads access by relaxed atomics: the threads in the order of their
 * accesses.
 *
 * A word's strong accesses that are all morally strong with each other (32 bits, scope gpu or
 * wider, one device, generic proxy) and pass on nothing but what they observe (relaxed, no fence
 * before) form a log: chains, positions and observers (write.c) follow from the order. Plain
 * accesses after all of it stay plain: reads beside it, a write in its place. Anything else expands
 * the log to the records that it represents (word.c).
 *
 * The log is an array of 16-bit numbers, in runs of one site and epoch: 8 bytes a run, 2 a thread,
 * or 2 for a sequence of neighbouring threads. Of one thread's accesses in one epoch the last is
 * enough; the log is compacted accordingly each time it has doubled.
 */
#include "oracle/shadow/log.h"

/* ---- memory ---------------------------------------------------------------------------------- */

#define HEAD (offsetof(struct oracle_log, v) / 2)

/* The capacity for n numbers: full pieces of memory, at most a quarter more. */
static uint32_t room_for(uint32_t n)
{
	const uint32_t head = (uint32_t)HEAD + 4 /* malloc's */;
	uint32_t step = n < 64 ? 8 : 1u << (29 - __builtin_clz(n));

	return ((n + head + step - 1) & ~(step - 1)) - head;
}

static size_t bytes_for(uint32_t n)
{
	return (HEAD + room_for(n)) * 2;
}

struct oracle_log *oracle_log_new(struct oracle *o, uint64_t before, uint32_t device)
{
	struct oracle_log *l = oracle_mem_new(o, bytes_for(ORACLE_RUN_UNITS + 1));

	l->before = before;
	l->device = (uint8_t)device;
	l->known_at = (uint8_t)(o->nlogs++ % ORACLE_KNOWN_LOGS);
	l->compact_at = o->opt.is_tiny ? 3 : 6;
	l->low = UINT32_MAX;
	return l;
}

/* By number: which clocks live on, and so the memory that is used, must not depend on addresses. */
static struct oracle_known_log *known_log(struct oracle *o, const struct oracle_log *l)
{
	return &o->known_logs[l->known_at];
}

/* Forgets what is known about a log that is being freed. */
static void unknow(struct oracle *o, const struct oracle_log *l)
{
	struct oracle_known_log *k = known_log(o, l);

	if (k->log == l)
		k->log = NULL;
}

void oracle_log_free(struct oracle *o, struct oracle_cell *c)
{
	struct oracle_log *l = oracle_log_of(c);

	unknow(o, l);
	if (l->seen)
		oracle_mem_free(o, l->seen, sizeof(*l->seen));
	oracle_mem_free(o, l, bytes_for(l->n < ORACLE_RUN_UNITS + 1 ? ORACLE_RUN_UNITS + 1 : l->n));
	c->w = 0;
}

/* Room for `more` numbers. */
static struct oracle_log *log_grow(struct oracle *o, struct oracle_cell *c, uint32_t more)
{
	struct oracle_log *l = oracle_log_of(c);
	size_t from = bytes_for(l->n < ORACLE_RUN_UNITS + 1 ? ORACLE_RUN_UNITS + 1 : l->n);
	size_t to =
		bytes_for(l->n + more < ORACLE_RUN_UNITS + 1 ? ORACLE_RUN_UNITS + 1 : l->n + more);

	if (from != to) {
		unknow(o, l);
		l = oracle_mem_resize(o, l, from, to);
	}
	c->w = (uintptr_t)l;
	return l;
}

/* ---- entries --------------------------------------------------------------------------------- */

void oracle_log_push(struct oracle *o, struct oracle_cell *c, uint32_t actor, uint32_t epoch,
		     uint32_t site)
{
	struct oracle_log *l = oracle_log_of(c);
	uint16_t *run = l->v + l->last, low = (uint16_t)actor;

	l->low = actor < l->low ? actor : l->low;
	l->high = actor > l->high ? actor : l->high;
	if (l->n && run[ORACLE_RUN_ACTOR] == actor >> 16 && run[ORACLE_RUN_EPOCH] == epoch &&
	    run[ORACLE_RUN_SITE] == site &&
	    (run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX) < ORACLE_RUN_MAX) {
		uint32_t count = run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX;
		bool is_one = count == 1 || run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS;
		if (is_one && run[ORACLE_RUN_UNITS] + count == low) {
			run[ORACLE_RUN_COUNT] = (uint16_t)(ORACLE_RUN_NEIGHBOURS | (count + 1));
			return;
		}
		if (!(run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS)) {
			l = log_grow(o, c, 1);
			l->v[l->last + ORACLE_RUN_COUNT]++;
			l->v[l->n++] = low;
			return;
		}
	}
	l = log_grow(o, c, ORACLE_RUN_UNITS + 1);
	l->last = l->n;
	run = l->v + l->n;
	run[ORACLE_RUN_ACTOR] = (uint16_t)(actor >> 16);
	run[ORACLE_RUN_EPOCH] = (uint16_t)epoch;
	run[ORACLE_RUN_SITE] = (uint16_t)site;
	run[ORACLE_RUN_COUNT] = 1;
	run[ORACLE_RUN_UNITS] = low;
	l->n += ORACLE_RUN_UNITS + 1;
}

/* ---- is all of it before an access? ---------------------------------------------------------- */

#define REMEMBER_FROM 64u /* entries, or numbers; a shorter log is searched each time */

static void remember(struct oracle *o, const struct oracle_log *l, struct oracle_clock *clock,
		     bool is_write)
{
	struct oracle_known_log *k = known_log(o, l);

	oracle_clock_unref(&o->pool, k->clock);
	k->log = l;
	k->n = l->n;
	k->count = l->v[l->last + ORACLE_RUN_COUNT];
	k->is_write = is_write;
	k->clock = oracle_clock_ref(clock);
}

static bool is_remembered(struct oracle *o, const struct oracle_log *l,
			  const struct oracle_clock *clock, bool is_write)
{
	const struct oracle_known_log *k = known_log(o, l);

	return k->log == l && k->clock == clock && k->n == l->n && k->is_write >= is_write &&
	       k->count == l->v[l->last + ORACLE_RUN_COUNT];
}

void oracle_known_logs_free(struct oracle *o)
{
	for (uint32_t i = 0; i < ORACLE_KNOWN_LOGS; i++)
		oracle_clock_unref(&o->pool, o->known_logs[i].clock);
	memset(o->known_logs, 0, sizeof(o->known_logs));
}

/* Is the row's access after the one of `by`? */
static bool is_after(struct oracle_now *n, const struct oracle_log_seen_by *by)
{
	return by->epoch && oracle_row_knows(n, by->actor, by->epoch);
}

/* The entries that the row has to be compared with: those not seen by a thread that it is after.
 * (Its own thread's reading doesn't help, unless it has passed a barrier since.) */
static struct oracle_log_walk walk_unseen(struct oracle_now *n, const struct oracle_log *l)
{
	struct oracle_log_walk w = oracle_log_from(l);
	const struct oracle_log_seen_by *by;

	if (!l->seen)
		return w;
	if (is_after(n, &l->seen->last))
		l->seen->before = l->seen->last;
	else if (!is_after(n, &l->seen->before))
		return w;
	by = &l->seen->before;
	w.run += by->run;
	w.epoch = w.run[ORACLE_RUN_EPOCH];
	w.site = w.run[ORACLE_RUN_SITE];
	w.count = w.run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX;
	w.i = by->done - 1; /* walk_next goes on after it */
	return w;
}

/* The row's access is after all writes of the log. */
static void see(struct oracle_now *n, const struct oracle_row *row, uint32_t word,
		struct oracle_log *l)
{
	uint32_t actor = row->is_mask ? row->actor + (uint32_t)__builtin_ctz(row->lanes)
				      : oracle_row_actor(row, word);

	if (n->is_pseudo || oracle_misc_of(n->o, actor))
		return;
	if (!l->seen)
		l->seen = oracle_mem_new(n->o, sizeof(*l->seen));
	l->seen->last = (struct oracle_log_seen_by){.actor = actor,
						    .epoch = row->own,
						    .run = l->last,
						    .done = l->v[l->last + ORACLE_RUN_COUNT] &
							    ORACLE_RUN_MAX};
}

/* May one of the log's accesses be of the access's own grid? With that a read-only load races. */
static bool may_be_own_grid(const struct oracle_now *n, const struct oracle_log *l)
{
	const struct oracle_group *g = oracle_group_of(n->o, n->actor);

	return !g || !g->is_grid || (l->low < g->first + g->n && l->high >= g->first);
}

bool oracle_log_is_before(struct oracle_now *n, const struct oracle_row *row,
			  const struct oracle_cell *c, uint32_t word)
{
	struct oracle_log *l = oracle_log_of(c);
	bool is_write = n->acc->kind & RACE_OP_WRITE, is_simple = true;
	uint32_t site = ORACLE_NO_SITE, warp = ORACLE_NO_WARP, epoch = 0; /* known as a whole */
	bool is_skipped = false;
	uint32_t looked = 0;

	if (n->acc->flags & ORACLE_NC && may_be_own_grid(n, l))
		return false;
	if (l->before && !oracle_row_is_after(n, row, l->before, word))
		return false;
	if (is_remembered(n->o, l, n->clock, is_write))
		return true;
	for (struct oracle_log_walk w = is_write ? oracle_log_from(l) : walk_unseen(n, l);
	     oracle_log_next(&w);) {
		looked++;
		n->o->stats.looked++;
		if (w.site != site)
			is_skipped = !is_write && oracle_log_is_read(n->o, w.site);
		site = w.site;
		if (is_skipped || (w.actor >> 5 == warp && w.epoch <= epoch))
			continue;
		if (!oracle_row_others(row, word, w.actor & ~31u, 1u << (w.actor & 31)))
			is_simple = false;
		else if (!oracle_row_knows(n, w.actor, w.epoch))
			return false;
		else if (!n->leaf) {
			warp = w.actor >> 5;
			epoch = n->leaf_value;
		}
	}
	if (looked < REMEMBER_FROM && l->n < REMEMBER_FROM)
		return true;
	if (is_simple)
		remember(n->o, l, (struct oracle_clock *)(uintptr_t)row->clock, is_write);
	if (!is_write)
		see(n, row, word, l);
	return true;
}

/* ---- an access ------------------------------------------------------------------------------- */

/* Is it one that a log can hold, of a thread without fences (oracle_is_simple_thread)? */
static bool is_loggable(const struct oracle_acc *acc, uint64_t address)
{
	return acc->strength == RACE_RELAXED && acc->bytes == 4 && !(address & 3) &&
	       acc->proxy == RACE_PROXY_GENERIC && acc->scope >= RACE_SCOPE_GPU && !acc->id &&
	       acc->kind != RACE_OP_WRITE &&
	       !(acc->flags & ~(ORACLE_RED | ORACLE_SHARED | ORACLE_VOLATILE));
}

static bool is_log(const struct oracle_cell *c)
{
	return oracle_cell_log(c) != NULL;
}

/* Is the access after the word's weak ones: `before`, a write, and its reads, if that counts? */
static bool is_after_weak(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			  const struct oracle_acc *acc, uint64_t address, uint64_t before,
			  uint64_t reads)
{
	struct oracle_row row = {.t = t,
				 .actor = actor,
				 .own = t->own,
				 .clock = t->clock,
				 .shift = ORACLE_ONE_ACTOR,
				 .nwords = 1,
				 .address = address,
				 .start = address};
	struct oracle_now n = {.o = o,
			       .t = t,
			       .clock = t->clock,
			       .actor = actor,
			       .acc = acc,
			       .leaf_clock = t->clock,
			       .leaf_warp = ORACLE_NO_WARP};
	uint32_t word = oracle_word_number(address);

	if (before && !oracle_row_is_after(&n, &row, before, word))
		return false;
	return acc->kind == RACE_OP_READ || oracle_row_is_after_reads(&n, &row, reads, word);
}

/* ... in the usual case, at once: a single thread's write, and no reads? */
static bool is_after_one(const struct oracle_thread *t, uint32_t actor, uint64_t before,
			 uint64_t reads)
{
	uint32_t by = oracle_packed_actor(before);

	return !reads &&
	       (!before || (!oracle_is_of_lanes(before) &&
			    (by == actor || oracle_tree_get(t->clock->root[ORACLE_HB], by) >=
						    oracle_packed_epoch(before))));
}

/* Is the write of just the word? One of more isn't what an atomic operation of it reads. */
static bool is_of_word(const struct oracle *o, uint64_t before)
{
	return oracle_site_at(o, oracle_packed_site(before))->a.bytes == 4;
}

/* What an access shares with others, or has been looked up. */
struct place {
	struct oracle_cell *c;
	uint64_t address;
	uint32_t site, device;
};

/* The access is one that a log can hold (is_loggable). */
static bool log_cell(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		     const struct oracle_acc *acc, const struct place *at)
{
	struct oracle_cell *c = at->c;
	uint64_t before;

	if (oracle_cell_ext(c) || oracle_cell_strip(c) || oracle_cell_tile(c) ||
	    oracle_cell_narrow(c) || !oracle_can_pack(t->own, at->site) || at->device > UINT8_MAX)
		return false;
	if (is_log(c) &&
	    (oracle_log_of(c)->device != at->device || oracle_log_of(c)->n >= o->opt.max_records))
		return false;
	before = is_log(c) ? oracle_log_of(c)->before : c->w;
	if (!is_after_one(t, actor, before, c->r) &&
	    !is_after_weak(o, t, actor, acc, at->address, before, c->r))
		return false;
	o->words += !(c->w | c->r);
	if (!is_log(c))
		c->w = (uintptr_t)oracle_log_new(o, before, at->device);
	if (acc->kind != RACE_OP_READ && !oracle_log_of(c)->has_write) {
		oracle_log_of(c)->has_write = true;
		oracle_log_of(c)->is_own = before && !oracle_is_of_lanes(before) &&
					   oracle_packed_actor(before) == actor &&
					   is_of_word(o, before);
	}
	oracle_log_push(o, c, actor, t->own, at->site);
	if (oracle_log_of(c)->n >= 1u << oracle_log_of(c)->compact_at)
		oracle_log_compact(o, c);
	return true;
}

bool oracle_log_access(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		       const struct oracle_acc *acc, uint64_t address)
{
	if (!is_loggable(acc, address) || !oracle_is_simple_thread(o, t) ||
	    oracle_misc_of(o, actor))
		return false;
	struct place at = {oracle_cell_at(o, address, true), address, oracle_site(o, acc, 0),
			   oracle_device(o, actor)};
	return log_cell(o, t, actor, acc, &at);
}

/* After lane l of the warp those next to it that access the same word with the same clock: they
 * continue its run, if nothing else could come of them. Returns how many. */
static uint32_t log_next(struct oracle *o, struct oracle_cell *c, const struct oracle_thread *t,
			 uint32_t warp, uint32_t mask, uint32_t l, const uint64_t *addresses)
{
	struct oracle_log *g = oracle_log_of(c);
	uint16_t *run = g->v + g->last;
	uint32_t count = run[ORACLE_RUN_COUNT] & ORACLE_RUN_MAX, n = 0;
	bool is_one = count == 1 || run[ORACLE_RUN_COUNT] & ORACLE_RUN_NEIGHBOURS;

	/* Each is after what was there before, as lane l was. */
	if (!is_one || c->r || g->n >= o->opt.max_records || run[ORACLE_RUN_EPOCH] != t[l].own ||
	    (uint16_t)(run[ORACLE_RUN_UNITS] + count - 1) != (uint16_t)(warp + l) ||
	    count + ORACLE_LANES > ORACLE_RUN_MAX)
		return 0;
	while (l + n + 1 < ORACLE_LANES && mask >> (l + n + 1) & 1 &&
	       addresses[l + n + 1] == addresses[l] && t[l + n + 1].clock == t[l].clock &&
	       t[l + n + 1].own == t[l].own && oracle_is_simple_thread(o, &t[l + n + 1]) &&
	       is_after_one(&t[l + n + 1], warp + l + n + 1, g->before, 0))
		n++;
	if (n) {
		run[ORACLE_RUN_COUNT] = (uint16_t)(ORACLE_RUN_NEIGHBOURS | (count + n));
		g->high = warp + l + n > g->high ? warp + l + n : g->high;
	}
	return n;
}

uint32_t oracle_log_lanes(struct oracle_now *n, struct oracle_thread *t, uint32_t warp,
			  uint32_t mask, const uint64_t *addresses, struct oracle_cell *const *c)
{
	struct place at = {.site = n->site};
	uint32_t done = 0;

	while (mask) {
		uint32_t l = (uint32_t)__builtin_ctz(mask), more;
		if (!c[l] || oracle_cell_ext(c[l]) || !is_loggable(n->acc, addresses[l]) ||
		    !oracle_is_simple_thread(n->o, &t[l]))
			break;
		at.device = done ? at.device : oracle_device(n->o, warp);
		at.c = c[l];
		at.address = addresses[l];
		if (!log_cell(n->o, &t[l], warp + l, n->acc, &at))
			break;
		more = log_next(n->o, c[l], t, warp, mask, l, addresses);
		more = (uint32_t)((2ull << more) - 1) << l;
		done |= more;
		mask &= ~more;
	}
	return done;
}

/* ---- what it stands for ---------------------------------------------------------------------- */

static struct oracle_acc acc_of(const struct oracle_site *s)
{
	return (struct oracle_acc){.inst = s->a.inst,
				   .kind = s->a.kind,
				   .strength = s->a.strength,
				   .scope = s->a.scope,
				   .proxy = s->a.proxy,
				   .flags = s->a.flags,
				   .bytes = s->a.bytes};
}

/* Consecutive lanes of a warp become one record. */
static bool joins(struct oracle_rec *r, const struct oracle_log_walk *w, uint32_t pos,
		  bool is_write)
{
	uint32_t lanes = r->mask ? r->mask : 1u << (r->actor & 31), bit = 1u << (w->actor & 31);

	if (!r->bytes || r->site != w->site || r->epoch != w->epoch ||
	    (r->actor & ~31u) != (w->actor & ~31u) || bit - 1 < lanes)
		return false;
	if (is_write && pos != r->pos + (uint32_t)__builtin_popcount(lanes))
		return false;
	r->mask = lanes | bit;
	r->actor &= ~31u;
	return true;
}

static void push_rec(struct oracle *o, struct oracle_ext *e, struct oracle_rec *r)
{
	if (!r->bytes)
		return;
	if (r->chain)
		r->chain->refs++;
	oracle_list_push(o, &e->list[ORACLE_STRONG], r);
}

uint64_t oracle_log_expand(struct oracle *o, struct oracle_cell *c, struct oracle_ext *e,
			   uint64_t word, struct oracle_chain **own)
{
	struct oracle_chain *chain = NULL;
	struct oracle_rec r = {0};
	uint32_t pos = 0, writer = 0, writer_site = 0; /* pos: of the next write */
	uint64_t before = oracle_log_of(c)->before;

	e->same_address = word;
	e->same_bytes = 4;
	e->same_place = oracle_log_of(c)->device + 1u;
	e->are_sys = true;
	/* The first RMW may be left out for a later one of its thread: others have observed
	 * `before` all the same. */
	if (oracle_log_of(c)->is_own) {
		*own = chain = oracle_chain_new(o);
		chain->refs += 2; /* this one, and the record's */
		pos = 1;
	}
	for (struct oracle_log_walk w = oracle_log_from(oracle_log_of(c)); oracle_log_next(&w);) {
		bool is_write = !oracle_log_is_read(o, w.site);
		e->are_sys &= oracle_site_at(o, w.site)->a.scope == RACE_SCOPE_SYS;
		if (pos && !oracle_log_is_red(o, w.site))
			oracle_chain_add(o, chain, pos - 1, w.actor, w.epoch, is_write);
		if (is_write && !chain) {
			chain = oracle_chain_new(o);
			chain->refs++;
		}
		if (!joins(&r, &w, pos, is_write)) {
			push_rec(o, e, &r);
			r = (struct oracle_rec){.actor = w.actor,
						.epoch = w.epoch,
						.site = w.site,
						.pos = is_write ? pos : 0,
						.bytes = ORACLE_PLAIN_BYTES,
						.chain = is_write ? chain : NULL};
		}
		if (!is_write)
			continue;
		writer = w.actor;
		writer_site = w.site;
		pos++;
	}
	push_rec(o, e, &r);
	if (chain) {
		struct oracle_acc acc = acc_of(oracle_site_at(o, writer_site));
		struct oracle_link link = {chain, pos - 1};
		struct oracle_write *w = oracle_write_new(o, writer, &acc, word, &link);
		oracle_ext_from(o, e, ORACLE_PLAIN_BYTES, w);
		oracle_write_unref(o, w);
		oracle_chain_unref(o, chain);
	}
	oracle_log_free(o, c);
	return before;
}
