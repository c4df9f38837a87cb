/*
 * interval.c - in memory that one block has for itself, a word from before its last barrier is as
 * good as one that nobody has accessed.
 *
 * Words are a state, a thread and what has synchronised since, in one block of two warps of two
 * lanes. Two are alike if every sequence of accesses and barriers leads both into RACE, or neither
 * (the coarsest such relation, by refining until nothing splits). Whatever a word was, an access
 * behind a barrier of the block must leave one that is alike to what the first access of a word
 * leaves. RACE stays, and GREAD and GATOM-G are of two blocks. In global memory this doesn't hold:
 * a thread of another block may race with what came before the barrier and not with what came
 * behind it.
 */
#include "hirace/hirace.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4u
#define WORDS	(HIRACE_STATES * THREADS * HIRACE_SYNCS)
#define EVENTS	(THREADS * HIRACE_ACCESSES * HIRACE_SYNCS + 3u)

struct word {
	uint32_t state, thread, sync;
};

static const uint8_t *table;
static uint16_t class_of[WORDS];

static uint32_t number(struct word w)
{
	return (w.state * THREADS + w.thread) * HIRACE_SYNCS + w.sync;
}

static struct word word_of(uint32_t n)
{
	return (struct word){n / HIRACE_SYNCS / THREADS, n / HIRACE_SYNCS % THREADS,
			     n % HIRACE_SYNCS};
}

/* Of another warp only the block's clock is compared, so SYNC_U and SYNC_W look alike. */
static struct word next_of(struct word w, uint32_t thread, uint32_t access, uint32_t label)
{
	uint32_t relation = w.thread == thread		 ? HIRACE_SELF
			    : w.thread / 2 == thread / 2 ? HIRACE_WARP
							 : HIRACE_BLOCK;

	if (relation != HIRACE_BLOCK || w.sync == HIRACE_SYNC_B || label == HIRACE_SYNC_B)
		label = w.sync;
	return (struct word){table[hirace_entry(w.state, access, label, relation)] & HIRACE_NEXT,
			     thread, HIRACE_SYNC_U};
}

static void sign(uint32_t n, uint16_t *out)
{
	struct word w = word_of(n), next;

	*out++ = class_of[n];
	for (uint32_t i = 0; i < THREADS * HIRACE_ACCESSES * HIRACE_SYNCS; i++) {
		next = next_of(w, i / 12, i / 3 % 4, i % 3);
		*out++ = class_of[number(next)];
	}
	for (uint32_t i = 0; i < 3; i++) {
		next = w;
		if (i == 2)
			next.sync = HIRACE_SYNC_B;
		else if (i == w.thread / 2 && w.sync == HIRACE_SYNC_U)
			next.sync = HIRACE_SYNC_W;
		*out++ = class_of[number(next)];
	}
}

static uint32_t refine(void)
{
	static uint16_t signature[WORDS][EVENTS + 1], next[WORDS];
	uint32_t classes = 0;

	for (uint32_t n = 0; n < WORDS; n++) {
		uint32_t m = 0;

		sign(n, signature[n]);
		while (m < n && memcmp(signature[m], signature[n], sizeof(signature[n])))
			m++;
		next[n] = m < n ? next[m] : (uint16_t)classes++;
	}
	memcpy(class_of, next, sizeof(next));
	return classes;
}

int main(void)
{
	uint32_t classes = 2, before, wrong = 0, right = 0;

	table = hirace_table(HIRACE_CORRECTED);
	for (uint32_t n = 0; n < WORDS; n++)
		class_of[n] = word_of(n).state == HIRACE_RACE;
	do {
		before = classes;
		classes = refine();
	} while (classes != before);
	for (uint32_t n = 0; n < WORDS; n++) {
		struct word w = word_of(n);

		if (w.sync != HIRACE_SYNC_B || w.state == HIRACE_RACE || w.state == HIRACE_GREAD ||
		    w.state == HIRACE_GATOM_G)
			continue;
		for (uint32_t i = 0; i < THREADS * HIRACE_ACCESSES; i++) {
			struct word none = {HIRACE_INIT, i / 4, HIRACE_SYNC_U};
			struct word to = next_of(w, i / 4, i % 4, HIRACE_SYNC_B);
			struct word first = next_of(none, i / 4, i % 4, HIRACE_SYNC_U);
			bool is_alike = class_of[number(to)] == class_of[number(first)];

			wrong += !is_alike;
			right += is_alike;
		}
	}
	printf("%u classes; behind a barrier %u steps as from nothing, %u not\n", classes, right,
	       wrong);
	return wrong != 0 || right == 0;
}
