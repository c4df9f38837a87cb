/*
 * second.c - the second judge: barriers, unbounded history, nothing clever.
 */
#include "second.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/events/internal.h"

#define GRIDS 16u

enum kind { READ, WRITE, BLOCK_ATOMIC, ATOMIC, KINDS };

struct thread {
	uint32_t *clock; /* of each thread of its block: what happened before */
};

struct grid {
	uint32_t first, stride, blocks, size; /* actors; threads of a block */
	struct thread *threads;		      /* by actor - first */
	bool is_plain;			      /* barriers are all that orders */
	uint64_t began, ended;		      /* the numbers of its first and last access */
};

/* Accesses that are equal to a later one are kept once. */
struct access {
	uint32_t actor, epoch, line;
	uint8_t kind, grid;
	bool is_racy;
};

struct byte {
	uint64_t address;
	struct access *v;
	size_t n, room;
	UT_hash_handle hh;
};

struct bar {
	struct {
		uint64_t key, generation;
	} key;
	uint32_t *clock;
	UT_hash_handle hh;
};

static struct {
	bool is_on;
	struct grid grid[GRIDS];
	unsigned ngrids;
	struct byte *bytes, *gone; /* gone: of memory that is new now; by old address */
	struct bar *bars;
	uint64_t racy;
	uint64_t accesses;
} all;

static void *zeroes(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

/* The grid of an actor; NULL: a copy, a host thread, or one that is not followed. */
static struct grid *grid_of(uint32_t actor)
{
	for (unsigned i = 0; i < all.ngrids; i++) {
		struct grid *g = &all.grid[i];
		if (actor - g->first < g->stride * g->blocks &&
		    (actor - g->first) % g->stride < g->size)
			return g;
	}
	return NULL;
}

static uint32_t place_of(const struct grid *g, uint32_t actor)
{
	return (actor - g->first) % g->stride;
}

static uint32_t *clock_of(const struct grid *g, uint32_t actor)
{
	return g->threads[actor - g->first].clock;
}

static void join(uint32_t *to, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

static bool is_conflict(const struct access *a, const struct access *b, bool is_same_block)
{
	if (a->kind >= BLOCK_ATOMIC && b->kind >= BLOCK_ATOMIC)
		return !is_same_block && (a->kind == BLOCK_ATOMIC || b->kind == BLOCK_ATOMIC);
	return a->kind != READ || b->kind != READ;
}

static void add_to(struct byte *b, struct access now)
{
	const struct grid *g = &all.grid[now.grid];
	const uint32_t *clock = clock_of(g, now.actor);
	uint32_t block = (now.actor - g->first) / g->stride;

	for (size_t i = 0; i < b->n; i++) {
		struct access *a = &b->v[i];
		bool is_same = a->actor != now.actor && a->grid == now.grid &&
			       (a->actor - g->first) / g->stride == block;

		if (a->actor == now.actor && a->epoch == now.epoch && a->line == now.line)
			return;
		if (a->grid != now.grid || a->actor == now.actor ||
		    (is_same && a->epoch <= clock[place_of(g, a->actor)]) ||
		    !is_conflict(a, &now, is_same))
			continue;
		a->is_racy = now.is_racy = true;
	}
	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 8;
		b->v = realloc(b->v, b->room * sizeof(*b->v));
		if (!b->v)
			abort();
	}
	b->v[b->n++] = now;
}

static uint32_t line_of(const void *inst)
{
	const struct cpu_site *s = inst;
	const struct ptx_loc *l = s && s->func ? s->func->stmts[s->pc]->loc : NULL;

	return l ? l->line : 0;
}

static void add(uint32_t actor, const struct oracle_acc *acc, uint64_t address)
{
	struct grid *g = grid_of(actor);
	struct access now = {.actor = actor, .line = line_of(acc->inst)};
	bool is_strong = acc->strength != RACE_WEAK;

	if (!g || acc->flags & (ORACLE_INSERTED | ORACLE_MBARRIER))
		return;
	/* What it returns may order. */
	if (is_strong && (acc->strength != RACE_RELAXED || acc->kind == RACE_OP_READ ||
			  (acc->kind == RACE_OP_RMW && !(acc->flags & ORACLE_RED))))
		g->is_plain = false;
	if (is_strong && acc->kind == RACE_OP_READ)
		return;
	g->ended = ++all.accesses;
	if (!g->began)
		g->began = g->ended;
	now.grid = (uint8_t)(g - all.grid);
	now.epoch = clock_of(g, actor)[place_of(g, actor)];
	now.kind = !is_strong			  ? acc->kind == RACE_OP_READ ? READ : WRITE
		   : acc->scope == RACE_SCOPE_CTA ? BLOCK_ATOMIC
						  : ATOMIC;
	for (uint64_t at = address; at < address + acc->bytes; at++) {
		struct byte *b;

		HASH_FIND(hh, all.bytes, &at, sizeof(at), b);
		if (!b) {
			b = zeroes(1, sizeof(*b));
			b->address = at;
			HASH_ADD(hh, all.bytes, address, sizeof(at), b);
		}
		add_to(b, now);
	}
}

/* ---- the calls to the oracle ------------------------------------------------------------ */

/* The linker's --wrap: each call goes to __wrap_, and from there to the oracle. */
#define WRAP(name) __typeof__(oracle_##name) __real_oracle_##name, __wrap_oracle_##name
WRAP(grid);
WRAP(access);
WRAP(access_warp);
WRAP(forget);
WRAP(fence);
WRAP(mbarrier_arrive);
WRAP(mbarrier_wait);
WRAP(warp_sync);
WRAP(arrive);
WRAP(leave);

uint32_t __wrap_oracle_grid(struct oracle *o, const struct oracle_grid *g)
{
	uint32_t first = __real_oracle_grid(o, g);
	struct grid *to = &all.grid[all.ngrids];

	if (!all.is_on || first == ORACLE_NO_ACTOR || all.ngrids == GRIDS)
		return first;
	*to = (struct grid){.first = first,
			    .stride = oracle_stride(g->block_threads),
			    .blocks = g->blocks,
			    .size = g->block_threads,
			    .is_plain = g->cluster_blocks <= 1};
	to->threads = zeroes((size_t)to->stride * to->blocks, sizeof(*to->threads));
	for (uint32_t i = 0; i < to->stride * to->blocks; i++) {
		to->threads[i].clock = zeroes(to->stride, sizeof(uint32_t));
		to->threads[i].clock[i % to->stride] = 1;
	}
	all.ngrids++;
	return first;
}

void __wrap_oracle_access(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			  uint64_t address)
{
	if (all.is_on)
		add(actor, acc, address);
	__real_oracle_access(o, actor, acc, address);
}

void __wrap_oracle_access_warp(struct oracle *o, uint32_t warp, uint32_t mask,
			       const struct oracle_acc *acc, const uint64_t *addresses)
{
	for (uint32_t l = 0; l < 32 && all.is_on; l++)
		if (mask >> l & 1)
			add(warp + l, acc, addresses[l]);
	__real_oracle_access_warp(o, warp, mask, acc, addresses);
}

static void forget(uint64_t address, uint64_t bytes)
{
	struct byte *b, *next;

	HASH_ITER(hh, all.bytes, b, next)
	{
		if (b->address - address >= bytes)
			continue;
		HASH_DEL(all.bytes, b);
		/* Judged at the end: the list needs no key that is its own. */
		b->hh.next = all.gone;
		all.gone = b;
	}
}

void __wrap_oracle_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	if (all.is_on)
		forget(address, bytes);
	__real_oracle_forget(o, address, bytes);
}

static void set_unsure(uint32_t actor)
{
	struct grid *g = all.is_on ? grid_of(actor) : NULL;

	if (g)
		g->is_plain = false;
}

void __wrap_oracle_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t strength,
			 uint8_t scope)
{
	set_unsure(warp);
	__real_oracle_fence(o, warp, mask, strength, scope);
}

void __wrap_oracle_mbarrier_arrive(struct oracle *o, uint32_t actor, uint64_t address,
				   uint64_t phase, uint8_t strength, uint8_t scope)
{
	set_unsure(actor);
	__real_oracle_mbarrier_arrive(o, actor, address, phase, strength, scope);
}

void __wrap_oracle_mbarrier_wait(struct oracle *o, uint32_t actor, uint64_t address, uint64_t phase,
				 uint8_t strength, uint8_t scope)
{
	set_unsure(actor);
	__real_oracle_mbarrier_wait(o, actor, address, phase, strength, scope);
}

/* The lanes of the mask: what all of them know goes to `sum`. */
static void gather(const struct grid *g, uint32_t warp, uint32_t mask, uint32_t *sum)
{
	for (uint32_t l = 0; l < 32; l++)
		if (mask >> l & 1)
			join(sum, clock_of(g, warp + l), g->stride);
}

/* ... and back. */
static void spread(const struct grid *g, uint32_t warp, uint32_t mask, const uint32_t *sum)
{
	for (uint32_t l = 0; l < 32; l++)
		if (mask >> l & 1)
			join(clock_of(g, warp + l), sum, g->stride);
}

/* What they do from now on is new to the others. */
static void step(const struct grid *g, uint32_t warp, uint32_t mask)
{
	for (uint32_t l = 0; l < 32; l++)
		if (mask >> l & 1)
			clock_of(g, warp + l)[place_of(g, warp + l)]++;
}

void __wrap_oracle_warp_sync(struct oracle *o, uint32_t warp, uint32_t mask)
{
	struct grid *g = all.is_on ? grid_of(warp) : NULL;

	if (g) {
		uint32_t *sum = zeroes(g->stride, sizeof(*sum));
		gather(g, warp, mask, sum);
		spread(g, warp, mask, sum);
		step(g, warp, mask);
		free(sum);
	}
	__real_oracle_warp_sync(o, warp, mask);
}

static struct bar *bar_of(const struct grid *g, uint64_t key, uint64_t generation)
{
	struct bar k, *b;

	memset(&k, 0, sizeof(k));
	k.key.key = key;
	k.key.generation = generation;
	HASH_FIND(hh, all.bars, &k.key, sizeof(k.key), b);
	if (b)
		return b;
	b = zeroes(1, sizeof(*b));
	b->key = k.key;
	b->clock = zeroes(g->stride, sizeof(*b->clock));
	HASH_ADD(hh, all.bars, key, sizeof(b->key), b);
	return b;
}

/* With a count a barrier isn't one of the whole block to a detector: bar.sync a, b. */
static bool has_count(const void *inst)
{
	const struct cpu_site *s = inst;

	return !s || !s->func || s->func->stmts[s->pc]->nops % 2 == 0;
}

void __wrap_oracle_arrive(struct oracle *o, uint32_t warp, uint32_t mask,
			  const struct oracle_arrival *a)
{
	struct grid *g = all.is_on ? grid_of(warp) : NULL;

	if (g && (has_count(a->inst) || a->flags != (ORACLE_BAR_RELEASE | ORACLE_BAR_LEAVES))) {
		g->is_plain = false;
	} else if (g) {
		uint32_t *sum = bar_of(g, a->key, a->generation)->clock;
		gather(g, warp, mask, sum);
		step(g, warp, mask);
	}
	__real_oracle_arrive(o, warp, mask, a);
}

void __wrap_oracle_leave(struct oracle *o, uint32_t warp, uint32_t mask, uint64_t key,
			 uint64_t generation)
{
	struct grid *g = all.is_on ? grid_of(warp) : NULL;

	if (g)
		spread(g, warp, mask, bar_of(g, key, generation)->clock);
	__real_oracle_leave(o, warp, mask, key, generation);
}

/* ---- judgement -------------------------------------------------------------------------- */

void second_begin(void)
{
	uint64_t racy = all.racy;

	memset(&all, 0, sizeof(all));
	all.racy = racy;
	all.is_on = true;
}

/* Have launches that ran at the same time accessed it? A detector has the history of one. */
static bool is_crossed(const struct byte *b)
{
	for (size_t i = 1; i < b->n; i++) {
		const struct grid *a = &all.grid[b->v[i - 1].grid], *c = &all.grid[b->v[i].grid];
		if (a != c && a->began < c->ended && c->began < a->ended)
			return true;
	}
	return false;
}

/* Is one of the byte's accesses reported? True where none of a plain launch races. A location is
 * reported once: its first race may be with another launch. */
static bool is_found(const struct byte *b, const bool *lines, unsigned nlines, uint32_t *missed)
{
	bool has_race = false;

	if (is_crossed(b))
		return true;

	for (size_t i = 0; i < b->n; i++) {
		const struct access *a = &b->v[i];

		if (a->line < nlines && lines[a->line])
			return true;
		if (!a->is_racy || !all.grid[a->grid].is_plain)
			continue;
		has_race = true;
		*missed = a->line;
	}
	return !has_race;
}

static bool has_race(const struct byte *b)
{
	if (is_crossed(b))
		return false;
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].is_racy && all.grid[b->v[i].grid].is_plain)
			return true;
	return false;
}

static bool agrees(const struct byte *b, const bool *lines, unsigned nlines, char *text,
		   size_t room)
{
	uint32_t line = 0;

	for (; b; b = b->hh.next) {
		all.racy += has_race(b);
		if (is_found(b, lines, nlines, &line))
			continue;
		snprintf(text, room, "the second judge: no data race at line %u", line);
		return false;
	}
	return true;
}

bool second_agrees(const bool *is_certain, unsigned nlines, char *text, size_t room)
{
	return agrees(all.bytes, is_certain, nlines, text, room) &&
	       agrees(all.gone, is_certain, nlines, text, room);
}

static bool has_found(const struct byte *b, unsigned a, unsigned c, const bool *lines,
		      unsigned nlines, bool *is_there)
{
	for (; b; b = b->hh.next) {
		bool has[2] = {false, false}, has_line = false, is_weak = false;

		for (size_t i = 0; i < b->n; i++) {
			const struct access *x = &b->v[i];
			bool is_one = x->line == a || x->line == c;

			has[0] |= x->line == a && x->is_racy;
			has[1] |= x->line == c && x->is_racy;
			is_weak |= is_one && x->kind < BLOCK_ATOMIC;
			has_line |= x->line < nlines && lines[x->line];
		}
		if (!has[0] || !has[1] || !is_weak || is_crossed(b))
			continue;
		*is_there = true;
		if (has_line)
			return true;
	}
	return false;
}

bool second_has_found(unsigned a, unsigned b, const bool *lines, unsigned nlines)
{
	bool is_there = false;

	return has_found(all.bytes, a, b, lines, nlines, &is_there) ||
	       has_found(all.gone, a, b, lines, nlines, &is_there) || !is_there;
}

static bool has_raced(const struct byte *b, unsigned line)
{
	for (; b; b = b->hh.next)
		for (size_t i = 0; i < b->n; i++)
			if (b->v[i].line == line && b->v[i].is_racy &&
			    all.grid[b->v[i].grid].is_plain)
				return true;
	return false;
}

bool second_has_raced(unsigned line)
{
	return has_raced(all.bytes, line) || has_raced(all.gone, line);
}

uint64_t second_racy_bytes(void)
{
	return all.racy;
}

void second_end(void)
{
	struct byte *b, *next;
	struct bar *r, *after;

	forget(0, UINT64_MAX);
	for (b = all.gone; b; b = next) {
		next = b->hh.next;
		free(b->v);
		free(b);
	}
	HASH_ITER(hh, all.bars, r, after)
	{
		HASH_DEL(all.bars, r);
		free(r->clock);
		free(r);
	}
	for (unsigned i = 0; i < all.ngrids; i++) {
		for (uint32_t t = 0; t < all.grid[i].stride * all.grid[i].blocks; t++)
			free(all.grid[i].threads[t].clock);
		free(all.grid[i].threads);
	}
	all.is_on = false;
	all.ngrids = 0;
	all.gone = NULL;
}
