/*
 * answer.c - launches on their way to the judge, and what it asks of them.
 *
 * One thread of ours sends each launch when its copies have been made, and answers from the copies
 * until the judge is done with it. What isn't in them it hasn't got: the trial ends there,
 * and the next launch of the kernel is copied with that memory. Before the program ends or destroys
 * a context, it waits for the launches that were taken; the judge says how long.
 *
 * Costs: a page of 64 KiB takes 10 to 20 us and goes over a stream of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/judge/judge.h"
#include "agent/order.h"
#include "base/clock.h"
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
static struct judge_job *first;
/* Operations, in the order in which they came. */
struct operation {
	struct operation *next;
	struct race_judge_operation op;
};
static struct operation *first_operation, **last_operation = &first_operation;
static unsigned operations; /* that aren't sent yet */
static unsigned waiting;    /* jobs in the list */
static int wake = -1;	    /* for the thread: there is another job, or more haste */
static bool is_started, is_ending;
static bool is_waited_for; /* atomic: the program waits for the judge */
static uint64_t spent;	   /* atomic */

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
	CUcontext ctx = __atomic_load_n(&j->ctx, __ATOMIC_ACQUIRE);
	struct way *w = NULL;

	if (r && ctx && judge_driver.ctx_set_current(ctx) == CUDA_SUCCESS)
		w = way_of(ctx);
	if (!w || q->bytes > RACE_JUDGE_PAGE ||
	    judge_driver.memcpy_dtoh_async(w->page[0], r->copy + (q->addr - r->base), q->bytes,
					   w->stream) != CUDA_SUCCESS ||
	    (r->again && judge_driver.memcpy_dtoh_async(w->page[1], r->again + (q->addr - r->base),
							q->bytes, w->stream) != CUDA_SUCCESS) ||
	    !wait_stream(j, w->stream))
		return NULL;
	if (r->again && !j->may_mix && memcmp(w->page[0], w->page[1], q->bytes) != 0)
		return NULL;
	return w->page[0];
}

/* ---- questions ------------------------------------------------------------------- */

static bool answer(const struct judge_job *j, const void *p, size_t n)
{
	return race_judge_send(judge_socket(), RACE_JUDGE_ANSWER, j->head.number, p, n, NULL, 0);
}

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

/* What was allocated after the launch may lie where memory of it was, of which there is a copy. */
static bool is_later(const struct judge_job *j, const struct judge_range *found)
{
	for (uint32_t i = 0; i < j->nranges; i++) {
		const struct judge_range *r = &j->ranges[i];
		if (found->base < r->base + r->bytes && r->base < found->base + found->bytes)
			return true;
	}
	return false;
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
	} else if (!r && (judge_array_at(addr, &found) || judge_memory_at(addr, &found))) {
		r = &found;
		want_more(j->f, found.base);
		if (is_later(j, &found))
			found.bytes = 0;
	}
	if (r)
		m = (struct race_judge_memory){r->base, r->bytes, r->kind, 0};
	return answer(j, &m, sizeof(m));
}

/* The same after the launch. */
static bool answer_after(struct judge_job *j, const void *question)
{
	const uint8_t *p = NULL;
	struct race_judge_range q;
	struct way *w = NULL;

	memcpy(&q, question, sizeof(q));
	const struct judge_range *r = range_at(j, q.addr, q.bytes);
	CUcontext ctx = __atomic_load_n(&j->ctx, __ATOMIC_ACQUIRE);
	if (r && r->after && j->head.flags & RACE_JUDGE_HAS_AFTER && ctx &&
	    q.bytes <= RACE_JUDGE_PAGE && judge_driver.ctx_set_current(ctx) == CUDA_SUCCESS)
		w = way_of(ctx);
	if (w &&
	    judge_driver.memcpy_dtoh_async(w->page[0], r->after + (q.addr - r->base), q.bytes,
					   w->stream) == CUDA_SUCCESS &&
	    wait_stream(j, w->stream))
		p = w->page[0];
	return answer(j, p, p ? q.bytes : 0);
}

static bool answer_page(struct judge_job *j, const void *question)
{
	struct race_judge_range q;

	memcpy(&q, question, sizeof(q));
	const uint8_t *p = read_page(j, &q);
	return answer(j, p, p ? q.bytes : 0);
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
	return answer(j, &addr, sizeof(addr));
}

/* ---- launches -------------------------------------------------------------------- */

/* The list's job of this number; NULL: there is none. */
static struct judge_job *find(uint64_t number)
{
	struct judge_job *j;

	pthread_mutex_lock(&lock);
	for (j = first; j && !(j->is_sent && j->head.number == number); j = j->next)
		;
	pthread_mutex_unlock(&lock);
	return j;
}

/* The judge has ended with it, or never had it. */
static void remove_job(struct judge_job *j)
{
	struct judge_job **at = &first;

	pthread_mutex_lock(&lock);
	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	waiting--;
	pthread_mutex_unlock(&lock);
	judge_room_put(j->room);
	judge_job_free(j);
}

static void not_taken(struct judge_job *j)
{
	judge_code_lock();
	if (j->f->taken[j->shape])
		j->f->taken[j->shape]--;
	agent_order_change();
	judge_code_unlock();
}

static void take_done(struct judge_job *j, const char *bytes, size_t n)
{
	struct judge_function *f = j->f;
	struct race_judge_done done;

	if (n < sizeof(done))
		return;
	memcpy(&done, bytes, sizeof(done));
	__atomic_store_n(&spent, done.spent_ns, __ATOMIC_RELAXED);
	judge_code_lock();
	bool is_again = done.is_unknown && f->nmore && f->retries < RETRIES;
	f->retries += is_again;
	judge_code_unlock();
	if (is_again)
		not_taken(j);
}

static bool serve_job(struct judge_job *j, const struct race_judge_message *msg, const char *bytes)
{
	if (msg->op == RACE_JUDGE_ASK_MEMORY && msg->bytes == sizeof(uint64_t))
		return answer_memory(j, bytes);
	if (msg->op == RACE_JUDGE_ASK_PAGE && msg->bytes == sizeof(struct race_judge_range))
		return answer_page(j, bytes);
	if (msg->op == RACE_JUDGE_ASK_AFTER && msg->bytes == sizeof(struct race_judge_range))
		return answer_after(j, bytes);
	if (msg->op == RACE_JUDGE_ASK_PLACE && msg->bytes > sizeof(struct race_judge_symbol))
		return answer_place(j, bytes);
	if (msg->op != RACE_JUDGE_DONE)
		return false;
	take_done(j, bytes, msg->bytes);
	remove_job(j);
	return true;
}

/* The next message of the judge. */
static void serve(void)
{
	struct race_judge_message msg;
	char bytes[4096] = {0};
	int fd = judge_socket();
	struct judge_job *j;

	if (!race_judge_next(fd, &msg) || msg.bytes >= sizeof(bytes) ||
	    !race_judge_read(fd, bytes, msg.bytes) || !(j = find(msg.launch)) ||
	    !serve_job(j, &msg, bytes))
		judge_set_off();
}

/* Another stream was made before the only copy was: it may be torn. */
static bool is_torn(const struct judge_job *j)
{
	return !j->is_twice && !j->may_mix && judge_has_streams();
}

static void send_launch(struct judge_job *j)
{
	struct race_judge_launch *h = &j->head;
	uint32_t textures = h->textures * (uint32_t)sizeof(*j->textures);
	const struct race_judge_message msg = {.op = RACE_JUDGE_LAUNCH,
					       .bytes = (uint32_t)sizeof(*h) + h->kernel +
							h->params + textures};
	int fd = judge_socket();

	h->program_ns = judge_age_ns();
	j->is_sent = true;
	if (!judge_maps_send(fd) || !race_judge_write(fd, &msg, sizeof(msg)) ||
	    !race_judge_write(fd, h, sizeof(*h)) || !race_judge_write(fd, j->f->name, h->kernel) ||
	    !race_judge_write(fd, j->params, h->params) ||
	    !race_judge_write(fd, j->textures, textures))
		judge_set_off();
}

/* Sends it if its copies have been made. True: they haven't yet. */
static bool try_send(struct judge_job *j)
{
	CUcontext ctx = __atomic_load_n(&j->ctx, __ATOMIC_ACQUIRE);
	CUresult r = CUDA_ERROR_INVALID_CONTEXT;

	if (ctx && judge_driver.ctx_set_current(ctx) == CUDA_SUCCESS)
		r = judge_driver.event_query(j->room->event);
	if (r == CUDA_ERROR_NOT_READY)
		return true;
	if (r == CUDA_SUCCESS && !is_torn(j)) {
		send_launch(j);
		return false;
	}
	if (r == CUDA_SUCCESS)
		not_taken(j);
	remove_job(j);
	return false;
}

/* All that can be sent. True: some can't yet. */
static bool send_jobs(void)
{
	struct judge_job *j, *next;
	bool has_more = false;

	pthread_mutex_lock(&lock);
	j = first;
	pthread_mutex_unlock(&lock);
	/* (Others only add to the list's end.) */
	for (; j; j = next) {
		pthread_mutex_lock(&lock);
		next = j->next;
		pthread_mutex_unlock(&lock);
		if (!judge_is_on())
			remove_job(j);
		else if (!j->is_sent)
			has_more |= try_send(j);
	}
	return has_more;
}

static void send_operations(void)
{
	struct operation *o, *next;

	pthread_mutex_lock(&lock);
	o = first_operation;
	first_operation = NULL;
	last_operation = &first_operation;
	pthread_mutex_unlock(&lock);
	for (; o; o = next) {
		next = o->next;
		if (judge_is_on() && !race_judge_send(judge_socket(), RACE_JUDGE_OPERATION, 0,
						      &o->op, sizeof(o->op), NULL, 0))
			judge_set_off();
		free(o);
		pthread_mutex_lock(&lock);
		operations--;
		pthread_mutex_unlock(&lock);
	}
}

/* Says whether the program waits for the judge, if that is new. */
static void inform(void)
{
	static bool was_on;
	uint32_t is_on = __atomic_load_n(&is_waited_for, __ATOMIC_ACQUIRE);

	if (is_on == was_on || !judge_is_on())
		return;
	was_on = is_on;
	if (!race_judge_send(judge_socket(), RACE_JUDGE_HURRY, 0, &is_on, sizeof(is_on), NULL, 0))
		judge_set_off();
}

static void *run(void *arg)
{
	struct judge_guard g;
	long ns = POLL_LEAST;

	(void)arg;
	judge_enter(&g);
	for (;;) {
		struct pollfd p[2] = {
			{.fd = wake, .events = POLLIN},
			{.fd = judge_is_on() ? judge_socket() : -1, .events = POLLIN}};
		bool has_more = send_jobs();
		send_operations();
		inform();
		ns = !has_more ? POLL_LEAST : ns * 2 < POLL_MOST ? ns * 2 : POLL_MOST;
		ppoll(p, 2, has_more ? &(struct timespec){.tv_nsec = ns} : NULL, NULL);
		if (p[0].revents) {
			uint64_t n;
			ns = POLL_LEAST;
			if (read(wake, &n, sizeof(n)) < 0)
				judge_set_off();
		}
		if (p[1].revents && judge_is_on())
			serve();
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
	free(j->textures);
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

	wake = eventfd(0, EFD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (wake >= 0 && pthread_create(&t, NULL, run, NULL) == 0)
		pthread_detach(t);
	else
		judge_set_off();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	atexit(at_exit);
}

static void wake_thread(void)
{
	const uint64_t one = 1;

	if (wake >= 0 && write(wake, &one, sizeof(one)) < 0)
		judge_set_off();
}

static void start_once(void)
{
	if (!is_started)
		start_thread();
	is_started = true;
}

void judge_operation_put(const struct race_judge_operation *op)
{
	struct operation *o = malloc(sizeof(*o));

	if (!o) {
		judge_set_off(); /* what launches are compared with would be incomplete */
		return;
	}
	*o = (struct operation){NULL, *op};
	pthread_mutex_lock(&lock);
	start_once();
	*last_operation = o;
	last_operation = &o->next;
	operations++;
	pthread_mutex_unlock(&lock);
	wake_thread();
}

void judge_job_put(struct judge_job *j)
{
	struct judge_job **at = &first;

	pthread_mutex_lock(&lock);
	start_once();
	while (*at)
		at = &(*at)->next;
	*at = j;
	waiting++;
	pthread_mutex_unlock(&lock);
	wake_thread();
}

/* Is there a job of the context, or (NULL) anything to be sent? With the lock held. is_dropping: it
 * is given up. */
static bool has_jobs(CUcontext ctx, bool is_dropping)
{
	bool has = !ctx && operations;

	for (struct judge_job *j = first; j; j = j->next) {
		if (!j->ctx || (ctx && j->ctx != ctx))
			continue;
		has = true;
		if (is_dropping)
			__atomic_store_n(&j->ctx, NULL, __ATOMIC_RELEASE);
	}
	return has;
}

void judge_ways_forget(void)
{
	for (size_t i = 0; i < CONTEXTS; i++)
		ways[i].ctx = NULL;
}

void judge_wait(CUcontext ctx)
{
	const struct race_judge_policy *p = judge_policy();
	uint64_t all =
		p->mode == RACE_JUDGE_AUTO ? p->at_least_ns + p->limit_ns : PLACES * p->limit_ns;
	uint64_t until = base_now_ns() + all + WAIT_NS;
	bool has;

	judge_finish();
	pthread_mutex_lock(&lock);
	has = has_jobs(ctx, false);
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&is_waited_for, has, __ATOMIC_RELEASE);
	if (has)
		wake_thread();
	while (has && judge_is_on()) {
		bool is_late = base_now_ns() > until;
		pthread_mutex_lock(&lock);
		has = has_jobs(ctx, is_late);
		pthread_mutex_unlock(&lock);
		if (is_late)
			break;
		if (has)
			sleep_ns(POLL_MOST);
	}
	__atomic_store_n(&is_waited_for, false, __ATOMIC_RELEASE);
	wake_thread();
	for (size_t i = 0; ctx && i < CONTEXTS; i++)
		if (ways[i].ctx == ctx)
			ways[i].ctx = NULL;
	if (ctx)
		judge_rooms_forget(ctx);
}
