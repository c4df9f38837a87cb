/*
 * prove_optimised.c - kernels that aren't proven as they are written, but as nvcc optimises them.
 *
 * The text that runs is the optimised one, and it is often simpler: what was a call through a
 * pointer, a value in the thread's own memory or a branch of a template is gone. But the optimiser
 * also leaves out accesses that race. So its proof is taken only where each access of the alarms is
 * still there, by its line and what it does; pairs that were proven before are proven anyway. Of a
 * kernel that couldn't be analysed each access of the program's own code must be there, other than
 * those to the thread's own memory.
 *
 * An alarm that is potential as written and true as optimised is true, if both sides store: the
 * optimiser invents reads, but no stores.
 */
#include "cli/prove.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* A line with accesses, and of which kinds: bits by enum race_op_kind. */
struct access_line {
	struct ptx_str file;
	uint32_t line, kinds;
};

struct access_lines {
	BASE_VEC(struct access_line) list;
};

static bool is_open(const struct race_proof *k)
{
	return k->verdict == RACE_VERDICT_POTENTIAL || k->verdict == RACE_VERDICT_UNPROVEN;
}

bool prove_wants_optimised(const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		if (is_open(&r->kernels.v[i]))
			return true;
	return false;
}

static uint32_t kinds_of(const struct ptx_stmt *s)
{
	uint32_t e = s->form->effects;

	return (e & PTX_EFF_READ ? 1u << RACE_OP_READ : 0) |
	       (e & PTX_EFF_WRITE ? 1u << RACE_OP_WRITE : 0) |
	       (e & PTX_EFF_ATOMIC ? 1u << RACE_OP_RMW : 0);
}

/* A function's registers with addresses of the thread's own memory, as unoptimised text makes
 * them. */
static bool *find_own(const struct ptx_func *f)
{
	bool *is_own = base_calloc(f->nregs + 1, sizeof(*is_own));

	ptx_each_stmt(f, s)
	{
		bool is_copy = s->kind == PTX_STMT_INST &&
			       (s->form->op == PTX_OP_MOV || s->form->op == PTX_OP_ADD ||
				s->form->op == PTX_OP_CVTA);
		if (!is_copy || !s->nops || s->ops[0].kind != PTX_OPND_REG)
			continue;
		for (unsigned i = 1; i < s->nops; i++) {
			const struct ptx_opnd *o = &s->ops[i];
			if ((o->kind == PTX_OPND_REG && is_own[o->reg]) ||
			    (o->flags & PTX_OPND_VAR && o->var->space == PTX_SPACE_LOCAL))
				is_own[s->ops[0].reg] = true;
		}
	}
	return is_own;
}

static bool is_to_own(const struct ptx_stmt *s, const bool *is_own)
{
	if (s->form->space == PTX_SPACE_LOCAL || s->form->space == PTX_SPACE_PARAM)
		return true;
	for (unsigned i = 0; i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_ADDR && s->ops[i].sub[0].kind == PTX_OPND_REG)
			return is_own[s->ops[i].sub[0].reg];
	return false;
}

/* The lines of a kernel and of what it may call with accesses to memory that threads share. */
static void find_lines(const struct ptx_module *m, const char *kernel, struct access_lines *out)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC ||
		    (it->func->is_entry && !ptx_str_is(it->func->name, kernel)))
			continue;
		bool *is_own = find_own(it->func);
		ptx_each_stmt(it->func, s)
		{
			uint32_t kinds = s->kind == PTX_STMT_INST ? kinds_of(s) : 0;
			const struct ptx_loc *at = kinds ? ptx_near_loc(s) : NULL;
			if (!at || is_to_own(s, is_own))
				continue;
			struct access_line l = {ptx_file_name(m, at->file), at->line, kinds};
			base_vec_push(&out->list, l);
		}
		free(is_own);
	}
}

static bool has_line(const struct access_lines *lines, struct ptx_str file, uint32_t line,
		     uint32_t kinds)
{
	uint32_t found = 0;

	for (size_t i = 0; i < lines->list.n; i++)
		if (lines->list.v[i].line == line && ptx_str_eq(lines->list.v[i].file, file))
			found |= lines->list.v[i].kinds;
	return !(kinds & ~found);
}

/* Is each access of its alarms in the optimised text, too? */
static bool keeps_alarms(const struct race_proof *k, const struct access_lines *optimised)
{
	for (size_t i = 0; i < k->alarms.n; i++)
		for (unsigned n = 0; n < 2; n++) {
			const struct race_alarm_side *s = &k->alarms.v[i].side[n];
			struct ptx_str file = {s->file, (uint32_t)strlen(s->file)};
			if (!has_line(optimised, file, s->line, 1u << s->kind))
				return false;
		}
	return true;
}

/* Is each access of the program's own code? */
static bool keeps_all(const struct race_proof *k, const struct ptx_module *written,
		      const struct access_lines *optimised)
{
	struct access_lines lines = {0};
	struct base_arena tmp = {0};
	bool keeps = true;

	find_lines(written, k->name, &lines);
	for (size_t i = 0; i < lines.list.n && keeps; i++) {
		const struct access_line *l = &lines.list.v[i];
		keeps = race_library(base_strndup(&tmp, l->file.p, l->file.n)) ||
			has_line(optimised, l->file, l->line, l->kinds);
	}
	base_vec_free(&lines.list);
	base_arena_free(&tmp);
	return keeps;
}

static bool may_be_taken(const struct race_proof *k, const struct ptx_module *written,
			 const struct ptx_module *optimised)
{
	struct access_lines lines = {0};

	find_lines(optimised, k->name, &lines);
	bool may = k->verdict == RACE_VERDICT_POTENTIAL ? keeps_alarms(k, &lines)
							: keeps_all(k, written, &lines);
	base_vec_free(&lines.list);
	return may;
}

/* The result takes the place of the other, which is kept where it was. */
static void take_proof(struct race_proofs *r, struct race_proof *k, struct race_proof *p)
{
	struct race_proof was = *k;

	*k = *p;
	k->ms += was.ms;
	*p = was;
	base_vec_push(&k->contract, base_strdup(&r->arena, "what runs is the text that nvcc "
							   "optimises: as it is written it wasn't "
							   "proven"));
}

static bool is_same_side(const struct race_alarm_side *a, const struct race_alarm_side *b)
{
	return a->line == b->line && a->kind == b->kind && !strcmp(a->file, b->file);
}

static bool is_same_pair(const struct race_alarm *a, const struct race_alarm *b)
{
	for (unsigned n = 0; n < 2; n++)
		if (is_same_side(&a->side[0], &b->side[n]) &&
		    is_same_side(&a->side[1], &b->side[!n]))
			return true;
	return false;
}

/* Its true alarms of stores take the place of the potential ones of the same lines. */
static void take_alarms(struct race_proof *k, const struct race_proof *p)
{
	for (size_t i = 0; i < p->alarms.n; i++) {
		const struct race_alarm *x = &p->alarms.v[i];
		if (!x->is_true || x->side[0].kind == RACE_OP_READ ||
		    x->side[1].kind == RACE_OP_READ)
			continue;
		for (size_t n = 0; n < k->alarms.n; n++) {
			if (!is_same_pair(&k->alarms.v[n], x))
				continue;
			k->alarms.v[n] = *x;
			k->verdict = RACE_VERDICT_TRUE;
			break;
		}
	}
}

static void take(struct race_proofs *r, struct race_proof *k, struct race_proofs *more,
		 struct ptx_module *const m[2])
{
	for (size_t i = 0; i < more->kernels.n; i++) {
		struct race_proof *p = &more->kernels.v[i];
		if (strcmp(p->name, k->name) != 0)
			continue;
		if (p->verdict == RACE_VERDICT_TRUE)
			take_alarms(k, p);
		else if (p->verdict == RACE_VERDICT_FREE && may_be_taken(k, m[0], m[1]))
			take_proof(r, k, p);
		return;
	}
}

void prove_take_optimised(const char *from, const struct prove_source_text text[2],
			  const struct prove_options *options, struct race_proofs *r)
{
	struct prove_options o = *options;
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct race_proofs *more = BASE_NEW(&r->arena, struct race_proofs);
	const char **only = BASE_NEWN(&arena, const char *, r->kernels.n);
	struct ptx_module *m[2];
	bool is_read = true;

	for (unsigned i = 0; i < 2; i++) {
		m[i] = ptx_parse(&arena, from, text[i].text, text[i].size, &sink);
		is_read &= m[i] && !sink.errors;
	}
	o.nonly = 0;
	o.only = only;
	for (size_t i = 0; i < r->kernels.n; i++)
		if (is_open(&r->kernels.v[i]))
			only[o.nonly++] = r->kernels.v[i].name;
	o.named = m[0];
	o.cache_key = base_hash(text[0].text, text[0].size, o.cache_key);
	o.wants_remedies = false;
	o.timeout_ms /= PROVE_OPTIMISED_SHARE;
	if (is_read)
		is_read = !prove_text(from, text[1].text, text[1].size, &o, more, &sink);
	for (size_t i = 0; i < r->kernels.n && is_read; i++)
		if (is_open(&r->kernels.v[i]))
			take(r, &r->kernels.v[i], more, m);
	r->also = more;
	base_sink_free(&sink);
	base_arena_free(&arena);
}
