/*
 * scan.c - one pass over every function: what it calls, which variables it names, how large its
 * frames are.
 *
 * An operand that names nothing is an error when it is called or declared as an
 * extern variable; a function that is declared but never used is not.
 */
#include "cpu/load/decode.h"
#include "cpu/load/load.h"

#define MAX_SCOPES    66
#define LOCAL_MAX     (1u << 28)
#define SYSCALL_BYTES 128u

#define FRAME_ALIGN 16u /* of local variables, at least */

struct scan {
	struct cpu_module *mod;
	struct load_func *lf;
	BASE_VEC(struct load_func *) callees;
	BASE_VEC(struct load_var *) shared;
};

static void undefined(struct scan *sc, const struct ptx_stmt *s, struct ptx_str name,
		      const char *what)
{
	const char *feature = cpu_syscall_lacks(name.p, name.n);

	if (feature)
		load_refuse(sc->mod, sc->lf, s->line, s->col,
			    "found '%.*s', expected no %s, which the CPU device doesn't have",
			    (int)name.n, name.p, feature);
	else
		load_refuse(sc->mod, sc->lf, s->line, s->col,
			    "found '%.*s' which no object defines, expected a %s", (int)name.n,
			    name.p, what);
	sc->lf->is_incomplete |= !feature;
}

static void name_var(struct scan *sc, const struct ptx_stmt *s, const struct ptx_opnd *o)
{
	struct load_var *v;

	if (o->var->space == PTX_SPACE_LOCAL || o->var->space == PTX_SPACE_PARAM)
		return;
	v = load_var_of(sc->mod, o->var);
	if (!v)
		undefined(sc, s, o->text, "variable");
	else if (v->decl->space == PTX_SPACE_SHARED && v->stamp != sc->mod->stamp) {
		v->stamp = sc->mod->stamp;
		base_vec_push(&sc->shared, v);
	}
}

static bool is_own_param(const struct ptx_func *f, struct ptx_str name)
{
	for (const struct ptx_param *p = f->params; p; p = p->next)
		if (ptx_str_eq(p->name, name))
			return true;
	for (const struct ptx_param *p = f->rets; p; p = p->next)
		if (ptx_str_eq(p->name, name))
			return true;
	return false;
}

static void name_sym(struct scan *sc, const struct ptx_stmt *s, const struct ptx_opnd *o,
		     bool is_callee)
{
	struct load_name *nm;

	if (load_is_inserted_name(o->text))
		sc->lf->is_instrumented = true;
	if (o->flags & PTX_OPND_LABEL)
		return;
	if (o->flags & PTX_OPND_VAR) {
		name_var(sc, s, o);
		return;
	}
	nm = load_find(sc->mod, sc->lf->part, o->text);
	sc->lf->calls_system |= nm && nm->syscall;
	sc->lf->calls_heap |= nm && nm->syscall && cpu_syscall_is_heap(nm->syscall);
	if (nm && nm->func && !is_callee) {
		nm->func->has_pointer = true;
	} else if (nm && nm->func && nm->func->stamp != sc->mod->stamp) {
		nm->func->stamp = sc->mod->stamp;
		base_vec_push(&sc->callees, nm->func);
	} else if (is_callee && (!nm || (!nm->func && !nm->syscall))) {
		undefined(sc, s, o->text, "function");
	} else if (!nm && !is_own_param(sc->lf->f.ptx, o->text) &&
		   (s->form->effects & PTX_EFF_CALL) == 0) {
		return; /* faults when it is executed */
	}
}

static void name_all(struct scan *sc, const struct ptx_stmt *s, const struct ptx_opnd *o,
		     unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (o[i].kind == PTX_OPND_SYM)
			name_sym(sc, s, &o[i], false);
		else if (o[i].kind >= PTX_OPND_ADDR && o[i].kind <= PTX_OPND_PAIR)
			name_all(sc, s, o[i].sub, o[i].nsub);
}

static void scan_call(struct scan *sc, const struct ptx_stmt *s)
{
	bool has_callee = false;
	uint32_t hidden = dec_call_hidden(s);

	sc->lf->has_calls = true;
	if (hidden > sc->lf->hidden)
		sc->lf->hidden = hidden;
	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (o->kind == PTX_OPND_LIST || has_callee) {
			if (o->kind == PTX_OPND_LIST)
				name_all(sc, s, o->sub, o->nsub);
			continue;
		}
		has_callee = true;
		if (o->kind == PTX_OPND_SYM)
			name_sym(sc, s, o, true);
		else
			sc->lf->calls_pointer = true;
	}
}

static void scan_stmt(struct scan *sc, const struct ptx_stmt *s)
{
	if (s->kind == PTX_STMT_REG) {
		for (const struct ptx_regdecl *r = s->regs; r; r = r->next)
			sc->lf->is_instrumented |= load_is_inserted_name(r->name);
	} else if (s->kind == PTX_STMT_INST) {
		sc->lf->is_instrumented |= s->inserted;
		if (s->form->op == PTX_OP_CALL)
			scan_call(sc, s);
		else
			name_all(sc, s, s->ops, s->nops);
	}
}

/* Bytes of .local and .param variables; scopes that are not nested share memory. The same walk as
 * in decode.c. */
static void measure(struct scan *sc)
{
	uint64_t local[MAX_SCOPES], own[MAX_SCOPES], max_local = 0, max_own;
	struct load_func *lf = sc->lf;
	uint32_t depth = 0, align = FRAME_ALIGN;

	local[0] = 0;
	own[0] = max_own = (uint64_t)lf->f.own + lf->hidden;
	ptx_each_stmt(lf->f.ptx, s)
	{
		if (s->kind == PTX_STMT_OPEN && depth < MAX_SCOPES - 1) {
			local[depth + 1] = local[depth];
			own[depth + 1] = own[depth];
			depth++;
		} else if (s->kind == PTX_STMT_CLOSE && depth) {
			depth--;
		} else if (s->kind == PTX_STMT_VAR &&
			   (s->var->space == PTX_SPACE_LOCAL || s->var->space == PTX_SPACE_PARAM)) {
			bool is_local = s->var->space == PTX_SPACE_LOCAL;
			uint64_t *at = is_local ? &local[depth] : &own[depth];
			uint64_t bytes = s->var->bytes < LOCAL_MAX ? s->var->bytes : LOCAL_MAX;
			*at = LOAD_ALIGN(*at, (uint64_t)load_var_align(s->var)) + bytes;
			if (is_local && load_var_align(s->var) > align)
				align = load_var_align(s->var);
			if (is_local && *at > max_local)
				max_local = *at;
			if (!is_local && *at > max_own)
				max_own = *at;
			if (*at >= (is_local ? LOCAL_MAX : CPU_PARAM_MAX)) {
				load_refuse(sc->mod, lf, s->line, s->col,
					    "found more bytes of variables than a thread has, "
					    "expected fewer than %u",
					    is_local ? LOCAL_MAX : CPU_PARAM_MAX);
				return;
			}
		}
	}
	lf->f.local = (uint32_t)LOAD_ALIGN(max_local, (uint64_t)FRAME_ALIGN);
	lf->f.local_align = align;
	/* a system call's results may lie after its arguments */
	max_own += lf->has_calls ? SYSCALL_BYTES : 0;
	lf->area = (uint32_t)LOAD_ALIGN(max_own, (uint64_t)16);
}

static void scan_func(struct scan *sc)
{
	struct load_func *lf = sc->lf;

	sc->mod->stamp++;
	sc->callees.n = sc->shared.n = 0;
	ptx_each_stmt(lf->f.ptx, s) scan_stmt(sc, s);
	measure(sc);
	lf->ncallees = (uint32_t)sc->callees.n;
	lf->nshared = (uint32_t)sc->shared.n;
	lf->callees = BASE_NEWN(&sc->mod->arena, struct load_func *, lf->ncallees + 1u);
	lf->shared = BASE_NEWN(&sc->mod->arena, struct load_var *, lf->nshared + 1u);
	for (uint32_t i = 0; i < lf->ncallees; i++)
		lf->callees[i] = sc->callees.v[i];
	for (uint32_t i = 0; i < lf->nshared; i++)
		lf->shared[i] = sc->shared.v[i];
}

/* ======================================================================== */

bool load_scan(struct cpu_module *mod)
{
	struct scan sc = {.mod = mod};

	for (size_t i = 0; i < mod->funcs.n; i++) {
		sc.lf = mod->funcs.v[i];
		scan_func(&sc);
	}
	base_vec_free(&sc.callees);
	base_vec_free(&sc.shared);
	return !mod->has_failed;
}
