/*
 * cpu_run.c - runs a PTX file on the CPU device and checks what its comments expect.
 *
 *   cpu_run FILE.ptx...          every file with all its seeds and models
 *   cpu_run --oracle FILE.ptx... also prints what the oracle reports of each run
 *   cpu_run --dump FILE.ptx      prints the buffers after the first run instead of checking
 *
 * Lines of the PTX file that start with one of these comments, in their order:
 *
 *   // buffer NAME TYPE COUNT [= VALUES]   device memory, before each run; missing values are 0
 *   // launch KERNEL [grid=X[,Y[,Z]]] [block=X[,Y[,Z]]] [cluster=X] [shared=BYTES] [cooperative]
 *              [-- ARGUMENT...]            ARGUMENT: a buffer's name (its address, NAME+OFFSET) or
 *                                          VALUE:TYPE; launches follow each other, as in one stream
 *   // expect NAME[I] = VALUES             elements I, I+1, ... after the run
 *   // expect NAME = VALUES
 *   // expect-some NAME[I] = VALUES        in at least one of the runs
 *   // expect-all-or NAME[I] = VALUES or VALUES   one of the two lists, in every run
 *   // expect-fault KIND [TEXT]            the run ends with this fault, its message holds TEXT
 *   // judge clean|racy|some               a race in no run; one in each; in one of them
 *   // expect-print TEXT                   the printf output holds TEXT (\n for a newline)
 *   // expect-race KIND TAG TAG            the oracle reports this pair in every run; TAG: the
 *                                          statement marked `// race: TAG`; reports no other pair
 *   // expect-possible KIND TAG TAG        the same of a race that is only possible
 *   // expect-no-race                      the oracle reports none
 *   // tensormap NAME BUFFER W,H W,H [S]   a buffer with a tensor map: 32-bit elements, all, box,
 *                                          swizzle (number of CUtensorMapSwizzle)
 *   // im2col NAME BUFFER C,W,N C,P         a tensor map of pixels: channels, width, images;
 *                                          channels and pixels of a copy; with a 1 or 2 at the
 *                                          end: of im2col::w, ::w::128 (swizzle 64B)
 *   // multicast NAME BUFFER...           an address that stands for these buffers, up to four
 *   // texture NAME BUFFER W,H             a 2D texture object (surface: a surface object) of a
 *                                          buffer's 32-bit texels, clamped; as argument: its number
 *   // seeds N                             runs per model (default 3)
 *   // models sc weak a1                   default: all three
 *
 * VALUES: numbers of the buffer's type, separated by blanks; V*N repeats; iota is 0 1 2 ... up to
 * the end; A..B counts. TYPE: u8 s8 u16 s16 u32 s32 u64 s64 f32 f64, x32 and x64 for hexadecimal
 * output. KIND: address misaligned unsupported trap assert illegal stack deadlock resources.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/virtual.h"
#include "race/file/pair.h"
#include "race/race.h"

#define MAX_NAMED    32
#define MAX_LINES    256
#define MAX_COUNT    (1u << 26)
#define MAX_MEMBERS  4
#define MULTICAST_AT 0x600000000000ull /* where no memory is */

struct buffer {
	char name[32], type[8];
	size_t count, size;
	unsigned char *init, *mem;
	struct buffer *of[MAX_MEMBERS]; /* multicast; NULL: no more */
};

enum expect_kind { EXPECT, EXPECT_SOME, EXPECT_EITHER, EXPECT_PRINT };

struct expect {
	enum expect_kind kind;
	unsigned line;
	struct buffer *buffer;
	size_t at, n, n2;
	unsigned char *values, *values2;
	const char *text;
	bool seen;
};

/* A pair that the oracle must report: its kind and the lines of both statements. */
struct race {
	const char *kind, *tags[2];
	uint32_t lines[2];
	unsigned line;
	bool is_possible; /* is expected to be no more than that */
	bool is_told;	  /* in this run, as `pair` */
	struct race_pair pair;
};

struct tensormap {
	struct buffer *map, *of;
	uint32_t size[3], box[2], swizzle, wide;
	bool is_pixels; /* box: channels, pixels */
};

struct texture {
	struct buffer *self, *of;
	uint32_t size[2];
	bool is_surface;
	uint64_t handle; /* in this run */
};

struct launch {
	char kernel[800];
	uint32_t grid[3], block[3], cluster[3];
	uint64_t shared;
	bool is_cooperative;
	char *args[MAX_NAMED];
	unsigned nargs, line;
};

struct test {
	const char *file;
	struct base_arena arena;
	struct buffer buffers[MAX_NAMED];
	struct launch launches[MAX_NAMED];
	struct expect expects[MAX_LINES];
	struct race races[MAX_NAMED];
	struct tensormap maps[MAX_NAMED];
	struct texture textures[MAX_NAMED];
	unsigned nraces, nmaps, ntextures;
	bool has_verdict; /* the oracle's is expected */
	unsigned nbuffers, nlaunches, nexpects, nseeds;
	unsigned models; /* bit set of enum cpu_model */
	const char *fault_kind, *fault_text;
	enum { JUDGE_NOT, JUDGE_CLEAN, JUDGE_RACY, JUDGE_SOME } judge;
	unsigned failures, runs, ntold /* of this run */, racy_runs;
};

static struct base_buf printed;
static bool is_judged;

static struct race *find_race(struct test *t, const char *kind, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < t->nraces; i++) {
		struct race *r = &t->races[i];
		bool is_pair = (r->lines[0] == a && r->lines[1] == b) ||
			       (r->lines[0] == b && r->lines[1] == a);
		if (is_pair && !strcmp(r->kind, kind))
			return r;
	}
	return NULL;
}

/* Each new pair: printed, or one that is expected. */
static struct race_pair *pair_found(void *arg, const struct race_pair *p, size_t bytes)
{
	struct test *t = arg;
	const char *s = (const char *)(p + 1) + p->nframes * sizeof(struct race_frame);
	const char *kind = race_kind_name(p->kind);
	struct race *r = find_race(t, kind, p->side[0].ptx_line, p->side[1].ptx_line);

	(void)bytes;
	t->ntold++;
	if (r && (!r->is_told || r->pair.is_possible))
		r->pair = *p;
	if (r)
		r->is_told = true;
	if (!is_judged && (r || !t->has_verdict) && t->judge != JUDGE_CLEAN)
		return r ? &r->pair : NULL;
	t->failures += t->has_verdict && !r;
	printf("%s: %s%s: PTX line %u: %s | PTX line %u: %s\n", t->file,
	       t->has_verdict && !r ? "unexpected race, " : "", kind, p->side[0].ptx_line,
	       s + p->side[0].text, p->side[1].ptx_line, s + p->side[1].text);
	return NULL;
}

static _Noreturn void bad(const struct test *t, unsigned line, const char *what, const char *found)
{
	fprintf(stderr, "%s:%u: %s: '%s'\n", t->file, line, what, found);
	exit(2);
}

static size_t type_size(const char *type)
{
	size_t bits = strtoul(type + 1, NULL, 10);

	return strchr("usfx", type[0]) && (bits == 8 || bits == 16 || bits == 32 || bits == 64)
		       ? bits / 8
		       : 0;
}

static void put_value(unsigned char *to, const char *type, const char *text)
{
	size_t size = type_size(type);

	if (type[0] == 'f' && size == 4) {
		float f = strtof(text, NULL);
		memcpy(to, &f, 4);
	} else if (type[0] == 'f') {
		double f = strtod(text, NULL);
		memcpy(to, &f, 8);
	} else {
		uint64_t v =
			text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
		memcpy(to, &v, size);
	}
}

/* Reads VALUES of a type into `to` (at most `max`); returns how many. */
static size_t read_values(const char *text, const char *type, unsigned char *to, size_t max)
{
	size_t n = 0, size = type_size(type);
	char *copy = strdup(text), *save, number[32];

	for (char *w = strtok_r(copy, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		char *star = strchr(w, '*'), *dots = strstr(w, "..");
		size_t times = star ? strtoull(star + 1, NULL, 0) : 1;
		long long from = 0, to_value = -1;
		if (!strcmp(w, "iota")) {
			to_value = (long long)(max - n) - 1;
		} else if (dots) {
			errno = 0;
			from = strtoll(w, NULL, 0);
			to_value = strtoll(dots + 2, NULL, 0);
			if (errno || to_value == LLONG_MAX) {
				fprintf(stderr, "%s: the ends are signed 64-bit numbers\n", w);
				exit(2);
			}
		} else {
			for (; times && n < max; times--)
				put_value(to + size * n++, type, w);
		}
		for (; from <= to_value && n < max; from++) {
			snprintf(number, sizeof(number), "%lld", from);
			put_value(to + size * n++, type, number);
		}
	}
	free(copy);
	return n;
}

static struct buffer *find_buffer(struct test *t, const char *name, size_t n)
{
	for (unsigned i = 0; i < t->nbuffers; i++) {
		if (strlen(t->buffers[i].name) == n && !strncmp(t->buffers[i].name, name, n))
			return &t->buffers[i];
	}
	return NULL;
}

static void parse_buffer(struct test *t, unsigned line, char *s)
{
	struct buffer *b = &t->buffers[t->nbuffers++];
	char *values = strchr(s, '=');

	if (sscanf(s, "%31s %7s %zu", b->name, b->type, &b->count) != 3 || !type_size(b->type))
		bad(t, line, "expected: buffer NAME TYPE COUNT [= VALUES]", s);
	if (b->count > MAX_COUNT)
		bad(t, line, "expected fewer elements", s);
	b->size = b->count * type_size(b->type);
	b->init = base_zalloc(&t->arena, b->size + 16);
	if (values)
		read_values(values + 1, b->type, b->init, b->count);
}

static void parse_dims(const char *s, uint32_t d[3])
{
	d[0] = d[1] = d[2] = 1;
	sscanf(s, "%" SCNu32 ",%" SCNu32 ",%" SCNu32, &d[0], &d[1], &d[2]);
}

static void parse_launch(struct test *t, unsigned line, char *s)
{
	struct launch *l = &t->launches[t->nlaunches++];
	char *save, *w = strtok_r(s, " \t", &save);
	bool is_args = false;

	if (!w)
		bad(t, line, "expected: launch KERNEL ...", "");
	snprintf(l->kernel, sizeof(l->kernel), "%s", w);
	parse_dims("1", l->grid);
	parse_dims("1", l->block);
	l->line = line;
	while ((w = strtok_r(NULL, " \t", &save)) != NULL) {
		if (is_args && l->nargs < MAX_NAMED)
			l->args[l->nargs++] = base_strdup(&t->arena, w);
		else if (!strcmp(w, "--"))
			is_args = true;
		else if (!strncmp(w, "grid=", 5))
			parse_dims(w + 5, l->grid);
		else if (!strncmp(w, "block=", 6))
			parse_dims(w + 6, l->block);
		else if (!strncmp(w, "cluster=", 8))
			parse_dims(w + 8, l->cluster);
		else if (!strncmp(w, "shared=", 7))
			l->shared = strtoull(w + 7, NULL, 0);
		else if (!strcmp(w, "cooperative"))
			l->is_cooperative = true;
		else
			bad(t, line, "unknown word in launch", w);
	}
}

static void parse_expect(struct test *t, unsigned line, enum expect_kind kind, char *s)
{
	struct expect *e = &t->expects[t->nexpects++];
	char *eq = strchr(s, '='), * or = strstr(s, " or ");
	size_t name = strcspn(s, " [=");

	e->kind = kind;
	e->line = line;
	e->buffer = find_buffer(t, s, name);
	if (!e->buffer || !eq)
		bad(t, line, "expected: NAME[I] = VALUES of a buffer", s);
	if (s[name] == '[')
		e->at = strtoull(s + name + 1, NULL, 0);
	if (e->at >= e->buffer->count)
		bad(t, line, "beyond the buffer", s);
	if (or)
		* or = 0;
	e->values = base_zalloc(&t->arena, e->buffer->size + 16);
	e->n = read_values(eq + 1, e->buffer->type, e->values, e->buffer->count - e->at);
	if (kind == EXPECT_EITHER) {
		if (! or)
			bad(t, line, "expected: VALUES or VALUES", s);
		e->values2 = base_zalloc(&t->arena, e->buffer->size + 16);
		e->n2 = read_values(or +4, e->buffer->type, e->values2, e->buffer->count - e->at);
	}
	if (!e->n)
		bad(t, line, "no values", s);
}

static void parse_race(struct test *t, unsigned line, char *s, bool is_possible)
{
	struct race *r = &t->races[t->nraces++];
	char *save;

	r->line = line;
	r->is_possible = is_possible;
	r->kind = strtok_r(s, " \t", &save);
	for (unsigned i = 0; i < 2; i++)
		r->tags[i] = strtok_r(NULL, " \t", &save);
	if (!r->kind || !race_kind_parse(r->kind) || !r->tags[0] || !r->tags[1])
		bad(t, line, "expected: KIND TAG TAG", s);
	t->has_verdict = true;
}

/* A statement's `// race: TAG`. */
static void parse_tag(struct test *t, unsigned line, const char *s, size_t n)
{
	static const char mark[] = "// race: ";

	for (size_t i = 0; i + sizeof(mark) - 1 < n; i++) {
		if (strncmp(s + i, mark, sizeof(mark) - 1) != 0)
			continue;
		const char *tag =
			base_strndup(&t->arena, s + i + sizeof(mark) - 1, n - i - sizeof(mark) + 1);
		for (unsigned k = 0; k < 2 * t->nraces; k++)
			if (!strcmp(t->races[k / 2].tags[k % 2], tag))
				t->races[k / 2].lines[k % 2] = line;
	}
}

static void add_map(struct test *t, unsigned line, struct tensormap *m, const char *of)
{
	m->of = find_buffer(t, of, strlen(of));
	if (!m->of)
		bad(t, line, "no such buffer", of);
	strcpy(m->map->type, "x32");
	m->map->count = 32;
	m->map->size = 128;
	m->map->init = base_zalloc(&t->arena, 128);
}

static void parse_tensormap(struct test *t, unsigned line, char *s)
{
	struct tensormap *m = &t->maps[t->nmaps++];
	char of[32];

	m->map = &t->buffers[t->nbuffers++];
	if (sscanf(s, "%31s %31s %" SCNu32 ",%" SCNu32 " %" SCNu32 ",%" SCNu32 " %" SCNu32,
		   m->map->name, of, &m->size[0], &m->size[1], &m->box[0], &m->box[1],
		   &m->swizzle) < 6)
		bad(t, line, "expected: tensormap NAME BUFFER W,H W,H [SWIZZLE]", s);
	add_map(t, line, m, of);
}

static void parse_multicast(struct test *t, unsigned line, char *s)
{
	struct buffer *b = &t->buffers[t->nbuffers++];
	char *save, *word = strtok_r(s, " ", &save);
	unsigned n = 0;

	if (word)
		snprintf(b->name, sizeof(b->name), "%s", word);
	strcpy(b->type, "x32");
	while ((word = strtok_r(NULL, " ", &save)) && n < MAX_MEMBERS) {
		b->of[n] = find_buffer(t, word, strlen(word));
		if (!b->of[n++])
			bad(t, line, "no such buffer", word);
	}
	if (!n)
		bad(t, line, "expected: multicast NAME BUFFER...", s);
}

static void add_members(struct cpu_machine *m, struct buffer *b, unsigned number)
{
	uint64_t at = MULTICAST_AT + ((uint64_t)number << 32);

	b->mem = (unsigned char *)(uintptr_t)at;
	for (unsigned i = 0; i < MAX_MEMBERS && b->of[i]; i++)
		cpu_multicast_add(m, at, b->of[i]->size, (uint64_t)(uintptr_t)b->of[i]->mem);
}

static void parse_pixels(struct test *t, unsigned line, char *s)
{
	struct tensormap *m = &t->maps[t->nmaps++];
	char of[32];

	m->is_pixels = true;
	m->map = &t->buffers[t->nbuffers++];
	if (sscanf(s,
		   "%31s %31s %" SCNu32 ",%" SCNu32 ",%" SCNu32 " %" SCNu32 ",%" SCNu32 " %" SCNu32,
		   m->map->name, of, &m->size[0], &m->size[1], &m->size[2], &m->box[0], &m->box[1],
		   &m->wide) < 7)
		bad(t, line, "expected: im2col NAME BUFFER C,W,N C,P [WIDE]", s);
	m->swizzle = m->wide ? 2 : 0;
	add_map(t, line, m, of);
}

static void fill_tensormap(const struct test *t, const struct tensormap *m)
{
	struct cpu_tensormap_desc d = {.type = 2 /* UINT32 */,
				       .rank = m->is_pixels ? 3 : 2,
				       .address = (uint64_t)(uintptr_t)m->of->mem,
				       .dims = {m->size[0], m->size[1], m->size[2]},
				       .strides = {m->size[0] * 4u, m->size[0] * m->size[1] * 4u},
				       .box = {m->box[0], m->box[1]},
				       .element_strides = {1, 1, 1},
				       .swizzle = m->swizzle,
				       .is_im2col = m->is_pixels,
				       .channels = m->box[0],
				       .pixels = m->box[1],
				       .wide = m->wide};
	const char *wrong = cpu_tensormap_encode(&d, m->map->mem);

	if (wrong)
		bad(t, 1, "tensormap", wrong);
}

static void parse_texture(struct test *t, unsigned line, char *s, bool is_surface)
{
	struct texture *x = &t->textures[t->ntextures++];
	char of[32];

	x->is_surface = is_surface;
	x->self = &t->buffers[t->nbuffers++];
	if (sscanf(s, "%31s %31s %" SCNu32 ",%" SCNu32, x->self->name, of, &x->size[0],
		   &x->size[1]) != 4)
		bad(t, line, "expected: texture NAME BUFFER W,H", s);
	x->of = find_buffer(t, of, strlen(of));
	if (!x->of)
		bad(t, line, "no such buffer", of);
	strcpy(x->self->type, "x64");
	x->self->count = 1;
	x->self->size = 8;
	x->self->init = base_zalloc(&t->arena, 8);
}

static void make_texture(struct cpu_machine *m, struct texture *x)
{
	struct cpu_texture d = {.address = (uint64_t)(uintptr_t)x->of->mem,
				.width = x->size[0],
				.height = x->size[1],
				.pitch = x->size[0] * 4u,
				.channels = 1,
				.bits = 32,
				.type = CPU_TEX_UNSIGNED,
				.mode = {CPU_TEX_CLAMP, CPU_TEX_CLAMP, CPU_TEX_CLAMP},
				.is_surface = x->is_surface,
				.is_array = true};

	x->handle = cpu_texture_new(m, &d);
}

/* What a buffer is as an argument: its address, or the number of a texture. */
static uint64_t value_of(const struct test *t, const struct buffer *b)
{
	for (unsigned i = 0; i < t->ntextures; i++)
		if (t->textures[i].self == b)
			return t->textures[i].handle;
	return (uint64_t)(uintptr_t)b->mem;
}

static char *unescape(struct base_arena *a, const char *s)
{
	char *r = base_strdup(a, s), *to = r;

	for (; *s; s++) {
		bool is_newline = s[0] == '\\' && s[1] == 'n';
		s += is_newline;
		if (is_newline)
			*to++ = '\n';
		else
			*to++ = *s;
	}
	*to = 0;
	return r;
}

static void parse_line(struct test *t, unsigned line, char *s)
{
	size_t n = strcspn(s, " \t");
	char *rest = s + n + strspn(s + n, " \t");

	if (n == 6 && !strncmp(s, "buffer", n)) {
		parse_buffer(t, line, rest);
	} else if (n == 6 && !strncmp(s, "launch", n)) {
		parse_launch(t, line, rest);
	} else if (n == 6 && !strncmp(s, "expect", n)) {
		parse_expect(t, line, EXPECT, rest);
	} else if (n == 11 && !strncmp(s, "expect-some", n)) {
		parse_expect(t, line, EXPECT_SOME, rest);
	} else if (n == 13 && !strncmp(s, "expect-all-or", n)) {
		parse_expect(t, line, EXPECT_EITHER, rest);
	} else if (n == 12 && !strncmp(s, "expect-print", n)) {
		t->expects[t->nexpects++] = (struct expect){
			.kind = EXPECT_PRINT, .line = line, .text = unescape(&t->arena, rest)};
	} else if (n == 12 && !strncmp(s, "expect-fault", n)) {
		size_t k = strcspn(rest, " \t");
		t->fault_kind = base_strndup(&t->arena, rest, k);
		t->fault_text = base_strdup(&t->arena, rest + k + strspn(rest + k, " \t"));
	} else if (n == 5 && !strncmp(s, "judge", n)) {
		t->judge = !strncmp(rest, "clean", 5)  ? JUDGE_CLEAN
			   : !strncmp(rest, "racy", 4) ? JUDGE_RACY
						       : JUDGE_SOME;
	} else if (n == 11 && !strncmp(s, "expect-race", n)) {
		parse_race(t, line, rest, false);
	} else if (n == 15 && !strncmp(s, "expect-possible", n)) {
		parse_race(t, line, rest, true);
	} else if (n == 14 && !strncmp(s, "expect-no-race", n)) {
		t->has_verdict = true;
	} else if (n == 7 && (!strncmp(s, "texture", n) || !strncmp(s, "surface", n))) {
		parse_texture(t, line, rest, s[0] == 's');
	} else if (n == 9 && !strncmp(s, "tensormap", n)) {
		parse_tensormap(t, line, rest);
	} else if (n == 9 && !strncmp(s, "multicast", n)) {
		parse_multicast(t, line, rest);
	} else if (n == 6 && !strncmp(s, "im2col", n)) {
		parse_pixels(t, line, rest);
	} else if (n == 5 && !strncmp(s, "seeds", n)) {
		t->nseeds = (unsigned)strtoul(rest, NULL, 0);
	} else if (n == 6 && !strncmp(s, "models", n)) {
		t->models = (strstr(rest, "sc") ? 1u << CPU_MODEL_SC : 0) |
			    (strstr(rest, "weak") ? 1u << CPU_MODEL_WEAK : 0) |
			    (strstr(rest, "a1") ? 1u << CPU_MODEL_A1 : 0);
	}
}

static void parse_comments(struct test *t, const char *text)
{
	unsigned line = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		line++;
		if (n > 3 && !strncmp(p, "// ", 3)) {
			char *s = base_strndup(&t->arena, p + 3, n - 3);
			parse_line(t, line, s);
		} else {
			parse_tag(t, line, p, n);
		}
		p += n + (p[n] == '\n');
	}
}

static const char *const fault_names[] = {"none",     "address",  "misaligned", "unsupported",
					  "trap",     "assert",	  "illegal",	"stack",
					  "deadlock", "resources"};
static const char *const model_names[] = {"sc", "weak", "a1"};

static void fill_args(struct test *t, const struct launch *l, struct cpu_kernel *k,
		      unsigned char *params)
{
	for (unsigned i = 0; i < l->nargs; i++) {
		char *colon = strchr(l->args[i], ':'), *plus = strchr(l->args[i], '+');
		size_t n = plus ? (size_t)(plus - l->args[i]) : strlen(l->args[i]);
		struct buffer *b = find_buffer(t, l->args[i], n);
		uint32_t off, bytes;
		if (!cpu_kernel_param(k, i, &off, &bytes))
			bad(t, l->line, "the kernel has fewer parameters", l->args[i]);
		if (b) {
			uint64_t a = value_of(t, b);
			a += plus ? strtoull(plus + 1, NULL, 0) : 0;
			memcpy(params + off, &a, bytes < 8 ? bytes : 8);
		} else if (colon && type_size(colon + 1) && type_size(colon + 1) <= bytes) {
			put_value(params + off, colon + 1, l->args[i]);
		} else {
			bad(t, l->line, "expected a buffer or VALUE:TYPE", l->args[i]);
		}
	}
}

static void run_launch(struct test *t, const struct launch *l, struct cpu_machine *m,
		       struct cpu_module *mod, struct cpu_fault *refused)
{
	struct cpu_kernel *k = cpu_module_kernel(mod, l->kernel);
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};

	if (!k)
		bad(t, l->line, "no such kernel", l->kernel);
	unsigned char *params = calloc(1, cpu_kernel_param_bytes(k) + 16u);
	fill_args(t, l, k, params);
	w.launch.kernel = k;
	memcpy(w.launch.grid, l->grid, sizeof(l->grid));
	memcpy(w.launch.block, l->block, sizeof(l->block));
	memcpy(w.launch.cluster, l->cluster, sizeof(l->cluster));
	w.launch.shared_dyn = l->shared;
	w.launch.params = params;
	w.launch.is_cooperative = l->is_cooperative;
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, refused);
	free(params);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
}

static void print_value(const unsigned char *p, const char *type)
{
	uint64_t v = 0;
	float f;
	double d;

	memcpy(&v, p, type_size(type));
	if (!strcmp(type, "f32"))
		memcpy(&f, p, 4), printf(" %.9g", (double)f);
	else if (!strcmp(type, "f64"))
		memcpy(&d, p, 8), printf(" %.17g", d);
	else if (type[0] == 'x')
		printf(" 0x%" PRIx64, v);
	else if (type[0] == 's')
		printf(" %" PRId64,
		       (int64_t)(v << (64 - 8 * type_size(type))) >> (64 - 8 * type_size(type)));
	else
		printf(" %" PRIu64, v);
}

static void fail(struct test *t, unsigned line, enum cpu_model model, uint64_t seed)
{
	t->failures++;
	printf("%s:%u: failed with model %s, seed %" PRIu64 ":", t->file, line, model_names[model],
	       seed);
}

static void check_one(struct test *t, struct expect *e, enum cpu_model model, uint64_t seed)
{
	if (e->kind == EXPECT_PRINT) {
		if (!printed.p || !strstr(printed.p, e->text)) {
			fail(t, e->line, model, seed);
			printf(" printed '%s', expected '%s'\n", printed.p ? printed.p : "",
			       e->text);
		}
		return;
	}
	size_t size = type_size(e->buffer->type);
	const unsigned char *found = e->buffer->mem + e->at * size;
	bool is_equal = !memcmp(found, e->values, e->n * size);

	if (e->kind == EXPECT_EITHER)
		is_equal |= !memcmp(found, e->values2, e->n2 * size);
	if (is_equal)
		e->seen = true;
	if (is_equal || e->kind == EXPECT_SOME)
		return;
	size_t i = 0;
	while (i + 1 < e->n && !memcmp(found + i * size, e->values + i * size, size))
		i++;
	fail(t, e->line, model, seed);
	printf(" %s[%zu] is", e->buffer->name, e->at + i);
	print_value(found + i * size, e->buffer->type);
	printf(", expected");
	print_value(e->values + i * size, e->buffer->type);
	printf("\n");
}

static void check_run(struct test *t, struct cpu_machine *m, const struct cpu_fault *refused,
		      enum cpu_model model, uint64_t seed)
{
	struct cpu_fault f;

	cpu_fault_get(m, 0, &f);
	if (f.kind == CPU_FAULT_NONE && refused->kind != CPU_FAULT_NONE)
		f = *refused;
	const char *kind = t->fault_kind ? t->fault_kind : "none";
	if (strcmp(kind, fault_names[f.kind]) != 0 ||
	    (t->fault_text && !strstr(f.text, t->fault_text))) {
		fail(t, 1, model, seed);
		printf(" fault '%s' (%s), expected '%s' (%s)\n", fault_names[f.kind], f.text, kind,
		       t->fault_text ? t->fault_text : "");
		return;
	}
	for (unsigned i = 0; i < t->nexpects; i++)
		check_one(t, &t->expects[i], model, seed);
	for (unsigned i = 0; i < t->nraces && model == CPU_MODEL_SC; i++) {
		if (!t->races[i].is_told) {
			fail(t, t->races[i].line, model, seed);
			printf(" the oracle does not report %s %s\n", t->races[i].tags[0],
			       t->races[i].tags[1]);
		} else if (t->races[i].pair.is_possible != t->races[i].is_possible) {
			fail(t, t->races[i].line, model, seed);
			printf(" the race of %s and %s is reported as %s\n", t->races[i].tags[0],
			       t->races[i].tags[1], t->races[i].is_possible ? "one" : "possible");
		}
		t->races[i].is_told = false;
	}
}

static void dump(const struct test *t, struct cpu_machine *m)
{
	struct cpu_fault f;

	for (unsigned i = 0; i < t->nbuffers; i++) {
		const struct buffer *b = &t->buffers[i];
		printf("%s:", b->name);
		for (size_t j = 0; j < b->count; j++)
			print_value(b->mem + j * type_size(b->type), b->type);
		printf("\n");
	}
	cpu_fault_get(m, 0, &f);
	if (f.kind != CPU_FAULT_NONE)
		printf("fault: %s: %s\n", fault_names[f.kind], f.text);
	printf("schedule %016" PRIx64 "\n", cpu_schedule_hash(m));
}

/* What the kernels print, kept for expect-print, a NUL after it. */
static void capture(struct cpu_machine *m, bool is_error, const char *text, size_t n)
{
	(void)m, (void)is_error;
	base_buf_put(&printed, text, n);
	base_buf_put(&printed, "", 1);
	printed.n--;
}

/* One run; returns the schedule's hash. */
static uint64_t run_once(struct test *t, struct ptx_module *ptx, enum cpu_model model,
			 uint64_t seed, unsigned threads, bool is_dump)
{
	struct cpu_options opt = {.seed = seed,
				  .threads = threads,
				  .apart_from = 1,
				  .devices = 1,
				  .model = model,
				  .jit = threads == 1 ? CPU_JIT_VERIFY : CPU_JIT_OFF};
	if (is_judged || t->judge || t->has_verdict)
		opt.oracle = CPU_ORACLE_PROGRAM;
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_sink sink = {0};
	struct cpu_fault refused = {0};
	if (m)
		cpu_on_pair(m, pair_found, t);
	struct cpu_module *mod = m ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;

	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	if (!mod) {
		fprintf(stderr, "%s: the module was not loaded\n", t->file);
		exit(1);
	}
	base_buf_put(&printed, "", 1);
	printed.n = 0;
	printed.p[0] = '\0';
	cpu_set_printf(m, capture);
	for (unsigned i = 0; i < t->nbuffers; i++) {
		struct buffer *b = &t->buffers[i];
		if (b->of[0]) {
			add_members(m, b, i);
			continue;
		}
		b->mem = cpu_mem_alloc(m, 0, b->size, CPU_MEM_DEVICE);
		memcpy(b->mem, b->init, b->size);
	}
	for (unsigned i = 0; i < t->nmaps; i++)
		fill_tensormap(t, &t->maps[i]);
	for (unsigned i = 0; i < t->ntextures; i++)
		make_texture(m, &t->textures[i]);
	for (unsigned i = 0; i < t->nlaunches; i++)
		run_launch(t, &t->launches[i], m, mod, &refused);
	t->runs++;
	if (is_dump)
		dump(t, m);
	else
		check_run(t, m, &refused, model, seed);
	t->racy_runs += t->ntold != 0;
	if ((t->judge == JUDGE_CLEAN && t->ntold) || (t->judge == JUDGE_RACY && !t->ntold)) {
		fail(t, 1, model, seed);
		printf(" the oracle reports %u races\n", t->ntold);
	}
	t->ntold = 0;
	uint64_t hash = cpu_schedule_hash(m);
	cpu_module_unload(mod);
	cpu_machine_free(m);
	return hash;
}

static void run_all(struct test *t, struct ptx_module *ptx, bool is_dump)
{
	for (enum cpu_model model = CPU_MODEL_SC; model <= CPU_MODEL_A1; model++) {
		if (!(t->models & 1u << model))
			continue;
		for (uint64_t seed = 1; seed <= t->nseeds; seed++) {
			uint64_t first = run_once(t, ptx, model, seed, 1, is_dump);
			if (is_dump)
				return;
			/* The first seed twice: a replay must make the same decisions, without
			 * machine code and with several workers, too. */
			if (seed == 1 && run_once(t, ptx, model, seed, 4, false) != first) {
				fail(t, 1, model, seed);
				printf(" the second run had another schedule\n");
			}
		}
	}
	for (unsigned i = 0; i < t->nexpects; i++) {
		if (t->expects[i].kind == EXPECT_SOME && !t->expects[i].seen) {
			t->failures++;
			printf("%s:%u: seen in none of %u runs\n", t->file, t->expects[i].line,
			       t->runs);
		}
	}
	if (t->judge == JUDGE_SOME && !t->racy_runs) {
		t->failures++;
		printf("%s: the oracle reports a race in none of %u runs\n", t->file, t->runs);
	}
}

static unsigned run_file(const char *file, bool is_dump)
{
	struct test t = {.file = file, .nseeds = 3, .models = 7};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text;
	size_t size;

	if (base_read_file(file, &text, &size)) {
		fprintf(stderr, "%s: cannot be read\n", file);
		return 1;
	}
	parse_comments(&t, text);
	struct ptx_module *ptx = ptx_parse(&arena, file, text, size, &sink);
	/* As whoever loads a module asks: text that isn't sound is never executed. */
	bool is_sound = ptx && !sink.errors && !ptx_verify(ptx, &sink);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	if (!is_sound)
		return 1;
	if (!t.nlaunches ||
	    (!t.nexpects && !t.fault_kind && !t.judge && !t.has_verdict && !is_dump))
		bad(&t, 1, "nothing is launched or expected", file);
	run_all(&t, ptx, is_dump);
	printf("%s: %u runs, %u failures\n", file, t.runs, t.failures);
	base_arena_free(&t.arena);
	base_arena_free(&arena);
	free(text);
	return t.failures;
}

int main(int argc, char **argv)
{
	bool is_dump = argc > 1 && !strcmp(argv[1], "--dump");
	unsigned failures = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: cpu_run [--dump] FILE.ptx...\n");
		return 2;
	}
	is_judged = !strcmp(argv[1], "--oracle");
	for (int i = is_dump || is_judged ? 2 : 1; i < argc; i++)
		failures += run_file(argv[i], is_dump);
	base_buf_free(&printed);
	return failures ? 1 : 0;
}
