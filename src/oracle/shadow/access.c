/*
 * access.c - the general check of an access to a word against the earlier ones.
 *
 * For accesses that aren't plain, that race, or whose order isn't simple (row.c does the rest). A
 * word has three lists: weak writes, weak reads, strong accesses. A new access is compared with
 * each kept one that conflicts; a weak one that is ordered after a kept one and covers it (a write
 * covers all, a read the reads) replaces it: an access that later races with the superseded one
 * races with the new one, too.
 *
 * Long lists are not walked: each remembers a clock that knows all of it, and a list of uniform
 * strong accesses has none that races with another of the kind (strong.c). Reads of a warp's lanes
 * in one epoch are one record, as are consecutive RMWs of a warp.
 */
#include "oracle/shadow.h"

enum order { UNORDERED, UNCROSSED, ORDERED };

static bool is_empty(const struct oracle_list *l)
{
	return !l || !l->n;
}

/* ---- order ----------------------------------------------------------------------------------- */

static unsigned cross_of(const struct oracle_now *n, const struct oracle_site *x)
{
	if (x->a.proxy == RACE_PROXY_TEXTURE || n->acc->proxy == RACE_PROXY_TEXTURE)
		return ORACLE_CROSS_TEXTURE - ORACLE_CROSS;
	if (x->a.proxy == RACE_PROXY_TENSORMAP || n->acc->proxy == RACE_PROXY_TENSORMAP)
		return ORACLE_CROSS_TMAP - ORACLE_CROSS;
	return n->acc->flags & ORACLE_SHARED ? 1 : 0;
}

/* An asynchronous copy writes to shared memory that was read by an ordinary load. */
static bool is_refill(const struct oracle_now *n, const struct oracle_site *x)
{
	return x->a.proxy == RACE_PROXY_GENERIC && n->acc->proxy == RACE_PROXY_ASYNC &&
	       n->acc->flags & ORACLE_SHARED;
}

static enum order order_of(const struct oracle_now *n, uint32_t actor, uint32_t epoch,
			   const struct oracle_site *x)
{
	if (actor == n->actor && x->a.proxy == n->acc->proxy)
		return ORDERED;
	if (actor != n->actor && oracle_tree_get(n->clock->root[ORACLE_HB], actor) < epoch)
		return UNORDERED;
	if (x->a.kind == RACE_OP_READ && !is_refill(n, x))
		return ORDERED;
	if (x->a.proxy == n->acc->proxy && (x->a.proxy == RACE_PROXY_GENERIC ||
					    oracle_level(n->o, actor, n->actor) == RACE_SCOPE_CTA))
		return ORDERED;
	if (x->a.kind == RACE_OP_READ &&
	    oracle_tree_get(n->clock->root[ORACLE_HANDED], actor) >= epoch)
		return ORDERED;
	return oracle_tree_get(n->clock->root[ORACLE_CROSS + cross_of(n, x)], actor) >= epoch
		       ? ORDERED
		       : UNCROSSED;
}

bool oracle_is_ordered(const struct oracle_now *n, uint32_t actor, uint32_t epoch,
		       const struct oracle_site *x)
{
	return order_of(n, actor, epoch, x) == ORDERED;
}

static bool is_same_grid(struct oracle *o, uint32_t a, uint32_t b)
{
	uint64_t g = oracle_place(o, a).grid;

	return g && g == oracle_place(o, b).grid;
}

/* A read-only load and a write, which is never right within one grid; or a texture's read after a
 * write. */
static bool is_nc_pair(const struct oracle_now *n, const struct oracle_site *x, uint32_t actor)
{
	bool is_nc = ((x->a.flags & ORACLE_NC) && (n->acc->kind & RACE_OP_WRITE)) ||
		     ((n->acc->flags & ORACLE_NC) && (x->a.kind & RACE_OP_WRITE));
	bool is_texture = n->acc->proxy == RACE_PROXY_TEXTURE && n->acc->kind == RACE_OP_READ &&
			  (x->a.kind & RACE_OP_WRITE);

	return (is_nc || is_texture) && is_same_grid(n->o, actor, n->actor);
}

/* ---- findings -------------------------------------------------------------------------------- */

static struct oracle_side side_of(struct oracle *o, const struct oracle_site *s, uint32_t actor,
				  uint64_t address)
{
	return (struct oracle_side){.inst = s->a.inst,
				    .actor = actor,
				    .place = oracle_place(o, actor),
				    .address = address,
				    .bytes = s->a.bytes,
				    .kind = s->a.kind,
				    .strength = s->a.strength,
				    .scope = s->a.scope,
				    .proxy = s->a.proxy,
				    .flags = s->a.flags};
}

static void found(const struct oracle_now *n, enum oracle_kind kind, const struct oracle_rec *r,
		  uint32_t actor)
{
	struct oracle *o = n->o;
	uint32_t a = r->site, b = n->site;
	struct oracle_repeat *again = oracle_repeat_at(o, &a, &b, kind);

	if (again->count && again->first == a && again->second == b && again->kind == kind &&
	    (!again->is_same || oracle_is_stored_same(o, r->site, actor, n->actor))) {
		o->races++;
		o->is_hot = ++o->findings.v[again->index].count > ORACLE_HOT;
		++*again->count;
		return;
	}
	const struct oracle_site *x = oracle_site_at(o, r->site);
	uint64_t at =
		r->offset == ORACLE_OFF_RANGE ? n->word : n->word + (uint64_t)(int64_t)r->offset;
	struct oracle_side first = side_of(o, x, actor, at);
	struct oracle_side second = side_of(o, oracle_site_at(o, n->site), n->actor, n->address);
	struct oracle_repeat next = {.first = a, .second = b, .kind = kind};

	first.epoch = r->epoch;

	next.count = oracle_found(o, kind, &first, &second,
				  n->word + (uint64_t)__builtin_ctz(n->mask & r->bytes),
				  &next.index, &next.is_same);
	if (next.count)
		*again = next;
}

/* Classifies an unordered pair. Returns false if it is no race: both are morally strong. */
static bool judge(const struct oracle_now *n, const struct oracle_site *x,
		  const struct oracle_rec *r, uint32_t actor, enum order order,
		  enum oracle_kind *kind)
{
	bool is_same =
		n->word + (uint64_t)(int64_t)r->offset == n->address && x->a.bytes == n->acc->bytes;
	struct race_manner a = {x->a.strength, x->a.scope, x->a.proxy};
	struct race_manner b = {n->acc->strength, n->acc->scope, n->acc->proxy};
	bool is_weak =
		a.strength == RACE_WEAK || b.strength == RACE_WEAK; /* the level is not needed */

	*kind = order == UNCROSSED ? ORACLE_RACE_PROXY : ORACLE_RACE;
	switch (race_moral_of(a, b, is_weak ? RACE_SCOPE_SYS : oracle_level(n->o, actor, n->actor),
			      is_same)) {
	case RACE_MORALLY_STRONG:
		return false;
	case RACE_MORAL_SCOPE:
		*kind = ORACLE_RACE_SCOPE;
		break;
	case RACE_MORAL_BYTES:
		*kind = ORACLE_RACE_SIZE;
		break;
	default:
		break;
	}
	return true;
}

/* ---- one record against the access ----------------------------------------------------------- */

/* What one access is compared with in a list: the records that came after one, the word's reads,
 * and what it has seen of a chain. */
struct later {
	const struct oracle_rec *v;
	uint32_t n;
	const struct oracle_list *reads;
	struct oracle_sight *sight;
};

/* Is the access after a read that observed this write? (R7 between that read and the access.) */
static bool is_seen(const struct oracle_now *n, const struct oracle_chain *chain, uint32_t pos,
		    struct oracle_sight *x)
{
	const struct oracle_site generic = {.a = {.proxy = RACE_PROXY_GENERIC}};
	const uint64_t *root = n->clock->root;
	uint64_t hb = root[ORACLE_HB], cross = root[ORACLE_CROSS + cross_of(n, &generic)];

	if (n->acc->proxy == RACE_PROXY_GENERIC)
		return oracle_chain_is_seen(x, chain, pos, n->actor, hb, hb);
	/* The thread's own reads went through the generic proxy. */
	if (n->acc->kind == RACE_OP_READ)
		return oracle_chain_is_seen(x, chain, pos, ORACLE_NO_ACTOR, cross, cross);
	return oracle_chain_is_seen(x, chain, pos, n->actor, hb, cross);
}

/*
 * Has another write, from which a proxy fence leads here, replaced all bytes that this access
 * shares with the record? A copy is kept beside what it overwrites (supersedes), and its completion
 * counts as its proxy fence: what lies below is seen by no proxy.
 */
static bool is_overwritten(const struct oracle_now *n, const struct oracle_rec *r,
			   const struct later *later)
{
	for (uint32_t i = 0; i < later->n; i++) {
		const struct oracle_rec *z = &later->v[i];
		const struct oracle_site *x = oracle_site_at(n->o, z->site);
		if (!z->mask && x->a.kind == RACE_OP_WRITE && !(r->bytes & n->mask & ~z->bytes) &&
		    order_of(n, z->actor, z->epoch, x) == ORDERED)
			return true;
	}
	return false;
}

/*
 * A write that this one overwrites, and that a copy or product has read in between: as form_tile.c
 * says, for words with more accesses than a list of its has. A record of a read that the write
 * shares bytes with is of one after it, if neither has raced: one before it would be replaced.
 */
static bool is_read_between(const struct oracle_now *n, const struct oracle_rec *r,
			    const struct oracle_list *reads)
{
	const struct oracle_site *x = oracle_site_at(n->o, r->site);

	if (!(n->acc->kind & RACE_OP_WRITE) || !(x->a.kind & RACE_OP_WRITE) || r->raced ||
	    x->a.strength != RACE_WEAK || x->a.flags & ~ORACLE_SHARED || is_empty(reads))
		return false;
	for (uint32_t i = 0; i < reads->n; i++) {
		const struct oracle_rec *z = &reads->v[i];
		const struct oracle_site *y = oracle_site_at(n->o, z->site);
		if (!z->raced && !z->mask && z->actor != r->actor &&
		    oracle_is_pseudo(n->o, z->actor) && !(y->a.flags & ~ORACLE_SHARED) &&
		    !(r->bytes & n->mask & ~z->bytes) &&
		    order_of(n, z->actor, z->epoch, y) == ORDERED)
			return true;
	}
	return false;
}

/* Reports a race with one lane's access, or returns true: that one is ordered before this one. */
static bool check_one(const struct oracle_now *n, const struct oracle_rec *r, uint32_t actor,
		      uint32_t pos, const struct later *later)
{
	const struct oracle_site *x = oracle_site_at(n->o, r->site);
	bool is_conflict = race_kinds_conflict(x->a.kind, n->acc->kind);
	enum order order = order_of(n, actor, r->epoch, x);
	enum oracle_kind kind;

	if (is_conflict && is_nc_pair(n, x, actor)) {
		found(n, ORACLE_RACE_NC, r, actor);
		return false;
	}
	if (order == ORDERED)
		return true;
	/* Two that are morally strong don't race, and neither replaces the other. */
	if (!is_conflict || !judge(n, x, r, actor, order, &kind))
		return false;
	if (order == UNCROSSED && is_overwritten(n, r, later))
		return false;
	if (is_read_between(n, r, later->reads))
		return true;
	/* After another proxy's access that was accepted as a write after a read, a read isn't. */
	if (r->chain && is_seen(n, r->chain, pos, later->sight))
		return n->acc->proxy == RACE_PROXY_GENERIC;
	if (n->o->opt.has_late_writes && (x->a.kind & RACE_OP_WRITE) &&
	    n->o->opt.sc == ORACLE_SC_PROGRAM)
		oracle_overtake(n->o, n->t, n->actor, actor, r->epoch);
	found(n, kind, r, actor);
	return false;
}

/* The lanes that are ordered before the access and without a finding; 1 for a single one. */
static uint32_t check_rec(const struct oracle_now *n, const struct oracle_rec *r,
			  const struct later *later)
{
	uint32_t ordered = 0, pos = r->pos;

	if (!r->mask)
		return check_one(n, r, r->actor, r->pos, later);
	ORACLE_EACH (l, r->mask) {
		if (check_one(n, r, r->actor + l, pos++, later))
			ordered |= 1u << l;
	}
	return ordered;
}

bool oracle_is_nc_kept(struct oracle *o, const struct oracle_site *x, uint32_t actor)
{
	struct oracle_group *g = x->a.flags & ORACLE_NC ? oracle_group_of(o, actor) : NULL;

	return g && g->is_grid && !g->is_ended;
}

static bool is_init(struct oracle *o, uint32_t actor)
{
	const struct oracle_misc *m = oracle_misc_of(o, actor);

	return m && m->kind == ORACLE_MISC_INIT;
}

/*
 * May this access replace an ordered one? A thread that knows it must know the other, so an
 * mbarrier.init, which fence.mbarrier_init passes on with other inits alone, replaces only inits.
 * The completion of a copy passes on the copy alone, but what it has read or overwritten was over
 * before it began: who comes after it comes after that, too. One read-only load is enough for its
 * grid.
 */
static bool supersedes(const struct oracle_now *n, const struct oracle_site *x, uint32_t actor)
{
	if (n->acc->strength != RACE_WEAK)
		return false;
	if (n->acc->flags & ORACLE_MBARRIER && is_init(n->o, n->actor) && !is_init(n->o, actor))
		return false;
	if (n->acc->kind == RACE_OP_READ && x->a.kind != RACE_OP_READ)
		return false;
	return !oracle_is_nc_kept(n->o, x, actor) ||
	       ((n->acc->flags & ORACLE_NC) && is_same_grid(n->o, actor, n->actor));
}

/* Removes the superseded lanes and bytes from a record; false: nothing is left. */
static bool trim(const struct oracle_now *n, struct oracle_rec *r, uint32_t ordered)
{
	if ((r->bytes & ~n->mask) == 0) {
		if (ordered == (r->mask ? r->mask : 1u))
			return false;
		/* Consecutive RMWs keep their lanes: positions count them. */
		if (ordered && !r->chain)
			r->mask &= ~ordered;
	} else if (ordered == (r->mask ? r->mask : 1u)) {
		r->bytes = (uint8_t)(r->bytes & ~n->mask);
	}
	return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_after(const struct oracle_now *n, const struct oracle_list *l)
{
	return l->known_to && l->known_to == n->clock && n->acc->proxy == RACE_PROXY_GENERIC &&
	       !(n->acc->flags & ORACLE_NC);
}

/* Does the clock know each lane of the record, regardless of proxies? */
static bool is_known(const struct oracle_now *n, const struct oracle_rec *r)
{
	const struct oracle_site *x = oracle_site_at(n->o, r->site);
	uint32_t value;
	const uint32_t *leaf = oracle_tree_leaf(n->clock->root[ORACLE_HB], r->actor, &value);

	if (x->a.proxy != RACE_PROXY_GENERIC || (x->a.flags & ORACLE_NC))
		return false;
	if (!leaf)
		return value >= r->epoch;
	if (!r->mask)
		return leaf[r->actor & 31] >= r->epoch;
	ORACLE_EACH (l, r->mask) {
		if (leaf[l] < r->epoch)
			return false;
	}
	return true;
}

static void check_list(const struct oracle_now *n, struct oracle_list *l,
		       const struct oracle_list *reads)
{
	bool is_all_known = n->acc->proxy == RACE_PROXY_GENERIC;
	uint32_t kept = 0, known = ORACLE_NO_SITE; /* the site found last whose pair is */
	struct oracle_sight sight = {0};

	if (!l || !l->n || oracle_are_spent(n, l) ||
	    (is_after(n, l) && n->acc->strength != RACE_WEAK))
		return;
	if (is_after(n, l) && !(n->acc->kind & RACE_OP_WRITE))
		return;
	l->spent.n = 0;
	n->o->stats.looked += l->n;
	for (uint32_t i = 0; i < l->n; i++) {
		struct oracle_rec *r = &l->v[i];
		const struct oracle_site *x = oracle_site_at(n->o, r->site);
		bool is_out = oracle_is_spent(r);
		if (is_out && r->bytes & n->mask &&
		    (r->site == known || oracle_is_pair_known(n, x))) {
			known = r->site;
			is_all_known = false;
			l->v[kept] = *r;
			oracle_spent_note(l, kept++);
			continue;
		}
		if (r->bytes & n->mask) {
			uint64_t races = n->o->races;
			known = ORACLE_NO_SITE; /* another pair may take its place */
			n->o->is_hot = false;
			struct later later = {r + 1, l->n - i - 1, reads, &sight};
			uint32_t ordered = check_rec(n, r, &later);
			races = n->o->races - races + r->raced;
			r->raced = (uint16_t)(races < ORACLE_RACED_MAX && !n->o->is_hot
						      ? races
						      : ORACLE_RACED_MAX);
			n->o->stats.raced_out += oracle_is_spent(r) && !is_out;
			l->has_spent |= oracle_is_spent(r);
			if (oracle_is_spent(r) && oracle_has_others(n->o, l, kept, i)) {
				oracle_gone_rec(n, r);
				oracle_rec_drop(n->o, r);
				continue;
			}
			if (ordered && supersedes(n, x, r->actor) && !trim(n, r, ordered)) {
				oracle_rec_drop(n->o, r);
				continue;
			}
		}
		is_all_known = is_all_known && is_known(n, r);
		if (oracle_is_spent(r))
			oracle_spent_note(l, kept);
		l->v[kept++] = *r;
	}
	l->n = kept;
	n->o->stats.looked += sight.looked;
	if (is_all_known && kept && l->known_to != n->clock) {
		oracle_list_touch(n->o, l);
		l->known_to = oracle_clock_ref(n->t->clock);
	}
}

static int by_warp(const void *a, const void *b)
{
	const struct oracle_rec *x = a, *y = b;
	uint32_t v = x->actor & ~31u, w = y->actor & ~31u;

	if (v != w)
		return v < w ? -1 : 1;
	return x->epoch > y->epoch ? -1 : x->epoch < y->epoch;
}

/*
 * A read by what a warp has started as a whole (a matrix product), which comes after the end of one
 * that read the same: who waits for the later one has waited for the earlier one, as groups end in
 * order.
 */
static bool is_read_again(const struct oracle_now *n, const struct oracle_rec *r)
{
	const struct oracle_site *x = oracle_site_at(n->o, r->site);

	if (!n->is_pseudo || n->acc->proxy != RACE_PROXY_ASYNC || n->acc->kind != RACE_OP_READ ||
	    x->a.proxy != RACE_PROXY_ASYNC || x->a.kind != RACE_OP_READ || r->mask ||
	    r->actor == n->actor || r->bytes & ~n->mask)
		return false;
	const struct oracle_misc *m = oracle_misc_of(n->o, n->actor);
	return m && m->is_of_warp &&
	       oracle_tree_get(n->clock->root[ORACLE_HB], r->actor) >= r->epoch;
}

/*
 * Of a thread's weak reads of the whole word the last one is enough, and those ordered before the
 * access just added are not needed. Done each time a list has doubled.
 */
static void compact_reads(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t covered = 0, warp = 0;
	uint32_t kept = 0;

	if (l->n < oracle_compact_from(n->o) || l->n < l->compact_at)
		return;
	oracle_list_touch(n->o, l);
	oracle_spent_unknown(l);
	qsort(l->v, l->n, sizeof(struct oracle_rec), by_warp);
	for (uint32_t i = 0; i < l->n; i++) {
		struct oracle_rec *r = &l->v[i];
		const struct oracle_site *x = oracle_site_at(n->o, r->site);
		bool is_plain = !(x->a.flags & ~ORACLE_SHARED) && x->a.proxy == RACE_PROXY_GENERIC;
		if (is_read_again(n, r))
			continue;
		if (!i || warp != (r->actor & ~31u))
			covered = 0;
		warp = r->actor & ~31u;
		if (is_plain && !(oracle_rec_lanes(r) & ~covered))
			continue;
		if (is_plain && r->bytes == ORACLE_PLAIN_BYTES)
			covered |= oracle_rec_lanes(r);
		if (is_plain && n->mask == ORACLE_PLAIN_BYTES && !n->is_pseudo &&
		    n->acc->proxy == RACE_PROXY_GENERIC && n->acc->strength == RACE_WEAK &&
		    is_known(n, r) &&
		    !(oracle_rec_lanes(r) >> (n->actor & 31) & 1 && warp == (n->actor & ~31u)))
			continue;
		l->v[kept++] = *r;
	}
	l->n = kept;
	l->compact_at = kept * 2;
}

/* Joins the new access to the last record, if that is of the same warp and alike. */
static bool merge(const struct oracle_now *n, struct oracle_list *l)
{
	struct oracle_rec *r = l && l->n ? &l->v[l->n - 1] : NULL;
	uint32_t bit = 1u << (n->actor & 31);

	if (!r || r->site != n->site || r->epoch != n->t->own || r->bytes != n->mask ||
	    (r->actor & ~31u) != (n->actor & ~31u))
		return false;
	if (r->offset == ORACLE_OFF_RANGE
		    ? !n->is_range
		    : n->is_range || n->word + (uint64_t)(int64_t)r->offset != n->address)
		return false;
	uint32_t lanes = oracle_rec_lanes(r);
	if (n->chain) {
		/* Positions follow the lanes. */
		if (r->chain != n->chain || (bit - 1) < lanes ||
		    n->pos != r->pos + (uint32_t)__builtin_popcount(lanes))
			return false;
	} else if (r->chain) {
		return false;
	} else {
		r->pos = n->actor & 31; /* the last one */
	}
	r->mask = lanes | bit;
	r->actor &= ~31u;
	return true;
}

/* If there are too many, the oldest half is dropped and counted. */
static void limit(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t half = l ? l->n / 2 : 0;

	if (!l || l->n < n->o->opt.max_records)
		return;
	oracle_spent_unknown(l);
	for (uint32_t i = 0; i < half; i++)
		oracle_rec_drop(n->o, &l->v[i]);
	memmove(l->v, l->v + half, (l->n - half) * sizeof(struct oracle_rec));
	l->n -= half;
	n->o->stats.dropped += half;
}

void oracle_rec_add(const struct oracle_now *n, struct oracle_ext *e)
{
	struct oracle_list **at = &e->list[oracle_class_of(oracle_site_at(n->o, n->site))];

	oracle_list_touch(n->o, *at);
	if (at == &e->list[ORACLE_STRONG])
		oracle_strong_begin(n, e);
	if (!n->is_none_spent && oracle_replace_spent(n, *at))
		return;
	limit(n, *at);
	if (merge(n, *at))
		return;
	if (n->chain)
		n->chain->refs++;
	oracle_rec_set(n, oracle_list_grow(n->o, at));
	if (at == &e->list[ORACLE_READS])
		compact_reads(n, *at);
	else if (at == &e->list[ORACLE_STRONG])
		oracle_strong_compact(n, *at);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Would oracle_ext_shrink make the word plain after such an access? */
static bool can_shrink(const struct oracle_now *n, const struct oracle_ext *e)
{
	return n->mask == ORACLE_PLAIN_BYTES && is_empty(e->list[ORACLE_READS]) &&
	       is_empty(e->list[ORACLE_STRONG]) && oracle_are_hot(n, e->list[ORACLE_WRITES]);
}

/* Does a strong read leave what is known of its list as it is, and see no other access of it? */
static bool is_read_alike(const struct oracle_now *n, const struct oracle_ext *e)
{
	return n->acc->kind == RACE_OP_READ && oracle_is_uniform_strong(n, e) &&
	       oracle_is_in_place(n, e) && (!e->are_sys || n->acc->scope == RACE_SCOPE_SYS);
}

/* A weak access, or a strong read, of a word whose accesses are spent, and that races in no new
 * pair: it is the latest of its line, and that is all. (A word that only such writes access becomes
 * plain instead.) */
static bool is_nothing_new(struct oracle_now *n, const struct oracle_ext *e)
{
	bool is_write = n->acc->kind & RACE_OP_WRITE, is_strong = n->acc->strength != RACE_WEAK;
	struct oracle_list *const *l = e->list;

	if (e->from || e->bytes || oracle_fences_of(n->o, n->clock) ||
	    (n->t->fence && n->o->opt.sc == ORACLE_SC_PROGRAM) || is_empty(l[ORACLE_WRITES]) ||
	    (is_strong ? !is_read_alike(n, e) : can_shrink(n, e)))
		return false;
	if (!oracle_are_spent(n, l[ORACLE_WRITES]) ||
	    (is_write && l[ORACLE_READS] && !oracle_are_spent(n, l[ORACLE_READS])) ||
	    (!is_strong && l[ORACLE_STRONG] && !oracle_are_spent(n, l[ORACLE_STRONG])))
		return false;
	if (oracle_replace_spent(n, l[is_strong	 ? ORACLE_STRONG
				      : is_write ? ORACLE_WRITES
						 : ORACLE_READS]))
		return true;
	n->is_none_spent = !is_write && !is_strong; /* of the list, which stays as it is */
	return false;
}

bool oracle_word_full(struct oracle_now *n, struct oracle_cell *c)
{
	struct oracle_ext *e = oracle_ext_of(n->o, c, n->word);
	bool is_strong = n->acc->strength != RACE_WEAK;

	if (e->bytes && n->o->stats.is_sc_coarse)
		oracle_ext_forget_fences(n->o, e);
	if (is_nothing_new(n, e))
		return true;
	check_list(n, e->list[ORACLE_WRITES], e->list[ORACLE_READS]);
	/* Reads are compared with writes only, and superseded when the list has grown. */
	if (n->acc->kind & RACE_OP_WRITE)
		check_list(n, e->list[ORACLE_READS], NULL);
	if (!is_strong || !oracle_is_uniform_strong(n, e))
		check_list(n, e->list[ORACLE_STRONG], NULL);
	oracle_rec_add(n, e);
	n->is_none_spent = false;
	if (n->o->opt.sc == ORACLE_SC_PROGRAM &&
	    (oracle_has_fences(e) || n->t->clock->root[ORACLE_FENCES] || n->t->fence)) {
		n->has_communicated = true;
		oracle_communicate(n->o, n->t, n->actor, n->acc->kind & RACE_OP_WRITE, e, n->mask);
		n->clock = n->t->clock;
	}
	if ((n->acc->kind & RACE_OP_WRITE) && !is_strong) {
		oracle_ext_from(n->o, e, n->mask, NULL);
		oracle_ext_shrink(n, c);
	}
	return false;
}
