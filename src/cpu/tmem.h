/*
 * tmem.h - inside src/cpu: tensor memory, and the instructions of tcgen05 as decoded
 * (alu/tcgen05.c, async/tcgen05_bind.c) and under way (async/tcgen05.c).
 *
 * A block has 128 lanes of 512 columns of 32-bit words. They are kept by column, so that what a
 * product writes is one range of the host's memory.
 */
#ifndef COLLIDER_CPU_TMEM_H
#define COLLIDER_CPU_TMEM_H

#include "cpu/machine.h"

#define CPU_TMEM_LANES 128u
#define CPU_TMEM_COLS  512u
#define CPU_TMEM_UNIT  32u /* columns: what is allocated is a multiple */
#define CPU_TMEM_PART  32u /* lanes that a warp reaches */

/* A product's limits. */
#define CPU_TC_COLS    256u
#define CPU_TC_K       128u
#define CPU_TC_UNITS_A 384u  /* of 16 bytes: 128 rows of 48 bytes */
#define CPU_TC_UNITS_B 1152u /* 256 columns and a shift by 32, of 64 bytes (sparse) */

enum cpu_tc_op_kind { CPU_TC_MMA, CPU_TC_COPY, CPU_TC_SHIFT, CPU_TC_COMMIT };
enum cpu_tc_kind {
	CPU_TC_F16,
	CPU_TC_TF32,
	CPU_TC_F8F6F4,
	CPU_TC_I8,
	CPU_TC_MXF8F6F4,
	CPU_TC_MXF4,
	CPU_TC_MXF4NVF4
};

/* What an instruction descriptor says (PTX ISA 9.7.16.4.2). */
struct cpu_tc_shape {
	uint16_t m, n, k; /* of the whole product; k: elements of B */
	uint16_t rows;	  /* of D in one block */
	uint8_t parts;	  /* D's columns are cut into that many, one below the other in the lanes */
	bool is_half;	  /* D has 16 of each 32 lanes */
	uint8_t type_a, type_b, type_d; /* enum ptx_type */
	uint8_t bits;			/* of an element of A and B in shared memory */
	bool is_trans_a, is_trans_b, is_negative, is_sat;
	uint8_t selector;	  /* sparse: which column of metadata */
	uint8_t nscales;	  /* of a row; 0: none */
	uint8_t scale_a, scale_b; /* the byte of the first one in its word */
	bool is_scale_e8m0;
};

/* A mask of zero columns (PTX ISA 9.7.16.4.3). */
struct cpu_tc_zeros {
	uint8_t shift;			 /* of columns */
	uint64_t zero[CPU_TC_COLS / 64]; /* a bit for each column after it */
};

/* One block's part of a product; all is on the host. */
struct cpu_tc_tile {
	const struct cpu_tc_shape *s;
	const uint8_t *const *a;    /* units of A's rows; NULL: in tensor memory */
	const uint8_t *const *b[2]; /* of B's columns, by block of the pair */
	unsigned nb;		    /* columns of each of these */
	uint32_t (*word)[CPU_TMEM_LANES];
	uint32_t d, at, meta, sfa, sfb; /* columns; at: of A */
	uint32_t lane;			/* of D's first row */
	const uint32_t *masked;		/* lanes that aren't written; NULL: none */
	bool is_added, is_sparse;
	bool is_a_shifted; /* in tensor memory; each row of A, but the last, is the next one */
	uint8_t shift;	   /* D is divided by 2 to that power before */
	const struct cpu_tc_zeros *zeros; /* columns of B */
};

struct cpu_tc {
	void (*multiply)(const struct cpu_tc_tile *t);
	uint8_t op, kind; /* enum cpu_tc_op_kind, cpu_tc_kind */
	uint8_t blocks;	  /* of the cta_group */
	bool is_ws, is_sparse, is_a_tmem, is_a_shifted, is_scale_not;
	uint8_t nscales;
	uint8_t shift, nmask;
	/* COPY: rows of how many bytes in tensor memory; how often each 32 rows are there; bits of
	 * an element in shared memory, 8: as they are */
	uint8_t copy_rows, copy_bytes, copy_kind, copy_bits;
	struct cpu_addr d, a, meta, sfa, sfb;
	uint32_t desc_a, desc_b, idesc, is_added; /* slots; is_added: a predicate */
	uint32_t zeros; /* slot: .ws, which columns of B are zero; or CPU_NOSLOT */
	uint32_t mask[8];
	/* COMMIT */
	struct cpu_addr mbar;
	uint32_t ctas; /* slot, or CPU_NOSLOT */
};
enum { CPU_TC_COPY_PLAIN, CPU_TC_COPY_X4, CPU_TC_COPY_02_13, CPU_TC_COPY_01_23, CPU_TC_COPY_4 };

/* tcgen05.ld and .st */
#define CPU_TMEM_REGS 128u
struct cpu_tmem_move {
	uint8_t shape; /* enum below */
	bool is_packed, is_store;
	uint16_t nregs;
	uint32_t split; /* columns between the halves of .16x32bx2 */
	struct cpu_addr addr;
	uint32_t reg[CPU_TMEM_REGS]; /* slots; CPU_NOSLOT: `_` */
	/* .red: slot of the smallest or largest one; operands of it */
	uint32_t red;
	bool is_red, is_max, is_abs, is_nan;
	uint8_t red_type; /* enum ptx_type */
};
enum { CPU_TMEM_32X32B, CPU_TMEM_16X64B, CPU_TMEM_16X128B, CPU_TMEM_16X256B, CPU_TMEM_16X32BX2 };

/* async/tcgen05.c */
cpu_exec cpu_tc_issue;
/* async/tcgen05_bind.c: how alu/tcgen05.c decodes its opcodes, all but `multiply`. */
enum cpu_bound cpu_tc_bind_mma(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			       struct cpu_tc *x);
/* What the descriptor says; NULL, or what is wrong with it. */
const char *cpu_tc_shape(const struct cpu_tc *x, uint32_t idesc, struct cpu_tc_shape *s);
/* Scales of n rows or columns: how many words (columns of tensor memory) four of each take, and so
 * how far away the next four are; the byte of the i-th one, from `first` on, may be in the next. */
static inline uint32_t cpu_tc_scale_step(uint32_t n)
{
	return n > CPU_TMEM_LANES ? 2 * CPU_TMEM_LANES / 32 : CPU_TMEM_LANES / 32;
}
/* What the descriptor says of a product of that shape; NULL, or what is wrong with it. */
const char *cpu_tc_zeros(uint64_t desc, const struct cpu_tc_shape *s, struct cpu_tc_zeros *out);
/* Columns of B in a block's shared memory, whole units of them where it is transposed. */
static inline uint32_t cpu_tc_cols(const struct cpu_tc_shape *s, unsigned blocks, unsigned shift)
{
	unsigned per = s->is_trans_b ? 128u / s->bits : 1;

	return s->n / blocks + (shift + per - 1) / per * per;
}
/* The lane of D's row. */
static inline uint32_t cpu_tc_lane(const struct cpu_tc_shape *s, uint32_t row)
{
	return s->is_half ? row / 16 * 32 + row % 16 : row;
}

#endif
