/*
 * model.c - what iGUARD should find, by vector clocks, scopes and the whole history.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static void join(struct model_clock *a, const struct model_clock *b)
{
	for (unsigned t = 0; t < MODEL_THREADS; t++)
		if (a->of[t] < b->of[t])
			a->of[t] = b->of[t];
	a->seen |= b->seen;
}

static void join_scoped(struct model_scoped *a, const struct model_scoped *b)
{
	for (unsigned i = 0; i < MODEL_BLOCKS; i++)
		join(&a->home[i], &b->home[i]);
	join(&a->wide, &b->wide);
}

/* What a thread's release of this scope hands on, beside what earlier ones did. */
static void let_go(struct model_scoped *to, const struct model_thread *t, bool is_wide)
{
	join(&to->home[t->block], &t->all);
	if (is_wide)
		join(&to->wide, &t->all);
}

void model_begin(struct model *m, unsigned threads, const uint32_t *block_of)
{
	memset(m, 0, sizeof(*m));
	m->threads = threads;
	for (unsigned t = 0; t < threads; t++) {
		m->thread[t].block = block_of[t];
		m->thread[t].bars.of[t] = m->thread[t].all.of[t] = 1;
	}
}

void model_end(struct model *m)
{
	free(m->accesses);
}

void model_barrier(struct model *m, uint32_t set)
{
	struct model_clock bars = {0}, all = {0};
	struct model_scoped fences = {0}, pending = {0};

	for (unsigned t = 0; t < m->threads; t++)
		if (set >> t & 1) {
			join(&bars, &m->thread[t].bars);
			join(&all, &m->thread[t].all);
			join_scoped(&fences, &m->thread[t].fences);
			join_scoped(&pending, &m->thread[t].pending);
		}
	for (unsigned t = 0; t < m->threads; t++)
		if (set >> t & 1) {
			m->thread[t].bars = bars;
			m->thread[t].all = all;
			m->thread[t].fences = fences;
			m->thread[t].pending = pending;
			m->thread[t].bars.of[t]++;
			m->thread[t].all.of[t]++;
		}
}

void model_release(struct model *m, unsigned thread, unsigned s, bool is_wide)
{
	let_go(&m->thread[thread].op[s], &m->thread[thread], is_wide);
	m->thread[thread].all.of[thread]++;
}

static void take(struct model_thread *t, const struct model_scoped *from, bool is_wide)
{
	join(&t->all, &from->home[t->block]);
	if (is_wide)
		join(&t->all, &from->wide);
}

void model_fence(struct model *m, unsigned thread, bool is_wide)
{
	struct model_thread *t = &m->thread[thread];

	take(t, &t->seen, is_wide);
	take(t, &t->pending, is_wide);
	let_go(&t->fenced, t, is_wide);
	let_go(&t->fences, t, is_wide);
	t->all.of[thread]++;
}

void model_strong_write(struct model *m, unsigned thread, unsigned s, bool is_wide, bool is_rmw,
			size_t access)
{
	struct model_thread *t = &m->thread[thread];
	struct model_write *w;

	join_scoped(&t->pending, &m->writers[s]);
	join_scoped(&t->pending, &m->readers[s]);
	join_scoped(&m->writers[s], &t->fences);
	if (!is_rmw)
		m->nchain[s] = 0;
	if (m->nchain[s] == MODEL_CHAIN)
		abort();
	w = &m->chain[s][m->nchain[s]++];
	*w = (struct model_write){.released = t->fenced,
				  .fences = t->fences,
				  .thread = thread,
				  .access = (uint32_t)access,
				  .has_cta = !is_wide,
				  .is_rmw = is_rmw};
	join_scoped(&w->released, &t->op[s]);
}

void model_strong_read(struct model *m, unsigned thread, unsigned s, bool is_wide, bool is_acquire)
{
	struct model_thread *t = &m->thread[thread];
	uint32_t block = t->block;
	bool has_cta = !is_wide;

	join_scoped(&t->pending, &m->writers[s]);
	join_scoped(&m->readers[s], &t->fences);
	for (unsigned i = m->nchain[s]; i-- > 0;) {
		const struct model_write *w = &m->chain[s][i];
		uint32_t from = m->thread[w->thread].block;

		/* Each step of observation is between operations that are morally strong. */
		if (from != block && (has_cta || w->has_cta))
			break;
		join(&t->seen.home[from], &w->released.home[from]);
		join(&t->seen.wide, &w->released.wide);
		if (w->access && w->access <= 64)
			t->all.seen |= 1ull << (w->access - 1);
		if (is_acquire) {
			/* Of any write, a release or not: fences rather before than not. */
			join_scoped(&t->fences, &w->fences);
			if (from == t->block)
				join(&t->all, &w->released.home[from]);
			if (is_wide)
				join(&t->all, &w->released.wide);
		}
		if (!w->is_rmw)
			break;
		block = from;
		has_cta = w->has_cta;
	}
}

bool model_conflicts(const struct model *m, const struct model_access *a, unsigned thread,
		     const struct model_access *b)
{
	bool is_same_block = m->thread[a->thread].block == m->thread[thread].block;

	if (a->thread == thread || !(a->writes || b->writes))
		return false;
	if (!a->is_strong || !b->is_strong)
		return true;
	return !is_same_block && (a->has_cta || b->has_cta);
}

bool model_is_barred(const struct model *m, const struct model_access *a, unsigned thread)
{
	return a->bar_time <= m->thread[thread].bars.of[a->thread];
}

bool model_is_ordered(const struct model *m, const struct model_access *a, unsigned thread)
{
	size_t i = (size_t)(a - m->accesses);

	return a->time <= m->thread[thread].all.of[a->thread] ||
	       (i < 64 && m->thread[thread].all.seen >> i & 1);
}

bool model_races(const struct model *m, const struct model_access *b)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct model_access *a = &m->accesses[i];

		if (a->location == b->location && model_conflicts(m, a, b->thread, b) &&
		    !model_is_ordered(m, a, b->thread))
			return true;
	}
	return false;
}

struct model_access *model_add(struct model *m, const struct model_access *b)
{
	struct model_thread *t = &m->thread[b->thread];

	if (m->n == m->room) {
		m->room = m->room ? m->room * 2 : 64;
		m->accesses = realloc(m->accesses, m->room * sizeof(*m->accesses));
		if (!m->accesses)
			abort();
	}
	m->accesses[m->n] = *b;
	m->accesses[m->n].bar_time = t->bars.of[b->thread];
	m->accesses[m->n].time = t->all.of[b->thread];
	return &m->accesses[m->n++];
}
