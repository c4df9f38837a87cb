/*
 * x86.h - one instruction of host code that accesses memory, on x86-64: what it accesses, and its
 * emulation at another address.
 */
#ifndef COLLIDER_CPU_ARCH_X86_H
#define COLLIDER_CPU_ARCH_X86_H

#include <stdbool.h>
#include <stdint.h>

enum x86_move {
	X86_OTHER, /* not emulated: the processor must execute it */
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
	bool is_string, is_string_copy;
	bool reads, writes; /* the operand */
	bool is_masked;	    /* of a vector, some elements only: which isn't known */
	uint64_t address;   /* of the operand; X86_STRING: where it writes */
	int64_t imm;
};

/* Reads the instruction at the context's program counter. False: not understood at
 * all. */
bool x86_decode(const void *ucontext, struct x86_inst *out);
/* Emulates a load or store with `at` in place of its address, and advances past it. False: the
 * context can't hold the result; nothing was done. Not for X86_OTHER and X86_STRING. */
bool x86_do(void *ucontext, const struct x86_inst *in, void *at);
/* rep movs and stos: how many bytes are left, and where a copy reads; done: advances by that
 * many. */
uint64_t x86_string_left(const void *ucontext, const struct x86_inst *in, uint64_t *source);
void x86_string_done(void *ucontext, const struct x86_inst *in, uint64_t bytes, bool is_all);
uint64_t x86_string_value(const void *ucontext);
uint64_t x86_pc(const void *ucontext);

/*
 * x86_slot.c: the instruction, to be executed by the processor in a single step with `at` in place
 * of the memory at `addr`: nothing else changes. One at a time in the process. False: it can't be;
 * nothing was changed then.
 */
struct x86_slot {
	uint64_t pc, next;   /* of the program's instruction */
	uint64_t begin, end; /* of the one that is executed; 0: the program's own */
	uint64_t value[2];   /* registers that differ: what to put back, or to subtract */
	int reg[2];	     /* numbers of the context's registers */
	unsigned nregs;
};
bool x86_slot_make(void); /* not in a signal handler; false: this system allows no such page */
bool x86_slot_enter(void *ucontext, uint64_t addr, void *at, struct x86_slot *s);
/* After the step, or a fault in it: the program's registers and place again. */
void x86_slot_leave(void *ucontext, struct x86_slot *s);

/* Is the fault a write? */
bool x86_is_write(const void *ucontext);
/* Lets the processor stop after the next instruction, or not. */
void x86_step(void *ucontext, bool is_on);
#endif
