/*
 * rows.c - all that rows, planes and pitches need, as one assumption (remedy.h).
 *
 * A conjunction is asked about as a whole: what rows.c says it lacks, or a shape's parts; then each
 * part is left out that isn't needed.
 */
#include "prove/remedy/remedy.h"

#include <stdlib.h>
#include <string.h>

/* ---- tiles ----------------------------------------------------------------------------------- */

/* By how much an offset grows with this register, where one factor says it; 0: it isn't there. */
static uint64_t factor_of(const struct ex *v, enum prove_ex_spec spec, unsigned depth)
{
	if (v->op == EX_SPEC)
		return v->imm == (uint64_t)spec;
	if (depth > 20 || v->op == EX_ITE || v->op == EX_CLOAD)
		return 0;
	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t in = factor_of(v->a[i], spec, depth + 1);
		const struct ex *other = v->n == 2 ? v->a[1 - i] : NULL;

		if (in && other && v->op == EX_MUL && other->op == EX_CONST)
			return in * other->imm;
		if (in && i == 0 && v->op == EX_SHL && other->op == EX_CONST && other->imm < 32)
			return in << other->imm;
		if (in)
			return in;
	}
	return 0;
}

/* The tile's size in a dimension: an index blockIdx.x * 32 + threadIdx.x is meant for blocks of at
 * most 32 threads. 0: there is none. */
uint32_t remedy_tile_of(const struct finder *f, unsigned d)
{
	for (size_t i = 0; i < f->pairs.n; i++) {
		const struct ex *off = f->pairs.v[i].a->off;
		uint64_t block = factor_of(off, (enum prove_ex_spec)(EX_CTAID_X + d), 0);
		uint64_t thread = factor_of(off, (enum prove_ex_spec)(EX_TID_X + d), 0);

		if (thread && block > thread && block % thread == 0 && block / thread <= 8192)
			return (uint32_t)(block / thread);
	}
	return 0;
}

/* Elements between a block's and the next one's in a dimension, where an index has no threads of
 * its own factor: blockIdx.x * 128 + threadIdx.x / 16 * 8. */
uint32_t remedy_width_of(const struct finder *f, unsigned d)
{
	for (size_t i = 0; i < f->pairs.n; i++) {
		const struct ev_access *a = f->pairs.v[i].a;
		uint64_t block = factor_of(a->off, (enum prove_ex_spec)(EX_CTAID_X + d), 0);

		if (block > a->mem->bytes && block % a->mem->bytes == 0 && block <= 65536)
			return (uint32_t)(block / a->mem->bytes);
	}
	return 0;
}

/* ---- a matrix -------------------------------------------------------------------------------- */

/* The scalar that an offset has in a product with something that isn't a number: the pitch of rows,
 * as in y * n + x. */
const struct names_param *remedy_pitch_in(const struct finder *f, const struct ex *v,
					  bool is_factor, unsigned depth)
{
	const struct names_param *found = NULL;
	bool is_product = v->op == EX_MUL && v->a[0]->op != EX_CONST && v->a[1]->op != EX_CONST;

	if (is_factor)
		found = prove_names_param_of(&f->c->names, v);
	if (v->op == EX_PARAM || depth > 20)
		return found && prove_names_is_scalar(found) && found->bytes == 4 ? found : NULL;
	for (uint32_t i = 0; i < v->n && !found; i++)
		found = remedy_pitch_in(f, v->a[i], is_factor || is_product, depth + 1);
	return found;
}

/* Rows that don't overlap, as no index wraps: a matrix of less than 2^31 elements. Where no
 * condition of the kernel keeps the columns in their row (`is_whole`), the grid does. Blocks may be
 * a part of the tile high. */
static bool try_matrix(struct finder *f, const uint32_t *tile, uint32_t part, bool is_whole)
{
	struct base_arena *a = f->c->arena;
	const struct names_param *pitch = NULL, *rows;
	const char *all = base_printf(a, "blockDim.x <= %u", tile[0]), *s;

	if (tile[1] / part > 1)
		all = base_printf(a, "%s && blockDim.y <= %u", all, tile[1] / part);
	for (size_t i = 0; i < f->pairs.n && !pitch; i++)
		pitch = remedy_pitch_in(f, f->pairs.v[i].a->off, false, 0);
	for (uint32_t i = 0; pitch && i <= f->c->names.nparams; i++) {
		rows = i ? &f->c->names.param[i - 1] : pitch; /* a square first */
		if ((i && rows == pitch) || !prove_names_is_scalar(rows) || rows->bytes != 4)
			continue;
		s = base_printf(a, "%s && %s >= 0 && %s * %s <= %d", all, pitch->name, pitch->name,
				rows->name, INT32_MAX);
		if (rows != pitch)
			s = base_printf(a, "%s && %s >= 0", s, rows->name);
		if (!is_whole)
			s = base_printf(a, "%s && gridDim.x <= %u", s, INT32_MAX / tile[0]);
		else
			s = base_printf(a, "%s && gridDim.x * %u <= %s", s, tile[0], pitch->name);
		if (is_whole && tile[1])
			s = base_printf(a, "%s && gridDim.y * %u <= %s", s, tile[1], rows->name);
		if (remedy_try(f, s))
			return true;
	}
	return f->has_all;
}

bool remedy_try_rows(struct finder *f, const uint32_t *tile, uint32_t part)
{
	if (tile[0] < 2 || (part > 1 && tile[1] / part < 2))
		return false;
	return try_matrix(f, tile, part, false) || try_matrix(f, tile, part, true);
}

/* ---- all that rows need ---------------------------------------------------------------------- */

#define MAX_SCALARS 5
#define MAX_PARTS   40

/* A conjunction, the parts that are missed least first. */
struct parts {
	const char *text[MAX_PARTS];
	bool is_out[MAX_PARTS], is_needed[MAX_PARTS]; /* the others alone let a launch race */
	unsigned n;
	bool is_anew; /* the kernel is analysed with them in its expressions (pins.c) */
};

static void add_part(struct parts *p, const char *text)
{
	if (p->n < MAX_PARTS)
		p->text[p->n++] = text;
}

static bool removes_all(struct finder *f, const struct parts *p, const char **text,
			bool *is_refuted)
{
	struct ev_assume as;

	*is_refuted = false;
	*text = NULL;
	for (unsigned i = 0; i < p->n; i++)
		if (!p->is_out[i])
			*text = *text ? base_printf(f->c->arena, "%s && %s", *text, p->text[i])
				      : p->text[i];
	if (!*text || !remedy_may_try(f))
		return false;
	if (p->is_anew) {
		f->tries++;
		return kernel_try_with(f->c->task, *text, f->deadline, true) == KERNEL_PROVEN;
	}
	return !prove_assume_read(&f->c->names, f->c->e, *text, &as) &&
	       remedy_removes_all(f, &as, is_refuted);
}

/* Leaves out what isn't needed. */
static void leave_out(struct finder *f, struct parts *p, const char **best)
{
	const char *text;

	for (unsigned i = 0; i < p->n && remedy_may_try(f); i++) {
		if (p->is_out[i] || p->is_needed[i])
			continue;
		p->is_out[i] = true;
		if (removes_all(f, p, &text, &p->is_needed[i]))
			*best = text;
		else
			p->is_out[i] = false;
	}
}

#define LEAVE_MS 400

/* Tries all of it, and leaves out what isn't needed: where the solver isn't needed for all, without
 * it first; is_quick: then it is asked for a short time. True: it takes all alarms away. */
static bool try_parts(struct finder *f, struct parts *p, bool is_quick)
{
	struct check *c = f->c;
	uint64_t was = f->deadline, now;
	bool is_refuted;
	const char *best;

	c->trial.is_quick = true;
	bool is = removes_all(f, p, &best, &is_refuted);
	if (!is && is_quick) {
		p->is_anew = true;
		is = removes_all(f, p, &best, &is_refuted);
	}
	if (is)
		leave_out(f, p, &best);
	c->trial.is_quick = false;
	if (!is && !is_quick && !is_refuted)
		is = removes_all(f, p, &best, &is_refuted);
	if (!is)
		return false;
	now = prove_now_ms();
	if (is_quick && now + LEAVE_MS < was)
		c->deadline = f->deadline = now + LEAVE_MS;
	if (!p->is_anew)
		leave_out(f, p, &best);
	c->deadline = f->deadline = was;
	return remedy_add(f, best);
}

struct scalars {
	const struct names_param *v[MAX_SCALARS];
	bool is_pitch[MAX_SCALARS]; /* a factor of something that isn't a number */
	unsigned n;
};

static void add_scalars(struct finder *f, const struct ex *v, bool is_factor, unsigned depth,
			unsigned *budget, struct scalars *s)
{
	bool is_product = v->op == EX_MUL && v->a[1]->op != EX_CONST;

	if (depth > 20 || !*budget)
		return;
	--*budget;
	const struct names_param *p = prove_names_param_of(&f->c->names, v);
	if (p && prove_names_is_scalar(p)) {
		unsigned i = 0;
		while (i < s->n && s->v[i] != p)
			i++;
		if (i == s->n && i < MAX_SCALARS)
			s->v[s->n++] = p;
		if (i < MAX_SCALARS)
			s->is_pitch[i] |= is_factor;
	}
	/* what comes from memory says nothing of rows */
	for (uint32_t i = 0; i < v->n && v->op != EX_CLOAD; i++)
		add_scalars(f, v->a[i], is_factor || is_product, depth + 1, budget, s);
}

/* The scalars of the offsets and of the conditions. */
static void find_scalars(struct finder *f, struct scalars *s)
{
	for (size_t i = 0; i < f->pairs.n; i++) {
		const struct ev_access *a[2] = {f->pairs.v[i].a, f->pairs.v[i].b};
		for (unsigned t = 0; t < 2; t++) {
			unsigned budget = 400;
			add_scalars(f, a[t]->off, false, 0, &budget, s);
			budget = 400;
			struct scalars in_guard = *s;
			add_scalars(f, a[t]->guard, false, 0, &budget, &in_guard);
			memcpy(in_guard.is_pitch, s->is_pitch, sizeof(s->is_pitch));
			*s = in_guard;
		}
	}
}

unsigned remedy_scalars(struct finder *f, const struct names_param **out, unsigned most,
			unsigned *npitches)
{
	struct scalars s = {.n = 0};
	unsigned n = 0;

	find_scalars(f, &s);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < s.n && n < most; i++)
			if (s.is_pitch[i] == !turn)
				out[n++] = s.v[i];
		if (!turn)
			*npitches = n;
	}
	return n;
}

/* What rows may need: the parts of a shape. */
enum {
	ROWS_FIT = 1,  /* what bounds a column is at most the pitch */
	ROWS_TILE = 2, /* blocks are no larger than their tile */
	ROWS_AREA = 4, /* what the conditions count has less than 2^31 elements */
	ROWS_GRID = 8, /* so has the grid, whose columns fit into the pitch */
	ROWS_LINE = 16 /* a row for each block */
};

static void add_fits(struct finder *f, const struct scalars *s, unsigned i, struct parts *p)
{
	const char *pitch = s->v[i]->name;

	for (unsigned k = 0; k < s->n; k++) {
		if (s->is_pitch[k])
			continue;
		if (s->v[i]->bytes == 8) /* of bytes */
			add_part(p, base_printf(f->c->arena, "%s * %u <= %s", s->v[k]->name,
						(unsigned)f->pairs.v[0].a->mem->bytes, pitch));
		else
			add_part(p, base_printf(f->c->arena, "%s <= %s", s->v[k]->name, pitch));
	}
}

static void add_areas(struct finder *f, const struct scalars *s, unsigned i, struct parts *p)
{
	struct base_arena *a = f->c->arena;
	const char *pitch = s->v[i]->name;

	for (unsigned k = 0; k < s->n; k++) {
		if (k == i || (s->is_pitch[k] && k > i))
			continue;
		for (unsigned m = 0; m < s->n && s->is_pitch[k]; m++)
			if (!s->is_pitch[m])
				add_part(p, base_printf(a, "%s * %s * %s <= %d", s->v[k]->name,
							pitch, s->v[m]->name, INT32_MAX));
		add_part(p, base_printf(a, "%s * %s <= %d", pitch, s->v[k]->name, INT32_MAX));
	}
}

static void try_one_shape(struct finder *f, const struct scalars *s, const uint32_t *tile,
			  unsigned which)
{
	static const char dim[] = {'x', 'y', 'z'};
	struct base_arena *a = f->c->arena;
	struct parts p = {.n = 0};

	for (unsigned i = 0; i < s->n; i++) {
		if (!s->is_pitch[i])
			continue;
		if (which & ROWS_GRID) {
			add_part(&p, base_printf(a, "gridDim.x * blockDim.x <= %s", s->v[i]->name));
			add_part(&p, base_printf(a, "%s * gridDim.y * blockDim.y <= %d",
						 s->v[i]->name, INT32_MAX));
		}
		if (which & ROWS_FIT)
			add_fits(f, s, i, &p);
		if (which & ROWS_LINE)
			add_part(&p,
				 base_printf(a, "%s * gridDim.x <= %d", s->v[i]->name, INT32_MAX));
		if (which & ROWS_AREA)
			add_areas(f, s, i, &p);
	}
	for (unsigned d = 0; d < 3 && which & ROWS_TILE; d++) {
		if (tile[d] < 2)
			continue;
		if (f->c->pool->launch.max[3 + d] > INT32_MAX / tile[d])
			add_part(&p,
				 base_printf(a, "gridDim.%c <= %u", dim[d], INT32_MAX / tile[d]));
		if (f->c->pool->launch.max[d] > tile[d])
			add_part(&p, base_printf(a, "blockDim.%c <= %u", dim[d], tile[d]));
	}
	for (unsigned i = 0; i < s->n; i++)
		add_part(&p, base_printf(a, "%s >%s 0", s->v[i]->name,
					 which & (ROWS_FIT | ROWS_GRID) ? "=" : ""));
	try_parts(f, &p, false);
}

/* All that rows, planes and pitches need at once; what isn't needed is left out again. */
void remedy_try_shapes(struct finder *f, const uint32_t *tile)
{
	static const uint8_t shapes[] = {ROWS_AREA, ROWS_LINE, ROWS_FIT | ROWS_AREA, ROWS_GRID};
	struct scalars s = {.n = 0};
	bool has_pitch = false, has_tile = tile[0] >= 2 || tile[1] >= 2;

	find_scalars(f, &s);
	for (unsigned i = 0; i < s.n; i++)
		has_pitch |= s.is_pitch[i];
	f->c->trial.is_hasty = true;
	for (size_t i = 0; i < BASE_COUNTOF(shapes) && has_pitch && !f->has_all; i++)
		try_one_shape(f, &s, tile, shapes[i] | (has_tile ? ROWS_TILE : 0));
	f->c->trial.is_hasty = false;
}

/* Does a part of it want a size that is larger than the launch? Equations may say better, then. */
static bool asks_much(const struct finder *f, const struct parts *p)
{
	const uint32_t *n = f->c->pool->launch.max;
	uint64_t x = (uint64_t)n[0] * n[3], y = (uint64_t)n[1] * n[4];
	bool is = false;

	for (unsigned i = 0; i < p->n; i++) {
		char *end;
		uint64_t least = strtoull(p->text[i], &end, 10);
		is |= !p->is_out[i] && !strncmp(end, " <= ", 4) && least > (x > y ? x : y);
	}
	return is;
}

/* What rows.c lacks of all pairs, as far as it can say so. */
void remedy_try_needs(struct finder *f)
{
	struct check *c = f->c;
	struct rows_needs needs = {.n = 0};
	struct race_proof_counts counts = c->k->counts;
	struct parts p = {.n = 0};
	bool has_failed = false;

	c->trial.is_on = true;
	c->trial.needs = &needs;
	for (size_t i = 0; i < f->pairs.n && !has_failed; i++)
		has_failed = !prove_one_pair(c, f->pairs.v[i].a, f->pairs.v[i].b);
	c->trial.is_on = false;
	c->trial.needs = NULL;
	c->k->counts = counts;
	for (unsigned i = 0; i < needs.n; i++)
		add_part(&p, needs.text[i]);
	/* each pair was shown without the solver */
	if (p.n && !has_failed && try_parts(f, &p, true) && asks_much(f, &p)) {
		f->has_few = true;
		f->has_all = false;
	}
}

/* ---- small sizes ----------------------------------------------------------------------------- */

/* "0 to most" of the scalars that aren't left out. NULL: there is none. */
static const char *bounds_of(struct finder *f, const struct scalars *s, const bool *is_out,
			     unsigned most)
{
	const char *text = NULL;

	for (unsigned i = 0; i < s->n; i++) {
		if (is_out[i])
			continue;
		const char *one = base_printf(f->c->arena, "%s >= 0 && %s <= %u", s->v[i]->name,
					      s->v[i]->name, most);
		text = text ? base_printf(f->c->arena, "%s && %s", text, one) : one;
	}
	return text;
}

#define SMALL_MS 400 /* what is proven of small sizes is so soon */

static enum kernel_answer try_bounds(struct finder *f, const char *text, bool is_quick)
{
	uint64_t most = prove_now_ms() + SMALL_MS;

	return kernel_try_with(f->c->task, text, most < f->deadline ? most : f->deadline, is_quick);
}

/*
 * Where no product of sizes wraps, nor a sum that a loop counts up, much is proven that no needs of
 * rows say: all scalars from 0 to a number that leaves room for their product. Which need to be?
 */
void remedy_try_small(struct finder *f, bool is_quick)
{
	static const unsigned most[MAX_SCALARS] = {1 << 20, 16384, 1024, 128, 64};
	struct scalars s = {.n = 0};
	bool is_out[MAX_SCALARS] = {false};

	find_scalars(f, &s);
	if (!s.n)
		return;
	unsigned bound = most[s.n - 1];
	const char *found = bounds_of(f, &s, is_out, bound);
	if (try_bounds(f, found, is_quick) != KERNEL_PROVEN)
		return;
	for (unsigned i = 0; i < s.n; i++) {
		is_out[i] = true;
		const char *text = bounds_of(f, &s, is_out, bound);
		if (text && try_bounds(f, text, is_quick) == KERNEL_PROVEN)
			found = text;
		else
			is_out[i] = false;
	}
	f->has_few |= remedy_add(f, found);
	f->has_all = false; /* the program's sizes may be others */
}
