/*
 * exhaustive.c - iGUARD's rules against exact happens-before: all executions up to a length.
 *
 *	exhaustive DEPTH
 *
 * Four threads (two lanes of a warp, another warp of the block, another block) make weak reads and
 * writes and atomics of both scopes, whose results nobody uses, at one location; barriers of the
 * block and the warp. Only these order, so each access must be called a data race if it races,
 * and nothing if not. An execution is followed until it races. Happens-before is kept apart: for
 * each thread and kind of access the widest barrier since (of several accesses of one thread and
 * kind the last one stands for all: what is ordered after it is after the others). Prints the
 * executions judged wrongly, with the first of them, and fails if there is one.
 *
 * Costs, one core: length 5 half a second, each more 15 times that.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4u
#define KINDS	4u /* weak read, weak write, atomic of scope .cta, wider */
#define LONGEST 9u

static const uint32_t place[THREADS] = {0, 1, 32, 64};
static const uint32_t block_of[THREADS] = {0, 0, 0, 1}, warp_of[THREADS] = {0, 0, 1, 2};

enum age { NEVER, NOW, WARP, BLOCK };

struct run {
	struct iguard_entry entry;
	struct iguard_context context[3]; /* of the warps */
	uint8_t age[THREADS][KINDS];
};

static uint64_t contexts[IGUARD_CONTEXTS];
static uint64_t accesses, races, wrongs;
static char trace[LONGEST * 8 + 1];

static bool conflict(unsigned a, unsigned b, bool is_same_block)
{
	if (a >= 2 && b >= 2)
		return !is_same_block && (a == 2 || b == 2);
	return a || b;
}

static bool exact(const struct run *r, unsigned t, unsigned kind)
{
	for (unsigned u = 0; u < THREADS; u++)
		for (unsigned k = 0; k < KINDS; k++) {
			enum age age = (enum age)r->age[u][k];
			bool is_ordered = u == t || (warp_of[u] == warp_of[t] && age >= WARP) ||
					  (block_of[u] == block_of[t] && age == BLOCK);

			if (age != NEVER && !is_ordered &&
			    conflict(k, kind, block_of[u] == block_of[t]))
				return true;
		}
	return false;
}

static bool judged(struct run *r, unsigned t, unsigned kind)
{
	struct iguard_context own = r->context[warp_of[t]];
	struct iguard_actor me = {.thread = place[t],
				  .block_first = block_of[t] * 64,
				  .block_size = 64,
				  .context = iguard_intern(contexts, iguard_context_encode(own)),
				  .own = own,
				  .contexts = contexts};
	struct iguard_access a = {kind != 0, kind >= 2, kind == 2, 1, 1};

	return iguard_update_words(&r->entry, &me, &a).verdict == IGUARD_IS_RACE;
}

static void barrier(struct run *r, bool is_block)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < KINDS; k++) {
			bool is_in = is_block ? block_of[t] == 0 : warp_of[t] == 0;
			uint8_t age = is_block ? BLOCK : WARP;
			if (is_in && r->age[t][k] != NEVER && r->age[t][k] < age)
				r->age[t][k] = age;
		}
	if (!is_block) {
		r->context[0].warp_clock++;
		return;
	}
	for (unsigned w = 0; w < 2; w++) {
		r->context[w].block_clock++;
		r->context[w].warp_clock = 0;
	}
}

static void follow(const struct run *r, unsigned length, unsigned depth)
{
	static const char *const names[KINDS] = {"R", "W", "BA", "GA"};

	if (length == depth)
		return;
	for (unsigned i = 0; i < THREADS * KINDS; i++) {
		struct run to = *r;
		unsigned t = i / KINDS, kind = i % KINDS;
		bool is_race = exact(&to, t, kind), is_told = judged(&to, t, kind);
		char *end = trace + strlen(trace);

		accesses++;
		races += is_race;
		sprintf(end, "%u%s ", t, names[kind]);
		if (is_race != is_told && wrongs++ < 10)
			printf("%s: %s\n", trace, is_race ? "miss" : "false alarm");
		to.age[t][kind] = NOW;
		if (!is_race && !is_told)
			follow(&to, length + 1, depth);
		*end = 0;
	}
	for (unsigned b = 0; b < 2 && length; b++) {
		struct run to = *r;
		char *end = trace + strlen(trace);

		barrier(&to, b);
		strcat(end, b ? "B " : "w ");
		follow(&to, length + 1, depth);
		*end = 0;
	}
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	struct run start;

	if (!depth || depth > LONGEST) {
		fprintf(stderr, "usage: exhaustive DEPTH\n");
		return 2;
	}
	memset(&start, 0, sizeof(start));
	for (unsigned w = 0; w < 3; w++)
		start.context[w].launch = 1;
	follow(&start, 0, depth);
	printf("%llu accesses, %llu race, %llu wrong\n", (unsigned long long)accesses,
	       (unsigned long long)races, (unsigned long long)wrongs);
	return wrongs || !races;
}
