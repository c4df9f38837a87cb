/*
 * history.c - the words of detectors that have some, on the CPU device.
 *
 * The pools of words (race/layout/history.h; iguard's are called entries) are reserved when the
 * first module with the detector is loaded: as much address space as the machine's memory may need.
 * Pages come when they are touched. Kernels find them through the module's runtime block and use
 * them as they use all memory, by instructions of the machine.
 *
 * When a kernel starts and no other runs, the tables of release stamps are cleared, and once half
 * of the launch numbers, or of iguard's contexts, are taken all words are released (a sweep): a
 * word of 0 has not been accessed. Programs that never let the device become idle run out of
 * numbers; later launches then step aside, and the report counts their threads.
 *
 * A kernel that starts finds the API's order of launches in rows of bits (cpu_listen_past): the
 * words of launches that nothing orders with it are judged; those that memory may have ordered are
 * possible races at most. Memory that is allocated again begins
 * with empty words, since two such launches may have had it one after the other.
 *
 * Misses: copies and fills of the host.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/report/collider.h"
#include "race/layout/iguard.h"
#include "race/layout/history.h"
#include "race/file/shm_write.h"

#define MORE_PIECES    4096u
#define SCRATCH_SMS    132u
#define MOST_FOR_BYTES (1ull << 44) /* they come by pages, on demand */

/* Pairs of address and size of what is reserved; those after PART_PAGES may be missing: then less
 * is said, and bytes go unchecked. */
enum part { PART_WORDS, PART_DIRECTORY, PART_TABLES, PART_PAGES, PART_BYTES, PART_SITES, PARTS_OF };

struct history {
	struct race_history_tables *tables; /* NULL: none, or no memory for them */
	char *part[PARTS_OF], *byte_sites;
	char *scratch; /* heads, then RACE_SCRATCH_*; or NULL */
	uint64_t bytes[PARTS_OF];
	bool is_tried;
};

static struct history all[RACE_WORDS_COUNT];	/* by enum race_words_id */
static uint64_t (*rows)[RACE_HISTORY_ROW / 64]; /* tables by %gridid; NULL: all are ordered */
static uint32_t unseen;				/* before there are tables; atomic */
/* The rows are filled in. Not for a detector that works for another one: it doesn't see the kernels
 * that may order two of its own. */
static bool is_past_judged;

/* The row of the detector that has them. */
static const struct race_words *row_of(const struct history *h)
{
	return &race_words[h - all];
}

static bool has(const struct history *h, enum race_words_trait trait)
{
	return row_of(h)->traits & trait;
}

static bool is_half_full(const struct history *h)
{
	uint32_t n = 0;

	/* Entries of the published form have no launch. */
	if (has(h, RACE_WORDS_MODES) &&
	    RACE_RUN_IGUARD(race_shm_get()->flags) & RACE_IGUARD_MODE_PUBLISHED)
		return true;
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		n += h->tables->launches[i] != 0;
	return n >= RACE_HISTORY_LAUNCHES / 2 || h->tables->contexts >= IGUARD_CONTEXTS / 2;
}

/* No detector of the run judges two launches: that there were such is said, once. */
static void note_unordered(void)
{
	static uint64_t *noted;

	if (!noted && !rt_oracle_is_on())
		noted = race_shm_gap(RACE_GAP_LAUNCHES, "", RACE_GAP_UNORDERED, 1);
}

/* Its row in a table, and its bit in those of the others. */
static void set_row(uint64_t (*table)[RACE_HISTORY_ROW / 64], uint64_t grid,
		    const uint64_t bits[RACE_HISTORY_ROW / 64])
{
	const uint64_t me = grid % RACE_HISTORY_ROW, bit = 1ull << me % 64;

	for (uint64_t i = 0; i < RACE_HISTORY_ROW; i++) {
		uint64_t *word = &table[i][me / 64];
		bool is_set = bits[i / 64] >> i % 64 & 1;
		__atomic_store_n(word, is_set ? *word | bit : *word & ~bit, __ATOMIC_RELAXED);
	}
	memcpy(table[me], bits, sizeof(table[me]));
}

/* From now on threads look for the words of launches that nothing orders with theirs. */
static void note_beside(void)
{
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (all[i].tables && has(&all[i], RACE_WORDS_PAST))
			__atomic_store_n(&all[i].tables->unordered, 1, __ATOMIC_RELAXED);
}

/* A kernel starts. */
static void on_start(void *arg, uint64_t grid, const uint64_t bits[CPU_ORDERS][CPU_PAST / 64])
{
	uint64_t any = 0;

	(void)arg;
	for (unsigned i = 0; i < CPU_PAST / 64; i++)
		any |= bits[CPU_ORDER_NONE][i];
	if (any && is_past_judged)
		note_beside();
	else if (any)
		note_unordered();
	/* The first table last: who finds its bit finds the others. */
	for (unsigned i = CPU_ORDERS; is_past_judged && i-- > 0;)
		set_row(rows + i * RACE_HISTORY_ROW, grid, bits[i]);
}

/* Address and bytes are of one piece; `pages`: its entries of the pages' table. */
static void forget_in_piece(char *block, const uint64_t *pages, uint64_t at, uint64_t bytes)
{
	uint64_t first = at >> 2, last = (at + bytes - 1) >> 2;

	memset(block + first * 8, 0, (last - first + 1) * 8);
	for (uint64_t i = at; pages && i < at + bytes; i++) {
		uint64_t page = pages[i / RACE_HISTORY_PAGE];
		if (page > RACE_HISTORY_FULL)
			((uint64_t *)(uintptr_t)page)[i % RACE_HISTORY_PAGE] = 0;
		else
			i |= RACE_HISTORY_PAGE - 1;
	}
}

static void forget(const struct history *h, uint64_t at, uint64_t bytes)
{
	const uint64_t *directory = (const uint64_t *)(void *)h->part[PART_DIRECTORY];
	uint64_t n;

	for (; bytes && at >> RACE_HISTORY_ADDRESS_BITS == 0; at += n, bytes -= n) {
		uint64_t in = at % RACE_HISTORY_PIECE, block = directory[at / RACE_HISTORY_PIECE];
		n = RACE_HISTORY_PIECE - in < bytes ? RACE_HISTORY_PIECE - in : bytes;
		if (block <= RACE_HISTORY_FULL)
			continue;
		uint64_t piece = (block - (uint64_t)(uintptr_t)h->part[PART_WORDS]) /
				 RACE_HISTORY_BLOCK_BYTES;
		forget_in_piece((char *)(uintptr_t)block,
				h->part[PART_PAGES]
					? (const uint64_t *)(void *)h->part[PART_PAGES] +
						  piece * RACE_HISTORY_PAGES
					: NULL,
				in, n);
	}
}

static void on_forget(void *arg, uint64_t at, uint64_t bytes)
{
	(void)arg;
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (all[i].tables && has(&all[i], RACE_WORDS_PAST))
			forget(&all[i], at, bytes);
}

static void on_quiet(struct history *h)
{
	const struct race_words *w = row_of(h);
	char *tables = (char *)h->tables;

	if (h->tables->is_ordered) {
		rt_clear(tables + w->stamps_at, w->stamps_end - w->stamps_at);
		h->tables->is_ordered = 0;
	}
	if (!is_half_full(h))
		return;
	rt_clear(tables + w->stamps_end, w->tables_bytes - w->stamps_end);
	for (unsigned i = 0; i < PARTS_OF; i++)
		if (i != PART_TABLES)
			rt_clear(h->part[i], h->bytes[i]);
	rt_clear(h->byte_sites, h->bytes[PART_BYTES] / 2);
	if (h->scratch)
		memset(h->scratch, 0, race_scratch_heads(SCRATCH_SMS) - RACE_SCRATCH_HEAD);
	h->tables->words.used = h->tables->bytes.used = h->tables->contexts = 0;
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		h->tables->launches[i] = 0;
}

void rt_on_quiet(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (all[i].tables)
			on_quiet(&all[i]);
}

static void set_up_scratch(struct history *h)
{
	const uint64_t sms = SCRATCH_SMS, heads = race_scratch_heads(sms);

	h->scratch = rt_reserve(heads + race_scratch_units(sms, row_of(h)->bytes));
	if (h->scratch)
		memcpy(h->scratch + heads - RACE_SCRATCH_HEAD, &sms, sizeof(sms));
}

static void set_up_past(struct history *h)
{
	struct race_history_tables *t = h->tables;

	rows = rt_reserve(RACE_HISTORY_TABLES * RACE_HISTORY_ROW * sizeof(*rows));
	t->rows = (uint64_t)(uintptr_t)rows;
	is_past_judged = rows && RACE_RUN_WANTS(race_shm_get()->flags, row_of(h)->detector);
	if (!rows)
		t->unseen |= RACE_HISTORY_BLIND;
}

static void listen_past(void)
{
	static bool is_listening;

	if (!is_listening)
		cpu_listen_past(rt.m, on_start, on_forget, NULL);
	is_listening = true;
}

static void set_up(struct history *h)
{
	const struct race_words *w = row_of(h);
	uint64_t first, bytes, blocks;

	h->is_tried = true;
	cpu_mem_region(rt.m, &first, &bytes);
	/* Some pieces more, for memory of the host that is registered. */
	blocks = bytes / RACE_HISTORY_PIECE + MORE_PIECES;
	h->bytes[PART_WORDS] = blocks * RACE_HISTORY_BLOCK_OF(w->bytes);
	h->bytes[PART_DIRECTORY] = RACE_HISTORY_PIECES * 8;
	h->bytes[PART_TABLES] = w->tables_bytes;
	h->bytes[PART_PAGES] = blocks * RACE_HISTORY_PAGES * 8;
	h->bytes[PART_BYTES] = blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_OF(w->bytes);
	if (h->bytes[PART_BYTES] > MOST_FOR_BYTES)
		h->bytes[PART_BYTES] = MOST_FOR_BYTES;
	h->bytes[PART_SITES] = h->bytes[PART_WORDS] / 2;
	for (unsigned i = 0; i < PARTS_OF; i++) {
		if (i == PART_SITES && !has(h, RACE_WORDS_BESIDE))
			continue;
		h->part[i] = rt_reserve(h->bytes[i]);
		if (!h->part[i] && i <= PART_TABLES)
			break;
	}
	if (!h->part[PART_TABLES]) {
		race_shm_gap_note(
			RACE_GAP_FORGOTTEN,
			"no address space for the words of --detector=%s; it checks nothing",
			race_detectors[w->detector].name);
		return;
	}
	h->tables = (struct race_history_tables *)(void *)h->part[PART_TABLES];
	h->tables->words.limit = blocks;
	memset(h->tables->parts, 0xff, sizeof(h->tables->parts));
	if (has(h, RACE_WORDS_BESIDE))
		h->byte_sites = rt_reserve(h->bytes[PART_BYTES] / 2);
	if (h->part[PART_BYTES])
		h->tables->bytes.limit = h->bytes[PART_BYTES] / RACE_HISTORY_PAGE_OF(w->bytes);
	h->tables->unseen = unseen;
	cpu_listen_quiet(rt.m, rt_on_quiet, NULL);
	set_up_scratch(h);
	if (has(h, RACE_WORDS_PAST))
		set_up_past(h);
	listen_past();
	if (has(h, RACE_WORDS_MACHINE) && race_shm_machine())
		memcpy(h->tables->machine, race_shm_machine(), RACE_HISTORY_MACHINE);
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

void rt_history_module(struct race_history *block, enum race_words_id id)
{
	struct history *h = &all[id];

	if (!h->is_tried)
		set_up(h);
	if (!h->tables)
		return;
	block->directory = address(h->part[PART_DIRECTORY]);
	block->words = address(h->part[PART_WORDS]);
	block->sites = address(h->part[PART_SITES]);
	block->pages = address(h->part[PART_PAGES]);
	block->bytes = address(h->part[PART_BYTES]);
	block->byte_sites = address(h->byte_sites);
	block->tables = address(h->tables);
	if (h->scratch)
		block->scratch = address(h->scratch + race_scratch_heads(SCRATCH_SMS));
	if (has(h, RACE_WORDS_MACHINE) && race_shm_machine())
		block->machine = address(h->tables->machine);
}

bool rt_history_asks_text(const struct rt_kern *k)
{
	return is_past_judged && k->image->is_instrumented;
}

void rt_note_unseen(uint32_t who)
{
	__atomic_fetch_or(&unseen, who, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (all[i].tables)
			__atomic_fetch_or(&all[i].tables->unseen, who, __ATOMIC_RELAXED);
}

/* ---- memory that host code has, too ---------------------------------------------------------- */

#define SHARED	  256u /* pieces of it; no more are looked at */
#define LOOKED_AT (1u << 18)

static struct {
	uint64_t at, bytes;
} shared[SHARED];
static uint32_t nshared; /* atomic */

void rt_history_shared(uint64_t at, uint64_t bytes)
{
	uint32_t i = __atomic_fetch_add(&nshared, 1, __ATOMIC_RELAXED);

	if (i >= SHARED)
		return;
	shared[i].at = at;
	__atomic_store_n(&shared[i].bytes, bytes, __ATOMIC_RELEASE);
}

/* Has a kernel accessed some of its first LOOKED_AT bytes? */
static bool has_words(const struct history *h, uint64_t at, uint64_t bytes)
{
	const uint64_t *directory = (const uint64_t *)(void *)h->part[PART_DIRECTORY];
	const uint32_t size = row_of(h)->bytes;

	for (uint64_t end = at + (bytes < LOOKED_AT ? bytes : LOOKED_AT); at < end; at += 4) {
		uint64_t i = at / RACE_HISTORY_PIECE,
			 block = i < RACE_HISTORY_PIECES ? directory[i] : 0;
		if (block <= RACE_HISTORY_FULL) {
			at |= RACE_HISTORY_PIECE - 4;
			continue;
		}
		const uint64_t *word =
			(const uint64_t *)(uintptr_t)(block + at % RACE_HISTORY_PIECE / 4 * size);
		if (__atomic_load_n(word, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* Such a detector doesn't follow host code. */
static void look_at_shared(void)
{
	static bool was_accessed;
	uint32_t n = __atomic_load_n(&nshared, __ATOMIC_RELAXED);
	bool is_now = false;

	if (was_accessed || rt_oracle_is_on())
		return;
	for (uint32_t i = 0; i < n && i < SHARED && !is_now; i++) {
		uint64_t bytes = __atomic_load_n(&shared[i].bytes, __ATOMIC_ACQUIRE);
		for (unsigned k = 0; k < RACE_WORDS_COUNT && bytes; k++)
			is_now |= all[k].tables && has_words(&all[k], shared[i].at, bytes);
	}
	if (is_now)
		race_shm_gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST, 1);
	was_accessed = is_now;
}

void rt_history_counts(uint64_t *threads, uint64_t *accesses)
{
	look_at_shared();
	*threads = *accesses = 0;
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++) {
		const struct race_history_tables *t = all[i].tables;
		*threads += t ? __atomic_load_n(&t->threads_aside, __ATOMIC_RELAXED) : 0;
		*accesses += t ? __atomic_load_n(&t->accesses_aside, __ATOMIC_RELAXED) : 0;
	}
}
