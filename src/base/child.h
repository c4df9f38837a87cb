/*
 * child.h - a program that runs unseen beside the user's, in whose process we are.
 */
#ifndef COLLIDER_BASE_CHILD_H
#define COLLIDER_BASE_CHILD_H

/* Runs it to its end: `in` is its descriptor 3, `out` 4. Its exit code; -1: it couldn't be run. The
 * user's program sees no child, no signal and no descriptor of this. */
int base_child_run(const char *path, char *const argv[], char *const env[], int in, int out);

#endif
