/*
 * generate.c - draws random small programs.
 *
 * All threads of a launch run through a list of statements. A thread has 16 bytes of global and 16
 * of shared memory for itself; whatever else it touches is ordered by what the statement brings
 * along, is strong on both sides, or is never written. So the result is that of running each
 * statement for all threads before the next one, and expect.c does just that. Launches are ordered,
 * or use different memory, or only meet in a counter. A racy program is the same with the order
 * taken out of one or two places.
 *
 * Misses: bulk copies and the async proxy, tensor maps, recursion, device malloc, managed
 * memory, several devices.
 */
#include "generate.h"

#include <string.h>

const char *const gen_kind_names[GEN_KINDS] = {
	"store", "load",    "packed",  "read-only", "exchange", "warp",
	"split", "cluster", "atomic",  "common",    "strong",	"last",
	"grid",	 "lock",    "message", "copy",	    "dekker",	"bulk"};

const unsigned gen_breaks[GEN_KINDS] = {
	[GEN_STORE] = 3,  [GEN_LOAD] = 2,    [GEN_PACKED] = 1, [GEN_EXCHANGE] = 2, [GEN_WARP] = 3,
	[GEN_SPLIT] = 2,  [GEN_CLUSTER] = 3, [GEN_ATOMIC] = 4, [GEN_COMMON] = 2,   [GEN_STRONG] = 4,
	[GEN_LAST] = 4,	  [GEN_GRID] = 4,    [GEN_LOCK] = 4,   [GEN_MESSAGE] = 4,  [GEN_COPY] = 4,
	[GEN_DEKKER] = 1, [GEN_BULK] = 2,
};

uint64_t gen_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static unsigned draw(uint64_t *state, unsigned n)
{
	return (unsigned)(gen_random(state) % n);
}

static void draw_stmt(struct gen_stmt *s, uint64_t *r)
{
	static const struct {
		unsigned width, vec;
		const char *types;
	} forms[] = {{1, 1, "usb"}, {2, 1, "usb"}, {4, 1, "usb"},  {8, 1, "usbf"},
		     {1, 2, "usb"}, {1, 4, "usb"}, {2, 2, "usb"},  {2, 4, "usb"},
		     {4, 2, "usb"}, {4, 4, "usb"}, {8, 2, "usbfx"}};
	unsigned form = draw(r, sizeof(forms) / sizeof(*forms));

	s->kind = (enum gen_kind)draw(r, GEN_KINDS);
	s->width = forms[form].width;
	s->vec = forms[form].vec;
	s->type = forms[form].types[draw(r, (unsigned)strlen(forms[form].types))];
	s->offset = draw(r, 16 / (s->width * s->vec)) * s->width * s->vec;
	s->distance = 2 + draw(r, 30);
	s->guard = draw(r, 4);
	s->trips = draw(r, 3) ? 0 : 1 + 2 * draw(r, 2);
	s->scope = draw(r, 3);
	s->form = draw(r, 8);
	s->form2 = draw(r, 8);
	s->fence = draw(r, 4);
	s->is_shared = draw(r, 2);
	s->is_generic = !draw(r, 3);
	s->is_cluster = !draw(r, 3);
}

static void draw_launch(struct gen_program *k, unsigned i, uint64_t *r)
{
	struct gen_launch *l = &k->launch[i];
	unsigned before = 0;

	l->blocks = 1 + draw(r, 3);
	l->threads = 32 * (1 + draw(r, 3));
	l->wide = draw(r, 3) ? l->threads : draw(r, 2) ? 16 : 8;
	l->cluster = draw(r, 3) ? 0 : l->blocks;
	l->region = draw(r, i + 1);
	l->order = (enum gen_order)draw(r, 4);
	l->after = draw(r, 2) ? (enum gen_after)draw(r, 3) : GEN_AFTER_NONE;
	for (unsigned j = 0; j < i; j++)
		before += k->launch[j].region == l->region;
	if (before && l->order == GEN_ORDER_NONE)
		l->order = GEN_ORDER_DIRECT;
}

unsigned gen_counter(const struct gen_program *k, unsigned i)
{
	unsigned n = 0;

	for (unsigned j = 0; j < i; j++)
		n += k->stmt[j].launch == k->stmt[i].launch;
	return n;
}

/* ---- broken ones --------------------------------------------------------------------- */

static bool is_certain_store(const struct gen_stmt *s)
{
	/* Two threads that share the bytes pass the guard: t and t + 1, or the first 64. */
	return s->kind == GEN_STORE && (s->broken != 1 || !(s->guard & 1));
}

/*
 * Both accesses of the pair are always executed, and nothing but what was taken out stands between
 * them in their statement. A path from the one to the other would have to leave its statement and
 * come back, but each statement synchronises through objects of its own, or a barrier of the whole
 * block: so all paths lead from statement to statement in program order.
 */
bool gen_is_certain(const struct gen_program *k, const struct gen_stmt *s)
{
	const struct gen_launch *l = &k->launch[s->launch];
	/* Is .cta, or what stands for it, too small between blocks? */
	bool is_small = l->blocks > 1 && !(l->cluster && s->is_cluster);

	switch (s->kind) {
	case GEN_STORE:
	case GEN_LOAD:
		return is_certain_store(s);
	case GEN_SPLIT:
		return l->threads >= 64;
	case GEN_LAST:
		return l->blocks > 1 && (s->broken != 3 || is_small);
	case GEN_GRID:
		return l->blocks > 1 && (s->broken != 4 || is_small);
	case GEN_ATOMIC:
	case GEN_STRONG:
	case GEN_LOCK:
	case GEN_MESSAGE:
		/* Who gives up waiting for a weak flag reads old data behind its fence.sc: so that
		 * comes before the other's, and its looks at the flag before the flag is set. */
		if (s->kind == GEN_MESSAGE && s->broken == 4 && s->fence <= 1)
			return false;
		/* the third way is a scope that is too small: .cta between blocks */
		return s->broken != 3 || (is_small && s->scope > 0);
	case GEN_DEKKER:
		return false;
	default:
		return true;
	}
}

static bool break_launch(struct gen_program *k, uint64_t *r)
{
	struct gen_launch *l = &k->launch[draw(r, k->nlaunches)];

	if (l->broken || l->is_removed)
		return false;
	if (l->after != GEN_AFTER_NONE && draw(r, 2)) {
		l->broken = 2;
		return true;
	}
	if (l == k->launch)
		return false;
	l->broken = 1;
	/* One after it that is broken already races with it, in its region. */
	for (struct gen_launch *x = l; x < k->launch + k->nlaunches && x->broken == 1; x++)
		x->region = x[-1].region;
	/* A fill would come between the two: the oracle reports one race of an access, not all. */
	for (unsigned i = 0; i < 2; i++)
		if (l[-(int)i].after == GEN_AFTER_FILL)
			l[-(int)i].after = GEN_AFTER_COPY;
	return true;
}

static bool break_stmt(struct gen_program *k, uint64_t *r, bool is_certain)
{
	struct gen_stmt *s = &k->stmt[draw(r, k->n)];

	if (s->broken || s->is_removed || !gen_breaks[s->kind])
		return false;
	s->broken = 1 + draw(r, gen_breaks[s->kind]);
	if (!is_certain || gen_is_certain(k, s))
		return true;
	s->broken = 0;
	return false;
}

bool gen_break(struct gen_program *k, uint64_t *r)
{
	for (unsigned i = 0; i < 100; i++)
		if (break_stmt(k, r, true))
			return true;
	return false;
}

static void leave_barriers(struct gen_program *k)
{
	static const enum gen_kind kinds[] = {GEN_STORE, GEN_LOAD, GEN_PACKED, GEN_EXCHANGE,
					      GEN_WARP};

	for (unsigned i = 0; i < k->nlaunches; i++)
		k->launch[i].cluster = 0;
	for (unsigned i = 0; i < k->n; i++)
		k->stmt[i].kind = kinds[k->stmt[i].kind % (sizeof(kinds) / sizeof(*kinds))];
}

void gen_draw(struct gen_program *k, uint64_t seed, bool is_racy, bool is_barred)
{
	uint64_t r = seed * 2 + is_racy;

	memset(k, 0, sizeof(*k));
	k->is_racy = is_racy;
	k->nlaunches = draw(&r, 2) ? 1 : 1 + draw(&r, GEN_LAUNCHES);
	for (unsigned i = 0; i < k->nlaunches; i++)
		draw_launch(k, i, &r);
	k->n = k->nlaunches + 2 + draw(&r, GEN_STMTS - 1 - k->nlaunches);
	for (unsigned i = 0; i < k->n; i++) {
		draw_stmt(&k->stmt[i], &r);
		k->stmt[i].launch = i * k->nlaunches / k->n;
	}
	if (is_barred)
		leave_barriers(k);
	if (!is_racy)
		return;
	/* One place in two thirds of the programs; now and then one that a schedule may hide. */
	for (unsigned i = draw(&r, 3) ? 1 : 2, tries = 0; i > 0 && tries < 100; tries++) {
		bool is_launch = !draw(&r, 6);
		i -= is_launch ? break_launch(k, &r) : break_stmt(k, &r, draw(&r, 8));
	}
}
