/*
 * pattern.c - which spellings the rows of isa_forms.def allow, and on which targets.
 *
 * A pattern is matched directly, without being compiled: the set of places that have been reached
 * in the spelling is a bit mask, so alternatives need no backtracking. A spelling is legal if a row
 * of its opcode generates it, and the target supports the row and each of its words (NEEDS).
 *
 * Misses: what depends on operands (a cache hint without its operand, the range of a literal).
 * Costs: some microseconds for a spelling; a form is checked once per module (ptx_form_legal).
 */
#include "ptx/pattern.h"

#include <stdlib.h>
#include <string.h>

static const struct ptx_form_row rows[] = {
#define OP(...)
#define FORM(id, version, targets, pattern, operands)                                              \
	{PTX_OP_##id, version, targets, pattern, operands},
#include "ptx/isa.def"
#undef OP
};

static const struct {
	const char *name, *alternatives;
} sets[] = {
#define OP(...)
#define SET(name, alternatives) {name, alternatives},
#include "ptx/isa.def"
#undef OP
};

static const struct {
	const char *word;
	uint8_t version;
	const char *targets;
} needs[] = {
#define OP(...)
#define NEEDS(word, version, targets) {word, version, targets},
#include "ptx/isa.def"
#undef OP
};

#define MAX_WORDS 31 /* places in a spelling are bits */

static const char *set_of(const char *name, size_t n)
{
	for (size_t i = 0; i < BASE_COUNTOF(sets); i++)
		if (strlen(sets[i].name) == n && !memcmp(sets[i].name, name, n))
			return sets[i].alternatives;
	abort(); /* a row names a SET that is not there */
}

/* The end of what begins at p: a word, a set's name, or a group with its bracket. */
static const char *item_end(const char *p)
{
	int depth = 0;

	if (*p != '(' && *p != '{')
		return p + 1 + strcspn(p + 1, ".$(){}|");
	do {
		depth += (*p == '(' || *p == '{') - (*p == ')' || *p == '}');
		p++;
	} while (depth);
	return p;
}

/* The end of the alternative that begins at p. */
static const char *alternative_end(const char *p, const char *end)
{
	while (p < end && *p != '|')
		p = item_end(p);
	return p;
}

/* The contents of an item: the alternatives of a group or a set. False: the item is a word. */
static bool open_item(const char *p, const char *end, const char **from, const char **to)
{
	if (*p == '$') {
		*from = set_of(p + 1, (size_t)(end - p - 1));
		*to = *from + strlen(*from);
		return true;
	}
	*from = p + 1;
	*to = end - 1;
	return *p == '(' || *p == '{';
}

/* ---- matching ------------------------------------------------------------------------------ */

struct words {
	struct ptx_str v[MAX_WORDS];
	unsigned n;
};

static bool split(struct ptx_str text, struct words *w)
{
	w->n = 0;
	for (uint32_t i = 0, from = 0; i <= text.n; i++) {
		if (i < text.n && text.p[i] != '.')
			continue;
		if (w->n == MAX_WORDS)
			return false;
		w->v[w->n++] = (struct ptx_str){text.p + from, i - from};
		from = i + 1;
	}
	return true;
}

static uint32_t match_word(const struct words *w, const char *p, size_t n, uint32_t at)
{
	uint32_t next = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (at >> i & 1 && w->v[i].n == n && !memcmp(w->v[i].p, p, n))
			next |= 2u << i;
	return next;
}

/* The places after one of the alternatives, from those of `at`. */
static uint32_t match(const struct words *w, const char *p, const char *end, uint32_t at)
{
	uint32_t all = 0;

	for (;;) {
		const char *stop = alternative_end(p, end), *from, *to;
		uint32_t here = at;

		while (p < stop && here) {
			const char *next = item_end(p);
			if (open_item(p, next, &from, &to))
				here = match(w, from, to, here) | (*p == '{' ? here : 0);
			else
				here = match_word(w, p + 1, (size_t)(next - p - 1), here);
			p = next;
		}
		all |= here;
		if (stop >= end)
			return all;
		p = stop + 1;
	}
}

static bool names_opcode(const struct ptx_form_row *row)
{
	return row->pattern[0] && !strchr(".{($", row->pattern[0]);
}

/* The words in front of the pattern's groups. */
static uint32_t match_head(const struct words *w, const char *p, size_t n, uint32_t at)
{
	while (n) {
		const char *dot = memchr(p, '.', n);
		size_t len = dot ? (size_t)(dot - p) : n;
		at = match_word(w, p, len, at);
		n -= len + (dot != NULL);
		p += len + (dot != NULL);
	}
	return at;
}

static const char *tail_of(const struct ptx_form_row *row)
{
	return names_opcode(row) ? row->pattern + strcspn(row->pattern, ".{($") : row->pattern;
}

bool ptx_row_has(const struct ptx_form_row *row, struct ptx_str text)
{
	const char *tail = tail_of(row);
	const char *head = names_opcode(row) ? row->pattern : ptx_op_name((enum ptx_op)row->op);
	size_t n = names_opcode(row) ? (size_t)(tail - row->pattern) : strlen(head);
	struct words w;

	if (!split(text, &w))
		return false;
	uint32_t at = match_head(&w, head, n, 1);
	return match(&w, tail, tail + strlen(tail), at) >> w.n & 1;
}

/* ---- spelling ------------------------------------------------------------------------------ */

static uint64_t times(uint64_t a, uint64_t b)
{
	return a && b > UINT32_MAX / a ? UINT32_MAX : a * b;
}

static uint64_t count(const char *p, const char *end);

static uint64_t count_one(const char *p, const char *stop)
{
	uint64_t n = 1;

	for (const char *next, *from, *to; p < stop; p = next) {
		next = item_end(p);
		if (open_item(p, next, &from, &to))
			n = times(n, count(from, to) + (*p == '{'));
	}
	return n;
}

static uint64_t count(const char *p, const char *end)
{
	uint64_t n = 0;

	for (;;) {
		const char *stop = alternative_end(p, end);
		n += count_one(p, stop);
		if (stop >= end)
			return n < UINT32_MAX ? n : UINT32_MAX;
		p = stop + 1;
	}
}

static void spell(const char *p, const char *end, uint64_t k, struct base_buf *out)
{
	const char *stop, *from, *to;

	for (;; p = stop + 1) {
		stop = alternative_end(p, end);
		uint64_t n = count_one(p, stop);
		if (k < n)
			break;
		k -= n;
	}
	for (const char *next; p < stop; p = next) {
		next = item_end(p);
		if (!open_item(p, next, &from, &to)) {
			base_buf_put(out, p, (size_t)(next - p));
			continue;
		}
		uint64_t n = count(from, to), all = n + (*p == '{'), here = k % all;
		k /= all;
		if (here < n)
			spell(from, to, here, out);
	}
}

uint64_t ptx_row_count(const struct ptx_form_row *row)
{
	const char *tail = tail_of(row);

	return count(tail, tail + strlen(tail));
}

void ptx_row_spell(const struct ptx_form_row *row, uint64_t k, struct base_buf *out)
{
	const char *tail = tail_of(row);

	if (names_opcode(row))
		base_buf_put(out, row->pattern, (size_t)(tail - row->pattern));
	else
		base_buf_puts(out, ptx_op_name((enum ptx_op)row->op));
	spell(tail, tail + strlen(tail), k, out);
}

/* ---- targets ------------------------------------------------------------------------------- */

static bool has_target(const char *p, unsigned sm, char suffix)
{
	if (!*p)
		return true;
	for (; *p; p += *p == '|') {
		bool is_below = *p == '-';
		char *end;
		unsigned n = (unsigned)strtoul(p + is_below, &end, 10);

		p = end;
		if (*p == 'a' || *p == 'f') {
			bool is_family = *p++ == 'f';
			if (is_family ? suffix && sm >= n && sm / 10 == n / 10
				      : suffix == 'a' && sm == n)
				return true;
			continue;
		}
		if (is_below ? sm < n : sm >= n)
			return true;
	}
	return false;
}

bool ptx_row_fits(const struct ptx_form_row *row, struct ptx_str text, unsigned sm, char suffix,
		  unsigned version)
{
	struct words w;

	if (version < row->version || !has_target(row->targets, sm, suffix) || !split(text, &w))
		return false;
	for (unsigned i = 1; i < w.n; i++)
		for (size_t k = 0; k < BASE_COUNTOF(needs); k++)
			if (ptx_str_is(w.v[i], needs[k].word) &&
			    (version < needs[k].version ||
			     !has_target(needs[k].targets, sm, suffix)))
				return false;
	return true;
}

/* ---- public -------------------------------------------------------------------------------- */

const struct ptx_form_row *ptx_form_rows(unsigned *n)
{
	*n = BASE_COUNTOF(rows);
	return rows;
}

bool ptx_form_legal(const struct ptx_form *f, unsigned sm, char suffix, unsigned version)
{
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++)
		if (rows[i].op == f->op && ptx_row_has(&rows[i], f->text) &&
		    ptx_row_fits(&rows[i], f->text, sm, suffix, version))
			return true;
	return false;
}
