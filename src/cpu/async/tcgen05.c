/*
 * tcgen05.c - tcgen05.mma, cp, shift and commit under way: issued by a thread, executed later.
 *
 * A block's operations are executed in the order of issue: at once, between any two turns of warps,
 * or, mostly, much later; the seed picks. So what a program overwrites too early is there in some
 * runs, and what it reads too early is what was there before. Which of them the ISA orders is the
 * oracle's matter (events/tmem.c); by values all are in order. With cta_group::2 the operation
 * reads shared memory and writes tensor memory of both blocks of the pair. A commit arrives on its
 * mbarriers when its turn has come.
 *
 * Misses: an operation is executed as one; two of its reads never see different moments.
 * Costs: some 200 bytes of an operation under way; they are kept for the next one.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"
#include "cpu/wgmma.h"

#include <string.h>

#define EAGER 4 /* one operation in that many is executed at once, with all before it */
#define UNIT  CPU_WGMMA_UNIT

/* The block whose first rows D has, and which has B's first columns, is the even one. */
static struct cpu_cta *cta_of(const struct cpu_tc_op *op, unsigned r)
{
	struct cpu_cta *own = op->warp->cta;

	if (op->x->blocks == 1)
		return own;
	return own->cluster->ctas[(own->rank & ~1u) | r];
}

static struct cpu_tmem *tmem_of(const struct cpu_cta *cta)
{
	return cta->async ? cta->async->tmem : NULL;
}

/* ---- products ---------- */

struct units {
	const uint8_t *a[2][CPU_TC_UNITS_A], *b[2][CPU_TC_UNITS_B];
	uint32_t na, nb, at[CPU_TC_UNITS_B];
};

static bool resolve_unit(struct cpu_tc_op *op, struct cpu_cta *cta, uint32_t at,
			 const uint8_t **unit)
{
	*unit = cpu_resolve_async(cta, op->in, PTX_SPACE_SHARED, at & 0xffffff, UNIT, 0, false);
	return *unit != NULL;
}

static bool find_units(struct cpu_tc_op *op, struct cpu_cta *cta, uint64_t desc,
		       const struct ptx_matrix_shape *shape, const uint8_t **unit, uint32_t *at)
{
	uint32_t n = ptx_matrix_units(desc, shape, at);

	for (uint32_t i = 0; i < n; i++)
		if (!resolve_unit(op, cta, at[i], &unit[i]))
			return false;
	cpu_event_tc_units(op, cta, unit, n);
	return true;
}

/* Is a column that the i-th unit of B belongs to multiplied? */
static bool is_used(const struct cpu_tc_op *op, const struct ptx_matrix_shape *b, uint32_t i)
{
	const struct cpu_tc_zeros *z = &op->zeros;
	uint32_t groups = b->is_transposed ? b->rows / b->per : 0;
	uint32_t first = groups ? i % groups * b->per : i / b->units, n = groups ? b->per : 1;

	for (uint32_t c = first; c < first + n; c++)
		if (c >= z->shift && c - z->shift < op->shape.n &&
		    !(z->zero[(c - z->shift) / 64] >> (c - z->shift) % 64 & 1))
			return true;
	return false;
}

/* B with columns that are zero by their mask: these aren't read. */
static bool find_masked(struct cpu_tc_op *op, struct cpu_cta *cta,
			const struct ptx_matrix_shape *shape, const uint8_t **unit, uint32_t *at)
{
	static const uint8_t zero[UNIT];
	const uint8_t *used[CPU_TC_UNITS_B];
	uint32_t n = ptx_matrix_units(op->desc_b, shape, at), nused = 0;

	for (uint32_t i = 0; i < n; i++) {
		unit[i] = zero;
		if (!is_used(op, shape, i))
			continue;
		if (!resolve_unit(op, cta, at[i], &unit[i]))
			return false;
		used[nused++] = unit[i];
	}
	cpu_event_tc_units(op, cta, used, nused);
	return true;
}

static struct ptx_matrix_shape shape_of(const struct cpu_tc_shape *s, uint32_t rows, uint32_t k,
					bool is_trans)
{
	return (struct ptx_matrix_shape){.rows = rows,
					 .k = k,
					 .units = k * s->bits / 128,
					 .per = 128u / s->bits,
					 .is_transposed = is_trans};
}

static uint32_t lane_of(uint32_t addr)
{
	return addr >> 16 & 127;
}

static uint32_t col_of(uint32_t addr)
{
	return addr & 0xffff;
}

/* Columns that metadata and A take in tensor memory; that the scales of n rows or columns do. */
static uint32_t meta_cols(const struct cpu_tc_shape *s)
{
	return s->bits <= 8 ? 2 : 1;
}

static uint32_t a_cols(const struct cpu_tc_op *op)
{
	return op->shape.k * op->shape.bits / 32u / (op->x->is_sparse ? 2 : 1);
}

/* Those of `nscales` in bytes from `first` on. */
static uint32_t scale_cols(uint32_t n, uint32_t first, uint32_t nscales)
{
	return (n + 31) / 32 + (first + nscales > 4 ? cpu_tc_scale_step(n) : 0);
}

static void report_scales(struct cpu_tc_op *op, struct cpu_cta *cta, const struct cpu_tmem *tm,
			  uint32_t at, uint32_t n, uint32_t first)
{
	uint32_t lanes[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

	cpu_event_tc_tmem(op, cta, tm, false, at, (n + 31) / 32, lanes);
	if (first + op->shape.nscales > 4)
		cpu_event_tc_tmem(op, cta, tm, false, at + cpu_tc_scale_step(n), (n + 31) / 32,
				  lanes);
}

/* Tensor memory that the product uses in one block, for the judge: D last. */
static void report_areas(struct cpu_tc_op *op, struct cpu_cta *cta, const struct cpu_tmem *tm,
			 const uint32_t *masked)
{
	const struct cpu_tc_shape *s = &op->shape;
	uint32_t lanes[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
		 wide = s->n / s->parts;

	if (s->nscales) {
		report_scales(op, cta, tm, col_of(op->sfa), s->rows, s->scale_a);
		report_scales(op, cta, tm, col_of(op->sfb), wide, s->scale_b);
	}
	if (s->is_half)
		for (unsigned i = 0; i < 4; i++)
			lanes[i] = 0xffffu << lane_of(op->d);
	if (op->x->is_sparse)
		cpu_event_tc_tmem(op, cta, tm, false, col_of(op->meta) + s->selector, meta_cols(s),
				  lanes);
	if (op->x->is_a_tmem)
		cpu_event_tc_tmem(op, cta, tm, false, col_of(op->a), a_cols(op), lanes);
	for (unsigned i = 0; masked && i < 4; i++)
		lanes[i] &= ~masked[i];
	cpu_event_tc_tmem(op, cta, tm, true, col_of(op->d), wide, lanes);
}

static void multiply(struct cpu_tc_op *op, unsigned r, const struct units *u)
{
	const struct cpu_tc *x = op->x;
	struct cpu_cta *cta = cta_of(op, r);
	struct cpu_tmem *tm = tmem_of(cta);
	const uint32_t *masked = x->nmask ? op->mask + 4 * r : NULL;
	struct cpu_tc_tile t = {.s = &op->shape,
				.a = x->is_a_tmem ? NULL : u->a[r],
				.b = {u->b[0], u->b[1]},
				.nb = op->shape.n / x->blocks,
				.d = col_of(op->d),
				.at = col_of(op->a),
				.meta = col_of(op->meta),
				.sfa = col_of(op->sfa),
				.sfb = col_of(op->sfb),
				.lane = lane_of(op->d),
				.masked = masked,
				.is_added = op->is_added,
				.is_sparse = x->is_sparse,
				.is_a_shifted = x->is_a_shifted,
				.shift = x->shift,
				.zeros = &op->zeros};

	/* Its block may have ended, whatever it has under way. */
	if (!tm)
		return;
	t.word = tm->word;
	report_areas(op, cta, tm, masked);
	x->multiply(&t);
}

static void execute_mma(struct cpu_tc_op *op)
{
	const struct cpu_tc *x = op->x;
	const struct cpu_tc_shape *s = &op->shape;
	uint32_t stored = s->k / (x->is_sparse ? 2u : 1u);
	struct ptx_matrix_shape sa = shape_of(s, s->rows, stored, s->is_trans_a);
	struct ptx_matrix_shape sb =
		shape_of(s, cpu_tc_cols(s, x->blocks, op->zeros.shift), s->k, s->is_trans_b);
	struct units u;

	for (unsigned r = 0; r < x->blocks; r++) {
		struct cpu_cta *cta = cta_of(op, r);
		if (!x->is_a_tmem && !find_units(op, cta, op->desc_a, &sa, u.a[r], u.at))
			return;
		if (!(x->zeros == CPU_NOSLOT ? find_units(op, cta, op->desc_b, &sb, u.b[r], u.at)
					     : find_masked(op, cta, &sb, u.b[r], u.at)))
			return;
	}
	for (unsigned r = 0; r < x->blocks; r++)
		multiply(op, r, &u);
}

/* ---- copies, shifts ---------- */

/* 16 bytes of shared memory as 16 bytes of tensor memory. */
static void unpack(const uint8_t *from, unsigned bits, uint8_t *to)
{
	if (bits == 8) {
		memcpy(to, from, UNIT);
		return;
	}
	for (unsigned i = 0; i < UNIT; i++) {
		unsigned at = i * bits, v = from[at / 8] | (unsigned)from[at / 8 + 1] << 8;
		v = v >> at % 8 & ((1u << bits) - 1);
		to[i] = (uint8_t)(bits == 4 ? v << 2 : v);
	}
}

/* The lanes that row `row` goes to, as a mask by words of 32. */
static void lanes_of(const struct cpu_tc *x, uint32_t row, uint32_t first, uint32_t lanes[4])
{
	uint32_t part = row / 32, bit = 1u << row % 32;

	memset(lanes, 0, 4 * sizeof(lanes[0]));
	switch (x->copy_kind) {
	case CPU_TC_COPY_X4:
		for (unsigned i = 0; i < 4; i++)
			lanes[i] = bit;
		return;
	case CPU_TC_COPY_02_13:
		lanes[part] = lanes[part + 2] = bit;
		return;
	case CPU_TC_COPY_01_23:
		lanes[part * 2] = lanes[part * 2 + 1] = bit;
		return;
	case CPU_TC_COPY_4:
		lanes[row] = 1u << first % 32;
		return;
	default:
		lanes[part] = bit;
		return;
	}
}

static void copy_row(const struct cpu_tc_op *op, struct cpu_tmem *tm, uint32_t row,
		     const uint8_t *const *unit, uint32_t lanes[4])
{
	uint32_t words[8], units = op->x->copy_bytes / UNIT;

	for (uint32_t i = 0; i < units; i++)
		unpack(unit[row * units + i], op->x->copy_bits, (uint8_t *)(words + i * 4));
	lanes_of(op->x, row, lane_of(op->d), lanes);
	for (unsigned p = 0; p < 4; p++)
		CPU_EACH_LANE (l, lanes[p])
			for (uint32_t i = 0; i < units * 4; i++)
				tm->word[col_of(op->d) + i][p * 32 + l] = words[i];
}

static void execute_copy(struct cpu_tc_op *op)
{
	const struct cpu_tc *x = op->x;
	struct ptx_matrix_shape shape = {.rows = x->copy_rows, .units = x->copy_bytes / UNIT};
	uint32_t at[CPU_TC_UNITS_A], lanes[4], all[4];
	const uint8_t *unit[CPU_TC_UNITS_A];

	for (unsigned r = 0; r < x->blocks; r++) {
		struct cpu_cta *cta = cta_of(op, r);
		struct cpu_tmem *tm = tmem_of(cta);
		if (!tm || !find_units(op, cta, op->desc_a, &shape, unit, at))
			return;
		memset(all, 0, sizeof(all));
		for (uint32_t row = 0; row < x->copy_rows; row++) {
			copy_row(op, tm, row, unit, lanes);
			for (unsigned p = 0; p < 4; p++)
				all[p] |= lanes[p];
		}
		cpu_event_tc_tmem(op, cta, tm, true, col_of(op->d), x->copy_bytes / 4u, all);
	}
}

#define SHIFT_COLS 8u /* 32 bytes */

/* Of 32 lanes, each but the last takes the next one's. */
static void execute_shift(struct cpu_tc_op *op)
{
	uint32_t first = lane_of(op->d), lanes[4] = {0};

	lanes[first / 32] = UINT32_MAX;
	for (unsigned r = 0; r < op->x->blocks; r++) {
		struct cpu_cta *cta = cta_of(op, r);
		struct cpu_tmem *tm = tmem_of(cta);
		if (!tm)
			return;
		cpu_event_tc_tmem(op, cta, tm, true, col_of(op->d), SHIFT_COLS, lanes);
		for (uint32_t i = 0; i < SHIFT_COLS; i++) {
			uint32_t *w = &tm->word[col_of(op->d) + i][first];
			memmove(w, w + 1, 31 * sizeof(*w));
		}
	}
}

/* ---- commits ---------- */

static void execute_commit(struct cpu_tc_op *op)
{
	struct cpu_mbar_change c = {.arrive = 1};
	struct cpu_cta *cta = op->warp->cta;

	CPU_EACH_LANE (r, op->ctas) {
		uint32_t mbar = op->mbar % CPU_RANK + r * CPU_RANK;
		uint8_t *p =
			cpu_resolve_async(cta, op->in, PTX_SPACE_SHARED_CLUSTER, mbar, 8, 8, true);
		bool has_ended = false;
		const char *why = p ? cpu_mbarrier_change(p, &c, &has_ended) : NULL;
		if (!p)
			return;
		if (why) {
			cpu_fault(op->warp, op->in, op->lane, CPU_FAULT_ILLEGAL,
				  "%s, when a tcgen05.commit arrives on it", why);
			return;
		}
		cpu_event_tc_commit(op, p, has_ended);
	}
}

/* ---- execution ---------- */

void cpu_tc_step(struct cpu_cta *cta)
{
	struct cpu_tmem *tm = cta->async->tmem;
	struct cpu_tc_op *op = tm->first;

	cpu_event_tc_begin(op);
	switch ((enum cpu_tc_op_kind)op->x->op) {
	case CPU_TC_MMA:
		execute_mma(op);
		break;
	case CPU_TC_COPY:
		execute_copy(op);
		break;
	case CPU_TC_SHIFT:
		execute_shift(op);
		break;
	case CPU_TC_COMMIT:
		execute_commit(op);
		break;
	}
	cpu_event_tc_end(op);
	tm->first = op->next;
	if (!tm->first)
		tm->last = NULL;
	cpu_kept_put(&tm->unused, op);
}

void cpu_tc_finish(struct cpu_cta *cta)
{
	while (cta->async && cpu_tc_pending(cta->async))
		cpu_tc_step(cta);
}

/* ---- issue ---------- */

static uint32_t address_at(struct cpu_warp *w, const struct cpu_addr *a, unsigned l)
{
	uint64_t addr[CPU_WARP];

	cpu_addresses(w, a, addr);
	return (uint32_t)addr[l];
}

static bool check_lane(struct cpu_tc_op *op, uint32_t addr, uint32_t step, const char *what)
{
	if (lane_of(addr) % step == 0 && addr >> 16 < CPU_TMEM_LANES)
		return true;
	cpu_fault(op->warp, op->in, op->lane, CPU_FAULT_ILLEGAL,
		  "%s begins in lane %u of tensor memory, which is no multiple of %u", what,
		  addr >> 16, step);
	return false;
}

/* In each block that the operation uses. */
static bool check_area(struct cpu_tc_op *op, uint32_t addr, uint32_t n, const char *what)
{
	for (unsigned r = 0; r < op->x->blocks; r++) {
		struct cpu_tmem *tm = tmem_of(cta_of(op, r));
		if (!tm) {
			cpu_fault(op->warp, op->in, op->lane, CPU_FAULT_ILLEGAL,
				  "%s in tensor memory of block %u of the cluster, which has "
				  "allocated none",
				  what, cta_of(op, r)->rank);
			return false;
		}
		if (!cpu_tmem_check(op->warp, op->in, op->lane, tm, col_of(addr), n, what))
			return false;
	}
	return true;
}

static bool check_mma(struct cpu_tc_op *op)
{
	const struct cpu_tc_shape *s = &op->shape;
	uint32_t wide = s->n / s->parts, step = s->is_half ? 16 : 128;

	if (!check_lane(op, op->d, step, "the accumulator") ||
	    (s->is_half && !check_lane(op, lane_of(op->d) & ~16u, 128, "the accumulator")) ||
	    !check_area(op, op->d, wide, "the accumulator"))
		return false;
	if (op->x->is_a_tmem && (!check_lane(op, op->a, step, "matrix A") ||
				 !check_area(op, op->a, a_cols(op), "matrix A")))
		return false;
	if (op->x->is_sparse && !check_area(op, op->meta + s->selector, meta_cols(s), "metadata"))
		return false;
	return !s->nscales ||
	       (check_area(op, op->sfa, scale_cols(s->rows, s->scale_a, s->nscales),
			   "A's scales") &&
		check_area(op, op->sfb, scale_cols(wide, s->scale_b, s->nscales), "B's scales"));
}

static bool set_mma(struct cpu_tc_op *op)
{
	const struct cpu_tc *x = op->x;
	struct cpu_warp *w = op->warp;
	unsigned l = op->lane;
	const char *why;

	op->idesc = cpu_u32(w, x->idesc)[l];
	why = cpu_tc_shape(x, op->idesc, &op->shape);
	if (why) {
		cpu_fault(w, op->in, l, CPU_FAULT_ILLEGAL, "instruction descriptor 0x%08x has %s",
			  op->idesc, why);
		return false;
	}
	if (x->is_a_tmem)
		op->a = address_at(w, &x->a, l);
	else
		op->desc_a = cpu_u64(w, x->desc_a)[l];
	op->desc_b = cpu_u64(w, x->desc_b)[l];
	if (x->is_sparse)
		op->meta = address_at(w, &x->meta, l);
	if (x->nscales) {
		op->sfa = address_at(w, &x->sfa, l);
		op->sfb = address_at(w, &x->sfb, l);
	}
	why = x->zeros == CPU_NOSLOT
		      ? NULL
		      : cpu_tc_zeros(cpu_u64(w, x->zeros)[l], &op->shape, &op->zeros);
	if (why) {
		cpu_fault(w, op->in, l, CPU_FAULT_ILLEGAL, "a mask of zero columns has %s", why);
		return false;
	}
	for (unsigned i = 0; i < x->nmask; i++)
		op->mask[i] = cpu_u32(w, x->mask[i])[l];
	op->is_added = ((*cpu_pred(w, x->is_added) >> l & 1) != 0) != x->is_scale_not;
	return check_mma(op);
}

static bool set_commit(struct cpu_tc_op *op)
{
	const struct cpu_tc *x = op->x;
	struct cpu_warp *w = op->warp;
	uint64_t addr[CPU_WARP];
	uint32_t size = w->cta->cluster->size;

	/* Without a state space the address is one of .shared all the same: Triton's are. */
	cpu_addresses(w, &x->mbar, addr);
	if (!cpu_resolve(w, op->in, op->lane,
			 &(struct cpu_range){.space = PTX_SPACE_SHARED_CLUSTER,
					     .addr = (uint32_t)addr[op->lane],
					     .bytes = 8,
					     .align = 8,
					     .is_write = true}))
		return false;
	op->mbar = (uint32_t)addr[op->lane];
	op->ctas = 1u << op->mbar / CPU_RANK;
	if (x->ctas == CPU_NOSLOT)
		return true;
	op->ctas = cpu_u16(w, x->ctas)[op->lane];
	if (op->ctas && !(op->ctas >> size))
		return true;
	cpu_fault(w, op->in, op->lane, CPU_FAULT_ILLEGAL,
		  "multicast to blocks 0x%x of a cluster of %u", op->ctas, size);
	return false;
}

static bool set_operands(struct cpu_tc_op *op)
{
	const struct cpu_tc *x = op->x;

	if (x->op == CPU_TC_COMMIT)
		return set_commit(op);
	op->d = address_at(op->warp, &x->d, op->lane);
	if (x->op == CPU_TC_MMA)
		return set_mma(op);
	if (x->op == CPU_TC_SHIFT)
		return check_lane(op, op->d, 32, "what is shifted") &&
		       check_area(op, op->d, SHIFT_COLS, "what is shifted");
	op->desc_a = cpu_u64(op->warp, x->desc_a)[op->lane];
	return check_area(op, op->d, x->copy_bytes / 4u, "tcgen05.cp");
}

static struct cpu_tc_op *op_new(struct cpu_tmem *tm)
{
	struct cpu_tc_op *op = cpu_kept_take(&tm->unused, sizeof(*op));

	if (op)
		memset(op, 0, sizeof(*op));
	return op;
}

static bool issue_one(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
		      unsigned l)
{
	struct cpu_tc_op *op = op_new(tm);

	if (!op) {
		cpu_fault(w, in, l, CPU_FAULT_RESOURCES, "no memory for an operation of tcgen05");
		return false;
	}
	op->warp = w;
	op->in = in;
	op->x = in->aux;
	op->lane = (uint8_t)l;
	if (!set_operands(op)) {
		cpu_kept_put(&tm->unused, op);
		return false;
	}
	cpu_event_tc_issue(op, tm);
	if (tm->last)
		tm->last->next = op;
	else
		tm->first = op;
	tm->last = op;
	return true;
}

enum cpu_step cpu_tc_issue(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_tc *x = in->aux;
	struct cpu_tmem *tm = cpu_tmem_get(w, in);

	if (!tm || !cpu_tmem_group(w, in, tm, x->blocks))
		return CPU_FAULTED;
	/* What these lanes have stored is in memory before it is read. */
	cpu_release(w, mask, PTX_SCOPE_CTA);
	CPU_EACH_LANE (l, mask)
		if (!issue_one(w, in, tm, l))
			return CPU_FAULTED;
	if (!cpu_random_below(w->worker, EAGER))
		cpu_tc_finish(w->cta);
	return CPU_OK;
}
