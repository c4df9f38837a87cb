/*
 * powers.c - proofs by cases, where an assumption says that a parameter is a power of two, or one
 * of a few numbers (check.h).
 *
 * Butterflies, sorting networks and transforms index by i & (stride - 1) and the like, with a
 * stride that is a power of two, of which there are 32. With each as a number in its expressions
 * (pins.c) the kernel is mostly decided without the solver, so all cases are asked about before the
 * pairs are. An assumption (stride & stride - 1) == 0 about every launch is what says so; where an
 * index is masked so and nothing is assumed, that is a remedy.
 *
 * A number of steps (a pyramid's height, the logarithm of a size) decides how loops and their
 * guards belong together. Where an assumption leaves it at most MAX_FEW values and the pairs aren't
 * proven for all of them at once, each is asked about as a number, too.
 *
 * Misses: two such parameters at once; kernels with counters of blocks or tickets, whose proofs
 * rest on more than the dimensions and scalars; what is proven so has no sites that need no check.
 * Costs: an analysis for each case, at most half of the time that is left; REMEDY_MS for a remedy.
 */
#include "prove/check.h"

#define REMEDY_MS   400
#define LEAST_RANGE 16 /* from the least proven value to the greatest */
#define MAX_FEW	    32
#define LEAST_FEW   4 /* values that are worth an assumption */

/* The parameter, of 32 bits and perhaps widened, or NULL. */
static const struct ex *param_of(const struct ex *v)
{
	if (v->op == EX_SEXT || v->op == EX_ZEXT)
		v = v->a[0];
	return v->op == EX_PARAM && v->w == 32 ? v : NULL;
}

/* x & (x - 1), in either order */
static const struct ex *power_in(const struct ex *v)
{
	if (v->op != EX_AND)
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		const struct ex *x = v->a[i], *less = v->a[1 - i];
		if (less->op == EX_ADD && less->a[0] == x && less->a[1]->op == EX_CONST &&
		    less->a[1]->imm == prove_ex_mask(x->w))
			return param_of(x);
	}
	return NULL;
}

static const struct ex *find_in(const struct ex *f, unsigned depth)
{
	const struct ex *found = NULL;

	if (depth > 64 || f->n != 2)
		return NULL;
	if (f->op == EX_AND && f->w == 1) {
		found = find_in(f->a[0], depth + 1);
		return found ? found : find_in(f->a[1], depth + 1);
	}
	for (unsigned i = 0; i < 2 && f->op == EX_EQ && !found; i++)
		if (f->a[i]->op == EX_CONST && !f->a[i]->imm)
			found = power_in(f->a[1 - i]);
	return found;
}

static const struct ex *find_power(const struct ev *e)
{
	const struct ex *found = NULL;

	for (size_t i = 0; i < e->assumes.n && !found; i++) {
		const struct ev_assume *as = &e->assumes.v[i];
		if (as->kind == IR_ASSUME_FACT && prove_ev_is_everywhere(as))
			found = find_in(as->fact, 0);
	}
	return found;
}

static const char *powers_text(struct check *c, const struct names_param *p, uint64_t v)
{
	return base_printf(c->arena, "%s == %lld", p->name,
			   p->is_signed ? (long long)(int32_t)v : (long long)v);
}

/* Does an assumption about every launch deny this value? */
static bool is_denied(struct check *c, const struct ex *x, uint64_t v)
{
	const struct ex *n = prove_ex_const(c->pool, x->w, v);

	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind != IR_ASSUME_FACT || !prove_ev_is_everywhere(as))
			continue;
		const struct ex *f = prove_ex_replace(c->pool, as->fact, x, n);
		if (f->op == EX_CONST && !f->imm)
			return true;
	}
	return false;
}

/* Their proofs rest on more than the launch. */
static bool has_counters(const struct ev *e)
{
	for (size_t i = 0; i < e->tickets.n; i++)
		if (e->tickets.v[i].mem->rmw == IR_RMW_ADD ||
		    e->tickets.v[i].mem->rmw == IR_RMW_INC)
			return true;
	return false;
}

/* With one more assumption, and nothing that rests on what memory holds at first: a proof of the
 * trial doesn't say whether it made use of that. */
static enum kernel_answer try_with(struct check *c, const char *assume, uint64_t end, bool is_quick)
{
	struct prove_options own = *c->task->o;
	struct kernel_task t = *c->task;

	own.any_contents = true;
	t.o = &own;
	return kernel_try_with(&t, assume, end, is_quick);
}

bool powers_are_proven(struct check *c)
{
	const struct ex *x = find_power(c->e);
	const struct names_param *p = x ? prove_names_param_of(&c->names, x) : NULL;
	uint64_t now = prove_now_ms(), end = now + (c->deadline - now) / 2;
	unsigned proven = 0;

	if (!p || p->bytes != 4 || c->task->trial || has_counters(c->e) || now >= c->deadline)
		return false;
	/* 0 is no power of two, but passes the test */
	for (uint64_t v = 0; v <= 1u << 31; v = v ? 2 * v : 1) {
		if (is_denied(c, x, v))
			continue;
		if (try_with(c, powers_text(c, p, v), end, false) != KERNEL_PROVEN)
			return false;
		proven++;
	}
	return proven > 0;
}

/* Without the solver where that is enough. */
static bool is_case_proven(struct check *c, const char *text, uint64_t end)
{
	enum kernel_answer r = try_with(c, text, end, true);

	return r == KERNEL_PROVEN ||
	       (r == KERNEL_OPEN && try_with(c, text, end, false) == KERNEL_PROVEN);
}

/* For each value that the assumptions leave this parameter? */
static bool is_proven_for(struct check *c, const struct ex_pin *x, uint64_t end)
{
	const struct names_param *p = prove_names_param_at(&c->names, x->off);
	const struct ex *leaf = prove_ex_any_param(c->pool, x->w, x->off);
	unsigned proven = 0;

	if (!p || p->off != x->off || p->is_struct || p->is_pointer || p->is_float ||
	    p->bytes != 4 || x->w != 32)
		return false;
	for (uint64_t v = x->lo; v <= x->hi; v++) {
		if (is_denied(c, leaf, v))
			continue;
		if (!is_case_proven(c, powers_text(c, p, v), end))
			return false;
		proven++;
	}
	return proven > 0;
}

bool powers_few_are_proven(struct check *c)
{
	struct ex_pin pin[EX_MAX_PINS];
	uint32_t n = prove_pins_find(c->e, pin);
	uint64_t now = prove_now_ms(), end = now + (c->deadline - now) / 2;
	bool is = false;

	if (c->task->trial || now >= c->deadline || has_counters(c->e))
		return false;
	for (uint32_t i = 0; i < n && !is; i++)
		if (pin[i].hi > pin[i].lo && pin[i].hi - pin[i].lo < MAX_FEW)
			is = is_proven_for(c, &pin[i], end);
	return is;
}

void powers_skip_pairs(struct check *c)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		c->is_open[i] = true; /* no site of it needs no check */
		for (size_t k = i; k < c->e->accesses.n; k++) {
			c->pair = (struct check_pair){.a = &c->e->accesses.v[i],
						      .b = &c->e->accesses.v[k]};
			prove_quick_may_alias(c); /* which arrays it takes to be apart */
		}
	}
}

/* ---- as a remedy ----------------------------------------------------------------------------- */

/* The parameter in x & (n / 2 - 1) and the like. */
static const struct ex *masked_in(const struct ex *v, bool is_less, unsigned depth)
{
	const struct ex *found = v->op == EX_PARAM && is_less ? v : NULL;

	if (depth > 24 || v->op == EX_CLOAD || v->op == EX_PARAM)
		return found;
	is_less &= v->op != EX_AND;
	for (uint32_t i = 0; i < v->n && !found; i++) {
		const struct ex *a = v->a[i];
		bool is_mask = v->op == EX_AND && v->w > 1 && a->op == EX_ADD &&
			       a->a[1]->op == EX_CONST && a->a[1]->imm == prove_ex_mask(a->w);
		found = masked_in(a, is_less || is_mask, depth + 1);
	}
	return found;
}

/* Proven for which powers, from the least one on? One of them with the solver, which knows whether
 * there are launches. */
static const char *find_powers(struct check *c, const struct names_param *p, uint64_t end)
{
	uint64_t lo = 0, hi = 0;

	for (uint64_t v = 1; v <= 1u << 30; v *= 2) {
		const char *text = powers_text(c, p, v);
		bool is = try_with(c, text, end, true) == KERNEL_PROVEN;
		if (!is && lo)
			break;
		lo = is && !lo ? v : lo;
		hi = is ? v : hi;
	}
	if (hi < LEAST_RANGE * lo || !lo ||
	    try_with(c, powers_text(c, p, hi), end, false) != KERNEL_PROVEN)
		return NULL;
	return base_printf(c->arena, "%s >= %u && %s <= %u && (%s & %s - 1) == 0", p->name,
			   (unsigned)lo, p->name, (unsigned)hi, p->name, p->name);
}

const char *powers_find(struct check *c)
{
	const struct ex *x = NULL;

	for (size_t i = 0; i < c->e->accesses.n && !x; i++)
		x = masked_in(c->e->accesses.v[i].off, false, 0);
	const struct names_param *p = x ? prove_names_param_of(&c->names, x) : NULL;
	if (!p || p->is_struct || p->is_pointer || p->is_float || p->bytes != 4 ||
	    has_counters(c->e))
		return NULL;
	return find_powers(c, p, prove_now_ms() + REMEDY_MS);
}

/* Is this parameter in v; is_shift: by how much something is shifted? */
static bool is_in(const struct ex *v, uint64_t off, bool is_shift, unsigned depth, unsigned *budget)
{
	bool found = v->op == EX_PARAM && v->imm == off && !is_shift;

	if (depth > 24 || !*budget || v->op == EX_CLOAD)
		return false;
	--*budget;
	bool shifts = v->op == EX_SHL || v->op == EX_LSHR || v->op == EX_ASHR;
	for (uint32_t i = 0; i < v->n && !found; i++)
		found = is_in(v->a[i], off, is_shift && !(shifts && i), depth + 1, budget);
	return found;
}

/* Does it decide when a loop with barriers ends, or is something shifted by it? */
static bool is_number_of_steps(const struct check *c, const struct names_param *p)
{
	const struct ev *e = c->e;
	bool found = false;

	for (uint32_t l = 0; l < e->ir->nloops && !found; l++) {
		unsigned budget = 400;
		const struct ex *leave = e->loops[l].leave;
		found = leave && prove_ev_has_sync(e->ir, l) &&
			is_in(leave, p->off, false, 0, &budget);
	}
	for (size_t i = 0; i < e->accesses.n && !found; i++) {
		unsigned budget = 800;
		found = is_in(e->accesses.v[i].off, p->off, true, 0, &budget) ||
			is_in(e->accesses.v[i].guard, p->off, true, 0, &budget);
	}
	return found;
}

/* What else may wrap: the other scalars are sizes of at most MAX_SIZE, or "". */
#define MAX_SIZE 32768
static const char *small_others(struct check *c, const struct names_param *p)
{
	const char *text = "";

	for (uint32_t i = 0; i < c->names.nparams; i++) {
		const struct names_param *q = &c->names.param[i];
		if (q != p && prove_names_is_scalar(q) && q->is_known && q->bytes == 4)
			text = base_printf(c->arena, "%s && %s >= 0 && %s <= %d", text, q->name,
					   q->name, MAX_SIZE);
	}
	return text;
}

#define FIRST_FEW 4
#define CASE_MS	  800 /* of one value; what is proven mostly is in half of it */
#define MORE_MS	  3000

static bool is_case_soon(struct check *c, const char *text, uint64_t end)
{
	uint64_t most = prove_now_ms() + CASE_MS;

	return is_case_proven(c, text, most < end ? most : end);
}

/* From which value (1 to FIRST_FEW, which is proven) up to which one is it proven, with what else
 * is assumed? Of less than the first some accesses may not be reached. */
static uint64_t find_range(struct check *c, const struct names_param *p, const char *others,
			   uint64_t end, uint64_t *lo)
{
	uint64_t hi = FIRST_FEW;

	for (*lo = FIRST_FEW; *lo > 1; --*lo)
		if (!is_case_soon(c,
				  base_printf(c->arena, "%s%s", powers_text(c, p, *lo - 1), others),
				  end))
			break;
	while (hi < MAX_FEW &&
	       is_case_soon(c, base_printf(c->arena, "%s%s", powers_text(c, p, hi + 1), others),
			    end))
		hi++;
	return hi;
}

/* The same of a parameter that a loop or shift counts to: from 1 up to a few at once, or case by
 * case; or the powers of two. */
const char *powers_find_few(struct check *c, const struct names_param *p, uint64_t end)
{
	const char *few = powers_text(c, p, FIRST_FEW), *others = "";
	uint64_t now = prove_now_ms(), lo;

	if (p->bytes != 4 || p->is_struct || now >= end || has_counters(c->e) ||
	    !is_number_of_steps(c, p))
		return NULL;
	if (!is_case_soon(c, few, end)) {
		others = small_others(c, p);
		if (!*others || prove_now_ms() >= now + CASE_MS ||
		    !is_case_soon(c, base_printf(c->arena, "%s%s", few, others), end))
			return NULL;
	}
	/* where one is proven more mostly are, which is worth some time */
	now = prove_now_ms();
	end = end > now + MORE_MS ? end : now + MORE_MS;
	end = end < c->task->deadline ? end : c->task->deadline;
	const char *all = base_printf(c->arena, "%s >= 1 && %s <= %u", p->name, p->name, MAX_FEW);
	if (!*others && try_with(c, all, now + 2 * CASE_MS < end ? now + 2 * CASE_MS : end,
				 false) == KERNEL_PROVEN)
		return all;
	uint64_t hi = find_range(c, p, others, end, &lo);
	/* the first few of them are perhaps all that is proven of others than powers of two */
	const char *powers = hi < LEAST_RANGE && !*others ? find_powers(c, p, end) : NULL;
	if (powers || hi - lo + 1 < LEAST_FEW)
		return powers;
	return base_printf(c->arena, "%s >= %u && %s <= %u%s", p->name, (unsigned)lo, p->name,
			   (unsigned)hi, others);
}
