/*
 * agent.c - the agent's life: from the driver's call at start-up to exit.
 *
 * The driver loads the library that CUDA_INJECTION64_PATH names inside cuInit
 * and calls InitializeInjection, which maps the shared file and subscribes
 * (subscribe.c); everything after that happens in callbacks (callback.c). At exit()
 * the last snapshot is taken: handlers run in reverse order, so ours, which is registered during
 * cuInit, runs before those of the CUDA runtime. After _exit or a signal there is no last snapshot,
 * but the records are in the shared file already.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "report/report.h"

#include "agent/agent.h"

struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void at_exit(void)
{
	if (agent.pid != getpid())
		return;
	agent_context_finish(NULL);
	/* Without regions CUDA was started, but not used. */
	if (race_shm_is_own() && race_shm_get()->nregions)
		rep_own(race_shm_get());
}

static void before_fork(void)
{
	agent_lock();
}

static void after_fork_parent(void)
{
	agent_unlock();
}

static void init_clock(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&agent.changed, &attr);
	pthread_condattr_destroy(&attr);
}

/*
 * The parent's contexts do not work in the child, and their regions stay the parent's: the child
 * starts with empty tables (their memory is lost to it) and claims regions for contexts of its
 * own, where the driver lets it make any. A child that execs loads a new agent anyway.
 */
static void after_fork_child(void)
{
	agent.pid = getpid();
	agent.captures = 0;
	agent.has_streams = false;
	agent_context_forget_all();
	agent_module_reset();
	agent_watch_reset();
	agent_launch_reset();
	agent_unordered_reset();
	agent_memory_reset();
	agent_plain_reset();
	agent_host_forget();
	agent_copies_reset();
	agent_holds_reset();
	race_shm_disown();
	init_clock();	      /* threads that waited do not exist in the child */
	agent.is_counted = 0; /* until it makes a context: most children only exec */
	agent_unlock();
}

/* ------------------------------------------------------------------------ */

void agent_lock(void)
{
	pthread_mutex_lock(&agent.lock);
}

void agent_unlock(void)
{
	pthread_mutex_unlock(&agent.lock);
}

bool agent_wait(const struct timespec *deadline)
{
	return pthread_cond_timedwait(&agent.changed, &agent.lock, deadline) != ETIMEDOUT;
}

void agent_count_process(void)
{
	if (!__atomic_exchange_n(&agent.is_counted, 1, __ATOMIC_RELAXED))
		__atomic_fetch_add(&race_shm_get()->nprocesses, 1, __ATOMIC_RELAXED);
}

/*
 * Called by the driver once, inside cuInit. Always returns 1: whatever fails here must not make
 * the program's cuInit fail.
 */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	enum race_agent_state state;

	if (agent.pid || !race_shm_open())
		return 1;
	init_clock();
	agent_count_process();
	state = agent_subscribe();
	race_shm_state(state);
	if (state != RACE_AGENT_ATTACHED)
		return 1;
	agent.pid = getpid();
	if (atexit(at_exit) != 0)
		race_shm_note("no exit handler; counts may be incomplete");
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	return 1;
}
