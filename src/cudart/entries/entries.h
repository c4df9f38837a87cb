/*
 * entries.h - the front header of src/cudart/entries: programs that bring a CUDA runtime of their
 * own.
 *
 * nvcc links the runtime statically unless -cudart says otherwise. The functions of such a runtime
 * are in the program's own code, so that no library of the same name takes their place. This room
 * puts a jump to our function at the entry of each, before any of them runs.
 */
#ifndef COLLIDER_CUDART_ENTRIES_H
#define COLLIDER_CUDART_ENTRIES_H

#include <stdbool.h>

/*
 * Calls `say` once for each file whose runtime could not be replaced and hasn't been named yet:
 * the file and why. The caller holds no lock. The texts live until the process ends.
 */
void rt_entries_report(void (*say)(const char *path, const char *why));

struct link_map;

/* Has this object a runtime that was replaced? */
bool rt_entries_is_replaced(const struct link_map *m);

#endif
