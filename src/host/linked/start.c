/*
 * start.c - the runtime's beginning: the shared file, and the CPU device if there is one.
 *
 * Runs before the program's own constructors. Without `collider run` nothing is set up and every
 * hook returns at its first test. The devices find the area by the process's number; so a library
 * that carries a copy of the runtime shares it with the program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/linked/runtime.h"
#include "race/file/shm_write.h"

static const struct race_host_area nothing;

const struct race_host_area *host_filter = &nothing;
struct host_state host_state;

void host_stop(void)
{
	host_filter = &nothing;
	host_state.area = NULL;
}

static void after_fork_child(void)
{
	host_stop(); /* CUDA does not work in the child */
}

/* The program is built for `collider run`: symbols of the CPU device's library, which precedes the
 * program's other libraries where it is used. */
static void find(const char *name, void *function)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	memcpy(function, &symbol, sizeof(symbol));
}

/* All of this runtime's code (src/host/CMakeLists.txt); what links it defines the names. */
extern const char host_code_begin[] __asm__("__start_collider_code")
	__attribute__((weak)) HOST_HIDDEN;
extern const char host_code_end[] __asm__("__stop_collider_code") __attribute__((weak)) HOST_HIDDEN;

static void find_device(void)
{
	find("collider_cpu_yield", &host_state.yield);
	find("collider_cpu_look", &host_state.look);
}

/* Atomics access memory for the program, whether or not anything is checked here. */
static void show_code(void)
{
	void (*code)(const void *begin, const void *end);

	find("collider_cpu_code", &code);
	if (code && host_code_begin)
		code(host_code_begin, host_code_end);
}

__attribute__((constructor(101))) static void start(void)
{
	const struct race_shm *shm;

	if (!getenv(RACE_SHM_ENV) || !race_shm_open())
		return;
	show_code();
	shm = race_shm_get();
	if (shm->sample == RACE_SAMPLE_NEVER)
		return;
	host_state.rdelay = shm->rdelay;
	host_state.dense = shm->dense;
	host_state.sample = shm->sample ? shm->sample : 1;
	host_state.seed = shm->seed;
	host_state.area = race_host_make();
	if (!host_state.area) {
		race_shm_note("the shared file is full; races of host code go unchecked");
		return;
	}
	find_device();
	pthread_atfork(NULL, NULL, after_fork_child);
	host_filter = host_state.area;
}
