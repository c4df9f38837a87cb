/*
 * rest.c - what each thread knows of launches that the judge doesn't want (rest.h).
 *
 * Misses: the numbers of launches, where several threads launch: those of other threads are counted
 * when they next look.
 */
#include "agent/judge/judge.h"
#include "agent/judge/rest.h"

__thread struct judge_rest judge_rests[JUDGE_RESTS];

static uint64_t take_count(struct judge_rest *r)
{
	uint64_t n = r->n;

	r->n = 0;
	return n;
}

uint64_t judge_rest_counted(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < JUDGE_RESTS; i++)
		n += take_count(&judge_rests[i]);
	return n;
}

static struct judge_rest_dims dims_of(const struct judge_dims *d)
{
	return (struct judge_rest_dims){d->grid[0],  d->grid[1],  d->grid[2],	      d->block[0],
					d->block[1], d->block[2], (uint32_t)d->shared};
}

bool judge_is_at_rest(const void *handle, const struct judge_dims *d)
{
	struct judge_rest *r = judge_rest_find(handle, d->stream, dims_of(d));

	if (!r || (r->context && r->context != forward_current()))
		return false;
	r->n++;
	agent_order_pass(r->effect);
	return true;
}

uint64_t judge_rest_note(const void *handle, const struct judge_dims *d, uint32_t changes,
			 uint32_t effect, uint16_t most)
{
	struct judge_rest *r = judge_rest_of(handle, d->grid[0]);
	uint64_t counted = take_count(r);

	*r = (struct judge_rest){.handle = handle,
				 .stream = d->stream,
				 .dims = dims_of(d),
				 .changes = changes,
				 .effect = effect,
				 .most = most};
	/* Each context has its own default streams. */
	if (effect &&
	    (!d->stream || d->stream == CU_STREAM_LEGACY || d->stream == CU_STREAM_PER_THREAD))
		r->context = forward_current();
	return counted;
}
