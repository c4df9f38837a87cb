/*
 * rows.h - a __syncwarp of a whole warp's rows (race/layout/lanes.h), for tests on the host.
 */
#ifndef COLLIDER_TESTS_HIRACE_RULES_ROWS_H
#define COLLIDER_TESTS_HIRACE_RULES_ROWS_H

#include "race/layout/lanes.h"

/* The rows of the warp's first n lanes. */
static inline void rows_sync(struct race_lane *rows, uint32_t n, uint32_t mask)
{
	struct race_lane all = {{0}, 0, 0};
	uint32_t next = 0;

	for (uint32_t i = 0; i < n; i++)
		if (next <= rows[i].seen[i])
			next = rows[i].seen[i] + 1u;
	for (uint32_t i = 0; i < n && mask == (1u << n) - 1u; i++)
		race_lane_begin(&rows[i], next);
	if (mask == (1u << n) - 1u)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (mask >> i & 1) {
			race_lane_arrive(&rows[i], i);
			race_lane_join(&all, &rows[i]);
		}
	for (uint32_t i = 0; i < n; i++)
		if (mask >> i & 1)
			race_lane_join(&rows[i], &all);
}

#endif
