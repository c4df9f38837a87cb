/*
 * bare.c - the text of a module as its compiler left it, for what is analysed or recorded.
 *
 * Costs: what has a mark of ours is parsed to find out, and printed again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instrument/internal.h"

#include <string.h>

#include "base/json.h"

void inst_bare(const char *file, const char *text, size_t size, struct base_buf *out)
{
	static const char ours[] = RACE_SYMBOL_PREFIX;
	struct base_sink sink = {0};
	struct base_arena arena = {0};
	struct ptx_module *m = NULL;

	if (memmem(text, size, ours, sizeof(ours) - 1))
		m = ptx_parse(&arena, file, text, size, &sink);
	if (m && !sink.errors && inst_detectors_of(m) && inst_strip(m, &sink))
		ptx_print(m, out);
	else
		base_buf_put(out, text, size);
	base_sink_free(&sink);
	base_arena_free(&arena);
}

void inst_bare_line(const char *file, const char *text, size_t size, struct base_buf *out)
{
	struct base_buf plain = {0};
	struct base_json j = {.out = out};

	inst_bare(file, text, size, &plain);
	base_buf_put(&plain, "", 1);
	base_json_object(&j, NULL);
	base_json_text(&j, "ptx", plain.p);
	base_json_object_end(&j);
	base_buf_puts(out, "\n");
	base_buf_free(&plain);
}
