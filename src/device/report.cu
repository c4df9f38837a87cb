/*
 * report.cu - what a check calls when a value has changed: __collider_changed for
 * one element, __collider_warp for one store of a warp.
 *
 * Compiled to PTX when Collider is built and pasted into each instrumented
 * module by src/instrument; weak, so that the copies of several objects merge.
 * The algorithm is in report_core.h; gpu_ops.h has the instructions that it runs on. Only PTX 6.3
 * and sm_70 are used.
 *
 * It is called from cold code, but the caller's register count covers it:
 * see tests/device for the budget.
 */
#include "race/record.h"
#include "race/file/shm.h"

#include "report_parts.h"

/* A location that changed between an access and its re-read; `what` by race_what. Returns at
 * once when it did not: the caller only knows that something in the group has changed. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_changed(uint64_t table, uint32_t what, uint64_t address, uint64_t was, uint64_t now)
{
	if (was == now && !(what & RACE_WHAT_USED))
		return;
	uint64_t rt = dev_rt();

	struct dev_found f = {
		table,	     RACE_WHAT_SITE(what),
		RACE_WHAT_KIND(what) | (what & RACE_WHAT_USED ? RACE_REC_USED << 16 : 0),
		address,     {was, 0},
		{now, 0},    0,
		RACE_WHAT_WIDTH(what)};
	dev_report(&f, rt);
}

/* --sample: is the group with this key to be checked (race/site/sample.h)? Marks its place then. */
extern "C" __device__ __noinline__ __attribute__((weak)) uint32_t __collider_sampled(uint64_t key)
{
	return dev_sampled(key);
}

/* One store instruction, executed by the lanes of `mask`, all of which call this: do some share
 * an address? `value` is the first 8 bytes, `fold` the xor of the words after them: vectors that
 * differ there in a way that xor hides count as equal. */
extern "C" __device__ __noinline__ __attribute__((weak)) void
__collider_warp(uint64_t table, uint32_t what, uint64_t address, uint64_t value, uint32_t fold,
		uint32_t mask)
{
	uint32_t same = dev_match64(address, mask);

	if ((same & (same - 1)) == 0)
		return;
	dev_share(table, what, address, value, fold, same);
}
