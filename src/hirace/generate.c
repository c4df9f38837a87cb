/*
 * generate.c - writes the tables of HiRace's machine at build time: generate HEADER
 *
 * Runs through all histories of one location in a universe of two blocks of two warps of two lanes,
 * without a bound on their length: a history is kept as what later verdicts can depend on
 * (define.h), and there are finitely many of those. At every access it notes which transition
 * Algorithm 1 would look up, and which state the definition gives. Three things are proved on the
 * way, and the build fails if one doesn't hold:
 *
 *  - all histories of a state agree on the next one, so the table is a function;
 *  - the next state is RACE if and only if the access races in exact happens-before;
 *  - each of the 1,200 entries is reached (those of RACE, which leads to itself, apart).
 *
 * Thread clocks of different warps, and block clocks of different blocks, are unrelated: there,
 * every label that a comparison may give is followed. Writes beside each entry with what the access
 * races, or what is ordered before it, for `collider hirace --table`. Costs: 80,000 histories, half
 * a second.
 */
#include "hirace/bisimulate.h"
#include "hirace/define.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSET 0xff

/* A history whose last accessor is thread 0, what has synchronised since, and the word's state. */
struct node {
	struct hirace_history h;
	uint8_t sync, state;
};

static uint8_t table[HIRACE_TABLE_SIZE];
/* Entries of which some history isn't covered by the access. */
static bool is_uncovered[HIRACE_TABLE_SIZE];
/* The kinds of hirace_history_races() where the next state is RACE, else those of
 * hirace_history_ordered(): in every history of the entry, and in any. */
static uint16_t all[HIRACE_TABLE_SIZE], any[HIRACE_TABLE_SIZE];

static struct node *queue;
static size_t queued, room, *slots, nslots;

static void fail(const char *what, uint32_t state, uint32_t entry)
{
	fprintf(stderr, "generate: %s: state %u, access %u, sync %u, relation %u\n", what, state,
		entry >> 4 & 3, entry >> 2 & 3, entry & 3);
	exit(1);
}

static void *grow(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p) {
		fprintf(stderr, "generate: out of memory\n");
		exit(1);
	}
	return p;
}

static size_t hash(const struct node *n)
{
	const unsigned char *p = (const unsigned char *)n;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < sizeof(*n); i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return (size_t)(h ^ h >> 29);
}

static size_t *slot_of(const struct node *n)
{
	size_t i = hash(n) & (nslots - 1);

	while (slots[i] && memcmp(&queue[slots[i] - 1], n, sizeof(*n)))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static void push(const struct node *n)
{
	if (queued * 2 >= nslots) {
		nslots = nslots ? nslots * 2 : 1u << 16;
		free(slots);
		slots = calloc(nslots, sizeof(*slots));
		if (!slots)
			exit(1);
		room = nslots / 2 + 1;
		queue = grow(queue, room, sizeof(*queue));
		for (size_t i = 0; i < queued; i++)
			*slot_of(&queue[i]) = i + 1;
	}
	size_t *slot = slot_of(n);
	if (*slot)
		return;
	queue[queued++] = *n;
	*slot = queued;
}

/* Renumbers threads, warps and blocks so that `thread` becomes thread 0: relations stay. */
static struct hirace_history seen_from(const struct hirace_history *h, uint32_t thread)
{
	struct hirace_history r = {0};

	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		r.thread[t] = h->thread[t ^ thread];
	for (uint32_t w = 0; w < HIRACE_WARPS; w++)
		r.warp[w] = h->warp[w ^ thread / 2];
	for (uint32_t b = 0; b < HIRACE_BLOCKS; b++)
		r.block[b] = h->block[b ^ thread / 4];
	return r;
}

static void set(uint32_t entry, uint8_t next, uint32_t why)
{
	if (table[entry] != UNSET && table[entry] != next)
		fail("histories disagree on the next state", entry >> 6, entry);
	if (table[entry] == UNSET)
		all[entry] = 0xffff;
	table[entry] = next;
	all[entry] &= (uint16_t)why;
	any[entry] |= (uint16_t)why;
}

static uint32_t relation(uint32_t thread)
{
	return thread == 0   ? HIRACE_SELF
	       : thread == 1 ? HIRACE_WARP
	       : thread < 4  ? HIRACE_BLOCK
			     : HIRACE_GRID;
}

static void follow_access(const struct node *n, uint32_t thread, enum hirace_access access)
{
	uint32_t rel = relation(thread), races = hirace_history_races(&n->h, thread, access);
	struct node next = {.state = HIRACE_RACE};
	uint32_t why = races ? races : hirace_history_ordered(&n->h, thread, access);

	if (!races) {
		struct hirace_history h = n->h;

		hirace_history_access(&h, thread, access);
		next.state = (uint8_t)hirace_history_state(&h, thread, access);
		next.h = seen_from(&h, thread);
	}
	bool is_covered = !races && hirace_history_covers(&n->h, thread, access);
	for (uint32_t sync = 0; sync < HIRACE_SYNCS; sync++) {
		bool is_seen = sync == n->sync;

		if (n->state == HIRACE_INIT || rel == HIRACE_GRID)
			is_seen = true;
		else if (rel == HIRACE_BLOCK)
			is_seen = (sync == HIRACE_SYNC_B) == (n->sync == HIRACE_SYNC_B);
		if (!is_seen)
			continue;
		set(hirace_entry(n->state, access, sync, rel), next.state, why);
		is_uncovered[hirace_entry(n->state, access, sync, rel)] |= !is_covered;
	}
	if (!races)
		push(&next);
}

static void follow(struct node n)
{
	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		for (uint32_t a = 0; a < HIRACE_ACCESSES; a++)
			follow_access(&n, t, (enum hirace_access)a);
	for (uint32_t w = 0; w < HIRACE_WARPS && n.state != HIRACE_INIT; w++) {
		struct node next = n;

		hirace_history_sync_warp(&next.h, w);
		if (w == 0 && n.sync == HIRACE_SYNC_U)
			next.sync = HIRACE_SYNC_W;
		push(&next);
	}
	for (uint32_t b = 0; b < HIRACE_BLOCKS && n.state != HIRACE_INIT; b++) {
		struct node next = n;

		hirace_history_sync_block(&next.h, b);
		if (b == 0)
			next.sync = HIRACE_SYNC_B;
		push(&next);
	}
}

static void complete(void)
{
	for (uint32_t i = 0; i < HIRACE_TABLE_SIZE; i++) {
		if ((i >> 2 & 3) == HIRACE_SYNCS)
			table[i] = HIRACE_RACE | HIRACE_KEEP; /* no label; never looked up */
		else if (i >> 6 == HIRACE_RACE)
			table[i] = HIRACE_RACE;
		else if (table[i] == UNSET)
			fail("no history reaches an entry", i >> 6, i);
	}
}

static void print(FILE *out, const char *name, const char *type, uint32_t i_mask,
		  uint32_t (*value)(uint32_t))
{
	fprintf(out, "#define %s /* %s[%u] */ \\\n\t{", name, type, HIRACE_TABLE_SIZE);
	for (uint32_t i = 0; i < HIRACE_TABLE_SIZE; i++)
		fprintf(out, "%s%u", !i ? "" : i & i_mask ? "," : ", \\\n\t ", value(i));
	fprintf(out, "}\n\n");
}

static uint32_t table_at(uint32_t i)
{
	return table[i];
}

static uint32_t all_at(uint32_t i)
{
	return all[i];
}

static uint32_t any_at(uint32_t i)
{
	return any[i];
}

int main(int argc, char **argv)
{
	struct node start = {.state = HIRACE_INIT};
	uint32_t distinct;
	FILE *out;

	if (argc != 2) {
		fprintf(stderr, "usage: generate HEADER\n");
		return 2;
	}
	memset(table, UNSET, sizeof(table));
	push(&start);
	for (size_t i = 0; i < queued; i++)
		follow(queue[i]);
	complete();
	distinct = hirace_bisimulate(table);
	for (uint32_t i = 0; i < HIRACE_TABLE_SIZE; i++)
		if ((table[i] & HIRACE_NEXT) != HIRACE_RACE && !is_uncovered[i])
			table[i] |= HIRACE_COVERS;
	out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fprintf(out, "/* Made by hirace/generate.c from the definition in hirace/define.c. */\n\n");
	fprintf(out, "#define HIRACE_TABLE_HISTORIES %zu\n", queued);
	fprintf(out, "#define HIRACE_TABLE_DISTINCT %u\n\n", distinct);
	print(out, "HIRACE_TABLE_ENTRIES", "uint8_t", 15, table_at);
	print(out, "HIRACE_TABLE_WHY_ALL", "uint16_t", 15, all_at);
	print(out, "HIRACE_TABLE_WHY_ANY", "uint16_t", 15, any_at);
	if (fclose(out)) {
		perror(argv[1]);
		remove(argv[1]);
		return 1;
	}
	return 0;
}
