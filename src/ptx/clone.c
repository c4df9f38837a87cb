/*
 * clone.c - a second function with the body of another one.
 *
 * The clone has statements, operands and labels of its own, so that passes change the one without
 * the other. Registers have equal numbers and names in both; declarations and .loc lines, which no
 * pass changes, are shared. Labels get other names, since debug sections refer to those of the
 * original; a label that only these refer to is left out. The clone is local to the module: nothing
 * links it.
 *
 * Costs: the body's size once more.
 */
#include "ptx/parse.h"

#define LABEL_END "_called"

struct clone {
	struct ptx_module *m;
	const struct ptx_func *from;
	struct ptx_func *to;
	struct ptx_label **labels; /* by id, or NULL */
};

static struct ptx_str joined(struct ptx_module *m, struct ptx_str a, struct ptx_str b)
{
	char *p = base_alloc(m->arena, (size_t)a.n + b.n + 1);

	memcpy(p, a.p, a.n);
	memcpy(p + a.n, b.p, b.n);
	p[a.n + b.n] = 0;
	return (struct ptx_str){p, a.n + b.n};
}

/* ---- labels --------------------------------------------------------------------------------- */

static struct ptx_label *own_label(struct clone *x, const struct ptx_label *l)
{
	struct ptx_label **own = &x->labels[l->id];

	if (!*own) {
		*own = BASE_NEW(x->m->arena, struct ptx_label);
		(*own)->name = joined(x->m, l->name, PTX_STR(LABEL_END));
		(*own)->id = l->id;
	}
	return *own;
}

static struct ptx_opnd operand(struct clone *x, const struct ptx_opnd *op)
{
	struct ptx_opnd r = *op;

	if (op->kind == PTX_OPND_SYM && op->flags & PTX_OPND_LABEL) {
		r.label = own_label(x, op->label);
		r.text = r.label->name;
	} else if (op->kind == PTX_OPND_ADDR || op->kind == PTX_OPND_VEC ||
		   op->kind == PTX_OPND_LIST || op->kind == PTX_OPND_PAIR) {
		r.sub = BASE_NEWN(x->m->arena, struct ptx_opnd, op->nsub);
		for (unsigned i = 0; i < op->nsub; i++)
			r.sub[i] = operand(x, &op->sub[i]);
	}
	return r;
}

static struct ptx_opnd *operands(struct clone *x, const struct ptx_opnd *ops, uint32_t n)
{
	struct ptx_opnd *own = BASE_NEWN(x->m->arena, struct ptx_opnd, n);

	for (uint32_t i = 0; i < n; i++)
		own[i] = operand(x, &ops[i]);
	return own;
}

/* "label: .branchtargets a, b;" with the clone's labels. */
static struct ptx_str text_of_targets(const struct clone *x, const struct ptx_stmt *s)
{
	struct base_buf b = {0};
	uint32_t n = 0;

	while (n < s->text.n && s->text.p[n] != ' ' && s->text.p[n] != '\t' &&
	       s->text.p[n] != '\n' && s->text.p[n] != '\r')
		n++;
	base_buf_put(&b, s->text.p, n);
	for (uint32_t i = 0; i < s->ntargets; i++) {
		base_buf_puts(&b, i ? ", " : " ");
		base_buf_put(&b, s->targets[i].text.p, s->targets[i].text.n);
	}
	base_buf_puts(&b, ";");
	struct ptx_str text = {base_strndup(x->m->arena, b.p, b.n), (uint32_t)b.n};
	base_buf_free(&b);
	return text;
}

/* ---- statements ----------------------------------------------------------------------------- */

static void copy(struct clone *x, const struct ptx_stmt *s)
{
	struct ptx_stmt *c = BASE_NEW(x->m->arena, struct ptx_stmt);

	*c = *s;
	switch ((enum ptx_stmt_kind)s->kind) {
	case PTX_STMT_INST:
		c->ops = operands(x, s->ops, s->nops);
		c->text = PTX_STR("");
		break;
	case PTX_STMT_LABEL:
		c->label = own_label(x, s->label);
		break;
	case PTX_STMT_TARGETS:
		c->label = own_label(x, s->label);
		c->label->at = c;
		c->targets = operands(x, s->targets, s->ntargets);
		c->text = text_of_targets(x, c);
		break;
	case PTX_STMT_PROTO:
		c->label = own_label(x, s->label);
		c->label->at = c;
		break;
	default:
		break;
	}
	ptx_insert_before(x->to, NULL, c);
}

static void drop_unused_labels(struct clone *x)
{
	for (struct ptx_stmt *s = x->to->first, *next; s; s = next) {
		next = s->next;
		if (s->kind == PTX_STMT_LABEL && !s->mark)
			ptx_remove(x->to, s);
	}
}

static void mark_operand(const struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_SYM && op->flags & PTX_OPND_LABEL && op->label->at)
		op->label->at->mark = 1;
	if (op->kind == PTX_OPND_ADDR || op->kind == PTX_OPND_VEC || op->kind == PTX_OPND_LIST ||
	    op->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < op->nsub; i++)
			mark_operand(&op->sub[i]);
}

static void mark_used_labels(const struct clone *x)
{
	ptx_each_stmt(x->to, s) s->mark = 0;
	ptx_each_stmt(x->to, s)
	{
		for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++)
			mark_operand(&s->ops[i]);
		for (uint32_t i = 0; s->kind == PTX_STMT_TARGETS && i < s->ntargets; i++)
			mark_operand(&s->targets[i]);
	}
}

static void copy_registers(struct clone *x)
{
	const struct ptx_regnames *of = x->from->names;
	struct ptx_func *f = x->to;

	f->reg_type = BASE_NEWN(x->m->arena, uint8_t, f->nregs + 1u);
	if (f->nregs)
		memcpy(f->reg_type, x->from->reg_type, f->nregs);
	f->reg_cap = f->nregs;
	f->names = NULL;
	for (uint32_t i = 0; of && i < of->n; i++)
		ptx_regnames_add(x->m, f, of->decls[i]);
	if (of)
		f->names->declared = of->declared;
}

/* ---- the head ------------------------------------------------------------------------------- */

/* Without .visible and the like; more parameters of 64 bits at the end. */
static void make_head(struct clone *x, struct ptx_str name, const struct ptx_str *params,
		      unsigned n)
{
	const struct ptx_func *f = x->from;
	const char *end = f->head.p + f->head.n, *func = f->head.p, *last, *at;
	struct base_buf b = {0};

	while (func + 5 < end && memcmp(func, ".func", 5) != 0)
		func++;
	at = f->name.p + f->name.n;
	last = at;
	for (const struct ptx_param *p = f->params; p; p = p->next)
		last = p->text.p + p->text.n;
	base_buf_put(&b, func, (size_t)(f->name.p - func));
	base_buf_put(&b, name.p, name.n);
	base_buf_put(&b, at, (size_t)(last - at));
	if (f->nparams) {
		base_buf_puts(&b, ",\n\t");
	} else {
		while (last < end && *last != '(' && *last != '.')
			last++;
		if (last < end && *last == '(')
			while (last < end && *last++ != ')')
				;
		base_buf_puts(&b, "(");
	}
	for (unsigned i = 0; i < n; i++) {
		base_buf_puts(&b, i ? ",\n\t.param .b64 " : ".param .b64 ");
		base_buf_put(&b, params[i].p, params[i].n);
	}
	if (!f->nparams)
		base_buf_puts(&b, ")");
	base_buf_put(&b, last, (size_t)(end - last));
	x->to->name = (struct ptx_str){base_strndup(x->m->arena, name.p, name.n), name.n};
	x->to->head = (struct ptx_str){base_strndup(x->m->arena, b.p, b.n), (uint32_t)b.n};
	base_buf_free(&b);
}

struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, struct ptx_str name,
				const struct ptx_str *params, unsigned n)
{
	struct clone x = {.m = m, .from = f, .to = BASE_NEW(m->arena, struct ptx_func)};

	*x.to = *f;
	x.to->first = x.to->last = NULL;
	x.to->ninsts = 0;
	x.to->linkage = 0;
	x.labels = BASE_NEWN(m->arena, struct ptx_label *, f->nlabels + 1u);
	copy_registers(&x);
	make_head(&x, name, params, n);
	ptx_each_stmt(f, s) copy(&x, s);
	mark_used_labels(&x);
	drop_unused_labels(&x);
	return x.to;
}

struct ptx_func *ptx_proto_of(struct ptx_module *m, const struct ptx_func *f)
{
	struct ptx_func *proto = BASE_NEW(m->arena, struct ptx_func);

	*proto = *f;
	proto->first = proto->last = NULL;
	proto->ninsts = 0;
	proto->is_proto = true;
	return proto;
}
