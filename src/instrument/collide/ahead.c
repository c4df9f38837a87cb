/*
 * ahead.c - ldmatrix, stmatrix, cp.async and st.async, checked by accesses of ours before they run.
 *
 * SuperCollider section 3.4, theorem A.5. cp.async: load the source, store to
 * the destination, delay, re-read both, make the destination dirty, then the original. The re-reads
 * reveal another thread's write; a missing wait is revealed as a clobbered read where this thread
 * loads the dirty value before the copy has completed. The original writes every byte that was made
 * dirty (zeroes with src-size and ignore-src), so no dirty byte remains after a completed copy. All
 * of this precedes the issue of the original, and only what is issued later is unordered with a
 * copy.
 *
 * st.async: the same, with registers for a source and fence.proxy.async before the original.
 *
 * ldmatrix: each lane whose address is taken loads its row of 16 bytes, and re-reads
 * it. After the original a lane that ran ahead could write to another lane's row; before it all
 * lanes still wait for this one. stmatrix: each lane stores the words that it gives to the tile,
 * and re-reads them; the original stores the same again. The rows' addresses are exchanged by
 * shuffles, in which all lanes take part as they do in the original.
 *
 * Misses: a src-size that is no multiple of 4 (the lane goes without a check);
 * matrices of 8-bit elements (counted).
 * Costs: ldmatrix two instructions more than a group of loads, cp.async six to twenty,
 * stmatrix eight for each matrix, whether drawn or not.
 */
#include "instrument/collide/collide.h"

#include <string.h>

#define WORD   4u
#define MAX_CP 16u
#define ROW    16u /* bytes of a row of ldmatrix */
#define LANES  8u  /* rows of one matrix, the address of each from one lane */
#define WARP   32u

/* ---- plan --------------------------------------------------------------------- */

struct inst_access *inst_new_access(struct inst_ctx *cx, struct ptx_stmt *s,
				    const struct ptx_opnd *where, enum race_access kind,
				    enum ptx_space space, unsigned words)
{
	struct inst_access *a = BASE_NEW(&cx->scratch, struct inst_access);

	a->stmt = s;
	a->where = where;
	a->kind = kind;
	a->space = space;
	a->vec = (uint8_t)words;
	a->width = WORD;
	a->bits = 8 * WORD;
	a->type = PTX_TYPE_B32;
	a->elem = BASE_NEWN(&cx->scratch, struct inst_elem, words);
	for (unsigned i = 0; i < words; i++) {
		a->elem[i].checked = true;
		a->elem[i].was = a->elem[i].now = PTX_NO_REG;
		a->elem[i].spec = a->elem[i].early = PTX_NO_REG;
	}
	return a;
}

void inst_append_access(struct inst_ctx *cx, struct inst_group *g, struct inst_access *a)
{
	if (g->last)
		g->last->next = a;
	else
		g->first = a;
	g->last = a;
	g->n++;
	a->leads = g->n == 1;
	a->site = inst_add_site(cx, a);
	cx->stats->sites++;
}

struct inst_group *inst_new_ahead(struct inst_ctx *cx, enum inst_ahead ahead)
{
	struct inst_group *g = BASE_NEW(&cx->scratch, struct inst_group);

	g->ahead = ahead;
	g->has_load = true;
	return g;
}

/* Matrices of 8 rows of 16 bytes; 0: another shape. */
static unsigned matrices(const struct ptx_form *fm)
{
	if (!fm->ntypes || fm->types[0] != PTX_TYPE_B16)
		return 0;
	if (ptx_form_has(fm, PTX_MOD_X1))
		return 1;
	if (ptx_form_has(fm, PTX_MOD_X2))
		return 2;
	return ptx_form_has(fm, PTX_MOD_X4) ? 4 : 0;
}

unsigned inst_rows_lanes(const struct ptx_form *fm)
{
	return matrices(fm) * LANES;
}

static struct inst_group *plan_rows(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_opnd *addr = ptx_address(s);

	if (!matrices(s->form) || !addr || !addr->nsub)
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_ROWS);
	inst_append_access(cx, g,
			   inst_new_access(cx, s, addr, RACE_ACCESS_LOAD,
					   (enum ptx_space)s->form->space, ROW / WORD));
	return g;
}

static unsigned reg_bytes(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return op->comp ? 0 : ptx_type_bytes((enum ptx_type)cx->f->reg_type[op->reg]);
}

static bool is_word_register(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_REG && reg_bytes(cx, op) == WORD;
}

/* The registers that stmatrix stores, one for each matrix; NULL: another spelling. */
static const struct ptx_opnd *tile_registers(const struct inst_ctx *cx, const struct ptx_stmt *s)
{
	int data = ptx_find_role(s, PTX_ROLE_SRC);
	unsigned n = matrices(s->form);

	if (data < 0 || !n || s->ops[data].kind != PTX_OPND_VEC || s->ops[data].nsub != n)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		if (!is_word_register(cx, &s->ops[data].sub[i]))
			return NULL;
	return s->ops[data].sub;
}

static struct inst_group *plan_tile(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_opnd *addr = ptx_address(s);
	bool is_generic = s->form->space == PTX_SPACE_GENERIC;

	if (!addr || !addr->nsub || !tile_registers(cx, s))
		return NULL;
	if (addr->sub[0].kind != PTX_OPND_REG && (addr->sub[0].kind != PTX_OPND_SYM || is_generic))
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_TILE);
	g->has_load = false;
	for (unsigned i = 0; i < matrices(s->form); i++)
		inst_append_access(
			cx, g,
			inst_new_access(cx, s, addr, RACE_ACCESS_STORE, PTX_SPACE_SHARED, 1));
	return g;
}

const struct ptx_opnd *inst_copy_cut(const struct ptx_stmt *s)
{
	unsigned n = s->nops - (ptx_form_has(s->form, PTX_MOD_L2_CACHE_HINT) ? 1u : 0u);

	return n > 3 ? &s->ops[3] : NULL;
}

static bool is_predicate(const struct inst_ctx *cx, const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_REG && cx->f->reg_type[op->reg] == PTX_TYPE_PRED;
}

/* Source accesses are whole, or with src-size word by word. */
static struct inst_group *plan_copy(struct inst_ctx *cx, struct ptx_stmt *s)
{
	int dst = ptx_find_role(s, PTX_ROLE_ADDR_W), src = ptx_find_role(s, PTX_ROLE_ADDR_R);
	const struct ptx_opnd *size, *cut;

	if (dst < 0 || src < 0 || s->nops < 3 || s->form->space != PTX_SPACE_SHARED ||
	    s->form->space2 != PTX_SPACE_GLOBAL || !s->ops[dst].nsub || !s->ops[src].nsub)
		return NULL;
	size = &s->ops[2];
	if (size->kind != PTX_OPND_INT || (size->imm != 4 && size->imm != 8 && size->imm != MAX_CP))
		return NULL;
	cut = inst_copy_cut(s);
	if (cut && cut->kind != PTX_OPND_REG && cut->kind != PTX_OPND_INT)
		return NULL;
	unsigned words = (unsigned)size->imm / WORD;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_COPY);
	struct inst_access *a =
		inst_new_access(cx, s, &s->ops[src], RACE_ACCESS_LOAD, PTX_SPACE_GLOBAL, words);
	a->is_copy = true;
	inst_append_access(cx, g, a);
	if (cut && !is_predicate(cx, cut)) {
		uint32_t site = a->site;
		a->vec = 1;
		for (unsigned i = 1; i < words; i++) {
			a = inst_new_access(cx, s, &s->ops[src], RACE_ACCESS_LOAD, PTX_SPACE_GLOBAL,
					    1);
			a->site = site;
			g->last->next = a;
			g->last = a;
			g->n++;
		}
	}
	a = inst_new_access(cx, s, &s->ops[dst], RACE_ACCESS_STORE, PTX_SPACE_SHARED, words);
	a->is_copy = true;
	inst_append_access(cx, g, a);
	return g;
}

/* st.async to the cluster's shared memory: a value, or a vector of them. */
static struct inst_group *plan_store(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	int data = ptx_find_role(s, PTX_ROLE_SRC);
	const struct ptx_opnd *addr = ptx_address(s), *op;

	if (!addr || !addr->nsub || data < 0 || !fm->ntypes ||
	    fm->space != PTX_SPACE_SHARED_CLUSTER ||
	    !ptx_form_has(fm, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
		return NULL;
	op = &s->ops[data];
	unsigned n = op->kind == PTX_OPND_VEC ? op->nsub : 1;
	unsigned bytes = ptx_type_bytes((enum ptx_type)fm->types[0]);
	if ((bytes != 4 && bytes != 8) || n * bytes > MAX_CP || n == 3)
		return NULL;
	struct inst_group *g = inst_new_ahead(cx, INST_AHEAD_STORE);
	struct inst_access *a =
		inst_new_access(cx, s, addr, RACE_ACCESS_STORE, PTX_SPACE_SHARED_CLUSTER, n);
	g->has_load = false;
	a->is_copy = true;
	a->width = (uint8_t)bytes;
	a->bits = (uint8_t)(8 * bytes);
	a->type = bytes == 4 ? PTX_TYPE_B32 : PTX_TYPE_B64;
	for (unsigned i = 0; i < n; i++) {
		a->elem[i].op = op->kind == PTX_OPND_VEC ? op->sub[i] : *op;
		if (a->elem[i].op.kind == PTX_OPND_REG && reg_bytes(cx, &a->elem[i].op) != bytes)
			return NULL;
	}
	inst_append_access(cx, g, a);
	return g;
}

/* The group of an instruction that is checked before it runs; NULL: another instruction, or a form
 * whose footprint is not known. */
struct inst_group *inst_plan_ahead(struct inst_ctx *cx, struct ptx_stmt *s)
{
	if (s->form->effects & PTX_EFF_UNKNOWN)
		return NULL;
	switch (s->form->op) {
	case PTX_OP_LDMATRIX:
		return plan_rows(cx, s);
	case PTX_OP_STMATRIX:
		return plan_tile(cx, s);
	case PTX_OP_CP_ASYNC:
		return plan_copy(cx, s);
	case PTX_OP_ST_ASYNC:
		return plan_store(cx, s);
	case PTX_OP_WMMA_LOAD:
		return ptx_form_has(s->form, PTX_MOD_C) ? inst_plan_fragment(cx, s)
							: inst_plan_matrix(cx, s);
	case PTX_OP_WMMA_STORE:
		return inst_plan_fragment(cx, s);
	case PTX_OP_TCGEN05_LD:
	case PTX_OP_TCGEN05_ST:
		return inst_plan_tmem(cx, s);
	case PTX_OP_CP_ASYNC_BULK:
	case PTX_OP_CP_REDUCE_ASYNC_BULK:
		return inst_plan_bulk(cx, s);
	case PTX_OP_CP_ASYNC_BULK_TENSOR:
	case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
		return inst_plan_tensor(cx, s);
	default:
		return NULL;
	}
}

/* ---- code ------------------------------------------------------------------------ */

/* The registers with the words of an access, as one operand. */
struct ptx_opnd inst_values(struct inst_ctx *cx, const struct ptx_opnd *words, unsigned n)
{
	struct ptx_opnd v = {.kind = PTX_OPND_VEC, .nsub = (uint8_t)n};

	if (n == 1)
		return words[0];
	v.sub = BASE_NEWN(cx->m->arena, struct ptx_opnd, n);
	memcpy(v.sub, words, n * sizeof(*words));
	return v;
}

struct ptx_str inst_vec_of(unsigned n)
{
	return ptx_mod_suffix(n == 4 ? PTX_MOD_V4 : n == 2 ? PTX_MOD_V2 : PTX_MOD_UNKNOWN);
}

static struct ptx_opnd address_at(const struct inst_access *a, unsigned more)
{
	struct ptx_opnd addr = *a->where;

	addr.text = (struct ptx_str){"", 0};
	addr.nsub = 1;
	addr.off += more;
	if (addr.off >= 0)
		addr.flags &= (uint8_t)~PTX_OPND_MINUS;
	return addr;
}

/* The statement's guard, or that and another predicate. */
struct ptx_opnd inst_guard_and(struct inst_ctx *cx, const struct ptx_stmt *s, struct ptx_opnd p,
			       struct ptx_stmt *at)
{
	struct ptx_opnd g, both;

	if (s->pred == PTX_NO_REG)
		return p;
	g = inst_sense(inst_reg(cx, s->pred), !s->is_pred_not);
	if (p.kind == PTX_OPND_SINK)
		return g;
	g = inst_reg(cx, inst_condition(cx, s->pred, !s->is_pred_not, at));
	both = inst_fresh(cx, PTX_TYPE_PRED);
	inst_emit(cx, at, "and", NT, H(both, g, p));
	return both;
}

static void emit_rows(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *at)
{
	unsigned lanes = inst_rows_lanes(a->stmt->form);
	struct ptx_opnd w[ROW / WORD], ok = inst_none();
	struct ptx_str space =
		ptx_mod_suffix(a->space == PTX_SPACE_SHARED ? PTX_MOD_SHARED : PTX_MOD_UNKNOWN);

	if (lanes < WARP) {
		ok = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "lane_below", T(inst_num(lanes)), H(ok));
	}
	a->addr = address_at(a, 0);
	a->guard = inst_guard_and(cx, a->stmt, ok, at);
	for (unsigned i = 0; i < a->vec; i++) {
		w[i] = inst_fresh(cx, PTX_TYPE_B32);
		a->elem[i].was = w[i].reg;
	}
	inst_emit(cx, at, "ahead_load", T(space, inst_vec_of(a->vec)),
		  H(inst_values(cx, w, a->vec), a->addr, a->guard));
}

/* The value of the address operand as a 32-bit register, an address in the shared window. */
static struct ptx_opnd shared_low(struct inst_ctx *cx, const struct inst_access *a,
				  struct ptx_stmt *at)
{
	struct ptx_opnd base = a->where->sub[0], low = inst_fresh(cx, PTX_TYPE_B32);

	if (base.kind != PTX_OPND_REG) {
		inst_emit(cx, at, "shared_symbol", NT, H(low, base));
	} else if (is_word_register(cx, &base)) {
		return base;
	} else {
		if (a->stmt->form->space == PTX_SPACE_GENERIC) {
			struct ptx_opnd in = inst_fresh(cx, PTX_TYPE_B64);
			inst_emit(cx, at, "to_shared", NT, H(in, base));
			base = in;
		}
		inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("64")), H(low, base));
	}
	return low;
}

/* Each lane's own words of the tile: where they go and what they are. */
void inst_emit_together(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	const struct ptx_stmt *s = g->first->stmt;
	const struct ptx_opnd *from = tile_registers(cx, s);
	struct ptx_opnd guard = inst_guard_and(cx, s, inst_none(), at);
	struct ptx_opnd row = shared_low(cx, g->first, at);
	int64_t matrix = 0;

	for (struct inst_access *a = g->first; a; a = a->next, matrix++) {
		struct ptx_opnd *place = BASE_NEW(cx->m->arena, struct ptx_opnd);
		struct ptx_opnd word = inst_fresh(cx, PTX_TYPE_B32);

		*place = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "row_word", T(inst_num(matrix * LANES)), H(*place, row, guard));
		a->addr = address_at(a, 0);
		a->addr.sub = place;
		a->guard = guard;
		a->elem[0].was = word.reg;
		if (ptx_form_has(s->form, PTX_MOD_TRANS))
			inst_emit(cx, at, "turn_matrix", NT, H(word, from[matrix], guard));
		else
			inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(word, from[matrix]));
	}
}

static void emit_tile(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at)
{
	for (const struct inst_access *a = g->first; a; a = a->next)
		inst_emit(cx, at, "ahead_store", T(PTX_STR("")),
			  H(a->addr, inst_reg(cx, a->elem[0].was), a->guard));
}

/* Loads the source word by word, as far as src-size reaches. Returns the copy's guard. */
static struct ptx_opnd load_cut(struct inst_ctx *cx, struct inst_group *g,
				const struct ptx_opnd *size, const struct ptx_opnd *w,
				struct ptx_stmt *at)
{
	struct ptx_opnd n = inst_fresh(cx, PTX_TYPE_B32), whole = inst_fresh(cx, PTX_TYPE_PRED);
	struct inst_access *a = g->first;

	inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(n, *size));
	inst_emit(cx, at, "whole_words", T(inst_num((int64_t)g->last->vec * WORD)), H(whole, n));
	whole = inst_guard_and(cx, a->stmt, whole, at);
	for (unsigned i = 0; a != g->last; a = a->next, i++) {
		struct ptx_opnd in = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "reaches", T(inst_num((int64_t)(i + 1) * WORD)), H(in, n, whole));
		inst_emit(cx, at, "zero", NT, H(w[i]));
		a->addr = address_at(a, i * WORD);
		a->guard = in;
		a->elem[0].was = w[i].reg;
		inst_emit(cx, at, "ahead_load", T(ptx_mod_suffix(PTX_MOD_GLOBAL), PTX_STR("")),
			  H(w[i], a->addr, in));
	}
	return whole;
}

static struct ptx_opnd load_whole(struct inst_ctx *cx, struct inst_group *g,
				  const struct ptx_opnd *ignore, const struct ptx_opnd *w,
				  struct ptx_stmt *at)
{
	struct inst_access *a = g->first;
	struct ptx_opnd guard = inst_guard_and(cx, a->stmt, inst_none(), at);

	a->guard = guard;
	a->addr = address_at(a, 0);
	if (ignore) {
		bool is_not = ignore->flags & PTX_OPND_NOT;
		struct ptx_opnd in = inst_reg(cx, inst_condition(cx, ignore->reg, is_not, at));
		a->guard = inst_guard_and(cx, a->stmt, in, at);
	}
	for (unsigned i = 0; i < a->vec; i++) {
		a->elem[i].was = w[i].reg;
		if (ignore)
			inst_emit(cx, at, "zero", NT, H(w[i]));
	}
	inst_emit(cx, at, "ahead_load", T(ptx_mod_suffix(PTX_MOD_GLOBAL), inst_vec_of(a->vec)),
		  H(inst_values(cx, w, a->vec), a->addr, a->guard));
	return guard;
}

static void emit_copy(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	struct inst_access *to = g->last;
	const struct ptx_opnd *cut = inst_copy_cut(to->stmt);
	struct ptx_opnd w[MAX_CP / WORD];

	for (unsigned i = 0; i < to->vec; i++) {
		w[i] = inst_fresh(cx, PTX_TYPE_B32);
		to->elem[i].was = w[i].reg;
	}
	to->addr = address_at(to, 0);
	to->guard = cut && !is_predicate(cx, cut) ? load_cut(cx, g, cut, w, at)
						  : load_whole(cx, g, cut, w, at);
	inst_emit(cx, at, "ahead_store", T(inst_vec_of(to->vec)),
		  H(to->addr, inst_values(cx, w, to->vec), to->guard));
}

static void emit_store(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *at)
{
	struct ptx_opnd w[INST_MAX_VEC];

	a->addr = address_at(a, 0);
	a->guard = inst_guard_and(cx, a->stmt, inst_none(), at);
	for (unsigned i = 0; i < a->vec; i++) {
		w[i] = inst_fresh(cx, a->type);
		a->elem[i].was = w[i].reg;
		inst_emit(cx, at, "copy", T(a->bits == 32 ? PTX_STR("b32") : PTX_STR("b64")),
			  H(w[i], a->elem[i].op));
	}
	inst_emit(cx, at, "async_store", T(inst_vec_of(a->vec), inst_num(a->bits)),
		  H(a->addr, inst_values(cx, w, a->vec), a->guard));
}

/* What comes before the delay: our own accesses, whose values are compared. */
void inst_emit_ahead(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at)
{
	if (g->ahead == INST_AHEAD_ROWS)
		emit_rows(cx, g->first, at);
	else if (g->ahead == INST_AHEAD_TILE)
		emit_tile(cx, g, at);
	else if (g->ahead == INST_AHEAD_MATRIX)
		inst_emit_matrix(cx, g, at);
	else if (g->ahead == INST_AHEAD_FRAGMENT)
		inst_emit_fragment(cx, g, at);
	else if (g->ahead == INST_AHEAD_STORE)
		emit_store(cx, g->first, at);
	else
		emit_copy(cx, g, at);
}

/* Comes last before the copy: a thread that reads the destination without having waited reads the
 * dirty value. */
void inst_emit_dirty(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at)
{
	const struct inst_access *to = g->last;
	bool is_word = to->width == WORD;
	struct ptx_str space = g->ahead == INST_AHEAD_COPY ? PTX_STR("") : PTX_STR("::cluster");
	struct ptx_opnd d[MAX_CP / WORD];

	for (unsigned i = 0; i < to->vec; i++) {
		d[i] = inst_fresh(cx, to->type);
		inst_emit(cx, at, is_word ? "dirty_word" : "dirty_double", NT,
			  H(d[i], inst_reg(cx, to->elem[i].was)));
	}
	inst_emit(cx, at, "dirty", T(space, inst_vec_of(to->vec), inst_num(to->bits)),
		  H(to->addr, inst_values(cx, d, to->vec), to->guard));
	/* The counter already includes this check, so it isn't zero. */
	if (g->ahead == INST_AHEAD_STORE)
		inst_emit(cx, at, "bulk_fence", T(PTX_STR("")), H(inst_reg(cx, cx->cnt)));
}
