/*
 * optcomplete.c - the rows of options.def as a completion for bash, zsh and fish: commands, their
 * options, and the choices of an option.
 *
 * What has no choices is completed as a file name.
 */
#include "base/option.h"

#include <string.h>

static bool has_choices(const struct option_row *row)
{
	return row->type == OPTION_TYPE_ENUM || row->type == OPTION_TYPE_LIST;
}

/* ---- bash --------------------------------------------------------------------------------- */

/* "	run) words='--device= --quiet' ;;": no space follows where a value does. */
static void put_options(struct base_buf *out, enum option_cmd cmd)
{
	base_buf_printf(out, "\t%s) words='", option_cmd_rows[cmd].name);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_belongs((enum option_id)i, cmd))
			base_buf_printf(out, "--%s%s ", option_rows[i].name,
					option_rows[i].arg[0] ? "=" : "");
	base_buf_puts(out, "' ;;\n");
}

/* The choices of an option, with spaces between. */
static void put_words(struct base_buf *out, const struct option_row *row)
{
	for (const char *c = row->arg; *c; c++)
		base_buf_put(out, strchr("|,", *c) ? " " : c, 1);
}

/* "	--device) words='auto gpu cpu' ;;" */
static void put_choices(struct base_buf *out, const struct option_row *row)
{
	base_buf_printf(out, "\t--%s) words='", row->name);
	put_words(out, row);
	base_buf_puts(out, "' ;;\n");
}

static void put_bash(struct base_buf *out)
{
	base_buf_puts(
		out,
		"# Completion of collider for bash, made by `collider help --completion=bash`.\n"
		"_collider() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
		"\tlocal before=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tif [ \"$cur\" = = ]; then\n"
		"\t\tcur=\n"
		"\telif [ \"$before\" = = ]; then\n"
		"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
		"\tfi\n"
		"\tcase $before in\n");
	for (int i = 0; i < OPTION_COUNT; i++)
		if (has_choices(&option_rows[i]))
			put_choices(out, &option_rows[i]);
	base_buf_puts(
		out,
		"\tesac\n\t[ \"$words\" ] || case $COMP_CWORD,${COMP_WORDS[1]} in\n\t1,*) words='");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		base_buf_printf(out, "%s ", option_cmd_rows[i].name);
	base_buf_puts(
		out,
		"' ;;\n\tesac\n\t[ \"$words\" ] || [[ $cur != -* ]] || case ${COMP_WORDS[1]} in\n");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		put_options(out, (enum option_cmd)i);
	base_buf_puts(out, "\tesac\n"
			   "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			   "\t[[ ${COMPREPLY-} != *= ]] || compopt -o nospace\n"
			   "}\n"
			   "complete -o default -F _collider collider\n");
}

/* ---- zsh ---------------------------------------------------------------------------------- */

/* Within '...': a quote ends it, and _arguments takes a colon and brackets for its own. */
static void put_zsh_text(struct base_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			base_buf_puts(out, "'\\''");
		else
			base_buf_printf(out, "%s%c", strchr(":[]\\", *text) ? "\\" : "", *text);
	}
}

/* "	'--device=[where kernels run]:value:(auto gpu cpu)' \" */
static void put_zsh_option(struct base_buf *out, const struct option_row *row)
{
	base_buf_printf(out, "\t\t\t'--%s%s[", row->name, row->arg[0] ? "=" : "");
	put_zsh_text(out, row->help);
	base_buf_puts(out, "]");
	if (has_choices(row)) {
		base_buf_puts(out, ":value:(");
		put_words(out, row);
		base_buf_puts(out, ")");
	} else if (row->arg[0]) {
		base_buf_puts(out, ":value:_files");
	}
	base_buf_puts(out, "' \\\n");
}

static void put_zsh(struct base_buf *out)
{
	base_buf_puts(
		out, "#compdef collider\n"
		     "# Completion of collider for zsh, made by `collider help --completion=zsh`.\n"
		     "_collider() {\n"
		     "\tlocal -a commands\n"
		     "\tcommands=(\n");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++) {
		base_buf_printf(out, "\t\t'%s:", option_cmd_rows[i].name);
		put_zsh_text(out, option_cmd_rows[i].help);
		base_buf_puts(out, "'\n");
	}
	base_buf_puts(out, "\t)\n"
			   "\tif ((CURRENT == 2)); then\n"
			   "\t\t_describe command commands\n"
			   "\t\treturn\n"
			   "\tfi\n"
			   "\tlocal command=$words[2]\n"
			   "\tshift words\n"
			   "\t((CURRENT--))\n"
			   "\tcase $command in\n");
	for (int c = 0; c < OPTION_CMD_SHOWN; c++) {
		base_buf_printf(out, "\t%s)\n\t\t_arguments \\\n", option_cmd_rows[c].name);
		for (int i = 0; i < OPTION_COUNT; i++)
			if (option_belongs((enum option_id)i, (enum option_cmd)c))
				put_zsh_option(out, &option_rows[i]);
		base_buf_puts(out, "\t\t\t'*:file:_files' ;;\n");
	}
	base_buf_puts(out, "\tesac\n}\n"
			   "if [ \"$funcstack[1]\" = _collider ]; then _collider \"$@\"; "
			   "else compdef _collider collider; fi\n");
}

/* ---- fish --------------------------------------------------------------------------------- */

/* Within '...' fish knows two escapes: of the quote and of the backslash. */
static void put_fish_text(struct base_buf *out, const char *text)
{
	for (; *text; text++)
		base_buf_printf(out, "%s%c", strchr("'\\", *text) ? "\\" : "", *text);
}

static void put_fish(struct base_buf *out)
{
	base_buf_puts(
		out,
		"# Completion of collider for fish, made by `collider help --completion=fish`.\n");
	for (int c = 0; c < OPTION_CMD_SHOWN; c++) {
		base_buf_printf(out, "complete -c collider -f -n __fish_use_subcommand -a %s -d '",
				option_cmd_rows[c].name);
		put_fish_text(out, option_cmd_rows[c].help);
		base_buf_puts(out, "'\n");
	}
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		struct base_buf commands = {0};

		for (int c = 0; c < OPTION_CMD_SHOWN; c++)
			if (option_belongs((enum option_id)i, (enum option_cmd)c))
				base_buf_printf(&commands, " %s", option_cmd_rows[c].name);
		if (commands.n) {
			base_buf_printf(
				out,
				"complete -c collider -n '__fish_seen_subcommand_from%s' -l %s",
				commands.p, row->name);
			if (has_choices(row)) {
				base_buf_puts(out, " -x -a '");
				put_words(out, row);
				base_buf_puts(out, "'");
			} else if (row->arg[0]) {
				base_buf_puts(out, " -r");
			}
			base_buf_puts(out, " -d '");
			put_fish_text(out, row->help);
			base_buf_puts(out, "'\n");
		}
		base_buf_free(&commands);
	}
}

void option_doc_completion(struct base_buf *out, enum option_shell shell)
{
	static void (*const put[])(struct base_buf *) = {
		[OPTION_SHELL_BASH] = put_bash,
		[OPTION_SHELL_ZSH] = put_zsh,
		[OPTION_SHELL_FISH] = put_fish,
	};

	put[shell](out);
}
