/*
 * lanes.c - copies of many lanes: a part for each, done apart from the others (async.c).
 *
 * The source of cp.async is read when its part is done, not at issue. An arrival for earlier copies
 * (cp.async.mbarrier.arrive) is ready in the lanes whose copies have all ended.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <string.h>

static bool copy_lane(struct cpu_transfer *t, unsigned l)
{
	struct cpu_lane_parts *p = &t->lane;
	unsigned n = p->valid[l];

	if (n) {
		const uint8_t *src = cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_GLOBAL,
						       p->src[l], n, 0, false);
		if (!src)
			return false;
		cpu_event_part(t, l, false, src, n);
		memcpy(p->host[l], src, n);
	}
	cpu_event_part(t, l, true, p->host[l], p->bytes);
	memset(p->host[l] + n, 0, p->bytes - n);
	return true;
}

/* st.async, red.async: the value, then the transaction. */
static bool store_lane(struct cpu_transfer *t, unsigned l)
{
	struct cpu_lane_parts *p = &t->lane;
	struct cpu_mbar_change c = {.tx = -(int32_t)p->bytes};
	uint8_t *dst = cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_SHARED_CLUSTER, p->dst[l],
					 p->bytes, 0, true);

	if (!dst)
		return false;
	cpu_event_part(t, l, true, dst, p->bytes);
	if (t->kind == CPU_TR_RED)
		cpu_reduce(dst, (const uint8_t *)p->data[l], p->bytes, (enum cpu_red_op)t->op,
			   (enum ptx_type)t->type);
	else
		memcpy(dst, p->data[l], p->bytes);
	return cpu_mbarrier_signal(t, l, p->mbar[l], &c);
}

static bool arrive_lane(struct cpu_transfer *t, unsigned l)
{
	struct cpu_mbar_change c = {.arrive = 1};

	return cpu_mbarrier_signal(t, l, t->lane.mbar[l], &c);
}

/* The lanes of an arrival whose earlier copies have all ended. */
uint32_t cpu_async_ready_lanes(const struct cpu_transfer *t)
{
	uint32_t ready = t->left;

	if (t->kind != CPU_TR_ARRIVE)
		return ready;
	for (const struct cpu_transfer *o = t->prev; o && ready; o = o->prev)
		if (o->kind == CPU_TR_COPY)
			ready &= ~o->left;
	return ready;
}

bool cpu_async_do_lanes(struct cpu_transfer *t, uint32_t now)
{
	CPU_EACH_LANE (l, now) {
		bool ok = t->kind == CPU_TR_COPY     ? copy_lane(t, l)
			  : t->kind == CPU_TR_ARRIVE ? arrive_lane(t, l)
						     : store_lane(t, l);
		if (!ok)
			return false;
		t->left &= ~(1u << l);
		if (t->kind == CPU_TR_COPY)
			cpu_event_done(t, l);
	}
	t->reading = t->left;
	return true;
}

/*
 * Of lanes that store one tile to one place by one instruction, the first. CUTLASS's epilogues have
 * a whole warp do so; 32 equal copies would be no more than one (docs/soundness.md).
 */
uint32_t cpu_async_distinct(struct cpu_warp *w, uint32_t mask, const uint64_t *map,
			    const uint64_t *shared, const uint32_t *at, unsigned rank)
{
	unsigned first = (unsigned)__builtin_ctz(mask);
	uint32_t left = 1u << first;

	CPU_EACH_LANE (l, mask) {
		bool is_same = map[l] == map[first] && shared[l] == shared[first];
		for (unsigned i = 0; i < rank; i++)
			is_same &= cpu_u32(w, at[i])[l] == cpu_u32(w, at[i])[first];
		left |= (uint32_t)!is_same << l;
	}
	return left;
}
