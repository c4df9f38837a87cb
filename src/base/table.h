/*
 * table.h - uthash's hash tables, with memory that never fails to its callers (memory.c).
 *
 * The agent differs: it leaves out entries for which there is no memory (agent/table.h). src/ptx
 * keeps its tables in arenas.
 */
#ifndef COLLIDER_TABLE_H
#define COLLIDER_TABLE_H

#include "base/base.h"

#define uthash_malloc(size) base_malloc(size)
#include <uthash.h>

#endif
