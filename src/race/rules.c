/*
 * rules.c - conflict, scope inclusion and moral strength of two operations (rules.h).
 *
 * Straight from chapter 8 of the PTX ISA; no state, constant time.
 */
#include "race/rules.h"

enum race_scope race_scope_between(const struct race_place *a, const struct race_place *b)
{
	bool is_same_grid = a->device == b->device && a->grid == b->grid && a->grid != 0;

	if (is_same_grid && a->cta == b->cta)
		return RACE_SCOPE_CTA;
	if (is_same_grid && a->cluster == b->cluster)
		return RACE_SCOPE_CLUSTER;
	return a->device == b->device ? RACE_SCOPE_GPU : RACE_SCOPE_SYS;
}

bool race_scope_includes(enum race_scope scope, const struct race_place *from,
			 const struct race_place *to)
{
	return race_scope_between(from, to) <= scope;
}

bool race_overlaps(const struct race_op *a, const struct race_op *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

bool race_conflicts(const struct race_op *a, const struct race_op *b)
{
	return race_overlaps(a, b) && race_kinds_conflict(a->kind, b->kind);
}

bool race_is_morally_strong(const struct race_op *a, const struct race_op *b)
{
	bool has_same_bytes =
		!a->kind || !b->kind || (a->address == b->address && a->bytes == b->bytes);
	struct race_manner x = {a->strength, a->scope, a->proxy};
	struct race_manner y = {b->strength, b->scope, b->proxy};

	/* Program order takes the place of strength and scopes. */
	if (a->actor == b->actor)
		return has_same_bytes && a->proxy == b->proxy;
	return race_moral_of(x, y, race_scope_between(&a->place, &b->place), has_same_bytes) ==
	       RACE_MORALLY_STRONG;
}
