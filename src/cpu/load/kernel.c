/*
 * kernel.c - a module's kernels: what the launcher must know, and their code.
 *
 * A kernel and all functions that it can call are decoded at its first launch,
 * since modules contain hundreds of kernels of which a program starts a few. All functions that can
 * be called share one layout of frames, as they can run side by side at any depth; a kernel, alone
 * at depth 0, has its own. One lock serves all modules: decoding marks statements and may add forms
 * to the parsed module, which several devices share.
 */
#include <pthread.h>
#include <string.h>

#include "cpu/jit.h"
#include "cpu/load/load.h"
#include "flow/flow.h"

#define REGS_FILE      65536u
#define REGS_RESERVE   8u    /* addresses and temporaries that ptxas adds, roughly */
#define SHARED_RESERVE 1024u /* of the system, per block */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- reach ------------------------------------------------------------------------- */

void load_each_reached(struct cpu_module *mod, struct load_func *lf,
		       void (*fn)(struct load_func *lf, void *arg), void *arg)
{
	BASE_VEC(struct load_func *) stack = {0};
	uint32_t stamp = ++mod->stamp;
	bool has_pointers = false;

	lf->stamp = stamp;
	base_vec_push(&stack, lf);
	while (stack.n) {
		struct load_func *at = stack.v[--stack.n];
		fn(at, arg);
		for (uint32_t i = 0; i < at->ncallees; i++) {
			if (at->callees[i]->stamp == stamp)
				continue;
			at->callees[i]->stamp = stamp;
			base_vec_push(&stack, at->callees[i]);
		}
		for (size_t i = 0; at->calls_pointer && !has_pointers && i < mod->funcs.n; i++) {
			struct load_func *p = mod->funcs.v[i];
			if (!p->has_pointer || p->stamp == stamp)
				continue;
			p->stamp = stamp;
			base_vec_push(&stack, p);
		}
		has_pointers |= at->calls_pointer;
	}
	base_vec_free(&stack);
}

/* ---- the table ------------------------------------------------------------------------ */

static void place_params(struct cpu_module *mod, struct cpu_kernel *k, const struct ptx_func *f)
{
	uint32_t i = 0, at = 0;

	k->param_offset = BASE_NEWN(&mod->arena, uint32_t, f->nparams + 1u);
	k->param_bytes = BASE_NEWN(&mod->arena, uint32_t, f->nparams + 1u);
	for (const struct ptx_param *p = f->params; p; p = p->next, i++) {
		at = LOAD_ALIGN(at, load_param_align(p));
		k->param_offset[i] = at;
		k->param_bytes[i] = (uint32_t)p->bytes;
		at += (uint32_t)p->bytes;
	}
	k->nparam_bytes = at;
}

static void fill_info(struct cpu_kernel *k, const struct load_func *lf)
{
	const struct ptx_func *f = lf->f.ptx;
	const uint32_t *dims = f->reqntid[0] ? f->reqntid : f->maxntid;
	uint64_t threads = (uint64_t)dims[0] * dims[1] * dims[2];
	uint32_t v[3];

	k->info.name = lf->f.name;
	k->info.local = lf->f.local;
	k->info.max_threads = threads && threads < 1024 ? (uint32_t)threads : 1024u;
	memcpy(k->info.reqntid, f->reqntid, sizeof(k->info.reqntid));
	if (ptx_func_attr(f, "reqnctapercluster", v))
		memcpy(k->info.cluster, v, sizeof(k->info.cluster));
	k->info.nparams = f->nparams;
	k->info.is_instrumented = lf->is_instrumented;
}

static void add_kernel(struct cpu_module *mod, struct load_func *lf)
{
	struct cpu_kernel *k = BASE_NEW(&mod->arena, struct cpu_kernel);
	struct load_name *nm;

	k->mod = mod;
	k->func = &lf->f;
	place_params(mod, k, lf->f.ptx);
	fill_info(k, lf);
	base_vec_push(&mod->kernels, k);
	HASH_FIND_STR(mod->kernel_names, lf->f.name, nm);
	if (nm)
		return; /* static kernels of one name: the first */
	nm = BASE_NEW(&mod->arena, struct load_name);
	nm->text = (struct ptx_str){lf->f.name, (uint32_t)strlen(lf->f.name)};
	nm->kernel = k;
	HASH_ADD_KEYPTR(hh, mod->kernel_names, nm->text.p, nm->text.n, nm);
}

void load_make_kernels(struct cpu_module *mod)
{
	for (size_t i = 0; i < mod->funcs.n; i++) {
		struct load_func *lf = mod->funcs.v[i];
		struct load_name *nm = load_find(mod, lf->part, lf->f.ptx->name);
		if (lf->f.ptx->is_entry && nm && nm->func == lf)
			add_kernel(mod, lf);
	}
}

/* ---- code ------------------------------------------------------------------------------- */

static void widen(struct cpu_layout *l, const struct load_func *lf)
{
	for (int c = 0; c < CPU_CLASSES; c++)
		if (lf->slots->count[c] > l->count[c])
			l->count[c] = lf->slots->count[c];
	if (lf->area > l->param)
		l->param = lf->area;
}

static void need_device_layout(struct cpu_module *mod)
{
	if (mod->has_device_layout)
		return;
	mod->has_device_layout = true;
	for (size_t i = 0; i < mod->funcs.n; i++) {
		struct load_func *lf = mod->funcs.v[i];
		if (lf->f.ptx->is_entry)
			continue;
		load_need_slots(lf);
		widen(&mod->device_layout, lf);
	}
	load_finish_layout(&mod->device_layout);
}

/* The slots that a new warp, or a call, must find empty. */
static void list_unset(struct base_arena *arena, struct load_func *lf, const struct cpu_layout *l)
{
	const struct cpu_slots *sl = lf->slots;

	lf->f.unset = base_alloc(arena, sizeof(*lf->f.unset) * (sl->nfirst + 1u));
	for (uint32_t i = 0; i < sl->nfirst; i++) {
		uint32_t r = sl->first[i], bytes = cpu_class_bytes[sl->cls[r]];
		lf->f.unset[i][0] = l->start[sl->cls[r]] + sl->slot[r] * bytes;
		lf->f.unset[i][1] = bytes;
	}
	lf->f.nunset = sl->nfirst;
}

static void lay_out_kernel(struct cpu_module *mod, struct load_func *lf)
{
	struct cpu_layout *l = BASE_NEW(&mod->arena, struct cpu_layout);
	const struct cpu_layout *dev = &mod->device_layout;

	load_need_slots(lf);
	widen(l, lf);
	load_finish_layout(l);
	list_unset(&mod->arena, lf, l);
	if (lf->ncallees || lf->calls_pointer) {
		need_device_layout(mod);
		l->frame = dev->frame > l->frame ? dev->frame : l->frame;
		l->param = dev->param > l->param ? dev->param : l->param;
	}
	lf->f.layout = l;
}

static void make_ready(struct load_func *lf, void *arg)
{
	struct cpu_module *mod = lf->f.mod;

	(void)arg;
	if (lf->is_ready || lf->why) /* a call of one that can't run is a fault */
		return;
	if (!lf->f.layout && lf->f.ptx->is_entry) {
		lay_out_kernel(mod, lf);
	} else if (!lf->f.layout) {
		need_device_layout(mod); /* the kernel itself may have been refused */
		lf->f.layout = &mod->device_layout;
		list_unset(&mod->arena, lf, lf->f.layout);
	}
	cpu_decode(&lf->f, &mod->arena, NULL);
	cpu_jit_prepare(&lf->f, mod->m->opt.jit);
	lf->is_ready = true;
}

/* ======================================================================== */

/* Functions that are only called by address are left out: a kernel that never calls them must not
 * be refused. */
static struct load_func *find_refused(struct cpu_module *mod, struct load_func *lf)
{
	BASE_VEC(struct load_func *) stack = {0};
	struct load_func *found = NULL;
	uint32_t stamp = ++mod->stamp;

	lf->stamp = stamp;
	base_vec_push(&stack, lf);
	while (stack.n && !found) {
		struct load_func *at = stack.v[--stack.n];
		found = at->why ? at : NULL;
		for (uint32_t i = 0; i < at->ncallees; i++) {
			if (at->callees[i]->stamp == stamp)
				continue;
			at->callees[i]->stamp = stamp;
			base_vec_push(&stack, at->callees[i]);
		}
	}
	base_vec_free(&stack);
	return found;
}

/*
 * Code for a newer device may have instructions that this one lacks: such a function is refused
 * before it runs, others of its module aren't. (Code for this device and older ones faults at the
 * instruction, which it may never reach.)
 */
static void vet(struct load_func *lf, void *arg)
{
	struct cpu_module *mod = arg;

	if (lf->is_vetted || lf->part->m->sm <= CPU_SM_VERSION)
		return;
	lf->is_vetted = true;
	for (uint32_t pc = 0; pc < lf->f.ninsts && !lf->why; pc++) {
		const struct ptx_stmt *s = lf->f.stmts[pc];
		if (s && s->kind == PTX_STMT_INST && cpu_dec_is_unsupported(&lf->f.code[pc]))
			load_refuse(mod, lf, s->line, s->col,
				    "found %.*s, expected an instruction that the CPU device has",
				    (int)s->form->text.n, s->form->text.p);
	}
}

const char *cpu_kernel_refused(struct cpu_kernel *k, bool *is_incomplete)
{
	struct load_func *lf = (struct load_func *)k->func, *bad;

	if (is_incomplete)
		*is_incomplete = false;
	if (lf->part->m->sm > CPU_SM_VERSION && !lf->is_vetted) {
		cpu_kernel_ready(k);
		pthread_mutex_lock(&lock);
		load_each_reached(k->mod, lf, vet, k->mod);
		pthread_mutex_unlock(&lock);
	}
	if (!k->mod->has_refused)
		return NULL;
	pthread_mutex_lock(&lock);
	bad = find_refused(k->mod, (struct load_func *)k->func);
	pthread_mutex_unlock(&lock);
	if (bad && is_incomplete)
		*is_incomplete = bad->is_incomplete;
	return bad ? bad->why : NULL;
}

static void note_heap(struct load_func *lf, void *arg)
{
	*(bool *)arg |= lf->calls_heap;
}

bool cpu_kernel_uses_heap(struct cpu_kernel *k)
{
	pthread_mutex_lock(&lock);
	if (!k->is_heap_known)
		load_each_reached(k->mod, (struct load_func *)k->func, note_heap, &k->uses_heap);
	k->is_heap_known = true;
	pthread_mutex_unlock(&lock);
	return k->uses_heap;
}

const struct cpu_traits *cpu_kernel_traits(struct cpu_kernel *k)
{
	pthread_mutex_lock(&lock);
	if (!k->has_traits)
		load_find_traits(k->mod, (struct load_func *)k->func, &k->traits);
	k->has_traits = true;
	pthread_mutex_unlock(&lock);
	return &k->traits;
}

static void find_runs(struct load_func *lf, void *arg)
{
	(void)arg;
	if (lf->is_ready && lf->f.jit_wait)
		cpu_jit_now(&lf->f, lf->f.mod->m->opt.jit);
}

void cpu_kernel_is_hot(struct cpu_kernel *k)
{
	pthread_mutex_lock(&lock);
	load_each_reached(k->mod, (struct load_func *)k->func, find_runs, NULL);
	pthread_mutex_unlock(&lock);
}

bool cpu_kernel_ready(struct cpu_kernel *k)
{
	struct load_func *lf = (struct load_func *)k->func;

	pthread_mutex_lock(&lock);
	if (!lf->is_ready)
		load_each_reached(k->mod, lf, make_ready, NULL);
	pthread_mutex_unlock(&lock);
	return true;
}

struct cpu_kernel *cpu_module_kernel(struct cpu_module *mod, const char *name)
{
	struct load_name *nm;

	HASH_FIND_STR(mod->kernel_names, name, nm);
	return nm ? nm->kernel : NULL;
}

/* The assembler would spill what does not fit; an estimate must not refuse a block that the bounds
 * of the kernel allow. */
static uint32_t estimate_regs(const struct load_func *lf, uint32_t max_threads)
{
	uint32_t n = LOAD_ALIGN(lf->slots->max_words + REGS_RESERVE, 8u), max = lf->f.ptx->maxnreg;
	uint32_t fit = (REGS_FILE / (max_threads ? max_threads : 1024u)) & ~7u;

	n = n < 16 ? 16 : n > 255 ? 255 : n;
	n = n > fit ? fit : n;
	return max && n > max ? max : n;
}

struct cpu_module *cpu_kernel_module(const struct cpu_kernel *k)
{
	return k->mod;
}

void cpu_kernel_get_info(const struct cpu_kernel *k, struct cpu_kernel_info *out)
{
	struct load_func *lf = (struct load_func *)k->func;

	*out = k->info;
	out->consts = (uint32_t)k->mod->const_bytes;
	pthread_mutex_lock(&lock);
	load_need_slots(lf);
	out->regs = estimate_regs(lf, k->info.max_threads);
	pthread_mutex_unlock(&lock);
}

bool cpu_kernel_param(const struct cpu_kernel *k, uint32_t i, uint32_t *offset, uint32_t *bytes)
{
	if (i >= k->info.nparams)
		return false;
	*offset = k->param_offset[i];
	*bytes = k->param_bytes[i];
	return true;
}

void cpu_load_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	cpu_jit_forked();
}

uint32_t cpu_kernel_param_bytes(const struct cpu_kernel *k)
{
	return k->nparam_bytes;
}

uint32_t cpu_kernel_occupancy(const struct cpu_kernel *k, uint32_t threads, uint64_t shared_dyn)
{
	struct cpu_kernel_info info;
	uint32_t warps = (threads + CPU_WARP - 1) / CPU_WARP, n = CPU_SM_CTAS;

	cpu_kernel_get_info(k, &info);
	uint64_t shared = info.shared_static + shared_dyn;
	if (!threads || threads > 1024 || shared > CPU_SHARED_OPTIN)
		return 0;
	uint32_t by_threads = CPU_SM_THREADS / (warps * CPU_WARP);
	uint32_t by_regs = REGS_FILE / (LOAD_ALIGN(info.regs * CPU_WARP, 256u) * warps);
	uint32_t by_shared = (uint32_t)(CPU_SHARED_SM / (shared + SHARED_RESERVE));

	if (!by_regs) /* an estimate must not refuse a launch */
		by_regs = 1;
	n = by_threads < n ? by_threads : n;
	n = by_regs < n ? by_regs : n;
	return by_shared < n ? by_shared : n;
}
