/*
 * found.c - what was found: pairs of instructions; the first example of each is kept.
 */
#include "oracle/shadow.h"

#include <string.h>

/* Two instructions that race, and the number of their finding. */
struct oracle_pair {
	struct {
		const void *a, *b;
		uint64_t kind;
	} key;
	size_t index;
	UT_hash_handle hh;
};

static uint32_t thread_of_init(struct oracle *o, uint32_t actor)
{
	struct oracle_misc *m = oracle_misc_of(o, actor);

	return m && m->kind == ORACLE_MISC_INIT ? m->issuer : actor;
}

static struct oracle_pair *pair_of(struct oracle *o, enum oracle_kind kind, const void *a,
				   const void *b, struct oracle_pair *probe)
{
	bool is_turned = (uintptr_t)a > (uintptr_t)b;
	struct oracle_pair *p;

	memset(probe, 0, sizeof(*probe));
	probe->key.a = is_turned ? b : a;
	probe->key.b = is_turned ? a : b;
	probe->key.kind = (uint64_t)kind;
	p = o->pair_last; /* most often */
	if (p && !memcmp(&p->key, &probe->key, sizeof(p->key)))
		return p;
	HASH_FIND(hh, o->pairs, &probe->key, sizeof(probe->key), p);
	if (p)
		o->pair_last = p;
	return p;
}

/* ======================================================================== */

bool oracle_is_found(struct oracle *o, enum oracle_kind kind, const void *a, const void *b)
{
	struct oracle_pair probe;

	return pair_of(o, kind, a, b, &probe) != NULL;
}

uint64_t *oracle_found(struct oracle *o, enum oracle_kind kind, const struct oracle_side *first,
		       const struct oracle_side *second, uint64_t address, uint64_t *index,
		       bool *is_same)
{
	struct oracle_finding f = {.kind = kind,
				   .first = *first,
				   .second = *second,
				   .address = address,
				   .count = 1,
				   .event = o->stats.events};
	f.first.actor = thread_of_init(o, first->actor);
	f.second.actor = thread_of_init(o, second->actor);
	struct oracle_pair *p, probe;

	o->races++;
	if (o->on_race)
		o->on_race(o->race_arg, &f);
	if ((p = pair_of(o, kind, first->inst, second->inst, &probe))) {
		o->is_hot = ++o->findings.v[p->index].count > ORACLE_HOT;
		*index = p->index;
		return o->count_at ? o->count_at(o->race_arg, &f, is_same) : NULL;
	}
	p = base_calloc(1, sizeof(*p));
	p->key = probe.key;
	p->index = o->findings.n;
	HASH_ADD(hh, o->pairs, key, sizeof(p->key), p);
	base_vec_push(&o->findings, f);
	return NULL;
}

size_t oracle_findings(const struct oracle *o)
{
	return o->findings.n;
}

const struct oracle_finding *oracle_get(const struct oracle *o, size_t i)
{
	return &o->findings.v[i];
}

void oracle_on_race(struct oracle *o, void (*fn)(void *arg, const struct oracle_finding *f),
		    void *arg)
{
	o->on_race = fn;
	o->race_arg = arg;
}

void oracle_count_repeats(struct oracle *o,
			  uint64_t *(*where)(void *arg, const struct oracle_finding *f,
					     bool *is_same))
{
	o->count_at = where;
}

void oracle_storing(struct oracle *o, const struct oracle_stored *s)
{
	o->stored = s ? *s : (struct oracle_stored){0};
}

void oracle_group_lines(struct oracle *o, const void *(*line_of)(void *arg, const void *inst))
{
	o->line_of = line_of;
}

void oracle_pairs_free(struct oracle *o)
{
	struct oracle_pair *pair, *tmp;

	o->pair_last = NULL;
	HASH_ITER(hh, o->pairs, pair, tmp)
	{
		HASH_DEL(o->pairs, pair);
		free(pair);
	}
}
