/*
 * device.c - opening and closing a device, its memory, and why a call failed.
 *
 * The policy for memory is base/memory.c's: 64 MiB are held back for the process, and where an
 * allocation has needed them each call fails until they can be had again.
 * Misses: a launch that needs more than that at once, in a process that has no other memory.
 */
#include "lib/lib.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE ((size_t)64 << 20)

/* Of the list. Nothing is allocated, and no other lock taken, while it is held: when_short takes it
 * within any allocation. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct collider_ptx *devices;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local char why[512];

const char *collider_ptx_error(void)
{
	return why;
}

int lib_fail(enum collider_ptx_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (char *p = why; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return (int)code;
}

/* Any lock may be held but this file's, and only flags are set: base/memory.c asks for that. */
static void when_short(void)
{
	pthread_mutex_lock(&lock);
	for (struct collider_ptx *d = devices; d; d = d->next)
		cpu_machine_short(d->machine);
	pthread_mutex_unlock(&lock);
}

static void start(void)
{
	base_reserve(RESERVE, when_short);
}

static bool has_memory(void)
{
	return !base_is_short() || base_rearm();
}

int lib_enter(struct collider_ptx *d)
{
	if (!d)
		return lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a device, or what is of "
						       "one");
	if (d->pid != getpid())
		return lib_fail(COLLIDER_PTX_ARGUMENT,
				"the device was opened before a fork, by the parent");
	if (lib_is_printing() ||
	    (atomic_load(&d->is_owned) && pthread_equal(atomic_load(&d->owner), pthread_self())))
		return lib_fail(COLLIDER_PTX_BUSY, "a callback called about the device");
	if (!has_memory())
		return lib_fail(COLLIDER_PTX_MEMORY, "the process ran out of memory");
	pthread_mutex_lock(&d->lock);
	atomic_store(&d->owner, pthread_self());
	atomic_store(&d->is_owned, true);
	return COLLIDER_PTX_OK;
}

int lib_settle(int code)
{
	if (base_is_short())
		return lib_fail(COLLIDER_PTX_MEMORY, "the process ran out of memory");
	return code;
}

int lib_end(struct collider_ptx *d, int code)
{
	atomic_store(&d->is_owned, false);
	pthread_mutex_unlock(&d->lock);
	return code;
}

int lib_leave(struct collider_ptx *d, int code)
{
	return lib_end(d, lib_settle(code));
}

/* No version will have grown by more than this: what says so was never set. */
#define GROWTH_MOST ((size_t)4096)

static int read_size(const char *name, const void *of, size_t first, size_t have, size_t *size)
{
	memcpy(size, of, sizeof(*size));
	if (*size < first || *size > have + GROWTH_MOST)
		return lib_fail(COLLIDER_PTX_ARGUMENT,
				"the size of struct collider_ptx_%s is %zu, expected its sizeof, "
				"%zu in this version",
				name, *size, have);
	return COLLIDER_PTX_OK;
}

int lib_give(const char *name, void *to, const void *from, size_t first, size_t have)
{
	size_t size;

	if (!to)
		return lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a result");
	int rc = read_size(name, to, first, have, &size);
	if (rc)
		return rc;
	/* Its own size stays. */
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
	       (size < have ? size : have) - sizeof(size));
	if (size > have)
		memset((char *)to + have, 0, size - have);
	return COLLIDER_PTX_OK;
}

int lib_take(const char *name, void *to, const void *from, size_t first, size_t have)
{
	size_t size;

	memset(to, 0, have);
	if (!from)
		return COLLIDER_PTX_OK;
	int rc = read_size(name, from, first, have, &size);
	if (rc)
		return rc;
	memcpy(to, from, size < have ? size : have);
	for (size_t i = have; i < size; i++)
		if (((const char *)from)[i])
			return lib_fail(COLLIDER_PTX_ARGUMENT,
					"struct collider_ptx_%s has a field that this version of "
					"the library doesn't know",
					name);
	return COLLIDER_PTX_OK;
}

int collider_ptx_open(const struct collider_ptx_options *options, struct collider_ptx **out)
{
	struct collider_ptx_options o;

	if (!out)
		return lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a result");
	*out = NULL;
	if (lib_is_printing())
		return lib_fail(COLLIDER_PTX_BUSY, "a callback called about a device");
	if (lib_take("options", &o, options, LIB_FIRST(o, on_print), sizeof(o)))
		return COLLIDER_PTX_ARGUMENT;
	pthread_once(&once, start);
	struct collider_ptx *d = has_memory() ? calloc(1, sizeof(*d)) : NULL;
	struct cpu_options m = {.seed = o.seed ? o.seed : 1,
				.threads = 1,
				.devices = 1,
				.steps_aside = true,
				.oracle = o.judges ? CPU_ORACLE_PROGRAM : CPU_ORACLE_OFF};
	if (d)
		d->machine = cpu_machine_new(&m);
	if (!d || !d->machine) {
		free(d);
		return lib_fail(COLLIDER_PTX_MEMORY, "there is no memory for a device");
	}
	d->options = o;
	d->pid = getpid();
	pthread_mutex_init(&d->lock, NULL);
	cpu_set_printf(d->machine, lib_print);
	cpu_on_pair(d->machine, lib_keep_pair, d);
	pthread_mutex_lock(&lock);
	d->next = devices;
	devices = d;
	pthread_mutex_unlock(&lock);
	*out = d;
	return COLLIDER_PTX_OK;
}

void collider_ptx_close(struct collider_ptx *d)
{
	if (!d || lib_enter(d))
		return;
	pthread_mutex_lock(&lock);
	struct collider_ptx **at = &devices;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	pthread_mutex_unlock(&lock);
	while (d->modules) {
		struct collider_ptx_module *m = d->modules;
		d->modules = m->next;
		lib_module_free(m);
	}
	cpu_machine_free(d->machine);
	lib_pairs_free(d);
	lib_leave(d, 0);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int collider_ptx_share(struct collider_ptx *d, void *memory, size_t bytes)
{
	int rc = lib_enter(d);

	if (rc)
		return rc;
	if (!memory || !bytes || bytes > UINTPTR_MAX - (uintptr_t)memory)
		rc = lib_fail(COLLIDER_PTX_ARGUMENT, "%zu bytes at %p are no memory", bytes,
			      memory);
	else if (!cpu_mem_register(d->machine, memory, bytes))
		rc = lib_fail(COLLIDER_PTX_ARGUMENT,
			      "some of the %zu bytes at %p are shared already, or a variable's",
			      bytes, memory);
	else if ((rc = lib_settle(rc)))
		cpu_mem_unregister(d->machine, memory);
	return lib_end(d, rc);
}

int collider_ptx_forget(struct collider_ptx *d, void *memory)
{
	int rc = lib_enter(d);

	if (rc)
		return rc;
	if (!cpu_mem_unregister(d->machine, memory))
		rc = lib_fail(COLLIDER_PTX_ARGUMENT, "%p is not the start of shared memory",
			      memory);
	return lib_end(d, rc); /* it is done, whatever memory there is */
}

int collider_ptx_get_totals(struct collider_ptx *d, struct collider_ptx_totals *out)
{
	struct cpu_oracle_stats o;
	struct cpu_stats s;
	int rc = lib_enter(d);

	if (rc)
		return rc;
	cpu_get_stats(d->machine, &s);
	cpu_get_oracle_stats(d->machine, &o);
	struct collider_ptx_totals t = {.launches = s.launches,
					.instructions = s.thread_insts,
					.judged = o.accesses,
					.findings = d->pairs.n,
					.races = d->races,
					.is_partial = o.is_full || o.dropped};
	return lib_leave(d, lib_give("totals", out, &t, LIB_FIRST(t, is_partial), sizeof(t)));
}
