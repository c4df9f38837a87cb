/*
 * hosthalf.c - what the CPU device reports to the half of the checks that runs in host code.
 *
 * If the program was linked with it (collider cc, collider nvcc --host), the shared file has an
 * area for it (race/file/host.h): managed, pinned and registered memory is entered there, and
 * whether any stream has work. The latter is updated after each call that waited, so it lags while
 * a program only polls by cudaStreamQuery: accesses are then checked unnecessarily, never missed.
 *
 * During a check's delay the host half lends its thread to the machine, which otherwise works only
 * while the program waits: so one seed still gives one schedule.
 */
#include "cudart/report/collider.h"
#include "race/layout/history.h"
#include "race/file/host.h"
#include "race/site/site.h"

static _Atomic uint64_t submitted[RT_DEVICES];

void rt_host_memory(uint64_t base, uint64_t bytes, enum cpu_mem_kind kind)
{
	if (kind == CPU_MEM_MANAGED || kind == CPU_MEM_HOST) {
		rt_note_unseen(RACE_HISTORY_HOST_ORDERS);
		rt_history_shared(base, bytes);
	}
	if (kind == CPU_MEM_MANAGED)
		race_host_add(base, bytes, RACE_SPACE_MANAGED);
	else if (kind == CPU_MEM_HOST)
		race_host_add(base, bytes, RACE_SPACE_PINNED);
}

void rt_host_memory_gone(uint64_t base)
{
	race_host_remove(base);
}

void rt_host_submitted(unsigned device)
{
	atomic_fetch_add(&submitted[device], 1);
	race_host_busy(device, true);
}

uint64_t rt_host_count(unsigned device)
{
	return atomic_load(&submitted[device]);
}

void rt_host_synced(unsigned device)
{
	uint64_t before = atomic_load(&submitted[device]);

	if (!race_host_get() || !rt_collider_is_idle(device, 0))
		return;
	race_host_busy(device, false);
	/* Another thread may have submitted work meanwhile. */
	if (atomic_load(&submitted[device]) != before)
		race_host_busy(device, true);
}

/* Called by the host half, which looks the names up, so they must be visible. */
#define VISIBLE __attribute__((visibility("default")))
VISIBLE bool collider_cpu_yield(uint64_t ns);
VISIBLE const volatile void *collider_cpu_look(const volatile void *p);
VISIBLE void collider_cpu_code(const void *begin, const void *end);

bool collider_cpu_yield(uint64_t ns)
{
	if (!rt.m || rt.is_forked)
		return false;
	return cpu_run_for(rt.m, ns);
}

/* Where the host half reads memory again: at the machine's address, so that its own reads are no
 * accesses of host code. */
const volatile void *collider_cpu_look(const volatile void *p)
{
	return rt.is_forked ? p : cpu_host_pointer((const void *)p);
}

/* The host half's own code, in which accesses are those of its callers. */
void collider_cpu_code(const void *begin, const void *end)
{
	cpu_host_ours(begin, end);
}
