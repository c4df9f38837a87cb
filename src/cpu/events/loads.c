/*
 * loads.c - executions of loads in doubt: were their values used, and which races wait for that?
 *
 * Each execution by lanes of a warp is a load with the lanes' addresses. The graph of values
 * (taint.c) says when a part of it is used, and when nothing holds it any more: then it is
 * discarded. A race is of the load that its thread executed last at that address. If that is used,
 * the race is sure; if it may be yet, the race waits for it; a discarded one leaves it possible.
 *
 * Loads of one warp and place are a list, the newest first. A later one of the same lanes and
 * addresses replaces an earlier one, and inherits that it was used if the warp has done nothing in
 * between that could order anything: then what races with one races with the other.
 *
 * Misses: of more than HISTORY_MAX loads of one warp and place, or LOADS_MAX in all, the oldest:
 * their races stay possible.
 * Costs: a look-up and 64 bytes for each execution, those that are forgotten are used again.
 */
#include "cpu/events/follow.h"

#include <stdlib.h>
#include <string.h>

#define LOADS_MAX    (1u << 19)
#define HISTORY_MAX  1024u
#define REPLACED_MAX 48u /* so many are compared to find the one that is replaced */
#define WAITING_MAX  64u
#define MAX_SIDES    65536u
#define PARTS	     16u /* a load's bytes, in so many parts at most */
#define LINE	     64u

/* A race of a load that its thread may use yet. */
struct waiting {
	struct events_pair *pair;
	unsigned parts; /* a use of any of these makes it sure */
	unsigned lane;
	struct oracle_side *sides; /* two; NULL: not kept */
	struct waiting *next;
};

/* One line of the cache: half a million of them go round. */
struct load {
	uint32_t refs; /* its leaves, its list, and the caller that makes it */
	uint32_t next; /* older, of its list; or of the free ones */
	uint32_t mask, nevents;
	uint32_t used;		  /* lanes in which `parts` are used, and no other part ... */
	uint16_t parts, nwaiting; /* (WAITING_MAX at most) */
	uint32_t *used_of;	  /* ... or, where lanes differ in that: the lanes by part */
	uint64_t first;		  /* address of lane 0 */
	int64_t step;		  /* to the next lane's */
	uint64_t *at;		  /* if they don't rise so */
	struct waiting *waiting;
};
_Static_assert(sizeof(struct load) <= LINE, "one line of the cache");

struct history {
	const struct cpu_site *site; /* NULL: a free place */
	uint32_t actor;		     /* of lane 0 */
	uint32_t newest, n;
};

struct events_loads {
	struct cpu_events *x;
	struct taint_graph graph;
	struct load *v; /* v[0] is nothing */
	uint32_t n, room, free, nsides;
	struct history *histories;   /* by a hash, with free places between them */
	uint32_t nhistories, places; /* places: a power of two, or 0 */
};

static void waiting_free(struct events_loads *l, struct waiting *w)
{
	l->nsides -= w->sides != NULL;
	free(w->sides);
	free(w);
}

static void unref(struct events_loads *l, uint32_t id)
{
	struct load *p = &l->v[id];

	if (--p->refs)
		return;
	for (struct waiting *w = p->waiting, *next; w; w = next) {
		next = w->next;
		waiting_free(l, w);
	}
	free(p->at);
	free(p->used_of);
	memset(p, 0, sizeof(*p));
	p->next = l->free;
	l->free = id;
}

static void on_end(void *arg, uint32_t load)
{
	unref(arg, load);
}

/* The lanes in which a part is used. */
static uint32_t used_of(const struct load *p, unsigned part)
{
	if (p->used_of)
		return p->used_of[part];
	return p->parts >> part & 1 ? p->used : 0;
}

/* Lanes have used parts; what is lost without memory is a use. */
static void use(struct load *p, uint32_t parts, uint32_t lanes)
{
	if (!p->used_of && (!p->parts || p->used == lanes || p->parts == parts)) {
		p->used = p->parts == parts ? p->used | lanes : lanes;
		p->parts = (uint16_t)(p->parts | parts);
		return;
	}
	if (!p->used_of && !(parts & ~p->parts) && !(lanes & ~p->used))
		return;
	if (!p->used_of) {
		uint32_t *v = calloc(PARTS, sizeof(*v));
		for (unsigned e = 0; v && e < PARTS; e++)
			v[e] = used_of(p, e);
		p->used_of = v;
	}
	for (uint32_t m = parts; p->used_of && m; m &= m - 1)
		p->used_of[__builtin_ctz(m)] |= lanes;
}

static void on_use(void *arg, uint32_t load, uint32_t parts, uint32_t lanes)
{
	struct events_loads *l = arg;
	struct load *p = &l->v[load];

	use(p, parts, lanes);
	for (struct waiting **at = &p->waiting, *w; (w = *at) != NULL;) {
		if (!(lanes >> w->lane & 1) || !(w->parts & parts)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		p->nwaiting--;
		events_pair_sure(l->x, w->pair, w->sides, w->sides ? w->sides + 1 : NULL);
		waiting_free(l, w);
	}
}

/* ---- lists --------------------------------------------------------------------------------- */

#define NEAR_WARPS 8u /* whose places at one instruction are neighbours: they come together */

/* The list's place, or the free one where it would be. */
static struct history *place_of(struct history *v, uint32_t places, const struct cpu_site *site,
				uint32_t actor)
{
	uint32_t warp = actor / CPU_WARP;
	uint64_t hash =
		((uintptr_t)site ^ (uint64_t)(warp / NEAR_WARPS) << 32) * 0x9e3779b97f4a7c15u;
	uint32_t i = ((uint32_t)(hash >> 32) * NEAR_WARPS + warp % NEAR_WARPS) & (places - 1);

	while (v[i].site && (v[i].site != site || v[i].actor != actor))
		i = (i + 1) & (places - 1);
	return &v[i];
}

/* NULL: there is none. It moves when another one is made. */
static struct history *history_of(struct events_loads *l, const struct cpu_site *site,
				  uint32_t actor)
{
	struct history *h;

	if (!l->places)
		return NULL;
	h = place_of(l->histories, l->places, site, actor & ~(CPU_WARP - 1));
	return h->site ? h : NULL;
}

#define PLACES_MIN 256u

/* Of lane 0's actor; made if there is none. NULL: no memory. */
static struct history *history_at(struct events_loads *l, const struct cpu_site *site,
				  uint32_t actor)
{
	uint32_t places = l->places ? 2 * l->places : PLACES_MIN;
	struct history *h = history_of(l, site, actor), *v;

	if (h)
		return h;
	if (2 * l->nhistories >= l->places) {
		v = calloc(places, sizeof(*v));
		if (!v)
			return NULL;
		for (uint32_t i = 0; i < l->places; i++)
			if (l->histories[i].site)
				*place_of(v, places, l->histories[i].site, l->histories[i].actor) =
					l->histories[i];
		free(l->histories);
		l->histories = v;
		l->places = places;
	}
	h = place_of(l->histories, l->places, site, actor);
	*h = (struct history){.site = site, .actor = actor};
	l->nhistories++;
	return h;
}

/* Drops all from *link on. */
static void cut(struct events_loads *l, struct history *h, uint32_t *link)
{
	uint32_t id = *link;

	*link = 0;
	while (id) {
		uint32_t next = l->v[id].next;
		l->v[id].next = 0;
		h->n--;
		unref(l, id);
		id = next;
	}
}

static void forget_all(struct events_loads *l)
{
	for (uint32_t i = 0; i < l->places; i++)
		if (l->histories[i].site)
			cut(l, &l->histories[i], &l->histories[i].newest);
	free(l->histories);
	l->histories = NULL;
	l->nhistories = l->places = 0;
}

static uint32_t load_new(struct events_loads *l)
{
	if (!l->free && l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 256;
		struct load *v = room > LOADS_MAX ? NULL : aligned_alloc(LINE, room * sizeof(*v));
		if (v) {
			if (l->v)
				memcpy(v, l->v, l->n * sizeof(*v));
			free(l->v);
			l->v = v;
			l->room = room;
			l->n += l->n == 0;
		} else {
			forget_all(l);
		}
	}
	uint32_t id = l->free;
	if (id) {
		l->free = l->v[id].next;
		__builtin_prefetch(&l->v[l->free]); /* free long since, perhaps */
		l->v[id].next = 0;		    /* the rest is: unref */
		l->v[id].refs = 1;
	} else if (l->n < l->room) {
		id = l->n++;
		l->v[id] = (struct load){.refs = 1};
	}
	return id;
}

static uint64_t address_of(const struct load *p, unsigned lane)
{
	return p->at ? p->at[lane] : p->first + (uint64_t)p->step * lane;
}

/* False: no memory. */
static bool set_addresses(struct load *p, uint32_t mask, const uint64_t *at)
{
	unsigned a = (unsigned)__builtin_ctz(mask);
	uint32_t rest = mask & (mask - 1);
	unsigned b = rest ? (unsigned)__builtin_ctz(rest) : a + 1;

	p->step = rest ? ((int64_t)(at[b] - at[a])) / (int64_t)(b - a) : 0;
	p->first = at[a] - (uint64_t)p->step * a;
	CPU_EACH_LANE (l, mask)
		if (at[l] != p->first + (uint64_t)p->step * l) {
			p->at = malloc(CPU_WARP * sizeof(*at));
			if (p->at)
				memcpy(p->at, at, CPU_WARP * sizeof(*at));
			return p->at != NULL;
		}
	return true;
}

static bool are_equal(const struct load *p, const struct load *q)
{
	if (p->mask != q->mask || (p->at != NULL) != (q->at != NULL))
		return false;
	if (!p->at)
		return p->first == q->first && p->step == q->step;
	CPU_EACH_LANE (l, p->mask)
		if (p->at[l] != q->at[l])
			return false;
	return true;
}

/* The new load takes the place of an earlier one of the same lanes and addresses. */
static void replace(struct events_loads *l, struct history *h, uint32_t id)
{
	struct load *p = &l->v[id];
	uint32_t *link = &h->newest;

	for (unsigned i = 0; i < REPLACED_MAX && *link; i++) {
		struct load *q = &l->v[*link];
		if (are_equal(p, q)) {
			uint32_t old = *link;
			if (q->nevents == p->nevents) {
				p->used = q->used;
				p->parts = q->parts;
				p->used_of = q->used_of;
				q->used_of = NULL;
			}
			*link = q->next;
			q->next = 0;
			h->n--;
			unref(l, old);
			return;
		}
		link = &q->next;
	}
}

static void shorten(struct events_loads *l, struct history *h)
{
	uint32_t *link = &h->newest;

	if (h->n < HISTORY_MAX)
		return;
	for (unsigned i = 0; i < HISTORY_MAX / 2; i++)
		link = &l->v[*link].next;
	cut(l, h, link);
}

/* ======================================================================== */

struct events_loads *events_loads_new(struct cpu_events *x)
{
	struct events_loads *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->x = x;
	l->graph.on_use = on_use;
	l->graph.on_end = on_end;
	l->graph.arg = l;
	return l;
}

struct taint_graph *events_graph(struct events_loads *l)
{
	return &l->graph;
}

uint32_t events_load_begin(struct events_loads *l, const struct cpu_warp *w,
			   const struct cpu_site *site, uint32_t mask, const uint64_t *at)
{
	uint32_t actor = events_actor(w), id = load_new(l);
	struct history *h = history_at(l, site, actor);

	if (!id)
		return 0;
	struct load *p = &l->v[id];
	p->mask = mask;
	p->nevents = w->nevents;
	if (!h || !set_addresses(p, mask, at)) {
		unref(l, id);
		return 0;
	}
	replace(l, h, id);
	shorten(l, h);
	l->v[id].next = h->newest;
	l->v[id].refs++;
	h->newest = id;
	h->n++;
	return id;
}

/* The parts in which bytes of a load are. */
static uint32_t parts_of(const struct cpu_site *site, uint32_t bytes)
{
	unsigned all = (unsigned)site->width * (site->vec ? site->vec : 1u);
	unsigned size = all > PARTS ? (all + PARTS - 1) / PARTS : 1;
	uint32_t out = 0;

	for (uint32_t m = bytes; m; m &= m - 1)
		out |= 1u << ((unsigned)__builtin_ctz(m) / size) % PARTS;
	return out;
}

uint32_t events_load_leaf(struct events_loads *l, const struct cpu_site *site, uint32_t load,
			  uint32_t bytes, uint32_t mask)
{
	uint32_t parts = parts_of(site, bytes);
	uint32_t leaf = parts ? taint_leaf(&l->graph, load, parts, mask) : 0;

	if (leaf)
		l->v[load].refs++;
	return leaf;
}

void events_load_done(struct events_loads *l, uint32_t load)
{
	unref(l, load);
}

static void wait_for(struct events_loads *l, struct load *p, unsigned lane,
		     const struct events_sighting *seen, unsigned parts)
{
	struct waiting *w;

	for (w = p->waiting; w; w = w->next)
		if (w->pair == seen->pair && w->lane == lane) {
			w->parts |= parts;
			return;
		}
	w = p->nwaiting < WAITING_MAX ? calloc(1, sizeof(*w)) : NULL;
	if (!w)
		return;
	w->pair = seen->pair;
	w->lane = lane;
	w->parts = parts;
	if (l->nsides < MAX_SIDES)
		w->sides = malloc(sizeof(seen->side));
	if (w->sides) {
		memcpy(w->sides, seen->side, sizeof(seen->side));
		l->nsides++;
	}
	w->next = p->waiting;
	p->waiting = w;
	p->nwaiting++;
}

bool events_load_is_used(struct events_loads *l, const struct oracle_side *load,
			 const struct events_sighting *seen)
{
	struct history *h = history_of(l, load->inst, load->actor);
	unsigned lane = load->actor % CPU_WARP, parts = parts_of(load->inst, seen->bytes);

	for (uint32_t id = h ? h->newest : 0; id; id = l->v[id].next) {
		struct load *p = &l->v[id];
		if (!(p->mask >> lane & 1) || address_of(p, lane) != load->address)
			continue;
		for (unsigned e = 0; e < PARTS; e++)
			if (parts >> e & 1 && used_of(p, e) >> lane & 1)
				return true;
		if (p->refs > 1) /* something else than the list */
			wait_for(l, p, lane, seen, parts);
		return false;
	}
	return false;
}

void events_loads_free(struct events_loads *l)
{
	if (!l)
		return;
	forget_all(l);
	for (uint32_t i = 1; i < l->n; i++) {
		if (!l->v[i].refs)
			continue;
		l->v[i].refs = 1;
		unref(l, i);
	}
	taint_free(&l->graph);
	free(l->v);
	free(l);
}
