/*
 * rows.h - inside src/cpu: the numbers of the rows of rows.def, and the tables {handler, row} that
 * the files of alu/ make of it.
 */
#ifndef COLLIDER_CPU_JIT_ROWS_H
#define COLLIDER_CPU_JIT_ROWS_H

#include "cpu/inst.h"

enum jit_row {
	JIT_NONE,
#define INT(handler, ...)     JIT_INT_##handler,
#define LOGIC(handler, ...)   JIT_LOGIC_##handler,
#define MOVE(handler, ...)    JIT_MOVE_##handler,
#define COMPARE(handler, ...) JIT_COMPARE_##handler,
#define FLOAT(handler, ...)   JIT_FLOAT_##handler,
#define APPROX(handler, ...)  JIT_APPROX_##handler,
#define CVT(handler, ...)     JIT_CVT_##handler,
#define LDST(handler, ...)    JIT_LDST_##handler,
#include "cpu/jit/rows.def"
	JIT_ROWS
};

/* Ends with a NULL. */
struct jit_handler {
	cpu_exec *fn;
	enum jit_row row;
};

/* rows.c: fills the table, once; then the row of a handler, or JIT_NONE. */
void jit_rows_start(void);
enum jit_row jit_row_of(cpu_exec *fn);

/* Of one file of alu/, in this build of it; the file defines its macro of rows.def before. */
#ifdef CPU_ISA_SUFFIX
#define CPU_HANDLERS(unit) CPU_ISA_PASTE(cpu_handlers_##unit, CPU_ISA_SUFFIX)
#endif

#endif
