/*
 * cold.c - what runs when a re-read found another value, or lanes share an address.
 *
 * Out of the way behind the body (inline only inside nested scopes, whose labels
 * can't be reached from there). Finds the first differing element, widens the
 * values to 64 bits and reports: by a call of __collider_report, or call-free
 * where a call would cost too much (collide.ptxt, report_inline).
 * Costs nothing until something changed, but its call raises the register
 * count of the function (measured by the toolchain's fit).
 */
#include "instrument/internal.h"

#define KNOB(field) inst_num((int64_t)offsetof(struct race_knobs, field))

/* report_inline spells these offsets as numbers. */
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
_Static_assert(offsetof(struct race_record, sm) == 120, "report_inline");
_Static_assert(offsetof(struct race_record, valid) == 124, "report_inline");
_Static_assert(offsetof(struct race_rt, records) == 0, "report_inline");
_Static_assert(offsetof(struct race_slot, count) == 8, "report_inline");

/* The registers of one report, made once per use. */
struct report {
	struct ptx_opnd hit, addr, wl, wh, nl, nh, kind;
	struct ptx_opnd lanes;
	enum race_kind race;
	uint32_t flags;
};

static struct ptx_opnd fresh(struct inst_ctx *cx, enum ptx_type t)
{
	return inst_reg(cx, ptx_new_reg(cx->m, cx->f, t));
}

static struct report new_report(struct inst_ctx *cx, enum race_kind kind, struct ptx_stmt *at)
{
	struct report r = {
		.hit = fresh(cx, PTX_TYPE_PRED),
		.addr = fresh(cx, PTX_TYPE_B64),
		.wl = fresh(cx, PTX_TYPE_B64),
		.wh = fresh(cx, PTX_TYPE_B64),
		.nl = fresh(cx, PTX_TYPE_B64),
		.nh = fresh(cx, PTX_TYPE_B64),
		.kind = inst_none(),
		.lanes = inst_int(cx, 0),
		.race = kind,
	};

	inst_emit(cx, at, "pick_clear", NT, H(r.hit, r.addr, r.wl, r.wh, r.nl, r.nh));
	return r;
}

static void put_loc(struct inst_ctx *cx, const struct inst_access *a, struct ptx_stmt *at)
{
	if (!a->stmt->loc)
		return;
	struct ptx_stmt *s = ptx_new_stmt(cx->m, PTX_STMT_LOC);
	s->loc = a->stmt->loc;
	s->inserted = true;
	ptx_insert_before(cx->f, at, s);
}

static void send(struct inst_ctx *cx, const struct inst_access *a, const struct report *r,
		 struct ptx_stmt *at)
{
	struct ptx_opnd site = inst_int(cx, a->site), width = inst_int(cx, a->width);
	struct ptx_opnd kind = r->kind;

	if (kind.kind != PTX_OPND_REG)
		kind = inst_int(cx, (int64_t)r->race | (int64_t)r->flags << 16);
	if (cx->opt->trap)
		inst_emit(cx, at, "trap",
			  T(cx->k, KNOB(rt), KNOB(flags), inst_num(RACE_KNOB_TRAP)), H(r->hit));
	if (!cx->call_free) {
		inst_emit(cx, at, "report", T(cx->k, KNOB(rt)),
			  H(r->hit, cx->hash, site, kind, r->addr, r->wl, r->wh, r->nl, r->nh,
			    r->lanes, width));
		return;
	}
	struct ptx_opnd key = inst_late_opnd(cx, INST_LATE_KEY, a->site, r->race);
	struct ptx_opnd slot = inst_late_opnd(cx, INST_LATE_SLOT, a->site, r->race);
	struct ptx_opnd record = inst_late_opnd(cx, INST_LATE_RECORD, a->site, r->race);
	if (r->flags & RACE_REC_USED)
		inst_emit(cx, at, "used_inline", T(cx->k, KNOB(rt)),
			  H(r->hit, key, slot, record, kind));
	else
		inst_emit(cx, at, "report_inline",
			  T(cx->k, KNOB(rt),
			    inst_num((int64_t)offsetof(struct race_rt, overflow))),
			  H(r->hit, cx->hash, site, kind, r->addr, r->wl, r->wh, r->nl, r->nh,
			    r->lanes, width, key, slot, record));
}

/* The address of the access without its constant offset, as a 64-bit register. */
static struct ptx_opnd base64(struct inst_ctx *cx, const struct inst_access *a, int64_t *off,
			      struct ptx_stmt *at)
{
	const struct ptx_opnd *b = &a->addr.sub[0];
	struct ptx_opnd r;

	*off = a->addr.off;
	if (b->kind == PTX_OPND_REG) {
		if (ptx_type_bytes((enum ptx_type)cx->f->reg_type[b->reg]) == 8)
			return *b;
		r = fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "widen", T(PTX_STR("64"), PTX_STR("32")), H(r, *b));
		return r;
	}
	r = fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, at, "symbol", NT, H(r, *b));
	return r;
}

static void pick(struct inst_ctx *cx, const struct inst_access *a, unsigned i, struct report *r,
		 struct ptx_opnd base, int64_t off, struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[i];
	struct ptx_opnd was = inst_reg(cx, e->was), now = inst_reg(cx, e->now);
	struct ptx_str at_off = inst_num(off + (int64_t)i * a->width);

	if (a->bits == 128)
		inst_emit(cx, at, "pick128", T(at_off),
			  H(r->hit, r->addr, r->wl, r->wh, r->nl, r->nh, was, now, base,
			    a->guard));
	else if (a->bits == 64)
		inst_emit(cx, at, "pick64", T(at_off),
			  H(r->hit, r->addr, r->wl, r->nl, was, now, base, a->guard));
	else
		inst_emit(cx, at, "pick", T(inst_num(a->bits), at_off),
			  H(r->hit, r->addr, r->wl, r->nl, was, now, base, a->guard));
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

void inst_cold_used(struct inst_ctx *cx, const struct inst_access *a, uint32_t hit,
		    struct ptx_stmt *at)
{
	struct ptx_opnd zero = inst_int(cx, 0);
	struct report r = {.hit = inst_reg(cx, hit),
			   .addr = zero,
			   .wl = zero,
			   .wh = zero,
			   .nl = zero,
			   .nh = zero,
			   .kind = inst_none(),
			   .lanes = zero,
			   .race = RACE_KIND_SPECULATED_READ,
			   .flags = RACE_REC_USED};

	send(cx, a, &r, at);
}

/* Each speculated element by itself: its finding waits for its use. */
static void cold_speculated(struct inst_ctx *cx, const struct inst_access *a, unsigned i,
			    struct ptx_opnd base, int64_t off, struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[i];
	struct report r = new_report(cx, RACE_KIND_SPECULATED_READ, at);
	struct ptx_opnd spec = inst_reg(cx, e->spec);

	pick(cx, a, i, &r, base, off, at);
	send(cx, a, &r, at);
	inst_emit(cx, at, "or", NT, H(spec, spec, r.hit));
	if (e->early != PTX_NO_REG) {
		struct ptx_opnd both = fresh(cx, PTX_TYPE_PRED);
		inst_emit(cx, at, "and", NT, H(both, r.hit, inst_reg(cx, e->early)));
		inst_cold_used(cx, a, both.reg, at);
	}
}

static struct ptx_opnd widen64(struct inst_ctx *cx, const struct inst_access *a, uint32_t reg,
			       struct ptx_stmt *at)
{
	if (a->bits == 64)
		return inst_reg(cx, reg);
	struct ptx_opnd r = fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, at, "widen", T(PTX_STR("64"), inst_num(a->bits)), H(r, inst_reg(cx, reg)));
	return r;
}

/* The usual case, one element: the report function compares the values itself. */
static void cold_scalar(struct inst_ctx *cx, const struct inst_access *a, struct ptx_opnd base,
			int64_t off, struct ptx_stmt *at)
{
	const struct inst_elem *e = &a->elem[0];
	struct ptx_opnd zero = inst_int(cx, 0), addr = base;

	if (off) {
		addr = fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "add_offset", NT, H(addr, base, inst_int(cx, off)));
	}
	struct ptx_opnd was = widen64(cx, a, e->was, at), now = widen64(cx, a, e->now, at);
	struct ptx_opnd kind = inst_int(cx, (int64_t)kind_of(a));
	struct ptx_opnd site = inst_int(cx, a->site), width = inst_int(cx, a->width);
	if (a->guard.kind == PTX_OPND_SINK)
		inst_emit(cx, at, "report_all", T(cx->k, KNOB(rt)),
			  H(cx->hash, site, kind, addr, was, zero, now, zero, zero, width));
	else
		inst_emit(cx, at, "report", T(cx->k, KNOB(rt)),
			  H(a->guard, cx->hash, site, kind, addr, was, zero, now, zero, zero,
			    width));
}

static void cold_access(struct inst_ctx *cx, const struct inst_access *a, struct ptx_stmt *at)
{
	int64_t off;
	bool any = false;

	put_loc(cx, a, at);
	struct ptx_opnd base = base64(cx, a, &off, at);
	if (a->vec == 1 && a->bits <= 64 && !a->elem[0].speculated && !cx->call_free &&
	    !cx->opt->trap) {
		cold_scalar(cx, a, base, off, at);
		return;
	}
	for (unsigned i = 0; i < a->vec; i++)
		any |= a->elem[i].checked && !a->elem[i].speculated;
	if (any) {
		struct report r = new_report(cx, kind_of(a), at);
		for (unsigned i = a->vec; i-- > 0;)
			if (a->elem[i].checked && !a->elem[i].speculated)
				pick(cx, a, i, &r, base, off, at);
		send(cx, a, &r, at);
	}
	for (unsigned i = 0; i < a->vec; i++)
		if (a->elem[i].checked && a->elem[i].speculated)
			cold_speculated(cx, a, i, base, off, at);
}

void inst_cold_group(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at)
{
	for (const struct inst_access *a = g->first; a; a = a->next)
		cold_access(cx, a, at);
}

/* Compares the values of the lanes that share my address, element by element. */
static void warp_values(struct inst_ctx *cx, const struct inst_access *a, struct report *r,
			struct ptx_opnd distinct, struct ptx_stmt *at)
{
	struct ptx_opnd same = inst_reg(cx, a->same);

	for (unsigned i = a->vec; i-- > 0;) {
		if (!a->elem[i].checked)
			continue;
		struct ptx_opnd was = inst_reg(cx, a->elem[i].was);
		if (a->bits == 128) {
			struct ptx_opnd lo = fresh(cx, PTX_TYPE_B64), hi = fresh(cx, PTX_TYPE_B64);
			inst_emit(cx, at, "split128", NT, H(lo, hi, was));
			inst_emit(cx, at, "warp_value64", NT, H(r->wh, r->nh, distinct, same, hi));
			inst_emit(cx, at, "warp_value64", NT, H(r->wl, r->nl, distinct, same, lo));
		} else if (a->bits == 64) {
			inst_emit(cx, at, "warp_value64", NT, H(r->wl, r->nl, distinct, same, was));
		} else {
			if (a->bits == 16) {
				struct ptx_opnd w = fresh(cx, PTX_TYPE_B32);
				inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("16")),
					  H(w, was));
				was = w;
			}
			inst_emit(cx, at, "warp_value32", NT, H(r->wl, r->nl, distinct, same, was));
		}
	}
}

/* Entered by exactly the lanes with a->bad; those that share an address wait for each other. */
void inst_cold_warp(struct inst_ctx *cx, const struct inst_access *a, struct ptx_stmt *at)
{
	struct ptx_opnd distinct = fresh(cx, PTX_TYPE_PRED), equal = fresh(cx, PTX_TYPE_PRED);
	struct ptx_opnd leader = fresh(cx, PTX_TYPE_PRED);
	int64_t off;

	put_loc(cx, a, at);
	struct report r = new_report(cx, RACE_KIND_INTRA_WARP, at);
	struct ptx_opnd base = base64(cx, a, &off, at);
	inst_emit(cx, at, "clear", NT, H(distinct));
	warp_values(cx, a, &r, distinct, at);
	inst_emit(cx, at, "add_offset", NT, H(r.addr, base, inst_int(cx, off)));
	inst_emit(cx, at, "warp_leader", NT,
		  H(leader, inst_reg(cx, a->bad), inst_reg(cx, a->same)));
	r.lanes = inst_reg(cx, a->same);
	if (!cx->call_free) {
		r.hit = leader;
		r.kind = fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "warp_kind",
			  T(inst_num(RACE_KIND_INTRA_WARP), inst_num(RACE_KIND_INTRA_WARP_SAME)),
			  H(r.kind, distinct));
		send(cx, a, &r, at);
		return;
	}
	/* A call-free slot is a constant of its kind: one sequence for each. */
	inst_emit(cx, at, "and", NT, H(r.hit, leader, distinct));
	send(cx, a, &r, at);
	inst_emit(cx, at, "not", NT, H(equal, distinct));
	inst_emit(cx, at, "and", NT, H(r.hit, leader, equal));
	r.race = RACE_KIND_INTRA_WARP_SAME;
	send(cx, a, &r, at);
}
