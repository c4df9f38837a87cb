/*
 * host_access.h - loads and stores of host code, inside src/cpu.
 */
#ifndef COLLIDER_CPU_EVENTS_HOST_ACCESS_H
#define COLLIDER_CPU_EVENTS_HOST_ACCESS_H

#include "cpu/machine.h"

/* host_signal.c: takes the signals for this machine; false: this system can't do it. */
bool cpu_host_start(struct cpu_machine *m);
void cpu_host_stop(struct cpu_machine *m);

/* caller.c: the program's own place from which the code at pc was called, in a handler of a signal
 * that the code at pc got; pc where it is the program's itself. Without the engine's lock. */
uint64_t cpu_host_caller(uint64_t pc);

/* host_access.c. All below: with the engine's lock held (cpu_engine_hold), so that no kernel does
 * anything between the event and the access. `pc`: of the instruction; `kind`: enum
 * race_op_kind. */
void cpu_event_host_access(struct cpu_machine *m, uint64_t addr, uint32_t bytes, uint8_t kind,
			   uint64_t pc);
/* The same for many bytes, which can't be meant as an atomic. */
void cpu_event_host_range(struct cpu_machine *m, uint64_t addr, uint64_t bytes, bool is_write,
			  uint64_t pc);
/* Is memory protected now? */
bool cpu_event_is_armed(struct cpu_machine *m);
/* Has the program handlers of its own for the signals by which accesses are seen? */
bool cpu_host_has_handlers(void);
/* With is_host_auto: from now on host code is left alone, because of the program's handlers or of
 * its many accesses. */
void cpu_event_host_off(struct cpu_machine *m, bool has_handlers);
/* From now on something may have been missed. */
void cpu_event_host_blind(struct cpu_machine *m);

#endif
