/*
 * history.c - collider history: reports into the history's file, and questions about it.
 *
 * The first argument is what to do. Which commit a run is of, and the order of commits, come from
 * git where it is there: it is called as a child, in the current folder.
 */
#include "cli/cli.h"
#include "history/history.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- git ---------------------------------------------------------------------------------- */

/* What git prints; false where it fails or isn't there. */
static bool git_ask(char *const *argv, struct base_buf *out)
{
	posix_spawn_file_actions_t files;
	int ends[2], status = 0;
	char text[4096];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	bool is_ok = !posix_spawnp(&pid, "git", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	while (is_ok && ((n = read(ends[0], text, sizeof(text))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			base_buf_put(out, text, (size_t)n);
	close(ends[0]);
	while (is_ok && waitpid(pid, &status, 0) < 0)
		is_ok = errno == EINTR;
	return is_ok && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The commit of the current folder; "" where none is known. */
static const char *find_commit(struct option_set *set)
{
	static const char *const names[] = {"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"};
	static char *const argv[] = {"git",	  "describe",	 "--always", "--abbrev=40",
				     "--dirty=+", "--exclude=*", NULL};
	const char *given = option_text(set, OPTION_COMMIT);
	struct base_buf b = {0};

	for (size_t i = 0; i < BASE_COUNTOF(names) && !given; i++)
		given = getenv(names[i]);
	if (given)
		return given;
	given = git_ask(argv, &b) && b.n ? base_strndup(&set->arena, b.p, strcspn(b.p, "\n")) : "";
	base_buf_free(&b);
	return given;
}

typedef BASE_VEC(const char *) order_vec;

/* The repository's commits, oldest first; none outside of one. */
static void find_order(struct base_arena *a, order_vec *order)
{
	static char *const argv[] = {"git", "rev-list", "--topo-order", "--reverse", "HEAD", NULL};
	struct base_buf b = {0};

	if (git_ask(argv, &b))
		for (const char *at = b.p ? b.p : ""; *at;) {
			size_t n = strcspn(at, "\n");
			base_vec_push(order, base_strndup(a, at, n));
			at += n + (at[n] == '\n');
		}
	base_buf_free(&b);
}

/* ---- what it does --------------------------------------------------------------------------- */

struct added {
	size_t all, new; /* runs */
};

static int add_run(struct history *h, const char *path, const char *text, size_t n,
		   struct history_run *run, struct added *added)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	bool was_new = false;
	int rc = rep_json_parse(path, text, n, &r, &sink);

	cli_flush(&sink);
	run->results = &r;
	run->content = base_hash(text, n, BASE_FNV_INIT);
	if (!rc)
		rc = history_add(h, run, &was_new);
	added->all++;
	added->new += was_new;
	race_results_free(&r);
	return rc;
}

/* A file's runs: a worker's file has many, one after the other, each with its header. */
static int add_file(struct history *h, const char *path, struct history_run *run,
		    struct added *added)
{
	static const char header[] = "\n{\"type\":\"header\"";
	struct stat st;
	char *text = NULL;
	size_t n = 0;
	int rc = 0, err = rep_file_read(path, &text, &n);

	if (err || stat(path, &st)) {
		base_say("error: %s: %s", path, base_file_error(err ? err : errno));
		free(text);
		return BASE_EXIT_INPUT;
	}
	run->at = st.st_mtime;
	for (char *at = text; at && !rc;) {
		char *next = memmem(at, n - (size_t)(at - text), header, sizeof(header) - 1);
		next = next ? next + 1 : NULL;
		rc = add_run(h, path, at, next ? (size_t)(next - at) : n - (size_t)(at - text), run,
			     added);
		at = next;
	}
	free(text);
	return rc;
}

static int do_add(struct history *h, struct option_set *set)
{
	const char *path = option_text(set, OPTION_COVERAGE);
	struct rep_coverage coverage = {0};
	struct base_sink sink = {0};
	struct history_run run = {.commit = find_commit(set)};
	struct added added = {0, 0};
	int rc = 0;

	if (path && set->args.n != 2) {
		base_say("error: --coverage belongs to one report, found %zu", set->args.n - 1);
		return BASE_EXIT_USAGE;
	}
	if (path && access(path, R_OK)) {
		base_say("error: --coverage: %s: %s", path, strerror(errno));
		return BASE_EXIT_INPUT;
	}
	if (path)
		rc = rep_coverage_read(&coverage, path, &sink);
	cli_flush(&sink);
	run.coverage = path ? &coverage : NULL;
	if (!rc)
		rc = history_begin(h);
	for (size_t i = 1; i < set->args.n && !rc; i++) {
		rc = add_file(h, set->args.v[i], &run, &added);
	}
	/* What isn't committed is undone when the file is closed. */
	if (!rc)
		rc = history_commit(h);
	if (!rc)
		base_say("%zu of %zu reports added to %s%s%s", added.new, added.all,
			 option_text(set, OPTION_DB), *run.commit ? ", commit " : "", run.commit);
	rep_coverage_free(&coverage);
	return rc;
}

static int do_bisect(struct history *h, struct option_set *set, bool is_json, struct base_buf *out)
{
	order_vec order = {0};

	find_order(&set->arena, &order);
	int rc = history_bisect(h, set->args.v[1], order.v, order.n, is_json, out);
	base_vec_free(&order);
	return rc;
}

enum action { ADD, LIST, COMPARE, UNCHECKED, BISECT, ACTIONS };

static const struct {
	const char *name;
	size_t least, most; /* arguments after the name */
	const char *wants;
} actions[ACTIONS] = {
	[ADD] = {"add", 1, SIZE_MAX, "files that collider run --save wrote"},
	[LIST] = {"list", 0, 0, "no argument"},
	[COMPARE] = {"compare", 2, 2, "two commits or days"},
	[UNCHECKED] = {"unchecked", 0, 0, "no argument"},
	[BISECT] = {"bisect", 1, 1, "a finding's fingerprint"},
};

/* ACTIONS after saying what is wrong. */
static enum action find_action(const struct option_set *set)
{
	unsigned i = 0;

	while (set->args.n && i < ACTIONS && strcmp(set->args.v[0], actions[i].name))
		i++;
	if (!set->args.n || i == ACTIONS) {
		base_say("error: history: found %s%s%s, expected add, list, compare, unchecked or "
			 "bisect",
			 set->args.n ? "'" : "", set->args.n ? set->args.v[0] : "nothing",
			 set->args.n ? "'" : "");
		return ACTIONS;
	}
	if (set->args.n - 1 < actions[i].least || set->args.n - 1 > actions[i].most) {
		base_say("error: history %s: found %zu arguments, expected %s", actions[i].name,
			 set->args.n - 1, actions[i].wants);
		return ACTIONS;
	}
	if (!option_is(set, OPTION_FORMAT, "text") && !option_is(set, OPTION_FORMAT, "json")) {
		base_say("error: history: --format: found '%s', expected text or json",
			 option_text(set, OPTION_FORMAT));
		return ACTIONS;
	}
	return (enum action)i;
}

int cli_history(struct option_set *set)
{
	enum action action = find_action(set);
	bool is_json = option_is(set, OPTION_FORMAT, "json");
	struct base_buf out = {0};
	struct history *h;
	uint64_t nnew = 0;

	if (action == ACTIONS)
		return BASE_EXIT_USAGE;
	int rc = history_open(&h, option_text(set, OPTION_DB), action == ADD);
	if (rc)
		return rc;
	if (action == ADD)
		rc = do_add(h, set);
	else if (action == LIST)
		rc = history_list(h, is_json, &out);
	else if (action == COMPARE)
		rc = history_compare(h, set->args.v[1], set->args.v[2], is_json, &out, &nnew);
	else if (action == UNCHECKED)
		rc = history_unchecked(h, is_json, &out);
	else
		rc = do_bisect(h, set, is_json, &out);
	if (!rc && out.n)
		rc = cli_print(&out);
	if (!rc && nnew)
		rc = (int)option_int(set, OPTION_ERROR_EXITCODE);
	history_close(h);
	base_buf_free(&out);
	return rc;
}
