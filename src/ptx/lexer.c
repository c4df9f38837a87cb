/*
 * lexer.c - characters, comments, strings and numbers of PTX text.
 *
 * The class table decides what a character may start or continue (PTX ISA 9.0,
 * section 4.4). Everything here is linear and takes no memory. Lines are counted
 * only where blanks, comments and skipped blocks are passed.
 */
#include "ptx/lexer.h"

#include <stdlib.h>
#include <string.h>

#define LETTER (PTX_CC_FOLLOW | PTX_CC_START | PTX_CC_OPCODE | PTX_CC_LETTER)
#define DIGIT  (PTX_CC_FOLLOW | PTX_CC_DIGIT | PTX_CC_OPCODE)

const uint8_t ptx_class[256] = {
	['a' ... 'z'] = LETTER,
	['A' ... 'Z'] = LETTER,
	['_'] = LETTER,
	['$'] = LETTER,
	['%'] = PTX_CC_START | PTX_CC_OPERATOR,
	['0' ... '9'] = DIGIT,
	['.'] = PTX_CC_OPCODE,
	[' '] = PTX_CC_SPACE,
	['\t'] = PTX_CC_SPACE,
	['\r'] = PTX_CC_SPACE,
	['\f'] = PTX_CC_SPACE,
	['\v'] = PTX_CC_SPACE,
	['+'] = PTX_CC_OPERATOR,
	['-'] = PTX_CC_OPERATOR,
	['*'] = PTX_CC_OPERATOR,
	['/'] = PTX_CC_OPERATOR,
	['<'] = PTX_CC_OPERATOR,
	['>'] = PTX_CC_OPERATOR,
	['&'] = PTX_CC_OPERATOR,
	['|'] = PTX_CC_OPERATOR,
	['^'] = PTX_CC_OPERATOR,
	['='] = PTX_CC_OPERATOR,
	['!'] = PTX_CC_OPERATOR,
	['?'] = PTX_CC_OPERATOR,
};

bool ptx_lex_comment(struct ptx_lex *l)
{
	if (l->p[1] == '/') {
		const char *nl = memchr(l->p, '\n', (size_t)(l->end - l->p));

		l->p = nl ? nl : l->end;
		return true;
	}
	if (l->p[1] != '*')
		return false;
	for (l->p += 2; l->p < l->end; l->p++) {
		if (*l->p == '\n') {
			l->line++;
			l->line_start = l->p + 1;
		} else if (*l->p == '*' && l->p[1] == '/') {
			l->p += 2;
			return true;
		}
	}
	return true; /* the caller that expected more reports the end of the text */
}

struct ptx_str ptx_lex_dotword(struct ptx_lex *l)
{
	const char *s = l->p + 1;

	if (*l->p != '.' || !ptx_is(*s, PTX_CC_FOLLOW))
		return ptx_span(l->p, l->p);
	l->p = s;
	for (;;) {
		while (ptx_is(*l->p, PTX_CC_FOLLOW))
			l->p++;
		if (*l->p != ':' || l->p[1] != ':' || !ptx_is(l->p[2], PTX_CC_FOLLOW))
			return ptx_span(s, l->p);
		l->p += 2;
	}
}

bool ptx_lex_string(struct ptx_lex *l, struct ptx_str *s)
{
	const char *from = ++l->p;

	for (; l->p < l->end && *l->p != '\n'; l->p++) {
		if (*l->p == '\\' && l->p[1] != '\n' && l->p + 1 < l->end) {
			l->p++;
		} else if (*l->p == '"') {
			*s = ptx_span(from, l->p++);
			return true;
		}
	}
	*s = ptx_span(from, l->p);
	return false;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 0f and 0d followed by 8 or 16 digits: the bits of a float. */
static bool bits_literal(struct ptx_lex *l, struct ptx_opnd *o, unsigned digits)
{
	uint64_t v = 0;
	unsigned n = 0;

	for (l->p += 2; hex_value(*l->p) >= 0; l->p++, n++)
		v = v << 4 | (uint64_t)hex_value(*l->p);
	o->kind = digits == 8 ? PTX_OPND_F32 : PTX_OPND_F64;
	o->imm = (int64_t)v;
	return n == digits;
}

/* 1.5, 1., 1e5, 1.5e-3. strtod is bounded by the NUL after the text; the span is delimited first so
 * that "0x1p3" or "1.5f" are not read as in C. */
static bool decimal_float(struct ptx_lex *l, struct ptx_opnd *o)
{
	const char *s = l->p;
	char buf[64];
	size_t n;
	double d;

	while (ptx_is(*l->p, PTX_CC_DIGIT))
		l->p++;
	if (*l->p == '.')
		l->p++;
	while (ptx_is(*l->p, PTX_CC_DIGIT))
		l->p++;
	if ((*l->p | 0x20) == 'e') {
		l->p += l->p[1] == '+' || l->p[1] == '-' ? 2 : 1;
		if (!ptx_is(*l->p, PTX_CC_DIGIT))
			return false;
		while (ptx_is(*l->p, PTX_CC_DIGIT))
			l->p++;
	}
	n = (size_t)(l->p - s);
	if (n >= sizeof(buf))
		return false;
	memcpy(buf, s, n);
	buf[n] = 0;
	d = strtod(buf, NULL);
	memcpy(&o->imm, &d, sizeof(d));
	o->kind = PTX_OPND_F64;
	return true;
}

/* Digits of the base, and an optional U. Values wrap at 64 bits: ptxas rejects those itself. */
static bool integer_literal(struct ptx_lex *l, struct ptx_opnd *o, unsigned base, unsigned skip)
{
	uint64_t v = 0;
	unsigned n = 0;

	for (l->p += skip;; l->p++, n++) {
		int d = hex_value(*l->p);

		if (d < 0 || (unsigned)d >= base)
			break;
		v = v * base + (unsigned)d;
	}
	if (*l->p == 'U' || *l->p == 'u') {
		o->flags |= PTX_OPND_UNSIGNED;
		l->p++;
	}
	o->kind = PTX_OPND_INT;
	o->imm = (int64_t)v;
	return n > 0;
}

bool ptx_lex_number(struct ptx_lex *l, struct ptx_opnd *o)
{
	const char *s = l->p, *q = s;
	bool ok;

	if (*s == '0' && (s[1] | 0x20) == 'x') {
		ok = integer_literal(l, o, 16, 2);
	} else if (*s == '0' && (s[1] | 0x20) == 'f') {
		ok = bits_literal(l, o, 8);
	} else if (*s == '0' && (s[1] | 0x20) == 'd') {
		ok = bits_literal(l, o, 16);
	} else if (*s == '0' && (s[1] | 0x20) == 'b') {
		ok = integer_literal(l, o, 2, 2);
	} else {
		while (ptx_is(*q, PTX_CC_DIGIT))
			q++;
		if (*q == '.' || (*q | 0x20) == 'e')
			ok = decimal_float(l, o);
		else
			ok = integer_literal(l, o, *s == '0' && q - s > 1 ? 8 : 10, 0);
	}
	if (ptx_is(*l->p, PTX_CC_FOLLOW)) { /* "12ab", "089" */
		ok = false;
		while (ptx_is(*l->p, PTX_CC_FOLLOW))
			l->p++;
	}
	o->text = ptx_span(s, l->p);
	return ok;
}

bool ptx_lex_until(struct ptx_lex *l, const char *stop, const char **last)
{
	unsigned depth = 0;
	struct ptx_str s;

	*last = l->p;
	for (;;) {
		ptx_lex_skip(l);
		char c = *l->p;

		if (c == 0 && l->p >= l->end)
			return false;
		if (depth == 0 && c && strchr(stop, c))
			return true;
		if (c == '{' || c == '(' || c == '[') {
			depth++;
		} else if (c == '}' || c == ')' || c == ']') {
			if (depth == 0)
				return false;
			depth--;
		} else if (c == '"') {
			if (!ptx_lex_string(l, &s))
				return false;
			*last = l->p;
			continue;
		}
		*last = ++l->p;
	}
}

/* Is l->p the first thing on its line? */
static bool is_first_on_line(const struct ptx_lex *l)
{
	for (const char *q = l->line_start; q < l->p; q++)
		if (!ptx_is(*q, PTX_CC_SPACE))
			return false;
	return true;
}

void ptx_lex_recover(struct ptx_lex *l)
{
	struct ptx_str s;

	for (;;) {
		ptx_lex_skip(l);
		char c = *l->p;

		if (c == 0 && l->p >= l->end)
			return;
		if ((c == '{' || c == '}') && is_first_on_line(l))
			return;
		if (c == '"') {
			ptx_lex_string(l, &s);
			continue;
		}
		l->p++;
		if (c == ';')
			return;
	}
}

const char *ptx_lex_found(const struct ptx_lex *l, char buf[48])
{
	const char *q = l->p;
	size_t n = 0;

	if (q >= l->end)
		return "the end of the file";
	if (*q == '.' || *q == '%' || ptx_is(*q, PTX_CC_FOLLOW))
		for (q++; ptx_is(*q, PTX_CC_FOLLOW) && q - l->p < 32; q++)
			;
	else
		q++;
	if ((unsigned char)*l->p < 0x20 || (unsigned char)*l->p >= 0x7f) {
		snprintf(buf, 48, "byte 0x%02x", (unsigned char)*l->p);
		return buf;
	}
	buf[n++] = '\'';
	for (const char *c = l->p; c < q; c++)
		buf[n++] = *c;
	buf[n++] = '\'';
	buf[n] = 0;
	return buf;
}
