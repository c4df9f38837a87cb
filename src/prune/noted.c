/*
 * noted.c - what is known of a kernel's launches (race/noted.h), in the words of a proof.
 *
 * Misses: what bounds alone don't show of a remainder.
 */
#include "prune/noted.h"

#define TERMS_MOST 14u /* of scalars; dimensions have 9 */

static const struct inst_prune_number one = {INST_PRUNE_CONST, 1};

struct bounds {
	uint64_t least, most;
};

static bool find_bounds(const struct race_noted *all, const struct inst_prune_number *x,
			struct bounds *out)
{
	switch (x->kind) {
	case INST_PRUNE_CONST:
		*out = (struct bounds){x->n, x->n};
		return true;
	case INST_PRUNE_DIM:
		*out = (struct bounds){all->dim[x->n].least, all->dim[x->n].most};
		return true;
	case INST_PRUNE_PARAM:
		if (x->n >= RACE_NOTED_PARAMS || !(all->scalars >> x->n & 1))
			return false;
		*out = (struct bounds){all->scalar[x->n].least, all->scalar[x->n].most};
		return true;
	}
	return false;
}

static bool find_product(const struct race_noted *all, const struct inst_prune_number *a,
			 const struct inst_prune_number *b, struct bounds *out)
{
	struct bounds x, y;

	return find_bounds(all, a, &x) && find_bounds(all, b, &y) &&
	       !__builtin_mul_overflow(x.least, y.least, &out->least) &&
	       !__builtin_mul_overflow(x.most, y.most, &out->most);
}

/* Does it hold in all launches that were noted? False: it may not. */
static bool holds_in(const struct race_noted *all, const struct inst_prune_term *t)
{
	struct bounds x, y;

	if (!find_product(all, &t->a, t->is_rem ? &one : &t->b, &x) ||
	    !find_product(all, &t->c, &t->d, &y))
		return false;
	if (t->is_rem) {
		struct bounds by;
		if (x.least != x.most || !find_bounds(all, &t->b, &by) || by.least != by.most ||
		    !by.least)
			return false;
		x.least = x.most = x.least % by.least;
	}
	switch (t->cmp) {
	case INST_PRUNE_EQ:
		return x.least == x.most && y.least == y.most && x.least == y.least;
	case INST_PRUNE_NE:
		return x.most < y.least || x.least > y.most;
	case INST_PRUNE_LT:
		return x.most < y.least;
	case INST_PRUNE_LE:
		return x.most <= y.least;
	case INST_PRUNE_GT:
		return x.least > y.most;
	case INST_PRUNE_GE:
		return x.least >= y.most;
	default:
		return false;
	}
}

bool prune_holds_in(const struct race_noted *all, const struct inst_prune *k)
{
	for (uint32_t i = 0; i < k->nterms; i++)
		if (!holds_in(all, &k->term[i]))
			return false;
	return true;
}

/* The power of two above it, four times, less one. */
static uint32_t widen(uint32_t most)
{
	uint64_t above = 1;

	while (above <= most)
		above *= 2;
	return 4 * above - 1 < INT32_MAX ? (uint32_t)(4 * above - 1) : INT32_MAX;
}

const char *prune_scalars_of(const struct race_noted *all, bool is_wide, struct base_arena *a)
{
	const char *text = "", *also = "";
	unsigned n = 0;

	for (int is_bound = is_wide; is_bound < 2; is_bound++) {
		for (uint64_t left = all->scalars; left; left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctzll(left);
			uint32_t least = all->scalar[i].least, most = all->scalar[i].most;
			if ((is_wide || least != most) != is_bound ||
			    n + 1 + (unsigned)is_bound > TERMS_MOST)
				continue;
			most = is_wide ? widen(most) : most;
			text = is_bound ? base_printf(a, "%s%s$%u >= %u && $%u <= %u", text, also,
						      i + 1, least, i + 1, most)
					: base_printf(a, "%s%s$%u == %u", text, also, i + 1, least);
			n += 1 + (unsigned)is_bound;
			also = " && ";
		}
	}
	return text;
}

const char *prune_dims_of(const struct race_noted *all, unsigned dims, struct base_arena *a)
{
	static const char *const names[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					    "gridDim.x",  "gridDim.y",	"gridDim.z"};
	const char *text = "";

	for (unsigned d = 0; d < BASE_COUNTOF(names); d++)
		if (dims >> d & 1 && all->dim[d].least != all->dim[d].most)
			text = base_printf(a, "%s%s%s <= %u", text, *text ? " && " : "", names[d],
					   all->dim[d].most);
	return text;
}
