/*
 * file_name.c - names of files that a run writes, with what % stands for in them.
 *
 * The letters are compute-sanitizer's: %p the program's process number, %h the host's name,
 * %q{NAME} a variable of the environment, %% a %. %r is ours: the rank of the process under MPI and
 * its launchers, 0 without.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The rank, in the order in which launchers set them: the inner one comes first. */
static const char *rank_get(void)
{
	static const char *const names[] = {"PMIX_RANK",    "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					    "SLURM_PROCID", "FLUX_TASK_RANK",	    "PALS_RANKID"};

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		const char *rank = getenv(names[i]);
		if (rank && *rank)
			return rank;
	}
	return "0";
}

/* What stands for the letter at p, which is moved after it. NULL after filling in *why. */
static const char *letter_get(struct base_arena *a, const char **p, pid_t pid, const char **why)
{
	char host[256] = "";
	const char *at = *p, *end;

	*p = at + 1;
	switch (*at) {
	case '%':
		return "%";
	case 'p':
		return base_printf(a, "%d", (int)pid);
	case 'r':
		return rank_get();
	case 'h':
		gethostname(host, sizeof(host) - 1);
		return base_strdup(a, host);
	case 'q':
		end = at[1] == '{' ? strchr(at, '}') : NULL;
		if (!end) {
			*why = "found %q, expected %q{VARIABLE}";
			return NULL;
		}
		const char *name = base_strndup(a, at + 2, (size_t)(end - at - 2));
		const char *value = getenv(name);
		*p = end + 1;
		if (!value)
			*why = base_printf(a, "%%q{%s}: the environment has no %s", name, name);
		return value;
	default:
		*why = *at ? base_printf(
				     a, "found %%%c, expected %%p, %%h, %%r, %%q{VARIABLE} or %%%%",
				     *at)
			   : "found a single % at the end, expected %%";
		return NULL;
	}
}

const char *cli_file_name(struct base_arena *a, const char *pattern, pid_t pid, const char **why)
{
	struct base_buf b = {0};
	const char *p = pattern, *name = NULL;

	while (*p) {
		const char *percent = strchr(p, '%'), *text;
		base_buf_put(&b, p, percent ? (size_t)(percent - p) : strlen(p));
		if (!percent)
			break;
		p = percent + 1;
		text = letter_get(a, &p, pid, why);
		if (!text)
			goto done;
		base_buf_puts(&b, text);
	}
	name = base_strndup(a, b.p ? b.p : "", b.n);
done:
	base_buf_free(&b);
	return name;
}

/* Why the file can't be written, or 0. is_any_folder: its folder isn't known yet. */
static int path_problem(struct base_arena *a, const char *path, bool is_any_folder)
{
	const char *slash = strrchr(path, '/');
	const char *folder = !slash	     ? "."
			     : slash == path ? "/"
					     : base_strndup(a, path, (size_t)(slash - path));
	struct stat st;

	if (!strcmp(path, "-") || is_any_folder)
		return 0;
	if (!stat(path, &st))
		return S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) ? errno : 0;
	if (stat(folder, &st))
		return errno;
	return !S_ISDIR(st.st_mode) ? ENOTDIR : access(folder, W_OK | X_OK) ? errno : 0;
}

const char *cli_file_problem(struct base_arena *a, const char *pattern)
{
	const char *why = NULL, *path = cli_file_name(a, pattern, 0, &why);
	const char *last = strrchr(pattern, '/'), *number = strstr(pattern, "%p");
	int err;

	if (!path)
		return why;
	/* What %p stands for in the name of a folder isn't known yet. */
	err = path_problem(a, path, last && number && number < last);
	return err ? strerror(err) : NULL;
}

const char *cli_lines_problem(struct base_arena *a, const char *path)
{
	struct stat st;
	int err = path_problem(a, path, false);

	if (err)
		return strerror(err);
	/* The program itself appends to it, and must not wait for a reader. */
	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)
		       ? "expected a file, found a pipe or the like"
		       : NULL;
}
