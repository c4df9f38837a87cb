/*
 * jit_approx.c - the approximations of which machine code has its own text, for many arguments or
 * for all.
 *
 *   jit_approx BITS     2^BITS arguments, evenly among all; 32: all of them
 *
 * ex2, lg2 and rsqrt, with and without .ftz: each thread adds up the results of its arguments as a
 * hash, by code (--jit=verify) and by the handlers, and the hashes must be the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "ptx/ptx.h"

#define ROUNDS	1024u /* arguments of a thread */
#define THREADS 1024u /* of a launch, in blocks of 256 */

static const char *const ops[] = {"ex2.approx.f32",   "ex2.approx.ftz.f32",
				  "lg2.approx.f32",   "lg2.approx.ftz.f32",
				  "rsqrt.approx.f32", "rsqrt.approx.ftz.f32"};

/* A thread's arguments are first + (thread * ROUNDS + round) * step. */
static void program(struct base_buf *b)
{
	base_buf_printf(b,
			".version 8.0\n.target sm_80\n.address_size 64\n"
			".visible .entry k(.param .u64 out, .param .u32 first, .param .u32 "
			"step)\n{\n\t.reg .pred %%p;\n\t.reg .b32 %%r<10>;\n\t.reg .b64 "
			"%%l<3>;\n\tld.param.u64 %%l0, [out];\n\tld.param.u32 %%r0, [first];\n"
			"\tld.param.u32 %%r1, [step];\n\tmov.u32 %%r2, %%tid.x;\n"
			"\tmov.u32 %%r3, %%ctaid.x;\n\tmad.lo.u32 %%r2, %%r3, 256, %%r2;\n"
			"\tmul.wide.u32 %%l1, %%r2, 4;\n\tadd.s64 %%l0, %%l0, %%l1;\n"
			"\tmul.lo.u32 %%r3, %%r1, %u;\n\tmad.lo.u32 %%r0, %%r2, %%r3, %%r0;\n"
			"\tmov.u32 %%r4, 0;\n\tmov.u32 %%r5, 0;\nLOOP:\n",
			ROUNDS);
	for (size_t i = 0; i < BASE_COUNTOF(ops); i++)
		base_buf_printf(b,
				"\t%s %%r6, %%r0;\n\tmad.lo.u32 %%r5, %%r5, 0x9e3779b1, %%r6;\n"
				"\tshf.l.wrap.b32 %%r5, %%r5, %%r5, 15;\n",
				ops[i]);
	base_buf_printf(b,
			"\tadd.u32 %%r0, %%r0, %%r1;\n\tadd.u32 %%r4, %%r4, 1;\n"
			"\tsetp.lt.u32 %%p, %%r4, %u;\n\t@%%p bra LOOP;\n"
			"\tst.global.u32 [%%l0], %%r5;\n\tret;\n}\n",
			ROUNDS);
}

struct machine {
	struct cpu_machine *m;
	struct cpu_module *mod;
	uint32_t *out;
	struct base_arena arena;
	struct base_sink sink;
};

static void start(struct machine *x, const struct base_buf *text, enum cpu_jit jit)
{
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1, .jit = jit};

	memset(x, 0, sizeof(*x));
	x->m = cpu_machine_new(&opt);
	struct ptx_module *ptx = ptx_parse(&x->arena, "approx.ptx", text->p, text->n, &x->sink);
	x->mod = x->m && ptx ? cpu_module_load(x->m, 0, &ptx, 1, &x->sink) : NULL;
	base_sink_print(&x->sink, stderr);
	x->out = x->m ? cpu_mem_alloc(x->m, 0, THREADS * 4, CPU_MEM_DEVICE) : NULL;
	if (!x->mod || !x->out)
		exit(2);
}

static void end(struct machine *x)
{
	cpu_module_unload(x->mod);
	cpu_machine_free(x->m);
	base_arena_free(&x->arena);
	base_sink_free(&x->sink);
}

static void launch(struct machine *x, uint32_t first, uint32_t step)
{
	const struct {
		uint64_t out;
		uint32_t first, step;
	} params = {(uint64_t)(uintptr_t)x->out, first, step};
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};

	w.launch.kernel = cpu_module_kernel(x->mod, "k");
	w.launch.grid[0] = THREADS / 256;
	w.launch.block[0] = 256;
	w.launch.grid[1] = w.launch.grid[2] = w.launch.block[1] = w.launch.block[2] = 1;
	w.launch.params = &params;
	struct cpu_op *op = cpu_submit(x->m, &w, NULL, 0, &fault);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
	cpu_fault_get(x->m, 0, &fault);
	if (!op || fault.kind != CPU_FAULT_NONE) {
		fprintf(stderr, "jit_approx: %s\n", fault.text);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned bits = argc > 1 ? (unsigned)atoi(argv[1]) : 20, bad = 0;
	struct base_buf text = {0};
	struct machine code, handlers;

	if (bits < 20 || bits > 32)
		return 2;
	program(&text);
	start(&code, &text, CPU_JIT_VERIFY);
	start(&handlers, &text, CPU_JIT_OFF);
	/* An odd step below the even one, so that all low bits occur. */
	uint32_t step = bits == 32 ? 1 : (1u << (32 - bits)) - 1;
	for (uint32_t i = 0; i < 1u << (bits - 20); i++) {
		uint32_t first = i * ROUNDS * THREADS * step;
		launch(&code, first, step);
		launch(&handlers, first, step);
		for (uint32_t t = 0; t < THREADS; t++) {
			if (code.out[t] == handlers.out[t])
				continue;
			fprintf(stderr,
				"of the %u arguments from 0x%08x on, %u apart, one differs\n",
				ROUNDS, first + t * ROUNDS * step, step);
			bad++;
		}
	}
	printf("2^%u arguments of %zu instructions, %u groups of %u differ\n", bits,
	       BASE_COUNTOF(ops), bad, ROUNDS);
	end(&code);
	end(&handlers);
	base_buf_free(&text);
	return bad != 0;
}
