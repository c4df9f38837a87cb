/*
 * cubin_regs.c - do the kernels of one cubin accept every block size that they accept in another?
 *
 * cubin_regs [--exact] ORIGINAL INSTRUMENTED KERNEL...; --exact: not one register unit more
 * (except for the ABI's minimum of 24). Exit code 1 and a line per kernel that doesn't.
 */
#include "toolchain/internal.h"

#include <string.h>

static unsigned get(const struct tool_reglist *l, const char *name)
{
	unsigned n = tool_reglist_get(l, name);

	if (!n)
		fprintf(stderr, "%s: not in the cubin\n", name);
	return n;
}

int main(int argc, char **argv)
{
	struct base_arena arena = {0};
	struct tool_reglist was = {0}, is = {0};
	bool is_exact = argc > 1 && !strcmp(argv[1], "--exact");
	int at = is_exact ? 2 : 1, bad = 0;

	if (argc < at + 3 || tool_cubin_regs(argv[at], &was, &arena) ||
	    tool_cubin_regs(argv[at + 1], &is, &arena))
		return 2;
	for (int i = at + 2; i < argc; i++) {
		unsigned before = get(&was, argv[i]), after = get(&is, argv[i]);
		unsigned most = is_exact ? (before + 7) / 8 * 8 : tool_fit_cap(before);
		if (most < 24)
			most = 24;
		printf("%s: %u registers, then %u, at most %u\n", argv[i], before, after, most);
		if (!before || !after || after > most) {
			fprintf(stderr, "%s: %u registers, at most %u\n", argv[i], after, most);
			bad = 1;
		}
	}
	base_vec_free(&was);
	base_vec_free(&is);
	base_arena_free(&arena);
	return bad;
}
