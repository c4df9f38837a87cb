/*
 * values.c - assumptions about indices that are read from memory (remedy.h).
 *
 * The array that an index is read from is a permutation, or sorted; a variable of the program that
 * holds one is another in each thread, or a place that belongs to it with a count.
 *
 * Misses: indices that are computed of what two arrays hold.
 * Costs: two tries for each pair, one for each variable, or two of them, from memory.
 */
#include "prove/remedy/remedy.h"

static const struct ex *find_load(const struct ex *v, unsigned depth)
{
	if (v->op == EX_CLOAD || depth > 20)
		return v->op == EX_CLOAD ? v : NULL;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct ex *r = find_load(v->a[i], depth + 1);
		if (r)
			return r;
	}
	return NULL;
}

/* The name of the array that something is loaded from, as --assume takes it; or NULL. */
static const char *array_of(struct check *c, const struct ex *load)
{
	struct ev_root r = prove_ev_find_root(c->e, load->a[0], IR_GENERIC);

	if (r.kind == EV_ROOT_OBJECT || r.kind == EV_ROOT_CONST) {
		const struct ptx_str *n = &c->e->ir->objects.v[r.id].name;
		return race_demangle(c->arena, base_strndup(c->arena, n->p, n->n));
	}
	const struct names_param *p =
		r.kind == EV_ROOT_PARAM ? prove_names_param_at(&c->names, r.id) : NULL;
	return p ? p->name : NULL;
}

/* May the value be another in each thread of the launch, as far as that is given? A flag can't. */
static bool has_enough(const struct check *c, const struct ex *v)
{
	uint64_t threads = 1;

	for (unsigned d = 0; d < 6; d++)
		threads *= c->pool->launch.dim[d] ? c->pool->launch.dim[d] : 1;
	return v->hi - v->lo >= threads - 1;
}

/* Where either is enough, the program may have the one or the other. */
static bool try_array(struct finder *f, const char *array)
{
	struct base_arena *a = f->c->arena;
	bool has = remedy_try(f, base_printf(a, "injective(%s)", array));

	f->has_all = false;
	f->has_all = remedy_try(f, base_printf(a, "sorted(%s)", array)) || has;
	return f->has_all;
}

/* Of so many variables from memory each two may be a place and a count. */
#define MAX_COUNTED 3

void remedy_try_values(struct finder *f)
{
	struct check *c = f->c;

	for (size_t i = 0; i < f->pairs.n; i++) {
		const struct ev_access *a = f->pairs.v[i].a;
		const struct ex *load = find_load(a->off, 0);
		const char *array = load ? array_of(c, load) : NULL;
		if (array && try_array(f, array))
			return;
		/* an exact index is the same, whatever else the threads read */
		if (!a->off->is_approx && !f->pairs.v[i].b->off->is_approx)
			continue;
		struct names_var vars[RACE_ALARM_VARS];
		uint32_t all = prove_names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS);
		uint32_t n = 0;
		for (uint32_t k = 0; k < all && c->e->ir->steps.v[a->index].call == 0; k++)
			if (vars[k].value && vars[k].value->is_approx)
				vars[n++] = vars[k];
		for (uint32_t k = 0; k < n; k++)
			if (has_enough(c, vars[k].value) &&
			    remedy_try(f, base_printf(c->arena, "distinct(%s)", vars[k].name)))
				return;
		for (uint32_t k = 0; k < n * n && n <= MAX_COUNTED; k++)
			if (k / n != k % n &&
			    remedy_try(f, base_printf(c->arena, "apart(%s, %s)", vars[k / n].name,
						      vars[k % n].name)))
				return;
	}
}
