/*
 * ir.h - inside cpu/jit: a run on its way to machine code, for one strip of eight lanes.
 *
 * Recipes append operations on values; a value is a vector register that is written once: eight
 * words, four of the eight double words, or a mask of words (a predicate). 16-bit registers are
 * words with a zero above. emit.c gives the values registers and encodes the operations.
 *
 * Results of f32 arithmetic are *raw*: a NaN in them becomes the canonical one only where bits
 * count (jit_bits), as most are operands of the next operation, for which all NaNs are one.
 */
#ifndef COLLIDER_CPU_JIT_IR_H
#define COLLIDER_CPU_JIT_IR_H

#include <Zydis/Zydis.h>

#include "cpu/jit/loads.h"

#define JIT_STRIP 8u
/* Instructions of a run at most, operations and values of one at most. */
#define JIT_LONGEST 96u
#define JIT_OPS	    4096u
#define JIT_SLOTS   256u
#define JIT_POOL    128u

typedef uint16_t jit_val; /* 0: none */
struct jit_pair {
	jit_val lo, hi; /* lanes 0 to 3, 4 to 7 of the strip */
};

/* Where an operation reads or writes memory. */
enum jit_at {
	JIT_REG,
	JIT_PRED,
	JIT_16,
	JIT_32,
	JIT_64,
	JIT_64_HIGH,
	JIT_CONST,
	JIT_CONSTANTS,
	/* The program's memory, by a group of loads: of all lanes, words or double words side by
	 * side. */
	JIT_MEMORY,
	JIT_MEMORY_32,
	JIT_MEMORY_64,
	JIT_MEMORY_64_HIGH
};
enum jit_form { JIT_PLAIN, JIT_FMA, JIT_LOAD, JIT_STORE, JIT_STORE_PRED, JIT_STORE_16 };

struct jit_op {
	uint16_t mn;			      /* ZydisMnemonic */
	uint8_t form;			      /* enum jit_form */
	uint8_t n;			      /* sources */
	uint8_t d_bytes, s_bytes, last_bytes; /* of the registers: result, sources, last source */
	uint8_t at;		  /* enum jit_at: of source `folded`, or of a load or store */
	uint8_t folded, can_fold; /* indices of sources; JIT_NO_FOLD */
	uint8_t group;		  /* JIT_MEMORY*: in struct jit_gen */
	bool has_imm;
	uint8_t imm;
	jit_val d, s[3];
	uint32_t off;
};
#define JIT_NO_FOLD 0xffu

struct jit_value {
	jit_val bits,
		flushed; /* the same value with canonical NaNs; flushed to zero. 0: not made */
	bool is_raw, is_flushed;
};

struct jit_slot {
	uint32_t slot;
	uint8_t cls; /* enum cpu_class */
	bool is_dirty, is_written;
	uint8_t last; /* the instruction of the run that writes it last, from 1; 0: none does */
	struct jit_pair v;
};

struct jit_gen {
	const struct cpu_func *f;
	struct jit_op ops[JIT_OPS];
	struct jit_value values[JIT_OPS];
	struct jit_slot slots[JIT_SLOTS];
	uint64_t pool[JIT_POOL][4];
	jit_val pool_val[JIT_POOL];
	unsigned nops, nvalues, nslots, npool, ngroups;
	unsigned at;		  /* the instruction of the run, from 1 */
	jit_val guard;		  /* of the instruction at hand; 0: none */
	bool is_partial, is_full; /* code for some lanes; no room */
	struct jit_group groups[JIT_GROUPS];
	uint8_t ways; /* of all loads */
	/* Whose lanes are looked at; NULL: loads are taken as uniform (is it a run at all?). */
	struct cpu_warp *w;
};

/* What an instruction does, as operations; false: not this one. */
typedef bool jit_recipe_fn(struct jit_gen *g, const struct cpu_inst *in, uint32_t arg);
struct jit_recipe {
	jit_recipe_fn *fn;
	uint32_t arg;
};
const struct jit_recipe *jit_int_recipe(unsigned row), *jit_float_recipe(unsigned row),
	*jit_load_recipe(unsigned row);

/* Starts a run; `n` instructions from in on. */
void jit_begin(struct jit_gen *g, const struct cpu_func *f, const struct cpu_inst *in, unsigned n,
	       bool is_partial);
/* Appends one of them. False: it can't be part of a run. */
bool jit_append(struct jit_gen *g, const struct cpu_inst *in, unsigned row);

/* A load that can be part of a run? */
bool jit_load_of(const struct cpu_inst *in, struct jit_load *l);

/* ---- operations ------------------------------------------------------------------ */

#define M(mnemonic) ((uint32_t)ZYDIS_MNEMONIC_##mnemonic)
jit_val jit_1(struct jit_gen *g, uint32_t mn, jit_val a);
jit_val jit_2(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b);
jit_val jit_2i(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b, unsigned imm);
jit_val jit_1i(struct jit_gen *g, uint32_t mn, jit_val a, unsigned imm);
/* m ? b : a, by lanes' top bits. */
jit_val jit_blend(struct jit_gen *g, jit_val a, jit_val b, jit_val m);
jit_val jit_blend64(struct jit_gen *g, jit_val a, jit_val b, jit_val m);
/* a * b + c by one rounding, words or double words; n: -(a * b) + c. */
jit_val jit_fma(struct jit_gen *g, uint32_t mn, jit_val a, jit_val b, jit_val c);
/* From 16 bytes to 32, from 32 to 16, the upper 16 of 32, 16 and 16 to 32. */
jit_val jit_grow(struct jit_gen *g, uint32_t mn, jit_val a);
jit_val jit_shrink(struct jit_gen *g, uint32_t mn, jit_val a);
jit_val jit_upper(struct jit_gen *g, jit_val a);
jit_val jit_concat(struct jit_gen *g, jit_val lo, jit_val hi);
/* A constant in all lanes. */
jit_val jit_word(struct jit_gen *g, uint32_t v);
jit_val jit_dword(struct jit_gen *g, uint64_t v);
jit_val jit_f64(struct jit_gen *g, double v);
/* Four double words (a table for a shuffle of bytes). */
jit_val jit_table(struct jit_gen *g, const uint64_t v[4]);
/* Memory `apart` bytes from that of a group's first load: lane 0's in all lanes, or each one's. */
jit_val jit_memory(struct jit_gen *g, enum jit_at at, uint32_t mn, unsigned group, int32_t apart);
/* In each lane the bit that it has in a predicate's byte. */
jit_val jit_lane_bits(struct jit_gen *g);

/* ---- registers of the program ------------------------------------------------------- */

/* The bits of a word; or a float, whose NaNs may be any. */
jit_val jit_get(struct jit_gen *g, uint32_t slot);
jit_val jit_get_f32(struct jit_gen *g, uint32_t slot, bool ftz);
jit_val jit_get16(struct jit_gen *g, uint32_t slot);
struct jit_pair jit_get64(struct jit_gen *g, uint32_t slot);
jit_val jit_get_pred(struct jit_gen *g, uint32_t slot);
bool jit_put(struct jit_gen *g, uint32_t slot, jit_val v);
bool jit_put16(struct jit_gen *g, uint32_t slot, jit_val v);
bool jit_put64(struct jit_gen *g, uint32_t slot, struct jit_pair v);
bool jit_put_pred(struct jit_gen *g, uint32_t slot, jit_val v);
/* Is the slot a constant, and which? */
bool jit_const32(const struct jit_gen *g, uint32_t slot, uint32_t *v);
/* The value of an f32 operation: NaNs are any. */
bool jit_put_f32(struct jit_gen *g, uint32_t slot, jit_val v, bool ftz, bool sat);
/* A mask of words as two of double words, and back. */
struct jit_pair jit_mask64(struct jit_gen *g, jit_val m);
jit_val jit_mask_of64(struct jit_gen *g, struct jit_pair m);
jit_val jit_not(struct jit_gen *g, jit_val v);

/* ---- emit.c ---------------------------------------------------------------------------- */

/* Machine code and its constants: bytes of both, the constants (32-byte aligned) at `pool`. */
struct jit_text {
	uint8_t p[1u << 16];
	uint32_t n, pool;
};
/* False: too long, or not encodable. */
bool jit_emit(struct jit_gen *g, struct jit_text *out);

#endif
