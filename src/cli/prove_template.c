/*
 * prove_template.c - kernels that are templates: instances on request, names of those without
 * (prove.h).
 *
 * A template that nothing uses isn't in the PTX. --instantiate makes a source that includes the
 * user's and takes the address of each instance. Templates are found in the source by their words,
 * not by a parser: `template <...> ... __global__ ... NAME(`, without looking into comments.
 *
 * Misses: templates in headers, and those that macros generate.
 */
#include "cli/prove.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *prove_instantiate(const char *source, const char *instances, const char *dir,
			      struct base_arena *a)
{
	struct base_buf out = {0};
	char *real = realpath(source, NULL);
	const char *path = base_printf(a, "%s/instances.cu", dir);
	unsigned n = 0;
	int err = real ? 0 : errno;

	base_buf_printf(&out, "#include \"%s\"\n", real ? real : source);
	while (*instances) {
		size_t skip = strspn(instances, "; "), len = strcspn(instances + skip, ";");
		if (len)
			base_buf_printf(
				&out,
				"__attribute__((used)) static const void *collider_instance_%u = "
				"(const void *)&%.*s;\n",
				n++, (int)len, instances + skip);
		instances += skip + len;
	}
	if (!err)
		err = base_write_file(path, out.p, out.n);
	base_buf_free(&out);
	free(real);
	if (err)
		base_say("error: --instantiate: %s: %s", source, strerror(err));
	return err ? NULL : path;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* After "template": the matching '>', or NULL. */
static const char *after_arguments(const char *p)
{
	int depth = 0;

	for (; *p && *p != ';' && *p != '{'; p++) {
		depth += *p == '<';
		if (*p == '>' && !--depth)
			return p + 1;
	}
	return NULL;
}

/* The name of the kernel that a template declares, or 0 characters. */
static size_t kernel_name(const char *p, const char **name)
{
	size_t end = strcspn(p, ";{=");
	const char *g = memmem(p, end, "__global__", 10), *open;

	if (!g)
		return 0;
	for (open = g + 10; open < p + end && *open != '(';) {
		/* __launch_bounds__(256) has parentheses of its own */
		if (!strncmp(open, "__launch_bounds__", 17))
			open += strcspn(open, ")");
		open++;
	}
	while (open > g && !is_word(open[-1]))
		open--;
	*name = open;
	while (*name > g && is_word((*name)[-1]))
		(*name)--;
	return (size_t)(open - *name);
}

static bool has_instance(const struct race_proofs *r, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < r->kernels.n; i++) {
		const char *at = r->kernels.v[i].name_shown;
		while ((at = strstr(at, name))) {
			if (at[n] == '<')
				return true;
			at += n;
		}
	}
	return false;
}

static void add_template(struct race_proofs *r, const char *source, const char *name, uint32_t line)
{
	struct race_proof k = {.verdict = RACE_VERDICT_UNPROVEN, .name = name, .name_shown = name};
	struct race_problem p = {.file = base_strdup(&r->arena, source), .line = line};

	p.text = base_printf(&r->arena,
			     "a template without an instance: --instantiate='%s<...>' makes one",
			     name);
	base_vec_push(&k.problems, p);
	base_vec_push(&r->kernels, k);
}

void prove_name_templates(const char *source, struct race_proofs *r)
{
	char *text;
	size_t size;
	uint32_t line = 1;

	if (base_read_file(source, &text, &size))
		return;
	for (const char *p = text; *p; p++) {
		const char *rest, *name;
		line += *p == '\n';
		if (strncmp(p, "template", 8) != 0 || is_word(p[8]) || (p > text && is_word(p[-1])))
			continue;
		rest = after_arguments(p + 8);
		size_t n = rest ? kernel_name(rest, &name) : 0;
		if (!n)
			continue;
		const char *copy = base_strndup(&r->arena, name, n);
		bool is_known = has_instance(r, copy);
		for (size_t i = 0; i < r->kernels.n; i++)
			is_known |= !strcmp(r->kernels.v[i].name, copy);
		if (!is_known)
			add_template(r, source, copy, line);
	}
	free(text);
}
