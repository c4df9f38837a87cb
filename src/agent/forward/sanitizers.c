/*
 * sanitizers.c - programs whose host code is built with -fsanitize=address, leak or thread.
 *
 * As on the CPU device (cudart/state/sanitizers.c): the sanitizers' runtimes ask functions of
 * these names, which the program may define, for options. AddressSanitizer shall not mind that a
 * library comes before its own, which is all that these say.
 */
#define EXPORT __attribute__((visibility("default")))

EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
