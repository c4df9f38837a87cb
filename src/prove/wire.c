/*
 * wire.c - one kernel's result as bytes: from the child process that found it, and kept (check.h).
 *
 * Strings have their length in front. Both ends are one program, so layouts need no version; a
 * child that dies in between leaves bytes that are cut off, which the reader notices. In the cache
 * a result is named by all it depends on: the PTX, the options, Z3's version, this program's file.
 * Results that the time limit cut short aren't kept.
 */
#include "prove/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <z3.h>

static void put_text(struct base_buf *b, const char *s)
{
	uint32_t n = (uint32_t)strlen(s);

	base_buf_put(b, &n, sizeof(n));
	base_buf_put(b, s, n);
}

static void put_alarm(struct base_buf *out, const struct race_alarm *a)
{
	base_buf_put(out, a, sizeof(*a));
	put_text(out, a->object);
	put_text(out, a->reason);
	put_text(out, a->order);
	put_text(out, a->reproducer);
	for (unsigned s = 0; s < 2; s++) {
		put_text(out, a->side[s].file);
		put_text(out, a->side[s].text);
		put_text(out, a->side[s].index);
	}
	for (uint32_t i = 0; i < a->nvars; i++)
		put_text(out, a->var[i].name);
	for (uint32_t i = 0; i < a->ncontents; i++)
		put_text(out, a->content[i].name);
	for (uint32_t i = 0; i < a->nparams; i++)
		put_text(out, a->param[i].name);
}

void prove_wire_write(const struct race_proof *k, struct base_buf *out)
{
	uint64_t n[8] = {k->alarms.n,	k->problems.n, k->contract.n, k->protocol.n,
			 k->remedies.n, k->sites.n,    k->launches.n, k->frees.n};

	base_buf_put(out, n, sizeof(n));
	base_buf_put(out, k, sizeof(*k));
	put_text(out, k->name);
	put_text(out, k->name_shown);
	for (size_t i = 0; i < k->alarms.n; i++)
		put_alarm(out, &k->alarms.v[i]);
	for (size_t i = 0; i < k->problems.n; i++) {
		base_buf_put(out, &k->problems.v[i], sizeof(k->problems.v[i]));
		put_text(out, k->problems.v[i].text);
		put_text(out, k->problems.v[i].file);
	}
	for (size_t i = 0; i < k->contract.n; i++)
		put_text(out, k->contract.v[i]);
	for (size_t i = 0; i < k->protocol.n; i++)
		put_text(out, k->protocol.v[i]);
	for (size_t i = 0; i < k->remedies.n; i++) {
		base_buf_put(out, &k->remedies.v[i], sizeof(k->remedies.v[i]));
		put_text(out, k->remedies.v[i].assume);
	}
	for (size_t i = 0; i < k->sites.n; i++)
		base_buf_put(out, &k->sites.v[i], sizeof(k->sites.v[i]));
	for (size_t i = 0; i < k->launches.n; i++) {
		base_buf_put(out, &k->launches.v[i], sizeof(k->launches.v[i]));
		put_text(out, k->launches.v[i].scalars);
	}
	for (size_t i = 0; i < k->frees.n; i++) {
		base_buf_put(out, &k->frees.v[i], sizeof(k->frees.v[i]));
		put_text(out, k->frees.v[i].variable);
	}
	put_text(out, k->others ? k->others : "");
	put_text(out, k->stays_if ? k->stays_if : "");
	put_text(out, k->why_checked ? k->why_checked : "");
}

struct reader {
	struct base_arena *arena;
	const char *p;
	size_t n;
	bool is_short;
};

static void take(struct reader *r, void *to, size_t n)
{
	if (r->is_short || r->n < n) {
		r->is_short = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, r->p, n);
	r->p += n;
	r->n -= n;
}

/* Names are of a file that may hold anything: cleaned, as those of a run are. */
static const char *take_text(struct reader *r)
{
	uint32_t n;

	take(r, &n, sizeof(n));
	if (r->is_short || r->n < n) {
		r->is_short = true;
		return "";
	}
	const char *s = race_text(r->arena, r->p, n);
	r->p += n;
	r->n -= n;
	return s;
}

static void take_alarm(struct reader *r, struct race_alarm *a)
{
	take(r, a, sizeof(*a));
	a->object = take_text(r);
	a->reason = take_text(r);
	a->order = take_text(r);
	a->reproducer = take_text(r);
	for (unsigned s = 0; s < 2; s++) {
		a->side[s].file = take_text(r);
		a->side[s].text = take_text(r);
		a->side[s].index = take_text(r);
	}
	if (a->nvars > RACE_ALARM_VARS || a->ncontents > RACE_ALARM_CONTENTS ||
	    a->nparams > BASE_COUNTOF(a->param))
		r->is_short = true;
	for (uint32_t i = 0; i < a->nvars && !r->is_short; i++)
		a->var[i].name = take_text(r);
	for (uint32_t i = 0; i < a->ncontents && !r->is_short; i++)
		a->content[i].name = take_text(r);
	for (uint32_t i = 0; i < a->nparams && !r->is_short; i++)
		a->param[i].name = take_text(r);
}

bool prove_wire_read(struct base_arena *arena, const char *p, size_t n, struct race_proof *k)
{
	struct reader r = {arena, p, n, false};
	uint64_t count[8];

	take(&r, count, sizeof(count));
	take(&r, k, sizeof(*k));
	memset(&k->alarms, 0, sizeof(k->alarms));
	memset(&k->problems, 0, sizeof(k->problems));
	memset(&k->contract, 0, sizeof(k->contract));
	memset(&k->protocol, 0, sizeof(k->protocol));
	memset(&k->remedies, 0, sizeof(k->remedies));
	memset(&k->sites, 0, sizeof(k->sites));
	memset(&k->launches, 0, sizeof(k->launches));
	memset(&k->frees, 0, sizeof(k->frees));
	k->name = take_text(&r);
	k->name_shown = take_text(&r);
	for (uint64_t i = 0; i < count[0] && !r.is_short; i++) {
		struct race_alarm a;
		take_alarm(&r, &a);
		base_vec_push(&k->alarms, a);
	}
	for (uint64_t i = 0; i < count[1] && !r.is_short; i++) {
		struct race_problem q;
		take(&r, &q, sizeof(q));
		q.text = take_text(&r);
		q.file = take_text(&r);
		base_vec_push(&k->problems, q);
	}
	for (uint64_t i = 0; i < count[2] + count[3] && !r.is_short; i++) {
		const char *s = take_text(&r);
		if (i < count[2])
			base_vec_push(&k->contract, s);
		else
			base_vec_push(&k->protocol, s);
	}
	for (uint64_t i = 0; i < count[4] && !r.is_short; i++) {
		struct race_remedy q;
		take(&r, &q, sizeof(q));
		q.assume = take_text(&r);
		base_vec_push(&k->remedies, q);
	}
	for (uint64_t i = 0; i < count[5] && !r.is_short; i++) {
		struct race_proven_site q;
		take(&r, &q, sizeof(q));
		base_vec_push(&k->sites, q);
	}
	for (uint64_t i = 0; i < count[6] && !r.is_short; i++) {
		struct race_proof_launch q;
		take(&r, &q, sizeof(q));
		q.scalars = take_text(&r);
		base_vec_push(&k->launches, q);
	}
	for (uint64_t i = 0; i < count[7] && !r.is_short; i++) {
		struct race_free_site q;
		take(&r, &q, sizeof(q));
		q.variable = take_text(&r);
		base_vec_push(&k->frees, q);
	}
	k->others = take_text(&r);
	k->stays_if = take_text(&r);
	k->why_checked = take_text(&r);
	return !r.is_short && k->verdict < RACE_VERDICT_COUNT;
}

/* ---- results of before --------------------------------------------------------------- */

void prove_use_cache(struct prove_options *o, struct base_arena *a)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return;
	if (cache && *cache)
		o->cache = base_printf(a, "%s/collider", cache);
	else if (home && *home)
		o->cache = base_printf(a, "%s/.cache/collider", home);
	uint64_t facts[3] = {(uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
			     (uint64_t)st.st_mtim.tv_nsec};
	o->cache_key = base_hash(facts, sizeof(facts), BASE_FNV_INIT);
}

/* All that a kernel's result depends on, as two hashes of 64 bits each; the second is in the file.
 * */
struct wire_key {
	uint64_t name, check;
};

/* What a file of results begins with: one that was cut off or damaged is none. */
struct wire_head {
	struct wire_key key;
	uint64_t bytes, sum; /* of what follows */
	uint64_t limit_ms;   /* with more time than that another one is possible; 0: it isn't */
};

static void mix(struct wire_key *k, const void *p, size_t n)
{
	k->name = base_hash(p, n, k->name);
	k->check = base_hash(p, n, k->check);
}

static void mix_text(struct wire_key *k, const char *s)
{
	mix(k, s ? s : "", s ? strlen(s) + 1 : 1);
}

static struct wire_key key_of(const struct wire_job *j)
{
	const struct prove_options *o = j->o;
	struct wire_key k = {BASE_FNV_INIT, BASE_FNV_INIT ^ 0x9e3779b97f4a7c15ull};
	bool flags[] = {o->may_alias,
			o->all_launches,
			o->is_lockstep,
			o->is_same_value,
			o->wants_protocol,
			o->wants_remedies,
			o->level[0],
			o->level[1],
			o->level[2],
			o->level[3],
			o->counters_wrap,
			o->of_many_blocks,
			o->any_contents,
			o->tries_many,
			o->no_assumes,
			o->wants_extents,
			o->is_of_launches_alone};

	mix(&k, &o->cache_key, sizeof(o->cache_key));
	mix(&k, j->text, j->size);
	mix_text(&k, j->kernel);
	mix_text(&k, Z3_get_full_version());
	mix(&k, o->dim, sizeof(o->dim));
	mix(&k, flags, sizeof(flags));
	for (uint32_t i = 0; i < o->nparams; i++) {
		mix(&k, &o->param[i].index, sizeof(o->param[i].index));
		mix(&k, &o->param[i].value, sizeof(o->param[i].value));
		mix_text(&k, o->param[i].name);
	}
	for (size_t i = 0; i < o->nassumes; i++)
		mix_text(&k, o->assumes[i]);
	for (size_t i = 0; i < o->nsystem; i++)
		mix_text(&k, o->system[i]);
	for (size_t i = 0; o->launches && i < o->nlaunches; i++) {
		const struct prove_launch *l = &o->launches[i];
		if (strcmp(l->kernel, j->kernel) != 0)
			continue;
		mix_text(&k, l->kernel);
		mix(&k, l->dim, sizeof(l->dim));
		for (uint32_t p = 0; p < l->nwords; p++) {
			const struct prove_word *w = &l->word[p];
			/* an address differs from run to run */
			uint64_t v[5] = {w->off, w->bytes, w->array ? 0 : w->value, w->array,
					 w->at};
			mix(&k, v, sizeof(v));
			mix(&k, &w->holds, sizeof(w->holds));
		}
	}
	return k;
}

static const char *path_of(const struct wire_job *j, const struct wire_key *k, struct base_arena *a)
{
	return base_printf(a, "%s/prove-%016llx", j->o->cache, (unsigned long long)k->name);
}

bool prove_wire_recall(struct base_arena *arena, const struct wire_job *j, struct race_proof *k)
{
	struct wire_key key;
	struct wire_head h;
	size_t n;
	char *p;

	if (!j->o->cache)
		return false;
	key = key_of(j);
	if (base_read_file(path_of(j, &key, arena), &p, &n))
		return false;
	bool ok = n > sizeof(h);
	if (ok) {
		const char *rest = p + sizeof(h);
		memcpy(&h, p, sizeof(h));
		n -= sizeof(h);
		ok = h.key.check == key.check && h.bytes == n &&
		     h.sum == base_hash(rest, n, BASE_FNV_INIT) &&
		     (!h.limit_ms || j->o->timeout_ms <= h.limit_ms) &&
		     prove_wire_read(arena, rest, n, k);
	}
	k->is_cached = ok;
	k->is_settled = ok && !h.limit_ms;
	free(p);
	return ok;
}

void prove_wire_keep(const struct wire_job *j, const char *p, size_t n, unsigned limit_ms)
{
	struct base_arena a = {0};
	struct wire_key key = key_of(j);
	const char *path = path_of(j, &key, &a), *part = base_printf(&a, "%s.%d", path, getpid());
	struct base_buf b = {0};

	const struct wire_head h = {.key = key,
				    .bytes = n,
				    .sum = base_hash(p, n, BASE_FNV_INIT),
				    .limit_ms = limit_ms};
	base_buf_put(&b, &h, sizeof(h));
	base_buf_put(&b, p, n);
	mkdir(j->o->cache, 0777); /* the folder above it is the user's */
	if (!base_write_file(part, b.p, b.n) && rename(part, path))
		unlink(part);
	base_buf_free(&b);
	base_arena_free(&a);
}
