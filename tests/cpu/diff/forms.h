/*
 * forms.h - the instructions that the GPU and the CPU device are compared on.
 *
 * A list file (*.ops) has one pattern per line:
 *
 *	= add<,.sat>.s32 $d:s32, $a:s32, $b:s32
 *	~2 rcp.approx<,.ftz>.f32 $d:f32, $a:f32
 *
 * <x,y> gives one instruction for each choice (all combinations). $d $e $f $g $h... with a type:
 * operands; the letters d..h are results, the others inputs. `=`: results are equal bit for bit.
 * `~N`: within N units in the last place of the result's type, NaN matches NaN. `^N`: within N
 * times 2^-20 of the largest input product, for matrix sums. Several instructions are separated by
 * `;`. Everything else is copied.
 *
 * A kernel has FORM_THREADS threads; the first FORM_RAW results are kept as they are, all of them
 * as a hash.
 */
#ifndef TESTS_CPU_DIFF_FORMS_H
#define TESTS_CPU_DIFF_FORMS_H

#include "base/base.h"

#define FORM_THREADS  2048u
#define FORM_RAW      256u
#define FORM_OPERANDS 40u

struct form_type {
	const char *name; /* as in the list */
	const char *reg;  /* register type in PTX: b16, b32, b64, pred */
	unsigned bytes;	  /* stored */
};

struct form_operand {
	char letter[4]; /* "d", "a0" */
	const struct form_type *type;
	bool is_result;
};

struct form {
	char *text; /* the instruction with its operands as in the list */
	char kind;  /* '=', '~', '^' */
	uint64_t tolerance;
	unsigned line;
	struct form_operand operand[FORM_OPERANDS];
	unsigned noperands, nresults;
	uint64_t hash; /* of text */
};

struct form_list {
	struct base_arena arena;
	BASE_VEC(struct form) forms;
	bool is_split; /* emit each for parts of the lanes, one after the other (not for blocks) */
};

/* Reads a list; false after saying what is wrong. */
bool forms_read(struct form_list *l, const char *path);
/* Appends a whole PTX module with kernels form_FIRST ... form_(FIRST+n-1) to out. */
void forms_emit(const struct form_list *l, size_t first, size_t n, struct base_buf *out);
/* The bits of an input of one thread, as the type has them (8 bytes of room). */
uint64_t forms_input(const struct form *f, unsigned operand, unsigned thread);
/* Bytes of all results of one thread; results follow one another by thread, then operand. */
unsigned forms_result_bytes(const struct form *f);

/* Kept results of one form. */
struct form_result {
	uint64_t form;	/* hash of its text */
	uint64_t all;	/* hash of all results */
	uint32_t bytes; /* of one thread */
	uint32_t reserved;
};

/* May `got` stand for `want` (both one result of the operand's type)? */
bool forms_match(const struct form *f, const struct form_operand *o, uint64_t want, uint64_t got);

#endif
