/*
 * proven.h - launches that need no check of each access, because a proof speaks of them.
 */
#ifndef COLLIDER_CPU_PROVEN_H
#define COLLIDER_CPU_PROVEN_H

#include "cpu/cpu.h"

/*
 * Launches that are proven free of data races in every schedule (events/proven.c). With the oracle,
 * in the sc model with one worker, the listener is asked when a kernel starts that has nothing but
 * its own blocks to order it. If it answers, the kernel's code without checks runs; its accesses to
 * global memory are one operation's, which the oracle compares with all others when the launch has
 * ended. `left`: an access would not have been where the proof has it, so that the launch was
 * taken back and is judged access by access; or, not `is_judged`, a launch has raced of which
 * nothing more is known (tag: NULL). With locks held, too.
 */
struct cpu_extent {
	uint64_t base, bytes;
};
/* Instruction `nth` of the kernel's body, from 0, accesses global memory in that extent. An
 * instruction may have several. */
struct cpu_proven_site {
	uint32_t nth, extent;
};
#define CPU_EXTENTS 64u
struct cpu_proven {
	struct cpu_kernel *kernel;    /* of the text without checks (cpu_module_load_plain) */
	struct cpu_proven_site *site; /* by nth; malloc'd, the machine's from then on */
	uint32_t nsites, nextents;
	struct cpu_extent extent[CPU_EXTENTS];
};
/* l: params as the kernel finds them. */
typedef bool cpu_proven_fn(void *arg, void *tag, const struct cpu_launch *l, unsigned device,
			   struct cpu_proven *out);
typedef void cpu_left_fn(void *arg, void *tag, bool is_judged);
/* A launch has ended that was checked: so many instructions of warps were executed meanwhile. */
typedef void cpu_checked_fn(void *arg, void *tag, const struct cpu_launch *l, uint64_t insts);
void cpu_listen_proven(struct cpu_machine *m, cpu_proven_fn *proven, cpu_left_fn *left,
		       cpu_checked_fn *checked, void *arg);

#endif
