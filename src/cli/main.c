/*
 * main.c - the `collider` program: which command is meant, and its options.
 *
 * The command is the first word, or the name the program was called by
 * (collider-nvcc, and cicc and ptxas where nvcc finds us in the place of its
 * own). Everything about options is in base/options.def; the commands themselves are one file each
 * and contain no logic that belongs in a room.
 */
#include "cli/cli.h"
#include "prune/prune.h"
#include "toolchain/toolchain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_ENV "COLLIDER_OPTIONS"

void cli_flush(struct base_sink *sink)
{
	base_sink_print(sink, stderr);
	base_sink_free(sink);
}

int cli_print(struct base_buf *text)
{
	int err = base_write_file("-", text->p, text->n);

	if (!err)
		return 0;
	base_say("error: standard output: %s", strerror(err));
	return BASE_EXIT_ENV;
}

/* Parses the command's options and runs it; returns its exit code. */
static int run_command(enum option_cmd cmd, int argc, char **argv)
{
	static int (*const entry[OPTION_CMD_COUNT])(struct option_set *) = {
		[OPTION_CMD_RUN] = cli_run,	      [OPTION_CMD_JUDGE] = cli_judge,
		[OPTION_CMD_REPORT] = cli_report,     [OPTION_CMD_INSTRUMENT] = cli_instrument,
		[OPTION_CMD_PROVE] = cli_prove,	      [OPTION_CMD_HIRACE] = cli_hirace,
		[OPTION_CMD_SWEEP] = cli_sweep,	      [OPTION_CMD_REDUCE] = cli_reduce,
		[OPTION_CMD_SUPPRESS] = cli_suppress, [OPTION_CMD_DOCTOR] = cli_doctor,
		[OPTION_CMD_HISTORY] = cli_history,   [OPTION_CMD_HELP] = cli_help,
	};
	const char *env = getenv(OPTIONS_ENV);
	struct option_set set;
	struct base_sink sink = {0};
	int rc = 0;

	option_init(&set, cmd);
	if (env)
		rc = option_read_env(&set, OPTIONS_ENV, env, &sink);
	if (!rc)
		rc = option_parse(&set, argc, argv, &sink);
	cli_flush(&sink);
	if (!rc && option_flag(&set, OPTION_HELP) && cmd != OPTION_CMD_HELP) {
		struct base_buf out = {0};
		option_doc_cmd(&out, cmd);
		rc = cli_print(&out);
		base_buf_free(&out);
	} else if (!rc) {
		rc = entry[cmd](&set);
	}
	option_free(&set);
	return rc;
}

static int unknown_command(const char *word)
{
	const char *names[OPTION_CMD_SHOWN];

	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		names[i] = option_cmd_name((enum option_cmd)i);
	const char *near = option_nearest(word, names, OPTION_CMD_SHOWN);
	if (near)
		base_say("error: there is no command '%s' (did you mean collider %s?)", word, near);
	else
		base_say("error: there is no command '%s' (collider help lists them)", word);
	return BASE_EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		struct base_buf out = {0};
		option_doc_overview(&out, COLLIDER_VERSION);
		fwrite(out.p, 1, out.n, stderr);
		base_buf_free(&out);
		return BASE_EXIT_USAGE;
	}
	const char *word = argv[1];
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		struct base_buf out = {0};
		base_buf_puts(&out, "collider " COLLIDER_VERSION "\n");
		int rc = cli_print(&out);
		base_buf_free(&out);
		return rc;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return run_command(OPTION_CMD_HELP, argc - 2, argv + 2);
	if (word[0] == '-') {
		base_say("error: unknown option %s before a command (collider help lists them)",
			 word);
		return BASE_EXIT_USAGE;
	}
	int cmd = option_find_cmd(word);
	if (cmd < 0)
		return unknown_command(word);
	if (cmd == OPTION_CMD_NVCC)
		return tool_nvcc(argc - 1, argv + 1);
	if (cmd == OPTION_CMD_CC)
		return tool_cc(argc - 1, argv + 1);
	if (cmd == OPTION_CMD_CXX)
		return tool_cxx(argc - 1, argv + 1);
	if (cmd == OPTION_CMD_PTXAS)
		return tool_ptxas(argc - 1, argv + 1);
	return run_command((enum option_cmd)cmd, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	tool_main *tool = argc ? tool_by_name(argv[0]) : NULL;

	tool_set_prover(prune_find);
	if (argc && !strcmp(argv[0], "collider-prove-launch"))
		return cli_prove_launch(argc, argv);
	if (argc && !strcmp(argv[0], "collider-text"))
		return cli_recorded_text(argc, argv);
	if (argc && !strcmp(argv[0], "collider-sweep-worker"))
		return cli_sweep_worker(argc, argv);
	if (tool)
		return tool(argc, argv);
	return dispatch(argc, argv);
}
