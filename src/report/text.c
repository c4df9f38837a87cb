/*
 * text.c - the report for people: head, one paragraph per finding.
 *
 * After figure 6 of the SuperCollider paper, with what its readers lacked: the source line, the
 * values, how certain it is, the usual correction. A report of one finding has at most 20 lines,
 * and so has each of several, of many the later ones fewer; what was said once isn't said again.
 * Where 20 are too few, what a reader misses least goes first (enum detail). The footer is in
 * footer.c, the line for each finding in summary.c. Colour only when the caller asked for it.
 *
 * Misses: a run that is partial for many reasons, and calls through several libraries, have more.
 */
#include "report/internal.h"

#include <string.h>

#define COLOR_BAD  "\033[1;31m"
#define COLOR_WARN "\033[1;33m"
#define COLOR_HEAD "\033[1m"
#define COLOR_OFF  "\033[0m"

#define INDENT "    "

static const char *color(const struct rep_view *v, const char *code)
{
	return v->opt->color ? code : "";
}

/* Prints text of several lines, each after the indent. */
static void lines_put(struct base_buf *out, const char *indent, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		base_buf_printf(out, "%s%.*s\n", indent, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

/* ---- what there is room for ---------------------------------------------------------------- */

#define LINES_MAX 20u
#define LINES_MIN 12u /* of a finding, however long the rest of the report is */

/* What is left out of a finding that has too many lines, in this order. */
enum detail {
	DETAIL_ALL,
	DETAIL_NO_NEIGHBOURS, /* of the source's line */
	DETAIL_NO_CARET,
	DETAIL_NO_SENTENCE,
	DETAIL_NO_LAUNCH,
};

static size_t lines_of(const char *s, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += s[i] == '\n';
	return lines;
}

/* ---- places ---------------------------------------------------------------------------- */

/* Of many findings the later ones are short: what readers know from the first ones is left out. */
#define LONG_FINDINGS 8u

static bool is_short(const struct rep_view *v, size_t number)
{
	return number > LONG_FINDINGS && !v->opt->verbose;
}

static void source_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
		       enum rep_source_form form)
{
	const struct rep_frame *fr = rep_shown_frame(v, f);

	rep_source(out, v->opt, fr->file, fr->line, fr->col, form, INDENT);
}

static enum rep_source_form form_of(const struct rep_view *v, bool is_alone)
{
	if (v->detail >= DETAIL_NO_CARET)
		return REP_SOURCE_BARE;
	return is_alone && v->detail == DETAIL_ALL ? REP_SOURCE_AROUND : REP_SOURCE_LINE;
}

/* Both places of a pair; one line once. */
static void sources_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
			bool is_short)
{
	struct race_finding at[2] = {rep_side_place(&f->sides[0]), rep_side_place(&f->sides[1])};
	const struct rep_frame *one = rep_shown_frame(v, &at[0]), *two = rep_shown_frame(v, &at[1]);

	if (one->line == two->line && !strcmp(one->file, two->file)) {
		source_put(out, v, &at[0], form_of(v, true));
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		source_put(out, v, &at[i], is_short ? REP_SOURCE_BARE : form_of(v, false));
}

/* ---- one side is known --------------------------------------------------------------------- */

static void first_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const struct race_first *o = &f->first;
	const char *values = rep_values(&v->arena, f);

	if (f->transfer)
		rep_transfer_first(out, v, f, INDENT);
	else if (race_space_is_host(f->space))
		base_buf_printf(out, INDENT "First noticed: %s of the host, Address 0x%llx\n",
				o->thread[0] ? base_printf(&v->arena, "thread %u", o->thread[0])
					     : "the main thread",
				(unsigned long long)o->address);
	else
		base_buf_printf(out,
				INDENT "First noticed: Thread (%u,%u,%u), Block (%u,%u,%u), "
				       "Address 0x%llx%s\n",
				o->thread[0], o->thread[1], o->thread[2], o->block[0], o->block[1],
				o->block[2], (unsigned long long)o->address,
				o->is_generic ? " (generic)" : "");
	if (*values)
		base_buf_printf(out, INDENT "Values       : %s\n", values);
	if (o->lanes)
		base_buf_printf(out, INDENT "Lanes        : %s\n",
				rep_lanes(&v->arena, o->lanes) + strlen("lanes "));
	base_buf_printf(out, INDENT "Occurrences  : %s%s", rep_number(&v->arena, f->count),
			f->is_muted ? " or more" : "");
	base_buf_puts(out, f->transfer	  ? "\n"
			   : f->count > 1 ? " (possibly by other threads at other addresses)\n"
					  : "\n");
}

static void verbose_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	for (size_t i = 0; i < f->nsites; i++) {
		const struct race_finding_site *s = &f->sites[i];
		if (f->transfer)
			break;
		if (race_space_is_host(f->space)) {
			base_buf_printf(out, INDENT "Code         : %s  (%s)\n", s->text,
					rep_count(&v->arena, s->count, "time"));
			continue;
		}
		base_buf_printf(out,
				INDENT "PTX          : %s  (line %u, %s, site %u of %016llx)\n",
				*s->text ? s->text : "unknown", s->ptx_line,
				rep_count(&v->arena, s->count, "time"), s->site,
				(unsigned long long)s->table);
	}
	if (!race_space_is_host(f->space) && !f->transfer)
		base_buf_printf(out, INDENT "Grid         : %llu, on SM %u\n",
				(unsigned long long)f->first.grid, f->first.sm);
	for (size_t i = 0; i < f->nseen; i++)
		base_buf_printf(out, INDENT "Seen         : process %u, context %u, device %d %s\n",
				f->seen[i].pid, f->seen[i].context, f->seen[i].device,
				f->seen[i].device_name);
	if (*f->module || *f->target)
		base_buf_printf(out, INDENT "Module       : %s %s\n", f->module, f->target);
}

static void single_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const char *access = f->transfer ? (f->nsites ? f->sites[0].text : f->transfer->api)
			     : f->access ? rep_access(&v->arena, f)
					 : "access";

	/* rep_transfer_first gives the address of a call whose line is not known. */
	base_buf_printf(out, INDENT "%s%s%s%s\n", access, f->is_volatile ? ", volatile" : "",
			*f->file || !f->transfer ? " at " : "",
			*f->file || !f->transfer ? rep_where(v, f) : "");
	rep_calls(out, v, f, INDENT);
	rep_unsure(out, rep_is_unsure(f->inlined, f->ninlined), false, INDENT);
	source_put(out, v, f, form_of(v, true));
	if (!v->opt->verbose && (f->is_near || !f->line) && f->access && !f->transfer &&
	    !race_space_is_host(f->space) && f->nsites && *f->sites[0].text)
		base_buf_printf(out, INDENT "PTX          : %s  (line %u)\n", f->sites[0].text,
				f->sites[0].ptx_line);
	first_put(out, v, f);
	if (v->opt->verbose)
		verbose_put(out, v, f);
}

/* ---- both are -------------------------------------------------------------------------------- */

static bool is_host_code(const struct race_side *s)
{
	return s->flags & RACE_SIDE_HOST && s->access != RACE_ACCESS_COPY;
}

/* "load of 4 bytes, shared memory" and, unless it is weak, "(relaxed, scope gpu)". */
static const char *access_of(struct rep_view *v, const struct race_side *s)
{
	struct base_arena *a = &v->arena;
	bool is_plain = s->strength == RACE_WEAK && s->proxy == RACE_PROXY_GENERIC;

	if (is_host_code(s))
		return base_printf(a, "%s of host code: %s",
				   s->flags & RACE_SIDE_WRITES ? "store" : "load",
				   *s->func_shown ? s->func_shown : "unknown function");
	if (s->flags & RACE_SIDE_HOST)
		return base_printf(a, "%s%s", s->text,
				   s->flags & RACE_SIDE_FREES	 ? ", gives up"
				   : s->flags & RACE_SIDE_WRITES ? ", writes"
								 : ", reads");
	if (!s->access)
		return "an access";
	/* To the oracle it is a store to all columns. */
	if (s->text && strstr(s->text, "tcgen05.dealloc"))
		return "tcgen05.dealloc, tensor memory";
	return base_printf(a, "%s%s%s%s", rep_access_text(a, s->access, s->space, s->width, s->vec),
			   is_plain && !v->opt->verbose ? "" : " (",
			   is_plain && !v->opt->verbose ? "" : rep_side_order(a, s),
			   is_plain && !v->opt->verbose ? "" : ")");
}

/* " at main.cu:12:3 in main"; what there is of an operation of the host. */
static const char *side_place(struct rep_view *v, const struct race_side *s)
{
	const struct race_finding f = rep_side_place(s);
	struct base_arena *a = &v->arena;
	bool is_host = s->flags & RACE_SIDE_HOST;

	if (is_host_code(s)) {
		const struct rep_frame *fr = rep_shown_frame(v, &f);
		return *s->file
			       ? base_printf(a, " at %s", rep_place(a, fr->file, fr->line, fr->col))
			       : base_printf(a, " (%s)", s->text);
	}
	if (is_host && !*s->file && s->origin && *s->origin->op->module)
		return base_printf(a, ", called from %s+0x%llx (build it with -g)",
				   s->origin->op->module,
				   (unsigned long long)s->origin->op->offset);
	if (is_host && !*s->file)
		return *s->func_shown ? base_printf(a, " in %s", s->func_shown) : "";
	return *s->func || is_host ? base_printf(a, " at %s", rep_where(v, &f))
				   : " at a place that was not kept";
}

static bool has_many_devices(const struct rep_view *v, const struct race_finding *f)
{
	for (size_t i = 1; i < v->r->contexts.n; i++)
		if (v->r->contexts.v[i].device != v->r->contexts.v[0].device)
			return true;
	return f->sides[0].device != f->sides[1].device && f->sides[0].device >= 0 &&
	       f->sides[1].device >= 0;
}

/* The thread that did it. */
static const char *actor_of(struct rep_view *v, const struct race_finding *f,
			    const struct race_side *s)
{
	struct base_arena *a = &v->arena;

	if (s->flags & RACE_SIDE_HOST)
		return s->access == RACE_ACCESS_COPY ? "the host" : "host code";
	return base_printf(a, "%sThread (%u,%u,%u), Block (%u,%u,%u)%s%s",
			   s->flags & RACE_SIDE_SOME ? "another thread; kept for several was " : "",
			   s->thread[0], s->thread[1], s->thread[2], s->block[0], s->block[1],
			   s->block[2],
			   has_many_devices(v, f) ? base_printf(a, ", Device %d", s->device) : "",
			   !(s->flags & RACE_SIDE_ASYNC)      ? ""
			   : s->access == RACE_ACCESS_PRODUCT ? ", its matrix product"
							      : ", its asynchronous copy");
}

/* Do the same calls lead to both? */
static bool has_same_calls(const struct race_side *a, const struct race_side *b)
{
	bool is_same = a->ninlined == b->ninlined && !strcmp(a->func, b->func);

	for (size_t i = 0; i < a->ninlined && is_same; i++)
		is_same = a->inlined[i].line == b->inlined[i].line &&
			  a->inlined[i].col == b->inlined[i].col &&
			  !strcmp(a->inlined[i].file, b->inlined[i].file);
	return is_same;
}

static void side_put(struct base_buf *out, struct rep_view *v, const struct race_side *s,
		     const char *verb, bool has_calls)
{
	const struct race_finding f = rep_side_place(s);

	base_buf_printf(out, INDENT "%s%s%s\n", verb, access_of(v, s), side_place(v, s));
	/* In a library's code they have the place of the access itself. */
	has_calls = has_calls || (verb[0] && rep_shown_frame(v, &f)->line != s->line);
	if (*s->file && has_calls)
		rep_calls(out, v, &f, INDENT);
	if (s->flags & RACE_SIDE_HOST)
		return;
	if ((v->opt->verbose || !s->line || s->is_near) && *s->func)
		base_buf_printf(out, INDENT "PTX          : %s  (line %u)\n",
				*s->text ? s->text : "unknown", s->ptx_line);
	if (v->opt->verbose)
		base_buf_printf(out, INDENT "Grid         : %llu, kernel %s, Address 0x%llx\n",
				(unsigned long long)s->grid, rep_name(v, s->kernel),
				(unsigned long long)s->address);
}

/* Are both sides one line, which says all of the second that its own would? */
static bool is_one_place(struct rep_view *v, const struct race_side *s)
{
	const struct race_finding f = rep_side_place(&s[1]);

	return !v->opt->verbose && s[0].line && !s[0].is_near && !s[1].is_near &&
	       !((s[0].flags | s[1].flags) & RACE_SIDE_HOST) && has_same_calls(&s[0], &s[1]) &&
	       rep_shown_frame(v, &f)->line == s[1].line &&
	       !strcmp(side_place(v, &s[0]), side_place(v, &s[1]));
}

/* "load of 4 bytes RACES WITH store of 4 bytes, shared memory": what is the same is said once. */
static const char *both_of(struct rep_view *v, const struct race_side *s, const char *verb)
{
	const char *one = access_of(v, &s[0]), *two = access_of(v, &s[1]);
	const char *end = strchr(one, ','), *same = strchr(two, ',');
	size_t n = end && same && !strcmp(end, same) ? (size_t)(end - one) : strlen(one);

	return base_printf(&v->arena, "%.*s %s%s", (int)n, one, verb, two);
}

/* Both sides: a line each, or one where the place is the same. */
static void sides_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
		      bool has_calls)
{
	const char *verb = f->cls == RACE_CLASS_UNDECIDED ? "MAY RACE WITH " : "RACES WITH ";
	bool is_said = has_same_calls(&f->sides[0], &f->sides[1]) && !v->opt->verbose;

	bool is_unsure[2];

	for (unsigned i = 0; i < 2; i++)
		is_unsure[i] =
			has_calls && rep_is_unsure(f->sides[i].inlined, f->sides[i].ninlined);
	if (!is_one_place(v, f->sides)) {
		side_put(out, v, &f->sides[0], "", has_calls);
		rep_unsure(out, is_unsure[0] && !is_unsure[1], false, INDENT);
		side_put(out, v, &f->sides[1], verb, has_calls && !is_said);
		rep_unsure(out, is_unsure[0] && is_unsure[1], is_unsure[1], INDENT);
		return;
	}
	const struct race_finding at = rep_side_place(&f->sides[0]);
	base_buf_printf(out, INDENT "%s%s\n", both_of(v, f->sides, verb),
			side_place(v, &f->sides[0]));
	if (has_calls)
		rep_calls(out, v, &at, INDENT);
	rep_unsure(out, is_unsure[0] || is_unsure[1], false, INDENT);
}

static const char *launched(struct rep_view *v, const struct race_side *s)
{
	return rep_line(v, &s->launched, s->launched_shown);
}

/* Every place that is known to launch the kernel. */
static void launchers_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	for (size_t i = 0; i < f->nlaunched; i++) {
		const struct race_line *l = &f->launched[i];
		base_buf_printf(out, INDENT "%s: %s\n", i ? "         and " : "Launched     ",
				rep_line(v, l, race_demangle(&v->arena, l->func)));
	}
}

/* Where the host launched the kernels of a pair. */
static void launches_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const char *one = launched(v, &f->sides[0]), *two = launched(v, &f->sides[1]);
	bool is_same = f->sides[0].grid == f->sides[1].grid;

	if ((f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_HOST || is_same) {
		if (*one || *two)
			base_buf_printf(out, INDENT "Launched     : %s\n", *one ? one : two);
		return;
	}
	base_buf_printf(out, INDENT "Launches     : %llu (%s%s%s) and %llu (%s%s%s)\n",
			(unsigned long long)f->sides[0].grid, rep_name(v, f->sides[0].kernel),
			*one ? ", launched " : "", one, (unsigned long long)f->sides[1].grid,
			rep_name(v, f->sides[1].kernel), *two ? ", launched " : "", two);
}

static void occurrences_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const char *apart = rep_apart_text(&v->arena, f);

	base_buf_printf(out, INDENT "Occurrences  : %s", rep_number(&v->arena, f->count));
	for (size_t i = 0; i < f->nalso; i++)
		base_buf_printf(out, "%s%s (%s)", i ? ", " : "; also as ",
				race_kinds[f->also[i].kind].title,
				rep_number(&v->arena, f->also[i].count));
	base_buf_puts(out, *apart	  ? base_printf(&v->arena, ", %s\n", apart)
			   : f->count > 1 ? " (possibly by other threads at other addresses)\n"
					  : "\n");
}

static void pair_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
		     bool is_short)
{
	const char *object = rep_object(&v->arena, f, v->opt->verbose);
	const char *one = actor_of(v, f, &f->sides[0]), *two = actor_of(v, f, &f->sides[1]);

	sides_put(out, v, f, !is_short);
	if (f->cls == RACE_CLASS_UNDECIDED)
		base_buf_printf(out, INDENT "May order    : %s\n", race_may_text(f->may));
	sources_put(out, v, f, is_short);
	base_buf_printf(out, INDENT "By           : %s%s%s\n", one,
			strcmp(one, two) ? ", and " : "", strcmp(one, two) ? two : "");
	if (f->sides[0].space != RACE_SPACE_REGISTERS)
		base_buf_printf(out, INDENT "Memory       : %s%sAddress 0x%llx\n", object,
				*object ? ", " : "", (unsigned long long)f->first.address);
	if (!is_short && v->detail < DETAIL_NO_LAUNCH)
		launches_put(out, v, f);
	if (f->judged)
		base_buf_printf(out, INDENT "Judged       : %s\n", f->judged);
	occurrences_put(out, v, f);
}

/* The other functions, or instances of the template, that have the same finding. */
static void functions_put(struct base_buf *out, struct rep_view *v, const struct rep_entry *e)
{
	const char *text = "";

	for (size_t i = 1; i < e->nfunctions && i < REP_FUNCTIONS; i++) {
		const char *name = rep_name(v, e->functions[i]);
		if (!strcmp(name, rep_name(v, e->functions[0])) || strstr(text, name))
			continue;
		text = base_printf(&v->arena, "%s%s%s", text, *text ? ", " : "", name);
	}
	if (*text)
		base_buf_printf(out, INDENT "The same in  : %s%s\n", text,
				e->nfunctions > REP_FUNCTIONS ? " and others" : "");
	else if (e->nfunctions > 1)
		base_buf_printf(out, INDENT "The same in  : other instances of this template\n");
}

/* The first finding of the report with the same text; this one, if there is none before. */
static size_t first_with(struct rep_view *v, size_t number, const char *text,
			 const char *(*of)(struct base_arena *a, const struct race_finding *f))
{
	for (size_t i = 0; i + 1 < number; i++)
		if (!strcmp(of(&v->arena, &v->entries.v[i].f), text))
			return i + 1;
	return number;
}

static const char *sentence_of(struct base_arena *a, const struct race_finding *f)
{
	(void)a;
	return rep_kind_sentence(f);
}

static void advice_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
		       size_t number)
{
	const char *text = race_advice(&v->arena, f);
	size_t first = first_with(v, number, text, race_advice);

	if (first < number) {
		base_buf_printf(out, INDENT "What usually helps: as for %zu.\n", first);
		return;
	}
	rep_help_put(out, text,
		     f->cls == RACE_CLASS_UNDECIDED ? ", unless they are ordered in every run"
						    : "");
}

static void detailed_put(struct base_buf *out, struct rep_view *v, const struct rep_entry *e,
			 size_t number)
{
	const struct race_finding *f = &e->f;
	const char *tint = f->cls == RACE_CLASS_RACE ? COLOR_BAD : COLOR_WARN;
	const char *sentence = rep_kind_sentence(f);

	base_buf_printf(out, "%s%zu. %s: %s%s\n", color(v, tint), number, rep_class_title(f->cls),
			rep_kind_title(f), color(v, COLOR_OFF));
	if (v->detail < DETAIL_NO_SENTENCE &&
	    first_with(v, number, sentence, sentence_of) == number)
		lines_put(out, INDENT, sentence);
	if (f->sides)
		pair_put(out, v, f, is_short(v, number));
	else
		single_put(out, v, f);
	if (v->detail < DETAIL_NO_LAUNCH)
		launchers_put(out, v, f);
	functions_put(out, v, e);
	advice_put(out, v, f, number);
	base_buf_puts(out, "\n");
}

/* As detailed as `most` lines allow. */
static void finding_put(struct base_buf *out, struct rep_view *v, const struct rep_entry *e,
			size_t number, size_t most)
{
	size_t start = out->n;

	v->detail = is_short(v, number) ? DETAIL_NO_NEIGHBOURS : DETAIL_ALL;
	for (;; v->detail++) {
		out->n = start;
		detailed_put(out, v, e, number);
		if (v->opt->verbose || v->detail == DETAIL_NO_LAUNCH ||
		    lines_of(out->p + start, out->n - start) <= most)
			return;
	}
}

/* What may have led the stopped instruction there: its own race, or one in its function. */
static const char *why_stopped(const struct rep_view *v, const struct race_stop *stop)
{
	bool is_near = false;

	for (size_t i = 0; i < v->nshown; i++) {
		const struct race_finding *f = &v->entries.v[i].f;
		if (v->entries.v[i].explains && race_explains(f, stop))
			return "          by the data race that is shown first\n";
		for (unsigned k = 0; f->sides && f->cls == RACE_CLASS_RACE && k < 2; k++)
			is_near |= *stop->func && !strcmp(f->sides[k].func, stop->func);
	}
	return is_near ? "          perhaps by a data race of this function, below: what threads "
			 "read there may be wrong\n"
		       : "";
}

/* Is context i of a device that none before it has? */
static bool is_new_device(const struct race_results *r, size_t i)
{
	const struct race_context *c = &r->contexts.v[i];

	for (size_t j = 0; j < i; j++)
		if (r->contexts.v[j].device == c->device &&
		    !strcmp(r->contexts.v[j].device_name, c->device_name))
			return false;
	return true;
}

/* The program and its device, several devices in lines of their own. */
static void head_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;
	bool has_command = r->command && *r->command;
	size_t devices = 0;

	for (size_t i = 0; i < r->contexts.n; i++)
		devices += is_new_device(r, i);
	base_buf_printf(out, "%s======== COLLIDER REPORT%s%s%s", color(v, COLOR_HEAD),
			has_command ? ": " : "", has_command ? r->command : "",
			color(v, COLOR_OFF));
	for (size_t i = 0; i < r->contexts.n; i++) {
		const struct race_context *c = &r->contexts.v[i];
		const char *name = *c->device_name ? c->device_name : "unnamed";
		if (is_new_device(r, i))
			base_buf_printf(out,
					devices == 1 ? " (device %d, %s)" : "\nDevice  : %d, %s",
					c->device, name);
	}
	base_buf_puts(out, "\n");
	if (r->runs > 1)
		base_buf_printf(out, "Merged  : %u runs\n", r->runs);
	const char *tint = v->verdict == REP_VERDICT_RACES   ? COLOR_BAD
			   : v->verdict == REP_VERDICT_CLEAN ? COLOR_HEAD
							     : COLOR_WARN;
	for (size_t i = 0; i < r->stops.n; i++)
		base_buf_printf(out, "Stopped : %s\n%s", r->stops.v[i].text,
				why_stopped(v, &r->stops.v[i]));
	/* It is the last line, too: of one finding that is on the same screen. */
	if (v->nshown != 1 || v->opt->verbose)
		base_buf_printf(out, "Result  : %s%s%s\n\n", color(v, tint), rep_result_sentence(v),
				color(v, COLOR_OFF));
}

void rep_text(struct base_buf *out, struct rep_view *v)
{
	size_t limit = v->opt->print_limit, most = LINES_MAX;
	struct base_buf end = {0};

	rep_text_footer(&end, v);
	rep_summary(&end, v);
	base_buf_printf(&end, "%s======== %s%s\n", color(v, COLOR_HEAD), rep_result_sentence(v),
			color(v, COLOR_OFF));
	head_put(out, v);
	if (v->nshown == 1) {
		size_t rest = lines_of(out->p, out->n) + lines_of(end.p, end.n);
		most = rest + LINES_MIN < LINES_MAX ? LINES_MAX - rest : LINES_MIN;
	}
	if (!limit || limit > v->nshown)
		limit = v->nshown;
	for (size_t i = 0; i < limit; i++)
		finding_put(out, v, &v->entries.v[i], i + 1, most);
	if (limit < v->nshown)
		base_buf_printf(out, "%s not shown (--print-limit=%u)\n\n",
				rep_count(&v->arena, v->nshown - limit, "more finding"),
				v->opt->print_limit);
	base_buf_put(out, end.p, end.n);
	base_buf_free(&end);
}
