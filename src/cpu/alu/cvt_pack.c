/*
 * cvt_pack.c - cvt to and from packed types: f16x2, bf16x2, and the 8-, 6- and 4-bit floats.
 *
 * Of two source registers the first becomes the upper element. f32 pairs to f16x2 and bf16x2 to
 * nearest are vector loops, the rest goes through fp_num.h value by value. e2m1x2 has two
 * elements in a byte, the 6-bit types one in each byte's low bits.
 * ue8m0 is a power of two, exponent only: rounding goes towards zero or up in magnitude, the sign
 * is dropped, 0xff is NaN. Stochastic rounding (.rs, and with it the x4 types) is refused.
 * PTX ISA 9.7.9, cvt.
 */
#include "cpu/alu/fp_num.h"

cpu_binder CPU_BINDER(cvtpack);

struct pack_type {
	enum ptx_type type;
	uint8_t bits;			 /* an element's place in the packed value */
	uint8_t bytes;			 /* of the packed value */
	const struct num_format *format; /* NULL: ue8m0 */
};

#define T(t) PTX_TYPE_##t
static const struct pack_type pack_types[] = {
	{T(F16X2), 16, 4, &num_f16},  {T(BF16X2), 16, 4, &num_bf16}, {T(E4M3X2), 8, 2, &num_e4m3},
	{T(E5M2X2), 8, 2, &num_e5m2}, {T(E2M3X2), 8, 2, &num_e2m3},  {T(E3M2X2), 8, 2, &num_e3m2},
	{T(E2M1X2), 4, 1, &num_e2m1}, {T(UE8M0X2), 8, 2, NULL},
};
static const struct pack_type pack_f32 = {T(F32), 32, 4, &num_f32};

/* In in->aux. */
struct pack_op {
	const struct pack_type *d, *s;
	uint8_t dbytes, sbytes; /* of the registers */
	bool relu, satfinite;
	enum num_round round;
};

/* ---- ue8m0 ------------------------------------------------------------------------ */

static struct num ue8m0_unpack(uint64_t u)
{
	struct num n = {1, (int)u - 127, false, NUM_FINITE};

	if (u == 0xff)
		n.kind = NUM_NAN;
	return n;
}

/* The least value is 2^-127; beyond 2^127 lies NaN, or with satfinite 2^127. */
static uint64_t ue8m0_pack(struct num n, const struct pack_op *p)
{
	uint64_t over = p->satfinite ? 0xfe : 0xff;

	if (n.kind != NUM_FINITE)
		return n.kind == NUM_NAN ? 0xff : over;
	if (!n.sig)
		return 0;
	int e = n.exp + 63 - __builtin_clzll(n.sig);
	bool is_power = !(n.sig & (n.sig - 1));

	e += p->round == NUM_RP && !is_power;
	return e < -127 ? 0 : e > 127 ? over : (uint64_t)(e + 127);
}

/* ---- handlers ------------------------------------------------------------------------ */

static uint64_t pack_element(const struct pack_op *p, uint64_t u)
{
	struct num n = p->s->format ? num_unpack(p->s->format, u) : ue8m0_unpack(u);

	if (p->relu)
		n = num_relu(n);
	return p->d->format ? num_pack(p->d->format, n, p->round, p->satfinite) : ue8m0_pack(n, p);
}

static enum cpu_step pack_exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct pack_op *p = (const struct pack_op *)in->aux;
	uint64_t low = UINT64_MAX >> (64 - p->s->bits);

	CPU_EACH_LANE (l, mask) {
		uint64_t hi, lo;

		if (p->s->type == PTX_TYPE_F32) {
			hi = cpu_u32(w, in->src[0])[l];
			lo = cpu_u32(w, in->src[1])[l];
		} else {
			lo = p->sbytes == 4 ? cpu_u32(w, in->src[0])[l] : cpu_u16(w, in->src[0])[l];
			hi = lo >> p->s->bits & low;
			lo &= low;
		}
		uint64_t v = pack_element(p, hi) << p->d->bits | pack_element(p, lo);
		if (p->dbytes == 4)
			cpu_u32(w, in->dst[0])[l] = (uint32_t)v;
		else
			cpu_u16(w, in->dst[0])[l] = (uint16_t)v;
	}
	return CPU_OK;
}

static enum cpu_step pack_f16x2(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);
	uint16_t hi[CPU_WARP], lo[CPU_WARP];
	float x[CPU_WARP], y[CPU_WARP];

	for (unsigned l = 0; l < CPU_WARP; l++) {
		x[l] = fp_f32(a[l]);
		y[l] = fp_f32(b[l]);
	}
	fp_to_half(x, hi, CPU_WARP);
	fp_to_half(y, lo, CPU_WARP);
	FP_LANES(l, mask, uint32_t, d, (uint32_t)hi[l] << 16 | lo[l]);
	return CPU_OK;
}

static inline uint32_t bf16x2_lane(uint32_t a, uint32_t b)
{
	return (uint32_t)fp_to_bf16_one(fp_f32(a)) << 16 | fp_to_bf16_one(fp_f32(b));
}

static enum cpu_step pack_bf16x2(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint32_t *a = cpu_u32(w, in->src[0]), *b = cpu_u32(w, in->src[1]);

	FP_LANES(l, mask, uint32_t, d, bf16x2_lane(a[l], b[l]));
	return CPU_OK;
}

/* ---- the binder ------------------------------------------------------------------------ */

static const struct pack_type *pack_find(enum ptx_type t)
{
	for (unsigned i = 0; i < BASE_COUNTOF(pack_types); i++)
		if (pack_types[i].type == t)
			return &pack_types[i];
	return t == PTX_TYPE_F32 ? &pack_f32 : NULL;
}

static cpu_exec *pack_choose(const struct pack_op *p)
{
	if (p->s != &pack_f32 || p->round != NUM_RN || p->relu || p->satfinite)
		return pack_exec;
	if (p->d->type == PTX_TYPE_F16X2)
		return pack_f16x2;
	return p->d->type == PTX_TYPE_BF16X2 ? pack_bf16x2 : pack_exec;
}

enum cpu_bound CPU_BINDER(cvtpack)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;

	if (f->op != PTX_OP_CVT)
		return CPU_NOT_MINE;
	if (f->ntypes != 2)
		return cpu_dec_unsupported(d, in, "types of cvt");
	const struct pack_type *dt = pack_find((enum ptx_type)f->types[0]);
	const struct pack_type *st = pack_find((enum ptx_type)f->types[1]);

	if (!dt || !st || dt == &pack_f32)
		return cpu_dec_unsupported(d, in, "types of cvt");
	if (s->nops != (st == &pack_f32 ? 3 : 2) ||
	    !FP_ONLY(f, PTX_MOD_RN, PTX_MOD_RZ, PTX_MOD_RP, PTX_MOD_RELU, PTX_MOD_SATFINITE))
		return cpu_dec_unsupported(d, in, "modifier of cvt");
	struct pack_op *p = (struct pack_op *)cpu_dec_alloc(d, sizeof(*p));

	*p = (struct pack_op){.d = dt,
			      .s = st,
			      .dbytes = (uint8_t)cpu_dec_bytes(d, &s->ops[0], dt->type),
			      .sbytes = (uint8_t)cpu_dec_bytes(d, &s->ops[1], st->type),
			      .relu = ptx_form_has(f, PTX_MOD_RELU),
			      .satfinite = ptx_form_has(f, PTX_MOD_SATFINITE),
			      .round = ptx_form_has(f, PTX_MOD_RZ)   ? NUM_RZ
				       : ptx_form_has(f, PTX_MOD_RP) ? NUM_RP
								     : NUM_RN};
	if (p->dbytes != dt->bytes || p->sbytes != st->bytes)
		return cpu_dec_unsupported(d, in, "register of cvt");
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	if (in->dst[0] == CPU_NOSLOT)
		in->dst[0] = cpu_dec_temp(d, CPU_B32);
	in->src[0] = cpu_dec_src(d, &s->ops[1], st->type);
	if (st == &pack_f32)
		in->src[1] = cpu_dec_src(d, &s->ops[2], st->type);
	in->aux = p;
	in->fn = pack_choose(p);
	return CPU_BOUND;
}
