/*
 * print.h - what the two files that write PTX share.
 */
#ifndef SOUNDNESS_PRINT_H
#define SOUNDNESS_PRINT_H

#include "generate.h"

struct writer {
	struct program *out;
	const struct gen_program *k;
	const struct gen_launch *l;
	unsigned line;
};

/* One instruction; the second with a source line of its own, which it returns. */
void put_inst(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
unsigned put_mem(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void put_label(struct writer *w, const char *name, unsigned i);
/* Is the order numbered `way` left out here? */
bool is_out(const struct writer *w, const struct gen_stmt *s, unsigned way);
/* Lines a0..a1 against b0..b1 race for certain. */
void put_plant(struct writer *w, const struct gen_stmt *s, const unsigned a[2],
	       const unsigned b[2]);
void put_plant_pair(struct writer *w, const struct gen_stmt *s, unsigned a, unsigned b);

const char *space_of(const struct gen_stmt *s);
const char *scope_name(const struct gen_stmt *s, unsigned scope);
/* The statement's access of [base+offset]: from %acc, to %acc. Returns its line. */
unsigned put_store(struct writer *w, const struct gen_stmt *s, const char *base);
unsigned put_load(struct writer *w, const struct gen_stmt *s, const char *base);
void put_fence(struct writer *w, const struct gen_stmt *s, unsigned scope);
/* reg: the address of what the statement i has for itself, in global memory one or one a block. */
void put_object(struct writer *w, const struct gen_stmt *s, unsigned i, const char *reg,
		bool is_of_block);

/* Statements that synchronise threads by hand; i is the statement's number. sync.c */
void put_last(struct writer *w, const struct gen_stmt *s, unsigned i);
void put_grid(struct writer *w, const struct gen_stmt *s, unsigned i);
void put_lock(struct writer *w, const struct gen_stmt *s, unsigned i);
void put_message(struct writer *w, const struct gen_stmt *s, unsigned i);
void put_dekker(struct writer *w, const struct gen_stmt *s, unsigned i);

#endif
