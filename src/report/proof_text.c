/*
 * proof_text.c - what collider prove found, as text (race/proof/proof.h).
 *
 * An alarm shows both accesses with their source lines, the values that all threads of the launch
 * share, and two columns with those of the two threads: the FaialAA paper's figure of an alarm
 * (section 2.1). A star marks what the analysis only approximates. The summary has the columns of
 * its tables 1 and 4.
 */
#include "report/internal.h"

#include <inttypes.h>
#include <string.h>

static const char *const verdict_words[] = {[RACE_VERDICT_FREE] = "race-free",
					    [RACE_VERDICT_SINGLE] = "race-free for one block only",
					    [RACE_VERDICT_BENIGN] =
						    "race-free up to stores of equal values",
					    [RACE_VERDICT_TRUE] = "true alarm",
					    [RACE_VERDICT_POTENTIAL] = "potential alarms only",
					    [RACE_VERDICT_UNPROVEN] = "could not prove",
					    [RACE_VERDICT_VACUOUS] = "error: vacuous"};

static const char *const level_words[] = {[RACE_LEVEL_THREAD] = "one thread",
					  [RACE_LEVEL_WARP] = "lanes of one warp",
					  [RACE_LEVEL_BLOCK] = "threads of one block",
					  [RACE_LEVEL_CLUSTER] = "blocks of one cluster",
					  [RACE_LEVEL_GRID] = "threads of different blocks"};

static const char *access_name(const struct race_alarm_side *s)
{
	return s->kind == RACE_OP_READ ? "read" : s->kind == RACE_OP_WRITE ? "write" : "update";
}

static void print_place(struct base_buf *out, const char *file, uint32_t line, uint32_t ptx_line)
{
	if (line)
		base_buf_printf(out, "%s:%u", *file ? file : "?", line);
	else
		base_buf_printf(out, "PTX line %u", ptx_line);
}

/* who: "A" or "B", or of one access that both threads make "A, B" */
static void print_side(struct base_buf *out, const struct rep_options *opt,
		       const struct race_alarm_side *s, const char *who)
{
	base_buf_printf(out, "    %s  %s%s %u byte%s at ", who, access_name(s), who[1] ? "" : "s",
			s->bytes, s->bytes == 1 ? "" : "s");
	print_place(out, s->file, s->line, s->ptx_line);
	if (*s->index)
		base_buf_printf(out, ", byte %s", s->index);
	base_buf_puts(out, "\n");
	rep_source(out, opt, s->file, s->line, s->col, REP_SOURCE_AROUND, "    ");
	base_buf_printf(out, "       %s\n", s->text);
}

static void print_sides(struct base_buf *out, const struct rep_options *opt,
			const struct race_alarm *a)
{
	const struct race_alarm_side *s = a->side;
	bool is_one = s[0].ptx_line && s[0].ptx_line == s[1].ptx_line &&
		      !strcmp(s[0].text, s[1].text) && !strcmp(s[0].index, s[1].index);

	print_side(out, opt, &s[0], is_one ? "A, B" : "A");
	if (!is_one)
		print_side(out, opt, &s[1], "B");
}

static const char *value_text(const struct race_alarm_var *v, unsigned side, char *to, size_t n)
{
	if (!v->is_known[side])
		snprintf(to, n, "any");
	else
		snprintf(to, n, v->is_signed ? "%" PRId64 : "%" PRIu64, v->value[side]);
	return to;
}

static void print_row(struct base_buf *out, const char *name, const char *a, const char *b)
{
	base_buf_printf(out, "      %-20s %11s", name, a);
	if (b)
		base_buf_printf(out, " %11s", b);
	base_buf_puts(out, "\n");
}

static void print_dims(struct base_buf *out, const struct race_alarm *a)
{
	static const char *const dims[] = {"x", "y", "z"};
	char name[24], x[24], y[24];

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned d = 0; d < 3; d++) {
			uint32_t n = k ? a->nctaid[d] : a->ntid[d];
			if (n <= 1 && !(d == 0 && !k))
				continue;
			const uint32_t *p = k ? a->side[0].ctaid : a->side[0].tid;
			const uint32_t *q = k ? a->side[1].ctaid : a->side[1].tid;
			snprintf(name, sizeof(name), "%s.%s", k ? "blockIdx" : "threadIdx",
				 dims[d]);
			snprintf(x, sizeof(x), "%u", p[d]);
			snprintf(y, sizeof(y), "%u", q[d]);
			print_row(out, name, x, y);
		}
	}
}

static void print_vars(struct base_buf *out, const struct race_alarm *a, bool is_global)
{
	char name[64], x[24], y[24];

	for (uint32_t i = 0; i < a->nvars; i++) {
		const struct race_alarm_var *v = &a->var[i];
		if (v->is_global != is_global)
			continue;
		snprintf(name, sizeof(name), "%.56s%s", v->name,
			 v->is_approx[0] || v->is_approx[1] ? " *" : "");
		print_row(out, name, value_text(v, 0, x, sizeof(x)),
			  is_global ? NULL : value_text(v, 1, y, sizeof(y)));
	}
}

static bool has_named_params(const struct race_alarm *a)
{
	for (uint32_t i = 0; i < a->nvars; i++)
		if (a->var[i].is_global)
			return true;
	return false;
}

static void print_launch(struct base_buf *out, const struct race_alarm *a,
			 const struct race_proof *k)
{
	bool has_star = false;

	bool has_raced = a->is_true || a->confirmed == RACE_CONFIRMED;
	base_buf_printf(out, "    %s%s blockDim (%u, %u, %u), gridDim (%u, %u, %u)",
			k->has_launches ? "for launches that this program makes: " : "",
			has_raced ? "found with" : "it would need, say,", a->ntid[0], a->ntid[1],
			a->ntid[2], a->nctaid[0], a->nctaid[1], a->nctaid[2]);
	for (uint32_t i = 0; i < a->nparams && !has_named_params(a); i++)
		base_buf_printf(out, ", %s = %" PRIu64, a->param[i].name, a->param[i].value);
	base_buf_puts(out, "\n");
	if (has_named_params(a)) {
		base_buf_puts(out, "      all threads\n");
		print_vars(out, a, true);
	}
	print_row(out, "thread", "A", "B");
	print_dims(out, a);
	print_vars(out, a, false);
	for (uint32_t i = 0; i < a->nvars; i++)
		has_star |= a->var[i].is_approx[0] || a->var[i].is_approx[1];
	if (has_star)
		base_buf_puts(out,
			      "      * approximated: the value comes from memory, or from what "
			      "isn't modelled\n");
}

/* "idx[3] = 5": what the model put into arrays that the kernel only reads. */
static void print_contents(struct base_buf *out, const struct race_alarm *a)
{
	for (uint32_t i = 0; i < a->ncontents; i++) {
		const struct race_alarm_content *c = &a->content[i];
		base_buf_puts(out, i ? ", " : "      if memory holds ");
		if (*c->name)
			base_buf_puts(out, c->name);
		else
			base_buf_printf(out, "(array of the parameter at byte %" PRIu64 ")",
					c->param);
		if (c->at % c->bytes)
			base_buf_printf(out, ", byte %" PRIu64 ": ", c->at);
		else
			base_buf_printf(out, "[%" PRIu64 "] = ", c->at / c->bytes);
		base_buf_printf(out, c->is_signed ? "%" PRId64 : "%" PRIu64, race_alarm_number(c));
	}
	if (a->ncontents)
		base_buf_puts(out, "\n");
}

/* "Which approximated names decide": the paper's two sets (figure 7). */
static void print_set(struct base_buf *out, const struct race_alarm *a, bool is_data)
{
	bool is_next = false;

	for (uint32_t i = 0; i < a->nvars; i++) {
		const struct race_alarm_var *v = &a->var[i];
		if (!(v->is_approx[0] || v->is_approx[1]) ||
		    !(is_data ? v->is_data : v->is_control))
			continue;
		base_buf_printf(out, "%s%s", is_next ? ", " : " (approximated: ", v->name);
		is_next = true;
	}
	if (is_next)
		base_buf_puts(out, ")");
}

static void print_report(struct base_buf *out, const struct race_alarm *a)
{
	bool cd = a->side[0].is_approx_path || a->side[1].is_approx_path;
	bool dd = a->side[0].is_approx_index || a->side[1].is_approx_index;

	base_buf_printf(out, "    %s accesses", cd ? "potentially unreachable" : "reachable");
	if (cd)
		print_set(out, a, false);
	base_buf_printf(out, ", %s index", dd ? "potentially inexact" : "exact");
	if (dd)
		print_set(out, a, true);
	base_buf_printf(out, ": %s%s%s\n", race_alarm_class(a), *a->reason ? "; " : "", a->reason);
	if (*a->order)
		base_buf_printf(out, "    what may order them: %s\n", a->order);
}

static const char *surety(const struct race_alarm *a, bool is_true)
{
	return a->is_benign ? "excused" : is_true ? "true" : "potential";
}

static void print_alarm(struct base_buf *out, const struct rep_options *opt,
			const struct race_alarm *a, const struct race_proof *k)
{
	static const char *const filled[] = {
		[RACE_FILLED_ZEROS] = ", with arrays of zeros",
		[RACE_FILLED_CONTENTS] = ", memory as above and zeros elsewhere",
		[RACE_FILLED_MIXED] = ", with mixed numbers in its arrays (see docs/prove.md)",
		[RACE_FILLED_COUNTED] = ", with arrays of 0, 1, 2 and so on"};
	bool rests_on_memory = !a->is_true && strcmp(race_alarm_class(a), "CIDI") != 0;

	base_buf_printf(out, "  %s %s on %s, %s\n", surety(a, a->is_true), rep_alarm_title(a->cls),
			a->object, level_words[a->level]);
	print_sides(out, opt, a);
	if (a->cls == RACE_CLASS_LOCKSTEP)
		base_buf_printf(out,
				"    needs lockstep: %u %s only as long as the lanes of a warp "
				"execute in step, which no GPU since sm_70 promises; __syncwarp() "
				"orders them, --warp-lockstep takes it for granted\n",
				a->stands_for,
				a->stands_for == 1 ? "pair of accesses is ordered"
						   : "pairs of accesses are ordered");
	if (a->cls == RACE_CLASS_READ_ONLY)
		base_buf_puts(out, "    a read-only load (__ldg, ld.global.nc, of a surface) needs "
				   "memory that the "
				   "launch doesn't write: no barrier or fence makes it right, an "
				   "ordinary load would be ordered as usual\n");
	if (a->is_exited)
		base_buf_puts(out,
			      "    one of the threads has ended: later barriers do not order it\n");
	if (a->has_launch) {
		print_launch(out, a, k);
		print_contents(out, a);
	}
	print_report(out, a);
	if (a->is_benign)
		base_buf_puts(out,
			      "    both store the same value: excused by --benign=same-value\n");
	if (a->confirmed == RACE_CONFIRMED)
		base_buf_printf(out, "    confirmed: the launch raced on the CPU device%s%s\n",
				a->is_true ? "" : filled[a->filled],
				rests_on_memory ? "; with other contents it may not" : "");
	if (a->confirmed == RACE_NOT_CONFIRMED)
		base_buf_puts(out,
			      "    not confirmed: the launch did not race on the CPU device\n");
	if (*a->reproducer)
		base_buf_printf(out, "    reproducer: %s\n", a->reproducer);
	rep_proof_help_put(out, k, a);
}

/* Alarms on one array mostly have one cause, and are one block to the reader. */
static bool are_of_one_array(const struct race_alarm *a, const struct race_alarm *b)
{
	return a->cls == b->cls && a->is_benign == b->is_benign && !strcmp(a->object, b->object);
}

/* Those of one pair of source lines are one anyhow: of other levels, instructions that an unrolled
 * loop repeats, and either order of the two sides. */
static bool are_of_one_pair(const struct race_alarm *a, const struct race_alarm *b)
{
	bool is_same = false;

	if (!are_of_one_array(a, b) || !a->side[0].line || !a->side[1].line)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct race_alarm_side *x = &b->side[i], *y = &b->side[!i];
		is_same |= a->side[0].line == x->line && a->side[1].line == y->line &&
			   !strcmp(a->side[0].file, x->file) && !strcmp(a->side[1].file, y->file);
	}
	return is_same;
}

/* How much an alarm shows: one that is true, one that was confirmed, one of nearer threads. */
static unsigned worth(const struct race_alarm *a)
{
	return (a->is_true ? 16u : 0) + (a->confirmed == RACE_CONFIRMED ? 8u : 0) +
	       (RACE_LEVEL_GRID - a->level);
}

/* Is none of the alarms before k->alarms.v[i] of its array, or pair? */
static bool is_first(const struct race_proof *k, size_t i,
		     bool (*fn)(const struct race_alarm *, const struct race_alarm *))
{
	for (size_t x = 0; x < i; x++)
		if (fn(&k->alarms.v[i], &k->alarms.v[x]))
			return false;
	return true;
}

/* The alarm of an array that is printed. */
static const struct race_alarm *chosen_of(const struct race_proof *k, const struct race_alarm *a)
{
	const struct race_alarm *best = a;

	for (size_t x = 0; x < k->alarms.n; x++)
		if (are_of_one_array(a, &k->alarms.v[x]) && worth(&k->alarms.v[x]) > worth(best))
			best = &k->alarms.v[x];
	return best;
}

/* "and 3 more alarms of these lines: lanes of one warp, threads of different blocks". */
static void print_more(struct base_buf *out, const struct race_proof *k, const struct race_alarm *a)
{
	size_t n = 0;

	for (size_t x = 0; x < k->alarms.n; x++)
		n += &k->alarms.v[x] != a && are_of_one_pair(a, &k->alarms.v[x]);
	if (!n)
		return;
	base_buf_printf(out, "    and %zu more alarm%s of these lines:", n, n == 1 ? "" : "s");
	for (unsigned l = 0, next = 0; l <= RACE_LEVEL_GRID; l++) {
		bool is_true = false, is_there = false;
		for (size_t x = 0; x < k->alarms.n; x++) {
			const struct race_alarm *b = &k->alarms.v[x];
			if (b == a || b->level != l || !are_of_one_pair(a, b))
				continue;
			is_there = true;
			is_true |= b->is_true;
		}
		if (is_there)
			base_buf_printf(out, "%s %s (%s)", next++ ? "," : "", level_words[l],
					surety(a, is_true));
	}
	base_buf_puts(out, "\n");
}

/* A line's number, with its file where that isn't the shown alarm's. */
static void print_line(struct base_buf *out, const struct race_alarm_side *s, const char *file)
{
	const char *slash = strrchr(s->file, '/');

	if (!s->line)
		base_buf_printf(out, "PTX line %u", s->ptx_line);
	else if (strcmp(s->file, file) != 0)
		base_buf_printf(out, "%s:%u", slash ? slash + 1 : s->file, s->line);
	else
		base_buf_printf(out, "%u", s->line);
}

#define MAX_SHOWN 40 /* pairs of lines: more of them say nothing new */

/* The other pairs of lines of an array: first those with a true alarm. */
static void print_pairs(struct base_buf *out, const struct race_proof *k,
			const struct race_alarm *shown)
{
	size_t n = 0, nshown = 0;

	for (unsigned potential = 0; potential < 2; potential++) {
		for (size_t i = 0; i < k->alarms.n; i++) {
			const struct race_alarm *a = &k->alarms.v[i];
			bool is_true = a->is_true;
			if (!are_of_one_array(shown, a) || a == shown ||
			    are_of_one_pair(shown, a) || !is_first(k, i, are_of_one_pair))
				continue;
			for (size_t x = i + 1; x < k->alarms.n; x++)
				is_true |= k->alarms.v[x].is_true &&
					   are_of_one_pair(a, &k->alarms.v[x]);
			if (is_true == potential || n++ >= MAX_SHOWN)
				continue;
			const char *lead = nshown % 8 ? ", " : ",\n      ";
			base_buf_puts(out,
				      nshown++ ? lead : "    and on this array at lines\n      ");
			print_line(out, &a->side[0], shown->side[0].file);
			base_buf_puts(out, " and ");
			print_line(out, &a->side[1], shown->side[0].file);
			base_buf_printf(out, " (%s)", surety(a, is_true));
		}
	}
	if (n > nshown)
		base_buf_printf(out, ",\n      and %zu more pairs (--format=json has all)",
				n - nshown);
	base_buf_puts(out, n ? "\n" : "");
}

static void print_alarms(struct base_buf *out, const struct rep_options *opt,
			 const struct race_proof *k)
{
	for (size_t i = 0; i < k->alarms.n; i++) {
		if (!is_first(k, i, are_of_one_array))
			continue;
		const struct race_alarm *a = chosen_of(k, &k->alarms.v[i]);
		bool is_equal = !a->is_benign;
		for (size_t x = i; x < k->alarms.n; x++)
			is_equal &= !are_of_one_array(a, &k->alarms.v[x]) ||
				    k->alarms.v[x].has_equal_values;
		print_alarm(out, opt, a, k);
		print_more(out, k, a);
		print_pairs(out, k, a);
		if (is_equal)
			base_buf_puts(out, "    all stores are of equal values: "
					   "--benign=same-value excuses them\n");
	}
}

static void print_free_names(struct base_buf *out, unsigned free)
{
	static const char *const names[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					    "gridDim.x",  "gridDim.y",	"gridDim.z"};
	bool is_next = false;

	for (unsigned d = 0; d < BASE_COUNTOF(names); d++) {
		if (!(free >> d & 1))
			continue;
		base_buf_printf(out, "%s%s", is_next ? ", " : "", names[d]);
		is_next = true;
	}
}

static void print_remedies(struct base_buf *out, const struct race_proof *k)
{
	for (size_t i = 0; i < k->remedies.n; i++) {
		const struct race_remedy *r = &k->remedies.v[i];
		base_buf_printf(out, "  %s --assume='%s'%s\n",
				r->is_all ? "race-free with" : "fewer alarms with", r->assume,
				r->seen > 0    ? " (holds in the recorded launches)"
				: r->seen == 0 ? " (does NOT hold in the recorded launches)"
					       : "");
	}
}

/* Says that an alarm may need a launch that the program never makes, and what to do about it. */
static void print_advice(struct base_buf *out, const struct race_proof *k)
{
	bool has_launch = false, has_params = false;

	for (size_t i = 0; i < k->alarms.n; i++) {
		has_launch |= k->alarms.v[i].has_launch;
		has_params |= k->alarms.v[i].has_launch && k->alarms.v[i].nparams;
	}
	has_params &= !k->has_scalars;
	if (!has_launch || k->has_launches || (!k->free_dims && !has_params))
		return;
	base_buf_puts(out, "  Every launch was asked about, because ");
	print_free_names(out, k->free_dims);
	base_buf_printf(out, "%s%s may be anything here.\n", k->free_dims && has_params ? ", " : "",
			has_params ? "scalar parameters" : "");
	base_buf_puts(out, "  An alarm needs a launch like the one that it names. If your "
			   "program never launches\n  the kernel so, say what it uses:");
	if (k->free_dims & 7)
		base_buf_puts(out, " --block-dim=X,Y,Z");
	if (k->free_dims & 56)
		base_buf_puts(out, " --grid-dim=X,Y,Z");
	if (has_params)
		base_buf_puts(out, " --param=NAME=VALUE");
	base_buf_puts(out, ",\n  or let the program show it: collider prove --run -- APP\n");
}

/* A line for each shape of launch that the program makes, and one for others. */
static void print_launches(struct base_buf *out, const struct race_proof *k)
{
	for (size_t i = 0; i < k->launches.n; i++) {
		const struct race_proof_launch *l = &k->launches.v[i];
		base_buf_printf(out, "  ");
		if (l->n > 1)
			base_buf_printf(out, "%u launches", l->n);
		else
			base_buf_puts(out, "launch");
		base_buf_printf(out, " <<<(%u, %u, %u), (%u, %u, %u)>>>%s%s: %s\n", l->nctaid[0],
				l->nctaid[1], l->nctaid[2], l->ntid[0], l->ntid[1], l->ntid[2],
				*l->scalars ? " " : "", l->scalars, verdict_words[l->verdict]);
	}
	if (k->others && *k->others)
		base_buf_printf(out, "  for other launches: %s\n", k->others);
}

/* The same of several lines of a file is one line of the report. */
static bool is_alike(const struct race_problem *a, const struct race_problem *b)
{
	return a->kind == b->kind && a->line && b->line && !strcmp(a->text, b->text) &&
	       !strcmp(a->file, b->file);
}

/* ", 45, 46": the lines of those that are like problem i and stand after it. */
static void print_other_lines(struct base_buf *out, const struct race_proof *k, size_t i)
{
	uint32_t last = k->problems.v[i].line;

	for (size_t n = i + 1; n < k->problems.n; n++) {
		if (!is_alike(&k->problems.v[i], &k->problems.v[n]) ||
		    k->problems.v[n].line == last)
			continue;
		last = k->problems.v[n].line;
		base_buf_printf(out, ", %u", last);
	}
}

static void print_problems(struct base_buf *out, const struct race_proof *k)
{
	static const char *const words[] = {[RACE_PROBLEM_UNPROVEN] = "not analysed",
					    [RACE_PROBLEM_VACUOUS] = "contradiction",
					    [RACE_PROBLEM_EXCLUDED] = "excluded",
					    [RACE_PROBLEM_SINGLE] = "not covered",
					    [RACE_PROBLEM_BARRIER] = "barrier"};

	for (size_t i = 0; i < k->problems.n; i++) {
		const struct race_problem *p = &k->problems.v[i];
		size_t first = 0;
		while (first < i && !is_alike(&k->problems.v[first], p))
			first++;
		if (first < i)
			continue;
		base_buf_printf(out, "  %s: ", words[p->kind]);
		if (p->ptx_line || p->line) {
			print_place(out, p->file, p->line, p->ptx_line);
			print_other_lines(out, k, i);
			base_buf_puts(out, ": ");
		}
		base_buf_printf(out, "%s\n", p->text);
	}
}

/* How it was decided; what didn't occur isn't named. */
static void print_counts(struct base_buf *out, const struct race_proof *k)
{
	const struct race_proof_counts *c = &k->counts;
	const struct {
		uint32_t n;
		const char *what;
	} parts[] = {{c->quick, "decided without the solver"},
		     {c->by_trying, "by trying"},
		     {c->by_integers, "by integers"},
		     {c->by_bits, "by bit-vectors"},
		     {c->gave_up, "not answered"},
		     {c->queries, "queries"},
		     {c->recalled, "of them known from before"},
		     {c->replays, "replays"},
		     {c->failed_replays, "of them failed"}};

	base_buf_printf(out, "  %u accesses, %u pairs in %u cases", c->accesses, c->pairs,
			c->cases);
	for (size_t i = 0; i < BASE_COUNTOF(parts); i++)
		if (parts[i].n)
			base_buf_printf(out, ", %u %s", parts[i].n, parts[i].what);
	base_buf_printf(out, "; %" PRIu64 " ms%s\n", k->ms,
			k->is_cached ? " (from the cache)" : "");
}

static void print_kernel(struct base_buf *out, const struct rep_options *opt,
			 const struct race_proof *k)
{
	base_buf_printf(out, "%s: %s\n", k->name_shown,
			k->verdict == RACE_VERDICT_SINGLE && k->single == RACE_SINGLE_THREAD
				? "race-free for one thread only"
				: verdict_words[k->verdict]);
	print_alarms(out, opt, k);
	print_launches(out, k);
	print_advice(out, k);
	print_remedies(out, k);
	print_problems(out, k);
	for (size_t i = 0; i < k->contract.n; i++)
		base_buf_printf(out, "%s%s%s", i ? "; " : "  contract: ", k->contract.v[i],
				i + 1 == k->contract.n ? "\n" : "");
	for (size_t i = 0; i < k->protocol.n; i++)
		base_buf_printf(out, "  %s%s\n", i ? "  " : "protocol:\n    ", k->protocol.v[i]);
	print_counts(out, k);
}

/* Of the kernels that were analysed, in percent: "12.5%". */
static void print_share(struct base_buf *out, const char *name, size_t n, size_t of)
{
	base_buf_printf(out, "%s %.1f%%", name, of ? 100.0 * (double)n / (double)of : 0.0);
}

static bool has_cause(const struct race_proof *k, enum race_problem_cause cause)
{
	for (size_t i = 0; i < k->problems.n; i++)
		if (k->problems.v[i].cause == cause)
			return true;
	return false;
}

/* Tables 1 and 4 of the paper: kernels and alarms by verdict, kernels by class. */
static void print_tables(struct base_buf *out, const struct race_proofs *r)
{
	static const char *const classes[] = {"CIDI", "CIDD", "CDDI", "CDDD"};
	size_t n[RACE_VERDICT_COUNT] = {0}, timeout = 0, crash = 0, right = 0, maybe = 0, total = 0;
	size_t helped = 0;
	size_t by_class[BASE_COUNTOF(classes)] = {0};

	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_proof *k = &r->kernels.v[i];
		bool is_bad = k->verdict == RACE_VERDICT_UNPROVEN;
		n[k->verdict]++;
		helped += race_proof_has_remedy(k);
		timeout += is_bad && has_cause(k, RACE_CAUSE_TIMEOUT);
		crash += is_bad && has_cause(k, RACE_CAUSE_CRASH);
		for (size_t a = 0; a < k->alarms.n; a++) {
			right += k->alarms.v[a].is_true && !k->alarms.v[a].is_benign;
			maybe += !k->alarms.v[a].is_true;
		}
		for (size_t c = 0; c < BASE_COUNTOF(classes) && k->has_class; c++)
			by_class[c] += !strcmp(race_proof_class(k), classes[c]);
		total += k->has_class;
	}
	size_t analysed = r->kernels.n - n[RACE_VERDICT_UNPROVEN] - n[RACE_VERDICT_VACUOUS];
	base_buf_printf(out, "%6s %6s %6s %6s %9s %7s %5s | %6s %9s\n%6zu %6zu %6zu %6zu ", "DRF",
			"P-racy", "T-racy", "remedy", "coverage", "timeout", "crash", "true",
			"potential",
			n[RACE_VERDICT_FREE] + n[RACE_VERDICT_SINGLE] + n[RACE_VERDICT_BENIGN],
			n[RACE_VERDICT_POTENTIAL], n[RACE_VERDICT_TRUE], helped);
	base_buf_printf(out, "%8.1f%% %7zu %5zu | %6zu %9zu\n",
			r->kernels.n ? 100.0 * (double)analysed / (double)r->kernels.n : 0.0,
			timeout, crash, right, maybe);
	for (size_t c = 0; c < BASE_COUNTOF(classes); c++) {
		base_buf_puts(out, c ? ", " : "");
		print_share(out, classes[c], by_class[c], total);
	}
	base_buf_printf(out, " of %zu\n", total);
}

void rep_proof_text(const struct race_proofs *r, const struct rep_options *opt,
		    struct base_buf *out)
{
	size_t n[RACE_VERDICT_COUNT] = {0}, helped = 0;

	for (size_t i = 0; i < r->kernels.n; i++) {
		helped += race_proof_has_remedy(&r->kernels.v[i]);
		print_kernel(out, opt, &r->kernels.v[i]);
		n[r->kernels.v[i].verdict]++;
	}
	base_buf_printf(out,
			"%zu kernel%s: %zu race-free, %zu with true alarms, %zu with potential "
			"alarms only, %zu not proven, %zu vacuous",
			r->kernels.n, r->kernels.n == 1 ? "" : "s", n[RACE_VERDICT_FREE],
			n[RACE_VERDICT_TRUE], n[RACE_VERDICT_POTENTIAL], n[RACE_VERDICT_UNPROVEN],
			n[RACE_VERDICT_VACUOUS]);
	if (n[RACE_VERDICT_SINGLE])
		base_buf_printf(out, ", %zu for one thread or block only", n[RACE_VERDICT_SINGLE]);
	if (n[RACE_VERDICT_BENIGN])
		base_buf_printf(out, ", %zu up to equal values", n[RACE_VERDICT_BENIGN]);
	if (helped)
		base_buf_printf(out, "; %zu proven with an assumption that was found", helped);
	base_buf_puts(out, "\n");
	if (r->kernels.n > 1)
		print_tables(out, r);
}
