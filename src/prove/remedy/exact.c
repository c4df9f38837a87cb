/*
 * exact.c - scalars that are what the launch's dimensions show (remedy.h).
 *
 * Where the dimensions are given and no bounds of the scalars are enough, a size is often exactly
 * what the grid has: rows of gridDim.x * blockDim.x elements, as many heads as gridDim.y. Such
 * equations are tried for one scalar, two and three, with the other scalars small enough that no
 * product of them all wraps; what isn't needed of that is left out again. With each the kernel is
 * analysed anew, with the number in its expressions (pins.c); the search ends at the first that
 * leaves no pair. What is right is mostly decided without the solver, so all are tried without it
 * first, and those that nothing refutes with it then. Of what was found the least sizes are looked
 * for, and whether larger ones do as well: an equation becomes bounds.
 *
 * Misses: sizes that no product of dimensions is.
 * Costs: an analysis each, which ends at its first pair that isn't proven; most of the time left.
 */
#include "prove/remedy/remedy.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EXACT    6 /* scalars */
#define MAX_VALUES   22
#define MAX_TOGETHER 3
#define MAX_TINY     256 /* of a radius, a number of steps */

struct value {
	const char *text;
	uint64_t n;
};

/* Values of some scalars: numbers among x->v, plus 1; 0: it may be any. */
struct choice {
	uint8_t v[MAX_EXACT];
	uint32_t
		most[MAX_EXACT]; /* its value is the least, this the largest; 0: it has just that */
	uint8_t tiny;		 /* other scalars, by bits, that OTHERS_TINY bounds */
	uint64_t all;		 /* their product */
	double rank;
	unsigned number;
};

/* An assumption that was tried; `ms`: with the solver, for so long; 0: without it. */
struct answer {
	const char *text;
	uint64_t ms;
	enum kernel_answer r;
};

#define MAX_KNOWN 128

struct exact {
	struct finder *f;
	const struct names_param *p[MAX_EXACT];
	bool is_bound[MAX_EXACT]; /* conditions compare with it: a small one leaves few threads */
	unsigned nparams, npitches;
	struct value v[MAX_VALUES];
	unsigned nvalues;
	uint64_t threads, most; /* of the launch; no more elements in all */
	uint64_t side;		/* of the launch's threads in x or y, the longer */
	uint64_t deadline;
	uint64_t patience; /* ms for one try */
	struct choice found;
	struct answer known[MAX_KNOWN]; /* what was asked, the latest */
	unsigned nknown;
};

static void add_value(struct exact *x, const char *text, uint64_t n)
{
	for (unsigned i = 0; i < x->nvalues; i++)
		if (x->v[i].n == n)
			return;
	if (n > 1 && n <= INT32_MAX && x->nvalues < MAX_VALUES)
		x->v[x->nvalues++] = (struct value){text, n};
}

/* The likelier first. */
static void find_values(struct exact *x, const struct remedy_tiles *t)
{
	const uint32_t *b = x->f->c->pool->launch.max, *g = b + 3;
	struct base_arena *a = x->f->c->arena;

	if (t->wide[0] > 1 && t->wide[0] != b[0])
		add_value(x, base_printf(a, "gridDim.x * %u", t->wide[0]),
			  (uint64_t)g[0] * t->wide[0]);
	add_value(x, "gridDim.x * blockDim.x", (uint64_t)g[0] * b[0]);
	add_value(x, b[1] > 1 ? "gridDim.y * blockDim.y" : "gridDim.y", (uint64_t)g[1] * b[1]);
	for (unsigned d = 0; d < 2; d++) {
		const uint32_t n[2] = {t->tile[d], t->wide[d]};
		for (unsigned k = 0; k < 2; k++)
			if (n[k] > 1)
				add_value(x, base_printf(a, "gridDim.%c * %u", "xy"[d], n[k]),
					  (uint64_t)g[d] * n[k]);
	}
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
	/* with a border, or one more block */
	add_value(x, "(gridDim.x + 1) * blockDim.x", (uint64_t)(g[0] + 1) * b[0]);
	if (t->wide[0] > 1 && t->wide[0] != b[0])
		add_value(x, base_printf(a, "(gridDim.x + 1) * %u", t->wide[0]),
			  (uint64_t)(g[0] + 1) * t->wide[0]);
	add_value(x, "gridDim.x * blockDim.x + 1", (uint64_t)g[0] * b[0] + 1);
	add_value(x, "gridDim.x * blockDim.x + 2", (uint64_t)g[0] * b[0] + 2);
	if (x->nvalues < MAX_VALUES && !x->f->has_few)
		x->v[x->nvalues++] = (struct value){"1", 1};
}

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
			/* a size of 1 is no use as a bound; as a factor it is */
			if (x->v[k].n == 1 && (x->is_bound[i] || i >= x->npitches))
				continue;
			next.v[i] = (uint8_t)(k + 1);
			next.all *= x->v[k].n;
			if (next.all <= x->most)
				choose(x, out, next, i + 1, left - 1);
		}
}

/* How far is the number of elements from that of the threads, in powers of two, where some
 * dimensions of the grid are no scalar's? */
static double distance_of(const struct exact *x, uint64_t all)
{
	const uint32_t *g = x->f->c->pool->launch.max + 3;
	double least = 0;

	for (unsigned set = 0; set < 8; set++) {
		double part = (double)all / (double)x->threads;
		for (unsigned d = 0; d < 3; d++)
			part *= set >> d & 1 ? g[d] : 1;
		double far = 0;
		for (part = part < 1 ? 1 / part : part; part >= 2; part /= 2)
			far++;
		far += part - 1;
		if (!set || far < least)
			least = far;
	}
	return least;
}

/* Few equations first, sizes of rows and likelier values; several together have as many elements as
 * there are threads, or nearly. */
static double rank_of(const struct exact *x, const struct choice *k, unsigned many)
{
	unsigned pitches = 0, v = 0;

	for (unsigned i = 0; i < x->nparams; i++) {
		v += k->v[i];
		pitches += k->v[i] && i < x->npitches;
	}
	double rank = 0.2 * v + 0.4 * (many - 1);
	rank += x->npitches ? 2 * (many - pitches) : 0;
	rank -= pitches > 1 && pitches == x->npitches ? 0.5
						      : 0; /* no product of unknowns is left */
	return many == 1 ? rank : rank + distance_of(x, k->all);
}

/* The other scalars, how: at least 0, and so small that no product wraps, or at most
 * MAX_TINY; or nothing of them. */
enum others { OTHERS_ANY, OTHERS_POSITIVE, OTHERS_SMALL, OTHERS_TINY };

static const char *text_of(const struct exact *x, const struct choice *k, enum others how)
{
	struct base_arena *a = x->f->c->arena;
	const char *text = NULL, *one;

	for (unsigned i = 0; i < x->nparams; i++) {
		unsigned v = k->v[i];
		one = v ? base_printf(a, "%s %s %s", x->p[i]->name,
				      k->most[i] ? ">=" : "==", x->v[v - 1].text)
			: NULL;
		if (v && k->most[i])
			one = base_printf(a, "%s && %s <= %u", one, x->p[i]->name, k->most[i]);
		if (one)
			text = text ? base_printf(a, "%s && %s", text, one) : one;
	}
	for (unsigned i = 0; i < x->nparams && how != OTHERS_ANY; i++) {
		uint64_t most = i < x->npitches && k->all < x->threads ? x->threads : k->all;
		if (k->v[i])
			continue;
		text = base_printf(a, "%s && %s >= 0", text, x->p[i]->name);
		if (how >= OTHERS_SMALL)
			text = base_printf(a, "%s && %s <= %u", text, x->p[i]->name,
					   how == OTHERS_TINY && k->tiny >> i & 1 &&
							   most <= INT32_MAX / MAX_TINY
						   ? MAX_TINY
						   : (unsigned)(INT32_MAX / most));
	}
	return text;
}

/* Is the answer known? One that is open is asked about again where there is much more time. */
static const struct answer *recall(const struct exact *x, const char *text, uint64_t ms,
				   bool is_quick)
{
	for (unsigned i = 0; i < x->nknown && i < MAX_KNOWN; i++) {
		const struct answer *k = &x->known[i];
		bool is_same = !k->ms == is_quick || k->r == KERNEL_REFUTED ||
			       (k->r == KERNEL_PROVEN && k->ms);
		if (!strcmp(k->text, text) && is_same &&
		    (is_quick || k->r != KERNEL_OPEN || ms < 2 * k->ms))
			return k;
	}
	return NULL;
}

static enum kernel_answer try_one(struct exact *x, const char *text, uint64_t ms, bool is_quick)
{
	uint64_t now = prove_now_ms(), left = x->deadline > now ? x->deadline - now : 0;

	ms = !is_quick && ms > REMEDY_TRY_MS ? REMEDY_TRY_MS : ms;
	ms = ms < left ? ms : left;
	const struct answer *k = recall(x, text, ms, is_quick);
	if (k)
		return k->r;
	enum kernel_answer r = kernel_try_with(x->f->c->task, text, now + ms, is_quick);
	x->known[x->nknown++ % MAX_KNOWN] = (struct answer){text, is_quick ? 0 : ms + 1, r};
	return r;
}

/* Proven by the solver too, which knows whether the assumptions contradict each other: the least of
 * all that the equations need of the other scalars. NULL: it isn't. */
static const char *shortest(struct exact *x, const struct choice *k, bool is_quick)
{
	const char *all = text_of(x, k, OTHERS_SMALL);

	if (is_quick && try_one(x, all, x->patience, false) != KERNEL_PROVEN)
		return NULL;
	for (enum others how = OTHERS_ANY; how < OTHERS_SMALL; how++) {
		const char *text = text_of(x, k, how);
		if (!strcmp(text, all))
			break;
		if (try_one(x, text, x->patience, true) == KERNEL_PROVEN &&
		    try_one(x, text, x->patience, false) == KERNEL_PROVEN)
			return text;
	}
	return all;
}

/* The value that follows n in size, plus 1; 0: there is none. */
static uint8_t next_value(const struct exact *x, uint64_t n)
{
	uint8_t best = 0;

	for (unsigned i = 0; i < x->nvalues; i++)
		if (x->v[i].n > n && (!best || x->v[i].n < x->v[best - 1].n))
			best = (uint8_t)(i + 1);
	return best;
}

/* Rows that are longer than the grid needs are proven, too: the least sizes are what it just
 * fills. (Those that conditions compare with are no shorter than that: fewer threads would
 * prove little.) */
static const char *tightest(struct exact *x, struct choice *k, const char *found)
{
	for (unsigned i = 0; i < x->nparams; i++) {
		uint64_t was = k->v[i] ? x->v[k->v[i] - 1].n : 0;
		uint8_t v = next_value(x, x->is_bound[i] ? x->side - 1 : 0);
		while (v && x->v[v - 1].n < was && prove_now_ms() < x->deadline) {
			struct choice less = *k;
			less.v[i] = v;
			less.all = k->all / was * x->v[v - 1].n;
			const char *text = text_of(x, &less, OTHERS_SMALL);
			enum kernel_answer r = try_one(x, text, x->patience, true);
			text = r != KERNEL_REFUTED ? shortest(x, &less, true) : NULL;
			if (text) {
				found = text;
				*k = less;
				break;
			}
			v = next_value(x, x->v[v - 1].n);
		}
	}
	return found;
}

/*
 * A size of rows that is proven is often a least one: up to what lets no product wrap, where all
 * that the launch's threads access has at most SPREAD elements for each thread. Beside other
 * scalars it is near the least one, which leaves more for them.
 */
#define SPREAD	 16
#define MAX_NEAR 1024

static const char *widest(struct exact *x, struct choice *k, const char *found)
{
	bool is_alone = x->nparams == 1;

	for (unsigned i = 0; i < x->npitches; i++) {
		if (!k->v[i] || prove_now_ms() >= x->deadline)
			continue;
		struct choice more = *k;
		uint64_t least = x->v[k->v[i] - 1].n, rest = k->all / least;
		uint64_t most = INT32_MAX / SPREAD / (x->threads / least + 1);
		uint64_t near = least > MAX_NEAR / 16 ? 16 * least : MAX_NEAR;
		if (!is_alone && most > near)
			most = near;
		if (most > INT32_MAX / SPREAD / rest)
			most = INT32_MAX / SPREAD / rest;
		if (most < 2 * least)
			continue;
		more.most[i] = (uint32_t)most;
		more.all = 4 * rest * most; /* room for sums */
		const char *text = shortest(x, &more, true);
		if (text) {
			found = text;
			*k = more;
		}
	}
	return found;
}

/* Proven where all other scalars are tiny: which need to be? */
static const char *fewest_tiny(struct exact *x, struct choice k)
{
	const char *found = text_of(x, &k, OTHERS_TINY);

	for (unsigned i = 0; i < x->nparams; i++) {
		struct choice more = k;
		more.tiny &= (uint8_t) ~(1u << i);
		const char *text = text_of(x, &more, OTHERS_TINY);
		if (k.v[i] || prove_now_ms() >= x->deadline ||
		    try_one(x, text, x->patience, false) != KERNEL_PROVEN)
			continue;
		found = text;
		k = more;
	}
	return found;
}

/* The equations by the solver: with other scalars that are small, or tiny. */
static const char *try_solver(struct exact *x, struct choice *k, bool *is_open)
{
	for (enum others how = OTHERS_SMALL; how <= OTHERS_TINY; how++) {
		k->tiny = how == OTHERS_TINY ? UINT8_MAX : 0;
		const char *text = text_of(x, k, how);
		uint64_t now = prove_now_ms();
		if (now >= x->deadline ||
		    (how == OTHERS_TINY && !strcmp(text, text_of(x, k, OTHERS_SMALL))))
			return NULL;
		x->patience = (x->deadline - now) / 2;
		if (x->patience < REMEDY_TRY_MS)
			x->patience = REMEDY_TRY_MS;
		enum kernel_answer r = try_one(x, text, x->patience, false);
		if (r == KERNEL_PROVEN)
			return how == OTHERS_TINY ? fewest_tiny(x, *k) : shortest(x, k, false);
		*is_open = r == KERNEL_OPEN;
	}
	return NULL;
}

/* Asks about some of the choices, the likelier first: without the solver until `quick_end`, then
 * those that nothing refuted with it until `end`. What found no answer stays in the list. */
static const char *try_list(struct exact *x, struct choices *list, uint64_t quick_end, uint64_t end)
{
	const char *found = NULL;

	if (list->list.n)
		qsort(list->list.v, list->list.n, sizeof(*list->list.v), by_rank);
	for (unsigned turn = 0; turn < 2 && !found; turn++) {
		size_t open = 0;
		for (size_t i = 0; i < list->list.n && !found; i++) {
			struct choice k = list->list.v[i];
			bool is_open = false;
			if (prove_now_ms() >= (turn ? end : quick_end)) {
				list->list.v[open++] = k;
				continue;
			}
			if (turn) {
				found = try_solver(x, &k, &is_open);
			} else {
				const char *text = text_of(x, &k, OTHERS_SMALL);
				enum kernel_answer r = try_one(x, text, x->patience, true);
				is_open = r == KERNEL_OPEN;
				found = r == KERNEL_PROVEN ? shortest(x, &k, true) : NULL;
			}
			if (found && x->f->last > x->deadline)
				x->deadline = x->f->last;
			if (found && !k.tiny)
				found = widest(x, &k, tightest(x, &k, found));
			x->found = k;
			if (is_open)
				list->list.v[open++] = k;
		}
		list->list.n = open;
	}
	return found;
}

/* The equations that leave nothing, or NULL: one alone, then several. */
static const char *try_all(struct exact *x)
{
	uint64_t start = prove_now_ms(), all_time = x->deadline - start;
	struct choices all = {0};
	const char *found = NULL;

	x->patience = all_time / 4;
	for (unsigned many = 1; many <= MAX_TOGETHER && many <= x->nparams && !found; many++) {
		size_t n = all.list.n;
		choose(x, &all, (struct choice){.all = 1}, 0, many);
		for (; n < all.list.n; n++) {
			all.list.v[n].rank = rank_of(x, &all.list.v[n], many);
			all.list.v[n].number = (unsigned)n;
		}
		bool is_last = many == MAX_TOGETHER || many == x->nparams;
		if (many == 1)
			found = try_list(x, &all, start + all_time / 3,
					 is_last ? x->deadline : start + all_time / 2);
		else if (is_last)
			found = try_list(x, &all, start + all_time * 3 / 4, x->deadline);
	}
	base_vec_free(&all.list);
	return found;
}

/*
 * What was found first isn't always what the program has: one equation of several may be enough
 * with the solver, and of a scalar that has just one value another may do as well. At most MAX_ALSO
 * such assumptions more, in a short time.
 */
#define MAX_ALSO 2
#define ALSO_MS	 900

static bool add_also(struct exact *x, const struct choice *k, bool is_quick)
{
	const char *text = shortest(x, k, is_quick);

	return text && remedy_add(x->f, text);
}

/* One of the equations alone? It becomes the one found. */
static unsigned try_fewer(struct exact *x, uint64_t end)
{
	struct choice all = x->found;
	unsigned many = 0;

	for (unsigned i = 0; i < x->nparams; i++)
		many += all.v[i] != 0;
	for (unsigned i = 0; i < x->nparams && many > 1; i++) {
		struct choice k = {.all = 1};
		if (!all.v[i] || all.most[i] || prove_now_ms() >= end)
			continue;
		k.v[i] = all.v[i];
		k.all = x->v[k.v[i] - 1].n;
		if (try_one(x, text_of(x, &k, OTHERS_SMALL), x->patience, false) != KERNEL_PROVEN)
			continue;
		x->found = k;
		return add_also(x, &k, false);
	}
	return 0;
}

static void try_also(struct exact *x)
{
	uint64_t now = prove_now_ms(), end = now + ALSO_MS;
	unsigned at = 0, found = 0;

	end = end < x->deadline ? end : x->deadline;
	x->patience = REMEDY_TRY_MS;
	found = try_fewer(x, end);
	while (at < x->nparams && (!x->found.v[at] || x->found.most[at]))
		at++;
	if (at == x->nparams)
		return;
	bool is_open[MAX_VALUES] = {false};
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < x->nvalues && found < MAX_ALSO; i++) {
			struct choice k = x->found;
			k.all = k.all / x->v[k.v[at] - 1].n * x->v[i].n;
			k.v[at] = (uint8_t)(i + 1);
			if (prove_now_ms() >= end)
				return;
			if (k.v[at] == x->found.v[at] || k.all > x->most || x->v[i].n == 1 ||
			    (turn && !is_open[i]))
				continue;
			const char *text = text_of(x, &k, OTHERS_SMALL);
			enum kernel_answer r = try_one(x, text, x->patience, !turn);
			is_open[i] = r == KERNEL_OPEN;
			found += r == KERNEL_PROVEN && add_also(x, &k, !turn);
		}
}

/* Is the scalar compared with something, or a divisor? */
static bool is_compared(const struct ex *v, uint64_t off, bool is_side, unsigned depth,
			unsigned *budget)
{
	bool found = v->op == EX_PARAM && v->imm == off && is_side;

	if (depth > 24 || !*budget || v->op == EX_CLOAD)
		return false;
	--*budget;
	is_side = v->op == EX_ULT || v->op == EX_SLT || v->op == EX_UDIV || v->op == EX_SDIV ||
		  v->op == EX_UREM || v->op == EX_SREM ||
		  (is_side &&
		   (v->op == EX_SEXT || v->op == EX_ZEXT || v->op == EX_ADD || v->op == EX_SUB));
	for (uint32_t i = 0; i < v->n && !found; i++)
		found = is_compared(v->a[i], off, is_side, depth + 1, budget);
	return found;
}

void remedy_try_exact(struct finder *f, const struct remedy_tiles *t,
		      const struct names_param *const *p, unsigned n, unsigned npitches)
{
	const struct ex_launch *l = &f->c->pool->launch;
	struct exact x = {.f = f, .npitches = npitches, .threads = 1};

	for (unsigned d = 0; d < 6; d++) {
		if (!l->dim[d] && l->max[d] != 1)
			return;
		x.threads *= l->max[d];
	}
	x.side = (uint64_t)l->max[0] * l->max[3];
	if (x.side < (uint64_t)l->max[1] * l->max[4])
		x.side = (uint64_t)l->max[1] * l->max[4];
	x.most = 16 * x.threads;
	uint64_t now = prove_now_ms();
	x.deadline = now < x.f->end ? now + (x.f->end - now) * 4 / 5 : now;
	for (unsigned i = 0; i < n && i < MAX_EXACT; i++)
		x.p[x.nparams++] = p[i];
	for (unsigned i = 0; i < x.nparams; i++) {
		for (size_t k = 0; k < f->pairs.n; k++) {
			unsigned budget = 400;
			x.is_bound[i] |=
				is_compared(f->pairs.v[k].a->guard, x.p[i]->off, false, 0, &budget);
		}
	}
	find_values(&x, t);
	const char *found = try_all(&x);
	if (found && remedy_add(f, found))
		try_also(&x);
}
