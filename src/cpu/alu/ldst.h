/*
 * ldst.h - part of ldst.c: a load or store as it was decoded, and where its lanes are.
 */
#ifndef COLLIDER_CPU_ALU_LDST_H
#define COLLIDER_CPU_ALU_LDST_H

#include "cpu/alu/movers.h"
#include "cpu/alu/shapes.h"
#include "cpu/alu/vectors.h"
#include "cpu/memory/resolve.h"

#define MAX_VEC 8

/* One access, decoded. */
struct mem {
	struct cpu_acc acc;
	struct cpu_addr addr;
	uint32_t step; /* bytes of a lane: width * vec */
	uint8_t n;     /* elements */
	bool is_uniform;
	bool is_near;	/* shared by threads, at a register's address: exec_near may do it */
	uint8_t access; /* 1 + enum cpu_use; 0: shared memory */
	uint32_t slot[MAX_VEC];
	const struct mover *mover[MAX_VEC];
	vector_fn *const *vector; /* all elements at once, by SPREAD_*; NULL: each by its mover */
	cpu_exec *plain;	  /* exec_ordered: what does the access */
	struct cpu_spread_use use;
};

/* False: not aligned, or not an address. The lanes outside of the mask get the address of one in
 * it. */
static bool find_spread(const struct mem *m, uint32_t mask, struct cpu_spread *sh)
{
	uint64_t *addr = sh->addr;
	struct span s;

	if (mask != UINT32_MAX)
		fill_idle(addr, mask);
	s.lo = s.hi = s.all = (int64_t)addr[0];
	if (m->is_uniform || (addr[0] == addr[1] && are_apart(addr, CPU_WARP, 0))) {
		sh->kind = SPREAD_UNIFORM;
		sh->groups = GROUPS_ALL(GROUP_SAME);
	} else if (mask == UINT32_MAX && addr[1] == addr[0] + m->step &&
		   are_apart(addr, CPU_WARP, m->step)) {
		sh->kind = SPREAD_LINEAR;
		s.hi += (int64_t)m->step * (CPU_WARP - 1);
	} else {
		sh->kind = SPREAD_GROUPS;
		uint64_t side = m->step <= 8 && m->n == 1 ? m->step : 0;
		if (!find_groups(addr, mask, side, &sh->groups, &s))
			s = find_span(addr);
	}
	sh->lo = (uint64_t)s.lo;
	sh->bytes = (uint64_t)(s.hi - s.lo) + m->step;
	sh->mask = mask;
	sh->has_addr = true;
	return s.all >= 0 && !((uint64_t)s.all & (m->step - 1));
}

/* Moves between registers and the addresses of the spread + apart; false: in no common window. */
static bool move_spread(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_spread *sh,
			uint64_t apart)
{
	const struct mem *m = in->aux;
	bool is_store = m->acc.kind == CPU_ACC_STORE;
	struct cpu_window win;

	if (!cpu_window_find(w, in, (enum ptx_space)m->acc.space, sh->lo + apart, sh->bytes,
			     is_store, &win))
		return false;
	win.delta += apart;
	for (unsigned e = 0; e < m->n; e++, win.delta += m->acc.width) {
		const struct mover *mv = m->mover[e];
		if (m->slot[e] == CPU_NOSLOT)
			continue;
		void *slot = cpu_slot(w, m->slot[e]);
		if (win.stride)
			mv->each(slot, sh->addr, win.delta, win.stride, sh->mask);
		else if (sh->kind == SPREAD_UNIFORM)
			mv->uniform(slot, (uint8_t *)(uintptr_t)(sh->lo + win.delta), sh->mask);
		else if (sh->kind == SPREAD_LINEAR)
			mv->linear(slot, (uint8_t *)(uintptr_t)(sh->lo + win.delta), m->step);
		else
			mv->groups(slot, sh->addr, win.delta,
				   &(struct groups){sh->mask, sh->groups});
	}
	return true;
}

#endif
