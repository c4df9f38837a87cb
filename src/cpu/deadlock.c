/*
 * deadlock.c - kernels that wait for a value which no remaining thread can write.
 *
 * When operations and blocks have neither started nor ended for a while, a proof is tried. The
 * state of each lane (place, registers, stack, .param area) is copied; the machine continues as
 * before, one instruction at a time. The proof holds if every lane returns to its state, or waits
 * for others all the time, while
 *   - no lane has executed an instruction that may change memory, arrive, exit, or read a clock;
 *     atomics are allowed if they leave memory unchanged (a lock that is taken);
 *   - no copy, fill, host function, held launch or wait for a value is under way;
 *   - every thread of the process waits for the machine, each for something that is still to
 *     come. If memory that host code can reach was read, there must be no signal handler either.
 * A lane's behaviour is a function of its state and of memory, so such lanes loop forever. Lanes of
 * one warp that pass values to each other (shfl, vote) count only if all of the warp return at the
 * same time. Then the next access of shared or global memory by one of the loops is the fault.
 * Where only a group of blocks runs, for which others wait (order.c), there is no proof until they
 * don't.
 *
 * Misses: loops that count, read a clock or store in each iteration; memory models other than sc;
 * several workers; memory that the program has registered, which another process may write; a
 * program with a thread that does anything else, even sleep.
 * Costs: a comparison at each batch of turns. A proof that fails is tried again after twice as many
 * turns, and may then take twice as long: a tenth of the instructions between the two.
 */
#include "cpu/sched.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Turns of actors without an event before the first proof: in all, and of each that is ready. */
#define FIRST_TURNS 8192u
#define ACTOR_TURNS 32u
#define FIRST_INSTS 512u  /* that the first proof may take for each anchor that can run */
#define MOST_INSTS  4096u /* any proof */
#define MOST_TRIES  26u
#define MOST_BYTES  (256ull << 20) /* of copies */

/* The state of the lanes of one split when the proof began. */
struct anchor {
	struct cpu_func *func;
	uint32_t pc, mask, carry;
	uint16_t depth;
	uint8_t state; /* enum cpu_split_state */
	uint32_t moved, matched;
	uint8_t *frames; /* (depth + 1) frames, then .param areas and the stacks of 32 lanes */
	uint32_t sp[CPU_WARP];
	struct cpu_return *ret; /* [depth + 1][32] */
};

struct cpu_proof_warp {
	struct cpu_warp *w;
	uint32_t nanchors;
	struct anchor *anchors;
	bool has_exchanged;	     /* its lanes have passed values to each other */
	const struct cpu_inst *poll; /* its last access of memory that others reach */
};

struct cpu_proof {
	struct base_arena arena;
	BASE_VEC(struct cpu_proof_warp *) warps;
	uint64_t nanchors, nrunning, bytes, insts; /* executed before it began */
	uint64_t limit;				   /* instructions that it may take */
	bool is_failed, is_proven, reads_host;
	unsigned spin, wait; /* lanes */
	struct cpu_split at; /* whose instruction is executed */
	uint32_t beside;     /* the lanes at its place before that */
};

/* ---- what the instructions may do ------------------------------------------------- */

void cpu_proof_fail(struct cpu_worker *k)
{
	if (k->proof)
		k->proof->is_failed = true;
}

bool cpu_proof_goes_on(const struct cpu_worker *k)
{
	return !k->proof->is_failed;
}

/* Waits for an mbarrier, for a neighbour's share of a product (no such loop issues any), or for
 * registers (one that gets some fails the proof). */
static bool is_poll(const struct ptx_form *f)
{
	return f->op == PTX_OP_MBARRIER_TEST_WAIT || f->op == PTX_OP_MBARRIER_TRY_WAIT ||
	       f->op == PTX_OP_WGMMA_WAIT_GROUP || f->op == PTX_OP_SETMAXNREG;
}

static bool is_mbarrier_wait(const struct ptx_stmt *st)
{
	return st && st->kind == PTX_STMT_INST &&
	       (st->form->op == PTX_OP_MBARRIER_TEST_WAIT ||
		st->form->op == PTX_OP_MBARRIER_TRY_WAIT);
}

/* May the instruction be part of a loop that changes nothing? Atomics are examined as they run. */
static bool is_harmless(const struct cpu_split *s, const struct cpu_inst *in,
			const struct ptx_form *f)
{
	const uint32_t never = PTX_EFF_BARRIER | PTX_EFF_ASYNC | PTX_EFF_WAIT | PTX_EFF_DISCARD |
			       PTX_EFF_SIDE | PTX_EFF_UNKNOWN;

	if (is_poll(f))
		return true;
	if (f->effects & never || f->op == PTX_OP_ACTIVEMASK || cpu_exec_is_clock(in))
		return false;
	if (f->effects & PTX_EFF_EXIT)
		return f->op == PTX_OP_RET && s->depth;
	if (f->effects & PTX_EFF_CALL)
		return !((const struct cpu_call *)in->aux)->syscall;
	if (f->effects & PTX_EFF_ATOMIC)
		return true;
	/* A thread's own stack and the arguments of its calls are part of the state that is
	 * compared. */
	return !(f->effects & PTX_EFF_WRITE) || f->space == PTX_SPACE_LOCAL ||
	       f->space == PTX_SPACE_PARAM;
}

void cpu_proof_read(struct cpu_warp *w, const struct cpu_inst *in, uint64_t addr, bool is_global)
{
	struct cpu_proof *p = w->worker->proof;
	struct cpu_mem_info info;

	if (cpu_wp(w)->proof)
		cpu_wp(w)->proof->poll = in;
	if (!is_global)
		return;
	if (!cpu_mem_find(w->grid->m, addr, &info) || info.is_registered)
		p->is_failed = true;
	else if (info.kind == CPU_MEM_HOST || info.kind == CPU_MEM_MANAGED)
		p->reads_host = true;
}

/* ---- copies of lanes' states -------------------------------------------------------- */

static size_t copy_bytes(const struct cpu_warp *w, uint32_t depth)
{
	const struct cpu_layout *l = w->grid->func->layout;

	return (depth + 1u) * ((size_t)l->frame + (size_t)CPU_WARP * l->param);
}

static size_t stack_bytes(const struct cpu_warp *w, const struct cpu_split *s)
{
	size_t n = 0;

	CPU_EACH_LANE (l, s->mask) {
		n += w->sp[l];
	}
	return w->local ? n : 0;
}

static void copy_stacks(const struct cpu_warp *w, uint32_t mask, uint8_t *to)
{
	CPU_EACH_LANE (l, mask) {
		memcpy(to, w->local + (size_t)l * w->local_stride, w->sp[l]);
		to += w->sp[l];
	}
}

static void set_anchor(struct cpu_proof *p, const struct cpu_warp *w, const struct cpu_split *s,
		       struct anchor *a)
{
	const struct cpu_layout *l = w->grid->func->layout;
	size_t levels = s->depth + 1u, bytes = copy_bytes(w, s->depth);
	size_t frames = levels * l->frame, stack = stack_bytes(w, s);

	*a = (struct anchor){.func = s->func,
			     .pc = s->pc,
			     .mask = s->mask,
			     .carry = w->carry,
			     .depth = s->depth,
			     .state = s->state};
	p->bytes += bytes + stack;
	if (p->bytes > MOST_BYTES) {
		p->is_failed = true;
		return;
	}
	a->frames = BASE_NEWN(&p->arena, uint8_t, bytes + stack + 1);
	memcpy(a->frames, w->frames, frames);
	if (bytes > frames)
		memcpy(a->frames + frames, w->params, bytes - frames);
	if (stack)
		copy_stacks(w, s->mask, a->frames + bytes);
	memcpy(a->sp, w->sp, sizeof(a->sp));
	a->ret = BASE_NEWN(&p->arena, struct cpu_return, levels * CPU_WARP);
	memcpy(a->ret, w->ret, levels * sizeof(*w->ret));
	if (s->state == CPU_SPLIT_BARRIER || s->state == CPU_SPLIT_GATHER) {
		p->wait += cpu_popcount(s->mask);
	} else {
		p->spin += cpu_popcount(s->mask);
		p->nrunning++;
	}
}

/* The lanes of `lanes` whose element of a slot of `bytes` differs. */
static uint32_t differ_in_slot(const uint8_t *a, const uint8_t *b, enum cpu_class cls,
			       uint32_t lanes)
{
	size_t n = cls == CPU_B128 ? 8 : cpu_class_bytes[cls] / CPU_WARP;
	uint32_t x, y, differ = 0;

	if (cls == CPU_PRED) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return (x ^ y) & lanes;
	}
	if (!memcmp(a, b, cpu_class_bytes[cls]))
		return 0;
	CPU_EACH_LANE (l, lanes) {
		bool is_other = memcmp(a + l * n, b + l * n, n) != 0;
		if (cls == CPU_B128)
			is_other |= memcmp(a + 256 + l * n, b + 256 + l * n, n) != 0;
		differ |= (uint32_t)is_other << l;
	}
	return differ;
}

/* Registers of one depth: the kernel's layout at 0, that of the functions above. */
static uint32_t differ_in_frame(const struct cpu_layout *l, const uint8_t *a, const uint8_t *b,
				uint32_t lanes)
{
	uint32_t differ = 0;

	for (int c = 0; c < CPU_CLASSES; c++)
		for (uint32_t i = 0; i < l->count[c] && lanes & ~differ; i++) {
			size_t at = l->start[c] + (size_t)i * cpu_class_bytes[c];
			differ |= differ_in_slot(a + at, b + at, (enum cpu_class)c, lanes);
		}
	return differ;
}

static uint32_t differ_in_stack(const struct cpu_warp *w, const struct anchor *a, uint32_t lanes)
{
	const uint8_t *was = a->frames + copy_bytes(w, a->depth);
	uint32_t differ = 0;

	CPU_EACH_LANE (l, a->mask) {
		uint32_t n = a->sp[l];
		if (lanes >> l & 1u &&
		    (w->sp[l] != n ||
		     (w->local && memcmp(was, w->local + (size_t)l * w->local_stride, n) != 0)))
			differ |= 1u << l;
		was += w->local ? n : 0;
	}
	return differ;
}

/* Lanes at the anchor's place whose state is that of the anchor. */
static uint32_t same_lanes(const struct cpu_warp *w, const struct anchor *a, uint32_t lanes)
{
	const struct cpu_layout *top = w->grid->func->layout;
	size_t frames = (a->depth + 1u) * (size_t)top->frame;
	uint32_t differ = (a->carry ^ w->carry) & lanes;

	for (uint32_t d = 0; d <= a->depth && lanes & ~differ; d++) {
		const struct cpu_layout *l = top;
		if (d)
			l = d == a->depth
				    ? a->func->layout
				    : a->ret[(d + 1) * CPU_WARP + (unsigned)__builtin_ctz(lanes)]
					      .func->layout;
		differ |= differ_in_frame(l, a->frames + (size_t)d * top->frame,
					  w->frames + (size_t)d * top->frame, lanes);
		CPU_EACH_LANE (l2, lanes & ~differ) {
			size_t at = ((size_t)d * CPU_WARP + l2) * top->param;
			const struct cpu_return *r = &a->ret[d * CPU_WARP + l2];
			bool is_other = top->param && memcmp(a->frames + frames + at,
							     w->params + at, top->param) != 0;
			if (d)
				is_other |=
					r->func != w->ret[d][l2].func || r->pc != w->ret[d][l2].pc;
			differ |= (uint32_t)is_other << l2;
		}
	}
	return lanes & ~differ & ~differ_in_stack(w, a, lanes & ~differ);
}

/* ---- one instruction --------------------------------------------------------------------- */

/* The lanes of the splits at the place of `at`, without those of `but`. */
static uint32_t lanes_at(const struct cpu_warp *w, const struct cpu_split *at,
			 const struct cpu_split *but)
{
	uint32_t lanes = 0;

	CPU_EACH_LANE (i, cpu_wp(w)->used) {
		const struct cpu_split *s = &w->split[i];
		if (s != but && s->pc == at->pc && s->func == at->func && s->depth == at->depth)
			lanes |= s->mask;
	}
	return lanes;
}

/* The lanes that have executed the instruction. Those that have only come to wait there, for others
 * to merge with or to exchange values with, have not: they may have the lock that the others try,
 * and go on later. Nor have those to which the executing ones have come. */
static uint32_t find_executed(const struct cpu_warp *w, const struct cpu_proof *p)
{
	const struct cpu_split *cur = w->cur->state == CPU_SPLIT_READY ? w->cur : NULL;

	return p->beside & ~lanes_at(w, &p->at, cur);
}

bool cpu_proof_before(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_proof *p = w->worker->proof;
	struct cpu_proof_warp *x = cpu_wp(w)->proof;
	const struct cpu_split *s = w->cur;
	const struct ptx_stmt *st = s->func->stmts[s->pc];

	if (p->is_proven && x && (!x->poll || x->poll == in)) {
		char lacks[256] = "";
		if (x->poll && is_mbarrier_wait(st))
			cpu_mbarrier_lacks(w, in, (unsigned)__builtin_ctz(s->mask), lacks,
					   sizeof(lacks));
		cpu_fault(w, in, (unsigned)__builtin_ctz(s->mask), CPU_FAULT_DEADLOCK,
			  "deadlock: this loop waits for %s%s; of the threads that run, %u are in "
			  "such loops and %u wait for others",
			  x->poll ? "a value that no remaining thread can write"
			  : st && st->kind == PTX_STMT_INST && st->form->op == PTX_OP_SETMAXNREG
				  ? "registers that no warp of its block gives back"
				  : "something that can't come",
			  lacks, p->spin, p->wait);
		return false;
	}
	if (!x || !st || st->kind != PTX_STMT_INST || !is_harmless(s, in, st->form)) {
		p->is_failed = true;
		return true;
	}
	p->at = *s;
	p->beside = lanes_at(w, s, NULL);
	if (st->form->effects & PTX_EFF_CONVERGENT && !(st->form->effects & PTX_EFF_WARP_SYNC) &&
	    !x->has_exchanged) {
		x->has_exchanged = true;
		for (uint32_t i = 0; i < x->nanchors; i++)
			x->anchors[i].matched = 0;
	}
	return true;
}

void cpu_proof_after(struct cpu_warp *w)
{
	struct cpu_proof_warp *x = cpu_wp(w)->proof;
	uint32_t used = cpu_wp(w)->used, lanes = find_executed(w, w->worker->proof);

	for (uint32_t i = 0; x && i < x->nanchors; i++) {
		struct anchor *a = &x->anchors[i];
		a->moved |= lanes & a->mask;
		CPU_EACH_LANE (j, used) {
			const struct cpu_split *s = &w->split[j];
			uint32_t here = s->mask & a->mask & a->moved & ~a->matched;
			if (!here || s->pc != a->pc || s->func != a->func || s->depth != a->depth)
				continue;
			here = same_lanes(w, a, here);
			if (!x->has_exchanged || (here == a->mask && here == cpu_alive(w)))
				a->matched |= here;
		}
	}
}

/* ---- the machine and its host ---------------------------------------------------------------- */

static unsigned count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	if (!d)
		return 0;
	for (const struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A handler of an external signal may write what host code can reach. */
static bool has_handlers(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGSYS, SIGILL, SIGFPE, SIGABRT};
	struct sigaction sa;

	for (int sig = 1; sig < NSIG; sig++) {
		bool is_fault = false;
		for (size_t i = 0; i < BASE_COUNTOF(faults); i++)
			is_fault |= faults[i] == sig;
		if (is_fault || sigaction(sig, NULL, &sa))
			continue;
		if (sa.sa_flags & SA_SIGINFO ||
		    (sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN))
			return true;
	}
	return false;
}

static bool has_only_warps(const struct cpu_worker_priv *p)
{
	for (int q = 0; q < 2; q++)
		for (size_t i = 0; i < p->queue[q].n; i++)
			if (p->queue[q].v[i]->kind != CPU_ACTOR_WARP)
				return false;
	return true;
}

/* Is there nothing but warps that could change anything? */
static bool is_closed(struct cpu_engine *e)
{
	bool may_start = e->startable.n || e->polls.n || e->held.n || e->nhost;

	return (!may_start || e->apart.grid) && !atomic_load(&e->has_fault) &&
	       has_only_warps(e->workers[0].priv) && cpu_engine_all_wait(e) &&
	       count_threads() == e->nwaiters + e->has_background + e->nthreads;
}

/* ---- a proof --------------------------------------------------------------------------------- */

static void add_warp(struct cpu_proof *p, struct cpu_warp *w)
{
	struct cpu_warp_priv *wp = cpu_wp(w);
	uint32_t used = wp->used, n = 0;

	if (!cpu_alive(w) || p->is_failed)
		return;
	struct cpu_proof_warp *x = BASE_NEW(&p->arena, struct cpu_proof_warp);
	x->w = w;
	x->anchors = BASE_NEWN(&p->arena, struct anchor, cpu_popcount(used));
	CPU_EACH_LANE (i, used) {
		if (w->split[i].mask)
			set_anchor(p, w, &w->split[i], &x->anchors[n++]);
	}
	x->nanchors = n;
	p->nanchors += n;
	wp->proof = x;
	base_vec_push(&p->warps, x);
}

static void add_grid(struct cpu_proof *p, const struct cpu_grid *g)
{
	for (struct cpu_unit *u = g->priv->resident; u; u = u->next)
		for (uint32_t r = 0; r < u->cluster.size; r++) {
			struct cpu_cta *cta = &u->blocks[r].cta;
			if (cta->async && cpu_async_pending(cta))
				p->is_failed = true;
			for (uint32_t i = 0; i < cta->nwarps; i++)
				add_warp(p, &cta->warps[i]);
		}
}

/* Must be called before the warps of the proof are freed. */
static void end_proof(struct cpu_worker *k)
{
	struct cpu_proof *p = k->proof;

	if (!p)
		return;
	k->proof = NULL;
	for (size_t i = 0; i < p->warps.n; i++)
		cpu_wp(p->warps.v[i]->w)->proof = NULL;
	base_vec_free(&p->warps);
	base_arena_free(&p->arena);
	free(p);
}

void cpu_proof_end(struct cpu_worker *k)
{
	end_proof(k);
}

static void begin_proof(struct cpu_engine *e, struct cpu_worker *k, unsigned tries)
{
	struct cpu_proof *p = calloc(1, sizeof(*p));
	uint64_t each = (uint64_t)FIRST_INSTS << tries;

	if (!p)
		return;
	p->insts = k->warp_insts;
	k->proof = p;
	for (unsigned d = 0; d < e->m->opt.devices; d++)
		for (struct cpu_grid *g = e->devices[d].grids; g; g = g->priv->next)
			add_grid(p, g);
	p->limit = (each < MOST_INSTS ? each : MOST_INSTS) * (p->nrunning + 16);
	if (p->is_failed || !p->nanchors)
		end_proof(k);
}

/* Has it waited all the time, or returned to its state? */
static bool has_returned(const struct cpu_proof_warp *x, const struct anchor *a)
{
	uint32_t used = cpu_wp(x->w)->used, still = 0;

	if (a->state == CPU_SPLIT_BARRIER || a->state == CPU_SPLIT_GATHER)
		CPU_EACH_LANE (i, used) {
			const struct cpu_split *s = &x->w->split[i];
			if (s->state == a->state && s->pc == a->pc && s->func == a->func)
				still |= s->mask;
		}
	return !(a->mask & ~a->matched & ~(still & ~a->moved)) &&
	       (!x->has_exchanged || a->matched == a->mask);
}

static bool is_complete(const struct cpu_proof *p)
{
	for (size_t i = 0; i < p->warps.n; i++)
		for (uint32_t j = 0; j < p->warps.v[i]->nanchors; j++)
			if (!has_returned(p->warps.v[i], &p->warps.v[i]->anchors[j]))
				return false;
	return true;
}

static uint64_t count_events(const struct cpu_engine *e)
{
	return 2 * e->ids - e->nops + e->placing + e->stats.blocks;
}

/* A proof has failed, or something has happened: the next one after a number of turns. */
static void wait_turns(struct cpu_worker *k, unsigned tries)
{
	struct cpu_worker_priv *p = k->priv;

	end_proof(k);
	p->quiet = p->decisions;
	p->tries = tries < MOST_TRIES ? tries : MOST_TRIES;
}

static bool has_been_quiet(const struct cpu_worker_priv *p)
{
	uint64_t turns = ACTOR_TURNS * (uint64_t)(p->queue[0].n + p->queue[1].n + p->heap.n);

	return p->decisions - p->quiet >= (turns < FIRST_TURNS ? FIRST_TURNS : turns) << p->tries;
}

void cpu_deadlock_look(struct cpu_engine *e)
{
	struct cpu_worker *k = e->workers;
	struct cpu_worker_priv *p = k->priv;
	uint64_t events = count_events(e);
	struct cpu_proof *proof = k->proof;

	if (e->apart.is_beside || e->m->opt.model != CPU_MODEL_SC)
		return;
	if (events != p->events) {
		p->events = events;
		wait_turns(k, 0);
	} else if (!proof) {
		if (!has_been_quiet(p))
			return;
		if (is_closed(e))
			begin_proof(e, k, p->tries);
		if (!k->proof)
			wait_turns(k, p->tries + 1);
	} else if (proof->is_failed || k->warp_insts - proof->insts > proof->limit) {
		wait_turns(k, p->tries + 1);
	} else if (!proof->is_proven && is_complete(proof)) {
		if (is_closed(e) && !cpu_apart_may_open(e) &&
		    !(proof->reads_host && has_handlers()))
			proof->is_proven = true;
		else
			wait_turns(k, p->tries + 1);
	}
}
