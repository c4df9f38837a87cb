/*
 * defuse.c - which statements write and which read each register.
 *
 * One walk over the body notes every (register, statement) pair; a counting
 * sort turns the notes into two flat lists cut by register (CSR), in text
 * order, each statement once. A guarded write is a write like any other here;
 * a caller that must distinguish them looks at the statement's guard.
 *
 * Reads by statements that a pass has inserted are in a list of their own: another pass's question
 * about a value is whether the program uses it.
 *
 * Costs: one walk and 24 bytes per pair, whatever the number of registers.
 */
#include "flow/priv.h"

#include <stdlib.h>
#include <string.h>

struct note {
	uint32_t reg, at;
};

enum { READ, WRITE, READ_BY_US, LISTS };

struct notes {
	BASE_VEC(struct note) list[LISTS];
	uint32_t at, nregs;
	int read; /* which list reads go to */
};

static void take_note(uint32_t reg, bool is_write, void *arg)
{
	struct notes *ns = arg;
	if (reg >= ns->nregs)
		return;
	struct note nt = {reg, ns->at};
	base_vec_push(&ns->list[is_write ? WRITE : ns->read], nt);
}

/* Sorts notes into (off, stmts, places); a register twice in a statement counts once. */
static void sort_notes(struct flow *fl, const struct note *v, size_t n, uint32_t **off_out,
		       struct ptx_stmt ***stmts, uint32_t **places)
{
	struct flow_priv *pr = fl->priv;
	uint32_t nr = pr->nregs;
	uint32_t *off = BASE_NEWN(fl->arena, uint32_t, nr + 2u);
	uint32_t *last = base_malloc(sizeof(*last) * (nr + 1u));

	memset(last, 0xff, sizeof(*last) * (nr + 1u));
	for (size_t i = 0; i < n; i++) {
		off[v[i].reg + 2] += last[v[i].reg] != v[i].at;
		last[v[i].reg] = v[i].at;
	}
	for (uint32_t r = 2; r <= nr + 1; r++)
		off[r] += off[r - 1];
	*stmts = base_alloc(fl->arena, sizeof(**stmts) * (off[nr + 1] + 1u));
	*places = base_alloc(fl->arena, sizeof(**places) * (off[nr + 1] + 1u));
	memset(last, 0xff, sizeof(*last) * (nr + 1u));
	for (size_t i = 0; i < n; i++) {
		if (last[v[i].reg] == v[i].at)
			continue;
		last[v[i].reg] = v[i].at;
		uint32_t k = off[v[i].reg + 1]++; /* off[r + 1] ends as the start of r + 1 */
		(*stmts)[k] = pr->stmt[v[i].at];
		(*places)[k] = v[i].at;
	}
	*off_out = off;
	free(last);
}

static void note_params(struct flow *fl, const struct ptx_param *p)
{
	for (; p; p = p->next)
		if (p->reg < fl->priv->nregs)
			fl->priv->is_param[p->reg] = true;
}

void flow_need_defuse(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	struct notes ns = {.nregs = pr->nregs};

	if (pr->has_defuse)
		return;
	pr->has_defuse = true;
	base_vec_reserve(&ns.list[READ], 2 * (size_t)pr->nstmts + 16);
	base_vec_reserve(&ns.list[WRITE], (size_t)pr->nstmts + 16);
	for (ns.at = 0; ns.at < pr->nstmts; ns.at++) {
		if (pr->stmt[ns.at]->kind != PTX_STMT_INST)
			continue;
		ns.read = pr->stmt[ns.at]->inserted ? READ_BY_US : READ;
		ptx_each_reg(pr->stmt[ns.at], take_note, &ns);
	}
	sort_notes(fl, ns.list[READ].v, ns.list[READ].n, &pr->use_off, &pr->use, &pr->use_at);
	sort_notes(fl, ns.list[WRITE].v, ns.list[WRITE].n, &pr->def_off, &pr->def, &pr->def_at);
	sort_notes(fl, ns.list[READ_BY_US].v, ns.list[READ_BY_US].n, &pr->our_off, &pr->our_use,
		   &pr->our_at);
	for (int i = 0; i < LISTS; i++)
		base_vec_free(&ns.list[i]);
	pr->is_param = BASE_NEWN(fl->arena, bool, pr->nregs + 1u);
	note_params(fl, fl->f->params);
}

uint32_t flow_lower(const uint32_t *places, uint32_t lo, uint32_t hi, uint32_t p)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (places[mid] < p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t flow_def_of(struct flow *fl, const struct ptx_stmt *s, uint32_t reg)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;
	if (reg >= pr->nregs)
		return FLOW_NONE;
	uint32_t lo = pr->def_off[reg], hi = pr->def_off[reg + 1];
	if (hi - lo > 8) {
		uint32_t k = flow_lower(pr->def_at, lo, hi, flow_place(fl, s));
		return k < hi && pr->def[k] == s ? k : FLOW_NONE;
	}
	for (uint32_t k = lo; k < hi; k++)
		if (pr->def[k] == s)
			return k;
	return FLOW_NONE;
}

struct ptx_stmt *flow_single_def(struct flow *fl, uint32_t reg)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;
	if (reg >= pr->nregs || pr->is_param[reg] || pr->def_off[reg + 1] - pr->def_off[reg] != 1)
		return NULL;
	struct ptx_stmt *s = pr->def[pr->def_off[reg]];
	return s->pred == PTX_NO_REG ? s : NULL;
}

bool flow_def_dominates(struct flow *fl, const struct ptx_stmt *def, const struct ptx_stmt *at)
{
	if (def->mark == at->mark)
		return flow_place(fl, def) < flow_place(fl, at);
	return flow_dominates(fl, def->mark, at->mark);
}

bool flow_is_pure(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->form->effects;
}

/* ======================================================================== */

struct ptx_stmt *const *flow_defs(struct flow *fl, uint32_t reg, uint32_t *n)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;
	*n = 0;
	if (reg >= pr->nregs)
		return pr->def;
	*n = pr->def_off[reg + 1] - pr->def_off[reg];
	return pr->def + pr->def_off[reg];
}

struct ptx_stmt *const *flow_uses(struct flow *fl, uint32_t reg, uint32_t *n)
{
	flow_need_defuse(fl);
	struct flow_priv *pr = fl->priv;
	*n = 0;
	if (reg >= pr->nregs)
		return pr->use;
	*n = pr->use_off[reg + 1] - pr->use_off[reg];
	return pr->use + pr->use_off[reg];
}
