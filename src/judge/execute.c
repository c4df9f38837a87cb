/*
 * execute.c - a trial: a capsule's launch on a machine of this process.
 *
 * The machine's own memory is elsewhere (cpu_options.is_guest), so the launch's lies at its
 * addresses: pointers in it, in parameters and in variables mean what they meant. Pages are copied
 * from the capsule when the launch first uses them. One that it reads and the capsule doesn't have
 * ends the trial: whatever stood there, it would be another program's execution.
 */
#include "base/clock.h"
#include "base/table.h"
#include "judge/internal.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define SLICE_MS 5	      /* between looks at whether it is to stop */
#define HEAP	 (1ull << 36) /* for malloc in kernels: the program may have raised it */

/* Bytes whose content has come from the source. */
struct fetched {
	uint64_t addr, bytes;
	bool is_there; /* else it can't be had */
	UT_hash_handle hh;
};

struct trial {
	const struct judge_trial *t;
	const struct judge_capsule *c; /* of the launch that is executed now */
	struct judge_outcome *out;
	struct judge_mapped mapped;
	struct base_arena arena;
	struct cpu_machine *m;
	struct fetched *fetched;
	cpu_pair_fn *fn; /* for pairs, of which there were so many */
	void *arg;
	uint64_t pairs;
	bool has_gone; /* memory that it reached, before it was asked for */
};

__attribute__((format(printf, 3, 4))) static void say(struct trial *x, enum judge_end end,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->out->why, sizeof(x->out->why), fmt, ap);
	va_end(ap);
	x->out->end = end;
}

/* ---- memory ------------------------------------------------------------------------- */

/* The first page that ends above addr. */
static size_t page_above(const struct judge_capsule *c, uint64_t addr)
{
	size_t lo = 0, hi = c->pages.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->pages.v[mid].addr + c->pages.v[mid].bytes <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has_page(const struct judge_capsule *c, uint64_t addr, uint64_t bytes)
{
	size_t i = page_above(c, addr);

	return i < c->pages.n && c->pages.v[i].addr == addr && c->pages.v[i].bytes >= bytes;
}

/* Pages of the machine are those of the capsule, cut at the ends of allocations. */
static bool touch(void *arg, uint64_t addr, uint64_t bytes, bool is_read)
{
	const struct trial *x = arg;
	uint64_t first, own;

	/* What this machine has itself: a cooperative grid's words, memory of malloc. */
	cpu_mem_region(x->m, &first, &own);
	return !is_read || addr - first < own || has_page(x->c, addr, bytes) ||
	       (x->t->is_early && has_page(x->t->second, addr, bytes));
}

/* The same with a source: each part of a page comes once. */
static bool fetch(void *arg, uint64_t addr, uint64_t bytes, bool is_read)
{
	struct trial *x = arg;
	const struct judge_source *live = x->t->live;
	uint64_t first, own;
	struct fetched *f;

	(void)is_read;
	cpu_mem_region(x->m, &first, &own);
	if (addr - first < own)
		return true;
	HASH_FIND(hh, x->fetched, &addr, sizeof(addr), f);
	if (f)
		return f->is_there;
	f = BASE_NEW(&x->arena, struct fetched);
	f->addr = addr;
	f->bytes = bytes;
	f->is_there = live->page(live->arg, addr, bytes, (void *)(uintptr_t)addr);
	HASH_ADD(hh, x->fetched, addr, sizeof(addr), f);
	return f->is_there;
}

/* The source's allocation at addr becomes memory of this machine. */
static bool add_memory(void *arg, uint64_t addr)
{
	struct trial *x = arg;
	const struct judge_source *live = x->t->live;
	struct cpu_mem_info m = {0};
	uint64_t clash;

	x->has_gone |= live->memory(live->arg, addr, &m) && !m.bytes;
	if (addr - m.base >= m.bytes)
		return false;
	return judge_map(&x->mapped, m.base, m.bytes, &clash) && cpu_mem_place(x->m, &m);
}

static bool place_textures(struct trial *x, const struct judge_capsule *c)
{
	for (size_t i = 0; i < c->textures.n; i++)
		if (!cpu_texture_place(x->m, c->textures.v[i].handle, &c->textures.v[i].t))
			return false;
	return true;
}

/* All that the capsule holds is there from the start: no system page is touched for the rest. */
static bool place_memory(struct trial *x)
{
	const struct judge_capsule *c = x->c;
	uint64_t clash;

	for (size_t i = 0; i < c->memory.n; i++) {
		struct cpu_mem_info m = c->memory.v[i];
		m.device = 0;
		if (!judge_map(&x->mapped, m.base, m.bytes, &clash)) {
			say(x, JUDGE_REFUSED,
			    "its memory at 0x%llx is in use in this process; another run may have "
			    "room there",
			    (unsigned long long)clash);
			return false;
		}
		if (!cpu_mem_place(x->m, &m)) {
			say(x, JUDGE_REFUSED, "its memory at 0x%llx is the CPU device's own here",
			    (unsigned long long)m.base);
			return false;
		}
	}
	for (size_t i = 0; i < c->pages.n; i++)
		memcpy((void *)(uintptr_t)c->pages.v[i].addr, c->pages.v[i].data,
		       c->pages.v[i].bytes);
	if (!place_textures(x, c)) {
		say(x, JUDGE_REFUSED, "it has two textures of one number, or there is no memory");
		return false;
	}
	return true;
}

/* ---- its module --------------------------------------------------------------------- */

static const struct judge_place *place_of(const struct trial *x, unsigned part, const char *name,
					  unsigned nth, bool is_variable)
{
	for (size_t i = 0; i < x->c->places.n; i++) {
		const struct judge_place *p = &x->c->places.v[i];
		if (p->part == part && p->nth == nth && (p->bytes != 0) == is_variable &&
		    !strcmp(p->name, name))
			return p;
	}
	return NULL;
}

/* ... of the source, whose module has one text. */
static uint64_t live_place(struct trial *x, const char *name, unsigned nth, uint64_t bytes)
{
	const struct judge_source *live = x->t->live;
	uint64_t addr = live->place(live->arg, name, nth, bytes);
	struct cpu_mem_info info;

	/* Several variables may lie in one allocation. */
	if (addr && bytes && !cpu_mem_find(x->m, addr, &info) && !add_memory(x, addr))
		return 0;
	return addr;
}

static uint64_t variable(void *arg, unsigned part, const char *name, unsigned nth, uint64_t bytes)
{
	struct trial *x = arg;
	const struct judge_place *p = place_of(x, part, name, nth, true);

	if (x->t->live)
		return live_place(x, name, nth, bytes);
	return p && bytes <= p->bytes ? p->addr : 0;
}

static uint64_t function(void *arg, unsigned part, const char *name)
{
	struct trial *x = arg;
	const struct judge_place *p = place_of(x, part, name, 0, false);

	if (x->t->live)
		return live_place(x, name, 0, 0);
	return p ? p->addr : 0;
}

static struct cpu_module *load(struct trial *x)
{
	const struct cpu_places places = {.variable = variable, .function = function, .arg = x};
	const struct judge_capsule *c = x->c;
	struct base_sink sink = {0};
	struct cpu_module *mod = NULL;
	struct ptx_module **parts = BASE_NEWN(&x->arena, struct ptx_module *, c->texts.n);
	bool is_good = true;

	for (size_t i = 0; i < c->texts.n && is_good; i++) {
		const struct judge_text *t = &c->texts.v[i];
		parts[i] = t->parsed;
		if (parts[i])
			continue;
		parts[i] = ptx_parse(&x->arena, t->file, t->text, t->bytes, &sink);
		is_good = parts[i] && !sink.errors && !ptx_verify(parts[i], &sink);
	}
	if (is_good)
		mod = cpu_module_load_at(x->m, 0, parts, (unsigned)c->texts.n, &places, &sink);
	if (!mod)
		say(x, JUDGE_REFUSED, "its PTX can't be loaded: %s",
		    sink.diags.n ? sink.diags.v[0].text : "no reason is known");
	base_sink_free(&sink);
	return mod;
}

/* ---- its launch --------------------------------------------------------------------- */

static void no_print(struct cpu_machine *m, bool is_error, const char *text, size_t n)
{
	(void)m, (void)is_error, (void)text, (void)n;
}

/* Which units of the grid run. */
static void choose(struct trial *x, const struct cpu_kernel *k, struct cpu_launch *l,
		   uint64_t wanted)
{
	const struct judge_capsule *c = x->c;
	uint64_t units = 1, blocks = 1, want;
	struct cpu_kernel_info info;

	cpu_kernel_get_info(k, &info);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t own = l->cluster[0] ? l->cluster[i] : info.cluster[i];
		units *= l->grid[i] / (own ? own : 1);
		blocks *= own ? own : 1;
	}
	x->out->of = units * blocks;
	l->chosen = c->chosen;
	l->nchosen = c->nchosen;
	uint64_t n = c->chosen ? c->nchosen : units;
	want = wanted ? (wanted + blocks - 1) / blocks : n;
	if (want < n) {
		uint64_t *v = BASE_NEWN(&x->arena, uint64_t, want);
		n = race_judge_pick(n, want, v);
		for (uint64_t i = 0; c->chosen && i < n; i++)
			v[i] = c->chosen[v[i]];
		l->chosen = v;
		l->nchosen = n;
	}
	x->out->blocks = n * blocks;
}

/* after: it is a programmatic launch after that one; NULL: it isn't. */
static struct cpu_op *submit(struct trial *x, struct cpu_kernel *k, uint64_t wanted,
			     uint32_t stream, struct cpu_op *after)
{
	const struct judge_capsule *c = x->c;
	struct cpu_work w = {.kind = CPU_WORK_KERNEL, .stream = stream};
	struct cpu_fault fault = {0};

	if (cpu_kernel_param_bytes(k) != c->nparam_bytes) {
		say(x, JUDGE_REFUSED, "its parameters are not those of its kernel");
		return NULL;
	}
	w.launch = (struct cpu_launch){.kernel = k,
				       .shared_dyn = c->shared,
				       .params = c->params,
				       .is_cooperative = (c->flags & JUDGE_COOPERATIVE) != 0,
				       .is_programmatic = after != NULL};
	memcpy(w.launch.grid, c->grid, sizeof(c->grid));
	memcpy(w.launch.block, c->block, sizeof(c->block));
	memcpy(w.launch.cluster, c->cluster, sizeof(c->cluster));
	choose(x, k, &w.launch, wanted);
	struct cpu_op *op = cpu_submit(x->m, &w, &after, after ? 1 : 0, &fault);
	if (!op)
		say(x, JUDGE_REFUSED, "%s", fault.text);
	return op;
}

/* Until its end, its time, or a signal. */
static void wait_until_end(const struct trial *x, struct cpu_op *op)
{
	const struct judge_trial *t = x->t;
	uint64_t began = base_now_ns() / 1000000, ran = 0;

	while (!cpu_op_wait_for(op, SLICE_MS)) {
		ran = base_now_ns() / 1000000 - began;
		if ((t->limit_ms && ran >= t->limit_ms) ||
		    (t->is_stopped && __atomic_load_n(t->is_stopped, __ATOMIC_RELAXED))) {
			cpu_op_stop(op);
			break;
		}
	}
	cpu_op_wait(op);
}

static void wait_for(struct trial *x, struct cpu_op *op)
{
	static const enum judge_end ends[] = {[CPU_END_NOT] = JUDGE_REFUSED,
					      [CPU_END_WHOLE] = JUDGE_WHOLE,
					      [CPU_END_FAULT] = JUDGE_FAULT,
					      [CPU_END_STOPPED] = JUDGE_LATE,
					      [CPU_END_WAITS] = JUDGE_WAITS};
	struct cpu_fault fault;

	wait_until_end(x, op);
	x->out->end = ends[cpu_op_how(op)];
	cpu_fault_get(x->m, 0, &fault);
	if (x->out->end == JUDGE_FAULT && fault.kind == CPU_FAULT_UNKNOWN)
		x->out->end = JUDGE_UNKNOWN;
	if (x->out->end == JUDGE_FAULT && fault.kind == CPU_FAULT_UNSUPPORTED)
		x->out->end = JUDGE_REFUSED;
	if (x->out->end == JUDGE_FAULT && x->has_gone)
		say(x, JUDGE_UNKNOWN, "memory that it reaches was freed before it was asked for");
	else if (x->out->end == JUDGE_WAITS)
		say(x, JUDGE_WAITS, "%s", cpu_op_why(op));
	else if (x->out->end == JUDGE_LATE)
		say(x, JUDGE_LATE, "the time was over");
	else if (x->out->end != JUDGE_WHOLE)
		say(x, x->out->end, "%s", fault.text);
	cpu_op_put(op);
}

static void set_pager(struct trial *x)
{
	const struct judge_source *live = x->t->live;
	const struct cpu_pager pager = {.page = live ? live->page_bytes : x->c->page,
					.touch = live ? fetch : touch,
					.missing = live ? add_memory : NULL,
					.arg = x};

	cpu_set_pager(x->m, &pager);
}

/* Executes x->c, of which the module is loaded. False: it didn't get to its end, or its time's. */
static bool launch(struct trial *x, struct cpu_module *mod, uint64_t wanted, uint32_t stream)
{
	struct cpu_kernel *k = cpu_module_kernel(mod, x->c->kernel);

	if (!k) {
		say(x, JUDGE_REFUSED, "its PTX has no kernel %s", x->c->kernel);
		return false;
	}
	set_pager(x);
	struct cpu_op *op = submit(x, k, wanted, stream, NULL);
	if (op)
		wait_for(x, op);
	return op && (x->out->end == JUDGE_WHOLE || x->out->end == JUDGE_WAITS ||
		      x->out->end == JUDGE_LATE);
}

/* ---- what nothing orders with it ------------------------------------------------------ */

struct beside {
	struct trial *x;
	struct cpu_module *mod;
};

/* The other launch's memory, as it was before that: some of it is there already. is_rest: only what
 * isn't. */
static bool replace_memory(struct trial *x, const struct judge_capsule *c, bool is_rest)
{
	struct cpu_mem_info there;
	uint64_t clash;

	for (size_t i = 0; i < c->memory.n; i++) {
		struct cpu_mem_info m = c->memory.v[i];
		m.device = 0;
		if (cpu_mem_find(x->m, m.base, &there)) {
			if (there.base != m.base || there.bytes != m.bytes)
				return false;
			continue;
		}
		if (!judge_map(&x->mapped, m.base, m.bytes, &clash) || !cpu_mem_place(x->m, &m))
			return false;
	}
	for (size_t i = 0; i < c->pages.n; i++)
		if (!is_rest || !has_page(x->c, c->pages.v[i].addr, c->pages.v[i].bytes))
			memcpy((void *)(uintptr_t)c->pages.v[i].addr, c->pages.v[i].data,
			       c->pages.v[i].bytes);
	return place_textures(x, c);
}

static bool has_same_text(const struct judge_capsule *a, const struct judge_capsule *b)
{
	return a->texts.n == b->texts.n && a->texts.v[0].text == b->texts.v[0].text;
}

static void do_nothing(void *arg)
{
	(void)arg;
}

static void submit_work(struct trial *x, struct cpu_work *w)
{
	struct cpu_fault fault;

	struct cpu_op *op = cpu_submit(x->m, w, NULL, 0, &fault);
	if (!op)
		return;
	cpu_op_wait(op);
	cpu_op_put(op);
}

/* Of one side of a copy or set: the part of a row that lies in an allocation, or all rows, if all
 * of them do; *width: bytes of a row. False: none. */
static bool cut(const struct race_judge_operation *o, const struct race_judge_place *p,
		const struct cpu_mem_info *m, struct race_judge_place *out, uint64_t *width)
{
	uint64_t from = p->addr > m->base ? p->addr : m->base;
	uint64_t to = p->addr + race_judge_extent(o, p), end = m->base + m->bytes;
	bool is_whole = p->addr >= m->base && to <= end;

	to = to < end ? to : end;
	if (!p->addr || from >= to || (o->height * o->depth > 1 && !is_whole))
		return false;
	*out = (struct race_judge_place){.addr = from, .pitch = p->pitch, .slice = p->slice};
	*width = is_whole ? o->bytes : to - from;
	return true;
}

/* The other side is a buffer: what is in the bytes doesn't matter any more. is_write: they are the
 * destination. */
static void submit_range(struct trial *x, const struct race_judge_operation *o,
			 const struct cpu_mem_info *m, bool is_write, uint32_t stream)
{
	struct cpu_work w = {.kind = o->kind == RACE_JUDGE_SET ? CPU_WORK_FILL : CPU_WORK_COPY,
			     .stream = stream};
	struct race_judge_place there, buffer;
	uint64_t width;

	if (!cut(o, is_write ? &o->dst : &o->src, m, &there, &width))
		return;
	if (o->kind == RACE_JUDGE_SET) {
		w.fill = (struct cpu_fill){.dst = there.addr,
					   .pitch = there.pitch,
					   .slice = there.slice,
					   .width = width,
					   .height = o->height,
					   .depth = o->depth,
					   .size = 1};
		submit_work(x, &w);
		return;
	}
	buffer.pitch = width;
	buffer.slice = width * o->height;
	buffer.addr = (uint64_t)(uintptr_t)base_alloc(&x->arena, buffer.slice * o->depth);
	const struct race_judge_place *dst = is_write ? &there : &buffer;
	const struct race_judge_place *src = is_write ? &buffer : &there;
	w.copy = (struct cpu_copy){.dst = dst->addr,
				   .dst_pitch = dst->pitch,
				   .dst_slice = dst->slice,
				   .src = src->addr,
				   .src_pitch = src->pitch,
				   .src_slice = src->slice,
				   .width = width,
				   .height = o->height,
				   .depth = o->depth};
	submit_work(x, &w);
}

static void operate(struct trial *x, const struct race_judge_operation *o, uint32_t stream)
{
	struct cpu_work w = {.kind = CPU_WORK_HOST,
			     .stream = stream,
			     .host = {.fn = do_nothing},
			     .frees = o->dst.addr,
			     .free_bytes = o->bytes};

	if (o->kind == RACE_JUDGE_FREE) {
		submit_work(x, &w);
		return;
	}
	for (size_t i = 0; i < x->c->memory.n; i++) {
		submit_range(x, o, &x->c->memory.v[i], true, stream);
		if (o->kind == RACE_JUDGE_COPY)
			submit_range(x, o, &x->c->memory.v[i], false, stream);
	}
}

/* A thread: to the oracle another host thread, which knows nothing of what the first has waited
 * for. */
static void *run_beside(void *arg)
{
	const struct beside *b = arg;
	struct trial *x = b->x;
	struct cpu_module *mod = b->mod;
	const struct judge_capsule *first = x->c;

	if (x->t->operation) {
		operate(x, x->t->operation, x->t->second_stream);
		return NULL;
	}
	x->c = x->t->second;
	if (!replace_memory(x, x->c, false)) {
		say(x, JUDGE_REFUSED, "its memory isn't that of the other launch");
		return NULL;
	}
	if (!has_same_text(x->c, first))
		mod = load(x);
	if (mod)
		launch(x, mod, x->t->second_blocks, x->t->second_stream);
	return NULL;
}

/* The first launch, and the second, which may begin before its end. All of the first runs, so the
 * second has its memory from it; what the first never used is as it was. */
static void run_early(struct trial *x)
{
	const struct judge_capsule *first = x->c, *second = x->t->second;
	struct cpu_module *mod, *other;
	struct cpu_kernel *k, *l;

	if (!place_memory(x) || !replace_memory(x, second, true) || !(mod = load(x)))
		return;
	x->c = second;
	other = has_same_text(first, second) ? mod : load(x);
	k = cpu_module_kernel(mod, first->kernel);
	l = other ? cpu_module_kernel(other, second->kernel) : NULL;
	x->c = first;
	if (!k || !l)
		return;
	set_pager(x);
	struct cpu_op *one = submit(x, k, 0, x->t->stream, NULL);
	x->c = second;
	struct cpu_op *two = one ? submit(x, l, x->t->second_blocks, x->t->stream, one) : NULL;
	x->c = first;
	if (two)
		wait_for(x, two);
	if (one && x->out->end != JUDGE_WHOLE)
		cpu_op_stop(one);
	if (one) {
		cpu_op_wait(one);
		cpu_op_put(one);
	}
}

/* The launch, or what comes in its place. */
static bool run_first(struct trial *x, struct cpu_module **mod)
{
	if (!place_memory(x))
		return false;
	if (x->t->first) {
		operate(x, x->t->first, x->t->stream);
		x->out->end = JUDGE_WHOLE;
		return true;
	}
	*mod = load(x);
	return *mod && launch(x, *mod, x->t->blocks, x->t->stream);
}

static void run(struct trial *x)
{
	struct beside b = {.x = x};
	pthread_t t;

	if (x->t->is_early) {
		run_early(x);
		return;
	}
	if (!run_first(x, &b.mod))
		return;
	if ((x->t->second || x->t->operation) && pthread_create(&t, NULL, run_beside, &b) == 0)
		pthread_join(t, NULL);
}

static struct race_pair *count_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct trial *x = arg;

	x->pairs++;
	return x->fn(x->arg, pair, bytes);
}

/* Without a race a whole grid leaves what the launch has left. */
static void compare(const struct trial *x)
{
	if (!x->t->is_verified || x->out->end != JUDGE_WHOLE || x->out->blocks != x->out->of ||
	    x->pairs)
		return;
	for (const struct fetched *f = x->fetched; f; f = f->hh.next)
		if (f->is_there)
			judge_compare(x->t->live, f->addr, f->bytes, &x->out->compared);
}

void judge_execute(const struct judge_trial *t, cpu_pair_fn *fn, void *arg,
		   struct judge_outcome *out)
{
	const struct cpu_options opt = {.seed = t->seed,
					.threads = 1,
					.devices = 1,
					.sms = t->capsule->sms,
					.model = t->model,
					.jit = t->jit,
					.memory = 1ull << 36,
					.oracle = t->oracle,
					.is_host_apart =
						(t->second && !t->is_early) || t->operation,
					.is_guest = true};
	struct trial x = {.t = t, .c = t->capsule, .out = out, .fn = fn, .arg = arg};
	uint64_t start = base_now_ns();

	*out = (struct judge_outcome){.end = JUDGE_REFUSED};
	x.m = cpu_machine_new(&opt);
	if (!x.m) {
		say(&x, JUDGE_REFUSED, "there is no memory for a CPU device");
		return;
	}
	cpu_on_pair(x.m, count_pair, &x);
	cpu_set_printf(x.m, no_print);
	cpu_heap_set_limit(x.m, 0, HEAP);
	run(&x);
	compare(&x);
	cpu_get_stats(x.m, &out->stats);
	cpu_get_oracle_stats(x.m, &out->oracle);
	out->ns = base_now_ns() - start;
	/* (The process ends now: its memory is the system's to free.) */
}
