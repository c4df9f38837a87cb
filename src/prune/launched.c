/*
 * launched.c - proofs for what a kernel's launches had in common (race/noted.h): all of it before
 * anything else is asked, then less of it, and larger scalars, where that is enough.
 *
 * Costs: half of the job's time at most for the first question; what proves launches as they are
 * proves them soon.
 */
#include "base/clock.h"
#include "prune/launched.h"
#include "prune/noted.h"

#include <string.h>

#define GRID	1u /* beside the blocks' dimensions */
#define SCALARS 2u
#define ALL	(GRID | SCALARS)
#define WIDE	4u /* larger scalars, too */
/* Of the time that there is. */
#define NOTED_SHARE(ms) ((ms) / 2)

/* The kernel's proof, where it is one as a whole; NULL: there is none. */
static const struct race_proof *proof_in(const struct race_proofs *r, const char *name)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (!strcmp(r->kernels.v[i].name, name) && prune_is_free(&r->kernels.v[i]))
			return &r->kernels.v[i];
	return NULL;
}

/* Adds nothing where that says no more than without scalars. */
static void add_launched(struct prune_turn *t, unsigned parts, const struct prune_launched *l,
			 struct base_arena *a)
{
	const unsigned dims = parts & GRID ? 63 : 7;
	const char *scalars =
		parts & SCALARS ? prune_scalars_of(&l->all, (parts & WIDE) != 0, a) : "";
	struct prove_assume_of of = {.kernel = l->name, .assume = prune_dims_of(&l->all, dims, a)};

	if ((parts == SCALARS || parts & WIDE) && !*scalars)
		return;
	if (*scalars)
		of.assume = base_printf(a, "%s%s%s", of.assume, *of.assume ? " && " : "", scalars);
	for (unsigned d = 0; d < 6; d++)
		if (dims >> d & 1 && l->all.dim[d].least == l->all.dim[d].most)
			of.dim[d] = l->all.dim[d].most;
	base_vec_push(&t->m.each, of);
	base_vec_push(&t->m.names, l->name);
}

void prune_prove_noted(const struct prune_search *x, struct prune_noted *n)
{
	const struct tool_prover_job *j = x->j;
	struct prune_turn *t = &n->turn[ALL];
	struct prune_search part = *x;

	for (size_t i = 0; j->noted_folder && i < j->nkernels; i++) {
		struct prune_launched l = {.name = j->kernels[i], .parts = ALL};
		uint64_t id = race_noted_id(j->noted, l.name, strlen(l.name));
		if (!race_noted_read(j->noted_folder, id, &l.all))
			continue;
		base_vec_push(&n->kernels, l);
		add_launched(t, ALL, &l, &x->out->arena);
	}
	if (x->end)
		part.end = base_now_ms() + NOTED_SHARE(j->wall_ms);
	t->has_proofs = prune_prove_each(&part, &t->m, &t->r);
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++)
		n->kernels.v[i].is_proven = proof_in(&t->r, n->kernels.v[i].name) != NULL;
}

/* Is that a proof of the launches? */
static bool is_met(const struct race_noted *all, const struct race_proof *proof, const char *assume)
{
	struct inst_prune k = {0};

	if (!proof || !prune_add_terms(&k, proof, assume))
		return false;
	return prune_holds_in(all, &k);
}

/* all: NULL: of any launches. */
static bool is_known(const struct prune_known *k, const char *name, const struct race_noted *all)
{
	const struct race_proof *some = proof_in(k->some, name);
	const struct race_proof *more = k->more ? proof_in(k->more, name) : NULL;

	if (!all)
		return some || more;
	if (is_met(all, some, ""))
		return true;
	for (size_t i = 0; more && i < k->m->each.n; i++)
		if (!strcmp(k->m->each.v[i].kernel, name) &&
		    is_met(all, more, k->m->each.v[i].assume))
			return true;
	return false;
}

/* Says which of the kernels need their notes, and whether others lack any. */
static void find_known(const struct prune_search *x, const struct prune_known *known,
		       struct prune_noted *n)
{
	for (size_t i = 0; i < known->some->kernels.n && x->j->noted_folder; i++) {
		const char *name = known->some->kernels.v[i].name;
		struct prune_launched *l = NULL;
		for (size_t k = 0; k < n->kernels.n; k++)
			if (!strcmp(n->kernels.v[k].name, name))
				l = &n->kernels.v[k];
		bool is = is_known(known, name, l ? &l->all : NULL);
		if (l)
			l->is_known = is;
		x->out->lacks_notes |= !l && !is;
	}
}

/* One more turn, for kernels that need their notes. It isn't missed where time runs out. */
static void prove_with_less(const struct prune_search *x, struct prune_noted *n, unsigned parts)
{
	struct prune_turn *t = &n->turn[parts == (ALL | WIDE) ? WIDE : parts];
	bool was_late = x->out->is_late;

	for (size_t i = 0; i < n->kernels.n; i++) {
		const struct prune_launched *l = &n->kernels.v[i];
		bool is_asked = parts & WIDE ? l->parts & SCALARS : l->parts == ALL;
		if (l->is_proven && !l->is_known && is_asked)
			add_launched(t, parts & WIDE ? l->parts | WIDE : parts, l, &x->out->arena);
	}
	t->has_proofs = prune_prove_each(x, &t->m, &t->r);
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++)
		if (proof_in(&t->r, n->kernels.v[i].name) && !(parts & WIDE))
			n->kernels.v[i].parts = parts;
	x->out->is_late = was_late;
}

void prune_widen_noted(const struct prune_search *x, const struct prune_known *known,
		       struct prune_noted *n)
{
	static const unsigned less[] = {0, GRID, SCALARS, ALL | WIDE};

	find_known(x, known, n);
	for (size_t i = 0; i < BASE_COUNTOF(less); i++)
		prove_with_less(x, n, less[i]);
}

/* In place of what the kernel has, if anything, which its launches don't keep to. All that it
 * accesses is proven by these terms alone. */
static void add_launches(const struct prune_search *x, const struct race_proof *proof,
			 const char *assume)
{
	struct inst_prune *k = prune_kernel_of(x->out, proof->name);
	struct inst_prune only = {.kernel = k->kernel};

	if (!proof->sites.n || !prune_add_terms(&only, proof, assume))
		return;
	if (x->j->wants_whole)
		prune_add_whole(&only, proof);
	if (k->is_whole && !only.is_whole)
		return;
	base_vec_free(&k->tests);
	only.sites = k->sites;
	*k = only;
	prune_add_sites(k, proof, x->j->wants_global, true);
}

static void add_turn(const struct prune_search *x, const struct prune_noted *n,
		     const struct prune_turn *t)
{
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++) {
		const struct prune_launched *l = &n->kernels.v[i];
		const struct race_proof *proof = proof_in(&t->r, l->name);
		for (size_t a = 0; a < t->m.each.n && proof && !l->is_known; a++)
			if (!strcmp(t->m.names.v[a], l->name))
				add_launches(x, proof, t->m.each.v[a].assume);
	}
}

void prune_add_noted(const struct prune_search *x, const struct prune_noted *n)
{
	static const unsigned order[] = {ALL, 0, GRID, SCALARS, WIDE};

	for (size_t i = 0; i < BASE_COUNTOF(order); i++)
		add_turn(x, n, &n->turn[order[i]]);
}

void prune_noted_free(struct prune_noted *n)
{
	for (unsigned nth = 0; nth < PRUNE_TURNS; nth++) {
		if (n->turn[nth].has_proofs)
			race_proofs_free(&n->turn[nth].r);
		base_vec_free(&n->turn[nth].m.each);
		base_vec_free(&n->turn[nth].m.names);
	}
	base_vec_free(&n->kernels);
}
