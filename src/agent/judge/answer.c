/*
 * answer.c - launches on their way to the judge, one after the other, and what it asks of them.
 *
 * One thread of ours waits until a launch's copies are made, sends the launch, and answers from the
 * copies until the judge is done with it. What isn't in them it hasn't got: the trial ends there,
 * and the next launch of the kernel is copied with that memory. Before the program ends or destroys
 * a context, it waits for the launches that were taken, as long as the judge may spend on them.
 *
 * Costs: a page of 64 KiB takes 10 to 20 us and goes over a stream of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/judge/judge.h"
#include "race/file/shm_write.h"

#define PLACES	   64
#define CONTEXTS   16
#define RETRIES	   3u
#define WAIT_NS	   5000000000ull /* beyond what all launches may take */
#define POLL_LEAST 20000	 /* ns */
#define POLL_MOST  1000000

/* Variables that the driver doesn't know: addresses where there is nothing. */
#define NOWHERE	      (1ull << 44)
#define NOWHERE_EACH  (1ull << 34)
#define NOWHERE_COUNT 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct judge_job *first, *current;
static unsigned waiting; /* jobs in the list */
static bool is_started, is_ending;
static uint64_t spent; /* atomic */

/* Of a context, for the thread alone. */
static struct way {
	CUcontext ctx;
	CUstream stream;
	uint8_t *page[2]; /* pinned */
} ways[CONTEXTS];

uint64_t judge_spent_ns(void)
{
	return __atomic_load_n(&spent, __ATOMIC_RELAXED);
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* ---- copies, read back ----------------------------------------------------------- */

static struct way *way_of(CUcontext ctx)
{
	const struct judge_driver *d = &judge_driver;
	struct way *w = NULL;

	for (size_t i = 0; i < CONTEXTS && !w; i++)
		if (!ways[i].ctx || ways[i].ctx == ctx)
			w = &ways[i];
	if (!w || w->ctx)
		return w;
	if (d->stream_create(&w->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
	    d->mem_host_alloc((void **)&w->page[0], 2 * RACE_JUDGE_PAGE, 0) != CUDA_SUCCESS)
		return NULL;
	w->page[1] = w->page[0] + RACE_JUDGE_PAGE;
	w->ctx = ctx;
	return w;
}

/* Has this job's context been given up? */
static bool is_dropped(const struct judge_job *j)
{
	return !__atomic_load_n(&j->ctx, __ATOMIC_ACQUIRE);
}

/* Waits without holding the driver, so that it can be given up. */
static bool wait_stream(const struct judge_job *j, CUstream s)
{
	CUresult r;

	while ((r = judge_driver.stream_query(s)) == CUDA_ERROR_NOT_READY && !is_dropped(j))
		;
	return r == CUDA_SUCCESS;
}

static bool wait_event(const struct judge_job *j)
{
	long ns = POLL_LEAST;
	CUresult r;

	while ((r = judge_driver.event_query(j->room->event)) == CUDA_ERROR_NOT_READY &&
	       !is_dropped(j)) {
		sleep_ns(ns);
		ns = ns * 2 < POLL_MOST ? ns * 2 : POLL_MOST;
	}
	return r == CUDA_SUCCESS;
}

static const struct judge_range *range_at(const struct judge_job *j, uint64_t addr, uint64_t bytes)
{
	for (uint32_t i = 0; i < j->nranges; i++) {
		const struct judge_range *r = &j->ranges[i];
		if (addr - r->base < r->bytes && bytes <= r->bytes - (addr - r->base))
			return r;
	}
	return NULL;
}

/* NULL: it can't be had as it was before the launch. */
static const uint8_t *read_page(const struct judge_job *j, const struct race_judge_range *q)
{
	const struct judge_range *r = range_at(j, q->addr, q->bytes);
	struct way *w = is_dropped(j) ? NULL : way_of(j->ctx);

	if (!r || !w || q->bytes > RACE_JUDGE_PAGE ||
	    judge_driver.memcpy_dtoh_async(w->page[0], r->copy + (q->addr - r->base), q->bytes,
					   w->stream) != CUDA_SUCCESS ||
	    (r->again && judge_driver.memcpy_dtoh_async(w->page[1], r->again + (q->addr - r->base),
							q->bytes, w->stream) != CUDA_SUCCESS) ||
	    !wait_stream(j, w->stream))
		return NULL;
	if (r->again && memcmp(w->page[0], w->page[1], q->bytes) != 0)
		return NULL;
	return w->page[0];
}

/* ---- questions ------------------------------------------------------------------- */

/* What the parameters don't name comes with the kernel's next launch. */
static void want_more(struct judge_function *f, uint64_t base)
{
	judge_code_lock();
	for (unsigned i = 0; i < f->nmore; i++)
		if (f->more[i] == base)
			base = 0;
	if (base && f->nmore < JUDGE_MORE)
		f->more[f->nmore++] = base;
	judge_code_unlock();
}

static bool answer_memory(struct judge_job *j, const void *question)
{
	struct race_judge_memory m = {0};
	struct judge_range found;
	uint64_t addr;

	memcpy(&addr, question, sizeof(addr));
	const struct judge_range *r = range_at(j, addr, 1);
	uint64_t nth = (addr - NOWHERE) / NOWHERE_EACH;
	if (addr >= NOWHERE && nth < j->f->code->nvariables && nth < NOWHERE_COUNT) {
		m = (struct race_judge_memory){NOWHERE + nth * NOWHERE_EACH,
					       j->f->code->variables[nth].bytes,
					       RACE_JUDGE_VARIABLE, 0};
	} else if (!r && judge_memory_at(addr, &found)) {
		r = &found;
		want_more(j->f, found.base);
	}
	if (r)
		m = (struct race_judge_memory){r->base, r->bytes, r->kind, 0};
	return race_judge_send(judge_socket(), RACE_JUDGE_ANSWER, &m, sizeof(m), NULL, 0);
}

static bool answer_page(struct judge_job *j, const void *question)
{
	struct race_judge_range q;

	memcpy(&q, question, sizeof(q));
	const uint8_t *p = read_page(j, &q);
	return race_judge_send(judge_socket(), RACE_JUDGE_ANSWER, p, p ? q.bytes : 0, NULL, 0);
}

/* Variables that the driver doesn't know: what is constant is as the text says; others can't be
 * had, as the kernel may have changed them. */
static uint64_t address_of(const struct judge_code *c, const char *name)
{
	for (size_t i = 0; i < c->nvariables; i++) {
		const struct judge_variable *v = &c->variables[i];
		if (strcmp(v->name, name) != 0)
			continue;
		if (v->at || v->is_const || *name == '$' || i >= NOWHERE_COUNT)
			return v->at;
		return NOWHERE + i * NOWHERE_EACH;
	}
	return 0;
}

static bool answer_place(struct judge_job *j, const char *question)
{
	struct race_judge_symbol s;
	uint64_t addr = 0;

	memcpy(&s, question, sizeof(s));
	if (!s.is_function && !s.nth)
		addr = address_of(j->f->code, question + sizeof(s));
	return race_judge_send(judge_socket(), RACE_JUDGE_ANSWER, &addr, sizeof(addr), NULL, 0);
}

/* ---- a launch -------------------------------------------------------------------- */

/* The judge has ended with it. */
static void take_done(struct judge_job *j, const char *bytes, size_t n)
{
	struct judge_function *f = j->f;
	struct race_judge_done done;

	if (n < sizeof(done))
		return;
	memcpy(&done, bytes, sizeof(done));
	__atomic_fetch_add(&spent, done.ns, __ATOMIC_RELAXED);
	judge_code_lock();
	if (done.is_unknown && f->nmore && f->retries < RETRIES) {
		f->retries++;
		if (f->taken[j->shape])
			f->taken[j->shape]--;
	}
	judge_code_unlock();
}

/* The next message of the judge. False: the launch is done, or the judge has gone. */
static bool serve(struct judge_job *j)
{
	struct race_judge_message msg;
	char bytes[4096] = {0};
	int fd = judge_socket();
	bool goes_on = false;

	if (!race_judge_next(fd, &msg) || msg.bytes >= sizeof(bytes) ||
	    !race_judge_read(fd, bytes, msg.bytes)) {
		judge_set_off();
		return false;
	}
	if (msg.op == RACE_JUDGE_ASK_MEMORY && msg.bytes == sizeof(uint64_t))
		goes_on = answer_memory(j, bytes);
	else if (msg.op == RACE_JUDGE_ASK_PAGE && msg.bytes == sizeof(struct race_judge_range))
		goes_on = answer_page(j, bytes);
	else if (msg.op == RACE_JUDGE_ASK_PLACE && msg.bytes > sizeof(struct race_judge_symbol))
		goes_on = answer_place(j, bytes);
	else if (msg.op == RACE_JUDGE_DONE)
		take_done(j, bytes, msg.bytes);
	if (!goes_on && msg.op != RACE_JUDGE_DONE)
		judge_set_off();
	return goes_on;
}

/* Another stream was made before the only copy was: it may be torn. */
static bool is_torn(struct judge_job *j)
{
	if (j->is_twice || !judge_has_streams())
		return false;
	judge_code_lock();
	if (j->f->taken[j->shape])
		j->f->taken[j->shape]--;
	judge_code_unlock();
	return true;
}

static void judge(struct judge_job *j)
{
	struct race_judge_launch *h = &j->head;

	if (!judge_is_on() || is_dropped(j) ||
	    judge_driver.ctx_set_current(j->ctx) != CUDA_SUCCESS || !wait_event(j) || is_torn(j))
		return;
	h->spent_ns = judge_spent_ns();
	h->program_ns = judge_age_ns();
	uint32_t maps = h->maps * (uint32_t)sizeof(*j->maps);
	const struct race_judge_message msg = {.op = RACE_JUDGE_LAUNCH,
					       .bytes = (uint32_t)sizeof(*h) + h->kernel +
							h->params + maps};
	int fd = judge_socket();
	if (!race_judge_write(fd, &msg, sizeof(msg)) || !race_judge_write(fd, h, sizeof(*h)) ||
	    !race_judge_write(fd, j->f->name, h->kernel) ||
	    !race_judge_write(fd, j->params, h->params) || !race_judge_write(fd, j->maps, maps)) {
		judge_set_off();
		return;
	}
	while (serve(j))
		;
}

static void *run(void *arg)
{
	struct judge_guard g;

	(void)arg;
	judge_enter(&g);
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!first)
			pthread_cond_wait(&more, &lock);
		struct judge_job *j = first;
		first = j->next;
		current = j;
		pthread_mutex_unlock(&lock);
		judge(j);
		pthread_mutex_lock(&lock);
		current = NULL;
		waiting--;
		pthread_mutex_unlock(&lock);
		judge_room_put(j->room);
		judge_job_free(j);
	}
	return NULL;
}

/* ---- the list -------------------------------------------------------------------- */

bool judge_has_place(void)
{
	return __atomic_load_n(&waiting, __ATOMIC_RELAXED) < PLACES && !is_ending;
}

void judge_job_free(struct judge_job *j)
{
	free(j->params);
	free(j->maps);
	free(j->ranges);
	free(j);
}

static void at_exit(void)
{
	if (!judge_is_on())
		return;
	is_ending = true;
	judge_wait(NULL);
	judge_set_off();
}

static void start_thread(void)
{
	sigset_t all, old;
	pthread_t t;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&t, NULL, run, NULL) == 0)
		pthread_detach(t);
	else
		judge_set_off();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	atexit(at_exit);
}

void judge_job_put(struct judge_job *j)
{
	struct judge_job **at = &first;

	pthread_mutex_lock(&lock);
	if (!is_started)
		start_thread();
	is_started = true;
	while (*at)
		at = &(*at)->next;
	*at = j;
	waiting++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

/* Is there a job of the context? With the lock held. is_dropping: it is given up. */
static bool has_jobs(CUcontext ctx, bool is_dropping)
{
	bool has = false;

	for (struct judge_job *j = current ? current : first; j;
	     j = j == current ? first : j->next) {
		if (!j->ctx || (ctx && j->ctx != ctx))
			continue;
		has = true;
		if (is_dropping)
			__atomic_store_n(&j->ctx, NULL, __ATOMIC_RELEASE);
	}
	return has;
}

void judge_wait(CUcontext ctx)
{
	const struct race_judge_policy *p = judge_policy();
	uint64_t all =
		p->mode == RACE_JUDGE_AUTO ? p->at_least_ns + p->limit_ns : PLACES * p->limit_ns;
	uint64_t until = judge_now_ns() + all + WAIT_NS;
	bool has = true;

	while (has && judge_is_on()) {
		bool is_late = judge_now_ns() > until;
		pthread_mutex_lock(&lock);
		has = has_jobs(ctx, is_late);
		pthread_mutex_unlock(&lock);
		if (is_late)
			break;
		if (has)
			sleep_ns(POLL_MOST);
	}
	for (size_t i = 0; ctx && i < CONTEXTS; i++)
		if (ways[i].ctx == ctx)
			ways[i].ctx = NULL;
	if (ctx)
		judge_rooms_forget(ctx);
}
