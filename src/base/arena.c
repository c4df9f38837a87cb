/*
 * arena.c - bump allocation by lifetime, and growable arrays.
 *
 * Chunks double from 64 KiB to 8 MiB so that a small kernel costs little and
 * a 100 MB module costs few system calls. Nothing is freed one by one. Large
 * chunks ask for huge pages: page faults were a third of the parser's time.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_MIN ((size_t)64 << 10)
#define CHUNK_MAX ((size_t)8 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

struct base_chunk {
	struct base_chunk *next;
	size_t size;
	char mem[] __attribute__((aligned(16)));
};

/* A chunk of at least *size usable bytes; sets *size to what it has. */
static struct base_chunk *new_chunk(size_t *size)
{
	size_t whole = sizeof(struct base_chunk) + *size;
	struct base_chunk *c;

	if (whole < *size || whole > SIZE_MAX - HUGE_PAGE)
		base_out_of_memory(*size);
	if (*size < HUGE_PAGE)
		return base_malloc(whole);
	whole = (whole + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	c = base_aligned(HUGE_PAGE, whole);
	madvise(c, whole, MADV_HUGEPAGE); /* advice: a refusal only costs time */
	*size = whole - sizeof(struct base_chunk);
	return c;
}

void *base_alloc_slow(struct base_arena *a, size_t size, size_t align)
{
	size_t chunk = a->head ? a->head->size * 2 : CHUNK_MIN;

	if (chunk > CHUNK_MAX)
		chunk = CHUNK_MAX;
	if (chunk < size + align)
		chunk = size + align;
	struct base_chunk *c = new_chunk(&chunk);
	c->next = a->head;
	c->size = chunk;
	a->head = c;
	a->cur = c->mem + size;
	a->end = c->mem + chunk;
	a->total += size;
	return c->mem;
}

void *base_zalloc(struct base_arena *a, size_t size)
{
	void *p = base_alloc(a, size);

	memset(p, 0, size);
	return p;
}

char *base_strndup(struct base_arena *a, const char *s, size_t n)
{
	char *p = base_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	p[n] = 0;
	return p;
}

char *base_strdup(struct base_arena *a, const char *s)
{
	return base_strndup(a, s, strlen(s));
}

#define SHORT 256 /* bytes of most texts, at most */

char *base_printf(struct base_arena *a, const char *fmt, ...)
{
	char text[SHORT], *p;
	va_list ap;

	/* Most texts are short: they are formatted once, and copied. */
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0) /* an encoding error: leave it out */
		return base_strdup(a, "");
	if ((size_t)n < sizeof(text))
		return base_strndup(a, text, (size_t)n);
	p = base_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void base_arena_free(struct base_arena *a)
{
	struct base_chunk *c = a->head;

	while (c) {
		struct base_chunk *next = c->next;
		free(c);
		c = next;
	}
	memset(a, 0, sizeof(*a));
}

void base_arena_reset(struct base_arena *a)
{
	struct base_chunk *kept = a->head;

	if (!kept)
		return;
	struct base_arena older = {.head = kept->next};
	base_arena_free(&older);
	kept->next = NULL;
	*a = (struct base_arena){.head = kept, .cur = kept->mem, .end = kept->mem + kept->size};
}

void base_vec_grow(void **v, size_t *cap, size_t want, size_t elem_size)
{
	size_t n = *cap ? *cap * 2 : 8;

	if (n < want)
		n = want;
	*v = base_realloc(*v, n * elem_size);
	*cap = n;
}

void base_vec_free_(void **v)
{
	free(*v);
	*v = NULL;
}
