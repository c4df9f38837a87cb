/*
 * origin.c - which calls of the program requested launches, copies and fills, and which raced.
 *
 * A call site is its return addresses, numbered as they come; the number travels with the work
 * (cpu_work.origin), into graphs, too. The machine reports what changed (cpu/recheck.c); the first
 * change of a site goes to the shared file with the addresses, later ones are only counted there.
 * The calls of a pair that the oracle found go there once each.
 * The site of a graph's node is the call that added or last changed it. Of a Python program it is
 * Python's lines (race_script) instead of the addresses.
 *
 * A walk up the stack takes some microseconds, and loops launch from one place: a thread remembers
 * its last walks with the words of the stack that held the return addresses. Where all of these
 * are as they were, so are the frames, one after the other from the innermost outwards (but where
 * a frame's size varies, by alloca, and an old address was left just there).
 *
 * Costs: a comparison of up to 32 words for each launch, copy or fill, only while races are looked
 * for; else a walk of as many frames (a library's launches lie deep), and a look-up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define HASH_NONFATAL_OOM      1
#define uthash_nonfatal_oom(e) ((e)->number = 0)
#include "base/table.h"

#include "cudart/report/collider.h"
#include "race/file/transfer.h"
#include "race/race.h"
#include "race/file/shm_write.h"

#define DEPTH	    32
#define ORIGINS_MAX 65536u

struct origin {
	void *pcs[DEPTH]; /* key */
	char *script;	  /* the Python lines, whose hash is then the first pc; NULL: none */
	uint32_t number;
	int n;
	uint64_t *count[2]; /* in the shared file: destination, source */
	bool is_reported;   /* reported as the call of a pair's operation */
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* an innermost one, as collider.c's */
static struct origin *origins;
static BASE_VEC(struct origin *) by_number; /* [number - 1] */
static struct origin unknown;
static _Thread_local char script[RACE_SCRIPT_BYTES];
static bool is_on;			    /* copies are checked, or judged */
static struct race_transfer_counts *counts; /* in the shared file; NULL: nothing is checked */

/* ---- walks ------------------------------------------------------------------------------- */

#define WALKS 8u

struct walk {
	const void *frame;	  /* rt_origin's; NULL: none is remembered here */
	void *const *slot[DEPTH]; /* where each return address was found */
	void *pcs[DEPTH];
	int n;
	bool is_whole; /* all of them were found on the stack */
	uint32_t number;
};
static _Thread_local struct walk walks[WALKS];
static _Thread_local unsigned next_walk;

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	void *pc = (void *)_Unwind_GetIP(c), *const *end = (void *const *)_Unwind_GetCFA(c);

	if (w->n == DEPTH || !pc)
		return _URC_END_OF_STACK;
	/* The first is rt_origin's own. x86-64 pushes a return address just below the frame that
	 * it leads to. */
	if (w->n && (const void *)end > w->frame && end[-1] == pc)
		w->slot[w->n] = end - 1;
	else if (w->n)
		w->is_whole = false;
	w->pcs[w->n++] = pc;
	return _URC_NO_REASON;
}

static bool is_as_it_was(const struct walk *w, const void *frame)
{
	if (w->frame != frame)
		return false;
	for (int i = 1; i < w->n; i++)
		if (*w->slot[i] != w->pcs[i])
			return false;
	return true;
}

static void remember(const struct walk *w, uint32_t number)
{
	if (!w->is_whole || !number)
		return;
	walks[next_walk] = *w;
	walks[next_walk].number = number;
	next_walk = (next_walk + 1) % WALKS;
}

uint32_t rt_origin(void)
{
	struct walk w = {.frame = __builtin_frame_address(0), .is_whole = true};
	struct origin key = {0}, *o;
	uint32_t number = 0;

	if (!is_on)
		return 0;
	bool is_script = race_script(script);
	for (unsigned i = 0; i < WALKS && !is_script; i++)
		if (is_as_it_was(&walks[i], w.frame))
			return walks[i].number;
	if (is_script) {
		key.pcs[0] = (void *)(uintptr_t)base_hash(script, strlen(script), BASE_FNV_INIT);
	} else {
		_Unwind_Backtrace(on_frame, &w);
		key.n = w.n;
		memcpy(key.pcs, w.pcs, sizeof(key.pcs));
	}
	pthread_mutex_lock(&lock);
	HASH_FIND(hh, origins, key.pcs, sizeof(key.pcs), o);
	if (!o && by_number.n < ORIGINS_MAX && (o = malloc(sizeof(*o)))) {
		*o = key;
		o->script = is_script ? strdup(script) : NULL;
		o->number = (uint32_t)by_number.n + 1;
		HASH_ADD(hh, origins, pcs, sizeof(o->pcs), o);
		if (o->number)
			base_vec_push(&by_number, o);
	}
	if (o)
		number = o->number;
	pthread_mutex_unlock(&lock);
	if (!is_script)
		remember(&w, number);
	return number;
}

const char *rt_script_last(void)
{
	return script;
}

/* ---- recording ---------------------------------------------------------------------------- */

static struct race_stack stack_of(const struct origin *o)
{
	return (struct race_stack){.pcs = o->pcs, .n = o->n, .script = o->script};
}

static uint64_t *record(const struct origin *o, const struct cpu_change *c)
{
	const struct race_transfer t = {.address = c->address,
					.at = c->at,
					.bytes = c->bytes,
					.stream = c->stream,
					.was = c->was,
					.now = c->now,
					.width = c->width,
					.kind = c->is_source ? RACE_KIND_CLOBBERED_READ
							     : RACE_KIND_LOST_UPDATE,
					.origin = c->origin,
					.context = rt_collider_number(c->device),
					.device = (int32_t)c->device};

	return race_transfer_report(&t, NULL, stack_of(o));
}

static void on_change(void *arg, const struct cpu_change *c)
{
	struct origin *o = &unknown;
	uint64_t **count;

	(void)arg;
	pthread_mutex_lock(&lock);
	if (c->origin && c->origin <= by_number.n)
		o = by_number.v[c->origin - 1];
	count = &o->count[c->is_source];
	if (*count)
		__atomic_fetch_add(*count, 1, __ATOMIC_RELAXED);
	else
		*count = record(o, c);
	if (!*count)
		counts->lost++;
	pthread_mutex_unlock(&lock);
}

void rt_origin_report(uint32_t number)
{
	pthread_mutex_lock(&lock);
	struct origin *o = number && number <= by_number.n ? by_number.v[number - 1] : NULL;
	if (o && !o->is_reported) {
		o->is_reported = true;
		race_origin_report(number, stack_of(o));
	}
	pthread_mutex_unlock(&lock);
}

/* ---- start and counts ------------------------------------------------------------------------ */

void rt_origin_start(void)
{
	const struct race_shm *shm = race_shm_get();

	is_on = shm->sample != RACE_SAMPLE_NEVER || rt.options.oracle != CPU_ORACLE_OFF;
	if (shm->sample == RACE_SAMPLE_NEVER)
		return;
	counts = race_transfer_counts_new();
	if (counts)
		cpu_check_copies(rt.m, shm->rdelay, shm->sample, on_change, NULL);
}

void rt_origin_update(void)
{
	struct cpu_copy_stats s;

	if (!counts)
		return;
	s = cpu_get_copy_stats(rt.m);
	counts->checked = s.checked;
	counts->bytes = s.bytes;
	counts->skipped[RACE_TRANSFER_SAMPLED] = s.sampled;
}

void rt_origin_forked(void)
{
	is_on = false;
	counts = NULL;
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
