/*
 * look.c - what the CUDA driver's library says of this machine, for collider doctor.
 *
 * Asked in a child process: the driver starts threads, and a broken one may crash.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/cupti.h"
#include "agent/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Attributes 75 and 76 of a device: the two numbers of its compute capability. */
enum { MAJOR = 75, MINOR = 76 };

static void *function(void *lib, const char *name, void *fn)
{
	void *p = dlsym(lib, name);

	memcpy(fn, &p, sizeof(p));
	return p;
}

static void ask(struct spawn_driver *out)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned), (*version)(int *), (*count)(int *), (*name)(char *, int, int);
	int (*attribute)(int *, int, int);
	struct agent_cupti cupti;

	out->has_cupti = agent_cupti_find(&cupti);
	out->has_library = lib != NULL;
	if (!lib || !function(lib, "cuInit", &init) ||
	    !function(lib, "cuDriverGetVersion", &version) ||
	    !function(lib, "cuDeviceGetCount", &count) ||
	    !function(lib, "cuDeviceGetName", &name) ||
	    !function(lib, "cuDeviceGetAttribute", &attribute) || init(0) || count(&out->ngpus))
		return;
	version(&out->version);
	for (int i = 0; i < out->ngpus && i < SPAWN_GPUS; i++) {
		int major = 0, minor = 0;
		name(out->name[i], (int)sizeof(out->name[i]) - 1, i);
		attribute(&major, MAJOR, i);
		attribute(&minor, MINOR, i);
		out->sm[i] = major * 10 + minor;
	}
}

void spawn_driver_look(struct spawn_driver *out)
{
	int pipes[2], status;

	memset(out, 0, sizeof(*out));
	fflush(NULL);
	if (pipe(pipes))
		return;
	pid_t pid = fork();
	if (pid == 0) {
		struct spawn_driver found = {0};
		ask(&found);
		ssize_t n = write(pipes[1], &found, sizeof(found));
		_exit(n != (ssize_t)sizeof(found));
	}
	close(pipes[1]);
	if (pid > 0 && read(pipes[0], out, sizeof(*out)) != (ssize_t)sizeof(*out))
		memset(out, 0, sizeof(*out));
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}
