/*
 * patterns.c - release and acquire patterns.
 *
 * A publication is a clock and one more epoch. A strong write carries the publications of the
 * release patterns that end in it or in an earlier write of its chain; a read that acquires takes
 * those whose scope, like its own, includes the other side. What may still become a pattern is kept
 * with the thread: its release fences (completed by any later strong write), its releasing
 * operations by place (by a later strong write there), what its strong reads saw released (by a
 * later acquiring fence, or operation there), each until a fence of at least that scope supersedes
 * it.
 * Costs: a join of clocks for each pattern that is completed and adds something new.
 */
#include "oracle/types.h"

struct oracle_pub oracle_publish(struct oracle *o, struct oracle_thread *t, uint32_t actor)
{
	/* What a copy's completion passes on isn't what the copy knows. */
	if (!t->clock->epoch && !oracle_is_pseudo(o, actor))
		oracle_clock_name(t->clock, actor, t->own);
	return (struct oracle_pub){oracle_clock_ref(t->clock), actor, t->own++, t->fence, false};
}

/* By an arrival; a reference of the caller's. The clock has no name: who knows the epoch need not
 * have waited for this arrival. */
static struct oracle_pub publish_arrival(struct oracle *o, const struct oracle_pub *pub)
{
	struct oracle_memo m = {.from = pub->clock, .kind = ORACLE_MEMO_HAND};
	struct oracle_pub p = *pub;

	p.is_arrival = true;
	oracle_clock_ref(p.clock);
	if (oracle_memo_get(&o->pool, &p.clock, &m))
		return p;
	oracle_clock_ref(m.from);
	struct oracle_clock *c = oracle_clock_own(&o->pool, &p.clock);
	oracle_tree_join(&o->pool, &c->root[ORACLE_HANDED], c->root[ORACLE_HB]);
	m.to = c;
	oracle_memo_put(&o->pool, &m);
	oracle_clock_unref(&o->pool, m.from);
	return p;
}

static void pub_drop(struct oracle *o, struct oracle_pub *p)
{
	oracle_clock_unref(&o->pool, p->clock);
	p->clock = NULL;
}

static struct oracle_pub pub_ref(const struct oracle_pub *p)
{
	oracle_clock_ref(p->clock);
	return *p;
}

/* Adds the publication's own epochs, beyond its clock. */
static void learn_epochs(struct oracle *o, struct oracle_clock **c, const struct oracle_pub *pub)
{
	bool is_whole = *c == pub->clock;

	if (oracle_tree_get((*c)->root[ORACLE_HB], pub->actor) < pub->epoch)
		oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, c)->root[ORACLE_HB],
				  pub->actor, pub->epoch);
	if (oracle_tree_get((*c)->root[ORACLE_FENCES], pub->actor) < pub->fence)
		oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, c)->root[ORACLE_FENCES],
				  pub->actor, pub->fence);
	if (pub->is_arrival && oracle_tree_get((*c)->root[ORACLE_HANDED], pub->actor) < pub->epoch)
		oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, c)->root[ORACLE_HANDED],
				  pub->actor, pub->epoch);
	if (is_whole && !pub->is_arrival && !oracle_is_pseudo(o, pub->actor))
		oracle_clock_name(*c, pub->actor, pub->epoch);
}

void oracle_learn(struct oracle *o, struct oracle_clock **c, const struct oracle_pub *pub)
{
	struct oracle_memo m = {.from = *c,
				.with = (uintptr_t)pub->clock,
				.actor = pub->actor,
				.number = pub->epoch,
				.kind = pub->is_arrival ? ORACLE_MEMO_LEARN_ARRIVAL
							: ORACLE_MEMO_LEARN};
	bool is_shared = !*c || (*c)->refs > 1;

	/* A clock that knows this epoch of the actor knows what the actor knew then. */
	if (*c && oracle_tree_get((*c)->root[ORACLE_HB], pub->actor) >= pub->epoch &&
	    (!pub->is_arrival ||
	     oracle_tree_get((*c)->root[ORACLE_HANDED], pub->actor) >= pub->epoch))
		return;
	if (is_shared && oracle_memo_get(&o->pool, c, &m))
		return;
	if (is_shared && m.from)
		oracle_clock_ref(m.from);
	if (*c)
		oracle_clock_join(&o->pool, c, pub->clock);
	else
		*c = oracle_clock_ref(pub->clock);
	learn_epochs(o, c, pub);
	if (!is_shared)
		return;
	m.to = *c;
	oracle_memo_put(&o->pool, &m);
	oracle_clock_unref(&o->pool, m.from);
}

/* ---- what a write releases --------------------------------------------------------------- */

#define SUM_FROM     5u /* entries, below which none is kept */
#define LOOK_BACK    8u
#define COMPACT_FROM 8u
#define NEAR_FROM    16u /* entries, of which those that are near are looked for in a table */

static void sum_add(struct oracle *o, struct oracle_release *r, const struct oracle_pub *pub)
{
	uint32_t device = oracle_device(o, pub->actor);

	if (!r->wide.n)
		r->device = device;
	r->is_mixed |= device != r->device;
	if (r->is_mixed) {
		oracle_clock_unref(&o->pool, r->sum);
		r->sum = NULL;
	} else if (r->sum) {
		oracle_learn(o, &r->sum, pub);
	} else if (r->wide.n + 1 >= SUM_FROM) {
		for (size_t i = 0; i < r->wide.n; i++)
			oracle_learn(o, &r->sum, &r->wide.v[i].pub);
		oracle_learn(o, &r->sum, pub);
	}
}

/*
 * Drops the entries that a new one represents: those of its block, so that it reaches the same
 * threads, that are known to it. Successive holders of a lock are such a case. Done each time the
 * list has doubled.
 */
static size_t compact(struct oracle *o, struct oracle_entry *v, size_t n,
		      const struct oracle_entry *new)
{
	uint64_t known = new->pub.clock->root[ORACLE_HB];
	size_t kept = 0;

	if (n < (o->opt.is_tiny ? 1 : COMPACT_FROM) || (n & (n - 1)))
		return n;
	for (size_t i = 0; i < n; i++) {
		struct oracle_pub *p = &v[i].pub;
		bool is_known = p->actor == new->pub.actor
					? p->epoch <= new->pub.epoch
					: oracle_tree_get(known, p->actor) >= p->epoch;
		if (is_known &&
		    v[i].scope <= new->scope &&oracle_level(o, p->actor, new->pub.actor) ==
			    RACE_SCOPE_CTA)
			pub_drop(o, p);
		else
			v[kept++] = v[i];
	}
	return kept;
}

/* Entries of a cluster: the last one's place, and 1. */
struct near {
	uint64_t key; /* oracle_near_key */
	uint32_t last;
	UT_hash_handle hh;
};

/* Of those in `wide` which are of one cluster: made when someone looks. */
struct oracle_nears {
	struct near *of;
	BASE_VEC(uint32_t) before; /* by entry: the one of its cluster before it, and 1; 0: none */
};

static void near_forget(struct oracle_release *r)
{
	struct near *x, *next;

	if (!r->near)
		return;
	HASH_ITER(hh, r->near->of, x, next)
	{
		HASH_DEL(r->near->of, x);
		free(x);
	}
	base_vec_free(&r->near->before);
	free(r->near);
	r->near = NULL;
}

static struct near *near_at(struct oracle_nears *near, uint64_t key)
{
	struct near *x;

	HASH_FIND(hh, near->of, &key, sizeof(key), x);
	return x;
}

/* The last entry in `wide` of a thread in the actor's cluster, and 1; 0: there is none. */
static uint32_t near_last(struct oracle *o, struct oracle_release *r, uint32_t actor)
{
	struct near *x;

	if (!r->near)
		r->near = base_calloc(1, sizeof(*r->near));
	for (size_t i = r->near->before.n; i < r->wide.n; i++) {
		uint64_t key = oracle_near_key(o, r->wide.v[i].pub.actor);
		x = near_at(r->near, key);
		if (!x) {
			x = base_calloc(1, sizeof(*x));
			x->key = key;
			HASH_ADD(hh, r->near->of, key, sizeof(x->key), x);
		}
		base_vec_push(&r->near->before, x->last);
		x->last = (uint32_t)i + 1;
	}
	x = near_at(r->near, oracle_near_key(o, actor));
	return x ? x->last : 0;
}

void oracle_release_add(struct oracle *o, struct oracle_release *r, uint8_t scope,
			const struct oracle_pub *pub)
{
	bool is_wide = scope >= RACE_SCOPE_GPU;
	size_t *count = is_wide ? &r->wide.n : &r->narrow.n, n = *count;
	struct oracle_entry *v = is_wide ? r->wide.v : r->narrow.v;
	struct oracle_entry e = {*pub, scope};

	if (is_wide)
		sum_add(o, r, pub);
	*count = compact(o, v, n, &e);
	if (is_wide && *count != n)
		near_forget(r);
	n = *count;
	for (size_t i = n; i-- > 0 && n - i <= LOOK_BACK;) {
		if (v[i].pub.actor != pub->actor || v[i].scope != scope)
			continue;
		if (v[i].pub.epoch < pub->epoch) {
			pub_drop(o, &v[i].pub);
			v[i].pub = pub_ref(pub);
		}
		return;
	}
	pub_ref(pub);
	if (is_wide)
		base_vec_push(&r->wide, e);
	else
		base_vec_push(&r->narrow, e);
}

void oracle_release_arrival(struct oracle *o, struct oracle_release *r, uint8_t scope,
			    const struct oracle_pub *pub)
{
	struct oracle_pub p = publish_arrival(o, pub);

	oracle_release_add(o, r, scope, &p);
	oracle_clock_unref(&o->pool, p.clock);
}

void oracle_release_copy(struct oracle *o, struct oracle_release *to,
			 const struct oracle_release *from)
{
	for (size_t i = 0; i < from->wide.n; i++)
		oracle_release_add(o, to, from->wide.v[i].scope, &from->wide.v[i].pub);
	for (size_t i = 0; i < from->narrow.n; i++)
		oracle_release_add(o, to, from->narrow.v[i].scope, &from->narrow.v[i].pub);
}

void oracle_release_free(struct oracle *o, struct oracle_release *r)
{
	for (size_t i = 0; i < r->wide.n; i++)
		pub_drop(o, &r->wide.v[i].pub);
	for (size_t i = 0; i < r->narrow.n; i++)
		pub_drop(o, &r->narrow.v[i].pub);
	base_vec_free(&r->wide);
	base_vec_free(&r->narrow);
	oracle_clock_unref(&o->pool, r->sum);
	r->sum = NULL;
	near_forget(r);
}

/* Do the scopes of a publication and of an acquire (s) include each other's thread? */
static bool is_reached(struct oracle *o, uint32_t actor, const struct oracle_entry *e, uint8_t s)
{
	return race_scopes_meet(oracle_level(o, actor, e->pub.actor), e->scope, s);
}

static bool has_sum_for(struct oracle *o, const struct oracle_release *r, uint32_t actor)
{
	return r->sum && oracle_device(o, actor) == r->device;
}

void oracle_acquire(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		    const struct oracle_release *r, uint8_t scope)
{
	for (size_t i = 0; i < r->narrow.n; i++)
		if (is_reached(o, actor, &r->narrow.v[i], scope))
			oracle_learn(o, &t->clock, &r->narrow.v[i].pub);
	if (scope >= RACE_SCOPE_GPU && has_sum_for(o, r, actor)) {
		oracle_clock_join(&o->pool, &t->clock, r->sum);
		return;
	}
	for (size_t i = 0; i < r->wide.n; i++)
		if (is_reached(o, actor, &r->wide.v[i], scope))
			oracle_learn(o, &t->clock, &r->wide.v[i].pub);
}

/* ---- what a thread may still complete -------------------------------------------------------- */

static struct oracle_pends *pends_of(struct oracle_thread *t)
{
	if (!t->pends)
		t->pends = base_calloc(1, sizeof(*t->pends));
	return t->pends;
}

/* A kernel's thread has a few places, the host's has one for each byte it wrote: a table pays only
 * for many. */
#define FEW_PLACES 16

struct oracle_place {
	uint64_t key[2]; /* address, bytes */
	size_t i;
	UT_hash_handle hh;
};

static void places_forget(struct oracle_pends *p)
{
	struct oracle_place *e, *next;

	HASH_ITER(hh, p->places, e, next)
	{
		HASH_DEL(p->places, e);
		free(e);
	}
}

static void places_add(struct oracle_pends *p, size_t i)
{
	struct oracle_place *e = base_calloc(1, sizeof(*e));

	e->key[0] = p->at.v[i].address;
	e->key[1] = p->at.v[i].bytes;
	e->i = i;
	HASH_ADD(hh, p->places, key, sizeof(e->key), e);
}

static struct oracle_pend *pend_find(struct oracle_thread *t, uint64_t address, uint64_t bytes)
{
	uint64_t key[2] = {address, bytes};
	struct oracle_place *e;

	if (!t->pends)
		return NULL;
	if (t->pends->places) {
		HASH_FIND(hh, t->pends->places, key, sizeof(key), e);
		return e ? &t->pends->at.v[e->i] : NULL;
	}
	for (size_t i = t->pends->at.n; i-- > 0;)
		if (t->pends->at.v[i].address == address && t->pends->at.v[i].bytes == bytes)
			return &t->pends->at.v[i];
	return NULL;
}

static struct oracle_pend *pend_at(struct oracle_thread *t, uint64_t address, uint64_t bytes)
{
	struct oracle_pend *found = pend_find(t, address, bytes);
	struct oracle_pend fresh = {.address = address, .bytes = bytes};
	struct oracle_pends *p = pends_of(t);

	if (found)
		return found;
	base_vec_push(&p->at, fresh);
	if (p->places)
		places_add(p, p->at.n - 1);
	else if (p->at.n > FEW_PLACES)
		for (size_t i = 0; i < p->at.n; i++)
			places_add(p, i);
	return &p->at.v[p->at.n - 1];
}

static void later(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		  const struct oracle_entry *e, bool is_summed, struct oracle_pend *at)
{
	uint8_t level;

	if (oracle_tree_get(t->clock->root[ORACLE_HB], e->pub.actor) >= e->pub.epoch)
		return;
	level = (uint8_t)oracle_level(o, actor, e->pub.actor);
	if (level > e->scope || (is_summed && level >= RACE_SCOPE_GPU))
		return;
	oracle_learn(o, &pends_of(t)->fence.acquire[level], &e->pub);
	oracle_learn(o, &at->acquire[level], &e->pub);
}

void oracle_acquire_later(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			  struct oracle_release *r, uint64_t address, uint64_t bytes, uint8_t taken)
{
	bool is_summed = has_sum_for(o, r, actor);

	if ((!r->narrow.n && !r->wide.n) || taken == RACE_SCOPE_SYS)
		return;
	struct oracle_pend *at = pend_at(t, address, bytes);
	for (size_t i = 0; i < r->narrow.n; i++)
		later(o, t, actor, &r->narrow.v[i], false, at);
	/* All of a sum that was taken is known. */
	if (is_summed && taken >= RACE_SCOPE_GPU)
		return;
	/* The sum has what threads of other clusters released. */
	if (is_summed && r->wide.n >= (o->opt.is_tiny ? 1 : NEAR_FROM))
		for (uint32_t i = near_last(o, r, actor); i; i = r->near->before.v[i - 1])
			later(o, t, actor, &r->wide.v[i - 1], true, at);
	else
		for (size_t i = 0; i < r->wide.n; i++)
			later(o, t, actor, &r->wide.v[i], is_summed, at);
	if (!is_summed)
		return;
	struct oracle_clock **to[2] = {&t->pends->fence.acquire[RACE_SCOPE_GPU],
				       &at->acquire[RACE_SCOPE_GPU]};
	for (unsigned i = 0; i < 2; i++)
		if (*to[i])
			oracle_clock_join(&o->pool, to[i], r->sum);
		else
			*to[i] = oracle_clock_ref(r->sum);
}

static void take_acquire(struct oracle *o, struct oracle_thread *t, struct oracle_pend *p,
			 uint8_t scope, bool is_taken)
{
	for (uint8_t l = RACE_SCOPE_CTA; l <= scope; l++) {
		if (is_taken)
			oracle_clock_join(&o->pool, &t->clock, p->acquire[l]);
		oracle_clock_unref(&o->pool, p->acquire[l]);
		p->acquire[l] = NULL;
	}
}

void oracle_acquire_at(struct oracle *o, struct oracle_thread *t, uint64_t address, uint64_t bytes,
		       uint8_t scope)
{
	struct oracle_pend *p = pend_find(t, address, bytes);

	if (p)
		take_acquire(o, t, p, scope, true);
}

/* A release of this scope represents all earlier ones of the same thread with no wider scope. */
static void put_release(struct oracle *o, struct oracle_pend *p, uint8_t scope,
			const struct oracle_pub *pub)
{
	for (uint8_t s = RACE_SCOPE_CTA; s <= scope; s++)
		pub_drop(o, &p->release[s]);
	if (pub)
		p->release[scope] = *pub;
}

void oracle_release_at(struct oracle *o, struct oracle_thread *t, uint64_t address, uint64_t bytes,
		       uint8_t scope, struct oracle_pub pub)
{
	put_release(o, pend_at(t, address, bytes), scope, &pub);
}

void oracle_release_pending(struct oracle *o, struct oracle_thread *t, uint64_t address,
			    uint64_t bytes, struct oracle_release *out)
{
	struct oracle_pend *p[2] = {t->pends ? &t->pends->fence : NULL,
				    pend_find(t, address, bytes)};

	for (unsigned i = 0; i < 2; i++)
		for (uint8_t s = RACE_SCOPE_CTA; p[i] && s <= RACE_SCOPE_SYS; s++)
			if (p[i]->release[s].clock)
				oracle_release_add(o, out, s, &p[i]->release[s]);
	if (t->pends && t->pends->inits.fenced.clock)
		oracle_release_add(o, out, t->pends->inits.scope, &t->pends->inits.fenced);
}

static void pend_clear(struct oracle *o, struct oracle_pend *p)
{
	for (unsigned s = 0; s < ORACLE_SCOPES; s++) {
		pub_drop(o, &p->release[s]);
		oracle_clock_unref(&o->pool, p->acquire[s]);
		p->acquire[s] = NULL;
	}
}

void oracle_pends_free(struct oracle *o, struct oracle_pends *p)
{
	if (!p)
		return;
	pend_clear(o, &p->fence);
	for (size_t i = 0; i < p->at.n; i++)
		pend_clear(o, &p->at.v[i]);
	oracle_clock_unref(&o->pool, p->inits.clock);
	pub_drop(o, &p->inits.fenced);
	places_forget(p);
	base_vec_free(&p->at);
	free(p);
}

static bool is_empty(const struct oracle_pend *p)
{
	for (unsigned s = 0; s < ORACLE_SCOPES; s++)
		if (p->release[s].clock || p->acquire[s])
			return false;
	return true;
}

void oracle_fence_acquire(struct oracle *o, struct oracle_thread *t, uint8_t scope)
{
	if (t->pends)
		take_acquire(o, t, &t->pends->fence, scope, true);
}

void oracle_fence_release(struct oracle *o, struct oracle_thread *t, uint8_t scope,
			  const struct oracle_pub *pub)
{
	put_release(o, &pends_of(t)->fence, scope, pub);
}

/* Drops the records by place that a fence has superseded. */
void oracle_fence_prune(struct oracle *o, struct oracle_thread *t, uint8_t strength, uint8_t scope)
{
	struct oracle_pends *all = t->pends;
	size_t n = 0;

	if (!all)
		return;
	for (size_t i = 0; i < all->at.n; i++) {
		struct oracle_pend *p = &all->at.v[i];
		if (race_is_acquire((enum race_strength)strength))
			take_acquire(o, t, p, scope, false);
		if (race_is_release((enum race_strength)strength))
			put_release(o, p, scope, NULL);
		if (!is_empty(p))
			all->at.v[n++] = *p;
	}
	if (n == all->at.n)
		return;
	places_forget(all);
	all->at.n = n;
	for (size_t i = 0; n > FEW_PLACES && i < n; i++)
		places_add(all, i);
}

/* ---- mbarrier.init ------------------------------------------------------------------------ */

void oracle_init_done(struct oracle *o, struct oracle_thread *t, uint32_t init)
{
	struct oracle_inits *n = &pends_of(t)->inits;

	if (!n->clock)
		n->clock = oracle_clock_new(&o->pool);
	oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, &n->clock)->root[ORACLE_HB], init,
			  1);
	oracle_forced_by(o, &n->clock, init, false);
	n->last = init;
}

void oracle_init_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t scope)
{
	uint32_t base = mask ? warp : warp & ~31u, lanes = mask ? mask : 1u << (warp & 31);

	o->stats.events++;
	ORACLE_EACH (l, lanes) {
		struct oracle_thread *t = oracle_thread_of(o, base + l);
		struct oracle_inits *n = t && t->pends ? &t->pends->inits : NULL;
		if (!n || !n->clock)
			continue;
		pub_drop(o, &n->fenced);
		n->fenced = (struct oracle_pub){oracle_clock_ref(n->clock), n->last, 1, 0, false};
		n->scope = scope;
	}
}

/* ---- what threads know ----------------------------------------------------------------------- */

enum oracle_known oracle_knows(struct oracle *o, uint32_t reader, uint32_t actor, uint32_t epoch)
{
	const struct oracle_thread *t = oracle_thread_of(o, reader);

	if (!t)
		return ORACLE_UNKNOWN;
	if (reader == actor || oracle_tree_get(t->clock->root[ORACLE_HB], actor) >= epoch)
		return ORACLE_KNOWN;
	for (unsigned s = 0; t->pends && s < ORACLE_SCOPES; s++) {
		const struct oracle_clock *c = t->pends->fence.acquire[s];
		if (c && oracle_tree_get(c->root[ORACLE_HB], actor) >= epoch)
			return ORACLE_PENDING;
	}
	return ORACLE_UNKNOWN;
}

uint32_t oracle_epoch(struct oracle *o, uint32_t actor)
{
	const struct oracle_thread *t = oracle_thread_of(o, actor);

	return t ? t->own : 0;
}
