/*
 * cancel.c - clusterlaunchcontrol: a block takes the place of a cluster that hasn't started yet.
 *
 * try_cancel draws, by seed, whether it gets one of the clusters that wait for a multiprocessor
 * (block.c); that one never starts, and its number is the answer. The answer is 16 bytes: 1 and x,
 * y and z of the cluster's first block, or 0. It is written as st.async writes: in the async proxy,
 * then 16 bytes of transaction of the mbarrier; .multicast::cluster::all does so in each block of
 * the cluster. query_cancel reads it from a register.
 *
 * Misses: launches that several host threads execute, or of which only some blocks are: nothing is
 * cancelled there, which the ISA allows at any time.
 */
#include "cpu/async/async.h"
#include "cpu/sched.h"

#include <string.h>

#define ANSWER 16u /* bytes */

struct cancel {
	struct cpu_addr answer, mbar;
	uint8_t space;
	bool is_multicast;
};

/* ---- try_cancel ------------------------------------------------------------------------------ */

/* The answer goes to one block. */
static bool send(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint32_t answer,
		 uint32_t mbar, const uint64_t value[2])
{
	struct cpu_transfer *t = cpu_async_new(w, in, 1u << l, CPU_TR_STORE, CPU_DONE_MBARRIER);

	if (!t)
		return false;
	t->lane.bytes = ANSWER;
	t->lane.dst[l] = answer;
	t->lane.mbar[l] = mbar;
	memcpy(t->lane.data[l], value, ANSWER);
	cpu_async_start(t);
	return true;
}

static bool is_there(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint64_t addr,
		     uint32_t bytes)
{
	const struct cancel *x = in->aux;

	return cpu_resolve(w, in, l,
			   &(struct cpu_range){.space = (enum ptx_space)x->space,
					       .addr = addr,
					       .bytes = bytes,
					       .align = bytes,
					       .is_write = true});
}

static enum cpu_step exec_try(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cancel *x = in->aux;
	uint64_t answer[CPU_WARP], mbar[CPU_WARP];

	cpu_addresses(w, &x->answer, answer);
	cpu_addresses(w, &x->mbar, mbar);
	CPU_EACH_LANE (l, mask) {
		uint64_t value[2] = {0, 0};
		uint32_t first[3];
		if (!is_there(w, in, l, answer[l], ANSWER) || !is_there(w, in, l, mbar[l], 8))
			return CPU_FAULTED;
		if (cpu_block_cancel(w, first)) {
			value[0] = 1 | (uint64_t)first[0] << 32;
			value[1] = first[1] | (uint64_t)first[2] << 32;
		}
		enum ptx_space space = (enum ptx_space)x->space;
		uint32_t a = cpu_shared_canonical(w->cta, space, answer[l]),
			 b = cpu_shared_canonical(w->cta, space, mbar[l]);
		uint32_t own = a / CPU_RANK, from = x->is_multicast ? 0 : own;
		uint32_t end = x->is_multicast ? w->cta->cluster->size : own + 1;
		for (uint32_t r = from; r < end; r++)
			if (!send(w, in, l, a % CPU_RANK + r * CPU_RANK,
				  b % CPU_RANK + r * CPU_RANK, value))
				return CPU_FAULTED;
	}
	return CPU_OK;
}

static enum cpu_bound bind_try(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct cancel *x = cpu_dec_alloc(d, sizeof(*x));

	if (s->nops != 2)
		return cpu_dec_unsupported(d, in, "operands of a cancellation");
	x->answer = cpu_dec_addr(d, s, &s->ops[0]);
	x->mbar = cpu_dec_addr(d, s, &s->ops[1]);
	x->space = s->form->space;
	x->is_multicast = ptx_form_has(s->form, PTX_MOD_MULTICAST_CLUSTER_ALL);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_try;
	return CPU_BOUND;
}

/* ---- query_cancel ---------------------------------------------------------------------------- */

static enum cpu_step exec_is_canceled(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint64_t *low = cpu_u64(w, in->src[0]);
	uint32_t *p = cpu_pred(w, in->dst[0]), is = 0;

	CPU_EACH_LANE (l, mask)
		is |= (uint32_t)(low[l] & 1) << l;
	*p = (*p & ~mask) | is;
	return CPU_OK;
}

static enum cpu_step exec_first(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *slots = in->aux;
	const uint64_t *low = cpu_u64(w, in->src[0]), *high = low + CPU_WARP;

	CPU_EACH_LANE (l, mask) {
		uint32_t id[3] = {(uint32_t)(low[l] >> 32), (uint32_t)high[l],
				  (uint32_t)(high[l] >> 32)};
		for (unsigned i = 0; i < 3; i++)
			if (slots[i] != CPU_NOSLOT)
				cpu_u32(w, slots[i])[l] = id[i];
	}
	return CPU_OK;
}

static enum cpu_bound bind_query(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const enum ptx_mod one[3] = {PTX_MOD_GET_FIRST_CTAID_X, PTX_MOD_GET_FIRST_CTAID_Y,
					    PTX_MOD_GET_FIRST_CTAID_Z};
	uint32_t *slots = cpu_dec_alloc(d, 3 * sizeof(*slots));
	const struct ptx_opnd *to = &s->ops[0];

	if (s->nops != 2)
		return cpu_dec_unsupported(d, in, "operands of clusterlaunchcontrol");
	in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_B128);
	if (ptx_form_has(s->form, PTX_MOD_IS_CANCELED)) {
		in->dst[0] = cpu_dec_dst(d, to);
		in->fn = exec_is_canceled;
		return in->dst[0] == CPU_NOSLOT ? cpu_dec_unsupported(d, in, "no result")
						: CPU_BOUND;
	}
	for (unsigned i = 0; i < 3; i++) {
		slots[i] = CPU_NOSLOT;
		if (ptx_form_has(s->form, one[i]))
			slots[i] = cpu_dec_dst(d, to);
		else if (to->kind == PTX_OPND_VEC && i < to->nsub)
			slots[i] = cpu_dec_dst(d, &to->sub[i]);
	}
	in->aux = slots;
	in->fn = exec_first;
	return CPU_BOUND;
}

cpu_binder cpu_bind_cancel;

enum cpu_bound cpu_bind_cancel(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL:
		return bind_try(d, s, in);
	case PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL:
		return bind_query(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
