/*
 * text.c - keeps a PTX text that a program has made while it ran, so that findings in it have a
 * file and a line: its own.
 *
 * Only of texts without a line of any source (.loc). The file lies in the user's folder of caches,
 * under the name of the first kernel and a sum of the content; up to 256 MiB, the longest unused
 * goes first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "toolchain/internal.h"
#include "image/kept.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_MOST (256ull << 20)
#define NAME_MOST 60

/* Has the text a line of a source? The directive begins a statement. */
static bool has_lines(const char *text, size_t size)
{
	static const char word[] = ".loc";
	const char *p = text, *end = text + size;

	while ((p = memmem(p, (size_t)(end - p), word, sizeof(word) - 1))) {
		p += sizeof(word) - 1;
		if (p + 1 < end && (*p == ' ' || *p == '\t') && isdigit((unsigned char)p[1]))
			return true;
	}
	return false;
}

/* The first kernel's name, or what fits of it. */
static const char *name_of(const char *text, size_t size, struct base_arena *a)
{
	static const char word[] = ".entry";
	const char *p = memmem(text, size, word, sizeof(word) - 1), *end = text + size;
	size_t n = 0;

	if (p)
		p += sizeof(word) - 1;
	while (p && p < end && isspace((unsigned char)*p))
		p++;
	while (p && p + n < end && n < NAME_MOST && (isalnum((unsigned char)p[n]) || p[n] == '_'))
		n++;
	return n ? base_strndup(a, p, n) : "text";
}

/* ------------------------------------------------------------------------ */

const char *tool_keep_text(const char *text, size_t size, struct base_arena *a)
{
	const char *folder = has_lines(text, size) ? NULL : image_cache_folder(a, "text");

	if (!folder)
		return NULL;
	const char *path = base_printf(a, "%s/%s-%016" PRIx64 ".ptx", folder,
				       name_of(text, size, a), image_sum(text, size, 1));
	if (utimensat(AT_FDCWD, path, NULL, 0) == 0)
		return path;
	if (base_write_file(path, text, size) != 0)
		return NULL;
	image_kept_trim(folder, KEPT_MOST);
	return path;
}
