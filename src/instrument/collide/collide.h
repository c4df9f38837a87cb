/*
 * collide.h - inside src/instrument/collide: what its files share.
 *
 * inst_plan_function decides (it changes nothing), inst_collide_function carries it out.
 * An access is one weak load or store; a group is the accesses of one basic block that are re-read
 * together after one delay. Warp-wide loads and asynchronous copies have a group of their own,
 * checked before the instruction (ahead.c).
 */
#ifndef COLLIDER_INST_COLLIDE_H
#define COLLIDER_INST_COLLIDE_H

#include "instrument/internal.h"

/* plan.c: decides what is checked together; counts in the footer what is not checked. */
void inst_plan_function(struct inst_ctx *cx, struct inst_plan *plan);

/* ahead.c: ldmatrix, stmatrix, cp.async and st.async, checked before they run. */
struct inst_group *inst_plan_ahead(struct inst_ctx *cx, struct ptx_stmt *s);
/* What all lanes must do together, before the draw. */
void inst_emit_together(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at);
void inst_emit_ahead(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at);
void inst_emit_dirty(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at);
/* Parts of them, for the files below. In order: a group for an access (inst_new_access); adding it
 * to the group, with its site; registers as one operand, and the suffix for that many; the
 * statement's guard, or its conjunction with another predicate. */
struct inst_group *inst_new_ahead(struct inst_ctx *cx, enum inst_ahead ahead);
struct ptx_opnd inst_values(struct inst_ctx *cx, const struct ptx_opnd *words, unsigned n);
struct ptx_str inst_vec_of(unsigned n);
struct ptx_opnd inst_guard_and(struct inst_ctx *cx, const struct ptx_stmt *s, struct ptx_opnd p,
			       struct ptx_stmt *at);
void inst_append_access(struct inst_ctx *cx, struct inst_group *g, struct inst_access *a);

/* ahead_call.c: joins loads of matrices that are checked by call; can a group of ahead.c be checked
 * so? and the call. */
void inst_join_matrices(struct inst_plan *plan);
bool inst_is_called_ahead(const struct inst_group *g);
void inst_call_ahead(struct inst_ctx *cx, struct inst_group *g);

/* matrix.c: wmma.load, the same. */
struct inst_group *inst_plan_matrix(struct inst_ctx *cx, struct ptx_stmt *s);
void inst_emit_matrix(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at);
/* For fragment.c: the matrix's address as 64 bits; the suffix of its space. */
struct ptx_opnd inst_matrix_base(struct inst_ctx *cx, const struct inst_access *a,
				 struct ptx_stmt *at);
struct ptx_str inst_space_of(enum ptx_space s);

/* The shape of a wmma.load.a or .b in the words of a check by call (RACE_MATRIX), and the stride of
 * a matrix without one. */
uint64_t inst_matrix_words(const struct ptx_form *fm, unsigned *stride);

/* What a wmma.store or wmma.load.c accesses. */
struct inst_fragment {
	struct ptx_str shape; /* "m16n16k16" */
	unsigned rows, cols;
	unsigned elem;	/* bytes */
	unsigned elems; /* of a lane */
	bool is_half;	/* two elements in a register */
	bool is_col;
	const struct ptx_opnd *regs;
	unsigned nregs;
};

/* fragment.c: wmma.store. False: another shape. Then the group; first what all lanes do together,
 * then what each lane does. */
bool inst_find_fragment(const struct inst_ctx *cx, const struct ptx_stmt *s,
			struct inst_fragment *x);
struct inst_group *inst_plan_fragment(struct inst_ctx *cx, struct ptx_stmt *s);
void inst_emit_numbers(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at);
void inst_emit_fragment(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at);
/* The tables of numbers that a module's stores need, by bytes of an element (bits of a set), and
 * the table for one size. */
unsigned inst_fragment_tables(const struct ptx_module *m);
struct ptx_str inst_fragment_table(struct inst_ctx *cx, unsigned bytes);
#define INST_NUMBERS_SYMBOL "__collider_numbers"

/* bulk.c: cp.async.bulk and cp.reduce.async.bulk, the same. */
struct inst_group *inst_plan_bulk(struct inst_ctx *cx, struct ptx_stmt *s);
/* A random number, the same in lanes that are together. */
struct ptx_opnd inst_random(struct inst_ctx *cx, struct ptx_stmt *at);
/* The delay between an access and its second reading. */
void inst_emit_delay(struct inst_ctx *cx, bool has_load, struct ptx_stmt *at);
void inst_emit_bulk(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at,
		    struct ptx_label *skip);
/* What the report of such a copy needs, by call or without. All but the sites are registers. */
struct inst_found {
	struct ptx_stmt *at;
	uint32_t source_site, destination_site;
	struct ptx_opnd hit, is_source; /* predicates */
	struct ptx_opnd addr, was, now;
	uint32_t width; /* of was and now */
};
void inst_report_side(struct inst_ctx *cx, const struct inst_found *f);
/* One side of such a copy. */
void inst_add_side(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *s,
		   const struct ptx_opnd *where, enum race_access kind, uint8_t space);

/* tensor.c: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. */
struct inst_group *inst_plan_tensor(struct inst_ctx *cx, struct ptx_stmt *s);
void inst_emit_tensor(struct inst_ctx *cx, struct inst_group *g, struct ptx_stmt *at,
		      struct ptx_label *skip);

/* tmem.c: tcgen05.ld and .st. All lanes are here, and `draw` is the same in them. */
struct inst_group *inst_plan_tmem(struct inst_ctx *cx, struct ptx_stmt *s);
void inst_emit_tmem(struct inst_ctx *cx, struct inst_group *g, struct ptx_opnd draw,
		    struct ptx_stmt *at);

/* collide.c: the fast path; its first instructions, which go to `skip` unless this execution is
 * drawn. */
void inst_collide_function(struct inst_ctx *cx, struct inst_plan *plan);
void inst_emit_draw(struct inst_ctx *cx, struct ptx_label *skip, struct ptx_stmt *at);

/* skew.c: delays some warps at a kernel's entry, before `top`, and after barriers. */
void inst_emit_skews(struct inst_ctx *cx, const struct inst_plan *plan, struct ptx_stmt *top);

/* capture.c: copies beside an access of a group that is checked at `flush`; `top`: where the
 * function begins. */
void inst_capture(struct inst_ctx *cx, struct inst_access *a, struct ptx_stmt *top,
		  const struct ptx_stmt *flush);
/* Before all groups, and after them: the uses of values that the compiler may have read early. */
void inst_collide_begin_uses(struct inst_ctx *cx);
void inst_collide_uses(struct inst_ctx *cx);
/* p or !p (inst_sense) as a register of its own, where PTX takes no negated predicate. */
uint32_t inst_condition(struct inst_ctx *cx, uint32_t pred, bool positive, struct ptx_stmt *at);
/* Does cvt accept this register as an integer? And a new register for values of that many bits. */
bool inst_is_integer(const struct inst_ctx *cx, uint32_t reg);
uint32_t inst_value_reg(struct inst_ctx *cx, unsigned bits);

/* detector.c: where the kernel's launches are counted, from __collider_launched on, in bytes. */
struct ptx_str inst_launched_at(const struct inst_ctx *cx);
/* Notes that __collider_check<suffix> is called. */
void inst_want_check(struct inst_ctx *cx, const char *suffix);
/* call.c: groups that are checked by calls. Plan; before the accesses; at the flush: before the
 * draw, and after it. */
struct inst_call;
struct inst_call *inst_plan_calls(struct inst_ctx *cx, struct inst_group *g);
void inst_begin_calls(struct inst_ctx *cx, struct inst_call *c, struct ptx_stmt *top);
void inst_clear_hits(struct inst_ctx *cx, const struct inst_call *c, struct ptx_stmt *at);
void inst_emit_calls(struct inst_ctx *cx, const struct inst_group *g, struct inst_call *calls);
/* One argument of such a call: number i of the parameters of that name, 32 or 64 bits. */
void inst_put_argument(struct inst_ctx *cx, struct ptx_stmt *at, char name, unsigned i,
		       bool is_wide, struct ptx_opnd v);
/* The access's address in the shared window with a constant added, as a 32-bit register. */
struct ptx_opnd inst_shared_address(struct inst_ctx *cx, const struct inst_access *a, int64_t more,
				    struct ptx_stmt *at);
/* A predicate: did the second reading of a speculated element differ? And its value's use. */
uint32_t inst_take_hit(struct inst_ctx *cx, const struct inst_elem *e, struct ptx_stmt *at);
void inst_put_used(struct inst_ctx *cx, const struct inst_access *a, uint32_t hit,
		   struct ptx_stmt *at);

/* cold.c: what runs when something changed. Inserts before `at`. */
void inst_cold_group(struct inst_ctx *cx, const struct inst_group *g, struct ptx_stmt *at);
/* The access's address with a constant added, as a 64-bit register. */
struct ptx_opnd inst_address(struct inst_ctx *cx, const struct inst_access *a, int64_t more,
			     struct ptx_stmt *at);
void inst_cold_warp(struct inst_ctx *cx, const struct inst_access *a, struct ptx_opnd mask,
		    struct ptx_stmt *at);
/* Under --trap, before a call-free report: stops where `hit` is true and there is no agent. */
void inst_put_stop(struct inst_ctx *cx, struct ptx_opnd hit, struct ptx_stmt *at);
void inst_cold_used(struct inst_ctx *cx, const struct inst_access *a, uint32_t hit,
		    struct ptx_stmt *at);

#endif
