/*
 * diff_cpu.c - executes the instructions of a list on the CPU device and compares with what a GPU
 * gave.
 *
 *   diff_cpu LIST RESULTS.zst [-v]      compares; -v shows more differences of each instruction
 *   diff_cpu LIST RESULTS.zst --split   executes each for one lane, half of the others, the rest
 *   ... --jit                           (last) as machine code, compared with the handlers
 *   diff_cpu --ptx LIST                 prints the kernels (for ptxas)
 *
 * The first FORM_RAW results of each instruction are compared one by one, exact instructions in
 * all FORM_THREADS by a hash, too. An instruction without results of the GPU is a failure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "cpu/cpu.h"
#include "forms.h"

#define BATCH 64u

struct compare {
	struct form_list list;
	char *results;
	size_t nresults;
	struct cpu_machine *m;
	uint64_t *in, *out;
	bool is_verbose;
	unsigned failures, missing, same;
};

static bool read_results(struct compare *c, const char *path)
{
	char *packed;
	size_t n;

	if (base_read_file(path, &packed, &n)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return false;
	}
	unsigned long long room = ZSTD_getFrameContentSize(packed, n);
	if (room == ZSTD_CONTENTSIZE_ERROR || room == ZSTD_CONTENTSIZE_UNKNOWN)
		return false;
	c->results = malloc(room + 1);
	c->nresults = ZSTD_decompress(c->results, room, packed, n);
	free(packed);
	return !ZSTD_isError(c->nresults);
}

static const struct form_result *find_result(const struct compare *c, const struct form *f,
					     struct form_result *head)
{
	for (size_t at = 0; at + sizeof(*head) <= c->nresults;) {
		memcpy(head, c->results + at, sizeof(*head));
		if (head->form == f->hash)
			return (const void *)(c->results + at);
		at += sizeof(*head) + (size_t)head->bytes * FORM_RAW;
	}
	return NULL;
}

static void show(const struct form *f, unsigned thread, const struct form_operand *o, uint64_t want,
		 uint64_t got)
{
	printf("  thread %u:", thread);
	for (unsigned i = 0; i < f->noperands; i++) {
		if (!f->operand[i].is_result)
			printf(" %s=%0*" PRIx64, f->operand[i].letter,
			       (int)f->operand[i].type->bytes * 2, forms_input(f, i, thread));
	}
	printf(": %s is %0*" PRIx64 ", on the GPU %0*" PRIx64 "\n", o->letter,
	       (int)o->type->bytes * 2, got, (int)o->type->bytes * 2, want);
}

/* Compares one result; returns whether it matches. */
static bool compare_one(struct compare *c, const struct form *f, unsigned operand, unsigned thread,
			const char *want_at, unsigned cell, unsigned nshown)
{
	const struct form_operand *o = &f->operand[operand];
	uint64_t want = 0, got = 0;

	memcpy(&want, want_at, o->type->bytes);
	memcpy(&got, &c->out[(size_t)cell * FORM_THREADS + thread], o->type->bytes);
	if (forms_match(f, o, want, got))
		return true;
	if (nshown == 0)
		printf("%u: %s\n", f->line, f->text);
	if (nshown < (c->is_verbose ? 20 : 3))
		show(f, thread, o, want, got);
	return false;
}

static void compare_form(struct compare *c, const struct form *f)
{
	struct form_result head;
	const char *raw = (const char *)find_result(c, f, &head);
	uint64_t all = BASE_FNV_INIT;
	unsigned bad = 0;

	if (!raw || head.bytes != forms_result_bytes(f)) {
		printf("%u: no results of a GPU: %s\n", f->line, f->text);
		c->missing++;
		return;
	}
	raw += sizeof(head);
	for (unsigned t = 0; t < FORM_THREADS; t++) {
		unsigned cell = 0;
		for (unsigned i = 0; i < f->noperands; i++) {
			unsigned bytes = f->operand[i].type->bytes;
			if (!f->operand[i].is_result)
				continue;
			all = base_hash(&c->out[(size_t)cell * FORM_THREADS + t], bytes, all);
			if (t < FORM_RAW) {
				bad += !compare_one(c, f, i, t, raw, cell, bad);
				raw += bytes;
			}
			cell++;
		}
	}
	if (!bad && f->kind == '=' && all != head.all) {
		printf("%u: %s\n  differs in a thread from %u on\n", f->line, f->text, FORM_RAW);
		bad = 1;
	}
	c->failures += bad != 0;
	c->same += bad == 0;
}

static bool run_form(struct compare *c, struct cpu_module *mod, size_t i)
{
	const struct form *f = &c->list.forms.v[i];
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	uint64_t params[2] = {(uint64_t)(uintptr_t)c->in, (uint64_t)(uintptr_t)c->out};
	struct cpu_fault fault = {0};
	unsigned cell = 0;
	char name[32];

	memset(c->out, 0, sizeof(uint64_t) * FORM_THREADS * FORM_OPERANDS);
	for (unsigned o = 0; o < f->noperands; o++) {
		for (unsigned t = 0; t < FORM_THREADS && !f->operand[o].is_result; t++)
			c->in[(size_t)cell * FORM_THREADS + t] = forms_input(f, o, t);
		cell += !f->operand[o].is_result;
	}
	snprintf(name, sizeof(name), "form_%zu", i);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(mod, name),
				       .grid = {FORM_THREADS / 128, 1, 1},
				       .block = {128, 1, 1},
				       .params = params};
	struct cpu_op *op = cpu_submit(c->m, &w, NULL, 0, &fault);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_fault_get(c->m, 0, &fault);
		cpu_fault_clear(c->m, 0);
	}
	if (fault.kind == CPU_FAULT_NONE)
		return true;
	printf("%u: %s\n  %s\n", f->line, f->text, fault.text);
	c->failures++;
	return false;
}

static bool run_batch(struct compare *c, size_t first, size_t n)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct base_buf text = {0};

	forms_emit(&c->list, first, n, &text);
	base_buf_put(&text, "", 1);
	struct ptx_module *ptx = ptx_parse(&arena, "forms.ptx", text.p, text.n - 1, &sink);
	struct cpu_module *mod = ptx ? cpu_module_load(c->m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	for (size_t i = first; mod && i < first + n; i++) {
		if (run_form(c, mod, i))
			compare_form(c, &c->list.forms.v[i]);
	}
	if (mod)
		cpu_module_unload(mod);
	base_sink_free(&sink);
	base_arena_free(&arena);
	base_buf_free(&text);
	return mod != NULL;
}

int main(int argc, char **argv)
{
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1};
	struct compare c = {.is_verbose = argc > 3 && !strcmp(argv[3], "-v")};
	size_t bytes = sizeof(uint64_t) * FORM_THREADS * FORM_OPERANDS;
	bool ok = true;

	if (argc < 3 || !forms_read(&c.list, argv[strcmp(argv[1], "--ptx") ? 1 : 2]))
		return 2;
	if (!strcmp(argv[1], "--ptx")) {
		struct base_buf text = {0};
		forms_emit(&c.list, 0, c.list.forms.n, &text);
		fwrite(text.p, 1, text.n, stdout);
		base_buf_free(&text);
		return 0;
	}
	if (!read_results(&c, argv[2]))
		return 2;
	c.list.is_split = argc > 3 && !strcmp(argv[3], "--split");
	if (!strcmp(argv[argc - 1], "--jit"))
		opt.jit = CPU_JIT_VERIFY;
	c.m = cpu_machine_new(&opt);
	c.in = cpu_mem_alloc(c.m, 0, bytes, CPU_MEM_DEVICE);
	c.out = cpu_mem_alloc(c.m, 0, bytes, CPU_MEM_DEVICE);
	for (size_t i = 0; ok && i < c.list.forms.n; i += BATCH)
		ok = run_batch(&c, i, c.list.forms.n - i < BATCH ? c.list.forms.n - i : BATCH);
	printf("%u of %zu instructions as on the GPU, %u differ, %u without results of a GPU\n",
	       c.same, c.list.forms.n, c.failures, c.missing);
	cpu_machine_free(c.m);
	free(c.results);
	base_vec_free(&c.list.forms);
	base_arena_free(&c.list.arena);
	return !ok || c.failures || c.missing;
}
