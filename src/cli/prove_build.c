/*
 * prove_build.c - the .cu files of a compile_commands.json, with their options (prove.h).
 *
 * Of a command only what determines the meaning of the source is kept: macros, folders, the
 * language; the architecture and the optimisation are prove's own.
 */
#include "cli/prove.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options that are kept, alone or with what follows. */
static const struct {
	const char *text;
	bool takes_next; /* when nothing is joined to it */
} kept[] = {
	{"-I", true},
	{"-D", true},
	{"-U", true},
	{"-isystem", true},
	{"-include", true},
	{"-std=", false},
	{"--std=", false},
	{"-std", true},
	{"--expt-", false},
	{"-expt-", false},
	{"--extended-lambda", false},
	{"-extended-lambda", false},
	{"--include-path=", false},
	{"--define-macro=", false},
	{"-ccbin=", false},
};

struct words {
	struct base_arena *a;
	BASE_VEC(char *) v;
};

/* A command line as the shell splits it: quotes and backslashes. */
static void split(struct words *w, const char *s)
{
	struct base_buf b = {0};
	char quote = 0;
	bool has_word = false;

	for (;; s++) {
		if (!*s || (!quote && (*s == ' ' || *s == '\t'))) {
			char *word = base_strndup(w->a, b.p ? b.p : "", b.n);
			if (has_word)
				base_vec_push(&w->v, word);
			b.n = 0;
			has_word = false;
			if (!*s)
				break;
			continue;
		}
		has_word = true;
		if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (quote == *s)
			quote = 0;
		else if (*s == '\\' && s[1] && quote != '\'')
			base_buf_put(&b, ++s, 1);
		else
			base_buf_put(&b, s, 1);
	}
	base_buf_free(&b);
}

static void keep_options(const struct words *all, struct words *to)
{
	for (size_t i = 1; i < all->v.n; i++) {
		for (size_t k = 0; k < BASE_COUNTOF(kept); k++) {
			size_t n = strlen(kept[k].text);
			if (strncmp(all->v.v[i], kept[k].text, n) != 0)
				continue;
			base_vec_push(&to->v, all->v.v[i]);
			if (kept[k].takes_next && !all->v.v[i][n] && i + 1 < all->v.n) {
				i++;
				base_vec_push(&to->v, all->v.v[i]);
			}
			break;
		}
	}
}

static bool is_cuda(const cJSON *entry)
{
	const cJSON *file = cJSON_GetObjectItem(entry, "file");
	size_t n = cJSON_IsString(file) ? strlen(file->valuestring) : 0;

	return n > 3 && !strcmp(file->valuestring + n - 3, ".cu");
}

static int one_file(const cJSON *entry, size_t at, size_t of, prove_file_fn *fn, void *arg)
{
	const cJSON *file = cJSON_GetObjectItem(entry, "file"), *word;
	const cJSON *dir = cJSON_GetObjectItem(entry, "directory");
	const cJSON *command = cJSON_GetObjectItem(entry, "command");
	struct base_arena a = {0};
	struct words all = {.a = &a}, args = {.a = &a};
	int rc;

	if (cJSON_IsString(command))
		split(&all, command->valuestring);
	cJSON_ArrayForEach(word, cJSON_GetObjectItem(entry, "arguments"))
	{
		char *s = base_strdup(&a, cJSON_IsString(word) ? word->valuestring : "");
		base_vec_push(&all.v, s);
	}
	keep_options(&all, &args);
	if (cJSON_IsString(dir) && chdir(dir->valuestring)) {
		base_say("error: %s: %s", dir->valuestring, strerror(errno));
		rc = BASE_EXIT_INPUT;
	} else {
		rc = fn(file->valuestring, args.v.v, args.v.n, at, of, arg);
	}
	base_vec_free(&all.v);
	base_vec_free(&args.v);
	base_arena_free(&a);
	return rc;
}

int prove_each_file(const char *dir, prove_file_fn *fn, void *arg)
{
	struct base_arena a = {0};
	const char *path = base_printf(&a, "%s/compile_commands.json", dir);
	size_t size, n = 0, at = 0;
	char *text = NULL, *here = getcwd(NULL, 0);
	int err = base_read_file(path, &text, &size), rc = 0;
	cJSON *list = err ? NULL : cJSON_Parse(text), *entry;

	if (err || !cJSON_IsArray(list)) {
		base_say("error: %s: %s", path,
			 err ? strerror(err) : "expected a list of compile commands");
		rc = BASE_EXIT_INPUT;
	}
	cJSON_ArrayForEach(entry, list) n += is_cuda(entry);
	if (!rc && !n) {
		base_say("error: %s: there is no .cu file in it", path);
		rc = BASE_EXIT_INPUT;
	}
	cJSON_ArrayForEach(entry, list)
	{
		if (!rc && is_cuda(entry))
			rc = one_file(entry, ++at, n, fn, arg);
	}
	if (here && chdir(here))
		base_say("%s: %s", here, strerror(errno));
	free(here);
	free(text);
	cJSON_Delete(list);
	base_arena_free(&a);
	return rc;
}
