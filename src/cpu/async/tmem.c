/*
 * tmem.c - tensor memory: allocated, loaded, stored, given back (PTX ISA 9.7.16.7, 9.7.16.8).
 *
 * Each block has all 512 columns, as if it were alone on its multiprocessor; alloc waits while the
 * block's own warps hold what it asks for. With cta_group::2 both blocks of a pair meet in it and
 * get the same columns. What isn't allocated, or a lane that a warp may not reach, is a fault with
 * the instruction, and so are columns that are never given back.
 *
 * ld and st are carried out at once, which their asynchrony allows; what lacks a wait is found by
 * the oracle, since each is a pseudo-thread until its wait (events/tmem.c).
 *
 * Misses: waiting for columns that other blocks of the multiprocessor hold.
 * Costs: 256 KiB for a block that uses it.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define UNITS (CPU_TMEM_COLS / CPU_TMEM_UNIT)

/* ---- memory ---------- */

struct cpu_tmem *cpu_tmem_get(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_async *as = cpu_async_get(w->cta);
	struct cpu_tmem *tm = as ? as->tmem : NULL;
	size_t bytes = CPU_TMEM_COLS * CPU_TMEM_LANES * sizeof(uint32_t);

	if (tm)
		return tm;
	tm = as ? calloc(1, sizeof(*tm)) : NULL;
	if (tm) {
		tm->word = malloc(bytes);
		if (!tm->word) {
			free(tm);
			tm = NULL;
		}
	}
	if (!tm) {
		cpu_fault(w, in, 0, CPU_FAULT_RESOURCES, "no memory for tensor memory");
		return NULL;
	}
	/* What was there before is anything: NaN for every type of float. */
	memset(tm->word, 0xff, bytes);
	cpu_event_tmem_new(w, tm);
	as->tmem = tm;
	return tm;
}

void cpu_tmem_free(struct cpu_cta *cta)
{
	struct cpu_tmem *tm = cta->async->tmem;

	if (!tm)
		return;
	cpu_kept_free(tm->unused);
	cpu_kept_free(tm->first);
	cpu_event_tmem_free(cta, tm);
	free(tm->word);
	free(tm);
	cta->async->tmem = NULL;
}

struct cpu_cta *cpu_tmem_peer(const struct cpu_cta *cta)
{
	uint32_t rank = cta->rank ^ 1;

	return rank < cta->cluster->size ? cta->cluster->ctas[rank] : NULL;
}

bool cpu_tmem_group(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
		    unsigned blocks)
{
	if (blocks == 2 && !cpu_tmem_peer(w->cta)) {
		cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
			  ".cta_group::2 in a block without a pair: the cluster has %u blocks",
			  w->cta->cluster->size);
		return false;
	}
	if (!tm->blocks)
		tm->blocks = (uint8_t)blocks;
	if (tm->blocks == blocks)
		return true;
	cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
		  ".cta_group::%u in a kernel that has used .cta_group::%u", blocks, tm->blocks);
	return false;
}

bool cpu_tmem_check(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		    struct cpu_tmem *tm, uint32_t at, uint32_t n, const char *what)
{
	uint32_t bad = at;

	while (bad < at + n && bad < CPU_TMEM_COLS &&
	       (tm->owner[bad / CPU_TMEM_UNIT] || cpu_event_tmem_is_racy(w, lane, tm, bad)))
		bad++;
	if (bad >= at + n)
		return true;
	cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
		  "%s in columns %u to %u of tensor memory, of which %u is not allocated%s", what,
		  at, at + n - 1, bad, bad < CPU_TMEM_COLS ? "" : " (there are 512)");
	return false;
}

/* ---- alloc, dealloc ---------- */

static struct cpu_tmem *tmem_of(const struct cpu_cta *cta)
{
	return cta && cta->async ? cta->async->tmem : NULL;
}

/* Is `n` something to allocate? */
static bool is_size(struct cpu_warp *w, const struct cpu_inst *in, uint32_t n)
{
	if (n >= CPU_TMEM_UNIT && n <= CPU_TMEM_COLS && !(n & (n - 1)))
		return true;
	cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
		  "%u columns of tensor memory (a power of two from 32 to 512)", n);
	return false;
}

static bool is_uniform(struct cpu_warp *w, const struct cpu_inst *in, const uint32_t *v,
		       const char *what)
{
	for (unsigned l = 1; l < CPU_WARP; l++)
		if (v[l] != v[0] && w->lanes > l) {
			cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "%s differs from lane 0's", what);
			return false;
		}
	return true;
}

static bool is_free(const struct cpu_tmem *tm, uint32_t unit, uint32_t n)
{
	for (uint32_t i = unit; i < unit + n; i++)
		if (tm->owner[i])
			return false;
	return true;
}

/* The first columns that are free in both, or UINT32_MAX. `other` may be NULL. */
static uint32_t find_free(const struct cpu_tmem *tm, const struct cpu_tmem *other, uint32_t n)
{
	for (uint32_t unit = 0; unit + n <= UNITS; unit += n)
		if (is_free(tm, unit, n) && (!other || is_free(other, unit, n)))
			return unit * CPU_TMEM_UNIT;
	return UINT32_MAX;
}

static void take(struct cpu_tmem *tm, const struct cpu_inst *in, uint32_t at, uint32_t n)
{
	uint32_t unit = at / CPU_TMEM_UNIT;

	memset(tm->owner + unit, (int)unit + 1, n / CPU_TMEM_UNIT);
	tm->alloc[unit] = in;
}

/* Both blocks of the pair ask; the second one finds columns for both. */
static enum cpu_step take_pair(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
			       uint32_t n, uint32_t *at)
{
	struct cpu_tmem *peer = tmem_of(cpu_tmem_peer(w->cta));

	if (tm->pair == 2) {
		tm->pair = 0;
		*at = tm->pair_at;
		return CPU_OK;
	}
	tm->pair = 1;
	tm->pair_cols = n;
	if (!peer || peer->pair != 1)
		return CPU_RETRY;
	if (peer->pair_cols != n)
		return cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
				 "tcgen05.alloc of %u columns, the block beside it asks for %u", n,
				 peer->pair_cols);
	*at = find_free(tm, peer, n / CPU_TMEM_UNIT);
	if (*at == UINT32_MAX)
		return CPU_RETRY;
	take(tm, in, *at, n);
	take(peer, in, *at, n);
	tm->pair = 0;
	peer->pair = 2;
	peer->pair_at = *at;
	return CPU_OK;
}

struct alloc {
	struct cpu_acc acc;
	struct cpu_addr addr; /* alloc: where the address goes; dealloc: the slot is src[1] */
	uint8_t blocks;
};

static enum cpu_step exec_alloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct alloc *x = in->aux;
	const uint32_t *cols = cpu_u32(w, in->src[0]);
	struct cpu_tmem *tm = cpu_tmem_get(w, in);
	uint64_t addr[CPU_WARP];
	uint32_t at = 0, first = (uint32_t)__builtin_ctz(mask), data[CPU_WARP];

	if (!tm || !cpu_tmem_group(w, in, tm, x->blocks) ||
	    !is_uniform(w, in, cols, "the number of columns") || !is_size(w, in, cols[0]))
		return CPU_FAULTED;
	if (tm->is_relinquished)
		return cpu_fault(
			w, in, first, CPU_FAULT_ILLEGAL,
			"tcgen05.alloc after tcgen05.relinquish_alloc_permit of the block");
	if (x->blocks == 2) {
		enum cpu_step step = take_pair(w, in, tm, cols[0], &at);
		if (step != CPU_OK)
			return step;
	} else {
		at = find_free(tm, NULL, cols[0] / CPU_TMEM_UNIT);
		if (at == UINT32_MAX)
			return CPU_RETRY;
		take(tm, in, at, cols[0]);
	}
	cpu_event_tmem_alloc(w, in, tm, at, cols[0]);
	cpu_addresses(w, &x->addr, addr);
	data[first] = at;
	return cpu_access(w, in, &x->acc, 1u << first, addr, 4, data);
}

bool cpu_tmem_exit(struct cpu_warp *w, uint32_t mask)
{
	struct cpu_tmem *tm = tmem_of(w->cta);

	if (!tm || w->cta->nlive > 1 || w->lanes & ~w->exited & ~mask)
		return true;
	for (uint32_t unit = 0; unit < UNITS; unit++) {
		uint32_t n = 0;
		while (unit + n < UNITS && tm->owner[unit + n] == unit + 1)
			n++;
		if (!n)
			continue;
		cpu_fault(w, tm->alloc[unit], 0, CPU_FAULT_ILLEGAL,
			  "the block ends, and no tcgen05.dealloc has given back %u columns of "
			  "tensor memory",
			  n * CPU_TMEM_UNIT);
		return false;
	}
	return true;
}

static enum cpu_step exec_dealloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct alloc *x = in->aux;
	const uint32_t *cols = cpu_u32(w, in->src[0]), *addr = cpu_u32(w, in->src[1]);
	struct cpu_tmem *tm = cpu_tmem_get(w, in);
	uint32_t at = addr[0] & 0xffff, unit = at / CPU_TMEM_UNIT, n = cols[0] / CPU_TMEM_UNIT, i;

	if (!tm || !cpu_tmem_group(w, in, tm, x->blocks) ||
	    !is_uniform(w, in, cols, "the number of columns") ||
	    !is_uniform(w, in, addr, "the address") || !is_size(w, in, cols[0]))
		return CPU_FAULTED;
	for (i = 0; i < n && unit + i < UNITS; i++)
		if (tm->owner[unit + i] != unit + 1)
			break;
	if (at % CPU_TMEM_UNIT || addr[0] >> 16 || i < n ||
	    (unit + n < UNITS && tm->owner[unit + n] == unit + 1))
		return cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
				 "tcgen05.dealloc of %u columns at 0x%08x, which no tcgen05.alloc "
				 "gave as such",
				 cols[0], addr[0]);
	/* The judge must see what is still under way. */
	cpu_tc_finish(w->cta);
	if (x->blocks == 2)
		cpu_tc_finish(cpu_tmem_peer(w->cta));
	cpu_event_tmem_dealloc(w, in, mask, tm, at, cols[0]);
	memset(tm->owner + unit, 0, n);
	return CPU_OK;
}

static enum cpu_step exec_relinquish(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct alloc *x = in->aux;
	struct cpu_tmem *tm = cpu_tmem_get(w, in);

	(void)mask;
	if (!tm || !cpu_tmem_group(w, in, tm, x->blocks))
		return CPU_FAULTED;
	tm->is_relinquished = true;
	return CPU_OK;
}

/* ---- ld, st ---------- */

/* The word of register r of thread t, from the address' lane and column on; packed: the first of
 * its two words. */
static void word_in(const struct cpu_tmem_move *x, unsigned r, unsigned t, uint32_t *lane,
		    uint32_t *col)
{
	switch (x->shape) {
	case CPU_TMEM_32X32B:
		*lane = t;
		*col = r;
		return;
	case CPU_TMEM_16X64B:
		*lane = t / 4 + t % 2 * 8;
		*col = r * 2 + t / 2 % 2;
		return;
	case CPU_TMEM_16X128B:
		*lane = t / 4 + r % 2 * 8;
		*col = r / 2 * 4 + t % 4;
		return;
	case CPU_TMEM_16X256B:
		*lane = t / 4 + r / 2 % 2 * 8;
		*col = r / 4 * 8 + t % 4 * 2 + r % 2;
		return;
	default: /* 16x32bx2 */
		*lane = t % 16;
		*col = r;
		return;
	}
}

static uint32_t *word_at(const struct cpu_tmem_move *x, unsigned r, unsigned t,
			 uint32_t (*word)[CPU_TMEM_LANES], uint32_t first)
{
	uint32_t lane, col;

	word_in(x, r, t, &lane, &col);
	if (x->is_packed)
		col *= 2;
	if (x->shape == CPU_TMEM_16X32BX2)
		col += t / 16 * x->split;
	return &word[col][first + lane];
}

/* Columns of one half (16x32bx2), or of all. */
static uint32_t width_of(const struct cpu_tmem_move *x)
{
	static const uint8_t twice[] = {1, 2, 2, 2, 1};

	return x->nregs * twice[x->shape] * (x->is_packed ? 2u : 1u);
}

static bool may_move(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
		     uint32_t addr)
{
	const struct cpu_tmem_move *x = in->aux;
	uint32_t lane = addr >> 16, at = addr & 0xffff, n = width_of(x);
	uint32_t own = w->index % 4 * CPU_TMEM_PART;
	bool is_half = x->shape != CPU_TMEM_32X32B;

	if (lane != own && !(is_half && lane == own + 16)) {
		cpu_fault(w, in, 0, CPU_FAULT_ILLEGAL,
			  "lane %u of tensor memory: warp %u reaches lanes %u to %u, from %s on",
			  lane, w->index, own, own + CPU_TMEM_PART - 1,
			  is_half ? "the first or the 17th" : "the first");
		return false;
	}
	const char *what = x->is_store ? "tcgen05.st" : "tcgen05.ld";
	return cpu_tmem_check(w, in, 0, tm, at, n, what) &&
	       (x->shape != CPU_TMEM_16X32BX2 ||
		cpu_tmem_check(w, in, 0, tm, at + x->split, n, what));
}

static void load(struct cpu_warp *w, const struct cpu_tmem_move *x,
		 uint32_t (*word)[CPU_TMEM_LANES], uint32_t first)
{
	for (unsigned r = 0; r < x->nregs; r++) {
		if (x->reg[r] == CPU_NOSLOT)
			continue;
		uint32_t *out = cpu_u32(w, x->reg[r]);
		for (unsigned t = 0; t < CPU_WARP; t++) {
			const uint32_t *v = word_at(x, r, t, word, first);
			out[t] = x->is_packed ? (v[0] & 0xffff) | v[CPU_TMEM_LANES] << 16 : v[0];
		}
	}
}

static int compare_int(const struct cpu_tmem_move *x, uint32_t a, uint32_t b)
{
	if (x->red_type == PTX_TYPE_S32)
		return (int32_t)a < (int32_t)b ? -1 : (int32_t)a > (int32_t)b;
	return a < b ? -1 : a > b;
}

#define NAN_32 0x7fffffffu

static bool is_nan(uint32_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

/* Of two floats: -0 is less than 0; a NaN is passed over, or wins with .NaN. */
static uint32_t better_float(const struct cpu_tmem_move *x, uint32_t a, uint32_t b)
{
	/* As integers that are ordered as they are. */
	int32_t i = a >> 31 ? (int32_t)(a ^ 0x7fffffff) : (int32_t)a;
	int32_t j = b >> 31 ? (int32_t)(b ^ 0x7fffffff) : (int32_t)b;

	if (is_nan(a) || is_nan(b)) {
		if (x->is_nan || (is_nan(a) && is_nan(b)))
			return NAN_32;
		return is_nan(a) ? b : a;
	}
	return (i < j) != x->is_max ? a : b;
}

/* The smallest or largest word of each thread. */
static void reduce(struct cpu_warp *w, const struct cpu_tmem_move *x,
		   uint32_t (*word)[CPU_TMEM_LANES], uint32_t first)
{
	uint32_t *out = cpu_u32(w, x->red);

	for (unsigned t = 0; t < CPU_WARP; t++) {
		uint32_t best = 0;
		for (unsigned r = 0; r < x->nregs; r++) {
			uint32_t v = *word_at(x, r, t, word, first);
			if (x->is_abs)
				v &= 0x7fffffff;
			if (!r)
				best = v;
			else if (x->red_type == PTX_TYPE_F32)
				best = better_float(x, best, v);
			else if ((compare_int(x, v, best) < 0) != x->is_max && v != best)
				best = v;
		}
		out[t] = best;
	}
}

static void store(struct cpu_warp *w, const struct cpu_tmem_move *x,
		  uint32_t (*word)[CPU_TMEM_LANES], uint32_t first)
{
	for (unsigned r = 0; r < x->nregs; r++) {
		const uint32_t *in = cpu_u32(w, x->reg[r]);
		for (unsigned t = 0; t < CPU_WARP; t++) {
			uint32_t *v = word_at(x, r, t, word, first);
			v[0] = x->is_packed ? in[t] & 0xffff : in[t];
			if (x->is_packed)
				v[CPU_TMEM_LANES] = in[t] >> 16;
		}
	}
}

static enum cpu_step exec_move(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_tmem_move *x = in->aux;
	struct cpu_tmem *tm = cpu_tmem_get(w, in);
	uint64_t addr[CPU_WARP];

	if (!tm)
		return CPU_FAULTED;
	if (mask != UINT32_MAX)
		return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_ILLEGAL,
				 "tcgen05.%s without lanes 0x%08x of the warp",
				 x->is_store ? "st" : "ld", ~mask);
	cpu_addresses(w, &x->addr, addr);
	for (unsigned l = 1; l < CPU_WARP; l++)
		if ((uint32_t)addr[l] != (uint32_t)addr[0])
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "the address differs from lane 0's");
	if (!may_move(w, in, tm, (uint32_t)addr[0]))
		return CPU_FAULTED;
	uint32_t lane = (uint32_t)addr[0] >> 16, at = (uint32_t)addr[0] & 0xffff, n = width_of(x);
	uint32_t lanes = x->shape == CPU_TMEM_32X32B ? 32 : 16;
	struct cpu_tmem_area area[2] = {{at, n, lane, lanes}, {at + x->split, n, lane, lanes}};
	cpu_event_tmem_move(w, in, tm, x->is_store, area, x->shape == CPU_TMEM_16X32BX2 ? 2 : 1);
	if (x->is_store)
		store(w, x, tm->word + at, lane);
	else
		load(w, x, tm->word + at, lane);
	if (x->is_red)
		reduce(w, x, tm->word + at, lane);
	return CPU_OK;
}

/* in->sub: 1 of stores. */
static enum cpu_step exec_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_tmem *tm = cpu_tmem_get(w, in);

	if (!tm)
		return CPU_FAULTED;
	cpu_event_tmem_wait(w, mask, tm, in->sub);
	return CPU_OK;
}

/* in->sub: 1 before a synchronisation, 0 after it. */
static enum cpu_step exec_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	if (cpu_event_takes(w, in))
		cpu_event_tmem_fence(w, mask, in->sub);
	return CPU_OK;
}

/* ---- binding ---------- */

static bool find_shape(struct cpu_tmem_move *x, const struct ptx_form *f)
{
	static const char *const name[] = {".32x32b.", ".16x64b.", ".16x128b.", ".16x256b.",
					   ".16x32bx2."};
	static const uint8_t regs[] = {1, 1, 2, 4, 1};
	static const enum ptx_mod num[] = {PTX_MOD_X1,	PTX_MOD_X2,  PTX_MOD_X4,  PTX_MOD_X8,
					   PTX_MOD_X16, PTX_MOD_X32, PTX_MOD_X64, PTX_MOD_X128};
	char text[128];

	if (f->text.n >= sizeof(text))
		return false;
	memcpy(text, f->text.p, f->text.n);
	text[f->text.n] = 0;
	for (unsigned i = 0; i < BASE_COUNTOF(name); i++)
		if (strstr(text, name[i]))
			for (unsigned k = 0; k < BASE_COUNTOF(num); k++)
				if (ptx_form_has(f, num[k])) {
					x->shape = (uint8_t)i;
					x->nregs = (uint16_t)(regs[i] << k);
					return x->nregs <= CPU_TMEM_REGS;
				}
	return false;
}

/* .red: its result, operation and type; false: it has no such. */
static bool find_red(struct cpu_dec *d, struct cpu_tmem_move *x, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;

	x->red = s->ops[1].kind == PTX_OPND_REG ? cpu_dec_dst(d, &s->ops[1]) : CPU_NOSLOT;
	x->is_max = ptx_form_has(f, PTX_MOD_MAX);
	x->is_abs = ptx_form_has(f, PTX_MOD_ABS);
	x->is_nan = ptx_form_has(f, PTX_MOD_NAN_PROP);
	x->red_type = f->ntypes ? f->types[0] : PTX_TYPE_NONE;
	return x->red != CPU_NOSLOT && x->nregs > 1 && x->is_max != ptx_form_has(f, PTX_MOD_MIN) &&
	       (x->shape == CPU_TMEM_32X32B || x->shape == CPU_TMEM_16X32BX2) &&
	       (x->red_type == PTX_TYPE_F32 ||
		(!x->is_abs && !x->is_nan &&
		 (x->red_type == PTX_TYPE_U32 || x->red_type == PTX_TYPE_S32)));
}

static enum cpu_bound bind_move(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct cpu_tmem_move *x = cpu_dec_alloc(d, sizeof(*x));
	bool is_split, is_store = s->form->op == PTX_OP_TCGEN05_ST;

	if (s->form->has_unknown_mod || !find_shape(x, s->form))
		return cpu_dec_unsupported(d, in, "this shape");
	is_split = x->shape == CPU_TMEM_16X32BX2;
	x->is_red = s->form->op == PTX_OP_TCGEN05_LD_RED;
	if (s->nops != (is_split ? 3u : 2u) + x->is_red || (x->is_red && !find_red(d, x, s)))
		return cpu_dec_unsupported(d, in, "operands of tcgen05.ld or st");
	const struct ptx_opnd *data = &s->ops[is_store ? s->nops - 1u : 0];
	const struct ptx_opnd *addr = &s->ops[is_store ? 0 : 1 + x->is_red];
	const struct ptx_opnd *split = is_split ? addr + 1 : NULL;
	unsigned n = data->kind == PTX_OPND_VEC ? data->nsub : 1;
	if (n != x->nregs || (split && split->kind != PTX_OPND_INT))
		return cpu_dec_unsupported(d, in, "number of registers");
	x->is_store = is_store;
	x->is_packed = ptx_form_has(s->form, PTX_MOD_PACK_16B) ||
		       ptx_form_has(s->form, PTX_MOD_UNPACK_16B);
	x->split = split ? (uint32_t)split->imm : 0;
	x->addr = cpu_dec_addr(d, s, addr);
	for (unsigned i = 0; i < n; i++) {
		const struct ptx_opnd *op = data->kind == PTX_OPND_VEC ? &data->sub[i] : data;
		x->reg[i] = is_store ? cpu_dec_src(d, op, PTX_TYPE_B32) : cpu_dec_dst(d, op);
	}
	in->aux = x;
	in->fn = exec_move;
	return CPU_BOUND;
}

static enum cpu_bound bind_alloc(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct alloc *x = cpu_dec_alloc(d, sizeof(*x));
	unsigned nops = s->form->op == PTX_OP_TCGEN05_RELINQUISH_ALLOC_PERMIT ? 0 : 2;

	if (s->form->has_unknown_mod || s->nops != nops)
		return cpu_dec_unsupported(d, in, "operands of an allocation of tensor memory");
	x->blocks = ptx_form_has(s->form, PTX_MOD_CTA_GROUP_2) ? 2 : 1;
	in->aux = x;
	in->fn = exec_relinquish;
	if (nops)
		in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_U32);
	if (s->form->op == PTX_OP_TCGEN05_DEALLOC) {
		in->src[1] = cpu_dec_src(d, &s->ops[0], PTX_TYPE_U32);
		in->fn = exec_dealloc;
	} else if (nops) {
		x->addr = cpu_dec_addr(d, s, &s->ops[0]);
		x->acc = (struct cpu_acc){.kind = CPU_ACC_STORE,
					  .space = (uint8_t)s->form->space,
					  .width = 4,
					  .vec = 1,
					  .each = 4};
		in->fn = exec_alloc;
	}
	return CPU_BOUND;
}

cpu_binder cpu_bind_tmem;

enum cpu_bound cpu_bind_tmem(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	in->flags |= CPU_I_MEMORY;
	if (s->form->op == PTX_OP_TCGEN05_FENCE) {
		in->sub = ptx_form_has(s->form, PTX_MOD_FENCE_BEFORE_THREAD_SYNC);
		in->fn = exec_fence;
		return CPU_BOUND;
	}
	in->flags |= CPU_I_GATHER;
	in->gather = CPU_GATHER_ALL;
	switch (s->form->op) {
	case PTX_OP_TCGEN05_ALLOC:
	case PTX_OP_TCGEN05_DEALLOC:
	case PTX_OP_TCGEN05_RELINQUISH_ALLOC_PERMIT:
		return bind_alloc(d, s, in);
	case PTX_OP_TCGEN05_LD:
	case PTX_OP_TCGEN05_LD_RED:
	case PTX_OP_TCGEN05_ST:
		return bind_move(d, s, in);
	case PTX_OP_TCGEN05_WAIT:
		in->sub = ptx_form_has(s->form, PTX_MOD_WAIT_ST);
		in->fn = exec_wait;
		return CPU_BOUND;
	default:
		return CPU_NOT_MINE;
	}
}
