/*
 * launches.c - a kernel for the launches that a program made (check.h).
 *
 * Launches of equal dimensions that are given the same arrays are one shape: its dimensions are
 * constants, scalars that all of them have are too, the others have bounds, and pointers into one
 * array are one pointer. A shape is asked about as a whole; where that isn't proven, each of its
 * launches is, if they are few. The kernel's verdict is the worst, its alarms are those of all.
 * What is known of other launches is one line beside it.
 *
 * A program that launches a kernel thousands of times in many shapes is asked about first as if any
 * launch within the bounds of all of them were made: a proof holds for each. An alarm would be of
 * launches that weren't made, so none comes of that question.
 *
 * What arrays held as the launches started is assumed in a trial of its own, which is left at the
 * first pair that isn't proven: alarms are of any contents, and a contract has no more than it
 * needs.
 *
 * Costs: an analysis for each shape, two where contents count; they share the kernel's time.
 */
#include "prove/check.h"

#include <string.h>

/* So many launches of a shape are asked about one by one. */
#define FEW 8
/* Of more shapes or launches it is asked first whether any within their bounds is proven. */
#define MANY_SHAPES 4
#define MANY	    32
#define MAX_SHAPES  64

struct shapes {
	struct prove_launch *v; /* all, those of one shape side by side */
	size_t n;
	size_t end[MAX_SHAPES];
	size_t nends;
};

bool launches_has(const struct prove_options *o, const char *kernel)
{
	for (size_t i = 0; i < o->nlaunches; i++)
		if (!strcmp(o->launches[i].kernel, kernel))
			return true;
	return false;
}

/* Beyond MAX_SHAPES the last one holds what is left, as the analysis can ask about any. */
static void find_shapes(struct shapes *s, const struct prove_options *o, const char *kernel,
			struct base_arena *arena)
{
	bool *is_taken = BASE_NEWN(arena, bool, o->nlaunches + 1);

	memset(s, 0, sizeof(*s));
	s->v = BASE_NEWN(arena, struct prove_launch, o->nlaunches + 1);
	for (size_t i = 0; i < o->nlaunches; i++) {
		if (is_taken[i] || strcmp(o->launches[i].kernel, kernel) != 0)
			continue;
		for (size_t k = i; k < o->nlaunches; k++) {
			if (is_taken[k] ||
			    (k != i && !launch_is_alike(&o->launches[i], &o->launches[k])))
				continue;
			is_taken[k] = true;
			s->v[s->n++] = o->launches[k];
		}
		s->nends += s->nends < MAX_SHAPES;
		s->end[s->nends - 1] = s->n;
	}
}

/* ---- the contract -------------------------------------------------------------------- */

/* The number that a launch has in a word of its parameters. False: it isn't known, or a pointer. */
static bool number_in(const struct prove_launch *l, const struct ex_read *r, uint64_t *out)
{
	unsigned done = 0, bytes = r->w / 8;

	*out = 0;
	for (uint32_t i = 0; i < l->nwords && done < bytes; i++) {
		const struct prove_word *x = &l->word[i];
		if (x->off + x->bytes <= r->off + done || x->off > r->off + done)
			continue;
		unsigned skip = (unsigned)(r->off + done - x->off);
		if (x->array)
			return false;
		*out |= x->value >> (8 * skip) << (8 * done);
		done += (unsigned)x->bytes - skip;
	}
	*out &= prove_ex_mask(r->w);
	return done >= bytes;
}

/* "The dimensions and scalars are those of this launch." */
static const struct ex *like_launch(struct contract *c, const struct prove_launch *l)
{
	struct ex_pool *p = c->e->pool;
	const struct ex *all = prove_ex_const(p, 1, 1);
	uint64_t v;

	for (unsigned d = 0; d < 6; d++)
		all = prove_ex_and(
			p, all,
			prove_ex_bin(p, EX_EQ,
				     prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d)),
				     prove_ex_const(p, 32, l->dim[d])));
	for (uint32_t i = 0; i < p->nreads; i++) {
		const struct ex_read *r = &p->read[i];
		if (number_in(l, r, &v) && !(r->w == 64 && prove_ev_is_array(c->e, r->off)))
			all = prove_ex_and(p, all,
					   prove_ex_bin(p, EX_EQ,
							prove_ex_any_param(p, r->w, r->off),
							prove_ex_const(p, r->w, v)));
	}
	return all;
}

/* The bounds of each dimension over several launches, where it isn't one number. */
static const struct ex *bounds_of_dims(struct contract *c, const struct prove_launch *const *l,
				       size_t n)
{
	struct ex_pool *p = c->e->pool;
	const struct ex *all = prove_ex_const(p, 1, 1);

	for (unsigned d = 0; d < 6; d++) {
		const struct ex *x = prove_ex_spec(p, (enum prove_ex_spec)(EX_NTID_X + d));
		uint32_t lo = UINT32_MAX, hi = 0;
		for (size_t k = 0; k < n; k++) {
			lo = l[k]->dim[d] < lo ? l[k]->dim[d] : lo;
			hi = l[k]->dim[d] > hi ? l[k]->dim[d] : hi;
		}
		const struct ex *least = prove_ex_const(p, 32, lo);
		const struct ex *most = prove_ex_const(p, 32, hi);
		all = prove_ex_and(p, all, prove_ex_not(p, prove_ex_bin(p, EX_ULT, x, least)));
		all = prove_ex_and(p, all, prove_ex_not(p, prove_ex_bin(p, EX_ULT, most, x)));
	}
	return all;
}

/* The bounds of each scalar over several launches, which pins.c takes for the parameter's. */
static const struct ex *bounds_of_launches(struct contract *c, const struct prove_launch *const *l,
					   size_t n)
{
	struct ex_pool *p = c->e->pool;
	const struct ex *all = prove_ex_const(p, 1, 1);

	for (uint32_t i = 0; i < p->nreads; i++) {
		const struct ex_read *r = &p->read[i];
		const struct ex *x = prove_ex_any_param(p, r->w, r->off);
		int64_t lo = INT64_MAX, hi = INT64_MIN;
		bool is_known = !(r->w == 64 && prove_ev_is_array(c->e, r->off));
		uint64_t v;
		for (size_t k = 0; k < n && is_known; k++) {
			is_known = number_in(l[k], r, &v);
			int64_t s = is_known ? prove_ex_signed(v, r->w) : 0;
			lo = s < lo ? s : lo;
			hi = s > hi ? s : hi;
		}
		if (!is_known)
			continue;
		const struct ex *least =
			prove_ex_const(p, r->w, (uint64_t)lo & prove_ex_mask(r->w));
		const struct ex *most = prove_ex_const(p, r->w, (uint64_t)hi & prove_ex_mask(r->w));
		if (lo == hi)
			all = prove_ex_and(p, all, prove_ex_bin(p, EX_EQ, x, least));
		else
			all = prove_ex_and(
				p, all,
				prove_ex_and(p, prove_ex_not(p, prove_ex_bin(p, EX_SLT, x, least)),
					     prove_ex_not(p, prove_ex_bin(p, EX_SLT, most, x))));
	}
	return all;
}

/* "The dimensions and scalars are those of one of them." Many launches differ in what the kernel
 * doesn't read. */
static const struct ex *like_one_of(struct contract *c, const struct prove_launch *const *l,
				    size_t n)
{
	const struct ex **one = BASE_NEWN(c->arena, const struct ex *, n);
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		one[left] = like_launch(c, l[i]);
		left += !left || one[left] != one[left - 1];
	}
	while (left > 1) { /* as a balanced tree */
		size_t half = 0;
		for (size_t i = 0; i < left; i += 2)
			one[half++] =
				i + 1 < left ? prove_ex_or(c->e->pool, one[i], one[i + 1]) : one[i];
		left = half;
	}
	return one[0];
}

bool prove_contract_add_launches(struct contract *c, const char *kernel)
{
	struct ev_assume as = {.loop = IR_NONE,
			       .index = IR_NONE,
			       .text = "a recorded launch",
			       .is_recorded = true};
	const struct ex *any;
	const struct prove_launch **own;
	size_t n = 0;

	if (!c->o->launches)
		return true;
	own = BASE_NEWN(c->arena, const struct prove_launch *, c->o->nlaunches + 1);
	for (size_t i = 0; i < c->o->nlaunches; i++) {
		if (!strcmp(c->o->launches[i].kernel, kernel))
			own[n++] = &c->o->launches[i];
	}
	if (!n) {
		c->say(RACE_PROBLEM_VACUOUS, NULL, "no launch of this kernel was recorded", c->arg);
		return false;
	}
	any = c->o->by_bounds ? bounds_of_dims(c, own, n) : like_one_of(c, own, n);
	if (n > 1)
		any = prove_ex_and(c->e->pool, bounds_of_launches(c, own, n), any);
	as.guard = prove_ex_const(c->e->pool, 1, 1);
	as.holds = as.fact = any;
	base_vec_push(&c->e->assumes, as);
	prove_contract_add_contents(c, own, n);
	return true;
}

/* ---- scalars --------------------------------------------------------------------------- */

static int64_t signed_of(const struct prove_word *w)
{
	return prove_ex_signed(w->value & prove_ex_mask((unsigned)(8 * w->bytes)),
			       (unsigned)(8 * w->bytes));
}

static const char *name_of(const struct names *n, const struct names_param *p)
{
	return p->is_known ? p->name : base_printf(n->arena, "parameter %u", p->number);
}

/* "in = out + 4 bytes": a pointer into the array of an earlier parameter. */
static void put_same(const struct names *n, const struct prove_launch *l, uint32_t i,
		     struct base_buf *out)
{
	const struct names_param *p = prove_names_param_at(n, l->word[i].off), *q;
	uint32_t k = 0;

	while (k < i && l->word[k].array != l->word[i].array)
		k++;
	q = prove_names_param_at(n, l->word[k].off);
	if (k == i || !p || !q || p == q)
		return;
	int64_t by = (int64_t)(l->word[i].at - l->word[k].at);
	base_buf_printf(out, "%s%s = %s", out->n ? ", " : "", name_of(n, p), name_of(n, q));
	if (by)
		base_buf_printf(out, " %c %lld bytes", by < 0 ? '-' : '+',
				by < 0 ? -(long long)by : (long long)by);
}

/* "n = 1024, k = 1 to 7" of launches with the same words, by the names of the parameters. */
static const char *scalars_of(const struct names *names, const struct prove_launch *l, size_t n)
{
	struct base_buf out = {0};

	for (uint32_t i = 0; i < l->nwords && names->param; i++) {
		const struct names_param *p = prove_names_param_at(names, l->word[i].off);
		int64_t lo = INT64_MAX, hi = INT64_MIN;
		if (l->word[i].array)
			put_same(names, l, i, &out);
		if (!p || p->off != l->word[i].off || p->bytes != l->word[i].bytes ||
		    p->is_pointer || p->is_float || l->word[i].array)
			continue;
		for (size_t k = 0; k < n; k++) {
			int64_t v = signed_of(&l[k].word[i]);
			lo = v < lo ? v : lo;
			hi = v > hi ? v : hi;
		}
		if (out.n)
			base_buf_puts(&out, ", ");
		base_buf_printf(&out, "%s = %lld", name_of(names, p), (long long)lo);
		if (lo != hi)
			base_buf_printf(&out, " to %lld", (long long)hi);
	}
	const char *s = base_strndup(names->arena, out.p ? out.p : "", out.n);
	base_buf_free(&out);
	return s;
}

/* ---- results --------------------------------------------------------------------------- */

static unsigned badness(enum race_verdict v)
{
	static const unsigned char rank[RACE_VERDICT_COUNT] = {
		[RACE_VERDICT_FREE] = 0,     [RACE_VERDICT_SINGLE] = 1,
		[RACE_VERDICT_BENIGN] = 2,   [RACE_VERDICT_POTENTIAL] = 3,
		[RACE_VERDICT_UNPROVEN] = 4, [RACE_VERDICT_VACUOUS] = 5,
		[RACE_VERDICT_TRUE] = 6};

	return rank[v];
}

static void add_alarm(struct race_proof *k, const struct race_alarm *a)
{
	for (size_t i = 0; i < k->alarms.n; i++) {
		struct race_alarm *x = &k->alarms.v[i];
		if (x->level != a->level || x->side[0].ptx_line != a->side[0].ptx_line ||
		    x->side[1].ptx_line != a->side[1].ptx_line)
			continue;
		if (a->is_true && !x->is_true)
			*x = *a;
		return;
	}
	base_vec_push(&k->alarms, *a);
}

static void add_problem(struct race_proof *k, const struct race_problem *p)
{
	for (size_t i = 0; i < k->problems.n; i++)
		if (k->problems.v[i].kind == p->kind && k->problems.v[i].ptx_line == p->ptx_line &&
		    !strcmp(k->problems.v[i].text, p->text))
			return;
	base_vec_push(&k->problems, *p);
}

static void add_counts(struct race_proof_counts *to, const struct race_proof_counts *from)
{
	to->cases += from->cases;
	to->quick += from->quick;
	to->by_trying += from->by_trying;
	to->queries += from->queries;
	to->recalled += from->recalled;
	to->by_integers += from->by_integers;
	to->by_bits += from->by_bits;
	to->gave_up += from->gave_up;
	to->replays += from->replays;
	to->failed_replays += from->failed_replays;
}

/* What was found for one more shape joins what is known of the kernel. */
static void join(struct race_proof *k, struct race_proof *one, bool is_first)
{
	if (is_first) {
		*k = *one;
		return;
	}
	for (size_t i = 0; i < one->alarms.n; i++)
		add_alarm(k, &one->alarms.v[i]);
	for (size_t i = 0; i < one->problems.n; i++)
		add_problem(k, &one->problems.v[i]);
	for (size_t i = 0; i < one->launches.n; i++)
		base_vec_push(&k->launches, one->launches.v[i]);
	if (badness(one->verdict) > badness(k->verdict))
		k->verdict = one->verdict;
	k->rests_on_contents |= one->rests_on_contents;
	k->is_approx_path |= one->is_approx_path;
	k->is_approx_index |= one->is_approx_index;
	add_counts(&k->counts, &one->counts);
	/* a site or a remedy of one shape says nothing of the others */
	k->sites.n = k->remedies.n = k->frees.n = 0;
	k->stays_shared = k->is_whole = false;
	k->why_checked = "its launches differ";
	race_proof_free(one);
}

static bool has_contents(const struct prove_launch *l)
{
	for (uint32_t i = 0; i < l->nwords; i++)
		for (int s = 0; s < RACE_CONTENTS_SIZES; s++)
			if (l->word[i].holds.within[s])
				return true;
	return false;
}

/* Is it proven by what arrays held? Then t->k is the answer. Half of the time at most. */
static bool is_proven_by_contents(const struct kernel_task *t, const struct prove_launch *l,
				  struct names *names)
{
	struct prove_options own = *t->o;
	struct kernel_task some = *t;
	struct race_proof none = {.verdict = RACE_VERDICT_FREE};
	struct kernel_trial trial = {.alarms = &none, .is_patient = true};
	uint64_t now = prove_now_ms(), left = t->deadline > now ? t->deadline - now : 0;

	if (own.any_contents || !has_contents(l))
		return false;
	own.uses_contents = true;
	own.wants_remedies = false;
	some.o = &own;
	some.trial = &trial;
	some.deadline = now + left / 2;
	kernel_open_proof(t);
	kernel_analyse(&some, names);
	if (t->k->verdict == RACE_VERDICT_FREE && t->k->rests_on_contents && !trial.has_failed &&
	    !t->k->problems.n && prove_now_ms() < some.deadline)
		return true;
	race_proof_free(t->k);
	return false;
}

/* The kernel for these launches alone, into t->k. */
static void analyse_some(const struct kernel_task *t, struct prove_launch *l, size_t n)
{
	struct prove_options own = *t->o;
	struct kernel_task some = *t;
	struct names names;
	struct race_proof_launch line = {.n = (uint32_t)n};

	own.launches = l;
	own.nlaunches = n;
	own.may_alias |= launch_may_alias(l, n);
	some.o = &own;
	if (!is_proven_by_contents(&some, l, &names)) {
		kernel_open_proof(t);
		kernel_analyse(&some, &names);
	}
	memcpy(line.ntid, l->dim, sizeof(line.ntid));
	memcpy(line.nctaid, l->dim + 3, sizeof(line.nctaid));
	line.scalars = scalars_of(&names, l, n);
	line.verdict = t->k->verdict;
	base_vec_push(&t->k->launches, line);
}

/* Are all proven as any within their bounds? Then t->k is the answer. */
static bool are_proven_by_bounds(const struct kernel_task *t, struct shapes *s, uint64_t deadline)
{
	struct prove_options own = *t->o;
	struct kernel_task all = *t;
	struct race_proof none = {.verdict = RACE_VERDICT_FREE};
	struct kernel_trial trial = {.alarms = &none};
	struct names names;
	size_t from = 0;

	own.launches = s->v;
	own.nlaunches = s->n;
	own.may_alias |= launch_may_alias(s->v, s->n);
	own.by_bounds = true;
	own.wants_remedies = own.wants_protocol = false;
	all.o = &own;
	all.trial = &trial;
	all.deadline = deadline;
	kernel_open_proof(&all);
	kernel_analyse(&all, &names);
	if (t->k->verdict != RACE_VERDICT_FREE || t->k->problems.n || trial.has_failed ||
	    prove_now_ms() >= deadline) {
		race_proof_free(t->k);
		return false;
	}
	for (size_t i = 0; i < s->nends; i++) {
		struct race_proof_launch line = {.verdict = RACE_VERDICT_FREE};
		line.n = (uint32_t)(s->end[i] - from);
		memcpy(line.ntid, s->v[from].dim, sizeof(line.ntid));
		memcpy(line.nctaid, s->v[from].dim + 3, sizeof(line.nctaid));
		line.scalars = scalars_of(&names, s->v + from, line.n);
		base_vec_push(&t->k->launches, line);
		from = s->end[i];
	}
	return true;
}

static void analyse_shape(const struct kernel_task *t, struct prove_launch *l, size_t n)
{
	struct kernel_task whole = *t;
	uint64_t now = prove_now_ms(), left = t->deadline > now ? t->deadline - now : 0;

	if (n > 1 && n <= FEW)
		whole.deadline = now + left / 2;
	analyse_some(&whole, l, n);
	if (n == 1 || n > FEW || t->k->verdict == RACE_VERDICT_FREE)
		return;
	race_proof_free(t->k);
	for (size_t i = 0; i < n; i++) {
		struct race_proof one;
		struct kernel_task single = *t;
		now = prove_now_ms();
		single.k = &one;
		single.deadline = now + (t->deadline > now ? (t->deadline - now) / (n - i) : 0);
		analyse_some(&single, &l[i], 1);
		join(t->k, &one, !i);
	}
}

/* ---- others ---------------------------------------------------------------------------- */

static const char *words_for_others(const struct race_proof *k, struct base_arena *arena)
{
	const struct race_alarm *a = NULL;

	for (size_t i = 0; i < k->alarms.n; i++)
		if (!a || (k->alarms.v[i].is_true && !a->is_true))
			a = &k->alarms.v[i];
	if (k->verdict == RACE_VERDICT_FREE)
		return "race-free, too";
	if (!a || k->verdict == RACE_VERDICT_UNPROVEN || k->verdict == RACE_VERDICT_VACUOUS)
		return "not proven";
	return base_printf(arena, "%s %s:%u and %u",
			   a->is_true ? "there is a race at" : "there may be a race at",
			   *a->side[0].file ? a->side[0].file : "PTX line",
			   a->side[0].line ? a->side[0].line : a->side[0].ptx_line,
			   a->side[1].line ? a->side[1].line : a->side[1].ptx_line);
}

/* A quarter of the kernel's time at most goes into launches that the program doesn't make, and no
 * more than is left of its processor time. */
static void ask_about_others(const struct kernel_task *t)
{
	uint64_t left = work_cpu_left();

	struct prove_options any = *t->o;
	struct race_proof others;

	any.launches = NULL;
	any.nlaunches = 0;
	any.wants_remedies = any.wants_protocol = false;
	any.timeout_ms /= 4;
	if (left < any.timeout_ms)
		any.timeout_ms = (unsigned)left;
	if (!left)
		return;
	prove_kernel(t->m, t->f, &any, t->arena, &others, NULL);
	t->k->others = words_for_others(&others, t->arena);
	race_proof_free(&others);
}

/* What is known so far, lest it be lost. */
static void say_early(const struct kernel_task *t, bool is_all)
{
	t->k->others = is_all && !t->o->is_of_launches_alone ? "not proven" : NULL;
	t->k->ms = work_cpu_ms();
	if (t->early)
		t->early->fn(t->k, t->early->arg);
}

void launches_check(const struct kernel_task *t)
{
	bool has_others = !t->o->is_of_launches_alone;
	uint64_t end = t->deadline - (has_others ? t->o->timeout_ms / 4 : 0);
	struct shapes s;
	size_t from = 0;

	find_shapes(&s, t->o, t->k->name, t->arena);
	if ((s.nends > MANY_SHAPES || s.n > MANY) && !t->o->wants_extents &&
	    are_proven_by_bounds(t, &s, prove_now_ms() + t->o->timeout_ms / 4)) {
		say_early(t, true);
		from = s.n;
	}
	for (size_t i = 0; i < s.nends && from < s.n; i++) {
		struct race_proof one;
		struct kernel_task part = *t;
		uint64_t now = prove_now_ms();
		part.k = &one;
		part.deadline = now + (end > now ? (end - now) / (s.nends - i) : 0);
		analyse_shape(&part, s.v + from, s.end[i] - from);
		join(t->k, &one, !i);
		from = s.end[i];
		say_early(t, i + 1 == s.nends);
	}
	if (has_others)
		ask_about_others(t);
}
