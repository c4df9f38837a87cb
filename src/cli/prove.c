/*
 * prove.c - collider prove: race freedom of the kernels of a .cu or .ptx file, for every input.
 */
#include "cli/cli.h"
#include "cli/prove.h"
#include "cli/view.h"
#include "prove/prove.h"
#include "ptx/ptx.h"
#include "report/report.h"
#include "toolchain/toolchain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool prove_read_dims(const char *s, uint32_t *dim)
{
	uint32_t v[3] = {1, 1, 1};
	bool has_bracket = *s == '[';
	unsigned n = 0;
	char *end;

	s += has_bracket;
	do {
		errno = 0;
		unsigned long x = strtoul(s, &end, 10);
		if (end == s || errno || !x || x > INT32_MAX || n == 3)
			return false;
		v[n++] = (uint32_t)x;
		s = end + 1;
	} while (*end == ',');
	if (*end && !(has_bracket && *end == ']') && *end != ' ' && *end != '\r')
		return false;
	memcpy(dim, v, sizeof(v));
	return true;
}

/* NAME=VALUE,...; a name may be a number. */
static bool read_params(const char *s, struct prove_options *o, struct base_arena *a)
{
	while (s && *s && o->nparams < 64) {
		const char *eq = strchr(s, '=');
		char *end;
		if (!eq || eq == s)
			return false;
		unsigned long i = strtoul(s, &end, 10);
		bool is_number = end == eq && *s >= '0' && *s <= '9';
		if (is_number && (!i || i > 4096))
			return false;
		o->param[o->nparams].index = is_number ? (uint32_t)i : 0;
		o->param[o->nparams].name = is_number ? NULL : base_strndup(a, s, (size_t)(eq - s));
		s = eq + 1;
		errno = 0;
		o->param[o->nparams++].value = strtoull(s, &end, 0);
		if (end == s || errno || (*end && *end != ','))
			return false;
		s = *end ? end + 1 : end;
	}
	return true;
}

/* Splits "A; B" into its parts, without surrounding spaces. */
static const char **split(const char *s, struct base_arena *a, size_t *n)
{
	const char **out = BASE_NEWN(a, const char *, strlen(s) / 2 + 2);

	for (*n = 0; *s;) {
		size_t skip = strspn(s, "; \t"), len = strcspn(s + skip, ";"), cut = len;
		s += skip;
		while (cut && (s[cut - 1] == ' ' || s[cut - 1] == '\t'))
			cut--;
		if (cut)
			out[(*n)++] = base_strndup(a, s, cut);
		s += len;
	}
	return out;
}

static void read_levels(const struct option_set *set, struct prove_options *o)
{
	for (unsigned l = RACE_LEVEL_WARP; l <= RACE_LEVEL_GRID; l++)
		o->level[l] = option_is(set, OPTION_LEVEL, "all") ||
			      option_is(set, OPTION_LEVEL, race_level_name((enum race_level)l));
}

static int read_options(struct option_set *set, struct prove_options *o)
{
	static const enum option_id dims[2] = {OPTION_BLOCK_DIM, OPTION_GRID_DIM};
	const char *assumes = option_text(set, OPTION_ASSUME);

	o->kernel = option_text(set, OPTION_KERNEL);
	o->may_alias = option_flag(set, OPTION_MAY_ALIAS);
	o->all_launches = option_flag(set, OPTION_ALL_LAUNCHES);
	o->is_lockstep = option_flag(set, OPTION_WARP_LOCKSTEP);
	o->is_same_value = option_is(set, OPTION_BENIGN, "same-value");
	o->wants_protocol = option_flag(set, OPTION_PROTOCOL);
	o->wants_remedies = !option_flag(set, OPTION_NO_REMEDIES);
	o->tries_many = true;
	read_levels(set, o);
	o->timeout_ms = (unsigned)option_int(set, OPTION_PROVE_TIMEOUT);
	o->memory_mb = (unsigned)option_int(set, OPTION_PROVE_MEMORY);
	if (assumes)
		o->assumes = split(assumes, &set->arena, &o->nassumes);
	for (unsigned i = 0; i < 2; i++) {
		const char *s = option_text(set, dims[i]);
		if (s && !prove_read_dims(s, o->dim + 3 * i)) {
			base_say("error: --%s: expected numbers like 64 or 8,8, found '%s'",
				 i ? "grid-dim" : "block-dim", s);
			return BASE_EXIT_USAGE;
		}
	}
	const char *params = option_text(set, OPTION_PARAM);
	if (params && !read_params(params, o, &set->arena)) {
		base_say("error: --param: expected NAME=VALUE,..., found '%s'", params);
		return BASE_EXIT_USAGE;
	}
	return 0;
}

/* One run of the command: what to do with each file, and the results. */
struct job {
	struct option_set *set;
	struct prove_options o;
	struct race_proofs all; /* of --build */
	const char *temp;	/* a folder of ours, or "" */
};

static int read_ptx(const char *from, char **text, size_t *size)
{
	int err = base_read_file(from, text, size);

	if (err)
		base_say("error: %s: %s", from, base_file_error(err));
	return err ? BASE_EXIT_INPUT : 0;
}

/* Compiles a source, with the requested instances. */
static int compile(struct job *j, const char *from, char *const *args, size_t nargs, char **text,
		   size_t *size)
{
	const char *instances = option_text(j->set, OPTION_INSTANTIATE);

	if (instances) {
		if (!*j->temp) {
			const char *tmp = getenv("TMPDIR");
			char *dir = base_printf(&j->set->arena, "%s/collider-XXXXXX",
						tmp && *tmp ? tmp : "/tmp");
			j->temp = mkdtemp(dir) ? dir : "";
			if (!*j->temp)
				base_say("error: --instantiate: %s: %s", dir, strerror(errno));
		}
		from = *j->temp ? prove_instantiate(from, instances, j->temp, &j->set->arena)
				: NULL;
		if (!from)
			return BASE_EXIT_INPUT;
	}
	return tool_ptx(from, args, nargs, text, size);
}

/* The kernels of a source that aren't proven as they are written, as they are optimised; unless the
 * options say how to compile. */
static void prove_optimised(struct job *j, struct prove_source_text written,
			    const struct confirm_source *src, const struct prove_options *o,
			    struct race_proofs *r)
{
	static char *const more[] = {"-O3", "-lineinfo", "-w", "-Xcicc",
				     /* copies, moves or widens accesses (prove_optimised.c) */
				     "--Xopt,-disable-GVNPass,--Xopt,-disable-LICMPass,"
				     "--Xopt,-disable-LoopUnrollPass,"
				     "--Xopt,-disable-LoopRotatePass,"
				     "--Xopt,-disable-LoopUnswitchPass,"
				     "--Xopt,-disable-JumpThreadingPass,"
				     "--Xopt,-disable-GlobalOptimizerPass,"
				     "--Xopt,-disable-AggressiveDCEPass,"
				     "--Xopt,-disable-LoadStoreVectorizerPass"};
	struct prove_source_text text[2] = {written, {0}};
	size_t n = src->nargs, nmore = BASE_COUNTOF(more);
	unsigned sm = 0;
	char suffix, **args;

	if (!strstr(src->adds, "-G") || !prove_wants_optimised(r))
		return;
	/* nvcc's code generator for compute_100 and above has no such switches */
	bool has_switches = ptx_read_head(written.text, &sm, &suffix) && sm < 100;
	if (!has_switches)
		nmore -= 2;
	args = BASE_NEWN(&j->set->arena, char *, n + nmore);
	memcpy(args, src->args, n * sizeof(*args));
	memcpy(args + n, more, nmore * sizeof(*args));
	if (!compile(j, src->path, args, n + nmore, &text[1].text, &text[1].size))
		prove_take_optimised(src->path, text, has_switches, o, r);
	free(text[1].text);
}

/* What the launches of alarms show when they run: of all, or of what is only potential. */
static void confirm(const struct job *j, struct race_proofs *r, const char *text, size_t size,
		    const struct confirm_source *src)
{
	if (option_flag(j->set, OPTION_CONFIRM))
		confirm_alarms(r, text, size, src, option_text(j->set, OPTION_REPRODUCER));
	else if (!option_flag(j->set, OPTION_NO_CONFIRM))
		confirm_potential(r, text, size, j->o.timeout_ms);
}

/* One source or PTX text, into *r. */
static int prove_one(struct job *j, const char *from, char *const *args, size_t nargs,
		     struct race_proofs *r)
{
	size_t n = strlen(from), size = 0;
	bool is_ptx = !strcmp(from, "-") || (n > 4 && !strcmp(from + n - 4, ".ptx"));
	struct confirm_source src = {.path = from, .args = args, .nargs = nargs};
	struct prove_options o = j->o;
	struct base_sink sink = {0};
	char *text = NULL;
	int rc;

	if (is_ptx) {
		rc = read_ptx(from, &text, &size);
	} else {
		rc = prove_read_header(&src, &o, &j->set->arena);
		prove_find_system(&src, &o, &j->set->arena);
		src.adds = tool_ptx_adds(src.args, src.nargs);
		if (!rc)
			rc = compile(j, from, src.args, src.nargs, &text, &size);
	}
	if (!rc)
		rc = prove_text(from, text, size, &o, r, &sink);
	cli_flush(&sink);
	if (!rc && !is_ptx)
		prove_optimised(j, (struct prove_source_text){text, size}, &src, &o, r);
	if (!rc)
		confirm(j, r, text, size, is_ptx ? NULL : &src);
	if (!rc && !is_ptx && !o.kernel)
		prove_name_templates(from, r);
	free(text);
	return rc;
}

/* The results of one file or text join the others'. */
static void join(struct job *j, const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		base_vec_push(&j->all.kernels, r->kernels.v[i]);
}

/* A file of --build: its kernels join the others'. One that doesn't compile is reported and left
 * out. */
static int prove_next(const char *file, char *const *args, size_t nargs, size_t at, size_t of,
		      void *arg)
{
	struct job *j = arg;
	struct race_proofs *r = BASE_NEW(&j->all.arena, struct race_proofs);
	int rc;

	base_say("[%zu/%zu] %s (%zu kernels so far)", at, of, file, j->all.kernels.n);
	rc = prove_one(j, file, args, nargs, r);
	if (rc == BASE_EXIT_ENV || rc == BASE_EXIT_USAGE)
		return rc;
	if (rc) {
		struct race_proof k = {.verdict = RACE_VERDICT_UNPROVEN};
		struct race_problem p = {.text = "the file doesn't compile"};
		p.cause = RACE_CAUSE_CRASH;
		p.file = base_strdup(&j->all.arena, file);
		k.name = k.name_shown = p.file;
		base_vec_push(&k.problems, p);
		base_vec_push(&j->all.kernels, k);
	}
	join(j, r);
	return 0;
}

/* A new empty file of ours, or NULL. */
static const char *temp_file(struct base_arena *a)
{
	const char *tmp = getenv("TMPDIR");
	char *path = base_printf(a, "%s/collider-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	int fd = mkstemp(path);

	if (fd < 0) {
		base_say("error: %s: %s", path, strerror(errno));
		return NULL;
	}
	close(fd);
	return path;
}

/* The program's launches; in *texts its PTX. */
static int run_program(struct job *j, struct prove_texts *texts)
{
	const char *path = temp_file(&j->set->arena);
	int rc = path ? prove_record(j->set, path, &j->set->arena) : BASE_EXIT_ENV;

	if (!rc)
		rc = prove_read_launches(path, &j->o, texts, &j->set->arena);
	if (path)
		unlink(path);
	if (!rc && !j->o.nlaunches) {
		base_say("error: %s launched no kernel: nothing was analysed", j->set->args.v[0]);
		rc = BASE_EXIT_INPUT;
	}
	return rc;
}

/* A recorded launch names its kernel, and two files of a program may have one of that name
 * (static): what is proven for the launches of both is proven, but no alarm is known to be of
 * one. */
static void forget_alarms(struct race_proof *k)
{
	struct race_problem p = {.text = "the program has several kernels of this name, and a "
					 "recorded launch doesn't "
					 "say which of them it is of",
				 .file = ""};

	k->verdict = RACE_VERDICT_UNPROVEN;
	k->alarms.n = k->remedies.n = k->frees.n = 0;
	for (size_t i = 0; i < k->launches.n; i++)
		k->launches.v[i].verdict = RACE_VERDICT_UNPROVEN;
	base_vec_push(&k->problems, p);
}

static void forget_of_namesakes(struct race_proofs *r, const struct prove_texts *texts)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_proof *k = &r->kernels.v[i];
		bool has_alarms =
			k->verdict == RACE_VERDICT_TRUE || k->verdict == RACE_VERDICT_POTENTIAL;
		if (has_alarms && prove_has_namesake(texts, k->name))
			forget_alarms(k);
	}
}

/* The kernels that were launched, in the PTX that their program had. */
static int prove_texts(struct job *j, const struct prove_texts *texts, const char *from)
{
	int rc = 0;

	j->all.file = from;
	j->o.only_launched = true;
	for (size_t i = 0; i < texts->n && !rc; i++) {
		struct race_proofs *r = BASE_NEW(&j->all.arena, struct race_proofs);
		struct base_sink sink = {0};
		size_t size = strlen(texts->v[i]);
		rc = prove_text(from, texts->v[i], size, &j->o, r, &sink);
		cli_flush(&sink);
		forget_of_namesakes(r, texts);
		if (!rc)
			confirm(j, r, texts->v[i], size, NULL);
		join(j, r);
	}
	return rc;
}

/* Nothing analysed is never "race-free". */
static int say_none(const struct job *j, const char *from)
{
	if (j->o.kernel)
		base_say("error: --kernel=%s: no kernel of %s has that in its name", j->o.kernel,
			 from);
	else
		base_say("error: %s has no kernel: nothing was analysed", from);
	return j->o.kernel ? BASE_EXIT_USAGE : BASE_EXIT_INPUT;
}

static int print(struct job *j, const struct race_proofs *r, const char *from)
{
	if (!r->kernels.n)
		return say_none(j, from);
	struct base_arena a = {0};
	struct rep_options view = {.format = rep_format_find(option_text(j->set, OPTION_FORMAT)),
				   .source_root = cli_source_root(&a, j->set)};
	struct base_buf out = {0};

	rep_proof_render(r, &view, &out);
	int rc = cli_print(&out);
	base_buf_free(&out);
	base_arena_free(&a);
	return rc ? rc : race_proof_exit_code(r);
}

static int check_arguments(const struct option_set *set)
{
	const char *from = set->args.n ? set->args.v[0] : NULL;
	size_t n = from ? strlen(from) : 0;
	bool is_build = option_text(set, OPTION_BUILD), is_run = option_flag(set, OPTION_RUN_APP);
	bool has_launches = option_text(set, OPTION_LAUNCHES) && !is_build;

	if (is_run && !from)
		base_say("error: prove --run takes a program: collider prove --run -- APP");
	else if (is_run && (is_build || has_launches))
		base_say("error: --run goes with neither --build nor --launches");
	else if (is_run || (!from && has_launches))
		return 0;
	else if (!from && !is_build)
		base_say("error: prove takes a .cu or .ptx file, and options of nvcc after --");
	else if (from && is_build)
		base_say("error: prove takes a file or --build, found both");
	else if (from && set->args.n > 1 &&
		 (!strcmp(from, "-") || (n > 4 && !strcmp(from + n - 4, ".ptx"))))
		base_say("error: prove takes one PTX file, found %zu", set->args.n);
	else if (option_text(set, OPTION_REPRODUCER) && !option_flag(set, OPTION_CONFIRM))
		base_say("error: --reproducer needs --confirm");
	else
		return 0;
	return BASE_EXIT_USAGE;
}

int cli_prove(struct option_set *set)
{
	struct job j = {.set = set, .temp = ""};
	struct race_proofs r = {0};
	const char *build = option_text(set, OPTION_BUILD);
	const char *launches = option_text(set, OPTION_LAUNCHES);
	const char *from = set->args.n ? set->args.v[0] : launches;
	bool is_run = option_flag(set, OPTION_RUN_APP), has_texts = is_run || !set->args.n;
	struct prove_texts texts = {0};
	int rc = check_arguments(set);

	if (!rc)
		rc = read_options(set, &j.o);
	if (!rc && launches)
		rc = prove_read_launches(launches, &j.o, &texts, &set->arena);
	if (!rc && is_run)
		rc = run_program(&j, &texts);
	if (!rc && !option_flag(set, OPTION_NO_CACHE))
		prove_use_cache(&j.o, &set->arena);
	if (rc)
		return rc;
	if (build) {
		j.all.file = build;
		rc = prove_each_file(build, prove_next, &j);
		if (!rc)
			rc = print(&j, &j.all, build);
	} else if (has_texts) {
		rc = prove_texts(&j, &texts, from);
		if (!rc)
			rc = print(&j, &j.all, from);
	} else {
		rc = prove_one(&j, from, set->args.v + 1, set->args.n - 1, &r);
		if (!rc)
			rc = print(&j, &r, from);
		race_proofs_free(&r);
	}
	base_vec_free(&texts);
	if (*j.temp) {
		unlink(base_printf(&set->arena, "%s/instances.cu", j.temp));
		rmdir(j.temp);
	}
	return rc;
}
