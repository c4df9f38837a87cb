/*
 * vectors.h - inside cpu/alu, for ldst.c: vectors of all lanes, all elements at once.
 *
 * In memory a lane's elements are neighbours, in slots the lanes are: eight lanes of four elements
 * are four pieces of 32 bytes, turned over in registers. Without AVX2 each element is moved for
 * itself (movers.h).
 */
#ifndef COLLIDER_CPU_ALU_VECTORS_H
#define COLLIDER_CPU_ALU_VECTORS_H

#include "cpu/alu/movers.h"

/* Lane 0's first element is at p; slots: of the elements. */
typedef void vector_fn(struct cpu_warp *w, const uint32_t *slots, uint8_t *p);

#ifdef __AVX2__
#include <immintrin.h>

static inline __m256i get_32(const void *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

static inline void put_32(void *p, __m256i v)
{
	_mm256_storeu_si256((__m256i *)p, v);
}

/* Bytes at p, and those at p + 64. */
static inline __m256i get_halves(const uint8_t *p)
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(p + 64));

	return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline void put_halves(uint8_t *p, __m256i v)
{
	_mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(v));
	_mm_storeu_si128((__m128i *)(void *)(p + 64), _mm256_extracti128_si256(v, 1));
}

/* Four rows of four words, in each half, become columns; it undoes itself. */
static inline void turn_over(__m256i v[4])
{
	__m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
	__m256i c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);

	v[0] = _mm256_unpacklo_epi64(a, c);
	v[1] = _mm256_unpackhi_epi64(a, c);
	v[2] = _mm256_unpacklo_epi64(b, d);
	v[3] = _mm256_unpackhi_epi64(b, d);
}

static void load_4x32(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	uint32_t *r[4];

	for (unsigned e = 0; e < 4; e++)
		r[e] = cpu_u32(w, slots[e]);
	for (unsigned l = 0; l < CPU_WARP; l += 8, p += 128) {
		__m256i v[4];
		for (unsigned i = 0; i < 4; i++)
			v[i] = get_halves(p + 16 * i);
		turn_over(v);
		for (unsigned e = 0; e < 4; e++)
			put_32(r[e] + l, v[e]);
	}
}

static void store_4x32(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	const uint32_t *r[4];

	for (unsigned e = 0; e < 4; e++)
		r[e] = cpu_u32(w, slots[e]);
	for (unsigned l = 0; l < CPU_WARP; l += 8, p += 128) {
		__m256i v[4];
		for (unsigned e = 0; e < 4; e++)
			v[e] = get_32(r[e] + l);
		turn_over(v);
		for (unsigned i = 0; i < 4; i++)
			put_halves(p + 16 * i, v[i]);
	}
}

/* The order of the four quarters of 64 bits in a register: the middle ones change places. */
#define MIDDLE 0xd8

static void load_2x32(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	uint32_t *x = cpu_u32(w, slots[0]), *y = cpu_u32(w, slots[1]);

	for (unsigned l = 0; l < CPU_WARP; l += 8, p += 64) {
		__m256 a = _mm256_castsi256_ps(get_32(p)), b = _mm256_castsi256_ps(get_32(p + 32));
		__m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
		__m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
		put_32(x + l, _mm256_permute4x64_epi64(even, MIDDLE));
		put_32(y + l, _mm256_permute4x64_epi64(odd, MIDDLE));
	}
}

static void store_2x32(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	const uint32_t *x = cpu_u32(w, slots[0]), *y = cpu_u32(w, slots[1]);

	for (unsigned l = 0; l < CPU_WARP; l += 8, p += 64) {
		__m256i a = _mm256_permute4x64_epi64(get_32(x + l), MIDDLE);
		__m256i b = _mm256_permute4x64_epi64(get_32(y + l), MIDDLE);
		put_32(p, _mm256_unpacklo_epi32(a, b));
		put_32(p + 32, _mm256_unpackhi_epi32(a, b));
	}
}

static inline void load_64_pairs(uint64_t *x, uint64_t *y, const uint8_t *p)
{
	for (unsigned l = 0; l < CPU_WARP; l += 4, p += 64) {
		__m256i a = get_32(p), b = get_32(p + 32);
		put_32(x + l, _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), MIDDLE));
		put_32(y + l, _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), MIDDLE));
	}
}

static inline void store_64_pairs(const uint64_t *x, const uint64_t *y, uint8_t *p)
{
	for (unsigned l = 0; l < CPU_WARP; l += 4, p += 64) {
		__m256i a = _mm256_permute4x64_epi64(get_32(x + l), MIDDLE);
		__m256i b = _mm256_permute4x64_epi64(get_32(y + l), MIDDLE);
		put_32(p, _mm256_unpacklo_epi64(a, b));
		put_32(p + 32, _mm256_unpackhi_epi64(a, b));
	}
}

/* All lanes from one place; to one place the last lane's. */
#define SAME(name, mover, n, bytes)                                                                \
	static void name(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)                    \
	{                                                                                          \
		for (unsigned e = 0; e < (n); e++)                                                 \
			mover##_same(cpu_slot(w, slots[e]), p + (bytes)*e);                        \
	}

SAME(load_4x32_same, ld_u32_32, 4, 4)
SAME(store_4x32_same, st_32_32, 4, 4)
SAME(load_2x32_same, ld_u32_32, 2, 4)
SAME(store_2x32_same, st_32_32, 2, 4)
SAME(load_2x64_same, ld_u64_64, 2, 8)
SAME(store_2x64_same, st_64_64, 2, 8)
SAME(load_128_same, ld_128, 1, 16)
SAME(store_128_same, st_128, 1, 16)

static void load_2x64(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	load_64_pairs(cpu_u64(w, slots[0]), cpu_u64(w, slots[1]), p);
}

static void store_2x64(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	store_64_pairs(cpu_u64(w, slots[0]), cpu_u64(w, slots[1]), p);
}

/* One element of 128 bits, whose halves are two arrays. */
static void load_128(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	uint64_t *low = cpu_u64(w, slots[0]);

	load_64_pairs(low, low + CPU_WARP, p);
}

static void store_128(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)
{
	const uint64_t *low = cpu_u64(w, slots[0]);

	store_64_pairs(low, low + CPU_WARP, p);
}

/* Elements of 8 or 16 bits: a lane's are parts of one word in memory, and have registers of 16. */
#define PARTS_OF(word, name, PART, mover, store, n)                                                \
	static void load_##name(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)             \
	{                                                                                          \
		const word *restrict from = (const word *)(const void *)p;                         \
		for (unsigned e = 0; e < (n); e++) {                                               \
			uint16_t *restrict r = cpu_u16(w, slots[e]);                               \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				r[l] = (PART)(from[l] >> 8 * sizeof(PART) * e);                    \
		}                                                                                  \
	}                                                                                          \
	static void store_##name(struct cpu_warp *w, const uint32_t *slots, uint8_t *p)            \
	{                                                                                          \
		word v[CPU_WARP] = {0};                                                            \
		for (unsigned e = 0; e < (n); e++) {                                               \
			const uint16_t *r = cpu_u16(w, slots[e]);                                  \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				v[l] |= (word)((word)(PART)r[l] << 8 * sizeof(PART) * e);          \
		}                                                                                  \
		memcpy(p, v, sizeof(v));                                                           \
	}                                                                                          \
	SAME(load_##name##_same, mover, n, sizeof(PART))                                           \
	SAME(store_##name##_same, store, n, sizeof(PART))

PARTS_OF(mu32, 4x8, uint8_t, ld_u8_16, st_8_16, 4)
PARTS_OF(mu16, 2x8, uint8_t, ld_u8_16, st_8_16, 2)
PARTS_OF(mu64, 4x16, uint16_t, ld_u16_16, st_16_16, 4)
PARTS_OF(mu32, 2x16, uint16_t, ld_u16_16, st_16_16, 2)

/* The functions for n elements of `width` bytes, or NULL: there is none, or an element is left out,
 * or its register is wider. */
static vector_fn *const *pick_vector(bool is_store, unsigned width,
				     const struct mover *const *movers, const uint32_t *slots,
				     unsigned n)
{
	static const struct {
		uint8_t width, n;
		const struct mover *mover[2];
		vector_fn *fn[2][2]; /* load, store, by SPREAD_* */
	} table[] = {
		{4,
		 4,
		 {&ld_u32_32, &st_32_32},
		 {{load_4x32_same, load_4x32}, {store_4x32_same, store_4x32}}},
		{4,
		 2,
		 {&ld_u32_32, &st_32_32},
		 {{load_2x32_same, load_2x32}, {store_2x32_same, store_2x32}}},
		{8,
		 2,
		 {&ld_u64_64, &st_64_64},
		 {{load_2x64_same, load_2x64}, {store_2x64_same, store_2x64}}},
		{16,
		 1,
		 {&ld_128, &st_128},
		 {{load_128_same, load_128}, {store_128_same, store_128}}},
		{1,
		 4,
		 {&ld_u8_16, &st_8_16},
		 {{load_4x8_same, load_4x8}, {store_4x8_same, store_4x8}}},
		{1,
		 2,
		 {&ld_u8_16, &st_8_16},
		 {{load_2x8_same, load_2x8}, {store_2x8_same, store_2x8}}},
		{2,
		 4,
		 {&ld_u16_16, &st_16_16},
		 {{load_4x16_same, load_4x16}, {store_4x16_same, store_4x16}}},
		{2,
		 2,
		 {&ld_u16_16, &st_16_16},
		 {{load_2x16_same, load_2x16}, {store_2x16_same, store_2x16}}},
	};

	for (unsigned i = 0; i < BASE_COUNTOF(table); i++) {
		bool is_right = table[i].width == width && table[i].n == n;
		for (unsigned e = 0; is_right && e < n; e++)
			is_right = slots[e] != CPU_NOSLOT && movers[e] == table[i].mover[is_store];
		if (is_right)
			return table[i].fn[is_store];
	}
	return NULL;
}
#else
static vector_fn *const *pick_vector(bool is_store, unsigned width,
				     const struct mover *const *movers, const uint32_t *slots,
				     unsigned n)
{
	(void)is_store, (void)width, (void)movers, (void)slots, (void)n;
	return NULL;
}
#endif

#endif
