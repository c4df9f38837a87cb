/*
 * fragment.c - layouts of matrix fragments.
 *
 * All shapes but one follow one rule (PTX ISA 9.7.14.5): with g = lane / 4 and
 * t = lane % 4, a register holds the elements of row g (column g of B) at
 * t * per, t * per + 1, ... of a block of 4 * per along k; further registers are
 * 8 rows down, then the next block along k. For C it is a pair of columns from t * 2 in row g, then
 * g + 8. wmma uses the same for its larger shapes, tile by tile of 16x8: as the hardware does from
 * sm_75 on; registers beyond the matrix's elements repeat the first. The exception is m8n8k4 with
 * f16: four products at the same time, one for each quad pair (lanes q*4..q*4+3 and those 16
 * higher).
 */
#include "cpu/load/fragment.h"

#include <string.h>

static unsigned type_bits(enum ptx_type t)
{
	switch (t) {
	case PTX_TYPE_B1:
		return 32; /* a register of bits is one element: see alu/mma.c */
	case PTX_TYPE_S4:
	case PTX_TYPE_U4:
	case PTX_TYPE_E2M1:
		return 4;
	default:
		return ptx_type_bytes(t) * 8;
	}
}

/* Bits of b1 are counted by words. */
static struct cpu_shape in_elements(struct cpu_shape s, enum ptx_type type)
{
	if (type == PTX_TYPE_B1)
		s.k /= 32;
	return s;
}

static unsigned place_a(struct cpu_shape s, unsigned per, unsigned r, unsigned lane, unsigned e)
{
	unsigned halves = s.m == 8 ? 1 : 2, blocks = s.k / (4 * per);
	unsigned tile = r / (halves * blocks), q = r % (halves * blocks);
	unsigned row = tile * 16 + lane / 4 + q % halves * 8;

	return row * s.k + q / halves * 4 * per + lane % 4 * per + e;
}

static unsigned place_b(struct cpu_shape s, unsigned per, unsigned r, unsigned lane, unsigned e)
{
	unsigned blocks = s.k / (4 * per);
	unsigned col = r / blocks * 8 + lane / 4;

	return (r % blocks * 4 * per + lane % 4 * per + e) * s.n + col;
}

static unsigned place_c(struct cpu_shape s, unsigned per, unsigned r, unsigned lane, unsigned e)
{
	unsigned i = r * per + e, each = s.m == 8 ? 2 : 4;
	unsigned tile = i / each, q = i % each;
	unsigned row = lane / 4 + q / 2 * 8 + (s.m == 32 ? tile * 16 : 0);

	return row * s.n + (s.m == 32 ? 0 : tile * 8) + lane % 4 * 2 + q % 2;
}

/* m8n8k4 with f16: quad pair's matrices one after the other. */
static unsigned place_quad(enum cpu_frag_use use, unsigned per, bool is_col, unsigned r,
			   unsigned lane, unsigned e)
{
	unsigned pair = lane % 16 / 4, t = lane % 4, high = lane / 16 * 4, i = r * per + e;

	switch (use) {
	case CPU_FRAG_A:
		return pair * 32 + (is_col ? (i + high) * 4 + t : (t + high) * 4 + i);
	case CPU_FRAG_B:
		return pair * 32 + (is_col ? i * 8 + t + high : t * 8 + i + high);
	default:
		if (per == 2)
			return pair * 64 + (t + high) * 8 + i;
		return pair * 64 + ((lane & 1) + (i & 2) + high) * 8 + (i & 4) + (lane & 2) +
		       (i & 1);
	}
}

static unsigned elements(enum cpu_frag_use use, struct cpu_shape s)
{
	return use == CPU_FRAG_A   ? s.m * 1u * s.k
	       : use == CPU_FRAG_B ? s.k * 1u * s.n
				   : s.m * 1u * s.n;
}

bool cpu_shape_find(const struct ptx_form *f, struct cpu_shape *s)
{
	for (uint32_t i = 0; i + 5 < f->text.n; i++) {
		unsigned m, n, k;
		char part[20];
		uint32_t len = f->text.n - i < sizeof(part) - 1 ? f->text.n - i
								: (uint32_t)sizeof(part) - 1;
		memcpy(part, f->text.p + i, len);
		part[len] = 0;
		if (sscanf(part, ".m%3un%3uk%3u", &m, &n, &k) == 3) {
			*s = (struct cpu_shape){(uint16_t)m, (uint16_t)n, (uint16_t)k};
			return m && n && k;
		}
	}
	return false;
}

const char *cpu_frag_bind(struct cpu_dec *d, struct cpu_frag *f, const struct ptx_opnd *op,
			  const struct cpu_frag_kind *kind)
{
	unsigned nops = op->kind == PTX_OPND_VEC ? op->nsub : 1;
	unsigned bits = kind->is_byte ? 8 : type_bits(kind->type);
	unsigned reg_bits = bits == 64 ? 64 : 32;
	enum cpu_frag_use use = kind->use;
	struct cpu_shape s = in_elements(kind->shape, kind->type);

	if (!bits || bits > reg_bits || (use >= CPU_FRAG_C && bits < 16))
		return "an element type without fragments";
	f->type = (uint8_t)kind->type;
	f->bits = (uint8_t)bits;
	f->per = (uint8_t)(reg_bits / bits);
	unsigned total = elements(use, s) * (kind->is_quad ? 4 : 1), held = f->per * CPU_WARP;
	bool is_whole = use >= CPU_FRAG_C || kind->is_quad || s.k % (4u * f->per) == 0;
	if (total % held || total > CPU_FRAG_CELLS || !is_whole || s.m % 8 || s.n % 8)
		return "a shape that the element type does not have";
	f->nregs = (uint8_t)(total / held);
	f->nops = (uint8_t)nops;
	if (!f->nregs || nops > CPU_FRAG_REGS || nops % f->nregs)
		return "a number of registers that the shape does not have";
	f->pos = cpu_dec_alloc(d, total * sizeof(*f->pos));
	for (unsigned at = 0; at < total; at++) {
		unsigned e = at % f->per, lane = at / f->per % CPU_WARP, r = at / held;
		unsigned p = kind->is_quad	 ? place_quad(use, f->per, kind->is_col, r, lane, e)
			     : use == CPU_FRAG_A ? place_a(s, f->per, r, lane, e)
			     : use == CPU_FRAG_B ? place_b(s, f->per, r, lane, e)
						 : place_c(s, f->per, r, lane, e);
		f->pos[at] = (uint16_t)p;
	}
	enum ptx_type reg = reg_bits == 64 ? PTX_TYPE_F64 : PTX_TYPE_B32;
	for (unsigned i = 0; i < nops; i++) {
		const struct ptx_opnd *o = op->kind == PTX_OPND_VEC ? &op->sub[i] : op;
		f->slots[i] = use == CPU_FRAG_D ? cpu_dec_dst(d, o) : cpu_dec_src(d, o, reg);
		if (f->slots[i] == CPU_NOSLOT)
			return "a result that is not kept";
	}
	return NULL;
}
