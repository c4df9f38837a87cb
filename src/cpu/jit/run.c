/*
 * run.c - what is a run, when it becomes machine code, and the check of --jit=verify.
 *
 * A run is the longest sequence, up to JIT_LONGEST, of instructions with a row, without a place
 * where paths join or a loop begins but its first one, and without a load whose address it makes
 * itself. A place that may have code is looked at each CPU_JIT_WAIT visits of such places, and its
 * code made at the HOT-th look, if what has been executed pays for it: once for all lanes, once for
 * some. A turn ends where it does by the handlers, and what is drawn by seed is the same: code is
 * executed where the turn's budget has room for all of it; what is left of a turn goes by code of
 * fewer instructions, and by the handlers.
 *
 * Loads are part of code for all lanes, if no observer watches them. How their lanes lie is taken
 * from the warp for which the code is made; where it isn't so later the handlers do it, and a load
 * for which that happens often ends runs.
 *
 * verify: each run is executed twice, by the handlers first; the frames must be equal then. Else a
 * line names the instruction that wrote the register, and the process ends with code 70; but where
 * other workers execute the launch, too, one of them may have stored what the run loads.
 * Costs: 64 bytes an instruction; a run costs the handlers' time of some hundred executions, a
 * visit of a place without code some 60 instructions of the host.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/arch.h"
#include "cpu/jit/code.h"
#include "cpu/jit.h"
#include "cpu/jit/rows.h"

/* The code of a place, of a kind, is made after so many looks. */
#define HOT 16u
/* The least instructions for which code is faster than handlers, for all lanes and for some: it is
 * called, and lies in a page of its own. It is at hand in a loop of at most NEAR instructions;
 * elsewhere other code has taken its place in the cache before it is called again, whereas handlers
 * are used by all instructions. For verify 1. */
#define SHORTEST      4u
#define SHORTEST_SOME 8u
#define SHORTEST_FAR  16u
#define NEAR	      64u
/* Making an instruction costs as much as some hundred handlers; a worker makes one for so many that
 * it has executed, so that making takes two hundredths of the time at most. */
#define PRICE 8192u
/* Runs are looked for when the worker has executed so much, and the function had so many turns. */
#define FIRST (1u << 20)
#define TURNS 32u
/* Places whose code is too dear so far have no mark for so many turns of the function. */
#define LATER 128u
/* ... and those at which only some lanes come, or only all, lose theirs after so many looks. */
#define LOOKS 24u
/* A place is compared that often; a loop of millions would take minutes. */
#define VERIFIED 4096u
/* A load that could so often not be done as before is no more part of runs. */
#define MISSES 16u

/*
 * The code of a place: to the run's end for some lanes, for all; and for all the next instructions,
 * by which a turn comes to its end and out of the middle of a run. Only places at multiples of
 * STEP have code (and those after a load that ended it): code for each would leave no cache.
 */
#define STEP 8u
enum { CODE_SOME, CODE_ALL, CODE_LONG, CODE_STEP, CODES };
static const uint8_t length_of[CODES] = {[CODE_LONG] = 4 * STEP, [CODE_STEP] = STEP};

struct jit_place {
	_Alignas(64) uint8_t left;   /* instructions to the run's end; 0: in none */
	uint8_t pos;		     /* from its start */
	bool is_load, is_head;	     /* is_head: a loop begins here */
	bool is_near;		     /* in a loop of at most NEAR instructions */
	bool is_dear;		     /* not affordable at the last look: has no mark */
	uint8_t looks[2];	     /* in vain, for some lanes, for all */
	_Atomic uint8_t misses;	     /* of a load; from MISSES on it ends runs */
	_Atomic bool is_none[CODES]; /* can't be made, or is too short */
	_Atomic uint16_t count[CODES];
	_Atomic(struct jit_code *) code[CODES];
};
_Static_assert(sizeof(struct jit_place) <= 64, "one cache line");

/* Code that is called no more, but perhaps still executed. */
struct retired {
	struct jit_code *code;
	struct retired *next;
};

struct cpu_jit_func {
	uint32_t n;
	enum cpu_jit mode;
	uint32_t *weight; /* of the instructions before each */
	struct retired *retired;
	struct jit_place at[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a run is made in. */
static struct work {
	struct jit_gen g;
	struct jit_text text;
} * work;

static bool start(void)
{
	if (work)
		return true;
	if (!cpu_arch_is_v3())
		return false;
	work = malloc(sizeof(*work));
	if (work)
		jit_rows_start();
	return work != NULL;
}

void cpu_jit_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* ---- runs -------------------------------------------------------------------------------- */

#define ENDS_IT (CPU_I_PARTS | CPU_I_GATHER | CPU_I_NOTED | CPU_I_APART)

static bool can_be(const struct cpu_inst *in)
{
	return jit_row_of(in->fn) && !(in->flags & ENDS_IT);
}

static inline uint32_t shortest_of(const struct cpu_jit_func *j, const struct jit_place *p,
				   bool is_all)
{
	if (__builtin_expect(j->mode == CPU_JIT_VERIFY, 0))
		return 1;
	if (!p->is_near)
		return SHORTEST_FAR;
	return is_all ? SHORTEST : SHORTEST_SOME;
}

/* The run from pc on: how many instructions? */
static uint32_t length(struct jit_gen *g, const struct cpu_func *f, const struct cpu_jit_func *j,
		       uint32_t pc)
{
	const struct cpu_inst *in = &f->code[pc];
	uint32_t n = 0, most = 0;

	while (pc + most < f->ninsts && most < JIT_LONGEST && can_be(&in[most]) &&
	       !(most && (in[most].flags & CPU_I_JOIN || j->at[pc + most].is_head)))
		most++;
	g->w = NULL;
	jit_begin(g, f, in, most, false);
	while (n < most && jit_append(g, &in[n], jit_row_of(in[n].fn)))
		n++;
	return n;
}

static void mark(struct cpu_func *f, struct cpu_jit_func *j, uint32_t pc)
{
	if (pc >= f->ninsts || j->at[pc].left < shortest_of(j, &j->at[pc], true))
		return;
	for (unsigned k = 0; k < 2; k++)
		f->code[pc].waits[k] = j->mode != CPU_JIT_VERIFY;
	f->code[pc].flags |= CPU_I_RUN | CPU_I_RUN_SOME;
	f->code[pc].flags &= (uint16_t)~CPU_I_PLAIN;
}

/* Finds the runs, and sets the flag of those places that may have code. */
static void find(struct cpu_func *f, struct cpu_jit_func *j)
{
	uint32_t n;

	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		const struct cpu_inst *in = &f->code[pc];
		j->weight[pc + 1] = j->weight[pc] + (uint32_t)cpu_inst_weight(in->flags);
		/* The decoder marks joins, not all labels. */
		if (!(in->flags & CPU_I_BACK) || in->target >= f->ninsts)
			continue;
		j->at[in->target].is_head = true;
		for (uint32_t i = in->target; i <= pc && pc - in->target < NEAR; i++)
			j->at[i].is_near = true;
	}
	for (uint32_t pc = 0; pc < f->ninsts; pc += n ? n : 1) {
		n = length(&work->g, f, j, pc);
		for (uint32_t i = 0; i < n; i++) {
			struct jit_place *p = &j->at[pc + i];
			p->left = (uint8_t)(n - i);
			p->pos = (uint8_t)i;
			p->is_load = f->code[pc + i].flags & CPU_I_MEMORY;
		}
		for (uint32_t i = 0; i < n; i++)
			if (i % STEP == 0)
				mark(f, j, pc + i);
	}
}

static void free_func(struct cpu_jit_func *j)
{
	for (struct retired *r = j->retired, *next; r; r = next) {
		next = r->next;
		jit_code_free(r->code);
		free(r);
	}
	for (uint32_t pc = 0; pc < j->n; pc++)
		for (unsigned k = 0; k < CODES; k++)
			jit_code_free(j->at[pc].code[k]);
	free(j->weight);
	free(j);
}

static struct cpu_jit_func *new_func(uint32_t n, enum cpu_jit mode)
{
	size_t bytes = sizeof(struct cpu_jit_func) + n * sizeof(struct jit_place);
	struct cpu_jit_func *j = aligned_alloc(64, bytes);

	if (!j)
		return NULL;
	memset(j, 0, bytes);
	j->weight = calloc(n + 1, sizeof(j->weight[0]));
	j->n = j->weight ? n : 0;
	j->mode = mode;
	if (!j->weight) {
		free_func(j);
		return NULL;
	}
	return j;
}

void cpu_jit_now(struct cpu_func *f, enum cpu_jit mode)
{
	struct cpu_jit_func *j = NULL;

	f->jit_wait = 0;
	if (mode == CPU_JIT_OFF || f->jit)
		return;
	pthread_mutex_lock(&lock);
	if (start())
		j = new_func(f->ninsts, mode);
	if (j) {
		find(f, j);
		f->jit = j;
	}
	pthread_mutex_unlock(&lock);
}

void cpu_jit_prepare(struct cpu_func *f, enum cpu_jit mode)
{
	if (mode == CPU_JIT_VERIFY)
		cpu_jit_now(f, mode);
	else if (mode == CPU_JIT_ON)
		f->jit_wait = TURNS;
}

/* Places that were too dear. */
static void mark_again(struct cpu_func *f)
{
	for (uint32_t pc = 0; pc < f->ninsts; pc++)
		if (f->jit->at[pc].is_dear) {
			f->jit->at[pc].is_dear = false;
			mark(f, f->jit, pc);
		}
}

void cpu_jit_turn(const struct cpu_worker *k, struct cpu_func *f)
{
	/* Others execute it beside: then it has been looked at, if there was memory. */
	if (k->is_beside || k->warp_insts < FIRST)
		return;
	if (--f->jit_wait)
		return;
	if (!f->jit)
		cpu_jit_now(f, k->m->opt.jit);
	else
		mark_again(f);
}

void cpu_jit_free(struct cpu_func *f)
{
	if (f->jit)
		free_func(f->jit);
	f->jit = NULL;
}

static void unmark(struct cpu_inst *in, unsigned flags)
{
	const unsigned special = CPU_I_PARTS | CPU_I_GATHER | CPU_I_JOIN | CPU_I_NOTED |
				 CPU_I_APART | CPU_I_RUN | CPU_I_RUN_SOME;

	in->flags &= (uint16_t)~flags;
	if (in->guard == CPU_NOSLOT && !(in->flags & special))
		in->flags |= CPU_I_PLAIN;
}

void cpu_jit_again(struct cpu_func *f)
{
	enum cpu_jit mode = f->jit ? f->jit->mode : CPU_JIT_OFF;

	if (!f->jit)
		return;
	cpu_jit_free(f);
	for (uint32_t pc = 0; pc < f->ninsts; pc++)
		if (f->code[pc].flags & (CPU_I_RUN | CPU_I_RUN_SOME))
			unmark(&f->code[pc], CPU_I_RUN | CPU_I_RUN_SOME);
	cpu_jit_now(f, mode);
}

/* ---- one run --------------------------------------------------------------------------------- */

/* The load ends runs from now on: one may begin after it. (Others may be reading flags beside.) */
static void begin_after(const struct cpu_warp *w, struct cpu_func *f, uint32_t load)
{
	struct cpu_jit_func *j = f->jit;

	if (!w->worker->is_beside && load + 1 < f->ninsts && j->at[load + 1].pos)
		mark(f, j, load + 1);
}

/* Code of the first n instructions, or of as many as can be; NULL: of none. */
static struct jit_code *make(struct cpu_warp *w, struct cpu_func *f, uint32_t pc, unsigned n,
			     bool is_partial)
{
	const struct cpu_inst *in = &f->code[pc];
	struct jit_gen *g = &work->g;
	struct jit_code *c = NULL;
	unsigned done = 0;

	pthread_mutex_lock(&lock);
	g->w = w;
	/* What the run writes last must be known: one that is cut begins anew. */
	while (done < n) {
		jit_begin(g, f, in, n, is_partial);
		for (done = 0; done < n; done++)
			if (f->jit->at[pc + done].misses >= MISSES ||
			    !jit_append(g, &in[done], jit_row_of(in[done].fn)))
				break;
		if (done == n)
			break;
		n = done, done = 0;
		/* Runs end at such a load from now on, so that the next one begins after it. */
		if (!is_partial && f->jit->at[pc + n].is_load) {
			f->jit->at[pc + n].misses = MISSES;
			begin_after(w, f, pc + n);
		}
	}
	if (n >= shortest_of(f->jit, &f->jit->at[pc], !is_partial) && jit_emit(g, &work->text))
		c = jit_code_new(&work->text, g, n);
	pthread_mutex_unlock(&lock);
	return c;
}

/* May the worker make code of n instructions, by what it has executed? */
static bool affords(struct cpu_warp *w, const struct cpu_func *f, unsigned n)
{
	struct cpu_worker *k = w->worker;

	if (f->jit->mode == CPU_JIT_VERIFY)
		return true;
	if ((k->jit_made + n) * PRICE > k->warp_insts)
		return false;
	k->jit_made += n;
	return true;
}

static __attribute__((noinline)) struct jit_code *warm(struct cpu_warp *w, struct cpu_func *f,
						       uint32_t pc, unsigned kind, unsigned n)
{
	struct jit_place *p = &f->jit->at[pc];
	struct jit_code *none = NULL, *c;
	uint16_t count = atomic_load_explicit(&p->count[kind], memory_order_relaxed);

	if (atomic_load_explicit(&p->is_none[kind], memory_order_relaxed))
		return NULL;
	if (count < HOT && f->jit->mode != CPU_JIT_VERIFY) {
		atomic_store_explicit(&p->count[kind], (uint16_t)(count + 1), memory_order_relaxed);
		return NULL;
	}
	if (!affords(w, f, n)) {
		if (!w->worker->is_beside)
			p->is_dear = true;
		return NULL;
	}
	c = make(w, f, pc, n, kind == CODE_SOME);
	if (!c)
		atomic_store_explicit(&p->is_none[kind], true, memory_order_relaxed);
	else if (!atomic_compare_exchange_strong(&p->code[kind], &none, c)) {
		jit_code_free(c); /* another thread was first */
		c = none;
	}
	return c;
}

/* A load of the run can't be done as before. */
static __attribute__((noinline)) void miss(struct cpu_warp *w, struct jit_place *p,
					   const struct jit_group *g)
{
	struct cpu_jit_func *j = w->cur->func->jit;
	struct jit_place *load = &j->at[g->pc];
	uint8_t n = atomic_load_explicit(&load->misses, memory_order_relaxed);
	struct retired *r;

	if (n < MISSES) {
		atomic_store_explicit(&load->misses, ++n, memory_order_relaxed);
		if (n == MISSES)
			begin_after(w, w->cur->func, g->pc);
	}
	for (unsigned k = 0; n >= MISSES && k < CODES; k++) {
		struct jit_code *c = atomic_exchange(&p->code[k], NULL);
		if (!c || !(r = malloc(sizeof(*r))))
			continue; /* without memory it is lost */
		pthread_mutex_lock(&lock);
		*r = (struct retired){c, j->retired};
		j->retired = r;
		pthread_mutex_unlock(&lock);
	}
}

/* Where the run's groups of loads are; false: one of them can't be done here. */
static inline bool find_groups(struct cpu_warp *w, struct jit_place *p, const struct jit_code *c,
			       uint64_t *host)
{
	if (w->worker->proof)
		return false;
	for (unsigned i = 0; i < c->ngroups; i++) {
		if (jit_is_watched(w, &c->groups[i].load))
			return false;
#ifdef CPU_HAS_V3
		if (!cpu_jit_find_v3(w, &c->groups[i], &host[i])) {
#else
		if (!cpu_jit_find_base(w, &c->groups[i], &host[i])) {
#endif
			miss(w, p, &c->groups[i]);
			return false;
		}
	}
	/* What handlers have kept of a load may be of an earlier turn of the loop from now on. */
	for (unsigned i = 0; c->ways >> i; i++)
		if (c->ways >> i & 1)
			w->worker->spreads[i].first = NULL;
	return true;
}

static void interpret(struct cpu_warp *w, const struct cpu_inst *in, unsigned n, uint32_t mask)
{
	for (unsigned i = 0; i < n; i++, in++) {
		uint32_t m = mask;
		if (in->guard != CPU_NOSLOT)
			m &= *cpu_pred(w, in->guard) ^ (0u - (in->flags & CPU_I_GUARD_NOT));
		if (m)
			in->fn(w, in, m);
	}
}

static _Noreturn void differs(const struct cpu_func *f, uint32_t pc, unsigned n, uint32_t mask,
			      uint32_t byte)
{
	const struct cpu_inst *in = NULL;
	uint32_t at = pc, best = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint32_t d = f->code[pc + i].dst[k];
			if (d <= byte && (d > best || !in || d == best)) {
				best = d;
				in = &f->code[pc + i];
				at = pc + i;
			}
		}
	const struct ptx_stmt *s = f->stmts[at];
	base_say(
		"--jit=verify: %s, %.*s (line %u), lanes 0x%x, byte %u of its result: machine code "
		"and handler differ (a run of %u from line %u on)",
		f->name, s ? (int)s->form->text.n : 0, s ? s->form->text.p : "", s ? s->line : 0,
		mask, byte - best, n, f->stmts[pc] ? f->stmts[pc]->line : 0);
	_exit(BASE_EXIT_INTERNAL);
}

/* false: another worker may have stored between the two what the run loads. The launch is repeated
 * by one worker, which compares again. */
static bool verify(struct cpu_warp *w, const struct cpu_func *f, uint32_t pc, uint32_t mask,
		   const struct jit_code *c, const uint64_t *host)
{
	bool is_same = true;

	uint32_t bytes = f->layout->frame;
	uint8_t *before = malloc(bytes), *after = malloc(bytes), *frame = w->base[0];

	if (!before || !after)
		abort();
	memcpy(before, frame, bytes);
	interpret(w, &f->code[pc], c->n, mask);
	memcpy(after, frame, bytes);
	memcpy(frame, before, bytes);
	c->call(frame, w->base[1], mask, 0, c->pool, host);
	/* A loop over bytes took two thirds of the time of the random programs' tests. */
	if (memcmp(frame, after, bytes) && !cpu_apart_is_alone(w->worker)) {
		memcpy(frame, after, bytes);
		is_same = false;
	}
	for (uint32_t i = 0; memcmp(frame, after, bytes); i++)
		if (frame[i] != after[i])
			differs(f, pc, c->n, mask, i);
	free(before);
	free(after);
	return is_same;
}

static bool is_still_compared(struct jit_place *p, unsigned kind)
{
	uint16_t n = atomic_load_explicit(&p->count[kind], memory_order_relaxed);

	if (n >= VERIFIED)
		return false;
	atomic_store_explicit(&p->count[kind], (uint16_t)(n + 1), memory_order_relaxed);
	return true;
}

/* Has the budget room for n instructions? The last one needs to begin within it only. */
static inline bool fits(const struct cpu_jit_func *j, uint32_t pc, uint32_t n, int32_t left)
{
	return (int32_t)(j->weight[pc + n - 1] - j->weight[pc]) < left;
}

static inline struct jit_code *code_of(struct cpu_warp *w, struct cpu_func *f, uint32_t pc,
				       unsigned kind, unsigned n, int32_t left)
{
	struct jit_code *c = atomic_load_explicit(&f->jit->at[pc].code[kind], memory_order_acquire);

	if (!fits(f->jit, pc, c ? c->n : n, left))
		return NULL;
	return __builtin_expect(c != NULL, 1) ? c : warm(w, f, pc, kind, n);
}

/* The longest code for what is left of the turn, of that kind; NULL: there is none. */
static inline struct jit_code *choose(struct cpu_warp *w, struct cpu_func *f, uint32_t pc,
				      bool is_all, int32_t left, unsigned *kind)
{
	const struct jit_place *p = &f->jit->at[pc];
	struct jit_code *c = NULL;
	bool is_after = p->pos && p[-1].is_load;

	if (!is_all) {
		*kind = CODE_SOME;
		return p->pos % STEP == 0 || is_after ? code_of(w, f, pc, *kind, p->left, left)
						      : NULL;
	}
	is_after = is_after && atomic_load_explicit(&p[-1].misses, memory_order_relaxed) >= MISSES;
	if (p->pos % STEP && !is_after)
		return NULL;
	*kind = CODE_ALL;
	if (!p->pos || p->left < 2 * STEP || is_after)
		c = code_of(w, f, pc, CODE_ALL, p->left, left);
	for (unsigned k = CODE_LONG; k < CODES && !c; k++)
		if (p->left > length_of[k] && p->pos % length_of[k] == 0)
			c = code_of(w, f, pc, *kind = k, length_of[k], left);
	return c;
}

/* Has the place no code for such lanes, and never will? */
static bool is_idle(const struct cpu_jit_func *j, const struct jit_place *p, bool is_all)
{
	if (!is_all)
		return p->is_none[CODE_SOME] || p->left < shortest_of(j, p, false);
	for (unsigned k = CODE_ALL; k < CODES; k++)
		if ((k == CODE_ALL ? !p->pos || p->left < 2 * STEP || p[-1].is_load
				   : p->left > length_of[k] && p->pos % length_of[k] == 0) &&
		    !p->is_none[k])
			return false;
	return true;
}

static bool has_code(const struct jit_place *p, bool is_all)
{
	return is_all ? p->code[CODE_ALL] || p->code[CODE_LONG] || p->code[CODE_STEP]
		      : p->code[CODE_SOME] != NULL;
}

/*
 * The place has no code for such lanes: it isn't looked at for a while, or no more. The run loop
 * passes by faster without the marks; but others that execute it beside may be reading them.
 */
static __attribute__((noinline)) void put_off(struct cpu_warp *w, struct cpu_func *f, uint32_t pc,
					      bool is_all)
{
	struct cpu_jit_func *j = f->jit;
	struct jit_place *p = &j->at[pc];
	unsigned flags = is_all ? CPU_I_RUN : CPU_I_RUN_SOME;

	if (has_code(p, is_all) || j->mode == CPU_JIT_VERIFY)
		return;
	if (!f->code[pc].waits[is_all])
		f->code[pc].waits[is_all] = true;
	if (w->worker->is_beside)
		return;
	if (p->is_dear) {
		unmark(&f->code[pc], CPU_I_RUN | CPU_I_RUN_SOME);
		f->jit_wait = f->jit_wait ? f->jit_wait : LATER;
		return;
	}
	if (p->looks[is_all] < LOOKS)
		p->looks[is_all]++;
	if (!is_idle(j, p, is_all))
		return;
	/* The other lanes' mark goes, too, if none of them came meanwhile. */
	if (p->looks[is_all] == LOOKS && !p->looks[!is_all] && !has_code(p, !is_all))
		flags |= CPU_I_RUN | CPU_I_RUN_SOME;
	else if (p->looks[is_all] < LOOKS && !p->looks[!is_all])
		return;
	unmark(&f->code[pc], flags);
}

uint32_t cpu_jit_try(struct cpu_warp *w, struct cpu_func *f, uint32_t pc, uint32_t mask,
		     int32_t *left)
{
	struct cpu_jit_func *j = f->jit;
	uint64_t host[JIT_GROUPS];
	uint32_t start = pc, n = 0;

	do {
		struct jit_place *p = &j->at[pc];
		unsigned kind = CODE_SOME;
		struct jit_code *c = NULL;
		if (p->left >= shortest_of(j, p, mask == UINT32_MAX))
			c = choose(w, f, pc, mask == UINT32_MAX, *left, &kind);
		if (!c) {
			put_off(w, f, pc, mask == UINT32_MAX);
			break;
		}
		if (c->ngroups && !find_groups(w, p, c, host))
			break;
		n = c->n;
		if (__builtin_expect(j->mode == CPU_JIT_VERIFY, 0) && is_still_compared(p, kind)) {
			if (!verify(w, f, pc, mask, c, host))
				atomic_store(&p->count[kind], 0);
		} else {
			c->call(w->base[0], w->base[1], mask, 0, c->pool, host);
		}
		*left -= (int32_t)(j->weight[pc + n] - j->weight[pc]);
		pc += n;
		if (n == p->left)
			break;
	} while (*left > 0);
	return pc - start;
}
