/*
 * gpu_ops.h - the DEV_* operations of report_core.h on a GPU, and others that the functions of
 * this folder share.
 *
 * Every access is .relaxed, so no detector mistakes it for the user's, and nothing here orders
 * memory: the one warp-wide instruction without a mask from the caller (match.any.sync in
 * dev_peers) names the currently active lanes, so that no lane waits for one that has not arrived.
 */
#ifndef COLLIDER_DEVICE_GPU_OPS_H
#define COLLIDER_DEVICE_GPU_OPS_H

#include <stddef.h>

#include "race/record.h"

#define DEV_FN static __device__ __forceinline__

/* The symbol of the runtime block that begins with the knobs. */
#ifndef DEV_KNOBS
#define DEV_KNOBS "__collider_knobs"
#endif

DEV_FN uint64_t dev_load64(uint64_t at)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at));
	return v;
}

DEV_FN uint64_t dev_cas64(uint64_t at, uint64_t old, uint64_t now)
{
	uint64_t v;

	asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(at), "l"(old), "l"(now));
	return v;
}

DEV_FN uint64_t dev_add64(uint64_t at, uint64_t n)
{
	uint64_t v;

	asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(v) : "l"(at), "l"(n));
	return v;
}

/* 32 and 64 bits at an address of any space. */
DEV_FN uint64_t dev_word(const void *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p));
	return v;
}

/* The same; the L1 cache may serve it, with a value from before. */
DEV_FN uint64_t dev_word_near(const void *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.cta.u64 %0, [%1];" : "=l"(v) : "l"(p));
	return v;
}

DEV_FN uint64_t dev_swap(void *p, uint64_t old, uint64_t next)
{
	uint64_t v;

	asm volatile("atom.relaxed.gpu.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "l"(p), "l"(old), "l"(next));
	return v;
}

DEV_FN uint32_t dev_swap32(void *p, uint32_t old, uint32_t next)
{
	uint32_t v;

	asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(v)
		     : "l"(p), "r"(old), "r"(next));
	return v;
}

DEV_FN void dev_store32(void *p, uint32_t v)
{
	asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(p), "r"(v));
}

DEV_FN uint32_t dev_word32(const void *p)
{
	uint32_t v;

	asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

DEV_FN uint32_t dev_active(void)
{
	uint32_t v;

	asm volatile("activemask.b32 %0;" : "=r"(v));
	return v;
}

/* A delay; `flags` are the module's (RACE_KNOB_*). Where it elects lanes only whole warps sleep, as
 * src/instrument/nap says; a part of one waits awake. */
DEV_FN void dev_nap(uint32_t ns, uint32_t flags)
{
	uint32_t begin, now, turns = ns / 8u;

	if (!(flags & RACE_KNOB_ELECTS) || dev_active() == 0xffffffffu) {
		asm volatile("nanosleep.u32 %0;" ::"r"(ns));
		return;
	}
	asm volatile("mov.u32 %0, %%clock;" : "=r"(begin));
	do
		asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
	while (now - begin < ns + ns / 2u && turns--);
}

DEV_FN uint32_t dev_peers(uint32_t slot)
{
	uint32_t peers;

	/* One block: nothing may come between the two, see above. */
	asm volatile("{\n\t"
		     ".reg .b32 dev_active;\n\t"
		     "activemask.b32 dev_active;\n\t"
		     "match.any.sync.b32 %0, %1, dev_active;\n\t"
		     "}"
		     : "=r"(peers)
		     : "r"(slot));
	return peers;
}

/* Reads a special register where its value is needed, so that it occupies no register before
 * that. */
#define DEV_SREG32(v, name) asm volatile("mov.u32 %0, %" name ";" : "=r"(v))

/* Adds, and no thread waits for the sum. */
DEV_FN void dev_red64(uint64_t at, uint64_t n)
{
	asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(n));
}

DEV_FN uint32_t dev_is_leader(uint32_t peers)
{
	uint32_t below;

	DEV_SREG32(below, "%lanemask_lt");
	return (peers & below) == 0;
}

#define DEV_NO_UNROLL		_Pragma("unroll 1")
#define DEV_LOAD64(at)		dev_load64(at)
#define DEV_CAS64(at, old, now) dev_cas64(at, old, now)
#define DEV_ADD64(at, n)	dev_add64(at, n)
#define DEV_INC64(at)		asm volatile("red.relaxed.gpu.global.add.u64 [%0], 1;" ::"l"(at))
#define DEV_STORE32(p, v)	asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v))
#define DEV_STORE64(p, v)	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v))
#define DEV_PEERS(slot)		dev_peers(slot)
#define DEV_IS_LEADER(peers)	dev_is_leader(peers)
#define DEV_POPC(peers)		((uint64_t)__popc(peers))
#define DEV_GRID()		dev_grid()
#define DEV_SM()		dev_sm()
#define DEV_WHERE(at)		dev_where(at)
#define DEV_ORDER(at)		dev_order(at)

DEV_FN uint64_t dev_grid(void)
{
	uint64_t v;

	asm volatile("mov.u64 %0, %%gridid;" : "=l"(v));
	return v;
}

DEV_FN uint32_t dev_sm(void)
{
	uint32_t v;

	DEV_SREG32(v, "%smid");
	return v;
}

DEV_FN void dev_where(uint64_t at)
{
	uint32_t v;

	DEV_SREG32(v, "%tid.x");
	DEV_STORE32(at, v);
	DEV_SREG32(v, "%tid.y");
	DEV_STORE32(at + 4, v);
	DEV_SREG32(v, "%tid.z");
	DEV_STORE32(at + 8, v);
	DEV_SREG32(v, "%ctaid.x");
	DEV_STORE32(at + 12, v);
	DEV_SREG32(v, "%ctaid.y");
	DEV_STORE32(at + 16, v);
	DEV_SREG32(v, "%ctaid.z");
	DEV_STORE32(at + 20, v);
}

/* What makes the block's number a logical one: the grid, its clusters, the order
 * (race/shuffle/blocks.h). */
DEV_FN void dev_order(uint64_t at)
{
	uint32_t v, w;

	DEV_SREG32(v, "%nctaid.x");
	DEV_STORE32(at, v);
	DEV_SREG32(v, "%nctaid.y");
	DEV_SREG32(w, "%nctaid.z");
	DEV_STORE32(at + 4, v | w << 16);
	/* src/instrument replaces %nsmid by the target's shape of clusters. */
	DEV_SREG32(v, "%nsmid");
	DEV_STORE32(at + 8, v);
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, order) == 32, "read below");
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, shuffle_waiting) == 36, "read below");
	asm volatile("ld.const.u32 %0, [" DEV_KNOBS "+32];" : "=r"(v));
	asm volatile("ld.const.u32 %0, [" DEV_KNOBS "+36];" : "=r"(w));
	DEV_STORE32(at + 12, v | w << 8);
}

/* The knobs of the module, read as text so that one source serves .const and .global ones:
 * src/instrument rewrites "ld.const" where the module keeps its knobs in .global. */
DEV_FN uint64_t dev_rt(void)
{
	uint64_t rt;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, rt) == 0, "read below");
	asm volatile("ld.const.u64 %0, [" DEV_KNOBS "];" : "=l"(rt));
	return rt;
}

/* The hash of the module's site table: src/instrument puts it in place of this number. */
DEV_FN uint64_t dev_table(void)
{
	uint64_t v;

	asm volatile("mov.u64 %0, 0xC011DE55C011DE55;" : "=l"(v));
	return v;
}

DEV_FN uint32_t dev_match64(uint64_t v, uint32_t mask)
{
	uint32_t r;

	asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(r) : "l"(v), "r"(mask));
	return r;
}

DEV_FN uint32_t dev_match32(uint32_t v, uint32_t mask)
{
	uint32_t r;

	asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask));
	return r;
}

DEV_FN uint32_t dev_shuffle(uint32_t v, uint32_t lane, uint32_t mask)
{
	asm volatile("shfl.sync.idx.b32 %0, %0, %1, 31, %2;" : "+r"(v) : "r"(lane), "r"(mask));
	return v;
}

/* The items of a call of check.cu whose lanes are to be compared: RACE_ITEM_LANES of each. */
DEV_FN uint32_t dev_wanted(uint32_t shape)
{
	uint32_t rows, wanted = shape & RACE_ITEM_EACH(RACE_ITEM_LANES);

	DEV_SREG32(rows, "%ntid.x");
	RACE_STATIC_ASSERT(RACE_ITEM_RISES == RACE_ITEM_LANES << 1, "shifted below");
	return (rows & 31u) == 0 ? wanted & ~(shape >> 1) : wanted;
}

#endif
