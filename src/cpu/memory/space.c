/*
 * space.c - the memory of the machine's devices: what is allocated, and where.
 *
 * Everything lies in one reserved range of host addresses (always the same
 * one if it is free, so that pointers are equal from run to run), pages come
 * when touched. The map is one sorted array, changed under a lock; readers take no lock: they
 * search it and search again if its version moved meanwhile (a sequence lock). Between two
 * allocations lie at least SPACE_GAP bytes that belong to nobody, so that an overrun is told. Freed
 * ranges stay in the map, as freed, until SPACE_KEEP others were freed after them or the range
 * runs out; their whole pages go back at once.
 *
 * Managed and pinned memory is zero at first, as the system's pages are. Fresh device memory up
 * to SPACE_FILL bytes is filled with a byte drawn by seed, never 0; the rest of a larger
 * allocation reads as 0, because filling it would touch all its pages.
 * With sees_host, managed and pinned memory is mapped twice, in whole pages of its own: at the
 * program's address, which can be protected, and at a fixed distance from it, in a second
 * reserved range, for the machine.
 * Misses: an overrun by more than the gap that lands in another allocation.
 * Costs: a look-up is a binary search; an allocation moves the array's tail (48 bytes each).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include "cpu/memory/space.h"
#include "cpu/events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPACE_GAP     256u
#define SPACE_KEEP    4096u
#define SPACE_FILL    (1ull << 20)
#define SPACE_PAGE    4096ull
#define SPACE_MAX     (1u << 20) /* allocations, freed ones that are kept included */
#define SPACE_HINT    0x200000000000ull
#define SPACE_RESERVE (1ull << 42)

enum state { LIVE, FREED };

/* One range, never overlapping another; read by threads that hold no lock. */
struct range {
	uint64_t base, end; /* end: of the program's bytes */
	uint64_t limit;	    /* of what is taken from the region; base of nothing else before it */
	uint64_t generation;
	uint64_t freed; /* number of the free that ended it */
	uint8_t state, kind;
	uint8_t is_registered; /* the program's own memory */
	uint8_t is_heap;       /* by malloc of a kernel */
	uint32_t device;
};
_Static_assert(sizeof(struct range) == 48, "the price in the first comment");

struct cpu_space {
	pthread_mutex_t lock;
	_Atomic uint64_t *version; /* lies in the machine, where readers have it at hand */
	struct range *map;	   /* SPACE_MAX, pages when touched */
	_Atomic uint32_t n;
	uint64_t region, region_end, top; /* top: nothing was allocated above it yet */
	uint64_t generation, freed, nkept;
	unsigned ndevices;
	bool is_protected; /* what is mapped twice */
	uint64_t *used;
	uint64_t total;
	_Atomic uint8_t *peer; /* [device * ndevices + peer] */
};

/* ---- the map -------------------------------------------------------------- */

static void begin_change(struct cpu_space *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_fetch_add(s->version, 1);
}

static void end_change(struct cpu_space *s)
{
	atomic_fetch_add(s->version, 1);
	pthread_mutex_unlock(&s->lock);
}

/* The index of the first range whose base is above addr. */
static uint32_t upper(const struct cpu_space *s, uint64_t addr)
{
	uint32_t lo = 0, hi = atomic_load_explicit(&s->n, memory_order_relaxed);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (__atomic_load_n(&s->map[mid].base, __ATOMIC_RELAXED) > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The last range that starts at or before addr, and the one behind it; false: none such. */
static bool around(const struct cpu_space *s, uint64_t addr, struct range *before,
		   struct range *after)
{
	uint64_t version;
	uint32_t i;

	do {
		while ((version = atomic_load(s->version)) & 1)
			;
		i = upper(s, addr);
		if (i > 0)
			*before = s->map[i - 1];
		if (after && i < atomic_load_explicit(&s->n, memory_order_relaxed))
			*after = s->map[i];
		else if (after)
			after->base = UINT64_MAX;
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(s->version, memory_order_relaxed) != version);
	return i > 0;
}

static bool find(const struct cpu_space *s, uint64_t addr, struct range *r)
{
	return around(s, addr, r, NULL) && r->state == LIVE && addr < r->end;
}

/* With the lock held. */
static void insert(struct cpu_space *s, const struct range *r)
{
	uint32_t i = upper(s, r->base), n = atomic_load(&s->n);

	memmove(&s->map[i + 1], &s->map[i], (n - i) * sizeof(*r));
	s->map[i] = *r;
	atomic_store(&s->n, n + 1);
}

static void erase(struct cpu_space *s, uint32_t i)
{
	uint32_t n = atomic_load(&s->n);

	memmove(&s->map[i], &s->map[i + 1], (n - i - 1) * sizeof(s->map[0]));
	atomic_store(&s->n, n - 1);
}

/* Forgets freed ranges, those freed before number `until`. */
static void forget(struct cpu_space *s, uint64_t until)
{
	uint32_t n = atomic_load(&s->n), to = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (s->map[i].state == FREED && s->map[i].freed < until)
			s->nkept--;
		else
			s->map[to++] = s->map[i];
	}
	atomic_store(&s->n, to);
}

/* ---- addresses --------------------------------------------------------------- */

/* A hole of `size` bytes below top; 0: none.. */
static uint64_t find_hole(struct cpu_space *s, uint64_t size)
{
	uint64_t at = s->region;
	uint32_t n = atomic_load(&s->n);

	for (uint32_t i = upper(s, s->region - 1); i <= n; i++) {
		uint64_t next = i < n ? s->map[i].base : s->top;
		if (next > s->top)
			next = s->top;
		if (next >= at && next - at >= size)
			return at;
		if (i < n && s->map[i].base < s->region_end && s->map[i].limit > at)
			at = s->map[i].limit;
	}
	return 0;
}

static uint64_t take(struct cpu_space *s, uint64_t size)
{
	uint64_t at;

	if (size <= s->region_end - s->top) {
		at = s->top;
		s->top += size;
		return at;
	}
	at = find_hole(s, size);
	if (!at) {
		forget(s, UINT64_MAX);
		at = find_hole(s, size);
	}
	return at;
}

/* Gives whole pages of a range back: they read as 0 when they are touched again. */
static void drop_pages(uint64_t from, uint64_t to)
{
	from = (from + SPACE_PAGE - 1) & ~(SPACE_PAGE - 1);
	to &= ~(SPACE_PAGE - 1);
	if (from < to)
		(void)madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
}

static void fill(struct cpu_machine *m, const struct range *r)
{
	uint64_t bytes = r->end - r->base;
	unsigned char value = 0;

	if (r->kind == CPU_MEM_DEVICE) {
		uint64_t z = (m->opt.seed ^ r->generation * 0x9e3779b97f4a7c15ull);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		value = (unsigned char)(0x80u | (z >> 40 & 0x7fu));
	}
	drop_pages(r->base, r->limit);
	if (bytes > SPACE_FILL && value)
		bytes = SPACE_FILL;
	if (!value && bytes > SPACE_FILL) {
		/* Only the edges can hold something old. */
		memset((void *)(uintptr_t)r->base, 0, SPACE_PAGE);
		memset((void *)(uintptr_t)(r->end - SPACE_PAGE), 0, SPACE_PAGE);
		return;
	}
	memset((void *)(uintptr_t)r->base, value, bytes);
}

/* ---- mapped twice ----------------------------------------------------------- */

static bool is_twice(const struct cpu_machine *m, const struct range *r)
{
	return m->alias && !r->is_registered &&
	       (r->kind == CPU_MEM_MANAGED || r->kind == CPU_MEM_HOST);
}

static uint64_t pages(uint64_t bytes)
{
	return bytes ? (bytes + SPACE_PAGE - 1) & ~(SPACE_PAGE - 1) : SPACE_PAGE;
}

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static bool map_twice(struct cpu_machine *m, const struct range *r)
{
	uint64_t n = pages(r->end - r->base);
	void *p = mmap(at(r->base), n, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	(void)madvise(p, n, MADV_DONTDUMP);
	if (mremap(p, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, at(r->base + m->alias)) == MAP_FAILED)
		return false;
	return !m->space->is_protected || !mprotect(p, n, PROT_NONE);
}

static void map_once(struct cpu_machine *m, const struct range *r)
{
	uint64_t n = pages(r->end - r->base);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	(void)!mmap(at(r->base), n, PROT_READ | PROT_WRITE, flags, -1, 0);
	(void)!mmap(at(r->base + m->alias), n, PROT_NONE, flags, -1, 0);
}

uint64_t cpu_space_twice(struct cpu_machine *m, uint64_t addr)
{
	struct range r;

	return m->alias && find(m->space, addr, &r) && is_twice(m, &r) ? r.end - addr : 0;
}

uint64_t cpu_space_machine(struct cpu_machine *m, uint64_t addr)
{
	return cpu_space_twice(m, addr) ? addr + m->alias : addr;
}

uint64_t cpu_space_program(const struct cpu_machine *m, uint64_t addr)
{
	const struct cpu_space *s = m->space;
	bool is_there = m->alias && addr - m->alias - s->region < s->region_end - s->region;

	return is_there ? addr - m->alias : addr;
}

void cpu_space_region(const struct cpu_machine *m, uint64_t *first, uint64_t *last)
{
	*first = m->space->region;
	*last = m->space->region_end - 1;
}

void cpu_space_protect(struct cpu_machine *m, bool is_on)
{
	struct cpu_space *s = m->space;

	pthread_mutex_lock(&s->lock);
	uint32_t n = atomic_load(&s->n);
	for (uint32_t i = 0; i < n && s->is_protected != is_on; i++)
		if (s->map[i].state == LIVE && is_twice(m, &s->map[i]))
			(void)mprotect(at(s->map[i].base), pages(s->map[i].end - s->map[i].base),
				       is_on ? PROT_NONE : PROT_READ | PROT_WRITE);
	s->is_protected = is_on;
	pthread_mutex_unlock(&s->lock);
}

bool cpu_space_protect_page(struct cpu_machine *m, uint64_t addr, bool is_on)
{
	struct cpu_space *s = m->space;
	uint64_t page = addr & ~(SPACE_PAGE - 1);

	pthread_mutex_lock(&s->lock);
	bool is_ok = cpu_space_twice(m, page) != 0;
	if (is_ok && (!is_on || s->is_protected))
		is_ok = !mprotect(at(page), SPACE_PAGE, is_on ? PROT_NONE : PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&s->lock);
	return is_ok;
}

/* In a forked child the program's memory is its own again. */
static void part_twice(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	for (uint32_t i = 0; m->alias && i < atomic_load(&s->n); i++) {
		const struct range *r = &s->map[i];
		uint64_t n = pages(r->end - r->base);
		if (r->state != LIVE || !is_twice(m, r))
			continue;
		void *p = mmap(at(r->base), n, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p != MAP_FAILED)
			memcpy(p, at(r->base + m->alias), n);
	}
	m->alias = 0;
}

static bool is_counted(const struct range *r)
{
	return r->kind != CPU_MEM_HOST && !r->is_heap;
}

/* ---- life ---------------------------------------------------------------------- */

static bool reserve(struct cpu_space *s)
{
	uint64_t want = SPACE_RESERVE;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	/* A smaller one where the address space is limited (ulimit -v). */
	for (; want >= 1ull << 30; want >>= 1) {
		void *p = mmap((void *)SPACE_HINT, want, PROT_READ | PROT_WRITE,
			       flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == MAP_FAILED || p != (void *)SPACE_HINT) {
			if (p != MAP_FAILED)
				munmap(p, want);
			p = mmap(NULL, want, PROT_READ | PROT_WRITE, flags, -1, 0);
		}
		if (p == MAP_FAILED)
			continue;
		/* Device memory is no part of a core file, and huge pages would touch 2 MiB for a
		 * word. */
		(void)madvise(p, want, MADV_DONTDUMP);
		(void)madvise(p, want, MADV_NOHUGEPAGE);
		s->region = (uint64_t)(uintptr_t)p;
		s->region_end = s->region + want;
		s->top = s->region;
		return true;
	}
	return false;
}

/* The second range; without it nothing is mapped twice. */
static void reserve_twice(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;
	uint64_t n = s->region_end - s->region;
	void *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return;
	(void)madvise(p, n, MADV_DONTDUMP);
	m->alias = (uint64_t)(uintptr_t)p - s->region;
}

bool cpu_space_init(struct cpu_machine *m)
{
	struct cpu_space *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	m->space = s;
	s->version = &m->space_version;
	pthread_mutex_init(&s->lock, NULL);
	s->ndevices = m->opt.devices ? m->opt.devices : 1;
	s->total = m->opt.memory ? m->opt.memory : CPU_MEMORY;
	s->used = calloc(s->ndevices, sizeof(*s->used));
	s->peer = calloc((size_t)s->ndevices * s->ndevices, 1);
	s->map = mmap(NULL, SPACE_MAX * sizeof(*s->map), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->map == MAP_FAILED)
		s->map = NULL;
	if (s->used && s->peer && s->map && reserve(s)) {
		if (m->opt.sees_host)
			reserve_twice(m);
		return true;
	}
	cpu_space_free(m);
	return false;
}

void cpu_space_free(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;

	cpu_heap_free(m);
	if (!s)
		return;
	if (s->region)
		munmap((void *)(uintptr_t)s->region, s->region_end - s->region);
	if (m->alias)
		munmap((void *)(uintptr_t)(s->region + m->alias), s->region_end - s->region);
	if (s->map)
		munmap(s->map, SPACE_MAX * sizeof(*s->map));
	pthread_mutex_destroy(&s->lock);
	free(s->used);
	free((void *)s->peer);
	free(s);
	m->space = NULL;
}

/* ---- cpu.h ------------------------------------------------------------------------ */

static void *allocate(struct cpu_machine *m, struct range r, uint64_t bytes)
{
	struct cpu_space *s = m->space;

	if (bytes > s->region_end - s->region - CPU_SPACE_ALIGN || r.device >= s->ndevices)
		return NULL;
	uint64_t size =
		(bytes + SPACE_GAP + CPU_SPACE_ALIGN - 1) & ~(uint64_t)(CPU_SPACE_ALIGN - 1);
	if (is_twice(m, &r))
		size = pages(bytes) + 2 * SPACE_PAGE;
	uint64_t *used = &s->used[r.device];
	begin_change(s);
	bool is_over = is_counted(&r) && (bytes > s->total || *used > s->total - bytes);
	if (is_over || atomic_load(&s->n) >= SPACE_MAX - 1 || !(r.base = take(s, size))) {
		end_change(s);
		return NULL;
	}
	r.limit = r.base + size;
	if (is_twice(m, &r))
		r.base = pages(r.base);
	r.end = r.base + bytes;
	if (is_twice(m, &r) && !map_twice(m, &r)) {
		map_once(m, &r);
		end_change(s);
		return NULL;
	}
	r.generation = ++s->generation;
	if (is_counted(&r))
		*used += bytes;
	if (!is_twice(m, &r))
		fill(m, &r);
	insert(s, &r);
	end_change(s);
	return (void *)(uintptr_t)r.base;
}

static bool release(struct cpu_machine *m, uint64_t base, bool is_heap, uint64_t *bytes)
{
	struct cpu_space *s = m->space;
	bool is_found = false;

	begin_change(s);
	uint32_t i = upper(s, base);
	struct range *r = i ? &s->map[i - 1] : NULL;
	if (r && r->base == base && r->state == LIVE && !r->is_registered &&
	    r->is_heap == is_heap) {
		is_found = true;
		*bytes = r->end - r->base;
		r->state = FREED;
		r->freed = ++s->freed;
		s->nkept++;
		if (is_counted(r))
			s->used[r->device] -= *bytes;
		if (is_twice(m, r))
			map_once(m, r);
		else
			drop_pages(r->base, r->limit);
		/* Half at once, so that the array is not searched at every free. */
		if (s->nkept > 2 * SPACE_KEEP)
			forget(s, s->freed > SPACE_KEEP ? s->freed - SPACE_KEEP : 0);
	}
	end_change(s);
	return is_found;
}

void *cpu_mem_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes, enum cpu_mem_kind kind)
{
	void *p = allocate(m, (struct range){.kind = (uint8_t)kind, .device = device}, bytes);

	if (p)
		cpu_judge_forget(m, cpu_space_machine(m, (uint64_t)(uintptr_t)p), bytes);
	if (p && (kind == CPU_MEM_MANAGED || kind == CPU_MEM_HOST))
		cpu_judge_shared(m);
	return p;
}

bool cpu_mem_free(struct cpu_machine *m, void *p)
{
	uint64_t bytes;

	return release(m, (uint64_t)(uintptr_t)p, false, &bytes);
}

bool cpu_mem_register(struct cpu_machine *m, void *p, uint64_t bytes)
{
	struct cpu_space *s = m->space;
	uint64_t base = (uint64_t)(uintptr_t)p;
	struct range r = {.base = base,
			  .end = base + bytes,
			  .limit = base + bytes,
			  .kind = CPU_MEM_HOST,
			  .is_registered = 1};

	if (!bytes || base + bytes < base || (base < s->region_end && base + bytes > s->region))
		return false;
	begin_change(s);
	uint32_t i = upper(s, base), n = atomic_load(&s->n);
	bool is_free = n < SPACE_MAX - 1 && (i == 0 || s->map[i - 1].limit <= base) &&
		       (i == n || s->map[i].base >= r.end);
	if (is_free) {
		r.generation = ++s->generation;
		insert(s, &r);
	}
	end_change(s);
	if (is_free)
		cpu_judge_forget(m, base, bytes);
	return is_free;
}

bool cpu_mem_unregister(struct cpu_machine *m, void *p)
{
	struct cpu_space *s = m->space;
	uint64_t base = (uint64_t)(uintptr_t)p;
	bool is_found = false;

	begin_change(s);
	uint32_t i = upper(s, base);
	if (i && s->map[i - 1].base == base && s->map[i - 1].is_registered) {
		is_found = true;
		erase(s, i - 1);
	}
	end_change(s);
	return is_found;
}

bool cpu_mem_find(struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out)
{
	struct range r;

	/* An allocation of 0 bytes is found by its own address. */
	if (!around(m->space, addr, &r, NULL) || r.state != LIVE ||
	    (addr >= r.end && addr != r.base))
		return false;
	*out = (struct cpu_mem_info){.base = r.base,
				     .bytes = r.end - r.base,
				     .kind = (enum cpu_mem_kind)r.kind,
				     .device = r.device,
				     .generation = r.generation,
				     .is_registered = r.is_registered,
				     .is_heap = r.is_heap};
	return true;
}

void cpu_mem_usage(struct cpu_machine *m, unsigned device, uint64_t *used, uint64_t *total)
{
	struct cpu_space *s = m->space;

	pthread_mutex_lock(&s->lock);
	*used = device < s->ndevices ? s->used[device] : 0;
	*total = s->total;
	pthread_mutex_unlock(&s->lock);
}

void cpu_mem_set_peer(struct cpu_machine *m, unsigned device, unsigned peer, bool is_on)
{
	struct cpu_space *s = m->space;

	if (device >= s->ndevices || peer >= s->ndevices)
		return;
	begin_change(s);
	atomic_store(&s->peer[device * s->ndevices + peer], is_on);
	end_change(s);
}

void cpu_space_forked(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;

	pthread_mutex_init(&s->lock, NULL);
	if (atomic_load(s->version) & 1)
		atomic_fetch_add(s->version, 1);
	part_twice(m);
	cpu_heap_forked(m);
}

void *cpu_space_heap_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	return allocate(m, (struct range){.kind = CPU_MEM_DEVICE, .device = device, .is_heap = 1},
			bytes);
}

bool cpu_space_heap_free(struct cpu_machine *m, uint64_t addr, uint64_t *bytes)
{
	return release(m, addr, true, bytes);
}

void cpu_space_heap_clear(struct cpu_machine *m, unsigned device)
{
	BASE_VEC(uint64_t) all = {0};
	uint64_t bytes;

	pthread_mutex_lock(&m->space->lock);
	for (uint32_t i = 0; i < m->space->n; i++) {
		const struct range *r = &m->space->map[i];
		if (r->is_heap && r->state == LIVE && r->device == device)
			base_vec_push(&all, r->base);
	}
	pthread_mutex_unlock(&m->space->lock);
	for (size_t i = 0; i < all.n; i++)
		release(m, all.v[i], true, &bytes);
	base_vec_free(&all);
}

/* ---- space.h ----------------------------------------------------------------------- */

static bool may_use(const struct cpu_space *s, unsigned device, const struct range *r)
{
	bool is_private = r->kind == CPU_MEM_DEVICE || r->kind == CPU_MEM_MODULE;

	return !is_private || r->device == device ||
	       atomic_load_explicit(&s->peer[device * s->ndevices + r->device],
				    memory_order_relaxed);
}

bool cpu_space_range(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t *base,
		     uint64_t *end)
{
	struct range r;

	if (!find(m->space, addr, &r) || !may_use(m->space, device, &r))
		return false;
	*base = r.base;
	*end = r.end;
	return true;
}

bool cpu_space_is_freed(struct cpu_machine *m, uint64_t addr)
{
	struct range r, next;

	return around(m->space, addr, &r, &next) && addr < r.end && r.state == FREED;
}

void cpu_space_explain(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t bytes,
		       char *out, size_t size)
{
	static const char *const kinds[] = {"device", "managed", "pinned host", "module"};
	struct cpu_space *s = m->space;
	struct range r = {0}, next;
	unsigned char in_core;
	bool has = around(s, addr, &r, &next);

	if (has && addr < r.end && r.state == LIVE && !may_use(s, device, &r))
		snprintf(out, size, "memory of device %u, to which device %u has no peer access",
			 r.device, device);
	else if (has && addr < r.end && r.state == FREED)
		snprintf(out, size, "memory freed: allocation of %llu bytes, offset %llu",
			 (unsigned long long)(r.end - r.base), (unsigned long long)(addr - r.base));
	else if (has && addr < r.end && addr + bytes > r.end)
		snprintf(out, size,
			 "%llu bytes at offset %llu cross the end of %s allocation of %llu bytes",
			 (unsigned long long)bytes, (unsigned long long)(addr - r.base),
			 kinds[r.kind], (unsigned long long)(r.end - r.base));
	else if (has && addr - r.end < r.end - r.base + CPU_SPACE_ALIGN && addr < s->region_end)
		snprintf(out, size, "%llu bytes past the end of %s allocation of %llu bytes%s",
			 (unsigned long long)(addr - r.end), kinds[r.kind],
			 (unsigned long long)(r.end - r.base), r.state == FREED ? " (freed)" : "");
	else if (next.base != UINT64_MAX && next.base - addr <= CPU_SPACE_ALIGN)
		snprintf(out, size, "%llu bytes before %s allocation of %llu bytes",
			 (unsigned long long)(next.base - addr), kinds[next.kind],
			 (unsigned long long)(next.end - next.base));
	else if (addr < SPACE_PAGE)
		snprintf(out, size, "null pointer");
	else if (!(addr >= s->region && addr < s->region_end) && addr < 1ull << 47 &&
		 mincore((void *)(uintptr_t)(addr & ~(SPACE_PAGE - 1)), 1, &in_core) == 0)
		snprintf(out, size, "host memory, which the device cannot use (not registered)");
	else
		snprintf(out, size, "no memory is allocated there");
}
