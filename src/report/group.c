/*
 * group.c - from findings per PTX instruction to entries per source line.
 *
 * Unrolling, vectorising and inlining make many PTX sites of one source line;
 * the reader needs one entry. Findings of the same line or pair of lines, kind and class become one
 * entry, whichever instance of a template they are in: counts are summed, the widest access is
 * shown, every site and context stays listed. The line is the program's own where a library was
 * inlined into it; in a library's own kernels the line of the launch is part of it. Findings
 * without a line, or with one of a text that a compiler made while the program ran, stay apart by
 * function and instruction, whatever its registers and offsets.
 *
 * Ignore rules are applied before grouping, so that no rule hides a finding that it doesn't match.
 * Order: first what explains a device's fault, then by class, kind and falling count; equal ones in
 * the order of arrival.
 */
#include "report/internal.h"

#include <stdlib.h>
#include <string.h>
#include "base/table.h"

struct group {
	UT_hash_handle hh;
	size_t index;
};

/* Widest first: what the memory system actually moved for this line. */
static void facts_widen(struct race_finding *into, const struct race_finding *f)
{
	if (into->sides || into->width * into->vec >= f->width * f->vec)
		return;
	into->access = f->access;
	into->space = f->space;
	into->width = f->width;
	into->vec = f->vec;
	/* The sighting and the space it is in belong together. */
	into->first = f->first;
}

static void also_add(struct base_arena *a, struct race_finding *into, enum race_kind kind,
		     uint64_t count)
{
	if (kind == into->kind || !count)
		return;
	for (size_t i = 0; i < into->nalso; i++) {
		if (into->also[i].kind == kind) {
			into->also[i].count += count;
			return;
		}
	}
	struct race_also *list = BASE_NEWN(a, struct race_also, into->nalso + 1);
	for (size_t i = 0; i < into->nalso; i++)
		list[i] = into->also[i];
	list[into->nalso++] = (struct race_also){kind, count};
	into->also = list;
}

/* All kinds of f are kinds of `into`, too. */
static void also_merge(struct base_arena *a, struct race_finding *into,
		       const struct race_finding *f)
{
	uint64_t own = f->count;

	for (size_t i = 0; i < f->nalso; i++) {
		also_add(a, into, f->also[i].kind, f->also[i].count);
		own -= f->also[i].count < own ? f->also[i].count : own;
	}
	also_add(a, into, f->kind, own);
}

/* A finding whose lists belong to the view, not to the results. */
static void finding_own(struct base_arena *a, struct race_finding *f,
			const struct race_finding *from)
{
	*f = *from;
	f->sites = NULL;
	f->seen = NULL;
	f->also = NULL;
	f->nsites = f->nseen = f->nalso = 0;
	for (size_t i = 0; i < from->nalso; i++)
		also_add(a, f, from->also[i].kind, from->also[i].count);
	for (size_t i = 0; i < from->nsites; i++)
		race_site_count(a, f, &from->sites[i]);
	for (size_t i = 0; i < from->nseen; i++)
		race_seen_add(a, f, &from->seen[i]);
}

/* How far apart the two threads of its sightings were, as far as that is known. */
static uint32_t apart_of(const struct race_finding *f)
{
	return f->apart || !f->sides || !*f->sides[1].func ? f->apart : 1u << race_apart_of(f);
}

static void finding_merge(struct base_arena *a, struct race_finding *into,
			  const struct race_finding *f)
{
	facts_widen(into, f);
	also_merge(a, into, f);
	if (into->apart | f->apart)
		into->apart = apart_of(into) | apart_of(f);
	into->missing |= f->missing;
	into->count += f->count;
	into->is_same_value = into->is_same_value && f->is_same_value;
	into->is_muted = into->is_muted || f->is_muted;
	into->is_volatile = into->is_volatile || f->is_volatile;
	for (size_t i = 0; i < f->nsites; i++)
		race_site_count(a, into, &f->sites[i]);
	for (size_t i = 0; i < f->nseen; i++)
		race_seen_add(a, into, &f->seen[i]);
}

/* The direction of operations of the host, which their place doesn't show. */
static unsigned way_of(const struct race_side *s)
{
	return s->flags & RACE_SIDE_HOST ? s->flags & (RACE_SIDE_READS | RACE_SIDE_WRITES) : 0;
}

/* A compiler's text, which is its own source as it has no lines of one (image_keep_text): each copy
 * of an unrolled loop has a line. */
static bool is_made(const char *file)
{
	return strstr(file, "/collider/text/") != NULL;
}

/* A line of the program's own code where there is one, else of a library, with the launch. */
static const char *place_key(struct base_arena *a, const struct race_finding *f,
			     const struct race_line *launched)
{
	const struct rep_frame *chain = rep_chain(a, f);
	const struct rep_frame *fr = &chain[rep_own_frame(chain, f->ninlined + 1)];

	if (!fr->line || is_made(fr->file))
		return base_printf(a, "0|%s|%s", f->file, f->func);
	if (!fr->library || !launched || !launched->line)
		return base_printf(a, "%u|%s", fr->line, fr->file);
	return base_printf(a, "%u|%s|%u|%s", fr->line, fr->file, launched->line, launched->file);
}

/* The instruction without the numbers of its registers and offsets: where no line is known, what
 * unrolling has made of a loop is still one. */
static const char *shape_of(struct base_arena *a, const char *text)
{
	char *out = base_strdup(a, text), *to = out;
	bool is_number = false;

	for (const char *p = text; *p; p++) {
		if ((*p == '+' || *p == '-') && p[1] >= '0' && p[1] <= '9') {
			p += strspn(p + 1, "0123456789");
			continue;
		}
		if (*p == '%')
			is_number = true;
		else if (strchr(" ,;[]{}", *p))
			is_number = false;
		if (!is_number || !(*p >= '0' && *p <= '9'))
			*to++ = *p;
	}
	*to = 0;
	return out;
}

static const char *side_key(struct base_arena *a, const struct race_side *s)
{
	const struct race_finding at = {.func = s->func,
					.func_shown = s->func_shown,
					.file = s->file,
					.line = s->line,
					.inlined = s->inlined,
					.ninlined = s->ninlined};
	/* Copies of many streams are one: "copy on stream 3". */
	const char *text = s->line && !is_made(s->file) ? ""
			   : s->flags & RACE_SIDE_HOST	? s->text
							: shape_of(a, s->text);
	const char *end = s->flags & RACE_SIDE_HOST ? strstr(text, " on stream ") : NULL;

	/* A read and a write of the host are different findings. */
	return base_printf(a, "%u %s|%.*s", way_of(s), place_key(a, &at, &s->launched),
			   end ? (int)(end - text) : (int)strlen(text), text);
}

/* The same for all instances of a template and whichever side of a pair came first. */
static const char *group_key(struct base_arena *a, const struct race_finding *f,
			     enum race_ignored ignored, const char *place[2])
{
	/* Operations of the host have no line either; their call is their place. */
	bool is_host = f->sides && (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_HOST;
	bool has_line = f->line && !is_made(f->file);
	const struct race_finding_site *s = !has_line && f->nsites && !is_host ? f->sites : NULL;
	const char *one, *two = "";

	if (f->sides) {
		one = place[0] = side_key(a, &f->sides[0]);
		two = place[1] = side_key(a, &f->sides[1]);
		if (strcmp(one, two) > 0) {
			const char *swap = one;
			one = two;
			two = swap;
		}
	} else {
		one = place_key(a, f, NULL);
	}
	return base_printf(a, "%u %u %u %llx.%s %s|%s", (unsigned)ignored, (unsigned)f->cls,
			   (unsigned)f->kind, s ? (unsigned long long)s->table : 0,
			   s ? shape_of(a, s->text) : "", one, two);
}

static void function_add(struct base_arena *a, struct rep_entry *e, const char *func)
{
	for (size_t i = 0; i < e->nfunctions && i < REP_FUNCTIONS; i++)
		if (!strcmp(e->functions[i], func))
			return;
	if (!*func)
		return;
	if (!e->functions)
		e->functions = BASE_NEWN(a, const char *, REP_FUNCTIONS);
	if (e->nfunctions < REP_FUNCTIONS)
		e->functions[e->nfunctions] = func;
	e->nfunctions++;
}

/* The functions that the reader knows the finding by. */
static void functions_add(struct base_arena *a, struct rep_entry *e, const struct race_finding *f)
{
	if (!f->nfunctions)
		function_add(a, e, f->func_shown);
	for (size_t i = 0; i < f->nfunctions; i++)
		function_add(a, e, f->functions[i]);
}

int rep_entry_compare(const void *pa, const void *pb)
{
	const struct rep_entry *a = pa, *b = pb;

	if ((a->ignored != 0) != (b->ignored != 0))
		return a->ignored ? 1 : -1;
	if (a->explains != b->explains)
		return a->explains ? -1 : 1;
	if (a->f.cls != b->f.cls)
		return a->f.cls < b->f.cls ? -1 : 1;
	if (a->f.kind != b->f.kind)
		return a->f.kind < b->f.kind ? -1 : 1;
	if (a->f.count != b->f.count)
		return a->f.count > b->f.count ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool explains_stop(const struct race_results *r, const struct race_finding *f)
{
	for (size_t i = 0; i < r->stops.n; i++)
		if (f->cls == RACE_CLASS_RACE && race_explains(f, &r->stops.v[i]))
			return true;
	return false;
}

static void view_add(struct rep_view *v, struct group **groups, const struct race_finding *f)
{
	size_t rule;
	enum race_ignored ignored = race_ignore_test(v->opt->ignore, f, &rule);
	const char *place[2] = {"", ""};
	const char *key = group_key(&v->arena, f, ignored, place);
	struct group *g;

	HASH_FIND_STR(*groups, key, g);
	if (g) {
		struct rep_entry *e = &v->entries.v[g->index];
		finding_merge(&v->arena, &e->f, f);
		functions_add(&v->arena, e, f);
		e->explains = e->explains || explains_stop(v->r, f);
	} else {
		struct rep_entry e = {
			.ignored = ignored, .place = {place[0], place[1]}, .order = v->entries.n};
		e.explains = explains_stop(v->r, f);
		finding_own(&v->arena, &e.f, f);
		functions_add(&v->arena, &e, f);
		g = BASE_NEW(&v->arena, struct group);
		g->index = v->entries.n;
		HASH_ADD_KEYPTR(hh, *groups, key, strlen(key), g);
		base_vec_push(&v->entries, e);
	}
	if (rule != SIZE_MAX)
		v->hits[rule]++;
}

static bool is_same_place(const struct race_side *a, const struct race_side *b)
{
	return a->line == b->line && strcmp(a->file, b->file) == 0 && strcmp(a->func, b->func) == 0;
}

/* The same two lines, in either order. An earlier line that isn't known is any. */
static bool is_same_pair(const struct rep_entry *a, const struct rep_entry *b)
{
	const char *const *x = a->place, *const *y = b->place;

	if (!a->f.sides || !b->f.sides)
		return false;
	if (!strcmp(x[0], y[0]) &&
	    (!a->f.sides[1].line || !b->f.sides[1].line || !strcmp(x[1], y[1])))
		return true;
	return (!a->f.sides[1].line || !strcmp(x[1], y[0])) &&
	       (!b->f.sides[1].line || !strcmp(x[0], y[1])) &&
	       (a->f.sides[1].line || b->f.sides[1].line);
}

static bool has_both(const struct rep_entry *e)
{
	return e->f.sides && (*e->f.sides[1].file || e->f.sides[1].ptx_line);
}

static bool has_lines(const struct rep_entry *e)
{
	return e->f.sides && e->f.sides[0].line && e->f.sides[1].line;
}

/* Does a watchpoint's finding say all that this one says? Of two with the same pair of lines the
 * first says it; of one with both sides more than what has one: a hit whose other side had gone, or
 * a changed value. */
static bool is_said_by(const struct rep_view *v, size_t at, size_t by)
{
	const struct rep_entry *h = &v->entries.v[at], *e = &v->entries.v[by];

	if (race_keeps(e->f.kind) != RACE_KEEPS_POINT || e->ignored != h->ignored || !has_both(e) ||
	    (e->f.cls != h->f.cls && e->f.cls != RACE_CLASS_RACE))
		return false;
	if (race_keeps(h->f.kind) == RACE_KEEPS_POINT && has_both(h))
		return by < at && e->f.cls == h->f.cls && is_same_pair(h, e);
	for (unsigned i = 0; i < 2; i++) {
		const struct race_side *s = &e->f.sides[i];
		if (h->f.sides ? race_keeps(h->f.kind) == RACE_KEEPS_POINT &&
					 is_same_place(&h->f.sides[0], s)
			       : h->f.line && h->f.line == s->line &&
					 strcmp(h->f.file, s->file) == 0 &&
					 strcmp(h->f.func, s->func) == 0)
			return true;
	}
	return false;
}

/* Is the side what a finding with one side found: the host's code there, or its copy that read or
 * wrote? */
static bool is_host_of(const struct race_side *s, const struct race_finding *f)
{
	unsigned way = f->kind == RACE_KIND_LOST_UPDATE ? RACE_SIDE_WRITES : RACE_SIDE_READS;

	if (f->transfer && (s->access != RACE_ACCESS_COPY || !(s->flags & way)))
		return false;
	return s->flags & RACE_SIDE_HOST && s->line == f->line && !strcmp(s->file, f->file) &&
	       !strcmp(s->func, f->func);
}

/* A check of host code, or of the host's copies, has one side, and not the kernel's: a pair whose
 * side it is says more. */
static bool is_host_side(const struct rep_entry *h, const struct rep_entry *e)
{
	const struct race_finding *f = &h->f;

	if (f->sides || !f->line || (!f->transfer && !race_space_is_host(f->space)) ||
	    !e->f.sides || e->ignored != h->ignored ||
	    (e->f.cls != f->cls && e->f.cls != RACE_CLASS_RACE))
		return false;
	return is_host_of(&e->f.sides[0], f) || is_host_of(&e->f.sides[1], f);
}

static bool is_of_history(const struct race_finding *f)
{
	return race_keeps(f->kind) == RACE_KEEPS_WORD && f->kind != RACE_KIND_HISTORY_SEED;
}

/* Have hirace or iguard, as e, found the pair h with more certainty, at another place in memory or
 * by another history; or the other of the two with as much? iguard knows more of why. */
static bool is_known_better(const struct rep_entry *h, const struct rep_entry *e)
{
	bool is_history = is_of_history(&h->f), has_causes = race_has_causes(e->f.kind);
	bool is_better = h->f.cls != RACE_CLASS_RACE && e->f.cls == RACE_CLASS_RACE;

	if ((!is_history && !race_has_causes(h->f.kind)) || (!has_causes && !is_of_history(&e->f)))
		return false;
	return e->ignored == h->ignored &&
	       (is_better || (is_history && has_causes && e->f.cls == h->f.cls)) &&
	       is_same_pair(h, e);
}

static bool is_same_access(const struct race_side *x, const struct race_side *y)
{
	return is_same_place(x, y) && x->access == y->access && x->space == y->space;
}

/* Is all that h, of hirace or iguard, has kept a side of the oracle's pair e, of the same run? */
static bool is_half_of(const struct rep_view *v, const struct rep_entry *h,
		       const struct rep_entry *e)
{
	const struct race_side *s = h->f.sides, *pair = e->f.sides;

	return s && (is_of_history(&h->f) || race_has_causes(h->f.kind)) && !has_both(h) &&
	       race_keeps(e->f.kind) == RACE_KEEPS_PAIR && has_both(e) && v->r->runs <= 1 &&
	       e->ignored == h->ignored && (e->f.cls == h->f.cls || e->f.cls == RACE_CLASS_RACE) &&
	       (is_same_access(s, &pair[0]) || is_same_access(s, &pair[1]));
}

/* Are iguard's findings h and e of one pair of lines? */
static bool is_one_pair(const struct rep_entry *h, const struct rep_entry *e)
{
	return race_has_causes(h->f.kind) && race_has_causes(e->f.kind) &&
	       e->ignored == h->ignored && e->f.cls == h->f.cls && has_lines(h) && has_lines(e) &&
	       is_same_pair(h, e);
}

/* How wide the gap is over which nothing is there that orders; 0: something is. */
static unsigned width_of(enum race_kind kind)
{
	return kind == RACE_KIND_IGUARD_WARP	? 1
	       : kind == RACE_KIND_IGUARD_BLOCK ? 2
	       : kind == RACE_KIND_IGUARD_GRID	? 3
						: 0;
}

/* What orders two blocks orders two lanes, too: so the widest of these kinds stands for narrower
 * ones of its pair of lines. */
static uint64_t weight_of(const struct rep_view *v, size_t at, const size_t *near, size_t n)
{
	const struct rep_entry *h = &v->entries.v[at];
	unsigned width = width_of(h->f.kind);
	uint64_t weight = h->f.count;

	for (size_t i = 0; i < n && width; i++) {
		const struct rep_entry *e = &v->entries.v[near[i]];
		unsigned other = width_of(e->f.kind);
		if (near[i] != at && other && other < width && is_one_pair(h, e))
			weight += e->f.count;
	}
	return weight;
}

/* Of the kinds that iguard saw a pair of lines as, the one with the most weight; SIZE_MAX: this
 * one. */
static size_t leading(struct rep_view *v, struct rep_near *x, size_t at)
{
	size_t best = at, n = 0;
	const size_t *near;
	uint64_t most = 0;

	if (race_has_causes(v->entries.v[at].f.kind))
		n = rep_near_of(x, v, at, &near);
	for (size_t k = 0; k < n; k++) {
		uint64_t weight;

		if (near[k] != at && !is_one_pair(&v->entries.v[at], &v->entries.v[near[k]]))
			continue;
		weight = weight_of(v, near[k], near, n);
		if (weight > most) {
			most = weight;
			best = near[k];
		}
	}
	return best == at ? SIZE_MAX : best;
}

/* What two threads lack differs with their places and with what they have done since: one entry
 * says it all. Counts must be whole when leaders are chosen, so the merging comes after. */
static void view_fold(struct rep_view *v)
{
	size_t n = 0, *leader = BASE_NEWN(&v->arena, size_t, v->entries.n + 1);
	struct rep_near *x = rep_near_new(v);

	for (size_t i = 0; i < v->entries.n; i++)
		leader[i] = leading(v, x, i);
	rep_near_free(x);
	for (size_t i = 0; i < v->entries.n; i++) {
		if (leader[i] == SIZE_MAX)
			continue;
		struct rep_entry *e = &v->entries.v[leader[i]];
		finding_merge(&v->arena, &e->f, &v->entries.v[i].f);
		functions_add(&v->arena, e, &v->entries.v[i].f);
		e->explains = e->explains || v->entries.v[i].explains;
	}
	for (size_t i = 0; i < v->entries.n; i++)
		if (leader[i] == SIZE_MAX)
			v->entries.v[n++] = v->entries.v[i];
	v->entries.n = n;
}

/* A pair that hirace and iguard both found, in one run, is one entry: the more certain one, or
 * iguard's. */
static void view_join(struct rep_view *v)
{
	struct rep_near *x = rep_near_new(v);
	size_t n = 0;

	for (size_t i = 0; i < v->entries.n; i++) {
		struct rep_entry *h = &v->entries.v[i];
		const size_t *near;
		size_t nnear = rep_near_of(x, v, i, &near);
		for (size_t k = 0; k < nnear && !h->is_twin; k++)
			h->is_twin = is_known_better(h, &v->entries.v[near[k]]) ||
				     (near[k] != i && (is_said_by(v, i, near[k]) ||
						       is_half_of(v, h, &v->entries.v[near[k]]) ||
						       is_host_side(h, &v->entries.v[near[k]])));
	}
	rep_near_free(x);
	for (size_t i = 0; i < v->entries.n; i++)
		if (!v->entries.v[i].is_twin)
			v->entries.v[n++] = v->entries.v[i];
	v->entries.n = n;
}

/* Does a kernel that ran access only what --variable doesn't ask for? */
static bool has_others_only(const struct race_results *r)
{
	for (size_t i = 0; i < r->gaps.n; i++)
		if (r->gaps.v[i].why == RACE_GAP_NOT_ASKED)
			return true;
	return false;
}

/* Why nothing was checked, from the outermost cause to the innermost. */
static const char *nothing_reason(struct rep_view *v, const struct race_results *r)
{
	const char *gap = rep_nothing_gap(v);

	if (r->why_nothing && *r->why_nothing)
		return r->why_nothing;
	switch (r->agent_state) {
	case RACE_AGENT_NONE:
		if (gap)
			return gap;
		return "the program never started CUDA, so Collider's agent wasn't loaded";
	case RACE_AGENT_NO_CUPTI:
		return "libcupti, through which Collider watches the program, is missing";
	case RACE_AGENT_BUSY:
		return "another tool (a profiler or debugger) already uses CUPTI in the program";
	case RACE_AGENT_FAILED:
		return "Collider's agent could not work in the program (see the notes)";
	case RACE_AGENT_ATTACHED:
		break;
	}
	if (r->is_oracle_full)
		return "the oracle was full, and judges a run as a whole or not at all";
	if (gap)
		return gap;
	if (r->has_oracle && r->is_judged_inexact)
		return "the program ended before a kernel or copy had accessed memory";
	if (r->has_oracle && !r->judged_launches)
		return "the program launched no kernel";
	if (has_others_only(r))
		return "no kernel ran that accesses what --variable asks for";
	if (r->has_oracle)
		return "no kernel ran that accesses memory";
	if (!r->launches && !r->host_launches && !r->is_inexact)
		return "the program launched no kernel";
	if (!r->modules && !r->tables && !r->launches)
		return "no GPU code of the program has checks (built with `collider nvcc`, or put "
		       "in as it is loaded: docs/load-time.md)";
	if (!r->launches && r->is_inexact)
		return "the program ended before Collider could read its counters";
	if (!r->launches)
		return "no instrumented kernel was launched";
	if (r->sample == RACE_SAMPLE_NEVER)
		return "checking was switched off (sampling never)";
	if (r->is_inexact)
		return "the program ended before Collider could read its counters";
	return "the kernels that ran made no access that Collider checks";
}

static void view_conclude(struct rep_view *v)
{
	const struct race_results *r = v->r;

	for (size_t i = 0; i < v->entries.n; i++) {
		const struct rep_entry *e = &v->entries.v[i];
		v->ignored[e->ignored]++;
		if (e->ignored)
			continue;
		v->nshown++;
		if (e->f.cls == RACE_CLASS_RACE)
			v->races++;
		else
			v->others++;
	}
	/* A report for which the GPU had no room is a finding too, though its class is unknown. */
	if (v->races)
		v->verdict = REP_VERDICT_RACES;
	else if (v->others || r->overflow)
		v->verdict = REP_VERDICT_OTHER;
	else if (r->is_oracle_full)
		v->verdict = REP_VERDICT_NOTHING;
	else if (v->completeness != RACE_NOTHING || v->entries.n)
		v->verdict = REP_VERDICT_CLEAN;
	else
		v->verdict = REP_VERDICT_NOTHING;
	if (v->verdict == REP_VERDICT_NOTHING)
		v->reason = nothing_reason(v, r);
}

struct ranked {
	const struct race_finding *f;
	size_t order;
};

static int by_launch(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	const struct race_finding *f = a->f, *g = b->f;
	const uint64_t is[] = {f->first.grid, f->line, f->col, f->sides ? f->sides[1].line : 0,
			       f->kind};
	const uint64_t be[] = {g->first.grid, g->line, g->col, g->sides ? g->sides[1].line : 0,
			       g->kind};

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		if (is[i] != be[i])
			return is[i] < be[i] ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* By the launch that showed a finding first, then by place: an entry of several shows the first
 * one. As they come they are in the order of hashes of the code, of which a source's path is a
 * part. */
static void view_add_all(struct rep_view *v)
{
	const struct race_results *r = v->r;
	struct ranked *all = BASE_NEWN(&v->arena, struct ranked, r->findings.n + 1);
	struct group *groups = NULL;

	for (size_t i = 0; i < r->findings.n; i++)
		all[i] = (struct ranked){&r->findings.v[i], i};
	qsort(all, r->findings.n, sizeof(*all), by_launch);
	for (size_t i = 0; i < r->findings.n; i++)
		view_add(v, &groups, all[i].f);
	HASH_CLEAR(hh, groups);
}

void rep_view_make(struct rep_view *v, const struct race_results *r, const struct rep_options *opt)
{
	memset(v, 0, sizeof(*v));
	v->r = r;
	v->opt = opt;
	v->hits = BASE_NEWN(&v->arena, uint64_t, opt->ignore ? opt->ignore->rules.n + 1 : 1);
	view_add_all(v);
	view_join(v);
	view_fold(v);
	if (v->entries.n)
		qsort(v->entries.v, v->entries.n, sizeof(*v->entries.v), rep_entry_compare);
	rep_gaps_sort(v);
	rep_known_mark(v);
	view_conclude(v);
}

void rep_view_free(struct rep_view *v)
{
	base_vec_free(&v->entries);
	base_arena_free(&v->arena);
}
