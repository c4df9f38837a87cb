/*
 * prune.c - accesses that are proven race-free (instrument.h), and for which launches.
 *
 * The list comes with the options; an access is found by its line in the PTX, which is the one that
 * was analysed. What is proven for any launch has no check. What is proven within a contract keeps
 * its check behind a branch: the contract is evaluated at the kernel's entry into one predicate,
 * the same in all threads of the grid, so that a launch outside of it is checked as any other.
 *
 * With --prune=proved-alone a detector that judges pairs of launches keeps the checks of global
 * memory behind that branch, too, and its predicate is false where another kernel runs.
 *
 * Costs: a predicate register, a branch per group, some instructions at the entry.
 */
#include "instrument/internal.h"
#include "instrument/templates.h"
#include "instrument/launches.h"

const struct inst_prune *inst_prunes_of(const struct inst_ctx *cx)
{
	for (size_t i = 0; i < cx->opt->nprunes && cx->f->is_entry; i++)
		if (ptx_str_is(cx->f->name, cx->opt->prunes[i].kernel))
			return &cx->opt->prunes[i];
	return NULL;
}

static enum race_unchecked_why why_of(const struct inst_ctx *cx, const struct inst_prune_site *x)
{
	if (x->is_shared)
		return x->is_conditional ? RACE_WHY_PROVEN_WITHIN : RACE_WHY_PROVEN;
	return cx->opt->prune_alone ? RACE_WHY_PROVEN_ALONE : RACE_WHY_PROVEN_GLOBAL;
}

enum inst_pruned inst_prune_of(struct inst_ctx *cx, const struct ptx_stmt *s, enum inst_sees sees)
{
	const struct inst_prune *k = inst_prunes_of(cx);

	for (size_t i = 0; k && i < k->sites.n; i++) {
		const struct inst_prune_site *x = &k->sites.v[i];
		bool is_alone = !x->is_shared && cx->opt->prune_alone;
		if (x->ptx_line != s->line)
			continue;
		if (is_alone && sees == INST_SEES_ALL)
			break;
		cx->stats->pruned++;
		inst_unchecked(cx,
			       x->is_shared ? PTX_STR("access to shared memory")
					    : PTX_STR("access to global memory"),
			       why_of(cx, x), true);
		return x->is_conditional || (is_alone && sees == INST_SEES_OVERLAP)
			       ? INST_PRUNED_WITHIN
			       : INST_PRUNED_ALWAYS;
	}
	return INST_PRUNED_NOT;
}

void inst_put_pruned(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		     const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->prune_ts, name, ntexts, texts), cx->f, at, NULL, nholes,
		 holes);
}

/* The name of parameter i, if it is a scalar of 32 bits; or none. */
static struct ptx_str scalar_name(const struct ptx_func *f, uint64_t i)
{
	const struct ptx_param *p = f->params;

	for (; p && i; i--)
		p = p->next;
	return p && p->bytes == 4 && ptx_type_bytes((enum ptx_type)p->type) == 4 ? p->name
										 : PTX_STR("");
}

static struct ptx_str dim_name(const struct inst_prune_number *x)
{
	return x->n < 3 ? PTX_STR("ntid") : PTX_STR("nctaid");
}

static struct ptx_str dim_axis(const struct inst_prune_number *x)
{
	static const char axes[][2] = {"x", "y", "z"};

	return (struct ptx_str){axes[x->n % 3], 1};
}

static struct ptx_opnd number(struct inst_ctx *cx, const struct inst_prune_number *x,
			      struct ptx_opnd ok, struct ptx_stmt *at)
{
	struct ptx_opnd v = inst_fresh(cx, PTX_TYPE_B64);
	struct ptx_str name;

	switch (x->kind) {
	case INST_PRUNE_CONST:
		inst_put_pruned(cx, at, "within_const", T(inst_num((int64_t)x->n)), H(v));
		break;
	case INST_PRUNE_DIM:
		inst_put_pruned(cx, at, "within_dim", T(dim_name(x), dim_axis(x)), H(v));
		break;
	case INST_PRUNE_PARAM:
		name = scalar_name(cx->f, x->n);
		if (name.n) {
			inst_put_pruned(cx, at, "within_param", T(name), H(v, ok));
		} else {
			inst_put_pruned(cx, at, "never", NT, H(ok));
			inst_put_pruned(cx, at, "within_const", T(inst_num(1)), H(v));
		}
		break;
	}
	return v;
}

static struct ptx_opnd side(struct inst_ctx *cx, const struct inst_prune_number *a,
			    const struct inst_prune_number *b, bool is_rem, struct ptx_opnd ok,
			    struct ptx_stmt *at)
{
	struct ptx_opnd x = number(cx, a, ok, at);

	if (b->kind == INST_PRUNE_CONST && b->n == 1 && !is_rem)
		return x;
	struct ptx_opnd y = number(cx, b, ok, at), v = inst_fresh(cx, PTX_TYPE_B64);
	inst_put_pruned(cx, at, is_rem ? "within_rem" : "within_times", NT, H(v, x, y));
	return v;
}

static bool is_dim(const struct inst_prune_number *n, unsigned axis)
{
	return n->kind == INST_PRUNE_DIM && n->n % 3 == axis;
}

/* Does CUDA accept no launch without it? In y and z a grid has at most 65,535 blocks. */
static bool is_always(const struct inst_prune_term *t)
{
	bool is_product =
		(is_dim(&t->a, 1) && is_dim(&t->b, 1)) || (is_dim(&t->a, 2) && is_dim(&t->b, 2));

	return is_product && !t->is_rem && t->cmp == INST_PRUNE_LE && t->a.n != t->b.n &&
	       t->c.kind == INST_PRUNE_CONST && t->d.kind == INST_PRUNE_CONST && t->d.n &&
	       t->c.n >= 65535u * 1024u;
}

/* A number that 32 bits hold, without sign. */
static bool is_short(const struct inst_prune_number *n)
{
	return n->kind == INST_PRUNE_DIM || (n->kind == INST_PRUNE_CONST && n->n <= UINT32_MAX);
}

static bool is_one(const struct inst_prune_number *n)
{
	return n->kind == INST_PRUNE_CONST && n->n == 1;
}

/* A dimension and a constant, say, are compared as they are: half the instructions. */
static bool is_short_test(const struct inst_prune_term *t)
{
	return !t->is_rem && is_one(&t->b) && is_one(&t->d) && is_short(&t->a) && is_short(&t->c);
}

static struct ptx_opnd short_number(struct inst_ctx *cx, const struct inst_prune_number *x,
				    struct ptx_stmt *at)
{
	struct ptx_opnd v = inst_fresh(cx, PTX_TYPE_B32);

	if (x->kind == INST_PRUNE_CONST)
		inst_put_pruned(cx, at, "within_short", T(inst_num((int64_t)x->n)), H(v));
	else
		inst_put_pruned(cx, at, "within_short_dim", T(dim_name(x), dim_axis(x)), H(v));
	return v;
}

bool inst_read_prune(struct inst_ctx *cx)
{
	cx->prune_ts = ptx_templates_read(cx->m, inst_prune_templates, cx->sink);
	return cx->prune_ts != NULL;
}

struct ptx_label *inst_skip_within(struct inst_ctx *cx, struct ptx_stmt *at)
{
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);

	inst_put_skip_within(cx, at, over);
	return over;
}

void inst_put_skip_within(struct inst_ctx *cx, struct ptx_stmt *at, struct ptx_label *to)
{
	inst_put_pruned(cx, at, "within_skip", NT, H(inst_reg(cx, cx->within), ptx_opnd_label(to)));
}

uint32_t inst_put_within(struct inst_ctx *cx, struct ptx_stmt *top)
{
	static const char cmps[INST_PRUNE_CMPS][3] = {"eq", "ne", "lt", "le", "gt", "ge"};
	const struct inst_prune *k = inst_prunes_of(cx);
	struct ptx_opnd ok = inst_fresh(cx, PTX_TYPE_PRED);

	inst_put_pruned(cx, top, "within_begin", NT, H(ok));
	for (uint32_t i = 0; i < k->nterms; i++) {
		const struct inst_prune_term *t = &k->term[i];
		if (is_always(t))
			continue;
		if (is_short_test(t)) {
			struct ptx_opnd a = short_number(cx, &t->a, top);
			struct ptx_opnd c = short_number(cx, &t->c, top);
			inst_put_pruned(cx, top, "within_test",
					T((struct ptx_str){cmps[t->cmp], 2}, PTX_STR("32")),
					H(ok, a, c));
			continue;
		}
		struct ptx_opnd x = side(cx, &t->a, &t->b, t->is_rem, ok, top);
		struct ptx_opnd y = side(cx, &t->c, &t->d, false, ok, top);
		inst_put_pruned(cx, top, "within_test",
				T((struct ptx_str){cmps[t->cmp], 2}, PTX_STR("64")), H(ok, x, y));
	}
	return ok.reg;
}
