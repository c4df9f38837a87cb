/*
 * fuzz_cpu.c - libFuzzer target: parse, link, decode for the CPU device.
 *
 * Any text may be refused, none may crash; every kernel of what links is
 * decoded. Nothing is executed: code of a fuzzer does not end.
 *
 *	build/bin/fuzz_cpu tests/fuzz/corpus tests/corpus -max_total_time=600
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/load/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cpu_machine *machine;
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text = malloc(size + 1);

	if (!machine)
		machine = cpu_machine_new(&opt);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	struct ptx_module *m = ptx_parse(&arena, "fuzz", text, size, &sink);
	struct cpu_module *mod = NULL;
	if (m && !sink.errors)
		mod = cpu_module_load(machine, 0, &m, 1, &sink);
	if (mod) {
		for (size_t i = 0; i < mod->kernels.n; i++) {
			struct cpu_kernel_info info;
			cpu_kernel_get_info(mod->kernels.v[i], &info);
			cpu_kernel_ready(mod->kernels.v[i]);
		}
	}
	cpu_module_unload(mod);
	base_sink_free(&sink);
	base_arena_free(&arena);
	free(text);
	return 0;
}
