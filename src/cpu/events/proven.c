/*
 * proven.c - launches that are proven free of data races, as one operation each.
 *
 * What a proof says holds between the threads of one launch. For all else, other launches, copies,
 * frees and host code, each instruction keeps which bytes it accessed, and by which thread; when
 * the launch has ended it accesses these for the oracle, as a copy does that starts and ends with
 * it (proven_sides.c). A proven kernel has nothing that orders its threads with anything else, so
 * that is exact.
 *
 * A proof takes for granted that accesses stay within their arrays. Here each one is tested, before
 * it is executed. A launch that would leave them is taken back: what it has written is restored,
 * and it starts once more, with the code that is checked.
 *
 * Misses: nothing. Where such a launch has raced with others their writes may be taken back, too.
 * Costs: for each instruction and warp 8 to 20 bytes until the host knows that the launch has
 * ended, where its lanes lie at one distance and a loop goes by one step; else, and where arrays
 * are small, for each element of 4 bytes that is touched 0.13 to 0.5 bytes, 4.5 where lanes don't
 * lie side by side at multiples of a row; until it ends a copy of each array's kilobytes that it
 * writes to; what proven_room.c keeps of that for later launches. Some operations for each warp's
 * access.
 */
#include "cpu/load/load.h"
#include "cpu/memory/resolve.h"
#include "cpu/memory/space.h"
#include "cpu/touch.h"
#include "flow/flow.h"
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

void cpu_listen_proven(struct cpu_machine *m, cpu_proven_fn *proven, cpu_left_fn *left,
		       cpu_checked_fn *checked, void *arg)
{
	cpu_engine_hold(m);
	m->listener.proven = proven;
	m->listener.left = left;
	m->listener.checked = checked;
	m->listener.proven_arg = arg;
	cpu_engine_let_go(m);
}

/* ---- the start ---------------------------------------------------------------------------- */

/* Numbers the kernel's instructions as its text has them. False: they are in another order. */
static bool number(const struct cpu_func *f, struct cpu_proven_run *r)
{
	const struct cpu_proven *p = &r->proven;
	uint32_t pc = 0, n = 0, site = 0;

	ptx_each_stmt(f->ptx, s)
	{
		if (s->kind != PTX_STMT_INST)
			continue;
		while (site < p->nsites && p->site[site].nth < n)
			site++;
		for (; pc < f->ninsts && (!f->stmts[pc] || f->stmts[pc] == s); pc++) {
			bool has_site = site < p->nsites && p->site[site].nth == n;
			r->nth[pc] = n;
			r->first[pc] = has_site ? site : p->nsites;
		}
		n++;
	}
	/* The decoder ends each body with an instruction of its own. */
	for (; pc < f->ninsts && f->stmts[pc]->mark == UINT32_MAX; pc++)
		r->first[pc] = p->nsites;
	return pc == f->ninsts;
}

void proven_run_free(struct cpu_proven_run *r, struct cpu_engine *e)
{
	if (!r)
		return;
	proven_forget(r, e);
	pthread_mutex_destroy(&r->lock);
	free(r->touch);
	free(r->count);
	free(r->proven.site);
	free(r->first);
	free(r->nth);
	free(r);
}

void cpu_proven_free(struct cpu_op *op)
{
	proven_run_free(op->proven, NULL);
	op->proven = NULL;
}

/* Of a block, those of warps that have less than 32 included. */
static uint32_t block_threads(const struct cpu_launch *l)
{
	uint32_t n = l->block[0] * l->block[1] * l->block[2];

	return (n + CPU_WARP - 1) / CPU_WARP * CPU_WARP;
}

/* Of all blocks; PROVEN_THREADS: too many. */
static uint32_t all_threads(const struct cpu_launch *l)
{
	uint64_t n = block_threads(l);

	for (unsigned i = 0; i < 3; i++)
		n *= n < PROVEN_THREADS ? l->grid[i] : 1;
	return n < PROVEN_THREADS ? (uint32_t)n : PROVEN_THREADS;
}

struct cpu_proven_run *proven_run_new(const struct cpu_op *op, const struct cpu_proven *p)
{
	const struct cpu_func *f = p->kernel->func;
	struct cpu_proven_run *r = calloc(1, sizeof(*r));
	bool has_all = true;

	if (!r) {
		free(p->site);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	r->proven = *p;
	r->checked = op->work.launch.kernel;
	r->ninsts = f->ninsts;
	r->block_threads = block_threads(&op->work.launch);
	r->nthreads = all_threads(&op->work.launch);
	r->touch = calloc(p->nsites + 1u, sizeof(*r->touch));
	r->ncounts = op->m->engine->nworkers;
	r->count = base_aligned(CPU_LINES, r->ncounts * sizeof(*r->count));
	memset(r->count, 0, r->ncounts * sizeof(*r->count));
	r->first = calloc(f->ninsts + 1u, sizeof(*r->first));
	r->nth = calloc(f->ninsts + 1u, sizeof(*r->nth));
	atomic_store(&r->version, atomic_load(&op->m->space_version));
	for (uint32_t i = 0; i < p->nextents; i++) {
		struct cpu_mem_info info = {0};
		has_all &= cpu_mem_find(op->m, p->extent[i].base, &info);
		r->array[i].extent = p->extent[i];
		r->array[i].base = cpu_space_machine(op->m, p->extent[i].base);
		r->array[i].generation = info.generation;
	}
	if (has_all && r->touch && r->first && r->nth && number(f, r))
		return r;
	proven_run_free(r, NULL);
	return NULL;
}

/* Has the load bytes that no thread of the source may read, which some path uses, however? */
static bool has_doubtful_bytes(const struct cpu_site *s)
{
	for (uint32_t i = 0; i < s->nelems; i++)
		if (s->elems[i] != UINT32_MAX &&
		    s->invented >> i * s->width & ((1ull << s->width) - 1))
			return true;
	return false;
}

/* A race of a load that may be invented is one only if its value is used, which isn't followed. A
 * value that no path uses is none that is; and nothing else races in the launch's shared memory. */
bool events_has_invented(struct cpu_events *x, struct cpu_func *f)
{
	bool has = false;

	events_lock(x);
	events_sites_make(x, f);
	for (uint32_t pc = 0; pc < f->ninsts; pc++)
		has |= f->sites[pc] && f->stmts[pc]->form->space != PTX_SPACE_SHARED &&
		       has_doubtful_bytes(f->sites[pc]);
	events_unlock(x);
	return has;
}

bool events_may_be_whole(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	uint64_t cluster = 1;

	for (unsigned i = 0; i < 3; i++)
		cluster *= l->cluster[i] ? l->cluster[i] : 1;
	return op->m->events && !l->plain && !l->chosen && !l->is_cooperative &&
	       !l->is_programmatic && cluster == 1 && all_threads(l) < PROVEN_THREADS &&
	       !l->kernel->info.cluster[0] && op->m->opt.model == CPU_MODEL_SC &&
	       !op->m->opt.is_exact;
}

bool cpu_proven_begin(struct cpu_op *op)
{
	struct cpu_launch *l = &op->work.launch, found = *l;
	const struct cpu_listener *to = &op->m->listener;
	struct cpu_proven p = {0};

	found.params = op->copy;
	if (!to->proven || !events_may_be_whole(op) ||
	    !to->proven(to->proven_arg, l->tag, &found, op->work.device, &p))
		return false;
	if (cpu_kernel_ready(p.kernel) && p.kernel->nparam_bytes == l->kernel->nparam_bytes &&
	    !events_has_invented(op->m->events, p.kernel->func))
		op->proven = proven_run_new(op, &p);
	else
		free(p.site);
	if (!op->proven) {
		to->left(to->proven_arg, l->tag, true);
		return false;
	}
	l->kernel = p.kernel;
	l->is_plain = true;
	return true;
}

/* ---- accesses ----------------------------------------------------------------------------- */

/* The launch isn't as it was proven: it is to be taken back. */
static bool leave(struct cpu_op *op)
{
	atomic_store(&op->proven->has_left, true);
	cpu_apart_left(op);
	return false;
}

/* Has the array not been freed since the launch began? */
static bool is_there(struct cpu_machine *m, const struct proven_array *a)
{
	struct cpu_mem_info info;

	return cpu_mem_find(m, a->extent.base, &info) && info.generation == a->generation;
}

static bool are_there(struct cpu_machine *m, struct cpu_proven_run *r)
{
	uint64_t version = atomic_load(&m->space_version);

	if (atomic_load_explicit(&r->version, memory_order_relaxed) == version)
		return true;
	for (uint32_t i = 0; i < r->proven.nextents; i++)
		if (!is_there(m, &r->array[i]))
			return false;
	atomic_store(&r->version, version);
	return true;
}

/* The site of the proof by which the instruction accesses [lo, end); nsites: there is none. */
static uint32_t site_of(const struct cpu_proven_run *r, uint32_t pc, uint64_t lo, uint64_t end)
{
	const struct cpu_proven *p = &r->proven;

	for (uint32_t i = r->first[pc]; i < p->nsites && p->site[i].nth == r->nth[pc]; i++) {
		const struct cpu_extent *e = &r->array[p->site[i].extent].extent;
		if (lo >= e->base && end <= e->base + e->bytes && lo < end)
			return i;
	}
	return p->nsites;
}

static struct cpu_span span_of(const struct proven_lanes *a)
{
	unsigned first = (unsigned)__builtin_ctz(a->mask),
		 end = 32u - (unsigned)__builtin_clz(a->mask);
	struct cpu_span s = {a->addr[first], a->addr[end - 1], a->addr[first]};

	if (a->is_row)
		return s;
	if ((a->mask >> first) & ((a->mask >> first) + 1))
		return cpu_span_of(a->addr, a->mask);
	for (unsigned l = first; l < end; l++) {
		s.lo = a->addr[l] < s.lo ? a->addr[l] : s.lo;
		s.hi = a->addr[l] > s.hi ? a->addr[l] : s.hi;
		s.all |= a->addr[l];
	}
	return s;
}

bool cpu_proven_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes)
{
	struct cpu_proven_run *r = w->grid->proven;
	uint32_t pc = (uint32_t)(in - w->cur->func->code);

	if (!mask)
		return true;
	const struct proven_lanes lanes = {addr, mask, bytes, cpu_are_row(addr, mask, bytes)};
	struct cpu_span s = span_of(&lanes);
	/* Generic addresses of shared and local memory: the proof is about them, too. */
	if (acc->space == PTX_SPACE_GENERIC && s.lo >= CPU_WIN_SHARED &&
	    s.hi < CPU_WIN_SHARED + CPU_WIN_SIZE + CPU_WIN_SIZE)
		return true;
	if (r->has_left || w->cur->func != r->proven.kernel->func || !are_there(w->grid->m, r))
		return leave(w->grid->op);
	/* An element that isn't at a multiple of its bytes is a fault; the other run has it. */
	if (s.all & (bytes - 1))
		return leave(w->grid->op);
	uint32_t site = site_of(r, pc, s.lo, s.hi + bytes);
	if (site == r->proven.nsites || !proven_note(w, pc, site, acc, &lanes))
		return leave(w->grid->op);
	if (r->has_judges && w->worker->touch)
		cpu_touch_lanes(w->worker->touch, w, mask, addr, bytes,
				acc->kind == CPU_ACC_STORE    ? TOUCH_WRITE
				: acc->kind == CPU_ACC_ATOMIC ? TOUCH_UPDATE
							      : TOUCH_READ);
	return true;
}

bool cpu_proven_near(struct cpu_warp *w, const struct cpu_inst *in, uint64_t host, uint32_t bytes,
		     bool is_one)
{
	struct cpu_proven_run *r = w->grid->proven;
	const struct cpu_proven *p = &r->proven;
	uint64_t n = is_one ? bytes : (uint64_t)bytes * CPU_WARP;
	uint64_t pc = (uint64_t)(in - w->cur->func->code);

	if (r->has_left || r->has_judges || w->cur->func != p->kernel->func ||
	    !are_there(w->grid->m, r) || host & (bytes - 1))
		return false;
	for (uint32_t i = r->first[pc]; i < p->nsites && p->site[i].nth == r->nth[pc]; i++) {
		const struct proven_array *a = &r->array[p->site[i].extent];
		uint64_t at = host - a->base;
		if (at < a->extent.bytes && n <= a->extent.bytes - at)
			return proven_note_warp(w, i, at, is_one);
	}
	return false;
}

/* ---- a launch that is taken back ---------------------------------------------------------- */

static bool are_clean(const struct cpu_engine *e)
{
	bool are = true;

	for (uint32_t i = 0; i < e->nworkers; i++)
		are &= cpu_judge_is_clean(&e->workers[i]);
	return are;
}

bool cpu_proven_is_wrong(const struct cpu_op *op)
{
	const struct cpu_proven_run *r = op->proven;

	if (!r)
		return false;
	/* Each byte was looked at by the judges. */
	if (r->has_judges)
		return r->has_left || !are_clean(op->m->engine);
	/* ld.nc of what the launch writes is a race however it is ordered. */
	for (uint32_t i = 0; i < r->proven.nextents; i++)
		if (r->array[i].is_read_only && r->array[i].old)
			return true;
	return r->has_left;
}

static void restore(void *arg, const struct proven_touch *t, uint64_t address, uint64_t bytes)
{
	const struct proven_array *a = arg;

	(void)t;
	memcpy((void *)(uintptr_t)address, a->old + (address - a->base), bytes);
}

/* It may be that memory is missing, for which the launch is taken back: this needs none. */
static void restore_all(const struct cpu_op *op)
{
	struct cpu_proven_run *r = op->proven;

	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		struct proven_touch *t = &r->touch[i];
		struct proven_array *a = &r->array[t->array];
		if (!t->is_write || !is_there(op->m, a))
			continue;
		proven_each(t, a, restore, a);
		proven_each_way(r, t, a, restore, a);
	}
}

void cpu_proven_restart(struct cpu_op *op)
{
	/* touch.c has restored what several workers have written. */
	if (!op->proven->has_judges)
		restore_all(op);
	atomic_store(&op->proven->has_left, false);
	proven_forget(op->proven, NULL);
}

void cpu_proven_undo(struct cpu_op *op)
{
	const struct cpu_listener *to = &op->m->listener;
	struct cpu_proven_run *r = op->proven;

	restore_all(op);
	op->work.launch.kernel = r->checked;
	op->work.launch.is_plain = false;
	if (!r->has_judges)
		to->left(to->proven_arg, op->work.launch.tag, true);
	cpu_proven_free(op);
}
