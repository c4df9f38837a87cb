/*
 * looks.c - all pairs of a kernel's accesses, those first that are decided soon (check.h).
 *
 * The first look is at all pairs, by arithmetic alone. What is left is asked about by the solver:
 * places that don't rest on unknown values come first, as most of them are proven or race for sure.
 * Where many are left no question has much time at first, and those that need more come last; so a
 * hard pair doesn't keep the others from their answer, and when the time is over what is open is
 * named.
 *
 * Costs: arithmetic is done twice for a pair that needs the solver.
 */
#include "prove/check.h"

#define MANY	  16 /* pairs: with fewer each has all the time that it needs at once */
#define MAX_NAMED 4

struct left {
	uint32_t a, b; /* accesses */
	uint8_t rank;  /* the lowest ones first */
};

struct looks {
	struct check *c;
	BASE_VEC(struct left) v;
};

static const struct ev_access *access_at(const struct check *c, uint32_t i)
{
	return &c->e->accesses.v[i];
}

/* Places that rest on unknown values are later, and those of global memory after shared ones. */
#define RANKS 6
static uint8_t rank_of(const struct check *c, uint32_t a, uint32_t b)
{
	const struct ev_access *x = access_at(c, a), *y = access_at(c, b);

	return (uint8_t)(2 * (x->off->is_approx + y->off->is_approx) +
			 !(x->is_shared && y->is_shared));
}

static uint64_t half_of(const struct check *c)
{
	uint64_t now = prove_now_ms();

	return now < c->deadline ? (now + c->deadline) / 2 : now;
}

/* Both orders count where the two are different instructions: which thread does which. Half of the
 * time is enough for that; what was not looked at is left, too. */
static void look_first(struct looks *l)
{
	struct check *c = l->c;
	uint32_t n = (uint32_t)c->e->accesses.n;
	uint64_t end = half_of(c);

	c->look = CHECK_FIRST_LOOK;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = i; k < n; k++) {
			struct race_proof_counts was = c->k->counts;
			bool is_late = prove_now_ms() >= end;
			if (!is_late && prove_one_pair(c, access_at(c, i), access_at(c, k)))
				continue;
			c->k->counts = was;
			if (!is_late || prove_may_conflict(access_at(c, i), access_at(c, k)))
				base_vec_push(&l->v, ((struct left){i, k, rank_of(c, i, k)}));
		}
	}
	c->look = CHECK_LONG_LOOK;
}

static void open_pair(struct check *c, const struct left *x)
{
	c->is_open[x->a] = c->is_open[x->b] = true;
}

/* Asks about what is left until then; keeps what needs more time. */
static void look_again(struct looks *l, enum check_look look, uint64_t end, struct looks *later)
{
	struct check *c = l->c;

	c->look = look;
	for (size_t i = 0; i < l->v.n; i++) {
		struct left *x = &l->v.v[i];
		struct race_proof_counts was = c->k->counts;
		if (prove_now_ms() >= end) {
			base_vec_push(&later->v, *x);
			continue;
		}
		bool is_open = !prove_one_pair(c, access_at(c, x->a), access_at(c, x->b));
		if (is_open && c->pair.needs_more) {
			was.queries = c->k->counts.queries;
			was.recalled = c->k->counts.recalled;
			c->k->counts = was; /* the others are counted when it is asked again */
			base_vec_push(&later->v, *x);
		} else if (is_open) {
			open_pair(c, x);
		}
	}
	c->look = CHECK_LONG_LOOK;
}

/* The line of each access. */
static uint32_t *find_lines(struct check *c)
{
	uint32_t n = (uint32_t)c->e->accesses.n, *line = BASE_NEWN(c->arena, uint32_t, n);
	const char *file;

	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_stmt *at = access_at(c, i)->step->at;
		prove_alarm_place(c, at, &file, &line[i]);
		line[i] = line[i] ? line[i] : at->line;
	}
	return line;
}

/* Names the lines of what is open, each two of them once. */
static void say_open(const struct looks *l)
{
	struct check *c = l->c;
	const uint32_t *line = find_lines(c);
	uint32_t named[MAX_NAMED][2];
	const char *text = "";
	unsigned n = 0;
	bool has_more = false;

	for (size_t i = 0; i < l->v.n; i++) {
		const struct left *p = &l->v.v[i];
		uint32_t x = line[p->a], y = line[p->b];
		bool is_new = true;
		for (unsigned k = 0; k < n; k++)
			is_new &= named[k][0] != x || named[k][1] != y;
		open_pair(c, p);
		has_more |= is_new && n == MAX_NAMED;
		if (!is_new || n == MAX_NAMED)
			continue;
		text = base_printf(c->arena, "%s%s%u and %u", text, n ? ", " : "", x, y);
		named[n][0] = x;
		named[n++][1] = y;
	}
	text = base_printf(c->arena, "the time limit was reached before %zu pair%s of lines %s%s",
			   l->v.n, l->v.n == 1 ? "" : "s", text, has_more ? " and others" : "");
	prove_alarm_problem(RACE_PROBLEM_UNPROVEN, access_at(c, l->v.v[0].a)->step->at, text, c);
}

/* One after the other, until one isn't proven. */
static void try_all(struct check *c)
{
	uint32_t n = (uint32_t)c->e->accesses.n;

	for (uint32_t i = 0; i < n; i++) {
		if (prove_now_ms() >= c->deadline)
			return;
		/* the last access has one pair, after which the time is not looked at again */
		for (uint32_t k = i; k < n && (k == i || prove_now_ms() < c->deadline); k++) {
			if (prove_one_pair(c, access_at(c, i), access_at(c, k)))
				continue;
			c->is_open[i] = c->is_open[k] = true;
			if (c->task->trial)
				return;
		}
	}
}

void prove_all_pairs(struct check *c)
{
	struct looks first = {.c = c}, open = {.c = c}, last = {.c = c};

	if (c->trial.is_on) {
		try_all(c);
		return;
	}
	look_first(&first);
	for (unsigned rank = 0; rank < RANKS; rank++) {
		struct looks now = {.c = c}, more = {.c = c};
		for (size_t i = 0; i < first.v.n; i++)
			if (first.v.v[i].rank == rank)
				base_vec_push(&now.v, first.v.v[i]);
		if (first.v.n <= MANY) {
			look_again(&now, CHECK_LONG_LOOK, c->deadline, &last);
		} else {
			look_again(&now, CHECK_BRIEF_LOOK, c->deadline, &more);
			look_again(&more, CHECK_LONG_LOOK, half_of(c), &open);
		}
		base_vec_free(&now.v);
		base_vec_free(&more.v);
	}
	look_again(&open, CHECK_LONG_LOOK, c->deadline, &last);
	if (last.v.n)
		say_open(&last);
	base_vec_free(&first.v);
	base_vec_free(&open.v);
	base_vec_free(&last.v);
}
