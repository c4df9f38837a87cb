/*
 * judges.c - launches whose blocks don't communicate, judged by each worker for itself.
 *
 * Such a launch (apart.c) is executed by groups of blocks, and each worker has an oracle of its
 * own, which sees what the blocks on this worker do and only says: a race, or none. What blocks on
 * different workers access in common is known from their notes (touch.c). If there is nothing, no
 * two threads of the launch race, and for all else (other launches, copies, frees, host code) it is
 * as if it had been proven: the machine's oracle gets what each instruction has accessed, when it
 * has ended (proven_sides.c). Otherwise memory is as before the launch, and it starts once more,
 * judged by the machine's oracle as others are.
 *
 * With one worker it is the same: so the report doesn't depend on how many there are.
 *
 * Misses: of a finding between launches what proven.c misses. Of one launch nothing: blocks that
 * don't communicate do the same whether or not they take turns. Costs: the notes of proven.c for
 * each access of global memory; two launches of a kernel that races are executed up to three times;
 * a shadow of memory for each worker, up to MOST_WORDS words between launches.
 */
#include "cpu/events/proven_run.h"
#include "cpu/load/load.h"

#include <stdlib.h>

#define MOST_WORDS (1u << 22) /* then a worker's oracle is made anew */
#define MOST_SITES (1u << 14)

/* ---- may it be? ------------------------------------------------------------------------------ */

/* An access of global memory, as the text has it. */
static bool is_global(const struct ptx_stmt *s)
{
	enum ptx_op op = s->form->op;

	return (op == PTX_OP_LD || op == PTX_OP_LDU || op == PTX_OP_ST || op == PTX_OP_RED ||
		op == PTX_OP_ATOM) &&
	       (s->form->space == PTX_SPACE_GLOBAL || s->form->space == PTX_SPACE_GENERIC);
}

static void add_extent(struct cpu_machine *m, struct cpu_proven *p, uint64_t address)
{
	struct cpu_mem_info info;

	if (!cpu_mem_find(m, address, &info) || p->nextents == CPU_EXTENTS)
		return;
	for (uint32_t i = 0; i < p->nextents; i++)
		if (p->extent[i].base == info.base)
			return;
	p->extent[p->nextents++] = (struct cpu_extent){info.base, info.bytes};
}

/* What the parameters point to, and the module's variables. A launch that accesses anything else is
 * judged as others are. */
static void find_extents(const struct cpu_op *op, struct cpu_proven *p)
{
	const struct cpu_kernel *k = op->work.launch.kernel;
	uint64_t word;

	for (uint32_t at = 0; at + sizeof(word) <= k->nparam_bytes; at += sizeof(word)) {
		memcpy(&word, (const uint8_t *)op->copy + at, sizeof(word));
		add_extent(op->m, p, word);
	}
	for (size_t i = 0; i < BASE_COUNTOF(k->mod->blocks); i++)
		if (k->mod->blocks[i])
			add_extent(op->m, p, (uint64_t)(uintptr_t)k->mod->blocks[i]);
}

/* Each such instruction may access each extent. False: these are too many. */
static bool find_sites(const struct cpu_func *f, struct cpu_proven *p)
{
	BASE_VEC(struct cpu_proven_site) v = {0};
	uint32_t nth = 0;

	ptx_each_stmt(f->ptx, s)
	{
		if (s->kind != PTX_STMT_INST)
			continue;
		for (uint32_t e = 0; is_global(s) && e < p->nextents; e++)
			base_vec_push(&v, ((struct cpu_proven_site){nth, e}));
		nth++;
	}
	p->site = v.v;
	p->nsites = (uint32_t)v.n;
	return v.n && v.n <= MOST_SITES;
}

/* All that is made at its first use is there before several workers look for it. */
static void make_sites(struct cpu_events *x, struct cpu_func *f)
{
	events_lock(x);
	(void)ptx_has_tiles(f->part);
	events_sites_make(x, f);
	for (uint32_t pc = 0; pc < f->ninsts; pc++)
		(void)events_site_new(x, f, pc);
	events_unlock(x);
}

bool cpu_judges_begin(struct cpu_op *op)
{
	struct cpu_launch *l = &op->work.launch;
	struct cpu_proven p = {.kernel = l->kernel};

	if (!events_may_be_whole(op) || op->m->opt.variable || !cpu_kernel_ready(l->kernel) ||
	    oracle_is_full(op->m->events->o) || events_has_invented(op->m->events, l->kernel->func))
		return false;
	find_extents(op, &p);
	if (find_sites(l->kernel->func, &p))
		op->proven = proven_run_new(op, &p);
	else
		free(p.site);
	if (!op->proven)
		return false;
	op->proven->has_judges = true;
	op->proven->stride = (uint8_t)__builtin_ctz(oracle_stride(op->proven->block_threads));
	make_sites(op->m->events, l->kernel->func);
	return true;
}

/* ---- a worker's judge ------------------------------------------------------------------------ */

static struct cpu_events *judge_new(struct cpu_machine *m)
{
	struct cpu_events *x = events_new(m, (struct oracle_options){.is_one_host = true});

	if (x)
		x->host = oracle_host(x->o);
	return x;
}

void cpu_judge_free(struct cpu_worker *k)
{
	if (k->judge)
		events_free(k->judge);
	k->judge = NULL;
}

bool cpu_judge_start(struct cpu_worker *k, struct cpu_grid *g)
{
	struct oracle_grid og = {.grid = g->id,
				 .device = g->device,
				 .blocks = (uint32_t)g->nblocks,
				 .block_threads = g->nthreads,
				 .cluster_blocks = 1};
	struct cpu_events *x;

	if (!k->judge)
		k->judge = judge_new(k->m);
	x = k->judge;
	if (!x)
		return false;
	x->judges = g->op;
	x->is_done_judging = false;
	x->judged = ++x->serial;
	oracle_op_submit(x->o, x->host, x->judged);
	x->actor = oracle_grid(x->o, &og);
	if (x->actor != ORACLE_NO_ACTOR)
		oracle_op_start(x->o, x->judged, x->actor);
	return !oracle_is_full(x->o);
}

static uint64_t count_of(const struct cpu_events *x)
{
	return oracle_get_stats(x->o).accesses + x->repeated;
}

/* Has it found anything, or not looked at everything? */
static bool is_clean(const struct cpu_events *x)
{
	struct oracle_stats s = oracle_get_stats(x->o);

	return !oracle_findings(x->o) && !oracle_is_full(x->o) && !s.dropped && !s.raced_out &&
	       !s.is_sc_coarse;
}

bool cpu_judge_is_clean(const struct cpu_worker *k)
{
	return !k->judge || !k->judge->judges || is_clean(k->judge);
}

/* The shadow is forgotten here: a pass over all pages that the launch has accessed. */
void cpu_judge_done(struct cpu_worker *k)
{
	struct cpu_events *x = k->judge;

	if (!x || !x->judges || x->is_done_judging || !is_clean(x))
		return;
	x->is_done_judging = true;
	oracle_op_end(x->o, x->judged);
	oracle_host_wait(x->o, x->host, x->judged);
}

void cpu_judge_end(struct cpu_worker *k, bool counts)
{
	struct cpu_events *x = k->judge;

	if (!x || !x->judges)
		return;
	if (!counts || !is_clean(x)) {
		cpu_judge_free(k);
		return;
	}
	cpu_judge_done(k);
	struct cpu_events *all = k->m->events;
	events_lock(all);
	all->njudged += count_of(x) - x->counted;
	events_unlock(all);
	x->counted = count_of(x);
	x->judges = NULL;
	if (oracle_get_stats(x->o).words > MOST_WORDS)
		cpu_judge_free(k);
}

void cpu_judges_leave(struct cpu_op *op)
{
	atomic_store(&op->proven->has_left, true);
	cpu_apart_left(op);
}
