/*
 * remedy_exact.c - scalars that are what the launch's dimensions show (remedy.h).
 *
 * Where the dimensions are given and no bounds of the scalars are enough, a size is often exactly
 * what the grid has: rows of gridDim.x * blockDim.x elements, as many heads as gridDim.y. Such
 * equations are tried for one scalar, two and three. With each the kernel is analysed
 * anew, with the number in its expressions (pins.c); the search ends at the first that leaves no
 * pair.
 *
 * Misses: sizes that no product of dimensions is.
 * Costs: an analysis each, which ends at its first pair that isn't proven.
 */
#include "prove/remedy.h"

#include <stdlib.h>

#define MAX_EXACT    6 /* scalars */
#define MAX_VALUES   12
#define MAX_TOGETHER 3

struct value {
	const char *text;
	uint64_t n;
};

struct exact {
	struct finder *f;
	const struct names_param *p[MAX_EXACT];
	unsigned nparams;
	struct value v[MAX_VALUES];
	unsigned nvalues;
	uint64_t threads, most; /* of the launch; no more elements in all */
	uint64_t deadline;
	uint64_t patience; /* ms for one try: what is right is mostly decided without the solver */
};

static void add_value(struct exact *x, const char *text, uint64_t n)
{
	for (unsigned i = 0; i < x->nvalues; i++)
		if (x->v[i].n == n)
			return;
	if (n > 1 && n <= INT32_MAX && x->nvalues < MAX_VALUES)
		x->v[x->nvalues++] = (struct value){text, n};
}

/* The likelier first. tile: elements that a block has in x and y, or 0. */
static void find_values(struct exact *x, const uint32_t *tile)
{
	const uint32_t *b = x->f->c->pool->launch.max, *g = b + 3;
	struct base_arena *a = x->f->c->arena;

	add_value(x, "gridDim.x * blockDim.x", (uint64_t)g[0] * b[0]);
	add_value(x, "gridDim.y * blockDim.y", (uint64_t)g[1] * b[1]);
	for (unsigned d = 0; d < 2; d++)
		if (tile[d] > 1)
			add_value(x, base_printf(a, "gridDim.%c * %u", "xy"[d], tile[d]),
				  (uint64_t)g[d] * tile[d]);
	add_value(x, "blockDim.x", b[0]);
	add_value(x, "gridDim.x", g[0]);
	add_value(x, "gridDim.y", g[1]);
	add_value(x, "2 * blockDim.x", 2 * (uint64_t)b[0]);
	add_value(x, "gridDim.z", g[2]);
	add_value(x, "blockDim.y", b[1]);
	add_value(x, "gridDim.y * blockDim.x", (uint64_t)g[1] * b[0]);
	add_value(x, "gridDim.z * blockDim.z", (uint64_t)g[2] * b[2]);
	add_value(x, "gridDim.x * blockDim.x * blockDim.y * blockDim.z",
		  (uint64_t)g[0] * b[0] * b[1] * b[2]);
}

/* Values of some scalars: numbers among x->v, plus 1; 0: it may be any. */
struct choice {
	uint8_t v[MAX_EXACT];
	uint64_t all; /* their product */
	double rank;
	unsigned number;
};

static int by_rank(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct choices {
	BASE_VEC(struct choice) list;
};

static void choose(const struct exact *x, struct choices *out, struct choice now, unsigned from,
		   unsigned left)
{
	if (!left && now.all <= x->most)
		base_vec_push(&out->list, now);
	for (unsigned i = from; left && i + left <= x->nparams; i++)
		for (unsigned k = 0; k < x->nvalues; k++) {
			struct choice next = now;
			next.v[i] = (uint8_t)(k + 1);
			next.all *= x->v[k].n;
			if (next.all <= x->most)
				choose(x, out, next, i + 1, left - 1);
		}
}

/* The likelier values of one size first; several sizes together have as many elements as there are
 * threads, or nearly. */
static double rank_of(const struct exact *x, const struct choice *k, unsigned many)
{
	double part = (double)k->all / (double)x->threads;
	unsigned v = 0;

	for (unsigned i = 0; i < x->nparams; i++)
		v += k->v[i];
	return many == 1 ? v : many + 4 * (part < 1 ? 1 / part - 1 : part - 1);
}

/* The equations that leave nothing, or NULL. */
static const char *try_all(const struct exact *x)
{
	struct check *c = x->f->c;
	struct choices all = {0};
	const char *found = NULL;
	unsigned n = 0;

	for (unsigned many = 1; many <= MAX_TOGETHER && many <= x->nparams; many++) {
		choose(x, &all, (struct choice){.all = 1}, 0, many);
		for (; n < all.list.n; n++) {
			all.list.v[n].rank = rank_of(x, &all.list.v[n], many);
			all.list.v[n].number = n;
		}
	}
	if (all.list.n)
		qsort(all.list.v, all.list.n, sizeof(*all.list.v), by_rank);
	for (size_t i = 0; i < all.list.n && !found && prove_now_ms() < x->deadline; i++) {
		const char *text = NULL;
		for (unsigned k = 0; k < x->nparams; k++) {
			unsigned v = all.list.v[i].v[k];
			const char *one = v ? base_printf(c->arena, "%s == %s", x->p[k]->name,
							  x->v[v - 1].text)
					    : NULL;
			if (one)
				text = text ? base_printf(c->arena, "%s && %s", text, one) : one;
		}
		uint64_t now = prove_now_ms(), most = now + x->patience;
		if (kernel_is_proven_with(c->task, text, most < x->deadline ? most : x->deadline))
			found = text;
	}
	base_vec_free(&all.list);
	return found;
}

void remedy_try_exact(struct finder *f, const uint32_t *tile, const struct names_param *const *p,
		      unsigned n)
{
	const struct ex_launch *l = &f->c->pool->launch;
	struct exact x = {.f = f, .threads = 1};
	struct ev_assume as;

	for (unsigned d = 0; d < 6; d++) {
		if (!l->dim[d] && l->max[d] != 1)
			return;
		x.threads *= l->max[d];
	}
	x.most = 16 * x.threads;
	uint64_t now = prove_now_ms();
	x.deadline = now < x.f->end ? now + (x.f->end - now) / 3 : now;
	x.patience = (x.deadline - now) / 6;
	for (unsigned i = 0; i < n && i < MAX_EXACT; i++)
		x.p[x.nparams++] = p[i];
	find_values(&x, tile);
	const char *found = try_all(&x);
	if (!found || prove_assume_read(&f->c->names, f->c->e, found, &as))
		return;
	struct race_remedy r = {.assume = found, .alarms = (uint32_t)f->pairs.n, .is_all = true};
	r.seen = remedy_is_seen(f->c, &as);
	base_vec_push(&f->c->k->remedies, r);
	f->has_all = true;
}
