/*
 * test_refused.c - text that ptxas refuses, and that the verifier must, since the CPU device and
 * the prover count on what it checks; beside each kind the nearest that ptxas accepts. (ptxas 13.0
 * was asked for every row; before a function's parameter it crashes.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"

static const struct {
	const char *body;
	bool is_refused;
} rows[] = {
	{"@%p1 add.u32 %r1, %r1, 1;", false},
	{"@%r1 add.u32 %r1, %r1, 1;", true},
	{"@%d2 ret;", true},
	{"add.u32 %r1, %r2, %r3;", false},
	{"add.u32 %r1, %d1, %r2;", true},
	{"add.u32 %r1, %r2, %h1;", true},
	{"add.f32 %f1, %f1, %r2;", false},
	{"add.u32 %r1, %r2;", true},
	{"add.u32 %r1, %r2, %r3, %r1;", true},
	{"sub.s64 %d1, %d1, %r1;", true},
	{"mul.wide.u32 %d1, %r2, %r1;", false},
	{"mul.wide.u32 %d1, %d2, %r1;", true},
	{"mad.wide.s32 %d1, %r2, %r1, %d2;", false},
	{"mad.lo.s32 %r1, %r2, %d1, %r1;", true},
	{"and.pred %p1, %p1, %p2;", false},
	{"and.pred %p1, %p1, %r2;", true},
	{"and.b32 %r1, %r1, %p2;", true},
	{"and.b32 %r1, %r1, %d2;", true},
	{"not.b32 %r1, %d1;", true},
	{"neg.s32 %r1, %h1;", true},
	{"setp.eq.u16 %p1, %h1, %h2;", false},
	{"setp.eq.u32 %p1, %d1, %r2;", true},
	{"setp.eq.u32 %r1, %r1, %r2;", true},
	{"selp.b32 %r1, %r2, %r3, %p1;", false},
	{"selp.b32 %r1, %d2, %r2, %p1;", true},
	{"selp.b32 %r1, %r2, %r2, %r1;", true},
	{"shl.b64 %d1, %d2, %r1;", false},
	{"shl.b64 %d1, %r2, %r1;", true},
	{"shl.b32 %r1, %r2, %h1;", true},
	{"shr.u32 %r1, %r2, %d1;", true},
	{"mov.u64 %d1, %d2;", false},
	{"mov.u64 %d1, %r1;", true},
	{"mov.b64 %d1, {%r1, %r2};", false},
	{"popc.b64 %r1, %d2;", false},
	{"popc.b64 %r1, %r2;", true},
	{"cvt.u64.u32 %d1, %d2;", false},
	{"ld.global.u8 %r1, [%d1];", false},
	{"ld.global.u32 %r1, [%p1];", true},
	{"ld.global.u32 %r1, %d1;", true},
	{"ld.global.u64 %r1, [%d1];", true},
	{"st.global.u32 [%d1], %p1;", true},
	{"ld.global.v2.u32 {%r1, %r2}, [%d1];", false},
	{"ld.global.v4.u32 {%r1, %r2}, [%d1];", true},
	{"ld.global.u32 {%r1, %r2}, [%d1];", true},
	{"st.global.v2.u32 [%d1], {%r1, %r2, %r3};", true},
	{"st.global.u32 [%d1];", true},
	{"atom.global.add.u32 %r1, [%d1], %r2;", false},
	{"atom.global.add.u32 %r1, %d1, %r2;", true},
	{"bra %r1;", true},
	{"bra s;", true}, /* a parameter */
	{"bra over;\nover: add.u32 %r1, %r1, 1;", false},
	{"ld.param.u32 %r1, [s+10];", false}, /* a kernel's parameters are memory */
	{"ld.param.u32 %r1, [s+-4];", false},
	{"{ .param .b32 q; st.param.b64 [q], %d1; }", false},
};

static unsigned problems(const char *text)
{
	struct base_arena a = {0};
	struct base_sink sink = {0};
	const struct ptx_module *m = ptx_parse(&a, "row", text, strlen(text), &sink);
	unsigned n = m && !sink.errors ? ptx_verify(m, &sink) : 1;

	base_sink_free(&sink);
	base_arena_free(&a);
	return n;
}

static void rows_are_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		char text[1024];
		snprintf(text, sizeof(text),
			 ".version 8.0\n.target sm_90\n.address_size 64\n"
			 ".visible .entry k(.param .u64 p, .param .b8 s[12])\n{\n"
			 ".reg .b32 %%r<4>; .reg .b64 %%d<4>; .reg .pred %%p<3>; .reg .f32 %%f<3>;"
			 ".reg .b16 %%h<3>;\n%s\nret;\n}\n",
			 rows[i].body);
		if ((problems(text) != 0) != rows[i].is_refused)
			fail_msg("%s: expected %s", rows[i].body,
				 rows[i].is_refused ? "a problem" : "none");
	}
}

/* Those of a function are registers. */
static void parameters_of_functions(void **state)
{
	static const struct {
		const char *address;
		bool is_refused;
	} cases[] = {{"in", false}, {"in+4", false}, {"in+-4", true}, {"in+8", false}};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		char text[512];
		snprintf(text, sizeof(text),
			 ".version 8.0\n.target sm_90\n.address_size 64\n"
			 ".func (.param .b32 out) f(.param .b64 in)\n{\n.reg .b32 %%r<3>;\n"
			 "ld.param.b32 %%r1, [%s];\nst.param.b32 [out], %%r1;\nret;\n}\n",
			 cases[i].address);
		assert_int_equal(problems(text) != 0, cases[i].is_refused);
	}
}

/* The verifier takes what an older version lacks: it is asked for by name. */
static void opcodes_of_a_version(void **state)
{
	static const struct {
		const char *head, *body;
		bool has;
	} cases[] = {
		{".version 8.0\n.target sm_90", "fence.proxy.async;", true},
		{".version 7.8\n.target sm_90", "cp.async.bulk.commit_group;", false},
		{".version 8.0\n.target sm_90", "cp.async.bulk.commit_group;", true},
		{".version 8.0\n.target sm_80", "cp.async.bulk.commit_group;", false},
		{".version 8.6\n.target sm_100a", "tcgen05.wait::ld.sync.aligned;", true},
		{".version 8.6\n.target sm_90", "tcgen05.wait::ld.sync.aligned;", false},
		{".version 6.3\n.target sm_70", "no.such.opcode;", true},
	};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct base_arena a = {0};
		struct base_sink sink = {0};
		char text[256];
		snprintf(text, sizeof(text),
			 "%s\n.address_size 64\n.visible .entry k()\n{\n%s\nret;\n}\n",
			 cases[i].head, cases[i].body);
		const struct ptx_module *m = ptx_parse(&a, "row", text, strlen(text), &sink);
		assert_non_null(m);
		if (ptx_has_its_version(m) != cases[i].has)
			fail_msg("%s: expected %d", text, cases[i].has);
		base_sink_free(&sink);
		base_arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_judged),
		cmocka_unit_test(parameters_of_functions),
		cmocka_unit_test(opcodes_of_a_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
