/*
 * template.c - instruction sequences for passes, written as PTX text.
 *
 * A template file is read once into named blocks (ptx_templates_read). The first
 * ptx_template_get for a set of text parameters pastes them, parses the block as
 * a fragment of a function body and numbers its holes; ptx_emit then only copies
 * statements and operands, so that a pass pays no parsing per use.
 *
 * Holes: $name of the parameter list is filled by the caller; a name after %new
 * is a scratch register and a label defined in the block is a local label, both new at each
 * ptx_emit. A guard hole filled with PTX_OPND_SINK leaves the instruction unguarded.
 */
#include "ptx/ptx.h"

#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HOLES 40 /* parameters, scratch registers and local labels of one template */
#define MAX_TEXTS 12
#define KEY_ROOM  256 /* longer keys, of long names of kernels, are in the arena */

enum hole_kind { HOLE_PARAM, HOLE_SCRATCH, HOLE_LABEL };

struct hole {
	struct ptx_str name; /* without '$' */
	uint8_t kind;	     /* enum hole_kind */
	uint8_t type;	     /* HOLE_SCRATCH: enum ptx_type */
};

struct block { /* one .template of a file */
	struct block *next;
	const char *file;
	struct ptx_str name, body;
	struct ptx_str params[MAX_HOLES], texts[MAX_TEXTS];
	unsigned nparams, ntexts;
	unsigned line;
};

struct ptx_template {
	const struct block *block;
	struct ptx_module *m;
	struct ptx_stmt *first;
	struct hole holes[MAX_HOLES];
	unsigned nholes, nparams;
	const char *key; /* block name and texts, NUL between */
	UT_hash_handle hh;
};

struct ptx_templates {
	struct ptx_module *m;
	struct block *blocks;
	struct ptx_template *cache; /* uthash by key */
	struct base_sink *sink;
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static const char *skip_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == ','))
		p++;
	return p;
}

static struct ptx_str take_name(const char **p, const char *end)
{
	const char *s = *p;

	while (*p < end && is_name_char(**p))
		(*p)++;
	return (struct ptx_str){s, (uint32_t)(*p - s)};
}

static const char *find_line(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = nl ? nl : end;

		if ((size_t)(line_end - p) >= n && !memcmp(p, word, n))
			return p;
		p = nl ? nl + 1 : end;
	}
	return NULL;
}

static unsigned line_of(const char *text, const char *p)
{
	unsigned line = 1;

	for (; text < p; text++)
		line += *text == '\n';
	return line;
}

/* ".template name(holes; texts)" at p; returns the place after ')' or NULL. */
static const char *read_head(struct block *b, const char *p, const char *end)
{
	p = skip_blank(p + strlen(".template"), end);
	b->name = take_name(&p, end);
	if (!b->name.n || p >= end || *p++ != '(')
		return NULL;
	bool in_texts = false;
	for (;;) {
		p = skip_blank(p, end);
		if (p >= end)
			return NULL;
		if (*p == ')')
			return p + 1;
		if (*p == ';' && !in_texts) {
			in_texts = true;
			p++;
			continue;
		}
		struct ptx_str n = take_name(&p, end);
		if (!n.n)
			return NULL;
		if (in_texts && b->ntexts < MAX_TEXTS)
			b->texts[b->ntexts++] = n;
		else if (!in_texts && b->nparams < MAX_HOLES)
			b->params[b->nparams++] = n;
		else
			return NULL;
	}
}

static const struct block *find_block(const struct ptx_templates *ts, struct ptx_str name)
{
	for (const struct block *b = ts->blocks; b; b = b->next)
		if (ptx_str_eq(b->name, name))
			return b;
	return NULL;
}

static bool read_file(struct ptx_templates *ts, const char *name, const char *text)
{
	const char *end = text + strlen(text), *p = text;

	while ((p = find_line(p, end, ".template")) != NULL) {
		struct block *b = BASE_NEW(ts->m->arena, struct block);
		struct base_span at = {line_of(text, p), 1};

		b->file = name;
		b->line = at.line;
		const char *body = read_head(b, p, end);
		const char *stop = body ? find_line(body, end, ".end") : NULL;
		if (!stop) {
			base_report(ts->sink, BASE_ERROR, name, at,
				    "found a malformed .template, expected "
				    "name(holes; texts) ... .end");
			return false;
		}
		if (find_block(ts, b->name)) {
			base_report(ts->sink, BASE_ERROR, name, at,
				    "found a second template '%.*s', expected another name",
				    (int)b->name.n, b->name.p);
			return false;
		}
		b->body = (struct ptx_str){body, (uint32_t)(stop - body)};
		b->next = ts->blocks;
		ts->blocks = b;
		p = stop;
	}
	return true;
}

struct ptx_templates *ptx_templates_read(struct ptx_module *m,
					 const struct ptx_template_file *files,
					 struct base_sink *sink)
{
	struct ptx_templates *ts = BASE_NEW(m->arena, struct ptx_templates);

	ts->m = m;
	ts->sink = sink;
	for (; files->name; files++)
		if (!read_file(ts, files->name, files->text))
			return NULL;
	return ts;
}

/* Replaces @name by the text parameter; other '@' (guards) stay. */
static void paste_texts(const struct block *b, const struct ptx_str *texts, struct ptx_str body,
			struct base_buf *out)
{
	const char *p = body.p, *end = p + body.n;

	while (p < end) {
		const char *at = memchr(p, '@', (size_t)(end - p));
		if (!at)
			at = end;
		base_buf_put(out, p, (size_t)(at - p));
		if (at == end)
			break;
		p = at + 1;
		const char *q = p;
		struct ptx_str n = take_name(&q, end);
		unsigned i;
		for (i = 0; i < b->ntexts; i++)
			if (n.n && ptx_str_eq(n, b->texts[i]))
				break;
		if (i == b->ntexts) {
			base_buf_put(out, "@", 1);
			continue;
		}
		base_buf_put(out, texts[i].p, texts[i].n);
		p = q;
	}
}

static void add_hole(struct ptx_template *t, struct ptx_str name, enum hole_kind kind,
		     enum ptx_type type)
{
	if (t->nholes == MAX_HOLES)
		abort(); /* our own template is too large: raise MAX_HOLES */
	t->holes[t->nholes++] =
		(struct hole){.name = name, .kind = (uint8_t)kind, .type = (uint8_t)type};
}

static int find_hole(const struct ptx_template *t, struct ptx_str name)
{
	for (unsigned i = 0; i < t->nholes; i++)
		if (ptx_str_eq(t->holes[i].name, name))
			return (int)i;
	return -1;
}

static enum ptx_type type_by_name(struct ptx_str n)
{
	for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
		if (ptx_str_is(n, ptx_type_name((enum ptx_type)t)))
			return (enum ptx_type)t;
	return PTX_TYPE_NONE;
}

static struct ptx_str copy_name(const struct ptx_template *t, struct ptx_str s)
{
	return (struct ptx_str){base_strndup(t->m->arena, s.p, s.n), s.n};
}

/* Removes "%new:type a, b;" lines from the text (blanks them) and enters their names. */
static void read_scratch(struct ptx_template *t, char *text)
{
	char *p = text;

	while ((p = strstr(p, "%new:")) != NULL) {
		char *stop = strchr(p, ';');
		if (!stop)
			abort();
		const char *q = p + 5;
		enum ptx_type type = type_by_name(take_name(&q, stop));
		while ((q = skip_blank(q, stop)) < stop)
			add_hole(t, copy_name(t, take_name(&q, stop)), HOLE_SCRATCH, type);
		memset(p, ' ', (size_t)(stop + 1 - p));
	}
}

static void number_holes(const struct ptx_template *t, struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_HOLE) {
		struct ptx_str name = {op->text.p + 1, op->text.n - 1};
		int i = find_hole(t, name);
		if (i < 0) {
			fprintf(stderr, "collider: template %.*s: unknown hole %.*s\n",
				(int)t->block->name.n, t->block->name.p, (int)op->text.n,
				op->text.p);
			abort();
		}
		op->imm = i;
		return;
	}
	if (op->kind == PTX_OPND_ADDR || op->kind == PTX_OPND_VEC || op->kind == PTX_OPND_LIST ||
	    op->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < op->nsub; i++)
			number_holes(t, &op->sub[i]);
}

static struct ptx_template *build(struct ptx_templates *ts, const struct block *b, char *key,
				  size_t key_n, const struct ptx_str *texts)
{
	struct base_arena *hash_arena = ts->m->arena;
	struct ptx_template *t = BASE_NEW(ts->m->arena, struct ptx_template);
	struct ptx_func *f = BASE_NEW(ts->m->arena, struct ptx_func);
	struct base_buf text = {0};
	unsigned errors = ts->sink->errors;

	t->block = b;
	t->m = ts->m;
	for (unsigned i = 0; i < b->nparams; i++)
		add_hole(t, b->params[i], HOLE_PARAM, PTX_TYPE_NONE);
	t->nparams = b->nparams;
	paste_texts(b, texts, b->body, &text);
	char *own = base_strndup(ts->m->arena, text.p, text.n);
	read_scratch(t, own);
	bool ok = ptx_parse_fragment(ts->m, f, b->file, own, text.n, ts->sink);
	base_buf_free(&text);
	if (!ok || ts->sink->errors != errors) {
		base_sink_print(ts->sink, stderr);
		fprintf(stderr, "collider: template %.*s (%s:%u) doesn't parse\n", (int)b->name.n,
			b->name.p, b->file, b->line);
		abort();
	}
	ptx_each_stmt(f, s) if (s->kind == PTX_STMT_LABEL && s->label->name.p[0] == '$')
	{
		struct ptx_str n = {s->label->name.p + 1, s->label->name.n - 1};
		if (find_hole(t, n) < 0)
			add_hole(t, n, HOLE_LABEL, PTX_TYPE_NONE);
	}
	ptx_each_stmt(f, s) if (s->kind == PTX_STMT_INST) for (unsigned i = 0; i < s->nops; i++)
		number_holes(t, &s->ops[i]);
	t->first = f->first;
	t->key = base_strndup(ts->m->arena, key, key_n);
	HASH_ADD_KEYPTR(hh, ts->cache, t->key, key_n, t);
	return t;
}

/* A block by name; aborts where there is none with n texts (our bug). */
static const struct block *block_of(const struct ptx_templates *ts, const char *name, unsigned n)
{
	const struct block *b = find_block(ts, (struct ptx_str){name, (uint32_t)strlen(name)});

	if (b && b->ntexts == n)
		return b;
	fprintf(stderr, "collider: no template %s with %u texts\n", name, n);
	abort();
}

const struct ptx_template *ptx_template_get(struct ptx_templates *ts, const char *name, unsigned n,
					    const struct ptx_str *texts)
{
	size_t k = strlen(name) + 1, size = k;
	char room[KEY_ROOM], *key = room;
	struct ptx_template *t;

	for (unsigned i = 0; i < n; i++)
		size += texts[i].n + 1;
	if (size > sizeof(room))
		key = BASE_NEWN(ts->m->arena, char, size);
	memcpy(key, name, k);
	for (unsigned i = 0; i < n; i++) {
		memcpy(key + k, texts[i].p, texts[i].n);
		k += texts[i].n;
		key[k++] = 0;
	}
	HASH_FIND(hh, ts->cache, key, k, t);
	if (t)
		return t;
	return build(ts, block_of(ts, name, n), key, k, texts);
}

struct ptx_str ptx_template_text(struct ptx_templates *ts, const char *name, unsigned n,
				 const struct ptx_str *texts)
{
	const struct block *b = block_of(ts, name, n);
	const char *p = b->body.p, *end = p + b->body.n;
	struct base_buf text = {0};

	p = skip_blank(p, end);
	while (end > p && end[-1] == '\n')
		end--;
	paste_texts(b, texts, (struct ptx_str){p, (uint32_t)(end - p)}, &text);
	struct ptx_str r = {base_strndup(ts->m->arena, text.p, text.n), (uint32_t)text.n};
	base_buf_free(&text);
	return r;
}

/* ---- emitting ------------------------------------------------------------- */

struct emission {
	const struct ptx_template *t;
	struct ptx_opnd value[MAX_HOLES];
};

static struct ptx_opnd fill(const struct emission *em, const struct ptx_opnd *op);

static struct ptx_opnd fill_subs(const struct emission *em, const struct ptx_opnd *op)
{
	struct ptx_opnd r = *op;

	/* "[$addr]" with an address as the value: the whole operand is the value's. */
	if (op->kind == PTX_OPND_ADDR && op->nsub == 1 && op->sub[0].kind == PTX_OPND_HOLE) {
		const struct ptx_opnd *v = &em->value[op->sub[0].imm];
		if (v->kind == PTX_OPND_ADDR)
			return *v;
	}
	/* "{$v}" with a vector as the value, the same. */
	if (op->kind == PTX_OPND_VEC && op->nsub == 1 && op->sub[0].kind == PTX_OPND_HOLE) {
		const struct ptx_opnd *v = &em->value[op->sub[0].imm];
		if (v->kind == PTX_OPND_VEC)
			return *v;
	}
	r.sub = base_alloc(em->t->m->arena, sizeof(*r.sub) * op->nsub);
	for (unsigned i = 0; i < op->nsub; i++)
		r.sub[i] = fill(em, &op->sub[i]);
	return r;
}

/* Operands without holes are shared by all emissions. */
static bool has_hole(const struct ptx_opnd *op)
{
	if (op->kind != PTX_OPND_ADDR && op->kind != PTX_OPND_VEC && op->kind != PTX_OPND_LIST &&
	    op->kind != PTX_OPND_PAIR)
		return op->kind == PTX_OPND_HOLE;
	for (unsigned i = 0; i < op->nsub; i++)
		if (has_hole(&op->sub[i]))
			return true;
	return false;
}

static bool has_holes(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (has_hole(&s->ops[i]))
			return true;
	return false;
}

static struct ptx_opnd fill(const struct emission *em, const struct ptx_opnd *op)
{
	switch (op->kind) {
	case PTX_OPND_HOLE: {
		struct ptx_opnd r = em->value[op->imm];
		r.flags ^= op->flags & PTX_OPND_NOT;
		return r;
	}
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
	case PTX_OPND_LIST:
	case PTX_OPND_PAIR:
		return has_hole(op) ? fill_subs(em, op) : *op;
	default:
		return *op;
	}
}

static void fill_guard(const struct emission *em, const struct ptx_stmt *from, struct ptx_stmt *to)
{
	if (!from->pred_text.n)
		return;
	to->pred_text = (struct ptx_str){"", 0};
	struct ptx_str n = {from->pred_text.p + 1, from->pred_text.n - 1};
	int i = find_hole(em->t, n);
	if (i < 0)
		abort();
	const struct ptx_opnd *v = &em->value[i];
	if (v->kind == PTX_OPND_SINK)
		return;
	to->pred = v->reg;
	to->is_pred_not = from->is_pred_not != ((v->flags & PTX_OPND_NOT) != 0);
}

void ptx_emit(const struct ptx_template *t, struct ptx_func *f, struct ptx_stmt *at,
	      const struct ptx_loc *loc, unsigned n, const struct ptx_opnd *holes)
{
	struct emission em = {.t = t};

	if (n != t->nparams) {
		fprintf(stderr, "collider: template %.*s: %u holes given, %u wanted\n",
			(int)t->block->name.n, t->block->name.p, n, t->nparams);
		abort();
	}
	if (n)
		memcpy(em.value, holes, sizeof(*holes) * n);
	for (unsigned i = n; i < t->nholes; i++) {
		if (t->holes[i].kind == HOLE_SCRATCH)
			em.value[i] = ptx_opnd_reg(
				f, ptx_new_reg(t->m, f, (enum ptx_type)t->holes[i].type));
		else
			em.value[i] = ptx_opnd_label(ptx_new_label(t->m, f));
	}
	for (const struct ptx_stmt *s = t->first; s; s = s->next) {
		struct ptx_stmt *c = base_alloc(t->m->arena, sizeof(*c));

		*c = *s;
		c->inserted = true;
		c->line = c->col = 0;
		c->loc = loc;
		if (s->kind == PTX_STMT_INST) {
			if (has_holes(s)) {
				c->ops = base_alloc(t->m->arena, sizeof(*c->ops) * s->nops);
				for (unsigned i = 0; i < s->nops; i++)
					c->ops[i] = fill(&em, &s->ops[i]);
			}
			fill_guard(&em, s, c);
		} else if (s->kind == PTX_STMT_LABEL) {
			struct ptx_str name = {s->label->name.p + 1, s->label->name.n - 1};
			int i = find_hole(t, name);
			if (i >= 0) {
				c->label = em.value[i].label;
				c->label->at = c;
			}
		}
		ptx_insert_before(f, at, c);
	}
}
