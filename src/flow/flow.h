/*
 * flow.h - the front header of src/flow: questions about one function's control
 * and data flow, pure over the PTX IR (nothing here changes it).
 *
 * flow_build makes the block graph once; the other analyses are computed on
 * first use and kept in the same arena. A pass makes all its queries before it changes the function
 * (a statement inserted later is not seen, and a changed operand of an old one gives stale
 * answers); the next pass builds a new struct flow.
 *
 * cfg.c defuse.c solve.c live.c use.c demand.c select.c sum.c trace.c addr.c object.c affine.c
 * own.c uniform.c interval.c update.c place.c manner.c known.c unoptimised.c text.c; what they
 * share among themselves is in priv.h.
 */
#ifndef COLLIDER_FLOW_H
#define COLLIDER_FLOW_H

#include "ptx/ptx.h"
#include "race/rules.h"

/* ---- cfg.c ----------------------------------------------------------------- */

struct flow_block {
	struct ptx_stmt *first, *last; /* statements first..last, in order, both included */
	uint32_t id;		       /* in text order, 0 is the entry */
	uint32_t nsucc, npred;
	uint32_t *succ, *pred; /* block numbers */
	uint32_t rpo;	       /* place in reverse post-order; UINT32_MAX: unreachable */
	uint32_t idom, ipdom;  /* immediate (post-)dominator; UINT32_MAX: none / exit */
	uint32_t loop;	       /* nesting depth of natural loops */
	bool exits;	       /* control may leave the function at its end */
	bool can_exit;	       /* some path from here leaves the function */
};

struct flow {
	struct base_arena *arena;
	struct ptx_module *m;
	struct ptx_func *f;
	struct flow_block *blocks;
	uint32_t nblocks;
	uint32_t *rpo; /* block numbers in reverse post-order */
	uint32_t nrpo;
	struct flow_priv *priv; /* lazily computed parts */
};

/* Builds blocks (each statement's .mark becomes its block number), edges, dominators and
 * post-dominators. brx.idx goes to all its targets, unknown ones to every label. Calls and
 * barriers don't end a block; exit, ret, trap do; a guarded one falls through as well. */
struct flow *flow_build(struct base_arena *arena, struct ptx_module *m, struct ptx_func *f);

/*
 * Immediate dominators of a graph whose nodes are numbered in reverse post-order, 0 its entry: node
 * i can be reached from from[first[i]] to from[first[i + 1] - 1]. dom[i]: that of i, for the entry
 * itself; UINT32_MAX: there is no way to it.
 */
void flow_find_dominators(uint32_t n, const uint32_t *first, const uint32_t *from, uint32_t *dom);

bool flow_dominates(const struct flow *fl, uint32_t a, uint32_t b);
bool flow_postdominates(const struct flow *fl, uint32_t a, uint32_t b);

/* ---- defuse.c ---------------------------------------------------------------- */

/* Statements that write `reg`, in text order, each once; count in *n. A .reg parameter has one
 * more definition that is not in the list: the function's entry. A register made after
 * flow_build has none. */
struct ptx_stmt *const *flow_defs(struct flow *fl, uint32_t reg, uint32_t *n);
/* Statements of the program that read `reg`: inserted ones are no uses. */
struct ptx_stmt *const *flow_uses(struct flow *fl, uint32_t reg, uint32_t *n);

/* ---- live.c -------------------------------------------------------------------- */

/* Registers live at the end of a block, as a bit set of f->nregs bits. */
const uint64_t *flow_live_out(struct flow *fl, uint32_t block);

/* ---- unoptimised.c ------------------------------------------------------------- */

/* Was the function compiled without optimisation (-G, cicc's -O0)? None of its loads is invented:
 * flow_demand calls them all sure. */
bool flow_is_unoptimised(struct flow *fl);

/* ---- demand.c: is the value of a load really used? ------------------------------- */

enum flow_demand {
	FLOW_DEMAND_DEAD,   /* no use at all */
	FLOW_DEMAND_SURE,   /* every path from the load to an exit really uses the value */
	FLOW_DEMAND_SELECT, /* only by selp in the load's own block: used if .pred is .sense */
	FLOW_DEMAND_MAYBE   /* used on some paths only: nvcc may have moved the load up */
};

/*
 * A use that takes the value when register pred is `sense` there (selp, and.pred, a guard). Or, if
 * pred is PTX_NO_REG, when the statement's result changes with operand `tried`: another operand may
 * mask it (flow_tried_operand).
 */
struct flow_cond_use {
	struct ptx_stmt *at;
	uint32_t pred;
	bool sense;
	uint8_t tried;
};

struct flow_demand_info {
	enum flow_demand demand;
	/* SELECT: the value is taken when register pred is `sense` at statement `at`. */
	uint32_t pred;
	bool sense;
	struct ptx_stmt *at;
	/*
	 * MAYBE: the first real uses on the paths that have one (each once). When control comes
	 * from the load to such a statement, the value is used; but control may reach it on other
	 * paths too, so a note about the load must be cleared at the function's entry and at each
	 * execution of the load. May be empty: then no place shows it.
	 */
	struct ptx_stmt **uses;
	uint32_t nuses;
	/* MAYBE: further uses on those paths, each under its predicate; the same holds. */
	struct flow_cond_use *conds;
	uint32_t nconds;
};

/*
 * How the value that statement `load` writes into register `reg` is demanded.
 * "Really used": by anything but selp, mov into a register with several
 * definitions (a phi), an operation of which another operand, a register, may mask this one (and,
 * or, lop3, prmt, shifts, integer products), or another pure instruction whose own result is not
 * demanded. nvcc's optimiser turns `if (c) v = x` into an unconditional load and
 * a select, moves loop-invariant loads above their condition, and widens
 * neighbours to a vector with dead elements; such loads must not be reported as
 * races unless the value is really used.
 */
void flow_demand(struct flow *fl, const struct ptx_stmt *load, uint32_t reg,
		 struct flow_demand_info *out);

/* The bytes of the element in `reg`, as a set of bits: those that are surely used, and those that
 * are used perhaps. The others are used by nothing. */
struct flow_bytes {
	uint32_t sure, maybe;
};
struct flow_bytes flow_demand_bytes(struct flow *fl, const struct ptx_stmt *load, uint32_t reg);

/* ---- bytes.c: which bytes of a register something depends on ------------------------------ */

uint32_t flow_live_bytes(struct flow *fl, uint32_t reg);
/* Those that statement u passes on to live bytes, or uses. */
uint32_t flow_taken_bytes(struct flow *fl, const struct ptx_stmt *u, uint32_t reg);
/* Those on which `bytes` of u's result `to` depend; u has no other effect. */
uint32_t flow_bytes_for(struct flow *fl, const struct ptx_stmt *u, uint32_t reg, uint32_t to,
			uint32_t bytes);
/* The bytes of an element in memory that these bytes of its register come from. */
uint32_t flow_element_bytes(const struct ptx_form *fm, uint32_t bytes);
/* Does each use take all live bytes, or none, to one place? */
bool flow_is_whole(struct flow *fl, uint32_t reg);

/* ---- trace.c: the ways of loaded values, for an engine that executes them ------------- */

struct flow_start {
	const struct ptx_stmt *load;
	uint32_t reg; /* that it writes */
};

/* By which rule the result of a pure statement depends on its operands 1 to 3. */
enum flow_rule {
	FLOW_RULE_NEVER,  /* not known */
	FLOW_RULE_ANY,	  /* on each operand */
	FLOW_RULE_SELECT, /* on the one that operand 3 takes, and on that */
	FLOW_RULE_SIGN,	  /* on operand 3 only: slct */
	FLOW_RULE_AND,	  /* predicates: on one where the other is true */
	FLOW_RULE_OR,	  /* predicates: where it is false */
	FLOW_RULE_BITS,	  /* and, or, min, max: where the other operand doesn't decide alone */
	FLOW_RULE_TRY,	  /* on those whose change changes the result */
	FLOW_RULE_JOIN	  /* setp.and with operand 3: where that doesn't decide alone */
};

/*
 * A statement that reads or overwrites a register of a trace. is_last: the value takes effect
 * there, or the result surely does later. Of and, or, mul, min, max: is_bool[i], operand i + 1 is a
 * widened predicate; is_test, the result is only compared with constants: either operand may decide
 * alone. is_merged: its result has the number of the operand that it depends on (merge.c).
 */
struct flow_step {
	struct ptx_stmt *at;
	enum flow_rule rule; /* of a pure one */
	bool is_pure, is_last, is_test, is_bool[2], is_merged;
};

struct flow_trace {
	uint32_t *index; /* by register: its number in the trace, or UINT32_MAX */
	uint32_t nregs;
	struct flow_step *steps; /* each statement once */
	uint32_t nsteps;
	uint32_t *step_of; /* trace.c's own */
	bool *is_split;	   /* by number: its bytes go ways of their own */
};

/* Only operands 1 to this are tried. */
#define FLOW_TRIED 3u
/* An operand that another one of a pure statement without a guard may mask, and of which an engine
 * can see whether it does: by executing it again with another value of that operand. 0: `reg` is
 * none. */
unsigned flow_tried_operand(struct flow *fl, const struct ptx_stmt *u, uint32_t reg);

/* The registers that may hold something computed from what the loads write, in fl's arena. */
struct flow_trace *flow_trace(struct flow *fl, const struct flow_start *starts, uint32_t n);
/* merge.c: gives a register that depends on what another one of the trace does the number of that
 * one, while both are read. Of one number, the registers hold nothing that differs in this. */
void flow_trace_merge(struct flow *fl, struct flow_trace *t);
/* The index of a statement's step, or UINT32_MAX. */
uint32_t flow_step_of(struct flow *fl, const struct flow_trace *t, const struct ptx_stmt *s);

/* ---- addr.c: where an address points ----------------------------------------------- */

enum flow_origin {
	FLOW_ORIGIN_UNKNOWN,
	FLOW_ORIGIN_PRIVATE, /* .local: the thread's own */
	FLOW_ORIGIN_GLOBAL,
	FLOW_ORIGIN_SHARED,
	FLOW_ORIGIN_CONST,	/* const or kernel parameter window: can't change */
	FLOW_ORIGIN_NOT_PRIVATE /* global or shared, not known which */
};

/* The origin of a memory statement's address, from its space or by following the address
 * register's definitions through mov, cvta, add, sub, and, or, selp, mad. */
enum flow_origin flow_address_origin(struct flow *fl, const struct ptx_stmt *mem);

/* object.c: the variable, or the parameter of the kernel, that the address is computed from. False:
 * not known. */
struct flow_object {
	struct ptx_str name; /* in the PTX */
	bool is_param;
};
bool flow_address_object(struct flow *fl, const struct ptx_stmt *mem, struct flow_object *out);
/* The object's names: that in the PTX; of a parameter of `f` also $N, its number from 1, and its
 * name in the source if the text has DWARF. Returns how many. */
#define FLOW_OBJECT_NAMES 3
size_t flow_object_names(struct base_arena *a, struct ptx_module *m, const struct ptx_func *f,
			 const struct flow_object *o, const char *names[FLOW_OBJECT_NAMES]);

enum flow_alias { FLOW_NO_ALIAS, FLOW_MAY_ALIAS, FLOW_MUST_ALIAS };

/*
 * May the accesses of `a` and `b` (same thread, same block, a before b, address registers not
 * written in between) touch a common byte? MUST: the same bytes exactly. Different spaces
 * never alias; the same base with disjoint constant offsets never; shared or global variables
 * of different names never.
 */
enum flow_alias flow_may_alias(struct flow *fl, const struct ptx_stmt *a, const struct ptx_stmt *b);

/* ---- affine.c, uniform.c ------------------------------------------------------------ */

/* An address or value as c0 + cx*tid.x + cy*tid.y + cz*tid.z + (uniform unknowns). */
struct flow_affine {
	bool known; /* false: not of this form */
	int64_t c0; /* constant part; 0 when has_unknown */
	int64_t tid[3];
	bool has_unknown; /* plus a term that is the same in every thread of the block */
};
void flow_affine_of(struct flow *fl, const struct ptx_stmt *at, const struct ptx_opnd *op,
		    struct flow_affine *out);

/* ---- own.c -------------------------------------------------------------------------------- */

#define FLOW_ATOMS    3u
#define FLOW_PRODUCTS 8u
#define FLOW_BOUNDS   12u

/* by * atoms: %tid.x y z, %ctaid, %ntid, %nctaid from 1 on, then the kernel's parameters; in order,
 * 0: no more. */
struct flow_product {
	int64_t by;
	uint8_t atom[FLOW_ATOMS];
};

struct flow_sum {
	bool known; /* modulo 2^32 */
	uint32_t n;
	struct flow_product p[FLOW_PRODUCTS];
};

/* An address as a parameter's pointer + scale * index, and the bytes from there. */
struct flow_own {
	uint32_t param; /* its index */
	bool is_signed; /* how the index is widened */
	int64_t scale;	/* 0: there is no index */
	struct flow_sum index;
	int64_t low, high;
};

/* A constant; blockDim x y z gridDim x y z by 0 to 5; a parameter of 32 bits, which must not be
 * negative. */
struct flow_factor {
	enum { FLOW_FACTOR_CONST, FLOW_FACTOR_DIM, FLOW_FACTOR_PARAM } kind;
	uint64_t n;
};

/* a * b <= c * d */
struct flow_bound {
	struct flow_factor a, b, c, d;
};

/* False: the address isn't of that form. */
bool flow_own_address(struct flow *fl, const struct ptx_stmt *mem, struct flow_own *out);
/* Takes the bytes of the other access in; false: its index, or its parameter, is another one. */
bool flow_own_join(struct flow_own *a, const struct flow_own *b);
/* In a launch that keeps to these bounds, no byte of it is accessed by two threads. Their number;
 * 0: none are known. */
uint32_t flow_own_bounds(const struct flow_own *o, struct flow_bound bound[FLOW_BOUNDS]);

/* Is the register's value the same in every thread of the block (at its only definition)? */
bool flow_is_uniform(struct flow *fl, uint32_t reg);

/* ---- interval.c ---------------------------------------------------------------------- */

/* Does the instruction wait for all threads of the block, without a count? */
bool flow_is_block_barrier(const struct ptx_stmt *s);

/*
 * A load of shared memory: do barriers of the block keep it apart from every write to shared memory
 * of the block, whatever the addresses? False: not known.
 */
bool flow_is_undisturbed(struct flow *fl, const struct ptx_stmt *load);

/* ---- update.c ------------------------------------------------------------------------- */

/* Which atomic operation does in one step what a load and a store of one address do in two. */
enum flow_update {
	FLOW_UPDATE_NONE, /* the access is no half of an update */
	FLOW_UPDATE_ADD,
	FLOW_UPDATE_MIN,
	FLOW_UPDATE_MAX,
	FLOW_UPDATE_AND,
	FLOW_UPDATE_OR,
	FLOW_UPDATE_XOR,
	FLOW_UPDATE_OTHER, /* more than one atomic operation could do */
	FLOW_UPDATE_CHECK  /* the store is carried out or not, as the loaded value says */
};

/* The update of which a load or store is one half. */
enum flow_update flow_update_of(struct flow *fl, const struct ptx_stmt *s);

/* ---- sum.c ------------------------------------------------------------------------------ */

/* Is the value that `load` writes into `reg` added at once, in its block, to a register that holds
 * what came before (*sum)? */
bool flow_sum_of(struct flow *fl, const struct ptx_stmt *load, uint32_t reg, uint32_t *sum);
/* sum = sum + ..., or sum = a * b + sum: any other assignment begins a new sum. */
bool flow_is_sum_step(const struct ptx_stmt *s, uint32_t sum);

/* ---- place.c ---------------------------------------------------------------------------- */

/* Is the register's value used for nothing but addresses: no decision depends on it? */
bool flow_is_only_place(struct flow *fl, uint32_t reg);

/* ---- seed.c ----------------------------------------------------------------------------- */

/* Is the load's value used for nothing but a compare-and-swap loop of the bytes that it reads? */
bool flow_is_seed(struct flow *fl, const struct ptx_stmt *load);

/* ---- data.c ----------------------------------------------------------------------------- */

/* Does the loaded value only go into what the thread stores, so that nothing is decided on it? */
bool flow_is_data(struct flow *fl, const struct ptx_stmt *load);

/* ---- waits.c ------------------------------------------------------------------------------ */

/* How a loop loads what it waits for. */
enum {
	FLOW_WAIT_STRONG = 1, /* by a strong load or atomic, or beside a fence or a sleep */
	FLOW_WAIT_WEAK = 2,   /* by a weak load: a race */
	/* by a weak load of what the loop may have stored, to global memory, as an atomic returned
	 * it */
	FLOW_WAIT_STORED = 4,
};

/* May a function that a loop calls load strongly what the loop waits for? */
struct flow_wait_calls {
	bool (*waits)(const struct ptx_stmt *call, void *arg);
	void *arg;
};

typedef void flow_on_wait(struct ptx_stmt *head, void *arg);

/* Which of `kinds` are loops of the function that seem to wait for what another block writes to
 * global memory. `found` (may be NULL) gets each one's first statement, once for each edge back to
 * it; without `calls` (NULL) no function loads strongly. */
unsigned flow_find_waits(struct flow *fl, unsigned kinds, const struct flow_wait_calls *calls,
			 flow_on_wait *found, void *arg);

/* ---- manner.c ------------------------------------------------------------------------- */

/* How an access or fence is performed; the memory model's words for what a
 * form or access has as .sem and .scope (enum ptx_sem, ptx_scope). */
enum race_strength flow_strength(uint8_t sem);
enum race_scope flow_scope(uint8_t sem, uint8_t scope);
/* Does anything read what the statement returns? nvcc makes atom of an atomicAdd without result. */
bool flow_is_result_used(struct flow *fl, const struct ptx_stmt *s);
/* May the instruction be one end of an order between threads of two kernels? It acquires, releases,
 * or isn't known. Or does it write strongly what another kernel may see, which orders that write
 * before what comes after, without more? And may it be what sees it? */
bool flow_orders_kernels(const struct ptx_form *f);
bool flow_shows_kernels(const struct ptx_form *f);
bool flow_observes_kernels(struct flow *fl, const struct ptx_stmt *s);

/* ---- text.c: questions about a text, which needs no flow_build ---------------------------- */

/* Why a kernel with this instruction can't go without checks, whatever is proven of its loads and
 * stores; NULL: it doesn't keep one from it. */
const char *flow_why_checked(const struct ptx_stmt *s);
/* The instructions that a thread executes, roughly: those in loops count as several. */
uint64_t flow_weight(const struct ptx_func *f);

#endif
