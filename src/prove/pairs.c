/*
 * pairs.c - every two accesses of a kernel, asked about (prove.h).
 *
 * Two accesses conflict when they may touch a common byte and one writes. For two threads of one
 * CTA each way to be in the same phase is a query (phase.c); where barriers of warps are used,
 * threads of one warp and of different ones are asked about apart. Threads of different CTAs are
 * ordered by barriers of the grid only. Integers first, bit-vectors where they don't decide. What
 * the solver finds is replayed (replay.c); only then an alarm is true.
 *
 * Misses: order by fences, flags, locks, named barriers, mbarriers and barriers of some lanes or
 * of a
 * cluster is never used for a proof, and makes an alarm potential.
 */
#include "prove/check.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_REFUSALS 2

uint64_t check_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- one query ------------------------------------------------------------------------- */

static bool is_above(const struct check *c, const struct ev_assume *as, uint32_t block)
{
	return as->loop == IR_NONE || ir_in_loop(&c->e->ir->loops[as->loop], block);
}

static void hold_side(struct check *c, const struct ex *guard, uint32_t block, unsigned t)
{
	const struct ir *ir = c->e->ir;

	smt_assert(c->smt, guard, t);
	for (uint32_t l = ir->blocks.v[block].loop; l != IR_NONE; l = ir->loops[l].parent)
		smt_in_loop(c->smt, l, t);
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind == IR_ASSUME_FACT && is_above(c, as, block))
			smt_assert(c->smt, as->fact, t);
	}
}

/* The iterations of loops that only thread t of the two is in, as the phase says. */
static void hold_edges(struct check *c, uint32_t block, unsigned t)
{
	struct ex_pool *p = c->pool;

	for (uint32_t i = 0; c->edges && i < c->e->ir->nloops; i++) {
		const struct ev_loop *l = &c->e->loops[i];
		const struct ex *fact = ex_const(p, 1, 0);
		if (!c->edges[i] || !ir_in_loop(&c->e->ir->loops[i], block))
			continue;
		const struct ex *next = ex_bin(p, EX_ADD, l->ctr, ex_const(p, 64, 1));
		if (c->edges[i] & PHASE_FIRST)
			fact = ex_bin(p, EX_EQ, l->ctr, ex_const(p, 64, 0));
		if (c->edges[i] & PHASE_LAST)
			fact = ex_or(p, fact,
				     ex_or(p, ex_bin(p, EX_EQ, l->ctr, l->kexit),
					   ex_bin(p, EX_EQ, next, l->kexit)));
		smt_assert(c->smt, fact, t);
	}
}

/* By the contract an access stays within its array, whose size is known of variables. */
static void hold_inside(struct check *c, const struct ev_access *x, unsigned t)
{
	const struct ir_object *o =
		x->root.kind == EV_ROOT_OBJECT ? &c->e->ir->objects.v[x->root.id] : NULL;

	if (!o || o->kind == IR_OBJ_DYNAMIC || o->bytes < x->mem->bytes)
		return;
	const struct ex *last = ex_const(c->pool, x->whole->w, o->bytes - x->mem->bytes);
	smt_assert(c->smt, ex_not(c->pool, ex_bin(c->pool, EX_ULT, last, x->whole)), t);
}

/* Assumptions that speak of two threads. */
static void hold_both(struct check *c, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind == IR_ASSUME_DISTINCT && is_above(c, as, a) && is_above(c, as, b))
			smt_across(c->smt, as->guard, as->value, false);
		if (as->kind == IR_ASSUME_INJECTIVE && as->loop == IR_NONE && as->bytes)
			smt_injective(c->smt, as);
	}
}

/* The number of a CTA's cluster; the kernel says how many CTAs it has in each dimension. */
static const struct ex *cluster_of(struct check *c)
{
	static const unsigned shift[] = {0, 31, 47};
	struct ex_pool *p = c->pool;
	const struct ex *sum = ex_const(p, 64, 0);

	for (unsigned d = 0; d < 3; d++) {
		const struct ex *v = ex_bin(p, EX_UDIV, ex_spec(p, (enum ex_spec)(EX_CTAID_X + d)),
					    ex_const(p, 32, c->cluster[d]));
		sum = ex_bin(p, EX_ADD, sum,
			     ex_bin(p, EX_MUL, ex_un(p, EX_ZEXT, 64, v),
				    ex_const(p, 64, 1ull << shift[d])));
	}
	return sum;
}

enum question {
	ASK_INTEGERS,
	ASK_BITS,
	ASK_BETTER, /* bit-vectors, with little patience */
};

static enum smt_answer ask(struct check *c, const uint8_t *counters, enum question which,
			   bool is_unequal, struct smt_model *m)
{
	static const unsigned rlimit[] = {[ASK_INTEGERS] = CHECK_RLIMIT_INTEGERS,
					  [ASK_BITS] = CHECK_RLIMIT_BITS,
					  [ASK_BETTER] = CHECK_RLIMIT_BETTER};
	uint64_t now = check_now_ms();
	struct smt_query q = {.is_same_cta = c->level <= RACE_LEVEL_BLOCK,
			      .warp = c->warp,
			      .counters = counters,
			      .use_bits = which != ASK_INTEGERS};

	if (now >= c->deadline)
		return SMT_GAVE_UP;
	q.rlimit = rlimit[which];
	q.timeout_ms = CHECK_WALL(c->deadline - now);
	c->k->counts.queries++;
	smt_begin(c->smt, &q);
	hold_side(c, c->a->guard, c->a->block, 0);
	hold_side(c, c->b->guard, c->b->block, 1);
	hold_both(c, c->a->block, c->b->block);
	hold_edges(c, c->a->block, 0);
	hold_edges(c, c->b->block, 1);
	hold_inside(c, c->a, 0);
	hold_inside(c, c->b, 1);
	meet_hold(c);
	if (c->is_split_cluster)
		smt_across(c->smt, ex_const(c->pool, 1, 1), cluster_of(c),
			   c->level == RACE_LEVEL_CLUSTER);
	if (!c->is_forced)
		smt_conflict(c->smt, c->a->off, c->a->mem->bytes, c->b->off, c->b->mem->bytes,
			     c->is_partial);
	if (is_unequal)
		smt_unequal(c->smt, c->a->off, c->a->value, c->b->off, c->b->value);
	return smt_check(c->smt, m);
}

/* What is replayed of the pair in hand, with the variables that an alarm shows. */
static void open_replay(struct check *c, struct replay_pair *p)
{
	struct replay_watch *w = BASE_NEWN(c->arena, struct replay_watch, 2);

	*p = (struct replay_pair){.a = c->a, .b = c->b, .is_partial = c->is_partial};
	alarm_watch(c, c->a, &w[0]);
	alarm_watch(c, c->b, &w[1]);
	p->watch[0] = &w[0];
	p->watch[1] = &w[1];
	p->level = c->level == RACE_LEVEL_CLUSTER ? RACE_LEVEL_GRID : c->level;
	p->is_split = c->warp != SMT_ANY_WARP;
	p->use_warp = c->phases[IR_RANK_WARP].is_used && c->warp != SMT_ANY_WARP;
	p->use_grid = c->phases[IR_RANK_GRID].is_used;
	p->is_lockstep = c->o->is_lockstep && c->level == RACE_LEVEL_WARP;
}

/* REPLAY_RACES: the alarm is true. Where the model itself isn't, other launches may be tried. */
static enum replay_answer replay(struct check *c, struct smt_model *m, struct replay_meeting *met,
				 bool may_search)
{
	struct replay_meeting *other = BASE_NEW(c->arena, struct replay_meeting);
	struct replay_pair p;

	memset(met, 0, sizeof(*met));
	met->order = IR_NONE;
	if (c->is_forced) {
		met->why = "the two addresses can't be compared";
		return REPLAY_UNSURE;
	}
	open_replay(c, &p);
	c->k->counts.replays++;
	enum replay_answer x = replay_run(c->e, m, &p, met);
	if (x != REPLAY_RACES && x != REPLAY_ORDERED && may_search && tries_near(c, &p, m, other)) {
		*met = *other;
		return REPLAY_RACES;
	}
	c->k->counts.failed_replays += x != REPLAY_RACES;
	return x;
}

/* ---- one case ------------------------------------------------------------------------------ */

/* Are both stores of the same bytes, with values that are proven equal? */
static bool is_benign(struct check *c, const uint8_t *counters)
{
	struct smt_model m;

	if (!c->o->is_same_value || c->is_forced || c->a->mem->kind != RACE_OP_WRITE ||
	    c->b->mem->kind != RACE_OP_WRITE || !c->a->value || !c->b->value ||
	    c->a->mem->bytes != c->b->mem->bytes || c->a->value->w != c->b->value->w)
		return false;
	return ask(c, counters, ASK_INTEGERS, true, &m) == SMT_IMPOSSIBLE ||
	       ask(c, counters, ASK_BITS, true, &m) == SMT_IMPOSSIBLE;
}

static void raise(struct check *c, const uint8_t *counters, struct alarm_facts *f)
{
	c->has_failed = true;
	if (c->is_trial)
		return;
	f->is_benign = is_benign(c, counters);
	alarm_raise(c, f);
}

/* Does the pair race in one of a few small launches? Asked once for each level. */
static bool settle_by_trying(struct check *c, const uint8_t *counters)
{
	struct smt_model m;
	struct replay_meeting met;
	struct alarm_facts f = {.m = &m, .met = &met, .is_true = true};
	struct replay_pair p;

	if (c->is_tried || c->is_forced || c->o->is_same_value || !c->steps_left)
		return false;
	c->is_tried = true;
	open_replay(c, &p);
	if (!tries_first(c, &p, &m, &met))
		return false;
	f.is_exited = c->level <= RACE_LEVEL_BLOCK && met.phase[0] != met.phase[1];
	raise(c, counters, &f);
	return true;
}

static void settle_by_bits(struct check *c, const uint8_t *counters, struct alarm_facts *f,
			   struct smt_model *m, struct replay_meeting *met)
{
	enum smt_answer x = ask(c, counters, ASK_BITS, false, m);

	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_bits++;
	} else if (x == SMT_GAVE_UP) {
		c->k->counts.gave_up++;
		c->has_failed = true;
		if (!c->is_trial)
			alarm_problem(RACE_PROBLEM_UNPROVEN, c->a->step->at,
				      "the solver gave up on a pair of accesses", c);
	} else {
		c->k->counts.by_bits++;
		c->has_failed = true;
		if (c->is_trial)
			return;
		f->is_true = replay(c, m, met, true) == REPLAY_RACES;
		f->reason = f->is_true ? "" : met->why;
		raise(c, counters, f);
	}
}

/*
 * Integers know products by their bounds and order alone, so that a launch which they say there is
 * may not be one. Then the bit-vectors are asked for a better one; *m and *met stay where they have
 * none. True: there is none, the pair is proven.
 */
static bool refine(struct check *c, const uint8_t *counters, struct alarm_facts *f,
		   struct smt_model *m, struct replay_meeting *met)
{
	struct smt_model better;
	struct replay_meeting *other = BASE_NEW(c->arena, struct replay_meeting);
	enum smt_answer x;

	if (c->refusals == MAX_REFUSALS)
		return false;
	x = ask(c, counters, ASK_BETTER, false, &better);

	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_bits++;
		return true;
	}
	c->refusals += x == SMT_GAVE_UP;
	if (x == SMT_GAVE_UP)
		return false;
	if (replay(c, &better, other, false) == REPLAY_RACES) {
		f->is_true = true;
		*m = better;
		*met = *other;
	}
	return false;
}

static void settle(struct check *c, const uint8_t *counters, bool is_exited)
{
	struct smt_model m;
	struct replay_meeting met = {.order = IR_NONE};
	struct alarm_facts f = {.m = &m, .met = &met, .is_exited = is_exited};
	enum replay_answer r = REPLAY_UNSURE;

	c->k->counts.cases++;
	if (!c->is_forced && quick_is_apart(c, counters)) {
		c->k->counts.quick++;
		return;
	}
	if (settle_by_trying(c, counters)) {
		c->k->counts.by_trying++;
		return;
	}
	enum smt_answer x = ask(c, counters, ASK_INTEGERS, false, &m);
	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_integers++;
		return;
	}
	if (c->is_trial && x == SMT_POSSIBLE) {
		c->has_failed = true;
		return;
	}
	/* a model that may be wrong is tried; bit-vectors are asked before anything is searched */
	if ((x == SMT_POSSIBLE || x == SMT_MAYBE) && !c->is_trial)
		r = replay(c, &m, &met, x == SMT_POSSIBLE);
	if (x == SMT_POSSIBLE || r == REPLAY_RACES) {
		f.is_true = r == REPLAY_RACES;
		if (r == REPLAY_DENIES && refine(c, counters, &f, &m, &met))
			return;
		c->k->counts.by_integers++;
		f.reason = f.is_true ? "" : met.why;
		raise(c, counters, &f);
		return;
	}
	settle_by_bits(c, counters, &f, &m, &met);
}

static void one_case(const struct phase_case *way, void *arg)
{
	struct check *c = arg;

	c->edges = way->edges;
	if (!c->is_done && !(c->is_trial && c->has_failed))
		settle(c, way->counters, way->is_exited);
	c->edges = NULL;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static struct race_op op_of(const struct ev_access *a, uint32_t actor, uint32_t cta,
			    uint32_t cluster)
{
	struct race_op op = {.actor = actor, .strength = a->mem->strength, .scope = a->mem->scope};

	op.kind = a->mem->kind;
	op.is_volatile = a->mem->is_volatile;
	op.bytes = a->mem->bytes;
	op.place.cta = cta;
	op.place.cluster = cluster;
	op.place.grid = 1;
	return op;
}

/* The pair's threads are so far apart; which cases are there? */
static void check_level(struct check *c, enum race_level level, enum smt_warp warp)
{
	bool is_far = level >= RACE_LEVEL_CLUSTER;
	struct race_op x = op_of(c->a, 0, 0, 0);
	struct race_op y = op_of(c->b, 1, is_far, level == RACE_LEVEL_GRID);
	const struct phases *p = &c->phases[is_far		       ? IR_RANK_GRID
					    : level == RACE_LEVEL_WARP ? IR_RANK_WARP
								       : IR_RANK_CTA];
	uint8_t *counters;

	c->level = level;
	c->warp = warp;
	c->is_done = c->is_tried = false;
	c->cls = RACE_CLASS_RACE;
	c->is_partial = race_is_morally_strong(&x, &y);
	if (x.is_volatile && y.is_volatile) {
		c->cls = RACE_CLASS_VOLATILE;
		c->is_partial = false;
	}
	struct race_alarm *old = c->is_trial ? NULL : alarm_find(c);
	if (old && old->is_true && !old->is_benign) {
		c->has_failed = true;
		return;
	}
	if (level == RACE_LEVEL_WARP && c->o->is_lockstep) {
		/* one instruction in one iteration, or the lanes don't meet */
		if (c->a != c->b || c->a->mem->kind == RACE_OP_READ)
			return;
		counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
		memset(counters, SMT_SAME, c->e->ir->nloops + 1);
		settle(c, counters, false);
	} else if (p->is_used || level <= RACE_LEVEL_BLOCK) {
		if (level == RACE_LEVEL_WARP && !p->is_used)
			p = &c->phases[IR_RANK_CTA];
		phase_each(p, c->a->block, c->b->block, one_case, c);
	} else {
		settle(c, base_zalloc(c->arena, c->e->ir->nloops + 1), false);
	}
}

void check_pair(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	const bool *level = c->o->level;
	bool is_split = c->phases[IR_RANK_WARP].is_used || c->o->is_lockstep || c->has_lanes ||
			level[RACE_LEVEL_WARP] != level[RACE_LEVEL_BLOCK];

	if (!((a->mem->kind | b->mem->kind) & RACE_OP_WRITE) ||
	    !quick_may_alias(c, a, b, &c->is_forced))
		return;
	c->k->counts.pairs++;
	c->a = a;
	c->b = b;
	c->is_split_cluster = false;
	if (is_split && level[RACE_LEVEL_WARP])
		check_level(c, RACE_LEVEL_WARP, SMT_SAME_WARP);
	if (level[RACE_LEVEL_BLOCK])
		check_level(c, RACE_LEVEL_BLOCK, is_split ? SMT_OTHER_WARP : SMT_ANY_WARP);
	const uint32_t *most = c->pool->launch.max + 3;
	bool is_one_block = most[0] == 1 && most[1] == 1 && most[2] == 1;
	if (a->is_shared || b->is_shared || is_one_block)
		return;
	c->is_split_cluster =
		c->cluster[0] &&
		(a->mem->scope == RACE_SCOPE_CLUSTER || b->mem->scope == RACE_SCOPE_CLUSTER ||
		 !level[RACE_LEVEL_GRID] || !level[RACE_LEVEL_CLUSTER]);
	if (c->is_split_cluster && level[RACE_LEVEL_CLUSTER])
		check_level(c, RACE_LEVEL_CLUSTER, SMT_ANY_WARP);
	if (level[RACE_LEVEL_GRID])
		check_level(c, RACE_LEVEL_GRID, SMT_ANY_WARP);
}

/* Both orders count where the two are different instructions: which thread does which. */
static void check_all(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++) {
		if (check_now_ms() >= c->deadline) { /* once, instead of at each pair */
			alarm_problem(RACE_PROBLEM_UNPROVEN, e->accesses.v[i].step->at,
				      "the time limit was reached before the pairs from here on",
				      c);
			return;
		}
		for (size_t k = i; k < e->accesses.n && check_now_ms() < c->deadline; k++) {
			c->has_failed = false;
			check_pair(c, &e->accesses.v[i], &e->accesses.v[k]);
			c->is_open[i] |= c->has_failed;
			c->is_open[k] |= c->has_failed;
		}
	}
}

/* Instructions of the kernel's own body whose every pair is proven: a function may have other
 * callers. */
static void list_sites(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < c->k->problems.n; i++)
		if (c->k->problems.v[i].kind != RACE_PROBLEM_EXCLUDED)
			return;
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		struct race_proven_site s = {.ptx_line = x->step->at->line,
					     .is_shared = x->is_shared};
		bool is_proven = !x->step->call && x->root.kind != EV_ROOT_UNKNOWN;
		for (size_t k = 0; k < e->accesses.n && is_proven; k++)
			is_proven = e->accesses.v[k].step->at != x->step->at || !c->is_open[k];
		for (size_t k = 0; k < c->k->sites.n && is_proven; k++)
			is_proven = c->k->sites.v[k].ptx_line != s.ptx_line;
		if (is_proven)
			base_vec_push(&c->k->sites, s);
	}
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Evaluates; branches that turn out to be constant are taken out, and all is done again: barriers
 * in a dead branch must not count. */
static void evaluate(struct ev *e, struct ir *ir, struct ex_pool *pool,
		     const struct prove_options *o)
{
	struct ev_limits limits = {.may_alias = o->may_alias,
				   .may_wrap = o->all_launches || o->counters_wrap,
				   .any_grid = o->all_launches};
	bool pruned = true;

	for (unsigned turn = 0; pruned && turn < 8; turn++) {
		size_t problems = ir->problems.n;
		if (turn)
			ev_free(e);
		ev_run(e, ir, pool, &limits);
		pruned = false;
		for (uint32_t b = 0; e->cond && b < ir->blocks.n; b++) {
			if (ir->blocks.v[b].is_reached && e->cond[b] && e->cond[b]->op == EX_CONST)
				pruned |= ir_prune(ir, b, e->cond[b]->imm & 1);
		}
		if (pruned) {
			ir->problems.n = problems;
			ir_graph(ir);
		}
	}
	if (!e->cond)
		return;
	ev_settle_barriers(e);
	bool *is_shared = BASE_NEWN(e->arena, bool, ir->steps.n + 1);
	for (size_t i = 0; i < e->accesses.n; i++)
		is_shared[e->accesses.v[i].index] =
			e->accesses.v[i].is_shared || e->accesses.v[i].root.kind == EV_ROOT_UNKNOWN;
	ir_check_copies(ir, is_shared);
}

/* Does the branch that ends a block go one way in all lanes of a warp that come to it together? */
static bool is_uniform_in_warp(struct check *c, uint32_t b)
{
	struct smt_query q = {.is_same_cta = true, .warp = SMT_SAME_WARP};
	uint8_t *counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
	uint64_t now = check_now_ms();
	struct smt_model m;

	memset(counters, SMT_SAME, c->e->ir->nloops + 1);
	q.counters = counters;
	q.rlimit = CHECK_RLIMIT_INTEGERS;
	if (now >= c->deadline)
		return false;
	q.timeout_ms = CHECK_WALL(c->deadline - now);
	c->k->counts.queries++;
	smt_begin(c->smt, &q);
	hold_side(c, c->e->guard[b], b, 0);
	hold_side(c, c->e->guard[b], b, 1);
	hold_both(c, b, b);
	smt_differ(c->smt, c->e->guard[b], c->e->cond[b]);
	return smt_check(c->smt, &m) == SMT_IMPOSSIBLE;
}

static void find_phases(struct check *c)
{
	const struct ir *ir = c->e->ir;
	bool *is_uniform = BASE_NEWN(c->arena, bool, ir->blocks.n), has_warp = false;

	phase_find(&c->phases[IR_RANK_CTA], c->e, IR_RANK_CTA, NULL);
	phase_find(&c->phases[IR_RANK_GRID], c->e, IR_RANK_GRID, NULL);
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		has_warp |= b->n && ir->steps.v[b->first + b->n - 1].kind == IR_WARP_BARRIER;
	}
	if (!has_warp)
		return;
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ex *cond = c->e->cond[ir->rpo[i]];
		if (cond && cond->level < EX_CTA)
			is_uniform[ir->rpo[i]] = is_uniform_in_warp(c, ir->rpo[i]);
	}
	phase_find(&c->phases[IR_RANK_WARP], c->e, IR_RANK_WARP, is_uniform);
}

/* Does any launch keep to the contract? Without one everything could be proven. */
static bool is_contract_kept(struct check *c)
{
	struct contract x = {.e = c->e, .smt = c->smt, .o = c->o, .arena = c->arena};

	x.names = &c->names;
	x.counts = &c->k->counts;
	x.deadline = c->deadline;
	x.rlimit = CHECK_RLIMIT_INTEGERS;
	x.say = alarm_problem;
	x.arg = c;
	bool ok = contract_check_launch(&x, c->e->ir);
	ok &= contract_add_params(&x);
	ok &= contract_add_assumes(&x);
	ok &= contract_add_launches(&x, c->k->name);
	return ok && contract_check(&x);
}

static enum race_verdict verdict_of(const struct race_proof *k)
{
	enum race_verdict v = RACE_VERDICT_FREE;

	for (size_t i = 0; i < k->problems.n; i++) {
		if (k->problems.v[i].kind == RACE_PROBLEM_VACUOUS)
			v = RACE_VERDICT_VACUOUS;
		else if (k->problems.v[i].kind == RACE_PROBLEM_UNPROVEN && v == RACE_VERDICT_FREE)
			v = RACE_VERDICT_UNPROVEN;
	}
	for (size_t i = 0; i < k->alarms.n; i++) {
		const struct race_alarm *a = &k->alarms.v[i];
		if (a->is_true && !a->is_benign && a->cls == RACE_CLASS_RACE)
			return RACE_VERDICT_TRUE;
		if (a->is_benign && v == RACE_VERDICT_FREE)
			v = RACE_VERDICT_BENIGN;
		if (!a->is_benign && (v == RACE_VERDICT_FREE || v == RACE_VERDICT_BENIGN))
			v = RACE_VERDICT_POTENTIAL;
	}
	return v;
}

static void classify(struct check *c)
{
	c->k->has_class = true;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		c->k->is_approx_path |= c->e->accesses.v[i].guard->is_approx;
		c->k->is_approx_index |= c->e->accesses.v[i].off->is_approx;
	}
}

static void check_kernel(struct check *c)
{
	names_open(&c->names, c->e, c->arena);
	tries_open(c);
	c->smt = smt_open(c->e);
	smt_keep_answers(c->smt, c->o->cache, c->o->cache_key);
	c->k->counts.accesses = (uint32_t)c->e->accesses.n;
	if (!ptx_func_attr(c->e->ir->f, "reqnctapercluster", c->cluster))
		memset(c->cluster, 0, sizeof(c->cluster));
	classify(c);
	if (is_contract_kept(c)) {
		find_phases(c);
		c->has_lanes = meet_has_lanes(c);
		c->is_open = base_zalloc(c->arena, c->e->accesses.n + 1);
		check_all(c);
		if (!c->e->ir->problems.n)
			list_sites(c);
		if (c->o->wants_remedies)
			remedy_find(c);
	}
	if (c->o->wants_protocol)
		protocol_write(c);
	c->k->counts.recalled = smt_recalled(c->smt);
	smt_close(c->smt);
	check_say_contract(c);
}

/* Did a recorded launch of this kernel hand over one pointer twice? Then the arrays of parameters
 * may be one. */
static bool has_equal_pointers(const struct prove_options *o, const char *kernel)
{
	for (size_t i = 0; i < o->nlaunches; i++) {
		const struct prove_launch *l = &o->launches[i];

		for (uint32_t a = 0; a < l->nparams && !strcmp(l->kernel, kernel); a++)
			for (uint32_t b = 0; b < a; b++)
				if (l->param[a].bytes == 8 && l->param[b].bytes == 8 &&
				    l->param[a].value && l->param[a].value == l->param[b].value)
					return true;
	}
	return false;
}

void pairs_check(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		 struct base_arena *arena, struct race_proof *k)
{
	struct ir ir;
	struct ex_pool pool;
	struct ex_launch launch;
	struct ev e;
	struct rusage used;
	uint64_t start = check_now_ms();
	struct prove_options own = *o;
	struct check c = {.e = &e, .pool = &pool, .o = &own, .k = k, .arena = arena};

	c.deadline = start + o->timeout_ms;
	k->name = base_strndup(arena, f->name.p, f->name.n);
	own.may_alias |= has_equal_pointers(o, k->name);
	k->name_shown = race_demangle(arena, k->name);
	ir_build(&ir, arena, m, f);
	contract_find_launch(&ir, o, k->name, &launch);
	for (unsigned d = 0; d < 6; d++)
		k->free_dims |= (uint8_t)((unsigned)!launch.dim[d] << d);
	k->has_launches = o->launches != NULL;
	k->has_scalars = o->nparams > 0;
	memcpy(k->fixed_dim, launch.dim, sizeof(k->fixed_dim));
	ex_pool_init(&pool, arena, &launch);
	memset(&e, 0, sizeof(e));
	e.ir = &ir;
	if (!ir.problems.n)
		evaluate(&e, &ir, &pool, &own);
	if (!ir.problems.n)
		check_kernel(&c);
	for (size_t i = 0; i < ir.problems.n; i++)
		alarm_problem(RACE_PROBLEM_UNPROVEN, ir.problems.v[i].at, ir.problems.v[i].text,
			      &c);
	k->verdict = verdict_of(k);
	k->ms = check_now_ms() - start;
	if (!getrusage(RUSAGE_SELF, &used))
		k->counts.memory_kb = (uint32_t)used.ru_maxrss;
	ev_free(&e);
	ex_pool_free(&pool);
	ir_free(&ir);
}
