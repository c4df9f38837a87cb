/*
 * recorded.c - --record-launches: what a program on a GPU is handed for it, the process that it
 * asks for the texts of its kernels, and what is said of launches that aren't there.
 *
 *     collider-text SM FLAGS 3<IMAGE 4>LINES
 *
 * Started by the library in the user's process (agent/record/code.c), never by hand. The image, a
 * fat binary or PTX, is descriptor 3; FLAGS: r: an -rdc program, what the device linker made of it
 * and then its objects' fat binaries, one after the other. LINES: of each text that a device of
 * version SM would run, a line of JSON, without checks.
 */
#include "cli/cli.h"
#include "image/choose.h"
#include "instrument/instrument.h"
#include "race/launched.h"
#include "race/race.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_FD 3
#define LINES_FD 4

/* ---- the texts of an image ------------------------------------------------------------------- */

static void put_text(const char *data, size_t size, unsigned sm, struct base_buf *out)
{
	struct image_text t = {0};

	if (image_choose(data, size, sm, false, &t) == IMAGE_TEXT)
		inst_bare_line("a program", t.text, t.size, out);
	image_text_free(&t);
}

/* The objects' images hold the text; where they have none, the linked one may. */
static void put_parts(const char *data, size_t size, unsigned sm, struct base_buf *out)
{
	size_t first = fatbin_size(data), n;

	for (size_t at = first; at < size && (n = fatbin_size(data + at)); at += n)
		put_text(data + at, n, sm, out);
	if (!out->n)
		put_text(data, first, sm, out);
}

static bool read_all(int fd, struct base_buf *out)
{
	ssize_t n;

	do {
		base_buf_room(out, 1 << 16);
		n = read(fd, out->p + out->n, 1 << 16);
		out->n += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return n == 0;
}

int cli_recorded_text(int argc, char **argv)
{
	struct base_buf image = {0}, lines = {0};
	unsigned sm = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	size_t done = 0;

	if (!sm || !read_all(IMAGE_FD, &image) || !image.n)
		return BASE_EXIT_USAGE;
	if (strchr(argv[2], 'r'))
		put_parts(image.p, image.n, sm, &lines);
	else
		put_text(image.p, image.n, sm, &lines);
	while (done < lines.n) {
		ssize_t n = write(LINES_FD, lines.p + done, lines.n - done);
		if (n <= 0)
			return BASE_EXIT_INPUT;
		done += (size_t)n;
	}
	base_buf_free(&image);
	base_buf_free(&lines);
	return 0;
}

/* ---- a run ----------------------------------------------------------------------------------- */

void cli_recorded_place(struct option_set *set)
{
	const char *path = option_text(set, OPTION_RECORD_LAUNCHES);
	char here[PATH_MAX];

	if (path && *path != '/' && getcwd(here, sizeof(here)))
		option_put(set, OPTION_RECORD_LAUNCHES,
			   base_printf(&set->arena, "%s/%s", here, path));
}

char *cli_recorded_variable(struct base_arena *a, const char *path)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!path || n <= 0)
		return NULL;
	return base_printf(a, RACE_LAUNCHED_ENV "=%.*s\n%s", (int)n, self, path);
}

const char *cli_recorded_unnoted(struct base_arena *a, const struct race_shm *shm, unsigned why)
{
	unsigned long long n = shm->recorded.unnoted[why];

	if (!n)
		return NULL;
	return base_printf(a, "%llu launch%s %s: %s", n, n == 1 ? "" : "es",
			   why == RACE_UNNOTED_TEXT ? "can't be analysed" : "not recorded",
			   race_unnoted_text((enum race_unnoted)why));
}

void cli_recorded_note(struct race_results *r, const struct option_set *set,
		       const struct race_shm *shm)
{
	const char *path = option_text(set, OPTION_RECORD_LAUNCHES), *line;

	if (!path)
		return;
	line = base_printf(
		&r->arena, "%llu launch%s recorded as %llu line%s in %s",
		(unsigned long long)shm->recorded.launches, shm->recorded.launches == 1 ? "" : "es",
		(unsigned long long)shm->recorded.lines, shm->recorded.lines == 1 ? "" : "s", path);
	race_note_add(r, line, strlen(line));
	for (unsigned i = 0; i < RACE_UNNOTED_KINDS; i++)
		if ((line = cli_recorded_unnoted(&r->arena, shm, i)))
			race_note_add(r, line, strlen(line));
}
