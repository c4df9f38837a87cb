/*
 * decode.h - what decode.c, decode_opnd.c and decode_call.c share: a function
 * that is being decoded.
 */
#ifndef COLLIDER_CPU_DECODE_H
#define COLLIDER_CPU_DECODE_H

#include "cpu/load/load.h"

/* Temporary slots after those of the registers, in every layout. */
static const uint16_t dec_temps[CPU_CLASSES] = {8, 8, 16, 16, 2};

/* A .local or .param variable of the body. */
struct dec_place {
	const struct ptx_var *key;
	uint32_t off; /* from fp, or in the lane's .param area */
	UT_hash_handle hh;
};

struct dec_const {
	struct {
		uint64_t value;
		uint64_t cls;
		uint64_t is_shared; /* has the block's rank */
	} key;
	uint32_t off;
	UT_hash_handle hh;
};

/* A table of branch targets to be filled in. */
struct dec_table {
	uint32_t *out;
	const struct ptx_stmt *list;
};

/* An instruction whose target and join are known at the end only. */
struct dec_fix {
	uint32_t pc;
	const struct ptx_stmt *s;
};

/* A group of accesses with one base register (spreads.c). */
struct dec_spread {
	uint32_t reg, comp, vec, width; /* bytes of a lane */
	int64_t off;
	struct cpu_spread_use *first; /* NULL: none */
};

#define DEC_FAKES    8u
#define DEC_FAKE_REG 0x80000000u /* numbers of temporaries that stand as registers in operands */

struct pending;

struct cpu_dec {
	struct load_func *lf;
	struct cpu_module *mod;
	const struct ptx_func *f;
	const struct cpu_layout *layout;
	cpu_binder *const *binders; /* by unit, in the build for this processor */
	struct base_arena *arena;   /* of the code */
	struct base_arena scratch;  /* of the decoding */
	struct flow *fl;
	BASE_VEC(struct cpu_inst) code;
	BASE_VEC(struct ptx_stmt *) stmts;
	BASE_VEC(struct dec_table) tables;
	BASE_VEC(struct dec_fix) fixes;
	uint32_t *label_pc; /* by label id */
	uint32_t *block_pc; /* by block */
	uint64_t *inserted; /* bit set of registers */
	struct dec_place *places;
	struct dec_const *consts;
	struct base_buf cdata;
	BASE_VEC(uint32_t) shared_consts; /* struct cpu_func's */
	const struct ptx_stmt *at;	  /* being bound */
	const char *bad;		  /* why it can't be executed */
	uint32_t ntemps[CPU_CLASSES];
	uint32_t fake[DEC_FAKES], fake_cls[DEC_FAKES], nfakes;
	struct cpu_inst behind[DEC_FAKES]; /* go after the instruction being bound */
	uint32_t nbehind;
	struct pending *pending; /* pending.c; NULL: no wgmma */
	struct dec_spread spreads[CPU_SPREADS];
	uint32_t spreads_block, nspreads;
};

/* decode.c */
struct cpu_inst dec_new_inst(struct cpu_dec *d, const struct ptx_stmt *s);
void dec_push(struct cpu_dec *d, const struct ptx_stmt *s, const struct cpu_inst *in);
/* mov of a special register into a temporary, put before; its slot. */
uint32_t dec_read_special(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t);

/* decode_opnd.c */
uint32_t dec_reg_slot(struct cpu_dec *d, uint32_t reg, unsigned comp);
enum cpu_class dec_reg_class(struct cpu_dec *d, uint32_t reg);
/* The parameter or result of the function itself by that name: its offset among all of them
 * (results after arguments); NULL: none. */
const struct ptx_param *dec_own_param(struct cpu_dec *d, struct ptx_str name, uint32_t *off);

/* decode_call.c */
/* Moves .reg parameters from and .reg results to the .param area: at the entry, before a ret. */
void dec_enter(struct cpu_dec *d, const struct ptx_stmt *s);
void dec_leave(struct cpu_dec *d, const struct ptx_stmt *s);
/* Bytes of hidden .param variables that a call needs for operands in registers. */
uint32_t dec_call_hidden(const struct ptx_stmt *s);
/* The place after `at` of a variable with this size and alignment. */
static inline uint32_t dec_place(uint32_t *at, uint32_t bytes, uint32_t align)
{
	uint32_t off = LOAD_ALIGN(*at, align ? align : 1u);

	*at = off + bytes;
	return off;
}

/* spreads.c: what s writes is no base of a group any more. */
void dec_spreads_after(struct cpu_dec *d, const struct ptx_stmt *s);

/* pending.c: finds what the checks need; puts one before s, which is decoded next, if it needs
 * it. */
void dec_pending_find(struct cpu_dec *d);
void dec_pending_check(struct cpu_dec *d, const struct ptx_stmt *s);
/* Of the wgmma that is decoded: struct cpu_wgmma.unfenced. */
uint32_t dec_unfenced(const struct cpu_dec *d);

#endif
