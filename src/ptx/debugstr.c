/*
 * debugstr.c - C strings from the .debug_str section.
 *
 * The names of inlined functions in .loc lines are labels there, and the text is
 * lists of bytes (".b8 95,90,0"). The first query decodes all such sections into one byte array and
 * indexes their labels; later ones only look up. Costs a quarter of the section's text in arena
 * memory.
 */
#include "ptx/parse.h"

struct debug_label {
	struct ptx_str name;
	size_t at; /* offset into the bytes */
	UT_hash_handle hh;
};

struct ptx_debug {
	struct debug_label *labels;
	struct base_buf bytes;
};

static void put_value(struct base_buf *b, uint64_t v, unsigned width)
{
	for (unsigned i = 0; i < width; i++, v >>= 8) {
		char c = (char)(v & 0xff);

		base_buf_put(b, &c, 1);
	}
}

static void add_label(struct ptx_module *m, struct ptx_debug *d, struct ptx_str name)
{
	struct base_arena *hash_arena = m->arena;
	struct debug_label *dl;

	HASH_FIND(hh, d->labels, name.p, name.n, dl);
	if (dl)
		return;
	dl = BASE_NEW(m->arena, struct debug_label);
	dl->name = name;
	dl->at = d->bytes.n;
	HASH_ADD_KEYPTR(hh, d->labels, dl->name.p, dl->name.n, dl);
}

/* ".b8 1, 2" and "label:" between the braces; anything else in there is skipped. */
static void read_section(struct ptx_module *m, struct ptx_debug *d, struct ptx_str text)
{
	struct ptx_lex l = {text.p, text.p + text.n, text.p, 1};
	struct ptx_opnd o;
	unsigned width = 1;

	while (l.p < l.end && *l.p != '{')
		l.p++;
	while (l.p < l.end) {
		if (ptx_is(*l.p, PTX_CC_START)) {
			struct ptx_str name = ptx_lex_ident(&l);

			if (ptx_lex_take(&l, ':'))
				add_label(m, d, name);
		} else if (*l.p == '.' && ptx_is(l.p[1], PTX_CC_FOLLOW)) {
			width = ptx_type_bytes(ptx_type_find(ptx_lex_dotword(&l)));
		} else if (ptx_is(*l.p, PTX_CC_DIGIT)) {
			memset(&o, 0, sizeof(o));
			ptx_lex_number(&l, &o);
			put_value(&d->bytes, (uint64_t)o.imm, width);
		} else {
			l.p++;
		}
		ptx_lex_skip(&l);
	}
}

static bool is_string_section(struct ptx_str text)
{
	struct ptx_lex l = {text.p, text.p + text.n, text.p, 1};

	ptx_lex_dotword(&l); /* .section */
	ptx_lex_skip(&l);
	struct ptx_str name = ptx_lex_dotword(&l);

	return name.n >= 9 && memcmp(name.p, "debug_str", 9) == 0;
}

static void build(struct ptx_module *m)
{
	struct ptx_debug *d = BASE_NEW(m->arena, struct ptx_debug);
	struct base_buf bytes;

	m->debug_strings = d;
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_SECTION || !is_string_section(it->text))
			continue;
		add_label(m, d, PTX_STR(".debug_str")); /* the section's name is its first byte */
		read_section(m, d, it->text);
	}
	base_buf_put(&d->bytes, "", 1); /* ends a string that has no NUL */
	bytes = d->bytes;
	d->bytes.p = base_strndup(m->arena, bytes.p, bytes.n);
	base_buf_free(&bytes);
}

struct ptx_str ptx_debug_string(struct ptx_module *m, struct ptx_str sym, uint32_t off)
{
	struct debug_label *dl = NULL;
	const char *p;

	if (!m->debug_strings)
		build(m);
	if (sym.n)
		HASH_FIND(hh, m->debug_strings->labels, sym.p, sym.n, dl);
	if (!dl || dl->at + off >= m->debug_strings->bytes.n)
		return (struct ptx_str){"", 0};
	p = m->debug_strings->bytes.p + dl->at + off;
	return (struct ptx_str){p, (uint32_t)strlen(p)};
}
