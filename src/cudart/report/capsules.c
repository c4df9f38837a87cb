/*
 * capsules.c - launches as files, while the program runs (collider run --capsules).
 *
 * src/judge records them; here it learns what only the runtime knows: the text of a kernel's module
 * as the compiler left it, and the program. At the end a note says how many there are, what was
 * left out, and that they hold the program's data.
 *
 * Costs: a parse of each instrumented module more; what record.c says.
 */
#include "base/table.h"
#include "cudart/report/collider.h"
#include "cudart/state/internal.h"
#include "cudart/state/link.h"
#include "instrument/instrument.h"
#include "judge/judge.h"
#include "race/file/shm_write.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST	    (2ull << 30)
#define MAX_PROGRAM 4096

/* The texts of an image; they stay when it is unloaded. */
struct texts {
	const struct rt_image *image;
	const char *first; /* where its first text is: another image may come to its place */
	struct judge_text *v;
	size_t n;
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct judge_recorder *recorder;
static struct texts *known;

static char *program_name(void)
{
	char *text = base_calloc(1, MAX_PROGRAM);
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n = f ? fread(text, 1, MAX_PROGRAM - 1, f) : 0;

	if (f)
		fclose(f);
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

void rt_capsules_start(const char *folder)
{
	if (!folder || !rt.options.oracle)
		return;
	const struct judge_record_options opt = {
		.folder = folder, .program = program_name(), .bytes = LARGEST};
	recorder = judge_record(rt.m, &rt.options, &opt);
}

/* With the images' lock held. */
static struct texts *texts_of(const struct rt_image *im)
{
	struct texts *t;

	HASH_FIND_PTR(known, &im, t);
	if (t && im->sources.n && t->first == im->sources.v[0].text)
		return t;
	if (t)
		HASH_DEL(known, t);
	t = base_calloc(1, sizeof(*t));
	t->image = im;
	t->first = im->sources.n ? im->sources.v[0].text : NULL;
	t->n = im->sources.n;
	t->v = base_calloc(t->n + 1, sizeof(*t->v));
	for (size_t i = 0; i < t->n; i++) {
		struct base_buf text = {0};
		const struct rt_source *s = &im->sources.v[i];
		inst_bare(s->file, s->text, s->size, &text);
		t->v[i] = (struct judge_text){
			.file = strdup(s->file), .text = text.p, .bytes = text.n};
	}
	HASH_ADD_PTR(known, image, t);
	return t;
}

void rt_capsules_launch(const struct rt_work *w)
{
	const struct cpu_launch *l = &w->cpu.launch;

	if (!recorder || !w->kern)
		return;
	rt_images_lock();
	pthread_mutex_lock(&lock);
	const struct texts *t = texts_of(w->kern->image);
	judge_record_kernel(recorder, l->kernel, t->v, t->n);
	pthread_mutex_unlock(&lock);
	rt_images_unlock();
}

void rt_capsules_end(void)
{
	struct judge_record_counts c;

	if (!recorder)
		return;
	c = judge_record_count(recorder);
	race_shm_note("--capsules: %llu launches were kept (%llu more were the same as these); the "
		      "files hold the program's data",
		      (unsigned long long)c.written, (unsigned long long)c.same);
	if (c.beside)
		race_shm_note("--capsules: %llu launches were not kept, as something else ran "
			      "beside them",
			      (unsigned long long)c.beside);
	if (c.large)
		race_shm_note("--capsules: %llu launches were not kept, as they use more than %llu "
			      "MiB",
			      (unsigned long long)c.large, LARGEST >> 20);
	if (c.failed)
		race_shm_note("--capsules: %llu launches could not be written: %s",
			      (unsigned long long)c.failed, strerror(c.error));
}
