/*
 * keep.c - keeps the cubin of an instrumented text's trial for the ptxas that follows.
 *
 * nvcc calls ptxas on the text that the stand-in for cicc has just assembled. With the same options
 * the result is the same code, so the trial's cubin is kept in the user's folder of caches under a
 * hash of the text, the options and the assembler, and the stand-in for ptxas takes it. Each is
 * taken once; what has not been taken within an hour is removed by a later trial. Messages of ptxas
 * lie beside it, with a byte in place of the input's name, and are printed when the code is taken.
 * The check of a text for a virtual target, which makes no code, is passed when the text was
 * assembled for the real one.
 *
 * Misses: options that cicc doesn't see (-Xptxas): the hash differs, and ptxas runs. Costs: reading
 * the text once more, a file of the cubin's size.
 */
#include "toolchain/internal.h"
#include "image/kept.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OLDEST_S	 3600
#define NAME_IN_MESSAGES '\1'

int tool_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* NULL: there is no folder of caches, or others may write to it. */
static const char *folder(struct base_arena *a)
{
	return image_cache_folder(a, "kept");
}

static const char *file_of(const struct tool_kept *k, struct base_arena *a)
{
	const char *dir = folder(a);
	struct stat st;
	uint64_t h[2] = {BASE_FNV_INIT, ~BASE_FNV_INIT};

	if (!dir || stat(k->ptxas, &st) != 0)
		return NULL;
	char *as = base_printf(a, "%s %lld %lld", k->ptxas, (long long)st.st_size,
			       (long long)st.st_mtime);
	/* Two sums, 128 bits: a clash would be another program's code. */
	for (int i = 0; i < 2; i++) {
		h[i] = base_hash(as, strlen(as) + 1, h[i]);
		for (size_t o = 0; o < k->noptions; o++)
			h[i] = base_hash(k->options[o], strlen(k->options[o]) + 1, h[i]);
		h[i] = base_hash(k->text, k->size, h[i]);
	}
	return base_printf(a, "%s/%016llx%016llx", dir, (unsigned long long)h[0],
			   (unsigned long long)h[1]);
}

static void remove_old(const char *dir, struct base_arena *a)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		char *path = base_printf(a, "%s/%s", dir, e->d_name);
		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    time(NULL) - st.st_mtime > OLDEST_S)
			unlink(path);
	}
	if (d)
		closedir(d);
}

/* What a kept file ends with: one that a full disk or a power failure has cut off is none. */
struct tail {
	uint64_t bytes, sum; /* of what comes before */
};

static bool keep_code(const char *from, const char *to)
{
	struct base_buf b = {0};
	char *bytes;
	size_t n;

	if (base_read_file(from, &bytes, &n) != 0)
		return false;
	const struct tail t = {n, base_hash(bytes, n, BASE_FNV_INIT)};
	base_buf_put(&b, bytes, n);
	base_buf_put(&b, &t, sizeof(t));
	bool ok = base_write_file(to, b.p, b.n) == 0;
	base_buf_free(&b);
	free(bytes);
	return ok;
}

/* out NULL: is there code? */
static bool take_code(const char *from, const char *out)
{
	struct tail t = {0};
	char *bytes;
	size_t n;

	if (base_read_file(from, &bytes, &n) != 0)
		return false;
	bool ok = n > sizeof(t);
	n -= ok ? sizeof(t) : 0;
	if (ok)
		memcpy(&t, bytes + n, sizeof(t));
	ok = ok && t.bytes == n && t.sum == base_hash(bytes, n, BASE_FNV_INIT) &&
	     (!out || base_write_file(out, bytes, n) == 0);
	free(bytes);
	return ok;
}

/* Writes what ptxas said about `in`; false: it can't be kept. */
static bool keep_messages(const char *path, const char *said, const char *in)
{
	struct base_buf b = {0};
	size_t n = strlen(in);

	for (; *said; said++) {
		if (!strncmp(said, in, n)) {
			base_buf_put(&b, (char[]){NAME_IN_MESSAGES}, 1);
			said += n - 1;
		} else {
			base_buf_put(&b, said, 1);
		}
	}
	bool ok = base_write_file(path, b.p, b.n) == 0;
	base_buf_free(&b);
	return ok;
}

static void say_messages(const char *path, const char *in)
{
	char *said;
	size_t n;

	if (base_read_file(path, &said, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (said[i] == NAME_IN_MESSAGES)
			fputs(in, stderr);
		else
			fputc(said[i], stderr);
	}
	fflush(stderr);
	free(said);
}

static const char *messages_of(const char *path, struct base_arena *a)
{
	return base_printf(a, "%s.said", path);
}

void tool_keep(const struct tool_kept *k, const char *cubin, const char *said, const char *in)
{
	struct base_arena a = {0};
	const char *path = file_of(k, &a);

	if (path)
		remove_old(folder(&a), &a);
	/* The messages first: a build that finds the code finds them, too. */
	if (path && (!*said || keep_messages(messages_of(path, &a), said, in)))
		keep_code(cubin, path);
	base_arena_free(&a);
}

bool tool_take(const struct tool_kept *k, const char *in, const char *out)
{
	struct base_arena a = {0};
	const char *path = file_of(k, &a);
	bool is_there = path && access(path, R_OK) == 0;
	bool ok = is_there && take_code(path, out);

	if (ok && out)
		say_messages(messages_of(path, &a), in);
	if (is_there) {
		unlink(messages_of(path, &a));
		unlink(path);
	}
	base_arena_free(&a);
	return ok;
}
