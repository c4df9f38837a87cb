/*
 * cvt_int.h - inside src/cpu: what a conversion between integers keeps in its instruction, for
 * alu/cvt.c and for machine code (jit/).
 */
#ifndef COLLIDER_CPU_JIT_CVT_INT_H
#define COLLIDER_CPU_JIT_CVT_INT_H

#include <stdint.h>

/* In in->aux: low bits of the source with its sign, then those of the destination. */
struct cvt_int {
	uint64_t mask[2], sign[2];
};

#endif
