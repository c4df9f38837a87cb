/*
 * runtime.h - inside src/host: what the files of the runtime share.
 *
 * The runtime is linked into the user's program in place of ThreadSanitizer's. The compiler calls
 * it before each access (hooks.c); one that may race is read twice (check.c). Rules: nothing here
 * allocates, exits, prints or changes errno; nothing is called that the program may define itself,
 * since its version would be instrumented, too.
 */
#ifndef COLLIDER_HOST_RUNTIME_H
#define COLLIDER_HOST_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "race/file/host.h"

/* What kind of access a hook stands for. */
enum host_how {
	HOST_READ = 0,
	HOST_WRITE = 1,
	HOST_VOLATILE = 2 /* added to one of them */
};

/* Without this the compiler reads their addresses from the global offset table. */
#define HOST_HIDDEN __attribute__((visibility("hidden")))

/* Points to zeroes until the program runs under `collider run`. */
extern const struct race_host_area *host_filter HOST_HIDDEN;

/* A place in the code is identified by the lower bits of its address: the same ones in every run,
 * and no two places in a page of code share a count. */
#define HOST_SITES 4096u

static inline size_t host_place(const void *pc)
{
	return (uintptr_t)pc % HOST_SITES;
}

/* What a hook needs from its thread: how many accesses of a place are skipped before its next
 * check. Only a pointer is thread-local, in the cheapest model, for which a loaded library has
 * little room. A thread begins with zeroes that are never written. */
struct host_pace {
	uint32_t skip[HOST_SITES];
};
extern __thread struct host_pace *host_pace
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The same with its counters; NULL: nothing is checked. */
struct host_state {
	struct race_host_area *area;
	uint32_t rdelay, dense, sample, seed;
	/* Lets the CPU device work for `ns` of its own time, in this thread. False: another thread
	 * is doing that. NULL: the program runs on a GPU. */
	bool (*yield)(uint64_t ns);
	/* Where the CPU device has the memory at p, for our own reads: through the program's
	 * address they would be accesses of host code to the oracle. NULL: as above. */
	const volatile void *(*look)(const volatile void *p);
};
extern struct host_state host_state HOST_HIDDEN;

/*
 * Is the address outside of all that could race now? The one test that every access pays for. The
 * two words are read plainly, since compilers don't fold atomic loads into other instructions: each
 * read is atomic anyway, and a stale value lets an access pass unchecked, or leads to tests that
 * look again.
 */
static inline bool host_is_outside(const volatile void *p)
{
	const struct race_host_area *a = host_filter;

	return (uint64_t)(uintptr_t)p - a->lo >= a->span;
}

/* The same for `n` bytes. */
static inline bool host_range_is_outside(const volatile void *p, size_t n)
{
	const struct race_host_area *a = host_filter;
	uint64_t at = (uint64_t)(uintptr_t)p, lo = __atomic_load_n(&a->lo, __ATOMIC_RELAXED);
	uint64_t span = __atomic_load_n(&a->span, __ATOMIC_RELAXED);

	return !span || at + n <= lo || at >= lo + span;
}

static inline const volatile void *host_memory(const volatile void *p)
{
	return host_state.look ? host_state.look(p) : p;
}

/* check.c: reads `n` bytes that are accessed next, from the code that returns to `pc`, twice. */
void host_check_now(const volatile void *p, size_t n, unsigned how, const void *pc) HOST_HIDDEN;

/* An access to memory that may race. Most are skipped. */
static inline void host_check(const volatile void *p, size_t n, unsigned how, const void *pc)
{
	uint32_t *skip = &host_pace->skip[host_place(pc)], k = *skip;

	if (__builtin_expect(k != 0, 1)) {
		*skip = k - 1;
		return;
	}
	host_check_now(p, n, how, pc);
}

/* find.c: records a race; `space` is an enum race_space. `other`: with RACE_KIND_WATCH. */
struct host_sighting {
	const void *pc;
	uint64_t address, was[2], now[2];
	uint32_t kind, width, bytes, space, thread;
	bool is_volatile, is_write;
	const struct race_mirror_entry *other;
};
void host_find(const struct host_sighting *s);

/* look.c: an access to shared memory meets a watchpoint of a kernel. */
struct host_access {
	const volatile void *p;
	size_t n;
	unsigned how;
	const void *pc;
	uint32_t thread;
};
/* What the entries for an access had last, when it looked first. */
#define HOST_SEEN 12u /* words from the start of 32 bytes to the end of 16 more */
struct host_seen {
	const struct race_mirror *mirror[RACE_MIRRORS];
	uint64_t last[RACE_MIRRORS][HOST_SEEN];
};
/* False: it has met none. seen NULL: it looks once; else first, and again with what that has left
 * there, the access doing nothing else in between. */
bool host_look(const struct host_access *x, struct host_seen *seen, bool is_first) HOST_HIDDEN;
/* Do kernels set watchpoints for host code? */
bool host_is_watched(const struct race_host_area *a) HOST_HIDDEN;
/* check.c: records it. */
void host_met(const struct host_access *x, const struct race_mirror_entry *other) HOST_HIDDEN;

/* The filter off, in a forked child. */
void host_stop(void);

#endif
