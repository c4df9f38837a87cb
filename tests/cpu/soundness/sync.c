/*
 * sync.c - statements that synchronise threads by hand: flags, locks, fences.
 *
 * Releases and acquires come in the forms of the ISA's patterns: a releasing operation, one and a
 * strong write after it, a fence and a strong write; and the mirror image.
 */
#include "print.h"

#include <stdio.h>

/* How a value gets to the flag at [reg+offset]. */
struct release {
	const char *reg;
	unsigned offset, scope;
	const char *value, *delta;    /* what to store, or to add for that */
	bool is_out, is_weak, is_rmw; /* no order; not even strong; by read-modify-write only */
};

static unsigned release(struct writer *w, const struct gen_stmt *s, const struct release *x)
{
	const char *space = space_of(s), *scope = scope_name(s, x->scope);
	unsigned form = x->is_rmw ? 3 + s->form % 4 : s->form;

	if (x->is_weak) {
		put_fence(w, s, x->scope);
		return put_mem(w, "st%s.u32 [%s+%u], %s", space, x->reg, x->offset, x->value);
	}
	if (x->is_out && x->is_rmw)
		return put_mem(w, "red.relaxed.%s%s.add.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->delta);
	if (x->is_out)
		return put_mem(w, "st.relaxed.%s%s.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->value);
	switch (form) {
	case 0:
		put_fence(w, s, x->scope);
		return put_mem(w, "st.relaxed.%s%s.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->value);
	case 1: /* volatile is .sys: where the scope is to matter it isn't used */
		put_fence(w, s, x->scope);
		return put_mem(w, "st.%s%s%s.u32 [%s+%u], %s",
			       s->broken == 3 ? "relaxed." : "volatile",
			       s->broken == 3 ? scope : "", space, x->reg, x->offset, x->value);
	case 2:
		return put_mem(w, "st.release.%s%s.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->value);
	case 3:
		return put_mem(w, "red.release.%s%s.add.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->delta);
	case 4:
		put_fence(w, s, x->scope);
		return put_mem(w, "atom.relaxed.%s%s.add.u32 %%r4, [%s+%u], %s", scope, space,
			       x->reg, x->offset, x->delta);
	case 5:
		return put_mem(w, "atom.acq_rel.%s%s.add.u32 %%r4, [%s+%u], %s", scope, space,
			       x->reg, x->offset, x->delta);
	case 6:
		put_fence(w, s, x->scope);
		return put_mem(w, "red.relaxed.%s%s.add.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->delta);
	default: /* the first adds nothing, the second is the one that is seen */
		put_mem(w, "red.release.%s%s.add.u32 [%s+%u], 0", scope, space, x->reg, x->offset);
		return put_mem(w, "st.relaxed.%s%s.u32 [%s+%u], %s", scope, space, x->reg,
			       x->offset, x->value);
	}
}

/* A broken program may wait for what never comes: then it goes on some time. */
static void bound(struct writer *w, const struct gen_stmt *s)
{
	if (s->broken)
		put_inst(w, "mov.u32 %%r0, 200");
}

/* Back to the label while %p1. Polling by atomics is rare: the oracle keeps each of them. */
static void spin(struct writer *w, const struct gen_stmt *s, bool is_rmw, const char *label,
		 unsigned i)
{
	if (s->broken) {
		put_inst(w, "sub.u32 %%r0, %%r0, 1");
		put_inst(w, "setp.ne.and.u32 %%p1, %%r0, 0, %%p1");
	}
	put_inst(w, "@%%p1 nanosleep.u32 %u", is_rmw ? 6000 : 2000);
	put_inst(w, "@%%p1 bra %s%u", label, i);
}

/* Until the flag is `value`. */
static unsigned acquire(struct writer *w, const struct gen_stmt *s, const struct release *x,
			const char *label, unsigned i)
{
	const char *space = space_of(s), *scope = scope_name(s, x->scope);
	unsigned line, form = x->is_out ? 1 : s->form2 % 6;

	bound(w, s);
	put_label(w, label, i);
	if (form == 0)
		line = put_mem(w, "ld.acquire.%s%s.u32 %%r4, [%s+%u]", scope, space, x->reg,
			       x->offset);
	else if (form == 2)
		line = put_mem(w, "ld.volatile%s.u32 %%r4, [%s+%u]", space, x->reg, x->offset);
	else if (form == 3)
		line = put_mem(w, "atom.acquire.%s%s.or.b32 %%r4, [%s+%u], 0", scope, space, x->reg,
			       x->offset);
	else if (form == 5)
		line = put_mem(w, "atom.relaxed.%s%s.cas.b32 %%r4, [%s+%u], %s, %s", scope, space,
			       x->reg, x->offset, x->value, x->value);
	else
		line = put_mem(w, "ld.relaxed.%s%s.u32 %%r4, [%s+%u]", scope, space, x->reg,
			       x->offset);
	put_inst(w, "setp.ne.u32 %%p1, %%r4, %s", x->value);
	spin(w, s, form == 3, label, i);
	if (x->is_out)
		return line;
	if (form == 1 || form == 2 || form == 5)
		put_fence(w, s, x->scope);
	else if (form == 4)
		put_mem(w, "ld.acquire.%s%s.u32 %%r4, [%s+%u]", scope, space, x->reg, x->offset);
	return line;
}

/* ---- the grid ------------------------------------------------------------------------ */

/* .gpu or .sys; .cta where that is what's wrong */
static unsigned wide_scope(const struct writer *w, const struct gen_stmt *s, unsigned way)
{
	return is_out(w, s, way) ? 0 : s->scope == 2 ? 2 : 1;
}

static unsigned put_result(struct writer *w, unsigned i)
{
	put_inst(w, "mul.wide.u32 %%at, %%gid, 8");
	put_inst(w, "add.u64 %%at, %%at, %%g");
	return put_mem(w, "st.global.u64 [%%at+%u], %%acc", GEN_SPREAD + GEN_STRIDE * i);
}

/* As threadFenceReduction does. */
void put_last(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	unsigned scope = wide_scope(w, s, 3), line, reads[2];
	const char *name = scope_name(s, s->scope == 2 ? 2 : 1);

	line = put_result(w, i);
	if (!is_out(w, s, 1))
		put_inst(w, "bar.sync 0");
	put_inst(w, "setp.ne.u32 %%p, %%t, 0");
	put_inst(w, "@%%p bra wait%u", i);
	if (s->form % 3 == 0 && !s->broken) {
		put_mem(w, "atom.acq_rel.%s.global.inc.u32 %%r2, [%%g+%u], 1000", name,
			GEN_COUNT + 64 * i);
	} else {
		if (!is_out(w, s, 2))
			put_fence(w, s, scope);
		put_mem(w, "atom.relaxed.%s.global.add.u32 %%r2, [%%g+%u], 1", name,
			GEN_COUNT + 64 * i);
		if (!is_out(w, s, 4))
			put_fence(w, s, scope);
	}
	put_mem(w, "st.shared.u32 [flag], %%r2");
	put_label(w, "wait", i);
	put_inst(w, "bar.sync 0");
	put_mem(w, "ld.shared.u32 %%r2, [flag]");
	put_inst(w, "bar.sync 0");
	put_inst(w, "setp.ne.u32 %%p, %%r2, %u", w->l->blocks - 1);
	put_inst(w, "@%%p bra behind%u", i);
	put_inst(w, "mul.wide.u32 %%d1, %%t, 8");
	put_inst(w, "add.u64 %%d1, %%d1, %%g");
	reads[0] = w->line + 1;
	for (unsigned b = 0; b < w->l->blocks; b++) {
		reads[1] = put_mem(w, "ld.global.u64 %%q0, [%%d1+%u]",
				   GEN_SPREAD + GEN_STRIDE * i + 8 * b * w->l->threads);
		put_mem(w, "red.relaxed.gpu.global.add.u64 [%%g+%u], %%q0", GEN_COUNT + 64 * i + 8);
	}
	put_label(w, "behind", i);
	put_plant(w, s, (const unsigned[]){line, line}, reads);
}

void put_grid(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s;
	struct release r = {.reg = "%g", .offset = GEN_COUNT + 64 * i, .delta = "1"};
	char blocks[8];
	unsigned line, read, n = w->l->blocks * w->l->threads;

	x.is_shared = false;
	snprintf(blocks, sizeof(blocks), "%u", w->l->blocks);
	line = put_result(w, i);
	if (!is_out(w, s, 1))
		put_inst(w, "bar.sync 0");
	put_inst(w, "setp.ne.u32 %%p, %%t, 0");
	put_inst(w, "@%%p bra wait%u", i);
	r.scope = wide_scope(w, s, 4);
	r.is_rmw = true;
	r.is_out = is_out(w, s, 2);
	r.value = blocks;
	release(w, &x, &r);
	r.is_out = is_out(w, s, 3);
	acquire(w, &x, &r, "spin", i);
	put_label(w, "wait", i);
	put_inst(w, "bar.sync 0");
	put_inst(w, "add.u32 %%r1, %%gid, %u", s->distance);
	put_inst(w, "rem.u32 %%r1, %%r1, %u", n);
	put_inst(w, "mul.wide.u32 %%at, %%r1, 8");
	put_inst(w, "add.u64 %%at, %%at, %%g");
	read = put_mem(w, "ld.global.u64 %%q0, [%%at+%u]", GEN_SPREAD + GEN_STRIDE * i);
	put_inst(w, "mad.lo.u64 %%acc, %%acc, 31, %%q0");
	put_plant_pair(w, s, line, read);
}

/* ---- locks --------------------------------------------------------------------------- */

/* %at: the lock at +0, or the tickets at +4 and who is served at +0; the data at +16. */
static void enter(struct writer *w, const struct gen_stmt *s, unsigned i, struct release *r)
{
	const char *scope = scope_name(s, r->scope), *space = space_of(s);
	bool is_out_here = is_out(w, s, 1);

	if (s->distance % 2) {
		put_mem(w, "atom.relaxed.%s%s.add.u32 %%r3, [%%at+4], 1", scope, space);
		r->value = "%r3";
		r->is_out = is_out_here;
		acquire(w, s, r, "turn", i);
		put_inst(w, "add.u32 %%r3, %%r3, 1");
		r->delta = "1";
		return;
	}
	bound(w, s);
	put_label(w, "turn", i);
	if (s->form2 % 3 == 0 && !is_out_here)
		put_mem(w, "atom.acquire.%s%s.cas.b32 %%r4, [%%at], 0, 1", scope, space);
	else if (s->form2 % 3 == 1 && !is_out_here)
		put_mem(w, "atom.acq_rel.%s%s.exch.b32 %%r4, [%%at], 1", scope, space);
	else
		put_mem(w, "atom.relaxed.%s%s.cas.b32 %%r4, [%%at], 0, 1", scope, space);
	put_inst(w, "setp.ne.u32 %%p1, %%r4, 0");
	spin(w, s, true, "turn", i);
	if (s->form2 % 3 == 2 && !is_out_here)
		put_fence(w, s, r->scope);
	r->value = "0";
	r->delta = "0xffffffff";
}

/* Every eighth thread adds its %acc. */
void put_lock(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s;
	unsigned bits = s->width == 8 ? 64 : 32, ld, st;
	struct release r = {.reg = "%at"};

	x.is_shared = s->is_shared && !s->scope;
	put_object(w, &x, i, "%at", !s->scope);
	put_inst(w, "and.b32 %%r1, %%t, 7");
	put_inst(w, "setp.ne.u32 %%p, %%r1, 0");
	put_inst(w, "@%%p bra free%u", i);
	r.scope = is_out(w, s, 3) ? 0 : s->scope;
	if (!is_out(w, s, 4))
		enter(w, &x, i, &r);
	put_inst(w, "cvt.u32.u64 %%r2, %%acc");
	ld = put_mem(w, "ld%s.u%u %s, [%%at+16]", space_of(&x), bits, bits == 32 ? "%r1" : "%q0");
	if (bits == 32)
		put_inst(w, "add.u32 %%r1, %%r1, %%r2");
	else
		put_inst(w, "add.u64 %%q0, %%q0, %%acc");
	st = put_mem(w, "st%s.u%u [%%at+16], %s", space_of(&x), bits, bits == 32 ? "%r1" : "%q0");
	if (!is_out(w, s, 4)) {
		r.is_out = is_out(w, s, 2);
		if (s->distance % 2)
			r.value = "%r3";
		release(w, &x, &r);
	}
	put_label(w, "free", i);
	put_plant_pair(w, s, st, ld);
}

/* ---- messages ------------------------------------------------------------------------ */

static void only_thread(struct writer *w, unsigned t, const char *label, unsigned i)
{
	put_inst(w, "setp.ne.u32 %%p, %%t, %u", t);
	put_inst(w, "@%%p bra %s%u", label, i);
}

/*
 * From the first thread of a block to the last of the same (.cta) or the previous block; through
 * the middle one of its own block if the statement's distance is odd. The flags are at +0 and +4,
 * the data at +16.
 */
void put_message(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s;
	unsigned threads = w->l->threads, scope = s->scope, st, ld, flag, seen = 0;
	bool is_relayed = s->distance % 2;
	struct release r = {.value = "1", .delta = "1", .reg = "%at"};

	x.is_shared = s->is_shared && !scope;
	x.offset = 16;
	put_object(w, &x, i, "%at", true);
	only_thread(w, 0, "sent", i);
	st = put_store(w, &x, "%at");
	r.scope = is_relayed || is_out(w, s, 3) ? 0 : scope;
	r.is_out = is_out(w, s, 1);
	r.is_weak = is_out(w, s, 4);
	flag = release(w, &x, &r);
	r.is_out = r.is_weak = false;
	put_label(w, "sent", i);
	if (is_relayed) {
		only_thread(w, threads / 2, "relayed", i);
		seen = acquire(w, &x, &r, "hears", i);
		r.scope = is_out(w, s, 3) ? 0 : scope;
		r.offset = 4;
		release(w, &x, &r);
		put_label(w, "relayed", i);
	}
	only_thread(w, threads - 1, "got", i);
	if (scope) {
		put_inst(w, "add.u32 %%r1, %%b, 1");
		put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->blocks);
		put_inst(w, "sub.u32 %%r1, %%r1, %%b");
		put_inst(w, "mul.wide.s32 %%d1, %%r1, 64");
		put_inst(w, "add.u64 %%at, %%at, %%d1");
	}
	r.scope = scope;
	r.is_out = is_out(w, s, 2);
	ld = acquire(w, &x, &r, "waits", i);
	if (!is_relayed)
		seen = ld;
	ld = put_load(w, &x, "%at");
	put_label(w, "got", i);
	if (s->broken == 4)
		put_plant_pair(w, s, flag, seen);
	else
		put_plant_pair(w, s, st, ld);
}

/* Whoever sees the other's flag unset goes in; fence.sc lets at most one. */
void put_dekker(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	unsigned last = w->l->blocks * w->l->threads - 1;
	const char *fence = is_out(w, s, 1) ? "acq_rel" : "sc";
	const char *scope = scope_name(s, s->scope == 2 ? 2 : 1);

	put_inst(w, "setp.eq.u32 %%p, %%gid, 0");
	put_inst(w, "setp.eq.or.u32 %%p, %%gid, %u, %%p", last);
	put_inst(w, "@!%%p bra out%u", i);
	put_inst(w, "setp.eq.u32 %%p, %%gid, 0");
	put_inst(w, "selp.b64 %%d1, 0, 64, %%p");
	put_inst(w, "selp.b64 %%d2, 64, 0, %%p");
	put_inst(w, "add.u64 %%d1, %%d1, %%g");
	put_inst(w, "add.u64 %%d2, %%d2, %%g");
	put_mem(w, "st.relaxed.%s.global.u32 [%%d1+%u], 1", scope, GEN_SPREAD + GEN_STRIDE * i);
	put_inst(w, "fence.%s.%s", fence, scope);
	put_mem(w, "ld.%s%s.global.u32 %%r1, [%%d2+%u]", s->form % 2 ? "volatile" : "relaxed.",
		s->form % 2 ? "" : scope, GEN_SPREAD + GEN_STRIDE * i);
	put_inst(w, "setp.ne.u32 %%p, %%r1, 0");
	put_inst(w, "@%%p bra out%u", i);
	put_mem(w, "st.global.u64 [%%g+%u], %%acc", GEN_LOOSE + 64 * i);
	put_label(w, "out", i);
}
