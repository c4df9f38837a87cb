/*
 * choice.c - launches that run without checks on a GPU: --kernel-name, --launch-skip and others.
 *
 * The checks of a context are on or off as a whole. A launch that needs the other state waits until
 * nothing runs in the context and no other call that launches is under way; then the runtime blocks
 * of its modules are written again (agent_module_switch). So the state never changes while a kernel
 * runs, and a checked kernel never runs beside one that is left out: what the latter orders can't
 * matter for a finding (docs/soundness.md). If the context doesn't become idle, its state stays,
 * and the launch is counted as what it was. A graph is one launch here: it is checked if one of its
 * kernels is to be.
 *
 * The time of --budget is what events before and after each checked launch measure; at most
 * TIMINGS of them are under way at a time.
 *
 * Misses: races of launches that the waits keep apart. Costs: nothing unless a run leaves launches
 * out; then a wait for each change of the state, and with --budget two events for each checked
 * launch. A launch that is left out runs the module's code with its checks switched off: no delay,
 * no second reading, no table is touched, but more instructions and registers than the original
 * has. `collider nvcc --kernel-name` leaves them out of the code.
 */
#include <stdlib.h>
#include <time.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "race/file/nvtx.h"

#define TIMINGS	       16
#define SWITCH_WAIT_S  5       /* for the context to become idle */
#define AGAIN_WAIT_US  200000u /* the same, once that was in vain */
#define TIMING_WAIT_US 200000u
#define LAUNCH_WAIT_S  2

/* A checked launch; is_open while its call is under way. */
struct timing {
	CUevent start, end;
	uint64_t begun; /* base_now_ns */
	bool is_used, is_open;
};

struct agent_choice {
	CUcontext context;
	struct timing timings[TIMINGS]; /* by the thread that has is_busy */
	bool has_timings;
	uint64_t spent_ns;

	/* Under the agent's lock. */
	bool is_off;
	bool is_busy;	    /* a thread decides or switches; launches wait */
	bool was_in_vain;   /* the last wait */
	uint32_t launching; /* calls under way that launch or write a module's block */
};

/* The launch that this thread is in. */
static __thread struct agent_choice *begun;
static __thread struct timing *timed;

/* ---- the time of checked launches ------------------------------------------------------------ */

static bool make_timings(struct agent_choice *h)
{
	bool is_good = agent_driver.event_record && agent_driver.event_elapsed_time;

	for (unsigned i = 0; i < TIMINGS && is_good; i++)
		is_good = agent_driver.event_create(&h->timings[i].start, 0) == CUDA_SUCCESS &&
			  agent_driver.event_create(&h->timings[i].end, 0) == CUDA_SUCCESS;
	return is_good;
}

/* Adds what has ended; returns a free place or NULL. */
static struct timing *collect(struct agent_choice *h)
{
	struct timing *found = NULL;
	float ms = 0;

	for (unsigned i = 0; i < TIMINGS; i++) {
		struct timing *t = &h->timings[i];
		if (t->is_used && !__atomic_load_n(&t->is_open, __ATOMIC_ACQUIRE) &&
		    agent_driver.event_query(t->end) != CUDA_ERROR_NOT_READY) {
			if (agent_driver.event_elapsed_time(&ms, t->start, t->end) == CUDA_SUCCESS)
				h->spent_ns += (uint64_t)((double)ms * 1e6);
			t->is_used = false;
		}
		if (!t->is_used)
			found = t;
	}
	return found;
}

/* The one that has run longest counts up to now, and no further. */
static struct timing *give_up(struct agent_choice *h)
{
	struct timing *oldest = NULL;

	for (unsigned i = 0; i < TIMINGS; i++) {
		struct timing *t = &h->timings[i];
		if (!__atomic_load_n(&t->is_open, __ATOMIC_ACQUIRE) &&
		    (!oldest || t->begun < oldest->begun))
			oldest = t;
	}
	if (oldest)
		h->spent_ns += base_now_ns() - oldest->begun;
	return oldest;
}

/* Inside a guard. */
static struct timing *wait_for_timing(struct agent_choice *h)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	uint64_t end = base_now_ns() + TIMING_WAIT_US * 1000ull;
	struct timing *t;

	while (!(t = collect(h)) && base_now_ns() < end)
		nanosleep(&pause, NULL);
	return t ? t : give_up(h);
}

static bool has_budget(void)
{
	return race_shm_get()->choice.budget_ns != UINT64_MAX;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Is one of the kernels to be checked? *has_any: is one instrumented? */
static bool ask(struct agent_launch_set *set, uint64_t spent_ns, bool *has_any)
{
	bool is_wanted = false;

	*has_any = false;
	for (size_t i = 0; i < set->n; i++) {
		struct race_kernel_count *k = agent_kernel_count(set->kernel[i]);
		if (!k && set->kernel[i])
			race_choice_pass(agent_kernel_chunk(set->kernel[i]),
					 agent_kernel_name(set->kernel[i]));
		if (!k)
			continue;
		*has_any = true;
		set->answer[i] = race_choice_ask(k, agent_kernel_name(set->kernel[i]),
						 race_nvtx_is_outside(), spent_ns);
		is_wanted |= !set->answer[i].why;
	}
	return is_wanted;
}

/* What became of it. */
static void note(const struct agent_launch_set *set, bool is_off)
{
	for (size_t i = 0; i < set->n; i++) {
		struct race_kernel_count *k = agent_kernel_count(set->kernel[i]);
		struct race_choice_answer a = set->answer[i];
		if (!k)
			continue;
		if (is_off && !a.why)
			a.why = RACE_LEFT_BUSY;
		else if (!is_off)
			a.why = 0;
		race_choice_note(k, a);
	}
}

/* The lock is held, and is_busy is ours: no other call launches until it is given back. */
static bool is_alone(struct agent_choice *h)
{
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 1000 * LAUNCH_WAIT_S);

	while (h->launching && agent_wait(&deadline))
		;
	return !h->launching;
}

/* The lock is held, is_busy is ours; it is released meanwhile. */
static void change(struct agent_context *c, struct agent_choice *h, bool is_off)
{
	uint64_t us = h->was_in_vain ? AGAIN_WAIT_US : SWITCH_WAIT_S * 1000000ull;
	bool is_good = is_alone(h);
	struct agent_guard g;

	agent_unlock();
	agent_enter(&g);
	is_good = is_good && agent_becomes_idle(h->context, us);
	if (is_good) {
		h->is_off = is_off;
		agent_module_switch(c);
	}
	agent_leave(&g);
	agent_lock();
	h->was_in_vain = !is_good;
}

static void wait_for_others(struct agent_choice *h)
{
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 4000 * SWITCH_WAIT_S);

	while (h->is_busy && agent_wait(&deadline))
		;
}

/* ------------------------------------------------------------------------ */

/* The entry that NVTX's headers look for in the library that their variable names. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(race_nvtx_tables_fn *tables);

int InitializeInjectionNvtx2(race_nvtx_tables_fn *tables)
{
	return race_nvtx_listen(tables);
}

/* RACE_NVTX_OUTSIDE: for the judge's half of the program, in the library that stands in for the
 * driver's (forward/inject.c). */
__attribute__((visibility("default"))) bool agent_is_outside(void);

bool agent_is_outside(void)
{
	return race_nvtx_is_outside();
}

struct agent_choice *agent_choice_new(CUcontext context)
{
	struct agent_choice *h;

	if (!race_choice_is_on())
		return NULL;
	h = agent_driver.ctx_record_event ? calloc(1, sizeof(*h)) : NULL;
	if (!h) {
		race_shm_note("the launches of a context can't be chosen (%s); all are checked",
			      agent_driver.ctx_record_event ? "no memory"
							    : "the driver is older than 12.5");
		return NULL;
	}
	h->context = context;
	return h;
}

bool agent_choice_is_off(const struct agent_choice *h)
{
	return h && h->is_off;
}

void agent_choice_hold(struct agent_choice *h)
{
	if (!h)
		return;
	agent_lock();
	wait_for_others(h);
	h->launching++;
	agent_unlock();
}

void agent_choice_release(struct agent_choice *h)
{
	if (!h)
		return;
	agent_lock();
	h->launching -= h->launching > 0;
	pthread_cond_broadcast(&agent.changed);
	agent_unlock();
}

void agent_choice_begin(struct agent_context *c, struct agent_choice *h,
			struct agent_launch_set *set, CUstream stream)
{
	struct timing *t = NULL;
	struct agent_guard g;
	bool has_any, is_wanted;

	if (!h)
		return;
	agent_lock();
	wait_for_others(h);
	h->is_busy = true;
	agent_unlock();
	agent_enter(&g);
	if (has_budget() && !h->has_timings)
		h->has_timings = make_timings(h);
	if (h->has_timings && set->n)
		t = wait_for_timing(h);
	agent_leave(&g);

	agent_lock();
	is_wanted = ask(set, h->spent_ns, &has_any);
	if (has_any && is_wanted == h->is_off)
		change(c, h, !is_wanted);
	note(set, h->is_off);
	if (!has_any || h->is_off)
		t = NULL;
	agent_unlock();

	agent_enter(&g);
	if (t && agent_driver.event_record(t->start, stream) != CUDA_SUCCESS)
		t = NULL;
	agent_leave(&g);
	if (t) {
		t->begun = base_now_ns();
		t->is_used = t->is_open = true;
	}
	begun = h;
	timed = t;
	agent_lock();
	h->launching++;
	h->is_busy = false;
	pthread_cond_broadcast(&agent.changed);
	agent_unlock();
}

void agent_choice_end(CUstream stream)
{
	struct agent_choice *h = begun;
	struct agent_guard g;

	if (!h)
		return;
	begun = NULL;
	if (timed) {
		agent_enter(&g);
		(void)agent_driver.event_record(timed->end, stream);
		agent_leave(&g);
		__atomic_store_n(&timed->is_open, false, __ATOMIC_RELEASE);
		timed = NULL;
	}
	agent_choice_release(h);
}
