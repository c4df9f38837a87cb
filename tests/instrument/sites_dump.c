/*
 * sites_dump.c - prints the site tables of an instrumented PTX text, decoded as a reader of the
 * program's memory would: one line per site, then what was not checked.
 *
 *	FUNCTION FILE:LINE ACCESS SPACE WIDTHxELEMENTS[ speculated]: TEXT
 *		[ | in FUNCTION at FILE:LINE]...
 *	unchecked N WHAT
 */
#include "base/base.h"
#include "race/race.h"

#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_site(const struct race_sites *t, const struct race_site *s)
{
	static const char *const access[] = {"?", "load", "store", "nc-load", "atomic", "copy"};
	static const char *const space[] = {"generic", "global", "shared", "cluster"};
	unsigned update = RACE_SITE_UPDATE(s->flags);
	struct race_frame fr;

	printf("%s %s:%u %s %s %ux%u%s%s%s%s: %s", race_sites_text(t, s->func),
	       base_name(race_sites_text(t, s->file)), s->line,
	       access[s->access < 6 ? s->access : 0], space[s->space & 3], s->width, s->vec,
	       s->flags & RACE_SITE_SPECULATED ? " speculated" : "",
	       s->flags & RACE_SITE_NEAR ? " near" : "", update ? " " : "",
	       update ? race_update_name(update) : "", race_sites_text(t, s->text));
	for (uint32_t f = s->frame; f && race_sites_get_frame(t, f - 1, &fr); f = fr.next)
		printf(" | in %s at %s:%u", race_sites_text(t, fr.func),
		       base_name(race_sites_text(t, fr.file)), fr.line);
	putchar('\n');
}

/* One table from its initialiser. */
static bool print_table(const char *p)
{
	BASE_VEC(uint64_t) words = {0};
	struct race_sites t;
	struct race_site s;
	struct race_unchecked u;
	char *end;

	for (p = strchr(p, '{'); p && *p != '}' && *p; p = end) {
		uint64_t w = strtoull(p + 1, &end, 0);
		base_vec_push(&words, w);
	}
	const char *bad = race_sites_decode(words.v, words.n * 8, &t);
	base_vec_free(&words);
	if (bad) {
		fprintf(stderr, "site table: %s\n", bad);
		return false;
	}
	for (uint32_t i = 0; race_sites_get(&t, i, &s); i++)
		print_site(&t, &s);
	for (uint32_t i = 0; race_sites_get_unchecked(&t, i, &u); i++)
		printf("unchecked %u %s\n", u.count, race_sites_text(&t, u.what));
	race_sites_close(&t);
	return true;
}

int main(int argc, char **argv)
{
	char *text;
	size_t size;
	bool ok = argc == 2 && !base_read_file(argv[1], &text, &size);

	if (!ok) {
		fprintf(stderr, "usage: sites_dump INSTRUMENTED.ptx\n");
		return 2;
	}
	unsigned n = 0;
	for (char *p = text; ok && (p = strstr(p, ".b64 " RACE_SITES_PREFIX)) != NULL; p++, n++)
		ok = print_table(p);
	free(text);
	if (!n)
		fprintf(stderr, "no site table in %s\n", argv[1]);
	return ok && n ? 0 : 1;
}
