/*
 * hooks.c - what gcc and clang call for -fsanitize=thread, except for atomics (atomic.c).
 *
 * A call before every access to memory that others might see: __tsan_read4(p), for example. Names
 * and meaning are those of the compilers (gcc/sanitizer.def, LLVM's ThreadSanitizer pass); they are
 * only called, never declared in a header.
 *
 * On x86-64 a hook is 6 instructions (20 bytes) while nothing can race, 16 (62 bytes, one line of
 * the cache) when the access may race and is skipped: no frame, no call, no PLT. The order
 * favours the first: its branch is not taken.
 *
 * memcpy, memmove and memset come here by clang's __tsan_mem*, or by the linker's --wrap where the
 * compiler calls the library's (gcc): calls from libraries that were not linked this way are not
 * seen. Entry and exit of functions are not needed; an option makes the compiler omit these calls.
 */
#include "host/linked/runtime.h"

#define PC __builtin_return_address(0)

/* With link-time optimisation the calls appear after the linker has determined which functions are
 * used. */
#define HOOK __attribute__((used))

#define ACCESS(name, n, how)                                                                       \
	HOOK void __tsan_##name(void *p)                                                           \
	{                                                                                          \
		if (__builtin_expect(!host_is_outside(p), 0))                                      \
			host_check(p, n, how, PC);                                                 \
	}

#define SIZES(prefix, how)                                                                         \
	ACCESS(prefix##1, 1, how)                                                                  \
	ACCESS(prefix##2, 2, how)                                                                  \
	ACCESS(prefix##4, 4, how)                                                                  \
	ACCESS(prefix##8, 8, how)                                                                  \
	ACCESS(prefix##16, 16, how)

#define ALL(prefix, how)                                                                           \
	SIZES(prefix##read, how)                                                                   \
	SIZES(prefix##write, (how) | HOST_WRITE)

ALL(, HOST_READ)
ALL(unaligned_, HOST_READ)
ALL(volatile_, HOST_VOLATILE)
ALL(unaligned_volatile_, HOST_VOLATILE)
/* clang's x += y. */
SIZES(read_write, HOST_WRITE)
SIZES(unaligned_read_write, HOST_WRITE)

static void range(const void *p, size_t n, unsigned how, const void *pc)
{
	if (!host_range_is_outside(p, n))
		host_check(p, n, how, pc);
}

HOOK void __tsan_read_range(void *p, size_t n)
{
	range(p, n, HOST_READ, PC);
}

HOOK void __tsan_write_range(void *p, size_t n)
{
	range(p, n, HOST_WRITE, PC);
}

HOOK void __tsan_vptr_read(void **p)
{
	if (__builtin_expect(!host_is_outside(p), 0))
		host_check(p, sizeof(*p), HOST_READ, PC);
}

HOOK void __tsan_vptr_update(void **p, void *value)
{
	if (__builtin_expect(!host_is_outside(p), 0) &&
	    *(void *const volatile *)host_memory(p) != value)
		host_check(p, sizeof(*p), HOST_WRITE, PC);
}

HOOK void __tsan_func_entry(void *pc)
{
	(void)pc;
}

HOOK void __tsan_func_exit(void)
{
}

HOOK void __tsan_init(void)
{
}

/* ---- memory functions ---------------------------------------------------------- */

/* The library's own, when --wrap takes the names. */
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);

#define COPY(name, real)                                                                           \
	HOOK void *name(void *to, const void *from, size_t n)                                      \
	{                                                                                          \
		range(from, n, HOST_READ, PC);                                                     \
		range(to, n, HOST_WRITE, PC);                                                      \
		return real(to, from, n);                                                          \
	}
#define FILL(name)                                                                                 \
	HOOK void *name(void *to, int value, size_t n)                                             \
	{                                                                                          \
		range(to, n, HOST_WRITE, PC);                                                      \
		return __real_memset(to, value, n);                                                \
	}

COPY(__tsan_memcpy, __real_memcpy)
COPY(__tsan_memmove, __real_memmove)
FILL(__tsan_memset)
COPY(__wrap_memcpy, __real_memcpy)
COPY(__wrap_memmove, __real_memmove)
FILL(__wrap_memset)

/* What -D_FORTIFY_SOURCE makes of the calls, the default of Ubuntu's compilers: `room` is what the
 * destination has, and the library ends a program that would write more. */
void *__real___memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__real___memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__real___memset_chk(void *to, int value, size_t n, size_t room);

HOOK void *__wrap___memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	range(from, n, HOST_READ, PC);
	range(to, n < room ? n : room, HOST_WRITE, PC);
	return __real___memcpy_chk(to, from, n, room);
}

HOOK void *__wrap___memmove_chk(void *to, const void *from, size_t n, size_t room)
{
	range(from, n, HOST_READ, PC);
	range(to, n < room ? n : room, HOST_WRITE, PC);
	return __real___memmove_chk(to, from, n, room);
}

HOOK void *__wrap___memset_chk(void *to, int value, size_t n, size_t room)
{
	range(to, n < room ? n : room, HOST_WRITE, PC);
	return __real___memset_chk(to, value, n, room);
}
