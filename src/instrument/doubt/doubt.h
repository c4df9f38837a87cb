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

/* depend.c. What the result of a pure statement depends on, its guard left out: a mask made by code
 * before it. And what it depends on by its guard. */
struct ptx_opnd inst_result_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				 const struct flow_step *st);
struct ptx_opnd inst_guard_mask(struct inst_ctx *cx, const struct inst_doubt_plan *p,
				const struct flow_step *st);

#endif
