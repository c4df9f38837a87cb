/*
 * history.c - the words of detectors that have some, on a GPU: a set for each and each context.
 *
 * The pools of words are address space of the driver (cuMemAddressReserve); memory is put behind
 * them from the bottom up, as much as the pieces of address space need that the program has
 * allocated, and some more for memory that no call announces (the device's heap, memory of other
 * processes). Which piece gets which block is decided on the device, by the first access to it
 * (race/layout/history.h), so that no allocation call waits for anything here: it sets a bit for
 * each new piece. The directory's address space is 512 MiB. Memory lies behind the parts of it in
 * which the process has mappings; one page of zeroes stands for all others, and the device knows
 * which is which (race_history_tables.parts).
 *
 * Launch numbers last for 1,023 launches. Before that, when nothing runs, all words are set to 0 (a
 * sweep); the launch that comes next waits for up to SWEEP_WAIT_US so that nothing does. Where that
 * never happens, later launches step aside and are counted. What release stamps left beside
 * locations is cleared before a launch that finds the context idle, too; it waits for that for up
 * to CLEAR_WAIT_US, and after it has waited in vain for a moment only, until it does find it idle.
 * With another launch's stamps a location's pairs may be undecided.
 *
 * The program's own needs come first. An allocation that would not find enough memory beside the
 * pools gets theirs: they are swept and shrink, and don't grow again. Where a program has
 * taken nearly all memory in advance (JAX), of which it uses little, they take half of the rest.
 *
 * Misses: memory of pieces that got no block, which the footer counts; pairs of two launches.
 * Costs: 6 MiB and 2 MiB for each part of the directory, 2 bytes for each byte of tracked memory (3
 * with --both-sides), 12 for each that kernels access by bytes or halfwords.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/history.h"
#include "base/clock.h"

_Static_assert(RACE_WORDS_COUNT * sizeof(uint32_t) <= sizeof(((struct race_region *)0)->ordered),
	       "the region has a flag for each");

#define LOOKED_AT 64u /* pieces at a time */

static const char *name_of(const struct race_words *w)
{
	return race_detectors[w->detector].name;
}

/* Whose launch this thread is in: words may come to be in the middle of it. */
static __thread struct agent_history *begun;
static uint64_t static_bytes; /* of the variables of all modules; atomic */

static bool has_functions(void)
{
	return agent_driver.mem_address_reserve && agent_driver.mem_create &&
	       agent_driver.mem_release && agent_driver.mem_map && agent_driver.mem_unmap &&
	       agent_driver.mem_set_access && agent_driver.mem_get_info &&
	       agent_driver.device_get_attribute && agent_driver.ctx_record_event &&
	       agent_driver.stream_wait_event && agent_driver.memset_d32_async &&
	       agent_driver.event_record;
}

/* ---- when nothing runs ----------------------------------------------------------------------- */

bool agent_becomes_idle(CUcontext context, uint64_t us)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	uint64_t begin = base_now_ns();
	CUevent event;
	CUresult r;

	if (__atomic_load_n(&agent.captures, __ATOMIC_RELAXED) ||
	    agent_driver.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	r = agent_driver.ctx_record_event(context, event);
	while (r == CUDA_SUCCESS) {
		r = agent_driver.event_query(event);
		if (r != CUDA_ERROR_NOT_READY)
			break;
		uint64_t waited = base_now_ns() - begin;
		if (waited > us * 1000u)
			break;
		if (waited > MOMENT_US * 1000u)
			nanosleep(&pause, NULL);
		r = CUDA_SUCCESS;
	}
	if (agent_driver.event_destroy)
		agent_driver.event_destroy(event);
	return r == CUDA_SUCCESS;
}

static CUresult clear_stamps(struct agent_history *h)
{
	size_t flag = offsetof(struct race_history_tables, is_ordered);
	CUresult r = agent_pool_fill(h, h->tables + h->kind->stamps_at,
				     h->kind->stamps_end - h->kind->stamps_at);

	__atomic_store_n(h->ordered, 0, __ATOMIC_RELAXED);
	return r == CUDA_SUCCESS ? agent_pool_fill(h, h->tables + flag, sizeof(uint32_t)) : r;
}

static CUresult clear_pool(struct agent_history *h, struct pool *p)
{
	uint64_t zero = 0, bytes = p->words.mapped;
	CUresult r = CUDA_SUCCESS;

	if (bytes)
		r = agent_pool_fill(h, p->words.at, bytes);
	if (r == CUDA_SUCCESS && p->beside.mapped)
		r = agent_pool_fill(h, p->beside.at, p->beside.mapped);
	if (r == CUDA_SUCCESS)
		r = agent_pool_write(
			h, h->tables + p->counts_at + offsetof(struct race_history_pool, used),
			&zero, sizeof(zero));
	p->used = 0;
	return r;
}

/* What comes after the release stamps: iguard's contexts. */
static CUresult clear_contexts(struct agent_history *h)
{
	uint64_t bytes = h->kind->tables_bytes - h->kind->stamps_end;
	CUresult r = CUDA_SUCCESS;

	if (bytes)
		r = agent_pool_fill(h, h->tables + h->kind->stamps_end, bytes);
	h->contexts = 0;
	return r == CUDA_SUCCESS
		       ? agent_pool_fill(h,
					 h->tables + offsetof(struct race_history_tables, contexts),
					 sizeof(uint64_t))
		       : r;
}

/* All words as if nothing had been accessed; the context is idle. The launches' table comes
 * last: until then numbers count as taken. */
static bool sweep(struct agent_history *h)
{
	return agent_pool_clear_directory(h) == CUDA_SUCCESS &&
	       agent_pool_fill(h, h->pages, h->pages_room) == CUDA_SUCCESS &&
	       clear_pool(h, &h->words) == CUDA_SUCCESS &&
	       clear_pool(h, &h->bytes) == CUDA_SUCCESS && clear_stamps(h) == CUDA_SUCCESS &&
	       clear_contexts(h) == CUDA_SUCCESS && agent_pool_free_scratch(h) == CUDA_SUCCESS &&
	       agent_pool_fill(h, h->tables,
			       sizeof(((struct race_history_tables *)NULL)->launches)) ==
		       CUDA_SUCCESS;
}

/* ---- who works on the pools ------------------------------------------------------------------ */

/* The lock is held. Alone with the pools, and no launch under way but the caller's; false: another
 * thread's call doesn't end. */
static bool begin_work(struct agent_history *h)
{
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 1000 * LAUNCH_WAIT_S);

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
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 10000 * LAUNCH_WAIT_S);

	while (h->is_busy && agent_wait(&deadline))
		;
}

/* Pieces that the program may touch. */
static uint64_t pieces_of(const struct agent_history *h)
{
	return h->pieces + __atomic_load_n(&static_bytes, __ATOMIC_RELAXED) / RACE_HISTORY_PIECE;
}

/* Pages of bytes' words that are kept ready: iguard's, a MiB each, if a module needs some. */
static uint64_t spare_pages(const struct agent_history *h)
{
	bool is_unused = h->kind->narrow && !(h->unseen & RACE_HISTORY_HAS_BYTES);

	return is_unused ? 0 : SPARE_PAGES;
}

static bool wants_growth(const struct agent_history *h)
{
	return !h->is_capped && (__atomic_load_n(h->short_of, __ATOMIC_RELAXED) ||
				 h->words.limit < pieces_of(h) + h->kind->pieces / 2 ||
				 h->words.limit < h->words.used + h->kind->pieces / 2 ||
				 h->bytes.limit < h->bytes.used + spare_pages(h) / 2);
}

static bool wants_sweep(const struct agent_history *h)
{
	if (h->kind->traits & RACE_WORDS_MODES &&
	    RACE_RUN_IGUARD(race_shm_get()->flags) & RACE_IGUARD_MODE_PUBLISHED)
		return true;
	return (h->since >= SWEEP_FROM || h->contexts >= IGUARD_CONTEXTS / 2) &&
	       (!h->tried || h->since >= h->tried + SWEEP_EVERY);
}

struct counts {
	uint64_t threads_aside, accesses_aside;
	struct race_history_pool words, bytes;
	uint64_t contexts;
};

/* What the device has counted. Inside a guard. */
static bool read_counts(const struct agent_history *h, struct counts *now)
{
	const size_t at = offsetof(struct race_history_tables, threads_aside);

	_Static_assert(offsetof(struct race_history_tables, words) ==
			       offsetof(struct race_history_tables, threads_aside) + 16,
		       "read in one piece");
	_Static_assert(offsetof(struct race_history_tables, contexts) ==
			       offsetof(struct race_history_tables, words) + 32,
		       "read in one piece");
	return agent_pool_read(h, now, h->tables + at, sizeof(*now)) == CUDA_SUCCESS;
}

static void note_used(struct agent_history *h, const struct counts *now)
{
	h->words.used = now->words.used;
	h->bytes.used = now->bytes.used;
	h->contexts = now->contexts;
}

/* A pool ran short: how many pages of bytes to have. A kernel that runs through memory by bytes
 * wants many more at its next launch than it got at the last. */
static uint64_t short_of_pages(struct agent_history *h)
{
	uint64_t most = pieces_of(h) * RACE_HISTORY_PAGES, need;
	struct counts now;

	__atomic_store_n(h->short_of, 0, __ATOMIC_RELAXED);
	if (!read_counts(h, &now))
		return 0;
	agent_lock();
	note_used(h, &now);
	agent_unlock();
	need = h->bytes.used >= h->bytes.limit ? SHORT_TIMES * h->bytes.limit : 0;
	return need < most ? need : most;
}

/* What is to be done before a launch. Inside a guard, alone. */
static void work(struct agent_history *h, bool has_to_sweep, uint64_t pieces)
{
	uint64_t need, pages = 0;

	if (__atomic_load_n(h->short_of, __ATOMIC_RELAXED))
		pages = short_of_pages(h);
	need = pieces > h->words.used ? pieces : h->words.used;
	if (has_to_sweep) {
		if (agent_becomes_idle(h->context, SWEEP_WAIT_US) && sweep(h))
			h->since = h->tried = 0;
		else
			h->tried = h->since;
	} else if (__atomic_load_n(h->ordered, __ATOMIC_RELAXED)) {
		h->was_busy =
			!agent_becomes_idle(h->context, h->was_busy ? MOMENT_US : CLEAR_WAIT_US);
		if (!h->was_busy)
			(void)clear_stamps(h);
	}
	/* All taken: by memory that no call announced. */
	if (h->words.used && h->words.used >= h->words.limit)
		need *= 2;
	need += h->kind->pieces;
	/* The few for bytes first: words may take what there is. */
	uint64_t want = 2 * h->bytes.used + spare_pages(h);
	if (want < pages)
		want = pages;
	if (!h->is_capped && h->bytes.limit < want)
		agent_pool_grow(h, &h->bytes, want - h->bytes.limit);
	if (!h->is_capped && h->words.limit < need)
		agent_pool_grow(h, &h->words, need - h->words.limit);
	if (h->unseen != h->unseen_set &&
	    agent_pool_write(h, h->tables + offsetof(struct race_history_tables, unseen),
			     &h->unseen, sizeof(h->unseen)) == CUDA_SUCCESS)
		h->unseen_set = h->unseen;
}

/* ------------------------------------------------------------------------ */

struct agent_history *agent_history_new(CUcontext context, CUdevice device, CUstream stream,
					struct race_region *region, CUdeviceptr records,
					enum race_words_id id)
{
	struct agent_history *h = NULL;
	const char *what = "";
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (has_functions())
		h = calloc(1, sizeof(*h));
	if (h) {
		h->kind = &race_words[id];
		h->context = context;
		h->device = device;
		h->stream = stream;
		h->ordered = &region->ordered[id];
		h->short_of = &region->short_of[id];
		_Static_assert(offsetof(struct race_region, short_of) ==
				       offsetof(struct race_region, ordered) +
					       RACE_HISTORY_SHORT_AT,
			       "found from the other");
		h->seen = mmap(NULL, RACE_HISTORY_PIECES / 8, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (h->seen == MAP_FAILED)
			h->seen = NULL;
		r = h->seen ? agent_pool_build(h,
					       records + RACE_REGION_ORDERED +
						       id * sizeof(region->ordered[0]),
					       &what)
			    : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r == CUDA_SUCCESS)
		return h;
	race_shm_gap_note(RACE_GAP_FORGOTTEN,
			  "no memory for the words of --detector=%s (%.40s: error %d); it checks "
			  "nothing in context %u",
			  name_of(&race_words[id]), what, (int)r, region->context);
	return NULL;
}

struct agent_history *agent_history_join(struct agent_history *h, struct agent_history *next)
{
	h->next = next;
	/* Memory of the program that only the other one has seen. */
	if (next && h->pieces < next->pieces)
		h->pieces = next->pieces;
	return h;
}

struct agent_history *agent_history_of(struct agent_history *h, enum race_words_id id)
{
	while (h && h->kind != &race_words[id])
		h = h->next;
	return h;
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
	block->scratch = __atomic_load_n(&h->scratch, __ATOMIC_ACQUIRE);
	block->machine =
		h->has_machine ? h->tables + offsetof(struct race_history_tables, machine) : 0;
}

void agent_history_scratch(struct agent_history *h)
{
	const char *what = "";

	if (__atomic_exchange_n(&h->is_scratch_tried, true, __ATOMIC_RELAXED))
		return;
	if (agent_pool_build_scratch(h, &what) != CUDA_SUCCESS)
		race_shm_gap_note(RACE_GAP_FORGOTTEN,
				  "no memory for the words of dynamic shared memory (%.40s); its "
				  "accesses go unchecked in a context",
				  what);
}

void agent_history_clear(struct race_history *block)
{
	block->directory = block->words = block->sites = block->pages = 0;
	block->bytes = block->byte_sites = block->tables = block->machine = 0;
	block->scratch = 0;
	block->knobs.rt = 0;
}

void agent_history_static(uint64_t bytes)
{
	__atomic_fetch_add(&static_bytes, bytes + RACE_HISTORY_PIECE, __ATOMIC_RELAXED);
}

void agent_history_memory(struct agent_history *h, uint64_t at, uint64_t bytes)
{
	if (!h || !bytes || at >> RACE_HISTORY_ADDRESS_BITS)
		return;
	agent_history_memory(h->next, at, bytes);
	uint64_t first = at / RACE_HISTORY_PIECE, last = (at + bytes - 1) / RACE_HISTORY_PIECE;

	agent_lock();
	for (uint64_t i = first; i <= last && i < RACE_HISTORY_PIECES; i++) {
		uint64_t bit = 1ull << i % 64;
		h->pieces += !(h->seen[i / 64] & bit);
		h->seen[i / 64] |= bit;
	}
	agent_unlock();
}

void agent_history_unseen(struct agent_history *h, uint32_t who, enum race_words_id id)
{
	agent_lock();
	for (; h; h = h->next)
		if (h->kind == &race_words[id])
			h->unseen |= who;
	agent_unlock();
}

void agent_history_request(struct agent_history *h, uint64_t bytes)
{
	struct agent_guard g;
	bool is_mine = false;

	if (!h || bytes < LARGE_REQUEST)
		return;
	agent_history_request(h->next, bytes);
	agent_enter(&g);
	uint64_t free = agent_pool_free_bytes();
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
	if (agent_becomes_idle(h->context, 10 * SWEEP_WAIT_US) && sweep(h)) {
		h->since = h->tried = 0;
		agent_pool_shrink(h, bytes + KEEP_FREE);
		race_shm_gap_note(
			RACE_GAP_FORGOTTEN,
			"memory of the GPU is short: words of --detector=%s keep %llu MiB, "
			"and the accesses beyond them go unchecked",
			name_of(h->kind), (unsigned long long)(h->words.words.mapped / MIB));
	}
	agent_leave(&g);
	agent_lock();
	end_work(h);
	agent_unlock();
}

static void launch_begin(struct agent_history *h, uint64_t kernels)
{
	bool has_to_sweep, wants, is_mine = false;
	struct agent_guard g;
	uint64_t pieces;

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

/* In the order of the list, so that no two threads wait for each other. */
void agent_history_launch_begin(struct agent_history *h, uint64_t kernels)
{
	begun = h;
	for (; h; h = h->next)
		launch_begin(h, kernels);
}

void agent_history_launch_end(void)
{
	struct agent_history *h = begun;

	begun = NULL;
	if (!h)
		return;
	agent_lock();
	for (; h; h = h->next) {
		h->launching -= h->launching > 0;
		if (!h->launching && h->is_busy)
			pthread_cond_broadcast(&agent.changed);
	}
	agent_unlock();
}

/* No launch can be known any more. */
static void make_blind(struct agent_history *h)
{
	uint32_t unseen = h->unseen | RACE_HISTORY_BLIND;

	if (h->is_blind)
		return;
	h->is_blind = true;
	agent_lock();
	h->unseen = unseen;
	agent_unlock();
	(void)agent_pool_write(h, h->tables + offsetof(struct race_history_tables, unseen), &unseen,
			       sizeof(unseen));
	race_shm_gap_note(RACE_GAP_LAUNCHES,
			  "a graph has conditional nodes, or was made unseen: --detector=%s checks "
			  "nothing from here on",
			  name_of(h->kind));
}

void agent_history_graph_begin(struct agent_history *h, CUgraphExec exec, CUstream stream)
{
	static const uint32_t parts = RACE_HISTORY_EPOCHS;
	CUevent last;
	bool is_good;

	if (!h)
		return;
	is_good = agent_graph_begin(exec, &last);
	if (is_good && last)
		is_good = agent_driver.stream_wait_event(stream, last, 0) == CUDA_SUCCESS;
	for (; h; h = h->next) {
		uint32_t n = __atomic_add_fetch(&h->epochs, 1, __ATOMIC_RELAXED) % parts;
		CUdeviceptr at = h->tables + offsetof(struct race_history_tables, epoch);
		if (is_good)
			is_good = agent_driver.memset_d32_async(at, n, 1, stream) == CUDA_SUCCESS;
		if (!is_good)
			make_blind(h);
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

bool agent_history_has_words(const struct agent_history *h, uint64_t at, uint64_t bytes)
{
	uint64_t entry[LOOKED_AT], i = at / RACE_HISTORY_PIECE, n;
	uint64_t end = (at + bytes - 1) / RACE_HISTORY_PIECE + 1;

	for (; at >> RACE_HISTORY_ADDRESS_BITS == 0 && i < end; i += n) {
		n = end - i < LOOKED_AT ? end - i : LOOKED_AT;
		if (agent_pool_read(h, entry, h->directory + i * 8, n * 8) != CUDA_SUCCESS)
			return false;
		for (uint64_t k = 0; k < n; k++)
			if (entry[k])
				return true;
	}
	return false;
}

void agent_history_snapshot(struct agent_history *h, struct race_region *region)
{
	uint64_t threads = 0, accesses = 0;
	struct counts now;

	if (!h)
		return;
	for (; h; h = h->next) {
		if (!read_counts(h, &now))
			return;
		threads += now.threads_aside;
		accesses += now.accesses_aside;
		agent_lock();
		note_used(h, &now);
		agent_unlock();
		agent_memory_look(h);
	}
	region->threads_aside = threads;
	region->accesses_aside = accesses;
}
