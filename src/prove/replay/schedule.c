/*
 * schedule.c - all threads of a block in turns, to show a race of an asynchronous copy, or between
 * operations on mbarriers (replay.h).
 *
 * Each thread runs until it waits, or until an mbarrier says no; then the next one does. Values are
 * numbers or unknown as in replay.c. Where nothing goes on any more the oldest copy is done; in
 * other schedules each is done at once. So what was executed is the beginning of an execution of
 * the kernel. Two accesses in it that vector clocks leave unordered are a race whatever follows,
 * and whatever becomes of threads that can't be followed (those just don't go on).
 *
 * A copy accesses its bytes after its issue, with what its thread knew then, until someone knows
 * that it is done: the thread that waited for its group, or whoever waited for a phase of the
 * mbarrier that it completes on.
 *
 * Misses: blocks that are ordered among each other; lanes in step (--warp-lockstep); races that
 * need other schedules, as a copy of which only a part is done.
 * Costs: 10 ns a step, and a number of each thread for a barrier or an arrival; at most
 * SCHEDULE_STEPS.
 */
#include "prove/replay/schedule.h"

#include <string.h>

#define SCHEDULE_STEPS (1u << 21)

/* ---- accesses -------------------------------------------------------------------------------- */

/* Is the one before the other, as it is known when the later of them happens? */
static bool is_known_to(const struct schedule *s, const struct lane *l, const struct shot *x)
{
	const struct lane *by = &s->lane[x->lane];
	uint32_t done = s->nlanes + x->copy;

	if (x->copy == IR_NONE)
		return l->clock[x->lane] >= x->epoch;
	/* what a copy does after its thread's end, if nothing waits for it, the ISA doesn't say */
	return l->clock[done] || (by->state == LANE_ENDED && !by->clock[done] &&
				  s->copy[x->copy].mbarrier == IR_NONE);
}

static bool is_apart_enough(const struct schedule *s, const struct shot *x, const struct shot *y)
{
	const struct replay_pair *p = s->r->p;
	bool is_one = x->lane == y->lane, is_same_warp = x->lane / 32 == y->lane / 32;

	if (is_one != (p->level == RACE_LEVEL_THREAD))
		return false;
	if (p->level == RACE_LEVEL_WARP)
		return is_same_warp;
	return !p->is_split || is_one || !is_same_warp;
}

/* A byte that both access; false: there is none. */
static bool find_common(const struct shot *x, const struct shot *y, uint64_t *byte)
{
	if (!x->unit && y->unit)
		return find_common(y, x, byte);
	for (uint32_t i = 0; i < x->nunits; i++) {
		struct shot part = *x;
		part.addr += x->unit[i];
		part.bytes = PTX_MATRIX_UNIT;
		part.unit = NULL;
		part.nunits = 0;
		if (find_common(&part, y, byte))
			return true;
	}
	*byte = x->addr > y->addr ? x->addr : y->addr;
	return !x->unit && x->addr < y->addr + y->bytes && y->addr < x->addr + x->bytes;
}

/* x is of access a, y of access b. */
static bool is_conflict(struct schedule *s, const struct shot *x, const struct shot *y)
{
	bool is_one_copy = x->copy != IR_NONE && x->copy == y->copy;

	if (!(x->ev.which & 1) || !(y->ev.which & 2) || is_one_copy || !is_apart_enough(s, x, y))
		return false;
	if (s->r->p->is_partial && x->addr == y->addr && x->bytes == y->bytes)
		return false;
	return find_common(x, y, &s->byte);
}

/* The access that has just been added, with all before it. */
static void find_race(struct schedule *s, const struct lane *l)
{
	const struct shot *now = &s->shot[s->nshots - 1];
	uint32_t cost = s->nshots / 8;

	s->r->budget -= s->r->budget > cost ? cost : s->r->budget;
	for (uint32_t i = 0; i + 1 < s->nshots && !s->x; i++) {
		const struct shot *old = &s->shot[i];
		bool is_first = is_conflict(s, old, now);
		if ((!is_first && !is_conflict(s, now, old)) || is_known_to(s, l, old))
			continue;
		s->x = is_first ? old : now;
		s->y = is_first ? now : old;
	}
}

static void add_shot(struct schedule *s, struct lane *l, struct shot x)
{
	struct run *r = s->r;
	bool is_odd = !x.ev.which || s->nshots == SCHEDULE_EVENTS;

	if (is_odd)
		return;
	x.lane = (uint32_t)(l - s->lane);
	x.epoch = l->clock[x.lane];
	memcpy(x.ev.phase, l->t.nbars, sizeof(x.ev.phase));
	x.ev.addr = x.addr;
	for (unsigned i = 0; i < 2; i++)
		if (x.ev.which >> i & 1)
			x.ev.seen[i] = prove_replay_watch(r, i);
	s->shot[s->nshots++] = x;
	find_race(s, l);
}

static bool is_guarded(const struct run *r, const struct ir_step *st, bool *is_known)
{
	struct value g = st->pred == IR_NONE ? (struct value){1, true} : r->reg[st->pred];

	*is_known = g.known;
	return st->pred == IR_NONE || (g.known && (g.v & 1) != st->is_pred_not);
}

/* What it accesses. False: that isn't known. */
static bool find_range(const struct run *r, const struct ir_step *st, struct shot *x)
{
	const struct ir_access *m = st->mem;
	uint32_t base = m->is_range ? m->base : st->src[0];
	struct value a = r->reg[base];

	x->bytes = m->bytes;
	if (m->is_range) {
		x->bytes = r->reg[m->count].v;
		a.known &= r->reg[m->count].known;
	}
	x->addr = a.v + (uint64_t)m->off;
	if (r->e->ir->width.v[base] == 32)
		x->addr &= UINT32_MAX;
	return a.known;
}

/*
 * The units of a descriptor's matrix; its first thread stands for a warp, which reads 16 rows of
 * A. Of an address a descriptor has the lower 18 bits, which are the place in its object here; the
 * upper ones of these addresses, which are greater than the machine's, aren't looked at. False:
 * the units aren't known, or it is no access in hand.
 */
static bool find_matrix(const struct run *r, const struct ir_step *st, uint32_t i, uint32_t warp,
			struct shot *x)
{
	const struct ptx_matrix_shape *m = st->mem->matrix;
	const struct ev_access *a = r->a->index == i ? r->a : r->b;
	struct value desc = r->reg[st->src[0]];
	uint32_t n = ptx_matrix_count(m), *unit;

	if (a->index != i || a->root.kind != EV_ROOT_OBJECT || !desc.known ||
	    n > PTX_MATRIX_MAX_UNITS)
		return false;
	unit = BASE_NEWN((struct base_arena *)&r->arena, uint32_t, n);
	x->addr = prove_replay_object_base(r, (uint32_t)a->root.id);
	n = ptx_matrix_units((desc.v & PTX_MATRIX_START) | a->above, m, unit);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t row = m->is_transposed ? k % (m->rows / 8) * 8 : k / m->units;
		if (!st->mem->is_left || row / 16 == warp % 4)
			unit[x->nunits++] = unit[k];
	}
	x->unit = unit;
	return true;
}

static void do_access(struct schedule *s, struct lane *l, uint32_t i)
{
	struct run *r = s->r;
	const struct ir_step *st = &r->e->ir->steps.v[i];
	struct shot x = {.copy = IR_NONE};
	uint64_t at = 0;
	uint32_t number = (uint32_t)(l - s->lane);
	bool is_known, is_done = is_guarded(r, st, &is_known);
	bool has_place =
		st->mem->matrix ? find_matrix(r, st, i, number / 32, &x) : find_range(r, st, &x);
	bool is_strong = st->mem->strength != RACE_WEAK || st->mem->is_volatile ||
			 st->mem->kind == RACE_OP_RMW;

	if (st->mem->matrix && number % 32)
		return;
	if (is_strong)
		schedule_learn(s, l->clock, s->strong);
	if (is_done && (st->mem->is_async || st->mem->is_bulk)) {
		x.copy = schedule_copy(s, l, st->mem);
		l->ncopies += st->mem->is_bulk && st->mem->is_range;
		if (s->is_over)
			return;
	}
	x.ev.which = (r->a->index == i ? 1u : 0) | (r->b->index == i ? 2u : 0);
	if (is_done && has_place && prove_replay_private_object(r, x.addr, &at) == IR_NONE)
		add_shot(s, l, x);
	prove_replay_step(r, &l->t, i, l->tid, s->ctaid);
	if (is_strong)
		schedule_release(s, l, s->strong);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* An operation that may order, in whatever way, and never waits. */
static bool is_strong_operation(const struct ir_step *st)
{
	enum ptx_op op = st->at && st->at->form ? (enum ptx_op)st->at->form->op : PTX_OP_BRKPT;

	return op == PTX_OP_LD || op == PTX_OP_ATOM || op == PTX_OP_RED;
}

/* Alone it orders nothing: what is strong beside it does. */
static bool is_fence(const struct ir_step *st)
{
	return st->at && st->at->form && st->at->form->effects == PTX_EFF_FENCE;
}

static void do_order(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	bool is_known, is_done = is_guarded(s->r, st, &is_known);

	if (!is_known) {
		s->is_over = true;
	} else if (!is_done) {
		return;
	} else if (st->mbar) {
		schedule_mbarrier(s, l, st);
		if (st->mbar->kind == IR_MBAR_COPY)
			l->ncopies = 0;
		if (s->kind == SCHEDULE_TURNS && l->state == LANE_RUNS) {
			l->state = LANE_POLLS;
			s->has_moved = true;
		}
	} else if (ir_is_partial(st)) {
		schedule_numbered(s, l, st);
	} else if (is_strong_operation(st)) {
		schedule_learn(s, l->clock, s->strong);
		schedule_release(s, l, s->strong);
	} else if (!is_fence(st)) {
		l->state = LANE_LOST;
	}
}

static void do_barrier(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	const struct smt_model *m = s->r->m;
	struct value n = st->src[0] == IR_NONE ? (struct value){0, true} : s->r->reg[st->src[0]];
	bool is_alone = m->nctaid[0] == 1 && m->nctaid[1] == 1 && m->nctaid[2] == 1;

	if (!n.known || (st->imm == IR_RANK_GRID && !is_alone)) {
		l->state = LANE_LOST;
		return;
	}
	l->state = LANE_CTA;
	l->number = (uint32_t)n.v | (st->imm == IR_RANK_GRID ? IR_NUMBERS : 0);
	l->threads = st->threads;
	l->t.nbars[IR_RANK_WARP]++;
	l->t.nbars[IR_RANK_CTA]++;
	l->t.nbars[IR_RANK_GRID] += st->imm == IR_RANK_GRID;
	s->has_moved = true;
}

static void do_warp_barrier(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	struct value mask = s->r->reg[st->src[0]];
	bool is_known, is_done = is_guarded(s->r, st, &is_known);

	if (!is_known || !mask.known || !(mask.v >> (l - s->lane) % 32 & 1)) {
		l->state = LANE_LOST;
	} else if (is_done) {
		l->state = LANE_WARP;
		l->number = (uint32_t)mask.v;
		s->has_moved = true;
	}
}

static void do_step(struct schedule *s, struct lane *l, uint32_t i)
{
	const struct ir_step *st = &s->r->e->ir->steps.v[i];
	uint64_t whom;
	bool is_known;

	switch ((enum ir_kind)st->kind) {
	case IR_ACCESS:
		do_access(s, l, i);
		return;
	case IR_BARRIER:
		do_barrier(s, l, st);
		return;
	case IR_WARP_BARRIER:
		do_warp_barrier(s, l, st);
		return;
	case IR_ORDER:
		do_order(s, l, st);
		return;
	case IR_TOGETHER:
		schedule_together(s, l, (uint32_t)st->imm);
		return;
	case IR_COMMIT:
	case IR_WAIT:
		if (is_guarded(s->r, st, &is_known))
			schedule_groups(s, l, st);
		else if (!is_known)
			l->state = LANE_LOST;
		return;
	case IR_UNKNOWN:
		s->is_over = true;
		return;
	default:
		prove_replay_step(s->r, &l->t, i, l->tid, s->ctaid);
		if (s->r->has_meets && prove_replay_meets(s->r, i, &whom))
			schedule_meets(s, l, whom);
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static void enter(struct run *r, const struct lane *l)
{
	r->reg = l->reg;
	r->mem = l->mem;
	r->mem_known = l->mem_known;
}

static void run_lane(struct schedule *s, struct lane *l)
{
	const struct ir *ir = s->r->e->ir;

	enter(s->r, l);
	l->state = LANE_RUNS;
	while (l->state == LANE_RUNS && !s->is_over && !s->x && s->r->budget) {
		const struct ir_block *b = &ir->blocks.v[l->block];
		s->r->budget--;
		if (l->step < b->first + b->n) {
			do_step(s, l, l->step++);
		} else {
			l->block = prove_replay_next(s->r, &l->t, l->block,
						     (struct place){l->tid, s->ctaid});
			l->step = l->block == IR_NONE ? 0 : ir->blocks.v[l->block].first;
			if (l->block == IR_NONE && !l->t.is_lost) {
				l->state = LANE_ENDED;
				s->has_moved = true;
			}
		}
		s->is_over |= l->t.is_trapped || l->t.is_denied;
		if (l->t.is_lost)
			l->state = LANE_LOST;
	}
}

static void make_lane(struct schedule *s, uint32_t i)
{
	struct run *r = s->r;
	const struct smt_model *m = r->m;
	struct lane *l = &s->lane[i];

	l->reg = BASE_NEWN(&r->arena, struct value, r->e->ir->width.n + 1);
	l->mem = base_zalloc(&r->arena, r->mem_bytes + 16);
	l->mem_known = base_zalloc(&r->arena, r->mem_bytes + 16);
	l->clock = base_zalloc(&r->arena, s->width * sizeof(*l->clock));
	l->clock[i] = 1;
	l->tid[0] = i % m->ntid[0];
	l->tid[1] = i / m->ntid[0] % m->ntid[1];
	l->tid[2] = i / m->ntid[0] / m->ntid[1];
	l->step = r->e->ir->blocks.v[0].first;
	l->polled = l->t.order = l->t.order_ever = IR_NONE;
}

/* One schedule of the block, till two accesses race in it. */
static struct schedule *run_block(struct run *r, enum schedule_kind kind)
{
	struct schedule *s = BASE_NEW(&r->arena, struct schedule);

	s->r = r;
	s->ctaid = r->m->ctaid[0];
	s->kind = kind;
	s->nlanes = r->m->ntid[0] * r->m->ntid[1] * r->m->ntid[2];
	s->width = s->nlanes + SCHEDULE_COPIES;
	s->lane = BASE_NEWN(&r->arena, struct lane, s->nlanes);
	s->shot = BASE_NEWN(&r->arena, struct shot, SCHEDULE_EVENTS);
	s->strong = base_zalloc(&r->arena, s->width * sizeof(*s->strong));
	for (uint32_t i = 0; i < s->nlanes; i++)
		make_lane(s, i);
	do {
		s->has_moved = false;
		for (uint32_t i = 0; i < s->nlanes && !s->is_over && !s->x; i++)
			if (s->lane[i].state <= LANE_POLLS)
				run_lane(s, &s->lane[i]);
		schedule_open_barriers(s);
		if (!s->has_moved)
			s->has_moved = schedule_finish_copy(s);
	} while (s->has_moved && !s->is_over && !s->x && r->budget);
	return s;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void take(const struct run *r, const struct schedule *s, struct smt_model *m,
		 struct replay_meeting *out)
{
	const struct shot *side[2] = {s->x, s->y};

	for (unsigned i = 0; i < 2; i++) {
		memcpy(m->tid[i], s->lane[side[i]->lane].tid, sizeof(m->tid[i]));
		memcpy(m->ctaid[i], s->ctaid, sizeof(m->ctaid[i]));
		/* a copy is under way in later phases, too */
		out->phase[i] = side[i]->ev.phase[IR_RANK_CTA];
		if (side[i]->copy != IR_NONE && side[!i]->ev.phase[IR_RANK_CTA] > out->phase[i])
			out->phase[i] = side[!i]->ev.phase[IR_RANK_CTA];
		for (uint32_t k = 0; r->p->watch[i] && k < r->p->watch[i]->n; k++) {
			out->value[i][k] = side[i]->ev.seen[i][k].v;
			out->is_known[i][k] = side[i]->ev.seen[i][k].known;
		}
	}
}

/* A schedule in which the two race, with a part of the steps; or NULL. */
static struct schedule *run_with(struct run *r, uint64_t part, enum schedule_kind kind)
{
	uint64_t rest = r->budget - part;

	r->budget = part;
	struct schedule *s = run_block(r, kind);
	r->budget += rest;
	return s->x ? s : NULL;
}

bool prove_replay_schedule(struct ev *e, struct smt_model *m, const struct replay_pair *p,
			   struct replay_meeting *out)
{
	struct smt_model try = *m;
	struct replay_pair quiet = *p;
	struct run r = {.e = e, .m = &try, .p = &quiet, .a = p->a, .b = p->b};
	struct schedule *s = NULL;
	bool found;
	uint64_t part;

	if (p->level > RACE_LEVEL_BLOCK || p->is_in_step || p->in_any_order)
		return false;
	quiet.watch[0] = quiet.watch[1] = NULL;
	memset(try.ctaid, 0, sizeof(try.ctaid));
	memset(try.tid, 0, sizeof(try.tid));
	if (!prove_replay_is_legal(&r))
		return false;
	prove_replay_open(&r, SCHEDULE_STEPS);
	part = r.budget / (SCHEDULE_KINDS + 1);
	for (unsigned i = 0; i < SCHEDULE_KINDS && !s; i++)
		s = run_with(&r, part, (enum schedule_kind)i);
	if (s) { /* once more, to see the variables there */
		r.p = p;
		s = run_with(&r, part, s->kind);
	}
	found = s != NULL;
	if (found) {
		uint64_t at = s->byte;
		memset(out, 0, sizeof(*out));
		out->order = IR_NONE;
		take(&r, s, &try, out);
		found = prove_replay_is_inside(&r, r.a, at, &out->offset[0]) &&
			prove_replay_is_inside(&r, r.b, at, &out->offset[1]) &&
			prove_replay_stays(&r) && prove_replay_keeps(&r);
	}
	r.p = &quiet;
	prove_replay_close(&r);
	if (found)
		*m = try;
	return found;
}
