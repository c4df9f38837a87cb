/*
 * fragment.c - wmma.store and wmma.load.c, checked by accesses of ours before they run.
 *
 * PTX does not specify which lane stores which elements, but wmma.load.c places the elements in the
 * same registers of the same lanes: C and D have the same fragment layout. So a matrix whose
 * elements are their own numbers is loaded (a table in the module), and each lane knows where its
 * elements are. They are stored one by one, delayed and read again, as with stmatrix; the original
 * stores the same again. For wmma.load.c they are loaded and read again. No lane examines another's
 * bytes: a warp may store a matrix and load it again with nothing in between, which orders each
 * lane's own elements only.
 *
 * Misses: lanes of one store that share an address (a stride below the width of the matrix).
 * Costs: the load of the table, up to 1 KiB, for each store, whether drawn or not (all lanes must
 * take part); where drawn six instructions for each element more than an ordinary store, and three
 * registers: eight elements a lane, of small shapes two.
 */
#include "instrument/collide/collide.h"

#include <string.h>

#define WARP	  32u
#define MAX_ELEMS 8u /* of a lane */

static bool is_load(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_WMMA_LOAD;
}

bool inst_find_fragment(const struct inst_ctx *cx, const struct ptx_stmt *s,
			struct inst_fragment *x)
{
	const struct ptx_form *fm = s->form;
	int data = ptx_find_role(s, is_load(s) ? PTX_ROLE_DST : PTX_ROLE_SRC);
	unsigned mnk[3];

	if (data < 0 || s->ops[data].kind != PTX_OPND_VEC || !fm->ntypes ||
	    !inst_find_shape(fm, mnk, &x->shape) ||
	    (!ptx_form_has(fm, PTX_MOD_ROW) && !ptx_form_has(fm, PTX_MOD_COL)))
		return false;
	x->rows = mnk[0];
	x->cols = mnk[1];
	x->elem = ptx_type_bytes((enum ptx_type)fm->types[0]);
	x->elems = x->rows * x->cols / WARP;
	x->is_half = x->elem == 2;
	x->is_col = ptx_form_has(fm, PTX_MOD_COL);
	x->regs = s->ops[data].sub;
	x->nregs = s->ops[data].nsub;
	if ((x->elem != 2 && x->elem != 4 && x->elem != 8) || !x->elems || x->elems > MAX_ELEMS ||
	    (x->cols & (x->cols - 1)) || x->nregs != (x->is_half ? x->elems / 2 : x->elems))
		return false;
	for (unsigned i = 0; i < x->nregs; i++)
		if (x->regs[i].kind != PTX_OPND_REG || x->regs[i].comp ||
		    ptx_type_bytes((enum ptx_type)cx->f->reg_type[x->regs[i].reg]) !=
			    (x->is_half ? 4 : x->elem))
			return false;
	return true;
}

/* The group of a wmma.store or wmma.load.c, or NULL: its matrix is not known. */
struct inst_group *inst_plan_fragment(struct inst_ctx *cx, struct ptx_stmt *s)
{
	static const enum ptx_type types[] = {
		[2] = PTX_TYPE_B16, [4] = PTX_TYPE_B32, [8] = PTX_TYPE_B64};
	const struct ptx_opnd *addr = ptx_address(s);
	struct inst_fragment x;

	if (!inst_find_fragment(cx, s, &x) || !addr || !addr->nsub)
		return NULL;
	if (addr->sub[0].kind != PTX_OPND_REG &&
	    (addr->sub[0].kind != PTX_OPND_SYM || s->form->space == PTX_SPACE_GENERIC))
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_FRAGMENT);
	g->has_load = is_load(s);
	for (unsigned i = 0; i < x.elems; i++) {
		struct inst_access *a = inst_new_access(
			cx, s, addr, is_load(s) ? RACE_ACCESS_LOAD : RACE_ACCESS_STORE,
			(enum ptx_space)s->form->space, 1);
		a->width = (uint8_t)x.elem;
		a->bits = (uint8_t)(8 * x.elem);
		a->type = types[x.elem];
		if (i == 0) {
			inst_append_access(cx, g, a);
			continue;
		}
		a->site = g->first->site;
		g->last->next = a;
		g->last = a;
		g->n++;
	}
	return g;
}

/* What all lanes do together: the numbers of this lane's elements go to elem[].now. */
void inst_emit_numbers(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	const struct ptx_stmt *s = g->first->stmt;
	struct ptx_opnd numbers[MAX_ELEMS], half[2];
	struct inst_access *a = g->first;
	struct inst_fragment x;

	inst_find_fragment(cx, s, &x);
	for (unsigned i = 0; i < x.nregs; i++)
		numbers[i] = inst_fresh(cx, x.elem == 8				? PTX_TYPE_F64
					    : x.is_half				? PTX_TYPE_B32
					    : s->form->types[0] == PTX_TYPE_F32 ? PTX_TYPE_F32
										: PTX_TYPE_B32);
	inst_emit(cx, at, "fragment_numbers",
		  T(x.shape, inst_num(x.elem), inst_type_of((enum ptx_type)s->form->types[0]),
		    inst_num(x.cols)),
		  H(inst_values(cx, numbers, x.nregs), inst_guard_and(cx, s, inst_none(), at)));
	for (unsigned i = 0; i < x.nregs; i++) {
		for (unsigned k = 0; k < 2 && x.is_half; k++, a = a->next) {
			half[k] = inst_fresh(cx, PTX_TYPE_B32);
			a->elem[0].now = half[k].reg;
		}
		if (x.is_half) {
			inst_emit(cx, at, "fragment_halves", NT, H(half[0], half[1], numbers[i]));
			continue;
		}
		struct ptx_opnd n = inst_fresh(cx, PTX_TYPE_B32);
		if (x.elem == 8)
			inst_emit(cx, at, "fragment_low", NT, H(n, numbers[i]));
		else
			inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(n, numbers[i]));
		a->elem[0].now = n.reg;
		a = a->next;
	}
}

/* This lane's elements as registers of bits. */
static void take_values(struct inst_ctx *cx, const struct inst_fragment *x, struct inst_access *a,
			struct ptx_stmt *at)
{
	for (unsigned i = 0; i < x->nregs; i++) {
		struct ptx_opnd lo = inst_fresh(cx, a->type), hi;

		a->elem[0].was = lo.reg;
		if (x->is_half) {
			a = a->next;
			hi = inst_fresh(cx, a->type);
			a->elem[0].was = hi.reg;
			inst_emit(cx, at, "fragment_split", NT, H(lo, hi, x->regs[i]));
		} else {
			inst_emit(cx, at, "copy", T(x->elem == 8 ? PTX_STR("b64") : PTX_STR("b32")),
				  H(lo, x->regs[i]));
		}
		a = a->next;
	}
}

void inst_emit_fragment(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	const struct ptx_stmt *s = g->first->stmt;
	struct ptx_opnd base = inst_matrix_base(cx, g->first, at);
	struct ptx_opnd stride = inst_fresh(cx, PTX_TYPE_B32);
	struct ptx_opnd guard = inst_guard_and(cx, s, inst_none(), at);
	struct inst_fragment x;

	inst_find_fragment(cx, s, &x);
	inst_emit(cx, at, "copy", T(PTX_STR("b32")),
		  H(stride, s->nops > 2 ? s->ops[2] : inst_int(cx, x.is_col ? x.rows : x.cols)));
	if (!is_load(s))
		take_values(cx, &x, g->first, at);
	for (struct inst_access *a = g->first; a; a = a->next) {
		struct ptx_opnd *place = BASE_NEW(cx->m->arena, struct ptx_opnd);

		*place = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, x.is_col ? "fragment_place_col" : "fragment_place_row",
			  T(inst_num(inst_log2(x.cols)), inst_num(x.cols - 1),
			    inst_num(inst_log2(x.elem))),
			  H(*place, inst_reg(cx, a->elem[0].now), base, stride));
		a->addr = (struct ptx_opnd){.kind = PTX_OPND_ADDR, .nsub = 1, .sub = place};
		a->guard = guard;
		if (is_load(s))
			a->elem[0].was = inst_fresh(cx, a->type).reg;
		inst_emit(cx, at, is_load(s) ? "fragment_load" : "fragment_store",
			  T(inst_space_of(a->space), inst_num(a->bits)),
			  H(a->addr, inst_reg(cx, a->elem[0].was), guard));
	}
}

/* ---- the table ------------------------------------------------------------------- */

/* The numbers 0 to n-1 in elements of that many bytes, as a variable of the module. */
struct ptx_str inst_fragment_table(struct inst_ctx *cx, unsigned bytes)
{
	unsigned n = bytes == 8 ? 64 : 256;
	char *name = base_printf(cx->m->arena, "%s%u", INST_NUMBERS_SYMBOL, bytes);
	struct base_buf b = {0};

	for (unsigned i = 0; i < n; i++)
		base_buf_printf(&b, "%s%u", i ? "," : "", i);
	struct ptx_str text = inst_module_text(
		cx, "numbers",
		T(inst_num(8 * bytes), (struct ptx_str){name, (uint32_t)strlen(name)}, inst_num(n),
		  (struct ptx_str){b.p, (uint32_t)b.n}));
	base_buf_free(&b);
	return text;
}

/* Which tables the module needs: bit `bytes`. */
unsigned inst_fragment_tables(const struct ptx_module *m)
{
	unsigned set = 0;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->kind == PTX_STMT_INST && s->form->ntypes &&
			    (s->form->op == PTX_OP_WMMA_STORE ||
			     (s->form->op == PTX_OP_WMMA_LOAD && ptx_form_has(s->form, PTX_MOD_C))))
				set |= 1u << ptx_type_bytes((enum ptx_type)s->form->types[0]);
		}
	}
	return set;
}
