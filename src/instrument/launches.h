/*
 * launches.h - which launches of a kernel need no checks, or not all, for the detectors that put
 * them in (prune/launch.c, prune/part.c).
 */
#ifndef COLLIDER_INST_LAUNCHES_H
#define COLLIDER_INST_LAUNCHES_H

#include "instrument/internal.h"

/* An access that race_plain_state may leave without a check, or one that is tested for that: the
 * array that it must stay in. */
struct inst_part {
	struct inst_part *next;
	struct ptx_stmt *stmt;
	uint32_t array;
	bool is_test;
	bool is_counted; /* among what is pruned: a vector's elements may be held one by one */
};

/* What the agent may leave out of a kernel's launches (race/plain.h). */
struct inst_launches {
	struct inst_launches *next;
	const struct ptx_func *f;
	const struct inst_prune *proof; /* NULL: it isn't proven as a whole */
	bool has_copy;
	struct ptx_str state, space; /* the variable */
	uint32_t narrays;
	struct race_plain_pointer array[RACE_PLAIN_ARRAYS]; /* the proof's first */
	struct inst_part *parts;
	bool is_all; /* the kernel accesses nothing else that threads share */
	uint32_t nown;
	struct race_plain_own own[RACE_PLAIN_OWN_TERMS];
	uint32_t partly; /* predicate: the launch leaves reads out; PTX_NO_REG: not put in yet */
	const struct inst_detector *by; /* which put it in */
};

/* prune/launch.c. That of the function at work; NULL: none. needs: flow, the body of the detector
 * at work not begun. */
struct inst_launches *inst_plan_launches(struct inst_ctx *cx);
/* Does it have that array for the use, RACE_PLAIN_*? Adds it; false: there are too many. */
bool inst_has_array(const struct inst_launches *l, struct race_plain_pointer p, uint16_t use);
bool inst_add_array(struct inst_launches *l, struct race_plain_pointer p, uint16_t use,
		    uint32_t *at);
/* Is its address in a register of 64 bits? */
bool inst_is_testable(const struct inst_ctx *cx, const struct ptx_stmt *s);
/* The kernel's own code once more, after the body; NULL: it has none, or another detector makes it.
 * Then the branch to it, before `top`. */
struct ptx_label *inst_plain_copy(struct inst_ctx *cx, const struct inst_launches *l);
void inst_plain_enter(struct inst_ctx *cx, const struct inst_launches *l, struct ptx_label *copy,
		      struct ptx_stmt *top);

/* prune/part.c. Fills in the parts, and their arrays; the code at the entry, at each test and way
 * out, once for all detectors; before inst_put_uses: reads that may be left out are noted, those
 * that are have no note; the end of what a launch that leaves the access out skips, or NULL:
 * nothing. */
void inst_plan_part(struct inst_ctx *cx, struct inst_launches *l);
/* Does it read a table of CUDA's math functions, which nothing writes? It needs no check. */
bool inst_is_table_read(struct inst_ctx *cx, const struct ptx_stmt *s);
/* What own.c asks. What an instruction does to global memory; the parameter that its address is
 * computed from, where that can be tested (false: none); one more access of the array. */
enum inst_effect { INST_EFFECT_NONE, INST_EFFECT_READS, INST_EFFECT_WRITES, INST_EFFECT_ANY };
enum inst_effect inst_effect_of(struct inst_ctx *cx, const struct ptx_stmt *s);
bool inst_is_global(struct inst_ctx *cx, const struct ptx_stmt *s);
bool inst_find_pointer(struct inst_ctx *cx, const struct ptx_stmt *s,
		       struct race_plain_pointer *out);
void inst_add_part(struct inst_ctx *cx, struct inst_launches *l, struct ptx_stmt *s, uint32_t array,
		   bool is_test);
/* Each access of that effect gets its array, for the use, and a test that it stays there; false:
 * not all have a parameter as pointer, or there are too many arrays. */
bool inst_test_all(struct inst_ctx *cx, struct inst_launches *l, enum inst_effect effect,
		   uint16_t use);
/* prune/own.c. Adds the arrays of which each thread has its own part, with the terms on which that
 * rests; false: there are none, and *l is as it was. needs: all writes are among the parts. */
bool inst_plan_own(struct inst_ctx *cx, struct inst_launches *l);
void inst_begin_part(struct inst_ctx *cx, struct inst_launches *l, struct ptx_stmt *top);
void inst_note_parts(const struct inst_launches *l, struct inst_events *ev);
struct ptx_label *inst_skip_part(struct inst_ctx *cx, const struct inst_launches *l,
				 const struct inst_event *e);
/* Before `at`: `left` becomes true where the access isn't in its array; at a way out: that is
 * counted. */
void inst_put_test(struct inst_ctx *cx, const struct inst_launches *l, const struct ptx_stmt *s,
		   uint32_t array, struct ptx_opnd left, struct ptx_stmt *at);
void inst_put_left(struct inst_ctx *cx, struct ptx_opnd left, struct ptx_stmt *at);

/* Code of prune's templates, as inst_emit. */
void inst_put_pruned(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		     const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes);

#endif
