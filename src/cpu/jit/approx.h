/*
 * approx.h - the numbers of ex2 and lg2, which their handlers (alu/fp_math.h) and machine code
 * (float_recipes.c) compute by the same operations.
 *
 * Polynomials nearest in relative error, the coefficients rounded to float and then moved by some
 * units until the worst result was nearest to the exact one.
 */
#ifndef COLLIDER_CPU_JIT_APPROX_H
#define COLLIDER_CPU_JIT_APPROX_H

/* (2^f - 1) / f for |f| <= 1/2: the coefficient of f^k. */
#define FP_EXP2_0 0x1.62e43p-1f
#define FP_EXP2_1 0x1.ebfbd8p-3f
#define FP_EXP2_2 0x1.c6af04p-5f
#define FP_EXP2_3 0x1.3b2df4p-7f
#define FP_EXP2_4 0x1.5f3fe2p-10f
#define FP_EXP2_5 0x1.41f3bcp-13f

/* The least float above the root of 1/2, as bits. */
#define FP_ROOT_HALF 0x3f3504f4u
/* log2(1 + t) / t - 1 where 1 + t is between the roots of 1/2 and 2. */
#define FP_LOG2_0 0x1.c551dap-2f
#define FP_LOG2_1 -0x1.71547p-1f
#define FP_LOG2_2 0x1.ec7092p-2f
#define FP_LOG2_3 -0x1.715a5ep-2f
#define FP_LOG2_4 0x1.277e36p-2f
#define FP_LOG2_5 -0x1.eabd88p-3f
#define FP_LOG2_6 0x1.a30566p-3f
#define FP_LOG2_7 -0x1.874beap-3f
#define FP_LOG2_8 0x1.7d4b46p-3f
#define FP_LOG2_9 -0x1.c25a6ap-4f

#endif
