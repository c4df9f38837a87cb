/*
 * report.cu - what a check calls when a value has changed: __collider_changed for
 * one element, __collider_warp for one store of a warp.
 *
 * Compiled to PTX when Collider is built and pasted into each instrumented
 * module by src/instrument; weak, so that the copies of several objects merge.
 * The algorithm stands in report_core.h; here are the instructions that it
 * runs on. Only PTX 6.3 and sm_70 are used. Every access is .relaxed, so no
 * detector takes it for the user's, and nothing here orders memory: the one
 * warp-wide instruction (match.any.sync) names the lanes that are active
 * beside it, so that no lane is waited for that is not here already.
 *
 * It is called from cold code, but the caller's register count covers it:
 * see tests/device for the budget.
 */
#include "race/record.h"
#include "race/sample.h"
#include "race/shm.h"

#define DEV_FN static __device__ __forceinline__

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

/* Reads a special register where its value is needed, so that it occupies no register before. */
#define DEV_SREG32(v, name) asm volatile("mov.u32 %0, %" name ";" : "=r"(v))

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
#define DEV_STORE32(at, v)	asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(v))
#define DEV_STORE64(at, v)	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v))
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

/* What makes the block's number a logical one: the grid, its clusters, the order (race/order.h). */
DEV_FN void dev_order(uint64_t at)
{
	uint32_t v, w;

	DEV_SREG32(v, "%nctaid.x");
	DEV_STORE32(at, v);
	DEV_SREG32(v, "%nctaid.y");
	DEV_SREG32(w, "%nctaid.z");
	DEV_STORE32(at + 4, v | w << 16);
	/* src/instrument puts the shape of clusters in the place of %nsmid, as the target has it. */
	DEV_SREG32(v, "%nsmid");
	DEV_STORE32(at + 8, v);
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, order) == 32, "read below");
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, order_waiting) == 36, "read below");
	asm volatile("ld.const.u32 %0, [__collider_knobs+32];" : "=r"(v));
	asm volatile("ld.const.u32 %0, [__collider_knobs+36];" : "=r"(w));
	DEV_STORE32(at + 12, v | w << 8);
}

#include "report_core.h"

#define DEV_STR2(x) #x
#define DEV_STR(x)  DEV_STR2(x)

/* The knobs of the module, read as text so that one source serves .const and .global ones:
 * src/instrument rewrites "ld.const" where the module keeps its knobs in .global. */
DEV_FN uint64_t dev_rt(void)
{
	uint64_t rt;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, rt) == 0, "read below");
	asm volatile("ld.const.u64 %0, [__collider_knobs];" : "=l"(rt));
	return rt;
}

/* A location that changed between an access and its re-read; `what` by race_what. Returns at
 * once when it did not: the caller only knows that something in the group has. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_changed(uint64_t table, uint32_t what, uint64_t address, uint64_t was, uint64_t now)
{
	if (was == now && !(what & RACE_WHAT_USED))
		return;
	uint64_t rt = dev_rt();

	dev_report(table, RACE_WHAT_SITE(what),
		   RACE_WHAT_KIND(what) | (what & RACE_WHAT_USED ? RACE_REC_USED << 16 : 0),
		   address, was, 0, now, 0, 0, RACE_WHAT_WIDTH(what), rt);
}

/* Under --sample: is the group with this key to be checked (race/sample.h)? Marks its place then. */
extern "C" __device__ __noinline__ __attribute__((weak)) uint32_t __collider_sampled(uint64_t key)
{
	uint32_t sample, seed, seen;
	uint64_t rt, at;

	RACE_STATIC_ASSERT(offsetof(struct race_knobs, sample) == 16, "read below");
	RACE_STATIC_ASSERT(offsetof(struct race_knobs, seed) == 20, "read below");
	asm volatile("ld.const.u32 %0, [__collider_knobs+16];" : "=r"(sample));
	if (sample < RACE_SAMPLE_SITES || sample == RACE_SAMPLE_NEVER)
		return 0;
	asm volatile("ld.const.u32 %0, [__collider_knobs+20];" : "=r"(seed));
	if (race_sample_number(key, seed) >= (sample & ~RACE_SAMPLE_SITES))
		return 0;
	rt = dev_rt();
	if (rt == 0)
		return 1;
	at = rt + offsetof(struct race_rt, cover) + race_sample_place(key);
	asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(seen) : "l"(at));
	if (seen)
		return 1;
	asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(at), "r"(1));
	at = dev_load64(rt) + RACE_REGION_COVER + race_sample_place(key);
	asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"(1));
	return 1;
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

/* One store instruction, executed by the lanes of `mask`, all of which call this: do some share
 * an address? The lowest lane of each such set reports, with the value of the last lane that
 * stores another one. `value` is the first 8 bytes, `fold` the xor of the words behind them:
 * vectors that differ there in a way that xor hides count as equal. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_warp(uint64_t table, uint32_t what, uint64_t address, uint64_t value, uint32_t fold,
		uint32_t mask)
{
	uint32_t same = dev_match64(address, mask);

	if ((same & (same - 1)) == 0)
		return;
	uint32_t other = same & ~(dev_match64(value, same) & dev_match32(fold, same));
	uint32_t lane = 31u - (uint32_t)__clz((int)(other ? other : same));
	uint32_t lo = dev_shuffle((uint32_t)value, lane, same);
	uint32_t hi = dev_shuffle((uint32_t)(value >> 32), lane, same);

	if (!dev_is_leader(same))
		return;
	dev_report(table, RACE_WHAT_SITE(what),
		   other ? RACE_KIND_INTRA_WARP : RACE_KIND_INTRA_WARP_SAME, address, value, 0,
		   (uint64_t)hi << 32 | lo, 0, same, RACE_WHAT_WIDTH(what), dev_rt());
}
