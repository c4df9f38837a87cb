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
 * Costs: for each instruction and element of 4 bytes, of what is touched, 0.13 to 0.5 bytes until
 * the host knows that the launch has ended, 4.6 where lanes don't lie side by side at multiples of
 * a row; 1.1 for each byte that is written until it ends. Some operations for each warp's access.
 */
#include "cpu/load/load.h"
#include "cpu/memory/resolve.h"
#include "cpu/memory/space.h"
#include "cpu/touch.h"
#include "flow/flow.h"
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

#define WORD PROVEN_WORD

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

/* Nothing has been accessed. */
static void forget(struct cpu_proven_run *r)
{
	for (uint32_t i = 0; i < r->proven.nextents; i++) {
		struct proven_array *a = &r->array[i];
		free(a->written.bits);
		free(a->old);
		a->written = (struct proven_bytes){0};
		a->old = NULL;
		a->is_read_only = false;
	}
	for (uint32_t i = 0; r->touch && i < r->proven.nsites; i++) {
		free(r->touch[i].done.bits);
		free(r->touch[i].thread);
		free(r->touch[i].row);
		r->touch[i] = (struct proven_touch){0};
	}
}

void proven_run_free(struct cpu_proven_run *r)
{
	if (!r)
		return;
	forget(r);
	pthread_mutex_destroy(&r->lock);
	free(r->touch);
	free(r->proven.site);
	free(r->first);
	free(r->nth);
	free(r);
}

void cpu_proven_free(struct cpu_op *op)
{
	proven_run_free(op->proven);
	op->proven = NULL;
}

/* Of a block, those of warps that have less than 32 included. */
static uint32_t block_threads(const struct cpu_launch *l)
{
	uint32_t n = l->block[0] * l->block[1] * l->block[2];

	return (n + CPU_WARP - 1) / CPU_WARP * CPU_WARP;
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
	r->touch = calloc(p->nsites + 1u, sizeof(*r->touch));
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
	proven_run_free(r);
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
	uint64_t cluster = 1, threads = block_threads(l);

	for (unsigned i = 0; i < 3; i++) {
		cluster *= l->cluster[i] ? l->cluster[i] : 1;
		threads *= threads <= UINT32_MAX ? l->grid[i] : 1;
	}
	return op->m->events && !l->plain && !l->chosen && !l->is_cooperative &&
	       !l->is_programmatic && cluster == 1 && threads <= UINT32_MAX &&
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

static bool bytes_make(struct proven_bytes *b, const struct cpu_extent *e)
{
	b->words = e->bytes / WORD + 1;
	b->bits = calloc(b->words, sizeof(*b->bits));
	b->lo = UINT64_MAX;
	return b->bits != NULL;
}

/* The bits of [at, at + n) that the word has. */
static uint64_t bits_of(uint64_t word, uint64_t at, uint64_t n)
{
	uint64_t lo = at > word * WORD ? at - word * WORD : 0, end = at + n - word * WORD;

	return (end >= WORD ? UINT64_MAX : (1ull << end) - 1) & UINT64_MAX << lo;
}

/* a: the lower end (what is added lowers it) or the upper one. */
static void move_end(uint64_t *a, uint64_t to, bool is_upper)
{
	uint64_t now = __atomic_load_n(a, __ATOMIC_RELAXED);

	while ((is_upper ? now < to : now > to) &&
	       !__atomic_compare_exchange_n(a, &now, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* In large steps: workers that go through an array would change them at each access. */
static void move_ends(uint64_t *lo, uint64_t *hi, uint64_t first, uint64_t last, uint64_t all)
{
	uint64_t end = (last / PROVEN_STEP + 1) * PROVEN_STEP;

	move_end(lo, first / PROVEN_STEP * PROVEN_STEP, false);
	move_end(hi, end < all ? end : all, true);
}

static void set(struct proven_bytes *b, uint64_t at, uint64_t n, bool is_beside)
{
	uint64_t word = at / WORD, last = (at + n - 1) / WORD;

	move_ends(&b->lo, &b->hi, word, last, b->words);
	for (; word <= last; word++) {
		uint64_t bits = bits_of(word, at, n);
		if (!is_beside)
			b->bits[word] |= bits;
		else if (bits & ~__atomic_load_n(&b->bits[word], __ATOMIC_RELAXED))
			__atomic_fetch_or(&b->bits[word], bits, __ATOMIC_RELAXED);
	}
}

void proven_add(struct proven_bytes *b, uint64_t at, uint64_t n)
{
	set(b, at, n, false);
}

/* Bytes that are about to be written: what the launch found there is kept. In a proven launch one
 * thread writes a byte, or threads that are ordered. */
static void save(struct proven_array *a, uint64_t at, uint64_t n, bool is_beside)
{
	struct proven_bytes *b = &a->written;
	const uint8_t *now = (const uint8_t *)(uintptr_t)a->base;

	for (uint64_t word = at / WORD; word <= (at + n - 1) / WORD; word++) {
		uint64_t has = __atomic_load_n(&b->bits[word], __ATOMIC_RELAXED);
		uint64_t new = bits_of(word, at, n) & ~has, i = word *WORD;
		if (new == UINT64_MAX)
			memcpy(a->old + i, now + i, WORD);
		else
			for (; new; new &= new - 1) {
				uint64_t k = i + (unsigned)__builtin_ctzll(new);
				a->old[k] = now[k];
			}
	}
	set(b, at, n, is_beside);
}

/* The least log2 of lanes that lie side by side, from 8 on; 0: fewer do. */
static unsigned width_of(const uint64_t *addr, uint32_t mask, uint32_t bytes)
{
	uint64_t differ[3] = {0};

	if (mask != UINT32_MAX)
		return 0;
	for (unsigned k = 0; k < 3; k++)
		for (unsigned l = 0, per = 8u << k; l < CPU_WARP; l++)
			differ[k] |= addr[l] ^
				     (addr[l & ~(per - 1)] + (uint64_t)(l & (per - 1)) * bytes);
	return !differ[2] ? 5 : !differ[1] ? 4 : !differ[0] ? 3 : 0;
}

static uint64_t elements_of(const struct proven_array *a, const struct proven_touch *t)
{
	return (a->extent.bytes >> t->shift) + 2;
}

static uint64_t rows_of(const struct proven_array *a, const struct proven_touch *t)
{
	return (elements_of(a, t) >> t->wide) + 3;
}

/* What the first access is. Lock held. */
static bool make_rows(struct proven_array *a, struct proven_touch *t, const struct cpu_acc *acc,
		      uint32_t pc, uint32_t mask, const uint64_t *addr, uint32_t bytes)
{
	unsigned wide = width_of(addr, mask, bytes);
	uint64_t at = addr[__builtin_ctz(mask)] - a->extent.base;

	t->pc = pc;
	t->shift = (uint8_t)__builtin_ctz(bytes);
	t->wide = (uint8_t)(wide ? wide : 5);
	t->is_write = acc->kind != CPU_ACC_LOAD;
	t->is_update = acc->kind == CPU_ACC_ATOMIC;
	t->scope = (uint8_t)flow_scope(acc->sem, acc->scope);
	a->is_read_only |= acc->is_nc;
	t->skew = (uint8_t)(proven_element(a, t, at) & ((1u << t->wide) - 1));
	t->row_lo = UINT64_MAX;
	if (t->is_write && !a->old) {
		a->old = malloc(a->extent.bytes);
		if (!a->old || !bytes_make(&a->written, &a->extent))
			return false;
	}
	uint32_t *row = calloc(rows_of(a, t), sizeof(*row));
	__atomic_store_n(&t->row, row, __ATOMIC_RELEASE);
	return row != NULL;
}

static bool touch_make(struct cpu_proven_run *r, uint32_t site, const struct cpu_acc *acc,
		       uint32_t pc, uint32_t mask, const uint64_t *addr, uint32_t bytes)
{
	struct proven_touch *t = &r->touch[site];
	struct proven_array *a = &r->array[r->proven.site[site].extent];
	bool is_made = true;

	if (__atomic_load_n(&t->row, __ATOMIC_ACQUIRE))
		return true;
	pthread_mutex_lock(&r->lock);
	if (!t->row) {
		t->array = r->proven.site[site].extent;
		is_made = make_rows(a, t, acc, pc, mask, addr, bytes);
	}
	pthread_mutex_unlock(&r->lock);
	return is_made;
}

/* Of the threads that access an element the least is kept: whoever comes first. */
static void put_thread(uint32_t *at, uint32_t thread, bool is_beside)
{
	uint32_t now = __atomic_load_n(at, __ATOMIC_RELAXED), to = UINT32_MAX - thread;

	if (!is_beside) {
		*at = now < to ? to : now;
		return;
	}
	while (now < to &&
	       !__atomic_compare_exchange_n(at, &now, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* By element; NULL: there is no memory for it. */
static uint32_t *threads_make(struct cpu_proven_run *r, const struct proven_array *a,
			      struct proven_touch *t)
{
	uint32_t *all = __atomic_load_n(&t->thread, __ATOMIC_ACQUIRE);

	if (all)
		return all;
	pthread_mutex_lock(&r->lock);
	all = t->thread;
	if (!all && bytes_make(&t->done, &a->extent)) {
		all = calloc(elements_of(a, t), sizeof(*all));
		__atomic_store_n(&t->thread, all, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&r->lock);
	return all;
}

/* Notes elements side by side, of threads from that one on. False: there is no memory for it. */
static bool note_elements(struct cpu_proven_run *r, struct proven_array *a, struct proven_touch *t,
			  uint64_t at, uint32_t n, uint32_t thread, bool is_beside)
{
	uint32_t *all = threads_make(r, a, t);
	uint64_t element = proven_element(a, t, at);

	if (!all)
		return false;
	if (t->is_write)
		save(a, at, (uint64_t)n << t->shift, is_beside);
	set(&t->done, at, (uint64_t)n << t->shift, is_beside);
	for (uint32_t l = 0; l < n; l++)
		put_thread(&all[element + l], thread + l, is_beside);
	return true;
}

/* The same of a row's. False: it is none, nothing was noted. */
static inline bool note_row(struct proven_array *a, struct proven_touch *t, uint64_t at,
			    uint32_t thread, bool is_beside)
{
	unsigned lane;
	uint32_t *row = proven_row(t, proven_element(a, t, at), &lane);

	if (lane)
		return false;
	/* Often an instruction has been there, by threads that aren't after these. */
	if (__atomic_load_n(row, __ATOMIC_RELAXED) >= UINT32_MAX - thread)
		return true;
	if (t->is_write)
		save(a, at, 1ull << (t->shift + t->wide), is_beside);
	uint64_t i = (uint64_t)(row - t->row);
	move_ends(&t->row_lo, &t->row_hi, i, i, rows_of(a, t));
	put_thread(row, thread, is_beside);
	return true;
}

/* The number of the warp's first thread in the launch. */
static uint32_t thread_of(const struct cpu_proven_run *r, const struct cpu_warp *w)
{
	uint32_t n = events_actor(w);

	if (!r->has_judges)
		return n;
	n -= w->cta->events->actor;
	return (n >> r->stride) * r->block_threads + (n & ((1u << r->stride) - 1));
}

/* Lanes that lie anyhow. False: there is no memory for it. */
static bool note_lanes(struct cpu_warp *w, struct proven_array *a, struct proven_touch *t,
		       uint32_t mask, const uint64_t *addr, uint32_t thread)
{
	uint64_t first = 0, bytes = 1ull << t->shift;
	uint32_t n = 0, from = 0; /* lanes side by side from `from` on */

	CPU_EACH_LANE (l, mask) {
		if (n && l == from + n && addr[l] == first + n * bytes) {
			n++;
			continue;
		}
		/* One element by many lanes has the first one's thread. */
		if (n == 1 && addr[l] == first)
			continue;
		if (n && !note_elements(w->grid->proven, a, t, first - a->extent.base, n,
					thread + from, w->worker->is_beside))
			return false;
		first = addr[l];
		from = l;
		n = 1;
	}
	return note_elements(w->grid->proven, a, t, first - a->extent.base, n, thread + from,
			     w->worker->is_beside);
}

/* False: there is no memory for it. */
static bool note(struct cpu_warp *w, uint32_t pc, uint32_t site, const struct cpu_acc *acc,
		 uint32_t mask, const uint64_t *addr, uint32_t bytes)
{
	struct cpu_proven_run *r = w->grid->proven;
	struct proven_touch *t = &r->touch[site];
	struct proven_array *a = &r->array[r->proven.site[site].extent];
	uint32_t thread = thread_of(r, w), per;
	uint64_t base = a->extent.base;

	if (!touch_make(r, site, acc, pc, mask, addr, bytes))
		return false;
	if (width_of(addr, mask, bytes) < t->wide)
		return note_lanes(w, a, t, mask, addr, thread);
	per = 1u << t->wide;
	for (uint32_t l = 0; l < CPU_WARP; l += per)
		if (!note_row(a, t, addr[l] - base, thread + l, w->worker->is_beside) &&
		    !note_elements(r, a, t, addr[l] - base, per, thread + l, w->worker->is_beside))
			return false;
	return true;
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

bool cpu_proven_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes)
{
	struct cpu_proven_run *r = w->grid->proven;
	uint32_t pc = (uint32_t)(in - w->cur->func->code);

	if (!mask)
		return true;
	struct cpu_span s = cpu_span_of(addr, mask);
	/* Generic addresses of shared and local memory: the proof is about them, too. */
	if (acc->space == PTX_SPACE_GENERIC && s.lo >= CPU_WIN_SHARED &&
	    s.hi < CPU_WIN_SHARED + CPU_WIN_SIZE + CPU_WIN_SIZE)
		return true;
	if (r->has_left || w->cur->func != r->proven.kernel->func || !are_there(w->grid->m, r))
		return leave(w->grid->op);
	/* An element that isn't at a multiple of its bytes is a fault; the other run has it. */
	CPU_EACH_LANE (l, mask) {
		if (addr[l] & (bytes - 1))
			return leave(w->grid->op);
	}
	uint32_t site = site_of(r, pc, s.lo, s.hi + bytes);
	if (site == r->proven.nsites || !note(w, pc, site, acc, mask, addr, bytes))
		return leave(w->grid->op);
	if (r->has_judges && w->worker->touch)
		cpu_touch_lanes(w->worker->touch, w, mask, addr, bytes,
				acc->kind == CPU_ACC_STORE    ? TOUCH_WRITE
				: acc->kind == CPU_ACC_ATOMIC ? TOUCH_UPDATE
							      : TOUCH_READ);
	return true;
}

bool cpu_proven_row(struct cpu_warp *w, const struct cpu_inst *in, uint64_t host, uint32_t bytes)
{
	struct cpu_proven_run *r = w->grid->proven;
	const struct cpu_proven *p = &r->proven;
	uint64_t n = (uint64_t)bytes * CPU_WARP, pc = (uint64_t)(in - w->cur->func->code);

	if (r->has_left || r->has_judges || w->cur->func != p->kernel->func ||
	    !are_there(w->grid->m, r) || host & (bytes - 1))
		return false;
	for (uint32_t i = r->first[pc]; i < p->nsites && p->site[i].nth == r->nth[pc]; i++) {
		struct proven_array *a = &r->array[p->site[i].extent];
		struct proven_touch *t = &r->touch[i];
		uint64_t at = host - a->base;
		if (at < a->extent.bytes && n <= a->extent.bytes - at)
			return __atomic_load_n(&t->row, __ATOMIC_ACQUIRE) && t->wide == 5 &&
			       note_row(a, t, at, thread_of(r, w), w->worker->is_beside);
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
		if (r->array[i].is_read_only && r->array[i].written.bits)
			return true;
	return r->has_left;
}

static void restore(struct proven_array *a)
{
	const struct proven_bytes *b = &a->written;
	uint8_t *now = (uint8_t *)(uintptr_t)a->base;

	for (uint64_t word = b->lo; b->bits && word < b->hi; word++) {
		uint64_t rest = b->bits[word], i = word * WORD;
		if (rest == UINT64_MAX)
			memcpy(now + i, a->old + i, WORD);
		else
			for (; rest; rest &= rest - 1) {
				uint64_t k = i + (unsigned)__builtin_ctzll(rest);
				now[k] = a->old[k];
			}
	}
}

static void restore_all(const struct cpu_op *op)
{
	struct cpu_proven_run *r = op->proven;

	for (uint32_t i = 0; i < r->proven.nextents; i++)
		if (is_there(op->m, &r->array[i]))
			restore(&r->array[i]);
}

void cpu_proven_restart(struct cpu_op *op)
{
	/* touch.c has restored what several workers have written. */
	if (!op->proven->has_judges)
		restore_all(op);
	atomic_store(&op->proven->has_left, false);
	forget(op->proven);
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
