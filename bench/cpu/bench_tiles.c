/*
 * bench_tiles.c - the CPU device's speed in matrix products of warpgroups, plain and judged.
 *
 *   bench_tiles TILES.ptx [ROUNDS [KERNEL [plain|oracle]]]
 *
 *   m64n256k16 of f16, four products a round; best of three
 *
 * A number is floating-point operations of the products by processor time, on one core; all other
 * instructions, copies and the judging of both are in the time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cpu/cpu.h"

#define BLOCKS	    4u
#define TILE_BYTES  40960u
#define ROUND_FLOPS (4.0 * 2 * 64 * 256 * 16)

static double now(void)
{
	return 1e-9 * (double)base_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static double seconds(struct cpu_machine *m, struct cpu_module *mod, const char *name,
		      const void *params)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};

	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(mod, name),
				       .grid = {BLOCKS, 1, 1},
				       .block = {128, 1, 1},
				       .params = params};
	double start = now();
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, &fault);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
	cpu_fault_get(m, 0, &fault);
	if (fault.kind) {
		fprintf(stderr, "%s: %s\n", name, fault.text);
		exit(1);
	}
	return now() - start;
}

static void measure(struct ptx_module *ptx, enum cpu_oracle oracle, uint32_t rounds,
		    const char *only)
{
	static const char *const names[] = {"resident", "staged"};
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1, .oracle = oracle};
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_sink sink = {0};
	struct cpu_module *mod = cpu_module_load(m, 0, &ptx, 1, &sink);
	struct {
		uint64_t in, out;
		uint32_t rounds;
	} params = {.rounds = rounds};

	base_sink_print(&sink, stderr);
	if (!mod)
		exit(1);
	void *in = cpu_mem_alloc(m, 0, TILE_BYTES, CPU_MEM_DEVICE);
	void *out = cpu_mem_alloc(m, 0, BLOCKS * 512, CPU_MEM_DEVICE);
	memset(in, 0, TILE_BYTES);
	params.in = (uint64_t)(uintptr_t)in;
	params.out = (uint64_t)(uintptr_t)out;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double best = 0;
		if (only && strcmp(only, names[i]) != 0)
			continue;
		for (unsigned k = 0; k < 3; k++) {
			double time = seconds(m, mod, names[i], &params);
			double rate = BLOCKS * rounds * ROUND_FLOPS / time;
			best = rate > best ? rate : best;
		}
		printf("%-9s %-7s %7.2f GFLOP/s\n", names[i], oracle ? "oracle" : "plain",
		       best * 1e-9);
	}
	cpu_module_unload(mod);
	cpu_machine_free(m);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text;
	size_t size;

	if (argc < 2 || base_read_file(argv[1], &text, &size))
		return 2;
	struct ptx_module *ptx = ptx_parse(&arena, argv[1], text, size, &sink);
	base_sink_print(&sink, stderr);
	if (!ptx)
		return 1;
	const char *only = argc > 3 ? argv[3] : NULL, *how = argc > 4 ? argv[4] : NULL;
	if (!how || !strcmp(how, "plain"))
		measure(ptx, CPU_ORACLE_OFF, rounds, only);
	if (!how || !strcmp(how, "oracle"))
		measure(ptx, CPU_ORACLE_PROGRAM, rounds, only);
	base_arena_free(&arena);
	free(text);
	return 0;
}
