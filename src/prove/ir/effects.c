/*
 * effects.c - functions that PTX declares without a body, and what a call of them does.
 *
 * Unoptimised PTX calls what nvcc's library turns into instructions later: fences, atomics, traps,
 * mathematics. The table goes by name; a name ending in * stands for all that begin so. What isn't
 * in it makes the kernel "could not prove".
 *
 * Arguments are .param objects of the caller; an atomic's first is the address.
 */
#define _GNU_SOURCE
#include "prove/ir.h"

#include <string.h>

enum effect {
	NOTHING,
	ORDERS,
	ENDS,
	ATOMIC4,
	ATOMIC8,
	BARRIER,
	PURE_CALL,
	ASSUMES,
	COPY,
	ALLOCATES,
	FREES
};

static const struct {
	const char *name;
	enum effect effect;
	unsigned scope; /* enum race_scope; of ASSUMES: enum ir_assume */
} table[] = {
	{"__threadfence", ORDERS, 0},
	{"__threadfence_block", ORDERS, 0},
	{"__threadfence_system", ORDERS, 0},
	{"__trap", ENDS, 0},
	{"__assertfail", ENDS, 0},
	{"__assert_fail", ENDS, 0},
	{"__syncthreads", BARRIER, 0},
	{"__syncthreads_count", BARRIER, 0},
	{"__syncthreads_and", BARRIER, 0},
	{"__syncthreads_or", BARRIER, 0},
	{"__nv_*", PURE_CALL, 0},
	{"__nanosleep", NOTHING, 0},
	{"__brkpt", NOTHING, 0},
	{"vprintf", NOTHING, 0},
	{"__collider_assume", ASSUMES, IR_ASSUME_FACT},
	{"__collider_distinct", ASSUMES, IR_ASSUME_DISTINCT},
	{"__collider_apart", ASSUMES, IR_ASSUME_APART},
	{"__collider_injective", ASSUMES, IR_ASSUME_INJECTIVE},
	{"__collider_sorted", ASSUMES, IR_ASSUME_SORTED},
	{"memcpy", COPY, 0},
	{"memset", COPY, 0},
	{"malloc", ALLOCATES, 0},
	{"free", FREES, 0},
	{"__fAtomicAdd", ATOMIC4, RACE_SCOPE_GPU},
	{"__fAtomicAdd_block", ATOMIC4, RACE_SCOPE_CTA},
	{"__fAtomicAdd_system", ATOMIC4, RACE_SCOPE_SYS},
	{"__dAtomicAdd", ATOMIC8, RACE_SCOPE_GPU},
	{"__dAtomicAdd_block", ATOMIC8, RACE_SCOPE_CTA},
	{"__dAtomicAdd_system", ATOMIC8, RACE_SCOPE_SYS},
	{"__fAtomicExch", ATOMIC4, RACE_SCOPE_GPU},
};

/* __iAtomicAdd, __uAtomicCAS_block, __ullAtomicMax_system, __illAtomicMin: bytes and scope. */
static bool is_atomic(struct ptx_str s, unsigned *bytes, enum race_scope *scope)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} types[] = {{"__iAtomic", 4},
		     {"__uAtomic", 4},
		     {"__ullAtomic", 8},
		     {"__illAtomic", 8},
		     {"__llAtomic", 8}};
	static const char block[] = "_block", system[] = "_system";

	for (size_t i = 0; i < BASE_COUNTOF(types); i++) {
		size_t n = strlen(types[i].name);
		if (s.n <= n || memcmp(s.p, types[i].name, n) != 0)
			continue;
		*bytes = types[i].bytes;
		*scope = RACE_SCOPE_GPU;
		if (s.n > strlen(block) && !memcmp(s.p + s.n - strlen(block), block, strlen(block)))
			*scope = RACE_SCOPE_CTA;
		if (s.n > strlen(system) &&
		    !memcmp(s.p + s.n - strlen(system), system, strlen(system)))
			*scope = RACE_SCOPE_SYS;
		return true;
	}
	return false;
}

/* What the atomic of this name does, as far as order/ and meet.c make use of it. */
static enum ir_rmw rmw_of(struct ptx_str s)
{
	static const struct {
		const char *name;
		enum ir_rmw rmw;
	} kinds[] = {
		{"AtomicAdd", IR_RMW_ADD}, {"AtomicExch", IR_RMW_EXCH}, {"AtomicCAS", IR_RMW_CAS}};

	for (size_t i = 0; i < BASE_COUNTOF(kinds); i++)
		if (memmem(s.p, s.n, kinds[i].name, strlen(kinds[i].name)))
			return kinds[i].rmw;
	return IR_RMW_OTHER;
}

/* "Not guaranteed to be atomic as a single access" (PTX ISA, atom), so that an operation of all
 * bytes isn't morally strong with that of a half. */
unsigned prove_ir_halves(const struct ptx_form *f)
{
	return f->ntypes && ptx_type_class((enum ptx_type)f->types[0]) == PTX_CLASS_PACKED ? 2 : 1;
}

/* As an instruction does it. A sum of floats may stay what it was, and halves of a packed one carry
 * nothing: neither counts. */
enum ir_rmw prove_ir_rmw(const struct ptx_form *f)
{
	enum ptx_type_class c =
		f->ntypes ? ptx_type_class((enum ptx_type)f->types[0]) : PTX_CLASS_NONE;

	if (ptx_form_has(f, PTX_MOD_ADD))
		return c == PTX_CLASS_UINT || c == PTX_CLASS_SINT ? IR_RMW_ADD : IR_RMW_OTHER;
	return ptx_form_has(f, PTX_MOD_INC)    ? IR_RMW_INC
	       : ptx_form_has(f, PTX_MOD_EXCH) ? IR_RMW_EXCH
	       : ptx_form_has(f, PTX_MOD_CAS)  ? IR_RMW_CAS
					       : IR_RMW_OTHER;
}

/* What a .param object of the caller holds. */
static uint32_t argument(struct ir_frame *fr, const struct ptx_stmt *s, unsigned index, unsigned w)
{
	const struct ptx_opnd *args = NULL;

	for (unsigned i = 0; i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_SYM)
			args = i + 1 < s->nops ? &s->ops[i + 1] : NULL;
	if (!args || args->kind != PTX_OPND_LIST || index >= args->nsub)
		return IR_NONE;
	uint32_t base = prove_ir_operand(fr, &args->sub[index], 64),
		 d = prove_ir_new_reg(fr->ir, w);
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, d);

	a->kind = RACE_OP_READ;
	a->space = IR_PARAM;
	a->bytes = (uint16_t)(w / 8);
	st->mem = a;
	st->src[0] = base;
	return d;
}

/* The call's one result of w bits, which a step of this kind (IR_VAR: an unknown) gives: its
 * register; or IR_NONE. */
static uint32_t new_result(struct ir_frame *fr, const struct ptx_stmt *s, enum ir_kind kind,
			   unsigned w)
{
	if (!s->nops || s->ops[0].kind != PTX_OPND_LIST || s->ops[0].nsub != 1)
		return IR_NONE;
	uint32_t v = prove_ir_new_reg(fr->ir, w),
		 base = prove_ir_operand(fr, &s->ops[0].sub[0], 64);
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	prove_ir_push(fr, kind, v);
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);

	a->kind = RACE_OP_WRITE;
	a->space = IR_PARAM;
	a->bytes = (uint16_t)(w / 8);
	st->mem = a;
	st->src[0] = base;
	st->src[1] = v;
	return v;
}

/* The results become unknown: their objects are written with new values. */
static void forget_results(struct ir_frame *fr, const struct ptx_stmt *s)
{
	if (!s->nops || s->ops[0].kind != PTX_OPND_LIST)
		return;
	for (unsigned i = 0; i < s->ops[0].nsub; i++) {
		uint32_t base = prove_ir_operand(fr, &s->ops[0].sub[i], 64);
		uint32_t obj = (uint32_t)fr->ir->steps.v[fr->ir->steps.n - 1].imm;
		uint64_t bytes = obj < fr->ir->objects.n ? fr->ir->objects.v[obj].bytes : 0;
		for (uint64_t at = 0; at < bytes; at++) {
			uint32_t v = prove_ir_new_reg(fr->ir, 8);
			struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
			prove_ir_push(fr, IR_VAR, v);
			struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
			a->kind = RACE_OP_WRITE;
			a->space = IR_PARAM;
			a->bytes = 1;
			a->off = (int64_t)at;
			st->mem = a;
			st->src[0] = base;
			st->src[1] = v;
		}
	}
}

static bool lower_atomic_call(struct ir_frame *fr, const struct ptx_stmt *s, unsigned bytes,
			      enum race_scope scope, enum ir_rmw rmw)
{
	uint32_t base = argument(fr, s, 0, 64);

	if (base == IR_NONE)
		return false;
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
	a->kind = RACE_OP_RMW;
	a->rmw = (uint8_t)rmw;
	a->space = IR_GENERIC;
	a->strength = RACE_RELAXED;
	a->scope = (uint8_t)scope;
	a->bytes = (uint16_t)bytes;
	st->mem = a;
	st->src[0] = base;
	prove_ir_push(fr, IR_ORDER, IR_NONE);
	return true;
}

static bool lower_assume(struct ir_frame *fr, const struct ptx_stmt *s, uint64_t what)
{
	static const uint8_t widths[][3] = {[IR_ASSUME_FACT] = {32},
					    [IR_ASSUME_DISTINCT] = {64},
					    [IR_ASSUME_APART] = {64, 64, 64},
					    [IR_ASSUME_INJECTIVE] = {64, 64, 32},
					    [IR_ASSUME_SORTED] = {64, 64, 32}};
	uint32_t v[3] = {IR_NONE, IR_NONE, IR_NONE};

	for (unsigned i = 0; i < 3 && widths[what][i]; i++) {
		v[i] = argument(fr, s, i, widths[what][i]);
		if (v[i] == IR_NONE)
			return false;
	}
	struct ir_step *st = prove_ir_push(fr, IR_ASSUME, IR_NONE);
	st->imm = what;
	memcpy(st->src, v, sizeof(v));
	return true;
}

/* The number that a .param object of the caller was given in the same block; false: none. */
static bool constant_argument(const struct ptx_stmt *s, unsigned index, uint64_t *value)
{
	for (const struct ptx_stmt *p = s->prev; p && p->kind != PTX_STMT_OPEN; p = p->prev) {
		const struct ptx_opnd *args = NULL;
		for (unsigned i = 0; i < s->nops; i++)
			if (s->ops[i].kind == PTX_OPND_SYM)
				args = i + 1 < s->nops ? &s->ops[i + 1] : NULL;
		if (!args || index >= args->nsub || p->kind != PTX_STMT_INST ||
		    p->form->op != PTX_OP_ST || p->form->space != PTX_SPACE_PARAM || p->nops < 2 ||
		    p->ops[0].kind != PTX_OPND_ADDR || !p->ops[0].nsub ||
		    !ptx_str_eq(p->ops[0].sub[0].text, args->sub[index].text))
			continue;
		*value = (uint64_t)p->ops[1].imm;
		return p->ops[1].kind == PTX_OPND_INT;
	}
	return false;
}

/* memcpy and memset of a size that is written down: in pieces that a thread can load. */
static bool lower_block_copy(struct ir_frame *fr, const struct ptx_stmt *s, bool is_fill)
{
	uint64_t n;
	uint32_t to = argument(fr, s, 0, 64), from = argument(fr, s, 1, is_fill ? 32 : 64);

	if (!constant_argument(s, 2, &n) || n > 512 || to == IR_NONE || from == IR_NONE)
		return false;
	for (uint64_t at = 0; at < n;) {
		unsigned w = n - at >= 8 ? 8 : n - at >= 4 ? 4 : n - at >= 2 ? 2 : 1;
		uint32_t v = prove_ir_new_reg(fr->ir, 8 * w);
		struct ir_access *a[2];
		for (unsigned i = 0; i < 2; i++) {
			a[i] = BASE_NEW(fr->ir->arena, struct ir_access);
			a[i]->kind = i ? RACE_OP_WRITE : RACE_OP_READ;
			a[i]->space = IR_GENERIC;
			a[i]->bytes = (uint16_t)w;
			a[i]->off = (int64_t)at;
		}
		struct ir_step *st = prove_ir_push(fr, is_fill ? IR_VAR : IR_ACCESS, v);
		if (!is_fill) {
			st->mem = a[0];
			st->src[0] = from;
		}
		st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
		st->mem = a[1];
		st->src[0] = to;
		st->src[1] = v;
		at += w;
	}
	if (s->nops && s->ops[0].kind == PTX_OPND_LIST) /* gives back its first argument */
		forget_results(fr, s);
	return true;
}

/* cp.async of `size` bytes, `from` of which are read and the others set to 0. */
static bool lower_copy_call(struct ir_frame *fr, const struct ptx_stmt *s, unsigned size,
			    unsigned from)
{
	uint32_t at[2] = {argument(fr, s, 0, 64), argument(fr, s, 1, 64)};

	if (at[0] == IR_NONE || at[1] == IR_NONE || size > 16 || from > size)
		return false;
	for (unsigned i = 2; i-- > 0;) {
		struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
		uint32_t d = i ? prove_ir_new_reg(fr->ir, 64) : IR_NONE;
		a->kind = i ? RACE_OP_READ : RACE_OP_WRITE;
		a->space = IR_GENERIC;
		a->is_async = true;
		a->bytes = (uint16_t)(i ? from : size);
		if (!a->bytes)
			continue;
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, d);
		st->mem = a;
		st->src[0] = at[i];
	}
	return true;
}

/* free writes to all that a pointer leads to, of which the size isn't known. */
static bool lower_free(struct ir_frame *fr, const struct ptx_stmt *s)
{
	uint32_t base = argument(fr, s, 0, 64);

	if (base == IR_NONE)
		return false;
	struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
	a->count = prove_ir_const(fr, 32, INT32_MAX);
	uint32_t addr = prove_ir_byte_of(fr, base, a->count);
	struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
	a->kind = RACE_OP_WRITE;
	a->space = IR_GENERIC;
	a->bytes = 1;
	a->is_range = true;
	a->base = base;
	st->mem = a;
	st->src[0] = addr;
	return true;
}

static unsigned number_in(struct ptx_str s, size_t *at)
{
	unsigned n = 0;

	for (; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9' && n < 1000; ++*at)
		n = 10 * n + (unsigned)(s.p[*at] - '0');
	return n;
}

/* Is it the function of the global namespace, whose name and arguments are mangled so? One with
 * internal linkage may be in a namespace that the compiler made for it. */
static bool is_function(struct ptx_str s, const char *name, const char *args)
{
	static const char inner[] = "_INTERNAL_";
	size_t at = 3, n = strlen(name), k = strlen(args);

	if (s.n < at + n + k || memcmp(s.p, "_Z", 2) != 0)
		return false;
	if (s.p[2] != 'N')
		return s.n == 2 + n + k && !memcmp(s.p + 2, name, n) &&
		       !memcmp(s.p + 2 + n, args, k);
	size_t length = number_in(s, &at), end = at + length + n;
	return length > sizeof(inner) && s.n == end + 1 + k &&
	       !memcmp(s.p + at, inner, sizeof(inner) - 1) && !memcmp(s.p + at + length, name, n) &&
	       s.p[end] == 'E' && !memcmp(s.p + end + 1, args, k);
}

/* curand_init of a state, through its last argument: its tables are read only. */
static bool lower_seed(struct ir_frame *fr, const struct ptx_stmt *s, unsigned bytes)
{
	uint32_t to = argument(fr, s, 3, 64);

	for (unsigned at = 0; at < bytes && to != IR_NONE; at += 8) {
		uint32_t v = prove_ir_new_reg(fr->ir, 64);
		struct ir_access *a = BASE_NEW(fr->ir->arena, struct ir_access);
		prove_ir_push(fr, IR_VAR, v)->w = 64;
		struct ir_step *st = prove_ir_push(fr, IR_ACCESS, IR_NONE);
		a->kind = RACE_OP_WRITE;
		a->space = IR_GENERIC;
		a->bytes = 8;
		a->off = at;
		st->mem = a;
		st->src[0] = to;
		st->src[1] = v;
	}
	return to != IR_NONE;
}

/*
 * Functions of CUDA's headers that have a body, but one that is too large to splice in everywhere:
 * <cuda_pipeline_primitives.h> compares the size with each that there is, and calls one of these.
 */
bool prove_ir_summarized_call(struct ir_frame *fr, const struct ptx_stmt *s, struct ptx_str name)
{
	static const char room[] = "_ZN6nvcuda12experimental19__pipeline_internal";
	static const char copy[] = "21pipeline_memcpy_asyncILm",
			  wait[] = "19pipeline_wait_priorILj", commit[] = "15pipeline_commitEv";
	size_t at = sizeof(room) - 1;
	static const struct {
		const char *args;
		unsigned bytes;
	} seeds[] = {{"yyyP17curandStateXORWOW", 48},
		     {"yyyP20curandStateMRG32k3a", 48},
		     {"yyyP24curandStatePhilox4_32_10", 64}};

	for (size_t i = 0; i < BASE_COUNTOF(seeds); i++)
		if (is_function(name, "11curand_init", seeds[i].args))
			return lower_seed(fr, s, seeds[i].bytes);
	if (name.n <= at || memcmp(name.p, room, at) != 0)
		return false;
	struct ptx_str rest = {name.p + at, name.n - (uint32_t)at};
	if (rest.n >= sizeof(commit) - 1 && !memcmp(rest.p, commit, sizeof(commit) - 1)) {
		prove_ir_push(fr, IR_COMMIT, IR_NONE);
		return true;
	}
	if (rest.n > sizeof(wait) && !memcmp(rest.p, wait, sizeof(wait) - 1)) {
		at = sizeof(wait) - 1;
		prove_ir_push(fr, IR_WAIT, IR_NONE)->imm = number_in(rest, &at);
		return true;
	}
	if (rest.n <= sizeof(copy) || memcmp(rest.p, copy, sizeof(copy) - 1) != 0)
		return false;
	at = sizeof(copy) - 1;
	unsigned size = number_in(rest, &at);
	at += sizeof("ELm") - 1;
	return at < rest.n && lower_copy_call(fr, s, size, number_in(rest, &at));
}

/* Mathematics that gives back through pointers too. */
static bool writes_memory(struct ptx_str s)
{
	static const char *const parts[] = {"sincos", "frexp", "modf", "remquo", "lgamma_r"};

	for (size_t i = 0; i < BASE_COUNTOF(parts); i++)
		if (memmem(s.p, s.n, parts[i], strlen(parts[i])))
			return true;
	return false;
}

bool prove_ir_known_call(struct ir_frame *fr, const struct ptx_stmt *s, struct ptx_str name,
			 bool *never_returns)
{
	unsigned bytes;
	enum race_scope scope;

	if (is_atomic(name, &bytes, &scope)) {
		enum ir_rmw rmw = rmw_of(name);
		bool ok = lower_atomic_call(fr, s, bytes, scope, rmw);
		bool is_cas = rmw == IR_RMW_CAS;
		const struct ir_access *a = ok ? fr->ir->steps.v[fr->ir->steps.n - 2].mem : NULL;
		uint32_t step = ok && rmw != IR_RMW_OTHER ? argument(fr, s, 1u + is_cas, 8 * bytes)
							  : IR_NONE;
		uint32_t old = is_cas && step != IR_NONE ? argument(fr, s, 1, 8 * bytes) : IR_NONE;
		uint32_t v = step != IR_NONE ? new_result(fr, s, IR_VAR, 8 * bytes) : IR_NONE;
		if (v != IR_NONE)
			prove_ir_ticket(fr, a, v, step)->src[2] = old;
		else
			forget_results(fr, s);
		return ok;
	}
	for (size_t i = 0; i < BASE_COUNTOF(table); i++) {
		size_t n = strlen(table[i].name);
		bool is_prefix = table[i].name[n - 1] == '*';
		n -= is_prefix;
		if (is_prefix ? name.n < n : name.n != n)
			continue;
		if (memcmp(name.p, table[i].name, n) != 0)
			continue;
		enum effect e = table[i].effect;
		bool ok = e != PURE_CALL || !writes_memory(name);
		if (e == ORDERS)
			prove_ir_push(fr, IR_ORDER, IR_NONE);
		if (e == ENDS)
			*never_returns = true;
		if (e == ATOMIC4 || e == ATOMIC8)
			ok = lower_atomic_call(fr, s, e == ATOMIC8 ? 8 : 4,
					       (enum race_scope)table[i].scope, IR_RMW_OTHER);
		if (e == ASSUMES) {
			ok = lower_assume(fr, s, table[i].scope);
		}
		if (e == COPY && !lower_block_copy(fr, s, table[i].name[3] == 's'))
			return false;
		if (e == COPY)
			return true;
		if (e == ALLOCATES)
			return new_result(fr, s, IR_HEAP, 64) != IR_NONE;
		if (e == FREES)
			return lower_free(fr, s);
		forget_results(fr, s);
		if (e == BARRIER) /* last: what follows is another block */
			prove_ir_push(fr, IR_BARRIER, IR_NONE)->imm = IR_RANK_CTA;
		return ok;
	}
	return false;
}
