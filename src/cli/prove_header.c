/*
 * prove_header.c - options in the first lines of a source, and folders of libraries (prove.h).
 *
 * A comment of nothing but options, "//--blockDim=64 --gridDim=[4,2] -DN=3", at the source's start
 * gives the launch and what the compiler needs, where the command line doesn't. One that isn't
 * known is refused: a kernel that is analysed without it would get the verdict of another.
 *
 * Misses: options with a value in a word of its own.
 */
#include "cli/prove.h"

#include <stdlib.h>
#include <string.h>

/* Options of verifiers that ask for less than prove does, or for how they do it. */
static const char *const without_effect[] = {"--no-inline", "--equality-abstraction",
					     "--no-benign-tolerance", "--loop-unwind="};
/* ... and the compiler's. */
static const char *const of_nvcc[] = {"-D", "-U", "-I", "-std=", "--std="};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(word, list[i], strlen(list[i])))
			return true;
	return false;
}

struct header {
	const char *path;
	struct confirm_source *src;
	struct prove_options *o;
	struct base_arena *arena;
	bool is_given[2];
	unsigned at_line[2], line;
	BASE_VEC(char *) args;
};

/* --blockDim (0) or --gridDim (1). */
static int read_dim(struct header *h, unsigned which, const char *word, const char *value)
{
	uint32_t dim[3], *to = h->o->dim + 3 * which;

	if (!prove_read_dims(value, dim)) {
		base_say("error: %s:%u: expected numbers like 64 or [8,8], found '%s'", h->path,
			 h->line, value);
		return BASE_EXIT_INPUT;
	}
	if (h->is_given[which])
		return 0;
	if (h->at_line[which] && memcmp(dim, to, sizeof(dim)) != 0) {
		base_say("error: %s:%u: vacuous: %s contradicts line %u", h->path, h->line, word,
			 h->at_line[which]);
		return BASE_EXIT_UNPROVEN;
	}
	h->at_line[which] = h->line;
	memcpy(to, dim, sizeof(dim));
	return 0;
}

static int read_word(struct header *h, char *word)
{
	static const char *const dims[] = {
		"--blockDim=", "--gridDim=", "--block-dim=", "--grid-dim="};

	for (unsigned i = 0; i < BASE_COUNTOF(dims); i++)
		if (!strncmp(word, dims[i], strlen(dims[i])))
			return read_dim(h, i % 2, word, word + strlen(dims[i]));
	if (!strcmp(word, "--warp-sync=32") || !strcmp(word, "--warp-lockstep")) {
		h->o->is_lockstep = true;
		return 0;
	}
	if (!strcmp(word, "--only-intra-group")) {
		h->o->level[RACE_LEVEL_CLUSTER] = h->o->level[RACE_LEVEL_GRID] = false;
		return 0;
	}
	if (is_one_of(word, of_nvcc, BASE_COUNTOF(of_nvcc)))
		base_vec_push(&h->args, base_strdup(h->arena, word));
	else if (!is_one_of(word, without_effect, BASE_COUNTOF(without_effect))) {
		base_say("error: %s:%u: the option '%s' isn't known in a source: expected "
			 "--blockDim, --gridDim, --warp-sync=32, --only-intra-group, -D, -U, -I or "
			 "-std",
			 h->path, h->line, word);
		return BASE_EXIT_INPUT;
	}
	return 0;
}

/* Is the comment one of options: does each word begin like one? */
static bool has_options(const char *s)
{
	bool found = false;

	for (s += strspn(s, " \t\r"); *s; s += strspn(s, " \t\r")) {
		size_t n = strcspn(s, " \t\r");
		if (s[0] != '-' || n < 3 || (s[1] == '-' && !(s[2] >= 'a' && s[2] <= 'z')))
			return false;
		found = true;
		s += n;
	}
	return found;
}

static int read_line(struct header *h, char *s)
{
	int rc = 0;

	if (!has_options(s))
		return 0;
	for (char *word = strtok(s, " \t\r"); word && !rc; word = strtok(NULL, " \t\r"))
		rc = read_word(h, word);
	return rc;
}

int prove_read_header(struct confirm_source *src, struct prove_options *o, struct base_arena *a)
{
	struct header h = {.path = src->path, .src = src, .o = o, .arena = a};
	char *text;
	size_t size;
	int rc = 0;

	if (base_read_file(src->path, &text, &size))
		return 0;
	h.is_given[0] = o->dim[0] != 0;
	h.is_given[1] = o->dim[3] != 0;
	char *rest = text;
	for (char *line = strsep(&rest, "\n"); line && !rc && !strncmp(line, "//", 2);
	     line = strsep(&rest, "\n")) {
		h.line++;
		rc = read_line(&h, line + 2);
	}
	free(text);
	for (size_t i = 0; i < src->nargs; i++)
		base_vec_push(&h.args, src->args[i]);
	char **all = BASE_NEWN(a, char *, h.args.n + 1);
	for (size_t i = 0; i < h.args.n; i++)
		all[i] = h.args.v[i];
	src->args = all;
	src->nargs = h.args.n;
	base_vec_free(&h.args);
	return rc;
}

void prove_find_system(const struct confirm_source *src, struct prove_options *o,
		       struct base_arena *a)
{
	static const char *const names[] = {"-isystem", "--system-include"};
	const char **out = BASE_NEWN(a, const char *, src->nargs + 1);

	for (size_t i = 0; i < src->nargs; i++) {
		for (size_t k = 0; k < BASE_COUNTOF(names); k++) {
			size_t n = strlen(names[k]);
			const char *s = src->args[i];
			if (strncmp(s, names[k], n) != 0)
				continue;
			s += n;
			s += *s == '=';
			if (!*s && i + 1 < src->nargs)
				s = src->args[i + 1];
			out[o->nsystem++] = s;
			break;
		}
	}
	o->system = out;
}
