/*
 * bench_host.c - what the checks in host code cost: each piece of loops.c with and without them.
 *
 * Four settings, with the runtime as it is under `collider run`:
 *
 *   idle    no device work is in flight: every access ends at the filter
 *   beside  device work is in flight, and its memory is elsewhere: the same
 *   between the same, but lies at lower and higher addresses: accesses pass the filter, and end at
 *           the map of pages
 *   shared  device work is in flight all the time, and the piece touches managed memory alone:
 *           accesses are paced, checked and delayed, as on a GPU (delays up to 5 us)
 *
 * The process plays the device: it makes the shared file and starts itself again, so that the
 * runtime finds it. Times are the thread's processor time (delays are spun, so they count), the
 * best of several runs; both versions of a piece run in turn.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loops.h"
#include "base/clock.h"
#include "race/file/host.h"
#include "race/file/shm_write.h"

#define RUNS	7
#define RUN_NS	20e6 /* of a piece, as many calls as fit; at least one */
#define ARENA	(64u << 20)
#define WARM_NS 1e9 /* of a piece in shared memory, before timing: a long run is the question */

static double now_ns(void)
{
	return (double)base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint32_t rng = 12345;

static uint32_t draw(void)
{
	rng = rng * 1664525u + 1013904223u;
	return rng >> 8;
}

static void *take(char **at, size_t n)
{
	void *p = *at;

	*at += (n + 63) & ~(size_t)63;
	return p;
}

/* Everything in one block of memory. */
static struct bench_data data_make(char *block)
{
	struct bench_data d = {0};
	char *at = block;
	size_t *order = malloc(BENCH_N * sizeof(*order));

	rng = 12345;
	d.a = take(&at, BENCH_N * sizeof(*d.a));
	d.b = take(&at, BENCH_N * sizeof(*d.b));
	d.c = take(&at, BENCH_N * sizeof(*d.c));
	d.u = take(&at, BENCH_N * sizeof(*d.u));
	d.v = take(&at, BENCH_N * sizeof(*d.v));
	d.bytes = take(&at, BENCH_N);
	d.nodes = take(&at, BENCH_N * sizeof(*d.nodes));
	d.table = take(&at, BENCH_N / 4 * sizeof(*d.table));
	for (size_t i = 0; i < BENCH_N; i++) {
		d.a[i] = (float)(draw() % 1000);
		d.b[i] = (float)(draw() % 1000);
		d.u[i] = draw();
		d.bytes[i] = (unsigned char)draw();
		order[i] = i;
	}
	for (size_t i = BENCH_N; i-- > 2;) {
		size_t j = 1 + draw() % i, x = order[i];
		order[i] = order[j];
		order[j] = x;
	}
	for (size_t i = 0; i < BENCH_N; i++) {
		struct bench_node *n = &d.nodes[order[i]], **p = &d.root;
		n->key = d.u[i];
		n->next = i + 1 < BENCH_N ? &d.nodes[order[i + 1]] : NULL;
		while (*p)
			p = n->key < (*p)->key ? &(*p)->left : &(*p)->right;
		*p = n;
	}
	free(order);
	return d;
}

static void table_make(struct bench_data *d)
{
	memset(d->table, 0, BENCH_N / 4 * sizeof(*d->table));
	for (size_t i = 0; i < BENCH_N; i++) {
		struct bench_node **slot = &d->table[d->nodes[i].key * 0x9e3779b97f4a7c15ull >> 50];
		d->nodes[i].left = *slot;
		*slot = &d->nodes[i];
	}
}

static double sink;

static double time_of(bench_fn *fn, struct bench_data *d, unsigned calls)
{
	double start = now_ns();

	for (unsigned i = 0; i < calls; i++)
		sink += fn(d);
	return (now_ns() - start) / calls;
}

static double ratio_of(const char *setting, const char *name, bench_fn *plain, bench_fn *host,
		       struct bench_data *d, bool is_shared)
{
	double once = time_of(plain, d, 3), best[2] = {INFINITY, INFINITY};
	unsigned calls = once < RUN_NS ? (unsigned)(RUN_NS / once / 10) + 1 : 1;

	for (double ns = 0; is_shared && ns < WARM_NS;)
		ns += time_of(host, d, 1);
	for (int run = 0; run < RUNS; run++) {
		best[0] = fmin(best[0], time_of(plain, d, calls));
		best[1] = fmin(best[1], time_of(host, d, calls));
	}
	printf("%-8s %-14s %10.1f %10.1f %7.2f\n", setting, name, best[0] / 1e3, best[1] / 1e3,
	       best[1] / best[0]);
	return best[1] / best[0];
}

static void setting_run(const char *setting, char *block, bool is_busy, bool is_shared)
{
	struct bench_data d = data_make(block);
	double loops = 0, chases = 0;
	int nloops = 0, nchases = 0;

	if (is_shared)
		race_host_add((uint64_t)(uintptr_t)block, ARENA, RACE_SPACE_MANAGED);
	race_host_busy(0, is_busy);
#define RUN_LOOP(name)                                                                             \
	loops += log(ratio_of(setting, #name, plain_##name, host_##name, &d, is_shared));          \
	nloops++;
#define RUN_CHASE(name)                                                                            \
	if (!strcmp(#name, "hash"))                                                                \
		table_make(&d);                                                                    \
	if (!strcmp(#name, "graph"))                                                               \
		d = data_make(memset(block, 0, ARENA));                                            \
	if (!strcmp(#name, "heap"))                                                                \
		for (size_t i = 0; i < BENCH_N / 4; i++)                                           \
			d.table[i] = &d.nodes[i * 4];                                              \
	chases += log(ratio_of(setting, #name, plain_##name, host_##name, &d, is_shared));         \
	nchases++;
	LOOPS(RUN_LOOP)
	CHASES(RUN_CHASE)
	race_host_busy(0, false);
	race_host_remove((uint64_t)(uintptr_t)block);
	printf("%-8s geomean: host loops %.2f, pointer code %.2f\n\n", setting, exp(loops / nloops),
	       exp(chases / nchases));
}

static int start_again(char **argv)
{
	static const struct race_shm head = {.magic = RACE_SHM_MAGIC,
					     .version = RACE_SHM_VERSION,
					     .heap_limit = RACE_SHM_HEAP_BYTES,
					     .rdelay = 5000,
					     .dense = 64};
	char number[16];
	int fd = memfd_create("bench_host", 0);

	if (fd < 0 || ftruncate(fd, (off_t)RACE_SHM_BYTES) ||
	    write(fd, &head, sizeof(head)) != (ssize_t)sizeof(head))
		return 2;
	snprintf(number, sizeof(number), "%d", fd);
	setenv(RACE_SHM_ENV, number, 1);
	execv("/proc/self/exe", argv);
	return 2;
}

static char *block_make(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(2);
	return p;
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv(RACE_SHM_ENV))
		return start_again(argv);
	if (!race_shm_open() || !race_host_get())
		return 2;
	char *elsewhere = block_make(ARENA), *three = block_make(3 * ARENA);
	race_host_add((uint64_t)(uintptr_t)elsewhere, ARENA, RACE_SPACE_MANAGED);
	printf("%-8s %-14s %10s %10s %7s\n", "setting", "piece", "plain us", "host us", "ratio");
	setting_run("idle", block_make(ARENA), false, false);
	setting_run("beside", block_make(ARENA), true, false);
	race_host_add((uint64_t)(uintptr_t)three, ARENA, RACE_SPACE_MANAGED);
	race_host_add((uint64_t)(uintptr_t)three + 2 * ARENA, ARENA, RACE_SPACE_MANAGED);
	setting_run("between", three + ARENA, true, false);
	race_host_remove((uint64_t)(uintptr_t)three);
	race_host_remove((uint64_t)(uintptr_t)three + 2 * ARENA);
	setting_run("shared", block_make(ARENA), true, true);
	return sink == 0;
}
