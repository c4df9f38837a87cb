/*
 * flow_cases.c - checks the expectations that stand in comments of PTX files.
 *
 * A comment belongs to the statement on its line and holds parts divided by ';':
 *
 *   tag A                      names the statement, and its block
 *   bytes %r2: sure 3 maybe c
 *   demand %r2: dead | sure | select %p1 | select !%p1 | maybe [A B=%p1 ...]
 *   origin: unknown | private | global | shared | const | not_private
 *   alias A: no | may | must   with the statement tagged A, before this one
 *   affine: 4x+8y+u+16 | none  of the address operand; u is the uniform unknown
 *   uniform %r1: yes | no
 *   place %r1: yes | no       its value is used for addresses alone
 *   undisturbed: yes | no      the load, by writes to shared memory
 *   live: %r1 %r2              registers live at the end of this block, and no others
 *   succ: A B    idom: A | none    ipdom: A | none    loop: 1
 *
 * Tags are looked up in the same function. A file without expectations fails,
 * and so does a word that is not known here. With --loads PATTERN... instead
 * of comments: see check_loads. --built WORD FILE...: are the functions with branches all
 * unoptimised, or all optimised (unoptimised.c)?
 */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TAGS = 64 };

struct tag {
	char name[16];
	struct ptx_stmt *s;
	const struct ptx_func *f;
};

struct run {
	const char *file;
	struct ptx_module *m;
	struct tag tags[MAX_TAGS];
	unsigned ntags, checks, failures;
	struct flow *fl; /* of the statement at hand */
	struct ptx_stmt *s;
};

static void expect(struct run *r, const char *what, const char *want, const char *got)
{
	r->checks++;
	if (!strcmp(want, got))
		return;
	r->failures++;
	fprintf(stderr, "%s:%u: %s: expected '%s', got '%s'\n", r->file, r->s->line, what, want,
		got);
}

static void complain(struct run *r, const char *what, const char *word)
{
	r->failures++;
	fprintf(stderr, "%s:%u: %s '%s'\n", r->file, r->s->line, what, word);
}

/* ---- names ---------------------------------------------------------------------- */

static const char *tag_of(struct run *r, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < r->ntags; i++)
		if (r->tags[i].s == s)
			return r->tags[i].name;
	return "?";
}

/* The tag of some statement of block b. */
static const char *block_tag(struct run *r, uint32_t b)
{
	if (b == UINT32_MAX)
		return "none";
	for (unsigned i = 0; i < r->ntags; i++)
		if (r->tags[i].f == r->fl->f && r->tags[i].s->mark == b)
			return r->tags[i].name;
	return "?";
}

static struct ptx_stmt *find_tag(struct run *r, const char *name)
{
	for (unsigned i = 0; i < r->ntags; i++)
		if (r->tags[i].f == r->fl->f && !strcmp(r->tags[i].name, name))
			return r->tags[i].s;
	return NULL;
}

static uint32_t find_reg(struct run *r, const char *name)
{
	for (uint32_t i = 0; i < r->fl->f->nregs; i++)
		if (ptx_str_is(ptx_reg_name(r->fl->f, i), name))
			return i;
	complain(r, "no register", name);
	return PTX_NO_REG;
}

static void put_reg(struct run *r, struct base_buf *b, uint32_t reg)
{
	struct ptx_str n = ptx_reg_name(r->fl->f, reg);
	base_buf_put(b, n.p, n.n);
}

/* ---- answers as text ---------------------------------------------------------------- */

static void put_demand(struct run *r, const struct flow_demand_info *d, struct base_buf *b)
{
	static const char *const names[] = {"dead", "sure", "select", "maybe"};
	base_buf_puts(b, names[d->demand]);
	if (d->demand == FLOW_DEMAND_SELECT) {
		base_buf_puts(b, d->sense ? " " : " !");
		put_reg(r, b, d->pred);
	}
	for (uint32_t i = 0; i < d->nuses; i++)
		base_buf_printf(b, " %s", tag_of(r, d->uses[i]));
	for (uint32_t i = 0; i < d->nconds; i++) {
		base_buf_printf(b, " %s", tag_of(r, d->conds[i].at));
		if (d->conds[i].tried) {
			base_buf_printf(b, "~%u", d->conds[i].tried);
			continue;
		}
		base_buf_puts(b, d->conds[i].sense ? "=" : "=!");
		put_reg(r, b, d->conds[i].pred);
	}
}

static void put_term(struct base_buf *b, int64_t k, const char *name)
{
	if (k)
		base_buf_printf(b, "%s%lld%s", b->n ? "+" : "", (long long)k, name);
}

static void put_affine(const struct flow_affine *a, struct base_buf *b)
{
	if (!a->known) {
		base_buf_puts(b, "none");
		return;
	}
	put_term(b, a->tid[0], "x");
	put_term(b, a->tid[1], "y");
	put_term(b, a->tid[2], "z");
	if (a->has_unknown)
		base_buf_puts(b, b->n ? "+u" : "u");
	put_term(b, a->c0, "");
	if (!b->n)
		base_buf_puts(b, "0");
}

static void put_live(struct run *r, struct base_buf *b)
{
	const uint64_t *set = flow_live_out(r->fl, r->s->mark);
	for (uint32_t i = 0; i < r->fl->f->nregs; i++)
		if (set[i / 64] >> (i % 64) & 1) {
			base_buf_puts(b, b->n ? " " : "");
			put_reg(r, b, i);
		}
}

/* ---- one expectation ------------------------------------------------------------------ */

/* Puts what flow answers to the question `what` (with its argument) into b. */
static bool answer(struct run *r, const char *what, const char *arg, struct base_buf *b)
{
	static const char *const origins[] = {"unknown", "private", "global",
					      "shared",	 "const",   "not_private"};
	static const char *const aliases[] = {"no", "may", "must"};
	const struct flow_block *bl = &r->fl->blocks[r->s->mark];

	if (!strcmp(what, "demand")) {
		struct flow_demand_info d;
		flow_demand(r->fl, r->s, find_reg(r, arg), &d);
		put_demand(r, &d, b);
	} else if (!strcmp(what, "bytes")) {
		struct flow_bytes d = flow_demand_bytes(r->fl, r->s, find_reg(r, arg));
		base_buf_printf(b, "sure %x maybe %x", d.sure, d.maybe);
	} else if (!strcmp(what, "origin")) {
		base_buf_puts(b, origins[flow_address_origin(r->fl, r->s)]);
	} else if (!strcmp(what, "alias")) {
		struct ptx_stmt *other = find_tag(r, arg);
		if (!other)
			return false;
		base_buf_puts(b, aliases[flow_may_alias(r->fl, other, r->s)]);
	} else if (!strcmp(what, "affine")) {
		struct flow_affine a;
		flow_affine_of(r->fl, r->s, ptx_address(r->s), &a);
		put_affine(&a, b);
	} else if (!strcmp(what, "place")) {
		base_buf_puts(b, flow_is_only_place(r->fl, find_reg(r, arg)) ? "yes" : "no");
	} else if (!strcmp(what, "uniform")) {
		base_buf_puts(b, flow_is_uniform(r->fl, find_reg(r, arg)) ? "yes" : "no");
	} else if (!strcmp(what, "undisturbed")) {
		base_buf_puts(b, flow_is_undisturbed(r->fl, r->s) ? "yes" : "no");
	} else if (!strcmp(what, "waits")) {
		unsigned is =
			flow_find_waits(r->fl, FLOW_WAIT_STRONG | FLOW_WAIT_WEAK | FLOW_WAIT_STORED,
					NULL, NULL, NULL);
		base_buf_puts(b, is & FLOW_WAIT_STRONG	 ? is & FLOW_WAIT_WEAK ? "both" : "strong"
				 : is & FLOW_WAIT_WEAK	 ? "weak"
				 : is & FLOW_WAIT_STORED ? "stored"
							 : "no");
	} else if (!strcmp(what, "live")) {
		put_live(r, b);
	} else if (!strcmp(what, "succ")) {
		for (uint32_t i = 0; i < bl->nsucc; i++)
			base_buf_printf(b, "%s%s", i ? " " : "", block_tag(r, bl->succ[i]));
	} else if (!strcmp(what, "idom")) {
		base_buf_puts(b, block_tag(r, bl->idom));
	} else if (!strcmp(what, "ipdom")) {
		base_buf_puts(b, block_tag(r, bl->ipdom));
	} else if (!strcmp(what, "loop")) {
		base_buf_printf(b, "%u", bl->loop);
	} else {
		return false;
	}
	return true;
}

static char *trim(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	char *e = s + strlen(s);
	while (e > s && (e[-1] == ' ' || e[-1] == '\t' || e[-1] == '\r'))
		*--e = 0;
	return s;
}

static void check_part(struct run *r, char *part)
{
	char title[200];
	char *colon = strchr(part, ':');
	if (!strncmp(part, "tag ", 4))
		return;
	if (!colon) {
		complain(r, "not an expectation:", part);
		return;
	}
	*colon = 0;
	snprintf(title, sizeof(title), "%s", part);
	char *want = trim(colon + 1), *arg = strchr(part, ' ');
	if (arg)
		*arg++ = 0;
	struct base_buf b = {0};
	bool is_known = answer(r, part, arg ? arg : "", &b);
	base_buf_put(&b, "", 1);
	if (is_known)
		expect(r, title, want, b.p);
	else
		complain(r, "not an expectation:", title);
	base_buf_free(&b);
}

static void add_tag(struct run *r, const struct ptx_func *f, struct ptx_stmt *s, const char *part)
{
	if (strncmp(part, "tag ", 4) || r->ntags == MAX_TAGS)
		return;
	struct tag *t = &r->tags[r->ntags++];
	snprintf(t->name, sizeof(t->name), "%s", part + 4);
	t->s = s;
	t->f = f;
}

/* The comment on a line of the source, copied, or NULL. */
static char *comment_on(const struct run *r, uint32_t line)
{
	const char *p = r->m->source.p;
	for (uint32_t i = 1; i < line; i++) {
		p = strchr(p, '\n');
		if (!p)
			return NULL;
		p++;
	}
	const char *end = p + strcspn(p, "\n");
	const char *c = strstr(p, "//");
	return c && c < end ? strndup(c + 2, (size_t)(end - c - 2)) : NULL;
}

static void each_part(struct run *r, struct ptx_func *f, struct ptx_stmt *s, bool is_tag)
{
	char *text = comment_on(r, s->line), *save = NULL;
	for (char *p = text ? strtok_r(text, ";", &save) : NULL; p;
	     p = strtok_r(NULL, ";", &save)) {
		if (is_tag)
			add_tag(r, f, s, trim(p));
		else
			check_part(r, trim(p));
	}
	free(text);
}

static void check_func(struct run *r, struct ptx_func *f)
{
	r->fl = flow_build(r->m->arena, r->m, f);
	ptx_each_stmt(f, s) each_part(r, f, s, true);
	ptx_each_stmt(f, s)
	{
		r->s = s;
		each_part(r, f, s, false);
	}
	r->ntags = 0;
}

/* ---- what nvcc made of a source -------------------------------------------------------- */

/*
 * --loads FILE.cu FILE.ptx: the .cu holds lines "// expect KERNEL: WORD ...". Each word must be
 * the demand of some weak global or shared load of that kernel in the PTX, "never WORD" must not
 * be of any. Registers are left out, as their numbers change with the compiler.
 */
static bool has_demand(struct run *r, struct ptx_func *f, const char *word)
{
	static const char *const names[] = {"dead", "sure", "select", "maybe"};
	r->fl = flow_build(r->m->arena, r->m, f);
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_LD ||
		    s->form->space == PTX_SPACE_PARAM)
			continue;
		const struct ptx_opnd *o = &s->ops[0];
		unsigned n = o->kind == PTX_OPND_VEC ? o->nsub : 1;
		for (unsigned i = 0; i < n; i++) {
			const struct ptx_opnd *e = o->kind == PTX_OPND_VEC ? &o->sub[i] : o;
			struct flow_demand_info d = {.demand = FLOW_DEMAND_DEAD};
			if (e->kind == PTX_OPND_REG)
				flow_demand(r->fl, s, e->reg, &d);
			if (!strcmp(names[d.demand], word))
				return true;
		}
	}
	return false;
}

static void check_kernel(struct run *r, const char *kernel, char *words, unsigned line)
{
	char *save = NULL;
	bool want = true;
	ptx_each_item(r->m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || !ptx_str_is(it->func->name, kernel))
			continue;
		for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
			if (!strcmp(w, "never")) {
				want = false;
				continue;
			}
			r->checks++;
			if (has_demand(r, it->func, w) != want) {
				r->failures++;
				fprintf(stderr, "%s:%u: %s: %s a load that is '%s'\n", r->file,
					line, kernel, want ? "no" : "there is", w);
			}
			want = true;
		}
		return;
	}
	r->failures++;
	fprintf(stderr, "%s:%u: the PTX has no kernel '%s'\n", r->file, line, kernel);
}

static void check_loads(struct run *r, char *source)
{
	char *save = NULL;
	unsigned line = 0;
	for (char *l = strtok_r(source, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(l, ':');
		line++;
		if (strncmp(l, "// expect ", 10) || !colon)
			continue;
		*colon = 0;
		check_kernel(r, l + 10, colon + 1, line);
	}
}

/* ======================================================================================= */

static bool check_file(const char *path, const char *cu)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct run r = {.file = cu ? cu : path};
	char *text = NULL, *source = NULL;
	size_t size, cu_size;

	if (base_read_file(path, &text, &size) || (cu && base_read_file(cu, &source, &cu_size))) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return false;
	}
	r.m = ptx_parse(&arena, path, text, size, &sink);
	base_sink_print(&sink, stderr);
	if (r.m && cu)
		check_loads(&r, source);
	else if (r.m)
		ptx_each_item(r.m, it)
		{
			if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto)
				check_func(&r, it->func);
		}
	bool is_good = r.m && !sink.errors && !r.failures && r.checks;
	if (r.m && !r.checks)
		fprintf(stderr, "%s: nothing was checked\n", path);
	printf("%s: %u checked, %u failed\n", path, r.checks, r.failures);
	base_sink_free(&sink);
	base_arena_free(&arena);
	free(text);
	free(source);
	return is_good;
}

static bool has_branch(const struct ptx_func *f)
{
	ptx_each_stmt(f, s) if (s->kind == PTX_STMT_INST && s->form->op == PTX_OP_BRA) return true;
	return false;
}

static bool check_built(const char *path, bool want)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	char *text = NULL;
	size_t size;
	unsigned failures = 0, checks = 0;

	if (base_read_file(path, &text, &size)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return false;
	}
	struct ptx_module *m = ptx_parse(&arena, path, text, size, &sink);
	base_sink_print(&sink, stderr);
	if (m)
		ptx_each_item(m, it)
		{
			if (it->kind != PTX_ITEM_FUNC || it->func->is_proto ||
			    !has_branch(it->func))
				continue;
			checks++;
			if (flow_is_unoptimised(flow_build(&arena, m, it->func)) == want)
				continue;
			failures++;
			fprintf(stderr, "%s: %.*s counts as %soptimised\n", path,
				(int)it->func->name.n, it->func->name.p, want ? "" : "un");
		}
	if (!checks)
		fprintf(stderr, "%s: no function has a branch\n", path);
	base_sink_free(&sink);
	base_arena_free(&arena);
	free(text);
	return m && checks && !failures;
}

int main(int argc, char **argv)
{
	bool is_good = argc > 1;
	if (argc > 3 && !strcmp(argv[1], "--built")) {
		for (int i = 3; i < argc; i++)
			is_good &= check_built(argv[i], !strcmp(argv[2], "unoptimised"));
		return is_good ? 0 : 1;
	}
	if (argc == 4 && !strcmp(argv[1], "--loads"))
		return check_file(argv[3], argv[2]) ? 0 : 1;
	for (int i = 1; i < argc; i++)
		is_good &= check_file(argv[i], NULL);
	return is_good ? 0 : 1;
}
