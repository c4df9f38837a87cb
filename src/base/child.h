/*
 * child.h - what is done unseen by the user's program, in whose process we are: another program
 * runs beside it, and something is written.
 */
#ifndef COLLIDER_BASE_CHILD_H
#define COLLIDER_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs it to its end: `in` is its descriptor 3, `out` 4. Its exit code; -1: it couldn't be run. The
 * user's program sees no child, no signal and no descriptor of this. */
int base_child_run(const char *path, char *const argv[], char *const env[], int in, int out);

/* As write. Where the limit of file sizes or a pipe's missing reader forbids it, that is an error,
 * and no signal, which might end the program. */
ssize_t base_write_unseen(int fd, const void *p, size_t n);
/* All n bytes, in as many writes as it takes; false: not all of them could be written. */
bool base_write_all_unseen(int fd, const void *p, size_t n);

#endif
