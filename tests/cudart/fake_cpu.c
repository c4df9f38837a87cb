/*
 * fake_cpu.c - a machine without kernels, for tests of the runtime facade alone.
 *
 * Operations run only while a thread waits or asks, one at a time, in an order
 * drawn by seed among those whose dependencies have ended: an edge that the
 * facade forgets shows as a wrong result with some seed. Kernels are refused.
 * FAKE_ORDER=last makes the newest ready operation run first, the hardest
 * order for missing dependencies.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/entries/entries.h"
#include "cudart/report/collider.h"
#include "race/file/nvtx.h"
#include "race/file/shm_write.h"

struct cpu_op {
	struct cpu_work w;
	void *bytes; /* of an immediate copy */
	struct cpu_op **deps;
	size_t ndeps;
	unsigned refs;
	bool is_running;
	uint64_t time; /* 0: not ended */
	struct cpu_op *next;
};

struct block {
	struct block *next;
	struct cpu_mem_info info;
	bool is_registered;
};

struct cpu_machine {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct cpu_options opt;
	struct cpu_op *ops; /* that have not ended, in order of submission */
	struct block *blocks;
	struct cpu_fault fault[RT_DEVICES];
	uint64_t textures, clock, rng, used[RT_DEVICES], generation;
};

/* ---- operations --------------------------------------------------------------- */

/* The bytes that were taken lie without gaps. */
static void run_copy(const struct cpu_copy *c, const char *bytes)
{
	for (uint64_t z = 0; z < c->depth; z++) {
		for (uint64_t y = 0; y < c->height; y++) {
			uint64_t from = c->src + z * c->src_slice + y * c->src_pitch;
			uint64_t to = c->dst + z * c->dst_slice + y * c->dst_pitch;
			memmove((void *)(uintptr_t)to,
				bytes ? bytes : (const void *)(uintptr_t)from, c->width);
			bytes = bytes ? bytes + c->width : NULL;
		}
	}
}

static void run_fill(const struct cpu_fill *f)
{
	for (uint64_t z = 0; z < f->depth; z++) {
		for (uint64_t y = 0; y < f->height; y++) {
			char *row = (char *)(uintptr_t)f->dst + z * f->slice + y * f->pitch;
			for (uint64_t x = 0; x < f->width; x++)
				memcpy(row + x * f->size, &f->value, f->size);
		}
	}
}

static bool is_ready(const struct cpu_op *op)
{
	if (op->is_running)
		return false;
	for (size_t i = 0; i < op->ndeps; i++) {
		if (!op->deps[i]->time)
			return false;
	}
	return true;
}

static struct cpu_op *pick(struct cpu_machine *m)
{
	const char *order = getenv("FAKE_ORDER");
	bool is_last = order && strcmp(order, "last") == 0;
	struct cpu_op *best = NULL;
	unsigned n = 0;

	for (struct cpu_op *op = m->ops; op; op = op->next) {
		if (!is_ready(op))
			continue;
		m->rng = m->rng * 6364136223846793005ull + 1442695040888963407ull;
		n++;
		if (is_last || (m->rng >> 33) % n == 0)
			best = op;
	}
	return best;
}

static void unlink_op(struct cpu_machine *m, const struct cpu_op *op)
{
	for (struct cpu_op **p = &m->ops; *p; p = &(*p)->next) {
		if (*p == op) {
			*p = op->next;
			return;
		}
	}
}

static void put(struct cpu_op *op)
{
	if (--op->refs)
		return;
	free(op->bytes);
	free(op->deps);
	free(op);
}

/* Runs one operation; false: none is ready. The lock is held. */
static bool step(struct cpu_machine *m)
{
	struct cpu_op *op = pick(m);

	if (!op)
		return false;
	op->is_running = true;
	pthread_mutex_unlock(&m->lock);
	if (op->w.kind == CPU_WORK_COPY)
		run_copy(&op->w.copy, op->bytes);
	else if (op->w.kind == CPU_WORK_FILL)
		run_fill(&op->w.fill);
	else if (op->w.kind == CPU_WORK_HOST)
		op->w.host.fn(op->w.host.arg);
	pthread_mutex_lock(&m->lock);
	op->time = m->clock += 1000;
	unlink_op(m, op);
	for (size_t i = 0; i < op->ndeps; i++)
		put(op->deps[i]);
	op->ndeps = 0;
	put(op);
	pthread_cond_broadcast(&m->ended);
	return true;
}

static void step_or_sleep(struct cpu_machine *m)
{
	if (!step(m))
		pthread_cond_wait(&m->ended, &m->lock);
}

struct cpu_op *cpu_submit(struct cpu_machine *m, const struct cpu_work *work,
			  struct cpu_op *const *deps, size_t n, struct cpu_fault *fault)
{
	if (work->kind == CPU_WORK_KERNEL) {
		fault->kind = CPU_FAULT_ILLEGAL;
		return NULL;
	}
	struct cpu_op *op = calloc(1, sizeof(*op));
	op->w = *work;
	op->refs = 2; /* the caller's and the machine's */
	if (work->kind == CPU_WORK_COPY && work->copy.is_taken) {
		const struct cpu_copy *c = &work->copy;
		struct cpu_copy take = *c;
		op->bytes = malloc(c->width * c->height * c->depth + 1);
		take.dst = (uint64_t)(uintptr_t)op->bytes;
		take.dst_pitch = c->width;
		take.dst_slice = c->width * c->height;
		run_copy(&take, NULL);
	}
	pthread_mutex_lock(&m->lock);
	op->deps = calloc(n + 1, sizeof(struct cpu_op *));
	for (size_t i = 0; i < n; i++) {
		if (deps[i]) {
			op->deps[op->ndeps++] = deps[i];
			deps[i]->refs++;
		}
	}
	struct cpu_op **p = &m->ops;
	while (*p)
		p = &(*p)->next;
	*p = op;
	pthread_mutex_unlock(&m->lock);
	return op;
}

struct cpu_op *cpu_op_get(struct cpu_op *op)
{
	pthread_mutex_lock(&rt.m->lock);
	op->refs++;
	pthread_mutex_unlock(&rt.m->lock);
	return op;
}

void cpu_op_put(struct cpu_op *op)
{
	struct cpu_machine *m = rt.m;

	pthread_mutex_lock(&m->lock);
	put(op);
	pthread_mutex_unlock(&m->lock);
}

bool cpu_op_query(struct cpu_op *op)
{
	pthread_mutex_lock(&rt.m->lock);
	if (!op->time)
		step(rt.m);
	bool is_done = op->time;
	pthread_mutex_unlock(&rt.m->lock);
	return is_done;
}

void cpu_op_wait(struct cpu_op *op)
{
	pthread_mutex_lock(&rt.m->lock);
	while (!op->time)
		step_or_sleep(rt.m);
	pthread_mutex_unlock(&rt.m->lock);
}

unsigned long fake_asked; /* how often an operation was asked whether it has ended */

uint64_t cpu_op_time(const struct cpu_op *op)
{
	fake_asked++;
	pthread_mutex_lock(&rt.m->lock);
	uint64_t t = op->time;
	pthread_mutex_unlock(&rt.m->lock);
	return t;
}

void cpu_wait_idle(struct cpu_machine *m, unsigned device)
{
	(void)device;
	pthread_mutex_lock(&m->lock);
	while (m->ops)
		step_or_sleep(m);
	pthread_mutex_unlock(&m->lock);
}

/* ---- memory -------------------------------------------------------------------------- */

static struct block *enter(struct cpu_machine *m, void *p, uint64_t bytes, enum cpu_mem_kind kind,
			   unsigned device)
{
	struct block *b = calloc(1, sizeof(*b));

	b->info = (struct cpu_mem_info){(uintptr_t)p,	 bytes, kind, device,
					++m->generation, false, false};
	b->next = m->blocks;
	m->blocks = b;
	m->used[device] += bytes;
	return b;
}

void *cpu_mem_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes, enum cpu_mem_kind kind)
{
	void *p = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->used[device] + bytes <= m->opt.memory)
		p = aligned_alloc(256, (bytes + 256) & ~255ull);
	if (p) {
		memset(p, 0xa5, bytes);
		enter(m, p, bytes, kind, device);
	}
	pthread_mutex_unlock(&m->lock);
	return p;
}

bool cpu_mem_register(struct cpu_machine *m, void *p, uint64_t bytes)
{
	struct cpu_mem_info i;

	if (cpu_mem_find(m, (uintptr_t)p, &i))
		return false;
	pthread_mutex_lock(&m->lock);
	enter(m, p, bytes, CPU_MEM_HOST, 0)->is_registered = true;
	pthread_mutex_unlock(&m->lock);
	return true;
}

static bool leave(struct cpu_machine *m, const void *p, bool is_registered)
{
	bool is_found = false;

	pthread_mutex_lock(&m->lock);
	for (struct block **q = &m->blocks; *q; q = &(*q)->next) {
		struct block *b = *q;
		if (b->info.base != (uintptr_t)p || b->is_registered != is_registered)
			continue;
		*q = b->next;
		m->used[b->info.device] -= b->info.bytes;
		free(b);
		is_found = true;
		break;
	}
	pthread_mutex_unlock(&m->lock);
	return is_found;
}

bool cpu_mem_unregister(struct cpu_machine *m, void *p)
{
	return leave(m, p, true);
}

bool cpu_mem_free(struct cpu_machine *m, void *p)
{
	bool is_found = leave(m, p, false);

	if (is_found)
		free(p);
	return is_found;
}

bool cpu_mem_find(struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out)
{
	bool is_found = false;

	pthread_mutex_lock(&m->lock);
	for (const struct block *b = m->blocks; b && !is_found; b = b->next) {
		is_found = addr >= b->info.base && addr - b->info.base < b->info.bytes;
		if (is_found)
			*out = b->info;
	}
	pthread_mutex_unlock(&m->lock);
	return is_found;
}

void cpu_mem_usage(struct cpu_machine *m, unsigned device, uint64_t *used, uint64_t *total)
{
	*used = m->used[device];
	*total = m->opt.memory;
}

void cpu_mem_set_peer(struct cpu_machine *m, unsigned device, unsigned peer, bool is_on)
{
	(void)m, (void)device, (void)peer, (void)is_on;
}

/* ---- the machine, faults ---------------------------------------------------------------- */

struct cpu_machine *cpu_machine_new(const struct cpu_options *opt)
{
	struct cpu_machine *m = calloc(1, sizeof(*m));

	m->opt = *opt;
	m->rng = opt->seed * 7919 + 1;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->ended, NULL);
	return m;
}

void cpu_machine_short(struct cpu_machine *m)
{
	(void)m;
}

void race_shm_note(const char *fmt, ...)
{
	(void)fmt;
}

void race_shm_remark(const char *fmt, ...)
{
	(void)fmt;
}

bool race_shm_open(void)
{
	return false;
}

uint64_t *race_shm_gap(enum race_gap_why why, const char *kernel, const char *what, uint64_t n)
{
	(void)why, (void)kernel, (void)what, (void)n;
	return NULL;
}

void rt_proven_start(const char *prover, bool proves_all, int64_t guess)
{
	(void)prover, (void)proves_all, (void)guess;
}

void rt_proven_forget(const struct rt_kern *k)
{
	(void)k;
}

bool race_nvtx_is_outside(void)
{
	return false;
}

void rt_entries_report(void (*say)(const char *path, const char *why))
{
	(void)say;
}

bool rt_entries_is_replaced(const struct link_map *m)
{
	(void)m;
	return false;
}

void cpu_machine_forked(struct cpu_machine *m)
{
	(void)m;
}

void cpu_fault_get(struct cpu_machine *m, unsigned device, struct cpu_fault *out)
{
	*out = m->fault[device];
}

void cpu_fault_clear(struct cpu_machine *m, unsigned device)
{
	m->fault[device].kind = CPU_FAULT_NONE;
}

/* For tests: the device has a fault from now on. */
void fake_fault(unsigned device, enum cpu_fault_kind kind, const char *text);
void fake_fault(unsigned device, enum cpu_fault_kind kind, const char *text)
{
	rt.m->fault[device].kind = kind;
	snprintf(rt.m->fault[device].text, sizeof(rt.m->fault[device].text), "%s", text);
}

/* ---- kernels: there are none ----------------------------------------------------------------- */

void cpu_kernel_get_info(const struct cpu_kernel *k, struct cpu_kernel_info *out)
{
	(void)k;
	memset(out, 0, sizeof(*out));
}

bool cpu_kernel_param(const struct cpu_kernel *k, uint32_t i, uint32_t *offset, uint32_t *bytes)
{
	(void)k, (void)i, (void)offset, (void)bytes;
	return false;
}

enum rt_error rt_launch_prepare(const struct rt_launch *l, struct rt_work *out)
{
	(void)l, (void)out;
	return RT_ERROR_INVALID_RESOURCE_HANDLE;
}

enum rt_error rt_symbol_find(const void *symbol, unsigned device, uint64_t *addr, uint64_t *bytes)
{
	(void)symbol, (void)device, (void)addr, (void)bytes;
	return RT_ERROR_INVALID_SYMBOL;
}

void rt_images_lock(void)
{
}

void rt_images_unlock(void)
{
}

void rt_modules_reset(unsigned device)
{
	(void)device;
}

/* ---- the report: there is none --------------------------------------------------------------- */

void rt_host_memory(uint64_t base, uint64_t bytes, enum cpu_mem_kind kind)
{
	(void)base, (void)bytes, (void)kind;
}

void rt_host_memory_gone(uint64_t base)
{
	(void)base;
}

void rt_host_submitted(unsigned device)
{
	(void)device;
}

void rt_collider_start(void)
{
}

uint64_t rt_collider_hold(struct rt_stream *s, unsigned device, bool is_programmatic)
{
	(void)s;
	(void)device;
	(void)is_programmatic;
	return 0;
}

void rt_collider_captured(unsigned device)
{
	(void)device;
}

void rt_collider_launched(unsigned device, struct rt_kern *k)
{
	(void)device, (void)k;
}

uint32_t rt_origin(void)
{
	return 0;
}

void rt_collider_synced(unsigned device)
{
	(void)device;
}

void cpu_get_stats(struct cpu_machine *m, struct cpu_stats *out)
{
	(void)m;
	*out = (struct cpu_stats){.is_replayable = true};
}

void cpu_host_unseen(struct cpu_machine *m, uint64_t bytes)
{
	(void)m, (void)bytes;
}

/* Host threads are no actors here. */
void rt_threads_start(struct cpu_machine *m)
{
	(void)m;
}

void rt_threads_check(void)
{
}

/* Numbers, and nothing after them. */
uint64_t cpu_texture_new(struct cpu_machine *m, const struct cpu_texture *t)
{
	(void)t;
	return ++m->textures;
}

bool cpu_texture_free(struct cpu_machine *m, uint64_t handle)
{
	return handle && handle <= m->textures;
}

/* No kernel runs here, so there is no heap (tests/cudart_programs/heap.cu has one). */
bool cpu_heap_set_limit(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	(void)m, (void)device, (void)bytes;
	return true;
}

void cpu_heap_reset(struct cpu_machine *m, unsigned device)
{
	(void)m, (void)device;
}

/* Nor is a launch written down (tests/prove has collider run --record-launches). */
void rt_launches_open(const char *file)
{
	(void)file;
}

void rt_launches_listen(void)
{
}

void rt_launches_record(const struct rt_work *w)
{
	(void)w;
}

void rt_capsules_start(const char *folder)
{
	(void)folder;
}

void cpu_grace_pause(struct cpu_machine *m)
{
	(void)m;
}

void cpu_grace_resume(struct cpu_machine *m)
{
	(void)m;
}
