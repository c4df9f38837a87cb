/*
 * resolve.h - windows of addresses, inside src/cpu: owned by resolve.c, used by memory.c.
 */
#ifndef COLLIDER_CPU_RESOLVE_H
#define COLLIDER_CPU_RESOLVE_H

#include "cpu/memory/model.h"

/* Host address of lane l: address + delta + l * stride. */
struct cpu_window {
	uint64_t delta, stride;
	enum cpu_place place;
};

/* Is [addr, addr + bytes) memory that the warp may use? Raises no fault. */
bool cpu_window_find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
		     uint64_t addr, uint64_t bytes, bool is_write, struct cpu_window *out);

/* The least and the greatest address of lanes, and the bits of any. */
struct cpu_span {
	uint64_t lo, hi, all;
};

static inline struct cpu_span cpu_span_of(const uint64_t *addr, uint32_t mask)
{
	struct cpu_span s = {UINT64_MAX, 0, 0};

	/* CPU_LANES would test each lane of a part. */
	if (mask == UINT32_MAX) {
		for (unsigned l = 0; l < CPU_WARP; l++) {
			s.lo = addr[l] < s.lo ? addr[l] : s.lo;
			s.hi = addr[l] > s.hi ? addr[l] : s.hi;
			s.all |= addr[l];
		}
		return s;
	}
	CPU_EACH_LANE (i, mask) {
		s.lo = addr[i] < s.lo ? addr[i] : s.lo;
		s.hi = addr[i] > s.hi ? addr[i] : s.hi;
		s.all |= addr[i];
	}
	return s;
}

/* The address of one lane. */
static inline uint64_t cpu_addr_lane(struct cpu_warp *w, const struct cpu_addr *a, unsigned lane)
{
	uint64_t addr = (uint64_t)a->off;

	if (a->base != CPU_NOSLOT)
		addr += a->is_base32 ? cpu_u32(w, a->base)[lane] : cpu_u64(w, a->base)[lane];
	return addr + (a->is_local_var ? w->fp[w->cur->depth][lane] : 0);
}

/* cpu_addresses for all lanes, those outside of the mask too. */
static inline void cpu_addr_lanes(struct cpu_warp *w, const struct cpu_addr *a,
				  uint64_t *restrict addr)
{
	uint64_t off = (uint64_t)a->off;

	if (a->base == CPU_NOSLOT) {
		CPU_VECTORIZE
		for (unsigned l = 0; l < CPU_WARP; l++)
			addr[l] = off;
	} else if (a->is_base32) {
		const uint32_t *b = cpu_u32(w, a->base);
		CPU_VECTORIZE
		for (unsigned l = 0; l < CPU_WARP; l++)
			addr[l] = b[l] + off;
	} else {
		const uint64_t *b = cpu_u64(w, a->base);
		CPU_VECTORIZE
		for (unsigned l = 0; l < CPU_WARP; l++)
			addr[l] = b[l] + off;
	}
	if (a->is_local_var)
		for (unsigned l = 0; l < CPU_WARP; l++)
			addr[l] += w->fp[w->cur->depth][l];
}

#endif
