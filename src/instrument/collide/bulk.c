/*
 * bulk.c - cp.async.bulk, checked by accesses of ours before it is issued.
 *
 * SuperCollider section 3.4, theorem A.5, for both directions and for the cluster. A random window
 * of the copy (at most the knob's bytes) is copied by the issuing thread, delayed, compared word by
 * word, source against destination, and made dirty at the destination; then fence.proxy.async and
 * the original, which overwrites all of it. The destination itself holds the values meanwhile, so
 * the window takes no registers; two checksums of the source show which side has changed. All of
 * our accesses are relaxed: after a copy the block's cache may be stale.
 *
 * Where the destination may not be touched (a reduction, a multicast, a byte mask) there is no
 * place for the window's values: the FNV-1a sum of the source is taken twice, and the destination
 * is counted as not checked. A report shows the sums, for the window as a whole.
 *
 * Misses: a change outside the window; source and destination that overlap (in the block's own
 * shared memory: repeating the copy would change it); lanes that share a destination are not
 * compared with each other, but one finds what the other writes.
 * Costs: see the count above the templates in bulk.ptxt. One lane does it all.
 */
#include "instrument/collide/collide.h"

#include <string.h>

#define REPORT_WORD 4 /* bytes of a reported value */

/* ---- plan --------------------------------------------------------------------- */

static bool is_side(const struct inst_ctx *cx, const struct ptx_stmt *s, int op)
{
	if (op < 0 || s->ops[op].kind != PTX_OPND_ADDR || !s->ops[op].nsub)
		return false;
	const struct ptx_opnd *base = &s->ops[op].sub[0];
	if (base->kind == PTX_OPND_SYM)
		return true;
	return base->kind == PTX_OPND_REG && !base->comp &&
	       ptx_type_bytes((enum ptx_type)cx->f->reg_type[base->reg]) >= 4;
}

static bool is_memory_of_block(uint8_t space)
{
	return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

/* Global memory on one side or on none. */
static bool is_direction_known(const struct ptx_form *fm)
{
	return (is_memory_of_block(fm->space) &&
		(fm->space2 == PTX_SPACE_GLOBAL || fm->space2 == PTX_SPACE_SHARED)) ||
	       (fm->space == PTX_SPACE_GLOBAL && fm->space2 == PTX_SPACE_SHARED);
}

void inst_add_side(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *s,
		   const struct ptx_opnd *where, enum race_access kind, uint8_t space)
{
	struct inst_access *a = BASE_NEW(&cx->scratch, struct inst_access);

	a->stmt = s;
	a->where = where;
	a->kind = kind;
	a->space = (enum ptx_space)space;
	a->is_copy = true;
	a->width = REPORT_WORD;
	a->guard = inst_none();
	inst_append_access(cx, g, a);
}

/* Counts the side that is not checked. */
void inst_count_destination(struct inst_ctx *cx, const struct ptx_form *fm)
{
	const char *what =
		base_printf(cx->m->arena, "%.*s (destination)", (int)fm->text.n, fm->text.p);

	cx->stats->unsupported++;
	inst_unchecked(cx, (struct ptx_str){what, (uint32_t)strlen(what)}, RACE_WHY_UNSUPPORTED,
		       false);
}

/* The group of a bulk copy, or NULL: its footprint is not known. */
struct inst_group *inst_plan_bulk(struct inst_ctx *cx, struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	int dst = ptx_find_role(s, PTX_ROLE_ADDR_W), src = ptx_find_role(s, PTX_ROLE_ADDR_R);
	bool is_source_only = fm->op == PTX_OP_CP_REDUCE_ASYNC_BULK ||
			      ptx_form_has(fm, PTX_MOD_MULTICAST_CLUSTER) ||
			      ptx_form_has(fm, PTX_MOD_CP_MASK);

	if (s->nops < 3 || !is_side(cx, s, dst) || !is_side(cx, s, src) ||
	    !is_direction_known(fm) || ptx_form_has(fm, PTX_MOD_IGNORE_OOB))
		return NULL;
	if (s->ops[2].kind != PTX_OPND_INT &&
	    (s->ops[2].kind != PTX_OPND_REG ||
	     ptx_type_bytes((enum ptx_type)cx->f->reg_type[s->ops[2].reg]) != 4))
		return NULL;
	struct inst_group *g = BASE_NEW(&cx->scratch, struct inst_group);
	g->ahead = INST_AHEAD_BULK;
	g->has_load = true;
	inst_add_side(cx, g, s, &s->ops[src], RACE_ACCESS_LOAD, fm->space2);
	if (is_source_only)
		inst_count_destination(cx, fm);
	else
		inst_add_side(cx, g, s, &s->ops[dst], RACE_ACCESS_STORE, fm->space);
	return g;
}

/* ---- code --------------------------------------------------------------------- */

/* What the templates share of one check. */
struct bulk {
	const struct inst_access *from, *to; /* to: NULL for a source that is only read */
	struct ptx_stmt *at;
	struct ptx_opnd n, off;	     /* bytes of the window, where it begins */
	struct ptx_opnd src, dst;    /* 64-bit addresses of its ends */
	struct ptx_opnd sum, again;  /* of the source */
	struct ptx_opnd hit, place;  /* something differs, at this byte of the window */
	struct ptx_opnd here, there; /* source and destination */
};

static struct ptx_str space_of(const struct inst_access *a)
{
	if (a->space == PTX_SPACE_GLOBAL)
		return ptx_mod_suffix(PTX_MOD_GLOBAL);
	return ptx_mod_suffix(a->space == PTX_SPACE_SHARED ? PTX_MOD_SHARED
							   : PTX_MOD_SHARED_CLUSTER);
}

/* Where the window begins. Addresses of shared memory are 64 bits wide, too: one set of templates,
 * and ptxas drops the upper half. */
static struct ptx_opnd window_address(struct inst_ctx *cx, const struct bulk *b,
				      const struct inst_access *a)
{
	struct ptx_opnd base = a->where->sub[0], r = inst_fresh(cx, PTX_TYPE_B64);

	if (base.kind != PTX_OPND_REG) {
		struct ptx_opnd sym = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, b->at, "symbol", NT, H(sym, base));
		base = sym;
	} else if (ptx_type_bytes((enum ptx_type)cx->f->reg_type[base.reg]) == 4) {
		struct ptx_opnd wide = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, b->at, "widen", T(PTX_STR("64"), PTX_STR("32")), H(wide, base));
		base = wide;
	}
	inst_emit(cx, b->at, "bulk_address", T(inst_num(a->where->off)), H(r, base, b->off));
	return r;
}

/* Both sides over the window. */
static void emit_window(struct inst_ctx *cx, struct bulk *b, struct ptx_opnd size,
			struct ptx_label *skip)
{
	bool is_in_cluster = b->from->space == PTX_SPACE_SHARED;

	if (is_in_cluster && b->to->space != PTX_SPACE_GLOBAL)
		inst_emit(cx, b->at, "bulk_apart", NT,
			  H(b->src, b->dst, size, ptx_opnd_label(skip)));
	inst_emit(cx, b->at, "bulk_emulate", T(space_of(b->from), space_of(b->to)),
		  H(b->src, b->dst, b->n, b->sum));
	inst_emit_delay(cx, true, b->at);
	inst_emit(cx, b->at, "bulk_compare", T(space_of(b->from), space_of(b->to)),
		  H(b->src, b->dst, b->n, b->again, b->hit, b->place, b->here, b->there));
	/* For a write to the block's own memory its own fence is enough. */
	if (b->to->space == PTX_SPACE_SHARED)
		inst_emit(cx, b->at, "bulk_fence", T(ptx_mod_suffix(PTX_MOD_SHARED_CTA)), H(b->n));
	else
		inst_emit(cx, b->at, "bulk_fence", T(PTX_STR("")), H(b->n));
	inst_emit(cx, b->at, "count", T(PTX_STR("2"), inst_num(RACE_STATE_COUNT)),
		  H(inst_reg(cx, cx->cnt), inst_none()));
}

/* A source that is only read: its sum twice. */
static void emit_sums(struct inst_ctx *cx, struct bulk *b)
{
	inst_emit(cx, b->at, "bulk_sum", T(space_of(b->from)), H(b->src, b->n, b->sum));
	inst_emit_delay(cx, true, b->at);
	inst_emit(cx, b->at, "bulk_sum", T(space_of(b->from)), H(b->src, b->n, b->again));
	inst_emit(cx, b->at, "differ_first", T(PTX_STR("32")), H(b->hit, b->sum, b->again));
	inst_emit(cx, b->at, "count", T(PTX_STR("1"), inst_num(RACE_STATE_COUNT)),
		  H(inst_reg(cx, cx->cnt), inst_none()));
}

static struct ptx_opnd either(struct inst_ctx *cx, const struct inst_found *f,
			      struct ptx_opnd source, struct ptx_opnd destination, enum ptx_type t)
{
	struct ptx_opnd r = inst_fresh(cx, t);

	inst_emit(cx, f->at, "either", T(t == PTX_TYPE_B64 ? PTX_STR("b64") : PTX_STR("b32")),
		  H(r, source, destination, f->is_source));
	return r;
}

static struct ptx_opnd either_number(struct inst_ctx *cx, const struct inst_found *f,
				     int64_t source, int64_t destination)
{
	return either(cx, f, inst_int(cx, source), inst_int(cx, destination), PTX_TYPE_B32);
}

static struct ptx_opnd either_late(struct inst_ctx *cx, const struct inst_found *f,
				   enum inst_late_kind kind)
{
	return either(cx, f, inst_late_opnd(cx, kind, f->source_site, RACE_KIND_CLOBBERED_READ),
		      inst_late_opnd(cx, kind, f->destination_site, RACE_KIND_LOST_UPDATE),
		      PTX_TYPE_B64);
}

/* By call, or without. */
void inst_report_side(struct inst_ctx *cx, const struct inst_found *f)
{
	struct ptx_opnd zero = inst_int(cx, 0);
	uint32_t source = f->source_site, destination = f->destination_site;

	if (!cx->call_free) {
		struct ptx_opnd what = either_number(
			cx, f, race_what(source, RACE_KIND_CLOBBERED_READ, f->width, false),
			race_what(destination, RACE_KIND_LOST_UPDATE, f->width, false));
		inst_emit(cx, f->at, "changed", NT, H(cx->hash, what, f->addr, f->was, f->now));
		return;
	}
	struct ptx_opnd site = either_number(cx, f, source, destination);
	struct ptx_opnd kind =
		either_number(cx, f, RACE_KIND_CLOBBERED_READ, RACE_KIND_LOST_UPDATE);
	struct ptx_opnd key = either_late(cx, f, INST_LATE_KEY);
	struct ptx_opnd slot = either_late(cx, f, INST_LATE_SLOT);
	struct ptx_opnd record = either_late(cx, f, INST_LATE_RECORD);
	inst_put_stop(cx, f->hit, f->at);
	inst_emit(cx, f->at, "report_inline",
		  T(cx->k, KNOB(rt), inst_num((int64_t)offsetof(struct race_rt, overflow)),
		    KNOB(order)),
		  H(f->hit, cx->hash, site, kind, f->addr, f->was, zero, f->now, zero, zero,
		    inst_int(cx, f->width), key, slot, record));
}

static void emit_cold(struct inst_ctx *cx, const struct bulk *b)
{
	struct ptx_label *same = ptx_new_label(cx->m, cx->f);
	struct inst_found f = {
		.at = b->at,
		.source_site = b->from->site,
		.destination_site = b->to ? b->to->site : b->from->site,
		.hit = b->hit,
		.is_source = inst_fresh(cx, PTX_TYPE_PRED),
		.addr = inst_fresh(cx, PTX_TYPE_B64),
		.was = inst_fresh(cx, PTX_TYPE_B64),
		.now = inst_fresh(cx, PTX_TYPE_B64),
		.width = b->to ? REPORT_WORD : RACE_WIDTH_SUM,
	};

	inst_emit(cx, b->at, "branch_if", NT, H(inst_sense(b->hit, false), ptx_opnd_label(same)));
	if (b->to) {
		inst_emit(cx, b->at, "differ_first", T(PTX_STR("32")),
			  H(f.is_source, b->sum, b->again));
		inst_emit(cx, b->at, "bulk_found", NT,
			  H(f.addr, f.was, f.now, b->src, b->dst, b->place, b->here, b->there,
			    f.is_source));
	} else {
		f.addr = b->src;
		inst_emit(cx, b->at, "set", NT, H(f.is_source));
		inst_emit(cx, b->at, "join32", NT, H(f.was, b->sum, b->n));
		inst_emit(cx, b->at, "join32", NT, H(f.now, b->again, b->n));
	}
	inst_report_side(cx, &f);
	inst_emit_label(cx, b->at, same);
}

/* needs: draw.  Lanes with nothing to check go to `skip`. */
void inst_emit_bulk(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at,
		    struct ptx_label *skip)
{
	struct ptx_stmt *s = g->first->stmt;
	struct bulk b = {.from = g->first, .to = g->first->next, .at = at};
	struct ptx_opnd size = inst_fresh(cx, PTX_TYPE_B32);

	b.n = inst_fresh(cx, PTX_TYPE_B32);
	b.off = inst_fresh(cx, PTX_TYPE_B32);
	b.sum = inst_fresh(cx, PTX_TYPE_B32);
	b.again = inst_fresh(cx, PTX_TYPE_B32);
	b.hit = inst_fresh(cx, PTX_TYPE_PRED);
	b.place = inst_fresh(cx, PTX_TYPE_B32);
	b.here = inst_fresh(cx, PTX_TYPE_B64);
	b.there = inst_fresh(cx, PTX_TYPE_B64);
	if (s->pred != PTX_NO_REG)
		inst_emit(
			cx, at, "branch_if", NT,
			H(inst_sense(inst_reg(cx, s->pred), s->is_pred_not), ptx_opnd_label(skip)));
	inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(size, s->ops[2]));
	inst_emit(cx, at, "bulk_window", T(cx->k, KNOB(window)),
		  H(inst_random(cx, at), size, b.n, b.off, ptx_opnd_label(skip)));
	b.src = window_address(cx, &b, b.from);
	b.dst = b.to ? window_address(cx, &b, b.to) : b.src;
	if (b.to)
		emit_window(cx, &b, size, skip);
	else
		emit_sums(cx, &b);
	emit_cold(cx, &b);
}
