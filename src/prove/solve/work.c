/*
 * work.c - the clock of an analysis: what was done, and processor time as its last guard (work.h).
 *
 * What a kind counts for was fitted to the processor time of the 268 kernels of tests/prove/corpus
 * with free scalars (docs/results/prover.md). Single queries of Z3 differ from that by a factor of
 * 5, seldom more.
 */
#include "prove/work.h"

#include "base/clock.h"

/* Nanoseconds. Of Z3's measure, as of all, these are averages. */
static const uint32_t cost[WORK_KINDS] = {
	[WORK_NODE] = 180,     [WORK_CELL] = 14,       [WORK_STEP] = 12,
	[WORK_LINEAR] = 20000, [WORK_INTEGERS] = 2500, [WORK_BITS] = 360,
};

/* Deadlines are sums of times: this is later than all, and may be added to. */
#define ALL_OVER (UINT64_MAX / 4)

static uint64_t done_ns, cpu_limit = ALL_OVER;

void work_add(enum work kind, uint64_t n)
{
	done_ns += n * cost[kind];
}

uint32_t work_per_ms(enum work kind)
{
	return 1000000 / cost[kind];
}

void work_limit(uint64_t cpu_ms)
{
	cpu_limit = cpu_ms;
}

uint64_t work_cpu_ms(void)
{
	return base_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000;
}

uint64_t work_cpu_left(void)
{
	uint64_t now = work_cpu_ms();

	return now < cpu_limit ? cpu_limit - now : 0;
}

uint64_t prove_now_ms(void)
{
	return work_cpu_left() ? done_ns / 1000000 : ALL_OVER;
}
