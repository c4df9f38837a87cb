/*
 * capsule_write.c - a capsule as a file (format.h).
 *
 * The sum by which a launch is recognised again is that of the body with its number left out.
 * Costs: the body in memory beside the capsule, and zstd at a quick level.
 */
#include "base/table.h"
#include "judge/format.h"
#include "judge/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL 3

static void put32(struct base_buf *b, uint64_t v)
{
	uint32_t w = (uint32_t)v;

	base_buf_put(b, &w, sizeof(w));
}

static void put64(struct base_buf *b, uint64_t v)
{
	base_buf_put(b, &v, sizeof(v));
}

static void put_bytes(struct base_buf *b, const void *p, size_t n)
{
	put32(b, n);
	base_buf_put(b, p, n);
}

static void put_text(struct base_buf *b, const char *s)
{
	put_bytes(b, s ? s : "", s ? strlen(s) : 0);
}

static void put_launch(struct base_buf *b, const struct judge_capsule *c)
{
	put_text(b, c->program);
	put_text(b, c->kernel);
	put32(b, c->device);
	put32(b, c->sms);
	put64(b, c->seed);
	put32(b, c->model);
	for (unsigned i = 0; i < 3; i++) {
		put32(b, c->grid[i]);
		put32(b, c->block[i]);
		put32(b, c->cluster[i]);
	}
	put64(b, c->shared);
	put32(b, c->flags);
	put32(b, c->page);
	put_bytes(b, c->params, c->nparam_bytes);
	put32(b, c->chosen ? c->nchosen : 0);
	for (uint64_t i = 0; c->chosen && i < c->nchosen; i++)
		put64(b, c->chosen[i]);
}

static void put_texts(struct base_buf *b, const struct judge_capsule *c)
{
	put32(b, c->texts.n);
	for (size_t i = 0; i < c->texts.n; i++) {
		put_text(b, c->texts.v[i].file);
		put_bytes(b, c->texts.v[i].text, c->texts.v[i].bytes);
	}
}

static void put_memory(struct base_buf *b, const struct judge_capsule *c)
{
	put32(b, c->memory.n);
	for (size_t i = 0; i < c->memory.n; i++) {
		const struct cpu_mem_info *m = &c->memory.v[i];
		put64(b, m->base);
		put64(b, m->bytes);
		put32(b, m->kind);
		put32(b, m->is_heap ? JUDGE_MEMORY_HEAP : 0);
	}
	put32(b, c->places.n);
	for (size_t i = 0; i < c->places.n; i++) {
		const struct judge_place *p = &c->places.v[i];
		put32(b, p->part);
		put32(b, p->nth);
		put_text(b, p->name);
		put64(b, p->addr);
		put64(b, p->bytes);
	}
}

static void put_textures(struct base_buf *b, const struct judge_capsule *c)
{
	put32(b, c->textures.n);
	for (size_t i = 0; i < c->textures.n; i++) {
		const struct cpu_texture *t = &c->textures.v[i].t;
		const uint64_t v[] = {c->textures.v[i].handle,
				      t->address,
				      t->width,
				      t->height,
				      t->depth,
				      t->pitch,
				      t->slice};
		const uint8_t w[] = {t->channels, t->bits,	  t->type,	    t->mode[0],
				     t->mode[1],  t->mode[2],	  t->is_surface,    t->is_layered,
				     t->is_array, t->is_filtered, t->is_normalized, t->is_unit};
		for (size_t k = 0; k < BASE_COUNTOF(v); k++)
			put64(b, v[k]);
		put_bytes(b, w, sizeof(w));
		put_bytes(b, t->border, sizeof(t->border));
	}
}

/* ---- pages ------------------------------------------------------------------------------ */

struct content {
	uint64_t hash;
	const struct judge_page *page;
	uint32_t number;
	struct content *next; /* of the same hash */
	UT_hash_handle hh;
};

/* The number of the page's content, which is put when it is new. */
static uint32_t number_of(struct base_buf *b, struct base_arena *a, struct content **all,
			  const struct judge_page *p, uint32_t *n)
{
	uint64_t hash = base_hash(p->data, p->bytes, BASE_FNV_INIT);
	struct content *first, *c;

	HASH_FIND(hh, *all, &hash, sizeof(hash), first);
	for (c = first; c; c = c->next)
		if (c->page->bytes == p->bytes && !memcmp(c->page->data, p->data, p->bytes))
			return c->number;
	c = BASE_NEW(a, struct content);
	c->hash = hash;
	c->page = p;
	c->number = (*n)++;
	put_bytes(b, p->data, p->bytes);
	if (first) {
		c->next = first->next;
		first->next = c;
	} else {
		HASH_ADD(hh, *all, hash, sizeof(c->hash), c);
	}
	return c->number;
}

static void put_pages(struct base_buf *b, const struct judge_capsule *c)
{
	struct base_arena a = {0};
	struct content *all = NULL;
	uint32_t n = 0, *numbers = base_calloc(c->pages.n + 1, sizeof(*numbers));
	size_t at = b->n;

	put32(b, 0);
	for (size_t i = 0; i < c->pages.n; i++)
		numbers[i] = number_of(b, &a, &all, &c->pages.v[i], &n);
	memcpy(b->p + at, &n, sizeof(n));
	put32(b, c->pages.n);
	for (size_t i = 0; i < c->pages.n; i++) {
		put64(b, c->pages.v[i].addr);
		put32(b, numbers[i]);
	}
	HASH_CLEAR(hh, all);
	base_arena_free(&a);
	free(numbers);
}

static void body_make(struct base_buf *b, const struct judge_capsule *c)
{
	put_launch(b, c);
	put_texts(b, c);
	put_memory(b, c);
	put_textures(b, c);
	put_pages(b, c);
}

/* ------------------------------------------------------------------------------------------ */

uint64_t judge_capsule_sum(const struct judge_capsule *c)
{
	struct base_buf b = {0};

	body_make(&b, c);
	uint64_t sum = base_hash(b.p, b.n, BASE_FNV_INIT);
	base_buf_free(&b);
	return sum;
}

int judge_capsule_write(const struct judge_capsule *c, const char *path)
{
	struct judge_head h = {.magic = JUDGE_MAGIC, .version = JUDGE_VERSION};
	struct base_buf body = {0}, file = {0};
	int err = 0;

	put64(&body, c->number);
	body_make(&body, c);
	h.bytes = body.n;
	h.sum = base_hash(body.p, body.n, BASE_FNV_INIT);
	base_buf_put(&file, &h, sizeof(h));
	base_buf_room(&file, ZSTD_compressBound(body.n));
	size_t n = ZSTD_compress(file.p + file.n, file.cap - file.n, body.p, body.n, LEVEL);
	if (ZSTD_isError(n) || body.n > JUDGE_MAX)
		err = EFBIG;
	else
		err = base_write_file(path, file.p, file.n + n);
	base_buf_free(&body);
	base_buf_free(&file);
	return err;
}
