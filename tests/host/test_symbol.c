/*
 * test_symbol.c - the lines of host code: of an access, and of the call that asked for a copy.
 *
 * What is looked up is this program, which is built with -g.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/host.h"
#include "race/race.h"

extern char __executable_start; /* of the linker */

/* Where its caller goes on, from where this program was loaded. */
__attribute__((noinline)) static uint64_t here(void)
{
	return (uint64_t)((char *)__builtin_return_address(0) - &__executable_start);
}

/* Inlined into its caller. */
static inline __attribute__((always_inline)) uint64_t here_inlined(uint32_t *line)
{
	*line = __LINE__ + 1;
	return here();
}

/* And that into another. */
static inline __attribute__((always_inline)) uint64_t here_twice(uint32_t *line, uint32_t *call)
{
	*call = __LINE__ + 1;
	return here_inlined(line);
}

static char program[4096];

static int find_program(void **state)
{
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	(void)state;
	return n > 0 ? 0 : -1;
}

/* ---- accesses --------------------------------------------------------------------- */

static struct race_results results;

static const struct race_finding *access_at(const char *path, uint64_t offset)
{
	struct race_host_find h = {.count = 1,
				   .offset = offset,
				   .kind = RACE_KIND_CLOBBERED_READ,
				   .width = 4,
				   .bytes = 4,
				   .space = RACE_SPACE_MANAGED};
	char chunk[sizeof(h) + sizeof(program)] = {0};

	race_results_free(&results);
	memcpy(chunk, &h, sizeof(h));
	memcpy(chunk + sizeof(h), path, strlen(path) + 1);
	assert_true(race_host_find_read(&results, chunk, sizeof(h) + strlen(path) + 1));
	assert_int_equal(results.findings.n, 1);
	host_symbolise(&results);
	return &results.findings.v[0];
}

static void an_access_gets_function_and_line(void **state)
{
	uint32_t line = __LINE__ + 1;
	const struct race_finding *f = access_at(program, here());

	(void)state;
	assert_string_equal(f->func, "an_access_gets_function_and_line");
	assert_non_null(strstr(f->file, "test_symbol.c"));
	assert_int_equal(f->line, line);
	assert_int_equal(f->ninlined, 0);
}

static void inlined_code_tells_who_called(void **state)
{
	uint32_t line, call = __LINE__ + 1;
	uint64_t at = here_inlined(&line);
	const struct race_finding *f = access_at(program, at);

	(void)state;
	assert_string_equal(f->func, "inlined_code_tells_who_called");
	assert_int_equal(f->line, line);
	assert_int_equal(f->ninlined, 1);
	assert_string_equal(f->inlined[0].func, "here_inlined");
	assert_int_equal(f->inlined[0].line, call);
}

static void inlined_twice_has_both_calls(void **state)
{
	uint32_t line, inner, call = __LINE__ + 1;
	uint64_t at = here_twice(&line, &inner);
	const struct race_finding *f = access_at(program, at);

	(void)state;
	assert_string_equal(f->func, "inlined_twice_has_both_calls");
	assert_int_equal(f->line, line);
	assert_int_equal(f->ninlined, 2);
	assert_string_equal(f->inlined[0].func, "here_inlined");
	assert_int_equal(f->inlined[0].line, inner);
	assert_string_equal(f->inlined[1].func, "here_twice");
	assert_int_equal(f->inlined[1].line, call);
}

static void what_is_no_program_has_no_line(void **state)
{
	static const char *const paths[] = {"/nowhere/app", "/dev/null", "/dev", "/etc/passwd",
					    "linux-vdso.so.1"};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(paths); i++) {
		const struct race_finding *f = access_at(paths[i], 0x1000);
		assert_string_equal(f->func, "");
		assert_int_equal(f->line, 0);
		assert_string_equal(f->object, paths[i]);
	}
	const struct race_finding *f = access_at(program, UINT64_MAX - 9);
	assert_string_equal(f->func, "");
	assert_int_equal(f->line, 0);
}

/* ---- copies ------------------------------------------------------------------------- */

#define CUDA "/nowhere/libcudart.so.13"

/* A copy that CUDA's library was asked for by code at the offset in `path`. */
static const struct race_finding *copy_from(const char *path, uint64_t offset)
{
	struct {
		struct race_transfer t;
		struct race_transfer_frame frames[3];
		char texts[sizeof(program) + 64];
	} c = {.t = {.count = 2, .bytes = 4096, .width = 4, .kind = RACE_KIND_LOST_UPDATE}};
	size_t n = 1;

	race_results_free(&results);
	c.t.nframes = 3;
	memcpy(c.texts + n, CUDA, sizeof(CUDA));
	c.frames[0] = (struct race_transfer_frame){.offset = 0x99, .module = (uint32_t)n};
	n += sizeof(CUDA);
	memcpy(c.texts + n, "cudaMemcpyAsync", sizeof("cudaMemcpyAsync"));
	c.frames[0].symbol = (uint32_t)n;
	n += sizeof("cudaMemcpyAsync");
	memcpy(c.texts + n, path, strlen(path) + 1);
	c.frames[1] = (struct race_transfer_frame){.offset = offset, .module = (uint32_t)n};
	c.frames[2] = c.frames[1]; /* its caller; never printed when frame 1 has a line */
	c.frames[2].offset = here();
	c.t.strings = sizeof(c.texts);
	assert_true(race_transfer_read(&results, &c, sizeof(c), 1));
	host_symbolise(&results);
	return &results.findings.v[0];
}

static void a_copy_stands_where_it_was_called(void **state)
{
	uint32_t line = __LINE__ + 1;
	const struct race_finding *f = copy_from(program, here());

	(void)state;
	assert_string_equal(f->func, "a_copy_stands_where_it_was_called");
	assert_string_equal(f->func_shown, f->func);
	assert_int_equal(f->line, line);
	assert_string_equal(f->transfer->api, "cudaMemcpyAsync");
	assert_string_equal(f->transfer->module, program);
	assert_int_equal(f->nsites, 1);
	assert_int_equal(f->sites[0].site, (uint32_t)f->transfer->offset);
}

static void without_lines_the_nearest_call_is_told(void **state)
{
	const struct race_finding *f = copy_from("/nowhere/app", 0x1234);

	(void)state;
	assert_int_equal(f->line, 0);
	assert_string_equal(f->transfer->module, "/nowhere/app");
	assert_int_equal(f->transfer->offset, 0x1234);
	assert_string_equal(f->transfer->api, "cudaMemcpyAsync");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_access_gets_function_and_line),
		cmocka_unit_test(inlined_code_tells_who_called),
		cmocka_unit_test(inlined_twice_has_both_calls),
		cmocka_unit_test(what_is_no_program_has_no_line),
		cmocka_unit_test(a_copy_stands_where_it_was_called),
		cmocka_unit_test(without_lines_the_nearest_call_is_told),
	};
	int bad = cmocka_run_group_tests(tests, find_program, NULL);

	race_results_free(&results);
	return bad;
}
