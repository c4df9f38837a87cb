/*
 * names.c - what an identifier means at this point of the text.
 *
 * Register families ("%r<37>", nearly all registers of compiled code) are found
 * by prefix in a small table, without hashing. Every other name is interned in
 * one uthash table; its meanings are stacked, newest scope first, and an undo list removes them at
 * the scope's end. Labels may be used before they are defined, so references wait in a list and are
 * resolved where the scope that defines the label ends; one that is not found there moves to the
 * outer scope, at most PTX_MAX_NESTING times. All of it is linear.
 */
#include "ptx/parse.h"

struct ptx_name *ptx_name_get(struct ptx_parser *ps, struct ptx_str text)
{
	struct base_arena *hash_arena = ps->a;
	struct ptx_name *nm;
	unsigned h = ptx_hash(text.p, text.n);

	HASH_FIND_BYHASHVALUE(hh, ps->names, text.p, text.n, h, nm);
	if (nm)
		return nm;
	nm = BASE_NEW(ps->a, struct ptx_name);
	nm->text = text;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, ps->names, nm->text.p, nm->text.n, h, nm);
	return nm;
}

static struct ptx_sym *push_sym(struct ptx_parser *ps, struct ptx_str name, enum ptx_sym_kind kind)
{
	struct ptx_name *nm = ptx_name_get(ps, name);
	struct ptx_sym *s = BASE_NEW(ps->a, struct ptx_sym);
	struct ptx_undo u = {.name = nm};

	s->outer = nm->sym;
	s->kind = kind;
	s->depth = ps->depth;
	nm->sym = s;
	if (ps->depth)
		base_vec_push(&ps->undo, u);
	return s;
}

void ptx_declare_var(struct ptx_parser *ps, struct ptx_var *v)
{
	push_sym(ps, v->name, PTX_SYM_VAR)->var = v;
}

void ptx_declare_other(struct ptx_parser *ps, struct ptx_str name)
{
	push_sym(ps, name, PTX_SYM_OTHER);
}

/* ---- registers ---------------------------------------------------------- */

static uint64_t family_key(const char *p, size_t n)
{
	char word[8] = {0};

	if (n > PTX_KEY_PREFIX)
		return 0;
	memcpy(word, p, n);
	return ptx_family_key(word, n);
}

static unsigned family_slot(const char *p, size_t n)
{
	return ptx_key_slot(family_key(p, n)); /* long prefixes share one slot */
}

static struct ptx_family *find_family(struct ptx_parser *ps, const char *p, size_t n)
{
	struct ptx_family *fam = ps->families[family_slot(p, n)];

	while (fam && (fam->prefix.n != n || !ptx_mem_eq(fam->prefix.p, p, n)))
		fam = fam->outer;
	return fam;
}

static void declare_family(struct ptx_parser *ps, struct ptx_regdecl *d)
{
	struct ptx_family *fam = BASE_NEW(ps->a, struct ptx_family);
	struct ptx_undo u = {.slot = family_slot(d->name.p, d->name.n)};

	fam->prefix = d->name;
	fam->key = family_key(d->name.p, d->name.n);
	fam->first = d->first;
	fam->count = d->count;
	fam->depth = ps->depth;
	fam->outer = ps->families[u.slot];
	ps->families[u.slot] = fam;
	base_vec_push(&ps->undo, u);
}

/* A single "%r5" beside a family "%r": the family must consult the table from now on. */
static void mark_shadowed(struct ptx_parser *ps, struct ptx_str name)
{
	struct ptx_family *fam;

	for (uint32_t n = name.n; n > 1 && ptx_is(name.p[n - 1], PTX_CC_DIGIT); n--) {
		fam = find_family(ps, name.p, n - 1);
		for (; fam; fam = fam->outer)
			if (fam->prefix.n == n - 1 && memcmp(fam->prefix.p, name.p, n - 1) == 0)
				fam->is_shadowed = true;
	}
}

bool ptx_declare_regs(struct ptx_parser *ps, struct ptx_regdecl *d)
{
	struct ptx_func *f = ps->f;

	if (d->count > PTX_MAX_REGS - f->nregs || d->count > PTX_MAX_ALL_REGS - ps->all_regs)
		return false;
	ps->all_regs += d->count;
	d->first = ptx_regs_room(ps->a, f, d->count, (enum ptx_type)d->type);
	ptx_regnames_add(ps->m, f, d);
	if (d->is_family) {
		declare_family(ps, d);
	} else {
		push_sym(ps, d->name, PTX_SYM_REG)->reg = d->first;
		if (ptx_is(d->name.p[d->name.n - 1], PTX_CC_DIGIT))
			mark_shadowed(ps, d->name);
	}
	return true;
}

static uint32_t single_reg(struct ptx_parser *ps, struct ptx_str text, struct ptx_name **name,
			   uint32_t min_depth)
{
	*name = ptx_name_get(ps, text);
	struct ptx_sym *s = (*name)->sym;

	return s && s->kind == PTX_SYM_REG && s->depth >= min_depth ? s->reg : PTX_NO_REG;
}

/* The family member that text names, trying every split of "%r12" into prefix and number. */
static uint32_t family_reg(struct ptx_parser *ps, struct ptx_str text, struct ptx_family **found)
{
	uint64_t num = 0, scale = 1;
	struct ptx_family *fam;

	/* nearly always the prefix has no digits */
	uint32_t start = text.n - 1;

	while (start > 1 && ptx_is(text.p[start - 1], PTX_CC_DIGIT))
		start--;
	if (text.n - start <= 8 && start > 0 && (text.p[start] != '0' || text.n - start == 1)) {
		uint32_t v = 0;

		for (uint32_t i = start; i < text.n; i++)
			v = v * 10 + (uint32_t)(text.p[i] - '0');
		fam = find_family(ps, text.p, start);
		if (fam && v < fam->count) {
			*found = fam;
			return fam->first + v;
		}
	}
	for (uint32_t n = text.n - 1; n > 0 && ptx_is(text.p[n], PTX_CC_DIGIT); n--) {
		num += (uint64_t)(text.p[n] - '0') * scale;
		scale *= 10;
		if (num >= PTX_MAX_REGS || scale > 1000000000)
			break;
		if (text.p[n] == '0' && num != 0)
			continue; /* "%r01" is not %r1 */
		if (text.p[n] == '0' && n != text.n - 1)
			continue;
		for (fam = find_family(ps, text.p, n); fam; fam = fam->outer) {
			if (num < fam->count && fam->prefix.n == n &&
			    memcmp(fam->prefix.p, text.p, n) == 0) {
				*found = fam;
				return fam->first + (uint32_t)num;
			}
		}
	}
	return PTX_NO_REG;
}

uint32_t ptx_find_reg(struct ptx_parser *ps, struct ptx_str text, struct ptx_name **name)
{
	struct ptx_family *fam = NULL;
	uint32_t reg = PTX_NO_REG, single;

	*name = NULL;
	if (ptx_is(text.p[text.n - 1], PTX_CC_DIGIT))
		reg = family_reg(ps, text, &fam);
	if (reg != PTX_NO_REG && !fam->is_shadowed)
		return reg;
	single = single_reg(ps, text, name, fam ? fam->depth : 0);
	return single != PTX_NO_REG ? single : reg;
}

bool ptx_is_beyond_family(struct ptx_parser *ps, struct ptx_str text)
{
	uint32_t n = text.n;

	while (n > 1 && ptx_is(text.p[n - 1], PTX_CC_DIGIT))
		n--;
	return n < text.n && find_family(ps, text.p, n);
}

/* ---- labels and scopes --------------------------------------------------- */

struct ptx_label *ptx_define_label(struct ptx_parser *ps, struct ptx_str name, struct base_span at)
{
	struct ptx_name *nm = ptx_name_get(ps, name);
	struct ptx_labsym *ls;
	struct ptx_undo u = {.name = nm, .is_label = true};

	if (nm->label && nm->label->depth == ps->depth)
		base_report(ps->sink, BASE_ERROR, ps->file, at,
			    "found a second label '%.*s', expected one in a scope", (int)name.n,
			    name.p);
	ls = BASE_NEW(ps->a, struct ptx_labsym);
	ls->outer = nm->label;
	ls->depth = ps->depth;
	ls->label = BASE_NEW(ps->a, struct ptx_label);
	ls->label->name = name;
	ls->label->id = ps->f->nlabels++;
	nm->label = ls;
	base_vec_push(&ps->undo, u);
	return ls->label;
}

bool ptx_scope_open(struct ptx_parser *ps)
{
	if (ps->depth > PTX_MAX_NESTING)
		return false;
	struct ptx_block *sc = &ps->scopes[ps->depth++];

	sc->undo = ps->undo.n;
	sc->pending = ps->pending.n;
	sc->line = ps->l.line;
	sc->col = ptx_lex_here(&ps->l).col;
	return true;
}

static void resolve(struct ptx_parser *ps, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < ps->pending.n; i++) {
		struct ptx_pending *pd = &ps->pending.v[i];
		struct ptx_labsym *ls = pd->name->label;

		if (ls && ls->depth == ps->depth) {
			pd->o->label = ls->label;
			pd->o->flags |= PTX_OPND_LABEL;
		} else if (ps->depth > 1) {
			ps->pending.v[kept++] = *pd;
		} else if (pd->must) {
			base_report(ps->sink, BASE_ERROR, ps->file,
				    (struct base_span){pd->line, pd->col},
				    "found '%.*s', expected a label of this function",
				    (int)pd->name->text.n, pd->name->text.p);
		}
	}
	ps->pending.n = kept;
}

void ptx_scope_close(struct ptx_parser *ps)
{
	struct ptx_block *sc = &ps->scopes[ps->depth - 1];

	resolve(ps, sc->pending);
	while (ps->undo.n > sc->undo) {
		struct ptx_undo *u = &ps->undo.v[--ps->undo.n];

		if (!u->name)
			ps->families[u->slot] = ps->families[u->slot]->outer;
		else if (u->is_label)
			u->name->label = u->name->label->outer;
		else
			u->name->sym = u->name->sym->outer;
	}
	ps->depth--;
}

void ptx_names_free(struct ptx_parser *ps)
{
	base_vec_free(&ps->undo);
	base_vec_free(&ps->pending);
	base_vec_free(&ps->ops);
}
