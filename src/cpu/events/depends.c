/*
 * depends.c - on which operands does the result of a pure statement depend, lane by lane?
 *
 * A selp depends on the operand that it takes, an and.pred on one operand where the other is true,
 * a comparison on both. Where an operand may mask another (lop3, prmt, shifts, products, bit
 * fields, setp.and's third one) the statement is executed with other values of the operand, and
 * depends on it where the result changes: that is what depending means. It can only be missed.
 *
 * Where two operands may hold the value of one load, another value of it changes both, and may
 * leave the result what it is (p ? a : b, where b is (p ? c : a)). Then the result depends on it
 * for certain only where no value of the other operand can hide the change; else it *may*.
 *
 * Asked before the statement executes; all registers are as they were.
 * Misses: a minimum or maximum of two conditions, of and and or whose result is only compared
 * with constants, but where the other operand is all ones or zeros.
 */
#include "cpu/events/follow.h"

#include <string.h>

/* ---- trying -------------------------------------------------------------------------------- */

struct saved {
	uint32_t slot, bytes;
	uint8_t was[sizeof(uint64_t) * CPU_WARP];
};

static uint32_t bytes_of(const struct ptx_func *f, const struct ptx_opnd *o)
{
	enum ptx_type t = o->kind == PTX_OPND_REG && o->reg < f->nregs
				  ? (enum ptx_type)f->reg_type[o->reg]
				  : PTX_TYPE_B128;

	if (t == PTX_TYPE_PRED)
		return sizeof(uint32_t);
	return ptx_type_bytes(t) == 1 ? 2 * CPU_WARP : ptx_type_bytes(t) * CPU_WARP;
}

static void save(struct cpu_warp *w, struct saved *s, uint32_t slot, uint32_t bytes)
{
	s->slot = slot;
	s->bytes = bytes;
	memcpy(s->was, cpu_slot(w, slot), bytes);
}

static void restore(struct cpu_warp *w, const struct saved *s)
{
	memcpy(cpu_slot(w, s->slot), s->was, s->bytes);
}

/* Lanes whose values of `size` bytes differ; size: a constant. */
static inline uint32_t lanes_that_differ(const uint8_t *a, const uint8_t *b, uint32_t size)
{
	uint32_t any = 0;

	for (unsigned l = 0; l < CPU_WARP; l++) {
		uint64_t v = 0, w = 0;
		memcpy(&v, a + l * size, size);
		memcpy(&w, b + l * size, size);
		any |= (uint32_t)(v != w) << l;
	}
	return any;
}

/* Lanes in which the slot has changed. */
static uint32_t changed(struct cpu_warp *w, const uint8_t *was, uint32_t slot, uint32_t bytes,
			uint32_t mask)
{
	const uint8_t *now = cpu_slot(w, slot);
	uint32_t size = bytes / CPU_WARP, any = 0, p, q;

	if (bytes == sizeof(p)) {
		memcpy(&p, was, sizeof(p));
		memcpy(&q, now, sizeof(q));
		return (p ^ q) & mask;
	}
	if (size == 2)
		return lanes_that_differ(was, now, 2) & mask;
	if (size == 4)
		return lanes_that_differ(was, now, 4) & mask;
	if (size == 8)
		return lanes_that_differ(was, now, 8) & mask;
	CPU_EACH_LANE (l, mask)
		any |= (uint32_t)(memcmp(was + l * size, now + l * size, size) != 0) << l;
	return any;
}

static void disturb(struct cpu_warp *w, const struct saved *op, unsigned round)
{
	uint8_t *v = cpu_slot(w, op->slot);
	uint32_t size = op->bytes / CPU_WARP;

	restore(w, op);
	if (op->bytes == sizeof(uint32_t)) {
		for (unsigned i = 0; i < op->bytes; i++)
			v[i] = (uint8_t)~v[i];
		return;
	}
	for (unsigned i = 0; i < op->bytes; i++)
		v[i] = (uint8_t)(v[i] ^ (round ? i % size == 0 : 0xff));
}

/* Lanes of `mask` in which the result changes when operand `op` (from 1) does. A condition has two
 * values only, one of which is among those tried: each must change it. */
static uint32_t try(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
		    unsigned op, uint32_t mask)
{
	const struct ptx_stmt *s = st->s;
	bool is_bool = op <= 2 && st->is_bool[op - 1];

	const struct ptx_func *f = w->cur->func->ptx;
	uint32_t slot = in->src[op - 1], bytes = bytes_of(f, &s->ops[op]), any = 0;
	uint32_t size = bytes_of(f, &s->ops[0]);
	uint8_t first[sizeof(uint64_t) * CPU_WARP];
	struct saved to, from;
	uint32_t all = mask;

	if (bytes > sizeof(first) || size > sizeof(first) || slot & CPU_SLOT_CONST ||
	    in->dst[0] == CPU_NOSLOT || !mask)
		return 0;
	save(w, &to, in->dst[0], size);
	save(w, &from, slot, bytes);
	in->fn(w, in, mask);
	memcpy(first, cpu_slot(w, in->dst[0]), size);
	for (unsigned round = 0; round < 2 && (is_bool || any != mask); round++) {
		restore(w, &to);
		disturb(w, &from, round);
		in->fn(w, in, mask);
		uint32_t now = changed(w, first, in->dst[0], size, mask);
		any |= now;
		all &= now;
	}
	restore(w, &to);
	restore(w, &from);
	return is_bool ? all : any;
}

/* A permutation takes each byte as it is, or its highest bit: by the selector's value it is known
 * what changes with these bytes. */
static bool permuted_bytes(struct cpu_warp *w, const struct cpu_inst *in,
			   const struct events_step *st, struct events_tried t, uint32_t mask,
			   uint32_t hit[EVENTS_BYTES])
{
	uint32_t slot = in->src[t.op - 1], end = t.n ? t.first + t.n : 4, other = 0;

	if (st->s->form->op != PTX_OP_PRMT || st->s->form->nmods || t.op > 2 || slot == in->src[2])
		return false;
	const uint32_t *selector = cpu_slot(w, in->src[2]);
	uint32_t one = selector[__builtin_ctz(mask)];
	CPU_EACH_LANE (l, mask)
		other |= selector[l] ^ one;
	CPU_EACH_LANE (l, other ? mask : mask & (~mask + 1))
		for (unsigned j = 0; j < 4; j++) {
			uint32_t from = selector[l] >> 4 * j & 7;
			if (in->src[from / 4] == slot && from % 4 >= t.first && from % 4 < end)
				hit[j] |= other ? 1u << l : mask;
		}
	return true;
}

bool events_tried_bytes(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
			struct events_tried t, uint32_t mask, uint32_t hit[EVENTS_BYTES])
{
	const struct ptx_func *f = w->cur->func->ptx;
	uint32_t slot = in->src[t.op - 1], bytes = bytes_of(f, &st->s->ops[t.op]);
	uint32_t to_bytes = bytes_of(f, &st->s->ops[0]), size = bytes / CPU_WARP;
	uint32_t to_size = to_bytes / CPU_WARP;
	uint8_t first[sizeof(uint64_t) * CPU_WARP];
	struct saved to, from;

	memset(hit, 0, EVENTS_BYTES * sizeof(*hit));
	if (bytes > sizeof(first) || to_bytes > sizeof(first) || slot & CPU_SLOT_CONST ||
	    in->dst[0] == CPU_NOSLOT || t.first >= size || !mask)
		return false;
	if (permuted_bytes(w, in, st, t, mask, hit))
		return true;
	save(w, &to, in->dst[0], to_bytes);
	save(w, &from, slot, bytes);
	in->fn(w, in, mask);
	memcpy(first, cpu_slot(w, in->dst[0]), to_bytes);
	for (unsigned round = 0; round < 2; round++) {
		restore(w, &to);
		restore(w, &from);
		CPU_EACH_LANE (l, mask)
			for (unsigned k = t.first; k < (t.n ? t.first + t.n : size); k++)
				((uint8_t *)cpu_slot(w, slot))[l * size + k] ^= round ? 1 : 0xff;
		in->fn(w, in, mask);
		const uint8_t *now = cpu_slot(w, in->dst[0]);
		CPU_EACH_LANE (l, mask)
			for (unsigned j = 0; j < to_size; j++)
				hit[j] |= (uint32_t)(first[l * to_size + j] != now[l * to_size + j])
					  << l;
	}
	restore(w, &to);
	restore(w, &from);
	return true;
}

bool events_guard_decides(struct cpu_warp *w, const struct cpu_inst *in,
			  const struct events_step *st, uint32_t lanes, uint32_t *any,
			  uint32_t hit[EVENTS_BYTES])
{
	uint32_t size = bytes_of(w->cur->func->ptx, &st->s->ops[0]);
	bool is_vector = st->s->ops[0].kind == PTX_OPND_VEC;
	struct saved to, guard;

	*any = 0;
	memset(hit, 0, EVENTS_BYTES * sizeof(*hit));
	if (in->dst[0] == CPU_NOSLOT || in->dst[1] != CPU_NOSLOT || size > sizeof(to.was) ||
	    ptx_form_has(st->s->form, PTX_MOD_CC) || is_vector || !lanes)
		return false;
	save(w, &to, in->dst[0], size);
	save(w, &guard, in->guard, sizeof(uint32_t));
	/* It may read its guard, too: as it is when the statement executes. */
	*cpu_pred(w, in->guard) = in->flags & CPU_I_GUARD_NOT ? 0 : UINT32_MAX;
	in->fn(w, in, lanes);
	/* One that writes its own guard: what it leaves, and the guard's other value. */
	if (in->dst[0] == in->guard)
		*any = lanes &
		       (*cpu_pred(w, in->guard) ^ (in->flags & CPU_I_GUARD_NOT ? UINT32_MAX : 0));
	else
		*any = changed(w, to.was, in->dst[0], size, lanes);
	const uint8_t *now = cpu_slot(w, in->dst[0]);
	CPU_EACH_LANE (l, *any)
		for (uint32_t n = size / CPU_WARP, j = 0; j < n; j++)
			hit[j] |= (uint32_t)(to.was[l * n + j] != now[l * n + j]) << l;
	restore(w, &to);
	restore(w, &guard);
	return true;
}

/* ---- rules --------------------------------------------------------------------------------- */

/* Lanes of `mask` in which operand `other` (0 or 1) of and, or, min, max leaves the result open. */
static uint32_t left_open(struct cpu_warp *w, const struct cpu_inst *in,
			  const struct events_step *st, unsigned other, uint32_t mask)
{
	const struct ptx_form *f = st->s->form;
	unsigned bytes = ptx_type_bytes((enum ptx_type)f->types[0]);
	uint64_t ones = bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
	bool is_plain =
		(!st->is_bool[other] && !st->is_test) || st->s->ops[other + 1].kind != PTX_OPND_REG;
	uint32_t open = 0;

	if (f->op == PTX_OP_MIN || f->op == PTX_OP_MAX)
		return is_plain ? mask : 0;
	if (bytes > 8)
		return 0;
	CPU_EACH_LANE (l, mask) {
		uint64_t v = bytes == 8	  ? cpu_u64(w, in->src[other])[l]
			     : bytes == 4 ? cpu_u32(w, in->src[other])[l]
					  : cpu_u16(w, in->src[other])[l];
		bool is_open = f->op == PTX_OP_OR ? (is_plain ? (v & ones) != ones : !(v & ones))
			       : st->is_test && !is_plain && !st->is_bool[other]
				       ? (v & ones) == ones
				       : (v & ones) != 0;
		open |= (uint32_t)is_open << l;
	}
	return open;
}

/* The same of operand `own`. A condition against a word that is none: both of its values are
 * tried. */
static uint32_t counts(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
		       unsigned own, uint32_t mask)
{
	bool is_word = !st->is_bool[1 - own] && st->s->ops[2 - own].kind == PTX_OPND_REG;

	if (st->is_bool[own] && is_word && !st->is_test)
		return try(w, in, st, own + 1, mask);
	return left_open(w, in, st, 1 - own, mask);
}

/* The value of a predicate operand, its `!` applied. */
static uint32_t taken(struct cpu_warp *w, uint32_t slot, const struct ptx_opnd *o)
{
	return *cpu_pred(w, slot) ^ (o->flags & PTX_OPND_NOT ? UINT32_MAX : 0);
}

/* p ? a : b. What isn't taken can hide a change of the predicate only if it changes as well. */
static void depends_select(struct cpu_warp *w, const struct cpu_inst *in,
			   const struct events_step *st, uint32_t mask, struct events_lanes *x)
{
	const struct ptx_opnd *o = st->s->ops;
	uint32_t p = taken(w, in->src[2], &o[3]), any = x->sure[0] | x->sure[1];
	uint32_t differ = x->sure[2] ? try(w, in, st, 3, x->sure[2] & mask) : 0;
	uint32_t with_taken = (p & x->shared[1]) | (~p & x->shared[2]);
	uint32_t with_other = (p & x->shared[2]) | (~p & x->shared[1]);
	/* A load that the predicate and what is taken share: the other doesn't have it. */
	uint32_t value = ~with_taken | (differ & ~(x->shared[0] & with_other));

	for (unsigned i = 0; i < 2; i++) {
		uint32_t is_taken = x->sure[i] & (i ? ~p : p);
		x->sure[i] = is_taken & value;
		x->may[i] = is_taken & ~value;
	}
	x->may[2] = x->sure[2] & (differ | any);
	x->sure[2] &= differ & ~with_other;
	x->may[2] &= ~x->sure[2];
}

/* a & b, of conditions: p, q are they (or for |, their opposites). */
static void depends_both(uint32_t p, uint32_t q, struct events_lanes *x)
{
	const uint32_t both = x->is_same ? x->sure[0] & x->sure[1] : 0; /* decides with itself */
	const uint32_t apart = (p & q) | ~x->shared[0] | both;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t sure = x->sure[i] & ((i ? p : q) | both) & apart;
		x->may[i] = x->sure[i] & x->shared[0] & ~sure;
		x->sure[i] = sure;
	}
}

/* A comparison of a and b, and a predicate. */
static void depends_join(struct cpu_warp *w, const struct cpu_inst *in,
			 const struct events_step *st, uint32_t mask, struct events_lanes *x)
{
	uint32_t shared = x->shared[1] | x->shared[2], q = taken(w, in->src[2], &st->s->ops[3]);
	uint32_t p = try(w, in, st, 3, (x->sure[2] | shared) & mask);

	q ^= ptx_form_has(st->s->form, PTX_MOD_OR) ? UINT32_MAX : 0;
	for (unsigned i = 0; i < EVENTS_FROM; i++) {
		uint32_t with = i == 2 ? shared : x->shared[i + 1];
		uint32_t sure = x->sure[i] & (i == 2 ? p : q) & ((p & q) | ~with);
		x->may[i] = x->sure[i] & with & ~sure;
		x->sure[i] = sure;
	}
}

/* Operands that may mask each other. Arithmetic on words is taken to depend on both: what a
 * compiler invents it discards by a condition. */
static void depends_tried(struct cpu_warp *w, const struct cpu_inst *in,
			  const struct events_step *st, uint32_t mask, struct events_lanes *x)
{
	const bool is_bits = st->rule == FLOW_RULE_BITS;
	const bool is_condition = st->is_test || st->is_bool[0] || st->is_bool[1];
	const uint32_t both = x->is_same ? x->sure[0] & x->sure[1] : 0;

	for (unsigned i = 0; i < EVENTS_FROM; i++) {
		uint32_t of = x->sure[i], with = 0, sure;
		if (!of || (is_bits && i == 2))
			continue;
		for (unsigned j = 0; j < EVENTS_FROM; j++) /* 01, 02, 12 */
			with |= j != i ? x->shared[i + j - 1] : 0;
		sure = of & (is_bits ? both | counts(w, in, st, i, of & mask)
				     : try(w, in, st, i + 1, of & mask));
		if (is_condition)
			sure &= ~with | both;
		x->may[i] = of & with & ~sure;
		x->sure[i] = sure;
	}
}

void events_depends(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
		    uint32_t mask, struct events_lanes *x)
{
	const struct ptx_opnd *o = st->s->ops;
	uint32_t no = st->rule == FLOW_RULE_OR ? UINT32_MAX : 0;

	switch (st->rule) {
	case FLOW_RULE_ANY:
		break;
	case FLOW_RULE_SELECT:
		depends_select(w, in, st, mask, x);
		break;
	case FLOW_RULE_AND:
	case FLOW_RULE_OR:
		depends_both(taken(w, in->src[0], &o[1]) ^ no, taken(w, in->src[1], &o[2]) ^ no, x);
		break;
	case FLOW_RULE_BITS:
	case FLOW_RULE_TRY:
		depends_tried(w, in, st, mask, x);
		break;
	case FLOW_RULE_JOIN:
		depends_join(w, in, st, mask, x);
		break;
	case FLOW_RULE_SIGN:
	case FLOW_RULE_NEVER:
		for (unsigned i = 0; i < (st->rule == FLOW_RULE_SIGN ? 2 : EVENTS_FROM); i++) {
			x->may[i] = x->sure[i];
			x->sure[i] = 0;
		}
		break;
	}
}
