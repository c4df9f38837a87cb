/*
 * decode.c - one PTX function becomes an array of struct cpu_inst.
 *
 * The statements are walked once; each instruction is offered to the binders of
 * its opcode (cpu/units.def), arithmetic ones in the build for this processor. An instruction that
 * no binder accepts becomes one that faults when a lane executes it. Targets and joins are filled
 * in at the end: the join of a branch is the first instruction of its block's immediate
 * post-dominator, where the run loop merges what the branch has parted; a call joins after itself.
 * A `ret` is put after the last statement, so that control can't run off the end.
 *
 * Costs: linear; a function of 20,000 instructions takes about 25 ms, slots
 * included. Slots are chosen before (slots.c), because the layout of frames
 * depends on all functions that can meet.
 */
#include "cpu/load/decode.h"

#include <string.h>

#include "cpu/arch.h"
#include "race/detector.h"

/* ---- binders ---------------------------------------------------------------------- */

enum {
#define ALU(name, ...)	CPU_UNIT_##name,
#define UNIT(name, ...) CPU_UNIT_##name,
#include "cpu/units.def"
	CPU_UNITS
};
_Static_assert(CPU_UNITS <= 32, "a bit for each");

/* The units of each opcode, as bits. One that units.def leaves out is not declared below. */
enum {
#define NONE		0
#define U(name)		(1u << CPU_UNIT_##name)
#define BIND(op, units) UNITS_OF_##op = units,
#include "cpu/units.def"
};
static const uint32_t units_of[PTX_OP_COUNT] = {
#define OP(id, ...) [PTX_OP_##id] = UNITS_OF_##id,
#include "ptx/isa.def"
#undef OP
};
#undef NONE

#define ALU(name, ...)	cpu_binder cpu_bind_##name##_base;
#define UNIT(name, ...) cpu_binder cpu_bind_##name;
#include "cpu/units.def"
static cpu_binder *const binders[CPU_UNITS] = {
#define ALU(name, ...)	[CPU_UNIT_##name] = cpu_bind_##name##_base,
#define UNIT(name, ...) [CPU_UNIT_##name] = cpu_bind_##name,
#include "cpu/units.def"
};

#ifdef CPU_HAS_V3
#define ALU(name, ...) cpu_binder cpu_bind_##name##_v3;
#include "cpu/units.def"
static cpu_binder *const binders_v3[CPU_UNITS] = {
#define ALU(name, ...)	[CPU_UNIT_##name] = cpu_bind_##name##_v3,
#define UNIT(name, ...) [CPU_UNIT_##name] = cpu_bind_##name,
#include "cpu/units.def"
};

static cpu_binder *const *best_binders(void)
{
	return cpu_arch_is_v3() ? binders_v3 : binders;
}
#else
static cpu_binder *const *best_binders(void)
{
	return binders;
}
#endif

/* ---- instructions that fault --------------------------------------------------------- */

static enum cpu_step exec_unsupported(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_UNSUPPORTED,
			 "not supported: %s", (const char *)in->aux);
}

enum cpu_bound cpu_dec_unsupported(struct cpu_dec *d, struct cpu_inst *in, const char *why)
{
	in->fn = exec_unsupported;
	in->flags &= CPU_I_GUARD_NOT | CPU_I_INSERTED;
	in->aux = base_strdup(d->arena, why);
	return CPU_BAD;
}

bool cpu_dec_is_unsupported(const struct cpu_inst *in)
{
	return in->fn == exec_unsupported;
}

/* ---- emission ------------------------------------------------------------------------- */

void *cpu_dec_alloc(struct cpu_dec *d, size_t bytes)
{
	return base_zalloc(d->arena, bytes);
}

struct cpu_func *cpu_dec_func(struct cpu_dec *d)
{
	return &d->lf->f;
}

bool cpu_dec_is_judged(struct cpu_dec *d, const struct cpu_inst *in)
{
	return d->mod->m->events && !d->mod->of && !(in->flags & CPU_I_INSERTED);
}

bool cpu_dec_is_plain(struct cpu_dec *d)
{
	return d->mod->m->events && d->mod->of;
}

bool cpu_dec_has_workers(struct cpu_dec *d)
{
	return d->mod->m->opt.threads > 1;
}

static bool is_marked(const struct cpu_dec *d, uint32_t reg)
{
	return reg < d->f->nregs && (d->inserted[reg >> 6] >> (reg & 63) & 1);
}

static bool names_inserted(const struct cpu_dec *d, const struct ptx_opnd *o)
{
	if (o->kind == PTX_OPND_REG)
		return is_marked(d, o->reg);
	if (o->kind == PTX_OPND_SYM)
		return load_is_inserted_name(o->text) && !race_called_name(o->text.p, o->text.n);
	if (o->kind >= PTX_OPND_ADDR && o->kind <= PTX_OPND_PAIR)
		for (unsigned i = 0; i < o->nsub; i++)
			if (names_inserted(d, &o->sub[i]))
				return true;
	return false;
}

/* A call of the program's, that goes to a variant of its function. */
static bool is_variant_call(const struct ptx_stmt *s)
{
	for (unsigned i = 0; s->form->effects & PTX_EFF_CALL && i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_SYM &&
		    race_called_name(s->ops[i].text.p, s->ops[i].text.n))
			return true;
	return false;
}

static bool is_inserted(const struct cpu_dec *d, const struct ptx_stmt *s)
{
	if (s->inserted || d->lf->is_inserted)
		return true;
	if (is_variant_call(s))
		return false;
	if (s->pred != PTX_NO_REG && is_marked(d, s->pred))
		return true;
	for (unsigned i = 0; i < s->nops; i++)
		if (names_inserted(d, &s->ops[i]))
			return true;
	return false;
}

struct cpu_inst dec_new_inst(struct cpu_dec *d, const struct ptx_stmt *s)
{
	struct cpu_inst in;

	memset(&in, 0, sizeof(in));
	for (unsigned i = 0; i < 4; i++)
		in.src[i] = CPU_NOSLOT;
	in.dst[0] = in.dst[1] = in.guard = CPU_NOSLOT;
	in.target = in.join = CPU_NOPC;
	if (s->pred != PTX_NO_REG) {
		in.guard = dec_reg_slot(d, s->pred, 0);
		if (s->is_pred_not)
			in.flags |= CPU_I_GUARD_NOT;
	}
	if (is_inserted(d, s))
		in.flags |= CPU_I_INSERTED;
	return in;
}

void dec_push(struct cpu_dec *d, const struct ptx_stmt *s, const struct cpu_inst *in)
{
	base_vec_push(&d->code, *in);
	base_vec_push(&d->stmts, (struct ptx_stmt *)s);
}

/* Offers s to the units of its opcode; the caller checks d->bad. */
static enum cpu_bound offer(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct cpu_inst fresh = *in;
	size_t n = d->code.n;
	enum cpu_bound b;

	for (uint32_t left = units_of[s->form->op]; left; left &= left - 1) {
		b = d->binders[__builtin_ctz(left)](d, s, in);
		if (b != CPU_NOT_MINE)
			return b;
		*in = fresh; /* nothing of a failed attempt remains */
		d->code.n = d->stmts.n = n;
		d->nbehind = 0;
		d->bad = NULL;
		memset(d->ntemps, 0, sizeof(d->ntemps));
	}
	return CPU_NOT_MINE;
}

uint32_t dec_read_special(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	static const enum ptx_type type[CPU_CLASSES] = {PTX_TYPE_PRED, PTX_TYPE_U16, PTX_TYPE_U32,
							PTX_TYPE_U64, PTX_TYPE_B128};
	enum cpu_class cls = cpu_class_of(t);
	struct ptx_opnd *ops = BASE_NEWN(&d->scratch, struct ptx_opnd, 2);
	struct ptx_stmt *s = BASE_NEW(&d->scratch, struct ptx_stmt);
	uint32_t slot = cpu_dec_temp(d, cls);
	struct cpu_inst in;

	if (d->nfakes == DEC_FAKES || slot == CPU_NOSLOT) {
		d->bad = "more special registers than the CPU device reads in one instruction";
		return CPU_NOSLOT;
	}
	d->fake[d->nfakes] = slot;
	d->fake_cls[d->nfakes] = (uint32_t)cls;
	*s = *d->at;
	s->kind = PTX_STMT_INST;
	s->form = ptx_form_of(d->lf->part->m, PTX_OP_MOV, type[cls]);
	s->ops = ops;
	s->nops = 2;
	ops[0].kind = PTX_OPND_REG;
	ops[0].reg = DEC_FAKE_REG + d->nfakes++;
	ops[0].text = PTX_STR("temporary");
	ops[1] = *op;
	in = dec_new_inst(d, d->at);
	if (cpu_bind_special(d, s, &in) != CPU_BOUND)
		d->bad = "a special register that the CPU device does not have";
	dec_push(d, d->at, &in);
	return slot;
}

static bool reads_special(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_MOV && s->nops == 2 && s->ops[1].kind == PTX_OPND_SPECIAL &&
	       !ptx_str_is(s->ops[1].text, "WARP_SZ");
}

static void note_fix(struct cpu_dec *d, const struct ptx_stmt *s)
{
	if (s->form->op == PTX_OP_BRA || s->form->op == PTX_OP_BRX_IDX ||
	    s->form->op == PTX_OP_CALL) {
		struct dec_fix fx = {(uint32_t)d->code.n, s};
		base_vec_push(&d->fixes, fx);
	}
}

static void decode_inst(struct cpu_dec *d, const struct ptx_stmt *s)
{
	enum cpu_bound b = CPU_NOT_MINE;
	uint32_t addr, bytes;

	d->at = s;
	d->bad = NULL;
	d->nfakes = d->nbehind = 0;
	memset(d->ntemps, 0, sizeof(d->ntemps));
	if (s->form->op == PTX_OP_RET)
		dec_leave(d, s);
	dec_pending_check(d, s);
	struct cpu_inst in = dec_new_inst(d, s);
	if (reads_special(s) && !cpu_dec_param(d, &s->ops[1], &addr, &bytes))
		b = cpu_bind_special(d, s, &in);
	if (b == CPU_NOT_MINE)
		b = offer(d, s, &in);
	if (b == CPU_NOT_MINE)
		cpu_dec_unsupported(d, &in,
				    s->form->op == PTX_OP_UNKNOWN
					    ? "an instruction that is not in PTX ISA 9.0"
					    : "an instruction that the CPU device does not "
					      "execute");
	else if (d->bad)
		cpu_dec_unsupported(d, &in, d->bad);
	else if (!in.fn)
		cpu_dec_unsupported(d, &in,
				    "a form of this instruction that the CPU device does "
				    "not execute");
	note_fix(d, s);
	dec_push(d, s, &in);
	dec_spreads_after(d, s);
	for (uint32_t i = 0; i < d->nbehind; i++)
		dec_push(d, s, &d->behind[i]);
}

/* ---- branches ----------------------------------------------------------------------------- */

static const struct ptx_stmt *target_list(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (o->kind == PTX_OPND_SYM && (o->flags & PTX_OPND_LABEL) && o->label &&
		    o->label->at && o->label->at->kind == PTX_STMT_TARGETS)
			return o->label->at;
	}
	return NULL;
}

const uint32_t *cpu_dec_targets(struct cpu_dec *d, const struct ptx_stmt *s, uint32_t *n)
{
	const struct ptx_stmt *list = target_list(s);

	*n = 0;
	if (!list || !list->ntargets)
		return NULL;
	*n = list->ntargets;
	struct dec_table t = {cpu_dec_alloc(d, sizeof(uint32_t) * list->ntargets), list};
	base_vec_push(&d->tables, t);
	return t.out;
}

static uint32_t label_pc(const struct cpu_dec *d, const struct ptx_label *l)
{
	return l && l->id < d->f->nlabels ? d->label_pc[l->id] : CPU_NOPC;
}

static uint32_t join_of(struct cpu_dec *d, const struct ptx_stmt *s)
{
	uint32_t b = d->fl->blocks[s->mark].ipdom;

	return b < d->fl->nblocks ? d->block_pc[b] : CPU_NOPC;
}

static void fix_one(struct cpu_dec *d, const struct dec_fix *fx)
{
	struct cpu_inst *in = &d->code.v[fx->pc];
	const struct ptx_stmt *s = fx->s;
	bool parts = s->pred != PTX_NO_REG || s->form->op == PTX_OP_BRX_IDX;

	if (s->form->op == PTX_OP_CALL)
		in->join = fx->pc + 1;
	else if (parts)
		in->join = join_of(d, s);
	if (in->join != CPU_NOPC)
		d->code.v[in->join].flags |= CPU_I_JOIN;
	if (s->form->op != PTX_OP_BRA || cpu_dec_is_unsupported(in))
		return;
	in->target = label_pc(d, ptx_target(s));
	if (in->target == CPU_NOPC)
		cpu_dec_unsupported(d, in, "a branch to a label that is not defined");
	else if (in->target <= fx->pc)
		in->flags |= CPU_I_BACK;
}

static void fix_branches(struct cpu_dec *d)
{
	for (size_t i = 0; i < d->fixes.n; i++)
		fix_one(d, &d->fixes.v[i]);
	for (size_t i = 0; i < d->tables.n; i++) {
		const struct dec_table *t = &d->tables.v[i];
		for (uint32_t k = 0; k < t->list->ntargets; k++) {
			const struct ptx_opnd *o = &t->list->targets[k];
			bool is_label = o->kind == PTX_OPND_SYM && (o->flags & PTX_OPND_LABEL);
			uint32_t pc = is_label ? label_pc(d, o->label) : CPU_NOPC;
			/* a target outside of the function is undefined: to the final ret */
			t->out[k] = pc != CPU_NOPC ? pc : (uint32_t)d->code.n - 1;
		}
	}
	for (size_t i = 0; i < d->fixes.n; i++) { /* a table may lead backwards */
		struct cpu_inst *in = &d->code.v[d->fixes.v[i].pc];
		const struct ptx_stmt *list = target_list(d->fixes.v[i].s);
		for (uint32_t k = 0; list && k < list->ntargets; k++) {
			const struct ptx_opnd *o = &list->targets[k];
			if ((o->flags & PTX_OPND_LABEL) &&
			    label_pc(d, o->label) <= d->fixes.v[i].pc)
				in->flags |= CPU_I_BACK;
		}
	}
}

static void mark_plain(struct cpu_dec *d)
{
	for (size_t i = 0; i < d->code.n; i++) {
		struct cpu_inst *in = &d->code.v[i];
		if (in->guard == CPU_NOSLOT &&
		    !(in->flags & (CPU_I_PARTS | CPU_I_GATHER | CPU_I_JOIN)))
			in->flags |= CPU_I_PLAIN;
	}
}

/* Accesses of lines at which a thread is to be delayed. */
static void mark_delayed(struct cpu_dec *d)
{
	for (size_t i = 0; i < d->code.n; i++) {
		struct cpu_inst *in = &d->code.v[i];
		const struct ptx_loc *loc = in->flags & CPU_I_MEMORY && d->stmts.v[i]
						    ? ptx_near_loc(d->stmts.v[i])
						    : NULL;
		if (loc && !(in->flags & CPU_I_INSERTED) && cpu_steer_names(d->mod->m, loc->line))
			in->flags = (uint16_t)((in->flags | CPU_I_APART) & ~(unsigned)CPU_I_PLAIN);
	}
}

/* ---- the function ------------------------------------------------------------------------ */

static void mark_inserted(struct cpu_dec *d)
{
	d->inserted = BASE_NEWN(&d->scratch, uint64_t, d->f->nregs / 64u + 1u);
	ptx_each_stmt(d->f, s)
	{
		if (s->kind != PTX_STMT_REG)
			continue;
		for (const struct ptx_regdecl *r = s->regs; r; r = r->next) {
			if (!load_is_inserted_name(r->name))
				continue;
			for (uint32_t i = r->first; i < r->first + r->count; i++)
				d->inserted[i >> 6] |= 1ull << (i & 63);
		}
	}
}

static void place_var(struct cpu_dec *d, const struct ptx_var *v, uint32_t *local, uint32_t *own)
{
	uint32_t *at = v->space == PTX_SPACE_LOCAL ? local : own;
	struct dec_place *pl;

	if (v->space != PTX_SPACE_LOCAL && v->space != PTX_SPACE_PARAM)
		return;
	pl = BASE_NEW(&d->scratch, struct dec_place);
	pl->key = v;
	pl->off = dec_place(at, (uint32_t)v->bytes, load_var_align(v));
	HASH_ADD_PTR(d->places, key, pl);
}

/* Places .local and .param variables; those of scopes that are not nested share memory. */
static void place_vars(struct cpu_dec *d)
{
	struct load_func *lf = d->lf;
	uint32_t local[66], own[66], depth = 0;

	local[0] = 0;
	own[0] = lf->f.own + lf->hidden;
	ptx_each_stmt(d->f, s)
	{
		if (s->kind == PTX_STMT_OPEN && depth < 65) {
			local[depth + 1] = local[depth];
			own[depth + 1] = own[depth];
			depth++;
		} else if (s->kind == PTX_STMT_CLOSE && depth) {
			depth--;
		} else if (s->kind == PTX_STMT_VAR) {
			place_var(d, s->var, &local[depth], &own[depth]);
		}
	}
}

static void walk(struct cpu_dec *d)
{
	struct ptx_stmt *ret = BASE_NEW(d->arena, struct ptx_stmt);
	uint32_t b = UINT32_MAX;

	ret->kind = PTX_STMT_INST;
	ret->form = ptx_form_get(d->lf->part->m, PTX_STR("ret"));
	ret->pred = PTX_NO_REG;
	ret->text = PTX_STR("ret;");
	ret->loc = d->f->last ? d->f->last->loc : NULL;
	ret->line = d->f->last ? d->f->last->line : d->f->line;
	ret->mark = UINT32_MAX; /* of no block */
	dec_enter(d, ret);
	ptx_each_stmt(d->f, s)
	{
		while (b + 1 <= s->mark)
			d->block_pc[++b] = (uint32_t)d->code.n;
		if (s->kind == PTX_STMT_LABEL)
			d->label_pc[s->label->id] = (uint32_t)d->code.n;
		else if (s->kind == PTX_STMT_INST)
			decode_inst(d, s);
	}
	decode_inst(d, ret);
}

/* Stores the finished code in the function. */
static void keep(struct cpu_dec *d)
{
	struct cpu_func *f = &d->lf->f;
	size_t n = d->code.n;
	uint8_t *mem = base_alloc(d->arena, n * sizeof(struct cpu_inst) + d->cdata.n + 128);

	f->code = (struct cpu_inst *)LOAD_ALIGN((uintptr_t)mem, (uintptr_t)64);
	memcpy(f->code, d->code.v, n * sizeof(struct cpu_inst));
	f->consts = (uint8_t *)(f->code + n);
	if (d->cdata.n)
		memcpy(f->consts, d->cdata.p, d->cdata.n);
	f->const_bytes = (uint32_t)d->cdata.n;
	f->nshared_consts = (uint32_t)d->shared_consts.n;
	f->shared_consts = base_alloc(d->arena, (f->nshared_consts + 1u) * sizeof(uint32_t));
	if (f->nshared_consts)
		memcpy(f->shared_consts, d->shared_consts.v, f->nshared_consts * sizeof(uint32_t));
	f->stmts = base_alloc(d->arena, (n + 1) * sizeof(*f->stmts));
	memcpy(f->stmts, d->stmts.v, n * sizeof(*f->stmts));
	f->ninsts = (uint32_t)n;
}

static void add_rank(const struct cpu_func *f, uint8_t *consts, uint32_t rank)
{
	for (uint32_t i = 0; i < f->nshared_consts; i++) {
		uint32_t at = f->shared_consts[i], bytes = at & 1 ? 8 : 4;
		for (uint32_t l = 0; l < CPU_WARP; l++) {
			uint32_t low;
			memcpy(&low, consts + at - (at & 1) + l * bytes, sizeof(low));
			low += rank * CPU_RANK;
			memcpy(consts + at - (at & 1) + l * bytes, &low, sizeof(low));
		}
	}
}

/* ======================================================================== */

uint8_t *cpu_func_ranked(struct cpu_func *f, uint32_t rank)
{
	uint8_t *all = atomic_load_explicit(&f->ranked, memory_order_acquire), *none = NULL;

	if (!all) {
		all = base_aligned(64, (CPU_CLUSTER_MAX - 1) * (size_t)f->const_bytes + 128);
		for (uint32_t r = 1; r < CPU_CLUSTER_MAX; r++) {
			uint8_t *of = all + (r - 1) * (size_t)f->const_bytes;
			memcpy(of, f->consts, f->const_bytes);
			add_rank(f, of, r);
		}
		if (!atomic_compare_exchange_strong(&f->ranked, &none, all)) {
			free(all);
			all = none;
		}
	}
	return all + (rank - 1) * (size_t)f->const_bytes;
}

void load_finish_layout(struct cpu_layout *l)
{
	uint32_t at = 0;

	for (int c = 0; c < CPU_CLASSES; c++) {
		l->start[c] = at;
		at += LOAD_ALIGN(l->count[c] * cpu_class_bytes[c], 64u);
	}
	l->frame = at;
}

void load_need_slots(struct load_func *lf)
{
	struct base_arena scratch = {0};

	if (lf->slots || lf->f.ptx->is_proto)
		return;
	lf->slots = cpu_slots_make(&lf->f.mod->arena, flow_build(&scratch, lf->part->m, lf->f.ptx));
	base_arena_free(&scratch);
	for (int c = 0; c < CPU_CLASSES; c++)
		lf->slots->count[c] += dec_temps[c];
}

bool cpu_decode(struct cpu_func *f, struct base_arena *arena, struct base_sink *sink)
{
	struct load_func *lf = (struct load_func *)f;
	struct cpu_dec d = {.lf = lf,
			    .mod = f->mod,
			    .f = f->ptx,
			    .layout = f->layout,
			    .arena = arena,
			    .binders = best_binders()};

	(void)sink;
	d.fl = flow_build(&d.scratch, lf->part->m, f->ptx);
	d.block_pc = BASE_NEWN(&d.scratch, uint32_t, d.fl->nblocks + 1u);
	d.label_pc = base_alloc(&d.scratch, sizeof(uint32_t) * (f->ptx->nlabels + 1u));
	memset(d.label_pc, 0xff, sizeof(uint32_t) * (f->ptx->nlabels + 1u));
	mark_inserted(&d);
	dec_pending_find(&d);
	place_vars(&d);
	walk(&d);
	fix_branches(&d);
	mark_plain(&d);
	if (d.mod->m->steer)
		mark_delayed(&d);
	keep(&d);
	HASH_CLEAR(hh, d.places);
	HASH_CLEAR(hh, d.consts);
	base_buf_free(&d.cdata);
	base_vec_free(&d.shared_consts);
	base_vec_free(&d.code);
	base_vec_free(&d.stmts);
	base_vec_free(&d.tables);
	base_vec_free(&d.fixes);
	base_arena_free(&d.scratch);
	return true;
}
