/*
 * head.c - is a text PTX, and for what target: read without parsing it.
 *
 * For texts found in files and fat binaries, most of which are passed on unchanged. Misses: a
 * directive between .version and .target (no front end writes one).
 */
#include "ptx/ptx.h"

#include <ctype.h>
#include <string.h>

static const char *skip_blanks(const char *p)
{
	for (;;) {
		while (isspace((unsigned char)*p))
			p++;
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			const char *end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else {
			return p;
		}
	}
}

/* After a word that ends at a blank, or NULL. */
static const char *take_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	return strncmp(p, word, n) || !isspace((unsigned char)p[n]) ? NULL : skip_blanks(p + n);
}

bool ptx_read_head(const char *text, unsigned *sm, char *suffix)
{
	const char *p = take_word(skip_blanks(text), ".version");

	*sm = 0;
	*suffix = 0;
	if (!p)
		return false;
	while (*p && !isspace((unsigned char)*p))
		p++;
	p = take_word(skip_blanks(p), ".target");
	if (!p || strncmp(p, "sm_", 3) != 0)
		return true;
	p += 3;
	for (int i = 0; i < 4 && *p >= '0' && *p <= '9'; i++)
		*sm = *sm * 10 + (unsigned)(*p++ - '0');
	*suffix = *p == 'a' || *p == 'f' ? *p : 0;
	return true;
}
