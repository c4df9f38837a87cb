/*
 * steer.c - a schedule that is said and not drawn: --random-turns, --delay and --only.
 *
 * After so many turns the scheduler is calm: the ready actors of a round have their turns in the
 * order of their numbers, each a long one, and blocks start in order; what else is drawn comes from
 * a constant. A delayed thread sleeps for 1 ms of the machine's clock, once a launch, before the
 * first access of its line or at its start: long enough for all that doesn't wait for it. Threads
 * that --only leaves out go to their kernel's end at once.
 *
 * Only launches that are checked are steered. Costs: nothing where none of the options is given;
 * else a call before each access of a delayed line.
 */
#include "cpu/sched.h"
#include "race/shuffle/place.h"

#include <stdlib.h>

#define DELAY_NS 1000000u
#define CALM_RNG 0x9e3779b97f4a7c15ull

struct cpu_steer {
	struct base_arena arena;
	struct race_places delay, only;
};

bool cpu_steer_init(struct cpu_machine *m)
{
	const struct cpu_options *o = &m->opt;
	const char *wrong;

	if (!o->delay && !o->only)
		return true;
	struct cpu_steer *s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	/* The command line was checked by cli/run.c. */
	if (o->delay && !race_places_read(&s->arena, o->delay, true, &s->delay, &wrong))
		s->delay.n = 0;
	if (o->only && !race_places_read(&s->arena, o->only, false, &s->only, &wrong))
		s->only.n = 0;
	m->steer = s;
	return true;
}

void cpu_steer_free(struct cpu_machine *m)
{
	if (m->steer)
		base_arena_free(&m->steer->arena);
	free(m->steer);
	m->steer = NULL;
}

/* ---- turns --------------------------------------------------------------------------- */

void cpu_steer_look(struct cpu_worker *k)
{
	struct cpu_worker_priv *p = k->priv;

	if (p->is_calm || !k->m->opt.calm_from || p->decisions + 1 < k->m->opt.calm_from)
		return;
	p->is_calm = true;
	k->rng = CALM_RNG;
}

/* Transfers first, then warps by block and number. */
static uint64_t number_of(struct cpu_actor *a)
{
	if (a->kind != CPU_ACTOR_WARP)
		return 0;
	const struct cpu_warp *w =
		((struct cpu_warp_priv *)(void *)((char *)a -
						  offsetof(struct cpu_warp_priv, actor)))
			->w;
	return 1 + w->cta->linear * 64 + w->index;
}

uint32_t cpu_steer_next(const struct cpu_queue *q)
{
	uint64_t least = UINT64_MAX;
	uint32_t at = 0;

	for (uint32_t i = 0; i < q->n; i++) {
		uint64_t number = number_of(q->v[i]);
		if (number < least) {
			least = number;
			at = i;
		}
	}
	return at;
}

/* ---- threads ------------------------------------------------------------------------- */

/* The lanes that one of the places names; line 0: at the kernel's start. */
static uint32_t named(const struct race_places *places, const struct cpu_warp *w, uint32_t line)
{
	uint32_t lanes = 0;

	for (size_t i = 0; i < places->n; i++) {
		const struct race_where *p = &places->v[i];
		if (p->line != line || !race_numbers_have(&p->block, w->cta->linear, w->cta->id))
			continue;
		for (uint32_t l = 0; l < CPU_WARP; l++) {
			uint32_t tid[3];
			cpu_lane_tid(w, l, tid);
			lanes |= (uint32_t)race_numbers_have(&p->thread, w->index * CPU_WARP + l,
							     tid)
				 << l;
		}
	}
	return lanes;
}

static void delay(struct cpu_warp *w, struct cpu_split *s, uint32_t lanes)
{
	cpu_wp(w)->delayed |= lanes;
	if (lanes != s->mask)
		s = cpu_split_off(w, lanes, s->pc);
	s->wake = w->worker->clock + DELAY_NS;
	cpu_split_state(w, s, CPU_SPLIT_SLEEP);
}

void cpu_steer_start(struct cpu_warp *w)
{
	const struct cpu_steer *st = w->grid->m->steer;
	struct cpu_split *s = w->cur;

	cpu_wp(w)->delayed = 0;
	if (!st || w->grid->op->work.launch.is_plain)
		return;
	uint32_t out = st->only.n ? s->mask & ~named(&st->only, w, 0) : 0;
	if (out == s->mask)
		s->pc = s->func->ninsts - 1;
	else if (out)
		cpu_split_off(w, out, s->func->ninsts - 1);
	uint32_t late = named(&st->delay, w, 0) & s->mask & ~out;
	if (late)
		delay(w, s, late);
}

bool cpu_steer_names(const struct cpu_machine *m, uint32_t line)
{
	for (size_t i = 0; m->steer && i < m->steer->delay.n; i++)
		if (m->steer->delay.v[i].line == line)
			return true;
	return false;
}

bool cpu_steer_access(struct cpu_warp *w, const struct cpu_inst *in)
{
	const struct cpu_steer *st = w->grid->m->steer;
	struct cpu_split *s = w->cur;
	const struct ptx_loc *loc = ptx_near_loc(s->func->stmts[s->pc]);
	uint32_t lanes = s->mask & ~cpu_wp(w)->delayed;

	if (!loc || w->grid->op->work.launch.is_plain)
		return true;
	if (in->guard != CPU_NOSLOT)
		lanes &= *cpu_pred(w, in->guard) ^ (0u - (in->flags & CPU_I_GUARD_NOT));
	lanes &= named(&st->delay, w, loc->line);
	if (!lanes)
		return true;
	bool is_all = lanes == s->mask;
	delay(w, s, lanes);
	return !is_all;
}
