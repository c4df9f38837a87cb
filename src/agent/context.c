/*
 * context.c - one runtime block and one region of the shared file per context.
 *
 * A context is set up at the first API callback in which it is current: the callback that announces
 * it comes while the driver is still building it. Counters live in device memory and are copied to
 * the region (a snapshot, 72 KiB on a stream of our own) before the context is destroyed, at exit,
 * and after synchronising calls, at most every SNAPSHOT_NS. A snapshot is exact when nothing was
 * launched between the wait for the whole context and the copy.
 *
 * The last wait has a limit: a kernel that never ends must not keep a program from exiting that
 * would have exited without us; in that case the counts are reported as not exact (drivers before
 * 12.5 have no such wait: there it has no limit). A context killed by an error keeps its last
 * snapshot; its records lie in host memory and need none.
 *
 * Green contexts share modules with their primary context but have handles of
 * their own: the one that was set up last gets the counts.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/table.h"
#include "base/clock.h"
#include "race/file/host.h"

#define EARLY	     256
#define SNAPSHOT_NS  200000000u
#define LAST_WAIT_S  10
#define BUILD_WAIT_S 30

struct agent_context {
	CUcontext handle; /* key */
	enum agent_ctx_state state;
	struct race_region *region; /* NULL: all regions are taken */
	uint64_t rt;
	CUstream stream;
	CUdevice device;
	uint64_t seq;	    /* launches begun, from 1; atomic */
	uint64_t finished;  /* seq at the last finish: once is enough */
	uint64_t libraries; /* see module.c */
	uint64_t taken;	    /* time of the last snapshot; atomic */
	int is_snapping;    /* atomic: one snapshot at a time */
	int is_dead;	    /* atomic: sticky error */
	struct race_rt *copy;
	struct agent_copies *copies; /* NULL: the host's copies are not checked */
	struct agent_holds *holds;   /* NULL: streams keep their order */
	struct agent_choice *choice; /* NULL: all launches are checked */
	struct agent_history *history;
	CUdeviceptr records;	    /* where the device sees the region's */
	uint64_t watch;		    /* the table that it shares with other devices, or 0 */
	int is_watch_tried;	    /* atomic */
	struct race_mirror *mirror; /* the same for host code; NULL: none */
	/* By detectors with words; atomic. */
	int is_history_tried[RACE_WORDS_COUNT];
	uint32_t unseen[RACE_WORDS_COUNT]; /* RACE_HISTORY_*_ORDERS */
	uint64_t early[EARLY][2]; /* memory got before there was a history; under the lock */
	uint32_t nearly;
	UT_hash_handle hh;
};

static struct agent_context *contexts; /* open ones, by handle; under the lock */
static uint32_t next_number;
static uint32_t unseen_by_all; /* RACE_HISTORY_*_ORDERS; atomic */

/* What a thread has found last, until any context is forgotten: a call that launches asks twice. */
static __thread struct {
	CUcontext handle;
	struct agent_context *context;
	uint64_t forgotten;
} last;

/* After these every call in the context fails; other errors concern one call only. */
static bool is_fatal(CUresult r)
{
	switch (r) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_UNKNOWN:
		return true;
	default:
		return false;
	}
}

static void set_exact(struct agent_context *c, uint32_t exact)
{
	__atomic_store_n(&c->region->exact, exact, __ATOMIC_SEQ_CST);
}

static bool is_exact(struct agent_context *c)
{
	return __atomic_load_n(&c->region->exact, __ATOMIC_SEQ_CST) != 0;
}

static void mark_dead(struct agent_context *c, CUresult r)
{
	if (__atomic_exchange_n(&c->is_dead, 1, __ATOMIC_RELAXED) || !c->region)
		return;
	c->region->error = (uint32_t)r;
	race_host_mirror_end(c->mirror); /* its threads don't take their watchpoints back */
	set_exact(c, 0);
}

#define TRY(call)                                                                                  \
	do {                                                                                       \
		*what = #call;                                                                     \
		r = agent_driver.call;                                                             \
		if (r != CUDA_SUCCESS)                                                             \
			return r;                                                                  \
	} while (0)

/* Where kernels note watchpoints for host code, as the device sees it; 0: none looks. */
static uint64_t mirror_for_host(struct agent_context *c)
{
	bool is_wanted =
		RACE_RUN_DETECTORS(race_shm_get()->flags) & race_detectors_with(RACE_SEES_HOST);
	struct race_mirror *m = is_wanted ? race_host_mirror() : NULL;
	CUdeviceptr at = 0;

	if (!m)
		return 0;
	if (agent_driver.mem_host_register(m, sizeof(*m),
					   CU_MEMHOSTREGISTER_DEVICEMAP |
						   CU_MEMHOSTREGISTER_PORTABLE) != CUDA_SUCCESS ||
	    agent_driver.mem_host_get_device_pointer(&at, m, 0) != CUDA_SUCCESS) {
		race_host_mirror_end(m);
		race_shm_gap_note(RACE_GAP_FORGOTTEN,
				  "no memory for watchpoints that host code sees: what it accesses "
				  "meets none");
		return 0;
	}
	c->mirror = m;
	return at;
}

/* Context current, inside a guard. `what` names the call that failed. */
static CUresult build(struct agent_context *c, const char **what)
{
	struct race_region *region = c->region;
	struct race_rt head;
	CUdeviceptr rt, records;
	CUresult r;

	TRY(ctx_get_device(&c->device));
	region->device = c->device;
	TRY(device_get_name(region->device_name, sizeof(region->device_name), c->device));
	TRY(stream_create(&c->stream, CU_STREAM_NON_BLOCKING));
	TRY(mem_alloc(&rt, sizeof(struct race_rt)));
	TRY(memset_d8_async(rt, 0, sizeof(struct race_rt), c->stream));
	TRY(mem_host_register(region->records, RACE_REGION_MAPPED,
			      CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
	TRY(mem_host_get_device_pointer(&records, region->records, 0));
	memset(&head, 0, offsetof(struct race_rt, counters));
	head.records = c->records = records;
	head.maps = records + RACE_REGION_MAPS;
	head.mirror = mirror_for_host(c);
	TRY(memcpy_htod_async(rt, &head, offsetof(struct race_rt, counters), c->stream));
	TRY(stream_synchronize(c->stream));
	c->rt = rt;
	return CUDA_SUCCESS;
}

static enum agent_ctx_state set_up(struct agent_context *c)
{
	struct agent_guard g;
	const char *what = "";
	CUresult r;

	agent_count_process();
	agent_plain_context();
	c->copy = malloc(sizeof(*c->copy));
	if (!c->region || !c->copy) {
		race_shm_gap_note(
			RACE_GAP_FORGOTTEN,
			c->copy ? "more than %u contexts; races in the later ones go unchecked"
				: "no memory for context %u; races in it go unchecked",
			c->copy ? RACE_REGIONS : next_number);
		return AGENT_CTX_FAILED;
	}
	agent_enter(&g);
	r = build(c, &what);
	if (r == CUDA_SUCCESS) {
		c->copies = agent_copies_new(c->rt, c->stream);
		c->holds = agent_holds_new(c->region);
		c->choice = agent_choice_new(c->handle);
	}
	agent_leave(&g);
	if (r == CUDA_SUCCESS)
		return AGENT_CTX_READY;
	if (is_fatal(r))
		mark_dead(c, r);
	race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
			  "cannot set up context %u (%.40s: error %d); races in it go unchecked",
			  c->region->context, what, (int)r);
	return AGENT_CTX_FAILED;
}

/* Copies the counters, context current and guard entered. */
static CUresult copy_counters(struct agent_context *c)
{
	struct race_region *region = c->region;
	uint64_t checked = 0, warp = 0, launches = 0, watches = 0;
	CUresult r;

	r = agent_driver.memcpy_dtoh_async(c->copy, c->rt, offsetof(struct race_rt, cover),
					   c->stream);
	if (r == CUDA_SUCCESS)
		r = agent_driver.stream_synchronize(c->stream);
	if (r != CUDA_SUCCESS)
		return r;
	for (unsigned i = 0; i < RACE_COUNTERS; i++) {
		checked += c->copy->counters[i].checked;
		warp += c->copy->counters[i].warp;
		launches += c->copy->counters[i].launches;
		watches += c->copy->counters[i].watches;
	}
	region->checked = checked;
	region->warp_checked = warp;
	region->launches = launches;
	region->overflow = c->copy->overflow;
	region->unboxed = c->copy->unboxed;
	if (c->copy->left)
		agent_plain_left();
	region->watches = watches;
	region->watch_busy = c->copy->watch_busy;
	region->watch_lost = c->copy->watch_lost;
	region->looks = c->copy->looks;
	for (unsigned i = 0; i < RACE_SLOTS; i++)
		region->counts[i] = c->copy->slots[i].count;
	agent_history_snapshot(agent_context_history(c), region);
	return CUDA_SUCCESS;
}

/*
 * `seq`: agent_context_seq before the wait for the whole context, or UINT64_MAX. Skipped if another
 * thread is taking one.
 */
static void snapshot(struct agent_context *c, uint64_t seq)
{
	struct agent_guard g;
	CUresult r;

	if (c->state != AGENT_CTX_READY || __atomic_load_n(&c->is_dead, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&c->is_snapping, 1, __ATOMIC_ACQUIRE))
		return;
	agent_enter(&g);
	r = copy_counters(c);
	agent_leave(&g);
	if (r == CUDA_SUCCESS) {
		set_exact(c, 1);
		/* A launch counts itself before it clears `exact`: looked at after setting it. */
		if (seq != agent_context_seq(c))
			set_exact(c, 0);
	} else if (is_fatal(r))
		mark_dead(c, r);
	__atomic_store_n(&c->taken, base_now_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&c->is_snapping, 0, __ATOMIC_RELEASE);
}

/* Waits until the current context is idle, at most LAST_WAIT_S. */
static bool wait_idle(CUcontext handle)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t end = base_now_ns() + LAST_WAIT_S * 1000000000ull;
	CUevent event;
	CUresult r;

	/* Recording would invalidate a capture; without it there is no wait with a limit. */
	if (__atomic_load_n(&agent.captures, __ATOMIC_RELAXED))
		return false;
	if (!agent_driver.ctx_record_event ||
	    agent_driver.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return agent_driver.ctx_synchronize() == CUDA_SUCCESS;
	r = agent_driver.ctx_record_event(handle, event);
	if (r != CUDA_SUCCESS)
		return !is_fatal(r) && agent_driver.ctx_synchronize() == CUDA_SUCCESS;
	while ((r = agent_driver.event_query(event)) == CUDA_ERROR_NOT_READY) {
		if (base_now_ns() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return r == CUDA_SUCCESS;
}

static void finish(struct agent_context *c)
{
	uint64_t seq = agent_context_seq(c);
	struct agent_guard g;
	CUcontext old;

	if (c->state != AGENT_CTX_READY || __atomic_load_n(&c->is_dead, __ATOMIC_RELAXED))
		return;
	agent_copies_poll(c->copies);
	if ((is_exact(c) || c->finished == seq) && !agent_copies_pending(c->copies))
		return;
	c->finished = seq;
	agent_enter(&g);
	if (agent_driver.ctx_push_current(c->handle) == CUDA_SUCCESS) {
		bool is_idle = wait_idle(c->handle);

		agent_copies_poll(c->copies);
		snapshot(c, is_idle ? seq : UINT64_MAX);
		agent_driver.ctx_pop_current(&old);
	}
	agent_leave(&g);
}

/* Takes the entry out of the table; under the lock. */
static void forget(struct agent_context *c)
{
	HASH_DEL(contexts, c);
	__atomic_fetch_add(&agent.forgotten, 1, __ATOMIC_RELEASE);
	race_host_mirror_end(c->mirror);
	if (c->region)
		__atomic_store_n(&c->region->state, RACE_REGION_CLOSED, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------ */

struct agent_context *agent_context_get(CUcontext handle)
{
	uint64_t now = __atomic_load_n(&agent.forgotten, __ATOMIC_ACQUIRE);
	struct timespec deadline;
	struct agent_context *c;

	if (handle && last.handle == handle && last.forgotten == now)
		return last.context;
	if (!handle || !agent_driver_load())
		return NULL;
	agent_lock();
	HASH_FIND_PTR(contexts, &handle, c);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (c) {
			c->handle = handle;
			c->seq = 1;
		}
		AGENT_TABLE_ADD(contexts, handle, c);
		if (!c)
			AGENT_NO_MEMORY("races in a context may go unchecked");
	}
	if (c && c->state == AGENT_CTX_NEW) {
		enum agent_ctx_state state;

		c->state = AGENT_CTX_BUILDING;
		c->region = race_shm_region(next_number++);
		agent_unlock();
		state = set_up(c);
		agent_lock();
		c->state = state;
		pthread_cond_broadcast(&agent.changed);
	}
	bool waits = c && c->state == AGENT_CTX_BUILDING;
	deadline = base_clock_after(CLOCK_MONOTONIC, waits ? 1000 * BUILD_WAIT_S : 0);
	while (c && c->state == AGENT_CTX_BUILDING && agent_wait(&deadline))
		;
	if (c && c->state != AGENT_CTX_BUILDING) {
		last.handle = handle;
		last.context = c;
		last.forgotten = now;
	}
	agent_unlock();
	return c;
}

void agent_context_created(CUcontext handle)
{
	struct agent_context *c;

	agent_lock();
	HASH_FIND_PTR(contexts, &handle, c);
	if (c)
		forget(c);
	agent_unlock();
}

/* The tables must not be walked while the driver runs: takes the n-th open context. */
static struct agent_context *nth(unsigned n, CUcontext handle, int device)
{
	struct agent_context *c, *tmp, *found = NULL;

	agent_lock();
	HASH_ITER(hh, contexts, c, tmp)
	{
		if ((handle && c->handle != handle) || (device >= 0 && c->device != device))
			continue;
		if (n-- == 0) {
			found = c;
			break;
		}
	}
	agent_unlock();
	return found;
}

static void finish_all(CUcontext handle, int device)
{
	struct agent_context *c;

	for (unsigned n = 0; (c = nth(n, handle, device)); n++)
		finish(c);
}

void agent_context_finish(CUcontext handle)
{
	finish_all(handle, -1);
}

void agent_context_finish_device(CUdevice device)
{
	finish_all(NULL, device);
}

/* Before the context goes, whose device may have the table of watchpoints that others use, too. */
static void leave_watch(struct agent_context *c)
{
	bool is_home = false;
	struct agent_context *o;
	struct agent_guard g;
	CUcontext old;

	if (!c->watch)
		return;
	agent_enter(&g);
	if (agent_driver.ctx_push_current(c->handle) == CUDA_SUCCESS) {
		is_home = agent_watch_leave(c->device, c->region->context, c->stream);
		agent_driver.ctx_pop_current(&old);
	}
	for (unsigned n = 0; is_home && (o = nth(n, NULL, -1)); n++) {
		if (!o->watch || o == c)
			continue;
		finish(o);
		o->watch = 0;
		if (agent_driver.ctx_push_current(o->handle) != CUDA_SUCCESS)
			continue;
		agent_module_switch(o);
		agent_driver.ctx_pop_current(&old);
	}
	agent_leave(&g);
}

void agent_context_close(CUcontext handle)
{
	struct agent_context *c = nth(0, handle, -1);

	if (!c)
		return;
	finish(c);
	leave_watch(c);
	agent_plain_context_end(c);
	agent_lock();
	HASH_FIND_PTR(contexts, &handle, c);
	if (c)
		forget(c);
	agent_unlock();
}

void agent_context_forget_all(void)
{
	contexts = NULL; /* the parent's regions stay as they are */
	__atomic_fetch_add(&agent.forgotten, 1, __ATOMIC_RELEASE);
	next_number = unseen_by_all = 0;
}

uint64_t agent_context_rt(const struct agent_context *c)
{
	return c->state == AGENT_CTX_READY ? c->rt : 0;
}

struct race_region *agent_context_region(const struct agent_context *c)
{
	return c->region;
}

uint64_t *agent_context_libraries(struct agent_context *c)
{
	return &c->libraries;
}

CUstream agent_context_stream(const struct agent_context *c)
{
	return c->stream;
}

struct agent_copies *agent_context_copies(const struct agent_context *c)
{
	return c->state == AGENT_CTX_READY ? c->copies : NULL;
}

struct agent_holds *agent_context_holds(const struct agent_context *c)
{
	return c->state == AGENT_CTX_READY ? c->holds : NULL;
}

struct agent_choice *agent_context_choice(const struct agent_context *c)
{
	return c->state == AGENT_CTX_READY ? c->choice : NULL;
}

struct agent_history *agent_context_history(const struct agent_context *c)
{
	return __atomic_load_n(&c->history, __ATOMIC_ACQUIRE);
}

struct agent_history *agent_context_history_make(struct agent_context *c, enum race_words_id id)
{
	struct agent_history *h;

	if (c->state != AGENT_CTX_READY)
		return NULL;
	if (!__atomic_exchange_n(&c->is_history_tried[id], 1, __ATOMIC_RELAXED)) {
		h = agent_history_new(c->handle, c->device, c->stream, c->region, c->records, id);
		for (uint32_t i = 0; h && i < c->nearly; i++)
			agent_history_memory(h, c->early[i][0], c->early[i][1]);
		if (h) {
			c->region->has_history = 1;
			h = agent_history_join(h, agent_context_history(c));
			__atomic_store_n(&c->history, h, __ATOMIC_SEQ_CST);
		}
		/* After the store: who sets one of them meanwhile sees the history, or is seen. */
		agent_history_unseen(h,
				     __atomic_load_n(&c->unseen[id], __ATOMIC_SEQ_CST) |
					     __atomic_load_n(&unseen_by_all, __ATOMIC_SEQ_CST),
				     id);
	}
	return agent_history_of(agent_context_history(c), id);
}

uint64_t agent_context_watch(struct agent_context *c)
{
	bool is_alone = false;

	if (!__atomic_exchange_n(&c->is_watch_tried, 1, __ATOMIC_RELAXED)) {
		c->watch = agent_watch_join(c->device, c->region->context, c->records, c->stream,
					    &is_alone);
		c->region->watches_alone = is_alone;
	}
	return c->watch ? c->watch : c->rt + offsetof(struct race_rt, watch);
}

void agent_context_memory(struct agent_context *c, uint64_t at, uint64_t bytes)
{
	struct agent_history *h = agent_context_history(c);

	agent_lock();
	if (!h && c->nearly < EARLY) {
		c->early[c->nearly][0] = at;
		c->early[c->nearly++][1] = bytes;
	}
	agent_unlock();
	agent_history_memory(h, at, bytes);
}

void agent_context_unseen_by(struct agent_context *c, uint32_t who, enum race_words_id id)
{
	if ((__atomic_load_n(&c->unseen[id], __ATOMIC_RELAXED) & who) == who)
		return;
	if ((__atomic_fetch_or(&c->unseen[id], who, __ATOMIC_SEQ_CST) & who) != who)
		agent_history_unseen(agent_context_history(c), who, id);
}

void agent_context_unseen(struct agent_context *c, uint32_t who)
{
	for (unsigned id = 0; id < RACE_WORDS_COUNT; id++)
		agent_context_unseen_by(c, who, (enum race_words_id)id);
}

void agent_context_unseen_all(uint32_t who)
{
	struct agent_context *c;

	__atomic_fetch_or(&unseen_by_all, who, __ATOMIC_SEQ_CST);
	for (unsigned n = 0; (c = nth(n, NULL, -1)); n++)
		agent_context_unseen(c, who);
}

void agent_context_launch(struct agent_context *c)
{
	__atomic_fetch_add(&c->seq, 1, __ATOMIC_SEQ_CST);
	/* Counted before that is read, and what sets it reads the count afterwards. */
	if (c->region && is_exact(c))
		set_exact(c, 0);
}

uint64_t agent_context_seq(const struct agent_context *c)
{
	return __atomic_load_n(&c->seq, __ATOMIC_SEQ_CST);
}

void agent_context_synced(struct agent_context *c, CUresult result, uint64_t seq)
{
	uint64_t taken;

	if (is_fatal(result)) {
		mark_dead(c, result);
		return;
	}
	if (result == CUDA_SUCCESS && c->state == AGENT_CTX_READY)
		agent_copies_poll(c->copies);
	if (result != CUDA_SUCCESS || !c->region || is_exact(c))
		return;
	taken = __atomic_load_n(&c->taken, __ATOMIC_RELAXED);
	if (taken && base_now_ns() - taken < SNAPSHOT_NS)
		return;
	snapshot(c, seq);
}
