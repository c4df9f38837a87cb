/*
 * body.c - the statements of a function body.
 *
 * Statements are found by their first character. An instruction's spelling is
 * looked up in a small direct-mapped cache before the module's table of forms,
 * because a body uses few spellings many times. Scopes are a counter, not
 * recursion. After an error the parser goes on after the next ';'.
 */
#include "ptx/parse.h"

static struct ptx_stmt *new_stmt(struct ptx_parser *ps, enum ptx_stmt_kind kind,
				 struct base_span at)
{
	struct ptx_func *f = ps->f;
	struct ptx_stmt *s = base_alloc(ps->a, sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->kind = (uint8_t)kind;
	s->line = at.line;
	s->col = at.col;
	s->loc = ps->loc;
	s->prev = f->last;
	if (f->last)
		f->last->next = s;
	else
		f->first = s;
	f->last = s;
	return s;
}

/* ---- directives ----------------------------------------------------------- */

static bool parse_number(struct ptx_parser *ps, uint32_t *v)
{
	struct ptx_opnd o = {0};

	const char *p;
	uint32_t n = 0;

	ptx_lex_skip(&ps->l);
	for (p = ps->l.p; ptx_is(*p, PTX_CC_DIGIT) && p - ps->l.p < 9; p++)
		n = n * 10 + (uint32_t)(*p - '0');
	if (p > ps->l.p && !ptx_is(*p, PTX_CC_FOLLOW) && (*ps->l.p != '0' || p == ps->l.p + 1)) {
		ps->l.p = p; /* plain decimal, as in every .loc */
		*v = n;
		return true;
	}
	if (!ptx_is(*ps->l.p, PTX_CC_DIGIT) || !ptx_lex_number(&ps->l, &o))
		return ptx_parse_error(ps, "a number");
	*v = (uint32_t)o.imm;
	return true;
}

/* function_name sym[+off] and inlined_at file line col, in this order. */
static bool parse_inlined(struct ptx_parser *ps, struct ptx_loc *loc, const char **end)
{
	for (;;) {
		struct ptx_lex before = ps->l;
		struct ptx_str w;

		ptx_lex_skip(&ps->l);
		if (*ps->l.p != ',') {
			ps->l = before;
			return true;
		}
		ps->l.p++;
		ptx_lex_skip(&ps->l);
		if (!ptx_is(*ps->l.p, PTX_CC_START))
			return ptx_parse_error(ps, "function_name or inlined_at");
		w = ptx_lex_ident(&ps->l);
		ptx_lex_skip(&ps->l);
		if (PTX_IS(w, "inlined_at")) {
			if (!parse_number(ps, &loc->in_file) || !parse_number(ps, &loc->in_line) ||
			    !parse_number(ps, &loc->in_col))
				return false;
			*end = ps->l.p;
			continue;
		}
		if (!PTX_IS(w, "function_name"))
			return ptx_parse_error(ps, "function_name or inlined_at before it");
		if (*ps->l.p == '.')
			ps->l.p++; /* ".debug_str+4" */
		if (!ptx_is(*ps->l.p, PTX_CC_FOLLOW))
			return ptx_parse_error(ps, "a label in .debug_str");
		loc->func_sym = ptx_lex_ident(&ps->l);
		if (loc->func_sym.p[-1] == '.')
			loc->func_sym = ptx_span(loc->func_sym.p - 1, ps->l.p);
		*end = ps->l.p;
		if (ptx_lex_take(&ps->l, '+')) {
			if (!parse_number(ps, &loc->func_off))
				return false;
			*end = ps->l.p;
		}
	}
}

struct ptx_loc *ptx_parse_loc(struct ptx_parser *ps, const char *start)
{
	struct ptx_loc *loc = BASE_NEW(ps->a, struct ptx_loc);
	const char *end;

	if (!parse_number(ps, &loc->file) || !parse_number(ps, &loc->line) ||
	    !parse_number(ps, &loc->col))
		return NULL;
	end = ps->l.p;
	if (!parse_inlined(ps, loc, &end))
		return NULL;
	ps->l.p = end > ps->l.line_start ? end : ps->l.p;
	loc->text = ptx_span(start, end);
	return loc;
}

/* .reg .v4 .f32 a, b<3>; */
static bool parse_reg(struct ptx_parser *ps, struct ptx_stmt *s)
{
	struct ptx_regdecl **tail = &s->regs, *d;
	enum ptx_type type = PTX_TYPE_NONE;
	uint8_t vec = 1;

	for (ptx_lex_skip(&ps->l); *ps->l.p == '.'; ptx_lex_skip(&ps->l)) {
		struct ptx_str w = ptx_lex_dotword(&ps->l);

		if (w.n == 2 && w.p[0] == 'v' && ptx_is(w.p[1], PTX_CC_DIGIT)) {
			vec = (uint8_t)(w.p[1] - '0');
			continue;
		}
		type = ptx_type_find(w);
		if (type == PTX_TYPE_NONE) {
			ps->l.p = w.p - 1;
			return ptx_parse_error(ps, "a register type");
		}
	}
	if (type == PTX_TYPE_NONE)
		return ptx_parse_error(ps, "a register type");
	for (;;) {
		if (!ptx_is(*ps->l.p, PTX_CC_START))
			return ptx_parse_error(ps, "a register's name");
		d = BASE_NEW(ps->a, struct ptx_regdecl);
		d->name = ptx_lex_ident(&ps->l);
		d->type = (uint8_t)type;
		d->vec = vec;
		d->count = 1;
		if (ptx_lex_take(&ps->l, '<')) {
			d->is_family = true;
			if (!parse_number(ps, &d->count))
				return false;
			if (!ptx_lex_take(&ps->l, '>'))
				return ptx_parse_error(ps, "'>'");
		}
		if (!ptx_declare_regs(ps, d))
			return ptx_parse_error(ps, "fewer registers before it");
		*tail = d;
		tail = &d->next;
		ptx_lex_skip(&ps->l);
		if (*ps->l.p != ',')
			break;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
	}
	if (*ps->l.p != ';')
		return ptx_parse_error(ps, "',', '<' or ';'");
	ps->l.p++;
	return true;
}

/* A directive kept as it is, its ';' included. */
static bool parse_raw(struct ptx_parser *ps, struct ptx_stmt *s, const char *start)
{
	const char *last;

	if (!ptx_lex_until(&ps->l, ";", &last))
		return ptx_parse_error(ps, "';'");
	s->text = ptx_span(start, ++ps->l.p);
	return true;
}

static void emit_var(struct ptx_parser *ps, struct ptx_var *v)
{
	struct ptx_stmt *s = new_stmt(ps, PTX_STMT_VAR, (struct base_span){v->line, v->col});

	s->var = v;
}

static bool parse_directive(struct ptx_parser *ps)
{
	struct base_span at = ptx_lex_here(&ps->l);
	const char *start = ps->l.p;
	struct ptx_str w = ptx_lex_dotword(&ps->l);
	struct ptx_stmt *s;
	struct ptx_loc *loc;

	if (PTX_IS(w, "loc")) {
		loc = ptx_parse_loc(ps, start);
		if (!loc)
			return false;
		ps->loc = loc;
		new_stmt(ps, PTX_STMT_LOC, at);
		return true;
	}
	if (PTX_IS(w, "reg"))
		return parse_reg(ps, new_stmt(ps, PTX_STMT_REG, at));
	if (ptx_is_var_space(w)) {
		ps->l.p = start;
		return ptx_parse_vars(ps, 0, start, emit_var);
	}
	if (w.n == 0)
		return ptx_parse_error(ps, "a statement");
	s = new_stmt(ps, PTX_IS(w, "pragma") ? PTX_STMT_PRAGMA : PTX_STMT_RAW, at);
	return parse_raw(ps, s, start);
}

/* ---- labels ---------------------------------------------------------------- */

/* A symbol that may be a label defined further down; a variable's symbol has .var instead. */
static bool is_name(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_SYM && !(o->flags & PTX_OPND_VAR) && o->name;
}

static void pend(struct ptx_parser *ps, struct ptx_opnd *o, bool must, struct base_span at)
{
	struct ptx_pending pd = {o, o->name, at.line, at.col, must};

	if (o->text.p >= ps->l.line_start) { /* the name itself, unless lines came between */
		pd.line = ps->l.line;
		pd.col = (uint32_t)(o->text.p - ps->l.line_start) + 1;
	}
	o->label = NULL;
	base_vec_push(&ps->pending, pd);
}

/* .branchtargets a, b<3>; and .calltargets f, g; after "label:". */
static bool parse_targets(struct ptx_parser *ps, struct ptx_stmt *s, const char *start, bool must)
{
	struct base_span at = ptx_lex_here(&ps->l);

	ps->is_flow = true;
	ps->ops.n = 0;
	if (!ptx_parse_operands(ps))
		return false;
	s->text = ptx_span(start, ps->l.p);
	s->ntargets = (uint32_t)ps->ops.n;
	s->targets = base_alloc(ps->a, ps->ops.n * sizeof(struct ptx_opnd));
	for (uint32_t i = 0; i < s->ntargets; i++) {
		s->targets[i] = ps->ops.v[i];
		if (is_name(&s->targets[i]))
			pend(ps, &s->targets[i], must, at);
	}
	return true;
}

/* What follows "name:"; `at` is the place of the name. */
static bool parse_label(struct ptx_parser *ps, struct ptx_str name, struct base_span at)
{
	enum ptx_stmt_kind kind = PTX_STMT_LABEL;
	struct ptx_lex before = ps->l;
	struct ptx_str w = {0};
	struct ptx_stmt *s;
	const char *start;

	ptx_lex_skip(&ps->l);
	start = ps->l.p;
	if (*start == '.')
		w = ptx_lex_dotword(&ps->l);
	if (PTX_IS(w, "branchtargets") || PTX_IS(w, "calltargets"))
		kind = PTX_STMT_TARGETS;
	else if (PTX_IS(w, "callprototype"))
		kind = PTX_STMT_PROTO;
	s = new_stmt(ps, kind, at);
	s->label = ptx_define_label(ps, name, at);
	s->label->at = s;
	if (kind == PTX_STMT_TARGETS)
		return parse_targets(ps, s, start, w.p[0] == 'b');
	if (kind == PTX_STMT_PROTO)
		return parse_raw(ps, s, start);
	ps->l = before;
	return true;
}

/* ---- instructions ----------------------------------------------------------- */

static struct ptx_form *find_form(struct ptx_parser *ps, struct ptx_str text)
{
	uint64_t head, tail;

	/* the first and the last bytes distinguish most spellings */
	if (text.n >= 8) {
		head = ptx_load64(text.p);
		tail = ptx_load64(text.p + text.n - 8);
	} else {
		head = (unsigned char)text.p[0] | (unsigned)text.p[text.n / 2] << 8;
		tail = (unsigned char)text.p[text.n - 1];
	}
	uint64_t h = (head ^ tail * 0x9e3779b97f4a7c15ull ^ text.n) * 0x9fb21c651e98df25ull;
	struct ptx_form **slot = &ps->forms[(h >> 40) % PTX_FORM_CACHE];

	if (!*slot || (*slot)->text.n != text.n || !ptx_mem_eq((*slot)->text.p, text.p, text.n))
		*slot = (struct ptx_form *)ptx_forms_intern(ps->m->forms, text);
	return *slot;
}

/* @p or @!p, the '@' being next. */
static bool parse_guard(struct ptx_parser *ps, struct ptx_stmt *guard)
{
	struct ptx_name *name;
	struct ptx_str text;

	ps->l.p++;
	ptx_lex_skip(&ps->l);
	if (*ps->l.p == '!') {
		guard->is_pred_not = true;
		ps->l.p++;
		ptx_lex_skip(&ps->l);
	}
	if (!ptx_is(*ps->l.p, PTX_CC_START))
		return ptx_parse_error(ps, "a predicate");
	text = ptx_lex_ident(&ps->l);
	if (ptx_is_hole(ps, text)) {
		guard->pred_text = text;
	} else {
		guard->pred = ptx_find_reg(ps, text, &name);
		if (guard->pred == PTX_NO_REG) {
			ps->l.p = text.p;
			return ptx_parse_error(ps, "a predicate register that is declared");
		}
	}
	ptx_lex_skip(&ps->l);
	return true;
}

static bool finish_inst(struct ptx_parser *ps, struct ptx_stmt *s, struct base_span at)
{
	size_t n = ps->ops.n;
	bool must = s->form->op == PTX_OP_BRA;

	s->nops = (uint8_t)n;
	if (!n)
		return true;
	s->ops = base_alloc(ps->a, n * sizeof(struct ptx_opnd));
	for (size_t i = 0; i < n; i++)
		s->ops[i] = ps->ops.v[i];
	if (ps->is_flow)
		for (size_t i = 0; i < n; i++)
			if (is_name(&s->ops[i]))
				pend(ps, &s->ops[i], must, at);
	return true;
}

static bool parse_inst(struct ptx_parser *ps)
{
	struct base_span at = ptx_lex_here(&ps->l), op_at;
	struct ptx_stmt guard, *s;
	const char *start = ps->l.p, *op;
	struct ptx_form *form;

	guard.pred = PTX_NO_REG;
	guard.is_pred_not = false;
	guard.pred_text = (struct ptx_str){0};
	if (*start == '@' && !parse_guard(ps, &guard))
		return false;
	op = ps->l.p;
	op_at = ptx_lex_here(&ps->l);
	if (!ptx_is(*op, PTX_CC_START))
		return ptx_parse_error(ps, "an instruction, label or directive");
	do {
		while (ptx_is(*++ps->l.p, PTX_CC_OPCODE))
			;
	} while (*ps->l.p == ':' && ps->l.p[1] == ':' && ++ps->l.p);

	struct ptx_str text = ptx_span(op, ps->l.p);

	ptx_lex_skip(&ps->l);
	if (*ps->l.p == ':' && op == start) {
		if (memchr(text.p, '.', text.n)) {
			ps->l.p = op;
			return ptx_parse_error(ps, "a label without '.'");
		}
		ps->l.p++;
		return parse_label(ps, text, at);
	}
	form = find_form(ps, text);
	form->count++;
	ps->f->ninsts++;
	ps->m->nunknown += form->op == PTX_OP_UNKNOWN || form->has_unknown_mod;
	ps->is_flow = (form->effects & (PTX_EFF_BRANCH | PTX_EFF_CALL | PTX_EFF_UNKNOWN)) != 0;
	ps->ops.n = 0;
	if (!ptx_parse_operands(ps))
		return false;
	s = new_stmt(ps, PTX_STMT_INST, at);
	s->form = form;
	s->pred = guard.pred;
	s->is_pred_not = guard.is_pred_not;
	s->pred_text = guard.pred_text;
	s->text = ptx_span(start, ps->l.p);
	return finish_inst(ps, s, op_at);
}

/* One statement that is no brace. */
static void parse_statement(struct ptx_parser *ps)
{
	const char *before = ps->l.p;
	bool ok = *before == '.' ? parse_directive(ps) : parse_inst(ps);

	if (ok)
		return;
	ps->ops.n = 0;
	if (ps->l.p == before && *before != ';' && ps->l.p < ps->l.end)
		ps->l.p++;
	ptx_lex_recover(&ps->l);
}

bool ptx_parse_body(struct ptx_parser *ps)
{
	const char *expected = "'}'";
	uint32_t outer = ps->depth;
	struct base_span at;

	for (;;) {
		ptx_lex_skip(&ps->l);
		char c = *ps->l.p;

		if (c == '}' && !(ps->is_fragment && ps->depth == outer)) {
			at = ptx_lex_here(&ps->l);
			ps->l.p++;
			if (ps->depth == outer)
				return true;
			new_stmt(ps, PTX_STMT_CLOSE, at);
			ptx_scope_close(ps);
		} else if (c == '{') {
			at = ptx_lex_here(&ps->l);
			if (!ptx_scope_open(ps)) {
				expected = "at most 64 nested scopes";
				break;
			}
			ps->l.p++;
			new_stmt(ps, PTX_STMT_OPEN, at);
		} else if (c == ';') {
			ps->l.p++; /* an empty statement */
		} else if (c == 0 && ps->l.p >= ps->l.end) {
			break;
		} else {
			parse_statement(ps);
		}
	}
	if (ps->is_fragment && ps->depth == outer && ps->l.p >= ps->l.end)
		return true;
	ptx_parse_error(ps, expected);
	while (ps->depth > outer)
		ptx_scope_close(ps);
	return false;
}
