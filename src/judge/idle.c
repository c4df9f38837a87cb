/*
 * idle.c - how many trials may run at once: half of the processors that are idle but for them.
 *
 * What the system counts for each processor says how idle it was since the last look. Where that
 * can't be had, half of all processors is taken.
 *
 * Costs: a file of the system's is read 20 times a second at most.
 */
#include "base/clock.h"
#include "judge/serve.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 50000000ull

struct counts {
	uint64_t idle, all;
};

/* cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...: of the processors of this process. */
static struct counts count(FILE *f, const cpu_set_t *own)
{
	struct counts c = {0};
	char line[512];

	while (fgets(line, sizeof(line), f)) {
		unsigned cpu;
		int at = 0;
		if (sscanf(line, "cpu%u%n", &cpu, &at) != 1 || cpu >= CPU_SETSIZE ||
		    !CPU_ISSET(cpu, own))
			continue;
		char *p = line + at;
		for (unsigned i = 0; i < 8; i++) {
			uint64_t n = strtoull(p, &p, 10);
			c.all += n;
			c.idle += i == 3 || i == 4 ? n : 0;
		}
	}
	return c;
}

unsigned judge_jobs(unsigned running)
{
	static struct counts last;
	static uint64_t looked;
	static unsigned others; /* processors that others use */
	uint64_t now = base_now_ns();
	cpu_set_t own;
	unsigned n = 1;

	if (!sched_getaffinity(0, sizeof(own), &own))
		n = (unsigned)CPU_COUNT(&own);
	if (now - looked >= LOOK_NS) {
		FILE *f = fopen("/proc/stat", "re");
		struct counts c = f ? count(f, &own) : last;
		uint64_t all = c.all - last.all, idle = c.idle - last.idle;
		if (f)
			fclose(f);
		unsigned used = all && looked ? (unsigned)((all - idle) * n / all) : 0;
		others = used > running ? used - running : 0;
		last = c;
		looked = now;
	}
	unsigned jobs = n > others ? (n - others) / 2 : 0;
	return jobs ? jobs : 1;
}
