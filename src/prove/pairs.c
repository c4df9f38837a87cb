/*
 * pairs.c - every two accesses of a kernel, asked about (prove.h).
 *
 * Two accesses conflict when they may touch a common byte and one writes. For two threads of one
 * CTA each way to be in the same phase is a query (phase.c); threads of different CTAs are ordered
 * by nothing. Integers first, bit-vectors where they don't decide. What the solver finds is
 * replayed (replay.c); only then an alarm is true.
 *
 * Misses: order by fences, flags, locks, named barriers and warp barriers is never used for a
 * proof, and makes an alarm potential.
 */
#include "prove/pairs.h"
#include "prove/contract.h"
#include "prove/phase.h"
#include "prove/replay.h"

#include <string.h>
#include <time.h>

#define RLIMIT_INTEGERS 3000000
#define RLIMIT_BITS	8000000
#define MAX_ALARMS	64
#define MAX_SEARCHES	20

struct check {
	struct ev *e;
	struct ex_pool *pool;
	struct smt *smt;
	struct phases phases;
	const struct prove_options *o;
	struct prove_kernel *k;
	struct base_arena *arena;
	uint64_t deadline;
	const struct ev_access *a, *b;
	bool is_grid, is_partial, is_forced; /* forced: no offsets to compare */
	enum race_class cls;
	bool is_done; /* this pair has its alarm */
	bool has_assumed_disjoint;
	unsigned searches;
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- what to say -------------------------------------------------------------------- */

static void place_of(struct check *c, const struct ptx_stmt *s, const char **file, uint32_t *line)
{
	*file = "";
	*line = 0;
	if (!s || !s->loc)
		return;
	*line = s->loc->line;
	ptx_each_item(c->e->ir->m,
		      it) if (it->kind == PTX_ITEM_FILE && it->file_id == s->loc->file) *file =
		base_strndup(c->arena, it->file_name.p, it->file_name.n);
}

static const char *object_name(struct check *c, const struct ev_access *a)
{
	const struct ir *ir = c->e->ir;

	if (a->root.kind == EV_ROOT_OBJECT) {
		struct ptx_str n = ir->objects.v[a->root.id].name;
		const char *raw = base_strndup(c->arena, n.p, n.n);
		return base_printf(c->arena, "%s memory %s", a->is_shared ? "shared" : "global",
				   race_demangle(c->arena, raw));
	}
	if (a->root.kind == EV_ROOT_PARAM) {
		unsigned i = 0;
		for (size_t o = 0; o < ir->objects.n; o++)
			i += ir->objects.v[o].kind == IR_OBJ_PARAM &&
			     ir->objects.v[o].off <= a->root.id;
		return base_printf(c->arena, "the array of parameter %u", i);
	}
	return a->root.kind == EV_ROOT_LOADED ? "an array whose address was loaded"
					      : "an address that is not understood";
}

static void fill_side(struct check *c, struct prove_side *s, const struct ev_access *a)
{
	struct base_buf text = {0};

	s->kind = a->mem->kind;
	s->strength = a->mem->strength;
	s->bytes = a->mem->bytes;
	s->ptx_line = a->step->at->line;
	s->is_approx_index = a->off->is_approx;
	s->is_approx_path = a->guard->is_approx;
	place_of(c, a->step->at, &s->file, &s->line);
	s->text = "";
	if (a->step->at->form) {
		ptx_print_stmt(c->e->ir->calls.v[a->step->call].f, a->step->at, &text);
		while (text.n && (text.p[0] == '\t' || text.p[0] == ' ')) {
			text.n--;
			memmove(text.p, text.p + 1, text.n);
		}
		s->text = base_strndup(c->arena, text.p ? text.p : "", text.n);
		base_buf_free(&text);
	}
}

static struct prove_alarm *find_alarm(struct check *c)
{
	for (size_t i = 0; i < c->k->alarms.n; i++) {
		struct prove_alarm *al = &c->k->alarms.v[i];
		if (al->level == (c->is_grid ? PROVE_GRID : PROVE_BLOCK) &&
		    al->side[0].ptx_line == c->a->step->at->line &&
		    al->side[1].ptx_line == c->b->step->at->line)
			return al;
	}
	return NULL;
}

static void raise_alarm(struct check *c, const struct smt_model *m, const struct replay_meeting *r,
			bool is_true, bool is_exited, const char *reason)
{
	struct prove_alarm al = {.is_true = is_true, .cls = c->cls, .is_exited = is_exited};
	struct prove_alarm *old = find_alarm(c);

	c->is_done |= is_true;
	if (old && (old->is_true || !is_true))
		return;
	al.level = c->is_grid ? PROVE_GRID : PROVE_BLOCK;
	al.object = object_name(c, c->a);
	al.reason = reason;
	fill_side(c, &al.side[0], c->a);
	fill_side(c, &al.side[1], c->b);
	if (m) {
		al.has_launch = true;
		memcpy(al.ntid, m->ntid, sizeof(al.ntid));
		memcpy(al.nctaid, m->nctaid, sizeof(al.nctaid));
		for (unsigned i = 0; i < 2; i++) {
			memcpy(al.side[i].tid, m->tid[i], sizeof(al.side[i].tid));
			memcpy(al.side[i].ctaid, m->ctaid[i], sizeof(al.side[i].ctaid));
			al.side[i].offset = r->offset[i];
			al.side[i].phase = r->phase[i];
		}
		al.nparams = m->nparams;
		memcpy(al.param, m->param, sizeof(al.param));
	}
	if (old)
		*old = al;
	else if (c->k->alarms.n < MAX_ALARMS)
		base_vec_push(&c->k->alarms, al);
}

static void problem(enum prove_problem_kind kind, const struct ptx_stmt *at, const char *text,
		    void *arg)
{
	struct prove_problem p = {.kind = kind, .text = text, .ptx_line = at ? at->line : 0};
	struct check *c = arg;

	place_of(c, at, &p.file, &p.line);
	for (size_t i = 0; i < c->k->problems.n; i++)
		if (c->k->problems.v[i].ptx_line == p.ptx_line &&
		    !strcmp(c->k->problems.v[i].text, text))
			return;
	base_vec_push(&c->k->problems, p);
}

/* ---- one query ------------------------------------------------------------------------- */

static void hold_side(struct check *c, const struct ev_access *x, unsigned t)
{
	const struct ir *ir = c->e->ir;

	smt_assert(c->smt, x->guard, t);
	for (uint32_t l = ir->blocks.v[x->block].loop; l != IR_NONE; l = ir->loops[l].parent)
		smt_in_loop(c->smt, l, t);
	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->loop == IR_NONE || ir_in_loop(&ir->loops[as->loop], x->block))
			smt_assert(c->smt, as->fact, t);
	}
}

static enum smt_answer ask(struct check *c, const uint8_t *counters, bool use_bits,
			   struct smt_model *m)
{
	uint64_t now = now_ms();
	struct smt_query q = {
		.is_same_cta = !c->is_grid, .counters = counters, .use_bits = use_bits};

	if (now >= c->deadline)
		return SMT_GAVE_UP;
	q.rlimit = use_bits ? RLIMIT_BITS : RLIMIT_INTEGERS;
	q.timeout_ms = (unsigned)(c->deadline - now);
	c->k->counts.queries++;
	smt_begin(c->smt, &q);
	hold_side(c, c->a, 0);
	hold_side(c, c->b, 1);
	if (!c->is_forced)
		smt_conflict(c->smt, c->a->off, c->a->mem->bytes, c->b->off, c->b->mem->bytes,
			     c->is_partial);
	return smt_check(c->smt, m);
}

/* Launches that the search tries when the solver's own can't be replayed. */
static bool search(struct check *c, struct smt_model *m, struct replay_meeting *met)
{
	static const uint32_t sizes[] = {0, 4, 32, 64, 128};
	const struct ex_launch *l = &c->pool->launch;
	struct smt_model try;

	for (size_t i = 0; i < BASE_COUNTOF(sizes); i++) {
		if (c->deadline < now_ms() + 500 || c->searches >= MAX_SEARCHES)
			return false;
		try = *m;
		for (unsigned d = 0; d < 3 && i; d++) {
			uint32_t n = d ? 4 : sizes[i];
			try.ntid[d] = l->dim[d] ? l->dim[d] : l->max[d] < n ? l->max[d] : n;
			try.nctaid[d] = l->dim[3 + d] ? l->dim[3 + d]
					: l->max[3 + d] < (c->is_grid ? 2u : 1u)
						? l->max[3 + d]
						: (c->is_grid ? 2 : 1);
		}
		c->searches++;
		if (replay_search(c->e, &try, !c->is_grid, c->a, c->b, met)) {
			*m = try;
			return true;
		}
	}
	return false;
}

/* True: the alarm is true. */
static bool replay(struct check *c, struct smt_model *m, struct replay_meeting *met)
{
	struct replay_meeting other = {0};

	memset(met, 0, sizeof(*met));
	if (c->is_forced) {
		met->why = "the two addresses can't be compared";
		return false;
	}
	c->k->counts.replays++;
	enum replay_answer x = replay_run(c->e, m, !c->is_grid, c->a, c->b, met);
	if (x == REPLAY_RACES)
		return true;
	if (x == REPLAY_ORDERED || !search(c, m, &other)) {
		c->k->counts.failed_replays++;
		return false;
	}
	*met = other;
	return true;
}

static void settle(struct check *c, const uint8_t *counters, bool is_exited)
{
	struct smt_model m;
	struct replay_meeting met = {0};
	enum smt_answer x = ask(c, counters, false, &m);

	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_integers++;
		return;
	}
	if ((x == SMT_POSSIBLE || x == SMT_MAYBE) && replay(c, &m, &met)) {
		c->k->counts.by_integers++;
		raise_alarm(c, &m, &met, true, is_exited, "");
		return;
	}
	if (x == SMT_POSSIBLE) {
		c->k->counts.by_integers++;
		raise_alarm(c, &m, &met, false, is_exited, met.why);
		return;
	}
	x = ask(c, counters, true, &m);
	if (x == SMT_IMPOSSIBLE) {
		c->k->counts.by_bits++;
	} else if (x == SMT_GAVE_UP) {
		c->k->counts.gave_up++;
		problem(PROVE_PROBLEM_UNPROVEN, c->a->step->at,
			"the solver gave up on a pair of accesses", c);
	} else {
		c->k->counts.by_bits++;
		bool is_true = replay(c, &m, &met);
		raise_alarm(c, &m, &met, is_true, is_exited, is_true ? "" : met.why);
	}
}

static void same_cta_case(const uint8_t *counters, bool is_exited, void *arg)
{
	struct check *c = arg;

	if (!c->is_done)
		settle(c, counters, is_exited);
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* Can two accesses touch the same memory? *forced: without a way to compare where. */
static bool may_alias(struct check *c, const struct ev_access *a, const struct ev_access *b,
		      bool *forced)
{
	const struct ev_root *x = &a->root, *y = &b->root;
	bool x_odd = x->kind == EV_ROOT_UNKNOWN || x->kind == EV_ROOT_LOADED;
	bool y_odd = y->kind == EV_ROOT_UNKNOWN || y->kind == EV_ROOT_LOADED;
	bool x_generic = x->kind == EV_ROOT_UNKNOWN && x->id == IR_GENERIC;
	bool y_generic = y->kind == EV_ROOT_UNKNOWN && y->id == IR_GENERIC;

	*forced = false;
	if (x->kind != EV_ROOT_UNKNOWN && ev_same_root(x, y) && a->off->w == b->off->w &&
	    (x->kind != EV_ROOT_LOADED || x->base->level == EX_GRID))
		return true;
	if (a->is_shared != b->is_shared && !x_generic && !y_generic)
		return false;
	if (x_odd || y_odd) {
		*forced = true;
		return true;
	}
	bool both_params = x->kind == EV_ROOT_PARAM && y->kind == EV_ROOT_PARAM;
	if (c->o->may_alias && (both_params || (!a->is_shared && x->kind != y->kind))) {
		*forced = true;
		return true;
	}
	c->has_assumed_disjoint |= !a->is_shared && !ev_same_root(x, y);
	return false;
}

static struct race_op op_of(const struct ev_access *a, uint32_t actor, uint32_t cta)
{
	struct race_op op = {.actor = actor, .strength = a->mem->strength, .scope = a->mem->scope};

	op.kind = a->mem->kind;
	op.is_volatile = a->mem->is_volatile;
	op.bytes = a->mem->bytes;
	op.place.cta = op.place.cluster = cta;
	op.place.grid = 1;
	return op;
}

static void check_pair(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	if (!((a->mem->kind | b->mem->kind) & RACE_OP_WRITE) || !may_alias(c, a, b, &c->is_forced))
		return;
	c->k->counts.pairs++;
	c->a = a;
	c->b = b;
	for (int grid = 0; grid < 2; grid++) {
		struct race_op x = op_of(a, 0, 0), y = op_of(b, 1, (uint32_t)grid);
		if (grid ? !c->o->grid || a->is_shared || b->is_shared : !c->o->block)
			continue;
		c->is_grid = grid;
		c->is_done = false;
		c->cls = RACE_CLASS_RACE;
		c->is_partial = race_is_morally_strong(&x, &y);
		if (x.is_volatile && y.is_volatile) {
			c->cls = RACE_CLASS_VOLATILE;
			c->is_partial = false;
		}
		struct prove_alarm *old = find_alarm(c);
		if (old && old->is_true)
			continue;
		if (!grid) {
			phase_each(&c->phases, a->block, b->block, same_cta_case, c);
		} else {
			uint8_t *free = base_zalloc(c->arena, c->e->ir->nloops + 1);
			settle(c, free, false);
		}
	}
}

/* Both orders count where the two are different instructions: which thread does which. */
static void check_all(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++) {
		for (size_t k = i; k < e->accesses.n; k++) {
			const struct ev_access *a = &e->accesses.v[i], *b = &e->accesses.v[k];
			check_pair(c, a, b);
		}
	}
}

/* ---- the contract ---------------------------------------------------------------------------- */

static void say(struct check *c, const char *text)
{
	for (size_t i = 0; i < c->k->contract.n; i++)
		if (!strcmp(c->k->contract.v[i], text))
			return;
	base_vec_push(&c->k->contract, text);
}

static void say_contract(struct check *c, const struct ex_launch *l)
{
	static const char *const names[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					    "gridDim.x",  "gridDim.y",	"gridDim.z"};
	struct base_buf ones = {0};

	say(c, "one launch by itself");
	for (unsigned d = 0; d < 6; d++) {
		if (l->dim[d] && l->dim[d] != 1)
			say(c, base_printf(c->arena, "%s = %u", names[d], l->dim[d]));
		else if (l->max[d] == 1)
			base_buf_printf(&ones, "%s%s", ones.n ? ", " : "", names[d]);
	}
	if (ones.n)
		say(c, base_printf(c->arena, "1: %s", ones.p));
	base_buf_free(&ones);
	say(c, "gridDim * blockDim stays below 2^31 in each dimension");
	say(c, "every access stays within its array");
	if (c->e->ir->nloops)
		say(c, "pointers and 64-bit counters that a loop moves on don't wrap");
	if (c->has_assumed_disjoint)
		say(c, "arrays of different parameters and variables are disjoint");
	for (uint32_t i = 0; i < c->e->ir->nloops; i++) {
		const char *file;
		uint32_t line;
		if (!c->e->loops[i].is_assumed)
			continue;
		place_of(c, c->e->loops[i].at, &file, &line);
		say(c,
		    base_printf(c->arena, "the counter of the loop at line %u doesn't wrap", line));
	}
	for (size_t i = 0; i < c->e->assumes.n; i++)
		if (!c->e->assumes.v[i].param)
			say(c, "what collider_assume says");
	for (uint32_t i = 0; i < c->o->nparams; i++)
		say(c, base_printf(c->arena, "parameter %u = %llu", c->o->param[i].index,
				   (unsigned long long)c->o->param[i].value));
}

/* Evaluates; branches that turn out to be constant are taken out, and all is done again: barriers
 * in a dead branch must not count. */
static void evaluate(struct ev *e, struct ir *ir, struct ex_pool *pool, bool may_alias)
{
	bool pruned = true;

	for (unsigned turn = 0; pruned && turn < 8; turn++) {
		size_t problems = ir->problems.n;
		if (turn)
			ev_free(e);
		ev_run(e, ir, pool, may_alias);
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
}

/* Does any launch keep to the contract? Without one everything could be proven. */
static bool is_contract_kept(struct check *c)
{
	struct contract x = {.e = c->e, .smt = c->smt, .o = c->o, .arena = c->arena};

	x.counts = &c->k->counts;
	x.deadline = c->deadline;
	x.rlimit = RLIMIT_INTEGERS;
	x.say = problem;
	x.arg = c;
	bool ok = contract_check_launch(&x, c->e->ir);
	ok &= contract_add_params(&x);
	return ok && contract_check(&x);
}

static enum prove_verdict verdict_of(const struct prove_kernel *k)
{
	enum prove_verdict v = PROVE_FREE;

	for (size_t i = 0; i < k->problems.n; i++) {
		if (k->problems.v[i].kind == PROVE_PROBLEM_VACUOUS)
			v = PROVE_VACUOUS;
		else if (k->problems.v[i].kind == PROVE_PROBLEM_UNPROVEN && v == PROVE_FREE)
			v = PROVE_UNPROVEN;
	}
	for (size_t i = 0; i < k->alarms.n; i++) {
		if (k->alarms.v[i].is_true && k->alarms.v[i].cls == RACE_CLASS_RACE)
			return PROVE_TRUE;
		if (v == PROVE_FREE)
			v = PROVE_POTENTIAL;
	}
	return v;
}

void pairs_check(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		 struct base_arena *arena, struct prove_kernel *k)
{
	struct ir ir;
	struct ex_pool pool;
	struct ex_launch launch;
	struct ev e;
	uint64_t start = now_ms();
	struct check c = {.e = &e, .pool = &pool, .o = o, .k = k, .arena = arena};

	c.deadline = start + o->timeout_ms;
	k->name = base_strndup(arena, f->name.p, f->name.n);
	k->name_shown = race_demangle(arena, k->name);
	ir_build(&ir, arena, m, f);
	contract_find_launch(&ir, o, &launch);
	for (unsigned d = 0; d < 6; d++)
		k->free_dims |= (uint8_t)((unsigned)!launch.dim[d] << d);
	ex_pool_init(&pool, arena, &launch);
	memset(&e, 0, sizeof(e));
	e.ir = &ir;
	size_t fatal = ir.problems.n;
	if (!fatal)
		evaluate(&e, &ir, &pool, o->may_alias);
	if (!ir.problems.n) {
		phase_find(&c.phases, &e);
		c.smt = smt_open(&e);
		k->counts.accesses = (uint32_t)e.accesses.n;
		if (is_contract_kept(&c))
			check_all(&c);
		smt_close(c.smt);
		say_contract(&c, &launch);
	}
	for (size_t i = 0; i < ir.problems.n; i++)
		problem(PROVE_PROBLEM_UNPROVEN, ir.problems.v[i].at, ir.problems.v[i].text, &c);
	k->verdict = verdict_of(k);
	k->ms = now_ms() - start;
	ev_free(&e);
	ex_pool_free(&pool);
	ir_free(&ir);
}
