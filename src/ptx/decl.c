/*
 * decl.c - declarations: variables, parameters, function heads.
 *
 * The text of a declaration is kept and printed verbatim; what passes need (space, type, size,
 * alignment, name) is extracted from it. A declaration of several variables becomes one per name,
 * each with its own text. Initialisers are skipped over, not read.
 */
#include "ptx/parse.h"

static const struct {
	const char *word;
	enum ptx_space space;
} var_spaces[] = {
	{"global", PTX_SPACE_GLOBAL}, {"shared", PTX_SPACE_SHARED}, {"local", PTX_SPACE_LOCAL},
	{"const", PTX_SPACE_CONST},   {"param", PTX_SPACE_PARAM},   {"tex", PTX_SPACE_TEX},
};

static enum ptx_space space_of(struct ptx_str word)
{
	for (size_t i = 0; i < BASE_COUNTOF(var_spaces); i++)
		if (ptx_str_is(word, var_spaces[i].word))
			return var_spaces[i].space;
	if (PTX_IS(word, "shared::cta"))
		return PTX_SPACE_SHARED;
	if (PTX_IS(word, "param::entry") || PTX_IS(word, "param::func"))
		return PTX_SPACE_PARAM;
	return PTX_SPACE_NONE;
}

bool ptx_is_var_space(struct ptx_str word)
{
	return space_of(word) != PTX_SPACE_NONE;
}

static bool is_opaque(struct ptx_str word)
{
	return PTX_IS(word, "texref") || PTX_IS(word, "samplerref") || PTX_IS(word, "surfref");
}

/* Everything that dotted words may say about a variable or parameter. */
struct decl {
	enum ptx_space space, ptr_space;
	enum ptx_type type;
	unsigned vec;
	uint32_t align, ptr_align;
	bool is_ptr, is_managed, is_opaque;
};

/* A plain unsigned number in a directive. */
static bool parse_u32(struct ptx_parser *ps, uint32_t *v, const char *what)
{
	struct ptx_opnd o = {0};
	const char *s;

	ptx_lex_skip(&ps->l);
	s = ps->l.p;
	if (!ptx_is(*s, PTX_CC_DIGIT))
		return ptx_parse_error(ps, what);
	if (!ptx_lex_number(&ps->l, &o) || o.kind != PTX_OPND_INT || (uint64_t)o.imm > UINT32_MAX) {
		ps->l.p = s;
		return ptx_parse_error(ps, what);
	}
	*v = (uint32_t)o.imm;
	return true;
}

/* "(...)" at l->p, brackets inside counted. */
static bool skip_parens(struct ptx_parser *ps, struct ptx_str *inside)
{
	const char *from, *last;

	if (!ptx_lex_take(&ps->l, '('))
		return ptx_parse_error(ps, "'('");
	from = ps->l.p;
	if (!ptx_lex_until(&ps->l, ")", &last))
		return ptx_parse_error(ps, "')'");
	*inside = ptx_span(from, ps->l.p++);
	return true;
}

static bool str_contains(struct ptx_str s, const char *what)
{
	size_t n = strlen(what);

	for (uint32_t i = 0; i + n <= s.n; i++)
		if (memcmp(s.p + i, what, n) == 0)
			return true;
	return false;
}

static bool parse_decl_word(struct ptx_parser *ps, struct decl *d)
{
	struct ptx_str w = ptx_lex_dotword(&ps->l), inside = {0};
	enum ptx_space sp = space_of(w);

	if (w.n == 0)
		return ptx_parse_error(ps, "a type or a name");
	if (PTX_IS(w, "reg"))
		sp = PTX_SPACE_REG;
	if (PTX_IS(w, "align"))
		return parse_u32(ps, d->is_ptr ? &d->ptr_align : &d->align, "an alignment");
	if (PTX_IS(w, "attribute")) {
		if (!skip_parens(ps, &inside))
			return false;
		d->is_managed |= str_contains(inside, ".managed");
		return true;
	}
	if (PTX_IS(w, "ptr")) {
		d->is_ptr = true;
	} else if (sp != PTX_SPACE_NONE && d->is_ptr) {
		d->ptr_space = sp;
	} else if (sp != PTX_SPACE_NONE) {
		d->space = sp;
		if (*ps->l.p == '[') { /* .const[3], a bank of PTX 1.x and 2.x */
			const char *last;

			ps->l.p++;
			if (!ptx_lex_until(&ps->l, "]", &last))
				return ptx_parse_error(ps, "']'");
			ps->l.p++;
		}
	} else if (w.n == 2 && w.p[0] == 'v' && ptx_is(w.p[1], PTX_CC_DIGIT)) {
		d->vec = (unsigned)(w.p[1] - '0');
	} else if (is_opaque(w)) {
		d->is_opaque = true;
	} else {
		d->type = ptx_type_find(w);
		if (d->type == PTX_TYPE_NONE) {
			ps->l.p = w.p - 1;
			return ptx_parse_error(ps, "a type, state space or attribute");
		}
	}
	return true;
}

static bool parse_decl_words(struct ptx_parser *ps, struct decl *d)
{
	memset(d, 0, sizeof(*d));
	d->vec = 1;
	for (;;) {
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != '.')
			return true;
		if (ps->l.p[1] == '.') /* "..." of a variadic prototype */
			return true;
		if (!parse_decl_word(ps, d))
			return false;
	}
}

/* name<count> and [a][b]...: multiplies *n; *is_unsized is set for "[]". *end is the place after
 * the last of them. */
static bool parse_dims(struct ptx_parser *ps, uint64_t *n, bool *is_unsized, const char **end)
{
	int64_t v;

	for (;;) {
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != '[')
			return true;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
		if (*ps->l.p == ']') {
			*is_unsized = true;
		} else {
			struct ptx_lex before = ps->l;

			if (!ptx_lex_expr(&ps->l, &v) || v < 0) {
				ps->l = before;
				return ptx_parse_error(ps, "an array size");
			}
			*n *= (uint64_t)v;
		}
		if (!ptx_lex_take(&ps->l, ']'))
			return ptx_parse_error(ps, "']'");
		*end = ps->l.p;
	}
}

/* The text of one of several variables in a declaration: the common words, then its own. */
static struct ptx_str own_text(struct ptx_parser *ps, struct ptx_str common, struct ptx_str own)
{
	char *p = base_alloc(ps->a, (size_t)common.n + own.n + 1);

	memcpy(p, common.p, common.n);
	memcpy(p + common.n, own.p, own.n);
	p[common.n + own.n] = 0;
	return (struct ptx_str){p, common.n + own.n};
}

/* One "name<n>[dims] = init" after the words in d. */
static struct ptx_var *parse_declarator(struct ptx_parser *ps, const struct decl *d)
{
	struct ptx_var *v = BASE_NEW(ps->a, struct ptx_var);
	struct base_span at = ptx_lex_here(&ps->l);
	const char *start = ps->l.p, *end;
	uint64_t n = 1;
	uint32_t count;

	if (!ptx_is(*start, PTX_CC_START)) {
		ptx_parse_error(ps, "a variable's name");
		return NULL;
	}
	v->name = ptx_lex_ident(&ps->l);
	end = ps->l.p;
	v->line = at.line;
	v->col = at.col;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p == '<') {
		ps->l.p++;
		if (!parse_u32(ps, &count, "a count"))
			return NULL;
		if (!ptx_lex_take(&ps->l, '>')) {
			ptx_parse_error(ps, "'>'");
			return NULL;
		}
		v->is_family = true;
		n = count;
		end = ps->l.p;
	}
	if (!parse_dims(ps, &n, &v->is_unsized, &end))
		return NULL;
	if (*ps->l.p == '=') {
		ps->l.p++;
		v->has_init = true;
		if (!ptx_lex_until(&ps->l, ",;", &end)) {
			ptx_parse_error(ps, "',' or ';' after the initialiser");
			return NULL;
		}
	}
	v->space = (uint8_t)d->space;
	v->type = (uint8_t)d->type;
	v->vec = (uint8_t)d->vec;
	v->align = d->align;
	v->is_managed = d->is_managed;
	v->bytes = v->is_unsized ? 0 : n * d->vec * ptx_type_bytes(d->type);
	v->text = ptx_span(start, end);
	return v;
}

bool ptx_parse_vars(struct ptx_parser *ps, unsigned linkage, const char *start,
		    void (*emit)(struct ptx_parser *ps, struct ptx_var *v))
{
	struct ptx_str common;
	struct ptx_var *v;
	struct decl d;

	if (!parse_decl_words(ps, &d))
		return false;
	if (d.type == PTX_TYPE_NONE && !d.is_opaque && d.space != PTX_SPACE_TEX)
		return ptx_parse_error(ps, "a type");
	common = ptx_span(start, ps->l.p);
	for (unsigned i = 0;; i++) {
		v = parse_declarator(ps, &d);
		if (!v)
			return false;
		v->linkage = (uint8_t)linkage;
		if (i == 0)
			v->text = ptx_span(start, v->text.p + v->text.n);
		else
			v->text = own_text(ps, common, v->text);
		ptx_declare_var(ps, v);
		emit(ps, v);
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != ',')
			break;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
	}
	if (*ps->l.p != ';')
		return ptx_parse_error(ps, "',' or ';'");
	ps->l.p++;
	return true;
}

/* ---- functions ------------------------------------------------------------ */

/* A .reg parameter is a register of the function. */
static bool declare_param(struct ptx_parser *ps, struct ptx_param *pm)
{
	struct ptx_regdecl *d;

	if (pm->space != PTX_SPACE_REG) {
		ptx_declare_other(ps, pm->name);
		return true;
	}
	d = BASE_NEW(ps->a, struct ptx_regdecl);
	d->name = pm->name;
	d->type = pm->type;
	d->vec = 1;
	d->count = 1;
	if (!ptx_declare_regs(ps, d))
		return ptx_parse_error(ps, "fewer registers");
	pm->reg = d->first;
	return true;
}

static struct ptx_param *parse_param(struct ptx_parser *ps)
{
	struct ptx_param *pm = BASE_NEW(ps->a, struct ptx_param);
	const char *start, *end;
	uint64_t n = 1;
	bool is_unsized = false;
	struct decl d;

	ptx_lex_skip(&ps->l);
	start = ps->l.p;
	if (*start != '.') {
		ptx_parse_error(ps, ".param or .reg");
		return NULL;
	}
	if (!parse_decl_words(ps, &d))
		return NULL;
	if (!ptx_is(*ps->l.p, PTX_CC_START)) {
		ptx_parse_error(ps, "a parameter's name");
		return NULL;
	}
	pm->name = ptx_lex_ident(&ps->l);
	end = ps->l.p;
	if (!parse_dims(ps, &n, &is_unsized, &end))
		return NULL;
	pm->type = (uint8_t)d.type;
	pm->space = (uint8_t)d.space;
	pm->ptr_space = (uint8_t)(d.is_ptr && !d.ptr_space ? PTX_SPACE_GENERIC : d.ptr_space);
	pm->ptr_align = d.ptr_align;
	pm->align = d.align;
	pm->bytes = is_unsized ? 0 : n * d.vec * ptx_type_bytes(d.type);
	pm->reg = PTX_NO_REG;
	pm->text = ptx_span(start, end);
	return declare_param(ps, pm) ? pm : NULL;
}

/* "(" parameters ")". */
static bool parse_params(struct ptx_parser *ps, struct ptx_param **list, uint32_t *count)
{
	struct ptx_param *pm;

	ps->l.p++;
	if (ptx_lex_take(&ps->l, ')'))
		return true;
	for (;;) {
		pm = parse_param(ps);
		if (!pm)
			return false;
		*list = pm;
		list = &pm->next;
		++*count;
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != ',')
			break;
		ps->l.p++;
	}
	if (*ps->l.p != ')')
		return ptx_parse_error(ps, "',' or ')'");
	ps->l.p++;
	return true;
}

/* 1 to 3 numbers; those not given are 1. */
static bool parse_dim3(struct ptx_parser *ps, uint32_t v[3])
{
	v[1] = v[2] = 1;
	for (int i = 0; i < 3; i++) {
		if (!parse_u32(ps, &v[i], "a number"))
			return false;
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != ',')
			break;
		ps->l.p++;
	}
	return true;
}

/* What passes need of one directive between a function's parameters and its body. */
static bool read_attr(struct ptx_parser *ps, struct ptx_func *f, struct ptx_str w)
{
	if (PTX_IS(w, "maxntid"))
		return parse_dim3(ps, f->maxntid);
	if (PTX_IS(w, "reqntid"))
		return parse_dim3(ps, f->reqntid);
	if (PTX_IS(w, "maxnreg"))
		return parse_u32(ps, &f->maxnreg, "a number");
	if (PTX_IS(w, "minnctapersm"))
		return parse_u32(ps, &f->minnctapersm, "a number");
	if (PTX_IS(w, "noreturn"))
		f->is_noreturn = true;
	else if (PTX_IS(w, "reqnctapercluster") || PTX_IS(w, "explicitcluster"))
		f->has_cluster = true;
	return true;
}

/* One such directive; *end is set to the place after it. Numbers, strings and brackets of an
 * unknown directive are skipped. */
static bool parse_attr(struct ptx_parser *ps, struct ptx_func *f, const char **end)
{
	struct ptx_str w = ptx_lex_dotword(&ps->l);
	struct ptx_lex after = ps->l;

	if (w.n == 0)
		return ptx_parse_error(ps, "a directive");
	if (PTX_IS(w, "pragma")) {
		if (!ptx_lex_until(&ps->l, ";", end))
			return ptx_parse_error(ps, "';' after .pragma");
		*end = ++ps->l.p;
		return true;
	}
	if (!read_attr(ps, f, w))
		return false;
	ps->l = after;
	return ptx_lex_until(&ps->l, ".{;", end) || ptx_parse_error(ps, "'{', ';' or a directive");
}

/* Everything up to the '{' or ';'. */
static bool parse_head(struct ptx_parser *ps, struct ptx_func *f, const char **end)
{
	const char *attrs;

	ptx_lex_skip(&ps->l);
	while (*ps->l.p == '.') { /* .attribute(...) before the name */
		struct ptx_str inside;

		ptx_lex_dotword(&ps->l);
		if (!skip_parens(ps, &inside))
			return false;
		ptx_lex_skip(&ps->l);
	}
	if (*ps->l.p == '(' && !parse_params(ps, &f->rets, &f->nrets))
		return false;
	ptx_lex_skip(&ps->l);
	if (!ptx_is(*ps->l.p, PTX_CC_START))
		return ptx_parse_error(ps, "a function's name");
	f->name = ptx_lex_ident(&ps->l);
	*end = ps->l.p;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p == '(') {
		if (!parse_params(ps, &f->params, &f->nparams))
			return false;
		*end = ps->l.p;
	}
	ptx_lex_skip(&ps->l);
	attrs = ps->l.p;
	while (*ps->l.p == '.') {
		if (!parse_attr(ps, f, end))
			return false;
		ptx_lex_skip(&ps->l);
	}
	if (*end > attrs)
		f->attrs = ptx_span(attrs, *end);
	if (*ps->l.p != '{' && *ps->l.p != ';')
		return ptx_parse_error(ps, "'{', ';' or a directive");
	return true;
}

bool ptx_parse_func(struct ptx_parser *ps, unsigned linkage, bool is_entry, const char *start)
{
	struct ptx_func *f = BASE_NEW(ps->a, struct ptx_func);
	struct ptx_item *it;
	const char *end = start;
	bool ok;

	f->linkage = (uint8_t)linkage;
	f->is_entry = is_entry;
	f->line = ps->l.line;
	f->col = (uint32_t)(start >= ps->l.line_start ? start - ps->l.line_start + 1 : 1);
	ps->f = f;
	ps->loc = NULL;
	ptx_scope_open(ps);
	ok = parse_head(ps, f, &end);
	f->head = ptx_span(start, end);
	if (ok) {
		it = ptx_new_item(ps->m, PTX_ITEM_FUNC);
		it->inserted = false;
		it->func = f;
		it->line = f->line;
		it->col = f->col;
		ptx_insert_item(ps->m, NULL, it);
		f->is_proto = *ps->l.p++ == ';';
		if (!f->is_proto)
			ok = ptx_parse_body(ps);
	}
	ptx_scope_close(ps);
	ptx_declare_other(ps, f->name.n ? f->name : PTX_STR("?"));
	ps->m->ninsts += f->ninsts;
	return ok;
}
