/*
 * remedy.c - assumptions that take a kernel's alarms away, tried one by one (check.h).
 *
 * Most alarms of kernels that are right come from a missing precondition (FaialAA, section 6.1).
 * Simple ones are made of the kernel's dimensions and parameters, the weaker first, and before them
 * the tiles that its indices show; each is put beside the other assumptions, and every pair that
 * had an alarm is asked about again. One with which nothing is left, and to which some launch keeps
 * that comes to these accesses, is proven sufficient; it is printed as --assume takes it. What rows
 * with a pitch need, in planes or alone, is asked for at once, and what isn't needed left out.
 *
 * Misses: preconditions of two parts that only help together, but for a few.
 * Costs: up to MAX_TRIES times the pairs with alarms, at most a third of the time limit; where the
 * dimensions are given a share of it (find_given), of which the equations may have most.
 */
#include "prove/remedy/remedy.h"

#include <string.h>

#define MAX_REMEDIES 3

/* Was all analysed but for pairs that took too long? Are there such? */
static bool is_analysed(const struct check *c, bool *has_late)
{
	if (c->is_set_up_open || c->has_unordered)
		return false;
	for (size_t i = 0; i < c->k->problems.n; i++) {
		const struct race_problem *p = &c->k->problems.v[i];
		if (p->kind != RACE_PROBLEM_UNPROVEN)
			continue;
		if (!strstr(p->text, "gave up on a pair") && !strstr(p->text, "time limit"))
			return false;
		*has_late = true;
	}
	return true;
}

/* The pairs that have alarms, by their lines; and those that may be undecided. */
static void find_pairs(struct finder *f)
{
	const struct ev *e = f->c->e;
	bool has_late = false;

	if (!is_analysed(f->c, &has_late))
		return;

	for (size_t i = 0; i < e->accesses.n; i++) {
		for (size_t k = i; k < e->accesses.n; k++) {
			const struct ev_access *a = &e->accesses.v[i], *b = &e->accesses.v[k];
			bool is_bad = false;
			for (size_t n = 0; n < f->c->k->alarms.n; n++) {
				const struct race_alarm *al = &f->c->k->alarms.v[n];
				bool is_step = al->cls == RACE_CLASS_LOCKSTEP;
				bool is_its = al->side[0].ptx_line == a->step->at->line &&
					      al->side[1].ptx_line == b->step->at->line;
				/* of lanes: one that stands for many */
				if (is_step)
					is_its = f->c->is_open[i] && f->c->is_open[k] &&
						 ((a->mem->kind | b->mem->kind) & RACE_OP_WRITE);
				is_bad |= !al->is_benign && is_its;
			}
			struct remedy_pair p = {a, b};
			is_bad |= has_late && f->c->is_open[i] && f->c->is_open[k] &&
				  ((a->mem->kind | b->mem->kind) & RACE_OP_WRITE);
			if (is_bad)
				base_vec_push(&f->pairs, p);
		}
	}
}

int remedy_is_seen(const struct check *c, const struct ev_assume *as)
{
	struct ex_pool *p = c->pool;
	unsigned found = 0;

	if (!c->o->launches || as->kind != IR_ASSUME_FACT)
		return -1;
	for (size_t i = 0; i < c->o->nlaunches; i++) {
		const struct prove_launch *l = &c->o->launches[i];
		const struct ex *v = as->fact;
		if (strcmp(l->kernel, c->k->name) != 0)
			continue;
		found++;
		for (unsigned d = 0; d < 6; d++)
			v = prove_ex_replace(p, v,
					     prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d)),
					     prove_ex_const(p, 32, l->dim[d]));
		for (uint32_t k = 0; k < l->nwords; k++) {
			unsigned w = (unsigned)(8 * l->word[k].bytes);
			const struct ex *leaf = prove_ex_param(p, w, l->word[k].off);
			if (leaf->op == EX_PARAM && !l->word[k].array)
				v = prove_ex_replace(p, v, leaf,
						     prove_ex_const(p, w, l->word[k].value));
		}
		if (v->op != EX_CONST)
			return -1;
		if (!v->imm)
			return 0;
	}
	return found ? 1 : -1;
}

/* Does some launch keep to all assumptions, this one among them, in which a thread still comes to
 * one of the accesses? Where none does, nothing is proven of them. */
static bool is_kept(struct finder *f)
{
	struct check *c = f->c;
	struct contract x = {.e = c->e, .smt = c->smt, .o = c->o, .arena = c->arena};

	x.names = &c->names;
	x.counts = &c->k->counts;
	x.deadline = c->deadline;
	x.npins = prove_pins_find(c->e, x.pin);
	if (!prove_contract_has_launch(&x, NULL) ||
	    prove_contract_denies(&x, &c->e->assumes.v[c->e->assumes.n - 1]))
		return false;
	if (!f->pairs.n) /* of the kernel as a whole */
		return true;
	for (size_t i = 0; i < f->pairs.n; i++)
		if (prove_contract_has_launch(&x, f->pairs.v[i].a))
			return true;
	return false;
}

static bool is_new(const struct check *c, const char *text)
{
	for (size_t i = 0; i < c->k->remedies.n; i++)
		if (!strcmp(c->k->remedies.v[i].assume, text))
			return false;
	return true;
}

/* From how many pairs does an assumption take their alarms? 0 where no launch keeps to it.
 * wants_all: one that keeps its alarm ends the search. */
static uint32_t count_gone(struct finder *f, const struct ev_assume *as, bool wants_all)
{
	struct check *c = f->c;
	struct race_proof_counts counts = c->k->counts;
	uint64_t most = f->try_ms ? prove_now_ms() + f->try_ms : f->deadline;
	uint32_t gone = 0;

	f->tries++;
	base_vec_push(&c->e->assumes, *as);
	c->deadline = most < f->deadline ? most : f->deadline;
	c->trial.is_on = c->trial.has_more = true;
	c->trial.is_refuted = false;
	/* the pair that the last one didn't help against comes first */
	size_t first = f->failed;
	for (size_t n = 0; n < f->pairs.n; n++) {
		size_t i = n == 0 ? first : n <= first ? n - 1 : n;
		bool is = prove_one_pair(c, f->pairs.v[i].a, f->pairs.v[i].b);
		gone += is;
		if (!is)
			f->failed = i;
		if ((!is && wants_all) || (n > 3 && !gone))
			break;
	}
	c->trial.is_on = c->trial.has_more = false;
	c->deadline = f->deadline;
	if (gone && !(wants_all && gone < f->pairs.n) && !is_kept(f))
		gone = 0;
	uint32_t queries = c->k->counts.queries;
	c->k->counts = counts; /* the trials are no part of the kernel's proof */
	c->k->counts.queries = queries;
	c->e->assumes.n--;
	return gone;
}

bool remedy_removes_all(struct finder *f, const struct ev_assume *as, bool *is_refuted)
{
	bool is = count_gone(f, as, true) == f->pairs.n;

	*is_refuted = f->c->trial.is_refuted;
	return is;
}

/* Does it help against pairs whose alarms were left out, and against what isn't analysed (a barrier
 * that some threads may not come to), too? */
static bool is_enough(struct finder *f, const char *text)
{
	return (!f->c->is_full && !f->c->e->ir->problems.n) ||
	       kernel_try_with(f->c->task, text, f->end, false) == KERNEL_PROVEN;
}

bool remedy_add(struct finder *f, const char *text)
{
	struct check *c = f->c;
	struct race_remedy r = {.assume = text, .alarms = (uint32_t)f->pairs.n, .is_all = true};
	struct ev_assume as;

	if (prove_assume_read(&c->names, c->e, text, &as))
		return false;
	base_vec_push(&c->e->assumes, as);
	bool is = is_kept(f);
	c->e->assumes.n--;
	if (!is || !is_enough(f, text))
		return false;
	r.seen = remedy_is_seen(c, &as);
	base_vec_push(&c->k->remedies, r);
	f->has_all = true;
	return true;
}

bool remedy_may_try(const struct finder *f)
{
	return !f->has_all && f->tries < MAX_TRIES && prove_now_ms() < f->deadline;
}

/* Tries an assumption. True: with it nothing is left to find. */
bool remedy_try(struct finder *f, const char *text)
{
	struct check *c = f->c;
	struct ev_assume as;

	if (!remedy_may_try(f) || !is_new(c, text) || prove_assume_read(&c->names, c->e, text, &as))
		return f->has_all;
	uint32_t gone = count_gone(f, &as, false);
	bool is_all = gone == f->pairs.n && is_enough(f, text), is_more = true;
	for (size_t i = 0; i < c->k->remedies.n; i++)
		is_more &= gone > c->k->remedies.v[i].alarms;
	if (gone && (is_all || (is_more && c->k->remedies.n < MAX_REMEDIES))) {
		struct race_remedy r = {.assume = text, .alarms = gone, .is_all = is_all};
		r.seen = remedy_is_seen(c, &as);
		base_vec_push(&c->k->remedies, r);
	}
	f->has_all = gone && is_all;
	return f->has_all;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Blocks of at most (or just) a part of the tile, in a grid whose indices don't wrap. */
static bool try_tile(struct finder *f, const uint32_t *tile, uint32_t part, const char *cmp)
{
	static const char dim[] = {'x', 'y', 'z'};
	struct base_arena *a = f->c->arena;
	const char *all = NULL, *one;

	for (unsigned d = 0; d < 3; d++) {
		if (tile[d] / part < 2)
			continue;
		one = base_printf(a, "blockDim.%c %s %u", dim[d], cmp, tile[d] / part);
		all = all ? base_printf(a, "%s && %s", all, one) : one;
	}
	if (!all || remedy_try(f, all))
		return f->has_all;
	/* In y and z a grid has at most 65,535 blocks. */
	return tile[0] && f->c->pool->launch.max[3] > INT32_MAX / tile[0] &&
	       remedy_try(f, base_printf(a, "%s && gridDim.x <= %u", all, INT32_MAX / tile[0]));
}

#define MAX_EXACT 5

static void try_exact(struct finder *f)
{
	const struct names_param *p[MAX_EXACT];
	struct remedy_tiles t = {.tile = {remedy_tile_of(f, 0), remedy_tile_of(f, 1)},
				 .wide = {remedy_width_of(f, 0), remedy_width_of(f, 1)}};

	unsigned npitches, n = remedy_scalars(f, p, MAX_EXACT, &npitches);

	remedy_try_exact(f, &t, p, n, npitches);
}

/* The tiles of the dimensions that may be more than 1; false: there is none. */
static bool find_tiles(struct finder *f, uint32_t *tile)
{
	const uint32_t *max = f->c->pool->launch.max;
	bool has = false;

	for (unsigned d = 0; d < 3; d++) {
		tile[d] = remedy_tile_of(f, d);
		has |= tile[d] != 0 && max[d] > 1;
		if (max[d] <= 1)
			tile[d] = 0;
	}
	return has;
}

static void try_tiles(struct finder *f)
{
	const uint32_t *max = f->c->pool->launch.max;
	uint32_t tile[3];
	bool has = find_tiles(f, tile), is_within = max[0] <= tile[0] || max[1] <= tile[1] || !has;

	if (is_within && !f->has_shapes)
		remedy_try_shapes(f, tile);
	/* A thread may have several elements of its tile. */
	for (uint32_t part = 1; part <= 4 && has && !f->has_all; part *= 2)
		if (try_tile(f, tile, part, "<=") || remedy_try_rows(f, tile, part) ||
		    try_tile(f, tile, part, "=="))
			return;
	if (!is_within && !f->has_all && !f->has_shapes)
		remedy_try_shapes(f, tile);
	/* a row for each warp */
	if (max[0] > 32 && !f->has_all)
		remedy_try(f, "blockDim.x % 32 == 0");
}

/* Is the access's place one that the block's number decides? One block is no launch of that. */
static bool is_by_block(const struct finder *f, unsigned d)
{
	struct ex_pool *p = f->c->pool;
	const struct ex *at = prove_ex_spec(p, (enum prove_ex_spec)(EX_CTAID_X + d));

	for (size_t i = 0; i < f->pairs.n; i++)
		if (prove_ex_contains(f->pairs.v[i].a->off, at) ||
		    prove_ex_contains(f->pairs.v[i].b->off, at))
			return true;
	return false;
}

static void try_dims(struct finder *f)
{
	static const char *const grid[] = {"gridDim.x == 1", "gridDim.y == 1", "gridDim.z == 1"};
	static const char dim[] = {'x', 'y', 'z'};
	const struct ex_launch *l = &f->c->pool->launch;
	bool is_far = true, is_narrow = !f->c->o->of_many_blocks;

	for (size_t i = 0; i < f->c->k->alarms.n; i++)
		is_far &= f->c->k->alarms.v[i].level >= RACE_LEVEL_CLUSTER;
	for (unsigned d = 0; d < 3 && is_far && is_narrow; d++)
		if (l->max[3 + d] > 1 && !is_by_block(f, d) && remedy_try(f, grid[d]))
			return;
	for (unsigned d = 0; d < 3; d++) {
		for (uint32_t n = 512; n >= 16 && l->max[d] > 1; n /= 2) {
			if (n < l->max[d] &&
			    remedy_try(f, base_printf(f->c->arena, "blockDim.%c <= %u", dim[d], n)))
				return;
			if (n < l->max[d] && !is_far && is_narrow && l->max[3 + d] > 1 &&
			    !is_by_block(f, d) &&
			    remedy_try(f, base_printf(f->c->arena,
						      "blockDim.%c <= %u && gridDim.%c == 1",
						      dim[d], n, dim[d])))
				return;
		}
	}
	for (uint32_t n = 1024; n >= 32 && l->max[0] > 1 && is_narrow; n /= 2)
		if (n <= l->max[0] &&
		    remedy_try(f, base_printf(f->c->arena, "blockDim.x == %u", n)))
			return;
}

static void try_param(struct finder *f, const struct names_param *p)
{
	static const char *const tails[] = {
		"> 0",
		"!= 0",
		">= blockDim.x",
		"<= blockDim.x",
		"% blockDim.x == 0",
		"== blockDim.x",
		">= blockDim.x * gridDim.x",
	};

	/* rows of this many elements, one for each block in y */
	if (f->c->pool->launch.max[4] > 1 &&
	    remedy_try(f, base_printf(f->c->arena, "%s >= 0 && %s * gridDim.y <= %d", p->name,
				      p->name, INT32_MAX)))
		return;
	for (size_t i = 0; i < BASE_COUNTOF(tails); i++)
		if (remedy_try(f, base_printf(f->c->arena, "%s %s", p->name, tails[i])))
			return;
}

static void try_two(struct finder *f, const struct names_param *p, const struct names_param *q)
{
	struct base_arena *a = f->c->arena;

	if (remedy_try(f, base_printf(a, "%s >= %s", p->name, q->name)) ||
	    remedy_try(f, base_printf(a, "%s >= %s && %s >= 0", p->name, q->name, q->name)))
		return;
	if (p < q)
		remedy_try(f, base_printf(a, "%s > 0 && %s >= 0 && %s * %s <= 2147483647", p->name,
					  q->name, p->name, q->name));
}

/* What powers.c proves. */
static void add_powers(struct finder *f)
{
	struct race_remedy r = {.assume = powers_find(f->c), .is_all = true};
	struct ev_assume as;

	if (!r.assume || prove_assume_read(&f->c->names, f->c->e, r.assume, &as) ||
	    !is_enough(f, r.assume))
		return;
	r.alarms = (uint32_t)f->pairs.n;
	r.seen = remedy_is_seen(f->c, &as);
	base_vec_push(&f->c->k->remedies, r);
	f->has_all = true;
}

/* Numbers of steps, and powers of two that a loop hides: proven case by case. Other assumptions may
 * be as good. */
static void try_few(struct finder *f)
{
	struct check *c = f->c;
	uint64_t end = f->end;

	for (uint32_t i = 0; i < c->names.nparams && !f->has_all; i++) {
		if (!prove_names_is_scalar(&c->names.param[i]))
			continue;
		const char *text = powers_find_few(c, &c->names.param[i], end);
		if (text && remedy_add(f, text))
			f->has_few = true;
	}
	f->has_all = false;
}

/* Is a copy under way at the thread's end, or while it reads, all that isn't proven? */
static bool has_late_copy(const struct check *c)
{
	bool has = false;

	for (size_t i = 0; i < c->k->problems.n; i++) {
		const struct race_problem *p = &c->k->problems.v[i];
		if (p->kind == RACE_PROBLEM_UNPROVEN && !strstr(p->text, "under way"))
			return false;
		has |= p->kind == RACE_PROBLEM_UNPROVEN;
	}
	return has && !c->k->alarms.n;
}

/* A pipeline of which at least one stage runs has waited for all its copies. */
static void try_stages(struct finder *f)
{
	struct check *c = f->c;

	for (uint32_t i = 0; i < c->names.nparams && !f->has_all; i++) {
		const struct names_param *p = &c->names.param[i];
		const char *text = base_printf(c->arena, "%s > 0", p->name);
		if (prove_names_is_scalar(p) &&
		    kernel_try_with(c->task, text, f->end, false) == KERNEL_PROVEN)
			remedy_add(f, text);
	}
}

/* What follows has so much time, as far as the search has it. */
static void limit(struct finder *f, uint64_t ms)
{
	uint64_t now = prove_now_ms();

	f->deadline = now + ms < f->end ? now + ms : f->end;
	f->c->deadline = f->deadline;
}

static void try_params(struct finder *f)
{
	const struct check *c = f->c;

	for (uint32_t i = 0; i < c->names.nparams && !f->has_all; i++)
		if (prove_names_is_scalar(&c->names.param[i]))
			try_param(f, &c->names.param[i]);
	for (uint32_t i = 0; i < c->names.nparams && !f->has_all; i++)
		for (uint32_t k = 0; k < c->names.nparams && !f->has_all; k++)
			if (i != k && prove_names_is_scalar(&c->names.param[i]) &&
			    prove_names_is_scalar(&c->names.param[k]))
				try_two(f, &c->names.param[i], &c->names.param[k]);
}

/*
 * Hundredths of the kernel's time limit: the search ends so long after the kernel's start, but has
 * at least so long; a part of it has so long, what is asked for beside a remedy that was found has
 * so long.
 */
#define SEARCH_SHARE 24
#define LEAST_SHARE  10
#define PHASE_SHARE  3
#define SMALL_SHARE  6
#define BESIDE_SHARE 6

static uint64_t share_of(const struct check *c, unsigned hundredths)
{
	return (uint64_t)c->o->timeout_ms * hundredths / 100;
}

static void limit_share(struct finder *f, unsigned hundredths)
{
	limit(f, share_of(f->c, hundredths));
}

/* When a search that begins now has to end. */
static uint64_t end_of_search(const struct check *c, uint64_t now, uint64_t end)
{
	uint64_t all = c->task->deadline - c->o->timeout_ms + share_of(c, SEARCH_SHARE);
	uint64_t least = now + share_of(c, LEAST_SHARE);

	all = all > least ? all : least;
	return all < end ? all : end;
}

/* Where the dimensions are given: what rows need, then equations with what the dimensions show;
 * what only bounds of dimensions would be tried for comes last. */
static void find_given(struct finder *f, bool has_pitch)
{
	uint64_t now = prove_now_ms(), end;
	uint32_t tile[3];

	f->try_ms = REMEDY_TRY_MS;
	end = f->last = f->end = end_of_search(f->c, now, f->end);
	limit_share(f, PHASE_SHARE);
	remedy_try_values(f);
	limit_share(f, PHASE_SHARE);
	if (!f->has_all)
		remedy_try_needs(f);
	find_tiles(f, tile);
	limit_share(f, PHASE_SHARE);
	if (!f->has_all && !f->has_few)
		remedy_try_small(f, true);
	if (!f->has_all && !f->has_few)
		try_few(f);
	limit_share(f, PHASE_SHARE);
	if (!f->has_all && !f->has_few && has_pitch)
		remedy_try_shapes(f, tile);
	f->has_shapes = has_pitch;
	limit_share(f, SMALL_SHARE);
	if (!f->has_all && !f->has_few)
		remedy_try_small(f, false);
	now = prove_now_ms();
	/* others have little time where one is known; a part of it is left to what comes last */
	uint64_t most = f->has_few ? share_of(f->c, BESIDE_SHARE) : (end - now) * 9 / 10;
	f->end = now >= end ? end : now + most < end ? now + most : end;
	if (!f->has_all)
		try_exact(f);
	f->end = end;
	if (f->has_few || f->has_all)
		return;
	limit_share(f, PHASE_SHARE);
	try_params(f);
	if (!f->has_all)
		try_tiles(f);
	if (!f->has_all)
		try_dims(f);
}

static void find_open(struct finder *f, bool has_pitch)
{
	remedy_try_values(f);
	if (!f->has_all && has_pitch)
		remedy_try_needs(f);
	if (!f->has_all)
		try_tiles(f);
	if (!f->has_all && !has_pitch)
		remedy_try_needs(f);
	if (!f->has_all)
		try_few(f);
	if (f->has_few) /* others have little time */
		limit(f, 0);
	try_params(f);
	if (!f->has_all)
		try_dims(f);
}

/* What takes some alarms away is promised where the whole kernel, asked again, has fewer: others
 * may come in their place. */
static void ask_again(struct finder *f)
{
	struct race_proof *k = f->c->k;
	size_t kept = 0;

	for (size_t i = 0; i < k->remedies.n; i++) {
		struct race_remedy r = k->remedies.v[i];
		size_t n = r.is_all ? 0 : kernel_count_with(f->c->task, r.assume, f->end);
		if (!r.is_all && n >= k->alarms.n)
			continue;
		r.alarms = r.is_all ? r.alarms : (uint32_t)(k->alarms.n - n);
		k->remedies.v[kept++] = r;
	}
	k->remedies.n = kept;
}

void prove_remedy_find(struct check *c)
{
	struct finder f = {.c = c};
	uint64_t now = prove_now_ms(), end = c->deadline;
	bool is_given = true, has_pitch = false;

	find_pairs(&f);
	f.end = end;
	for (unsigned d = 0; d < 6; d++)
		is_given &= c->pool->launch.dim[d] || c->pool->launch.max[d] == 1;
	limit(&f, now < end ? (end - now) / 3 : 0);
	if (f.pairs.n && !c->is_by_powers)
		add_powers(&f);
	if (has_late_copy(c))
		try_stages(&f);
	for (size_t i = 0; i < f.pairs.n; i++)
		has_pitch |= remedy_pitch_in(&f, f.pairs.v[i].a->off, false, 0) != NULL;
	if (f.pairs.n && f.pairs.n <= 64 && !f.has_all) {
		if (is_given)
			find_given(&f, has_pitch);
		else
			find_open(&f, has_pitch);
	}
	c->deadline = end;
	/* those that take all away make the others needless */
	size_t kept = 0;
	bool has = f.has_all || f.has_few;
	for (size_t i = 0; i < c->k->remedies.n && has; i++)
		if (c->k->remedies.v[i].is_all)
			c->k->remedies.v[kept++] = c->k->remedies.v[i];
	if (has)
		c->k->remedies.n = kept;
	ask_again(&f);
	base_vec_free(&f.pairs);
}
