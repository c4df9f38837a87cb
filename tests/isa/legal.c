/*
 * legal.c - compares the legal spellings of isa_forms.def, and illegal neighbours, with ptxas.
 *
 *   isa_legal PTXAS DIFFERENCES SAMPLES        SAMPLES: spellings of each row
 *   isa_legal --kernel SAMPLES SECTION...      prints a kernel of the legal ones of these sections
 *                                              of the manual
 *
 * Spellings are spread evenly over those that a row has. Neighbours of each are made by leaving out
 * a word, writing one twice, exchanging two, putting another type or word in the place of one, and
 * putting one more in. Each goes with the operands of its row; ptxas checks a whole file of them
 * for each target (no code is made: compute_NN) and names the lines that are wrong. What it judges
 * otherwise than the table must stand in DIFFERENCES with its reason, and each line there must
 * be met.
 *
 * Operands of a row, between commas: 0 to 3, a register for the type of that number; v0, that many
 * of them as the vector has; w, twice as wide as type 0; p, h, r, d, q, registers of 1, 16, 32, 64,
 * 128 bits; a, an address; En, n registers of 32 bits in braces; Tn, for tcgen05, n times the
 * form's .xN; X and Y, one or two for each .xN; ?MOD=x, x if the form has that modifier; else the
 * text itself.
 */
#include "ptx/pattern.h"
#include "ptx/forms.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum why { LEGAL, ORDER, REPEAT, DROP, TYPE, WORD, MORE, WHYS };
static const char *const why_names[WHYS] = {"legal", "order", "repeat", "drop",
					    "type",  "word",  "more"};

static const struct target {
	unsigned sm;
	char suffix;
	const char *name;
} targets[] = {
	{75, 0, "75"},	  {80, 0, "80"},      {89, 0, "89"},	  {90, 0, "90"},
	{90, 'a', "90a"}, {100, 0, "100"},    {100, 'a', "100a"}, {103, 'a', "103a"},
	{120, 0, "120"},  {120, 'a', "120a"},
};

struct line {
	char *text; /* with operands */
	struct ptx_str spelling;
	enum why why;
	bool ours[BASE_COUNTOF(targets)];
};

struct difference {
	char *fields[3]; /* stricter or laxer; pattern of spellings; pattern of neighbours' kinds */
	unsigned met;
};

/* With that many samples of each row every line of DIFFERENCES must be met. */
#define ENOUGH 20

static struct base_arena arena;
static struct ptx_forms *forms;
static BASE_VEC(struct line) lines;
static BASE_VEC(struct difference) differences;
static const struct ptx_form_row *rows;
static unsigned nrows;

/* ---- operands ------------------------------------------------------------------------------ */

static const char *reg_of(unsigned bytes)
{
	static const char *const names[] = {
		[1] = "h", [2] = "h", [4] = "r", [8] = "rd", [16] = "q"};

	return bytes <= 16 && names[bytes] ? names[bytes] : "r";
}

static void put_type(struct base_buf *out, const struct ptx_form *f, unsigned i, unsigned number)
{
	enum ptx_type t = i < f->ntypes ? (enum ptx_type)f->types[i] : PTX_TYPE_B32;

	if (t == PTX_TYPE_PRED)
		base_buf_printf(out, "%%p%u", number);
	else
		base_buf_printf(out, "%%%s%u", reg_of(ptx_type_bytes(t)), number);
}

static void put_group(struct base_buf *out, unsigned n)
{
	base_buf_puts(out, "{");
	for (unsigned i = 0; i < n; i++)
		base_buf_printf(out, "%s%%r%u", i ? "," : "", i % 200 + 1);
	base_buf_puts(out, "}");
}

static unsigned times_of(const struct ptx_form *f)
{
	static const enum ptx_mod mods[] = {PTX_MOD_X1,	 PTX_MOD_X2,  PTX_MOD_X4,  PTX_MOD_X8,
					    PTX_MOD_X16, PTX_MOD_X32, PTX_MOD_X64, PTX_MOD_X128};

	for (unsigned i = 0; i < BASE_COUNTOF(mods); i++)
		if (ptx_form_has(f, mods[i]))
			return 1u << i;
	return 1;
}

static bool has_word(struct ptx_str text, const char *word, size_t n)
{
	for (uint32_t i = 0; i + n < text.n; i++)
		if (text.p[i] == '.' && !memcmp(text.p + i + 1, word, n) &&
		    (i + 1 + n == text.n || text.p[i + 1 + n] == '.'))
			return true;
	return false;
}

static void put_operand(struct base_buf *out, const struct ptx_form *f, const char *p, size_t n,
			unsigned number)
{
	if (n == 1 && *p >= '0' && *p <= '3' && (unsigned)(*p - '0') < f->ntypes) {
		put_type(out, f, (unsigned)(*p - '0'), number);
	} else if (n == 1 && strchr("phrdq", *p)) {
		base_buf_printf(out, "%%%s%u", *p == 'd' ? "rd" : (char[]){*p, 0}, number);
	} else if (n == 1 && *p == 'a') {
		base_buf_printf(out, "[%%rd%u]", number);
	} else if (n == 1 && *p == 'w') {
		unsigned b = f->ntypes ? ptx_type_bytes((enum ptx_type)f->types[0]) : 4;
		base_buf_printf(out, "%%%s%u", reg_of(2 * b), number);
	} else if (n == 2 && *p == 'v') {
		if (f->vec == 1)
			put_type(out, f, (unsigned)(p[1] - '0'), number);
		for (unsigned i = 0; f->vec > 1 && i < f->vec; i++) {
			base_buf_puts(out, i ? "," : "{");
			put_type(out, f, (unsigned)(p[1] - '0'), i + 1);
		}
		base_buf_puts(out, f->vec > 1 ? "}" : "");
	} else if (n == 2 && *p == 'E') {
		put_group(out, (unsigned)(p[1] - '0'));
	} else if (n == 2 && *p == 'T') {
		put_group(out, (unsigned)(p[1] - '0') * times_of(f));
	} else if (n == 1 && (*p == 'X' || *p == 'Y')) {
		put_group(out, times_of(f) * (*p == 'Y' ? 2 : 1));
	} else {
		base_buf_put(out, p, n);
	}
}

static char *with_operands(const struct ptx_form *f, const char *operands)
{
	struct base_buf b = {0};
	unsigned number = 1;
	bool is_first = true;

	base_buf_put(&b, f->text.p, f->text.n);
	for (const char *p = operands, *q; *p; p = *q ? q + 1 : q) {
		int depth = 0;
		for (q = p; *q && (*q != ',' || depth); q++)
			depth += (*q == '{' || *q == '[') - (*q == '}' || *q == ']');
		const char *from = p, *eq = *p == '?' ? memchr(p, '=', (size_t)(q - p)) : NULL;
		if (eq && !has_word(f->text, p + 1, (size_t)(eq - p - 1)))
			continue;
		if (eq)
			from = eq + 1;
		base_buf_puts(&b, is_first ? " " : ", ");
		put_operand(&b, f, from, (size_t)(q - from), number++);
		is_first = false;
	}
	base_buf_put(&b, ";", 2);
	char *text = base_strdup(&arena, b.p);
	base_buf_free(&b);
	return text;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* One more spelling; `from` is the row that it comes from. */
static void add(struct ptx_str text, enum why why, const struct ptx_form_row *from)
{
	const struct ptx_form *f = ptx_forms_intern(forms, text);
	const struct ptx_form_row *takes = from;
	struct line l = {.spelling = f->text, .why = why};

	for (unsigned i = 0; i < nrows; i++) {
		if (rows[i].op != f->op || !ptx_row_has(&rows[i], f->text))
			continue;
		/* Legal by another row: with the operands of that one. */
		if (!ptx_row_has(takes, f->text))
			takes = &rows[i];
		for (unsigned t = 0; t < BASE_COUNTOF(targets); t++)
			l.ours[t] |= ptx_row_fits(&rows[i], f->text, targets[t].sm,
						  targets[t].suffix, 90);
	}
	l.text = with_operands(f, takes->operands);
	base_vec_push(&lines, l);
}

struct parts {
	struct ptx_str v[32];
	unsigned n;
};

static struct parts split(struct ptx_str text)
{
	struct parts x = {.n = 0};

	for (uint32_t i = 0, from = 0; i <= text.n && x.n < 30; i++) {
		if (i < text.n && text.p[i] != '.')
			continue;
		x.v[x.n++] = (struct ptx_str){text.p + from, i - from};
		from = i + 1;
	}
	return x;
}

static void add_parts(const struct parts *x, enum why why, const struct ptx_form_row *row)
{
	struct base_buf b = {0};

	for (unsigned i = 0; i < x->n; i++) {
		base_buf_puts(&b, i ? "." : "");
		base_buf_put(&b, x->v[i].p, x->v[i].n);
	}
	add((struct ptx_str){b.p, (uint32_t)b.n}, why, row);
	base_buf_free(&b);
}

/* x with word i replaced by w (n 0: left out), or with w put in before i. */
static struct parts changed(const struct parts *x, unsigned i, struct ptx_str w, bool is_more)
{
	struct parts y = {.n = 0};

	for (unsigned k = 0; k < x->n; k++) {
		if (k == i && w.n)
			y.v[y.n++] = w;
		if (k != i || is_more)
			y.v[y.n++] = x->v[k];
	}
	if (i == x->n)
		y.v[y.n++] = w;
	return y;
}

static const char *const other_words[] = {"cta",
					  "gpu",
					  "sys",
					  "cluster",
					  "global",
					  "shared",
					  "relaxed",
					  "acquire",
					  "volatile",
					  "weak",
					  "rn",
					  "ftz",
					  "sat",
					  "v2",
					  "v4",
					  "nc",
					  "aligned",
					  "uni",
					  "hi",
					  "eq",
					  "add",
					  "L2::128B",
					  "L1::no_allocate",
					  "x2",
					  "row"};
static const enum ptx_type other_types[] = {
	PTX_TYPE_B8,   PTX_TYPE_B16,  PTX_TYPE_B32,   PTX_TYPE_B64, PTX_TYPE_U16,
	PTX_TYPE_S32,  PTX_TYPE_U64,  PTX_TYPE_F16X2, PTX_TYPE_F32, PTX_TYPE_F64,
	PTX_TYPE_BF16, PTX_TYPE_PRED, PTX_TYPE_B128};

static struct ptx_str word(const char *s)
{
	return (struct ptx_str){s, (uint32_t)strlen(s)};
}

/* `turn` chooses which other words a spelling meets, so that all of them are met in turn. */
static void add_neighbours(struct ptx_str text, const struct ptx_form_row *row, unsigned turn)
{
	struct parts x = split(text), y;

	for (unsigned i = 1; i < x.n; i++) {
		y = changed(&x, i, (struct ptx_str){0}, false);
		add_parts(&y, DROP, row);
		y = changed(&x, i, x.v[i], true);
		add_parts(&y, REPEAT, row);
		if (i + 1 < x.n && !ptx_str_eq(x.v[i], x.v[i + 1])) {
			y = x;
			y.v[i] = x.v[i + 1];
			y.v[i + 1] = x.v[i];
			add_parts(&y, ORDER, row);
		}
		enum ptx_type t = ptx_type_find(x.v[i]);
		for (unsigned k = 0; t && k < BASE_COUNTOF(other_types); k++) {
			y = changed(&x, i, word(ptx_type_name(other_types[k])), false);
			add_parts(&y, TYPE, row);
		}
		for (unsigned k = 0; !t && k < 4; k++) {
			unsigned at = (turn + i + k * 7) % BASE_COUNTOF(other_words);
			y = changed(&x, i, word(other_words[at]), false);
			add_parts(&y, WORD, row);
		}
	}
	for (unsigned k = 0; k < 6; k++) {
		unsigned at = (turn + k * 5) % BASE_COUNTOF(other_words);
		y = changed(&x, x.n - (x.n > 1), word(other_words[at]), true);
		add_parts(&y, MORE, row);
	}
}

/* ---- ptxas ---------------------------------------------------------------------------------- */

static const char head[] =
	".version 9.0\n.target sm_%s\n.address_size 64\n"
	".global .texref tx;\n.global .surfref sx;\n"
	".func CF () { ret; }\n"
	".visible .entry k(.param .align 16 .b8 a[64]) {\n"
	".reg .b16 %%h<240>; .reg .b32 %%r<240>; .reg .b64 %%rd<240>; .reg .b128 %%q<32>; "
	".reg .pred %%p<32>; .param .align 16 .b8 fp[64]; BT: .branchtargets L;\nL:\n";

static unsigned head_lines(void)
{
	unsigned n = 0;

	for (const char *p = head; *p; p++)
		n += *p == '\n';
	return n;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static bool is_legal(struct ptx_str text, unsigned op, const struct target *t)
{
	for (unsigned i = 0; i < nrows; i++)
		if (rows[i].op == op && ptx_row_has(&rows[i], text) &&
		    ptx_row_fits(&rows[i], text, t->sm, t->suffix, 90))
			return true;
	return false;
}

static struct ptx_str joined(const struct parts *x, char *room)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < x->n; i++) {
		if (i)
			room[n++] = '.';
		memcpy(room + n, x->v[i].p, x->v[i].n);
		n += x->v[i].n;
	}
	return (struct ptx_str){room, n};
}

/* A change of another kind may have written a word twice, or moved one, after all. */
static enum why kind_of(const struct line *l, const struct target *t)
{
	const struct ptx_form *f = ptx_forms_intern(forms, l->spelling);
	struct parts x = split(l->spelling);
	char *room = base_alloc(&arena, l->spelling.n + 1);

	for (unsigned i = 1; i < x.n; i++)
		for (unsigned k = i + 1; k < x.n; k++)
			if (ptx_str_eq(x.v[i], x.v[k]) && !ptx_type_find(x.v[i])) {
				struct parts y = changed(&x, k, (struct ptx_str){0}, false);
				struct parts z = changed(&x, i, (struct ptx_str){0}, false);
				if (is_legal(joined(&y, room), f->op, t) ||
				    is_legal(joined(&z, room), f->op, t))
					return REPEAT;
			}
	for (unsigned i = 1; i < x.n; i++)
		for (unsigned k = 1; k < x.n; k++) {
			struct parts y = changed(&x, i, (struct ptx_str){0}, false);
			y = changed(&y, k, x.v[i], true);
			if (is_legal(joined(&y, room), f->op, t))
				return ORDER;
		}
	return l->why;
}

static bool is_expected(const struct line *l, const char *which)
{
	bool is_met = false;

	for (size_t i = 0; i < differences.n; i++) {
		struct difference *d = &differences.v[i];
		if (strcmp(d->fields[0], which) || fnmatch(d->fields[1], l->spelling.p, 0) ||
		    fnmatch(d->fields[2], why_names[l->why], 0))
			continue;
		d->met++;
		is_met = true;
		break;
	}
	return is_met;
}

struct counts {
	unsigned same, stricter[WHYS], laxer[WHYS], unexpected, runs;
};

/* What ptxas says of lines from..n-1; returns the line after a syntax error, where it gives up,
 * or n. */
static size_t ask(const char *ptxas, const char *dir, unsigned t, size_t from, char **said)
{
	char *file = base_printf(&arena, "%s/%s.ptx", dir, targets[t].name);
	char *cmd = base_printf(&arena, "%s -arch=compute_%s %s -o /dev/null 2>&1", ptxas,
				targets[t].name, file);
	FILE *out = fopen(file, "w"), *in;
	size_t skip = head_lines() + 1, end = lines.n;
	char text[1024];

	fprintf(out, head, targets[t].name);
	for (size_t i = from; i < lines.n; i++)
		fprintf(out, "%s\n", lines.v[i].text);
	fprintf(out, "ret;\n}\n");
	fclose(out);
	in = popen(cmd, "r");
	while (in && fgets(text, sizeof(text), in)) {
		const char *at = strstr(text, ", line ");
		const char *error = strstr(text, "; error"), *fatal = strstr(text, "; fatal");
		size_t line = at ? strtoul(at + 7, NULL, 10) - skip + from : lines.n;

		if (line < lines.n && (error || fatal))
			said[line] = base_strdup(&arena, error ? error + 2 : fatal + 2);
		if (line < lines.n && fatal)
			end = line + 1;
		if (line >= lines.n && !strstr(text, "fatal"))
			printf("sm_%s: %s", targets[t].name, text);
	}
	if (!in || pclose(in) < 0)
		exit(2);
	return end;
}

static void compare(const char *ptxas, const char *dir, unsigned t, struct counts *c)
{
	char **said = BASE_NEWN(&arena, char *, lines.n);

	for (size_t from = 0; from < lines.n; c->runs++)
		from = ask(ptxas, dir, t, from, said);
	for (size_t i = 0; i < lines.n; i++) {
		struct line *l = &lines.v[i];
		bool is_stricter = !l->ours[t] && !said[i];
		if (l->ours[t] == !said[i]) {
			c->same++;
			continue;
		}
		if (is_stricter)
			l->why = kind_of(l, &targets[t]);
		(is_stricter ? c->stricter : c->laxer)[l->why]++;
		if (is_expected(l, is_stricter ? "stricter" : "laxer"))
			continue;
		if (c->unexpected++ < 40000)
			printf("sm_%s: %s %s: the table says %s; ptxas %s", targets[t].name,
			       why_names[l->why], l->text, l->ours[t] ? "legal" : "illegal",
			       said[i] ? said[i] : "takes it\n");
	}
}

static void read_differences(const char *file)
{
	char *text, *save, *more;
	size_t size;

	if (base_read_file(file, &text, &size)) {
		perror(file);
		exit(2);
	}
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct difference d = {0};
		if (*l == '#')
			continue;
		for (unsigned i = 0; i < 3; i++, l = NULL)
			d.fields[i] = strtok_r(l, "\t", &more);
		if (!d.fields[2] || !strtok_r(NULL, "\t", &more)) {
			printf("%s: a line without four fields\n", file);
			exit(2);
		}
		base_vec_push(&differences, d);
	}
}

/* A module whose kernel has the spellings of all rows of the sections, which ptxas judges in
 * another run of this program. For the newest target: who reads it looks at the text alone. */
static int print_kernel(unsigned samples, char **sections, int n)
{
	unsigned taken = 0;

	printf(head, "100a");
	for (unsigned i = 0; i < nrows; i++) {
		uint64_t count = ptx_row_count(&rows[i]), take = count < samples ? count : samples;
		bool is_wanted = false;
		for (int s = 0; s < n; s++)
			is_wanted |=
				!strcmp(ptx_op_info((enum ptx_op)rows[i].op)->section, sections[s]);
		for (uint64_t k = 0; k < take && is_wanted; k++) {
			struct base_buf b = {0};
			ptx_row_spell(&rows[i], k * count / take, &b);
			const struct ptx_form *f =
				ptx_forms_intern(forms, (struct ptx_str){b.p, (uint32_t)b.n});
			printf("%s\n", with_operands(f, rows[i].operands));
			base_buf_free(&b);
			taken++;
		}
	}
	printf("ret;\n}\n");
	base_arena_free(&arena);
	return taken < 100;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/isa_legal.XXXXXX";
	bool is_kernel = argc > 3 && !strcmp(argv[1], "--kernel");
	unsigned samples = argc > 3 ? (unsigned)atoi(argv[is_kernel ? 2 : 3]) : 0, bad = 0;
	struct counts c = {0};
	uint64_t all = 0;

	forms = ptx_forms_new(&arena);
	rows = ptx_form_rows(&nrows);
	if (is_kernel && samples)
		return print_kernel(samples, argv + 3, argc - 3);
	if (!samples || !mkdtemp(dir))
		return 2;
	read_differences(argv[2]);
	for (unsigned i = 0; i < nrows; i++) {
		uint64_t n = ptx_row_count(&rows[i]), take = n < samples ? n : samples;
		all += n;
		for (uint64_t k = 0; k < take; k++) {
			struct base_buf b = {0};
			ptx_row_spell(&rows[i], k * n / take, &b);
			add((struct ptx_str){b.p, (uint32_t)b.n}, LEGAL, &rows[i]);
			if (k < 1 + samples / 8)
				add_neighbours((struct ptx_str){b.p, (uint32_t)b.n}, &rows[i],
					       (unsigned)(i + 3 * k));
			base_buf_free(&b);
		}
	}
	qsort(lines.v, lines.n, sizeof(*lines.v), by_text);
	size_t n = 0;
	for (size_t i = 0; i < lines.n; i++)
		if (!n || strcmp(lines.v[n - 1].text, lines.v[i].text))
			lines.v[n++] = lines.v[i];
	lines.n = n;
	for (unsigned t = 0; t < BASE_COUNTOF(targets); t++)
		compare(argv[1], dir, t, &c);
	printf("%u rows, %llu spellings; %zu tried on %zu targets: %u judged alike in %u runs\n",
	       nrows, (unsigned long long)all, lines.n, BASE_COUNTOF(targets), c.same, c.runs);
	for (unsigned w = 0; w < WHYS; w++)
		printf("%-7s table stricter %u, laxer %u\n", why_names[w], c.stricter[w],
		       c.laxer[w]);
	for (size_t i = 0; i < differences.n && samples >= ENOUGH; i++)
		if (!differences.v[i].met && ++bad)
			printf("not met: %s %s %s\n", differences.v[i].fields[0],
			       differences.v[i].fields[1], differences.v[i].fields[2]);
	if (getenv("KEEP"))
		printf("%s\n", dir);
	else if (system(base_printf(&arena, "rm -rf %s", dir)))
		return 2;
	base_arena_free(&arena);
	return bad || c.unexpected || lines.n < 1000;
}
