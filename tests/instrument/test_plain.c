/*
 * test_plain.c - a kernel's own code once more, without checks (instrument/collide/plain.c): which
 * variables it has, what is tested in it, and that all of it can be taken out again.
 */
#include "instrument/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry k(.param .u32 n, .param .u64 p, .param .u64 q)\n{\n"
			   "\t.reg .pred %p<2>;\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<3>;\n"
			   "\tld.param.u64 %rd1, [p];\n"
			   "\tld.param.u64 %rd2, [q];\n"
			   "\tld.param.u32 %r3, [n];\n"
			   "\tsetp.ne.s32 %p1, %r3, 0;\n"
			   "\t@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];\n"
			   "\tst.global.u32 [%rd2], %r1;\n"
			   "\tret;\n}\n";

/* Its loads and stores are instructions 4 and 5; its pointers are 8 and 16 bytes into the block. */
static struct inst_prune proof(void)
{
	struct inst_prune k = {
		.kernel = "k", .is_whole = true, .narrays = 2, .array = {8, 16}, .nterms = 1};

	k.term[0] = (struct inst_prune_term){.cmp = INST_PRUNE_LE,
					     .a = {INST_PRUNE_PARAM, 0},
					     .b = {INST_PRUNE_CONST, 1},
					     .c = {INST_PRUNE_DIM, 3},
					     .d = {INST_PRUNE_CONST, 64}};
	base_vec_push(&k.tests, ((struct inst_prune_test){4, 0}));
	base_vec_push(&k.tests, ((struct inst_prune_test){5, 1}));
	return k;
}

/* With checks, as a text; the caller frees it. inline_groups: as in inst_options. */
static char *instrumented_so(const char *ptx, const struct inst_prune *k, bool is_relocatable,
			     int inline_groups)
{
	struct inst_options opt = {.sanitize = RACE_DETECT(COLLIDE),
				   .plain = true,
				   .samples = true,
				   .relocatable = is_relocatable,
				   .inline_groups = inline_groups,
				   .prunes = k,
				   .nprunes = k != NULL};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct inst_stats stats;

	setenv("COLLIDER_VERIFY", "1", 1);
	assert_int_equal(inst_text("k.ptx", ptx, strlen(ptx), &opt, &out, &stats, &sink), 0);
	base_sink_free(&sink);
	base_buf_put(&out, "", 1);
	return out.p;
}

static char *instrumented(const struct inst_prune *k, bool is_relocatable)
{
	return instrumented_so(text, k, is_relocatable, 0);
}

static unsigned count(const char *in, const char *what)
{
	unsigned n = 0;

	for (const char *p = in; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* What is between the labels of the copy, cut off there; NULL: there is none. */
static const char *copy_in(char *out)
{
	char *begin = strstr(out, "\n" RACE_PLAIN_BEGIN ":");
	char *end = begin ? strstr(begin, "\n" RACE_PLAIN_END ":") : NULL;

	if (end)
		*end = 0;
	return begin;
}

static void accesses_of_a_proven_kernel_are_tested(void **state)
{
	struct inst_prune k = proof();
	char *out = instrumented(&k, false);

	(void)state;
	assert_non_null(strstr(out, ".const .align 16 .b64 __collider_state_k[6];"));
	/* Two arrays and a term: parameters 1 and 2, then n * 1 <= gridDim.x * 64. */
	assert_non_null(strstr(out, "__collider_proof_k[12] = "
				    "{0x100010002,0x1000000000001,0x1000000000002,0x3,0x2,0x0,0x0,"
				    "0x1,0x1,0x3,0x0,0x40}"));
	const char *copy = copy_in(out);
	assert_non_null(copy);
	assert_int_equal(count(copy, "setp.ge.u64"), 2);
	assert_int_equal(count(copy, "[__collider_state_k+16]"), 1);
	assert_int_equal(count(copy, "[__collider_state_k+32]"), 1);
	assert_non_null(strstr(copy, ", 15;")); /* the last of 8 bytes at 8 */
	assert_int_equal(count(copy, "not.pred"), 1);
	assert_int_equal(count(copy, "red.relaxed.gpu.global.add.u64"), 1);
	assert_int_equal(count(copy, "nanosleep") + count(copy, "call"), 0);
	free(out);
	base_vec_free(&k.tests);
}

static void others_have_a_copy_without_tests(void **state)
{
	struct inst_prune k = proof();
	char *out = instrumented(NULL, false);

	(void)state;
	assert_non_null(strstr(out, "__collider_state_k[2];"));
	assert_null(strstr(out, "__collider_proof_k"));
	const char *copy = copy_in(out);
	assert_non_null(copy);
	assert_int_equal(count(copy, "__collider_"), 0);
	free(out);
	/* One instruction goes to either of two arrays: its address doesn't say which was meant. */
	base_vec_push(&k.tests, ((struct inst_prune_test){5, 0}));
	out = instrumented(&k, false);
	assert_non_null(strstr(out, "__collider_state_k[2];"));
	free(out);
	/* A pointer that no parameter is. */
	k.tests.n--;
	k.array[1] = 24;
	out = instrumented(&k, false);
	assert_null(strstr(out, "__collider_proof_k"));
	free(out);
	out = instrumented(&k, true);
	assert_null(copy_in(out));
	free(out);
	base_vec_free(&k.tests);
}

/* The checks of a large kernel are calls: its copy would take long to assemble, for a sample. */
static void a_large_kernel_has_a_copy_where_it_is_proven(void **state)
{
	struct inst_prune k = proof();
	char *out = instrumented_so(text, NULL, false, -1);

	(void)state;
	assert_null(copy_in(out));
	assert_null(strstr(out, "__collider_state_k"));
	free(out);
	out = instrumented_so(text, &k, false, -1);
	assert_non_null(copy_in(out));
	free(out);
	base_vec_free(&k.tests);
}

/* Nor has one with much code that isn't checked, which takes the time of ptxas. */
static void a_copy_for_a_sample_is_short(void **state)
{
	struct base_buf ptx = {0};
	const char *end = strstr(text, "\tret;");
	struct inst_prune k = proof();

	(void)state;
	base_buf_printf(&ptx, "%.*s", (int)(end - text), text);
	for (unsigned i = 0; i < 200; i++)
		base_buf_printf(&ptx, "\tadd.u32 %%r1, %%r1, %u;\n", i);
	base_buf_printf(&ptx, "%s", end);
	char *out = instrumented_so(ptx.p, NULL, false, 0);
	assert_null(copy_in(out));
	free(out);
	out = instrumented_so(ptx.p, &k, false, 0);
	assert_non_null(copy_in(out));
	free(out);
	base_buf_free(&ptx);
	base_vec_free(&k.tests);
}

/* ptxas refuses more than 64 KiB of .const: the program's come first. */
/* nvcc's own spellings aren't all in our table: what is copied isn't held to it. */
static void a_copy_has_the_spelling_of_its_kernel(void **state)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry k(.param .u64 p)\n{\n"
				  "\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n"
				  "\tld.param.u64 %rd1, [p];\n"
				  "\tatom.global.cta.add.u32 %r1, [%rd1], 1;\n"
				  "\tst.global.u32 [%rd1+4], %r1;\n"
				  "\tret;\n}\n";
	(void)state;

	char *out = instrumented_so(ptx, NULL, false, 0);
	const char *copy = copy_in(out);
	assert_non_null(copy);
	assert_int_equal(count(copy, "atom.global.cta.add.u32"), 1);
	free(out);
}

static void states_are_where_there_is_room(void **state)
{
	static const struct {
		unsigned bytes;
		const char *space;
	} of[] = {{61440, ".const"}, {65536 - 64 - sizeof(struct race_knobs), ".global"}};
	struct base_arena arena = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *code = strstr(text, ".visible");
		char *ptx = base_printf(&arena, "%.*s.const .align 4 .b8 c[%u];\n%s",
					(int)(code - text), text, of[i].bytes, code);
		char *out = instrumented_so(ptx, NULL, false, 0);
		char *what = base_printf(&arena, "%s .align 16 .b64 __collider_state_k[2];",
					 of[i].space);
		assert_non_null(strstr(out, ".const .align 16 .b32 " RACE_KNOBS_SYMBOL));
		assert_non_null(strstr(out, what));
		free(out);
	}
	base_arena_free(&arena);
}

static void it_can_be_taken_out(void **state)
{
	struct base_buf was = {0}, now = {0};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct inst_prune k = proof();
	char *out = instrumented(&k, false);
	struct ptx_module *m = ptx_parse(&arena, "k.ptx", text, sizeof(text) - 1, &sink);

	(void)state;
	assert_non_null(m);
	ptx_print(m, &was);
	m = ptx_parse(&arena, "k.ptx", out, strlen(out), &sink);
	assert_non_null(m);
	assert_true(inst_strip(m, &sink));
	ptx_print(m, &now);
	base_buf_put(&was, "", 1);
	base_buf_put(&now, "", 1);
	assert_string_equal(strstr(was.p, ".entry"), strstr(now.p, ".entry"));
	free(out);
	base_vec_free(&k.tests);
	base_buf_free(&was);
	base_buf_free(&now);
	base_sink_free(&sink);
	base_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accesses_of_a_proven_kernel_are_tested),
		cmocka_unit_test(others_have_a_copy_without_tests),
		cmocka_unit_test(a_large_kernel_has_a_copy_where_it_is_proven),
		cmocka_unit_test(a_copy_for_a_sample_is_short),
		cmocka_unit_test(a_copy_has_the_spelling_of_its_kernel),
		cmocka_unit_test(states_are_where_there_is_room),
		cmocka_unit_test(it_can_be_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
