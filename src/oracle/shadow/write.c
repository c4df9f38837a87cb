/*
 * write.c - strong writes: which reads read them, and what they pass on.
 *
 * Each byte of a word records the strong write that it comes from, if any. A read of exactly the
 * write's bytes reads it. Writes and the RMWs that read them form a chain (chain.c), which begins
 * with the weak write of its own thread that an RMW reads.
 * Costs: about 150 bytes a strong write that may still be read.
 */
#include "oracle/shadow.h"

static void release_free(struct oracle *o, struct oracle_write *w)
{
	if (!w->release)
		return;
	oracle_release_free(o, w->release);
	oracle_mem_free(o, w->release, sizeof(*w->release));
	w->release = NULL;
}

void oracle_write_unref(struct oracle *o, struct oracle_write *w)
{
	if (!w || --w->refs)
		return;
	w->chain->live--;
	oracle_chain_unref(o, w->chain);
	release_free(o, w);
	oracle_mem_free(o, w, sizeof(*w));
}

struct oracle_write *oracle_write_new(struct oracle *o, uint32_t actor,
				      const struct oracle_acc *acc, uint64_t address,
				      const struct oracle_link *link)
{
	struct oracle_write *w = oracle_mem_new(o, sizeof(*w));

	w->refs = 1;
	w->actor = actor;
	w->pos = link->pos;
	w->scope = acc->scope;
	w->proxy = acc->proxy;
	w->bytes = acc->bytes;
	w->address = address;
	w->id = acc->id;
	w->chain = link->chain;
	w->chain->refs++;
	w->chain->live++;
	return w;
}

/* The write that n of a word's bytes come from, or NULL: several. */
static struct oracle_write *source_of(const struct oracle_ext *e, uint64_t first, uint64_t n)
{
	if (!e->bytes)
		return e->from;
	for (uint64_t b = first + 1; b < first + n; b++)
		if (e->bytes->from[b] != e->bytes->from[first])
			return NULL;
	return e->bytes->from[first];
}

struct oracle_write *oracle_reads(struct oracle *o, uint64_t address, uint32_t bytes)
{
	struct oracle_write *w = NULL;

	for (uint64_t a = address, next; a < address + bytes; a = next) {
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		struct oracle_ext *e = c ? oracle_cell_ext(c) : NULL;
		next = (a | 3) + 1 < address + bytes ? (a | 3) + 1 : address + bytes;
		struct oracle_write *from = e ? source_of(e, a & 3, next - a) : NULL;
		if (!from || (w && from != w))
			return NULL;
		w = from;
	}
	return w && w->address == address && w->bytes == bytes ? w : NULL;
}

struct oracle_write *oracle_named(struct oracle *o, uint64_t id, uint64_t address, uint32_t bytes)
{
	struct oracle_name *x = NULL;

	if (id)
		HASH_FIND(hh, o->named, &id, sizeof(id), x);
	return x && x->write->address == address && x->write->bytes == bytes ? x->write : NULL;
}

static void name_add(struct oracle *o, struct oracle_write *w)
{
	struct oracle_name *x;

	oracle_drop_id(o, w->id);
	x = oracle_mem_new(o, sizeof(*x));
	x->id = w->id;
	x->write = w;
	HASH_ADD(hh, o->named, id, sizeof(x->id), x);
	w->refs++;
}

void oracle_drop_id(struct oracle *o, uint64_t id)
{
	struct oracle_name *x;

	HASH_FIND(hh, o->named, &id, sizeof(id), x);
	if (!x)
		return;
	HASH_DEL(o->named, x);
	x->write->id = 0;
	oracle_write_unref(o, x->write);
	oracle_mem_free(o, x, sizeof(*x));
}

/* The widest scope that two accesses may need, at once where it doesn't matter which it is: both
 * threads are of one grid, and the scopes include all of it. */
static enum race_scope level_for(struct oracle *o, uint32_t a, uint32_t b, uint8_t scope)
{
	const struct oracle_group *g = o->last;

	if (scope >= RACE_SCOPE_GPU && g && g->is_grid && a - g->first < g->n &&
	    b - g->first < g->n)
		return RACE_SCOPE_GPU;
	return oracle_level(o, a, b);
}

bool oracle_write_is_strong_with(struct oracle *o, const struct oracle_write *w, uint32_t actor,
				 const struct oracle_acc *acc, uint64_t address)
{
	struct race_manner a = {RACE_RELAXED, w->scope, w->proxy};
	struct race_manner b = {acc->strength, acc->scope, acc->proxy};
	bool is_same = w->address == address && w->bytes == acc->bytes;

	if (!is_same || a.proxy != b.proxy)
		return false;
	if (w->actor == actor)
		return true;
	enum race_scope between =
		level_for(o, actor, w->actor, w->scope < acc->scope ? w->scope : acc->scope);
	return race_moral_of(a, b, between, is_same) == RACE_MORALLY_STRONG;
}

/* ---- an access, step by step ----------------------------------------------------------------- */

/* What a read of w gives its thread. */
static void take(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		 const struct oracle_acc *acc, const struct oracle_write *w)
{
	bool is_acquire = race_is_acquire((enum race_strength)acc->strength);

	if (!w->release)
		return;
	if (is_acquire)
		oracle_acquire(o, t, actor, w->release, acc->scope);
	oracle_acquire_later(o, t, actor, w->release, w->address, w->bytes,
			     is_acquire ? acc->scope : (uint8_t)RACE_SCOPE_NONE);
}

static void install(struct oracle *o, struct oracle_write *w)
{
	uint64_t end = w->address + w->bytes, next;

	for (uint64_t a = w->address; a < end; a = next) {
		next = (a | 3) + 1 < end ? (a | 3) + 1 : end;
		struct oracle_cell *c = oracle_cell_at(o, a, true);
		oracle_ext_from(o, oracle_ext_of(o, c, a & ~3ull),
				((1u << (next - a)) - 1) << (a & 3), w);
	}
	if (w->id)
		name_add(o, w);
	oracle_write_unref(o, w);
}

static struct oracle_release *release_of(struct oracle *o, struct oracle_write *w)
{
	if (!w->release)
		w->release = oracle_mem_new(o, sizeof(*w->release));
	return w->release;
}

/* Will nothing else read it: are the bytes that its reader overwrites all that refers to it? */
static bool is_over(const struct oracle_write *before)
{
	return before->refs == before->bytes + 1 && !before->id;
}

static bool releases(const struct oracle_acc *acc)
{
	return race_is_release((enum race_strength)acc->strength);
}

/* Keeps a strong write: what it releases, and as the source of its bytes. before: the write that an
 * RMW read, or NULL; held by the caller. */
static void keep(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		 const struct oracle_acc *acc, uint64_t address, struct oracle_write *before,
		 const struct oracle_link *link)
{
	bool is_in_place = before && is_over(before) && !acc->id;
	struct oracle_write *w = before;

	/* The chain that an RMW reads continues with it. */
	if (is_in_place) {
		w->actor = actor;
		w->pos = link->pos;
		w->scope = acc->scope;
	} else {
		w = oracle_write_new(o, actor, acc, address, link);
		if (before && before->release)
			oracle_release_copy(o, release_of(o, w), before->release);
	}
	if (t->pends)
		oracle_release_pending(o, t, address, acc->bytes, release_of(o, w));
	if (releases(acc)) {
		struct oracle_pub pub = oracle_publish(o, t, actor);
		oracle_release_add(o, release_of(o, w), acc->scope, &pub);
		oracle_release_at(o, t, address, acc->bytes, acc->scope, pub);
	}
	if (!is_in_place)
		install(o, w);
}

/* Logs, strips and tiles of these bytes become records. */
static void expand_logs(struct oracle *o, uint64_t address, uint32_t bytes)
{
	for (uint64_t a = address & ~3ull; a < address + bytes; a += 4) {
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		if (c && (oracle_cell_log(c) || oracle_cell_strip(c) || oracle_cell_tile(c)))
			oracle_ext_of(o, c, a);
	}
}

/* Bytes of a word. */
struct piece {
	struct oracle_ext *e;
	uint64_t word;
	uint32_t mask; /* its bytes */
};

/*
 * The weak write that an RMW of the same thread reads begins the RMW's chain (R2), at its position:
 * a thread that has observed the one has observed the other. False: the word's last write isn't
 * such a one.
 */
static bool begin_chain(struct oracle *o, const struct piece *p, uint32_t actor,
			const struct oracle_acc *acc, uint64_t address,
			const struct oracle_link *link)
{
	struct oracle_list *l = p->e->list[ORACLE_WRITES];
	struct oracle_rec *r = NULL;

	for (uint32_t i = l && !l->has_spent ? l->n : 0; i-- > 0 && !r;)
		if (l->v[i].bytes & p->mask)
			r = &l->v[i];
	uint32_t last = r && r->mask ? r->actor + r->pos : r ? r->actor : ORACLE_NO_ACTOR;
	if (!r || last != actor || r->bytes != p->mask || r->chain ||
	    p->word + (uint64_t)(int64_t)r->offset != address || r->offset == ORACLE_OFF_RANGE ||
	    oracle_site_at(o, r->site)->a.bytes != acc->bytes ||
	    oracle_site_at(o, r->site)->a.proxy != acc->proxy)
		return false;
	for (uint32_t b = 0; b < 4; b++)
		if (p->mask >> b & 1 && oracle_ext_source(p->e, b))
			return false;
	struct oracle_rec own = *r;
	own.actor = actor;
	own.mask = 0;
	own.chain = link->chain;
	own.pos = link->pos;
	link->chain->refs++;
	if (r->mask) {
		r->mask &= ~(1u << (actor & 31));
		oracle_list_touch(o, l);
		oracle_list_push(o, &p->e->list[ORACLE_WRITES], &own);
	} else {
		*r = own;
	}
	return true;
}

static void observe_own(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			uint64_t address, const struct oracle_link *link)
{
	uint64_t end = address + acc->bytes, next;

	/* (Of a write of several words the first that isn't so ends it: what isn't marked is
	 * reported, as a race that it has all the same.) */
	for (uint64_t a = address; a < end; a = next) {
		next = (a | 3) + 1 < end ? (a | 3) + 1 : end;
		struct oracle_cell *c = oracle_cell_at(o, a, false);
		struct piece p = {c ? oracle_cell_ext(c) : NULL, a & ~3ull,
				  ((1u << (next - a)) - 1) << (a & 3)};
		if (!p.e || !begin_chain(o, &p, actor, acc, address, link))
			return;
	}
}

static void access_full(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			uint64_t address)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	bool is_strong = acc->strength != RACE_WEAK;
	bool is_read = (acc->kind & RACE_OP_READ) && !(acc->flags & ORACLE_RED);
	bool is_write = acc->kind & RACE_OP_WRITE;
	struct oracle_write *w = NULL;
	struct oracle_link link = {NULL, 0};

	if (!t || oracle_log_access(o, t, actor, acc, address))
		return;
	expand_logs(o, address, acc->bytes);
	if (is_strong && (acc->kind & RACE_OP_READ))
		w = acc->flags & ORACLE_SAW ? oracle_named(o, acc->saw, address, acc->bytes)
					    : oracle_reads(o, address, acc->bytes);
	if (w && !oracle_write_is_strong_with(o, w, actor, acc, address))
		w = NULL;
	if (w)
		w->refs++;
	if (acc->flags & ORACLE_SAW_LAST)
		oracle_drop_id(o, acc->saw);
	if (w && is_read)
		take(o, t, actor, acc, w);
	if (is_strong && is_read && race_is_acquire((enum race_strength)acc->strength))
		oracle_acquire_at(o, t, address, acc->bytes, acc->scope);
	if (is_strong && is_write) {
		link.chain = w ? w->chain : oracle_chain_new(o);
		link.pos = w ? w->pos + 1 : 0;
		link.chain->refs++;
	}
	oracle_shadow_access(o, t, actor, acc, address, acc->bytes, &link);
	if (link.chain && !w && acc->kind == RACE_OP_RMW && !(acc->flags & ORACLE_SAW))
		observe_own(o, actor, acc, address, &link);
	if (w && is_read)
		oracle_chain_see(o, w, actor, t->own, is_write);
	if (link.chain)
		keep(o, t, actor, acc, address, w, &link);
	oracle_chain_unref(o, link.chain);
	oracle_write_unref(o, w);
}

/* ---- the usual case -------------------------------------------------------------------------- */

/* May a thread's access pass on nothing more than what it observes? (No release, no acquire, no
 * fence before it, no name.) */
static bool is_simple_acc(const struct oracle_acc *acc)
{
	return acc->strength == RACE_RELAXED && acc->bytes == 4 &&
	       acc->proxy == RACE_PROXY_GENERIC && !acc->id &&
	       !(acc->flags & ~(ORACLE_RED | ORACLE_SHARED | ORACLE_VOLATILE));
}

/* The write becomes the source of its word. w: the write that it read or that no thread can read
 * any more, if nothing else refers to that; else NULL. */
static void replace(struct oracle *o, struct oracle_now *n, struct oracle_ext *e,
		    struct oracle_write *w)
{
	struct oracle_link link = {n->chain, n->pos};

	if (!w) {
		w = oracle_write_new(o, n->actor, n->acc, n->address, &link);
		oracle_ext_from(o, e, 0xf, w);
		oracle_write_unref(o, w);
		return;
	}
	if (w->chain != n->chain) {
		w->chain->live--;
		oracle_chain_unref(o, w->chain);
		w->chain = n->chain;
		n->chain->refs++;
		n->chain->live++;
		release_free(o, w);
	}
	w->actor = n->actor;
	w->pos = n->pos;
	w->scope = n->acc->scope;
	w->proxy = n->acc->proxy;
	w->bytes = n->acc->bytes;
	w->address = n->address;
}

/* oracle_access_strong without what is seldom needed; false: it is needed, nothing is done. c: the
 * word's, NULL: it has none. */
static bool access_simple(struct oracle_now *n, struct oracle_cell *c)
{
	struct oracle *o = n->o;
	const struct oracle_acc *acc = n->acc;
	struct oracle_ext *e = c ? oracle_cell_ext(c) : NULL;
	struct oracle_write *old = e ? e->from : NULL, *w = old;
	bool is_write = acc->kind & RACE_OP_WRITE, is_alone;

	if (!e || e->bytes || !oracle_is_simple_thread(o, n->t))
		return false;
	if (!(acc->kind & RACE_OP_READ) ||
	    (w && !oracle_write_is_strong_with(o, w, n->actor, acc, n->address)))
		w = NULL;
	if (w && w->release)
		return false;
	/* By each of the word's bytes. */
	is_alone = old && old->refs == 4 && !old->id && old->bytes == 4;
	n->word = n->address;
	n->mask = 0xf;
	if (w)
		w->refs++;
	if (is_write) {
		n->chain = w ? w->chain : oracle_chain_new(o);
		n->pos = w ? w->pos + 1 : 0;
		n->chain->refs++;
	}
	n->is_nothing_new = oracle_word_full(n, c);
	if (!old && acc->kind == RACE_OP_RMW)
		begin_chain(o, &(struct piece){e, n->word, n->mask}, n->actor, acc, n->address,
			    &(struct oracle_link){n->chain, n->pos});
	if (w && !(acc->flags & ORACLE_RED))
		oracle_chain_see(o, w, n->actor, n->t->own, is_write);
	oracle_write_unref(o, w);
	if (is_write) {
		replace(o, n, e, is_alone ? old : NULL);
		oracle_chain_unref(o, n->chain);
	}
	n->chain = NULL;
	n->pos = 0;
	return true;
}

void oracle_strong_again(struct oracle_now *n, struct oracle_ext *e)
{
	struct oracle_write *w = oracle_ext_source(e, 0);

	if (n->acc->kind == RACE_OP_READ) {
		oracle_rec_add(n, e);
		if (w)
			oracle_chain_see(n->o, w, n->actor, n->t->own, false);
		return;
	}
	n->chain = oracle_chain_new(n->o);
	n->chain->refs++;
	oracle_rec_add(n, e);
	replace(n->o, n, e, e->bytes ? NULL : w);
	oracle_chain_unref(n->o, n->chain);
	n->chain = NULL;
}

static struct oracle_cell *cell_of(struct oracle *o, uint64_t address)
{
	return address & 3 ? NULL : oracle_cell_at(o, address, false);
}

/* n->place and n->site are those of all lanes of the warp. false: cells may have moved. */
static bool access_lane(struct oracle_now *n, uint32_t actor, uint64_t address,
			struct oracle_cell *c)
{
	n->clock = n->t->clock;
	n->actor = actor;
	n->address = address;
	n->is_nothing_new = false;
	if (access_simple(n, c))
		return true;
	access_full(n->o, actor, n->acc, address);
	return false;
}

void oracle_access_strong(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			  uint64_t address)
{
	struct oracle_now n;

	if (!is_simple_acc(acc) || oracle_misc_of(o, actor)) {
		access_full(o, actor, acc, address);
		return;
	}
	oracle_now_begin(&n, o, acc);
	n.place = oracle_place_key(o, actor, acc->scope);
	if ((n.t = oracle_thread_of(o, actor)))
		access_lane(&n, actor, address, cell_of(o, address));
}

/* Finds the cells of the lanes' words, and begins to fetch what is needed of them, so that one
 * isn't waited for after the other. */
static void fetch(struct oracle *o, uint32_t mask, const uint64_t *addresses,
		  struct oracle_cell **c)
{
	const struct oracle_ext *e[ORACLE_LANES];
	struct oracle_cell *found = NULL;
	uint64_t last = UINT64_MAX;
	uint32_t n = 0;

	ORACLE_EACH (l, mask) {
		if (addresses[l] == last) {
			c[l] = found;
			continue;
		}
		last = addresses[l];
		c[l] = found = cell_of(o, last);
		e[n] = found ? oracle_cell_ext(found) : NULL;
		if (found && oracle_cell_log(found))
			__builtin_prefetch(oracle_cell_log(found));
		if (e[n])
			__builtin_prefetch(e[n++]);
	}
	for (uint32_t i = 0; n > 1 && i < n; i++) {
		__builtin_prefetch(e[i]->list[ORACLE_STRONG]);
		__builtin_prefetch(e[i]->from);
	}
	for (uint32_t i = 0; n > 1 && i < n; i++) {
		const struct oracle_list *s = e[i]->list[ORACLE_STRONG];
		if (s) {
			__builtin_prefetch(&s->v[s->n]);
			__builtin_prefetch(&s->v[s->n - (s->n > 0)]);
			__builtin_prefetch(&s->v[s->n - (s->n > 3 ? 3 : 0)]);
		}
		if (e[i]->from)
			__builtin_prefetch(e[i]->from->chain);
	}
}

void oracle_fetch_strong(struct oracle *o, uint32_t mask, const uint64_t *addresses, uint32_t bytes)
{
	struct oracle_cell *c[ORACLE_LANES];
	uint64_t words[ORACLE_LANES];

	for (uint32_t from = 0; from < bytes && from < 8; from += 4) {
		ORACLE_EACH (l, mask)
			words[l] = (addresses[l] & ~3ull) + from;
		fetch(o, mask, words, c);
	}
}

void oracle_strong_warp(struct oracle *o, struct oracle_thread *t, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses)
{
	struct oracle_cell *c[ORACLE_LANES];
	bool are_found = true;
	struct oracle_now n;

	if (!is_simple_acc(acc)) {
		if (mask & (mask - 1))
			oracle_fetch_strong(o, mask, addresses, acc->bytes);
		ORACLE_EACH (i, mask)
			access_full(o, warp + i, acc, addresses[i]);
		return;
	}
	oracle_now_begin(&n, o, acc);
	n.place = oracle_place_key(o, warp, acc->scope);
	if (oracle_strip_access(&n, t, warp, mask, addresses))
		return;
	fetch(o, mask, addresses, c);
	while (mask) {
		uint32_t l = (uint32_t)__builtin_ctz(mask), same;
		if (are_found && c[l] && !oracle_cell_ext(c[l]) &&
		    (same = oracle_log_lanes(&n, t, warp, mask, addresses, c))) {
			mask &= ~same;
			continue;
		}
		mask &= mask - 1;
		n.t = t + l;
		are_found &= access_lane(&n, warp + l, addresses[l],
					 are_found ? c[l] : cell_of(o, addresses[l]));
		if (!n.is_nothing_new)
			continue;
		same = oracle_alike_from(t, mask, l, addresses);
		mask = (mask & ~same) | oracle_last_lane(&n, warp, same);
	}
}
