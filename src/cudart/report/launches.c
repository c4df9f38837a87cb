/*
 * launches.c - records the launches that a program made (collider run --record-launches), as
 * race/launched.h has them.
 *
 * Before the first launch of a module stands its PTX, without checks.
 *
 * Misses: changes of a captured graph's parameters that aren't made node by node.
 * Costs: a hash and a look-up for each launch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/state/internal.h"
#include "cudart/state/link.h"
#include "instrument/instrument.h"
#include "race/file/shm_write.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *path;
static struct race_lines seen;

void rt_launches_open(const char *file)
{
	if (!file)
		return;
	path = strdup(file);
}

/* ---- launches as data ------------------------------------------------------------------------ */

static bool find_memory(void *arg, uint64_t address, uint64_t *base, uint64_t *bytes)
{
	struct cpu_mem_info info;

	if (!cpu_mem_find(arg, address, &info))
		return false;
	*base = info.base;
	*bytes = info.bytes;
	return true;
}

void rt_launches_words(const struct cpu_launch *l, struct rt_words *out)
{
	struct race_param_words w = {.find = find_memory, .arg = rt.m};
	size_t most = 0;
	uint32_t off, n;

	for (uint32_t i = 0; cpu_kernel_param(l->kernel, i, &off, &n); i++)
		most += race_param_words_most(n);
	w.v = base_malloc((most + 1) * sizeof(*w.v));
	for (uint32_t i = 0; cpu_kernel_param(l->kernel, i, &off, &n); i++)
		race_param_words_add(&w, off, n, (const char *)l->params + off);
	*out = (struct rt_words){.v = w.v, .n = w.n, .cap = most + 1};
}

static struct race_launched launched_of(const struct cpu_launch *l, const struct rt_words *words)
{
	struct race_launched out = {.word = words->v, .nwords = words->n};
	struct cpu_kernel_info info;

	cpu_kernel_get_info(l->kernel, &info);
	out.kernel = info.name;
	memcpy(out.block, l->block, sizeof(out.block));
	memcpy(out.grid, l->grid, sizeof(out.grid));
	return out;
}

void rt_launches_put(const struct cpu_launch *l, const struct rt_words *words, const bool *is_any,
		     struct base_buf *shown)
{
	const struct race_launched as = launched_of(l, words);

	base_buf_room(shown, race_launched_most(&as));
	shown->n += race_launched_line(&as, is_any, shown->p + shown->n);
}

/* ---- their file ------------------------------------------------------------------------------ */

static void add(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Of the run; NULL: it has no shared file. */
static struct race_recorded *counts(void)
{
	return race_shm_get() ? &race_shm_get()->recorded : NULL;
}

/* The lock is held; `path` is gone afterwards if the file can't be written. */
static void append(const struct base_buf *line)
{
	int err = path ? race_launched_append(path, line->p, line->n) : 0;

	if (!err)
		return;
	base_say("--record-launches: %s can't be written: %s", path, strerror(err));
	free(path);
	path = NULL;
}

static void put_text(const struct rt_source *s)
{
	struct base_buf line = {0};

	inst_bare_line(s->file, s->text, s->size, &line);
	if (race_lines_add(&seen, base_hash(line.p, line.n, BASE_FNV_INIT)) != RACE_LINES_BEFORE)
		append(&line);
	base_buf_free(&line);
}

static void record_image(struct rt_image *im)
{
	rt_images_lock();
	for (size_t i = 0; i < im->sources.n && !im->is_recorded; i++)
		put_text(&im->sources.v[i]);
	im->is_recorded = true;
	rt_images_unlock();
}

/* The lock is held. */
static void record(const struct rt_work *w, const struct rt_words *words)
{
	const struct race_launched as = launched_of(&w->cpu.launch, words);
	enum race_lines_as is = race_lines_add(&seen, race_launched_hash(&as));
	struct race_recorded *n = counts();
	struct base_buf line = {0};

	if (is == RACE_LINES_NEW) {
		if (w->kern)
			record_image(w->kern->image);
		rt_launches_put(&w->cpu.launch, words, NULL, &line);
		append(&line);
		base_buf_free(&line);
	}
	if (!n)
		return;
	add(&n->launches);
	if (!path)
		add(&n->unnoted[RACE_UNNOTED_FILE]);
	else if (is == RACE_LINES_FULL)
		add(&n->unnoted[RACE_UNNOTED_MANY]);
	else if (is == RACE_LINES_NEW)
		add(&n->lines);
}

void rt_launches_record(const struct rt_work *w)
{
	struct rt_words words = {0};

	if (!path)
		return;
	rt_launches_words(&w->cpu.launch, &words);
	pthread_mutex_lock(&lock);
	record(w, &words);
	pthread_mutex_unlock(&lock);
	base_vec_free(&words);
}
