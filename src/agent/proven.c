/*
 * proven.c - what is proven of a launch by its kernel's proof (race/plain.h): the terms on
 * dimensions and scalars, and where its pointers lead. What is beside it is plain.c's to know.
 *
 * And what the launches of a kernel without a proof have in common, for one that is made later
 * (race/noted.h): in code that was instrumented as it was loaded, whose module says so. What
 * earlier runs have noted counts, too.
 *
 * Misses: notes of launches that can't be proven, as others may run beside them. Costs: a question
 * to the driver for each pointer, some 0.1 us; of a note 15 ns, and 0.1 ms where a launch differs
 * from all before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/given.h"
#include "base/base.h"
#include "race/noted.h"

bool agent_proof_read(struct agent_proof *k, const unsigned char *text, size_t bytes)
{
	if (bytes < sizeof(k->head))
		return false;
	memcpy(&k->head, text, sizeof(k->head));
	if (k->head.narrays > RACE_PLAIN_ARRAYS || k->head.nterms > RACE_PLAIN_TERMS ||
	    k->head.nown > RACE_PLAIN_OWN_TERMS)
		return false;
	size_t pointers = k->head.narrays * sizeof(k->pointer[0]);
	size_t terms = k->head.nterms * sizeof(k->term[0]);
	size_t own = k->head.nown * sizeof(k->own[0]);
	if (bytes < sizeof(k->head) + pointers + terms + own)
		return false;
	memcpy(k->pointer, text + sizeof(k->head), pointers);
	memcpy(k->term, text + sizeof(k->head) + pointers, terms);
	memcpy(k->own, text + sizeof(k->head) + pointers + terms, own);
	return true;
}

static const void *param(const struct agent_launch_call *l, uint32_t index)
{
	return l->params ? l->params[index] : NULL;
}

static bool read_number(const struct agent_launch_call *l, const struct race_plain_number *n,
			uint64_t *out)
{
	const void *p;
	int32_t v;

	if (n->kind == RACE_PLAIN_CONST) {
		*out = n->n;
		return true;
	}
	if (n->kind == RACE_PLAIN_DIM) {
		*out = n->n < 3 ? l->block[n->n] : l->grid[n->n % 3];
		return n->n < 6;
	}
	p = param(l, (uint32_t)n->n);
	if (!p)
		return false;
	memcpy(&v, p, sizeof(v));
	*out = (uint64_t)(int64_t)v;
	return v >= 0;
}

static bool holds(const struct agent_launch_call *l, const struct race_plain_term *t)
{
	uint64_t a, b, c, d;

	if (!read_number(l, &t->a, &a) || !read_number(l, &t->b, &b) ||
	    !read_number(l, &t->c, &c) || !read_number(l, &t->d, &d) || (t->is_rem && !b))
		return false;
	uint64_t x = t->is_rem ? a % b : a * b, y = c * d;
	switch (t->cmp) {
	case RACE_PLAIN_EQ:
		return x == y;
	case RACE_PLAIN_NE:
		return x != y;
	case RACE_PLAIN_LT:
		return x < y;
	case RACE_PLAIN_LE:
		return x <= y;
	case RACE_PLAIN_GT:
		return x > y;
	case RACE_PLAIN_GE:
		return x >= y;
	default:
		return false;
	}
}

/* What the memory is that a pointer leads to: not known, known, of cuMemAlloc in this context. */
enum memory { MEMORY_UNKNOWN, MEMORY_KNOWN, MEMORY_OURS };

static enum memory find_array(CUcontext context, uint64_t at, struct race_plain_array *out)
{
	CUcontext of = NULL;
	CUmemorytype type = 0;
	unsigned is_managed = 0, is_linear = 0; /* the driver writes a byte or four */
	CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
				      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				      CU_POINTER_ATTRIBUTE_IS_MANAGED,
				      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
				      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
				      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	void *to[] = {&of, &type, &is_managed, &is_linear, &out->from, &out->bytes};

	*out = (struct race_plain_array){0, 0};
	/* Nothing is accessed there. */
	if (!at)
		return MEMORY_KNOWN;
	/* Of what isn't the driver's all answers are 0. */
	if (agent_driver.pointer_get_attributes((unsigned)BASE_COUNTOF(what), what, to, at) !=
	    CUDA_SUCCESS)
		return MEMORY_UNKNOWN;
	if (!out->bytes || at < out->from || at >= out->from + out->bytes)
		return MEMORY_UNKNOWN;
	return of == context && type == CU_MEMORYTYPE_DEVICE && !is_managed && is_linear
		       ? MEMORY_OURS
		       : MEMORY_KNOWN;
}

static bool is_same_pointer(const struct agent_proof *k, uint32_t i, uint32_t j)
{
	return k->pointer[j].index == k->pointer[i].index &&
	       k->pointer[j].inner == k->pointer[i].inner;
}

/* False: a parameter isn't known. */
static bool find_arrays(const struct agent_proof *k, const struct agent_launch_call *l,
			struct race_plain_state *out, enum memory *of)
{
	for (uint32_t i = 0; i < k->head.narrays; i++) {
		const char *p = param(l, k->pointer[i].index);
		uint64_t at;
		if (!p)
			return false;
		uint32_t j = 0; /* the same pointer may be for two things */
		while (!is_same_pointer(k, i, j))
			j++;
		memcpy(&at, p + k->pointer[i].inner, sizeof(at));
		of[i] = j < i ? of[j] : find_array(l->context, at, &out->array[i]);
		out->array[i] = out->array[j];
	}
	return true;
}

static bool is_for(const struct agent_proof *k, uint32_t i, uint16_t use)
{
	return k->pointer[i].uses & use;
}

static bool are_apart(const struct race_plain_array *a, const struct race_plain_array *b)
{
	return a->from != b->from || !a->bytes || !b->bytes;
}

/* Do all pointers of the proof lead to memory of its own? */
static bool is_whole(const struct agent_proof *k, const struct agent_launch_call *l,
		     const struct race_plain_state *s, const enum memory *of)
{
	bool holds_all = k->head.flags & RACE_PLAIN_WHOLE;

	for (uint32_t i = 0; i < k->head.nterms && holds_all; i++)
		holds_all = holds(l, &k->term[i]);
	for (uint32_t i = 0; i < k->head.narrays && holds_all; i++) {
		if (!is_for(k, i, RACE_PLAIN_OF_PROOF))
			continue;
		holds_all = of[i] == MEMORY_OURS;
		for (uint32_t j = 0; j < i && holds_all; j++)
			holds_all = !is_for(k, j, RACE_PLAIN_OF_PROOF) ||
				    are_apart(&s->array[j], &s->array[i]);
	}
	return holds_all;
}

/* Does an array have nothing in common with those that are for one of these uses? Its own pointer
 * doesn't count. */
static bool is_apart_from(const struct agent_proof *k, const struct race_plain_state *s, uint32_t i,
			  uint16_t uses)
{
	for (uint32_t j = 0; j < k->head.narrays; j++)
		if (!is_same_pointer(k, i, j) && is_for(k, j, uses) &&
		    !are_apart(&s->array[j], &s->array[i]))
			return false;
	return true;
}

/* Is it known where the kernel reads? */
static bool are_reads_known(const struct agent_proof *k, const enum memory *of)
{
	for (uint32_t i = 0; i < k->head.narrays; i++)
		if (is_for(k, i, RACE_PLAIN_TESTED) && of[i] == MEMORY_UNKNOWN)
			return false;
	return true;
}

/* Has each thread its own part of array i, as far as dimensions and scalars say? */
static bool is_own(const struct agent_proof *k, const struct agent_launch_call *l, uint32_t i)
{
	bool is_any = false;

	for (uint32_t t = 0; t < k->head.nown; t++) {
		if (k->own[t].pointer != i)
			continue;
		if (!holds(l, &k->own[t].term))
			return false;
		is_any = true;
	}
	return is_any;
}

/* Which arrays does the launch only read, and of which has each thread its own part? Others have no
 * bytes then, and no access in them. False: none, or it isn't known where it writes. *is_all: there
 * is nothing else. */
static bool is_part(const struct agent_proof *k, const struct agent_launch_call *l,
		    struct race_plain_state *s, const enum memory *of, bool *is_all)
{
	const uint16_t any = RACE_PLAIN_WRITTEN | RACE_PLAIN_TESTED;
	bool is_any = false, has_own = false, may_own = are_reads_known(k, of);

	*is_all = k->head.flags & RACE_PLAIN_ALL;

	for (uint32_t i = 0; i < k->head.narrays; i++)
		if (is_for(k, i, RACE_PLAIN_WRITTEN) && of[i] == MEMORY_UNKNOWN)
			return false;
	for (uint32_t i = 0; i < k->head.narrays; i++) {
		bool is_good = of[i] == MEMORY_OURS;
		if (is_for(k, i, any))
			continue;
		if (is_for(k, i, RACE_PLAIN_OWN))
			has_own |= is_good = is_good && may_own && is_own(k, l, i) &&
					     is_apart_from(k, s, i, any);
		else
			is_good = is_good && is_for(k, i, RACE_PLAIN_READ) &&
				  is_apart_from(k, s, i, RACE_PLAIN_WRITTEN);
		if (!is_good)
			s->array[i] = (struct race_plain_array){0, 0};
		is_any |= is_good;
		*is_all &= is_good;
	}
	/* Where reads are checked all the same, they may be anywhere. */
	for (uint32_t i = 0; i < k->head.narrays && !has_own; i++)
		if (is_for(k, i, RACE_PLAIN_TESTED) && !is_for(k, i, RACE_PLAIN_WRITTEN))
			s->array[i] = (struct race_plain_array){0, UINT64_MAX};
	return is_any && k->head.flags & RACE_PLAIN_PART;
}

enum race_plain_on agent_proven(const struct agent_proof *k, const struct agent_launch_call *l,
				struct race_plain_state *out)
{
	enum memory of[RACE_PLAIN_ARRAYS];
	bool is_all;

	if (!k->head.flags || !l->is_simple || !find_arrays(k, l, out, of))
		return RACE_PLAIN_CHECKED;
	if (is_whole(k, l, out, of))
		return RACE_PLAIN_PROVEN;
	if (!is_part(k, l, out, of, &is_all))
		return RACE_PLAIN_CHECKED;
	return is_all ? RACE_PLAIN_PROVEN : RACE_PLAIN_PARTLY;
}

/* ---- notes for a later proof ----------------------------------------------------------------- */

struct agent_noted {
	struct race_noted_kernel of;
	struct race_noted all;
};

bool agent_notes_launches(void)
{
	const struct agent_given *g = agent_given();

	return g && *g->tool && *g->cache;
}

struct agent_noted *agent_noted_new(const struct race_noted_kernel *of)
{
	struct agent_noted *n = calloc(1, sizeof(*n));
	int was = errno; /* the program's */

	if (!n) {
		AGENT_NO_MEMORY("a kernel may be checked in later runs that needs no checks");
		return NULL;
	}
	n->of = *of;
	if (!race_noted_read(agent_given()->cache, of->id, &n->all))
		race_noted_init(&n->all, of->id);
	errno = was;
	return n;
}

void agent_noted_launch(struct agent_noted *n, const struct agent_launch_call *l)
{
	int was = errno;
	uint32_t dim[6];

	memcpy(dim, l->block, sizeof(l->block));
	memcpy(dim + 3, l->grid, sizeof(l->grid));
	if (race_noted_add(&n->all, dim, (const void *const *)l->params, n->of.scalars))
		(void)race_noted_write(agent_given()->cache, &n->all);
	errno = was;
}
