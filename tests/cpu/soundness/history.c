/*
 * history.c - the runtime block of detector hirace or iguard for one run, as
 * cudart/report/history.c fills it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "race/layout/iguard.h"
#include "race/layout/history.h"

static void *zeroes(struct cpu_machine *m, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p != MAP_FAILED && cpu_mem_register_ours(m, p, bytes) ? p : NULL;
}

/* Launches are given slots by %gridid. */
static void on_start(void *arg, uint64_t grid, const uint64_t bits[CPU_ORDERS][CPU_PAST / 64])
{
	uint64_t(*rows)[RACE_HISTORY_ROW / 64] = arg;

	for (uint64_t i = 0; i < RACE_HISTORY_TABLES * RACE_HISTORY_ROW; i++) {
		uint64_t to = i % RACE_HISTORY_ROW, of = i - to + grid % RACE_HISTORY_ROW;
		bool is_set = bits[i / RACE_HISTORY_ROW][to / 64] >> to % 64 & 1;
		rows[of][to / 64] |= (uint64_t)is_set << to % 64;
		rows[i][grid / 64] |= (uint64_t)is_set << grid % 64;
	}
}

bool history_begin(struct history *h, struct cpu_machine *m, struct race_history *block,
		   uint64_t runtime, bool is_guard, bool is_by_marks)
{
	uint32_t word = is_guard ? IGUARD_ENTRY_BYTES : RACE_HISTORY_WORD_BYTES;
	uint64_t first, bytes;

	cpu_mem_region(m, &first, &bytes);
	const uint64_t blocks = bytes / RACE_HISTORY_PIECE + 64;
	h->bytes[0] = blocks * RACE_HISTORY_BLOCK_OF(word);
	h->bytes[1] = h->bytes[0] / 2;
	h->bytes[2] = blocks * RACE_HISTORY_PAGES * RACE_HISTORY_PAGE_OF(word);
	if (h->bytes[2] > 1ull << 44)
		h->bytes[2] = 1ull << 44;
	h->bytes[3] = h->bytes[2] / 2;
	h->bytes[4] =
		is_guard ? sizeof(struct race_iguard_tables) : sizeof(struct race_history_tables);
	h->bytes[5] = RACE_HISTORY_PIECES * 8;
	h->bytes[6] = blocks * RACE_HISTORY_PAGES * 8;
	for (unsigned i = 0; i < HISTORY_PARTS - 2; i++)
		if (!(h->part[i] = zeroes(m, h->bytes[i])))
			return false;
	struct race_history_tables *t = h->part[4];
	memset(t->parts, 0xff, sizeof(t->parts));
	t->words.limit = blocks;
	t->bytes.limit = h->bytes[2] / RACE_HISTORY_PAGE_OF(word);
	block->knobs.rt = runtime;
	block->words = (uint64_t)(uintptr_t)h->part[0];
	block->sites = (uint64_t)(uintptr_t)h->part[1];
	block->bytes = (uint64_t)(uintptr_t)h->part[2];
	block->byte_sites = (uint64_t)(uintptr_t)h->part[3];
	block->tables = (uint64_t)(uintptr_t)t;
	block->directory = (uint64_t)(uintptr_t)h->part[5];
	block->pages = (uint64_t)(uintptr_t)h->part[6];
	const uint64_t sms = 4, heads = race_scratch_heads(sms);
	h->bytes[8] = heads + race_scratch_units(sms, word);
	h->part[8] = zeroes(m, h->bytes[8]);
	if (!h->part[8])
		return false;
	memcpy((char *)h->part[8] + heads - RACE_SCRATCH_HEAD, &sms, sizeof(sms));
	block->scratch = (uint64_t)(uintptr_t)h->part[8] + heads;
	if (is_guard || is_by_marks)
		return true;
	h->bytes[7] =
		sizeof(uint64_t[RACE_HISTORY_TABLES * RACE_HISTORY_ROW][RACE_HISTORY_ROW / 64]);
	h->part[7] = zeroes(m, h->bytes[7]);
	t->rows = (uint64_t)(uintptr_t)h->part[7];
	if (h->part[7])
		cpu_listen_past(m, on_start, NULL, h->part[7]);
	return h->part[7] != NULL;
}

void history_end(struct history *h)
{
	for (unsigned i = 0; i < HISTORY_PARTS; i++)
		if (h->part[i])
			munmap(h->part[i], h->bytes[i]);
}
