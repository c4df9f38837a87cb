/*
 * junit.c - the report as JUnit XML: a test case for each kernel.
 *
 * A kernel that has findings which count fails; one that ran without checks, or isn't proven, is
 * skipped and not passed; what else was found is in system-out. Findings of no kernel (copies of
 * the host, host code) are a case of their own, and so is the run itself where nothing was
 * checked: an empty suite would be green.
 */
#include "report/form.h"

#include <string.h>

#define HOST "host code and copies"

static void attribute(struct base_buf *out, const char *name, const char *value)
{
	base_buf_printf(out, " %s=\"", name);
	rep_escaped(out, value);
	base_buf_puts(out, "\"");
}

struct test {
	const char *name, *skipped; /* NULL: it isn't */
	BASE_VEC(size_t) items;
	unsigned failures;
};

struct suite {
	BASE_VEC(struct test) tests;
	unsigned failures, skipped;
};

static struct test *test_of(struct suite *s, const char *name)
{
	for (size_t i = 0; i < s->tests.n; i++)
		if (!strcmp(s->tests.v[i].name, name))
			return &s->tests.v[i];
	base_vec_push(&s->tests, (struct test){.name = name});
	return &s->tests.v[s->tests.n - 1];
}

static void suite_make(struct suite *s, struct rep_form *f)
{
	for (size_t i = 0; i < f->kernels.n; i++) {
		const struct rep_form_kernel *k = &f->kernels.v[i];
		struct test *t = test_of(s, k->name);
		if (k->state == REP_FORM_UNCHECKED)
			t->skipped = k->why;
	}
	for (size_t i = 0; i < f->items.n; i++) {
		const struct rep_form_item *it = &f->items.v[i];
		if (*it->ignored)
			continue;
		struct test *t = test_of(s, *it->kernel ? it->kernel : HOST);
		base_vec_push(&t->items, i);
		t->failures += it->level == REP_FORM_ERROR;
	}
	if (!s->tests.n)
		test_of(s, "all")->skipped = f->result;
	for (size_t i = 0; i < s->tests.n; i++) {
		s->failures += s->tests.v[i].failures > 0;
		s->skipped += !s->tests.v[i].failures && s->tests.v[i].skipped;
	}
}

static void item_put(struct base_buf *out, struct rep_form *f, const struct rep_form_item *it)
{
	const char *place = rep_form_place(&f->arena, &it->side[0], true);

	rep_escaped(out, *place ? place : "unknown place");
	base_buf_puts(out, ": ");
	rep_escaped(out, it->kind);
	base_buf_puts(out, ": ");
	rep_escaped(out, it->line);
	base_buf_puts(out, "\n");
	rep_escaped(out, it->help);
	base_buf_puts(out, "\n");
}

static void items_put(struct base_buf *out, struct rep_form *f, const struct test *t,
		      bool is_failure)
{
	for (size_t i = 0; i < t->items.n; i++) {
		const struct rep_form_item *it = &f->items.v[t->items.v[i]];
		if ((it->level == REP_FORM_ERROR) == is_failure)
			item_put(out, f, it);
	}
}

static void test_put(struct base_buf *out, struct rep_form *f, const struct test *t)
{
	base_buf_puts(out, "    <testcase");
	attribute(out, "name", t->name);
	attribute(out, "classname", f->is_proof ? "collider.prove" : "collider.run");
	base_buf_puts(out, " time=\"0\">\n");
	if (t->failures) {
		base_buf_puts(out, "      <failure");
		attribute(out, "message",
			  rep_count(&f->arena, t->failures, f->is_proof ? "alarm" : "data race"));
		attribute(out, "type", "race");
		base_buf_puts(out, ">");
		items_put(out, f, t, true);
		base_buf_puts(out, "</failure>\n");
	} else if (t->skipped) {
		base_buf_puts(out, "      <skipped");
		attribute(out, "message", t->skipped);
		base_buf_puts(out, "/>\n");
	}
	if (t->items.n > t->failures) {
		base_buf_puts(out, "      <system-out>");
		items_put(out, f, t, false);
		base_buf_puts(out, "</system-out>\n");
	}
	base_buf_puts(out, "    </testcase>\n");
}

void rep_junit(struct base_buf *out, struct rep_form *f)
{
	struct suite s = {0};

	suite_make(&s, f);
	base_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	base_buf_printf(out, "<testsuites tests=\"%zu\" failures=\"%u\" errors=\"0\">\n", s.tests.n,
			s.failures);
	base_buf_puts(out, "  <testsuite");
	attribute(out, "name", *f->command ? f->command : "collider");
	base_buf_printf(out, " tests=\"%zu\" failures=\"%u\" errors=\"0\" skipped=\"%u\">\n",
			s.tests.n, s.failures, s.skipped);
	for (size_t i = 0; i < s.tests.n; i++)
		test_put(out, f, &s.tests.v[i]);
	base_buf_puts(out, "    <system-out>");
	rep_escaped(out, f->result);
	for (size_t i = 0; i < f->notes.n; i++) {
		base_buf_puts(out, "\n");
		rep_escaped(out, f->notes.v[i]);
	}
	base_buf_puts(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
	for (size_t i = 0; i < s.tests.n; i++)
		base_vec_free(&s.tests.v[i].items);
	base_vec_free(&s.tests);
}
