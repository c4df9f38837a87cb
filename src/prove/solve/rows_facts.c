/*
 * rows_facts.c - which polynomials are 0 or more, and what is missing for that (rows.c).
 *
 * One is, where no term of it may be negative; a term that may is taken away with a fact that has
 * it, times what makes it as large.
 */
#include "prove/solve/rows_impl.h"

#include <string.h>

#define MAX_NODES 400

bool rows_is_variant(const struct rows *r, const struct ex *v)
{
	return !quick_is_shared(r->c, v, r->counters);
}

void rows_add_fact(struct rows *r, unsigned t, const struct poly *p)
{
	bool is_new = !p->is_lost && p->n && r->side[t].n < MAX_FACTS;

	for (unsigned i = 0; i < r->side[t].n && is_new; i++)
		is_new = !poly_is_equal(&r->side[t].fact[i], p);
	if (is_new)
		r->side[t].fact[r->side[t].n++] = *p;
}

bool rows_is_position(const struct rows *r, const struct ex *v, unsigned *d)
{
	if (v->op != EX_ADD || v->w != 32 || r->c->o->all_launches)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		const struct ex *t = v->a[i & 1], *m = v->a[!(i & 1)];
		if (t->op != EX_SPEC || t->imm > EX_TID_Z || m->op != EX_MUL)
			continue;
		const struct ex *b = m->a[i >> 1], *n = m->a[!(i >> 1)];
		*d = (unsigned)t->imm;
		if (b->op == EX_SPEC && b->imm == EX_CTAID_X + *d && n->op == EX_SPEC &&
		    n->imm == EX_NTID_X + *d)
			return true;
	}
	return false;
}

static const char *name_of(const struct rows *r, const struct ex *v)
{
	static const char *const dims[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					   "gridDim.x",	 "gridDim.y",  "gridDim.z"};
	const struct names_param *p =
		v->op == EX_PARAM ? prove_names_param_at(&r->c->names, v->imm) : NULL;

	if (v->op == EX_SPEC && v->imm >= EX_NTID_X)
		return dims[v->imm - EX_NTID_X];
	return p && p->is_known && !p->is_pointer && !p->is_float ? p->name : NULL;
}

static void note_need(struct rows *r, const char *text)
{
	struct rows_needs *n = r->needs;

	for (unsigned i = 0; i < n->n; i++)
		if (!strcmp(n->text[i], text))
			return;
	if (n->n == ROWS_MAX_NEEDS)
		r->is_lost = true;
	else
		n->text[n->n++] = text;
}

bool rows_is_at_least_0(struct rows *r, unsigned t, const struct ex *v)
{
	unsigned d;

	if (v->op == EX_SPEC || v->op == EX_CTR || v->hi <= prove_ex_mask(v->w) >> 1 ||
	    rows_is_position(r, v, &d))
		return true;
	for (unsigned i = 0; i < r->side[t].n; i++) {
		const struct poly *f = &r->side[t].fact[i];
		bool is_it = false;
		int64_t rest = 0;
		for (unsigned k = 0; k < f->n && f->n <= 2; k++) {
			if (f->m[k].n == 1 && f->m[k].atom[0] == v && f->m[k].times > 0)
				is_it = true;
			else
				rest += f->m[k].n ? 1 : f->m[k].times;
		}
		if (is_it && rest <= 0)
			return true;
	}
	const char *name = r->needs && v->op == EX_PARAM ? name_of(r, v) : NULL;
	if (name)
		note_need(r, base_printf(r->c->arena, "%s >= 0", name));
	return name != NULL;
}

bool rows_are_at_least_0(struct rows *r, unsigned t, const struct mono *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!rows_is_at_least_0(r, t, m->atom[i]))
			return false;
	return true;
}

/* Has it a value that an assumption can't name? */
static bool is_inner(const struct rows *r, const struct mono *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (rows_is_variant(r, m->atom[i]) || !name_of(r, m->atom[i]))
			return true;
	return false;
}

bool rows_has_variant(const struct rows *r, const struct mono *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (rows_is_variant(r, m->atom[i]))
			return true;
	return false;
}

/* A term that may make it negative; those of the threads' own values first. NULL: there is none. */
static const struct mono *worst(struct rows *r, unsigned t, const struct poly *p)
{
	const struct mono *found = NULL;

	for (unsigned i = 0; i < p->n; i++) {
		if (p->m[i].times >= 0 && rows_are_at_least_0(r, t, &p->m[i]))
			continue;
		if (!found || (is_inner(r, &p->m[i]) && !is_inner(r, found)))
			found = &p->m[i];
	}
	return found;
}

/* Takes a fact, times what makes its term f of the one at fault, away from p; is_whole: with all
 * that an assumption can't name in f. */
static bool take_away(struct rows *r, unsigned t, struct poly *p, const struct mono *m,
		      const struct poly *fact, bool is_whole)
{
	for (unsigned k = 0; k < fact->n; k++) {
		struct mono by;
		const struct mono *f = &fact->m[k];
		if (f->times >= 0 || m->times >= 0 || !poly_quotient(m, f, &by) ||
		    !rows_are_at_least_0(r, t, &by) || (m->n && !f->n))
			continue;
		if (is_whole && is_inner(r, &by))
			continue;
		int64_t often = m->times / f->times + (m->times % f->times != 0);
		struct poly next = *p;
		poly_add_times(&next, fact, &by, -often);
		if (next.is_lost)
			continue;
		*p = next;
		return true;
	}
	return false;
}

bool rows_is_shown(struct rows *r, unsigned t, const struct poly *p, unsigned depth)
{
	const struct mono *m = worst(r, t, p);

	if (!m)
		return true;
	if (!depth || ++r->nodes > MAX_NODES)
		return false;
	bool is_first = is_inner(r, m); /* what the threads have goes first, by their guards */
	for (unsigned i = r->side[t].n; i-- > 0;) {
		struct poly next = *p;
		if (take_away(r, t, &next, m, &r->side[t].fact[i], is_first) &&
		    rows_is_shown(r, t, &next, depth - 1))
			return true;
	}
	return false;
}

/* The same without the threads' own values: what is left speaks of the launch. */
static bool reduce(struct rows *r, unsigned t, struct poly *p)
{
	for (unsigned turn = 0; turn < 12; turn++) {
		const struct mono *m = worst(r, t, p);
		bool done = false;
		if (!m || !is_inner(r, m))
			break;
		struct mono at = *m;
		for (unsigned i = r->side[t].n; i-- > 0 && !done;) /* guards first */
			done = take_away(r, t, p, &at, &r->side[t].fact[i], true);
		if (!done)
			return false;
	}
	for (unsigned i = 0; i < r->side[t].n; i++) { /* block sizes, where they are bounded */
		const struct poly *f = &r->side[t].fact[i];
		for (unsigned k = 0; k < p->n && f->n == 2; k++) {
			struct mono at = p->m[k];
			bool is_block = at.times < 0 && at.n && !f->m[0].n + !f->m[1].n == 1;
			const struct mono *size = f->m[0].n ? &f->m[0] : &f->m[1];
			if (is_block && size->n == 1 && size->atom[0]->op == EX_SPEC &&
			    size->atom[0]->imm >= EX_NTID_X && size->atom[0]->imm <= EX_NTID_Z)
				take_away(r, t, p, &at, f, false);
		}
	}
	for (unsigned i = p->n; i-- > 0;) { /* what can only help isn't asked for */
		if (!is_inner(r, &p->m[i]))
			continue;
		if (p->m[i].times < 0)
			return false;
		p->m[i] = p->m[--p->n];
	}
	return !p->is_lost;
}

static const char *side_of(const struct rows *r, const struct poly *p, int sign)
{
	const char *text = NULL;

	for (unsigned i = 0; i < p->n; i++) {
		int64_t k = p->m[i].times * sign;
		const char *one = NULL;
		if (k <= 0)
			continue;
		if (!p->m[i].n && k > INT32_MAX)
			k = INT32_MAX;
		for (unsigned a = 0; a < p->m[i].n; a++) {
			const char *n = name_of(r, p->m[i].atom[a]);
			if (!n)
				return NULL;
			one = one ? base_printf(r->c->arena, "%s * %s", one, n) : n;
		}
		if (!one)
			one = base_printf(r->c->arena, "%lld", (long long)k);
		else if (k != 1)
			one = base_printf(r->c->arena, "%s * %lld", one, (long long)k);
		text = text ? base_printf(r->c->arena, "%s + %s", text, one) : one;
	}
	return text ? text : "0";
}

/* How large a term of thread t's may be; where a fact bounds two of its factors, by that. */
double rows_size_of(const struct rows *r, unsigned t, const struct mono *m)
{
	double all = m->times < 0 ? -(double)m->times : (double)m->times, least;

	for (unsigned i = 0; i < m->n; i++) {
		uint64_t half = prove_ex_mask(m->atom[i]->w) >> 1;
		all *= (double)(m->atom[i]->hi < half ? m->atom[i]->hi : half) + 1;
	}
	least = all;
	for (unsigned k = 0; k < r->side[t].n; k++) {
		const struct poly *f = &r->side[t].fact[k];
		const struct mono *two = NULL;
		struct mono by;
		double most = 0;
		for (unsigned x = 0; x < f->n && f->n == 2; x++) {
			if (!f->m[x].n)
				most = (double)f->m[x].times;
			else if (f->m[x].n == 2 && f->m[x].times < 0)
				two = &f->m[x];
		}
		if (!two || most <= 0 || !poly_quotient(m, two, &by))
			continue;
		double x = most * (m->times < 0 ? -(double)m->times : (double)m->times);
		for (unsigned i = 0; i < by.n; i++) {
			uint64_t half = prove_ex_mask(by.atom[i]->w) >> 1;
			x *= (double)(by.atom[i]->hi < half ? by.atom[i]->hi : half) + 1;
		}
		least = x < least ? x : least;
	}
	return least;
}

/* Products are exact in 64 bits where two of their factors are bounded. */
static void need_products(struct rows *r, const struct poly *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct mono *m = &p->m[i];
		struct mono two = {.times = -1, .n = 2};
		if (m->n < 2 || rows_size_of(r, 0, m) < ROWS_EXACT)
			continue;
		memcpy(two.atom, m->atom, 2 * sizeof(*m->atom));
		struct poly q = {.n = 0};
		poly_add_mono(&q, &two, 1);
		poly_add_number(&q, INT32_MAX);
		note_need(r, base_printf(r->c->arena, "%s <= %d", side_of(r, &q, -1), INT32_MAX));
	}
}

/* Is p 0 or more in thread t? Where needs are collected: it becomes one. */
bool rows_require(struct rows *r, unsigned t, const struct poly *p)
{
	struct poly q = *p;

	r->nodes = 0;
	if (p->is_lost)
		return false;
	if (rows_is_shown(r, t, p, 8))
		return true;
	if (!r->needs || r->is_learning || !reduce(r, t, &q))
		return false;
	r->nodes = 0;
	if (rows_is_shown(r, t, &q, 6))
		return true;
	const char *small = side_of(r, &q, -1), *large = side_of(r, &q, 1);
	if (!small || !large || (!strcmp(large, "0") && strcmp(small, "0") != 0))
		return false;
	need_products(r, &q);
	note_need(r, base_printf(r->c->arena, "%s <= %s", small, large));
	for (unsigned i = 0; i < 2; i++)
		rows_add_fact(r, i, &q);
	return !r->is_lost;
}
