/*
 * naive.c - the PTX memory model over a short list of events, by transitive closure (naive.h).
 *
 * Reads like PTX ISA 9.0 chapter 8: one function for each relation, its section named above it,
 * each a loop over all pairs. Where the manual leaves room, the rule R1 to R9 of oracle/oracle.h
 * that fills it is named. Nothing here is shared with the oracle, src/race/rules.c included.
 *
 * Costs: matrices of bits, closure by Warshall; about 50 us for 40 events. Misses: SAW reads in the
 * communication order of fence.sc take the write that they name, which an on-line reading can't
 * always.
 */
#include "naive.h"

#include <string.h>

#define WORDS (NAIVE_OPS / 64)

/* A relation over operations: row x holds the y with (x, y). */
struct relation {
	uint64_t row[NAIVE_OPS][WORDS];
};

/* What one actor does in one event. */
struct operation {
	const struct list_event *e;
	uint16_t event;
	uint8_t type; /* enum event_type; a WARP_SYNC is an ARRIVE and a LEAVE */
	bool is_warp; /* ARRIVE, LEAVE: of a warp sync */
	uint32_t actor;
	struct race_place place;
	uint64_t address;
};

struct party {
	uint32_t first, count; /* actors */
	struct oracle_grid grid;
	struct race_place place; /* grid.grid == 0 */
	bool is_pseudo;
	uint64_t key; /* the operation of the host that started it */
	bool is_started;
};

static struct operation ops[NAIVE_OPS];
static uint32_t nops;
static struct party parties[NAIVE_EVENTS];
static uint32_t nparties;

static struct relation po, observes, sync_edges, init_edges, completes, handed, fence_sc,
	communicates;
static struct relation base, preserved, causes;

static bool get(const struct relation *r, uint32_t x, uint32_t y)
{
	return r->row[x][y / 64] >> (y % 64) & 1;
}

static void set(struct relation *r, uint32_t x, uint32_t y)
{
	r->row[x][y / 64] |= 1ull << (y % 64);
}

static void clear(struct relation *r)
{
	memset(r->row, 0, sizeof(r->row[0]) * nops);
}

static void join(struct relation *to, const struct relation *from)
{
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t w = 0; w < WORDS; w++)
			to->row[x][w] |= from->row[x][w];
}

/* Warshall. */
static void close(struct relation *r)
{
	for (uint32_t z = 0; z < nops; z++)
		for (uint32_t x = 0; x < nops; x++)
			if (get(r, x, z))
				for (uint32_t w = 0; w < WORDS; w++)
					r->row[x][w] |= r->row[z][w];
}

/* ---- operations --------------------------------------------------------------- */

static const struct party *party_of(uint32_t actor)
{
	for (uint32_t i = 0; i < nparties; i++)
		if (actor - parties[i].first < parties[i].count)
			return &parties[i];
	return NULL;
}

static struct race_place place_of(const struct party *p, uint32_t actor)
{
	uint32_t stride = (p->grid.block_threads + 31) / 32 * 32;
	struct race_place place = p->place;
	uint32_t n = actor - p->first;

	if (!p->grid.grid)
		return place;
	place.device = p->grid.device;
	place.grid = p->grid.grid;
	place.cta = n / stride;
	place.cluster = p->grid.cluster_of ? p->grid.cluster_of[place.cta]
					   : place.cta / p->grid.cluster_blocks;
	place.warp = n % stride / 32;
	place.lane = n % 32;
	return place;
}

static bool add(const struct list_event *e, size_t event, uint8_t type, uint32_t actor,
		uint64_t address)
{
	const struct party *p = party_of(actor);
	struct operation *o = &ops[nops];

	if (nops == NAIVE_OPS)
		return false;
	memset(o, 0, sizeof(*o));
	o->e = e;
	o->event = (uint16_t)event;
	o->type = type;
	o->actor = actor;
	o->address = address;
	if (actor == ORACLE_NO_ACTOR) {
		nops++;
		return true;
	}
	if (!p)
		return false;
	o->place = place_of(p, actor);
	nops++;
	return true;
}

/* One operation per lane. */
static bool add_lanes(const struct list_event *e, size_t event, uint8_t type, bool is_warp)
{
	if (!e->mask)
		return add(e, event, type, e->actor, e->address);
	for (uint32_t l = 0; l < ORACLE_LANES; l++) {
		if (!(e->mask >> l & 1))
			continue;
		if (!add(e, event, type, e->actor + l, e->addresses ? e->addresses[l] : 0))
			return false;
		ops[nops - 1].is_warp = is_warp;
	}
	return true;
}

static void add_party(const struct list_event *e)
{
	struct party *p = &parties[nparties++];
	const struct party *issuer;

	memset(p, 0, sizeof(*p));
	p->count = 1;
	p->place.device = RACE_HOST;
	p->first = e->type == EVENT_HOST ? e->actor : e->other;
	if (e->type == EVENT_GRID) {
		p->grid = *e->grid;
		p->count = e->grid->blocks * ((e->grid->block_threads + 31) / 32 * 32);
	} else if (e->type == EVENT_FORK) {
		issuer = party_of(e->actor);
		p->is_pseudo = true;
		if (issuer) {
			p->place = place_of(issuer, e->actor);
			p->key = issuer->key;
			p->is_started = issuer->is_started;
		}
	} else if (e->type == EVENT_START) {
		p->key = e->key;
		p->is_started = true;
	}
}

static bool add_event(const struct list_event *e, size_t i)
{
	switch (e->type) {
	case EVENT_GRID:
	case EVENT_HOST:
		add_party(e);
		return true;
	case EVENT_FORK:
		add_party(e);
		return add(e, i, e->type, e->actor, 0);
	case EVENT_START:
		if (e->other)
			add_party(e);
		for (uint32_t p = 0; p < nparties && !e->other; p++) {
			if (parties[p].first != e->actor)
				continue;
			parties[p].key = e->key;
			parties[p].is_started = true;
		}
		return add(e, i, e->type, ORACLE_NO_ACTOR, 0);
	case EVENT_END:
	case EVENT_FORGET:
		return add(e, i, e->type, ORACLE_NO_ACTOR, e->address);
	case EVENT_DEPEND:
	case EVENT_BLOCK_END:
		return true;
	case EVENT_WARP_SYNC:
		return add_lanes(e, i, EVENT_ARRIVE, true) && add_lanes(e, i, EVENT_LEAVE, true);
	default:
		return add_lanes(e, i, e->type, false);
	}
}

/* 8.4, table of operation types. A failed compare-and-swap comes as a READ. */
static bool is_access(uint32_t x)
{
	return ops[x].type == EVENT_ACCESS && !(ops[x].e->flags & ORACLE_INSERTED);
}

static bool is_read(uint32_t x)
{
	return is_access(x) && (ops[x].e->kind & RACE_OP_READ) && !(ops[x].e->flags & ORACLE_RED);
}

static bool is_write(uint32_t x)
{
	return is_access(x) && (ops[x].e->kind & RACE_OP_WRITE);
}

static bool is_fence(uint32_t x)
{
	return ops[x].type == EVENT_FENCE;
}

static bool is_strong(uint32_t x)
{
	bool is_mbarrier = ops[x].type == EVENT_MB_ARRIVE || ops[x].type == EVENT_MB_WAIT;

	return is_mbarrier || ((is_access(x) || is_fence(x)) && ops[x].e->strength != RACE_WEAK);
}

/* fence.mbarrier_init (9.7.13.4): of its synchronisation only mbarrier.init partakes. */
static bool is_init_fence(uint32_t x)
{
	return is_fence(x) && (ops[x].e->flags & ORACLE_MBARRIER);
}

static bool is_init(uint32_t x)
{
	return is_write(x) && ops[x].e->strength == RACE_WEAK &&
	       (ops[x].e->flags & ORACLE_MBARRIER);
}

static bool is_release(uint32_t x)
{
	uint8_t s = ops[x].e->strength;

	return s == RACE_RELEASE || s == RACE_ACQ_REL || (s == RACE_SC && is_fence(x));
}

static bool is_acquire(uint32_t x)
{
	uint8_t s = ops[x].e->strength;

	return s == RACE_ACQUIRE || s == RACE_ACQ_REL || (s == RACE_SC && is_fence(x));
}

static bool has_byte(uint32_t x, uint64_t byte)
{
	return byte - ops[x].address < ops[x].e->bytes;
}

/* Memory that was freed and allocated again has no past: do x and y mean the same byte? */
static bool is_same_memory(uint32_t x, uint32_t y, uint64_t byte)
{
	for (uint32_t z = x; z < y; z++) {
		uint8_t t = ops[z].type;

		if ((t == EVENT_FORGET || t == EVENT_HEAP_FREE || t == EVENT_HEAP_ALLOC) &&
		    has_byte(z, byte))
			return false;
	}
	return true;
}

/* 8.2.1 Overlap. x acted earlier. */
static bool overlaps(uint32_t x, uint32_t y)
{
	for (uint64_t i = 0; i < ops[x].e->bytes; i++)
		if (has_byte(y, ops[x].address + i) && is_same_memory(x, y, ops[x].address + i))
			return true;
	return false;
}

static bool overlaps_completely(uint32_t x, uint32_t y)
{
	return ops[x].address == ops[y].address && ops[x].e->bytes == ops[y].e->bytes;
}

/* 8.5 Scope: is y's thread among those that x's scope names? */
static bool scope_includes(uint32_t x, uint32_t y)
{
	const struct race_place *a = &ops[x].place, *b = &ops[y].place;
	bool is_same_grid = a->grid && a->grid == b->grid && a->device == b->device;

	switch (ops[x].e->scope) {
	case RACE_SCOPE_CTA:
		return is_same_grid && a->cta == b->cta;
	case RACE_SCOPE_CLUSTER:
		return is_same_grid && a->cluster == b->cluster;
	case RACE_SCOPE_GPU:
		return a->device == b->device;
	case RACE_SCOPE_SYS:
		return true;
	default:
		return false;
	}
}

static bool scopes_match(uint32_t x, uint32_t y)
{
	return is_strong(x) && is_strong(y) && scope_includes(x, y) && scope_includes(y, x);
}

/* 8.7 Morally strong operations. */
static bool is_morally_strong(uint32_t x, uint32_t y)
{
	if (ops[x].actor != ops[y].actor && !scopes_match(x, y))
		return false;
	if (ops[x].e->proxy != ops[y].e->proxy)
		return false;
	return !is_access(x) || !is_access(y) || overlaps_completely(x, y);
}

/* ---- relations, in the order of the manual ------------------------------------ */

/* 8.9.1 Program order: list order within an actor. */
static void make_program_order(void)
{
	clear(&po);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = x + 1; y < nops; y++)
			if (ops[x].actor == ops[y].actor && ops[x].actor != ORACLE_NO_ACTOR)
				set(&po, x, y);
}

/* R1: the write that gave r this byte; -1: what was there before. */
static int source(uint32_t r, uint64_t byte)
{
	int w = -1;

	for (uint32_t x = 0; x < r; x++) {
		if (ops[x].type == EVENT_FORGET && has_byte(x, byte))
			w = -1;
		if (!is_write(x) || !has_byte(x, byte))
			continue;
		if (!(ops[r].e->flags & ORACLE_SAW))
			w = (int)x;
		else if (ops[r].e->saw && ops[x].e->id == ops[r].e->saw)
			w = (int)x;
	}
	return w;
}

/* R1: "reads the value written by w": exactly its bytes, all of them from it. */
static bool reads_from(uint32_t r, uint32_t w)
{
	if (!is_access(r) || !(ops[r].e->kind & RACE_OP_READ) || !overlaps_completely(r, w))
		return false;
	for (uint64_t i = 0; i < ops[r].e->bytes; i++)
		if (source(r, ops[r].address + i) != (int)w)
			return false;
	return true;
}

/*
 * 8.9.2 Observation order. What is read and written on the way is an atomic operation: nothing else
 * is at once the target and the source of a pair. A red passes values on, but isn't a read (8.4):
 * who asks for the end of a chain asks is_read, too. Of one thread's operations the weak ones are
 * morally strong with the others (8.7): an own weak write is read by an atomic operation and begins
 * a chain. An own weak read at its end is left out (R2): it races with the other end or is ordered
 * with it by base causality, and then so is what follows.
 */
static bool is_own_rmw(uint32_t w, uint32_t r)
{
	return !is_strong(w) && is_strong(r) && ops[r].e->kind == RACE_OP_RMW &&
	       ops[w].actor == ops[r].actor && !(ops[r].e->flags & ORACLE_SAW) &&
	       !(ops[w].e->flags & ORACLE_MBARRIER);
}

static void make_observation_order(void)
{
	clear(&observes);
	for (uint32_t w = 0; w < nops; w++)
		for (uint32_t r = w + 1; is_write(w) && r < nops; r++)
			if (((is_strong(w) && is_strong(r)) || is_own_rmw(w, r)) &&
			    reads_from(r, w) && is_morally_strong(w, r))
				set(&observes, w, r);
	close(&observes);
}

/* 8.8: `first` begins and w is a write of a release pattern. */
static bool is_release_pattern(uint32_t first, uint32_t w)
{
	if (!is_write(w) || !is_strong(w))
		return false;
	if (first == w)
		return is_release(w);
	if (!get(&po, first, w) || !is_release(first))
		return false;
	if (is_fence(first))
		return true;
	return is_write(first) && overlaps_completely(first, w);
}

/* 8.8: r is a read of and `last` ends an acquire pattern. */
static bool is_acquire_pattern(uint32_t r, uint32_t last)
{
	if (!is_read(r) || !is_strong(r))
		return false;
	if (r == last)
		return is_acquire(r);
	if (!get(&po, r, last) || !is_acquire(last))
		return false;
	if (is_fence(last))
		return true;
	return is_read(last) && overlaps_completely(r, last);
}

/* x synchronises with y. */
static void add_sync_edge(uint32_t x, uint32_t y)
{
	set(is_init_fence(x) ? &init_edges : &sync_edges, x, y);
}

/* 8.9.4: release pattern (x, w) synchronises with acquire pattern (r, y) where w precedes r in
 * observation order, and x and y are morally strong. All quadruples. */
static void add_pattern_edges(void)
{
	for (uint32_t w = 0; w < nops; w++)
		for (uint32_t r = 0; r < nops; r++) {
			if (!get(&observes, w, r))
				continue;
			for (uint32_t x = 0; x <= w; x++)
				for (uint32_t y = r; y < nops; y++)
					if (is_release_pattern(x, w) && is_acquire_pattern(r, y) &&
					    is_morally_strong(x, y))
						add_sync_edge(x, y);
		}
}

/* 8.8 on an mbarrier: `first` begins and w is an arrival of a release pattern. */
static bool is_arrival_pattern(uint32_t first, uint32_t w)
{
	if (first == w)
		return is_release(w);
	return get(&po, first, w) && is_release(first) && !party_of(ops[w].actor)->is_pseudo &&
	       (is_fence(first) ||
		(ops[first].type == EVENT_MB_ARRIVE && ops[first].e->address == ops[w].e->address));
}

/* ... r is a wait of and `last` ends an acquire pattern. */
static bool is_wait_pattern(uint32_t r, uint32_t last)
{
	if (r == last)
		return is_acquire(r);
	return get(&po, r, last) && is_acquire(last) &&
	       (is_fence(last) ||
		(ops[last].type == EVENT_MB_WAIT && ops[last].e->address == ops[r].e->address));
}

/* 9.7.13.15: arrival w and wait r of one phase. Waiting for what a pseudo-thread completed counts
 * as a proxy fence for that (R7). */
static void add_mbarrier_edges(uint32_t w, uint32_t r)
{
	for (uint32_t x = 0; x <= w; x++)
		for (uint32_t y = r; y < nops; y++) {
			if (!is_arrival_pattern(x, w) || !is_wait_pattern(r, y) ||
			    !scopes_match(x, y))
				continue;
			add_sync_edge(x, y);
			if (party_of(ops[x].actor)->is_pseudo)
				set(&completes, x, y);
			else
				set(&handed, x, y);
		}
}

/* R5: a relaxed arrival after a fence. */
static void add_fenced_edges(uint32_t arrival, uint32_t leaving)
{
	for (uint32_t f = 0; f < arrival; f++)
		if (is_fence(f) && is_release(f) && get(&po, f, arrival) &&
		    scope_includes(f, leaving))
			add_sync_edge(f, leaving);
}

/* 8.9.4: barriers (R5); mbarrier. */
static void add_barrier_edges(void)
{
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = 0; y < nops; y++) {
			const struct list_event *a = ops[x].e, *b = ops[y].e;
			bool is_mb = ops[x].type == EVENT_MB_ARRIVE &&
				     ops[y].type == EVENT_MB_WAIT && x < y;

			if (ops[x].type == EVENT_ARRIVE && ops[y].type == EVENT_LEAVE) {
				if (ops[x].is_warp != ops[y].is_warp)
					continue;
				bool is_one = ops[x].is_warp
						      ? a == b
						      : a->key == b->key && a->key2 == b->key2;
				if (is_one && !ops[x].is_warp && !(a->flags & ORACLE_BAR_RELEASE))
					add_fenced_edges(x, y);
				else if (is_one)
					set(&sync_edges, x, y);
			} else if (is_mb && a->address == b->address && a->key2 == b->key2 &&
				   is_same_memory(x, y, a->address) && scopes_match(x, y)) {
				add_mbarrier_edges(x, y);
			}
		}
}

/* 8.9.1.1 Asynchronous operations: what the copy did happens before what follows a wait for it. */
static void add_copy_edges(void)
{
	for (uint32_t y = 0; y < nops; y++)
		for (uint32_t x = 0; ops[y].type == EVENT_JOIN && x < y; x++) {
			if (ops[x].actor != ops[y].e->other || !is_access(x))
				continue;
			if (ops[y].e->join == ORACLE_JOIN_READ && is_write(x))
				continue;
			set(&sync_edges, x, y);
			set(&completes, x, y);
		}
}

static bool depends_on(const struct list_event *list, size_t n, uint64_t key, uint64_t before)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].type == EVENT_DEPEND && list[i].key == key && list[i].key2 == before)
			return true;
	return false;
}

static bool is_thread_of(uint32_t actor, uint64_t key)
{
	const struct party *p = actor == ORACLE_NO_ACTOR ? NULL : party_of(actor);

	return p && p->is_started && p->key == key;
}

/* 8.9.4 API synchronization; device malloc and free. A grid has ended when its copies have, too. */
static void add_api_edges(const struct list_event *list, size_t n)
{
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = x + 1; y < nops; y++) {
			const struct list_event *a = ops[x].e, *b = ops[y].e;
			uint8_t s = ops[x].type, t = ops[y].type;
			bool is_edge =
				(s == EVENT_SUBMIT && t == EVENT_START && a->key == b->key) ||
				(s == EVENT_END && t == EVENT_START &&
				 depends_on(list, n, b->key, a->key)) ||
				(s == EVENT_END && t == EVENT_HOST_WAIT && a->key == b->key) ||
				(s == EVENT_START && t == EVENT_END && a->key == b->key) ||
				(s == EVENT_START && is_thread_of(ops[y].actor, a->key)) ||
				(t == EVENT_END && is_thread_of(ops[x].actor, b->key));

			if (s == EVENT_HEAP_FREE && t == EVENT_HEAP_ALLOC &&
			    a->address < b->address + b->bytes &&
			    b->address < a->address + a->bytes)
				is_edge = true;
			if (is_edge)
				set(&sync_edges, x, y);
		}
}

/* 8.9.5 Base causality order. A copy comes after all that its issuer did, but is not on the way to
 * anything for it, nor are its own operations for each other, except for its arrival at an mbarrier
 * (8.9.1.1: completion doesn't order the issuer's earlier instructions; reads may be waited for
 * alone). */
static void make_base_causality(void)
{
	clear(&base);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = x + 1; y < nops; y++)
			if (get(&po, x, y) &&
			    (!party_of(ops[x].actor)->is_pseudo || ops[y].type == EVENT_MB_ARRIVE))
				set(&base, x, y);
	join(&base, &sync_edges);
	join(&base, &fence_sc);
	close(&base);
	for (uint32_t f = 0; f < nops; f++)
		for (uint32_t y = f + 1; ops[f].type == EVENT_FORK && y < nops; y++) {
			if (ops[y].actor != ops[f].e->other)
				continue;
			set(&base, f, y);
			for (uint32_t x = 0; x < nops; x++)
				if (get(&base, x, f))
					set(&base, x, y);
		}
}

/* 8.9.7 Communication order, closed, byte by byte: reads-from, coherence (a byte's writes in event
 * order), from-reads. */
static void add_communication(uint64_t byte)
{
	static struct relation one;

	clear(&one);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = 0; y < nops; y++) {
			int s;

			if (!is_access(x) || !is_access(y) || !has_byte(x, byte) ||
			    !has_byte(y, byte) || x == y ||
			    !is_same_memory(x < y ? x : y, x < y ? y : x, byte))
				continue;
			if (is_write(x) && is_write(y) && x < y)
				set(&one, x, y);
			if ((ops[y].e->kind & RACE_OP_READ) && source(y, byte) == (int)x)
				set(&one, x, y);
			if (!(ops[x].e->kind & RACE_OP_READ) || !is_write(y))
				continue;
			s = source(x, byte);
			if (s < (int)y && s != (int)y)
				set(&one, x, y);
		}
	close(&one);
	join(&communicates, &one);
}

static void make_communication_order(void)
{
	uint64_t done[NAIVE_OPS * 16];
	uint32_t ndone = 0;

	clear(&communicates);
	for (uint32_t x = 0; x < nops; x++)
		for (uint64_t i = 0; is_write(x) && i < ops[x].e->bytes; i++) {
			uint64_t byte = ops[x].address + i;
			uint32_t k = 0;

			while (k < ndone && done[k] != byte)
				k++;
			if (k < ndone || ndone == NAIVE_OPS * 16)
				continue;
			done[ndone++] = byte;
			add_communication(byte);
		}
}

static bool is_sc_pair(uint32_t f1, uint32_t f2)
{
	return is_fence(f1) && is_fence(f2) && ops[f1].e->strength == RACE_SC &&
	       ops[f2].e->strength == RACE_SC && ops[f1].actor != ops[f2].actor &&
	       is_morally_strong(f1, f2);
}

/* R6: f1 -> a, a communicates before b, b -> f2. The other order of the fences would put b causally
 * before a, which 8.10.1 (coherence) and 8.10.6 (causality) forbid. */
static bool is_forced(uint32_t f1, uint32_t f2)
{
	for (uint32_t a = 0; a < nops; a++)
		for (uint32_t b = 0; get(&base, f1, a) && b < nops; b++)
			if (get(&communicates, a, b) && get(&base, b, f2))
				return true;
	return false;
}

/* 8.9.3 Fence-SC order, to a fixpoint: what is forced may force more. */
static void make_fence_sc_order(enum oracle_sc sc)
{
	bool is_changed = true;
	uint32_t nfences = 0;

	clear(&fence_sc);
	for (uint32_t x = 0; x < nops; x++)
		nfences += is_fence(x) && ops[x].e->strength == RACE_SC;
	if (sc == ORACLE_SC_PROGRAM && nfences > 1)
		make_communication_order();
	while (is_changed) {
		is_changed = false;
		make_base_causality();
		for (uint32_t f1 = 0; nfences > 1 && f1 < nops; f1++)
			for (uint32_t f2 = 0; f2 < nops; f2++) {
				if (!is_sc_pair(f1, f2) || get(&fence_sc, f1, f2))
					continue;
				if (sc == ORACLE_SC_EXECUTION ? f1 < f2 : is_forced(f1, f2)) {
					set(&fence_sc, f1, f2);
					is_changed = true;
				}
			}
	}
}

/* fence.mbarrier_init: the thread's inits before it, and nothing before them, come before what it
 * synchronises with and all after that. */
static void add_init_edges(void)
{
	for (uint32_t f = 0; f < nops; f++)
		for (uint32_t y = 0; y < nops; y++)
			for (uint32_t i = 0; get(&init_edges, f, y) && i < f; i++) {
				if (!is_init(i) || !get(&po, i, f))
					continue;
				set(&base, i, y);
				for (uint32_t w = 0; w < WORDS; w++)
					base.row[i][w] |= base.row[y][w];
			}
}

/* R7: which proxy fence x and y need between them; 0: there is none that helps. */
static uint8_t fence_kinds(uint32_t x, uint32_t y)
{
	uint8_t p = ops[x].e->proxy, q = ops[y].e->proxy;

	if (p == RACE_PROXY_TEXTURE || q == RACE_PROXY_TEXTURE)
		return 0;
	if (p == RACE_PROXY_TENSORMAP || q == RACE_PROXY_TENSORMAP)
		return ORACLE_PROXY_TMAP;
	return (ops[x].e->flags | ops[y].e->flags) & ORACLE_SHARED ? ORACLE_PROXY_SHARED
								   : ORACLE_PROXY_GLOBAL;
}

/* The tensormap proxy's fences are halves (9.7.13.5): release, then acquire of the map that is
 * read. */
static bool has_halves(uint32_t x, uint32_t y)
{
	for (uint32_t f = 0; f < nops; f++)
		for (uint32_t g = 0; g < nops; g++)
			if (ops[f].type == EVENT_PROXY && ops[g].type == EVENT_PROXY &&
			    (ops[f].e->proxy_kinds & ORACLE_PROXY_TMAP_RELEASE) &&
			    (ops[g].e->proxy_kinds & ORACLE_PROXY_TMAP) &&
			    ops[g].address == ops[y].address && get(&base, x, f) &&
			    (f == g || get(&base, f, g)) && get(&base, g, y))
				return true;
	return false;
}

/* Is there a proxy fence on the way from x to y, or what counts as one? */
static bool is_fenced(uint32_t x, uint32_t y)
{
	uint8_t kinds = fence_kinds(x, y);

	if (kinds == ORACLE_PROXY_TMAP && has_halves(x, y))
		return true;
	if (kinds == ORACLE_PROXY_TMAP)
		kinds = 0;
	for (uint32_t f = 0; f < nops; f++) {
		bool is_after = get(&base, x, f) && get(&base, f, y);
		uint8_t t = ops[f].type;

		if (is_after && ((t == EVENT_PROXY && (ops[f].e->proxy_kinds & kinds)) ||
				 t == EVENT_START || t == EVENT_END))
			return true;
		if (!get(&base, f, y))
			continue;
		for (uint32_t c = 0; c < nops; c++)
			if (get(&completes, c, f) &&
			    (c == x || (ops[c].type == EVENT_MB_ARRIVE && get(&po, x, c))))
				return true;
	}
	return false;
}

/* An ordinary read of shared memory, then a bulk copy's write (R7). */
static bool is_refill(uint32_t x, uint32_t y)
{
	return ops[x].e->proxy == RACE_PROXY_GENERIC && ops[y].e->proxy == RACE_PROXY_ASYNC &&
	       ops[y].e->flags & ORACLE_SHARED;
}

/* Is an mbarrier on the way, between its arrival and the wait for it? */
static bool is_handed(uint32_t x, uint32_t y)
{
	for (uint32_t a = x; a < nops; a++)
		for (uint32_t b = a; b < y; b++)
			if (get(&handed, a, b) && get(&base, x, a) && get(&base, b, y))
				return true;
	return false;
}

/* 8.9.5 Proxy-preserved base causality order, with R7 where the manual is silent: what was read
 * stays read, whatever proxy writes later; fence.proxy.async. */
static bool is_preserved(uint32_t x, uint32_t y)
{
	const struct race_place *a = &ops[x].place, *b = &ops[y].place;
	uint8_t p = ops[x].e->proxy, q = ops[y].e->proxy;

	if (!get(&base, x, y))
		return false;
	if (p == RACE_PROXY_GENERIC && q == RACE_PROXY_GENERIC)
		return true;
	if (p == q && a->device == b->device && a->grid == b->grid && a->cta == b->cta)
		return true;
	if (!is_write(x) && is_write(y) && !is_refill(x, y))
		return true;
	return (!is_write(x) && is_handed(x, y)) || is_fenced(x, y);
}

/* 8.9.5 Causality order. */
static void make_causality_order(void)
{
	clear(&causes);
	clear(&preserved);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = 0; is_access(x) && y < nops; y++)
			if (is_access(y) &&
			    ((get(&po, x, y) && ops[x].e->proxy == ops[y].e->proxy) ||
			     is_preserved(x, y)))
				set(&preserved, x, y);
	join(&causes, &preserved);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t z = 0; z < nops; z++) {
			if (!get(&observes, x, z) || !is_read(z))
				continue;
			for (uint32_t w = 0; w < WORDS; w++)
				causes.row[x][w] |= preserved.row[z][w];
		}
}

/* 8.7.1 Conflict and data races. */
static bool is_race(uint32_t x, uint32_t y)
{
	bool is_one = ops[x].actor == ops[y].actor && ops[x].e->proxy == ops[y].e->proxy;

	return !is_one && !get(&causes, x, y) && !get(&causes, y, x) && !is_morally_strong(x, y);
}

/* ld.nc is outside of the model (8.1): the grid must not write what it reads so, in no order, the
 * same thread included; nor before a texture or surface reads it (R10). y acts later. */
static bool is_nc_conflict(uint32_t x, uint32_t y)
{
	bool is_nc = (ops[x].e->flags | ops[y].e->flags) & ORACLE_NC;
	bool is_texture = ops[y].e->proxy == RACE_PROXY_TEXTURE && !is_write(y);

	return (is_nc || is_texture) && ops[x].place.grid && ops[x].place.grid == ops[y].place.grid;
}

/* Have both the byte, and is it the same memory? x acted earlier. */
static bool share(uint32_t x, uint32_t y, uint64_t byte)
{
	return has_byte(x, byte) && has_byte(y, byte) && is_same_memory(x, y, byte);
}

/*
 * May the oracle have forgotten x, which races with y? If a weak access between has superseded it,
 * and in the end one that y comes after, by observation alone, or one of a copy, whose end passes
 * on no more than the copy; if it is a write, and so is y, and a copy has read it in between; or if
 * it is a matter of proxies only, and another write that y comes after has replaced it.
 */
static bool is_hidden_at(uint32_t x, uint32_t y, uint64_t byte)
{
	for (uint32_t w = x + 1; w < y; w++) {
		bool is_after = get(&causes, w, y), is_covered = is_write(w) || !is_write(x);
		if (!is_access(w) || is_strong(w) || !share(x, w, byte))
			continue;
		if (is_write(w) && is_after && get(&base, x, y))
			return true;
		if (!get(&causes, x, w))
			continue;
		if (party_of(ops[w].actor)->is_pseudo && is_after && (is_covered || is_write(y)))
			return true;
		if ((is_write(w) && is_after && !get(&preserved, w, y)) ||
		    (is_covered && !is_after && is_hidden_at(w, y, byte)))
			return true;
	}
	return false;
}

/* ... at each byte that they share? */
static bool is_hidden(uint32_t x, uint32_t y)
{
	for (uint64_t i = 0; i < ops[x].e->bytes; i++)
		if (share(x, y, ops[x].address + i) && !is_hidden_at(x, y, ops[x].address + i))
			return false;
	return true;
}

/* ---- a byte's own order --------------------------------------------------------- */

/* Is what lies before z before what lies after it, z of the same byte? If z is a write, which
 * follows or replaces x, or has read what x wrote and y overwrites; or if x is a copy's reading,
 * whose end was waited for before the copy z was issued. */
static bool is_link(uint32_t x, uint32_t z, uint32_t y)
{
	return is_write(z) || (is_write(x) && is_write(y)) ||
	       (!is_write(x) && party_of(ops[x].actor)->is_pseudo &&
		party_of(ops[z].actor)->is_pseudo);
}

bool naive_is_open(const struct naive_pair *p, uint64_t byte)
{
	static struct relation order;
	bool is_changed = true;

	if (p->is_nc || !share(p->x, p->y, byte))
		return false;
	clear(&order);
	for (uint32_t x = 0; x < nops; x++)
		for (uint32_t y = 0; y < nops; y++)
			if (get(&causes, x, y) && has_byte(x, byte) && has_byte(y, byte))
				set(&order, x, y);
	while (is_changed) {
		is_changed = false;
		for (uint32_t x = p->x; x < p->y; x++)
			for (uint32_t z = x + 1; z < p->y; z++)
				for (uint32_t y = z + 1; get(&order, x, z) && y <= p->y; y++)
					if (get(&order, z, y) && !get(&order, x, y) &&
					    is_link(x, z, y)) {
						set(&order, x, y);
						is_changed = true;
					}
	}
	return !get(&order, p->x, p->y);
}

void naive_bytes(const struct naive_pair *p, uint64_t *from, uint64_t *to)
{
	uint64_t x = ops[p->x].address, y = ops[p->y].address;
	uint64_t x_end = x + ops[p->x].e->bytes, y_end = y + ops[p->y].e->bytes;

	*from = x > y ? x : y;
	*to = x_end < y_end ? x_end : y_end;
}

/* ---- races ------------------------------------------------------------------------ */

static void find_races(struct naive_result *out)
{
	for (uint32_t y = 0; y < nops; y++)
		for (uint32_t x = 0; x < y; x++) {
			bool is_conflict = is_access(x) && is_access(y) &&
					   (is_write(x) || is_write(y)) && overlaps(x, y);
			bool is_nc = is_conflict && is_nc_conflict(x, y);
			struct naive_pair *p = out->pairs + out->npairs;

			if (!is_conflict || (!is_nc && !is_race(x, y)))
				continue;
			if (out->npairs == sizeof(out->pairs) / sizeof(out->pairs[0])) {
				out->is_too_long = true;
				return;
			}
			*p = (struct naive_pair){ops[x].event, ops[y].event,
						 ops[x].actor, ops[y].actor,
						 is_nc,	       !is_nc && is_hidden(x, y),
						 (uint16_t)x,  (uint16_t)y};
			out->npairs++;
		}
}

/* ---- the whole ---------------------------------------------------------------- */

void naive_judge(const struct list_event *e, size_t n, enum oracle_sc sc, struct naive_result *out)
{
	out->npairs = 0;
	out->is_too_long = n > NAIVE_EVENTS;
	nops = nparties = 0;
	for (size_t i = 0; i < n && !out->is_too_long; i++)
		out->is_too_long = !add_event(&e[i], i);
	if (out->is_too_long)
		return;
	make_program_order();
	make_observation_order();
	clear(&sync_edges);
	clear(&init_edges);
	clear(&completes);
	clear(&handed);
	add_pattern_edges();
	add_barrier_edges();
	add_copy_edges();
	add_api_edges(e, n);
	make_fence_sc_order(sc);
	add_init_edges();
	make_causality_order();
	find_races(out);
}
