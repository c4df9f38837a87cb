/*
 * generate.h - random small programs that are race-free by construction, or broken on purpose.
 *
 * A program is a few launches of a few statements. generate.c draws it, print.c writes it as PTX
 * with a list of operations (program.h), expect.c determines what it computes.
 */
#ifndef SOUNDNESS_GENERATE_H
#define SOUNDNESS_GENERATE_H

#include "program.h"

#define GEN_STMTS    16u /* of a program */
#define GEN_LAUNCHES 3u
#define GEN_THREADS  288u /* of a grid, at most */

/* A region: the memory of launches that come one after the other. */
#define GEN_OWN	   0u	  /* 16 bytes of each thread */
#define GEN_CONST  8192u  /* the same, never written */
#define GEN_OUT	   16384u /* 8 bytes of each thread: its result */
#define GEN_SPARE  20480u /* where copies put that */
#define GEN_COUNT  24576u /* 64 bytes of each statement */
#define GEN_LOOSE  28672u /* the same: what ends up there depends on the schedule */
#define GEN_SPREAD 32768u /* GEN_STRIDE bytes of each statement */
#define GEN_STRIDE 5120u  /* 16 bytes of each thread, and some */
#define GEN_BYTES  (GEN_SPREAD + GEN_STRIDE * GEN_STMTS)

enum gen_kind {
	GEN_STORE,     /* a thread's own bytes */
	GEN_LOAD,      /* the same */
	GEN_PACKED,    /* own bytes, beside those of the next thread */
	GEN_READ_ONLY, /* ld.global.nc of memory that never changes */
	GEN_EXCHANGE,  /* store, barrier, load another thread's, barrier */
	GEN_WARP,      /* the same within a warp, or each half of it, with bar.warp.sync */
	GEN_SPLIT,     /* one warp stores and arrives, another waits and loads */
	GEN_CLUSTER,   /* the same with the next block of the cluster */
	GEN_ATOMIC,    /* all threads to one counter, or one of each block */
	GEN_COMMON,    /* all threads of all launches to one counter */
	GEN_STRONG,    /* strong stores and loads of one location, unordered */
	GEN_LAST,      /* the last block to arrive reads what all have stored */
	GEN_GRID,      /* a barrier of the whole grid, made of atomics */
	GEN_LOCK,      /* a spin or ticket lock around plain accesses */
	GEN_MESSAGE,   /* data and a flag, from a thread to another, by way of a third */
	GEN_COPY,      /* cp.async */
	GEN_DEKKER,    /* fence.sc keeps two threads from both entering */
	GEN_BULK, /* own bytes by ordinary accesses, then a bulk copy over all of the block's */
	GEN_KINDS
};

struct gen_stmt {
	enum gen_kind kind;
	unsigned broken; /* 0: race-free; else which order is taken out (gen_breaks) */
	unsigned launch;
	unsigned width, vec, offset;
	char type; /* of loads and stores: u, s, b, f */
	unsigned distance, guard, trips;
	unsigned scope;	      /* 0 cta or cluster, 1 gpu, 2 sys */
	unsigned form, form2; /* ways to say the same; print.c */
	unsigned fence;
	bool is_shared, is_generic, is_cluster, is_removed;
};

/* How a launch comes after the one before it that uses its region. */
enum gen_order { GEN_ORDER_NONE, GEN_ORDER_DIRECT, GEN_ORDER_EVENT, GEN_ORDER_HOST };
enum gen_after { GEN_AFTER_NONE, GEN_AFTER_COPY, GEN_AFTER_FILL };

struct gen_launch {
	unsigned blocks, threads;
	unsigned wide;	  /* x size of a block: threads, or less; y is the rest */
	unsigned cluster; /* 0, or the blocks: all are of one */
	unsigned region;
	enum gen_order order;
	enum gen_after after; /* a copy of its results, and a fill of what was copied */
	unsigned broken;      /* 1: no order, though the region is the same; 2: the copy has none */
	bool is_removed;
};

struct gen_program {
	struct gen_launch launch[GEN_LAUNCHES];
	unsigned nlaunches;
	struct gen_stmt stmt[GEN_STMTS];
	unsigned n;
	bool is_racy; /* as declared */
	bool claims;  /* self-test: what is broken is declared, and printed whole */
};

extern const char *const gen_kind_names[GEN_KINDS];
/* How many ways there are to break a statement. */
extern const unsigned gen_breaks[GEN_KINDS];

uint64_t gen_random(uint64_t *state);
/* is_barred: of statements that only barriers order. */
void gen_draw(struct gen_program *k, uint64_t seed, bool is_racy, bool is_barred);
/* Breaks one statement or launch, in a way that no schedule hides. False: none can be. */
bool gen_break(struct gen_program *k, uint64_t *random);
/* Which of the common counters the statement i adds to: no two of a launch share one. */
unsigned gen_counter(const struct gen_program *k, unsigned i);
/* Is there a pair of accesses that no schedule orders? (docs/soundness.md) */
bool gen_is_certain(const struct gen_program *k, const struct gen_stmt *s);
/* PTX with its operations and, for racy programs, what the oracle must report. Each memory
 * instruction has a source line of its own. */
void gen_print(const struct gen_program *k, struct program *out);
/* What a race-free program leaves in memory that program_initial has filled. */
void gen_expect(const struct gen_program *k, const struct program *p, unsigned char *mem);

#endif
