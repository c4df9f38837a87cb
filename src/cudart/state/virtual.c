/*
 * virtual.c - reserved addresses, physical memory, and what of the one is mapped to the other.
 *
 * All physical memory lies in one file without a name; a mapping is one of the system's. Addresses
 * are the same in each run as far as the system allows. What touches is one range to the machine
 * (cpu/virtual.h), so that accesses and copies may cross from one mapping to the next, as on a GPU.
 *
 * Misses: memory that is mapped twice at a time is refused: its two addresses would be two places
 * to the detectors, with false races and missed ones. Access of another device than that of the
 * memory is access of all of that device's memory (peers). A multicast object is physical memory
 * without bytes: its mapping stays empty, and multimem finds the mappings of what is bound to it
 * (cpu/memory/multicast.c). Bound memory that isn't mapped itself has no address here, so multimem
 * faults there. Costs: lists, searched from their start.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, fallocate */
#endif
#include "cudart/state/virtual.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "cpu/virtual.h"

#define VIRTUAL_FIRST 0x300000000000ull
#define KEPT_MAX      64u

struct physical;

/* [at, at + bytes) of a multicast object stands for the memory from `offset` on, too. */
struct binding {
	struct physical *of;
	uint64_t at, offset, bytes;
};

/* What makes physical memory a multicast object. */
struct team {
	unsigned ndevices, nadded;
	bool has[RT_DEVICES];
	BASE_VEC(struct binding) bindings;
};

struct physical {
	uint64_t offset, bytes; /* in the file */
	unsigned device, refs;
	unsigned bound; /* by so many bindings */
	bool is_mapped;
	struct team *team; /* NULL: it is memory */
	unsigned char kept[KEPT_MAX];
};

struct mapping {
	uint64_t base, bytes;
	struct physical *of;
	bool is_on[RT_DEVICES]; /* access by device */
};

struct reservation {
	uint64_t base, bytes;
};

static BASE_VEC(struct physical *) physicals;
static BASE_VEC(struct mapping) mappings; /* by rising addresses */
static BASE_VEC(struct reservation) reservations;
static int file = -1;
static uint64_t file_end, next = VIRTUAL_FIRST;

/* ---- addresses ---------------------------------------------------------------------------- */

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* Addresses without memory; fixed: over what is there. 0: not possible. */
static uint64_t reserve_at(uint64_t base, uint64_t bytes, int fixed)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = mmap(at(base), bytes, PROT_NONE, flags | fixed, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	if (p != at(base)) { /* a kernel that doesn't know MAP_FIXED_NOREPLACE */
		munmap(p, bytes);
		return 0;
	}
	return base;
}

enum rt_error rt_virtual_reserve(uint64_t bytes, uint64_t align, uint64_t hint, uint64_t *out)
{
	uint64_t base = 0;

	if (!bytes || bytes % RT_GRANULE || align & (align - 1) || bytes > 1ull << 46)
		return RT_ERROR_INVALID_VALUE;
	if (align < RT_GRANULE)
		align = RT_GRANULE;
	rt_lock();
	if (hint && hint % align == 0)
		base = reserve_at(hint, bytes, MAP_FIXED_NOREPLACE);
	for (unsigned tries = 0; !base && tries < 64; tries++) {
		uint64_t from = (next + align - 1) & ~(align - 1);
		base = reserve_at(from, bytes, MAP_FIXED_NOREPLACE);
		next = from + bytes;
	}
	if (base)
		base_vec_push(&reservations, ((struct reservation){base, bytes}));
	rt_unlock();
	*out = base;
	return base ? RT_OK : RT_ERROR_MEMORY_ALLOCATION;
}

/* The first mapping that ends above the address; mappings.n: none. Lock held. */
static size_t first_above(uint64_t address)
{
	size_t i = 0;

	while (i < mappings.n && mappings.v[i].base + mappings.v[i].bytes <= address)
		i++;
	return i;
}

static bool is_mapped(uint64_t base, uint64_t bytes)
{
	size_t i = first_above(base);

	return i < mappings.n && mappings.v[i].base < base + bytes;
}

enum rt_error rt_virtual_free(uint64_t base, uint64_t bytes)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	for (size_t i = 0; i < reservations.n; i++) {
		if (reservations.v[i].base != base || reservations.v[i].bytes != bytes ||
		    is_mapped(base, bytes))
			continue;
		munmap(at(base), bytes);
		reservations.v[i] = reservations.v[--reservations.n];
		e = RT_OK;
		break;
	}
	rt_unlock();
	return e;
}

/* ---- physical memory ---------------------------------------------------------------------- */

/* Lock held. */
static struct physical *find(uint64_t handle)
{
	for (size_t i = 0; i < physicals.n; i++)
		if ((uintptr_t)physicals.v[i] == handle)
			return physicals.v[i];
	return NULL;
}

enum rt_error rt_physical_new(unsigned device, uint64_t bytes, const void *kept, size_t n,
			      uint64_t *handle)
{
	struct physical *p = calloc(1, sizeof(*p));

	if (!p || n > sizeof(p->kept) || !cpu_mem_take(rt.m, device, bytes)) {
		free(p);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	*p = (struct physical){.bytes = bytes, .device = device, .refs = 1};
	memcpy(p->kept, kept, n);
	rt_lock();
	if (file < 0)
		file = memfd_create("collider-physical", MFD_CLOEXEC);
	p->offset = file_end;
	bool is_done = file >= 0 && !ftruncate(file, (off_t)(file_end + bytes));
	if (is_done) {
		file_end += bytes;
		base_vec_push(&physicals, p);
	}
	rt_unlock();
	if (!is_done) {
		cpu_mem_give(rt.m, device, bytes);
		free(p);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	*handle = (uintptr_t)p;
	return RT_OK;
}

static void drop_unused(struct physical *p);

static void unbind(struct binding *b)
{
	b->of->bound--;
	drop_unused(b->of);
}

static void team_free(struct team *t)
{
	for (size_t i = 0; i < t->bindings.n; i++)
		unbind(&t->bindings.v[i]);
	base_vec_free(&t->bindings);
	free(t);
}

/* Gone with its last handle, its mapping and its bindings. Lock held. */
static void drop_unused(struct physical *p)
{
	if (p->refs || p->is_mapped || p->bound)
		return;
	if (p->team) {
		team_free(p->team);
	} else {
		(void)!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->offset,
				 (off_t)p->bytes);
		cpu_mem_give(rt.m, p->device, p->bytes);
	}
	for (size_t i = 0; i < physicals.n; i++)
		if (physicals.v[i] == p)
			physicals.v[i] = physicals.v[--physicals.n];
	free(p);
}

enum rt_error rt_physical_release(uint64_t handle)
{
	rt_lock();
	struct physical *p = find(handle);
	bool is_good = p && p->refs;
	if (is_good) {
		p->refs--;
		drop_unused(p);
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_physical_retain(uint64_t address, uint64_t *handle)
{
	rt_lock();
	bool is_good = is_mapped(address, 1);
	if (is_good) {
		struct physical *p = mappings.v[first_above(address)].of;
		p->refs++;
		*handle = (uintptr_t)p;
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_physical_kept(uint64_t handle, void *kept, size_t n)
{
	rt_lock();
	const struct physical *p = find(handle);
	if (p)
		memcpy(kept, p->kept, n);
	rt_unlock();
	return p ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- mappings ----------------------------------------------------------------------------- */

/* Lock held. */
static bool is_reserved(uint64_t base, uint64_t bytes)
{
	for (size_t i = 0; i < reservations.n; i++) {
		const struct reservation *r = &reservations.v[i];
		if (base >= r->base && bytes <= r->bytes && base - r->base <= r->bytes - bytes)
			return true;
	}
	return false;
}

/* Lock held. */
static enum rt_error map(uint64_t base, uint64_t bytes, struct physical *p)
{
	size_t i = first_above(base);
	struct mapping new = {.base = base, .bytes = bytes, .of = p};
	void *to = at(base);

	if (!p->team)
		to = mmap(at(base), bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, (off_t)p->offset);
	if (to == MAP_FAILED)
		return RT_ERROR_MEMORY_ALLOCATION;
	if (!p->team)
		(void)madvise(to, bytes, MADV_DONTDUMP);
	p->is_mapped = true;
	base_vec_push(&mappings, new);
	for (size_t k = mappings.n - 1; k > i; k--)
		mappings.v[k] = mappings.v[k - 1];
	mappings.v[i] = new;
	return RT_OK;
}

enum rt_error rt_virtual_map(uint64_t base, uint64_t bytes, uint64_t handle)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	struct physical *p = find(handle);
	bool is_good = p && p->refs && base % RT_GRANULE == 0 && bytes % RT_GRANULE == 0 && bytes;
	bool is_part = is_good && bytes != p->bytes, is_alias = is_good && p->is_mapped;
	if (is_good && p->team && p->team->nadded < p->team->ndevices)
		e = RT_ERROR_NOT_READY; /* a driver waits for the other devices */
	else if (is_good && is_reserved(base, bytes) && !is_mapped(base, bytes) && !is_part &&
		 !is_alias)
		e = map(base, bytes, p);
	rt_unlock();
	if (is_part)
		return RT_ERROR_NOT_SUPPORTED; /* as on a GPU */
	return is_alias ? rt_refuse_use("cuMemMap", "memory that is mapped already") : e;
}

/* The mappings that are [base, base + bytes), whole and without a hole: the first and how many.
 * 0: they aren't. Lock held. */
static size_t covered(uint64_t base, uint64_t bytes, size_t *first)
{
	size_t i = *first = first_above(base);
	uint64_t to = base;

	while (i < mappings.n && mappings.v[i].base == to && to < base + bytes)
		to += mappings.v[i++].bytes;
	return bytes && to == base + bytes ? i - *first : 0;
}

static bool is_used(const struct mapping *m)
{
	for (unsigned d = 0; d < rt.ndevices; d++)
		if (m->is_on[d])
			return true;
	return false;
}

static bool has_teams(void)
{
	bool has = false;

	rt_lock();
	for (size_t i = 0; i < physicals.n; i++)
		has |= physicals.v[i]->team != NULL;
	rt_unlock();
	return has;
}

/* Where the bound memory is; 0, which no kernel may access: not mapped. Lock held. */
static uint64_t address_of(const struct binding *b)
{
	for (size_t i = 0; i < mappings.n; i++)
		if (mappings.v[i].of == b->of)
			return mappings.v[i].base + b->offset;
	return 0;
}

/* For which memory the mappings of multicast objects stand now; false: they are too many. No
 * kernel runs where it changes. Lock held. */
static bool list_members(void)
{
	bool is_done = true;

	cpu_multicast_clear(rt.m);
	for (size_t i = 0; i < mappings.n; i++) {
		const struct mapping *m = &mappings.v[i];
		const struct team *t = m->of->team;
		for (size_t k = 0; t && is_used(m) && k < t->bindings.n; k++) {
			const struct binding *b = &t->bindings.v[k];
			for (unsigned d = 0; d < rt.ndevices; d++)
				if (m->is_on[d] && d != b->of->device)
					cpu_mem_set_peer(rt.m, d, b->of->device, true);
			is_done &=
				cpu_multicast_add(rt.m, m->base + b->at, b->bytes, address_of(b));
		}
	}
	return is_done;
}

/* What isn't mapped may be among it, but no part of a mapping. */
enum rt_error rt_virtual_unmap(uint64_t base, uint64_t bytes)
{
	cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	size_t i = first_above(base), n = 0;
	bool is_good = bytes && is_reserved(base, bytes);
	for (; i + n < mappings.n && mappings.v[i + n].base < base + bytes; n++) {
		const struct mapping *m = &mappings.v[i + n];
		is_good &= m->base >= base && m->base + m->bytes <= base + bytes;
	}
	for (size_t k = i; is_good && k < i + n; k++) {
		struct mapping *m = &mappings.v[k];
		if (is_used(m) && !m->of->team)
			cpu_mem_unmap(rt.m, m->base, m->bytes);
		reserve_at(m->base, m->bytes, MAP_FIXED);
		m->of->is_mapped = false;
		drop_unused(m->of);
	}
	if (is_good) {
		for (size_t k = i; k + n < mappings.n; k++)
			mappings.v[k] = mappings.v[k + n];
		mappings.n -= n;
		list_members();
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* Lock held. */
static bool set_access(struct mapping *m, unsigned device, bool is_on)
{
	bool was_used = is_used(m);

	if (m->of->team) {
		m->is_on[device] = is_on;
		return true;
	}
	if (is_on && device != m->of->device)
		cpu_mem_set_peer(rt.m, device, m->of->device, true);
	m->is_on[device] = is_on;
	if (was_used && !is_used(m))
		cpu_mem_unmap(rt.m, m->base, m->bytes);
	else if (!was_used && is_on)
		return cpu_mem_map(rt.m, m->of->device, m->base, m->bytes);
	return true;
}

enum rt_error rt_virtual_set_access(uint64_t base, uint64_t bytes, unsigned device, bool is_on)
{
	size_t first, n;
	bool is_done = true;

	if (!is_on || has_teams())
		cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	n = covered(base, bytes, &first);
	for (size_t i = first; i < first + n; i++)
		is_done &= set_access(&mappings.v[i], device, is_on);
	is_done &= list_members();
	rt_unlock();
	if (!is_done)
		return RT_ERROR_MEMORY_ALLOCATION;
	return n ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_virtual_get_access(uint64_t address, unsigned device, bool *is_on)
{
	rt_lock();
	bool is_good = is_mapped(address, 1);
	if (is_good)
		*is_on = mappings.v[first_above(address)].is_on[device];
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

bool rt_virtual_find(uint64_t address, uint64_t *base, uint64_t *bytes)
{
	rt_lock();
	bool is_good = is_mapped(address, 1);
	if (is_good) {
		*base = mappings.v[first_above(address)].base;
		*bytes = mappings.v[first_above(address)].bytes;
	}
	rt_unlock();
	return is_good;
}

/* ---- multicast objects --------------------------------------------------------------------- */

enum rt_error rt_multicast_new(unsigned ndevices, uint64_t bytes, uint64_t *handle)
{
	struct physical *p = calloc(1, sizeof(*p));
	struct team *t = calloc(1, sizeof(*t));

	if (!p || !t) {
		free(p);
		free(t);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	t->ndevices = ndevices;
	*p = (struct physical){.bytes = bytes, .refs = 1, .team = t};
	rt_lock();
	base_vec_push(&physicals, p);
	rt_unlock();
	*handle = (uintptr_t)p;
	return RT_OK;
}

/* Lock held. */
static struct team *team_of(uint64_t handle)
{
	struct physical *p = find(handle);

	return p && p->refs ? p->team : NULL;
}

enum rt_error rt_multicast_add_device(uint64_t handle, unsigned device)
{
	rt_lock();
	struct team *t = team_of(handle);
	bool is_good = t && t->nadded < t->ndevices && !t->has[device];
	if (is_good) {
		t->has[device] = true;
		t->nadded++;
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

static bool overlaps(const struct binding *a, const struct binding *b)
{
	return a->of->device == b->of->device && a->at < b->at + b->bytes &&
	       b->at < a->at + a->bytes;
}

/* Lock held. */
static enum rt_error bind(uint64_t handle, struct binding b)
{
	struct team *t = team_of(handle);
	const struct physical *all = find(handle);
	uint64_t parts = b.at | b.offset | b.bytes;

	if (!t || !b.of || b.of->team || !b.bytes || parts % RT_GRANULE)
		return RT_ERROR_INVALID_VALUE;
	if (b.at > all->bytes || b.bytes > all->bytes - b.at || b.offset > b.of->bytes ||
	    b.bytes > b.of->bytes - b.offset)
		return RT_ERROR_INVALID_VALUE;
	if (t->nadded < t->ndevices)
		return RT_ERROR_NOT_READY;
	if (!t->has[b.of->device])
		return RT_ERROR_INVALID_DEVICE;
	for (size_t i = 0; i < t->bindings.n; i++)
		if (overlaps(&t->bindings.v[i], &b))
			return RT_ERROR_INVALID_VALUE;
	base_vec_push(&t->bindings, b);
	b.of->bound++;
	return list_members() ? RT_OK : RT_ERROR_MEMORY_ALLOCATION;
}

enum rt_error rt_multicast_bind(uint64_t handle, uint64_t at, uint64_t memory, uint64_t offset,
				uint64_t bytes)
{
	cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	struct physical *p = find(memory);
	enum rt_error e = RT_ERROR_INVALID_VALUE;
	if (p && p->refs)
		e = bind(handle, (struct binding){p, at, offset, bytes});
	rt_unlock();
	return e;
}

enum rt_error rt_multicast_bind_address(uint64_t handle, uint64_t at, uint64_t address,
					uint64_t bytes)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	if (is_mapped(address, 1)) {
		const struct mapping *m = &mappings.v[first_above(address)];
		e = bind(handle, (struct binding){m->of, at, address - m->base, bytes});
	}
	rt_unlock();
	return e;
}

enum rt_error rt_multicast_unbind(uint64_t handle, unsigned device, uint64_t at, uint64_t bytes)
{
	bool is_done = false;

	cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	struct team *t = team_of(handle);
	for (size_t i = t ? t->bindings.n : 0; i-- > 0;) {
		struct binding *b = &t->bindings.v[i];
		if (b->of->device != device || b->at < at || b->at + b->bytes > at + bytes)
			continue;
		unbind(b);
		*b = t->bindings.v[--t->bindings.n];
		is_done = true;
	}
	list_members();
	rt_unlock();
	return is_done ? RT_OK : RT_ERROR_INVALID_VALUE;
}
