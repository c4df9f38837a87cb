/*
 * ask.c - finds the instrumented code of an image: kept from an earlier run, or made now.
 *
 * The tool is `collider` itself, in a process of its own (base/child.c), so that nothing of a
 * compiler is in the user's process: it chooses the text, puts the checks in, assembles, and
 * hands back an entry of image/kept.h, which it also keeps on disk. The entry's name is a sum of
 * the image, the device, the options and the versions of everything involved. An image without
 * any PTX is left alone at once.
 *
 * Where time ran out for proofs the tool goes on with them, and nothing waits (toolchain/later.c).
 *
 * Misses: machine code alone; a library for GPUs of several architectures. What is left alone is
 * counted; the report names the kernels of it that ran. Costs: see docs/load-time.md.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/given.h"
#include "base/child.h"
#include "base/clock.h"
#include "agent/forward/forward.h"
#include "agent/load/load.h"
#include "image/fatbin.h"
#include "image/kept.h"
#include "race/file/shm_write.h"

#define SAID_MAX 256 /* lines that are said once */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_on;

static void start(void)
{
	const struct agent_given *g = agent_given();

	is_on = g && *g->tool && getenv(RACE_SHM_ENV) && race_shm_open();
}

bool load_is_on(void)
{
	pthread_once(&once, start);
	return is_on;
}

static void count(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- names and lines ----------------------------------------------------------------------- */

const char *load_file_of(const void *address)
{
	Dl_info info;
	const char *slash;

	if (!dladdr(address, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

/* Whose code it is, for lines that name it: the file that the image lies in, or the caller's. */
static const char *name_of(const struct load_image *im, const struct load_piece *p)
{
	const char *name = load_file_of(p->data);

	if (!name)
		name = load_file_of(im->caller);
	return name && *name ? name : "a program";
}

bool load_is_agent(const struct load_image *im)
{
	const char *name = load_file_of(im->caller);

	return name && !strcmp(name, "libcollider_agent.so");
}

static void say_once(const char *line, size_t n)
{
	static uint64_t said[SAID_MAX];
	static uint32_t nsaid;
	uint64_t h = image_sum(line, n, 1);
	uint32_t have = __atomic_load_n(&nsaid, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < have && i < SAID_MAX; i++)
		if (said[i] == h)
			return;
	uint32_t at = __atomic_fetch_add(&nsaid, 1, __ATOMIC_RELAXED);
	if (at >= SAID_MAX)
		return;
	said[at] = h;
	race_shm_note("%.*s", (int)n, line);
}

static void say_lines(const char *text, size_t n)
{
	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t len = end ? (size_t)(end - text) : n;
		if (len)
			say_once(text, len);
		len += end != NULL;
		text += len;
		n -= len;
	}
}

static void say_as_it_was(const struct load_image *im, const struct load_piece *p, const char *why)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%.100s: its GPU code runs as it was: %.100s",
			 name_of(im, p), why);

	say_once(line, (size_t)n);
}

/* ---- the tool ------------------------------------------------------------------------------- */

#define KEY_BYTES 40

static void make_key(char key[KEY_BYTES], const struct load_image *im, const struct load_piece *p,
		     unsigned sm)
{
	const struct agent_given *g = agent_given();
	char more[64];
	uint64_t h[2] = {1, ~0ull};

	snprintf(more, sizeof(more), "%u %d %u", sm, im->is_linked, im->maxreg);
	for (int i = 0; i < 2; i++) {
		h[i] = image_sum(g->key, strlen(g->key), h[i]);
		h[i] = image_sum(g->options, strlen(g->options), h[i]);
		h[i] = image_sum(g->flags, strlen(g->flags), h[i]);
		h[i] = image_sum(name_of(im, p), strlen(name_of(im, p)), h[i]);
		h[i] = image_sum(more, strlen(more), h[i]);
		h[i] = image_sum(p->data, p->size, h[i]);
		for (const void *const *o = p->parts; o && *o; o++)
			h[i] = image_sum(*o, fatbin_size(*o), h[i]);
	}
	snprintf(key, KEY_BYTES, "%016llx%016llx", (unsigned long long)h[0],
		 (unsigned long long)h[1]);
}

static const struct image_kept *find_kept(const char *path, size_t *size)
{
	int fd = *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return NULL;
	const struct image_kept *k = image_kept_map(fd, size);
	/* Used now: what was used longest ago is removed first. */
	if (k)
		futimens(fd, NULL);
	close(fd);
	return k;
}

/* A variable of ours for the tool, where the program has it. */
static char *copy_variable(const char *name)
{
	const char *value = getenv(name);
	char *text = NULL;

	return value && asprintf(&text, "%s=%s", name, value) > 0 ? text : NULL;
}

/* Nothing of the program's own preloading and tracing reaches the tool. */
static char **make_environment(const char *options)
{
	static const char *const names[] = {
		"PATH", "HOME",	  "TMPDIR", "XDG_CACHE_HOME", "CUDA_HOME",  "CUDA_PATH",
		"LANG", "LC_ALL", "USER",   "LOGNAME",	      "LC_MESSAGES"};
	size_t n = sizeof(names) / sizeof(*names), k = 0;
	char **env = calloc(n + 2, sizeof(*env)), *own = NULL;

	for (size_t i = 0; env && i < n; i++) {
		char *one = copy_variable(names[i]);
		if (one)
			env[k++] = one;
	}
	if (env && asprintf(&own, "COLLIDER_TOOL_OPTIONS=%s", options) > 0)
		env[k] = own;
	return env;
}

static void free_environment(char **env)
{
	for (size_t i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}

static bool write_all(int fd, const struct load_piece *p)
{
	bool ok = base_write_all_unseen(fd, p->data, p->size);

	for (const void *const *o = p->parts; ok && o && *o; o++)
		ok = base_write_all_unseen(fd, *o, fatbin_size(*o));
	return ok && lseek(fd, 0, SEEK_SET) == 0;
}

/* `more`: its flags beside those of the image. Does it succeed? */
static bool run_tool(const struct load_image *im, const struct load_piece *p, unsigned sm,
		     const char *path, const char *more, int out)
{
	const struct agent_given *g = agent_given();
	char version[16], cap[16], flags[16], program[16];
	int in = memfd_create("collider-image", MFD_CLOEXEC);
	char **env = make_environment(g->options);

	snprintf(version, sizeof(version), "%u", sm);
	snprintf(cap, sizeof(cap), "%u", im->maxreg);
	snprintf(flags, sizeof(flags), "%s%s%s%s", g->flags, im->is_linked ? "l" : "",
		 p->parts ? "r" : "", more);
	snprintf(program, sizeof(program), "%d", (int)getpid());
	char *argv[] = {"collider-load",	version,      flags,   cap,
			(char *)name_of(im, p), (char *)path, program, NULL};
	bool ok = in >= 0 && env && write_all(in, p) &&
		  base_child_run(g->tool, argv, env, in, out < 0 ? in : out) == 0;
	free_environment(env);
	if (in >= 0)
		close(in);
	return ok;
}

static const struct image_kept *make_now(const struct load_image *im, const struct load_piece *p,
					 unsigned sm, const char *path, size_t *size)
{
	const struct image_kept *k = NULL;
	int out = memfd_create("collider-code", MFD_CLOEXEC);

	if (out >= 0 && run_tool(im, p, sm, path, "", out))
		k = image_kept_map(out, size);
	if (out >= 0)
		close(out);
	return k;
}

static const struct image_kept *find_or_make(const struct load_image *im,
					     const struct load_piece *p, unsigned sm)
{
	const struct agent_given *g = agent_given();
	struct race_load *counts = &race_shm_get()->load;
	char key[KEY_BYTES], path[4096] = "";
	size_t size;

	make_key(key, im, p, sm);
	if (*g->cache && snprintf(path, sizeof(path), "%s/%s", g->cache, key) >= (int)sizeof(path))
		*path = 0;
	const struct image_kept *k = find_kept(path, &size);
	if (k) {
		if (k->outcome == IMAGE_REPLACED)
			count(&counts->kept);
	} else {
		count(&counts->busy);
		k = make_now(im, p, sm, path, &size);
		__atomic_fetch_sub(&counts->busy, 1, __ATOMIC_RELAXED);
	}
	if (!k)
		say_as_it_was(im, p, "it could not be instrumented when it was loaded");
	else if (k->late && *path && run_tool(im, p, sm, path, "b", -1))
		count(&counts->late);
	return k;
}

/* ------------------------------------------------------------------------ */

static bool find_other(const struct load_image *im, struct load_other *other)
{
	struct race_load *counts = &race_shm_get()->load;
	struct load_piece p;
	unsigned sm;

	if (load_is_agent(im))
		return false;
	count(&counts->images);
	if (!load_piece_find(im, &p))
		return false;
	if (!(sm = load_device(im->is_library))) {
		say_as_it_was(im, &p,
			      "the GPUs are of several versions, or can't be asked for theirs");
		return false;
	}
	const struct image_kept *k = find_or_make(im, &p, sm);
	if (!k || k->outcome == IMAGE_FAILED)
		count(&counts->failed);
	if (k)
		say_lines((const char *)(k + 1), (size_t)k->said);
	if (k && k->code) {
		other->code = (const char *)k + image_kept_code_at(k->said);
		other->ncode = (size_t)k->code;
	}
	if (!k || k->outcome != IMAGE_REPLACED)
		return false;
	count(&counts->replaced);
	other->data = other->code;
	other->size = other->ncode;
	other->maxreg = k->maxreg;
	return true;
}

bool load_find_other(const struct load_image *im, struct load_other *other)
{
	memset(other, 0, sizeof(*other));
	uint64_t began = base_now_ns();
	bool found = load_is_on() && find_other(im, other);
	if (!other->code && !im->is_linked && forward_is_heard())
		load_find_code(im, load_device(im->is_library), other);
	if (load_is_on())
		__atomic_fetch_add(&race_shm_get()->load.ns, base_now_ns() - began,
				   __ATOMIC_RELAXED);
	return found;
}

void load_refused(int error)
{
	struct race_load *counts = &race_shm_get()->load;

	__atomic_fetch_sub(&counts->replaced, 1, __ATOMIC_RELAXED);
	count(&counts->failed);
	race_shm_note("the driver refuses instrumented code (error %d); the program's own runs "
		      "instead, unchecked",
		      error);
}
