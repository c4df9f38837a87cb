/*
 * check.c - read, wait, read again: the DataCollider half (SuperCollider, section 7.6).
 *
 * The compiler's hook runs before the access. Two reads with a delay between them show whether
 * another thread or device changes the location now; if so, nothing orders that change and the
 * access that follows, since this thread does nothing in between that could order them. That holds
 * for a read (its value depends on timing) and for a write (one of the two is lost).
 *
 * Which accesses are delayed: each site (place in the code) and thread counts for itself. Its first
 * `dense` accesses to memory that may race are all checked, after that dense of n, at least one in
 * HOST_SPARSEST; what is not checked costs two tests and a counter (hooks.c). The 1st, 2nd, 4th,
 * 8th... check of a site waits 32 to 64 times longer: a missing wait for a kernel shows when the
 * delay covers its end. An access of more than 16 bytes is checked in one window of at most 64, at
 * random.
 *
 * With detector watch each access looks for watchpoints of kernels (look.c), too; one that is
 * checked goes on looking during its delay. So the hooks skip none then.
 *
 * Delays are spun, since a sleep takes 50 us at least. The CPU device works only while it is
 * called; there the delay consists of its work for that long on its own clock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/linked/runtime.h"

#define DENSE_FACTOR  4u /* there are few host threads: more of their accesses are checked */
#define HOST_SPARSEST 8192u
#define LONG_FACTOR   32u
#define WINDOW	      64u
#define LOOK_WINDOW   1024u

struct site {
	uint64_t seen; /* accesses, including those that are skipped next */
	uint32_t checks;
	uint32_t left; /* skipped here and not by the hook, since they look for watchpoints */
};

struct thread {
	struct host_pace pace; /* first: this is what host_pace points to */
	struct site sites[HOST_SITES];
	uint64_t random;
	uint32_t number; /* 0: the main thread */
	bool is_inside;
};

/* What a thread begins with: nothing is skipped, so the table is created at the first access. */
static struct host_pace no_thread;
__thread struct host_pace *host_pace __attribute__((tls_model("initial-exec"))) = &no_thread;
static pthread_key_t at_exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t nthreads;

/* A thread ends. */
static void thread_free(void *p)
{
	host_pace = &no_thread;
	munmap(p, sizeof(struct thread));
}

static void key_make(void)
{
	if (pthread_key_create(&at_exit_key, thread_free))
		host_stop();
}

/* This thread's table, NULL: no memory. */
static struct thread *thread_make(void)
{
	struct thread *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_once(&once, key_make);
	if (t == MAP_FAILED || pthread_setspecific(at_exit_key, t))
		return NULL;
	if (syscall(SYS_gettid) != getpid())
		t->number = __atomic_add_fetch(&nthreads, 1, __ATOMIC_RELAXED);
	t->random = (((uint64_t)host_state.seed << 32) + t->number) * 0x9e3779b97f4a7c15ull | 1;
	host_pace = &t->pace;
	return t;
}

static uint32_t draw(struct thread *t)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(t->random >> 32);
}

/* 1 to n. */
static uint64_t draw_below(struct thread *t, uint64_t n)
{
	return 1 + ((draw(t) * n) >> 32);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Looks for watchpoints meanwhile, until one is met: x, or NULL. On the CPU device, where nothing
 * happens while this thread looks, so many times. */
#define LOOKS 32u

static bool yield(uint64_t ns, const struct host_access *x, struct host_seen *seen)
{
	uint64_t part = x ? ns / LOOKS + 1u : ns, n;

	for (bool is_met = false; ns; ns -= n) {
		n = ns < part || is_met ? ns : part;
		if (!host_state.yield(n))
			return false;
		is_met = is_met || (x && host_look(x, seen, false));
	}
	return true;
}

static void delay(struct thread *t, uint32_t checks, const struct host_access *x,
		  struct host_seen *seen)
{
	bool is_long = (checks & (checks - 1)) == 0;
	uint64_t bound = host_state.rdelay, ns, end;

	if (!bound)
		return;
	if (is_long)
		ns = bound * LONG_FACTOR + draw_below(t, bound * LONG_FACTOR);
	else
		ns = draw_below(t, bound);
	if (host_state.yield && yield(ns, x, seen))
		return;
	end = now_ns() + ns;
	do {
		relax();
		if (x && host_look(x, seen, false))
			x = NULL;
	} while (now_ns() < end);
}

/* How many accesses are skipped before the next check. */
static uint32_t next_skip(struct thread *t, const struct site *s)
{
	uint64_t dense = (uint64_t)host_state.dense * DENSE_FACTOR;
	uint64_t gap = dense && s->seen > dense ? s->seen / dense : 1;

	if (gap > HOST_SPARSEST)
		gap = HOST_SPARSEST;
	gap *= host_state.sample;
	/* Between 1 and 2 gap - 1, so one in `gap` on average. */
	return gap > 1 ? (uint32_t)draw_below(t, 2 * gap - 1) - 1 : 0;
}

/* Reads `n` bytes at most WINDOW, in the widest pieces that the address allows. */
static void take(uint64_t out[WINDOW / 8], const volatile void *p, size_t n)
{
	uintptr_t at = (uintptr_t)host_memory(p);
	unsigned char *to = (unsigned char *)out;

	out[0] = out[1] = 0;
	if (n == 1) {
		out[0] = *(const volatile uint8_t *)at;
	} else if (n == 2 && at % 2 == 0) {
		out[0] = *(const volatile uint16_t *)at;
	} else if (n == 4 && at % 4 == 0) {
		out[0] = *(const volatile uint32_t *)at;
	} else if (n % 8 == 0 && at % 8 == 0) {
		for (size_t i = 0; i < n / 8; i++)
			out[i] = ((const volatile uint64_t *)at)[i];
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = ((const volatile unsigned char *)at)[i];
	}
}

/* Index of the first byte that differs; n: none. */
static size_t differs(const uint64_t *a, const uint64_t *b, size_t n)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
	size_t i = 0;

	while (i < n && x[i] == y[i])
		i++;
	return i;
}

/* What was seen, in the element of at most 16 bytes that changed. */
static void record(const volatile void *p, size_t n, size_t at, const uint64_t *was,
		   const uint64_t *now, struct host_sighting *s)
{
	size_t first = n <= 16 ? 0 : at / 8 * 8;
	size_t width = n - first;

	if (n > 16 && width > 8)
		width = 8;
	memcpy(s->was, (const char *)was + first, width);
	memcpy(s->now, (const char *)now + first, width);
	s->address = (uint64_t)(uintptr_t)p + first;
	s->width = (uint32_t)width;
	host_find(s);
}

/* x: the access, where it looks for watchpoints. */
static void check(struct thread *t, const struct host_access *a, const struct host_access *x,
		  struct host_seen *seen, uint32_t checks)
{
	const volatile void *p = a->p;
	size_t n = a->n;
	struct race_host_range range = {.space = RACE_SPACE_SYSTEM};
	uint64_t was[WINDOW / 8], now[WINDOW / 8], end;
	size_t bytes = n, at;

	if (!race_host_lookup(host_state.area, (uint64_t)(uintptr_t)p, &range)) {
		if (!host_state.area->is_all)
			return;
		range.end = (uint64_t)(uintptr_t)p + n;
		range.space = RACE_SPACE_SYSTEM;
	}
	end = (uint64_t)(uintptr_t)p + n;
	if (end > range.end)
		n = (size_t)(range.end - (uint64_t)(uintptr_t)p);
	if (n > WINDOW) {
		size_t from = (size_t)(draw_below(t, n - WINDOW + 1) - 1);
		p = (const volatile char *)p + from;
		n = WINDOW;
	}
	take(was, p, n);
	delay(t, checks, x, seen);
	take(now, p, n);
	__atomic_fetch_add(&host_state.area->checked, 1, __ATOMIC_RELAXED);
	at = differs(was, now, n);
	if (at == n)
		return;
	struct host_sighting s = {.pc = a->pc,
				  .kind = a->how & HOST_WRITE ? RACE_KIND_LOST_UPDATE
							      : RACE_KIND_CLOBBERED_READ,
				  .bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
				  .space = (uint32_t)range.space,
				  .thread = t->number,
				  .is_volatile = (a->how & HOST_VOLATILE) != 0};
	record(p, n, at, was, now, &s);
}

void host_met(const struct host_access *x, const struct race_mirror_entry *other)
{
	struct race_host_range range = {.space = RACE_SPACE_SYSTEM};
	uint64_t at = (uint64_t)(uintptr_t)x->p, from = RACE_MIRROR_ADDRESS(other);
	struct host_sighting s = {.pc = x->pc,
				  .address = from > at ? from : at,
				  .kind = RACE_KIND_WATCH,
				  .bytes = x->n > UINT32_MAX ? UINT32_MAX : (uint32_t)x->n,
				  .thread = x->thread,
				  .is_write = (x->how & HOST_WRITE) != 0,
				  .other = other};

	/* Memory that went a moment ago: the access is no access to it. */
	if (!race_host_lookup(host_state.area, s.address, &range) && !host_state.area->is_all)
		return;
	s.space = (uint32_t)range.space;
	host_find(&s);
}

/* Separate from host_check_now, so that the latter saves no registers. */
__attribute__((noinline, cold)) static void check_shared(const volatile void *p, size_t n,
							 unsigned how, const void *pc)
{
	int err = errno;
	struct thread *t = host_pace == &no_thread ? thread_make() : (struct thread *)host_pace;
	size_t place = host_place(pc);

	if (t && !t->is_inside && n && host_state.area) {
		const struct host_access x = {p, n, how, pc, t->number};
		struct host_access around = x; /* a part of it */
		struct host_seen seen;
		struct site *s = &t->sites[place];
		bool looks = !(how & HOST_VOLATILE) && host_is_watched(host_state.area), is_met;
		t->is_inside = true;
		if (looks && n > LOOK_WINDOW) {
			around.n = LOOK_WINDOW;
			around.p = (const volatile char *)p + draw_below(t, n - LOOK_WINDOW);
		}
		is_met = looks && host_look(&around, s->left ? NULL : &seen, true);
		if (s->left) {
			s->left--;
		} else {
			check(t, &x, looks && !is_met ? &around : NULL, &seen, ++s->checks);
			s->left = next_skip(t, s);
			s->seen += 1u + s->left;
		}
		if (!looks) {
			t->pace.skip[place] = s->left;
			s->left = 0;
		}
		t->is_inside = false;
	}
	errno = err;
}

/* ------------------------------------------------------------------------ */

/* Accesses to memory between shared ranges come here every time, and must leave quickly. */
void host_check_now(const volatile void *p, size_t n, unsigned how, const void *pc)
{
	if (__builtin_expect(race_host_on_page(host_filter, (uint64_t)(uintptr_t)p), 0))
		check_shared(p, n, how, pc);
}
