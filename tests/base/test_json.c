/*
 * test_json.c - JSON that is written as it goes: commas, escapes, numbers of 64 bits.
 */
#include "base/json.h"

#include <setjmp.h>

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
	base_json_text(&j, "beyond", "\xc3\xa4");
	base_json_text(&j, "empty", "");
	base_json_text(&j, "left out", NULL);
	base_json_object_end(&j);
	assert_string_equal(out.p, "{\"first\":\"\\\"a\\\\b\\n\","
				   "\"all\":\"\\b\\f\\r\\t\\u0001\\u001f/\x7f\","
				   "\"beyond\":\"\xc3\xa4\",\"empty\":\"\"}");
	base_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested),
		cmocka_unit_test(numbers),
		cmocka_unit_test(escapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
