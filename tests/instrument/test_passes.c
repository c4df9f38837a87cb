/*
 * test_passes.c - the verifier stands after every pass, and finds what a pass breaks.
 */
#include "instrument/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry k(.param .u64 p)\n{\n"
			   "\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n"
			   "\tld.param.u64 %rd1, [p];\n"
			   "\tld.global.u32 %r1, [%rd1];\n"
			   "\tst.global.u32 [%rd1+4], %r1;\n"
			   "\tret;\n}\n";

static struct ptx_module *parse(struct base_arena *arena, struct base_sink *sink)
{
	struct ptx_module *m = ptx_parse(arena, "k.ptx", text, sizeof(text) - 1, sink);

	assert_non_null(m);
	return m;
}

static struct ptx_func *kernel_of(struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->inserted)
			return it->func;
	}
	fail();
	return NULL;
}

static void every_pass_is_verified(void **state)
{
	static const char *const names[] = {
		"",
#define PASS(id, name, ...) name,
#include "base/passes.def"
	};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *m = parse(&arena, &sink);
	struct ptx_func *f = kernel_of(m);

	(void)state;
	assert_true(inst_is_sound(m));
	for (unsigned p = 1; p < INST_PASSES; p++)
		assert_true(inst_pass_end(m, (enum inst_pass)p, p % 2 ? f : NULL, &sink));
	/* An addition whose result is wider than its type. */
	struct ptx_stmt *s = ptx_new_stmt(m, PTX_STMT_INST);
	struct ptx_opnd *ops = BASE_NEWN(&arena, struct ptx_opnd, 3);
	for (unsigned i = 0; i < 3; i++)
		ops[i] = ptx_opnd_reg(f, ptx_new_reg(m, f, PTX_TYPE_B64));
	s->inserted = true;
	s->form = ptx_form_get(m, PTX_STR("add.u32"));
	s->ops = ops;
	s->nops = 3;
	s->pred = PTX_NO_REG;
	ptx_insert_before(f, NULL, s);
	assert_false(inst_is_sound(m));
	for (unsigned p = 1; p < INST_PASSES; p++) {
		struct base_sink said = {0};
		struct base_buf b = {0};

		assert_false(inst_pass_end(m, (enum inst_pass)p, p % 2 ? f : NULL, &said));
		for (size_t i = 0; i < said.diags.n; i++)
			base_buf_puts(&b, said.diags.v[i].text);
		base_buf_put(&b, "", 1);
		assert_non_null(strstr(b.p, names[p]));
		base_buf_free(&b);
		base_sink_free(&said);
	}
	base_sink_free(&sink);
	base_arena_free(&arena);
}

static void what_a_front_end_wrote_is_not_judged(void **state)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct inst_options opt = {.sanitize = RACE_DETECT(COLLIDE)};
	struct inst_stats stats;
	struct ptx_module *m = parse(&arena, &sink);

	(void)state;
	setenv("COLLIDER_VERIFY", "1", 1);
	assert_true(inst_verifies());
	/* The program's own load of 64 bits into 32: ptxas has the word. */
	ptx_each_stmt(kernel_of(m), s)
	{
		if (s->kind == PTX_STMT_INST && s->form->space == PTX_SPACE_GLOBAL)
			s->form = ptx_form_get(m, PTX_STR("ld.global.u64"));
		if (s->kind == PTX_STMT_INST && s->form->space == PTX_SPACE_GLOBAL)
			break;
	}
	assert_false(inst_is_sound(m));
	assert_int_equal(inst_run(m, &opt, &stats, &sink), 0);
	base_sink_free(&sink);
	base_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pass_is_verified),
		cmocka_unit_test(what_a_front_end_wrote_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
