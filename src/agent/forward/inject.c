/*
 * inject.c - after cuInit: the agent is loaded, unless the driver has done so; NVTX's ranges are
 * what it says, as NVTX calls its library and not this one.
 *
 * The driver loads what CUDA_INJECTION64_PATH names, which is the agent, unless a tool of the
 * user's (Nsight, compute-sanitizer) has put its own there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent/forward/forward.h"
#include "agent/given.h"
#include "race/file/nvtx.h"

static CUresult (*real_init)(unsigned);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void inject(void)
{
	const struct agent_given *g = agent_given();
	int (*start)(void) = NULL;

	if (!g || !*g->agent || forward_dlopen(g->agent, RTLD_NOW | RTLD_NOLOAD))
		return;
	void *lib = forward_dlopen(g->agent, RTLD_NOW | RTLD_LOCAL);
	if (lib)
		*(void **)&start = dlsym(lib, "InitializeInjection");
	if (start)
		start();
}

static bool (*is_outside)(void); /* the agent's; NULL: no ranges matter, or no agent is there */

static void find_ranges(void)
{
	const char *listens = getenv(RACE_NVTX_ENV);
	void *lib = listens ? forward_dlopen(listens, RTLD_NOW | RTLD_NOLOAD) : NULL;

	if (lib)
		*(void **)&is_outside = dlsym(lib, RACE_NVTX_OUTSIDE);
}

static void begin(void)
{
	inject();
	find_ranges();
}

bool forward_is_outside(void)
{
	return is_outside ? is_outside() : race_nvtx_is_outside();
}

static CUresult hook_init(unsigned flags)
{
	CUresult r = real_init(flags);

	if (r == CUDA_SUCCESS)
		pthread_once(&once, begin);
	return r;
}

const struct forward_hook forward_start_hooks[] = {
	{"cuInit", (void *)hook_init, (void **)&real_init},
	{NULL, NULL, NULL},
};
