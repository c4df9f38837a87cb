/*
 * tmem.c - tcgen05.ld and tcgen05.st, checked by accesses of ours before they run.
 *
 * Tensor memory belongs to the block; the block's warps and the tensor core's asynchronous
 * operations can race in it. ld: the same amount is loaded into registers of ours, waited for
 * (tcgen05.wait::ld), delayed, loaded again and compared. st: what the original is about to store
 * is stored, waited for, delayed, loaded and compared; the original stores the same again. All
 * lanes take part in each of these, so the decision to check is made for the warp as a whole.
 *
 * If there are more than PART registers, only a part is checked: for a load a random one at each
 * execution, for a store (registers can't be indexed) one fixed by the place in the code. The parts
 * of all shapes follow each other along the columns, as do a lane's registers.
 *
 * Misses: predicated ones, .pack::16b and .unpack::16b of more than PART registers, .red (counted).
 * Our waits also wait for the program's earlier accesses: where a check comes between, it hides a
 * wait that the same thread lacks. tcgen05.mma, .cp and .shift are not checked themselves; these
 * checks see only their effects. So far only assembled by ptxas, never executed: no GPU with tensor
 * memory was available.
 * Costs: a vote and a shuffle each time; where drawn two loads (a store and a load) of a part with
 * their waits, and up to 32 registers.
 */
#include "instrument/collide/collide.h"

#include <stdlib.h>
#include <string.h>

#define PART 16u /* registers */

struct tmem {
	struct ptx_str shape; /* "32x32b" */
	struct ptx_str
		pack;  /* ".pack::16b" or nothing; for a store ".unpack::16b". Both are kept */
	unsigned regs; /* of a lane, in all */
	unsigned unit; /* registers of .x1 */
	unsigned cols; /* columns that a register adds */
	const struct ptx_opnd *data, *addr, *split; /* split: NULL except for .16x32bx2 */
};

static const struct shape {
	const char *name;
	unsigned unit, cols;
} shapes[] = {
	{"32x32b", 1, 1},  {"16x64b", 1, 2},   {"16x128b", 2, 2},
	{"16x256b", 4, 2}, {"16x32bx2", 1, 1},
};

/* The parts of "tcgen05.ld.sync.aligned.SHAPE.xN[.pack::16b].b32". */
static bool find_form(struct tmem *x, const struct ptx_form *fm)
{
	char text[96], *save = NULL;
	const struct shape *shape = NULL;
	unsigned num = 0;

	if (fm->text.n >= sizeof(text))
		return false;
	memcpy(text, fm->text.p, fm->text.n);
	text[fm->text.n] = 0;
	for (char *p = strtok_r(text, ".", &save); p; p = strtok_r(NULL, ".", &save)) {
		for (size_t i = 0; i < BASE_COUNTOF(shapes); i++)
			if (!strcmp(p, shapes[i].name))
				shape = &shapes[i];
		if (*p == 'x')
			num = (unsigned)strtoul(p + 1, NULL, 10);
		if (!strcmp(p, "red"))
			return false;
	}
	if (!shape || !num)
		return false;
	x->shape = (struct ptx_str){shape->name, (uint32_t)strlen(shape->name)};
	x->unit = shape->unit;
	x->cols = shape->cols;
	x->regs = num * shape->unit;
	return true;
}

static bool is_register(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_REG && !op->comp &&
	       ptx_type_bytes((enum ptx_type)cx->f->reg_type[op->reg]) == 4;
}

static bool find_tmem(const struct inst_ctx *cx, const struct ptx_stmt *s, struct tmem *x)
{
	bool is_load = s->form->op == PTX_OP_TCGEN05_LD, is_split;
	bool is_packed = ptx_form_has(s->form, PTX_MOD_PACK_16B) ||
			 ptx_form_has(s->form, PTX_MOD_UNPACK_16B);

	if (!find_form(x, s->form))
		return false;
	is_split = ptx_str_is(x->shape, "16x32bx2");
	if (s->nops != (is_split ? 3u : 2u) || (is_packed && x->regs > PART))
		return false;
	x->pack = is_packed ? PTX_STR("16b") : PTX_STR("");
	x->data = &s->ops[is_load ? 0 : s->nops - 1];
	x->addr = &s->ops[is_load ? 1 : 0];
	x->split = is_split ? &s->ops[is_load ? 2 : 1] : NULL;
	if (x->addr->kind != PTX_OPND_ADDR || !x->addr->nsub ||
	    !is_register(cx, &x->addr->sub[0]) || (x->split && x->split->kind != PTX_OPND_INT))
		return false;
	if (is_load)
		return true;
	if (x->data->kind != PTX_OPND_VEC || x->data->nsub != x->regs)
		return false;
	for (unsigned i = 0; i < x->regs; i++)
		if (!is_register(cx, &x->data->sub[i]))
			return false;
	return true;
}

static unsigned part_of(const struct tmem *x)
{
	return x->regs < PART ? x->regs : PART;
}

/* The group of a tcgen05.ld or .st, or NULL: its footprint is not known. */
struct inst_group *inst_plan_tmem(struct inst_ctx *cx, struct ptx_stmt *s)
{
	bool is_load = s->form->op == PTX_OP_TCGEN05_LD;
	struct tmem x = {0};

	if (s->pred != PTX_NO_REG || !find_tmem(cx, s, &x))
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_TMEM);
	g->has_load = is_load;
	for (unsigned first = 0; first < part_of(&x); first += INST_MAX_VEC) {
		unsigned n = part_of(&x) - first;
		struct inst_access *a = inst_new_access(
			cx, s, x.addr, is_load ? RACE_ACCESS_LOAD : RACE_ACCESS_STORE,
			PTX_SPACE_TMEM, n < INST_MAX_VEC ? n : INST_MAX_VEC);
		a->step = (uint8_t)x.cols;
		a->guard = inst_none();
		inst_append_access(cx, g, a);
	}
	return g;
}

/* ---- code ------------------------------------------------------------------------ */

static struct ptx_opnd vector_of(struct inst_ctx *cx, const struct ptx_opnd *words, unsigned n)
{
	struct ptx_opnd v = {.kind = PTX_OPND_VEC, .nsub = (uint8_t)n};

	v.sub = BASE_NEWN(cx->m->arena, struct ptx_opnd, n);
	memcpy(v.sub, words, n * sizeof(*words));
	return v;
}

/* Loads the part at the address of the group's first access and waits. */
static void look(struct inst_ctx *cx, const struct inst_group *g, const struct tmem *x,
		 const struct ptx_opnd *words, struct ptx_stmt *at)
{
	unsigned n = part_of(x);
	struct ptx_opnd values = vector_of(cx, words, n), addr = g->first->addr;
	struct ptx_str num = inst_num(n / x->unit);
	struct ptx_str pack = ptx_mod_suffix(x->pack.n ? PTX_MOD_PACK_16B : PTX_MOD_UNKNOWN);

	if (x->split)
		inst_emit(cx, at, "tmem_load_split", T(x->shape, num, pack),
			  H(values, addr, *x->split));
	else
		inst_emit(cx, at, "tmem_load", T(x->shape, num, pack), H(values, addr));
}

static void put(struct inst_ctx *cx, const struct inst_group *g, const struct tmem *x,
		const struct ptx_opnd *words, struct ptx_stmt *at)
{
	unsigned n = part_of(x);
	struct ptx_opnd values = vector_of(cx, words, n), addr = g->first->addr;
	struct ptx_str num = inst_num(n / x->unit);
	struct ptx_str pack = ptx_mod_suffix(x->pack.n ? PTX_MOD_UNPACK_16B : PTX_MOD_UNKNOWN);

	if (x->split)
		inst_emit(cx, at, "tmem_store_split", T(x->shape, num, pack),
			  H(addr, *x->split, values));
	else
		inst_emit(cx, at, "tmem_store", T(x->shape, num, pack), H(addr, values));
}

/* Where the part begins: `draw` is the same in all lanes. Sets the accesses' addresses. */
static void place(struct inst_ctx *cx, struct inst_group *g, const struct tmem *x, unsigned part,
		  struct ptx_opnd draw, struct ptx_stmt *at)
{
	struct ptx_opnd *base = BASE_NEW(cx->m->arena, struct ptx_opnd);
	unsigned parts = x->regs / part_of(x), off = 0;

	*base = inst_fresh(cx, PTX_TYPE_B32);
	if (parts > 1 && g->has_load)
		inst_emit(cx, at, "tmem_part",
			  T(inst_num(parts), inst_num((int64_t)part_of(x) * x->cols),
			    inst_num(x->addr->off)),
			  H(*base, x->addr->sub[0], draw));
	else
		inst_emit(cx, at, "tmem_place",
			  T(inst_num(x->addr->off + (int64_t)(part * part_of(x) * x->cols))),
			  H(*base, x->addr->sub[0]));
	for (struct inst_access *a = g->first; a; a = a->next) {
		a->addr = (struct ptx_opnd){.kind = PTX_OPND_ADDR, .nsub = 1, .sub = base};
		a->addr.off = off;
		off += a->vec * x->cols;
	}
}

void inst_emit_tmem(struct inst_ctx *cx, struct inst_group *g, struct ptx_opnd draw,
		    struct ptx_stmt *at)
{
	struct ptx_opnd was[PART], now[PART];
	struct tmem x = {0};
	unsigned n, i = 0;

	find_tmem(cx, g->first->stmt, &x);
	n = part_of(&x);
	unsigned part = g->first->site % (x.regs / n);
	place(cx, g, &x, part, draw, at);
	for (struct inst_access *a = g->first; a; a = a->next)
		for (unsigned k = 0; k < a->vec; k++, i++) {
			was[i] = inst_fresh(cx, PTX_TYPE_B32);
			now[i] = inst_fresh(cx, PTX_TYPE_B32);
			if (!g->has_load)
				inst_emit(cx, at, "copy", T(PTX_STR("b32")),
					  H(was[i], x.data->sub[part * n + i]));
			a->elem[k].was = was[i].reg;
			a->elem[k].now = now[i].reg;
		}
	if (g->has_load)
		look(cx, g, &x, was, at);
	else
		put(cx, g, &x, was, at);
	inst_emit_delay(cx, g->has_load, at);
	look(cx, g, &x, now, at);
}
