/*
 * pool.c - the memory of history words on a GPU: address space, and what lies behind it.
 *
 * Pools and directory are address space of the driver (cuMemAddressReserve). Memory is created in
 * pieces, mapped after the part that has some already, and set to 0. All calls go over the agent's
 * own stream and wait for nothing of the program's. history.c says when.
 *
 * Misses: a part of the directory in which the process maps its first memory later (but for the
 * lowest and the highest, which are always there). Costs: see history.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/history.h"
#include "race/file/shm_write.h"

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- memory behind the pools ----------------------------------------------------------------- */

CUresult agent_pool_fill(struct agent_history *h, CUdeviceptr at, uint64_t bytes)
{
	CUresult r = agent_driver.memset_d8_async(at, 0, bytes, h->stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(h->stream) : r;
}

CUresult agent_pool_write(struct agent_history *h, CUdeviceptr at, const void *p, size_t bytes)
{
	CUresult r = agent_driver.memcpy_htod_async(at, p, bytes, h->stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(h->stream) : r;
}

CUresult agent_pool_read(const struct agent_history *h, void *p, CUdeviceptr at, size_t bytes)
{
	CUresult r = agent_driver.memcpy_dtoh_async(p, at, bytes, h->stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(h->stream) : r;
}

static CUmemAllocationProp properties(const struct agent_history *h)
{
	CUmemAllocationProp p;

	memset(&p, 0, sizeof(p));
	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = h->device;
	return p;
}

static CUresult allow(const struct agent_history *h, CUdeviceptr at, uint64_t bytes)
{
	CUmemAccessDesc d;

	memset(&d, 0, sizeof(d));
	d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	d.location.id = h->device;
	d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return agent_driver.mem_set_access(at, bytes, &d, 1);
}

/* Zeroed memory for the next `bytes` of the area. */
static CUresult extend(struct agent_history *h, struct area *a, uint64_t bytes)
{
	CUmemAllocationProp p = properties(h);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at = a->at + a->mapped;
	CUresult r;

	if (h->nchunks == POOL_CHUNKS || a->mapped + bytes > a->room)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = agent_driver.mem_create(&handle, bytes, &p, 0);
	if (r != CUDA_SUCCESS)
		return r;
	r = agent_driver.mem_map(at, bytes, 0, handle, 0);
	if (r != CUDA_SUCCESS) {
		agent_driver.mem_release(handle);
		return r;
	}
	r = allow(h, at, bytes);
	if (r == CUDA_SUCCESS)
		r = agent_pool_fill(h, at, bytes);
	if (r != CUDA_SUCCESS) {
		agent_driver.mem_unmap(at, bytes);
		agent_driver.mem_release(handle);
		return r;
	}
	h->chunks[h->nchunks++] = (struct chunk){handle, a, bytes};
	a->mapped += bytes;
	return CUDA_SUCCESS;
}

static CUresult set_limit(struct agent_history *h, struct pool *p, uint64_t limit)
{
	CUdeviceptr at = h->tables + p->counts_at + offsetof(struct race_history_pool, limit);

	p->limit = limit;
	return agent_pool_write(h, at, &limit, sizeof(limit));
}

uint64_t agent_pool_free_bytes(void)
{
	size_t free = 0, total = 0;

	return agent_driver.mem_get_info(&free, &total) == CUDA_SUCCESS ? free : 0;
}

/* What may be taken of the card's memory; where that is short, half of it: other detectors' words
 * and the program get the rest. */
static uint64_t share_of(struct agent_history *h, uint64_t wanted)
{
	uint64_t free = agent_pool_free_bytes();

	if (free >= wanted + KEEP_FREE)
		return wanted;
	h->is_capped = true;
	return free > KEEP_FREE ? (free - KEEP_FREE) / 2 : 0;
}

/* So many units more, or as many as the card has memory for; the limit follows what came. */
void agent_pool_grow(struct agent_history *h, struct pool *p, uint64_t units)
{
	uint64_t bytes = round_up(units * p->unit, GRAIN), most = p->words.room - p->words.mapped;
	bool has_beside = p->beside.room != 0;

	if (bytes > most)
		bytes = most;
	uint64_t with = has_beside ? bytes + bytes / 2 : bytes, have = share_of(h, with);
	if (have < with) {
		bytes = (has_beside ? have / 3 * 2 : have) / p->unit * p->unit / GRAIN * GRAIN;
		if (!bytes)
			return;
	}
	if (has_beside && extend(h, &p->beside, round_up(bytes / 2, GRAIN)) != CUDA_SUCCESS) {
		h->is_capped = true;
		return;
	}
	if (extend(h, &p->words, bytes) != CUDA_SUCCESS)
		h->is_capped = true;
	set_limit(h, p, p->words.mapped / p->unit);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void mark(struct agent_history *h, uint64_t at)
{
	uint64_t part = at >> PART_BITS;

	if (part < PARTS)
		h->parts[part / 32] |= 1u << part % 32;
}

/* The parts of the directory that this process may need: where something is mapped already. The
 * driver has reserved there what it allocates later. */
static void choose_parts(struct agent_history *h)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	mark(h, h->tables);
	for (uint64_t part = 0; part < LOW_PARTS; part++)
		mark(h, part << PART_BITS);
	for (uint64_t part = PARTS - 3; part < PARTS; part++)
		mark(h, part << PART_BITS);
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t from, to;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
			continue;
		for (; from < to && from >> PART_BITS < PARTS; from += 1ull << PART_BITS)
			mark(h, from);
		mark(h, to - 1);
	}
	if (f)
		fclose(f);
}

static CUresult map_part(struct agent_history *h, uint32_t part,
			 CUmemGenericAllocationHandle zeroes)
{
	CUmemAllocationProp p = properties(h);
	CUmemGenericAllocationHandle handle = zeroes;
	CUresult r = CUDA_SUCCESS;

	if (h->parts[part / 32] >> part % 32 & 1u)
		r = agent_driver.mem_create(&handle, PART_BYTES, &p, 0);
	return r == CUDA_SUCCESS ? agent_driver.mem_map(h->directory + part * PART_BYTES,
							PART_BYTES, 0, handle, 0)
				 : r;
}

/* Sets the parts with memory of their own to 0. */
CUresult agent_pool_clear_directory(struct agent_history *h)
{
	CUresult r = CUDA_SUCCESS;

	for (uint32_t i = 0; i < PARTS && r == CUDA_SUCCESS; i++)
		if (h->parts[i / 32] >> i % 32 & 1u)
			r = agent_pool_fill(h, h->directory + i * PART_BYTES, PART_BYTES);
	return r;
}

#define TRY(call)                                                                                  \
	do {                                                                                       \
		*what = #call;                                                                     \
		r = call;                                                                          \
		if (r != CUDA_SUCCESS)                                                             \
			return r;                                                                  \
	} while (0)

static CUresult map_directory(struct agent_history *h, const char **what)
{
	CUmemAllocationProp p = properties(h);
	CUmemGenericAllocationHandle zeroes;
	CUresult r;

	TRY(agent_driver.mem_address_reserve(&h->directory, PARTS * PART_BYTES, 0, 0, 0));
	TRY(agent_driver.mem_create(&zeroes, PART_BYTES, &p, 0));
	choose_parts(h);
	for (uint32_t i = 0; i < PARTS; i++)
		TRY(map_part(h, i, zeroes));
	TRY(allow(h, h->directory, PARTS * PART_BYTES));
	for (uint32_t i = 0; i < PARTS; i++) {
		if (h->parts[i / 32] >> i % 32 & 1u)
			continue;
		TRY(agent_pool_fill(h, h->directory + i * PART_BYTES, PART_BYTES));
		break;
	}
	TRY(agent_pool_clear_directory(h));
	return CUDA_SUCCESS;
}

static CUresult reserve(struct area *a, uint64_t bytes)
{
	CUresult r = agent_driver.mem_address_reserve(&a->at, bytes, 0, 0, 0);

	a->room = r == CUDA_SUCCESS ? bytes : 0;
	return r;
}

static CUresult reserve_pools(struct agent_history *h, uint64_t total, const char **what)
{
	bool has_both =
		h->kind->traits & RACE_WORDS_BESIDE && race_shm_get()->flags & RACE_RUN_BOTH;
	uint64_t unit = RACE_HISTORY_BLOCK_OF(h->kind->bytes), room = round_up(total, unit);
	CUresult r;

	h->words.unit = unit;
	h->words.counts_at = offsetof(struct race_history_tables, words);
	h->bytes.unit = RACE_HISTORY_PAGE_OF(h->kind->bytes);
	h->bytes.counts_at = offsetof(struct race_history_tables, bytes);
	TRY(reserve(&h->words.words, room));
	TRY(reserve(&h->bytes.words, room));
	if (has_both) {
		TRY(reserve(&h->words.beside, room / 2));
		TRY(reserve(&h->bytes.beside, room / 2));
	}
	h->pages_room = room / unit * RACE_HISTORY_PAGES * 8;
	TRY(agent_driver.mem_alloc(&h->pages, h->pages_room));
	TRY(agent_pool_fill(h, h->pages, h->pages_room));
	return CUDA_SUCCESS;
}

CUresult agent_pool_build(struct agent_history *h, CUdeviceptr ordered, const char **what)
{
	size_t free = 0, total = 0;
	int can_map = 0, can_page = 0;
	CUdeviceptr t;
	CUresult r;

	TRY(agent_driver.device_get_attribute(
		&can_map, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, h->device));
	if (!can_map)
		return CUDA_ERROR_NOT_SUPPORTED;
	/* Host code then reaches all of its memory from kernels. */
	if (agent_driver.device_get_attribute(&can_page, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
					      h->device) == CUDA_SUCCESS &&
	    can_page)
		h->unseen |= RACE_HISTORY_HOST_ORDERS;
	TRY(agent_driver.mem_get_info(&free, &total));
	TRY(agent_driver.mem_alloc(&t, h->kind->tables_bytes));
	TRY(agent_pool_fill(h, t, h->kind->tables_bytes));
	h->tables = t;
	TRY(map_directory(h, what));
	TRY(agent_pool_write(h, t + offsetof(struct race_history_tables, parts), h->parts,
			     sizeof(h->parts)));
	TRY(agent_pool_write(h, t + offsetof(struct race_history_tables, ordered_at), &ordered,
			     sizeof(ordered)));
	/* Only hirace's tables have a place for it. */
	const void *machine = h->kind->traits & RACE_WORDS_MACHINE ? race_shm_machine() : NULL;
	if (machine)
		TRY(agent_pool_write(h, t + offsetof(struct race_history_tables, machine), machine,
				     RACE_HISTORY_MACHINE));
	h->has_machine = machine != NULL;
	TRY(reserve_pools(h, total, what));
	return CUDA_SUCCESS;
}

CUresult agent_pool_build_scratch(struct agent_history *h, const char **what)
{
	int sms = 0;
	uint64_t heads, count;
	CUdeviceptr at;
	CUresult r;

	TRY(agent_driver.device_get_attribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
					      h->device));
	if (sms <= 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	count = (uint64_t)sms;
	heads = race_scratch_heads(count);
	TRY(agent_driver.mem_alloc(&at, heads + race_scratch_units(count, h->kind->bytes)));
	TRY(agent_pool_fill(h, at, heads));
	TRY(agent_pool_write(h, at + heads - RACE_SCRATCH_HEAD, &count, sizeof(count)));
	h->scratch_heads = heads;
	__atomic_store_n(&h->scratch, at + heads, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

CUresult agent_pool_free_scratch(struct agent_history *h)
{
	return h->scratch ? agent_pool_fill(h, h->scratch - h->scratch_heads,
					    h->scratch_heads - RACE_SCRATCH_HEAD)
			  : CUDA_SUCCESS;
}

/* Gives memory back until `bytes` are free; swept, the context idle. */
void agent_pool_shrink(struct agent_history *h, uint64_t bytes)
{
	set_limit(h, &h->words, 0);
	set_limit(h, &h->bytes, 0);
	while (h->nchunks && agent_pool_free_bytes() < bytes) {
		struct chunk *c = &h->chunks[--h->nchunks];
		c->area->mapped -= c->bytes;
		agent_driver.mem_unmap(c->area->at + c->area->mapped, c->bytes);
		agent_driver.mem_release(c->handle);
	}
	struct pool *const pools[] = {&h->words, &h->bytes};
	for (unsigned i = 0; i < 2; i++) {
		struct pool *p = pools[i];
		uint64_t units = p->words.mapped / p->unit;
		if (p->beside.room && p->beside.mapped / (p->unit / 2) < units)
			units = p->beside.mapped / (p->unit / 2);
		set_limit(h, p, units);
	}
}
