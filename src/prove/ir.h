/*
 * ir.h - private to src/prove: a kernel with its calls spliced in, as small steps.
 *
 * One PTX instruction becomes one or more *steps*: a value computed from registers (one enum ex_op
 * each, so that the symbolic evaluation and the replay share one meaning), a memory access, a
 * barrier, or something else that orders or can't be analysed. Registers are numbered anew over the
 * kernel and all spliced functions. Memory that only the thread can name (the stack's .local, the
 * .param of calls, the kernel's parameters) and variables are *objects*.
 */
#ifndef COLLIDER_PROVE_IR_H
#define COLLIDER_PROVE_IR_H

#include "prove/expr.h"
#include "ptx/matrix.h"
#include "ptx/ptx.h"
#include "race/race.h"

#define IR_NONE UINT32_MAX

enum ir_kind {
	IR_VALUE,	 /* dst = ex_op(src...) */
	IR_CONST,	 /* dst = imm */
	IR_SPEC,	 /* dst = special register imm */
	IR_ADDR,	 /* dst = address of object imm */
	IR_COPY,	 /* dst = src[0], of one width */
	IR_PURE,	 /* dst = unmodelled function imm of src */
	IR_BOX,		 /* dst = bytes of a tensor map's box: imm, or 0; op: IR_MOST */
	IR_VAR,		 /* dst = anything; op: EX_CTA: the same in all threads of a block; imm:
			  * what lanes make of src (enum ir_lanes), or 0; src[2], if any: their
			  * mask, in its lower half */
	IR_HEAP,	 /* dst = address of new memory, which malloc gives the thread */
	IR_IS_IN,	 /* dst = is the address src[0] in the enum ir_space imm? */
	IR_ACCESS,	 /* memory: see struct ir_access */
	IR_BARRIER,	 /* imm: enum ir_rank; src[0], if any: its number, else 0; threads */
	IR_WARP_BARRIER, /* src[0]: its mask; of all lanes where it is all ones and unguarded */
	IR_ORDER,	 /* may order something, never surely; imm: IR_PARTIAL, IR_FENCE or 0, or
			  * IR_FENCE_PROXY */
	IR_ASSUME,	 /* imm: enum ir_assume; src: its arguments */
	IR_COMMIT, /* the thread's asynchronous copies up to here are a group; op: enum ir_group */
	IR_WAIT,   /* all its groups but the latest imm are done after it; or IR_WAIT_ALL; op */
	IR_TOGETHER, /* imm threads, whole warps, come here at once; for schedules alone */
	IR_NOTHING,  /* taken out */
	IR_UNKNOWN,  /* memory or barrier effect that isn't modelled */
	IR_ENDLESS   /* control may stay here for ever (a call that isn't known to return) */
};

#define IR_WAIT_ALL UINT64_MAX /* and what is in no group */

/* A barrier to which not all threads of the CTA may come: this plus its number, or the last. */
#define IR_NUMBERS     16
#define IR_PARTIAL     1
#define IR_PARTIAL_ANY (IR_PARTIAL + IR_NUMBERS)
/* Makes what the thread has written to an enum ir_space (op) known to copies: fence.proxy.async. */
#define IR_FENCE_PROXY 24
/* A fence of both directions: this plus its enum race_scope. */
#define IR_FENCE 32

/* Of an IR_BOX, which boxes.c finds: it is no greater than imm. */
#define IR_MOST 1

/* Whose groups: those of cp.async; of bulk copies, a wait for all; of wgmma; of bulk copies, only
 * for what they read. */
enum ir_group {
	IR_GROUP_COPY,
	IR_GROUP_BULK,
	IR_GROUP_PRODUCT,
	IR_GROUPS,
	IR_GROUP_BULK_READ = IR_GROUPS
};

/* What a warp's lanes give each other (lanes.c). src: the value, lane or distance, the mask; of a
 * shuffle, above the mask's 32 bits, its segments ("c" of the PTX manual). */
enum ir_lanes {
	IR_LANES_NONE,
	IR_LANES_UP,
	IR_LANES_DOWN,
	IR_LANES_XOR,
	IR_LANES_OF,
	IR_LANES_VOTE
};

/* Whom a barrier orders; a greater one orders all that a smaller one does. */
enum ir_rank { IR_RANK_WARP, IR_RANK_CTA, IR_RANK_GRID, IR_RANKS };

enum ir_assume {
	IR_ASSUME_FACT,	     /* src[0] isn't 0 */
	IR_ASSUME_DISTINCT,  /* src[0] is another value in each thread */
	IR_ASSUME_APART,     /* the src[1] numbers from src[0] on, up to src[2], are so */
	IR_ASSUME_INJECTIVE, /* the src[1] elements of src[2] bytes at src[0] are all different */
	IR_ASSUME_SORTED,    /* ... and none is less than one before it, as signed numbers */
	IR_ASSUME_WITHIN,    /* ... are bounded (contents.c); no step says it */
	IR_ASSUME_TICKET     /* src[0]: what the atomic `mem` of src[1] gave back, or IR_NONE;
			      * src[2]: what a CAS compares with */
};

/* What an atomic does: adds, counts up to a bound and begins again at 0, puts a value, or puts it
 * where it finds another one. */
enum ir_rmw { IR_RMW_OTHER, IR_RMW_ADD, IR_RMW_INC, IR_RMW_EXCH, IR_RMW_CAS };

enum ir_space { IR_GENERIC, IR_GLOBAL, IR_SHARED, IR_LOCAL, IR_PARAM, IR_CONSTANT };

struct ir_access {
	uint8_t kind;		 /* enum race_op_kind */
	uint8_t rmw;		 /* enum ir_rmw */
	uint8_t space;		 /* enum ir_space */
	uint8_t strength, scope; /* enum race_strength, race_scope */
	bool is_surface;
	bool is_volatile, is_nc, is_async; /* async: until an IR_WAIT for it */
	bool is_bulk; /* ... or until a phase of an mbarrier is over (IR_MBAR_COPY, ARRIVE_ASYNC) */
	uint8_t group; /* async: enum ir_group, COPY, BULK or PRODUCT */
	/* The lanes of a warp do it together: they don't race there. is_row: any of them accesses
	 * what one names. */
	bool is_collective, is_row;
	uint16_t bytes;
	int64_t off;   /* added to the address */
	uint32_t elem; /* which element of a vector */
	/* A range: registers with the first byte's address, less off, and how many there are. The
	 * step itself accesses any of them. */
	bool is_range;
	uint32_t base, count;
	/* PRODUCT: its address is a descriptor of this matrix, of which the step accesses any unit.
	 * is_left: matrix A, of whose rows each warp reads 16. */
	const struct ptx_matrix_shape *matrix;
	bool is_left;
};

/* What an IR_ORDER does with an mbarrier. */
struct ir_mbar {
	enum ir_mbar_kind {
		IR_MBAR_INIT,	/* arg: how many arrivals are a phase */
		IR_MBAR_ARRIVE, /* one, with release; arg: bytes of copies to await, or IR_NONE */
		IR_MBAR_WAIT,	/* with acquire; result: is it over? arg: its parity, or a token */
		IR_MBAR_COPY,	/* a bulk copy of `arg` bytes counts for its phase */
		IR_MBAR_ARRIVE_ASYNC, /* one, as soon as the thread's cp.async so far are done */
		IR_MBAR_INVAL,	      /* it is no mbarrier any more */
		IR_MBAR_OTHER	      /* may be anything */
	} kind;
	bool is_parity;
	uint8_t space;		    /* enum ir_space */
	uint32_t addr, arg, result; /* registers; IR_NONE: there is none */
	uint32_t count;		    /* ARRIVE: register with how many arrivals it is; or 1 */
	int64_t off;		    /* added to the address */
};

struct ir_step {
	uint8_t kind, op, w; /* enum ir_kind, ex_op; width of dst */
	bool is_pred_not;
	uint32_t dst;
	uint32_t src[3]; /* ACCESS: address, value; ADDR, VALUE, ... */
	uint32_t pred;	 /* guard of effects, or IR_NONE; value steps have none */
	uint64_t imm;
	const struct ir_access *mem;
	const struct ir_mbar *mbar; /* ORDER, or NULL */
	const struct ptx_stmt *at;
	uint32_t call; /* how it came here: index of struct ir_call */
	/* BARRIER: that it waits for; 0: all of the CTA. ORDER, IR_PARTIAL: 0: that isn't known */
	uint16_t threads;
};

/* Is it a barrier to which not all threads of the CTA may come? */
static inline bool ir_is_partial(const struct ir_step *st)
{
	return st->kind == IR_ORDER && st->imm >= IR_PARTIAL && st->imm <= IR_PARTIAL_ANY;
}

enum ir_object_kind {
	IR_OBJ_LOCAL, /* .local, and .param of calls: only this thread's */
	IR_OBJ_PARAM, /* the kernel's parameters */
	IR_OBJ_SHARED,
	IR_OBJ_DYNAMIC, /* extern shared: one for all of them */
	IR_OBJ_GLOBAL,
	IR_OBJ_CONST
};

struct ir_object {
	uint8_t kind;
	uint64_t bytes; /* 0: not known */
	uint64_t off;	/* PARAM: of the whole parameter block */
	uint32_t align; /* LOCAL */
	struct ptx_str name;
	const struct ptx_var *var;
	uint32_t cell;	    /* LOCAL: its first byte among the tracked ones, or IR_NONE */
	bool has_addresses; /* its initialiser names variables */
};

enum ir_end { IR_JUMP, IR_BRANCH, IR_SWITCH, IR_EXIT, IR_TRAP };

struct ir_block {
	uint32_t first, n; /* steps */
	uint8_t end;	   /* enum ir_end */
	bool is_cond_not;
	uint32_t cond; /* BRANCH: register; SWITCH: index register */
	uint32_t nsucc, npred;
	uint32_t *succ, *pred;	   /* BRANCH: taken, not taken */
	const struct ptx_stmt *at; /* what ends it */
	/* graph.c */
	uint32_t rpo, idom, ipdom, loop; /* loop: innermost, or IR_NONE */
	bool is_reached;
};

struct ir_loop {
	uint32_t header, parent, depth; /* parent: IR_NONE at the top */
	uint32_t latch;			/* with several: IR_NONE */
	uint64_t *body;			/* bit set of blocks */
};

struct ir_call {
	uint32_t outer;		   /* index, 0: the kernel itself */
	const struct ptx_stmt *at; /* the call */
	const struct ptx_func *f;
	uint32_t reg_base;	  /* of its registers */
	struct ir_params *params; /* its names of .param and .local, lower.c */
};

/* Why a kernel can't be analysed at all. */
struct prove_ir_problem {
	const struct ptx_stmt *at;
	const char *text;
};

/* Does the text take the function's address? */
struct ir_taken {
	const struct ptx_func *f;
	bool is_taken;
};

struct ir {
	struct base_arena *arena;
	struct ptx_module *m;
	struct ptx_func *f;
	BASE_VEC(struct ir_step) steps;
	BASE_VEC(struct ir_block) blocks;
	BASE_VEC(struct ir_object) objects;
	BASE_VEC(struct ir_call) calls;
	BASE_VEC(uint8_t) width; /* of registers, bits */
	BASE_VEC(struct prove_ir_problem) problems;
	BASE_VEC(struct ir_taken) taken; /* of which that was asked */
	struct ir_loop *loops;
	uint32_t nloops, *rpo, nrpo;
	uint32_t *ndefs, *def_block; /* by register */
	uint64_t param_bytes;
	uint32_t param_object;	/* of the first kernel parameter */
	bool has_pointer_calls; /* ... whose callee may be any function that fits */
};

/* lower.c: fills *ir; what can't be analysed goes to ir->problems, with a place. */
void prove_ir_build(struct ir *ir, struct base_arena *arena, struct ptx_module *m,
		    struct ptx_func *f);
void prove_ir_free(struct ir *ir);
void prove_ir_problem(struct ir *ir, const struct ptx_stmt *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* unroll.c: writes out the loops that copy parameters. Needs the counts of definitions. */
void prove_ir_unroll_copies(struct ir *ir);
/* join.c: blocks that always follow each other become one. Blocks and steps have new numbers. */
void prove_ir_join_blocks(struct ir *ir);

/* The object that a name means in a call's function, or IR_NONE. */
uint32_t prove_ir_name_object(const struct ir *ir, uint32_t call, struct ptx_str name);
/* sync.c: barriers of all blocks that a library makes of atomics become what they are. Before
 * prove_ir_graph's results are used. */
void prove_ir_find_grid_syncs(struct ir *ir);
/* steps.c, for lower.c: the steps of one instruction that neither branches nor calls. */
struct ir_frame {
	struct ir *ir;
	const struct ptx_func *f;
	uint32_t reg_base;
	uint32_t call;
	const struct ptx_stmt *at;
	struct ir_params *params; /* names of .param and .local of this frame */
	const struct ir_kept *kept;
};
/* A register that the instruction reads and overwrites: what it held before is in `copy`. */
struct ir_kept {
	const struct ir_kept *next;
	uint32_t reg, copy;
};
void prove_ir_lower_inst(struct ir_frame *fr, const struct ptx_stmt *s);
uint32_t prove_ir_new_reg(struct ir *ir, unsigned w);
struct ir_step *prove_ir_push(struct ir_frame *fr, enum ir_kind kind, uint32_t dst);
uint32_t prove_ir_operand(struct ir_frame *fr, const struct ptx_opnd *o, unsigned w);
/* kept.c: a register of the text as it was before the instruction, which begins so. */
uint32_t prove_ir_before(const struct ir_frame *fr, uint32_t reg);
void prove_ir_keep_overwritten(struct ir_frame *fr, const struct ptx_stmt *s);
/* The bits of a number in the text, as an operand of w bits: 1.5 is read as one of 64. */
uint64_t prove_ir_literal(const struct ptx_opnd *o, unsigned w);
/* memory.c: accesses, barriers, fences and the rest that has an effect. */
void prove_ir_lower_effect(struct ir_frame *fr, const struct ptx_stmt *s);
/* ... and what they have in common with mbarrier.c. The address of [base + off]: the base's
 * register, and the offset in *off. */
uint32_t prove_ir_base_of(struct ir_frame *fr, const struct ptx_opnd *o, int64_t *off);
/* A step that happens where the instruction's predicate lets it. */
void prove_ir_guard(struct ir_frame *fr, struct ir_step *st);
/* The address of any of the bytes at a base, of which a register holds the number. */
uint32_t prove_ir_byte_of(struct ir_frame *fr, uint32_t base, uint32_t bytes);
void prove_ir_unmodelled(struct ir_frame *fr, const struct ptx_stmt *s);
void prove_ir_unknown_results(struct ir_frame *fr, const struct ptx_stmt *s);
enum ir_space prove_ir_space_of(const struct ptx_form *f);
/* mbarrier.c: operations on mbarriers, bulk copies, their groups. False: it isn't modelled. */
void prove_ir_lower_mbarrier(struct ir_frame *fr, const struct ptx_stmt *s);
bool prove_ir_lower_bulk(struct ir_frame *fr, const struct ptx_stmt *s);
bool prove_ir_lower_tensor(struct ir_frame *fr, const struct ptx_stmt *s);
/* lanes.c: shuffles and votes. False: it isn't in a form that is known. */
bool prove_ir_lower_lanes(struct ir_frame *fr, const struct ptx_stmt *s);
/* ... their results are anything then. */
void prove_ir_unknown_lanes(struct ir_frame *fr, const struct ptx_stmt *s);
/* A shuffle, vote, match or reduction: lanes wait there for those of their mask. */
bool ir_waits_for_lanes(const struct ptx_stmt *s);
/* %lanemask_lt and its like. IR_NONE: it is no such register. */
uint32_t prove_ir_lanemask(struct ir_frame *fr, struct ptx_str name);
/* elect.sync: which lane is unknown, but one for each mask. False: not in a form that is known. */
bool prove_ir_lower_elect(struct ir_frame *fr, const struct ptx_stmt *s);
bool prove_ir_lower_group(struct ir_frame *fr, const struct ptx_stmt *s);
/* products.c: matrix products of warpgroups. False: it isn't modelled. */
bool prove_ir_lower_product(struct ir_frame *fr, const struct ptx_stmt *s);
/* memory.c: the numbers of ".m16n8k16" in a form's text; 0: there is none. */
bool prove_ir_shape(const struct ptx_form *f, unsigned shape[3]);
/* After lowering: cp.async that complete on mbarriers, where nothing waits for groups. */
void prove_ir_find_arriving(struct ir *ir);
/* What an atomic gave back (IR_NONE: nothing), and what it added, its bound or what it puts: for
 * meet.c and order/. Gives back the step. */
struct ir_step *prove_ir_ticket(struct ir_frame *fr, const struct ir_access *a, uint32_t result,
				uint32_t step);
uint32_t prove_ir_value(struct ir_frame *fr, enum ex_op op, unsigned w, uint32_t a, uint32_t b,
			uint32_t c);
void prove_ir_write(struct ir_frame *fr, const struct ptx_opnd *dst, uint32_t v, bool is_signed);
/* The number of the thread in its warp. */
uint32_t prove_ir_lane(struct ir_frame *fr);
void prove_ir_write_unknown(struct ir_frame *fr, const struct ptx_opnd *o);
/* ... that all threads of the block are given. */
void prove_ir_write_common(struct ir_frame *fr, const struct ptx_opnd *o);
uint32_t prove_ir_const(struct ir_frame *fr, unsigned w, uint64_t v);
/* An operation of two values; a comparison has one bit, others are as wide as a. */
uint32_t prove_ir_bin(struct ir_frame *fr, enum ex_op op, uint32_t a, uint32_t b);
uint32_t prove_ir_resize(struct ir_frame *fr, uint32_t v, unsigned w, bool is_signed);
/* bits.c: bfe, bfi, lop3, prmt, shf. False: not in a form that is known. */
bool prove_ir_lower_bits(struct ir_frame *fr, const struct ptx_stmt *s);
uint32_t prove_ir_find_object(struct ir_frame *fr, struct ptx_str name, const struct ptx_var *v);
/* effects.c: what an atomic instruction does, as far as proofs make use of it. */
enum ir_rmw prove_ir_rmw(const struct ptx_form *f);
/* ... as how many operations: each half of a packed type is one of its own. */
unsigned prove_ir_halves(const struct ptx_form *f);
/* taken.c: may a pointer lead to it? */
bool prove_ir_is_taken(struct ir *ir, const struct ptx_func *f);
/* effects.c: a function without a body whose effect is known by its name. False: it isn't. */
bool prove_ir_known_call(struct ir_frame *fr, const struct ptx_stmt *s, struct ptx_str name,
			 bool *never_returns);

/* effects.c: one with a body, which isn't spliced in as its effect is known. */
bool prove_ir_summarized_call(struct ir_frame *fr, const struct ptx_stmt *s, struct ptx_str name);

/* graph.c: order, dominators, loops, anew at each call. Irreducible control is a problem. */
void prove_ir_graph(struct ir *ir);
/* The branch that ends block b always goes one way. prove_ir_graph must follow. */
bool prove_ir_prune(struct ir *ir, uint32_t b, bool taken);
/*
 * Post-dominators as sets of bits, a row of `words` for each block: simple, and kernels have some
 * hundred blocks. is_there: only among these blocks (NULL: all); is_end: from there a thread may go
 * nowhere.
 */
uint64_t *prove_ir_postdominators(const struct ir *ir, struct base_arena *a, uint32_t words,
				  const bool *is_there, const bool *is_end);
bool prove_ir_dominates(const struct ir *ir, uint32_t a, uint32_t b);
static inline bool prove_ir_in_loop(const struct ir_loop *l, uint32_t block)
{
	return l->body[block / 64] >> (block % 64) & 1;
}

#endif
