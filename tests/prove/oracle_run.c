/*
 * oracle_run.c - launches of PTX kernels on the CPU device, judged by the oracle (mutants.py).
 *
 *   oracle_run FILE.ptx [MIB [SEEDS]] < LAUNCHES
 *
 * Reads one launch a line,
 *
 *   KERNEL BX BY BZ GX GY GZ FILL [ARGUMENT...]
 *
 * where FILL is what the arrays hold (zeros, or ramp: the 32-bit word i is i; zeros.exact: without
 * dynamic shared memory, so that what lies beyond the static one is a fault) and an ARGUMENT is p,
 * for an array of its own (of MIB, 1 if not given), or a number. Writes one line for each:
 *
 *   race LINE LINE    the PTX lines of the first data race
 *   clean             it ran to its end without one
 *   fault TEXT        an address outside of the arrays, a trap: not a launch to judge
 *
 * Arrays lie far apart: one that is left by much isn't another one, whose stores would race.
 *
 * With SEEDS each launch runs under so many schedules, until one of them isn't clean. A launch runs
 * in a child process of at most SECONDS of processor time. What has raced before the
 * threads wait for ever, or before the time is over, has raced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/cpu.h"
#include "race/file/pair.h"

#define SECONDS	     2
#define MIDDLE	     (array_bytes / 8) /* in words: where kernels get it */
#define DEVICE_BYTES ((uint64_t)1 << 30)
#define MAX_ARGS     64

struct launch {
	char *kernel;
	bool is_ramp, is_exact;
	struct cpu_launch l;
	unsigned nargs;
	char *args[MAX_ARGS];
};

static size_t array_bytes = (size_t)1 << 20;
static uint32_t raced[2];

static struct race_pair *on_pair(void *arg, const struct race_pair *p, size_t bytes)
{
	struct race_pair *copy = malloc(bytes);

	(void)arg;
	if (!p->is_possible && !raced[0]) {
		raced[0] = p->side[0].ptx_line;
		raced[1] = p->side[1].ptx_line;
		/* At once: the launch may never end. */
		printf("race %u %u\n", raced[0], raced[1]);
		fflush(stdout);
	}
	if (copy)
		memcpy(copy, p, bytes);
	return copy;
}

static bool parse(char *s, struct launch *x)
{
	char *save, *w = strtok_r(s, " \n", &save);
	uint32_t dims[6];

	memset(x, 0, sizeof(*x));
	x->kernel = w;
	for (unsigned i = 0; i < 6; i++) {
		w = strtok_r(NULL, " \n", &save);
		if (!w)
			return false;
		dims[i] = (uint32_t)strtoul(w, NULL, 10);
	}
	memcpy(x->l.block, dims, sizeof(x->l.block));
	memcpy(x->l.grid, dims + 3, sizeof(x->l.grid));
	w = strtok_r(NULL, " \n", &save);
	if (!w)
		return false;
	x->is_ramp = !strcmp(w, "ramp");
	x->is_exact = !strcmp(w, "zeros.exact");
	while ((w = strtok_r(NULL, " \n", &save)) != NULL && x->nargs < MAX_ARGS)
		x->args[x->nargs++] = w;
	return true;
}

static void *new_array(struct cpu_machine *m, bool is_ramp)
{
	uint32_t *p = cpu_mem_alloc(m, 0, array_bytes, CPU_MEM_DEVICE);

	if (!p)
		exit(2);
	for (size_t i = 0; i < array_bytes / 4; i++)
		p[i] = is_ramp ? (uint32_t)(i - MIDDLE) : 0;
	return p + MIDDLE;
}

static unsigned count_arrays(const struct launch *x)
{
	unsigned n = 0;

	for (unsigned i = 0; i < x->nargs; i++)
		n += !strcmp(x->args[i], "p");
	return n;
}

static void fill_args(struct cpu_machine *m, const struct launch *x, unsigned char *block)
{
	size_t each = DEVICE_BYTES / (count_arrays(x) + 1);
	void *gap[MAX_ARGS] = {NULL};

	for (unsigned i = 0; i < x->nargs; i++) {
		uint32_t off, n;
		uint64_t v;
		if (!cpu_kernel_param(x->l.kernel, i, &off, &n))
			break;
		if (!strcmp(x->args[i], "p")) {
			v = (uint64_t)(uintptr_t)new_array(m, x->is_ramp);
			if (each > array_bytes)
				gap[i] = cpu_mem_alloc(m, 0, each - array_bytes, CPU_MEM_DEVICE);
		} else {
			v = strtoull(x->args[i], NULL, 0);
		}
		memcpy(block + off, &v, n < 8 ? n : 8);
	}
	for (unsigned i = 0; i < MAX_ARGS; i++)
		if (gap[i])
			cpu_mem_free(m, gap[i]);
}

/* In the child: what it prints is the answer. */
static void run(struct ptx_module *ptx, struct launch *x, unsigned seed)
{
	struct cpu_options o = {.seed = seed,
				.threads = 1,
				.devices = 1,
				.memory = DEVICE_BYTES,
				.oracle = CPU_ORACLE_PROGRAM};
	struct cpu_machine *m = cpu_machine_new(&o);
	struct base_sink sink = {0};
	struct cpu_module *mod = m ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;
	struct cpu_work work = {.kind = CPU_WORK_KERNEL};
	struct cpu_kernel_info info;
	struct cpu_fault fault = {0};

	x->l.kernel = mod ? cpu_module_kernel(mod, x->kernel) : NULL;
	if (!x->l.kernel) {
		printf("fault not loaded\n");
		return;
	}
	unsigned char *block = calloc(1, cpu_kernel_param_bytes(x->l.kernel) + 16u);
	cpu_kernel_get_info(x->l.kernel, &info);
	if (info.shared_static < CPU_SHARED_STATIC && !x->is_exact)
		x->l.shared_dyn = CPU_SHARED_STATIC - info.shared_static;
	fill_args(m, x, block);
	x->l.params = block;
	x->l.is_cooperative = true;
	work.launch = x->l;
	cpu_on_pair(m, on_pair, NULL);
	struct cpu_op *op = cpu_submit(m, &work, NULL, 0, &fault);
	if (!op) { /* perhaps a grid that doesn't fit on the device at once */
		work.launch.is_cooperative = false;
		fault = (struct cpu_fault){0};
		op = cpu_submit(m, &work, NULL, 0, &fault);
	}
	if (op)
		cpu_op_wait(op);
	if (op)
		cpu_fault_get(m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE && fault.kind != CPU_FAULT_DEADLOCK)
		printf("fault %s\n", fault.text);
	free(block);
}

/* Lines of the child: a fault makes its races worthless. Was it clean? */
static bool answer(struct ptx_module *ptx, struct launch *x, unsigned seed, bool is_last)
{
	char line[1024], race[64] = "", fault[1024] = "";
	int fd[2];

	if (pipe(fd))
		exit(2);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		struct rlimit limit = {SECONDS, SECONDS + 1};
		setrlimit(RLIMIT_CPU, &limit);
		alarm(20 * SECONDS);
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		run(ptx, x, seed);
		fflush(stdout);
		_exit(0);
	}
	close(fd[1]);
	FILE *f = fdopen(fd[0], "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "race", 4))
			snprintf(race, sizeof(race), "%.60s", line);
		else
			snprintf(fault, sizeof(fault), "%s", line);
	}
	if (f)
		fclose(f);
	waitpid(pid, NULL, 0);
	bool is_clean = !*fault && !*race;
	if (!is_clean || is_last)
		printf("%s", *fault ? fault : *race ? race : "clean\n");
	return is_clean;
}

int main(int argc, char **argv)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text, line[4096];
	struct launch x;
	unsigned seeds = 1;
	size_t size;

	if (argc < 2 || argc > 4 || base_read_file(argv[1], &text, &size)) {
		fprintf(stderr, "usage: oracle_run FILE.ptx [MIB [SEEDS]] < LAUNCHES\n");
		return 2;
	}
	if (argc > 3)
		seeds = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc > 2)
		array_bytes = (size_t)strtoul(argv[2], NULL, 10) << 20;
	struct ptx_module *ptx = ptx_parse(&arena, argv[1], text, size, &sink);
	base_sink_print(&sink, stderr);
	while (ptx && fgets(line, sizeof(line), stdin)) {
		if (!parse(line, &x)) {
			fprintf(stderr, "expected: KERNEL BX BY BZ GX GY GZ FILL [ARGUMENT...]\n");
			return 2;
		}
		for (unsigned i = 1; i <= seeds; i++)
			if (!answer(ptx, &x, i, i == seeds))
				break;
		fflush(stdout);
	}
	base_arena_free(&arena);
	free(text);
	return ptx ? 0 : 2;
}
