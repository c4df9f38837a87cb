/*
 * image.c - may the blocks of a loaded image be shuffled?
 *
 * Every function of the image must appear in a table of an object with Collider's marker: any other
 * may read the hardware's block id. Inlined functions leave no trace and need none. ptxas's own
 * helpers ($name, and names that contain its own) never read ids. Costs: a sort of 8 bytes per
 * function.
 */
#include "race/shuffle/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

void race_shuffle_table(struct race_shuffle_image *im, const void *table, size_t bytes)
{
	size_t n = bytes / 8;
	uint64_t flags;

	if (!n)
		return;
	memcpy(&flags, table, 8);
	im->flags |= flags;
	if (im->n + n > im->cap) {
		size_t cap = 2 * (im->n + n);
		uint64_t *grown = realloc(im->names, cap * sizeof(*grown));
		if (!grown) {
			im->is_foreign = true; /* no memory: the order stays */
			return;
		}
		im->names = grown;
		im->cap = cap;
	}
	memcpy(im->names + im->n, (const char *)table + 8, (n - 1) * 8);
	im->n += n - 1;
	im->is_sorted = false;
}

static int compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static bool has_prefix(const char *name, size_t n, const char *prefix)
{
	size_t m = strlen(prefix);

	return n >= m && memcmp(name, prefix, m) == 0;
}

void race_shuffle_function(struct race_shuffle_image *im, const char *name, size_t n)
{
	uint64_t hash = base_hash(name, n, BASE_FNV_INIT);

	if (!n || name[0] == '$' || has_prefix(name, n, "__collider_") ||
	    has_prefix(name, n, "__internal_") || has_prefix(name, n, "__cuda_sm"))
		return;
	if (!im->is_sorted && im->n)
		qsort(im->names, im->n, sizeof(*im->names), compare);
	im->is_sorted = true;
	if (!im->n || !bsearch(&hash, im->names, im->n, sizeof(*im->names), compare))
		im->is_foreign = true;
}

enum race_shuffle_verdict race_shuffle_judge(struct race_shuffle_image *im)
{
	int all = 0;
	bool may = race_shuffle_allowed(im->flags, &all) && !im->is_foreign;

	free(im->names);
	memset(im, 0, sizeof(*im));
	return !may ? RACE_SHUFFLE_KEEP : all ? RACE_SHUFFLE_WAITING : RACE_SHUFFLE_FREE;
}
