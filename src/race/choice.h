/*
 * choice.h - which launches of a run are checked: --kernel-name, --kernel-name-exclude,
 * --launch-skip, --launch-count, --budget.
 *
 * The launcher writes what is asked for into the shared file; the agent and the CPU device ask
 * race_choice_take before each launch of a kernel that could run unchecked, and count in the
 * kernel's chunk (struct race_kernel_count), from which the report says which were checked.
 */
#ifndef COLLIDER_RACE_CHOICE_H
#define COLLIDER_RACE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct race_kernel_count;

/* Does the run leave launches out? After race_shm_open. */
bool race_choice_is_on(void);
/*
 * Is the next launch of this kernel to be checked? Counts it. spent_ns: the time that checked
 * launches have taken so far. Called by one thread at a time for a kernel.
 */
bool race_choice_take(struct race_kernel_count *k, const char *name, uint64_t spent_ns);
/* May its launches be left out at all? If not, nothing needs to be prepared for that. */
bool race_choice_concerns(const char *name);

/*
 * names.c. Is the kernel in the list, patterns joined by commas? A pattern with * for any text
 * matches a whole name: the mangled one, the programmer's, or that without parameters. One that
 * begins with "regex:" is a POSIX extended regular expression that is found in one of them.
 */
bool race_name_is_listed(const char *list, const char *name);
/* What is wrong with the list (a regular expression), in `why`; NULL: nothing. */
const char *race_name_check(const char *list, char *why, size_t n);
struct base_arena;
/* The programmer's name without what it returns and its parameters. */
char *race_bare_name(struct base_arena *a, const char *shown);

#endif
