/*
 * json.c - the report as JSON lines, which is also the format it is saved in.
 *
 * One object per line (keys.c has their keys, docs/report-format.md is made from it): header,
 * findings, what was not checked, kernels, notes, summary last, so that a file without its summary
 * can be recognised as incomplete. 64-bit values that need every bit (addresses, hashes, values)
 * are hexadecimal strings; counts are numbers, exact below 2^53. Ignored findings are written too,
 * marked, and matched against the rules again when read.
 */
#include "report/keys.h"

#define EACH_PUT(out, list, object)                                                                \
	for (size_t i = 0; i < (list).n; i++)                                                      \
	rep_line_put(out, &rep_##object##_object, &(list).v[i])

void rep_json(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;

	rep_prints_make(v);
	rep_line_put(out, &rep_header_object, r);
	EACH_PUT(out, v->entries, finding);
	EACH_PUT(out, r->stops, fault);
	EACH_PUT(out, r->skips, unchecked);
	EACH_PUT(out, r->kernels, kernel);
	EACH_PUT(out, r->gaps, gap);
	EACH_PUT(out, r->plain, plain);
	EACH_PUT(out, r->notes, note);
	rep_line_put(out, &rep_summary_object, v);
}
