/*
 * doubt.h - what doubt.c and depend.c share: the masks beside registers.
 */
#ifndef COLLIDER_INSTRUMENT_DOUBT_H
#define COLLIDER_INSTRUMENT_DOUBT_H

#include "instrument/internal.h"

/* A statement that may order threads, and the masks that are asked later. */
struct inst_settle {
	const struct ptx_stmt *at;
	uint64_t live;
};

struct inst_doubt_plan {
	struct flow_trace *trace;
	uint32_t *mask;	 /* registers: that of each register of the trace */
	uint32_t *high;	 /* of a split one of 8 bytes: that of its high half; else PTX_NO_REG */
	uint32_t nindex; /* of trace->index */
	struct inst_settle *settle;
	uint32_t nsettle;
	/* cancel.c: by number in the trace, the loads whose values it may hold; those of which two
	 * ways can meet; a register, the bits that are lost (PTX_NO_REG: none can be). */
	uint64_t *from, meet;
	uint32_t lost;
};

/* By its guard a pure statement depends on this mask where `differ`, a predicate, is true; nothing:
 * not known where. */
struct inst_guarded {
	struct ptx_opnd m, differ;
};

/* A short way to use a template of doubt.ptxt. */
void inst_doubt_emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		     const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes);

/* The mask beside a register, or nothing (inst_none). */
struct ptx_opnd inst_mask_of(const struct inst_ctx *cx, const struct inst_doubt_plan *p,
			     uint32_t reg);
bool inst_is_mask(struct ptx_opnd m);
/* Both; one of them may be nothing. */
struct ptx_opnd inst_join_masks(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
				struct ptx_stmt *at);
/* The mask where register p is `sense`, else 0. */
struct ptx_opnd inst_mask_where(struct inst_ctx *cx, struct ptx_opnd m, struct ptx_opnd p,
				bool sense, struct ptx_stmt *at);

/* halves.c. Does the statement read or write a register that has two masks? */
bool inst_has_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
		     const struct ptx_stmt *s);
/* What the bytes of its result `to` depend on; PTX_NO_REG: what all its results or effects do. Its
 * guard is left out. */
struct ptx_opnd inst_mask_for(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			      const struct flow_step *st, uint32_t to, uint32_t bytes);
/* Writes the masks of all results. */
void inst_write_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
		       const struct flow_step *st);

/* depend.c. What the result of a pure statement depends on, its guard left out: a mask made by code
 * before it. And what it depends on by its guard. */
struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st);
struct inst_guarded inst_guard_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				    const struct flow_step *st, enum inst_half half);
/* A mask that the statement writes gets m where its guard is true, and what the guard decides. */
void inst_write_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_stmt *s,
		     struct ptx_opnd to, struct ptx_opnd m, const struct inst_guarded *g);
/* What a statement uses whose result surely is used: m where its guard is true, and the guard. */
struct ptx_opnd inst_last_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			       struct ptx_stmt *s, struct ptx_opnd m, const struct inst_guarded *g);

/* ---- cancel.c: two ways of one value ------------------------------------------------------ */

/* Fills in from and meet. */
void inst_find_meeting(struct inst_ctx *cx, struct inst_doubt_plan *p,
		       const struct flow_start *starts, uint32_t n);
/* The loads whose values two operands may both hold; the guard, and what is read or overwritten. */
uint64_t inst_meeting(const struct inst_doubt_plan *p, const struct ptx_stmt *s, unsigned i,
		      unsigned k);
uint64_t inst_meeting_guard(const struct inst_doubt_plan *p, const struct ptx_stmt *s);
/* The bits are lost: all; those of the register's mask m, if two ways of them can meet; those of
 * all that the statement reads but for its guard. */
void inst_lose_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_opnd m,
		    struct ptx_stmt *at);
void inst_lose(struct inst_ctx *cx, const struct inst_doubt_plan *p, uint32_t reg,
	       struct ptx_opnd m, struct ptx_stmt *at);
void inst_lose_reads(struct inst_ctx *cx, const struct inst_doubt_plan *p, struct ptx_stmt *s);
/* m without the bits of x, or without those lost; the bits of both. */
struct ptx_opnd inst_without(struct inst_ctx *cx, struct ptx_opnd m, struct ptx_opnd x,
			     struct ptx_stmt *at);
struct ptx_opnd inst_without_lost(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				  struct ptx_opnd m, struct ptx_stmt *at);
struct ptx_opnd inst_meet(struct inst_ctx *cx, struct ptx_opnd a, struct ptx_opnd b,
			  struct ptx_stmt *at);

/* by == sense ? a : b, of values with these masks. */
struct inst_choice {
	struct ptx_opnd a, b, by;
	bool sense;
	struct ptx_opnd pred;	/* the mask of `by` */
	struct ptx_opnd differ; /* a predicate: the values differ; nothing: not known */
	bool meets;		/* pred may have a bit of a or b */
	bool only_a;		/* b isn't asked for */
};
struct ptx_opnd inst_choice_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct inst_choice *c, struct ptx_stmt *at);

#endif
