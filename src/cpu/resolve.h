/*
 * resolve.h - windows of addresses, inside src/cpu: resolve.c owns it, memory.c asks.
 */
#ifndef COLLIDER_CPU_RESOLVE_H
#define COLLIDER_CPU_RESOLVE_H

#include "cpu/model.h"

/* Host address of lane l: address + delta + l * stride. */
struct cpu_window {
	uint64_t delta, stride;
	enum cpu_place place;
};

/* Is [addr, addr + bytes) memory that the warp may use? Raises no fault. */
bool cpu_window_find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
		     uint64_t addr, uint64_t bytes, bool is_write, struct cpu_window *out);

#endif
