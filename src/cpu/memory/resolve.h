/*
 * resolve.h - windows of addresses, inside src/cpu: owned by resolve.c, used by memory.c.
 */
#ifndef COLLIDER_CPU_RESOLVE_H
#define COLLIDER_CPU_RESOLVE_H

#include "cpu/memory/model.h"
#include "cpu/repeat.h"

/* Host address of lane l: address + delta + l * stride. */
struct cpu_window {
	uint64_t delta, stride;
	enum cpu_place place;
};

/* multicast.c: the lanes whose address stands for more than k memories, and where it is in that
 * one: `at`. Of ordinary memory: k 0, itself. */
uint32_t cpu_multicast_lanes(const struct cpu_warp *w, uint32_t mask, const uint64_t addr[CPU_WARP],
			     unsigned k, uint64_t at[CPU_WARP]);

/* Is [addr, addr + bytes) memory that the warp may use? Raises no fault. */
bool cpu_window_find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
		     uint64_t addr, uint64_t bytes, bool is_write, struct cpu_window *out);

/* How an instruction uses memory: enum cpu_use. */
static inline uint32_t cpu_use_of(const struct cpu_inst *in, bool is_write)
{
	if (in->flags & CPU_I_INSERTED)
		return CPU_USE_INSERTED;
	if (!is_write)
		return CPU_USE_READ;
	return in->flags & CPU_I_STORE ? CPU_USE_STORE : CPU_USE_UPDATE;
}

static inline struct cpu_hit *cpu_hit_of(struct cpu_warp *w, const struct cpu_inst *in)
{
	return &w->worker->hits[(uintptr_t)in / sizeof(*in) % CPU_HITS];
}

static inline uint64_t cpu_map_version(const struct cpu_warp *w)
{
	return atomic_load_explicit(&w->grid->m->space_version, memory_order_acquire);
}

/*
 * cpu_window_find where little is to be asked: [addr, addr + bytes) is in the block's own shared
 * memory (`use` 0; with its rank), or where the instruction's last access was (1 + struct cpu_hit's
 * use). False: ask cpu_window_find. Not while worker->proof is set, which wants to know of each
 * access.
 */
static inline bool cpu_window_near(struct cpu_warp *w, const struct cpu_inst *in, uint32_t use,
				   uint64_t addr, uint64_t bytes, struct cpu_near *out)
{
	if (!use) {
		uint64_t base = CPU_SHARED_BASE + cpu_shared_start(w->cta);
		*out = (struct cpu_near){.base = base,
					 .bytes = w->cta->shared_bytes,
					 .delta = (uint64_t)(uintptr_t)w->cta->shared - base};
	} else {
		const struct cpu_hit *h = cpu_hit_of(w, in);
		*out = (struct cpu_near){h->base, h->bytes, h->delta, h->version, h->use + 1};
		if (out->use != use || out->version != cpu_map_version(w))
			return false;
	}
	return addr - out->base < out->bytes && bytes <= out->bytes - (addr - out->base);
}

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
