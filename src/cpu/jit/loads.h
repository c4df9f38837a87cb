/*
 * loads.h - inside src/cpu: loads that are part of a run of machine code, between jit/, which makes
 * it, and alu/run_loads.c, which knows how lanes lie (both builds of alu/ have its functions).
 *
 * Loads of a run by one register that the run doesn't write before are a *group*: before the run
 * one look at the register says whether the lanes are at one address or side by side, and one
 * comparison with the memory around whether all its loads may be done. The code gets the address on
 * the host. Anything else is left to the handlers, faults too.
 */
#ifndef COLLIDER_CPU_JIT_LOADS_H
#define COLLIDER_CPU_JIT_LOADS_H

#include "cpu/machine.h"

#define JIT_GROUPS 6u

enum jit_kind { JIT_ONE_ADDRESS, JIT_SIDE_BY_SIDE, JIT_ANYHOW };

struct jit_load {
	int64_t off;
	uint32_t base; /* slot of the address's register; CPU_NOSLOT: off is the address */
	uint32_t slot[4];
	uint8_t space;	  /* enum ptx_space */
	uint8_t access;	  /* struct cpu_near's use, without the device */
	uint8_t width, n; /* bytes of an element and its register, 4 or 8; elements */
	bool is_base32;
	uint8_t ways; /* a bit: where the worker keeps the spread that it would begin; or 0 */
};

struct jit_group {
	const struct cpu_inst *in; /* its first load */
	struct jit_load load;	   /* the same; off: the least of all */
	int64_t first;		   /* its off */
	uint32_t pc;		   /* of `in` */
	uint32_t bytes;		   /* of a lane, from there past the last load */
	uint8_t kind;		   /* enum jit_kind */
};

/* Are caches of blocks modelled, or is the launch proven as a whole, so that it must be seen to
 * access only what its proof is about? */
static inline bool jit_is_watched(const struct cpu_warp *w, const struct jit_load *l)
{
	return w->cta->l1 || (w->grid->proven && l->access);
}

/* What a load of threads' memory does; false: it is none that can be part of a run, or the other
 * build's. */
typedef bool jit_load_fn(const struct cpu_inst *in, struct jit_load *out);
/* How the 32 lanes of l lie now. */
typedef enum jit_kind jit_kind_fn(struct cpu_warp *w, const struct jit_load *l);
/* Where lane 0 of the group's first load is on the host; false: the lanes don't lie so, or not in
 * memory that can be had. */
typedef bool jit_find_fn(struct cpu_warp *w, const struct jit_group *g, uint64_t *host);

jit_load_fn cpu_jit_load_base, cpu_jit_load_v3;
jit_kind_fn cpu_jit_kind_base, cpu_jit_kind_v3;
jit_find_fn cpu_jit_find_base, cpu_jit_find_v3;

#endif
