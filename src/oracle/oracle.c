/*
 * oracle.c - the on-line oracle: actors and events (oracle.h states the rules).
 *
 * Actors are numbered in groups: the threads of one grid, or 1024 others (pseudo-threads, host
 * threads, copies). A block's threads get their state at the block's first event, and it is freed
 * at the block's end, so a grid costs memory only for the blocks that run.
 *
 * Misses: which late value a weak memory model lets a strong read of a wider scope see is taken
 * from the event (ORACLE_SAW); communication that forces a fence.sc is counted in the order of
 * events.
 * Costs: 2 to 14 times plain emulation, 30 where many threads communicate after fence.sc; 16 bytes
 * for a word with plain accesses of one writer and one reader, 50 and 2 a thread for one with
 * relaxed atomics, 250 to 600 for others.
 */
#include "oracle/late.h"
#include "oracle/shadow.h"

#define MAX_RECORDS (1u << 20)
#define MAX_FORCED  (1u << 14)

static struct oracle_block gone; /* of blocks that have ended */

struct oracle *oracle_new(const struct oracle_options *opt)
{
	struct oracle *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	if (opt)
		o->opt = *opt;
	if (!o->opt.max_actors || o->opt.max_actors > ORACLE_MAX_ACTORS)
		o->opt.max_actors = ORACLE_MAX_ACTORS;
	if (!o->opt.max_records)
		o->opt.max_records = MAX_RECORDS;
	if (!o->opt.max_forced)
		o->opt.max_forced = MAX_FORCED;
	o->zero = oracle_clock_new(&o->pool);
	o->repeats = base_calloc(ORACLE_REPEATS, sizeof(*o->repeats));
	oracle_late_init(o);
	return o;
}

static void thread_free(struct oracle *o, struct oracle_thread *t)
{
	oracle_clock_unref(&o->pool, t->clock);
	oracle_pends_free(o, t->pends);
	memset(t, 0, sizeof(*t));
}

static void misc_free(struct oracle *o, struct oracle_misc *m)
{
	thread_free(o, &m->thread);
	oracle_forced_drop(o, m);
}

void oracle_group_free(struct oracle *o, struct oracle_group *g)
{
	if (g->is_grid)
		for (uint32_t b = 0; g->blocks && b < g->grid.blocks; b++)
			oracle_block_free(o, g, b);
	else
		for (uint32_t i = 0; i < g->n; i++)
			misc_free(o, &g->misc[i]);
	oracle_clock_unref(&o->pool, g->start);
	oracle_clock_unref(&o->pool, g->end);
	base_vec_free(&g->pseudos);
	free((void *)(uintptr_t)g->grid.cluster_of);
	free(g->blocks);
	free(g->misc);
	free(g->fences);
	free(g);
}

/* Frees the sites; none is in use. */
void oracle_sites_free(struct oracle *o)
{
	HASH_CLEAR(hh, o->site_table);
	for (size_t i = 0; i < o->sites.n; i++) {
		oracle_tree_unref(&o->pool, o->sites.v[i]->a.fences);
		free(o->sites.v[i]);
	}
	base_vec_free(&o->sites);
	base_vec_free(&o->families);
	memset(o->last_sites, 0, sizeof(o->last_sites));
	o->nfenced = 0;
	/* They name sites by numbers, which are given out again. */
	memset(o->repeats, 0, ORACLE_REPEATS * sizeof(*o->repeats));
}

void oracle_free(struct oracle *o)
{
	struct oracle_name *x, *tmp;

	if (!o)
		return;
	oracle_late_free(o);
	HASH_ITER(hh, o->named, x, tmp)
	oracle_drop_id(o, x->id);
	oracle_shadow_free(o);
	oracle_known_logs_free(o);
	oracle_sync_free(o);
	oracle_sc_free(o);
	oracle_maps_free(o);
	oracle_pairs_free(o);
	for (size_t i = 0; i < o->groups.n; i++)
		oracle_group_free(o, o->groups.v[i]);
	base_vec_free(&o->groups);
	oracle_sites_free(o);
	base_vec_free(&o->findings);
	oracle_clock_unref(&o->pool, o->zero);
	oracle_memos_free(&o->pool);
	base_arena_free(&o->pool.arena);
	base_arena_free(&o->memory);
	free(o->repeats);
	free(o);
}

void oracle_stop(struct oracle *o)
{
	o->is_full = true;
}

bool oracle_is_full(const struct oracle *o)
{
	return o->is_full;
}

/* ---- actors ------------------------------------------------------------------------------ */

struct oracle_group *oracle_group_of(struct oracle *o, uint32_t actor)
{
	struct oracle_group **near = &o->near[actor / ORACLE_MISC_GROUP % ORACLE_NEAR_GROUPS];
	size_t low = 0, high = o->groups.n;

	if (o->last && actor - o->last->first < o->last->n)
		return o->last;
	if (*near && actor - (*near)->first < (*near)->n)
		return o->last = *near;
	while (high - low > 1) {
		size_t mid = (low + high) / 2;
		if (o->groups.v[mid]->first <= actor)
			low = mid;
		else
			high = mid;
	}
	if (low == high || actor - o->groups.v[low]->first >= o->groups.v[low]->n)
		return NULL;
	return o->last = *near = o->groups.v[low];
}

static struct oracle_block *block_new(struct oracle *o, struct oracle_group *g, uint32_t index)
{
	uint32_t n = 1u << g->shift;
	struct oracle_block *b = base_calloc(1, sizeof(*b) + n * sizeof(b->thread[0]));

	g->start->refs += n;
	for (uint32_t i = 0; i < n; i++) {
		b->thread[i].clock = g->start;
		b->thread[i].own = 1;
	}
	(void)o;
	return g->blocks[index] = b;
}

struct oracle_misc *oracle_misc_of(struct oracle *o, uint32_t actor)
{
	struct oracle_group *g = oracle_group_of(o, actor);

	return g && !g->is_grid ? &g->misc[actor - g->first] : NULL;
}

bool oracle_is_pseudo(struct oracle *o, uint32_t actor)
{
	struct oracle_misc *m = oracle_misc_of(o, actor);

	return m && m->kind == ORACLE_MISC_PSEUDO;
}

struct oracle_thread *oracle_thread_of(struct oracle *o, uint32_t actor)
{
	struct oracle_group *g = oracle_group_of(o, actor);

	if (!g)
		return NULL;
	if (!g->is_grid) {
		struct oracle_thread *t = &g->misc[actor - g->first].thread;
		return t->clock ? t : NULL;
	}
	uint32_t at = actor - g->first, index = at >> g->shift;
	struct oracle_block *b = g->blocks ? g->blocks[index] : &gone;
	if (!b)
		b = block_new(o, g, index);
	return b == &gone ? NULL : &b->thread[at & ((1u << g->shift) - 1)];
}

void oracle_block_free(struct oracle *o, struct oracle_group *g, uint32_t index)
{
	struct oracle_block *b = g->blocks ? g->blocks[index] : NULL;
	struct oracle_clock *last = NULL;

	if (g->blocks)
		g->blocks[index] = &gone;
	if (!b || b == &gone)
		return;
	for (uint32_t i = 0; i < 1u << g->shift; i++) {
		if (b->thread[i].clock != last)
			oracle_clock_join(&o->pool, &g->end, b->thread[i].clock);
		last = b->thread[i].clock;
	}
	oracle_sc_block_end(o, g->first + (index << g->shift), 1u << g->shift);
	for (uint32_t i = 0; i < 1u << g->shift; i++)
		thread_free(o, &b->thread[i]);
	free(b);
}

void oracle_block_end(struct oracle *o, uint32_t actor)
{
	struct oracle_group *g = oracle_group_of(o, actor);

	o->stats.events++;
	if (g && g->is_grid)
		oracle_block_free(o, g, (actor - g->first) >> g->shift);
}

uint32_t oracle_absent_lanes(struct oracle *o, uint32_t warp)
{
	struct oracle_group *g = oracle_group_of(o, warp);
	uint32_t at;

	if (!g || !g->is_grid)
		return 0;
	at = (warp - g->first) & ((1u << g->shift) - 1);
	if (at + 32 <= g->grid.block_threads)
		return 0;
	return at >= g->grid.block_threads ? UINT32_MAX
					   : UINT32_MAX << (g->grid.block_threads - at);
}

uint32_t oracle_stride(uint32_t block_threads)
{
	uint32_t n = 32;

	while (n < block_threads)
		n *= 2;
	return n;
}

/* A group of n actors that starts at a multiple of `align`; NULL: full. */
static struct oracle_group *group_new(struct oracle *o, uint64_t n, uint32_t align)
{
	uint64_t first = ((uint64_t)o->nactors + align - 1) / align * align;
	struct oracle_group *g;

	if (first + n > o->opt.max_actors || !(g = calloc(1, sizeof(*g)))) {
		o->is_full = true;
		return NULL;
	}
	g->first = (uint32_t)first;
	g->n = (uint32_t)n;
	o->nactors = (uint32_t)(first + n);
	base_vec_push(&o->groups, g);
	return g;
}

uint32_t oracle_grid(struct oracle *o, const struct oracle_grid *grid)
{
	uint32_t stride = oracle_stride(grid->block_threads);
	struct oracle_group *g;

	o->stats.events++;
	g = group_new(o, (uint64_t)stride * grid->blocks, stride);
	if (!g)
		return ORACLE_NO_ACTOR;
	o->stats.actors += grid->blocks * grid->block_threads;
	g->is_grid = true;
	g->shift = (uint32_t)__builtin_ctz(stride);
	g->grid = *grid;
	g->grid.cluster_of = NULL;
	if (grid->cluster_of) {
		uint32_t *copy = base_malloc(grid->blocks * sizeof(*copy));
		memcpy(copy, grid->cluster_of, grid->blocks * sizeof(*copy));
		g->grid.cluster_of = copy;
	}
	if (!g->grid.cluster_blocks)
		g->grid.cluster_blocks = 1;
	g->blocks = base_calloc(grid->blocks, sizeof(struct oracle_block *));
	g->start = oracle_clock_ref(o->zero);
	g->end = oracle_clock_ref(o->zero);
	return g->first;
}

/* The grid of the thread, or of the one that has issued the pseudo-thread; NULL: none. */
static struct oracle_group *grid_of_issuer(struct oracle *o, uint32_t *issuer)
{
	struct oracle_group *g;
	struct oracle_misc *m;

	while ((m = oracle_misc_of(o, *issuer)) && m->kind == ORACLE_MISC_PSEUDO)
		*issuer = m->issuer;
	g = oracle_group_of(o, *issuer);
	return g && g->is_grid ? g : NULL;
}

/* For the end of the issuer's grid. */
static void note_pseudo(struct oracle *o, uint32_t issuer, uint32_t actor)
{
	struct oracle_group *g = grid_of_issuer(o, &issuer);
	struct oracle_run run = {actor, 1};

	if (!g)
		return;
	struct oracle_run *last = g->pseudos.n ? &g->pseudos.v[g->pseudos.n - 1] : NULL;
	if (last && last->first + last->n == actor)
		last->n++;
	else
		base_vec_push(&g->pseudos, run);
}

/* `n` new numbers of actors outside of grids, in one aligned piece; ORACLE_NO_ACTOR: none left. */
static uint32_t misc_take(struct oracle *o, uint32_t n)
{
	struct oracle_group *g = o->misc;
	uint32_t at = g ? (g->n + n - 1) / n * n : 0;

	if (!g || at + n > ORACLE_MISC_GROUP) {
		g = group_new(o, ORACLE_MISC_GROUP, ORACLE_MISC_GROUP);
		if (!g)
			return ORACLE_NO_ACTOR;
		g->n = at = 0;
		g->misc = base_calloc(ORACLE_MISC_GROUP, sizeof(*g->misc));
		o->misc = g;
	}
	for (; g->n < at + n; g->n++)
		g->misc[g->n].kind = ORACLE_MISC_NONE;
	return g->first + at;
}

/* The issuer's block, which isn't over; NULL: it has none. */
static struct oracle_block *block_of(struct oracle *o, uint32_t issuer)
{
	const struct oracle_group *g = grid_of_issuer(o, &issuer);

	if (!g || !g->blocks)
		return NULL;
	struct oracle_block *b = g->blocks[(issuer - g->first) >> g->shift];
	return b == &gone ? NULL : b;
}

static uint32_t pseudo_number(struct oracle *o, uint32_t issuer)
{
	struct oracle_block *b = block_of(o, issuer);

	if (!b)
		return misc_take(o, 1);
	if (b->pseudo == b->pseudo_end) {
		uint32_t first = misc_take(o, ORACLE_MISC_CHUNK);
		if (first == ORACLE_NO_ACTOR)
			return first;
		b->pseudo = first;
		b->pseudo_end = first + ORACLE_MISC_CHUNK;
	}
	return b->pseudo++;
}

uint32_t oracle_misc_new(struct oracle *o, enum oracle_misc_kind kind, uint32_t issuer,
			 struct oracle_clock *clock)
{
	bool is_pseudo = kind == ORACLE_MISC_PSEUDO || kind == ORACLE_MISC_INIT;
	uint32_t actor = is_pseudo ? pseudo_number(o, issuer) : misc_take(o, 1);
	struct oracle_misc *m;

	if (actor == ORACLE_NO_ACTOR) {
		oracle_clock_unref(&o->pool, clock);
		return actor;
	}
	o->stats.actors += kind != ORACLE_MISC_HOST;
	m = oracle_misc_of(o, actor);
	m->kind = (uint8_t)kind;
	m->issuer = issuer;
	m->thread.clock = clock;
	m->thread.own = 1;
	if (is_pseudo)
		note_pseudo(o, issuer, actor);
	return actor;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Those without fences must have numbers that can be packed. */
#define FENCED_MAX ((1u << ORACLE_SITE_BITS) - (1u << 14))

/* The site of the same access by the representative of the instruction's line; ORACLE_NO_SITE: it
 * is the representative. */
static uint32_t family_of(struct oracle *o, const struct oracle_acc *acc)
{
	struct oracle_acc first = *acc;

	first.inst = o->line_of && acc->inst ? o->line_of(o->race_arg, acc->inst) : acc->inst;
	return first.inst == acc->inst ? ORACLE_NO_SITE : oracle_site(o, &first, 0);
}

uint32_t oracle_site_find(struct oracle *o, const struct oracle_acc *acc, uint64_t fences)
{
	struct oracle_site probe, *s;
	uint32_t plain = ORACLE_NO_SITE, family = ORACLE_NO_SITE;

	memset(&probe, 0, sizeof(probe));
	probe.a.inst = acc->inst;
	probe.a.bytes = acc->bytes;
	probe.a.kind = acc->kind;
	probe.a.strength = acc->strength;
	probe.a.scope = acc->scope;
	probe.a.proxy = acc->proxy;
	probe.a.flags = acc->flags & ORACLE_SITE_FLAGS;
	probe.a.fences = fences;
	HASH_FIND(hh, o->site_table, &probe.a, sizeof(probe.a), s);
	if (!s && fences) {
		plain = oracle_site(o, acc, 0);
		if (o->nfenced == FENCED_MAX)
			return ORACLE_NO_SITE;
		o->nfenced++;
	}
	if (!s && !fences)
		family = family_of(o, acc);
	if (!s) {
		s = base_calloc(1, sizeof(*s));
		s->a = probe.a;
		oracle_tree_ref(fences);
		s->index = (uint32_t)o->sites.n;
		s->plain = fences ? plain : s->index;
		if (fences)
			family = o->families.v[plain];
		else if (family == ORACLE_NO_SITE)
			family = s->index;
		HASH_ADD(hh, o->site_table, a, sizeof(s->a), s);
		base_vec_push(&o->sites, s);
		base_vec_push(&o->families, family);
	}
	*oracle_last_site(o, acc, fences) = s;
	return s->index;
}

static bool is_init(const struct oracle_acc *acc)
{
	return (acc->flags & ORACLE_MBARRIER) && acc->strength == RACE_WEAK &&
	       acc->kind == RACE_OP_WRITE;
}

/* A pseudo-thread performs the access, between what its thread does before and after it. */
static void init_one(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		     const struct oracle_acc *acc, uint64_t address)
{
	struct oracle_pub pub = oracle_publish(o, t, actor);
	struct oracle_clock *c = NULL;

	oracle_learn(o, &c, &pub);
	oracle_clock_unref(&o->pool, pub.clock);
	uint32_t init = oracle_misc_new(o, ORACLE_MISC_INIT, actor, c);
	struct oracle_misc *m = oracle_misc_of(o, init);
	if (!m)
		return;
	oracle_shadow_access(o, &m->thread, init, acc, address, acc->bytes, NULL);
	c = oracle_clock_own(&o->pool, &t->clock);
	oracle_tree_raise(&o->pool, &c->root[ORACLE_HB], init, 1);
	oracle_tree_join(&o->pool, &c->root[ORACLE_FORCED], m->thread.clock->root[ORACLE_FORCED]);
	oracle_clock_unref(&o->pool, m->thread.clock);
	m->thread.clock = NULL;
	oracle_init_done(o, t, init);
}

static void access_one(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
		       uint64_t address, uint64_t bytes)
{
	struct oracle_thread *t =
		o->lates->current ? &o->lates->current->thread : oracle_thread_of(o, actor);

	if (!t || !bytes)
		return;
	o->stats.accesses++;
	const struct oracle_misc *m = oracle_misc_of(o, actor);
	o->lates->nhost += m && m->kind == ORACLE_MISC_HOST;
	if (is_init(acc) && !m) {
		init_one(o, t, actor, acc, address);
		return;
	}
	if (o->gone)
		oracle_gone_look(o, t, actor, acc, address, bytes);
	/* One can wait for the reads of a copy alone. */
	if (m && m->kind == ORACLE_MISC_PSEUDO)
		t->own = acc->kind == RACE_OP_READ ? 1 : 2;
	uint64_t was;
	bool is_map =
		acc->proxy == RACE_PROXY_TENSORMAP && oracle_map_begin(o, t, actor, address, &was);
	if (acc->strength == RACE_WEAK)
		oracle_shadow_access(o, t, actor, acc, address, bytes, NULL);
	else
		oracle_access_strong(o, actor, acc, address);
	if (is_map)
		oracle_map_end(o, t, was);
}

void oracle_access_units(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			 uint64_t address, uint64_t bytes)
{
	o->stats.events++;
	if (o->nlate)
		oracle_flush_late(o);
	if (!(acc->flags & ORACLE_INSERTED) && !o->is_full)
		access_one(o, actor, acc, address, bytes);
}

void oracle_access(struct oracle *o, uint32_t actor, const struct oracle_acc *acc, uint64_t address)
{
	oracle_access_units(o, actor, acc, address, acc->bytes);
}

void oracle_access_warp(struct oracle *o, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses)
{
	o->stats.events++;
	if ((acc->flags & ORACLE_INSERTED) || o->is_full)
		return;
	if (o->nlate)
		oracle_flush_late(o);
	struct oracle_thread *t = oracle_thread_of(o, warp);
	/* Readings of tensor maps are checked one by one: each has crossings of its own. */
	if (t && acc->bytes && o->last->is_grid && !is_init(acc) &&
	    acc->proxy != RACE_PROXY_TENSORMAP) {
		o->stats.accesses +=
			mask == UINT32_MAX ? ORACLE_LANES : (unsigned)__builtin_popcount(mask);
		if (o->gone)
			oracle_gone_look_warp(o, t, warp, mask, acc, addresses);
		o->nplain += acc->strength == RACE_WEAK;
		if (acc->strength == RACE_WEAK)
			oracle_shadow_warp(o, t, warp, mask, acc, addresses);
		else
			oracle_strong_warp(o, t, warp, mask, acc, addresses);
		return;
	}
	ORACLE_EACH (l, mask)
		access_one(o, warp + l, acc, addresses[l], acc->bytes);
}

void oracle_access_range(struct oracle *o, uint32_t actor, const void *inst, uint8_t kind,
			 uint64_t address, uint64_t bytes)
{
	struct oracle_acc acc = {
		.inst = inst, .kind = kind, .bytes = bytes > UINT32_MAX ? 0 : (uint32_t)bytes};

	o->stats.events++;
	if (o->is_full || oracle_late_range(o, actor, &acc, address, bytes))
		return;
	if (o->nlate)
		oracle_flush_late(o);
	access_one(o, actor, &acc, address, bytes);
}

struct oracle_stats oracle_get_stats(const struct oracle *o)
{
	struct oracle_stats s = o->stats;

	s.words = o->words > s.words ? o->words : s.words;
	s.clock_bytes = o->pool.bytes > o->clock_peak ? o->pool.bytes : o->clock_peak;
	return s;
}
