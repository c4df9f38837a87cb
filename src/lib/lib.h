/*
 * lib.h - what the files of this room share: a device, its modules, entering and leaving a call.
 *
 * Every call enters a device and leaves it: its lock is held between, so that the machine has one
 * caller at a time. A thread that is in one of the device's callbacks would wait for itself and is
 * refused.
 */
#ifndef COLLIDER_LIB_H
#define COLLIDER_LIB_H

#include <collider/ptx.h>
#include "cpu/cpu.h"
#include "race/race.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct lib_pair; /* finding.c */

struct collider_ptx {
	struct collider_ptx *next; /* of all that are open */
	struct collider_ptx_options options;
	struct cpu_machine *machine;
	struct collider_ptx_module *modules;
	pthread_mutex_t lock;
	_Atomic pthread_t owner; /* who holds it, if is_owned */
	atomic_bool is_owned;
	pid_t pid;
	BASE_VEC(struct lib_pair *) pairs; /* that raced */
	size_t reported;		   /* of these */
	uint64_t races;
};

struct collider_ptx_kernel {
	struct collider_ptx_kernel *next;
	struct collider_ptx_module *module;
	const struct ptx_func *text;
	struct cpu_kernel *kernel;
	const char *name;
	const char **parameters; /* their names */
};

struct collider_ptx_module {
	struct collider_ptx_module *next;
	struct collider_ptx *device;
	struct base_arena arena; /* its text, and its kernels */
	const char *name;
	struct cpu_module *module;
	struct collider_ptx_kernel *kernels; /* in the text's order */
};

/* device.c: notes why a call failed, for collider_ptx_error, and returns the code. */
int lib_fail(enum collider_ptx_code code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Begins a call about the device: 0, or what it is to return. */
int lib_enter(struct collider_ptx *device);
/* Ends it: returns `code`, or that memory ran out meanwhile. lib_leave is both parts; what a call
 * that failed must have undone is undone between them. */
int lib_settle(int code);
int lib_end(struct collider_ptx *device, int code);
int lib_leave(struct collider_ptx *device, int code);
/* The bytes of a structure that version 1 had, `last` being its last field then: no caller's has
 * fewer. */
#define LIB_FIRST(s, last) ((size_t)((const char *)(&(s).last + 1) - (const char *)&(s)))
/* Copies a structure of ours, of `have` bytes, to the caller's, which begins with its size; name:
 * for messages, what follows collider_ptx_. */
int lib_give(const char *name, void *to, const void *from, size_t first, size_t have);
/* Takes the caller's: what it doesn't have is 0. NULL: all is. */
int lib_take(const char *name, void *to, const void *from, size_t first, size_t have);

/* launch.c: text of a kernel, of a device's machine. */
void lib_print(struct cpu_machine *m, bool is_error, const char *text, size_t n);
/* Is the calling thread in on_print? */
bool lib_is_printing(void);

/* module.c */
void lib_module_free(struct collider_ptx_module *module);

/* finding.c: a pair that raced, for the machine (cpu_on_pair; arg: the device). */
struct race_pair *lib_keep_pair(void *arg, const struct race_pair *pair, size_t bytes);
/* Those of the launch that has ended, of a kernel of this module, to the callback. */
void lib_report(struct collider_ptx *device, const char *module);
void lib_pairs_free(struct collider_ptx *device);

#endif
