/*
 * text.c - keeps a PTX text that a program has made while it ran, so that findings in it have a
 * file and a line: its own. The site tables of checks name them, and so does the judge, whose copy
 * of the text gets them as .loc.
 *
 * Only of texts without a line of any source (.loc). The file lies in the user's folder of caches,
 * under the name of the first kernel and a sum of the content; up to 256 MiB, the longest unused
 * goes first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "image/kept.h"
#include "ptx/ptx.h"

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

const char *image_keep_text(const char *text, size_t size, struct base_arena *a)
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

/* A number that no .file of the module has. */
static uint32_t free_file_id(const struct ptx_module *m)
{
	uint32_t id = 1;

	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FILE && it->file_id >= id)
			id = it->file_id + 1;
	}
	return id;
}

static struct ptx_str str_of(const char *s)
{
	return (struct ptx_str){s, (uint32_t)strlen(s)};
}

static void give_lines(struct ptx_module *m, struct ptx_func *f, uint32_t id)
{
	for (struct ptx_stmt *s = f->first, *next; s; s = next) {
		next = s->next;
		if (s->kind != PTX_STMT_INST)
			continue;
		struct ptx_loc *loc = BASE_NEW(m->arena, struct ptx_loc);
		struct ptx_stmt *before = ptx_new_stmt(m, PTX_STMT_LOC);
		loc->file = id;
		loc->line = s->line;
		loc->text = str_of(base_printf(m->arena, ".loc %u %u 0", id, s->line));
		before->loc = s->loc = loc;
		ptx_insert_before(f, s, before);
	}
}

void image_give_lines(struct ptx_module *m, const char *text, size_t size)
{
	const char *path = image_keep_text(text, size, m->arena);

	if (!path || strpbrk(path, "\"\\\n"))
		return;
	struct ptx_item *file = ptx_new_item(m, PTX_ITEM_FILE);
	file->file_id = free_file_id(m);
	file->file_name = str_of(path);
	file->text = str_of(base_printf(m->arena, ".file %u \"%s\"", file->file_id, path));
	ptx_insert_item(m, m->first, file);
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC)
			give_lines(m, it->func, file->file_id);
	}
}
