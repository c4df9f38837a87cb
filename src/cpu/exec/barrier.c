/*
 * barrier.c - threads that wait for each other: bar, barrier, barrier.cluster, bar.warp.sync.
 *
 * A block has 16 barriers. Whole warps arrive: a warp has when all its lanes that have not exited
 * are at the barrier, and counts as 32 threads then, whatever its number of lanes; a warp that
 * has exited never arrives. Until then the lanes that came first wait for the rest of their warp,
 * at .arrive, too. With .aligned (and bar) the lanes must be at one instruction (the run loop
 * gathers them); else each may be at its own, all at .arrive or all at others. A barrier without a
 * count expects each warp of the block that has not exited; one with a count expects that many
 * arrivals. All of one generation give the same count, or none, and the same reduction or none.
 * Splits that wait keep their pc at the barrier; the arrival that completes the generation moves
 * all of them on, merges those of one warp that are at one place, and gives the result of a
 * reduction. Arriving releases, leaving acquires (scope of the block or the cluster, nothing with
 * .relaxed). docs/cpu-device.md has a table of this, as an H100 answered.
 *
 * The cluster's barrier has arrive and wait apart: a lane remembers the parity
 * of the generation it arrived in.
 *
 * A completion visits all warps of the block (or cluster).
 */
#include "cpu/exec/barriers.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

cpu_binder cpu_bind_barrier;

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
		cpu_event_leave(w, s->mask, b ? (uint32_t)aux : CPU_EVENT_CLUSTER, generation);
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

uint64_t cpu_barrier_phase(const struct cpu_cta *cta)
{
	uint64_t n = 0;

	CPU_EACH_LANE (id, cta->barriers->used)
		n += cta->barriers->b[id].generation;
	return n;
}

static bool is_complete(const struct cpu_cta *cta, const struct barrier *b)
{
	uint32_t warps = cta->nwarps - cta->barriers->exited_warps;

	return b->is_open && b->arrived >= (b->expected ? b->expected : warps * CPU_WARP);
}

/* The first lane's value of a slot; lanes that differ are a fault, as on a GPU. */
static enum cpu_step same_value(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				uint32_t slot, const char *what, uint32_t *value)
{
	const uint32_t *v = cpu_u32(w, slot);
	uint32_t differ = 0;

	*value = v[__builtin_ctz(mask)];
	if (slot & CPU_SLOT_CONST) /* most of them */
		return CPU_OK;
	for (unsigned l = 0; l < CPU_WARP; l++)
		differ |= v[l] ^ *value;
	if (!differ)
		return CPU_OK;
	CPU_EACH_LANE (l, mask) {
		if (v[l] != *value)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "the lanes of one barrier instruction give %u and %u for "
					 "its %s",
					 *value, v[l], what);
	}
	return CPU_OK;
}

static uint32_t count_of(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return in->src[1] == CPU_NOSLOT ? 0 : cpu_u32(w, in->src[1])[__builtin_ctz(mask)];
}

/* May the instruction's barrier and count be? */
static enum cpu_step check_operands(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				    uint32_t *id)
{
	unsigned lane = (unsigned)__builtin_ctz(mask);
	uint32_t count = 0;

	if (same_value(w, in, mask, in->src[0], "number", id) != CPU_OK)
		return CPU_FAULTED;
	if (*id >= CPU_BARRIERS)
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "barrier %u of a block that has %u", *id, CPU_BARRIERS);
	if (in->src[1] != CPU_NOSLOT &&
	    same_value(w, in, mask, in->src[1], "count", &count) != CPU_OK)
		return CPU_FAULTED;
	if (count % CPU_WARP)
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "barrier %u with %u threads, which is no multiple of %u", *id,
				 count, CPU_WARP);
	if (in->sub == MODE_ARRIVE && !count)
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "an arrival at barrier %u with a count of 0", *id);
	return CPU_OK;
}

static bool is_same_mode(uint8_t a, uint8_t b)
{
	return a == b || (a <= MODE_ARRIVE && b <= MODE_ARRIVE);
}

/* Does it agree with those that have arrived in this generation? The first one sets it. */
static enum cpu_step check_others(struct cpu_warp *w, const struct cpu_split *s, uint32_t id)
{
	static const char *const name[] = {"sync or arrive", "sync or arrive", ".red.popc",
					   ".red.and", ".red.or"};
	const struct cpu_inst *in = &s->func->code[s->pc];
	struct barrier *b = &w->cta->barriers->b[id];
	unsigned lane = (unsigned)__builtin_ctz(s->mask);
	uint32_t count = count_of(w, in, s->mask);

	if (!b->is_open) {
		const struct ptx_stmt *st = s->func->stmts[s->pc];
		b->line = st ? st->line : 0;
		b->expected = count;
		b->mode = in->sub;
		b->is_open = true;
		w->cta->barriers->used |= 1u << id;
	}
	if (b->expected != count)
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "barrier %u expects %u threads here, but %u at PTX line %u (0: no "
				 "count is given)",
				 id, count, b->expected, b->line);
	if (!is_same_mode(b->mode, in->sub))
		return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
				 "barrier %u: %s here, but %s at PTX line %u", id, name[in->sub],
				 name[b->mode], b->line);
	return CPU_OK;
}

/* The lanes of one split arrive, with the rest of their warp. */
static enum cpu_step split_arrives(struct cpu_warp *w, struct cpu_split *s, uint32_t id)
{
	const struct cpu_inst *in = &s->func->code[s->pc];
	struct barrier *b = &w->cta->barriers->b[id];
	uint32_t mask = s->mask;

	cpu_warp_focus(w, s);
	if (check_others(w, s, id) != CPU_OK)
		return CPU_FAULTED;
	if (in->sub >= MODE_POPC) {
		uint32_t p = *cpu_pred(w, in->src[2]);
		b->popc += cpu_popcount((in->imm & 1 ? ~p : p) & mask);
		b->reduced += cpu_popcount(mask);
	}
	cpu_event_arrive(w, in, mask,
			 &(struct cpu_arrival){.id = id,
					       .generation = b->generation,
					       .expected = b->expected,
					       .releases = true,
					       .leaves = in->sub != MODE_ARRIVE});
	return CPU_OK;
}

/* ---- a warp arrives -------------------------------------------------------------------------- */

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

/* The lanes of one split arrive, with the rest of their warp. */
static enum cpu_step split_arrives_cluster(struct cpu_warp *w, struct cpu_split *s)
{
	const struct cpu_inst *in = &s->func->code[s->pc];
	struct cpu_cluster_barrier *b = w->cta->cluster->barrier;
	uint32_t *arrived = &w->cta->barriers->cluster_arrived[w->index];
	uint32_t *parity = &w->cta->barriers->cluster_parity[w->index], mask = s->mask;

	cpu_warp_focus(w, s);
	if (*arrived & mask)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(*arrived & mask), CPU_FAULT_ILLEGAL,
				 "the thread arrives again without having waited");
	*arrived |= mask;
	*parity = (*parity & ~mask) | (b->generation & 1 ? mask : 0);
	b->arrived += cpu_popcount(mask);
	cpu_event_arrive(w, in, mask,
			 &(struct cpu_arrival){.id = CPU_EVENT_CLUSTER,
					       .generation = b->generation,
					       .releases = !in->sub,
					       .leaves = true});
	return CPU_OK;
}

/*
 * Lanes of the warp wait there for its others (`aux` is theirs): if none is left that could come,
 * the warp arrives.
 */
static enum cpu_step warp_arrives(struct cpu_warp *w, uint64_t aux)
{
	uint32_t used = cpu_wp(w)->used, passed = 0, id = (uint32_t)(aux & AUX_ID);
	bool is_cluster = aux & AUX_CLUSTER;
	struct cpu_split *cur = w->cur;

	if (cpu_lanes_at_barrier(w, aux) != cpu_alive(w))
		return CPU_OK;
	CPU_EACH_LANE (i, used) {
		struct cpu_split *s = &w->split[i];
		if (s->state != CPU_SPLIT_BARRIER || s->aux != aux)
			continue;
		if ((is_cluster ? split_arrives_cluster(w, s) : split_arrives(w, s, id)) != CPU_OK)
			return CPU_FAULTED;
		if (!(aux & AUX_ARRIVE))
			s->aux = id;
	}
	cpu_warp_focus(w, cur);
	CPU_EACH_LANE (i, used) {
		struct cpu_split *s = &w->split[i];
		if (aux & AUX_ARRIVE && s->state == CPU_SPLIT_BARRIER && s->aux == aux)
			pass(w, s, &passed);
	}
	cpu_sched_wake(w);
	if (is_cluster) {
		cluster_check(w->cta->cluster);
		return CPU_OK;
	}
	struct barrier *b = &w->cta->barriers->b[id];
	b->arrived += CPU_WARP;
	if (is_complete(w->cta, b))
		complete(w->cta, id);
	return CPU_OK;
}

static enum cpu_step exec_bar(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_split *s = w->cur;
	uint32_t id;

	s->pc = here(w, in);
	if (check_operands(w, in, mask, &id) != CPU_OK)
		return CPU_FAULTED;
	cpu_release(w, mask, PTX_SCOPE_CTA);
	s->aux = id | AUX_PART | (in->sub == MODE_ARRIVE ? AUX_ARRIVE : 0);
	cpu_split_state(w, s, CPU_SPLIT_BARRIER);
	return warp_arrives(w, s->aux) == CPU_OK ? CPU_MOVED : CPU_FAULTED;
}

/* ---- the cluster's barrier ------------------------------------------------------------------- */

static enum cpu_step exec_cluster_arrive(struct cpu_warp *w, const struct cpu_inst *in,
					 uint32_t mask)
{
	struct cpu_split *s = w->cur;

	s->pc = here(w, in);
	if (!in->sub)
		cpu_release(w, mask, PTX_SCOPE_CLUSTER);
	s->aux = AUX_CLUSTER | AUX_PART | AUX_ARRIVE;
	cpu_split_state(w, s, CPU_SPLIT_BARRIER);
	return warp_arrives(w, s->aux) == CPU_OK ? CPU_MOVED : CPU_FAULTED;
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
		cpu_event_leave(w, mask, CPU_EVENT_CLUSTER, b->generation - 1);
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
	cpu_event_warp_sync(w, in, mask);
	return CPU_OK;
}

static enum cpu_step exec_grid_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)in;
	if (!cpu_engine_dependencies_done(w->grid))
		return CPU_RETRY;
	cpu_acquire(w, mask, PTX_SCOPE_GPU);
	cpu_event_grid_wait(w, mask);
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
	b->exited_warps = 0;
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

/* Lanes have exited: their warp may be complete at a barrier, or gone. */
static void lanes_left(struct cpu_warp *w)
{
	struct cpu_cta *cta = w->cta;
	uint32_t used = cpu_wp(w)->used;

	CPU_EACH_LANE (i, used) {
		const struct cpu_split *s = &w->split[i];
		if (s->state == CPU_SPLIT_BARRIER && s->aux & AUX_PART)
			warp_arrives(w, s->aux);
	}
	if (cpu_alive(w))
		return;
	cta->barriers->exited_warps++;
	CPU_EACH_LANE (i, cta->barriers->used) {
		if (is_complete(cta, &cta->barriers->b[i]))
			complete(cta, i);
	}
}

void cpu_barrier_lanes_exit(struct cpu_warp *w, uint32_t lanes)
{
	struct cpu_cta *cta = w->cta;
	struct cpu_cluster_barrier *c = cta->cluster->barrier;
	uint32_t *arrived = &cta->barriers->cluster_arrived[w->index];
	uint32_t parity = cta->barriers->cluster_parity[w->index];
	uint32_t open = (c->generation & 1 ? parity : ~parity) & *arrived & lanes;

	lanes_left(w);
	/* A thread that arrived and then exits without waiting counts once. */
	c->arrived -= cpu_popcount(open);
	*arrived &= ~lanes;
	c->exited += cpu_popcount(lanes);
	cluster_check(cta->cluster);
}

/* ---- binding --------------------------------------------------------------------------------- */

/* All lanes of the warp must be at this very instruction. */
static void bind_aligned(const struct ptx_stmt *s, struct cpu_inst *in)
{
	if (!(s->form->effects & PTX_EFF_CONVERGENT))
		return;
	in->flags |= CPU_I_GATHER;
	in->gather = CPU_GATHER_ALL;
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red d, a{, b}, {!}c */
static enum cpu_bound bind_bar(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			       enum cpu_barrier_mode mode)
{
	unsigned at = mode >= MODE_POPC, last = s->nops - (mode >= MODE_POPC ? 1u : 0u);

	in->fn = exec_bar;
	in->flags |= CPU_I_PARTS;
	bind_aligned(s, in);
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
	bind_aligned(s, in);
	in->sub = ptx_form_has(s->form, PTX_MOD_RELAXED);
	return CPU_BOUND;
}

static enum cpu_barrier_mode red_mode(const struct ptx_form *f)
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
