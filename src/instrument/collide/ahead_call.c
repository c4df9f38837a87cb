/*
 * ahead_call.c - groups of ahead.c, matrix.c and fragment.c as one call (check_ahead.cu of
 * src/device).
 *
 * In functions whose checks are calls, an ldmatrix, a cp.async, a wmma.load or a wmma.store costs
 * six to twenty instructions in place of fifty to two hundred: the function finds out itself where
 * the lane's part lies.
 *
 * Misses nothing that inlined code finds. stmatrix, st.async, tensor memory and bulk copies stay
 * inlined. Counts a copy's source once, where inlined code counts the words that src-size reaches.
 */
#include "instrument/collide/collide.h"

#include <string.h>

#define MAX_MATRICES 4u /* of one call */

static const char *const suffix_of_space[] = {"g", "s", "x"};

static unsigned space_of(const struct inst_access *a)
{
	return a->space == PTX_SPACE_GLOBAL ? 0 : a->space == PTX_SPACE_SHARED ? 1 : 2;
}

/* `value` where the statement runs, else `none`. */
static struct ptx_opnd if_runs(struct inst_ctx *cx, const struct ptx_stmt *s, struct ptx_opnd value,
			       int64_t none, bool is_wide, struct ptx_stmt *at)
{
	if (s->pred == PTX_NO_REG)
		return value;
	struct ptx_opnd to = inst_fresh(cx, is_wide ? PTX_TYPE_B64 : PTX_TYPE_B32);
	struct ptx_opnd off = inst_int(cx, none);

	inst_emit(cx, at, "either", T(is_wide ? PTX_STR("b64") : PTX_STR("b32")),
		  H(to, s->is_pred_not ? off : value, s->is_pred_not ? value : off,
		    inst_reg(cx, s->pred)));
	return to;
}

/* The address in 64 or, of shared memory, in 32 bits. */
static struct ptx_opnd place_of(struct inst_ctx *cx, struct inst_access *a, bool is_wide,
				struct ptx_stmt *at)
{
	a->addr = *a->where;
	struct ptx_opnd r =
		is_wide ? inst_address(cx, a, 0, at) : inst_shared_address(cx, a, 0, at);

	return if_runs(cx, a->stmt, r,
		       is_wide ? (int64_t)RACE_AHEAD_NONE : (int64_t)RACE_CHECK_NO_SHARED, is_wide,
		       at);
}

static void put_head(struct inst_ctx *cx, const struct inst_group *g, uint64_t shape,
		     struct ptx_stmt *at)
{
	uint64_t what = g->first->site | (g->has_load ? RACE_CHECK_LOADS : 0) | shape;

	inst_emit(cx, at, "check_head", NT, H(inst_reg(cx, cx->cnt), inst_int(cx, (int64_t)what)));
}

/* The call of a function whose parameters are those of template `call`. */
static void put_call(struct inst_ctx *cx, const char *call, const char *name, struct ptx_stmt *at)
{
	inst_want_check(cx, name);
	inst_emit(cx, at, call, T((struct ptx_str){name, (uint32_t)strlen(name)}), NH);
	inst_emit(cx, at, "check_state", NT, H(inst_reg(cx, cx->cnt)));
}

static char *name_of(struct inst_ctx *cx, const char *what, const char *end)
{
	return base_printf(cx->m->arena, "_%s_%s", what, end);
}

static void call_rows(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	struct inst_access *a = g->first;
	bool is_wide = a->space != PTX_SPACE_SHARED;
	uint64_t lanes = inst_rows_lanes(a->stmt->form);

	struct ptx_opnd place = place_of(cx, a, is_wide, at);
	put_head(cx, g, lanes << 32, at);
	inst_put_argument(cx, at, is_wide ? 'a' : 's', 0, is_wide, place);
	put_call(cx, is_wide ? "check_rows_x" : "check_rows_s",
		 name_of(cx, "rows", is_wide ? "x" : "s"), at);
}

static void call_copy(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	struct inst_access *from = g->first, *to = g->last;
	const struct ptx_opnd *cut = inst_copy_cut(to->stmt);
	int64_t bytes = (int64_t)to->vec * 4;
	struct ptx_opnd reach = inst_int(cx, bytes);
	uint64_t lanes = RACE_CHECK_LANES;

	struct ptx_opnd place = place_of(cx, to, false, at);
	from->addr = *from->where;
	struct ptx_opnd source = inst_address(cx, from, 0, at);
	if (cut && cut->kind == PTX_OPND_REG && cx->f->reg_type[cut->reg] == PTX_TYPE_PRED) {
		bool is_not = cut->flags & PTX_OPND_NOT;
		struct ptx_opnd whole = reach, none = inst_int(cx, 0);
		reach = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "either", T(PTX_STR("b32")),
			  H(reach, is_not ? whole : none, is_not ? none : whole,
			    inst_reg(cx, cut->reg)));
	} else if (cut) {
		reach = *cut;
	}
	put_head(cx, g, lanes, at);
	inst_put_argument(cx, at, 's', 0, false, place);
	inst_put_argument(cx, at, 'a', 0, true, source);
	inst_put_argument(cx, at, 's', 1, false, reach);
	put_call(cx, "check_copy",
		 name_of(cx, "copy",
			 bytes == 4   ? "4"
			 : bytes == 8 ? "8"
				      : "16"),
		 at);
}

/* ---- matrices ------------------------------------------------------------------------ */

static struct ptx_opnd stride_of(const struct inst_ctx *cx, const struct ptx_stmt *s, unsigned none)
{
	return s->nops > 2 ? s->ops[2] : inst_int(cx, none);
}

struct read_by {
	const struct ptx_stmt *s;
	bool is_written; /* a register that it reads */
};

static void note_write(uint32_t reg, bool is_write, void *arg)
{
	struct read_by *r = arg;
	const struct ptx_opnd *base = &ptx_address(r->s)->sub[0];

	if (!is_write)
		return;
	r->is_written |= base->kind == PTX_OPND_REG && base->reg == reg;
	r->is_written |=
		r->s->nops > 2 && r->s->ops[2].kind == PTX_OPND_REG && r->s->ops[2].reg == reg;
}

/* Is there nothing but arithmetic, and loads like these, from one load to the other? */
static bool is_quiet(const struct ptx_stmt *from, const struct ptx_stmt *to)
{
	const uint32_t effects = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC | PTX_EFF_BARRIER |
				 PTX_EFF_FENCE | PTX_EFF_BRANCH | PTX_EFF_CALL | PTX_EFF_EXIT |
				 PTX_EFF_ASYNC | PTX_EFF_WAIT | PTX_EFF_WARP_SYNC | PTX_EFF_SLEEP |
				 PTX_EFF_DISCARD | PTX_EFF_SIDE | PTX_EFF_UNKNOWN;
	struct read_by r = {.s = to};

	for (; from != to; from = from->next) {
		if (from->kind == PTX_STMT_LOC)
			continue;
		if (from->kind != PTX_STMT_INST)
			return false;
		if (from->form->op != PTX_OP_WMMA_LOAD && from->form->op != PTX_OP_WMMA_MMA &&
		    from->form->effects & effects)
			return false;
		ptx_each_reg((struct ptx_stmt *)from, note_write, &r);
	}
	return !r.is_written;
}

static bool is_same(const struct ptx_opnd *a, const struct ptx_opnd *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == PTX_OPND_REG ? a->reg == b->reg
				       : a->kind == PTX_OPND_INT && a->imm == b->imm;
}

/* May the load of group b be checked with that of group a, before it? */
static bool can_join(const struct inst_group *a, const struct inst_group *b)
{
	const struct ptx_stmt *s = a->first->stmt, *t = b->first->stmt;
	unsigned stride, other;

	if (b->ahead != INST_AHEAD_MATRIX || a->depth != b->depth || s->pred != PTX_NO_REG ||
	    t->pred != PTX_NO_REG || a->first->space != b->first->space ||
	    b->first->site != a->last->site + 1 || s->nops != t->nops ||
	    inst_matrix_words(s->form, &stride) != inst_matrix_words(t->form, &other))
		return false;
	return (s->nops > 2 ? is_same(&s->ops[2], &t->ops[2]) : stride == other) &&
	       is_quiet(a->last->stmt, t);
}

/*
 * Joins wmma.loads that are checked by call: up to four, with nothing but arithmetic between them.
 * What is read early is read in the same interval between synchronisations of this warp, so a race
 * with it is one with the original. needs: plan, by_call.  keeps: everything.
 */
void inst_join_matrices(struct inst_plan *plan)
{
	for (struct inst_group *g = plan->first; g; g = g->next) {
		unsigned n = 1;

		if (g->ahead != INST_AHEAD_MATRIX)
			continue;
		for (struct inst_group *b = g->next; b && n < MAX_MATRICES && can_join(g, b);
		     b = g->next, n++) {
			g->last->next = b->first;
			g->last = b->last;
			g->n += b->n;
			g->next = b->next;
			if (plan->last == b)
				plan->last = g;
		}
	}
}

/* The address of a matrix or of up to four, and their stride. */
static unsigned put_matrix(struct inst_ctx *cx, struct inst_group *g, uint64_t shape,
			   unsigned stride, struct ptx_stmt *at)
{
	struct ptx_opnd base[MAX_MATRICES];
	const struct ptx_stmt *s = NULL;
	unsigned n = 0, all;

	for (struct inst_access *a = g->first; a; s = a->stmt, a = a->next)
		if (a->stmt != s)
			base[n++] = place_of(cx, a, true, at);
	put_head(cx, g, shape, at);
	all = n > 1 ? MAX_MATRICES : 1;
	for (unsigned i = 0; i < all; i++)
		inst_put_argument(cx, at, 'a', i, true,
				  i < n ? base[i] : inst_int(cx, (int64_t)RACE_AHEAD_NONE));
	inst_put_argument(cx, at, 's', 0, false, stride_of(cx, g->first->stmt, stride));
	return n;
}

static void call_matrix(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	unsigned stride;
	uint64_t shape = inst_matrix_words(g->first->stmt->form, &stride);

	const char *space = suffix_of_space[space_of(g->first)];
	if (put_matrix(cx, g, shape, stride, at) > 1)
		put_call(cx, "check_matrices", name_of(cx, "matrices", space), at);
	else
		put_call(cx, "check_matrix", name_of(cx, "matrix", space), at);
}

static void call_fragment(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	struct inst_fragment x;
	struct ptx_str type = inst_type_of((enum ptx_type)g->first->stmt->form->types[0]);

	inst_find_fragment(cx, g->first->stmt, &x);
	put_matrix(cx, g, RACE_FRAGMENT(space_of(g->first) == 1, x.is_col),
		   x.is_col ? x.rows : x.cols, at);
	for (unsigned i = 0; i < x.nregs && !g->has_load; i++)
		inst_put_argument(cx, at, x.elem == 8 ? 'w' : 'v', i, x.elem == 8, x.regs[i]);
	const char *call = g->has_load	  ? "check_matrix"
			   : x.elem == 8  ? "check_store_2w"
			   : x.nregs == 2 ? "check_store_2"
			   : x.nregs == 4 ? "check_store_4"
					  : "check_store_8";
	char *name = base_printf(cx->m->arena, "_%s_%.*s_%.*s", g->has_load ? "load" : "store",
				 (int)x.shape.n, x.shape.p, (int)type.n, type.p);
	put_call(cx, call, name, at);
}

bool inst_is_called_ahead(const struct inst_group *g)
{
	return g->ahead == INST_AHEAD_ROWS || g->ahead == INST_AHEAD_COPY ||
	       g->ahead == INST_AHEAD_MATRIX || g->ahead == INST_AHEAD_FRAGMENT;
}

/* needs: by_call, inst_is_called_ahead.  keeps: the user's instructions. */
void inst_call_ahead(struct inst_ctx *cx, struct inst_group *g)
{
	switch (g->ahead) {
	case INST_AHEAD_ROWS:
		call_rows(cx, g, g->flush);
		break;
	case INST_AHEAD_COPY:
		call_copy(cx, g, g->flush);
		break;
	case INST_AHEAD_MATRIX:
		call_matrix(cx, g, g->flush);
		break;
	case INST_AHEAD_FRAGMENT:
		call_fragment(cx, g, g->flush);
		break;
	default:
		break;
	}
}
