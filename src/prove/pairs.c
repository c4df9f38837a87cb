/*
 * pairs.c - two accesses of a kernel, asked about (prove.h).
 *
 * Two accesses conflict when they may touch a common byte and one writes. For two threads of one
 * CTA each way to be in the same phase is a query (phase.c); where barriers of warps are used,
 * threads of one warp and of different ones are asked about apart. Threads of different CTAs are
 * ordered by barriers of the grid only. Integers first, bit-vectors where they don't decide. What
 * the solver finds is replayed (replay.c); only then an alarm is true.
 *
 * A read-only load (ld.global.nc) and a write are asked about without regard to order, also in one
 * thread: its data must not change while the kernel runs (PTX ISA).
 *
 * Misses: order by barriers of a cluster is never used for a proof, and makes an alarm potential;
 * of flags, locks, named barriers, mbarriers and fences what order/ knows is.
 */
#include "prove/check.h"

#include <string.h>

#define MAX_REFUSALS 2
#define MAX_ORDERED  3

/* ---- one query ------------------------------------------------------------------------- */

/* The iterations of loops that only thread t of the two is in, as the phase says. */
static void hold_edges(struct check *c, uint32_t block, unsigned t)
{
	struct ex_pool *p = c->pool;
	const uint8_t *edges = c->way.phase ? c->way.phase->edges : NULL;

	for (uint32_t i = 0; edges && i < c->e->ir->nloops; i++) {
		const struct ev_loop *l = &c->e->loops[i];
		const struct ex *fact = prove_ex_const(p, 1, 0);
		if (!edges[i] || !prove_ir_in_loop(&c->e->ir->loops[i], block))
			continue;
		const struct ex *next = prove_ex_bin(p, EX_ADD, l->ctr, prove_ex_const(p, 64, 1));
		if (edges[i] & PHASE_FIRST)
			fact = prove_ex_bin(p, EX_EQ, l->ctr, prove_ex_const(p, 64, 0));
		if (edges[i] & PHASE_LAST)
			fact = prove_ex_or(p, fact,
					   prove_ex_or(p, prove_ex_bin(p, EX_EQ, l->ctr, l->kexit),
						       prove_ex_bin(p, EX_EQ, next, l->kexit)));
		prove_smt_assert(c->smt, fact, t);
	}
}

/* Barriers that would order the two threads weren't executed. */
static void hold_skipped(struct check *c)
{
	for (unsigned t = 0; t < 2 && c->way.phase; t++)
		for (uint32_t i = 0; i < c->way.phase->nskipped[t]; i++)
			prove_smt_assert(
				c->smt,
				prove_ex_not(c->pool, c->e->guard[c->way.phase->skipped[t][i]]), t);
}

/* The number of a CTA's cluster; the kernel says how many CTAs it has in each dimension. */
static const struct ex *cluster_of(struct check *c)
{
	static const unsigned shift[] = {0, 31, 47};
	struct ex_pool *p = c->pool;
	const struct ex *sum = prove_ex_const(p, 64, 0);

	for (unsigned d = 0; d < 3; d++) {
		const struct ex *v = prove_ex_bin(
			p, EX_UDIV, prove_ex_spec(p, (enum prove_ex_spec)(EX_CTAID_X + d)),
			prove_ex_const(p, 32, c->cluster[d]));
		sum = prove_ex_bin(p, EX_ADD, sum,
				   prove_ex_bin(p, EX_MUL, prove_ex_un(p, EX_ZEXT, 64, v),
						prove_ex_const(p, 64, 1ull << shift[d])));
	}
	return sum;
}

enum question {
	ASK_INTEGERS,
	ASK_BITS,
	ASK_BETTER, /* bit-vectors, with little patience */
	ASK_SLOTS,  /* integers: can the two pointers be from different places? */
	ASK_EQUAL,  /* integers: can the sums of c->way.equal be equal? */
};

#define MAX_GIVE_UPS 4
#define EQUAL_MS     100 /* a linear question takes some milliseconds */
#define BRIEF	     6	 /* of CHECK_BRIEF_LOOK: such a part of the time */

/* With assumptions to look for: what integers don't decide bit-vectors mostly do in a moment, and a
 * kernel that isn't proven anyhow, with a pair that has an alarm or that the solver gave up on,
 * needs no answer that takes long. False: there are so many of the latter that it isn't asked. */
static bool limit_patience(const struct check *c, struct smt_query *q, uint64_t now)
{
	bool is_late = now >= c->effort.hurried_at, is_lost = c->k->counts.gave_up && is_late;
	bool is_open = c->k->alarms.n || c->k->counts.gave_up;
	uint64_t most = c->effort.query_ms;

	if (!most || (!q->use_bits && !is_open))
		return true;
	if (is_open)
		most = (q->use_bits ? most / 2 : most) / (is_lost ? 3 : 1);
	if (q->work_ms > most)
		q->work_ms = (unsigned)most;
	return c->k->counts.gave_up < MAX_GIVE_UPS || !is_late;
}

/* Is the kernel not proven anyhow, and was there time to say why? */
static bool is_hasty(const struct check *c, uint64_t now)
{
	bool is_open = c->k->alarms.n > 0 || c->k->counts.gave_up > 0;

	return c->trial.is_hasty || (is_open && c->effort.hasty_at && now >= c->effort.hasty_at);
}

/* m: NULL where only the answer counts, as in trials */
static enum smt_answer ask(struct check *c, const uint8_t *counters, enum question which,
			   bool is_unequal, struct smt_model *m)
{
	bool is_one = c->level.apart == RACE_LEVEL_THREAD;
	uint64_t now = prove_now_ms();
	struct smt_query q = {.is_same_cta = c->level.apart <= RACE_LEVEL_BLOCK,
			      .warp = c->level.warp,
			      .is_one = is_one,
			      .counters = counters,
			      .use_bits = which == ASK_BITS || which == ASK_BETTER};

	if (!check_limit(&q, which == ASK_BETTER ? CHECK_BETTER : CHECK_QUERY, c->deadline))
		return SMT_GAVE_UP;
	if (which == ASK_EQUAL && q.work_ms > EQUAL_MS)
		q.work_ms = EQUAL_MS;
	if (c->look == CHECK_BRIEF_LOOK && which <= ASK_BITS && !is_unequal)
		q.work_ms = q.work_ms / BRIEF + 1;
	if (!limit_patience(c, &q, now))
		return SMT_GAVE_UP;
	q.is_hasty = is_hasty(c, now);
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &q);
	prove_hold_side(c, c->pair.a->guard, c->pair.a->block, 0);
	prove_hold_side(c, c->pair.b->guard, c->pair.b->block, 1);
	if (!is_one) /* nothing of what differs between threads */
		prove_hold_both(c, c->pair.a->block, c->pair.b->block);
	hold_edges(c, c->pair.a->block, 0);
	hold_edges(c, c->pair.b->block, 1);
	hold_skipped(c);
	prove_hold_inside(c, c->pair.a, 0);
	prove_hold_inside(c, c->pair.b, 1);
	if (!is_one)
		prove_meet_hold(c);
	if (c->way.tile)
		prove_smt_across(c->smt, prove_ex_const(c->pool, 1, 1),
				 c->phases[IR_RANK_WARP].mask, c->way.tile == CHECK_ONE_TILE);
	if (c->way.other_loop != IR_NONE)
		prove_smt_across(c->smt, prove_ex_const(c->pool, 1, 1),
				 c->e->loops[c->way.other_loop].ctr, false);
	if (c->pair.slot[0] && which != ASK_SLOTS)
		prove_smt_same(c->smt, c->pair.slot[0], c->pair.slot[1], true);
	if (which == ASK_SLOTS)
		prove_smt_same(c->smt, c->pair.slot[0], c->pair.slot[1], false);
	if (c->pair.is_split_cluster)
		prove_smt_across(c->smt, prove_ex_const(c->pool, 1, 1), cluster_of(c),
				 c->level.apart == RACE_LEVEL_CLUSTER);
	for (unsigned i = 0; which == ASK_EQUAL && i < c->way.equal->n; i++)
		prove_smt_same(c->smt, c->way.equal->sum[i][0], c->way.equal->sum[i][1], true);
	if (!c->pair.is_forced && which < ASK_SLOTS)
		prove_smt_conflict(c->smt, c->pair.a->off, c->pair.a->mem->bytes, c->pair.b->off,
				   c->pair.b->mem->bytes, c->level.is_partial);
	if (is_unequal)
		prove_smt_unequal(c->smt, c->pair.a->off, c->pair.a->value, c->pair.b->off,
				  c->pair.b->value);
	return prove_smt_check(c->smt, c->trial.is_on ? NULL : m);
}

bool prove_are_never_equal(struct check *c, const uint8_t *counters, const struct check_equal *e)
{
	c->way.equal = e;
	bool is = !c->pair.is_forced && ask(c, counters, ASK_EQUAL, false, NULL) == SMT_IMPOSSIBLE;
	c->way.equal = NULL;
	return is;
}

/* A copy that is under way after its instruction: only a schedule shows what it does. */
static bool is_late(const struct check *c)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	return a->is_late || b->is_late || a->mem->is_bulk || b->mem->is_bulk || a->mem->is_range ||
	       b->mem->is_range;
}

/* What is replayed of the pair in hand, with the variables that an alarm shows. */
static void open_replay(struct check *c, struct replay_pair *p)
{
	struct replay_watch *w = BASE_NEWN(c->arena, struct replay_watch, 2);

	*p = (struct replay_pair){c->pair.a, c->pair.b, .is_partial = c->level.is_partial,
				  .watch = {w, w + 1}};
	p->in_any_order = c->level.in_any_order;
	prove_alarm_watch(c, c->pair.a, &w[0]);
	prove_alarm_watch(c, c->pair.b, &w[1]);
	p->is_alike = c->phases[IR_RANK_CTA].is_used && !c->phases[IR_RANK_CTA].has_leavers;
	p->level = c->level.apart == RACE_LEVEL_CLUSTER ? RACE_LEVEL_GRID : c->level.apart;
	p->is_split = c->level.warp != SMT_ANY_WARP;
	p->use_warp = c->phases[IR_RANK_WARP].is_used && !c->phases[IR_RANK_WARP].mask &&
		      c->level.warp != SMT_ANY_WARP;
	p->use_grid = c->phases[IR_RANK_GRID].is_used;
	p->is_in_step = c->o->is_lockstep;
	p->is_lockstep = c->o->is_lockstep && c->level.apart == RACE_LEVEL_WARP;
	p->is_copy = is_late(c) || (p->level == RACE_LEVEL_THREAD && !p->in_any_order);
}

/* REPLAY_RACES: the alarm is true. Where the model itself isn't, other launches may be tried. */
static enum replay_answer replay(struct check *c, struct smt_model *m, struct replay_meeting *met,
				 bool may_search)
{
	struct replay_meeting *other = BASE_NEW(c->arena, struct replay_meeting);
	struct replay_pair p;

	memset(met, 0, sizeof(*met));
	met->order = IR_NONE;
	if (c->pair.is_forced || c->pair.in_any_order) {
		met->why = c->pair.is_forced ? "the two addresses can't be compared"
			   : check_is_of_surface(c)
				   ? "it may come after the store"
				   : "no fence.proxy.async is seen between the two";
		return REPLAY_UNSURE;
	}
	open_replay(c, &p);
	c->k->counts.replays++;
	met->why = "the thread's copy may still be under way there";
	enum replay_answer x = p.is_copy ? REPLAY_UNSURE : prove_replay_run(c->e, m, &p, met);
	if (c->nraces && c->effort.long_left > CHECK_LONG_MORE)
		c->effort.long_left = CHECK_LONG_MORE;
	if (x == REPLAY_UNSURE && met->is_cut && c->effort.long_left) {
		p.budget = &c->effort.long_left;
		p.is_long = true;
		x = prove_replay_run(c->e, m, &p, met);
		p.budget = NULL;
		p.is_long = false;
	}
	/* what may order these two is on the way in other launches, too */
	may_search &= met->order == IR_NONE || c->effort.ordered++ < MAX_ORDERED;
	bool is_shown = x == REPLAY_RACES || (x == REPLAY_ORDERED && !c->e->mbars.n);
	if (!is_shown && may_search && prove_tries_near(c, &p, m, other)) {
		*met = *other;
		return REPLAY_RACES;
	}
	c->k->counts.failed_replays += x != REPLAY_RACES;
	return x;
}

/* ---- one case ------------------------------------------------------------------------------ */

/* Do the two never store different values? */
static bool has_equal_values(struct check *c, const void *arg)
{
	const uint8_t *counters = arg;

	return ask(c, counters, ASK_INTEGERS, true, NULL) == SMT_IMPOSSIBLE ||
	       ask(c, counters, ASK_BITS, true, NULL) == SMT_IMPOSSIBLE;
}

static void raise(struct check *c, const uint8_t *counters, struct alarm_facts *f)
{
	c->pair.has_failed = true;
	if (f->is_true)
		prove_tries_note(c, f->m);
	if (c->trial.is_on)
		return;
	f->is_benign = benign_is_same(c, has_equal_values, counters);
	prove_alarm_raise(c, f);
}

/* Does the pair race in one of a few small launches? Asked once for each level; is_eager: before
 * the solver, with few steps, as most pairs are apart. */
static bool settle_by_trying(struct check *c, const uint8_t *counters, bool is_eager)
{
	struct smt_model m;
	struct replay_meeting met;
	struct alarm_facts f = {.m = &m, .met = &met, .is_true = true};
	struct replay_pair p;

	if (c->trial.has_more && prove_tries_known(c)) {
		c->trial.is_refuted = c->pair.has_failed = true;
		return true;
	}
	if (c->level.is_tried || c->pair.is_forced || c->pair.in_any_order || c->o->is_same_value ||
	    !(is_eager ? c->effort.eager_left : c->effort.steps_left))
		return false;
	open_replay(c, &p);
	if (!prove_tries_first(c, &p, is_eager, &m, &met))
		return false;
	f.is_exited = !c->level.in_any_order && c->level.apart <= RACE_LEVEL_BLOCK &&
		      met.phase[0] != met.phase[1];
	c->trial.is_refuted |= c->trial.is_on;
	raise(c, counters, &f);
	return true;
}

void prove_show_own_copy(struct check *c, const struct ev_access *copy, const struct ev_access *own)
{
	uint8_t *counters = base_zalloc(c->arena, c->e->ir->nloops + 1);

	if (c->trial.is_on || c->pair.is_forced)
		return;
	c->pair = (struct check_pair){.a = copy, .b = own};
	c->level = (struct check_level){.apart = RACE_LEVEL_THREAD, .cls = RACE_CLASS_RACE};
	settle_by_trying(c, counters, false);
}

static void settle_by_bits(struct check *c, const uint8_t *counters, struct alarm_facts *f,
			   struct smt_model *m, struct replay_meeting *met)
{
	enum question which = is_hasty(c, prove_now_ms()) ? ASK_BETTER : ASK_BITS;
	enum smt_answer x = ask(c, counters, which, false, m);

	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_bits++;
	} else if (x == SMT_GAVE_UP && c->look == CHECK_BRIEF_LOOK) {
		c->pair.has_failed = c->pair.needs_more = true;
	} else if (x == SMT_GAVE_UP) {
		c->k->counts.gave_up++;
		c->pair.has_failed = true;
		if (!c->trial.is_on)
			prove_alarm_problem(RACE_PROBLEM_UNPROVEN, c->pair.a->step->at,
					    "the solver gave up on a pair of accesses", c);
	} else {
		c->k->counts.by_bits++;
		c->pair.has_failed = true;
		if (c->trial.is_on)
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

	if (c->effort.refusals == MAX_REFUSALS)
		return false;
	x = ask(c, counters, ASK_BETTER, false, &better);

	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_bits++;
		return true;
	}
	c->effort.refusals += x == SMT_GAVE_UP;
	if (x == SMT_GAVE_UP)
		return false;
	if (replay(c, &better, other, false) == REPLAY_RACES) {
		f->is_true = true;
		*m = better;
		*met = *other;
	}
	return false;
}

/* For one value of a stride. */
static bool is_apart_by_integers(struct check *c, const uint8_t *counters)
{
	return prove_quick_is_apart(c, counters) ||
	       ask(c, counters, ASK_INTEGERS, false, NULL) == SMT_IMPOSSIBLE;
}

/* Two threads, as far as that is known without the solver. */
static bool is_apart_by_arithmetic(struct check *c, const uint8_t *counters)
{
	return meet_tickets_deny(c) || prove_quick_is_apart(c, counters) ||
	       split_is_apart(c, counters, prove_quick_is_apart) ||
	       rounds_are_apart(c, counters, prove_quick_is_apart) || rows_are_apart(c, counters) ||
	       places_are_apart(c, counters) || meet_late_is_apart(c, counters);
}

static void settle(struct check *c, const uint8_t *counters, bool is_exited)
{
	struct smt_model m;
	struct replay_meeting met = {.order = IR_NONE};
	struct alarm_facts f = {.m = &m, .met = &met, .is_exited = is_exited};
	enum replay_answer r = REPLAY_UNSURE;
	bool is_one = c->level.apart == RACE_LEVEL_THREAD;

	c->k->counts.cases++;
	if (!c->pair.is_forced &&
	    (is_one ? digits_are_apart(c, counters, true) : is_apart_by_arithmetic(c, counters))) {
		c->k->counts.quick++;
		return;
	}
	if (c->look == CHECK_FIRST_LOOK) {
		c->pair.has_failed = true;
		return;
	}
	if (!c->level.in_any_order && (products_are_over(c, counters) || order_is_kept(c)))
		return;
	if (!c->pair.is_forced && !is_one && ranks_are_apart(c)) {
		c->k->counts.quick++;
		return;
	}
	if (c->trial.needs) {
		c->pair.has_failed |= c->pair.is_forced || is_one ||
				      !rows_find_needs(c, counters, c->trial.needs);
		return;
	}
	if (settle_by_trying(c, counters, true)) {
		c->k->counts.by_trying++;
		return;
	}
	if (c->trial.is_quick) {
		c->pair.has_failed = true;
		return;
	}
	enum smt_answer x = ask(c, counters, ASK_INTEGERS, false, &m);
	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_integers++;
		return;
	}
	if (settle_by_trying(c, counters, false)) {
		c->k->counts.by_trying++;
		return;
	}
	if (x == SMT_GAVE_UP && c->look == CHECK_BRIEF_LOOK) {
		c->pair.has_failed = c->pair.needs_more = true;
		return;
	}
	if (c->trial.is_on && x == SMT_POSSIBLE) {
		c->pair.has_failed = true;
		return;
	}
	/* a model that may be wrong is tried; bit-vectors are asked before anything is searched */
	if ((x == SMT_POSSIBLE || x == SMT_MAYBE) && !c->trial.is_on)
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
	if (!c->pair.is_forced && !is_one && split_is_apart(c, counters, is_apart_by_integers)) {
		c->k->counts.by_integers++;
		return;
	}
	settle_by_bits(c, counters, &f, &m, &met);
}

/*
 * Lanes of a warp that execute one instruction for all of them. In the same iteration of all loops
 * around it there is no race; *other: the one loop in which they are in different iterations.
 */
static bool is_one_instance(const struct check *c, const uint8_t *counters, uint32_t *other)
{
	const struct ir *ir = c->e->ir;
	unsigned n = 0;

	*other = IR_NONE;
	if (c->pair.a->mem != c->pair.b->mem || !c->pair.a->mem->is_collective ||
	    c->level.apart != RACE_LEVEL_WARP)
		return false;
	for (uint32_t l = ir->blocks.v[c->pair.a->block].loop; l != IR_NONE;
	     l = ir->loops[l].parent) {
		if (counters[l] == SMT_SAME)
			continue;
		if (counters[l] != SMT_FREE || ++n > 1) {
			*other = IR_NONE;
			return false;
		}
		*other = l;
	}
	return !n;
}

/* Where pointers from different places may point to one array, those of the pair must surely be
 * from one place; else there is nothing to compare. */
static void settle_slots(struct check *c, const uint8_t *counters, bool is_exited)
{
	bool was = c->pair.is_forced;

	if (is_one_instance(c, counters, &c->way.other_loop) || !prove_quick_may_at_level(c))
		return;
	/* a row that one lane names and another may access */
	c->pair.is_forced |= c->level.apart == RACE_LEVEL_WARP &&
			     c->pair.a->mem != c->pair.b->mem &&
			     (c->pair.a->mem->is_row || c->pair.b->mem->is_row);
	if (c->pair.slot[0] && !c->pair.are_slots_apart)
		c->pair.is_forced |= c->look == CHECK_FIRST_LOOK ||
				     ask(c, counters, ASK_SLOTS, false, NULL) != SMT_IMPOSSIBLE;
	settle(c, counters, is_exited);
	c->pair.is_forced = was;
}

/* Is it known that the pair isn't proven, and nothing else asked? */
static bool is_over(const struct check *c)
{
	return c->pair.needs_more ||
	       (c->pair.has_failed && (c->trial.is_on || c->look == CHECK_FIRST_LOOK));
}

static void one_case(const struct phase_case *way, void *arg)
{
	struct check *c = arg;

	c->way.phase = way;
	if (!c->level.is_done && !is_over(c))
		settle_slots(c, way->counters, way->is_exited);
	c->way.phase = NULL;
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

/* A load through the non-coherent path, and a write: nothing orders them, nor those of a thread. */
static bool is_nc_pair(const struct check *c)
{
	const struct ir_access *a = c->pair.a->mem, *b = c->pair.b->mem;

	return (a->is_nc && (b->kind & RACE_OP_WRITE)) || (b->is_nc && (a->kind & RACE_OP_WRITE));
}

/* The pair's threads are so far apart; which cases are there? */
static void check_level(struct check *c, enum race_level level, enum smt_warp warp)
{
	bool is_far = level >= RACE_LEVEL_CLUSTER;
	struct race_op x = op_of(c->pair.a, 0, 0, 0);
	struct race_op y = op_of(c->pair.b, 1, is_far, level == RACE_LEVEL_GRID);
	const struct phases *p = &c->phases[is_far		       ? IR_RANK_GRID
					    : level == RACE_LEVEL_WARP ? IR_RANK_WARP
								       : IR_RANK_CTA];
	uint8_t *counters;

	c->level = (struct check_level){.apart = level, .warp = warp, .cls = RACE_CLASS_RACE};
	c->level.is_partial = race_is_morally_strong(&x, &y);
	c->level.in_any_order = is_nc_pair(c) || c->pair.in_any_order;
	if (is_nc_pair(c) || (c->pair.in_any_order && check_is_of_surface(c)))
		c->level.cls = RACE_CLASS_READ_ONLY;
	if (x.is_volatile && y.is_volatile) {
		c->level.cls = RACE_CLASS_VOLATILE;
		c->level.is_partial = false;
	}
	if (c->look != CHECK_LONG_LOOK && is_over(c))
		return;
	struct race_alarm *old = c->trial.is_on ? NULL : prove_alarm_find(c);
	if (old && old->is_true && !old->is_benign && !old->has_equal_values) {
		c->pair.has_failed = true;
		return;
	}
	if (c->level.in_any_order || c->pair.a->mem->is_bulk || c->pair.b->mem->is_bulk) {
		/* of a bulk copy: no barrier waits for it, nor keeps it from what lies before */
		settle_slots(c, base_zalloc(c->arena, c->e->ir->nloops + 1), false);
	} else if (level == RACE_LEVEL_WARP && c->o->is_lockstep) {
		/* one instruction in one iteration, or the lanes don't meet */
		if (c->pair.a != c->pair.b || c->pair.a->mem->kind == RACE_OP_READ)
			return;
		counters = base_zalloc(c->arena, c->e->ir->nloops + 1);
		memset(counters, SMT_SAME, c->e->ir->nloops + 1);
		settle_slots(c, counters, false);
	} else if (p->is_used || level <= RACE_LEVEL_BLOCK) {
		if (level == RACE_LEVEL_WARP && !p->is_used)
			p = &c->phases[IR_RANK_CTA];
		c->way.tile = p->mask ? CHECK_ONE_TILE : CHECK_NO_TILE;
		prove_phase_each(p, c->pair.a->block, c->pair.b->block, one_case, c);
		c->way.tile = p->mask ? CHECK_TWO_TILES : CHECK_NO_TILE;
		if (p->mask)
			prove_phase_each(&c->phases[IR_RANK_CTA], c->pair.a->block,
					 c->pair.b->block, one_case, c);
		c->way.tile = CHECK_NO_TILE;
	} else {
		settle_slots(c, base_zalloc(c->arena, c->e->ir->nloops + 1), false);
	}
}

/* At each level that is asked about, and where the pair may meet at all. */
static void check_levels(struct check *c)
{
	const struct ir_access *a = c->pair.a->mem, *b = c->pair.b->mem;
	const bool *level = c->o->level;
	bool is_split = c->phases[IR_RANK_WARP].is_used || c->o->is_lockstep || c->has_lanes ||
			a->is_collective || b->is_collective ||
			level[RACE_LEVEL_WARP] != level[RACE_LEVEL_BLOCK];

	if (is_nc_pair(c)) {
		check_level(c, RACE_LEVEL_THREAD, SMT_ANY_WARP);
		if (level[RACE_LEVEL_WARP] || level[RACE_LEVEL_BLOCK])
			check_level(c, RACE_LEVEL_BLOCK, SMT_ANY_WARP);
	} else {
		if (is_split && level[RACE_LEVEL_WARP])
			check_level(c, RACE_LEVEL_WARP, SMT_SAME_WARP);
		if (level[RACE_LEVEL_BLOCK])
			check_level(c, RACE_LEVEL_BLOCK, is_split ? SMT_OTHER_WARP : SMT_ANY_WARP);
	}
	const uint32_t *most = c->pool->launch.max + 3;
	bool is_one_block = most[0] == 1 && most[1] == 1 && most[2] == 1;
	if (c->pair.a->is_shared || c->pair.b->is_shared || is_one_block)
		return;
	c->pair.is_split_cluster =
		c->cluster[0] &&
		(a->scope == RACE_SCOPE_CLUSTER || b->scope == RACE_SCOPE_CLUSTER ||
		 !level[RACE_LEVEL_GRID] || !level[RACE_LEVEL_CLUSTER]);
	if (c->pair.is_split_cluster && level[RACE_LEVEL_CLUSTER])
		check_level(c, RACE_LEVEL_CLUSTER, SMT_ANY_WARP);
	if (level[RACE_LEVEL_GRID])
		check_level(c, RACE_LEVEL_GRID, SMT_ANY_WARP);
}

bool prove_may_conflict(const struct ev_access *a, const struct ev_access *b)
{
	return ((a->mem->kind | b->mem->kind) & RACE_OP_WRITE) != 0;
}

bool prove_one_pair(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	c->pair = (struct check_pair){.a = a, .b = b};
	if (!prove_may_conflict(a, b) || !prove_quick_may_alias(c))
		return true;
	c->k->counts.pairs++;
	check_levels(c);
	return !c->pair.has_failed;
}

bool prove_pair_in_any_order(struct check *c, const struct ev_access *a, const struct ev_access *b,
			     const bool *level)
{
	c->pair = (struct check_pair){.a = a, .b = b, .in_any_order = true};
	for (int l = RACE_LEVEL_GRID; l >= RACE_LEVEL_THREAD; l--)
		if (level[l] && !c->pair.has_failed && prove_quick_may_alias(c))
			check_level(c, (enum race_level)l, SMT_ANY_WARP);
	c->has_unordered |= c->pair.has_failed;
	return !c->pair.has_failed;
}
