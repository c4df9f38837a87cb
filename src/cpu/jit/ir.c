/*
 * ir.c - operations and values of a run, and the program's registers in them (ir.h).
 *
 * A register is loaded where it is read first and stored where the run writes it last; between
 * these it is a value. Guarded instructions blend what was there with what they make.
 * Misses: equal operations aren't found.
 */
#include "cpu/jit/ir.h"

#include <string.h>

#define NAN32 0x7fffffffu

/* ---- operations ------------------------------------------------------------------ */

static jit_val new_value(struct jit_gen *g)
{
	if (g->nvalues + 1 >= JIT_OPS)
		g->is_full = true;
	else
		g->nvalues++;
	g->values[g->nvalues] = (struct jit_value){0};
	return (jit_val)g->nvalues;
}

static struct jit_op *new_op(struct jit_gen *g)
{
	if (g->nops + 1 >= JIT_OPS)
		g->is_full = true;
	else
		g->nops++;
	struct jit_op *o = &g->ops[g->nops - 1];
	memset(o, 0, sizeof(*o));
	o->d_bytes = o->s_bytes = o->last_bytes = 32;
	o->folded = o->can_fold = JIT_NO_FOLD;
	return o;
}

static struct jit_op *plain(struct jit_gen *g, uint32_t mn, unsigned n, jit_val a, jit_val b,
			    jit_val c)
{
	struct jit_op *o = new_op(g);

	o->mn = (uint16_t)mn;
	o->n = (uint8_t)n;
	o->s[0] = a;
	o->s[1] = b;
	o->s[2] = c;
	o->can_fold = (uint8_t)(n - 1);
	o->d = new_value(g);
	return o;
}

jit_val jit_1(struct jit_gen *g, uint32_t mn, jit_val a)
{
	return plain(g, mn, 1, a, 0, 0)->d;
}

jit_val jit_2(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b)
{
	return plain(g, mn, 2, a, b, 0)->d;
}

jit_val jit_2i(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b, unsigned imm)
{
	struct jit_op *o = plain(g, mn, 2, a, b, 0);

	o->has_imm = true;
	o->imm = (uint8_t)imm;
	return o->d;
}

jit_val jit_1i(struct jit_gen *g, uint32_t mn, jit_val a, unsigned imm)
{
	struct jit_op *o = plain(g, mn, 1, a, 0, 0);

	o->has_imm = true;
	o->imm = (uint8_t)imm;
	/* Shifts by a constant read memory with AVX-512 only. */
	if (mn == M(VPSRLD) || mn == M(VPSLLD) || mn == M(VPSRAD) || mn == M(VPSRLQ) ||
	    mn == M(VPSLLQ))
		o->can_fold = JIT_NO_FOLD;
	return o->d;
}

jit_val jit_blend(struct jit_gen *g, jit_val a, jit_val b, jit_val m)
{
	struct jit_op *o = plain(g, M(VBLENDVPS), 3, a, b, m);

	o->can_fold = 1;
	return o->d;
}

jit_val jit_blend64(struct jit_gen *g, jit_val a, jit_val b, jit_val m)
{
	struct jit_op *o = plain(g, M(VBLENDVPD), 3, a, b, m);

	o->can_fold = 1;
	return o->d;
}

jit_val jit_fma(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b, jit_val c)
{
	struct jit_op *o = plain(g, mn, 3, a, b, c);

	o->form = JIT_FMA;
	return o->d;
}

jit_val jit_grow(struct jit_gen *g, uint32_t mn, jit_val a)
{
	struct jit_op *o = plain(g, mn, 1, a, 0, 0);

	o->s_bytes = o->last_bytes = 16;
	return o->d;
}

jit_val jit_shrink(struct jit_gen *g, uint32_t mn, jit_val a)
{
	struct jit_op *o = plain(g, mn, 1, a, 0, 0);

	o->d_bytes = 16;
	/* A register or memory of 32 bytes looks the same to the encoder. */
	o->can_fold = JIT_NO_FOLD;
	return o->d;
}

jit_val jit_upper(struct jit_gen *g, jit_val a)
{
	struct jit_op *o = plain(g, M(VEXTRACTI128), 1, a, 0, 0);

	o->d_bytes = 16;
	o->can_fold = JIT_NO_FOLD;
	o->has_imm = true;
	o->imm = 1;
	return o->d;
}

jit_val jit_concat(struct jit_gen *g, jit_val lo, jit_val hi)
{
	struct jit_op *o = plain(g, M(VINSERTI128), 2, lo, hi, 0);

	o->last_bytes = 16;
	o->can_fold = JIT_NO_FOLD;
	o->has_imm = true;
	o->imm = 1;
	return o->d;
}

jit_val jit_table(struct jit_gen *g, const uint64_t v[4])
{
	unsigned i = 0;

	while (i < g->npool && memcmp(g->pool[i], v, sizeof(g->pool[i])))
		i++;
	if (i < g->npool)
		return g->pool_val[i];
	if (i == JIT_POOL) {
		g->is_full = true;
		return 1;
	}
	memcpy(g->pool[g->npool++], v, sizeof(g->pool[i]));
	struct jit_op *o = new_op(g);
	o->form = JIT_LOAD;
	o->at = JIT_CONSTANTS;
	o->off = i * 32u;
	o->d = new_value(g);
	g->pool_val[i] = o->d;
	return o->d;
}

jit_val jit_dword(struct jit_gen *g, uint64_t v)
{
	return jit_table(g, (const uint64_t[4]){v, v, v, v});
}

jit_val jit_word(struct jit_gen *g, uint32_t v)
{
	return jit_dword(g, (uint64_t)v << 32 | v);
}

jit_val jit_f64(struct jit_gen *g, double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	return jit_dword(g, u);
}

jit_val jit_memory(struct jit_gen *g, enum jit_at at, uint32_t mn, unsigned group, int32_t apart)
{
	struct jit_op *o = new_op(g);

	o->form = JIT_LOAD;
	o->mn = (uint16_t)mn;
	o->at = (uint8_t)at;
	o->group = (uint8_t)group;
	o->off = (uint32_t)apart;
	o->d = new_value(g);
	return o->d;
}

jit_val jit_not(struct jit_gen *g, jit_val v)
{
	return jit_2(g, M(VPXOR), v, jit_word(g, UINT32_MAX));
}

struct jit_pair jit_mask64(struct jit_gen *g, jit_val m)
{
	return (struct jit_pair){jit_grow(g, M(VPMOVSXDQ), m),
				 jit_grow(g, M(VPMOVSXDQ), jit_upper(g, m))};
}

jit_val jit_mask_of64(struct jit_gen *g, struct jit_pair m)
{
	return jit_1i(g, M(VPERMQ), jit_2i(g, M(VSHUFPS), m.lo, m.hi, 0x88), 0xd8);
}

/* ---- the program's registers ----------------------------------------------------------- */

static struct jit_slot *slot_of(struct jit_gen *g, uint32_t slot)
{
	for (unsigned i = 0; i < g->nslots; i++)
		if (g->slots[i].slot == slot)
			return &g->slots[i];
	if (g->nslots == JIT_SLOTS) {
		g->is_full = true;
		g->nslots--;
	}
	struct jit_slot *s = &g->slots[g->nslots++];
	*s = (struct jit_slot){.slot = slot};
	return s;
}

static jit_val load(struct jit_gen *g, uint32_t slot, enum jit_at at)
{
	struct jit_op *o = new_op(g);

	o->form = JIT_LOAD;
	o->at = (uint8_t)(slot & CPU_SLOT_CONST ? JIT_CONST : at);
	o->off = slot & ~CPU_SLOT_CONST;
	o->d = new_value(g);
	return o->d;
}

bool jit_const32(const struct jit_gen *g, uint32_t slot, uint32_t *v)
{
	if (!(slot & CPU_SLOT_CONST))
		return false;
	/* A shared address isn't the same in all blocks of a cluster. */
	for (uint32_t i = 0; i < g->f->nshared_consts; i++)
		if ((g->f->shared_consts[i] & ~1u) == (slot & ~CPU_SLOT_CONST))
			return false;
	memcpy(v, g->f->consts + (slot & ~CPU_SLOT_CONST), sizeof(*v));
	return true;
}

jit_val jit_get(struct jit_gen *g, uint32_t slot)
{
	struct jit_slot *s = slot_of(g, slot);

	if (!s->v.lo) {
		s->cls = CPU_B32;
		s->v.lo = load(g, slot, JIT_32);
	}
	struct jit_value *v = &g->values[s->v.lo];
	if (!v->is_raw)
		return s->v.lo;
	if (!v->bits) {
		jit_val of = s->v.lo, is_nan = jit_2i(g, M(VCMPPS), of, of, 3);
		v->bits = jit_blend(g, of, jit_word(g, NAN32), is_nan);
		g->values[v->bits].is_flushed = v->is_flushed;
	}
	return v->bits;
}

/* Subnormal words become zeros of their sign. */
static jit_val flush(struct jit_gen *g, jit_val v)
{
	struct jit_value *x = &g->values[v];

	if (x->is_flushed)
		return v;
	if (x->flushed)
		return x->flushed;
	jit_val exponent = jit_2(g, M(VPAND), v, jit_word(g, 0x7f800000u));
	jit_val small = jit_2(g, M(VPCMPEQD), exponent, jit_word(g, 0));
	jit_val drop = jit_1i(g, M(VPSRLD), small, 1);
	x->flushed = jit_2(g, M(VPANDN), drop, v);
	g->values[x->flushed].is_flushed = true;
	g->values[x->flushed].is_raw = x->is_raw;
	return x->flushed;
}

jit_val jit_get_f32(struct jit_gen *g, uint32_t slot, bool ftz)
{
	struct jit_slot *s = slot_of(g, slot);
	uint32_t c;

	if (!s->v.lo)
		jit_get(g, slot);
	if (jit_const32(g, slot, &c) && c & 0x7f800000u)
		g->values[s->v.lo].is_flushed = true;
	return ftz ? flush(g, s->v.lo) : s->v.lo;
}

jit_val jit_get16(struct jit_gen *g, uint32_t slot)
{
	struct jit_slot *s = slot_of(g, slot);

	if (slot & CPU_SLOT_CONST) {
		uint16_t c;
		memcpy(&c, g->f->consts + (slot & ~CPU_SLOT_CONST), sizeof(c));
		return jit_word(g, c);
	}
	if (!s->v.lo) {
		s->cls = CPU_B16;
		s->v.lo = load(g, slot, JIT_16);
	}
	return s->v.lo;
}

struct jit_pair jit_get64(struct jit_gen *g, uint32_t slot)
{
	struct jit_slot *s = slot_of(g, slot);

	if (!s->v.lo) {
		s->cls = CPU_B64;
		s->v.lo = load(g, slot, JIT_64);
		s->v.hi = slot & CPU_SLOT_CONST ? s->v.lo : load(g, slot, JIT_64_HIGH);
	}
	return s->v;
}

jit_val jit_lane_bits(struct jit_gen *g)
{
	return jit_table(g, (const uint64_t[4]){1ull | 2ull << 32, 4ull | 8ull << 32,
						16ull | 32ull << 32, 64ull | 128ull << 32});
}

jit_val jit_get_pred(struct jit_gen *g, uint32_t slot)
{
	struct jit_slot *s = slot_of(g, slot);

	if (!s->v.lo) {
		jit_val one = jit_lane_bits(g);
		struct jit_op *o = new_op(g);
		o->form = JIT_LOAD;
		o->mn = (uint16_t)M(VPBROADCASTB);
		o->at = (uint8_t)(slot & CPU_SLOT_CONST ? JIT_CONST : JIT_PRED);
		o->off = slot & ~CPU_SLOT_CONST;
		o->d = new_value(g);
		s->cls = CPU_PRED;
		s->v.lo = jit_2(g, M(VPCMPEQD), jit_2(g, M(VPAND), o->d, one), one);
	}
	return s->v.lo;
}

static void store(struct jit_gen *g, struct jit_slot *s)
{
	static const uint8_t where[CPU_CLASSES] = {JIT_PRED, JIT_16, JIT_32, JIT_64, JIT_REG};
	jit_val v = s->cls == CPU_B32 ? jit_get(g, s->slot) : s->v.lo;

	s->is_dirty = false;
	for (unsigned half = 0; half < (s->cls == CPU_B64 ? 2u : 1u); half++) {
		struct jit_op *o = new_op(g);
		o->form = s->cls == CPU_PRED  ? JIT_STORE_PRED
			  : s->cls == CPU_B16 ? JIT_STORE_16
					      : JIT_STORE;
		o->at = (uint8_t)(where[s->cls] + half);
		o->off = s->slot;
		o->n = 1;
		o->s[0] = half ? s->v.hi : v;
	}
}

static bool wrote(struct jit_gen *g, struct jit_slot *s, enum cpu_class cls)
{
	s->cls = (uint8_t)cls;
	s->is_dirty = true;
	s->is_written = true;
	if (s->last == g->at)
		store(g, s);
	return true;
}

/* One vector of a class, whose value so far `get` gives. */
static bool put_one(struct jit_gen *g, uint32_t slot, jit_val v,
		    jit_val (*get)(struct jit_gen *g, uint32_t slot), enum cpu_class cls)
{
	if (slot == CPU_NOSLOT)
		return false;
	if (g->guard)
		v = jit_blend(g, get(g, slot), v, g->guard);
	struct jit_slot *s = slot_of(g, slot);
	s->v.lo = v;
	return wrote(g, s, cls);
}

bool jit_put(struct jit_gen *g, uint32_t slot, jit_val v)
{
	return !(slot & CPU_SLOT_CONST) && put_one(g, slot, v, jit_get, CPU_B32);
}

bool jit_put_f32(struct jit_gen *g, uint32_t slot, jit_val v, bool ftz, bool sat)
{
	if (slot == CPU_NOSLOT)
		return false;
	if (sat) {
		v = jit_2(g, M(VMAXPS), v, jit_word(g, 0));
		v = jit_2(g, M(VMINPS), v, jit_word(g, 0x3f800000u));
	}
	if (ftz)
		v = flush(g, v);
	g->values[v].is_raw = !sat;
	if (!g->guard)
		return jit_put(g, slot, v);
	/* What the guard keeps isn't raw, so what it takes must not be. */
	struct jit_slot *s = slot_of(g, slot);
	jit_val old = jit_get(g, slot);
	s->v.lo = v;
	v = jit_blend(g, old, jit_get(g, slot), g->guard);
	s->v.lo = v;
	return wrote(g, s, CPU_B32);
}

bool jit_put16(struct jit_gen *g, uint32_t slot, jit_val v)
{
	return put_one(g, slot, v, jit_get16, CPU_B16);
}

bool jit_put64(struct jit_gen *g, uint32_t slot, struct jit_pair v)
{
	if (slot == CPU_NOSLOT)
		return false;
	if (g->guard) {
		struct jit_pair m = jit_mask64(g, g->guard), old = jit_get64(g, slot);
		v.lo = jit_blend64(g, old.lo, v.lo, m.lo);
		v.hi = jit_blend64(g, old.hi, v.hi, m.hi);
	}
	struct jit_slot *s = slot_of(g, slot);
	s->v = v;
	return wrote(g, s, CPU_B64);
}

bool jit_put_pred(struct jit_gen *g, uint32_t slot, jit_val v)
{
	return put_one(g, slot, v, jit_get_pred, CPU_PRED);
}

/* ---- a run -------------------------------------------------------------------------------- */

bool jit_load_of(const struct cpu_inst *in, struct jit_load *l)
{
	if (!(in->flags & CPU_I_MEMORY))
		return false;
#ifdef CPU_HAS_V3
	if (cpu_jit_load_v3(in, l))
		return true;
#endif
	return cpu_jit_load_base(in, l);
}

/* Instruction `at` writes its slots: the last one does so far. */
static void writes(struct jit_gen *g, const struct cpu_inst *in, unsigned at)
{
	struct jit_load l;
	bool is_load = jit_load_of(in, &l);
	const uint32_t *slots = is_load ? l.slot : in->dst;

	for (unsigned k = 0; k < (is_load ? l.n : 2u); k++)
		if (slots[k] != CPU_NOSLOT)
			slot_of(g, slots[k])->last = (uint8_t)at;
}

void jit_begin(struct jit_gen *g, const struct cpu_func *f, const struct cpu_inst *in, unsigned n,
	       bool is_partial)
{
	g->f = f;
	g->nops = g->nvalues = g->nslots = g->npool = g->ngroups = g->at = 0;
	g->guard = 0;
	g->ways = 0;
	g->is_partial = is_partial;
	g->is_full = false;
	for (unsigned i = 0; i < n; i++)
		writes(g, &in[i], i + 1);
}

bool jit_append(struct jit_gen *g, const struct cpu_inst *in, unsigned row)
{
	const struct jit_recipe *r = jit_int_recipe(row);

	if (!r || !r->fn)
		r = jit_float_recipe(row);
	if (!r || !r->fn)
		r = jit_load_recipe(row);
	if (!r || !r->fn)
		return false;
	g->at++;
	g->guard = 0;
	if (in->guard != CPU_NOSLOT) {
		g->guard = jit_get_pred(g, in->guard);
		if (in->flags & CPU_I_GUARD_NOT)
			g->guard = jit_not(g, g->guard);
	}
	return r->fn(g, in, r->arg) && !g->is_full;
}
