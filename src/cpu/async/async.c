/*
 * async.c - copies in flight, and the instructions that issue those of many lanes.
 *
 * cp.async, st.async and red.async make one transfer for a warp, with a part
 * for each lane; its parts are done in any order, by cpu_async_step, which picks
 * a transfer at random. The source of cp.async is read then, not at issue. In
 * some blocks, drawn by seed, copies are slow: most steps do nothing, so that a
 * missing wait shows as a value. Addresses are checked at issue, where the fault
 * has its thread and line, and global ones once more when the part is done: the
 * memory may have been freed meanwhile.
 *
 * A wait for groups polls (CPU_RETRY) and searches the warp's transfers.
 * cp.async.mbarrier.arrive is a transfer, too, that can end when all earlier
 * copies of its lane have ended (PTX ISA 9.7.9.25).
 * Costs: about 1 KiB for a transfer; they are reused, and freed only when the block ends.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define PIECES	     8	/* that one step does at most */
#define SLOW_BLOCKS  4	/* one in that many has slow copies */
#define SLOWNESS     16 /* of which one step in that many does something */
#define TENSOR_STEPS 4	/* in the others, of operations on tensor memory */
#define EAGER	     8	/* one transfer in that many begins at issue */

/* ---- the list ------------------------------------------------------------------- */

struct cpu_async *cpu_async_get(struct cpu_cta *cta)
{
	if (!cta->async)
		cta->async =
			calloc(1, sizeof(*cta->async) + cta->nwarps * sizeof(cta->async->warps[0]));
	return cta->async;
}

static struct cpu_async_warp *warp_state(const struct cpu_warp *w)
{
	return &w->cta->async->warps[w->index];
}

struct cpu_transfer *cpu_async_new(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				   enum cpu_transfer_kind kind, enum cpu_completion completion)
{
	struct cpu_async *as = cpu_async_get(w->cta);
	struct cpu_transfer *t = as ? cpu_kept_take(&as->unused, sizeof(*t)) : NULL;

	if (!t) {
		cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_RESOURCES,
			  "no memory for a copy in flight");
		return NULL;
	}
	const struct cpu_async_warp *aw = &as->warps[w->index];
	t->warp = w;
	t->in = in;
	t->lanes = t->left = t->reading = mask;
	t->kind = (uint8_t)kind;
	t->completion = (uint8_t)completion;
	t->op = CPU_RED_NONE;
	t->type = PTX_TYPE_NONE;
	memcpy(t->group, completion == CPU_DONE_BULK_GROUP ? aw->bulk_group : aw->group,
	       sizeof(t->group));
	if (kind >= CPU_TR_BULK)
		memset(&t->bulk, 0, sizeof(t->bulk));
	return t;
}

void cpu_async_abandon(struct cpu_transfer *t)
{
	struct cpu_async *as = t->warp->cta->async;

	if (t->kind >= CPU_TR_BULK)
		free(t->bulk.buffer);
	cpu_kept_put(&as->unused, t);
}

static void finish(struct cpu_transfer *t)
{
	struct cpu_async *as = t->warp->cta->async;
	struct cpu_async_warp *aw = warp_state(t->warp);

	if (t->prev)
		t->prev->next = t->next;
	else
		aw->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		aw->last = t->prev;
	struct cpu_transfer *last = as->all[--as->n];
	as->all[t->index] = last;
	last->index = t->index;
	cpu_async_abandon(t);
}

uint32_t cpu_shared_canonical(const struct cpu_cta *cta, enum ptx_space space, uint64_t addr)
{
	uint32_t a = (uint32_t)addr; /* the windows start at multiples of 2^32 */

	return space == PTX_SPACE_SHARED ? a % CPU_RANK + cpu_shared_start(cta) : a;
}

/* ---- doing a piece ---------------------------------------------------------------------- */

/* A piece of t; false: nothing of it can be done now. A faulty transfer is dropped. */
static bool advance(struct cpu_worker *k, struct cpu_transfer *t)
{
	bool ok;

	if (t->kind >= CPU_TR_BULK) {
		ok = cpu_bulk_advance(k, t);
	} else {
		uint32_t now = cpu_async_ready_lanes(t);
		if (!now)
			return false;
		/* All, or some drawn by seed. */
		uint32_t some = k && (cpu_random(k) & 1) ? now & (uint32_t)cpu_random(k) : now;
		ok = cpu_async_do_lanes(t, some ? some : now);
	}
	if (!ok || !t->left)
		finish(t);
	return true;
}

void cpu_async_start(struct cpu_transfer *t)
{
	struct cpu_async *as = t->warp->cta->async;
	struct cpu_async_warp *aw = warp_state(t->warp);

	if (as->n == as->cap) {
		uint32_t cap = as->cap ? as->cap * 2 : 32;
		struct cpu_transfer **all = realloc(as->all, cap * sizeof(*all));
		if (!all) {
			cpu_fault(t->warp, t->in, cpu_transfer_lane(t), CPU_FAULT_RESOURCES,
				  "no memory for a copy in flight");
			cpu_async_abandon(t);
			return;
		}
		as->all = all;
		as->cap = cap;
	}
	cpu_event_issue(t);
	t->id = ++as->issued;
	t->index = as->n;
	as->all[as->n++] = t;
	t->next = NULL;
	t->prev = aw->last;
	if (aw->last)
		aw->last->next = t;
	else
		aw->first = t;
	aw->last = t;
	if (!cpu_random_below(t->warp->worker, EAGER))
		advance(t->warp->worker, t);
}

/* ---- instructions: issue ------------------------------------------------------------------ */

struct lane_aux {
	struct cpu_addr dst, src, mbar;
	uint8_t dst_space, mbar_space;
	uint8_t bytes, elem; /* of a part, of its elements */
	uint8_t nvalues, op, type;
	bool is_ignore_not, has_ignore, is_noinc;
	uint32_t values[4];
};

/* in->src[0]: bytes to read (or, has_ignore, a predicate), or CPU_NOSLOT. */
static unsigned valid_bytes(struct cpu_warp *w, const struct cpu_inst *in, unsigned l)
{
	const struct lane_aux *x = in->aux;

	if (in->src[0] == CPU_NOSLOT)
		return x->bytes;
	if (x->has_ignore)
		return (*cpu_pred(w, in->src[0]) >> l & 1) == (uint32_t)x->is_ignore_not ? x->bytes
											 : 0;
	return cpu_u32(w, in->src[0])[l];
}

static bool copy_setup(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		       struct cpu_lane_parts *p, uint64_t dst)
{
	const struct lane_aux *x = in->aux;
	unsigned n = valid_bytes(w, in, l);
	uint8_t *to = cpu_resolve(w, in, l,
				  &(struct cpu_range){.space = PTX_SPACE_SHARED,
						      .addr = dst,
						      .bytes = x->bytes,
						      .align = x->bytes,
						      .is_write = true});

	if (!to)
		return false;
	if (n > x->bytes) {
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "src-size %u is greater than cp-size %u", n,
			  x->bytes);
		return false;
	}
	if (n) {
		uint8_t *from = cpu_resolve(w, in, l,
					    &(struct cpu_range){.space = PTX_SPACE_GLOBAL,
								.addr = p->src[l],
								.bytes = n,
								.align = x->bytes});
		if (!from)
			return false;
		cpu_model_bypass(w, l, from, n);
	}
	cpu_model_bypass(w, l, to, x->bytes);
	p->host[l] = to;
	p->valid[l] = (uint8_t)n;
	p->dst[l] = cpu_shared_canonical(w->cta, PTX_SPACE_SHARED, dst);
	return true;
}

static enum cpu_step exec_copy(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct lane_aux *x = in->aux;
	struct cpu_transfer *t = cpu_async_new(w, in, mask, CPU_TR_COPY, CPU_DONE_GROUP);
	uint64_t dst[CPU_WARP];

	if (!t)
		return CPU_FAULTED;
	t->lane.bytes = x->bytes;
	cpu_addresses(w, &x->dst, dst);
	cpu_addresses(w, &x->src, t->lane.src);
	CPU_EACH_LANE (l, mask) {
		if (!copy_setup(w, in, l, &t->lane, dst[l])) {
			cpu_async_abandon(t);
			return CPU_FAULTED;
		}
	}
	cpu_async_start(t);
	return CPU_OK;
}

/* st.async, red.async */
static enum cpu_step exec_store(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct lane_aux *x = in->aux;
	struct cpu_transfer *t =
		cpu_async_new(w, in, mask, x->op ? CPU_TR_RED : CPU_TR_STORE, CPU_DONE_MBARRIER);
	uint64_t dst[CPU_WARP], mbar[CPU_WARP];

	if (!t)
		return CPU_FAULTED;
	t->lane.bytes = x->bytes;
	t->op = x->op;
	t->type = x->type;
	cpu_addresses(w, &x->dst, dst);
	cpu_addresses(w, &x->mbar, mbar);
	CPU_EACH_LANE (l, mask) {
		uint8_t *to = cpu_resolve(w, in, l,
					  &(struct cpu_range){.space = (enum ptx_space)x->dst_space,
							      .addr = dst[l],
							      .bytes = x->bytes,
							      .align = x->bytes,
							      .is_write = true});
		uint8_t *bar =
			to ? cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = (enum ptx_space)x->mbar_space,
							     .addr = mbar[l],
							     .bytes = 8,
							     .align = 8,
							     .is_write = true})
			   : NULL;
		if (!bar) {
			cpu_async_abandon(t);
			return CPU_FAULTED;
		}
		t->lane.dst[l] = cpu_shared_canonical(w->cta, (enum ptx_space)x->dst_space, dst[l]);
		t->lane.mbar[l] =
			cpu_shared_canonical(w->cta, (enum ptx_space)x->mbar_space, mbar[l]);
		for (unsigned i = 0; i < x->nvalues; i++) {
			const uint8_t *slot = cpu_slot(w, x->values[i]);
			memcpy((uint8_t *)t->lane.data[l] + i * x->elem, slot + l * x->elem,
			       x->elem);
		}
	}
	cpu_async_start(t);
	return CPU_OK;
}

static enum cpu_step exec_mbarrier_arrive(struct cpu_warp *w, const struct cpu_inst *in,
					  uint32_t mask)
{
	const struct lane_aux *x = in->aux;
	struct cpu_transfer *t = cpu_async_new(w, in, mask, CPU_TR_ARRIVE, CPU_DONE_MBARRIER);
	struct cpu_mbar_change c = {.more = x->is_noinc ? 0 : 1};
	uint64_t mbar[CPU_WARP];

	if (!t)
		return CPU_FAULTED;
	cpu_addresses(w, &x->mbar, mbar);
	CPU_EACH_LANE (l, mask) {
		uint8_t *p = cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = (enum ptx_space)x->mbar_space,
							     .addr = mbar[l],
							     .bytes = 8,
							     .align = 8,
							     .is_write = true});
		const char *why = p && c.more ? cpu_mbarrier_apply(p, &c, NULL) : NULL;
		if (why)
			cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "%s", why);
		if (!p || why) {
			cpu_async_abandon(t);
			return CPU_FAULTED;
		}
		t->lane.mbar[l] =
			cpu_shared_canonical(w->cta, (enum ptx_space)x->mbar_space, mbar[l]);
		struct cpu_mbar_use u = {CPU_MBAR_OTHER, PTX_SEM_RELAXED, PTX_SCOPE_CTA, false};
		cpu_event_mbarrier(w, in, l, p, &u);
	}
	cpu_async_start(t);
	return CPU_OK;
}

/* ---- instructions: groups ---------------------------------------------------------------- */

static enum cpu_step exec_commit(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_async *as = cpu_async_get(w->cta);

	if (!as)
		return cpu_fault(w, in, 0, CPU_FAULT_RESOURCES, "no memory for copies in flight");
	struct cpu_async_warp *aw = &as->warps[w->index];
	uint32_t *group = in->sub == CPU_DONE_BULK_GROUP ? aw->bulk_group : aw->group;
	CPU_EACH_LANE (l, mask)
		group[l]++;
	return CPU_OK;
}

/* Does the transfer hold back a wait of `mask`, for all groups but the newest `keep` closed ones?
 * `open`: the number of each lane's open group. */
static bool holds_back(const struct cpu_transfer *t, const uint32_t *open, uint32_t mask,
		       uint32_t keep, bool is_read)
{
	uint32_t left = (is_read ? t->reading : t->left) & mask;

	CPU_EACH_LANE (l, left)
		if (open[l] - t->group[l] > keep)
			return true;
	return false;
}

/* The imm of a wait: groups that may be pending, and two flags. */
#define WAIT_KEEP 0xffffffffull
#define WAIT_READ (1ull << 32)
#define WAIT_ALL  (1ull << 33)

/* wait_all: groups that are not closed, too. */
static enum cpu_step wait_all(const struct cpu_async_warp *aw, uint32_t mask)
{
	for (const struct cpu_transfer *t = aw->first; t; t = t->next)
		if (t->kind == CPU_TR_COPY && (t->left & mask))
			return CPU_RETRY;
	return CPU_OK;
}

static enum cpu_step exec_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_async *as = w->cta->async;
	bool is_bulk = in->sub == CPU_DONE_BULK_GROUP, is_read = in->imm & WAIT_READ;

	if (!as)
		return CPU_OK;
	struct cpu_async_warp *aw = &as->warps[w->index];
	uint32_t *group = is_bulk ? aw->bulk_group : aw->group;
	if (in->imm & WAIT_ALL) {
		enum cpu_step step = wait_all(aw, mask);
		if (step == CPU_OK)
			cpu_event_group_wait(w, mask, CPU_DONE_GROUP, group, 0, false, true);
		return step;
	}
	for (const struct cpu_transfer *t = aw->first; t; t = t->next)
		if (t->completion == in->sub &&
		    holds_back(t, group, mask, (uint32_t)(in->imm & WAIT_KEEP), is_read))
			return CPU_RETRY;
	cpu_event_group_wait(w, mask, in->sub, group, (uint32_t)(in->imm & WAIT_KEEP), is_read,
			     false);
	/* A bulk copy wrote global memory, bypassing the block's cache. */
	if (is_bulk && !is_read)
		cpu_acquire(w, mask, PTX_SCOPE_GPU);
	return CPU_OK;
}

static enum cpu_step exec_nothing(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)w, (void)in, (void)mask;
	return CPU_OK;
}

/* ---- binding ---------------------------------------------------------------------------- */

static enum cpu_bound bind_copy(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct lane_aux *x = cpu_dec_alloc(d, sizeof(*x));
	unsigned n = s->nops - (ptx_form_has(s->form, PTX_MOD_L2_CACHE_HINT) ? 1u : 0u);

	if (n < 3 || s->ops[2].kind != PTX_OPND_INT)
		return cpu_dec_unsupported(d, in, "cp-size is no constant");
	x->bytes = (uint8_t)s->ops[2].imm;
	if (s->ops[2].imm != 4 && s->ops[2].imm != 8 && s->ops[2].imm != 16)
		return cpu_dec_unsupported(d, in, "cp-size is not 4, 8 or 16");
	x->dst = cpu_dec_addr(d, s, &s->ops[0]);
	x->src = cpu_dec_addr(d, s, &s->ops[1]);
	in->src[0] = CPU_NOSLOT;
	if (n > 3) {
		const struct ptx_opnd *op = &s->ops[3];
		x->has_ignore = op->kind == PTX_OPND_REG && cpu_dec_bytes(d, op, PTX_TYPE_U32) == 0;
		x->is_ignore_not = cpu_dec_is_not(op);
		in->src[0] = cpu_dec_src(d, op, x->has_ignore ? PTX_TYPE_PRED : PTX_TYPE_U32);
	}
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_copy;
	return CPU_BOUND;
}

/* st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}.type [a], b, [mbar] */
static enum cpu_bound bind_store(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct lane_aux *x = cpu_dec_alloc(d, sizeof(*x));
	const struct ptx_opnd *v = &s->ops[1];

	if (!ptx_form_has(f, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES) || s->nops != 3 ||
	    f->space == PTX_SPACE_GLOBAL)
		return cpu_dec_unsupported(d, in, "only the form that completes on an mbarrier");
	if (!f->ntypes)
		return cpu_dec_unsupported(d, in, "no type");
	enum ptx_type type = (enum ptx_type)f->types[0];
	if (f->op == PTX_OP_RED_ASYNC) {
		enum cpu_red_op op;
		if (!cpu_reduce_find(f, &op, &type))
			return cpu_dec_unsupported(d, in, "operation and type of the reduction");
		x->op = (uint8_t)op;
	}
	x->type = (uint8_t)type;
	x->elem = (uint8_t)ptx_type_bytes(type);
	x->nvalues = v->kind == PTX_OPND_VEC ? v->nsub : 1;
	x->bytes = (uint8_t)(x->elem * x->nvalues);
	if (x->nvalues > 4 || (x->elem != 4 && x->elem != 8) || x->bytes > 16)
		return cpu_dec_unsupported(d, in, "size of the value");
	for (unsigned i = 0; i < x->nvalues; i++)
		x->values[i] = cpu_dec_src(d, v->kind == PTX_OPND_VEC ? &v->sub[i] : v, type);
	x->dst = cpu_dec_addr(d, s, &s->ops[0]);
	x->mbar = cpu_dec_addr(d, s, &s->ops[2]);
	x->dst_space = x->mbar_space = f->space;
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_store;
	return CPU_BOUND;
}

static enum cpu_bound bind_arrive(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct lane_aux *x = cpu_dec_alloc(d, sizeof(*x));

	x->mbar = cpu_dec_addr(d, s, &s->ops[0]);
	x->mbar_space = s->form->space;
	x->is_noinc = ptx_form_has(s->form, PTX_MOD_NOINC);
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_mbarrier_arrive;
	return CPU_BOUND;
}

static enum cpu_bound bind_wait(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
				enum cpu_completion kind)
{
	in->sub = (uint8_t)kind;
	if (s->form->op == PTX_OP_CP_ASYNC_WAIT_ALL) {
		in->imm = WAIT_ALL;
	} else {
		if (s->nops < 1 || s->ops[0].kind != PTX_OPND_INT || s->ops[0].imm < 0)
			return cpu_dec_unsupported(d, in, "the number of groups is no constant");
		in->imm = (uint64_t)s->ops[0].imm & WAIT_KEEP;
		if (ptx_form_has(s->form, PTX_MOD_READ))
			in->imm |= WAIT_READ;
	}
	in->flags |= CPU_I_PARTS | CPU_I_MEMORY;
	in->fn = exec_wait;
	return CPU_BOUND;
}

/* ---- public ----------------------------------------------------------------------------- */

bool cpu_async_pending(const struct cpu_cta *cta)
{
	const struct cpu_async *as = cta->async;

	return as && (as->n || cpu_tc_pending(as) || cpu_products_pending(as, cta->nwarps));
}

bool cpu_async_step(struct cpu_worker *k, struct cpu_cta *cta)
{
	struct cpu_async *as = cta->async;

	if (!as)
		return false;
	bool is_product = cpu_products_step(k, cta);
	bool is_slow = (cta->linear ^ cta->grid->m->opt.seed ^ cta->grid->id) % SLOW_BLOCKS == 0;
	if (cpu_tc_pending(as)) {
		is_product = true;
		if (!cpu_random_below(k, is_slow ? SLOWNESS : TENSOR_STEPS))
			cpu_tc_step(cta);
	}
	if (!as->n)
		return is_product;
	if (is_slow && cpu_random_below(k, SLOWNESS))
		return true;
	unsigned pieces = 1 + cpu_random_below(k, PIECES);
	while (pieces-- && as->n) {
		uint32_t first = cpu_random_below(k, as->n);
		/* The oldest one of each warp is not an arrival that waits, so some transfer can
		 * advance. */
		for (uint32_t i = 0; i < as->n; i++)
			if (advance(k, as->all[(first + i) % as->n]))
				break;
	}
	return true;
}

/* Does what the transfer writes outlive the block? */
static bool is_seen_outside(const struct cpu_transfer *t, const struct cpu_cta *cta)
{
	uint32_t own = cta->rank;

	if (t->kind >= CPU_TR_BULK)
		return t->bulk.dst_space == PTX_SPACE_GLOBAL || t->bulk.dst / CPU_RANK != own;
	if (t->kind != CPU_TR_STORE && t->kind != CPU_TR_RED)
		return false;
	CPU_EACH_LANE (l, t->left)
		if (t->lane.dst[l] / CPU_RANK != own)
			return true;
	return false;
}

void cpu_async_free(struct cpu_cta *cta)
{
	struct cpu_async *as = cta->async;

	if (!as)
		return;
	while (as->n) {
		struct cpu_transfer *t = as->all[as->n - 1];
		/* The oracle must also see copies that have not been waited for. */
		bool is_judged = cta->grid->events && t->kind != CPU_TR_ARRIVE;
		if (is_seen_outside(t, cta) || is_judged)
			advance(NULL, t);
		else
			finish(t);
	}
	cpu_products_free(cta);
	cpu_tc_finish(cta);
	cpu_tmem_free(cta);
	cpu_kept_free(as->unused);
	for (uint32_t i = 0; i < cta->nwarps; i++)
		cpu_event_async_free(&as->warps[i]);
	free(as->all);
	free(as);
	cta->async = NULL;
}

cpu_binder cpu_bind_async;

enum cpu_bound cpu_bind_async(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_CP_ASYNC:
		return bind_copy(d, s, in);
	case PTX_OP_ST_ASYNC:
	case PTX_OP_RED_ASYNC:
		return bind_store(d, s, in);
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		return bind_arrive(d, s, in);
	case PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
		in->sub = s->form->op == PTX_OP_CP_ASYNC_COMMIT_GROUP ? CPU_DONE_GROUP
								      : CPU_DONE_BULK_GROUP;
		in->fn = exec_commit;
		return CPU_BOUND;
	case PTX_OP_CP_ASYNC_WAIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_ALL:
		return bind_wait(d, s, in, CPU_DONE_GROUP);
	case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		return bind_wait(d, s, in, CPU_DONE_BULK_GROUP);
	case PTX_OP_CP_ASYNC_BULK_PREFETCH:
	case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
		in->fn = exec_nothing;
		return CPU_BOUND;
	case PTX_OP_CP_ASYNC_BULK:
	case PTX_OP_CP_REDUCE_ASYNC_BULK:
		return cpu_bind_bulk(d, s, in);
	case PTX_OP_CP_ASYNC_BULK_TENSOR:
	case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
		return cpu_bind_tensor(d, s, in);
	case PTX_OP_TENSORMAP_REPLACE:
	case PTX_OP_TENSORMAP_CP_FENCEPROXY:
		return cpu_bind_tensormap(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
