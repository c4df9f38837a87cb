/*
 * hirace.c - collider hirace: the state machine of the detector of that name, printed.
 */
#include "cli/cli.h"
#include "hirace/hirace.h"

int cli_hirace(struct option_set *set)
{
	enum hirace_variant variant = HIRACE_CORRECTED;
	struct base_buf out = {0};

	if (set->args.n || !option_flag(set, OPTION_TABLE)) {
		base_say("error: hirace takes --table, and no arguments");
		return BASE_EXIT_USAGE;
	}
	if (option_is(set, OPTION_HIRACE, "published"))
		variant = HIRACE_PUBLISHED;
	if (option_flag(set, OPTION_CSV))
		hirace_print_csv(&out, variant);
	else
		hirace_print_table(&out, variant);
	int rc = cli_print(&out);
	base_buf_free(&out);
	return rc;
}
