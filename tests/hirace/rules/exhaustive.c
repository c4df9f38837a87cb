/*
 * exhaustive.c - a table of HiRace's machine against exact happens-before, all executions up to a
 * length.
 *
 *	exhaustive corrected|published|corrections DEPTH [ALARMS MISSES]...
 *
 * Executions are sequences of accesses (R, W, BA, GA by 8 threads: 2 blocks of 2 warps of 2 lanes)
 * and barriers of a block or a warp, that begin with an access of thread 0. One is followed until
 * it races or the table is wrong. Happens-before is computed from the accesses and clocks, and the
 * table is asked as Algorithm 1 asks it, clocks of other warps and blocks included; nothing is
 * shared with the generator. Executions that leave the same word and the same accesses behind,
 * ordered alike, are followed together, with their number. ALARMS and MISSES are those of each
 * length that must come out, 0 where none are given. `corrections` puts each of corrections.def
 * back alone: the counterexample there must show it, and no shorter execution.
 *
 * Costs, one core: length 7 a second, 8 seven seconds.
 */
#include "frontier.h"
#include "hirace/hirace.h"

#define THREADS 8u
#define LONGEST 9u

/* What is left of an execution. `age` has two bits for each thread and kind: none, no barrier
 * since, the warp's, the block's. Clocks count barriers; those in the word are the accessor's. */
struct run {
	uint64_t age;
	uint8_t block_clock[2], warp_clock[4];
	uint8_t state, thread, word_block, word_warp;
};

static const uint8_t *table;
static uint64_t alarms[LONGEST + 1], misses[LONGEST + 1];

static unsigned age_of(const struct run *r, unsigned thread, unsigned kind)
{
	return r->age >> (thread * 4 + kind) * 2 & 3;
}

static bool is_conflict(unsigned a, unsigned b, bool is_same_block)
{
	bool is_both_atomic = a >= HIRACE_BA && b >= HIRACE_BA;

	if (is_both_atomic)
		return !is_same_block && !(a == HIRACE_GA && b == HIRACE_GA);
	return a != HIRACE_R || b != HIRACE_R;
}

/* Exact: does the access race with any before? */
static bool is_race(const struct run *r, unsigned thread, unsigned kind)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < 4; k++) {
			unsigned age = age_of(r, t, k);
			bool is_ordered = t == thread || (t / 2 == thread / 2 && age >= 2) ||
					  (t / 4 == thread / 4 && age == 3);

			if (age && !is_ordered && is_conflict(k, kind, t / 4 == thread / 4))
				return true;
		}
	return false;
}

static unsigned lookup(const struct run *r, unsigned thread, unsigned kind)
{
	unsigned relation = HIRACE_GRID, sync = HIRACE_SYNC_U;

	if (r->thread == thread)
		relation = HIRACE_SELF;
	else if (r->thread / 2 == thread / 2)
		relation = HIRACE_WARP;
	else if (r->thread / 4 == thread / 4)
		relation = HIRACE_BLOCK;
	if (r->block_clock[thread / 4] != r->word_block)
		sync = HIRACE_SYNC_B;
	else if (r->warp_clock[thread / 2] != r->word_warp)
		sync = HIRACE_SYNC_W;
	return table[hirace_entry(r->state, kind, sync, relation)] & HIRACE_NEXT;
}

enum verdict { GOES_ON, RACES, ALARM, MISS };

static enum verdict do_access(struct run *r, unsigned thread, unsigned kind)
{
	bool is_racy = is_race(r, thread, kind);
	unsigned next = lookup(r, thread, kind);

	if (is_racy != (next == HIRACE_RACE))
		return is_racy ? MISS : ALARM;
	if (is_racy)
		return RACES;
	r->age &= ~(3ull << (thread * 4 + kind) * 2);
	r->age |= 1ull << (thread * 4 + kind) * 2;
	r->state = (uint8_t)next;
	r->thread = (uint8_t)thread;
	r->word_block = r->block_clock[thread / 4];
	r->word_warp = r->warp_clock[thread / 2];
	return GOES_ON;
}

static void do_barrier(struct run *r, unsigned first, unsigned lanes, unsigned age)
{
	for (unsigned i = first * 4; i < (first + lanes) * 4; i++)
		if ((r->age >> i * 2 & 3) && (r->age >> i * 2 & 3) < age)
			r->age = (r->age & ~(3ull << i * 2)) | (uint64_t)age << i * 2;
	if (lanes == 4)
		r->block_clock[first / 4]++;
	else
		r->warp_clock[first / 2]++;
}

static void step(struct frontier *next, const struct run *r, uint64_t times, unsigned length)
{
	unsigned threads = length == 1 ? 1 : THREADS;

	for (unsigned i = 0; i < threads * 4; i++) {
		struct run to = *r;

		switch (do_access(&to, i / 4, i % 4)) {
		case GOES_ON:
			frontier_add(next, &to, times);
			break;
		case ALARM:
			alarms[length] += times;
			break;
		case MISS:
			misses[length] += times;
			break;
		case RACES:
			break;
		}
	}
	for (unsigned b = 0; b < 2 && length > 1; b++) {
		struct run to = *r;

		do_barrier(&to, b * 4, 4, 3);
		frontier_add(next, &to, times);
	}
	for (unsigned w = 0; w < 4 && length > 1; w++) {
		struct run to = *r;

		do_barrier(&to, w * 2, 2, 2);
		frontier_add(next, &to, times);
	}
}

static void explore(unsigned depth)
{
	struct frontier now = {.size = sizeof(struct run)}, next = now;
	struct run start = {0};

	memset(alarms, 0, sizeof(alarms));
	memset(misses, 0, sizeof(misses));
	frontier_add(&now, &start, 1);
	for (unsigned length = 1; length <= depth; length++) {
		for (size_t i = 0; i < now.n; i++)
			step(&next, (const struct run *)(const void *)now.items + i, now.times[i],
			     length);
		frontier_free(&now);
		now = next;
		next = (struct frontier){.size = now.size};
	}
	frontier_free(&now);
}

/* Runs "0 R, B, 2 BA: alarm". Returns the length if the last access, and no other, is judged so. */
static unsigned replay(const char *text)
{
	struct run r = {0};
	enum verdict v = GOES_ON;
	unsigned length = 0;

	for (const char *p = text; v == GOES_ON; p += strcspn(p, ",:"), p += *p == ',' ? 2 : 0) {
		unsigned kind = HIRACE_R;

		if (*p == ':' || !*p)
			return 0;
		length++;
		if (*p == 'B') {
			do_barrier(&r, 0, 4, 3);
		} else if (*p == 'W') {
			do_barrier(&r, 0, 2, 2);
		} else {
			while (strncmp(p + 2, hirace_access_name(kind), strcspn(p + 2, ",:")))
				kind++;
			v = do_access(&r, (unsigned)(*p - '0'), kind);
		}
		if (v != GOES_ON && p[strcspn(p, ",:")] != ':')
			return 0;
	}
	return strstr(text, v == ALARM ? ": alarm" : v == MISS ? ": miss" : "?") ? length : 0;
}

static int check_corrections(void)
{
	const uint8_t *corrected = hirace_table(HIRACE_CORRECTED);
	int failed = 0;

	for (unsigned i = 0; i < HIRACE_CORRECTIONS; i++) {
		const struct hirace_correction *c = &hirace_corrections[i];
		uint8_t one[HIRACE_TABLE_SIZE];
		unsigned length;
		uint64_t shorter = 0;

		memcpy(one, corrected, sizeof(one));
		one[hirace_entry(c->state, c->access, c->sync, c->relation)] = c->published;
		table = one;
		length = replay(c->counterexample);
		explore(length - 1);
		for (unsigned l = 1; length && l < length; l++)
			shorter += alarms[l] + misses[l];
		table = corrected;
		if (!length || shorter || replay(c->counterexample)) {
			printf("correction %u (%s): %s\n", i, c->counterexample,
			       shorter ? "a shorter execution shows it" : "does not show it");
			failed = 1;
		}
	}
	return failed;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	int failed = 0;

	if (depth < 1 || depth > LONGEST) {
		fprintf(stderr, "usage: exhaustive corrected|published|corrections DEPTH "
				"[ALARMS MISSES]...\n");
		return 2;
	}
	if (!strcmp(argv[1], "corrections"))
		return check_corrections();
	table = hirace_table(!strcmp(argv[1], "published") ? HIRACE_PUBLISHED : HIRACE_CORRECTED);
	explore(depth);
	for (unsigned l = 1; l <= depth; l++) {
		unsigned at = 1 + 2 * l;
		uint64_t a = (unsigned)argc > at ? strtoull(argv[at], NULL, 10) : 0;
		uint64_t m = (unsigned)argc > at + 1 ? strtoull(argv[at + 1], NULL, 10) : 0;

		printf("length %u: %llu false alarms, %llu misses\n", l,
		       (unsigned long long)alarms[l], (unsigned long long)misses[l]);
		failed |= alarms[l] != a || misses[l] != m;
	}
	return failed;
}
