/*
 * python.c - what our Python packages (src/agent/python) ask of the CPU device beside CUDA's calls.
 *
 * They find the functions by name in the process.
 */
#include "cudart/api/api.h"

#include "cudart/report/collider.h"
#include "cudart/state/memory.h"

#define VISIBLE __attribute__((visibility("default")))
/* Memory of the host that the arguments of a launch point to. Returns whether it is to be taken
 * back, after the launch's end. */
VISIBLE int collider_cpu_lend(void *ptr, size_t size);
VISIBLE void collider_cpu_take_back(void *ptr);
/* How many kernels this process has launched. */
VISIBLE uint64_t collider_cpu_launches(void);

int collider_cpu_lend(void *ptr, size_t size)
{
	return rt_enter() == RT_OK && rt_host_lend(ptr, size) == RT_OK;
}

void collider_cpu_take_back(void *ptr)
{
	if (rt_enter() == RT_OK)
		rt_host_unregister(ptr);
}

uint64_t collider_cpu_launches(void)
{
	return rt_collider_launches();
}
