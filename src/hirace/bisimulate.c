/*
 * bisimulate.c - which updates of the shadow word can change no later verdict.
 *
 * Algorithm 1 stores the accessor's number at every access, so a word that all threads read is
 * written by all of them. But what a word of state BREAD makes of the future doesn't depend on
 * which reader of the block it names. Two words are *bisimilar* if every sequence of accesses and
 * barriers leads both into RACE, or neither. A word is a state, a thread and what has synchronised
 * since; the coarsest bisimulation of all words (two blocks of two warps of two lanes) is found by
 * refining a partition until nothing splits (Moore). An update from a word to a bisimilar one can
 * be left out.
 *
 * Where clocks of different warps or blocks are compared, Algorithm 1 may find any label that they
 * can give, so all are followed. Costs: 600 words, some ten rounds, at build time only.
 */
#include "hirace/bisimulate.h"
#include "hirace/define.h"

#include <string.h>

#define WORDS  (HIRACE_STATES * HIRACE_THREADS * HIRACE_SYNCS)
#define EVENTS (HIRACE_THREADS * HIRACE_ACCESSES * HIRACE_SYNCS + HIRACE_WARPS + HIRACE_BLOCKS)

struct word {
	uint32_t state, thread, sync;
};

static uint32_t number(struct word w)
{
	return (w.state * HIRACE_THREADS + w.thread) * HIRACE_SYNCS + w.sync;
}

static struct word word_of(uint32_t n)
{
	return (struct word){n / HIRACE_SYNCS / HIRACE_THREADS, n / HIRACE_SYNCS % HIRACE_THREADS,
			     n % HIRACE_SYNCS};
}

static uint32_t relation(uint32_t a, uint32_t b)
{
	if (a == b)
		return HIRACE_SELF;
	return a / 2 == b / 2 ? HIRACE_WARP : a / 4 == b / 4 ? HIRACE_BLOCK : HIRACE_GRID;
}

/* Can an access with this relation to the word's thread find this label? */
static bool is_possible(uint32_t label, uint32_t sync, uint32_t rel)
{
	if (rel == HIRACE_GRID)
		return true;
	if (rel == HIRACE_BLOCK)
		return (label == HIRACE_SYNC_B) == (sync == HIRACE_SYNC_B);
	return label == sync;
}

static uint32_t access_class(const uint8_t *table, const uint16_t *class_of, struct word w,
			     uint32_t thread, uint32_t access, uint32_t label)
{
	uint32_t rel = relation(w.thread, thread);
	struct word next = {0, thread, HIRACE_SYNC_U};

	/* A label that can't be found stands for the one that can. */
	if (!is_possible(label, w.sync, rel))
		label = w.sync;
	next.state = table[hirace_entry(w.state, access, label, rel)] & HIRACE_NEXT;
	return class_of[number(next)];
}

/* The classes of a word's successors, after its own. */
static void sign(const uint8_t *table, const uint16_t *class_of, uint32_t n, uint16_t *out)
{
	struct word w = word_of(n), next;

	*out++ = class_of[n];
	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		for (uint32_t a = 0; a < HIRACE_ACCESSES; a++)
			for (uint32_t l = 0; l < HIRACE_SYNCS; l++)
				*out++ = (uint16_t)access_class(table, class_of, w, t, a, l);
	for (uint32_t i = 0; i < HIRACE_WARPS; i++) {
		next = w;
		if (i == w.thread / 2 && w.sync == HIRACE_SYNC_U)
			next.sync = HIRACE_SYNC_W;
		*out++ = class_of[number(next)];
	}
	for (uint32_t i = 0; i < HIRACE_BLOCKS; i++) {
		next = w;
		if (i == w.thread / 4)
			next.sync = HIRACE_SYNC_B;
		*out++ = class_of[number(next)];
	}
}

/* One round: words of one class with different signatures part. Returns the number of classes. */
static uint32_t refine(const uint8_t *table, uint16_t *class_of)
{
	static uint16_t signature[WORDS][EVENTS + 1];
	static uint16_t next[WORDS];
	uint32_t classes = 0;

	for (uint32_t n = 0; n < WORDS; n++) {
		uint32_t m = 0;

		sign(table, class_of, n, signature[n]);
		while (m < n && memcmp(signature[m], signature[n], sizeof(signature[n])))
			m++;
		next[n] = m < n ? next[m] : (uint16_t)classes++;
	}
	memcpy(class_of, next, sizeof(next));
	return classes;
}

static bool can_keep(const uint16_t *class_of, uint32_t state, uint32_t next, uint32_t label,
		     uint32_t rel)
{
	for (uint32_t n = 0; n < HIRACE_THREADS * HIRACE_SYNCS; n++) {
		struct word w = word_of(state * HIRACE_THREADS * HIRACE_SYNCS + n);

		for (uint32_t t = 0; t < HIRACE_THREADS; t++) {
			struct word to = {next, t, HIRACE_SYNC_U};

			if (relation(w.thread, t) == rel && is_possible(label, w.sync, rel) &&
			    class_of[number(w)] != class_of[number(to)])
				return false;
		}
	}
	return true;
}

uint32_t hirace_bisimulate(uint8_t *table)
{
	static uint16_t class_of[WORDS];
	uint32_t classes = 2, before, distinct = 0;

	for (uint32_t n = 0; n < WORDS; n++)
		class_of[n] = word_of(n).state == HIRACE_RACE;
	do {
		before = classes;
		classes = refine(table, class_of);
	} while (classes != before);

	for (uint32_t s = 0; s < HIRACE_STATES; s++) {
		uint32_t m = 0;
		struct word w = {s, 0, HIRACE_SYNC_U}, o = {0, 0, HIRACE_SYNC_U};

		for (o.state = 0; o.state < s; o.state++)
			m += class_of[number(o)] == class_of[number(w)];
		distinct += !m;
		for (uint32_t i = 0; i < 64; i++) {
			uint8_t *e = &table[s << 6 | i];

			if ((i >> 2 & 3) < HIRACE_SYNCS &&
			    can_keep(class_of, s, *e & HIRACE_NEXT, i >> 2 & 3, i & 3))
				*e |= HIRACE_KEEP;
		}
	}
	return distinct;
}
