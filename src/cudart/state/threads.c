/*
 * threads.c - what orders host threads, for the oracle with host-threads=separate.
 *
 * The library defines the C library's functions that lock, signal, start and join (POSIX and C11),
 * which is what std::mutex, std::thread and the like call, too. Each calls the real one, and is an
 * event: a release before an operation that lets other threads continue, an acquire after one that
 * may have waited. Without the option, and for calls by this library itself, only the real one is
 * called.
 *
 * The exported names have no version, so they replace any version that a program requires
 * (cudart.map). The real function is looked up at its first use; dlsym may give the oldest version
 * of the condition variables, whose layout differs, so their version is given.
 *
 * Misses: atomics, futexes and pipes of the program's own, OpenMP's runtime (which has its own
 * futexes), std::latch, std::barrier and std::counting_semaphore. That is why one actor is the
 * default. Costs, with the option: a lock of the machine's at each call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <gnu/lib-names.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "cudart/state/internal.h"
#include "cudart/state/threads.h"

static struct cpu_machine *_Atomic machine; /* NULL: nothing is reported */

extern void __tsan_init(void) __attribute__((weak));

/* ThreadSanitizer's function, where clang has linked it into the program, or gcc's library of it
 * comes first: before this library, whose own threads run functions of the program, too. NULL:
 * there is none, or it comes after. */
static __typeof__(pthread_create) *sanitizers(void)
{
	void *first = __tsan_init ? dlsym(RTLD_DEFAULT, "pthread_create") : NULL;

	return first == (void *)pthread_create ? NULL : (__typeof__(pthread_create) *)first;
}

void rt_threads_start(struct cpu_machine *m)
{
	atomic_store(&machine, m);
}

void rt_threads_check(void)
{
	if (sanitizers())
		rt_say("ThreadSanitizer's functions come before this library's, so it reports "
		       "threads and locks of this library, too; gcc's under `collider run` keeps "
		       "them out");
}

/* The function in one scope; NULL also if that is ours: then this library comes first there. */
static void *look_in(void *scope, const char *name)
{
	void *fn = NULL;

#if defined(__x86_64__)
	/* ThreadSanitizer's functions have no version, and must not be passed by. */
	if (strncmp(name, "pthread_cond_", 13) == 0 && !dlsym(RTLD_DEFAULT, "__tsan_init"))
		fn = dlvsym(scope, name, "GLIBC_2.3.2");
#endif
	if (!fn)
		fn = dlsym(scope, name);
	return rt_is_ours(fn) ? NULL : fn;
}

/* Of threads in the C library; before 2.34 in one of its own. */
static void *look_in_file(const char *file, const char *name)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD), *fn;

	if (!library)
		return NULL;
	fn = look_in(library, name);
	dlclose(library); /* it stays: the program and this library need it */
	return fn;
}

/*
 * Preloaded, or needed by the program itself, this library comes before the C library. Needed by
 * libcuda.so.1 only it comes after, or in a scope that dlopen made: then nothing follows it, and
 * the program's calls reach the C library without us.
 */
void *rt_look_up(const char *name)
{
	void *fn = look_in(RTLD_NEXT, name);

	if (!fn)
		fn = look_in(RTLD_DEFAULT, name);
	if (!fn)
		fn = look_in_file(LIBC_SO, name);
	if (!fn)
		fn = look_in_file(LIBPTHREAD_SO, name);
	if (!fn)
		abort(); /* the program has called a function that its C library lacks */
	return fn;
}

static struct cpu_machine *listener(void)
{
	return rt.is_forked ? NULL : atomic_load_explicit(&machine, memory_order_acquire);
}

static void release(const void *object, bool is_whole)
{
	struct cpu_machine *m = listener();

	if (m)
		cpu_host_release(m, (uint64_t)(uintptr_t)object, is_whole);
}

static void acquire(const void *object)
{
	struct cpu_machine *m = listener();

	if (m)
		cpu_host_acquire(m, (uint64_t)(uintptr_t)object);
}

/* name(PARAMETERS) calls the real one with ARGUMENTS, releases `rel` before and acquires `acq`
 * after it if it has succeeded. */
#define PASS(name, params, args, rel, is_whole, acq, succeeded)                                    \
	EXPORT int name params                                                                     \
	{                                                                                          \
		REAL(name)                                                                         \
		bool is_followed = !IS_OURS();                                                     \
		const void *rel_ = (rel), *acq_ = (acq);                                           \
		if (is_followed && rel_)                                                           \
			release(rel_, is_whole);                                                   \
		int rc = real args;                                                                \
		if (is_followed && acq_ && (succeeded))                                            \
			acquire(acq_);                                                             \
		return rc;                                                                         \
	}
#define NOTHING ((const void *)NULL)

typedef const struct timespec deadline;

/* EOWNERDEAD also means that the mutex was acquired. */
#define LOCKED (rc == 0 || rc == EOWNERDEAD)

PASS(pthread_mutex_lock, (pthread_mutex_t * m), (m), NOTHING, false, m, LOCKED)
PASS(pthread_mutex_trylock, (pthread_mutex_t * m), (m), NOTHING, false, m, LOCKED)
PASS(pthread_mutex_timedlock, (pthread_mutex_t * m, deadline *t), (m, t), NOTHING, false, m, LOCKED)
PASS(pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t c, deadline *t), (m, c, t), NOTHING,
     false, m, LOCKED)
PASS(pthread_mutex_unlock, (pthread_mutex_t * m), (m), m, true, NOTHING, true)

PASS(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), (l), NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, deadline *t), (l, t), NOTHING, false, l,
     rc == 0)
PASS(pthread_rwlock_clockrdlock, (pthread_rwlock_t * l, clockid_t c, deadline *t), (l, c, t),
     NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), (l), NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, deadline *t), (l, t), NOTHING, false, l,
     rc == 0)
PASS(pthread_rwlock_clockwrlock, (pthread_rwlock_t * l, clockid_t c, deadline *t), (l, c, t),
     NOTHING, false, l, rc == 0)
PASS(pthread_rwlock_unlock, (pthread_rwlock_t * l), (l), l, false, NOTHING, true)

PASS(pthread_spin_lock, (pthread_spinlock_t * s), (s), NOTHING, false, (const void *)(uintptr_t)s,
     rc == 0)
PASS(pthread_spin_trylock, (pthread_spinlock_t * s), (s), NOTHING, false,
     (const void *)(uintptr_t)s, rc == 0)
PASS(pthread_spin_unlock, (pthread_spinlock_t * s), (s), (const void *)(uintptr_t)s, true, NOTHING,
     true)

PASS(pthread_barrier_wait, (pthread_barrier_t * b), (b), b, false, b,
     rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD)

/* A wait releases the mutex and acquires it again, even after a deadline. */
PASS(pthread_cond_signal, (pthread_cond_t * c), (c), c, false, NOTHING, true)
PASS(pthread_cond_broadcast, (pthread_cond_t * c), (c), c, false, NOTHING, true)

#define WAITED(c, m)                                                                               \
	if (is_followed) {                                                                         \
		acquire(m);                                                                        \
		acquire(c);                                                                        \
	}                                                                                          \
	return rc

EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	REAL(pthread_cond_wait)
	bool is_followed = !IS_OURS();
	if (is_followed)
		release(m, true);
	int rc = real(c, m);
	WAITED(c, m);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, deadline *t)
{
	REAL(pthread_cond_timedwait)
	bool is_followed = !IS_OURS();
	if (is_followed)
		release(m, true);
	int rc = real(c, m, t);
	WAITED(c, m);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t k, deadline *t)
{
	REAL(pthread_cond_clockwait)
	bool is_followed = !IS_OURS();
	if (is_followed)
		release(m, true);
	int rc = real(c, m, k, t);
	WAITED(c, m);
}

PASS(sem_post, (sem_t * s), (s), s, false, NOTHING, true)
PASS(sem_wait, (sem_t * s), (s), NOTHING, false, s, rc == 0)
PASS(sem_trywait, (sem_t * s), (s), NOTHING, false, s, rc == 0)
PASS(sem_timedwait, (sem_t * s, deadline *t), (s, t), NOTHING, false, s, rc == 0)
PASS(sem_clockwait, (sem_t * s, clockid_t c, deadline *t), (s, c, t), NOTHING, false, s, rc == 0)

/* ---- C11 --------------------------------------------------------------------------------- */

PASS(mtx_lock, (mtx_t * m), (m), NOTHING, false, m, rc == thrd_success)
PASS(mtx_trylock, (mtx_t * m), (m), NOTHING, false, m, rc == thrd_success)
PASS(mtx_timedlock, (mtx_t * m, deadline *t), (m, t), NOTHING, false, m, rc == thrd_success)
PASS(mtx_unlock, (mtx_t * m), (m), m, true, NOTHING, true)
PASS(cnd_signal, (cnd_t * c), (c), c, false, NOTHING, true)
PASS(cnd_broadcast, (cnd_t * c), (c), c, false, NOTHING, true)

EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
	REAL(cnd_wait)
	bool is_followed = !IS_OURS();
	if (is_followed)
		release(m, true);
	int rc = real(c, m);
	WAITED(c, m);
}

EXPORT int cnd_timedwait(cnd_t *c, mtx_t *m, deadline *t)
{
	REAL(cnd_timedwait)
	bool is_followed = !IS_OURS();
	if (is_followed)
		release(m, true);
	int rc = real(c, m, t);
	WAITED(c, m);
}

/* ---- once ------------------------------------------------------------------------------------ */

/* The routine is called without an argument, so its context is kept here: that of the innermost
 * call. */
struct once_call {
	void (*fn)(void);
	const void *object;
};
static _Thread_local struct once_call once_call;

static void run_once(void)
{
	struct once_call c = once_call;

	c.fn();
	release(c.object, false);
}

EXPORT int pthread_once(pthread_once_t *o, void (*fn)(void))
{
	REAL(pthread_once)
	if (IS_OURS() || !listener())
		return real(o, fn);
	struct once_call outer = once_call;
	once_call = (struct once_call){fn, o};
	int rc = real(o, run_once);
	once_call = outer;
	acquire(o);
	return rc;
}

EXPORT void call_once(once_flag *o, void (*fn)(void))
{
	REAL(call_once)
	if (IS_OURS() || !listener()) {
		real(o, fn);
		return;
	}
	struct once_call outer = once_call;
	once_call = (struct once_call){fn, o};
	real(o, run_once);
	once_call = outer;
	acquire(o);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* The start routine of a new thread. The struct's address names the object that its parent
 * released. */
struct birth {
	void *(*fn)(void *);
	thrd_start_t c11;
	void *arg;
};

/* Odd numbers can't be addresses of locks. */
static const void *birth_object(const struct birth *b)
{
	return (const char *)b + 1;
}

static struct birth take_birth(void *p)
{
	struct birth b = *(struct birth *)p;

	acquire(birth_object(p));
	free(p);
	return b;
}

static void *begin(void *p)
{
	struct birth b = take_birth(p);

	return b.fn(b.arg);
}

static int begin_c11(void *p)
{
	struct birth b = take_birth(p);

	return b.c11(b.arg);
}

static struct birth *give_birth(void *(*fn)(void *), thrd_start_t c11, void *arg)
{
	struct birth *b = listener() ? malloc(sizeof(*b)) : NULL;

	if (!b)
		return NULL;
	*b = (struct birth){fn, c11, arg};
	release(birth_object(b), true);
	return b;
}

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	REAL(pthread_create)
	__typeof__(pthread_create) *first = IS_OURS() ? sanitizers() : NULL;

	if (first)
		return first(t, attr, fn, arg);
	if (!IS_OURS())
		cpu_host_thread();
	struct birth *b = IS_OURS() ? NULL : give_birth(fn, NULL, arg);
	int rc = b ? real(t, attr, begin, b) : real(t, attr, fn, arg);

	if (rc)
		free(b);
	return rc;
}

EXPORT int thrd_create(thrd_t *t, thrd_start_t fn, void *arg)
{
	REAL(thrd_create)
	if (!IS_OURS())
		cpu_host_thread();
	struct birth *b = IS_OURS() ? NULL : give_birth(NULL, fn, arg);
	int rc = b ? real(t, begin_c11, b) : real(t, fn, arg);

	if (rc != thrd_success)
		free(b);
	return rc;
}

static void joined(pthread_t t)
{
	struct cpu_machine *m = listener();

	if (m)
		cpu_host_joined(m, (uint64_t)t);
}

#define JOIN(name, params, args)                                                                   \
	EXPORT int name params                                                                     \
	{                                                                                          \
		REAL(name)                                                                         \
		int rc = real args;                                                                \
		if (rc == 0 && !IS_OURS())                                                         \
			joined((pthread_t)t);                                                      \
		return rc;                                                                         \
	}

_Static_assert(thrd_success == 0, "JOIN");
JOIN(pthread_join, (pthread_t t, void **result), (t, result))
JOIN(pthread_tryjoin_np, (pthread_t t, void **result), (t, result))
JOIN(pthread_timedjoin_np, (pthread_t t, void **result, deadline *d), (t, result, d))
JOIN(pthread_clockjoin_np, (pthread_t t, void **result, clockid_t c, deadline *d),
     (t, result, c, d))
JOIN(thrd_join, (thrd_t t, int *result), (t, result))
