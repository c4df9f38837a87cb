/*
 * plain.c - the program's own code once more, without checks, for launches that need none.
 *
 * Where all accesses of a kernel are left out for the launches that keep to a contract (prune.c),
 * one branch at the entry says so for all of them: after it stands a copy of the body. The other
 * body is the checked one. So a launch that keeps to the contract pays for the contract alone, not
 * for a branch beside each access, nor for the numbers and tables that the checks need.
 *
 * The copy has the body's registers, variables and parameters and labels of its own, and nothing
 * that other detectors have put into the body. It stands between two labels of reserved names, by
 * which strip.c finds it.
 *
 * needs: called after inst_end_body, before anything else of the detector at work is put into the
 * body; nothing of the program's statements has changed (shuffle/ does that).
 * Misses: kernels with indirect branches or calls, or storage declared inside of a scope: they keep
 * the branches. Costs: the kernel's size once more.
 */
#include "instrument/internal.h"

#include "race/detector.h"

#include <string.h>

struct copier {
	struct inst_ctx *cx;
	struct ptx_label **labels; /* by id, or NULL */
	uint32_t nlabels;
};

static struct ptx_label *our_label(struct copier *x, const struct ptx_label *l)
{
	if (!x->labels[l->id])
		x->labels[l->id] = ptx_new_label(x->cx->m, x->cx->f);
	return x->labels[l->id];
}

static struct ptx_opnd operand(struct copier *x, const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_SYM && op->flags & PTX_OPND_LABEL
		       ? ptx_opnd_label(our_label(x, op->label))
		       : *op;
}

static void copy(struct copier *x, const struct ptx_stmt *s, inst_copied_fn *before, void *arg)
{
	struct ptx_stmt *c;

	if (s->kind == PTX_STMT_LABEL) {
		inst_emit_label(x->cx, NULL, our_label(x, s->label));
		return;
	}
	if (s->kind == PTX_STMT_INST && before)
		before(x->cx, s, arg);
	c = ptx_new_stmt(x->cx->m, (enum ptx_stmt_kind)s->kind);
	*c = *s;
	c->prev = c->next = NULL;
	c->is_copy = !s->inserted;
	c->inserted = true;
	c->line = c->col = 0;
	if (s->kind == PTX_STMT_INST) {
		c->ops = BASE_NEWN(x->cx->m->arena, struct ptx_opnd, s->nops);
		for (unsigned i = 0; i < s->nops; i++)
			c->ops[i] = operand(x, &s->ops[i]);
		c->text = PTX_STR(""); /* it has the old labels */
	}
	ptx_insert_before(x->cx->f, NULL, c);
}

static bool can_copy(const struct ptx_stmt *s, unsigned depth)
{
	switch ((enum ptx_stmt_kind)s->kind) {
	case PTX_STMT_TARGETS:
	case PTX_STMT_PROTO:
	case PTX_STMT_RAW:
		return false;
	case PTX_STMT_VAR:
		return depth == 0 || s->var->space == PTX_SPACE_PARAM;
	default:
		return true;
	}
}

bool inst_can_copy(const struct inst_ctx *cx)
{
	const struct ptx_func *f = cx->f;
	unsigned depth = 0;

	for (const struct ptx_stmt *s = f->first; s; s = s->next) {
		depth += s->kind == PTX_STMT_OPEN;
		depth -= s->kind == PTX_STMT_CLOSE;
		if (!can_copy(s, depth))
			return false;
	}
	return true;
}

static struct ptx_label *named(struct inst_ctx *cx, struct ptx_str name)
{
	struct ptx_label *l = ptx_new_label(cx->m, cx->f);

	l->name = name;
	return l;
}

bool inst_is_all_pruned(const struct inst_ctx *cx, const struct inst_events *ev)
{
	/* Each detector has its contract and its own code at the entry. */
	if (!ev->has_pruned || cx->opt->sanitize & (cx->opt->sanitize - 1u))
		return false;
	for (const struct inst_event *e = ev->first; e; e = e->next)
		if (e->kind == INST_EVENT_ACCESS && !e->is_pruned)
			return false;
	return true;
}

struct ptx_label *inst_copy_body(struct inst_ctx *cx, inst_copied_fn *before, void *arg)
{
	const struct ptx_stmt *last = cx->f->last;
	struct copier x = {.cx = cx, .nlabels = cx->f->nlabels};
	struct ptx_label *begin;
	unsigned depth = 0;

	if (!inst_can_copy(cx))
		return NULL;
	x.labels = BASE_NEWN(&cx->scratch, struct ptx_label *, x.nlabels + 1);
	begin = named(cx, PTX_STR(RACE_PLAIN_BEGIN));
	inst_emit_label(cx, NULL, begin);
	/* The last of ours is a way out, where control may fall off the end. */
	for (const struct ptx_stmt *s = cx->f->first;; s = s->next) {
		bool is_declared = s->kind == PTX_STMT_REG || s->kind == PTX_STMT_VAR;

		depth += s->kind == PTX_STMT_OPEN;
		if ((depth || !is_declared) && (!s->inserted || s == last))
			copy(&x, s, before, arg);
		depth -= s->kind == PTX_STMT_CLOSE;
		if (s == last)
			break;
	}
	inst_emit_label(cx, NULL, named(cx, PTX_STR(RACE_PLAIN_END)));
	return begin;
}

struct ptx_stmt *inst_next_way_out(const struct ptx_label *copy, struct ptx_stmt *from)
{
	struct ptx_stmt *s = from ? from->next : copy->at;

	while (s && !(s->kind == PTX_STMT_INST &&
		      (s->form->op == PTX_OP_RET || s->form->op == PTX_OP_EXIT)))
		s = s->next;
	return s;
}
