/*
 * write.c - makes entries of kept.h, and keeps their folder small.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "image/kept.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

void image_kept_make(struct base_buf *out, enum image_outcome outcome, unsigned maxreg,
		     const char *said, const void *code, size_t ncode)
{
	struct image_kept head = {.magic = IMAGE_KEPT_MAGIC,
				  .version = IMAGE_KEPT_VERSION,
				  .outcome = outcome,
				  .maxreg = maxreg,
				  .said = strlen(said),
				  .code = ncode};
	static const char zeros[64];

	out->n = 0;
	base_buf_put(out, &head, sizeof(head));
	base_buf_put(out, said, head.said);
	base_buf_put(out, zeros, image_kept_code_at(head.said) - out->n);
	if (ncode)
		base_buf_put(out, code, ncode);
	struct image_kept *k = (struct image_kept *)(void *)out->p;
	k->sum = image_kept_sum(k, out->n);
}

void image_kept_set_late(struct base_buf *entry, unsigned nth)
{
	struct image_kept *k = (struct image_kept *)(void *)entry->p;

	k->late = nth;
	k->sum = image_kept_sum(k, entry->n);
}

struct file {
	char *path;
	struct timespec used;
	uint64_t bytes;
};

static int by_use(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

void image_kept_trim(const char *folder, uint64_t most)
{
	BASE_VEC(struct file) files = {0};
	struct base_arena a = {0};
	DIR *d = opendir(folder);
	uint64_t all = 0;
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		char *path = base_printf(&a, "%s/%s", folder, e->d_name);
		if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		struct file f = {path, st.st_mtim, (uint64_t)st.st_size};
		base_vec_push(&files, f);
		all += f.bytes;
	}
	if (d)
		closedir(d);
	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), by_use);
	/* A quarter of the room at once, not a file at each new one. */
	uint64_t to = all > most ? most - most / 4 : all;
	for (size_t i = 0; i < files.n && all > to; i++)
		if (unlink(files.v[i].path) == 0)
			all -= files.v[i].bytes;
	base_vec_free(&files);
	base_arena_free(&a);
}

static bool make_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return false;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

char *image_cache_folder(struct base_arena *a, const char *name)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"),
		   *tmp = getenv("TMPDIR");
	const char *above = NULL, *ours;
	struct stat st;

	if (cache && *cache == '/')
		above = cache;
	else if (home && *home == '/')
		above = base_printf(a, "%s/.cache", home);
	if (above && (mkdir(above, 0700) == 0 || errno == EEXIST))
		ours = base_printf(a, "%s/collider", above);
	else
		ours = base_printf(a, "%s/collider-%u", tmp && *tmp == '/' ? tmp : "/tmp",
				   (unsigned)geteuid());
	char *path = base_printf(a, "%s/%s", ours, name);
	/* A file that others may write could hold another program's code. */
	if (!make_folder(ours) || !make_folder(path) || stat(path, &st) != 0 || st.st_mode & 022)
		return NULL;
	return path;
}

char *image_origin(struct base_arena *a, const void *elf, size_t size)
{
	const char *folder = image_cache_folder(a, "origin");
	size_t own = image_elf_size(elf, size);

	if (!folder || !own)
		return NULL;
	return base_printf(a, "%s/%016llx%016llx.ptx", folder,
			   (unsigned long long)image_sum(elf, own, 1),
			   (unsigned long long)image_sum(elf, own, ~0ull));
}
