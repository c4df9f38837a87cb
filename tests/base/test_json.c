/*
 * test_json.c - JSON that is written as it goes: commas, escapes, numbers of 64 bits.
 */
#include "base/json.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static void nested(void **state)
{
	struct base_buf out = {0};
	struct base_json j = {.out = &out};

	(void)state;
	base_json_object(&j, NULL);
	base_json_array(&j, "none");
	base_json_array_end(&j);
	base_json_array(&j, "some");
	base_json_object(&j, NULL);
	base_json_object_end(&j);
	base_json_text(&j, NULL, "a");
	base_json_null(&j, NULL);
	base_json_array_end(&j);
	base_json_raw(&j, "raw", "[1, 2]", 6);
	base_json_bool(&j, "yes", true);
	base_json_bool(&j, "no", false);
	base_json_object_end(&j);
	assert_string_equal(out.p, "{\"none\":[],\"some\":[{},\"a\",null],\"raw\":[1, 2],"
				   "\"yes\":true,\"no\":false}");
	base_buf_free(&out);
}

static void numbers(void **state)
{
	struct base_buf out = {0};
	struct base_json j = {.out = &out};

	(void)state;
	base_json_array(&j, NULL);
	base_json_number(&j, NULL, 0);
	base_json_number(&j, NULL, UINT64_MAX);
	base_json_int(&j, NULL, -1);
	base_json_int(&j, NULL, INT64_MIN);
	base_json_int(&j, NULL, INT64_MAX);
	base_json_array_end(&j);
	assert_string_equal(out.p, "[0,18446744073709551615,-1,-9223372036854775808,"
				   "9223372036854775807]");
	base_buf_free(&out);
}

static void escapes(void **state)
{
	struct base_buf out = {0};
	struct base_json j = {.out = &out};

	(void)state;
	base_json_object(&j, NULL);
	base_json_text(&j, "first", "\"a\\b\n");
	base_json_text(&j, "all", "\b\f\r\t\x01\x1f/\x7f");
	base_json_text(&j, "beyond", "\xc3\xa4\xf0\x9f\x98\x80");
	base_json_text(&j, "empty", "");
	base_json_text(&j, "left out", NULL);
	base_json_object_end(&j);
	assert_string_equal(out.p, "{\"first\":\"\\\"a\\\\b\\n\","
				   "\"all\":\"\\b\\f\\r\\t\\u0001\\u001f/\x7f\","
				   "\"beyond\":\"\xc3\xa4\xf0\x9f\x98\x80\",\"empty\":\"\"}");
	base_buf_free(&out);
}

/* Latin-1, a character that is cut off, a surrogate, one that is too long, beyond U+10FFFF. */
static void no_utf8(void **state)
{
	static const char *const texts[][2] = {
		{"caf\xe9", "\"caf\\ufffd\""},
		{"\xe9\"", "\"\\ufffd\\\"\""},
		{"a\xe2\x82", "\"a\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xc0\x80", "\"\\ufffd\\ufffd\""},
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char out[64];
		size_t n = base_json_quoted(out, texts[i][0]);
		assert_true(n <= base_json_quoted_most(texts[i][0]));
		assert_int_equal(n, strlen(texts[i][1]));
		assert_memory_equal(out, texts[i][1], n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested),
		cmocka_unit_test(numbers),
		cmocka_unit_test(escapes),
		cmocka_unit_test(no_utf8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
