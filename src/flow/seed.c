/*
 * seed.c - a load that does nothing but begin a compare-and-swap loop.
 *
 *	old = *a;
 *	do { assumed = old; old = atomicCAS(a, assumed, f(assumed)); } while (old != assumed);
 *
 * The CUDA guide writes it so. Whatever the load reads, a wrong value makes the compare-and-swap
 * fail, which returns the right one.
 *
 * How: all registers that may hold something computed from the value are followed, whatever they
 * are set to in between, by pure instructions only. Each other use must be one of a
 * compare-and-swap of the very bytes that the load reads: what is compared, the new value, or the
 * comparison of the result with the loop's register. A predicate that is computed from the value
 * may choose between two values (the new one, of a minimum), and no way.
 * Misses: values that more than 32 registers carry on or 256 instructions use, addresses of which
 * it isn't clear that they are equal, loads of a part of what is swapped.
 */
#include "flow/priv.h"

#include <string.h>

#define REGS 32
#define USES 256

struct seed {
	struct flow *fl;
	const struct ptx_stmt *load, *cas;
	uint32_t reg[REGS];
	uint32_t n;
};

static bool is_cas(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && s->form->op == PTX_OP_ATOM &&
	       ptx_form_has(s->form, PTX_MOD_CAS) && s->nops == 4;
}

/* An address: a variable, or a register, and bytes beside it. */
struct address {
	struct ptx_str sym;
	uint32_t reg; /* PTX_NO_REG: of the variable */
	int64_t off;
	bool is_known;
};

static struct address address_of(struct flow *fl, const struct ptx_opnd *o);

/* A register that one statement defines, from a variable, or from another one and a constant. */
static struct address address_in(struct flow *fl, uint32_t reg, unsigned depth)
{
	struct address a = {.reg = reg};
	uint32_t n;
	struct ptx_stmt *const *defs = flow_defs(fl, reg, &n);
	const struct ptx_stmt *d = n == 1 ? defs[0] : NULL;

	if (!d || d->kind != PTX_STMT_INST)
		return a;
	a.is_known = true;
	if (d->pred != PTX_NO_REG || depth > 4)
		return a;
	if ((d->form->op == PTX_OP_MOV || d->form->op == PTX_OP_CVTA) && d->nops == 2) {
		if (d->ops[1].kind == PTX_OPND_SYM)
			return address_of(fl, &d->ops[1]);
		if (d->ops[1].kind == PTX_OPND_REG)
			return address_in(fl, d->ops[1].reg, depth + 1);
	}
	if (d->form->op == PTX_OP_ADD && d->nops == 3 && d->ops[1].kind == PTX_OPND_REG &&
	    d->ops[2].kind == PTX_OPND_INT) {
		a = address_in(fl, d->ops[1].reg, depth + 1);
		a.off += d->ops[2].imm;
	}
	return a;
}

static struct address address_of(struct flow *fl, const struct ptx_opnd *o)
{
	struct address a = {.reg = PTX_NO_REG, .sym = o->text, .off = o->off, .is_known = true};

	if (o->kind == PTX_OPND_SYM)
		return a;
	if (o->kind != PTX_OPND_ADDR || o->nsub != 1)
		return (struct address){.is_known = false};
	if (o->sub->kind == PTX_OPND_REG)
		a = address_in(fl, o->sub->reg, 0);
	else
		a = address_of(fl, o->sub);
	a.off += o->off;
	return a;
}

/* Of the load's very bytes? */
static bool is_there(const struct seed *x, const struct ptx_stmt *cas)
{
	struct address a = address_of(x->fl, &x->load->ops[1]);
	struct address b = address_of(x->fl, &cas->ops[1]);

	if (!a.is_known || !b.is_known || a.reg != b.reg || a.off != b.off ||
	    x->load->form->width != cas->form->width)
		return false;
	return a.reg != PTX_NO_REG || (a.sym.n == b.sym.n && !memcmp(a.sym.p, b.sym.p, a.sym.n));
}

static bool is_mine(const struct seed *x, const struct ptx_opnd *o)
{
	for (uint32_t i = 0; o->kind == PTX_OPND_REG && i < x->n; i++)
		if (x->reg[i] == o->reg)
			return true;
	return false;
}

static bool add(struct seed *x, uint32_t reg)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->reg[i] == reg)
			return true;
	if (x->n == REGS)
		return false;
	x->reg[x->n++] = reg;
	return true;
}

/* Does nothing but such a compare-and-swap define the register, or a copy of its result? */
static bool is_result(const struct seed *x, const struct ptx_opnd *o, unsigned depth)
{
	uint32_t n;

	if (o->kind != PTX_OPND_REG || depth > 4)
		return false;
	struct ptx_stmt *const *defs = flow_defs(x->fl, o->reg, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_stmt *d = defs[i];
		if (is_cas(d) && is_there(x, d))
			continue;
		if (d->kind != PTX_STMT_INST || d->form->op != PTX_OP_MOV || d->nops != 2 ||
		    !is_result(x, &d->ops[1], depth + 1))
			return false;
	}
	return n != 0;
}

/* `while (assumed != old)` */
static bool is_loop_test(const struct seed *x, const struct ptx_stmt *s)
{
	if (s->form->op != PTX_OP_SETP || s->nops != 3 ||
	    !(ptx_form_has(s->form, PTX_MOD_EQ) || ptx_form_has(s->form, PTX_MOD_NE)))
		return false;
	return is_result(x, &s->ops[1], 0) || is_result(x, &s->ops[2], 0);
}

/* One use of a register that may hold something of the value. */
static bool is_good(struct seed *x, const struct ptx_stmt *s, uint32_t reg)
{
	const struct ptx_opnd *to = s->ops;

	if (s->kind != PTX_STMT_INST)
		return false;
	if (is_cas(s) && is_there(x, s)) {
		x->cas = s;
		return s->pred != reg;
	}
	if (is_loop_test(x, s) && s->pred != reg)
		return true;
	if (!flow_is_pure(s) || !s->nops)
		return false;
	if (to->kind == PTX_OPND_REG)
		return add(x, to->reg);
	if (to->kind != PTX_OPND_VEC && to->kind != PTX_OPND_PAIR)
		return false;
	for (unsigned i = 0; i < to->nsub; i++)
		if (to->sub[i].kind == PTX_OPND_REG && !add(x, to->sub[i].reg))
			return false;
	return true;
}

bool flow_is_seed(struct flow *fl, const struct ptx_stmt *load)
{
	struct seed x = {.fl = fl, .load = load};
	uint64_t nuses = 0;

	if (load->kind != PTX_STMT_INST || load->form->op != PTX_OP_LD || load->nops != 2 ||
	    load->ops[0].kind != PTX_OPND_REG || load->pred != PTX_NO_REG)
		return false;
	add(&x, load->ops[0].reg);
	for (uint32_t i = 0; i < x.n; i++) {
		uint32_t n;
		struct ptx_stmt *const *uses = flow_uses(fl, x.reg[i], &n);

		nuses += n;
		if (nuses > USES)
			return false;
		for (uint32_t k = 0; k < n; k++)
			if (!is_good(&x, uses[k], x.reg[i]))
				return false;
	}
	return x.cas && is_mine(&x, &x.cas->ops[2]);
}
