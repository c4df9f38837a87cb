/*
 * matrix.c - ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store.
 *
 * ldmatrix: lane 8*i + r holds the address of row r of matrix i, 16 bytes; lane l gets of
 * each matrix the elements 2*(l%4) and 2*(l%4)+1 of row l/4, with .trans of
 * column l/4 (PTX ISA 9.7.14.5.15). Rows are read by the lanes that name
 * them, once each, in one access; the oracle sees it so.
 *
 * wmma.load and store: the elements of the fragment (fragment.c says which lane holds
 * which) at p + row * stride + column, or the transposed; one access for each
 * register where its elements lie side by side, else for each element. p and
 * the stride are those of the first lane: all lanes must agree, and a lane
 * that doesn't is a fault.
 *
 * The b8 forms of sm_100: of a matrix of 8 rows of 16 bytes lane l gets bytes 4 * (l%4) and on of
 * row l/4; of one of 16 rows, transposed, in two registers, column l/4 and l/4 + 8 of rows
 * 4 * (l%4) and on. stmatrix's: two rows from 2 * (l%4) on, columns l/4 and l/4 + 8. (CUTLASS's
 * layouts; the ISA has figures.) Packed elements of 4 and 6 bits become bytes, 4 bits in the middle
 * of theirs.
 */
#include "cpu/load/fragment.h"

#include <string.h>

#define ROWS 8u
#define ROW  16u /* bytes */

/* ---- ldmatrix, stmatrix, movmatrix --------------------------------------------------- */

struct ldmatrix {
	struct cpu_addr addr;
	struct cpu_acc acc;
	uint32_t slots[4];
	uint8_t n, nregs;   /* matrices, registers */
	uint8_t rows, bits; /* of a matrix; of a packed element: 4, 6 */
	bool is_trans, is_b8;
};

/* Where element e (0, 1) of lane l lies in a matrix of 8 rows of 8. */
static unsigned cell(unsigned l, unsigned e, bool is_trans)
{
	return is_trans ? (l % 4 * 2 + e) * ROWS + l / 4 : l / 4 * ROWS + l % 4 * 2 + e;
}

static uint32_t row_lanes(const struct ldmatrix *x)
{
	return x->n * x->rows == CPU_WARP ? UINT32_MAX : (1u << x->n * x->rows) - 1;
}

/* Loads or stores the rows, in the order of their lanes. A lane that isn't there has no address. */
static enum cpu_step access_rows(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				 void *data)
{
	const struct ldmatrix *x = in->aux;
	uint32_t rows = row_lanes(x);
	uint64_t addr[CPU_WARP];

	if (rows & ~mask)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_ILLEGAL,
				 "lanes that name rows of the matrix are not there (0x%08x)",
				 rows & ~mask);
	cpu_addresses(w, &x->addr, addr);
	return cpu_access(w, in, &x->acc, rows, addr, ROW, data);
}

static enum cpu_step exec_ldmatrix(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct ldmatrix *x = in->aux;
	uint16_t data[CPU_WARP * ROWS];
	enum cpu_step step = access_rows(w, in, mask, data);

	if (step != CPU_OK)
		return step;
	for (unsigned i = 0; i < x->n; i++) {
		const uint16_t *m = data + i * ROWS * ROWS;
		uint32_t *d = cpu_u32(w, x->slots[i]);
		CPU_EACH_LANE (l, mask)
			d[l] = m[cell(l, 0, x->is_trans)] | (uint32_t)m[cell(l, 1, x->is_trans)]
								    << 16;
	}
	return CPU_OK;
}

static enum cpu_step exec_stmatrix(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct ldmatrix *x = in->aux;
	uint16_t data[CPU_WARP * ROWS];

	for (unsigned i = 0; i < x->n; i++) {
		uint16_t *m = data + i * ROWS * ROWS;
		const uint32_t *s = cpu_u32(w, x->slots[i]);
		for (unsigned l = 0; l < CPU_WARP; l++) {
			m[cell(l, 0, x->is_trans)] = (uint16_t)s[l];
			m[cell(l, 1, x->is_trans)] = (uint16_t)(s[l] >> 16);
		}
	}
	return access_rows(w, in, mask, data);
}

/* 16 elements to bytes. */
static void unpack_row(uint8_t *row, unsigned bits)
{
	uint8_t out[ROW];

	for (unsigned i = 0; i < ROW; i++) {
		unsigned at = i * bits, low = row[at / 8] | (unsigned)row[(at + bits - 1) / 8] << 8;
		unsigned v = low >> at % 8 & ((1u << bits) - 1);
		out[i] = (uint8_t)(bits == 4 ? v << 2 : v);
	}
	memcpy(row, out, sizeof(out));
}

static enum cpu_step exec_ldmatrix_b8(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct ldmatrix *x = in->aux;
	uint8_t data[CPU_WARP][ROW];
	enum cpu_step step = access_rows(w, in, mask, data);

	if (step != CPU_OK)
		return step;
	for (unsigned r = 0; x->bits && r < x->n * x->rows; r++)
		unpack_row(data[r], x->bits);
	for (unsigned i = 0; i < x->nregs; i++) {
		uint32_t *d = cpu_u32(w, x->slots[i]);
		CPU_EACH_LANE (l, mask) {
			unsigned g = l / 4, t = l % 4 * 4;
			d[l] = 0;
			for (unsigned e = 0; e < 4; e++)
				d[l] |= (uint32_t)(x->is_trans
							   ? data[i / 2 * 16 + t + e][g + i % 2 * 8]
							   : data[i * ROWS + g][t + e])
					<< 8 * e;
		}
	}
	return CPU_OK;
}

static enum cpu_step exec_stmatrix_b8(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct ldmatrix *x = in->aux;
	uint8_t data[CPU_WARP][ROW];

	for (unsigned i = 0; i < x->nregs; i++) {
		const uint32_t *s = cpu_u32(w, x->slots[i]);
		for (unsigned l = 0; l < CPU_WARP; l++)
			for (unsigned e = 0; e < 4; e++)
				data[i * ROWS + l % 4 * 2 + e % 2][l / 4 + e / 2 * 8] =
					(uint8_t)(s[l] >> 8 * e);
	}
	return access_rows(w, in, mask, data);
}

static enum cpu_step exec_movmatrix(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *s = cpu_u32(w, in->src[0]);
	uint32_t *d = cpu_u32(w, in->dst[0]);
	uint16_t m[ROWS * ROWS];

	for (unsigned l = 0; l < CPU_WARP; l++) {
		m[cell(l, 0, false)] = (uint16_t)s[l];
		m[cell(l, 1, false)] = (uint16_t)(s[l] >> 16);
	}
	CPU_EACH_LANE (l, mask)
		d[l] = m[cell(l, 0, true)] | (uint32_t)m[cell(l, 1, true)] << 16;
	return CPU_OK;
}

static bool has_text(const struct ptx_form *f, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= f->text.n; i++)
		if (!memcmp(f->text.p + i, what, n))
			return true;
	return false;
}

static void make_acc(struct cpu_acc *acc, const struct ptx_form *f, enum cpu_acc_kind kind,
		     unsigned width)
{
	acc->kind = (uint8_t)kind;
	acc->space = f->space;
	acc->sem = PTX_SEM_WEAK;
	acc->scope = PTX_SCOPE_NONE;
	acc->proxy = PTX_PROXY_GENERIC;
	acc->width = (uint8_t)width;
	acc->vec = 1;
}

static void gather_warp(struct cpu_inst *in)
{
	in->flags |= CPU_I_GATHER;
	in->gather = 0xff;
}

/* What the form says of the matrices; false: there is no such. */
static bool find_matrices(const struct ptx_form *f, struct ldmatrix *x, bool is_load)
{
	x->n = ptx_form_has(f, PTX_MOD_X4) ? 4 : ptx_form_has(f, PTX_MOD_X2) ? 2 : 1;
	x->is_trans = ptx_form_has(f, PTX_MOD_TRANS);
	x->nregs = x->n;
	x->rows = ROWS;
	if (has_text(f, ".m8n8."))
		return f->ntypes && f->types[0] == PTX_TYPE_B16 && !f->has_unknown_mod;
	x->is_b8 = true;
	x->bits = has_text(f, ".b4x16_p64") ? 4 : has_text(f, ".b6x16_p32") ? 6 : 0;
	if (has_text(f, is_load ? ".m8n16." : ".m16n8."))
		return is_load ? x->bits && !x->is_trans : x->is_trans;
	x->rows = 2 * ROWS;
	x->nregs = 2 * x->n;
	return is_load && has_text(f, ".m16n16.") && x->is_trans && x->n <= 2;
}

static enum cpu_bound bind_ldmatrix(struct cpu_dec *d, const struct ptx_stmt *s,
				    struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct ldmatrix *x = cpu_dec_alloc(d, sizeof(*x));
	bool is_load = f->op == PTX_OP_LDMATRIX;

	if (!find_matrices(f, x, is_load))
		return cpu_dec_unsupported(d, in, "this shape of a matrix");
	if (s->nops != 2)
		return cpu_dec_unsupported(d, in, "operands of a matrix access");
	const struct ptx_opnd *r = &s->ops[is_load ? 0 : 1];
	if (x->nregs != (r->kind == PTX_OPND_VEC ? r->nsub : 1))
		return cpu_dec_unsupported(d, in, "number of registers");
	for (unsigned i = 0; i < x->nregs; i++) {
		const struct ptx_opnd *o = r->kind == PTX_OPND_VEC ? &r->sub[i] : r;
		x->slots[i] = is_load ? cpu_dec_dst(d, o) : cpu_dec_src(d, o, PTX_TYPE_B32);
		if (x->slots[i] == CPU_NOSLOT)
			x->slots[i] = cpu_dec_temp(d, CPU_B32);
	}
	x->addr = cpu_dec_addr(d, s, &s->ops[is_load ? 1 : 0]);
	make_acc(&x->acc, f, is_load ? CPU_ACC_LOAD : CPU_ACC_STORE, ROW);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	if (x->is_b8)
		in->fn = is_load ? exec_ldmatrix_b8 : exec_stmatrix_b8;
	else
		in->fn = is_load ? exec_ldmatrix : exec_stmatrix;
	gather_warp(in);
	return CPU_BOUND;
}

static enum cpu_bound bind_movmatrix(struct cpu_dec *d, const struct ptx_stmt *s,
				     struct cpu_inst *in)
{
	if (!has_text(s->form, ".m8n8.") || s->nops != 2)
		return cpu_dec_unsupported(d, in, "only matrices of 8 by 8 b16");
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_B32);
	if (in->dst[0] == CPU_NOSLOT)
		in->dst[0] = cpu_dec_temp(d, CPU_B32);
	in->fn = exec_movmatrix;
	gather_warp(in);
	return CPU_BOUND;
}

/* ---- wmma.load, wmma.store -------------------------------------------------------------- */

struct wmma {
	struct cpu_frag frag;
	struct cpu_addr addr;
	struct cpu_acc acc;
	uint32_t stride; /* slot, or CPU_NOSLOT: the matrix is dense */
	uint16_t rows, cols;
	uint8_t bytes;	   /* of an access */
	uint8_t accesses;  /* for a register */
	uint8_t elem_bits; /* b1: 1, though a register counts as one element */
	bool is_col, is_load;
};

/* Offsets, from the matrix's start, of what register r of each lane holds. */
static void offsets(const struct wmma *x, unsigned r, unsigned i, uint64_t stride,
		    uint64_t off[CPU_WARP])
{
	unsigned unit = x->frag.per / x->accesses;
	uint64_t scale = x->elem_bits == 1 ? 32 : 1; /* elements of a cell */

	for (unsigned l = 0; l < CPU_WARP; l++) {
		unsigned at = x->frag.pos[(r * CPU_WARP + l) * x->frag.per + i * unit];
		uint64_t row = at / x->cols, col = at % x->cols;
		uint64_t e = x->is_col ? col * stride + row * scale : row * stride + col * scale;
		off[l] = e * x->elem_bits / 8;
	}
}

/* p of the warp, and the stride in elements. */
static enum cpu_step place(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			   uint64_t *base, uint64_t *stride)
{
	const struct wmma *x = in->aux;
	unsigned first = (unsigned)__builtin_ctz(mask);
	uint64_t addr[CPU_WARP];
	const uint32_t *s = x->stride == CPU_NOSLOT ? NULL : cpu_u32(w, x->stride);

	cpu_addresses(w, &x->addr, addr);
	CPU_EACH_LANE (l, mask)
		if (addr[l] != addr[first] || (s && s[l] != s[first]))
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "address or stride differs from that of lane %u", first);
	*base = addr[first];
	*stride = s	       ? s[first]
		  : !x->is_col ? x->cols * (x->elem_bits == 1 ? 32u : 1u)
			       : x->rows * (x->elem_bits == 1 ? 32u : 1u);
	return CPU_OK;
}

static enum cpu_step exec_wmma(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct wmma *x = in->aux;
	const struct cpu_frag *f = &x->frag;
	uint64_t base = 0, stride = 0, addr[CPU_WARP];
	uint8_t data[CPU_WARP * 8];
	unsigned reg_bytes = f->bits == 64 ? 8 : 4;
	enum cpu_step step = place(w, in, mask, &base, &stride);

	for (unsigned r = 0; r < f->nregs && step == CPU_OK; r++) {
		uint8_t *reg = cpu_slot(w, f->slots[r]);
		for (unsigned i = 0; i < x->accesses && step == CPU_OK; i++) {
			offsets(x, r, i, stride, addr);
			for (unsigned l = 0; l < CPU_WARP; l++) {
				addr[l] += base;
				memcpy(data + l * x->bytes, reg + l * reg_bytes + i * x->bytes,
				       x->bytes);
			}
			step = cpu_access(w, in, &x->acc, mask, addr, x->bytes, data);
			CPU_EACH_LANE (l, x->is_load && step == CPU_OK ? mask : 0)
				memcpy(reg + l * reg_bytes + i * x->bytes, data + l * x->bytes,
				       x->bytes);
		}
	}
	/* The registers beyond the matrix's elements repeat the first ones. */
	for (unsigned r = f->nregs; r < f->nops && x->is_load && step == CPU_OK; r++) {
		const uint32_t *from = cpu_u32(w, f->slots[r % f->nregs]);
		uint32_t *to = cpu_u32(w, f->slots[r]);
		CPU_EACH_LANE (l, mask)
			to[l] = from[l];
	}
	return step;
}

/* Which matrix wmma.load loads: .a, .b or .c; store stores .d. */
static enum cpu_frag_use which(const struct ptx_form *f)
{
	if (f->op == PTX_OP_WMMA_STORE)
		return CPU_FRAG_C;
	return ptx_form_has(f, PTX_MOD_A)   ? CPU_FRAG_A
	       : ptx_form_has(f, PTX_MOD_B) ? CPU_FRAG_B
					    : CPU_FRAG_D;
}

/* wmma.load.a.sync.aligned.layout.shape.ss.type r, [p], stride; store: [p], r, stride */
static enum cpu_bound bind_wmma(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct wmma *x = cpu_dec_alloc(d, sizeof(*x));
	enum ptx_type type = f->ntypes ? (enum ptx_type)f->types[0] : PTX_TYPE_NONE;
	enum cpu_frag_use use = which(f);
	struct cpu_shape sh;

	x->is_load = f->op == PTX_OP_WMMA_LOAD;
	if (s->nops < 2 || !cpu_shape_find(f, &sh))
		return cpu_dec_unsupported(d, in, "operands or shape of a matrix access");
	struct cpu_frag_kind kind = {.use = use, .shape = sh, .type = type};
	const char *why = cpu_frag_bind(d, &x->frag, &s->ops[x->is_load ? 0 : 1], &kind);
	if (why)
		return cpu_dec_unsupported(d, in, why);
	x->elem_bits = type == PTX_TYPE_B1 ? 1 : x->frag.bits;
	if (type == PTX_TYPE_B1)
		sh.k /= 32;
	x->rows = use == CPU_FRAG_B ? sh.k : sh.m;
	x->cols = use == CPU_FRAG_A ? sh.k : sh.n;
	x->is_col = ptx_form_has(f, PTX_MOD_COL);
	/* The elements of a register follow each other along k of A and B, along n of C. */
	bool is_dense = x->is_col == (use == CPU_FRAG_B);
	if (!is_dense && x->elem_bits < 8)
		return cpu_dec_unsupported(d, in, "this layout of elements below a byte");
	x->accesses = is_dense ? 1 : x->frag.per;
	x->bytes = (uint8_t)(x->frag.bits * x->frag.per / x->accesses / 8);
	x->addr = cpu_dec_addr(d, s, &s->ops[x->is_load ? 1 : 0]);
	x->stride = s->nops > 2 ? cpu_dec_src(d, &s->ops[2], PTX_TYPE_U32) : CPU_NOSLOT;
	make_acc(&x->acc, f, x->is_load ? CPU_ACC_LOAD : CPU_ACC_STORE, x->bytes);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_wmma;
	gather_warp(in);
	return CPU_BOUND;
}

/* ---- public ------------------------------------------------------------------------------ */

cpu_binder cpu_bind_matrix;

enum cpu_bound cpu_bind_matrix(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
		return bind_ldmatrix(d, s, in);
	case PTX_OP_MOVMATRIX:
		return bind_movmatrix(d, s, in);
	case PTX_OP_WMMA_LOAD:
	case PTX_OP_WMMA_STORE:
		return bind_wmma(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
