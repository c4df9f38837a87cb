/*
 * search.c - any two threads of a small launch whose accesses meet (replay.h).
 *
 * Where loops make the solver guess, every thread of a few blocks is run, the accesses are sorted
 * by address, and the first neighbours that overlap in one phase are replayed.
 *
 * Misses: pairs beyond 64 neighbours, blocks after the first 16 of a launch.
 */
#include "prove/replay_impl.h"

#include <stdlib.h>
#include <string.h>

/* An access of some thread of the launch, for sorting. */
struct seen {
	uint64_t addr;
	uint32_t group, tid[3], ctaid[3]; /* group: the CTA, or 0 for the grid */
	uint32_t warp, phase, turn;
	unsigned which;
	bool is_ordered, has_ended; /* the thread ended in this phase */
};

static int by_address(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->is_ordered != b->is_ordered) /* what nothing may order comes first */
		return a->is_ordered ? 1 : -1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

struct search {
	struct run r;
	BASE_VEC(struct seen) seen;
	bool is_same_cta;
};

static void search_thread(struct search *s, const uint32_t *tid, const uint32_t *ctaid,
			  uint32_t cta)
{
	struct thread *t = replay_thread(&s->r, SEARCH_EVENTS, false);
	enum ir_rank k = replay_rank_of(s->r.p);

	replay_run_thread(&s->r, t, tid, ctaid, IR_RANK_CTA, UINT32_MAX);
	for (uint32_t i = 0; i < t->nevents; i++) {
		struct seen x = {.addr = t->events[i].addr, .which = t->events[i].which};
		memcpy(x.tid, tid, sizeof(x.tid));
		memcpy(x.ctaid, ctaid, sizeof(x.ctaid));
		x.group = s->is_same_cta ? cta : 0;
		x.warp = replay_warp_of(s->r.m, tid);
		x.turn = t->events[i].turn;
		x.phase = t->events[i].phase[k];
		x.has_ended = !t->is_lost && !t->is_trapped && t->nbars[k] == x.phase;
		x.is_ordered =
			(s->is_same_cta ? t->events[i].order : t->events[i].order_ever) != IR_NONE;
		base_vec_push(&s->seen, x);
	}
}

/* Each thread of at most SEARCH_CTAS blocks. */
static void search_launch(struct search *s)
{
	const struct smt_model *m = s->r.m;
	uint32_t tid[3], ctaid[3], ctas = 0;

	for (ctaid[2] = 0; ctaid[2] < m->nctaid[2]; ctaid[2]++)
		for (ctaid[1] = 0; ctaid[1] < m->nctaid[1]; ctaid[1]++)
			for (ctaid[0] = 0; ctaid[0] < m->nctaid[0]; ctaid[0]++) {
				if (++ctas > (s->is_same_cta ? 1 : SEARCH_CTAS))
					return;
				for (uint32_t i = 0; i < m->ntid[0] * m->ntid[1] * m->ntid[2];
				     i++) {
					tid[0] = i % m->ntid[0];
					tid[1] = i / m->ntid[0] % m->ntid[1];
					tid[2] = i / m->ntid[0] / m->ntid[1];
					search_thread(s, tid, ctaid, ctas);
				}
			}
}

static bool is_pair(const struct search *s, const struct seen *x, const struct seen *y)
{
	const struct run *r = &s->r;
	bool same_cta = !memcmp(x->ctaid, y->ctaid, sizeof(x->ctaid));

	if (!(x->which & 1) || !(y->which & 2) || same_cta != s->is_same_cta)
		return false;
	if (same_cta && !memcmp(x->tid, y->tid, sizeof(x->tid)))
		return false;
	if (s->is_same_cta && (r->p->level == RACE_LEVEL_WARP || r->p->is_split) &&
	    (x->warp == y->warp) != (r->p->level == RACE_LEVEL_WARP))
		return false;
	if (r->p->is_lockstep && x->turn != y->turn)
		return false;
	if (r->p->is_partial && x->addr == y->addr && r->a->mem->bytes == r->b->mem->bytes)
		return false;
	if (x->phase != y->phase && !(x->has_ended && x->phase < y->phase) &&
	    !(y->has_ended && y->phase < x->phase))
		return false;
	return x->group == y->group && x->addr < y->addr + r->b->mem->bytes &&
	       y->addr < x->addr + r->a->mem->bytes;
}

bool replay_search(struct ev *e, struct smt_model *m, const struct replay_pair *p,
		   struct replay_meeting *out)
{
	struct search s = {.r = {.e = e, .m = m, .p = p, .a = p->a, .b = p->b}};
	struct replay_pair quiet = *p;
	struct smt_model try = *m;
	unsigned tries = 0;
	bool found = false;

	memset(out, 0, sizeof(*out));
	memset(try.tid, 0, sizeof(try.tid));
	memset(try.ctaid, 0, sizeof(try.ctaid));
	s.r.m = &try;
	s.is_same_cta = p->level != RACE_LEVEL_GRID;
	quiet.watch[0] = quiet.watch[1] = NULL;
	s.r.p = &quiet;
	if (!replay_is_legal(&s.r))
		return false;
	replay_open(&s.r, SEARCH_STEPS);
	search_launch(&s);
	if (s.seen.n)
		qsort(s.seen.v, s.seen.n, sizeof(*s.seen.v), by_address);
	/* Equal or overlapping addresses are neighbours; widths are at most 16 bytes. */
	for (size_t i = 0; i < s.seen.n && !found && tries < 8; i++) {
		for (size_t k = i; k-- > 0 && i - k < 64 && !found && tries < 8;) {
			const struct seen *x = &s.seen.v[i], *y = &s.seen.v[k];
			if (!is_pair(&s, x, y)) {
				const struct seen *t = x;
				x = y;
				y = t;
			}
			if (!is_pair(&s, x, y))
				continue;
			memcpy(try.tid[0], x->tid, sizeof(x->tid));
			memcpy(try.tid[1], y->tid, sizeof(y->tid));
			memcpy(try.ctaid[0], x->ctaid, sizeof(x->ctaid));
			memcpy(try.ctaid[1], y->ctaid, sizeof(y->ctaid));
			tries++;
			found = replay_run(e, &try, p, out) == REPLAY_RACES;
		}
	}
	if (found)
		*m = try;
	base_vec_free(&s.seen);
	replay_close(&s.r);
	return found;
}
