/*
 * queue.c - the actors that are ready, the warps that sleep; one decision.
 *
 * Ready actors are served in rounds: each once, in an order drawn by seed, so
 * that nothing ready waits for more than a round. A turn's length is drawn too:
 * mostly 20 to 400 instructions, which keeps the caches warm, at times 1 to 8,
 * so that others come between any two instructions. Where nothing looks at the order and no thread
 * waits for what another one stores (apart.c) turns are mostly longer.
 *
 * The clock counts nanoseconds: each busy multiprocessor issues one warp
 * instruction in each, so n instructions of a device that has b busy ones last
 * n / b. When all sleep, it jumps ahead. Blocked warps are in no list; the code that wakes them
 * puts them back.
 */
#include "cpu/sched.h"

#include <stdlib.h>

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* ---- queues ------------------------------------------------------------------------ */

void cpu_sched_push(struct cpu_worker *k, struct cpu_actor *a)
{
	struct cpu_queue *q = &kp(k)->queue[1];

	base_vec_reserve(q, q->n + 1);
	a->list = 2;
	a->pos = (uint32_t)q->n;
	q->v[q->n++] = a;
}

void cpu_sched_remove(struct cpu_worker *k, struct cpu_actor *a)
{
	struct cpu_queue *q = &kp(k)->queue[a->list - 1];

	q->v[a->pos] = q->v[--q->n];
	q->v[a->pos]->pos = a->pos;
	a->list = 0;
}

/* Starts the next round when this one is over. False: no actor is ready. */
static bool next_round(struct cpu_worker_priv *p)
{
	struct cpu_queue q = p->queue[0];

	if (q.n)
		return true;
	p->queue[0] = p->queue[1];
	p->queue[1] = q;
	for (size_t i = 0; i < p->queue[0].n; i++)
		p->queue[0].v[i]->list = 1;
	return p->queue[0].n != 0;
}

/* ---- sleep --------------------------------------------------------------------------- */

static void heap_set(struct cpu_worker_priv *p, uint32_t i, struct cpu_warp *w)
{
	p->heap.v[i] = w;
	cpu_wp(w)->heap = i + 1;
}

static void heap_up(struct cpu_worker_priv *p, uint32_t i, struct cpu_warp *w)
{
	uint64_t wake = cpu_wp(w)->wake;

	for (; i && cpu_wp(p->heap.v[(i - 1) / 2])->wake > wake; i = (i - 1) / 2)
		heap_set(p, i, p->heap.v[(i - 1) / 2]);
	heap_set(p, i, w);
}

static void heap_down(struct cpu_worker_priv *p, uint32_t i, struct cpu_warp *w)
{
	uint64_t wake = cpu_wp(w)->wake;
	uint32_t n = (uint32_t)p->heap.n;

	for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && cpu_wp(p->heap.v[c + 1])->wake < cpu_wp(p->heap.v[c])->wake)
			c++;
		if (cpu_wp(p->heap.v[c])->wake >= wake)
			break;
		heap_set(p, i, p->heap.v[c]);
	}
	heap_set(p, i, w);
}

static void heap_remove(struct cpu_worker_priv *p, struct cpu_warp *w)
{
	uint32_t i = cpu_wp(w)->heap - 1;
	struct cpu_warp *last = p->heap.v[--p->heap.n];

	cpu_wp(w)->heap = 0;
	if (last == w)
		return;
	heap_up(p, i, last);
	heap_down(p, cpu_wp(last)->heap - 1, last);
}

/* The warp's place among the sleepers follows its splits. */
static void heap_follow(struct cpu_worker_priv *p, struct cpu_warp *w)
{
	struct cpu_warp_priv *x = cpu_wp(w);
	uint64_t wake = UINT64_MAX;
	uint32_t asleep = x->asleep;

	CPU_EACH_LANE (i, asleep) {
		if (w->split[i].wake < wake)
			wake = w->split[i].wake;
	}
	if (x->heap && (wake == x->wake && asleep))
		return;
	if (x->heap)
		heap_remove(p, w);
	if (!asleep)
		return;
	x->wake = wake;
	base_vec_reserve(&p->heap, p->heap.n + 1);
	p->heap.n++;
	heap_up(p, (uint32_t)p->heap.n - 1, w);
}

/* Wakes the splits whose time has come. */
static void wake_sleepers(struct cpu_worker *k)
{
	struct cpu_worker_priv *p = kp(k);

	while (p->heap.n && cpu_wp(p->heap.v[0])->wake <= k->clock) {
		struct cpu_warp *w = p->heap.v[0];
		uint32_t asleep = cpu_wp(w)->asleep;

		CPU_EACH_LANE (i, asleep) {
			if (w->split[i].wake <= k->clock)
				cpu_split_state(w, &w->split[i], CPU_SPLIT_READY);
		}
		heap_follow(p, w);
		cpu_sched_wake(w);
	}
}

void cpu_sched_wake(struct cpu_warp *w)
{
	struct cpu_warp_priv *x = cpu_wp(w);

	/* A split that only waits for others to join it needs a turn to find that none will
	 * come. */
	if ((x->ready || x->joining) && !x->actor.list && w->worker->warp != w)
		cpu_sched_push(w->worker, &x->actor);
}

void cpu_sched_drop_warp(struct cpu_warp *w)
{
	struct cpu_warp_priv *x = cpu_wp(w);

	if (x->actor.list)
		cpu_sched_remove(w->worker, &x->actor);
	if (x->heap)
		heap_remove(kp(w->worker), w);
}

/* ---- turns ------------------------------------------------------------------------------ */

#define CALM_BUDGET 4096u

static uint32_t draw_budget(struct cpu_worker *k)
{
	if (kp(k)->is_calm)
		return CALM_BUDGET;
	uint64_t r = cpu_random(k);

	if ((r & 15) < 2)
		return 1 + (uint32_t)(r >> 32 & 7);
	uint32_t n = 20 + (uint32_t)((r >> 32) * 380 >> 32);
	return kp(k)->longer ? n * kp(k)->longer : n;
}

static void advance_clock(struct cpu_worker *k, uint64_t insts)
{
	struct cpu_worker_priv *p = kp(k);
	uint32_t busy = p->nblocks < p->e->sms ? p->nblocks : p->e->sms;

	p->issued += insts;
	if (busy < 2) {
		k->clock += p->issued;
		p->issued = 0;
	} else if (p->issued >= busy) {
		k->clock += p->issued / busy;
		p->issued %= busy;
	}
}

static bool is_unit_done(const struct cpu_cluster *c)
{
	for (uint32_t r = 0; r < c->size; r++)
		if (c->ctas[r]->nlive)
			return false;
	return true;
}

static void turn_warp(struct cpu_worker *k, struct cpu_warp *w)
{
	struct cpu_warp_priv *x = cpu_wp(w);
	struct cpu_cta *cta = w->cta;
	struct cpu_block *b = cpu_block_of(cta);
	uint32_t budget = draw_budget(k);
	uint64_t before = k->warp_insts + k->waited;

	cpu_sched_note(kp(k), (cta->linear << 16) + (w->index << 11) + budget);
	cpu_warp_run(k, w, budget);
	k->warp = NULL;
	advance_clock(k, k->warp_insts + k->waited - before);
	if (cta->async && !b->async.list && cpu_async_pending(cta))
		cpu_sched_push(k, &b->async);
	if (!cta->nlive && is_unit_done(cta->cluster)) {
		base_vec_push(&kp(k)->ended, (struct cpu_unit *)(void *)cta->cluster);
		return;
	}
	if (x->asleep || x->heap)
		heap_follow(kp(k), w);
	if (x->ready)
		cpu_sched_push(k, &x->actor);
}

static void turn(struct cpu_worker *k, struct cpu_actor *a)
{
	switch ((enum cpu_actor_kind)a->kind) {
	case CPU_ACTOR_WARP: {
		struct cpu_warp_priv *x =
			(struct cpu_warp_priv *)(void *)((char *)a -
							 offsetof(struct cpu_warp_priv, actor));
		turn_warp(k, x->w);
		break;
	}
	case CPU_ACTOR_ASYNC: {
		struct cpu_block *b =
			(struct cpu_block *)(void *)((char *)a - offsetof(struct cpu_block, async));
		cpu_sched_note(kp(k), b->cta.linear << 16 | 0xa55);
		if (cpu_async_step(k, &b->cta) && cpu_async_pending(&b->cta))
			cpu_sched_push(k, a);
		advance_clock(k, 8);
		break;
	}
	case CPU_ACTOR_OP: {
		struct cpu_op *op = (struct cpu_op *)(void *)a;
		cpu_sched_note(kp(k), op->id << 16 | 0x0b5);
		if (!cpu_transfer_step(k, op)) {
			cpu_sched_push(k, a);
			break;
		}
		cpu_engine_enter(k->m->engine);
		cpu_op_end(op);
		cpu_engine_leave(k->m->engine);
		break;
	}
	}
}

bool cpu_sched_step(struct cpu_worker *k)
{
	struct cpu_worker_priv *p = kp(k);

	wake_sleepers(k);
	if (!next_round(p)) {
		if (!p->heap.n)
			return false;
		k->clock = cpu_wp(p->heap.v[0])->wake;
		wake_sleepers(k);
		next_round(p);
	}
	uint32_t n = (uint32_t)p->queue[0].n, at = 0;

	cpu_steer_look(k);
	if (n > 1)
		at = p->is_calm ? cpu_steer_next(&p->queue[0]) : cpu_random_below(k, n);
	struct cpu_actor *a = p->queue[0].v[at];

	cpu_sched_remove(k, a);
	p->decisions++;
	turn(k, a);
	return true;
}
