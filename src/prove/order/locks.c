/*
 * locks.c - accesses of two threads that a lock orders: both lie in critical sections (order.h).
 *
 * A lock holds 0 before the launch. It is taken by a compare-and-swap from 0, or an exchange, that
 * puts another number and gave back 0, and given by a strong store or exchange of 0. Nothing else
 * writes to it, and only a thread that has it gives it: each give surely follows a take that gave
 * back 0, with no give between. So the sections of one lock come one after the other, and what a
 * thread does in one is ordered before the next one, by a fence before the give and a fence after
 * the next take (PTX ISA 8.9), also by way of other threads' sections, as the first fence of a
 * section comes before its last.
 *
 * A lock of tickets is a counter that gives each thread a number of its own, one more each time,
 * and a word that says whose turn it is: a take is a read that found the thread's own number, after
 * it was drawn. Both hold 0 before the launch. Only who has the turn hands it on, by adding one or
 * by putting his number and one. So each number is put once, by a thread that read the one before,
 * and who hands on never finds his number there again: the turns go up, and each section reads what
 * the one before it put.
 *
 * The thread that has the lock does the access itself; or its block does, between barriers, and the
 * block's first thread has the lock, once. Where places of locks differ, two accesses that meet
 * must be under one lock. Like flags this rests on what memory holds at first (flags.c).
 *
 * Misses: locks in shared memory, arrays of locks of tickets, semaphores, readers and writers,
 * queues of waiting threads, sections between barriers of a warp.
 * Costs: some queries for each access of a kernel that has locks, and for each of its pairs.
 */
#include "prove/order/order.h"

#define MAX_LOCKS 4
#define MAX_TAKES 4
#define MAX_GIVES 8

struct lock {
	struct order_seen take[MAX_TAKES]; /* one lock, or locks of one array; with their fences */
	const struct ex *off[MAX_TAKES];   /* of the lock, as seen at the fence */
	uint32_t ntakes;
	/* Each with the take of whose section it is the end. */
	const struct ev_access *give[MAX_GIVES];
	const struct order_seen *of[MAX_GIVES];
	uint32_t ngives;
	const struct ev_access *numbers;	/* of tickets: where they are drawn; else NULL */
	const struct ev_assume *own[MAX_TAKES]; /* the number that a take waits for, then */
	uint8_t *held;				/* by access: 0 not asked, 1 + struct section */
};

struct locks {
	struct lock v[MAX_LOCKS];
	uint32_t n;
};

/* In a section of take number n; or in none. */
struct section {
	uint32_t take;
	enum { NO_SECTION, OF_THREAD, OF_BLOCK } kind;
};

/* What the take gave back, where it is one; else NULL. */
static const struct ex *taken_by(const struct check *c, const struct ev_access *a)
{
	const struct ev_assume *t = order_ticket_of(c, a->mem);

	if (!t || !order_is_strong(c, a) || order_access_of(c, a->mem) != a || !t->value ||
	    t->step->op != EX_CONST || !t->step->imm)
		return NULL;
	if (t->mem->rmw == IR_RMW_EXCH)
		return t->value;
	return t->mem->rmw == IR_RMW_CAS && t->old && t->old->op == EX_CONST && !t->old->imm
		       ? t->value
		       : NULL;
}

/* What a store or an exchange puts, or NULL. */
static const struct ex *put_by(const struct check *c, const struct ev_access *a)
{
	const struct ev_assume *t = order_ticket_of(c, a->mem);
	const struct ex *v = a->mem->kind == RACE_OP_WRITE     ? a->value
			     : t && t->mem->rmw == IR_RMW_EXCH ? t->step
							       : NULL;

	return v && v->w == 8u * a->mem->bytes && order_access_of(c, a->mem) == a ? v : NULL;
}

static bool is_give(const struct check *c, const struct ev_access *a)
{
	const struct ex *v = put_by(c, a);

	return order_is_strong(c, a) && v && v->op == EX_CONST && !v->imm;
}

/* ---- sections -------------------------------------------------------------------------------- */

/* May control come from x to y without another take of it? */
static bool leads_within(const struct check *c, const struct order_seen *take, struct order_at x,
			 struct order_at y)
{
	return order_leads_to(c, x, y, take->read->block);
}

/* Does the thread that does a have the lock, after a fence, and hasn't given it since? */
static bool is_in(struct check *c, const struct lock *l, const struct order_seen *take,
		  const struct ev_access *a)
{
	for (uint32_t i = 0; i < l->ngives; i++)
		if (l->give[i] != a && leads_within(c, take, order_of(l->give[i]), order_of(a)))
			return false;
	return a->block != take->read->block && order_is_after_own(c, take, a);
}

/* Does the block do a while its first thread has the lock? */
static bool is_in_block(struct check *c, const struct lock *l, uint32_t take,
			const struct ev_access *a)
{
	const struct order_seen *s = &l->take[take];

	if (l->off[take]->level < EX_CTA || l->off[take]->has_ctr ||
	    !order_is_after_first(c, s, NULL, a))
		return false;
	for (uint32_t i = 0; i < l->ngives; i++)
		if (l->of[i] == s && !order_is_before(c, l->give[i], a))
			return false;
	return true;
}

struct release {
	const struct order_seen *take;
	const struct ev_access *a, *give;
	bool is_found;
};

/* A fence that each thread passes between a and the give, in the section. */
static void add_release(struct check *c, struct order_at fence, void *arg)
{
	struct release *r = arg;

	r->is_found |= order_comes_first(c, fence, order_of(r->give)) &&
		       (fence.step == r->take->fence.step ||
			order_comes_first(c, r->take->fence, fence)) &&
		       (!r->a || !leads_within(c, r->take, fence, order_of(r->a)));
}

/*
 * Is a (NULL: the section's first fence) released by each give of the section that may follow? What
 * another take's section gives is another lock, or this one, given before (begins_all sees to that
 * where threads draw numbers).
 */
static bool is_released(struct check *c, const struct lock *l, const struct order_seen *take,
			const struct ev_access *a)
{
	for (uint32_t i = 0; i < l->ngives; i++) {
		const struct ev_access *g = l->give[i];
		struct release r = {.take = take, .a = a, .give = g};
		struct order_at from = a ? order_of(a) : take->fence;
		if (a == g || l->of[i] != take || !leads_within(c, take, from, order_of(g)))
			continue;
		r.is_found = race_is_release((enum race_strength)g->mem->strength);
		order_each_fence(c, add_release, &r);
		if (!r.is_found)
			return false;
	}
	return true;
}

/* Does it hand on the turn of the thread that drew the number `own`? What puts nothing adds one. */
static bool puts_next(struct check *c, const struct ev_assume *own, const struct ev_access *g)
{
	const struct ex *n = prove_ev_leave(c->e, own->value, own->block, g->block);
	const struct ex *v = put_by(c, g);

	return !v || v == prove_ex_bin(c->pool, EX_ADD, n, prove_ex_const(c->pool, n->w, 1));
}

/* Is the give of the lock that the thread has? */
static bool gives_what_it_took(struct check *c, const struct lock *l, uint32_t take,
			       const struct ev_access *g)
{
	const struct order_seen *s = &l->take[take];
	struct order_question q = {.guard = order_guard_after(c, s, g), .block = g->block};
	const struct ex *off = prove_ev_leave(c->e, l->off[take], s->fence.block, g->block);

	if (l->numbers)
		return puts_next(c, l->own[take], g);
	q.denied[0] = prove_ex_bin(c->pool, EX_EQ, off, g->off);
	return off == g->off || order_is_never(c, &q);
}

/* ---- what there is --------------------------------------------------------------------------- */

struct found {
	struct lock *l;
	const struct ev_access *take;
	const struct ex *value;
	const struct ev_assume *own; /* the number that it should be; NULL: 0 */
	bool is_found;
};

/* The first fence after a take, if there is one. */
static void add_take(struct check *c, struct order_at fence, void *arg)
{
	struct found *x = arg;
	struct lock *l = x->l;
	struct order_seen s = {.read = x->take, .fence = fence};
	uint32_t from = x->take->block;
	const struct ex *v = prove_ev_leave(c->e, x->value, from, fence.block);
	const struct ex *n = prove_ex_const(c->pool, v->w, 0);

	if (x->is_found ||
	    (fence.step != x->take->index && !order_comes_first(c, order_of(x->take), fence)))
		return;
	if (x->own)
		n = prove_ev_leave(c->e, x->own->value, x->own->block, fence.block);
	s.holds = prove_ex_bin(c->pool, EX_EQ, v, n);
	x->is_found = true;
	l->own[l->ntakes] = x->own;
	l->off[l->ntakes] = prove_ev_leave(c->e, x->take->off, from, fence.block);
	l->take[l->ntakes++] = s;
}

/* Is each give one of what the thread has, released after the section's first fence? */
static bool find_ends(struct check *c, struct lock *l)
{
	for (uint32_t i = 0; i < l->ngives; i++) {
		const struct ev_access *g = l->give[i];
		for (uint32_t k = 0; k < l->ntakes && !l->of[i]; k++) {
			const struct order_seen *s = &l->take[k];
			if (is_in(c, l, s, g) && gives_what_it_took(c, l, k, g) &&
			    !leads_within(c, s, order_of(g), order_of(g)))
				l->of[i] = s;
		}
		if (!l->of[i])
			return false;
	}
	for (uint32_t k = 0; k < l->ntakes; k++)
		if (!is_released(c, l, &l->take[k], NULL))
			return false;
	return true;
}

/* All that may write to the lock of `a` takes it or gives it. */
static bool find_lock(struct check *c, const struct ev_access *a, struct lock *l)
{
	*l = (struct lock){0};
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (order_is_poll(c, x) || taken_by(c, x) || (x != a && !order_may_touch(c, a, x)))
			continue;
		if (l->ngives == MAX_GIVES || x->mem->bytes != a->mem->bytes ||
		    !prove_ev_same_root(&x->root, &a->root) || !is_give(c, x))
			return false;
		l->give[l->ngives++] = x;
	}
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		struct found f = {.l = l, .take = x, .value = taken_by(c, x)};
		if (!f.value || (x != a && !order_may_touch(c, a, x)))
			continue;
		if (l->ntakes == MAX_TAKES || x->mem->bytes != a->mem->bytes ||
		    !prove_ev_same_root(&x->root, &a->root))
			return false;
		if (race_is_acquire((enum race_strength)x->mem->strength))
			add_take(c, order_of(x), &f);
		order_each_fence(c, add_take, &f);
		if (!f.is_found)
			return false;
	}
	return find_ends(c, l);
}

/* ---- tickets --------------------------------------------------------------------------------- */

static bool adds_one(const struct check *c, const struct ev_access *a)
{
	const struct ev_assume *t = order_ticket_of(c, a->mem);

	return t && t->mem->rmw == IR_RMW_ADD && t->step->op == EX_CONST && t->step->imm == 1 &&
	       order_access_of(c, a->mem) == a;
}

/* One place for all threads, of which all know what is put there. */
static bool is_one_place(const struct check *c, const struct ev_access *a)
{
	return order_is_strong(c, a) && a->off->level == EX_GRID && !a->off->has_ctr;
}

static bool is_place_of(const struct ev_access *x, const struct ev_access *a)
{
	return prove_ev_same_root(&x->root, &a->root) && x->off == a->off &&
	       x->mem->bytes == a->mem->bytes;
}

/* Is all that writes to the place of `a` an addition of one? */
static bool gives_numbers(struct check *c, const struct ev_access *a)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (!order_is_poll(c, x) && (x == a || order_may_touch(c, a, x)) &&
		    (!is_one_place(c, x) || !is_place_of(x, a) || !adds_one(c, x)))
			return false;
	}
	return true;
}

/* All that may write to the turn, which `turn` reads, are gives. */
static bool find_gives(struct check *c, const struct ev_access *turn, struct lock *l)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (order_is_poll(c, x) || !order_may_touch(c, turn, x))
			continue;
		if (l->ngives == MAX_GIVES || !is_one_place(c, x) || !is_place_of(x, turn) ||
		    (!put_by(c, x) && !adds_one(c, x)))
			return false;
		l->give[l->ngives++] = x;
	}
	return l->ngives > 0;
}

/* A read of the turn after each drawing of a number may be a take. */
static void find_turns(struct check *c, const struct ev_access *turn, struct lock *l)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		const struct ev_assume *t = order_ticket_of(c, x->mem);
		if (!order_is_poll(c, x) || !is_one_place(c, x) || !is_place_of(x, turn))
			continue;
		for (size_t k = 0; k < c->e->tickets.n && l->ntakes < MAX_TAKES; k++) {
			const struct ev_assume *own = &c->e->tickets.v[k];
			const struct ev_access *drawn = order_access_of(c, own->mem);
			struct found f = {.l = l, .take = x, .own = own};
			f.value = t ? t->value : order_loaded(c, x);
			if (!drawn || !own->value || !f.value || !is_place_of(drawn, l->numbers) ||
			    !adds_one(c, drawn) ||
			    !order_comes_first(c, order_of(drawn), order_of(x)))
				continue;
			if (race_is_acquire((enum race_strength)x->mem->strength))
				add_take(c, order_of(x), &f);
			order_each_fence(c, add_take, &f);
		}
	}
}

/* A lock whose numbers are drawn at `drawn`, and whose turn `turn` reads. */
static bool find_turn_lock(struct check *c, const struct ev_access *drawn,
			   const struct ev_access *turn, struct lock *l)
{
	*l = (struct lock){.numbers = drawn};
	if (!order_is_poll(c, turn) || !is_one_place(c, turn) ||
	    turn->mem->bytes != drawn->mem->bytes || order_may_touch(c, drawn, turn) ||
	    !find_gives(c, turn, l))
		return false;
	find_turns(c, turn, l);
	return l->ntakes && find_ends(c, l);
}

/* Of each counter one word that says whose turn it is. */
static void look_for_turns(struct check *c, struct locks *all)
{
	for (size_t i = 0; i < c->e->tickets.n && all->n < MAX_LOCKS && !c->e->may_wrap; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		const struct ev_access *drawn = order_access_of(c, t->mem);
		bool is_known = !drawn || !t->value || !is_one_place(c, drawn) ||
				!adds_one(c, drawn) || !gives_numbers(c, drawn);
		for (uint32_t k = 0; k < all->n; k++)
			is_known = is_known ||
				   (all->v[k].numbers && is_place_of(all->v[k].numbers, drawn));
		for (size_t k = 0; k < c->e->accesses.n && !is_known; k++) {
			struct lock *l = &all->v[all->n];
			if (!find_turn_lock(c, drawn, &c->e->accesses.v[k], l))
				continue;
			l->held = base_zalloc(c->arena, c->e->accesses.n + 1);
			all->n++;
			is_known = true;
		}
	}
}

struct locks *locks_look(struct check *c)
{
	struct locks *all = BASE_NEW(c->arena, struct locks);

	for (size_t i = 0; i < c->e->accesses.n && all->n < MAX_LOCKS; i++) {
		const struct ev_access *a = &c->e->accesses.v[i];
		bool is_known = false;
		for (uint32_t k = 0; k < all->n; k++)
			for (uint32_t t = 0; t < all->v[k].ntakes; t++)
				is_known |= all->v[k].take[t].read == a;
		struct lock *l = &all->v[all->n];
		if (is_known || !taken_by(c, a) || !find_lock(c, a, l))
			continue;
		l->held = base_zalloc(c->arena, c->e->accesses.n + 1);
		all->n++;
	}
	look_for_turns(c, all);
	return all;
}

/*
 * Does each give of the number that the take waits for end a section of this take? A thread that
 * has the turn finds its number as often as it looks, so that a second look begins no section.
 */
static bool begins_all(const struct lock *l, uint32_t take)
{
	for (uint32_t i = 0; l->numbers && i < l->ngives; i++)
		if (l->of[i] != &l->take[take] && l->own[l->of[i] - l->take] == l->own[take])
			return false;
	return true;
}

static struct section section_of(struct check *c, const struct lock *l, const struct ev_access *a)
{
	uint8_t *known = &l->held[a - c->e->accesses.v];
	struct section s = {0};

	if (*known)
		return (struct section){(*known - 1u) / 3, (*known - 1u) % 3};
	for (uint32_t k = 0; k < l->ntakes && !s.kind; k++) {
		s.take = k;
		if (!begins_all(l, k))
			continue;
		if (is_in(c, l, &l->take[k], a) && is_released(c, l, &l->take[k], a))
			s.kind = OF_THREAD;
		else if (is_in_block(c, l, k, a))
			s.kind = OF_BLOCK;
	}
	if (!c->trial.is_on)
		*known = (uint8_t)(1 + 3 * s.take + s.kind);
	return s;
}

/* What a thread knows of its lock where it does a: side t of the question. */
static void hold_section(struct check *c, const struct lock *l, struct section s,
			 const struct ev_access *a, struct order_question *q, unsigned t)
{
	const struct order_seen *take = &l->take[s.take];
	const struct ex *off = l->off[s.take], *guard = a->guard;

	if (s.kind == OF_THREAD) {
		off = prove_ev_leave(c->e, off, take->fence.block, a->block);
		guard = order_guard_after(c, take, a);
	}
	q->value[t] = off;
	*(t ? &q->other : &q->guard) = guard;
	*(t ? &q->other_block : &q->block) = a->block;
}

/* The turn is handed on while another thread reads whose it is, both as volatile: that is what the
 * word is for. Else it would be an unordered volatile conflict. */
static bool is_turn(const struct lock *l, const struct ev_access *a, const struct ev_access *b)
{
	bool is_give = false, is_take = false;

	for (uint32_t i = 0; i < l->ngives; i++)
		is_give |= l->give[i] == a;
	for (uint32_t k = 0; k < l->ntakes; k++)
		is_take |= l->take[k].read == b;
	return l->numbers && is_give && is_take;
}

/* What must hold at first for the lock to be one becomes part of the contract. */
static bool assume_free(struct check *c, const struct lock *l, uint32_t take)
{
	c->assumed.has_counts |= l->numbers != NULL;
	return order_assume_zero(c, l->take[take].read, false) &&
	       (!l->numbers || order_assume_zero(c, l->numbers, false));
}

static bool is_ordered_by(struct check *c, const struct lock *l)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;
	struct order_question q = {.are_two = true, .warp = c->level.warp};
	struct section x = {0}, y = {0};

	if (is_turn(l, a, b) || is_turn(l, b, a))
		return assume_free(c, l, 0);
	x = section_of(c, l, a);
	q.are_apart = c->level.apart >= RACE_LEVEL_CLUSTER;
	if (x.kind)
		y = section_of(c, l, b);
	/* in one block it may be one section, of its first thread */
	if (!y.kind || (!q.are_apart && (x.kind == OF_BLOCK || y.kind == OF_BLOCK)))
		return false;
	hold_section(c, l, x, a, &q, 0);
	hold_section(c, l, y, b, &q, 1);
	if (!c->pair.is_forced && !c->pair.slot[0]) {
		q.bytes[0] = a;
		q.bytes[1] = b;
	}
	bool is_one =
		q.value[0] == q.value[1] && q.value[0]->level == EX_GRID && !q.value[0]->has_ctr;
	if (!is_one && !order_is_never(c, &q))
		return false;
	return assume_free(c, l, x.take);
}

bool locks_order(struct check *c, const struct locks *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (is_ordered_by(c, &all->v[i]))
			return true;
	return false;
}
