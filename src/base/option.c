/*
 * option.c - command lines and COLLIDER_OPTIONS read by the rows of options.def.
 *
 * A loop of our own instead of getopt_long: getopt_long accepts any unique prefix of a name, so
 * that a new option can break a user's script, and it can't leave unknown options of nvcc and ptxas
 * in place. Names are exact here, and for a wrong one the nearest right one is suggested.
 *
 * Misses: short flags can't be joined (-qv). Costs: a linear search through the rows for each word
 * of the command line.
 */
#include "base/optvalue.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ON(id) (1u << OPTION_CMD_##id)
#define YES    true
#define NO     false

/* clang-format off */
/* The detectors as choices of --detector and --sanitize, each list in the table's order. */
static const char all_detectors[] =
#define DETECTOR(id, word, ...) #word ","
#define JUDGE(id, word)		#word ","
#include "base/detectors.def"
	"none";
static const char put_detectors[] =
#define DETECTOR(id, word, ...) #word ","
#include "base/detectors.def"
	"none";
/* The passes as choices of --dump; index 0 is none. */
static const char all_passes[] = "none"
#define PASS(id, name, scope, what) "|" name
#include "base/passes.def"
	;

const struct option_row option_rows[OPTION_COUNT] = {
#define OPT(id, name, letter, type, arg, lo, hi, preset, cmds, env, help, more) \
	[OPTION_##id] = {                                                                          \
		name, letter, OPTION_TYPE_##type, arg, lo, hi, preset, cmds, env, help, more},
#include "base/options.def"
};

const struct option_cmd_row option_cmd_rows[OPTION_CMD_COUNT] = {
#define CMD(id, name, usage, args, help, more, examples) \
	[OPTION_CMD_##id] = {name, usage, OPTION_ARGS_##args, help, more, examples},
#include "base/options.def"
};
/* clang-format on */

_Static_assert(OPTION_CMD_COUNT <= 8 * sizeof(unsigned), "cmds is a bit mask");

#define NEAREST_MAX 32 /* longer words are not compared: no option is that long */

int option_find_cmd(const char *name)
{
	for (int i = 0; i < OPTION_CMD_SHOWN; i++)
		if (!strcmp(option_cmd_rows[i].name, name))
			return i;
	return -1;
}

const char *option_cmd_name(enum option_cmd cmd)
{
	return option_cmd_rows[cmd].name;
}

bool option_belongs(enum option_id id, enum option_cmd cmd)
{
	return option_rows[id].cmds >> cmd & 1;
}

/* Does the command read it? sweep and reduce hand run's options on to their runs. */
static bool is_taken(enum option_id id, enum option_cmd cmd)
{
	return option_belongs(id, cmd) || ((cmd == OPTION_CMD_SWEEP || cmd == OPTION_CMD_REDUCE) &&
					   option_belongs(id, OPTION_CMD_RUN));
}

/* ---- the nearest name ------------------------------------------------------------ */

/* Edit distance with swaps of neighbours (optimal string alignment). */
static unsigned edit_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned d[NEAREST_MAX + 1][NEAREST_MAX + 1];

	if (na > NEAREST_MAX || nb > NEAREST_MAX)
		return NEAREST_MAX;
	for (unsigned i = 0; i <= na; i++)
		d[i][0] = i;
	for (unsigned j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned m = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < m)
				m = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < m)
				m = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < m)
				m = d[i - 2][j - 2] + 1;
			d[i][j] = m;
		}
	}
	return d[na][nb];
}

const char *option_nearest(const char *word, const char *const *names, size_t n)
{
	size_t len = strlen(word);
	unsigned best = len < 4 ? 2 : (unsigned)(len / 3) + 1; /* must be below this */
	const char *found = NULL;

	if (best < 2)
		best = 2;
	for (size_t i = 0; i < n; i++) {
		unsigned d = edit_distance(word, names[i]);

		if (d < best || (!found && len >= 4 && !strncmp(word, names[i], len))) {
			best = d;
			found = names[i];
		}
	}
	return found;
}

/* The nearest option of the command (cmd < 0: of all options allowed in the environment). */
static const char *nearest_option(const char *word, int cmd)
{
	const char *names[OPTION_COUNT];
	size_t n = 0;

	for (int i = 0; i < OPTION_COUNT; i++)
		if (cmd < 0 ? option_rows[i].in_env
			    : is_taken((enum option_id)i, (enum option_cmd)cmd))
			names[n++] = option_rows[i].name;
	return option_nearest(word, names, n);
}

/* ---- one option ---------------------------------------------------------------------- */

/* Sets one option; `shown` is how it was written, for the error. */
static int set_option(struct option_set *s, enum option_id id, const char *text,
		      enum option_source source, const char *shown, struct base_sink *sink)
{
	const struct option_row *row = &option_rows[id];
	const char *expected = "";
	int64_t num = 0;

	if (!text && row->type != OPTION_TYPE_FLAG) {
		base_report(sink, BASE_ERROR, NULL, (struct base_span){0}, "%s needs a value: %s",
			    shown, row->arg);
		return BASE_EXIT_USAGE;
	}
	if (!option_read_value(s, row, text, &num, &expected)) {
		base_report(sink, BASE_ERROR, NULL, (struct base_span){0},
			    "%s: found '%s', expected %s", shown, text, expected);
		return BASE_EXIT_USAGE;
	}
	s->v[id] = (struct option_value){.text = text ? text : "1", .num = num, .source = source};
	return 0;
}

void option_init(struct option_set *s, enum option_cmd cmd)
{
	memset(s, 0, sizeof(*s));
	s->cmd = cmd;
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		const char *expected;

		if (!row->preset)
			continue;
		s->v[i].text = row->preset;
		bool ok = option_read_value(s, row, row->preset, &s->v[i].num, &expected);
		assert(ok);
		(void)ok;
	}
	/* args is a valid empty list even when nothing is parsed. */
	base_vec_push(&s->args, NULL);
	s->args.n = 0;
}

void option_free(struct option_set *s)
{
	base_vec_free(&s->args);
	base_arena_free(&s->arena);
}

/* ---- the environment ------------------------------------------------------------------ */

/* Cuts "key=value:" off *p; value NULL for a bare key. Returns false at the end. */
static bool next_pair(struct option_set *s, const char **p, char **key, char **value)
{
	const char *c = *p;

	while (*c == ':' || isspace((unsigned char)*c))
		c++;
	if (!*c)
		return false;
	size_t n = strcspn(c, ":=");
	size_t len = n;
	while (len && isspace((unsigned char)c[len - 1]))
		len--;
	*key = base_strndup(&s->arena, c, len);
	*value = NULL;
	c += n;
	if (*c == '=') {
		c++;
		if ((*c == '\'' || *c == '"') && strchr(c + 1, *c)) {
			n = strcspn(c + 1, *c == '"' ? "\"" : "'");
			*value = base_strndup(&s->arena, c + 1, n);
			c += n + 2;
			c += strcspn(c, ":"); /* nothing belongs between quote and colon */
		} else {
			n = strcspn(c, ":");
			*value = base_strndup(&s->arena, c, n);
			c += n;
		}
	}
	*p = c;
	return true;
}

static int find_option(const char *name, size_t n)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_rows[i].name) == n && !memcmp(option_rows[i].name, name, n))
			return i;
	return -1;
}

int option_read_own(struct option_set *s, const char *var, const char *text, struct base_sink *sink)
{
	char *key, *value;
	int rc = 0;

	while (next_pair(s, &text, &key, &value)) {
		int id = find_option(key, strlen(key));
		const char *shown = base_printf(&s->arena, "%s: %s", var, key);

		if (id < 0 || !option_belongs((enum option_id)id, s->cmd)) {
			const char *near = nearest_option(key, (int)s->cmd);

			base_report(sink, BASE_ERROR, NULL, (struct base_span){0},
				    "%s: unknown key '%s'%s%s%s", var, key,
				    near ? " (did you mean " : "", near ? near : "",
				    near ? "?)" : "");
			rc = BASE_EXIT_USAGE;
		} else if (set_option(s, (enum option_id)id, value, OPTION_FROM_ENV, shown, sink)) {
			rc = BASE_EXIT_USAGE;
		}
	}
	return rc;
}

void option_encode_one(struct base_buf *out, enum option_id id, const char *value)
{
	const char *quote = strchr(value, ':') ? strchr(value, '"') ? "'" : "\"" : "";

	base_buf_printf(out, "%s%s=%s%s%s", out->n ? ":" : "", option_rows[id].name, quote, value,
			quote);
}

char *option_encode(struct option_set *s, enum option_cmd to)
{
	struct base_buf b = {0};

	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_value *v = &s->v[i];

		if (option_belongs((enum option_id)i, s->cmd) &&
		    option_belongs((enum option_id)i, to) && v->text)
			option_encode_one(&b, (enum option_id)i, v->text);
	}
	char *text = base_strndup(&s->arena, b.p ? b.p : "", b.n);
	base_buf_free(&b);
	return text;
}

int option_read_env(struct option_set *s, const char *var, const char *text, struct base_sink *sink)
{
	char *key, *value;

	while (next_pair(s, &text, &key, &value)) {
		int id = find_option(key, strlen(key));

		if (id < 0 || !option_rows[id].in_env) {
			const char *near = id < 0 ? nearest_option(key, -1) : NULL;

			base_report(
				sink, BASE_WARNING, NULL, (struct base_span){0},
				id < 0 ? "%s: unknown key '%s' ignored%s%s%s"
				       : "%s: '%s' works on the command line only, ignored%s%s%s",
				var, key, near ? " (did you mean " : "", near ? near : "",
				near ? "?)" : "");
			continue;
		}
		if (!is_taken((enum option_id)id, s->cmd))
			continue;
		const char *shown = base_printf(&s->arena, "%s: %s", var, key);
		int rc = set_option(s, (enum option_id)id, value, OPTION_FROM_ENV, shown, sink);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the command line ------------------------------------------------------------------ */

static int unknown_option(const struct option_set *s, const char *word, struct base_sink *sink)
{
	const char *name = word + strspn(word, "-");
	size_t n = strcspn(name, "=");
	int other = word[1] == '-' ? find_option(name, n) : -1;
	struct base_span none = {0};

	if (other >= 0) {
		for (unsigned c = 0; c < OPTION_CMD_SHOWN; c++)
			if (option_belongs((enum option_id)other, (enum option_cmd)c)) {
				base_report(
					sink, BASE_ERROR, NULL, none,
					"--%.*s is an option of collider %s, not of collider %s",
					(int)n, name, option_cmd_rows[c].name,
					option_cmd_rows[s->cmd].name);
				return BASE_EXIT_USAGE;
			}
	}
	struct base_arena a = {0};
	const char *near = n >= 2 ? nearest_option(base_strndup(&a, name, n), (int)s->cmd) : NULL;
	if (near)
		base_report(sink, BASE_ERROR, NULL, none,
			    "unknown option %.*s (did you mean --%s?)", (int)strcspn(word, "="),
			    word, near);
	else
		base_report(sink, BASE_ERROR, NULL, none,
			    "unknown option %.*s (collider help %s lists them)",
			    (int)strcspn(word, "="), word, option_cmd_rows[s->cmd].name);
	base_arena_free(&a);
	return BASE_EXIT_USAGE;
}

static int find_letter(const struct option_set *s, char letter)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_rows[i].letter == letter && is_taken((enum option_id)i, s->cmd))
			return i;
	return -1;
}

/* The option that this word spells, or -1. *value: the value in the same word, or NULL. */
static int match_word(const struct option_set *s, const char *word, const char **value)
{
	*value = NULL;
	if (word[0] != '-' || !word[1])
		return -1;
	if (word[1] == '-') {
		size_t n = strcspn(word + 2, "=");
		int id = find_option(word + 2, n);

		if (id < 0 || !is_taken((enum option_id)id, s->cmd))
			return -1;
		if (word[2 + n])
			*value = word + 2 + n + 1;
		return id;
	}
	int id = find_letter(s, word[1]);
	/* "-qv" is no -q with value "v". */
	if (id < 0 || (word[2] && option_rows[id].type == OPTION_TYPE_FLAG))
		return -1;
	if (word[2])
		*value = word + 2;
	return id;
}

/* "-qv": -q and -v. False: a letter is no flag of this command. */
static bool are_flags(const struct option_set *s, const char *word)
{
	if (word[0] != '-' || !word[1] || word[1] == '-' || !word[2])
		return false;
	for (const char *c = word + 1; *c; c++) {
		int id = find_letter(s, *c);
		if (id < 0 || option_rows[id].type != OPTION_TYPE_FLAG)
			return false;
	}
	return true;
}

static int set_flags(struct option_set *s, const char *word, struct base_sink *sink)
{
	int rc = 0;

	for (const char *c = word + 1; *c && !rc; c++)
		rc = set_option(s, (enum option_id)find_letter(s, *c), NULL, OPTION_FROM_ARGV,
				base_printf(&s->arena, "-%c", *c), sink);
	return rc;
}

/* What is given a second time of the values and assumptions of a proof is added to the first. */
static const char *add_to_list(struct option_set *s, enum option_id id, const char *value)
{
	bool adds_up = id == OPTION_PARAM || id == OPTION_ASSUME || id == OPTION_INSTANTIATE;
	bool is_second = s->v[id].source == OPTION_FROM_ARGV && s->v[id].text;

	if (!adds_up || !is_second || !value || !*value)
		return value;
	return base_printf(&s->arena, "%s%c%s", s->v[id].text, id == OPTION_PARAM ? ',' : ';',
			   value);
}

int option_parse(struct option_set *s, int argc, char **argv, struct base_sink *sink)
{
	enum option_args how = option_cmd_rows[s->cmd].args;
	bool is_done = false;
	int rc = 0;

	for (int i = 0; i < argc && !rc; i++) {
		char *word = argv[i];
		const char *value;

		if (!is_done && !strcmp(word, "--") && how != OPTION_ARGS_PASS) {
			is_done = true;
			continue;
		}
		int id = is_done ? -1 : match_word(s, word, &value);
		bool is_option = !is_done && word[0] == '-' && word[1];
		if (id < 0 && !is_done && how != OPTION_ARGS_PASS && are_flags(s, word)) {
			rc = set_flags(s, word, sink);
			continue;
		}
		if (id < 0) {
			if (is_option && how != OPTION_ARGS_PASS) {
				rc = unknown_option(s, word, sink);
				continue;
			}
			base_vec_push(&s->args, word);
			is_done |= how == OPTION_ARGS_STOP;
			continue;
		}
		bool is_flag = option_rows[id].type == OPTION_TYPE_FLAG;
		const char *shown =
			base_strndup(&s->arena, word, word[1] == '-' ? strcspn(word, "=") : 2);
		/* "--json -- app": the value is missing, and is not "--". */
		if (!value && !is_flag && how != OPTION_ARGS_PASS && i + 1 < argc &&
		    strcmp(argv[i + 1], "--") != 0)
			value = argv[++i];
		value = add_to_list(s, (enum option_id)id, value);
		rc = set_option(s, (enum option_id)id, value, OPTION_FROM_ARGV, shown, sink);
	}
	base_vec_push(&s->args, NULL);
	s->args.n--;
	return rc;
}

int option_take(struct option_set *s, const char *word, struct base_sink *sink)
{
	const char *value;
	int id = match_word(s, word, &value);

	if (id < 0)
		return 0;
	const char *shown = base_strndup(&s->arena, word, strcspn(word, "="));
	return set_option(s, (enum option_id)id, value, OPTION_FROM_ARGV, shown, sink) ? -1 : 1;
}

void option_put(struct option_set *s, enum option_id id, const char *value)
{
	struct base_sink sink = {0};
	int rc = set_option(s, id, value, OPTION_FROM_ARGV, "", &sink);

	assert(!rc);
	(void)rc;
	base_sink_free(&sink);
}

/* ---- asking --------------------------------------------------------------------------------- */

bool option_flag(const struct option_set *s, enum option_id id)
{
	assert(option_rows[id].type == OPTION_TYPE_FLAG);
	return s->v[id].num != 0;
}

unsigned option_list(const struct option_set *s, enum option_id id)
{
	assert(option_rows[id].type == OPTION_TYPE_LIST);
	return (unsigned)s->v[id].num;
}

int64_t option_int(const struct option_set *s, enum option_id id)
{
	assert(option_rows[id].type == OPTION_TYPE_INT ||
	       option_rows[id].type == OPTION_TYPE_ENUM ||
	       option_rows[id].type == OPTION_TYPE_BYTES ||
	       option_rows[id].type == OPTION_TYPE_SECONDS);
	return s->v[id].num;
}

const char *option_text(const struct option_set *s, enum option_id id)
{
	return s->v[id].text;
}

bool option_is(const struct option_set *s, enum option_id id, const char *choice)
{
	int64_t at = option_find_choice(option_rows[id].arg, choice);

	assert(option_rows[id].type == OPTION_TYPE_ENUM && at >= 0);
	return s->v[id].text && s->v[id].num == at;
}

enum option_source option_source(const struct option_set *s, enum option_id id)
{
	return s->v[id].source;
}
