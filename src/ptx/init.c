/*
 * init.c - reads what the parser kept as text: initialisers and .alias.
 *
 * PTX ISA 9.0, section 5.4.4: numbers, names with offsets, generic(name), a byte
 * of an address by mask(name), and nested lists for arrays and vectors. Elements
 * that a list leaves out are zero. Only the loader (src/cpu) reads them; passes leave the text
 * alone. Initialisers of textures and samplers are not read. Cost: linear in the text.
 */
#include "ptx/parse.h"

#define MAX_DIMS 16

struct init {
	struct ptx_lex l;
	const struct ptx_module *m;
	const struct ptx_var *v;
	struct base_sink *sink;
	ptx_init_fn *fn;
	void *arg;
	uint64_t dims[MAX_DIMS + 1]; /* the last is the vector's */
	unsigned ndims;
	uint64_t elem; /* bytes */
	uint64_t end;  /* after the last element */
};

static bool fail(struct init *in, const char *expected)
{
	char buf[48];

	base_report(in->sink, BASE_ERROR, in->m->file, (struct base_span){in->v->line, in->v->col},
		    "found %s in the initialiser of '%.*s', expected %s",
		    ptx_lex_found(&in->l, buf), (int)in->v->name.n, in->v->name.p, expected);
	return false;
}

/* ---- one element ---------------------------------------------------------- */

static uint64_t double_bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, 8);
	return u;
}

static double bits_double(uint64_t u)
{
	double d;

	memcpy(&d, &u, 8);
	return d;
}

static uint64_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float bits_float(uint64_t u)
{
	uint32_t w = (uint32_t)u;
	float f;

	memcpy(&f, &w, 4);
	return f;
}

/* A literal's bits as an element of the variable's type. */
static uint64_t convert(const struct init *in, const struct ptx_opnd *o)
{
	enum ptx_type t = (enum ptx_type)in->v->type;
	uint64_t bits = (uint64_t)o->imm;

	if (o->kind == PTX_OPND_F64 && in->elem == 4)
		return float_bits((float)bits_double(bits));
	if (o->kind == PTX_OPND_F32 && in->elem == 8)
		return double_bits((double)bits_float(bits));
	if (o->kind == PTX_OPND_INT && t == PTX_TYPE_F32)
		return float_bits((float)o->imm);
	if (o->kind == PTX_OPND_INT && t == PTX_TYPE_F64)
		return double_bits((double)o->imm);
	return bits;
}

/* + or - a constant, after a name. */
static bool parse_addend(struct init *in, int64_t *addend)
{
	int64_t v;

	ptx_lex_skip(&in->l);
	char c = *in->l.p;
	if (c != '+' && c != '-')
		return true;
	in->l.p++;
	if (!ptx_lex_expr(&in->l, &v))
		return fail(in, "an integer offset");
	*addend += c == '-' ? (int64_t)(0 - (uint64_t)v) : v;
	return true;
}

/* name, name+4, generic(name)+4 */
static bool parse_name(struct init *in, struct ptx_init *e)
{
	ptx_lex_skip(&in->l);
	if (!ptx_is(*in->l.p, PTX_CC_START))
		return fail(in, "a name");
	e->sym = ptx_lex_ident(&in->l);
	if (PTX_IS(e->sym, "generic") && ptx_lex_take(&in->l, '(')) {
		e->is_generic = true;
		ptx_lex_skip(&in->l);
		if (!ptx_is(*in->l.p, PTX_CC_START))
			return fail(in, "a name");
		e->sym = ptx_lex_ident(&in->l);
		if (!parse_addend(in, &e->addend))
			return false;
		if (!ptx_lex_take(&in->l, ')'))
			return fail(in, "')'");
	}
	return parse_addend(in, &e->addend);
}

/* 0xff00(name): one byte of the address. */
static bool parse_mask(struct init *in, struct ptx_init *e, uint64_t mask)
{
	unsigned shift = mask ? (unsigned)__builtin_ctzll(mask) : 0;

	if (mask == 0 || shift % 8 || mask >> shift != 0xff)
		return fail(in, "a mask of one byte");
	in->l.p++;
	if (!parse_name(in, e))
		return false;
	e->shift = (uint8_t)shift;
	return ptx_lex_take(&in->l, ')') || fail(in, "')'");
}

static bool parse_number(struct init *in, struct ptx_init *e)
{
	struct ptx_lex from = in->l;
	struct ptx_opnd o = {0};
	bool is_neg = *in->l.p == '-';
	int64_t v;

	if (is_neg) {
		in->l.p++;
		ptx_lex_skip(&in->l);
	}
	if ((ptx_is(*in->l.p, PTX_CC_DIGIT) || *in->l.p == '.') && ptx_lex_number(&in->l, &o)) {
		if (o.kind != PTX_OPND_INT) {
			e->bits = convert(in, &o);
			if (is_neg)
				e->bits ^= 1ull << (in->elem * 8 - 1);
			return true;
		}
		ptx_lex_skip(&in->l);
		if (*in->l.p == '(' && !is_neg)
			return parse_mask(in, e, (uint64_t)o.imm);
	}
	in->l = from;
	if (!ptx_lex_expr(&in->l, &v))
		return fail(in, "a number or a name");
	o.kind = PTX_OPND_INT;
	o.imm = v;
	e->bits = convert(in, &o);
	return true;
}

static bool parse_element(struct init *in, uint64_t off)
{
	struct ptx_init e = {.off = off, .bytes = (uint8_t)in->elem};
	bool ok = ptx_is(*in->l.p, PTX_CC_START) ? parse_name(in, &e) : parse_number(in, &e);

	if (!ok)
		return false;
	if (in->end < off + in->elem)
		in->end = off + in->elem;
	if (!in->v->is_unsized && off + in->elem > in->v->bytes)
		return fail(in, "as many elements as the variable has");
	in->fn(&e, in->arg);
	return true;
}

/* ---- lists ------------------------------------------------------------------ */

static bool parse_list(struct init *in, uint64_t off, unsigned dim)
{
	uint64_t step = in->elem;

	if (dim >= in->ndims)
		return fail(in, "fewer braces");
	for (unsigned i = dim + 1; i < in->ndims; i++)
		step *= in->dims[i];
	in->l.p++;
	if (ptx_lex_take(&in->l, '}'))
		return true;
	for (;;) {
		ptx_lex_skip(&in->l);
		if (*in->l.p == '{') {
			if (!parse_list(in, off, dim + 1))
				return false;
			off += step;
		} else {
			/* a flat list fills the inner dimensions one after the other */
			if (!parse_element(in, off))
				return false;
			off += in->elem;
		}
		ptx_lex_skip(&in->l);
		if (*in->l.p != ',')
			break;
		in->l.p++;
		if (ptx_lex_take(&in->l, '}'))
			return true;
	}
	return ptx_lex_take(&in->l, '}') || fail(in, "',' or '}'");
}

/* Advances to the name, past the words before it. */
static bool find_name(struct init *in)
{
	const char *last;

	for (;;) {
		ptx_lex_skip(&in->l);
		char c = *in->l.p;
		if (ptx_is(c, PTX_CC_START)) {
			ptx_lex_ident(&in->l);
			return true;
		}
		if (c == '.') {
			if (ptx_lex_dotword(&in->l).n == 0)
				return false;
		} else if (c == '(' || c == '[') {
			in->l.p++;
			if (!ptx_lex_until(&in->l, c == '(' ? ")" : "]", &last))
				return false;
			in->l.p++;
		} else if (ptx_is(c, PTX_CC_DIGIT)) {
			while (ptx_is(*in->l.p, PTX_CC_FOLLOW))
				in->l.p++;
		} else {
			return false;
		}
	}
}

static bool parse_dims(struct init *in)
{
	int64_t v = 0;

	while (ptx_lex_take(&in->l, '[')) {
		if (in->ndims == MAX_DIMS)
			return fail(in, "fewer dimensions");
		ptx_lex_skip(&in->l);
		if (*in->l.p != ']' && !ptx_lex_expr(&in->l, &v))
			return fail(in, "an array size");
		in->dims[in->ndims++] = (uint64_t)v;
		if (!ptx_lex_take(&in->l, ']'))
			return fail(in, "']'");
	}
	if (in->v->vec > 1)
		in->dims[in->ndims++] = in->v->vec;
	return true;
}

/* ======================================================================== */

bool ptx_each_init(const struct ptx_module *m, const struct ptx_var *v, ptx_init_fn *fn, void *arg,
		   uint64_t *bytes, struct base_sink *sink)
{
	struct init in = {.m = m, .v = v, .sink = sink, .fn = fn, .arg = arg};

	*bytes = v->bytes;
	in.elem = ptx_type_bytes((enum ptx_type)v->type);
	if (!v->has_init || in.elem == 0)
		return true;
	in.l = (struct ptx_lex){v->text.p, v->text.p + v->text.n, v->text.p, v->line};
	if (!find_name(&in))
		return fail(&in, "a name");
	if (!parse_dims(&in))
		return false;
	if (!ptx_lex_take(&in.l, '='))
		return fail(&in, "'='");
	ptx_lex_skip(&in.l);
	if (*in.l.p == '{') {
		if (!in.ndims) /* a scalar in braces */
			in.dims[in.ndims++] = 1;
		if (!parse_list(&in, 0, 0))
			return false;
	} else if (!parse_element(&in, 0)) {
		return false;
	}
	ptx_lex_skip(&in.l);
	if (in.l.p < in.l.end)
		return fail(&in, "the end");
	if (v->is_unsized)
		*bytes = in.end;
	return true;
}

bool ptx_read_alias(const struct ptx_item *it, struct ptx_str *alias, struct ptx_str *of)
{
	struct ptx_lex l = {it->text.p, it->text.p + it->text.n, it->text.p, it->line};

	ptx_lex_skip(&l);
	if (*l.p != '.' || !ptx_str_is(ptx_lex_dotword(&l), "alias"))
		return false;
	ptx_lex_skip(&l);
	if (!ptx_is(*l.p, PTX_CC_START))
		return false;
	*alias = ptx_lex_ident(&l);
	if (!ptx_lex_take(&l, ','))
		return false;
	ptx_lex_skip(&l);
	if (!ptx_is(*l.p, PTX_CC_START))
		return false;
	*of = ptx_lex_ident(&l);
	return true;
}

bool ptx_func_attr(const struct ptx_func *f, const char *word, uint32_t v[3])
{
	struct ptx_lex l = {f->attrs.p, f->attrs.p, f->attrs.p, f->line};
	const char *last;
	int64_t n;

	if (f->attrs.n)
		l.end += f->attrs.n;
	while (l.p < l.end) {
		ptx_lex_skip(&l);
		if (*l.p != '.')
			break;
		if (!ptx_str_is(ptx_lex_dotword(&l), word)) {
			if (!ptx_lex_until(&l, ".{;", &last))
				break;
			continue;
		}
		v[0] = v[1] = v[2] = 1;
		for (int k = 0; k < 3; k++) {
			if (l.p >= l.end || !ptx_lex_expr(&l, &n))
				return k > 0;
			v[k] = (uint32_t)n;
			if (!ptx_lex_take(&l, ','))
				break;
		}
		return true;
	}
	return false;
}
