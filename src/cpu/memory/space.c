/*
 * space.c - the memory of the machine's devices: what is allocated, and where.
 *
 * Everything lies in one reserved range of host addresses (always the same
 * one if it is free, so that pointers are equal from run to run), pages are allocated on access.
 * The map is one sorted array, changed under a lock; readers take no lock: they search it and
 * search again if its version moved meanwhile (a sequence lock). Between two allocations lie at
 * least SPACE_GAP unused bytes, so that an overrun is reported. Freed ranges stay in the map, as
 * freed, until SPACE_KEEP others were freed after them or the range runs out; their whole pages are
 * released at once.
 *
 * Managed and pinned memory is zero at first, as the system's pages are. Fresh device memory up
 * to SPACE_FILL bytes is filled with a byte drawn by seed, never 0; the rest of a larger
 * allocation reads as 0, because filling it would allocate all its pages.
 * With sees_host, managed and pinned memory is mapped twice (twice.c).
 * Misses: an overrun by more than the gap that lands in another allocation.
 * Costs: a look-up is a binary search; an allocation moves the array's tail (56 bytes each).
 */
#include "cpu/memory/space_map.h"
#include "cpu/pages.h"
#include "cpu/repeat.h"
#include "cpu/events.h"
#include "cpu/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPACE_GAP  256u
#define SPACE_KEEP 4096u
#define SPACE_FILL (1ull << 20)
#define SPACE_MAX  (1u << 20) /* allocations, freed ones that are kept included */
#if defined(__SANITIZE_THREAD__)
/* It ends a program that maps memory elsewhere, or much. */
#define SPACE_HINT    0x7e9000000000ull
#define SPACE_GUEST   0x7ea000000000ull
#define SPACE_RESERVE (1ull << 36)
#else
#define SPACE_HINT    0x200000000000ull
#define SPACE_GUEST   0x280000000000ull /* is_guest: neither there nor where GPUs have theirs */
#define SPACE_RESERVE (1ull << 42)
#endif

/* ---- the map -------------------------------------------------------------- */

void cpu_space_begin_change(struct cpu_space *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_fetch_add(s->version, 1);
	/* Whoever sees a part of the change sees that it has begun. */
	atomic_thread_fence(memory_order_release);
}

void cpu_space_end_change(struct cpu_space *s)
{
	atomic_fetch_add(s->version, 1);
	pthread_mutex_unlock(&s->lock);
}

/* The index of the first range whose base is above addr. */
uint32_t cpu_space_upper(const struct cpu_space *s, uint64_t addr)
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

bool cpu_space_around(const struct cpu_space *s, uint64_t addr, struct space_range *before,
		      struct space_range *after)
{
	uint64_t version;
	uint32_t i;

	do {
		while ((version = atomic_load(s->version)) & 1)
			;
		i = cpu_space_upper(s, addr);
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

bool cpu_space_find(const struct cpu_space *s, uint64_t addr, struct space_range *r)
{
	return cpu_space_around(s, addr, r, NULL) && r->state == SPACE_LIVE && addr < r->end;
}

/* With the lock held. */
void cpu_space_insert(struct cpu_space *s, const struct space_range *r)
{
	uint32_t i = cpu_space_upper(s, r->base), n = atomic_load(&s->n);

	memmove(&s->map[i + 1], &s->map[i], (n - i) * sizeof(*r));
	s->map[i] = *r;
	atomic_store(&s->n, n + 1);
}

void cpu_space_erase(struct cpu_space *s, uint32_t i)
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
		if (s->map[i].state == SPACE_FREED && s->map[i].freed < until)
			s->nkept--;
		else
			s->map[to++] = s->map[i];
	}
	atomic_store(&s->n, to);
}

/* ---- addresses --------------------------------------------------------------- */

/* A hole of `size` bytes below top; 0: none. */
static uint64_t find_hole(struct cpu_space *s, uint64_t size)
{
	uint64_t at = s->region;
	uint32_t n = atomic_load(&s->n);

	for (uint32_t i = cpu_space_upper(s, s->region - 1); i <= n; i++) {
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

/* Releases whole pages of a range: they read as 0 when they are accessed again. */
static void drop_pages(uint64_t from, uint64_t to)
{
	from = (from + SPACE_PAGE - 1) & ~(SPACE_PAGE - 1);
	to &= ~(SPACE_PAGE - 1);
	if (from < to)
		(void)madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
}

static void fill(struct cpu_machine *m, const struct space_range *r)
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
		/* Only the edges can hold old contents. */
		memset((void *)(uintptr_t)r->base, 0, SPACE_PAGE);
		memset((void *)(uintptr_t)(r->end - SPACE_PAGE), 0, SPACE_PAGE);
		return;
	}
	memset((void *)(uintptr_t)r->base, value, bytes);
}

static bool is_counted(const struct space_range *r)
{
	return r->kind != CPU_MEM_HOST && !r->is_heap;
}

/* ---- life ---------------------------------------------------------------------- */

static bool reserve(struct cpu_space *s, uint64_t hint)
{
	uint64_t want = SPACE_RESERVE;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	/* A smaller one where the address space is limited (ulimit -v). */
	for (; want >= 1ull << 30; want >>= 1) {
		void *p = mmap((void *)(uintptr_t)hint, want, PROT_READ | PROT_WRITE,
			       flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == MAP_FAILED || p != (void *)(uintptr_t)hint) {
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
	if (s->used && s->peer && s->map &&
	    reserve(s, m->opt.is_guest ? SPACE_GUEST : SPACE_HINT)) {
		if (m->opt.sees_host)
			cpu_twice_reserve(m);
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

static void *allocate(struct cpu_machine *m, struct space_range r, uint64_t bytes)
{
	struct cpu_space *s = m->space;

	if (bytes > s->region_end - s->region - CPU_SPACE_ALIGN || r.device >= s->ndevices)
		return NULL;
	uint64_t size =
		(bytes + SPACE_GAP + CPU_SPACE_ALIGN - 1) & ~(uint64_t)(CPU_SPACE_ALIGN - 1);
	if (cpu_space_is_twice(m, &r))
		size = cpu_twice_bytes(bytes) + 2 * SPACE_PAGE;
	uint64_t *used = &s->used[r.device];
	cpu_space_begin_change(s);
	bool is_over = is_counted(&r) && (bytes > s->total || *used > s->total - bytes);
	if (is_over || atomic_load(&s->n) >= SPACE_MAX - 1 || !(r.base = take(s, size))) {
		cpu_space_end_change(s);
		return NULL;
	}
	r.limit = r.base + size;
	if (cpu_space_is_twice(m, &r))
		r.base = cpu_twice_bytes(r.base);
	r.end = r.base + bytes;
	if (cpu_space_is_twice(m, &r) && !cpu_twice_map(m, &r)) {
		cpu_twice_unmap(m, &r);
		cpu_space_end_change(s);
		return NULL;
	}
	r.generation = ++s->generation;
	r.content = ++s->contents;
	if (is_counted(&r))
		*used += bytes;
	if (!cpu_space_is_twice(m, &r))
		fill(m, &r);
	cpu_space_insert(s, &r);
	cpu_space_end_change(s);
	return (void *)(uintptr_t)r.base;
}

static bool release(struct cpu_machine *m, uint64_t base, bool is_heap, uint64_t *bytes)
{
	struct cpu_space *s = m->space;
	bool is_found = false;

	cpu_space_begin_change(s);
	uint32_t i = cpu_space_upper(s, base);
	struct space_range *r = i ? &s->map[i - 1] : NULL;
	if (r && r->base == base && r->state == SPACE_LIVE && !r->is_registered &&
	    (!r->is_placed || is_heap) && r->is_heap == is_heap) {
		is_found = true;
		*bytes = r->end - r->base;
		r->state = SPACE_FREED;
		r->freed = ++s->freed;
		s->nkept++;
		if (is_counted(r))
			s->used[r->device] -= *bytes;
		if (cpu_space_is_twice(m, r))
			cpu_twice_unmap(m, r);
		else if (!r->is_placed)
			drop_pages(r->base, r->limit);
		/* Half at once, so that the array is not searched at every free. */
		if (s->nkept > 2 * SPACE_KEEP)
			forget(s, s->freed > SPACE_KEEP ? s->freed - SPACE_KEEP : 0);
	}
	cpu_space_end_change(s);
	return is_found;
}

static void note_kind(struct cpu_machine *m, enum cpu_mem_kind kind)
{
	if (kind == CPU_MEM_MANAGED || kind == CPU_MEM_HOST)
		atomic_store(&m->has_host_memory, true);
}

void *cpu_mem_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes, enum cpu_mem_kind kind)
{
	if (kind == CPU_MEM_MANAGED || kind == CPU_MEM_HOST)
		cpu_event_before_shared(m);
	note_kind(m, kind);
	void *p = allocate(m, (struct space_range){.kind = (uint8_t)kind, .device = device}, bytes);

	if (p) {
		cpu_event_forget(m, cpu_space_machine(m, (uint64_t)(uintptr_t)p), bytes);
		cpu_past_forget(m, cpu_space_machine(m, (uint64_t)(uintptr_t)p), bytes);
	}
	if (p && (kind == CPU_MEM_MANAGED || kind == CPU_MEM_HOST))
		cpu_event_shared(m);
	return p;
}

bool cpu_mem_free(struct cpu_machine *m, void *p)
{
	uint64_t bytes;

	return release(m, (uint64_t)(uintptr_t)p, false, &bytes);
}

/* A range of memory that isn't the machine's own. */
bool cpu_space_insert_other(struct cpu_machine *m, struct space_range r)
{
	struct cpu_space *s = m->space;

	if (r.end <= r.base || (r.base < s->region_end && r.end > s->region))
		return false;
	r.limit = r.end;
	cpu_space_begin_change(s);
	uint32_t i = cpu_space_upper(s, r.base), n = atomic_load(&s->n);
	bool is_free = n < SPACE_MAX - 1 && (i == 0 || s->map[i - 1].limit <= r.base) &&
		       (i == n || s->map[i].base >= r.end);
	if (is_free) {
		r.generation = ++s->generation;
		r.content = ++s->contents;
		cpu_space_insert(s, &r);
	}
	cpu_space_end_change(s);
	if (!r.is_registered)
		note_kind(m, (enum cpu_mem_kind)r.kind);
	return is_free;
}

bool cpu_mem_register_ours(struct cpu_machine *m, void *p, uint64_t bytes)
{
	uint64_t base = (uint64_t)(uintptr_t)p;

	return cpu_space_insert_other(m, (struct space_range){.base = base,
							      .end = base + bytes,
							      .kind = CPU_MEM_HOST,
							      .is_registered = 1});
}

bool cpu_mem_place(struct cpu_machine *m, const struct cpu_mem_info *at)
{
	const struct space_range r = {.base = at->base,
				      .end = at->base + at->bytes,
				      .kind = (uint8_t)at->kind,
				      .device = at->device,
				      .is_placed = 1,
				      .is_heap = at->is_heap ? 1 : 0};

	if (at->device >= m->space->ndevices || !cpu_space_insert_other(m, r))
		return false;
	if (cpu_pages_are_on(m))
		cpu_pages_placed(m, r.base, r.end);
	return true;
}

bool cpu_mem_register(struct cpu_machine *m, void *p, uint64_t bytes)
{
	if (!cpu_mem_register_ours(m, p, bytes))
		return false;
	note_kind(m, CPU_MEM_HOST);
	cpu_event_forget(m, (uint64_t)(uintptr_t)p, bytes);
	cpu_past_forget(m, (uint64_t)(uintptr_t)p, bytes);
	return true;
}

bool cpu_mem_unregister(struct cpu_machine *m, void *p)
{
	struct cpu_space *s = m->space;
	uint64_t base = (uint64_t)(uintptr_t)p;
	bool is_found = false;

	cpu_space_begin_change(s);
	uint32_t i = cpu_space_upper(s, base);
	if (i && s->map[i - 1].base == base && s->map[i - 1].is_registered) {
		is_found = true;
		cpu_space_erase(s, i - 1);
	}
	cpu_space_end_change(s);
	return is_found;
}

static struct cpu_mem_info info_of(const struct space_range *r)
{
	return (struct cpu_mem_info){.base = r->base,
				     .bytes = r->end - r->base,
				     .kind = (enum cpu_mem_kind)r->kind,
				     .device = r->device,
				     .generation = r->generation,
				     .is_registered = r->is_registered,
				     .is_heap = r->is_heap};
}

bool cpu_mem_find(struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out)
{
	struct space_range r;

	/* An allocation of 0 bytes is found by its own address. */
	if (!cpu_space_around(m->space, addr, &r, NULL) || r.state != SPACE_LIVE ||
	    (addr >= r.end && addr != r.base))
		return false;
	*out = info_of(&r);
	return true;
}

bool cpu_space_from(const struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out)
{
	struct space_range r, next;
	bool has = cpu_space_around(m->space, addr, &r, &next);

	if (has && r.state == SPACE_LIVE && addr < r.end) {
		*out = info_of(&r);
		return true;
	}
	while (next.base != UINT64_MAX && next.state != SPACE_LIVE)
		if (!cpu_space_around(m->space, next.base, &r, &next))
			return false;
	if (next.base == UINT64_MAX)
		return false;
	*out = info_of(&next);
	return true;
}

void cpu_mem_each(struct cpu_machine *m, void (*fn)(void *arg, const struct cpu_mem_info *info),
		  void *arg)
{
	struct cpu_mem_info info;
	struct space_range r;

	pthread_mutex_lock(&m->space->lock);
	for (uint32_t i = 0; i < atomic_load(&m->space->n); i++) {
		r = m->space->map[i];
		if (r.state != SPACE_LIVE)
			continue;
		info = info_of(&r);
		fn(arg, &info);
	}
	pthread_mutex_unlock(&m->space->lock);
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
	cpu_space_begin_change(s);
	atomic_store(&s->peer[device * s->ndevices + peer], is_on);
	atomic_fetch_add(&m->settings, 1);
	cpu_space_end_change(s);
}

void cpu_space_forked(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;

	pthread_mutex_init(&s->lock, NULL);
	if (atomic_load(s->version) & 1)
		atomic_fetch_add(s->version, 1);
	cpu_twice_part(m);
	cpu_heap_forked(m);
}

void *cpu_space_heap_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	return allocate(
		m, (struct space_range){.kind = CPU_MEM_DEVICE, .device = device, .is_heap = 1},
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
		const struct space_range *r = &m->space->map[i];
		if (r->is_heap && r->state == SPACE_LIVE && r->device == device)
			base_vec_push(&all, r->base);
	}
	pthread_mutex_unlock(&m->space->lock);
	for (size_t i = 0; i < all.n; i++)
		release(m, all.v[i], true, &bytes);
	base_vec_free(&all);
}

/* ---- contents ---------------------------------------------------------------------- */

void cpu_space_set_content(struct cpu_machine *m, uint64_t addr, uint64_t content)
{
	struct cpu_space *s = m->space;

	/* Those who read the map without the lock don't ask for the number. */
	pthread_mutex_lock(&s->lock);
	uint32_t i = cpu_space_upper(s, addr);
	if (i && addr < s->map[i - 1].end)
		__atomic_store_n(&s->map[i - 1].content, content, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
}

uint64_t cpu_space_new_content(struct cpu_machine *m, uint64_t addr)
{
	uint64_t content = ++m->space->contents;

	cpu_space_set_content(m, addr, content);
	return content;
}
