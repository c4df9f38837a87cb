/*
 * cupti.c - finds what the agent listens to: the library that stands in for the driver's
 * (forward/events.c), or CUPTI, which isn't linked: the toolkit's, or what the environment names.
 *
 * CUPTI is loaded locally, so the program's own symbols stay as they are, and never unloaded. Where
 * the environment names one it is taken in any case.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/cupti.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Tried in this order; COLLIDER_CUPTI (a file) comes before them. */
static const char *const places[] = {
	COLLIDER_CUDA_DIR "/lib64/libcupti.so.13",
	COLLIDER_CUDA_DIR "/extras/CUPTI/lib64/libcupti.so.13",
	"libcupti.so.13",
	COLLIDER_CUDA_DIR "/lib64/libcupti.so",
	COLLIDER_CUDA_DIR "/extras/CUPTI/lib64/libcupti.so",
	"libcupti.so",
	"libcupti.so.12",
};

static void *open_cupti(void)
{
	const char *given = getenv("COLLIDER_CUPTI");
	void *lib = NULL;

	if (given && *given)
		return dlopen(given, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !lib && i < sizeof(places) / sizeof(places[0]); i++)
		lib = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

static bool find_three(struct agent_cupti *cupti, void *lib, const char *const names[3])
{
	void *subscribe = dlsym(lib, names[0]);
	void *unsubscribe = dlsym(lib, names[1]);
	void *enable = dlsym(lib, names[2]);

	__builtin_memcpy(&cupti->subscribe, &subscribe, sizeof(subscribe));
	__builtin_memcpy(&cupti->unsubscribe, &unsubscribe, sizeof(unsubscribe));
	__builtin_memcpy(&cupti->enable_callback, &enable, sizeof(enable));
	return subscribe && unsubscribe && enable;
}

/* ------------------------------------------------------------------------ */

bool agent_forward_find(struct agent_cupti *cupti)
{
	static const char *const names[] = {"__collider_events_subscribe",
					    "__collider_events_unsubscribe",
					    "__collider_events_enable"};
	const char *given = getenv("COLLIDER_CUPTI");

	return !(given && *given) && find_three(cupti, RTLD_DEFAULT, names);
}

bool agent_cupti_find(struct agent_cupti *cupti)
{
	static const char *const names[] = {"cuptiSubscribe", "cuptiUnsubscribe",
					    "cuptiEnableCallback"};
	void *lib = open_cupti();

	return lib && find_three(cupti, lib, names);
}
