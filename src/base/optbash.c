/*
 * optbash.c - the rows of options.def as a completion for bash: commands, their options, and the
 * choices of an option.
 *
 * What has no choices is completed as a file name, by bash itself.
 */
#include "base/option.h"

#include <string.h>

static bool has_choices(const struct option_row *row)
{
	return row->type == OPTION_TYPE_ENUM || row->type == OPTION_TYPE_LIST;
}

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

static void put_choices(struct base_buf *out, const struct option_row *row)
{
	base_buf_printf(out, "\t--%s) words='", row->name);
	for (const char *c = row->arg; *c; c++)
		base_buf_put(out, strchr("|,", *c) ? " " : c, 1);
	base_buf_puts(out, "' ;;\n");
}

void option_doc_bash(struct base_buf *out)
{
	base_buf_puts(out,
		      "# Completion of collider for bash, made by `collider help --completion`.\n"
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
