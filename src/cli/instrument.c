/*
 * instrument.c - collider instrument: one PTX text in, one out, nothing on errors.
 */
#include "cli/cli.h"
#include "instrument/instrument.h"

#include <stdlib.h>
#include <string.h>

static void say_stats(const char *file, const struct inst_stats *st)
{
	if (st->already)
		base_say("%s: carries Collider's marker already, written as it was", file);
	if (st->too_old)
		base_say("%s: its target is below sm_70, written as it was (--raise-target)", file);
}

static void say_counts(const char *file, const struct inst_stats *st)
{
	base_say("%s: %u kernels, %u functions; %u sites in %u groups, %u of them speculated; "
		 "skipped: %u private, %u dead, %u undisturbed, %u strong, %u unsupported, "
		 "%u unknown",
		 file, st->kernels, st->functions, st->sites, st->groups, st->speculated,
		 st->skipped_private, st->skipped_dead, st->undisturbed, st->strong,
		 st->unsupported, st->unknown);
	if (st->left_out)
		base_say("%s: left out by name: %u kernels and functions with %u loads and stores",
			 file, st->left_out, st->left_out_accesses);
}

/* Prints the text back unchanged, or without the checks in it: --sanitize=none, --strip. */
static int print_back(const char *file, const char *text, size_t size, bool is_stripped,
		      bool is_dumped, struct base_buf *out, struct base_sink *sink)
{
	struct base_arena arena = {0};
	struct ptx_module *m = ptx_parse(&arena, file, text, size, sink);
	bool is_bad = !m || sink->errors || (is_stripped && !inst_strip(m, sink));

	if (!is_bad)
		ptx_print(m, out);
	if (!is_bad && is_dumped)
		fwrite(out->p, 1, out->n, stderr);
	base_arena_free(&arena);
	return is_bad ? BASE_EXIT_INPUT : 0;
}

int cli_instrument(struct option_set *set)
{
	struct inst_options opt = {
		.sanitize = option_list(set, OPTION_SANITIZE),
		.dump = (enum inst_pass)option_int(set, OPTION_DUMP),
	};
	const char *to = option_text(set, OPTION_OUTPUT);
	struct inst_stats stats = {0};
	struct base_sink sink = {0};
	struct base_arena arena = {0};
	struct base_buf out = {0};
	char *text = NULL;
	size_t size = 0;
	int rc, err;

	if (set->args.n != 1) {
		base_say("error: instrument takes one PTX file, found %zu", set->args.n);
		return BASE_EXIT_USAGE;
	}
	const char *from = set->args.v[0];
	const char *name = strcmp(from, "-") ? from : "<stdin>";
	err = base_read_file(from, &text, &size);
	if (err) {
		base_say("error: %s: %s", name, base_file_error(err));
		return BASE_EXIT_INPUT;
	}
	inst_options_read(&opt, set, &arena);
	bool is_stripped = option_flag(set, OPTION_STRIP);
	bool is_plain = is_stripped || !opt.sanitize;
	if (is_plain)
		rc = print_back(name, text, size, is_stripped,
				is_stripped && opt.dump == INST_PASS_STRIP, &out, &sink);
	else
		rc = inst_text(name, text, size, &opt, &out, &stats, &sink);
	cli_flush(&sink);
	if (!rc) {
		say_stats(name, &stats);
		if (option_flag(set, OPTION_STATS) && !is_plain)
			say_counts(name, &stats);
		err = base_write_file(to, out.p, out.n);
		if (err) {
			base_say("error: %s: %s", to, base_file_error(err));
			rc = BASE_EXIT_INPUT;
		}
	}
	base_buf_free(&out);
	base_arena_free(&arena);
	free(text);
	return rc;
}
