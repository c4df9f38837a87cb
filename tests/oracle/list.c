/*
 * list.c - lists of events: to the oracle, compared, made small (list.h).
 *
 * The oracle gives numbers to actors itself; a table leads from the list's to its and back. An
 * event of the list is its own `inst`, so that findings name events.
 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

struct span {
	uint32_t from, to, count; /* list's first, oracle's first */
};

struct feeder {
	const struct list *l;
	struct span spans[NAIVE_EVENTS];
	uint32_t nspans;
	struct list_verdict *out;
};

void list_init(struct list *l)
{
	memset(l, 0, sizeof(*l));
}

struct list_event *list_add(struct list *l, enum event_type type)
{
	struct list_event *e = &l->e[l->n];

	if (l->n == NAIVE_EVENTS)
		return NULL;
	memset(e, 0, sizeof(*e));
	l->labels[l->n][0] = 0;
	e->type = (uint8_t)type;
	l->n++;
	return e;
}

/* Will the arrival's lanes leave, too? */
static bool will_leave(const struct list *l, size_t i)
{
	const struct list_event *a = &l->e[i];

	for (size_t k = i + 1; k < l->n; k++) {
		const struct list_event *b = &l->e[k];

		if (b->type == EVENT_LEAVE && b->key == a->key && b->key2 == a->key2 &&
		    b->actor == a->actor)
			return true;
	}
	return false;
}

/* The first access that is of the same instruction: of the same key, 0 being none. */
static size_t first_of(const struct list *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (l->e[i].type == EVENT_ACCESS && l->e[i].key && l->e[k].type == EVENT_ACCESS &&
		    l->e[k].key == l->e[i].key)
			return k;
	return i;
}

void list_fix(struct list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct list_event *e = &l->e[i];

		if (e->type == EVENT_GRID)
			e->grid = &l->grids[e->other / LIST_GRID - 1];
		if (e->type == EVENT_ARRIVE)
			e->flags = (uint8_t)((e->flags & ORACLE_BAR_RELEASE) |
					     (will_leave(l, i) ? ORACLE_BAR_LEAVES : 0));
		bool has_addresses = e->type == EVENT_ACCESS || e->type == EVENT_PROXY;
		e->addresses = has_addresses && e->mask ? l->addresses[i] : NULL;
		e->inst = &l->e[first_of(l, i)];
	}
}

void list_remove(struct list *l, size_t i)
{
	size_t rest = l->n - i - 1;

	memmove(&l->e[i], &l->e[i + 1], rest * sizeof(l->e[0]));
	memmove(&l->addresses[i], &l->addresses[i + 1], rest * sizeof(l->addresses[0]));
	memmove(&l->labels[i], &l->labels[i + 1], rest * sizeof(l->labels[0]));
	l->n--;
	list_fix(l);
}

/* ---- the oracle's verdict ----------------------------------------------------- */

static uint32_t to_oracle(const struct feeder *f, uint32_t actor)
{
	for (uint32_t i = 0; i < f->nspans; i++)
		if (actor - f->spans[i].from < f->spans[i].count)
			return f->spans[i].to + (actor - f->spans[i].from);
	return ORACLE_NO_ACTOR;
}

static uint32_t from_oracle(const struct feeder *f, uint32_t actor)
{
	for (uint32_t i = 0; i < f->nspans; i++)
		if (actor - f->spans[i].to < f->spans[i].count)
			return f->spans[i].from + (actor - f->spans[i].to);
	return ORACLE_NO_ACTOR;
}

static void on_race(void *arg, const struct oracle_finding *r)
{
	struct feeder *f = (struct feeder *)arg;
	const struct list_event *a = (const struct list_event *)r->first.inst;
	const struct list_event *b = (const struct list_event *)r->second.inst;
	struct list_verdict *v = f->out;

	if (r->kind == ORACLE_BAR_COUNT)
		return;
	if (a < f->l->e || a >= f->l->e + f->l->n || b < f->l->e || b >= f->l->e + f->l->n) {
		v->is_broken = true;
		return;
	}
	if (v->npairs == sizeof(v->pairs) / sizeof(v->pairs[0]))
		return;
	v->pairs[v->npairs++] = (struct naive_pair){(uint16_t)(a - f->l->e),
						    (uint16_t)(b - f->l->e),
						    from_oracle(f, r->first.actor),
						    from_oracle(f, r->second.actor),
						    r->kind == ORACLE_RACE_NC,
						    false,
						    0,
						    0};
}

static void feed(struct feeder *f, struct oracle *o, const struct list_event *e)
{
	struct list_event x = *e;
	uint32_t made, name = e->type == EVENT_HOST ? e->actor : e->other;
	bool is_made = e->type == EVENT_GRID || e->type == EVENT_FORK || e->type == EVENT_HOST ||
		       (e->type == EVENT_START && e->other);

	x.actor = to_oracle(f, e->actor);
	x.other = e->type == EVENT_JOIN ? to_oracle(f, e->other) : 0;
	made = list_feed(o, &x);
	if (is_made)
		f->spans[f->nspans++] = (struct span){
			name, made,
			e->type == EVENT_GRID
				? e->grid->blocks * oracle_stride(e->grid->block_threads)
				: 1};
}

/* Does one host thread submit every operation before it starts? */
static bool has_one_host(const struct list *l)
{
	uint32_t nhosts = 0;

	for (size_t i = 0; i < l->n; i++) {
		bool is_submitted = l->e[i].type != EVENT_START;
		nhosts += l->e[i].type == EVENT_HOST;
		for (size_t k = 0; k < i && !is_submitted; k++)
			is_submitted = l->e[k].type == EVENT_SUBMIT && l->e[k].key == l->e[i].key;
		if (!is_submitted)
			return false;
	}
	return nhosts == 1;
}

static void judge(const struct list *l, struct oracle_options opt, struct list_verdict *out)
{
	struct feeder f = {.l = l, .out = out};
	opt.is_one_host = has_one_host(l);
	struct oracle *o = oracle_new(&opt);
	out->npairs = 0;
	out->is_part = false;
	out->is_broken = !o;
	if (!o)
		return;
	oracle_on_race(o, on_race, &f);
	for (size_t i = 0; i < l->n; i++)
		feed(&f, o, &l->e[i]);
	if (oracle_is_full(o) || oracle_get_stats(o).dropped)
		out->is_broken = true;
	out->is_part = oracle_get_stats(o).raced_out ||
		       out->npairs == sizeof(out->pairs) / sizeof(out->pairs[0]);
	out->is_coarse = oracle_get_stats(o).is_sc_coarse;
	oracle_free(o);
}

void list_judge(const struct list *l, enum oracle_sc sc, bool is_tiny, struct list_verdict *out)
{
	judge(l, (struct oracle_options){.sc = sc, .is_tiny = is_tiny}, out);
}

/* ---- comparison --------------------------------------------------------------- */

static bool has_pair(const struct naive_pair *list, uint32_t n, const struct naive_pair *p)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].first == p->first && list[i].second == p->second &&
		    list[i].first_actor == p->first_actor &&
		    list[i].second_actor == p->second_actor && list[i].is_nc == p->is_nc)
			return true;
	return false;
}

static bool has_second(const struct naive_pair *list, uint32_t n, const struct naive_pair *p)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].second == p->second && list[i].second_actor == p->second_actor)
			return true;
	return false;
}

#define LIST_BYTES 4096u /* more than all locations have */

static const char *tell(const char *who, const struct naive_pair *p)
{
	static char text[160];

	snprintf(text, sizeof(text), "only %s has lines %u (actor %u) and %u (actor %u)%s", who,
		 p->first + 1u, p->first_actor, p->second + 1u, p->second_actor,
		 p->is_nc ? " as a read-only load" : "");
	return text;
}

/* Each byte that races has a finding, with whatever accesses: what has been superseded was no first
 * race. (Every pair with a finding is one of `want`.) */
static const char *compare_bytes(const struct naive_result *want, const struct list_verdict *got)
{
	static bool has_finding[LIST_BYTES];
	uint64_t from, to;

	memset(has_finding, 0, sizeof(has_finding));
	for (uint32_t i = 0; i < want->npairs; i++) {
		if (!has_pair(got->pairs, got->npairs, &want->pairs[i]))
			continue;
		naive_bytes(&want->pairs[i], &from, &to);
		for (; from < to; from++)
			has_finding[from % LIST_BYTES] = true;
	}
	for (uint32_t i = 0; i < want->npairs; i++) {
		naive_bytes(&want->pairs[i], &from, &to);
		for (; from < to; from++)
			if (!has_finding[from % LIST_BYTES] && naive_is_open(&want->pairs[i], from))
				return tell("at a byte, the manual", &want->pairs[i]);
	}
	return NULL;
}

static const char *compare(const struct naive_result *want, const struct list_verdict *got)
{
	if (got->is_broken)
		return "the oracle gave up, or names an unknown instruction";
	for (uint32_t i = 0; i < got->npairs; i++)
		if (!has_pair(want->pairs, want->npairs, &got->pairs[i]))
			return tell("the oracle", &got->pairs[i]);
	/* Each racing access has its finding, with one of those that it races with: others may be
	 * superseded. */
	for (uint32_t i = 0; i < want->npairs && !got->is_part; i++)
		if (!want->pairs[i].is_hidden &&
		    !has_second(got->pairs, got->npairs, &want->pairs[i]))
			return tell("the manual", &want->pairs[i]);
	return got->is_part ? NULL : compare_bytes(want, got);
}

/* The pairs that race, each event by the first one of its instruction. */
static void wanted(const struct list *l, enum oracle_sc sc, struct naive_result *want)
{
	naive_judge(l->e, l->n, sc, want);
	for (uint32_t i = 0; i < want->npairs && !want->is_too_long; i++) {
		want->pairs[i].first = (uint16_t)first_of(l, want->pairs[i].first);
		want->pairs[i].second = (uint16_t)first_of(l, want->pairs[i].second);
	}
}

const char *list_compare_coarse(const struct list *l, bool *is_coarse)
{
	static struct naive_result want;
	static struct list_verdict got;

	wanted(l, ORACLE_SC_PROGRAM, &want);
	for (unsigned is_late = 0; is_late < 2; is_late++) {
		struct oracle_options opt = {
			.sc = ORACLE_SC_PROGRAM, .max_forced = 1, .has_late_writes = is_late};
		judge(l, opt, &got);
		*is_coarse = got.is_coarse;
		got.is_part = true; /* it may miss some */
		const char *diff = want.is_too_long ? NULL : compare(&want, &got);
		if (diff)
			return diff;
	}
	return NULL;
}

const char *list_compare(const struct list *l, enum oracle_sc sc)
{
	static struct naive_result want;
	static struct list_verdict got;
	const char *diff = NULL;

	wanted(l, sc, &want);
	if (want.is_too_long)
		return NULL;
	for (unsigned is_tiny = 0; is_tiny < 2 && !diff; is_tiny++) {
		list_judge(l, sc, is_tiny, &got);
		diff = compare(&want, &got);
	}
	return diff;
}

static bool try_list(struct list *l, const struct list *t, enum oracle_sc sc)
{
	if (!list_compare(t, sc))
		return false;
	*l = *t;
	list_fix(l);
	return true;
}

void list_shrink(struct list *l, enum oracle_sc sc)
{
	static struct list t;
	bool is_smaller = true;

	while (is_smaller) {
		is_smaller = false;
		for (size_t i = l->n; i-- > 0;) {
			t = *l;
			list_remove(&t, i);
			if (try_list(l, &t, sc)) {
				is_smaller = true;
				continue;
			}
			for (uint32_t lane = 0; l->e[i].mask && lane < ORACLE_LANES; lane++) {
				t = *l;
				list_fix(&t);
				t.e[i].mask &= ~(1u << lane);
				if (t.e[i].mask && t.e[i].mask != l->e[i].mask &&
				    try_list(l, &t, sc))
					is_smaller = true;
			}
		}
	}
}
