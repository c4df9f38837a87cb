/*
 * judge.c - collider judge: capsules in, one report out.
 *
 * Each capsule is executed with each seed, in children that share a file of findings with this
 * process, as a program and collider run do. So the report is made as all others are.
 */
#include "cli/cli.h"
#include "cli/view.h"
#include "judge/judge.h"
#include "race/file/shm_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum cpu_model model_of(const struct option_set *set)
{
	if (option_is(set, OPTION_MEMORY_MODEL, "weak"))
		return CPU_MODEL_WEAK;
	return option_is(set, OPTION_MEMORY_MODEL, "a1") ? CPU_MODEL_A1 : CPU_MODEL_SC;
}

static enum cpu_jit jit_of(const struct option_set *set)
{
	if (option_is(set, OPTION_JIT, "off"))
		return CPU_JIT_OFF;
	return option_is(set, OPTION_JIT, "verify") ? CPU_JIT_VERIFY : CPU_JIT_ON;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Reads all of them, each with one line where it is wrong. */
static int read_all(const struct option_set *set, struct judge_capsule *capsules)
{
	int rc = 0;

	for (size_t i = 0; i < set->args.n; i++) {
		const char *why = judge_capsule_read(&capsules[i], set->args.v[i]);
		if (!why)
			continue;
		base_say("error: %s: %s", set->args.v[i], why);
		rc = BASE_EXIT_INPUT;
	}
	return rc;
}

static void judge_all(const struct option_set *set, const struct judge_capsule *capsules)
{
	size_t seeds = (size_t)option_int(set, OPTION_JUDGE_SEEDS), n = set->args.n * seeds;
	bool has_seed = option_source(set, OPTION_SEED) != OPTION_FROM_DEFAULT;
	struct judge_trial *trials = base_calloc(n + 1, sizeof(*trials));

	for (size_t i = 0; i < n; i++) {
		const struct judge_capsule *c = &capsules[i / seeds];
		uint64_t first = has_seed ? (uint64_t)option_int(set, OPTION_SEED) : c->seed;
		trials[i] = (struct judge_trial){
			.capsule = c,
			.name = last_part(set->args.v[i / seeds]),
			.seed = first + i % seeds,
			.model = model_of(set),
			.jit = jit_of(set),
			.oracle = option_is(set, OPTION_ORACLE, "execution") ? CPU_ORACLE_EXECUTION
									     : CPU_ORACLE_PROGRAM,
			.limit_ms = (uint64_t)option_int(set, OPTION_JUDGE_TIME),
			.blocks = (uint64_t)option_int(set, OPTION_JUDGE_BLOCKS)};
	}
	judge_run(trials, n, (unsigned)option_int(set, OPTION_JOBS), NULL, NULL);
	free(trials);
}

static void add_words(struct race_results *r, const struct option_set *set,
		      const struct judge_capsule *capsules)
{
	struct base_buf b = {0};

	base_buf_puts(&b, "collider judge");
	for (size_t i = 0; i < set->args.n && i < 20; i++)
		base_buf_printf(&b, " %s", set->args.v[i]);
	r->command = race_text(&r->arena, b.p, b.n);
	b.n = 0;
	for (size_t i = 0; i < set->args.n; i++) {
		base_buf_printf(&b, "%s holds launch %llu of: %s", last_part(set->args.v[i]),
				(unsigned long long)capsules[i].number, capsules[i].program);
		if (option_flag(set, OPTION_VERBOSE))
			race_note_add(r, b.p, b.n);
		b.n = 0;
	}
	base_buf_free(&b);
}

static int report(const struct option_set *set, struct cli_view *view,
		  const struct judge_capsule *capsules)
{
	struct race_results r = {0};
	int rc;

	if (race_shm_read(race_shm_get(), RACE_SHM_BYTES, &r))
		base_say("error: the shared file of findings has been overwritten");
	add_words(&r, set, capsules);
	race_merge(&r);
	rc = cli_view_print(view, &r);
	if (!rc && (!cli_write_json(&r, set, OPTION_JSON, &view->ignore, getpid()) ||
		    !cli_write_json(&r, set, OPTION_SAVE, NULL, getpid())))
		rc = BASE_EXIT_ENV;
	if (!rc)
		rc = cli_view_code(view, set, &r, 0);
	race_results_free(&r);
	return rc;
}

int cli_judge(struct option_set *set)
{
	struct judge_capsule *capsules;
	struct cli_view view;

	if (!set->args.n) {
		base_say("error: judge needs at least one file that collider run --capsules wrote");
		return BASE_EXIT_USAGE;
	}
	int rc = cli_view_open(&view, set, STDOUT_FILENO);
	if (rc)
		return rc;
	capsules = base_calloc(set->args.n, sizeof(*capsules));
	rc = read_all(set, capsules);
	/* The file is ours alone: this isn't a part of some other run. */
	unsetenv(RACE_SHM_ENV);
	if (!rc && !race_shm_open())
		rc = BASE_EXIT_ENV;
	if (!rc) {
		race_shm_state(RACE_AGENT_ATTACHED);
		judge_all(set, capsules);
		rc = report(set, &view, capsules);
	}
	for (size_t i = 0; i < set->args.n; i++)
		judge_capsule_free(&capsules[i]);
	free(capsules);
	cli_view_close(&view);
	return rc;
}
