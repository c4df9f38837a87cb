/*
 * eval.h - private to src/prove: the access protocol of a kernel.
 *
 * prove_ev_run gives every register and every byte of private memory its value as an expression of
 * the thread, the launch and the counters of the loops around it, and lists the accesses to shared
 * and global memory: under which condition, through which root, at which offset.
 */
#ifndef COLLIDER_PROVE_EVAL_H
#define COLLIDER_PROVE_EVAL_H

#include "prove/ir.h"

enum ev_root_kind {
	EV_ROOT_OBJECT,	 /* id: a shared or global variable */
	EV_ROOT_PARAM,	 /* id: byte offset of a pointer among the parameters */
	EV_ROOT_LOADED,	 /* base: a pointer read from memory */
	EV_ROOT_UNKNOWN, /* id: enum ir_space */
	EV_ROOT_PRIVATE, /* id: object; never in the list */
	EV_ROOT_CONST	 /* parameters or constant memory; never written */
};

#define EV_ANYWHERE UINT64_MAX

struct ev_root {
	enum ev_root_kind kind;
	uint64_t id;
	const struct ex *base;
	/* A pointer that was read from memory which the kernel doesn't write: from which byte of
	 * what. NULL: that isn't known. */
	const struct ex *slot;
	uint64_t in;   /* 0: the parameters; else a name of the array or variable */
	bool is_apart; /* by the contract other slots point to other arrays */
	/* ... but other slots of structures, where `in` is one of several whose pointers were read
	 * from `of`, by a number: the other may be the same structure. */
	bool is_inner, is_some; /* is_inner: it was read from a structure in memory */
	uint64_t of;		/* EV_ANYWHERE: several, too */
	/* Memory that malloc gave a thread: no thread has another one's, and nothing from before
	 * the launch leads to it. LOADED */
	bool is_new;
};

/* Of two roots, by the contract: different memory, the same, the same where the slots are one
 * place, or anything. */
enum prove_ev_alias { EV_APART, EV_SAME, EV_BY_SLOT, EV_ANYTHING };

struct ev_access {
	const struct ir_step *step;
	const struct ir_access *mem;
	uint32_t block, index; /* index of the step */
	struct ev_root root;
	bool is_shared;
	bool is_late;	/* a copy of an earlier step that is under way where `block` begins */
	bool is_way;	/* one of several objects that the address chooses from */
	uint8_t behind; /* ... of so many iterations before, of the copy's own loop */
	const struct ex *off, *guard; /* offset from the root, in bytes; when it happens */
	const struct ex *whole;	      /* the offset before it is cut to a shared address's width */
	const struct ex *value;	      /* what is stored, or NULL */
	const struct ex *loaded; /* one value for a block, or the grid, that it gives; or NULL */
	uint64_t above;		 /* of a product: as in struct ev_matrix */
};

struct ev_assume {
	uint8_t kind;			/* enum ir_assume */
	const struct ex *fact;		/* FACT: guard => holds; others: NULL */
	const struct ex *guard, *holds; /* control comes to it; what it says */
	uint32_t loop;			/* innermost loop that it stands in, or IR_NONE */
	uint32_t block, index;		/* of the step; IR_NONE: of an option */
	uint32_t param;			/* number among the options' --param from 1, or 0 */
	const char *text;		/* of --assume, or NULL */
	bool is_recorded;		/* the launches that a program made */
	const struct ptx_stmt *at;
	/* DISTINCT, APART, TICKET (NULL: it is not taken); WITHIN: the least value of an element */
	const struct ex *value;
	/* TICKET: what is added, the bound, or what is put; WITHIN: the greatest value */
	const struct ex *step;
	const struct ex *old; /* TICKET: what a CAS compares with; else NULL */
	const struct ir_access *mem;
	struct ev_root root; /* INJECTIVE, SORTED, WITHIN: `count` elements of `bytes` at `off` */
	const struct ex *off,
		*count; /* APART: `count` numbers from `value` on, which end before `off` */
	unsigned bytes;
};

/* A shuffle or a ballot: what goes in where it stands (enum ir_lanes), and what the lane gets. At
 * the end of the block the registers may hold something else. */
struct ev_lanes {
	uint32_t block, step;
	const struct ex *in[3], *got;
};

/* Is it about every thread, wherever that is? */
static inline bool prove_ev_is_everywhere(const struct ev_assume *as)
{
	return as->loop == IR_NONE && as->guard->op == EX_CONST && (as->guard->imm & 1);
}
/* ... and the same in all threads, so that one that keeps it shows that all do? */
static inline bool prove_ev_is_of_launch(const struct ev_assume *as)
{
	return as->kind == IR_ASSUME_FACT && prove_ev_is_everywhere(as) &&
	       as->fact->level == EX_GRID;
}

/* An access that a thread does while its own copy may be under way; own.step NULL: its end. */
struct ev_touch {
	struct ev_access copy, own;
	bool is_again; /* own is the copy, in another iteration of a loop that doesn't wait */
};

/* An operation on an mbarrier, as its step comes (struct ir_mbar). */
struct ev_mbar {
	const struct ir_mbar *mbar;
	const struct ir_step *step;
	uint32_t block, index; /* index of the step */
	struct ev_root root;
	const struct ex *off, *guard;  /* offset from the root, in bytes; when it happens */
	const struct ex *arg, *result; /* or NULL */
};

/* One place of a thread's private state: a register with several definitions, or a byte. */
struct ev_cell {
	const struct ex *v; /* NULL: anything */
	uint32_t at;	    /* which byte of v */
};

#define EV_PAGE 64
struct ev_page {
	struct ev_cell cell[EV_PAGE];
};

/* What one block has: pages that may be other blocks', and those that are its own (cells.c). */
struct ev_row {
	struct ev_page **page, **own;
};

static inline struct ev_cell prove_ev_cell(const struct ev_row *r, uint32_t cell)
{
	return r->page[cell / EV_PAGE]->cell[cell % EV_PAGE];
}

#define EV_MAX_RING	     8
#define EV_MAX_RING_FAILURES 3 /* the start may not have settled */

/* What is known of one cell in one loop; loop.c. */
struct ev_phi {
	bool is_null, is_solved, is_failed, is_wide;
	uint8_t level; /* enum ex_level */
	uint8_t kind;  /* enum prove_ex_ind */
	/* Solved, by its low bits alone, as many as the step has: EX_SEXT, EX_ZEXT, or 0 where the
	 * rest isn't known. */
	uint8_t widening;
	uint8_t turns;
	struct ex_range range;
	const struct ex *step, *init, *next, *leaf;
	const struct ex *closed; /* its value in iteration `ctr` of its loop, or NULL */
	/* It is ring[counter % nring]: the start comes back. 0: that isn't known. With a lead that
	 * is the first iteration's, and doesn't come back. */
	uint8_t nring, ring_failures;
	const struct ex *ring[EV_MAX_RING], *lead;
	/* It moves by `step` until it is this, and stays there (stop.c); or NULL. */
	const struct ex *stop, *moving;
	uint32_t moves; /* of an iteration, each after a look whether it is the end; 0: not each */
	uint8_t stop_failures;
	/* It has the low bits of this induction, another value's, in each iteration, or is all of
	 * it, widened (EX_SEXT, EX_ZEXT); or NULL. */
	const struct ex *twin;
	uint8_t twin_widening, twin_failures;
};

#define EV_MAX_COUNTER (1ull << 62)
#define EV_SEVERAL     (IR_NONE - 1) /* objects */

struct ev_loop {
	const struct ex *ctr, *kexit;
	const struct ex *back, *leave; /* the iteration goes on; the loop is left in it */
	uint64_t last;		       /* no iteration after this one is reached */
	/* Its last iteration, from 1, where that is a number; 0: it isn't, or changed often */
	uint8_t trips, changes;
	uint8_t level;	 /* of its last iteration's number */
	bool is_assumed; /* its counter is in the contract: it doesn't wrap */
	/* A counter whose next value the end of an iteration compares, not its own; or NULL. */
	const struct ev_phi *tested;
	const struct ptx_stmt *at;
};

struct ev {
	struct ir *ir;
	struct ex_pool *pool;
	struct base_arena *arena;
	uint32_t ncells;
	uint32_t *cell_of_reg, *reg_of_cell; /* the cells of registers come first */
	uint32_t nregcells;
	uint32_t npages;
	struct ev_row *in, *out; /* by block that is reached; in: of headers only */
	const struct ex **val;	 /* by register with one definition */
	const struct ex **cond;	 /* by block: the branch is taken; the index of a switch */
	const struct ex **arg;	 /* by block that ends in a barrier: its number or mask, or NULL */
	const struct ex **local, **guard;
	struct ev_phi **phi; /* [loop][cell]; NULL: the loop doesn't change the cell */
	struct ev_loop *loops;
	BASE_VEC(struct ev_access) accesses;
	BASE_VEC(struct ev_access) own; /* to the thread's own arrays */
	BASE_VEC(struct ev_touch) touches;
	struct ev_access lost; /* a copy whose ways aren't followed to the end; or step: NULL */
	BASE_VEC(struct ev_assume) assumes;
	BASE_VEC(struct ev_assume) tickets; /* meet.c finds out which are distinct */
	BASE_VEC(struct ev_lanes) lanes;
	BASE_VEC(struct ev_mbar) mbars;
	BASE_VEC(struct ev_root) written, writes; /* assumed; seen in this turn */
	bool is_all_written, may_alias;
	bool *is_from_stack;  /* by step: loads a value that isn't tracked from private memory */
	uint32_t *private_at; /* by step: prove_ev_private_of */
	bool is_shared_known; /* an address of shared memory was stored in memory */
	bool is_new_known;    /* ... one that malloc gave */
	bool may_wrap;	      /* the counters of loops may come around */
	bool no_assumes;      /* what the code assumes counts for nothing */
	bool any_grid;	      /* gridDim * blockDim may be 2^31 and more */
	bool has_stops;	      /* some value has a bit of stop.c */
	/* A number that is drawn under a condition, and used under it later, is known there: where
	 * ways meet, what a register holds on one counts though another didn't write it. */
	bool keeps_undefined;
	bool is_changed;
	struct ev_common *common; /* common.c */
	unsigned turn;
};

/* The object of private memory that a step accesses; IR_NONE: none, or EV_SEVERAL. */
static inline uint32_t prove_ev_private_of(const struct ev *e, uint32_t step)
{
	return e->private_at[step] - 1;
}

static inline void prove_ev_note_private(struct ev *e, uint32_t step, uint32_t object)
{
	uint32_t was = prove_ev_private_of(e, step);

	e->private_at[step] = (was == IR_NONE || was == object ? object : EV_SEVERAL) + 1;
}

struct ev_limits {
	bool may_alias; /* a write through one parameter may reach the memory of another */
	bool may_wrap;	/* struct ev has these, too */
	bool any_grid;
	bool no_assumes;
};
/* Evaluates until nothing changes. Problems go to ir->problems. */
void prove_ev_run(struct ev *e, struct ir *ir, struct ex_pool *pool,
		  const struct ev_limits *limits);
void prove_ev_free(struct ev *e);

/* eval.c: what a register holds at a step; of one with several definitions, as the block ends. */
const struct ex *prove_ev_read_reg(struct ev *e, uint32_t block, uint32_t step, uint32_t r);
/* eval.c: may the kernel write to its memory? */
bool prove_ev_is_written(const struct ev *e, const struct ev_root *r);
/* eval.c: what the load of a step gives, of memory that the kernel writes. */
const struct ex *prove_ev_fresh_load(struct ev *e, uint32_t block, uint32_t step, unsigned w);

/* sync.c: barriers that aren't surely for all threads become IR_ORDER. */
void prove_ev_settle_barriers(struct ev *e);

/* copies.c: asynchronous copies that are under way across barriers, when all turns are done. */
void prove_ev_find_copies(struct ev *e);
/* Does a loop wait for copies, make groups of them, or have a barrier? */
bool prove_ev_has_sync(const struct ir *ir, uint32_t loop);

/* matrix.c: the units of 16 bytes of which a descriptor's matrix is a part, as a range. */
struct ev_matrix {
	const struct ex *start; /* of the first, an address of 32 bits */
	uint32_t units;
	uint64_t above; /* all bits of the descriptor but the address */
};
/* Is it dynamic shared memory with no other before it? By the contract it is aligned to any
 * swizzle's line then, as a block's shared memory is. */
bool prove_ev_is_all_dynamic(const struct ir *ir, uint64_t object);
/* NULL: it was found; else what isn't known of it, in words. */
const char *prove_ev_find_matrix(struct ev *e, const struct ex *desc,
				 const struct ptx_matrix_shape *shape, struct ev_matrix *out);
/* Once the values are settled: a start's field holds 2^18 bytes, after which it begins again, so
 * that what is added may come back into the array. Where that isn't ruled out it is a problem. */
void prove_ev_check_matrices(struct ev *e);

/* condition.c */
/* v, made in block `from`, as it is seen in block `to` after loops: counters become last ones. */
const struct ex *prove_ev_leave(struct ev *e, const struct ex *v, uint32_t from, uint32_t to);
/* The condition that control comes from dominator d to block b (within one iteration). */
const struct ex *prove_ev_path(struct ev *e, uint32_t d, uint32_t b);
const struct ex *prove_ev_edge(struct ev *e, uint32_t from, uint32_t to);
/* Fills local and guard of b once all its predecessors are evaluated. */
void prove_ev_find_guard(struct ev *e, uint32_t b);
void prove_ev_loop_conditions(struct ev *e, uint32_t loop);

/* counted.c: the number of bits that are set, 32 bits wide; NULL: mask isn't made of the lane. */
const struct ex *prove_ev_count_bits(struct ex_pool *p, const struct ex *mask);

/* hidden.c: may there be an address in a term that is no whole base? is_minus: it is subtracted. */
bool prove_ev_hides_address(const struct ex *v, bool is_minus);
/* ... may it be the difference of two, or of `base`, to which it is added, and another one? */
bool prove_ev_is_difference(const struct ev *e, const struct ex *v, const struct ex *base);

/* root.c */
struct ev_root prove_ev_find_root(const struct ev *e, const struct ex *addr, enum ir_space space);
/* Is an address in a space? What a parameter points to is global. NULL: that isn't known. */
const struct ex *prove_ev_is_in(struct ev *e, const struct ex *addr, enum ir_space space);
/* addr without its base. */
const struct ex *prove_ev_offset(struct ev *e, const struct ex *addr, const struct ev_root *r);
bool prove_ev_same_root(const struct ev_root *a, const struct ev_root *b);
/* Is it one array for the grid, whose pointer is in memory that the kernel doesn't write? */
static inline bool prove_ev_is_one_loaded(const struct ev_root *r)
{
	return r->kind == EV_ROOT_LOADED && r->slot && r->base->level == EX_GRID &&
	       !r->base->has_ctr;
}
enum prove_ev_alias prove_ev_alias(const struct ev_root *a, const struct ev_root *b);
/* The choice (EX_ITE) in an address between pointers into different objects, or NULL. */
const struct ex *prove_ev_find_choice(const struct ev *e, const struct ex *addr);
/* May the memory behind a pointer be shared memory, or the thread's own? */
bool prove_ev_is_generic(const struct ev *e, const struct ev_root *r);
/* Is the parameter at this place the pointer of some access? */
bool prove_ev_is_array(const struct ev *e, uint64_t param);
/* May a value be an address of the thread's own stack, or of shared memory? */
bool prove_ev_is_private(const struct ev *e, const struct ex *v);
bool prove_ev_is_shared_address(const struct ev *e, const struct ex *v);
/* ... or one that malloc gave? */
bool prove_ev_is_new_address(const struct ev *e, const struct ex *v);

/* common.c: does it come from a cell that holds only what malloc gave? */
bool prove_ev_is_new_cell(const struct ev *e, const struct ex *v);

/* loop.c */
struct ev_cell prove_ev_header_cell(struct ev *e, uint32_t loop, uint32_t cell,
				    struct ev_cell init);
void prove_ev_check_loop(struct ev *e, uint32_t loop);
/* Finds `last` of a loop that ends by a value in closed form; when all turns are done. */
void prove_ev_bound_counter(struct ev *e, uint32_t loop);
/* bounds.c: what holds of the counter in each iteration where a loop counts down, or up, until a
 * number is equal to another: `n--` until that is 0. */
const struct ex *prove_ev_ends_by(struct ev *e, uint32_t loop);
/* The largest value below a bound that condition c, such as "the loop goes on", gives v, whose
 * comparisons with a sign it must not fail by being negative; or UINT64_MAX. */
uint64_t prove_ev_bound_of(const struct ex *c, const struct ex *v, unsigned depth);
/* Finds `trips`, of the loop as this turn sees it. */
void prove_ev_count_trips(struct ev *e, uint32_t loop);

/* loop.c; what is known of a cell in a loop. NULL: the loop doesn't change it. */
static inline struct ev_phi *prove_ev_phi_of(const struct ev *e, uint32_t loop, uint32_t cell)
{
	return e->phi[(size_t)loop * e->ncells + cell];
}
/* Does the loop change a cell of this page? */
bool prove_ev_changes_page(const struct ev *e, uint32_t loop, uint32_t page);

/* v - x where v is a sum with x in it once; NULL: it isn't. */
const struct ex *prove_ev_difference(struct ev *e, const struct ex *v, const struct ex *x);

/* twin.c */
const struct ex *prove_ev_low_bits(struct ev *e, const struct ex *v, unsigned w);
/* Guesses the induction whose low bits the value has. True: p has one, for the next turn. */
bool prove_ev_try_twin(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next);
/* Is it that of x at the start, and in the next iteration? */
bool prove_ev_keeps_twin(struct ev *e, const struct ev_phi *p, const struct ex *x,
			 const struct ex *next);
/* What it is, of w bits, where the induction is x. */
const struct ex *prove_ev_twin_value(struct ev *e, const struct ev_phi *p, const struct ex *x,
				     unsigned w);

/* cycle.c; `next` is what an iteration makes of the cell */
/* Guesses a ring. True: p has one, for the next turn. */
bool prove_ev_try_ring(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next);
bool prove_ev_keeps_ring(struct ev *e, uint32_t loop, const struct ev_phi *p,
			 const struct ex *next);
/* The ring's value in iteration `counter`. */
const struct ex *prove_ev_ring_value(struct ev *e, uint32_t loop, const struct ev_phi *p);

/* stop.c: v where the condition holds. */
const struct ex *prove_ev_under(struct ev *e, const struct ex *v, const struct ex *cond);
/* a where the condition holds, else b; whether a and b are equal. */
const struct ex *prove_ev_choose(struct ev *e, const struct ex *cond, const struct ex *a,
				 const struct ex *b);
const struct ex *prove_ev_equal(struct ev *e, const struct ex *a, const struct ex *b);
/* Does an iteration that makes `next` of phi leave it as it is once it is *end, and make *moved of
 * it before? */
bool prove_ev_find_stop(struct ev *e, uint32_t loop, const struct ex *phi, const struct ex *next,
			const struct ex **end, const struct ex **moved);
/* As p->moves. */
uint32_t prove_ev_count_moves(struct ev *e, const struct ev_phi *p, const struct ex *next);
/* Sets p->moving and p->leaf: the value that moves, or the end. */
void prove_ev_stopped(struct ev *e, uint32_t loop, uint32_t cell, struct ev_phi *p,
		      struct ex_args counters);

/* number.c */
struct smt_model;
/* A launch and a thread of it, in the first iteration of its loops. */
struct ev_trial {
	const struct ev *e;	   /* NULL: only what depends on launch, thread and parameters */
	const struct smt_model *m; /* the parameters, or NULL: */
	uint64_t param;		   /* all of them are this, or nearest to it within: */
	uint64_t times;		   /* ... of 64 bits so many times this, as sizes in bytes are */
	const struct ex_pin *pin;
	uint32_t npins;
	uint64_t any; /* what isn't modelled is this, or nearest to it within its bounds */
	uint32_t spec[EX_SPEC_COUNT];
};
/* Thread 0 or 1 of a model, without an evaluated kernel. The model stays the caller's. */
struct ev_trial prove_ev_trial_of(const struct smt_model *m, unsigned thread);
/* What does v come to? False where that isn't clear. */
bool prove_ev_number(const struct ev_trial *t, const struct ex *v, uint64_t *out);
/* Is the condition true? False where that isn't clear. */
bool prove_ev_holds(const struct ev_trial *t, const struct ex *v);

#endif
