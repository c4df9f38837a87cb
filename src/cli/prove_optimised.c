/*
 * prove_optimised.c - kernels that aren't proven as they are written, but as nvcc optimises them.
 *
 * The optimised text is often simpler: what was a call through a pointer, a value in the thread's
 * own memory or a branch of a template is gone. But the optimiser also leaves out accesses that
 * race: loads whose value isn't needed, stores to what is never read, the rest of a bit-field. So
 * its proof is taken only where each access of the alarms is still there; pairs that were proven
 * before are proven anyway. Of a kernel that couldn't be analysed, or whose alarms stand for
 * others, each access of the program's own code must be there, other than those to the thread's own
 * memory, and each barrier.
 *
 * A line may have several accesses, and one that is left out in one copy of a loop's body is
 * there in another. So what copies and moves accesses is switched off, and they are counted: by
 * line, kind and size, each as often as the calls on the way to it. The counts must be equal. A
 * load through a choice between two pointers becomes a choice between two loads: those count as
 * one.
 *
 * An alarm that is potential as written and true as optimised is true, if both sides store: the
 * optimiser invents reads, but no stores.
 */
#include "cli/prove.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* Accesses of one line, kind (bits by enum race_op_kind; 0: barriers) and size: how many calls of
 * the kernel's and its callees lead to one. */
struct access_count {
	struct ptx_str file;
	uint32_t line, kinds, bytes, n;
};

struct access_counts {
	BASE_VEC(struct access_count) list;
	uint32_t visits; /* of functions */
	bool is_unsure;	 /* recursion, or too many calls */
};

#define MAX_DEPTH  32
#define MAX_VISITS 4096

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

static bool is_own_copy(const struct ptx_stmt *s, const bool *is_own)
{
	if (s->form->op != PTX_OP_MOV && s->form->op != PTX_OP_ADD && s->form->op != PTX_OP_CVTA)
		return false;
	for (unsigned i = 1; i < s->nops; i++) {
		const struct ptx_opnd *o = &s->ops[i];
		if ((o->kind == PTX_OPND_REG && is_own[o->reg]) ||
		    (o->flags & PTX_OPND_VAR && o->var->space == PTX_SPACE_LOCAL))
			return true;
	}
	return false;
}

/* A function's registers with nothing but addresses of the thread's own memory, as unoptimised text
 * makes them. */
static bool *find_own(const struct ptx_func *f)
{
	bool *is_own = base_calloc(f->nregs + 1, sizeof(*is_own)), changes = true;

	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && s->nops && s->ops[0].kind == PTX_OPND_REG)
			is_own[s->ops[0].reg] |= is_own_copy(s, is_own);
	}
	while (changes) {
		changes = false;
		ptx_each_stmt(f, s)
		{
			if (s->kind != PTX_STMT_INST || !s->nops ||
			    s->ops[0].kind != PTX_OPND_REG || !is_own[s->ops[0].reg] ||
			    is_own_copy(s, is_own))
				continue;
			is_own[s->ops[0].reg] = false;
			changes = true;
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

static bool is_load(const struct ptx_stmt *s)
{
	return s && kinds_of(s) == 1u << RACE_OP_READ && s->nops && s->ops[0].kind == PTX_OPND_REG;
}

static bool is_alike(const struct ptx_stmt *a, const struct ptx_stmt *b)
{
	const struct ptx_loc *x = ptx_near_loc(a), *y = ptx_near_loc(b);

	return x && y && x->file == y->file && x->line == y->line &&
	       a->form->width == b->form->width;
}

/* By register of a function: is it what a load gave, or else another load of the line? */
static bool *find_chosen(const struct ptx_func *f)
{
	bool *is_chosen = base_calloc(f->nregs + 1, sizeof(*is_chosen));
	const struct ptx_stmt **by = base_calloc(f->nregs + 1, sizeof(struct ptx_stmt *));

	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && is_load(s))
			by[s->ops[0].reg] = s;
	}
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_SELP ||
		    s->ops[1].kind != PTX_OPND_REG || s->ops[2].kind != PTX_OPND_REG)
			continue;
		const struct ptx_stmt *x = by[s->ops[1].reg], *y = by[s->ops[2].reg];
		if (x && y && x != y && is_alike(x, y))
			is_chosen[s->ops[1].reg] = true;
	}
	free(by);
	return is_chosen;
}

static void count_one(struct access_counts *out, struct access_count c)
{
	for (size_t i = 0; i < out->list.n; i++) {
		struct access_count *o = &out->list.v[i];
		if (o->line == c.line && o->kinds == c.kinds && o->bytes == c.bytes &&
		    ptx_str_eq(o->file, c.file)) {
			o->n++;
			return;
		}
	}
	base_vec_push(&out->list, c);
}

static bool names(const struct ptx_stmt *s, struct ptx_str name)
{
	for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++)
		if (s->ops[i].kind == PTX_OPND_SYM && ptx_str_eq(s->ops[i].text, name))
			return true;
	return false;
}

/* May a pointer lead to the function? Something else than a call names it, or no call does. */
static bool may_be_pointed_to(const struct ptx_module *m, const struct ptx_func *f)
{
	bool is_called = false;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (!names(s, f->name))
				continue;
			if (s->form->op != PTX_OP_CALL)
				return true;
			is_called = true;
		}
	}
	return !is_called;
}

static void count_func(const struct ptx_module *m, const struct ptx_func *f, unsigned depth,
		       struct access_counts *out);

/* What a call leads to: the function that it names, or each that a pointer may lead to. */
static void count_call(const struct ptx_module *m, const struct ptx_stmt *call, unsigned depth,
		       struct access_counts *out)
{
	bool is_named = false;

	for (unsigned pass = 0; pass < 2 && !is_named; pass++)
		ptx_each_item(m, it)
		{
			if (it->kind != PTX_ITEM_FUNC || it->func->is_entry)
				continue;
			is_named |= !pass && names(call, it->func->name);
			if (!it->func->is_proto &&
			    (pass ? may_be_pointed_to(m, it->func) : names(call, it->func->name)))
				count_func(m, it->func, depth + 1, out);
		}
}

static void count_func(const struct ptx_module *m, const struct ptx_func *f, unsigned depth,
		       struct access_counts *out)
{
	if (depth > MAX_DEPTH || ++out->visits > MAX_VISITS) {
		out->is_unsure = true;
		return;
	}
	bool *is_own = find_own(f), *is_chosen = find_chosen(f);
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || out->is_unsure)
			continue;
		if (s->form->op == PTX_OP_CALL)
			count_call(m, s, depth, out);
		uint32_t kinds = kinds_of(s);
		const struct ptx_loc *at =
			kinds || s->form->effects & PTX_EFF_BARRIER ? ptx_near_loc(s) : NULL;
		if (!at || is_to_own(s, is_own) || (is_load(s) && is_chosen[s->ops[0].reg]))
			continue;
		count_one(out, (struct access_count){.file = ptx_file_name(m, at->file),
						     .line = at->line,
						     .kinds = kinds,
						     .bytes = (uint32_t)s->form->width *
							      (s->form->vec ? s->form->vec : 1u),
						     .n = 1});
	}
	free(is_own);
	free(is_chosen);
}

/* Accesses to memory that threads share, and barriers, of a kernel and of what it may call. */
static void count_kernel(const struct ptx_module *m, const char *kernel, struct access_counts *out)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry &&
		    ptx_str_is(it->func->name, kernel))
			count_func(m, it->func, 0, out);
	}
}

static uint32_t count_of(const struct access_counts *counts, const struct access_count *like)
{
	for (size_t i = 0; i < counts->list.n; i++) {
		const struct access_count *c = &counts->list.v[i];
		if (c->line == like->line && c->kinds == like->kinds && c->bytes == like->bytes &&
		    ptx_str_eq(c->file, like->file))
			return c->n;
	}
	return 0;
}

/* Has a line the same accesses of a kind in both texts, and any? */
static bool keeps_side(const struct race_alarm_side *s, const struct access_counts counts[2])
{
	struct ptx_str file = {s->file, (uint32_t)strlen(s->file)};
	bool is_there = false;

	for (unsigned n = 0; n < 2; n++)
		for (size_t i = 0; i < counts[n].list.n; i++) {
			const struct access_count *c = &counts[n].list.v[i];
			if (c->line != s->line || !(c->kinds & 1u << s->kind) ||
			    !ptx_str_eq(c->file, file))
				continue;
			if (count_of(&counts[!n], c) != c->n)
				return false;
			is_there = true;
		}
	return is_there;
}

/* Is each access of its alarms in the optimised text, too? */
static bool keeps_alarms(const struct race_proof *k, const struct access_counts counts[2])
{
	for (size_t i = 0; i < k->alarms.n; i++)
		for (unsigned n = 0; n < 2; n++)
			if (!keeps_side(&k->alarms.v[i].side[n], counts))
				return false;
	return true;
}

/* Is each access of the program's own code? */
static bool keeps_all(const struct access_counts counts[2])
{
	struct base_arena tmp = {0};
	bool keeps = true;

	for (size_t i = 0; i < counts[0].list.n && keeps; i++) {
		const struct access_count *c = &counts[0].list.v[i];
		keeps = race_library(base_strndup(&tmp, c->file.p, c->file.n)) ||
			count_of(&counts[1], c) == c->n;
	}
	base_arena_free(&tmp);
	return keeps;
}

/* Do its alarms name all pairs that are open? */
static bool has_all_alarms(const struct race_proof *k)
{
	bool has = k->verdict == RACE_VERDICT_POTENTIAL && !k->problems.n &&
		   k->alarms.n < RACE_PROOF_ALARMS;

	for (size_t i = 0; i < k->alarms.n; i++)
		has &= k->alarms.v[i].stands_for == 1;
	return has;
}

static bool may_be_taken(const struct race_proof *k, struct ptx_module *const m[2])
{
	struct access_counts counts[2] = {{.visits = 0}};

	for (unsigned i = 0; i < 2; i++)
		count_kernel(m[i], k->name, &counts[i]);
	bool may = !counts[0].is_unsure && !counts[1].is_unsure &&
		   (has_all_alarms(k) ? keeps_alarms(k, counts) : keeps_all(counts));
	for (unsigned i = 0; i < 2; i++)
		base_vec_free(&counts[i].list);
	return may;
}

static bool has_line(const struct race_proof *k, const char *line)
{
	for (size_t i = 0; i < k->contract.n; i++)
		if (!strcmp(k->contract.v[i], line))
			return true;
	return false;
}

/* The result takes the place of the other, which is kept where it was. Pairs of accesses that are
 * left out of the optimised text were proven before, within the other's contract. */
static void take_proof(struct race_proofs *r, struct race_proof *k, struct race_proof *p)
{
	struct race_proof was = *k;

	*k = *p;
	k->ms += was.ms;
	*p = was;
	for (size_t i = 0; i < was.contract.n; i++)
		if (!has_line(k, was.contract.v[i]))
			base_vec_push(&k->contract, was.contract.v[i]);
	base_vec_push(&k->contract,
		      base_strdup(&r->arena, "as written it isn't proven, but as nvcc "
					     "optimises it, with the same accesses"));
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
		 struct ptx_module *const m[2], bool may_prove)
{
	for (size_t i = 0; i < more->kernels.n; i++) {
		struct race_proof *p = &more->kernels.v[i];
		if (strcmp(p->name, k->name) != 0)
			continue;
		if (p->verdict == RACE_VERDICT_TRUE)
			take_alarms(k, p);
		else if (p->verdict == RACE_VERDICT_FREE && may_prove && may_be_taken(k, m))
			take_proof(r, k, p);
		return;
	}
}

void prove_take_optimised(const char *from, const struct prove_source_text text[2], bool may_prove,
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
			take(r, &r->kernels.v[i], more, m, may_prove);
	r->also = more;
	base_sink_free(&sink);
	base_arena_free(&arena);
}
