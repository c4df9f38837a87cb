/*
 * told.h - races that last as long as the check that must see them.
 *
 * A check looks at memory for some microseconds, and a thread that writes once has done so before
 * or long after. So the racing threads go on, each time with other values, until the thread that
 * issues the copy says that it is issued: by relaxed accesses, which order nothing.
 */
#ifndef TOLD_H
#define TOLD_H

#include <stdlib.h>

#define SMEM(p) ((unsigned)__cvta_generic_to_shared(p))

/* Which race: the program's argument, 0 for none. */
static inline int race_of(int argc, char **argv)
{
	return argc > 1 ? atoi(argv[1]) : 0;
}

/* `flag`: address in the cluster's shared memory. */
static __device__ inline void tell(unsigned flag, unsigned value)
{
	asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;" ::"r"(flag), "r"(value)
		     : "memory");
}

static __device__ inline bool is_told(unsigned flag, unsigned value)
{
	unsigned v;

	asm volatile("ld.relaxed.cluster.shared::cluster.u32 %0, [%1];"
		     : "=r"(v)
		     : "r"(flag)
		     : "memory");
	return v >= value;
}

/* Runs its body once or more, with `pass` counting, until `flag` has received `value`. */
#define UNTIL_TOLD(pass, flag, value)                                                              \
	for (unsigned pass = 0, end_ = 0; !end_; pass++, end_ = is_told(flag, value))

#endif
