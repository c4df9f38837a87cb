/*
 * guard.c - the metadata of detector iguard on the CPU device.
 *
 * As history.c: all memory of the machine lies in one reserved range, so its entries do, too, 16
 * bytes for each 4, and 16 for each byte for kernels that access bytes. The ranges are reserved
 * when the first module with the detector is loaded; pages come when they are touched. Kernels find
 * them through the module's runtime block (race/layout/guard.h).
 *
 * When a kernel starts and no other runs, the tables of release stamps are cleared, and once half
 * of the launch numbers or of the contexts are taken all entries are given back (a sweep).
 *
 * Misses: memory outside of the machine's own (cudaHostRegister); pairs of two launches.
 */

#include "cudart/state/collider.h"
#include "race/layout/guard.h"
#include "race/shadow.h"
#include "race/shm_write.h"

static struct {
	struct race_guard_tables *tables; /* NULL: none, or no memory for them */
	uint64_t first, bytes;
	char *entries, *byte_entries;
	bool is_tried;
	uint32_t unseen; /* before there are tables */
} g;

static uint64_t byte_range(void)
{
	return GUARD_ENTRY_BYTES *
	       (g.bytes < RACE_GUARD_BYTES_MOST ? g.bytes : RACE_GUARD_BYTES_MOST);
}

/* Of the table of contexts, which a hash fills evenly, a part stands for the whole. */
#define SAMPLED 4096u

static bool is_half_full(void)
{
	uint32_t launches = 0, contexts = 0;

	for (uint32_t i = 0; i < RACE_GUARD_LAUNCHES; i++)
		launches += g.tables->launches[i] != 0;
	for (uint32_t i = 0; i < SAMPLED; i++)
		contexts += g.tables->contexts[i] != 0;
	return launches >= RACE_GUARD_LAUNCHES / 2 || contexts >= SAMPLED / 2;
}

static void on_quiet(void)
{
	if (g.tables->is_ordered) {
		rt_clear(g.tables->sides, sizeof(g.tables->sides));
		rt_clear(g.tables->blocks, sizeof(g.tables->blocks));
		g.tables->is_ordered = 0;
	}
	if (!is_half_full())
		return;
	rt_clear(g.entries, g.bytes * 4);
	rt_clear(g.byte_entries, byte_range());
	rt_clear(g.tables->contexts, sizeof(g.tables->contexts));
	rt_clear(g.tables->nows, sizeof(g.tables->nows));
	for (uint32_t i = 0; i < RACE_GUARD_LAUNCHES; i++)
		g.tables->launches[i] = 0;
}

void rt_on_quiet(void *arg)
{
	(void)arg;
	rt_history_quiet();
	if (g.tables)
		on_quiet();
}

static void set_up(void)
{
	g.is_tried = true;
	cpu_mem_region(rt.m, &g.first, &g.bytes);
	g.entries = rt_reserve(g.bytes * 4);
	g.tables = g.entries ? rt_reserve(sizeof(*g.tables)) : NULL;
	if (!g.tables) {
		race_shm_note("no address space for the metadata of --detector=iguard; it checks "
			      "nothing");
		return;
	}
	/* Without these bytes go unchecked. */
	g.byte_entries = rt_reserve(byte_range());
	g.tables->unseen = g.unseen;
	cpu_listen_quiet(rt.m, rt_on_quiet, NULL);
}

void rt_guard_module(struct race_guard *block)
{
	if (!g.is_tried)
		set_up();
	if (!g.tables)
		return;
	block->first = g.first;
	block->bytes = g.bytes;
	block->entries = (uint64_t)(uintptr_t)g.entries;
	block->byte_entries = (uint64_t)(uintptr_t)g.byte_entries;
	block->tables = (uint64_t)(uintptr_t)g.tables;
}

void rt_note_unseen(uint32_t who)
{
	rt_history_unseen(who);
	__atomic_fetch_or(&g.unseen, who, __ATOMIC_RELAXED);
	if (g.tables)
		__atomic_fetch_or(&g.tables->unseen, who, __ATOMIC_RELAXED);
}

void rt_guard_counts(uint64_t *threads, uint64_t *accesses)
{
	if (!g.tables)
		return;
	*threads += __atomic_load_n(&g.tables->threads_aside, __ATOMIC_RELAXED);
	*accesses += __atomic_load_n(&g.tables->accesses_aside, __ATOMIC_RELAXED);
}
