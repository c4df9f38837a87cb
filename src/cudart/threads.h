/*
 * threads.h - inside src/cudart: host threads as actors of the oracle (threads.c).
 */
#ifndef COLLIDER_CUDART_THREADS_H
#define COLLIDER_CUDART_THREADS_H

struct cpu_machine;

/* From now on the machine is told what orders host threads. */
void rt_threads_start(struct cpu_machine *m);

#endif
