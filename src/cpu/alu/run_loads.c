/*
 * run_loads.c - where the lanes of a run's loads are (jit/loads.h).
 *
 * Only all lanes of a warp in the sc model are asked about, and no proof of deadlock is under way:
 * the caller sees to that. What a group reads is noted as an access of its first load (resolve.h).
 */
#include "cpu/alu/shapes.h"
#include "cpu/jit/loads.h"
#include "cpu/memory/resolve.h"
#include "cpu/touch.h"

#define MOST_NOTED 4096u

_Static_assert((int)JIT_ONE_ADDRESS == SPREAD_UNIFORM && (int)JIT_SIDE_BY_SIDE == SPREAD_LINEAR &&
		       (int)JIT_ANYHOW == SPREAD_GROUPS,
	       "shapes.h's kinds");

enum jit_kind CPU_ISA_PASTE(cpu_jit_kind, CPU_ISA_SUFFIX)(struct cpu_warp *w,
							  const struct jit_load *l)
{
	uint32_t step = (uint32_t)l->width * l->n;

	if (l->base == CPU_NOSLOT)
		return JIT_ONE_ADDRESS;
	const void *base = cpu_slot(w, l->base);
	return (enum jit_kind)(l->is_base32 ? shape_of_32(base, step) : shape_of_64(base, step));
}

bool CPU_ISA_PASTE(cpu_jit_find, CPU_ISA_SUFFIX)(struct cpu_warp *w, const struct jit_group *g,
						 uint64_t *host)
{
	const struct jit_load *l = &g->load;
	uint32_t step = (uint32_t)l->width * l->n;
	uint64_t lo = (uint64_t)l->off, bytes = g->bytes, apart = (uint64_t)(g->first - l->off);
	struct cpu_near near;
	struct cpu_window win;

	if (l->space == PTX_SPACE_PARAM) {
		*host = (uint64_t)(uintptr_t)w->grid->params + (uint64_t)g->first;
		return lo + bytes <= w->grid->nparam_bytes;
	}
	if (CPU_ISA_PASTE(cpu_jit_kind, CPU_ISA_SUFFIX)(w, l) != (enum jit_kind)g->kind)
		return false;
	if (l->base != CPU_NOSLOT)
		lo += l->is_base32 ? *cpu_u32(w, l->base) : *cpu_u64(w, l->base);
	if (g->kind == JIT_SIDE_BY_SIDE)
		bytes += (uint64_t)step * (CPU_WARP - 1);
	if (lo & (step - 1))
		return false;
	/* Between the loads of a group there may be much that none of them reads. */
	if (w->worker->touch && l->access && bytes > MOST_NOTED)
		return false;
	uint32_t use = l->access ? (w->grid->device << 2) + l->access : 0;
	if (cpu_window_near(w, g->in, use, lo, bytes, &near)) {
		*host = lo + near.delta + apart;
		if (w->worker->touch && l->access)
			cpu_touch_row(w->worker->touch, lo + near.delta, bytes, TOUCH_READ);
		return true;
	}
	if (!cpu_window_find(w, g->in, (enum ptx_space)l->space, lo, bytes, false, &win) ||
	    win.stride)
		return false;
	*host = lo + win.delta + apart;
	if (w->worker->touch && win.place == CPU_PLACE_GLOBAL)
		cpu_touch_row(w->worker->touch, lo + win.delta, bytes, TOUCH_READ);
	return true;
}
