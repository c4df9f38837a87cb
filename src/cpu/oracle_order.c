/*
 * oracle_order.c - release and acquire patterns, and fences.
 *
 * A publication is a clock and one epoch more. A strong write carries the publications of the release
 * patterns that end in it or in a write before it in its chain; a read that acquires takes those
 * whose scope, and its own, reach the other side. What may yet become a pattern is kept with the
 * thread: its release fences (any later strong write), its releasing operations by place (a later
 * strong write there), what its strong reads saw released (a later acquiring fence, or operation
 * there), each until a fence of at least that scope takes its part over.
 *
 * fence.sc, program order: a word keeps which fences stood before its accesses (oracle_shadow.c); who
 * accesses it later takes them as forced, hands them on along base causality, and at its next
 * fence.sc comes behind them. Costs: nothing for words and threads that no fence.sc came before.
 */
#include "cpu/oracle_impl.h"

struct oracle_pub oracle_publish(struct oracle_thread *t, uint32_t actor)
{
	return (struct oracle_pub){oracle_clock_ref(t->clock), actor, t->own++};
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

void oracle_learn(struct oracle *o, struct oracle_clock **c, const struct oracle_pub *pub)
{
	if (!*c)
		*c = oracle_clock_ref(pub->clock);
	/* Who knows this epoch of the actor knows what the actor knew then. */
	else if (oracle_tree_get((*c)->root[ORACLE_HB], pub->actor) >= pub->epoch)
		return;
	else
		oracle_clock_join(&o->pool, c, pub->clock);
	if (oracle_tree_get((*c)->root[ORACLE_HB], pub->actor) < pub->epoch)
		oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, c)->root[ORACLE_HB],
				  pub->actor, pub->epoch);
}

/* ---- what a write releases --------------------------------------------------------------- */

#define SUM_FROM    5u /* entries, below which none is kept */
#define LOOK_BEHIND 8u

static void sum_add(struct oracle *o, struct oracle_release *r, const struct oracle_pub *pub)
{
	uint32_t device = oracle_place(o, pub->actor).device;

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

void oracle_release_add(struct oracle *o, struct oracle_release *r, uint8_t scope,
			const struct oracle_pub *pub)
{
	bool is_wide = scope >= RACE_SCOPE_GPU;
	size_t n = is_wide ? r->wide.n : r->narrow.n;
	struct oracle_entry *v = is_wide ? r->wide.v : r->narrow.v;
	struct oracle_entry e = {.scope = scope};

	if (is_wide)
		sum_add(o, r, pub);
	for (size_t i = n; i-- > 0 && n - i <= LOOK_BEHIND;) {
		if (v[i].pub.actor != pub->actor || v[i].scope != scope)
			continue;
		if (v[i].pub.epoch < pub->epoch) {
			pub_drop(o, &v[i].pub);
			v[i].pub = pub_ref(pub);
		}
		return;
	}
	e.pub = pub_ref(pub);
	if (is_wide)
		base_vec_push(&r->wide, e);
	else
		base_vec_push(&r->narrow, e);
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
}

/* Do a publication of this scope and an acquire of scope s reach each other's thread? */
static bool is_reached(struct oracle *o, uint32_t actor, const struct oracle_entry *e, uint8_t s)
{
	uint8_t level = (uint8_t)oracle_level(o, actor, e->pub.actor);

	return level <= e->scope && level <= s;
}

static bool has_sum_for(struct oracle *o, const struct oracle_release *r, uint32_t actor)
{
	return r->sum && oracle_place(o, actor).device == r->device;
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

/* ---- what a thread may still complete ----------------------------------------------------------- */

static struct oracle_pends *pends_of(struct oracle_thread *t)
{
	if (!t->pends)
		t->pends = calloc(1, sizeof(*t->pends));
	if (!t->pends)
		abort();
	return t->pends;
}

static struct oracle_pend *pend_find(struct oracle_thread *t, uint64_t address, uint64_t bytes)
{
	if (!t->pends)
		return NULL;
	for (size_t i = t->pends->at.n; i-- > 0;)
		if (t->pends->at.v[i].address == address && t->pends->at.v[i].bytes == bytes)
			return &t->pends->at.v[i];
	return NULL;
}

static struct oracle_pend *pend_at(struct oracle_thread *t, uint64_t address, uint64_t bytes)
{
	struct oracle_pend *p = pend_find(t, address, bytes);
	struct oracle_pend fresh = {.address = address, .bytes = bytes};

	if (p)
		return p;
	base_vec_push(&pends_of(t)->at, fresh);
	return &t->pends->at.v[t->pends->at.n - 1];
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
			  const struct oracle_release *r, uint64_t address, uint64_t bytes,
			  uint8_t taken)
{
	bool is_summed = has_sum_for(o, r, actor);

	if ((!r->narrow.n && !r->wide.n) || taken == RACE_SCOPE_SYS)
		return;
	struct oracle_pend *at = pend_at(t, address, bytes);
	for (size_t i = 0; i < r->narrow.n; i++)
		later(o, t, actor, &r->narrow.v[i], false, at);
	for (size_t i = 0; i < r->wide.n; i++)
		later(o, t, actor, &r->wide.v[i], is_summed, at);
	if (!is_summed || taken >= RACE_SCOPE_GPU)
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

/* A release of this scope stands for all earlier ones of the same thread that reach no further. */
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

/* A fence took over what it covers of the records by place. */
static void prune(struct oracle *o, struct oracle_thread *t, uint8_t strength, uint8_t scope)
{
	size_t n = 0;

	for (size_t i = 0; i < t->pends->at.n; i++) {
		struct oracle_pend *p = &t->pends->at.v[i];
		if (race_is_acquire((enum race_strength)strength))
			take_acquire(o, t, p, scope, false);
		if (race_is_release((enum race_strength)strength))
			put_release(o, p, scope, NULL);
		if (!is_empty(p))
			t->pends->at.v[n++] = *p;
	}
	t->pends->at.n = n;
}

/* ---- fence.sc ------------------------------------------------------------------------------------- */

struct force {
	struct oracle *o;
	struct oracle_thread *t;
	uint32_t actor;
	uint8_t scope;
	BASE_VEC(struct oracle_pub) pubs; /* borrowed from the logs */
};

/* The last fence.sc of `key` up to `number` that is morally strong with this one. */
static void force_one(void *arg, uint32_t key, uint32_t number)
{
	struct force *f = arg;
	struct oracle_sc_log *log;
	uint8_t level = (uint8_t)oracle_level(f->o, f->actor, key);

	if (key == f->actor || level > f->scope)
		return;
	HASH_FIND(hh, f->o->sc_logs, &key, sizeof(key), log);
	for (size_t i = log ? log->v.n : 0; i-- > 0;)
		if (log->v.v[i].number <= number && log->v.v[i].scope >= level) {
			base_vec_push(&f->pubs, log->v.v[i].pub);
			return;
		}
}

static void force(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint8_t scope)
{
	struct force f = {.o = o, .t = t, .actor = actor, .scope = scope};

	oracle_tree_above(t->clock->root[ORACLE_FORCED], t->clock->root[ORACLE_FENCES], force_one,
			  &f);
	for (size_t i = 0; i < f.pubs.n; i++)
		oracle_learn(o, &t->clock, &f.pubs.v[i]);
	base_vec_free(&f.pubs);
}

static void log_fence(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint8_t scope,
		      const struct oracle_pub *pub)
{
	struct oracle_sc_log *log;
	struct oracle_sc_fence e = {t->nfences, scope, pub_ref(pub)};

	HASH_FIND(hh, o->sc_logs, &actor, sizeof(actor), log);
	if (!log) {
		log = calloc(1, sizeof(*log));
		if (!log)
			abort();
		log->actor = actor;
		HASH_ADD(hh, o->sc_logs, actor, sizeof(log->actor), log);
	}
	base_vec_push(&log->v, e);
}

static struct oracle_sc_sum *sc_sum(struct oracle *o, uint32_t actor, uint8_t scope, uint8_t level,
				    bool is_made)
{
	struct race_place p = oracle_place(o, actor);
	struct oracle_sc_sum *s, probe = {.key = {scope, level, 0, 0}};

	if (level == RACE_SCOPE_GPU) {
		probe.key.a = p.device;
	} else if (level < RACE_SCOPE_GPU) {
		probe.key.a = p.grid;
		probe.key.b = level == RACE_SCOPE_CTA ? p.cta : p.cluster;
	}
	HASH_FIND(hh, o->sc_sums, &probe.key, sizeof(probe.key), s);
	if (s || !is_made)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	s->key = probe.key;
	HASH_ADD(hh, o->sc_sums, key, sizeof(s->key), s);
	return s;
}

static uint8_t narrower(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void fence_one(struct oracle *o, uint32_t actor, uint8_t strength, uint8_t scope)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	bool is_sc = strength == RACE_SC, is_execution = o->opt.sc == ORACLE_SC_EXECUTION;
	struct oracle_sc_sum *s;

	if (!t)
		return;
	if (race_is_acquire((enum race_strength)strength) && t->pends)
		take_acquire(o, t, &t->pends->fence, scope, true);
	if (is_sc && is_execution)
		for (uint8_t s1 = RACE_SCOPE_CTA; s1 <= RACE_SCOPE_SYS; s1++)
			if ((s = sc_sum(o, actor, s1, narrower(s1, scope), false)))
				oracle_clock_join(&o->pool, &t->clock, s->clock);
	if (is_sc && !is_execution) {
		force(o, t, actor, scope);
		t->nfences++;
		oracle_tree_raise(&o->pool,
				  &oracle_clock_own(&o->pool, &t->clock)->root[ORACLE_FENCES],
				  actor, t->nfences);
	}
	if (race_is_release((enum race_strength)strength)) {
		struct oracle_pub pub = oracle_publish(t, actor);
		if (is_sc && !is_execution)
			log_fence(o, t, actor, scope, &pub);
		for (uint8_t l = RACE_SCOPE_CTA; is_sc && is_execution && l <= scope; l++)
			oracle_learn(o, &sc_sum(o, actor, scope, l, true)->clock, &pub);
		put_release(o, &pends_of(t)->fence, scope, &pub);
	}
	if (t->pends)
		prune(o, t, strength, scope);
}

/* ---- mbarrier.init ------------------------------------------------------------------------ */

void oracle_init_done(struct oracle *o, struct oracle_thread *t, uint32_t init)
{
	struct oracle_inits *n = &pends_of(t)->inits;

	if (!n->clock)
		n->clock = oracle_clock_new();
	oracle_tree_raise(&o->pool, &oracle_clock_own(&o->pool, &n->clock)->root[ORACLE_HB], init,
			  1);
	n->last = init;
}

void oracle_init_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t scope)
{
	uint32_t base = mask ? warp : warp & ~31u, lanes = mask ? mask : 1u << (warp & 31);

	o->stats.events++;
	if (o->record) {
		struct oracle_event e = {.type = ORACLE_FENCE,
					 .actor = warp,
					 .mask = mask,
					 .strength = RACE_RELEASE,
					 .flags = ORACLE_MBARRIER,
					 .scope = scope};
		o->record(o->record_arg, &e);
	}
	ORACLE_EACH(l, lanes)
	{
		struct oracle_thread *t = oracle_thread_of(o, base + l);
		struct oracle_inits *n = t && t->pends ? &t->pends->inits : NULL;
		if (!n || !n->clock)
			continue;
		pub_drop(o, &n->fenced);
		n->fenced = (struct oracle_pub){oracle_clock_ref(n->clock), n->last, 1};
		n->scope = scope;
	}
}

/* ---- fences --------------------------------------------------------------------------------- */

void oracle_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t strength, uint8_t scope)
{
	o->stats.events++;
	if (o->record) {
		struct oracle_event e = {.type = ORACLE_FENCE,
					 .actor = warp,
					 .mask = mask,
					 .strength = strength,
					 .scope = scope};
		o->record(o->record_arg, &e);
	}
	if (!mask)
		fence_one(o, warp, strength, scope);
	ORACLE_EACH(l, mask)
	fence_one(o, warp + l, strength, scope);
}

void oracle_proxy_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t kinds)
{
	uint32_t base = mask ? warp : warp & ~31u, lanes = mask ? mask : 1u << (warp & 31);

	o->stats.events++;
	if (o->record) {
		struct oracle_event e = {
			.type = ORACLE_PROXY, .actor = warp, .mask = mask, .proxy_kinds = kinds};
		o->record(o->record_arg, &e);
	}
	ORACLE_EACH(l, lanes)
	{
		struct oracle_thread *t = oracle_thread_of(o, base + l);
		if (!t)
			continue;
		struct oracle_clock *c = oracle_clock_own(&o->pool, &t->clock);
		for (unsigned k = 0; k < 3; k++) {
			if (!(kinds >> k & 1))
				continue;
			uint64_t *x = &c->root[ORACLE_CROSS + k];
			oracle_tree_join(&o->pool, x, c->root[ORACLE_HB]);
			oracle_tree_raise(&o->pool, x, base + l, t->own);
		}
		t->own++;
	}
}
