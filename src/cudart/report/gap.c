/*
 * gap.c - launches that the program asked for and that didn't run, for the report.
 *
 * A kernel that the device can't run, one whose code could not be loaded, and a launch that CUDA
 * itself refuses: each is counted by kernel and reason in the shared file, so that a run never ends
 * with "no race seen" for what it didn't execute.
 *
 * Costs: a look through the shared file for each such launch but those of a refused kernel.
 */
#include "cudart/report/gap.h"

#include <stdlib.h>
#include <string.h>

#include "race/file/shm_write.h"

void rt_gap_refused(struct rt_kern *k, const char *why)
{
	if (k->refused)
		__atomic_fetch_add(k->refused, 1, __ATOMIC_RELAXED);
	else
		k->refused = race_shm_gap(RACE_GAP_REFUSED, k->name, why, 1);
}

void rt_gap_launch(struct rt_kern *k, enum rt_error e)
{
	const char *name = k ? k->name : "";

	switch (e) {
	case RT_ERROR_NOT_SUPPORTED: /* rt_gap_refused has noted it, if it was the kernel */
		if (!k || !k->refused)
			race_shm_gap(RACE_GAP_REFUSED, name,
				     "the launch asks for what the CPU device doesn't have", 1);
		break;
	case RT_ERROR_INVALID_PTX:
	case RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE:
	case RT_ERROR_INVALID_KERNEL_IMAGE:
		race_shm_gap(RACE_GAP_NOT_LOADED, name, "", 1);
		break;
	default:
		race_shm_gap(RACE_GAP_INVALID, name, rt_error_text((int)e)->runtime, 1);
		break;
	}
}
