/*
 * tally.c - what was judged of a program that runs, kernel by kernel, as lines for the report.
 *
 * What a judge beside a program leaves out is no gap of the program's own checks: lines say how
 * many blocks of how many launches were judged, and why it stopped.
 */
#include "base/table.h"
#include "judge/internal.h"
#include "race/file/shm_write.h"
#include "race/file/pair.h"
#include "race/race.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS 160 /* of a kernel's name, in lines */

struct judge_tally {
	char *kernel;
	uint64_t launches, trials, blocks, of; /* blocks: the most of one launch, which has `of` */
	uint64_t accesses, ns;
	char why[400]; /* of the last that ended early, or "" */
	struct judge_compared compared;
	bool is_by_order;
	UT_hash_handle hh;
};

void judge_tally_add(struct judge_tally **all, const char *kernel,
		     const struct race_judge_done *done, uint64_t accesses, const char *why)
{
	struct judge_tally *t;

	HASH_FIND_STR(*all, kernel, t);
	if (!t) {
		t = base_calloc(1, sizeof(*t));
		t->kernel = strdup(kernel);
		HASH_ADD_KEYPTR(hh, *all, t->kernel, strlen(t->kernel), t);
	}
	t->launches += done->trials != 0;
	t->trials += done->trials;
	t->ns += done->ns;
	t->accesses += accesses;
	if (done->end == JUDGE_WHOLE || done->end == JUDGE_WAITS || done->end == JUDGE_LATE)
		if (done->blocks > t->blocks || !t->of) {
			t->blocks = done->blocks;
			t->of = done->of;
		}
	if (*why)
		snprintf(t->why, sizeof(t->why), "%s", why);
}

/* A launch that differs says more than one that doesn't. */
void judge_tally_compared(struct judge_tally *all, const char *kernel,
			  const struct judge_compared *c, bool is_by_order)
{
	struct judge_tally *t;

	HASH_FIND_STR(all, kernel, t);
	if (!t)
		return;
	bool is_more = c->differ - c->close > t->compared.differ - t->compared.close ||
		       c->differ > t->compared.differ;
	if (t->compared.bytes && !is_more)
		return;
	t->compared = *c;
	t->is_by_order = is_by_order;
}

bool judge_tally_has(struct judge_tally *all, const char *kernel)
{
	struct judge_tally *t = NULL;

	if (kernel)
		HASH_FIND_STR(all, kernel, t);
	return t && t->of;
}

/* Short enough that what is said of it fits into the line after it. */
static const char *name_of(struct base_arena *a, const struct judge_tally *t)
{
	const char *name = race_short_name(a, race_demangle(a, t->kernel));

	return strlen(name) > NAME_CHARS ? base_printf(a, "%.*s...", NAME_CHARS, name) : name;
}

static void say(struct base_arena *a, const struct judge_tally *t)
{
	const char *name = name_of(a, t);

	if (!t->of) {
		race_shm_remark("not judged beside the GPU: %s: %s", name,
				*t->why ? t->why : "nothing was tried");
		return;
	}
	race_shm_remark("judged beside the GPU: %s: %" PRIu64 " of %" PRIu64 " blocks, %" PRIu64
			" launch%s, %" PRIu64 " schedules, %.2f s%s%s",
			name, t->blocks, t->of, t->launches, t->launches == 1 ? "" : "es",
			t->trials, 1e-9 * (double)t->ns, *t->why ? "; " : "", t->why);
}

/* For the report's gaps of that kernel. */
static void note(const struct judge_tally *t)
{
	const struct race_beside_kernel k = {t->blocks, t->of};

	if (t->blocks)
		race_shm_chunk(RACE_CHUNK_BESIDE_KERNEL, 0, &k, sizeof(k), t->kernel,
			       strlen(t->kernel) + 1);
}

static void say_compared(struct base_arena *a, const struct judge_tally *t)
{
	const struct judge_compared *c = &t->compared;
	const char *name = name_of(a, t);

	if (!c->bytes)
		return;
	if (!c->differ) {
		race_shm_remark("compared with the GPU: %s: %" PRIu64 " bytes, all alike", name,
				c->bytes);
		return;
	}
	race_shm_remark("compared with the GPU: %s: %" PRIu64 " of %" PRIu64
			" words differ%s; at 0x%" PRIx64 " there is 0x%08x, and 0x%08x here",
			name, c->differ, c->bytes / 4,
			c->differ == c->close ? ", as an order of floating point may"
			: t->is_by_order      ? ", in each schedule otherwise"
					      : "",
			c->at, c->there, c->here);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void judge_tally_say(struct judge_tally **all, uint64_t *held, size_t n)
{
	struct base_arena a = {0};
	struct race_beside all_of_them = {0};
	struct judge_tally *t, *next;

	HASH_ITER(hh, *all, t, next)
	{
		say(&a, t);
		note(t);
		say_compared(&a, t);
		all_of_them.accesses += t->accesses;
		all_of_them.launches += t->accesses ? t->launches : 0;
		HASH_DEL(*all, t);
		free(t->kernel);
		free(t);
	}
	if (n) {
		qsort(held, n, sizeof(*held), by_number);
		race_shm_remark("launching threads were held up to copy memory for the judge: %.2f "
				"ms in the median, %.2f ms at most (%zu launch%s)",
				1e-6 * (double)held[n / 2], 1e-6 * (double)held[n - 1], n,
				n == 1 ? "" : "es");
	}
	if (all_of_them.launches)
		race_shm_chunk(RACE_CHUNK_BESIDE, 0, &all_of_them, sizeof(all_of_them), NULL, 0);
	base_arena_free(&a);
}
