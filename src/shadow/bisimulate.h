/*
 * bisimulate.h - which updates of the shadow word can change no later verdict.
 */
#ifndef COLLIDER_SHADOW_BISIMULATE_H
#define COLLIDER_SHADOW_BISIMULATE_H

#include "shadow/machine.h"

/*
 * Sets SHADOW_KEEP in the entries of a table (SHADOW_TABLE_SIZE bytes) whose update can be left
 * out. Returns how many states that no later verdict can distinguish are left of the 25, if those
 * are merged.
 */
uint32_t shadow_bisimulate(uint8_t *table);

#endif
