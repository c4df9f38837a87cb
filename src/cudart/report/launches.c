/*
 * launches.c - records the launches that a program made (collider run --record-launches), as
 * race/launched.h has them.
 *
 * Before the first launch of a module stands its PTX, without checks. A launch is written when it
 * starts, as only then memory holds what it finds: what the array of a pointer holds from there on
 * is part of it (race/contents.h).
 *
 * Misses: launches that never start.
 * Costs: a pass over the arrays of each launch, a hash and a look-up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/begin.h"
#include "cudart/state/internal.h"
#include "cudart/state/link.h"
#include "instrument/instrument.h"
#include "race/file/shm_write.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many elements of arrays that are in no order are compared, in the whole run: some seconds. */
#define MOST_COMPARED (1u << 27)

/* Taken last: with the images' lock held, or the machine's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *path;
static struct race_lines seen;
static uint64_t left = MOST_COMPARED;

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
		     const struct race_contents *holds, struct base_buf *shown)
{
	struct race_launched as = launched_of(l, words);

	as.holds = holds;
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
	pthread_mutex_lock(&lock);
	if (race_lines_add(&seen, base_hash(line.p, line.n, BASE_FNV_INIT)) != RACE_LINES_BEFORE)
		append(&line);
	pthread_mutex_unlock(&lock);
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

void rt_launches_record(const struct rt_work *w)
{
	if (path && w->kern)
		record_image(w->kern->image);
}

/* What the arrays hold, from where the pointers lead on. The program's own memory, which it may
 * protect, isn't looked at. The lock is held. */
static struct race_contents *look_at(const struct rt_words *words)
{
	struct race_contents *holds = base_calloc(words->n + 1, sizeof(*holds));
	struct cpu_mem_info info;

	for (size_t i = 0; i < words->n; i++) {
		const struct race_param_word *w = &words->v[i];
		if (w->array && cpu_mem_find(rt.m, w->value, &info) && !info.is_registered)
			race_contents_find((const void *)(uintptr_t)cpu_mem_host(rt.m, w->value),
					   w->size - w->at, &left, &holds[i]);
	}
	return holds;
}

/* The lock is held. */
static void record(const struct cpu_launch *l, const struct rt_words *words)
{
	struct race_launched as = launched_of(l, words);
	struct race_contents *holds = look_at(words);
	struct race_recorded *n = counts();
	struct base_buf line = {0};

	as.holds = holds;
	enum race_lines_as is = race_lines_add(&seen, race_launched_hash(&as));
	if (is == RACE_LINES_NEW) {
		rt_launches_put(l, words, NULL, holds, &line);
		append(&line);
		base_buf_free(&line);
	}
	free(holds);
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

/* The machine's locks are held: nothing here may wait for what takes them (the images' lock). */
static void record_start(void *arg, const struct cpu_launch *l)
{
	struct rt_words words = {0};

	(void)arg;
	rt_launches_words(l, &words);
	pthread_mutex_lock(&lock);
	record(l, &words);
	pthread_mutex_unlock(&lock);
	base_vec_free(&words);
}

void rt_launches_listen(void)
{
	static const struct cpu_begin begin = {record_start, NULL};

	if (path)
		cpu_listen_begin(rt.m, &begin);
}
