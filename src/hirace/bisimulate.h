/*
 * bisimulate.h - which updates of the shadow word can change no later verdict.
 */
#ifndef COLLIDER_HIRACE_BISIMULATE_H
#define COLLIDER_HIRACE_BISIMULATE_H

#include "hirace/machine.h"

/*
 * Sets HIRACE_KEEP in the entries of a table (HIRACE_TABLE_SIZE bytes) whose update can be left
 * out. Returns how many states that no later verdict can distinguish are left of the 25, if those
 * are merged.
 */
uint32_t hirace_bisimulate(uint8_t *table);

#endif
