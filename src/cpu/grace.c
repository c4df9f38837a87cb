/*
 * grace.c - does the program do something else, while there is work that it doesn't wait for?
 *
 * A program that launches and then polls memory, or sleeps, needs the device to go on without it.
 * One that is merely kept from its processor for a while is about to wait, and the device that
 * went on before would draw another schedule from the same seed. By the time of day the two look
 * alike. So looks are counted, CPU_GRACE_MS / 4 apart: at one that counts all threads of the
 * program slept, or they have spent as much time on processors since the last one. A thread that
 * is ready to run, stopped, or waits for a page doesn't sleep.
 * Misses: a thread that waits for a pipe or a disk looks like one that sleeps; without /proc all
 * threads seem to. Costs: a file of /proc for each thread, at a look.
 */
#include "base/clock.h"
#include "cpu/sched.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKS	 4u
#define LOOK_MS	 (CPU_GRACE_MS / LOOKS)
#define LIMIT_MS 20000u /* whatever the program does: it may wait for a stopped thread */

/* Of all threads but the calling one. */
static uint64_t others_ns(void)
{
	return base_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static bool is_asleep(int tasks, const char *tid)
{
	char name[40], text[256];

	snprintf(name, sizeof(name), "%.20s/stat", tid);
	int fd = openat(tasks, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* it has ended */
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = 0;
	/* "ID (NAME) STATE ...", and a name may hold anything. */
	const char *state = strrchr(text, ')');
	return !state || !state[1] || strchr("SZXI", state[2]);
}

static bool are_others_asleep(void)
{
	long self = syscall(SYS_gettid);
	DIR *dir = opendir("/proc/self/task");
	bool are = true;

	if (!dir)
		return true;
	for (const struct dirent *d; are && (d = readdir(dir));)
		are = d->d_name[0] == '.' || strtol(d->d_name, NULL, 10) == self ||
		      is_asleep(dirfd(dir), d->d_name);
	closedir(dir);
	return are;
}

void cpu_grace_begin(struct cpu_grace *g, uint64_t since)
{
	*g = (struct cpu_grace){.since = since, .looked = since, .spent_ns = others_ns()};
}

bool cpu_grace_is_over(struct cpu_engine *e, struct cpu_grace *g)
{
	uint64_t now = base_now_ms(), spent = others_ns();

	if (g->looks >= LOOKS || now < g->looked + LOOK_MS)
		return g->looks >= LOOKS;
	if (spent - g->spent_ns < LOOK_MS * 1000000ull && now < g->since + LIMIT_MS &&
	    (atomic_load(&e->wanted) || !are_others_asleep()))
		return false;
	g->looked = now;
	g->spent_ns = spent;
	return ++g->looks >= LOOKS;
}
