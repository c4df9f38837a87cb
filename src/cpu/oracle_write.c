/*
 * oracle_write.c - strong writes: who reads them, what they hand on, who has seen them.
 *
 * Each byte of a word knows the strong write that it comes from, if it comes from one. A read of
 * exactly its bytes reads it. Writes and the RMWs that read them form a chain; a morally strong
 * read has seen its chain up to a position, and is kept with the chain by its epoch: a
 * later access that knows that epoch comes behind these writes (observation).
 * Costs: about 150 bytes a strong write that may still be read, 12 an observation.
 */
#include "cpu/oracle_impl.h"

void oracle_chain_unref(struct oracle_chain *c)
{
	if (!c || --c->refs)
		return;
	base_vec_free(&c->seen);
	free(c);
}

void oracle_write_unref(struct oracle *o, struct oracle_write *w)
{
	if (!w || --w->refs)
		return;
	w->chain->live--;
	oracle_chain_unref(w->chain);
	oracle_release_free(o, &w->release);
	free(w);
}

static struct oracle_write *write_new(uint32_t actor, const struct oracle_acc *acc,
				      uint64_t address, struct oracle_chain *chain, uint32_t pos)
{
	struct oracle_write *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->refs = 1;
	w->actor = actor;
	w->pos = pos;
	w->scope = acc->scope;
	w->proxy = acc->proxy;
	w->bytes = acc->bytes;
	w->address = address;
	w->id = acc->id;
	w->chain = chain;
	chain->refs++;
	chain->live++;
	return w;
}

struct oracle_write *oracle_reads(struct oracle *o, uint64_t address, uint32_t bytes)
{
	struct oracle_write *w = NULL;
	struct oracle_cell *c = NULL;

	for (uint64_t a = address; a < address + bytes; a++) {
		if (!c || !(a & 3))
			c = oracle_cell_at(o, a, false);
		struct oracle_ext *e = c ? oracle_cell_ext(c) : NULL;
		struct oracle_write *from = e ? e->from[a & 3] : NULL;
		if (!from || (w && from != w))
			return NULL;
		w = from;
	}
	return w && w->address == address && w->bytes == bytes ? w : NULL;
}

struct oracle_write *oracle_named(struct oracle *o, uint64_t id, uint64_t address, uint32_t bytes)
{
	struct oracle_write *w = NULL;

	if (id)
		HASH_FIND(hh, o->named, &id, sizeof(id), w);
	return w && w->address == address && w->bytes == bytes ? w : NULL;
}

void oracle_drop_id(struct oracle *o, uint64_t id)
{
	struct oracle_write *w;

	HASH_FIND(hh, o->named, &id, sizeof(id), w);
	if (!w)
		return;
	HASH_DEL(o->named, w);
	w->id = 0;
	oracle_write_unref(o, w);
}

bool oracle_write_is_strong_with(struct oracle *o, const struct oracle_write *w, uint32_t actor,
				 const struct oracle_acc *acc, uint64_t address)
{
	uint8_t level;

	if (w->proxy != acc->proxy || w->address != address || w->bytes != acc->bytes)
		return false;
	if (w->actor == actor)
		return true;
	if (acc->strength == RACE_WEAK)
		return false;
	level = (uint8_t)oracle_level(o, actor, w->actor);
	return level <= w->scope && level <= acc->scope;
}

#define LOOK_BEHIND 4u

void oracle_chain_see(struct oracle_chain *c, uint32_t pos, uint32_t actor, uint32_t epoch,
		      bool is_write)
{
	struct oracle_seen s = {actor, epoch, pos & (uint32_t)INT32_MAX, is_write};

	for (size_t i = c->seen.n; i-- > 0 && c->seen.n - i <= LOOK_BEHIND;) {
		struct oracle_seen *old = &c->seen.v[i];
		if (old->actor == actor && old->epoch == epoch && old->is_write == is_write) {
			if (old->pos < s.pos)
				old->pos = s.pos;
			return;
		}
	}
	base_vec_push(&c->seen, s);
}

bool oracle_chain_is_seen(const struct oracle_chain *c, uint32_t pos, uint32_t actor, uint64_t read,
			  uint64_t rmw)
{
	for (size_t i = 0; i < c->seen.n; i++) {
		const struct oracle_seen *s = &c->seen.v[i];
		if (s->pos < pos)
			continue;
		if (s->actor == actor ||
		    oracle_tree_get(s->is_write ? rmw : read, s->actor) >= s->epoch)
			return true;
	}
	return false;
}

#define COVER_MAX 16u /* above, the comparison isn't worth it */

bool oracle_chain_covers(const struct oracle_chain *b, uint32_t bpos, const struct oracle_chain *a,
			 uint32_t apos)
{
	if (a->seen.n > COVER_MAX || b->seen.n > COVER_MAX)
		return false;
	for (size_t i = 0; i < a->seen.n; i++) {
		const struct oracle_seen *s = &a->seen.v[i];
		bool is_found = s->pos < apos;
		for (size_t k = 0; k < b->seen.n && !is_found; k++)
			is_found = b->seen.v[k].actor == s->actor &&
				   b->seen.v[k].is_write == s->is_write &&
				   b->seen.v[k].epoch <= s->epoch && b->seen.v[k].pos >= bpos;
		if (!is_found)
			return false;
	}
	return true;
}

/* ---- an access, step by step ----------------------------------------------------------------- */

/* What a read of w gives its thread. */
static void take(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		 const struct oracle_acc *acc, const struct oracle_write *w)
{
	bool is_acquire = race_is_acquire((enum race_strength)acc->strength);

	if (is_acquire)
		oracle_acquire(o, t, actor, &w->release, acc->scope);
	oracle_acquire_later(o, t, actor, &w->release, w->address, w->bytes,
			     is_acquire ? acc->scope : (uint8_t)RACE_SCOPE_NONE);
}

static void install(struct oracle *o, struct oracle_write *w)
{
	struct oracle_cell *c = NULL;

	for (uint64_t a = w->address; a < w->address + w->bytes; a++) {
		if (!c || !(a & 3))
			c = oracle_cell_at(o, a, true);
		struct oracle_write **from = &oracle_ext_of(o, c, a & ~3ull)->from[a & 3];
		oracle_write_unref(o, *from);
		*from = w;
		w->refs++;
	}
	if (w->id) {
		oracle_drop_id(o, w->id);
		HASH_ADD(hh, o->named, id, sizeof(w->id), w);
		w->refs++;
	}
	oracle_write_unref(o, w);
}

/* before: the write whose release patterns go on through this RMW, or NULL; held by the caller. */
static void hand_on(struct oracle *o, struct oracle_write *before, struct oracle_write *w)
{
	if (!before)
		return;
	/* Nothing else will read it: all that refer to it are the bytes that we overwrite. */
	if (before->refs == before->bytes + 1 && !before->id) {
		w->release = before->release;
		memset(&before->release, 0, sizeof(before->release));
		return;
	}
	oracle_release_copy(o, &w->release, &before->release);
}

static bool releases(const struct oracle_acc *acc)
{
	return race_is_release((enum race_strength)acc->strength);
}

/* Keeps a strong write: what it releases, and as the source of its bytes. */
static void keep(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		 const struct oracle_acc *acc, uint64_t address, struct oracle_write *before,
		 struct oracle_chain *chain, uint32_t pos)
{
	struct oracle_write *w = write_new(actor, acc, address, chain, pos);

	hand_on(o, before, w);
	oracle_release_pending(o, t, address, acc->bytes, &w->release);
	if (releases(acc)) {
		struct oracle_pub pub = oracle_publish(t, actor);
		oracle_release_add(o, &w->release, acc->scope, &pub);
		oracle_release_at(o, t, address, acc->bytes, acc->scope, pub);
	}
	install(o, w);
}

static struct oracle_chain *chain_new(struct oracle *o)
{
	struct oracle_chain *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	c->serial = ++o->nchains;
	return c;
}

void oracle_access_strong(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			  uint64_t address)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	bool is_strong = acc->strength != RACE_WEAK;
	bool is_read = (acc->kind & RACE_OP_READ) && !(acc->flags & ORACLE_RED);
	bool is_write = acc->kind & RACE_OP_WRITE;
	struct oracle_write *w = NULL;
	struct oracle_chain *chain = NULL;
	uint32_t pos = 0;

	if (!t)
		return;
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
		chain = w ? w->chain : chain_new(o);
		pos = w ? w->pos + 1 : 0;
		chain->refs++;
	}
	oracle_shadow_access(o, t, actor, acc, address, acc->bytes, chain, pos);
	if (w && is_read)
		oracle_chain_see(w->chain, w->pos, actor, t->own, is_write);
	if (chain)
		keep(o, t, actor, acc, address, w, chain, pos);
	oracle_chain_unref(chain);
	oracle_write_unref(o, w);
}
