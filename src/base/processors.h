/*
 * processors.h - how many processors this process may use at once (processors.c).
 */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

/* As affinity and control groups say; at least 1. */
unsigned base_processors(void);
/* As control groups alone say, which the file `groups` lists as /proc/self/cgroup does and whose
 * folders are under `root`. UINT_MAX: they have no limit. For tests. */
unsigned base_cgroup_processors(const char *groups, const char *root);

#endif
