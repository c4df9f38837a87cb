/*
 * history.c - the history words of detector hirace on a GPU: one set for each context.
 *
 * The pools of words are address space of the driver (cuMemAddressReserve); memory is put behind
 * them from the bottom up, as much as the pieces of address space need that the program has
 * allocated, and SPARE_PIECES for memory that nobody announces (the device's heap, memory of other
 * processes). Which piece gets which block is decided on the device, by the first access to it
 * (race/shadow.h), so that no allocation call waits for anything here: it sets a bit for each new
 * piece. The directory's address space is 512 MiB. Memory lies behind the parts of it in which the
 * process has mappings; one page of zeroes stands for all others, and the device knows which is
 * which (race_history_tables.parts).
 *
 * Launch numbers last for 1,023 launches. Before that, when nothing runs, all words are set to 0 (a
 * sweep); the launch that comes next waits for up to SWEEP_WAIT_US so that nothing does. Where that
 * never happens, later launches step aside and are counted. What release stamps left beside
 * locations is cleared before a launch that finds the context idle.
 *
 * The program's own needs come first. An allocation that would not find enough memory beside the
 * pools gets theirs: they are swept and shrink, and don't grow again.
 *
 * Misses: memory of pieces that got no block, which the footer counts; pairs of two launches.
 * Costs: 6 MiB and 2 MiB for each part of the directory, 2 bytes for each byte of tracked memory (3
 * with --both-sides), 12 for each that kernels access by bytes or halfwords.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/agent.h"
#include "race/shadow.h"

#define MIB	       (1ull << 20)
#define GRAIN	       (2 * MIB) /* of mappings; every GPU's granularity divides it */
#define SPARE_PIECES   16u
#define SPARE_PAGES    64u
#define KEEP_FREE      (256 * MIB) /* of the card's memory, for the program */
#define SWEEP_FROM     (RACE_HISTORY_LAUNCHES / 2u)
#define SWEEP_EVERY    32u /* launches between two tries */
#define SWEEP_WAIT_US  200000u
#define CLEAR_WAIT_US  50u
#define LAUNCH_WAIT_S  2
#define LARGE_REQUEST  (32 * MIB) /* smaller ones find room in what is kept free */
#define PART_BITS      (RACE_HISTORY_ADDRESS_BITS - 8u)
#define PARTS	       RACE_HISTORY_PARTS
#define PART_BYTES     (RACE_HISTORY_PIECES * 8u / PARTS)
#define POOL_CHUNKS    4096u
#define LOW_PARTS      4u /* memory of pools lies there */

/* Address space with memory behind its first `mapped` bytes. */
struct area {
	CUdeviceptr at;
	uint64_t room, mapped;
};

/* A pool: its words, what lies beside them, and how many units have memory. */
struct pool {
	struct area words, beside; /* beside.room 0: there is none */
	uint64_t unit;		   /* bytes of words */
	uint64_t limit;		   /* units that the device may take */
	uint64_t used;		   /* taken, when last looked at */
	size_t counts_at;	   /* of its struct race_history_pool in the tables */
};

struct chunk {
	CUmemGenericAllocationHandle handle;
	struct area *area;
	uint64_t bytes;
};

struct agent_history {
	CUcontext context;
	CUstream stream;
	CUdevice device;
	CUdeviceptr tables;
	CUdeviceptr directory;
	CUdeviceptr pages;
	uint64_t pages_room;
	struct pool words, bytes;
	uint32_t parts[PARTS / 32]; /* with memory of their own */
	struct chunk chunks[POOL_CHUNKS];
	uint32_t nchunks;
	uint32_t epochs;   /* launches of graphs; atomic */
	bool is_blind;
	uint32_t *ordered; /* in the shared file: the device set it */

	/* Under the agent's lock. */
	uint64_t pieces;     /* of the program's allocations, so far */
	uint64_t *seen;	     /* a bit for each */
	uint64_t since;	     /* launches since the last sweep */
	uint64_t tried;	     /* `since` at the last try */
	uint32_t launching;  /* calls under way that launch */
	bool is_busy;	     /* a thread changes the pools; launches wait */
	bool is_capped;	     /* memory is short: they don't grow */
	uint32_t unseen;     /* RACE_HISTORY_*_ORDERS */
	uint32_t unseen_set; /* what the tables have */
};

/* Whose launch this thread is in: history words may come to be in the middle of it. */
static __thread struct agent_history *begun;
static uint64_t static_bytes; /* of the variables of all modules; atomic */

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- memory behind the pools ------------------------------------------------------------------ */

static CUresult fill(struct agent_history *h, CUdeviceptr at, uint64_t bytes)
{
	CUresult r = agent_driver.memset_d8_async(at, 0, bytes, h->stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(h->stream) : r;
}

static CUresult write_words(struct agent_history *h, CUdeviceptr at, const void *p, size_t bytes)
{
	CUresult r = agent_driver.memcpy_htod_async(at, p, bytes, h->stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(h->stream) : r;
}

static CUresult read_words(struct agent_history *h, void *p, CUdeviceptr at, size_t bytes)
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
		r = fill(h, at, bytes);
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
	return write_words(h, at, &limit, sizeof(limit));
}

static uint64_t free_bytes(void)
{
	size_t free = 0, total = 0;

	return agent_driver.mem_get_info(&free, &total) == CUDA_SUCCESS ? free : 0;
}

/* So many units more, if the card has them; the limit follows what came. */
static void grow(struct agent_history *h, struct pool *p, uint64_t units)
{
	uint64_t bytes = round_up(units * p->unit, GRAIN), most = p->words.room - p->words.mapped;
	uint64_t with = p->beside.room ? bytes + bytes / 2 : bytes;

	if (bytes > most)
		bytes = most;
	if (!bytes || free_bytes() < with + KEEP_FREE) {
		h->is_capped = true;
		return;
	}
	if (p->beside.room &&
	    extend(h, &p->beside, round_up(bytes / 2, GRAIN)) != CUDA_SUCCESS) {
		h->is_capped = true;
		return;
	}
	if (extend(h, &p->words, bytes) != CUDA_SUCCESS)
		h->is_capped = true;
	set_limit(h, p, p->words.mapped / p->unit);
}

/* ---- setting up ------------------------------------------------------------------------------- */

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
	return r == CUDA_SUCCESS
		       ? agent_driver.mem_map(h->directory + part * PART_BYTES, PART_BYTES, 0,
					      handle, 0)
		       : r;
}

/* Sets the parts with memory of their own to 0. */
static CUresult clear_directory(struct agent_history *h)
{
	CUresult r = CUDA_SUCCESS;

	for (uint32_t i = 0; i < PARTS && r == CUDA_SUCCESS; i++)
		if (h->parts[i / 32] >> i % 32 & 1u)
			r = fill(h, h->directory + i * PART_BYTES, PART_BYTES);
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
		TRY(fill(h, h->directory + i * PART_BYTES, PART_BYTES));
		break;
	}
	TRY(clear_directory(h));
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
	bool has_both = race_shm_get()->flags & RACE_RUN_BOTH;
	uint64_t room = round_up(total, RACE_HISTORY_BLOCK_BYTES);
	CUresult r;

	h->words.unit = RACE_HISTORY_BLOCK_BYTES;
	h->words.counts_at = offsetof(struct race_history_tables, words);
	h->bytes.unit = RACE_HISTORY_PAGE_BYTES;
	h->bytes.counts_at = offsetof(struct race_history_tables, bytes);
	TRY(reserve(&h->words.words, room));
	TRY(reserve(&h->bytes.words, room));
	if (has_both) {
		TRY(reserve(&h->words.beside, room / 2));
		TRY(reserve(&h->bytes.beside, room / 2));
	}
	h->pages_room = room / RACE_HISTORY_BLOCK_BYTES * RACE_HISTORY_PAGES * 8;
	TRY(agent_driver.mem_alloc(&h->pages, h->pages_room));
	TRY(fill(h, h->pages, h->pages_room));
	return CUDA_SUCCESS;
}

static CUresult build(struct agent_history *h, CUdeviceptr ordered, const char **what)
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
	if (agent_driver.device_get_attribute(&can_page,
					      CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
					      h->device) == CUDA_SUCCESS &&
	    can_page)
		h->unseen |= RACE_HISTORY_HOST_ORDERS;
	TRY(agent_driver.mem_get_info(&free, &total));
	TRY(agent_driver.mem_alloc(&t, sizeof(struct race_history_tables)));
	TRY(fill(h, t, sizeof(struct race_history_tables)));
	h->tables = t;
	TRY(map_directory(h, what));
	TRY(write_words(h, t + offsetof(struct race_history_tables, parts), h->parts,
			sizeof(h->parts)));
	TRY(write_words(h, t + offsetof(struct race_history_tables, ordered_at), &ordered,
			sizeof(ordered)));
	TRY(reserve_pools(h, total, what));
	return CUDA_SUCCESS;
}

static bool has_functions(void)
{
	return agent_driver.mem_address_reserve && agent_driver.mem_create &&
	       agent_driver.mem_release && agent_driver.mem_map && agent_driver.mem_unmap &&
	       agent_driver.mem_set_access && agent_driver.mem_get_info &&
	       agent_driver.device_get_attribute && agent_driver.ctx_record_event &&
	       agent_driver.stream_wait_event && agent_driver.memset_d32_async &&
	       agent_driver.event_record;
}

/* ---- when nothing runs ------------------------------------------------------------------------ */

/* Is the context idle within so many microseconds? Inside a guard, no launch under way. */
static bool becomes_idle(const struct agent_history *h, uint64_t us)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	uint64_t end = agent_now_ns() + us * 1000u;
	CUevent event;
	CUresult r;

	if (__atomic_load_n(&agent.captures, __ATOMIC_RELAXED) ||
	    agent_driver.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	r = agent_driver.ctx_record_event(h->context, event);
	while (r == CUDA_SUCCESS) {
		r = agent_driver.event_query(event);
		if (r != CUDA_ERROR_NOT_READY)
			break;
		if (agent_now_ns() > end)
			break;
		if (us > CLEAR_WAIT_US)
			nanosleep(&pause, NULL);
		r = CUDA_SUCCESS;
	}
	if (agent_driver.event_destroy)
		agent_driver.event_destroy(event);
	return r == CUDA_SUCCESS;
}

static CUresult clear_stamps(struct agent_history *h)
{
	size_t sides = offsetof(struct race_history_tables, sides);
	size_t flag = offsetof(struct race_history_tables, is_ordered);
	CUresult r = fill(h, h->tables + sides, sizeof(struct race_history_tables) - sides);

	__atomic_store_n(h->ordered, 0, __ATOMIC_RELAXED);
	return r == CUDA_SUCCESS ? fill(h, h->tables + flag, sizeof(uint32_t)) : r;
}

static CUresult clear_pool(struct agent_history *h, struct pool *p)
{
	uint64_t zero = 0, bytes = p->words.mapped;
	CUresult r = CUDA_SUCCESS;

	if (bytes)
		r = fill(h, p->words.at, bytes);
	if (r == CUDA_SUCCESS && p->beside.mapped)
		r = fill(h, p->beside.at, p->beside.mapped);
	if (r == CUDA_SUCCESS)
		r = write_words(h,
				h->tables + p->counts_at + offsetof(struct race_history_pool, used),
				&zero, sizeof(zero));
	p->used = 0;
	return r;
}

/* All words as if nobody had accessed anything; the context is idle. The launches' table comes
 * last: until then numbers count as taken. */
static bool sweep(struct agent_history *h)
{
	return clear_directory(h) == CUDA_SUCCESS &&
	       fill(h, h->pages, h->pages_room) == CUDA_SUCCESS &&
	       clear_pool(h, &h->words) == CUDA_SUCCESS &&
	       clear_pool(h, &h->bytes) == CUDA_SUCCESS && clear_stamps(h) == CUDA_SUCCESS &&
	       fill(h, h->tables,
		    sizeof(((struct race_history_tables *)NULL)->launches)) == CUDA_SUCCESS;
}

/* Gives memory back until `bytes` are free; swept, the context idle. */
static void shrink(struct agent_history *h, uint64_t bytes)
{
	set_limit(h, &h->words, 0);
	set_limit(h, &h->bytes, 0);
	while (h->nchunks && free_bytes() < bytes) {
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

/* ---- who works on the pools ------------------------------------------------------------------- */

/* The lock is held. Alone with the pools, and no launch under way but the caller's; false: another
 * thread's call doesn't end. */
static bool begin_work(struct agent_history *h)
{
	struct timespec deadline = agent_deadline(LAUNCH_WAIT_S);

	h->is_busy = true;
	while (h->launching)
		if (!agent_wait(&deadline))
			break;
	if (!h->launching)
		return true;
	h->tried = h->since;
	h->is_busy = false;
	pthread_cond_broadcast(&agent.changed);
	return false;
}

static void end_work(struct agent_history *h)
{
	h->is_busy = false;
	pthread_cond_broadcast(&agent.changed);
}

static void wait_for_others(struct agent_history *h)
{
	struct timespec deadline = agent_deadline(10 * LAUNCH_WAIT_S);

	while (h->is_busy && agent_wait(&deadline))
		;
}

/* Pieces that the program may touch. */
static uint64_t pieces_of(const struct agent_history *h)
{
	return h->pieces + __atomic_load_n(&static_bytes, __ATOMIC_RELAXED) / RACE_HISTORY_PIECE;
}

static bool wants_growth(const struct agent_history *h)
{
	return !h->is_capped && (h->words.limit < pieces_of(h) + SPARE_PIECES / 2 ||
				 h->words.limit < h->words.used + SPARE_PIECES / 2 ||
				 h->bytes.limit < h->bytes.used + SPARE_PAGES / 2);
}

static bool wants_sweep(const struct agent_history *h)
{
	return h->since >= SWEEP_FROM && (!h->tried || h->since >= h->tried + SWEEP_EVERY);
}

/* What is to be done before a launch. Inside a guard, alone. */
static void work(struct agent_history *h, bool has_to_sweep, uint64_t pieces)
{
	uint64_t need = pieces > h->words.used ? pieces : h->words.used;

	if (has_to_sweep) {
		if (becomes_idle(h, SWEEP_WAIT_US) && sweep(h))
			h->since = h->tried = 0;
		else
			h->tried = h->since;
	} else if (__atomic_load_n(h->ordered, __ATOMIC_RELAXED) &&
		   becomes_idle(h, CLEAR_WAIT_US)) {
		(void)clear_stamps(h);
	}
	need += SPARE_PIECES;
	if (!h->is_capped && h->words.limit < need)
		grow(h, &h->words, need - h->words.limit);
	need = 2 * h->bytes.used + SPARE_PAGES;
	if (!h->is_capped && h->bytes.limit < need)
		grow(h, &h->bytes, need - h->bytes.limit);
	if (h->unseen != h->unseen_set &&
	    write_words(h, h->tables + offsetof(struct race_history_tables, unseen), &h->unseen,
			sizeof(h->unseen)) == CUDA_SUCCESS)
		h->unseen_set = h->unseen;
}

/* ------------------------------------------------------------------------ */

struct agent_history *agent_history_new(CUcontext context, CUdevice device, CUstream stream,
					struct race_region *region, CUdeviceptr records)
{
	struct agent_history *h = NULL;
	const char *what = "";
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (has_functions())
		h = calloc(1, sizeof(*h));
	if (h) {
		h->context = context;
		h->device = device;
		h->stream = stream;
		h->ordered = &region->ordered;
		h->seen = mmap(NULL, RACE_HISTORY_PIECES / 8, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (h->seen == MAP_FAILED)
			h->seen = NULL;
		r = h->seen ? build(h, records + RACE_REGION_ORDERED, &what)
			    : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r == CUDA_SUCCESS)
		return h;
	race_shm_note("no memory for the words of --detector=hirace (%.40s: error %d); it checks "
		      "nothing in context %u",
		      what, (int)r, region->context);
	return NULL;
}

void agent_history_fill(const struct agent_history *h, struct race_history *block)
{
	block->directory = h->directory;
	block->words = h->words.words.at;
	block->sites = h->words.beside.room ? h->words.beside.at : 0;
	block->pages = h->pages;
	block->bytes = h->bytes.words.at;
	block->byte_sites = h->bytes.beside.room ? h->bytes.beside.at : 0;
	block->tables = h->tables;
}

void agent_history_static(uint64_t bytes)
{
	__atomic_fetch_add(&static_bytes, bytes + RACE_HISTORY_PIECE, __ATOMIC_RELAXED);
}

void agent_history_memory(struct agent_history *h, uint64_t at, uint64_t bytes)
{
	if (!h || !bytes || at >> RACE_HISTORY_ADDRESS_BITS)
		return;
	uint64_t first = at / RACE_HISTORY_PIECE, last = (at + bytes - 1) / RACE_HISTORY_PIECE;

	agent_lock();
	for (uint64_t i = first; i <= last && i < RACE_HISTORY_PIECES; i++) {
		uint64_t bit = 1ull << i % 64;
		h->pieces += !(h->seen[i / 64] & bit);
		h->seen[i / 64] |= bit;
	}
	agent_unlock();
}

void agent_history_unseen(struct agent_history *h, uint32_t who)
{
	if (!h)
		return;
	agent_lock();
	h->unseen |= who;
	agent_unlock();
}

void agent_history_request(struct agent_history *h, uint64_t bytes)
{
	struct agent_guard g;
	bool is_mine = false;

	if (!h || bytes < LARGE_REQUEST)
		return;
	agent_enter(&g);
	uint64_t free = free_bytes();
	agent_leave(&g);
	if (free >= bytes + KEEP_FREE)
		return;
	agent_lock();
	wait_for_others(h);
	if (!h->is_busy && h->nchunks)
		is_mine = begin_work(h);
	agent_unlock();
	if (!is_mine)
		return;
	agent_enter(&g);
	h->is_capped = true;
	if (becomes_idle(h, 10 * SWEEP_WAIT_US) && sweep(h)) {
		h->since = h->tried = 0;
		shrink(h, bytes + KEEP_FREE);
		race_shm_note("memory of the GPU is short: history words of --detector=hirace "
			      "keep %llu MiB, and the accesses beyond them go unchecked",
			      (unsigned long long)(h->words.words.mapped / MIB));
	}
	agent_leave(&g);
	agent_lock();
	end_work(h);
	agent_unlock();
}

void agent_history_launch_begin(struct agent_history *h, uint64_t kernels)
{
	bool has_to_sweep, wants, is_mine = false;
	struct agent_guard g;
	uint64_t pieces;

	begun = h;
	if (!h)
		return;
	agent_lock();
	wait_for_others(h);
	has_to_sweep = wants_sweep(h);
	wants = wants_growth(h) || h->unseen != h->unseen_set ||
		__atomic_load_n(h->ordered, __ATOMIC_RELAXED);
	if (!h->is_busy && (has_to_sweep || (wants && !h->launching)))
		is_mine = begin_work(h);
	pieces = pieces_of(h);
	agent_unlock();
	if (is_mine) {
		agent_enter(&g);
		work(h, has_to_sweep, pieces);
		agent_leave(&g);
	}
	agent_lock();
	if (is_mine)
		end_work(h);
	h->since += kernels;
	h->launching++;
	agent_unlock();
}

void agent_history_launch_end(void)
{
	struct agent_history *h = begun;

	begun = NULL;
	if (!h)
		return;
	agent_lock();
	h->launching -= h->launching > 0;
	if (!h->launching && h->is_busy)
		pthread_cond_broadcast(&agent.changed);
	agent_unlock();
}

void agent_history_graph_begin(struct agent_history *h, CUgraphExec exec, CUstream stream)
{
	static const uint32_t parts = 1u << 24; /* of the key, see race_history_key() */
	CUdeviceptr at;
	CUevent last;
	bool is_good;
	uint32_t n;

	if (!h)
		return;
	is_good = agent_graph_begin(exec, &last);
	n = __atomic_add_fetch(&h->epochs, 1, __ATOMIC_RELAXED) % parts;
	at = h->tables + offsetof(struct race_history_tables, epoch);
	if (is_good && last)
		is_good = agent_driver.stream_wait_event(stream, last, 0) == CUDA_SUCCESS;
	if (is_good)
		is_good = agent_driver.memset_d32_async(at, n, 1, stream) == CUDA_SUCCESS;
	if (!is_good && !h->is_blind) {
		uint32_t unseen = h->unseen | RACE_HISTORY_BLIND;
		h->is_blind = true;
		agent_history_unseen(h, RACE_HISTORY_BLIND);
		(void)write_words(h, h->tables + offsetof(struct race_history_tables, unseen),
				  &unseen, sizeof(unseen));
		race_shm_note("a graph has conditional nodes, or was made unseen: "
			      "--detector=hirace checks nothing from here on");
	}
}

void agent_history_graph_end(struct agent_history *h, CUgraphExec exec, CUstream stream)
{
	CUevent last;

	if (!h)
		return;
	if (agent_driver.event_create(&last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
	    agent_driver.event_record(last, stream) != CUDA_SUCCESS)
		last = NULL;
	agent_graph_end(exec, last);
}

void agent_history_snapshot(struct agent_history *h, struct race_region *region)
{
	struct {
		uint64_t threads_aside, accesses_aside;
		struct race_history_pool words, bytes;
	} now;
	const size_t at = offsetof(struct race_history_tables, threads_aside);

	_Static_assert(offsetof(struct race_history_tables, words) ==
			       offsetof(struct race_history_tables, threads_aside) + 16,
		       "read in one piece");
	_Static_assert(offsetof(struct race_history_tables, bytes) ==
			       offsetof(struct race_history_tables, words) + 16,
		       "read in one piece");
	if (!h || read_words(h, &now, h->tables + at, sizeof(now)) != CUDA_SUCCESS)
		return;
	region->threads_aside = now.threads_aside;
	region->accesses_aside = now.accesses_aside;
	agent_lock();
	h->words.used = now.words.used;
	h->bytes.used = now.bytes.used;
	agent_unlock();
}
