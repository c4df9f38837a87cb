/*
 * prove.c - collider prove: race freedom of the kernels of a .cu or .ptx file, for every input.
 */
#include "cli/cli.h"
#include "prove/prove.h"
#include "report/report.h"
#include "toolchain/toolchain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "64", "8,8", "[4,2]" into dimensions, the missing ones 1. False: not numbers. */
static bool read_dims(const char *s, uint32_t *dim)
{
	uint32_t v[3] = {1, 1, 1};
	bool has_bracket = *s == '[';
	unsigned n = 0;
	char *end;

	s += has_bracket;
	do {
		errno = 0;
		unsigned long x = strtoul(s, &end, 10);
		if (end == s || errno || !x || x > INT32_MAX || n == 3)
			return false;
		v[n++] = (uint32_t)x;
		s = end + 1;
	} while (*end == ',');
	if (*end && !(has_bracket && *end == ']') && *end != ' ' && *end != '\r')
		return false;
	memcpy(dim, v, sizeof(v));
	return true;
}

/*
 * A line "//--blockDim=64 --gridDim=[4,2]" at the source's start gives the dimensions, where the
 * options don't. Two lines that differ: BASE_EXIT_UNPROVEN, as for other contradictions.
 */
static int read_header(const char *path, struct prove_options *o)
{
	bool is_given[2] = {o->dim[0] != 0, o->dim[3] != 0};
	unsigned at_line[2] = {0, 0}, n = 0;
	int rc = 0;
	static const char *const names[2] = {"--blockDim=", "--gridDim="};
	char *text;
	size_t size;

	if (base_read_file(path, &text, &size))
		return 0;
	char *rest = text;
	for (char *line = strsep(&rest, "\n"); line && !rc && !strncmp(line, "//", 2);
	     line = strsep(&rest, "\n")) {
		n++;
		for (unsigned i = 0; i < 2 && !rc && !strncmp(line, "//--", 4); i++) {
			char *at = strstr(line, names[i]);
			uint32_t dim[3];
			if (!at || is_given[i] || !read_dims(at + strlen(names[i]), dim))
				continue;
			if (at_line[i] && memcmp(dim, o->dim + 3 * i, sizeof(dim)) != 0) {
				base_say("error: %s:%u: vacuous: %.*s contradicts line %u", path, n,
					 (int)strcspn(at, " \r"), at, at_line[i]);
				rc = BASE_EXIT_UNPROVEN;
			}
			at_line[i] = n;
			memcpy(o->dim + 3 * i, dim, sizeof(dim));
		}
	}
	free(text);
	return rc;
}

/* NAME=VALUE,...; a name may be a number. */
static bool read_params(const char *s, struct prove_options *o, struct base_arena *a)
{
	while (s && *s && o->nparams < 64) {
		const char *eq = strchr(s, '=');
		char *end;
		if (!eq || eq == s)
			return false;
		unsigned long i = strtoul(s, &end, 10);
		bool is_number = end == eq && *s >= '0' && *s <= '9';
		if (is_number && (!i || i > 4096))
			return false;
		o->param[o->nparams].index = is_number ? (uint32_t)i : 0;
		o->param[o->nparams].name = is_number ? NULL : base_strndup(a, s, (size_t)(eq - s));
		s = eq + 1;
		errno = 0;
		o->param[o->nparams++].value = strtoull(s, &end, 0);
		if (end == s || errno || (*end && *end != ','))
			return false;
		s = *end ? end + 1 : end;
	}
	return true;
}

/* "A; B" into two; the parts without their spaces. */
static const char **split(const char *s, struct base_arena *a, size_t *n)
{
	const char **out = BASE_NEWN(a, const char *, strlen(s) / 2 + 2);

	for (*n = 0; *s;) {
		size_t skip = strspn(s, "; \t"), len = strcspn(s + skip, ";"), cut = len;
		s += skip;
		while (cut && (s[cut - 1] == ' ' || s[cut - 1] == '\t'))
			cut--;
		if (cut)
			out[(*n)++] = base_strndup(a, s, cut);
		s += len;
	}
	return out;
}

static void read_levels(const struct option_set *set, struct prove_options *o)
{
	for (unsigned l = 0; l <= RACE_LEVEL_GRID; l++)
		o->level[l] = option_is(set, OPTION_LEVEL, "all") ||
			      option_is(set, OPTION_LEVEL, race_level_name((enum race_level)l));
}

static int read_options(struct option_set *set, struct prove_options *o)
{
	static const enum option_id dims[2] = {OPTION_BLOCK_DIM, OPTION_GRID_DIM};
	const char *assumes = option_text(set, OPTION_ASSUME);

	o->kernel = option_text(set, OPTION_KERNEL);
	o->may_alias = option_flag(set, OPTION_MAY_ALIAS);
	o->all_launches = option_flag(set, OPTION_ALL_LAUNCHES);
	o->is_lockstep = option_flag(set, OPTION_WARP_LOCKSTEP);
	o->is_same_value = option_is(set, OPTION_BENIGN, "same-value");
	o->wants_protocol = option_flag(set, OPTION_PROTOCOL);
	o->wants_remedies = !option_flag(set, OPTION_NO_REMEDIES);
	read_levels(set, o);
	o->timeout_ms = (unsigned)option_int(set, OPTION_PROVE_TIMEOUT);
	o->memory_mb = (unsigned)option_int(set, OPTION_PROVE_MEMORY);
	if (assumes)
		o->assumes = split(assumes, &set->arena, &o->nassumes);
	for (unsigned i = 0; i < 2; i++) {
		const char *s = option_text(set, dims[i]);
		if (s && !read_dims(s, o->dim + 3 * i)) {
			base_say("error: --%s: expected numbers like 64 or 8,8, found '%s'",
				 i ? "grid-dim" : "block-dim", s);
			return BASE_EXIT_USAGE;
		}
	}
	const char *params = option_text(set, OPTION_PARAM);
	if (params && !read_params(params, o, &set->arena)) {
		base_say("error: --param: expected NAME=VALUE,..., found '%s'", params);
		return BASE_EXIT_USAGE;
	}
	return 0;
}

int cli_prove(struct option_set *set)
{
	struct prove_options o = {0};
	struct race_proofs r = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct rep_options view = {.format = REP_TEXT};
	char *text = NULL;
	size_t size = 0;
	int rc = read_options(set, &o);

	if (rc)
		return rc;
	if (!set->args.n) {
		base_say("error: prove takes a .cu or .ptx file, and options of nvcc behind --");
		return BASE_EXIT_USAGE;
	}
	const char *from = set->args.v[0];
	size_t n = strlen(from);
	bool is_ptx = !strcmp(from, "-") || (n > 4 && !strcmp(from + n - 4, ".ptx"));
	if (is_ptx && set->args.n > 1) {
		base_say("error: prove takes one PTX file, found %zu", set->args.n);
		return BASE_EXIT_USAGE;
	}
	if (is_ptx) {
		int err = base_read_file(from, &text, &size);
		if (err) {
			base_say("error: %s: %s", from, strerror(err));
			return BASE_EXIT_INPUT;
		}
	} else {
		rc = read_header(from, &o);
		if (rc)
			return rc;
		rc = tool_ptx(from, set->args.v + 1, set->args.n - 1, &text, &size);
	}
	if (!rc)
		rc = prove_text(from, text, size, &o, &r, &sink);
	cli_flush(&sink);
	if (!rc) {
		if (option_is(set, OPTION_FORMAT, "json"))
			rep_proof_json(&r, &out);
		else
			rep_proof_text(&r, &view, &out);
		rc = cli_print(&out);
	}
	if (!rc)
		rc = race_proof_exit_code(&r);
	base_buf_free(&out);
	race_proofs_free(&r);
	free(text);
	return rc;
}
