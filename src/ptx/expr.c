/*
 * expr.c - constant integer expressions (PTX ISA 9.0, section 4.5.4 to 4.5.6).
 *
 * C's operators over 64-bit integers, by precedence climbing with a depth
 * limit. Signed and unsigned are distinguished only by the U of a literal: division, remainder,
 * shifts and comparisons are signed unless an operand carries it. The printer writes the source's
 * own spelling, so a difference here can only affect what flow/ knows about an offset, never the
 * program.
 */
#include "ptx/lexer.h"

#include <string.h>

#define MAX_DEPTH 32

struct value {
	int64_t v;
	bool is_unsigned;
};

static bool parse_level(struct ptx_lex *l, struct value *out, int min_prec, int depth);

static bool skip_word(struct ptx_lex *l, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(l->p, word, n) != 0)
		return false;
	l->p += n;
	return true;
}

static bool parse_unary(struct ptx_lex *l, struct value *out, int depth)
{
	struct ptx_opnd o = {0};
	char c;

	if (depth > MAX_DEPTH)
		return false;
	ptx_lex_skip(l);
	c = *l->p;
	if (ptx_is(c, PTX_CC_DIGIT)) {
		if (!ptx_lex_number(l, &o) || o.kind != PTX_OPND_INT)
			return false;
		*out = (struct value){o.imm, (o.flags & PTX_OPND_UNSIGNED) != 0};
		return true;
	}
	if (skip_word(l, "WARP_SZ")) {
		*out = (struct value){32, false};
		return true;
	}
	if (c == '(') {
		l->p++;
		ptx_lex_skip(l);
		bool to_u = skip_word(l, ".u64"), to_s = !to_u && skip_word(l, ".s64");
		if (to_u || to_s) {
			if (!ptx_lex_take(l, ')') || !parse_unary(l, out, depth + 1))
				return false;
			out->is_unsigned = to_u;
			return true;
		}
		return parse_level(l, out, 0, depth + 1) && ptx_lex_take(l, ')');
	}
	if (c != '-' && c != '+' && c != '~' && c != '!')
		return false;
	l->p++;
	if (!parse_unary(l, out, depth + 1))
		return false;
	if (c == '-')
		out->v = (int64_t)(0 - (uint64_t)out->v);
	else if (c == '~')
		out->v = ~out->v;
	else if (c == '!')
		*out = (struct value){!out->v, false};
	return true;
}

/* The binary operator at l->p: its precedence (0: none), length and a one-letter code. */
static int operator_at(const struct ptx_lex *l, char *code, int *len)
{
	static const struct {
		char text[3];
		char code;
		int prec;
	} ops[] = {{"||", 'O', 1}, {"&&", 'A', 2}, {"==", 'E', 6}, {"!=", 'N', 6}, {"<=", 'l', 7},
		   {">=", 'g', 7}, {"<<", 'L', 8}, {">>", 'R', 8}, {"|", '|', 3},  {"^", '^', 4},
		   {"&", '&', 5},  {"<", '<', 7},  {">", '>', 7},  {"+", '+', 9},  {"-", '-', 9},
		   {"*", '*', 10}, {"/", '/', 10}, {"%", '%', 10}};

	for (size_t i = 0; i < BASE_COUNTOF(ops); i++) {
		size_t n = strlen(ops[i].text);

		if (strncmp(l->p, ops[i].text, n) == 0) {
			*code = ops[i].code;
			*len = (int)n;
			return ops[i].prec;
		}
	}
	return 0;
}

static bool divide(struct value *a, struct value b, char code)
{
	bool u = a->is_unsigned || b.is_unsigned;

	if (b.v == 0 || (!u && b.v == -1 && a->v == INT64_MIN))
		return false;
	if (u && code == '/')
		a->v = (int64_t)((uint64_t)a->v / (uint64_t)b.v);
	else if (u)
		a->v = (int64_t)((uint64_t)a->v % (uint64_t)b.v);
	else
		a->v = code == '/' ? a->v / b.v : a->v % b.v;
	return true;
}

static bool less(struct value a, struct value b)
{
	return a.is_unsigned || b.is_unsigned ? (uint64_t)a.v < (uint64_t)b.v : a.v < b.v;
}

static bool apply(struct value *a, struct value b, char code)
{
	uint64_t x = (uint64_t)a->v, y = (uint64_t)b.v;
	bool u = a->is_unsigned || b.is_unsigned;

	switch (code) {
	case '+':
		a->v = (int64_t)(x + y);
		break;
	case '-':
		a->v = (int64_t)(x - y);
		break;
	case '*':
		a->v = (int64_t)(x * y);
		break;
	case '&':
		a->v = (int64_t)(x & y);
		break;
	case '|':
		a->v = (int64_t)(x | y);
		break;
	case '^':
		a->v = (int64_t)(x ^ y);
		break;
	case '/':
	case '%':
		if (!divide(a, b, code))
			return false;
		break;
	case 'L':
	case 'R':
		if (y > 63)
			return false;
		if (code == 'L')
			a->v = (int64_t)(x << y);
		else
			a->v = a->is_unsigned ? (int64_t)(x >> y) : a->v >> y;
		return true;
	case 'O':
		*a = (struct value){x || y, false};
		return true;
	case 'A':
		*a = (struct value){x && y, false};
		return true;
	case 'E':
		*a = (struct value){x == y, false};
		return true;
	case 'N':
		*a = (struct value){x != y, false};
		return true;
	case '<':
		*a = (struct value){less(*a, b), false};
		return true;
	case '>':
		*a = (struct value){less(b, *a), false};
		return true;
	case 'l':
		*a = (struct value){!less(b, *a), false};
		return true;
	case 'g':
		*a = (struct value){!less(*a, b), false};
		return true;
	}
	a->is_unsigned = u;
	return true;
}

static bool parse_level(struct ptx_lex *l, struct value *out, int min_prec, int depth)
{
	struct value b;
	char code = 0;
	int len = 0, prec;

	if (depth > MAX_DEPTH || !parse_unary(l, out, depth))
		return false;
	for (;;) {
		ptx_lex_skip(l);
		prec = operator_at(l, &code, &len);
		if (prec == 0 || prec <= min_prec)
			break;
		l->p += len;
		if (!parse_level(l, &b, prec, depth + 1) || !apply(out, b, code))
			return false;
	}
	if (min_prec == 0 && *l->p == '?') {
		struct value c;

		l->p++;
		if (!parse_level(l, &b, 0, depth + 1) || !ptx_lex_take(l, ':') ||
		    !parse_level(l, &c, 0, depth + 1))
			return false;
		*out = out->v ? b : c;
	}
	return true;
}

bool ptx_lex_expr(struct ptx_lex *l, int64_t *value)
{
	struct value v;

	if (!parse_level(l, &v, 0, 0))
		return false;
	*value = v.v;
	return true;
}
