/*
 * run.c - what is a run, when it becomes machine code, and the check of --jit=verify.
 *
 * A run is the longest sequence, up to JIT_LONGEST, of instructions with a row, without a place
 * where paths join but its first one; a turn that ended within it goes on with a run of the rest.
 * Each beginning is counted, and its run made machine code at the HOT-th time: once for all lanes,
 * once for some. A run is executed whole, if the turn's budget has room for it: so turns end where
 * they do without it, and what is drawn by seed is the same.
 *
 * verify: each run is executed twice, by the handlers first; the frames must be equal then. Else a
 * line names the instruction that wrote the register, and the process ends with code 70.
 * Costs: 24 bytes an instruction; a run costs the handlers' time of some hundred executions.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/jit/code.h"
#include "cpu/jit.h"
#include "cpu/jit/rows.h"

#define HOT	 48u
#define SHORTEST 2u /* 1 for verify */
/* A place is compared that often; a loop of millions would take minutes. */
#define VERIFIED 4096u

struct jit_place {
	uint8_t left; /* instructions to the end of the run; 0: in none */
	bool has_failed[2];
	_Atomic uint16_t count[2];
	_Atomic(struct jit_code *) code[2]; /* for all lanes, for some */
};

struct cpu_jit_func {
	uint32_t n;
	enum cpu_jit mode;
	struct jit_place at[];
};

/* ---- rows ------------------------------------------------------------------------------ */

#define HANDLERS(isa)                                                                              \
	extern const struct jit_handler cpu_handlers_int##isa[], cpu_handlers_logic##isa[],        \
		cpu_handlers_move##isa[], cpu_handlers_compare##isa[], cpu_handlers_float##isa[],  \
		cpu_handlers_approx##isa[], cpu_handlers_cvt##isa[];
#define TABLES(isa)                                                                                \
	cpu_handlers_int##isa, cpu_handlers_logic##isa, cpu_handlers_move##isa,                    \
		cpu_handlers_compare##isa, cpu_handlers_float##isa, cpu_handlers_approx##isa,      \
		cpu_handlers_cvt##isa
HANDLERS(_base)
#ifdef CPU_HAS_V3
HANDLERS(_v3)
#endif

static const struct jit_handler *const tables[] = {TABLES(_base),
#ifdef CPU_HAS_V3
						   TABLES(_v3)
#endif
};

#define HASH_ROOM 2048u
static struct jit_handler by_fn[HASH_ROOM]; /* open addressing */
_Static_assert(JIT_ROWS * 4 < HASH_ROOM, "two builds of each, half full");

static struct jit_handler *entry_of(cpu_exec *fn)
{
	uintptr_t h;

	memcpy(&h, &fn, sizeof(h));
	h = h * 0x9e3779b97f4a7c15ull >> 40;
	while (by_fn[h % HASH_ROOM].fn && by_fn[h % HASH_ROOM].fn != fn)
		h++;
	return &by_fn[h % HASH_ROOM];
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a run is made in. */
static struct work {
	struct jit_gen g;
	struct jit_text text;
} * work;

static bool is_able(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

static bool start(void)
{
	if (work)
		return true;
	if (!is_able())
		return false;
	work = malloc(sizeof(*work));
	for (size_t i = 0; work && i < BASE_COUNTOF(tables); i++)
		for (const struct jit_handler *h = tables[i]; h->fn; h++)
			*entry_of(h->fn) = *h;
	return work != NULL;
}

void cpu_jit_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* ---- runs -------------------------------------------------------------------------------- */

#define ENDS_IT (CPU_I_PARTS | CPU_I_GATHER | CPU_I_NOTED | CPU_I_APART | CPU_I_MEMORY)

static bool can_be(struct jit_gen *g, const struct cpu_func *f, const struct cpu_inst *in)
{
	unsigned row = entry_of(in->fn)->row;

	if (!row || in->flags & ENDS_IT)
		return false;
	jit_begin(g, f, in, 1, false);
	return jit_append(g, in, row);
}

static bool is_head_only(const struct cpu_inst *in)
{
	return in->flags & CPU_I_JOIN;
}

static uint32_t shortest_of(const struct cpu_jit_func *j)
{
	return j->mode == CPU_JIT_VERIFY ? 1 : SHORTEST;
}

/* Sets `left` of the instructions, and the flag of those where runs begin. */
static void find(struct cpu_func *f, struct cpu_jit_func *j)
{
	uint32_t end = 0, shortest = shortest_of(j);

	for (uint32_t pc = 0; pc < f->ninsts; pc++)
		j->at[pc].left = can_be(&work->g, f, &f->code[pc]);
	for (uint32_t pc = 0; pc < f->ninsts; pc = end) {
		end = pc + 1;
		if (!j->at[pc].left)
			continue;
		while (end < f->ninsts && end - pc < JIT_LONGEST && j->at[end].left &&
		       !is_head_only(&f->code[end]))
			end++;
		for (uint32_t i = pc; i < end; i++)
			j->at[i].left = (uint8_t)(end - i);
		if (end - pc < shortest)
			continue;
		f->code[pc].flags |= CPU_I_RUN;
		f->code[pc].flags &= (uint16_t)~CPU_I_PLAIN;
	}
	/* Targets of loops: the decoder marks joins, not all labels. */
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		uint32_t to = f->code[pc].target;
		if (!(f->code[pc].flags & CPU_I_BACK) || to >= f->ninsts ||
		    j->at[to].left < shortest)
			continue;
		f->code[to].flags |= CPU_I_RUN;
		f->code[to].flags &= (uint16_t)~CPU_I_PLAIN;
	}
}

void cpu_jit_prepare(struct cpu_func *f, enum cpu_jit mode)
{
	struct cpu_jit_func *j = NULL;

	if (mode == CPU_JIT_OFF)
		return;
	pthread_mutex_lock(&lock);
	if (start())
		j = calloc(1, sizeof(*j) + f->ninsts * sizeof(struct jit_place));
	if (j) {
		j->n = f->ninsts;
		j->mode = mode;
		find(f, j);
		f->jit = j;
	}
	pthread_mutex_unlock(&lock);
}

void cpu_jit_free(struct cpu_func *f)
{
	for (uint32_t pc = 0; f->jit && pc < f->jit->n; pc++)
		for (unsigned k = 0; k < 2; k++)
			jit_code_free(f->jit->at[pc].code[k]);
	free(f->jit);
	f->jit = NULL;
}

void cpu_jit_again(struct cpu_func *f)
{
	enum cpu_jit mode = f->jit ? f->jit->mode : CPU_JIT_OFF;
	const unsigned special =
		CPU_I_PARTS | CPU_I_GATHER | CPU_I_JOIN | CPU_I_NOTED | CPU_I_APART;

	if (!f->jit)
		return;
	cpu_jit_free(f);
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		struct cpu_inst *in = &f->code[pc];
		if (!(in->flags & CPU_I_RUN))
			continue;
		in->flags &= (uint16_t)~CPU_I_RUN;
		if (in->guard == CPU_NOSLOT && !(in->flags & special))
			in->flags |= CPU_I_PLAIN;
	}
	cpu_jit_prepare(f, mode);
}

/* ---- one run --------------------------------------------------------------------------------- */

static struct jit_code *make(const struct cpu_func *f, uint32_t pc, unsigned n, bool is_partial)
{
	const struct cpu_inst *in = &f->code[pc];
	struct jit_code *c = NULL;
	bool ok = true;

	pthread_mutex_lock(&lock);
	jit_begin(&work->g, f, in, n, is_partial);
	for (unsigned i = 0; i < n && ok; i++)
		ok = jit_append(&work->g, &in[i], entry_of(in[i].fn)->row);
	if (ok && jit_emit(&work->g, &work->text))
		c = jit_code_new(&work->text);
	pthread_mutex_unlock(&lock);
	return c;
}

static __attribute__((noinline)) struct jit_code *
warm(struct cpu_func *f, uint32_t pc, struct jit_place *p, bool is_partial, enum cpu_jit mode)
{
	struct jit_code *none = NULL, *c;
	uint16_t n = atomic_load_explicit(&p->count[is_partial], memory_order_relaxed);

	if (p->has_failed[is_partial])
		return NULL;
	if (n < HOT && mode != CPU_JIT_VERIFY) {
		atomic_store_explicit(&p->count[is_partial], (uint16_t)(n + 1),
				      memory_order_relaxed);
		return NULL;
	}
	c = make(f, pc, p->left, is_partial);
	if (!c)
		p->has_failed[is_partial] = true;
	else if (!atomic_compare_exchange_strong(&p->code[is_partial], &none, c)) {
		jit_code_free(c); /* another thread was first */
		c = none;
	}
	return c;
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

static void verify(struct cpu_warp *w, const struct cpu_func *f, uint32_t pc, unsigned n,
		   uint32_t mask, const struct jit_code *c)
{
	uint32_t bytes = f->layout->frame;
	uint8_t *before = malloc(bytes), *after = malloc(bytes), *frame = w->base[0];

	if (!before || !after)
		abort();
	memcpy(before, frame, bytes);
	interpret(w, &f->code[pc], n, mask);
	memcpy(after, frame, bytes);
	memcpy(frame, before, bytes);
	c->call(frame, w->base[1], mask, 0, c->pool);
	/* A loop over bytes took two thirds of the time of the random programs' tests. */
	for (uint32_t i = 0; memcmp(frame, after, bytes); i++)
		if (frame[i] != after[i])
			differs(f, pc, n, mask, i);
	free(before);
	free(after);
}

static bool is_still_compared(struct jit_place *p, bool is_partial)
{
	uint16_t n = atomic_load_explicit(&p->count[is_partial], memory_order_relaxed);

	if (n >= VERIFIED)
		return false;
	atomic_store_explicit(&p->count[is_partial], (uint16_t)(n + 1), memory_order_relaxed);
	return true;
}

uint32_t cpu_jit_try(struct cpu_warp *w, struct cpu_func *f, uint32_t pc, uint32_t mask,
		     int32_t left)
{
	struct jit_place *p = &f->jit->at[pc];
	bool is_partial = mask != UINT32_MAX;
	struct jit_code *c;

	if (p->left < shortest_of(f->jit) || (int32_t)p->left > left)
		return 0;
	c = atomic_load_explicit(&p->code[is_partial], memory_order_acquire);
	if (__builtin_expect(!c, 0)) {
		c = warm(f, pc, p, is_partial, f->jit->mode);
		if (!c)
			return 0;
	}
	if (__builtin_expect(f->jit->mode == CPU_JIT_VERIFY, 0) && is_still_compared(p, is_partial))
		verify(w, f, pc, p->left, mask, c);
	else
		c->call(w->base[0], w->base[1], mask, 0, c->pool);
	return p->left;
}
