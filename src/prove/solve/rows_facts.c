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
	const struct names_param *p = prove_names_param_of(&r->c->names, v);

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

/* Has p a term like this one, that makes it larger? */
static bool has_more(const struct poly *p, const struct mono *m)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->m[i].times > 0 && poly_is_alike(&p->m[i], m))
			return true;
	return false;
}

/* May a fact's number, as the 64 in m - 64, take a term away? Only times that term, where p has
 * what the fact's other term then is. */
static bool is_number_of_use(const struct poly *p, const struct mono *m, const struct poly *fact)
{
	struct mono x;

	for (unsigned k = 0; k < fact->n && fact->n == 2; k++)
		if (fact->m[k].n && fact->m[k].times > 0 && poly_product(m, &fact->m[k], &x) &&
		    has_more(p, &x))
			return true;
	return false;
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
		    !rows_are_at_least_0(r, t, &by))
			continue;
		if (m->n && !f->n && !is_number_of_use(p, m, fact))
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

int64_t rows_most_in(struct rows *r, unsigned t, const struct ex *v)
{
	int64_t most = v->hi <= INT32_MAX ? (int64_t)v->hi : -1;

	for (unsigned i = 0; i < r->side[t].n; i++) {
		const struct poly *f = &r->side[t].fact[i];
		unsigned at = f->n && f->m[0].n == 0;
		if (f->n != 2 || f->m[!at].n || f->m[at].n != 1 || f->m[at].atom[0] != v ||
		    f->m[at].times >= 0 || f->m[!at].times < 0)
			continue;
		int64_t n = f->m[!at].times / -f->m[at].times;
		if (most < 0 || n < most)
			most = n;
	}
	return rows_is_at_least_0(r, t, v) ? most : -1;
}

/* The largest that it may be with a sign, and 1. */
static double most_of(struct rows *r, unsigned t, const struct ex *v)
{
	uint64_t half = prove_ex_mask(v->w) >> 1;
	struct rows_needs *needs = r->needs;

	r->needs = NULL; /* nothing becomes one here */
	int64_t known = rows_most_in(r, t, v);
	r->needs = needs;
	if (known >= 0)
		return (double)known + 1;
	return (double)(v->hi < half ? v->hi : half) + 1;
}

/* How large a term of thread t's may be; where a fact bounds some of its factors, by that. */
double rows_size_of(struct rows *r, unsigned t, const struct mono *m)
{
	double all = m->times < 0 ? -(double)m->times : (double)m->times, least;

	for (unsigned i = 0; i < m->n; i++)
		all *= most_of(r, t, m->atom[i]);
	least = all;
	for (unsigned k = 0; k < r->side[t].n; k++) {
		const struct poly *f = &r->side[t].fact[k];
		const struct mono *some = NULL;
		struct mono by;
		double most = 0;
		for (unsigned x = 0; x < f->n && f->n == 2; x++) {
			if (!f->m[x].n)
				most = (double)f->m[x].times;
			else if (f->m[x].n >= 2 && f->m[x].times < 0)
				some = &f->m[x];
		}
		if (!some || most <= 0 || !poly_quotient(m, some, &by))
			continue;
		double x = most * (m->times < 0 ? -(double)m->times : (double)m->times);
		for (unsigned i = 0; i < by.n; i++)
			x *= most_of(r, t, by.atom[i]);
		least = x < least ? x : least;
	}
	return least;
}

/* Is p 0 or more in thread t, as its number is more than all other terms can take away? Of numbers
 * that are what a word can hold. */
static bool is_bounded(struct rows *r, unsigned t, const struct poly *p)
{
	struct rows_needs *needs = r->needs;
	double number = 0, all = 0;
	bool is = true;

	for (unsigned i = 0; i < p->n; i++)
		number = p->m[i].n ? number : (double)p->m[i].times;
	if (number < INT32_MAX / 2)
		return false;
	r->needs = NULL; /* nothing becomes one here */
	for (unsigned i = 0; i < p->n && is; i++) {
		is = rows_are_at_least_0(r, t, &p->m[i]);
		if (p->m[i].times < 0)
			all += rows_size_of(r, t, &p->m[i]);
	}
	r->needs = needs;
	return is && number > all * (1 + 1e-9); /* what numbers of this size lose is less */
}

bool rows_is_shown(struct rows *r, unsigned t, const struct poly *p, unsigned depth)
{
	const struct mono *m = worst(r, t, p);

	if (!m || is_bounded(r, t, p))
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
		if (!p->m[i].n && k > INT32_MAX && k <= UINT32_MAX)
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

/* A factor of 64 bits, as a pitch in bytes, is no larger than others. */
static void need_narrow(struct rows *r, const struct ex *v)
{
	struct mono one = {.times = -1, .n = 1, .atom = {v}};
	struct poly q = {.n = 0};

	if (v->w < 64)
		return;
	poly_add_mono(&q, &one, 1);
	note_need(r, base_printf(r->c->arena, "%s <= %d", side_of(r, &q, -1), INT32_MAX));
	poly_add_number(&q, INT32_MAX);
	for (unsigned t = 0; t < 2; t++)
		rows_add_fact(r, t, &q);
}

/* Products are exact in 64 bits where those of their first factors are bounded, one by one: a * b,
 * then a * b * c. */
static void need_products(struct rows *r, const struct poly *p)
{
	double share = ROWS_EXACT / (p->n ? p->n : 1);

	for (unsigned i = 0; i < p->n; i++) {
		const struct mono *m = &p->m[i];
		for (unsigned k = 0; k < m->n && m->n > 1; k++)
			need_narrow(r, m->atom[k]);
		for (unsigned k = 2; k < (m->n > 2 ? m->n : 3) && k <= m->n; k++) {
			struct mono first = {.times = -1, .n = k};
			double size = rows_size_of(r, 0, m), most = INT32_MAX;
			struct poly q = {.n = 0};
			if (size < share)
				break;
			memcpy(first.atom, m->atom, k * sizeof(*m->atom));
			if (k + 1 == m->n) { /* the last leaves the number and the others room */
				double times = m->times < 0 ? -(double)m->times : (double)m->times;
				most = share / times / most_of(r, 0, m->atom[k]);
				most = most < INT32_MAX ? most : INT32_MAX;
			}
			poly_add_mono(&q, &first, 1);
			note_need(r, base_printf(r->c->arena, "%s <= %d", side_of(r, &q, -1),
						 (int)most));
			poly_add_number(&q, (int64_t)most);
			for (unsigned t = 0; t < 2; t++)
				rows_add_fact(r, t, &q);
		}
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
