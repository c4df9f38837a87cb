/*
 * test_init.c - what initialisers and .alias say, element by element.
 */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants those three first */
#include <cmocka.h>

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

static struct base_arena arena;
static struct base_sink sink;
static struct base_buf seen;
static uint64_t bytes;

static int clean(void **state)
{
	(void)state;
	base_arena_free(&arena);
	base_sink_free(&sink);
	base_buf_free(&seen);
	return 0;
}

static void note(const struct ptx_init *in, void *arg)
{
	(void)arg;
	base_buf_printf(&seen, "%s%llu:", seen.n ? " " : "", (unsigned long long)in->off);
	if (in->sym.n)
		base_buf_printf(&seen, "%s%.*s%+lld>>%u", in->is_generic ? "generic " : "",
				(int)in->sym.n, in->sym.p, (long long)in->addend, in->shift);
	else
		base_buf_printf(&seen, "%llx", (unsigned long long)in->bits);
}

/* Reads the initialiser of the `which`th variable of a declaration. */
static bool read_init(const char *text, unsigned which)
{
	char *whole = base_printf(&arena, HEAD "%s\n", text);
	struct ptx_module *m = ptx_parse(&arena, "t.ptx", whole, strlen(whole), &sink);

	base_sink_print(&sink, stderr);
	assert_non_null(m);
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR && which-- == 0)
			return ptx_each_init(m, it->var, note, NULL, &bytes, &sink);
	}
	fail_msg("no variable in %s", text);
	return false;
}

static void expect(const char *text, unsigned which, const char *what, uint64_t size)
{
	assert_true(read_init(text, which));
	base_buf_put(&seen, "", 1);
	assert_string_equal(seen.p, what);
	assert_int_equal(bytes, size);
	assert_int_equal(sink.errors, 0);
	base_buf_free(&seen);
}

static void refuse(const char *text, const char *what)
{
	assert_false(read_init(text, 0));
	assert_int_equal(sink.errors, 1);
	if (!strstr(sink.diags.v[0].text, what))
		fail_msg("'%s' does not hold '%s'", sink.diags.v[0].text, what);
	base_sink_free(&sink);
	memset(&sink, 0, sizeof(sink));
	base_buf_free(&seen);
}

static void test_numbers(void **state)
{
	(void)state;
	expect(".global .u32 x;", 0, "", 4); /* none: all zero */
	expect(".global .u32 x = 5;", 0, "0:5", 4);
	expect(".global .s32 x[3] = {1 + 2 * 3, (1 << 4) | 5, -7 / 2};", 0,
	       "0:7 4:15 8:fffffffffffffffd", 12);
	expect(".global .align 8 .b8 x[4] = {1, 2};", 0, "0:1 1:2", 4);
	expect(".const .u64 x = 0xffffffffffffffff;", 0, "0:ffffffffffffffff", 8);
	expect(".global .u32 x = 1, y = 2;", 1, "0:2", 4);
}

static void test_floats(void **state)
{
	(void)state;
	expect(".global .f32 x[3] = {0f3F800000, 1.0, -.5};", 0, "0:3f800000 4:3f800000 8:bf000000",
	       12);
	expect(".global .f64 x[3] = {0d3FF0000000000000, 0f3F800000, -1e0};", 0,
	       "0:3ff0000000000000 8:3ff0000000000000 16:bff0000000000000", 24);
	expect(".global .f32 x = 2;", 0, "0:40000000", 4);
	expect(".global .b32 x = 0f40000000;", 0, "0:40000000", 4);
}

static void test_lists(void **state)
{
	(void)state;
	expect(".global .u16 x[2][3] = {{1, 2}, {3}};", 0, "0:1 2:2 6:3", 12);
	expect(".global .u16 x[2][3] = {1, 2, 3, 4};", 0, "0:1 2:2 4:3 6:4", 12);
	expect(".global .v2 .u32 x[2] = {{1, 2}, {3, 4}};", 0, "0:1 4:2 8:3 12:4", 16);
	expect(".global .b8 x[] = {1, 2, 3};", 0, "0:1 1:2 2:3", 3);
	expect(".global .u32 x[][2] = {{1, 2}, {3, 4}};", 0, "0:1 4:2 8:3 12:4", 16);
	expect(".global .u32 x[2] = {};", 0, "", 8);
}

static void test_addresses(void **state)
{
	(void)state;
	expect(".global .u64 x = y;", 0, "0:y+0>>0", 8);
	expect(".global .u64 x[2] = {y + 4, generic(y) - 8};", 0, "0:y+4>>0 8:generic y-8>>0", 16);
	expect(".global .u64 x = generic(y+4)+4;", 0, "0:generic y+8>>0", 8);
	expect(".global .u8 x[2] = {0xff(y), 0xff00(y + 1)};", 0, "0:y+0>>0 1:y+1>>8", 2);
}

static void test_bad(void **state)
{
	(void)state;
	refuse(".global .u32 x[2] = {1, 2, 3};", "as many elements");
	refuse(".global .u32 x[2] = {{1}, 2};", "fewer braces");
	refuse(".global .u8 x = 0xf0(y);", "a mask of one byte");
	refuse(".global .u32 x = 1 2;", "the end");
	refuse(".global .u32 x[2] = {1 2};", "',' or '}'");
	refuse(".global .u32 x = ;", "a number or a name");
}

static void test_alias(void **state)
{
	(void)state;
	struct ptx_str text = PTX_STR(".alias  a , b;"), other = PTX_STR(".pragma \"x\";"), x, y;
	struct ptx_item it = {.text = text};

	assert_true(ptx_read_alias(&it, &x, &y));
	assert_true(ptx_str_is(x, "a"));
	assert_true(ptx_str_is(y, "b"));
	it.text = other;
	assert_false(ptx_read_alias(&it, &x, &y));
}

static void test_attribute(void **state)
{
	(void)state;
	struct ptx_func f = {.attrs = PTX_STR(".maxntid 4, 5 .explicitcluster .cluster_dim 6\n")};
	uint32_t v[3];

	assert_true(ptx_func_attr(&f, "maxntid", v));
	assert_int_equal(v[0], 4);
	assert_int_equal(v[1], 5);
	assert_int_equal(v[2], 1);
	assert_true(ptx_func_attr(&f, "cluster_dim", v));
	assert_int_equal(v[0], 6);
	assert_false(ptx_func_attr(&f, "explicitcluster", v));
	assert_false(ptx_func_attr(&f, "reqntid", v));
}

#define T(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_numbers), T(test_floats), T(test_lists),	    T(test_addresses),
		T(test_bad),	 T(test_alias),	 T(test_attribute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
