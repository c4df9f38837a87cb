/*
 * decode_call.c - what calls move: arguments, results, .reg parameters.
 *
 * All arguments go through the .param area of the callee's depth, laid out by
 * the callee's declaration (by the caller's variables where the callee isn't
 * known: they agree in size and alignment in every valid program). A register
 * or constant among the operands is first stored to a hidden variable of the
 * caller's area; a result in a register is loaded from one after the call; a
 * callee with .reg parameters loads them at its entry and stores its results
 * before each ret. So control.c copies bytes and nothing else.
 */
#include "cpu/load/decode.h"

#include <string.h>

#define HIDDEN_BYTES 16u /* of each operand in a register */

static uint8_t *area(struct cpu_warp *w, unsigned lane, uint64_t off)
{
	size_t stride = w->grid->func->layout->param;

	return w->params + ((size_t)w->cur->depth * CPU_WARP + lane) * stride + off;
}

/* Slot to .param area, or back: src[0] or dst[0], class in sub, offset in imm. */
static enum cpu_step exec_put(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	size_t n = cpu_class_bytes[in->sub] / CPU_WARP;
	uint8_t *slot = cpu_slot(w, in->src[0]);

	CPU_EACH_LANE (l, mask) {
		uint8_t *to = area(w, l, in->imm);
		if (in->sub == CPU_B128) {
			memcpy(to, slot + l * 8, 8);
			memcpy(to + 8, slot + 256 + l * 8, 8);
		} else if (in->sub == CPU_PRED) {
			uint32_t bits;
			memcpy(&bits, slot, 4);
			*to = bits >> l & 1u;
		} else {
			memcpy(to, slot + l * n, n);
		}
	}
	return CPU_OK;
}

static enum cpu_step exec_get(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	size_t n = cpu_class_bytes[in->sub] / CPU_WARP;
	uint8_t *slot = cpu_slot(w, in->dst[0]);

	CPU_EACH_LANE (l, mask) {
		const uint8_t *from = area(w, l, in->imm);
		if (in->sub == CPU_B128) {
			memcpy(slot + l * 8, from, 8);
			memcpy(slot + 256 + l * 8, from + 8, 8);
		} else if (in->sub == CPU_PRED) {
			cpu_set_pred(w, in->dst[0], (uint32_t)(*from & 1u) << l, 1u << l);
		} else {
			memcpy(slot + l * n, from, n);
		}
	}
	return CPU_OK;
}

static struct cpu_inst move(struct cpu_dec *d, const struct ptx_stmt *s, bool is_put, uint32_t slot,
			    enum cpu_class cls, uint32_t off)
{
	struct cpu_inst in = dec_new_inst(d, s);

	in.fn = is_put ? exec_put : exec_get;
	if (is_put)
		in.src[0] = slot;
	else
		in.dst[0] = slot;
	in.sub = (uint8_t)cls;
	in.imm = off;
	return in;
}

/* ---- .reg parameters ---------------------------------------------------------------- */

static void move_reg_params(struct cpu_dec *d, const struct ptx_stmt *s,
			    const struct ptx_param *list, bool is_put)
{
	uint32_t off, slot;

	for (const struct ptx_param *p = list; p; p = p->next) {
		if (p->reg >= d->f->nregs || !dec_own_param(d, p->name, &off))
			continue;
		slot = dec_reg_slot(d, p->reg, 0);
		if (slot == CPU_NOSLOT)
			continue;
		struct cpu_inst in = move(d, s, is_put, slot, dec_reg_class(d, p->reg), off);
		if (!is_put)
			in.guard = CPU_NOSLOT;
		dec_push(d, s, &in);
	}
}

void dec_enter(struct cpu_dec *d, const struct ptx_stmt *s)
{
	move_reg_params(d, s, d->f->params, false);
}

void dec_leave(struct cpu_dec *d, const struct ptx_stmt *s)
{
	move_reg_params(d, s, d->f->rets, true);
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool is_in_reg(const struct ptx_opnd *op)
{
	return op->kind != PTX_OPND_SYM;
}

uint32_t dec_call_hidden(const struct ptx_stmt *s)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < s->nops; i++)
		for (unsigned k = 0; s->ops[i].kind == PTX_OPND_LIST && k < s->ops[i].nsub; k++)
			n += is_in_reg(&s->ops[i].sub[k]);
	return n * HIDDEN_BYTES;
}

struct lists {
	const struct ptx_opnd *rets, *callee, *args;
};

static struct lists split(const struct ptx_stmt *s)
{
	struct lists ls = {0};

	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if (o->kind == PTX_OPND_LIST && !ls.callee)
			ls.rets = o;
		else if (o->kind == PTX_OPND_LIST && !ls.args)
			ls.args = o;
		else if (!ls.callee)
			ls.callee = o;
	}
	return ls;
}

/* One side of a call. */
struct side {
	const struct ptx_opnd *list;
	const struct ptx_param *params; /* of the callee; NULL: not known */
	bool is_ret;
	uint32_t there; /* where the callee's next variable may start */
};

static void move_operand(struct cpu_dec *d, const struct ptx_stmt *s, const struct side *sd,
			 const struct ptx_opnd *op, struct cpu_arg *a, uint32_t *hidden)
{
	enum ptx_type t = sd->params ? (enum ptx_type)sd->params->type : PTX_TYPE_B32;
	enum cpu_class cls = op->kind == PTX_OPND_REG ? dec_reg_class(d, op->reg) : cpu_class_of(t);
	struct cpu_inst in;

	a->here = d->lf->f.own + *hidden;
	*hidden += HIDDEN_BYTES;
	if (sd->is_ret) {
		in = move(d, s, false, cpu_dec_dst(d, op), cls, a->here);
		if (op->kind != PTX_OPND_SINK && d->nbehind < DEC_FAKES)
			d->behind[d->nbehind++] = in;
		else if (op->kind != PTX_OPND_SINK)
			d->bad = "more results in registers than the CPU device moves";
		return;
	}
	in = move(d, s, true, cpu_dec_src(d, op, t), cls, a->here);
	dec_push(d, s, &in);
}

/* Fills arguments or results; returns their number. */
static uint32_t fill(struct cpu_dec *d, const struct ptx_stmt *s, struct side *sd,
		     struct cpu_arg *out, uint32_t *hidden)
{
	uint32_t n = 0, addr;

	for (unsigned i = 0; sd->list && i < sd->list->nsub; i++) {
		const struct ptx_opnd *op = &sd->list->sub[i];
		struct cpu_arg *a = &out[n++];
		uint32_t align = 1;
		if (is_in_reg(op)) {
			move_operand(d, s, sd, op, a, hidden);
			a->bytes = cpu_dec_bytes(d, op, PTX_TYPE_B32);
			align = a->bytes = a->bytes ? a->bytes : 1;
		} else if (cpu_dec_param(d, op, &addr, &a->bytes) && addr >= CPU_PARAM_AREA) {
			a->here = addr - CPU_PARAM_AREA;
			align = op->flags & PTX_OPND_VAR ? load_var_align(op->var) : a->bytes;
		} else {
			d->bad = "a call's operand that is no .param variable of this function";
			return 0;
		}
		if (sd->params) {
			align = load_param_align(sd->params);
			if (sd->params->bytes)
				a->bytes = (uint32_t)sd->params->bytes;
			sd->params = sd->params->next;
		}
		a->there = dec_place(&sd->there, a->bytes, align);
		if (sd->there > d->layout->param) {
			d->bad = "a call whose operands do not fit its callee's parameters";
			return 0;
		}
	}
	return n;
}

static void find_callee(struct cpu_dec *d, const struct ptx_opnd *op, struct cpu_call *c,
			struct side *args, struct side *rets)
{
	struct load_name *nm = NULL;
	uint32_t args_at = 0, rets_at = 0;

	if (op->kind == PTX_OPND_REG) {
		c->slot = cpu_dec_src(d, op, PTX_TYPE_B64);
		return;
	}
	if (op->kind == PTX_OPND_SYM)
		nm = load_find(d->mod, d->lf->part, op->text);
	if (nm && nm->func && nm->func->why) {
		d->bad = nm->func->why;
	} else if (nm && nm->func && !nm->func->f.ptx->is_entry) {
		c->callee = &nm->func->f;
		args->params = c->callee->ptx->params;
		rets->params = c->callee->ptx->rets;
		rets->there = c->callee->rets;
	} else if (nm && nm->syscall) {
		c->syscall = cpu_syscall_find(nm->text.p, &args_at, &rets_at);
		args->there = args_at;
		rets->there = rets_at;
	} else {
		d->bad = "a call of a function that is not defined";
	}
}

const struct cpu_call *cpu_dec_call(struct cpu_dec *d, const struct ptx_stmt *s,
				    struct cpu_inst *in)
{
	struct lists ls = split(s);
	struct side args = {.list = ls.args}, rets = {.list = ls.rets, .is_ret = true};
	struct cpu_call *c = cpu_dec_alloc(d, sizeof(*c));
	uint32_t hidden = 0;

	c->slot = CPU_NOSLOT;
	if (!ls.callee) {
		cpu_dec_unsupported(d, in, "a call without a callee");
		return NULL;
	}
	find_callee(d, ls.callee, c, &args, &rets);
	/* hidden variables lie at `own` + 0 ...: load.c keeps that much free there */
	c->args = cpu_dec_alloc(d, sizeof(*c->args) * (ls.args ? ls.args->nsub + 1u : 1u));
	c->rets = cpu_dec_alloc(d, sizeof(*c->rets) * (ls.rets ? ls.rets->nsub + 1u : 1u));
	c->nargs = fill(d, s, &args, c->args, &hidden);
	if (!c->callee && !c->syscall)
		rets.there = LOAD_ALIGN(args.there, 16u);
	c->nrets = fill(d, s, &rets, c->rets, &hidden);
	if (d->bad) {
		cpu_dec_unsupported(d, in, d->bad);
		return NULL;
	}
	return c;
}
