/*
 * brief.c - a run's findings as a line each, for stores of many runs (src/history): those that its
 * report shows by default, once each.
 */
#include "report/form.h"

#include <string.h>

size_t rep_briefs(struct base_arena *a, const struct race_results *r, struct rep_brief **out)
{
	const struct rep_options plain = {0};
	struct rep_view v;
	struct rep_form form;
	size_t n = 0;

	rep_view_make(&v, r, &plain);
	rep_form_of_view(&form, &v);
	struct rep_brief *all = BASE_NEWN(a, struct rep_brief, form.items.n + 1);
	for (size_t i = 0; i < form.items.n; i++) {
		const struct rep_form_item *it = &form.items.v[i];
		const char *place = rep_form_place(&form.arena, &it->side[0], false);
		if (*it->ignored)
			continue;
		all[n].print = it->print;
		all[n].is_race = it->level == REP_FORM_ERROR;
		all[n].rule = base_strdup(a, it->rule);
		all[n++].line = *place ? base_printf(a, "%s: %s", place, it->line)
				       : base_strdup(a, it->line);
	}
	rep_form_free(&form);
	rep_view_free(&v);
	*out = all;
	return n;
}
