/*
 * describe.c - the tables as text: `collider hirace --table`.
 *
 * The reasons are the generator's: of all histories that a state stands for, it noted what the
 * access races with, and what would conflict but is ordered before it.
 */
#include "hirace/hirace.h"

#include "hirace/hirace_table.h"

#include <string.h>

static const uint16_t why_all[HIRACE_TABLE_SIZE] = HIRACE_TABLE_WHY_ALL;
static const uint16_t why_any[HIRACE_TABLE_SIZE] = HIRACE_TABLE_WHY_ANY;

/* The kinds of a set: "W", "R, W". */
static void put_kinds(struct base_buf *out, uint32_t kinds)
{
	const char *before = "";

	for (uint32_t k = 0; k < HIRACE_ACCESSES; k++) {
		if (!(kinds >> k & 1))
			continue;
		base_buf_printf(out, "%s%s", before, hirace_access_name(k));
		before = ", ";
	}
}

static void put_places(struct base_buf *out, uint32_t why, const char *const places[4])
{
	const char *before = "";

	for (uint32_t r = 0; r < HIRACE_RELATIONS; r++) {
		if (!(why >> 4 * r & 15))
			continue;
		base_buf_puts(out, before);
		put_kinds(out, why >> 4 * r & 15);
		base_buf_printf(out, " %s", places[r]);
		before = " and ";
	}
}

static void put_reason(struct base_buf *out, uint32_t state, uint32_t entry, uint32_t next)
{
	static const char *const raced[] = {"", "of another lane", "of another warp",
					    "of another block"};
	static const char *const ordered[] = {"of its own", "after a __syncwarp",
					      "after a __syncthreads", ""};

	if (state == HIRACE_INIT) {
		base_buf_puts(out, "the first access");
	} else if (state == HIRACE_RACE) {
		base_buf_puts(out, "a race stays one");
	} else if (next == HIRACE_RACE) {
		base_buf_puts(out, why_all[entry] ? "unordered with "
						  : "unordered, depending on the history with ");
		put_places(out, why_all[entry] ? why_all[entry] : why_any[entry], raced);
	} else if (!why_any[entry]) {
		base_buf_puts(out, "nothing conflicts with it");
	} else {
		base_buf_puts(out, "ordered: ");
		put_places(out, why_any[entry], ordered);
	}
}

static const struct hirace_correction *correction_of(uint32_t entry)
{
	for (uint32_t i = 0; i < HIRACE_CORRECTIONS; i++) {
		const struct hirace_correction *c = &hirace_corrections[i];

		if (hirace_entry(c->state, c->access, c->sync, c->relation) == entry)
			return c;
	}
	return NULL;
}

static void put_row(struct base_buf *out, enum hirace_variant variant, uint32_t entry)
{
	uint32_t state = entry >> 6, e = hirace_table(variant)[entry], next = e & HIRACE_NEXT;
	const struct hirace_correction *c = correction_of(entry);

	base_buf_printf(out, "  %-2s %s %s  %-12s %c  ", hirace_access_name(entry >> 4 & 3),
			hirace_sync_name(entry >> 2 & 3), hirace_relation_name(entry & 3),
			hirace_state_name(next), e & HIRACE_KEEP ? '=' : ' ');
	if (c && variant == HIRACE_PUBLISHED)
		base_buf_printf(out, "wrong: %s", c->counterexample);
	else
		put_reason(out, state, entry, next);
	if (c && variant == HIRACE_CORRECTED)
		base_buf_printf(out, " (published: %s; %s)", hirace_state_name(c->published),
				c->counterexample);
	base_buf_puts(out, "\n");
}

/* Calls put for each entry in the published order. */
static void each_entry(struct base_buf *out, enum hirace_variant variant, uint32_t state,
		       void (*put)(struct base_buf *, enum hirace_variant, uint32_t))
{
	for (uint32_t a = 0; a < HIRACE_ACCESSES; a++)
		for (uint32_t y = 0; y < HIRACE_SYNCS; y++)
			for (uint32_t r = 0; r < HIRACE_RELATIONS; r++)
				put(out, variant, hirace_entry(state, a, y, r));
}

static void put_csv(struct base_buf *out, enum hirace_variant variant, uint32_t entry)
{
	uint32_t next = hirace_table(variant)[entry] & HIRACE_NEXT;

	base_buf_printf(out, "%s,%s,%s,%s,%s\n", hirace_access_name(entry >> 4 & 3),
			hirace_sync_name(entry >> 2 & 3), hirace_relation_name(entry & 3),
			hirace_state_name(entry >> 6), hirace_state_name(next));
}

void hirace_print_csv(struct base_buf *out, enum hirace_variant variant)
{
	base_buf_puts(out, "access,sync,relation,state,next_state\n");
	for (uint32_t s = 0; s < HIRACE_STATES; s++)
		each_entry(out, variant, s, put_csv);
}

void hirace_print_table(struct base_buf *out, enum hirace_variant variant)
{
	base_buf_printf(
		out,
		"HiRace's machine, %s: %u states, %u transitions.\n"
		"access: R read, W write, BA and GA atomic of block and device scope\n"
		"sync, since the word was written: U nothing, W __syncwarp, B __syncthreads\n"
		"relation to the thread in the word: S the same, W another lane of its warp, B "
		"another warp of its\n  block, G another block\n"
		"then the next state, = where the word can stay as it is (no later verdict "
		"changes), and the reason\n",
		variant == HIRACE_CORRECTED ? "corrected" : "as published", HIRACE_STATES,
		HIRACE_TRANSITIONS);
	if (variant == HIRACE_CORRECTED)
		base_buf_printf(
			out,
			"From %u histories of 2 blocks of 2 warps of 2 lanes, of any length; "
			"%u of the states\n  differ in what they make of the future.\n",
			HIRACE_TABLE_HISTORIES, HIRACE_TABLE_DISTINCT);
	for (uint32_t s = 0; s < HIRACE_STATES; s++) {
		base_buf_printf(out, "\n%s\n  %s\n", hirace_state_name(s),
				hirace_state_histories(s));
		each_entry(out, variant, s, put_row);
	}
}
