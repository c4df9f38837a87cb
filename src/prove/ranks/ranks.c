/*
 * ranks.c - places that the threads of a block work out together are apart (check.h).
 *
 * Compaction, sorting by bits and queues store at a base and a rank: the number of threads, or of
 * bits, before the own one, which a scan in shared memory, shuffles or votes give. How that is done
 * has many forms; so a block is run once with letters (run.c), and each place is a sum of letters.
 * Of a pair, the places of all threads in one phase are put in an order, and each must surely begin
 * where the one before it has ended: x + t, where that one took t places, t being a condition of 0
 * or 1. Which order holds is tried for some values between 0 and 1.
 *
 * Of two blocks the places are apart where all of a block's lie within what its one addition to a
 * counter took, from the counter's old value on (a ticket); or in rows of a size that the block's
 * number is multiplied by. So are those of warps of one block that have a ticket each.
 *
 * The block is run as if no thread raced. So what is proven here holds if every other pair is
 * proven, too: the first race of an execution would come after steps that are as they were run.
 * list_sites (kernel.c) heeds that.
 *
 * Misses: what run.c does; ranks that aren't sums of conditions; several elements of a thread where
 * their number isn't known.
 */
#include "prove/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SUMS   (8u << 20)
#define SUM_STEPS  3 /* what one takes, in instructions of a replay */
#define MAX_PIECES 8
#define MAX_ITEMS  8192
#define MAX_MS	   2000 /* of a kernel, in all */

/* A place: some units from `start` on, where the facts hold. */
struct item {
	uint32_t thread;
	struct sum start;
	struct sum_facts facts;
	const struct ranks_ticket *ticket; /* whose answer is in it, once; or NULL */
	double order;
};

/* Places are scale * x + constant, where x is widened from `width` bits or wraps at them. */
struct form {
	bool is_known, is_wide, is_signed;
	uint8_t width;
	int64_t scale;
};

struct question {
	struct ranks *r;
	const struct ev_access *a, *b;
	struct form form;
	struct ev_root root;
	int64_t constant;     /* of the form */
	int64_t first, last;  /* the least constant, and the end of the bytes from the largest on */
	int64_t bytes, units; /* that an access has; a place */
	BASE_VEC(const struct ranks_touch *) touches;
	BASE_VEC(struct item) items;
	bool is_lost;
	bool is_split; /* choices are two places, though their sum is known */
};

/* ---- places -------------------------------------------------------------------------------- */

/* offset = scale * x + constant */
static const struct ex *peel(const struct ex *v, struct form *f, int64_t *constant)
{
	*f = (struct form){.is_known = true, .width = v->w, .scale = 1};
	*constant = 0;
	for (; v->op == EX_ADD || v->op == EX_MUL; v = v->a[0]) {
		if (v->a[1]->op != EX_CONST)
			break;
		int64_t k = prove_ex_signed(v->a[1]->imm, v->w);
		if (v->op == EX_ADD)
			*constant += k * f->scale;
		else if (k <= 0 || k > UINT16_MAX || f->scale > UINT16_MAX)
			break;
		else
			f->scale *= k;
	}
	if (v->op != EX_ZEXT && v->op != EX_SEXT)
		return v;
	f->is_wide = true;
	f->is_signed = v->op == EX_SEXT;
	f->width = v->a[0]->w;
	return v->a[0];
}

/* Which answer of a counter is in a sum, once, and no other is. */
static const struct ranks_ticket *ticket_in(const struct ranks *r, const struct sum *s)
{
	const struct ranks_ticket *found = NULL;

	for (size_t i = 0; i < r->tickets.n; i++) {
		const struct ranks_ticket *t = &r->tickets.v[i];
		int64_t n = sum_times(s, t->answer);
		if (n && (n != 1 || found))
			return NULL;
		found = n ? t : found;
	}
	return found;
}

static void add_piece(struct question *q, const struct ranks_touch *t, struct sum_facts facts,
		      const struct ex *x, unsigned depth);

/* Where the choice's condition holds, and where it doesn't. */
static void add_both(struct question *q, const struct ranks_touch *t, const struct sum_facts *f,
		     const struct ex *x, const struct ex *choice, unsigned depth)
{
	for (unsigned is = 0; is < 2; is++) {
		struct sum_facts one = *f;
		if (sum_add_fact(&one, choice, is))
			add_piece(q, t, one, x, depth + 1);
	}
}

static void add_piece(struct question *q, const struct ranks_touch *t, struct sum_facts facts,
		      const struct ex *x, unsigned depth)
{
	const struct ex *choice;
	struct item i = {.thread = t->thread};

	if (q->is_lost || q->items.n == MAX_ITEMS) {
		q->is_lost = true;
		return;
	}
	i.start = sum_of(q->r, &facts, x, &choice);
	/* one place or another, by a number that isn't a rank's */
	if (!choice && q->is_split && x->op == EX_ITE && sum_decide(q->r, &facts, x->a[0], 0) < 0)
		choice = x->a[0];
	if (choice && depth < MAX_PIECES) {
		add_both(q, t, &facts, x, choice, depth);
		return;
	}
	i.facts = facts;
	i.ticket = ticket_in(q->r, &i.start);
	base_vec_push(&q->items, i);
}

/* A place whose index was a number, or a choice of some, has lost its form: in bytes it is as far
 * from the first place of the others as a number of theirs is. */
static bool refit(const struct question *q, struct sum *s, const struct form *f, int64_t constant)
{
	struct sum_range at;
	int64_t to = q->form.scale;

	if (f->is_wide || f->width != 64 || !q->form.is_wide)
		return false;
	s->constant = s->constant * f->scale + constant - q->constant;
	for (uint32_t i = 0; i < s->n; i++) {
		s->term[i].times *= f->scale;
		if (s->term[i].times % to)
			return false;
		s->term[i].times /= to;
	}
	if (s->constant % to)
		return false;
	s->constant /= to;
	return sum_range(s, &at) && at.lo >= 0 && at.hi <= INT32_MAX;
}

static bool is_same_form(const struct form *f, const struct form *h)
{
	return f->is_wide == h->is_wide && f->is_signed == h->is_signed && f->width == h->width &&
	       f->scale == h->scale;
}

/* What a touch's place is made of; the first one, or the first one that is widened, says how the
 * pair's places are compared. */
static const struct ex *look_at(struct question *q, const struct ranks_touch *t, struct form *f,
				int64_t *constant)
{
	struct ev_root root = ranks_root(
		q->r, t->addr, (enum ir_space)q->r->c->e->ir->steps.v[t->step].mem->space);
	const struct ex *x = peel(ranks_offset(q->r, t->addr, &root), f, constant);

	if (!q->form.is_known || (f->is_wide && !q->form.is_wide)) {
		if (!q->form.is_known)
			q->root = root;
		q->form = *f;
		q->constant = *constant;
	}
	q->is_lost |= !prove_ev_same_root(&q->root, &root) || root.kind == EV_ROOT_UNKNOWN ||
		      (root.kind == EV_ROOT_LOADED && !root.slot);
	return x;
}

static void add_touch(struct question *q, const struct ranks_touch *t, unsigned bytes)
{
	struct sum_facts facts = {.n = 0};
	struct form f;
	int64_t constant;
	const struct ex *x = look_at(q, t, &f, &constant);
	bool is_fit = is_same_form(&f, &q->form);
	size_t n = q->items.n;

	if (!sum_add_fact(&facts, t->guard, true))
		return;
	add_piece(q, t, facts, x, 0);
	for (; n < q->items.n && !q->is_lost; n++) {
		struct sum *s = &q->items.v[n].start;
		if (!is_fit)
			q->is_lost = !refit(q, s, &f, constant);
		else if (f.scale == 1) /* bytes: the constant is a part of the place */
			s->constant += constant - q->constant;
	}
	constant = is_fit ? constant : q->constant;
	if (q->last == INT64_MIN || constant < q->first)
		q->first = constant;
	if (constant + bytes > q->last)
		q->last = constant + bytes;
}

/* Does the touch happen in this phase, or later, by a thread that has ended or may have? */
static bool is_in(const struct ranks *r, const struct ranks_touch *t, uint32_t phase)
{
	const struct ranks_thread *x = &r->thread[t->thread];

	return t->phase == phase ||
	       (t->phase < phase &&
		(t->phase == x->end || (t->phase < 64 && x->may_end >> t->phase & 1)));
}

/* The places of both accesses. phase: UINT32_MAX: in all. */
static void collect(struct question *q, uint32_t phase)
{
	const struct ranks *r = q->r;

	q->form.is_known = q->is_lost = false;
	q->items.n = 0;
	q->last = INT64_MIN;
	for (unsigned turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < q->touches.n && !q->is_lost; i++) {
			const struct ranks_touch *t = q->touches.v[i];
			struct form f;
			int64_t constant;
			if (phase != UINT32_MAX && !is_in(r, t, phase))
				continue;
			if (turn)
				add_touch(q, t,
					  t->step == q->a->index ? q->a->mem->bytes
								 : q->b->mem->bytes);
			else
				look_at(q, t, &f, &constant);
		}
	}
	work_add(WORK_STEP, q->touches.n);
}

/* The touches of the two accesses. */
static void find_touches(struct question *q)
{
	const struct ranks *r = q->r;

	for (size_t i = 0; i < r->touches.n; i++) {
		const struct ranks_touch *t = &r->touches.v[i];
		if (t->step == q->a->index || t->step == q->b->index)
			base_vec_push(&q->touches, t);
	}
	work_add(WORK_STEP, r->touches.n);
}

/* ---- in an order --------------------------------------------------------------------------- */

/* For some values between their bounds; a letter of which little is known is 0. */
static double try_order(const struct sum *s)
{
	double v = (double)s->constant;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct ex *x = s->term[i].v;
		uint64_t h = x->id * 0x9e3779b97f4a7c15u >> 40;
		double at = 0.3 + 0.4 * (double)(h & 0xffff) / 65536;
		if (x->hi <= UINT16_MAX)
			v += (double)s->term[i].times *
			     ((double)x->lo + at * (double)(x->hi - x->lo));
	}
	return v;
}

static int by_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const void *t = x->ticket, *u = y->ticket;

	if (t != u)
		return t < u ? -1 : 1;
	if (x->order < y->order || x->order > y->order)
		return x->order < y->order ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* x modulo 2^width, as the least number that it can't be below 0 as. */
static bool settle(const struct question *q, struct sum *x, struct sum_range *at)
{
	int64_t all = q->form.width < 62 ? (int64_t)1 << q->form.width : 0, turns = 0;

	if (!sum_range(x, at))
		return false;
	if (all)
		turns = at->lo >= 0 ? at->lo / all : -((-at->lo + all - 1) / all);
	x->constant -= turns * all;
	at->lo -= turns * all;
	at->hi -= turns * all;
	return true;
}

/* x less the units of a place: of those that it surely has, or by one of its facts. False: what is
 * left may be below 0. */
static bool take_units(const struct question *q, struct sum *x, const struct item *i)
{
	struct sum_range at;
	struct sum less = *x;

	less.constant -= q->units;
	if (sum_range(&less, &at) && at.lo >= 0) {
		*x = less;
		return true;
	}
	for (uint32_t k = 0; k < i->facts.n; k++) {
		struct sum t = sum_of_letter(q->r, i->facts.fact[k].v);
		bool is_true = i->facts.fact[k].is_true;
		less = sum_add(q->r, x, &t, is_true ? -q->units : q->units);
		less.constant -= is_true ? 0 : q->units;
		if (sum_range(&less, &at) && at.lo >= 0) {
			*x = less;
			return true;
		}
	}
	return false;
}

/* So many units are all that there are, before places come around. */
static int64_t limit_of(const struct question *q)
{
	int64_t all = q->form.width < 62 ? (int64_t)1 << q->form.width : (int64_t)1 << 62;

	return q->form.is_wide ? all : all / q->form.scale;
}

/*
 * Where a place's fact doesn't hold it is empty, and begins where it suits the order: at its start,
 * or, form k, where it would end without its fact k - 1.
 */
#define FORMS 5

static struct sum start_of(const struct question *q, const struct item *i, unsigned form)
{
	if (!form)
		return i->start;
	struct sum t = sum_of_letter(q->r, i->facts.fact[form - 1].v);
	bool is_true = i->facts.fact[form - 1].is_true;
	struct sum s = sum_add(q->r, &i->start, &t, is_true ? -q->units : q->units);

	s.constant += is_true ? q->units : 0;
	return s;
}

static unsigned forms_of(const struct item *i)
{
	return i->facts.n < FORMS ? i->facts.n + 1 : FORMS;
}

static bool is_same_when(const struct sum_facts *x, const struct sum_facts *y)
{
	for (uint32_t i = 0; i < x->n && x->n == y->n; i++)
		if (x->fact[i].v != y->fact[i].v || x->fact[i].is_true != y->fact[i].is_true)
			return false;
	return x->n == y->n;
}

/* From form k of a place to the start of the next one: how often it comes around on the way, in
 * *turns. False: the next may begin before the place has ended. */
static bool is_step(const struct question *q, const struct item *v, unsigned k,
		    const struct sum *to, int64_t *turns)
{
	struct sum from = start_of(q, v, k), d = sum_add(q->r, to, &from, -1);
	struct sum_range at;
	int64_t was = d.constant;

	*turns = 0;
	if (v[0].thread == v[1].thread && !d.n && !d.constant &&
	    is_same_when(&v[0].facts, &v[1].facts))
		return true; /* one place, which the thread accesses again */
	if (!settle(q, &d, &at) || at.hi >= limit_of(q))
		return false;
	*turns = d.constant - was;
	return take_units(q, &d, v);
}

/* Does each place begin where the one before it has ended, in one of their forms? */
static bool are_in_order(const struct question *q, const struct item *v, size_t n)
{
	/* of the latest place, by form: can it have that, from which first one, how often around */
	struct way {
		bool can;
		unsigned first;
		int64_t around;
	} way[FORMS], next[FORMS];
	struct sum_range at;

	for (unsigned k = 0; k < FORMS; k++)
		way[k] = (struct way){k < forms_of(&v[0]), k, 0};
	for (size_t i = 0; i + 1 < n; i++) {
		memset(next, 0, sizeof(next));
		for (unsigned to = 0; to < forms_of(&v[i + 1]); to++) {
			struct sum start = start_of(q, &v[i + 1], to);
			int64_t turns;
			for (unsigned k = 0; k < FORMS && !next[to].can; k++)
				if (way[k].can && is_step(q, &v[i], k, &start, &turns))
					next[to] = (struct way){true, way[k].first,
								way[k].around + turns};
		}
		memcpy(way, next, sizeof(way));
	}
	for (unsigned k = 0; k < forms_of(&v[n - 1]); k++) {
		if (!way[k].can)
			continue;
		struct sum from = start_of(q, &v[0], way[k].first), to = start_of(q, &v[n - 1], k);
		struct sum all = sum_add(q->r, &to, &from, -1);
		all.constant += way[k].around;
		if (sum_range(&all, &at) && at.hi <= limit_of(q) - q->units)
			return true;
	}
	return false;
}

/* Is the place within what its ticket took? */
static bool is_in_ticket(const struct question *q, const struct item *i)
{
	const struct ranks_ticket *t = i->ticket;
	struct sum count, answer = sum_of_letter(q->r, t->answer), before;
	struct sum_range at;

	if (t->answer->w != t->count->w || t->answer->w != q->form.width ||
	    !ranks_find_count(q->r, t, &count))
		return false;
	/* before + units + after is the count itself, and not so and a turn more */
	before = sum_add(q->r, &i->start, &answer, -1);
	struct sum after = sum_add(q->r, &count, &before, -1);
	if (!settle(q, &before, &at) || !settle(q, &after, &at))
		return false;
	struct sum all = sum_add(q->r, &before, &after, 1);
	all = sum_add(q->r, &all, &count, -1);
	return !all.n && !all.constant && take_units(q, &after, i);
}

static bool are_in_tickets(const struct question *q)
{
	struct check *c = q->r->c;

	for (size_t i = 0; i < q->items.n; i++) {
		const struct item *x = &q->items.v[i];
		if (!x->ticket || x->ticket->mem != q->items.v[0].ticket->mem ||
		    !is_in_ticket(q, x))
			return false;
	}
	return ranks_counts_up(q->r, q->items.v[0].ticket->mem) &&
	       meet_has_own_counter(c, q->items.v[0].ticket->mem);
}

/* tie: what is added where the last fact is true, false. Of places in two rows, of those for which
 * a bit is set and the others, one row's end is the other's start. */
static bool are_apart_by(struct question *q, const double *tie)
{
	size_t from = 0;

	for (size_t i = 0; i < q->items.n; i++) {
		struct item *x = &q->items.v[i];
		x->order = try_order(&x->start);
		if (x->facts.n)
			x->order += tie[!x->facts.fact[x->facts.n - 1].is_true];
	}
	if (q->items.n)
		qsort(q->items.v, q->items.n, sizeof(*q->items.v), by_order);
	for (size_t i = 0; i < q->items.n; i++) {
		if (i + 1 < q->items.n && q->items.v[i + 1].ticket == q->items.v[from].ticket)
			continue;
		if (!are_in_order(q, q->items.v + from, i + 1 - from))
			return false;
		if ((from || i + 1 < q->items.n) && !are_in_tickets(q))
			return false;
		from = i + 1;
	}
	return true;
}

static bool are_apart_in_block(struct question *q)
{
	static const double ties[][2] = {{0, 0}, {0, 0.5}, {0.5, 0}};

	for (size_t i = 0; i < BASE_COUNTOF(ties); i++)
		if (are_apart_by(q, ties[i]))
			return true;
	return false;
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* Each block's places lie in a row of its own. */
static bool are_in_rows(const struct question *q)
{
	const struct ex_pool *p = q->r->c->pool;
	int64_t times[3] = {0, 0, 0}, lo = 0, hi = 0;
	struct sum_range at;

	for (size_t i = 0; i < q->items.n; i++) {
		struct sum rest = q->items.v[i].start;
		for (unsigned d = 0; d < 3; d++) {
			const struct ex *id = prove_ex_spec(q->r->c->pool, EX_CTAID_X + d);
			int64_t n = sum_times(&rest, id);
			struct sum t = sum_of_letter(q->r, id);
			if (i && n != times[d])
				return false;
			times[d] = n;
			rest = sum_add(q->r, &rest, &t, -n);
		}
		if (!sum_range(&rest, &at))
			return false;
		lo = !i || at.lo < lo ? at.lo : lo;
		hi = !i || at.hi > hi ? at.hi : hi;
	}
	if (hi - lo > limit_of(q) - q->units)
		return false;
	/* the smallest step first: it is over all that is below it */
	int64_t span = hi - lo + q->units;
	for (unsigned turn = 0; turn < 3; turn++) {
		unsigned d = 3;
		for (unsigned k = 0; k < 3; k++)
			if (p->launch.max[3 + k] > 1 && times[k] > 0 &&
			    (d == 3 || times[k] < times[d]))
				d = k;
		if (d == 3)
			break;
		int64_t n = (int64_t)p->launch.max[3 + d];
		if (!q->r->c->o->all_launches && n > INT32_MAX / (int64_t)p->launch.max[d])
			n = INT32_MAX / (int64_t)p->launch.max[d];
		if (times[d] < span || times[d] > limit_of(q) / n)
			return false;
		span = times[d] * n;
		times[d] = -1; /* done */
	}
	for (unsigned d = 0; d < 3; d++)
		if (p->launch.max[3 + d] > 1 && times[d] != -1)
			return false;
	return span <= limit_of(q);
}

static bool are_apart_in_grid(struct question *q)
{
	if (!q->items.n)
		return true;
	return q->items.v[0].ticket ? are_in_tickets(q) : are_in_rows(q);
}

/* ---- the question -------------------------------------------------------------------------- */

static bool open_question(struct question *q, uint32_t phase)
{
	collect(q, phase);
	if (q->is_lost || !q->form.is_known) /* not: no thread comes to the two */
		return !q->is_lost;
	q->units = q->form.scale == 1 ? q->bytes
				      : (q->last - q->first + q->form.scale - 1) / q->form.scale;
	return true;
}

static bool are_apart_in_phase(struct question *q, uint32_t phase)
{
	uint64_t sums = q->r->sums_left;
	bool is_apart = false;

	for (unsigned turn = 0; turn < 2 && !is_apart; turn++) {
		q->is_split = turn > 0;
		if (!open_question(q, phase))
			break;
		is_apart = are_apart_in_block(q);
	}
	work_add(WORK_STEP, SUM_STEPS * (sums - q->r->sums_left));
	return is_apart;
}

static bool ask(struct ranks *r)
{
	struct question q = {.r = r, .a = r->c->pair.a, .b = r->c->pair.b};
	bool is_far = r->c->level.apart >= RACE_LEVEL_CLUSTER, is_apart = true;

	q.bytes = q.a->mem->bytes > q.b->mem->bytes ? q.a->mem->bytes : q.b->mem->bytes;
	r->sums_left = MAX_SUMS;
	find_touches(&q);
	for (uint32_t phase = 0; phase <= r->phase && is_apart && !is_far; phase++)
		is_apart = prove_now_ms() < r->end && are_apart_in_phase(&q, phase);
	if (is_far)
		is_apart = open_question(&q, UINT32_MAX) && are_apart_in_grid(&q);
	base_vec_free(&q.touches);
	base_vec_free(&q.items);
	base_arena_free(&r->tmp);
	return is_apart;
}

/* Do threads give each other anything that a place may be made of? */
static bool has_ranks(const struct check *c)
{
	for (size_t i = 0; i < c->e->ir->steps.n; i++) {
		const struct ir_step *st = &c->e->ir->steps.v[i];
		if ((st->kind == IR_VAR && st->imm) ||
		    (st->kind == IR_ACCESS && st->mem->rmw == IR_RMW_ADD))
			return true;
	}
	for (size_t i = 0; i < c->e->accesses.n; i++)
		if (c->e->accesses.v[i].is_shared)
			return true;
	return false;
}

bool ranks_are_apart(struct check *c)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	if ((!a->off->is_approx && !b->off->is_approx) || c->level.apart < RACE_LEVEL_WARP ||
	    !c->o->level[RACE_LEVEL_WARP] || !c->o->level[RACE_LEVEL_BLOCK] ||
	    c->level.in_any_order || c->pair.slot[0] || a->is_late || b->is_late)
		return false;
	bool is_first = !c->ranks;
	if (is_first) {
		c->ranks = BASE_NEW(c->arena, struct ranks);
		c->ranks->c = c;
		c->ranks->left_ms = MAX_MS;
	}
	uint64_t from = prove_now_ms(), left = c->ranks->left_ms;
	c->ranks->end = from + left < c->deadline ? from + left : c->deadline;
	if (is_first && has_ranks(c))
		ranks_run(c->ranks);
	bool is_apart = c->ranks->is_run && from < c->ranks->end && ask(c->ranks);
	uint64_t spent = prove_now_ms() - from;
	c->ranks->left_ms -= spent < left ? spent : left;
	if (!is_apart)
		return false;
	c->has_ranks = true;
	return true;
}
