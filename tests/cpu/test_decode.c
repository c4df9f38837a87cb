/*
 * test_decode.c - linking, layout and decoding, seen from inside the machine.
 *
 * Each rule has its twin: what links and what must not, what is shared and what
 * is apart. How code runs is what cases/decode_*.ptx say.
 */
#include "cpu/load/load.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants those three first */
#include <cmocka.h>

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

static struct cpu_machine *machine;
static struct base_arena arena;
static struct base_sink sink;

static int start(void **state)
{
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1};

	(void)state;
	machine = cpu_machine_new(&opt);
	return machine ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	cpu_machine_free(machine);
	base_arena_free(&arena);
	base_sink_free(&sink);
	return 0;
}

static struct ptx_module *parse(const char *text)
{
	char *whole = base_printf(&arena, HEAD "%s", text);
	struct ptx_module *m = ptx_parse(&arena, "t.ptx", whole, strlen(whole), &sink);

	base_sink_print(&sink, stderr);
	assert_non_null(m);
	return m;
}

/* Links one or two parts; must be fine. */
static struct cpu_module *load(const char *a, const char *b)
{
	struct ptx_module *parts[2] = {parse(a), b ? parse(b) : NULL};
	struct cpu_module *mod = cpu_module_load(machine, 0, parts, b ? 2 : 1, &sink);

	base_sink_print(&sink, stderr);
	assert_non_null(mod);
	assert_int_equal(sink.errors, 0);
	return mod;
}

/* Must not link; the one error's text holds `text`. */
static void refuse(const char *a, const char *b, const char *text)
{
	struct ptx_module *parts[2] = {parse(a), b ? parse(b) : NULL};

	assert_null(cpu_module_load(machine, 0, parts, b ? 2 : 1, &sink));
	assert_int_equal(sink.errors, 1);
	if (!strstr(sink.diags.v[0].text, text))
		fail_msg("'%s' does not hold '%s'", sink.diags.v[0].text, text);
}

/* Is loaded, but its kernel k can't be launched, for a reason that holds `text`; `fine` can. */
static void refuse_kernel(const char *a, const char *b, const char *text)
{
	struct cpu_module *mod =
		load(base_printf(&arena, "%s.visible .entry fine() { ret; }\n", a), b);
	bool is_incomplete;
	const char *why = cpu_kernel_refused(cpu_module_kernel(mod, "k"), &is_incomplete);

	assert_non_null(why);
	assert_true(is_incomplete);
	if (!strstr(why, text))
		fail_msg("'%s' does not hold '%s'", why, text);
	assert_null(cpu_kernel_refused(cpu_module_kernel(mod, "fine"), NULL));
	cpu_module_unload(mod);
}

static uint32_t word(struct cpu_module *mod, const char *name, uint64_t off)
{
	uint64_t addr, bytes;
	uint32_t v;

	assert_true(cpu_module_symbol(mod, name, &addr, &bytes));
	assert_true(off + 4 <= bytes);
	memcpy(&v, (const uint8_t *)(uintptr_t)addr + off, 4);
	return v;
}

static struct load_func *func(struct cpu_module *mod, const char *kernel)
{
	struct cpu_kernel *k = cpu_module_kernel(mod, kernel);

	assert_non_null(k);
	assert_true(cpu_kernel_ready(k));
	return (struct load_func *)k->func;
}

/* ---- linking ------------------------------------------------------------------------- */

#define USE_F ".extern .func f;\n.visible .entry k() { call f; ret; }\n"

static void test_link_function(void **state)
{
	(void)state;
	struct cpu_module *mod = load(USE_F, ".visible .func f { ret; }");
	struct load_func *k = func(mod, "k");

	assert_int_equal(k->ncallees, 1);
	assert_string_equal(k->callees[0]->f.name, "f");
	assert_true(k->callees[0]->is_ready);
	cpu_module_unload(mod);
}

static void test_undefined_function(void **state)
{
	(void)state;
	refuse_kernel(USE_F, NULL, "'f' which no object defines");
}

static void test_static_is_not_seen_elsewhere(void **state)
{
	(void)state;
	refuse_kernel(USE_F, ".func f { ret; }", "'f' which no object defines");
}

static void test_declared_only(void **state)
{
	(void)state;
	cpu_module_unload(load(".extern .func f;\n.extern .global .u32 x;\n"
			       ".visible .entry k() { ret; }",
			       NULL));
}

static void test_system_call(void **state)
{
	(void)state;
	cpu_module_unload(
		load(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"
		     ".visible .entry k() { .param .b64 p; .param .b64 q; .param .b32 z;"
		     "call (z), vprintf, (p, q); ret; }",
		     NULL));
}

static void test_undefined_variable(void **state)
{
	(void)state;
	refuse_kernel(".extern .global .u32 x;\n"
		      ".visible .entry k() { .reg .u32 r; ld.global.u32 r, [x]; ret; }\n",
		      NULL, "'x' which no object defines");
}

static void test_two_definitions(void **state)
{
	(void)state;
	refuse(".visible .global .u32 x = 1;", ".visible .global .u32 x = 2;",
	       "second definition of 'x'");
}

static void test_weak_gives_way(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".weak .global .u32 x = 1;", ".visible .global .u32 x = 2;");

	assert_int_equal(word(mod, "x", 0), 2);
	cpu_module_unload(mod);
	mod = load(".visible .global .u32 x = 1;", ".weak .global .u32 x = 2;");
	assert_int_equal(word(mod, "x", 0), 1);
	cpu_module_unload(mod);
}

static void test_first_weak_wins(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".weak .global .u32 x = 1;\n", ".weak .global .u32 x = 2;");

	assert_int_equal(word(mod, "x", 0), 1);
	cpu_module_unload(mod);
}

static void test_common_is_largest(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".common .global .u32 x[2];", ".common .global .u32 x[5];");
	uint64_t addr, bytes;

	assert_true(cpu_module_symbol(mod, "x", &addr, &bytes));
	assert_int_equal(bytes, 20);
	cpu_module_unload(mod);
}

static void test_statics_stay_apart(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".global .u32 s = 1;\n.visible .global .u64 pa = s;",
				      ".global .u32 s = 2;\n.visible .global .u64 pb = s;");
	uint64_t a, b, bytes;

	assert_true(cpu_module_symbol(mod, "pa", &a, &bytes));
	assert_true(cpu_module_symbol(mod, "pb", &b, &bytes));
	a = *(uint64_t *)(uintptr_t)a;
	b = *(uint64_t *)(uintptr_t)b;
	assert_int_equal(*(uint32_t *)(uintptr_t)a, 1);
	assert_int_equal(*(uint32_t *)(uintptr_t)b, 2);
	cpu_module_unload(mod);
}

static void test_alias(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".visible .func f { ret; }\n.visible .func g;\n.alias g, f;\n"
				      ".visible .entry k() { call g; ret; }",
				      NULL);

	assert_string_equal(func(mod, "k")->callees[0]->f.name, "f");
	cpu_module_unload(mod);
}

static void test_bad_alias(void **state)
{
	(void)state;
	refuse(".visible .func g;\n.alias g, f;\n", NULL, "alias of 'f'");
}

static void test_bad_initialiser(void **state)
{
	(void)state;
	refuse(".visible .global .u64 x = nowhere;", NULL, "'nowhere' in the initialiser of 'x'");
}

static void test_shared_address_in_initialiser(void **state)
{
	(void)state;
	refuse(".shared .u32 s;\n.visible .global .u64 x = s;", NULL,
	       "'s' in the initialiser of 'x'");
}

/* ---- shared memory -------------------------------------------------------------------- */

#define TOUCH(v) ".reg .u32 r; mov.u32 r, " v "; "

static uint32_t shared_static(struct cpu_module *mod, const char *kernel)
{
	struct cpu_kernel_info info;

	cpu_kernel_get_info(cpu_module_kernel(mod, kernel), &info);
	return info.shared_static;
}

static uint64_t shared_address(struct cpu_module *mod, const char *name)
{
	for (size_t i = 0; i < mod->vars.n; i++)
		if (strcmp(mod->vars.v[i]->name, name) == 0)
			return mod->vars.v[i]->addr;
	fail_msg("no variable %s", name);
	return 0;
}

static void test_shared_of_each_kernel(void **state)
{
	(void)state;
	struct cpu_module *mod = load(
		".shared .align 4 .b8 a[100];\n.shared .align 4 .b8 b[40];\n"
		".shared .align 16 .b8 none[4000];\n"
		".visible .entry k1() { " TOUCH("a") "ret; }\n"
						     ".visible .entry k2() { " TOUCH(
							     "b") "ret; }\n"
								  ".visible .entry k3() { ret; }\n",
		NULL);

	assert_int_equal(shared_static(mod, "k1"), 100);
	assert_int_equal(shared_static(mod, "k2"), 40);
	assert_int_equal(shared_static(mod, "k3"), 0);
	assert_int_equal(shared_address(mod, "a"), CPU_SHARED_BASE);
	assert_int_equal(shared_address(mod, "b"), CPU_SHARED_BASE);
	cpu_module_unload(mod);
}

/* f's variable has one address, after what is shared and before each kernel's own. */
static void test_shared_of_function(void **state)
{
	(void)state;
	struct cpu_module *mod = load(
		".shared .align 4 .b8 a[100];\n.shared .align 4 .b8 of_f[8];\n"
		".func f { " TOUCH("of_f") "ret; }\n"
					   ".visible .entry k1() { " TOUCH(
						   "a") "call f; ret; }\n"
							".visible .entry k2() { call f; ret; }\n",
		NULL);

	assert_int_equal(shared_static(mod, "k1"), 108);
	assert_int_equal(shared_static(mod, "k2"), 8);
	assert_int_equal(shared_address(mod, "of_f"), CPU_SHARED_BASE);
	assert_int_equal(shared_address(mod, "a"), CPU_SHARED_BASE + 8);
	cpu_module_unload(mod);
}

/* The dynamic array is at one place for all kernels that reach the function which names it. */
static void test_dynamic_shared(void **state)
{
	(void)state;
	struct cpu_module *mod = load(
		".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 a[100];\n"
		".func f { " TOUCH("dyn") "ret; }\n"
					  ".visible .entry k1() { " TOUCH(
						  "a") "call f; ret; }\n"
						       ".visible .entry k2() { call f; ret; }\n",
		NULL);

	assert_int_equal(shared_address(mod, "dyn"), CPU_SHARED_BASE + 112);
	assert_int_equal(shared_static(mod, "k1"), 112);
	assert_int_equal(shared_static(mod, "k2"), 112);
	cpu_module_unload(mod);
}

/* ---- kernels ---------------------------------------------------------------------------- */

static void test_info(void **state)
{
	(void)state;
	struct cpu_module *mod =
		load(".visible .const .u32 c[10];\n"
		     ".visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[3])\n"
		     ".maxntid 128, 2, 1\n.reqnctapercluster 2, 1, 1\n"
		     "{ .local .align 8 .b8 l[20]; ret; }\n.visible .entry plain() { ret; }\n",
		     NULL);
	struct cpu_kernel *k = cpu_module_kernel(mod, "k");
	struct cpu_kernel_info info;
	uint32_t off, bytes;

	cpu_kernel_get_info(k, &info);
	assert_int_equal(info.max_threads, 256);
	assert_int_equal(info.cluster[0], 2);
	assert_int_equal(info.cluster[2], 1);
	assert_int_equal(info.nparams, 3);
	assert_int_equal(info.local, 32);
	assert_int_equal(info.consts, 40);
	assert_in_range(info.regs, 16, 255);
	assert_false(info.is_instrumented);
	assert_true(cpu_kernel_param(k, 1, &off, &bytes));
	assert_int_equal(off, 8);
	assert_int_equal(bytes, 8);
	assert_true(cpu_kernel_param(k, 2, &off, &bytes));
	assert_int_equal(off, 16);
	assert_int_equal(bytes, 3);
	assert_false(cpu_kernel_param(k, 3, &off, &bytes));
	assert_int_equal(cpu_kernel_param_bytes(k), 19);
	assert_int_equal(cpu_kernel_occupancy(k, 256, 0), 8);
	assert_int_equal(cpu_kernel_occupancy(k, 257, 0), 7); /* .maxntid isn't asked */
	assert_int_equal(cpu_kernel_occupancy(k, 1025, 0), 0);
	cpu_kernel_get_info(cpu_module_kernel(mod, "plain"), &info);
	assert_int_equal(info.max_threads, 1024);
	assert_int_equal(info.cluster[0], 0);
	assert_null(cpu_module_kernel(mod, "other"));
	cpu_module_unload(mod);
}

static void test_inserted(void **state)
{
	(void)state;
	struct cpu_module *mod =
		load(".visible .global .u32 x;\n.visible .entry k() {\n"
		     ".reg .u32 r;\n.reg .u32 %collider_1;\n"
		     "ld.global.u32 r, [x];\nld.global.u32 %collider_1, [x];\nret; }\n",
		     NULL);
	const struct cpu_func *f = &func(mod, "k")->f;
	struct cpu_kernel_info info;

	assert_int_equal(f->code[0].flags & CPU_I_INSERTED, 0);
	assert_int_equal(f->code[1].flags & CPU_I_INSERTED, CPU_I_INSERTED);
	cpu_kernel_get_info(cpu_module_kernel(mod, "k"), &info);
	assert_true(info.is_instrumented);
	cpu_module_unload(mod);
}

/* ---- branches ------------------------------------------------------------------------------ */

static void test_join(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".visible .entry k() { .reg .pred p; .reg .u32 r;\n"
				      "@p bra else;\n"	      /* 0 */
				      "mov.u32 r, 1;\n"	      /* 1 */
				      "bra.uni end;\n"	      /* 2 */
				      "else: mov.u32 r, 2;\n" /* 3 */
				      "end: mov.u32 r, 3;\n"  /* 4 */
				      "@p bra end;\n"	      /* 5 */
				      "ret; }\n",	      /* 6, and a ret after it */
				      NULL);
	const struct cpu_func *f = &func(mod, "k")->f;

	assert_int_equal(f->ninsts, 8);
	assert_int_equal(f->code[0].target, 3);
	assert_int_equal(f->code[0].join, 4);
	assert_int_equal(f->code[4].flags & CPU_I_JOIN, CPU_I_JOIN);
	assert_int_equal(f->code[3].flags & CPU_I_JOIN, 0);
	assert_int_equal(f->code[2].target, 4);
	assert_int_equal(f->code[2].join, CPU_NOPC);
	assert_int_equal(f->code[5].target, 4);
	assert_int_equal(f->code[5].join, 6);
	assert_int_equal(f->code[5].flags & CPU_I_BACK, CPU_I_BACK);
	assert_int_equal(f->code[0].flags & CPU_I_BACK, 0);
	cpu_module_unload(mod);
}

static void test_no_join(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".visible .entry k() { .reg .pred p;\n"
				      "@p bra other;\nret;\nother: exit; }\n",
				      NULL);

	assert_int_equal(func(mod, "k")->f.code[0].join, CPU_NOPC);
	cpu_module_unload(mod);
}

/* A call joins after itself, and its results in registers are moved there. */
static void test_call_joins(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".func (.reg .u32 o) f(.reg .u32 i) { mov.u32 o, i; }\n"
				      ".visible .entry k() { .reg .u32 a, b;\n"
				      "call (a), f, (b);\nret; }\n",
				      NULL);
	const struct cpu_func *f = &func(mod, "k")->f;

	/* store b, call, load a, ret, ret */
	assert_int_equal(f->ninsts, 5);
	assert_int_equal(f->code[1].join, 2);
	assert_int_equal(f->code[2].flags & CPU_I_JOIN, CPU_I_JOIN);
	cpu_module_unload(mod);
}

/* Registers that don't live at the same time share a slot, those that do don't. */
static void test_slots(void **state)
{
	(void)state;
	struct cpu_module *mod =
		load(".visible .global .u32 x;\n.visible .entry k() { .reg .u32 a, b, c, d;\n"
		     "ld.global.u32 a, [x];\nadd.u32 b, a, 1;\nst.global.u32 [x], b;\n"
		     "ld.global.u32 c, [x];\nadd.u32 d, c, 1;\nst.global.u32 [x], d;\nret; }\n"
		     ".visible .entry both() { .reg .u32 a, b, c, d;\n"
		     "ld.global.u32 a, [x];\nld.global.u32 b, [x];\nld.global.u32 c, [x];\n"
		     "add.u32 d, a, b;\nadd.u32 d, d, c;\nst.global.u32 [x], d;\nret; }\n",
		     NULL);
	const struct cpu_slots *one = func(mod, "k")->slots, *both = func(mod, "both")->slots;

	assert_int_equal(one->slot[0], one->slot[3]);
	assert_int_not_equal(one->slot[0], one->slot[1]);
	assert_int_not_equal(both->slot[0], both->slot[1]);
	assert_int_not_equal(both->slot[0], both->slot[2]);
	assert_int_not_equal(both->slot[3], both->slot[2]);
	cpu_module_unload(mod);
}

/* A special register where no mov reads it goes through a temporary. */
static void test_special_anywhere(void **state)
{
	(void)state;
	struct cpu_module *mod = load(".visible .entry k() { .reg .u32 r;\n"
				      "add.u32 r, %tid.x, %ntid.x;\nret; }\n",
				      NULL);
	const struct cpu_func *f = &func(mod, "k")->f;

	assert_int_equal(f->ninsts, 5);
	assert_int_equal(f->code[2].src[0], f->code[0].dst[0]);
	assert_int_equal(f->code[2].src[1], f->code[1].dst[0]);
	for (uint32_t i = 0; i < f->ninsts; i++)
		assert_false(cpu_dec_is_unsupported(&f->code[i]));
	cpu_module_unload(mod);
}

static void test_unknown_opcode(void **state)
{
	(void)state;
	struct cpu_module *mod =
		load(".visible .entry k() { .reg .u32 r;\nfrobnicate.u32 r, r;\nret; }\n", NULL);
	const struct cpu_func *f = &func(mod, "k")->f;

	assert_true(cpu_dec_is_unsupported(&f->code[0]));
	assert_false(cpu_dec_is_unsupported(&f->code[1]));
	cpu_module_unload(mod);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_link_function),
		T(test_undefined_function),
		T(test_static_is_not_seen_elsewhere),
		T(test_declared_only),
		T(test_system_call),
		T(test_undefined_variable),
		T(test_two_definitions),
		T(test_weak_gives_way),
		T(test_first_weak_wins),
		T(test_common_is_largest),
		T(test_statics_stay_apart),
		T(test_alias),
		T(test_bad_alias),
		T(test_bad_initialiser),
		T(test_shared_address_in_initialiser),
		T(test_shared_of_each_kernel),
		T(test_shared_of_function),
		T(test_dynamic_shared),
		T(test_info),
		T(test_inserted),
		T(test_join),
		T(test_no_join),
		T(test_call_joins),
		T(test_slots),
		T(test_special_anywhere),
		T(test_unknown_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
