/*
 * prune.c - which accesses `collider nvcc --prune` leaves without checks (inst_prune).
 *
 * prove doesn't know toolchain and instrument, nor they it; this file connects them: it is the
 * toolchain's tool_prover. The very PTX that is to be instrumented is analysed up to three times,
 * with the counters of loops wrapping as the machine's do, because nothing at run time could test
 * that they don't:
 *
 *	1. for any launch: what is proven has no check at all;
 *	2. within the contract about dimensions: what that adds is checked in other launches;
 *	3. where alarms are left, with the assumption that prove found to take all of them away.
 *
 * After a program has run (tool_prover_job.noted_folder) each kernel is asked about with what its
 * launches had in common (race/noted.h): dimensions, scalars, or bounds of them. That comes before
 * all else, as it is found soon where it is found. Where the other turns don't prove the kernel as
 * a whole, or not for its launches, that proof counts, or one that a part of the notes is enough
 * for, or that is for larger scalars, too.
 *
 * The contract becomes comparisons of dimensions and scalars, which the kernel's entry evaluates.
 * What the code itself assumes counts for nothing, as nothing tests it. Where some access to shared
 * memory isn't proven to stay within its variable, in blocks of some size at least, none of the
 * kernel's is left out: it may reach any other variable.
 *
 * With wants_whole it also says which kernels have nothing else than what is proven in the second
 * and third turn, and to which pointer each of their accesses to global memory belongs: who runs
 * them unchecked tests that each stays in its array, and that no two arrays overlap.
 *
 * Misses: functions that kernels call, accesses other than plain loads and stores, assumptions that
 * aren't comparisons. Without wants_whole nothing tests that accesses to global memory stay within
 * their arrays.
 * Costs: the time of `collider prove`, at most ten seconds for each kernel and turn, or what the
 * job has: the second turn, which proves most, comes first, then the third, each with three
 * quarters of what is left; is_late says whether more time could prove more. None for a module that
 * was analysed before, whose results that command keeps.
 */
#include "base/clock.h"
#include "prune/launched.h"
#include "prune/prune.h"

#include <string.h>

static void add_any(const struct prune_search *x, const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		prune_add_sites(prune_kernel_of(x->out, r->kernels.v[i].name), &r->kernels.v[i],
				x->j->wants_global, false);
}

static void add_some(const struct prune_search *x, const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_proof *proof = &r->kernels.v[i];
		struct inst_prune *k = prune_kernel_of(x->out, proof->name);
		if (!prune_add_terms(k, proof, "")) {
			k->nterms = 0;
			continue;
		}
		prune_add_sites(k, proof, x->j->wants_global, true);
		if (x->j->wants_whole)
			prune_add_whole(k, proof);
	}
}

/* ---- one more assumption ------------------------------------------------------------------- */

/* The first that takes all alarms away and that the kernel's entry can test. */
static void choose_remedy(struct prune_assumes *m, const struct race_proof *proof)
{
	for (size_t i = 0; i < proof->remedies.n; i++) {
		struct prove_assume_of a = {.kernel = proof->name,
					    .assume = proof->remedies.v[i].assume};
		struct inst_prune k = {0};
		if (!proof->remedies.v[i].is_all || !prune_add_terms(&k, proof, a.assume))
			continue;
		base_vec_push(&m->each, a);
		base_vec_push(&m->names, a.kernel);
		return;
	}
}

static void add_remedy(const struct prune_search *x, const struct race_proof *proof,
		       const char *assume)
{
	struct inst_prune *k = prune_kernel_of(x->out, proof->name), more = *k;

	/* All that the kernel accesses is proven by these terms alone: what kept shared memory in
	 * place without the assumption (one row of threads, say) isn't needed any more. */
	if (prune_is_free(proof)) {
		more.nterms = 0;
		if (!prune_add_contract(&more, proof))
			return;
	}
	if (!proof->sites.n || !prune_add_assume(&more, assume) ||
	    (prune_has_stays_if(proof) && !prune_add_assume(&more, proof->stays_if)))
		return;
	*k = more;
	prune_add_sites(k, proof, x->j->wants_global, true);
	if (x->j->wants_whole)
		prune_add_whole(k, proof);
}

static void add_remedies(const struct prune_search *x, const struct race_proofs *r,
			 const struct prune_assumes *m)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		for (size_t a = 0; a < m->each.n; a++)
			if (!strcmp(m->each.v[a].kernel, r->kernels.v[i].name))
				add_remedy(x, &r->kernels.v[i], m->each.v[a].assume);
}

void prune_find(const struct tool_prover_job *j, struct inst_prunes *out)
{
	struct prove_options any = {.all_launches = true},
			     some = {.wants_remedies = true, .of_many_blocks = true};
	struct prune_search x = {j, out, j->wall_ms ? base_now_ms() + j->wall_ms : 0};
	struct race_proofs of_any, of_some, of_more;
	struct prune_assumes m = {0};
	struct prune_noted n = {0};

	prune_prove_noted(&x, &n);
	bool has_some = prune_prove(&x, &some, &of_some);
	for (size_t i = 0; has_some && i < of_some.kernels.n; i++)
		choose_remedy(&m, &of_some.kernels.v[i]);
	bool has_more = prune_prove_each(&x, &m, &of_more);
	if (has_some)
		prune_widen_noted(
			&x, &(struct prune_known){&of_some, has_more ? &of_more : NULL, &m}, &n);
	bool has_any = prune_prove(&x, &any, &of_any);

	/* What holds for any launch needs no test; then what the first found is tested. */
	if (has_any) {
		add_any(&x, &of_any);
		race_proofs_free(&of_any);
	}
	if (has_some)
		add_some(&x, &of_some);
	if (has_more) {
		add_remedies(&x, &of_more, &m);
		race_proofs_free(&of_more);
	}
	prune_add_noted(&x, &n);
	prune_noted_free(&n);
	if (has_some)
		race_proofs_free(&of_some);
	base_vec_free(&m.each);
	base_vec_free(&m.names);
}
