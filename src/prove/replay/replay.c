/*
 * replay.c - a launch executed with concrete numbers, to confirm or deny an alarm (replay.h).
 *
 * Every step runs with the meaning of prove_ex_fold, values are numbers or "unknown": what is
 * loaded from shared or global memory (but some pointers: loaded.c), unmodelled functions, other
 * lanes' values. A thread that branches on an unknown value goes on where the ways meet again
 * (join.c), or is lost there. As no known value depends on another thread, threads run one by one.
 * What two of them have done is judged by judge.c.
 *
 * Misses: alarms that need particular contents of memory; they stay potential.
 * Costs: 10 ns a step; at most MAX_STEPS, or LONG_STEPS where the solver's launch needs more.
 */
#include "prove/replay/replay_impl.h"
#include "prove/work.h"

#include <stdlib.h>
#include <string.h>

/* Objects and pointers lie far apart: an address says what it points into. */
uint64_t prove_replay_object_base(const struct run *r, uint32_t o)
{
	bool is_shared = r->e->ir->objects.v[o].kind == IR_OBJ_SHARED ||
			 r->e->ir->objects.v[o].kind == IR_OBJ_DYNAMIC;

	return is_shared ? (uint64_t)(o + 1) << 20 : (uint64_t)(o + 1) << 44;
}

static uint32_t special(const struct run *r, uint64_t which, const uint32_t *tid,
			const uint32_t *ctaid)
{
	unsigned d = (unsigned)which % 3;

	return which >= EX_NCTAID_X  ? r->m->nctaid[d]
	       : which >= EX_NTID_X  ? r->m->ntid[d]
	       : which >= EX_CTAID_X ? ctaid[d]
				     : tid[d];
}

/* The object of private memory or of the parameters that an address points into. */
uint32_t prove_replay_private_object(const struct run *r, uint64_t addr, uint64_t *at)
{
	uint64_t o = (addr >> 44) - 1;

	if (addr >> 44 == 0 || o >= r->e->ir->objects.n ||
	    prove_replay_object_base(r, (uint32_t)o) > addr)
		return IR_NONE;
	*at = addr - prove_replay_object_base(r, (uint32_t)o);
	uint8_t kind = r->e->ir->objects.v[o].kind;
	return kind == IR_OBJ_LOCAL || kind == IR_OBJ_PARAM ? (uint32_t)o : IR_NONE;
}

static struct value load_private(const struct run *r, uint32_t o, uint64_t at, unsigned n)
{
	const struct ir_object *obj = &r->e->ir->objects.v[o];
	struct value v = {0, true};

	if (obj->kind == IR_OBJ_PARAM)
		return prove_replay_param(r, obj->off + at, n);
	if (at + n > obj->bytes || n > 8)
		return (struct value){0, false};
	for (unsigned i = 0; i < n; i++) {
		v.known &= r->mem_known[r->object_at[o] + at + i];
		v.v |= (uint64_t)r->mem[r->object_at[o] + at + i] << (8 * i);
	}
	return v;
}

struct value prove_replay_load(const struct run *r, uint64_t addr, unsigned bytes)
{
	uint64_t at = 0;
	uint32_t o = prove_replay_private_object(r, addr, &at);

	return o == IR_NONE ? (struct value){0, false} : load_private(r, o, at, bytes);
}

static void store_private(struct run *r, uint32_t o, uint64_t at, unsigned n, struct value v)
{
	const struct ir_object *obj = &r->e->ir->objects.v[o];

	if (obj->kind != IR_OBJ_LOCAL || at + n > obj->bytes)
		return;
	for (unsigned i = 0; i < n; i++) {
		r->mem[r->object_at[o] + at + i] = (unsigned char)(i < 8 ? v.v >> (8 * i) : 0);
		r->mem_known[r->object_at[o] + at + i] = v.known && i < 8;
	}
}

static void forget_private(struct run *r)
{
	memset(r->mem_known, 0, r->mem_bytes);
}

void prove_replay_forget(struct run *r, uint32_t step)
{
	uint32_t o = prove_ev_private_of(r->e, step);

	if (o == EV_SEVERAL)
		forget_private(r);
	else if (o != IR_NONE)
		memset(r->mem_known + r->object_at[o], 0, r->e->ir->objects.v[o].bytes);
}

struct value *prove_replay_watch(const struct run *r, unsigned i)
{
	const struct replay_watch *w = r->p->watch[i];
	struct value *v =
		w ? base_alloc((struct base_arena *)&r->arena, sizeof(*v) * (w->n + 1)) : NULL;

	for (uint32_t k = 0; w && k < w->n; k++)
		v[k] = w->what[k].reg != IR_NONE ? r->reg[w->what[k].reg]
						 : load_private(r, w->what[k].object,
								w->what[k].off, w->what[k].bytes);
	return v;
}

static void note(struct run *r, struct thread *t, uint32_t step, uint64_t addr)
{
	struct event ev = {.addr = addr, .order = t->order, .order_ever = t->order_ever};

	ev.which = (r->a->index == step ? 1u : 0) | (r->b->index == step ? 2u : 0);
	memcpy(ev.phase, t->nbars, sizeof(ev.phase));
	ev.nmeets = t->nmeets;
	if (!ev.which || !t->events || t->nevents == t->max_events)
		return;
	ev.turn = t->turns[ev.which & 1 ? 0 : 1]++;
	for (unsigned i = 0; i < 2; i++)
		if (ev.which >> i & 1)
			ev.seen[i] = prove_replay_watch(r, i);
	t->events[t->nevents++] = ev;
}

/* Is the address outside of the variable that the access is in by its contract? */
static bool leaves_variable(const struct run *r, uint32_t index, uint64_t addr)
{
	uint32_t o = r->variable[index];

	return o != IR_NONE &&
	       addr - prove_replay_object_base(r, o) >
		       r->e->ir->objects.v[o].bytes - r->e->ir->steps.v[index].mem->bytes;
}

static void do_access(struct run *r, struct thread *t, uint32_t index)
{
	const struct ir_step *st = &r->e->ir->steps.v[index];
	struct value a = r->reg[st->src[0]], guard = {1, true}, got = {0, false};
	uint64_t at = 0;

	if (st->mem->matrix) /* no address: schedule.c */
		return;
	if (st->pred != IR_NONE) {
		guard = r->reg[st->pred];
		guard.v ^= st->is_pred_not;
	}
	a.v += (uint64_t)st->mem->off;
	if (r->e->ir->width.v[st->src[0]] == 32)
		a.v &= UINT32_MAX;
	uint32_t o = a.known ? prove_replay_private_object(r, a.v, &at) : IR_NONE;
	bool is_read = st->mem->kind == RACE_OP_READ;
	if (o != IR_NONE && is_read)
		got = load_private(r, o, at, st->mem->bytes);
	else if (is_read)
		got = prove_replay_loaded(r, index);
	if (st->dst != IR_NONE)
		r->reg[st->dst] = got;
	if (guard.known && !(guard.v & 1))
		return;
	if (!t->is_outside && a.known && guard.known && leaves_variable(r, index, a.v)) {
		t->is_outside = true;
		t->left_at = index;
	}
	if (o != IR_NONE && !is_read) {
		struct value v =
			st->src[1] == IR_NONE ? (struct value){0, false} : r->reg[st->src[1]];
		v.known &= guard.known && st->mem->kind == RACE_OP_WRITE;
		store_private(r, o, at, st->mem->bytes, v);
	} else if (!a.known && !is_read) {
		prove_replay_forget(r, index);
	}
	if (o == IR_NONE && a.known && guard.known)
		note(r, t, index, a.v);
	else if (index == r->a->index || index == r->b->index)
		t->is_vague = true;
}

/* Is an address in a space? Only of what a variable or a parameter names that is known. */
static struct value is_in(const struct run *r, struct value a, enum ir_space space)
{
	const struct ir *ir = r->e->ir;
	enum ir_space is = a.v >> 63 ? IR_GLOBAL : IR_GENERIC;

	for (uint32_t o = 0; o < ir->objects.n && is == IR_GENERIC; o++) {
		uint64_t base = prove_replay_object_base(r, o);
		uint8_t kind = ir->objects.v[o].kind;
		if (a.v < base || a.v - base >= 1u << 20)
			continue;
		is = kind == IR_OBJ_GLOBAL			       ? IR_GLOBAL
		     : kind == IR_OBJ_LOCAL			       ? IR_LOCAL
		     : kind == IR_OBJ_SHARED || kind == IR_OBJ_DYNAMIC ? IR_SHARED
								       : IR_GENERIC;
	}
	return (struct value){is == space, a.known && is != IR_GENERIC};
}

/* Values go through registers here, field by field: a copy of 16 bytes right after the stores of
 * its parts waits for them, which took a quarter of an analysis. */
void prove_replay_do_value(struct run *r, const struct ir_step *st, const uint32_t *tid,
			   const uint32_t *ctaid)
{
	uint64_t x[3] = {0, 0, 0}, v = 0;
	bool is_known[3] = {true, true, true}, known = false;
	struct value got;
	unsigned wa = st->w;

	for (unsigned i = 0; i < 3 && st->src[i] != IR_NONE; i++) {
		x[i] = r->reg[st->src[i]].v;
		is_known[i] = r->reg[st->src[i]].known;
	}
	if (st->src[0] != IR_NONE)
		wa = r->e->ir->width.v[st->src[0]];
	switch ((enum ir_kind)st->kind) {
	case IR_CONST:
		v = st->imm;
		known = true;
		break;
	case IR_BOX:
		v = st->imm;
		known = st->imm && st->op != IR_MOST;
		break;
	case IR_SPEC:
		v = special(r, st->imm, tid, ctaid);
		known = !r->is_every || st->imm < EX_NCTAID_X ||
			r->e->pool->launch.dim[3 + st->imm - EX_NCTAID_X];
		break;
	case IR_ADDR:
		v = prove_replay_object_base(r, (uint32_t)st->imm);
		known = st->w == 64 || !(v >> 32);
		v &= prove_ex_mask(st->w);
		break;
	case IR_COPY:
		v = x[0];
		known = is_known[0];
		break;
	case IR_IS_IN:
		got = is_in(r, (struct value){x[0], is_known[0]}, (enum ir_space)st->imm);
		v = got.v;
		known = got.known;
		break;
	case IR_VALUE:
		if (st->op == EX_ITE) {
			v = x[0] & 1 ? x[1] : x[2];
			known = is_known[0] && is_known[x[0] & 1 ? 1 : 2];
		} else {
			known = is_known[0] && is_known[1] &&
				prove_ex_fold((enum ex_op)st->op, st->w, wa, x[0], x[1], &v);
			/* a zero decides an and whatever the other side is */
			if (st->op == EX_AND &&
			    ((is_known[0] && !x[0]) || (is_known[1] && !x[1]))) {
				v = 0;
				known = true;
			}
		}
		break;
	default:
		break;
	}
	r->reg[st->dst].v = v;
	r->reg[st->dst].known = known;
}

uint32_t prove_replay_next(struct run *r, struct thread *t, uint32_t b, struct place at)
{
	const struct ir_block *x = &r->e->ir->blocks.v[b];
	struct value c = {0, true};

	if (x->end == IR_TRAP)
		t->is_trapped = true;
	if (!x->nsucc)
		return IR_NONE;
	if (x->end == IR_JUMP)
		return x->succ[0];
	c = r->reg[x->cond];
	if (!c.known || (x->end == IR_SWITCH && c.v >= x->nsucc)) {
		if (x->succ[0] == x->succ[1] && x->end == IR_BRANCH)
			return x->succ[0];
		return prove_replay_join(r, t, b, at);
	}
	if (x->end == IR_SWITCH)
		return x->succ[c.v];
	return (c.v & 1) != x->is_cond_not ? x->succ[0] : x->succ[1];
}

static void pass_barrier(struct thread *t, uint32_t step, enum ir_rank rank)
{
	for (unsigned r = 0; r <= rank; r++) {
		if (t->nbars[r] == MAX_BARS)
			t->is_lost = true;
		else if (t->bars[r])
			t->bars[r][t->nbars[r]] = step;
		t->nbars[r] += !t->is_lost;
	}
	if (rank >= IR_RANK_CTA)
		t->order = IR_NONE;
}

static void may_order(struct thread *t, uint32_t step)
{
	t->order = t->order_ever = step;
}

static void pass_partial(struct thread *t, const struct ir_step *st)
{
	const uint64_t parts[] = {st->imm, st->threads, t->nbars[IR_RANK_CTA]};

	uint32_t bit = 1u << (st->imm - IR_PARTIAL);

	t->repeated |= t->numbers & bit;
	t->numbers |= bit;
	if (st->at &&
	    (st->at->form->op == PTX_OP_BAR_ARRIVE || st->at->form->op == PTX_OP_BARRIER_ARRIVE))
		t->arrived |= bit;
	for (unsigned i = 0; i < BASE_COUNTOF(parts); i++)
		t->partial = (t->partial ^ parts[i]) * 0x9e3779b97f4a7c15u + 1;
}

/*
 * A barrier of lanes. Of all of them, where all come to it: it orders the warp's own accesses, and
 * may hand on an order that one lane has got from elsewhere, if anything in the kernel makes such.
 */
static void pass_warp_barrier(struct run *r, struct thread *t, uint32_t step)
{
	const struct ir_step *st = &r->e->ir->steps.v[step];
	struct value mask = r->reg[st->src[0]];
	bool is_full = r->p->use_warp && st->pred == IR_NONE && mask.known && mask.v == UINT32_MAX;

	if (is_full)
		pass_barrier(t, step, IR_RANK_WARP);
	if (!is_full || r->has_orders)
		may_order(t, step);
}

/* A fact that isn't known to hold, or values whose other threads aren't looked at. */
static bool is_assumed(const struct run *r, const struct ir_step *st)
{
	struct value v = r->reg[st->src[0]];

	return (st->imm == IR_ASSUME_FACT && (v.known ? v.v : r->is_every)) ||
	       st->imm == IR_ASSUME_INJECTIVE || st->imm == IR_ASSUME_SORTED;
}

/* Surely outside the contract, or perhaps: values of several threads aren't compared. */
static bool is_denied(const struct run *r, const struct ir_step *st)
{
	struct value v = r->reg[st->src[0]];

	return (st->imm == IR_ASSUME_FACT && v.known && !v.v) || st->imm == IR_ASSUME_DISTINCT ||
	       st->imm == IR_ASSUME_APART;
}

void prove_replay_step(struct run *r, struct thread *t, uint32_t i, const uint32_t *tid,
		       const uint32_t *ctaid)
{
	const struct ir_step *st = &r->e->ir->steps.v[i];
	uint64_t whom;

	if (r->has_meets && prove_replay_meets(r, i, &whom))
		prove_replay_note_meeting(t, whom);
	switch ((enum ir_kind)st->kind) {
	case IR_ACCESS:
		do_access(r, t, i);
		return;
	case IR_BARRIER:
		pass_barrier(t, i, (enum ir_rank)st->imm);
		return;
	case IR_WARP_BARRIER:
		pass_warp_barrier(r, t, i);
		return;
	case IR_ORDER:
	case IR_UNKNOWN:
		if (st->kind == IR_ORDER && st->imm == IR_FENCE_PROXY)
			return;
		if (ir_is_partial(st))
			pass_partial(t, st);
		may_order(t, i);
		return;
	case IR_ASSUME:
		/* outside the contract, or not known to be in it; a ticket assumes nothing, and may
		 * have no value */
		if (st->imm == IR_ASSUME_TICKET)
			return;
		t->is_lost |= !is_assumed(r, st);
		t->is_denied |= is_denied(r, st);
		return;
	default:
		if (st->dst != IR_NONE)
			prove_replay_do_value(r, st, tid, ctaid);
	}
}

void prove_replay_run_thread(struct run *r, struct thread *t, const uint32_t *tid,
			     const uint32_t *ctaid, enum ir_rank rank, uint32_t until)
{
	const struct ir *ir = r->e->ir;
	uint32_t b = 0;

	t->order = t->order_ever = IR_NONE;
	memset(r->reg, 0, ir->width.n * sizeof(*r->reg));
	forget_private(r);
	while (b != IR_NONE && t->nbars[rank] < until &&
	       (!t->until_meets || t->nmeets < t->until_meets)) {
		const struct ir_block *x = &ir->blocks.v[b];
		for (uint32_t i = x->first; i < x->first + x->n && !t->is_lost; i++) {
			t->is_lost = !r->budget;
			r->budget -= r->budget > 0;
			if (!t->is_lost)
				prove_replay_step(r, t, i, tid, ctaid);
		}
		if (t->is_lost)
			return;
		b = prove_replay_next(r, t, b, (struct place){tid, ctaid});
	}
}

uint32_t prove_replay_warp_of(const struct smt_model *m, const uint32_t *tid)
{
	return ((tid[2] * m->ntid[1] + tid[1]) * m->ntid[0] + tid[0]) / 32;
}

bool prove_replay_is_legal(const struct run *r)
{
	const struct smt_model *m = r->m;
	const struct ex_launch *l = &r->e->pool->launch;
	uint64_t threads = 1;

	for (unsigned d = 0; d < 3; d++) {
		threads *= m->ntid[d];
		if (!m->ntid[d] || !m->nctaid[d] || m->ntid[d] > l->max[d] ||
		    m->nctaid[d] > l->max[3 + d] || m->nctaid[d] % l->cluster[d])
			return false;
		if (!r->e->any_grid && (uint64_t)m->ntid[d] * m->nctaid[d] > INT32_MAX)
			return false;
		for (unsigned t = 0; t < 2; t++)
			if (m->tid[t][d] >= m->ntid[d] || m->ctaid[t][d] >= m->nctaid[d])
				return false;
	}
	return threads <= l->threads;
}

bool prove_replay_is_inside(const struct run *r, const struct ev_access *x, uint64_t addr,
			    uint64_t *off)
{
	if (x->root.kind == EV_ROOT_PARAM) {
		struct value p = prove_replay_param(r, x->root.id, 8);
		*off = addr - p.v;
		return *off < 1ull << 42;
	}
	if (x->root.kind == EV_ROOT_LOADED && x->root.slot &&
	    (!x->root.in || prove_ev_is_one_loaded(&x->root))) {
		*off = addr & ((1ull << 46) - 1); /* see pointer_base */
		return addr >> 63 && *off < 1ull << 42;
	}
	if (x->root.kind != EV_ROOT_OBJECT)
		return false;
	const struct ir_object *o = &r->e->ir->objects.v[x->root.id];
	*off = addr - prove_replay_object_base(r, (uint32_t)x->root.id);
	return *off < (o->bytes && o->kind != IR_OBJ_DYNAMIC ? o->bytes : 1ull << 19);
}

enum ir_rank prove_replay_rank_of(const struct replay_pair *p)
{
	return p->level == RACE_LEVEL_GRID    ? IR_RANK_GRID
	       : p->level == RACE_LEVEL_BLOCK ? IR_RANK_CTA
					      : IR_RANK_WARP;
}

/* May other threads break the assumption at a step where the two of the alarm keep it? What speaks
 * of parameters and dimensions alone is the same in all threads that come there. */
static bool may_differ(const struct ev *e, uint32_t step)
{
	uint64_t kind = e->ir->steps.v[step].imm;

	for (size_t i = 0; i < e->assumes.n; i++)
		if (e->assumes.v[i].index == step && prove_ev_is_of_launch(&e->assumes.v[i]))
			return false;
	return kind == IR_ASSUME_FACT || kind == IR_ASSUME_DISTINCT || kind == IR_ASSUME_APART;
}

/* Which steps access one variable of known size that all threads share. */
static void find_variables(struct run *r)
{
	const struct ev *e = r->e;

	r->variable = BASE_NEWN(&r->arena, uint32_t, e->ir->steps.n + 1);
	for (size_t i = 0; i < e->ir->steps.n; i++)
		r->variable[i] = IR_NONE;
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		if (x->root.kind != EV_ROOT_OBJECT || x->is_way || x->is_late)
			continue;
		const struct ir_object *o = &e->ir->objects.v[x->root.id];
		if (o->kind != IR_OBJ_DYNAMIC && o->bytes >= x->mem->bytes)
			r->variable[x->index] = (uint32_t)x->root.id;
	}
}

void prove_replay_open(struct run *r, uint64_t most)
{
	const struct ir *ir = r->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = b->first; k < b->first + b->n; k++) {
			const struct ir_step *st = &ir->steps.v[k];
			r->has_orders |= st->kind == IR_ORDER || st->kind == IR_UNKNOWN;
			r->has_meets |= prove_replay_is_warps(st);
			r->has_partial |= ir_is_partial(st);
			r->has_assumes |= st->kind == IR_ASSUME && may_differ(r->e, k);
		}
	}
	r->budget = most;
	if (r->p->budget && *r->p->budget < most)
		r->budget = *r->p->budget;
	r->granted = r->budget;
	r->reg = BASE_NEWN(&r->arena, struct value, ir->width.n + 1);
	find_variables(r);
	prove_replay_find_loaded(r);
	r->object_at = BASE_NEWN(&r->arena, uint64_t, ir->objects.n + 1);
	for (size_t i = 0; i < ir->objects.n; i++) {
		r->object_at[i] = r->mem_bytes;
		if (ir->objects.v[i].kind == IR_OBJ_LOCAL)
			r->mem_bytes += ir->objects.v[i].bytes;
	}
	r->mem = base_zalloc(&r->arena, r->mem_bytes + 16);
	r->mem_known = base_zalloc(&r->arena, r->mem_bytes + 16);
	r->detour = BASE_NEWN(&r->arena, struct detour *, ir->blocks.n + 1);
}

void prove_replay_close(struct run *r)
{
	uint64_t used = r->granted - r->budget;

	work_add(WORK_STEP, used);
	if (r->p->budget) /* another replay may have run since it was opened */
		*r->p->budget -= used < *r->p->budget ? used : *r->p->budget;
	base_arena_free(&r->arena);
}

struct thread *prove_replay_thread(struct run *r, uint32_t max_events, bool has_bars)
{
	struct thread *t = BASE_NEW(&r->arena, struct thread);

	/* Not cleared: few are used, each is written as a whole, zeros cost more than the run. */
	t->events = base_alloc(&r->arena, max_events * sizeof(*t->events));
	t->max_events = max_events;
	for (unsigned i = 0; i < IR_RANKS && has_bars; i++)
		t->bars[i] = base_alloc(&r->arena, MAX_BARS * sizeof(*t->bars[i]));
	return t;
}

/* Are the model's threads as far apart as the pair says? */
static bool is_apart(const struct smt_model *m, const struct replay_pair *p)
{
	bool same_cta = !memcmp(m->ctaid[0], m->ctaid[1], sizeof(m->ctaid[0]));

	if (p->level == RACE_LEVEL_GRID)
		return !same_cta;
	if (p->level == RACE_LEVEL_THREAD)
		return same_cta && !memcmp(m->tid[0], m->tid[1], sizeof(m->tid[0]));
	return same_cta && memcmp(m->tid[0], m->tid[1], sizeof(m->tid[0])) != 0 &&
	       (p->level == RACE_LEVEL_WARP || p->is_split
			? (prove_replay_warp_of(m, m->tid[0]) ==
			   prove_replay_warp_of(m, m->tid[1])) == (p->level == RACE_LEVEL_WARP)
			: true);
}

enum replay_answer prove_replay_run(struct ev *e, const struct smt_model *m,
				    const struct replay_pair *p, struct replay_meeting *out)
{
	struct run r = {.e = e, .m = m, .p = p, .a = p->a, .b = p->b};
	struct thread *t[2];
	enum replay_answer answer;

	memset(out, 0, sizeof(*out));
	out->order = IR_NONE;
	if (!prove_replay_is_legal(&r) || !is_apart(m, p)) {
		out->why = "the solver found no launch within CUDA's limits, and ruled none out";
		out->is_no_launch = true;
		return REPLAY_DENIES;
	}
	prove_replay_open(&r, p->is_long ? LONG_STEPS : MAX_STEPS);
	for (unsigned i = 0; i < 2; i++) {
		/* what the others need to come to the same barriers is left for them */
		uint64_t left = r.budget - r.budget / 4;
		r.budget /= 4;
		t[i] = prove_replay_thread(&r, MAX_EVENTS, true);
		prove_replay_run_thread(&r, t[i], m->tid[i], m->ctaid[i], IR_RANK_CTA, UINT32_MAX);
		out->is_cut |= !r.budget;
		r.budget += left;
	}
	answer = prove_replay_judge(&r, t, out);
	out->is_cut |= !r.budget;
	prove_replay_close(&r);
	return answer;
}
