/*
 * packed.c - saved reports in zstd: written where the file's name ends in .zst, known by their
 * first bytes when they are read. Frames that were joined with `cat` are joined text.
 *
 * Misses: more than 1 GiB of text, as of any file that is read (base_read_file).
 */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL 6
#define MOST  (1ull << 30)

static bool is_packed(const char *text, size_t n)
{
	static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return n >= sizeof(magic) && !memcmp(text, magic, sizeof(magic));
}

/* Appends the text; EBADMSG: it is no zstd, or ends in the middle of a frame. */
static int unpack(const char *text, size_t n, struct base_buf *out)
{
	ZSTD_DStream *d = ZSTD_createDStream();
	ZSTD_inBuffer in = {text, n, 0};
	char part[1 << 16];
	size_t left = 1;
	int err = d ? 0 : ENOMEM;

	while (!err && in.pos < in.size) {
		ZSTD_outBuffer to = {part, sizeof(part), 0};
		left = ZSTD_decompressStream(d, &to, &in);
		if (ZSTD_isError(left))
			err = EBADMSG;
		else if (out->n + to.pos > MOST)
			err = EFBIG;
		else
			base_buf_put(out, part, to.pos);
		/* A full part may have more after it, though all was read. */
		while (!err && left && to.pos == sizeof(part)) {
			to.pos = 0;
			left = ZSTD_decompressStream(d, &to, &in);
			if (ZSTD_isError(left))
				err = EBADMSG;
			else
				base_buf_put(out, part, to.pos);
		}
	}
	ZSTD_freeDStream(d);
	return err ? err : left ? EBADMSG : 0;
}

int rep_file_read(const char *path, char **text, size_t *n)
{
	struct base_buf out = {0};
	int err = base_read_file(path, text, n);

	if (err || !is_packed(*text, *n))
		return err;
	err = unpack(*text, *n, &out);
	free(*text);
	if (!err)
		base_buf_put(&out, "", 1);
	*text = err ? NULL : out.p;
	*n = err ? 0 : out.n - 1;
	if (err)
		base_buf_free(&out);
	return err;
}

int rep_file_write(const char *path, const char *text, size_t n)
{
	size_t end = strlen(path), most = ZSTD_compressBound(n);

	if (end < 4 || strcmp(path + end - 4, ".zst") != 0)
		return base_write_file(path, text, n);
	char *packed = base_malloc(most);
	size_t got = ZSTD_compress(packed, most, text, n, LEVEL);
	int err = ZSTD_isError(got) ? ENOMEM : base_write_file(path, packed, got);
	free(packed);
	return err;
}
