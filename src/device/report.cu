/*
 * report.cu - __collider_report: what a check calls when a value has changed.
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

#include "report_core.h"

/* RACE_REPORT_SYMBOL */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_report(uint64_t table, uint32_t site, uint32_t kind_flags, uint64_t address,
		  uint64_t was_lo, uint64_t was_hi, uint64_t now_lo, uint64_t now_hi,
		  uint32_t lanes, uint32_t width, uint64_t rt)
{
	dev_report(table, site, kind_flags, address, was_lo, was_hi, now_lo, now_hi, lanes, width,
		   rt);
}
