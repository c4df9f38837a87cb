/*
 * overlap.c - random launches, thread by thread, against what really ran at the same time.
 *
 *	hirace_overlap EXECUTIONS SEED [early]
 *
 * Each execution has 2 to 9 launches of 1 to 4 threads; some begin when others have ended. A thread
 * may be interrupted at each operation of hirace/overlap.h. Threads ask about other launches, and
 * the answers are compared with the times at which launches began and ended:
 *
 *	wrong	told that `other` ran, but its last thread had left before the first of `mine` came
 *	missed	both launches had been counted, `other` before `mine` began, and it ended later
 *	deaf	not told that memory may order the two, but a launch that may learn from `other`
 *		ended after that had begun and before `mine` began
 *
 * All must be 0. `early` counts a launch before it has looked at the others: a planted error that
 * must be found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "hirace/machine.h"

#define LAUNCHES 9u
#define THREADS	 4u
#define STACK	 (32u << 10)

static void step(void);

#define HIRACE_FN		 static
#define HIRACE_LOAD64(p)	 (step(), load64(p))
#define HIRACE_LOAD32(p)	 (step(), *(p))
#define HIRACE_SET64(p, v)	 (step(), set64(p, v))
#define HIRACE_SET32(p, v)	 (step(), (void)(*(p) = (v)))
#define HIRACE_SWAP32(p, old, v) swap32(p, old, v)
#define HIRACE_CLEAR32(p, bits)	 (step(), (void)(*(p) &= ~(bits)))
#define HIRACE_RAISE64(p, n)	 raise64(p, n)

static uint64_t load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void set64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint32_t swap32(uint32_t *p, uint32_t old, uint32_t v)
{
	step();
	uint32_t found = *p;

	if (found == old)
		*p = v;
	return found;
}

static uint64_t raise64(void *p, uint64_t n)
{
	step();
	uint64_t found = load64(p), now = found + n;

	memcpy(p, &now, sizeof(now));
	return found;
}

#include "hirace/overlap.h"

struct launch {
	uint32_t after; /* launches that must have ended, by bit */
	unsigned nthreads, nleft;
	uint64_t does; /* RACE_RUN_* */
	bool has_begun;
	/* Times; 0: not yet. */
	uint64_t began, counted, ended;
};

struct thread {
	ucontext_t at;
	unsigned launch;
	bool is_done;
	char *stack;
};

static struct race_history_tables *table;
static struct launch launches[LAUNCHES];
static struct thread threads[LAUNCHES * THREADS];
static unsigned nlaunches, nthreads, running;
static ucontext_t scheduler;
static uint64_t now, rng, until;
static bool is_early;
static uint64_t asked, overlapping, due, wrong, missed, certain, deaf;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 32) * n >> 32);
}

/* Another thread may go on here. */
static void step(void)
{
	now++;
	if (now < until)
		return;
	swapcontext(&threads[running].at, &scheduler);
}

/* The planted error: nothing is looked at before the launch is counted. */
static void start_early(uint32_t number, uint64_t n, uint32_t before)
{
	struct race_history_run *run = &table->runs[number - 1u];

	uint32_t began = (uint32_t)HIRACE_RAISE64(&table->begins, 1u) + 1u;

	HIRACE_SET64(&run->began, began | (uint64_t)before << 32);
	if (hirace_go_live(table, number))
		HIRACE_SET64(&run->threads, n);
	HIRACE_RAISE64(&table->begins, (uint64_t)hirace_settle(table) << 32);
}

/* How memory may have ordered what other did before mine: by a launch that came in between. */
static enum hirace_overlap learned(const struct launch *m, const struct launch *o)
{
	uint64_t does = 0;

	for (unsigned i = 0; i < nlaunches; i++)
		if (launches[i].ended > o->began && launches[i].ended < m->began)
			does |= launches[i].does;
	if (o->does & does & RACE_RUN_ORDERS)
		return HIRACE_PERHAPS_ORDERED;
	return o->does & RACE_RUN_SHOWS && does & (RACE_RUN_ORDERS | RACE_RUN_SEES)
		       ? HIRACE_PERHAPS_SEEN
		       : HIRACE_OVERLAPPING;
}

static void ask(unsigned mine, unsigned other)
{
	const struct launch *m = &launches[mine], *o = &launches[other];
	bool must = m->counted && o->counted && o->counted < m->began &&
		    (o->ended == 0 || o->ended > m->counted);
	enum hirace_overlap how = hirace_overlap_of(table, mine + 1u, other + 1u, false);
	bool told = how != HIRACE_ORDERED;

	asked++;
	overlapping += told;
	wrong += told && o->ended && o->ended < m->began;
	due += must;
	missed += must && !told;
	certain += how == HIRACE_OVERLAPPING;
	deaf += told && how < learned(m, o);
}

static void run_thread(void)
{
	unsigned launch = threads[running].launch;
	struct launch *l = &launches[launch];
	uint32_t before = HIRACE_LOAD32(&table->begins);
	bool is_first = !l->has_begun;

	l->has_begun = true;
	if (is_first) {
		l->began = ++now;
		if (is_early)
			start_early(launch + 1u, l->nthreads | l->does, before);
		else
			hirace_start(table, launch + 1u, l->nthreads | l->does, before, false);
		l->counted = ++now;
	}
	for (unsigned n = draw(4); n; n--) {
		unsigned other = draw(nlaunches);
		if (other != launch && launches[other].has_begun)
			ask(launch, other);
		step();
	}
	HIRACE_RAISE64(&table->left[draw(RACE_HISTORY_PARTS_OF(l->nthreads))][launch], 1u);
	if (--l->nleft == 0)
		l->ended = ++now;
	threads[running].is_done = true;
	swapcontext(&threads[running].at, &scheduler);
}

static bool may_run(const struct thread *t)
{
	const struct launch *l = &launches[t->launch];

	for (unsigned i = 0; i < nlaunches; i++)
		if (l->after >> i & 1u && launches[i].ended == 0)
			return false;
	return !t->is_done;
}

static void add_thread(unsigned launch)
{
	struct thread *t = &threads[nthreads++];
	char *stack = t->stack ? t->stack : malloc(STACK);

	*t = (struct thread){.launch = launch, .stack = stack};
	if (!stack || getcontext(&t->at))
		exit(2);
	t->at.uc_stack.ss_sp = t->stack;
	t->at.uc_stack.ss_size = STACK;
	t->at.uc_link = NULL;
	makecontext(&t->at, run_thread, 0);
}

static void add_launch(unsigned i)
{
	struct launch *l = &launches[i];

	*l = (struct launch){.nthreads = 1 + draw(THREADS)};
	l->does = (uint64_t)draw(8) << 61; /* RACE_RUN_* */
	l->nleft = l->nthreads;
	for (unsigned k = 0; k < i; k++)
		l->after |= (uint32_t)(draw(3) == 0) << k;
	for (unsigned k = 0; k < l->nthreads; k++)
		add_thread(i);
}

static void execute(void)
{
	unsigned left;

	memset(table->runs, 0, sizeof(*table->runs) * LAUNCHES);
	memset(table->live, 0, sizeof(table->live));
	for (unsigned i = 0; i < RACE_HISTORY_RUN_PARTS; i++)
		memset(table->left[i], 0, sizeof(table->left[i][0]) * LAUNCHES);
	table->begins = table->overs = table->live_places = 0;
	table->orderer = table->seer = 0;
	now = 1;
	nthreads = 0;
	nlaunches = 2 + draw(LAUNCHES - 1u);
	for (unsigned i = 0; i < nlaunches; i++)
		add_launch(i);
	for (left = nthreads; left;) {
		unsigned t = draw(nthreads);

		if (!may_run(&threads[t]))
			continue;
		running = t;
		until = now + 1u + draw(draw(2) ? 4 : 200);
		swapcontext(&scheduler, &threads[t].at);
		left -= threads[t].is_done;
	}
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

	table = calloc(1, sizeof(*table));
	if (n == 0 || !table)
		return 2;
	rng = 0x9e3779b97f4a7c15u * (strtoull(argv[2], NULL, 10) + 1u);
	is_early = argc > 3 && strcmp(argv[3], "early") == 0;
	for (unsigned long i = 0; i < n; i++)
		execute();
	printf("%llu questions, %llu told to have run together (%llu at least), %llu without an "
	       "order by memory; %llu wrong, %llu missed, %llu deaf\n",
	       (unsigned long long)asked, (unsigned long long)overlapping, (unsigned long long)due,
	       (unsigned long long)certain, (unsigned long long)wrong, (unsigned long long)missed,
	       (unsigned long long)deaf);
	for (unsigned i = 0; i < LAUNCHES * THREADS; i++)
		free(threads[i].stack);
	free(table);
	return (is_early ? wrong == 0 : wrong || missed || deaf) || due == 0 || certain == 0;
}
