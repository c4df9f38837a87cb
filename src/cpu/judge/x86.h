/*
 * x86.h - one instruction of host code that touches memory: what it accesses, and doing it
 * elsewhere.
 */
#ifndef COLLIDER_CPU_X86_H
#define COLLIDER_CPU_X86_H

#include <stdbool.h>
#include <stdint.h>

enum x86_move {
	X86_OTHER, /* nothing that x86_move does: the processor has to */
	X86_LOAD,
	X86_STORE,
	X86_STORE_IMM,
	X86_LOAD_VEC,
	X86_STORE_VEC,
	X86_STRING /* rep movs, rep stos */
};

struct x86_inst {
	enum x86_move move;
	uint8_t length;
	uint8_t bytes;	   /* of the access; 0: not known */
	uint8_t reg;	   /* general or vector register */
	uint8_t reg_bytes; /* a load's result: 1, 2, 4 (zeroes the upper half) or 8 */
	bool is_signed;	   /* the load extends the sign */
	bool is_vex;	   /* the upper half of the vector register is written, too */
	bool is_string_copy;
	uint64_t address; /* of the operand; X86_STRING: where it writes */
	int64_t imm;
};

/* Reads the instruction at the context's program counter. False: not x86-64, or not understood at
 * all. */
bool x86_decode(const void *ucontext, struct x86_inst *out);
/* Does a load or store with `at` in the place of its address, and goes on after it. False: the
 * context can't take the result; nothing was done. Not for X86_OTHER and X86_STRING. */
bool x86_do(void *ucontext, const struct x86_inst *in, void *at);
/* rep movs and stos: how many bytes are left, and where a copy reads; done: goes on behind so
 * many. */
uint64_t x86_string_left(const void *ucontext, const struct x86_inst *in, uint64_t *source);
void x86_string_done(void *ucontext, const struct x86_inst *in, uint64_t bytes, bool is_all);
uint64_t x86_string_value(const void *ucontext);
uint64_t x86_pc(const void *ucontext);
/* Is the fault a write? */
bool x86_is_write(const void *ucontext);
/* The processor stops after the next instruction, or doesn't. */
void x86_step(void *ucontext, bool is_on);
#if defined(__x86_64__) && defined(__linux__)
#define X86_HAS 1
#else
#define X86_HAS 0
#endif

#endif
