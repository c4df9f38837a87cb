/*
 * replace.c - values with a part of them replaced, and whether they have it (expr.h).
 *
 * Each node has a bit for each of its leaves, which some leaves share. What lacks one of the part's
 * doesn't contain it: whole conditions are passed by so, in which a loop's counter isn't.
 *
 * Costs: what is made anew, and the nodes above it, once for each replacement.
 */
#include "prove/expr.h"

#include <stdlib.h>
#include <string.h>

/* A node without all leaves of `part` doesn't contain it. */
static bool may_contain(const struct ex *v, const struct ex *part)
{
	return v->id >= part->id && !(part->leaves & ~v->leaves);
}

static const struct ex *rebuild(struct ex_pool *p, const struct ex *v, const struct ex *const *a)
{
	switch ((enum ex_op)v->op) {
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
	case EX_NOT:
	case EX_BREV:
	case EX_CLZ:
		return prove_ex_un(p, (enum ex_op)v->op, v->w, a[0]);
	case EX_ITE:
		return prove_ex_ite(p, a[0], a[1], a[2]);
	case EX_IND:
		return prove_ex_ind(p, (enum prove_ex_ind)v->imm, a[0], a[1], a[2]);
	case EX_VAR:
	case EX_PHI:
	case EX_KEXIT:
	case EX_PURE:
		return prove_ex_leaf(p, (enum ex_op)v->op, v->w, v->imm, (enum ex_level)v->level,
				     (struct ex_range){v->lo, v->hi},
				     (struct ex_args){v->n, a, !v->is_approx});
	case EX_CLOAD:
		return prove_ex_cload(p, v->w, a[0]);
	default:
		return prove_ex_bin(p, (enum ex_op)v->op, a[0], a[1]);
	}
}

static const struct ex *replace(struct ex_pool *p, const struct ex *v)
{
	struct ex_memo *m = &p->memo;

	if (v == m->from)
		return m->to;
	if (!v->n || !may_contain(v, m->from))
		return v;
	if (v->id < m->n && m->e[v->id].turn == m->turn)
		return m->e[v->id].v;
	const struct ex *some[8], **a = some; /* most replaced nothing: nothing is kept of them */
	bool same = true;
	if (v->n > BASE_COUNTOF(some))
		a = base_alloc(p->arena, v->n * sizeof(*a));
	for (uint32_t i = 0; i < v->n; i++) {
		a[i] = replace(p, v->a[i]);
		same &= a[i] == v->a[i];
	}
	const struct ex *r = same ? v : rebuild(p, v, a);
	if (v->id < m->n) {
		m->e[v->id].turn = m->turn;
		m->e[v->id].v = r;
	}
	return r;
}

void prove_ex_memo_open(struct ex_memo *m, const struct ex *v, const struct ex *from,
			const struct ex *to)
{
	if (m->from != from || m->to != to)
		m->turn++;
	m->from = from;
	m->to = to;
	if (m->n <= v->id) {
		uint32_t n = 2 * v->id + 1024;
		m->e = realloc(m->e, n * sizeof(*m->e));
		if (!m->e)
			abort();
		memset(m->e + m->n, 0, (n - m->n) * sizeof(*m->e));
		m->n = n;
	}
}

const struct ex *prove_ex_replace(struct ex_pool *p, const struct ex *v, const struct ex *from,
				  const struct ex *to)
{
	struct ex_memo *m = &p->memo;

	if (from == to || !may_contain(v, from))
		return v;
	prove_ex_memo_open(m, v, from, to);
	return replace(p, v);
}

static bool contains(const struct ex *v, const struct ex *part, unsigned char *seen)
{
	if (v == part)
		return true;
	if (!may_contain(v, part) || seen[v->id - part->id])
		return false;
	seen[v->id - part->id] = 1;
	for (uint32_t i = 0; i < v->n; i++)
		if (contains(v->a[i], part, seen))
			return true;
	return false;
}

bool prove_ex_contains(const struct ex *v, const struct ex *part)
{
	if (v == part || !may_contain(v, part))
		return v == part; /* mostly: without memory for all nodes between the two */
	struct base_arena tmp = {0};
	unsigned char *seen = base_zalloc(&tmp, v->id - part->id + 1u);
	bool r = contains(v, part, seen);

	base_arena_free(&tmp);
	return r;
}
