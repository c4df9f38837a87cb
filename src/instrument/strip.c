/*
 * strip.c - removes what inst_run has inserted into a module.
 *
 * Insertions are recognised by the text alone, so that any module can be stripped that was
 * instrumented when it was built: an item, a label, a variable or a register of ours has a reserved
 * name (race/detector.h), and an instruction is ours if it names one and writes no register of the
 * program. An instruction that writes such a register is the program's: it reads a block's logical
 * id where the original reads %ctaid or %clusterid (shuffle/), and that operand is restored. A
 * scope that holds nothing but insertions is removed. Three statements name nothing of ours and are
 * recognised by their neighbours: `trap` after a branch of ours that leads around it,
 * `tcgen05.wait` after a tcgen05.ld or .st of ours, .pragma between an instruction and a label of
 * ours. A copy of the program's own code (prune/plain.c) stands between two labels of reserved
 * names. A call of a variant (called/called.c) calls the function itself again, without our
 * arguments.
 *
 * Misses: .maxnreg that the toolchain has given a kernel, and a raised .version, stay, and so does
 * the ret after a body that falls off its end.
 */
#include "instrument/internal.h"

#include <string.h>

struct strip {
	struct ptx_module *m;
	struct ptx_func *f;
	struct base_sink *sink;
};

static bool is_ours(struct ptx_str name)
{
	return race_is_inserted_name(name.p, name.n);
}

static bool is_our_reg(const struct strip *x, uint32_t reg)
{
	return reg != PTX_NO_REG && is_ours(ptx_reg_name(x->f, reg));
}

static bool names_ours(const struct strip *x, const struct ptx_opnd *o)
{
	switch ((enum ptx_opnd_kind)o->kind) {
	case PTX_OPND_REG:
		return is_our_reg(x, o->reg);
	case PTX_OPND_SYM:
		return is_ours(o->text);
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
	case PTX_OPND_LIST:
	case PTX_OPND_PAIR:
		for (unsigned i = 0; i < o->nsub; i++)
			if (names_ours(x, &o->sub[i]))
				return true;
		return false;
	default:
		return false;
	}
}

static bool inst_names_ours(const struct strip *x, const struct ptx_stmt *s)
{
	if (is_our_reg(x, s->pred))
		return true;
	for (unsigned i = 0; i < s->nops; i++)
		if (names_ours(x, &s->ops[i]))
			return true;
	return false;
}

/* The variant that a call calls; NULL: none. */
static struct ptx_opnd *variant_of(const struct ptx_stmt *s)
{
	for (unsigned i = 0; s->form->effects & PTX_EFF_CALL && i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_SYM &&
		    race_called_name(s->ops[i].text.p, s->ops[i].text.n))
			return &s->ops[i];
	return NULL;
}

static void call_original(struct ptx_stmt *s)
{
	struct ptx_opnd *to = variant_of(s), *list = to + 1;

	*to = ptx_opnd_sym(inst_name_of(to->text));
	while (list < s->ops + s->nops && list->nsub &&
	       list->sub[list->nsub - 1].kind == PTX_OPND_SYM &&
	       is_ours(list->sub[list->nsub - 1].text))
		list->nsub--;
	s->text = PTX_STR("");
}

struct writes {
	const struct strip *x;
	uint32_t reg; /* set if this one is written */
	bool has_theirs, has_reg;
};

static void note_write(uint32_t reg, bool is_write, void *arg)
{
	struct writes *w = arg;

	if (!is_write)
		return;
	w->has_theirs |= !is_our_reg(w->x, reg);
	w->has_reg |= reg == w->reg;
}

static bool writes_theirs(const struct strip *x, const struct ptx_stmt *s)
{
	struct writes w = {.x = x, .reg = PTX_NO_REG};

	ptx_each_reg(s, note_write, &w);
	return w.has_theirs;
}

/* The special register that a register of ours is first read from, or NULL. */
static const struct ptx_opnd *first_source(const struct strip *x, uint32_t reg)
{
	ptx_each_stmt(x->f, s)
	{
		struct writes w = {.x = x, .reg = reg};

		if (s->kind != PTX_STMT_INST)
			continue;
		ptx_each_reg(s, note_write, &w);
		if (w.has_reg)
			return s->form->op == PTX_OP_MOV && s->nops == 2 &&
					       s->ops[1].kind == PTX_OPND_SPECIAL
				       ? &s->ops[1]
				       : NULL;
	}
	return NULL;
}

/* Lets an instruction of the program read the hardware's ids again. */
static bool give_back(const struct strip *x, struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++) {
		struct ptx_opnd *o = &s->ops[i];

		if (!names_ours(x, o))
			continue;
		const struct ptx_opnd *from =
			o->kind == PTX_OPND_REG ? first_source(x, o->reg) : NULL;
		if (!from) {
			base_report(x->sink, BASE_ERROR, x->m->file,
				    (struct base_span){s->line, s->col},
				    "found Collider's '%.*s' in an instruction that none of its "
				    "passes writes",
				    (int)o->text.n, o->text.p);
			return false;
		}
		*o = *from;
		s->text = PTX_STR("");
	}
	return true;
}

/* An instruction without a name of ours, `last` being the one of ours right before it. */
static bool goes_with(const struct ptx_stmt *last, const struct ptx_stmt *s)
{
	const struct ptx_stmt *n = s->next;

	if (last->kind != PTX_STMT_INST)
		return false;
	switch (s->form->op) {
	case PTX_OP_TRAP:
		return n && n->kind == PTX_STMT_LABEL && is_ours(n->label->name) &&
		       ptx_target(last) == n->label;
	case PTX_OP_TCGEN05_WAIT:
		return last->form->op == PTX_OP_TCGEN05_LD || last->form->op == PTX_OP_TCGEN05_ST;
	default:
		return false;
	}
}

/* last: the statement before it, except for .loc. */
static bool is_inserted(const struct strip *x, const struct ptx_stmt *last,
			const struct ptx_stmt *s)
{
	bool is_after_ours = last && last->mark;

	switch ((enum ptx_stmt_kind)s->kind) {
	case PTX_STMT_LABEL:
		return is_ours(s->label->name);
	case PTX_STMT_REG:
		return s->regs && is_ours(s->regs->name);
	case PTX_STMT_VAR:
		return is_ours(s->var->name);
	case PTX_STMT_INST:
		return (is_after_ours && goes_with(last, s)) ||
		       (inst_names_ours(x, s) && !writes_theirs(x, s) && !variant_of(s));
	case PTX_STMT_PRAGMA:
		return is_after_ours && s->next && s->next->kind == PTX_STMT_LABEL &&
		       is_ours(s->next->label->name);
	default:
		return false;
	}
}

static bool is_label(const struct ptx_stmt *s, const char *name)
{
	return s->kind == PTX_STMT_LABEL && ptx_str_is(s->label->name, name);
}

/* Marks first and removes later: a statement's neighbours must still be there when it is examined.
 * Scopes that hold nothing else are marked with their contents. */
static void mark(const struct strip *x)
{
	const struct ptx_stmt *last = NULL;
	bool is_plain = false; /* in the copy of prune/plain.c */
	struct ptx_stmt *open[64];
	bool is_kept[64] = {false}, has_ours[64] = {false};
	unsigned depth = 0;

	ptx_each_stmt(x->f, s)
	{
		is_plain |= is_label(s, RACE_PLAIN_BEGIN);
		s->mark = is_plain || is_inserted(x, last, s);
		is_plain &= !is_label(s, RACE_PLAIN_END);
		if (s->kind != PTX_STMT_LOC)
			last = s;
		if (s->kind == PTX_STMT_OPEN) {
			open[depth] = s;
			is_kept[depth] = has_ours[depth] = false;
			depth++;
		} else if (s->kind == PTX_STMT_CLOSE && depth) {
			depth--;
			open[depth]->mark = s->mark = has_ours[depth] && !is_kept[depth];
			if (depth) {
				is_kept[depth - 1] |= !s->mark;
				has_ours[depth - 1] |= s->mark;
			}
		} else if (depth) {
			is_kept[depth - 1] |= !s->mark && s->kind != PTX_STMT_LOC;
			has_ours[depth - 1] |= s->mark;
		}
	}
}

static bool strip_function(struct strip *x)
{
	mark(x);
	ptx_each_stmt(x->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->mark)
			continue;
		if (variant_of(s))
			call_original(s);
		if (inst_names_ours(x, s) && !give_back(x, s))
			return false;
	}
	for (struct ptx_stmt *s = x->f->first, *next; s; s = next) {
		next = s->next;
		if (s->mark)
			ptx_remove(x->f, s);
	}
	return true;
}

unsigned inst_detectors_of(const struct ptx_module *m)
{
	unsigned set = 0, lent = 0;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_VAR)
			continue;
		set |= race_detector_marked(it->var->name.p, it->var->name.n);
		lent |= race_detector_lent(it->var->name.p, it->var->name.n);
	}
	return set & ~lent;
}

bool inst_strip(struct ptx_module *m, struct base_sink *sink)
{
	struct strip x = {.m = m, .sink = sink};
	bool verifies = inst_verifies() && inst_is_sound(m);

	for (struct ptx_item *it = m->first, *next; it; it = next) {
		next = it->next;
		bool is_func = it->kind == PTX_ITEM_FUNC;
		if ((is_func && is_ours(it->func->name)) ||
		    (it->kind == PTX_ITEM_VAR && is_ours(it->var->name))) {
			ptx_remove_item(m, it);
			continue;
		}
		x.f = is_func && !it->func->is_proto ? it->func : NULL;
		if (x.f && !strip_function(&x))
			return false;
	}
	return !verifies || inst_pass_end(m, INST_PASS_STRIP, NULL, sink);
}
