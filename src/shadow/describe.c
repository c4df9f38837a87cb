/*
 * describe.c - the tables as text: `collider hirace --table`.
 *
 * The reasons are the generator's: of all histories that a state stands for, it noted what the
 * access races with, and what would conflict but is ordered before it.
 */
#include "shadow/shadow.h"

#include "shadow/hirace_table.h"

#include <string.h>

static const uint16_t why_all[SHADOW_TABLE_SIZE] = SHADOW_TABLE_WHY_ALL;
static const uint16_t why_any[SHADOW_TABLE_SIZE] = SHADOW_TABLE_WHY_ANY;

/* The kinds of a set: "W", "R, W". */
static void put_kinds(struct base_buf *out, uint32_t kinds)
{
	const char *before = "";

	for (uint32_t k = 0; k < SHADOW_ACCESSES; k++) {
		if (!(kinds >> k & 1))
			continue;
		base_buf_printf(out, "%s%s", before, shadow_access_name(k));
		before = ", ";
	}
}

static void put_places(struct base_buf *out, uint32_t why, const char *const places[4])
{
	const char *before = "";

	for (uint32_t r = 0; r < SHADOW_RELATIONS; r++) {
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
	static const char *const ordered[] = {"of its own", "behind a __syncwarp",
					      "behind a __syncthreads", ""};

	if (state == SHADOW_INIT) {
		base_buf_puts(out, "the first access");
	} else if (state == SHADOW_RACE) {
		base_buf_puts(out, "a race stays one");
	} else if (next == SHADOW_RACE) {
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

static const struct shadow_correction *correction_of(uint32_t entry)
{
	for (uint32_t i = 0; i < SHADOW_CORRECTIONS; i++) {
		const struct shadow_correction *c = &shadow_corrections[i];

		if (shadow_entry(c->state, c->access, c->sync, c->relation) == entry)
			return c;
	}
	return NULL;
}

static void put_row(struct base_buf *out, enum shadow_variant variant, uint32_t entry)
{
	uint32_t state = entry >> 6, e = shadow_table(variant)[entry], next = e & SHADOW_NEXT;
	const struct shadow_correction *c = correction_of(entry);

	base_buf_printf(out, "  %-2s %s %s  %-12s %c  ", shadow_access_name(entry >> 4 & 3),
			shadow_sync_name(entry >> 2 & 3), shadow_relation_name(entry & 3),
			shadow_state_name(next), e & SHADOW_KEEP ? '=' : ' ');
	if (c && variant == SHADOW_PUBLISHED)
		base_buf_printf(out, "wrong: %s", c->counterexample);
	else
		put_reason(out, state, entry, next);
	if (c && variant == SHADOW_CORRECTED)
		base_buf_printf(out, " (published: %s; %s)", shadow_state_name(c->published),
				c->counterexample);
	base_buf_puts(out, "\n");
}

/* Calls put for each entry in the published order. */
static void each_entry(struct base_buf *out, enum shadow_variant variant, uint32_t state,
		       void (*put)(struct base_buf *, enum shadow_variant, uint32_t))
{
	for (uint32_t a = 0; a < SHADOW_ACCESSES; a++)
		for (uint32_t y = 0; y < SHADOW_SYNCS; y++)
			for (uint32_t r = 0; r < SHADOW_RELATIONS; r++)
				put(out, variant, shadow_entry(state, a, y, r));
}

static void put_csv(struct base_buf *out, enum shadow_variant variant, uint32_t entry)
{
	uint32_t next = shadow_table(variant)[entry] & SHADOW_NEXT;

	base_buf_printf(out, "%s,%s,%s,%s,%s\n", shadow_access_name(entry >> 4 & 3),
			shadow_sync_name(entry >> 2 & 3), shadow_relation_name(entry & 3),
			shadow_state_name(entry >> 6), shadow_state_name(next));
}

void shadow_print_csv(struct base_buf *out, enum shadow_variant variant)
{
	base_buf_puts(out, "access,sync,relation,state,next_state\n");
	for (uint32_t s = 0; s < SHADOW_STATES; s++)
		each_entry(out, variant, s, put_csv);
}

void shadow_print_table(struct base_buf *out, enum shadow_variant variant)
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
		variant == SHADOW_CORRECTED ? "corrected" : "as published", SHADOW_STATES,
		SHADOW_TRANSITIONS);
	if (variant == SHADOW_CORRECTED)
		base_buf_printf(
			out,
			"From %u histories of 2 blocks of 2 warps of 2 lanes, of any length; "
			"%u of the states\n  differ in what they make of the future.\n",
			SHADOW_TABLE_HISTORIES, SHADOW_TABLE_DISTINCT);
	for (uint32_t s = 0; s < SHADOW_STATES; s++) {
		base_buf_printf(out, "\n%s\n  %s\n", shadow_state_name(s),
				shadow_state_histories(s));
		each_entry(out, variant, s, put_row);
	}
}
