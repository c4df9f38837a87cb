/*
 * table.h - uthash's hash tables, with memory that never fails to its callers (memory.c).
 *
 * The agent has a way of its own: it leaves out what it has no memory for (agent/module.c). src/ptx
 * keeps its tables in arenas.
 */
#ifndef COLLIDER_TABLE_H
#define COLLIDER_TABLE_H

#include "base/base.h"

#define uthash_malloc(size) base_malloc(size)
#include <uthash.h>

#endif
