/*
 * bulk.c - cp.async.bulk and cp.reduce.async.bulk: plain bytes in bulk.
 *
 * A transfer is cut into units of 16 bytes (a row of the box for a tensor copy)
 * and begins at a unit drawn by seed, going around. Copies to a mbarrier go
 * straight from source to destination; those of a bulk group, shared to global,
 * are staged: first all units are read, which is what .read waits for, then all
 * are written. When the last unit is done the mbarrier gets its complete_tx of
 * all bytes, or the group ends. A multicast is one transfer for each block that gets the data, so
 * that they end separately.
 *
 * Misses: a complete_tx for each part of a copy; only the tx-count could show it.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define UNIT	  16u
#define PIECE_MAX 512u /* bytes of a piece, or one unit */

struct bulk_aux {
	struct cpu_addr dst, src, mbar;
	uint8_t dst_space, src_space; /* enum ptx_space */
	uint8_t op, type;	      /* of a reduction */
	bool is_group;
	uint32_t size, cta_mask, byte_mask; /* slots, or CPU_NOSLOT */
};

/* ---- pieces ---------------------------------------------------------------------- */

static void write_masked(uint8_t *dst, const uint8_t *src, uint32_t bytes, uint32_t mask)
{
	if (mask == 0xffff) {
		memcpy(dst, src, bytes);
		return;
	}
	for (uint32_t i = 0; i < bytes; i++)
		if (mask >> i % UNIT & 1)
			dst[i] = src[i];
}

/* Units [first, first + n) of plain bytes. */
static bool move_units(struct cpu_transfer *t, uint32_t first, uint32_t n, bool is_read,
		       bool is_write)
{
	struct cpu_bulk_part *b = &t->bulk;
	struct cpu_cta *cta = t->warp->cta;
	uint32_t off = first * UNIT, bytes = n * UNIT;
	const uint8_t *from = NULL;

	if (is_read) {
		from = cpu_resolve_async(cta, t->in, (enum ptx_space)b->src_space, b->src + off,
					 bytes, 0, false);
		if (!from)
			return false;
		cpu_event_part(t, cpu_transfer_lane(t), false, from, bytes);
	}
	if (b->is_staged) {
		if (is_read)
			memcpy(b->buffer + off, from, bytes);
		from = b->buffer + off;
	}
	if (!is_write)
		return true;
	uint8_t *to = cpu_resolve_async(cta, t->in, (enum ptx_space)b->dst_space, b->dst + off,
					bytes, 0, true);
	if (!to)
		return false;
	if (b->byte_mask == 0xffff)
		cpu_event_part(t, cpu_transfer_lane(t), true, to, bytes);
	for (uint32_t i = 0; b->byte_mask != 0xffff && i < bytes; i++)
		if (b->byte_mask >> i % UNIT & 1)
			cpu_event_part(t, cpu_transfer_lane(t), true, to + i, 1);
	if (t->op)
		cpu_reduce(to, from, bytes, (enum cpu_red_op)t->op, (enum ptx_type)t->type);
	else
		write_masked(to, from, bytes, b->byte_mask);
	return true;
}

static bool move(struct cpu_transfer *t, uint32_t first, uint32_t n, bool is_read, bool is_write)
{
	if (t->kind == CPU_TR_TENSOR)
		return cpu_tensor_rows(t, first, n, is_read, is_write);
	return move_units(t, first, n, is_read, is_write);
}

/* How many of the units after `done` make the next piece; where it starts goes to *at. */
static uint32_t next_piece(struct cpu_worker *k, const struct cpu_bulk_part *b, uint32_t done,
			   uint32_t *at)
{
	uint32_t most = b->unit < PIECE_MAX ? PIECE_MAX / b->unit : 1;
	uint32_t n = b->units - done;

	*at = done + b->first < b->units ? done + b->first : done + b->first - b->units;
	if (k && n > 1) {
		uint32_t some = 1 + cpu_random_below(k, most);
		n = some < n ? some : n;
	}
	return n < b->units - *at ? n : b->units - *at;
}

static bool end(struct cpu_transfer *t)
{
	uint32_t unit = t->kind == CPU_TR_TENSOR ? t->bulk.box.moved : t->bulk.unit;
	struct cpu_mbar_change c = {.tx = -(int32_t)(t->bulk.units * unit)};
	unsigned lane = cpu_transfer_lane(t);

	if (t->completion == CPU_DONE_MBARRIER && !cpu_mbarrier_signal(t, lane, t->bulk.mbar, &c))
		return false;
	cpu_event_done(t, lane);
	t->left = 0;
	return true;
}

bool cpu_bulk_advance(struct cpu_worker *k, struct cpu_transfer *t)
{
	struct cpu_bulk_part *b = &t->bulk;
	uint32_t at, n;

	do {
		if (b->written == b->units)
			return end(t);
		bool is_read = b->read < b->units, is_write = !b->is_staged || !is_read;
		n = next_piece(k, b, is_read ? b->read : b->written, &at);
		if (!move(t, at, n, is_read, is_write))
			return false;
		b->read += is_read ? n : 0;
		b->written += is_write ? n : 0;
		if (b->read == b->units)
			t->reading = 0;
	} while (!k || b->written == b->units);
	return true;
}

/* ---- issue ------------------------------------------------------------------------- */

static bool check_ends(struct cpu_warp *w, const struct cpu_inst *in, unsigned l, uint64_t dst,
		       uint64_t src, uint32_t size)
{
	const struct bulk_aux *x = in->aux;

	if (size % UNIT) {
		cpu_fault(w, in, l, CPU_FAULT_MISALIGNED,
			  "a bulk copy of %u bytes, no multiple of 16", size);
		return false;
	}
	/* An empty copy has addresses nevertheless. */
	uint32_t bytes = size ? size : 1;
	uint8_t *to = cpu_resolve(w, in, l,
				  &(struct cpu_range){.space = (enum ptx_space)x->dst_space,
						      .addr = dst,
						      .bytes = bytes,
						      .align = UNIT,
						      .is_write = true});
	uint8_t *from = to ? cpu_resolve(w, in, l,
					 &(struct cpu_range){.space = (enum ptx_space)x->src_space,
							     .addr = src,
							     .bytes = bytes,
							     .align = UNIT})
			   : NULL;
	if (!from)
		return false;
	cpu_model_bypass(w, l, to, size);
	cpu_model_bypass(w, l, from, size);
	return true;
}

static uint64_t canonical(const struct cpu_warp *w, uint8_t space, uint64_t addr)
{
	return space == PTX_SPACE_GLOBAL
		       ? addr
		       : cpu_shared_canonical(w->cta, (enum ptx_space)space, addr);
}

static bool issue_one(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		      const struct cpu_bulk_job *job, const struct cpu_bulk_part *part)
{
	struct cpu_transfer *t = cpu_async_new(w, in, 1u << l, job->kind, job->completion);

	if (!t)
		return false;
	t->bulk = *part;
	t->op = job->op;
	t->type = job->type;
	if (part->units)
		t->bulk.first = cpu_random_below(w->worker, part->units);
	if (part->is_staged) {
		t->bulk.buffer = malloc((size_t)part->units * part->unit + 1);
		if (!t->bulk.buffer) {
			cpu_fault(w, in, l, CPU_FAULT_RESOURCES, "no memory for %s", job->what);
			cpu_async_abandon(t);
			return false;
		}
	}
	cpu_async_start(t);
	return true;
}

bool cpu_bulk_issue(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		    const struct cpu_bulk_job *job, struct cpu_bulk_part *part)
{
	if (job->cta_mask == CPU_NOSLOT)
		return issue_one(w, in, l, job, part);
	uint32_t ctas = cpu_u16(w, job->cta_mask)[l];
	uint32_t dst = (uint32_t)part->dst % CPU_RANK, mbar = part->mbar % CPU_RANK;
	uint32_t odd = part->mbar / CPU_RANK % 2;
	if (!ctas || ctas >> w->cta->cluster->size) {
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
			  "multicast to blocks 0x%x of a cluster of %u", ctas,
			  w->cta->cluster->size);
		return false;
	}
	CPU_EACH_LANE (r, ctas) {
		part->dst = dst + r * CPU_RANK;
		part->mbar = mbar + (job->is_pair ? r / 2 * 2 + odd : r) * CPU_RANK;
		if (!issue_one(w, in, l, job, part))
			return false;
	}
	return true;
}

static enum cpu_step exec_bulk(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct bulk_aux *x = in->aux;
	uint64_t dst[CPU_WARP], src[CPU_WARP], mbar[CPU_WARP];
	const uint32_t *size = cpu_u32(w, x->size);
	/* As the destination: of the executing block where that is .shared::cta. */
	enum ptx_space mbar_space =
		x->dst_space == PTX_SPACE_SHARED ? PTX_SPACE_SHARED : PTX_SPACE_SHARED_CLUSTER;
	struct cpu_bulk_job job = {.kind = CPU_TR_BULK,
				   .completion =
					   x->is_group ? CPU_DONE_BULK_GROUP : CPU_DONE_MBARRIER,
				   .op = x->op,
				   .type = x->type,
				   .cta_mask = x->cta_mask,
				   .what = "a bulk copy"};

	cpu_addresses(w, &x->dst, dst);
	cpu_addresses(w, &x->src, src);
	if (!x->is_group)
		cpu_addresses(w, &x->mbar, mbar);
	CPU_EACH_LANE (l, mask) {
		if (!check_ends(w, in, l, dst[l], src[l], size[l]))
			return CPU_FAULTED;
		if (!x->is_group && !cpu_resolve(w, in, l,
						 &(struct cpu_range){.space = mbar_space,
								     .addr = mbar[l],
								     .bytes = 8,
								     .align = 8,
								     .is_write = true}))
			return CPU_FAULTED;
		struct cpu_bulk_part part = {
			.src = canonical(w, x->src_space, src[l]),
			.dst = canonical(w, x->dst_space, dst[l]),
			.src_space = x->src_space == PTX_SPACE_GLOBAL ? PTX_SPACE_GLOBAL
								      : PTX_SPACE_SHARED_CLUSTER,
			.dst_space = x->dst_space == PTX_SPACE_GLOBAL ? PTX_SPACE_GLOBAL
								      : PTX_SPACE_SHARED_CLUSTER,
			.is_staged = x->is_group,
			.byte_mask = x->byte_mask == CPU_NOSLOT ? (uint16_t)0xffff
								: cpu_u16(w, x->byte_mask)[l],
			.mbar = x->is_group ? 0 : cpu_shared_canonical(w->cta, mbar_space, mbar[l]),
			.units = size[l] / UNIT,
			.unit = UNIT,
		};
		if (!cpu_bulk_issue(w, in, l, &job, &part))
			return CPU_FAULTED;
	}
	return CPU_OK;
}

/* ---- binding ------------------------------------------------------------------------- */

enum cpu_bound cpu_bind_bulk(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct bulk_aux *x = cpu_dec_alloc(d, sizeof(*x));
	unsigned n = 3;

	if (ptx_form_has(f, PTX_MOD_IGNORE_OOB))
		return cpu_dec_unsupported(d, in, "modifier .ignore_oob");
	if (f->has_unknown_mod)
		return cpu_dec_unsupported(d, in, "a modifier that is not known");
	x->is_group = ptx_form_has(f, PTX_MOD_BULK_GROUP);
	if (!x->is_group && !ptx_form_has(f, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
		return cpu_dec_unsupported(d, in, "a bulk copy without completion mechanism");
	if (f->op == PTX_OP_CP_REDUCE_ASYNC_BULK) {
		enum cpu_red_op op;
		enum ptx_type type;
		if (!cpu_reduce_find(f, &op, &type))
			return cpu_dec_unsupported(d, in, "operation and type of the reduction");
		x->op = (uint8_t)op;
		x->type = (uint8_t)type;
	}
	x->dst_space = f->space;
	x->src_space = f->space2;
	x->dst = cpu_dec_addr(d, s, &s->ops[0]);
	x->src = cpu_dec_addr(d, s, &s->ops[1]);
	x->size = cpu_dec_src(d, &s->ops[2], PTX_TYPE_U32);
	x->cta_mask = x->byte_mask = CPU_NOSLOT;
	if (!x->is_group)
		x->mbar = cpu_dec_addr(d, s, &s->ops[n++]);
	if (ptx_form_has(f, PTX_MOD_MULTICAST_CLUSTER))
		x->cta_mask = cpu_dec_src(d, &s->ops[n++], PTX_TYPE_U16);
	if (ptx_form_has(f, PTX_MOD_L2_CACHE_HINT))
		n++;
	if (ptx_form_has(f, PTX_MOD_CP_MASK))
		x->byte_mask = cpu_dec_src(d, &s->ops[n++], PTX_TYPE_U16);
	if (n > s->nops)
		return cpu_dec_unsupported(d, in, "operands of a bulk copy");
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_bulk;
	return CPU_BOUND;
}
