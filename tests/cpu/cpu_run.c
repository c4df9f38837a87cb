/*
 * cpu_run.c - runs a PTX file on the CPU device and checks what its comments expect.
 *
 *   cpu_run FILE.ptx...          every file with all its seeds and models
 *   cpu_run --oracle FILE.ptx... also prints what the oracle reports of each run
 *   cpu_run --dump FILE.ptx      prints the buffers after the first run instead of checking
 *
 * case.h says what comments it may have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "cpu/cpu.h"
#include "cpu/virtual.h"
#include "race/race.h"

#define MULTICAST_AT 0x600000000000ull /* where no memory is */

static struct base_buf printed;
static bool is_judged;

static struct race *find_race(struct test *t, const char *kind, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < t->nraces; i++) {
		struct race *r = &t->races[i];
		bool is_pair = (r->lines[0] == a && r->lines[1] == b) ||
			       (r->lines[0] == b && r->lines[1] == a);
		if (is_pair && !strcmp(r->kind, kind))
			return r;
	}
	return NULL;
}

/* Each new pair: printed, or one that is expected. */
static struct race_pair *pair_found(void *arg, const struct race_pair *p, size_t bytes)
{
	struct test *t = arg;
	const char *s = (const char *)(p + 1) + p->nframes * sizeof(struct race_frame);
	const char *kind = race_kind_name(p->kind);
	struct race *r = find_race(t, kind, p->side[0].ptx_line, p->side[1].ptx_line);

	(void)bytes;
	t->ntold++;
	if (r && (!r->is_told || r->pair.is_possible))
		r->pair = *p;
	if (r)
		r->is_told = true;
	if (!is_judged && (r || !t->has_verdict) && t->judge != JUDGE_CLEAN)
		return r ? &r->pair : NULL;
	t->failures += t->has_verdict && !r;
	printf("%s: %s%s: PTX line %u: %s | PTX line %u: %s\n", t->file,
	       t->has_verdict && !r ? "unexpected race, " : "", kind, p->side[0].ptx_line,
	       s + p->side[0].text, p->side[1].ptx_line, s + p->side[1].text);
	return NULL;
}

static void add_members(struct cpu_machine *m, struct buffer *b, unsigned number)
{
	uint64_t at = MULTICAST_AT + ((uint64_t)number << 32);

	b->mem = (unsigned char *)(uintptr_t)at;
	for (unsigned i = 0; i < MAX_MEMBERS && b->of[i]; i++)
		cpu_multicast_add(m, at, b->of[i]->size, (uint64_t)(uintptr_t)b->of[i]->mem);
}

static void fill_tensormap(const struct test *t, const struct tensormap *m)
{
	struct cpu_tensormap_desc d = {.type = 2 /* UINT32 */,
				       .rank = m->is_pixels ? 3 : 2,
				       .address = (uint64_t)(uintptr_t)m->of->mem,
				       .dims = {m->size[0], m->size[1], m->size[2]},
				       .strides = {m->size[0] * 4u, m->size[0] * m->size[1] * 4u},
				       .box = {m->box[0], m->box[1]},
				       .element_strides = {1, 1, 1},
				       .swizzle = m->swizzle,
				       .is_im2col = m->is_pixels,
				       .channels = m->box[0],
				       .pixels = m->box[1],
				       .wide = m->wide};
	const char *wrong = cpu_tensormap_encode(&d, m->map->mem);

	if (wrong)
		case_bad(t, 1, "tensormap", wrong);
}

static void make_texture(struct cpu_machine *m, struct texture *x)
{
	struct cpu_texture d = {.address = (uint64_t)(uintptr_t)x->of->mem,
				.width = x->size[0],
				.height = x->size[1],
				.pitch = x->size[0] * 4u,
				.channels = 1,
				.bits = 32,
				.type = CPU_TEX_UNSIGNED,
				.mode = {CPU_TEX_CLAMP, CPU_TEX_CLAMP, CPU_TEX_CLAMP},
				.is_surface = x->is_surface,
				.is_array = true};

	x->handle = cpu_texture_new(m, &d);
}

/* What a buffer is as an argument: its address, or the number of a texture. */
static uint64_t value_of(const struct test *t, const struct buffer *b)
{
	for (unsigned i = 0; i < t->ntextures; i++)
		if (t->textures[i].self == b)
			return t->textures[i].handle;
	return (uint64_t)(uintptr_t)b->mem;
}

static const char *const fault_names[] = {"none",     "address",  "misaligned", "unsupported",
					  "trap",     "assert",	  "illegal",	"stack",
					  "deadlock", "resources"};
static const char *const model_names[] = {"sc", "weak", "a1"};

static void fill_args(struct test *t, const struct launch *l, struct cpu_kernel *k,
		      unsigned char *params)
{
	for (unsigned i = 0; i < l->nargs; i++) {
		char *colon = strchr(l->args[i], ':'), *plus = strchr(l->args[i], '+');
		size_t n = plus ? (size_t)(plus - l->args[i]) : strlen(l->args[i]);
		struct buffer *b = case_buffer(t, l->args[i], n);
		size_t size = colon ? case_type_size(colon + 1) : 0;
		uint32_t off, bytes;
		if (!cpu_kernel_param(k, i, &off, &bytes))
			case_bad(t, l->line, "the kernel has fewer parameters", l->args[i]);
		if (b) {
			uint64_t a = value_of(t, b);
			a += plus ? strtoull(plus + 1, NULL, 0) : 0;
			memcpy(params + off, &a, bytes < 8 ? bytes : 8);
		} else if (size && size <= bytes) {
			case_put_value(params + off, colon + 1, l->args[i]);
		} else {
			case_bad(t, l->line, "expected a buffer or VALUE:TYPE", l->args[i]);
		}
	}
}

static void run_launch(struct test *t, const struct launch *l, struct cpu_machine *m,
		       struct cpu_module *mod, struct cpu_fault *refused)
{
	struct cpu_kernel *k = cpu_module_kernel(mod, l->kernel);
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};

	if (!k)
		case_bad(t, l->line, "no such kernel", l->kernel);
	unsigned char *params = calloc(1, cpu_kernel_param_bytes(k) + 16u);
	fill_args(t, l, k, params);
	w.launch.kernel = k;
	memcpy(w.launch.grid, l->grid, sizeof(l->grid));
	memcpy(w.launch.block, l->block, sizeof(l->block));
	memcpy(w.launch.cluster, l->cluster, sizeof(l->cluster));
	w.launch.shared_dyn = l->shared;
	w.launch.params = params;
	w.launch.is_cooperative = l->is_cooperative;
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, refused);
	free(params);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
}

static void fail(struct test *t, unsigned line, enum cpu_model model, uint64_t seed)
{
	t->failures++;
	printf("%s:%u: failed with model %s, seed %" PRIu64 ":", t->file, line, model_names[model],
	       seed);
}

static void check_one(struct test *t, struct expect *e, enum cpu_model model, uint64_t seed)
{
	if (e->kind == EXPECT_PRINT) {
		if (!printed.p || !strstr(printed.p, e->text)) {
			fail(t, e->line, model, seed);
			printf(" printed '%s', expected '%s'\n", printed.p ? printed.p : "",
			       e->text);
		}
		return;
	}
	size_t size = case_type_size(e->buffer->type);
	const unsigned char *found = e->buffer->mem + e->at * size;
	bool is_equal = !memcmp(found, e->values, e->n * size);

	if (e->kind == EXPECT_EITHER)
		is_equal |= !memcmp(found, e->values2, e->n2 * size);
	if (is_equal)
		e->seen = true;
	if (is_equal || e->kind == EXPECT_SOME)
		return;
	size_t i = 0;
	while (i + 1 < e->n && !memcmp(found + i * size, e->values + i * size, size))
		i++;
	fail(t, e->line, model, seed);
	printf(" %s[%zu] is", e->buffer->name, e->at + i);
	case_print_value(found + i * size, e->buffer->type);
	printf(", expected");
	case_print_value(e->values + i * size, e->buffer->type);
	printf("\n");
}

static void check_run(struct test *t, struct cpu_machine *m, const struct cpu_fault *refused,
		      enum cpu_model model, uint64_t seed)
{
	struct cpu_fault f;

	cpu_fault_get(m, 0, &f);
	if (f.kind == CPU_FAULT_NONE && refused->kind != CPU_FAULT_NONE)
		f = *refused;
	const char *kind = t->fault_kind ? t->fault_kind : "none";
	if (strcmp(kind, fault_names[f.kind]) != 0 ||
	    (t->fault_text && !strstr(f.text, t->fault_text))) {
		fail(t, 1, model, seed);
		printf(" fault '%s' (%s), expected '%s' (%s)\n", fault_names[f.kind], f.text, kind,
		       t->fault_text ? t->fault_text : "");
		return;
	}
	for (unsigned i = 0; i < t->nexpects; i++)
		check_one(t, &t->expects[i], model, seed);
	for (unsigned i = 0; i < t->nraces && model == CPU_MODEL_SC; i++) {
		if (!t->races[i].is_told) {
			fail(t, t->races[i].line, model, seed);
			printf(" the oracle does not report %s %s\n", t->races[i].tags[0],
			       t->races[i].tags[1]);
		} else if (t->races[i].pair.is_possible != t->races[i].is_possible) {
			fail(t, t->races[i].line, model, seed);
			printf(" the race of %s and %s is reported as %s\n", t->races[i].tags[0],
			       t->races[i].tags[1], t->races[i].is_possible ? "one" : "possible");
		}
		t->races[i].is_told = false;
	}
}

static void dump(const struct test *t, struct cpu_machine *m)
{
	struct cpu_fault f;

	for (unsigned i = 0; i < t->nbuffers; i++) {
		const struct buffer *b = &t->buffers[i];
		printf("%s:", b->name);
		for (size_t j = 0; j < b->count; j++)
			case_print_value(b->mem + j * case_type_size(b->type), b->type);
		printf("\n");
	}
	cpu_fault_get(m, 0, &f);
	if (f.kind != CPU_FAULT_NONE)
		printf("fault: %s: %s\n", fault_names[f.kind], f.text);
	printf("schedule %016" PRIx64 "\n", cpu_schedule_hash(m));
}

/* What the kernels print, kept for expect-print, a NUL after it. */
static void capture(struct cpu_machine *m, bool is_error, const char *text, size_t n)
{
	(void)m, (void)is_error;
	base_buf_put(&printed, text, n);
	base_buf_put(&printed, "", 1);
	printed.n--;
}

/* One run; returns the schedule's hash. */
static uint64_t run_once(struct test *t, struct ptx_module *ptx, enum cpu_model model,
			 uint64_t seed, unsigned threads, bool is_dump)
{
	struct cpu_options opt = {.seed = seed,
				  .threads = threads,
				  .apart_from = 1,
				  .devices = 1,
				  .model = model,
				  .jit = threads == 1 ? CPU_JIT_VERIFY : CPU_JIT_OFF};
	if (is_judged || t->judge || t->has_verdict)
		opt.oracle = CPU_ORACLE_PROGRAM;
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_sink sink = {0};
	struct cpu_fault refused = {0};
	if (m)
		cpu_on_pair(m, pair_found, t);
	struct cpu_module *mod = m ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;

	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	if (!mod) {
		fprintf(stderr, "%s: the module was not loaded\n", t->file);
		exit(1);
	}
	base_buf_put(&printed, "", 1);
	printed.n = 0;
	printed.p[0] = '\0';
	cpu_set_printf(m, capture);
	for (unsigned i = 0; i < t->nbuffers; i++) {
		struct buffer *b = &t->buffers[i];
		if (b->of[0]) {
			add_members(m, b, i);
			continue;
		}
		b->mem = cpu_mem_alloc(m, 0, b->size, CPU_MEM_DEVICE);
		memcpy(b->mem, b->init, b->size);
	}
	for (unsigned i = 0; i < t->nmaps; i++)
		fill_tensormap(t, &t->maps[i]);
	for (unsigned i = 0; i < t->ntextures; i++)
		make_texture(m, &t->textures[i]);
	for (unsigned i = 0; i < t->nlaunches; i++)
		run_launch(t, &t->launches[i], m, mod, &refused);
	t->runs++;
	if (is_dump)
		dump(t, m);
	else
		check_run(t, m, &refused, model, seed);
	t->racy_runs += t->ntold != 0;
	if ((t->judge == JUDGE_CLEAN && t->ntold) || (t->judge == JUDGE_RACY && !t->ntold)) {
		fail(t, 1, model, seed);
		printf(" the oracle reports %u races\n", t->ntold);
	}
	t->ntold = 0;
	uint64_t hash = cpu_schedule_hash(m);
	cpu_module_unload(mod);
	cpu_machine_free(m);
	return hash;
}

static void run_all(struct test *t, struct ptx_module *ptx, bool is_dump)
{
	for (enum cpu_model model = CPU_MODEL_SC; model <= CPU_MODEL_A1; model++) {
		if (!(t->models & 1u << model))
			continue;
		for (uint64_t seed = 1; seed <= t->nseeds; seed++) {
			uint64_t first = run_once(t, ptx, model, seed, 1, is_dump);
			if (is_dump)
				return;
			/* The first seed twice: a replay must make the same decisions, without
			 * machine code and with several workers, too. */
			if (seed == 1 && run_once(t, ptx, model, seed, 4, false) != first) {
				fail(t, 1, model, seed);
				printf(" the second run had another schedule\n");
			}
		}
	}
	for (unsigned i = 0; i < t->nexpects; i++) {
		if (t->expects[i].kind == EXPECT_SOME && !t->expects[i].seen) {
			t->failures++;
			printf("%s:%u: seen in none of %u runs\n", t->file, t->expects[i].line,
			       t->runs);
		}
	}
	if (t->judge == JUDGE_SOME && !t->racy_runs) {
		t->failures++;
		printf("%s: the oracle reports a race in none of %u runs\n", t->file, t->runs);
	}
}

static unsigned run_file(const char *file, bool is_dump)
{
	struct test t = {.file = file, .nseeds = 3, .models = 7};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text;
	size_t size;

	if (base_read_file(file, &text, &size)) {
		fprintf(stderr, "%s: cannot be read\n", file);
		return 1;
	}
	case_parse(&t, text);
	struct ptx_module *ptx = ptx_parse(&arena, file, text, size, &sink);
	/* As whoever loads a module asks: text that isn't sound is never executed. */
	bool is_sound = ptx && !sink.errors && !ptx_verify(ptx, &sink);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	if (!is_sound)
		return 1;
	if (!t.nlaunches ||
	    (!t.nexpects && !t.fault_kind && !t.judge && !t.has_verdict && !is_dump))
		case_bad(&t, 1, "nothing is launched or expected", file);
	run_all(&t, ptx, is_dump);
	printf("%s: %u runs, %u failures\n", file, t.runs, t.failures);
	base_arena_free(&t.arena);
	base_arena_free(&arena);
	free(text);
	return t.failures;
}

int main(int argc, char **argv)
{
	bool is_dump = argc > 1 && !strcmp(argv[1], "--dump");
	unsigned failures = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: cpu_run [--dump] FILE.ptx...\n");
		return 2;
	}
	is_judged = !strcmp(argv[1], "--oracle");
	for (int i = is_dump || is_judged ? 2 : 1; i < argc; i++)
		failures += run_file(argv[i], is_dump);
	base_buf_free(&printed);
	return failures ? 1 : 0;
}
