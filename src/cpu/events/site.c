/*
 * site.c - the instruction of an access, as words.
 *
 * A site stands for one instruction for as long as the machine lives: the oracle keeps it as an
 * identity, and a module may be unloaded before its race is found. Its words (file, line, PTX,
 * inlined calls) are made when a pair is reported, or at the latest when the module is unloaded.
 */
#include "cpu/load/load.h"
#include "cpu/repeat.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"
#include "race/record.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_MAX 32

/* The enumerators of flow and of reports agree. */
#define SAME_UPDATE(x)                                                                             \
	_Static_assert((int)FLOW_UPDATE_##x == (int)RACE_UPDATE_##x, "flow.h, pair.h")
SAME_UPDATE(NONE);
SAME_UPDATE(ADD);
SAME_UPDATE(MIN);
SAME_UPDATE(MAX);
SAME_UPDATE(AND);
SAME_UPDATE(OR);
SAME_UPDATE(XOR);
SAME_UPDATE(OTHER);
SAME_UPDATE(CHECK);

/* ---- words ---------------------------------------------------------------------------------- */

static const char *copy_str(struct cpu_events *x, struct ptx_str s)
{
	return base_strndup(&x->arena, s.p ? s.p : "", s.n);
}

static void fill_frames(struct cpu_events *x, struct cpu_site *s, const struct ptx_loc *l)
{
	struct race_inlined_site chain[INLINE_MAX];
	bool is_unsure = false;
	uint32_t n = 0;

	for (; l && l->in_line && n < INLINE_MAX; l = ptx_outer_loc(s->func->ptx, l, &is_unsure)) {
		chain[n++] = (struct race_inlined_site){
			.func = copy_str(x,
					 ptx_debug_string(s->func->part, l->func_sym, l->func_off)),
			.file = copy_str(x, ptx_file_name(s->func->part, l->in_file)),
			.line = l->in_line,
			.col = l->in_col | (is_unsure ? RACE_FRAME_UNSURE : 0)};
		is_unsure = false;
	}
	s->nframes = n;
	s->frames = base_alloc(&x->arena, (n ? n : 1) * sizeof(*chain));
	memcpy(s->frames, chain, n * sizeof(*chain));
}

static enum race_access access_of(const struct ptx_form *f)
{
	switch (f->op) {
	case PTX_OP_WGMMA_MMA_ASYNC:
	case PTX_OP_WGMMA_MMA_ASYNC_SP:
	case PTX_OP_TCGEN05_MMA:
	case PTX_OP_TCGEN05_MMA_SP:
	case PTX_OP_TCGEN05_MMA_WS:
	case PTX_OP_TCGEN05_MMA_WS_SP:
		return RACE_ACCESS_PRODUCT;
	case PTX_OP_TCGEN05_LD:
	case PTX_OP_TCGEN05_LD_RED:
		return RACE_ACCESS_LOAD;
	case PTX_OP_TCGEN05_ST:
	case PTX_OP_TCGEN05_DEALLOC:
		return RACE_ACCESS_STORE;
	default:
		break;
	}
	if (f->effects & PTX_EFF_ASYNC)
		return RACE_ACCESS_COPY;
	if (f->effects & (PTX_EFF_ATOMIC | PTX_EFF_BARRIER))
		return RACE_ACCESS_ATOMIC;
	if (f->effects & PTX_EFF_WRITE)
		return RACE_ACCESS_STORE;
	return ptx_form_has(f, PTX_MOD_NC) || f->op == PTX_OP_LDU ? RACE_ACCESS_NC_LOAD
								  : RACE_ACCESS_LOAD;
}

static void fill_text(struct cpu_events *x, struct cpu_site *s, const struct ptx_stmt *st)
{
	struct base_buf b = {0};
	size_t from = 0, n;

	ptx_print_stmt(s->func->ptx, st, &b);
	n = b.n;
	while (from < n && (b.p[from] == ' ' || b.p[from] == '\t'))
		from++;
	while (n > from && (b.p[n - 1] == '\n' || b.p[n - 1] == ' '))
		n--;
	s->text = base_strndup(&x->arena, n > from ? b.p + from : "", n - from);
	base_buf_free(&b);
}

/* A struct flow is built for each site that races, which is seldom. */
static uint8_t update_of(const struct cpu_func *f, const struct ptx_stmt *st)
{
	struct base_arena scratch = {0};
	enum flow_update u = flow_update_of(flow_build(&scratch, f->part, f->ptx), st);

	base_arena_free(&scratch);
	return (uint8_t)u;
}

void events_site_fill(struct cpu_events *x, struct cpu_site *s)
{
	if (s->is_ready)
		return;
	if (s->is_host_code) {
		events_host_fill(x, s);
		return;
	}
	const struct ptx_stmt *st = s->func->stmts[s->pc];
	s->is_ready = true;
	s->name = base_strdup(&x->arena, s->func->name);
	s->file = s->text = "";
	if (!st || st->kind != PTX_STMT_INST)
		return;
	s->ptx_line = st->line;
	s->access = (uint8_t)access_of(st->form);
	s->width = s->access == RACE_ACCESS_PRODUCT ? 0 : st->form->width;
	s->vec = st->form->vec;
	s->update = update_of(s->func, st);
	fill_text(x, s, st);
	const struct ptx_loc *loc = ptx_near_loc(st);
	if (!loc)
		return;
	s->is_near = loc != st->loc;
	s->file = copy_str(x, ptx_file_name(s->func->part, loc->file));
	s->line = loc->line;
	s->col = loc->col;
	fill_frames(x, s, loc);
}

/* ---- sites ----------------------------------------------------------------------------------- */

struct cpu_site *events_site_new(struct cpu_events *x, struct cpu_func *f, uint32_t pc)
{
	struct cpu_site *s = f->sites[pc];

	if (s)
		return s;
	s = BASE_NEW(&x->arena, struct cpu_site);
	s->func = f;
	s->pc = pc;
	f->sites[pc] = s;
	return s;
}

void events_sites_make(struct cpu_events *x, struct cpu_func *f)
{
	if (f->sites)
		return;
	f->sites = base_zalloc(&x->arena, f->ninsts * sizeof(struct cpu_site *));
	events_invented_find(x, f);
}

struct cpu_site *cpu_site_of(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_func *f = w->cur->func;
	struct cpu_events *x = cpu_events_of(w);
	uint32_t pc = (uint32_t)(in - f->code);

	events_sites_make(x, f);
	return events_site_new(x, f, pc);
}

static const char *op_name(enum cpu_work_kind kind)
{
	switch (kind) {
	case CPU_WORK_KERNEL:
		return "a launch's accesses";
	case CPU_WORK_COPY:
		return "copy";
	case CPU_WORK_FILL:
		return "fill";
	case CPU_WORK_WAIT_VALUE:
		return "wait for a value in memory";
	case CPU_WORK_WRITE_VALUE:
		return "write of a value to memory";
	default:
		return "operation";
	}
}

struct cpu_site *cpu_site_of_op(struct cpu_events *x, const struct cpu_op *op, bool is_write)
{
	/* A copy's source and its destination are two sites. */
	uint64_t key = ((uint64_t)op->work.kind << 58) ^ ((uint64_t)is_write << 57) ^
		       ((uint64_t)op->work.is_graph << 56) ^ ((uint64_t)op->work.origin << 24) ^
		       op->work.stream;
	struct events_op_site *s;

	if (op->work.kind == CPU_WORK_KERNEL) {
		const char *name = op->work.launch.kernel->info.name;
		key ^= base_hash(name, strlen(name), BASE_FNV_INIT);
	}
	HASH_FIND(hh, x->op_sites, &key, sizeof(key), s);
	if (s)
		return &s->site;
	s = BASE_NEW(&x->arena, struct events_op_site);
	s->key = key;
	s->site.is_ready = s->site.is_host = true;
	s->site.file = "";
	s->site.access = RACE_ACCESS_COPY;
	s->site.ptx_line = op->work.origin;
	s->site.name = "";
	s->site.is_graph = op->work.is_graph;
	s->site.is_free = op->work.frees != 0;
	s->site.is_proven = op->work.kind == CPU_WORK_KERNEL;
	s->site.text = base_printf(&x->arena, "%s on stream %u",
				   op->work.frees ? "free of memory" : op_name(op->work.kind),
				   op->work.stream);
	HASH_ADD(hh, x->op_sites, key, sizeof(key), s);
	return &s->site;
}

void cpu_site_unload(struct cpu_module *mod)
{
	struct cpu_events *x = mod->m->events;

	if (!x)
		return;
	events_lock(x);
	events_module_remove(x, mod);
	for (size_t i = 0; i < mod->funcs.n; i++) {
		struct cpu_func *f = &mod->funcs.v[i]->f;
		for (uint32_t pc = 0; f->sites && pc < f->ninsts; pc++) {
			if (!f->sites[pc])
				continue;
			events_site_fill(x, f->sites[pc]);
			f->sites[pc]->func = NULL;
		}
	}
	events_unlock(x);
}
