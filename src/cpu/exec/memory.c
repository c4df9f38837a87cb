/*
 * memory.c - memory instructions other than ld and st: cpu_access, fences, st.bulk, hints.
 *
 * A fence is a release and an acquire for its scope in the weak models, and the host's own fence in
 * all of them. Prefetches, priorities and discards do nothing.
 */
#include "cpu/memory/resolve.h"
#include "cpu/events.h"

#include <string.h>

struct bulk {
	enum ptx_space space;
	struct cpu_addr addr;
};

void cpu_addresses(struct cpu_warp *w, const struct cpu_addr *a, uint64_t addr[CPU_WARP])
{
	cpu_addr_lanes(w, a, addr);
}

/* st.bulk: `src[0]` bytes of zeros, PTX ISA 9.7.9. */
static enum cpu_step exec_st_bulk(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct bulk *b = in->aux;
	uint64_t addr[CPU_WARP];
	const uint64_t *size = cpu_u64(w, in->src[0]);

	cpu_addr_lanes(w, &b->addr, addr);
	CPU_EACH_LANE (l, mask) {
		if (size[l] & 7)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "size %llu is no multiple of 8",
					 (unsigned long long)size[l]);
		uint8_t *host = cpu_resolve(w, in, l,
					    &(struct cpu_range){.space = b->space,
								.addr = addr[l],
								.bytes = size[l],
								.align = 8,
								.is_write = true});
		if (!host)
			return CPU_FAULTED;
		if (cpu_model_is_on(w))
			cpu_model_bypass(w, l, host, size[l]);
		if (cpu_event_takes(w, in) && size[l] && size[l] <= UINT32_MAX) {
			struct cpu_acc acc = {.kind = CPU_ACC_STORE,
					      .space = (uint8_t)b->space,
					      .sem = PTX_SEM_WEAK};
			cpu_event_access(w, in, &acc, 1u << l, addr, (uint32_t)size[l]);
		}
		memset(host, 0, size[l]);
		if (cpu_model_has_ids(w))
			cpu_ids_mark(w->grid->m->events, host, size[l], 0);
	}
	return CPU_OK;
}

static enum cpu_step exec_nothing(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)w, (void)in, (void)mask;
	return CPU_OK;
}

/* Chapter 8: a fence orders for its scope what came before it and what follows; a proxy fence makes
 * what the generic proxy wrote readable by the other one and vice versa, for which the block's
 * copies must be dropped as well. imm: the scope; src[0], src[1]: does it release, acquire? */
static enum cpu_step fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			   const struct ptx_form *f, const uint64_t *maps)
{
	if (cpu_model_is_on(w)) {
		if (in->src[0])
			cpu_release(w, mask, (enum ptx_scope)in->imm);
		if (in->src[1])
			cpu_acquire(w, mask, (enum ptx_scope)in->imm);
	}
	if (cpu_event_takes(w, in))
		cpu_event_fence(w, in, mask, f, maps);
	atomic_thread_fence(memory_order_seq_cst);
	return CPU_OK;
}

static enum cpu_step exec_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return fence(w, in, mask, in->aux, NULL);
}

/* fence.proxy.tensormap::generic.acquire: of one map. */
struct map_fence {
	const struct ptx_form *form;
	struct cpu_addr map;
};

static enum cpu_step exec_map_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct map_fence *x = in->aux;
	uint64_t maps[CPU_WARP];

	cpu_addr_lanes(w, &x->map, maps);
	return fence(w, in, mask, x->form, maps);
}

enum cpu_step cpu_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			 uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes, void *data)
{
	bool is_write = acc->kind == CPU_ACC_STORE, is_model = cpu_model_is_on(w);
	uint32_t align = bytes > 16 ? 16 : bytes & -bytes;
	uint8_t *d = data;
	enum cpu_place place;

	if (is_model && is_write && acc->sem == PTX_SEM_RELEASE)
		cpu_release(w, mask, (enum ptx_scope)acc->scope);
	if (cpu_event_takes(w, in))
		cpu_event_access(w, in, acc, mask, addr, bytes);
	struct cpu_range r = {.space = (enum ptx_space)acc->space,
			      .bytes = bytes,
			      .align = acc->width ? acc->width : align,
			      .is_write = is_write};
	CPU_EACH_LANE (l, mask) {
		r.addr = addr[l];
		uint8_t *host = cpu_resolve_place(w, in, l, &r, &place);
		if (!host)
			return CPU_FAULTED;
		if (!is_model || place == CPU_PLACE_PRIVATE) {
			if (is_write)
				memcpy(host, d + l * bytes, bytes);
			else
				memcpy(d + l * bytes, host, bytes);
			continue;
		}
		struct cpu_elem e = {.lane = l, .place = place};
		for (uint32_t at = 0; at < bytes; at += e.bytes) {
			e.host = host + at;
			e.bytes = 16 - (uint32_t)((uintptr_t)e.host & 15);
			e.bytes = e.bytes < bytes - at ? e.bytes : bytes - at;
			if (is_write)
				cpu_model_store(w, in, acc, &e, d + l * bytes + at);
			else
				cpu_model_load(w, in, acc, &e, d + l * bytes + at);
		}
	}
	if (is_model && !is_write && acc->sem == PTX_SEM_ACQUIRE)
		cpu_acquire(w, mask, (enum ptx_scope)acc->scope);
	return CPU_OK;
}

/* ---- decoding --------------------------------------------------------------------- */

static enum cpu_bound bind_fence(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_proxy = f->op == PTX_OP_FENCE_PROXY || f->op == PTX_OP_MEMBAR_PROXY;

	if (f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "unknown modifier");
	in->fn = exec_fence;
	in->flags |= CPU_I_MEMORY;
	in->imm = f->scope ? f->scope : PTX_SCOPE_SYS;
	in->aux = f;
	if (f->proxy == PTX_PROXY_TENSORMAP && f->sem == PTX_SEM_ACQUIRE) {
		struct map_fence *x = cpu_dec_alloc(d, sizeof(*x));
		if (s->nops != 2)
			return cpu_dec_unsupported(d, in, "operands of fence.proxy.tensormap");
		x->form = f;
		x->map = cpu_dec_addr(d, s, &s->ops[0]);
		in->aux = x;
		in->fn = exec_map_fence;
	}
	/* The other proxies work on memory itself. */
	if (is_proxy)
		in->imm = PTX_SCOPE_SYS;
	/* What mbarrier.init wrote is in memory already, and nothing else is released. */
	in->src[0] = f->sem != PTX_SEM_ACQUIRE && f->op != PTX_OP_FENCE_MBARRIER_INIT;
	in->src[1] = f->sem != PTX_SEM_RELEASE;
	return CPU_BOUND;
}

cpu_binder cpu_bind_memory;

enum cpu_bound cpu_bind_memory(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct bulk *b;

	switch (s->form->op) {
	case PTX_OP_ST_BULK:
		if (s->nops < 2)
			return cpu_dec_unsupported(d, in, "no size");
		b = cpu_dec_alloc(d, sizeof(*b));
		b->space = (enum ptx_space)s->form->space;
		b->addr = cpu_dec_addr(d, s, &s->ops[0]);
		in->aux = b;
		in->flags |= CPU_I_MEMORY;
		in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_U64);
		in->fn = exec_st_bulk;
		return CPU_BOUND;
	case PTX_OP_PREFETCH:
	case PTX_OP_PREFETCHU:
	case PTX_OP_APPLYPRIORITY:
	case PTX_OP_DISCARD:
		/* The value after discard is undefined; the old one is allowed. */
		in->fn = exec_nothing;
		return CPU_BOUND;
	case PTX_OP_MEMBAR:
	case PTX_OP_MEMBAR_PROXY:
	case PTX_OP_FENCE:
	case PTX_OP_FENCE_PROXY:
	case PTX_OP_FENCE_MBARRIER_INIT:
		return bind_fence(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
