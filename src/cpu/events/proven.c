/*
 * proven.c - launches that are proven free of data races, as one operation each.
 *
 * What a proof says holds between the threads of one launch. For all else, other launches, copies,
 * frees and host code, the bytes that the launch reads and writes are noted as bits, by array; when
 * it has ended it accesses these for the oracle, as a copy does that starts and ends with it. A
 * proven kernel has nothing that orders its threads with anything else, so that is exact. It has
 * neither the threads nor the lines; who wants them runs the program again without proofs, which
 * `left` asks for, too.
 *
 * A proof takes for granted that accesses stay within their arrays. Here each one is tested.
 *
 * Misses: nothing; a launch that isn't what its proof speaks of is judged by the next run alone.
 * Costs: a bit for each byte of the arrays, of which only touched pages take memory; a few
 * operations for each access of a warp; at the end a look at the bits between the first and the
 * last.
 */
#include "cpu/load/load.h"
#include "cpu/memory/resolve.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"

#include <stdlib.h>
#include <string.h>

#define WORD 64u

/* The bytes of an array that are read, or written. */
struct bytes {
	uint64_t *bits;	 /* NULL: none */
	uint64_t lo, hi; /* words that may have bits */
};

struct array {
	struct cpu_extent extent;
	struct bytes done[2]; /* read, written */
	bool is_read_only;    /* some load expects that the launch doesn't write there */
};

struct cpu_proven_run {
	struct cpu_proven proven;
	struct array array[CPU_EXTENTS];
	uint32_t *first; /* by instruction, into the kernel's sites; nsites: none */
	uint32_t *nth;	 /* by instruction: which of the body */
	bool has_left;
};

void cpu_listen_proven(struct cpu_machine *m, cpu_proven_fn *proven, cpu_left_fn *left, void *arg)
{
	cpu_engine_hold(m);
	m->listener.proven = proven;
	m->listener.left = left;
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

static void run_free(struct cpu_proven_run *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->proven.nextents; i++)
		for (unsigned k = 0; k < 2; k++)
			free(r->array[i].done[k].bits);
	free(r->proven.site);
	free(r->first);
	free(r->nth);
	free(r);
}

void cpu_proven_free(struct cpu_op *op)
{
	run_free(op->proven);
	op->proven = NULL;
}

static struct cpu_proven_run *run_new(const struct cpu_proven *p)
{
	const struct cpu_func *f = p->kernel->func;
	struct cpu_proven_run *r = calloc(1, sizeof(*r));

	if (!r) {
		free(p->site);
		return NULL;
	}
	r->proven = *p;
	r->first = calloc(f->ninsts + 1u, sizeof(*r->first));
	r->nth = calloc(f->ninsts + 1u, sizeof(*r->nth));
	for (uint32_t i = 0; i < p->nextents; i++)
		r->array[i].extent = p->extent[i];
	if (r->first && r->nth && number(f, r))
		return r;
	run_free(r);
	return NULL;
}

/* Can nothing but the API order the launch's threads with others, and is nothing else asked for? */
static bool may_be_proven(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	uint64_t cluster = 1;

	for (unsigned i = 0; i < 3; i++)
		cluster *= l->cluster[i] ? l->cluster[i] : 1;
	return op->m->events && op->m->listener.proven && !l->plain && !l->chosen &&
	       !l->is_cooperative && !l->is_programmatic && cluster == 1 &&
	       !l->kernel->info.cluster[0] && op->m->engine->nworkers == 1 &&
	       op->m->opt.model == CPU_MODEL_SC && !op->m->opt.is_exact;
}

bool cpu_proven_begin(struct cpu_op *op)
{
	struct cpu_launch *l = &op->work.launch, found = *l;
	const struct cpu_listener *to = &op->m->listener;
	struct cpu_proven p = {0};

	found.params = op->copy;
	if (!may_be_proven(op) || !to->proven(to->proven_arg, l->tag, &found, op->work.device, &p))
		return false;
	if (cpu_kernel_ready(p.kernel) && p.kernel->nparam_bytes == l->kernel->nparam_bytes)
		op->proven = run_new(&p);
	else
		free(p.site);
	/* It counts as proven already, and is judged access by access. */
	if (!op->proven)
		to->left(to->proven_arg, l->tag);
	if (!op->proven)
		return false;
	l->kernel = p.kernel;
	l->is_plain = true;
	return true;
}

/* ---- accesses ----------------------------------------------------------------------------- */

static void leave(struct cpu_op *op)
{
	const struct cpu_listener *to = &op->m->listener;

	if (op->proven->has_left)
		return;
	op->proven->has_left = true;
	to->left(to->proven_arg, op->work.launch.tag);
}

/* Sets n bits from bit `at` on. */
static void set(struct bytes *b, uint64_t at, uint64_t n)
{
	uint64_t word = at / WORD, last = (at + n - 1) / WORD, from = at % WORD;

	b->lo = word < b->lo ? word : b->lo;
	b->hi = last >= b->hi ? last + 1 : b->hi;
	if (word == last) {
		b->bits[word] |= (n == WORD ? UINT64_MAX : (1ull << n) - 1) << from;
		return;
	}
	b->bits[word] |= UINT64_MAX << from;
	while (++word < last)
		b->bits[word] = UINT64_MAX;
	b->bits[last] |= UINT64_MAX >> (WORD - 1 - (at + n - 1) % WORD);
}

/* The array in which all of the warp's bytes lie; NULL: none that the instruction may access. */
static struct array *array_of(struct cpu_proven_run *r, uint32_t pc, uint64_t lo, uint64_t end)
{
	const struct cpu_proven *p = &r->proven;

	for (uint32_t i = r->first[pc]; i < p->nsites && p->site[i].nth == r->nth[pc]; i++) {
		struct array *a = &r->array[p->site[i].extent];
		if (lo >= a->extent.base && end <= a->extent.base + a->extent.bytes && lo < end)
			return a;
	}
	return NULL;
}

static bool is_row(const uint64_t *addr, uint32_t mask, uint32_t bytes)
{
	uint64_t differ = 0;

	if (mask != UINT32_MAX)
		return false;
	for (unsigned l = 0; l < CPU_WARP; l++)
		differ |= addr[l] ^ (addr[0] + (uint64_t)l * bytes);
	return !differ;
}

static void note(struct cpu_op *op, struct array *a, const struct cpu_acc *acc, uint32_t mask,
		 const uint64_t *addr, uint32_t bytes)
{
	struct bytes *b = &a->done[acc->kind == CPU_ACC_STORE];
	uint64_t base = a->extent.base;

	a->is_read_only |= acc->is_nc;
	if (!b->bits) {
		b->bits = calloc(a->extent.bytes / WORD + 1, sizeof(*b->bits));
		b->lo = UINT64_MAX;
	}
	if (!b->bits) {
		leave(op);
		return;
	}
	if (is_row(addr, mask, bytes)) {
		set(b, addr[0] - base, (uint64_t)bytes * CPU_WARP);
		return;
	}
	uint64_t last = UINT64_MAX;
	CPU_EACH_LANE (l, mask) {
		if (addr[l] != last)
			set(b, addr[l] - base, bytes);
		last = addr[l];
	}
}

void cpu_proven_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes)
{
	struct cpu_proven_run *r = w->grid->proven;
	uint32_t pc = (uint32_t)(in - w->cur->func->code);

	if (!mask)
		return;
	struct cpu_span s = cpu_span_of(addr, mask);
	/* Generic addresses of shared and local memory: the proof is about them, too. */
	if (acc->space == PTX_SPACE_GENERIC && s.lo >= CPU_WIN_SHARED &&
	    s.hi < CPU_WIN_SHARED + CPU_WIN_SIZE + CPU_WIN_SIZE)
		return;
	struct array *a =
		w->cur->func == r->proven.kernel->func ? array_of(r, pc, s.lo, s.hi + bytes) : NULL;
	if (a) {
		note(w->grid->op, a, acc, mask, addr, bytes);
		return;
	}
	/* Lanes may be in several arrays. */
	CPU_EACH_LANE (l, mask) {
		a = w->cur->func == r->proven.kernel->func
			    ? array_of(r, pc, addr[l], addr[l] + bytes)
			    : NULL;
		if (a)
			note(w->grid->op, a, acc, 1u << l, addr, bytes);
		else
			leave(w->grid->op);
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

static void access_range(struct cpu_events *x, const struct cpu_op *op, bool is_write, uint64_t at,
			 uint64_t bytes)
{
	oracle_access_range(x->o, op->events_actor, cpu_site_of_op(x, op, is_write),
			    is_write ? RACE_OP_WRITE : RACE_OP_READ, at, bytes);
}

/* Hands over runs of bits. `base`: of bit 0. */
static void hand_over(struct cpu_events *x, const struct cpu_op *op, bool is_write,
		      const struct bytes *b, uint64_t base)
{
	uint64_t from = UINT64_MAX; /* of the run that is open */

	for (uint64_t w = b->lo; w < b->hi; w++) {
		uint64_t v = b->bits[w];
		if (v == (from == UINT64_MAX ? 0 : UINT64_MAX))
			continue;
		for (unsigned i = 0; i < WORD;) {
			uint64_t rest = v >> i;
			if (from == UINT64_MAX) {
				if (!rest)
					break;
				i += (unsigned)__builtin_ctzll(rest);
				from = w * WORD + i;
				continue;
			}
			if (!~(rest | (i ? UINT64_MAX << (WORD - i) : 0)))
				break;
			i += (unsigned)__builtin_ctzll(~rest);
			access_range(x, op, is_write, base + from, w * WORD + i - from);
			from = UINT64_MAX;
		}
	}
	if (from != UINT64_MAX)
		access_range(x, op, is_write, base + from, b->hi * WORD - from);
}

void events_proven_end(struct cpu_events *x, struct cpu_op *op)
{
	struct cpu_proven_run *r = op->proven;

	events_wrote_all(x);
	for (uint32_t i = 0; i < r->proven.nextents; i++) {
		struct array *a = &r->array[i];
		uint64_t base = cpu_space_machine(x->m, a->extent.base);
		for (unsigned k = 0; k < 2; k++)
			if (a->done[k].bits)
				hand_over(x, op, k, &a->done[k], base);
		/* ld.nc of what the launch writes is a race however it is ordered. */
		if (a->is_read_only && a->done[1].bits)
			leave(op);
	}
	cpu_proven_free(op);
}

void events_proven_raced(struct cpu_events *x, const struct cpu_site *a, const struct cpu_site *b)
{
	const struct cpu_listener *to = &x->m->listener;

	if (a->is_proven || b->is_proven)
		to->left(to->proven_arg, NULL);
}
