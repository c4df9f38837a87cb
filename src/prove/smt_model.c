/*
 * smt_model.c - the launch that Z3 found: dimensions, threads, parameters, contents (smt.h).
 *
 * Small launches are asked for first: a model is replayed, and read by people. What the two threads
 * load from arrays that the kernel doesn't write are contents that the model chose; they make a
 * potential alarm concrete (--confirm), never a true one.
 *
 * Misses: contents of arrays that the kernel writes, and what is loaded through loaded pointers.
 * Costs: up to three more checks for a model, each bounded like the first.
 */
#include "prove/smt_impl.h"

#include <string.h>

/* Loads up to here in one model; deeper expressions than this have no number. */
#define MAX_DEPTH 64
/* What an array is asked to hold at most, so that an index into another one stays small. */
#define SMALL_CONTENT 1000

static uint64_t number_of(struct smt *s, Z3_model m, Z3_ast t)
{
	Z3_ast v = NULL;
	uint64_t r = 0;

	if (Z3_model_eval(s->z, m, t, true, &v) && Z3_get_ast_kind(s->z, v) == Z3_NUMERAL_AST)
		Z3_get_numeral_uint64(s->z, v, &r);
	return r;
}

static void put_param(struct smt_model *m, uint64_t off, unsigned bytes, uint64_t value)
{
	if (m->nparams == SMT_MAX_PARAMS)
		return;
	m->param[m->nparams].off = off;
	m->param[m->nparams].bytes = bytes;
	m->param[m->nparams++].value = value;
}

/* A register's or parameter's number in the model; false: it is neither. */
static bool launch_number(const struct smt_model *m, const struct ex *v, unsigned t, uint64_t *n)
{
	unsigned d = (unsigned)v->imm % 3;

	*n = 0;
	if (v->op == EX_SPEC)
		*n = v->imm >= EX_NCTAID_X  ? m->nctaid[d]
		     : v->imm >= EX_NTID_X  ? m->ntid[d]
		     : v->imm >= EX_CTAID_X ? m->ctaid[t][d]
					    : m->tid[t][d];
	for (uint32_t i = 0; v->op == EX_PARAM && i < m->nparams; i++)
		if (m->param[i].off == v->imm && 8 * m->param[i].bytes == v->w)
			*n = m->param[i].value;
	return v->op == EX_SPEC || v->op == EX_PARAM;
}

struct valuation {
	struct smt *s;
	Z3_model zm;
	const struct smt_model *m;
	unsigned t;
};

/* The number of an expression in the model, made without new terms for the solver. */
static bool evaluate(const struct valuation *w, const struct ex *v, unsigned depth, uint64_t *out)
{
	uint64_t x[3] = {0, 0, 0};

	if (v->op == EX_CONST) {
		*out = v->imm;
		return true;
	}
	if (launch_number(w->m, v, w->t, out))
		return true;
	if (v->op < EX_ADD) {
		*out = number_of(w->s, w->zm,
				 w->s->q.use_bits ? smt_bits(w->s, v, w->t)
						  : smt_leaf(w->s, v, w->t).t);
		return v->op != EX_SYM;
	}
	for (uint32_t i = 0; i < v->n && i < 3; i++)
		if (depth == MAX_DEPTH || !evaluate(w, v->a[i], depth + 1, &x[i]))
			return false;
	if (v->op == EX_ITE)
		*out = x[0] & 1 ? x[1] : x[2];
	else if (v->op == EX_IND)
		*out = (x[0] + x[1] * x[2]) & ex_mask(v->w);
	else
		return ex_fold((enum ex_op)v->op, v->w, v->a[0]->w, x[0], x[1], out);
	return true;
}

/* What an atom says about the contents of a parameter's array. */
static void put_content(struct smt *s, Z3_model zm, const struct atom *a, struct smt_model *m)
{
	struct valuation w = {s, zm, m, a->t};
	struct ev_root r = ev_find_root(s->e, a->v->a[0], IR_GENERIC);
	uint64_t at;

	if (m->ncontents == SMT_MAX_CONTENTS || r.kind != EV_ROOT_PARAM || a->v->w % 8 ||
	    !evaluate(&w, ev_offset(s->e, a->v->a[0], &r), 0, &at))
		return;
	for (uint32_t i = 0; i < m->ncontents; i++)
		if (m->content[i].param == r.id && m->content[i].at == at)
			return;
	m->content[m->ncontents].param = r.id;
	m->content[m->ncontents].at = at;
	m->content[m->ncontents].bytes = a->v->w / 8u;
	m->content[m->ncontents++].value = number_of(s, zm, a->ast);
}

static void read_model(struct smt *s, struct smt_model *m)
{
	Z3_model zm = Z3_solver_get_model(s->z, s->solver);
	const struct ex_launch *l = &s->e->pool->launch;

	Z3_model_inc_ref(s->z, zm);
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < s->atoms.n; i++) {
		const struct atom *a = &s->atoms.v[i];
		uint64_t x = number_of(s, zm, a->ast);
		if (a->v->op == EX_PARAM)
			put_param(m, a->v->imm, a->v->w / 8u, x);
		if (a->v->op != EX_SPEC)
			continue;
		unsigned which = (unsigned)a->v->imm, d = which % 3;
		if (which >= EX_NCTAID_X)
			m->nctaid[d] = (uint32_t)x;
		else if (which >= EX_NTID_X)
			m->ntid[d] = (uint32_t)x;
		else
			(which >= EX_CTAID_X ? m->ctaid : m->tid)[a->t][d] = (uint32_t)x;
		if (which >= EX_CTAID_X && which < EX_NTID_X && s->q.is_same_cta)
			m->ctaid[0][d] = m->ctaid[1][d] = (uint32_t)x;
	}
	for (unsigned d = 0; d < 3; d++) {
		if (!m->ntid[d])
			m->ntid[d] = l->dim[d] ? l->dim[d] : 1;
		if (!m->nctaid[d])
			m->nctaid[d] = l->dim[3 + d] ? l->dim[3 + d] : 1;
	}
	for (size_t i = 0, n = s->atoms.n; i < n; i++) {
		struct atom a = s->atoms.v[i];
		if (a.v->op == EX_CLOAD)
			put_content(s, zm, &a, m);
	}
	Z3_model_dec_ref(s->z, zm);
}

/* Asks again for a small launch: parameters up to `most`, contents up to `most_content` where that
 * isn't 0. The model stays if there is none. */
static bool prefer_small(struct smt *s, struct smt_model *m, unsigned most, unsigned most_content)
{
	bool is_found = false;

	Z3_solver_push(s->z, s->solver);
	for (size_t i = 0; i < s->atoms.n; i++) {
		const struct atom *a = &s->atoms.v[i];
		unsigned top = 0;
		if (a->v->op == EX_PARAM && a->v->w <= 32)
			top = most;
		if (a->v->op == EX_CLOAD && a->v->w > 8)
			top = most_content;
		if (a->v->op == EX_SPEC && a->v->imm >= EX_NTID_X)
			top = a->v->imm >= EX_NCTAID_X ? 4 : a->v->imm == EX_NTID_X ? 64 : 8;
		if (!top)
			continue;
		Z3_sort sort = Z3_get_sort(s->z, a->ast);
		Z3_ast n = Z3_mk_unsigned_int(s->z, top, sort);
		smt_hold(s,
			 s->q.use_bits ? Z3_mk_bvule(s->z, a->ast, n) : Z3_mk_le(s->z, a->ast, n));
	}
	if (Z3_solver_check(s->z, s->solver) == Z3_L_TRUE) {
		read_model(s, m);
		is_found = true;
	}
	Z3_solver_pop(s->z, s->solver, 1);
	return is_found;
}

void smt_read_model(struct smt *s, struct smt_model *m)
{
	bool has_loads = false;

	for (size_t i = 0; i < s->atoms.n; i++)
		has_loads |= s->atoms.v[i].v->op == EX_CLOAD;
	read_model(s, m);
	/* what a loop runs to had better be very small: the model is replayed */
	if (has_loads && prefer_small(s, m, 16, SMALL_CONTENT))
		return;
	if (!prefer_small(s, m, 16, 0))
		prefer_small(s, m, 4096, 0);
}
