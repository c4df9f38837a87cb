/*
 * random.c - random executions, judged by the oracle and by the manual (naive.c).
 *
 *	compare N SEED [FIRST]
 *
 * Each execution is drawn from its own seed (SEED and its number), so a failure is found again
 * alone: `compare 1 SEED NUMBER`. Actors take turns in random order; values are sequentially
 * consistent, but in a tenth of the executions reads may name an older write (without fence.sc:
 * naive.c says why). Every execution is judged with both orders of fence.sc.
 * Where the two verdicts differ the execution is made small and printed as a litmus test.
 *
 * One in twelve is of copies that overwrite and read again what others have accessed, in parts.
 * A third of the executions are of rows: a few lanes of two to four warps access neighbouring,
 * equal or scattered words, mostly plainly, with barriers between, so that the oracle keeps what
 * they did by the row (oracle/shadow/row.c); in some, all lanes do. In others, events are
 * executions of one instruction: the verdicts are then compared by instruction.
 *
 * The mix is meant to synchronise: few locations, mostly strong accesses to two of them. The counts
 * at the end say how much of each verdict was seen; a run in which nothing raced, or everything,
 * fails.
 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

#define ACTORS	   8
#define PSEUDOS	   4
#define LOCATIONS  4
#define BARRIERS   2
#define FIRST_COPY 32001u
#define FIRST_HOST 31001u
#define PSEUDO	   30001u

enum state { READY, ARRIVED, GONE };

struct actor {
	uint32_t number;
	uint8_t grid, cluster, block, warp, lane;
	enum state state;
	int barrier; /* where it must arrive, or has; -1: none */
	bool will_leave;
	uint32_t held; /* mbarrier phase it waits for; 0: none, else phase + 1 */
};

struct barrier {
	bool is_open;
	uint32_t waiting, leaving; /* actors still to arrive, to leave */
	uint64_t generation;
};

struct copy {
	uint32_t number;
	uint8_t issuer, steps, proxy;
	bool is_open, may_read, is_read;
};

struct world {
	struct list *l;
	uint64_t rng;
	struct actor actors[ACTORS];
	uint32_t nactors;
	struct barrier barriers[BARRIERS];
	struct copy copies[PSEUDOS];
	uint32_t ncopies;
	uint32_t phase, arrivals; /* of the one mbarrier, location m */
	bool is_calm;  /* strong flags of one size and wide scope, few weak accesses: fewer races */
	bool is_bare;  /* order by fence.sc alone: relaxed flags, half of the rest fences */
	bool has_maps; /* tensor maps, read and changed */
	bool is_objects; /* mostly mbarriers: inits, their fences, relaxed arrivals and waits */
	bool is_stale, has_sc, has_async, has_mbarrier, has_barriers, has_nc, has_warps;
	uint8_t wide;	 /* odds of wide scopes */
	uint64_t shared; /* by location: shared memory */
};

/* ---- dice --------------------------------------------------------------------- */

static uint64_t next(struct world *w)
{
	uint64_t z = (w->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint32_t roll(struct world *w, uint32_t n)
{
	return (uint32_t)(next(w) >> 33) % n;
}

static bool is_lucky(struct world *w, uint32_t percent)
{
	return roll(w, 100) < percent;
}

/* ---- events ------------------------------------------------------------------- */

static void draw_location(struct world *w, struct list_event *e, uint64_t *address)
{
	/* Locations a and b are mostly flags: one size, one place. */
	uint32_t location = roll(w, LOCATIONS), skew = is_lucky(w, 75) ? 0 : roll(w, 4);
	static const uint8_t sizes[] = {4, 4, 4, 4, 8, 2, 1};
	uint32_t size = sizes[roll(w, is_lucky(w, 75) ? 4 : 7)];
	uint32_t order = w->is_calm ? 100 : 70;

	if (w->is_calm) {
		size = 4;
		skew = 0;
	}
	if (e->strength != RACE_WEAK && is_lucky(w, order))
		location = roll(w, 2);
	if (e->strength == RACE_WEAK && is_lucky(w, order))
		location = 2 + roll(w, LOCATIONS - 2);
	e->bytes = size;
	*address = LIST_MEMORY + location * LIST_SPACING + skew * size % 8;
	if (w->shared >> location & 1)
		e->flags |= ORACLE_SHARED;
}

static uint8_t draw_scope(struct world *w)
{
	if (w->is_calm || is_lucky(w, w->wide))
		return is_lucky(w, 80) ? RACE_SCOPE_GPU : RACE_SCOPE_SYS;
	return (uint8_t)(RACE_SCOPE_CTA + roll(w, 4));
}

static void draw_access(struct world *w, struct list_event *e)
{
	e->kind = (uint8_t)(1 + roll(w, 3));
	if (w->is_calm && is_lucky(w, 40))
		e->kind = RACE_OP_READ;
	if (e->kind == RACE_OP_RMW || is_lucky(w, w->is_calm ? 80 : 60)) {
		static const uint8_t by_kind[4][4] = {
			[RACE_OP_READ] = {RACE_RELAXED, RACE_ACQUIRE, RACE_ACQUIRE, RACE_RELAXED},
			[RACE_OP_WRITE] = {RACE_RELAXED, RACE_RELEASE, RACE_RELEASE, RACE_RELAXED},
			[RACE_OP_RMW] = {RACE_RELAXED, RACE_ACQUIRE, RACE_RELEASE, RACE_ACQ_REL}};

		e->strength = by_kind[e->kind][roll(w, 4)];
		e->scope = draw_scope(w);
		if (w->is_bare)
			e->strength = RACE_RELAXED;
		else if (w->is_calm && e->strength == RACE_RELAXED && e->kind != RACE_OP_WRITE)
			e->strength = RACE_ACQUIRE;
		if (e->strength == RACE_RELAXED && is_lucky(w, 10)) {
			e->scope = RACE_SCOPE_SYS;
			e->flags |= ORACLE_VOLATILE;
		}
		if (e->kind == RACE_OP_RMW && is_lucky(w, 30)) {
			e->flags |= ORACLE_RED;
			if (e->strength >= RACE_ACQUIRE)
				e->strength = is_lucky(w, 50) ? RACE_RELAXED : RACE_RELEASE;
		}
	} else if (e->kind == RACE_OP_READ && w->has_maps && is_lucky(w, 50)) {
		e->proxy = RACE_PROXY_TENSORMAP;
	} else if (e->kind == RACE_OP_READ && w->has_nc && is_lucky(w, 30)) {
		if (is_lucky(w, 50))
			e->flags |= ORACLE_NC;
		else
			e->proxy = RACE_PROXY_TEXTURE;
	}
}

/* A read that sees an older write to its bytes, or one from before all, since they were new. */
static void make_stale(struct world *w, struct list_event *e)
{
	const struct list *l = w->l;
	uint32_t want = roll(w, 6);

	e->flags |= ORACLE_SAW;
	for (size_t i = l->n - 1; i-- > 0;) {
		const struct list_event *x = &l->e[i];

		if (x->type == EVENT_FORGET && x->address < e->address + e->bytes &&
		    e->address < x->address + x->bytes)
			return;
		if (x->type != EVENT_ACCESS || x->mask || !(x->kind & RACE_OP_WRITE) ||
		    x->address != e->address || x->bytes != e->bytes)
			continue;
		e->saw = x->id;
		if (!want--)
			return;
	}
}

static void act_access(struct world *w, const struct actor *a)
{
	struct list_event *e = list_add(w->l, EVENT_ACCESS);
	size_t i;

	if (!e)
		return;
	i = w->l->n - 1;
	e->actor = a->number;
	draw_access(w, e);
	draw_location(w, e, &e->address);
	/* Without names atomics are logs (oracle/shadow/form_log.c). */
	e->id = e->kind & RACE_OP_WRITE && (w->is_stale || is_lucky(w, 30)) ? i + 1 : 0;
	if (w->is_stale && e->kind == RACE_OP_READ && is_lucky(w, 40))
		make_stale(w, e);
	if (!w->has_warps || !is_lucky(w, 30) || (e->flags & ORACLE_SAW))
		return;
	/* All ready lanes of the warp, one location each. */
	for (uint32_t k = 0; k < w->nactors; k++) {
		const struct actor *b = &w->actors[k];

		if (b->state != READY || b->number / 32 != a->number / 32 || b->barrier >= 0)
			continue;
		e->mask |= 1u << b->lane;
		w->l->addresses[i][b->lane] = e->address;
		if (is_lucky(w, 50))
			w->l->addresses[i][b->lane] = e->address ^ e->bytes % 8;
	}
	e->mask |= 1u << a->lane;
	w->l->addresses[i][a->lane] = e->address;
	e->actor -= e->actor % 32;
	e->address = 0;
	e->id = 0;
}

static void act_fence(struct world *w, const struct actor *a)
{
	static const uint8_t strengths[] = {RACE_ACQUIRE, RACE_RELEASE, RACE_ACQ_REL, RACE_ACQ_REL};
	struct list_event *e = list_add(w->l, EVENT_FENCE);

	if (!e)
		return;
	e->actor = a->number;
	e->strength = RACE_RELEASE;
	e->scope = RACE_SCOPE_CLUSTER;
	if (w->has_mbarrier && is_lucky(w, w->is_objects ? 60 : 25)) {
		e->flags = ORACLE_MBARRIER; /* fence.mbarrier_init */
		return;
	}
	e->strength =
		w->has_sc && is_lucky(w, w->is_bare ? 100 : 60) ? RACE_SC : strengths[roll(w, 4)];
	e->scope = draw_scope(w);
}

static void act_proxy_fence(struct world *w, const struct actor *a)
{
	struct list_event *e = list_add(w->l, EVENT_PROXY);

	if (!e)
		return;
	e->actor = a->number;
	e->proxy_kinds = (uint8_t)(is_lucky(w, 70) ? ORACLE_PROXY_GLOBAL | ORACLE_PROXY_SHARED
						   : 1 + roll(w, 3));
	if (w->has_maps && is_lucky(w, 80))
		e->proxy_kinds = (uint8_t)(4 * (1 + roll(w, 3)));
	if (e->proxy_kinds & ORACLE_PROXY_TMAP) {
		struct list_event at = {.strength = RACE_WEAK};
		draw_location(w, &at, &e->address);
	}
}

static void act_warp_sync(struct world *w, const struct actor *a)
{
	struct list_event *e = list_add(w->l, EVENT_WARP_SYNC);

	if (!e)
		return;
	e->actor = a->number - a->number % 32;
	e->mask = 1u << a->lane;
	for (uint32_t k = 0; k < w->nactors; k++)
		if (w->actors[k].state == READY && w->actors[k].number / 32 == a->number / 32 &&
		    is_lucky(w, 80))
			e->mask |= 1u << w->actors[k].lane;
}

/* Opens a generation among the actors of a's block, or cluster. */
static void open_barrier(struct world *w, const struct actor *a, uint32_t k)
{
	bool is_cluster = is_lucky(w, 25);
	struct barrier *b = &w->barriers[k];

	for (uint32_t i = 0; i < w->nactors; i++) {
		struct actor *x = &w->actors[i];

		if (x->state != READY || x->barrier >= 0 || x->grid != a->grid ||
		    x->cluster != a->cluster || (!is_cluster && x->block != a->block) ||
		    is_lucky(w, 20))
			continue;
		x->barrier = (int)k;
		b->waiting |= 1u << i;
	}
	b->is_open = b->waiting != 0;
}

static void arrive(struct world *w, struct actor *a, uint32_t i)
{
	struct barrier *b = &w->barriers[a->barrier];
	struct list_event *e = list_add(w->l, EVENT_ARRIVE);

	if (!e)
		return;
	a->will_leave = is_lucky(w, 75);
	e->actor = a->number;
	e->key = (uint64_t)a->barrier;
	e->key2 = b->generation;
	e->flags = is_lucky(w, w->has_mbarrier ? 60 : 90) ? ORACLE_BAR_RELEASE : 0;
	b->waiting &= ~(1u << i);
	if (a->will_leave) {
		a->state = ARRIVED;
		b->leaving |= 1u << i;
	} else {
		a->barrier = -1;
	}
	if (!b->waiting && !b->leaving) {
		b->is_open = false;
		b->generation++;
	}
}

/* Returns false while others have to arrive. */
static bool leave(struct world *w, struct actor *a, uint32_t i)
{
	struct barrier *b = &w->barriers[a->barrier];
	struct list_event *e;

	if (b->waiting)
		return false;
	e = list_add(w->l, EVENT_LEAVE);
	if (!e)
		return false;
	e->actor = a->number;
	e->key = (uint64_t)a->barrier;
	e->key2 = b->generation;
	a->state = READY;
	a->barrier = -1;
	b->leaving &= ~(1u << i);
	if (!b->leaving) {
		b->is_open = false;
		b->generation++;
	}
	return true;
}

static void add_object_access(struct world *w, uint32_t actor)
{
	struct list_event *e = list_add(w->l, EVENT_ACCESS);

	if (!e)
		return;
	e->actor = actor;
	e->kind = RACE_OP_RMW;
	e->strength = RACE_RELAXED;
	e->scope = RACE_SCOPE_SYS;
	e->flags = ORACLE_MBARRIER;
	e->address = LIST_MEMORY + ('m' - 'a') * LIST_SPACING;
	e->bytes = 8;
}

/* mbarrier.init of another object, or a use of that. */
static void add_init(struct world *w, uint32_t actor)
{
	struct list_event *e = list_add(w->l, EVENT_ACCESS);

	if (!e)
		return;
	e->actor = actor;
	e->kind = is_lucky(w, 50) ? RACE_OP_WRITE : RACE_OP_RMW;
	e->flags = ORACLE_MBARRIER;
	if (e->kind == RACE_OP_RMW) {
		e->strength = RACE_RELAXED;
		e->scope = RACE_SCOPE_SYS;
	}
	e->address = LIST_MEMORY + ('n' + roll(w, 2) - 'a') * LIST_SPACING;
	e->bytes = 8;
	e->id = e->kind == RACE_OP_WRITE ? w->l->n : 0;
}

static void add_mbarrier(struct world *w, uint32_t actor, bool is_wait)
{
	struct list_event *e;

	if (is_lucky(w, 50))
		add_object_access(w, actor);
	e = list_add(w->l, is_wait ? EVENT_MB_WAIT : EVENT_MB_ARRIVE);
	if (!e)
		return;
	e->actor = actor;
	e->address = LIST_MEMORY + ('m' - 'a') * LIST_SPACING;
	e->strength = is_lucky(w, 35) ? RACE_RELAXED : is_wait ? RACE_ACQUIRE : RACE_RELEASE;
	e->scope = is_lucky(w, 50) ? RACE_SCOPE_CLUSTER : RACE_SCOPE_CTA;
	e->key2 = is_wait ? w->phase - 1 : w->phase;
	if (!is_wait && ++w->arrivals == 2) {
		w->arrivals = 0;
		w->phase++;
	}
}

static void act_fork(struct world *w, const struct actor *a)
{
	struct copy *c = &w->copies[w->ncopies];
	struct list_event *e;

	if (w->ncopies == PSEUDOS || !(e = list_add(w->l, EVENT_FORK)))
		return;
	*c = (struct copy){.number = PSEUDO + w->ncopies, .is_open = true};
	c->issuer = (uint8_t)(a - w->actors);
	c->steps = (uint8_t)(1 + roll(w, 3));
	c->proxy = is_lucky(w, 60) ? RACE_PROXY_ASYNC : RACE_PROXY_GENERIC;
	e->actor = a->number;
	e->other = c->number;
	w->ncopies++;
}

static void step_copy(struct world *w, struct copy *c)
{
	struct list_event *e;

	if (!c->steps) {
		if (is_lucky(w, 40) && w->has_mbarrier)
			add_mbarrier(w, c->number, false);
		c->is_open = false;
		return;
	}
	c->steps--;
	e = list_add(w->l, EVENT_ACCESS);
	if (!e)
		return;
	e->actor = c->number;
	e->proxy = c->proxy;
	e->kind = (uint8_t)(c->is_read ? RACE_OP_WRITE : 1 + roll(w, 2));
	if (is_lucky(w, 10)) {
		e->kind = RACE_OP_RMW;
		e->flags = ORACLE_RED;
		e->strength = RACE_RELAXED;
		e->scope = draw_scope(w);
	}
	draw_location(w, e, &e->address);
	e->id = e->kind & RACE_OP_WRITE ? w->l->n : 0;
}

static void act_join(struct world *w, const struct actor *a)
{
	for (uint32_t i = 0; i < w->ncopies; i++) {
		struct copy *c = &w->copies[i];
		bool is_all = !c->is_open;
		struct list_event *e;

		if (&w->actors[c->issuer] != a || (c->is_read && !is_all) || c->may_read)
			continue;
		e = list_add(w->l, EVENT_JOIN);
		if (!e)
			return;
		e->actor = a->number;
		e->other = c->number;
		e->join = is_all && is_lucky(w, 70) ? ORACLE_JOIN_ALL : ORACLE_JOIN_READ;
		c->is_read = true;
		c->may_read = e->join == ORACLE_JOIN_ALL; /* nothing comes after that */
		return;
	}
}

/* Relaxed arrivals and waits with fences about them; inits, their fence and uses. */
static void act_object(struct world *w, const struct actor *a)
{
	uint32_t dice = roll(w, 100);

	if (dice < 20)
		add_init(w, a->number);
	else if (dice < 50)
		act_fence(w, a);
	else
		add_mbarrier(w, a->number, w->phase && is_lucky(w, 60));
}

/* ---- an execution --------------------------------------------------------------- */

static void act(struct world *w, uint32_t i)
{
	struct actor *a = &w->actors[i];
	uint32_t dice = roll(w, 100);

	if (a->state == ARRIVED && !leave(w, a, i))
		return;
	if (a->barrier >= 0 && is_lucky(w, 60)) {
		arrive(w, a, i);
		return;
	}
	if (w->is_objects && is_lucky(w, 50)) {
		act_object(w, a);
		return;
	}
	if (a->barrier >= 0 && dice >= 78)
		dice = 0;
	if (dice < (w->is_bare ? 50u : 62u)) {
		act_access(w, a);
	} else if (dice < 74) {
		act_fence(w, a);
	} else if (dice < 80) {
		uint32_t k = roll(w, BARRIERS);

		if (w->has_barriers && !w->barriers[k].is_open)
			open_barrier(w, a, k);
	} else if (dice < 84) {
		if (w->has_warps)
			act_warp_sync(w, a);
	} else if (dice < 90) {
		if (w->has_mbarrier && is_lucky(w, 30))
			add_init(w, a->number);
		else if (w->has_mbarrier)
			add_mbarrier(w, a->number, w->phase && is_lucky(w, 60));
	} else if (w->has_async) {
		if (dice < 94)
			act_fork(w, a);
		else if (dice < 97)
			act_join(w, a);
		else
			act_proxy_fence(w, a);
	}
}

static void add_grid(struct world *w, uint32_t number, uint32_t device)
{
	struct oracle_grid *g = &w->l->grids[number - 1];
	struct list_event *e = list_add(w->l, EVENT_GRID);

	g->grid = number;
	g->device = device;
	g->blocks = 4;
	g->block_threads = 64;
	g->cluster_blocks = 2;
	e->other = number * LIST_GRID;
}

static void add_actor(struct world *w, uint32_t grid, uint32_t blocks)
{
	struct actor *a = &w->actors[w->nactors];
	uint32_t block = roll(w, blocks), thread = is_lucky(w, 70) ? roll(w, 3) : 32 + roll(w, 2);

	a->number = grid * LIST_GRID + block * 64 + thread;
	for (uint32_t i = 0; i < w->nactors; i++)
		if (w->actors[i].number == a->number)
			return;
	a->grid = (uint8_t)grid;
	a->block = (uint8_t)block;
	a->cluster = (uint8_t)(block / 2);
	a->warp = (uint8_t)(thread / 32);
	a->lane = (uint8_t)(thread % 32);
	a->barrier = -1;
	w->nactors++;
}

static struct list_event *add_host(struct world *w, enum event_type type, uint64_t key)
{
	struct list_event *e = list_add(w->l, type);

	if (e) {
		e->key = key;
		e->actor = type == EVENT_START ? ORACLE_NO_ACTOR : FIRST_HOST;
	}
	return e;
}

/* A copy or fill of the host, whole. */
static void add_host_copy(struct world *w, uint64_t key)
{
	struct list_event *e;

	if (is_lucky(w, 80))
		add_host(w, EVENT_SUBMIT, key);
	if (is_lucky(w, 60) && (e = add_host(w, EVENT_DEPEND, key)))
		e->key2 = key - 1;
	if ((e = add_host(w, EVENT_START, key)))
		e->other = FIRST_COPY + (uint32_t)key;
	e = list_add(w->l, EVENT_ACCESS);
	if (e) {
		e->actor = FIRST_COPY + (uint32_t)key;
		e->kind = (uint8_t)(1 + roll(w, 2));
		e->address = LIST_MEMORY + (1 + roll(w, 3)) * LIST_SPACING;
		e->bytes = 8;
		e->id = e->kind & RACE_OP_WRITE ? w->l->n : 0;
	}
	add_host(w, EVENT_END, key);
	if (is_lucky(w, 30))
		add_host(w, EVENT_HOST_WAIT, key);
}

static void start_grid(struct world *w, uint32_t number, uint64_t key, bool has_host)
{
	struct list_event *e;

	if (has_host && is_lucky(w, 80))
		add_host(w, EVENT_SUBMIT, key);
	if (has_host && is_lucky(w, 60) && (e = add_host(w, EVENT_DEPEND, key)))
		e->key2 = key - 1;
	if ((e = add_host(w, EVENT_START, key)))
		e->actor = number * LIST_GRID;
}

/* The actors from `from` on act about n times. */
static void act_some(struct world *w, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (w->ncopies && is_lucky(w, 25)) {
			struct copy *c = &w->copies[roll(w, w->ncopies)];

			if (c->is_open && c->issuer >= from)
				step_copy(w, c);
			continue;
		}
		act(w, from + roll(w, w->nactors - from));
		if (w->l->n > 1 && w->has_nc && is_lucky(w, 2)) {
			struct list_event *e = list_add(w->l, EVENT_FORGET);

			if (e) {
				e->address = LIST_MEMORY + roll(w, LOCATIONS) * LIST_SPACING;
				e->bytes = 16;
			}
		}
	}
}

static void draw_execution(struct list *l, uint64_t seed)
{
	struct world w = {.l = l, .rng = seed};
	uint32_t blocks = 1 + roll(&w, 4), ngrids = is_lucky(&w, 25) ? 2 : 1;
	bool has_host = is_lucky(&w, 30), is_serial = is_lucky(&w, 50);
	uint32_t wanted = 2 + roll(&w, ACTORS - 1), length = 6 + roll(&w, 34), first = 0;
	uint64_t key = 2;

	list_init(l);
	w.is_calm = is_lucky(&w, 60);
	w.is_stale = is_lucky(&w, 10);
	w.has_sc = !w.is_stale && is_lucky(&w, 40);
	w.is_bare = w.has_sc && is_lucky(&w, 50);
	w.has_async = is_lucky(&w, 30);
	w.has_mbarrier = is_lucky(&w, 30);
	w.has_maps = w.has_async && is_lucky(&w, 50);
	w.is_objects = w.has_mbarrier && is_lucky(&w, 40);
	w.has_barriers = is_lucky(&w, 40);
	w.has_warps = is_lucky(&w, 40);
	w.has_nc = is_lucky(&w, 15);
	w.wide = (uint8_t)(roll(&w, 3) * 45);
	w.shared = next(&w) & next(&w);
	if (has_host) {
		struct list_event *e = list_add(l, EVENT_HOST);

		e->actor = FIRST_HOST;
		if (is_lucky(&w, 50))
			add_host_copy(&w, key++);
	}
	for (uint32_t g = 1; g <= ngrids; g++) {
		add_grid(&w, g, is_lucky(&w, 20));
		start_grid(&w, g, key, has_host);
		for (uint32_t i = 0; i < wanted / ngrids + 1 && w.nactors < ACTORS; i++)
			add_actor(&w, g, blocks);
		act_some(&w, first, length / ngrids);
		if (is_serial && has_host) {
			add_host(&w, EVENT_END, key);
			first = w.nactors;
			memset(w.barriers, 0, sizeof(w.barriers));
			for (uint32_t b = 0; b < BARRIERS; b++)
				w.barriers[b].generation = 1000 * g;
		}
		key++;
		if (first == w.nactors && is_lucky(&w, 40))
			add_host_copy(&w, key++);
		if (w.nactors == ACTORS)
			break;
	}
	list_fix(l);
}

/* ---- rows ----------------------------------------------------------------------- */

#define ROW_WARPS 4

struct rows {
	struct world w;
	uint32_t warps[ROW_WARPS]; /* lane 0's actor; the last one may be of another block */
	uint32_t nwarps, nbarrier; /* these stand at the barrier */
	uint32_t lanes, first;	   /* lanes that act, from `first` on */
	uint64_t generation;
	bool has_loops; /* few instructions, each executed often */
	bool is_same;	/* lanes mostly access the same words */
	bool is_narrow; /* mostly bytes and halves of words */
	bool has_atomics;
	bool has_flags; /* strong reads and writes instead of updates */
};

static uint32_t draw_mask(struct rows *r)
{
	uint32_t all = (uint32_t)((1ull << r->lanes) - 1) << r->first;

	return is_lucky(&r->w, 70) ? all : all & (uint32_t)next(&r->w);
}

/* Where the lanes of a row are: one after the other, all the same, backwards, anywhere. */
static void draw_addresses(struct rows *r, struct list_event *e, uint64_t *at)
{
	static const uint8_t sizes[2][8] = {{4, 4, 4, 4, 8, 8, 16, 2}, {1, 1, 1, 2, 2, 2, 4, 4}};
	uint32_t how = r->is_same && is_lucky(&r->w, 70) ? 7 : roll(&r->w, 10), skew;

	if (how >= 6 && how < 8 && e->kind == RACE_OP_WRITE && is_lucky(&r->w, 90))
		e->mask &= ~e->mask + 1; /* one lane, or they would race with each other */
	e->bytes = sizes[r->is_narrow][roll(&r->w, r->has_atomics ? 5 : 8)];
	skew = (is_lucky(&r->w, 60) ? 0 : roll(&r->w, 4)) * 4;
	if (r->is_narrow && is_lucky(&r->w, 30))
		skew += (uint32_t)e->bytes;
	if (skew % e->bytes)
		skew = 0;
	for (uint32_t l = 0, i = 0; l < ORACLE_LANES; l++) {
		uint64_t step = how < 6 ? i : how < 8 ? 0 : how < 9 ? 7 - i : roll(&r->w, 8);

		i += e->mask >> l & 1;
		at[l] = LIST_MEMORY + skew + step % (r->lanes < 8 ? 8 : r->lanes) * e->bytes +
			(how == 6 || how == 9 ? roll(&r->w, 2) * 16 : 0) % 32 / e->bytes * e->bytes;
		if (how == 6) /* all lanes the same */
			at[l] = l ? at[l - 1] : at[0];
	}
}

static void make_atomic(struct rows *r, struct list_event *e)
{
	struct world *w = &r->w;

	if (e->flags || is_lucky(w, 35))
		return;
	e->strength = is_lucky(w, 95) ? RACE_RELAXED : RACE_ACQUIRE;
	e->scope = is_lucky(w, 90) ? RACE_SCOPE_GPU : draw_scope(w);
	if (r->has_flags && is_lucky(w, 90))
		return;
	if (e->kind == RACE_OP_WRITE || is_lucky(w, 40))
		e->kind = is_lucky(w, 95) ? RACE_OP_RMW : RACE_OP_WRITE;
	if (e->kind == RACE_OP_WRITE)
		e->strength = RACE_RELAXED;
	if (e->kind == RACE_OP_RMW && e->strength == RACE_RELAXED && is_lucky(w, 30))
		e->flags |= ORACLE_RED;
}

/* Another warp does what the last one did, at the same instruction. */
static bool add_row_again(struct rows *r, uint32_t warp)
{
	struct list *l = r->w.l;
	struct list_event *e, *last = &l->e[l->n - 1];
	size_t i = l->n - 1;

	if (last->type != EVENT_ACCESS || !last->mask || last->actor == warp ||
	    !(e = list_add(l, EVENT_ACCESS)))
		return false;
	*e = l->e[i];
	e->actor = warp;
	memcpy(l->addresses[i + 1], l->addresses[i], sizeof(l->addresses[i]));
	return true;
}

static void add_row(struct rows *r, uint32_t warp)
{
	struct world *w = &r->w;

	if (r->has_loops && is_lucky(w, 50) && add_row_again(r, warp))
		return;
	uint32_t mask = draw_mask(r);
	struct list_event *e = mask ? list_add(w->l, EVENT_ACCESS) : NULL;

	if (!e)
		return;
	e->actor = warp;
	e->mask = mask;
	e->kind = is_lucky(w, 70) ? RACE_OP_READ : RACE_OP_WRITE;
	e->key = r->has_loops ? 1 + roll(w, 3) + 4 * e->kind : 0;
	draw_addresses(r, e, w->l->addresses[w->l->n - 1]);
	if (e->kind == RACE_OP_READ && w->has_nc && is_lucky(w, 50))
		e->flags = ORACLE_NC;
	if (r->has_atomics)
		make_atomic(r, e);
	if (w->is_calm || r->has_atomics || !is_lucky(w, 8))
		return;
	e->strength = RACE_RELAXED;
	e->scope = draw_scope(w);
	if (is_lucky(w, 30) && e->kind == RACE_OP_WRITE)
		e->kind = RACE_OP_RMW;
}

/* Not always of all lanes. */
static void add_row_barrier(struct rows *r)
{
	uint32_t masks[ROW_WARPS];

	r->generation++;
	for (uint32_t i = 0; i < r->nbarrier; i++)
		masks[i] = draw_mask(r) | 1u << (r->first + roll(&r->w, r->lanes));
	for (uint32_t i = 0; i < 2 * r->nbarrier; i++) {
		struct list_event *e =
			list_add(r->w.l, i < r->nbarrier ? EVENT_ARRIVE : EVENT_LEAVE);

		if (!e)
			return;
		e->actor = r->warps[i % r->nbarrier];
		e->mask = masks[i % r->nbarrier];
		e->key = 7;
		e->key2 = r->generation;
		e->flags = i < r->nbarrier ? ORACLE_BAR_RELEASE : 0;
	}
}

static void add_row_sync(struct rows *r, uint32_t warp)
{
	struct list_event *e = list_add(r->w.l, EVENT_WARP_SYNC);

	if (!e)
		return;
	e->actor = warp;
	e->mask = draw_mask(r) | 1u << (r->first + roll(&r->w, r->lanes));
}

/* One lane alone releases or acquires, so that its clock is no longer its neighbours'. */
static void add_row_flag(struct rows *r, uint32_t warp)
{
	struct list_event *e = list_add(r->w.l, EVENT_ACCESS);

	if (!e)
		return;
	e->actor = warp + r->first + roll(&r->w, r->lanes);
	e->kind = is_lucky(&r->w, 50) ? RACE_OP_READ : RACE_OP_WRITE;
	e->strength = e->kind == RACE_OP_READ ? RACE_ACQUIRE : RACE_RELEASE;
	e->scope = RACE_SCOPE_GPU;
	e->address = LIST_MEMORY + LIST_SPACING * 8;
	e->bytes = 4;
}

static void draw_rows(struct list *l, uint64_t seed, bool has_atomics)
{
	struct rows r = {.w = {.l = l, .rng = seed}, .has_atomics = has_atomics};
	struct world *w = &r.w;
	uint32_t length = 4 + roll(w, 14);
	bool has_host = is_lucky(w, 50);
	struct list_event *e;

	list_init(l);
	w->is_calm = is_lucky(w, 60);
	w->has_nc = is_lucky(w, 15);
	w->has_sc = is_lucky(w, 20);
	w->wide = 50;
	r.has_loops = is_lucky(w, 40);
	r.is_same = is_lucky(w, 40);
	r.is_narrow = is_lucky(w, has_atomics ? 10 : 30);
	r.has_flags = has_atomics && is_lucky(w, 40);
	r.nwarps = 2 + roll(w, ROW_WARPS - 1);
	r.nbarrier = is_lucky(w, 50) ? r.nwarps : r.nwarps - 1;
	r.lanes = 3 + roll(w, 6);
	r.first = is_lucky(w, 60) ? 0 : roll(w, 24);
	if (is_lucky(w, 15)) { /* whole warps */
		r.lanes = ORACLE_LANES;
		r.first = 0;
		length = 3 + roll(w, 5);
	}
	if (has_host) {
		e = list_add(l, EVENT_HOST);
		e->actor = FIRST_HOST;
		add_host_copy(w, 2);
	}
	add_grid(w, 1, 0);
	l->grids[0].block_threads = 128;
	start_grid(w, 1, 3, has_host);
	for (uint32_t i = 0; i < r.nwarps; i++)
		r.warps[i] =
			LIST_GRID + i * 32 + (i == r.nwarps - 1 && r.nbarrier < r.nwarps ? 128 : 0);
	for (uint32_t i = 0; i < length; i++) {
		uint32_t dice = roll(w, 100), warp = r.warps[roll(w, r.nwarps)];

		if (dice < 20) {
			add_row_barrier(&r);
		} else if (dice < 28) {
			add_row_sync(&r, warp);
		} else if (dice < 34) {
			add_row_flag(&r, warp);
		} else if (dice < 45 && w->has_sc && (e = list_add(l, EVENT_FENCE))) {
			e->actor = warp + r.first + roll(w, r.lanes);
			if (is_lucky(w, 50)) {
				e->actor = warp;
				e->mask = draw_mask(&r) | 1u << (r.first + roll(w, r.lanes));
			}
			e->strength = RACE_SC;
			e->scope = draw_scope(w);
		} else {
			add_row(&r, warp);
		}
	}
	if (has_host) {
		add_host(w, EVENT_END, 3);
		add_host_copy(w, 4);
	}
	list_fix(l);
}

/* ---- copies --------------------------------------------------------------------- */

/* Three threads, of two blocks, and their copies: all on one piece of memory, which is overwritten
 * and read again, in parts, with some waiting between. */
#define COPY_THREADS 3u

static struct list_event *add_of(struct world *w, enum event_type type, uint32_t actor)
{
	struct list_event *e = list_add(w->l, type);

	if (e)
		e->actor = actor;
	return e;
}

static void add_part(struct world *w, uint32_t actor, uint8_t kind, uint8_t proxy)
{
	static const uint8_t parts[][2] = {{0, 8}, {0, 4}, {4, 4}, {4, 8},
					   {2, 4}, {0, 2}, {1, 1}, {0, 16}};
	const uint8_t *part = parts[w->is_calm ? 0 : roll(w, 8)];
	struct list_event *e = add_of(w, EVENT_ACCESS, actor);

	if (!e)
		return;
	e->kind = kind;
	e->proxy = proxy;
	e->address = LIST_MEMORY + part[0];
	e->bytes = part[1];
	e->flags = w->shared ? ORACLE_SHARED : 0;
}

/* Thread `to` waits for what `from` has done. */
static void hand_over(struct world *w, uint32_t from, uint32_t to)
{
	for (unsigned is_wait = 0; is_wait < 2; is_wait++) {
		struct list_event *e =
			add_of(w, is_wait ? EVENT_MB_WAIT : EVENT_MB_ARRIVE, is_wait ? to : from);
		if (!e)
			return;
		e->address = LIST_MEMORY + ('m' - 'a') * LIST_SPACING;
		e->strength = is_wait ? RACE_ACQUIRE : RACE_RELEASE;
		e->scope = RACE_SCOPE_CLUSTER;
		e->key2 = w->phase;
	}
	w->phase++;
}

/* `steps` counts what it has done. */
static void fork_copy(struct world *w, uint32_t k)
{
	uint32_t n = w->ncopies;

	act_fork(w, &w->actors[k]);
	if (w->ncopies > n)
		w->copies[n].steps = 0;
}

static void act_copy(struct world *w, struct copy *c)
{
	uint8_t kind = (uint8_t)(1 + roll(w, 2));

	if (!c->is_open)
		return;
	c->steps++;
	add_part(w, c->number, c->is_read ? RACE_OP_WRITE : kind, c->proxy);
}

static void wait_copy(struct world *w, uint32_t actor, struct copy *c)
{
	bool is_all = is_lucky(w, 75);
	struct list_event *e = c->steps ? add_of(w, EVENT_JOIN, actor) : NULL;

	if (!e)
		return;
	e->other = c->number;
	e->join = is_all ? ORACLE_JOIN_ALL : ORACLE_JOIN_READ;
	c->is_read = true;
	c->is_open = c->is_open && !is_all;
}

static void draw_copies(struct list *l, uint64_t seed)
{
	static const uint32_t threads[COPY_THREADS] = {LIST_GRID, LIST_GRID + 32, LIST_GRID + 64};
	struct world w = {.l = l, .rng = seed};
	uint32_t length = 4 + roll(&w, 16);
	struct list_event *e;

	list_init(l);
	w.is_calm = is_lucky(&w, 40);
	w.shared = roll(&w, 2);
	add_grid(&w, 1, 0);
	start_grid(&w, 1, 2, false);
	for (uint32_t i = 0; i < COPY_THREADS; i++)
		w.actors[i].number = threads[i];
	for (uint32_t i = 0; i < length; i++) {
		uint32_t dice = roll(&w, 100), k = roll(&w, COPY_THREADS), t = threads[k];
		struct copy *c = w.ncopies ? &w.copies[roll(&w, w.ncopies)] : NULL;

		if (dice < 26) {
			add_part(&w, t, (uint8_t)(1 + roll(&w, 2)), RACE_PROXY_GENERIC);
		} else if (dice < 42 || !c) {
			fork_copy(&w, k);
		} else if (dice < 64) {
			act_copy(&w, c);
		} else if (dice < 82) {
			wait_copy(&w, t, c);
		} else if (dice < 92) {
			hand_over(&w, t, threads[(k + 1 + roll(&w, 2)) % COPY_THREADS]);
		} else if ((e = add_of(&w, EVENT_PROXY, t))) {
			e->proxy_kinds = ORACLE_PROXY_GLOBAL | ORACLE_PROXY_SHARED;
		}
	}
	list_fix(l);
}

static void draw(struct list *l, uint64_t seed, uint64_t number)
{
	if (number % 12 == 1)
		draw_copies(l, (seed << 32) + number);
	else if (number % 3 == 2)
		draw_rows(l, (seed << 32) + number, number % 6 == 5);
	else
		draw_execution(l, (seed << 32) + number);
}

/* ---- the comparison ----------------------------------------------------------- */

static struct {
	unsigned run, racy, races, too_long, coarse, failed;
} counts;

static void compare(struct list *l, enum oracle_sc sc, uint64_t seed, uint64_t number)
{
	static struct naive_result r;
	const char *diff = list_compare(l, sc);

	naive_judge(l->e, l->n, sc, &r);
	counts.run++;
	counts.racy += r.npairs > 0;
	counts.races += r.npairs;
	counts.too_long += r.is_too_long;
	if (!diff)
		return;
	counts.failed++;
	printf("# execution %llu %llu (%s): %s\n", (unsigned long long)seed,
	       (unsigned long long)number, sc == ORACLE_SC_PROGRAM ? "program" : "execution", diff);
	list_shrink(l, sc);
	printf("test random.%llu.%llu\t# %s\n", (unsigned long long)seed,
	       (unsigned long long)number, list_compare(l, sc));
	list_print(l, stdout);
	naive_judge(l->e, l->n, sc, &r);
	for (uint32_t i = 0; i < r.npairs; i++)
		if (!i || r.pairs[i].first != r.pairs[i - 1].first ||
		    r.pairs[i].second != r.pairs[i - 1].second)
			printf("race L%u L%u\n", r.pairs[i].first + 1, r.pairs[i].second + 1);
	printf("%s\n", r.npairs ? "" : "norace\n");
}

/* Is a pair that the order of execution leaves also one that the program leaves? Where reads fit
 * the schedule, it is: a fence that is forced before another one ran before it. */
static void contain(struct list *l, uint64_t seed, uint64_t number)
{
	static struct naive_result of_program, r;

	naive_judge(l->e, l->n, ORACLE_SC_PROGRAM, &of_program);
	naive_judge(l->e, l->n, ORACLE_SC_EXECUTION, &r);
	for (uint32_t i = 0; i < r.npairs; i++) {
		bool is_there = of_program.is_too_long;
		for (uint32_t k = 0; k < of_program.npairs && !is_there; k++)
			is_there = of_program.pairs[k].first == r.pairs[i].first &&
				   of_program.pairs[k].second == r.pairs[i].second;
		if (is_there)
			continue;
		counts.failed++;
		printf("# execution %llu %llu: L%u L%u only by order of execution\n",
		       (unsigned long long)seed, (unsigned long long)number, r.pairs[i].first + 1,
		       r.pairs[i].second + 1);
		list_print(l, stdout);
		return;
	}
}

/* Where fences become too many, is each race that is reported one? */
static void coarsen(struct list *l, uint64_t seed, uint64_t number)
{
	bool is_coarse;
	const char *diff = list_compare_coarse(l, &is_coarse);

	counts.coarse += is_coarse;
	if (!diff)
		return;
	counts.failed++;
	printf("# execution %llu %llu (coarse): %s\n", (unsigned long long)seed,
	       (unsigned long long)number, diff);
	list_print(l, stdout);
}

int main(int argc, char **argv)
{
	static struct list l;
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	bool is_mixed;

	for (uint64_t i = first; i < first + n && counts.failed < 5; i++) {
		draw(&l, seed, i);
		compare(&l, ORACLE_SC_EXECUTION, seed, i);
		draw(&l, seed, i);
		compare(&l, ORACLE_SC_PROGRAM, seed, i);
		draw(&l, seed, i);
		contain(&l, seed, i);
		draw(&l, seed, i);
		coarsen(&l, seed, i);
	}
	printf("%u verdicts, %u with races (%u pairs), %u too long, %u wrong; %u coarse\n",
	       counts.run, counts.racy, counts.races, counts.too_long, counts.failed,
	       counts.coarse);
	is_mixed =
		n < 100 || (counts.racy > counts.run / 10 && counts.racy < counts.run * 95 / 100 &&
			    counts.too_long < counts.run / 5 && counts.coarse > counts.run / 200);
	if (!is_mixed)
		printf("the mix is off: too many or too few races, or coarse ones\n");
	return counts.failed || !is_mixed ? 1 : 0;
}
