/*
 * history.c - the history words of detector hirace on the CPU device.
 *
 * The pools of words (race/shadow.h) are reserved when the first module with the detector is
 * loaded: as much address space as the machine's memory may need. Pages come when they are touched.
 * Kernels find them through the module's runtime block and use them as they use all memory, by
 * instructions of the machine.
 *
 * When a kernel starts and no other runs, the tables of release stamps are cleared, and once half
 * of the launch numbers are taken all words are released (a sweep): a word of 0 has not been
 * accessed. Programs that never let the device become idle run out of numbers; later launches then
 * step aside, and the report counts their threads.
 *
 * A kernel that starts finds the API's order of launches in rows of bits (cpu_listen_past): the
 * words of launches that nothing orders with it are judged. Memory that is allocated again begins
 * with empty words, since two such launches may have had it one after the other.
 *
 * Misses: copies and fills of the host.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/collider.h"
#include "race/shadow.h"
#include "race/shm_write.h"

#define MORE_PIECES 4096u

static struct {
	struct race_history_tables *tables; /* NULL: none, or no memory for them */
	uint64_t blocks;		    /* of the pool of words */
	char *directory, *words, *sites, *pages, *bytes, *byte_sites;
	uint64_t (*rows)[RACE_HISTORY_ROW / 64]; /* by %gridid; NULL: launches are ordered */
	bool is_tried;
	uint32_t unseen; /* before there are tables */
} h;

void rt_history_quiet(void)
{
	uint32_t n = 0;

	if (!h.tables)
		return;
	if (h.tables->is_ordered) {
		rt_clear(h.tables->sides, sizeof(h.tables->sides));
		rt_clear(h.tables->blocks, sizeof(h.tables->blocks));
		h.tables->is_ordered = 0;
	}
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		n += h.tables->launches[i] != 0;
	if (n < RACE_HISTORY_LAUNCHES / 2)
		return;
	rt_clear(h.directory, RACE_HISTORY_PIECES * 8);
	rt_clear(h.words, h.blocks * RACE_HISTORY_BLOCK_BYTES);
	rt_clear(h.sites, h.blocks * RACE_HISTORY_BLOCK_BYTES / 2);
	rt_clear(h.pages, h.blocks * RACE_HISTORY_PAGES * 8);
	rt_clear(h.bytes, h.blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_BYTES);
	rt_clear(h.byte_sites, h.blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_BYTES / 2);
	h.tables->words.used = h.tables->bytes.used = 0;
	memset(h.tables->runs, 0, sizeof(h.tables->runs));
	h.tables->begins = h.tables->overs = 0;
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		h.tables->launches[i] = 0;
}

/* A kernel starts: its row, and its bit in those of the others. */
static void on_start(void *arg, uint64_t grid, const uint64_t unordered[RACE_HISTORY_ROW / 64])
{
	const uint64_t me = grid % RACE_HISTORY_ROW, bit = 1ull << me % 64;

	(void)arg;
	for (uint64_t i = 0; i < RACE_HISTORY_ROW; i++) {
		uint64_t *word = &h.rows[i][me / 64];
		bool is_set = unordered[i / 64] >> i % 64 & 1;
		__atomic_store_n(word, is_set ? *word | bit : *word & ~bit, __ATOMIC_RELAXED);
	}
	memcpy(h.rows[me], unordered, sizeof(h.rows[me]));
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

static void on_forget(void *arg, uint64_t at, uint64_t bytes)
{
	const uint64_t *directory = (const uint64_t *)(void *)h.directory;
	uint64_t n;

	(void)arg;
	for (; bytes && at >> RACE_HISTORY_ADDRESS_BITS == 0; at += n, bytes -= n) {
		uint64_t in = at % RACE_HISTORY_PIECE, block = directory[at / RACE_HISTORY_PIECE];
		n = RACE_HISTORY_PIECE - in < bytes ? RACE_HISTORY_PIECE - in : bytes;
		if (block <= RACE_HISTORY_FULL)
			continue;
		uint64_t piece = (block - (uint64_t)(uintptr_t)h.words) / RACE_HISTORY_BLOCK_BYTES;
		forget_in_piece((char *)(uintptr_t)block,
				h.pages ? (const uint64_t *)(void *)h.pages +
						  piece * RACE_HISTORY_PAGES
					: NULL,
				in, n);
	}
}

static void set_up(void)
{
	uint64_t first, bytes;

	h.is_tried = true;
	cpu_mem_region(rt.m, &first, &bytes);
	/* Some pieces more, for memory of the host that is registered. */
	h.blocks = bytes / RACE_HISTORY_PIECE + MORE_PIECES;
	h.words = rt_reserve(h.blocks * RACE_HISTORY_BLOCK_BYTES);
	h.directory = h.words ? rt_reserve(RACE_HISTORY_PIECES * 8) : NULL;
	h.tables = h.directory ? rt_reserve(sizeof(*h.tables)) : NULL;
	if (!h.tables) {
		race_shm_note("no address space for the words of --detector=hirace; it checks "
			      "nothing");
		return;
	}
	h.tables->words.limit = h.blocks;
	memset(h.tables->parts, 0xff, sizeof(h.tables->parts));
	/* Without these less is said, and bytes go unchecked. */
	h.sites = rt_reserve(h.blocks * RACE_HISTORY_BLOCK_BYTES / 2);
	h.pages = rt_reserve(h.blocks * RACE_HISTORY_PAGES * 8);
	h.bytes = rt_reserve(h.blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_BYTES);
	h.byte_sites = rt_reserve(h.blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_BYTES / 2);
	if (h.bytes)
		h.tables->bytes.limit = h.blocks * RACE_HISTORY_PAGES;
	h.tables->unseen = h.unseen;
	cpu_listen_quiet(rt.m, rt_on_quiet, NULL);
	h.rows = rt_reserve(RACE_HISTORY_ROW * sizeof(*h.rows));
	h.tables->rows = (uint64_t)(uintptr_t)h.rows;
	if (h.rows)
		cpu_listen_past(rt.m, on_start, on_forget, NULL);
	else
		h.tables->unseen |= RACE_HISTORY_BLIND;
	if (race_shm_machine())
		memcpy(h.tables->machine, race_shm_machine(), RACE_HISTORY_MACHINE);
}

void rt_history_module(struct race_history *block)
{
	if (!h.is_tried)
		set_up();
	if (!h.tables)
		return;
	block->directory = (uint64_t)(uintptr_t)h.directory;
	block->words = (uint64_t)(uintptr_t)h.words;
	block->sites = (uint64_t)(uintptr_t)h.sites;
	block->pages = (uint64_t)(uintptr_t)h.pages;
	block->bytes = (uint64_t)(uintptr_t)h.bytes;
	block->byte_sites = (uint64_t)(uintptr_t)h.byte_sites;
	block->tables = (uint64_t)(uintptr_t)h.tables;
	if (race_shm_machine())
		block->machine = (uint64_t)(uintptr_t)h.tables->machine;
}

void rt_history_unseen(uint32_t who)
{
	__atomic_fetch_or(&h.unseen, who, __ATOMIC_RELAXED);
	if (h.tables)
		__atomic_fetch_or(&h.tables->unseen, who, __ATOMIC_RELAXED);
}

void rt_history_counts(uint64_t *threads, uint64_t *accesses)
{
	*threads = h.tables ? __atomic_load_n(&h.tables->threads_aside, __ATOMIC_RELAXED) : 0;
	*accesses = h.tables ? __atomic_load_n(&h.tables->accesses_aside, __ATOMIC_RELAXED) : 0;
}
