/*
 * sort.c - what is nearly in order, by numbers.
 *
 * Lists of a word's accesses are what was sorted last, and after it what has come since, mostly
 * warp by warp: a few runs in order, which are merged. Stable. Costs: a comparison for each number
 * and for each halving of the runs.
 */
#include "oracle/shadow.h"

#define SHORT 8u /* runs are made as long as this, by insertion */

static inline bool is_above(const struct oracle_key *a, const struct oracle_key *b)
{
	return a->high != b->high ? a->high > b->high : a->low > b->low;
}

/* The end of the run that begins at `from`. */
static uint32_t run_end(struct oracle_key *v, uint32_t from, uint32_t n)
{
	uint32_t end = from + 1, least = n - from < SHORT ? n : from + SHORT;

	while (end < n && !is_above(&v[end - 1], &v[end]))
		end++;
	for (; end < least; end++) {
		struct oracle_key key = v[end];
		uint32_t at = end;
		for (; at > from && is_above(&v[at - 1], &key); at--)
			v[at] = v[at - 1];
		v[at] = key;
	}
	return end;
}

/* The run from `b` up to `end` is merged into the one before it, from `a` on. */
static void merge(struct oracle_key *v, struct oracle_key *left, uint32_t a, uint32_t b,
		  uint32_t end)
{
	uint32_t n = 0, at = 0;

	while (a < b && !is_above(&v[a], &v[b]))
		a++;
	memcpy(left, &v[a], (b - a) * sizeof(v[0]));
	for (n = b - a; at < n && b < end; a++) {
		bool is_right = is_above(&left[at], &v[b]);
		v[a] = is_right ? v[b] : left[at];
		b += is_right;
		at += !is_right;
	}
	memcpy(&v[a], &left[at], (n - at) * sizeof(v[0]));
}

void oracle_sort(struct oracle_key *v, uint32_t n)
{
	/* Where runs begin: each is twice as long as the next one at least. */
	uint32_t first[33], runs = 0;
	struct oracle_key *left = NULL;

	for (uint32_t end = 0; end < n || runs > 1;) {
		if (end < n) {
			first[runs++] = end;
			end = run_end(v, end, n);
		}
		while (runs > 1 && (end == n || (first[runs - 1] - first[runs - 2]) / 2 <
							end - first[runs - 1])) {
			left = left ? left : base_malloc(n * sizeof(v[0]));
			merge(v, left, first[runs - 2], first[runs - 1], end);
			runs--;
		}
	}
	free(left);
}
