/*
 * resolve.c - from a program's address to the bytes on the host.
 *
 * A global address is a host address, once it is known to lie in a live
 * allocation; shared, local and parameter addresses are offsets; as generic addresses they lie in
 * windows (machine.h). Each instruction keeps the allocation that it used last per worker (struct
 * cpu_hit), so that the map is searched only when that changes.
 *
 * Misses: an overrun inside of one allocation, one variable of the module or
 * the block's shared memory into another is not a fault.
 */
#include "cpu/memory/resolve.h"
#include "cpu/pages.h"
#include "cpu/memory/space.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- windows ------------------------------------------------------------------ */

/* Bytes that an instruction uses: all of them, or some (it asks for a window, for its lanes). */
struct wish {
	uint64_t addr, bytes;
	bool is_write, is_whole;
};

/* Not inlined: the hit missed. */
__attribute__((noinline)) static bool global_miss(struct cpu_warp *w, struct cpu_hit *h,
						  const struct wish *wish, enum cpu_use use,
						  uint64_t *delta)
{
	uint64_t addr = wish->addr, bytes = wish->bytes;
	struct cpu_machine *m = w->grid->m;
	uint64_t version = atomic_load(&m->space_version), base, end;

	if (!cpu_space_range(m, w->grid->device, addr, &base, &end))
		return false;
	if (cpu_pages_are_on(m) &&
	    (bytes > end - addr ||
	     !cpu_pages_use(m, addr, bytes, wish->is_whole, use, &base, &end)))
		return false;
	cpu_repeat_use(m, w->grid->device, addr, use);
	*delta = cpu_space_machine(m, addr) - addr;
	/* Odd: a change was under way, and the result may soon be stale. */
	*h = (struct cpu_hit){base, end - base, version | (version & 1 ? UINT64_MAX : 0), *delta,
			      w->grid->device << 2 | use};
	return bytes <= end - addr;
}

static inline bool global_window(struct cpu_warp *w, const struct cpu_inst *in,
				 const struct wish *wish, uint64_t *delta)
{
	uint64_t addr = wish->addr, bytes = wish->bytes;
	struct cpu_hit *h = cpu_hit_of(w, in);
	uint64_t version = cpu_map_version(w);
	uint32_t use = cpu_use_of(in, wish->is_write);

	if (h->version == version && h->use == (w->grid->device << 2 | use) &&
	    addr - h->base < h->bytes && bytes <= h->bytes - (addr - h->base)) {
		*delta = h->delta;
		return true;
	}
	return global_miss(w, h, wish, (enum cpu_use)use, delta);
}

/*
 * The block whose shared memory holds a 32-bit shared address, which becomes its offset there. In
 * .shared::cta that is this block alone. There an address need not have its rank, as names that
 * are operands of instructions don't (decode_opnd.c).
 */
static struct cpu_cta *shared_owner(struct cpu_cta *cta, uint64_t *addr, bool is_cluster)
{
	uint64_t rank = *addr / CPU_RANK;

	*addr %= CPU_RANK;
	if (rank == cta->rank || (rank == 0 && !is_cluster))
		return cta;
	if (!is_cluster || rank >= cta->cluster->size)
		return NULL;
	return cta->cluster->ctas[rank];
}

static bool shared_window(struct cpu_cta *cta, uint64_t addr, uint64_t bytes, bool is_cluster,
			  uint64_t *delta)
{
	uint64_t at = addr;
	struct cpu_cta *owner = shared_owner(cta, &at, is_cluster);
	uint64_t end = CPU_SHARED_BASE;

	if (!owner || !owner->shared)
		return false;
	/* The system's part is a separate variable: no access extends over its end. */
	if (at >= CPU_SHARED_BASE)
		end += owner->shared_bytes;
	else if (!owner->cluster->uses_reserved)
		return false;
	if (at > end || bytes > end - at)
		return false;
	*delta = (uint64_t)(uintptr_t)owner->shared + at - CPU_SHARED_BASE - addr;
	return true;
}

/* Shared memory lives as long as its block: others of the cluster must not use it later (CUDA
 * programming guide, distributed shared memory). Copies that come later aren't looked at. */
static bool is_gone(struct cpu_cta *cta, uint64_t addr, bool is_cluster)
{
	const struct cpu_cta *owner = shared_owner(cta, &addr, is_cluster);

	return owner && owner != cta && !owner->nlive;
}

/* As shared_window, for a thread. */
static bool live_window(struct cpu_cta *cta, uint64_t addr, uint64_t bytes, bool is_cluster,
			uint64_t *delta)
{
	return shared_window(cta, addr, bytes, is_cluster, delta) &&
	       !is_gone(cta, addr, is_cluster);
}

/* Is it an address in .shared::cta that a register gives, without the block's rank? An H100 takes
 * loads and stores of it for illegal; of other instructions that isn't known. */
static bool lacks_rank(const struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
		       uint64_t addr)
{
	if (!w->cta->rank || addr >= CPU_RANK || space != PTX_SPACE_SHARED)
		return false;
	const struct cpu_func *f = w->cur->func;
	uint64_t nth = f ? (uint64_t)(in - f->code) : UINT64_MAX;
	const struct ptx_stmt *s = f && nth < f->ninsts ? f->stmts[nth] : NULL;
	if (!s || (s->form->op != PTX_OP_LD && s->form->op != PTX_OP_ST))
		return false;
	const struct ptx_opnd *at = ptx_address(s);
	return at && at->kind == PTX_OPND_ADDR && at->nsub && at->sub[0].kind == PTX_OPND_REG;
}

/* A lane's .param area (inst.h). */
static bool area_window(const struct cpu_warp *w, uint64_t addr, uint64_t bytes,
			struct cpu_window *out)
{
	uint64_t limit = w->grid->func->layout->param, at = addr - CPU_PARAM_AREA;
	uint64_t depth = w->cur->depth;

	if (addr >= CPU_PARAM_STACK && limit) {
		depth = (addr - CPU_PARAM_STACK) / limit;
		at = (addr - CPU_PARAM_STACK) % limit;
	}
	out->stride = limit;
	out->delta = (uint64_t)(uintptr_t)w->params + depth * CPU_WARP * limit + at - addr;
	return depth <= w->cur->depth && at <= limit && bytes <= limit - at;
}

static bool param_window(const struct cpu_warp *w, uint64_t addr, uint64_t bytes, bool is_write,
			 struct cpu_window *out)
{
	if (addr >= CPU_PARAM_AREA)
		return area_window(w, addr, bytes, out);
	out->delta = (uint64_t)(uintptr_t)w->grid->params;
	return !is_write && addr <= w->grid->nparam_bytes && bytes <= w->grid->nparam_bytes - addr;
}

static bool local_window(const struct cpu_warp *w, uint64_t addr, uint64_t bytes,
			 struct cpu_window *out)
{
	/* A function's parameter whose address was taken is local memory (PTX ISA, device
	 * function parameters). */
	if (addr >= CPU_PARAM_STACK)
		return area_window(w, addr, bytes, out);
	if (!w->local || addr > w->local_stride || bytes > w->local_stride - addr)
		return false;
	out->delta = (uint64_t)(uintptr_t)w->local;
	out->stride = w->local_stride;
	return true;
}

static inline bool window_find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
			       const struct wish *wish, struct cpu_window *out)
{
	uint64_t addr = wish->addr, bytes = wish->bytes;
	bool is_write = wish->is_write, is_found;

	out->delta = out->stride = 0;
	out->place = CPU_PLACE_PRIVATE;
	switch (space) {
	case PTX_SPACE_GENERIC:
		if (addr < CPU_WIN_SHARED) {
			out->place = CPU_PLACE_GLOBAL;
			return global_window(w, in, wish, &out->delta);
		}
		if (addr < CPU_WIN_SHARED + CPU_WIN_SIZE) {
			out->place = CPU_PLACE_SHARED;
			is_found = live_window(w->cta, addr - CPU_WIN_SHARED, bytes, true,
					       &out->delta);
			out->delta -= CPU_WIN_SHARED;
			return is_found;
		}
		if (addr < CPU_WIN_LOCAL + CPU_WIN_SIZE) {
			is_found = local_window(w, addr - CPU_WIN_LOCAL, bytes, out);
			out->delta -= CPU_WIN_LOCAL;
			return is_found;
		}
		is_found = addr < CPU_WIN_PARAM + CPU_WIN_SIZE &&
			   param_window(w, addr - CPU_WIN_PARAM, bytes, is_write, out);
		out->delta -= CPU_WIN_PARAM;
		return is_found;
	case PTX_SPACE_GLOBAL:
		out->place = CPU_PLACE_GLOBAL;
		return global_window(w, in, wish, &out->delta);
	case PTX_SPACE_CONST:
		return !is_write && global_window(w, in, wish, &out->delta);
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		out->place = CPU_PLACE_SHARED;
		return !lacks_rank(w, in, space, addr) &&
		       live_window(w->cta, addr, bytes, space == PTX_SPACE_SHARED_CLUSTER,
				   &out->delta);
	case PTX_SPACE_LOCAL:
		return local_window(w, addr, bytes, out);
	case PTX_SPACE_PARAM:
		return param_window(w, addr, bytes, is_write, out);
	default:
		return false;
	}
}

static inline bool find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
			const struct wish *wish, struct cpu_window *out)
{
	bool is_found = window_find(w, in, space, wish, out);

	if (__builtin_expect(w->worker->proof != NULL, 0) && is_found &&
	    out->place != CPU_PLACE_PRIVATE)
		cpu_proof_read(w, in, wish->addr, out->place == CPU_PLACE_GLOBAL);
	return is_found;
}

bool cpu_window_find(struct cpu_warp *w, const struct cpu_inst *in, enum ptx_space space,
		     uint64_t addr, uint64_t bytes, bool is_write, struct cpu_window *out)
{
	return find(w, in, space, &(struct wish){addr, bytes, is_write, false}, out);
}

/* ---- faults ------------------------------------------------------------------------ */

static enum ptx_space space_of(enum ptx_space space, uint64_t *addr)
{
	if (space != PTX_SPACE_GENERIC || *addr < CPU_WIN_SHARED)
		return space == PTX_SPACE_GENERIC ? PTX_SPACE_GLOBAL : space;
	static const enum ptx_space windows[] = {PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_LOCAL,
						 PTX_SPACE_PARAM};
	uint64_t i = (*addr - CPU_WIN_SHARED) / CPU_WIN_SIZE;
	if (i >= BASE_COUNTOF(windows))
		return PTX_SPACE_GLOBAL;
	*addr = (*addr - CPU_WIN_SHARED) % CPU_WIN_SIZE;
	return windows[i];
}

/* Why threads of the block may not access the range. */
static void explain(struct cpu_cta *cta, const struct cpu_range *r, char *out, size_t size)
{
	struct cpu_cta *owner;
	uint64_t addr = r->addr, whole, delta;

	switch (space_of(r->space, &addr)) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		whole = addr;
		owner = shared_owner(cta, &addr, r->space != PTX_SPACE_SHARED);
		if (whole / CPU_RANK >= cta->cluster->size)
			snprintf(out, size, "outside of the block's %u bytes of shared memory",
				 cta->shared_bytes);
		else if (!owner && r->space == PTX_SPACE_SHARED)
			snprintf(out, size,
				 "in .shared::cta it has the rank of block %" PRIu64
				 " of the cluster, and this is block %u",
				 r->addr / CPU_RANK, cta->rank);
		else if (!owner || !owner->shared)
			snprintf(out, size, "no block of the cluster has that shared memory");
		else if (shared_window(cta, whole, r->bytes, r->space != PTX_SPACE_SHARED, &delta))
			snprintf(out, size,
				 "block %u of the cluster has exited, its shared memory is gone "
				 "(each block: cluster.sync() before it exits)",
				 owner->rank);
		else
			snprintf(out, size,
				 "offset %" PRId64 " of the block's %u bytes of shared memory",
				 (int64_t)(addr - CPU_SHARED_BASE), owner->shared_bytes);
		return;
	case PTX_SPACE_LOCAL:
		snprintf(out, size, "outside of the thread's local memory");
		return;
	case PTX_SPACE_PARAM:
		snprintf(out, size, "offset %" PRId64 " of the parameters%s", (int64_t)addr,
			 r->is_write ? ", which cannot be written" : "");
		return;
	case PTX_SPACE_CONST:
		if (r->is_write) {
			snprintf(out, size, "constant memory cannot be written");
			return;
		}
		/* fall through */
	default:
		cpu_space_explain(cta->grid->m, cta->grid->device, addr, r->bytes, out, size);
		return;
	}
}

/* Another block's address in .shared::cta is an illegal instruction on an H100. */
static enum cpu_fault_kind kind_of(struct cpu_cta *cta, const struct cpu_range *r)
{
	uint64_t at = r->addr;

	return r->space == PTX_SPACE_SHARED && !shared_owner(cta, &at, false) ? CPU_FAULT_ILLEGAL
									      : CPU_FAULT_ADDRESS;
}

static const char *name_of(const struct cpu_range *r)
{
	return r->is_atomic ? "atomic" : r->is_write ? "store" : "load";
}

static void fault_lane(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		       const struct cpu_range *r)
{
	char why[160];

	if (lacks_rank(w, in, r->space, r->addr)) {
		cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
			  "%s of %" PRIu64 " bytes at 0x%" PRIx64
			  ": in .shared::cta it has no rank in the cluster, and this is block %u",
			  name_of(r), r->bytes, r->addr, w->cta->rank);
		return;
	}
	explain(w->cta, r, why, sizeof(why));
	if (cpu_pages_refused(w->grid->m)) {
		cpu_fault(w, in, lane, CPU_FAULT_UNKNOWN,
			  "%s of %" PRIu64 " bytes at 0x%" PRIx64
			  ": what is there is not known here",
			  name_of(r), r->bytes, r->addr);
		return;
	}
	cpu_fault(w, in, lane, kind_of(w->cta, r), "%s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s",
		  name_of(r), r->bytes, r->addr, why);
}

/* ---- machine.h ------------------------------------------------------------------------ */

uint8_t *cpu_resolve_place(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			   const struct cpu_range *r, enum cpu_place *place)
{
	struct cpu_window win;

	if (r->align && (r->addr & (r->align - 1))) {
		cpu_fault(w, in, lane, CPU_FAULT_MISALIGNED,
			  "misaligned %s: 0x%" PRIx64 " is no multiple of %u", name_of(r), r->addr,
			  r->align);
		return NULL;
	}
	if (!find(w, in, r->space, &(struct wish){r->addr, r->bytes, r->is_write, true}, &win)) {
		fault_lane(w, in, lane, r);
		return NULL;
	}
	*place = win.place;
	return (uint8_t *)(uintptr_t)(r->addr + win.delta + lane * win.stride);
}

uint8_t *cpu_resolve(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		     const struct cpu_range *r)
{
	enum cpu_place place;

	return cpu_resolve_place(w, in, lane, r, &place);
}

static void fault_async(struct cpu_cta *cta, const struct cpu_inst *in, enum cpu_fault_kind kind,
			const char *what, uint64_t bytes, uint64_t addr, const char *why)
{
	struct cpu_grid *g = cta->grid;

	(void)in;
	cpu_fault_op(g->m, g->device, kind,
		     "asynchronous copy: %s of %" PRIu64 " bytes at 0x%" PRIx64
		     ": %s; block (%u,%u,%u) in %s",
		     what, bytes, addr, why, cta->id[0], cta->id[1], cta->id[2], g->func->name);
}

uint8_t *cpu_resolve_async(struct cpu_cta *cta, const struct cpu_inst *in, enum ptx_space space,
			   uint64_t addr, uint64_t bytes, uint32_t align, bool is_write)
{
	const char *what = is_write ? "store" : "load";
	uint64_t base, end, delta = 0, at = addr;
	char why[160];

	if (!cta)
		return NULL;
	if (align && (addr & (align - 1))) {
		fault_async(cta, in, CPU_FAULT_MISALIGNED, what, bytes, addr, "misaligned");
		return NULL;
	}
	enum ptx_space s = space_of(space, &at);
	bool is_ok = false;
	if (s == PTX_SPACE_SHARED || s == PTX_SPACE_SHARED_CLUSTER)
		is_ok = shared_window(cta, at, bytes, s == PTX_SPACE_SHARED_CLUSTER, &delta);
	else if (s == PTX_SPACE_GLOBAL || (s == PTX_SPACE_CONST && !is_write))
		is_ok = cpu_space_range(cta->grid->m, cta->grid->device, at, &base, &end) &&
			bytes <= end - at &&
			(!cpu_pages_are_on(cta->grid->m) ||
			 cpu_pages_use(cta->grid->m, at, bytes, true,
				       is_write ? CPU_USE_STORE : CPU_USE_READ, &base, &end));
	if (!is_ok) {
		struct cpu_range r = {space, addr, bytes, align, is_write, false};
		explain(cta, &r, why, sizeof(why));
		if (cpu_pages_refused(cta->grid->m))
			fault_async(cta, in, CPU_FAULT_UNKNOWN, what, bytes, addr,
				    "what is there is not known here");
		else
			fault_async(cta, in, kind_of(cta, &r), what, bytes, addr, why);
		return NULL;
	}
	if (is_ok && (s == PTX_SPACE_GLOBAL || s == PTX_SPACE_CONST)) {
		cpu_repeat_use(cta->grid->m, cta->grid->device, at,
			       is_write ? CPU_USE_UPDATE : CPU_USE_READ);
		at = cpu_space_machine(cta->grid->m, at);
	}
	uint8_t *host = (uint8_t *)(uintptr_t)(at + delta);
	/* The block may have filled copies of these bytes since the copy was issued. */
	if (s == PTX_SPACE_GLOBAL && cta->l1)
		cpu_model_bypass_cta(cta, host, bytes);
	return host;
}

bool cpu_resolve_units(struct cpu_cta *cta, const struct cpu_inst *in, const uint32_t *at,
		       uint32_t n, const uint8_t **unit)
{
	uint32_t bytes = cta->shared ? cta->shared_bytes : 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t offset = at[i] - CPU_SHARED_BASE;
		if (offset < bytes && CPU_UNIT <= bytes - offset)
			unit[i] = cta->shared + offset;
		else
			unit[i] = cpu_resolve_async(cta, in, PTX_SPACE_SHARED, at[i], CPU_UNIT, 0,
						    false);
		if (!unit[i])
			return false;
	}
	return true;
}

bool cpu_is_space(struct cpu_warp *w, uint64_t addr, enum ptx_space space)
{
	uint64_t at = addr;
	enum ptx_space s = space_of(PTX_SPACE_GENERIC, &at);

	switch (space) {
	case PTX_SPACE_GLOBAL:
		return s == PTX_SPACE_GLOBAL && addr < CPU_WIN_SHARED;
	case PTX_SPACE_SHARED:
		return s == PTX_SPACE_SHARED_CLUSTER && at / CPU_RANK == w->cta->rank;
	case PTX_SPACE_SHARED_CLUSTER:
		return s == PTX_SPACE_SHARED_CLUSTER;
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_PARAM:
		return s == space;
	case PTX_SPACE_CONST:
		/* Constants have no window: as generic addresses they count as global. */
	default:
		return false;
	}
}
