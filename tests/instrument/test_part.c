/*
 * test_part.c - reads of arrays that a launch doesn't write (instrument/prune/part.c): which keep
 * their check in any launch, which lose it in some, and what is tested for that.
 */
#include "instrument/internal.h"
#include "race/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BOTH (RACE_DETECT(HIRACE) | RACE_DETECT(IGUARD))

/* A kernel of two pointers p, q in %rd1, %rd2 and a number in %r1. */
#define KERNEL(body)                                                                               \
	".version 8.0\n.target sm_80\n.address_size 64\n"                                          \
	".global .align 4 .b8 v[64];\n.global .align 4 .b8 __cudart_t[8] = {1, 2};\n"              \
	".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"                      \
	"\t.reg .pred %p<2>;\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<5>;\n"                           \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u64 %rd2, [q];\n\tld.param.u32 %r1, [n];\n"         \
	"\tsetp.ne.s32 %p1, %r1, 0;\n" body "\tret;\n}\n"

static char *instrumented_so(const char *ptx, unsigned sanitize, bool plain, bool samples)
{
	struct inst_options opt = {.sanitize = sanitize, .plain = plain, .samples = samples};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct inst_stats stats;

	setenv("COLLIDER_VERIFY", "1", 1);
	assert_int_equal(inst_text("k.ptx", ptx, strlen(ptx), &opt, &out, &stats, &sink), 0);
	base_sink_free(&sink);
	base_buf_put(&out, "", 1);
	return out.p;
}

static char *instrumented(const char *ptx, unsigned sanitize, bool plain)
{
	return instrumented_so(ptx, sanitize, plain, plain);
}

static unsigned count(const char *in, const char *what)
{
	unsigned n = 0;

	for (const char *p = in; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* The kernel, after our functions. */
static const char *kernel_in(const char *out)
{
	const char *at = strstr(out, ".entry k(");

	assert_non_null(at);
	return at;
}

/* RACE_PLAIN_*, as the agent reads them; 0: there is nothing to read. */
static unsigned flags_in(const char *out)
{
	const char *at = strstr(out, "__collider_proof_k[");

	return at ? (unsigned)(strtoull(strchr(at, '{') + 1, NULL, 16) >> 32 & 0xffff) : 0;
}

/* How many reads the text leaves out in some launches, and how many writes it tests. */
static void expect(const char *ptx, unsigned sanitize, unsigned reads, unsigned writes)
{
	char *out = instrumented(ptx, sanitize, true);

	assert_int_equal(count(kernel_in(out), "setp.lt.and.u64"), reads + (reads != 0));
	assert_int_equal(count(kernel_in(out), "setp.ge.u64"), writes);
	assert_int_equal((flags_in(out) & RACE_PLAIN_PART) != 0, reads != 0);
	free(out);
}

static const char copy[] = KERNEL("\tld.global.u32 %r2, [%rd1+4];\n"
				  "\t@!%p1 st.global.u32 [%rd2+12], %r1;\n"
				  "\tst.global.u32 [%rd2], %r2;\n");

static void what_is_only_read_needs_no_check(void **state)
{
	char *out = instrumented(copy, RACE_DETECT(HIRACE), true);

	(void)state;
	/* The write's pointer first, then the read's; a sample where nothing is beside it. */
	assert_non_null(strstr(out, ".const .align 16 .b64 __collider_state_k[6];"));
	assert_non_null(strstr(out, "__collider_proof_k[3] = "
				    "{0x1200000002,0x4000000000001,0x2000000000000}"));
	assert_int_equal(count(out, "[__collider_state_k+16]"), 2);
	assert_int_equal(count(out, "[__collider_state_k+32]"), 1);
	assert_non_null(strstr(out, ", 15;")); /* the last of 4 bytes at 12 */
	assert_non_null(strstr(out, ", 7;"));
	assert_int_equal(count(kernel_in(out), "not.pred"), 1); /* the write's guard */
	assert_non_null(strstr(out, "[__collider_hirace+"));
	free(out);
	expect(copy, RACE_DETECT(HIRACE), 1, 2);
	/* Each detector skips; the first one tests. */
	expect(copy, BOTH, 2, 2);
	expect(copy, RACE_DETECT(IGUARD) | RACE_DETECT(WATCH), 1, 2);
	out = instrumented(copy, RACE_DETECT(HIRACE), false);
	assert_null(strstr(out, "__collider_state_k"));
	free(out);
}

/* What the text has of the read's own: checks by call, products that are asked about, and notes
 * that are dropped. */
static void expect_use(const char *ptx, bool plain, unsigned asked, unsigned dropped)
{
	char *out = instrumented(ptx, RACE_DETECT(HIRACE), plain);
	unsigned none = 0;

	for (const char *p = kernel_in(out); (p = strstr(p, "mov.u64 %collider_")); p++)
		none += strncmp(strchr(p, ','), ", 0;", 4) == 0;
	assert_int_equal(none, dropped);
	assert_int_equal(count(kernel_in(out), "setp.ne.b32"), asked);
	/* One where it is used, and the write's. */
	assert_int_equal(count(kernel_in(out), " __collider_hirace_g,"), 2);
	assert_int_equal(count(kernel_in(out), " __collider_hirace_hold,"), 0);
	free(out);
}

/* The compiler may have invented the read. One that is left out has no note, so that nothing is
 * checked where it is used. */
static void what_is_checked_at_its_use_needs_none(void **state)
{
	const char *guarded = KERNEL("\tld.global.u32 %r2, [%rd1];\n"
				     "\t@%p1 st.global.u32 [%rd2], %r2;\n");
	const char *product = KERNEL("\tld.global.u32 %r2, [%rd1];\n"
				     "\tmul.lo.s32 %r3, %r2, %r1;\n"
				     "\tst.global.u32 [%rd2], %r3;\n");

	(void)state;
	expect(guarded, RACE_DETECT(HIRACE), 1, 1);
	expect(product, BOTH, 2, 1);
	/* At the product alone, where the other factor isn't 0. */
	expect_use(product, false, 1, 0);
	/* Before the branch that leaves it out, and after its check. */
	expect_use(product, true, 1, 2);
	/* Used beyond a barrier: it is held and counted, but for where it is left out. */
	expect(KERNEL("\tld.global.u32 %r2, [%rd1];\n\tbar.sync 0;\n"
		      "\t@%p1 st.global.u32 [%rd2], %r2;\n"),
	       BOTH, 4, 1);
}

static void what_may_be_written_keeps_it(void **state)
{
	(void)state;
	/* By the same pointer, also where that was moved on. */
	expect(KERNEL("\tld.global.u32 %r2, [%rd1];\n\tadd.s64 %rd3, %rd1, 4;\n"
		      "\tst.global.u32 [%rd3], %r2;\n"),
	       BOTH, 0, 0);
	/* By an atomic. */
	expect(KERNEL("\tld.global.u32 %r2, [%rd1];\n\tred.relaxed.gpu.global.add.u32 [%rd1], 1;\n"
		      "\tst.global.u32 [%rd2], %r2;\n"),
	       RACE_DETECT(HIRACE), 0, 0);
	/* Through a pointer from memory; to a variable; by either of two. */
	expect(KERNEL("\tld.global.u64 %rd3, [%rd1];\n\tst.global.u32 [%rd3], %r1;\n"),
	       RACE_DETECT(HIRACE), 0, 0);
	expect(KERNEL("\tld.global.u32 %r2, [%rd1];\n\tst.global.u32 [v], %r2;\n"),
	       RACE_DETECT(HIRACE), 0, 0);
	expect(KERNEL("\tselp.b64 %rd3, %rd1, %rd2, %p1;\n\tld.global.u32 %r2, [%rd1];\n"
		      "\tst.global.u32 [%rd3], %r2;\n"),
	       RACE_DETECT(HIRACE), 0, 0);
	/* A strong read orders. */
	expect(KERNEL("\tld.relaxed.gpu.global.u32 %r2, [%rd1];\n\tst.global.u32 [%rd2], %r2;\n"),
	       RACE_DETECT(HIRACE), 0, 0);
}

static void what_writes_elsewhere_matters_not(void **state)
{
	(void)state;
	expect(KERNEL("\t.shared .align 4 .b8 s[64];\n\tld.global.u32 %r2, [%rd1];\n"
		      "\tst.shared.u32 [s], %r2;\n\tbar.sync 0;\n\tld.shared.u32 %r3, [s+4];\n"
		      "\tatom.relaxed.gpu.global.add.u32 %r2, [%rd2], %r3;\n"),
	       RACE_DETECT(HIRACE), 1, 1);
	/* By a pointer that a loop moves on. */
	expect(KERNEL("\tmov.b64 %rd3, %rd1;\n$L1:\n\tld.global.u32 %r2, [%rd3];\n"
		      "\tadd.s64 %rd3, %rd3, 4;\n\tst.global.u32 [%rd2], %r2;\n"
		      "\tadd.u32 %r1, %r1, 1;\n\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra $L1;\n"),
	       BOTH, 2, 1);
	/* Nothing is written at all. */
	expect(KERNEL("\tld.global.v2.u32 {%r2, %r3}, [%rd1+8];\n\tadd.u32 %r2, %r2, %r3;\n"
		      "\tsetp.eq.u32 %p1, %r2, 7;\n\t@%p1 trap;\n"),
	       RACE_DETECT(IGUARD), 1, 0);
}

/* Each thread has its own part of q, in some launches. */
static void what_each_thread_has_for_itself_needs_none(void **state)
{
	const char *own =
		KERNEL("\t.reg .b32 %x<4>;\n\tmov.u32 %x1, %ctaid.x;\n\tmov.u32 %x2, %ntid.x;\n"
		       "\tmov.u32 %x3, %tid.x;\n\tmad.lo.s32 %x0, %x1, %x2, %x3;\n"
		       "\tmul.wide.s32 %rd3, %x0, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n"
		       "\tld.global.u32 %r2, [%rd1];\n\tst.global.u32 [%rd4], %r2;\n");
	const char *by_block = KERNEL(
		"\t.reg .b32 %x<4>;\n\tmov.u32 %x1, %ctaid.x;\n\tmul.wide.u32 %rd3, %x1, 4;\n"
		"\tadd.s64 %rd4, %rd2, %rd3;\n\tld.global.u32 %r2, [%rd4];\n"
		"\tst.global.u32 [%rd2], %r2;\n");
	char *out;

	(void)state;
	/* The read and the write are skipped, and both are tested, in the copy, too. */
	expect(own, RACE_DETECT(HIRACE), 2, 4);
	out = instrumented(own, RACE_DETECT(HIRACE), true);
	/* WRITTEN, READ, OWN, TESTED; five terms: four dimensions of 1, and all within 2^32. */
	assert_non_null(strstr(out, "__collider_proof_k[55] = {0x5001a00000004"));
	free(out);
	/* Two indices: nothing is known. */
	expect(by_block, RACE_DETECT(HIRACE), 0, 0);
}

/* It has no check, and of a kernel that reads it besides all can be left out: the write is tested
 * in the copy, too. */
static void a_table_of_sines_needs_no_check(void **state)
{
#define OWN(table)                                                                                 \
	KERNEL("\t.reg .b32 %x<4>;\n\t.reg .b64 %t<2>;\n\tmov.u32 %x1, %ctaid.x;\n\tmov.u32 %x2, " \
	       "%ntid.x;\n"                                                                        \
	       "\tmov.u32 %x3, %tid.x;\n\tmad.lo.s32 %x0, %x1, %x2, %x3;\n"                        \
	       "\tmul.wide.s32 %rd3, %x0, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n"                       \
	       "\tmov.u64 %t1, " table ";\n$L1:\n\tld.global.nc.u32 %r2, [%t1];\n"                 \
	       "\tadd.s64 %t1, %t1, 4;\n\tsetp.ne.u32 %p1, %r2, 0;\n\t@%p1 bra $L1;\n"             \
	       "\tst.global.u32 [%rd4], %r2;\n")
	const char *of_math = OWN("__cudart_t"), *of_program = OWN("v");
	char *out = instrumented(of_math, RACE_DETECT(HIRACE), true);

	(void)state;
	assert_int_equal(count(kernel_in(out), "setp.ge.u64"), 2);
	free(out);
	out = instrumented(of_program, RACE_DETECT(HIRACE), true);
	assert_int_equal(count(kernel_in(out), "setp.ge.u64"), 0);
	free(out);
}

/* CUB's kernels have mangled names of 500 characters and more; the variables have them, too. */
static void a_name_may_be_long(void **state)
{
	const char *at = strstr(copy, "k(");
	char name[1001];

	(void)state;
	memset(name, 'k', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	struct base_buf ptx = {0};
	base_buf_printf(&ptx, "%.*s%s%s", (int)(at - copy), copy, name, at + 1);
	char *out = instrumented(ptx.p, BOTH, true);
	assert_int_equal(count(out, " __collider_state_k"), 1);
	free(out);
	base_buf_free(&ptx);
}

static void it_can_be_taken_out(void **state)
{
	struct base_buf was = {0}, now = {0};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *out = instrumented(copy, BOTH, true);
	struct ptx_module *m = ptx_parse(&arena, "k.ptx", copy, sizeof(copy) - 1, &sink);

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
	base_buf_free(&was);
	base_buf_free(&now);
	base_sink_free(&sink);
	base_arena_free(&arena);
}

/* Of a kernel that is proven for all its accesses hirace and iguard make one copy, where iguard
 * leaves the kernel to hirace, too. */
static void expect_one_copy(bool is_left)
{
	struct inst_prune k = {.kernel = "k", .is_whole = true, .narrays = 2, .array = {0, 8}};
	struct inst_options opt = {.sanitize = BOTH,
				   .plain = true,
				   .prunes = &k,
				   .nprunes = 1,
				   .leaves_plain = is_left};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct inst_stats stats;

	base_vec_push(&k.tests, ((struct inst_prune_test){4, 0}));
	base_vec_push(&k.tests, ((struct inst_prune_test){5, 1}));
	base_vec_push(&k.tests, ((struct inst_prune_test){6, 1}));
	assert_int_equal(inst_text("k.ptx", copy, sizeof(copy) - 1, &opt, &out, &stats, &sink), 0);
	base_buf_put(&out, "", 1);
	/* Both for the proof and for a part of it, in the proof's order. */
	assert_non_null(strstr(out.p, "__collider_proof_k[3] = "
				      "{0x1300000002,0x3000000000000,0x5000000000001}"));
	assert_int_equal(count(out.p, "\n" RACE_PLAIN_BEGIN ":"), 1);
	const char *begin = strstr(out.p, "\n" RACE_PLAIN_BEGIN ":");
	assert_non_null(begin);
	assert_int_equal(count(begin, "setp.ge.u64"), 3);
	assert_int_equal(count(begin, "call"), 0);
	assert_int_equal(count(out.p, "max.u64"), 1);
	base_sink_free(&sink);
	base_buf_free(&out);
	base_vec_free(&k.tests);
}

static void a_proven_kernel_has_one_copy(void **state)
{
	(void)state;
	expect_one_copy(false);
	expect_one_copy(true);
}

/* Its copy is for a sample of its launches, too, where nothing is beside them (RACE_PLAIN_ALONE),
 * and where it isn't much to assemble and calls nothing. */
static void launches_may_be_left_out(void **state)
{
	static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   ".func f()\n{\n\tret;\n}\n"
				   ".visible .entry k(.param .u64 p)\n{\n"
				   "\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
				   "\tld.param.u64 %rd1, [p];\n\tld.global.u64 %rd2, [%rd1];\n"
				   "\tst.global.u32 [%rd2], 1;\n";
	struct base_buf ptx = {0};
	char *out;

	(void)state;
	/* Of two accesses 800 lines are the most; the head has some, too. */
	static const struct {
		unsigned lines;
		bool calls, has;
	} cases[] = {{0, false, true}, {0, true, false}, {780, false, true}, {800, false, false}};
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		ptx.n = 0;
		base_buf_printf(&ptx, "%s%s", head, cases[i].calls ? "\tcall f;\n" : "");
		for (unsigned n = 0; n < cases[i].lines; n++)
			base_buf_puts(&ptx, "\tadd.u32 %r1, %r1, 1;\n");
		base_buf_puts(&ptx, "\tret;\n}\n");
		out = instrumented(ptx.p, BOTH, true);
		assert_int_equal(count(out, "\n" RACE_PLAIN_BEGIN ":"), cases[i].has);
		assert_int_equal(flags_in(out), cases[i].has ? RACE_PLAIN_ALONE : 0);
		free(out);
	}
	base_buf_free(&ptx);
}

/* A sample takes no proof: without any the kernel has the copy, and nothing of it is tested, nor is
 * an access of the other code left out. */
static void a_sample_takes_no_proof(void **state)
{
	static const unsigned sets[] = {RACE_DETECT(HIRACE), RACE_DETECT(IGUARD), BOTH};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(sets); i++) {
		char *none = instrumented_so(copy, sets[i], false, false);
		char *out = instrumented_so(copy, sets[i], false, true);
		assert_non_null(strstr(out, "__collider_proof_k[1] = {0x1000000000}"));
		assert_int_equal(flags_in(out), RACE_PLAIN_ALONE);
		assert_int_equal(count(out, "\n" RACE_PLAIN_BEGIN ":"), 1);
		assert_int_equal(count(out, "setp.ge.u64"), count(none, "setp.ge.u64"));
		assert_int_equal(count(out, "call"), count(none, "call"));
		assert_null(strstr(none, "__collider_state_k"));
		free(out);
		free(none);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_only_read_needs_no_check),
		cmocka_unit_test(what_is_checked_at_its_use_needs_none),
		cmocka_unit_test(what_may_be_written_keeps_it),
		cmocka_unit_test(what_writes_elsewhere_matters_not),
		cmocka_unit_test(what_each_thread_has_for_itself_needs_none),
		cmocka_unit_test(a_table_of_sines_needs_no_check),
		cmocka_unit_test(a_name_may_be_long),
		cmocka_unit_test(it_can_be_taken_out),
		cmocka_unit_test(a_proven_kernel_has_one_copy),
		cmocka_unit_test(launches_may_be_left_out),
		cmocka_unit_test(a_sample_takes_no_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
