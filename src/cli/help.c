/*
 * help.c - collider help: everything comes from options.def through optdoc.c.
 */
#include "cli/cli.h"

int cli_help(struct option_set *set)
{
	struct base_buf out = {0};

	if (option_flag(set, OPTION_MAN) && !set->args.n) {
		option_doc_man(&out, COLLIDER_VERSION);
	} else if (option_text(set, OPTION_COMPLETION)) {
		option_doc_completion(&out, (enum option_shell)option_int(set, OPTION_COMPLETION));
	} else if (option_flag(set, OPTION_MARKDOWN)) {
		option_doc_markdown(&out);
	} else if (set->args.n == 0) {
		option_doc_overview(&out, COLLIDER_VERSION);
	} else if (set->args.n == 1) {
		int cmd = option_find_cmd(set->args.v[0]);
		if (cmd < 0) {
			base_say("error: there is no command '%s' (collider help lists them)",
				 set->args.v[0]);
			return BASE_EXIT_USAGE;
		}
		if (option_flag(set, OPTION_MAN))
			option_doc_man_cmd(&out, (enum option_cmd)cmd, COLLIDER_VERSION);
		else
			option_doc_cmd(&out, (enum option_cmd)cmd);
	} else {
		base_say("error: help explains one command at a time");
		return BASE_EXIT_USAGE;
	}
	int rc = cli_print(&out);
	base_buf_free(&out);
	return rc;
}
