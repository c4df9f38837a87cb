/*
 * limits_test.c - proofs that run out of time are whole or missing (prune_find).
 *
 * A kernel of which all is proven, for some launches, and its twin without the barrier. However
 * little time there is, what is found is a part of what is found without a limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "prune/prune.h"

#define BODY(name, barrier)                                                                        \
	".visible .entry " name "(.param .u64 p) {\n"                                              \
	".reg .b32 %r<8>;\n.reg .b64 %rd<6>;\n.shared .align 4 .b8 s_" name "[256];\n"             \
	"ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"                                \
	"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"                    \
	"mad.lo.s32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"  \
	"shl.b32 %r5, %r1, 2;\nmov.u32 %r6, s_" name ";\nadd.s32 %r5, %r5, %r6;\n"                 \
	"st.shared.u32 [%r5], %r1;\n" barrier "sub.s32 %r7, %r3, %r1;\nshl.b32 %r7, %r7, 2;\n"     \
	"add.s32 %r7, %r7, %r6;\nld.shared.u32 %r2, [%r7+-4];\n"                                   \
	"st.global.u32 [%rd4], %r2;\nret;\n}\n"

static const char text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n" BODY("proven", "bar.sync 0;\n")
		BODY("racy", "");

static const struct inst_prune *kernel_of(const struct inst_prunes *p, const char *name)
{
	for (size_t i = 0; i < p->kernels.n; i++)
		if (!strcmp(p->kernels.v[i].kernel, name))
			return &p->kernels.v[i];
	return NULL;
}

static struct inst_prunes find(unsigned wall_ms)
{
	const struct tool_prover_job j = {.name = "limits.ptx",
					  .text = text,
					  .size = sizeof(text) - 1,
					  .wants_whole = true,
					  .wall_ms = wall_ms};
	struct inst_prunes out = {0};

	prune_find(&j, &out);
	return out;
}

static bool is_part_of(const struct inst_prune *k, const struct inst_prune *all)
{
	for (size_t i = 0; i < k->sites.n; i++) {
		bool has = false;
		for (size_t j = 0; j < all->sites.n; j++)
			has |= all->sites.v[j].ptx_line == k->sites.v[i].ptx_line &&
			       (all->sites.v[j].is_conditional <= k->sites.v[i].is_conditional);
		if (!has)
			return false;
	}
	return !k->is_whole ||
	       (all->is_whole && k->narrays == all->narrays && k->tests.n == all->tests.n);
}

static void whole_or_missing(void **state)
{
	(void)state;
	struct inst_prunes all = find(0);
	const struct inst_prune *proven = kernel_of(&all, "proven");

	assert_false(all.is_late);
	assert_non_null(proven);
	assert_true(proven->is_whole && proven->tests.n == 1 && proven->sites.n == 2);
	for (unsigned ms = 1; ms <= 1024; ms *= 2) {
		struct inst_prunes some = find(ms);
		const struct inst_prune *p = kernel_of(&some, "proven");
		const struct inst_prune *racy = kernel_of(&some, "racy");
		assert_true(!p || is_part_of(p, proven));
		assert_true(!racy || (!racy->is_whole && !racy->sites.n));
		assert_true(some.is_late || (p && p->is_whole));
	}
}

int main(void)
{
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* nothing is kept from one limit to the next */
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_or_missing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
