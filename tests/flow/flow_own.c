/*
 * flow_own.c - flow_own_bounds on random indices, compared with executions of them.
 *
 *	flow_own PROGRAMS [FIRST]
 *
 * Program number N is made from N alone: sums and products of the thread's numbers, dimensions, two
 * scalars and constants, in 32 bits, most of them of the form y*n + x, some changed at random. Two
 * accesses of 4 or 8 bytes are made at one multiple of the index, or at two. For launches of at
 * most 4 in each dimension that keep to the bounds, no byte may be accessed by two threads. And
 * enough of the programs must have bounds, which enough launches keep to.
 */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES = 40, SPECIALS = 12, SCALARS = 2, LAUNCHES = 40, MOST = 4 * 4 * 4 * 4 * 4 * 4 };

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

/* ---- a program ----------------------------------------------------------------------------- */

/* Value i: by + the product of the values a and b, or a shifted by b, or a number. */
enum op { OP_NUMBER, OP_SPECIAL, OP_SCALAR, OP_ADD, OP_SUB, OP_MUL, OP_MAD, OP_SHL, OP_NEG };

struct value {
	enum op op;
	uint32_t a, b, c;
};

struct program {
	struct value v[VALUES];
	uint32_t n;
	uint32_t index[2], scale[2], off[2], width[2];
	bool is_signed;
};

static uint32_t add(struct program *p, enum op op, uint32_t a, uint32_t b, uint32_t c)
{
	p->v[p->n] = (struct value){op, a, b, c};
	return p->n++;
}

/* A step between two of a kind: a constant, a dimension or a scalar. */
static uint32_t stride(struct program *p)
{
	switch (draw(4)) {
	case 0:
		return add(p, OP_NUMBER, draw(6), 0, 0);
	case 1:
		return add(p, OP_SCALAR, draw(SCALARS), 0, 0);
	default:
		return add(p, OP_SPECIAL, 6 + draw(6), 0, 0);
	}
}

/* ctaid.a * s + tid.b, mostly of one axis and its own dimension. */
static uint32_t place(struct program *p, uint32_t axis)
{
	uint32_t a = draw(6) ? axis : draw(3), b = draw(6) ? axis : draw(3);
	uint32_t block = add(p, OP_SPECIAL, 3 + a, 0, 0), thread = add(p, OP_SPECIAL, b, 0, 0);
	uint32_t by = draw(3) ? add(p, OP_SPECIAL, 6 + axis, 0, 0) : stride(p);

	return add(p, OP_MAD, block, by, thread);
}

static void make(struct program *p)
{
	uint32_t at, axes = draw(2) + 1;

	*p = (struct program){.is_signed = draw(2)};
	at = place(p, 0);
	for (uint32_t i = 0; i < axes && draw(4); i++) {
		uint32_t y = place(p, i + 1), by = stride(p);
		if (!draw(3))
			by = add(p, OP_MUL, by, stride(p), 0);
		at = add(p, OP_MAD, y, by, at);
	}
	if (!draw(3))
		at = add(p, OP_SUB, at, stride(p), 0);
	if (!draw(5))
		at = add(p, OP_SHL, at, add(p, OP_NUMBER, draw(3), 0, 0), 0);
	if (!draw(12))
		at = add(p, OP_NEG, at, 0, 0);
	if (!draw(6))
		at = add(p, OP_ADD, at, draw(p->n), 0);
	for (unsigned i = 0; i < 2; i++) {
		p->index[i] = draw(12) ? at : draw(p->n);
		p->scale[i] = draw(12) ? 8 : 4;
		p->width[i] = draw(4) ? 4 : 8;
		p->off[i] = draw(4) ? 0 : 4 * draw(3);
	}
}

static void put_value(struct base_buf *b, const struct program *p, uint32_t i)
{
	static const char *const names[] = {"tid", "ctaid", "ntid", "nctaid"};
	const struct value *v = &p->v[i];

	switch (v->op) {
	case OP_NUMBER:
		base_buf_printf(b, "\tmov.u32 %%r%u, %u;\n", i, v->a);
		break;
	case OP_SPECIAL:
		base_buf_printf(b, "\tmov.u32 %%r%u, %%%s.%c;\n", i, names[v->a / 3],
				"xyz"[v->a % 3]);
		break;
	case OP_SCALAR:
		base_buf_printf(b, "\tld.param.u32 %%r%u, [n%u];\n", i, v->a);
		break;
	case OP_ADD:
		base_buf_printf(b, "\tadd.s32 %%r%u, %%r%u, %%r%u;\n", i, v->a, v->b);
		break;
	case OP_SUB:
		base_buf_printf(b, "\tsub.s32 %%r%u, %%r%u, %%r%u;\n", i, v->a, v->b);
		break;
	case OP_MUL:
		base_buf_printf(b, "\tmul.lo.s32 %%r%u, %%r%u, %%r%u;\n", i, v->a, v->b);
		break;
	case OP_MAD:
		base_buf_printf(b, "\tmad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", i, v->a, v->b,
				v->c);
		break;
	case OP_SHL:
		base_buf_printf(b, "\tshl.b32 %%r%u, %%r%u, %u;\n", i, v->a, p->v[v->b].a);
		break;
	case OP_NEG:
		base_buf_printf(b, "\tneg.s32 %%r%u, %%r%u;\n", i, v->a);
		break;
	}
}

static void put_program(struct base_buf *b, const struct program *p)
{
	base_buf_printf(b, ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry k(.param .u64 q, .param .u32 n0, .param .u32 n1)\n{\n"
			   "\t.reg .b32 %%r<64>;\n\t.reg .b64 %%rd<8>;\n"
			   "\tld.param.u64 %%rd0, [q];\n\tcvta.to.global.u64 %%rd1, %%rd0;\n");
	for (uint32_t i = 0; i < p->n; i++)
		put_value(b, p, i);
	for (uint32_t i = 0; i < 2; i++)
		base_buf_printf(b,
				"\tmul.wide.%s32 %%rd%u, %%r%u, %u;\n"
				"\tadd.s64 %%rd%u, %%rd1, %%rd%u;\n"
				"\tst.global.u%u [%%rd%u+%u], %%r%s0;\n",
				p->is_signed ? "s" : "u", 2 + 2 * i, p->index[i], p->scale[i],
				3 + 2 * i, 2 + 2 * i, 8 * p->width[i], 3 + 2 * i, p->off[i],
				p->width[i] == 8 ? "d" : "");
	base_buf_printf(b, "\tret;\n}\n");
}

/* ---- a launch ------------------------------------------------------------------------------ */

struct launch {
	uint32_t special[SPECIALS], scalar[SCALARS];
};

static uint32_t value_of(const struct program *p, const struct launch *l, uint32_t i)
{
	const struct value *v = &p->v[i];
	uint32_t a = v->op > OP_SCALAR ? value_of(p, l, v->a) : v->a;
	bool has_b = v->op >= OP_ADD && v->op <= OP_SHL;
	uint32_t b = has_b ? value_of(p, l, v->b) : 0;

	switch (v->op) {
	case OP_SPECIAL:
		return l->special[a];
	case OP_SCALAR:
		return l->scalar[a];
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_MAD:
		return a * b + value_of(p, l, v->c);
	case OP_SHL:
		return a << b;
	case OP_NEG:
		return 0u - a;
	case OP_NUMBER:
		break;
	}
	return a;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The words of 4 bytes that a thread accesses, each once; their number. */
static uint32_t words_of(const struct program *p, const struct launch *l, uint64_t *out)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t x = value_of(p, l, p->index[i]);
		int64_t wide = p->is_signed ? (int64_t)(int32_t)x : (int64_t)x;
		for (uint32_t k = 0; k < p->width[i]; k += 4)
			out[n++] = (uint64_t)(wide * p->scale[i] + p->off[i] + k) / 4;
	}
	qsort(out, n, sizeof(out[0]), by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!i || out[i] != out[i - 1])
			out[kept++] = out[i];
	return kept;
}

/* Does a word belong to two threads? */
static bool races(const struct program *p, struct launch *l)
{
	static uint64_t all[4 * MOST];
	const uint32_t *n = l->special + 6;
	uint32_t threads = n[0] * n[1] * n[2] * n[3] * n[4] * n[5], count = 0;

	for (uint32_t t = 0; t < threads; t++) {
		uint32_t left = t;
		for (unsigned i = 0; i < 6; i++) {
			l->special[i] = left % n[i];
			left /= n[i];
		}
		count += words_of(p, l, all + count);
	}
	qsort(all, count, sizeof(all[0]), by_number);
	for (uint32_t i = 1; i < count; i++)
		if (all[i] == all[i - 1])
			return true;
	return false;
}

static void draw_launch(struct launch *l)
{
	for (unsigned i = 6; i < SPECIALS; i++)
		l->special[i] = draw(2) ? 1 : 1 + draw(4);
	for (unsigned i = 0; i < SCALARS; i++)
		l->scalar[i] = draw(20);
}

static uint64_t factor(const struct launch *l, const struct flow_factor *f)
{
	switch (f->kind) {
	case FLOW_FACTOR_DIM:
		return l->special[6 + f->n];
	case FLOW_FACTOR_PARAM:
		return l->scalar[f->n - 1];
	case FLOW_FACTOR_CONST:
		break;
	}
	return f->n;
}

static bool keeps_to(const struct launch *l, const struct flow_bound *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (factor(l, &b[i].a) * factor(l, &b[i].b) >
		    factor(l, &b[i].c) * factor(l, &b[i].d))
			return false;
	return true;
}

/* ---- all of it ----------------------------------------------------------------------------- */

struct counts {
	uint64_t bounded, kept, racy, missed;
};

static uint32_t bounds_of(struct base_arena *a, const char *text, size_t bytes,
			  struct flow_bound *bound)
{
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(a, "random.ptx", text, bytes, &sink);
	struct flow_own own, more;
	uint32_t stores = 0;
	bool ok = true;

	if (!m || sink.errors) {
		base_sink_print(&sink, stderr);
		exit(2);
	}
	base_sink_free(&sink);
	struct ptx_func *f = NULL;
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC)
			f = it->func;
	}
	struct flow *fl = flow_build(a, m, f);
	for (struct ptx_stmt *s = f->first; s && ok; s = s->next) {
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_ST)
			continue;
		ok = flow_own_address(fl, s, stores ? &more : &own) &&
		     (!stores || flow_own_join(&own, &more));
		stores++;
	}
	return ok && stores == 2 ? flow_own_bounds(&own, bound) : 0;
}

static unsigned check(uint64_t number, struct counts *c)
{
	struct flow_bound bound[FLOW_BOUNDS];
	struct base_arena arena = {0};
	struct base_buf text = {0};
	struct program p;
	struct launch l;
	unsigned wrong = 0;

	state = number * 0x9e3779b97f4a7c15ull + 1;
	make(&p);
	put_program(&text, &p);
	uint32_t n = bounds_of(&arena, text.p, text.n, bound);
	c->bounded += n != 0;
	for (unsigned i = 0; i < LAUNCHES; i++) {
		draw_launch(&l);
		bool keeps = n && keeps_to(&l, bound, n), is_racy = races(&p, &l);
		c->kept += keeps;
		c->racy += is_racy;
		c->missed += n && !keeps && !is_racy;
		wrong |= keeps && is_racy;
	}
	if (wrong)
		printf("program %llu: two threads access one word\n%.*s",
		       (unsigned long long)number, (int)text.n, text.p);
	base_buf_free(&text);
	base_arena_free(&arena);
	return wrong;
}

/* A stride of 2^54: 1,024 threads reach 2^64, and all of them have index 0. */
static unsigned check_large(void)
{
	struct launch l = {.special = {[6] = 1024, 1, 1, 1, 1, 1}};
	struct program p = {.scale = {4, 4}, .width = {4, 4}};
	struct flow_bound bound[FLOW_BOUNDS];
	struct base_arena arena = {0};
	struct base_buf text = {0};
	uint32_t at = add(&p, OP_SPECIAL, 0, 0, 0), by = add(&p, OP_NUMBER, 1 << 27, 0, 0);

	at = add(&p, OP_MUL, add(&p, OP_MUL, at, by, 0), by, 0);
	p.index[0] = p.index[1] = at;
	put_program(&text, &p);
	uint32_t n = bounds_of(&arena, text.p, text.n, bound);
	unsigned wrong = n && keeps_to(&l, bound, n);
	if (wrong)
		printf("a stride of 2^54: a launch of 1,024 threads keeps to the bounds\n");
	base_buf_free(&text);
	base_arena_free(&arena);
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct counts c = {0};
	unsigned wrong = check_large();

	for (uint64_t i = 0; i < n && wrong < 5; i++)
		wrong += check(first + i, &c);
	printf("%llu programs, %llu with bounds; of their launches %llu keep to them and %llu "
	       "don't, without a race; %llu launches race; %u programs wrong\n",
	       (unsigned long long)n, (unsigned long long)c.bounded, (unsigned long long)c.kept,
	       (unsigned long long)c.missed, (unsigned long long)c.racy, wrong);
	return wrong || c.bounded * 4 < n || c.kept < n || c.racy < n;
}
