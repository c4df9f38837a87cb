/*
 * special.c - mov from a special register (PTX ISA chapter 10).
 *
 * A register is a row of the table below: lanes differ (a row of 32 values) or
 * all read one. The clocks are the machine's, so they are the same in every
 * run with one seed; each read of a clock advances it by one, so that two reads never return the
 * same time. Registers for which the device has no counterpart (%pm, most %envreg,
 * %current_graph_exec) reads as 0.
 */
#include "cpu/sched.h"
#include "cpu/repeat.h"

#include <string.h>

cpu_binder cpu_bind_special;

enum special {
	/* lanes differ */
	SPECIAL_TID,
	SPECIAL_LANEID,
	SPECIAL_LANEMASK_EQ,
	SPECIAL_LANEMASK_LT,
	SPECIAL_LANEMASK_LE,
	SPECIAL_LANEMASK_GT,
	SPECIAL_LANEMASK_GE,
	/* one for all */
	SPECIAL_NTID,
	SPECIAL_CTAID,
	SPECIAL_NCTAID,
	SPECIAL_CLUSTERID,
	SPECIAL_NCLUSTERID,
	SPECIAL_CLUSTER_CTAID,
	SPECIAL_CLUSTER_NCTAID,
	SPECIAL_CLUSTER_CTARANK,
	SPECIAL_CLUSTER_NCTARANK,
	SPECIAL_IS_EXPLICIT_CLUSTER,
	SPECIAL_WARPID,
	SPECIAL_NWARPID,
	SPECIAL_SMID,
	SPECIAL_NSMID,
	SPECIAL_GRIDID,
	SPECIAL_CLOCK,
	SPECIAL_CLOCK_HI,
	SPECIAL_DYNAMIC_SMEM,
	SPECIAL_TOTAL_SMEM,
	SPECIAL_RESERVED_SMEM_BEGIN,
	SPECIAL_RESERVED_SMEM_END,
	SPECIAL_RESERVED_SMEM_CAP,
	SPECIAL_RESERVED_SMEM_0,
	SPECIAL_RESERVED_SMEM_1,
	SPECIAL_WORKSPACE_HIGH,
	SPECIAL_WORKSPACE_LOW,
	SPECIAL_ZERO
};

static const struct {
	const char *name; /* without the component */
	enum special id;
	bool is_prefix; /* a number or more follows */
} table[] = {
	{"%tid", SPECIAL_TID, false},
	{"%ntid", SPECIAL_NTID, false},
	{"%ctaid", SPECIAL_CTAID, false},
	{"%nctaid", SPECIAL_NCTAID, false},
	{"%laneid", SPECIAL_LANEID, false},
	{"%warpid", SPECIAL_WARPID, false},
	{"%nwarpid", SPECIAL_NWARPID, false},
	{"%smid", SPECIAL_SMID, false},
	{"%nsmid", SPECIAL_NSMID, false},
	{"%gridid", SPECIAL_GRIDID, false},
	{"%is_explicit_cluster", SPECIAL_IS_EXPLICIT_CLUSTER, false},
	{"%clusterid", SPECIAL_CLUSTERID, false},
	{"%nclusterid", SPECIAL_NCLUSTERID, false},
	{"%cluster_ctaid", SPECIAL_CLUSTER_CTAID, false},
	{"%cluster_nctaid", SPECIAL_CLUSTER_NCTAID, false},
	{"%cluster_ctarank", SPECIAL_CLUSTER_CTARANK, false},
	{"%cluster_nctarank", SPECIAL_CLUSTER_NCTARANK, false},
	{"%lanemask_eq", SPECIAL_LANEMASK_EQ, false},
	{"%lanemask_lt", SPECIAL_LANEMASK_LT, false},
	{"%lanemask_le", SPECIAL_LANEMASK_LE, false},
	{"%lanemask_gt", SPECIAL_LANEMASK_GT, false},
	{"%lanemask_ge", SPECIAL_LANEMASK_GE, false},
	{"%clock", SPECIAL_CLOCK, false},
	{"%clock64", SPECIAL_CLOCK, false},
	{"%clock_hi", SPECIAL_CLOCK_HI, false},
	{"%globaltimer", SPECIAL_CLOCK, false},
	{"%globaltimer_lo", SPECIAL_CLOCK, false},
	{"%globaltimer_hi", SPECIAL_CLOCK_HI, false},
	{"%dynamic_smem_size", SPECIAL_DYNAMIC_SMEM, false},
	{"%total_smem_size", SPECIAL_TOTAL_SMEM, false},
	{"%aggr_smem_size", SPECIAL_TOTAL_SMEM, false},
	{"%reserved_smem_offset_begin", SPECIAL_RESERVED_SMEM_BEGIN, false},
	{"%reserved_smem_offset_end", SPECIAL_RESERVED_SMEM_END, false},
	{"%reserved_smem_offset_cap", SPECIAL_RESERVED_SMEM_CAP, false},
	{"%reserved_smem_offset_0", SPECIAL_RESERVED_SMEM_0, false},
	{"%reserved_smem_offset_1", SPECIAL_RESERVED_SMEM_1, false},
	{"%current_graph_exec", SPECIAL_ZERO, false},
	{"%envreg1", SPECIAL_WORKSPACE_HIGH, false}, /* see CPU_GRID_WORKSPACE */
	{"%envreg2", SPECIAL_WORKSPACE_LOW, false},
	{"%envreg", SPECIAL_ZERO, true},
	{"%pm", SPECIAL_ZERO, true},
};

/* ---- values ------------------------------------------------------------------------- */

/*
 * %reserved_smem_offset_*: the system's part of shared memory, begin, end, size, and two places in
 * it. The driver chooses these; cooperative groups keeps the barriers and slots of tiles
 * larger than a warp, up to 288 bytes, after the second. All but the size are shared addresses:
 * they have the block's rank, since programs make generic ones of them.
 */
static const uint32_t reserved[] = {0, CPU_SHARED_BASE, CPU_SHARED_BASE, 64, 512};

static uint64_t uniform(struct cpu_warp *w, enum special id, unsigned c)
{
	const struct cpu_cta *cta = w->cta;
	const struct cpu_grid *g = w->grid;

	switch (id) {
	case SPECIAL_NTID:
		return c < 3 ? g->block[c] : 1;
	case SPECIAL_CTAID:
		return c < 3 ? cta->id[c] : 0;
	case SPECIAL_NCTAID:
		return c < 3 ? g->grid[c] : 1;
	case SPECIAL_CLUSTERID:
		return c < 3 ? cta->cluster->id[c] : 0;
	case SPECIAL_NCLUSTERID:
		return c < 3 ? g->grid[c] / g->cluster[c] : 1;
	case SPECIAL_CLUSTER_CTAID:
		return c < 3 ? cta->id[c] % g->cluster[c] : 0;
	case SPECIAL_CLUSTER_NCTAID:
		return c < 3 ? g->cluster[c] : 1;
	case SPECIAL_CLUSTER_CTARANK:
		return cta->rank;
	case SPECIAL_CLUSTER_NCTARANK:
		return cta->cluster->size;
	case SPECIAL_IS_EXPLICIT_CLUSTER:
		return g->has_cluster;
	case SPECIAL_WARPID:
		return w->index;
	case SPECIAL_NWARPID:
		return CPU_SM_THREADS / CPU_WARP;
	case SPECIAL_SMID:
		return cta->sm;
	case SPECIAL_NSMID:
		return g->m->opt.sms ? g->m->opt.sms : CPU_SMS;
	case SPECIAL_WORKSPACE_HIGH:
		return g->workspace >> 32;
	case SPECIAL_WORKSPACE_LOW:
		return (uint32_t)g->workspace;
	case SPECIAL_GRIDID:
		return g->id;
	case SPECIAL_CLOCK:
		return w->worker->clock++;
	case SPECIAL_CLOCK_HI:
		return w->worker->clock >> 32;
	case SPECIAL_DYNAMIC_SMEM:
		return g->shared_dyn;
	case SPECIAL_TOTAL_SMEM:
		return CPU_SHARED_BASE +
		       (((uint64_t)g->shared_static + g->shared_dyn + 127) & ~127ull);
	case SPECIAL_RESERVED_SMEM_BEGIN:
	case SPECIAL_RESERVED_SMEM_END:
	case SPECIAL_RESERVED_SMEM_CAP:
	case SPECIAL_RESERVED_SMEM_0:
	case SPECIAL_RESERVED_SMEM_1:
		cpu_block_use_reserved(cta->cluster);
		return reserved[id - SPECIAL_RESERVED_SMEM_BEGIN] +
		       (id == SPECIAL_RESERVED_SMEM_CAP ? 0 : cpu_shared_start(cta));
	default:
		return 0;
	}
}

static uint32_t lane_mask(enum special id, unsigned lane)
{
	uint32_t eq = 1u << lane;

	switch (id) {
	case SPECIAL_LANEMASK_EQ:
		return eq;
	case SPECIAL_LANEMASK_LT:
		return eq - 1;
	case SPECIAL_LANEMASK_LE:
		return eq | (eq - 1);
	case SPECIAL_LANEMASK_GT:
		return ~(eq | (eq - 1));
	default:
		return ~(eq - 1);
	}
}

/* The 32 values of a register whose lanes differ. */
static void per_lane(const struct cpu_warp *w, enum special id, unsigned c, uint32_t v[CPU_WARP])
{
	if (id == SPECIAL_TID && c < 3) {
		const uint32_t *tids = w->grid->priv->tids;
		memcpy(v, tids + ((size_t)w->index * 3 + c) * CPU_WARP, CPU_WARP * sizeof(*v));
		return;
	}
	for (unsigned l = 0; l < CPU_WARP; l++)
		v[l] = id == SPECIAL_TID ? 0 : id == SPECIAL_LANEID ? l : lane_mask(id, l);
}

static enum cpu_step exec_special(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	enum special id = (enum special)in->sub;
	unsigned c = (unsigned)in->imm & 3, bytes = (unsigned)(in->imm >> 8);
	uint32_t v[CPU_WARP];

	if (in->dst[0] == CPU_NOSLOT)
		return CPU_OK;
	if (id >= SPECIAL_GRIDID && id <= SPECIAL_CLOCK_HI && !(in->flags & CPU_I_INSERTED))
		cpu_repeat_spoil(w->grid->m);
	if (id >= SPECIAL_NTID) {
		uint64_t x = uniform(w, id, c);
		if (bytes == 8) {
			uint64_t *d = cpu_u64(w, in->dst[0]);
			CPU_LANES(l, mask, d[l] = x);
			return CPU_OK;
		}
		if (bytes == 0) {
			cpu_set_pred(w, in->dst[0], x ? UINT32_MAX : 0, mask);
			return CPU_OK;
		}
		if (bytes == 4) {
			uint32_t *d = cpu_u32(w, in->dst[0]), y = (uint32_t)x;
			CPU_LANES(l, mask, d[l] = y);
			return CPU_OK;
		}
		for (unsigned l = 0; l < CPU_WARP; l++)
			v[l] = (uint32_t)x;
	} else if (bytes == 4 && mask == UINT32_MAX) {
		per_lane(w, id, c, cpu_u32(w, in->dst[0]));
		return CPU_OK;
	} else {
		per_lane(w, id, c, v);
	}
	if (bytes == 4) {
		uint32_t *d = cpu_u32(w, in->dst[0]);
		CPU_LANES(l, mask, d[l] = v[l]);
	} else if (bytes == 8) {
		uint64_t *d = cpu_u64(w, in->dst[0]);
		CPU_LANES(l, mask, d[l] = v[l]);
	} else {
		uint16_t *d = cpu_u16(w, in->dst[0]);
		CPU_LANES(l, mask, d[l] = (uint16_t)v[l]);
	}
	return CPU_OK;
}

bool cpu_exec_is_clock(const struct cpu_inst *in)
{
	return in->fn == exec_special && (in->sub == SPECIAL_CLOCK || in->sub == SPECIAL_CLOCK_HI);
}

/* ---- binding --------------------------------------------------------------------------- */

/* Length of the name without ".x" and so on; its component in *c. */
static size_t split_name(struct ptx_str t, unsigned *c)
{
	*c = 0;
	if (t.n > 2 && t.p[t.n - 2] == '.') {
		const char *at = strchr("xyzw", t.p[t.n - 1]);
		*c = at ? (unsigned)(at - "xyzw") : 0;
		return t.n - 2;
	}
	return t.n;
}

enum cpu_bound cpu_bind_special(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	if (s->form->op != PTX_OP_MOV || s->nops != 2 || s->ops[1].kind != PTX_OPND_SPECIAL)
		return CPU_NOT_MINE;

	const struct ptx_opnd *op = &s->ops[1];
	unsigned c = op->comp && op->comp <= 4 ? op->comp - 1u : 0, named;
	size_t n = split_name(op->text, &named);

	if (n != op->text.n)
		c = named;
	for (size_t i = 0; i < BASE_COUNTOF(table); i++) {
		size_t m = strlen(table[i].name);
		if (table[i].is_prefix ? n < m : n != m)
			continue;
		if (strncmp(op->text.p, table[i].name, m) != 0)
			continue;
		in->fn = exec_special;
		in->sub = (uint8_t)table[i].id;
		in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
		in->imm = c | (uint64_t)cpu_dec_bytes(d, &s->ops[0], PTX_TYPE_U32) << 8;
		return CPU_BOUND;
	}
	return cpu_dec_unsupported(d, in, "a special register that the CPU device does not have");
}
