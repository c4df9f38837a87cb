/*
 * diff_gpu.c - executes the instructions of a list on a GPU and writes the results to a file.
 *
 *   diff_gpu LIST RESULTS [--try]
 *
 * The driver assembles the PTX. With --try nothing is written and each instruction that does not
 * assemble or run is named. Needs libcuda.so.1, found at run time; link it statically otherwise, so
 * that it can be carried to a machine with a GPU.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"

#define BATCH 24u

static int (*cu_init)(unsigned);
static int (*cu_device_get)(int *, int);
static int (*cu_ctx_create)(void **, void *, unsigned, int);
static int (*cu_module_load)(void **, const void *, unsigned, int *, void **);
static int (*cu_module_unload)(void *);
static int (*cu_get_function)(void **, void *, const char *);
static int (*cu_mem_alloc)(unsigned long long *, size_t);
static int (*cu_to_device)(unsigned long long, const void *, size_t);
static int (*cu_to_host)(void *, unsigned long long, size_t);
static int (*cu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			unsigned, void *, void **, void **);
static int (*cu_sync)(void);

static bool find_driver(void)
{
	static const struct {
		const char *name;
		void *at;
	} wanted[] = {
		{"cuInit", &cu_init},
		{"cuDeviceGet", &cu_device_get},
		{"cuCtxCreate_v4", &cu_ctx_create},
		{"cuModuleLoadDataEx", &cu_module_load},
		{"cuModuleUnload", &cu_module_unload},
		{"cuModuleGetFunction", &cu_get_function},
		{"cuMemAlloc_v2", &cu_mem_alloc},
		{"cuMemcpyHtoD_v2", &cu_to_device},
		{"cuMemcpyDtoH_v2", &cu_to_host},
		{"cuLaunchKernel", &cu_launch},
		{"cuCtxSynchronize", &cu_sync},
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < BASE_COUNTOF(wanted); i++) {
		void *f = lib ? dlsym(lib, wanted[i].name) : NULL;
		if (!f) {
			fprintf(stderr, "libcuda.so.1: no %s\n", wanted[i].name);
			return false;
		}
		memcpy(wanted[i].at, &f, sizeof(f));
	}
	return true;
}

static void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s failed with %d\n", what, rc);
		exit(1);
	}
}

struct run {
	struct form_list list;
	unsigned long long in, out;
	uint64_t *cells;
	size_t cell_bytes;
	struct base_buf results;
	unsigned failures;
};

/* Loads forms first..first+n-1; NULL: the driver refuses. */
static void *load(struct run *r, size_t first, size_t n)
{
	struct base_buf ptx = {0};
	void *module = NULL;

	forms_emit(&r->list, first, n, &ptx);
	base_buf_put(&ptx, "", 1);
	if (cu_module_load(&module, ptx.p, 0, NULL, NULL))
		module = NULL;
	base_buf_free(&ptx);
	return module;
}

static void keep(struct run *r, const struct form *f)
{
	struct form_result head = {.form = f->hash, .bytes = forms_result_bytes(f)};
	size_t at = r->results.n;

	base_buf_put(&r->results, &head, sizeof(head));
	uint64_t all = BASE_FNV_INIT;
	for (unsigned t = 0; t < FORM_THREADS; t++) {
		unsigned cell = 0;
		for (unsigned i = 0; i < f->noperands; i++) {
			if (!f->operand[i].is_result)
				continue;
			const uint64_t *v = &r->cells[(size_t)cell++ * FORM_THREADS + t];
			all = base_hash(v, f->operand[i].type->bytes, all);
			if (t < FORM_RAW)
				base_buf_put(&r->results, v, f->operand[i].type->bytes);
		}
	}
	memcpy(r->results.p + at + offsetof(struct form_result, all), &all, sizeof(all));
}

static void run_form(struct run *r, void *module, size_t i)
{
	const struct form *f = &r->list.forms.v[i];
	void *args[] = {&r->in, &r->out}, *fn;
	char name[32];
	unsigned cell = 0;

	memset(r->cells, 0, r->cell_bytes);
	must(cu_to_device(r->out, r->cells, r->cell_bytes), "cuMemcpyHtoD");
	for (unsigned o = 0; o < f->noperands; o++) {
		for (unsigned t = 0; t < FORM_THREADS && !f->operand[o].is_result; t++)
			r->cells[(size_t)cell * FORM_THREADS + t] = forms_input(f, o, t);
		cell += !f->operand[o].is_result;
	}
	must(cu_to_device(r->in, r->cells, r->cell_bytes), "cuMemcpyHtoD");
	snprintf(name, sizeof(name), "form_%zu", i);
	must(cu_get_function(&fn, module, name), name);
	int rc = cu_launch(fn, FORM_THREADS / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
	rc = rc ? rc : cu_sync();
	if (rc) {
		fprintf(stderr, "%u: error %d: %s\n", f->line, rc, f->text);
		exit(1);
	}
	must(cu_to_host(r->cells, r->out, r->cell_bytes), "cuMemcpyDtoH");
	keep(r, f);
}

static void run_batch(struct run *r, size_t first, size_t n)
{
	void *module = load(r, first, n);

	if (!module && n > 1) { /* find the one that is refused */
		run_batch(r, first, n / 2);
		run_batch(r, first + n / 2, n - n / 2);
		return;
	}
	if (!module) {
		const struct form *f = &r->list.forms.v[first];
		fprintf(stderr, "%u: the driver refuses: %s\n", f->line, f->text);
		r->failures++;
		return;
	}
	for (size_t i = first; i < first + n; i++)
		run_form(r, module, i);
	cu_module_unload(module);
}

int main(int argc, char **argv)
{
	struct run r = {.cell_bytes = sizeof(uint64_t) * FORM_THREADS * FORM_OPERANDS};
	bool is_try = argc > 3 && !strcmp(argv[3], "--try");
	void *ctx;
	int dev;

	if (argc < 3 || !forms_read(&r.list, argv[1]) || !find_driver())
		return 2;
	must(cu_init(0), "cuInit");
	must(cu_device_get(&dev, 0), "cuDeviceGet");
	must(cu_ctx_create(&ctx, NULL, 0, dev), "cuCtxCreate");
	must(cu_mem_alloc(&r.in, r.cell_bytes), "cuMemAlloc");
	must(cu_mem_alloc(&r.out, r.cell_bytes), "cuMemAlloc");
	r.cells = calloc(1, r.cell_bytes);
	for (size_t i = 0; i < r.list.forms.n; i += BATCH)
		run_batch(&r, i, r.list.forms.n - i < BATCH ? r.list.forms.n - i : BATCH);
	printf("%zu instructions, %u refused, %zu bytes\n", r.list.forms.n, r.failures,
	       r.results.n);
	if (!is_try && base_write_file(argv[2], r.results.p, r.results.n)) {
		fprintf(stderr, "%s: cannot be written\n", argv[2]);
		return 1;
	}
	return 0;
}
