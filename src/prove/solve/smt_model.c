/*
 * smt_model.c - the launch that Z3 found (dimensions, threads, parameters, contents), and answers
 * that are kept on disk (smt.h).
 *
 * Small launches are asked for first: a model is replayed, and read by people. What the two threads
 * load from arrays that the kernel doesn't write are contents that the model chose; they make a
 * potential alarm concrete (--confirm), never a true one.
 *
 * Misses: contents of arrays that the kernel writes, and what is loaded through loaded pointers.
 * Costs: up to three more checks for a model, each of SMALLER_MS or HASTY_MS: what is small is
 * found soon.
 */
#include "prove/solve/smt_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Loads up to here in one model; deeper expressions than this have no number. */
#define MAX_DEPTH 64
/* Milliseconds of work for a smaller launch: another launch is there already. */
#define SMALLER_MS 45
#define HASTY_MS   10
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

void prove_smt_pin_model(struct smt_model *m, const struct ex_pool *p)
{
	for (uint32_t i = 0; i < p->npins; i++) {
		const struct ex_pin *x = &p->pin[i];
		uint32_t k = 0;
		while (k < m->nparams &&
		       (m->param[k].off != x->off || 8 * m->param[k].bytes != x->w))
			k++;
		if (k == m->nparams)
			put_param(m, x->off, x->w / 8, x->lo);
		else if (m->param[k].value < x->lo || m->param[k].value > x->hi)
			m->param[k].value = m->param[k].value < x->lo ? x->lo : x->hi;
	}
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
				 w->s->q.use_bits ? prove_smt_bits(w->s, v, w->t)
						  : prove_smt_leaf(w->s, v, w->t).t);
		return v->op != EX_SYM;
	}
	for (uint32_t i = 0; i < v->n && i < 3; i++)
		if (depth == MAX_DEPTH || !evaluate(w, v->a[i], depth + 1, &x[i]))
			return false;
	if (v->op == EX_ITE)
		*out = x[0] & 1 ? x[1] : x[2];
	else if (v->op == EX_IND)
		*out = (x[0] + x[1] * x[2]) & prove_ex_mask(v->w);
	else
		return prove_ex_fold((enum ex_op)v->op, v->w, v->a[0]->w, x[0], x[1], out);
	return true;
}

/* What an atom says about the contents of a parameter's array. */
static void put_content(struct smt *s, Z3_model zm, const struct atom *a, struct smt_model *m)
{
	struct valuation w = {s, zm, m, a->t};
	struct ev_root r = prove_ev_find_root(s->e, a->v->a[0], IR_GENERIC);
	uint64_t at;

	if (m->ncontents == SMT_MAX_CONTENTS || r.kind != EV_ROOT_PARAM || a->v->w % 8 ||
	    !evaluate(&w, prove_ev_offset(s->e, a->v->a[0], &r), 0, &at))
		return;
	for (uint32_t i = 0; i < m->ncontents; i++)
		if (m->content[i].param == r.id && m->content[i].at == at)
			return;
	m->content[m->ncontents].param = r.id;
	m->content[m->ncontents].at = at;
	m->content[m->ncontents].bytes = a->v->w / 8u;
	m->content[m->ncontents++].value = number_of(s, zm, a->ast);
}

/* False: there is none, and *m is as it was. */
static bool read_model(struct smt *s, struct smt_model *m)
{
	Z3_model zm = prove_smt_get_model(s);
	const struct ex_launch *l = &s->e->pool->launch;

	if (!zm)
		return false;
	Z3_model_inc_ref(s->z, zm);
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < s->atoms.n; i++) {
		const struct atom *a = &s->atoms.v[i];
		uint64_t x = number_of(s, zm, a->ast);
		if (a->v->op == EX_PARAM && !(a->v->w == 64 && prove_ev_is_array(s->e, a->v->imm)))
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
	prove_smt_pin_model(m, s->e->pool);
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
	return true;
}

/* Asks again for a small launch: parameters up to `most`, contents up to `most_content` where that
 * isn't 0. The model stays if there is none. */
static bool prefer_small(struct smt *s, struct smt_model *m, unsigned most, unsigned most_content)
{
	bool is_found = false;

	if (!prove_smt_push(s))
		return false;
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
		prove_smt_hold(s, s->q.use_bits ? Z3_mk_bvule(s->z, a->ast, n)
						: Z3_mk_le(s->z, a->ast, n));
	}
	if (prove_smt_solve(s) == Z3_L_TRUE)
		is_found = read_model(s, m);
	Z3_solver_pop(s->z, s->solver, 1);
	return is_found;
}

bool prove_smt_read_model(struct smt *s, struct smt_model *m)
{
	unsigned was = s->q.work_ms, most = s->q.is_hasty ? HASTY_MS : SMALLER_MS;
	bool has_loads = false;

	for (size_t i = 0; i < s->atoms.n; i++)
		has_loads |= s->atoms.v[i].v->op == EX_CLOAD;
	if (!read_model(s, m))
		return false;
	if (was > most)
		s->q.work_ms = most;
	/* what a loop runs to had better be very small: the model is replayed */
	if (!(has_loads && prefer_small(s, m, 16, SMALL_CONTENT)) && !prefer_small(s, m, 16, 0))
		prefer_small(s, m, 4096, 0);
	s->q.work_ms = was;
	return true;
}

/* ---- answers that are kept ------------------------------------------------------------- */

/*
 * A query is named by its own text: what Z3 prints of all that was asserted, its unknowns numbered
 * in the order in which they come up, for their own numbers depend on the queries before. So the
 * contract (which is asserted) and the encoding are in the name; Z3's version and this program are
 * put to it. An answer is found again as long as the query is the same: after
 * other kernels of the file were edited, or this one elsewhere.
 *
 * Misses: queries that Z3 gave up on are not kept, as another bound may answer them; nor are models
 * with contents of arrays, which are read by expressions that the text doesn't hold.
 * Costs: printing a query, a fraction of a millisecond; a small file for each answer.
 */

/* What a file begins with; after it the model, where there is one. */
struct header {
	struct smt_key key;
	uint64_t is_possible, model_bytes;
};

/* Two hashes that have nothing in common: one FNV, one of multiplied and folded bytes. */
static void mix(struct smt_key *k, const void *p, size_t n)
{
	const unsigned char *b = p;

	k->name = base_hash(p, n, k->name);
	for (size_t i = 0; i < n; i++) {
		k->check = (k->check + b[i] + 1) * 0xff51afd7ed558ccdull;
		k->check ^= k->check >> 32;
	}
	k->bytes += n;
}

/* The place of unknown `number` among those seen in this query, from 1. */
static uint32_t place_of(struct smt_store *st, uint64_t number)
{
	if (number >= st->nplaces) {
		uint64_t n = number + number / 2 + 256;
		st->place = realloc(st->place, n * sizeof(*st->place));
		if (!st->place)
			abort();
		memset(st->place + st->nplaces, 0, (n - st->nplaces) * sizeof(*st->place));
		st->nplaces = n;
	}
	if (!st->place[number])
		st->place[number] = ++st->nseen;
	return st->place[number];
}

/*
 * Mixes what Z3 printed: "u!123" and "?x123" (a part's name) as the letter and a place; a line's
 * end and the blanks after it as one blank, for lines are broken by the length of names.
 */
static void mix_text(struct smt_store *st, struct smt_key *k, const char *p, const char *end_of)
{
	const char *from = p, *start = p;

	for (; p < end_of; p++) {
		bool is_let = *p == 'x' && p > start && (p[-1] == '$' || p[-1] == '?');
		bool is_name = (is_let || *p == '!') && isdigit((unsigned char)p[1]);
		if (!is_name && *p != '\n')
			continue;
		uint64_t what = ' ';
		mix(k, from, (size_t)(p - from));
		if (is_name) {
			char *end;
			uint64_t number = strtoull(p + 1, &end, 10) * 2 + is_let;
			what = (uint64_t)place_of(st, number) << 8 | (unsigned char)*p;
			from = end;
		} else {
			for (from = p; from < end_of && (*from == ' ' || *from == '\n');)
				from++;
		}
		mix(k, &what, sizeof(what));
		p = from - 1;
	}
	mix(k, from, (size_t)(end_of - from));
	mix(k, "", 1);
}

/*
 * Mixes a whole query. Z3 sorts the declarations by name, and so by the numbers: they come last, in
 * any order, where each unknown has its place.
 */
static void mix_query(struct smt_store *st, struct smt_key *k, const char *text)
{
	const char *asserts = strstr(text, "(assert");

	if (!asserts)
		asserts = text;
	mix_text(st, k, asserts, asserts + strlen(asserts));
	for (const char *p = text, *end; p < asserts; p = end) {
		struct smt_key one = {BASE_FNV_INIT, BASE_FNV_INIT, 0};
		for (end = p; end < asserts && *end != '\n';)
			end++;
		end += end < asserts;
		mix_text(st, &one, p, end);
		k->name += one.name;
		k->check += one.check;
	}
}

/* The query as it stands, and how a model of it would be read. */
static struct smt_key key_of(struct smt *s, bool has_model)
{
	struct smt_store *st = &s->store;
	struct smt_key k = {BASE_FNV_INIT, BASE_FNV_INIT, 0};
	uint64_t facts[] = {st->program,   s->q.use_bits, s->q.is_same_cta,
			    s->q.is_alone, s->q.is_one,	  s->is_loose,
			    s->q.is_exact, s->atoms.n,	  has_model};

	memset(st->place, 0, st->nplaces * sizeof(*st->place));
	st->nseen = 0;
	mix(&k, facts, sizeof(facts));
	const char *z3 = Z3_get_full_version();

	mix(&k, z3, strlen(z3) + 1);
	mix_query(st, &k,
		  Z3_benchmark_to_smtlib_string(s->z, "", "", "", "", (unsigned)s->held.n,
						s->held.v, Z3_mk_true(s->z)));
	mix(&k, s->e->pool->launch.dim, sizeof(s->e->pool->launch.dim));
	for (size_t i = 0; i < s->atoms.n; i++) {
		const struct atom *a = &s->atoms.v[i];
		uint64_t what[] = {(uint64_t)a->v->op, a->v->w, a->v->imm, a->t};
		mix(&k, what, sizeof(what));
		const char *term = Z3_ast_to_string(s->z, a->ast);
		mix_text(st, &k, term, term + strlen(term));
	}
	return k;
}

static const char *path_of(struct base_arena *a, const struct smt_store *st,
			   const struct smt_key *k)
{
	return base_printf(a, "%s/answers/%02x/%016llx", st->folder, (unsigned)(k->check >> 56),
			   (unsigned long long)k->name);
}

bool prove_smt_recall(struct smt *s, struct smt_key *k, enum smt_answer *x, struct smt_model *m)
{
	struct base_arena a = {0};
	struct header h;
	size_t n;
	char *p;
	bool ok;

	if (!s->store.folder)
		return false;
	bool has_model = m && !s->q.is_alone;

	*k = key_of(s, has_model);
	ok = !base_read_file(path_of(&a, &s->store, k), &p, &n);
	base_arena_free(&a);
	if (!ok)
		return false;
	ok = n >= sizeof(h);
	if (ok)
		memcpy(&h, p, sizeof(h));
	ok = ok && !memcmp(&h.key, k, sizeof(*k)) && n == sizeof(h) + h.model_bytes &&
	     h.model_bytes == (h.is_possible && has_model ? sizeof(*m) : 0);
	if (ok && h.model_bytes)
		memcpy(m, p + sizeof(h), sizeof(*m));
	free(p);
	if (ok) {
		*x = !h.is_possible ? SMT_IMPOSSIBLE : s->is_loose ? SMT_MAYBE : SMT_POSSIBLE;
		s->store.recalled++;
	}
	return ok;
}

void prove_smt_keep(struct smt *s, const struct smt_key *k, enum smt_answer x,
		    const struct smt_model *m)
{
	struct base_arena a = {0};
	struct base_buf b = {0};
	struct header h = {.key = *k, .is_possible = x != SMT_IMPOSSIBLE};

	if (!s->store.folder || x == SMT_GAVE_UP)
		return;
	for (size_t i = 0; h.is_possible && i < s->atoms.n; i++)
		if (s->atoms.v[i].v->op == EX_CLOAD)
			return;
	if (h.is_possible && m && !s->q.is_alone)
		h.model_bytes = sizeof(*m);
	base_buf_put(&b, &h, sizeof(h));
	if (h.model_bytes)
		base_buf_put(&b, m, sizeof(*m));
	const char *path = path_of(&a, &s->store, k);
	if (base_write_file(path, b.p, b.n)) {
		/* the folders are made where they lack; the one above them is the user's */
		mkdir(s->store.folder, 0777);
		mkdir(base_printf(&a, "%s/answers", s->store.folder), 0777);
		mkdir(base_strndup(&a, path, (size_t)(strrchr(path, '/') - path)), 0777);
		base_write_file(path, b.p, b.n);
	}
	base_buf_free(&b);
	base_arena_free(&a);
}

void prove_smt_keep_answers(struct smt *s, const char *folder, uint64_t program)
{
	s->store.folder = folder;
	s->store.program = program;
}

unsigned prove_smt_recalled(const struct smt *s)
{
	return s->store.recalled;
}
