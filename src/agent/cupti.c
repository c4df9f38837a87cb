/*
 * cupti.c - finds CUPTI, which isn't linked: the toolkit's, or what the environment names.
 *
 * It is loaded locally, so the program's own symbols stay as they are, and never unloaded.
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

/* ------------------------------------------------------------------------ */

bool agent_cupti_find(struct agent_cupti *cupti)
{
	void *lib = open_cupti();

	if (!lib)
		return false;
	void *subscribe = dlsym(lib, "cuptiSubscribe");
	void *unsubscribe = dlsym(lib, "cuptiUnsubscribe");
	void *enable = dlsym(lib, "cuptiEnableCallback");

	__builtin_memcpy(&cupti->subscribe, &subscribe, sizeof(subscribe));
	__builtin_memcpy(&cupti->unsubscribe, &unsubscribe, sizeof(unsubscribe));
	__builtin_memcpy(&cupti->enable_callback, &enable, sizeof(enable));
	return subscribe && unsubscribe && enable;
}
