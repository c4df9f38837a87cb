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
 * Costs: the time of `collider prove`, at most LIMIT_MS for each kernel and turn, or what the job
 * has: the second turn, which proves most, comes first, then the third, each with three quarters of
 * what is left; is_late says whether more time could prove more. None for a module that was
 * analysed before, whose results that command keeps.
 */
#include "base/clock.h"
#include "prune/noted.h"
#include "prune/prune.h"
#include "prove/prove.h"
#include "toolchain/toolchain.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 10000
#define LIMIT_MB 1024

static const struct inst_prune_number one = {INST_PRUNE_CONST, 1};

static bool add_term(struct inst_prune *k, struct inst_prune_term t)
{
	if (k->nterms == INST_PRUNE_TERMS)
		return false;
	k->term[k->nterms++] = t;
	return true;
}

/* ---- an assumption as terms --------------------------------------------------------------- */

static bool take(const char **p, const char *word)
{
	size_t n = strlen(word);

	while (**p == ' ')
		++*p;
	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* blockDim.x, gridDim.y, $2, 64. False: something else. */
static bool read_number(const char **p, struct inst_prune_number *out)
{
	static const char *const dims[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					   "gridDim.x",	 "gridDim.y",  "gridDim.z"};
	char *end;

	for (unsigned d = 0; d < BASE_COUNTOF(dims); d++) {
		if (take(p, dims[d])) {
			*out = (struct inst_prune_number){INST_PRUNE_DIM, d};
			return true;
		}
	}
	out->kind = take(p, "$") ? INST_PRUNE_PARAM : INST_PRUNE_CONST;
	while (**p == ' ')
		++*p;
	if (**p < '0' || **p > '9')
		return false;
	out->n = strtoull(*p, &end, 10);
	*p = end;
	if (out->kind == INST_PRUNE_PARAM && out->n-- == 0)
		return false;
	return true;
}

static bool read_side(const char **p, struct inst_prune_number *a, struct inst_prune_number *b,
		      bool *is_rem)
{
	*b = one;
	*is_rem = false;
	if (!read_number(p, a))
		return false;
	if (take(p, "*"))
		return read_number(p, b);
	if (!take(p, "%"))
		return true;
	*is_rem = true;
	/* by 0 the machine has some result */
	return read_number(p, b) &&
	       (b->kind == INST_PRUNE_DIM || (b->kind == INST_PRUNE_CONST && b->n));
}

/* "a OP b && c OP d ..." False: not of that form; then nothing may be concluded from it. */
static bool add_assume(struct inst_prune *k, const char *p)
{
	static const struct {
		const char *text;
		enum inst_prune_cmp cmp;
	} ops[] = {{"==", INST_PRUNE_EQ}, {"!=", INST_PRUNE_NE}, {"<=", INST_PRUNE_LE},
		   {">=", INST_PRUNE_GE}, {"<", INST_PRUNE_LT},	 {">", INST_PRUNE_GT}};

	do {
		struct inst_prune_term t = {0};
		bool is_rem;
		size_t i = 0;
		if (!read_side(&p, &t.a, &t.b, &t.is_rem))
			return false;
		while (i < BASE_COUNTOF(ops) && !take(&p, ops[i].text))
			i++;
		if (i == BASE_COUNTOF(ops) || !read_side(&p, &t.c, &t.d, &is_rem) || is_rem)
			return false;
		t.cmp = ops[i].cmp;
		if (!add_term(k, t))
			return false;
	} while (take(&p, "&&"));
	return !*p;
}

/* ---- the launch contract as terms ---------------------------------------------------------- */

/* Dimensions that are 1 by the contract, and products below 2^31. */
static bool add_contract(struct inst_prune *k, const struct race_proof *proof)
{
	bool ok = true;

	for (uint64_t d = 0; d < 6; d++) {
		struct inst_prune_term t = {.a = {INST_PRUNE_DIM, d}, .b = one, .c = one, .d = one};
		if (!(proof->free_dims >> d & 1) && proof->fixed_dim[d]) {
			t.c.n = proof->fixed_dim[d];
			ok &= add_term(k, t);
		}
	}
	for (uint64_t d = 0; d < 3; d++) {
		struct inst_prune_term t = {.cmp = INST_PRUNE_LE,
					    .c = {INST_PRUNE_CONST, INT32_MAX}};
		t.a = (struct inst_prune_number){INST_PRUNE_DIM, d};
		t.b = (struct inst_prune_number){INST_PRUNE_DIM, d + 3};
		t.d = one;
		ok &= add_term(k, t);
	}
	return ok;
}

/* ---- the three turns ---------------------------------------------------------------------- */

static struct inst_prune *kernel_of(struct inst_prunes *out, const char *name)
{
	for (size_t i = 0; i < out->kernels.n; i++)
		if (!strcmp(out->kernels.v[i].kernel, name))
			return &out->kernels.v[i];
	struct inst_prune k = {.kernel = base_strdup(&out->arena, name)};
	base_vec_push(&out->kernels, k);
	return &out->kernels.v[out->kernels.n - 1];
}

/* What keeps accesses to shared memory within their variables. */
static bool has_stays_if(const struct race_proof *proof)
{
	return proof->stays_if && *proof->stays_if;
}

static void add_sites(struct inst_prune *k, const struct race_proof *proof, bool wants_global,
		      bool is_conditional)
{
	for (size_t i = 0; i < proof->sites.n; i++) {
		const struct race_proven_site *x = &proof->sites.v[i];
		struct inst_prune_site s = {x->ptx_line, x->is_shared, is_conditional};
		bool is_new = x->is_shared ? proof->stays_shared : wants_global;
		if (x->is_shared && !is_conditional && has_stays_if(proof))
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

/* Is each access proven, with each other one, and to stay in its shared variable? */
static bool is_free(const struct race_proof *proof)
{
	return proof->verdict == RACE_VERDICT_FREE && proof->is_whole && !proof->problems.n;
}

/* Where nothing else of the kernel needs a check: its accesses to global memory, each with its
 * pointer. Variables aren't arrays of a launch; no program can write a table of math functions. */
static void add_whole(struct inst_prune *k, const struct race_proof *proof)
{
	struct inst_prune more = *k;

	if (k->is_whole || !is_free(proof))
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

/* What is asked, and until when (base_now_ms; 0: LIMIT_MS for each kernel and turn). */
struct search {
	const struct tool_prover_job *j;
	struct inst_prunes *out;
	uint64_t end;
};

/* Of the time that is left: the first turns prove most. */
#define TURN_SHARE(ms) ((ms) / 4 * 3)

/* False: the search is at its end. */
static bool set_limits(const struct search *x, struct prove_options *o)
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

static bool prove_once(const struct search *x, struct prove_options *o, struct race_proofs *r)
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

static void add_any(const struct search *x, const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		add_sites(kernel_of(x->out, r->kernels.v[i].name), &r->kernels.v[i],
			  x->j->wants_global, false);
}

/* False: the kernel's entry can't test it. */
static bool add_terms(struct inst_prune *k, const struct race_proof *proof, const char *assume)
{
	return add_contract(k, proof) && (!*assume || add_assume(k, assume)) &&
	       (!has_stays_if(proof) || add_assume(k, proof->stays_if));
}

static void add_some(const struct search *x, const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_proof *proof = &r->kernels.v[i];
		struct inst_prune *k = kernel_of(x->out, proof->name);
		if (!add_terms(k, proof, "")) {
			k->nterms = 0;
			continue;
		}
		add_sites(k, proof, x->j->wants_global, true);
		if (x->j->wants_whole)
			add_whole(k, proof);
	}
}

/* ---- one more assumption ------------------------------------------------------------------- */

/* Of kernels that have alarms without it: what is tried, all at once. */
struct remedies {
	BASE_VEC(struct prove_assume_of) each;
	BASE_VEC(const char *) names;
};

/* The first that takes all alarms away and that the kernel's entry can test. */
static void choose_remedy(struct remedies *m, const struct race_proof *proof)
{
	for (size_t i = 0; i < proof->remedies.n; i++) {
		struct prove_assume_of a = {.kernel = proof->name,
					    .assume = proof->remedies.v[i].assume};
		struct inst_prune k = {0};
		if (!proof->remedies.v[i].is_all || !add_terms(&k, proof, a.assume))
			continue;
		base_vec_push(&m->each, a);
		base_vec_push(&m->names, a.kernel);
		return;
	}
}

static bool prove_remedies(const struct search *x, const struct remedies *m, struct race_proofs *r)
{
	struct prove_options o = {
		.only = m->names.v, .nonly = m->names.n, .each = m->each.v, .neach = m->each.n};

	return m->each.n && prove_once(x, &o, r);
}

static void add_remedy(const struct search *x, const struct race_proof *proof, const char *assume)
{
	struct inst_prune *k = kernel_of(x->out, proof->name), more = *k;

	/* All that the kernel accesses is proven by these terms alone: what kept shared memory in
	 * place without the assumption (one row of threads, say) isn't needed any more. */
	if (is_free(proof)) {
		more.nterms = 0;
		if (!add_contract(&more, proof))
			return;
	}
	if (!proof->sites.n || !add_assume(&more, assume) ||
	    (has_stays_if(proof) && !add_assume(&more, proof->stays_if)))
		return;
	*k = more;
	add_sites(k, proof, x->j->wants_global, true);
	if (x->j->wants_whole)
		add_whole(k, proof);
}

static void add_remedies(const struct search *x, const struct race_proofs *r,
			 const struct remedies *m)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		for (size_t a = 0; a < m->each.n; a++)
			if (!strcmp(m->each.v[a].kernel, r->kernels.v[i].name))
				add_remedy(x, &r->kernels.v[i], m->each.v[a].assume);
}

/* ---- what launches had in common ----------------------------------------------------------- */

#define GRID	1u /* beside the blocks' dimensions */
#define SCALARS 2u
#define ALL	(GRID | SCALARS)
#define WIDE	4u /* larger scalars, too */
#define TURNS	5u
/* Of the time that there is: what proves launches as they are proves them soon. */
#define NOTED_SHARE(ms) ((ms) / 2)

/* A kernel that has notes. */
struct launched {
	const char *name;
	struct race_noted all;
	bool is_proven; /* with all of them */
	bool is_known;	/* without any */
	unsigned parts; /* of them that are enough */
};

struct noted {
	BASE_VEC(struct launched) kernels;
	/* With each choice of what is taken for granted. */
	struct turn {
		struct remedies m;
		struct race_proofs r;
		bool has_proofs;
	} turn[TURNS];
};

/* The kernel's proof, where it is one as a whole; NULL: there is none. */
static const struct race_proof *proof_in(const struct race_proofs *r, const char *name)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (!strcmp(r->kernels.v[i].name, name) && is_free(&r->kernels.v[i]))
			return &r->kernels.v[i];
	return NULL;
}

/* Adds nothing where that says no more than without scalars. */
static void add_launched(struct turn *t, unsigned parts, const struct launched *l,
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

/* With all that was noted, before anything else is asked. */
static void prove_noted(const struct search *x, struct noted *n)
{
	const struct tool_prover_job *j = x->j;
	struct turn *t = &n->turn[ALL];
	struct search part = *x;

	for (size_t i = 0; j->noted_folder && i < j->nkernels; i++) {
		struct launched l = {.name = j->kernels[i], .parts = ALL};
		uint64_t id = race_noted_id(j->noted, l.name, strlen(l.name));
		if (!race_noted_read(j->noted_folder, id, &l.all))
			continue;
		base_vec_push(&n->kernels, l);
		add_launched(t, ALL, &l, &x->out->arena);
	}
	if (x->end)
		part.end = base_now_ms() + NOTED_SHARE(j->wall_ms);
	t->has_proofs = prove_remedies(&part, &t->m, &t->r);
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++)
		n->kernels.v[i].is_proven = proof_in(&t->r, n->kernels.v[i].name) != NULL;
}

/* What is proven without. */
struct known {
	const struct race_proofs *some, *more; /* more: NULL: none */
	const struct remedies *m;	       /* of those */
};

/* Is that a proof of the launches? */
static bool is_met(const struct race_noted *all, const struct race_proof *proof, const char *assume)
{
	struct inst_prune k = {0};

	if (!proof || !add_terms(&k, proof, assume))
		return false;
	return prune_holds_in(all, &k);
}

/* all: NULL: of any launches. */
static bool is_known(const struct known *k, const char *name, const struct race_noted *all)
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
static void find_known(const struct search *x, const struct known *known, struct noted *n)
{
	for (size_t i = 0; i < known->some->kernels.n && x->j->noted_folder; i++) {
		const char *name = known->some->kernels.v[i].name;
		struct launched *l = NULL;
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
static void prove_with_less(const struct search *x, struct noted *n, unsigned parts)
{
	struct turn *t = &n->turn[parts == (ALL | WIDE) ? WIDE : parts];
	bool was_late = x->out->is_late;

	for (size_t i = 0; i < n->kernels.n; i++) {
		const struct launched *l = &n->kernels.v[i];
		bool is_asked = parts & WIDE ? l->parts & SCALARS : l->parts == ALL;
		if (l->is_proven && !l->is_known && is_asked)
			add_launched(t, parts & WIDE ? l->parts | WIDE : parts, l, &x->out->arena);
	}
	t->has_proofs = prove_remedies(x, &t->m, &t->r);
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++)
		if (proof_in(&t->r, n->kernels.v[i].name) && !(parts & WIDE))
			n->kernels.v[i].parts = parts;
	x->out->is_late = was_late;
}

/* Less than all of it, and larger numbers, where that is enough. */
static void widen_noted(const struct search *x, const struct known *known, struct noted *n)
{
	static const unsigned less[] = {0, GRID, SCALARS, ALL | WIDE};

	find_known(x, known, n);
	for (size_t i = 0; i < BASE_COUNTOF(less); i++)
		prove_with_less(x, n, less[i]);
}

/* In place of what the kernel has, if anything, which its launches don't keep to. All that it
 * accesses is proven by these terms alone. */
static void add_launches(const struct search *x, const struct race_proof *proof, const char *assume)
{
	struct inst_prune *k = kernel_of(x->out, proof->name);
	struct inst_prune only = {.kernel = k->kernel};

	if (!proof->sites.n || !add_terms(&only, proof, assume))
		return;
	if (x->j->wants_whole)
		add_whole(&only, proof);
	if (k->is_whole && !only.is_whole)
		return;
	base_vec_free(&k->tests);
	only.sites = k->sites;
	*k = only;
	add_sites(k, proof, x->j->wants_global, true);
}

static void add_turn(const struct search *x, const struct noted *n, const struct turn *t)
{
	for (size_t i = 0; t->has_proofs && i < n->kernels.n; i++) {
		const struct launched *l = &n->kernels.v[i];
		const struct race_proof *proof = proof_in(&t->r, l->name);
		for (size_t a = 0; a < t->m.each.n && proof && !l->is_known; a++)
			if (!strcmp(t->m.names.v[a], l->name))
				add_launches(x, proof, t->m.each.v[a].assume);
	}
}

/* The last one that is found counts. */
static void add_noted(const struct search *x, const struct noted *n)
{
	static const unsigned order[] = {ALL, 0, GRID, SCALARS, WIDE};

	for (size_t i = 0; i < BASE_COUNTOF(order); i++)
		add_turn(x, n, &n->turn[order[i]]);
}

static void noted_free(struct noted *n)
{
	for (unsigned nth = 0; nth < TURNS; nth++) {
		if (n->turn[nth].has_proofs)
			race_proofs_free(&n->turn[nth].r);
		base_vec_free(&n->turn[nth].m.each);
		base_vec_free(&n->turn[nth].m.names);
	}
	base_vec_free(&n->kernels);
}

void prune_find(const struct tool_prover_job *j, struct inst_prunes *out)
{
	struct prove_options any = {.all_launches = true},
			     some = {.wants_remedies = true, .of_many_blocks = true};
	struct search x = {j, out, j->wall_ms ? base_now_ms() + j->wall_ms : 0};
	struct race_proofs of_any, of_some, of_more;
	struct remedies m = {0};
	struct noted n = {0};

	prove_noted(&x, &n);
	bool has_some = prove_once(&x, &some, &of_some);
	for (size_t i = 0; has_some && i < of_some.kernels.n; i++)
		choose_remedy(&m, &of_some.kernels.v[i]);
	bool has_more = prove_remedies(&x, &m, &of_more);
	if (has_some)
		widen_noted(&x, &(struct known){&of_some, has_more ? &of_more : NULL, &m}, &n);
	bool has_any = prove_once(&x, &any, &of_any);

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
	add_noted(&x, &n);
	noted_free(&n);
	if (has_some)
		race_proofs_free(&of_some);
	base_vec_free(&m.each);
	base_vec_free(&m.names);
}
