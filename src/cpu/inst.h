/*
 * inst.h - inside src/cpu: an instruction as the machine executes it, the slots of its registers,
 * and what a binder asks of the decoder to make it of PTX.
 */
#ifndef COLLIDER_CPU_INST_H
#define COLLIDER_CPU_INST_H

#include <stdatomic.h>

#include "cpu/cpu.h"

struct cpu_warp;
struct cpu_cta;
struct cpu_inst;

/* ---- instructions ----------------------------------------------------------- */

/* The effect of an instruction on its split. */
enum cpu_step {
	CPU_OK,	   /* go on with the next one */
	CPU_YIELD, /* the next one, but let others run first */
	CPU_TRIED, /* the same, and the rest of the turn's time has passed: it may be tried again */
	CPU_RETRY, /* nothing was done: execute it again later (a wait that polls) */
	CPU_MOVED, /* the function changed the splits (pc, masks, states): read them again */
	CPU_FAULTED
};

/* `mask`: the lanes that execute (guard applied, never 0). Slots are read and written through
 * w->base; lanes outside of mask keep their values. */
typedef enum cpu_step cpu_exec(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask);

/* A function of syscalls.c; see cpu_syscall_find. */
typedef enum cpu_step cpu_syscall(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				  uint8_t *params, uint32_t stride);

#define CPU_NOSLOT     0x7fffffffu
#define CPU_SLOT_CONST 0x80000000u /* byte offset in the function's constants, else in the frame */
#define CPU_NOPC       UINT32_MAX
#define CPU_SPREADS    4 /* groups of accesses whose spreads are kept at a time */

enum {
	CPU_I_GUARD_NOT = 1 << 0,
	/* Lanes whose guard is false leave first, as a split of their own at pc + 1. Set for all
	 * that can wait, branch, call or end. */
	CPU_I_PARTS = 1 << 1,
	/* Lanes named by the mask in src[gather] (or all of the warp's, for barrier.aligned forms)
	 * must be here together; the run loop waits for them before it calls fn. */
	CPU_I_GATHER = 1 << 2,
	CPU_I_JOIN = 1 << 3,	 /* some divergent branch joins here: merge before executing */
	CPU_I_INSERTED = 1 << 4, /* of the instrumentation, not the user's */
	CPU_I_MEMORY = 1 << 5,	 /* accesses memory that others see: threads switch here */
	CPU_I_BACK = 1 << 6,	 /* a branch to an earlier place: threads switch here, too */
	CPU_I_PLAIN = 1 << 7,	 /* no guard, none of PARTS, GATHER, JOIN, RUN, RUN_SOME */
	CPU_I_STORE = 1 << 8,	 /* writes memory that it doesn't read (repeat.c) */
	CPU_I_NOTED = 1 << 9,	 /* the judge follows its registers: cpu_event_noted */
	CPU_I_APART = 1 << 10,	 /* counts on lockstep: its lanes may part (events/volatile.c) */
	/* Code of a run may begin here, for all lanes and for some (jit/run.c). */
	CPU_I_RUN = 1 << 11,
	CPU_I_RUN_SOME = 1 << 12
};

/* One cache line. */
struct cpu_inst {
	cpu_exec *fn;
	uint32_t dst[2];
	uint32_t src[4];
	uint32_t guard; /* slot of a predicate, or CPU_NOSLOT */
	uint16_t flags; /* CPU_I_* */
	uint8_t gather; /* index in src of the member mask, or CPU_GATHER_ALL */
	uint8_t sub;	/* the function's own */
	union {
		uint32_t target;       /* of a branch: index of an instruction of the function */
		_Atomic bool waits[2]; /* RUN: it has no code for some lanes, for all */
	};
	uint32_t join;	 /* where the paths of a branch meet again, or CPU_NOPC */
	uint64_t imm;	 /* the function's own */
	const void *aux; /* the function's own (struct cpu_acc, list of slots, ...) */
};
_Static_assert(sizeof(struct cpu_inst) == 64, "one cache line");
#define CPU_GATHER_ALL 0xff /* all lanes of the warp that have not exited */

/* Slots by class, each class contiguous, in this order. Bytes of one slot: */
enum cpu_class { CPU_PRED, CPU_B16, CPU_B32, CPU_B64, CPU_B128, CPU_CLASSES };
static const uint16_t cpu_class_bytes[CPU_CLASSES] = {
	4,   /* uint32_t, a bit per lane */
	64,  /* uint16_t[32]; 8-bit registers lie here zero-extended */
	128, /* uint32_t[32] */
	256, /* uint64_t[32] */
	512  /* uint64_t[32] low halves, then uint64_t[32] high halves */
};

/*
 * A kernel has a layout of its own, for depth 0, where no other function runs; all functions that
 * can be called share one. The kernel's layout has the frame and param that hold at every depth:
 * strides come from w->grid->func->layout, never from that of a callee.
 */
struct cpu_layout {
	uint32_t count[CPU_CLASSES]; /* slots */
	uint32_t start[CPU_CLASSES]; /* byte offset of each class; 64-byte aligned */
	uint32_t frame;		     /* bytes of a frame, 64-byte aligned */
	uint32_t param; /* bytes of the .param area of one lane at one depth, 16-aligned */
};

struct cpu_func {
	const char *name; /* NUL-terminated */
	struct ptx_func *ptx;
	struct ptx_module *part;
	struct cpu_module *mod;
	struct cpu_inst *code;
	struct ptx_stmt **stmts; /* of each instruction, for messages */
	uint32_t ninsts;
	struct cpu_layout *layout;
	uint32_t nunset, (*unset)[2]; /* place, bytes of registers read before a write */
	uint8_t *consts;	      /* slots of constants; 64-byte aligned */
	uint32_t const_bytes;
	/* Which constants are shared addresses: off | (is of 64 bits). They differ by the block's
	 * rank. ranked: all constants for ranks from 1, one after the other; NULL: not made yet. */
	uint32_t nshared_consts, *shared_consts;
	_Atomic(uint8_t *) ranked;
	uint32_t local;	      /* bytes of .local variables of one thread, 16-aligned */
	uint32_t local_align; /* of the first of them; at least 16 */
	/*
	 * .param area of a lane at this function's depth: arguments (as declared, each at its
	 * natural alignment), then results, then the .param variables of the body. Entry functions
	 * read their arguments from the grid's block instead.
	 */
	uint32_t args, rets, own;     /* byte offsets where the three parts start */
	uint64_t address;	      /* in CPU_WIN_CODE */
	uint32_t *first_of_line;      /* events/line.c: of each instruction; NULL: not made yet */
	struct cpu_site **sites;      /* events/site.c: of each instruction, or NULL */
	struct events_follow *follow; /* events/steps.c; NULL: no value of it is followed */
	struct cpu_jit_func *jit;     /* jit/run.c; NULL: all of it is interpreted */
	uint8_t jit_wait;	      /* turns until its runs are looked for; 0: no more */
};

/* ---- decode.c: what the binders use ----------------------------------------- */

/*
 * A binder turns one PTX instruction into struct cpu_inst: it sets fn and the fields that fn
 * reads. Guard, flags GUARD_NOT and INSERTED are set by decode.c already. Returns:
 */
enum cpu_bound {
	CPU_BOUND,
	CPU_NOT_MINE, /* another binder's opcode */
	CPU_BAD /* ours, but not executable: cpu_dec_unsupported has been called, or will be */
};
struct cpu_dec; /* one function being decoded */
typedef enum cpu_bound cpu_binder(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in);

/* The slot of an operand read as type t: a register's slot, or a constant's (integer, float,
 * address of a variable, WARP_SZ ...), broadcast in the class of t's size. A special register
 * outside of mov is first read into a temporary by an instruction inserted before. */
uint32_t cpu_dec_src(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t);
/* The slot that an operand writes; CPU_NOSLOT for the sink `_`. */
uint32_t cpu_dec_dst(struct cpu_dec *d, const struct ptx_opnd *op);
/* Bytes of the register of an operand (1, 2, 4, 8, 16; predicate 0), or of t for constants:
 * ld, st, cvt and others accept registers wider than their type. */
unsigned cpu_dec_bytes(struct cpu_dec *d, const struct ptx_opnd *op, enum ptx_type t);
bool cpu_dec_is_not(const struct ptx_opnd *op); /* !p as an operand */
/* A constant of our own, broadcast. */
uint32_t cpu_dec_const(struct cpu_dec *d, uint64_t value, enum cpu_class cls);
/* A shared address, as an offset: in a block of another rank than 0 it has that rank. */
uint32_t cpu_dec_shared(struct cpu_dec *d, uint64_t offset, enum cpu_class cls);
/* A temporary slot, live in this one instruction only. */
uint32_t cpu_dec_temp(struct cpu_dec *d, enum cpu_class cls);
/* Memory that lives as long as the code, zeroed. */
void *cpu_dec_alloc(struct cpu_dec *d, size_t bytes);
/* An address operand: base slot (64-bit, 32-bit, or CPU_NOSLOT when constant) and offset. */
struct cpu_addr {
	uint32_t base;	   /* slot or CPU_NOSLOT */
	bool is_base32;	   /* the base is a 32-bit register: zero-extended */
	bool is_local_var; /* the address counts from the frame of .local variables (fp) */
	bool is_param;	   /* .param: an offset in the parameter block or area */
	int64_t off;	   /* variables' addresses are in here */
};
struct cpu_addr cpu_dec_addr(struct cpu_dec *d, const struct ptx_stmt *s,
			     const struct ptx_opnd *op);
/* An access in a group with one base register, which nothing writes between them. */
struct cpu_spread_use {
	const struct cpu_spread_use
		*first; /* of the group; NULL: it isn't in one, or is the first */
	int64_t apart;	/* bytes from the first's address */
	uint8_t way;	/* where the worker keeps the spread */
	bool is_first;
};
/* Puts an access to `address`, of vec elements and width bytes a lane, into a group, if there is
 * one: fills in `use`, which must live as long as the code; that of the group's first changes,
 * too. */
void cpu_dec_spread(struct cpu_dec *d, const struct ptx_stmt *s, const struct ptx_opnd *address,
		    uint32_t vec, uint32_t width, struct cpu_spread_use *use);
/*
 * Addresses in .param space, as cpu_addr.off has them: those below CPU_PARAM_AREA are offsets in
 * the grid's parameter block (an entry's parameters), others lie in the lane's .param area at the
 * depth of the running function, CPU_PARAM_AREA being its first byte. Where mov takes the address
 * of a function's parameter, which is local memory then, callees may use it: there the areas of all
 * depths lie one after the other from CPU_PARAM_STACK on.
 */
#define CPU_PARAM_AREA	0x1000000u
#define CPU_PARAM_STACK 0x2000000u
/* A constant, or a temporary that the code before the instruction writes: the address in a
 * register, `by` further. */
uint32_t cpu_dec_param_address(struct cpu_dec *d, uint64_t addr, uint64_t by, enum cpu_class cls);
/* A .param variable of the body, or a parameter or result of the function: its address in .param
 * space (as above) and size. False: the operand names none. */
bool cpu_dec_param(struct cpu_dec *d, const struct ptx_opnd *op, uint32_t *addr, uint32_t *bytes);
/* The elements of {a, b, ...}, of a vector register, or the operand itself: at most 8 (`max`)
 * operands for cpu_dec_src and cpu_dec_dst. Returns their number, 0 when there are more. */
unsigned cpu_dec_elems(struct cpu_dec *d, const struct ptx_opnd *op, struct ptx_opnd *out,
		       unsigned max);
/* Branch targets of brx.idx: indexes of instructions, filled in when the function is complete.
 * decode.c itself sets target and join of bra, join of brx.idx and call (the next instruction),
 * and CPU_I_BACK and CPU_I_JOIN. NULL: no .branchtargets list; cpu_dec_unsupported then. */
const uint32_t *cpu_dec_targets(struct cpu_dec *d, const struct ptx_stmt *s, uint32_t *n);

/* What a call moves: bytes between a variable of the caller's .param area and the callee's. */
struct cpu_arg {
	uint32_t here, there, bytes; /* offsets in the areas of the caller's and next depth */
};
struct cpu_call {
	struct cpu_func *callee; /* NULL: see below */
	cpu_syscall *syscall;	 /* or NULL: the address is in `slot` (64-bit register) */
	uint32_t slot;
	uint32_t nargs, nrets;
	struct cpu_arg *args, *rets; /* copy args before the call, rets after the return */
};
/*
 * Describes a call (direct, to a system call, or by address); lives as long as the code.
 * Arguments and results in registers have been moved to and from hidden .param variables by
 * instructions before and after the call, .reg parameters of the callee likewise, so that
 * only bytes of .param areas are left to be copied. The callee's code is complete before the
 * kernel starts (cpu_kernel_ready). NULL: cpu_dec_unsupported was called for `in`.
 */
const struct cpu_call *cpu_dec_call(struct cpu_dec *d, const struct ptx_stmt *s,
				    struct cpu_inst *in);
/* Makes the instruction one that faults with this reason; returns CPU_BAD. */
enum cpu_bound cpu_dec_unsupported(struct cpu_dec *d, struct cpu_inst *in, const char *why);
struct cpu_func *cpu_dec_func(struct cpu_dec *d);
/* Are its accesses judged (events.h)? */
bool cpu_dec_is_judged(struct cpu_dec *d, const struct cpu_inst *in);
/* Is it of a text without checks, beside one with them (cpu_module_load_plain)? */
bool cpu_dec_is_plain(struct cpu_dec *d);
/* May several workers execute the blocks of one launch (apart.c)? */
bool cpu_dec_has_workers(struct cpu_dec *d);
/* Does the instruction fault as cpu_dec_unsupported made it? (Statistics, tests.) */
bool cpu_dec_is_unsupported(const struct cpu_inst *in);

/*
 * The binders and their opcodes: cpu/units.def. The files of alu/ are compiled twice,
 * for x86-64-v3 and for the baseline, and must name their binder by this macro.
 */
#ifdef CPU_ISA_SUFFIX
#define CPU_ISA_PASTE_(a, b) a##b
#define CPU_ISA_PASTE(a, b)  CPU_ISA_PASTE_(a, b)
#define CPU_BINDER(name)     CPU_ISA_PASTE(cpu_bind_##name, CPU_ISA_SUFFIX)
#endif

#endif
