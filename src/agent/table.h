/*
 * table.h - uthash's hash tables in the agent: an element for which there is no memory is left out.
 *
 * Set was_added before HASH_ADD; it is false afterwards where there was no memory. Each file has
 * its own, used under the lock of its tables. (HASH_NONFATAL_OOM is set for the whole library.)
 */
#ifndef COLLIDER_AGENT_TABLE_H
#define COLLIDER_AGENT_TABLE_H

#include <stdbool.h>

static bool was_added;
#define uthash_nonfatal_oom(e) ((void)(e), was_added = false)
#include <uthash.h>

#endif
