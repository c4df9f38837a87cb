/*
 * form.c - from a view, or from proofs, to the flat facts that forms of a report print.
 *
 * What counts is an error, what the program may never do is a note, all else a warning. A finding's
 * print is a hash of its class and, for each side, of the function, the file's name and the text of
 * the source line without its white space: it stays when lines above are added, and when another
 * run saw the two sides in the other order. Where there is no source, the kind of access takes the
 * line's place. Equal ones get numbers in their order. A saved report's findings keep theirs.
 *
 * Costs: each source file is read once. Misses: a file that changed since the build gives the
 * wrong line's text, which only changes prints.
 */
#include "report/form.h"

#include "base/table.h"

#include <ctype.h>
#include <string.h>

/* ---- source lines ------------------------------------------------------------------- */

struct source_file {
	UT_hash_handle hh;
	const char *name;
	const char **lines;
	size_t nlines;
};

static const char *trimmed(struct base_arena *a, const char *s, size_t n)
{
	while (n && isspace((unsigned char)*s))
		s++, n--;
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return race_text(a, s, n < 160 ? n : 160);
}

static struct source_file *file_read(struct base_arena *a, const struct rep_options *opt,
				     const char *name)
{
	struct source_file *f = BASE_NEW(a, struct source_file);
	char *text;
	size_t n;

	f->name = name;
	if (!rep_source_read(opt, name, &text, &n))
		return f;
	size_t lines = 1;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	f->lines = BASE_NEWN(a, const char *, lines);
	for (size_t at = 0; at < n; f->nlines++) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t len = nl ? (size_t)(nl - text) - at : n - at;
		f->lines[f->nlines] = trimmed(a, text + at, len);
		at += len + 1;
	}
	free(text);
	return f;
}

static const char *line_of(struct rep_form *f, struct source_file **files, const char *name,
			   uint32_t line)
{
	struct source_file *s = NULL;

	if (!*name || !line || f->opt->no_source)
		return "";
	HASH_FIND_STR(*files, name, s);
	if (!s) {
		s = file_read(&f->arena, f->opt, name);
		HASH_ADD_KEYPTR(hh, *files, s->name, strlen(s->name), s);
	}
	return line <= s->nlines ? s->lines[line - 1] : "";
}

/* ---- prints -------------------------------------------------------------------------- */

#define FNV_START  14695981039346656037u
#define FNV_FACTOR 1099511628211u

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		if (!isspace((unsigned char)*s))
			h = (h ^ (unsigned char)*s) * FNV_FACTOR;
	return (h ^ '\n') * FNV_FACTOR;
}

struct seen_print {
	UT_hash_handle hh;
	uint64_t print, times;
};

static uint64_t hash_side(const struct rep_form_side *s)
{
	const char *base = strrchr(s->file, '/');
	uint64_t h = hash_text(FNV_START, s->func);

	h = hash_text(h, base ? base + 1 : s->file);
	return hash_text(h, *s->source ? s->source : s->access);
}

static void prints_make(struct rep_form *f)
{
	struct seen_print *all = NULL;

	for (size_t i = 0; i < f->items.n; i++) {
		struct rep_form_item *it = &f->items.v[i];
		struct seen_print *seen = NULL;
		uint64_t h = 0;
		if (it->print)
			continue;
		for (unsigned k = 0; k < it->nsides; k++)
			h += hash_side(&it->side[k]);
		h = hash_text((FNV_START ^ h) * FNV_FACTOR, it->kind);
		HASH_FIND(hh, all, &h, sizeof(h), seen);
		if (!seen) {
			seen = BASE_NEW(&f->arena, struct seen_print);
			seen->print = h;
			HASH_ADD(hh, all, print, sizeof(h), seen);
		}
		it->print = seen->times ? (h ^ seen->times) * FNV_FACTOR : h;
		seen->times++;
	}
	HASH_CLEAR(hh, all);
}

/* ---- what both sources of findings need ------------------------------------------------ */

static void path_shorten(const struct rep_options *opt, struct rep_form_side *s)
{
	const char *root = opt->source_root;
	size_t n = root ? strlen(root) : 0;

	while (n && root[n - 1] == '/')
		n--;
	s->is_relative = *s->file != '/';
	if (!root || strncmp(s->file, root, n) || s->file[n] != '/')
		return;
	s->is_relative = true;
	s->file += n + 1;
}

static void sources_find(struct rep_form *f)
{
	struct source_file *files = NULL;

	for (size_t i = 0; i < f->items.n; i++)
		for (unsigned k = 0; k < f->items.v[i].nsides; k++) {
			struct rep_form_side *s = &f->items.v[i].side[k];
			s->source = line_of(f, &files, s->file, s->line);
			path_shorten(f->opt, s);
		}
	HASH_CLEAR(hh, files);
}

const char *rep_form_place(struct base_arena *a, const struct rep_form_side *s, bool has_column)
{
	if (!*s->file || !s->line)
		return s->file;
	return has_column && s->col ? base_printf(a, "%s:%u:%u", s->file, s->line, s->col)
				    : base_printf(a, "%s:%u", s->file, s->line);
}

const char *rep_form_thread(struct base_arena *a, const struct rep_form_side *s)
{
	if (!s->has_thread)
		return "";
	return base_printf(a, "Thread (%u,%u,%u), Block (%u,%u,%u)", s->thread[0], s->thread[1],
			   s->thread[2], s->block[0], s->block[1], s->block[2]);
}

static void line_make(struct base_arena *a, struct rep_form_item *it)
{
	const char *in = *it->kernel ? base_printf(a, ", in %s", it->kernel) : "";

	if (it->nsides < 2) {
		it->line = base_printf(a, "%s: %s%s", it->side[0].verb, it->title, in);
		return;
	}
	const char *place = rep_form_place(a, &it->side[1], false);
	it->line = base_printf(a, "%s races with %s%s%s%s [%s]", it->side[0].verb, place,
			       *place ? ": " : "", it->side[1].verb, in, it->title);
}

static void form_end(struct rep_form *f)
{
	sources_find(f);
	prints_make(f);
	for (size_t i = 0; i < f->items.n; i++)
		line_make(&f->arena, &f->items.v[i]);
}

/* Texts for people are broken into lines; machines and pages break them themselves. */
static const char *unbroken(struct base_arena *a, const char *text)
{
	char *one = base_strdup(a, text);

	for (char *p = one; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return one;
}

static void side_clear(struct rep_form_side *s)
{
	*s = (struct rep_form_side){
		.verb = "", .access = "", .file = "", .func = "", .launched = "", .source = ""};
}

/* ---- runs ------------------------------------------------------------------------------ */

static const char *verb_of(enum race_access access)
{
	switch (access) {
	case RACE_ACCESS_LOAD:
	case RACE_ACCESS_NC_LOAD:
		return "load";
	case RACE_ACCESS_STORE:
		return "store";
	case RACE_ACCESS_ATOMIC:
		return "atomic";
	case RACE_ACCESS_COPY:
	case RACE_ACCESS_TRANSFER:
		return "copy";
	case RACE_ACCESS_PRODUCT:
		return "product";
	default:
		return "access";
	}
}

/* The program's own frame of the chain, or the access. */
static void side_place(struct rep_view *v, struct rep_form_side *s, const struct race_finding *f)
{
	const struct rep_frame *chain = rep_chain(&v->arena, f);
	const struct rep_frame *fr = &chain[rep_own_frame(chain, f->ninlined + 1)];

	s->file = fr->file;
	s->line = fr->line;
	s->col = fr->col;
	s->func = rep_name(v, fr->func);
}

static const char *launch_text(struct base_arena *a, const struct race_line *l)
{
	return l->line ? base_printf(a, "%s:%u", l->file, l->line) : "";
}

static void side_of_pair(struct rep_view *v, struct rep_form_side *to, const struct race_side *s)
{
	struct race_finding f = {.func = s->func,
				 .func_shown = s->func_shown,
				 .file = s->file,
				 .line = s->line,
				 .col = s->col,
				 .inlined = s->inlined,
				 .ninlined = s->ninlined};
	bool is_host = s->flags & RACE_SIDE_HOST;

	side_clear(to);
	side_place(v, to, &f);
	to->verb = is_host && s->access != RACE_ACCESS_COPY
			   ? (s->flags & RACE_SIDE_WRITES ? "host write" : "host read")
			   : verb_of(s->access);
	to->access = is_host ? s->text
			     : rep_access_text(&v->arena, s->access, s->space, s->width, s->vec);
	to->launched = launch_text(&v->arena, &s->launched);
	to->has_thread = !is_host;
	memcpy(to->thread, s->thread, sizeof(to->thread));
	memcpy(to->block, s->block, sizeof(to->block));
}

static void side_alone(struct rep_view *v, struct rep_form_side *to, const struct race_finding *f)
{
	side_clear(to);
	side_place(v, to, f);
	to->verb = race_space_is_host(f->space) ? "host code" : verb_of(f->access);
	to->access = f->transfer ? f->transfer->api : f->access ? rep_access(&v->arena, f) : "";
	if (f->nlaunched)
		to->launched = launch_text(&v->arena, &f->launched[0]);
	to->has_thread = !f->transfer && !race_space_is_host(f->space);
	memcpy(to->thread, f->first.thread, sizeof(to->thread));
	memcpy(to->block, f->first.block, sizeof(to->block));
}

static const char *kernel_of(struct rep_view *v, const struct race_finding *f)
{
	if (f->transfer || race_space_is_host(f->space))
		return "";
	for (unsigned i = 0; f->sides && i < 2; i++)
		if (*f->sides[i].kernel)
			return rep_name(v, f->sides[i].kernel);
	return rep_name(v, f->func_shown);
}

static void item_of_entry(struct rep_form *form, struct rep_view *v, const struct rep_entry *e)
{
	const struct race_finding *f = &e->f;
	struct base_arena *a = &v->arena;
	struct rep_form_item it = {
		.rule = base_printf(a, "%s/%s", race_class_name(f->cls), race_kind_name(f->kind)),
		.rule_title = race_kinds[(unsigned)f->kind < RACE_KIND_COUNT ? f->kind : 0].title,
		.level = f->cls == RACE_CLASS_RACE	 ? REP_FORM_ERROR
			 : f->cls >= RACE_CLASS_POSSIBLE ? REP_FORM_NOTE
							 : REP_FORM_WARNING,
		.kind = rep_class_title(f->cls),
		.title = rep_kind_title(f),
		.sentence = unbroken(a, rep_kind_sentence(f)),
		.help = unbroken(a, race_advice(a, f)),
		.kernel = kernel_of(v, f),
		.values = f->sides ? "" : rep_values(a, f),
		.missing = race_missing_words(f),
		.nsides = f->sides ? 2 : 1,
		.count = f->count,
		.print = f->print,
		.ignored = e->ignored ? race_ignored_name(e->ignored) : "",
	};

	if (!it.rule_title)
		it.rule_title = it.title;
	side_clear(&it.side[1]);
	if (f->sides) {
		side_of_pair(v, &it.side[0], &f->sides[0]);
		side_of_pair(v, &it.side[1], &f->sides[1]);
	} else {
		side_alone(v, &it.side[0], f);
	}
	base_vec_push(&form->items, it);
}

static void kernels_of_run(struct rep_form *form, struct rep_view *v)
{
	for (size_t i = 0; i < v->r->kernels.n; i++) {
		const struct race_kernel *k = &v->r->kernels.v[i];
		struct rep_form_kernel to = {
			.name = rep_name(v, k->name_shown), .why = "", .launches = k->launches};
		if (!k->is_instrumented) {
			to.state = REP_FORM_UNCHECKED;
			to.why = "it ran without checks";
		} else if (k->started > k->checked || k->cuts) {
			to.state = k->checked ? REP_FORM_PARTLY : REP_FORM_UNCHECKED;
			to.why = base_printf(&v->arena, "%s of %s checked",
					     rep_number(&v->arena, k->checked),
					     rep_count(&v->arena, k->started, "launch"));
		} else if (k->proven) {
			to.why = base_printf(&v->arena, "%s of %s proven for every schedule",
					     rep_number(&v->arena, k->proven),
					     rep_count(&v->arena, k->launches, "launch"));
		}
		base_vec_push(&form->kernels, to);
	}
}

static void notes_of_run(struct rep_form *form, struct rep_view *v)
{
	struct base_arena *a = &v->arena;

	for (size_t i = 0; i < v->r->stops.n; i++)
		base_vec_push(&form->notes, base_printf(a, "stopped: %s", v->r->stops.v[i].text));
	for (size_t i = 0; i < v->r->skips.n; i++) {
		const struct race_skip *s = &v->r->skips.v[i];
		base_vec_push(&form->notes,
			      base_printf(a, "not checked: %s%s%s (%s)",
					  rep_count(a, s->count, s->what), *s->func ? " in " : "",
					  s->func_shown, race_why_name(s->why)));
	}
	for (size_t i = 0; i < v->r->plain.n; i++)
		base_vec_push(&form->notes, base_printf(a, "without checks: %s", v->r->plain.v[i]));
	for (size_t i = 0; i < v->r->notes.n; i++)
		base_vec_push(&form->notes, v->r->notes.v[i]);
}

void rep_form_of_view(struct rep_form *form, struct rep_view *v)
{
	memset(form, 0, sizeof(*form));
	form->opt = v->opt;
	form->command = v->r->command ? v->r->command : "";
	form->result = rep_result_sentence(v);
	form->is_complete = v->verdict != REP_VERDICT_NOTHING;
	for (size_t i = 0; i < v->entries.n; i++)
		item_of_entry(form, v, &v->entries.v[i]);
	kernels_of_run(form, v);
	notes_of_run(form, v);
	form_end(form);
}

void rep_prints_make(struct rep_view *v)
{
	struct rep_options opt = *v->opt;
	struct rep_form form = {.opt = &opt};
	size_t had = 0;

	while (had < v->entries.n && v->entries.v[had].f.print)
		had++;
	if (had == v->entries.n)
		return; /* no source needs to be read */
	opt.no_source = false;
	for (size_t i = 0; i < v->entries.n; i++)
		item_of_entry(&form, v, &v->entries.v[i]);
	sources_find(&form);
	prints_make(&form);
	for (size_t i = 0; i < v->entries.n; i++)
		v->entries.v[i].f.print = form.items.v[i].print;
	rep_form_free(&form);
}

/* ---- proofs ------------------------------------------------------------------------------ */

static void side_of_alarm(struct rep_form *form, struct rep_form_side *to,
			  const struct race_proof *k, const struct race_alarm *al, unsigned i)
{
	static const char *const verbs[] = {
		[RACE_OP_READ] = "load", [RACE_OP_WRITE] = "store", [RACE_OP_RMW] = "atomic"};
	const struct race_alarm_side *s = &al->side[i];

	side_clear(to);
	to->verb = verbs[s->kind];
	to->access = base_printf(&form->arena, "%s of %u bytes", verbs[s->kind], s->bytes);
	to->file = s->file;
	to->func = k->name_shown;
	to->line = s->line;
	to->col = s->col;
	to->has_thread = al->has_launch;
	memcpy(to->thread, s->tid, sizeof(to->thread));
	memcpy(to->block, s->ctaid, sizeof(to->block));
}

static void item_of_alarm(struct rep_form *form, const struct race_proof *k,
			  const struct race_alarm *al)
{
	static const char *const missing[] = {
		[RACE_LEVEL_THREAD] = "",
		[RACE_LEVEL_WARP] = "no __syncwarp() between",
		[RACE_LEVEL_BLOCK] = "no barrier of the block between",
		[RACE_LEVEL_CLUSTER] = "no barrier of the cluster between",
		[RACE_LEVEL_GRID] = "nothing orders the two"};
	struct base_arena *a = &form->arena;
	bool is_read_only = al->cls == RACE_CLASS_READ_ONLY;
	struct rep_form_item it = {
		.rule = al->is_true ? "proof/true-alarm" : "proof/potential-alarm",
		.rule_title = al->is_true ? "a race in a launch that the contract allows"
					  : "accesses that may race for some input",
		.level = al->is_true ? REP_FORM_ERROR : REP_FORM_WARNING,
		.kind = al->is_true ? "TRUE ALARM" : "POTENTIAL ALARM",
		.title = base_printf(a, "%s on %s", rep_alarm_title(al->cls), al->object),
		.help = unbroken(a, race_proof_helps(a, k, al)),
		.kernel = k->name_shown,
		.values = "",
		.missing = is_read_only ? "" : missing[al->level],
		.nsides = 2,
		.ignored = al->is_benign ? "same-value" : "",
	};

	it.sentence = *al->reason    ? al->reason
		      : is_read_only ? "Nothing makes a read-only load of it right."
				     : "Nothing orders these two accesses.";
	if (al->has_launch)
		it.values = base_printf(a, "%s blockDim (%u, %u, %u), gridDim (%u, %u, %u)",
					al->is_true || al->confirmed == RACE_CONFIRMED
						? "found with"
						: "it would need, say,",
					al->ntid[0], al->ntid[1], al->ntid[2], al->nctaid[0],
					al->nctaid[1], al->nctaid[2]);
	for (size_t i = 0; i < k->remedies.n; i++)
		it.help = base_printf(a, "%s%s--assume='%s'", it.help,
				      i		 ? " or "
				      : *it.help ? " Or, if launches keep to it: "
						 : "",
				      k->remedies.v[i].assume);
	side_of_alarm(form, &it.side[0], k, al, 0);
	side_of_alarm(form, &it.side[1], k, al, 1);
	base_vec_push(&form->items, it);
}

static void kernel_of_proof(struct rep_form *form, const struct race_proof *k)
{
	struct rep_form_kernel to = {.name = k->name_shown, .why = ""};

	for (size_t i = 0; i < k->problems.n; i++) {
		const struct race_problem *p = &k->problems.v[i];
		if (p->kind != RACE_PROBLEM_EXCLUDED) {
			to.state = REP_FORM_UNCHECKED;
			to.why = *to.why ? to.why : p->text;
		}
		base_vec_push(&form->notes,
			      base_printf(&form->arena, "%s: %s", k->name_shown, p->text));
	}
	for (size_t i = 0; i < k->alarms.n; i++)
		item_of_alarm(form, k, &k->alarms.v[i]);
	base_vec_push(&form->kernels, to);
}

void rep_form_of_proofs(struct rep_form *form, const struct race_proofs *r,
			const struct rep_options *opt)
{
	size_t alarms = 0, unproven = 0;

	memset(form, 0, sizeof(*form));
	form->opt = opt;
	form->is_proof = true;
	form->command = r->file ? r->file : "";
	for (size_t i = 0; i < r->kernels.n; i++) {
		kernel_of_proof(form, &r->kernels.v[i]);
		alarms += r->kernels.v[i].verdict == RACE_VERDICT_TRUE ||
			  r->kernels.v[i].verdict == RACE_VERDICT_POTENTIAL;
		unproven += form->kernels.v[i].state == REP_FORM_UNCHECKED;
	}
	form->is_complete = !unproven;
	form->result =
		base_printf(&form->arena, "%s: %zu with alarms, %zu not proven",
			    rep_count(&form->arena, r->kernels.n, "kernel"), alarms, unproven);
	form_end(form);
}

void rep_form_free(struct rep_form *f)
{
	base_vec_free(&f->items);
	base_vec_free(&f->kernels);
	base_vec_free(&f->notes);
	base_arena_free(&f->arena);
}

/* ---- texts in XML and HTML --------------------------------------------------------------- */

/* XML 1.0 allows no control character but tab and line ends, and only characters of UTF-8. */
void rep_escaped(struct base_buf *out, const char *s)
{
	size_t n;

	for (const char *end = s + strlen(s); s < end; s += n) {
		unsigned char c = (unsigned char)*s;
		n = base_utf8_length((const unsigned char *)s, (size_t)(end - s));
		if (c == '<')
			base_buf_puts(out, "&lt;");
		else if (c == '>')
			base_buf_puts(out, "&gt;");
		else if (c == '&')
			base_buf_puts(out, "&amp;");
		else if (c == '"')
			base_buf_puts(out, "&quot;");
		else if (c == '\n')
			base_buf_puts(out, "&#10;");
		else if (!n || (c < 0x20 && c != '\t'))
			base_buf_puts(out, "?");
		else
			base_buf_put(out, s, n);
		n += !n;
	}
}
