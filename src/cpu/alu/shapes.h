/*
 * shapes.h - inside cpu/alu, for ldst.c: how the lanes of an access lie, from their addresses or
 * from the register that these are made of.
 */
#ifndef COLLIDER_CPU_ALU_SHAPES_H
#define COLLIDER_CPU_ALU_SHAPES_H

#include "cpu/alu/movers.h"
#include "cpu/touch.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Are n lanes (a multiple of 4) `apart` bytes from the one before? */
static inline bool are_apart(const uint64_t *addr, unsigned n, uint64_t apart)
{
#ifdef __AVX2__
	int64_t a0 = (int64_t)addr[0], d = (int64_t)apart;
	__m256i want = _mm256_setr_epi64x(a0, a0 + d, a0 + 2 * d, a0 + 3 * d);
	__m256i diff = _mm256_setzero_si256(), step = _mm256_set1_epi64x(4 * d);

	for (unsigned i = 0; i < n; i += 4) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(addr + i));
		diff = _mm256_or_si256(diff, _mm256_xor_si256(a, want));
		want = _mm256_add_epi64(want, step);
	}
	return _mm256_testz_si256(diff, diff);
#else
	uint64_t diff = 0;

	for (unsigned l = 0; l < n; l++)
		diff |= addr[l] ^ (addr[0] + l * apart);
	return !diff;
#endif
}

/* Has the mask no gap, and does each of its lanes lie `apart` bytes from the one before? */
static inline bool are_side_by_side(const uint64_t *addr, uint32_t mask, uint64_t apart)
{
	uint32_t first = (uint32_t)__builtin_ctz(mask), lanes = mask >> first;
	uint64_t base = addr[first] - first * apart;

	if (lanes & (lanes + 1))
		return false;
#ifdef __AVX2__
	int64_t a0 = (int64_t)base, d = (int64_t)apart;
	const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
	__m256i want = _mm256_setr_epi64x(a0, a0 + d, a0 + 2 * d, a0 + 3 * d);
	__m256i diff = _mm256_setzero_si256(), step = _mm256_set1_epi64x(4 * d);

	for (unsigned i = 0; i < CPU_WARP; i += 4) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(addr + i));
		__m256i in = _mm256_and_si256(_mm256_set1_epi64x(mask >> i), bits);
		in = _mm256_cmpeq_epi64(in, bits);
		diff = _mm256_or_si256(diff, _mm256_and_si256(in, _mm256_xor_si256(a, want)));
		want = _mm256_add_epi64(want, step);
	}
	return _mm256_testz_si256(diff, diff);
#else
	uint64_t diff = 0;

	CPU_EACH_LANE (l, mask)
		diff |= addr[l] ^ (base + l * apart);
	return !diff;
#endif
}

/* Lanes outside of the mask get the address of one in it. */
static inline void fill_idle(uint64_t *addr, uint32_t mask)
{
	uint64_t first = addr[__builtin_ctz(mask)];

#ifdef __AVX2__
	const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
	const __m256i other = _mm256_set1_epi64x((int64_t)first);

	for (unsigned i = 0; i < CPU_WARP; i += 4) {
		__m256i *p = (__m256i *)(void *)(addr + i);
		__m256i in = _mm256_and_si256(_mm256_set1_epi64x(mask >> i), bits);
		_mm256_storeu_si256(p, _mm256_blendv_epi8(other, _mm256_loadu_si256(p),
							  _mm256_cmpeq_epi64(in, bits)));
	}
#else
	for (unsigned l = 0; l < CPU_WARP; l++)
		addr[l] = mask >> l & 1u ? addr[l] : first;
#endif
}

/* Where the lanes are, as signed numbers, which vector units compare: no valid address is
 * negative. */
struct span {
	int64_t lo, hi, all; /* all: the bits of any */
};

static inline struct span find_span(const uint64_t *addr)
{
	struct span s = {INT64_MAX, INT64_MIN, 0};

#ifdef __AVX2__
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)addr), high = low;
	__m256i any = low;
	int64_t v[3][4];

	for (unsigned i = 4; i < CPU_WARP; i += 4) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(addr + i));
		low = _mm256_blendv_epi8(low, a, _mm256_cmpgt_epi64(low, a));
		high = _mm256_blendv_epi8(high, a, _mm256_cmpgt_epi64(a, high));
		any = _mm256_or_si256(any, a);
	}
	_mm256_storeu_si256((__m256i *)(void *)v[0], low);
	_mm256_storeu_si256((__m256i *)(void *)v[1], high);
	_mm256_storeu_si256((__m256i *)(void *)v[2], any);
	for (unsigned i = 0; i < 4; i++) {
		s.lo = v[0][i] < s.lo ? v[0][i] : s.lo;
		s.hi = v[1][i] > s.hi ? v[1][i] : s.hi;
		s.all |= v[2][i];
	}
#else
	for (unsigned l = 0; l < CPU_WARP; l++) {
		int64_t a = (int64_t)addr[l];
		s.lo = a < s.lo ? a : s.lo;
		s.hi = a > s.hi ? a : s.hi;
		s.all |= a;
	}
#endif
	return s;
}

/* The shape of eight lanes; `side`: how far apart they are side by side. 0: never, since elements
 * of a vector, or the halves of 16 bytes, are not. */
static inline enum group_kind find_kind(const uint64_t *a, uint64_t side)
{
	uint64_t apart = a[1] - a[0];

	if (!apart)
		return are_apart(a, GROUP, 0) ? GROUP_SAME : GROUP_ANY;
	return apart == side && are_apart(a, GROUP, apart) ? GROUP_SIDE_BY_SIDE : GROUP_ANY;
}

/* True: each group of eight has a shape; then the span is known, too. */
static inline bool find_groups(const uint64_t *addr, uint32_t mask, uint64_t side, uint32_t *kinds,
			       struct span *s)
{
	bool is_known = true;

	*kinds = 0;
	*s = (struct span){INT64_MAX, INT64_MIN, 0};
	for (unsigned i = 0; i < CPU_WARP; i += GROUP) {
		int64_t first = (int64_t)addr[i], last = (int64_t)addr[i + GROUP - 1];
		enum group_kind kind =
			(mask >> i & 0xff) == 0xff ? find_kind(addr + i, side) : GROUP_ANY;

		*kinds |= (uint32_t)kind << i;
		is_known &= kind != GROUP_ANY;
		s->lo = first < s->lo ? first : s->lo;
		s->hi = last > s->hi ? last : s->hi;
		s->all |= first | last;
	}
	return is_known;
}

/* Notes that the lanes of the spread, in groups, access `step` bytes each; `host`: the least of
 * their addresses. */
static inline void note_groups(struct cpu_touch *t, const struct cpu_spread *sh, uint64_t host,
			       uint32_t step, enum touch_kind kind)
{
	uint32_t kinds = sh->groups;

	for (unsigned i = 0; i < CPU_WARP; i += GROUP, kinds >>= 8) {
		unsigned n = (kinds & 0xff) == GROUP_ANY ? GROUP : 1;
		uint32_t bytes = (kinds & 0xff) == GROUP_SIDE_BY_SIDE ? step * GROUP : step;
		for (unsigned l = i; l < i + n; l++)
			cpu_touch_row(t, host + (sh->addr[l] - sh->lo), bytes, kind);
	}
}

/* SPREAD_UNIFORM or SPREAD_LINEAR where lanes with these bases and elements of `step` bytes lie so,
 * whatever constant is added; SPREAD_GROUPS: not known. */
static inline uint32_t shape_of_64(const uint64_t *base, uint32_t step)
{
	uint64_t apart = base[1] - base[0];

	if ((apart && apart != step) || !are_apart(base, CPU_WARP, apart))
		return SPREAD_GROUPS;
	return apart ? SPREAD_LINEAR : SPREAD_UNIFORM;
}

/* The same of 32 bits, which are extended by zeros before the constant is added: they must not
 * wrap. */
static inline uint32_t shape_of_32(const uint32_t *base, uint32_t step)
{
	uint32_t apart = base[1] - base[0];

	if ((apart && apart != step) || base[0] > UINT32_MAX - step * CPU_WARP)
		return SPREAD_GROUPS;
#ifdef __AVX2__
	int d = (int)apart;
	__m256i want =
		_mm256_add_epi32(_mm256_set1_epi32((int)base[0]),
				 _mm256_setr_epi32(0, d, 2 * d, 3 * d, 4 * d, 5 * d, 6 * d, 7 * d));
	__m256i diff = _mm256_setzero_si256(), more = _mm256_set1_epi32(8 * d);

	for (unsigned i = 0; i < CPU_WARP; i += 8) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(base + i));
		diff = _mm256_or_si256(diff, _mm256_xor_si256(a, want));
		want = _mm256_add_epi32(want, more);
	}
	if (!_mm256_testz_si256(diff, diff))
		return SPREAD_GROUPS;
#else
	uint32_t diff = 0;

	for (unsigned l = 0; l < CPU_WARP; l++)
		diff |= base[l] ^ (base[0] + l * apart);
	if (diff)
		return SPREAD_GROUPS;
#endif
	return apart ? SPREAD_LINEAR : SPREAD_UNIFORM;
}

#endif
