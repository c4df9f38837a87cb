/*
 * assume.c - reads the expressions of --assume (names.h).
 *
 * A parser by precedence: || && | ^ & == != < <= > >= << >> + - * / % and the unary - ! ~. Operands
 * are widened to 64 bits by the signedness that the DWARF says, or as signed without one, so that
 * nothing wraps that the programmer didn't think of; a comparison gives 0 or 1.
 *
 * Misses: elements of arrays behind pointers, floats.
 */
#include "prove/names.h"
#include "prove/prove.h"
#include "prove/smt.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct names *n;
	struct ev *e;
	const char *text, *p;
	const char *wrong;
	unsigned depth;
};

static const struct ex *expression(struct reader *r, unsigned level);

static const struct ex *fail(struct reader *r, const char *what)
{
	if (!r->wrong)
		r->wrong =
			base_printf(r->n->arena, "column %d: %s", (int)(r->p - r->text) + 1, what);
	return NULL;
}

static void skip(struct reader *r)
{
	while (*r->p == ' ' || *r->p == '\t')
		r->p++;
}

static bool take(struct reader *r, const char *s)
{
	skip(r);
	if (strncmp(r->p, s, strlen(s)) != 0)
		return false;
	r->p += strlen(s);
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

/* A name, with the members that follow it: "p.size.w", "p.dims[1]". */
static void take_name(struct reader *r)
{
	for (;;) {
		while (is_word(*r->p))
			r->p++;
		size_t n = *r->p == '[' ? strspn(r->p + 1, "0123456789") : 0;
		if (n && r->p[n + 1] == ']')
			r->p += n + 2;
		else if (*r->p == '.' && is_word(r->p[1]))
			r->p++;
		else
			return;
	}
}

static const struct ex *number(struct reader *r, uint64_t v)
{
	return r->e ? prove_ex_const(r->e->pool, 64, v) : NULL;
}

/* A word of the parameters, as a part of a wider one where the kernel reads that alone. */
static const struct ex *as_read(struct ex_pool *p, unsigned w, uint64_t off)
{
	const struct ex_read *wider = NULL;

	for (uint32_t i = 0; i < p->nreads; i++) {
		const struct ex_read *r = &p->read[i];
		if (r->off == off && r->w == w)
			return prove_ex_param(p, w, off);
		if (r->off <= off && off + w / 8 <= r->off + r->w / 8)
			wider = r;
	}
	if (!wider)
		return prove_ex_param(p, w, off);
	const struct ex *v = prove_ex_param(p, wider->w, wider->off);
	v = prove_ex_bin(p, EX_LSHR, v, prove_ex_const(p, wider->w, 8 * (off - wider->off)));
	return prove_ex_un(p, EX_TRUNC, w, v);
}

/* A parameter's value, widened. */
static const struct ex *parameter(struct reader *r, const struct names_param *p)
{
	struct ex_pool *pool = r->e->pool;
	unsigned w = (unsigned)(8 * p->bytes);

	if (p->bytes > 8 || (p->bytes & (p->bytes - 1)) || p->is_float)
		return fail(r, base_printf(r->n->arena, "%s is no integer", p->name));
	const struct ex *v = as_read(pool, w, p->off);
	return prove_ex_un(pool, p->is_signed ? EX_SEXT : EX_ZEXT, 64, v);
}

static const struct ex *name(struct reader *r)
{
	static const char *const dims[] = {"threadIdx.", "blockIdx.", "blockDim.", "gridDim."};
	const char *from = r->p;

	for (unsigned i = 0; i < BASE_COUNTOF(dims); i++) {
		size_t len = strlen(dims[i]);
		if (strncmp(r->p, dims[i], len) != 0 || r->p[len] < 'x' || r->p[len] > 'z')
			continue;
		unsigned d = 3 * i + (unsigned)(r->p[len] - 'x');
		r->p += len + 1;
		return r->e ? prove_ex_un(r->e->pool, EX_ZEXT, 64,
					  prove_ex_spec(r->e->pool, (enum prove_ex_spec)d))
			    : NULL;
	}
	take_name(r);
	if (r->p == from)
		return fail(r, *r->p ? "expected a number or a name" : "the expression ends here");
	if (!r->e)
		return NULL;
	const struct names_param *p = prove_names_param_called(r->n, from, (size_t)(r->p - from));
	if (p)
		return parameter(r, p);
	return fail(r, base_printf(r->n->arena, "the kernel has no parameter '%.*s'",
				   (int)(r->p - from), from));
}

static const struct ex *unary(struct reader *r)
{
	const struct ex *v;
	char *end;

	skip(r);
	if (++r->depth > 200)
		return fail(r, "nested too deeply");
	if (take(r, "(")) {
		v = expression(r, 0);
		if (!r->wrong && !take(r, ")"))
			return fail(r, "expected )");
	} else if (r->p[0] == '!' && r->p[1] != '=') {
		r->p++;
		v = unary(r);
		if (v)
			v = prove_ex_un(r->e->pool, EX_ZEXT, 64,
					prove_ex_bin(r->e->pool, EX_EQ, v, number(r, 0)));
	} else if (take(r, "-")) {
		v = unary(r);
		v = v ? prove_ex_bin(r->e->pool, EX_SUB, number(r, 0), v) : NULL;
	} else if (take(r, "~")) {
		v = unary(r);
		v = v ? prove_ex_not(r->e->pool, v) : NULL;
	} else if (*r->p >= '0' && *r->p <= '9') {
		v = number(r, strtoull(r->p, &end, 0));
		r->p = end;
		while (*r->p == 'u' || *r->p == 'U' || *r->p == 'l' || *r->p == 'L')
			r->p++;
	} else {
		v = name(r);
	}
	r->depth--;
	return v;
}

/* By rising precedence; of one level the longer first. */
static const struct {
	const char *text;
	unsigned level;
	enum ex_op op;
	bool is_swapped, is_not, is_test;
} ops[] = {
	{"||", 0, EX_OR, false, false, true},	 {"&&", 1, EX_AND, false, false, true},
	{"|", 2, EX_OR, false, false, false},	 {"^", 3, EX_XOR, false, false, false},
	{"&", 4, EX_AND, false, false, false},	 {"==", 5, EX_EQ, false, false, false},
	{"!=", 5, EX_EQ, false, true, false},	 {"<=", 6, EX_SLT, true, true, false},
	{">=", 6, EX_SLT, false, true, false},	 {"<<", 7, EX_SHL, false, false, false},
	{">>", 7, EX_ASHR, false, false, false}, {"<", 6, EX_SLT, false, false, false},
	{">", 6, EX_SLT, true, false, false},	 {"+", 8, EX_ADD, false, false, false},
	{"-", 8, EX_SUB, false, false, false},	 {"*", 9, EX_MUL, false, false, false},
	{"/", 9, EX_SDIV, false, false, false},	 {"%", 9, EX_SREM, false, false, false},
};

#define UNARY 10

static const struct ex *truth(struct reader *r, const struct ex *v)
{
	return prove_ex_not(r->e->pool, prove_ex_bin(r->e->pool, EX_EQ, v, number(r, 0)));
}

static const struct ex *combine(struct reader *r, size_t op, const struct ex *a, const struct ex *b)
{
	struct ex_pool *p = r->e->pool;
	const struct ex *v;

	if (ops[op].is_test) {
		v = prove_ex_bin(p, ops[op].op, truth(r, a), truth(r, b));
		return prove_ex_un(p, EX_ZEXT, 64, v);
	}
	v = ops[op].is_swapped ? prove_ex_bin(p, ops[op].op, b, a)
			       : prove_ex_bin(p, ops[op].op, a, b);
	if (v->w == 1) {
		v = ops[op].is_not ? prove_ex_not(p, v) : v;
		v = prove_ex_un(p, EX_ZEXT, 64, v);
	}
	return v;
}

/* Is an operand 0, by its text or by what it comes to? */
static bool is_nought(const char *from, const char *end, const struct ex *v)
{
	char *stop;

	return (v && v->op == EX_CONST && !v->imm) || (from < end && *from >= '0' && *from <= '9' &&
						       !strtoull(from, &stop, 0) && stop == end);
}

static const struct ex *expression(struct reader *r, unsigned level)
{
	if (level == UNARY)
		return unary(r);
	const struct ex *a = expression(r, level + 1);
	for (;;) {
		size_t found = SIZE_MAX;
		skip(r);
		for (size_t i = 0; i < BASE_COUNTOF(ops) && found == SIZE_MAX; i++)
			if (!strncmp(r->p, ops[i].text, strlen(ops[i].text)))
				found = i;
		if (r->wrong || found == SIZE_MAX || ops[found].level != level)
			return a;
		r->p += strlen(ops[found].text);
		skip(r);
		const char *from = r->p;
		const struct ex *b = expression(r, level + 1);
		bool divides = ops[found].op == EX_SDIV || ops[found].op == EX_SREM;
		if (divides && is_nought(from, r->p, b))
			return fail(r, "division by 0");
		a = a && b && !r->wrong ? combine(r, found, a, b) : NULL;
	}
}

static size_t word(struct reader *r, const char **from)
{
	skip(r);
	*from = r->p;
	take_name(r);
	return (size_t)(r->p - *from);
}

/* A variable of the kernel that is set once; *block: where. NULL: there is none of that name. */
static const struct ex *variable(struct reader *r, const char *name, size_t len, uint32_t *block)
{
	size_t n = 0;
	const struct ptx_debug_var *v = ptx_debug_vars(r->e->ir->m, r->e->ir->f, &n);

	for (size_t i = 0; i < n; i++) {
		bool is_it = strlen(v[i].name) == len && !memcmp(v[i].name, name, len);
		uint32_t reg = v[i].nplaces ? v[i].places[0].reg : 0;
		if (!is_it || v[i].nplaces != 1 || v[i].places[0].kind != PTX_DEBUG_REG ||
		    r->e->ir->ndefs[reg] != 1 || !r->e->val[reg])
			continue;
		*block = r->e->ir->def_block[reg];
		return r->e->val[reg];
	}
	fail(r, base_printf(r->n->arena, "the kernel has no variable '%.*s' that is set once",
			    (int)len, name));
	return NULL;
}

/* distinct(VARIABLE) */
static void read_distinct(struct reader *r, struct ev_assume *out)
{
	const char *from;
	size_t len = word(r, &from);

	if (!len || !take(r, ")"))
		fail(r, "expected distinct(VARIABLE)");
	else if (r->e && (out->value = variable(r, from, len, &out->block))) {
		out->kind = IR_ASSUME_DISTINCT;
		out->loop = r->e->ir->blocks.v[out->block].loop;
		out->guard = r->e->guard[out->block];
	}
}

/* apart(VARIABLE, VARIABLE): they are set in one loop, or in none. */
static void read_apart(struct reader *r, struct ev_assume *out)
{
	const char *name[2] = {NULL, NULL};
	size_t len[2] = {word(r, &name[0]), 0};
	uint32_t block[2] = {0, 0};
	const struct ex *v[2], *end;

	if (take(r, ","))
		len[1] = word(r, &name[1]);
	if (!len[0] || !len[1] || !take(r, ")"))
		fail(r, "expected apart(VARIABLE, VARIABLE)");
	if (!r->e || r->wrong)
		return;
	for (unsigned i = 0; i < 2; i++) {
		v[i] = variable(r, name[i], len[i], &block[i]);
		if (!v[i])
			return;
	}
	for (unsigned i = 0; i < 2; i++)
		if (v[i]->w < v[!i]->w)
			v[i] = prove_ex_un(r->e->pool, EX_SEXT, v[!i]->w, v[i]);
	end = prove_ex_bin(r->e->pool, EX_ADD, v[0], v[1]);
	out->loop = r->e->ir->blocks.v[block[0]].loop;
	if (out->loop != r->e->ir->blocks.v[block[1]].loop) {
		fail(r, "the two variables are set in different loops");
		return;
	}
	out->kind = IR_ASSUME_APART;
	out->guard = prove_ex_and(r->e->pool, r->e->guard[block[0]], r->e->guard[block[1]]);
	out->value = prove_ex_un(r->e->pool, EX_SEXT, 64, v[0]);
	out->count = prove_ex_un(r->e->pool, EX_SEXT, 64, v[1]);
	out->off = prove_ex_un(r->e->pool, EX_SEXT, 64, end);
}

/* The array behind a parameter, or a variable of the module, by name. */
static bool find_array(struct reader *r, const char *name, size_t len, struct ev_root *out)
{
	const struct names_param *p = prove_names_param_called(r->n, name, len);
	const struct ir *ir = r->e->ir;

	if (p && p->bytes == 8) {
		*out = (struct ev_root){.kind = EV_ROOT_PARAM, .id = p->off};
		out->base = prove_ex_any_param(r->e->pool, 64, p->off);
		return true;
	}
	for (uint32_t i = 0; i < ir->objects.n && !p; i++) {
		const struct ptx_str *raw = &ir->objects.v[i].name;
		const char *is =
			race_demangle(r->n->arena, base_strndup(r->n->arena, raw->p, raw->n));
		if (!ir->objects.v[i].var || strlen(is) != len || memcmp(is, name, len) != 0)
			continue;
		bool is_const = ir->objects.v[i].kind == IR_OBJ_CONST;
		*out = (struct ev_root){.kind = is_const ? EV_ROOT_CONST : EV_ROOT_OBJECT, .id = i};
		return true;
	}
	return false;
}

/* The bytes that are loaded from an array whose loads aren't accesses (constants), in v; or 0. */
static unsigned bytes_in(struct ev *e, const struct ev_root *root, const struct ex *v,
			 unsigned depth)
{
	unsigned bytes = 0;

	if (v->op == EX_CLOAD) {
		struct ev_root is = prove_ev_find_root(e, v->a[0], IR_GENERIC);
		if (prove_ev_same_root(&is, root))
			return v->w / 8;
	}
	for (uint32_t i = 0; i < v->n && depth < 20 && !bytes; i++)
		bytes = bytes_in(e, root, v->a[i], depth + 1);
	return bytes;
}

/* The size of an array's elements, as the kernel loads them; 0: it doesn't. */
static unsigned bytes_of(struct ev *e, const struct ev_root *root)
{
	unsigned bytes = 0;

	for (size_t i = 0; i < e->accesses.n; i++)
		if (prove_ev_same_root(&e->accesses.v[i].root, root))
			bytes = e->accesses.v[i].mem->bytes;
	for (size_t i = 0; i < e->accesses.n && !bytes; i++)
		bytes = bytes_in(e, root, e->accesses.v[i].off, 0);
	return bytes;
}

/* injective(NAME[, COUNT]), sorted(NAME[, COUNT]) */
static void read_elements(struct reader *r, enum ir_assume kind, struct ev_assume *out)
{
	const char *from;
	size_t len = word(r, &from);
	const struct ex *n = number(r, UINT64_MAX >> 8);
	if (take(r, ","))
		n = expression(r, 0);
	if (!r->wrong && (!len || !take(r, ")")))
		fail(r, kind == IR_ASSUME_SORTED
				? "expected sorted(PARAMETER) or sorted(PARAMETER, COUNT)"
				: "expected injective(PARAMETER) or injective(PARAMETER, COUNT)");
	if (!r->e || r->wrong)
		return;
	if (!find_array(r, from, len, &out->root)) {
		fail(r, base_printf(r->n->arena, "the kernel has no array '%.*s'", (int)len, from));
		return;
	}
	out->kind = (uint8_t)kind;
	out->off = number(r, 0);
	out->count = n;
	out->bytes = bytes_of(r->e, &out->root);
}

const char *prove_assume_read(struct names *n, struct ev *e, const char *text,
			      struct ev_assume *out)
{
	struct reader r = {.n = n, .e = e, .text = text, .p = text};
	struct base_arena *a = n->arena;

	memset(out, 0, sizeof(*out));
	out->loop = out->index = IR_NONE;
	out->text = base_strdup(a, text);
	if (e)
		out->guard = prove_ex_const(e->pool, 1, 1);
	skip(&r);
	if (!strncmp(r.p, "distinct(", 9)) {
		r.p += 9;
		read_distinct(&r, out);
	} else if (!strncmp(r.p, "apart(", 6)) {
		r.p += 6;
		read_apart(&r, out);
	} else if (!strncmp(r.p, "injective(", 10)) {
		r.p += 10;
		read_elements(&r, IR_ASSUME_INJECTIVE, out);
	} else if (!strncmp(r.p, "sorted(", 7)) {
		r.p += 7;
		read_elements(&r, IR_ASSUME_SORTED, out);
	} else {
		const struct ex *v = expression(&r, 0);
		if (v && !r.wrong)
			out->holds = out->fact = truth(&r, v);
	}
	skip(&r);
	if (!r.wrong && *r.p)
		fail(&r, base_printf(a, "expected an operator or the end, found '%s'", r.p));
	return r.wrong;
}

const char *prove_check_assume(const char *text, struct base_arena *arena)
{
	struct names n = {.arena = arena};
	struct ev_assume ignored;

	return prove_assume_read(&n, NULL, text, &ignored);
}
