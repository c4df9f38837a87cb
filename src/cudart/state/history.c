/*
 * history.c - the history words of detector hirace on the CPU device.
 *
 * All memory of the machine lies in one reserved range of addresses (cpu/memory/space.c), and so do
 * its history words: 8 bytes for each 4, and 8 for each byte that kernels access as a byte, with 4
 * beside each for the site that left it. The ranges are reserved when the first module with the
 * detector is loaded; pages are allocated on first access. Kernels find them through the module's
 * runtime block (race/shadow.h) and use them as they use all memory, by instructions of the
 * machine.
 *
 * When a kernel starts and no other runs, the tables of release stamps are cleared, and once half
 * of the launch numbers are taken all words are released (a sweep): a word of 0 has not been
 * accessed. Programs that never let the device become idle run out of numbers; later launches then
 * step aside, and the report counts their threads.
 *
 * Misses: memory outside of the machine's own (cudaHostRegister); pairs of two launches.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>

#include "cudart/state/collider.h"
#include "race/shadow.h"
#include "race/shm_write.h"

static struct {
	struct race_history_tables *tables; /* NULL: none, or no memory for them */
	uint64_t first, bytes;
	char *words, *sites, *byte_words, *byte_sites;
	bool is_tried;
	uint32_t unseen; /* before there are tables */
} h;

/* Reserves address space of zeroes, known to the device as its memory. */
static void *reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Words are accessed sparsely. */
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	if (cpu_mem_register_ours(rt.m, p, bytes))
		return p;
	munmap(p, bytes);
	return NULL;
}

/* Once released, they read as zeroes. */
static void clear(void *p, uint64_t bytes)
{
	if (p)
		(void)madvise(p, bytes, MADV_DONTNEED);
}

/* A kernel starts and no other runs. The machine's locks are held. */
static void on_quiet(void *arg)
{
	uint32_t n = 0;

	(void)arg;
	if (h.tables->is_ordered) {
		clear(h.tables->sides, sizeof(h.tables->sides));
		clear(h.tables->blocks, sizeof(h.tables->blocks));
		h.tables->is_ordered = 0;
	}
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		n += h.tables->launches[i] != 0;
	if (n < RACE_HISTORY_LAUNCHES / 2)
		return;
	clear(h.words, h.bytes * 2);
	clear(h.sites, h.bytes);
	clear(h.byte_words, h.bytes * 8);
	clear(h.byte_sites, h.bytes * 4);
	for (uint32_t i = 0; i < RACE_HISTORY_LAUNCHES; i++)
		h.tables->launches[i] = 0;
}

static void set_up(void)
{
	h.is_tried = true;
	cpu_mem_region(rt.m, &h.first, &h.bytes);
	h.words = reserve(h.bytes * 2);
	h.tables = h.words ? reserve(sizeof(*h.tables)) : NULL;
	if (!h.tables) {
		race_shm_note("no address space for the words of --detector=hirace; it checks "
			      "nothing");
		return;
	}
	/* Without these, reports have less detail and bytes go unchecked. */
	h.sites = reserve(h.bytes);
	h.byte_words = reserve(h.bytes * 8);
	h.byte_sites = h.byte_words ? reserve(h.bytes * 4) : NULL;
	h.tables->unseen = h.unseen;
	cpu_listen_quiet(rt.m, on_quiet, NULL);
}

void rt_history_module(struct race_history *block)
{
	if (!h.is_tried)
		set_up();
	if (!h.tables)
		return;
	block->first = h.first;
	block->bytes = h.bytes;
	block->words = (uint64_t)(uintptr_t)h.words;
	block->sites = (uint64_t)(uintptr_t)h.sites;
	block->byte_words = (uint64_t)(uintptr_t)h.byte_words;
	block->byte_sites = (uint64_t)(uintptr_t)h.byte_sites;
	block->tables = (uint64_t)(uintptr_t)h.tables;
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
