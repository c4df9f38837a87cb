/*
 * rules.c - conflict, scope inclusion and moral strength of two operations (rules.h).
 *
 * Straight from chapter 8 of the PTX ISA; no state, constant time.
 */
#include "race/rules.h"

bool race_scope_includes(enum race_scope scope, const struct race_place *from,
			 const struct race_place *to)
{
	bool same_grid = from->device == to->device && from->grid == to->grid && from->grid != 0;

	switch (scope) {
	case RACE_SCOPE_CTA:
		return same_grid && from->cta == to->cta;
	case RACE_SCOPE_CLUSTER:
		return same_grid && from->cluster == to->cluster;
	case RACE_SCOPE_GPU:
		return from->device == to->device;
	case RACE_SCOPE_SYS:
		return true;
	default:
		return false;
	}
}

bool race_overlaps(const struct race_op *a, const struct race_op *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

bool race_conflicts(const struct race_op *a, const struct race_op *b)
{
	return race_overlaps(a, b) && ((a->kind | b->kind) & RACE_OP_WRITE);
}

bool race_is_morally_strong(const struct race_op *a, const struct race_op *b)
{
	bool is_related = a->actor == b->actor;

	if (!is_related) {
		if (a->strength == RACE_WEAK || b->strength == RACE_WEAK)
			return false;
		if (!race_scope_includes((enum race_scope)a->scope, &a->place, &b->place) ||
		    !race_scope_includes((enum race_scope)b->scope, &b->place, &a->place))
			return false;
	}
	if (a->proxy != b->proxy)
		return false;
	if (a->kind && b->kind)
		return a->address == b->address && a->bytes == b->bytes;
	return true;
}
