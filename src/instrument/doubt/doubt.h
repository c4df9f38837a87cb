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

/* A mask that the statement writes gets m where its guard is true; `guard` is added wherever. */
void inst_write_mask(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd to, struct ptx_opnd m,
		     struct ptx_opnd guard);

/* halves.c. Does the statement read or write a register that has two masks? */
bool inst_has_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
		     const struct ptx_stmt *s);
/* What the bytes of its result `to` depend on; PTX_NO_REG: what all its results or effects do. Its
 * guard is left out. */
struct ptx_opnd inst_mask_for(struct inst_ctx *cx, const struct inst_doubt_plan *p,
			      const struct flow_step *st, uint32_t to, uint32_t bytes);
/* Writes the masks of all results. */
void inst_write_halves(struct inst_ctx *cx, const struct inst_doubt_plan *p,
		       const struct flow_step *st, struct ptx_opnd guard);

/* depend.c. What the result of a pure statement depends on, its guard left out: a mask made by code
 * before it. And what it depends on by its guard. */
struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st);
struct ptx_opnd inst_guard_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st);

#endif
