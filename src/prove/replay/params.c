/*
 * params.c - what a replay's launch has in its parameters (replay.h).
 *
 * Scalars are the model's, pointers lead to arrays far from each other. A word that is read in
 * several widths may have several numbers in a model: where they contradict, it isn't known.
 *
 * Misses: a word that two overlapping ones make up together.
 */
#include "prove/replay/replay_impl.h"

static uint64_t pointer_base(uint64_t off)
{
	return 1ull << 63 | (off + 1) << 46;
}

/* Of a parameter that is read in several widths: do the numbers of the other parts say the same? */
static bool agree(const struct smt_model *m, uint64_t off, unsigned bytes, uint64_t v)
{
	for (uint32_t i = 0; i < m->nparams; i++) {
		uint64_t lo = m->param[i].off > off ? m->param[i].off : off;
		uint64_t end = m->param[i].off + m->param[i].bytes;
		end = end < off + bytes ? end : off + bytes;
		for (; lo < end; lo++)
			if ((v >> (8 * (lo - off)) ^
			     m->param[i].value >> (8 * (lo - m->param[i].off))) &
			    255)
				return false;
	}
	return true;
}

/* Is some part of this word read otherwise, too? */
static bool is_shared_word(const struct ex_pool *p, uint64_t off, unsigned bytes)
{
	for (uint32_t i = 0; i < p->nreads; i++)
		if (p->read[i].off < off + bytes && off < p->read[i].off + p->read[i].w / 8 &&
		    (p->read[i].off != off || p->read[i].w != 8 * bytes))
			return true;
	return false;
}

struct value prove_replay_param(const struct run *r, uint64_t off, unsigned bytes)
{
	const struct ex_launch *l = &r->e->pool->launch;

	for (uint32_t i = 0; i < l->nsame && bytes == 8 && !r->is_every; i++)
		if (l->same[i].off == off)
			return (struct value){pointer_base(l->same[i].of) + l->same[i].delta, true};
	if (bytes < 8 && !r->is_every && prove_ev_is_array(r->e, off & ~7ull)) /* a part of it */
		return (struct value){pointer_base(off & ~7ull) >> (8 * (off & 7)) &
					      prove_ex_mask(8 * bytes),
				      true};
	for (uint32_t i = 0; i < r->m->nparams; i++)
		if (r->m->param[i].off == off && r->m->param[i].bytes == bytes)
			return (struct value){r->m->param[i].value,
					      agree(r->m, off, bytes, r->m->param[i].value)};
	if (r->is_every)
		return (struct value){0, false};
	if (bytes == 8 && (prove_ev_is_array(r->e, off) || !is_shared_word(r->e->pool, off, bytes)))
		return (struct value){pointer_base(off), true};
	return (struct value){0, agree(r->m, off, bytes, 0)};
}
