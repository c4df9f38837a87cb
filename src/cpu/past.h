/*
 * past.h - inside src/cpu: which launches the API orders, for listeners (cpu_listen_past).
 *
 * The calls stand beside those of events.h that name operations, and mean the same. Nothing happens
 * without a listener.
 */
#ifndef COLLIDER_CPU_PAST_H
#define COLLIDER_CPU_PAST_H

#include "cpu/machine.h"

struct cpu_op;

/* The engine's lock is held in the first two. */
void cpu_past_submit(struct cpu_op *op, struct cpu_op *const *deps, size_t n);
void cpu_past_start(struct cpu_op *op);
/* A host thread knows what came before op, and that op itself has ended. */
void cpu_past_waited(struct cpu_op *op, bool has_ended);
/* UINT_MAX: of all devices. */
void cpu_past_idle(struct cpu_machine *m, unsigned device);
void cpu_past_forget(struct cpu_machine *m, uint64_t address, uint64_t bytes);
void cpu_past_free(struct cpu_machine *m);

#endif
