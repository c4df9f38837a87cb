/* syscalls.c - functions that programs call without defining them; none so far. */
#include "cpu/machine.h"

cpu_syscall *cpu_syscall_find(const char *name, uint32_t *args, uint32_t *rets)
{
	(void)name;
	*args = *rets = 0;
	return NULL;
}

void cpu_heap_free(struct cpu_machine *m)
{
	(void)m;
}
