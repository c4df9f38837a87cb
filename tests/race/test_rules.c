/*
 * test_rules.c - the rules about pairs of operations, against the manual's words, for all pairs.
 *
 * The manual's sentences (PTX ISA 9.0, 8.5 and 8.6) are written down a second time here, each by
 * itself, and compared with race/rules.c over every combination of places, scopes, strengths,
 * proxies, kinds and bytes that it can distinguish.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "race/rules.h"

static const struct race_place places[] = {
	{.device = 0, .grid = 1, .cluster = 0, .cta = 0, .warp = 0, .lane = 0},
	{.device = 0, .grid = 1, .cluster = 0, .cta = 0, .warp = 1, .lane = 5},
	{.device = 0, .grid = 1, .cluster = 0, .cta = 1, .warp = 0, .lane = 0},
	{.device = 0, .grid = 1, .cluster = 1, .cta = 2, .warp = 0, .lane = 0},
	{.device = 0, .grid = 2, .cluster = 0, .cta = 0, .warp = 0, .lane = 0},
	{.device = 1, .grid = 3, .cluster = 0, .cta = 0, .warp = 0, .lane = 0},
	{.device = RACE_HOST},
};
#define NPLACES (sizeof(places) / sizeof(places[0]))

/* ".cta: all threads in the same CTA; .cluster: ... cluster; .gpu: all threads in the current
 * program executing on the same compute device; .sys: all threads, host threads included." */
static bool manual_includes(enum race_scope s, const struct race_place *me,
			    const struct race_place *other)
{
	bool is_grid = me->grid && me->grid == other->grid && me->device == other->device;

	return s == RACE_SCOPE_SYS || (s == RACE_SCOPE_GPU && me->device == other->device) ||
	       (s == RACE_SCOPE_CLUSTER && is_grid && me->cluster == other->cluster) ||
	       (s == RACE_SCOPE_CTA && is_grid && me->cta == other->cta);
}

static void scopes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NPLACES; i++)
		for (size_t j = 0; j < NPLACES; j++)
			for (int s = RACE_SCOPE_NONE; s <= RACE_SCOPE_SYS; s++)
				assert_int_equal(race_scope_includes((enum race_scope)s, &places[i],
								     &places[j]),
						 manual_includes((enum race_scope)s, &places[i],
								 &places[j]));
}

/* Digits of a number in the bases of what can differ. */
static unsigned digit(unsigned *n, unsigned base)
{
	unsigned d = *n % base;

	*n /= base;
	return d;
}

#define OPS (unsigned)(NPLACES * 4 * 3 * 2 * 3 * 3)

static struct race_op op_of(unsigned n)
{
	static const enum race_strength strengths[] = {RACE_WEAK, RACE_RELAXED, RACE_ACQ_REL};
	static const uint64_t bytes[][2] = {{16, 4}, {16, 8}, {20, 4}};
	unsigned place = digit(&n, (unsigned)NPLACES), scope = digit(&n, 4);
	struct race_op op = {.place = places[place],
			     .actor = place,
			     .scope = (uint8_t)(scope + RACE_SCOPE_CTA),
			     .strength = (uint8_t)strengths[digit(&n, 3)],
			     .proxy = (uint8_t)digit(&n, 2)};
	const uint64_t *range = bytes[digit(&n, 3)];

	op.kind = (uint8_t)digit(&n, 3);
	op.address = range[0];
	op.bytes = range[1];
	return op;
}

/* "Two operations are morally strong relative to each other if: they are related in program order,
 * or each is strong and specifies a scope that includes the thread executing the other; both are
 * performed via the same proxy; if both are memory operations, then they overlap completely." */
static bool manual_strong(const struct race_op *a, const struct race_op *b)
{
	bool is_strong = a->strength != RACE_WEAK && b->strength != RACE_WEAK;
	bool is_scoped = manual_includes((enum race_scope)a->scope, &a->place, &b->place) &&
			 manual_includes((enum race_scope)b->scope, &b->place, &a->place);
	bool are_memory = a->kind && b->kind;

	return (a->actor == b->actor || (is_strong && is_scoped)) && a->proxy == b->proxy &&
	       (!are_memory || (a->address == b->address && a->bytes == b->bytes));
}

static void moral_strength(void **state)
{
	unsigned strong = 0, conflicts = 0;

	(void)state;
	for (unsigned i = 0; i < OPS; i++)
		for (unsigned j = 0; j < OPS; j += 1 + i % 3) {
			struct race_op a = op_of(i), b = op_of(j);
			bool is_strong = race_is_morally_strong(&a, &b);

			assert_int_equal(is_strong, manual_strong(&a, &b));
			assert_int_equal(is_strong, race_is_morally_strong(&b, &a));
			assert_int_equal(race_conflicts(&a, &b), race_conflicts(&b, &a));
			strong += is_strong;
			conflicts += race_conflicts(&a, &b);
		}
	assert_true(strong > 1000 && conflicts > 1000);
}

/* "Two memory operations conflict if they overlap and one of them is a write." */
static void conflict(void **state)
{
	struct race_op read = {.kind = RACE_OP_READ, .address = 16, .bytes = 4};
	struct race_op write = {.kind = RACE_OP_WRITE, .address = 19, .bytes = 4};

	(void)state;
	assert_true(race_conflicts(&read, &write));
	assert_false(race_conflicts(&read, &read));
	write.address = 20;
	assert_false(race_conflicts(&read, &write));
	write.kind = RACE_OP_RMW;
	write.address = 12;
	assert_false(race_conflicts(&read, &write));
	write.bytes = 5;
	assert_true(race_conflicts(&read, &write));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes),
		cmocka_unit_test(moral_strength),
		cmocka_unit_test(conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
