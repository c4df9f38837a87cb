/*
 * copies.c - asynchronous copies and fills of the host against everything else.
 *
 * Directly after the program's operation, in the same stream and before its call returns, we
 * enqueue copies of our own that read a window of the operation's device memory (its source, else
 * its destination) into a pinned buffer, two to READS times, and an event. The buffers are compared
 * by the host when the event is complete, at a later call or at exit. Whatever waits for the
 * program's operation (stream order, an event, the host) waits for our reads, too: so what changes
 * the window between two of them is ordered neither before the operation nor after it.
 *
 * That holds only where nothing can wait for the operation alone. Left out, and counted: the legacy
 * stream, with which other streams are ordered implicitly; captures; copies to pageable memory,
 * which are complete when the call returns; rows, slices, peers and batches; and operations for
 * which no buffer is free. Only copy engines are used, no kernel: a long-running kernel of the
 * program on all multiprocessors must not hold up its copies.
 *
 * Misses: changes that end before the first of our reads or begin after the last; the first copy
 * of a context for which nothing was allocated and no stream was made before (context.c sets up
 * then).
 * Costs: SLOTS buffers of pinned memory for each context (none without checks), three calls and
 * a walk of the stack for each operation that is checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "race/file/transfer.h"

#include "agent/agent.h"

#define SLOTS	    8
#define SLOTS_WHOLE 64 /* --copy-window=0 */
#define SLOT_BYTES  (512u << 10)
#define WINDOW	    (256u << 10) /* at most half a slot */
#define READS	    4
#define DEPTH	    24
#define KNOWN	    1024u /* places that raced */

enum slot_state { FREE, FILLING, PENDING, COMPARING };

struct slot {
	int state; /* enum slot_state, atomic */
	unsigned char *reads;
	CUevent event;
	uint32_t nreads;
	size_t n; /* bytes of the window */
	struct race_transfer t;
	const char *api;
	void *pcs[DEPTH];
	int npcs;
};

struct agent_copies {
	unsigned nslots;
	struct slot slots[];
};

/* A place that raced, and where it is counted. Under the lock. */
static struct known {
	uint64_t key;
	uint64_t *count;
} known[KNOWN];
static struct race_transfer_counts *counts; /* in the shared file; atomic */
static uint64_t drawn;			    /* atomic: numbers for windows and sampling */

static void count_by(enum race_transfer_skip why, int n)
{
	struct race_transfer_counts *c = __atomic_load_n(&counts, __ATOMIC_ACQUIRE);

	if (c)
		__atomic_fetch_add(&c->skipped[why], (uint64_t)(int64_t)n, __ATOMIC_RELAXED);
}

static void count(enum race_transfer_skip why)
{
	count_by(why, 1);
}

/* splitmix64 over a counter: not repeatable between threads, like everything here. */
static uint64_t draw(void)
{
	uint64_t z = __atomic_add_fetch(&drawn, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);

	z ^= race_shm_get()->seed;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* ---- comparing ------------------------------------------------------------------------ */

static void record(struct slot *s)
{
	uint64_t key = base_hash(s->pcs, (size_t)(unsigned)s->npcs * sizeof(s->pcs[0]), s->t.kind);
	struct race_transfer_counts *c = __atomic_load_n(&counts, __ATOMIC_ACQUIRE);
	bool is_reported = false;

	key = key ? key : 1;
	agent_lock();
	for (unsigned i = 0; i < KNOWN && !is_reported; i++) {
		struct known *k = &known[(key + i) % KNOWN];
		if (!k->key) {
			k->count = race_transfer_report(&s->t, s->api,
							(struct race_stack){s->pcs, s->npcs, NULL});
			k->key = k->count ? key : 0;
			is_reported = k->count != NULL;
			break;
		}
		if (k->key == key) {
			__atomic_fetch_add(k->count, 1, __ATOMIC_RELAXED);
			is_reported = true;
		}
	}
	agent_unlock();
	if (!is_reported && c)
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
}

static void compare(struct slot *s)
{
	struct race_transfer_counts *c = __atomic_load_n(&counts, __ATOMIC_ACQUIRE);
	const unsigned char *first = s->reads, *other = NULL;
	size_t i = 0;

	for (uint32_t r = 1; r < s->nreads && !other; r++)
		if (memcmp(first, first + r * s->n, s->n) != 0)
			other = first + r * s->n;
	count_by(RACE_TRANSFER_UNFINISHED, -1);
	if (c) {
		__atomic_fetch_add(&c->checked, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&c->bytes, s->n, __ATOMIC_RELAXED);
	}
	if (!other)
		return;
	while (first[i] == other[i])
		i++;
	i -= (s->t.address + i) % 4 < i ? (s->t.address + i) % 4 : i;
	s->t.width = s->n - i < 4 ? (uint32_t)(s->n - i) : 4;
	memcpy(&s->t.was, first + i, s->t.width);
	memcpy(&s->t.now, other + i, s->t.width);
	s->t.address += i;
	s->t.at += i;
	record(s);
}

static bool take(struct slot *s, int from, int to)
{
	return __atomic_compare_exchange_n(&s->state, &from, to, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void give(struct slot *s, int state)
{
	__atomic_store_n(&s->state, state, __ATOMIC_RELEASE);
}

void agent_copies_poll(struct agent_copies *p)
{
	struct agent_guard g;

	for (unsigned i = 0; p && i < p->nslots; i++) {
		struct slot *s = &p->slots[i];
		CUresult r;

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != PENDING ||
		    !take(s, PENDING, COMPARING))
			continue;
		agent_enter(&g);
		r = agent_driver.event_query(s->event);
		agent_leave(&g);
		if (r == CUDA_SUCCESS)
			compare(s);
		/* After an error the context is dead, and the buffer's content is meaningless. */
		give(s, r == CUDA_ERROR_NOT_READY ? PENDING : FREE);
	}
}

bool agent_copies_pending(const struct agent_copies *p)
{
	for (unsigned i = 0; p && i < p->nslots; i++)
		if (__atomic_load_n(&p->slots[i].state, __ATOMIC_RELAXED) == PENDING)
			return true;
	return false;
}

/* ---- putting reads after an operation -------------------------------------------------- */

static struct slot *free_slot(struct agent_copies *p)
{
	for (unsigned i = 0; i < p->nslots; i++)
		if (__atomic_load_n(&p->slots[i].state, __ATOMIC_RELAXED) == FREE &&
		    take(&p->slots[i], FREE, FILLING))
			return &p->slots[i];
	return NULL;
}

/* Enqueues the reads of one window, guard entered. */
static void enqueue(struct slot *s, CUdeviceptr from, size_t n, CUstream stream)
{
	uint32_t most = (uint32_t)(SLOT_BYTES / n);
	CUresult r = CUDA_SUCCESS;

	s->n = n;
	s->nreads = 0;
	for (uint32_t i = 0; i < most && i < READS && r == CUDA_SUCCESS; i++) {
		r = agent_driver.memcpy_dtoh_async(s->reads + i * n, from, n, stream);
		s->nreads += r == CUDA_SUCCESS;
	}
	count(RACE_TRANSFER_UNFINISHED); /* until it is compared, if ever */
	if (!s->nreads)
		give(s, FREE);
	else if (agent_driver.event_record(s->event, stream) == CUDA_SUCCESS)
		give(s, PENDING);
	/* Without an event it is unknown when the buffer is free again: it is abandoned. */
}

static bool is_pageable(const void *p)
{
	unsigned type = 0;

	return agent_driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						  (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS ||
	       !type;
}

static bool is_device(CUdeviceptr p)
{
	unsigned type = 0;

	return agent_driver.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

/* Which side is read again; false: none can be, for the reason *why. */
static bool choose(const struct agent_operation *op, CUcontext context, bool *is_source,
		   enum race_transfer_skip *why)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUcontext owner = NULL;
	bool src, dst;

	*why = RACE_TRANSFER_CAPTURED;
	if (agent_driver.stream_is_capturing(op->stream, &status) != CUDA_SUCCESS ||
	    status != CU_STREAM_CAPTURE_STATUS_NONE)
		return false;
	*why = RACE_TRANSFER_SHAPE;
	if (agent_driver.stream_get_ctx(op->stream, &owner) != CUDA_SUCCESS || owner != context)
		return false;
	*why = RACE_TRANSFER_PAGEABLE;
	if (!op->is_fill && is_pageable((const void *)(uintptr_t)op->dst))
		return false;
	dst = is_device(op->dst);
	src = !op->is_fill && is_device(op->src);
	*why = RACE_TRANSFER_SHAPE;
	*is_source = src && (!dst || draw() & 1);
	return src || dst;
}

static bool is_drawn(void)
{
	uint32_t sample = race_shm_get()->sample;

	return sample < 2 || draw() % sample == 0;
}

/* One window; false: no buffer is free. */
static bool check(struct agent_copies *p, const struct agent_operation *op, bool is_source,
		  uint64_t at, size_t n)
{
	struct slot *s = free_slot(p);
	CUdeviceptr from = (is_source ? op->src : op->dst) + at;

	if (!s)
		return false;
	s->npcs = backtrace(s->pcs, DEPTH);
	s->api = op->api;
	s->t = (struct race_transfer){.address = from,
				      .at = at,
				      .bytes = op->bytes,
				      .stream = (uint64_t)(uintptr_t)op->stream,
				      .kind = is_source ? RACE_KIND_CLOBBERED_READ
							: RACE_KIND_LOST_UPDATE,
				      .context = op->number,
				      .device = op->device};
	enqueue(s, from, n, op->stream);
	return true;
}

static void check_all(struct agent_copies *p, const struct agent_operation *op, bool is_source)
{
	bool is_whole = !race_shm_get()->window;
	size_t n = op->bytes < WINDOW ? op->bytes : WINDOW;
	uint64_t room = op->bytes - n + 1, at = draw() % room;

	if (!is_whole) {
		/* Rounded down, so that values are aligned as the program's are. */
		if (!check(p, op, is_source, at & ~15ull, n))
			count(RACE_TRANSFER_BUSY);
		return;
	}
	for (at = 0; at < op->bytes; at += n) {
		if (n > op->bytes - at)
			n = op->bytes - at;
		if (!check(p, op, is_source, at, n)) {
			count(RACE_TRANSFER_BUSY);
			return;
		}
	}
}

void agent_copies_after(struct agent_copies *p, CUcontext context, const struct agent_operation *op)
{
	enum race_transfer_skip why = RACE_TRANSFER_SHAPE;
	struct agent_guard g;
	bool is_source;

	agent_copies_poll(p);
	if (!p || (!op->bytes && !op->is_odd && !op->is_node))
		return;
	if (op->is_odd || op->is_node) {
		count(op->is_node ? RACE_TRANSFER_CAPTURED : RACE_TRANSFER_SHAPE);
	} else if (!op->stream || op->stream == CU_STREAM_LEGACY) {
		count(RACE_TRANSFER_NULL_STREAM);
	} else if (!is_drawn()) {
		count(RACE_TRANSFER_SAMPLED);
	} else {
		agent_enter(&g);
		if (choose(op, context, &is_source, &why))
			check_all(p, op, is_source);
		else
			count(why);
		agent_leave(&g);
	}
}

/* ---- start and end ----------------------------------------------------------------------- */

/* Without this the first of our reads would take longer than any later one, since the driver
 * prepares its path. */
static void warm_up(const struct agent_copies *p, CUdeviceptr from, CUstream stream)
{
	const struct slot *s = &p->slots[0];

	if (p->nslots &&
	    agent_driver.memcpy_dtoh_async(s->reads, from, 64, stream) == CUDA_SUCCESS &&
	    agent_driver.event_record(s->event, stream) == CUDA_SUCCESS)
		agent_driver.stream_synchronize(stream);
}

struct agent_copies *agent_copies_new(CUdeviceptr from, CUstream stream)
{
	unsigned n = race_shm_get()->window ? SLOTS : SLOTS_WHOLE;
	struct agent_copies *p;
	void *pcs[1], *memory = NULL;

	if (race_shm_get()->sample == RACE_SAMPLE_NEVER || !agent_driver.event_record ||
	    !agent_driver.stream_get_ctx || !agent_driver.pointer_get_attribute ||
	    !agent_driver.mem_host_alloc)
		return NULL;
	backtrace(pcs, 1); /* its first call allocates */
	p = calloc(1, sizeof(*p) + n * sizeof(p->slots[0]));
	if (!p || agent_driver.mem_host_alloc(&memory, (size_t)n * SLOT_BYTES,
					      CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) {
		race_shm_gap_note(RACE_GAP_FORGOTTEN,
				  "no pinned memory for the checks of the host's copies; they go "
				  "unchecked");
		free(p);
		return NULL;
	}
	for (unsigned i = 0; i < n; i++) {
		struct slot *s = &p->slots[p->nslots];
		s->reads = (unsigned char *)memory + (size_t)i * SLOT_BYTES;
		if (agent_driver.event_create(&s->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
			p->nslots++;
	}
	warm_up(p, from, stream);
	agent_lock();
	if (!counts)
		__atomic_store_n(&counts, race_transfer_counts_new(), __ATOMIC_RELEASE);
	agent_unlock();
	return p;
}

void agent_copies_reset(void)
{
	counts = NULL;
	memset(known, 0, sizeof(known));
}
