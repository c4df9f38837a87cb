/*
 * launches.c - records the launches that a program made (collider run --record-launches).
 *
 * A line of JSON for each launch that is new by its kernel, dimensions and parameters: what
 * `collider prove --launches` reads. A word of the parameters that lies in an allocation is a
 * pointer: beside its value stand the number of that array in this launch, the place in it and its
 * size, and the value doesn't make a launch new. Before the first launch of a module stands its
 * PTX, without checks. Lines are appended in one write each, so that several processes may share
 * the file. Launches are distinguished by a 64-bit hash.
 *
 * Misses: launches through CUDA graphs that change parameters after capture. A number that happens
 * to be the address of an array is taken for a pointer, and then isn't known to prove.
 * Costs: a hash and a look-up for each launch; memory for 65,536 launches, later ones are left out.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/table.h"
#include "cudart/state/internal.h"
#include "cudart/state/link.h"
#include "instrument/instrument.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEEN 65536

struct seen {
	uint64_t hash;
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *path;
static struct seen *seen;

void rt_launches_open(const char *file)
{
	if (!file)
		return;
	path = strdup(file);
}

/* True: it is new. */
static bool remember(uint64_t hash)
{
	struct seen *s;

	HASH_FIND(hh, seen, &hash, sizeof(hash), s);
	if (s || HASH_COUNT(seen) == MAX_SEEN)
		return false;
	s = base_calloc(1, sizeof(*s));
	s->hash = hash;
	HASH_ADD(hh, seen, hash, sizeof(s->hash), s);
	return true;
}

/* The arrays that a launch is given, in the order of their pointers. */
#define MAX_ARRAYS 64

struct arrays {
	uint64_t base[MAX_ARRAYS];
	unsigned n;
};

static void add_word(struct rt_words *out, struct arrays *a, uint32_t off, uint32_t n,
		     const unsigned char *p)
{
	struct rt_word w = {.off = off, .bytes = n};
	struct cpu_mem_info info;
	unsigned i = 0;

	memcpy(&w.value, p + off, n);
	bool is_pointer = n == 8 && w.value && cpu_mem_find(rt.m, w.value, &info);
	while (is_pointer && i < a->n && a->base[i] != info.base)
		i++;
	if (is_pointer && i < MAX_ARRAYS) {
		a->n += i == a->n;
		a->base[i] = info.base;
		w.array = i + 1;
		w.at = w.value - info.base;
		w.size = info.bytes;
	}
	base_vec_push(out, w);
}

/* Numbers of up to 8 bytes as they are; of a structure its words of 4 bytes, pointers of 8. */
void rt_launches_words(const struct cpu_launch *l, struct rt_words *out)
{
	const unsigned char *p = l->params;
	struct arrays a = {.n = 0};
	struct cpu_mem_info info;
	uint32_t off, n;

	for (uint32_t i = 0; cpu_kernel_param(l->kernel, i, &off, &n); i++) {
		if (n <= 8) {
			add_word(out, &a, off, n, p);
			continue;
		}
		for (uint32_t k = 0, w; k < n && k < 4096; k += w) {
			uint64_t v = 0;
			w = n - k < 4 ? 1 : 4;
			if (k + 8 <= n && !(k % 8))
				memcpy(&v, p + off + k, 8);
			if (v && cpu_mem_find(rt.m, v, &info))
				w = 8;
			add_word(out, &a, off + k, w, p);
		}
	}
}

void rt_launches_put(const struct cpu_launch *l, const struct rt_words *words, const bool *is_any,
		     struct base_buf *shown)
{
	struct cpu_kernel_info info;
	const char *comma = "";

	cpu_kernel_get_info(l->kernel, &info);
	base_buf_printf(shown,
			"{\"kernel\":\"%s\",\"block\":[%u,%u,%u],\"grid\":[%u,%u,%u],\"params\":[",
			info.name, l->block[0], l->block[1], l->block[2], l->grid[0], l->grid[1],
			l->grid[2]);
	for (size_t i = 0; i < words->n; i++) {
		const struct rt_word *w = &words->v[i];
		if (is_any && is_any[i])
			continue;
		base_buf_printf(shown, "%s{\"offset\":%u,\"bytes\":%u,\"value\":%llu", comma,
				w->off, w->bytes, (unsigned long long)w->value);
		if (w->array)
			base_buf_printf(shown, ",\"array\":%u,\"at\":%llu,\"size\":%llu", w->array,
					(unsigned long long)w->at, (unsigned long long)w->size);
		base_buf_puts(shown, "}");
		comma = ",";
	}
	base_buf_puts(shown, "]}\n");
}

/* What makes a launch another one: not where its arrays lie. */
static uint64_t hash_of(const struct cpu_launch *l, const struct rt_words *words)
{
	struct cpu_kernel_info info;

	cpu_kernel_get_info(l->kernel, &info);
	uint64_t h = base_hash(info.name, strlen(info.name), BASE_FNV_INIT);
	h = base_hash(l->block, sizeof(l->block), h);
	h = base_hash(l->grid, sizeof(l->grid), h);
	for (size_t i = 0; i < words->n; i++) {
		const struct rt_word *w = &words->v[i];
		uint64_t v[3] = {w->off, w->array, w->array ? w->at : w->value};
		h = base_hash(v, sizeof(v), h);
	}
	return h;
}

/* Appends a line that is whole. The lock is held. */
static void append(const struct base_buf *line)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

	if (path && (fd < 0 || write(fd, line->p, line->n) != (ssize_t)line->n)) {
		base_say("--record-launches: %s can't be written: %m", path);
		free(path);
		path = NULL;
	}
	if (fd >= 0)
		close(fd);
}

static bool is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

void rt_launches_json(struct base_buf *out, const char *s, size_t n)
{
	for (size_t i = 0, plain; i < n && s[i]; i++) {
		for (plain = i; i < n && is_plain(s[i]); i++)
			;
		base_buf_put(out, s + plain, i - plain);
		if (i == n || !s[i])
			return;
		if (s[i] == '\n' || s[i] == '\t')
			base_buf_puts(out, s[i] == '\n' ? "\\n" : "\\t");
		else if (s[i] == '"' || s[i] == '\\')
			base_buf_printf(out, "\\%c", s[i]);
	}
}

void rt_launches_text(const struct rt_source *s, struct base_buf *out)
{
	static const char ours[] = RACE_SYMBOL_PREFIX;
	struct base_sink sink = {0};
	struct base_arena arena = {0};
	struct ptx_module *m = NULL;

	/* What has a mark of ours is parsed to find out. */
	if (memmem(s->text, s->size, ours, sizeof(ours) - 1))
		m = ptx_parse(&arena, s->file, s->text, s->size, &sink);
	if (m && !sink.errors && inst_detectors_of(m) && inst_strip(m, &sink))
		ptx_print(m, out);
	else
		base_buf_put(out, s->text, s->size);
	base_sink_free(&sink);
	base_arena_free(&arena);
}

static void put_text(const struct rt_source *s)
{
	struct base_buf plain = {0}, line = {0};

	rt_launches_text(s, &plain);
	base_buf_puts(&line, "{\"ptx\":\"");
	rt_launches_json(&line, plain.p, plain.n);
	base_buf_puts(&line, "\"}\n");
	if (remember(base_hash(line.p, line.n, BASE_FNV_INIT)))
		append(&line);
	base_buf_free(&plain);
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
	const struct cpu_launch *l = &w->cpu.launch;
	struct base_buf shown = {0};
	struct rt_words words = {0};

	if (!path)
		return;
	rt_launches_words(l, &words);
	rt_launches_put(l, &words, NULL, &shown);
	pthread_mutex_lock(&lock);
	if (remember(hash_of(l, &words))) {
		if (w->kern)
			record_image(w->kern->image);
		append(&shown);
	}
	pthread_mutex_unlock(&lock);
	base_buf_free(&shown);
	base_vec_free(&words);
}
