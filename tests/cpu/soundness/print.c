/*
 * print.c - programs as PTX: kernels, and statements that need no hand-made synchronisation.
 *
 * The registers are those of print_kernel; statements keep all but %acc and the scratch ones
 * (%r, %q, %d, %p). Object memory of a statement: in global memory its GEN_STRIDE bytes of
 * GEN_SPREAD, in shared memory 32 bytes of `objects`.
 */
#include "print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put_inst(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	base_buf_puts(&w->out->text, "\t");
	va_start(ap, fmt);
	base_buf_vprintf(&w->out->text, fmt, ap);
	va_end(ap);
	base_buf_puts(&w->out->text, ";\n");
}

unsigned put_mem(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	base_buf_printf(&w->out->text, "\t.loc 1 %u 1\n\t", ++w->line);
	va_start(ap, fmt);
	base_buf_vprintf(&w->out->text, fmt, ap);
	va_end(ap);
	base_buf_puts(&w->out->text, ";\n");
	return w->line;
}

void put_label(struct writer *w, const char *name, unsigned i)
{
	base_buf_printf(&w->out->text, "%s%u:\n", name, i);
}

bool is_out(const struct writer *w, const struct gen_stmt *s, unsigned way)
{
	return s->broken == way && !w->k->claims;
}

void put_plant(struct writer *w, const struct gen_stmt *s, const unsigned a[2], const unsigned b[2])
{
	struct program *p = w->out;

	if (!w->k->is_racy || !s->broken || !gen_is_certain(w->k, s) ||
	    p->nplants == PROGRAM_PLANTS)
		return;
	struct program_plant *t = &p->plant[p->nplants++];
	*t = (struct program_plant){.a = {a[0], a[1]}, .b = {b[0], b[1]}};
	snprintf(t->what, sizeof(t->what), "%s/%u", gen_kind_names[s->kind], s->broken);
}

void put_plant_pair(struct writer *w, const struct gen_stmt *s, unsigned a, unsigned b)
{
	put_plant(w, s, (const unsigned[]){a, a}, (const unsigned[]){b, b});
}

const char *space_of(const struct gen_stmt *s)
{
	return s->is_generic ? "" : s->is_shared ? ".shared" : ".global";
}

const char *scope_name(const struct gen_stmt *s, unsigned scope)
{
	static const char *const names[] = {"cta", "gpu", "sys"};

	return scope == 0 && s->is_cluster ? "cluster" : names[scope];
}

static const char *own_of(const struct gen_stmt *s)
{
	return !s->is_shared ? "%own" : s->is_generic ? "%sgown" : "%sown";
}

/* "v2.u32", "u8" */
static void form(const struct gen_stmt *s, char *to, size_t n)
{
	char type = s->type == 'x' ? 'u' : s->type;

	if (s->vec > 1)
		snprintf(to, n, "v%u.%c%u", s->vec, type, 8 * s->width);
	else
		snprintf(to, n, "%c%u", type, 8 * s->width);
}

static const char *const list[] = {"", "%q0", "{%q0, %q1}", "", "{%q0, %q1, %q2, %q3}"};

unsigned put_store(struct writer *w, const struct gen_stmt *s, const char *base)
{
	char f[16];

	form(s, f, sizeof(f));
	for (unsigned i = 0; i < s->vec; i++)
		put_inst(w, "add.u64 %%q%u, %%acc, %u", i, 7 * i);
	if (s->type != 'x')
		return put_mem(w, "st%s.%s [%s+%u], %s", space_of(s), f, base, s->offset,
			       list[s->vec]);
	put_inst(w, "mov.b128 %%h, {%%q0, %%q1}");
	return put_mem(w, "st%s.b128 [%s+%u], %%h", space_of(s), base, s->offset);
}

static unsigned load(struct writer *w, const struct gen_stmt *s, const char *space,
		     const char *base)
{
	unsigned line;
	char f[16];

	form(s, f, sizeof(f));
	if (s->type == 'x') {
		line = put_mem(w, "ld%s.b128 %%h, [%s+%u]", space, base, s->offset);
		put_inst(w, "mov.b128 {%%q0, %%q1}, %%h");
	} else {
		line = put_mem(w, "ld%s.%s %s, [%s+%u]", space, f, list[s->vec], base, s->offset);
	}
	for (unsigned i = 0; i < s->vec; i++)
		put_inst(w, "mad.lo.u64 %%acc, %%acc, 31, %%q%u", i);
	return line;
}

unsigned put_load(struct writer *w, const struct gen_stmt *s, const char *base)
{
	return load(w, s, space_of(s), base);
}

/* fence.acq_rel twice: the commonest. */
void put_fence(struct writer *w, const struct gen_stmt *s, unsigned scope)
{
	static const char *const membars[] = {"cta", "gl", "sys"};

	if (s->fence == 0 && (scope || !s->is_cluster))
		put_inst(w, "membar.%s", membars[scope]);
	else
		put_inst(w, "fence.%s.%s", s->fence == 1 ? "sc" : "acq_rel", scope_name(s, scope));
}

void put_object(struct writer *w, const struct gen_stmt *s, unsigned i, const char *reg,
		bool is_of_block)
{
	if (s->is_shared) {
		put_inst(w, "mov.u64 %s, objects", reg);
		put_inst(w, "add.u64 %s, %s, %u", reg, reg, 32 * i);
		if (s->is_generic)
			put_inst(w, "cvta.shared.u64 %s, %s", reg, reg);
		return;
	}
	put_inst(w, "mul.wide.u32 %s, %%b, %u", reg, is_of_block ? 64 : 0);
	put_inst(w, "add.u64 %s, %s, %%g", reg, reg);
	put_inst(w, "add.u64 %s, %s, %u", reg, reg, GEN_SPREAD + GEN_STRIDE * i);
}

/* %at: the 16 bytes of the thread of this block whose number is in %r1. */
static void put_slot(struct writer *w, const struct gen_stmt *s)
{
	put_inst(w, "mul.wide.u32 %%at, %%r1, 16");
	put_inst(w, "add.u64 %%at, %%at, %s", !s->is_shared ? "%gb" : s->is_generic ? "%sg" : "%s");
}

/* ---- statements ---------------------------------------------------------------------- */

static void own(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	const char *base = own_of(s);
	unsigned line;

	if (s->guard) {
		put_inst(w, "and.b32 %%r1, %%t, %u", s->guard);
		put_inst(w, "setp.ne.u32 %%p, %%r1, 0");
		put_inst(w, "@%%p bra skip%u", i);
	}
	if (s->broken && !w->k->claims) {
		put_inst(w, "shr.u32 %%r1, %%t, %u", s->broken == 1 ? 1u : 7u);
		put_slot(w, s);
		base = "%at";
	}
	put_inst(w, "and.b32 %%r2, %%t, %u", s->trips);
	put_label(w, "again", i);
	if (s->kind == GEN_STORE && is_out(w, s, 3))
		line = put_mem(w, "st%s.u32 [%%at], 5", space_of(s));
	else
		line = s->kind == GEN_STORE ? put_store(w, s, base) : put_load(w, s, base);
	put_plant_pair(w, s, line, line);
	if (s->trips) {
		put_inst(w, "sub.u32 %%r2, %%r2, 1");
		put_inst(w, "setp.ge.s32 %%p, %%r2, 0");
		put_inst(w, "@%%p bra again%u", i);
	}
	if (s->guard)
		put_label(w, "skip", i);
}

static void packed(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s;

	x.is_shared = false;
	x.offset = 0;
	if (is_out(w, s, 1))
		put_inst(w, "shr.u32 %%r1, %%gid, 1");
	else
		put_inst(w, "mov.u32 %%r1, %%gid");
	put_inst(w, "mul.wide.u32 %%at, %%r1, %u", s->width * s->vec);
	put_inst(w, "add.u64 %%at, %%at, %%g");
	put_inst(w, "add.u64 %%at, %%at, %u", GEN_SPREAD + GEN_STRIDE * i);
	unsigned line = put_store(w, &x, "%at");
	put_plant_pair(w, s, line, line);
	put_load(w, &x, "%at");
}

/* Six ways to say that all threads of the block have come. */
static void barrier(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	switch (s->form % 6) {
	case 0:
		put_inst(w, "bar.sync 0");
		break;
	case 1:
		put_inst(w, "barrier.sync 1");
		break;
	case 2:
		put_inst(w, "bar.sync 2, %u", w->l->threads);
		break;
	case 3:
		put_inst(w, "setp.lt.u32 %%p, %%t, 7");
		put_inst(w, "bar.red.popc.u32 %%r1, 3, %%p");
		break;
	case 4:
		put_inst(w, "setp.lt.u32 %%p, %%t, 7");
		put_inst(w, "barrier.red.or.pred %%p, 4, %%p");
		break;
	default:
		put_inst(w, "mbarrier.arrive.shared.b64 %%q0, [mbars+%u]", 8 * i);
		put_label(w, "phase", i);
		put_inst(w, "mbarrier.%s_wait.shared.b64 %%p, [mbars+%u], %%q0",
			 s->form2 % 2 ? "try" : "test", 8 * i);
		put_inst(w, "@!%%p nanosleep.u32 2000");
		put_inst(w, "@!%%p bra phase%u", i);
		break;
	}
}

static void exchange(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	unsigned st, ld;

	/* Bytes that others have read are the thread's own again only after a barrier. */
	st = put_store(w, s, own_of(s));
	if (!is_out(w, s, 1))
		barrier(w, s, i);
	put_inst(w, "add.u32 %%r1, %%t, %u", s->distance);
	put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->threads);
	put_slot(w, s);
	ld = put_load(w, s, "%at");
	if (is_out(w, s, 2))
		st = put_store(w, s, own_of(s));
	put_inst(w, "bar.sync 0");
	put_plant_pair(w, s, st, ld);
}

static void warp_sync(struct writer *w, const struct gen_stmt *s, const char *mask)
{
	if (!is_out(w, s, 3))
		put_inst(w, "bar.warp.sync %s", mask);
	else if (s->form2 % 2)
		put_inst(w, "shfl.sync.idx.b32 %%r2, %%t, 0, 31, %s", mask);
	else
		put_inst(w, "vote.sync.ballot.b32 %%r2, %%p1, %s", mask);
}

static void warp_half(struct writer *w, const struct gen_stmt *s, unsigned distance,
		      const char *mask)
{
	unsigned st, ld;

	st = put_store(w, s, own_of(s));
	if (!is_out(w, s, 1))
		warp_sync(w, s, mask);
	put_inst(w, "xor.b32 %%r1, %%t, %u", distance);
	put_slot(w, s);
	ld = put_load(w, s, "%at");
	if (is_out(w, s, 2))
		st = put_store(w, s, own_of(s));
	put_inst(w, "bar.warp.sync %s", mask);
	put_plant_pair(w, s, st, ld);
}

static void warp(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	unsigned even = s->distance & ~1u;

	put_inst(w, "setp.lt.u32 %%p1, %%t, 9");
	if (s->form % 2) {
		warp_half(w, s, s->distance, "0xffffffff");
		return;
	}
	put_inst(w, "and.b32 %%r1, %%t, 1");
	put_inst(w, "setp.ne.u32 %%p, %%r1, 0");
	put_inst(w, "@%%p bra odd%u", i);
	warp_half(w, s, even, "0x55555555");
	put_inst(w, "bra joined%u", i);
	put_label(w, "odd", i);
	warp_half(w, s, even, "0xaaaaaaaa");
	put_label(w, "joined", i);
}

/* Is it the launch's last statement, after which threads may leave as they come? */
static bool is_end(const struct writer *w, const struct gen_stmt *s, unsigned i)
{
	for (unsigned j = i + 1; j < w->k->n; j++)
		if (!w->k->stmt[j].is_removed && w->k->stmt[j].launch == s->launch)
			return false;
	return !s->trips && s->form & 4 && !getenv("COLLIDER_FUNCTIONS");
}

/* The third warp arrives, too, or half of it, and leaves. */
static void third_arrives(struct writer *w, const struct gen_stmt *s, unsigned i, unsigned count)
{
	put_inst(w, "setp.lt.u32 %%p, %%t, 64");
	put_inst(w, "@%%p bra fourth%u", i);
	if (s->form & 2) {
		put_inst(w, "and.b32 %%r1, %%t, 16");
		put_inst(w, "setp.ne.u32 %%p, %%r1, 0");
		put_inst(w, "@%%p bra fourth%u", i);
	}
	put_inst(w, "bar.arrive 5, %u", count);
	put_label(w, "fourth", i);
}

/* The first warp has something for the second. At the end of a launch each warp leaves when it has
 * arrived. */
static void split(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	const char *first = is_out(w, s, 2) ? "bar.sync" : "bar.arrive";
	const char *second = is_out(w, s, 2) ? "bar.arrive" : "bar.sync";
	unsigned st, ld, count = is_end(w, s, i) && s->form & 1 ? w->l->threads : 64;

	if (w->l->threads < 64)
		return;
	put_inst(w, "setp.ge.u32 %%p, %%t, 32");
	put_inst(w, "@%%p bra second%u", i);
	st = put_store(w, s, own_of(s));
	if (!is_out(w, s, 1))
		put_inst(w, "%s 5, %u", first, count);
	put_label(w, "second", i);
	put_inst(w, "sub.u32 %%r1, %%t, 32");
	put_inst(w, "setp.ge.u32 %%p, %%r1, 32");
	put_inst(w, "@%%p bra third%u", i);
	if (!is_out(w, s, 1))
		put_inst(w, "%s 5, %u", second, count);
	put_slot(w, s);
	ld = put_load(w, s, "%at");
	put_label(w, "third", i);
	if (count > 64 && !is_out(w, s, 1))
		third_arrives(w, s, i, count);
	if (!is_end(w, s, i))
		put_inst(w, "bar.sync 0");
	put_plant_pair(w, s, st, ld);
}

/* As exchange, with a thread of the next block of the cluster. */
static void cluster(struct writer *w, const struct gen_stmt *s)
{
	unsigned st, ld;
	struct gen_stmt x = *s;

	x.is_shared = true;
	st = put_store(w, &x, own_of(&x));
	if (is_out(w, s, 2))
		put_inst(w, "barrier.cluster.arrive.relaxed");
	else if (!is_out(w, s, 1))
		put_inst(w, "barrier.cluster.arrive%s", s->form % 2 ? ".release" : "");
	if (!is_out(w, s, 1))
		put_inst(w, "barrier.cluster.wait%s", s->form2 % 2 ? ".acquire" : "");
	put_inst(w, "add.u32 %%r1, %%t, %u", s->distance);
	put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->threads);
	put_slot(w, &x);
	put_inst(w, "mov.u32 %%r1, %%cluster_ctarank");
	put_inst(w, "add.u32 %%r1, %%r1, 1");
	put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->cluster ? w->l->cluster : 1);
	put_inst(w, "mapa%s.u64 %%at, %%at, %%r1", s->is_generic ? "" : ".shared::cluster");
	ld = load(w, &x, s->is_generic ? "" : ".shared::cluster", "%at");
	if (is_out(w, s, 3))
		st = put_store(w, &x, own_of(&x));
	put_inst(w, "barrier.cluster.arrive");
	put_inst(w, "barrier.cluster.wait");
	put_plant_pair(w, s, st, ld);
}

static const char *const sems[] = {"relaxed", "acquire", "release", "acq_rel"};

/* A counter: of a block at .cta scope, else the grid's. */
static void atomic(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	static const char *const ops[] = {"add.u", "add.u", "max.u", "min.u",
					  "or.b",  "xor.b", "and.b", "add.u"};
	struct gen_stmt x = *s;
	unsigned bits = s->width == 4 ? 32 : 64;
	bool is_red = s->form2 < 3;
	const char *scope = scope_name(s, is_out(w, s, 3) ? 0 : s->scope);
	unsigned one, other;

	x.is_shared = s->is_shared && !s->scope;
	put_object(w, &x, i, "%at", s->scope == 0 && !is_out(w, s, 3));
	/* Half of the threads take the low word only. */
	put_inst(w, "setp.eq.u32 %%p1, %%t, 0xffffffff");
	if (is_out(w, s, 4)) {
		put_inst(w, "and.b32 %%r1, %%t, 1");
		put_inst(w, "setp.ne.u32 %%p1, %%r1, 0");
	}
	put_inst(w, "cvt.u32.u64 %%r2, %%acc");
	if (is_red)
		one = put_mem(w, "@!%%p1 red.%s.%s%s.%s%u [%%at], %s", sems[s->fence & 2], scope,
			      space_of(&x), ops[s->form], bits, bits == 32 ? "%r2" : "%acc");
	else
		one = put_mem(w, "@!%%p1 atom.%s.%s%s.%s%u %s, [%%at], %s", sems[s->fence], scope,
			      space_of(&x), ops[s->form], bits, bits == 32 ? "%r1" : "%q0",
			      bits == 32 ? "%r2" : "%acc");
	other = one;
	if (is_out(w, s, 4))
		other = put_mem(w, "@%%p1 st.relaxed.%s%s.u16 [%%at], 1", scope, space_of(&x));
	else if (is_out(w, s, 1))
		other = put_mem(w, "ld%s.u32 %%r1, [%%at]", space_of(&x));
	else if (is_out(w, s, 2))
		other = put_mem(w, "st%s.u32 [%%at], %%r2", space_of(&x));
	if (is_out(w, s, 1)) {
		put_inst(w, "cvt.u64.u32 %%q0, %%r1");
		put_inst(w, "add.u64 %%acc, %%acc, %%q0");
	}
	put_plant_pair(w, s, one, other);
}

static void common(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	unsigned at = 8 * gen_counter(w->k, i);
	unsigned one, other = 0;

	if (s->form % 2)
		one = put_mem(w, "red.%s.%s.global.add.u64 [%%c+%u], %%acc", sems[s->fence & 2],
			      s->scope == 2 ? "sys" : "gpu", at);
	else
		one = put_mem(w, "atom.%s.%s.global.add.u64 %%q0, [%%c+%u], %%acc", sems[s->fence],
			      s->scope == 2 ? "sys" : "gpu", at);
	if (is_out(w, s, 1))
		other = put_mem(w, "ld.global.u64 %%acc, [%%c+%u]", at);
	else if (is_out(w, s, 2))
		other = put_mem(w, "st.global.u64 [%%c+%u], %%acc", at);
	put_plant_pair(w, s, one, other);
}

/* The value read here is undetermined, and nothing uses it. */
static void strong(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	bool is_cta = s->scope == 0 || is_out(w, s, 3);
	const char *scope = scope_name(s, is_out(w, s, 3) ? 0 : s->scope);
	const char *space = s->is_generic ? "" : ".global";
	char st[32], ld[32];
	unsigned one, other;

	put_inst(w, "mul.wide.u32 %%at, %%b, %u", is_cta && !is_out(w, s, 3) ? 8 : 0);
	put_inst(w, "add.u64 %%at, %%at, %%g");
	snprintf(st, sizeof(st), "st.%s.%s", s->form % 3 ? "relaxed" : "release", scope);
	snprintf(ld, sizeof(ld), "ld.%s.%s", s->form2 % 3 ? "relaxed" : "acquire", scope);
	if (s->form % 4 == 3 && !is_out(w, s, 3))
		snprintf(st, sizeof(st), "st.volatile");
	if (s->form2 % 4 == 3 && !is_out(w, s, 3))
		snprintf(ld, sizeof(ld), "ld.volatile");
	put_inst(w, "cvt.u32.u64 %%r2, %%acc");
	one = put_mem(w, "%s%s.u32 [%%at+%u], %%r2", is_out(w, s, 2) ? "st" : st, space,
		      GEN_LOOSE + 64 * i);
	if (is_out(w, s, 4))
		other = put_mem(w, "%s%s.u16 %%h1, [%%at+%u]", ld, space, GEN_LOOSE + 64 * i);
	else
		other = put_mem(w, "%s%s.u32 %%r1, [%%at+%u]", is_out(w, s, 1) ? "ld" : ld, space,
				GEN_LOOSE + 64 * i);
	/* A weak load whose result is not used is left out by the compiler, and so by detectors. */
	if (is_out(w, s, 1)) {
		put_inst(w, "cvt.u64.u32 %%q0, %%r1");
		put_inst(w, "add.u64 %%acc, %%acc, %%q0");
	}
	if (is_out(w, s, 2) || is_out(w, s, 3))
		other = one;
	put_plant_pair(w, s, one, other);
}

/* %r3 of the bytes are copied, the rest is zero. */
static unsigned put_copy(struct writer *w, const struct gen_stmt *s, unsigned bytes)
{
	const char *cache = bytes == 16 && s->form > 3 ? "cg" : "ca";
	unsigned offset = s->distance * bytes % 16;
	bool has_size = s->guard & 2 && !s->broken;

	if (has_size)
		return put_mem(w, "cp.async.%s.shared.global [%%sown+%u], [%%own+%u], %u, %%r3",
			       cache, offset, offset, bytes);
	return put_mem(w, "cp.async.%s.shared.global [%%sown+%u], [%%own+%u], %u", cache, offset,
		       offset, bytes);
}

/* The last way waits for the copies of the whole block, the others for the thread's own. */
static void wait_copies(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	switch (s->broken == 2 ? 0 : s->form2 % 4) {
	case 0:
		put_inst(w, "cp.async.commit_group");
		put_inst(w, "cp.async.wait_group 0");
		break;
	case 1:
		put_inst(w, "cp.async.wait_all");
		break;
	case 2: /* an empty group after it */
		put_inst(w, "cp.async.commit_group");
		put_inst(w, "cp.async.commit_group");
		put_inst(w, "cp.async.wait_group 1");
		break;
	default:
		put_inst(w, "cp.async.mbarrier.arrive.noinc.shared.b64 [mbars+%u]", 8 * i);
		put_label(w, "landed", i);
		put_inst(w, "mbarrier.test_wait.parity.shared.b64 %%p, [mbars+%u], 0", 8 * i);
		put_inst(w, "@!%%p nanosleep.u32 2000");
		put_inst(w, "@!%%p bra landed%u", i);
		break;
	}
}

static void copy(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s, y = *s;
	unsigned bytes = s->broken || s->form % 3 == 0 ? 16 : s->form % 3 == 1 ? 8 : 4;
	unsigned cp, other;
	/* The mbarrier orders the copies only: what others stored there before them, or beside
	 * them, needs a barrier. */
	bool is_block_wide = !s->broken && s->form2 % 4 == 3 && bytes == 16;
	bool is_others = (s->guard & 1 && s->broken != 1) || s->broken == 2 || s->broken == 4;

	x.is_shared = true;
	y.is_shared = false;
	put_inst(w, "mov.u32 %%r3, %u", bytes / 2);
	if (is_block_wide)
		put_inst(w, "bar.sync 0");
	cp = put_copy(w, s, bytes);
	other = cp;
	if (is_out(w, s, 3))
		other = put_store(w, &y, own_of(&y));
	if (!is_out(w, s, 1) && !is_out(w, s, 4))
		wait_copies(w, s, i);
	if (is_others && !is_out(w, s, 2) && !is_block_wide)
		put_inst(w, "bar.sync 0");
	put_inst(w, "add.u32 %%r1, %%t, %u", is_others ? s->distance : 0);
	put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->threads);
	put_slot(w, &x);
	unsigned ld = put_load(w, &x, "%at");
	if (is_out(w, s, 1) || is_out(w, s, 4))
		put_inst(w, "cp.async.wait_all");
	put_inst(w, "bar.sync 0");
	put_plant_pair(w, s, cp, other == cp ? ld : other);
}

static void wait_bulk(struct writer *w, unsigned i)
{
	put_label(w, "bulk", i);
	put_inst(w, "mbarrier.test_wait.parity.shared.b64 %%p, [mbars+%u], 0", 8 * i);
	put_inst(w, "@!%%p nanosleep.u32 2000");
	put_inst(w, "@!%%p bra bulk%u", i);
}

/* The block's slots are filled by the async proxy: what ordinary accesses did there before, reads
 * too, needs a proxy fence, on their side or on the issuer's. */
static void bulk(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	static const char *const fences[] = {"fence.proxy.async", "fence.proxy.async.shared::cta"};
	bool is_issuers = s->form2 & 2;
	struct gen_stmt x = *s;
	unsigned before, cp, ld;

	x.is_shared = true;
	before = s->form & 1 ? put_load(w, &x, own_of(&x)) : put_store(w, &x, own_of(&x));
	if (!is_out(w, s, 1) && !is_issuers)
		put_inst(w, "%s", fences[s->form2 & 1]);
	put_inst(w, "bar.sync 0");
	put_inst(w, "setp.ne.u32 %%p, %%t, 0");
	put_inst(w, "@%%p bra issued%u", i);
	if (!is_out(w, s, 1) && is_issuers)
		put_inst(w, "%s", fences[s->form2 & 1]);
	put_inst(w, "add.u64 %%d0, %%gb, %u", GEN_CONST);
	put_inst(w, "mbarrier.arrive.expect_tx.shared.b64 %%q0, [mbars+%u], %u", 8 * i,
		 16 * w->l->threads);
	cp = put_mem(w,
		     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [slots], "
		     "[%%d0], %u, [mbars+%u]",
		     16 * w->l->threads, 8 * i);
	put_label(w, "issued", i);
	if (!is_out(w, s, 2))
		wait_bulk(w, i);
	put_inst(w, "add.u32 %%r1, %%t, %u", s->guard & 1 ? s->distance : 0);
	put_inst(w, "rem.u32 %%r1, %%r1, %u", w->l->threads);
	put_slot(w, &x);
	ld = put_load(w, &x, "%at");
	if (is_out(w, s, 2))
		wait_bulk(w, i);
	put_inst(w, "bar.sync 0");
	put_plant_pair(w, s, is_out(w, s, 2) ? cp : before, is_out(w, s, 2) ? ld : cp);
}

static void print_stmt(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	struct gen_stmt x = *s;

	base_buf_printf(&w->out->text, "\t// %u: %s%s\n", i, gen_kind_names[s->kind],
			s->broken && !w->k->claims ? ", broken" : "");
	switch (s->kind) {
	case GEN_STORE:
	case GEN_LOAD:
		own(w, s, i);
		break;
	case GEN_PACKED:
		packed(w, s, i);
		break;
	case GEN_READ_ONLY:
		put_inst(w, "add.u64 %%at, %%own, %u", GEN_CONST);
		x.type = s->type == 'x' ? 'u' : s->type;
		load(w, &x, s->form % 2 ? ".global.nc" : ".global", "%at");
		break;
	case GEN_EXCHANGE:
		exchange(w, s, i);
		break;
	case GEN_WARP:
		warp(w, s, i);
		break;
	case GEN_SPLIT:
		split(w, s, i);
		break;
	case GEN_CLUSTER:
		cluster(w, s);
		break;
	case GEN_ATOMIC:
		atomic(w, s, i);
		break;
	case GEN_COMMON:
		common(w, s, i);
		break;
	case GEN_STRONG:
		strong(w, s, i);
		break;
	case GEN_LAST:
		put_last(w, s, i);
		break;
	case GEN_GRID:
		put_grid(w, s, i);
		break;
	case GEN_LOCK:
		put_lock(w, s, i);
		break;
	case GEN_MESSAGE:
		put_message(w, s, i);
		break;
	case GEN_COPY:
		copy(w, s, i);
		break;
	case GEN_DEKKER:
		put_dekker(w, s, i);
		break;
	case GEN_BULK:
		bulk(w, s, i);
		break;
	case GEN_KINDS:
		break;
	}
}

/* ---- kernels and operations ------------------------------------------------------------- */

static bool has_mbarrier(const struct gen_stmt *s)
{
	return (s->kind == GEN_EXCHANGE && s->form % 6 == 5) ||
	       (s->kind == GEN_COPY && s->form2 % 4 == 3) || s->kind == GEN_BULK;
}

static bool has_functions(void)
{
	return getenv("COLLIDER_FUNCTIONS") != NULL;
}

/* Is the statement a function of its own, with COLLIDER_FUNCTIONS in the environment? */
static bool is_called(const struct gen_stmt *s, unsigned i)
{
	return has_functions() && (i + s->form2 + (unsigned)s->kind) % 3 != 0;
}

static void print_shared(struct writer *w)
{
	base_buf_printf(&w->out->text,
			"\t.shared .align 16 .b8 slots[1536];\n\t.shared .align 8 .b8 mbars[%u];\n"
			"\t.shared .align 16 .b8 objects[%u];\n\t.shared .align 4 .b8 flag[32];\n",
			8 * GEN_STMTS, 32 * GEN_STMTS);
}

static void print_registers(struct writer *w)
{
	base_buf_puts(&w->out->text,
		      "\t.reg .b64 %acc, %g, %c, %own, %gb, %s, %sown, %sg, %sgown;\n"
		      "\t.reg .b64 %at, %d<4>, %q<4>;\n\t.reg .b128 %h;\n"
		      "\t.reg .b32 %t, %b, %gid, %r<5>;\n\t.reg .b16 %h1;\n"
		      "\t.reg .pred %p, %p1;\n");
}

/* What a statement reads, in the order of a function's parameters. */
static const char *const inputs[] = {"%acc",  "%g",  "%c",     "%own", "%gb", "%s",
				     "%sown", "%sg", "%sgown", "%t",   "%b",  "%gid"};
#define INPUTS	    (sizeof(inputs) / sizeof(inputs[0]))
#define WIDE_INPUTS 9u

static unsigned bits_of(unsigned input)
{
	return input < WIDE_INPUTS ? 64 : 32;
}

static void print_function(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	base_buf_printf(&w->out->text, ".func (.param .b64 out) s%u(", i);
	for (unsigned k = 0; k < INPUTS; k++)
		base_buf_printf(&w->out->text, "%s.param .b%u in%u", k ? ", " : "", bits_of(k), k);
	base_buf_puts(&w->out->text, ")\n{\n");
	print_registers(w);
	for (unsigned k = 0; k < INPUTS; k++)
		put_inst(w, "ld.param.b%u %s, [in%u]", bits_of(k), inputs[k], k);
	print_stmt(w, s, i);
	put_inst(w, "st.param.b64 [out], %%acc");
	put_inst(w, "ret");
	base_buf_puts(&w->out->text, "}\n");
}

static void print_call(struct writer *w, unsigned i)
{
	base_buf_puts(&w->out->text, "\t{\n\t.param .b64 out");
	for (unsigned k = 0; k < INPUTS; k++)
		base_buf_printf(&w->out->text, ";\n\t.param .b%u a%u", bits_of(k), k);
	base_buf_puts(&w->out->text, ";\n");
	for (unsigned k = 0; k < INPUTS; k++)
		put_inst(w, "st.param.b%u [a%u], %s", bits_of(k), k, inputs[k]);
	base_buf_printf(&w->out->text, "\tcall.uni (out), s%u, (", i);
	for (unsigned k = 0; k < INPUTS; k++)
		base_buf_printf(&w->out->text, "%sa%u", k ? ", " : "", k);
	base_buf_puts(&w->out->text, ");\n");
	put_inst(w, "ld.param.b64 %%acc, [out]");
	base_buf_puts(&w->out->text, "\t}\n");
}

static void print_head(struct writer *w, unsigned number)
{
	base_buf_printf(&w->out->text,
			".visible .entry k%u(.param .u64 p, .param .u64 common)\n{\n", number);
	if (!has_functions())
		print_shared(w);
	print_registers(w);
	put_inst(w, "ld.param.u64 %%g, [p]");
	put_inst(w, "ld.param.u64 %%c, [common]");
	put_inst(w, "mov.u32 %%r1, %%tid.y");
	put_inst(w, "mov.u32 %%r2, %%tid.x");
	put_inst(w, "mad.lo.u32 %%t, %%r1, %u, %%r2", w->l->wide);
	put_inst(w, "mov.u32 %%b, %%ctaid.x");
	put_inst(w, "mad.lo.u32 %%gid, %%b, %u, %%t", w->l->threads);
	put_inst(w, "mul.wide.u32 %%own, %%gid, 16");
	put_inst(w, "add.u64 %%own, %%own, %%g");
	put_inst(w, "mul.wide.u32 %%gb, %%b, %u", 16 * w->l->threads);
	put_inst(w, "add.u64 %%gb, %%gb, %%g");
	put_inst(w, "mov.u64 %%s, slots");
	put_inst(w, "mul.wide.u32 %%sown, %%t, 16");
	put_inst(w, "add.u64 %%sown, %%sown, %%s");
	put_inst(w, "cvta.shared.u64 %%sg, %%s");
	put_inst(w, "cvta.shared.u64 %%sgown, %%sown");
	put_inst(w, "mul.wide.u32 %%acc, %%gid, 40503");
	put_inst(w, "add.u64 %%acc, %%acc, %u", number + 1);
	put_mem(w, "st.shared.v4.u32 [%%sown], {0, 0, 0, 0}");
	put_inst(w, "mul.wide.u32 %%d0, %%t, 16");
	put_inst(w, "mov.u64 %%d1, objects");
	put_inst(w, "add.u64 %%d0, %%d0, %%d1");
	put_inst(w, "setp.lt.u32 %%p, %%t, %u", 2 * GEN_STMTS);
	put_mem(w, "@%%p st.shared.v4.u32 [%%d0], {0, 0, 0, 0}");
	put_inst(w, "setp.eq.u32 %%p, %%t, 0");
	for (unsigned i = 0; i < w->k->n; i++)
		if (!w->k->stmt[i].is_removed && w->k->stmt[i].launch == number &&
		    has_mbarrier(&w->k->stmt[i]))
			put_mem(w, "@%%p mbarrier.init.shared.b64 [mbars+%u], %u", 8 * i,
				w->k->stmt[i].kind == GEN_BULK ? 1 : w->l->threads);
	put_inst(w, "bar.sync 0");
}

static bool is_printed(const struct writer *w, unsigned number, unsigned i)
{
	return !w->k->stmt[i].is_removed && w->k->stmt[i].launch == number;
}

/* Returns the line of the store of the thread's result. */
static unsigned print_kernel(struct writer *w, unsigned number)
{
	for (unsigned i = 0; i < w->k->n; i++)
		if (is_printed(w, number, i) && is_called(&w->k->stmt[i], i))
			print_function(w, &w->k->stmt[i], i);
	print_head(w, number);
	for (unsigned i = 0; i < w->k->n; i++) {
		if (!is_printed(w, number, i))
			continue;
		if (is_called(&w->k->stmt[i], i))
			print_call(w, i);
		else
			print_stmt(w, &w->k->stmt[i], i);
	}
	put_inst(w, "mul.wide.u32 %%at, %%gid, 8");
	put_inst(w, "add.u64 %%at, %%at, %%g");
	unsigned line = put_mem(w, "st.global.u64 [%%at+%u], %%acc", GEN_OUT);
	put_inst(w, "ret");
	base_buf_puts(&w->out->text, "}\n");
	return line;
}

static void plant_launch(struct program *p, unsigned a, unsigned b, const char *what)
{
	if (!p->is_racy || p->nplants == PROGRAM_PLANTS)
		return;
	struct program_plant *t = &p->plant[p->nplants++];
	*t = (struct program_plant){.a = {a, a}, .b = {b, b}};
	snprintf(t->what, sizeof(t->what), "%s", what);
}

static unsigned ops_of(const struct program *p, unsigned region)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < p->nops; i++)
		if (p->op[i].region == region)
			mask |= 1u << i;
	return mask;
}

/* The launch's operations, and what they race with if its order is out. */
static void add_ops(struct writer *w, unsigned number, unsigned line, const unsigned *lines)
{
	struct program *p = w->out;
	const struct gen_launch *l = w->l;
	struct program_op o = {.kind = PROGRAM_KERNEL, .region = l->region};
	bool is_last = number + 1 == w->k->nlaunches;
	/* A host that waits would order a launch that is to have no order. */
	bool waits = is_last || !l[1].broken;

	snprintf(o.kernel, sizeof(o.kernel), "k%u", number);
	o.grid[0] = l->blocks;
	o.grid[1] = 1;
	o.block[0] = l->wide;
	o.block[1] = l->threads / l->wide;
	o.cluster = l->cluster;
	o.how = l->order == GEN_ORDER_EVENT  ? PROGRAM_EVENT
		: l->order == GEN_ORDER_HOST ? PROGRAM_HOST_WAITS
					     : PROGRAM_DEPENDS;
	bool is_loose = l->broken == 1 && !w->k->claims;
	o.after = is_loose ? 0 : ops_of(p, l->region);
	if (l->broken == 1 && !w->k->launch[number - 1].is_removed)
		plant_launch(p, lines[number - 1], line, "launch/1");
	p->op[p->nops++] = o;
	if (l->after == GEN_AFTER_NONE)
		return;
	struct program_op c = {.kind = PROGRAM_COPY,
			       .region = l->region,
			       .dst = GEN_SPARE,
			       .src = GEN_OUT,
			       .bytes = 8 * l->blocks * l->threads};
	c.how = o.how == PROGRAM_HOST_WAITS && !waits ? PROGRAM_EVENT : o.how;
	bool is_early = l->broken == 2 && !w->k->claims;
	c.after = is_early || is_loose ? o.after : ops_of(p, l->region);
	if (is_loose)
		c.after |= 1u << (p->nops - 1);
	if (l->broken == 2)
		plant_launch(p, line, 0, "launch/2");
	p->op[p->nops++] = c;
	if (l->after != GEN_AFTER_FILL)
		return;
	struct program_op f = {.kind = PROGRAM_FILL,
			       .region = l->region,
			       .dst = GEN_OUT,
			       .bytes = c.bytes / 2,
			       .value = 7,
			       .how = c.how};
	f.after = 1u << (p->nops - 1);
	p->op[p->nops++] = f;
}

void gen_print(const struct gen_program *k, struct program *p)
{
	struct writer w = {.out = p, .k = k};
	unsigned lines[GEN_LAUNCHES] = {0};

	p->is_racy = k->is_racy;
	p->regions = 1;
	p->bytes = GEN_BYTES;
	p->pattern[0] = GEN_CONST;
	p->pattern[1] = 16 * GEN_THREADS;
	p->loose[0] = GEN_LOOSE;
	p->loose[1] = 64 * GEN_STMTS;
	base_buf_puts(&p->text, ".version 8.8\n.target sm_90\n.address_size 64\n"
				".file 1 \"random.cu\"\n");
	if (has_functions())
		print_shared(&w);
	for (unsigned i = 0; i < k->nlaunches; i++) {
		w.l = &k->launch[i];
		if (w.l->is_removed)
			continue;
		if (w.l->region >= p->regions)
			p->regions = w.l->region + 1;
		lines[i] = print_kernel(&w, i);
		add_ops(&w, i, lines[i], lines);
	}
}
