/*
 * report.c - collider report: saved reports in, one merged report out.
 */
#include "cli/cli.h"
#include "cli/view.h"
#include "agent/spawn.h"
#include "host/host.h"
#include "race/file/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* report --coverage=FILE */
static int show_coverage(const char *path)
{
	struct rep_coverage coverage = {0};
	struct base_sink sink = {0};
	struct base_buf text = {0};
	/* (Only for run a file that isn't there is an empty one.) */
	int rc = access(path, F_OK) ? BASE_EXIT_INPUT : rep_coverage_read(&coverage, path, &sink);

	if (rc && !sink.diags.n)
		base_say("error: --coverage: %s: %s", path, strerror(errno));
	cli_flush(&sink);
	if (!rc) {
		rep_coverage_say(&coverage, true, &text);
		rc = cli_print(&text);
	}
	base_buf_free(&text);
	rep_coverage_free(&coverage);
	return rc;
}

/* ---- report --rescue ------------------------------------------------------------- */

/* The newest file that a killed `collider run` left; NULL after saying that there is none. */
static const char *find_rescue(struct base_arena *a)
{
	const char *folder = spawn_rescue_folder(a), *best = NULL;
	DIR *d = opendir(folder);
	struct timespec newest = {0};
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		const char *path = base_printf(a, "%s/%s", folder, e->d_name);
		size_t n = strlen(path), m = strlen(SPAWN_RESCUE_END);
		if (n < m || strcmp(path + n - m, SPAWN_RESCUE_END) || stat(path, &st))
			continue;
		if (best &&
		    (st.st_mtim.tv_sec < newest.tv_sec ||
		     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		best = path;
		newest = st.st_mtim;
	}
	if (d)
		closedir(d);
	if (!best)
		base_say("error: --rescue: no collider run left a file in %s", folder);
	return best;
}

/* is_live: of a run that goes on. */
static int read_rescue(const char *path, struct race_results *r, bool is_live)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	void *map = MAP_FAILED;
	struct stat st = {0};
	struct base_buf note = {0};

	if (fd < 0 || fstat(fd, &st))
		err = errno;
	else if (st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!err && map != MAP_FAILED && race_shm_read(map, (size_t)st.st_size, r) == 0) {
		host_symbolise(r);
		base_buf_printf(&note, "collider run was killed; rescued from %s", path);
		if (is_live)
			race_merge(r);
		else
			race_note_add(r, note.p, note.n);
		base_buf_free(&note);
	} else {
		base_say("error: %s: %s", path,
			 err ? strerror(err) : "not a file that a killed collider run left");
		err = BASE_EXIT_INPUT;
	}
	if (map != MAP_FAILED)
		munmap(map, (size_t)st.st_size);
	if (fd >= 0)
		close(fd);
	return err ? BASE_EXIT_INPUT : 0;
}

static int read_rescued(struct option_set *set, struct race_results *r)
{
	const char *path = set->args.n ? NULL : find_rescue(&set->arena);
	bool is_live = option_int(set, OPTION_PROCESS) != 0;
	int rc = path ? read_rescue(path, r, is_live) : set->args.n ? 0 : BASE_EXIT_INPUT;

	for (size_t i = 0; i < set->args.n && !rc; i++)
		rc = read_rescue(set->args.v[i], r, is_live);
	return rc;
}

/* ---------------------------------------------------------------------------------- */

static int read_saved(struct option_set *set, struct race_results *r)
{
	struct base_sink sink = {0};
	int rc = 0;

	for (size_t i = 0; i < set->args.n && !rc; i++)
		rc = rep_json_read(set->args.v[i], r, &sink);
	cli_flush(&sink);
	return rc;
}

/* ---- which report has which finding ---------------------------------------------------- */

/* Of these prints, which has the file? Appends its name to their lists. */
static int note_file(const char *path, const struct rep_brief *all, size_t n, struct base_buf *in)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	struct rep_brief *own;
	int rc = rep_json_read(path, &r, &sink);
	size_t nown = rc ? 0 : rep_briefs(&a, &r, &own);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < nown; k++)
			if (own[k].print == all[i].print) {
				base_buf_printf(&in[i], " %s", path);
				break;
			}
	base_sink_free(&sink);
	base_arena_free(&a);
	race_results_free(&r);
	return rc;
}

/* Of several reports, as those of the ranks of one job: each finding, and the files that have
 * it. */
static int print_files(const struct option_set *set, const struct race_results *r)
{
	struct base_arena a = {0};
	struct base_buf out = {0};
	struct rep_brief *all;
	size_t n = rep_briefs(&a, r, &all);
	struct base_buf *in = BASE_NEWN(&a, struct base_buf, n + 1);
	int rc = 0;

	for (size_t i = 0; i < set->args.n && !rc; i++)
		rc = note_file(set->args.v[i], all, n, in);
	for (size_t i = 0; i < n; i++) {
		base_buf_printf(&out, "%s\n    in:%s\n", all[i].line, in[i].n ? in[i].p : "");
		base_buf_free(&in[i]);
	}
	if (!rc && out.n)
		rc = cli_print(&out);
	base_buf_free(&out);
	base_arena_free(&a);
	return rc;
}

int cli_report(struct option_set *set)
{
	bool is_rescue = option_flag(set, OPTION_RESCUE);
	struct race_results results = {0};
	struct cli_view view;

	if (option_text(set, OPTION_COVERAGE) && (set->args.n || is_rescue)) {
		base_say("error: report shows the file of --coverage or reports, found both");
		return BASE_EXIT_USAGE;
	}
	if (option_text(set, OPTION_COVERAGE))
		return show_coverage(option_text(set, OPTION_COVERAGE));
	if (set->args.n == 0 && !is_rescue) {
		base_say("error: report needs at least one file that collider run --save wrote");
		return BASE_EXIT_USAGE;
	}
	int rc = cli_view_open(&view, set, STDOUT_FILENO);
	if (rc)
		return rc;
	race_process_only((uint32_t)option_int(set, OPTION_PROCESS));
	rc = is_rescue ? read_rescued(set, &results) : read_saved(set, &results);
	if (!rc && !is_rescue && set->args.n > 1 && view.opt.format == REP_TEXT &&
	    option_flag(set, OPTION_VERBOSE))
		rc = print_files(set, &results);
	if (!rc)
		rc = cli_view_print(&view, &results);
	if (!rc)
		rc = cli_view_code(&view, set, &results, 0);
	race_results_free(&results);
	cli_view_close(&view);
	return rc;
}
