/*
 * sanitizers.c - programs whose host code is built with -fsanitize=address, leak or thread.
 *
 * The sanitizers' runtimes ask for options and suppressions by calling functions of these names,
 * which the program may define. It seldom does; then they find ours, as this library comes before
 * theirs. AddressSanitizer shall not mind that (it ends the program otherwise); what this library
 * allocates until the end is no leak of the program's, and what it locks no race. A program that
 * has functions of its own keeps them, and must say the same in ASAN_OPTIONS and the like
 * (docs/cpu-device.md).
 *
 * Misses: leaks of the program's with a frame of this library in their stack (a host function that
 * a stream calls).
 */
#include "cudart/state/threads.h"

#define OURS "libcudart.so.13\n"

EXPORT const char *__asan_default_options(void);
EXPORT const char *__lsan_default_options(void);
EXPORT const char *__lsan_default_suppressions(void);
EXPORT const char *__tsan_default_suppressions(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

const char *__lsan_default_suppressions(void)
{
	return "leak:" OURS;
}

const char *__tsan_default_suppressions(void)
{
	return "race:" OURS "mutex:" OURS "deadlock:" OURS "thread:" OURS "signal:" OURS;
}
