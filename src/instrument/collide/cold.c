/*
 * cold.c - what runs when a re-read found another value, or lanes share an address.
 *
 * Placed after the body (inline only in nested scopes, whose labels can't be reached from there).
 * Each element of the group is passed to __collider_changed, which compares again and reports
 * (src/device/report.cu). Where a call would cost too much, the same is done without one: the first
 * differing element is selected and report_inline of cold.ptxt records it.
 * Costs nothing until something has changed, but the call raises the function's register count (the
 * toolchain measures that when it fits registers).
 */
#include "instrument/collide/collide.h"

/* report_inline contains these offsets as numbers. */
_Static_assert(offsetof(struct race_record, site) == 8, "report_inline");
_Static_assert(offsetof(struct race_record, kind) == 12, "report_inline");
_Static_assert(offsetof(struct race_record, flags) == 14, "report_inline");
_Static_assert(offsetof(struct race_record, address) == 16, "report_inline");
_Static_assert(offsetof(struct race_record, was) == 24, "report_inline");
_Static_assert(offsetof(struct race_record, now) == 40, "report_inline");
_Static_assert(offsetof(struct race_record, lanes) == 56, "report_inline");
_Static_assert(offsetof(struct race_record, width) == 60, "report_inline");
_Static_assert(offsetof(struct race_record, thread) == 64, "report_inline");
_Static_assert(offsetof(struct race_record, block) == 76, "report_inline");
_Static_assert(offsetof(struct race_record, count) == 88, "report_inline");
_Static_assert(offsetof(struct race_record, grid) == 96, "report_inline");
_Static_assert(offsetof(struct race_record, grid_x) == 104, "report_inline");
_Static_assert(offsetof(struct race_record, order) == 116, "report_inline");
_Static_assert(offsetof(struct race_record, sm) == 120, "report_inline");
_Static_assert(offsetof(struct race_record, valid) == 124, "report_inline");
_Static_assert(offsetof(struct race_rt, records) == 0, "report_inline");
_Static_assert(offsetof(struct race_slot, count) == 8, "report_inline");

/* Only a debugger that stops in cold code needs its line, and it costs ptxas time. */
static void put_loc(struct inst_ctx *cx, const struct inst_access *a, struct ptx_stmt *at)
{
	if (!cx->opt->trap || !a->stmt->loc)
		return;
	struct ptx_stmt *s = ptx_new_stmt(cx->m, PTX_STMT_LOC);
	s->loc = a->stmt->loc;
	s->inserted = true;
	ptx_insert_before(cx->f, at, s);
}

static enum race_kind kind_of(const struct inst_access *a)
{
	switch (a->kind) {
	case RACE_ACCESS_STORE:
		return RACE_KIND_LOST_UPDATE;
	case RACE_ACCESS_NC_LOAD:
		return RACE_KIND_NC_READ;
	default:
		return RACE_KIND_CLOBBERED_READ;
	}
}

static struct ptx_opnd what_of(const struct inst_ctx *cx, const struct inst_access *a,
			       enum race_kind kind, bool used)
{
	return inst_int(cx, race_what(a->site, kind, a->width, used));
}

struct ptx_opnd inst_address(struct inst_ctx *cx, const struct inst_access *a, int64_t more,
			     struct ptx_stmt *at)
{
	struct ptx_opnd r = a->addr.sub[0];
	int64_t off = a->addr.off + more;

	if (r.kind != PTX_OPND_REG) {
		r = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "symbol", NT, H(r, a->addr.sub[0]));
	} else if (ptx_type_bytes((enum ptx_type)cx->f->reg_type[r.reg]) == 4) {
		r = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "widen", T(PTX_STR("64"), PTX_STR("32")), H(r, a->addr.sub[0]));
	}
	if (off) {
		struct ptx_opnd sum = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "add_offset", NT, H(sum, r, inst_int(cx, off)));
		r = sum;
	}
	return r;
}

static struct ptx_opnd widen64(struct inst_ctx *cx, const struct inst_access *a, uint32_t reg,
			       struct ptx_stmt *at)
{
	if (a->bits == 64)
		return inst_reg(cx, reg);
	struct ptx_opnd r = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, at, "widen", T(PTX_STR("64"), inst_num(a->bits)), H(r, inst_reg(cx, reg)));
	return r;
}

/* ---- by call ------------------------------------------------------------------ */

static void call_element(struct inst_ctx *cx, const struct inst_access *a, unsigned i,
			 enum race_kind kind, struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[i];
	/* Of 128 bits each half is an element. */
	struct ptx_opnd what =
		inst_int(cx, race_what(a->site, kind, a->bits < 128 ? a->width : 8, false));
	int64_t off = (int64_t)i * (a->step ? a->step : a->width);

	if (a->bits < 128) {
		struct ptx_opnd addr = inst_address(cx, a, off, at);
		struct ptx_opnd was = widen64(cx, a, e->was, at), now = widen64(cx, a, e->now, at);
		inst_emit(cx, at, "changed", NT, H(cx->hash, what, addr, was, now));
		return;
	}
	struct ptx_opnd was[2] = {inst_fresh(cx, PTX_TYPE_B64), inst_fresh(cx, PTX_TYPE_B64)};
	struct ptx_opnd now[2] = {inst_fresh(cx, PTX_TYPE_B64), inst_fresh(cx, PTX_TYPE_B64)};
	inst_emit(cx, at, "split128", NT, H(was[0], was[1], inst_reg(cx, e->was)));
	inst_emit(cx, at, "split128", NT, H(now[0], now[1], inst_reg(cx, e->now)));
	for (int half = 0; half < 2; half++) {
		struct ptx_opnd addr = inst_address(cx, a, off + 8 * half, at);
		inst_emit(cx, at, "changed", NT, H(cx->hash, what, addr, was[half], now[half]));
	}
}

/* A store's first 8 bytes as one register. */
static struct ptx_opnd warp_value(struct inst_ctx *cx, const struct inst_access *a,
				  struct ptx_stmt *at)
{
	const struct inst_elem *e = a->elem;

	if (!e->checked)
		return inst_int(cx, 0);
	if (a->bits == 128) {
		struct ptx_opnd lo = inst_fresh(cx, PTX_TYPE_B64),
				hi = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "split128", NT, H(lo, hi, inst_reg(cx, e->was)));
		return lo;
	}
	if (a->bits == 32 && a->vec > 1 && e[1].checked) {
		struct ptx_opnd both = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "join32", NT,
			  H(both, inst_reg(cx, e[0].was), inst_reg(cx, e[1].was)));
		return both;
	}
	return widen64(cx, a, e->was, at);
}

/* The xor of a store's words after its first 8 bytes. */
static struct ptx_opnd warp_fold(struct inst_ctx *cx, const struct inst_access *a,
				 struct ptx_stmt *at)
{
	struct ptx_opnd fold = inst_fresh(cx, PTX_TYPE_B32);

	inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(fold, inst_int(cx, 0)));
	if (a->bits == 128 && a->elem[0].checked) {
		struct ptx_opnd lo = inst_fresh(cx, PTX_TYPE_B64),
				hi = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "split128", NT, H(lo, hi, inst_reg(cx, a->elem[0].was)));
		inst_emit(cx, at, "fold_double", NT, H(fold, hi));
		return fold;
	}
	for (unsigned i = a->bits == 32 ? 2 : 1; i < a->vec; i++) {
		if (!a->elem[i].checked)
			continue;
		struct ptx_opnd was = inst_reg(cx, a->elem[i].was);
		if (a->bits == 16) {
			struct ptx_opnd w = inst_fresh(cx, PTX_TYPE_B32);
			inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("16")), H(w, was));
			was = w;
		}
		inst_emit(cx, at, a->bits == 64 ? "fold_double" : "fold_word", NT, H(fold, was));
	}
	return fold;
}

/* ---- call-free ------------------------------------------------------------------ */

/* The registers of one report, new for each use. */
struct report {
	struct ptx_opnd hit, addr, wl, wh, nl, nh;
	struct ptx_opnd lanes;
	enum race_kind race;
};

static struct report new_report(struct inst_ctx *cx, enum race_kind kind, struct ptx_stmt *at)
{
	struct report r = {
		.hit = inst_fresh(cx, PTX_TYPE_PRED),
		.addr = inst_fresh(cx, PTX_TYPE_B64),
		.wl = inst_fresh(cx, PTX_TYPE_B64),
		.wh = inst_fresh(cx, PTX_TYPE_B64),
		.nl = inst_fresh(cx, PTX_TYPE_B64),
		.nh = inst_fresh(cx, PTX_TYPE_B64),
		.lanes = inst_int(cx, 0),
		.race = kind,
	};

	inst_emit(cx, at, "pick_clear", NT, H(r.hit, r.addr, r.wl, r.wh, r.nl, r.nh));
	return r;
}

void inst_put_stop(struct inst_ctx *cx, struct ptx_opnd hit, struct ptx_stmt *at)
{
	_Static_assert(RACE_KNOB_TRAP == 1, "stop");
	if (cx->opt->trap)
		inst_emit(cx, at, "stop", T(cx->k, KNOB(rt), KNOB(flags)), H(hit));
}

static void send_inline(struct inst_ctx *cx, const struct inst_access *a, const struct report *r,
			struct ptx_stmt *at)
{
	/* A read that the compiler has moved up is no race before its use: inst_cold_used stops
	 * then. */
	if (r->race != RACE_KIND_SPECULATED_READ)
		inst_put_stop(cx, r->hit, at);
	inst_emit(cx, at, "report_inline",
		  T(cx->k, KNOB(rt), inst_num((int64_t)offsetof(struct race_rt, overflow)),
		    KNOB(order)),
		  H(r->hit, cx->hash, inst_int(cx, a->site), inst_int(cx, r->race), r->addr, r->wl,
		    r->wh, r->nl, r->nh, r->lanes, inst_int(cx, a->width),
		    inst_late_opnd(cx, INST_LATE_KEY, a->site, r->race),
		    inst_late_opnd(cx, INST_LATE_SLOT, a->site, r->race),
		    inst_late_opnd(cx, INST_LATE_RECORD, a->site, r->race)));
}

static void pick(struct inst_ctx *cx, const struct inst_access *a, unsigned i, struct report *r,
		 struct ptx_opnd base, struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[i];
	struct ptx_opnd was = inst_reg(cx, e->was), now = inst_reg(cx, e->now);
	struct ptx_str off = inst_num((int64_t)i * (a->step ? a->step : a->width));

	if (a->bits == 128)
		inst_emit(cx, at, "pick128", T(off),
			  H(r->hit, r->addr, r->wl, r->wh, r->nl, r->nh, was, now, base, a->guard));
	else if (a->bits == 64)
		inst_emit(cx, at, "pick64", T(off),
			  H(r->hit, r->addr, r->wl, r->nl, was, now, base, a->guard));
	else
		inst_emit(cx, at, "pick", T(inst_num(a->bits), off),
			  H(r->hit, r->addr, r->wl, r->nl, was, now, base, a->guard));
}

/* ---- one access ------------------------------------------------------------------ */

void inst_cold_used(struct inst_ctx *cx, const struct inst_access *a, uint32_t hit,
		    struct ptx_stmt *at)
{
	struct ptx_label *done = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd zero = inst_int(cx, 0), p = inst_reg(cx, hit);
	enum race_kind kind = RACE_KIND_SPECULATED_READ;

	if (cx->call_free) {
		inst_put_stop(cx, p, at);
		inst_emit(cx, at, "used_inline", T(cx->k, KNOB(rt)),
			  H(p, inst_late_opnd(cx, INST_LATE_KEY, a->site, kind),
			    inst_late_opnd(cx, INST_LATE_SLOT, a->site, kind),
			    inst_late_opnd(cx, INST_LATE_RECORD, a->site, kind),
			    inst_int(cx, kind | (int64_t)RACE_REC_USED << 16)));
		return;
	}
	p.flags ^= PTX_OPND_NOT;
	inst_emit(cx, at, "branch_if", NT, H(p, ptx_opnd_label(done)));
	inst_emit(cx, at, "changed", NT, H(cx->hash, what_of(cx, a, kind, true), zero, zero, zero));
	inst_emit_label(cx, at, done);
}

/* Each speculated element by itself: its finding waits for its use. */
static void cold_speculated(struct inst_ctx *cx, const struct inst_access *a, unsigned i,
			    struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[i];
	struct ptx_opnd hit;

	if (cx->call_free) {
		struct report r = new_report(cx, RACE_KIND_SPECULATED_READ, at);
		pick(cx, a, i, &r, inst_address(cx, a, 0, at), at);
		send_inline(cx, a, &r, at);
		hit = r.hit;
	} else {
		struct ptx_label *equal = ptx_new_label(cx->m, cx->f);
		hit = inst_fresh(cx, PTX_TYPE_PRED);
		if (a->bits == 128) {
			inst_emit(cx, at, "clear", NT, H(hit));
			inst_emit(cx, at, "differ128", NT,
				  H(hit, inst_reg(cx, e->was), inst_reg(cx, e->now), a->guard));
		} else {
			inst_emit(cx, at, "changed_if", T(inst_num(a->bits)),
				  H(hit, inst_reg(cx, e->was), inst_reg(cx, e->now), a->guard));
		}
		struct ptx_opnd no = hit;
		no.flags ^= PTX_OPND_NOT;
		inst_emit(cx, at, "branch_if", NT, H(no, ptx_opnd_label(equal)));
		call_element(cx, a, i, RACE_KIND_SPECULATED_READ, at);
		inst_emit_label(cx, at, equal);
	}
	if (e->spec == PTX_NO_REG)
		return;
	struct ptx_opnd spec = inst_reg(cx, e->spec);
	inst_emit(cx, at, "or", NT, H(spec, spec, hit));
	inst_emit(cx, at, "found", NT, H(inst_reg(cx, cx->found), spec));
	if (e->early != PTX_NO_REG) {
		struct ptx_opnd both = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "and", NT, H(both, hit, inst_reg(cx, e->early)));
		inst_cold_used(cx, a, both.reg, at);
	}
}

static void cold_sure(struct inst_ctx *cx, const struct inst_access *a, struct ptx_stmt *at)
{
	if (cx->call_free) {
		struct report r = new_report(cx, kind_of(a), at);
		struct ptx_opnd base = inst_address(cx, a, 0, at);
		for (unsigned i = a->vec; i-- > 0;)
			if (a->elem[i].checked && !a->elem[i].speculated)
				pick(cx, a, i, &r, base, at);
		send_inline(cx, a, &r, at);
		return;
	}
	struct ptx_label *done = NULL;
	if (a->guard.kind != PTX_OPND_SINK) {
		struct ptx_opnd off = a->guard;
		off.flags ^= PTX_OPND_NOT;
		done = ptx_new_label(cx->m, cx->f);
		inst_emit(cx, at, "branch_if", NT, H(off, ptx_opnd_label(done)));
	}
	for (unsigned i = 0; i < a->vec; i++)
		if (a->elem[i].checked && !a->elem[i].speculated)
			call_element(cx, a, i, kind_of(a), at);
	if (done)
		inst_emit_label(cx, at, done);
}

void inst_cold_group(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at)
{
	for (const struct inst_access *a = g->first; a; a = a->next) {
		bool sure = false;

		put_loc(cx, a, at);
		for (unsigned i = 0; i < a->vec; i++)
			sure |= a->elem[i].checked && !a->elem[i].speculated;
		if (sure)
			cold_sure(cx, a, at);
		for (unsigned i = 0; i < a->vec; i++)
			if (a->elem[i].checked && a->elem[i].speculated)
				cold_speculated(cx, a, i, at);
	}
}

/* ---- lanes of one store ------------------------------------------------------------ */

/* Compares the values (their first 8 bytes) of the lanes that share this lane's address. */
static void warp_values(struct inst_ctx *cx, const struct inst_access *a, struct report *r,
			struct ptx_opnd distinct, struct ptx_opnd same, struct ptx_stmt *at)
{
	struct ptx_opnd value = warp_value(cx, a, at);

	inst_emit(cx, at, "clear", NT, H(distinct));
	if (value.kind == PTX_OPND_REG)
		inst_emit(cx, at, "warp_value64", NT, H(r->wl, r->nl, distinct, same, value));
}

static void warp_inline(struct inst_ctx *cx, const struct inst_access *a, struct ptx_opnd mask,
			struct ptx_stmt *at)
{
	struct ptx_opnd distinct = inst_fresh(cx, PTX_TYPE_PRED),
			equal = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_opnd leader = inst_fresh(cx, PTX_TYPE_PRED), bad = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_opnd same = inst_fresh(cx, PTX_TYPE_B32), addr = inst_address(cx, a, 0, at);
	struct ptx_label *none = ptx_new_label(cx->m, cx->f);

	inst_emit(cx, at, "warp_match", T(PTX_STR("64")), H(same, mask, addr, bad, a->guard));
	struct ptx_opnd good = bad;
	good.flags ^= PTX_OPND_NOT;
	inst_emit(cx, at, "branch_if", NT, H(good, ptx_opnd_label(none)));
	struct report r = new_report(cx, RACE_KIND_INTRA_WARP, at);
	warp_values(cx, a, &r, distinct, same, at);
	inst_emit(cx, at, "copy", T(PTX_STR("b64")), H(r.addr, addr));
	inst_emit(cx, at, "warp_leader", NT, H(leader, bad, same));
	r.lanes = same;
	/* A slot is a constant of its kind: one sequence for each. */
	inst_emit(cx, at, "and", NT, H(r.hit, leader, distinct));
	send_inline(cx, a, &r, at);
	inst_emit(cx, at, "not", NT, H(equal, distinct));
	inst_emit(cx, at, "and", NT, H(r.hit, leader, equal));
	r.race = RACE_KIND_INTRA_WARP_SAME;
	send_inline(cx, a, &r, at);
	inst_emit_label(cx, at, none);
}

/* Entered by all lanes of the store (guarded ones included: those with a false guard are not in
 * `mask` and branch around it). */
void inst_cold_warp(struct inst_ctx *cx, const struct inst_access *a, struct ptx_opnd mask,
		    struct ptx_stmt *at)
{
	struct ptx_label *done = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd off = a->guard;

	put_loc(cx, a, at);
	if (a->addr.sub[0].kind == PTX_OPND_REG) {
		struct ptx_opnd shares = inst_fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "warp_shares", NT, H(mask, a->low, shares, a->guard));
		shares.flags ^= PTX_OPND_NOT;
		inst_emit(cx, at, "branch_if", NT, H(shares, ptx_opnd_label(done)));
	} else if (off.kind != PTX_OPND_SINK) {
		off.flags ^= PTX_OPND_NOT;
		inst_emit(cx, at, "branch_if", NT, H(off, ptx_opnd_label(done)));
	}
	if (cx->call_free)
		warp_inline(cx, a, mask, at);
	else
		inst_emit(cx, at, "warp", NT,
			  H(cx->hash, what_of(cx, a, RACE_KIND_INTRA_WARP, false),
			    inst_address(cx, a, 0, at), warp_value(cx, a, at), warp_fold(cx, a, at),
			    mask));
	inst_emit_label(cx, at, done);
}
