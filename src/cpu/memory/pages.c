/*
 * pages.c - memory whose pages are provided, or noted, before they are used (struct cpu_pager).
 *
 * A judge has the memory of another device, and copies what is needed when it is needed; a recorder
 * keeps what a launch finds. Both want to know of the first use of each page. An instruction keeps
 * the allocation that it used last (struct cpu_hit) and is asked about again only when it leaves
 * it; with a pager it keeps the run of pages around its address that are known already, so the
 * calls end as soon as all pages have been used.
 *
 * A page is known by its granule, in a hash table: two bits, accessed and read. Several allocations
 * may lie in one; the pager is asked for each of them when the page is used. Addresses, not
 * allocations, are followed: memory that is freed and allocated again within a launch counts as
 * known.
 *
 * Misses: what inserted instructions do; what copies and fills of the host do.
 * Costs: without a pager a test at the look-up of an allocation. With one, instructions whose
 * accesses jump between far pages look these up each time.
 */
#include "base/table.h"
#include "cpu/pages.h"
#include "cpu/sched.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE	 512u /* pages */
#define USED	 1u
#define READ	 2u
#define FAR	 64u /* pages on each side that are looked at for a run */
#define MIN_PAGE 4096u

struct granule {
	uint64_t number; /* address / page / GRANULE */
	UT_hash_handle hh;
	uint8_t state[GRANULE];
};

struct cpu_pages {
	struct cpu_pager pager;
	struct granule *granules, *last;
	uint32_t nrunning;	 /* kernels */
	const struct cpu_op *op; /* whose memory is followed, where the pager has `begin` */
	uint64_t starts;
	bool is_alone, is_refused;
};

void cpu_set_pager(struct cpu_machine *m, const struct cpu_pager *pager)
{
	struct cpu_pages *g = base_calloc(1, sizeof(*g));

	cpu_pages_free(m);
	g->pager = *pager;
	if (g->pager.page < MIN_PAGE)
		g->pager.page = MIN_PAGE;
	m->pages = g;
	/* What instructions keep is stale. */
	atomic_fetch_add(&m->space_version, 2);
}

static void forget(struct cpu_pages *g)
{
	struct granule *x, *next;

	HASH_ITER(hh, g->granules, x, next)
	{
		HASH_DEL(g->granules, x);
		free(x);
	}
	g->last = NULL;
}

void cpu_pages_free(struct cpu_machine *m)
{
	if (!m->pages)
		return;
	forget(m->pages);
	free(m->pages);
	m->pages = NULL;
}

bool cpu_pages_refused(const struct cpu_machine *m)
{
	return m->pages && m->pages->is_refused;
}

bool cpu_pages_missing(struct cpu_machine *m, uint64_t addr)
{
	const struct cpu_pages *g = m->pages;

	return g && g->pager.missing && g->pager.missing(g->pager.arg, addr);
}

/* ---- use ------------------------------------------------------------------------------- */

static uint8_t *state_of(struct cpu_pages *g, uint64_t page, bool is_made)
{
	uint64_t number = page / GRANULE;
	struct granule *x = g->last;

	if (!x || x->number != number)
		HASH_FIND(hh, g->granules, &number, sizeof(number), x);
	if (!x && is_made) {
		x = base_calloc(1, sizeof(*x));
		x->number = number;
		HASH_ADD(hh, g->granules, number, sizeof(x->number), x);
	}
	if (!x)
		return NULL;
	g->last = x;
	return &x->state[page % GRANULE];
}

static bool is_known(struct cpu_pages *g, uint64_t page, uint8_t needs)
{
	const uint8_t *s = state_of(g, page, false);

	return s && (*s & needs) == needs;
}

/* The parts of a page that are memory. */
static bool touch(struct cpu_machine *m, uint64_t page, bool is_read)
{
	struct cpu_pages *g = m->pages;
	uint64_t at = page * g->pager.page, to = at + g->pager.page;
	uint8_t *s = state_of(g, page, true);
	struct cpu_mem_info info;

	while (at < to && cpu_space_from(m, at, &info) && info.base < to) {
		uint64_t from = info.base > at ? info.base : at;
		at = info.base + info.bytes < to ? info.base + info.bytes : to;
		if (at > from && !g->pager.touch(g->pager.arg, from, at - from, is_read)) {
			g->is_refused = true;
			return false;
		}
	}
	*s |= is_read ? USED | READ : USED;
	return true;
}

void cpu_pages_placed(struct cpu_machine *m, uint64_t base, uint64_t end)
{
	struct cpu_pages *g = m->pages;

	for (uint64_t p = base / g->pager.page; p <= (end - 1) / g->pager.page; p++) {
		uint8_t *s = state_of(g, p, false);
		if (s)
			*s = 0;
		else /* the rest of the granule is as new */
			p = p / GRANULE * GRANULE + GRANULE - 1;
	}
}

bool cpu_pages_use(struct cpu_machine *m, uint64_t addr, uint64_t bytes, bool is_whole,
		   enum cpu_use use, uint64_t *base, uint64_t *end)
{
	struct cpu_pages *g = m->pages;
	bool is_read = use == CPU_USE_READ || use == CPU_USE_UPDATE;
	uint8_t needs = is_read ? USED | READ : USED;
	uint64_t size = g->pager.page, first = addr / size, last = (addr + bytes - 1) / size;
	uint64_t lo = first, hi = last + 1;

	if (use == CPU_USE_INSERTED || !bytes || (g->pager.begin && !g->op))
		return true;
	for (uint64_t p = first; p <= last; p++) {
		if (is_known(g, p, needs))
			continue;
		if ((!is_whole && bytes > CPU_PAGES_STEP) || !touch(m, p, is_read))
			return false;
	}
	while (first - lo < FAR && lo * size > *base && is_known(g, lo - 1, needs))
		lo--;
	while (hi - last < FAR && hi * size < *end && is_known(g, hi, needs))
		hi++;
	*base = lo * size < *base ? *base : lo * size;
	*end = hi * size > *end ? *end : hi * size;
	return true;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* The launch with the parameters that it has taken, in *shown. */
static struct cpu_run run_of(const struct cpu_op *op, struct cpu_launch *shown)
{
	*shown = op->work.launch;
	shown->params = op->copy;
	return (struct cpu_run){.launch = shown,
				.device = op->work.device,
				.grid = op->grid->id,
				.stream = op->work.stream,
				.origin = op->work.origin};
}

void cpu_pages_begin(struct cpu_op *op)
{
	struct cpu_pages *g = op->m->pages;
	struct cpu_launch shown;

	if (!g || !g->pager.begin || g->op || !op->grid->events)
		return;
	struct cpu_run run = run_of(op, &shown);
	if (!g->pager.begin(g->pager.arg, &run))
		return;
	forget(g);
	g->op = op;
	g->is_alone = cpu_engine_is_alone(op->m->engine); /* the grid isn't listed yet */
	g->starts = op->m->engine->starts;
	atomic_fetch_add(&op->m->space_version, 2);
}

void cpu_pages_end(struct cpu_op *op)
{
	struct cpu_pages *g = op->m->pages;
	struct cpu_launch shown;

	if (!g || g->op != op)
		return;
	struct cpu_run run = run_of(op, &shown);
	g->op = NULL;
	if (g->pager.end)
		g->pager.end(g->pager.arg, &run, g->is_alone && g->starts == op->m->engine->starts);
	forget(g);
	atomic_fetch_add(&op->m->space_version, 2);
}
