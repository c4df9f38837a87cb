/*
 * ptx_roundtrip.c - reads PTX, parses it, prints it: ptx_roundtrip IN OUT.
 *
 * For tests and scripts that must not depend on the rest of the tool. Exit codes
 * are those of enum base_exit.
 */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct ptx_module *m;
	char *text;
	size_t size;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: ptx_roundtrip IN OUT\n");
		return BASE_EXIT_USAGE;
	}
	err = base_read_file(argv[1], &text, &size);
	if (err) {
		fprintf(stderr, "%s: error: %s\n", argv[1], strerror(err));
		return BASE_EXIT_INPUT;
	}
	m = ptx_parse(&arena, argv[1], text, size, &sink);
	base_sink_print(&sink, stderr);
	if (m) {
		ptx_print(m, &out);
		err = base_write_file(argv[2], out.p, out.n);
		if (err)
			fprintf(stderr, "%s: error: %s\n", argv[2], strerror(err));
	}
	base_buf_free(&out);
	base_sink_free(&sink);
	base_arena_free(&arena);
	free(text);
	return m && !err ? BASE_EXIT_OK : BASE_EXIT_INPUT;
}
