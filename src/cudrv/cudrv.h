/*
 * cudrv.h - the front header of src/cudrv: the driver's functions by name.
 *
 * The room is the driver's API over the state of src/cudart. Its functions are part of the same
 * shared object as the runtime's; libcuda.so.1 (library/), a library of its own, exports their
 * names and jumps to them.
 */
#ifndef COLLIDER_CUDRV_H
#define COLLIDER_CUDRV_H

#include <stdbool.h>

#define DRV_VERSION 13000

/* What cuGetProcAddress and the runtime's cudaGetDriverEntryPoint answer, as both number it. */
enum drv_found { DRV_FOUND, DRV_NO_SYMBOL, DRV_TOO_OLD };

/* The function of this name (without _v2 and its like) that a program of CUDA `version` calls;
 * NULL: *why says why there is none. */
void *drv_find(const char *name, unsigned version, bool is_per_thread, enum drv_found *why);

#endif
