/*
 * barrier.c - threads that wait for each other: bar, barrier, barrier.cluster, bar.warp.sync.
 *
 * A block has 16 barriers. Each counts threads, not warps: the lanes of a split arrive. A barrier
 * without a count expects every thread of the block that has not exited; one with a count expects
 * that many arrivals, and all participants of one generation must give the same (the whole block's
 * count and none are the same). Counts are in whole warps: when all remaining lanes of a warp have
 * arrived, lanes that exited or never existed count as well. Splits that wait keep their pc at the
 * barrier; the arrival that completes the generation moves all of them on, merges those of one warp
 * that are at one place, and gives the result of a reduction. Arriving releases, leaving acquires
 * (scope of the block or the cluster, nothing with .relaxed).
 *
 * The cluster's barrier has arrive and wait apart: a lane remembers the parity
 * of the generation it arrived in.
 *
 * A completion visits all warps of the block (or cluster).
 */
#include "cpu/sched.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

cpu_binder cpu_bind_barrier;

enum mode { MODE_SYNC, MODE_ARRIVE, MODE_POPC, MODE_AND, MODE_OR };

struct barrier {
	uint64_t generation;
	uint32_t expected; /* of this generation; 0: all threads of the block */
	uint32_t arrived;
	uint32_t popc;	     /* lanes whose predicate is true, of those that arrived by .red */
	uint32_t reduced;    /* lanes that arrived by .red */
	uint32_t count_line; /* of the PTX instruction that set `expected` */
	bool is_open;	     /* a thread has arrived */
	/* By warp: lanes that have arrived since the last time that all of it had. */
	uint32_t round[CPU_WARP];
};

struct cpu_barriers {
	struct barrier b[CPU_BARRIERS];
	uint32_t used;	 /* that a thread of this block has arrived at; the others are zero */
	uint32_t exited; /* threads */
	/* By warp: lanes that have arrived at the cluster's barrier and not waited yet; the parity
	 * of the generation they arrived in. */
	uint32_t *cluster_arrived, *cluster_parity;
};

struct cpu_cluster_barrier {
	uint64_t generation;
	uint32_t arrived, exited;
};

#define AUX_CLUSTER 0x100u /* cpu_split.aux of one that waits: this, or the barrier's number */

static uint32_t here(const struct cpu_warp *w, const struct cpu_inst *in)
{
	return (uint32_t)(in - w->cur->func->code);
}

/* ---- waking ------------------------------------------------------------------------------ */

/* Moves one waiting split past its barrier; merges it with another that went before. */
static void pass(struct cpu_warp *w, struct cpu_split *s, uint32_t *passed)
{
	s->pc++;
	s->aux = 0;
	uint32_t others = *passed;

	CPU_EACH_LANE (i, others) {
		struct cpu_split *t = &w->split[i];
		if (t->state == CPU_SPLIT_READY && t->func == s->func && t->pc == s->pc &&
		    t->depth == s->depth) {
			t->mask |= s->mask;
			if (w->cur == s)
				cpu_warp_focus(w, t);
			cpu_split_state(w, s, CPU_SPLIT_FREE);
			return;
		}
	}
	cpu_split_state(w, s, CPU_SPLIT_READY);
	if (!cpu_wp(w)->nmeets || cpu_meet_arrive(w, s))
		*passed |= cpu_split_bit(w, s);
}

static void give_result(struct cpu_warp *w, struct cpu_split *s, const struct barrier *b)
{
	const struct cpu_inst *in = &s->func->code[s->pc];
	struct cpu_split *was = w->cur;
	uint32_t mask = s->mask;

	if (in->sub < MODE_POPC || in->dst[0] == CPU_NOSLOT)
		return;
	cpu_warp_focus(w, s);
	if (in->sub == MODE_POPC) {
		uint32_t *d = cpu_u32(w, in->dst[0]), v = b->popc;
		CPU_LANES(l, mask, d[l] = v);
	} else {
		bool is_true = in->sub == MODE_AND ? b->popc == b->reduced : b->popc != 0;
		cpu_set_pred(w, in->dst[0], is_true ? UINT32_MAX : 0, mask);
	}
	if (was)
		cpu_warp_focus(w, was);
}

static void wake_warp(struct cpu_warp *w, uint64_t aux, const struct barrier *b,
		      uint64_t generation)
{
	uint32_t used = cpu_wp(w)->used, passed = 0;

	CPU_EACH_LANE (i, used) {
		struct cpu_split *s = &w->split[i];
		if (s->state != CPU_SPLIT_BARRIER || s->aux != aux)
			continue;
		if (b)
			give_result(w, s, b);
		cpu_acquire(w, s->mask, b ? PTX_SCOPE_CTA : PTX_SCOPE_CLUSTER);
		cpu_judge_leave(w, s->mask, b ? (uint32_t)aux : CPU_JUDGE_CLUSTER, generation);
		pass(w, s, &passed);
	}
	cpu_sched_wake(w);
}

/* ---- the block's barriers ------------------------------------------------------------------- */

static void complete(struct cpu_cta *cta, uint32_t id)
{
	struct barrier *b = &cta->barriers->b[id];
	struct barrier was = *b;

	*b = (struct barrier){.generation = was.generation + 1};
	for (uint32_t i = 0; i < cta->nwarps; i++)
		wake_warp(&cta->warps[i], id, &was, was.generation);
}

static bool is_complete(const struct cpu_cta *cta, const struct barrier *b)
{
	uint32_t need = b->expected ? b->expected : cta->grid->nthreads - cta->barriers->exited;

	return b->is_open && b->arrived >= need;
}

/* With a count: the lanes that cannot arrive count once the others of their warp have. */
static void round_up(struct barrier *b, const struct cpu_warp *w, uint32_t mask)
{
	uint32_t *round = &b->round[w->index], gone = ~cpu_alive(w);

	if (!b->expected)
		return;
	*round |= mask;
	if (!*round || (*round | gone) != UINT32_MAX)
		return;
	*round = 0;
	b->arrived += cpu_popcount(gone);
}

/* The first lane's value; lanes that name another barrier are split off and execute it again. */
static uint32_t barrier_id(struct cpu_warp *w, const struct cpu_inst *in, uint32_t *mask)
{
	const uint32_t *v = cpu_u32(w, in->src[0]);
	uint32_t first = v[__builtin_ctz(*mask)], others = 0;

	CPU_EACH_LANE (l, *mask) {
		others |= (uint32_t)(v[l] != first) << l;
	}
	if (others) {
		cpu_split_off(w, others, w->cur->pc);
		*mask &= ~others;
	}
	return first;
}

static enum cpu_step check_count(struct cpu_warp *w, const struct cpu_inst *in, struct barrier *b,
				 uint32_t id, uint32_t mask)
{
	unsigned lane = (unsigned)__builtin_ctz(mask);
	uint32_t count = in->src[1] == CPU_NOSLOT ? 0 : cpu_u32(w, in->src[1])[lane];
	const struct ptx_stmt *s = w->cur->func->stmts[w->cur->pc];

	if (count == w->cta->nwarps * CPU_WARP)
		count = 0;
	else if (in->src[1] != CPU_NOSLOT && (!count || count % CPU_WARP))
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "barrier %u with %u threads, which is no multiple of %u", id,
				 count, CPU_WARP);
	if (b->is_open && b->expected != count)
		return cpu_fault(
			w, in, lane, CPU_FAULT_ILLEGAL,
			"barrier %u expects %u threads here, but %u at PTX line %u (0: the "
			"whole block)",
			id, count, b->expected, b->count_line);
	if (!b->is_open)
		b->count_line = s ? s->line : 0;
	b->expected = count;
	b->is_open = true;
	w->cta->barriers->used |= 1u << id;
	return CPU_OK;
}

static enum cpu_step exec_bar(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_cta *cta = w->cta;
	struct cpu_split *s = w->cur;

	s->pc = here(w, in);
	uint32_t id = barrier_id(w, in, &mask);
	if (id >= CPU_BARRIERS)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_ILLEGAL,
				 "barrier %u of a block that has %u", id, CPU_BARRIERS);

	struct barrier *b = &cta->barriers->b[id];
	if (check_count(w, in, b, id, mask) != CPU_OK)
		return CPU_FAULTED;
	b->arrived += cpu_popcount(mask);
	round_up(b, w, mask);
	if (in->sub >= MODE_POPC) {
		uint32_t p = *cpu_pred(w, in->src[2]);
		b->popc += cpu_popcount((in->imm & 1 ? ~p : p) & mask);
		b->reduced += cpu_popcount(mask);
	}
	if (b->expected && b->arrived > b->expected)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_ILLEGAL,
				 "%u threads have arrived at barrier %u, which expects %u",
				 b->arrived, id, b->expected);
	cpu_release(w, mask, PTX_SCOPE_CTA);
	cpu_judge_arrive(w, in, mask,
			 &(struct cpu_arrival){.id = id,
					       .generation = b->generation,
					       .expected = b->expected,
					       .releases = true,
					       .leaves = in->sub != MODE_ARRIVE});
	if (in->sub == MODE_ARRIVE) {
		s->pc++;
	} else {
		s->aux = id;
		cpu_split_state(w, s, CPU_SPLIT_BARRIER);
	}
	if (is_complete(cta, b))
		complete(cta, id);
	return CPU_MOVED;
}

/* ---- the cluster's barrier ------------------------------------------------------------------- */

static void cluster_check(struct cpu_cluster *c)
{
	struct cpu_cluster_barrier *b = c->barrier;
	uint32_t threads = c->grid->nthreads * c->size;

	if (!b->arrived || b->arrived < threads - b->exited)
		return;
	b->generation++;
	b->arrived = 0;
	for (uint32_t r = 0; r < c->size; r++) {
		struct cpu_cta *cta = c->ctas[r];
		for (uint32_t i = 0; i < cta->nwarps; i++) {
			struct cpu_warp *w = &cta->warps[i];
			uint32_t used = cpu_wp(w)->used, waits = 0;
			CPU_EACH_LANE (j, used) {
				const struct cpu_split *s = &w->split[j];
				if (s->state == CPU_SPLIT_BARRIER && s->aux == AUX_CLUSTER)
					waits |= s->mask;
			}
			if (!waits)
				continue;
			cta->barriers->cluster_arrived[i] &= ~waits;
			wake_warp(w, AUX_CLUSTER, NULL, b->generation - 1);
		}
	}
}

static enum cpu_step exec_cluster_arrive(struct cpu_warp *w, const struct cpu_inst *in,
					 uint32_t mask)
{
	struct cpu_cluster_barrier *b = w->cta->cluster->barrier;
	uint32_t *arrived = &w->cta->barriers->cluster_arrived[w->index];
	uint32_t *parity = &w->cta->barriers->cluster_parity[w->index];

	w->cur->pc = here(w, in);
	if (*arrived & mask)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(*arrived & mask), CPU_FAULT_ILLEGAL,
				 "the thread arrives again without having waited");
	if (!in->sub)
		cpu_release(w, mask, PTX_SCOPE_CLUSTER);
	*arrived |= mask;
	*parity = (*parity & ~mask) | (b->generation & 1 ? mask : 0);
	b->arrived += cpu_popcount(mask);
	cpu_judge_arrive(w, in, mask,
			 &(struct cpu_arrival){.id = CPU_JUDGE_CLUSTER,
					       .generation = b->generation,
					       .releases = !in->sub,
					       .leaves = true});
	w->cur->pc++;
	cluster_check(w->cta->cluster);
	return CPU_MOVED;
}

static enum cpu_step exec_cluster_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_cluster_barrier *b = w->cta->cluster->barrier;
	uint32_t *arrived = &w->cta->barriers->cluster_arrived[w->index];
	uint32_t parity = w->cta->barriers->cluster_parity[w->index];
	uint32_t open = (b->generation & 1 ? parity : ~parity) & mask; /* arrived in this one */

	w->cur->pc = here(w, in);
	if (mask & ~*arrived)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(mask & ~*arrived),
				 CPU_FAULT_ILLEGAL, "the thread waits without having arrived");
	if (!open) {
		*arrived &= ~mask;
		cpu_acquire(w, mask, PTX_SCOPE_CLUSTER);
		cpu_judge_leave(w, mask, CPU_JUDGE_CLUSTER, b->generation - 1);
		return CPU_OK;
	}
	if (open != mask) {
		cpu_split_off(w, mask & ~open, w->cur->pc);
		return CPU_MOVED;
	}
	w->cur->aux = AUX_CLUSTER;
	cpu_split_state(w, w->cur, CPU_SPLIT_BARRIER);
	return CPU_MOVED;
}

/* ---- the warp, the grid ---------------------------------------------------------------------- */

enum cpu_step cpu_exec_warp_sync(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_warp_priv *p = cpu_wp(w);

	for (uint32_t i = 0; i < p->nparts; i++)
		mask |= p->parts[i].split->mask;
	cpu_release(w, mask, PTX_SCOPE_CTA);
	cpu_acquire(w, mask, PTX_SCOPE_CTA);
	cpu_judge_warp_sync(w, in, mask);
	return CPU_OK;
}

static enum cpu_step exec_grid_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)in;
	if (!cpu_engine_dependencies_done(w->grid))
		return CPU_RETRY;
	cpu_acquire(w, mask, PTX_SCOPE_GPU);
	cpu_judge_grid_wait(w, mask);
	return CPU_OK;
}

/* ---- blocks begin and end, threads exit ------------------------------------------------------ */

void cpu_barriers_init(struct cpu_cta *cta)
{
	struct cpu_barriers *b = cta->barriers;
	size_t bytes = cta->nwarps * sizeof(uint32_t);

	if (!b) {
		b = base_calloc(1, sizeof(*b) + 2 * bytes);
		cta->barriers = b;
		b->cluster_arrived = (uint32_t *)(void *)(b + 1);
		b->cluster_parity = b->cluster_arrived + cta->nwarps;
	}
	CPU_EACH_LANE (i, b->used)
		b->b[i] = (struct barrier){0};
	b->used = 0;
	memset(b->cluster_arrived, 0, 2 * bytes);
	b->exited = 0;
}

void cpu_barriers_free(struct cpu_cta *cta)
{
	free(cta->barriers);
	cta->barriers = NULL;
}

void cpu_cluster_barrier_init(struct cpu_cluster *c)
{
	if (!c->barrier)
		c->barrier = base_malloc(sizeof(*c->barrier));
	*c->barrier = (struct cpu_cluster_barrier){0};
}

void cpu_cluster_barrier_free(struct cpu_cluster *c)
{
	free(c->barrier);
	c->barrier = NULL;
}

void cpu_barrier_lanes_exit(struct cpu_warp *w, uint32_t lanes)
{
	struct cpu_cta *cta = w->cta;
	struct cpu_cluster_barrier *c = cta->cluster->barrier;
	uint32_t *arrived = &cta->barriers->cluster_arrived[w->index];
	uint32_t parity = cta->barriers->cluster_parity[w->index];
	uint32_t open = (c->generation & 1 ? parity : ~parity) & *arrived & lanes;

	cta->barriers->exited += cpu_popcount(lanes);
	CPU_EACH_LANE (i, cta->barriers->used) {
		struct barrier *b = &cta->barriers->b[i];
		if (!b->is_open)
			continue;
		round_up(b, w, 0);
		if (is_complete(cta, b))
			complete(cta, i);
	}
	/* A thread that arrived and then exits without waiting counts once. */
	c->arrived -= cpu_popcount(open);
	*arrived &= ~lanes;
	c->exited += cpu_popcount(lanes);
	cluster_check(cta->cluster);
}

void cpu_barrier_describe(const struct cpu_cta *cta, char *text, size_t n)
{
	size_t at = 0;

	*text = 0;
	for (uint32_t i = 0; i < CPU_BARRIERS && at < n; i++) {
		const struct barrier *b = &cta->barriers->b[i];
		if (!b->is_open)
			continue;
		int m = snprintf(
			text + at, n - at, "%s%u of %u threads have arrived at barrier %u",
			at ? ", " : "", b->arrived,
			b->expected ? b->expected : cta->grid->nthreads - cta->barriers->exited, i);
		at += m > 0 ? (size_t)m : 0;
	}
	if (cta->cluster->barrier->arrived && at < n) {
		int m = snprintf(text + at, n - at,
				 "%s%u of %u threads have arrived at the cluster's barrier",
				 at ? ", " : "", cta->cluster->barrier->arrived,
				 cta->grid->nthreads * cta->cluster->size -
					 cta->cluster->barrier->exited);
		at += m > 0 ? (size_t)m : 0;
	}
	for (uint32_t i = 0; i < cta->nwarps && at < n; i++) {
		const struct cpu_warp *w = &cta->warps[i];
		uint32_t gathering = cpu_wp(w)->gathering;
		if (!gathering)
			continue;
		const struct cpu_split *s = &w->split[__builtin_ctz(gathering)];
		const struct ptx_stmt *st = s->func->stmts[s->pc];
		snprintf(text + at, n - at,
			 "%slanes 0x%x of warp %u wait for lanes 0x%x (PTX line %u)",
			 at ? ", " : "", s->mask, i, s->members & ~w->exited & ~s->mask,
			 st ? st->line : 0);
		break;
	}
}

/* ---- binding --------------------------------------------------------------------------------- */

/* bar.sync a{, b}; bar.arrive a, b; bar.red d, a{, b}, {!}c */
static enum cpu_bound bind_bar(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			       enum mode mode)
{
	unsigned at = mode >= MODE_POPC, last = s->nops - (mode >= MODE_POPC ? 1u : 0u);

	in->fn = exec_bar;
	in->flags |= CPU_I_PARTS;
	in->sub = (uint8_t)mode;
	in->src[1] = in->dst[0] = CPU_NOSLOT;
	in->src[0] = at < last ? cpu_dec_src(d, &s->ops[at], PTX_TYPE_U32)
			       : cpu_dec_const(d, 0, CPU_B32);
	if (at + 1 < last)
		in->src[1] = cpu_dec_src(d, &s->ops[at + 1], PTX_TYPE_U32);
	if (mode >= MODE_POPC) {
		in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
		in->src[2] = cpu_dec_src(d, &s->ops[last], PTX_TYPE_PRED);
		in->imm = cpu_dec_is_not(&s->ops[last]);
	}
	return CPU_BOUND;
}

static enum cpu_bound bind_cluster(const struct ptx_stmt *s, struct cpu_inst *in, cpu_exec *fn)
{
	in->fn = fn;
	in->flags |= CPU_I_PARTS;
	in->sub = ptx_form_has(s->form, PTX_MOD_RELAXED);
	return CPU_BOUND;
}

static enum mode red_mode(const struct ptx_form *f)
{
	return ptx_form_has(f, PTX_MOD_POPC)  ? MODE_POPC
	       : ptx_form_has(f, PTX_MOD_AND) ? MODE_AND
					      : MODE_OR;
}

enum cpu_bound cpu_bind_barrier(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BARRIER_SYNC:
		return bind_bar(d, s, in, MODE_SYNC);
	case PTX_OP_BAR_ARRIVE:
	case PTX_OP_BARRIER_ARRIVE:
		return bind_bar(d, s, in, MODE_ARRIVE);
	case PTX_OP_BAR_RED:
	case PTX_OP_BARRIER_RED:
		return bind_bar(d, s, in, red_mode(s->form));
	case PTX_OP_BARRIER_CLUSTER_ARRIVE:
		return bind_cluster(s, in, exec_cluster_arrive);
	case PTX_OP_BARRIER_CLUSTER_WAIT:
		return bind_cluster(s, in, exec_cluster_wait);
	case PTX_OP_BAR_WARP_SYNC:
		in->fn = cpu_exec_warp_sync;
		in->flags |= CPU_I_GATHER | CPU_I_PARTS;
		in->src[0] = cpu_dec_src(d, &s->ops[0], PTX_TYPE_B32);
		in->gather = 0;
		return CPU_BOUND;
	case PTX_OP_GRIDDEPCONTROL_WAIT:
		in->fn = exec_grid_wait;
		in->flags |= CPU_I_PARTS;
		return CPU_BOUND;
	default:
		return CPU_NOT_MINE;
	}
}
