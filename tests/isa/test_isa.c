/*
 * test_isa.c - the ISA table decodes what the manual writes, and says when it does not know.
 */
#include "ptx/ptx.h"
#include "ptx/forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "samples.h"

static struct base_arena arena;
static struct ptx_forms *forms;

static struct ptx_str str(const char *s)
{
	return (struct ptx_str){s, (uint32_t)strlen(s)};
}

static const struct ptx_form *form(const char *text)
{
	return ptx_forms_intern(forms, str(text));
}

#define CHECK_FIELD(s, have, want)                                                                 \
	do {                                                                                       \
		if ((unsigned)(have) != (unsigned)(want))                                          \
			fail_msg("%s: " #want " is %u, expected %u", (s)->text, (unsigned)(have),  \
				 (unsigned)(want));                                                \
	} while (0)

static void each_row_decodes_to_itself(void **state)
{
	(void)state;
	for (unsigned op = 1; op < PTX_OP_COUNT; op++) {
		const struct ptx_op_info *info = ptx_op_info((enum ptx_op)op);
		const struct ptx_form *f = form(info->name);
		unsigned min, max;

		assert_int_equal(f->op, op);
		assert_string_equal(ptx_op_name((enum ptx_op)f->op), info->name);
		assert_false(f->has_unknown_mod);
		assert_false(f->effects & PTX_EFF_UNKNOWN);
		assert_true(f->nroles <= PTX_MAX_ROLES);
		assert_true(info->version >= 10 && info->version <= 90 && info->sm >= 10);
		for (unsigned i = 0; i < f->nroles; i++)
			assert_int_not_equal(f->roles[i], PTX_ROLE_NONE);
		ptx_op_arity((enum ptx_op)op, &min, &max);
		assert_true(min <= max);
		/* A row that touches memory says where: an address, or descriptors (wgmma). */
		if (f->effects & (PTX_EFF_READ | PTX_EFF_WRITE))
			assert_true(f->space != PTX_SPACE_NONE && f->sem != PTX_SEM_NONE);
	}
}

static void each_part_is_found_by_its_name(void **state)
{
	(void)state;
	for (unsigned m = 1; m < PTX_MOD_COUNT; m++) {
		const char *name = ptx_mod_name((enum ptx_mod)m);

		if (m == PTX_MOD_SHAPE)
			continue;
		assert_int_equal(ptx_mod_find(str(name)), m);
		assert_int_equal(ptx_type_find(str(name)), PTX_TYPE_NONE);
	}
	for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
		assert_int_equal(ptx_type_find(str(ptx_type_name((enum ptx_type)t))), t);
	assert_int_equal(ptx_mod_find(str("m16n8k16")), PTX_MOD_SHAPE);
	assert_int_equal(ptx_mod_find(str("16x32bx2")), PTX_MOD_SHAPE);
	assert_int_equal(ptx_mod_find(str("m16n8k")), PTX_MOD_UNKNOWN);
	assert_int_equal(ptx_mod_find(str("m16")), PTX_MOD_UNKNOWN);
	assert_int_equal(ptx_mod_find(str("16x32")), PTX_MOD_UNKNOWN);
	assert_int_equal(ptx_mod_find(str("")), PTX_MOD_UNKNOWN);
}

static void memory_samples_decode_in_full(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(memory_samples); i++) {
		const struct memory_sample *s = &memory_samples[i];
		const struct ptx_form *f = form(s->text);

		if (f->op != s->op)
			fail_msg("%s: op %s", s->text, ptx_op_name(f->op));
		CHECK_FIELD(s, f->has_unknown_mod, false);
		CHECK_FIELD(s, f->effects, s->effects);
		CHECK_FIELD(s, f->space, s->space);
		CHECK_FIELD(s, f->space2, s->space2);
		CHECK_FIELD(s, f->sem, s->sem);
		CHECK_FIELD(s, f->scope, s->scope);
		CHECK_FIELD(s, f->proxy, s->proxy);
		CHECK_FIELD(s, f->vec, s->vec);
		CHECK_FIELD(s, f->width, s->width);
		CHECK_FIELD(s, f->explicit_weak, strstr(s->text, ".weak") != NULL);
	}
}

static void spelled_samples_end_their_opcode_at_the_bar(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(spell_samples); i++) {
		const char *bar = strchr(spell_samples[i], '|');
		struct ptx_str op = {spell_samples[i], (uint32_t)(bar - spell_samples[i])};
		char *text = base_printf(&arena, "%.*s%s", (int)op.n, op.p, bar + 1);
		const struct ptx_form *f = form(text);

		if (!ptx_str_is(op, ptx_op_name(f->op)))
			fail_msg("%s: op %s", text, ptx_op_name(f->op));
		if (f->effects & PTX_EFF_UNKNOWN)
			fail_msg("%s: a part is unknown", text);
	}
}

static void what_is_not_known_says_so(void **state)
{
	static const char *const ops[] = {"",	     "foo",	    "foo.global.u32",
					  "ldx.u32", "tcgen05.foo", "barrier.foo",
					  "l",	     "mbarrier"};
	static const char *const mods[] = {"ld.global.zork.u32", "fence.proxy.frob", "ld..u32",
					   "cp.async.bulk.frob", "st.v3.b32",	     "ld.",
					   "add.s32.Global"};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(ops); i++) {
		const struct ptx_form *f = form(ops[i]);
		assert_int_equal(f->op, PTX_OP_UNKNOWN);
		assert_true(f->effects & PTX_EFF_UNKNOWN);
	}
	for (size_t i = 0; i < BASE_COUNTOF(mods); i++) {
		const struct ptx_form *f = form(mods[i]);
		assert_int_not_equal(f->op, PTX_OP_UNKNOWN);
		assert_true(f->has_unknown_mod);
		assert_true(f->effects & PTX_EFF_UNKNOWN);
	}
	/* What is known of a partly known form stays. */
	assert_int_equal(form("ld.global.zork.u32")->space, PTX_SPACE_GLOBAL);
	assert_true(form("ld.global.zork.u32")->effects & PTX_EFF_READ);
}

static void aliases_share_their_opcode(void **state)
{
	(void)state;
	assert_int_equal(form("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16"
			      ".f32")
				 ->op,
			 PTX_OP_MMA_SP);
	assert_int_equal(form("tcgen05.fence::before_thread_sync")->op, PTX_OP_TCGEN05_FENCE);
	assert_int_equal(form("tcgen05.wait::st.sync.aligned")->op, PTX_OP_TCGEN05_WAIT);
	assert_true(ptx_form_has(form("tcgen05.wait::st.sync.aligned"), PTX_MOD_WAIT_ST));
	assert_false(form("tcgen05.wait::st.sync.aligned")->effects & PTX_EFF_UNKNOWN);
	assert_int_equal(form("barrier.cta.sync.aligned")->op, PTX_OP_BARRIER_SYNC);
}

static void words_may_stand_in_another_order(void **state)
{
	(void)state;
	assert_int_equal(form("vote.ballot.sync.b32")->op, PTX_OP_VOTE_SYNC);
	assert_true(ptx_form_has(form("vote.ballot.sync.b32"), PTX_MOD_BALLOT));
	assert_int_equal(form("shfl.idx.sync.b32")->op, PTX_OP_SHFL_SYNC);
	assert_int_equal(form("match.sync.any.b32")->op, PTX_OP_MATCH_ANY_SYNC);
	assert_int_equal(form("redux.add.sync.s32")->op, PTX_OP_REDUX_SYNC);
	assert_int_equal(form("barrier.aligned.sync")->op, PTX_OP_BARRIER_SYNC);
	assert_int_equal(form("ld.f32.v2.global")->vec, 2);
	assert_int_equal(form("fence.cta.sc")->sem, PTX_SEM_SC);
	/* Twins that only look like it. */
	assert_int_equal(form("vote.ballot.b32")->op, PTX_OP_VOTE);
	assert_int_equal(form("mbarrier.arrive.expect_tx.b64")->op, PTX_OP_MBARRIER_ARRIVE);
	assert_int_equal(form("red.global.add.u32")->op, PTX_OP_RED);
}

static void one_spelling_has_one_form(void **state)
{
	char text[32];
	const struct ptx_form *first[200];

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "ld.global.m%un8.u32", i);
		first[i] = form(text);
		assert_string_equal(first[i]->text.p, text);
		assert_ptr_not_equal(first[i]->text.p, text);
	}
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "ld.global.m%un8.u32", i);
		assert_ptr_equal(form(text), first[i]);
	}
	assert_ptr_not_equal(form("ld.global.u32"), form("ld.global.u3"));
}

/* ---- roles and walking -------------------------------------------------- */

static struct ptx_opnd reg(uint32_t r)
{
	return (struct ptx_opnd){.kind = PTX_OPND_REG, .reg = r, .text = PTX_STR("%r")};
}

static struct ptx_opnd group(enum ptx_opnd_kind kind, unsigned n, const uint32_t *regs)
{
	struct ptx_opnd o = {.kind = (uint8_t)kind, .nsub = (uint8_t)n};

	o.sub = BASE_NEWN(&arena, struct ptx_opnd, n);
	for (unsigned i = 0; i < n; i++)
		o.sub[i] = reg(regs[i]);
	return o;
}

#define GROUP(kind, ...)                                                                           \
	group(PTX_OPND_##kind, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),               \
	      (uint32_t[]){__VA_ARGS__})

static struct ptx_stmt inst(const char *text, unsigned n, struct ptx_opnd *ops)
{
	return (struct ptx_stmt){.kind = PTX_STMT_INST,
				 .nops = (uint8_t)n,
				 .form = form(text),
				 .ops = ops,
				 .pred = PTX_NO_REG};
}

#define INST(text, ...)                                                                            \
	inst(text, sizeof((struct ptx_opnd[]){__VA_ARGS__}) / sizeof(struct ptx_opnd),             \
	     (struct ptx_opnd[]){__VA_ARGS__})

static void note_reg(uint32_t r, bool is_write, void *arg)
{
	base_buf_printf(arg, "%s%u ", is_write ? "w" : "r", (unsigned)r);
}

static void check_regs(const struct ptx_stmt *s, const char *want)
{
	struct base_buf b = {0};

	ptx_each_reg(s, note_reg, &b);
	base_buf_put(&b, "", 1);
	assert_string_equal(b.p, want);
	base_buf_free(&b);
}

static void registers_are_visited_reads_first(void **state)
{
	struct ptx_opnd sink = {.kind = PTX_OPND_SINK};
	struct ptx_opnd func = {.kind = PTX_OPND_SYM, .text = PTX_STR("f")};
	struct ptx_stmt s = INST("ld.global.v2.u32", GROUP(VEC, 1, 2), GROUP(ADDR, 3));

	(void)state;
	check_regs(&s, "r3 w1 w2 ");
	s.pred = 9;
	check_regs(&s, "r9 r3 w1 w2 ");
	s = INST("st.global.v2.u32", GROUP(ADDR, 3), GROUP(VEC, 1, 1));
	check_regs(&s, "r3 r1 r1 ");
	s = INST("atom.add.u32", sink, GROUP(ADDR, 3), reg(4));
	check_regs(&s, "r3 r4 ");
	s = INST("shfl.sync.idx.b32", GROUP(PAIR, 1, 2), reg(3), reg(4), reg(5), reg(6));
	check_regs(&s, "r3 r4 r5 r6 w1 w2 ");
	s = INST("add.s32", reg(1), reg(1), reg(2));
	check_regs(&s, "r1 r2 w1 ");
	s = INST("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", GROUP(VEC, 1, 2), reg(3),
		 reg(4));
	check_regs(&s, "r1 r2 r3 r4 w1 w2 ");
	s = INST("call.uni", GROUP(LIST, 1), func, GROUP(LIST, 2, 3));
	check_regs(&s, "r2 r3 w1 ");
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_LABEL), 1);
	s = INST("call", GROUP(LIST, 1), reg(7), GROUP(LIST, 2), func);
	check_regs(&s, "r7 r2 w1 ");
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_LABEL), 1);
	s = INST("call", func, GROUP(LIST, 2));
	check_regs(&s, "r2 ");
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_LABEL), 0);
	/* Unknown: everything named may be written, registers of an address are read. */
	s = INST("frobnicate.u32", reg(1), GROUP(ADDR, 2), reg(3));
	check_regs(&s, "r1 r2 r3 w1 w3 ");
}

static void addresses_are_found_by_role(void **state)
{
	struct ptx_opnd a = GROUP(ADDR, 1), b = GROUP(ADDR, 2), m = GROUP(ADDR, 3);
	struct ptx_stmt s =
		INST("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", a, b,
		     reg(4), m);

	(void)state;
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_ADDR_W), 0);
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_ADDR_R), 1);
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_MBAR), 3);
	assert_ptr_equal(ptx_address(&s), &s.ops[0]);
	/* The twin that completes on a group has a cache policy in the mbarrier's place. */
	s = INST("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", a, b, reg(4),
		 reg(5));
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_MBAR), -1);
	s = INST("ld.u32", reg(1), a);
	assert_ptr_equal(ptx_address(&s), &s.ops[1]);
	s = INST("add.u32", reg(1), reg(2), reg(3));
	assert_null(ptx_address(&s));
	s = INST("mbarrier.init.shared.b64", a, reg(2));
	assert_null(ptx_address(&s));
	assert_int_equal(ptx_find_role(&s, PTX_ROLE_MBAR), 0);
}

/* ---- verifier ------------------------------------------------------------- */

/* Problems of a function with registers 0 to 4 of pred, b32, u64, f64, b16 and these statements. */
static unsigned problems_of(struct ptx_stmt *const list[], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		list[i]->prev = i ? list[i - 1] : NULL;
		list[i]->next = i + 1 < count ? list[i + 1] : NULL;
	}
	static uint8_t types[] = {PTX_TYPE_PRED, PTX_TYPE_B32, PTX_TYPE_U64, PTX_TYPE_F64,
				  PTX_TYPE_B16};
	struct ptx_func f = {
		.nregs = 5, .reg_type = types, .first = list[0], .last = list[count - 1]};
	struct ptx_item it = {.kind = PTX_ITEM_FUNC, .func = &f};
	struct ptx_module m = {
		.arena = &arena, .first = &it, .last = &it, .sm = 90, .ver_major = 8};
	struct base_sink sink = {0};
	unsigned n = ptx_verify(&m, &sink);

	assert_int_equal(n, sink.errors);
	base_sink_free(&sink);
	return n;
}

static unsigned problems(struct ptx_stmt s)
{
	struct ptx_stmt *const list[] = {&s};

	return problems_of(list, 1);
}

/* ptxas gave an argument to the first call behind it, where a branch led to another one. */
static void an_argument_is_stored_beside_its_call(void **state)
{
	struct ptx_stmt here = {.kind = PTX_STMT_LABEL};
	struct ptx_label label = {.name = PTX_STR("L"), .at = &here};
	struct ptx_opnd f = {.kind = PTX_OPND_SYM, .text = PTX_STR("f")};
	struct ptx_stmt store = INST("st.param.b32", GROUP(ADDR, 2), reg(1)),
			call = INST("call", f);
	struct ptx_stmt *together[] = {&here, &store, &call}, *apart[] = {&store, &here, &call};

	(void)state;
	here.label = &label;
	store.inserted = true;
	assert_int_equal(problems_of(together, 3), 0);
	assert_int_equal(problems_of(apart, 3), 1);
	store.inserted = false;
	assert_int_equal(problems_of(apart, 3), 0);
}

static void the_verifier_tells_good_from_bad(void **state)
{
	struct ptx_stmt here = {.kind = PTX_STMT_LABEL};
	struct ptx_label done = {.at = &here}, nowhere = {.name = PTX_STR("L")};
	struct ptx_opnd to = {.kind = PTX_OPND_SYM, .flags = PTX_OPND_LABEL, .label = &done};
	struct ptx_stmt s;

	(void)state;
	enum { P, B32, U64, F64, B16, NONE };
	assert_int_equal(problems(INST("add.s32", reg(B32), reg(B32), reg(B32))), 0);
	assert_int_equal(problems(INST("add.s32", reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("add.s32", reg(B32), reg(B32), reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("add.s32", reg(U64), reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("mul.wide.s32", reg(U64), reg(B32), reg(B32))), 0);
	assert_int_equal(problems(INST("add.s32", reg(P), reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("add.s32", reg(NONE), reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("popc.b64", reg(B32), reg(U64))), 0);
	assert_int_equal(problems(INST("mbarrier.pending_count.b64", reg(B32), reg(U64))), 0);
	assert_int_equal(problems(INST("setp.lt.s32", reg(P), reg(B32), reg(B32))), 0);
	assert_int_equal(problems(INST("setp.lt.s32", reg(B32), reg(B32), reg(B32))), 1);
	assert_int_equal(problems(INST("ld.u16", reg(B32), GROUP(ADDR, U64))), 0);
	assert_int_equal(problems(INST("ld.u32", reg(B16), GROUP(ADDR, U64))), 1);
	assert_int_equal(problems(INST("ld.u32", reg(B32), reg(U64))), 1);
	assert_int_equal(problems(INST("ld.u32", reg(B32), GROUP(ADDR, P))), 1);
	assert_int_equal(problems(INST("st.v2.f64", GROUP(ADDR, U64), GROUP(VEC, F64, F64))), 0);
	assert_int_equal(problems(INST("st.v2.f64", GROUP(ADDR, U64), GROUP(VEC, F64, B32))), 1);
	assert_int_equal(problems(INST("bra", to)), 0);
	to.label = &nowhere;
	assert_int_equal(problems(INST("bra", to)), 1);
	assert_int_equal(problems(INST("bra", reg(B32))), 1);
	assert_int_equal(problems(INST("frobnicate", reg(B32), reg(P))), 0);
	assert_int_equal(problems(INST("frobnicate", reg(NONE))), 1);
	s = INST("mov.u32", reg(B32), reg(B32));
	s.pred = P;
	assert_int_equal(problems(s), 0);
	s.pred = B32;
	assert_int_equal(problems(s), 1);
}

static int set_up(void **state)
{
	(void)state;
	forms = ptx_forms_new(&arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	base_arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_decodes_to_itself),
		cmocka_unit_test(each_part_is_found_by_its_name),
		cmocka_unit_test(memory_samples_decode_in_full),
		cmocka_unit_test(spelled_samples_end_their_opcode_at_the_bar),
		cmocka_unit_test(what_is_not_known_says_so),
		cmocka_unit_test(aliases_share_their_opcode),
		cmocka_unit_test(words_may_stand_in_another_order),
		cmocka_unit_test(one_spelling_has_one_form),
		cmocka_unit_test(registers_are_visited_reads_first),
		cmocka_unit_test(addresses_are_found_by_role),
		cmocka_unit_test(the_verifier_tells_good_from_bad),
		cmocka_unit_test(an_argument_is_stored_beside_its_call),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
