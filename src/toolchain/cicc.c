/*
 * cicc.c - stands in for cicc: runs the real one, then rewrites the PTX it wrote.
 *
 * cicc writes to a temporary file; the file nvcc wants appears only when all is done, so a
 * failing or killed compilation leaves nothing half-written. PTX that can't be instrumented is
 * passed on unchanged (with --strict it is an error). With -lto or -olto the linker gets NVVM IR
 * instead of PTX; such a run passes through with a message.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "instrument/instrument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line {
	int out;	  /* index of the output file's name, 0: none */
	const char *arch; /* "compute_90a" */
	const char *name; /* the user's file */
	bool is_lto, is_debug, has_lineinfo, is_device_c, has_maxreg, has_opt_level;
};

static void read_line(struct line *l, int argc, char **argv)
{
	memset(l, 0, sizeof(*l));
	for (int i = 1; i < argc; i++) {
		const char *s = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		if (!strcmp(s, "-o") && next)
			l->out = ++i;
		else if (!strcmp(s, "-arch") && next)
			l->arch = argv[++i];
		else if (!strncmp(s, "-arch=", 6))
			l->arch = s + 6;
		else if (!strcmp(s, "--orig_src_file_name") && next)
			l->name = argv[++i];
		else if (!strcmp(s, "-lto") || !strcmp(s, "-olto"))
			l->is_lto = true;
		else if (!strcmp(s, "-g"))
			l->is_debug = true;
		else if (!strcmp(s, "-generate-line-info") || !strcmp(s, "--generate-line-info"))
			l->has_lineinfo = true;
		else if (!strcmp(s, "--device-c"))
			l->is_device_c = true;
		else if (!strncmp(s, "-maxreg", 7))
			l->has_maxreg = true;
		else if (!strncmp(s, "-O", 2) && s[2] >= '0' && s[2] <= '9')
			l->has_opt_level = true;
	}
}

/* Switches of cicc that turn off what its optimiser does to racy code. The two pass switches belong
 * to the older of its two code generators, which serves targets below compute_100. */
static void add_switches(const struct tool_options *o, const struct line *l,
			 struct tool_strings *args)
{
	static char *const off[] = {"--Xopt", "-phi-node-folding-threshold=0",
				    "--Xopt", "-disable-LICMPass",
				    "--Xopt", "-disable-LoadStoreVectorizerPass"};
	const char *digits = l->arch ? strpbrk(l->arch, "0123456789") : NULL;
	bool is_new = digits && strtol(digits, NULL, 10) >= 100;

	if (o->keep_races && !l->has_opt_level && !l->is_debug)
		base_vec_push(args, "-O0");
	if (!o->no_invented_reads)
		return;
	for (size_t i = 0; i < (is_new ? 2 : BASE_COUNTOF(off)); i++)
		base_vec_push(args, off[i]);
}

/* Writes the result; in a folder where no file can be created, an existing one may still be
 * writable. */
static int write_result(const char *path, const char *text, size_t n)
{
	int err = base_write_file(path, text, n);

	if (!err)
		return 0;
	FILE *f = fopen(path, "w");
	if (f) {
		bool ok = fwrite(text, 1, n, f) == n;
		ok &= fclose(f) == 0;
		if (ok)
			return 0;
	}
	base_say("%s: %s", path, strerror(err));
	return BASE_EXIT_INPUT;
}

static int finish_ptx(const struct tool_options *o, const struct tool_kit *k, const struct line *l,
		      const char *ptx, const char *out)
{
	struct tool_job job = {.opt = o,
			       .name = l->name ? l->name : out,
			       .arch = l->arch,
			       .ptxas = k->ptxas,
			       .relocatable = l->is_device_c,
			       .has_maxreg = l->has_maxreg,
			       .is_debug = l->is_debug,
			       .has_lineinfo = l->has_lineinfo};
	struct base_buf b = {0};
	char *text;
	size_t size;
	int err = base_read_file(ptx, &text, &size);

	if (err == ENOENT)
		return BASE_EXIT_OK; /* only the syntax was to be checked */
	if (err) {
		base_say("%s: %s", ptx, strerror(err));
		return BASE_EXIT_INTERNAL;
	}
	enum tool_outcome got = tool_rewrite(&job, text, size, &b);
	int rc = got >= TOOL_FAILED && o->strict ? BASE_EXIT_INPUT : BASE_EXIT_OK;
	if (got != TOOL_CHANGED) {
		if (got >= TOOL_FAILED)
			base_buf_puts(&b, TOOL_LEFT_COMMENT);
		base_buf_put(&b, text, size);
	}
	if (!rc)
		rc = write_result(out, b.p, b.n);
	base_buf_free(&b);
	free(text);
	return rc;
}

int tool_cicc(int argc, char **argv)
{
	static struct base_arena arena; /* lives until the exec */
	struct tool_options opt;
	static struct tool_strings args; /* likewise */
	struct tool_kit kit;
	struct line line;
	int rc = tool_begin(&opt, &kit, &arena);

	if (rc)
		return rc;
	read_line(&line, argc, argv);
	base_vec_push(&args, kit.cicc);
	for (int i = 1; i < argc; i++)
		base_vec_push(&args, argv[i]);
	bool is_on = tool_is_on(&opt);
	if (is_on && line.is_lto)
		base_say(
			"%s: compiled without checks: with -dlto and lto_ targets the code is made "
			"at link time",
			line.name ? line.name : "cicc");
	if (!is_on || line.is_lto || !line.out) {
		base_vec_push(&args, NULL);
		return tool_exec(kit.cicc, args.v);
	}
	const char *ptx = tool_temp("out.ptx");
	if (!ptx)
		return BASE_EXIT_ENV;
	args.v[line.out] = (char *)ptx;
	add_switches(&opt, &line, &args);
	base_vec_push(&args, NULL);
	rc = tool_run(kit.cicc, args.v, NULL);
	if (!rc)
		rc = finish_ptx(&opt, &kit, &line, ptx, argv[line.out]);
	tool_cleanup();
	return tool_finish(rc);
}
