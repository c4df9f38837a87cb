/*
 * holds.c - the words for --shuffle-streams: which launches were held back, and which never are.
 */
#include "report/internal.h"

void rep_holds(struct base_buf *out, struct rep_view *v)
{
	static const char *const reasons[RACE_HOLD_SKIPS] = {
		[RACE_HOLD_NULL_STREAM] = "on the legacy default stream, which others wait for",
		[RACE_HOLD_CAPTURED] = "written into a graph",
		[RACE_HOLD_PROGRAMMATIC] = "may begin before what comes before has ended",
		[RACE_HOLD_REFUSED] = "refused by the driver",
	};
	const struct race_holds *h = &v->r->holds;
	struct base_arena *a = &v->arena;

	if (h->held || h->passed)
		base_buf_printf(out,
				"  %s held back for another order of streams, %s not "
				"(--shuffle-streams)\n",
				rep_count(a, h->held, "launch"), rep_number(a, h->passed));
	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		if (h->skipped[i])
			base_buf_printf(out, "  %s never held back: %s\n",
					rep_count(a, h->skipped[i], "launch"), reasons[i]);
}
