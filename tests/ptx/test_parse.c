/*
 * test_parse.c - each construct of PTX: what the IR says about it, and how it
 * prints.
 */
#include "ptx/parse.h"

#include <setjmp.h>
#include <stdlib.h>
/* cmocka wants those three first */
#include <cmocka.h>

#define HEAD ".version 9.0\n.target sm_90a, debug\n.address_size 64\n"

static struct base_arena arena;
static struct base_sink sink;
static struct base_buf out;

static int clean(void **state)
{
	(void)state;
	base_arena_free(&arena);
	base_sink_free(&sink);
	base_buf_free(&out);
	return 0;
}

/* The module of HEAD and `text`, which must be fine. */
static struct ptx_module *parse(const char *text)
{
	char *whole = base_printf(&arena, HEAD "%s", text);
	struct ptx_module *m = ptx_parse(&arena, "t.ptx", whole, strlen(whole), &sink);

	base_sink_print(&sink, stderr);
	assert_non_null(m);
	return m;
}

/* The function of a body with some registers declared; *m gets the module. */
static struct ptx_func *body(const char *text, struct ptx_module **m)
{
	*m = parse(
		base_printf(&arena,
			    ".global .b32 g[4]; .entry k(.param .u64 par) { .reg .b32 %%r<20>; "
			    ".reg .b64 %%rd<9>; .reg .pred %%p<4>, q; .reg .v4 .f32 v; .reg .f32 "
			    "%%f<9>; %s }",
			    text));
	return (*m)->last->func;
}

/* The n-th instruction. */
static struct ptx_stmt *inst(struct ptx_func *f, unsigned n)
{
	ptx_each_stmt(f, s) if (s->kind == PTX_STMT_INST && n-- == 0) return s;
	fail();
	return NULL;
}

static void check_print(const struct ptx_func *f, const struct ptx_stmt *s, const char *want)
{
	base_buf_free(&out);
	ptx_print_stmt(f, s, &out);
	base_buf_put(&out, "", 1);
	assert_string_equal(out.p, want);
}

#define assert_str(s, lit) assert_true(ptx_str_is((s), (lit)))

static void module_head(void **state)
{
	(void)state;
	struct ptx_module *m = parse(".file 3 \"a b.cu\", 17, 4\n.pragma \"x\";\n.entry k() {}\n");

	assert_int_equal(m->ver_major, 9);
	assert_int_equal(m->sm, 90);
	assert_int_equal(m->sm_suffix, 'a');
	assert_true(m->debug);
	assert_int_equal(m->address_size, 64);
	assert_int_equal(m->first->kind, PTX_ITEM_FILE);
	assert_int_equal(m->first->file_id, 3);
	assert_str(m->first->file_name, "a b.cu");
	assert_int_equal(m->first->next->kind, PTX_ITEM_PRAGMA);
	ptx_raise_version(m, 8, 5);
	assert_int_equal(m->ver_major, 9);
	ptx_raise_version(m, 9, 1);
	assert_int_equal(m->ver_minor, 1);
}

static void variables(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse(".visible .global .attribute(.managed) .align 16 .v2 .f32 a[3][4], b = {1.0, "
		      "2.0};\n"
		      ".extern .shared .align 8 .b8 dyn[];\n.weak .const .u64 c = generic(a);\n");
	struct ptx_var *v = m->first->var;

	assert_int_equal(v->linkage, PTX_LINK_VISIBLE);
	assert_int_equal(v->space, PTX_SPACE_GLOBAL);
	assert_int_equal(v->type, PTX_TYPE_F32);
	assert_int_equal(v->vec, 2);
	assert_int_equal(v->align, 16);
	assert_int_equal(v->bytes, 3 * 4 * 8);
	assert_true(v->is_managed);
	assert_false(v->has_init);
	v = m->first->next->var;
	assert_str(v->name, "b");
	assert_true(v->has_init);
	assert_str(v->text,
		   ".visible .global .attribute(.managed) .align 16 .v2 .f32 b = {1.0, 2.0}");
	v = m->first->next->next->var;
	assert_true(v->is_unsized);
	assert_int_equal(v->space, PTX_SPACE_SHARED);
	assert_int_equal(m->last->var->linkage, PTX_LINK_WEAK);
}

static void function_heads(void **state)
{
	(void)state;
	struct ptx_module *m = parse(
		".extern .func (.param .b32 r) ext(.param .b64 a, .param .align 8 .b8 b[12]);\n"
		".func (.reg .b32 r) f(.reg .b64 x) .noreturn { mov.b32 r, 1; }\n"
		".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u32 n)\n"
		".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40 .pragma \"a;{b\"; "
		".reqnctapercluster 2, 1, 1\n{ ret; }\n");
	struct ptx_func *f = m->first->func;

	assert_true(f->is_proto);
	assert_int_equal(f->nrets, 1);
	assert_int_equal(f->nparams, 2);
	assert_int_equal(f->params->next->bytes, 12);
	f = m->first->next->func;
	assert_false(f->is_proto);
	assert_true(f->is_noreturn);
	assert_int_equal(f->params->space, PTX_SPACE_REG);
	assert_int_equal(inst(f, 0)->ops[0].reg, f->rets->reg);
	f = m->last->func;
	assert_true(f->is_entry);
	assert_int_equal(f->params->ptr_space, PTX_SPACE_GLOBAL);
	assert_int_equal(f->params->ptr_align, 16);
	assert_int_equal(f->maxntid[0], 128);
	assert_int_equal(f->maxntid[1], 2);
	assert_int_equal(f->maxntid[2], 1);
	assert_int_equal(f->minnctapersm, 3);
	assert_int_equal(f->maxnreg, 40);
	assert_true(f->has_cluster);
	assert_int_equal(f->ninsts, 1);
	f->extra_attrs = PTX_STR(".noreturn");
	ptx_print(m, &out);
	base_buf_put(&out, "", 1);
	assert_non_null(strstr(out.p, ".reqnctapercluster 2, 1, 1\n.noreturn\n{"));
}

static void immediates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum ptx_opnd_kind kind;
		int64_t value;
		unsigned flags;
	} cases[] = {
		{"12", PTX_OPND_INT, 12, 0},
		{"-12", PTX_OPND_INT, -12, PTX_OPND_NEG},
		{"0x1F", PTX_OPND_INT, 31, 0},
		{"-0x10", PTX_OPND_INT, -16, PTX_OPND_NEG},
		{"010", PTX_OPND_INT, 8, 0},
		{"0b101U", PTX_OPND_INT, 5, PTX_OPND_UNSIGNED},
		{"0", PTX_OPND_INT, 0, 0},
		{"7U", PTX_OPND_INT, 7, PTX_OPND_UNSIGNED},
		{"18446744073709551615", PTX_OPND_INT, -1, 0},
		{"0f3F800000", PTX_OPND_F32, 0x3f800000, 0},
		{"0dBFF0000000000000", PTX_OPND_F64, (int64_t)0xbff0000000000000ull, 0},
		{"1.5", PTX_OPND_F64, 0x3ff8000000000000, 0},
		{"-1.5", PTX_OPND_F64, (int64_t)0xbff8000000000000ull, PTX_OPND_NEG},
		{"15e-1", PTX_OPND_F64, 0x3ff8000000000000, 0},
		{"(4*8)+2", PTX_OPND_EXPR, 34, 0},
		{"1<<4|1", PTX_OPND_EXPR, 17, 0},
		{"WARP_SZ * 2 - 1", PTX_OPND_EXPR, 63, 0},
		{"!0", PTX_OPND_EXPR, 1, 0},
		{"~5", PTX_OPND_EXPR, -6, 0},
		{"-(3)", PTX_OPND_EXPR, -3, 0},
		{"2 > 1 ? 7 : 8", PTX_OPND_EXPR, 7, 0},
	};

	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct ptx_module *m;
		char *text = base_printf(&arena, "mov.b64 %%rd1, %s;", cases[i].text);
		struct ptx_func *f = body(text, &m);
		struct ptx_opnd *o = &inst(f, 0)->ops[1];

		assert_int_equal(o->kind, cases[i].kind);
		assert_int_equal(o->imm, cases[i].value);
		assert_int_equal(o->flags, cases[i].flags);
		check_print(f, inst(f, 0), text);
	}
}

static void addresses(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f =
		body("ld.b32 %r1, [%rd1]; ld.b32 %r1, [%rd1+4]; ld.b32 %r1, [%rd1+-4]; "
		     "ld.b32 %r1, [%rd1-4]; ld.b32 %r1, [g+(2*4)]; ld.b32 %r1, [4096]; "
		     "ld.b32 %r1, [par+0]; tex.2d.v4.f32.s32 v, [t, s, {%r1, %r2}]; "
		     "ld.global.b32 %r1, [%rd1].unified, %rd2;",
		     &m);
	static const int64_t offs[] = {0, 4, -4, -4, 8, 0, 0};
	static const char *const texts[] = {
		"ld.b32 %r1, [%rd1];",
		"ld.b32 %r1, [%rd1+4];",
		"ld.b32 %r1, [%rd1+-4];",
		"ld.b32 %r1, [%rd1-4];",
		"ld.b32 %r1, [g+8];",
		"ld.b32 %r1, [4096];",
		"ld.b32 %r1, [par+0];",
		"tex.2d.v4.f32.s32 v, [t, s, {%r1, %r2}];",
		"ld.global.b32 %r1, [%rd1].unified, %rd2;",
	};

	for (unsigned i = 0; i < BASE_COUNTOF(texts); i++) {
		check_print(f, inst(f, i), texts[i]);
		assert_int_equal(inst(f, i)->ops[1].kind, PTX_OPND_ADDR);
		if (i < BASE_COUNTOF(offs))
			assert_int_equal(inst(f, i)->ops[1].off, offs[i]);
	}
	assert_ptr_equal(inst(f, 4)->ops[1].sub[0].var, m->first->var);
	assert_int_equal(inst(f, 5)->ops[1].sub[0].imm, 4096);
	assert_int_equal(inst(f, 7)->ops[1].nsub, 3);
	assert_int_equal(inst(f, 7)->ops[1].sub[2].kind, PTX_OPND_VEC);
}

static void register_operands(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f = body("setp.lt.and.s32 %p1|q, %r1, WARP_SZ, !%p2; mov.u32 %r2, %tid.x; "
				  "mov.b64 {%r1, _}, %rd1; st.f32 [%rd1], v.y; @!q bra A; A: "
				  "vadd.u32.u32.u32 %r1, %r2.b1, %r3.h10;",
				  &m);
	struct ptx_stmt *s = inst(f, 0);

	assert_int_equal(s->ops[0].kind, PTX_OPND_PAIR);
	assert_int_equal(f->reg_type[s->ops[0].sub[1].reg], PTX_TYPE_PRED);
	assert_int_equal(s->ops[2].kind, PTX_OPND_SPECIAL);
	assert_int_equal(s->ops[3].flags, PTX_OPND_NOT);
	check_print(f, s, "setp.lt.and.s32 %p1|q, %r1, WARP_SZ, !%p2;");
	assert_str(inst(f, 1)->ops[1].text, "%tid.x");
	assert_int_equal(inst(f, 2)->ops[0].sub[1].kind, PTX_OPND_SINK);
	assert_int_equal(inst(f, 3)->ops[1].comp, 2);
	check_print(f, inst(f, 3), "st.f32 [%rd1], v.y;");
	s = inst(f, 4);
	assert_true(s->is_pred_not);
	assert_str(ptx_reg_name(f, s->pred), "q");
	assert_int_equal(s->ops[0].flags & PTX_OPND_LABEL, PTX_OPND_LABEL);
	assert_ptr_equal(s->ops[0].label->at, s->next);
	check_print(f, inst(f, 5), "vadd.u32.u32.u32 %r1, %r2.b1, %r3.h10;");
}

static void scopes_shadow(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f =
		body("mov.b32 %r1, 0; { .reg .b32 %r<3>, q; mov.b32 %r1, q; mov.b32 %r7, 1; "
		     "{ .reg .b64 %r1; mov.b64 %r1, 2; } A: bra A; } "
		     "mov.b32 %r1, 3; A: bra A; { bra A; } { bra B; B: }",
		     &m);
	uint32_t outer = inst(f, 0)->ops[0].reg, inner = inst(f, 1)->ops[0].reg;
	uint32_t single = inst(f, 3)->ops[0].reg;

	assert_true(outer != inner && inner != single && outer != single);
	assert_int_equal(inst(f, 2)->ops[0].reg, outer + 6); /* beyond the inner family */
	assert_int_equal(f->reg_type[single], PTX_TYPE_B64);
	assert_int_equal(inst(f, 5)->ops[0].reg, outer);
	assert_str(ptx_reg_name(f, outer + 6), "%r7");
	assert_str(ptx_reg_name(f, inner), "%r1");
	assert_true(inst(f, 4)->ops[0].label != inst(f, 6)->ops[0].label);
	assert_ptr_equal(inst(f, 7)->ops[0].label, inst(f, 6)->ops[0].label);
	assert_non_null(inst(f, 8)->ops[0].label);
}

static void calls_and_tables(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f = body(
		"pr: .callprototype (.param .b32 _) _ (.param .b32 _); ts: .branchtargets A, B; "
		"call.uni (%r1), fn, (%r2, 4); call (%r1), %rd1, (), pr; call fn; brx.idx %r1, ts; "
		"A: B: ret;",
		&m);
	struct ptx_stmt *s = inst(f, 0);

	assert_int_equal(s->ops[0].kind, PTX_OPND_LIST);
	assert_int_equal(s->ops[1].kind, PTX_OPND_SYM);
	assert_null(s->ops[1].label);
	assert_int_equal(s->ops[2].nsub, 2);
	s = inst(f, 1);
	assert_int_equal(s->ops[3].flags & PTX_OPND_LABEL, PTX_OPND_LABEL);
	assert_int_equal(s->ops[3].label->at->kind, PTX_STMT_PROTO);
	s = inst(f, 3)->ops[1].label->at;
	assert_int_equal(s->kind, PTX_STMT_TARGETS);
	assert_int_equal(s->ntargets, 2);
	assert_int_equal(s->targets[1].label->at->kind, PTX_STMT_LABEL);
	check_print(f, s, "ts: .branchtargets A, B;");
}

static void locations(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f = body("\n.loc 1 20 3\nmov.b32 %r1, 1;\n.loc 2 5 7, function_name "
				  "$L__info_string1+2, inlined_at 1 21 9\n\tmov.b32 %r1, 2;",
				  &m);
	const struct ptx_loc *loc = inst(f, 1)->loc;

	assert_int_equal(inst(f, 0)->loc->line, 20);
	assert_int_equal(loc->file, 2);
	assert_int_equal(loc->col, 7);
	assert_str(loc->func_sym, "$L__info_string1");
	assert_int_equal(loc->func_off, 2);
	assert_int_equal(loc->in_line, 21);
	assert_int_equal(inst(f, 1)->line, 8);
	assert_int_equal(inst(f, 1)->col, 2);
}

static void debug_strings(void **state)
{
	(void)state;
	struct ptx_module *m = parse(".entry k() { }\n.section .debug_info { .b32 .debug_str }\n"
				     ".section .debug_str\n{\nA: // } braces\n.b8 104,105\n.b8 0\n"
				     "B:\n.b8 0x61,98,0 }\n");

	assert_str(ptx_debug_string(m, PTX_STR("A"), 0), "hi");
	assert_str(ptx_debug_string(m, PTX_STR("A"), 1), "i");
	assert_str(ptx_debug_string(m, PTX_STR("A"), 3), "ab");
	assert_str(ptx_debug_string(m, PTX_STR("B"), 0), "ab");
	assert_str(ptx_debug_string(m, PTX_STR("C"), 0), "");
	assert_str(ptx_debug_string(m, PTX_STR("B"), 900), "");
	assert_int_equal(m->last->kind, PTX_ITEM_SECTION);
}

static void unknown_is_kept(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f =
		body("frobnicate.v9::x.b32 {%r1, %r2}, [%rd1, {3}], %p1, foo; .newdir 1, {2};", &m);

	assert_int_equal(m->nunknown, 1);
	check_print(f, inst(f, 0), "frobnicate.v9::x.b32 {%r1, %r2}, [%rd1, {3}], %p1, foo;");
	assert_int_equal(f->last->kind, PTX_STMT_RAW);
	check_print(f, f->last, ".newdir 1, {2};");
}

static void edits(void **state)
{
	(void)state;
	struct ptx_module *m;
	struct ptx_func *f = body("mov.b32 %r1, 1; ret;", &m);
	struct ptx_stmt *s = ptx_new_stmt(m, PTX_STMT_INST), *l = ptx_new_stmt(m, PTX_STMT_LABEL);
	uint32_t r = ptx_new_reg(m, f, PTX_TYPE_B32), p = ptx_new_reg(m, f, PTX_TYPE_PRED);

	s->form = ptx_form_get(m, PTX_STR("add.s32"));
	s->nops = 3;
	s->ops = BASE_NEWN(&arena, struct ptx_opnd, 3);
	s->ops[0] = ptx_opnd_reg(f, r);
	s->ops[1] = ptx_opnd_sym(PTX_STR("g"));
	s->ops[2] = ptx_opnd_int(m, INT64_MIN);
	s->pred = p;
	ptx_insert_before(f, inst(f, 1), s);
	l->label = ptx_new_label(m, f);
	ptx_insert_after(f, s, l);
	ptx_remove(f, inst(f, 0));
	ptx_declare_new_regs(m, f);
	ptx_declare_new_regs(m, f); /* nothing new: nothing more */
	assert_ptr_equal(l->label->at, l);
	assert_int_equal(f->ninsts, 2);
	ptx_print(m, &out);
	base_buf_put(&out, "", 1);
	assert_non_null(
		strstr(out.p, "{\n\t.reg .b32 %collider_44;\n\t.reg .pred %collider_45;\n"));
	assert_non_null(strstr(out.p, "\t@%collider_45 add.s32 %collider_44, g, "
				      "-9223372036854775808;\n$collider_0:\n\tret;\n}\n"));
}

static void fragments(void **state)
{
	(void)state;
	static const char text[] =
		".reg .b32 t; @!$p bra $done; ld.b32 $x, [$addr+4]; add.s32 t, $x, 1;"
		" bra $L_in; $L_in: $done: mov.b64 {$x, t}, $y; ";
	struct ptx_module *m;
	struct ptx_func *f = body("", &m), *scratch = BASE_NEW(&arena, struct ptx_func);

	assert_non_null(f);
	assert_true(ptx_parse_fragment(m, scratch, "frag", text, strlen(text), &sink));
	struct ptx_stmt *s = inst(scratch, 0);
	assert_str(s->pred_text, "$p");
	assert_int_equal(s->pred, PTX_NO_REG);
	assert_int_equal(s->ops[0].kind, PTX_OPND_HOLE);
	assert_str(s->ops[0].text, "$done");
	check_print(scratch, s, "@!$p bra $done;");
	assert_int_equal(inst(scratch, 1)->ops[1].sub[0].kind, PTX_OPND_HOLE);
	assert_int_equal(inst(scratch, 1)->ops[1].off, 4);
	assert_int_equal(inst(scratch, 3)->ops[0].flags & PTX_OPND_LABEL, PTX_OPND_LABEL);
	assert_int_equal(inst(scratch, 4)->ops[0].sub[0].kind, PTX_OPND_HOLE);
	assert_true(s->inserted);
	assert_false(ptx_parse_fragment(m, scratch, "bad", "mov.b32 }", 9, &sink));
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, clean)
	const struct CMUnitTest tests[] = {
		T(module_head), T(variables),	      T(function_heads),  T(immediates),
		T(addresses),	T(register_operands), T(scopes_shadow),	  T(calls_and_tables),
		T(locations),	T(debug_strings),     T(unknown_is_kept), T(edits),
		T(fragments),
	};

	return cmocka_run_group_tests_name("ptx parse", tests, NULL, NULL);
}
