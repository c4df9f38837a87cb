/*
 * fit.c - how many registers an instrumented kernel may use (DESIGN: it must accept every launch
 * that the original accepts).
 *
 * The rule of the hardware, as cuda_occupancy.h of the toolkit simulates it: registers are given
 * to warps in units of 256 (8 per thread), the warps of a block are counted in fours (one per
 * sub-partition), and a block must fit into 65,536 registers (every GPU since sm_60). So R
 * registers allow 4 * floor(512 / roundup(R, 8)) warps, 32 at most, and the cap is the largest
 * count that allows as many.
 */
#include "toolchain/internal.h"

#include <stdlib.h>
#include <string.h>

#define REGS_PER_BLOCK 65536u
#define REGS_MAX       255u
#define WARPS_MAX      32u
#define WARP	       32u
#define PARTITIONS     4u
/* A sub-partition's registers divided by a warp's lanes: registers per thread, times warps. */
#define REGS_PER_QUAD (REGS_PER_BLOCK / WARP / PARTITIONS)

unsigned tool_fit_cap(unsigned regs)
{
	unsigned unit = (regs + 7) / 8 * 8;
	unsigned quads = REGS_PER_QUAD / (unit ? unit : 8);

	if (quads > WARPS_MAX / PARTITIONS)
		quads = WARPS_MAX / PARTITIONS;
	if (!quads)
		return REGS_MAX;
	unsigned cap = REGS_PER_QUAD / quads / 8 * 8;
	return cap > REGS_MAX ? REGS_MAX : cap;
}

/*
 * Beyond what launches need: sleeping warps hide each other's delays, so instrumentation should
 * not halve the warps of a small kernel. Measured on an H100 (docs/results): a kernel of up to 24
 * registers gains a third from a cap of 32 and spills little; one of up to 32 gains from 48; larger
 * ones lose more by spilling than by occupancy.
 */
unsigned tool_fit_occupancy(unsigned regs)
{
	if (regs <= 24)
		return 32;
	return regs <= 32 ? 48 : REGS_MAX;
}

unsigned tool_fit_bound(unsigned threads, unsigned min_blocks, unsigned maxnreg)
{
	unsigned bound = REGS_MAX;

	if (threads) {
		unsigned warps = (threads + WARP - 1) / WARP;
		unsigned quads = (warps + PARTITIONS - 1) / PARTITIONS;
		unsigned all = quads * (min_blocks ? min_blocks : 1);
		bound = REGS_PER_QUAD / all / 8 * 8;
	}
	if (maxnreg && maxnreg < bound)
		bound = maxnreg;
	return bound > REGS_MAX ? REGS_MAX : bound;
}

unsigned tool_fit_refused(const char *said)
{
	static const char begin[] = "with max regcount of ", end[] = " calls function";
	const char *at = strstr(said, begin);
	char *rest;

	if (!at)
		return 0;
	unsigned long cap = strtoul(at + sizeof(begin) - 1, &rest, 10);
	return strncmp(rest, end, sizeof(end) - 1) ? 0 : (unsigned)cap;
}

bool tool_fit_is_system(const char *name, size_t n)
{
	static const char *const known[] = {"vprintf", "__assertfail", "malloc", "free"};

	for (size_t i = 0; i < BASE_COUNTOF(known); i++)
		if (strlen(known[i]) == n && !strncmp(name, known[i], n))
			return true;
	return false;
}

size_t tool_fit_lines(const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	return n;
}
