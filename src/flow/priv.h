/*
 * priv.h - what the files of src/flow share: statement order, def and use
 * lists with their places, and the caches behind the lazily computed parts.
 *
 * A statement's *place* is its number in text order, fixed by flow_build; a
 * *def* is an index into the list of all (register, statement) writes. Both are
 * dense, so that every cache is one flat array.
 */
#ifndef COLLIDER_FLOW_PRIV_H
#define COLLIDER_FLOW_PRIV_H

#include "flow/flow.h"

#define FLOW_NONE UINT32_MAX

struct flow_spot { /* where a statement is */
	const struct ptx_stmt *s;
	uint32_t at;
};

struct worklist; /* demand.c */

#define FLOW_FACTS 6
struct flow_fact {
	uint32_t reg;
	bool value;
};
struct flow_facts { /* predicates of which the value is known */
	uint32_t n;
	struct flow_fact fact[FLOW_FACTS];
};

struct flow_same { /* a predicate is that of `reg`, or the opposite */
	uint32_t reg;
	bool is_not;
};

struct flow_priv {
	/* cfg.c */
	struct ptx_stmt **stmt; /* by place */
	uint32_t nstmts;
	uint32_t *start; /* place of each block's first statement; nblocks + 1 entries */
	uint32_t *dom_in, *dom_out, *pdom_in, *pdom_out; /* intervals of the dominator trees */
	struct flow_spot *spots; /* all statements by address; made on first need */
	uint32_t nregs;		 /* registers known to flow_build */

	/* defuse.c: lists by register, CSR: those of r are [off[r], off[r + 1]) */
	bool has_defuse;
	uint32_t *def_off, *use_off;
	struct ptx_stmt **def, **use;
	uint32_t *def_at, *use_at;  /* their places */
	uint32_t *our_off, *our_at; /* reads by inserted statements, which are no uses */
	struct ptx_stmt **our_use;
	bool *is_param; /* registers that the function's entry writes */

	struct flow_facts *facts; /* known.c: at each block's start */

	/* demand.c */
	bool is_unoptimised;	  /* all loads are sure */
	struct flow_facts on_way; /* of all ways of the walk that is under way */
	struct worklist *solving; /* what relies on what is noted there; NULL: it isn't */
	uint8_t *sure;		  /* by def: its value is really used on every path */
	uint32_t *live;		  /* bytes.c, by register: its live bytes */
	uint32_t *seen;		  /* by block: the last walk that came here */
	uint32_t *queue;	  /* blocks of a walk */
	uint32_t walk;

	uint64_t **live_out;	    /* live.c */
	uint8_t *origin;	    /* addr.c, by register */
	uint8_t *uniform;	    /* uniform.c, by register */
	uint8_t *fixed;		    /* fixed.c, by register */
	struct flow_same *same;	    /* fixed.c, by register, of fixed predicates */
	bool *undisturbed;	    /* interval.c, by place */
	struct flow_affine *affine; /* affine.c, by register */
};

/* The variable or label that a symbol resolved to, or NULL. */
static inline const struct ptx_var *flow_var_of(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_SYM && (o->flags & PTX_OPND_VAR) ? o->var : NULL;
}

static inline const struct ptx_label *flow_label_of(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_SYM && (o->flags & PTX_OPND_LABEL) ? o->label : NULL;
}

/* cfg.c */
uint32_t flow_place(const struct flow *fl, const struct ptx_stmt *s);

/* defuse.c */
void flow_need_defuse(struct flow *fl);
/* First index in places[lo, hi) whose place is >= p. */
uint32_t flow_lower(const uint32_t *places, uint32_t lo, uint32_t hi, uint32_t p);
/* The def that statement `s` makes of `reg`, or FLOW_NONE. */
uint32_t flow_def_of(struct flow *fl, const struct ptx_stmt *s, uint32_t reg);
/* The only statement that writes reg, when nothing else does and it is unguarded; else NULL. */
struct ptx_stmt *flow_single_def(struct flow *fl, uint32_t reg);
/* Does every path to place `at` pass the single definition of `reg` (a parameter's: the entry)? */
bool flow_def_dominates(struct flow *fl, const struct ptx_stmt *def, const struct ptx_stmt *at);
/* Takes a register apart: mov.b64 {a, b}, c. */
static inline bool flow_is_parting(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_MOV && s->ops[0].kind == PTX_OPND_VEC;
}

/* Puts several registers into one. */
static inline bool flow_is_packing(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_MOV && s->nops > 1 && s->ops[1].kind == PTX_OPND_VEC;
}

/* Computes a value only: no memory, control, communication or other effect. */
bool flow_is_pure(const struct ptx_stmt *s);

/* fixed.c */
void flow_need_fixed(struct flow *fl);

/* known.c */
void flow_need_facts(struct flow *fl);
/* Its value, or -1. */
int flow_known(const struct flow *fl, const struct flow_facts *f, uint32_t reg);
void flow_learn(const struct flow *fl, struct flow_facts *f, uint32_t reg, bool value);
/* Drops what a statement in places [from, to) writes. */
void flow_forget_written(struct flow *fl, struct flow_facts *f, uint32_t from, uint32_t to);
/* With these facts, can control go from block b to its successor `to`? */
bool flow_way_is_open(const struct flow *fl, const struct flow_facts *f, uint32_t b, uint32_t to);

/* solve.c */
struct flow_work;
/* Updates what is known about the registers that statement `s` writes. */
typedef void flow_visit_fn(struct flow *fl, struct flow_work *w, const struct ptx_stmt *s);
/* Visits all instructions, until nothing that they read changes any more. */
void flow_solve(struct flow *fl, flow_visit_fn *visit);
/* For a visit: more is known about a register, and the statements that read it are visited
 * again. */
void flow_work_uses(struct flow_work *w, uint32_t reg);

/* use.c */
enum flow_use {
	FLOW_USE_REAL,	/* the value takes effect here */
	FLOW_USE_PURE,	/* taken if the result is */
	FLOW_USE_MAYBE, /* taken under a condition (selp, guard, and.pred), or not known */
	FLOW_USE_NONE
};
/* How statement `u` uses `reg`. The guard `pred` (sense `is_not`) is known to hold; PTX_NO_REG: no
 * guard is. */
enum flow_use flow_use_kind(struct flow *fl, const struct ptx_stmt *u, uint32_t reg, uint32_t pred,
			    bool is_not);
/* Is the operand a predicate, perhaps widened to a number; is u's result only compared with
 * constants (but not `v & 1 << n`)? */
bool flow_is_boolean(struct flow *fl, const struct ptx_opnd *o);
bool flow_feeds_tests(struct flow *fl, const struct ptx_stmt *u);
/* Is the register an element of the operand? */
bool flow_mentions(const struct ptx_opnd *o, uint32_t reg);
/* demand.c */
void flow_need_demand(struct flow *fl);
bool flow_result_sure(struct flow *fl, const struct ptx_stmt *u);
/* reach.c: adds the successors of a block that the walk has not seen to pr->queue, of *n. */
void flow_push_successors(struct flow *fl, uint32_t b, uint32_t *n);
/* The definitions of d's register that come to one place, d itself left out. */
#define FLOW_MAX_WALK	2048 /* blocks per walk */
#define FLOW_MAX_OTHERS 32
struct flow_reaching {
	uint32_t others[FLOW_MAX_OTHERS];
	uint32_t n;
	bool is_open; /* the entry comes there too, or too many do */
};
void flow_find_reaching(struct flow *fl, uint32_t d, uint32_t reg, uint32_t at, uint32_t block,
			struct flow_reaching *r);
/* Can control come from definition d to one of the others? */
bool flow_leads_to_others(struct flow *fl, uint32_t d, const struct flow_reaching *r);
/* bytes.c */
void flow_need_live_bytes(struct flow *fl);
/* The bytes of `reg` that u's result depends on, where that is surely used. */
uint32_t flow_surely_taken(struct flow *fl, const struct ptx_stmt *u, uint32_t reg);

/* uniform.c */
void flow_need_uniform(struct flow *fl);
/* After flow_need_uniform: is the operand the same in every thread of the block? */
bool flow_is_uniform_operand(const struct flow *fl, const struct ptx_opnd *o);
enum flow_among {
	FLOW_AMONG_THREADS, /* one value for all threads of a block */
	FLOW_AMONG_STEPS    /* one value for all of a thread's run */
};
/* Where the registers with same[reg] are: is the operand, or all that an unguarded statement
 * writes? */
bool flow_is_same_operand(const struct flow *fl, const uint8_t *same, enum flow_among among,
			  const struct ptx_opnd *o);
bool flow_is_same_result(const struct flow *fl, const uint8_t *same, enum flow_among among,
			 const struct ptx_stmt *s);

/* select.c */
bool flow_take_condition(struct flow *fl, const struct ptx_stmt *u, uint32_t reg,
			 struct flow_demand_info *out);
bool flow_find_select(struct flow *fl, const struct ptx_stmt *load, uint32_t reg,
		      struct flow_demand_info *out);

#endif
