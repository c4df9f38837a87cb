/*
 * assume.h - what a kernel may rely on, for `collider prove`; without effect in any other
 * compilation.
 *
 * collider_assume(e) in device code: e holds whenever control reaches this call. It becomes part of
 * the launch contract that is printed with the verdict. collider_distinct(x): x has a different
 * value in each thread that reaches this call. collider_apart(lo, n): none of the n numbers from lo
 * on is one of another thread's, as of the places that a scan of counts gives; lo + n doesn't wrap.
 * collider_injective(p, n): the n elements at p are all different, as the indices of a permutation
 * are. collider_sorted(p, n): none of the n elements at p is less than one before it, as signed
 * numbers (the places where rows begin). `collider prove` includes this file automatically; a
 * program that uses it must include it too, so that other compilers find the names.
 */
#ifndef COLLIDER_ASSUME_H
#define COLLIDER_ASSUME_H

#ifdef __COLLIDER_PROVE__
#ifdef __CUDACC__
extern "C" __device__ void __collider_assume(int holds);
extern "C" __device__ void __collider_distinct(unsigned long long value);
extern "C" __device__ void __collider_apart(long long lo, long long n, long long end);
extern "C" __device__ void __collider_injective(const void *p, unsigned long long n, unsigned size);
extern "C" __device__ void __collider_sorted(const void *p, unsigned long long n, unsigned size);
#define collider_assume(e)   __collider_assume((e) ? 1 : 0)
#define collider_distinct(x) __collider_distinct((unsigned long long)(x))
#define collider_apart(lo, n)                                                                      \
	__collider_apart((long long)(lo), (long long)(n), (long long)((lo) + (n)))
#define collider_injective(p, n) __collider_injective((p), (unsigned long long)(n), sizeof(*(p)))
#define collider_sorted(p, n)	 __collider_sorted((p), (unsigned long long)(n), sizeof(*(p)))
/* The same under the names of nvcc and of GPUVerify. */
#define __builtin_assume(e) collider_assume(e)
#define __requires(e)	    collider_assume(e)
#define __assume(e)	    collider_assume(e)
#endif
#else
#define collider_assume(e)	 ((void)0)
#define collider_distinct(x)	 ((void)0)
#define collider_apart(lo, n)	 ((void)0)
#define collider_injective(p, n) ((void)0)
#define collider_sorted(p, n)	 ((void)0)
#endif

#endif
