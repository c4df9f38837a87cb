/*
 * smt_query.c - opens, closes and answers queries; which unknowns two threads share (smt.h).
 *
 * A leaf is shared when its level says so and every counter that it depends on is the same in both
 * threads. Where one thread is an iteration ahead, a value carried around the loop is held to be
 * what the other thread's iteration made of it. A last iteration's counter brings the condition of
 * leaving the loop with it.
 */
#include "prove/solve/smt_impl.h"

#include <stdlib.h>
#include <string.h>

static void on_error(Z3_context z, Z3_error_code code)
{
	if (prove_smt_is_expected(code))
		return;
	base_say("error: Z3: %s", Z3_get_error_msg(z, code));
	abort(); /* in the child: its kernel becomes "could not prove" */
}

/* A context that the next solver may use: made before the children were forked, or left by one that
 * was closed. Fresh pages are what a new one costs. NULL: there is none. */
static Z3_context warm;
static unsigned warm_queries; /* that it has had */

static Z3_context new_context(void)
{
	Z3_config c = Z3_mk_config();
	Z3_context z = Z3_mk_context(c);

	Z3_del_config(c);
	Z3_set_error_handler(z, on_error);
	return z;
}

static void open_context(struct smt *s)
{
	s->z = warm ? warm : new_context();
	s->nqueries = warm ? warm_queries : 0;
	warm = NULL;
	s->integer = Z3_mk_int_sort(s->z);
	s->solver = NULL;
}

/* Without a time limit, for which Z3 would start a thread that a child doesn't inherit. */
void prove_smt_warm(void)
{
	Z3_solver s;

	if (warm)
		return;
	warm = new_context();
	warm_queries = 0;
	for (unsigned i = 0; i < 2; i++) {
		s = i ? Z3_mk_solver(warm) : Z3_mk_simple_solver(warm);
		Z3_solver_inc_ref(warm, s);
		Z3_ast x = Z3_mk_fresh_const(warm, "w",
					     i ? Z3_mk_bv_sort(warm, 32) : Z3_mk_int_sort(warm));
		Z3_ast one = Z3_mk_unsigned_int(warm, 1, Z3_get_sort(warm, x));
		Z3_solver_assert(warm, s, Z3_mk_eq(warm, x, one));
		Z3_solver_check(warm, s);
		Z3_solver_dec_ref(warm, s);
	}
}

struct smt *prove_smt_open(struct ev *e)
{
	struct smt *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->e = e;
	return s;
}

static void drop_solver(struct smt *s)
{
	if (s->solver)
		Z3_solver_dec_ref(s->z, s->solver);
	s->solver = NULL;
}

void prove_smt_close(struct smt *s)
{
	drop_solver(s);
	if (s->z && !warm) {
		warm = s->z;
		warm_queries = s->nqueries;
	} else if (s->z) {
		Z3_del_context(s->z);
	}
	prove_smt_memo_free(s);
	free(s->store.place);
	base_vec_free(&s->instances);
	base_vec_free(&s->atoms);
	base_vec_free(&s->queue);
	base_vec_free(&s->held);
	base_vec_free(&s->elements);
	free(s);
}

void prove_smt_begin(struct smt *s, const struct smt_query *q)
{
	drop_solver(s);
	if (s->z && s->nqueries >= SMT_QUERIES_PER_CONTEXT) {
		Z3_del_context(s->z);
		s->z = NULL;
	}
	if (!s->z)
		open_context(s);
	s->nqueries++;
	s->q = *q;
	s->solver = q->use_bits ? Z3_mk_solver(s->z) : Z3_mk_simple_solver(s->z);
	Z3_solver_inc_ref(s->z, s->solver);
	s->limit = 0;
	prove_smt_memo_clear(s);
	s->nproducts = s->ndivisions = s->nthresholds = 0;
	s->instances.n = s->atoms.n = s->queue.n = s->elements.n = s->held.n = 0;
	s->nloads = 0;
	memset(s->position, 0, sizeof(s->position));
	s->is_loose = false;
	s->depth = 0;
}

/* ---- sharing ------------------------------------------------------------------------ */

bool prove_smt_is_shared(struct smt *s, const struct ex *v)
{
	if (v->level < (s->q.is_same_cta ? EX_CTA : EX_GRID))
		return false;
	if (!v->has_ctr)
		return true;
	uint8_t known = prove_smt_memo_at(s, v, 0)->is_shared;
	if (known)
		return known == 2;
	bool is = v->op != EX_CTR || s->q.counters[v->imm] == SMT_SAME;
	for (uint32_t i = 0; i < v->n && is; i++)
		is = prove_smt_is_shared(s, v->a[i]);
	prove_smt_memo_at(s, v, 0)->is_shared = is ? 2 : 1;
	return is;
}

struct memo *prove_smt_memo(struct smt *s, const struct ex *v, unsigned t)
{
	return prove_smt_memo_at(s, v, prove_smt_is_shared(s, v) ? 0 : t);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	return base_hash(&v, sizeof(v), h);
}

/* A counter argument as (which counter, plus what): equal in both threads if the counter is. */
static uint64_t mix_counter(struct smt *s, uint64_t h, const struct ex *a, unsigned t)
{
	uint64_t delta = 0;

	while (a->op == EX_ADD && a->a[1]->op == EX_CONST) {
		delta += a->a[1]->imm;
		a = a->a[0];
	}
	if (a->op != EX_CTR)
		return mix(mix(mix(h, a->id), prove_smt_is_shared(s, a) ? 0 : 1 + t), delta);
	uint8_t c = s->q.counters[a->imm];
	if ((c == SMT_SECOND_AHEAD && t) || (c == SMT_FIRST_AHEAD && !t))
		delta++;
	return mix(mix(mix(h, a->imm), c == SMT_FREE ? 1 + t : 0), delta);
}

uint64_t prove_smt_leaf_key(struct smt *s, const struct ex *v, unsigned t)
{
	bool is_common = v->level >= (s->q.is_same_cta ? EX_CTA : EX_GRID);
	uint64_t h = mix(mix(BASE_FNV_INIT, (uint64_t)v->op << 8 | v->w), v->imm);

	if (v->op == EX_SYM)
		return mix(mix(BASE_FNV_INIT, EX_SYM), v->imm);
	if (v->op == EX_PURE || v->op == EX_CLOAD)
		return mix(mix(h, v->id), prove_smt_is_shared(s, v) ? 0 : 1 + t);
	h = mix(h, is_common ? 0 : 1 + t);
	for (uint32_t i = 0; i < v->n; i++)
		h = mix_counter(s, h, v->a[i], t);
	return h;
}

/* ---- facts about leaves ---------------------------------------------------------------- */

static void later(struct smt *s, const struct ex *fact, unsigned t)
{
	base_vec_reserve(&s->queue, s->queue.n + 1);
	s->queue.v[s->queue.n].fact = fact;
	s->queue.v[s->queue.n++].t = t;
}

/* A condition of one iteration of `loop`, of the iteration `ctr`, with the outer counters as the
 * arguments from `first` on say. */
static const struct ex *instantiate(struct smt *s, const struct ex *c, uint32_t loop,
				    const struct ex *ctr, const struct ex *leaf, uint32_t first)
{
	struct ev *e = s->e;
	uint32_t p = e->ir->loops[loop].parent;

	for (uint32_t i = first; p != IR_NONE && i < leaf->n; i++, p = e->ir->loops[p].parent)
		c = prove_ex_replace(e->pool, c, e->loops[p].ctr, leaf->a[i]);
	return prove_ex_replace(e->pool, c, e->loops[loop].ctr, ctr);
}

static const struct ex *before(struct smt *s, const struct ex *ctr)
{
	return prove_ex_bin(s->e->pool, EX_ADD, ctr, prove_ex_const(s->e->pool, 64, UINT64_MAX));
}

/* Iteration ctr of a loop was reached: it is the first, or the one before went on. */
static const struct ex *reached(struct smt *s, uint32_t loop, const struct ex *ctr,
				const struct ex *leaf, uint32_t first)
{
	struct ex_pool *p = s->e->pool;
	const struct ex *back = s->e->loops[loop].back;
	const struct ex *is_first = prove_ex_bin(p, EX_EQ, ctr, prove_ex_const(p, 64, 0));

	back = leaf ? instantiate(s, back, loop, before(s, ctr), leaf, first)
		    : prove_ex_replace(p, back, ctr, before(s, ctr));
	const struct ex *ends = prove_ev_ends_by(s->e, loop);
	ends = leaf ? instantiate(s, ends, loop, ctr, leaf, first) : ends;
	return prove_ex_or(p, is_first, prove_ex_and(p, back, ends));
}

const struct ex *prove_smt_closed(struct smt *s, const struct ex *v)
{
	uint32_t loop = (uint32_t)(v->imm / s->e->ncells);
	const struct ex *closed = v->n ? s->e->phi[v->imm]->closed : NULL;

	return closed && closed->w == v->w ? instantiate(s, closed, loop, v->a[0], v, 1) : NULL;
}

void prove_smt_leaf_facts(struct smt *s, const struct ex *v, unsigned t)
{
	struct ex_pool *p = s->e->pool;

	if (s->depth > 2)
		return;
	if (v->op == EX_SPEC && v->imm < EX_NTID_X) {
		unsigned d = (unsigned)v->imm + (EX_NTID_X - EX_TID_X);
		later(s, prove_ex_bin(p, EX_ULT, v, prove_ex_spec(p, (enum prove_ex_spec)d)), t);
	}
	if (v->op == EX_KEXIT) {
		uint32_t loop = (uint32_t)v->imm;
		const struct ex *in = s->e->guard[s->e->ir->loops[loop].header];
		/* A thread that doesn't enter the loop has no last iteration. */
		const struct ex *out = prove_ex_not(p, instantiate(s, in, loop, v, v, 0));
		const struct ex *over = instantiate(s, s->e->loops[loop].leave, loop, v, v, 0);
		later(s, prove_ex_or(p, out, prove_ex_and(p, over, reached(s, loop, v, v, 0))), t);
	}
	if (v->op == EX_PHI && v->n && s->q.use_bits && s->e->phi[v->imm]->closed) {
		/* "the iteration before" of the first one: there is none, and nothing is known */
		const struct ex *none =
			prove_ex_bin(p, EX_ULT, prove_ex_const(p, 64, EV_MAX_COUNTER), v->a[0]);
		later(s, prove_ex_or(p, none, prove_ex_bin(p, EX_EQ, v, prove_smt_closed(s, v))),
		      t);
	}
	if (v->op == EX_PHI && v->n && v->a[0]->op == EX_CTR) {
		const struct ev_phi *f = s->e->phi[v->imm];
		uint8_t c = s->q.counters[v->a[0]->imm];
		bool is_ahead = (c == SMT_SECOND_AHEAD && t) || (c == SMT_FIRST_AHEAD && !t);
		if (is_ahead && f->next && f->next->w == v->w)
			later(s,
			      prove_ex_bin(
				      p, EX_EQ, v,
				      prove_ex_replace(p, f->next, v->a[0], before(s, v->a[0]))),
			      t);
	}
}

struct term prove_smt_leaf(struct smt *s, const struct ex *v, unsigned t)
{
	if (v->op == EX_CTR) {
		uint8_t c = s->q.counters[v->imm];
		uint64_t key = mix(mix(BASE_FNV_INIT, EX_CTR), v->imm);
		wide last = (wide)s->e->loops[v->imm].last;
		bool is_ahead = (c == SMT_SECOND_AHEAD && t) || (c == SMT_FIRST_AHEAD && !t);
		struct term r = prove_smt_instance(s, mix(key, c == SMT_FREE ? 1 + t : 0), 0, last);
		if (is_ahead)
			r = (struct term){prove_smt_sum(s, r.t, prove_smt_number(s, 1)), 1,
					  last + 1};
		return r;
	}
	/* integers can't say what a shift by the counter makes of it: the bit-vectors can */
	s->is_loose |= v->op == EX_PHI && s->e->phi[v->imm]->closed;
	size_t n = s->instances.n;
	wide hi = v->op == EX_KEXIT ? (wide)s->e->loops[v->imm].last : (wide)v->hi;
	struct term r = prove_smt_instance(s, prove_smt_leaf_key(s, v, t), (wide)v->lo, hi);
	if (s->instances.n > n) {
		struct atom a = {v, t, r.t};
		base_vec_push(&s->atoms, a);
		prove_smt_leaf_facts(s, v, t);
	}
	return r;
}

struct term prove_smt_instance(struct smt *s, uint64_t key, wide lo, wide hi)
{
	for (size_t i = 0; i < s->instances.n; i++)
		if (s->instances.v[i].key == key)
			return s->instances.v[i].t;
	struct instance in = {.key = key, .t = prove_smt_unknown(s, lo, hi)};
	base_vec_push(&s->instances, in);
	return in.t;
}

/* ---- questions --------------------------------------------------------------------------- */

static void hold_fact(struct smt *s, const struct ex *fact, unsigned t)
{
	prove_smt_hold(
		s, s->q.use_bits ? Z3_mk_eq(s->z, prove_smt_bits(s, fact, t), prove_smt_bits_one(s))
				 : prove_smt_bool(s, fact, t));
}

static void flush(struct smt *s)
{
	for (size_t i = 0; i < s->queue.n; i++) {
		if (i == s->queue.n - 1)
			s->depth++;
		hold_fact(s, s->queue.v[i].fact, s->queue.v[i].t);
	}
	s->queue.n = 0;
}

void prove_smt_assert(struct smt *s, const struct ex *fact, unsigned t)
{
	hold_fact(s, fact, t);
}

void prove_smt_in_loop(struct smt *s, uint32_t loop, unsigned t)
{
	const struct ev_phi *p = s->e->loops[loop].tested;

	hold_fact(s, reached(s, loop, s->e->loops[loop].ctr, NULL, 0), t);
	/* "The counter doesn't wrap" is known of what a query mentions: the iteration before has
	 * compared this one's value as its own plus a step, in arithmetic that wraps. */
	if (p && p->is_solved && p->kind != EX_IND_WRAPS && s->q.use_bits)
		prove_smt_bits(s, p->leaf, t);
	else if (p && p->is_solved && p->kind != EX_IND_WRAPS)
		prove_smt_signed(s, p->leaf, t);
}

void prove_smt_conflict(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
			unsigned nb, bool is_partial)
{
	if (s->q.use_bits)
		prove_smt_conflict_bits(s, a, na, b, nb, is_partial);
	else
		prove_smt_conflict_integer(s, a, na, b, nb, is_partial);
}

/* The linear number of the thread in its CTA, by 32 (CUDA guide, "SIMT architecture"). */
static const struct ex *number_of_warp(struct ex_pool *p)
{
	const struct ex *yz = prove_ex_bin(
		p, EX_ADD,
		prove_ex_bin(p, EX_MUL, prove_ex_spec(p, EX_TID_Z), prove_ex_spec(p, EX_NTID_Y)),
		prove_ex_spec(p, EX_TID_Y));
	const struct ex *n =
		prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_MUL, yz, prove_ex_spec(p, EX_NTID_X)),
			     prove_ex_spec(p, EX_TID_X));

	return prove_ex_bin(p, EX_UDIV, n, prove_ex_const(p, 32, 32));
}

Z3_ast prove_smt_truth(struct smt *s, const struct ex *fact, unsigned t)
{
	return s->q.use_bits ? Z3_mk_eq(s->z, prove_smt_bits(s, fact, t), prove_smt_bits_one(s))
			     : prove_smt_bool(s, fact, t);
}

Z3_ast prove_smt_equal(struct smt *s, const struct ex *a, unsigned t, const struct ex *b,
		       unsigned u)
{
	if (s->q.use_bits)
		return Z3_mk_eq(s->z, prove_smt_bits(s, a, t), prove_smt_bits(s, b, u));
	if (a->w == 1)
		return Z3_mk_iff(s->z, prove_smt_bool(s, a, t), prove_smt_bool(s, b, u));
	return Z3_mk_eq(s->z, prove_smt_unsigned(s, a, t).t, prove_smt_unsigned(s, b, u).t);
}

void prove_smt_across(struct smt *s, const struct ex *guard, const struct ex *v, bool is_equal)
{
	Z3_ast both[2] = {prove_smt_truth(s, guard, 0), prove_smt_truth(s, guard, 1)},
	       eq = prove_smt_equal(s, v, 0, v, 1);

	prove_smt_hold(s, Z3_mk_implies(s->z, Z3_mk_and(s->z, 2, both),
					is_equal ? eq : Z3_mk_not(s->z, eq)));
}

void prove_smt_claims(struct smt *s, const struct smt_claim *first, const struct smt_claim *second)
{
	Z3_ast all[4] = {prove_smt_truth(s, first->when, 0), prove_smt_truth(s, second->when, 1),
			 prove_smt_equal(s, first->place, 0, second->place, 1)};

	if (first->number)
		all[3] = prove_smt_equal(s, first->number, 0, second->number, 1);
	prove_smt_hold(s, Z3_mk_not(s->z, Z3_mk_and(s->z, first->number ? 4 : 3, all)));
}

void prove_smt_same(struct smt *s, const struct ex *a, const struct ex *b, bool is_equal)
{
	Z3_ast eq = prove_smt_equal(s, a, 0, b, 1);

	prove_smt_hold(s, is_equal ? eq : Z3_mk_not(s->z, eq));
}

void prove_smt_differ(struct smt *s, const struct ex *guard, const struct ex *v)
{
	hold_fact(s, guard, 0);
	hold_fact(s, guard, 1);
	prove_smt_hold(s, Z3_mk_not(s->z, prove_smt_equal(s, v, 0, v, 1)));
}

void prove_smt_unequal(struct smt *s, const struct ex *a, const struct ex *va, const struct ex *b,
		       const struct ex *vb)
{
	Z3_ast either[2] = {Z3_mk_not(s->z, prove_smt_equal(s, a, 0, b, 1)),
			    Z3_mk_not(s->z, prove_smt_equal(s, va, 0, vb, 1))};

	prove_smt_hold(s, Z3_mk_or(s->z, 2, either));
}

/* x of thread t is less than y of thread u, as signed numbers of one width. */
Z3_ast prove_smt_is_less(struct smt *s, const struct ex *x, unsigned t, const struct ex *y,
			 unsigned u)
{
	if (s->q.use_bits)
		return Z3_mk_bvslt(s->z, prove_smt_bits(s, x, t), prove_smt_bits(s, y, u));
	return Z3_mk_lt(s->z, prove_smt_signed(s, x, t).t, prove_smt_signed(s, y, u).t);
}

void prove_smt_apart(struct smt *s, const struct ev_assume *as)
{
	struct ex_pool *p = s->e->pool;
	const struct ex *lo = as->value, *n = as->count;
	const struct ex *end = prove_ex_bin(p, EX_ADD, lo, n), *none = prove_ex_const(p, n->w, 0);
	const struct ex *comes = prove_ex_and(p, as->guard, prove_ex_bin(p, EX_SLT, none, n));
	const struct ex *wraps = prove_ex_not(p, prove_ex_bin(p, EX_EQ, end, as->off));
	Z3_ast meet[4];

	for (unsigned t = 0; t < 2; t++) {
		prove_smt_hold(
			s, Z3_mk_not(s->z, prove_smt_truth(s, prove_ex_and(p, comes, wraps), t)));
		meet[t] = prove_smt_truth(s, comes, t);
		meet[2 + t] = prove_smt_is_less(s, lo, t, end, !t);
	}
	prove_smt_hold(s, Z3_mk_not(s->z, Z3_mk_and(s->z, 4, meet)));
}

/* Is v of the other thread one of the n numbers from thread t's on? */
static Z3_ast falls_into(struct smt *s, const struct ex *v, const struct ex *n, unsigned t)
{
	if (s->q.use_bits) {
		Z3_ast far = Z3_mk_bvsub(s->z, prove_smt_bits(s, v, !t), prove_smt_bits(s, v, t));
		return Z3_mk_bvult(s->z, far, prove_smt_bits(s, n, t));
	}
	Z3_ast zero = prove_smt_number(s, 0), all = prove_smt_number(s, (wide)1 << v->w);
	Z3_ast both[2] = {prove_smt_unsigned(s, v, !t).t, prove_smt_unsigned(s, v, t).t};
	Z3_ast gap = Z3_mk_sub(s->z, 2, both), around = prove_smt_sum(s, gap, all);
	gap = Z3_mk_ite(s->z, Z3_mk_lt(s->z, gap, zero), around, gap);
	return Z3_mk_lt(s->z, gap, prove_smt_unsigned(s, n, t).t);
}

void prove_smt_intervals(struct smt *s, const struct ex *guard, const struct ex *v,
			 const struct ex *n)
{
	const struct ex *none = prove_ex_const(s->e->pool, n->w, 0);
	const struct ex *comes =
		prove_ex_and(s->e->pool, guard, prove_ex_bin(s->e->pool, EX_SLT, none, n));
	Z3_ast meet[2] = {falls_into(s, v, n, 0), falls_into(s, v, n, 1)};
	Z3_ast all[3] = {prove_smt_truth(s, comes, 0), prove_smt_truth(s, comes, 1),
			 Z3_mk_or(s->z, 2, meet)};

	prove_smt_hold(s, Z3_mk_not(s->z, Z3_mk_and(s->z, 3, all)));
}

/* Both have one place in the launch. */
static void hold_one(struct smt *s)
{
	struct ex_pool *p = s->e->pool;

	for (unsigned i = EX_TID_X; i <= EX_CTAID_Z; i++)
		prove_smt_across(s, prove_ex_const(p, 1, 1),
				 prove_ex_spec(p, (enum prove_ex_spec)i), true);
}

/* What the kernel itself says of its launches: the threads of a block, whole clusters. */
static void hold_sizes(struct smt *s)
{
	const struct ex_launch *l = &s->e->pool->launch;
	struct ex_pool *p = s->e->pool;
	const struct ex *n[3], *g;

	for (unsigned d = 0; d < 3; d++) {
		n[d] = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		g = prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d));
		g = prove_ex_bin(p, EX_UREM, g, prove_ex_const(p, 32, l->cluster[d]));
		hold_fact(s, prove_ex_bin(p, EX_EQ, g, prove_ex_const(p, 32, 0)), 0);
	}
	if (l->threads < 1024)
		hold_fact(s,
			  prove_ex_bin(p, EX_ULT,
				       prove_ex_bin(p, EX_MUL, prove_ex_bin(p, EX_MUL, n[0], n[1]),
						    n[2]),
				       prove_ex_const(p, 32, l->threads + 1)),
			  0);
}

/* A part of a parameter that is read in several widths. */
static void hold_words(struct smt *s)
{
	struct ex_pool *p = s->e->pool;

	for (uint32_t i = 0; i < p->nreads; i++) {
		const struct ex_read *all = &p->read[i];
		for (uint32_t k = 0; k < p->nreads; k++) {
			const struct ex_read *part = &p->read[k];
			if (part->w >= all->w || part->off < all->off ||
			    part->off + part->w / 8 > all->off + all->w / 8)
				continue;
			const struct ex *n = prove_ex_const(p, all->w, 8 * (part->off - all->off));
			n = prove_ex_bin(p, EX_LSHR, prove_ex_param(p, all->w, all->off), n);
			hold_fact(s,
				  prove_ex_bin(p, EX_EQ, prove_ex_un(p, EX_TRUNC, part->w, n),
					       prove_ex_param(p, part->w, part->off)),
				  0);
		}
	}
}

/* The two threads differ, and gridDim.d * blockDim.d stays below 2^31. */
static void hold_threads(struct smt *s)
{
	struct ex_pool *p = s->e->pool;
	unsigned first = s->q.is_same_cta ? EX_TID_X : EX_CTAID_X;
	Z3_ast differ[3];

	for (unsigned d = 0; d < 3; d++) {
		const struct ex *v = prove_ex_spec(p, (enum prove_ex_spec)(first + d));
		const struct ex *n = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		const struct ex *g = prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d));
		bool any_grid = s->e->any_grid;
		if (s->q.use_bits) {
			differ[d] = Z3_mk_not(s->z, Z3_mk_eq(s->z, prove_smt_bits(s, v, 0),
							     prove_smt_bits(s, v, 1)));
			if (s->position[0][d] || s->position[1][d])
				continue; /* what the product would be for */
			const struct ex *wide_n = prove_ex_un(p, EX_ZEXT, 64, n);
			const struct ex *wide_g = prove_ex_un(p, EX_ZEXT, 64, g);
			if (!any_grid)
				hold_fact(s,
					  prove_ex_bin(p, EX_ULT,
						       prove_ex_bin(p, EX_MUL, wide_n, wide_g),
						       prove_ex_const(p, 64, 1ull << 31)),
					  0);
			continue;
		}
		differ[d] = Z3_mk_not(s->z, Z3_mk_eq(s->z, prove_smt_unsigned(s, v, 0).t,
						     prove_smt_unsigned(s, v, 1).t));
		if (any_grid)
			continue;
		struct term all = prove_smt_product(s, prove_smt_unsigned(s, n, 0),
						    prove_smt_unsigned(s, g, 0));
		prove_smt_hold(s, Z3_mk_le(s->z, all.t, prove_smt_number(s, INT32_MAX)));
	}
	if (s->q.is_one)
		hold_one(s);
	else if (!s->q.is_alone)
		prove_smt_hold(s, Z3_mk_or(s->z, 3, differ));
	if (s->q.is_same_cta && s->q.warp != SMT_ANY_WARP)
		prove_smt_across(s, prove_ex_const(p, 1, 1), number_of_warp(p),
				 s->q.warp == SMT_SAME_WARP);
}

static enum smt_answer answer(struct smt *s, struct smt_model *m)
{
	Z3_lbool x = prove_smt_solve(s);

	if (x == Z3_L_FALSE)
		return SMT_IMPOSSIBLE;
	if (x != Z3_L_TRUE || (m && !s->q.is_alone && !prove_smt_read_model(s, m)))
		return SMT_GAVE_UP;
	return s->is_loose ? SMT_MAYBE : SMT_POSSIBLE;
}

enum smt_answer prove_smt_check(struct smt *s, struct smt_model *m)
{
	struct smt_key key = {0};
	enum smt_answer x;

	hold_threads(s);
	hold_sizes(s);
	hold_words(s);
	flush(s);
	prove_smt_learn_loads(s);
	flush(s);
	if (s->q.use_bits)
		prove_smt_finish_bits(s);
	else
		prove_smt_finish_integer(s);
	if (prove_smt_recall(s, &key, &x, m))
		return x;
	x = answer(s, m);
	prove_smt_keep(s, &key, x, m);
	return x;
}
