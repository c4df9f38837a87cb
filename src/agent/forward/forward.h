/*
 * forward.h - the front header of src/agent/forward: a library that stands in for the driver's.
 *
 * It has the SONAME libcuda.so.1 and is preloaded, so whatever looks for the driver by that name
 * finds it, the CUDA runtime included. It exports what the driver's library exports, opens that
 * one at the first call, and jumps to its functions. Functions that load GPU code have hooks: the
 * room `load` answers them. A process that calls no driver never opens one.
 *
 * Rules for every file: never end the process, never allocate on the way of an ordinary call, and
 * behave as the driver does where nothing can be done.
 */
#ifndef COLLIDER_AGENT_FORWARD_H
#define COLLIDER_AGENT_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <link.h>

#include <cuda.h>

/* A function of the driver that we answer. Ours calls the driver's by `real`, which may be NULL. */
struct forward_hook {
	const char *name;
	void *ours;
	void **real;
};

/* Defined in load/hooks.c; the last one has no name. */
extern const struct forward_hook forward_load_hooks[];
/* In judge/hooks.c: what the judge beside a GPU must see. Without one they aren't used. */
extern const struct forward_hook forward_judge_hooks[];
bool forward_has_judge(void);
/* In record/hooks.c: what --record-launches must see, in front of the judge's. */
extern const struct forward_hook forward_record_hooks[];
bool forward_has_record(void);
/* In judge/operations.c: may a function of the driver order anything? Its calls that begin, and
 * that have ended. id, params: as CUPTI has them. */
bool forward_judge_wants(uint32_t id);
void forward_judge_call(uint32_t id, const void *params);
void forward_judge_called(uint32_t id, const void *params, CUresult result);
/* In judge/hooks.c: a context is about to go; NULL: those of a device may. */
void forward_judge_ends(CUcontext context);
/* ... and primary contexts have gone. */
void forward_judge_gone(void);
/* events.c: those are called from now on. */
void forward_judge_listen(void);

/* inject.c: is a launch that this thread makes now left out, by the NVTX ranges that it is in? */
bool forward_is_outside(void);

/* An exported function of the real driver, for our own calls; NULL: it has none. */
void *forward_find(const char *name);
/* For what is done at the first call (load/). */
void forward_at_start(void);

/* events.c: the current context, where functions are listened to; NULL: there is none. */
CUcontext forward_current(void);
/* A module is being loaded whose machine code is this; size 0: it isn't known. */
void forward_loaded(const void *code, size_t size);
/* Does the agent hear of events by us? */
bool forward_is_heard(void);
/* Is this thread's call one of the agent's own? */
bool forward_is_agents(void);
/* Who has called the function of the driver that we are in; `address` is where it returns to. */
const void *forward_caller(const void *address);

/* ---- inside the room ------------------------------------------------------------------- */

/* Where the functions jump to, and the code that all of them jump to before the first call. */
extern void *forward_table[], *forward_table_end[];
extern const char forward_lazy[], forward_lazy_end[];

/* trampolines.c: from now on the calls of the function of this place are counted, with those of all
 * such: how many there were. */
void forward_count(void **slot);
unsigned forward_unheard(void);
/* The place that the function at `entry` jumps by; NULL: it is none of ours. */
void **forward_slot(const void *entry);
/* forward.c: the place by which the driver's function of this name is called; NULL: the driver
 * doesn't have it. */
void **forward_place(const char *name);
/* Calls `fn` for each function that the driver exports. */
void forward_each(void (*fn)(const char *name, void **slot));
/* Where a function of the driver's is called by way of its place; NULL: it is no such address. */
void *forward_entry(const void *real);
/* Has the driver been opened by us? */
bool forward_is_open(void);
/* Called by the lazy half of trampolines.c; where to jump to. */
void *forward_resolve(size_t place);

/* symbols.c: the dynamic symbols of a loaded library. */
struct forward_symbols {
	const ElfW(Sym) * v;
	const char *names;
	const unsigned *hash; /* DT_HASH; NULL: it has none */
	ElfW(Addr) base;
	size_t n;
};
bool forward_symbols_open(struct forward_symbols *s, const struct link_map *map);
/* The i-th one's address if it is an exported function; NULL: it isn't. */
void *forward_symbols_at(const struct forward_symbols *s, size_t i, const char **name);
/* By name; NULL: there is none. The library must have DT_HASH. */
void *forward_symbols_find(const struct forward_symbols *s, const char *name);

/* Its path, as the loader names it; NULL: none has been opened. */
const char *forward_opened(void);

/* dlopen.c: the C library's dlopen. */
void *forward_dlopen(const char *path, int flags);
/* The path of a driver's library that the program has opened before we did; NULL: none. */
const char *forward_asked(void);

/* path.c: opens the driver's library, found as the loader would; NULL: there is none. */
void *forward_open(void);

/* lookup.c: cuGetProcAddress. */
extern const struct forward_hook forward_lookup_hooks[];
/* inject.c: cuInit. */
extern const struct forward_hook forward_start_hooks[];

#endif
