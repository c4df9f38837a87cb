/*
 * processors.c - how many processors this process may use at once.
 *
 * The affinity says which it may run on, and the control groups it is in how much of their time it
 * gets: a container with two processors' time on a machine of 64 still has an affinity of 64. More
 * threads than that are stopped by the kernel in the middle of their work. Of cgroups v2 and v1
 * (cgroups(7), Linux: Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst), the group
 * and all above it.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of DIR/NAME. */
static bool read_line(const char *dir, const char *name, char *line, int room)
{
	char path[PATH_MAX];
	bool has_line = false;
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
		f = fopen(path, "re");
	if (f) {
		has_line = fgets(line, room, f) != NULL;
		fclose(f);
	}
	return has_line;
}

/* Processors' worth of time that the group in the folder gets; UINT_MAX: no limit of its own. */
static unsigned quota_of(const char *dir)
{
	char line[128];
	long long quota = -1, period = 0;

	/* v2: "QUOTA PERIOD", or "max PERIOD"; v1: two files, and -1 for none. */
	if (read_line(dir, "cpu.max", line, sizeof(line))) {
		if (sscanf(line, "%lld %lld", &quota, &period) != 2)
			return UINT_MAX;
	} else if (read_line(dir, "cpu.cfs_quota_us", line, sizeof(line))) {
		quota = strtoll(line, NULL, 10);
		if (read_line(dir, "cpu.cfs_period_us", line, sizeof(line)))
			period = strtoll(line, NULL, 10);
	}
	if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
		return UINT_MAX;
	return (unsigned)((quota + period - 1) / period);
}

/* Of the group at BASE/GROUP and those above it, up to BASE. */
static unsigned least_of(const char *base, const char *group)
{
	unsigned least = UINT_MAX, n;
	char dir[PATH_MAX];
	int end = snprintf(dir, sizeof(dir), "%s%s", base, group);
	char *slash;

	if (end < 0 || (size_t)end >= sizeof(dir))
		return UINT_MAX;
	do {
		n = quota_of(dir);
		least = n < least ? n : least;
		slash = strrchr(dir + strlen(base), '/');
		if (slash)
			*slash = 0;
	} while (slash);
	return least;
}

/* Is it among the controllers that the line names, as in "cpu,cpuacct"? */
static bool has_cpu(const char *controllers)
{
	for (const char *p = controllers; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (strcspn(p, ",") == 3 && !strncmp(p, "cpu", 3))
			return true;
	return false;
}

unsigned base_cgroup_processors(const char *groups, const char *root)
{
	FILE *f = fopen(groups, "re");
	unsigned least = UINT_MAX, n;
	char line[PATH_MAX], base[PATH_MAX];

	/* "NUMBER:CONTROLLERS:GROUP"; v2 is number 0 without controllers. */
	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
		if (!group)
			continue;
		*names++ = *group++ = 0;
		group[strcspn(group, "\n")] = 0;
		if (*names && !has_cpu(names))
			continue;
		n = (unsigned)snprintf(base, sizeof(base), "%s%s%s", root, *names ? "/" : "",
				       names);
		n = n < sizeof(base) ? least_of(base, group) : UINT_MAX;
		least = n < least ? n : least;
	}
	if (f)
		fclose(f);
	return least;
}

unsigned base_processors(void)
{
	unsigned quota = base_cgroup_processors("/proc/self/cgroup", "/sys/fs/cgroup"), n;
	cpu_set_t set;

	n = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
	return quota < n ? quota : n;
}
