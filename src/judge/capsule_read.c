/*
 * capsule_read.c - a capsule from its file (format.h), which may hold anything.
 *
 * The sum in its head only shows damage; what follows must hold for files that were made to
 * deceive, too: a length is compared with the bytes that are left before anything is allocated for
 * it, numbers of kinds with their ranges, addresses with those that a process can have, and pages
 * lie in allocations. The PTX is the parser's to refuse.
 */
#include "judge/format.h"
#include "judge/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAX_SMS 4096u

struct in {
	const uint8_t *p;
	size_t left;
	struct base_arena *a;
	const char *why; /* NULL: nothing is wrong so far */
};

static void wrong(struct in *in, const char *why)
{
	if (!in->why)
		in->why = why;
	in->left = 0;
}

static bool take(struct in *in, void *out, size_t n)
{
	if (n > in->left) {
		wrong(in, "damaged: it ends too early");
		memset(out, 0, n);
		return false;
	}
	memcpy(out, in->p, n);
	in->p += n;
	in->left -= n;
	return true;
}

static uint32_t get32(struct in *in)
{
	uint32_t v;

	take(in, &v, sizeof(v));
	return v;
}

static uint64_t get64(struct in *in)
{
	uint64_t v;

	take(in, &v, sizeof(v));
	return v;
}

/* Bytes in the arena, with a NUL after them. */
static const uint8_t *get_bytes(struct in *in, uint32_t *n)
{
	*n = get32(in);
	if (*n > in->left) {
		wrong(in, "damaged: it ends too early");
		*n = 0;
	}
	uint8_t *copy = (uint8_t *)base_strndup(in->a, (const char *)in->p, *n);
	in->p += *n;
	in->left -= *n;
	return copy;
}

static const char *get_text(struct in *in)
{
	uint32_t n;
	const char *s = (const char *)get_bytes(in, &n);

	if (strlen(s) != n)
		wrong(in, "damaged: a name holds a NUL");
	return s;
}

/* The length of a list whose elements take at least `each` bytes. */
static uint32_t get_count(struct in *in, size_t each)
{
	uint32_t n = get32(in);

	if (n > in->left / each) {
		wrong(in, "damaged: a list is longer than the file");
		return 0;
	}
	return n;
}

static uint32_t get_below(struct in *in, uint32_t limit)
{
	uint32_t v = get32(in);

	if (v >= limit) {
		wrong(in, "damaged: a number is out of its range");
		return 0;
	}
	return v;
}

/* ---- its parts -------------------------------------------------------------------------- */

static uint64_t count_units(struct in *in, const struct judge_capsule *c)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t each = c->cluster[0] ? c->cluster[i] : 1;
		if (!c->grid[i] || !c->block[i] || c->grid[i] > INT32_MAX || !each ||
		    c->grid[i] % each || (i && c->grid[i] > UINT16_MAX)) {
			wrong(in, "damaged: dimensions that no launch has");
			return 0;
		}
		n *= c->grid[i] / each;
	}
	return n;
}

static void get_chosen(struct in *in, struct judge_capsule *c, uint64_t units)
{
	uint32_t n = get_count(in, 8);
	uint64_t *v = n ? BASE_NEWN(in->a, uint64_t, n) : NULL;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = get64(in);
		/* (The kernel may have clusters of its own: the machine compares again.) */
		if (v[i] >= units || (i && v[i] <= v[i - 1]))
			wrong(in, "damaged: blocks that the grid doesn't have");
	}
	c->chosen = v;
	c->nchosen = n;
}

static void get_launch(struct in *in, struct judge_capsule *c)
{
	c->program = get_text(in);
	c->kernel = get_text(in);
	c->device = get32(in);
	c->sms = get_below(in, MAX_SMS + 1);
	c->seed = get64(in);
	c->model = get_below(in, CPU_MODEL_A1 + 1);
	for (unsigned i = 0; i < 3; i++) {
		c->grid[i] = get32(in);
		c->block[i] = get32(in);
		c->cluster[i] = get32(in);
	}
	uint64_t units = in->why ? 0 : count_units(in, c);
	c->shared = get64(in);
	c->flags = get_below(in, JUDGE_FLAGS + 1);
	c->page = get32(in);
	if (c->page < JUDGE_PAGE_MIN || c->page > JUDGE_PAGE_MAX || c->page & (c->page - 1))
		wrong(in, "damaged: a size of pages that isn't one");
	c->params = get_bytes(in, &c->nparam_bytes);
	get_chosen(in, c, units);
}

static void get_texts(struct in *in, struct judge_capsule *c)
{
	uint32_t n = get_count(in, 8);

	for (uint32_t i = 0; i < n && !in->why; i++) {
		struct judge_text t = {.file = get_text(in)};
		uint32_t bytes;
		t.text = (const char *)get_bytes(in, &bytes);
		t.bytes = bytes;
		base_vec_push(&c->texts, t);
	}
	if (!n)
		wrong(in, "damaged: it holds no PTX");
}

static bool is_range(uint64_t addr, uint64_t bytes)
{
	return addr >= JUDGE_ADDRESS_MIN && addr < JUDGE_ADDRESS_MAX &&
	       bytes <= JUDGE_ADDRESS_MAX - addr;
}

static void get_memory(struct in *in, struct judge_capsule *c)
{
	uint32_t n = get_count(in, 24);
	uint64_t end = 0;

	for (uint32_t i = 0; i < n && !in->why; i++) {
		struct cpu_mem_info m = {.base = get64(in), .bytes = get64(in)};
		m.kind = (enum cpu_mem_kind)get_below(in, CPU_MEM_MODULE + 1);
		m.is_heap = get_below(in, JUDGE_MEMORY_HEAP + 1) != 0;
		if (!is_range(m.base, m.bytes) || m.base < end)
			wrong(in, "damaged: its allocations overlap, or lie nowhere");
		end = m.base + m.bytes;
		base_vec_push(&c->memory, m);
	}
	n = get_count(in, 28);
	for (uint32_t i = 0; i < n && !in->why; i++) {
		struct judge_place p = {.part = get_below(in, (uint32_t)c->texts.n),
					.nth = get32(in)};
		p.name = get_text(in);
		p.addr = get64(in);
		p.bytes = get64(in);
		if (p.bytes && !is_range(p.addr, p.bytes))
			wrong(in, "damaged: a variable lies nowhere");
		base_vec_push(&c->places, p);
	}
}

static void get_texture(struct in *in, struct judge_texture *x)
{
	uint64_t v[7];
	struct cpu_texture *t = &x->t;
	uint32_t n, m;

	for (size_t i = 0; i < BASE_COUNTOF(v); i++)
		v[i] = get64(in);
	const uint8_t *w = get_bytes(in, &n), *border = get_bytes(in, &m);
	if (n != 12 || m != sizeof(t->border)) {
		wrong(in, "damaged: a texture");
		return;
	}
	x->handle = v[0];
	*t = (struct cpu_texture){.address = v[1],
				  .width = v[2],
				  .height = v[3],
				  .depth = v[4],
				  .pitch = v[5],
				  .slice = v[6],
				  .channels = w[0],
				  .bits = w[1],
				  .type = w[2],
				  .mode = {w[3], w[4], w[5]},
				  .is_surface = w[6] != 0,
				  .is_layered = w[7] != 0,
				  .is_array = w[8] != 0,
				  .is_filtered = w[9] != 0,
				  .is_normalized = w[10] != 0,
				  .is_unit = w[11] != 0};
	memcpy(t->border, border, sizeof(t->border));
	bool has_channels = w[0] == 1 || w[0] == 2 || w[0] == 4;
	bool has_bits = w[1] == 8 || w[1] == 16 || w[1] == 32;
	if (!has_channels || !has_bits || w[2] > CPU_TEX_FLOAT || w[3] > CPU_TEX_BORDER ||
	    w[4] > CPU_TEX_BORDER || w[5] > CPU_TEX_BORDER)
		wrong(in, "damaged: a texture");
	/* What they are multiplied with fits, whatever the coordinates. */
	for (size_t i = 2; i < 5; i++)
		if (v[i] > UINT32_MAX)
			wrong(in, "damaged: a texture");
}

static void get_textures(struct in *in, struct judge_capsule *c)
{
	uint32_t n = get_count(in, 64);

	for (uint32_t i = 0; i < n && !in->why; i++) {
		struct judge_texture x = {0};
		get_texture(in, &x);
		base_vec_push(&c->textures, x);
	}
}

/* Does [addr, addr + bytes) lie in one allocation? */
static bool is_in_memory(const struct judge_capsule *c, uint64_t addr, uint64_t bytes)
{
	size_t lo = 0, hi = c->memory.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->memory.v[mid].base <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	const struct cpu_mem_info *m = &c->memory.v[lo - 1];
	return addr - m->base <= m->bytes && bytes <= m->bytes - (addr - m->base);
}

static void get_pages(struct in *in, struct judge_capsule *c)
{
	uint32_t n = get_count(in, 4), m;
	struct judge_page *contents = BASE_NEWN(in->a, struct judge_page, n + 1u);
	uint64_t end = 0;

	for (uint32_t i = 0; i < n && !in->why; i++)
		contents[i].data = get_bytes(in, &contents[i].bytes);
	m = get_count(in, 12);
	for (uint32_t i = 0; i < m && !in->why; i++) {
		uint64_t addr = get64(in);
		struct judge_page p = contents[get_below(in, n)];
		p.addr = addr;
		/* None crosses a page's end: they are looked for by that. */
		if (!p.bytes || addr < end || !is_in_memory(c, addr, p.bytes) ||
		    addr % c->page + p.bytes > c->page)
			wrong(in, "damaged: a page lies in no allocation");
		end = addr + p.bytes;
		base_vec_push(&c->pages, p);
	}
}

/* ------------------------------------------------------------------------------------------ */

void judge_capsule_free(struct judge_capsule *c)
{
	base_vec_free(&c->texts);
	base_vec_free(&c->memory);
	base_vec_free(&c->pages);
	base_vec_free(&c->places);
	base_vec_free(&c->textures);
	base_arena_free(&c->arena);
	*c = (struct judge_capsule){0};
}

static const char *body_read(struct judge_capsule *c, const uint8_t *body, size_t n)
{
	struct in in = {.p = body, .left = n, .a = &c->arena};

	c->number = get64(&in);
	get_launch(&in, c);
	if (!in.why)
		get_texts(&in, c);
	if (!in.why)
		get_memory(&in, c);
	if (!in.why)
		get_textures(&in, c);
	if (!in.why)
		get_pages(&in, c);
	if (!in.why && in.left)
		wrong(&in, "damaged: there is something after its end");
	return in.why;
}

const char *judge_capsule_parse(struct judge_capsule *c, const void *data, size_t bytes)
{
	struct judge_head h;
	const char *frame = (const char *)data + sizeof(h), *why;

	*c = (struct judge_capsule){0};
	if (bytes < sizeof(h.magic) || memcmp(data, &(uint64_t){JUDGE_MAGIC}, sizeof(h.magic)))
		return "not a capsule (collider run --capsules writes them)";
	if (bytes < sizeof(h))
		return "cut off";
	memcpy(&h, data, sizeof(h));
	if (h.version != JUDGE_VERSION)
		return "a capsule of another version of Collider";
	unsigned long long is = ZSTD_getFrameContentSize(frame, bytes - sizeof(h));
	if (h.bytes > JUDGE_MAX || is != h.bytes)
		return "cut off or damaged";
	uint8_t *body = malloc(h.bytes + 1);
	if (!body)
		return "too large for the memory here";
	size_t n = ZSTD_decompress(body, h.bytes, frame, bytes - sizeof(h));
	if (ZSTD_isError(n) || n != h.bytes || base_hash(body, n, BASE_FNV_INIT) != h.sum)
		why = "cut off or damaged";
	else
		why = body_read(c, body, n);
	free(body);
	if (why)
		judge_capsule_free(c);
	return why;
}

const char *judge_capsule_read(struct judge_capsule *c, const char *path)
{
	char *data = NULL;
	size_t n = 0;
	int err = base_read_file(path, &data, &n);

	*c = (struct judge_capsule){0};
	if (err)
		return strerror(err);
	const char *why = judge_capsule_parse(c, data, n);
	free(data);
	return why;
}
