/*
 * expr_test.c - simplification keeps the value of an expression.
 *
 * Random expressions over three leaves are built twice: with the leaves as they are, then each leaf
 * replaced by a number, which folds; and operation by operation with prove_ex_fold on the numbers.
 */
#include "prove/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252ull;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

struct both {
	const struct ex *v;
	uint64_t number;
	bool is_defined;
};

static const struct ex *leaf[3];
static uint64_t value[3];

static uint64_t small_or_edge(unsigned w)
{
	static const uint64_t edges[] = {0, 1,	2,   3,		 4,	     7,
					 8, 31, 255, 0x7fffffff, 0x80000000, UINT64_MAX};

	return edges[draw(BASE_COUNTOF(edges))] & prove_ex_mask(w);
}

static struct both make(struct ex_pool *p, unsigned w, unsigned depth);

static struct both make_test(struct ex_pool *p, unsigned depth)
{
	static const enum ex_op ops[] = {EX_EQ, EX_ULT, EX_SLT};
	unsigned w = draw(2) ? 32 : 64;
	struct both a = make(p, w, depth), b = make(p, w, depth), r;
	enum ex_op op = ops[draw(3)];

	r.v = prove_ex_bin(p, op, a.v, b.v);
	r.is_defined = a.is_defined && b.is_defined &&
		       prove_ex_fold(op, 1, w, a.number, b.number, &r.number);
	if (draw(3))
		return r;
	r.v = prove_ex_not(p, r.v);
	r.number ^= 1;
	return r;
}

static struct both make_binary(struct ex_pool *p, unsigned w, unsigned depth)
{
	static const enum ex_op ops[] = {EX_ADD, EX_SUB, EX_MUL, EX_UDIV, EX_SDIV, EX_UREM, EX_SREM,
					 EX_AND, EX_OR,	 EX_XOR, EX_SHL,  EX_LSHR, EX_ASHR};
	enum ex_op op = ops[draw(BASE_COUNTOF(ops))];
	struct both a = make(p, w, depth), b = make(p, w, depth), r = {0};

	r.v = prove_ex_bin(p, op, a.v, b.v);
	r.is_defined = a.is_defined && b.is_defined &&
		       prove_ex_fold(op, w, w, a.number, b.number, &r.number);
	return r;
}

static struct both make_resized(struct ex_pool *p, unsigned w, unsigned depth)
{
	struct both a = make(p, 96 - w, depth), r = {.is_defined = a.is_defined};
	enum ex_op op = w == 32 ? EX_TRUNC : draw(2) ? EX_ZEXT : EX_SEXT;

	r.v = prove_ex_un(p, op, w, a.v);
	prove_ex_fold(op, w, 96 - w, a.number, 0, &r.number);
	return r;
}

static struct both make(struct ex_pool *p, unsigned w, unsigned depth)
{
	struct both r = {.is_defined = true};
	unsigned k = depth ? draw(8) : draw(2);

	if (k == 0 && w == 32) {
		unsigned i = draw(3);
		r.v = leaf[i];
		r.number = value[i];
		return r;
	}
	if (k <= 1) {
		r.number = small_or_edge(w);
		r.v = prove_ex_const(p, w, r.number);
		return r;
	}
	if (k == 2) {
		struct both c = make_test(p, depth - 1);
		struct both a = make(p, w, depth - 1), b = make(p, w, depth - 1);
		r.v = prove_ex_ite(p, c.v, a.v, b.v);
		r.number = c.number ? a.number : b.number;
		r.is_defined = c.is_defined && a.is_defined && b.is_defined;
		return r;
	}
	return k == 3 ? make_resized(p, w, depth - 1) : make_binary(p, w, depth - 1);
}

static void keeps_values(void **unused)
{
	struct ex_launch launch = {.max = {1024, 1024, 64, INT32_MAX, 65535, 65535}};
	unsigned checked = 0;

	(void)unused;
	for (unsigned turn = 0; turn < 20000; turn++) {
		struct base_arena arena = {0};
		struct ex_pool pool;
		prove_ex_pool_init(&pool, &arena, &launch);
		for (unsigned i = 0; i < 3; i++) {
			leaf[i] = prove_ex_leaf(&pool, EX_PARAM, 32, 4 * i, EX_GRID,
						prove_ex_full(32), EX_NO_ARGS);
			value[i] = small_or_edge(32);
		}
		struct both x = make(&pool, 32, 3);
		const struct ex *v = x.v;
		if (x.is_defined) {
			assert_true(v->op != EX_CONST || v->imm == x.number);
			for (unsigned i = 0; i < 3; i++)
				v = prove_ex_replace(&pool, v, leaf[i],
						     prove_ex_const(&pool, 32, value[i]));
			assert_int_equal(v->op, EX_CONST);
			assert_true(v->imm == x.number);
			assert_true(x.v->lo <= x.number && x.number <= x.v->hi);
			assert_false(x.number & x.v->zeros);
			assert_false(~x.number & x.v->ones);
			checked++;
		}
		prove_ex_pool_free(&pool);
		base_arena_free(&arena);
	}
	assert_true(checked > 10000);
}

static void equal_is_identical(void **unused)
{
	struct ex_launch launch = {.max = {1024, 1024, 64, INT32_MAX, 65535, 65535}};
	struct base_arena arena = {0};
	struct ex_pool p;

	(void)unused;
	prove_ex_pool_init(&p, &arena, &launch);
	const struct ex *t = prove_ex_spec(&p, EX_TID_X), *n = prove_ex_spec(&p, EX_NTID_X);
	const struct ex *c = prove_ex_bin(&p, EX_ULT, t, n);
	assert_ptr_equal(prove_ex_bin(&p, EX_ADD, t, n), prove_ex_bin(&p, EX_ADD, n, t));
	assert_ptr_equal(prove_ex_or(&p, prove_ex_and(&p, c, prove_ex_not(&p, c)), c), c);
	assert_ptr_equal(prove_ex_bin(&p, EX_SHL, t, prove_ex_const(&p, 32, 3)),
			 prove_ex_bin(&p, EX_MUL, t, prove_ex_const(&p, 32, 8)));
	assert_int_equal(t->level, EX_THREAD);
	assert_int_equal(n->level, EX_GRID);
	prove_ex_pool_free(&p);
	base_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_values),
					   cmocka_unit_test(equal_is_identical)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
