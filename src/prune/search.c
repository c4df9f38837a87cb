/*
 * search.c - one question to prove, and what its answer leaves without checks.
 *
 * Costs: LIMIT_MS at most for each kernel, or of what the job has the share that the first turns
 * get, which prove most.
 */
#include "base/clock.h"
#include "prune/search.h"

#include <string.h>

#define LIMIT_MS 10000
#define LIMIT_MB 1024

struct inst_prune *prune_kernel_of(struct inst_prunes *out, const char *name)
{
	for (size_t i = 0; i < out->kernels.n; i++)
		if (!strcmp(out->kernels.v[i].kernel, name))
			return &out->kernels.v[i];
	struct inst_prune k = {.kernel = base_strdup(&out->arena, name)};
	base_vec_push(&out->kernels, k);
	return &out->kernels.v[out->kernels.n - 1];
}

void prune_add_sites(struct inst_prune *k, const struct race_proof *proof, bool wants_global,
		     bool is_conditional)
{
	for (size_t i = 0; i < proof->sites.n; i++) {
		const struct race_proven_site *x = &proof->sites.v[i];
		struct inst_prune_site s = {x->ptx_line, x->is_shared, is_conditional};
		bool is_new = x->is_shared ? proof->stays_shared : wants_global;
		if (x->is_shared && !is_conditional && prune_has_stays_if(proof))
			continue;
		for (size_t j = 0; j < k->sites.n && is_new; j++)
			is_new = k->sites.v[j].ptx_line != s.ptx_line;
		if (is_new)
			base_vec_push(&k->sites, s);
	}
}

static bool add_pointer(struct inst_prune *k, uint64_t param, uint32_t *at)
{
	for (*at = 0; *at < k->narrays; ++*at)
		if (k->array[*at] == param)
			return true;
	if (k->narrays == RACE_PLAIN_ARRAYS)
		return false;
	k->array[k->narrays++] = param;
	return true;
}

bool prune_is_free(const struct race_proof *proof)
{
	return proof->verdict == RACE_VERDICT_FREE && proof->is_whole && !proof->problems.n;
}

/* Variables aren't arrays of a launch; no program can write a table of math functions. */
void prune_add_whole(struct inst_prune *k, const struct race_proof *proof)
{
	struct inst_prune more = *k;

	if (k->is_whole || !prune_is_free(proof))
		return;
	for (size_t i = 0; i < proof->frees.n; i++) {
		const struct race_free_site *s = &proof->frees.v[i];
		struct inst_prune_test t = {.nth = s->nth};
		if (race_is_math_table(s->variable, strlen(s->variable)))
			continue;
		if (*s->variable || !add_pointer(&more, s->param, &t.array))
			return;
		base_vec_push(&more.tests, t);
	}
	*k = more;
	k->is_whole = true;
}

/* Of the time that is left: the first turns prove most. */
#define TURN_SHARE(ms) ((ms) / 4 * 3)

/* False: the search is at its end. */
static bool set_limits(const struct prune_search *x, struct prove_options *o)
{
	uint64_t now = x->end ? base_now_ms() : 0;

	o->timeout_ms = LIMIT_MS;
	o->memory_mb = LIMIT_MB;
	if (!x->end)
		return true;
	if (now >= x->end)
		return false;
	o->wall_ms = 1 + (unsigned)TURN_SHARE(x->end - now);
	return true;
}

bool prune_prove(const struct prune_search *x, struct prove_options *o, struct race_proofs *r)
{
	const struct tool_prover_job *j = x->j;
	struct inst_prunes *out = x->out;
	struct base_sink sink = {0};
	struct base_arena arena = {0};

	if (!set_limits(x, o)) {
		out->is_late = true;
		return false;
	}
	prove_use_cache(o, &arena);
	if (!o->nonly) {
		o->only = j->kernels;
		o->nonly = j->nkernels;
	}
	o->counters_wrap = true;
	o->any_contents = true;
	o->no_assumes = true;
	o->wants_extents = true;
	for (unsigned l = RACE_LEVEL_WARP; l <= RACE_LEVEL_GRID; l++)
		o->level[l] = true;
	int rc = prove_text(j->name, j->text, j->size, o, r, &sink);
	for (size_t i = 0; i < r->kernels.n && !rc; i++)
		out->is_late |= !r->kernels.v[i].is_settled;
	base_sink_free(&sink);
	base_arena_free(&arena);
	return !rc;
}

bool prune_prove_each(const struct prune_search *x, const struct prune_assumes *m,
		      struct race_proofs *r)
{
	struct prove_options o = {
		.only = m->names.v, .nonly = m->names.n, .each = m->each.v, .neach = m->each.n};

	return m->each.n && prune_prove(x, &o, r);
}
