/*
 * shm_write.c - the file shared with `collider run`: regions, chunks, notes.
 *
 * Everything is claimed without a lock, since several processes write to the
 * file. A chunk's `room` is set at once and `bytes` last, so that a reader can
 * step over one whose writer was killed in between. When a limit (RACE_REGIONS, heap_limit) is
 * reached, that is reported; nothing waits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#include "race/file/shm_write.h"

/* Defaults without `collider run`: the balanced setting. */
#define OWN_RDELAY 5000u
#define OWN_WDELAY 1u
#define OWN_DENSE  64
#define GAP_TEXT   600u /* bytes of each string */

static struct race_shm *shm;
static bool is_own;

static bool map_file(int fd, uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		race_shm_say("cannot map the shared file: %s; races go unchecked", strerror(errno));
		return false;
	}
	shm = p;
	return true;
}

/* Maps the file if it is one of ours: NULL, or what is wrong with it. */
static const char *try_file(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)RACE_SHM_HEAP)
		return "is not a file made by `collider run`";
	if (!map_file(fd, (uint64_t)st.st_size))
		return "cannot be mapped";
	if (shm->magic == RACE_SHM_MAGIC && shm->version == RACE_SHM_VERSION &&
	    shm->heap_limit <= (uint64_t)st.st_size - RACE_SHM_HEAP)
		return NULL;
	munmap(shm, (size_t)st.st_size);
	shm = NULL;
	return "was made by another version of Collider";
}

/* The inherited descriptor; if a parent process has closed it (Python's subprocess does), the
 * launcher's own through /proc. */
static bool open_given(const char *number)
{
	const char *path = getenv(RACE_SHM_PATH_ENV), *why, *why_not = "";
	char *end;
	long fd = strtol(number, &end, 10);

	why = try_file(end == number || *end || fd < 0 || fd > 1 << 20 ? -1 : (int)fd);
	if (why && path) {
		int other = open(path, O_RDWR | O_CLOEXEC);
		why_not = try_file(other);
		if (other >= 0)
			close(other);
	}
	if (!why || !why_not)
		return true;
	race_shm_say("%s=%s %s; races go unchecked", RACE_SHM_ENV, number, why);
	return false;
}

static bool open_own(void)
{
	int fd = memfd_create("collider", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)RACE_SHM_BYTES) != 0 || !map_file(fd, RACE_SHM_BYTES)) {
		race_shm_say("no memory for reports; races go unchecked");
		if (fd >= 0)
			close(fd);
		return false;
	}
	close(fd);
	shm->version = RACE_SHM_VERSION;
	shm->heap_limit = RACE_SHM_HEAP_BYTES;
	shm->rdelay = OWN_RDELAY;
	shm->wdelay = OWN_WDELAY;
	shm->dense = OWN_DENSE;
	shm->window = RACE_WINDOW;
	shm->magic = RACE_SHM_MAGIC;
	is_own = true;
	return true;
}

static struct race_chunk *heap_at(uint64_t offset)
{
	return (struct race_chunk *)(void *)((char *)shm + RACE_SHM_HEAP + offset);
}

/* ------------------------------------------------------------------------ */

bool race_shm_open(void)
{
	const char *number = getenv(RACE_SHM_ENV);

	return number ? open_given(number) : open_own();
}

struct race_shm *race_shm_get(void)
{
	return shm;
}

bool race_shm_is_own(void)
{
	return is_own;
}

void race_shm_disown(void)
{
	is_own = false;
}

void race_shm_state(enum race_agent_state state)
{
	uint32_t old = __atomic_load_n(&shm->agent_state, __ATOMIC_RELAXED);

	/* The best of all processes: attached stays; otherwise the latest problem is kept. */
	while (old != RACE_AGENT_ATTACHED &&
	       !__atomic_compare_exchange_n(&shm->agent_state, &old, (uint32_t)state, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void *race_shm_chunk(enum race_chunk_kind kind, uint64_t hash, const void *data, size_t n,
		     const void *more, size_t m)
{
	uint64_t room = (sizeof(struct race_chunk) + n + m + 15) & ~15ull;
	uint64_t old = __atomic_load_n(&shm->heap_used, __ATOMIC_RELAXED);
	struct race_chunk *c;
	char *payload;

	do {
		if (room > UINT32_MAX || old > shm->heap_limit || room > shm->heap_limit - old)
			return NULL;
	} while (!__atomic_compare_exchange_n(&shm->heap_used, &old, old + room, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	c = heap_at(old);
	__atomic_store_n(&c->room, (uint32_t)room, __ATOMIC_RELEASE);
	c->kind = kind;
	c->hash = hash;
	c->pid = (uint32_t)getpid();
	payload = (char *)(c + 1);
	if (data) /* nothing has been there: the file only grows */
		memcpy(payload, data, n);
	if (more)
		memcpy(payload + n, more, m);
	__atomic_store_n(&c->bytes, (uint32_t)(n + m), __ATOMIC_RELEASE);
	return payload;
}

void *race_shm_find(enum race_chunk_kind kind, uint64_t hash, size_t *bytes)
{
	uint64_t used = __atomic_load_n(&shm->heap_used, __ATOMIC_RELAXED);
	uint64_t at = 0;

	while (at + sizeof(struct race_chunk) <= used) {
		struct race_chunk *c = heap_at(at);
		uint32_t room = __atomic_load_n(&c->room, __ATOMIC_ACQUIRE);

		if (room == 0) /* just claimed by another process: stop here */
			return NULL;
		*bytes = __atomic_load_n(&c->bytes, __ATOMIC_ACQUIRE);
		if (*bytes && c->kind == kind && c->hash == hash)
			return c + 1;
		at += room;
	}
	return NULL;
}

bool race_shm_has(enum race_chunk_kind kind, uint64_t hash)
{
	size_t bytes;

	return race_shm_find(kind, hash, &bytes) != NULL;
}

void race_shm_say(const char *fmt, ...)
{
	char line[600] = "collider: ";
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* stderr is closed */
}

uint64_t *race_shm_gap(enum race_gap_why why, const char *kernel, const char *what, uint64_t n)
{
	struct race_gap_count *c, fresh = {.count = n, .why = why};
	size_t kernel_bytes = strnlen(kernel, GAP_TEXT), what_bytes = strnlen(what, GAP_TEXT);
	char text[2 * GAP_TEXT + 2];

	if (!shm)
		return NULL;
	memcpy(text, kernel, kernel_bytes);
	text[kernel_bytes] = 0;
	memcpy(text + kernel_bytes + 1, what, what_bytes);
	text[kernel_bytes + 1 + what_bytes] = 0;
	fresh.what = (uint32_t)kernel_bytes + 1;
	size_t bytes = kernel_bytes + what_bytes + 2, found;
	uint64_t hash = base_hash(text, bytes, base_hash((char[]){(char)why}, 1, BASE_FNV_INIT));
	c = race_shm_find(RACE_CHUNK_GAP, hash, &found);
	if (!c)
		c = race_shm_chunk(RACE_CHUNK_GAP, hash, &fresh, sizeof(fresh), text, bytes);
	else if (found >= sizeof(*c))
		__atomic_fetch_add(&c->count, n, __ATOMIC_RELAXED);
	return c ? &c->count : NULL;
}

void race_shm_gap_note(enum race_gap_why why, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	race_shm_say("%s", line);
	race_shm_gap(why, "", line, 0);
}

static void add_note(const char *line)
{
	if (shm)
		race_shm_chunk(RACE_CHUNK_NOTE, base_hash(line, strlen(line), BASE_FNV_INIT), line,
			       strlen(line) + 1, NULL, 0);
}

void race_shm_note(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	race_shm_say("%s", line);
	add_note(line);
}

void race_shm_remark(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	add_note(line);
}
