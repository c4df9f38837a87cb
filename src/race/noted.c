/*
 * noted.c - the notes of a kernel's launches: what they have in common, and their file (noted.h).
 *
 * Costs: two comparisons for each dimension and scalar, 15 ns where there are eight of these; 50 to
 * 100 us where a file is written, at most 64 times for each of them in a process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "race/noted.h"

#define MAGIC	  0x336465746f6eull
#define PATH_ROOM 4200u

uint64_t race_noted_id(uint64_t text, const char *name, size_t n)
{
	return base_hash(name, n, base_hash(&text, sizeof(text), BASE_FNV_INIT));
}

void race_noted_init(struct race_noted *all, uint64_t id)
{
	memset(all, 0, sizeof(*all));
	all->magic = MAGIC;
	all->id = id;
}

/* The entry of a kernel takes no negative number (race/plain.h). */
static bool read_scalar(const void *const *params, uint32_t i, uint32_t *out)
{
	int32_t v;

	if (!params || !params[i])
		return false;
	memcpy(&v, params[i], sizeof(v));
	*out = (uint32_t)v;
	return v >= 0;
}

/* The highest bit of v alone; 0 of 0. */
static uint32_t high_bit(uint32_t v)
{
	return v ? 1u << (31 - __builtin_clz(v)) : 0;
}

/* False: the bounds are right for it as they are. */
static bool widen(struct race_noted_bounds *b, uint32_t v)
{
	bool is_less = v<b->least, is_more = v> b->most;

	if (is_less)
		b->least = high_bit(v);
	if (is_more)
		b->most = 2 * high_bit(v) - 1;
	return is_less || is_more;
}

static bool add(struct race_noted_bounds *b, uint32_t v, bool is_first)
{
	if (!is_first)
		return widen(b, v);
	b->least = b->most = v;
	return true;
}

bool race_noted_add(struct race_noted *all, const uint32_t dim[6], const void *const *params,
		    uint64_t scalars)
{
	bool is_first = !all->has_launch, is_changed = false;

	for (uint32_t d = 0; d < 6; d++)
		if (!dim[d])
			return false; /* the driver refuses it */
	for (uint32_t d = 0; d < 6; d++)
		is_changed |= add(&all->dim[d], dim[d], is_first);
	if (is_first)
		all->scalars = scalars;
	all->scalars &= scalars; /* a file may name others than the module has */
	for (uint64_t left = all->scalars; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left), v;
		if (read_scalar(params, i, &v)) {
			is_changed |= add(&all->scalar[i], v, is_first);
			continue;
		}
		all->scalars &= ~(1ull << i);
		all->scalar[i] = (struct race_noted_bounds){0, 0};
		is_changed = true;
	}
	all->has_launch = 1;
	return is_changed;
}

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t sum_of(const struct race_noted *all)
{
	return base_hash(all, offsetof(struct race_noted, sum), BASE_FNV_INIT);
}

static bool path_of(char out[PATH_ROOM], const char *folder, uint64_t id)
{
	int n = snprintf(out, PATH_ROOM, "%s/%016llx-launches", folder, (unsigned long long)id);

	return n > 0 && (size_t)n < PATH_ROOM - 16;
}

bool race_noted_read(const char *folder, uint64_t id, struct race_noted *all)
{
	char path[PATH_ROOM];
	int fd = path_of(path, folder, id)
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
			 : -1;

	if (fd < 0)
		return false;
	bool ok = read(fd, all, sizeof(*all)) == (ssize_t)sizeof(*all);
	close(fd);
	return ok && all->magic == MAGIC && all->id == id && all->has_launch &&
	       all->sum == sum_of(all);
}

bool race_noted_write(const char *folder, struct race_noted *all)
{
	char path[PATH_ROOM], temp[PATH_ROOM];

	if (!path_of(path, folder, all->id))
		return false;
	snprintf(temp, sizeof(temp), "%.*s.%d", (int)PATH_ROOM - 16, path, (int)getpid());
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	all->sum = sum_of(all);
	bool ok = write(fd, all, sizeof(*all)) == (ssize_t)sizeof(*all);
	ok &= close(fd) == 0;
	ok = ok && rename(temp, path) == 0;
	if (!ok)
		unlink(temp);
	return ok;
}
