/*
 * fuzz_ptx.c - libFuzzer target: parse, print, parse again, print again.
 *
 * Any text may be refused, none may crash; what is accepted once must be
 * accepted again as printed, and print the same. Also asks what passes ask of the
 * IR: register names, debug strings, the verifier.
 *
 *	build/bin/fuzz_ptx tests/fuzz/corpus -max_total_time=600
 */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static void ask(struct ptx_module *m)
{
	struct base_sink sink = {0};

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC)
			continue;
		for (uint32_t r = 0; r < it->func->nregs && r < 100; r++)
			ptx_reg_name(it->func, r);
	}
	ptx_debug_string(m, PTX_STR(".debug_str"), 0);
	ptx_verify(m, &sink);
	base_sink_free(&sink);
}

/* Prints the module of text into out; false: refused. */
static bool round(const char *text, size_t size, struct base_buf *out)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(&arena, "fuzz", text, size, &sink);

	if (m) {
		ask(m);
		ptx_print(m, out);
		base_buf_put(out, "", 1);
		out->n--;
	}
	base_sink_free(&sink);
	base_arena_free(&arena);
	return m != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1); /* exactly this long, so that ASan sees over-reading */
	struct base_buf first = {0}, second = {0};

	memcpy(text, data, size);
	text[size] = 0;
	if (round(text, size, &first)) {
		if (!round(first.p, first.n, &second)) {
			fprintf(stderr, "the printed text was refused:\n%s\n", first.p);
			abort();
		}
		if (first.n != second.n || memcmp(first.p, second.p, first.n) != 0) {
			fprintf(stderr, "printed differently:\n%s\n---\n%s\n", first.p, second.p);
			abort();
		}
	}
	base_buf_free(&first);
	base_buf_free(&second);
	free(text);
	return 0;
}
