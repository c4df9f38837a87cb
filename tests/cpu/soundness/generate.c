/*
 * generate.c - random small kernels and what they compute.
 *
 * A kernel is a list of statements that all threads run through. A thread has 16 bytes of global
 * and 16 of shared memory for itself; whatever else it reads is ordered by a barrier, a fence with
 * an atomic, or never written. So the result is that of running each statement for all threads
 * before the next one, and gen_expect does just that. A racy kernel is the same with the order
 * taken out of one or two statements.
 *
 * Misses: several launches and streams, clusters, mbarriers, bulk copies, spinning on flags.
 */
#include "generate.h"

#include <string.h>

uint64_t gen_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static unsigned draw(uint64_t *state, unsigned n)
{
	return (unsigned)(gen_random(state) % n);
}

static void draw_stmt(struct gen_stmt *s, uint64_t *r)
{
	static const unsigned forms[][2] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 4},
					    {2, 2}, {4, 2}, {4, 4}, {8, 2}};
	const unsigned *form = forms[draw(r, 9)];

	s->kind = (enum gen_kind)draw(r, GEN_KINDS);
	s->width = form[0];
	s->vec = form[1];
	s->offset = draw(r, 16 / (s->width * s->vec)) * s->width * s->vec;
	s->distance = 1 + draw(r, 31);
	s->guard = draw(r, 4);
	s->scope = draw(r, 3);
	s->fence = draw(r, 3);
	s->is_shared = draw(r, 2);
}

void gen_draw(struct gen_kernel *k, uint64_t seed, bool is_racy)
{
	uint64_t r = seed * 2 + is_racy;

	memset(k, 0, sizeof(*k));
	k->blocks = 1 + draw(&r, 3);
	k->threads = 32 * (1 + draw(&r, 3));
	k->n = 3 + draw(&r, GEN_STMTS - 2);
	for (unsigned i = 0; i < k->n; i++)
		draw_stmt(&k->stmt[i], &r);
	for (unsigned i = is_racy ? 1 + draw(&r, 2) : 0; i > 0; i--)
		k->stmt[draw(&r, k->n)].broken = 1 + draw(&r, 2);
}

/* ---- PTX -------------------------------------------------------------------------- */

struct writer {
	struct base_buf *out;
	const struct gen_kernel *k;
	unsigned line;
};

static void loc(struct writer *w)
{
	base_buf_printf(w->out, "\t.loc 1 %u 1\n", ++w->line);
}

/* "v2.u32", "u8" */
static void form(const struct gen_stmt *s, char *to, size_t n)
{
	if (s->vec > 1)
		snprintf(to, n, "v%u.u%u", s->vec, 8 * s->width);
	else
		snprintf(to, n, "u%u", 8 * s->width);
}

static const char *const list[] = {"", "%q0", "{%q0, %q1}", "", "{%q0, %q1, %q2, %q3}"};

static void store(struct writer *w, const struct gen_stmt *s, const char *space, const char *base)
{
	char f[16];

	form(s, f, sizeof(f));
	for (unsigned i = 0; i < s->vec; i++)
		base_buf_printf(w->out, "\tadd.u64 %%q%u, %%acc, %u;\n", i, 7 * i);
	loc(w);
	base_buf_printf(w->out, "\tst.%s.%s [%s+%u], %s;\n", space, f, base, s->offset,
			list[s->vec]);
}

static void load(struct writer *w, const struct gen_stmt *s, const char *space, const char *base)
{
	char f[16];

	form(s, f, sizeof(f));
	loc(w);
	base_buf_printf(w->out, "\tld.%s.%s %s, [%s+%u];\n", space, f, list[s->vec], base,
			s->offset);
	for (unsigned i = 0; i < s->vec; i++)
		base_buf_printf(w->out, "\tmad.lo.u64 %%acc, %%acc, 31, %%q%u;\n", i);
}

/* %at: the 16 bytes in shared memory of thread (tid + distance) % threads, or of its warp. */
static void other(struct writer *w, unsigned distance, bool is_warp)
{
	if (is_warp)
		base_buf_printf(w->out, "\txor.b32 %%r1, %%t, %u;\n", distance);
	else
		base_buf_printf(w->out, "\tadd.u32 %%r1, %%t, %u;\n\trem.u32 %%r1, %%r1, %u;\n",
				distance, w->k->threads);
	base_buf_printf(w->out, "\tshl.b32 %%r1, %%r1, 4;\n\tadd.u32 %%at, %%s, %%r1;\n");
}

static void own(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	const char *space = s->is_shared ? "shared" : "global";
	const char *base = s->is_shared ? "%sown" : "%own";

	if (s->guard)
		base_buf_printf(w->out,
				"\tand.b32 %%r1, %%t, %u;\n\tsetp.ne.u32 %%p, %%r1, 0;\n"
				"\t@%%p bra skip%u;\n",
				s->guard, i);
	if (s->broken) {
		base_buf_printf(w->out, "\tshr.u32 %%r1, %%t, %u;\n\tshl.b32 %%r1, %%r1, 4;\n",
				s->broken == 1 ? 1u : 6u);
		base_buf_printf(w->out, "\tadd.u32 %%at, %%s, %%r1;\n\tcvt.u64.u32 %%rd1, %%r1;\n"
					"\tadd.u64 %%rd1, %%g, %%rd1;\n");
		base = s->is_shared ? "%at" : "%rd1";
	}
	if (s->kind == GEN_STORE)
		store(w, s, space, base);
	else
		load(w, s, space, base);
	if (s->guard)
		base_buf_printf(w->out, "skip%u:\n", i);
}

static void exchange(struct writer *w, const struct gen_stmt *s)
{
	bool is_warp = s->kind == GEN_WARP;
	const char *sync = is_warp ? "bar.warp.sync 0xffffffff" : "bar.sync 0";

	/* A shared slot is its thread's again only behind the second barrier. */
	store(w, s, "shared", "%sown");
	if (s->broken != 1)
		base_buf_printf(w->out, "\t%s;\n", sync);
	other(w, s->distance, is_warp);
	load(w, s, "shared", "%at");
	if (s->broken != 2)
		base_buf_printf(w->out, "\t%s;\n", sync);
}

static void atomic(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	static const char *const scopes[] = {"cta", "gpu", "sys"};

	/* At CTA scope each block has a counter of its own. */
	base_buf_printf(w->out, "\tadd.u64 %%rd1, %%g, %u;\n", GEN_COUNT + 64 * i);
	if (s->scope == 0)
		base_buf_printf(w->out, "\tmul.wide.u32 %%rd2, %%b, 8;\n"
					"\tadd.u64 %%rd1, %%rd1, %%rd2;\n");
	loc(w);
	if (s->fence == 0)
		base_buf_printf(w->out, "\tred.relaxed.%s.global.add.u64 [%%rd1], %%acc;\n",
				scopes[s->scope]);
	else
		base_buf_printf(w->out, "\tatom.%s.%s.global.add.u64 %%q0, [%%rd1], %%acc;\n",
				s->fence == 1 ? "relaxed" : "acq_rel", scopes[s->scope]);
	if (!s->broken)
		return;
	loc(w);
	base_buf_printf(w->out, s->broken == 1 ? "\tld.global.u64 %%q0, [%%rd1];\n"
						 "\tadd.u64 %%acc, %%acc, %%q0;\n"
					       : "\tst.global.u64 [%%rd1], %%acc;\n");
}

static void last_block(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	static const char *const fences[] = {"fence.acq_rel.gpu", "fence.sc.gpu", "membar.gl"};

	base_buf_printf(w->out, "\tmul.wide.u32 %%rd1, %%gid, 8;\n\tadd.u64 %%rd1, %%g, %%rd1;\n");
	loc(w);
	base_buf_printf(w->out, "\tst.global.u64 [%%rd1+%u], %%acc;\n", GEN_SPREAD + 4096 * i);
	if (s->broken != 1)
		base_buf_printf(w->out, "\tbar.sync 0;\n");
	base_buf_printf(w->out, "\tsetp.ne.u32 %%p, %%t, 0;\n\t@%%p bra wait%u;\n", i);
	if (s->broken != 2)
		base_buf_printf(w->out, "\t%s;\n", fences[s->fence]);
	loc(w);
	base_buf_printf(w->out, "\tatom.relaxed.gpu.global.add.u32 %%r2, [%%g+%u], 1;\n",
			GEN_ARRIVED + 8 * i);
	base_buf_printf(w->out, "\t%s;\n", fences[s->fence]);
	loc(w);
	base_buf_printf(w->out, "\tst.shared.u32 [flag], %%r2;\nwait%u:\n\tbar.sync 0;\n", i);
	loc(w);
	base_buf_printf(w->out,
			"\tld.shared.u32 %%r2, [flag];\n\tbar.sync 0;\n"
			"\tsetp.ne.u32 %%p, %%r2, %u;\n\t@%%p bra behind%u;\n"
			"\tmul.wide.u32 %%rd1, %%t, 8;\n\tadd.u64 %%rd1, %%g, %%rd1;\n",
			w->k->blocks - 1, i);
	for (unsigned b = 0; b < w->k->blocks; b++) {
		loc(w);
		base_buf_printf(w->out, "\tld.global.u64 %%q0, [%%rd1+%u];\n",
				GEN_SPREAD + 4096 * i + 8 * b * w->k->threads);
		loc(w);
		base_buf_printf(w->out, "\tred.relaxed.gpu.global.add.u64 [%%g+%u], %%q0;\n",
				GEN_COUNT + 64 * i);
	}
	base_buf_printf(w->out, "behind%u:\n", i);
}

static void copy(struct writer *w, const struct gen_stmt *s)
{
	loc(w);
	base_buf_printf(w->out, "\tcp.async.ca.shared.global [%%sown], [%%own], 16;\n"
				"\tcp.async.commit_group;\n");
	if (s->broken != 1)
		base_buf_printf(w->out, "\tcp.async.wait_group 0;\n");
	load(w, s, "shared", s->broken == 2 ? "%s" : "%sown");
	base_buf_printf(w->out, "\tcp.async.wait_all;\n");
}

static void print_stmt(struct writer *w, const struct gen_stmt *s, unsigned i)
{
	base_buf_printf(w->out, "\t// %u%s\n", i, s->broken ? ": broken" : "");
	switch (s->kind) {
	case GEN_STORE:
	case GEN_LOAD:
		own(w, s, i);
		break;
	case GEN_READ_ONLY:
		base_buf_printf(w->out, "\tadd.u64 %%rd1, %%own, %u;\n", GEN_CONST);
		load(w, s, "global.nc", "%rd1");
		break;
	case GEN_EXCHANGE:
	case GEN_WARP:
		exchange(w, s);
		break;
	case GEN_ATOMIC:
		atomic(w, s, i);
		break;
	case GEN_LAST:
		last_block(w, s, i);
		break;
	case GEN_COPY:
		copy(w, s);
		break;
	case GEN_KINDS:
		break;
	}
}

void gen_print(const struct gen_kernel *k, struct base_buf *out)
{
	struct writer w = {.out = out, .k = k};

	base_buf_printf(out,
			"// launch k grid=%u block=%u\n"
			".version 8.8\n.target sm_90\n.address_size 64\n.file 1 \"random.cu\"\n"
			".visible .entry k(.param .u64 p)\n{\n"
			"\t.shared .align 16 .b8 slots[1536];\n\t.shared .align 4 .b8 flag[4];\n"
			"\t.reg .b64 %%acc, %%g, %%own, %%rd<4>, %%q<4>;\n"
			"\t.reg .b32 %%t, %%b, %%gid, %%s, %%sown, %%at, %%r<4>;\n"
			"\t.reg .pred %%p;\n",
			k->blocks, k->threads);
	base_buf_printf(out,
			"\tld.param.u64 %%g, [p];\n\tmov.u32 %%t, %%tid.x;\n"
			"\tmov.u32 %%b, %%ctaid.x;\n\tmad.lo.u32 %%gid, %%b, %u, %%t;\n"
			"\tmul.wide.u32 %%own, %%gid, 16;\n\tadd.u64 %%own, %%own, %%g;\n"
			"\tmov.u32 %%s, slots;\n\tmad.lo.u32 %%sown, %%t, 16, %%s;\n"
			"\tmul.wide.u32 %%acc, %%gid, 40503;\n\tadd.u64 %%acc, %%acc, 1;\n"
			"\tst.shared.v4.u32 [%%sown], {0, 0, 0, 0};\n\tbar.sync 0;\n",
			k->threads);
	for (unsigned i = 0; i < k->n; i++)
		if (!k->stmt[i].is_removed)
			print_stmt(&w, &k->stmt[i], i);
	base_buf_printf(out, "\tmul.wide.u32 %%rd1, %%gid, 8;\n\tadd.u64 %%rd1, %%rd1, %%g;\n");
	loc(&w);
	base_buf_printf(out, "\tst.global.u64 [%%rd1+%u], %%acc;\n\tret;\n}\n", GEN_OUT);
}

/* ---- what it computes ------------------------------------------------------------------- */

struct state {
	const struct gen_kernel *k;
	unsigned char *mem;
	unsigned char shared[GEN_THREADS][16]; /* of each thread of the grid */
	uint64_t acc[GEN_THREADS];
};

static void put(unsigned char *to, const struct gen_stmt *s, uint64_t acc)
{
	for (unsigned i = 0; i < s->vec; i++) {
		uint64_t v = acc + 7 * i;
		memcpy(to + s->offset + i * s->width, &v, s->width);
	}
}

static void take(const unsigned char *from, const struct gen_stmt *s, uint64_t *acc)
{
	for (unsigned i = 0; i < s->vec; i++) {
		uint64_t v = 0;
		memcpy(&v, from + s->offset + i * s->width, s->width);
		*acc = *acc * 31 + v;
	}
}

static void add(unsigned char *to, uint64_t v)
{
	uint64_t sum;

	memcpy(&sum, to, 8);
	sum += v;
	memcpy(to, &sum, 8);
}

/* What the thread does to its own memory, or before the barrier. */
static void first_half(struct state *x, const struct gen_stmt *s, unsigned i, unsigned t)
{
	unsigned char *own = x->mem + GEN_OWN + 16 * (size_t)t;
	unsigned char *count = x->mem + GEN_COUNT + 64 * (size_t)i;

	switch (s->kind) {
	case GEN_STORE:
	case GEN_LOAD:
		if (t % x->k->threads & s->guard)
			break;
		if (s->kind == GEN_STORE)
			put(s->is_shared ? x->shared[t] : own, s, x->acc[t]);
		else
			take(s->is_shared ? x->shared[t] : own, s, &x->acc[t]);
		break;
	case GEN_READ_ONLY:
		take(own + GEN_CONST, s, &x->acc[t]);
		break;
	case GEN_EXCHANGE:
	case GEN_WARP:
		put(x->shared[t], s, x->acc[t]);
		break;
	case GEN_ATOMIC:
		add(count + (s->scope ? 0 : t / x->k->threads * 8), x->acc[t]);
		break;
	case GEN_LAST:
		memcpy(x->mem + GEN_SPREAD + 4096 * (size_t)i + 8 * (size_t)t, &x->acc[t], 8);
		add(count, x->acc[t]);
		break;
	case GEN_COPY:
		memcpy(x->shared[t], own, 16);
		take(x->shared[t], s, &x->acc[t]);
		break;
	case GEN_KINDS:
		break;
	}
}

void gen_expect(const struct gen_kernel *k, unsigned char *mem)
{
	struct state x = {.k = k, .mem = mem};
	unsigned n = k->blocks * k->threads;

	for (unsigned t = 0; t < n; t++)
		x.acc[t] = (uint64_t)t * 40503 + 1;
	for (unsigned i = 0; i < k->n; i++) {
		const struct gen_stmt *s = &k->stmt[i];
		if (s->is_removed)
			continue;
		for (unsigned t = 0; t < n; t++)
			first_half(&x, s, i, t);
		if (s->kind == GEN_LAST)
			add(mem + GEN_ARRIVED + 8 * (size_t)i, k->blocks);
		for (unsigned t = 0; t < n; t++) {
			unsigned first = t - t % k->threads, l = t - first;
			if (s->kind == GEN_EXCHANGE)
				take(x.shared[first + (l + s->distance) % k->threads], s,
				     &x.acc[t]);
			else if (s->kind == GEN_WARP)
				take(x.shared[first + (l ^ s->distance)], s, &x.acc[t]);
		}
	}
	memcpy(mem + GEN_OUT, x.acc, 8 * (size_t)n);
}

void gen_initial(unsigned char *mem)
{
	memset(mem, 0, GEN_BYTES);
	for (unsigned i = 0; i < 16 * GEN_THREADS; i++)
		mem[GEN_CONST + i] = (unsigned char)(i * 37 + i / 256);
}
