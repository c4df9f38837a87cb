/*
 * refuse.c - reports what the CPU device doesn't support, once for each function: on stderr and as
 * a note in the report.
 *
 * A program that uses something unsupported must get a message with its name, but only one:
 * libraries try entry points in loops. The table of names is small (a program gives up after a
 * few).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/entries/entries.h"
#include "cudart/state/internal.h"
#include "cudart/state/refuse.h"
#include "race/file/shm_write.h"
#include "race/race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static BASE_VEC(char *) said;

static bool is_first(const char *text)
{
	bool is_new = true;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < said.n && is_new; i++)
		is_new = strcmp(said.v[i], text) != 0;
	if (is_new) {
		char *copy = strdup(text);
		if (copy)
			base_vec_push(&said, copy);
	}
	pthread_mutex_unlock(&lock);
	return is_new;
}

static void say_once(const char *text)
{
	if (!is_first(text))
		return;
	rt_say("%s is not available on the CPU device", text);
	race_shm_remark("%s is not available on the CPU device", text);
}

enum rt_error rt_refuse(const char *name)
{
	size_t n = strlen(name);
	char text[128];

	/* One name for the variants of an entry point. */
	if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0))
		n -= 5;
	snprintf(text, sizeof(text), "%.*s", (int)n, name);
	say_once(text);
	return RT_ERROR_NOT_SUPPORTED;
}

enum rt_error rt_refuse_use(const char *name, const char *what)
{
	char text[192];

	snprintf(text, sizeof(text), "%s with %s", name, what);
	say_once(text);
	return RT_ERROR_NOT_SUPPORTED;
}

int rt_refuse_entry(const char *name)
{
	enum rt_error e = rt_refuse(name);

	rt_thread()->last = e;
	return (int)e;
}

/* This library was not preloaded, and the program's own runtime has opened it: the runtime's
 * functions are replaced now, but it has registered the kernels with itself. */
static void say_late(void)
{
	static const char text[] = "the program's CUDA runtime had started before the CPU device "
				   "was loaded; start the program with: collider run --device=cpu";

	if (!is_first(text))
		return;
	rt_say("%s", text);
	if (race_shm_open())
		race_shm_gap(RACE_GAP_NOT_LOADED, "", text, 1);
}

bool rt_refuse_runtime(const void *caller)
{
	Dl_info at;
	void *map = NULL;
	const char *name = NULL;

	if (dladdr1(caller, &at, &map, RTLD_DL_LINKMAP) && at.dli_fname)
		name = race_kernel_library(at.dli_fname);
	if (!name && map && rt_entries_is_replaced(map)) {
		say_late();
		return true;
	}
	if (name && is_first(name)) {
		rt_say("%s can't run on the CPU device: its kernels are machine code for GPUs",
		       name);
		if (race_shm_open())
			race_shm_gap(RACE_GAP_LIBRARY, "", name, 1);
	}
	return name != NULL;
}
