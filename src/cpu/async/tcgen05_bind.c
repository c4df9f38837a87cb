/*
 * tcgen05_bind.c - tcgen05.mma, cp, shift, commit as decoded; what an instruction descriptor says.
 *
 * The ISA's names for the two lengths in a mask of zero columns agree with its examples, its
 * descriptions of them don't: "use span" is how many columns are used. K = 96 (sm_103) has 3 or 6
 * scales, whose bytes may go on in the next four's word.
 */
#include "cpu/async/async.h"

#include <string.h>

/* ---- the instruction descriptor ---------- */

#define BITS(v, at, n) ((v) >> (at) & ((1u << (n)) - 1))

static uint8_t float_type(uint32_t v)
{
	static const uint8_t type[8] = {PTX_TYPE_E4M3, PTX_TYPE_E5M2, 0, PTX_TYPE_E2M3,
					PTX_TYPE_E3M2, PTX_TYPE_E2M1, 0, 0};

	return type[v];
}

static bool find_types(const struct cpu_tc *x, uint32_t v, struct cpu_tc_shape *s)
{
	uint32_t a = BITS(v, 7, 3), b = BITS(v, 10, 3), d = BITS(v, 4, 2);

	s->type_d = d == 0 ? PTX_TYPE_F16 : d == 1 ? PTX_TYPE_F32 : PTX_TYPE_S32;
	switch ((enum cpu_tc_kind)x->kind) {
	case CPU_TC_F16:
		s->bits = 16;
		s->type_a = a ? PTX_TYPE_BF16 : PTX_TYPE_F16;
		s->type_b = b ? PTX_TYPE_BF16 : PTX_TYPE_F16;
		return a <= 1 && b <= 1 && d <= 1 && (d || (!a && !b));
	case CPU_TC_TF32:
		s->bits = 32;
		s->type_a = s->type_b = PTX_TYPE_TF32;
		return a == 2 && b == 2 && d == 1;
	case CPU_TC_I8:
		s->bits = 8;
		s->type_a = a ? PTX_TYPE_S8 : PTX_TYPE_U8;
		s->type_b = b ? PTX_TYPE_S8 : PTX_TYPE_U8;
		return a <= 1 && b <= 1 && d == 2;
	case CPU_TC_MXF4:
	case CPU_TC_MXF4NVF4:
		s->bits = 4;
		s->type_a = s->type_b = PTX_TYPE_E2M1;
		s->type_d = PTX_TYPE_F32;
		return a == 1 && b == 1;
	case CPU_TC_MXF8F6F4:
		s->type_d = PTX_TYPE_F32;
		d = 1;
		break;
	case CPU_TC_F8F6F4:
		break;
	}
	s->bits = 8;
	s->type_a = float_type(a);
	s->type_b = float_type(b);
	return s->type_a && s->type_b && d <= 1;
}

static bool find_layout(const struct cpu_tc *x, struct cpu_tc_shape *s)
{
	uint32_t m = s->m;

	s->parts = 1;
	s->is_half = false;
	s->rows = (uint16_t)(m / x->blocks);
	if (x->blocks == 2) {
		if (m == 128 && x->is_sparse)
			s->is_half = true;
		else if (m == 128)
			s->parts = 2;
		return m == 128 || m == 256;
	}
	if (m == 64 && !x->is_ws)
		s->is_half = true;
	else if (x->is_ws && m < 128)
		s->parts = m == 64 ? 2 : 4;
	return m == 64 || m == 128 || (m == 32 && x->is_ws);
}

const char *cpu_tc_shape(const struct cpu_tc *x, uint32_t v, struct cpu_tc_shape *s)
{
	bool is_scaled = x->nscales != 0;

	memset(s, 0, sizeof(*s));
	if (!find_types(x, v, s))
		return "element types that this kind doesn't have";
	if (BITS(v, 2, 1) != x->is_sparse)
		return "sparsity that differs from the instruction's";
	s->n = (uint16_t)(BITS(v, 17, 6) * 8);
	s->m = (uint16_t)(BITS(v, 24, 5) * 16);
	s->k = (uint16_t)(256u / s->bits * (x->is_sparse ? 2 : 1));
	s->selector = (uint8_t)BITS(v, 0, 2);
	s->is_negative = BITS(v, 13, 1) != BITS(v, 14, 1);
	s->is_trans_a = BITS(v, 15, 1);
	s->is_trans_b = BITS(v, 16, 1);
	if (is_scaled) {
		s->nscales = x->nscales;
		s->is_scale_e8m0 = BITS(v, 23, 1);
		s->scale_a = (uint8_t)BITS(v, 29, 2);
		s->scale_b = (uint8_t)BITS(v, 4, 2);
		if (BITS(v, 31, 1) && (s->bits != 4 || x->is_sparse))
			return "K = 96, which only dense products of 4-bit types have";
		if (BITS(v, 31, 1)) {
			s->k = 96;
			s->nscales = x->nscales == 4 ? 6 : 3;
		}
	} else {
		s->is_sat = BITS(v, 3, 1) && x->kind == CPU_TC_I8;
	}
	if (!find_layout(x, s))
		return "a number of rows that this instruction doesn't have";
	if (x->is_a_shifted && s->rows != CPU_TMEM_LANES)
		return "a number of rows that .ashift doesn't have";
	if (!s->n || s->n > CPU_TC_COLS || s->n % (8u * s->parts) || (x->blocks == 2 && s->n % 16))
		return "a number of columns that this instruction doesn't have";
	bool is_narrow = s->bits == 4 || (s->bits == 8 && x->kind != CPU_TC_I8);
	if ((s->is_trans_a && is_narrow && (s->bits == 4 || s->type_a > PTX_TYPE_E5M2)) ||
	    (s->is_trans_b && is_narrow && (s->bits == 4 || s->type_b > PTX_TYPE_E5M2)))
		return "a transposition that these types don't have";
	if (s->nscales == 6 && (s->scale_a % 2 || s->scale_b % 2))
		return "six scales that begin in an odd byte";
	if (s->k != 96 && (s->scale_a + s->nscales > 4 || s->scale_b + s->nscales > 4))
		return "scales that lie outside of their word";
	if (s->selector > (s->bits >= 16 ? 1 : 0))
		return "a selector of metadata that this kind doesn't have";
	return NULL;
}

/* `n` bits from `first` on: spans of 0 and of 1 in turn, the first `skip` bits left out. */
static void put_spans(struct cpu_tc_zeros *out, uint32_t first, uint32_t n, uint32_t skip,
		      bool is_one, const uint32_t span[2])
{
	uint32_t left = span[is_one];

	for (uint32_t i = 0; i < skip + n; i++, left--) {
		if (!left) {
			is_one = !is_one;
			left = span[is_one];
		}
		if (i >= skip && is_one)
			out->zero[(first + i - skip) / 64] |= 1ull << (first + i - skip) % 64;
	}
}

const char *cpu_tc_zeros(uint64_t desc, const struct cpu_tc_shape *s, struct cpu_tc_zeros *out)
{
	uint32_t wide = s->n / s->parts;
	/* columns that are used, that are skipped */
	uint32_t span[2] = {(uint32_t)(desc >> 48 & 255) + 1, (uint32_t)(desc >> 40 & 255) + 1};

	memset(out, 0, sizeof(*out));
	out->shift = (uint8_t)(desc >> 56 & 63);
	if (out->shift > (s->m == 32 ? 16 : 32))
		return "a shift of columns that this number of rows doesn't have";
	for (uint32_t i = 0; desc >> 39 & 1 && i < s->parts; i++)
		put_spans(out, i * wide, wide, (uint32_t)(desc >> 8 * i & 255),
			  (desc >> (32 + i) & 1) != 0, span);
	return NULL;
}

/* ---- operands ---------- */

static bool is_mask(const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_VEC;
}

static const char *bind_rest(struct cpu_dec *d, const struct ptx_stmt *s, unsigned at,
			     struct cpu_tc *x)
{
	if (x->nscales) {
		if (s->nops != at + 3)
			return "number of operands";
		x->sfa = cpu_dec_addr(d, s, &s->ops[at]);
		x->sfb = cpu_dec_addr(d, s, &s->ops[at + 1]);
		at += 2;
	}
	if (at < s->nops && is_mask(&s->ops[at])) {
		x->nmask = s->ops[at].nsub;
		if (x->nmask != 4u * x->blocks)
			return "number of masks of lanes";
		for (unsigned i = 0; i < x->nmask; i++)
			x->mask[i] = cpu_dec_src(d, &s->ops[at].sub[i], PTX_TYPE_B32);
		at++;
	}
	if (at >= s->nops)
		return "number of operands";
	x->is_added = cpu_dec_src(d, &s->ops[at], PTX_TYPE_PRED);
	x->is_scale_not = cpu_dec_is_not(&s->ops[at]);
	at++;
	if (at == s->nops)
		return NULL;
	if (x->is_ws && at + 1 == s->nops) {
		x->zeros = cpu_dec_src(d, &s->ops[at], PTX_TYPE_B64);
		return NULL;
	}
	if (at + 1 != s->nops || s->ops[at].kind != PTX_OPND_INT || s->ops[at].imm < 0 ||
	    s->ops[at].imm > 15)
		return "the scale of D";
	x->shift = (uint8_t)s->ops[at].imm;
	return NULL;
}

static const struct {
	enum ptx_mod mod;
	enum cpu_tc_kind kind;
} kinds[] = {
	{PTX_MOD_KIND_F16, CPU_TC_F16},		  {PTX_MOD_KIND_TF32, CPU_TC_TF32},
	{PTX_MOD_KIND_F8F6F4, CPU_TC_F8F6F4},	  {PTX_MOD_KIND_I8, CPU_TC_I8},
	{PTX_MOD_KIND_MXF8F6F4, CPU_TC_MXF8F6F4}, {PTX_MOD_KIND_MXF4, CPU_TC_MXF4},
	{PTX_MOD_KIND_MXF4NVF4, CPU_TC_MXF4NVF4},
};

/* Scales of a row, 0: none. */
static unsigned scales_of(const struct ptx_form *f, enum cpu_tc_kind kind)
{
	if (kind < CPU_TC_MXF8F6F4)
		return 0;
	if (kind == CPU_TC_MXF8F6F4)
		return 1;
	if (ptx_form_has(f, PTX_MOD_SCALE_VEC_4X) || ptx_form_has(f, PTX_MOD_BLOCK16))
		return 4;
	return 2;
}

/* why: what can't be executed, or NULL */
static enum cpu_bound bound(struct cpu_dec *d, struct cpu_inst *in, struct cpu_tc *x,
			    const char *why)
{
	if (why)
		return cpu_dec_unsupported(d, in, why);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = cpu_tc_issue;
	return CPU_BOUND;
}

enum cpu_bound cpu_tc_bind_mma(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			       struct cpu_tc *x)
{
	const struct ptx_form *f = s->form;
	bool is_ws = f->op == PTX_OP_TCGEN05_MMA_WS || f->op == PTX_OP_TCGEN05_MMA_WS_SP;
	unsigned at = 3, i;

	for (i = 0; i < BASE_COUNTOF(kinds); i++)
		if (ptx_form_has(f, kinds[i].mod))
			break;
	if (f->has_unknown_mod || i == BASE_COUNTOF(kinds) || s->nops < 5)
		return cpu_dec_unsupported(d, in, "kind or operands of a product");
	x->op = CPU_TC_MMA;
	x->zeros = CPU_NOSLOT;
	x->kind = (uint8_t)kinds[i].kind;
	x->blocks = ptx_form_has(f, PTX_MOD_CTA_GROUP_2) ? 2 : 1;
	x->is_ws = is_ws;
	x->is_sparse = f->op == PTX_OP_TCGEN05_MMA_SP || f->op == PTX_OP_TCGEN05_MMA_WS_SP;
	x->nscales = (uint8_t)scales_of(f, kinds[i].kind);
	x->d = cpu_dec_addr(d, s, &s->ops[0]);
	x->is_a_tmem = s->ops[1].kind == PTX_OPND_ADDR;
	x->is_a_shifted = ptx_form_has(f, PTX_MOD_ASHIFT);
	if (x->is_a_shifted && (x->is_sparse || !x->is_a_tmem))
		return cpu_dec_unsupported(d, in, "modifier .ashift of such a product");
	if (x->is_a_tmem)
		x->a = cpu_dec_addr(d, s, &s->ops[1]);
	else
		x->desc_a = cpu_dec_src(d, &s->ops[1], PTX_TYPE_B64);
	x->desc_b = cpu_dec_src(d, &s->ops[2], PTX_TYPE_B64);
	if (x->is_sparse)
		x->meta = cpu_dec_addr(d, s, &s->ops[at++]);
	x->idesc = cpu_dec_src(d, &s->ops[at++], PTX_TYPE_B32);
	return bound(d, in, x, bind_rest(d, s, at, x));
}

static const struct {
	const char *name;
	uint8_t rows, bytes;
} copies[] = {{".128x256b", 128, 32},
	      {".4x256b", 4, 32},
	      {".128x128b", 128, 16},
	      {".64x128b", 64, 16},
	      {".32x128b", 32, 16}};

static const char *bind_copy(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_tc *x)
{
	const struct ptx_form *f = s->form;
	char text[128];
	unsigned i;

	if (f->text.n >= sizeof(text) || s->nops != 2)
		return "operands of tcgen05.cp";
	memcpy(text, f->text.p, f->text.n);
	text[f->text.n] = 0;
	for (i = 0; i < BASE_COUNTOF(copies); i++)
		if (strstr(text, copies[i].name))
			break;
	if (i == BASE_COUNTOF(copies))
		return "this shape";
	x->op = CPU_TC_COPY;
	x->copy_rows = copies[i].rows;
	x->copy_bytes = copies[i].bytes;
	x->copy_kind = ptx_form_has(f, PTX_MOD_WARPX4)	       ? CPU_TC_COPY_X4
		       : ptx_form_has(f, PTX_MOD_WARPX2_02_13) ? CPU_TC_COPY_02_13
		       : ptx_form_has(f, PTX_MOD_WARPX2_01_23) ? CPU_TC_COPY_01_23
		       : copies[i].rows == 4		       ? CPU_TC_COPY_4
							       : CPU_TC_COPY_PLAIN;
	x->copy_bits = ptx_form_has(f, PTX_MOD_B6X16_P32)   ? 6
		       : ptx_form_has(f, PTX_MOD_B4X16_P64) ? 4
							    : 8;
	x->desc_a = cpu_dec_src(d, &s->ops[1], PTX_TYPE_B64);
	return NULL;
}

static const char *bind_commit(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_tc *x)
{
	bool is_multicast = ptx_form_has(s->form, PTX_MOD_MULTICAST_CLUSTER);

	if (s->nops != (is_multicast ? 2u : 1u))
		return "operands of tcgen05.commit";
	x->op = CPU_TC_COMMIT;
	x->mbar = cpu_dec_addr(d, s, &s->ops[0]);
	x->ctas = is_multicast ? cpu_dec_src(d, &s->ops[1], PTX_TYPE_U16) : CPU_NOSLOT;
	return NULL;
}

cpu_binder cpu_bind_tensor05;

enum cpu_bound cpu_bind_tensor05(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct cpu_tc *x = cpu_dec_alloc(d, sizeof(*x));
	const char *why = NULL;

	if (s->form->has_unknown_mod || !s->nops)
		return cpu_dec_unsupported(d, in, "a modifier that is not known");
	x->blocks = ptx_form_has(s->form, PTX_MOD_CTA_GROUP_2) ? 2 : 1;
	if (s->form->op == PTX_OP_TCGEN05_COMMIT) {
		why = bind_commit(d, s, x);
	} else if (s->form->op == PTX_OP_TCGEN05_CP) {
		x->d = cpu_dec_addr(d, s, &s->ops[0]);
		why = bind_copy(d, s, x);
	} else {
		x->op = CPU_TC_SHIFT;
		x->d = cpu_dec_addr(d, s, &s->ops[0]);
	}
	return bound(d, in, x, why);
}
