/*
 * model.c - what HiRace's detector should find, by vector clocks and the whole history.
 */
#include "model.h"

#include "hirace/machine.h"

#include <stdlib.h>
#include <string.h>

static void join(struct model_clock *a, const struct model_clock *b)
{
	for (unsigned t = 0; t < MODEL_THREADS; t++)
		if (a->of[t] < b->of[t])
			a->of[t] = b->of[t];
	a->seen |= b->seen;
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
	struct model_clock bars = {0}, all = {0}, fences = {0}, pending = {0};

	for (unsigned t = 0; t < m->threads; t++)
		if (set >> t & 1) {
			join(&bars, &m->thread[t].bars);
			join(&all, &m->thread[t].all);
			join(&fences, &m->thread[t].fences);
			join(&pending, &m->thread[t].pending);
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

void model_release(struct model *m, unsigned thread)
{
	m->thread[thread].released = m->thread[thread].all;
	m->thread[thread].let_go = m->thread[thread].pending;
	m->thread[thread].all.of[thread]++;
}

void model_fence(struct model *m, unsigned thread)
{
	struct model_thread *t = &m->thread[thread];

	join(&t->all, &t->seen);
	join(&t->all, &t->pending);
	model_release(m, thread);
	join(&t->fences, &t->released);
}

void model_strong_write(struct model *m, unsigned thread, unsigned s, bool is_rmw)
{
	struct model_thread *t = &m->thread[thread];

	join(&t->pending, &m->writers[s]);
	join(&t->pending, &m->readers[s]);
	join(&m->writers[s], &t->fences);
	if (!is_rmw) {
		memset(&m->sync[s], 0, sizeof(m->sync[s]));
		memset(&m->passed[s], 0, sizeof(m->passed[s]));
	}
	join(&m->sync[s], &t->released);
	join(&m->passed[s], &t->let_go);
}

void model_strong_read(struct model *m, unsigned thread, unsigned s, bool is_acquire)
{
	struct model_thread *t = &m->thread[thread];

	join(&t->pending, &m->writers[s]);
	join(&m->readers[s], &t->fences);
	join(is_acquire ? &t->all : &t->seen, &m->sync[s]);
	if (is_acquire) {
		join(&t->fences, &m->writers[s]);
		join(&t->pending, &m->passed[s]);
	}
}

void model_observe(struct model *m, unsigned thread, unsigned location)
{
	for (size_t i = 0; i < m->n && i < 64; i++) {
		const struct model_access *a = &m->accesses[i];

		/* Only where the two are morally strong. */
		if (a->location == location && a->kind >= HIRACE_BA &&
		    !model_conflicts(m, a, thread, HIRACE_GA))
			m->thread[thread].all.seen |= 1ull << i;
	}
}

bool model_conflicts(const struct model *m, const struct model_access *a, unsigned thread,
		     unsigned kind)
{
	bool is_same_block = m->thread[a->thread].block == m->thread[thread].block;

	if (a->thread == thread || (a->kind == HIRACE_R && kind == HIRACE_R))
		return false;
	if (a->kind < HIRACE_BA || kind < HIRACE_BA)
		return true;
	return !is_same_block && (a->kind == HIRACE_BA || kind == HIRACE_BA);
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

bool model_races(const struct model *m, unsigned thread, unsigned location, unsigned kind)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct model_access *a = &m->accesses[i];

		if (a->location == location && model_conflicts(m, a, thread, kind) &&
		    !model_is_ordered(m, a, thread))
			return true;
	}
	return false;
}

bool model_is_unbarred(const struct model *m, unsigned thread, unsigned location, unsigned kind)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct model_access *a = &m->accesses[i];

		if (a->location == location && model_conflicts(m, a, thread, kind) &&
		    !model_is_barred(m, a, thread))
			return true;
	}
	return false;
}

struct model_access *model_add(struct model *m, unsigned thread, unsigned location, unsigned kind)
{
	struct model_thread *t = &m->thread[thread];

	if (m->n == m->room) {
		m->room = m->room ? m->room * 2 : 64;
		m->accesses = realloc(m->accesses, m->room * sizeof(*m->accesses));
		if (!m->accesses)
			abort();
	}
	m->accesses[m->n] = (struct model_access){.thread = (uint8_t)thread,
						  .kind = (uint8_t)kind,
						  .location = (uint16_t)location,
						  .bar_time = t->bars.of[thread],
						  .time = t->all.of[thread]};
	return &m->accesses[m->n++];
}
