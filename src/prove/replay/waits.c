/*
 * waits.c - barriers, mbarriers and groups of copies in a schedule: who goes on, and knows of what
 * (schedule.h).
 *
 * Of what isn't known exactly more is taken as ordered, never less: who waits for a phase of an
 * mbarrier learns of all arrivals up to its end, and of what came before the copies that completed
 * there; strong operations are as one lock; a barrier stands for fences of proxies. So what is
 * unordered here is so in the memory model, too. Operations that are used as the ISA forbids, or
 * of which it isn't known what they do, end the schedule.
 *
 * Misses: arrivals of a count, those of other blocks; barriers whose number or lanes aren't known.
 */
#include "prove/replay/schedule.h"

#include <string.h>

void schedule_learn(struct schedule *s, uint32_t *to, const uint32_t *from)
{
	uint32_t cost = s->width / 64;

	for (uint32_t i = 0; i < s->width; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
	s->r->budget -= s->r->budget > cost ? cost : s->r->budget;
}

void schedule_release(struct schedule *s, struct lane *l, uint32_t *to)
{
	schedule_learn(s, to, l->clock);
	l->clock[l - s->lane]++;
}

static bool reads(const struct schedule *s, uint32_t reg, uint64_t *out)
{
	*out = 0;
	if (reg == IR_NONE || !s->r->reg[reg].known)
		return false;
	*out = s->r->reg[reg].v;
	return true;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static bool is_waiting(const struct lane *l, enum lane_state state, uint32_t number)
{
	return l->state == state && l->number == number;
}

/* Those who wait there know of each other, and of what *from says, and go on. */
static void open(struct schedule *s, enum lane_state state, uint32_t number, uint32_t warp,
		 const uint32_t *from)
{
	uint32_t *all = base_zalloc(&s->r->arena, s->width * sizeof(*all));

	if (from)
		schedule_learn(s, all, from);
	for (uint32_t i = 0; i < s->nlanes; i++) {
		struct lane *l = &s->lane[i];
		if (is_waiting(l, state, number) && (warp == IR_NONE || i / 32 == warp))
			schedule_release(s, l, all);
	}
	for (uint32_t i = 0; i < s->nlanes; i++) {
		struct lane *l = &s->lane[i];
		if (!is_waiting(l, state, number) || (warp != IR_NONE && i / 32 != warp))
			continue;
		schedule_learn(s, l->clock, all);
		l->state = LANE_RUNS;
		s->has_moved = true;
	}
}

/* May a thread that has ended be missing there? Not where a count says how many are to arrive, nor
 * at a barrier of the grid, where thread 0 arrives for its block. */
static bool may_miss(const struct schedule *s, const struct lane *ended, const struct lane *waits)
{
	return !waits->threads && (waits->number < IR_NUMBERS || ended != s->lane);
}

/*
 * All threads that haven't ended wait at one barrier of the block: the lanes of a warp at one
 * instruction. At several they wait for ever (docs/cpu-device.md, "What barriers wait for"), or,
 * where they may be apart, we take them for slow.
 */
static void open_cta(struct schedule *s)
{
	const struct lane *first = NULL, *of_warp = NULL;
	uint32_t warp = IR_NONE;

	for (uint32_t i = 0; i < s->nlanes; i++) {
		const struct lane *l = &s->lane[i];
		if (l->state == LANE_ENDED)
			continue;
		if (l->state != LANE_CTA ||
		    (first && (l->number != first->number || l->threads != first->threads)) ||
		    (warp == i / 32 && l->step != of_warp->step))
			return;
		first = first ? first : l;
		warp = i / 32;
		of_warp = l;
	}
	for (uint32_t i = 0; i < s->nlanes && first; i++)
		if (s->lane[i].state == LANE_ENDED && !may_miss(s, &s->lane[i], first))
			return;
	if (first)
		open(s, LANE_CTA, first->number, IR_NONE, NULL);
}

static void open_warp(struct schedule *s, uint32_t warp)
{
	for (uint32_t i = 32 * warp; i < s->nlanes && i < 32 * warp + 32; i++) {
		uint32_t mask = s->lane[i].number, k = 32 * warp;
		if (s->lane[i].state != LANE_WARP)
			continue;
		while (k < s->nlanes && k < 32 * warp + 32 &&
		       (!(mask >> k % 32 & 1) || s->lane[k].state == LANE_ENDED ||
			is_waiting(&s->lane[k], LANE_WARP, mask)))
			k++;
		if (k == s->nlanes || k == 32 * warp + 32)
			open(s, LANE_WARP, mask, warp, NULL);
	}
}

void schedule_meets(struct schedule *s, struct lane *l, uint64_t whom)
{
	l->state = LANE_MEETS;
	l->number = (uint32_t)whom;
	l->threads = (uint32_t)(whom >> 32);
	s->has_moved = true;
}

/* Do the lanes that lane i has in its mask, itself among them, do the same, or have they ended? */
static bool are_met(const struct schedule *s, uint32_t i)
{
	const struct lane *l = &s->lane[i];
	uint32_t first = i / 32 * 32;

	for (uint32_t k = first; k < s->nlanes && k < first + 32; k++)
		if (l->number >> k % 32 & 1 && s->lane[k].state != LANE_ENDED &&
		    (!is_waiting(&s->lane[k], LANE_MEETS, l->number) ||
		     s->lane[k].threads != l->threads))
			return false;
	return l->number >> i % 32 & 1;
}

static void open_meetings(struct schedule *s, uint32_t warp)
{
	for (uint32_t i = 32 * warp; i < s->nlanes && i < 32 * warp + 32; i++) {
		struct lane *l = &s->lane[i];
		if (l->state != LANE_MEETS || !are_met(s, i))
			continue;
		for (uint32_t k = i, mask = l->number; k < s->nlanes && k < 32 * warp + 32; k++)
			if (mask >> k % 32 & 1 && s->lane[k].state == LANE_MEETS)
				s->lane[k].state = LANE_RUNS;
		s->has_moved = true;
	}
}

void schedule_together(struct schedule *s, struct lane *l, uint32_t threads)
{
	l->state = LANE_TOGETHER;
	l->threads = threads;
	/* a number that no other warp or warpgroup has */
	l->number = (uint32_t)(l - s->lane) / threads * threads + (threads > 32);
	s->has_moved = true;
}

/* All threads of a warp, or of four, have come to one step: none may have ended before. */
static void open_together(struct schedule *s, uint32_t i)
{
	const struct lane *l = &s->lane[i];
	uint32_t first, end;

	if (l->state != LANE_TOGETHER)
		return;
	first = i / l->threads * l->threads;
	end = first + l->threads;
	for (uint32_t k = first; k < end; k++)
		if (k >= s->nlanes || !is_waiting(&s->lane[k], LANE_TOGETHER, l->number) ||
		    s->lane[k].block != l->block || s->lane[k].step != l->step)
			return;
	open(s, LANE_TOGETHER, l->number, IR_NONE, NULL);
}

void schedule_open_barriers(struct schedule *s)
{
	open_cta(s);
	for (uint32_t i = 0; i < s->nlanes; i += 32)
		open_together(s, i);
	for (uint32_t w = 0; w < (s->nlanes + 31) / 32; w++) {
		open_warp(s, w);
		open_meetings(s, w);
	}
}

static void open_number(struct schedule *s, struct number *b, uint32_t threads)
{
	uint32_t warps = (s->nlanes + 31) / 32;

	b->known = base_zalloc(&s->r->arena, s->width * sizeof(*b->known));
	b->came = BASE_NEWN(&s->r->arena, uint32_t, warps);
	b->step = BASE_NEWN(&s->r->arena, uint32_t, warps);
	b->threads = threads;
}

/* Have all lanes of the warp come that haven't ended? */
static bool is_whole(const struct schedule *s, uint32_t warp, uint32_t came)
{
	for (uint32_t i = 32 * warp; i < s->nlanes && i < 32 * warp + 32; i++)
		if (!(came >> i % 32 & 1) && s->lane[i].state != LANE_ENDED)
			return false;
	return true;
}

/* Warps arrive as a whole, at one instruction, and count as 32 threads. */
void schedule_numbered(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	uint32_t n = (uint32_t)(st->imm - IR_PARTIAL), i = (uint32_t)(l - s->lane), warp = i / 32;
	bool only_arrives = st->at && (st->at->form->op == PTX_OP_BAR_ARRIVE ||
				       st->at->form->op == PTX_OP_BARRIER_ARRIVE);

	if (n >= IR_NUMBERS || !st->threads || st->pred != IR_NONE) {
		s->is_over = true;
		return;
	}
	struct number *b = &s->number[n];
	if (!b->known)
		open_number(s, b, st->threads);
	if (b->threads != st->threads || (b->came[warp] >> i % 32 & 1) ||
	    (b->came[warp] && b->step[warp] != l->step)) {
		s->is_over = true;
		return;
	}
	schedule_release(s, l, b->known);
	s->has_moved = true;
	if (!only_arrives) {
		l->state = LANE_NUMBER;
		l->number = n;
	}
	b->came[warp] |= 1u << i % 32;
	b->step[warp] = l->step;
	if (!is_whole(s, warp, b->came[warp]))
		return;
	b->came[warp] = 0;
	b->arrived += 32;
	if (b->arrived < b->threads)
		return;
	/* which generation they belong to isn't noted */
	for (uint32_t w = 0; w < (s->nlanes + 31) / 32; w++)
		s->is_over |= b->came[w] != 0;
	if (s->is_over)
		return;
	open(s, LANE_NUMBER, n, IR_NONE, b->known);
	b->arrived = 0;
}

/* ---- mbarriers ------------------------------------------------------------------------------- */

static struct mbarrier *mbarrier_at(struct schedule *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nmbarriers; i++)
		if (s->mbarrier[i].addr == addr)
			return &s->mbarrier[i];
	return NULL;
}

static void set_up(struct schedule *s, uint64_t addr, uint64_t count)
{
	struct mbarrier *m = mbarrier_at(s, addr);

	if (m || !count || s->nmbarriers == SCHEDULE_MBARRIERS) {
		s->is_over = true;
		return;
	}
	m = &s->mbarrier[s->nmbarriers++];
	*m = (struct mbarrier){.addr = addr, .count = count, .pending = count};
	m->coming = base_zalloc(&s->r->arena, s->width * sizeof(*m->coming));
	m->done = base_zalloc(&s->r->arena, s->width * sizeof(*m->done));
}

static void end_phase(struct schedule *s, struct mbarrier *m)
{
	if (m->pending || m->bytes)
		return;
	m->phase++;
	m->pending = m->count;
	schedule_learn(s, m->done, m->coming);
}

static void finish(struct schedule *s, uint32_t n)
{
	struct copy *c = &s->copy[n];
	struct mbarrier *m = &s->mbarrier[c->mbarrier];

	c->is_done = true;
	s->has_moved = true;
	m->coming[s->nlanes + n] = 1;
	m->bytes -= (int64_t)c->bytes;
	end_phase(s, m);
}

bool schedule_finish_copy(struct schedule *s)
{
	bool has_some = false;

	for (uint32_t i = 0; i < s->ncopies; i++) {
		if (s->copy[i].is_done || s->copy[i].mbarrier == IR_NONE)
			continue;
		finish(s, i);
		has_some = true;
		if (s->copy[i].bytes) /* with its last half */
			break;
	}
	return has_some;
}

static void arrive(struct schedule *s, struct lane *l, struct mbarrier *m, const struct ir_mbar *op)
{
	uint64_t bytes, count = 1;

	if ((op->count != IR_NONE && !reads(s, op->count, &count)) || !count ||
	    m->pending < count || (op->arg != IR_NONE && !reads(s, op->arg, &bytes))) {
		s->is_over = true;
		return;
	}
	if (op->result != IR_NONE)
		s->r->reg[op->result] = (struct value){m->phase, true};
	if (op->arg != IR_NONE)
		m->bytes += (int64_t)bytes;
	m->pending -= count;
	schedule_release(s, l, m->coming);
	s->has_moved = true;
	end_phase(s, m);
}

/* An arrival when the thread's cp.async so far are done: they are, at once. */
static void arrive_async(struct schedule *s, struct lane *l, struct mbarrier *m)
{
	if (!m->pending) {
		s->is_over = true;
		return;
	}
	for (uint32_t i = 0; i < s->ncopies; i++) {
		const struct copy *c = &s->copy[i];
		if (c->lane == (uint32_t)(l - s->lane) && !c->mem->is_range)
			m->coming[s->nlanes + i] = 1;
	}
	m->pending--;
	schedule_release(s, l, m->coming);
	s->has_moved = true;
	end_phase(s, m);
}

static void wait(struct schedule *s, struct lane *l, const struct mbarrier *m,
		 const struct ir_mbar *op)
{
	uint64_t arg;

	if (!reads(s, op->arg, &arg)) {
		l->state = LANE_LOST;
		return;
	}
	bool is_over = op->is_parity ? (m->phase & 1) != (arg & 1) : m->phase > arg;
	if (op->result != IR_NONE)
		s->r->reg[op->result] = (struct value){is_over, true};
	if (is_over) {
		schedule_learn(s, l->clock, m->done);
		l->polled = IR_NONE;
		s->has_moved = true;
		return;
	}
	l->state = LANE_POLLS;
	s->has_moved |= l->polled != l->step;
	l->polled = l->step;
}

/* The halves of the thread's bulk copy, its latest ones, complete on the mbarrier: the last one
 * with all bytes. */
static void count_copy(struct schedule *s, struct lane *l, struct mbarrier *m,
		       const struct ir_mbar *op)
{
	uint32_t first = s->ncopies - l->ncopies;
	uint64_t bytes;

	if (!l->ncopies || !reads(s, op->arg, &bytes)) {
		s->is_over = true;
		return;
	}
	for (uint32_t i = first; i < s->ncopies; i++) {
		s->copy[i].mbarrier = (uint32_t)(m - s->mbarrier);
		s->copy[i].bytes = i + 1 == s->ncopies ? bytes : 0;
	}
	/* what a copy has overwritten or read came before it (docs/soundness.md, "Proxies") */
	schedule_release(s, l, m->coming);
	for (uint32_t i = first; i < s->ncopies && s->kind != SCHEDULE_LATE; i++)
		finish(s, i);
	s->has_moved = true;
}

void schedule_mbarrier(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	const struct ir_mbar *op = st->mbar;
	uint64_t addr, count;
	struct mbarrier *m;

	if (!reads(s, op->addr, &addr)) {
		s->is_over = true;
		return;
	}
	addr += (uint64_t)op->off;
	m = mbarrier_at(s, addr);
	if (op->kind == IR_MBAR_INIT && reads(s, op->arg, &count)) {
		set_up(s, addr, count);
		return;
	}
	if (!m) {
		s->is_over = true;
		return;
	}
	switch (op->kind) {
	case IR_MBAR_ARRIVE:
		arrive(s, l, m, op);
		return;
	case IR_MBAR_ARRIVE_ASYNC:
		arrive_async(s, l, m);
		return;
	case IR_MBAR_WAIT:
		wait(s, l, m, op);
		return;
	case IR_MBAR_COPY:
		count_copy(s, l, m, op);
		return;
	default:
		s->is_over = true;
	}
}

/* ---- copies ---------------------------------------------------------------------------------- */

uint32_t schedule_copy(struct schedule *s, struct lane *l, const struct ir_access *mem)
{
	if (s->ncopies == SCHEDULE_COPIES) {
		s->is_over = true;
		return IR_NONE;
	}
	s->copy[s->ncopies] = (struct copy){.lane = (uint32_t)(l - s->lane),
					    .group = l->groups[mem->group],
					    .mem = mem,
					    .mbarrier = IR_NONE};
	return s->ncopies++;
}

void schedule_groups(struct schedule *s, struct lane *l, const struct ir_step *st)
{
	enum ir_group family = st->op == IR_GROUP_BULK_READ ? IR_GROUP_BULK : (enum ir_group)st->op;
	/* a wait for a product covers what all of the warpgroup have issued */
	uint32_t threads = family == IR_GROUP_PRODUCT ? 128 : 1;
	uint32_t own = (uint32_t)(l - s->lane) / threads;

	if (st->kind == IR_COMMIT) {
		l->groups[family]++;
		return;
	}
	for (uint32_t i = 0; i < s->ncopies; i++) {
		const struct copy *c = &s->copy[i];
		uint32_t made = s->lane[c->lane].groups[family];
		bool is_old = c->group < made && made - c->group > st->imm;
		if (c->lane / threads != own || c->mem->group != family || c->mem->is_bulk ||
		    (st->op == IR_GROUP_BULK_READ && c->mem->kind != RACE_OP_READ))
			continue;
		if (st->imm == IR_WAIT_ALL || is_old)
			l->clock[s->nlanes + i] = 1;
	}
}
