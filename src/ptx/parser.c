/*
 * parser.c - a PTX module: its directives, in order.
 *
 * One pass over the text; spans into it instead of copies. Function bodies are
 * body.c's, declarations decl.c's. After an error the parser resumes at the next ';' or the end of
 * the block, so that one run reports several errors; after MAX_ERRORS it stops. .section blocks are
 * skipped as text: their braces are debug data, not code.
 */
#include "ptx/parse.h"

#define MAX_ERRORS 50

static struct ptx_item *new_item(struct ptx_parser *ps, enum ptx_item_kind kind,
				 struct base_span at)
{
	struct ptx_item *it = ptx_new_item(ps->m, kind);

	it->inserted = false;
	it->line = at.line;
	it->col = at.col;
	ptx_insert_item(ps->m, NULL, it);
	return it;
}

static bool parse_number(struct ptx_parser *ps, uint32_t *v, const char *what)
{
	struct ptx_opnd o = {0};
	const char *s;

	ptx_lex_skip(&ps->l);
	s = ps->l.p;
	if (!ptx_is(*s, PTX_CC_DIGIT) || !ptx_lex_number(&ps->l, &o) || o.kind != PTX_OPND_INT) {
		ps->l.p = s;
		return ptx_parse_error(ps, what);
	}
	*v = (uint32_t)o.imm;
	return true;
}

/* .version 9.0 */
static bool parse_version(struct ptx_parser *ps)
{
	unsigned *v = &ps->m->ver_major;

	ptx_lex_skip(&ps->l);
	if (!ptx_is(*ps->l.p, PTX_CC_DIGIT))
		return ptx_parse_error(ps, "a version number like 9.0");
	for (; ptx_is(*ps->l.p, PTX_CC_DIGIT) && *v < 1000; ps->l.p++)
		*v = *v * 10 + (unsigned)(*ps->l.p - '0');
	if (*ps->l.p != '.')
		return ptx_parse_error(ps, "'.' of a version number like 9.0");
	v = &ps->m->ver_minor;
	for (ps->l.p++; ptx_is(*ps->l.p, PTX_CC_DIGIT) && *v < 1000; ps->l.p++)
		*v = *v * 10 + (unsigned)(*ps->l.p - '0');
	return true;
}

#define TARGET_DIGITS 4u

/* One word of .target: sm_90a, debug, texmode_unified. False: no number of a target. */
static bool target_word(struct ptx_module *m, struct ptx_str w)
{
	uint32_t i = 3;

	if (PTX_IS(w, "debug"))
		m->debug = true;
	if (w.n < 4 || memcmp(w.p, "sm_", 3) != 0)
		return true;
	for (m->sm = 0; i < w.n && ptx_is(w.p[i], PTX_CC_DIGIT); i++) {
		if (i == 3 + TARGET_DIGITS)
			return false;
		m->sm = m->sm * 10 + (unsigned)(w.p[i] - '0');
	}
	m->sm_suffix = i < w.n ? w.p[i] : 0;
	return true;
}

/* .target sm_90a, debug: the text after the directive. */
static bool parse_target(struct ptx_parser *ps, struct ptx_str *text)
{
	const char *from, *end;

	ptx_lex_skip(&ps->l);
	from = end = ps->l.p;
	do {
		ptx_lex_skip(&ps->l);
		if (!ptx_is(*ps->l.p, PTX_CC_START))
			return ptx_parse_error(ps, "a target like sm_90");
		const char *word = ps->l.p;
		if (!target_word(ps->m, ptx_lex_ident(&ps->l))) {
			ps->l.p = word;
			return ptx_parse_error(ps, "a target like sm_90");
		}
		end = ps->l.p;
	} while (ptx_lex_take(&ps->l, ','));
	*text = ptx_span(from, end);
	return true;
}

/* .file 1 "name" [, time, size] */
static bool parse_file(struct ptx_parser *ps, struct ptx_item *it, const char *start)
{
	const char *end;
	uint32_t unused;

	if (!parse_number(ps, &it->file_id, "a file number"))
		return false;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p != '"')
		return ptx_parse_error(ps, "a file name in quotes");
	if (!ptx_lex_string(&ps->l, &it->file_name))
		return ptx_parse_error(ps, "'\"'");
	end = ps->l.p;
	while (ptx_lex_take(&ps->l, ',')) {
		if (!parse_number(ps, &unused, "a time stamp or size"))
			return false;
		end = ps->l.p;
	}
	it->text = ptx_span(start, end);
	return true;
}

/* .section .debug_str { ... }: to the '}', comments not counted. */
static bool parse_section(struct ptx_parser *ps, struct ptx_item *it, const char *start)
{
	const char *last;

	if (!ptx_lex_until(&ps->l, "{;", &last) || *ps->l.p != '{')
		return ptx_parse_error(ps, "'{'");
	do {
		ps->l.p++;
		while (ptx_is(*ps->l.p, PTX_CC_FOLLOW) || *ps->l.p == ',')
			ps->l.p++;
		ptx_lex_skip(&ps->l);
		if (ps->l.p >= ps->l.end)
			return ptx_parse_error(ps, "'}' of the section");
	} while (*ps->l.p != '}');
	it->text = ptx_span(start, ++ps->l.p);
	return true;
}

static void emit_var(struct ptx_parser *ps, struct ptx_var *v)
{
	new_item(ps, PTX_ITEM_VAR, (struct base_span){v->line, v->col})->var = v;
}

/* A directive kept verbatim, up to and including its ';'. */
static bool parse_raw(struct ptx_parser *ps, enum ptx_item_kind kind, struct base_span at,
		      const char *start)
{
	const char *last;

	if (!ptx_lex_until(&ps->l, ";", &last))
		return ptx_parse_error(ps, "';'");
	new_item(ps, kind, at)->text = ptx_span(start, ++ps->l.p);
	return true;
}

/* .visible and the like, as PTX_LINK_* bits; 0: another word. */
static unsigned linkage_of(struct ptx_str w)
{
	static const struct {
		const char *word;
		unsigned bit;
	} links[] = {{"extern", PTX_LINK_EXTERN},
		     {"visible", PTX_LINK_VISIBLE},
		     {"weak", PTX_LINK_WEAK},
		     {"common", PTX_LINK_COMMON}};

	for (size_t i = 0; i < BASE_COUNTOF(links); i++)
		if (ptx_str_is(w, links[i].word))
			return links[i].bit;
	return 0;
}

/* The directives without a ';' of their own. *done: it was one of them. */
static bool parse_plain(struct ptx_parser *ps, struct ptx_str w, struct base_span at,
			const char *start, bool *done)
{
	struct ptx_str text;

	*done = true;
	if (PTX_IS(w, "address_size")) {
		ps->m->has_address_size = true;
		return parse_number(ps, &ps->m->address_size, "32 or 64");
	}
	if (PTX_IS(w, "target")) {
		if (!parse_target(ps, &text))
			return false;
		if (!ps->m->target_text.n)
			ps->m->target_text = text;
		else
			new_item(ps, PTX_ITEM_RAW, at)->text = ptx_span(start, text.p + text.n);
		return true;
	}
	if (PTX_IS(w, "file"))
		return parse_file(ps, new_item(ps, PTX_ITEM_FILE, at), start);
	if (PTX_IS(w, "section"))
		return parse_section(ps, new_item(ps, PTX_ITEM_SECTION, at), start);
	if (PTX_IS(w, "loc")) {
		struct ptx_loc *loc = ptx_parse_loc(ps, start);

		if (loc)
			new_item(ps, PTX_ITEM_RAW, at)->text = loc->text;
		return loc != NULL;
	}
	*done = false;
	return true;
}

static bool parse_item(struct ptx_parser *ps)
{
	struct base_span at = ptx_lex_here(&ps->l);
	const char *start = ps->l.p, *word;
	struct ptx_str w = ptx_lex_dotword(&ps->l);
	unsigned linkage = 0, bit;
	bool done, ok = parse_plain(ps, w, at, start, &done);

	if (done)
		return ok;
	for (word = start; (bit = linkage_of(w)) != 0; w = ptx_lex_dotword(&ps->l)) {
		linkage |= bit;
		ptx_lex_skip(&ps->l);
		word = ps->l.p;
	}
	if (w.n == 0)
		return ptx_parse_error(ps, "a directive");
	if (PTX_IS(w, "func") || PTX_IS(w, "entry"))
		return ptx_parse_func(ps, linkage, w.p[0] == 'e', start);
	if (ptx_is_var_space(w)) {
		ps->l.p = word;
		return ptx_parse_vars(ps, linkage, start, emit_var);
	}
	if (PTX_IS(w, "alias"))
		return parse_raw(ps, PTX_ITEM_ALIAS, at, start);
	if (PTX_IS(w, "pragma"))
		return parse_raw(ps, PTX_ITEM_PRAGMA, at, start);
	return parse_raw(ps, PTX_ITEM_RAW, at, start);
}

/* After an error: after the ';', or after the block that starts or ends here. */
static void recover_item(struct ptx_parser *ps)
{
	const char *last;

	ptx_lex_recover(&ps->l);
	if (*ps->l.p == '{') {
		ps->l.p++;
		ptx_lex_until(&ps->l, "}", &last);
	}
	if (ps->l.p < ps->l.end && (*ps->l.p == '}' || *ps->l.p == ')' || *ps->l.p == ']'))
		ps->l.p++;
}

/* The comments before .version, and .version itself. */
static bool parse_start(struct ptx_parser *ps, const char *text)
{
	struct base_span none = {0};
	const char *end;

	if (ps->l.end - text >= 4 && memcmp(text, "\177ELF", 4) == 0) {
		base_report(ps->sink, BASE_ERROR, ps->file, none,
			    "found an ELF file, expected PTX text");
		return false;
	}
	ptx_lex_skip(&ps->l);
	for (end = ps->l.p; end > text && (ptx_is(end[-1], PTX_CC_SPACE) || end[-1] == '\n');)
		end--;
	ps->m->header = ptx_span(text, end);

	struct ptx_lex before = ps->l;

	if (!ptx_str_is(ptx_lex_dotword(&ps->l), "version")) {
		ps->l = before;
		return ptx_parse_error(ps, ".version, with which PTX text starts");
	}
	return parse_version(ps);
}

static void parse_items(struct ptx_parser *ps)
{
	for (;;) {
		ptx_lex_skip(&ps->l);
		if (ps->l.p >= ps->l.end || ps->sink->errors >= MAX_ERRORS)
			return;
		const char *before = ps->l.p;

		if (*before == ';') {
			ps->l.p++;
			continue;
		}
		if (*before == '.' && parse_item(ps))
			continue;
		if (*before != '.')
			ptx_parse_error(ps, "a directive");
		if (ps->l.p == before)
			ps->l.p++;
		recover_item(ps);
	}
}

/* A NUL ends every loop of the lexer, so one inside the text would end it at arbitrary places. */
static bool has_no_nul(struct ptx_parser *ps, const char *text, size_t size)
{
	const char *nul = memchr(text, 0, size);
	struct base_span at = {1, 1};

	if (!nul)
		return true;
	for (const char *p = text; p < nul; p++) {
		at.col++;
		if (*p == '\n')
			at = (struct base_span){at.line + 1, 1};
	}
	base_report(ps->sink, BASE_ERROR, ps->file, at, "found a NUL byte, expected text");
	return false;
}

struct ptx_module *ptx_parse(struct base_arena *arena, const char *file, const char *text,
			     size_t size, struct base_sink *sink)
{
	struct ptx_module *m = BASE_NEW(arena, struct ptx_module);
	struct ptx_parser ps = {.m = m, .a = arena, .sink = sink, .file = file};
	unsigned errors = sink->errors;

	m->arena = arena;
	m->file = file;
	m->source = (struct ptx_str){text, (uint32_t)size};
	m->address_size = 32;
	m->forms = ptx_forms_new(arena);
	ps.l = (struct ptx_lex){text, text + size, text, 1};
	if (size > UINT32_MAX)
		base_report(sink, BASE_ERROR, file, (struct base_span){0},
			    "found more than 4 GiB of text, expected less");
	else if (parse_start(&ps, text) && has_no_nul(&ps, text, size))
		parse_items(&ps);
	ptx_names_free(&ps);
	return sink->errors == errors ? m : NULL;
}

bool ptx_parse_fragment(struct ptx_module *m, struct ptx_func *scratch, const char *name,
			const char *text, size_t n, struct base_sink *sink)
{
	struct ptx_parser ps = {.m = m, .a = m->arena, .sink = sink, .file = name};
	char *copy = base_strndup(m->arena, text, n);
	unsigned errors = sink->errors;
	uint32_t nunknown = m->nunknown;
	struct ptx_stmt *s;

	ps.f = scratch;
	ps.is_fragment = true;
	ps.l = (struct ptx_lex){copy, copy + n, copy, 1};
	s = scratch->last;
	ptx_scope_open(&ps);
	ptx_parse_body(&ps);
	ptx_scope_close(&ps);
	ptx_names_free(&ps);
	for (s = s ? s->next : scratch->first; s; s = s->next)
		s->inserted = true;
	m->nunknown = nunknown; /* counts the user's instructions */
	return sink->errors == errors;
}
