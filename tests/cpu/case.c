/*
 * case.c - reads the comments of a PTX file of cases/ (case.h).
 */
#include "case.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "race/race.h"

#define MAX_COUNT (1u << 26)

_Noreturn void case_bad(const struct test *t, unsigned line, const char *what, const char *found)
{
	fprintf(stderr, "%s:%u: %s: '%s'\n", t->file, line, what, found);
	exit(2);
}

size_t case_type_size(const char *type)
{
	size_t bits = strtoul(type + 1, NULL, 10);

	return strchr("usfx", type[0]) && (bits == 8 || bits == 16 || bits == 32 || bits == 64)
		       ? bits / 8
		       : 0;
}

void case_put_value(unsigned char *to, const char *type, const char *text)
{
	size_t size = case_type_size(type);

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
	size_t n = 0, size = case_type_size(type);
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
				case_put_value(to + size * n++, type, w);
		}
		for (; from <= to_value && n < max; from++) {
			snprintf(number, sizeof(number), "%lld", from);
			case_put_value(to + size * n++, type, number);
		}
	}
	free(copy);
	return n;
}

struct buffer *case_buffer(struct test *t, const char *name, size_t n)
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

	if (sscanf(s, "%31s %7s %zu", b->name, b->type, &b->count) != 3 || !case_type_size(b->type))
		case_bad(t, line, "expected: buffer NAME TYPE COUNT [= VALUES]", s);
	if (b->count > MAX_COUNT)
		case_bad(t, line, "expected fewer elements", s);
	b->size = b->count * case_type_size(b->type);
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
		case_bad(t, line, "expected: launch KERNEL ...", "");
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
			case_bad(t, line, "unknown word in launch", w);
	}
}

static void parse_expect(struct test *t, unsigned line, enum expect_kind kind, char *s)
{
	struct expect *e = &t->expects[t->nexpects++];
	char *eq = strchr(s, '='), * or = strstr(s, " or ");
	size_t name = strcspn(s, " [=");

	e->kind = kind;
	e->line = line;
	e->buffer = case_buffer(t, s, name);
	if (!e->buffer || !eq)
		case_bad(t, line, "expected: NAME[I] = VALUES of a buffer", s);
	if (s[name] == '[')
		e->at = strtoull(s + name + 1, NULL, 0);
	if (e->at >= e->buffer->count)
		case_bad(t, line, "beyond the buffer", s);
	if (or)
		* or = 0;
	e->values = base_zalloc(&t->arena, e->buffer->size + 16);
	e->n = read_values(eq + 1, e->buffer->type, e->values, e->buffer->count - e->at);
	if (kind == EXPECT_EITHER) {
		if (! or)
			case_bad(t, line, "expected: VALUES or VALUES", s);
		e->values2 = base_zalloc(&t->arena, e->buffer->size + 16);
		e->n2 = read_values(or +4, e->buffer->type, e->values2, e->buffer->count - e->at);
	}
	if (!e->n)
		case_bad(t, line, "no values", s);
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
		case_bad(t, line, "expected: KIND TAG TAG", s);
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
	m->of = case_buffer(t, of, strlen(of));
	if (!m->of)
		case_bad(t, line, "no such buffer", of);
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
		case_bad(t, line, "expected: tensormap NAME BUFFER W,H W,H [SWIZZLE]", s);
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
		b->of[n] = case_buffer(t, word, strlen(word));
		if (!b->of[n++])
			case_bad(t, line, "no such buffer", word);
	}
	if (!n)
		case_bad(t, line, "expected: multicast NAME BUFFER...", s);
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
		case_bad(t, line, "expected: im2col NAME BUFFER C,W,N C,P [WIDE]", s);
	m->swizzle = m->wide ? 2 : 0;
	add_map(t, line, m, of);
}

static void parse_texture(struct test *t, unsigned line, char *s, bool is_surface)
{
	struct texture *x = &t->textures[t->ntextures++];
	char of[32];

	x->is_surface = is_surface;
	x->self = &t->buffers[t->nbuffers++];
	if (sscanf(s, "%31s %31s %" SCNu32 ",%" SCNu32, x->self->name, of, &x->size[0],
		   &x->size[1]) != 4)
		case_bad(t, line, "expected: texture NAME BUFFER W,H", s);
	x->of = case_buffer(t, of, strlen(of));
	if (!x->of)
		case_bad(t, line, "no such buffer", of);
	strcpy(x->self->type, "x64");
	x->self->count = 1;
	x->self->size = 8;
	x->self->init = base_zalloc(&t->arena, 8);
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

void case_parse(struct test *t, const char *text)
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

void case_print_value(const unsigned char *p, const char *type)
{
	unsigned unused = 64 - 8 * (unsigned)case_type_size(type); /* bits of v */
	uint64_t v = 0;
	float f;
	double d;

	memcpy(&v, p, case_type_size(type));
	if (!strcmp(type, "f32"))
		memcpy(&f, p, 4), printf(" %.9g", (double)f);
	else if (!strcmp(type, "f64"))
		memcpy(&d, p, 8), printf(" %.17g", d);
	else if (type[0] == 'x')
		printf(" 0x%" PRIx64, v);
	else if (type[0] == 's')
		printf(" %" PRId64, (int64_t)(v << unused) >> unused);
	else
		printf(" %" PRIu64, v);
}
