/*
 * past.c - which launches the API orders: for each operation, the set of kernels before it.
 *
 * Kernels are numbered as they are submitted. An operation's set is the union of its dependencies'
 * sets, with themselves, and of what the host knew then: all that it has waited for. The host's
 * threads are taken as one, as the oracle does by default. Two kernels are unordered if neither is
 * in the other's set. A programmatic launch counts as after what it depends on from its beginning.
 *
 * Others may order two that the API doesn't, through memory: X, D after X in its stream releases,
 * C acquires that, and Y comes after C. So Y is perhaps ordered after an earlier X if Y's set has a
 * C that X's lacks and whose text may acquire, and a D whose text may release has begun that is X,
 * or has X in its set. No D is asked for where C acquires from the system's scope (the host may
 * release), or is a function of the host in a stream. Y itself is no such C: what it acquires, a
 * detector can see. A strong write of X is also ordered if C, or a kernel from which C acquires,
 * has read what it wrote (PTX: observation); then C may only read strongly, and no D is asked for.
 * Where sets have forgotten a C, all pairs of X are perhaps ordered.
 *
 * A set holds the last CPU_PAST kernels and functions of the host; older ones count as ordered, as
 * does everything once a stream waits for a value in memory. Costs, only with a listener: 136 bytes
 * for each operation, some 1,000 steps for each dependency, 16 for each unordered pair.
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

/* Kernels that may learn something of others. */
struct hearers {
	struct cpu_past who;
	struct cpu_past forgot; /* those whose set lacks one of these that is too old for sets */
	bool forgets;		/* so will those to come, until the machine is idle */
};

struct cpu_pasts {
	pthread_mutex_t lock;
	struct cpu_past host;
	struct cpu_past past[CPU_PAST]; /* of kernel n % CPU_PAST */
	struct hearers hear;		/* what others release */
	struct hearers see;		/* or what they write strongly */
	struct cpu_past hear_host;	/* of `hear`: what the host releases, too */
	struct cpu_past known;		/* those whose accesses others may know of, by releases */
	struct cpu_past shows;		/* those that write strongly what others may see */
	bool is_early;	  /* programmatic launches begin before the ends of what is in their sets */
	uint64_t kernels; /* submitted, with functions of the host */
	uint64_t number[CPU_PAST]; /* the kernel of grid i % CPU_PAST; 0: none */
	uint64_t grid[CPU_PAST];   /* that grid */
	unsigned device[CPU_PAST]; /* of kernel n % CPU_PAST */
	bool is_blind;		   /* streams wait for memory */
};

/* What may do all of that: functions of the host, and kernels without the program's text. */
static const struct cpu_traits ANYTHING = {
	.may_order = true, .has_system = true, .may_observe = true, .may_show = true};

static bool has_bit(const struct cpu_past *p, uint64_t n)
{
	return p->bits[n % CPU_PAST / 64] >> n % 64 & 1;
}

static bool has(const struct cpu_past *p, uint64_t n)
{
	return n <= p->upto && n + CPU_PAST > p->upto && has_bit(p, n);
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
	return p && has(p, n);
}

static bool has_forgotten(const struct hearers *h, uint64_t n, uint64_t later)
{
	return has_bit(&h->forgot, n) || has_bit(&h->forgot, later);
}

/* How may memory have ordered kernel `later`, with that set, after the unordered kernel n? A set of
 * 1 << enum cpu_order. */
static unsigned perhaps_before(struct cpu_pasts *x, uint64_t n, uint64_t later,
			       const struct cpu_past *set)
{
	struct cpu_past *p = &x->past[n % CPU_PAST];
	uint64_t hear = 0, host = 0, see = 0;

	advance(p, x->kernels);
	for (unsigned i = 0; i < CPU_PAST / 64; i++) {
		uint64_t between = set->bits[i] & ~p->bits[i];
		/* The earlier kernel may begin to hear when the later one has ended. */
		if (x->is_early)
			between |= p->bits[i] & ~set->bits[i];
		hear |= between & x->hear.who.bits[i];
		host |= between & x->hear_host.bits[i];
		see |= between & x->see.who.bits[i];
	}
	bool is_heard = host || (hear && (x->is_early || has_bit(&x->known, n))) ||
			has_forgotten(&x->hear, n, later);
	bool is_seen = has_bit(&x->shows, n) && (see || has_forgotten(&x->see, n, later));
	return (is_heard ? 1u << CPU_ORDER_PERHAPS : 0) | (is_seen ? 1u << CPU_ORDER_SEEN : 0);
}

/* What its threads may learn from others, and others see of them, by the program's text without
 * inserted checks. */
static struct cpu_traits traits_of(const struct cpu_launch *l)
{
	struct cpu_kernel *text = l->kernel->info.is_instrumented ? l->text : l->kernel;

	return text ? *cpu_kernel_traits(text) : ANYTHING;
}

/* ---- events ------------------------------------------------------------------------------ */

/* Kernel n becomes too old for sets. */
static void drop(struct cpu_pasts *x, struct hearers *h, uint64_t n)
{
	if (!has_bit(&h->who, n))
		return;
	for (uint64_t i = n + 1; i <= x->kernels; i++)
		if (!has(&x->past[i % CPU_PAST], n))
			set_bit(&h->forgot, i, true);
	h->forgets |= !has(&x->host, n);
}

static void note_hearer(struct cpu_pasts *x, struct hearers *h, bool hears)
{
	uint64_t n = x->kernels;

	if (n > CPU_PAST)
		drop(x, h, n - CPU_PAST);
	advance(&h->who, n);
	advance(&h->forgot, n);
	set_bit(&h->who, n, hears);
	set_bit(&h->forgot, n, h->forgets);
}

/* Gives it a number. */
static void note(struct cpu_pasts *x, struct cpu_op *op, struct cpu_traits may)
{
	uint64_t n = op->number = ++x->kernels;

	x->device[n % CPU_PAST] = op->work.device;
	note_hearer(x, &x->hear, may.may_order);
	note_hearer(x, &x->see, may.may_observe);
	advance(&x->hear_host, n);
	advance(&x->known, n);
	advance(&x->shows, n);
	set_bit(&x->shows, n, may.may_show);
	set_bit(&x->hear_host, n, may.may_order && may.has_system);
}

void cpu_past_submit(struct cpu_op *op, struct cpu_op *const *deps, size_t n)
{
	struct cpu_pasts *x = op->m->pasts;
	bool is_kernel = op->work.kind == CPU_WORK_KERNEL;
	struct cpu_traits may = ANYTHING;
	/* What frees memory is the runtime's own. */
	bool is_function = op->work.kind == CPU_WORK_HOST && !op->work.frees;

	if (!x)
		return;
	if (is_kernel)
		may = traits_of(&op->work.launch);
	op->past = calloc(1, sizeof(*op->past));
	pthread_mutex_lock(&x->lock);
	x->is_blind |= !op->past || op->work.kind == CPU_WORK_WAIT_VALUE ||
		       op->work.kind == CPU_WORK_EXTERNAL;
	x->is_early |= is_kernel && op->work.launch.is_programmatic;
	if (is_kernel || is_function)
		note(x, op, may);
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
		if (op->number)
			x->past[op->number % CPU_PAST] = *op->past;
		/* What a stream writes for others to wait for is a release. */
		if (op->work.kind == CPU_WORK_WRITE_VALUE)
			join(&x->known, op->past);
	}
	pthread_mutex_unlock(&x->lock);
}

void cpu_past_start(struct cpu_op *op)
{
	struct cpu_pasts *x = op->m->pasts;
	uint64_t rows[CPU_ORDERS][CPU_PAST / 64] = {{0}}, grid = op->grid->id;
	const struct cpu_listener *to = &op->m->listener;
	struct cpu_past past = {0};

	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	if (op->past)
		join(&past, op->past);
	advance(&past, x->kernels);
	x->number[grid % CPU_PAST] = op->number;
	x->grid[grid % CPU_PAST] = grid;
	for (uint64_t i = 0; i < CPU_PAST && op->number; i++) {
		bool is_other = x->number[i] && x->grid[i] != grid && x->grid[i] + CPU_PAST > grid;
		if (!is_other || is_before(x, op->past, x->number[i]))
			continue;
		unsigned how = 1u << CPU_ORDER_NONE;
		how |= perhaps_before(x, x->number[i], op->number, &past);
		for (unsigned k = 0; k < CPU_ORDERS; k++)
			rows[k][i / 64] |= (uint64_t)(how >> k & 1) << i % 64;
	}
	/* What hears may release, too. */
	if (op->number && op->number + CPU_PAST > x->kernels && has_bit(&x->hear.who, op->number)) {
		join(&x->known, &past);
		add(&x->known, op->number);
	}
	pthread_mutex_unlock(&x->lock);
	to->past(to->past_arg, grid, rows);
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
	if (device >= m->opt.devices || m->opt.devices == 1)
		x->hear.forgets = x->see.forgets = false;
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
