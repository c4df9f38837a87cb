/*
 * past.c - which launches the API orders: for each operation, the set of kernels before it.
 *
 * Kernels are numbered as they are submitted. An operation's set is the union of its dependencies'
 * sets, with themselves, and of what the host knew then: all that it has waited for. The host's
 * threads are taken as one, as the oracle does by default. Two kernels are unordered if neither is
 * in the other's set. A programmatic launch counts as after what it depends on from its beginning.
 *
 * A set holds the last CPU_PAST kernels; older ones count as ordered, as does everything once a
 * stream waits for a value in memory. Costs, only with a listener: 136 bytes for each
 * operation, some 1,000 steps for each dependency.
 */
#include "cpu/past.h"
#include "cpu/sched.h"

#include <stdlib.h>
#include <string.h>

/* Bit n % CPU_PAST: kernel n, of those up to `upto`. */
struct cpu_past {
	uint64_t upto;
	uint64_t bits[CPU_PAST / 64];
};

struct cpu_pasts {
	pthread_mutex_t lock;
	struct cpu_past host;
	uint64_t kernels;	   /* submitted */
	uint64_t number[CPU_PAST]; /* the kernel of grid i % CPU_PAST; 0: none */
	uint64_t grid[CPU_PAST];   /* that grid */
	unsigned device[CPU_PAST]; /* of kernel n % CPU_PAST */
	bool is_blind;		   /* streams wait for memory */
};

static bool has_bit(const struct cpu_past *p, uint64_t n)
{
	return p->bits[n % CPU_PAST / 64] >> n % 64 & 1;
}

static void set_bit(struct cpu_past *p, uint64_t n, bool is_set)
{
	uint64_t bit = 1ull << n % 64, *word = &p->bits[n % CPU_PAST / 64];

	*word = is_set ? *word | bit : *word & ~bit;
}

/* Drops the numbers that are too old beside `upto`. */
static void advance(struct cpu_past *p, uint64_t upto)
{
	if (upto >= p->upto + CPU_PAST)
		memset(p->bits, 0, sizeof(p->bits));
	else
		for (uint64_t n = p->upto + 1; n <= upto; n++)
			set_bit(p, n, false);
	if (upto > p->upto)
		p->upto = upto;
}

static void add(struct cpu_past *p, uint64_t n)
{
	advance(p, n);
	if (n && n + CPU_PAST > p->upto)
		set_bit(p, n, true);
}

static void join(struct cpu_past *p, const struct cpu_past *q)
{
	uint64_t n = q->upto >= CPU_PAST ? q->upto - CPU_PAST + 1 : 1;

	advance(p, q->upto);
	if (p->upto == q->upto) {
		for (unsigned i = 0; i < CPU_PAST / 64; i++)
			p->bits[i] |= q->bits[i];
		return;
	}
	if (p->upto >= CPU_PAST && n < p->upto - CPU_PAST + 1)
		n = p->upto - CPU_PAST + 1;
	for (; n <= q->upto; n++)
		if (has_bit(q, n))
			set_bit(p, n, true);
}

static bool is_before(const struct cpu_pasts *x, const struct cpu_past *p, uint64_t n)
{
	if (x->is_blind || n + CPU_PAST <= x->kernels)
		return true;
	return p && n <= p->upto && n + CPU_PAST > p->upto && has_bit(p, n);
}

/* ---- events ------------------------------------------------------------------------------ */

void cpu_past_submit(struct cpu_op *op, struct cpu_op *const *deps, size_t n)
{
	struct cpu_pasts *x = op->m->pasts;

	if (!x)
		return;
	op->past = calloc(1, sizeof(*op->past));
	pthread_mutex_lock(&x->lock);
	x->is_blind |= !op->past || op->work.kind == CPU_WORK_WAIT_VALUE ||
		       op->work.kind == CPU_WORK_EXTERNAL;
	if (op->work.kind == CPU_WORK_KERNEL) {
		op->number = ++x->kernels;
		x->device[op->number % CPU_PAST] = op->work.device;
	}
	if (op->past) {
		join(op->past, &x->host);
		for (size_t i = 0; i < n; i++) {
			if (!deps[i])
				continue;
			if (deps[i]->past)
				join(op->past, deps[i]->past);
			if (deps[i]->number)
				add(op->past, deps[i]->number);
		}
	}
	pthread_mutex_unlock(&x->lock);
}

void cpu_past_start(struct cpu_op *op)
{
	struct cpu_pasts *x = op->m->pasts;
	uint64_t unordered[CPU_PAST / 64] = {0}, grid = op->grid->id;
	const struct cpu_listener *to = &op->m->listener;

	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	x->number[grid % CPU_PAST] = op->number;
	x->grid[grid % CPU_PAST] = grid;
	for (uint64_t i = 0; i < CPU_PAST && op->number; i++) {
		bool is_other = x->number[i] && x->grid[i] != grid && x->grid[i] + CPU_PAST > grid;
		if (is_other && !is_before(x, op->past, x->number[i]))
			unordered[i / 64] |= 1ull << i % 64;
	}
	pthread_mutex_unlock(&x->lock);
	to->past(to->past_arg, grid, unordered);
}

void cpu_past_waited(struct cpu_op *op, bool has_ended)
{
	struct cpu_pasts *x = op->m->pasts;

	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	if (op->past)
		join(&x->host, op->past);
	if (has_ended && op->number)
		add(&x->host, op->number);
	pthread_mutex_unlock(&x->lock);
}

void cpu_past_idle(struct cpu_machine *m, unsigned device)
{
	struct cpu_pasts *x = m->pasts;

	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	uint64_t n = x->kernels >= CPU_PAST ? x->kernels - CPU_PAST + 1 : 1;
	for (; n <= x->kernels; n++)
		if (device >= m->opt.devices || x->device[n % CPU_PAST] == device)
			add(&x->host, n);
	pthread_mutex_unlock(&x->lock);
}

void cpu_past_forget(struct cpu_machine *m, uint64_t address, uint64_t bytes)
{
	if (m->pasts && m->listener.forget)
		m->listener.forget(m->listener.past_arg, address, bytes);
}

/* ------------------------------------------------------------------------ */

void cpu_listen_past(struct cpu_machine *m, cpu_past_fn *start, cpu_forget_fn *forget, void *arg)
{
	struct cpu_pasts *x = calloc(1, sizeof(*x));

	if (!x)
		return;
	pthread_mutex_init(&x->lock, NULL);
	pthread_mutex_lock(&m->engine->lock);
	m->listener.past = start;
	m->listener.forget = forget;
	m->listener.past_arg = arg;
	m->pasts = x;
	pthread_mutex_unlock(&m->engine->lock);
}

void cpu_past_free(struct cpu_machine *m)
{
	if (m->pasts)
		pthread_mutex_destroy(&m->pasts->lock);
	free(m->pasts);
	m->pasts = NULL;
}
