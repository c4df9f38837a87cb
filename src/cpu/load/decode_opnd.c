/*
 * decode_opnd.c - operands: which slot, constant or address an operand denotes.
 *
 * Constants are slots, too, in memory of the function's own, one for each value
 * and class, so that a handler reads every operand in the same way. Anything that is neither a
 * constant nor a register (a special register, the address of a .local variable) is computed into a
 * temporary by an instruction inserted before. If an operand is impossible (undefined name, too
 * many temporaries), the whole instruction faults when it is executed.
 */
#include "cpu/load/decode.h"

#include <string.h>

static uint32_t bad(struct cpu_dec *d, const char *why)
{
	if (!d->bad)
		d->bad = why;
	return CPU_NOSLOT;
}

static uint32_t class_slot(const struct cpu_dec *d, enum cpu_class cls, uint32_t n)
{
	return d->layout->start[cls] + n * cpu_class_bytes[cls];
}

/* ---- registers ------------------------------------------------------------------ */

enum cpu_class dec_reg_class(struct cpu_dec *d, uint32_t reg)
{
	if (reg >= DEC_FAKE_REG)
		return (enum cpu_class)d->fake_cls[reg - DEC_FAKE_REG];
	return (enum cpu_class)d->lf->slots->cls[reg];
}

uint32_t dec_reg_slot(struct cpu_dec *d, uint32_t reg, unsigned comp)
{
	const struct cpu_slots *sl = d->lf->slots;
	uint32_t n = reg;

	if (reg >= DEC_FAKE_REG)
		return d->fake[reg - DEC_FAKE_REG];
	if (reg >= d->f->nregs)
		return bad(d, "a register that is not declared");
	if (sl->vec && sl->vec[reg] > 1) {
		if (comp == 0 || comp > sl->vec[reg])
			return bad(d, "a vector register where one element is expected");
		n = sl->comps[reg] + comp - 1;
	} else if (comp && comp != PTX_COMP_SELECT) {
		return bad(d, "a component of a register that is no vector");
	}
	if (sl->slot[n] == CPU_NOSLOT)
		return bad(d, "a register that has no place");
	return class_slot(d, (enum cpu_class)sl->cls[n], sl->slot[n]);
}

uint32_t cpu_dec_dst(struct cpu_dec *d, const struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_SINK)
		return CPU_NOSLOT;
	if (op->kind != PTX_OPND_REG)
		return bad(d, "a destination that is no register");
	return dec_reg_slot(d, op->reg, op->comp);
}

uint32_t cpu_dec_temp(struct cpu_dec *d, enum cpu_class cls)
{
	uint32_t n = d->ntemps[cls];

	if (n >= dec_temps[cls])
		return bad(d, "more temporary values than the CPU device keeps");
	d->ntemps[cls]++;
	return class_slot(d, cls, d->layout->count[cls] - dec_temps[cls] + n);
}

unsigned cpu_dec_bytes(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	static const uint8_t bytes[CPU_CLASSES] = {0, 2, 4, 8, 16};

	if (op->kind == PTX_OPND_REG && op->reg < d->f->nregs) {
		enum ptx_type rt = (enum ptx_type)d->f->reg_type[op->reg];
		unsigned n = ptx_type_bytes(rt);
		return rt == PTX_TYPE_PRED ? 0 : n ? n : 4;
	}
	if (op->kind == PTX_OPND_REG && op->reg >= DEC_FAKE_REG)
		return bytes[dec_reg_class(d, op->reg)];
	return t == PTX_TYPE_PRED ? 0 : ptx_type_bytes(t);
}

bool cpu_dec_is_not(const struct ptx_opnd *op)
{
	return (op->flags & PTX_OPND_NOT) != 0;
}

unsigned cpu_dec_elems(struct cpu_dec *d, const struct ptx_opnd *op, struct ptx_opnd *out,
		       unsigned max)
{
	const struct cpu_slots *sl = d->lf->slots;

	if (op->kind == PTX_OPND_VEC) {
		if (op->nsub > max)
			return 0;
		for (unsigned i = 0; i < op->nsub; i++)
			out[i] = op->sub[i];
		return op->nsub;
	}
	if (op->kind == PTX_OPND_REG && !op->comp && op->reg < d->f->nregs && sl->vec &&
	    sl->vec[op->reg] > 1) {
		unsigned n = sl->vec[op->reg];
		for (unsigned i = 0; i < n && i < max; i++) {
			out[i] = *op;
			out[i].comp = (uint8_t)(i + 1);
		}
		return n <= max ? n : 0;
	}
	out[0] = *op;
	return 1;
}

/* ---- constants ------------------------------------------------------------------- */

static void broadcast(uint8_t *p, uint64_t value, enum cpu_class cls)
{
	uint32_t all = value ? UINT32_MAX : 0;

	if (cls == CPU_PRED)
		memcpy(p, &all, sizeof(all));
	for (unsigned l = 0; l < CPU_WARP; l++) {
		uint16_t h = (uint16_t)value;
		uint32_t w = (uint32_t)value;
		if (cls == CPU_B16)
			memcpy(p + l * 2, &h, 2);
		else if (cls == CPU_B32)
			memcpy(p + l * 4, &w, 4);
		else if (cls >= CPU_B64) /* of B128 the low half */
			memcpy(p + l * 8, &value, 8);
	}
}

static uint32_t constant(struct cpu_dec *d, uint64_t value, enum cpu_class cls, bool is_shared)
{
	struct dec_const *c, probe;

	if (cls == CPU_PRED)
		value = value != 0;
	else if (cls == CPU_B16)
		value &= UINT16_MAX;
	else if (cls == CPU_B32)
		value &= UINT32_MAX;
	probe.key.value = value;
	probe.key.cls = (uint64_t)cls;
	probe.key.is_shared = is_shared;
	HASH_FIND(hh, d->consts, &probe.key, sizeof(probe.key), c);
	if (c)
		return c->off | CPU_SLOT_CONST;
	c = BASE_NEW(&d->scratch, struct dec_const);
	c->key = probe.key;
	c->off = (uint32_t)d->cdata.n;
	HASH_ADD(hh, d->consts, key, sizeof(c->key), c);
	size_t bytes = LOAD_ALIGN((size_t)cpu_class_bytes[cls], (size_t)64);
	base_buf_room(&d->cdata, bytes);
	memset(d->cdata.p + d->cdata.n, 0, bytes);
	broadcast((uint8_t *)d->cdata.p + d->cdata.n, value, cls);
	d->cdata.n += bytes;
	if (is_shared)
		base_vec_push(&d->shared_consts, c->off | (cls == CPU_B64));
	return c->off | CPU_SLOT_CONST;
}

uint32_t cpu_dec_const(struct cpu_dec *d, uint64_t value, enum cpu_class cls)
{
	return constant(d, value, cls, false);
}

uint32_t cpu_dec_shared(struct cpu_dec *d, uint64_t offset, enum cpu_class cls)
{
	return constant(d, offset, cls, true);
}

static uint64_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

/* The bits of a literal read as type t. */
static uint64_t literal(const struct ptx_opnd *op, enum ptx_type t)
{
	uint64_t bits = (uint64_t)op->imm;
	uint32_t low = (uint32_t)bits;
	unsigned bytes = ptx_type_bytes(t);
	float f;
	double x;

	if (op->kind == PTX_OPND_F64 && bytes == 4) {
		memcpy(&x, &bits, 8);
		return float_bits((float)x);
	}
	if (op->kind == PTX_OPND_F32 && t == PTX_TYPE_F64) {
		memcpy(&f, &low, 4);
		x = (double)f;
		memcpy(&bits, &x, 8);
		return bits;
	}
	return bytes == 1 ? bits & 0xff : bits;
}

/* ---- symbols --------------------------------------------------------------------- */

/* Where a symbol's storage is. */
struct place {
	enum ptx_space space; /* NONE: unknown name; REG: a function (its address) */
	uint64_t addr;
	uint32_t bytes;
};

const struct ptx_param *dec_own_param(struct cpu_dec *d, struct ptx_str name, uint32_t *off)
{
	const struct ptx_param *lists[2] = {d->f->params, d->f->rets};
	uint32_t at = 0;

	for (int i = 0; i < 2; i++) {
		for (const struct ptx_param *p = lists[i]; p; p = p->next) {
			uint32_t o = dec_place(&at, (uint32_t)p->bytes, load_param_align(p));
			if (ptx_str_eq(p->name, name)) {
				*off = o;
				return p;
			}
		}
		at = LOAD_ALIGN(at, 16u);
	}
	return NULL;
}

static struct place name_place(struct cpu_dec *d, struct ptx_str name)
{
	struct load_name *nm;
	const struct ptx_param *p;
	uint32_t off;

	p = dec_own_param(d, name, &off);
	if (p)
		return (struct place){PTX_SPACE_PARAM, off + (d->f->is_entry ? 0 : CPU_PARAM_AREA),
				      (uint32_t)p->bytes};
	nm = load_find(d->mod, d->lf->part, name);
	if (nm && nm->func)
		return (struct place){PTX_SPACE_REG, nm->func->f.address, 0};
	if (nm && nm->var)
		return (struct place){(enum ptx_space)nm->var->decl->space, nm->var->addr,
				      (uint32_t)nm->var->bytes};
	return (struct place){PTX_SPACE_NONE, 0, 0};
}

static struct place sym_place(struct cpu_dec *d, const struct ptx_opnd *op)
{
	struct dec_place *pl;
	struct load_var *v;

	if (op->flags & PTX_OPND_LABEL)
		return (struct place){PTX_SPACE_NONE, 0, 0};
	if (!(op->flags & PTX_OPND_VAR))
		return name_place(d, op->text);
	HASH_FIND_PTR(d->places, &op->var, pl);
	if (pl)
		return (struct place){
			(enum ptx_space)op->var->space,
			pl->off + (op->var->space == PTX_SPACE_PARAM ? CPU_PARAM_AREA : 0),
			(uint32_t)op->var->bytes};
	v = load_var_of(d->mod, op->var);
	if (v)
		return (struct place){(enum ptx_space)v->decl->space, v->addr, (uint32_t)v->bytes};
	return (struct place){PTX_SPACE_NONE, 0, 0};
}

static enum cpu_step exec_local_address(struct cpu_warp *w, const struct cpu_inst *in,
					uint32_t mask)
{
	const uint32_t *fp = w->fp[w->cur->depth];
	uint64_t off = in->imm, *out = cpu_u64(w, in->dst[0]);

	CPU_LANES(l, mask, out[l] = fp[l] + off);
	return CPU_OK;
}

static enum cpu_step exec_local_address32(struct cpu_warp *w, const struct cpu_inst *in,
					  uint32_t mask)
{
	const uint32_t *fp = w->fp[w->cur->depth];
	uint32_t off = (uint32_t)in->imm, *out = cpu_u32(w, in->dst[0]);

	CPU_LANES(l, mask, out[l] = fp[l] + off);
	return CPU_OK;
}

static uint32_t local_address(struct cpu_dec *d, uint64_t off, enum cpu_class cls)
{
	struct cpu_inst in = dec_new_inst(d, d->at);

	in.fn = cls == CPU_B64 ? exec_local_address : exec_local_address32;
	in.dst[0] = cpu_dec_temp(d, cls == CPU_B64 ? CPU_B64 : CPU_B32);
	in.imm = off;
	dec_push(d, d->at, &in);
	return in.dst[0];
}

static enum cpu_step exec_param_address(struct cpu_warp *w, const struct cpu_inst *in,
					uint32_t mask)
{
	uint64_t at = in->imm + (uint64_t)w->cur->depth * w->grid->func->layout->param;
	uint64_t *out = cpu_u64(w, in->dst[0]);

	CPU_LANES(l, mask, out[l] = at);
	return CPU_OK;
}

static enum cpu_step exec_param_address32(struct cpu_warp *w, const struct cpu_inst *in,
					  uint32_t mask)
{
	uint32_t at = (uint32_t)in->imm + w->cur->depth * w->grid->func->layout->param;
	uint32_t *out = cpu_u32(w, in->dst[0]);

	CPU_LANES(l, mask, out[l] = at);
	return CPU_OK;
}

uint32_t cpu_dec_param_address(struct cpu_dec *d, uint64_t addr, uint64_t by, enum cpu_class cls)
{
	struct cpu_inst in = dec_new_inst(d, d->at);

	if (addr < CPU_PARAM_AREA)
		return cpu_dec_const(d, addr + by, cls);
	in.fn = cls == CPU_B64 ? exec_param_address : exec_param_address32;
	in.dst[0] = cpu_dec_temp(d, cls == CPU_B64 ? CPU_B64 : CPU_B32);
	in.imm = CPU_PARAM_STACK + (addr - CPU_PARAM_AREA) + by;
	dec_push(d, d->at, &in);
	return in.dst[0];
}

static uint32_t symbol(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	struct place pl = sym_place(d, op);
	enum cpu_class cls = cpu_class_of(t);

	if (pl.space == PTX_SPACE_NONE)
		return bad(d, "a symbol that is not defined");
	if (cls != CPU_B64 && cls != CPU_B32)
		return bad(d, "an address in a register of this size");
	if (pl.space == PTX_SPACE_LOCAL)
		return local_address(d, pl.addr + (uint64_t)op->off, cls);
	if (pl.space == PTX_SPACE_SHARED)
		return cpu_dec_shared(d, pl.addr + (uint64_t)op->off, cls);
	if (pl.space == PTX_SPACE_PARAM)
		return cpu_dec_param_address(d, pl.addr, (uint64_t)op->off, cls);
	return cpu_dec_const(d, pl.addr + (uint64_t)op->off, cls);
}

/* ======================================================================== */

uint32_t cpu_dec_src(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t)
{
	switch ((enum ptx_opnd_kind)op->kind) {
	case PTX_OPND_REG:
		return dec_reg_slot(d, op->reg, op->comp);
	case PTX_OPND_SPECIAL:
		if (ptx_str_is(op->text, "WARP_SZ"))
			return cpu_dec_const(d, CPU_WARP, cpu_class_of(t));
		if (name_place(d, op->text).space != PTX_SPACE_NONE) /* a variable named %v */
			return symbol(d, op, t);
		return dec_read_special(d, op, t);
	case PTX_OPND_INT:
	case PTX_OPND_EXPR:
	case PTX_OPND_F32:
	case PTX_OPND_F64:
		return cpu_dec_const(d, literal(op, t), cpu_class_of(t));
	case PTX_OPND_SYM:
		return symbol(d, op, t);
	default:
		return bad(d, "an operand of this kind");
	}
}

struct cpu_addr cpu_dec_addr(struct cpu_dec *d, const struct ptx_stmt *s, const struct ptx_opnd *op)
{
	const struct ptx_opnd *b = op->kind == PTX_OPND_ADDR && op->nsub ? &op->sub[0] : op;
	struct cpu_addr a = {.base = CPU_NOSLOT};
	bool is_generic = s->form->space == PTX_SPACE_GENERIC;
	struct place pl;

	a.off = op->off;
	a.is_param = s->form->space == PTX_SPACE_PARAM;
	switch ((enum ptx_opnd_kind)b->kind) {
	case PTX_OPND_REG:
		a.base = dec_reg_slot(d, b->reg, b->comp);
		a.is_base32 = cpu_dec_bytes(d, b, PTX_TYPE_B64) == 4;
		break;
	case PTX_OPND_INT:
	case PTX_OPND_EXPR:
		a.off += b->imm;
		break;
	case PTX_OPND_SYM:
	case PTX_OPND_SPECIAL: /* a parameter named %p */
		pl = sym_place(d, b);
		if (pl.space == PTX_SPACE_NONE)
			bad(d, "a symbol that is not defined");
		a.off = (int64_t)((uint64_t)op->off + pl.addr);
		if (b != op)
			a.off += b->off;
		a.is_local_var = pl.space == PTX_SPACE_LOCAL;
		a.is_param = pl.space == PTX_SPACE_PARAM;
		/* In .shared::cta the offset alone is the block's own; this is faster. */
		if (pl.space == PTX_SPACE_SHARED && s->form->space != PTX_SPACE_SHARED) {
			a.base = cpu_dec_shared(d, 0, CPU_B32);
			a.is_base32 = true;
		}
		if (is_generic && pl.space == PTX_SPACE_SHARED)
			a.off += (int64_t)CPU_WIN_SHARED;
		else if (is_generic && pl.space == PTX_SPACE_LOCAL)
			a.off += (int64_t)CPU_WIN_LOCAL;
		break;
	default:
		bad(d, "an address of this kind");
	}
	return a;
}

bool cpu_dec_param(struct cpu_dec *d, const struct ptx_opnd *op, uint32_t *addr, uint32_t *bytes)
{
	struct place pl;

	if (op->kind != PTX_OPND_SYM && op->kind != PTX_OPND_SPECIAL)
		return false;
	pl = sym_place(d, op);
	if (pl.space != PTX_SPACE_PARAM)
		return false;
	*addr = (uint32_t)(pl.addr + (uint64_t)op->off);
	*bytes = pl.bytes;
	return true;
}
