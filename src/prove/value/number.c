/*
 * number.c - what a value comes to in one thread of one launch, on numbers (eval.h).
 *
 * Many questions are answered by an example, and trying some costs microseconds where the solver
 * takes milliseconds. Loops are in the iteration that the trial says, mostly their first; the last
 * iteration of a loop is looked for from the first on. What isn't modelled is any value within its
 * bounds for the solver, and here the one that the trial names.
 *
 * Misses: addresses; loops of more than MAX_TURNS iterations; loads of different values.
 * Costs: linear in the expression, up to MAX_STEPS; no memory but the stack.
 */
#include "prove/eval.h"
#include "prove/smt.h"

#include <string.h>

#define MAX_STEPS 20000
#define MAX_TURNS 64
#define MAX_LOOPS 32
#define CACHE	  512 /* a power of two */

/* `turn` says with which counters of the loops a value was found. */
struct run {
	const struct ev_trial *t;
	unsigned steps;
	uint32_t turn, turns;
	uint64_t counter[MAX_LOOPS];
	struct {
		uint32_t id, turn; /* 0: empty */
		uint64_t v;
	} cache[CACHE];
};

static bool number_of(struct run *r, const struct ex *v, uint64_t *out);

/* A parameter's number; a scalar that the model doesn't have is 0, as in a replay. */
static bool param_of(const struct ev_trial *t, const struct ex *leaf, uint64_t *n)
{
	*n = t->m ? 0 : leaf->w == 64 && t->times ? t->param * t->times : t->param;
	for (uint32_t i = 0; i < t->npins; i++) {
		const struct ex_pin *x = &t->pin[i];
		if (x->off == leaf->imm && x->w == leaf->w)
			*n = *n < x->lo ? x->lo : *n > x->hi ? x->hi : *n;
	}
	for (uint32_t i = 0; t->m && i < t->m->nparams; i++) {
		if (t->m->param[i].off == leaf->imm && 8 * t->m->param[i].bytes == leaf->w) {
			*n = t->m->param[i].value;
			return true;
		}
	}
	return !t->m || leaf->w < 64;
}

/* The value of v in iteration `ctr` of a loop, its outer loops where the leaf's arguments from
 * `first` on say. */
static bool number_in(struct run *r, const struct ex *v, uint32_t loop, uint64_t ctr,
		      const struct ex *leaf, uint32_t first, uint64_t *out)
{
	const struct ir *ir = r->t->e->ir;
	uint32_t p = ir->loops[loop].parent, turn = r->turn;
	uint64_t was[MAX_LOOPS], now[MAX_LOOPS];

	memcpy(was, r->counter, sizeof(was));
	memcpy(now, r->counter, sizeof(now));
	for (uint32_t i = first; p != IR_NONE && i < leaf->n; i++, p = ir->loops[p].parent)
		if (!number_of(r, leaf->a[i], &now[p]))
			return false;
	now[loop] = ctr;
	memcpy(r->counter, now, sizeof(now));
	r->turn = ++r->turns;
	bool ok = number_of(r, v, out);
	memcpy(r->counter, was, sizeof(was));
	r->turn = turn;
	return ok;
}

/* The iteration in which a loop is left: as the solver's, any of a loop that isn't entered. */
static bool exit_of(struct run *r, const struct ex *v, uint64_t *out)
{
	const struct ev *e = r->t->e;
	uint32_t loop = (uint32_t)v->imm;
	uint64_t is;

	for (*out = 0; *out < MAX_TURNS && *out <= e->loops[loop].last; ++*out) {
		if (!number_in(r, e->loops[loop].leave, loop, *out, v, 0, &is))
			return false;
		if (is & 1)
			return true;
		if (!number_in(r, e->loops[loop].back, loop, *out, v, 0, &is) || !(is & 1))
			break;
	}
	uint32_t header = e->ir->loops[loop].header;
	*out = 0;
	return number_in(r, e->guard[header], loop, 0, v, 0, &is) && !(is & 1);
}

static bool within(const struct run *r, const struct ex *v, uint64_t *out)
{
	*out = r->t->any < v->lo ? v->lo : r->t->any > v->hi ? v->hi : r->t->any;
	return r->t->e != NULL;
}

/* A value that a loop carries. */
static bool carried(struct run *r, const struct ex *v, uint64_t *out)
{
	const struct ev *e = r->t->e;
	const struct ex *closed = e && v->n ? e->phi[v->imm]->closed : NULL;
	uint64_t ctr;

	if (!closed || closed->w != v->w)
		return within(r, v, out);
	return number_of(r, v->a[0], &ctr) && ctr <= EV_MAX_COUNTER &&
	       number_in(r, closed, (uint32_t)(v->imm / e->ncells), ctr, v, 1, out);
}

/* Steps from a start: none that wraps where the contract says that none does. */
static bool stepped(const struct ex *v, const uint64_t *x, uint64_t *out)
{
	__int128 start = (__int128)x[0], step = (__int128)x[1], all;
	unsigned w = v->w;

	if (x[2] > UINT32_MAX)
		return false;
	*out = (x[0] + x[1] * x[2]) & prove_ex_mask(w);
	if (v->imm == EX_IND_WRAPS)
		return true;
	if (v->imm == EX_IND_SIGNED)
		start = prove_ex_signed(x[0], w);
	if (v->imm == EX_IND_SIGNED || prove_ex_is_down(v->a[1]))
		step = prove_ex_signed(x[1], w);
	all = start + step * (__int128)x[2];
	return all ==
	       (v->imm == EX_IND_SIGNED ? (__int128)prove_ex_signed(*out, w) : (__int128)*out);
}

static bool operation(struct run *r, const struct ex *v, uint64_t *out)
{
	uint64_t x[3] = {0, 0, 0};

	if (v->op < EX_ADD || v->n > 3)
		return false;
	if (v->op == EX_ITE)
		return number_of(r, v->a[0], x) && number_of(r, v->a[x[0] & 1 ? 1 : 2], out);
	for (uint32_t i = 0; i < v->n; i++) {
		if (!number_of(r, v->a[i], &x[i]))
			return false;
		/* what decides by itself: the other side may divide by 0 */
		if (v->w == 1 && i == 0 &&
		    ((v->op == EX_AND && !(x[0] & 1)) || (v->op == EX_OR && (x[0] & 1)))) {
			*out = x[0] & 1;
			return true;
		}
	}
	if (v->op == EX_IND)
		return stepped(v, x, out);
	return prove_ex_fold((enum ex_op)v->op, v->w, v->a[0]->w, x[0], x[1], out);
}

static bool number_of(struct run *r, const struct ex *v, uint64_t *out)
{
	uint32_t at = v->id & (CACHE - 1);
	bool ok;

	*out = v->imm;
	if (v->op == EX_CONST)
		return true;
	if (r->cache[at].turn == r->turn && r->cache[at].id == v->id) {
		*out = r->cache[at].v;
		return true;
	}
	if (!r->steps)
		return false;
	r->steps--;
	switch ((enum ex_op)v->op) {
	case EX_SPEC:
		*out = r->t->spec[v->imm];
		return true;
	case EX_PARAM:
		ok = param_of(r->t, v, out);
		*out &= prove_ex_mask(v->w);
		return ok;
	case EX_CTR:
		*out = r->counter[v->imm];
		return r->t->e != NULL;
	case EX_KEXIT:
		ok = r->t->e && exit_of(r, v, out);
		break;
	case EX_PHI:
		ok = carried(r, v, out);
		break;
	case EX_VAR:
	case EX_PURE:
	case EX_CLOAD:
		return within(r, v, out);
	default:
		ok = operation(r, v, out);
		break;
	}
	if (ok) {
		r->cache[at].id = v->id;
		r->cache[at].turn = r->turn;
		r->cache[at].v = *out;
	}
	return ok;
}

struct ev_trial prove_ev_trial_of(const struct smt_model *m, unsigned thread)
{
	struct ev_trial t = {.m = m};

	for (unsigned d = 0; d < 3; d++) {
		t.spec[EX_TID_X + d] = m->tid[thread][d];
		t.spec[EX_CTAID_X + d] = m->ctaid[thread][d];
		t.spec[EX_NTID_X + d] = m->ntid[d];
		t.spec[EX_NCTAID_X + d] = m->nctaid[d];
	}
	return t;
}

bool prove_ev_number(const struct ev_trial *t, const struct ex *v, uint64_t *out)
{
	struct run r = {.t = t, .steps = MAX_STEPS, .turn = 1, .turns = 1};

	if (t->e && t->e->ir->nloops > MAX_LOOPS)
		return false;
	return number_of(&r, v, out);
}

bool prove_ev_holds(const struct ev_trial *t, const struct ex *v)
{
	uint64_t n;

	return prove_ev_number(t, v, &n) && (n & 1);
}
