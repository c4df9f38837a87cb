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

#include <stdio.h>
#include <string.h>

#define WARP	   32u
#define PIECE	   16u
#define MAX_PIECES 64u /* of the largest: 32 by 16 elements of 2 bytes, 16 by 16 of 4 */

struct lines {
	unsigned n, elems; /* lines, elements of each */
	unsigned elem;	   /* bytes of an element */
	unsigned piece;	   /* bytes of a piece */
	unsigned pieces;
};

bool inst_find_shape(const struct ptx_form *fm, unsigned mnk[3], struct ptx_str *spelled)
{
	int end;

	for (uint32_t i = 0; i + 5 < fm->text.n; i++) {
		char part[20];
		uint32_t n = fm->text.n - i < sizeof(part) - 1 ? fm->text.n - i
							       : (uint32_t)sizeof(part) - 1;
		memcpy(part, fm->text.p + i, n);
		part[n] = 0;
		if (sscanf(part, ".m%3un%3uk%3u%n", &mnk[0], &mnk[1], &mnk[2], &end) == 3) {
			*spelled = (struct ptx_str){fm->text.p + i + 1, (uint32_t)end - 1};
			return mnk[0] && mnk[1] && mnk[2];
		}
	}
	return false;
}

static bool find_lines(const struct ptx_form *fm, struct lines *x)
{
	bool is_a = ptx_form_has(fm, PTX_MOD_A), is_b = ptx_form_has(fm, PTX_MOD_B);
	bool is_col = ptx_form_has(fm, PTX_MOD_COL);
	struct ptx_str spelled;
	unsigned mnk[3];

	if (!fm->ntypes || !inst_find_shape(fm, mnk, &spelled) ||
	    (!is_col && !ptx_form_has(fm, PTX_MOD_ROW)))
		return false;
	unsigned rows = is_b ? mnk[2] : mnk[0], cols = is_a ? mnk[2] : mnk[1];
	enum ptx_type type = (enum ptx_type)fm->types[0];
	if (type == PTX_TYPE_B1 || type == PTX_TYPE_S4 || type == PTX_TYPE_U4)
		return false;
	x->n = is_col ? cols : rows;
	x->elems = is_col ? rows : cols;
	/* .tf32 has elements of 32 bits. */
	x->elem = type == PTX_TYPE_TF32 ? 4 : ptx_type_bytes(type);
	x->piece = x->elems * x->elem < PIECE ? x->elems * x->elem : PIECE;
	if (x->piece != PIECE && x->piece != PIECE / 2)
		return false;
	x->pieces = x->n * x->elems * x->elem / x->piece;
	return x->pieces <= MAX_PIECES;
}

uint64_t inst_matrix_words(const struct ptx_form *fm, unsigned *stride)
{
	struct lines x;

	find_lines(fm, &x);
	*stride = x.elems;
	return RACE_MATRIX(x.pieces, inst_log2(x.elems * x.elem / x.piece), x.piece,
			   inst_log2(x.elem));
}

/* The group of a wmma.load, or NULL: its matrix is not known. */
struct inst_group *inst_plan_matrix(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_opnd *addr = ptx_address(s);
	struct lines x;

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
	struct lines x;
	unsigned first = 0;

	find_lines(s->form, &x);
	unsigned line = x.elems * x.elem / x.piece;
	inst_emit(cx, at, "copy", T(PTX_STR("b32")),
		  H(stride, s->nops > 2 ? s->ops[2] : inst_int(cx, x.elems)));
	for (struct inst_access *a = g->first; a; a = a->next, first += WARP) {
		struct ptx_opnd *piece = BASE_NEW(cx->m->arena, struct ptx_opnd);
		struct ptx_opnd ok = inst_fresh(cx, PTX_TYPE_PRED), w[PIECE / 4];

		*piece = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "matrix_piece",
			  T(inst_num(first), inst_num(x.pieces), inst_num(inst_log2(line)),
			    inst_num(line - 1), inst_num(x.piece), inst_num(x.piece - 1),
			    inst_num(inst_log2(x.elem))),
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
