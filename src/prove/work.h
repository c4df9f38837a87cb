/*
 * work.h - private to src/prove: time as the work that was done (work.c).
 *
 * Verdicts and remedies depend on what is given up when, so they go by work that is counted: the
 * same on each machine, however busy it is. A millisecond of it is about one of a processor of
 * 2023.
 */
#ifndef COLLIDER_PROVE_WORK_H
#define COLLIDER_PROVE_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum work {
	WORK_NODE,     /* a node of an expression, found or made */
	WORK_CELL,     /* what is known of a cell goes into a block */
	WORK_STEP,     /* an instruction of a replay */
	WORK_LINEAR,   /* two offsets are compared bit by bit (linear.c) */
	WORK_INTEGERS, /* Z3's own measure, of questions about integers */
	WORK_BITS,     /* ... about bit-vectors */
	WORK_KINDS
};

void work_add(enum work kind, uint64_t n);
/* How many of a kind are a millisecond. */
uint32_t work_per_ms(enum work kind);
/*
 * The last guard: at so many milliseconds of this process's time, from its start, all deadlines
 * have passed.
 */
void work_limit(uint64_t cpu_ms);
/* Milliseconds of processor time since the process's start, and those that are left. */
uint64_t work_cpu_ms(void);
uint64_t work_cpu_left(void);
/* Milliseconds of work since the process's start, which deadlines are compared with. */
uint64_t prove_now_ms(void);

#endif
