/*
 * optdoc.c - the rows of options.def as text: help, manual page, docs/options.md.
 *
 * Three renderers over the same rows, so that none of them can lag behind the
 * parser. The manual page uses only the man(7) macros, which groff and mandoc
 * both know.
 */
#include "base/option.h"

#include <ctype.h>
#include <string.h>

#define WIDTH	    78 /* of the help on a terminal */
#define HELP_INDENT 28

struct doc_var {
	const char *name, *text;
};

struct doc_status {
	int value;
	const char *text;
};

/* clang-format off */
static const struct doc_var vars[] = {
#define VAR(name, text) {name, text},
#include "base/options.def"
};

static const struct doc_status statuses[] = {
#define STATUS(value, text) {value, text},
#include "base/options.def"
};
/* clang-format on */

/* "-o, --output=FILE" */
static void put_spelling(struct base_buf *out, const struct option_row *row)
{
	if (row->letter)
		base_buf_printf(out, "-%c, ", row->letter);
	base_buf_printf(out, "--%s", row->name);
	if (row->arg[0])
		base_buf_printf(out, "=%s", row->arg);
}

/* Does the help name a default? Not for flags, and not where 0 or nothing means "off". */
static bool has_default(const struct option_row *row)
{
	return row->preset && strcmp(row->preset, "0") != 0;
}

/* Fills lines up to WIDTH, after `indent` spaces; the first line starts at column `at`. */
static void put_filled(struct base_buf *out, const char *text, size_t at, size_t indent)
{
	size_t col = at;

	while (*text) {
		size_t n = strcspn(text, " ");
		bool is_first = col <= indent;

		if (!is_first && col + 1 + n > WIDTH) {
			base_buf_puts(out, "\n");
			col = 0;
			is_first = true;
		}
		if (is_first)
			for (; col < indent; col++)
				base_buf_puts(out, " ");
		else
			base_buf_puts(out, " "), col++;
		base_buf_put(out, text, n);
		col += n;
		text += n;
		text += strspn(text, " ");
	}
	base_buf_puts(out, "\n");
}

void option_doc_overview(struct base_buf *out, const char *version)
{
	base_buf_printf(out,
			"Collider %s finds data races in CUDA programs.\n\n"
			"Usage: collider COMMAND [OPTIONS] [ARGUMENTS]\n\n"
			"Commands:\n",
			version);
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		base_buf_printf(out, "  %-11s %s\n", option_cmd_rows[i].name,
				option_cmd_rows[i].help);
	base_buf_puts(out, "\n`collider help COMMAND` lists a command's options; "
			   "`collider --version` prints the version.\n"
			   "A first try:\n"
			   "  collider nvcc -o app app.cu && collider run ./app\n");
}

static void put_examples(struct base_buf *out, const char *examples, const char *before)
{
	while (*examples) {
		size_t n = strcspn(examples, "\n");

		base_buf_printf(out, "%s%.*s\n", before, (int)n, examples);
		examples += n + (examples[n] == '\n');
	}
}

/* The groups of `collider run`: titles, and a bit for each option. */
struct doc_group {
	const char *title;
	bool has[OPTION_COUNT];
};

static const struct doc_group groups[] = {
#define IN(id)		      [OPTION_##id] = true,
#define GROUP(title, options) {title, {options}},
#include "base/groups.def"
#undef IN
};

static void put_option(struct base_buf *out, const struct option_row *row)
{
	struct base_buf text = {0};
	size_t start;

	base_buf_puts(out, row->letter ? "  " : "      ");
	start = out->n - (row->letter ? 2 : 6);
	put_spelling(out, row);
	size_t col = out->n - start;
	if (col + 2 > HELP_INDENT) {
		base_buf_puts(out, "\n");
		col = 0;
	}
	base_buf_puts(&text, row->help);
	if (has_default(row))
		base_buf_printf(&text, " (%s)", row->preset);
	base_buf_put(&text, "", 1);
	put_filled(out, text.p, col, HELP_INDENT);
	base_buf_free(&text);
}

/* The command's options that are in the group; NULL: all. */
static void put_options(struct base_buf *out, enum option_cmd cmd, const struct doc_group *group)
{
	bool is_first = true;

	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!option_belongs((enum option_id)i, cmd) || (group && !group->has[i]))
			continue;
		if (is_first)
			base_buf_printf(out, "\n%s:\n", group ? group->title : "Options");
		is_first = false;
		put_option(out, &option_rows[i]);
	}
}

void option_doc_cmd(struct base_buf *out, enum option_cmd cmd)
{
	const struct option_cmd_row *c = &option_cmd_rows[cmd];

	base_buf_printf(out, "Usage: collider %s%s%s\n\n", c->name, *c->usage ? " " : "", c->usage);
	put_filled(out, c->more, 0, 0);
	if (cmd != OPTION_CMD_RUN)
		put_options(out, cmd, NULL);
	for (size_t i = 0; cmd == OPTION_CMD_RUN && i < BASE_COUNTOF(groups); i++)
		put_options(out, cmd, &groups[i]);
	base_buf_puts(out, "\nExamples:\n");
	put_examples(out, c->examples, "  ");
}

/* ---- the manual page --------------------------------------------------------------------- */

/* Text for roff: a backslash, a hyphen and a leading dot or quote are special there. */
static void put_roff(struct base_buf *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		base_buf_puts(out, "\\&");
	for (; *text; text++) {
		if (*text == '\\')
			base_buf_puts(out, "\\e");
		else if (*text == '-')
			base_buf_puts(out, "\\-");
		else if (*text == '|') /* a long choice may end a line here */
			base_buf_puts(out, "|\\:");
		else
			base_buf_put(out, text, 1);
		if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
			base_buf_puts(out, "\\&");
	}
}

static void put_roff_line(struct base_buf *out, const char *text)
{
	put_roff(out, text);
	base_buf_puts(out, "\n");
}

static void put_roff_options(struct base_buf *out, enum option_cmd cmd)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		struct base_buf spelled = {0};

		if (!option_belongs((enum option_id)i, cmd))
			continue;
		put_spelling(&spelled, row);
		base_buf_put(&spelled, "", 1);
		base_buf_puts(out, ".TP\n.B ");
		put_roff(out, spelled.p);
		base_buf_free(&spelled);
		base_buf_puts(out, "\n");
		put_roff(out, row->help);
		if (has_default(row)) {
			base_buf_puts(out, " (default: ");
			put_roff(out, row->preset);
			base_buf_puts(out, ")");
		}
		base_buf_puts(out, ".\n");
		if (row->more[0])
			put_roff_line(out, row->more);
	}
}

static void put_roff_cmd(struct base_buf *out, enum option_cmd cmd)
{
	const struct option_cmd_row *c = &option_cmd_rows[cmd];

	base_buf_printf(out, ".SS collider %s ", c->name);
	put_roff_line(out, c->usage);
	put_roff_line(out, c->more);
	put_roff_options(out, cmd);
}

static void put_roff_head(struct base_buf *out, const char *title, const char *version)
{
	base_buf_printf(out, ".TH %s 1 \"\" \"collider %s\" \"User Commands\"\n", title, version);
	/* Long choices stand alone on their line: nothing to adjust. */
	base_buf_puts(out, ".ad l\n");
}

void option_doc_man_cmd(struct base_buf *out, enum option_cmd cmd, const char *version)
{
	const struct option_cmd_row *c = &option_cmd_rows[cmd];
	char title[64];
	int n = snprintf(title, sizeof(title), "COLLIDER\\-%s", c->name);

	for (int i = 0; i < n && i < (int)sizeof(title); i++)
		title[i] = (char)toupper((unsigned char)title[i]);
	put_roff_head(out, title, version);
	base_buf_printf(out, ".SH NAME\ncollider\\-%s \\- ", c->name);
	put_roff(out, c->help);
	base_buf_printf(out, "\n.SH SYNOPSIS\n.B collider %s\n", c->name);
	put_roff(out, c->usage);
	base_buf_puts(out, "\n.SH DESCRIPTION\n");
	put_roff(out, c->more);
	base_buf_puts(out, "\n.SH OPTIONS\n");
	put_roff_options(out, cmd);
	base_buf_puts(out, ".SH EXAMPLES\n.nf\n");
	put_roff(out, c->examples);
	base_buf_puts(out, ".fi\n.SH SEE ALSO\n.BR collider (1)\n");
}

void option_doc_man(struct base_buf *out, const char *version)
{
	put_roff_head(out, "COLLIDER", version);
	base_buf_puts(out,
		      ".SH NAME\ncollider \\- find data races in CUDA programs\n.SH SYNOPSIS\n");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++) {
		base_buf_printf(out, ".B collider %s\n", option_cmd_rows[i].name);
		put_roff(out, option_cmd_rows[i].usage);
		base_buf_puts(out, "\n.br\n");
	}
	base_buf_puts(out, ".SH DESCRIPTION\nCompile the program with\n.BR \"collider nvcc\" ,\n"
			   "run it with\n.BR \"collider run\" ,\nand read where its threads race.\n"
			   ".SH COMMANDS\n");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		put_roff_cmd(out, (enum option_cmd)i);
	base_buf_puts(out, ".SH ENVIRONMENT\n");
	for (size_t i = 0; i < BASE_COUNTOF(vars); i++) {
		base_buf_printf(out, ".TP\n.B %s\n", vars[i].name);
		put_roff_line(out, vars[i].text);
	}
	base_buf_puts(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < BASE_COUNTOF(statuses); i++) {
		base_buf_printf(out, ".TP\n.B %d\n", statuses[i].value);
		put_roff_line(out, statuses[i].text);
	}
	base_buf_puts(out, ".SH EXAMPLES\n.nf\n");
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		put_roff(out, option_cmd_rows[i].examples);
	base_buf_puts(out, ".fi\n.SH SEE ALSO\n.BR nvcc (1),\n.BR compute\\-sanitizer (1)\n");
}

/* ---- docs/options.md ------------------------------------------------------------------------- */

void option_doc_markdown(struct base_buf *out)
{
	base_buf_puts(out, "# Commands and options\n\n"
			   "Made from `src/base/options.def` by `collider help --markdown`; "
			   "a test compares the two.\n");
	for (int c = 0; c < OPTION_CMD_SHOWN; c++) {
		const struct option_cmd_row *cmd = &option_cmd_rows[c];

		base_buf_printf(out, "\n## collider %s\n\n    collider %s %s\n\n", cmd->name,
				cmd->name, cmd->usage);
		put_filled(out, cmd->more, 0, 0);
		base_buf_puts(out, "\n");
		bool has_options = false;
		for (int i = 0; i < OPTION_COUNT; i++) {
			const struct option_row *row = &option_rows[i];

			if (!option_belongs((enum option_id)i, (enum option_cmd)c))
				continue;
			has_options = true;
			struct base_buf text = {0};
			base_buf_puts(&text, "- `");
			put_spelling(&text, row);
			base_buf_printf(&text, "`: %s", row->help);
			if (has_default(row))
				base_buf_printf(&text, " (default: `%s`)", row->preset);
			base_buf_printf(&text, ".%s%s", row->more[0] ? " " : "", row->more);
			base_buf_put(&text, "", 1);
			/* The bullet hangs out of the indent. */
			base_buf_puts(out, "- ");
			put_filled(out, text.p + 2, 2, 2);
			base_buf_free(&text);
		}
		base_buf_puts(out, has_options ? "\nExamples:\n\n" : "Examples:\n\n");
		put_examples(out, cmd->examples, "    ");
	}
	base_buf_puts(out, "\n## Environment\n\n");
	for (size_t i = 0; i < BASE_COUNTOF(vars); i++)
		base_buf_printf(out, "- `%s`: %s\n", vars[i].name, vars[i].text);
	base_buf_puts(out, "\n## Exit codes\n\n");
	for (size_t i = 0; i < BASE_COUNTOF(statuses); i++)
		base_buf_printf(out, "- `%d`: %s\n", statuses[i].value, statuses[i].text);
	base_buf_puts(out, "\n[exit-codes.md](exit-codes.md) says more about them.\n");
}
