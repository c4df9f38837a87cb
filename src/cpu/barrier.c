/* barrier.c - to be written. */
#include "cpu/machine.h"

cpu_binder cpu_bind_barrier;

enum cpu_bound cpu_bind_barrier(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	(void)d, (void)s, (void)in;
	return CPU_NOT_MINE;
}
