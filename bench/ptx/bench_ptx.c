/*
 * bench_ptx.c - how fast PTX is parsed and printed, in MB of input per second.
 *
 * Each file is one module; larger modules are made by repeating its function bodies under new
 * names, so that linearity shows. Times are the median of the runs, in CPU time (one thread)
 * so that other work on the machine counts little; freeing the memory is part of "both". Output: a
 * table, or JSON with --json.
 */
#include "base/clock.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

#define RUNS 9

static double now(void)
{
	return 1e-9 * (double)base_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, RUNS, sizeof(*v), by_value);
	return v[RUNS / 2];
}

struct result {
	double parse, print, both; /* seconds */
	size_t ninsts, arena;
};

static bool measure(const char *name, const char *text, size_t size, struct result *r)
{
	double parse[RUNS], print[RUNS], both[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct base_arena arena = {0};
		struct base_sink sink = {0};
		struct base_buf out = {0};
		double t0 = now(), t1, t2;
		struct ptx_module *m = ptx_parse(&arena, name, text, size, &sink);

		t1 = now();
		if (!m) {
			base_sink_print(&sink, stderr);
			base_sink_free(&sink);
			base_arena_free(&arena);
			return false;
		}
		ptx_print(m, &out);
		t2 = now();
		parse[i] = t1 - t0;
		print[i] = t2 - t1;
		r->ninsts = m->ninsts;
		r->arena = arena.total;
		base_buf_free(&out);
		base_arena_free(&arena);
		both[i] = now() - t0;
	}
	r->parse = median(parse);
	r->print = median(print);
	r->both = median(both);
	return true;
}

/* Appends the module's functions `times` more times, their names made different. Written with the
 * parser itself: each function's head is printed with a suffix after its name. */
static void enlarge(const char *text, size_t size, unsigned times, struct base_buf *out)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(&arena, "", text, size, &sink);

	base_buf_put(out, text, size);
	for (unsigned i = 0; m && i < times; i++) {
		ptx_each_item(m, it)
		{
			if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
				continue;
			struct ptx_func *f = it->func;
			const char *body = f->head.p + f->head.n, *name = f->name.p + f->name.n;
			const char *end = it->next ? NULL : text + size;

			base_buf_put(out, f->head.p, (size_t)(name - f->head.p));
			base_buf_printf(out, "_copy%u", i);
			if (f->last) /* up to the end of the last instruction, then close */
				end = f->last->text.p ? f->last->text.p + f->last->text.n
						      : body + 2;
			base_buf_put(out, name, (size_t)(end - name));
			base_buf_puts(out, "\n}\n");
		}
	}
	base_buf_put(out, "", 1);
	out->n--;
	base_sink_free(&sink);
	base_arena_free(&arena);
}

static bool bench_file(const char *path, bool is_json, bool *is_first)
{
	static const size_t sizes[] = {0, 1u << 20, 4u << 20, 16u << 20, 64u << 20};
	size_t size, last = 0;
	char *text;

	if (base_read_file(path, &text, &size) != 0) {
		fprintf(stderr, "bench_ptx: can't read %s\n", path);
		return false;
	}
	for (size_t i = 0; i < BASE_COUNTOF(sizes); i++) {
		struct base_buf big = {0};
		struct result r = {0};

		if (i && sizes[i] < size * 2)
			continue;
		enlarge(text, size, (unsigned)(sizes[i] / size), &big);
		if (big.n == last || !measure(path, big.p, big.n, &r)) {
			base_buf_free(&big);
			break;
		}
		last = big.n;
		double mb = (double)big.n / 1e6;
		if (is_json)
			printf("%s\n  {\"file\": \"%s\", \"bytes\": %zu, \"instructions\": %zu, "
			       "\"parse_MBps\": %.1f, \"print_MBps\": %.1f, \"both_MBps\": %.1f, "
			       "\"arena_bytes\": %zu}",
			       *is_first ? "" : ",", path, big.n, r.ninsts, mb / r.parse,
			       mb / r.print, mb / r.both, r.arena);
		else
			printf("%-28.28s %9.2f %10zu %8.1f %8.1f %8.1f %7.1f\n", path, mb, r.ninsts,
			       mb / r.parse, mb / r.print, mb / r.both,
			       (double)r.arena / (double)big.n);
		*is_first = false;
		base_buf_free(&big);
	}
	free(text);
	return true;
}

int main(int argc, char **argv)
{
	bool is_json = argc > 1 && strcmp(argv[1], "--json") == 0, is_first = true, ok = true;

	if (argc < 2 + is_json) {
		fprintf(stderr, "usage: bench_ptx [--json] FILE.ptx...\n");
		return BASE_EXIT_USAGE;
	}
	if (is_json)
		printf("[");
	else
		printf("%-28s %9s %10s %8s %8s %8s %7s\n", "file", "MB", "insts", "parse", "print",
		       "both", "mem/in");
	for (int i = 1 + is_json; i < argc; i++)
		ok &= bench_file(argv[i], is_json, &is_first);
	if (is_json)
		printf("\n]\n");
	return ok ? BASE_EXIT_OK : BASE_EXIT_INPUT;
}
