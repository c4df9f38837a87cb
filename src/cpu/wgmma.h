/*
 * wgmma.h - inside src/cpu: matrix products of a warpgroup, as decoded (alu/wgmma.c) and under way
 * (async/wgmma.c).
 *
 * A *product* is one wgmma.mma_async of four warps; the rows of 16 that each warp holds are its
 * *share*. Matrices in shared memory are read by units of 16 bytes: along k, or, transposed, along
 * the rows of A or the columns of B.
 */
#ifndef COLLIDER_CPU_WGMMA_H
#define COLLIDER_CPU_WGMMA_H

#include "cpu/machine.h"

#define CPU_GROUP_WARPS	  4u
#define CPU_WGMMA_ROWS	  64u
#define CPU_WGMMA_COLS	  256u
#define CPU_WGMMA_ACCS	  128u /* registers of a lane */
#define CPU_WGMMA_UNIT	  16u
#define CPU_WGMMA_UNITS_A 128u	/* 64 rows of 32 bytes */
#define CPU_WGMMA_UNITS_B 1024u /* 256 columns of 64 bytes (sparse) */

/* What a product's tile function gets: everything is on the host. */
struct cpu_wgmma_tile {
	const uint8_t *a[CPU_WGMMA_UNITS_A], *b[CPU_WGMMA_UNITS_B];
	uint32_t *acc[CPU_GROUP_WARPS][CPU_WGMMA_ACCS];
	const uint32_t *areg[CPU_GROUP_WARPS][4]; /* A in registers */
	const uint32_t *meta[CPU_GROUP_WARPS];	  /* sparse */
	bool is_added[CPU_GROUP_WARPS];		  /* scale-d: to what the accumulators hold */
};

struct cpu_wgmma {
	void (*multiply)(const struct cpu_wgmma *x, const struct cpu_wgmma_tile *t);
	uint8_t kind, type_a, type_b;	 /* alu/wgmma.c; enum ptx_type */
	uint8_t bits;			 /* of an element of A and B */
	bool is_half, is_sat, is_sparse; /* accumulators are f16 */
	bool is_a_reg, is_trans_a, is_trans_b;
	bool is_negative;		       /* one of A and B is negated, not both */
	uint8_t selector;		       /* sparse: whose metadata counts */
	uint16_t n, k;			       /* columns; elements of k, sparse: of B */
	uint16_t naccs, nareg;		       /* registers of a lane */
	uint16_t units_a, units_b;	       /* of a row of A or a column of B, along k */
	uint32_t acc[CPU_WGMMA_ACCS], areg[4]; /* slots */
	uint32_t desc_a, desc_b, meta, scale;  /* slots; scale: a predicate */
	bool is_scale_not;
	uint32_t
		unfenced; /* pc, plus 1, of a write of its registers with no fence after; 0: none */
};

/* async/wgmma.c: the warp issues its share. */
cpu_exec cpu_wgmma_issue;

/* load/pending.c: registers of unfinished products that a statement touches, checked before it. */
struct cpu_wgmma_touch {
	uint32_t slot; /* of a register */
	bool is_write;
};
struct cpu_wgmma_check {
	uint32_t n;
	bool is_copy; /* mov: it only hands on what the register holds */
	struct cpu_wgmma_touch touch[];
};
/* in->aux: a struct cpu_wgmma_check. */
cpu_exec cpu_wgmma_touched;

#endif
