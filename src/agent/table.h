/*
 * table.h - uthash's hash tables in the agent: an element for which there is no memory is left out.
 *
 * Each file has tables and a was_added of its own, used under the lock of its tables.
 * (HASH_NONFATAL_OOM is set for the whole library.)
 */
#ifndef COLLIDER_AGENT_TABLE_H
#define COLLIDER_AGENT_TABLE_H

#include <stdbool.h>
#include <stdlib.h>

/* False after HASH_ADD where there was no memory; for elements that own more than themselves, whose
 * file sets it before. */
static bool was_added;
#define uthash_nonfatal_oom(e) ((void)(e), was_added = false)
#include <uthash.h>

/* Adds e, a zeroed element with its key (NULL: there was no memory for it). Where the table has no
 * memory for it, e is freed, and NULL afterwards. */
#define AGENT_TABLE_ADD_KEY(table, key, n, e)                                                      \
	do {                                                                                       \
		was_added = (e) != NULL;                                                           \
		if (e)                                                                             \
			HASH_ADD_KEYPTR(hh, table, key, n, e);                                     \
		if (!was_added) {                                                                  \
			free(e);                                                                   \
			(e) = NULL;                                                                \
		}                                                                                  \
	} while (0)
#define AGENT_TABLE_ADD(table, field, e)                                                           \
	AGENT_TABLE_ADD_KEY(table, &(e)->field, sizeof((e)->field), e)

/* e: the element whose field, a pointer, is `value`, made if there is none; NULL: no memory. */
#define AGENT_TABLE_GET(table, field, value, e)                                                    \
	do {                                                                                       \
		HASH_FIND_PTR(table, &(value), e);                                                 \
		if (!(e) && ((e) = calloc(1, sizeof(*(e))))) {                                     \
			(e)->field = (value);                                                      \
			AGENT_TABLE_ADD(table, field, e);                                          \
		}                                                                                  \
	} while (0)

#endif
