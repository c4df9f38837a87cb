/*
 * collective.c - lanes that exchange values: shfl, vote, match, redux, elect, activemask.
 *
 * The run loop calls these once all lanes of the member mask are there. Lanes
 * may have come by different instructions of one form (w->priv->parts): each
 * such group of lanes is a *side* with its own frame, so operands are first
 * brought together by lane, the result is computed for all, and each side gets
 * its lanes' share. The forms without .sync work on the lanes of the split.
 *
 * A shuffle from a lane that does not take part returns the value of that lane's register (the ISA
 * leaves it undefined).
 */
#include "cpu/sched.h"

#include <string.h>

cpu_binder cpu_bind_collective;

struct side {
	const struct cpu_inst *in;
	uint8_t *base[2];
	uint32_t mask;
};

static uint32_t sides_of(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			 struct side out[CPU_WARP])
{
	const struct cpu_warp_priv *p = cpu_wp(w);

	out[0] = (struct side){in, {w->base[0], w->base[1]}, mask};
	for (uint32_t i = 0; i < p->nparts; i++) {
		const struct cpu_part *part = &p->parts[i];
		out[i + 1] =
			(struct side){part->in, {part->base[0], part->base[1]}, part->split->mask};
	}
	return p->nparts + 1;
}

static void *side_slot(const struct side *s, uint32_t ref)
{
	return s->base[ref >> 31] + (ref & ~CPU_SLOT_CONST);
}

static uint32_t all_lanes(const struct side *s, uint32_t n)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < n; i++)
		mask |= s[i].mask;
	return mask;
}

/* Brings operand `src` of all sides together, in `v` where there are several. Lanes of no side keep
 * the first side's value. */
static const uint32_t *collect32(const struct side *s, uint32_t n, unsigned src,
				 uint32_t v[CPU_WARP])
{
	const uint32_t *first = side_slot(s, s->in->src[src]);

	if (n == 1)
		return first;
	memcpy(v, first, CPU_WARP * sizeof(*v));
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t *from = side_slot(&s[i], s[i].in->src[src]);
		CPU_EACH_LANE (l, s[i].mask) {
			v[l] = from[l];
		}
	}
	return v;
}

static void collect64(const struct side *s, uint32_t n, unsigned src, uint64_t v[CPU_WARP])
{
	memcpy(v, side_slot(s, s->in->src[src]), CPU_WARP * sizeof(*v));
	for (uint32_t i = 1; i < n; i++) {
		const uint64_t *from = side_slot(&s[i], s[i].in->src[src]);
		CPU_EACH_LANE (l, s[i].mask) {
			v[l] = from[l];
		}
	}
}

/* A predicate operand; its `!` is in imm, bit 0. */
static uint32_t collect_pred(const struct side *s, uint32_t n, unsigned src)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t p = *(uint32_t *)side_slot(&s[i], s[i].in->src[src]);
		v |= (s[i].in->imm & 1 ? ~p : p) & s[i].mask;
	}
	return v;
}

static void spread32(const struct side *s, uint32_t n, const uint32_t v[CPU_WARP])
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t mask = s[i].mask, *d;
		if (s[i].in->dst[0] == CPU_NOSLOT)
			continue;
		d = side_slot(&s[i], s[i].in->dst[0]);
		CPU_LANES(l, mask, d[l] = v[l]);
	}
}

static void spread_all(const struct side *s, uint32_t n, uint32_t x)
{
	uint32_t v[CPU_WARP];

	for (unsigned l = 0; l < CPU_WARP; l++)
		v[l] = x;
	spread32(s, n, v);
}

static void spread_pred(const struct side *s, uint32_t n, unsigned dst, uint32_t v)
{
	for (uint32_t i = 0; i < n; i++) {
		if (s[i].in->dst[dst] == CPU_NOSLOT)
			continue;
		uint32_t *p = side_slot(&s[i], s[i].in->dst[dst]);
		*p = (*p & ~s[i].mask) | (v & s[i].mask);
	}
}

/* ---- shfl: 9.7.9 ---------------------------------------------------------------------- */

enum shfl_mode { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* A lane's source, and where the segment ends that it must not pass. */
static inline int shfl_source(enum shfl_mode mode, int lane, int b, int c)
{
	int seg = c >> 8 & 31;

	switch (mode) {
	case SHFL_UP:
		return lane - (b & 31);
	case SHFL_DOWN:
		return lane + (b & 31);
	case SHFL_BFLY:
		return lane ^ (b & 31);
	default:
		return (lane & seg) | (b & 31 & ~seg);
	}
}

static inline bool shfl_passes(enum shfl_mode mode, int lane, int c, int source)
{
	int seg = c >> 8 & 31, end = (lane & seg) | (c & 31 & ~seg);

	return mode == SHFL_UP ? source < end : source > end;
}

#define BITS(l) 1u << (l), 2u << (l), 4u << (l), 8u << (l)
static const uint32_t bit_of[CPU_WARP] = {BITS(0),  BITS(4),  BITS(8),	BITS(12),
					  BITS(16), BITS(20), BITS(24), BITS(28)};

/* Where each lane's value comes from; outside of its segment from itself. Returns those inside. */
static inline uint32_t shfl_sources(enum shfl_mode mode, const uint32_t *b, const uint32_t *c,
				    int from[CPU_WARP])
{
	int inside[CPU_WARP];
	uint32_t valid = 0;

	CPU_VECTORIZE
	for (int l = 0; l < (int)CPU_WARP; l++) {
		int j = shfl_source(mode, l, (int)b[l], (int)c[l]);
		inside[l] = shfl_passes(mode, l, (int)c[l], j) ? 0 : -1;
		from[l] = (j & inside[l]) | (l & ~inside[l]);
	}
	for (unsigned l = 0; l < CPU_WARP; l++)
		valid |= (uint32_t)inside[l] & bit_of[l];
	return valid;
}

static uint32_t shfl_sources_of(enum shfl_mode mode, const uint32_t *b, const uint32_t *c,
				int from[CPU_WARP])
{
	switch (mode) {
	case SHFL_UP:
		return shfl_sources(SHFL_UP, b, c, from);
	case SHFL_DOWN:
		return shfl_sources(SHFL_DOWN, b, c, from);
	case SHFL_BFLY:
		return shfl_sources(SHFL_BFLY, b, c, from);
	default:
		return shfl_sources(SHFL_IDX, b, c, from);
	}
}

static enum cpu_step exec_shfl(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct side s[CPU_WARP];
	uint32_t n = sides_of(w, in, mask, s), valid;
	uint32_t a[CPU_WARP], b[CPU_WARP], c[CPU_WARP], d[CPU_WARP];
	int from[CPU_WARP];

	const uint32_t *v = collect32(s, n, 0, a);
	valid = shfl_sources_of((enum shfl_mode)in->sub, collect32(s, n, 1, b),
				collect32(s, n, 2, c), from);
	for (unsigned l = 0; l < CPU_WARP; l++)
		d[l] = v[from[l] & 31];
	spread32(s, n, d);
	spread_pred(s, n, 1, valid);
	return CPU_OK;
}

/* ---- vote, match, redux, elect: 9.7.13 --------------------------------------------------- */

enum vote_mode { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static enum cpu_step exec_vote(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct side s[CPU_WARP];
	uint32_t n = sides_of(w, in, mask, s), lanes = all_lanes(s, n);
	uint32_t v = collect_pred(s, n, 0);
	bool is_true = in->sub == VOTE_ALL   ? v == lanes
		       : in->sub == VOTE_ANY ? v != 0
					     : v == lanes || v == 0;

	if (in->sub == VOTE_BALLOT)
		spread_all(s, n, v);
	else
		spread_pred(s, n, 0, is_true ? UINT32_MAX : 0);
	return CPU_OK;
}

static enum cpu_step exec_match(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	bool is_all = in->sub & 1, is_64 = in->sub & 2;
	struct side s[CPU_WARP];
	uint32_t n = sides_of(w, in, mask, s), lanes = all_lanes(s, n), a32[CPU_WARP];
	uint32_t d[CPU_WARP] = {0}, left = lanes;
	uint64_t a[CPU_WARP];

	if (is_64) {
		collect64(s, n, 0, a);
	} else {
		const uint32_t *v = collect32(s, n, 0, a32);
		for (unsigned l = 0; l < CPU_WARP; l++)
			a[l] = v[l];
	}
	while (left) {
		uint64_t key = a[__builtin_ctz(left)];
		uint32_t same = 0;
		CPU_EACH_LANE (l, left) {
			same |= (uint32_t)(a[l] == key) << l;
		}
		CPU_EACH_LANE (m, same) {
			d[m] = same;
		}
		left &= ~same;
	}
	if (!is_all) {
		spread32(s, n, d);
		return CPU_OK;
	}
	bool is_same = d[__builtin_ctz(lanes)] == lanes;
	spread_all(s, n, is_same ? lanes : 0);
	spread_pred(s, n, 1, is_same ? UINT32_MAX : 0);
	return CPU_OK;
}

enum redux_op { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };
#define REDUX_SIGNED 8u
#define REDUX_F32    16u
#define REDUX_ABS    32u
#define REDUX_NAN    64u

static uint32_t redux_int(enum redux_op op, bool is_signed, uint32_t x, uint32_t y)
{
	bool less = is_signed ? (int32_t)y < (int32_t)x : y < x;

	switch (op) {
	case REDUX_ADD:
		return x + y;
	case REDUX_MIN:
		return less ? y : x;
	case REDUX_MAX:
		return less ? x : y;
	case REDUX_AND:
		return x & y;
	case REDUX_OR:
		return x | y;
	default:
		return x ^ y;
	}
}

static bool is_nan32(uint32_t x)
{
	return (x & 0x7fffffff) > 0x7f800000;
}

/* min and max of floats as bits: -0 is below +0; NaN loses, or with .NaN wins. */
static uint32_t redux_float(unsigned sub, uint32_t x, uint32_t y)
{
	if (is_nan32(x) || is_nan32(y)) {
		if (sub & REDUX_NAN || (is_nan32(x) && is_nan32(y)))
			return 0x7fffffff;
		return is_nan32(x) ? y : x;
	}
	int32_t i = (int32_t)(x >> 31 ? x ^ 0x7fffffffu : x);
	int32_t j = (int32_t)(y >> 31 ? y ^ 0x7fffffffu : y);
	bool takes_y = (sub & 7) == REDUX_MIN ? j < i : j > i;
	return takes_y ? y : x;
}

static enum cpu_step exec_redux(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct side s[CPU_WARP];
	uint32_t n = sides_of(w, in, mask, s), lanes = all_lanes(s, n), a[CPU_WARP];
	unsigned sub = in->sub, first = (unsigned)__builtin_ctz(lanes);

	const uint32_t *v = collect32(s, n, 0, a);
	uint32_t kept = sub & REDUX_ABS ? 0x7fffffff : UINT32_MAX;
	uint32_t x = v[first] & kept, others = lanes & (lanes - 1);
	if (sub & REDUX_F32 && is_nan32(x))
		x = 0x7fffffff;
	CPU_EACH_LANE (l, others) {
		uint32_t y = v[l] & kept;
		x = sub & REDUX_F32 ? redux_float(sub, x, y)
				    : redux_int((enum redux_op)(sub & 7), sub & REDUX_SIGNED, x, y);
	}
	spread_all(s, n, x);
	return CPU_OK;
}

static enum cpu_step exec_elect(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct side s[CPU_WARP];
	uint32_t n = sides_of(w, in, mask, s), lanes = all_lanes(s, n);

	spread_all(s, n, (uint32_t)__builtin_ctz(lanes));
	spread_pred(s, n, 1, lanes & (0u - lanes));
	return CPU_OK;
}

static enum cpu_step exec_activemask(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t *d;

	if (in->dst[0] == CPU_NOSLOT)
		return CPU_OK;
	d = cpu_u32(w, in->dst[0]);
	CPU_LANES(l, mask, d[l] = mask);
	return CPU_OK;
}

bool cpu_exec_takes_parts(cpu_exec *fn)
{
	return fn == exec_shfl || fn == exec_vote || fn == exec_match || fn == exec_redux ||
	       fn == exec_elect || fn == cpu_exec_warp_sync;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* dst, or dst|p. */
static void bind_results(struct cpu_dec *d, const struct ptx_opnd *op, struct cpu_inst *in)
{
	bool is_pair = op->kind == PTX_OPND_PAIR;

	in->dst[0] = cpu_dec_dst(d, is_pair ? &op->sub[0] : op);
	in->dst[1] = is_pair ? cpu_dec_dst(d, &op->sub[1]) : CPU_NOSLOT;
}

/* The member mask is operand `i`, kept as src[src]. */
static enum cpu_bound bind_gather(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
				  unsigned i, unsigned src, cpu_exec *fn)
{
	in->fn = fn;
	if (i >= s->nops)
		return cpu_dec_unsupported(d, in, "it has no member mask");
	in->src[src] = cpu_dec_src(d, &s->ops[i], PTX_TYPE_B32);
	in->gather = (uint8_t)src;
	in->flags |= CPU_I_GATHER | CPU_I_PARTS;
	return CPU_BOUND;
}

static enum cpu_bound bind_shfl(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;

	in->sub = ptx_form_has(f, PTX_MOD_UP)	  ? SHFL_UP
		  : ptx_form_has(f, PTX_MOD_DOWN) ? SHFL_DOWN
		  : ptx_form_has(f, PTX_MOD_BFLY) ? SHFL_BFLY
						  : SHFL_IDX;
	bind_results(d, &s->ops[0], in);
	for (unsigned i = 0; i < 3; i++)
		in->src[i] = cpu_dec_src(d, &s->ops[i + 1], PTX_TYPE_B32);
	in->fn = exec_shfl;
	if (f->op == PTX_OP_SHFL)
		return CPU_BOUND;
	return bind_gather(d, s, in, 4, 3, exec_shfl);
}

static enum cpu_bound bind_vote(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;

	in->sub = ptx_form_has(f, PTX_MOD_ALL)	 ? VOTE_ALL
		  : ptx_form_has(f, PTX_MOD_ANY) ? VOTE_ANY
		  : ptx_form_has(f, PTX_MOD_UNI) ? VOTE_UNI
						 : VOTE_BALLOT;
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_PRED);
	in->imm = cpu_dec_is_not(&s->ops[1]);
	in->fn = exec_vote;
	if (f->op == PTX_OP_VOTE)
		return CPU_BOUND;
	return bind_gather(d, s, in, 2, 1, exec_vote);
}

static enum cpu_bound bind_match(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	enum ptx_type t = (enum ptx_type)s->form->types[0];

	in->sub = (uint8_t)((s->form->op == PTX_OP_MATCH_ALL_SYNC) |
			    (ptx_type_bytes(t) == 8 ? 2 : 0));
	bind_results(d, &s->ops[0], in);
	in->src[0] = cpu_dec_src(d, &s->ops[1], t);
	return bind_gather(d, s, in, 2, 1, exec_match);
}

static enum cpu_bound bind_redux(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const struct {
		enum ptx_mod mod;
		enum redux_op op;
	} ops[] = {{PTX_MOD_ADD, REDUX_ADD}, {PTX_MOD_MIN, REDUX_MIN}, {PTX_MOD_MAX, REDUX_MAX},
		   {PTX_MOD_AND, REDUX_AND}, {PTX_MOD_OR, REDUX_OR},   {PTX_MOD_XOR, REDUX_XOR}};
	const struct ptx_form *f = s->form;
	enum ptx_type t = (enum ptx_type)f->types[0];
	unsigned sub = t == PTX_TYPE_S32 ? REDUX_SIGNED : t == PTX_TYPE_F32 ? REDUX_F32 : 0;

	for (size_t i = 0; i < BASE_COUNTOF(ops); i++) {
		if (ptx_form_has(f, ops[i].mod))
			sub |= ops[i].op;
	}
	if (ptx_form_has(f, PTX_MOD_ABS))
		sub |= REDUX_ABS;
	if (ptx_form_has(f, PTX_MOD_NAN_PROP))
		sub |= REDUX_NAN;
	in->sub = (uint8_t)sub;
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->src[0] = cpu_dec_src(d, &s->ops[1], t);
	return bind_gather(d, s, in, 2, 1, exec_redux);
}

enum cpu_bound cpu_bind_collective(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	in->dst[1] = CPU_NOSLOT;
	switch (s->form->op) {
	case PTX_OP_SHFL:
	case PTX_OP_SHFL_SYNC:
		return bind_shfl(d, s, in);
	case PTX_OP_VOTE:
	case PTX_OP_VOTE_SYNC:
		return bind_vote(d, s, in);
	case PTX_OP_MATCH_ANY_SYNC:
	case PTX_OP_MATCH_ALL_SYNC:
		return bind_match(d, s, in);
	case PTX_OP_REDUX_SYNC:
		return bind_redux(d, s, in);
	case PTX_OP_ELECT_SYNC:
		bind_results(d, &s->ops[0], in);
		return bind_gather(d, s, in, 1, 0, exec_elect);
	case PTX_OP_ACTIVEMASK:
		in->fn = exec_activemask;
		in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
		return CPU_BOUND;
	default:
		return CPU_NOT_MINE;
	}
}
