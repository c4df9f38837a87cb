/*
 * bench_cpu.c - the CPU device's speed in thread-instructions a second.
 *
 *   bench_cpu F32.ptx [THREADS]     convergent f32 code, best of five
 *   bench_cpu --memory F32.ptx      100,000 resident threads with 1 GiB of device memory: peak size
 *
 * A number is thread-instructions executed (all instructions, control included) by wall time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "cpu/cpu.h"

static double now(void)
{
	return 1e-9 * (double)base_clock_ns(CLOCK_MONOTONIC);
}

static double run(struct cpu_machine *m, struct cpu_module *mod, void *out, uint32_t blocks,
		  uint32_t rounds)
{
	unsigned char params[16] = {0};
	uint64_t address = (uint64_t)(uintptr_t)out;
	struct cpu_fault fault = {0};
	struct cpu_stats before, after;
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};

	memcpy(params, &address, 8);
	memcpy(params + 8, &rounds, 4);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(mod, "f32"),
				       .grid = {blocks, 1, 1},
				       .block = {256, 1, 1},
				       .params = params};
	cpu_get_stats(m, &before);
	double start = now();
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, &fault);
	if (!op) {
		fprintf(stderr, "%s\n", fault.text);
		exit(1);
	}
	cpu_op_wait(op);
	cpu_op_put(op);
	double time = now() - start;
	cpu_get_stats(m, &after);
	return (double)(after.thread_insts - before.thread_insts) / time;
}

int main(int argc, char **argv)
{
	bool is_memory = argc > 1 && !strcmp(argv[1], "--memory");
	const char *file = argv[is_memory ? 2 : 1];
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1, .jit = CPU_JIT_ON};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text;
	size_t size;

	if (argc < 2 + is_memory || base_read_file(file, &text, &size))
		return 2;
	if (!is_memory && argc > 2)
		opt.threads = (unsigned)strtoul(argv[2], NULL, 10);
	if (is_memory)
		opt.sms = 49; /* 100,352 threads at the same time */
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct ptx_module *ptx = ptx_parse(&arena, file, text, size, &sink);
	struct cpu_module *mod = ptx ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	if (!mod)
		return 1;
	uint64_t bytes = is_memory ? 1ull << 30 : 1ull << 20;
	void *out = cpu_mem_alloc(m, 0, bytes, CPU_MEM_DEVICE);
	if (is_memory)
		memset(out, 1, bytes);
	double best = 0;
	for (int i = 0; i < (is_memory ? 1 : 5); i++) {
		double rate = run(m, mod, out, is_memory ? 392 : 64, is_memory ? 50 : 2000);
		best = rate > best ? rate : best;
	}
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	printf("%.2f G thread-instructions/s, peak %.2f GiB\n", best * 1e-9,
	       (double)use.ru_maxrss / (1 << 20));
	cpu_module_unload(mod);
	cpu_machine_free(m);
	base_arena_free(&arena);
	free(text);
	return 0;
}
