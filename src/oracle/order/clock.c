/*
 * clock.c - clocks: what an actor knows of all others, as trees (tree.c).
 *
 * Most clocks have a name, the publication that carried them: a clock that knows the publication
 * needs no further comparison. What the lanes of a warp learn in the same way is remembered, so
 * that they continue to share one clock.
 */
#include "oracle/types.h"

/* ---- clocks ------------------------------------------------------------------------------ */

struct oracle_clock *oracle_clock_new(struct oracle_pool *p)
{
	struct oracle_clock *c = base_calloc(1, sizeof(*c));

	c->refs = 1;
	c->number = ++p->clocks;
	return c;
}

void oracle_clock_unref(struct oracle_pool *p, struct oracle_clock *c)
{
	if (!c || --c->refs)
		return;
	for (unsigned i = 0; i < ORACLE_ROOTS; i++)
		oracle_tree_unref(p, c->root[i]);
	free(c);
}

void oracle_clock_name(struct oracle_clock *c, uint32_t actor, uint32_t epoch)
{
	if (c->epoch || c->span)
		return;
	c->actor = actor;
	c->epoch = epoch;
}

struct oracle_clock *oracle_clock_own(struct oracle_pool *p, struct oracle_clock **c)
{
	struct oracle_clock *n = *c;

	if (n->refs == 1) {
		n->epoch = n->span = 0;
		return n;
	}
	n = oracle_clock_new(p);
	for (unsigned i = 0; i < ORACLE_ROOTS; i++)
		n->root[i] = oracle_tree_ref((*c)->root[i]);
	(*c)->refs--;
	return *c = n;
}

/* Does y know all that x knows? (By x's name.) */
static bool is_below(const struct oracle_clock *x, const struct oracle_clock *y)
{
	if (x->span)
		return y->epoch && y->actor - x->actor < x->span;
	if (!x->epoch)
		return false;
	return oracle_tree_get(y->root[ORACLE_HB], x->actor) >= x->epoch;
}

static void adopt(struct oracle_pool *p, struct oracle_clock **c, struct oracle_clock *with)
{
	oracle_clock_unref(p, *c);
	*c = oracle_clock_ref(with);
}

static void join_roots(struct oracle_pool *p, struct oracle_clock **c, struct oracle_clock *with)
{
	uint64_t r[ORACLE_ROOTS];
	bool is_a = true, is_b = true;

	for (unsigned i = 0; i < ORACLE_ROOTS; i++) {
		r[i] = oracle_tree_ref((*c)->root[i]);
		oracle_tree_join(p, &r[i], with->root[i]);
		is_a &= r[i] == (*c)->root[i];
		is_b &= r[i] == with->root[i];
	}
	if (is_a || is_b) {
		for (unsigned i = 0; i < ORACLE_ROOTS; i++)
			oracle_tree_unref(p, r[i]);
		if (!is_a)
			adopt(p, c, with);
		return;
	}
	struct oracle_clock *n = oracle_clock_own(p, c);
	for (unsigned i = 0; i < ORACLE_ROOTS; i++) {
		oracle_tree_unref(p, n->root[i]);
		n->root[i] = r[i];
	}
}

/* As join_roots, of a clock without another holder. */
static void join_in_place(struct oracle_pool *p, struct oracle_clock **c, struct oracle_clock *with)
{
	struct oracle_clock *n = oracle_clock_own(p, c);
	bool is_b = true;

	for (unsigned i = 0; i < ORACLE_ROOTS; i++) {
		oracle_tree_join(p, &n->root[i], with->root[i]);
		is_b &= n->root[i] == with->root[i];
	}
	if (is_b)
		adopt(p, c, with);
}

static bool is_zero(const struct oracle_clock *c)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < ORACLE_ROOTS; i++)
		any |= c->root[i];
	return !any;
}

void oracle_clock_join(struct oracle_pool *p, struct oracle_clock **c, struct oracle_clock *with)
{
	if (*c == with || !with || is_below(with, *c))
		return;
	if (is_zero(*c) || is_below(*c, with)) {
		adopt(p, c, with);
		return;
	}
	if ((*c)->refs == 1) {
		join_in_place(p, c, with);
		return;
	}
	struct oracle_memo m = {.from = *c, .with = (uintptr_t)with, .kind = ORACLE_MEMO_JOIN};
	if (oracle_memo_get(p, c, &m))
		return;
	oracle_clock_ref(m.from);
	join_roots(p, c, with);
	m.to = *c;
	oracle_memo_put(p, &m);
	oracle_clock_unref(p, m.from);
}

/* ---- what was done before ------------------------------------------------------------------ */

static uint64_t number_of(const struct oracle_clock *c)
{
	return c ? c->number : 0;
}

/* By numbers: what is forgotten, and so the memory that is used, must not depend on addresses. */
static struct oracle_memo *memo_at(struct oracle_pool *p, const struct oracle_memo *m)
{
	uint64_t with = m->kind == ORACLE_MEMO_FORCED
				? 0
				: number_of((const struct oracle_clock *)(uintptr_t)m->with);
	uint64_t h = number_of(m->from) * 3 + with * 5 + m->actor * 7ull + m->number * 11ull;

	return &p->memo[(h * 0x9e3779b97f4a7c15ull) >> 32 & (ORACLE_MEMOS - 1)];
}

bool oracle_memo_get(struct oracle_pool *p, struct oracle_clock **c, const struct oracle_memo *m)
{
	struct oracle_memo *at = memo_at(p, m);

	if (!at->to || at->kind != m->kind || at->from != m->from || at->with != m->with ||
	    at->actor != m->actor || at->number != m->number)
		return false;
	oracle_clock_ref(at->to);
	oracle_clock_unref(p, *c);
	*c = at->to;
	return true;
}

static void memo_drop(struct oracle_pool *p, struct oracle_memo *m)
{
	oracle_clock_unref(p, m->from);
	oracle_clock_unref(p, m->to);
	if (m->kind == ORACLE_MEMO_FORCED)
		oracle_tree_unref(p, m->with);
	else if (m->with)
		oracle_clock_unref(p, (struct oracle_clock *)(uintptr_t)m->with);
	memset(m, 0, sizeof(*m));
}

void oracle_memo_put(struct oracle_pool *p, const struct oracle_memo *m)
{
	struct oracle_memo *at = memo_at(p, m);

	if (m->from)
		oracle_clock_ref(m->from);
	oracle_clock_ref(m->to);
	if (m->kind == ORACLE_MEMO_FORCED)
		oracle_tree_ref(m->with);
	else if (m->with)
		oracle_clock_ref((struct oracle_clock *)(uintptr_t)m->with);
	memo_drop(p, at);
	*at = *m;
}

void oracle_memos_free(struct oracle_pool *p)
{
	for (unsigned i = 0; i < 3; i++) {
		oracle_tree_unref(p, p->joined[i]);
		p->joined[i] = 0;
	}
	for (unsigned i = 0; i < ORACLE_MEMOS; i++)
		memo_drop(p, &p->memo[i]);
}
