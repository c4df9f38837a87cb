/*
 * parse_test.c - command lines, option strings and register caps, without any toolkit.
 */
#include "toolchain/internal.h"
#include "toolchain/toolchain.h"
#include "instrument/instrument.h"

#include <glob.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct base_arena arena;

/* Parses "nvcc ARGS" and gives back what is left for nvcc, joined by blanks. */
static char *left(const char *args, struct tool_nvcc_line *l, struct tool_options *o)
{
	struct tool_strings words = {0};
	struct base_buf b = {0};

	memset(o, 0, sizeof(*o));
	base_vec_push(&words, base_strdup(&arena, "nvcc"));
	tool_split_words(args, &words, &arena);
	int rc = tool_nvcc_parse(l, o, (int)words.n, words.v, &arena);
	base_vec_free(&words);
	if (rc) {
		base_vec_free(&l->args);
		return NULL;
	}
	for (size_t i = 1; i < l->args.n; i++)
		base_buf_printf(&b, "%s%s", i > 1 ? " " : "", l->args.v[i]);
	char *s = base_strndup(&arena, b.p, b.n);
	base_buf_free(&b);
	base_vec_free(&l->args);
	return s;
}

static void ours_are_removed(void **state)
{
	struct tool_nvcc_line l;
	struct tool_options o;

	(void)state;
	assert_string_equal(left("-O2 --trap -c --sanitize=collide k.cu --keep-races", &l, &o),
			    "-O2 -c k.cu");
	assert_true(o.inst.trap && o.keep_races);
	assert_int_equal(o.inst.sanitize, RACE_DETECT(COLLIDE));
	assert_true(l.has_source && !l.has_lineinfo);
}

static void values_of_others_stay(void **state)
{
	struct tool_nvcc_line l;
	struct tool_options o;

	(void)state;
	assert_string_equal(left("-Xcompiler --trap -c k.cu", &l, &o), "-Xcompiler --trap -c k.cu");
	assert_false(o.inst.trap);
	left("-Xcompiler -G k.cu", &l, &o);
	assert_false(l.has_lineinfo);
	/* nvcc 13 has a --sanitize of its own. */
	assert_string_equal(left("--sanitize=memcheck k.cu", &l, &o), "--sanitize=memcheck k.cu");
	assert_null(left("--sanitize=collide,nonsense k.cu", &l, &o));
	assert_null(left("--sanitize= k.cu", &l, &o));
}

static void lineinfo_is_seen(void **state)
{
	static const char *const with[] = {"-lineinfo", "-G", "--generate-line-info",
					   "--device-debug", "-lineinfo=true"};
	static const char *const without[] = {"-g", "-Xcompiler -G", "-Ginger", "-o -G.o"};
	struct tool_nvcc_line l;
	struct tool_options o;

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(with); i++) {
		left(with[i], &l, &o);
		assert_true(l.has_lineinfo);
	}
	for (size_t i = 0; i < BASE_COUNTOF(without); i++) {
		left(without[i], &l, &o);
		assert_false(l.has_lineinfo);
	}
}

static void sources_are_seen(void **state)
{
	static const char *const with[] = {"k.cu", "-x cu k.c", "-x=cu k.c", "k.ptx", "-c a/b.cu"};
	static const char *const without[] = {"k.o", "k.cpp", "a.o -o x.cu", "--version"};
	struct tool_nvcc_line l;
	struct tool_options o;

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(with); i++) {
		left(with[i], &l, &o);
		assert_true(l.has_source);
	}
	for (size_t i = 0; i < BASE_COUNTOF(without); i++) {
		left(without[i], &l, &o);
		assert_false(l.has_source);
	}
}

static void response_files(void **state)
{
	char path[] = "/tmp/collider-parse-XXXXXX";
	struct tool_nvcc_line l;
	struct tool_options o;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	char *args = base_printf(&arena, "-O1 -optf %s -c", path);
	/* Nothing of ours in it: it stays a response file, but is looked at. */
	assert_int_equal(base_write_file(path, "-G k.cu", 7), 0);
	assert_string_equal(left(args, &l, &o), args);
	assert_true(l.has_lineinfo && l.has_source);
	/* Something of ours: replaced by its words, quotes minded. */
	static const char text[] = "\"a b.cu\" --trap\n-o x\\ y";
	assert_int_equal(base_write_file(path, text, sizeof(text) - 1), 0);
	assert_string_equal(left(args, &l, &o), "-O1 a b.cu -o x y -c");
	assert_true(o.inst.trap && l.has_source);
	unlink(path);
	/* Not there: nvcc's to complain about. */
	assert_string_equal(left(args, &l, &o), args);
}

static void options_travel(void **state)
{
	struct tool_options o = {.inst = {.sanitize = RACE_DETECT(COLLIDE), .trap = true},
				 .verbose = true,
				 .root = base_strdup(&arena, "/a:b/c d")};
	struct tool_options p;

	(void)state;
	setenv(TOOL_ENV_OPTIONS, tool_options_encode(&o, &arena), 1);
	assert_int_equal(tool_options_init(&p, &arena), 0);
	assert_string_equal(p.root, "/a:b/c d");
	assert_true(p.inst.trap && p.verbose && !p.keep_races && !p.strict);
	assert_int_equal(p.inst.sanitize, RACE_DETECT(COLLIDE));
	o.inst.sanitize = 0;
	setenv(TOOL_ENV_OPTIONS, tool_options_encode(&o, &arena), 1);
	assert_int_equal(tool_options_init(&p, &arena), 0);
	assert_int_equal(p.inst.sanitize, 0);
	setenv(TOOL_ENV_OPTIONS, "sanitize=collide:nonsense", 1);
	assert_int_equal(tool_options_init(&p, &arena), BASE_EXIT_USAGE);
	unsetenv(TOOL_ENV_OPTIONS);
	assert_int_equal(tool_options_init(&p, &arena), 0);
	assert_int_equal(p.inst.sanitize, RACE_DETECT(COLLIDE));
}

static void dispatch(void **state)
{
	(void)state;
	assert_ptr_equal(tool_by_name("/x/collider-nvcc"), tool_nvcc);
	assert_ptr_equal(tool_by_name("ptxas"), tool_ptxas);
	assert_ptr_equal(tool_by_name("a/nvvm/bin/cicc"), tool_cicc);
	assert_null(tool_by_name("collider"));
	assert_null(tool_by_name("nvcc"));
}

/* Warps of a block that R registers per thread leave room for, counted without a formula. */
static unsigned max_warps(unsigned regs)
{
	unsigned unit = (regs + 7) / 8 * 8, warps = 0;

	while (warps + 4 <= 32 && (warps + 4) * 32 * unit <= 65536)
		warps += 4;
	return warps;
}

static void caps(void **state)
{
	(void)state;
	for (unsigned r = 1; r <= 255; r++) {
		unsigned cap = tool_fit_cap(r);
		assert_true(cap >= r);
		assert_true(max_warps(cap) >= max_warps(r));
		/* and it is the largest such count */
		assert_true(cap == 255 || max_warps(cap + 1) < max_warps(r));
	}
	assert_int_equal(tool_fit_cap(10), 64);
	assert_int_equal(tool_fit_cap(65), 72);
	assert_int_equal(tool_fit_bound(1024, 0, 0), 64);
	assert_int_equal(tool_fit_bound(1024, 2, 0), 32);
	assert_int_equal(tool_fit_bound(256, 0, 0), 255);
	assert_int_equal(tool_fit_bound(0, 0, 40), 40);
	assert_int_equal(tool_fit_bound(0, 0, 0), 255);
}

/* Code that was kept for the next ptxas is taken once, and not where it was cut off or changed. */
static void kept_code(void **state)
{
	char dir[] = "/tmp/kept_XXXXXX", *options[] = {(char *)(uintptr_t) "-O3"}, *text;
	const struct tool_kept k = {"/proc/self/exe", "text", 4, options, 1};
	static const char code[] = "machine code, some bytes of it";
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("XDG_CACHE_HOME", dir, 1);
	assert_int_equal(mkdir(base_printf(&arena, "%s/collider", dir), 0700), 0);
	const char *cubin = base_printf(&arena, "%s/cubin", dir);
	const char *out = base_printf(&arena, "%s/out", dir);
	assert_int_equal(base_write_file(cubin, code, sizeof(code)), 0);
	/* How many bytes are left of it, and which byte is another one; -1: none. */
	static const int cases[][2] = {{-1, -1}, {1000, -1}, {20, -1}, {0, -1}, {-1, 3}, {-1, 40}};
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		tool_keep(&k, cubin, "", "in.ptx");
		glob_t found;
		assert_int_equal(
			glob(base_printf(&arena, "%s/collider/kept/*", dir), 0, NULL, &found), 0);
		assert_int_equal(found.gl_pathc, 1);
		assert_int_equal(base_read_file(found.gl_pathv[0], &text, &n), 0);
		if (cases[i][1] >= 0)
			text[cases[i][1]] ^= 1;
		if (cases[i][0] >= 0 && (size_t)cases[i][0] < n)
			n = (size_t)cases[i][0];
		assert_int_equal(base_write_file(found.gl_pathv[0], text, n), 0);
		free(text);
		globfree(&found);
		bool is_good = cases[i][1] < 0 && (cases[i][0] < 0 || cases[i][0] == 1000);
		assert_int_equal(tool_take(&k, "in.ptx", out), is_good);
		assert_false(tool_take(&k, "in.ptx", out));
		if (!is_good)
			continue;
		assert_int_equal(base_read_file(out, &text, &n), 0);
		assert_int_equal(n, sizeof(code));
		assert_memory_equal(text, code, n);
		free(text);
	}
	unsetenv("XDG_CACHE_HOME");
	unlink(cubin);
	unlink(out);
	rmdir(base_printf(&arena, "%s/collider/kept", dir));
	rmdir(base_printf(&arena, "%s/collider", dir));
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_are_removed), cmocka_unit_test(values_of_others_stay),
		cmocka_unit_test(lineinfo_is_seen), cmocka_unit_test(sources_are_seen),
		cmocka_unit_test(response_files),   cmocka_unit_test(options_travel),
		cmocka_unit_test(dispatch),	    cmocka_unit_test(caps),
		cmocka_unit_test(kept_code),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	base_arena_free(&arena);
	return rc;
}
