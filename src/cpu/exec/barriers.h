/*
 * barriers.h - the barriers of a block and of a cluster: what barrier.c keeps, and waiting.c reads.
 */
#ifndef COLLIDER_CPU_BARRIERS_H
#define COLLIDER_CPU_BARRIERS_H

#include "cpu/sched.h"

enum cpu_barrier_mode { MODE_SYNC, MODE_ARRIVE, MODE_POPC, MODE_AND, MODE_OR };

struct barrier {
	uint64_t generation;
	uint32_t expected; /* of this generation; 0: all warps of the block */
	uint32_t arrived;  /* 32 for each warp */
	uint32_t popc;	   /* lanes whose predicate is true, of those that arrived by .red */
	uint32_t reduced;  /* lanes that arrived by .red */
	uint32_t line;	   /* of the PTX instruction that set `expected` and `mode` */
	uint8_t mode;	   /* enum cpu_barrier_mode, of the first that arrived */
	bool is_open;	   /* a warp has arrived */
};

struct cpu_barriers {
	struct barrier b[CPU_BARRIERS];
	uint32_t used;	       /* that a warp of this block has arrived at; the others are zero */
	uint32_t exited_warps; /* of which no lane is left */
	/* By warp: lanes that have arrived at the cluster's barrier and not waited yet; the parity
	 * of the generation they arrived in. */
	uint32_t *cluster_arrived, *cluster_parity;
};

struct cpu_cluster_barrier {
	uint64_t generation;
	uint32_t arrived, exited;
};

/* cpu_split.aux of one that waits: CLUSTER, or the barrier's number; with PART, for lanes of its
 * warp that are elsewhere, with ARRIVE besides, at .arrive. */
#define AUX_CLUSTER 0x100u
#define AUX_PART    0x200u
#define AUX_ARRIVE  0x400u
#define AUX_ID	    0xffu

static inline uint32_t cpu_lanes_at_barrier(const struct cpu_warp *w, uint64_t aux)
{
	uint32_t used = cpu_wp(w)->used, lanes = 0;

	CPU_EACH_LANE (i, used) {
		const struct cpu_split *s = &w->split[i];
		if (s->state == CPU_SPLIT_BARRIER && s->aux == aux)
			lanes |= s->mask;
	}
	return lanes;
}

#endif
