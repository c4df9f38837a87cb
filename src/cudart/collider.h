/*
 * collider.h - inside src/cudart: what goes to the file shared with `collider run`.
 */
#ifndef COLLIDER_CUDART_COLLIDER_H
#define COLLIDER_CUDART_COLLIDER_H

#include "cudart/link.h"

/* Opens the shared file and says that the CPU device is here; once, when the machine starts. */
void rt_collider_start(void);
/* A module was loaded: writes its knobs, copies its site tables. True: it is instrumented. */
bool rt_collider_module(unsigned device, struct cpu_module *mod);
/* `n` launches of a kernel (a cpu_kernel's owner; NULL: unknown) have been submitted. */
void rt_collider_launched(unsigned device, struct rt_kern *k, uint64_t n);
/* Something of the device was waited for: brings the region's counts up to date. */
void rt_collider_synced(unsigned device);

#endif
