/*
 * load.c - `collider-load`: instrumented code for one image that a program is about to load.
 *
 *     collider-load SM FLAGS MAXREG NAME ENTRY PROGRAM 3<IMAGE 4>RESULT
 *
 * Started by the library in the user's process (agent/load/child.c), never by hand. The image, a
 * fat binary or PTX, is descriptor 3; the result, an entry of image/kept.h, goes to descriptor 4
 * and, under the name ENTRY, into the folder of such entries. FLAGS: a: text of another
 * architecture than the machine code is taken, too; d: the detectors were asked for; l: the
 * driver's linker wants text; r: an -rdc program, what the device linker made of it and then its
 * objects' fat binaries, one after the other; b: ENTRY is there, but for proofs that took too long:
 * they are made in the background, while the process PROGRAM runs (later.c), and nothing goes to
 * RESULT. What would be printed is part of the result.
 *
 *	choose	  which text the device would run (image/choose.c)
 *	strip	  checks that are there, if they aren't those asked for
 *	rewrite	  as in a build (rewrite.c); machine code that is there says how many registers
 *		  the original needs
 *	assemble  by ptxas, or the trial's result is taken
 *	link	  the objects of an -rdc program, by nvlink (link_parts)
 *
 * What can't be instrumented is kept only if it will be so again: other PTX, what ptxas refuses, an
 * image without a kernel that is asked for. Misses: PTX newer than the toolkit's ptxas.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "image/choose.h"
#include "image/kept.h"
#include "instrument/instrument.h"
#include "race/detector.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_FD   3
#define RESULT_FD  4
#define KEPT_MOST  (1ull << 30) /* bytes of all entries */
#define PARTS_MOST 48u

struct work {
	const struct tool_options *opt;
	const struct tool_kit *kit;
	const char *flags, *name;
	unsigned maxreg, sm;
	struct image_text text;
	const char *said_file, *trial;
	const char *folder; /* of such entries; NULL: none is kept */
	int waiters;	    /* the program's standard error */
	unsigned asked;	    /* the cap that device functions need */
	bool keep;	    /* the result */
	bool is_part;	    /* an object of an -rdc program */
	bool is_plain;	    /* the image is a text */
	bool is_late;	    /* time ran out for proofs */
	unsigned nth;	    /* process that goes on with them, from 1; 0: a program waits */
	char *arch;	    /* of the last text: "sm_90a" */
	struct base_arena arena;
};

static bool has_flag(const struct work *w, char flag)
{
	return strchr(w->flags, flag) != NULL;
}

/* Has the text the checks that it is to have? */
static bool is_checked(const struct work *w, unsigned has)
{
	return has && (!has_flag(w, 'd') || (has & w->opt->inst.sanitize) == w->opt->inst.sanitize);
}

static bool strip(struct work *w)
{
	struct base_arena arena = {0};
	struct base_buf out = {0};
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(&arena, w->name, w->text.text, w->text.size, &sink);
	bool ok = m && !sink.errors && inst_strip(m, &sink);

	if (ok) {
		ptx_print(m, &out);
		w->text.size = out.n;
		base_buf_put(&out, "", 1);
		free(w->text.text);
		w->text.text = out.p;
		/* It says what the text with checks needs. */
		free(w->text.code);
		w->text.code = NULL;
	}
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	base_arena_free(&arena);
	return ok;
}

/* With the options of the trial, whose result is taken if it is there. */
static bool assemble(struct work *w, const struct tool_job *job, const struct base_buf *text,
		     struct base_buf *code)
{
	const char *in = tool_temp("load.ptx"), *out = tool_temp("load.cubin");
	struct tool_strings options = {0}, argv = {0};
	char *bytes;
	size_t n;

	if (!in || !out || base_write_file(in, text->p, text->n) != 0)
		return false;
	tool_trial_options(job, job->has_maxreg ? w->maxreg : w->asked, &options, &w->arena);
	struct tool_kept k = {.ptxas = job->ptxas,
			      .text = text->p,
			      .size = text->n,
			      .options = options.v,
			      .noptions = options.n};
	bool ok = tool_take(&k, in, out);
	if (!ok && !job->has_maxreg && access(w->trial, R_OK) == 0) {
		/* Another process with the same text has taken what was kept. */
		ok = true;
		out = w->trial;
	} else if (!ok) {
		base_vec_push(&argv, (char *)(uintptr_t)job->ptxas);
		for (size_t i = 0; i < options.n; i++)
			base_vec_push(&argv, options.v[i]);
		char *rest[] = {(char *)(uintptr_t)in, "-o", (char *)(uintptr_t)out, NULL};
		for (size_t i = 0; i < BASE_COUNTOF(rest); i++)
			base_vec_push(&argv, rest[i]);
		ok = tool_run(job->ptxas, argv.v, w->said_file) == 0;
		base_vec_free(&argv);
	}
	base_vec_free(&options);
	if (!ok || base_read_file(out, &bytes, &n) != 0)
		return false;
	base_buf_put(code, bytes, n);
	free(bytes);
	return true;
}

static struct tool_job make_job(struct work *w)
{
	char suffix[2] = {w->text.suffix, 0};

	w->arch = base_printf(&w->arena, "sm_%u%s", w->text.sm, suffix);
	return (struct tool_job){
		.opt = w->opt,
		.name = *w->text.name ? w->text.name : w->name,
		.ptxas = w->kit->ptxas,
		.arch = w->arch,
		.relocatable = has_flag(w, 'l') || w->is_part,
		.is_waited_for = true,
		.waiters = w->waiters,
		.leaves_others = true,
		.has_maxreg = w->maxreg != 0,
		.is_debug = w->text.is_debug,
		.has_lineinfo = w->text.has_lineinfo,
		.text_file = w->is_plain ? image_keep_text(w->text.text, w->text.size, &w->arena)
					 : NULL};
}

/* The code is loaded as it is, and has the checks: the agent gets it for its tables of sites. Text
 * alone, which the driver compiles, is assembled for them. */
static void hand_over_code(struct work *w, struct base_buf *code)
{
	const struct base_buf text = {.p = w->text.text, .n = w->text.size};
	struct tool_job job = make_job(w);

	w->trial = tool_temp("trial.cubin");
	w->asked = tool_asked_maxreg(w->text.text);
	if (has_flag(w, 'l') || w->is_part || !w->trial)
		return;
	if (w->text.code)
		base_buf_put(code, w->text.code, w->text.code_size);
	else if (!assemble(w, &job, &text, code))
		code->n = 0;
}

static enum image_outcome instrument(struct work *w, struct base_buf *code)
{
	/* An object's kernels get their callees' registers when it is linked: its own counts say
	 * nothing of those. */
	const char *was = w->text.code && !w->is_part ? tool_temp("load.was") : NULL;
	struct tool_job job = make_job(w);
	struct base_buf text = {0};

	if (was && base_write_file(was, w->text.code, w->text.code_size) == 0)
		job.assembled = was;
	job.is_later = w->nth != 0;
	job.late_file = w->opt->prune_timed || w->nth ? tool_temp("load.late") : NULL;
	job.noted_folder = job.late_file ? w->folder : NULL;
	w->trial = tool_temp("trial.cubin"); /* what rewrite.c's last trial will have made */
	if (!w->trial)
		return IMAGE_FAILED;
	enum tool_outcome got = tool_rewrite(&job, w->text.text, w->text.size, &text);
	w->keep = got != TOOL_FAILED;
	w->is_late |= job.late_file && access(job.late_file, F_OK) == 0;
	if (got == TOOL_LEFT)
		return IMAGE_AS_IT_IS;
	if (got != TOOL_CHANGED)
		return IMAGE_FAILED;
	base_buf_put(&text, "", 1);
	w->asked = tool_asked_maxreg(text.p);
	bool ok = true;
	if (has_flag(w, 'l')) {
		base_buf_put(code, text.p, text.n); /* with its NUL */
	} else {
		text.n--;
		ok = assemble(w, &job, &text, code);
	}
	base_buf_free(&text);
	w->keep &= ok;
	return ok ? IMAGE_REPLACED : IMAGE_FAILED;
}

static enum image_outcome process(struct work *w, const char *image, size_t size,
				  struct base_buf *code)
{
	switch (image_choose(image, size, w->sm, has_flag(w, 'a'), &w->text)) {
	case IMAGE_TEXT:
		break;
	case IMAGE_OTHER:
		w->keep = true;
		base_say("%s: its GPU code runs as it was: %s", w->name, w->text.why);
		return IMAGE_FAILED;
	case IMAGE_DAMAGED:
		base_say("%s: its GPU code runs as it was: %s", w->name,
			 w->text.why ? w->text.why : "damaged");
		return IMAGE_FAILED;
	case IMAGE_NONE:
		w->keep = true;
		return IMAGE_AS_IT_IS;
	}
	unsigned has = race_detectors_in(w->text.text);
	if (is_checked(w, has)) {
		w->keep = true;
		hand_over_code(w, code);
		return IMAGE_AS_IT_IS;
	}
	if (has && !strip(w)) {
		base_say("%s: other checks than were asked for stay in its GPU code", w->name);
		return IMAGE_FAILED;
	}
	unsigned given = w->maxreg;
	if (!given)
		w->maxreg = w->text.maxreg;
	enum image_outcome got = instrument(w, code);
	w->maxreg = given;
	return got;
}

/* ---- a program of several objects ---------------------------------------------------------- */

/* The next object as a file; NULL: it can't be one. Was anything put into it? */
static const char *make_part(struct work *w, const char *image, size_t size, unsigned index,
			     bool *is_changed)
{
	const char *path = tool_temp(base_printf(&w->arena, "part%u.o", index));
	struct base_buf code = {0};
	enum image_outcome got = process(w, image, size, &code);
	bool ok = path && got != IMAGE_FAILED;

	*is_changed |= got == IMAGE_REPLACED;
	if (ok && got == IMAGE_AS_IT_IS)
		ok = w->text.code && base_write_file(path, w->text.code, w->text.code_size) == 0;
	else if (ok)
		ok = base_write_file(path, code.p, code.n) == 0;
	base_buf_free(&code);
	image_text_free(&w->text);
	return ok ? path : NULL;
}

static bool link_objects(struct work *w, struct tool_strings *objects, struct base_buf *code)
{
	const char *slash = strrchr(w->kit->ptxas, '/'), *out = tool_temp("load.linked");
	char *linker = base_printf(&w->arena, "%.*snvlink", (int)(slash + 1 - w->kit->ptxas),
				   w->kit->ptxas);
	struct tool_strings argv = {0};
	char *bytes;
	size_t n;

	base_vec_push(&argv, linker);
	base_vec_push(&argv, base_printf(&w->arena, "-arch=%s", w->arch));
	for (size_t i = 0; i < objects->n; i++)
		base_vec_push(&argv, objects->v[i]);
	base_vec_push(&argv, base_strdup(&w->arena, "-o"));
	base_vec_push(&argv, base_strdup(&w->arena, out ? out : ""));
	base_vec_push(&argv, NULL);
	bool ok = out && tool_run(linker, argv.v, tool_temp("load.link")) == 0 &&
		  base_read_file(out, &bytes, &n) == 0;
	base_vec_free(&argv);
	if (!ok)
		return false;
	base_buf_put(code, bytes, n);
	free(bytes);
	return true;
}

/* Every object with checks, machine code where there is no text (NVIDIA's libcudadevrt), linked. */
static enum image_outcome link_parts(struct work *w, const char *image, size_t size,
				     struct base_buf *code)
{
	size_t at = fatbin_is(image, size) ? fatbin_size(image) : 0;
	struct tool_strings objects = {0};
	bool is_changed = false;

	w->is_part = true;
	while (at && at < size) {
		size_t n = fatbin_is(image + at, size - at) ? fatbin_size(image + at) : 0;
		const char *part =
			n && n <= size - at && objects.n < PARTS_MOST
				? make_part(w, image + at, n, (unsigned)objects.n, &is_changed)
				: NULL;
		if (!part) {
			w->keep = false;
			base_say("%s: its GPU code runs as it was: an object of it can't be linked "
				 "again",
				 w->name);
			return IMAGE_FAILED;
		}
		base_vec_push(&objects, base_strdup(&w->arena, part));
		at += n;
	}
	if (!is_changed)
		return IMAGE_AS_IT_IS;
	bool ok = link_objects(w, &objects, code);
	if (!ok)
		base_say("%s: its GPU code runs as it was: nvlink refuses its objects with checks",
			 w->name);
	w->keep = ok;
	base_vec_free(&objects);
	return ok ? IMAGE_REPLACED : IMAGE_FAILED;
}

/* What was printed. base_say puts our name before each line; who says it then does so again. */
static char *said(const struct work *w)
{
	static const char ours[] = "collider: ";
	struct base_buf b = {0};
	char *text;
	size_t n;

	fflush(stderr);
	if (base_read_file(w->said_file, &text, &n) != 0)
		return base_strdup((struct base_arena *)(uintptr_t)&w->arena, "");
	for (char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		size_t skip = strncmp(p, ours, sizeof(ours) - 1) ? 0 : sizeof(ours) - 1;
		base_buf_put(&b, p + skip, len - skip);
		base_buf_puts(&b, "\n");
		p += len + (p[len] == '\n');
	}
	base_buf_put(&b, "", 1);
	free(text);
	return b.p;
}

static bool send(const struct base_buf *entry)
{
	for (size_t at = 0; at < entry->n;) {
		ssize_t n = write(RESULT_FD, entry->p + at, entry->n - at);
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void keep(const struct work *w, const char *path, const struct base_buf *entry)
{
	if (w->folder && base_write_file(path, entry->p, entry->n) == 0)
		image_kept_trim(w->folder, KEPT_MOST);
}

int tool_load(int argc, char **argv)
{
	static struct work w; /* its arena lives as long as the process */
	struct base_buf code = {0}, entry = {0};
	struct tool_options opt;
	struct tool_kit kit;
	char *image;
	size_t size;

	if (argc != 7)
		return BASE_EXIT_USAGE;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	bool is_later = strchr(argv[2], 'b') != NULL;
	unsigned nth = is_later ? tool_detach(argv[5], (pid_t)strtol(argv[6], NULL, 10)) : 0;
	if (is_later && !nth)
		return BASE_EXIT_OK;
	w = (struct work){.opt = &opt,
			  .kit = &kit,
			  .sm = (unsigned)strtoul(argv[1], NULL, 10),
			  .flags = argv[2],
			  .nth = nth,
			  .maxreg = (unsigned)strtoul(argv[3], NULL, 10),
			  .name = argv[4]};
	const char *slash = strrchr(argv[5], '/');
	w.folder = slash ? base_strndup(&w.arena, argv[5], (size_t)(slash - argv[5])) : NULL;
	int rc = tool_begin(&opt, &kit, &w.arena);
	opt.prune_timed &= !is_later;
	w.said_file = tool_temp("load.said");
	if (!rc && !w.said_file)
		rc = BASE_EXIT_ENV;
	w.waiters = is_later ? 0 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, RESULT_FD + 1);
	if (w.waiters < 0)
		w.waiters = 0;
	/* Everything from here on that prints does so into the result. */
	if (!rc && !freopen(w.said_file, "a", stderr))
		rc = BASE_EXIT_ENV;
	if (!rc)
		dup2(fileno(stderr), STDERR_FILENO);
	if (!rc && base_read_file("/proc/self/fd/3", &image, &size) != 0)
		rc = BASE_EXIT_INPUT;
	if (!rc) {
		w.is_plain = !fatbin_is(image, size);
		enum image_outcome got = has_flag(&w, 'r') ? link_parts(&w, image, size, &code)
							   : process(&w, image, size, &code);
		image_kept_make(&entry, got, has_flag(&w, 'l') ? w.asked : 0, said(&w), code.p,
				code.n);
		if (w.is_late && nth < TOOL_LATER_MOST)
			image_kept_set_late(&entry, nth + 1);
		/* What the program has is no worse than nothing. */
		if (*argv[5] && w.keep && (!is_later || got == IMAGE_REPLACED))
			keep(&w, argv[5], &entry);
		rc = is_later || send(&entry) ? BASE_EXIT_OK : BASE_EXIT_ENV;
	}
	tool_cleanup();
	return rc;
}

char *tool_load_options(const struct tool_load_asked *asked, struct base_arena *a)
{
	struct tool_options o;

	if (tool_options_init(&o, a) != 0)
		return NULL;
	o.inst.sanitize = asked->detectors;
	o.inst.leaves_plain = asked->leaves_plain;
	o.long_build_ms = 0;
	o.samples = true;
	if (asked->kernels)
		o.inst.kernel_name = asked->kernels;
	if (asked->others)
		o.inst.kernel_name_exclude = asked->others;
	o.load_limit_ms = asked->limit_ms;
	tool_options_prune(&o, asked->prune);
	return tool_options_encode(&o, a);
}

char *tool_load_key(const char *self, struct base_arena *a)
{
	struct tool_options o;
	struct tool_kit k;
	struct stat us, ptxas;

	if (tool_begin(&o, &k, a) != 0 || stat(self, &us) != 0 || stat(k.ptxas, &ptxas) != 0)
		return NULL;
	return base_printf(a, "%s %lld %lld.%ld %s %lld %lld.%ld", self, (long long)us.st_size,
			   (long long)us.st_mtim.tv_sec, us.st_mtim.tv_nsec, k.ptxas,
			   (long long)ptxas.st_size, (long long)ptxas.st_mtim.tv_sec,
			   ptxas.st_mtim.tv_nsec);
}
