/*
 * video.c - the video instructions: vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset,
 * and their forms on two half-words or four bytes, vavrg2 and vavrg4 too. PTX ISA 9.7.18.
 *
 * What an instruction does is data (struct video): which parts of a and b are taken and how they
 * are extended, the operation, saturation, then either a second operation with c or a merge of
 * the result's part into c. Two handlers read it, for one part and for several; vmad has its own.
 * Where an H100 and the ISA differ, this follows the H100 (strictly, the code that ptxas 13.0
 * generates): a merge into .h1 takes the upper half of the result, unsigned .sat stops at 0 only,
 * .min and .max see a sum as a signed word, vmad reads whole words and c as signed, vset's second
 * operation has the sign of a. Misses: .sat together with a merge follows the ISA; it was not tried
 * on an H100.
 * Costs: one lane at a time, some tens of operations each; today's compilers don't generate them in
 * inner loops.
 */
#include "cpu/alu/alu.h"

cpu_binder CPU_BINDER(video);

enum second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };
enum compare { EQ, NE, LT, LE, GT, GE };

struct part {
	uint8_t shift, bits;
	bool is_signed;
};

struct video {
	uint8_t op; /* V_* */
	uint8_t second, compare;
	uint8_t n, bits; /* parts of the result and the bits of each */
	bool is_signed, is_sat, is_wrap;
	bool is_merge;		/* scalar: the part goes to `shift` of c */
	uint8_t shift;		/* of that part */
	uint8_t mask;		/* several parts: those that are written */
	struct part a[4], b[4]; /* several parts: shifts in b:a, 64 bits */
	/* vmad */
	bool is_product_minus, is_c_minus, is_po, is_final_signed;
	uint8_t scale;
};

enum { V_ADD, V_SUB, V_AVRG, V_ABSDIFF, V_MIN, V_MAX, V_SHL, V_SHR, V_SET, V_MAD };

static int64_t take(uint64_t v, struct part p)
{
	v = v >> p.shift << (64 - p.bits);
	return p.is_signed ? (int64_t)v >> (64 - p.bits) : (int64_t)(v >> (64 - p.bits));
}

static int64_t clamp(int64_t v, unsigned bits, bool is_signed)
{
	int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
	int64_t high = low + ((int64_t)1 << bits) - 1;

	return v < low ? low : v > high ? high : v;
}

static bool compare(unsigned how, int64_t a, int64_t b)
{
	switch (how) {
	case EQ:
		return a == b;
	case NE:
		return a != b;
	case LT:
		return a < b;
	case LE:
		return a <= b;
	case GT:
		return a > b;
	default:
		return a >= b;
	}
}

static int64_t operate(const struct video *v, int64_t a, int64_t b)
{
	unsigned by = (unsigned)(v->is_wrap ? b & 31 : b > 32 ? 32 : b);
	int64_t sum = a + b;

	switch (v->op) {
	case V_ADD:
		return sum;
	case V_SUB:
		return a - b;
	case V_AVRG:
		return (sum + (sum >= 0)) >> 1;
	case V_ABSDIFF:
		return a > b ? a - b : b - a;
	case V_MIN:
		return a < b ? a : b;
	case V_MAX:
		return a > b ? a : b;
	case V_SHL:
		/* 34 bits are kept, the highest as the sign. */
		return (int64_t)((uint64_t)a << by << 30) >> 30;
	case V_SHR:
		return a >> by;
	default:
		return compare(v->compare, a, b);
	}
}

/* .sat of one part. Sums that exceed an unsigned word wrap; products of a shift don't. */
static int64_t saturate(const struct video *v, int64_t t)
{
	if (v->bits == 32 && !v->is_signed && v->op != V_SHL)
		return t < 0 ? 0 : (int64_t)(uint32_t)t;
	return clamp(t, v->bits, v->is_signed);
}

/* The second operation: sums and differences have been cut to a signed word before. */
static uint32_t second(const struct video *v, int64_t t, uint32_t c)
{
	int64_t x = v->op == V_ADD || v->op == V_SUB ? (int32_t)t : t;
	int64_t y = v->is_signed ? (int64_t)(int32_t)c : (int64_t)c;
	bool is_less = v->is_signed ? x < y : (uint64_t)x < (uint64_t)y;

	switch (v->second) {
	case SECOND_ADD:
		return (uint32_t)t + c;
	case SECOND_MIN:
		return is_less ? (uint32_t)x : c;
	case SECOND_MAX:
		return is_less ? c : (uint32_t)x;
	default:
		return (uint32_t)t;
	}
}

/* One part of a and b, then a second operation or a merge. */
static uint32_t scalar_one(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	int64_t t = operate(v, take(a, v->a[0]), take(b, v->b[0]));

	if (v->is_sat)
		t = saturate(v, t);
	if (!v->is_merge)
		return second(v, t, c);
	uint32_t m = (UINT32_MAX >> (32 - v->bits)) << v->shift;
	bool is_upper = v->bits == 16 && v->shift == 16;
	return ((uint32_t)(is_upper ? t : (int64_t)((uint64_t)t << v->shift)) & m) | (c & ~m);
}

static uint32_t simd_one(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t both = (uint64_t)b << 32 | a;
	uint32_t sum = c, merged = c;

	for (unsigned i = 0; i < v->n; i++) {
		if (!(v->mask >> i & 1u))
			continue;
		unsigned at = i * v->bits;
		uint32_t m = (UINT32_MAX >> (32 - v->bits)) << at;
		int64_t t = operate(v, take(both, v->a[i]), take(both, v->b[i]));
		if (v->is_sat)
			t = clamp(t, v->bits, v->is_signed);
		sum += (uint32_t)t;
		merged = (merged & ~m) | ((uint32_t)t << at & m);
	}
	return v->second == SECOND_ADD ? sum : merged;
}

/* One operand of the sum may be negated, by complement and a carry, which is how plus one (.po)
 * comes in. Whole words count as signed, and c always. */
static uint32_t mad_one(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t t = (uint64_t)take(a, v->a[0]) * (uint64_t)take(b, v->b[0]);

	if (!v->is_po && v->is_product_minus)
		t = 0 - t;
	else if (!v->is_po && v->is_c_minus)
		c = ~c;
	t += (uint64_t)(int64_t)(int32_t)c;
	t += v->is_po || (!v->is_product_minus && v->is_c_minus);
	t = v->is_final_signed ? (uint64_t)((int64_t)t >> v->scale) : t >> v->scale;
	return (uint32_t)(v->is_sat ? clamp((int64_t)t, 32, v->is_final_signed) : (int64_t)t);
}

#define VIDEO(name, one)                                                                           \
	ALU_HEAD(name)                                                                             \
	{                                                                                          \
		const struct video *v = in->aux;                                                   \
		uint32_t *d = cpu_u32(w, in->dst[0]);                                              \
		const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]),           \
			       *c = cpu_u32(w, in->src[2]);                                        \
                                                                                                   \
		CPU_EACH_LANE (l, mask)                                                            \
			d[l] = one(v, a[l], b[l], c[l]);                                           \
		return CPU_OK;                                                                     \
	}
VIDEO(video_scalar, scalar_one)
VIDEO(video_simd, simd_one)
VIDEO(video_mad, mad_one)

/* ---- binding ------------------------------------------------------------------------- */

static const struct {
	enum ptx_op op;
	uint8_t what, n;
} ops[] = {
	{PTX_OP_VADD, V_ADD, 1},	  {PTX_OP_VSUB, V_SUB, 1},
	{PTX_OP_VABSDIFF, V_ABSDIFF, 1},  {PTX_OP_VMIN, V_MIN, 1},
	{PTX_OP_VMAX, V_MAX, 1},	  {PTX_OP_VSHL, V_SHL, 1},
	{PTX_OP_VSHR, V_SHR, 1},	  {PTX_OP_VSET, V_SET, 1},
	{PTX_OP_VMAD, V_MAD, 1},	  {PTX_OP_VADD2, V_ADD, 2},
	{PTX_OP_VSUB2, V_SUB, 2},	  {PTX_OP_VAVRG2, V_AVRG, 2},
	{PTX_OP_VABSDIFF2, V_ABSDIFF, 2}, {PTX_OP_VMIN2, V_MIN, 2},
	{PTX_OP_VMAX2, V_MAX, 2},	  {PTX_OP_VSET2, V_SET, 2},
	{PTX_OP_VADD4, V_ADD, 4},	  {PTX_OP_VSUB4, V_SUB, 4},
	{PTX_OP_VAVRG4, V_AVRG, 4},	  {PTX_OP_VABSDIFF4, V_ABSDIFF, 4},
	{PTX_OP_VMIN4, V_MIN, 4},	  {PTX_OP_VMAX4, V_MAX, 4},
	{PTX_OP_VSET4, V_SET, 4},
};

/* The selector after an operand's name, without the dot ("b3210"); empty: none. */
static struct ptx_str selector(const struct ptx_opnd *op)
{
	struct ptx_str none = {"", 0};

	if (op->kind != PTX_OPND_REG || op->comp != PTX_COMP_SELECT)
		return none;
	for (uint32_t i = op->text.n; i-- > 0;)
		if (op->text.p[i] == '.')
			return (struct ptx_str){op->text.p + i + 1, op->text.n - i - 1};
	return none;
}

/* "b2" or "h1"; the whole word without a selector. False: something else. */
static bool scalar_part(struct ptx_str sel, bool is_signed, struct part *p)
{
	bool is_byte = sel.n && sel.p[0] == 'b';
	unsigned bits = is_byte ? 8 : 16, i;

	*p = (struct part){0, 32, is_signed};
	if (!sel.n)
		return true;
	if (sel.n != 2 || (!is_byte && sel.p[0] != 'h'))
		return false;
	i = (unsigned)(sel.p[1] - '0');
	if (i >= 32 / bits)
		return false;
	p->shift = (uint8_t)(i * bits);
	p->bits = (uint8_t)bits;
	return true;
}

/* "h32" or "b7654": a digit per part, that of the highest first; by default those from `first`. */
static bool simd_parts(struct ptx_str sel, unsigned n, unsigned first, bool is_signed,
		       struct part p[4])
{
	unsigned bits = 32 / n;

	if (sel.n && (sel.n != n + 1 || sel.p[0] != (n == 2 ? 'h' : 'b')))
		return false;
	for (unsigned i = 0; i < n; i++) {
		unsigned from = sel.n ? (unsigned)(sel.p[n - i] - '0') : first + i;
		if (from >= 2 * n)
			return false;
		p[i] = (struct part){(uint8_t)(from * bits), (uint8_t)bits, is_signed};
	}
	return true;
}

/* "b310": the parts that are written, all without it. */
static bool simd_mask(struct ptx_str sel, unsigned n, uint8_t *mask)
{
	*mask = (uint8_t)((1u << n) - 1);
	if (!sel.n)
		return true;
	if (sel.n < 2 || sel.p[0] != (n == 2 ? 'h' : 'b'))
		return false;
	*mask = 0;
	for (uint32_t i = 1; i < sel.n; i++) {
		unsigned part = (unsigned)(sel.p[i] - '0');
		if (part >= n)
			return false;
		*mask = (uint8_t)(*mask | 1u << part);
	}
	return true;
}

static bool is_s32(const struct ptx_form *f, unsigned i)
{
	return alu_type(f, i) == PTX_TYPE_S32;
}

/* A literal has its sign in its value. */
static bool is_minus(const struct ptx_opnd *op)
{
	return op->kind == PTX_OPND_REG && op->flags & PTX_OPND_NEG;
}

/* Reads the modifiers; false: an unknown one. */
static bool read_mods(const struct ptx_form *f, struct video *v)
{
	static const struct {
		enum ptx_mod mod;
		uint8_t value;
	} seconds[] = {{PTX_MOD_ADD, SECOND_ADD},
		       {PTX_MOD_MIN, SECOND_MIN},
		       {PTX_MOD_MAX, SECOND_MAX}},
	  compares[] = {{PTX_MOD_EQ, EQ}, {PTX_MOD_NE, NE}, {PTX_MOD_LT, LT},
			{PTX_MOD_LE, LE}, {PTX_MOD_GT, GT}, {PTX_MOD_GE, GE}};
	unsigned left = f->nmods, found = 0;

	v->is_sat = alu_take(f, PTX_MOD_SAT, &left);
	for (size_t i = 0; i < BASE_COUNTOF(seconds); i++)
		if (v->op != V_MAD && alu_take(f, seconds[i].mod, &left))
			v->second = seconds[i].value;
	for (size_t i = 0; v->op == V_SET && i < BASE_COUNTOF(compares); i++) {
		if (alu_take(f, compares[i].mod, &left)) {
			v->compare = compares[i].value;
			found++;
		}
	}
	if (v->op == V_SHL || v->op == V_SHR) {
		v->is_wrap = alu_take(f, PTX_MOD_WRAP, &left);
		found = v->is_wrap + alu_take(f, PTX_MOD_CLAMP, &left);
	}
	if (v->op == V_MAD) {
		v->is_po = alu_take(f, PTX_MOD_PO, &left);
		if (alu_take(f, PTX_MOD_SHR7, &left))
			v->scale = 7;
		else if (alu_take(f, PTX_MOD_SHR15, &left))
			v->scale = 15;
	}
	return !left && (found == 1 || (v->op != V_SET && v->op != V_SHL && v->op != V_SHR));
}

static bool read_scalar(const struct ptx_stmt *s, struct video *v, bool is_sa, bool is_sb)
{
	struct part d;

	if (!scalar_part(selector(&s->ops[1]), is_sa, &v->a[0]) ||
	    !scalar_part(selector(&s->ops[2]), is_sb, &v->b[0]) ||
	    !scalar_part(selector(&s->ops[0]), false, &d))
		return false;
	v->bits = d.bits;
	v->shift = d.shift;
	v->is_merge = d.bits < 32;
	if (v->op == V_MAD) {
		v->a[0].is_signed |= v->a[0].bits == 32;
		v->b[0].is_signed |= v->b[0].bits == 32;
		v->is_product_minus = is_minus(&s->ops[1]) != is_minus(&s->ops[2]);
		v->is_c_minus = is_minus(&s->ops[3]);
		v->is_final_signed = is_sa || is_sb || v->is_product_minus || v->is_c_minus;
		return !v->is_merge && s->nops == 4;
	}
	/* Either a merge or a second operation takes c, not both. */
	return s->nops == (v->is_merge || v->second ? 4 : 3) && !(v->is_merge && v->second);
}

static bool read_simd(const struct ptx_stmt *s, struct video *v, bool is_sa, bool is_sb)
{
	v->bits = (uint8_t)(32 / v->n);
	return s->nops == 4 && (!v->second || (v->second == SECOND_ADD && !v->is_sat)) &&
	       simd_parts(selector(&s->ops[1]), v->n, 0, is_sa, v->a) &&
	       simd_parts(selector(&s->ops[2]), v->n, v->n, is_sb, v->b) &&
	       simd_mask(selector(&s->ops[0]), v->n, &v->mask);
}

static enum cpu_bound bind(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			   unsigned what, unsigned n)
{
	const struct ptx_form *f = s->form;
	struct video *v = cpu_dec_alloc(d, sizeof(*v));
	struct ptx_opnd plain[4];
	struct ptx_stmt bare = *s;
	bool is_set = what == V_SET;
	unsigned at = is_set ? 0 : 1; /* the type of a: vset has none for its result */
	enum cpu_bound bound;
	bool is_good;

	v->op = (uint8_t)what;
	v->n = (uint8_t)n;
	v->is_signed = is_s32(f, 0); /* of vset's c: as a */
	is_good = s->nops >= 3 && s->nops <= 4 && f->ntypes == at + 2 && read_mods(f, v);
	is_good = is_good &&
		  (n == 1 ? read_scalar : read_simd)(s, v, is_s32(f, at), is_s32(f, at + 1));
	if (!is_good)
		return cpu_dec_unsupported(d, in, "no such form of this instruction");
	/* Selectors and signs are in v now. */
	for (unsigned i = 0; i < s->nops; i++) {
		plain[i] = s->ops[i];
		if (plain[i].kind != PTX_OPND_REG)
			continue;
		plain[i].comp = plain[i].comp == PTX_COMP_SELECT ? 0 : plain[i].comp;
		plain[i].flags &= (uint8_t)~PTX_OPND_NEG;
	}
	bare.ops = plain;
	bound = alu_bind_same(d, &bare, in,
			      what == V_MAD ? video_mad
			      : n == 1	    ? video_scalar
					    : video_simd,
			      PTX_TYPE_B32, s->nops - 1u);
	if (bound != CPU_BOUND)
		return bound;
	if (s->nops == 3)
		in->src[2] = in->src[1];
	in->aux = v;
	return bound;
}

enum cpu_bound CPU_BINDER(video)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	for (size_t i = 0; i < BASE_COUNTOF(ops); i++)
		if (s->form->op == ops[i].op)
			return bind(d, s, in, ops[i].what, ops[i].n);
	return CPU_NOT_MINE;
}
