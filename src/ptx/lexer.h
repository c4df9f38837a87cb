/*
 * lexer.h - the scanner under the parser (private to src/ptx).
 *
 * There are no token objects: the parser looks at the next character's class and calls the scanner
 * for the one item that may come there. A NUL after the text ends every loop, so the hot loops need
 * no bounds check.
 */
#ifndef COLLIDER_PTX_LEXER_H
#define COLLIDER_PTX_LEXER_H

#include "ptx/ptx.h"

#include <string.h>

/* Bits of ptx_class[c]. */
enum {
	PTX_CC_FOLLOW = 1 << 0, /* may continue an identifier: letters, digits, _ $ */
	PTX_CC_START = 1 << 1,	/* may start one: letters, _ $ % */
	PTX_CC_DIGIT = 1 << 2,
	PTX_CC_SPACE = 1 << 3,	  /* blank, tab, carriage return, form feed; not newline */
	PTX_CC_OPCODE = 1 << 4,	  /* may continue an opcode: FOLLOW and '.' */
	PTX_CC_OPERATOR = 1 << 5, /* continues a constant expression */
	PTX_CC_LETTER = 1 << 6	  /* FOLLOW without the digits */
};
extern const uint8_t ptx_class[256];

struct ptx_lex {
	const char *p;	 /* next character */
	const char *end; /* the NUL after the text */
	const char *line_start;
	uint32_t line;
};

static inline bool ptx_is(char c, unsigned bits)
{
	return (ptx_class[(unsigned char)c] & bits) != 0;
}

/* Skips one comment at l->p, counting its lines; false: '/' starts none. */
bool ptx_lex_comment(struct ptx_lex *l);

/* Skips blanks, newlines and comments. */
static inline void ptx_lex_skip(struct ptx_lex *l)
{
	for (;;) {
		char c = *l->p;

		if (ptx_is(c, PTX_CC_SPACE)) {
			l->p++;
		} else if (c == '\n') {
			l->line++;
			l->line_start = ++l->p;
		} else if (c != '/' || !ptx_lex_comment(l)) {
			return;
		}
	}
}

/* Skips blanks, then takes character c if it is next. */
static inline bool ptx_lex_take(struct ptx_lex *l, char c)
{
	ptx_lex_skip(l);
	if (*l->p != c)
		return false;
	l->p++;
	return true;
}

static inline uint64_t ptx_load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static inline uint32_t ptx_load32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* memcmp(a, b, n) == 0 for texts that are mostly short: overlapping words instead of a call. */
static inline bool ptx_mem_eq(const char *a, const char *b, size_t n)
{
	if (n > 16)
		return memcmp(a, b, n) == 0;
	if (n >= 8)
		return ptx_load64(a) == ptx_load64(b) &&
		       ptx_load64(a + n - 8) == ptx_load64(b + n - 8);
	if (n >= 4)
		return ptx_load32(a) == ptx_load32(b) &&
		       ptx_load32(a + n - 4) == ptx_load32(b + n - 4);
	return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* ptx_str_is for a literal: the length first, no strlen. */
#define PTX_IS(s, lit) ((s).n == sizeof(lit) - 1 && ptx_mem_eq((s).p, (lit), sizeof(lit) - 1))

static inline struct ptx_str ptx_span(const char *from, const char *to)
{
	return (struct ptx_str){from, (uint32_t)(to - from)};
}

static inline struct base_span ptx_lex_here(const struct ptx_lex *l)
{
	return (struct base_span){l->line, (uint32_t)(l->p - l->line_start) + 1};
}

/* An identifier at l->p, which must be of class START. */
static inline struct ptx_str ptx_lex_ident(struct ptx_lex *l)
{
	const char *s = l->p++;

	while (ptx_is(*l->p, PTX_CC_FOLLOW))
		l->p++;
	return ptx_span(s, l->p);
}

/* ".word" or ".word::part" at l->p: the word without its dot; empty if there is none. */
struct ptx_str ptx_lex_dotword(struct ptx_lex *l);
/* "..." at l->p, which is a quote: the text between the quotes. False: it never ends. */
bool ptx_lex_string(struct ptx_lex *l, struct ptx_str *s);
/* A literal at l->p, which is a digit, without sign, into o's kind, text, imm and U flag.
 * False: malformed; l->p is then after it. */
bool ptx_lex_number(struct ptx_lex *l, struct ptx_opnd *o);
/* A plain decimal integer, perhaps with a '-', that a delimiter ends. False: something else, l->p
 * is where it was. The fast path before ptx_lex_number and ptx_lex_expr. */
static inline bool ptx_lex_decimal(struct ptx_lex *l, int64_t *value)
{
	const char *p = l->p + (*l->p == '-'), *s = p;
	int64_t v = 0;

	while (ptx_is(*p, PTX_CC_DIGIT) && p - s < 18)
		v = v * 10 + (*p++ - '0');
	if (p == s || (*s == '0' && p - s > 1))
		return false;
	if (*p != ']' && *p != ',' && *p != ';' && *p != '}')
		return false;
	*value = *l->p == '-' ? -v : v;
	l->p = p;
	return true;
}

/* Skips to the first character of `stop` outside strings, comments and brackets (which are
 * counted, not recursed into); false at the end of the text. *last is set to the place after the
 * last item that was skipped. */
bool ptx_lex_until(struct ptx_lex *l, const char *stop, const char **last);
/* After an error: after the next ';', or at the next brace that starts a line (others belong to
 * the operand that was wrong), or at the end. */
void ptx_lex_recover(struct ptx_lex *l);
/* The text at l->p, for messages: quoted, printable, at most 32 characters. */
const char *ptx_lex_found(const struct ptx_lex *l, char buf[48]);

/* Evaluates a constant expression at l->p; stops at the first item that can't continue it. False:
 * not a constant integer expression (a symbol, a float, nesting too deep). */
bool ptx_lex_expr(struct ptx_lex *l, int64_t *value);

#endif
