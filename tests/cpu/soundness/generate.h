/*
 * generate.h - random small kernels that are race-free by construction, or broken on purpose.
 */
#ifndef SOUNDNESS_GENERATE_H
#define SOUNDNESS_GENERATE_H

#include "base/base.h"

#define GEN_STMTS   12u
#define GEN_THREADS 288u /* of a grid, at most */

/* The kernel's one buffer. */
#define GEN_OWN	    0u	   /* 16 bytes of each thread */
#define GEN_CONST   8192u  /* the same, never written */
#define GEN_OUT	    16384u /* 8 bytes of each thread */
#define GEN_COUNT   24576u /* 64 bytes of each statement */
#define GEN_ARRIVED 28672u /* 8 bytes of each statement */
#define GEN_SPREAD  32768u /* 4096 bytes of each statement: 8 of each thread */
#define GEN_BYTES   (GEN_SPREAD + 4096u * GEN_STMTS)

enum gen_kind {
	GEN_STORE, /* a thread's own bytes */
	GEN_LOAD,
	GEN_READ_ONLY, /* ld.global.nc of memory that never changes */
	GEN_EXCHANGE,  /* store, bar.sync, load another thread's, bar.sync */
	GEN_WARP,      /* the same within a warp, with bar.warp.sync */
	GEN_ATOMIC,    /* all threads add to one counter */
	GEN_LAST,      /* the last block to arrive reads what all have stored */
	GEN_COPY,      /* cp.async of own bytes, waited for */
	GEN_KINDS
};

struct gen_stmt {
	enum gen_kind kind;
	unsigned broken; /* 0: race-free; else the way in which it isn't */
	unsigned width, vec, offset;
	unsigned distance, guard, scope, fence;
	bool is_shared, is_removed;
};

struct gen_kernel {
	unsigned blocks, threads;
	struct gen_stmt stmt[GEN_STMTS];
	unsigned n;
};

uint64_t gen_random(uint64_t *state);
void gen_draw(struct gen_kernel *k, uint64_t seed, bool is_racy);
/* PTX; each memory instruction has a source line of its own. */
void gen_print(const struct gen_kernel *k, struct base_buf *out);
void gen_initial(unsigned char *mem);
/* What a race-free kernel leaves in GEN_BYTES of memory that gen_initial filled. */
void gen_expect(const struct gen_kernel *k, unsigned char *mem);

#endif
