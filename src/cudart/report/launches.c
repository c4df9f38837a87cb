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

/* One word. `shown` gets it as it is, `same` what makes the launch another one. */
static void put_word(struct base_buf *shown, struct base_buf *same, struct arrays *a, uint32_t off,
		     uint32_t n, const unsigned char *p)
{
	struct cpu_mem_info info;
	uint64_t v = 0;
	unsigned i = 0;

	memcpy(&v, p + off, n);
	base_buf_printf(shown, "%s{\"offset\":%u,\"bytes\":%u,\"value\":%llu",
			shown->p[shown->n - 1] == '[' ? "" : ",", off, n, (unsigned long long)v);
	bool is_pointer = n == 8 && v && cpu_mem_find(rt.m, v, &info);
	while (is_pointer && i < a->n && a->base[i] != info.base)
		i++;
	if (is_pointer && i < MAX_ARRAYS) {
		a->n += i == a->n;
		a->base[i] = info.base;
		base_buf_printf(shown, ",\"array\":%u,\"at\":%llu,\"size\":%llu", i + 1,
				(unsigned long long)(v - info.base),
				(unsigned long long)info.bytes);
		base_buf_printf(same, "%u: array %u %llu;", off, i,
				(unsigned long long)(v - info.base));
	} else {
		base_buf_printf(same, "%u: %llu;", off, (unsigned long long)v);
	}
	base_buf_puts(shown, "}");
}

/* Numbers of up to 8 bytes as they are; of a structure its words of 4 bytes, pointers of 8. */
static void put_params(struct base_buf *shown, struct base_buf *same, const struct cpu_launch *l)
{
	const unsigned char *p = l->params;
	struct arrays a = {.n = 0};
	struct cpu_mem_info info;
	uint32_t off, n;

	for (uint32_t i = 0; cpu_kernel_param(l->kernel, i, &off, &n); i++) {
		if (n <= 8) {
			put_word(shown, same, &a, off, n, p);
			continue;
		}
		for (uint32_t k = 0, w; k < n && k < 4096; k += w) {
			uint64_t v = 0;
			w = n - k < 4 ? 1 : 4;
			if (k + 8 <= n && !(k % 8))
				memcpy(&v, p + off + k, 8);
			if (v && cpu_mem_find(rt.m, v, &info))
				w = 8;
			put_word(shown, same, &a, off + k, w, p);
		}
	}
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

static void put_json(struct base_buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n && s[i]; i++) {
		if (s[i] == '\n' || s[i] == '\t')
			base_buf_puts(out, s[i] == '\n' ? "\\n" : "\\t");
		else if (s[i] == '"' || s[i] == '\\')
			base_buf_printf(out, "\\%c", s[i]);
		else if ((unsigned char)s[i] >= ' ')
			base_buf_put(out, s + i, 1);
	}
}

void rt_launches_text(const struct rt_source *s, struct base_buf *out)
{
	struct base_sink sink = {0};
	struct base_arena arena = {0};
	struct ptx_module *m = ptx_parse(&arena, s->file, s->text, s->size, &sink);

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
	put_json(&line, plain.p, plain.n);
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
	struct cpu_kernel_info info;
	struct base_buf shown = {0}, same = {0};

	if (!path)
		return;
	cpu_kernel_get_info(l->kernel, &info);
	base_buf_printf(&shown,
			"{\"kernel\":\"%s\",\"block\":[%u,%u,%u],\"grid\":[%u,%u,%u],\"params\":[",
			info.name, l->block[0], l->block[1], l->block[2], l->grid[0], l->grid[1],
			l->grid[2]);
	base_buf_put(&same, shown.p, shown.n);
	put_params(&shown, &same, l);
	base_buf_puts(&shown, "]}\n");
	pthread_mutex_lock(&lock);
	if (remember(base_hash(same.p, same.n, BASE_FNV_INIT))) {
		if (w->kern)
			record_image(w->kern->image);
		append(&shown);
	}
	pthread_mutex_unlock(&lock);
	base_buf_free(&shown);
	base_buf_free(&same);
}
