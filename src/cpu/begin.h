/*
 * begin.h - a listener to launches as they start.
 */
#ifndef COLLIDER_CPU_BEGIN_H
#define COLLIDER_CPU_BEGIN_H

#include "cpu/cpu.h"

/* A launch is about to start: what comes before it has ended, so that memory holds what it finds.
 * Called by the thread that executes, with locks of the machine held: it may ask what lies where
 * (cpu_mem_find) and must not wait. To be set before the first work. */
struct cpu_begin {
	void (*fn)(void *arg, const struct cpu_launch *l);
	void *arg;
};
/* *begin outlives the machine. */
void cpu_listen_begin(struct cpu_machine *m, const struct cpu_begin *begin);

#endif
