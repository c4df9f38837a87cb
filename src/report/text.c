/*
 * text.c - the report for people: head, one paragraph per finding.
 *
 * After figure 6 of the SuperCollider paper, with what its readers lacked: the source line, the
 * values, how certain it is, the usual correction. The footer is in footer.c. Colour only when the
 * caller asked for it.
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

static const char *place_text(struct base_arena *a, const char *file, uint32_t line, uint32_t col)
{
	if (!*file)
		return "an unknown place (build with -lineinfo)";
	if (!line)
		return file;
	return col ? base_printf(a, "%s:%u:%u", file, line, col)
		   : base_printf(a, "%s:%u", file, line);
}

/* The frames that lead to the access through a library, innermost last. */
static void through_put(struct base_buf *out, struct rep_view *v, const struct rep_frame *chain,
			size_t own)
{
	const struct rep_frame *in = &chain[0];

	base_buf_printf(out, INDENT "through %s, to\n", rep_fold(v, chain, own));
	base_buf_printf(out, INDENT "  %s in %s\n",
			place_text(&v->arena, in->file, in->line, in->col),
			*in->func ? rep_name(v, in->func) : "an unknown function");
}

/* The calls that were inlined around frame `at`; runs of library frames are counted. */
static void callers_put(struct base_buf *out, struct rep_view *v, const struct rep_frame *chain,
			size_t at, size_t n)
{
	for (size_t i = at + 1; i < n; i++) {
		const struct rep_frame *fr = &chain[i];
		size_t run = i;
		while (!v->opt->full_frames && run < n && chain[run].library)
			run++;
		if (run - i > 1) {
			const char *into = chain[run - 1].func;
			base_buf_printf(out, INDENT "inlined through %s%s%s\n",
					rep_fold(v, fr, run - i), *into ? " into " : "",
					rep_name(v, into));
			i = run - 1;
			continue;
		}
		base_buf_printf(out, INDENT "inlined at %s%s%s\n",
				place_text(&v->arena, fr->file, fr->line, fr->col),
				*fr->func ? " in " : "", rep_name(v, fr->func));
	}
}

static void place_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const struct rep_frame *chain = rep_chain(&v->arena, f);
	size_t n = f->ninlined + 1;
	size_t own = v->opt->full_frames ? 0 : rep_own_frame(chain, n);
	const struct rep_frame *fr = &chain[own];

	if (*fr->func)
		base_buf_printf(out, INDENT "in function %s\n", rep_name(v, fr->func));
	if (f->object && !*f->file)
		base_buf_printf(out, INDENT "at %s+0x%llx (build it with -g)\n", f->object,
				(unsigned long long)f->offset);
	else if (*f->file || !f->transfer) /* rep_transfer_first gives the address of the call */
		base_buf_printf(
			out, INDENT "at %s%s\n", place_text(&v->arena, fr->file, fr->line, fr->col),
			f->is_near ? " (the nearest line: the compiler made the instruction)" : "");
	rep_source(out, v->opt, fr->file, fr->line, fr->col, INDENT);
	if (own)
		through_put(out, v, chain, own);
	callers_put(out, v, chain, own, n);
	if (v->opt->verbose && strcmp(f->func, f->func_shown))
		base_buf_printf(out, INDENT "mangled %s\n", f->func);
}

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

/* One access of a pair. */
static void side_put(struct base_buf *out, struct rep_view *v, const struct race_side *s)
{
	struct base_arena *a = &v->arena;
	struct race_finding f = {.func = s->func,
				 .func_shown = s->func_shown,
				 .file = s->file,
				 .line = s->line,
				 .col = s->col,
				 .is_near = s->is_near,
				 .inlined = s->inlined,
				 .ninlined = s->ninlined};

	if (s->flags & RACE_SIDE_HOST) {
		if (s->access == RACE_ACCESS_COPY)
			base_buf_printf(out, INDENT "in an operation of the host: %s\n", s->text);
		else
			base_buf_printf(out, INDENT "in host code: %s (%s)\n",
					*s->func_shown ? s->func_shown : "unknown function",
					s->text);
		if (*s->file)
			place_put(out, v, &f);
		else if (s->origin && *s->origin->op->module)
			base_buf_printf(out, INDENT "called from %s+0x%llx (build it with -g)\n",
					s->origin->op->module,
					(unsigned long long)s->origin->op->offset);
		base_buf_printf(out, INDENT "Access       : %s, Address 0x%llx\n",
				s->flags & RACE_SIDE_FREES    ? "gives up"
				: s->flags & RACE_SIDE_WRITES ? "writes"
							      : "reads",
				(unsigned long long)s->address);
		return;
	}
	if (*s->func)
		place_put(out, v, &f);
	else
		base_buf_puts(out, INDENT "at a place that was not kept\n");
	if (s->access)
		base_buf_printf(out, INDENT "Access       : %s (%s)\n",
				rep_access_text(a, s->access, s->space, s->width, s->vec),
				rep_side_order(a, s));
	base_buf_printf(out,
			INDENT
			"By           : %sThread (%u,%u,%u), Block (%u,%u,%u)%s, Address 0x%llx\n",
			s->flags & RACE_SIDE_SOME ? "another thread; kept for several was " : "",
			s->thread[0], s->thread[1], s->thread[2], s->block[0], s->block[1],
			s->block[2], s->flags & RACE_SIDE_ASYNC ? ", its asynchronous copy" : "",
			(unsigned long long)s->address);
	if ((v->opt->verbose || !s->line || s->is_near) && *s->func)
		base_buf_printf(out, INDENT "PTX          : %s  (line %u)\n",
				*s->text ? s->text : "unknown", s->ptx_line);
	if (v->opt->verbose)
		base_buf_printf(out, INDENT "Grid         : %llu, kernel %s\n",
				(unsigned long long)s->grid, rep_name(v, s->kernel));
}

/* "main.cu:40:2 in main"; "" if it is not known. */
static const char *line_text(struct rep_view *v, const struct race_line *l, const char *shown)
{
	const char *func = rep_name(v, shown);

	if (l->line)
		return base_printf(&v->arena, "%s%s%s",
				   place_text(&v->arena, l->file, l->line, l->col),
				   *func ? " in " : "", func);
	return *func ? base_printf(&v->arena, "in %s (for its line: host code built with -g)", func)
		     : "";
}

static const char *launched(struct rep_view *v, const struct race_side *s)
{
	return line_text(v, &s->launched, s->launched_shown);
}

/* Every place that is known to launch the kernel. */
static void launchers_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	for (size_t i = 0; i < f->nlaunched; i++) {
		const struct race_line *l = &f->launched[i];
		base_buf_printf(out, INDENT "%s: %s\n", i ? "         and " : "Launched     ",
				line_text(v, l, race_demangle(&v->arena, l->func)));
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
	base_buf_printf(out, INDENT "Launches     : %llu (%s) and %llu (%s)\n",
			(unsigned long long)f->sides[0].grid, rep_name(v, f->sides[0].kernel),
			(unsigned long long)f->sides[1].grid, rep_name(v, f->sides[1].kernel));
	if (*one)
		base_buf_printf(out, INDENT "The first    : %s\n", one);
	if (*two)
		base_buf_printf(out, INDENT "The second   : %s\n", two);
}

static void pair_put(struct base_buf *out, struct rep_view *v, const struct race_finding *f)
{
	const char *object = rep_object(&v->arena, f, v->opt->verbose);

	side_put(out, v, &f->sides[0]);
	base_buf_printf(out, INDENT "%s\n",
			f->cls == RACE_CLASS_UNDECIDED ? "MAY RACE WITH" : "RACES WITH");
	side_put(out, v, &f->sides[1]);
	if (f->cls == RACE_CLASS_UNDECIDED)
		base_buf_printf(out, INDENT "May order    : %s\n", race_may_text(f->may));
	if (*object)
		base_buf_printf(out, INDENT "Memory       : %s\n", object);
	launches_put(out, v, f);
	base_buf_printf(out, INDENT "Occurrences  : %s%s\n", rep_number(&v->arena, f->count),
			f->count > 1 ? " (possibly by other threads at other addresses)" : "");
	for (size_t i = 0; i < f->nalso; i++)
		base_buf_printf(
			out, INDENT "%s%s (%s)\n", i ? "               " : "Seen also as : ",
			race_kinds[f->also[i].kind].title, rep_number(&v->arena, f->also[i].count));
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

static void finding_put(struct base_buf *out, struct rep_view *v, const struct rep_entry *e,
			size_t number)
{
	const struct race_finding *f = &e->f;
	const char *tint = f->cls == RACE_CLASS_RACE ? COLOR_BAD : COLOR_WARN;

	base_buf_printf(out, "%s%zu. %s: %s%s\n", color(v, tint), number, rep_class_title(f->cls),
			rep_kind_title(f), color(v, COLOR_OFF));
	lines_put(out, INDENT, rep_kind_sentence(f));
	if (f->sides) {
		pair_put(out, v, f);
	} else {
		place_put(out, v, f);
		if (f->transfer)
			base_buf_printf(out, INDENT "Access       : %s\n",
					f->nsites ? f->sites[0].text : f->transfer->api);
		else if (f->access)
			base_buf_printf(out, INDENT "Access       : %s%s\n",
					rep_access(&v->arena, f),
					f->is_volatile ? ", volatile" : "");
		if (!v->opt->verbose && (f->is_near || !f->line) && f->access && !f->transfer &&
		    !race_space_is_host(f->space) && f->nsites && *f->sites[0].text)
			base_buf_printf(out, INDENT "PTX          : %s  (line %u)\n",
					f->sites[0].text, f->sites[0].ptx_line);
		first_put(out, v, f);
		if (v->opt->verbose)
			verbose_put(out, v, f);
	}
	launchers_put(out, v, f);
	functions_put(out, v, e);
	base_buf_puts(out, INDENT "What usually helps:\n");
	lines_put(out, INDENT "  ", rep_kind_fix(&v->arena, f));
	base_buf_puts(out, "\n");
}

static bool is_explained(const struct rep_view *v, const struct race_stop *stop)
{
	for (size_t i = 0; i < v->nshown; i++)
		if (v->entries.v[i].explains && race_explains(&v->entries.v[i].f, stop))
			return true;
	return false;
}

static void head_put(struct base_buf *out, struct rep_view *v)
{
	const struct race_results *r = v->r;

	base_buf_printf(out, "%s======== COLLIDER REPORT ========%s\n", color(v, COLOR_HEAD),
			color(v, COLOR_OFF));
	if (r->command && *r->command)
		base_buf_printf(out, "Program : %s\n", r->command);
	for (size_t i = 0; i < r->contexts.n; i++) {
		const struct race_context *c = &r->contexts.v[i];
		bool is_new = true;
		for (size_t j = 0; j < i; j++)
			is_new = is_new && (r->contexts.v[j].device != c->device ||
					    strcmp(r->contexts.v[j].device_name, c->device_name));
		if (is_new)
			base_buf_printf(out, "Device  : %d, %s\n", c->device,
					*c->device_name ? c->device_name : "unnamed");
	}
	if (r->runs > 1)
		base_buf_printf(out, "Merged  : %u runs\n", r->runs);
	const char *tint = v->verdict == REP_VERDICT_RACES   ? COLOR_BAD
			   : v->verdict == REP_VERDICT_CLEAN ? COLOR_HEAD
							     : COLOR_WARN;
	for (size_t i = 0; i < r->stops.n; i++)
		base_buf_printf(out, "Stopped : %s\n%s", r->stops.v[i].text,
				is_explained(v, &r->stops.v[i])
					? "          by the data race that is shown first\n"
					: "");
	base_buf_printf(out, "Result  : %s%s%s\n\n", color(v, tint), rep_result_sentence(v),
			color(v, COLOR_OFF));
}

void rep_text(struct base_buf *out, struct rep_view *v)
{
	size_t limit = v->opt->print_limit;

	head_put(out, v);
	if (!limit || limit > v->nshown)
		limit = v->nshown;
	for (size_t i = 0; i < limit; i++)
		finding_put(out, v, &v->entries.v[i], i + 1);
	if (limit < v->nshown)
		base_buf_printf(out, "%s not shown (--print-limit=%u)\n\n",
				rep_count(&v->arena, v->nshown - limit, "more finding"),
				v->opt->print_limit);
	rep_text_footer(out, v);
	base_buf_printf(out, "%s======== %s%s\n", color(v, COLOR_HEAD), rep_result_sentence(v),
			color(v, COLOR_OFF));
}
