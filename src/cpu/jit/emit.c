/*
 * emit.c - registers for the values of a run (linear scan), and its machine code by Zydis.
 *
 * The code is a loop over four strips of eight lanes. Its arguments: rdi the frame, rsi the
 * function's constants, edx the lanes, r8 the constants of the run, r9 the addresses of its groups
 * of loads, for which registers are saved that a function must keep. rcx counts 16 bytes a strip,
 * so that a strip of words is at [rdi + slot + rcx * 2], of double words at rcx * 4, and r9 counts
 * strips then, for predicates. For some lanes (is_partial) eax is the strip's byte of the mask and
 * ymm15 its vector, with which stores blend; a strip without lanes is left out.
 *
 * A value lives from its operation to its last use; where 16 (13) registers aren't enough, the one
 * whose next use is farthest goes to the stack, or is loaded anew if it came from memory that the
 * run doesn't change.
 * Costs: some 0.3 us an operation.
 */
#include "cpu/jit/ir.h"

#include <string.h>

#define REGS	   16
#define SCRATCH	   14 /* ymm14: of partial stores; ymm13 of packed 16-bit stores */
#define LANES	   15
#define NEVER	   UINT32_MAX
#define MAX_SPILLS 100u

struct emit {
	struct jit_gen *g;
	struct jit_text *out;
	uint32_t use[JIT_OPS];	    /* the last one of each value: number of an operation; NEVER */
	uint32_t next[JIT_OPS];	    /* the next one of each value, from the operation at hand on */
	uint32_t after[JIT_OPS][3]; /* by operation and source: the next one of that value */
	int8_t reg[JIT_OPS];	    /* -1: none */
	int16_t home[JIT_OPS];	    /* on the stack; -1: none */
	uint16_t loaded[JIT_OPS]; /* the load (number + 1) of a value whose memory doesn't change */
	jit_val in[REGS];
	unsigned nregs, nspills;
	bool failed;
};

/* ---- encoding ---------------------------------------------------------------------- */

static ZydisEncoderOperand reg_op(ZydisRegister r)
{
	ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_REGISTER};

	o.reg.value = r;
	return o;
}

static ZydisEncoderOperand vector(unsigned r, unsigned bytes)
{
	return reg_op((ZydisRegister)((bytes == 16 ? ZYDIS_REGISTER_XMM0 : ZYDIS_REGISTER_YMM0) +
				      (int)r));
}

static ZydisEncoderOperand imm_op(int64_t v)
{
	ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_IMMEDIATE};

	o.imm.s = v;
	return o;
}

/* Where the addresses of groups are. */
static const ZydisRegister group_at[JIT_GROUPS] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RBP,
						   ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13,
						   ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};

static ZydisEncoderOperand mem_op(enum jit_at at, uint32_t off, unsigned bytes)
{
	static const struct {
		uint16_t base, index;
		uint8_t scale, plus;
	} how[] = {
		[JIT_REG] = {ZYDIS_REGISTER_RSP, ZYDIS_REGISTER_NONE, 0, 0},
		[JIT_PRED] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R9, 1, 0},
		[JIT_16] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RCX, 1, 0},
		[JIT_32] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RCX, 2, 0},
		[JIT_64] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RCX, 4, 0},
		[JIT_64_HIGH] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RCX, 4, 32},
		[JIT_CONST] = {ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_NONE, 0, 0},
		[JIT_CONSTANTS] = {ZYDIS_REGISTER_R8, ZYDIS_REGISTER_NONE, 0, 0},
		[JIT_MEMORY] = {0, ZYDIS_REGISTER_NONE, 0, 0},
		[JIT_MEMORY_32] = {0, ZYDIS_REGISTER_RCX, 2, 0},
		[JIT_MEMORY_64] = {0, ZYDIS_REGISTER_RCX, 4, 0},
		[JIT_MEMORY_64_HIGH] = {0, ZYDIS_REGISTER_RCX, 4, 32},
	};
	ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_MEMORY};

	o.mem.base = (ZydisRegister)how[at].base;
	o.mem.index = (ZydisRegister)how[at].index;
	o.mem.scale = how[at].scale;
	o.mem.displacement = (int64_t)off + how[at].plus;
	o.mem.size = (ZyanU16)bytes;
	return o;
}

/* The memory of a load, or of the source that has taken its place. */
static ZydisEncoderOperand mem_of(const struct jit_op *op, unsigned bytes)
{
	ZydisEncoderOperand o = mem_op((enum jit_at)op->at, op->off, bytes);

	if (op->at >= JIT_MEMORY) {
		o.mem.base = group_at[op->group];
		o.mem.displacement = (int32_t)op->off + (op->at == JIT_MEMORY_64_HIGH ? 32 : 0);
	}
	return o;
}

static void encode(struct emit *e, uint32_t mn, unsigned n, const ZydisEncoderOperand *ops)
{
	ZydisEncoderRequest q;
	ZyanUSize room = sizeof(e->out->p) - e->out->n;

	memset(&q, 0, sizeof(q));
	q.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
	q.mnemonic = (ZydisMnemonic)mn;
	q.allowed_encodings = ZYDIS_ENCODABLE_ENCODING_VEX | ZYDIS_ENCODABLE_ENCODING_LEGACY;
	if (mn == M(JNZ) || mn == M(JZ)) {
		q.branch_type = ZYDIS_BRANCH_TYPE_NEAR;
		q.branch_width = ZYDIS_BRANCH_WIDTH_32;
	}
	q.operand_count = (ZyanU8)n;
	for (unsigned i = 0; i < n; i++)
		q.operands[i] = ops[i];
	if (e->failed || room < 32 ||
	    !ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&q, e->out->p + e->out->n, &room))) {
		e->failed = true;
		return;
	}
	e->out->n += (uint32_t)room;
}

/*
 * result = m ? b : a. Zydis 4.0 doesn't encode instructions that name their mask in an immediate:
 * it encodes VBLENDPS (VEX.66.0F3A.W0 0C /r ib), whose opcode then becomes that of VBLENDVPS or
 * VBLENDVPD.
 */
static void encode_blend(struct emit *e, bool is_double, const ZydisEncoderOperand ops[3],
			 unsigned m)
{
	const ZydisEncoderOperand all[4] = {ops[0], ops[1], ops[2], imm_op(m << 4)};
	uint8_t *p = e->out->p + e->out->n;

	encode(e, M(VBLENDPS), 4, all);
	if (e->failed || p[0] != 0xc4 || p[3] != 0x0c)
		e->failed = true;
	else
		p[3] = is_double ? 0x4b : 0x4a;
}

#define ENCODE(e, mn, ...)                                                                         \
	do {                                                                                       \
		const ZydisEncoderOperand ops_[] = {__VA_ARGS__};                                  \
		encode(e, M(mn), BASE_COUNTOF(ops_), ops_);                                        \
	} while (0)
#define R(name) reg_op(ZYDIS_REGISTER_##name)
#define YMM(r)	vector(r, 32)
#define XMM(r)	vector(r, 16)

/* d = m ? r : d */
#define BLEND(e, is_double, d, r, m)                                                               \
	encode_blend(e, is_double, (const ZydisEncoderOperand[]){YMM(d), YMM(d), YMM(r)}, m)

/* A jump whose distance, the last four bytes, comes later; returns where it ends. */
static uint32_t jump(struct emit *e, uint32_t mn)
{
	const ZydisEncoderOperand to = imm_op(0x1000);

	encode(e, mn, 1, &to);
	return e->out->n;
}

static void jump_to(struct emit *e, uint32_t jump_end, uint32_t to)
{
	uint32_t by = to - jump_end;

	if (!e->failed)
		memcpy(e->out->p + jump_end - 4, &by, 4);
}

/* ---- registers ------------------------------------------------------------------------- */

static void spill(struct emit *e, unsigned r)
{
	jit_val v = e->in[r];

	e->in[r] = 0;
	e->reg[v] = -1;
	if (e->home[v] >= 0 || e->loaded[v])
		return;
	if (e->nspills == MAX_SPILLS) {
		e->failed = true;
		return;
	}
	e->home[v] = (int16_t)e->nspills++;
	ENCODE(e, VMOVUPS, mem_op(JIT_REG, (uint32_t)e->home[v] * 32u, 32), YMM(r));
}

/* A register for v; those that are locked stay. */
static unsigned take(struct emit *e, jit_val v, uint32_t locked)
{
	unsigned best = 0;
	uint32_t farthest = 0;

	for (unsigned r = 0; r < e->nregs; r++) {
		if (!e->in[r]) {
			e->in[r] = v;
			e->reg[v] = (int8_t)r;
			return r;
		}
		if (locked >> r & 1)
			continue;
		uint32_t use = e->next[e->in[r]];
		if (use >= farthest) {
			farthest = use;
			best = r;
		}
	}
	spill(e, best);
	e->in[best] = v;
	e->reg[v] = (int8_t)best;
	return best;
}

static void load_value(struct emit *e, const struct jit_op *o, unsigned r)
{
	unsigned bytes = o->mn == M(VPBROADCASTB)   ? 1
			 : o->mn == M(VBROADCASTSS) ? 4
			 : o->mn == M(VBROADCASTSD) ? 8
			 : o->at == JIT_16	    ? 16
						    : 32;
	const ZydisEncoderOperand ops[2] = {YMM(r), mem_of(o, bytes)};

	encode(e, o->mn ? o->mn : o->at == JIT_16 ? M(VPMOVZXWD) : M(VMOVUPS), 2, ops);
}

static unsigned source(struct emit *e, jit_val v, uint32_t *locked)
{
	if (e->reg[v] < 0) {
		unsigned r = take(e, v, *locked);
		if (e->home[v] >= 0)
			ENCODE(e, VMOVUPS, YMM(r), mem_op(JIT_REG, (uint32_t)e->home[v] * 32u, 32));
		else if (e->loaded[v])
			load_value(e, &e->g->ops[e->loaded[v] - 1], r);
		else
			e->failed = true;
	}
	*locked |= 1u << e->reg[v];
	return (unsigned)e->reg[v];
}

static void drop_dead(struct emit *e, const struct jit_op *o, uint32_t at)
{
	for (unsigned k = 0; k < o->n; k++)
		if (o->folded != k && e->use[o->s[k]] == at && e->reg[o->s[k]] >= 0) {
			e->in[e->reg[o->s[k]]] = 0;
			e->reg[o->s[k]] = -1;
		}
}

/* ---- operations ------------------------------------------------------------------------ */

static void emit_plain(struct emit *e, const struct jit_op *o, uint32_t at)
{
	ZydisEncoderOperand ops[5];
	uint32_t locked = 0;
	unsigned n = 1, mask = 0;

	for (unsigned k = 0; k < o->n; k++) {
		unsigned bytes = k + 1 == o->n ? o->last_bytes : o->s_bytes;
		if (o->folded == k)
			ops[n++] = mem_of(o, bytes);
		else
			ops[n++] = vector(mask = source(e, o->s[k], &locked), bytes);
	}
	drop_dead(e, o, at);
	ops[0] = vector(take(e, o->d, locked), o->d_bytes);
	if (o->mn == M(VBLENDVPS) || o->mn == M(VBLENDVPD)) {
		encode_blend(e, o->mn == M(VBLENDVPD), ops, mask);
		return;
	}
	if (o->has_imm)
		ops[n++] = imm_op(o->imm);
	encode(e, o->mn, n, ops);
}

/* The result takes the place of the summand, or of a factor; that is copied if it is needed on. */
static void emit_fma(struct emit *e, const struct jit_op *o, uint32_t at)
{
	static const struct {
		uint16_t by_sum, by_factor;
	} forms[] = {{(uint16_t)M(VFMADD231PS), (uint16_t)M(VFMADD213PS)},
		     {(uint16_t)M(VFMADD231PD), (uint16_t)M(VFMADD213PD)},
		     {(uint16_t)M(VFNMADD231PD), (uint16_t)M(VFNMADD213PD)}};
	unsigned form = 0, place = 2, r[3] = {0};
	uint32_t locked = 0;
	bool dies[3];

	while (form + 1 < BASE_COUNTOF(forms) && forms[form].by_sum != o->mn)
		form++;
	for (unsigned k = 0; k < 3; k++) {
		if (o->folded != k)
			r[k] = source(e, o->s[k], &locked);
		dies[k] = o->folded != k && e->use[o->s[k]] == at;
	}
	if (o->folded == 2 || (o->folded == JIT_NO_FOLD && !dies[2] && (dies[0] || dies[1])))
		place = dies[0] || !dies[1] ? 0 : 1;
	/* The other operands: two factors, or a factor and the summand. */
	unsigned x = place == 2 ? 0 : 1 - place, y = place == 2 ? 1 : 2, d = r[place];
	if (dies[place]) {
		drop_dead(e, o, at);
		e->in[d] = o->d;
		e->reg[o->d] = (int8_t)d;
	} else {
		d = take(e, o->d, locked);
		ENCODE(e, VMOVUPS, YMM(d), YMM(r[place]));
		drop_dead(e, o, at);
	}
	const ZydisEncoderOperand ops[3] = {YMM(d), YMM(r[x]),
					    o->folded == y ? mem_of(o, 32) : YMM(r[y])};
	encode(e, place == 2 ? forms[form].by_sum : forms[form].by_factor, 3, ops);
}

static void emit_store(struct emit *e, const struct jit_op *o, uint32_t at)
{
	uint32_t locked = 0;
	unsigned r = source(e, o->s[0], &locked), from = r;
	bool partial = e->g->is_partial;
	ZydisEncoderOperand to = mem_op((enum jit_at)o->at, o->off, 32);

	drop_dead(e, o, at);
	if (o->form == JIT_STORE_PRED) {
		to.mem.size = 1;
		ENCODE(e, VMOVMSKPS, R(R10D), YMM(r));
		if (partial) {
			ENCODE(e, MOVZX, R(R11D), to);
			ENCODE(e, XOR, R(R10D), R(R11D));
			ENCODE(e, AND, R(R10D), R(EAX));
			ENCODE(e, XOR, R(R10D), R(R11D));
		}
		ENCODE(e, MOV, to, R(R10B));
		return;
	}
	if (o->form == JIT_STORE_16) {
		to.mem.size = 16;
		if (partial) {
			ENCODE(e, VPMOVZXWD, YMM(SCRATCH), to);
			BLEND(e, false, SCRATCH, r, LANES);
			from = SCRATCH;
		}
		ENCODE(e, VEXTRACTI128, XMM(SCRATCH - 1), YMM(from), imm_op(1));
		ENCODE(e, VPACKUSDW, XMM(SCRATCH - 1), XMM(from), XMM(SCRATCH - 1));
		ENCODE(e, VMOVUPS, to, XMM(SCRATCH - 1));
		return;
	}
	if (partial && (o->at == JIT_64 || o->at == JIT_64_HIGH)) {
		/* The lanes' words as double words. */
		if (o->at == JIT_64) {
			ENCODE(e, VPMOVSXDQ, YMM(SCRATCH), XMM(LANES));
		} else {
			ENCODE(e, VEXTRACTI128, XMM(SCRATCH), YMM(LANES), imm_op(1));
			ENCODE(e, VPMOVSXDQ, YMM(SCRATCH), XMM(SCRATCH));
		}
		ENCODE(e, VMOVUPS, YMM(SCRATCH - 1), to);
		BLEND(e, true, SCRATCH - 1, r, SCRATCH);
		ENCODE(e, VMOVUPS, to, YMM(SCRATCH - 1));
		return;
	}
	if (partial) {
		ENCODE(e, VMOVUPS, YMM(SCRATCH), to);
		BLEND(e, false, SCRATCH, r, LANES);
		from = SCRATCH;
	}
	ENCODE(e, VMOVUPS, to, YMM(from));
}

/* ---- what is needed, and from where -------------------------------------------------------- */

static bool is_store(const struct jit_op *o)
{
	return o->form >= JIT_STORE;
}

/* Does the run change what a load reads, before operation `end`? Only registers: no store to
 * memory is part of a run. */
static bool is_changed(const struct jit_gen *g, uint32_t load, uint32_t end)
{
	const struct jit_op *o = &g->ops[load];

	if (o->at >= JIT_CONST)
		return false;
	for (uint32_t i = load + 1; i < end; i++)
		if (is_store(&g->ops[i]) && g->ops[i].off == o->off)
			return true;
	return false;
}

static bool folds(const struct jit_op *load, const struct jit_op *o, unsigned k)
{
	if (load->mn || load->at == JIT_16 || o->folded != JIT_NO_FOLD)
		return false;
	if (o->form == JIT_FMA)
		return k > 0 && o->s[0] != o->s[k] && o->s[1] != o->s[2];
	return o->form == JIT_PLAIN && o->can_fold == k;
}

/* Operations whose result nothing needs are dropped; loads with one user become its operand, and
 * constants that of each user. */
static void look(struct emit *e)
{
	struct jit_gen *g = e->g;
	static uint32_t load_of[JIT_OPS], uses[JIT_OPS];
	uint32_t kept = 0;

	memset(uses, 0, sizeof(uses));
	for (uint32_t i = g->nops; i-- > 0;) {
		struct jit_op *o = &g->ops[i];
		if (!is_store(o) && !uses[o->d]) {
			o->d = 0;
			continue;
		}
		for (unsigned k = 0; k < o->n; k++)
			uses[o->s[k]]++;
	}
	for (uint32_t i = 0; i < g->nops; i++)
		if (is_store(&g->ops[i]) || g->ops[i].d)
			g->ops[kept++] = g->ops[i];
	g->nops = kept;
	memset(load_of, 0, sizeof(load_of));
	for (uint32_t i = 0; i < g->nops; i++) {
		struct jit_op *o = &g->ops[i];
		if (o->form == JIT_LOAD)
			load_of[o->d] = i + 1;
		for (unsigned k = 0; k < o->n; k++) {
			uint32_t l = load_of[o->s[k]];
			if (!l || !folds(&g->ops[l - 1], o, k))
				continue;
			const struct jit_op *from = &g->ops[l - 1];
			bool is_fixed = from->at == JIT_CONST || from->at == JIT_CONSTANTS;
			if ((!is_fixed && uses[o->s[k]] != 1) || is_changed(g, l - 1, i))
				continue;
			o->folded = (uint8_t)k;
			o->at = from->at;
			o->off = from->off;
			o->group = from->group;
			uses[o->s[k]]--;
			break;
		}
	}
	for (uint32_t i = 0; i <= g->nvalues; i++)
		e->use[i] = NEVER;
	for (uint32_t i = 0; i < g->nops; i++)
		for (unsigned k = 0; k < g->ops[i].n; k++)
			if (g->ops[i].folded != k)
				e->use[g->ops[i].s[k]] = i;
	for (uint32_t i = 0; i <= g->nvalues; i++)
		e->next[i] = NEVER;
	for (uint32_t i = g->nops; i-- > 0;) {
		for (unsigned k = 0; k < g->ops[i].n; k++)
			e->after[i][k] = e->next[g->ops[i].s[k]];
		for (unsigned k = 0; k < g->ops[i].n; k++)
			if (g->ops[i].folded != k)
				e->next[g->ops[i].s[k]] = i;
	}
	memset(e->loaded, 0, sizeof(e->loaded));
	for (uint32_t i = 0; i < g->nops; i++)
		if (g->ops[i].form == JIT_LOAD && !is_changed(g, i, g->nops))
			e->loaded[g->ops[i].d] = (uint16_t)(i + 1);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void body(struct emit *e)
{
	const struct jit_gen *g = e->g;

	for (uint32_t i = 0; i < g->nops && !e->failed; i++) {
		const struct jit_op *o = &g->ops[i];
		if (!is_store(o) && e->use[o->d] == NEVER)
			continue; /* a load that is an operand */
		switch (o->form) {
		case JIT_PLAIN:
			emit_plain(e, o, i);
			break;
		case JIT_FMA:
			emit_fma(e, o, i);
			break;
		case JIT_LOAD:
			/* One that can be made anew waits for its first user. */
			if (!e->loaded[o->d])
				load_value(e, o, take(e, o->d, 0));
			break;
		default:
			emit_store(e, o, i);
		}
		for (unsigned k = 0; k < o->n; k++)
			if (o->folded != k)
				e->next[o->s[k]] = e->after[i][k];
	}
}

/* One run at a time: the caller holds a lock. */
bool jit_emit(struct jit_gen *g, struct jit_text *out)
{
	static struct emit e;
	uint32_t skip = 0, top, stack;

	if (g->is_full)
		return false;
	e.g = g;
	e.out = out;
	e.failed = false;
	e.nspills = 0;
	/* Packing 16-bit values takes a register, too. */
	e.nregs = g->is_partial ? SCRATCH - 1 : REGS;
	for (unsigned i = 0; i < g->nslots; i++)
		if (g->slots[i].cls == CPU_B16 && g->slots[i].last)
			e.nregs = SCRATCH - 1;
	memset(e.in, 0, sizeof(e.in));
	memset(e.reg, 0xff, sizeof(e.reg));
	memset(e.home, 0xff, sizeof(e.home));
	out->n = 0;
	jit_val bits = jit_lane_bits(g);
	look(&e);
	for (unsigned i = 0; i < g->ngroups; i++) {
		ZydisEncoderOperand at = mem_op(JIT_REG, 0, 8);
		at.mem.base = ZYDIS_REGISTER_R9;
		at.mem.displacement = i * 8;
		ENCODE(&e, PUSH, reg_op(group_at[i]));
		ENCODE(&e, MOV, reg_op(group_at[i]), at);
	}
	ENCODE(&e, SUB, R(RSP), imm_op(0x1000));
	stack = out->n;
	ENCODE(&e, XOR, R(ECX), R(ECX));
	ENCODE(&e, XOR, R(R9D), R(R9D));
	top = out->n;
	if (g->is_partial) {
		unsigned at = 0;
		while (g->pool_val[at] != bits)
			at++;
		ENCODE(&e, MOVZX, R(EAX), R(DL));
		ENCODE(&e, TEST, R(EAX), R(EAX));
		skip = jump(&e, M(JZ));
		ENCODE(&e, VMOVD, XMM(LANES), R(EAX));
		ENCODE(&e, VPBROADCASTD, YMM(LANES), XMM(LANES));
		ENCODE(&e, VPAND, YMM(LANES), YMM(LANES), mem_op(JIT_CONSTANTS, at * 32u, 32));
		ENCODE(&e, VPCMPEQD, YMM(LANES), YMM(LANES), mem_op(JIT_CONSTANTS, at * 32u, 32));
	}
	body(&e);
	if (g->is_partial)
		jump_to(&e, skip, out->n);
	ENCODE(&e, SHR, R(EDX), imm_op(8));
	ENCODE(&e, ADD, R(ECX), imm_op(16));
	ENCODE(&e, ADD, R(R9D), imm_op(1));
	ENCODE(&e, CMP, R(R9D), imm_op(4));
	jump_to(&e, jump(&e, M(JNZ)), top);
	ENCODE(&e, ADD, R(RSP), imm_op(0x1000));
	uint32_t end = out->n, bytes = e.nspills * 32u;
	for (unsigned i = g->ngroups; i-- > 0;)
		ENCODE(&e, POP, reg_op(group_at[i]));
	encode(&e, M(VZEROUPPER), 0, NULL);
	encode(&e, M(RET), 0, NULL);
	if (e.failed)
		return false;
	memcpy(out->p + stack - 4, &bytes, 4);
	memcpy(out->p + end - 4, &bytes, 4);
	while (out->n % 32)
		out->p[out->n++] = 0xcc;
	out->pool = out->n;
	if (out->n + g->npool * 32u > sizeof(out->p))
		return false;
	memcpy(out->p + out->n, g->pool, g->npool * 32u);
	out->n += g->npool * 32u;
	return true;
}
