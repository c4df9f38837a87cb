/*
 * printer.c - PTX text from the IR.
 *
 * Instructions are spelled from their form, guard and operands; declarations,
 * directives and sections are the text their nodes hold. One tab before each
 * statement; comments inside bodies are dropped. The buffer is grown once per
 * statement by an upper bound and then written without checks: about 1 GB/s, and
 * the reason for the two-step shape of put_ and size_ functions.
 */
#include "ptx/ptx.h"

#include <string.h>

/* Upper bound for a statement's fixed parts: tab, guard's marks, separators. */
#define FIXED_ROOM 64
/* Upper bound for an operand's fixed parts: signs, brackets, a component, a 64-bit offset. */
#define OPND_ROOM 32

/* Texts are mostly short: overlapping words instead of a call. */
static inline char *put_word(char *w, struct ptx_str s)
{
	if (s.n > 16) {
		memcpy(w, s.p, s.n);
	} else if (s.n >= 8) {
		memcpy(w, s.p, 8);
		memcpy(w + s.n - 8, s.p + s.n - 8, 8);
	} else if (s.n >= 4) {
		memcpy(w, s.p, 4);
		memcpy(w + s.n - 4, s.p + s.n - 4, 4);
	} else if (s.n) {
		w[0] = s.p[0];
		w[s.n / 2] = s.p[s.n / 2];
		w[s.n - 1] = s.p[s.n - 1];
	}
	return w + s.n;
}

static char *put_u64(char *w, uint64_t v)
{
	char tmp[20];
	int n = 0;

	do
		tmp[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*w++ = tmp[--n];
	return w;
}

static size_t opnd_room(const struct ptx_opnd *o)
{
	size_t n = OPND_ROOM + o->text.n;

	if (o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST ||
	    o->kind == PTX_OPND_PAIR)
		for (uint32_t i = 0; i < o->nsub; i++)
			n += opnd_room(&o->sub[i]);
	return n;
}

static char *put_offset(char *w, const struct ptx_opnd *o)
{
	uint64_t v = (uint64_t)o->off;

	if (!(o->flags & PTX_OPND_HAS_OFF) && !v)
		return w;
	if (o->flags & PTX_OPND_MINUS) {
		*w++ = '-';
		v = 0 - v;
	} else {
		*w++ = '+';
	}
	if ((int64_t)v < 0) {
		*w++ = '-';
		v = 0 - v;
	}
	return put_u64(w, v);
}

static char *put_opnd(char *w, const struct ptx_opnd *o);

static char *put_subs(char *w, const struct ptx_opnd *o, char open, char close)
{
	*w++ = open;
	for (uint32_t i = 0; i < o->nsub; i++) {
		if (i) {
			*w++ = ',';
			*w++ = ' ';
		}
		w = put_opnd(w, &o->sub[i]);
		if (i == 0 && o->kind == PTX_OPND_ADDR)
			w = put_offset(w, o);
	}
	*w++ = close;
	return w;
}

static char *put_opnd(char *w, const struct ptx_opnd *o)
{
	if (o->flags & PTX_OPND_NOT)
		*w++ = '!';
	if (o->flags & PTX_OPND_NEG)
		*w++ = '-';
	switch ((enum ptx_opnd_kind)o->kind) {
	case PTX_OPND_REG:
		w = put_word(w, o->text);
		if (o->comp && o->comp != PTX_COMP_SELECT) {
			*w++ = '.';
			*w++ = "xyzw"[(o->comp - 1) & 3];
		}
		return put_offset(w, o);
	case PTX_OPND_ADDR:
		return put_word(put_subs(w, o, '[', ']'), o->text);
	case PTX_OPND_VEC:
		return put_subs(w, o, '{', '}');
	case PTX_OPND_LIST:
		return put_subs(w, o, '(', ')');
	case PTX_OPND_PAIR:
		w = put_opnd(w, &o->sub[0]);
		*w++ = '|';
		return put_opnd(w, &o->sub[1]);
	case PTX_OPND_SINK:
		*w++ = '_';
		return w;
	case PTX_OPND_SYM:
	case PTX_OPND_HOLE:
		return put_offset(put_word(w, o->text), o);
	case PTX_OPND_SPECIAL:
	case PTX_OPND_INT:
	case PTX_OPND_F32:
	case PTX_OPND_F64:
	case PTX_OPND_EXPR:
		break;
	}
	return put_word(w, o->text);
}

static void print_inst(const struct ptx_func *f, const struct ptx_stmt *s, struct base_buf *out)
{
	size_t room = FIXED_ROOM + s->form->text.n;
	struct ptx_str guard = s->pred_text;

	if (s->pred != PTX_NO_REG)
		guard = ptx_reg_name(f, s->pred);
	room += guard.n;
	for (uint32_t i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];

		room += o->nsub ? opnd_room(o) : OPND_ROOM + o->text.n;
	}
	if (out->cap - out->n < room)
		base_buf_room(out, room);

	char *w = out->p + out->n;

	if (guard.n) {
		*w++ = '@';
		if (s->is_pred_not)
			*w++ = '!';
		w = put_word(w, guard);
		*w++ = ' ';
	}
	w = put_word(w, s->form->text);
	for (uint32_t i = 0; i < s->nops; i++) {
		if (i)
			*w++ = ',';
		*w++ = ' ';
		const struct ptx_opnd *o = &s->ops[i];

		if (o->kind == PTX_OPND_REG && !o->comp && !o->flags)
			w = put_word(w, o->text);
		else
			w = put_opnd(w, o);
	}
	*w++ = ';';
	out->n = (size_t)(w - out->p);
}

static void put(struct base_buf *out, struct ptx_str s)
{
	base_buf_put(out, s.p, s.n);
}

static void put_number(struct base_buf *out, uint64_t v)
{
	base_buf_room(out, 20);
	out->n = (size_t)(put_u64(out->p + out->n, v) - out->p);
}

static void print_regs(const struct ptx_regdecl *d, struct base_buf *out)
{
	base_buf_puts(out, ".reg ");
	if (d->vec > 1) {
		base_buf_puts(out, ".v");
		put_number(out, d->vec);
		base_buf_puts(out, " ");
	}
	base_buf_puts(out, ".");
	base_buf_puts(out, ptx_type_name((enum ptx_type)d->type));
	base_buf_puts(out, " ");
	for (const struct ptx_regdecl *first = d; d; d = d->next) {
		if (d != first)
			base_buf_puts(out, ", ");
		put(out, d->name);
		if (d->is_family) {
			base_buf_puts(out, "<");
			put_number(out, d->count);
			base_buf_puts(out, ">");
		}
	}
	base_buf_puts(out, ";");
}

void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct base_buf *out)
{
	switch ((enum ptx_stmt_kind)s->kind) {
	case PTX_STMT_INST:
		print_inst(f, s, out);
		break;
	case PTX_STMT_LABEL:
		put(out, s->label->name);
		base_buf_put(out, ":", 1);
		break;
	case PTX_STMT_REG:
		print_regs(s->regs, out);
		break;
	case PTX_STMT_VAR:
		put(out, s->var->text);
		base_buf_puts(out, ";");
		break;
	case PTX_STMT_LOC:
		put(out, s->loc->text);
		break;
	case PTX_STMT_OPEN:
		base_buf_put(out, "{", 1);
		break;
	case PTX_STMT_CLOSE:
		base_buf_put(out, "}", 1);
		break;
	case PTX_STMT_TARGETS:
	case PTX_STMT_PROTO:
		put(out, s->label->name);
		base_buf_puts(out, ": ");
		put(out, s->text);
		break;
	case PTX_STMT_PRAGMA:
	case PTX_STMT_RAW:
		put(out, s->text);
		break;
	}
}

void ptx_print_func(const struct ptx_func *f, struct base_buf *out)
{
	put(out, f->head);
	if (f->extra_attrs.n) {
		base_buf_puts(out, "\n");
		put(out, f->extra_attrs);
	}
	if (f->is_proto) {
		base_buf_puts(out, "\n;\n");
		return;
	}
	base_buf_puts(out, "\n{\n");
	ptx_each_stmt(f, s)
	{
		if (out->cap - out->n < 1)
			base_buf_room(out, 1);
		if (s->kind != PTX_STMT_LABEL)
			out->p[out->n++] = '\t';
		if (s->kind == PTX_STMT_INST)
			print_inst(f, s, out);
		else
			ptx_print_stmt(f, s, out);
		if (out->cap - out->n < 1)
			base_buf_room(out, 1);
		out->p[out->n++] = '\n';
	}
	base_buf_puts(out, "}\n");
}

void ptx_print(const struct ptx_module *m, struct base_buf *out)
{
	/* usually enough: separators get shorter, comments vanish */
	base_buf_room(out, (size_t)m->source.n + m->source.n / 16 + 256);
	if (m->header.n) {
		put(out, m->header);
		base_buf_puts(out, "\n");
	}
	base_buf_printf(out, ".version %u.%u\n", m->ver_major, m->ver_minor);
	if (m->target_text.n) {
		base_buf_puts(out, ".target ");
		put(out, m->target_text);
		base_buf_puts(out, "\n");
	}
	if (m->has_address_size)
		base_buf_printf(out, ".address_size %u\n", m->address_size);
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC) {
			ptx_print_func(it->func, out);
			continue;
		}
		put(out, it->kind == PTX_ITEM_VAR ? it->var->text : it->text);
		base_buf_puts(out, it->kind == PTX_ITEM_VAR ? ";\n" : "\n");
	}
}
