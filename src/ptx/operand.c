/*
 * operand.c - the operands of an instruction.
 *
 * Operands are built on a stack in the parser (ps->ops) and copied into the
 * arena when their number is known. A constant expression that is no plain
 * literal is kept as written (PTX_OPND_EXPR) with its value where it has one.
 * Nesting of brackets is limited to PTX_MAX_OPND_NEST.
 */
#include "ptx/parse.h"

static bool parse_operand(struct ptx_parser *ps, struct ptx_opnd *o, unsigned nest);

bool ptx_parse_error(struct ptx_parser *ps, const char *expected)
{
	char buf[48];

	base_report(ps->sink, BASE_ERROR, ps->file, ptx_lex_here(&ps->l), "found %s, expected %s",
		    ptx_lex_found(&ps->l, buf), expected);
	return false;
}

bool ptx_is_hole(const struct ptx_parser *ps, struct ptx_str name)
{
	return ps->is_fragment && name.p[0] == '$' &&
	       !(name.n >= 3 && name.p[1] == 'L' && name.p[2] == '_');
}

/* Moves the operands from `base` on from the stack into the arena. */
static struct ptx_opnd *take_ops(struct ptx_parser *ps, size_t base)
{
	size_t n = ps->ops.n - base;
	struct ptx_opnd *v = NULL;

	if (n) {
		v = base_alloc(ps->a, n * sizeof(*v));
		for (size_t i = 0; i < n; i++)
			v[i] = ps->ops.v[base + i];
	}
	ps->ops.n = base;
	return v;
}

/* The rest of a constant expression that started at `from`, verbatim. */
static bool parse_expr(struct ptx_parser *ps, struct ptx_opnd *o, struct ptx_lex from)
{
	struct ptx_lex value = from;
	const char *last;

	memset(o, 0, sizeof(*o));
	o->kind = PTX_OPND_EXPR;
	if (!ptx_lex_expr(&value, &o->imm))
		o->imm = 0;
	ps->l = from;
	/* ":" continues ?: only; "|" can't start here, a predicate pair has a name before it */
	ptx_lex_until(&ps->l, ",;)]}", &last);
	if (last == from.p)
		return ptx_parse_error(ps, "an operand");
	o->text = ptx_span(from.p, last);
	return true;
}

/* ".x" of a vector register, ".b0" of a video instruction. */
static void parse_component(struct ptx_parser *ps, struct ptx_opnd *o)
{
	static const char xyzw[] = "xyzw", rgba[] = "rgba";
	struct ptx_str sel = ptx_lex_dotword(&ps->l);
	const char *c = NULL;

	if (sel.n == 1) {
		c = strchr(xyzw, sel.p[0]);
		if (c) {
			o->comp = (uint8_t)(c - xyzw + 1);
			return;
		}
		c = strchr(rgba, sel.p[0]);
	}
	if (c) {
		o->comp = (uint8_t)(c - rgba + 1);
	} else if (sel.n) {
		o->comp = PTX_COMP_SELECT;
		o->text.n = (uint32_t)(ps->l.p - o->text.p);
	}
}

/* sym+4 and sym-4 outside brackets. */
static bool parse_sym_offset(struct ptx_parser *ps, struct ptx_opnd *o)
{
	struct ptx_lex before;
	int64_t v;
	char c;

	ptx_lex_skip(&ps->l);
	c = *ps->l.p;
	if (c != '+' && c != '-')
		return true;
	before = ps->l;
	ps->l.p++;
	if (!ptx_lex_decimal(&ps->l, &v) && !ptx_lex_expr(&ps->l, &v)) {
		ps->l = before;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
		return ptx_parse_error(ps, "an integer offset");
	}
	o->flags |= PTX_OPND_HAS_OFF;
	if (c == '-')
		o->flags |= PTX_OPND_MINUS;
	o->off = c == '-' ? (int64_t)(0 - (uint64_t)v) : v;
	return true;
}

/* "%rd17": letters, then digits, of a family in scope. False: l->p is where it was. */
static inline bool parse_family_reg(struct ptx_parser *ps, struct ptx_opnd *o)
{
	const char *s = ps->l.p, *p = s + 1, *digits;
	const struct ptx_family *fam;
	uint32_t v = 0;
	uint64_t key;

	while (ptx_is(*p, PTX_CC_LETTER))
		p++;
	digits = p;
	while (ptx_is(*p, PTX_CC_DIGIT))
		v = v * 10 + (uint32_t)(*p++ - '0');
	/* no digits, a letter after them, a number with a leading zero, or too long */
	if (ptx_is(*p, PTX_CC_FOLLOW) || (size_t)(p - digits) - 1 > 7 ||
	    digits - s > PTX_KEY_PREFIX || (*digits == '0' && p - digits > 1) || ps->l.end - s < 8)
		return false;
	key = ptx_family_key(s, (size_t)(digits - s));
	fam = ps->families[ptx_key_slot(key)];
	while (fam && fam->key != key)
		fam = fam->outer;
	if (!fam || v >= fam->count || fam->is_shadowed)
		return false;
	ps->l.p = p;
	*o = (struct ptx_opnd){.kind = PTX_OPND_REG, .text = ptx_span(s, p), .reg = fam->first + v};
	if (*p == '.')
		parse_component(ps, o);
	return true;
}

static bool parse_name(struct ptx_parser *ps, struct ptx_opnd *o, unsigned nest)
{
	struct ptx_name *name;
	const char *s = ps->l.p;

	if (parse_family_reg(ps, o))
		return true;

	o->text = ptx_lex_ident(&ps->l);
	if (o->text.n == 1 && *s == '_') {
		o->kind = PTX_OPND_SINK;
		return true;
	}
	if (*s == '$' && ptx_is_hole(ps, o->text)) {
		o->kind = PTX_OPND_HOLE;
		return true;
	}
	o->reg = ptx_find_reg(ps, o->text, &name);
	if (o->reg != PTX_NO_REG) {
		o->kind = PTX_OPND_REG;
		if (*ps->l.p == '.')
			parse_component(ps, o);
		return true;
	}
	o->imm = 0;
	if (*s == '%' || PTX_IS(o->text, "WARP_SZ")) {
		/* an unknown %name may be a special register newer than this parser */
		if (ptx_is_beyond_family(ps, o->text)) {
			ps->l.p = s;
			return ptx_parse_error(ps, "a register that is declared");
		}
		o->kind = PTX_OPND_SPECIAL;
		if (*ps->l.p == '.') {
			ptx_lex_dotword(&ps->l);
			o->text.n = (uint32_t)(ps->l.p - s);
		}
		if (*s == '%')
			return true;
		struct ptx_lex before = ps->l;

		before.p = s;
		ptx_lex_skip(&ps->l); /* WARP_SZ * 2 */
		return ptx_is(*ps->l.p, PTX_CC_OPERATOR) ? parse_expr(ps, o, before) : true;
	}
	o->kind = PTX_OPND_SYM;
	if (name->sym && name->sym->kind == PTX_SYM_VAR) {
		o->var = name->sym->var;
		o->flags |= PTX_OPND_VAR;
	} else if (nest == 0 && ps->is_flow && !name->sym) {
		o->name = name;
	}
	return parse_sym_offset(ps, o);
}

/* A literal with its sign; anything that goes on after it is an expression. */
static bool parse_literal(struct ptx_parser *ps, struct ptx_opnd *o)
{
	struct ptx_lex from = ps->l;

	if (*from.p == '-') {
		o->flags |= PTX_OPND_NEG;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
		if (ptx_is(*ps->l.p, PTX_CC_START)) {
			uint8_t neg = o->flags;
			bool ok = parse_name(ps, o, 1);

			o->flags |= neg;
			return ok;
		}
		if (!ptx_is(*ps->l.p, PTX_CC_DIGIT))
			return parse_expr(ps, o, from);
	}
	const char *digits = ps->l.p;

	if (ptx_lex_decimal(&ps->l, &o->imm)) {
		o->kind = PTX_OPND_INT;
		o->text = ptx_span(digits, ps->l.p);
	} else if (!ptx_lex_number(&ps->l, o)) {
		ps->l.p = o->text.p;
		return ptx_parse_error(ps, "a number");
	}
	if (o->flags & PTX_OPND_NEG) {
		uint64_t bits = (uint64_t)o->imm;

		if (o->kind == PTX_OPND_INT)
			o->imm = (int64_t)(0 - bits);
		else
			o->imm = (int64_t)(bits ^
					   (o->kind == PTX_OPND_F32 ? 1ull << 31 : 1ull << 63));
	}
	ptx_lex_skip(&ps->l);
	if (ptx_is(*ps->l.p, PTX_CC_OPERATOR))
		return parse_expr(ps, o, from);
	return true;
}

/* Operands separated by commas up to `close`, which is taken. */
static bool parse_list(struct ptx_parser *ps, struct ptx_opnd *o, char close, unsigned nest)
{
	size_t base = ps->ops.n;
	struct ptx_opnd sub;

	if (nest >= PTX_MAX_OPND_NEST)
		return ptx_parse_error(ps, "brackets that are nested less deeply");
	ps->l.p++;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p != close || close != ')') { /* only () may be empty */
		for (;;) {
			if (!parse_operand(ps, &sub, nest + 1))
				return false;
			base_vec_push(&ps->ops, sub);
			ptx_lex_skip(&ps->l);
			if (*ps->l.p != ',')
				break;
			ps->l.p++;
			ptx_lex_skip(&ps->l);
		}
	}
	if (*ps->l.p != close) {
		char want[] = "',' or ' '";

		want[8] = close;
		return ptx_parse_error(ps, want);
	}
	ps->l.p++;
	if (ps->ops.n - base > UINT8_MAX)
		return ptx_parse_error(ps, "fewer operands in one list");
	o->nsub = (uint8_t)(ps->ops.n - base);
	o->sub = take_ops(ps, base);
	return true;
}

/* [base], [base+off], [base, {..}, ..], and ".unified" after it. */
static bool parse_address(struct ptx_parser *ps, struct ptx_opnd *o, unsigned nest)
{
	o->kind = PTX_OPND_ADDR;
	if (!parse_list(ps, o, ']', nest))
		return false;
	if (o->nsub && o->sub[0].flags & PTX_OPND_HAS_OFF) {
		o->off = o->sub[0].off;
		o->flags |= o->sub[0].flags & (PTX_OPND_HAS_OFF | PTX_OPND_MINUS);
		o->sub[0].off = 0;
		o->sub[0].flags &= (uint8_t) ~(PTX_OPND_HAS_OFF | PTX_OPND_MINUS);
	}
	if (*ps->l.p == '.') {
		const char *s = ps->l.p;

		ptx_lex_dotword(&ps->l);
		o->text = ptx_span(s, ps->l.p);
	}
	return true;
}

static bool parse_primary(struct ptx_parser *ps, struct ptx_opnd *o, unsigned nest)
{
	char c = *ps->l.p;

	if (ptx_is(c, PTX_CC_START)) {
		if (!parse_name(ps, o, nest))
			return false;
		/* registers and holes as the base of an address take offsets too */
		if (nest && (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_HOLE))
			return parse_sym_offset(ps, o);
		return true;
	}
	if (ptx_is(c, PTX_CC_DIGIT) || c == '-')
		return parse_literal(ps, o);
	switch (c) {
	case '[':
		return parse_address(ps, o, nest);
	case '{':
		o->kind = PTX_OPND_VEC;
		return parse_list(ps, o, '}', nest);
	case '(':
		if (!ps->is_flow || nest)
			return parse_expr(ps, o, ps->l);
		o->kind = PTX_OPND_LIST;
		return parse_list(ps, o, ')', nest);
	case '!': {
		struct ptx_lex from = ps->l;

		ps->l.p++;
		ptx_lex_skip(&ps->l);
		if (!ptx_is(*ps->l.p, PTX_CC_START))
			return parse_expr(ps, o, from);
		bool ok = parse_name(ps, o, nest);
		o->flags |= PTX_OPND_NOT;
		return ok;
	}
	case '~':
	case '+':
		return parse_expr(ps, o, ps->l);
	}
	return ptx_parse_error(ps, "an operand");
}

static bool parse_operand(struct ptx_parser *ps, struct ptx_opnd *o, unsigned nest)
{
	memset(o, 0, sizeof(*o));
	if (!parse_primary(ps, o, nest))
		return false;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p != '|')
		return true;

	struct ptx_opnd *pair = base_alloc(ps->a, 2 * sizeof(*pair));

	pair[0] = *o;
	memset(o, 0, sizeof(*o));
	memset(&pair[1], 0, sizeof(pair[1]));
	ps->l.p++;
	ptx_lex_skip(&ps->l);
	if (!parse_primary(ps, &pair[1], nest))
		return false;
	o->kind = PTX_OPND_PAIR;
	o->nsub = 2;
	o->sub = pair;
	return true;
}

bool ptx_parse_operands(struct ptx_parser *ps)
{
	struct ptx_opnd o;
	size_t base = ps->ops.n;

	ptx_lex_skip(&ps->l);
	if (*ps->l.p == ';') {
		ps->l.p++;
		return true;
	}
	for (;;) {
		const char *start = ps->l.p;

		base_vec_reserve(&ps->ops, ps->ops.n + 1);
		if (*ps->l.p == '%' && parse_family_reg(ps, &ps->ops.v[ps->ops.n]) &&
		    (*ps->l.p == ',' || *ps->l.p == ';')) {
			ps->ops.n++; /* most operands of compiled code */
		} else {
			ps->l.p = start;
			if (!parse_operand(ps, &o, 0))
				return false;
			base_vec_push(&ps->ops, o);
			ptx_lex_skip(&ps->l);
		}
		char c = *ps->l.p;
		if (c == ';') {
			ps->l.p++;
			return true;
		}
		if (c != ',')
			return ptx_parse_error(ps, "',' or ';'");
		if (ps->ops.n - base >= PTX_MAX_OPERANDS)
			return ptx_parse_error(ps, "fewer operands");
		ps->l.p++;
		ptx_lex_skip(&ps->l);
	}
}
