/*
 * lower.c - a kernel's steps and blocks, with every call spliced in (ir.h).
 *
 * Calls are followed up to a depth of 32 and 20,000 instructions; recursion, calls through a
 * pointer and functions without a body whose name effects.c doesn't know are problems. A .param
 * of a call is an object of the caller, and the callee's name for it means the same object. trap,
 * exit and calls that never return end a thread.
 *
 * Costs: linear in the instructions that come out.
 */
#include "prove/ir.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32
#define MAX_INSTS 20000

/* Names of a frame's .param and .local variables, newest first. */
struct ir_params {
	struct ir_params *next;
	struct ptx_str name;
	const struct ptx_var *var; /* NULL: a parameter of the function */
	uint32_t object;
};

struct labels {
	const struct ptx_label *label;
	uint32_t block;
};

struct frame_state {
	struct ir_frame fr;
	BASE_VEC(struct labels) labels;
	BASE_VEC(struct {
		uint32_t block;
		uint32_t slot;
		const struct ptx_label *label;
	})
	fixups;
	uint32_t ret_block; /* where ret goes; IR_NONE: the thread ends */
	unsigned depth;
};

void prove_ir_problem(struct ir *ir, const struct ptx_stmt *at, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct prove_ir_problem p = {at, base_strdup(ir->arena, text)};
	base_vec_push(&ir->problems, p);
}

/* ---- objects ---------------------------------------------------------------------- */

static uint32_t add_object(struct ir *ir, struct ir_object o)
{
	o.cell = IR_NONE;
	base_vec_push(&ir->objects, o);
	return (uint32_t)ir->objects.n - 1;
}

static void bind(struct ir_frame *fr, struct ptx_str name, const struct ptx_var *v, uint32_t object)
{
	struct ir_params *p = BASE_NEW(fr->ir->arena, struct ir_params);

	p->name = name;
	p->var = v;
	p->object = object;
	p->next = fr->params;
	fr->params = p;
}

struct naming {
	const struct ptx_module *m;
	bool has_one;
};

static void look_for_variable(const struct ptx_init *in, void *arg)
{
	struct naming *n = arg;

	if (in->sym.n && !n->has_one)
		ptx_each_item(n->m, it) n->has_one |=
			it->kind == PTX_ITEM_VAR && ptx_str_eq(it->var->name, in->sym);
}

static bool names_variables(const struct ir *ir, const struct ptx_var *v)
{
	struct naming n = {.m = ir->m};
	struct base_sink quiet = {.errors = 0};
	uint64_t bytes;
	bool is_read =
		!v->has_init || ptx_each_init(ir->m, v, look_for_variable, &n, &bytes, &quiet);

	base_sink_free(&quiet);
	return n.has_one || !is_read;
}

static uint32_t module_object(struct ir *ir, struct ptx_str name, const struct ptx_var *v)
{
	if (!v) {
		ptx_each_item(ir->m, it) if (it->kind == PTX_ITEM_VAR &&
					     ptx_str_eq(it->var->name, name)) v = it->var;
	}
	if (!v)
		return IR_NONE;
	bool is_dynamic = v->space == PTX_SPACE_SHARED && (v->linkage & PTX_LINK_EXTERN);
	for (uint32_t i = 0; i < ir->objects.n; i++)
		if (ir->objects.v[i].var == v ||
		    (is_dynamic && ir->objects.v[i].kind == IR_OBJ_DYNAMIC))
			return i;
	struct ir_object o = {.bytes = v->bytes, .name = v->name, .var = v, .align = v->align};
	o.has_addresses = names_variables(ir, v);
	switch ((enum ptx_space)v->space) {
	case PTX_SPACE_SHARED:
		o.kind = is_dynamic ? IR_OBJ_DYNAMIC : IR_OBJ_SHARED;
		break;
	case PTX_SPACE_CONST:
		o.kind = IR_OBJ_CONST;
		break;
	case PTX_SPACE_LOCAL:
		o.kind = IR_OBJ_LOCAL;
		break;
	default:
		o.kind = IR_OBJ_GLOBAL;
		break;
	}
	return add_object(ir, o);
}

uint32_t prove_ir_find_object(struct ir_frame *fr, struct ptx_str name, const struct ptx_var *v)
{
	/* an inner scope may have a variable of the same name, before or around this one */
	for (struct ir_params *p = fr->params; p; p = p->next)
		if (ptx_str_eq(p->name, name) && p->var == v)
			return p->object;
	return module_object(fr->ir, name, v);
}

uint32_t prove_ir_name_object(const struct ir *ir, uint32_t call, struct ptx_str name)
{
	for (struct ir_params *p = ir->calls.v[call].params; p; p = p->next)
		if (ptx_str_eq(p->name, name))
			return p->object;
	return IR_NONE;
}

static void declare(struct ir_frame *fr, const struct ptx_var *v)
{
	struct ir_object o = {.kind = IR_OBJ_LOCAL, .bytes = v->bytes, .name = v->name};

	o.align = v->align ? v->align : ptx_type_bytes((enum ptx_type)v->type);
	if (v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM)
		bind(fr, v->name, v, add_object(fr->ir, o));
	else
		bind(fr, v->name, v, module_object(fr->ir, v->name, v));
}

static void kernel_params(struct ir_frame *fr)
{
	uint64_t off = 0;

	fr->ir->param_object = (uint32_t)fr->ir->objects.n;
	for (struct ptx_param *p = fr->f->params; p; p = p->next) {
		uint64_t align = p->align ? p->align : ptx_type_bytes((enum ptx_type)p->type);
		struct ir_object o = {.kind = IR_OBJ_PARAM, .bytes = p->bytes, .name = p->name};
		off = align ? (off + align - 1) / align * align : off;
		o.off = off;
		bind(fr, p->name, NULL, add_object(fr->ir, o));
		off += p->bytes;
	}
	fr->ir->param_bytes = off;
}

/* ---- blocks ------------------------------------------------------------------------ */

static uint32_t cur(const struct ir *ir)
{
	return (uint32_t)ir->blocks.n - 1;
}

/* Opens the next block; the former one falls into it unless it has its end already. */
static uint32_t open_block(struct ir *ir, bool falls)
{
	struct ir_block b = {.first = (uint32_t)ir->steps.n, .cond = IR_NONE, .end = IR_EXIT};

	base_vec_push(&ir->blocks, b);
	uint32_t id = cur(ir);
	if (falls) {
		struct ir_block *prev = &ir->blocks.v[id - 1];
		prev->end = IR_JUMP;
		prev->nsucc = 1;
		prev->succ = BASE_NEWN(ir->arena, uint32_t, 2);
		prev->succ[0] = id;
	}
	return id;
}

static void end_block(struct ir_frame *fr, enum ir_end end, uint32_t nsucc)
{
	struct ir_block *b = &fr->ir->blocks.v[cur(fr->ir)];

	b->end = (uint8_t)end;
	b->nsucc = nsucc;
	b->at = fr->at;
	b->succ = BASE_NEWN(fr->ir->arena, uint32_t, nsucc ? nsucc : 1);
}

static void branch_to(struct frame_state *st, uint32_t slot, const struct ptx_label *label)
{
	base_vec_reserve(&st->fixups, st->fixups.n + 1);
	st->fixups.v[st->fixups.n].block = cur(st->fr.ir);
	st->fixups.v[st->fixups.n].slot = slot;
	st->fixups.v[st->fixups.n++].label = label;
}

/* Ends the block with "if the guard holds, end or go; else go on". */
static void guarded(struct frame_state *st, const struct ptx_stmt *s)
{
	struct ir_frame *fr = &st->fr;

	end_block(fr, IR_BRANCH, 2);
	struct ir_block *b = &fr->ir->blocks.v[cur(fr->ir)];
	b->cond = fr->reg_base + s->pred;
	b->is_cond_not = s->is_pred_not;
	b->succ[1] = cur(fr->ir) + 1;
}

static void lower_branch(struct frame_state *st, const struct ptx_stmt *s)
{
	const struct ptx_label *to = ptx_target(s);

	if (s->pred == PTX_NO_REG)
		end_block(&st->fr, IR_JUMP, 1);
	else
		guarded(st, s);
	if (to)
		branch_to(st, 0, to);
	else
		prove_ir_problem(st->fr.ir, s, "a branch without a known target");
	open_block(st->fr.ir, false);
}

static void lower_switch(struct frame_state *st, const struct ptx_stmt *s)
{
	struct ir_frame *fr = &st->fr;
	const struct ptx_opnd *o = s->nops > 1 ? &s->ops[1] : NULL;
	const struct ptx_stmt *list =
		o && o->kind == PTX_OPND_SYM && (o->flags & PTX_OPND_LABEL) ? o->label->at : NULL;

	if (!list || list->kind != PTX_STMT_TARGETS || s->pred != PTX_NO_REG) {
		prove_ir_problem(fr->ir, s, "a branch through a table that is not known");
		end_block(fr, IR_TRAP, 0);
	} else {
		uint32_t index = prove_ir_operand(fr, &s->ops[0], 32);
		end_block(fr, IR_SWITCH, list->ntargets);
		fr->ir->blocks.v[cur(fr->ir)].cond = index;
		for (uint32_t i = 0; i < list->ntargets; i++)
			branch_to(st, i, list->targets[i].label);
	}
	open_block(fr->ir, false);
}

static void lower_exit(struct frame_state *st, const struct ptx_stmt *s)
{
	struct ir_frame *fr = &st->fr;
	bool is_ret = s->form->op == PTX_OP_RET && st->ret_block != IR_NONE;
	bool is_trap = s->form->op == PTX_OP_TRAP;

	if (s->pred != PTX_NO_REG) { /* to a block of its own */
		guarded(st, s);
		fr->ir->blocks.v[cur(fr->ir)].succ[0] = cur(fr->ir) + 1;
		fr->ir->blocks.v[cur(fr->ir)].succ[1] = cur(fr->ir) + 2;
		open_block(fr->ir, false);
	}
	end_block(fr, is_ret ? IR_JUMP : is_trap ? IR_TRAP : IR_EXIT, is_ret);
	if (is_ret)
		fr->ir->blocks.v[cur(fr->ir)].succ[0] = UINT32_MAX - 1; /* patched by splice */
	open_block(fr->ir, false);
}

static void lower_function(struct frame_state *st);

/* ---- calls --------------------------------------------------------------------------- */

static const struct ptx_func *find_body(struct ptx_module *m, struct ptx_str name)
{
	const struct ptx_func *found = NULL;

	ptx_each_item(m, it) if (it->kind == PTX_ITEM_FUNC && ptx_str_eq(it->func->name, name) &&
				 (!found || !it->func->is_proto)) found = it->func;
	return found;
}

/* Binds the callee's names of parameters to the caller's objects. False: they don't fit. */
static bool bind_list(struct ir_frame *to, struct ir_frame *from, const struct ptx_param *formal,
		      const struct ptx_opnd *list)
{
	unsigned i = 0;

	for (; formal; formal = formal->next, i++) {
		if (!list || i >= list->nsub || formal->space != PTX_SPACE_PARAM)
			return false;
		const struct ptx_opnd *o = &list->sub[i];
		uint32_t obj = IR_NONE;
		if (o->kind == PTX_OPND_SYM)
			obj = prove_ir_find_object(from, o->text,
						   o->flags & PTX_OPND_VAR ? o->var : NULL);
		if (obj == IR_NONE)
			return false;
		bind(to, formal->name, NULL, obj);
	}
	return true;
}

static void splice(struct frame_state *st, const struct ptx_stmt *s, const struct ptx_func *f,
		   const struct ptx_opnd *rets, const struct ptx_opnd *args)
{
	struct ir *ir = st->fr.ir;
	struct ir_call c = {.outer = st->fr.call, .at = s, .f = f};
	struct frame_state in = {.fr = st->fr, .depth = st->depth + 1};

	in.fr.params = NULL;
	in.fr.f = f;
	in.fr.reg_base = (uint32_t)ir->width.n;
	if (!bind_list(&in.fr, &st->fr, f->params, args) ||
	    !bind_list(&in.fr, &st->fr, f->rets, rets)) {
		prove_ir_problem(ir, s, "a call whose parameters are not understood");
		return;
	}
	in.fr.call = (uint32_t)ir->calls.n;
	c.reg_base = in.fr.reg_base;
	base_vec_push(&ir->calls, c);
	uint32_t first = cur(ir);
	in.ret_block = 0; /* any but IR_NONE */
	lower_function(&in);
	ir->calls.v[in.fr.call].params = in.fr.params;
	uint32_t behind = open_block(ir, false);
	for (uint32_t i = first; i < behind; i++)
		for (uint32_t k = 0; k < ir->blocks.v[i].nsucc; k++)
			if (ir->blocks.v[i].succ[k] == UINT32_MAX - 1)
				ir->blocks.v[i].succ[k] = behind;
}

#define MAX_CALLEES 16

/* Could the function be called so? */
static bool is_callee(struct ir_frame *fr, const struct ptx_func *f, const struct ptx_opnd *rets,
		      const struct ptx_opnd *args)
{
	const struct ptx_opnd *list[2] = {rets, args};
	const struct ptx_param *formal[2] = {f->rets, f->params};

	for (unsigned k = 0; k < 2; k++) {
		unsigned n = list[k] ? list[k]->nsub : 0, i = 0;
		for (const struct ptx_param *p = formal[k]; p; p = p->next, i++) {
			const struct ptx_opnd *o = i < n ? &list[k]->sub[i] : NULL;
			if (!o || o->kind != PTX_OPND_SYM || p->space != PTX_SPACE_PARAM)
				return false;
			uint32_t obj = prove_ir_find_object(
				fr, o->text, o->flags & PTX_OPND_VAR ? o->var : NULL);
			if (obj == IR_NONE || fr->ir->objects.v[obj].bytes != p->bytes)
				return false;
		}
		if (i != n)
			return false;
	}
	return true;
}

/* A call through a pointer calls one of the functions whose parameters fit and whose address is
 * taken; which one is not known. False: there is none, or too many. */
static bool lower_pointer_call(struct frame_state *st, const struct ptx_stmt *s,
			       const struct ptx_opnd *rets, const struct ptx_opnd *args)
{
	struct ir *ir = st->fr.ir;
	const struct ptx_func *callee[MAX_CALLEES];
	uint32_t n = 0, ends[MAX_CALLEES], which = prove_ir_new_reg(ir, 32);

	ptx_each_item(ir->m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_entry || it->func->is_proto ||
		    !is_callee(&st->fr, it->func, rets, args) || !prove_ir_is_taken(ir, it->func))
			continue;
		for (uint32_t c = st->fr.call; c; c = ir->calls.v[c].outer)
			if (ir->calls.v[c].f == it->func)
				return false;
		if (n == MAX_CALLEES)
			return false;
		callee[n++] = it->func;
	}
	if (!n || st->depth >= MAX_DEPTH || ir->steps.n > 4 * MAX_INSTS)
		return false;
	prove_ir_push(&st->fr, IR_VAR, which)->w = 32;
	end_block(&st->fr, IR_SWITCH, n);
	uint32_t at = cur(ir);
	ir->blocks.v[at].cond = which;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = open_block(ir, false);
		ir->blocks.v[at].succ[i] = first;
		splice(st, s, callee[i], rets, args);
		end_block(&st->fr, IR_JUMP, 1);
		ends[i] = cur(ir);
	}
	uint32_t behind = open_block(ir, false);
	for (uint32_t i = 0; i < n; i++)
		ir->blocks.v[ends[i]].succ[0] = behind;
	ir->has_pointer_calls = true;
	return true;
}

static void lower_call(struct frame_state *st, const struct ptx_stmt *s)
{
	struct ir *ir = st->fr.ir;
	const struct ptx_opnd *lists[2] = {NULL, NULL}, *callee = NULL;

	if (s->pred != PTX_NO_REG) {
		prove_ir_problem(ir, s, "a guarded call is not modelled");
		return;
	}
	for (unsigned i = 0; i < s->nops; i++) {
		if (s->ops[i].kind == PTX_OPND_LIST)
			lists[callee != NULL] = &s->ops[i];
		else if (!callee)
			callee = &s->ops[i];
	}
	const struct ptx_func *f = NULL;
	if (callee && callee->kind == PTX_OPND_SYM)
		f = find_body(ir->m, callee->text);
	if (!f) {
		if (!lower_pointer_call(st, s, lists[0], lists[1]))
			prove_ir_problem(ir, s, "a call through a pointer is not modelled");
		return;
	}
	for (uint32_t c = st->fr.call; c; c = ir->calls.v[c].outer) {
		if (ir->calls.v[c].f == f) {
			prove_ir_problem(ir, s, "recursion (%.*s) is not modelled", (int)f->name.n,
					 f->name.p);
			return;
		}
	}
	if (f->is_proto) {
		bool ends = false;
		if (!prove_ir_known_call(&st->fr, s, f->name, &ends))
			prove_ir_problem(ir, s, "the effect of calling %.*s is not known",
					 (int)f->name.n, f->name.p);
		if (ends) {
			end_block(&st->fr, IR_TRAP, 0);
			open_block(ir, false);
		}
		return;
	}
	if (prove_ir_summarized_call(&st->fr, s, f->name))
		return;
	if (st->depth >= MAX_DEPTH || ir->steps.n > 8 * MAX_INSTS)
		prove_ir_problem(ir, s, "calls that are too deep or too large to splice in");
	else
		splice(st, s, f, lists[0], lists[1]);
}

/* ---- a function ------------------------------------------------------------------------- */

static void lower_stmt(struct frame_state *st, struct ptx_stmt *s)
{
	struct ir *ir = st->fr.ir;

	st->fr.at = s;
	if (s->kind == PTX_STMT_LABEL) {
		struct labels l = {s->label, open_block(ir, ir->blocks.v[cur(ir)].succ == NULL)};
		base_vec_push(&st->labels, l);
		return;
	}
	if (s->kind == PTX_STMT_VAR)
		declare(&st->fr, s->var);
	if (s->kind != PTX_STMT_INST)
		return;
	if (s->form->effects & PTX_EFF_UNKNOWN) {
		prove_ir_problem(ir, s, "the effect of %.*s is not modelled", (int)s->form->text.n,
				 s->form->text.p);
		return;
	}
	if (s->form->effects & PTX_EFF_CALL)
		lower_call(st, s);
	else if (s->form->op == PTX_OP_BRX_IDX)
		lower_switch(st, s);
	else if (s->form->effects & PTX_EFF_BRANCH)
		lower_branch(st, s);
	else if (s->form->effects & PTX_EFF_EXIT)
		lower_exit(st, s);
	else
		prove_ir_lower_inst(&st->fr, s);
	const struct ir_step *last = ir->steps.n ? &ir->steps.v[ir->steps.n - 1] : NULL;
	if (last && last->at == s && (last->kind == IR_BARRIER || last->kind == IR_WARP_BARRIER))
		open_block(ir, true); /* phases begin with blocks */
}

static void lower_function(struct frame_state *st)
{
	struct ir *ir = st->fr.ir;
	const struct ptx_func *f = st->fr.f;

	for (uint32_t r = 0; r < f->nregs; r++) {
		enum ptx_type t = (enum ptx_type)f->reg_type[r];
		unsigned w = t == PTX_TYPE_PRED ? 1 : 8 * ptx_type_bytes(t);
		prove_ir_new_reg(ir, w == 0 || w > 64 ? 64 : w);
	}
	open_block(ir, ir->blocks.n > 0);
	ptx_each_stmt(f, s) lower_stmt(st, s);
	if (!ir->blocks.v[cur(ir)].succ) { /* the end without ret */
		end_block(&st->fr, st->ret_block == IR_NONE ? IR_EXIT : IR_JUMP,
			  st->ret_block != IR_NONE);
		if (st->ret_block != IR_NONE)
			ir->blocks.v[cur(ir)].succ[0] = UINT32_MAX - 1;
	}
	for (size_t i = 0; i < st->fixups.n; i++) {
		uint32_t to = IR_NONE;
		for (size_t k = 0; k < st->labels.n && to == IR_NONE; k++)
			if (st->labels.v[k].label == st->fixups.v[i].label)
				to = st->labels.v[k].block;
		ir->blocks.v[st->fixups.v[i].block].succ[st->fixups.v[i].slot] = to;
	}
	base_vec_free(&st->labels);
	base_vec_free(&st->fixups);
}

static void count_defs(struct ir *ir)
{
	ir->ndefs = BASE_NEWN(ir->arena, uint32_t, ir->width.n);
	ir->def_block = BASE_NEWN(ir->arena, uint32_t, ir->width.n);
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		for (uint32_t i = 0; i < ir->blocks.v[b].n; i++) {
			const struct ir_step *st = &ir->steps.v[ir->blocks.v[b].first + i];
			if (st->dst == IR_NONE)
				continue;
			ir->ndefs[st->dst]++;
			ir->def_block[st->dst] = b;
		}
	}
}

void prove_ir_build(struct ir *ir, struct base_arena *arena, struct ptx_module *m,
		    struct ptx_func *f)
{
	struct ir_call top = {.f = f};
	struct frame_state st = {.ret_block = IR_NONE};

	memset(ir, 0, sizeof(*ir));
	ir->arena = arena;
	ir->m = m;
	ir->f = f;
	base_vec_push(&ir->calls, top);
	st.fr.ir = ir;
	st.fr.f = f;
	kernel_params(&st.fr);
	lower_function(&st);
	ir->calls.v[0].params = st.fr.params;
	count_defs(ir);
	prove_ir_unroll_copies(ir);
	count_defs(ir);
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		struct ir_block *x = &ir->blocks.v[b];
		for (uint32_t k = 0; k < x->nsucc; k++) {
			if (x->succ[k] < ir->blocks.n)
				continue;
			prove_ir_problem(ir, x->at, "a branch to nowhere");
			x->nsucc = 0;
			x->end = IR_TRAP;
		}
	}
	prove_ir_find_grid_syncs(ir);
	prove_ir_find_arriving(ir);
	prove_ir_join_blocks(ir);
	count_defs(ir);
	prove_ir_graph(ir);
}

void prove_ir_free(struct ir *ir)
{
	base_vec_free(&ir->steps);
	base_vec_free(&ir->blocks);
	base_vec_free(&ir->objects);
	base_vec_free(&ir->calls);
	base_vec_free(&ir->width);
	base_vec_free(&ir->problems);
	base_vec_free(&ir->taken);
}
