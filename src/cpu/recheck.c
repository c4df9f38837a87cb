/*
 * recheck.c - copies and fills of the host read their memory again: has it been changed?
 *
 * What an operation reads from device memory and what it writes there is kept, up to KEEP_BYTES or
 * SEGMENTS pieces of rows; the operation then stays unfinished for a random time while others
 * continue, compares, and continues. A change of the bytes meanwhile is ordered neither before the
 * operation nor after it, since everything that waits for the operation waits for its end: so there
 * is no false report. Only device memory is compared: host code may own the other kinds, and no
 * oracle sees its accesses.
 *
 * Misses: changes that restore the old bytes, rows beyond SEGMENTS in KEEP_BYTES.
 * Costs: up to KEEP_BYTES for each operation that runs; a wait ends at once if nothing else could
 * run.
 */
#include "cpu/sched.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES (1u << 20)
#define SEGMENTS   64u

struct segment {
	const uint8_t *src, *dst; /* NULL: not looked at */
	uint64_t at;		  /* of the operation's bytes */
	uint32_t n, kept;	  /* bytes, where in `keep` */
};

struct cpu_recheck {
	uint64_t until; /* when to compare, on the machine's clock */
	uint64_t bytes; /* of the whole operation */
	uint64_t ndone; /* bytes since the last comparison */
	uint32_t nsegments, nkept, room;
	bool is_pending, is_last;
	bool has_src, has_dst;
	bool is_reported[2]; /* destination, source */
	struct segment segments[SEGMENTS];
	uint8_t keep[];
};

static bool is_device(struct cpu_machine *m, uint64_t addr)
{
	struct cpu_mem_info i;

	return cpu_mem_find(m, addr, &i) && (i.kind == CPU_MEM_DEVICE || i.kind == CPU_MEM_MODULE);
}

static uint64_t span(uint64_t width, uint64_t pitch, uint64_t height, uint64_t slice,
		     uint64_t depth)
{
	return width && height && depth ? (depth - 1) * slice + (height - 1) * pitch + width : 0;
}

/* A copy onto itself changes its own source. */
static bool overlaps(const struct cpu_copy *c)
{
	uint64_t n = span(c->width, c->dst_pitch, c->height, c->dst_slice, c->depth);
	uint64_t k = span(c->width, c->src_pitch, c->height, c->src_slice, c->depth);

	return c->dst < c->src + k && c->src < c->dst + n;
}

void cpu_recheck_start(struct cpu_worker *k, struct cpu_op *op)
{
	const struct cpu_copies *check = &k->m->copies;
	const struct cpu_copy *c = &op->work.copy;
	const struct cpu_fill *f = &op->work.fill;
	bool is_copy = op->work.kind == CPU_WORK_COPY;
	struct cpu_recheck r = {0};

	if (!check->fn || (!is_copy && op->work.kind != CPU_WORK_FILL))
		return;
	r.has_dst = is_device(k->m, is_copy ? c->dst : f->dst);
	r.has_src = is_copy && !op->copy && is_device(k->m, c->src);
	if ((!r.has_dst && !r.has_src) || (r.has_dst && r.has_src && overlaps(c)))
		return;
	if (check->sample > 1 && cpu_random_below(k, check->sample)) {
		k->m->copies.stats.sampled++;
		return;
	}
	r.bytes = is_copy ? c->width * c->height * c->depth
			  : f->width * f->height * f->depth * f->size;
	r.room = r.bytes < KEEP_BYTES ? (uint32_t)r.bytes : KEEP_BYTES;
	op->recheck = malloc(sizeof(r) + r.room);
	if (!op->recheck)
		return;
	memcpy(op->recheck, &r, sizeof(r));
	k->m->copies.stats.checked++;
}

void cpu_recheck_keep(struct cpu_op *op, uint64_t src, uint64_t dst, uint64_t at, uint64_t n)
{
	struct cpu_recheck *r = op->recheck;

	if (!r)
		return;
	r->ndone += n;
	if (n > r->room - r->nkept)
		n = r->room - r->nkept;
	if (!n || r->nsegments == SEGMENTS)
		return;
	r->segments[r->nsegments++] =
		(struct segment){.src = r->has_src ? (const uint8_t *)(uintptr_t)src : NULL,
				 .dst = r->has_dst ? (const uint8_t *)(uintptr_t)dst : NULL,
				 .at = at,
				 .n = (uint32_t)n,
				 .kept = r->nkept};
	memcpy(r->keep + r->nkept, (const void *)(uintptr_t)dst, n);
	r->nkept += (uint32_t)n;
}

bool cpu_recheck_wait(struct cpu_worker *k, struct cpu_op *op, bool is_end)
{
	struct cpu_recheck *r = op->recheck;

	if (!r || !r->nsegments || (!is_end && r->ndone < KEEP_BYTES))
		return is_end;
	r->is_pending = true;
	r->is_last = is_end;
	r->until = k->clock + 1 + cpu_random_below(k, k->m->copies.delay + 1);
	return false;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static void report(struct cpu_worker *k, struct cpu_op *op, const struct segment *s, bool is_source,
		   uint32_t i)
{
	const struct cpu_copies *check = &k->m->copies;
	struct cpu_recheck *r = op->recheck;
	const uint8_t *now = is_source ? s->src : s->dst;
	struct cpu_change c = {.device = op->work.device,
			       .stream = op->work.stream,
			       .origin = op->work.origin,
			       .is_source = is_source,
			       .bytes = r->bytes};

	i -= (uint32_t)((uintptr_t)(now + i) & 3) < i ? (uint32_t)((uintptr_t)(now + i) & 3) : i;
	c.width = s->n - i < 4 ? s->n - i : 4;
	c.address = (uint64_t)(uintptr_t)(now + i);
	c.at = s->at + i;
	memcpy(&c.was, r->keep + s->kept + i, c.width);
	memcpy(&c.now, now + i, c.width);
	r->is_reported[is_source] = true;
	check->fn(check->arg, &c);
}

static void compare(struct cpu_worker *k, struct cpu_op *op, const struct segment *s,
		    bool is_source)
{
	const struct cpu_recheck *r = op->recheck;
	const uint8_t *now = is_source ? s->src : s->dst, *was = r->keep + s->kept;
	uint32_t i = 0;

	if (!now || r->is_reported[is_source] || memcmp(now, was, s->n) == 0)
		return;
	while (i < s->n && now[i] == was[i])
		i++;
	if (i < s->n)
		report(k, op, s, is_source, i);
}

#define TURN_NS 16 /* other ready actors may be waiting here, too: time must advance */

/* No actor of this worker is ready: time may pass until one wakes. */
static void let_time_pass(struct cpu_worker *k, uint64_t until)
{
	struct cpu_worker_priv *p = k->priv;

	if (p->queue[0].n || p->queue[1].n) {
		k->clock += TURN_NS;
		return;
	}
	if (p->heap.n && cpu_wp(p->heap.v[0])->wake < until)
		until = cpu_wp(p->heap.v[0])->wake;
	if (until > k->clock)
		k->clock = until;
}

bool cpu_recheck_step(struct cpu_worker *k, struct cpu_op *op, bool *is_end)
{
	struct cpu_recheck *r = op->recheck;

	if (!r || !r->is_pending)
		return false;
	*is_end = false;
	if (k->clock < r->until)
		let_time_pass(k, r->until);
	if (k->clock < r->until)
		return true;
	for (uint32_t i = 0; i < r->nsegments; i++) {
		compare(k, op, &r->segments[i], true);
		compare(k, op, &r->segments[i], false);
		k->m->copies.stats.bytes += r->segments[i].n;
	}
	r->nsegments = r->nkept = 0;
	r->ndone = 0;
	r->is_pending = false;
	*is_end = r->is_last;
	return true;
}

/* ---- the caller's side --------------------------------------------------------------------- */

void cpu_check_copies(struct cpu_machine *m, uint32_t delay, uint32_t sample, cpu_change_fn *fn,
		      void *arg)
{
	m->copies.delay = delay;
	m->copies.sample = sample;
	m->copies.arg = arg;
	m->copies.fn = fn;
}

struct cpu_copy_stats cpu_get_copy_stats(const struct cpu_machine *m)
{
	return m->copies.stats;
}
