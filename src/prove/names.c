/*
 * names.c - the programmer's names, from the DWARF that -G leaves in the PTX (names.h).
 *
 * A parameter of the kernel is found by its number. A variable lives in a register or in the stack
 * for a range of lines; of several of one name the innermost scope counts. The value that the
 * analysis has for the register at an access says whether it is exact, and whether the index or the
 * way there depends on it.
 *
 * Misses: arrays and structures, but for parameters' members; variables of functions that are
 * inlined by the compiler.
 * Costs: the DWARF is read once for each function with an alarm.
 */
#include "prove/names.h"

#include <string.h>

static const struct names_call *vars_of(struct names *n, uint32_t call)
{
	struct names_call *c = &n->calls[call];

	if (!c->is_read) {
		c->is_read = true;
		c->v = ptx_debug_vars(n->e->ir->m, n->e->ir->calls.v[call].f, &c->n);
	}
	return c;
}

static const struct ptx_debug_var *vars_elsewhere(struct ptx_module *m, const struct ptx_func *f,
						  size_t *n)
{
	*n = 0;
	if (!m)
		return NULL;
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry && !it->func->is_proto &&
		    ptx_str_eq(it->func->name, f->name))
			return ptx_debug_vars(m, it->func, n);
	}
	return NULL;
}

static void take_type(struct names_param *p, const struct ptx_debug_type *t)
{
	p->is_pointer = t->is_pointer;
	p->is_signed = t->is_signed;
	p->is_float = t->is_float;
	p->signed_bytes = t->signed_bytes;
	p->is_known = true;
}

void prove_names_open(struct names *n, const struct ev *e, struct ptx_module *named,
		      struct base_arena *arena)
{
	const struct ir *ir = e->ir;
	uint32_t i = 0, nmembers = 0;
	size_t nvars;

	memset(n, 0, sizeof(*n));
	n->e = e;
	n->arena = arena;
	n->calls = BASE_NEWN(arena, struct names_call, ir->calls.n + 1);
	const struct names_call *c = vars_of(n, 0);
	const struct ptx_debug_var *vars = c->v;
	nvars = c->n;
	if (!nvars)
		vars = vars_elsewhere(named, ir->calls.v[0].f, &nvars);
	for (size_t k = 0; k < nvars; k++)
		nmembers += (uint32_t)vars[k].nmembers;
	n->param = BASE_NEWN(arena, struct names_param, ir->objects.n + nmembers + 1);
	for (size_t o = 0; o < ir->objects.n; o++) {
		if (ir->objects.v[o].kind != IR_OBJ_PARAM)
			continue;
		struct names_param *p = &n->param[n->nparams++];
		p->off = ir->objects.v[o].off;
		p->bytes = ir->objects.v[o].bytes;
		p->is_signed = p->is_read = true;
		p->number = n->nparams;
		p->name = base_printf(arena, "$%u", n->nparams);
	}
	uint32_t nown = n->nparams;
	for (size_t k = 0; k < nvars; k++) {
		const struct ptx_debug_var *v = &vars[k];
		if (!v->is_param || i == nown)
			continue;
		struct names_param *p = &n->param[i++];
		p->name = v->name;
		take_type(p, &v->type);
		p->is_struct = !v->type.bytes;
		for (size_t m = 0; m < v->nmembers; m++) {
			const struct ptx_debug_member *from = &v->members[m];
			struct names_param *to = &n->param[n->nparams];
			if (from->off + from->type.bytes > p->bytes || !from->type.bytes)
				continue;
			to->name = from->name;
			to->off = p->off + from->off;
			to->bytes = from->type.bytes;
			to->number = i;
			to->is_member = true;
			for (uint32_t r = 0; r < e->pool->nreads; r++)
				to->is_read |=
					e->pool->read[r].off < to->off + to->bytes &&
					to->off < e->pool->read[r].off + e->pool->read[r].w / 8;
			take_type(to, &from->type);
			n->nparams++;
		}
	}
}

const struct names_param *prove_names_param_at(const struct names *n, uint64_t off)
{
	for (uint32_t i = n->nparams; i-- > 0;) /* members are a part of their parameter */
		if (off >= n->param[i].off && off < n->param[i].off + n->param[i].bytes)
			return &n->param[i];
	return NULL;
}

const struct names_param *prove_names_param_of(const struct names *n, const struct ex *v)
{
	const struct names_param *p = v->op == EX_PARAM ? prove_names_param_at(n, v->imm) : NULL;

	return p && p->off == v->imm && 8 * p->bytes == v->w ? p : NULL;
}

bool prove_names_is_scalar(const struct names_param *p)
{
	return p->is_read && !p->is_struct && !p->is_pointer && !p->is_float &&
	       (p->bytes == 4 || (p->bytes == 8 && p->is_known));
}

const struct names_param *prove_names_param_called(const struct names *n, const char *name,
						   size_t len)
{
	for (uint32_t i = 0; i < n->nparams; i++) {
		const char *p = n->param[i].name;
		const char *number = base_printf(n->arena, "$%u", i + 1);
		if ((strlen(p) == len && !memcmp(p, name, len)) ||
		    (!n->param[i].is_member && strlen(number) == len && !memcmp(number, name, len)))
			return &n->param[i];
	}
	return NULL;
}

/* The value of a register or of stack bytes when a block is through. */
static const struct ex *value_of(const struct names *n, const struct names_var *v, uint32_t block)
{
	const struct ev *e = n->e;
	uint32_t cell = v->reg != IR_NONE ? e->cell_of_reg[v->reg] : IR_NONE;

	if (v->reg == IR_NONE) {
		const struct ir_object *o = &e->ir->objects.v[v->object];
		if (o->kind != IR_OBJ_LOCAL || o->cell == IR_NONE || v->off >= o->bytes)
			return NULL;
		cell = o->cell + (uint32_t)v->off;
	}
	if (cell != IR_NONE) {
		struct ev_cell c = prove_ev_cell(&e->out[block], cell);
		return c.at ? NULL : c.v;
	}
	return prove_ir_dominates(e->ir, e->ir->def_block[v->reg], block) ? e->val[v->reg] : NULL;
}

static bool find_place(const struct names *n, const struct ptx_debug_var *v, uint32_t call,
		       uint32_t line, struct names_var *out)
{
	for (size_t i = 0; i < v->nplaces; i++) {
		const struct ptx_debug_place *p = &v->places[i];
		if (line < p->from || line >= p->to)
			continue;
		out->reg = IR_NONE;
		if (p->kind == PTX_DEBUG_REG) {
			out->reg = n->e->ir->calls.v[call].reg_base + p->reg;
			return n->e->ir->ndefs[out->reg] > 0;
		}
		out->object = prove_ir_name_object(n->e->ir, call, p->sym);
		out->off = p->off;
		return out->object != IR_NONE &&
		       n->e->ir->objects.v[out->object].kind == IR_OBJ_LOCAL;
	}
	return false;
}

uint32_t prove_names_at(struct names *n, uint32_t step, uint32_t block, struct names_var *out,
			uint32_t max)
{
	const struct ir_step *st = &n->e->ir->steps.v[step];
	const struct names_call *c = vars_of(n, st->call);
	uint32_t count = 0, line = st->at ? st->at->line : 0;

	for (size_t i = c->n; i-- > 0 && count < max;) { /* inner scopes stand after */
		const struct ptx_debug_var *v = &c->v[i];
		struct names_var x = {.name = v->name, .is_signed = v->type.is_signed};
		bool is_hidden = v->type.is_pointer || v->type.is_float || !v->type.bytes ||
				 line < v->from || line >= v->to;
		for (uint32_t k = 0; k < count; k++)
			is_hidden |= !strcmp(out[k].name, v->name);
		if (is_hidden || !find_place(n, v, st->call, line, &x))
			continue;
		x.bytes = v->type.bytes;
		x.value = value_of(n, &x, block);
		out[count++] = x;
	}
	return count;
}

/* ---- writing values ------------------------------------------------------------------- */

struct writer {
	struct names *n;
	const struct names_var *vars;
	uint32_t nvars;
	struct base_buf out;
	bool is_lost;
};

static void write_value(struct writer *w, const struct ex *v, unsigned depth);

static const struct ex *bare(const struct ex *v)
{
	while ((v->op == EX_SEXT || v->op == EX_ZEXT || v->op == EX_TRUNC) && v->w > 1)
		v = v->a[0];
	return v;
}

static void write_two(struct writer *w, const struct ex *v, const char *op, unsigned depth)
{
	bool is_sum = v->op == EX_ADD || v->op == EX_SUB;

	base_buf_puts(&w->out, depth && is_sum ? "(" : "");
	write_value(w, v->a[0], depth + !is_sum);
	if (v->op == EX_ADD && v->a[1]->op == EX_CONST && prove_ex_signed(v->a[1]->imm, v->w) < 0) {
		base_buf_printf(&w->out, " - %llu",
				(unsigned long long)-prove_ex_signed(v->a[1]->imm, v->w));
	} else {
		base_buf_puts(&w->out, op);
		write_value(w, v->a[1], depth + 1);
	}
	base_buf_puts(&w->out, depth && is_sum ? ")" : "");
}

static void write_leaf(struct writer *w, const struct ex *v)
{
	static const char *const dims[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
	const struct names_param *p;

	switch ((enum ex_op)v->op) {
	case EX_CONST:
		base_buf_printf(&w->out, "%lld", (long long)prove_ex_signed(v->imm, v->w));
		return;
	case EX_SPEC:
		base_buf_printf(&w->out, "%s.%c", dims[v->imm / 3], (char)('x' + v->imm % 3));
		return;
	case EX_PARAM:
		p = prove_names_param_of(w->n, v);
		if (p) {
			base_buf_puts(&w->out, p->name);
			return;
		}
		break;
	default:
		break;
	}
	w->is_lost = true;
}

static const struct {
	const char *word, *of_bools; /* of_bools: where it differs */
	unsigned deeper;	     /* 0: as deep as what it stands in */
} infixes[] = {
	[EX_ADD] = {" + ", NULL, 0},  [EX_SUB] = {" - ", NULL, 0},  [EX_MUL] = {" * ", NULL, 1},
	[EX_UDIV] = {" / ", NULL, 1}, [EX_SDIV] = {" / ", NULL, 1}, [EX_UREM] = {" % ", NULL, 1},
	[EX_SREM] = {" % ", NULL, 1}, [EX_XOR] = {" ^ ", NULL, 1},  [EX_AND] = {" & ", " && ", 1},
	[EX_OR] = {" | ", " || ", 1}, [EX_ULT] = {" < ", NULL, 1},  [EX_SLT] = {" < ", NULL, 1},
	[EX_EQ] = {" == ", NULL, 1},
};

static void write_value(struct writer *w, const struct ex *v, unsigned depth)
{
	const struct ex *b = bare(v);

	if (depth > 12 || w->out.n > 160)
		w->is_lost = true;
	if (w->is_lost)
		return;
	for (uint32_t i = 0; i < w->nvars; i++) {
		if (w->vars[i].value && bare(w->vars[i].value) == b && b->op != EX_CONST &&
		    b->op != EX_SPEC) {
			base_buf_puts(&w->out, w->vars[i].name);
			return;
		}
	}
	if (b->op < BASE_COUNTOF(infixes) && infixes[b->op].word) {
		bool is_logic = b->w == 1 && infixes[b->op].of_bools;
		write_two(w, b, is_logic ? infixes[b->op].of_bools : infixes[b->op].word,
			  depth + infixes[b->op].deeper);
		return;
	}
	switch ((enum ex_op)b->op) {
	case EX_NOT:
		base_buf_puts(&w->out, b->w == 1 ? "!(" : "~(");
		write_value(w, b->a[0], 0);
		base_buf_puts(&w->out, ")");
		return;
	case EX_BREV:
	case EX_CLZ:
		base_buf_puts(&w->out, b->op == EX_BREV ? "__brev(" : "__clz(");
		write_value(w, b->a[0], 0);
		base_buf_puts(&w->out, ")");
		return;
	case EX_IND:
		write_value(w, b->a[0], depth + 1);
		base_buf_puts(&w->out, " + i * ");
		write_value(w, b->a[1], depth + 1);
		return;
	default:
		write_leaf(w, b);
	}
}

const char *prove_names_write(struct names *n, const struct ex *v, const struct names_var *vars,
			      uint32_t nvars)
{
	struct writer w = {.n = n, .vars = vars, .nvars = nvars};

	write_value(&w, v, 0);
	const char *s = w.is_lost ? "" : base_strndup(n->arena, w.out.p ? w.out.p : "", w.out.n);
	base_buf_free(&w.out);
	return s;
}
