/*
 * kernel.c - the whole of one kernel: its values, its contract, its pairs, its verdict (prove.h).
 *
 * Costs: what pairs.c asks the solver; the rest takes some milliseconds.
 */
#include "prove/check.h"

#include <string.h>
#include <sys/resource.h>

/* Instructions of the kernel's own body whose every pair is proven: a function may have other
 * callers. */
static void list_sites(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < c->k->problems.n; i++)
		if (c->k->problems.v[i].kind < RACE_PROBLEM_EXCLUDED)
			return;
	for (size_t i = 0; i < e->accesses.n && c->has_ranks; i++)
		if (c->is_open[i])
			return;
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		struct race_proven_site s = {.ptx_line = x->step->at->line,
					     .is_shared = x->is_shared};
		bool is_proven = !x->step->call && x->root.kind != EV_ROOT_UNKNOWN &&
				 !x->mem->is_bulk && !x->mem->is_range;
		for (size_t k = 0; k < e->accesses.n && is_proven; k++)
			is_proven = e->accesses.v[k].step->at != x->step->at || !c->is_open[k];
		for (size_t k = 0; k < c->k->sites.n && is_proven; k++)
			is_proven = c->k->sites.v[k].ptx_line != s.ptx_line;
		if (is_proven)
			base_vec_push(&c->k->sites, s);
	}
}

/* Evaluates; branches that turn out to be constant are taken out, and all is done again: barriers
 * in a dead branch must not count. */
static void evaluate(struct ev *e, struct ir *ir, struct ex_pool *pool,
		     const struct prove_options *o)
{
	struct ev_limits limits = {.may_alias = o->may_alias,
				   .may_wrap = o->all_launches || o->counters_wrap,
				   .any_grid = o->all_launches,
				   .no_assumes = o->no_assumes};
	bool pruned = true;

	for (unsigned turn = 0; pruned && turn < 8; turn++) {
		size_t problems = ir->problems.n;
		if (turn)
			prove_ev_free(e);
		prove_ev_run(e, ir, pool, &limits);
		pruned = false;
		for (uint32_t b = 0; e->cond && b < ir->blocks.n; b++) {
			if (ir->blocks.v[b].is_reached && e->cond[b] && e->cond[b]->op == EX_CONST)
				pruned |= prove_ir_prune(ir, b, e->cond[b]->imm & 1);
		}
		bool is_cut = pruned;
		pruned |= prove_boxes_find(e);
		if (pruned)
			ir->problems.n = problems;
		if (is_cut) /* what is wrong with the new graph stays */
			prove_ir_graph(ir);
	}
	if (!e->cond)
		return;
	prove_boxes_check(e);
	prove_ev_settle_barriers(e);
	prove_ev_find_copies(e);
}

/* May two threads that come to the branch at a block's end go different ways? `q` says which two,
 * `counter` how those of their loops are related. No answer in time counts as yes. */
static bool may_differ(struct check *c, uint32_t b, struct smt_query q, uint8_t counter)
{
	uint8_t *counters = base_zalloc(c->arena, c->e->ir->nloops + 1);

	memset(counters, counter, c->e->ir->nloops + 1);
	q.counters = counters;
	if (!check_limit(&q, CHECK_QUERY, c->deadline))
		return true;
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &q);
	prove_hold_side(c, c->e->guard[b], b, 0);
	prove_hold_side(c, c->e->guard[b], b, 1);
	prove_hold_both(c, b, b);
	prove_smt_differ(c->smt, c->e->guard[b], c->e->cond[b]);
	return prove_smt_check(c->smt, NULL) != SMT_IMPOSSIBLE;
}

/*
 * The phases of a block or a warp. Most branches that part its threads show it by their form; of
 * the others, as the ends of loops that begin at the thread's number and end so much later, the
 * solver is asked, in a quarter of the time that is left. Threads are compared in the same
 * iteration: the first branch on the way to a barrier at which they part is one that they come to
 * with the same counters.
 */
static void find_phases_of(struct check *c, enum ir_rank rank, enum smt_warp warp)
{
	const struct ir *ir = c->e->ir;
	struct phases *p = &c->phases[rank];
	struct smt_query q = {.is_same_cta = true, .warp = warp};
	bool *is_uniform = BASE_NEWN(c->arena, bool, ir->blocks.n), is_new = true;
	bool *is_asked = BASE_NEWN(c->arena, bool, ir->blocks.n);
	uint64_t now = prove_now_ms(), end = c->deadline;

	c->deadline = now < end ? now + (end - now) / 4 : now;
	while (is_new) {
		is_new = false;
		prove_phase_find(p, c->e, rank, is_uniform);
		for (uint32_t i = 0; i < ir->nrpo; i++) {
			uint32_t b = ir->rpo[i];
			if (is_asked[b] || (p->divided[b] == IR_NONE &&
					    (!p->is_exit_split[b] || p->skipped[b] == IR_NONE)))
				continue;
			is_asked[b] = true;
			is_uniform[b] = !may_differ(c, b, q, SMT_SAME);
			is_new |= is_uniform[b];
		}
	}
	c->deadline = end;
}

/* May two threads of different blocks that come to the branch go different ways? */
static bool may_part_blocks(struct check *c, uint32_t b)
{
	struct smt_query q = {0};

	return may_differ(c, b, q, 0);
}

/*
 * Barriers that some threads end without, while others wait there. The machine counts threads that
 * have ended as arrived at a block's barrier; CUDA doesn't promise it, and a grid's barrier waits
 * for all blocks.
 */
static void say_skipped(struct check *c, enum ir_rank rank)
{
	const struct phases *p = &c->phases[rank];
	const struct ir *ir = c->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i], line;
		const char *file;
		if (!p->is_exit_split[b] || p->skipped[b] == IR_NONE ||
		    (rank == IR_RANK_GRID && !may_part_blocks(c, b)))
			continue;
		const struct ir_block *y = &ir->blocks.v[p->skipped[b]];
		prove_alarm_place(c, ir->blocks.v[b].at, &file, &line);
		prove_alarm_problem(
			RACE_PROBLEM_BARRIER, ir->steps.v[y->first + y->n - 1].at,
			base_printf(c->arena,
				    rank == IR_RANK_CTA
					    ? "some threads may end at the branch of line %u "
					      "without this barrier, at which others wait"
					    : "some threads may end at the branch of line %u "
					      "without this barrier of all blocks, which may "
					      "wait for them for ever",
				    line ? line : ir->blocks.v[b].at->line),
			c);
	}
}

static void find_phases(struct check *c)
{
	const struct ir *ir = c->e->ir;
	bool has_warp = false;

	find_phases_of(c, IR_RANK_CTA, SMT_ANY_WARP);
	prove_phase_say_divergent(&c->phases[IR_RANK_CTA]);
	prove_phase_find(&c->phases[IR_RANK_GRID], c->e, IR_RANK_GRID, NULL);
	prove_phase_say_divergent(&c->phases[IR_RANK_GRID]);
	say_skipped(c, IR_RANK_CTA);
	if (c->phases[IR_RANK_GRID].is_used)
		say_skipped(c, IR_RANK_GRID);
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		has_warp |= b->n && ir->steps.v[b->first + b->n - 1].kind == IR_WARP_BARRIER;
	}
	if (has_warp)
		find_phases_of(c, IR_RANK_WARP, SMT_SAME_WARP);
}

static struct contract contract_of(struct check *c)
{
	struct contract x = {.e = c->e, .smt = c->smt, .o = c->o, .arena = c->arena};

	x.names = &c->names;
	x.counts = &c->k->counts;
	x.deadline = c->deadline;
	x.say = prove_alarm_problem;
	x.arg = c;
	return x;
}

/* What the options assume, beside what the code does. */
static bool add_assumptions(struct check *c, struct contract *x)
{
	bool ok = prove_contract_add_params(x);

	ok &= prove_contract_add_assumes(x);
	ok &= prove_contract_add_launches(x, c->k->name);
	c->k->rests_on_contents |= x->has_contents;
	return ok;
}

/* Does any launch keep to the contract? Without one everything could be proven. */
static bool is_contract_kept(struct check *c)
{
	struct contract x = contract_of(c);
	bool ok = prove_contract_check_launch(&x, c->e->ir);

	ok &= add_assumptions(c, &x);
	if (c->o->uses_contents && !x.has_contents)
		return false;
	/* each case of it has been checked */
	c->is_by_powers = ok && powers_are_proven(c);
	return ok && (c->trial.is_quick || c->is_by_powers || prove_contract_check(&x));
}

static void open_solver(struct check *c)
{
	c->smt = prove_smt_open(c->e);
	prove_smt_keep_answers(c->smt, c->o->cache, c->o->cache_key);
}

static void close_solver(struct check *c)
{
	c->k->counts.recalled += prove_smt_recalled(c->smt);
	prove_smt_close(c->smt);
}

/*
 * Evaluates again with the parameters that the assumptions pin (pins.c); contract.c has found that
 * the assumptions can be kept. Accesses that only they keep from being reached are gone by that.
 */
static void pin_params(struct check *c)
{
	struct ex_launch launch = c->pool->launch;
	struct ex_pin pin[EX_MAX_PINS];
	uint32_t npins = prove_pins_find(c->e, pin);
	struct ir *ir = c->e->ir;
	bool *was = BASE_NEWN(c->arena, bool, ir->steps.n + 1);

	if (!npins)
		return;
	for (size_t i = 0; i < c->e->accesses.n; i++)
		was[c->e->accesses.v[i].index] = true;
	close_solver(c);
	prove_ev_free(c->e);
	prove_ex_pool_free(c->pool);
	prove_ex_pool_init(c->pool, c->arena, &launch);
	memcpy(c->pool->pin, pin, sizeof(pin));
	c->pool->npins = npins;
	prove_contents_hold(c->pool, c->o);
	evaluate(c->e, ir, c->pool, c->o);
	prove_names_open(&c->names, c->e, c->o->named, c->arena);
	open_solver(c);
	struct contract x = contract_of(c);
	add_assumptions(c, &x);
	for (size_t i = 0; i < c->e->accesses.n; i++)
		was[c->e->accesses.v[i].index] = false;
	/* what a launch's own numbers exclude is no news */
	for (size_t i = 0; i < ir->steps.n && !ir->problems.n && !c->o->launches; i++)
		if (was[i])
			prove_alarm_problem(RACE_PROBLEM_EXCLUDED, ir->steps.v[i].at,
					    CONTRACT_EXCLUDED, c);
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
		if (a->is_true && !a->is_benign && a->cls != RACE_CLASS_VOLATILE)
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

#define MAX_KNOWN 16 /* alarms whose pairs are asked about first */

/* Is one of the pairs open that had alarms before? An access has its line in the PTX. */
static bool is_known_open(struct check *c)
{
	const struct race_proof *k = c->task->trial->alarms;
	const struct ev *e = c->e;

	for (size_t n = 0; n < k->alarms.n && n < MAX_KNOWN; n++) {
		const struct ev_access *x[2] = {NULL, NULL};
		for (size_t i = 0; i < e->accesses.n; i++)
			for (unsigned t = 0; t < 2; t++)
				if (e->accesses.v[i].step->at->line ==
				    k->alarms.v[n].side[t].ptx_line)
					x[t] = &e->accesses.v[i];
		if (x[0] && x[1] && prove_now_ms() < c->deadline &&
		    !prove_one_pair(c, x[0] < x[1] ? x[0] : x[1], x[0] < x[1] ? x[1] : x[0])) {
			c->is_open[x[0] - e->accesses.v] = true;
			return true;
		}
	}
	return false;
}

#define HASTY_MS 600

/* All pairs; where an assumption about scalars could help, the search for it has the last quarter
 * of the time, and what a kernel with alarms has beside them isn't asked about for long. */
static void check_pairs(struct check *c)
{
	uint64_t now = prove_now_ms(), end = c->deadline;
	bool has_scalar = false;

	if (c->task->trial && is_known_open(c))
		return;
	for (uint32_t i = 0; i < c->names.nparams; i++)
		has_scalar |= prove_names_is_scalar(&c->names.param[i]);
	if (c->o->wants_remedies && has_scalar && now < end) {
		c->deadline = now + (end - now) * 3 / 4;
		c->effort.hasty_at = now + HASTY_MS;
		c->effort.query_ms = (end - now) / 10;
		c->effort.hurried_at = now + (end - now) / 20;
	}
	prove_all_pairs(c);
	c->effort.hasty_at = c->effort.query_ms = c->effort.hurried_at = 0;
	c->deadline = end;
}

/* Alarms that are none, as each value of a parameter with few of them is proven by itself. */
static void check_few(struct check *c, size_t problems)
{
	bool is_open = false;

	for (size_t i = 0; i < c->e->accesses.n; i++)
		is_open |= c->is_open[i];
	if (!is_open || !powers_few_are_proven(c))
		return;
	c->k->alarms.n = 0;
	c->k->problems.n = problems;
	c->is_by_powers = true;
	powers_skip_pairs(c);
}

void prove_nothing_is_proven(struct check *c)
{
	for (size_t i = 0; i < c->e->accesses.n; i++)
		c->is_open[i] = true;
}

/* A copy whose ways aren't followed to their end: what was found of it may be an alarm, else the
 * kernel isn't proven for it. */
static void check_lost_copies(struct check *c)
{
	const struct ev_access *x = &c->e->lost;

	if (!x->step)
		return;
	prove_nothing_is_proven(c);
	prove_alarm_problem(RACE_PROBLEM_UNPROVEN, x->step->at,
			    base_printf(c->arena,
					"a %s that is under way across barriers in ways that "
					"aren't modelled",
					x->mem->matrix ? "matrix product" : "copy"),
			    c);
}

/* Which accesses the assumptions exclude is no part of the verdict: it gets a share of what is left
 * when the pairs are done. */
static void check_reached(struct check *c, struct contract x)
{
	uint64_t now = prove_now_ms();

	x.deadline = now < c->deadline ? now + (c->deadline - now) / 8 : now;
	prove_contract_check_accesses(&x);
}

static void check_kernel(struct check *c)
{
	prove_names_open(&c->names, c->e, c->o->named, c->arena);
	prove_tries_open(c);
	open_solver(c);
	c->k->counts.accesses = (uint32_t)c->e->accesses.n;
	if (!ptx_func_attr(c->e->ir->f, "reqnctapercluster", c->cluster))
		memset(c->cluster, 0, sizeof(c->cluster));
	classify(c);
	bool is_kept = is_contract_kept(c);
	if (is_kept)
		pin_params(c);
	if (is_kept && !c->e->ir->problems.n) {
		struct contract x = contract_of(c);
		find_phases(c);
		c->has_lanes = prove_meet_has_lanes(c);
		c->is_open = base_zalloc(c->arena, c->e->accesses.n + 1);
		order_find(c);
		order_check_assumed(c);
		benign_find_unstable(c);
		prove_meet_own_copies(c);
		size_t problems = c->k->problems.n;
		if (c->is_by_powers)
			powers_skip_pairs(c);
		else
			check_pairs(c);
		if (!c->is_by_powers)
			check_few(c, problems);
		order_check_copies(c);
		check_lost_copies(c);
		if (!c->trial.is_quick)
			prove_find_outside(c, &x);
		if (!c->trial.is_quick)
			check_reached(c, x);
		for (size_t i = 0; i < c->e->accesses.n && c->task->trial; i++)
			c->task->trial->has_failed |= c->is_open[i];
		if (c->task->trial)
			c->task->trial->is_refuted = c->trial.is_refuted;
		check_lockstep(c);
		if (!c->e->ir->problems.n)
			list_sites(c);
		if (!c->e->ir->problems.n && !c->e->lost.step && c->o->wants_extents)
			extents_find(c);
		if (c->o->wants_remedies && !c->e->lost.step)
			prove_remedy_find(c);
	}
	if (c->o->wants_protocol)
		prove_write_protocol(c);
	close_solver(c);
	prove_say_contract(c);
}

static void finish(struct check *c, struct ir *ir)
{
	for (size_t i = 0; i < ir->problems.n; i++)
		prove_alarm_problem(RACE_PROBLEM_UNPROVEN, ir->problems.v[i].at,
				    ir->problems.v[i].text, c);
	c->k->verdict = verdict_of(c->k);
}

/* One kernel with the dimensions that count as read; anew where less is read than that. */
void kernel_analyse(const struct kernel_task *t, struct names *names)
{
	struct launch_reads less = t->reads;
	struct ir ir;
	struct ex_pool pool;
	struct ex_launch launch;
	struct ev e = {0};
	struct race_proof *k = t->k;
	struct check c = {.e = &e, .pool = &pool, .o = t->o, .k = k, .arena = t->arena};

	c.task = t;
	c.trial.is_on = t->trial != NULL;
	c.trial.is_hasty = t->trial && !t->trial->is_patient;
	c.trial.is_quick = t->trial && t->trial->is_quick;
	c.deadline = t->deadline;
	c.names.arena = t->arena; /* without parameters, where nothing can be analysed */
	for (unsigned turn = 0;; turn++) {
		prove_ir_build(&ir, t->arena, t->m, t->f);
		prove_launch_find(&ir, t->o, k->name, &less, &launch);
		prove_ex_pool_init(&pool, t->arena, &launch);
		prove_contents_hold(&pool, t->o);
		e = (struct ev){.ir = &ir};
		if (!ir.problems.n)
			evaluate(&e, &ir, &pool, t->o);
		if (turn || ir.problems.n || !prove_launch_refine(&e, t->o, &less))
			break;
		prove_ev_free(&e);
		prove_ex_pool_free(&pool);
		prove_ir_free(&ir);
	}
	k->free_dims = 0;
	for (unsigned d = 0; d < 6; d++)
		k->free_dims |= (uint8_t)((unsigned)!launch.dim[d] << d);
	memcpy(k->fixed_dim, launch.dim, sizeof(k->fixed_dim));
	if (!ir.problems.n)
		check_kernel(&c);
	finish(&c, &ir);
	if (names)
		*names = c.names;
	prove_ev_free(&e);
	prove_ex_pool_free(&pool);
	prove_ir_free(&ir);
}

void kernel_open_proof(const struct kernel_task *t)
{
	struct race_proof *k = t->k;

	memset(k, 0, sizeof(*k));
	k->name = base_strndup(t->arena, t->f->name.p, t->f->name.n);
	k->name_shown = race_demangle(t->arena, k->name);
	k->why_checked = "it can't be analysed";
	k->has_launches = t->o->launches != NULL;
	k->has_scalars = t->o->nparams > 0;
}

/* What a proof for one thread or block doesn't cover, and what was found of more. */
static void say_single(const struct kernel_task *t, const struct race_proof *many)
{
	bool is_thread = t->reads.is_one_thread;
	const char *what = is_thread ? "thread" : "block";
	struct race_problem p = {.kind = RACE_PROBLEM_SINGLE, .file = ""};
	const struct race_alarm *al = NULL;

	for (size_t i = 0; i < many->alarms.n; i++)
		if (!al || (many->alarms.v[i].is_true && !al->is_true))
			al = &many->alarms.v[i];
	if (al) {
		p.file = al->side[0].file;
		p.line = al->side[0].line;
		p.ptx_line = al->side[0].ptx_line;
	}
	p.text = base_printf(t->arena, "proven for one %s, as the kernel reads no %s: with more %s",
			     what, is_thread ? "thread's number" : "block's number",
			     !al	    ? "nothing is proven"
			     : !al->is_true ? "it may race here"
					    : "it races here");
	base_vec_push(&t->k->problems, p);
	t->k->single = is_thread ? RACE_SINGLE_THREAD : RACE_SINGLE_BLOCK;
	if (t->k->verdict == RACE_VERDICT_FREE)
		t->k->verdict = RACE_VERDICT_SINGLE;
}

/*
 * A kernel that reads no thread's or no block's number is asked about with several of them first.
 * Where that isn't proven, what one thread or block does is, which has a verdict of its own.
 */
static void check_single(const struct kernel_task *t)
{
	struct prove_options quiet = *t->o;
	struct race_proof many, *k = t->k;
	struct kernel_task first = *t;
	uint64_t now = prove_now_ms();

	first.reads.is_read[0] |= t->reads.is_one_thread;
	first.reads.is_read[3] |= t->reads.is_one_block;
	quiet.wants_remedies = false;
	first.o = &quiet;
	first.k = &many;
	first.deadline = now + (t->deadline > now ? (t->deadline - now) / 3 : 0);
	kernel_open_proof(&first);
	kernel_analyse(&first, NULL);
	if (many.verdict == RACE_VERDICT_FREE) {
		*k = many;
		return;
	}
	kernel_analyse(t, NULL);
	if (k->verdict == RACE_VERDICT_FREE || k->verdict == RACE_VERDICT_BENIGN)
		say_single(t, &many);
	k->counts.queries += many.counts.queries;
	k->counts.recalled += many.counts.recalled;
	race_proof_free(&many);
}

void prove_kernel(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		  struct base_arena *arena, struct race_proof *k, const struct kernel_early *early)
{
	struct ir ir;
	struct rusage used;
	uint64_t start = work_cpu_ms();
	struct kernel_task t = {.m = m, .f = f, .o = o, .arena = arena, .k = k, .early = early};

	work_limit(start + o->timeout_ms);
	t.deadline = prove_now_ms() + o->timeout_ms;
	kernel_open_proof(&t);
	prove_ir_build(&ir, arena, m, f);
	prove_launch_reads_of(&ir, o, &t.reads);
	prove_ir_free(&ir);
	if (launches_has(o, k->name))
		launches_check(&t);
	else if (t.reads.is_one_thread || t.reads.is_one_block)
		check_single(&t);
	else
		kernel_analyse(&t, NULL);
	k->ms = work_cpu_ms() - start;
	k->is_settled = prove_now_ms() + o->timeout_ms / 8 < t.deadline;
	if (!getrusage(RUSAGE_SELF, &used))
		k->counts.memory_kb = (uint32_t)used.ru_maxrss;
}
