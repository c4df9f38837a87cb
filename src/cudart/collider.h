/*
 * collider.h - inside src/cudart: what goes to the file shared with `collider run`.
 */
#ifndef COLLIDER_CUDART_COLLIDER_H
#define COLLIDER_CUDART_COLLIDER_H

#include "cudart/link.h"

/* Opens the shared file and says that the CPU device is here; once, when the machine starts. */
void rt_collider_start(void);
/* A module was loaded: writes its knobs, copies its site tables. True: it is instrumented. */
bool rt_collider_module(unsigned device, const struct rt_image *im, struct cpu_module *mod);
/* Says in a launch how the kernel orders its blocks. The images' lock is held. */
void rt_collider_order(struct rt_kern *k, unsigned device, struct cpu_launch *launch);
/* Makes the kernel's counter before its first launch. The images' lock is held. */
void rt_collider_kernel(struct rt_kern *k);

#endif
