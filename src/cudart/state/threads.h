/*
 * threads.h - inside src/cudart: functions of the C library that this library replaces (threads.c,
 * signals.c).
 */
#ifndef COLLIDER_CUDART_THREADS_H
#define COLLIDER_CUDART_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cpu_machine;

/* From now on the machine is notified of what orders host threads. */
void rt_threads_start(struct cpu_machine *m);
/* Says so if a sanitizer's runtime takes this library's threads for the program's. */
void rt_threads_check(void);

/* The C library's function, not ours. */
void *rt_look_up(const char *name);

#define EXPORT __attribute__((visibility("default")))

/* The real function of this name, as `real`. */
#define REAL(name)                                                                                 \
	static __typeof__(name) *_Atomic real_;                                                    \
	__typeof__(name) *real = atomic_load_explicit(&real_, memory_order_relaxed);               \
	if (__builtin_expect(!real, 0)) {                                                          \
		real = (__typeof__(name) *)(uintptr_t)rt_look_up(#name);                           \
		atomic_store_explicit(&real_, real, memory_order_relaxed);                         \
	}

extern const char rt_library_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char rt_library_code[] __asm__("etext") __attribute__((visibility("hidden")));

static inline bool rt_is_ours(const void *caller)
{
	return (uintptr_t)caller >= (uintptr_t)rt_library_begin &&
	       (uintptr_t)caller < (uintptr_t)rt_library_code;
}

/* Is the caller this library? To be used in an exported function. */
#define IS_OURS() rt_is_ours(__builtin_return_address(0))

#endif
