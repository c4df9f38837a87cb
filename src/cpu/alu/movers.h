/*
 * movers.h - inside cpu/alu, for ldst.c: how elements get from memory to a slot and back.
 *
 * A mover is for one type in memory and one size of registers: lanes side by side, lanes anywhere,
 * groups of eight lanes by their shapes, all lanes from one place.
 */
#ifndef COLLIDER_CPU_ALU_MOVERS_H
#define COLLIDER_CPU_ALU_MOVERS_H

#include <string.h>

#include "cpu/machine.h"

typedef uint8_t __attribute__((may_alias)) mu8;
typedef int8_t __attribute__((may_alias)) ms8;
typedef uint16_t __attribute__((may_alias)) mu16;
typedef int16_t __attribute__((may_alias)) ms16;
typedef uint32_t __attribute__((may_alias)) mu32;
typedef int32_t __attribute__((may_alias)) ms32;
typedef uint64_t __attribute__((may_alias)) mu64;
typedef int64_t __attribute__((may_alias)) ms64;

/* Lane l's element is at p + l * step (all lanes), or at addr[l] + delta + l * stride (those of
 * mask). */
typedef void linear_fn(void *slot, uint8_t *p, size_t step);
typedef void each_fn(void *slot, const uint64_t *addr, uint64_t delta, uint64_t stride,
		     uint32_t mask);
typedef void uniform_fn(void *slot, uint8_t *p, uint32_t mask);

/* Of all lanes together: one address, side by side, or what eight of them have (groups). */
enum { SPREAD_UNIFORM, SPREAD_LINEAR, SPREAD_GROUPS };

/* Eight lanes at a time: how far apart they are. */
#define GROUP 8
enum group_kind { GROUP_ANY, GROUP_SAME, GROUP_SIDE_BY_SIDE };
#define GROUPS_ALL(kind) ((kind)*0x01010101u)
struct groups {
	uint32_t mask;
	uint32_t kinds; /* a byte each; GROUP_ANY where the mask has not all of the group */
};
typedef void groups_fn(void *slot, const uint64_t *addr, uint64_t delta, const struct groups *g);

/* All lanes: from one place, or side by side (SPREAD_*). */
typedef void whole_fn(void *slot, uint8_t *p);

struct mover {
	whole_fn *whole[2];
	linear_fn *linear;
	each_fn *each;
	groups_fn *groups;
	uniform_fn *uniform; /* of stores the last lane's stays, as if lanes stored in turn */
};

#define AT(T, addr, l, delta, stride) ((T *)(uintptr_t)((addr)[l] + (delta) + (l) * (stride)))

#define WHOLE(name, bytes)                                                                         \
	static void name##_same(void *slot, uint8_t *p)                                            \
	{                                                                                          \
		name##_uniform(slot, p, UINT32_MAX);                                               \
	}                                                                                          \
	static void name##_side(void *slot, uint8_t *p)                                            \
	{                                                                                          \
		name##_linear(slot, p, bytes);                                                     \
	}                                                                                          \
	static const struct mover name = {{name##_same, name##_side},                              \
					  name##_linear,                                           \
					  name##_each,                                             \
					  name##_groups,                                           \
					  name##_uniform};

#define LOADER(name, M, R)                                                                         \
	static inline void name##_eight(R *restrict r, const M *restrict p)                        \
	{                                                                                          \
		for (unsigned l = 0; l < GROUP; l++)                                               \
			r[l] = (R)p[l];                                                            \
	}                                                                                          \
	static inline void name##_linear(void *slot, uint8_t *p, size_t step)                      \
	{                                                                                          \
		R *r = slot;                                                                       \
		if (step == sizeof(M) && sizeof(M) == sizeof(R)) {                                 \
			memcpy(r, p, sizeof(R) * CPU_WARP);                                        \
			return;                                                                    \
		}                                                                                  \
		if (step == sizeof(M)) {                                                           \
			const M *m = (const M *)(const void *)p;                                   \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				r[l] = (R)m[l];                                                    \
			return;                                                                    \
		}                                                                                  \
		for (unsigned l = 0; l < CPU_WARP; l++)                                            \
			r[l] = (R) * (const M *)(const void *)(p + l * step);                      \
	}                                                                                          \
	static void name##_each(void *slot, const uint64_t *addr, uint64_t delta, uint64_t stride, \
				uint32_t mask)                                                     \
	{                                                                                          \
		R *r = slot;                                                                       \
		if (mask == UINT32_MAX)                                                            \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				r[l] = (R)*AT(const M, addr, l, delta, stride);                    \
		else                                                                               \
			CPU_EACH_LANE (l, mask)                                                    \
				r[l] = (R)*AT(const M, addr, l, delta, stride);                    \
	}                                                                                          \
	static void name##_groups(void *slot, const uint64_t *addr, uint64_t delta,                \
				  const struct groups *g)                                          \
	{                                                                                          \
		R *r = slot;                                                                       \
		uint32_t kinds = g->kinds;                                                         \
		if (kinds == GROUPS_ALL(GROUP_SIDE_BY_SIDE)) {                                     \
			for (unsigned i = 0; i < CPU_WARP; i += GROUP)                             \
				name##_eight(r + i, AT(const M, addr, i, delta, 0));               \
			return;                                                                    \
		}                                                                                  \
		for (unsigned i = 0; i < CPU_WARP; i += GROUP, kinds >>= 8) {                      \
			const M *m = AT(const M, addr, i, delta, 0);                               \
			uint32_t mask = g->mask & 0xffu << i;                                      \
			if ((kinds & 0xff) == GROUP_SIDE_BY_SIDE) {                                \
				name##_eight(r + i, m);                                            \
			} else if ((kinds & 0xff) == GROUP_SAME) {                                 \
				R v = (R)*m;                                                       \
				for (unsigned l = 0; l < GROUP; l++)                               \
					r[i + l] = v;                                              \
			} else if (mask == 0xffu << i) {                                           \
				for (unsigned l = i; l < i + GROUP; l++)                           \
					r[l] = (R)*AT(const M, addr, l, delta, 0);                 \
			} else {                                                                   \
				CPU_EACH_LANE (l, mask)                                            \
					r[l] = (R)*AT(const M, addr, l, delta, 0);                 \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void name##_uniform(void *slot, uint8_t *p, uint32_t mask)                   \
	{                                                                                          \
		R *r = slot, v = (R) * (const M *)(const void *)p;                                 \
		CPU_LANES(l, mask, r[l] = v);                                                      \
	}                                                                                          \
	WHOLE(name, sizeof(M))

#define STORER(name, M, R)                                                                         \
	static inline void name##_eight(M *restrict p, const R *restrict r)                        \
	{                                                                                          \
		for (unsigned l = 0; l < GROUP; l++)                                               \
			p[l] = (M)r[l];                                                            \
	}                                                                                          \
	static inline void name##_linear(void *slot, uint8_t *p, size_t step)                      \
	{                                                                                          \
		const R *r = slot;                                                                 \
		if (step == sizeof(M) && sizeof(M) == sizeof(R)) {                                 \
			memcpy(p, r, sizeof(R) * CPU_WARP);                                        \
			return;                                                                    \
		}                                                                                  \
		if (step == sizeof(M)) {                                                           \
			M *m = (M *)(void *)p;                                                     \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				m[l] = (M)r[l];                                                    \
			return;                                                                    \
		}                                                                                  \
		for (unsigned l = 0; l < CPU_WARP; l++)                                            \
			*(M *)(void *)(p + l * step) = (M)r[l];                                    \
	}                                                                                          \
	static void name##_each(void *slot, const uint64_t *addr, uint64_t delta, uint64_t stride, \
				uint32_t mask)                                                     \
	{                                                                                          \
		const R *r = slot;                                                                 \
		if (mask == UINT32_MAX)                                                            \
			for (unsigned l = 0; l < CPU_WARP; l++)                                    \
				*AT(M, addr, l, delta, stride) = (M)r[l];                          \
		else                                                                               \
			CPU_EACH_LANE (l, mask)                                                    \
				*AT(M, addr, l, delta, stride) = (M)r[l];                          \
	}                                                                                          \
	static void name##_groups(void *slot, const uint64_t *addr, uint64_t delta,                \
				  const struct groups *g)                                          \
	{                                                                                          \
		const R *r = slot;                                                                 \
		uint32_t kinds = g->kinds;                                                         \
		for (unsigned i = 0; i < CPU_WARP; i += GROUP, kinds >>= 8) {                      \
			uint32_t mask = g->mask & 0xffu << i;                                      \
			if ((kinds & 0xff) == GROUP_SIDE_BY_SIDE) {                                \
				name##_eight(AT(M, addr, i, delta, 0), r + i);                     \
			} else if (mask == 0xffu << i) {                                           \
				for (unsigned l = i; l < i + GROUP; l++)                           \
					*AT(M, addr, l, delta, 0) = (M)r[l];                       \
			} else {                                                                   \
				CPU_EACH_LANE (l, mask)                                            \
					*AT(M, addr, l, delta, 0) = (M)r[l];                       \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void name##_uniform(void *slot, uint8_t *p, uint32_t mask)                   \
	{                                                                                          \
		const R *r = slot;                                                                 \
		*(M *)(void *)p = (M)r[31 - __builtin_clz(mask)];                                  \
	}                                                                                          \
	WHOLE(name, sizeof(M))

LOADER(ld_u8_16, mu8, uint16_t)
LOADER(ld_u8_32, mu8, uint32_t)
LOADER(ld_u8_64, mu8, uint64_t)
LOADER(ld_s8_16, ms8, uint16_t)
LOADER(ld_s8_32, ms8, uint32_t)
LOADER(ld_s8_64, ms8, uint64_t)
LOADER(ld_u16_16, mu16, uint16_t)
LOADER(ld_u16_32, mu16, uint32_t)
LOADER(ld_u16_64, mu16, uint64_t)
LOADER(ld_s16_32, ms16, uint32_t)
LOADER(ld_s16_64, ms16, uint64_t)
LOADER(ld_u32_32, mu32, uint32_t)
LOADER(ld_u32_64, mu32, uint64_t)
LOADER(ld_s32_64, ms32, uint64_t)
LOADER(ld_u64_64, mu64, uint64_t)
STORER(st_8_16, mu8, uint16_t)
STORER(st_8_32, mu8, uint32_t)
STORER(st_8_64, mu8, uint64_t)
STORER(st_16_16, mu16, uint16_t)
STORER(st_16_32, mu16, uint32_t)
STORER(st_16_64, mu16, uint64_t)
STORER(st_32_32, mu32, uint32_t)
STORER(st_32_64, mu32, uint64_t)
STORER(st_64_64, mu64, uint64_t)

/* 16 bytes lie in two arrays of halves. */
#define HALVES(name, half)                                                                         \
	static inline void name##_linear(void *slot, uint8_t *p, size_t step)                      \
	{                                                                                          \
		half##_linear(slot, p, step);                                                      \
		half##_linear((uint64_t *)slot + CPU_WARP, p + 8, step);                           \
	}                                                                                          \
	static void name##_each(void *slot, const uint64_t *addr, uint64_t delta, uint64_t stride, \
				uint32_t mask)                                                     \
	{                                                                                          \
		half##_each(slot, addr, delta, stride, mask);                                      \
		half##_each((uint64_t *)slot + CPU_WARP, addr, delta + 8, stride, mask);           \
	}                                                                                          \
	static void name##_groups(void *slot, const uint64_t *addr, uint64_t delta,                \
				  const struct groups *g)                                          \
	{                                                                                          \
		half##_groups(slot, addr, delta, g);                                               \
		half##_groups((uint64_t *)slot + CPU_WARP, addr, delta + 8, g);                    \
	}                                                                                          \
	static inline void name##_uniform(void *slot, uint8_t *p, uint32_t mask)                   \
	{                                                                                          \
		half##_uniform(slot, p, mask);                                                     \
		half##_uniform((uint64_t *)slot + CPU_WARP, p + 8, mask);                          \
	}                                                                                          \
	WHOLE(name, 16)

HALVES(ld_128, ld_u64_64)
HALVES(st_128, st_64_64)

/* By log2 of the width in memory and of the register's bytes (8-bit registers lie in 16 bits). */
static const struct mover *const loaders[2][5][5] = {
	{{&ld_u8_16, &ld_u8_16, &ld_u8_32, &ld_u8_64, NULL},
	 {NULL, &ld_u16_16, &ld_u16_32, &ld_u16_64, NULL},
	 {NULL, NULL, &ld_u32_32, &ld_u32_64, NULL},
	 {NULL, NULL, NULL, &ld_u64_64, NULL},
	 {NULL, NULL, NULL, NULL, &ld_128}},
	{{&ld_u8_16, &ld_s8_16, &ld_s8_32, &ld_s8_64, NULL},
	 {NULL, &ld_u16_16, &ld_s16_32, &ld_s16_64, NULL},
	 {NULL, NULL, &ld_u32_32, &ld_s32_64, NULL},
	 {NULL, NULL, NULL, &ld_u64_64, NULL},
	 {NULL, NULL, NULL, NULL, NULL}},
};
static const struct mover *const storers[5][5] = {
	{&st_8_16, &st_8_16, &st_8_32, &st_8_64, NULL},
	{NULL, &st_16_16, &st_16_32, &st_16_64, NULL},
	{NULL, NULL, &st_32_32, &st_32_64, NULL},
	{NULL, NULL, NULL, &st_64_64, NULL},
	{NULL, NULL, NULL, NULL, &st_128},
};

#endif
