/*
 * contract.c - the launch contract, and whether any launch keeps to it (check.h).
 *
 * Contradictory assumptions prove everything, so they must be found before the pairs are asked
 * about. The first and the last thread of a launch exist in every launch; when no values let both
 * keep to all assumptions, no launch does. Then the assumptions are left out one by one, and those
 * that can't be left out are named. An assumption in the middle of a path is also asked about by
 * itself: can it hold where control reaches it? At last each access is asked about: do the
 * assumptions leave it reachable? Integers first; a "yes" counts only from bit-vectors, because
 * integers know products by their bounds and order alone.
 *
 * Misses: a contradiction that needs parameters and a thread in the middle, or several iterations
 * of a loop.
 * Costs: two queries for the kernel, and up to two for each assumption and each condition of an
 * access; none where nothing is assumed.
 */
#include "prove/check.h"

#include <string.h>

static const char *const dim_names[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					"gridDim.x",  "gridDim.y",  "gridDim.z"};

/* ---- dimensions ----------------------------------------------------------------------- */

static bool deny(struct contract *c, const char *text)
{
	c->say(RACE_PROBLEM_VACUOUS, NULL, text, c->arg);
	return false;
}

bool prove_contract_check_launch(struct contract *c, const struct ir *ir)
{
	const uint32_t *dim = c->o->dim, *req = ir->f->reqntid;
	uint64_t threads = 1;
	bool ok = true;

	for (unsigned d = 0; d < 6; d++) {
		uint32_t must = d < 3 && req[0] ? (req[d] ? req[d] : 1) : 0;
		if (dim[d] > launch_limits[d])
			ok = deny(c, base_printf(c->arena, "%s = %u is above CUDA's limit of %u",
						 dim_names[d], dim[d], launch_limits[d]));
		if (dim[d] && must && dim[d] != must)
			ok = deny(c, base_printf(c->arena,
						 "%s = %u contradicts the kernel's .reqntid, %u",
						 dim_names[d], dim[d], must));
		if (d < 3)
			threads *= dim[d] ? dim[d] : 1;
		if (d < 3 && dim[d] && dim[d + 3] && !c->o->all_launches &&
		    (uint64_t)dim[d] * dim[d + 3] > (uint64_t)INT32_MAX)
			ok = deny(c, base_printf(c->arena, "%s * %s = %llu is not below 2^31",
						 dim_names[d], dim_names[d + 3],
						 (unsigned long long)dim[d] * dim[d + 3]));
	}
	if (ok && threads > MAX_BLOCK_THREADS)
		ok = deny(c, base_printf(c->arena,
					 "a block of %llu threads is above CUDA's limit of %d",
					 (unsigned long long)threads, MAX_BLOCK_THREADS));
	else if (ok && threads > prove_launch_max_threads(ir))
		ok = deny(c, base_printf(c->arena,
					 "a block of %llu threads contradicts the kernel's "
					 ".maxntid, %llu",
					 (unsigned long long)threads,
					 (unsigned long long)prove_launch_max_threads(ir)));
	return ok;
}

/* ---- parameters ----------------------------------------------------------------------- */

/* What a word that the kernel reads is, where it lies in a parameter (or member) of that value, or
 * the other way round: the bytes that both have. */
static const struct ex *is_value(struct ex_pool *p, const struct ex_read *r, uint64_t off,
				 uint64_t bytes, uint64_t value)
{
	uint64_t lo = r->off > off ? r->off : off;
	uint64_t end = r->off + r->w / 8 < off + bytes ? r->off + r->w / 8 : off + bytes;
	const struct ex *v = prove_ex_any_param(p, r->w, r->off);
	unsigned w = (unsigned)(8 * (end - lo));

	if (lo > r->off)
		v = prove_ex_bin(p, EX_LSHR, v, prove_ex_const(p, r->w, 8 * (lo - r->off)));
	if (w < r->w)
		v = prove_ex_un(p, EX_TRUNC, w, v);
	value = value >> (8 * (lo - off)) & prove_ex_mask(w);
	return prove_ex_bin(p, EX_EQ, v, prove_ex_const(p, w, value));
}

/* "It has this value", for each word of it that the kernel reads. */
static const struct ex *has_value(struct ex_pool *p, const struct names_param *n, uint64_t value)
{
	struct ex_read own = {.off = n->off, .w = (unsigned)(8 * n->bytes)};
	const struct ex *all = is_value(p, &own, n->off, n->bytes, value);

	for (uint32_t i = 0; i < p->nreads; i++) {
		const struct ex_read *r = &p->read[i];
		if (r->off < n->off + n->bytes && n->off < r->off + r->w / 8 &&
		    (r->off != own.off || r->w != own.w))
			all = prove_ex_and(p, all, is_value(p, r, n->off, n->bytes, value));
	}
	return all;
}

/* By name or number; what is wrong with it is said. NULL: none. */
static const struct names_param *find_param(struct contract *c, uint32_t i, bool *ok)
{
	const char *name = c->o->param[i].name;
	const struct names_param *p = NULL;

	if (name)
		p = prove_names_param_called(c->names, name, strlen(name));
	else if (c->o->param[i].index <= c->names->nparams &&
		 !c->names->param[c->o->param[i].index - 1].is_member)
		p = &c->names->param[c->o->param[i].index - 1];
	if (name && !p)
		*ok = deny(c, base_printf(c->arena, "the kernel has no parameter '%s'", name));
	if (p && p->is_struct)
		*ok = deny(c, base_printf(c->arena, "%s is a structure: name a member, %s.NAME",
					  p->name, p->name));
	return p && !p->is_struct ? p : NULL;
}

bool prove_contract_add_params(struct contract *c)
{
	struct ex_pool *pool = c->e->pool;
	bool ok = true;

	for (uint32_t i = 0; i < c->o->nparams; i++) {
		const struct names_param *p = find_param(c, i, &ok);
		uint64_t value = c->o->param[i].value;
		unsigned w = p ? (unsigned)(8 * p->bytes) : 0;
		if (w > 64 || !w)
			continue;
		bool is_negative = value >> (w - 1) == UINT64_MAX >> (w - 1);
		if ((value & prove_ex_mask(w)) != value && !is_negative) {
			const char *which = c->o->param[i].name
						    ? p->name
						    : base_printf(c->arena, "%u", p->number);
			ok = deny(c, base_printf(c->arena,
						 "parameter %s has %llu bytes and can't be %llu",
						 which, (unsigned long long)p->bytes,
						 (unsigned long long)value));
			continue;
		}
		struct ev_assume as = {.loop = IR_NONE, .index = IR_NONE, .param = i + 1};
		as.guard = prove_ex_const(pool, 1, 1);
		as.holds = as.fact = has_value(pool, p, value);
		base_vec_push(&c->e->assumes, as);
	}
	return ok;
}

bool prove_contract_add_assumes(struct contract *c)
{
	bool ok = true;

	for (size_t i = 0; i < c->o->nassumes; i++) {
		struct ev_assume as;
		const char *wrong = prove_assume_read(c->names, c->e, c->o->assumes[i], &as);
		if (wrong)
			ok = deny(c, base_printf(c->arena, "--assume='%s': %s", c->o->assumes[i],
						 wrong));
		else
			base_vec_push(&c->e->assumes, as);
	}
	return ok;
}

/* ---- the assumptions ---------------------------------------------------------------- */

static const char *param_text(struct base_arena *a, const struct prove_options *o, uint32_t i)
{
	unsigned long long v = (unsigned long long)o->param[i].value;

	return o->param[i].name ? base_printf(a, "parameter %s = %llu", o->param[i].name, v)
				: base_printf(a, "parameter %u = %llu", o->param[i].index, v);
}

static const char *name_of(struct contract *c, const struct ev_assume *as)
{
	if (as->text)
		return base_printf(c->arena, "--assume='%s'", as->text);
	if (!as->param)
		return "this assumption";
	return param_text(c->arena, c->o, as->param - 1);
}

/* Leaves out what isn't needed for the contradiction, and names the rest. */
static void name_contradiction(struct contract *c)
{
	size_t n = c->e->assumes.n, left = n;
	bool *is_out = base_zalloc(c->arena, n + 1);
	struct contract_question q = {.is_launch = true, .is_out = is_out};

	for (size_t i = 0; i < n; i++) {
		is_out[i] = true;
		if (prove_contract_ask(c, &q) == SMT_IMPOSSIBLE)
			left--;
		else
			is_out[i] = false;
	}
	if (!left)
		deny(c, "no launch keeps to the dimensions of the contract");
	for (size_t i = 0; i < n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (is_out[i])
			continue;
		c->say(RACE_PROBLEM_VACUOUS, as->at,
		       base_printf(c->arena,
				   left > 1 ? "%s contradicts the others that are named here"
					    : "%s holds in no launch within the contract",
				   name_of(c, as)),
		       c->arg);
	}
}

/* Of the fixed dimensions: does the assumption deny some threadIdx or blockIdx outright? */
static bool denies_thread(struct contract *c, const struct ev_assume *as)
{
	static const char *const names[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z",
					    "blockIdx.x",  "blockIdx.y",  "blockIdx.z"};
	struct ex_pool *p = c->e->pool;

	for (unsigned d = 0; d < 6; d++) {
		unsigned which = d < 3 ? EX_TID_X + d : EX_CTAID_X + d - 3;
		const struct ex *spec = prove_ex_spec(p, (enum prove_ex_spec)which);
		uint32_t n = p->launch.dim[d];
		if (!prove_ex_contains(as->fact, spec))
			continue;
		for (uint32_t i = 0; i < n && i < MAX_BLOCK_THREADS; i++) {
			const struct ex *f =
				prove_ex_replace(p, as->fact, spec, prove_ex_const(p, 32, i));
			if (f->op != EX_CONST || (f->imm & 1))
				continue;
			c->say(RACE_PROBLEM_VACUOUS, as->at,
			       base_printf(c->arena,
					   "no thread with %s = %u can keep this assumption",
					   names[d], i),
			       c->arg);
			return true;
		}
	}
	return false;
}

/* An assumption in the middle of a path: does it hold for anyone who comes there? */
static void check_assume(struct contract *c, size_t i)
{
	const struct ev_assume *as = &c->e->assumes.v[i];
	bool *is_out = base_zalloc(c->arena, c->e->assumes.n + 1);
	struct contract_question q = {.block = as->block, .guard = as->guard, .holds = as->holds};
	enum smt_answer x = prove_contract_ask(c, &q);

	if (x == SMT_GAVE_UP)
		c->say(RACE_PROBLEM_UNPROVEN, as->at,
		       "the solver gave up on whether this assumption can hold", c->arg);
	if (x != SMT_IMPOSSIBLE)
		return;
	/* Is it this one, or do others keep everyone from coming there? */
	is_out[i] = true;
	q.is_out = is_out;
	q.holds = NULL;
	if (prove_contract_ask(c, &q) != SMT_IMPOSSIBLE)
		c->say(RACE_PROBLEM_VACUOUS, as->at,
		       "this assumption never holds where control reaches it", c->arg);
}

static void say_access(struct contract *c, const struct ev_access *a, enum smt_answer x)
{
	struct contract_question q = {.block = a->block, .guard = a->guard};

	if (x != SMT_IMPOSSIBLE)
		return;
	q.use_none = true;
	if (prove_contract_ask(c, &q) != SMT_IMPOSSIBLE)
		c->say(RACE_PROBLEM_EXCLUDED, a->step->at, CONTRACT_EXCLUDED, c->arg);
}

static void say_unanswered(struct contract *c, const enum smt_answer *x)
{
	const struct ev_access *first = NULL;
	size_t n = 0;

	for (size_t i = c->e->accesses.n; i-- > 0;)
		if (x[i] == SMT_GAVE_UP) {
			first = &c->e->accesses.v[i];
			n++;
		}
	if (!first)
		return;
	c->say(RACE_PROBLEM_EXCLUDED, first->step->at,
	       base_printf(c->arena,
			   "the solver gave up on whether the assumptions leave this access%s "
			   "reachable",
			   n > 1 ? base_printf(c->arena, " and %zu others", n - 1) : ""),
	       c->arg);
}

/* Was an access of the same block and condition asked about already? */
static bool is_known(const struct ev *e, size_t i)
{
	const struct ev_access *a = &e->accesses.v[i];

	for (size_t k = i + 1; k < e->accesses.n; k++) {
		const struct ev_access *b = &e->accesses.v[k];
		if (a->block == b->block && a->guard == b->guard)
			return true;
	}
	return false;
}

/* Is control there, wherever it comes to a block that is known to be reached? */
static bool is_before(const struct ev *e, const struct ev_access *a, const bool *is_reached)
{
	for (uint32_t i = 0; i < e->ir->nrpo && a->guard == e->guard[a->block]; i++)
		if (is_reached[e->ir->rpo[i]] && prove_ir_dominates(e->ir, a->block, e->ir->rpo[i]))
			return true;
	return false;
}

bool prove_contract_has_launch(struct contract *c, const struct ev_access *a)
{
	struct contract_question launch = {.is_launch = true},
				 reached = {.block = a ? a->block : 0};

	reached.guard = a ? a->guard : NULL;
	return a ? prove_contract_ask(c, &reached) != SMT_IMPOSSIBLE
		 : prove_contract_ask(c, &launch) == SMT_POSSIBLE;
}

/* Two threads that differ in one dimension, of thread or block, where they are its first two. */
static void hold_neighbours(struct contract *c, enum prove_ex_spec spec)
{
	struct ex_pool *p = c->e->pool;

	for (unsigned t = 0; t < 2; t++)
		for (unsigned s = EX_TID_X; s <= EX_CTAID_Z; s++) {
			const struct ex *at = prove_ex_spec(p, (enum prove_ex_spec)s);
			const struct ex *is = prove_ex_const(p, 32, s == spec ? t : 0);
			prove_smt_assert(c->smt, prove_ex_bin(p, EX_EQ, at, is), t);
		}
}

/*
 * "x is another value in each thread", or its numbers are apart: have two such neighbours one in
 * common in every launch that has them? Then only launches without them keep to it.
 */
static bool is_denied_by_neighbours(struct contract *c, const struct ev_assume *as,
				    enum prove_ex_spec spec)
{
	bool is_block = spec >= EX_CTAID_X;
	struct smt_query sq = {.is_same_cta = !is_block};

	if (!check_limit(&sq, CHECK_QUERY, c->deadline) ||
	    c->e->pool->launch.max[spec - EX_TID_X] < 2)
		return false;
	sq.counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	c->counts->queries++;
	prove_smt_begin(c->smt, &sq);
	hold_neighbours(c, spec);
	if (as->kind == IR_ASSUME_DISTINCT) {
		prove_smt_differ(c->smt, as->guard, as->value);
	} else {
		prove_smt_assert(c->smt, as->guard, 0);
		prove_smt_assert(c->smt, as->guard, 1);
		prove_smt_apart(c->smt, as);
	}
	if (prove_smt_check(c->smt, NULL) != SMT_IMPOSSIBLE)
		return false;
	/* they don't come there both, or they have one value: only the latter contradicts */
	prove_smt_begin(c->smt, &sq);
	hold_neighbours(c, spec);
	for (unsigned t = 0; t < 2; t++)
		prove_smt_assert(c->smt, as->guard, t);
	return prove_smt_check(c->smt, NULL) != SMT_IMPOSSIBLE;
}

/* In which dimension, or EX_SPEC_COUNT. */
static unsigned denied_in(struct contract *c, const struct ev_assume *as)
{
	unsigned s = EX_TID_X;

	if (as->kind != IR_ASSUME_DISTINCT && as->kind != IR_ASSUME_APART)
		return EX_SPEC_COUNT;
	while (s <= EX_CTAID_Z && !is_denied_by_neighbours(c, as, (enum prove_ex_spec)s))
		s++;
	return s <= EX_CTAID_Z ? s : EX_SPEC_COUNT;
}

bool prove_contract_denies(struct contract *c, const struct ev_assume *as)
{
	return denied_in(c, as) != EX_SPEC_COUNT;
}

static bool check_distinct(struct contract *c)
{
	bool ok = true;

	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		bool is_distinct = as->kind == IR_ASSUME_DISTINCT;
		unsigned s = denied_in(c, as);
		if (s == EX_SPEC_COUNT)
			continue;
		c->say(RACE_PROBLEM_VACUOUS, as->at,
		       base_printf(c->arena, "%s have %s here, which is to be %s",
				   s >= EX_CTAID_X ? "the first threads of two blocks"
						   : "the first two threads of a block",
				   is_distinct ? "one value" : "a number in common",
				   is_distinct ? "distinct" : "apart"),
		       c->arg);
		ok = false;
	}
	return ok;
}

bool prove_contract_check(struct contract *c)
{
	struct contract_question q = {.is_launch = true};

	if (!c->e->assumes.n)
		return true;
	c->npins = prove_pins_find(c->e, c->pin);
	if (!check_distinct(c))
		return false;
	enum smt_answer x = prove_contract_ask(c, &q);
	if (x == SMT_IMPOSSIBLE) {
		name_contradiction(c);
		return false;
	}
	if (x == SMT_GAVE_UP)
		c->say(RACE_PROBLEM_UNPROVEN, NULL,
		       "the solver gave up on whether the assumptions contradict each other",
		       c->arg);
	bool is_kept = true;
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		if (c->e->assumes.v[i].param || c->e->assumes.v[i].text ||
		    c->e->assumes.v[i].kind != IR_ASSUME_FACT)
			continue;
		if (denies_thread(c, &c->e->assumes.v[i]))
			is_kept = false;
		else
			check_assume(c, i);
	}
	return is_kept;
}

/* Does the code, or an option, assume something beside what recorded launches were? */
static bool has_assumes(const struct contract *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->e->assumes.n; i++)
		n += c->e->assumes.v[i].is_recorded;
	return n < c->e->assumes.n;
}

void prove_contract_check_accesses(struct contract *c)
{
	const struct ev *e = c->e;

	/* what a launch's own numbers exclude is no news */
	if (!has_assumes(c))
		return;
	bool *is_reached = BASE_NEWN(c->arena, bool, e->ir->blocks.n + 1);
	enum smt_answer *x = BASE_NEWN(c->arena, enum smt_answer, e->accesses.n + 1);
	c->npins = prove_pins_find(e, c->pin);
	for (size_t i = e->accesses.n; i-- > 0;) {
		const struct ev_access *a = &e->accesses.v[i];
		x[i] = SMT_POSSIBLE;
		if (a->is_late || is_known(e, i) || is_before(e, a, is_reached))
			continue;
		struct contract_question q = {.block = a->block, .guard = a->guard};
		x[i] = prove_contract_ask(c, &q);
		is_reached[a->block] |= x[i] == SMT_POSSIBLE;
	}
	for (size_t i = 0; i < e->accesses.n; i++)
		say_access(c, &e->accesses.v[i], x[i]);
	say_unanswered(c, x);
}

/* ---- the contract as text ------------------------------------------------------------- */

static void say(struct check *c, const char *text)
{
	for (size_t i = 0; i < c->k->contract.n; i++)
		if (!strcmp(c->k->contract.v[i], text))
			return;
	base_vec_push(&c->k->contract, text);
}

static void say_dims(struct check *c)
{
	const struct ex_launch *l = &c->pool->launch;
	struct base_buf ones = {0};

	for (unsigned d = 0; d < 6; d++) {
		if (l->dim[d] && l->dim[d] != 1)
			say(c, base_printf(c->arena, "%s = %u", dim_names[d], l->dim[d]));
		else if (l->max[d] == 1)
			base_buf_printf(&ones, "%s%s", ones.n ? ", " : "", dim_names[d]);
		else if (c->o->launches)
			say(c, base_printf(c->arena, "%s <= %u", dim_names[d], l->max[d]));
	}
	if (ones.n)
		say(c, base_printf(c->arena, "1: %s", ones.p));
	base_buf_free(&ones);
}

static const char *array_name(struct check *c, uint64_t param)
{
	const struct names_param *p = prove_names_param_at(&c->names, param);

	return p && p->is_known ? p->name
				: base_printf(c->arena, "parameter %u", p ? p->number : 0);
}

static void say_disjoint(struct check *c)
{
	for (unsigned i = 0; i < c->assumed.ndisjoint; i++)
		say(c, base_printf(c->arena, "assuming %s and %s disjoint",
				   array_name(c, c->assumed.disjoint[i][0]),
				   array_name(c, c->assumed.disjoint[i][1])));
	if (c->assumed.has_others_disjoint)
		say(c, c->assumed.ndisjoint
			       ? "assuming other arrays of parameters and variables disjoint"
			       : "assuming arrays of parameters and variables disjoint");
	if (c->assumed.has_slots_disjoint)
		say(c, "assuming arrays disjoint whose pointers are different members");
}

static void say_loops(struct check *c)
{
	for (uint32_t i = 0; i < c->e->ir->nloops; i++) {
		const char *file;
		uint32_t line;
		if (!c->e->loops[i].is_assumed)
			continue;
		prove_alarm_place(c, c->e->loops[i].at, &file, &line);
		say(c,
		    base_printf(c->arena, "the counter of the loop at line %u doesn't wrap", line));
	}
}

static void say_assumes(struct check *c)
{
	static const char *const words[] = {[IR_ASSUME_FACT] = "what collider_assume says",
					    [IR_ASSUME_DISTINCT] = "what collider_distinct says",
					    [IR_ASSUME_APART] = "what collider_apart says",
					    [IR_ASSUME_INJECTIVE] = "what collider_injective says",
					    [IR_ASSUME_SORTED] = "what collider_sorted says"};

	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->text)
			say(c, base_printf(c->arena, "%s", as->text));
		else if (!as->param)
			say(c, words[as->kind]);
	}
	for (uint32_t i = 0; i < c->o->nparams; i++)
		say(c, param_text(c->arena, c->o, i));
}

/* --level: a proof says nothing of other threads. */
static void say_levels(struct check *c)
{
	static const char *const words[] = {
		[RACE_LEVEL_WARP] = "threads of one warp",
		[RACE_LEVEL_BLOCK] = "threads of different warps of a block",
		[RACE_LEVEL_CLUSTER] = "threads of different blocks of a cluster",
		[RACE_LEVEL_GRID] = "threads of different blocks or clusters"};
	const char *text = "";
	bool is_all = true;

	for (unsigned l = RACE_LEVEL_WARP; l <= RACE_LEVEL_GRID; l++) {
		is_all &= c->o->level[l];
		if (c->o->level[l])
			text = base_printf(c->arena, "%s%s%s", text, *text ? ", " : "", words[l]);
	}
	if (!is_all)
		say(c, base_printf(c->arena, "no others are compared than %s", text));
}

/* What is assumed that the numbers of a launch don't show; TICKET is what atomics do. */
static uint8_t rests_on(const struct ev *e)
{
	unsigned bits = 0;

	for (size_t i = 0; i < e->assumes.n; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		bool is_contents =
			(as->kind == IR_ASSUME_INJECTIVE || as->kind == IR_ASSUME_SORTED) &&
			as->root.kind == EV_ROOT_PARAM && as->bytes >= 4;
		if (as->kind == IR_ASSUME_TICKET || prove_ev_is_of_launch(as))
			continue;
		if (is_contents)
			bits |= as->kind == IR_ASSUME_SORTED ? RACE_RESTS_SORTED
							     : RACE_RESTS_INJECTIVE;
		else if (as->kind == IR_ASSUME_FACT && as->index != IR_NONE)
			bits |= RACE_RESTS_THREADS;
		else
			bits |= RACE_RESTS_OTHER;
	}
	return (uint8_t)bits;
}

void prove_say_contract(struct check *c)
{
	/* lanes aren't in step there, and counters must hold 0 */
	c->k->may_hold_any = !c->o->is_lockstep && !c->assumed.zero[0].at;
	c->k->rests_on = rests_on(c->e);
	say(c, "one launch by itself");
	say_levels(c);
	say_dims(c);
	if (!c->o->all_launches)
		say(c, "gridDim * blockDim stays below 2^31 in each dimension");
	say(c, "every access stays within its array");
	if (c->e->ir->nloops && !c->o->all_launches && !c->o->counters_wrap)
		say(c, "pointers and 64-bit counters that a loop moves on don't wrap");
	say_disjoint(c);
	if (c->phases[IR_RANK_GRID].is_used)
		say(c, "the launch is cooperative");
	if (c->o->is_lockstep)
		say(c, "the lanes of a warp run in lockstep");
	say_loops(c);
	for (unsigned i = 0; i < CHECK_COUNTERS && c->assumed.zero[i].at; i++)
		say(c, base_printf(c->arena, "%s %sholds 0 before the launch",
				   prove_alarm_object(c, c->assumed.zero[i].at),
				   c->assumed.zero[i].counts ? "counts blocks and " : ""));
	if (c->assumed.has_counts)
		say(c, "no atomic counter comes around to a number that it gave before");
	if (c->assumed.has_long)
		say(c, "atomic counters of 64 bits stay below 2^48");
	if (c->assumed.has_sums)
		say(c, "what is added to an atomic counter is less than 2^32 (2^64) in all");
	if (c->assumed.has_claims)
		say(c, "nothing else writes meanwhile to what threads claim or count");
	if (c->e->ir->has_pointer_calls)
		say(c, "calls through pointers lead to functions of this text, whose address it "
		       "takes");
	prove_boxes_say(c);
	say_assumes(c);
}
