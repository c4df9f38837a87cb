/*
 * contents.c - what arrays hold in the recorded launches, as assumptions (check.h).
 *
 * A list of places or of segments lets threads differ only by its contents: that no number comes
 * twice, that none is less than the one before, how large they are. A recorder looks at the arrays
 * as a launch begins (race/contents.h). What all launches in question have in common is assumed
 * here, of arrays from which numbers are loaded that an index or a condition rests on; the contract
 * says so. The loads are of memory that the kernel doesn't write (EX_CLOAD), so that the facts
 * last.
 *
 * Where all elements of an array are bounded, a load at a place that is surely not before the
 * pointer is bounded in every expression (prove_contents_hold): a load that is executed stays
 * within its array, and what another would give is of no account.
 *
 * No check at run time is left out by them (prove_options.any_contents).
 *
 * Misses: elements of less than 4 bytes, pointers in memory, facts about a part that begins later.
 */
#include "prove/check.h"

#include <stdlib.h>

/* What only so few first elements of an array have, all have by chance. */
#define FEW 16

/* ---- what is loaded ----------------------------------------------------------------------- */

struct loads {
	struct contract *c;
	uint8_t *seen; /* by number: expressions that were looked at */
	uint32_t n;
	BASE_VEC(const struct ex *) v;
};

static void find_loads(struct loads *l, const struct ex *v)
{
	if (!v || v->id >= l->n || l->seen[v->id])
		return;
	l->seen[v->id] = 1;
	if (v->op == EX_CLOAD)
		base_vec_push(&l->v, v);
	for (uint32_t i = 0; i < v->n; i++)
		find_loads(l, v->a[i]);
}

static void find_all_loads(struct loads *l)
{
	const struct ev *e = l->c->e;

	for (size_t i = 0; i < e->accesses.n; i++) {
		find_loads(l, e->accesses.v[i].off);
		find_loads(l, e->accesses.v[i].guard);
		find_loads(l, e->accesses.v[i].root.base);
	}
	for (uint32_t i = 0; i < e->ir->nloops; i++) {
		find_loads(l, e->loops[i].back);
		find_loads(l, e->loops[i].leave);
	}
}

static bool is_loaded(const struct loads *l, const struct ev_root *root, unsigned bytes)
{
	for (size_t i = 0; i < l->v.n; i++) {
		struct ev_root r = prove_ev_find_root(l->c->e, l->v.v[i]->a[0], IR_GENERIC);
		if (l->v.v[i]->w == 8 * bytes && prove_ev_same_root(&r, root))
			return true;
	}
	return false;
}

/* Do the bounds of its elements count in expressions? */
static bool is_held(const struct ex_pool *p, const struct prove_word *w, unsigned bytes)
{
	for (uint32_t i = 0; i < p->nheld; i++)
		if (p->held[i].param == w->off && p->held[i].w == 8 * bytes && p->held[i].is_used)
			return true;
	return false;
}

/* ---- what is known of it ------------------------------------------------------------------- */

static uint64_t elements(const struct prove_word *w, enum ir_assume kind, unsigned size)
{
	return kind == IR_ASSUME_SORTED	     ? w->holds.sorted[size]
	       : kind == IR_ASSUME_INJECTIVE ? w->holds.injective[size]
					     : w->holds.within[size];
}

/* What all launches say of the elements from the pointer of a word of the first on. */
struct common {
	uint64_t count; /* the first so many */
	int64_t least, most;
};

static struct common common_of(const struct prove_launch *const *l, size_t n,
			       const struct prove_word *of, enum ir_assume kind, unsigned size)
{
	struct common all = {PROVE_ALL_ELEMENTS, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < n && all.count; i++) {
		const struct prove_word *w = NULL;
		for (uint32_t k = 0; k < l[i]->nwords; k++)
			if (l[i]->word[k].off == of->off && l[i]->word[k].array)
				w = &l[i]->word[k];
		uint64_t own = w ? elements(w, kind, size) : 0;
		all.count = own < all.count ? own : all.count;
		if (!own)
			break;
		const struct race_contents *h = &w->holds;
		all.least = h->least[size] < all.least ? h->least[size] : all.least;
		all.most = h->most[size] > all.most ? h->most[size] : all.most;
	}
	return all;
}

static const char *words_of(struct contract *c, const struct prove_word *w, enum ir_assume kind,
			    const struct common *all)
{
	const struct names_param *p = prove_names_param_at(c->names, w->off);
	struct base_arena *a = c->arena;
	const char *name =
		p && p->is_known ? p->name : base_printf(a, "parameter %u", p ? p->number : 0);
	const char *first = "", *are = "all different";

	if (all->count != PROVE_ALL_ELEMENTS)
		first = base_printf(a, "first %llu ", (unsigned long long)all->count);
	if (kind == IR_ASSUME_SORTED)
		are = "sorted";
	else if (kind == IR_ASSUME_WITHIN)
		are = base_printf(a, "%lld to %lld", (long long)all->least, (long long)all->most);
	return base_printf(a, "the %selements of %s are %s, as in the recorded launch%s", first,
			   name, are, c->o->nlaunches > 1 ? "es" : "");
}

static void add(struct contract *c, const struct prove_word *w, enum ir_assume kind, unsigned bytes,
		const struct common *all)
{
	struct ev_assume as = {.kind = (uint8_t)kind, .loop = IR_NONE, .index = IR_NONE};
	struct ex_pool *pool = c->e->pool;
	const struct ex *p = prove_ex_any_param(pool, 64, w->off);

	as.guard = prove_ex_const(pool, 1, 1);
	as.root = prove_ev_find_root(c->e, p, IR_GENERIC);
	as.off = prove_ev_offset(c->e, p, &as.root);
	as.count = prove_ex_const(pool, 64, all->count);
	as.bytes = bytes;
	as.text = words_of(c, w, kind, all);
	as.value = prove_ex_const(pool, 8 * bytes, (uint64_t)all->least & prove_ex_mask(8 * bytes));
	as.step = prove_ex_const(pool, 8 * bytes, (uint64_t)all->most & prove_ex_mask(8 * bytes));
	base_vec_push(&c->e->assumes, as);
	c->has_contents = true;
}

void prove_contents_hold(struct ex_pool *pool, const struct prove_options *o)
{
	const struct prove_launch **l;

	if (!o->uses_contents || o->any_contents || !o->nlaunches)
		return;
	l = BASE_NEWN(pool->arena, const struct prove_launch *, o->nlaunches);
	for (size_t i = 0; i < o->nlaunches; i++)
		l[i] = &o->launches[i];
	for (uint32_t i = 0; i < l[0]->nwords; i++) {
		for (unsigned s = 0; s < RACE_CONTENTS_SIZES && l[0]->word[i].array; s++) {
			struct common all =
				common_of(l, o->nlaunches, &l[0]->word[i], IR_ASSUME_WITHIN, s);
			unsigned w = 8 * race_contents_bytes((enum race_contents_size)s);
			if (all.count != PROVE_ALL_ELEMENTS || all.least < 0 ||
			    pool->nheld == EX_MAX_HELD)
				continue;
			pool->held[pool->nheld++] =
				(struct ex_held){.param = l[0]->word[i].off,
						 .lo = (uint64_t)all.least,
						 .hi = (uint64_t)all.most & prove_ex_mask(w),
						 .w = w};
		}
	}
}

void prove_contract_add_contents(struct contract *c, const struct prove_launch *const *l, size_t n)
{
	static const enum ir_assume kinds[] = {IR_ASSUME_SORTED, IR_ASSUME_INJECTIVE,
					       IR_ASSUME_WITHIN};
	struct loads loads = {.c = c, .n = c->e->pool->n};

	if (!c->o->uses_contents || c->o->any_contents || !n)
		return;
	loads.seen = base_calloc(loads.n + 1, 1);
	find_all_loads(&loads);
	for (uint32_t i = 0; i < l[0]->nwords; i++) {
		const struct prove_word *w = &l[0]->word[i];
		const struct ex *p = prove_ex_any_param(c->e->pool, 64, w->off);
		struct ev_root root = prove_ev_find_root(c->e, p, IR_GENERIC);
		for (unsigned s = 0; s < RACE_CONTENTS_SIZES; s++) {
			unsigned bytes = race_contents_bytes((enum race_contents_size)s);
			bool is_seen = is_loaded(&loads, &root, bytes);
			bool is_bounded = is_held(c->e->pool, w, bytes);
			if (!w->array || root.kind != EV_ROOT_PARAM || (!is_seen && !is_bounded))
				continue;
			for (unsigned k = 0; k < BASE_COUNTOF(kinds); k++) {
				struct common all = common_of(l, n, w, kinds[k], s);
				if (all.count >= FEW && (is_seen || kinds[k] == IR_ASSUME_WITHIN))
					add(c, w, kinds[k], bytes, &all);
			}
		}
	}
	base_vec_free(&loads.v);
	free(loads.seen);
}
