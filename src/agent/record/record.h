/*
 * record.h - the front header of src/agent/record: --record-launches on a GPU.
 *
 * A launch that the driver has accepted becomes a line of the file, as on the CPU device
 * (race/launched.h). The driver is asked how a kernel's parameters lie and what its pointers lead
 * to; `collider`, in a process of its own, makes the lines of a kernel's text before its first
 * launch.
 *
 * Rules for every file: never end the process, never change a result; what can't be noted is
 * counted in the shared file.
 */
#ifndef COLLIDER_AGENT_RECORD_H
#define COLLIDER_AGENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "race/launched.h"

/* Was the process started to be recorded? */
bool record_is_on(void);

/* What was loaded: a fat binary or PTX, of an -rdc program what the device linker made and then its
 * objects' fat binaries, one after the other. bytes: malloc'd; NULL: there is no PTX in it, or no
 * memory. */
struct record_image {
	char *bytes;
	size_t n;
	bool has_parts;
	unsigned sm; /* of the device whose text is wanted, 90; 0: they differ */
};

/* code.c: the driver has loaded the image, which is ours from now on, as a library or a module. */
void record_loaded(const struct record_image *im, const void *handle);
/* What a library or a module has brought; NULL: it isn't known. */
struct record_code;
struct record_code *record_code_of(const void *handle);

/* ---- inside the room ------------------------------------------------------------------ */

/* How the parameters of a kernel lie. */
struct record_param {
	uint32_t off, bytes;
};

/* A kernel, as a program can launch it. Never freed. */
struct record_kernel {
	struct record_code *code; /* NULL: loaded in a way that isn't followed */
	char *name;
	struct record_param *param; /* malloc'd; NULL: the driver doesn't say how they lie */
	uint32_t nparams;
	size_t nwords; /* at most */
};

/* code.c. A handle has got a name (NULL: the driver knows it): of a module's function, a library's
 * kernel; is another name of `same`. The driver may use an old handle again. */
void record_kernel_add(const void *handle, const void *owner, const char *name, bool is_function);
void record_kernel_alias(const void *handle, const void *same);
void record_module_alias(const void *module, const void *library);
/* NULL: it isn't known. */
const struct record_kernel *record_kernel_find(const void *handle);
/* Before the first line of a kernel of it: its text's lines, with the lock of note.c. False: there
 * is none. */
bool record_code_text(struct record_code *c);
/* Frees its image; with the same lock. */
void record_code_drop(struct record_code *c);

/* note.c: a launch; params, extra: as cuLaunchKernel has them. */
struct record_dims {
	unsigned grid[3], block[3];
};
void record_launch(const void *handle, const struct record_dims *d, void *const *params,
		   void *const *extra);
/* One that can't be noted. */
void record_count(enum race_unnoted why);
/* Appends a line that wasn't written before; with the lock. */
void record_text_line(const char *line, size_t n);
/* The driver has unloaded it: its image isn't needed any more. NULL: nothing. */
void record_unloaded(struct record_code *c);
/* Path of `collider`. */
const char *record_tool(void);

#endif
