/*
 * callee.h - functions by their names, and what those do that a call reaches.
 */
#ifndef COLLIDER_INSTRUMENT_CALLEE_H
#define COLLIDER_INSTRUMENT_CALLEE_H

#include "ptx/ptx.h"

struct inst_ctx;
struct inst_called;

struct inst_called_name {
	struct ptx_str name;
	uint32_t at; /* in inst_ctx.called */
};

/* Of a function that is called, with all that it calls (callee.c). */
struct inst_callee {
	bool is_quiet;	   /* it synchronises nothing */
	bool only_returns; /* it always returns, and depends on no other launch */
	bool no_copies;	   /* it has no cp.async, nor commits or waits of such */
};

struct inst_named {
	const struct ptx_func *f;
	uint32_t at; /* in the module */
	bool is_known;
	struct inst_callee does;
};

enum inst_answer { INST_UNKNOWN, INST_YES, INST_NO };

/* A function of the module, NULL: it has none of that name. */
const struct ptx_func *inst_function_of(struct inst_ctx *cx, struct ptx_str name);
struct inst_callee inst_callee_of(struct inst_ctx *cx, const struct ptx_stmt *call);
/* An access with a strength of its own; an instruction that depends on other launches. */
bool inst_is_strong(const struct ptx_form *fm);
bool inst_is_of_dependents(const struct ptx_form *fm);
/* May kernels of this module launch others? Such launches have no numbers of the host's. */
bool inst_may_launch(struct inst_ctx *cx);
/* The list of called.c is there: its members can be found by name from now on. */
void inst_name_called(struct inst_ctx *cx);
/* NULL: there is none. */
struct inst_called *inst_find_called(const struct inst_ctx *cx, struct ptx_str name);

#endif
