/*
 * program.h - a PTX module and the operations of a test: launches, copies, fills and their order.
 *
 * As a file it is the PTX after comments that hold the rest, so that a reduced failure can be
 * kept: tests/cpu/soundness/kept.
 */
#ifndef SOUNDNESS_PROGRAM_H
#define SOUNDNESS_PROGRAM_H

#include "base/base.h"

#define PROGRAM_OPS    12u
#define PROGRAM_PLANTS 8u
#define PROGRAM_COMMON 256u /* bytes after the regions that all launches share */

enum program_op_kind { PROGRAM_KERNEL, PROGRAM_COPY, PROGRAM_FILL };

/* What "after" is made of. */
enum program_how { PROGRAM_DEPENDS, PROGRAM_EVENT, PROGRAM_HOST_WAITS };

struct program_op {
	enum program_op_kind kind;
	char kernel[16];
	unsigned grid[2], block[2], cluster; /* 0: none asked for */
	unsigned region;		 /* kernels get its address, and that of the common bytes */
	unsigned dst, src, bytes, value; /* of copies and fills; offsets in the region */
	unsigned after;			 /* bit i: operation i comes before */
	enum program_how how;
};

/* The oracle must tell a pair of a line of a[0]..a[1] and one of b[0]..b[1]; line 0: an operation
 * of the host. `what` names the statement and how it was broken. */
struct program_plant {
	unsigned a[2], b[2];
	char what[32];
};

struct program {
	struct base_buf text;
	bool is_racy;
	uint64_t seed;		 /* of the run that failed, in a kept one */
	unsigned regions, bytes; /* of a region */
	unsigned pattern[2];	 /* offset and bytes of what is not zero at first */
	unsigned loose[2];	 /* ... of what depends on the schedule, in each region */
	struct program_op op[PROGRAM_OPS];
	unsigned nops;
	struct program_plant plant[PROGRAM_PLANTS];
	unsigned nplants;
};

void program_free(struct program *p);
size_t program_memory(const struct program *p);
void program_initial(const struct program *p, unsigned char *mem);
/* The first byte that must be equal and isn't, or program_memory(). */
size_t program_differs(const struct program *p, const unsigned char *a, const unsigned char *b);

/* As a file: comments, PTX. */
void program_print(const struct program *p, struct base_buf *out);
/* Returns NULL, or what is wrong with the text, which ends with a NUL after n. */
const char *program_read(const char *text, size_t n, struct program *out);

#endif
