/*
 * events.c - the machine's side of the oracle: start and end, grids, operations of the host.
 *
 * Operations are named by their number; what host threads know about them is in host.c. A host
 * function is two operations: one that ends when the function begins, which its thread has waited
 * for, and one that its thread submits when it has ended. A programmatic launch depends on its
 * predecessor only from griddepcontrol.wait on; what depends on such a launch depends on that
 * predecessor, too.
 *
 * Host memory that the device doesn't know (pageable memory of copies) is not judged: its
 * owner may reuse it at any time. Loads and stores of host code are handled in host_access.c.
 * Costs: a lock and an unlock for each event; 96 bytes for each launch of the run.
 */
#include "base/clock.h"
#include "cpu/events/host_access.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the machine ------------------------------------------------------------------------- */

struct cpu_events *events_new(struct cpu_machine *m, struct oracle_options opt)
{
	struct cpu_events *x = calloc(1, sizeof(*x));

	opt.sc = m->opt.oracle == CPU_ORACLE_EXECUTION ? ORACLE_SC_EXECUTION : ORACLE_SC_PROGRAM;
	opt.max_actors = m->opt.oracle_actors;
	opt.max_records = m->opt.oracle_records;
	if (!x)
		return NULL;
	x->o = oracle_new(&opt);
	if (!x->o) {
		free(x);
		return NULL;
	}
	pthread_mutex_init(&x->lock, NULL);
	x->m = m;
	x->range_limit = UINT64_MAX;
	oracle_on_race(x->o, events_on_race, x);
	return x;
}

void events_free(struct cpu_events *x)
{
	oracle_free(x->o);
	events_volatile_free(x);
	events_used_free(x);
	free(x->handovers);
	base_vec_free(&x->blocks);
	base_arena_free(&x->arena);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

bool cpu_event_init(struct cpu_machine *m)
{
	struct oracle_options opt = {.is_one_host = !m->opt.is_host_apart,
				     .has_late_writes = m->opt.model != CPU_MODEL_SC,
				     /* A run that asks whether a report is a race has no bound. */
				     .max_forced = m->opt.is_exact ? UINT32_MAX : 0};
	struct cpu_events *x;

	if (m->opt.oracle == CPU_ORACLE_OFF)
		return true;
	x = events_new(m, opt);
	if (!x)
		return false;
	if (!events_host_init(x) || !events_ids_init(x)) {
		free(x->idle);
		events_free(x);
		return false;
	}
	oracle_count_repeats(x->o, events_count_repeats);
	if (!m->opt.is_exact)
		oracle_group_lines(x->o, events_line_of);
	m->events = x;
	if (!m->opt.is_host_auto)
		cpu_event_before_shared(m);
	events_mem_init(x);
	return true;
}

void cpu_event_stop(struct cpu_machine *m)
{
	oracle_stop(m->events->o);
}

void cpu_event_free(struct cpu_machine *m)
{
	struct cpu_events *x = m->events;
	struct events_mbar *b, *next_b;
	struct events_pair *p, *next_p;

	if (!x)
		return;
	cpu_host_stop(m);
	HASH_ITER(hh, x->mbars, b, next_b)
	{
		HASH_DEL(x->mbars, b);
		free(b);
	}
	x->pair_last = NULL;
	HASH_ITER(hh, x->pairs, p, next_p)
	{
		HASH_DEL(x->pairs, p);
		free(p);
	}
	HASH_CLEAR(hh, x->op_sites);
	events_proven_free(x);
	HASH_CLEAR(hh, x->host_sites);
	base_vec_free(&x->grids);
	base_vec_free(&x->live);
	base_vec_free(&x->plains);
	events_host_free(x);
	events_ids_free(x);
	base_vec_free(&x->tensors);
	base_vec_free(&x->modules);
	events_free(x);
	m->events = NULL;
}

void cpu_on_pair(struct cpu_machine *m, cpu_pair_fn *fn, void *arg)
{
	if (!m->events)
		return;
	events_lock(m->events);
	m->events->fn = fn;
	m->events->arg = arg;
	events_unlock(m->events);
}

void cpu_get_oracle_stats(struct cpu_machine *m, struct cpu_oracle_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (!m->events)
		return;
	events_lock(m->events);
	struct oracle_stats s = oracle_get_stats(m->events->o);
	uint64_t judged =
		s.accesses + m->events->repeated + m->events->njudged - m->events->nothers;
	*out = (struct cpu_oracle_stats){.accesses = judged,
					 .words = s.words,
					 .shadow_bytes = s.shadow_bytes,
					 .clock_bytes = s.clock_bytes,
					 .dropped = s.dropped,
					 .raced_out = s.missed,
					 .host_accesses = m->events->nhost_accesses,
					 .op_accesses = m->events->nop_accesses,
					 .patterns = m->events->patterns,
					 .unreported = m->events->nunreported,
					 .registered = m->events->nregistered,
					 .registered_bytes = m->events->registered_bytes,
					 .actors = s.actors + m->events->nthreads,
					 .running = m->events->inflight,
					 .sees_host = events_sees_host(m->events),
					 .has_handlers = m->events->has_handlers,
					 .is_host_dear = m->events->is_host_dear,
					 .has_ranges_left = m->events->has_ranges_left,
					 .has_shared = m->events->has_shared,
					 .is_sc_coarse = s.is_sc_coarse,
					 .is_full = oracle_is_full(m->events->o)};
	events_unlock(m->events);
}

/* ---- grids and blocks ------------------------------------------------------------------------ */

static void start_grid(struct cpu_events *x, struct cpu_op *op)
{
	struct cpu_grid *g = op->grid;
	struct events_grid info = {.id = g->id};
	struct oracle_grid og = {.grid = g->id,
				 .device = g->device,
				 .blocks = (uint32_t)g->nblocks,
				 .block_threads = g->nthreads,
				 .cluster_blocks = g->cluster[0] * g->cluster[1] * g->cluster[2]};
	uint64_t nchosen = op->work.launch.nchosen;

	/* Those that don't run need no actors: a whole grid may be too many. */
	if (op->chosen) {
		og.blocks = (uint32_t)nchosen * og.cluster_blocks;
		uint64_t *chosen = BASE_NEWN(&x->arena, uint64_t, nchosen);
		memcpy(chosen, op->chosen, nchosen * sizeof(*chosen));
		info.chosen = chosen;
		info.nchosen = nchosen;
	}

	events_sites_make(x, g->func);
	info.kernel = base_strdup(&x->arena, g->func->name);
	memcpy(info.grid, g->grid, sizeof(info.grid));
	memcpy(info.block, g->block, sizeof(info.block));
	memcpy(info.cluster, g->cluster, sizeof(info.cluster));
	info.is_graph = op->work.is_graph;
	info.origin = op->work.origin;
	info.stream = op->work.stream + 1u;
	info.order = op->work.launch.order;
	info.shuffle_keys = op->work.launch.shuffle_keys;
	g->actor = oracle_grid(x->o, &og);
	g->actor_stride = oracle_stride(g->nthreads);
	oracle_op_start(x->o, op->id, g->actor);
	info.is_doubtful = events_grid_is_doubtful(x, g->actor);
	/* A launch that is taken back (proven.c) is there already. */
	if (op->events_grid) {
		*events_grid_of(x, g->id) = info;
		return;
	}
	base_vec_push(&x->grids, info);
	base_vec_push(&x->live, g->id);
	op->events_grid = g->id;
}

void cpu_event_block_start(struct cpu_worker *k, struct cpu_cta *cta, uint64_t number)
{
	const struct cpu_grid *g = cta->grid;
	struct cpu_events *x = g->has_judges ? k->judge : g->events;

	cta->events = x;
	if (g->proven && !g->has_judges)
		cta->actor = (uint32_t)number * cta->nwarps * CPU_WARP;
	if (!x)
		return;
	if (g->has_judges)
		cta->actor = x->actor + (uint32_t)number * oracle_stride(g->nthreads);
	else
		cta->actor = g->actor + (uint32_t)number * g->actor_stride;
	events_lock(x);
	events_block_add(x, cta, number);
	events_volatile_begin(x, cta);
	if (cta->shared_bytes) {
		events_wrote_all(x);
		oracle_forget(x->o, (uint64_t)(uintptr_t)cta->shared, cta->shared_bytes);
		events_copies_forget(x, (uint64_t)(uintptr_t)cta->shared, cta->shared_bytes);
	}
	events_unlock(x);
	if (x->ids && cta->shared_bytes)
		cpu_ids_mark(x, cta->shared, cta->shared_bytes, 0);
}

void cpu_event_block_end(struct cpu_cta *cta)
{
	struct cpu_events *x = cpu_events_at(cta);

	if (!x)
		return;
	events_lock(x);
	events_block_remove(x, cta);
	events_copies_end(cta);
	events_used_block_end(x, cta);
	/* Its copies have ended, too: it is not accessed any more. Whole pages of shadow; the
	 * memory is that long (block.c). */
	if (cta->shared_bytes)
		oracle_forget(x->o, (uint64_t)(uintptr_t)cta->shared,
			      (cta->shared_bytes + 255u) & ~255ull);
	if (cta->cluster->uses_reserved) {
		events_wrote_all(x);
		oracle_forget(x->o, (uint64_t)(uintptr_t)cta->shared - CPU_SHARED_BASE,
			      CPU_SHARED_BASE);
	}
	oracle_block_end(x->o, cta->actor);
	events_unlock(x);
	if (x->ids && cta->cluster->uses_reserved)
		cpu_ids_mark(x, cta->shared - CPU_SHARED_BASE, CPU_SHARED_BASE, 0);
}

void cpu_event_cut(struct cpu_op *op)
{
	events_lock(op->m->events);
	events_plain_start(op->m->events, op);
	events_unlock(op->m->events);
}

void cpu_event_grid_wait(struct cpu_warp *w, uint32_t mask)
{
	struct cpu_events *x = cpu_events_of(w);
	const struct cpu_op *op = w->grid->op;

	if (!x)
		return;
	events_lock(x);
	w->nevents++;
	for (size_t i = 0; i < op->events_before.n; i++)
		CPU_EACH_LANE (l, mask) {
			oracle_host_wait(x->o, events_actor(w) + l, op->events_before.v[i]);
		}
	events_unlock(x);
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool is_programmatic_edge(const struct cpu_op *op, const struct cpu_op *dep)
{
	return op->work.kind == CPU_WORK_KERNEL && op->work.launch.is_programmatic &&
	       dep->work.kind == CPU_WORK_KERNEL;
}

void cpu_event_submit(struct cpu_op *op, struct cpu_op *const *deps, size_t n)
{
	struct cpu_events *x = op->m->events;
	uint64_t key = op->id | (op->work.kind == CPU_WORK_HOST ? EVENTS_KEY_FN : 0);

	if (!x)
		return;
	events_lock(x);
	events_mem_submitted(x);
	oracle_op_submit(x->o, events_self(x), key);
	for (size_t i = 0; i < n; i++) {
		const struct cpu_op *dep = deps[i];
		if (!dep)
			continue;
		if (is_programmatic_edge(op, dep)) {
			base_vec_push(&op->events_before, dep->id);
			for (size_t j = 0; j < dep->events_before.n; j++)
				base_vec_push(&op->events_before, dep->events_before.v[j]);
			continue;
		}
		oracle_op_depend(x->o, key, dep->id);
		for (size_t j = 0; j < dep->events_before.n; j++)
			oracle_op_depend(x->o, key, dep->events_before.v[j]);
	}
	events_unlock(x);
}

/*
 * An operation's access, if there is time left for them (--budget). What isn't judged orders
 * nothing, so that no later report is wrong: earlier accesses are as unordered with later ones as
 * before. With --verify the oracle must confirm what recheck.c finds.
 */
static void events_range(struct cpu_events *x, const struct cpu_op *op, uint32_t actor,
			 bool is_write, uint64_t address, uint64_t bytes)
{
	if (x->range_ns > x->range_limit && (x->m->opt.steps_aside || !x->m->copies.fn)) {
		x->has_ranges_left = true;
		return;
	}
	uint64_t start = x->range_limit == UINT64_MAX ? 0 : base_now_ns();
	x->nop_accesses += bytes && !oracle_is_full(x->o);
	oracle_access_range(x->o, actor, cpu_site_of_op(x, op, is_write),
			    is_write ? RACE_OP_WRITE : RACE_OP_READ, address, bytes);
	x->range_ns += start ? base_now_ns() - start : 0;
}

void cpu_event_limit(struct cpu_machine *m, uint64_t ns)
{
	if (m->events)
		m->events->range_limit = ns;
}

/* Freeing memory counts as writing all of it: every use must be ordered with that. */
static void free_range(struct cpu_events *x, const struct cpu_op *op, uint32_t actor)
{
	events_wrote_all(x);
	events_range(x, op, actor, true, cpu_space_machine(x->m, op->work.frees),
		     op->work.free_bytes);
}

void cpu_event_start(struct cpu_op *op)
{
	struct cpu_events *x = op->m->events;

	if (!x || op->is_watched)
		return;
	events_lock(x);
	/* What is proven starts for the oracle when it has ended. */
	if (op->proven && op->grid) {
		events_proven_start(x, op);
		events_unlock(x);
		return;
	}
	op->is_watched = true;
	if (op->work.kind == CPU_WORK_HOST) {
		uint32_t actor = oracle_op_start(x->o, op->id | EVENTS_KEY_FN, ORACLE_NO_ACTOR);
		if (op->work.frees)
			free_range(x, op, actor);
		oracle_op_end(x->o, op->id | EVENTS_KEY_FN);
	} else if (op->grid && op->grid->events &&
		   !(x->m->opt.steps_aside && oracle_is_full(x->o))) {
		start_grid(x, op);
	} else if (op->proven && op->events_grid) {
		events_proven_end(x, op);
	} else {
		op->events_actor = oracle_op_start(x->o, op->id, ORACLE_NO_ACTOR);
		if (op->grid && op->work.launch.is_plain)
			events_plain_start(x, op);
	}
	bool is_full = oracle_is_full(x->o);
	events_unlock(x);
	if (is_full && x->m->opt.steps_aside) {
		if (op->grid)
			op->grid->events = NULL;
		return;
	}
	/* Nothing that can't be judged is executed any more. */
	if (is_full)
		cpu_fault_op(x->m, op->work.device, CPU_FAULT_RESOURCES,
			     "the oracle is full: it can hold no more threads, copies and "
			     "operations from each other");
}

void cpu_event_host(struct cpu_op *op)
{
	struct cpu_events *x = op->m->events;

	if (!x)
		return;
	events_lock(x);
	oracle_host_wait(x->o, events_self(x), op->id | EVENTS_KEY_FN);
	events_unlock(x);
}

void cpu_event_end(struct cpu_op *op)
{
	struct cpu_events *x = op->m->events;

	if (!x)
		return;
	cpu_event_start(op); /* empty, or refused because of a fault */
	events_lock(x);
	if (op->work.kind == CPU_WORK_HOST) {
		/* Refused because of a fault: its thread did nothing. */
		oracle_op_submit(x->o, events_self(x), op->id);
		oracle_op_start(x->o, op->id, ORACLE_NO_ACTOR);
	}
	oracle_op_end(x->o, op->id);
	events_grid_ended(x, op->events_grid);
	events_ended(x, op->work.device, op->id);
	x->inflight--;
	events_unlock(x);
}

void cpu_event_waited(struct cpu_op *op)
{
	struct cpu_events *x = op->m->events;

	if (!x)
		return;
	events_lock(x);
	uint32_t self = events_self(x);
	oracle_host_wait(x->o, self, op->id);
	for (size_t i = 0; i < op->events_before.n; i++)
		oracle_host_wait(x->o, self, op->events_before.v[i]);
	events_mem_settle(x);
	events_unlock(x);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void cpu_event_shared(struct cpu_machine *m)
{
	if (m->events)
		m->events->has_shared = true;
}

void cpu_event_forget(struct cpu_machine *m, uint64_t address, uint64_t bytes)
{
	struct cpu_events *x = m->events;

	if (!x || !bytes)
		return;
	events_lock(x);
	events_wrote_all(x);
	oracle_forget(x->o, address, bytes);
	events_unlock(x);
	if (!x->ids)
		return;
	/* Called by host threads, too, while the machine works. */
	bool is_held = cpu_engine_is_held(m);
	if (!is_held)
		cpu_engine_hold(m);
	cpu_ids_mark(x, (const uint8_t *)(uintptr_t)address, bytes, 0);
	if (!is_held)
		cpu_engine_let_go(m);
}

void cpu_event_heap(struct cpu_warp *w, unsigned lane, bool is_free, uint64_t address,
		    uint64_t bytes)
{
	struct cpu_events *x = w->grid->m->events;

	if (!x || !address)
		return;
	events_lock(x);
	w->nevents++;
	events_wrote_all(x);
	if (!cpu_events_of(w)) { /* not judged; what is new has no past all the same */
		oracle_forget(x->o, address, is_free ? 0 : bytes);
		events_unlock(x);
		return;
	}
	if (is_free)
		oracle_heap_free(x->o, events_actor(w) + lane, address, bytes);
	else
		oracle_heap_alloc(x->o, events_actor(w) + lane, address, bytes);
	events_unlock(x);
}

void cpu_event_op_range(struct cpu_op *op, bool is_write, uint64_t address, uint64_t bytes)
{
	struct cpu_events *x = op->m->events;
	struct cpu_mem_info info;

	if (!x || !cpu_mem_find(op->m, cpu_space_program(op->m, address), &info))
		return;
	events_lock(x);
	events_wrote_all(x);
	events_range(x, op, op->events_actor, is_write, address, bytes);
	events_unlock(x);
	if (x->ids && is_write)
		cpu_ids_mark(x, (const uint8_t *)(uintptr_t)address, bytes, 0);
}

/* The stream's wait acquires, its write releases, for the whole system. */
void cpu_event_op_value(struct cpu_op *op, bool is_write)
{
	struct cpu_events *x = op->m->events;

	if (!x)
		return;
	cpu_event_start(op);
	events_lock(x);
	struct oracle_acc acc = {.inst = cpu_site_of_op(x, op, is_write),
				 .kind = is_write ? RACE_OP_WRITE : RACE_OP_READ,
				 .strength = is_write ? RACE_RELEASE : RACE_ACQUIRE,
				 .scope = RACE_SCOPE_SYS,
				 .bytes = op->work.value.size};
	x->nop_accesses += !oracle_is_full(x->o);
	events_direct(x, op->events_actor, &acc, cpu_space_machine(op->m, op->work.value.addr));
	events_unlock(x);
}
