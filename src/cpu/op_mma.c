/* op_mma.c - to be written. */
#include "cpu/machine.h"

cpu_binder CPU_BINDER(mma);

enum cpu_bound CPU_BINDER(mma)(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	(void)d, (void)s, (void)in;
	return CPU_NOT_MINE;
}
