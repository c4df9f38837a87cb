/*
 * host.h - the front header of src/host, the half of the checks that runs in host code.
 *
 * The runtime itself (libcollider_host.a) has no interface but the compilers' hooks; it
 * communicates with the devices and with `collider run` through race/file/host.h. This header has
 * what `collider run` needs after the program's end.
 */
#ifndef COLLIDER_HOST_H
#define COLLIDER_HOST_H

#include "race/race.h"

/*
 * Gives findings of host code and of the host's copies their function, file, line and inlined
 * calls, from the debug information of the program's and its libraries' files (symbol.c). Where
 * that can't be read, the report shows file and offset.
 */
void host_symbolise(struct race_results *r);

/*
 * --host-filter: removes findings of host code whose function (shown or mangled) or source file
 * matches none of the comma-separated patterns (`*` stands for any text; a pattern matches the
 * whole name, or a file's last part). Returns how many. After host_symbolise.
 */
size_t host_filter_findings(struct race_results *r, const char *patterns);

/* What a program's file shows about its use of CUDA (program.c). */
struct host_program {
	bool is_elf;	   /* false: not found, or a script; nothing else is known then */
	bool has_gpu_code; /* nvcc's, embedded */
	bool links_runtime, links_driver; /* needs libcudart.so, libcuda.so */
	bool calls_runtime;		  /* imports cuda... */
	bool is_setuid;
	char library[64]; /* one with kernels of its own that it needs (libcublas.so.13), or "" */
};
/* Looks for `name` as execvp does. */
void host_program_read(const char *name, struct host_program *out);

#endif
