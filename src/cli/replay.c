/*
 * replay.c - --replay: from an earlier report to what detectors that can replay it read.
 */
#include "cli/cli.h"
#include "race/detector.h"
#include "race/site/replay.h"
#include "report/report.h"

int cli_replay_check(struct option_set *set)
{
	unsigned able = race_detectors_with(RACE_REPLAYS);
	char names[RACE_DETECTORS_TEXT];

	if (!option_text(set, OPTION_REPLAY))
		return 0;
	race_detectors_text(able, names, sizeof(names));
	if (option_source(set, OPTION_DETECTOR) == OPTION_FROM_DEFAULT)
		option_put(set, OPTION_DETECTOR, base_strdup(&set->arena, names));
	if (option_list(set, OPTION_DETECTOR) & able)
		return 0;
	base_say("error: --replay works with detector %s (--detector=%s)", names, names);
	return BASE_EXIT_USAGE;
}

int cli_replay_read(const struct option_set *set, struct base_buf *out, struct base_sink *sink)
{
	const char *path = option_text(set, OPTION_REPLAY);
	struct race_results r = {0};
	int rc = 0;

	if (!path)
		return 0;
	rc = rep_json_read(path, &r, sink);
	if (!rc && !race_replay_make(out, &r)) {
		base_report(sink, BASE_ERROR, path, (struct base_span){1, 1},
			    "found a report of %zu findings, none with a line of GPU code, "
			    "expected at least one",
			    r.findings.n);
		rc = BASE_EXIT_INPUT;
	}
	if (!rc && out->n >= RACE_REPLAY_MAX) {
		base_report(sink, BASE_ERROR, path, (struct base_span){1, 1},
			    "found places of %zu bytes, expected at most %u", out->n,
			    RACE_REPLAY_MAX);
		rc = BASE_EXIT_INPUT;
	}
	race_results_free(&r);
	return rc;
}
