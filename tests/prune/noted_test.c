/*
 * noted_test.c - a proof for what a kernel's launches had in common (prune_find, race/noted.h).
 *
 * A kernel that is race-free only in blocks of 16 by 16 with n == 16 (or more), two assumptions of
 * which none helps alone. It is proven where that was noted, with these as terms; noted launches
 * that race, or differ in what it needs, prove nothing. And one that has a proof for other launches
 * than were noted, which then gets one for these.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prune/prune.h"
#include "race/noted.h"

/* p[(n + 1) * (16 * blockIdx.y + threadIdx.y) + threadIdx.x] += k */
#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
static const char rows[] = HEAD
	".visible .entry rows(.param .u64 p, .param .u32 n, .param .u32 k) {\n"
	".reg .b32 %r<12>;\n.reg .b64 %rd<6>;\n"
	"ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nld.param.u32 %r11, [k];\n"
	"cvta.to.global.u64 %rd2, %rd1;\n"
	"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nmov.u32 %r4, %ctaid.y;\n"
	"shl.b32 %r5, %r4, 4;\nadd.s32 %r6, %r5, %r3;\nadd.s32 %r7, %r1, 1;\n"
	"mad.lo.s32 %r8, %r6, %r7, %r2;\nmul.wide.u32 %rd3, %r8, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
	"ld.global.u32 %r9, [%rd4];\nadd.s32 %r10, %r9, %r11;\n"
	"st.global.u32 [%rd4], %r10;\nret;\n}\n";

/* p[(16 * blockIdx.y + threadIdx.y) * n + 16 * blockIdx.x + threadIdx.x]++ */
static const char tile[] =
	HEAD ".visible .entry tile(.param .u64 p, .param .u32 n) {\n"
	     ".reg .b32 %r<9>;\n.reg .b64 %rd<5>;\n"
	     "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd2, %rd1;\n"
	     "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\n"
	     "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ctaid.y;\n"
	     "shl.b32 %r4, %r4, 4;\nshl.b32 %r5, %r5, 4;\n"
	     "add.s32 %r4, %r4, %r2;\nadd.s32 %r5, %r5, %r3;\n"
	     "mad.lo.s32 %r6, %r5, %r1, %r4;\nmul.wide.u32 %rd3, %r6, 4;\n"
	     "add.s64 %rd4, %rd2, %rd3;\nld.global.u32 %r7, [%rd4];\nadd.s32 %r8, %r7, 1;\n"
	     "st.global.u32 [%rd4], %r8;\nret;\n}\n";

#define TEXT_HASH 77u

/* The text with its kernel's name, and which parameters are numbers. */
static const struct text {
	const char *text, *kernel;
	uint64_t scalars;
} of_rows = {rows, "rows", 6}, of_tile = {tile, "tile", 2};

static char folder[] = "/tmp/noted.XXXXXX";

struct launch {
	uint32_t block[2], grid;
	int32_t n, k;
};

/* Notes them, and asks for proofs; NULL: there is none of the kernel as a whole. */
static const struct inst_prune *prove_text_of(const struct text *t, struct inst_prunes *out,
					      const struct launch *l, size_t n)
{
	struct race_noted all;
	struct tool_prover_job j = {.name = "noted.ptx",
				    .kernels = &t->kernel,
				    .nkernels = 1,
				    .text = t->text,
				    .size = strlen(t->text),
				    .wants_whole = true,
				    .noted_folder = folder,
				    .noted = TEXT_HASH};

	race_noted_init(&all, race_noted_id(TEXT_HASH, t->kernel, 4));
	for (size_t i = 0; i < n; i++) {
		const uint32_t dim[6] = {l[i].block[0], l[i].block[1], 1, 1, l[i].grid, 1};
		const void *params[] = {NULL, &l[i].n, &l[i].k};
		race_noted_add(&all, dim, params, t->scalars);
	}
	if (n)
		assert_true(race_noted_write(folder, &all));
	*out = (struct inst_prunes){0};
	prune_find(&j, out);
	for (size_t i = 0; i < out->kernels.n; i++)
		if (out->kernels.v[i].is_whole)
			return &out->kernels.v[i];
	return NULL;
}

static const struct inst_prune *prove(struct inst_prunes *out, const struct launch *l, size_t n)
{
	return prove_text_of(&of_rows, out, l, n);
}

/* Is "a OP value" one of its terms? */
static bool has_compared(const struct inst_prune *k, enum inst_prune_cmp cmp,
			 struct inst_prune_number a, uint64_t value)
{
	for (uint32_t i = 0; i < k->nterms; i++) {
		const struct inst_prune_term *t = &k->term[i];
		if (t->cmp == cmp && !t->is_rem && t->a.kind == a.kind && t->a.n == a.n &&
		    t->b.kind == INST_PRUNE_CONST && t->b.n == 1 && t->c.kind == INST_PRUNE_CONST &&
		    t->c.n == value && t->d.n == 1)
			return true;
	}
	return false;
}

static bool has_term(const struct inst_prune *k, enum inst_prune_kind kind, uint64_t of,
		     uint64_t value)
{
	return has_compared(k, INST_PRUNE_EQ, (struct inst_prune_number){kind, of}, value);
}

static bool has_bound(const struct inst_prune *k, enum inst_prune_cmp cmp, uint64_t param,
		      uint64_t value)
{
	return has_compared(k, cmp, (struct inst_prune_number){INST_PRUNE_PARAM, param}, value);
}

static void nothing_is_proven_without_notes(void **state)
{
	struct inst_prunes out;

	(void)state;
	assert_null(prove(&out, NULL, 0));
	assert_true(out.lacks_notes);
}

static void two_assumptions_prove_it(void **state)
{
	static const struct launch same[] = {{{16, 16}, 64, 16, 3}, {{16, 16}, 32, 16, 4}};
	struct inst_prunes out;

	(void)state;
	const struct inst_prune *k = prove(&out, same, 2);
	assert_non_null(k);
	assert_false(out.lacks_notes);
	assert_true(has_term(k, INST_PRUNE_DIM, 0, 16) && has_term(k, INST_PRUNE_DIM, 1, 16));
	/* Larger numbers do as well. */
	assert_true(has_bound(k, INST_PRUNE_GE, 1, 16) && has_bound(k, INST_PRUNE_LE, 1, 127));
	/* Of what differed there are bounds; the grid isn't taken, which it doesn't need. */
	assert_true(has_bound(k, INST_PRUNE_GE, 2, 3) && has_bound(k, INST_PRUNE_LE, 2, 31));
	assert_false(has_term(k, INST_PRUNE_DIM, 4, 64) || has_term(k, INST_PRUNE_DIM, 4, 32));
}

static void launches_that_race_prove_nothing(void **state)
{
	static const struct launch racy[] = {
		{{16, 16}, 64, 8, 3}, {{32, 16}, 64, 16, 3}, {{16, 17}, 64, 16, 3}};
	struct inst_prunes out;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_null(prove(&out, &racy[i], 1));
		assert_false(out.lacks_notes); /* it isn't tried again for want of them */
	}
}

static void bounds_prove_it(void **state)
{
	static const struct launch some[] = {{{16, 16}, 64, 16, 3}, {{16, 16}, 64, 100, 3}};
	struct inst_prunes out;

	(void)state;
	const struct inst_prune *k = prove(&out, some, 2);
	assert_non_null(k);
	assert_true(has_bound(k, INST_PRUNE_GE, 1, 16) && has_bound(k, INST_PRUNE_LE, 1, 511));
}

/* One of them races. */
static void what_differs_is_not_taken(void **state)
{
	static const struct launch some[] = {{{16, 16}, 64, 16, 3}, {{16, 16}, 64, 8, 3}},
				   blocks[] = {{{16, 16}, 64, 16, 3}, {{16, 17}, 64, 16, 3}};
	struct inst_prunes out;

	(void)state;
	assert_null(prove(&out, some, 2));
	assert_null(prove(&out, blocks, 2));
}

/* A bound on products of n is found; a larger n is proven beside its own launch only. */
static void a_proof_for_other_launches_is_not_enough(void **state)
{
	static const struct launch small = {{16, 16}, 64, 1024, 0}, racy = {{16, 16}, 64, 8, 0};
	static const struct launch large[] = {{{16, 16}, 64, 65536, 0}, {{16, 16}, 32, 65536, 0}};
	struct inst_prunes out;

	(void)state;
	const struct inst_prune *any = prove_text_of(&of_tile, &out, NULL, 0);
	assert_non_null(any);
	const uint32_t nterms = any->nterms;
	const struct inst_prune *k = prove_text_of(&of_tile, &out, &small, 1);
	assert_non_null(k);
	assert_int_equal(k->nterms, nterms);
	assert_false(has_bound(k, INST_PRUNE_GE, 1, 1024));
	k = prove_text_of(&of_tile, &out, large, 1);
	assert_non_null(k);
	assert_true(has_bound(k, INST_PRUNE_GE, 1, 65536) &&
		    has_bound(k, INST_PRUNE_LE, 1, 524287));
	assert_true(has_term(k, INST_PRUNE_DIM, 0, 16));
	assert_int_equal(k->narrays, 1);
	assert_int_equal(k->tests.n, 2);
	assert_true(has_term(k, INST_PRUNE_DIM, 4, 64));
	k = prove_text_of(&of_tile, &out, large, 2);
	assert_non_null(k);
	assert_true(
		has_compared(k, INST_PRUNE_LE, (struct inst_prune_number){INST_PRUNE_DIM, 4}, 64));
	assert_false(has_term(k, INST_PRUNE_DIM, 4, 64));
	/* What it had stays. */
	k = prove_text_of(&of_tile, &out, &racy, 1);
	assert_non_null(k);
	assert_int_equal(k->nterms, nterms);
	assert_false(has_bound(k, INST_PRUNE_GE, 1, 8));
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"rows", "tile"};
	char path[64];

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%016llx-launches", folder,
			 (unsigned long long)race_noted_id(TEXT_HASH, names[i], 4));
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	if (!mkdtemp(folder))
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_proven_without_notes),
		cmocka_unit_test(two_assumptions_prove_it),
		cmocka_unit_test(launches_that_race_prove_nothing),
		cmocka_unit_test(bounds_prove_it),
		cmocka_unit_test(what_differs_is_not_taken),
		cmocka_unit_test(a_proof_for_other_launches_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
