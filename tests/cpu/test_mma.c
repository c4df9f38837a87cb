/*
 * test_mma.c - mma.sync against a plain product, for every shape and type.
 *
 * Matrices of small integers are spread over lanes as the PTX ISA's tables say (written here from
 * the tables, not from the implementation), multiplied by a kernel, gathered and compared with the
 * plain product, which is exact. Two more tests look at rounding: the sum is rounded
 * once, and f64 is a chain of fused multiply-adds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"

#define LANES  32u
#define REGS   8u
#define SCALES 6u /* the register that has them, among those of A and of B */
#define META   7u /* among those of A */

/* NIBBLE: e2m1 without the byte around it. */
enum elem { F16, BF16, TF32, E4M3, E5M2, F64, S8, U8, S4, U4, F32, S32, E2M3, E3M2, E2M1, NIBBLE };

struct shape {
	const char *op; /* what follows mma.sync.aligned. */
	unsigned m, n, k;
	enum elem a, b, c;
	bool a_is_col, b_is_col;   /* of m8n8k4 with f16 */
	unsigned nscales;	   /* of a row */
	bool is_e8m0;		   /* scales, or e4m3 without a sign */
	unsigned byte[2], lane[2]; /* where they are, of A, of B */
	bool is_sparse;
};

static const unsigned elem_bits[] = {16, 16, 32, 8, 8, 64, 8, 8, 4, 4, 32, 32, 8, 8, 8, 4};

static const struct shape shapes[] = {
	{"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, F16, F16, F32, .nscales = 0},
	{"m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 8, F16, F16, F16, .nscales = 0},
	{"m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, F16, F16, F32, .nscales = 0},
	{"m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, F16, F16, F16, .nscales = 0},
	{"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, BF16, BF16, F32, .nscales = 0},
	{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, BF16, BF16, F32, .nscales = 0},
	{"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, TF32, TF32, F32, .nscales = 0},
	{"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, TF32, TF32, F32, .nscales = 0},
	{"m16n8k16.row.col.f32.e4m3.e5m2.f32", 16, 8, 16, E4M3, E5M2, F32, .nscales = 0},
	{"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32, E4M3, E4M3, F32, .nscales = 0},
	{"m16n8k32.row.col.f16.e5m2.e4m3.f16", 16, 8, 32, E5M2, E4M3, F16, .nscales = 0},
	{"m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, F64, F64, F64, .nscales = 0},
	{"m16n8k4.row.col.f64.f64.f64.f64", 16, 8, 4, F64, F64, F64, .nscales = 0},
	{"m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 8, F64, F64, F64, .nscales = 0},
	{"m16n8k16.row.col.f64.f64.f64.f64", 16, 8, 16, F64, F64, F64, .nscales = 0},
	{"m8n8k16.row.col.s32.s8.u8.s32", 8, 8, 16, S8, U8, S32, .nscales = 0},
	{"m16n8k16.row.col.s32.u8.s8.s32", 16, 8, 16, U8, S8, S32, .nscales = 0},
	{"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 8, 32, S8, S8, S32, .nscales = 0},
	{"m8n8k32.row.col.s32.s4.u4.s32", 8, 8, 32, S4, U4, S32, .nscales = 0},
	{"m16n8k32.row.col.s32.u4.s4.s32", 16, 8, 32, U4, S4, S32, .nscales = 0},
	{"m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, S4, S4, S32, .nscales = 0},
	{"m8n8k4.row.col.f32.f16.f16.f32", 8, 8, 4, F16, F16, F32, .b_is_col = true},
	{"m8n8k4.col.row.f32.f16.f16.f32", 8, 8, 4, F16, F16, F32, .a_is_col = true},
	{"m8n8k4.row.row.f16.f16.f16.f16", 8, 8, 4, F16, F16, F16, .nscales = 0},
	{"m8n8k4.col.col.f16.f16.f16.f16", 8, 8, 4, F16, F16, F16, .a_is_col = true,
	 .b_is_col = true},
	{"m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", 16, 8, 32, E2M1, E3M2, F32,
	 .nscales = 0},
	{"m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", 16, 8, 32, E4M3, E2M1, F32,
	 .nscales = 0},
	{"m16n8k32.row.col.kind::f8f6f4.f16.e2m3.e5m2.f16", 16, 8, 32, E2M3, E5M2, F16,
	 .nscales = 0},
	{"m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0", 16, 8, 32, E4M3,
	 E2M1, F32, .nscales = 1, .is_e8m0 = true, .byte = {1, 3}, .lane = {1, 2}},
	{"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m3.f32.ue8m0", 16, 8,
	 32, E3M2, E2M3, F32, .nscales = 1, .is_e8m0 = true, .byte = {2, 0}, .lane = {0, 3}},
	{"m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", 16, 8, 64, NIBBLE,
	 NIBBLE, F32, .nscales = 2, .is_e8m0 = true, .byte = {2, 0}, .lane = {1, 1}},
	{"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 16, 8,
	 64, NIBBLE, NIBBLE, F32, .nscales = 2, .is_e8m0 = true, .byte = {0, 2}, .lane = {0, 0}},
	{"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 16, 8,
	 64, NIBBLE, NIBBLE, F32, .nscales = 4, .lane = {1, 2}},
	{"m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", 16, 8, 64, E4M3, E2M1, F32,
	 .is_sparse = true},
	{"m16n8k64.row.col.kind::f8f6f4.f16.e3m2.e5m2.f16", 16, 8, 64, E3M2, E5M2, F16,
	 .is_sparse = true},
	{"m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m3.f32.ue8m0", 16, 8,
	 64, E2M1, E2M3, F32, .nscales = 1, .is_e8m0 = true, .byte = {1, 3}, .lane = {1, 2},
	 .is_sparse = true},
	{"m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", 16, 8, 128, NIBBLE,
	 NIBBLE, F32, .nscales = 2, .is_e8m0 = true, .byte = {2, 0}, .lane = {0, 3},
	 .is_sparse = true},
	{"m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 16,
	 8, 128, NIBBLE, NIBBLE, F32, .nscales = 4, .lane = {1, 1}, .is_sparse = true},
};

/* ---- numbers -------------------------------------------------------------------- */

/* Bits of the small types' numbers. */
static const struct part {
	unsigned exponent, fraction;
} parts[] = {[F16] = {5, 10}, [E4M3] = {4, 3}, [E5M2] = {5, 2},	 [E2M3] = {2, 3},
	     [E3M2] = {3, 2}, [E2M1] = {2, 1}, [NIBBLE] = {2, 1}};

/* The bits of a small integer. */
static uint64_t encode(enum elem t, int v)
{
	float f = (float)v;
	double d = v;
	uint32_t bits;
	uint64_t wide;
	int e;

	memcpy(&bits, &f, 4);
	memcpy(&wide, &d, 8);
	switch (t) {
	case F64:
		return wide;
	case F32:
	case TF32:
		return bits;
	case BF16:
		return bits >> 16;
	case S32:
		return (uint32_t)v;
	case S8:
	case U8:
		return (uint8_t)v;
	case S4:
	case U4:
		return v & 15;
	default:
		break;
	}
	if (!v)
		return 0;
	/* value = m * 2^e, 1 <= m < 2 */
	const struct part *p = &parts[t];
	float m = frexpf(fabsf(f), &e) * 2;
	bits = (v < 0 ? 1u : 0u) << (p->exponent + p->fraction) |
	       (unsigned)(e - 1 + (1 << (p->exponent - 1)) - 1) << p->fraction |
	       (unsigned)((m - 1) * (float)(1u << p->fraction));
	return t == E2M1 ? bits << 2 : bits; /* in the middle of its byte */
}

static double decode(enum elem t, uint64_t bits)
{
	double d;
	float f;
	uint32_t low = (uint32_t)bits;

	switch (t) {
	case F64:
		memcpy(&d, &bits, 8);
		return d;
	case F32:
		memcpy(&f, &low, 4);
		return f;
	case S32:
		return (int32_t)low;
	default: { /* F16, normal or 0 */
		double m = ldexp(1 + (low & 1023) / 1024.0, (int)(low >> 10 & 31) - 15);
		m = low & 0x7fff ? m : 0;
		return low & 0x8000 ? -m : m;
	}
	}
}

static int small(enum elem t, unsigned at)
{
	int v = (int)(at * 2654435761u >> 28); /* 0..15 */

	if (t == U4)
		return v;
	if (t == U8)
		return v * 17;
	return t == S8 ? v * 16 - 128 : v % 8 - 4;
}

/* Of a sparse row of A, which element of the whole row stored element i is: two of each four, or
 * two pairs of each eight. */
static unsigned chosen(unsigned row, unsigned i)
{
	static const uint8_t two[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

	return two[(row + i / 2 * 5) % 6][i % 2];
}

static unsigned whole(const struct shape *s, unsigned row, unsigned i)
{
	if (!s->is_sparse)
		return i;
	return s->a == NIBBLE ? i / 4 * 8 + chosen(row, i / 2) * 2 + i % 2
			      : i / 2 * 4 + chosen(row, i);
}

/* Which of four scales part `i` of a row of A, or a column of B, has. */
static unsigned scale_of(unsigned which, unsigned row, unsigned i)
{
	return (row * 3 + i * 5 + which * 7 + row / 4) % 4;
}

static double scale(const struct shape *s, unsigned which, unsigned row, unsigned k)
{
	static const double values[2][4] = {{0.5, 1, 1.5, 2}, {0.5, 1, 2, 4}};

	return s->nscales ? values[s->is_e8m0][scale_of(which, row, k / (s->k / s->nscales))] : 1;
}

/* ---- the ISA's tables: element i of lane's fragment -------------------------------- */

struct place {
	unsigned row, col, matrix;
};

static struct place quad_pair(const struct shape *s, char which, unsigned lane, unsigned i)
{
	unsigned high = lane < 16 ? 0 : 4, t = lane % 4;
	struct place p = {0, 0, lane % 16 / 4};

	if (which == 'a') {
		p.row = s->a_is_col ? i % 4 + high : t + high;
		p.col = s->a_is_col ? t : i;
	} else if (which == 'b') {
		p.row = s->b_is_col ? i : t;
		p.col = s->b_is_col ? t + high : i + high;
	} else if (s->c == F16) {
		p.row = t + high;
		p.col = i;
	} else {
		p.row = (lane & 1) + (i & 2) + high;
		p.col = (i & 4) + (lane & 2) + (i & 1);
	}
	return p;
}

static struct place place(const struct shape *s, char which, unsigned lane, unsigned i)
{
	unsigned g = lane / 4, t = lane % 4;
	unsigned per = (elem_bits[s->a] == 64 ? 64 : 32) / elem_bits[s->a];
	struct place p = {0, 0, 0};

	if (s->a == F16 && s->m == 8)
		return quad_pair(s, which, lane, i);
	if (which == 'a' && s->m == 8) {
		p.row = g;
		p.col = t * per + i;
	} else if (which == 'a') {
		/* Every other group of `per` elements is 8 rows down; after two, 4 * per on. */
		p.row = i / per % 2 ? g + 8 : g;
		p.col = t * per + i % per + i / per / 2 * per * 4;
	} else if (which == 'b') {
		p.row = t * per + i % per + i / per * per * 4;
		p.col = g;
	} else {
		p.row = i < 2 ? g : g + 8;
		p.col = t * 2 + i % 2;
	}
	return p;
}

/* ---- the kernels --------------------------------------------------------------------- */

struct counts {
	unsigned a, b, c; /* registers of a lane */
};

static bool is_quads(const struct shape *s)
{
	return s->a == F16 && s->m == 8;
}

static unsigned stored_k(const struct shape *s)
{
	return s->k / (s->is_sparse ? 2 : 1);
}

static struct counts count(const struct shape *s)
{
	unsigned times = is_quads(s) ? 4 : 1, reg = elem_bits[s->a] == 64 ? 64 : 32;
	unsigned creg = elem_bits[s->c] == 64 ? 64 : 32;

	return (struct counts){times * s->m * stored_k(s) * elem_bits[s->a] / reg / LANES,
			       times * s->k * s->n * elem_bits[s->b] / reg / LANES,
			       times * s->m * s->n * elem_bits[s->c] / creg / LANES};
}

static void put_list(struct base_buf *t, char name, unsigned n)
{
	base_buf_puts(t, "{");
	for (unsigned i = 0; i < n; i++)
		base_buf_printf(t, "%s%c%u", i ? ", " : "", name, i);
	base_buf_puts(t, "}");
}

/* Registers lie in 8-byte cells: cell [reg][lane] of the operand's 8 * 32. */
static void put_kernel(struct base_buf *t, const struct shape *s, size_t number)
{
	struct counts n = count(s);
	const char *in = elem_bits[s->a] == 64 ? "f64" : "b32";
	const char *sum = s->c == F64 ? "f64" : s->c == F32 ? "f32" : "b32";

	base_buf_printf(t, ".visible .entry k%zu(.param .u64 cells)\n{\n", number);
	base_buf_printf(t, ".reg .%s a<9>, b<9>;\n.reg .%s c<9>, d<9>;\n", in, sum);
	base_buf_puts(t, ".reg .b32 t;\n.reg .b64 p, q;\nld.param.u64 p, [cells];\n"
			 "mov.u32 t, %tid.x;\nmul.wide.u32 q, t, 8;\nadd.s64 p, p, q;\n");
	for (unsigned i = 0; i < n.a; i++)
		base_buf_printf(t, "ld.global.%s a%u, [p+%u];\n", in, i, i * 256);
	for (unsigned i = 0; i < n.b; i++)
		base_buf_printf(t, "ld.global.%s b%u, [p+%u];\n", in, i, 2048 + i * 256);
	for (unsigned i = 0; i < n.c; i++)
		base_buf_printf(t, "ld.global.%s c%u, [p+%u];\n", sum, i, 4096 + i * 256);
	if (s->nscales)
		base_buf_printf(t,
				".reg .b32 sa, sb;\n.reg .b16 at;\nld.global.b32 sa, [p+%u];\n"
				"ld.global.b32 sb, [p+%u];\nmov.b16 at, %u;\n",
				SCALES * 256, 2048 + SCALES * 256, s->lane[0]);
	if (s->is_sparse)
		base_buf_printf(t, ".reg .b32 meta;\nld.global.b32 meta, [p+%u];\n", META * 256);
	base_buf_printf(t, "mma%s.sync.aligned.%s ", s->is_sparse ? ".sp::ordered_metadata" : "",
			s->op);
	put_list(t, 'd', n.c);
	base_buf_puts(t, ", ");
	put_list(t, 'a', n.a);
	base_buf_puts(t, ", ");
	put_list(t, 'b', n.b);
	base_buf_puts(t, ", ");
	put_list(t, 'c', n.c);
	if (s->is_sparse)
		base_buf_puts(t, ", meta, 0x0");
	if (s->nscales)
		base_buf_printf(t, ", sa, {%u, at}, {sb}, {%u, %u}", s->byte[0], s->byte[1],
				s->lane[1]);
	base_buf_puts(t, ";\n");
	for (unsigned i = 0; i < n.c; i++)
		base_buf_printf(t, "st.global.%s [p+%u], d%u;\n", sum, 6144 + i * 256, i);
	base_buf_puts(t, "ret;\n}\n");
}

/* ---- running ------------------------------------------------------------------------- */

static struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
	uint64_t *cells; /* [a, b, c, d][REGS][LANES] */
} fix;

static struct base_buf text; /* as long as the module */

static int set_up(void **state)
{
	struct cpu_options opt = {.seed = 3, .threads = 1, .devices = 1};
	struct base_sink sink = {0};

	(void)state;
	base_buf_puts(&text, ".version 8.7\n.target sm_120a\n.address_size 64\n");
	for (size_t i = 0; i < BASE_COUNTOF(shapes); i++)
		put_kernel(&text, &shapes[i], i);
	base_buf_put(&text, "", 1);
	fix.m = cpu_machine_new(&opt);
	struct ptx_module *ptx = ptx_parse(&fix.arena, "mma.ptx", text.p, text.n - 1, &sink);
	fix.mod = ptx ? cpu_module_load(fix.m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	fix.cells = cpu_mem_alloc(fix.m, 0, 4 * REGS * LANES * 8, CPU_MEM_DEVICE);
	return fix.mod && fix.cells ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	cpu_module_unload(fix.mod);
	cpu_machine_free(fix.m);
	base_arena_free(&fix.arena);
	base_buf_free(&text);
	return 0;
}

static void launch(size_t number)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};
	char name[16];

	snprintf(name, sizeof(name), "k%zu", number);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(fix.mod, name),
				       .grid = {1, 1, 1},
				       .block = {LANES, 1, 1},
				       .params = &fix.cells};
	struct cpu_op *op = cpu_submit(fix.m, &w, NULL, 0, &fault);
	assert_non_null(op);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_fault_get(fix.m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		fail_msg("%s", fault.text);
}

/* Where element i of a lane's operand lies: cell and shift. */
static uint64_t *cell(unsigned operand, enum elem t, unsigned lane, unsigned i, unsigned *shift)
{
	unsigned per = (elem_bits[t] == 64 ? 64 : 32) / elem_bits[t];

	*shift = i % per * elem_bits[t];
	return &fix.cells[(operand * REGS + i / per) * LANES + lane];
}

typedef int value_fn(enum elem t, unsigned at);

static void spread(const struct shape *s, unsigned operand, enum elem t, unsigned regs,
		   unsigned cols, unsigned cells, value_fn *value)
{
	unsigned n = regs * (elem_bits[t] == 64 ? 64 : 32) / elem_bits[t], shift;

	for (unsigned lane = 0; lane < LANES; lane++) {
		for (unsigned i = 0; i < n; i++) {
			struct place p = place(s, "abc"[operand], lane, i);
			uint64_t *c = cell(operand, t, lane, i, &shift);
			unsigned at = p.matrix * cells + p.row * cols + p.col;
			*c |= encode(t, value(t, at + operand * 1000)) << shift;
		}
	}
}

/* Two lanes of four have those of two rows of A, one those of B; elsewhere are other scales. */
static void put_scales(const struct shape *s)
{
	static const unsigned code[2][4] = {{0x30, 0x38, 0x3c, 0x40}, {126, 127, 128, 129}};

	for (unsigned which = 0; which < 2; which++) {
		uint64_t *reg = &fix.cells[(which * REGS + SCALES) * LANES];
		for (unsigned l = 0; l < LANES; l++)
			reg[l] = 0x34343434;
		for (unsigned r = 0; r < (which ? s->n : s->m); r++) {
			unsigned lane =
				which ? r * 4 + s->lane[1] : r % 8 * 4 + 2 * s->lane[0] + r / 8;
			for (unsigned i = 0; i < s->nscales; i++) {
				unsigned at = 8 * (s->byte[which] + i);
				reg[lane] &= ~(0xffull << at);
				reg[lane] |= (uint64_t)code[s->is_e8m0][scale_of(which, r, i)]
					     << at;
			}
		}
	}
}

/* Of four lanes the first and third have 32 bits of a row each, the others of the row 8 below. */
static void put_metadata(const struct shape *s)
{
	uint64_t *reg = &fix.cells[META * LANES];
	unsigned n = s->k / 2 / (s->a == NIBBLE ? 2 : 1);

	for (unsigned r = 0; r < s->m; r++)
		for (unsigned i = 0; i < n; i++)
			reg[r % 8 * 4 + r / 8 + i / 16 * 2] |= (uint64_t)chosen(r, i) << i % 16 * 2;
}

static double plain(const struct shape *s, struct place p)
{
	unsigned a = p.matrix * s->m * s->k, b = p.matrix * s->k * s->n, stored = stored_k(s);
	unsigned c = p.matrix * s->m * s->n;
	double sum = small(s->c, c + p.row * s->n + p.col + 2000);

	for (unsigned i = 0; i < stored; i++) {
		unsigned k = whole(s, p.row, i);
		sum += small(s->a, a + p.row * stored + i) * scale(s, 0, p.row, k) *
		       small(s->b, b + k * s->n + p.col + 1000) * scale(s, 1, p.col, k);
	}
	return sum;
}

static void test_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(shapes); i++) {
		const struct shape *s = &shapes[i];
		struct counts n = count(s);
		memset(fix.cells, 0, 4 * REGS * LANES * 8);
		spread(s, 0, s->a, n.a, stored_k(s), s->m * s->k, small);
		spread(s, 1, s->b, n.b, s->n, s->k * s->n, small);
		spread(s, 2, s->c, n.c, s->n, s->m * s->n, small);
		if (s->nscales)
			put_scales(s);
		if (s->is_sparse)
			put_metadata(s);
		launch(i);
		unsigned elems = n.c * (elem_bits[s->c] == 16 ? 2 : 1), shift;
		for (unsigned lane = 0; lane < LANES; lane++) {
			for (unsigned e = 0; e < elems; e++) {
				struct place p = place(s, 'c', lane, e);
				const uint64_t *at = cell(3, s->c, lane, e, &shift);
				uint64_t got = *at >> shift;
				double want = plain(s, p);
				if (decode(s->c, got) != want)
					fail_msg("%s: row %u column %u of %u is %g, not %g", s->op,
						 p.row, p.col, p.matrix, decode(s->c, got), want);
			}
		}
	}
}

static size_t find(const char *op)
{
	for (size_t i = 0; i < BASE_COUNTOF(shapes); i++)
		if (!strcmp(shapes[i].op, op))
			return i;
	fail_msg("no shape %s", op);
	return 0;
}

static void fill(unsigned operand, uint64_t bits)
{
	for (unsigned i = 0; i < REGS * LANES; i++)
		fix.cells[operand * REGS * LANES + i] = bits;
}

/* 16 products of 2^-12 * 2^-12 beside 1: each alone is below half a unit of 1, all are two. */
static void test_one_rounding(void **state)
{
	(void)state;
	fill(0, 0x0c000c00);
	fill(1, 0x0c000c00);
	fill(2, 0x3f800000);
	launch(find("m16n8k16.row.col.f32.f16.f16.f32"));
	assert_int_equal((uint32_t)fix.cells[3 * REGS * LANES], 0x3f800008);
	/* NaN is canonical; infinity times zero is NaN. */
	fill(0, 0x7c007c00);
	fill(1, 0);
	launch(find("m16n8k16.row.col.f32.f16.f16.f32"));
	assert_int_equal((uint32_t)fix.cells[3 * REGS * LANES], 0x7fffffff);
	/* An f16 sum beyond the largest number is infinite. */
	fill(0, 0x78007800);
	fill(1, 0x40004000);
	fill(2, 0);
	launch(find("m16n8k16.row.col.f16.f16.f16.f16"));
	assert_int_equal((uint32_t)fix.cells[3 * REGS * LANES], 0x7c007c00);
}

static void test_double_chain(void **state)
{
	double a = 0.1, b = 0.3, c = 1e-3, want = c;
	uint64_t bits;

	(void)state;
	memcpy(&bits, &a, 8);
	fill(0, bits);
	memcpy(&bits, &b, 8);
	fill(1, bits);
	memcpy(&bits, &c, 8);
	fill(2, bits);
	for (unsigned k = 0; k < 16; k++)
		want = fma(a, b, want);
	launch(find("m16n8k16.row.col.f64.f64.f64.f64"));
	memcpy(&bits, &want, 8);
	assert_true(fix.cells[3 * REGS * LANES] == bits);
}

static void test_saturation(void **state)
{
	size_t i = find("m16n8k32.row.col.satfinite.s32.s8.s8.s32");

	(void)state;
	fill(0, 0x7f7f7f7f);
	fill(1, 0x7f7f7f7f);
	fill(2, 0x7fffff00);
	launch(i);
	assert_int_equal((uint32_t)fix.cells[3 * REGS * LANES], INT32_MAX);
	fill(1, 0x80808080);
	fill(2, 0x80000001);
	launch(i);
	assert_int_equal((uint32_t)fix.cells[3 * REGS * LANES], 0x80000000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_one_rounding),
		cmocka_unit_test(test_double_chain),
		cmocka_unit_test(test_saturation),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
