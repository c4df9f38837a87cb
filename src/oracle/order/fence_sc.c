/*
 * fence_sc.c - fences, and the order of fence.sc.
 *
 * For each word the fence.sc's before its accesses are kept. A thread that accesses it later takes
 * them as forced, passes them on along base causality, and its next fence.sc comes after them.
 * (ORACLE_SC_PROGRAM.) Fences are named by the epoch that they published. A thread's own last one
 * is kept beside its clock, and beside a word's tree, so that the trees of threads that poll after
 * fences don't change and are shared by a block; what causality orders already isn't forced. In the
 * order of execution fences that include each other come after all earlier ones, summed up by
 * scope. That includes the former order and is cheap: where very many fences have been forced, the
 * rest is taken so.
 * Costs: nothing for words and threads without a fence.sc before them; otherwise 48 bytes a word,
 * and 32 for each fence of a thread until its block ends (wider ones: until the end).
 */
#include "oracle/late.h"

/* ---- the fences of a thread ------------------------------------------------------------------ */

static struct oracle_sc_log *log_of(struct oracle *o, uint32_t actor)
{
	const struct oracle_group *g = o->sc_logs ? oracle_group_of(o, actor) : NULL;

	return g && g->fences ? g->fences[actor - g->first] : NULL;
}

static struct oracle_sc_log *log_new(struct oracle *o, uint32_t actor)
{
	struct oracle_group *g = oracle_group_of(o, actor);
	struct oracle_sc_log *log = base_calloc(1, sizeof(*log));

	log->actor = actor;
	HASH_ADD(hh, o->sc_logs, actor, sizeof(log->actor), log);
	if (!g->fences)
		g->fences = base_calloc(g->is_grid ? g->n : ORACLE_MISC_GROUP, sizeof(log));
	return g->fences[actor - g->first] = log;
}

static void log_fence(struct oracle *o, uint32_t actor, uint8_t scope, const struct oracle_pub *pub)
{
	struct oracle_sc_log *log = log_of(o, actor);
	struct oracle_sc_fence e = {*pub, o->stats.events, scope};

	oracle_clock_ref(pub->clock);
	if (!log)
		log = log_new(o, actor);
	base_vec_push(&log->v, e);
}

static void log_free(struct oracle *o, struct oracle_sc_log *log)
{
	const struct oracle_group *g = oracle_group_of(o, log->actor);

	g->fences[log->actor - g->first] = NULL;
	HASH_DEL(o->sc_logs, log);
	for (size_t i = 0; i < log->v.n; i++)
		oracle_clock_unref(&o->pool, log->v.v[i].pub.clock);
	base_vec_free(&log->v);
	free(log);
}

/* How many of its fences there were up to that epoch. */
static size_t log_upto(const struct oracle_sc_log *log, uint32_t epoch)
{
	size_t low = 0, high = log->v.n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (log->v.v[mid].pub.epoch <= epoch)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t oracle_fence_before(struct oracle *o, uint32_t actor, uint32_t epoch)
{
	const struct oracle_sc_log *log = log_of(o, actor);
	size_t n = log && epoch ? log_upto(log, epoch - 1) : 0;

	return n ? log->v.v[n - 1].pub.epoch : 0;
}

void oracle_sc_block_end(struct oracle *o, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; o->sc_logs && i < n; i++) {
		struct oracle_sc_log *log = log_of(o, first + i);
		bool is_narrow = true;
		for (size_t k = 0; log && k < log->v.n && is_narrow; k++)
			is_narrow = log->v.v[k].scope == RACE_SCOPE_CTA;
		/* Only fences of the block could come after these. */
		if (log && is_narrow)
			log_free(o, log);
	}
}

/* ---- fences before accesses ------------------------------------------------------------------ */

/* As oracle_tree_join. Words of a row mostly have the same tree, and get the same one. */
static void join_again(struct oracle_pool *pool, uint64_t *root, uint64_t with)
{
	uint64_t *last = pool->joined, old = *root;

	if (!old || !with || old == with) {
		oracle_tree_join(pool, root, with);
		return;
	}
	if (old == last[0] && with == last[1]) {
		*root = oracle_tree_ref(last[2]);
		oracle_tree_unref(pool, old);
		return;
	}
	if (!oracle_tree_is_shared(old)) {
		oracle_tree_join(pool, root, with);
		return;
	}
	oracle_tree_ref(old);
	oracle_tree_join(pool, root, with);
	oracle_tree_ref(with);
	for (unsigned i = 0; i < 3; i++)
		oracle_tree_unref(pool, last[i]);
	last[0] = old;
	last[1] = with;
	last[2] = oracle_tree_ref(*root);
}

static void past_add(struct oracle_pool *pool, struct oracle_past *p, uint64_t tree, uint32_t actor,
		     uint32_t fence)
{
	struct oracle_past own = *p;
	bool is_other = own.fence && own.actor != actor;

	join_again(pool, &p->tree, tree);
	if (!is_other || oracle_tree_get(tree, own.actor) >= own.fence) {
		p->fence = is_other || p->fence < fence ? fence : p->fence;
		p->actor = actor;
	} else if (fence) {
		oracle_tree_raise(pool, &p->tree, own.actor, own.fence);
		p->actor = actor;
		p->fence = fence;
	}
}

static void past_drop(struct oracle_pool *pool, struct oracle_past *p)
{
	oracle_tree_unref(pool, p->tree);
	*p = (struct oracle_past){0};
}

static void past_copy(struct oracle_pool *pool, struct oracle_past *to,
		      const struct oracle_past *from)
{
	oracle_tree_ref(from->tree);
	oracle_tree_unref(pool, to->tree);
	*to = *from;
}

static void fenced_unref(struct oracle *o, struct oracle_fenced *f, uint32_t bytes)
{
	if (!f || (f->refs -= bytes))
		return;
	past_drop(&o->pool, &f->all);
	past_drop(&o->pool, &f->write);
	oracle_mem_free(o, f, sizeof(*f));
}

void oracle_fenced_drop(struct oracle *o, struct oracle_bytes *x, uint32_t mask)
{
	ORACLE_EACH (b, mask) {
		fenced_unref(o, x->fences[b], 1);
		x->fences[b] = NULL;
	}
}

/* The fences of the first byte in mask and of those equal to it (*same), separated from others. */
static struct oracle_fenced *fenced_own(struct oracle *o, struct oracle_bytes *x, uint32_t mask,
					uint32_t *same)
{
	struct oracle_fenced *old = x->fences[__builtin_ctz(mask)], *f;
	uint32_t n = 0;

	*same = 0;
	ORACLE_EACH (b, mask) {
		if (x->fences[b] != old)
			continue;
		*same |= 1u << b;
		n++;
	}
	if (old && old->refs == n)
		return old;
	f = oracle_mem_new(o, sizeof(*f));
	if (old) {
		past_copy(&o->pool, &f->all, &old->all);
		past_copy(&o->pool, &f->write, &old->write);
		old->refs -= n;
	}
	f->refs = n;
	ORACLE_EACH (c, *same)
		x->fences[c] = f;
	return f;
}

static void fenced_add(struct oracle_pool *pool, struct oracle_fenced *f, uint64_t tree,
		       uint32_t actor, uint32_t fence, bool is_write)
{
	past_add(pool, &f->all, tree, actor, fence);
	/* A read after this write is after all before it. */
	if (is_write)
		past_copy(pool, &f->write, &f->all);
}

void oracle_fenced_add(struct oracle *o, struct oracle_ext *e, uint32_t mask, uint64_t tree,
		       uint32_t actor, uint32_t fence, bool is_write)
{
	struct oracle_bytes *x = oracle_ext_bytes(o, e);
	uint32_t same;

	for (uint32_t left = mask; left; left &= ~same)
		fenced_add(&o->pool, fenced_own(o, x, left, &same), tree, actor, fence, is_write);
}

bool oracle_fenced_is(const struct oracle_ext *e, const struct oracle_thread *t, uint32_t actor)
{
	uint64_t tree = t->clock->root[ORACLE_FENCES];

	for (unsigned b = 0; b < 4; b++) {
		const struct oracle_fenced *f = e->bytes ? e->bytes->fences[b] : NULL;
		const struct oracle_past none = {0}, *p = f ? &f->all : &none;
		if (p->tree != tree || p->fence != t->fence || (p->fence && p->actor != actor))
			return false;
	}
	return true;
}

/* ---- communication -------------------------------------------------------------------------- */

/* Does `known` have all fences of the tree that could be forced before one of the actor's? */
static bool has_all(struct oracle *o, uint64_t known, uint64_t tree, uint32_t actor)
{
	const struct oracle_group *g =
		o->has_wide_fences || !tree ? NULL : oracle_group_of(o, actor);

	return g && g->is_grid ? oracle_tree_covers_near(known, tree, actor, g->shift)
			       : oracle_tree_covers(known, tree);
}

/* The fences after which an access comes by communication are forced before later ones. */
static void take_forced(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			const struct oracle_past *p)
{
	struct oracle_pool *pool = &o->pool;
	uint64_t known = t->clock->root[ORACLE_FENCES], forced = t->clock->root[ORACLE_FORCED];
	bool is_one = p->fence && p->actor != actor &&
		      oracle_tree_get(known, p->actor) < p->fence &&
		      oracle_tree_get(forced, p->actor) < p->fence;
	bool is_tree = !has_all(o, known, p->tree, actor) && !has_all(o, forced, p->tree, actor);
	struct oracle_memo m = {.from = t->clock,
				.with = is_tree ? p->tree : 0,
				.actor = is_one ? p->actor : 0,
				.number = is_one ? p->fence : 0,
				.kind = ORACLE_MEMO_FORCED};

	if ((!is_one && !is_tree) || (m.from->refs > 1 && oracle_memo_get(pool, &t->clock, &m)))
		return;
	bool is_shared = m.from->refs > 1;
	if (is_shared)
		oracle_clock_ref(m.from);
	uint64_t *to = &oracle_clock_own(pool, &t->clock)->root[ORACLE_FORCED];
	if (is_tree)
		oracle_tree_join(pool, to, p->tree);
	if (is_one)
		oracle_tree_raise(pool, to, p->actor, p->fence);
	if (!is_shared)
		return;
	m.to = t->clock;
	oracle_memo_put(pool, &m);
	oracle_clock_unref(pool, m.from);
}

static void misc_forced(struct oracle_pool *pool, uint64_t *to, const struct oracle_past *p)
{
	oracle_tree_join(pool, to, p->tree);
	if (p->fence)
		oracle_tree_raise(pool, to, p->actor, p->fence);
}

void oracle_forced_by(struct oracle *o, struct oracle_clock **c, uint32_t pseudo, bool is_read)
{
	const struct oracle_misc *m = oracle_misc_of(o, pseudo);
	uint64_t forced = !m ? 0 : is_read ? m->read_forced : m->all_forced;

	if (forced && !oracle_tree_covers((*c)->root[ORACLE_FORCED], forced))
		oracle_tree_join(&o->pool, &oracle_clock_own(&o->pool, c)->root[ORACLE_FORCED],
				 forced);
}

void oracle_forced_drop(struct oracle *o, struct oracle_misc *m)
{
	oracle_tree_unref(&o->pool, m->read_forced);
	oracle_tree_unref(&o->pool, m->all_forced);
	m->read_forced = m->all_forced = 0;
}

void oracle_communicate(struct oracle *o, struct oracle_thread *t, uint32_t actor, bool is_write,
			struct oracle_ext *e, uint32_t mask)
{
	struct oracle_bytes *x = oracle_ext_bytes(o, e);
	struct oracle_misc *m = oracle_misc_of(o, actor);
	uint32_t same;

	o->nplain--; /* a plain access that changes clocks */
	for (uint32_t left = mask; left; left &= ~same) {
		struct oracle_fenced *f = fenced_own(o, x, left, &same);
		const struct oracle_past *before = is_write ? &f->all : &f->write;
		take_forced(o, t, actor, before);
		if (m && m->kind != ORACLE_MISC_HOST)
			misc_forced(&o->pool, &m->all_forced, before);
		if (m && m->kind != ORACLE_MISC_HOST && !is_write)
			misc_forced(&o->pool, &m->read_forced, before);
		fenced_add(&o->pool, f, t->clock->root[ORACLE_FENCES], actor, t->fence, is_write);
	}
}

void oracle_overtake(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
		     uint32_t writer, uint32_t epoch)
{
	struct oracle_past before = {t->clock->root[ORACLE_FENCES], actor, t->fence};
	struct oracle_thread *w = oracle_is_pseudo(o, writer) ? NULL : oracle_thread_of(o, writer);

	o->nplain--; /* as above */
	if (w && w != t && w->fence < epoch && (before.tree || before.fence))
		take_forced(o, w, writer, &before);
}

/* ---- fences ---------------------------------------------------------------------------------- */

struct force {
	struct oracle *o;
	uint32_t actor;
	uint8_t scope;
	bool is_own; /* a fence of the actor's own warp is among them: its lanes differ */
	BASE_VEC(const struct oracle_sc_fence *) fences; /* of the logs */
};

/* The last fence.sc of `key` up to an epoch that is morally strong with this one. */
static void force_one(void *arg, uint32_t key, uint32_t epoch)
{
	struct force *f = arg;
	struct oracle_sc_log *log;
	uint8_t level = (uint8_t)oracle_level(f->o, f->actor, key);

	f->is_own |= key >> 5 == f->actor >> 5;
	if (key == f->actor || level > f->scope || !(log = log_of(f->o, key)))
		return;
	for (size_t i = log_upto(log, epoch); i-- > 0;)
		if (log->v.v[i].scope >= level) {
			base_vec_push(&f->fences, &log->v.v[i]);
			return;
		}
}

static bool is_later(const struct oracle_sc_fence *x, const struct oracle_sc_fence *y)
{
	return x->at != y->at ? x->at > y->at : x->pub.actor > y->pub.actor;
}

/* Takes the latest of those that the clock doesn't know out of the list, and forgets those that it
 * knows; NULL: none is left. */
static const struct oracle_sc_fence *latest(const struct oracle_thread *t, struct force *f)
{
	uint64_t known = t->clock->root[ORACLE_HB];
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < f->fences.n; i++) {
		const struct oracle_sc_fence *x = f->fences.v[i];
		if (oracle_tree_get(known, x->pub.actor) >= x->pub.epoch)
			continue;
		if (!kept || is_later(x, f->fences.v[at]))
			at = kept;
		f->fences.v[kept++] = x;
	}
	f->fences.n = kept;
	return kept ? f->fences.v[at] : NULL;
}

/* Places the fence after those that are forced: the latest first, as what it knew needn't be
 * learned again. Those that causality then orders need not be kept
 * as forced. */
static void force_all(struct oracle *o, struct oracle_thread *t, struct force *f)
{
	const struct oracle_sc_fence *x;
	uint64_t *root;

	while ((x = latest(t, f))) {
		o->nforced++;
		oracle_clock_own(&o->pool, &t->clock);
		oracle_learn(o, &t->clock, &x->pub);
	}
	root = t->clock->root;
	if (!oracle_tree_covers(root[ORACLE_FENCES], root[ORACLE_FORCED]))
		return;
	root = oracle_clock_own(&o->pool, &t->clock)->root;
	oracle_tree_unref(&o->pool, root[ORACLE_FORCED]);
	root[ORACLE_FORCED] = 0;
}

static void force(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint8_t scope)
{
	struct force f = {.o = o, .actor = actor, .scope = scope};
	struct oracle_memo m = {.from = t->clock,
				.actor = actor & ~31u,
				.number = scope,
				.kind = ORACLE_MEMO_FENCE};
	const struct oracle_group *g = oracle_group_of(o, actor);
	uint64_t end = UINT64_MAX;
	uint32_t first = 0;

	if (!t->clock->root[ORACLE_FORCED] || oracle_memo_get(&o->pool, &t->clock, &m))
		return;
	if (scope == RACE_SCOPE_CTA && g && g->is_grid) {
		first = g->first + ((actor - g->first) >> g->shift << g->shift);
		end = (uint64_t)first + (1u << g->shift);
	}
	oracle_clock_ref(m.from);
	oracle_tree_above(t->clock->root[ORACLE_FORCED], t->clock->root[ORACLE_FENCES], first, end,
			  force_one, &f);
	force_all(o, t, &f);
	base_vec_free(&f.fences);
	m.to = t->clock;
	if (!f.is_own)
		oracle_memo_put(&o->pool, &m);
	oracle_clock_unref(&o->pool, m.from);
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
	s = base_calloc(1, sizeof(*s));
	s->key = probe.key;
	HASH_ADD(hh, o->sc_sums, key, sizeof(s->key), s);
	return s;
}

static uint8_t narrower(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* Places the fence after the earlier ones in the execution with which it is morally strong. */
static void join_sums(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint8_t scope)
{
	struct oracle_sc_sum *s;

	for (uint8_t s1 = RACE_SCOPE_CTA; s1 <= RACE_SCOPE_SYS; s1++)
		if ((s = sc_sum(o, actor, s1, narrower(s1, scope), false)))
			oracle_clock_join(&o->pool, &t->clock, s->clock);
}

/* Makes the fence known to those that come later. */
static void add_to_sums(struct oracle *o, const struct oracle_pub *pub, uint8_t scope)
{
	for (uint8_t l = RACE_SCOPE_CTA; l <= scope; l++)
		oracle_learn(o, &sc_sum(o, pub->actor, scope, l, true)->clock, pub);
}

static void fence_one(struct oracle *o, uint32_t actor, uint8_t strength, uint8_t scope)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	bool is_sc = strength == RACE_SC, is_execution = o->opt.sc == ORACLE_SC_EXECUTION;

	if (!t)
		return;
	if (race_is_acquire((enum race_strength)strength))
		oracle_fence_acquire(o, t, scope);
	if (is_sc && is_execution) {
		join_sums(o, t, actor, scope);
	} else if (is_sc) {
		struct oracle_group *g = oracle_group_of(o, actor);
		force(o, t, actor, scope);
		t->fence = t->own;
		g->has_fences = true;
		o->has_wide_fences |= scope > RACE_SCOPE_CTA;
	}
	if (race_is_release((enum race_strength)strength)) {
		struct oracle_pub pub = oracle_publish(o, t, actor);
		if (is_sc && !is_execution)
			log_fence(o, actor, scope, &pub);
		if (is_sc && is_execution)
			add_to_sums(o, &pub, scope);
		oracle_fence_release(o, t, scope, &pub);
	}
	oracle_fence_prune(o, t, strength, scope);
}

/* ---- too many fences ------------------------------------------------------------------------ */

/* From now on fences are in the order of execution, after all those that there were. What a
 * program forces, by stores that take effect late, too, is placed when a fence is executed, after
 * fences that were: the order of execution has all of it. */
static void coarsen(struct oracle *o)
{
	struct oracle_sc_log *log, *tmp;

	HASH_ITER(hh, o->sc_logs, log, tmp)
	{
		for (size_t i = 0; i < log->v.n; i++)
			add_to_sums(o, &log->v.v[i].pub, log->v.v[i].scope);
		log_free(o, log);
	}
	o->opt.sc = ORACLE_SC_EXECUTION;
	o->stats.is_sc_coarse = true;
}

#define ACCESSES_EACH 256u

static bool is_too_many(const struct oracle *o)
{
	return o->opt.sc == ORACLE_SC_PROGRAM &&
	       o->nforced + 1 >= o->opt.max_forced + o->stats.accesses / ACCESSES_EACH;
}

/* The fence.sc's of a warp's lanes, as if each came after all the others: so its lanes continue
 * to share a clock. */
static void fence_warp(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t scope)
{
	uint32_t actor = warp + (uint32_t)__builtin_ctz(mask);
	struct oracle_thread *first = oracle_thread_of(o, actor), *t;
	struct oracle_pub pub;

	if (!first)
		return;
	ORACLE_EACH (i, mask)
		oracle_fence_acquire(o, oracle_thread_of(o, warp + i), scope);
	join_sums(o, first, actor, scope);
	oracle_lanes_meet(o, warp, mask);
	oracle_clock_name(first->clock, actor, first->own - 1);
	add_to_sums(o, &(struct oracle_pub){first->clock, actor, first->own - 1, 0, false}, scope);
	ORACLE_EACH (k, mask) {
		t = oracle_thread_of(o, warp + k);
		pub = (struct oracle_pub){oracle_clock_ref(t->clock), warp + k, t->own - 1, 0,
					  false};
		t->fence = 0;
		oracle_fence_release(o, t, scope, &pub);
		oracle_fence_prune(o, t, RACE_SC, scope);
	}
}

void oracle_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t strength, uint8_t scope)
{
	o->stats.events++;
	if (o->nlate)
		oracle_flush_late(o);
	if (is_too_many(o))
		coarsen(o);
	if (o->stats.is_sc_coarse && strength == RACE_SC && mask) {
		fence_warp(o, warp, mask, scope);
		return;
	}
	if (!mask)
		fence_one(o, warp, strength, scope);
	ORACLE_EACH (l, mask)
		fence_one(o, warp + l, strength, scope);
}

void oracle_proxy_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t kinds,
			const uint64_t *maps)
{
	static const uint8_t roots[] = {ORACLE_CROSS, ORACLE_CROSS + 1, ORACLE_TMAP_RELEASED};
	static const uint8_t bits[] = {ORACLE_PROXY_GLOBAL, ORACLE_PROXY_SHARED,
				       ORACLE_PROXY_TMAP_RELEASE};
	uint32_t base = mask ? warp : warp & ~31u, lanes = mask ? mask : 1u << (warp & 31);

	o->stats.events++;
	ORACLE_EACH (l, lanes) {
		struct oracle_thread *t = oracle_thread_of(o, base + l);
		if (!t)
			continue;
		struct oracle_clock *c = oracle_clock_own(&o->pool, &t->clock);
		for (unsigned k = 0; k < sizeof(bits); k++) {
			if (!(kinds & bits[k]))
				continue;
			uint64_t *x = &c->root[roots[k]];
			oracle_tree_join(&o->pool, x, c->root[ORACLE_HB]);
			oracle_tree_raise(&o->pool, x, base + l, t->own);
		}
		if (kinds & ORACLE_PROXY_TMAP)
			oracle_map_acquire(o, t, base + l, maps[mask ? l : 0]);
		t->own++;
	}
}

void oracle_sc_free(struct oracle *o)
{
	struct oracle_sc_log *log, *ltmp;
	struct oracle_sc_sum *sum, *stmp;

	HASH_ITER(hh, o->sc_logs, log, ltmp)
	log_free(o, log);
	HASH_ITER(hh, o->sc_sums, sum, stmp)
	{
		HASH_DEL(o->sc_sums, sum);
		oracle_clock_unref(&o->pool, sum->clock);
		free(sum);
	}
}
