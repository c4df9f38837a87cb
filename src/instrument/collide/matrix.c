/*
 * matrix.c - wmma.load.a and .b, checked by loads of ours before it runs.
 *
 * PTX does not specify which lane gets which element of a fragment, but it specifies the bytes of
 * the matrix: lines (rows or columns) of a known length, a stride apart. Each lane loads pieces of
 * 16 bytes of them (8 where a line is no longer) and reads them again after the delay. As with
 * ldmatrix all of this precedes the original, before which all lanes wait for this one.
 *
 * Misses: elements below a byte; lines that don't begin at a multiple of a piece (left out at run
 * time).
 * Costs: 14 instructions more than a group of loads, once or twice.
 */
#include "instrument/collide/collide.h"

#define WARP  32u
#define PIECE 16u

/* Elements below a byte have no load that could be compared. */
static bool find_lines(const struct ptx_form *fm, struct inst_lines *x)
{
	return inst_find_lines(fm, x) && x->bits >= 8;
}

uint64_t inst_matrix_words(const struct ptx_form *fm, unsigned *stride)
{
	struct inst_lines x;

	find_lines(fm, &x);
	*stride = x.elems;
	return RACE_MATRIX(x.pieces, inst_log2(x.bytes / x.piece), x.piece, inst_log2(x.bits / 8));
}

/* The group of a wmma.load, or NULL: its matrix is not known. */
struct inst_group *inst_plan_matrix(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_opnd *addr = ptx_address(s);
	struct inst_lines x;

	if (!addr || !addr->nsub || !find_lines(s->form, &x))
		return NULL;
	if (addr->sub[0].kind != PTX_OPND_REG && addr->sub[0].kind != PTX_OPND_SYM)
		return NULL;
	if (addr->sub[0].kind == PTX_OPND_SYM && s->form->space == PTX_SPACE_GENERIC)
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_MATRIX);
	for (unsigned first = 0; first < x.pieces; first += WARP)
		inst_append_access(cx, g,
				   inst_new_access(cx, s, addr, RACE_ACCESS_LOAD,
						   (enum ptx_space)s->form->space, x.piece / 4));
	return g;
}

unsigned inst_log2(unsigned n)
{
	unsigned l = 0;

	while (n >> (l + 1))
		l++;
	return l;
}

struct ptx_str inst_space_of(enum ptx_space s)
{
	if (s == PTX_SPACE_GLOBAL)
		return ptx_mod_suffix(PTX_MOD_GLOBAL);
	return ptx_mod_suffix(s == PTX_SPACE_SHARED ? PTX_MOD_SHARED : PTX_MOD_UNKNOWN);
}

/* The matrix's address as 64 bits, for all spaces, its offset included. */
struct ptx_opnd inst_matrix_base(struct inst_ctx *cx, const struct inst_access *a,
				 struct ptx_stmt *at)
{
	struct ptx_opnd base = a->where->sub[0], r = inst_fresh(cx, PTX_TYPE_B64);

	if (base.kind != PTX_OPND_REG)
		inst_emit(cx, at, "symbol", NT, H(r, base));
	else if (ptx_type_bytes((enum ptx_type)cx->f->reg_type[base.reg]) == 8)
		inst_emit(cx, at, "copy", T(PTX_STR("b64")), H(r, base));
	else
		inst_emit(cx, at, "widen", T(PTX_STR("64"), PTX_STR("32")), H(r, base));
	if (a->where->off)
		inst_emit(cx, at, "add_offset", NT, H(r, r, inst_int(cx, a->where->off)));
	return r;
}

/* Each lane's pieces. */
void inst_emit_matrix(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	const struct ptx_stmt *s = g->first->stmt;
	struct ptx_opnd base = inst_matrix_base(cx, g->first, at),
			stride = inst_fresh(cx, PTX_TYPE_B32);
	struct inst_lines x;
	unsigned first = 0;

	find_lines(s->form, &x);
	unsigned line = x.bytes / x.piece;
	inst_emit(cx, at, "copy", T(PTX_STR("b32")),
		  H(stride, s->nops > 2 ? s->ops[2] : inst_int(cx, x.elems)));
	for (struct inst_access *a = g->first; a; a = a->next, first += WARP) {
		struct ptx_opnd *piece = BASE_NEW(cx->m->arena, struct ptx_opnd);
		struct ptx_opnd ok = inst_fresh(cx, PTX_TYPE_PRED), w[PIECE / 4];

		*piece = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "matrix_piece",
			  T(inst_num(first), inst_num(x.pieces), inst_num(inst_log2(line)),
			    inst_num(line - 1), inst_num(x.piece), inst_num(x.piece - 1),
			    inst_num(inst_log2(x.bits / 8))),
			  H(*piece, ok, base, stride));
		a->addr = (struct ptx_opnd){.kind = PTX_OPND_ADDR, .nsub = 1, .sub = piece};
		a->guard = inst_guard_and(cx, s, ok, at);
		for (unsigned i = 0; i < a->vec; i++) {
			w[i] = inst_fresh(cx, PTX_TYPE_B32);
			a->elem[i].was = w[i].reg;
		}
		inst_emit(cx, at, "ahead_load", T(inst_space_of(a->space), inst_vec_of(a->vec)),
			  H(inst_values(cx, w, a->vec), a->addr, a->guard));
	}
}
