/*
 * draws.c - numbers that a block draws for its threads: places that several steps give (order.h).
 *
 * A thread draws a number from a counter in shared memory; after a barrier one thread of the block,
 * the leader, adds what the counter holds to one of the grid's and puts what that gave, the base,
 * into a word of shared memory; after another barrier who drew adds the base to it. The sums of any
 * two threads differ, and so do the n numbers from there on where one drew n at once:
 * - Within a round (one iteration of the loop around all of it) nothing but additions writes to the
 *   counter from the first draw to the leader's read: the threads' intervals are side by side, and
 *   end where the leader's number does, or before.
 * - The leader adds once a round, and nothing else writes to the grid's counter: the rounds'
 *   intervals are side by side, too. A thread's numbers lie in its round's.
 * - The base that a thread reads is its own round's: only the leader's store is between.
 * All threads come to the same barriers one after another (phase.c), so that what lies between two
 * steps is seen on the graph. Weak accesses to a word that no barrier orders are a race of their
 * own; up to an execution's first race all is as said here.
 *
 * So do the numbers that the leader reserved for its block, if their count is one value of the
 * block, and what a block's threads draw within one round, though a loop sets the counter again.
 *
 * Misses: bases of several counters (arrays), numbers drawn in loops within the round, a leader
 * other than the first or last thread, draws by more than one instruction.
 * Costs: some walks over the code, and up to four queries for each counter.
 */
#include "prove/order/between.h"

#define MAX_DRAWS 12

enum draw_kind {
	DRAW_ANY,	   /* of any two threads */
	DRAW_OTHER_BLOCKS, /* of threads of different blocks */
	DRAW_ROUND	   /* of threads of one block in the same iteration of `loop` */
};

/* The `count` numbers from `first` on are each thread's own, where `guard` holds. */
struct draw {
	enum draw_kind kind;
	const struct ex *guard, *first, *count;
	const struct ex *leaf; /* of `first`: what an access by such a number has in its place */
	const struct ir_access *counter; /* of the grid; NULL: none */
	uint32_t loop;
};

struct draws {
	struct draw v[MAX_DRAWS];
	uint32_t n;
};

/* A leader's addition, and how what it gave comes to the block. */
struct base {
	const struct ev_assume *add;
	const struct ev_access *set, *get;
	uint32_t loop, set_after; /* the block whose barrier begins the phase of `set` */
};

enum { GROWS = 1, MAY_SHRINK };

struct look {
	struct check *c;
	struct between g;
	uint8_t *growth; /* by ticket: grows() as it was asked, or 0 */
	struct draws *all;
};

/* ---- accesses -------------------------------------------------------------------------------- */

/* Does a block of its own order access a word of shared memory at a known place? */
static bool is_word(const struct check *c, const struct ev_access *a)
{
	return a->is_shared && !a->is_way && a->root.kind == EV_ROOT_OBJECT &&
	       a->off->op == EX_CONST && (a->mem->bytes == 4 || a->mem->bytes == 8) &&
	       order_is_whole(c, a) && !a->mem->is_async && !a->mem->is_range &&
	       !a->mem->is_collective && !a->mem->matrix;
}

static bool is_plain(const struct check *c, const struct ev_access *a)
{
	return is_word(c, a) && a->mem->strength == RACE_WEAK && !a->mem->is_volatile;
}

static bool is_same_word(const struct ev_access *a, const struct ev_access *b)
{
	return prove_ev_same_root(&a->root, &b->root) && a->off == b->off &&
	       a->mem->bytes == b->mem->bytes;
}

/* May an access be to a byte of the word? */
static bool may_touch(const struct ev_access *x, const struct ev_access *word)
{
	uint64_t at = word->off->imm;

	if (prove_ev_alias(&x->root, &word->root) == EV_APART)
		return false;
	if (!prove_ev_same_root(&x->root, &word->root) || x->off->w != word->off->w ||
	    x->mem->is_async || x->mem->is_range || x->mem->is_collective || x->mem->matrix ||
	    x->is_late || x->off->hi > UINT64_MAX - 16)
		return true;
	return x->off->lo < at + word->mem->bytes && at < x->off->hi + x->mem->bytes;
}

/* Does it surely add no negative number? */
static bool grows(const struct look *k, const struct ev_assume *t)
{
	struct order_question q = {.guard = t->guard, .block = t->block};
	uint8_t *known = &k->growth[t - k->c->e->tickets.v];

	if (t->step->hi <= prove_ex_mask(t->step->w) >> 1)
		return true;
	if (t->step->op == EX_CONST)
		return false;
	q.denied[0] =
		prove_ex_not(k->c->pool, prove_ex_bin(k->c->pool, EX_SLT, t->step,
						      prove_ex_const(k->c->pool, t->step->w, 0)));
	if (!*known)
		*known = order_is_never(k->c, &q) ? GROWS : MAY_SHRINK;
	return *known == GROWS;
}

/* Is it an addition to the word, of no negative number? */
static bool is_addition(const struct look *k, const struct ev_access *x,
			const struct ev_access *word)
{
	const struct ev_assume *t = order_ticket_of(k->c, x->mem);

	return t && t->mem->rmw == IR_RMW_ADD && !t->mem->is_async && !t->mem->is_bulk &&
	       is_same_word(x, word) && t->step && t->step->w == 8u * word->mem->bytes &&
	       grows(k, t);
}

static bool has_mbarrier_there(const struct check *c, const struct ev_access *word)
{
	for (size_t i = 0; i < c->e->mbars.n; i++)
		if (prove_ev_alias(&c->e->mbars.v[i].root, &word->root) != EV_APART)
			return true;
	return false;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The counters of a loop and those around it are the same. */
static struct phase_case one_turn(struct check *c, uint32_t loop)
{
	uint8_t *counters = base_zalloc(c->arena, c->e->ir->nloops + 1);

	for (uint32_t l = loop; l != IR_NONE; l = c->e->ir->loops[l].parent)
		counters[l] = SMT_SAME;
	return (struct phase_case){.counters = counters};
}

/* The last thread of a block. */
static const struct ex *last_thread(struct check *c)
{
	struct ex_pool *p = c->pool;
	const struct ex *all = prove_ex_const(p, 1, 1);

	for (unsigned d = 0; d < 3; d++) {
		const struct ex *n = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		const struct ex *last = prove_ex_bin(p, EX_SUB, n, prove_ex_const(p, 32, 1));
		const struct ex *at = prove_ex_spec(p, (enum prove_ex_spec)(EX_TID_X + d));
		all = prove_ex_and(p, all, prove_ex_bin(p, EX_EQ, at, last));
	}
	return all;
}

/*
 * Whenever a thread comes to `at`, does the block's first or last one come to `by`, in the same
 * iteration of the loop that `by` is in?
 */
static bool is_surely_done(struct check *c, const struct ev_access *by, const struct ev_access *at)
{
	struct phase_case way = one_turn(c, c->e->ir->blocks.v[by->block].loop);
	struct order_question q = {.guard = at->guard, .block = at->block, .way = &way};

	q.denied[1] = by->guard;
	q.is_first = true;
	if (order_is_never(c, &q))
		return true;
	q.is_first = false;
	q.other = last_thread(c);
	q.other_block = c->e->ir->rpo[0];
	return order_is_never(c, &q);
}

/* Is it one thread of a block that does it, in each iteration? */
static bool is_by_one(struct check *c, const struct ev_access *a)
{
	struct phase_case way = one_turn(c, c->e->ir->blocks.v[a->block].loop);
	struct order_question q = {.guard = a->guard, .block = a->block, .are_two = true};

	q.other = a->guard;
	q.other_block = a->block;
	q.way = &way;
	return order_is_never(c, &q);
}

/* ---- the base -------------------------------------------------------------------------------- */

/* Is what `get` reads what `set` put in the same iteration? */
static bool is_handed_on(const struct look *k, struct base *b)
{
	struct check *c = k->c;
	bool *between = between_none(c);

	if (!between_find_start(&k->g, b->set->block, &b->set_after) ||
	    has_mbarrier_there(c, b->set) || between_round(c, b->get->block) != b->loop ||
	    (b->set_after != IR_NONE &&
	     !prove_ir_dominates(c->e->ir, b->set_after, b->get->block)) ||
	    between_is_one_phase(&k->g, b->set->block, b->get->block))
		return false;
	between_mark_after(c, b->set_after, b->set_after, IR_NONE, between);
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x == b->set || !(x->mem->kind & RACE_OP_WRITE) || !may_touch(x, b->set))
			continue;
		if (between_is_one_phase(&k->g, x->block, b->set->block) ||
		    between_is_one_phase(&k->g, x->block, b->get->block))
			return false;
		bool *behind = between_none(c);
		between_mark(c, x->block, false, b->set_after, IR_NONE, behind);
		if (between[x->block] && behind[b->get->block])
			return false;
	}
	return true;
}

/* ---- draws on top of a base ------------------------------------------------------------------ */

static bool is_small(const struct ex *v)
{
	return v && v->op == EX_CONST && v->imm <= UINT16_MAX;
}

/* Is the word surely set to a small number before the draws of a round, or of all rounds? */
static bool is_set_up(const struct look *k, const struct ev_access *x, const struct ev_access *draw)
{
	struct check *c = k->c;
	uint32_t loop = c->e->ir->blocks.v[x->block].loop;
	bool *later = between_none(c), *back = between_none(c);

	if (!is_plain(c, x) || x->mem->kind != RACE_OP_WRITE || !is_same_word(x, draw) ||
	    !is_small(x->value) ||
	    (loop != IR_NONE && !prove_ir_in_loop(&c->e->ir->loops[loop], draw->block)))
		return false;
	between_mark_after(c, x->block, IR_NONE, between_header(c, loop), later);
	between_mark_after(c, draw->block, IR_NONE, between_header(c, loop), back);
	return later[draw->block] && !back[x->block] && is_surely_done(c, x, draw);
}

/*
 * Does nothing but additions write to the counter between a round's draws and the leader's read?
 * What it begins with is small: where it is the word of the base, too, it is set in each round.
 */
static bool only_grows(const struct look *k, const struct base *base, const struct ev_access *draw,
		       const struct ev_access *total, uint32_t total_after)
{
	struct check *c = k->c;
	bool *between = between_none(c), is_set = false;
	bool is_base = base->loop != IR_NONE && may_touch(base->set, draw);

	if (has_mbarrier_there(c, draw))
		return false;
	for (uint32_t i = 0; i < k->g.n; i++)
		if (k->g.in[i][draw->block])
			for (uint32_t b = 0; b < c->e->ir->blocks.n; b++)
				if (k->g.in[i][b])
					between_mark(c, b, false, total_after, IR_NONE, between);
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (!(x->mem->kind & RACE_OP_WRITE) || !may_touch(x, draw) ||
		    is_addition(k, x, draw))
			continue;
		if (x->mem->kind != RACE_OP_WRITE || x->mem->strength != RACE_WEAK ||
		    x->mem->is_volatile || x->mem->is_async || x->is_late || between[x->block] ||
		    (between_is_one_phase(&k->g, x->block, total->block) &&
		     !between_is_before(c, total, x)) ||
		    !is_same_word(x, draw) || (x != base->set && !is_small(x->value)))
			return false;
		is_set = is_set || ((!is_base || c->e->ir->blocks.v[x->block].loop == base->loop) &&
				    is_set_up(k, x, draw));
	}
	return is_set;
}

/* Does the leader's read come after the draws of its round? */
static bool is_after_draws(const struct look *k, const struct ev_access *draw,
			   const struct ev_access *total, uint32_t total_after)
{
	struct check *c = k->c;
	bool *later = between_none(c);

	between_mark_after(c, total_after, IR_NONE,
			   between_header(c, c->e->ir->blocks.v[total->block].loop), later);
	return !later[draw->block] && !between_is_one_phase(&k->g, draw->block, total->block);
}

/* The sum of base and number, where the leader added `total` as it was or made wider. */
static const struct ex *sum_of(struct check *c, const struct base *b, const struct ex *got,
			       const struct ex *total, const struct ex *v)
{
	struct ex_pool *p = c->pool;

	if (b->add->step != total) {
		enum ex_op op = b->add->step == prove_ex_un(p, EX_ZEXT, got->w, total)	 ? EX_ZEXT
				: b->add->step == prove_ex_un(p, EX_SEXT, got->w, total) ? EX_SEXT
											 : EX_CONST;
		if (op == EX_CONST)
			return NULL;
		v = prove_ex_un(p, op, got->w, v);
	}
	return v->w == got->w ? prove_ex_bin(p, EX_ADD, got, v) : NULL;
}

static void add(struct look *k, const struct draw *d)
{
	if (k->all->n < MAX_DRAWS && d->first && d->count && d->count->w == d->first->w)
		k->all->v[k->all->n++] = *d;
}

/* Draws from a word that the leader of the base reads. */
static void look_at_draw(struct look *k, const struct base *b, const struct ev_access *total,
			 const struct ev_assume *t)
{
	struct check *c = k->c;
	const struct ev_access *draw = order_access_of(c, t->mem);
	const struct ex *got = order_loaded(c, b->get), *read = order_loaded(c, total);
	uint32_t total_after;

	if (!draw || !t->value || !is_word(c, draw) || !is_same_word(draw, total) ||
	    !is_addition(k, draw, draw) || draw->mem->scope < RACE_SCOPE_CTA ||
	    c->e->ir->blocks.v[draw->block].loop != b->loop ||
	    !between_find_start(&k->g, total->block, &total_after) || total_after == IR_NONE ||
	    !is_after_draws(k, draw, total, total_after) ||
	    !only_grows(k, b, draw, total, total_after))
		return;
	const struct ex *first = sum_of(c, b, got, read, t->value);
	if (!first)
		return;
	struct draw d = {.kind = DRAW_ANY, .first = first, .leaf = t->value};
	d.counter = b->add->mem;
	d.guard = prove_ex_and(c->pool, draw->guard, b->get->guard);
	d.count =
		t->step->w < first->w ? prove_ex_un(c->pool, EX_ZEXT, first->w, t->step) : t->step;
	add(k, &d);
}

/* What the leader added is `total`, read in the same iteration before. */
static bool is_total(const struct look *k, const struct base *b, const struct ev_access *total)
{
	struct check *c = k->c;
	const struct ev_access *at = order_access_of(c, b->add->mem);

	return total->mem->kind == RACE_OP_READ && is_plain(c, total) && at &&
	       c->e->ir->blocks.v[total->block].loop == b->loop &&
	       between_is_before(c, total, at) &&
	       prove_ex_contains(b->add->step, order_loaded(c, total));
}

/* Is what the leader added a word's content that is never negative: small numbers and additions? */
static bool is_total_of_count(const struct look *k, const struct base *b)
{
	struct check *c = k->c;
	const struct ev_access *total = NULL;
	bool is_set = false;

	for (size_t i = 0; i < c->e->accesses.n && !total; i++)
		if (is_total(k, b, &c->e->accesses.v[i]) &&
		    order_loaded(c, &c->e->accesses.v[i]) == b->add->step)
			total = &c->e->accesses.v[i];
	for (size_t i = 0; total && i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (!(x->mem->kind & RACE_OP_WRITE) || !may_touch(x, total) ||
		    is_addition(k, x, total))
			continue;
		if (x->mem->kind != RACE_OP_WRITE || !is_same_word(x, total) || !is_small(x->value))
			return false;
		is_set = is_set || is_set_up(k, x, total);
	}
	return is_set && !has_mbarrier_there(c, total);
}

static void look_at_base(struct look *k, struct base *b)
{
	struct check *c = k->c;
	const struct ev_access *at = order_access_of(c, b->add->mem);

	b->loop = c->e->ir->blocks.v[b->set->block].loop;
	if (!at || !order_is_whole(c, at) || !between_find(&k->g, k->c) ||
	    (b->loop != IR_NONE && k->c->phases[IR_RANK_CTA].has_leavers) ||
	    !between_is_before(c, at, b->set) || !is_handed_on(k, b) || !is_by_one(c, at) ||
	    !is_surely_done(c, b->set, b->get))
		return;
	const struct ex *n = b->add->step;
	if (n->level >= EX_CTA && (grows(k, b->add) || is_total_of_count(k, b))) {
		struct draw d = {.kind = DRAW_OTHER_BLOCKS, .guard = b->get->guard, .count = n};
		d.first = d.leaf = order_loaded(c, b->get);
		d.counter = b->add->mem;
		add(k, &d);
	}
	for (size_t i = 0; i < c->e->accesses.n; i++)
		for (size_t j = 0; is_total(k, b, &c->e->accesses.v[i]) && j < c->e->tickets.n; j++)
			look_at_draw(k, b, &c->e->accesses.v[i], &c->e->tickets.v[j]);
}

/* What an addition gave is put into a word of shared memory, and read from there. */
static void look_at_addition(struct look *k, const struct ev_assume *t)
{
	const struct ev *e = k->c->e;

	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *set = &e->accesses.v[i];
		if (set->mem->kind != RACE_OP_WRITE || set->value != t->value ||
		    !is_plain(k->c, set) || set->value->w != 8u * set->mem->bytes)
			continue;
		for (size_t j = 0; j < e->accesses.n; j++) {
			const struct ev_access *get = &e->accesses.v[j];
			struct base b = {.add = t, .set = set, .get = get};
			if (get->mem->kind == RACE_OP_READ && is_plain(k->c, get) &&
			    is_same_word(set, get))
				look_at_base(k, &b);
		}
	}
}

/* Is the counter only added to while threads draw from it, in one iteration of the loop? */
static bool is_left_alone(const struct look *k, const struct ev_access *draw, uint32_t loop)
{
	struct check *c = k->c;
	bool *later = between_none(c);

	if (has_mbarrier_there(c, draw))
		return false;
	between_mark(c, draw->block, false, IR_NONE, between_header(c, loop), later);
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (!(x->mem->kind & RACE_OP_WRITE) || !may_touch(x, draw) ||
		    is_addition(k, x, draw))
			continue;
		bool *back = between_none(c);
		between_mark(c, x->block, false, IR_NONE, between_header(c, loop), back);
		if (x->mem->kind != RACE_OP_WRITE || x->mem->strength != RACE_WEAK ||
		    x->mem->is_volatile || x->mem->is_async || x->is_late ||
		    between_is_one_phase(&k->g, x->block, draw->block) ||
		    (later[x->block] && back[draw->block]))
			return false;
	}
	return true;
}

static void look_at_round(struct look *k, const struct ev_assume *t)
{
	struct check *c = k->c;
	const struct ev_access *draw = order_access_of(c, t->mem);
	uint32_t loop = between_round(c, t->block);

	if (!draw || !t->value || !is_word(c, draw) || !is_addition(k, draw, draw) ||
	    draw->mem->scope < RACE_SCOPE_CTA ||
	    (loop != IR_NONE && c->phases[IR_RANK_CTA].has_leavers) || !between_find(&k->g, k->c) ||
	    !is_left_alone(k, draw, loop))
		return;
	struct draw d = {.kind = DRAW_ROUND, .guard = t->guard, .count = t->step, .loop = loop};
	d.first = d.leaf = t->value;
	if (!meet_overflows(c, draw, t))
		add(k, &d);
}

/* Where more than 1 is added at once: so many numbers from the answer on are the thread's own. */
static void look_at_several(struct look *k, const struct ev_assume *t)
{
	const struct ex *n = t->step;
	struct draw d = {.kind = DRAW_ANY, .guard = t->guard, .count = n, .counter = t->mem};

	d.first = d.leaf = t->value;
	if ((n->op != EX_CONST || n->imm > 1) && n->w == t->value->w && grows(k, t))
		add(k, &d);
}

struct draws *draws_look(struct check *c)
{
	struct look k = {.c = c};

	if (c->e->may_wrap || !c->e->tickets.n)
		return NULL;
	k.all = BASE_NEW(c->arena, struct draws);
	k.growth = base_zalloc(c->arena, c->e->tickets.n);
	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		if (t->mem->rmw != IR_RMW_ADD || !t->value || !t->step)
			continue;
		look_at_several(&k, t);
		look_at_addition(&k, t);
		look_at_round(&k, t);
	}
	return k.all->n ? k.all : NULL;
}

/* Are the two threads of the question in the same iteration of a loop? */
static bool is_one_round(const struct check *c, uint32_t loop)
{
	for (uint32_t l = loop; l != IR_NONE; l = c->e->ir->loops[l].parent)
		if (!c->way.phase || c->way.phase->counters[l] != SMT_SAME)
			return false;
	return true;
}

static bool has_number(const struct check *c, const struct ex *leaf)
{
	return prove_ex_contains(c->pair.a->off, leaf) || prove_ex_contains(c->pair.b->off, leaf);
}

/* Does a counter that wraps give a number again that it gave before? By steps of a power of two. */
static bool comes_around(const struct ex *count)
{
	return count->op == EX_CONST && !(count->imm & (count->imm - 1));
}

void draws_hold(struct check *c, const struct draws *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct draw *d = &all->v[i];
		bool is_within = c->level.apart <= RACE_LEVEL_BLOCK;
		if (!has_number(c, d->leaf) ||
		    (d->kind == DRAW_ROUND && (!is_within || !is_one_round(c, d->loop))) ||
		    (d->kind == DRAW_OTHER_BLOCKS && is_within) ||
		    (d->counter && !meet_has_own_counter(c, d->counter)))
			continue;
		c->assumed.has_counts = true;
		meet_hold_modest(c, d->guard, d->first, d->count);
		c->assumed.has_sums |= !comes_around(d->count);
		if (d->count->op == EX_CONST && d->count->imm == 1)
			prove_smt_across(c->smt, d->guard, d->first, false);
		else
			prove_smt_intervals(c->smt, d->guard, d->first, d->count);
	}
}
