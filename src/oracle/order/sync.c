/*
 * sync.c - barriers, asynchronous copies, operations of the host, the device's heap.
 *
 * A barrier generation joins the clocks that arrive (threads that passed the same barrier before
 * have the same one, so this is a comparison of pointers) and raises the epochs of those that
 * arrived: one value for the block if all are at the same epoch. All threads that leave get that
 * one clock and the same next epoch, so they stay alike. A copy has two epochs: 1 for its reads, 2
 * for its writes.
 */
#include "oracle/late.h"

/* ---- barriers ------------------------------------------------------------------------------ */

static void bar_free(struct oracle *o, struct oracle_bar *b)
{
	HASH_DEL(o->bars, b);
	oracle_clock_unref(&o->pool, b->clock);
	oracle_release_free(o, &b->fenced);
	base_vec_free(&b->parts);
	free(b);
}

static struct oracle_bar *bar_at(struct oracle *o, uint64_t key, uint64_t generation, bool is_made)
{
	struct oracle_bar *b, *old, probe = {.key = {key, generation}};

	HASH_FIND(hh, o->bars, &probe.key, sizeof(probe.key), b);
	if (b || !is_made)
		return b;
	/* One at which no thread waits. */
	probe.key.generation--;
	HASH_FIND(hh, o->bars, &probe.key, sizeof(probe.key), old);
	if (old && !old->leaving)
		bar_free(o, old);
	b = base_calloc(1, sizeof(*b));
	b->key.key = key;
	b->key.generation = generation;
	HASH_ADD(hh, o->bars, key, sizeof(b->key), b);
	return b;
}

static void bar_count(struct oracle *o, struct oracle_bar *b, uint32_t actor, uint32_t expected,
		      const void *inst)
{
	if (!expected)
		return;
	if (!b->expected) {
		b->expected = expected;
		b->inst = inst;
		b->actor = actor;
		return;
	}
	if (b->expected == expected)
		return;
	struct oracle_side first = {.inst = b->inst,
				    .actor = b->actor,
				    .place = oracle_place(o, b->actor),
				    .bytes = b->expected};
	struct oracle_side second = {
		.inst = inst, .actor = actor, .place = oracle_place(o, actor), .bytes = expected};
	uint64_t index;
	bool is_same;
	oracle_found(o, ORACLE_BAR_COUNT, &first, &second, 0, &index, &is_same);
}

/* A relaxed arrival ends the release patterns that the thread's fences have begun. */
static void fenced_arrive(struct oracle *o, struct oracle_bar *b, uint32_t warp, uint32_t mask)
{
	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_of(o, warp + l);
		if (t && t->pends)
			oracle_release_pending(o, t, 0, 0, &b->fenced);
	}
}

void oracle_arrive(struct oracle *o, uint32_t warp, uint32_t mask, const struct oracle_arrival *a)
{
	struct oracle_clock *last = NULL;

	o->stats.events++;
	oracle_lanes_from(&warp, &mask);
	struct oracle_thread *first = oracle_threads_of(o, warp);
	struct oracle_bar *b = bar_at(o, a->key, a->generation, true);
	bar_count(o, b, warp + (uint32_t)__builtin_ctz(mask), a->expected, a->inst);
	if (a->flags & ORACLE_BAR_LEAVES)
		b->leaving += (unsigned)__builtin_popcount(mask);
	if (!(a->flags & ORACLE_BAR_RELEASE)) {
		fenced_arrive(o, b, warp, mask);
		return;
	}
	if (!b->clock)
		b->clock = oracle_clock_ref(o->zero);
	for (uint32_t left = mask; left;) {
		struct oracle_part p = oracle_same_epoch(o, warp, left);
		if (p.epoch > b->max_epoch)
			b->max_epoch = p.epoch;
		base_vec_push(&b->parts, p);
		left &= ~p.mask;
	}
	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, l);
		if (!t)
			continue;
		if (t->clock != last)
			oracle_clock_join(&o->pool, &b->clock, t->clock);
		last = t->clock;
		t->own++;
	}
}

/* The arrivals are complete: adds their epochs to the clock. */
static void bar_close(struct oracle *o, struct oracle_bar *b)
{
	if (b->is_final)
		return;
	b->is_final = true;
	if (!b->clock)
		return;
	struct oracle_clock *c = oracle_clock_own(&o->pool, &b->clock);
	for (size_t i = 0; i < b->parts.n; i++)
		oracle_raise_part(o, c, &b->parts.v[i]);
	base_vec_free(&b->parts);
}

static void fenced_leave(struct oracle *o, const struct oracle_bar *b, uint32_t warp, uint32_t mask)
{
	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_of(o, warp + l);
		if (t)
			oracle_acquire(o, t, warp + l, &b->fenced, RACE_SCOPE_SYS);
	}
}

void oracle_leave(struct oracle *o, uint32_t warp, uint32_t mask, uint64_t key, uint64_t generation)
{
	o->stats.events++;
	oracle_lanes_from(&warp, &mask);
	struct oracle_bar *b = bar_at(o, key, generation, false);
	if (!b)
		return;
	bar_close(o, b);
	if (b->clock)
		oracle_lanes_join(o, warp, mask, b->clock, b->max_epoch + 1);
	if (b->fenced.wide.n || b->fenced.narrow.n)
		fenced_leave(o, b, warp, mask);
	uint64_t n = (unsigned)__builtin_popcount(mask);
	b->leaving -= n < b->leaving ? n : b->leaving;
	if (!b->leaving)
		bar_free(o, b);
}

void oracle_warp_sync(struct oracle *o, uint32_t warp, uint32_t mask)
{
	o->stats.events++;
	oracle_lanes_meet(o, warp, mask);
}

/* ---- mbarriers ------------------------------------------------------------------------------- */

static struct oracle_phase *phase_at(struct oracle *o, uint64_t address, uint64_t phase,
				     bool is_made)
{
	struct oracle_mbar *m;
	uint32_t low = 0;

	HASH_FIND(hh, o->mbars, &address, sizeof(address), m);
	for (uint32_t i = 0; m && i < m->n; i++)
		if (m->phase[i].phase == phase)
			return &m->phase[i];
	if (!is_made)
		return NULL;
	if (!m) {
		m = base_calloc(1, sizeof(*m));
		m->address = address;
		HASH_ADD(hh, o->mbars, address, sizeof(m->address), m);
	}
	if (m->n < ORACLE_PHASES) {
		low = m->n++;
	} else {
		for (uint32_t i = 1; i < m->n; i++)
			if (m->phase[i].phase < m->phase[low].phase)
				low = i;
		oracle_release_free(o, &m->phase[low].release);
	}
	memset(&m->phase[low], 0, sizeof(m->phase[low]));
	m->phase[low].phase = phase;
	return &m->phase[low];
}

static void cross_all(struct oracle *o, struct oracle_clock *c)
{
	for (unsigned k = ORACLE_CROSS; k < ORACLE_ROOTS; k++)
		oracle_tree_join(&o->pool, &c->root[k], c->root[ORACLE_HB]);
}

/* What a copy did, up to an epoch, and nothing else. */
static struct oracle_clock *copy_alone(struct oracle *o, uint32_t pseudo, uint32_t epoch)
{
	struct oracle_clock *c = oracle_clock_new(&o->pool);

	oracle_tree_raise(&o->pool, &c->root[ORACLE_HB], pseudo, epoch);
	cross_all(o, c);
	oracle_forced_by(o, &c, pseudo, false);
	return c;
}

/* Patterns of a thread that end at an mbarrier are kept by its address and this size, which no
 * access has. */
#define OBJECT UINT64_MAX

/* The arrival ends the release patterns that fences, and releasing arrivals here, have begun. */
static void relaxed_arrive(struct oracle *o, struct oracle_thread *t, uint64_t address,
			   uint64_t phase, uint8_t scope)
{
	struct oracle_release begun = {0}, *to = &phase_at(o, address, phase, true)->release;

	oracle_release_pending(o, t, address, OBJECT, &begun);
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < (k ? begun.wide.n : begun.narrow.n); i++) {
			const struct oracle_entry *e = k ? &begun.wide.v[i] : &begun.narrow.v[i];
			oracle_release_arrival(o, to, e->scope < scope ? e->scope : scope, &e->pub);
		}
	oracle_release_free(o, &begun);
}

void oracle_mbarrier_arrive(struct oracle *o, uint32_t actor, uint64_t address, uint64_t phase,
			    uint8_t strength, uint8_t scope)
{
	struct oracle_thread *t;
	struct oracle_pub pub;

	o->stats.events++;
	bool is_release = race_is_release((enum race_strength)strength);
	bool is_pseudo = oracle_is_pseudo(o, actor);
	struct oracle_misc *m = is_pseudo ? oracle_misc_of(o, actor) : NULL;
	if (m && m->is_collector && is_release) {
		pub = (struct oracle_pub){oracle_clock_ref(m->thread.clock), actor, m->thread.own++,
					  0, false};
		oracle_release_add(o, &phase_at(o, address, phase, true)->release, scope, &pub);
		oracle_clock_unref(&o->pool, pub.clock);
	} else if (is_pseudo && is_release) {
		pub = (struct oracle_pub){copy_alone(o, actor, ORACLE_PSEUDO_WRITE), actor,
					  ORACLE_PSEUDO_WRITE, 0, false};
		oracle_release_add(o, &phase_at(o, address, phase, true)->release, scope, &pub);
		oracle_clock_unref(&o->pool, pub.clock);
	}
	if (is_pseudo || !(t = oracle_thread_of(o, actor)))
		return;
	if (!is_release) {
		if (t->pends)
			relaxed_arrive(o, t, address, phase, scope);
		return;
	}
	pub = oracle_publish(o, t, actor);
	oracle_release_arrival(o, &phase_at(o, address, phase, true)->release, scope, &pub);
	oracle_release_at(o, t, address, OBJECT, scope, pub);
}

/* Keeps the part of r that its scope reaches for a later acquire. */
static void relaxed_wait(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			 uint64_t address, const struct oracle_release *r, uint8_t scope,
			 uint8_t taken)
{
	struct oracle_release near = {0};

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < (k ? r->wide.n : r->narrow.n); i++) {
			const struct oracle_entry *e = k ? &r->wide.v[i] : &r->narrow.v[i];
			if (oracle_level(o, actor, e->pub.actor) <= (enum race_scope)scope)
				oracle_release_add(o, &near, e->scope, &e->pub);
		}
	oracle_acquire_later(o, t, actor, &near, address, OBJECT, taken);
	oracle_release_free(o, &near);
}

void oracle_mbarrier_wait(struct oracle *o, uint32_t actor, uint64_t address, uint64_t phase,
			  uint8_t strength, uint8_t scope)
{
	o->stats.events++;
	struct oracle_phase *p = phase_at(o, address, phase, false);
	struct oracle_thread *t = oracle_thread_of(o, actor);
	bool is_acquire = race_is_acquire((enum race_strength)strength);
	if (t && is_acquire)
		oracle_acquire_at(o, t, address, OBJECT, scope);
	if (!p || !t)
		return;
	if (is_acquire)
		oracle_acquire(o, t, actor, &p->release, scope);
	/* A thread that waits for an object in shared memory is on the device of those that
	 * arrive. */
	if (!is_acquire || scope < RACE_SCOPE_GPU)
		relaxed_wait(o, t, actor, address, &p->release, scope,
			     is_acquire ? scope : (uint8_t)RACE_SCOPE_NONE);
}

static void mbar_free(struct oracle *o, struct oracle_mbar *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		oracle_release_free(o, &m->phase[i].release);
	HASH_DEL(o->mbars, m);
	free(m);
}

/* ---- operations ------------------------------------------------------------------------------ */

static struct oracle_opn *op_at(struct oracle *o, uint64_t key, bool is_made)
{
	struct oracle_opn *p;

	HASH_FIND(hh, o->ops, &key, sizeof(key), p);
	if (p || !is_made)
		return p;
	p = base_calloc(1, sizeof(*p));
	p->key = key;
	p->actor = ORACLE_NO_ACTOR;
	p->start = oracle_clock_ref(o->zero);
	o->nopen++;
	HASH_ADD(hh, o->ops, key, sizeof(p->key), p);
	return p;
}

uint32_t oracle_host(struct oracle *o)
{
	o->stats.events++;
	o->nhosts++;
	return oracle_misc_new(o, ORACLE_MISC_HOST, ORACLE_NO_ACTOR, oracle_clock_ref(o->zero));
}

void oracle_op_submit(struct oracle *o, uint32_t host, uint64_t key)
{
	struct oracle_thread *t = oracle_thread_of(o, host);

	o->stats.events++;
	struct oracle_opn *p = op_at(o, key, true);
	p->nhost = o->lates->nhost;
	if (!t)
		return;
	struct oracle_pub pub = oracle_publish(o, t, host);
	oracle_learn(o, &p->start, &pub);
	oracle_clock_unref(&o->pool, pub.clock);
}

void oracle_op_depend(struct oracle *o, uint64_t key, uint64_t before)
{
	o->stats.events++;
	struct oracle_opn *p = op_at(o, key, true);
	base_vec_push(&p->after, before);
}

uint32_t oracle_op_start(struct oracle *o, uint64_t key, uint32_t first)
{
	o->stats.events++;
	struct oracle_opn *p = op_at(o, key, true), *before;
	for (size_t i = 0; i < p->after.n; i++)
		if ((before = op_at(o, p->after.v[i], false)) && before->is_ended)
			oracle_clock_join(&o->pool, &p->start, before->end);
	base_vec_free(&p->after);
	cross_all(o, oracle_clock_own(&o->pool, &p->start));
	oracle_late_started(o, p);
	if (first == ORACLE_NO_ACTOR) {
		p->actor = oracle_misc_new(o, ORACLE_MISC_OP, ORACLE_NO_ACTOR,
					   oracle_clock_ref(p->start));
		return p->actor;
	}
	p->actor = first;
	struct oracle_group *g = oracle_group_of(o, first);
	if (g && g->is_grid) {
		oracle_clock_unref(&o->pool, g->start);
		oracle_clock_unref(&o->pool, g->end);
		/* Not changed again: all its threads know it. */
		p->start->actor = g->first;
		p->start->epoch = 0;
		p->start->span = g->n;
		g->start = oracle_clock_ref(p->start);
		g->end = oracle_clock_ref(p->start);
	}
	return first;
}

/* Those of a grid's blocks say nothing to others. */
static void forget_fences(struct oracle *o, struct oracle_clock *c)
{
	oracle_tree_unref(&o->pool, c->root[ORACLE_FENCES]);
	oracle_tree_unref(&o->pool, c->root[ORACLE_FORCED]);
	c->root[ORACLE_FENCES] = c->root[ORACLE_FORCED] = 0;
}

/* All that the threads of a grid and their copies have done. */
static struct oracle_clock *grid_end(struct oracle *o, struct oracle_group *g)
{
	g->is_ended = true;
	for (uint32_t b = 0; b < g->grid.blocks; b++)
		oracle_block_free(o, g, b);
	for (size_t i = 0; o->sc_logs && i < g->pseudos.n; i++)
		for (uint32_t k = 0; k < g->pseudos.v[i].n; k++)
			oracle_forced_by(o, &g->end, g->pseudos.v[i].first + k, false);
	struct oracle_clock *c = oracle_clock_own(&o->pool, &g->end);
	oracle_tree_raise_range(&o->pool, &c->root[ORACLE_HB], g->first, g->n, INT32_MAX);
	if (!o->has_wide_fences)
		forget_fences(o, c);
	else if (g->has_fences)
		oracle_tree_raise_range(&o->pool, &c->root[ORACLE_FENCES], g->first, g->n,
					INT32_MAX);
	for (size_t i = 0; i < g->pseudos.n; i++)
		oracle_tree_raise_range(&o->pool, &c->root[ORACLE_HB], g->pseudos.v[i].first,
					g->pseudos.v[i].n, ORACLE_PSEUDO_WRITE);
	base_vec_free(&g->pseudos);
	cross_all(o, c);
	free(g->blocks);
	g->blocks = NULL;
	oracle_clock_unref(&o->pool, g->start);
	g->start = NULL;
	return oracle_clock_ref(c);
}

void oracle_op_end(struct oracle *o, uint64_t key)
{
	o->stats.events++;
	struct oracle_opn *p = op_at(o, key, true);
	if (p->is_ended)
		return;
	p->is_ended = true;
	o->nopen--;
	oracle_late_ended(o, p);
	struct oracle_group *g = p->actor == ORACLE_NO_ACTOR ? NULL : oracle_group_of(o, p->actor);
	struct oracle_thread *t = g && !g->is_grid ? oracle_thread_of(o, p->actor) : NULL;
	if (g && g->is_grid) {
		p->end = grid_end(o, g);
		oracle_clock_unref(&o->pool, p->start);
		p->start = NULL;
		return;
	}
	p->end = p->start;
	p->start = NULL;
	if (t) {
		struct oracle_pub pub = oracle_publish(o, t, p->actor);
		oracle_learn(o, &p->end, &pub);
		oracle_clock_unref(&o->pool, pub.clock);
	}
	cross_all(o, oracle_clock_own(&o->pool, &p->end));
}

void oracle_host_wait(struct oracle *o, uint32_t host, uint64_t key)
{
	o->stats.events++;
	struct oracle_opn *p = op_at(o, key, false);
	struct oracle_thread *t = oracle_thread_of(o, host);
	if (!p || !p->is_ended || !t)
		return;
	oracle_clock_join(&o->pool, &t->clock, p->end);
	oracle_retire(o, host);
}

bool oracle_has_op(const struct oracle *o, uint64_t key)
{
	const struct oracle_opn *p;

	HASH_FIND(hh, o->ops, &key, sizeof(key), p);
	return p != NULL;
}

bool oracle_host_knows(struct oracle *o, uint32_t host, uint64_t key)
{
	struct oracle_opn *p = op_at(o, key, false);
	struct oracle_thread *t = oracle_thread_of(o, host);
	uint64_t known;
	bool is_known;

	if (!p || !p->is_ended || !t)
		return false;
	/* The host thread's own actions aren't in its clock. */
	known = oracle_tree_ref(t->clock->root[ORACLE_HB]);
	oracle_tree_raise(&o->pool, &known, host, INT32_MAX);
	is_known = oracle_tree_covers(known, p->end->root[ORACLE_HB]);
	oracle_tree_unref(&o->pool, known);
	return is_known;
}

/* ---- memory that is new, or freed ------------------------------------------------------------ */

static void forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	struct oracle_mbar *m, *tmp;

	if (o->nlate)
		oracle_late_forget(o, address, bytes);
	oracle_shadow_forget(o, address, bytes);
	HASH_ITER(hh, o->mbars, m, tmp)
	{
		if (m->address - address < bytes)
			mbar_free(o, m);
	}
}

void oracle_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	o->stats.events++;
	forget(o, address, bytes);
}

void oracle_heap_free(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	struct oracle_freed f = {.address = address, .bytes = bytes};

	o->stats.events++;
	forget(o, address, bytes);
	if (!t)
		return;
	struct oracle_pub pub = oracle_publish(o, t, actor);
	oracle_learn(o, &f.clock, &pub);
	oracle_clock_unref(&o->pool, pub.clock);
	base_vec_push(&o->freed, f);
}

void oracle_heap_alloc(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	size_t kept = 0;

	o->stats.events++;
	forget(o, address, bytes);
	for (size_t i = 0; i < o->freed.n; i++) {
		struct oracle_freed *f = &o->freed.v[i];
		bool is_ours = f->address < address + bytes && address < f->address + f->bytes;
		if (is_ours && t)
			oracle_clock_join(&o->pool, &t->clock, f->clock);
		/* Freed memory that has been allocated again as a whole has no edge left to pass
		 * on. */
		if (is_ours && f->address >= address && f->address + f->bytes <= address + bytes)
			oracle_clock_unref(&o->pool, f->clock);
		else
			o->freed.v[kept++] = *f;
	}
	o->freed.n = kept;
}

void oracle_sync_free(struct oracle *o)
{
	struct oracle_bar *b, *btmp;
	struct oracle_mbar *m, *mtmp;
	struct oracle_opn *p, *ptmp;

	HASH_ITER(hh, o->bars, b, btmp)
	bar_free(o, b);
	HASH_ITER(hh, o->mbars, m, mtmp)
	mbar_free(o, m);
	HASH_ITER(hh, o->ops, p, ptmp)
	{
		HASH_DEL(o->ops, p);
		oracle_clock_unref(&o->pool, p->start);
		oracle_clock_unref(&o->pool, p->end);
		base_vec_free(&p->after);
		free(p);
	}
	o->unknown = NULL;
	o->nopen = 0;
	for (size_t i = 0; i < o->freed.n; i++)
		oracle_clock_unref(&o->pool, o->freed.v[i].clock);
	base_vec_free(&o->freed);
}
