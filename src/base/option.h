/*
 * option.h - options as a table: one row each in options.def, and no other place knows an option's
 * name, type, range, default or help.
 *
 * From the rows come the parser of command lines, the parser of the environment
 * variable COLLIDER_OPTIONS, `--help`, the manual page and docs/options.md.
 * The command line takes precedence over the environment, the environment over the default.
 * Of an option that is given twice the last value counts; values and assumptions of a proof add up.
 *
 * A *command* is a subcommand of `collider`. A *choice* is one of the words
 * that an ENUM option accepts.
 */
#ifndef COLLIDER_OPTION_H
#define COLLIDER_OPTION_H

#include "base/base.h"

/* One enumerator per CMD row: OPTION_CMD_RUN, ... Those without a name (OPTION_CMD_SHOWN and up)
 * are not commands for users, but lists of options that one of our programs passes to another. */
enum option_cmd {
#define CMD(id, ...) OPTION_CMD_##id,
#include "base/options.def"
	OPTION_CMD_COUNT,
	OPTION_CMD_SHOWN = OPTION_CMD_TOOL
};

/* One per OPT row: OPTION_RDELAY, ... */
enum option_id {
#define OPT(id, ...) OPTION_##id,
#include "base/options.def"
	OPTION_COUNT
};

enum option_type {
	OPTION_TYPE_FLAG,   /* no argument, or =yes|no; num is 0 or 1 */
	OPTION_TYPE_INT,    /* decimal or 0x; num, within lo..hi */
	OPTION_TYPE_ENUM,   /* one of the choices; num is its index */
	OPTION_TYPE_LIST,   /* choices joined by commas; num has a bit for each, in their order;
			     * the choice "none" must be alone and has no bit */
	OPTION_TYPE_BYTES,  /* decimal or 0x, with K, M or G; num, within lo..hi */
	OPTION_TYPE_STRING, /* any text */
	OPTION_TYPE_PATH,   /* a file name, not empty */
	OPTION_TYPE_SECONDS /* 10, 1.5, 500ms, 2m, 1h; num in milliseconds, lo..hi too */
};

/* How a command takes what is not an option. */
enum option_args {
	OPTION_ARGS_ANYWHERE, /* options and arguments mix; "--" ends the options */
	OPTION_ARGS_STOP,     /* the first argument ends the options: it has its own */
	OPTION_ARGS_PASS      /* unknown options are arguments too; ours need "=" */
};

enum option_source { OPTION_FROM_DEFAULT, OPTION_FROM_ENV, OPTION_FROM_ARGV };

struct option_value {
	const char *text; /* as given; NULL: no default and not given */
	int64_t num;	  /* meaning by type */
	enum option_source source;
};

/* The options of one command. Made by option_init, freed by option_free. */
struct option_set {
	enum option_cmd cmd;
	struct option_value v[OPTION_COUNT];
	BASE_VEC(char *) args; /* what is not an option; points into argv; ends in NULL */
	struct base_arena arena;
};

/* The command with this name, or -1. */
int option_find_cmd(const char *name);
const char *option_cmd_name(enum option_cmd cmd);
/* Is this option one of the command's? */
bool option_belongs(enum option_id id, enum option_cmd cmd);

/* All options at their defaults, no arguments. */
void option_init(struct option_set *s, enum option_cmd cmd);
void option_free(struct option_set *s);

/*
 * Reads "key=value:key=value", the content of the environment variable `var`.
 * A value that contains ':' is quoted: '...' or "...". A flag is key=1, key=0 or
 * the bare key. Keys of other commands are silently ignored, unknown ones get
 * a warning line each. Returns 0, or BASE_EXIT_USAGE for a wrong value of one
 * of the command's own options, with the error in `sink`.
 */
int option_read_env(struct option_set *s, const char *var, const char *text,
		    struct base_sink *sink);

/*
 * The same for a list that one of our own programs has written (option_encode): it may hold all
 * options of the set's command, and no others. Continues after an error; a wrong option keeps its
 * default. Returns 0 or BASE_EXIT_USAGE.
 */
int option_read_own(struct option_set *s, const char *var, const char *text,
		    struct base_sink *sink);
/* The options of `to` that the set's command has too and that have a value, for option_read_own;
 * lives as long as the set. */
char *option_encode(struct option_set *s, enum option_cmd to);
/* Appends ":name=value" to a list in the form that option_read_own reads. */
void option_encode_one(struct base_buf *out, enum option_id id, const char *value);

/* Sets one option as if the command line had it. Asserts that the value fits. */
void option_put(struct option_set *s, enum option_id id, const char *value);

/* Takes one word of a command line where values are joined by "=". 1: an option of the command,
 * set; 0: something else; -1: an option with a wrong value, in `sink`. */
int option_take(struct option_set *s, const char *word, struct base_sink *sink);

/*
 * Reads a command line, argv[0] being the first word after the command's
 * name. Takes --name=value, --name value, -x value and -xvalue. Returns 0, or
 * BASE_EXIT_USAGE with one error in `sink`. argv must outlive the set.
 */
int option_parse(struct option_set *s, int argc, char **argv, struct base_sink *sink);

/* ---- asking; the option must be of the type that the name says -------------- */

bool option_flag(const struct option_set *s, enum option_id id);
/* The bits of a LIST. */
unsigned option_list(const struct option_set *s, enum option_id id);
/* A number; for an ENUM the index of the choice. */
int64_t option_int(const struct option_set *s, enum option_id id);
/* The text as given or the default's, or NULL. */
const char *option_text(const struct option_set *s, enum option_id id);
/* Is the ENUM option set to this choice? Asserts that there is such a choice. */
bool option_is(const struct option_set *s, enum option_id id, const char *choice);
enum option_source option_source(const struct option_set *s, enum option_id id);

/* The name nearest to `word` among n names, or NULL when none is near. */
const char *option_nearest(const char *word, const char *const *names, size_t n);

/* ---- optdoc.c: the rows as text ---------------------------------------------- */

/* `collider help`: the list of commands. */
void option_doc_overview(struct base_buf *out, const char *version);
/* `collider help CMD`, `collider CMD --help`. */
void option_doc_cmd(struct base_buf *out, enum option_cmd cmd);
/* The manual page collider(1), roff with the man macros. */
void option_doc_man(struct base_buf *out, const char *version);
/* That of one command, collider-NAME(1). */
void option_doc_man_cmd(struct base_buf *out, enum option_cmd cmd, const char *version);
/* optcomplete.c; in the order of --completion's choices. */
enum option_shell { OPTION_SHELL_BASH, OPTION_SHELL_ZSH, OPTION_SHELL_FISH };
void option_doc_completion(struct base_buf *out, enum option_shell shell);
/* docs/options.md. */
void option_doc_markdown(struct base_buf *out);

/* ---- the rows, for option.c and optdoc.c --------------------------------------- */

struct option_row {
	const char *name; /* without "--" */
	char letter;	  /* short name, 0: none */
	enum option_type type;
	const char *arg;    /* "NS", or for ENUM the choices "a|b|c"; "" for FLAG */
	int64_t lo, hi;	    /* INT: range; SECONDS: in milliseconds */
	const char *preset; /* default, NULL: none */
	unsigned cmds;	    /* 1u << enum option_cmd */
	bool in_env;	    /* allowed in COLLIDER_OPTIONS */
	const char *help;   /* one line, no full stop */
	const char *more;   /* sentences for the manual, or "" */
};

struct option_cmd_row {
	const char *name, *usage;
	enum option_args args;
	const char *help, *more, *examples; /* examples: lines "command\n" */
};

extern const struct option_row option_rows[OPTION_COUNT];
extern const struct option_cmd_row option_cmd_rows[OPTION_CMD_COUNT];

#endif
