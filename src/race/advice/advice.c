/*
 * advice.c - what usually helps against a race: the row of advice.def that fits it.
 *
 * The facts: which half of a hand-over, which wait or which fence is missing, where a detector
 * knows it (layout/missing.def); how far apart the threads were at most in the sightings; what the
 * two accesses are. Words only: nothing here changes a verdict.
 */
#include "race/race.h"

#include <string.h>

/* What a finding has. */
#define SINGLE		(1ull << 0) /* one side is known */
#define INVENTED	(1ull << 1)
#define SHARED		(1ull << 2)
#define IN_CLUSTER	(1ull << 3) /* an access to shared memory of the cluster */
#define ASYNC		(1ull << 4) /* a side is an asynchronous copy, which ... */
#define COPY_READS	(1ull << 5)
#define BULK		(1ull << 6)
#define MBAR_COPY	(1ull << 7) /* completes on an mbarrier */
#define COPY		(1ull << 8) /* the known side is one */
#define TENSORMAP	(1ull << 9)
#define TEXTURE		(1ull << 10)
#define TRANSFER	(1ull << 11) /* a copy of the host, read again */
#define HOST_SPACE	(1ull << 12)
#define TENSOR		(1ull << 13)
#define FREES		(1ull << 14)
#define GRAPH		(1ull << 15)
#define ONE_STREAM	(1ull << 16)
#define HOST_CODE	(1ull << 17)
#define OPERATION	(1ull << 18) /* a side is a copy or fill of the host */
#define TWO_OPERATIONS	(1ull << 19)
#define UPDATE		(1ull << 20) /* both sides are halves of one */
#define KNOWN_ATOMIC	(1ull << 21)
#define HALF_UPDATE	(1ull << 22) /* the known side is */
#define CHECK		(1ull << 23)
#define MBARRIER	(1ull << 24)
#define VOLATILE	(1ull << 25) /* no side is strong otherwise */
#define HALF_STRONG	(1ull << 26)
#define PLAIN_LOAD	(1ull << 27)
#define ONE_PLACE	(1ull << 28)
#define BOTH_WRITE	(1ull << 29)
#define SEVERAL		(1ull << 30) /* times, of which only the first is known */
#define LOADS_READ_ONLY (1ull << 31) /* a side is ld.global.nc */
#define KNOWN_STREAMS	(1ull << 32) /* of both launches */
#define PRODUCT		(1ull << 34) /* a side is a wgmma or tcgen05.mma */
#define TCGEN05		(1ull << 35) /* a side is an instruction of tcgen05 */
#define DEALLOC		(1ull << 36) /* a tcgen05.ld, and columns that are given back */
#define SEED		(1ull << 33) /* of a compare-and-swap loop */

struct row {
	uint64_t kinds; /* 0: any */
	uint32_t missing, apart;
	uint64_t has;
	const char *text;
};

#define ANY    0
#define K(x)   (1ull << RACE_KIND_##x)
#define M(x)   (1u << RACE_MISSING_##x)
#define A(x)   (1u << RACE_APART_##x)
#define SCOPES (K(SCOPE) | K(IGUARD_ATOMIC) | K(IGUARD_PAIR))

RACE_STATIC_ASSERT(RACE_KIND_COUNT <= 64 && RACE_APART_COUNT < 32, "sets of kinds");
RACE_STATIC_ASSERT(RACE_MISSING_COUNT <= 32, "sets of what is missing");

static const struct row rows[] = {
#define ADVICE(kinds, missing, apart, has, text) {kinds, missing, apart, has, text},
#include "race/advice/advice.def"
};

/* ---- how far apart --------------------------------------------------------------------------- */

static const char *const apart_names[RACE_APART_COUNT] = {
	[RACE_APART_LANES] = "lanes",	  [RACE_APART_WARPS] = "warps",
	[RACE_APART_CLUSTER] = "cluster", [RACE_APART_BLOCKS] = "blocks",
	[RACE_APART_STREAM] = "stream",	  [RACE_APART_LAUNCHES] = "launches",
	[RACE_APART_DEVICES] = "devices", [RACE_APART_HOST] = "host",
};

static const char *const missing_names[RACE_MISSING_COUNT] = {
#define MISSING(id, name, ...) [RACE_MISSING_##id] = name,
#include "race/layout/missing.def"
};

static const char *const missing_words[RACE_MISSING_COUNT] = {
#define MISSING(id, name, words) [RACE_MISSING_##id] = words,
#include "race/layout/missing.def"
};

const char *race_apart_name(unsigned apart)
{
	return apart < RACE_APART_COUNT ? apart_names[apart] : "unknown";
}

const char *race_missing_name(unsigned missing)
{
	return missing < RACE_MISSING_COUNT ? missing_names[missing] : "unknown";
}

static bool has_one_stream(const struct race_finding *f)
{
	return f->sides[0].stream && f->sides[0].stream == f->sides[1].stream &&
	       f->sides[0].device == f->sides[1].device;
}

enum race_apart race_apart_of(const struct race_finding *f)
{
	const struct race_side *a = &f->sides[0], *b = &f->sides[1];

	if ((a->flags | b->flags) & RACE_SIDE_HOST)
		return RACE_APART_HOST;
	if (a->device != b->device)
		return RACE_APART_DEVICES;
	if (a->grid != b->grid)
		return has_one_stream(f) ? RACE_APART_STREAM : RACE_APART_LAUNCHES;
	if (memcmp(a->block, b->block, sizeof(a->block)))
		return a->cluster == b->cluster ? RACE_APART_CLUSTER : RACE_APART_BLOCKS;
	return a->warp == b->warp ? RACE_APART_LANES : RACE_APART_WARPS;
}

/* Is the second side's place known? */
static bool has_both(const struct race_finding *f)
{
	return f->sides && (*f->sides[1].func || f->sides[1].flags & RACE_SIDE_HOST);
}

/* Is it known which two threads these were? */
static bool are_apart(const struct race_finding *f)
{
	const struct race_side *s = f->sides;

	return f->sides && (has_both(f) || s[0].grid != s[1].grid ||
			    memcmp(s[0].block, s[1].block, sizeof(s[0].block)) != 0 ||
			    memcmp(s[0].thread, s[1].thread, sizeof(s[0].thread)) != 0);
}

/* The widest of its sightings. */
static enum race_apart widest(const struct race_finding *f)
{
	enum race_apart shown = race_apart_of(f);
	unsigned best = RACE_APART_COUNT - 1;

	while (best > (unsigned)shown && !(f->apart >> best & 1))
		best--;
	return (enum race_apart)best;
}

/* ---- traits ---------------------------------------------------------------------------------- */

static bool is_shared(enum race_space s)
{
	return s == RACE_SPACE_SHARED || s == RACE_SPACE_SHARED_CLUSTER;
}

/* Are both sides on one line, with the same kind of access? */
static bool is_one_place(const struct race_side *a, const struct race_side *b)
{
	return a->line == b->line && a->col == b->col && !strcmp(a->file, b->file) &&
	       !strcmp(a->func, b->func) && (a->line || !strcmp(a->text, b->text));
}

static bool completes_on_mbarrier(const struct race_side *s)
{
	return strstr(s->text, "::complete_tx");
}

static uint64_t traits_of_copy(const struct race_finding *f)
{
	const struct race_side *c = &f->sides[f->sides[0].flags & RACE_SIDE_ASYNC ? 0 : 1];

	if (!(c->flags & RACE_SIDE_ASYNC))
		return 0;
	return ASYNC | (c->flags & RACE_SIDE_WRITES ? 0 : COPY_READS) |
	       (c->proxy == RACE_PROXY_ASYNC ? BULK : 0) |
	       (completes_on_mbarrier(c) ? MBAR_COPY : 0);
}

static uint64_t traits_of_host(const struct race_finding *f)
{
	uint64_t has = 0;
	unsigned operations = 0;

	for (unsigned i = 0; i < 2; i++) {
		if (!(f->sides[i].flags & RACE_SIDE_HOST))
			continue;
		if (f->sides[i].access == RACE_ACCESS_COPY)
			operations++;
		else
			has |= HOST_CODE;
	}
	return has | (operations ? OPERATION : 0) | (operations == 2 ? TWO_OPERATIONS : 0);
}

/* What the two would need: one atomic step. */
static enum race_update update_of(const struct race_finding *f)
{
	enum race_update a = has_both(f) ? f->sides[0].update : f->update;
	enum race_update b = has_both(f) ? f->sides[1].update : f->update;

	if (!a || !b)
		return RACE_UPDATE_NONE;
	return a == b ? a : RACE_UPDATE_OTHER;
}

/* By the text: volatile accesses and tcgen05's are else as others are. */
static bool is_form(const struct race_side *s, const char *name)
{
	return s->text && strstr(s->text, name);
}

static uint64_t traits_of_values(const struct race_finding *f)
{
	const struct race_side *s = f->sides;
	enum race_update u = has_both(f) ? update_of(f) : RACE_UPDATE_NONE;
	bool is_strong[2] = {s[0].strength != RACE_WEAK, s[1].strength != RACE_WEAK};
	uint64_t has = 0;

	if (u && s[0].grid == s[1].grid)
		has |= u == RACE_UPDATE_CHECK
			       ? CHECK
			       : UPDATE | (u != RACE_UPDATE_OTHER ? KNOWN_ATOMIC : 0);
	if (has_both(f) && is_strong[0] != is_strong[1]) {
		const struct race_side *plain = &s[is_strong[0]], *strong = &s[is_strong[1]];
		has |= HALF_STRONG;
		if (!(plain->flags & RACE_SIDE_WRITES))
			has |= PLAIN_LOAD;
		if (strong->flags & RACE_SIDE_MBARRIER)
			has |= MBARRIER;
		if (is_form(strong, ".volatile"))
			has |= VOLATILE;
	}
	return has;
}

static uint64_t traits_of_tcgen05(const struct race_side *a, const struct race_side *b)
{
	if (!is_form(a, "tcgen05.") && !is_form(b, "tcgen05."))
		return 0;
	bool is_given = (is_form(a, "tcgen05.dealloc") && is_form(b, "tcgen05.ld")) ||
			(is_form(b, "tcgen05.dealloc") && is_form(a, "tcgen05.ld"));
	return TCGEN05 | (is_given ? DEALLOC : 0);
}

static uint64_t traits_of_pair(const struct race_finding *f)
{
	const struct race_side *a = &f->sides[0], *b = &f->sides[1];
	unsigned any = a->flags | b->flags, both = a->flags & b->flags;
	uint64_t has = traits_of_copy(f) | traits_of_host(f) | traits_of_values(f);

	if (f->met.memory == RACE_MEMORY_SHARED || is_shared(a->space))
		has |= SHARED;
	if (f->met.memory == RACE_MEMORY_TENSOR)
		has |= TENSOR;
	if (a->access == RACE_ACCESS_PRODUCT || b->access == RACE_ACCESS_PRODUCT)
		has |= PRODUCT;
	has |= traits_of_tcgen05(a, b);
	if (a->proxy == RACE_PROXY_TENSORMAP || b->proxy == RACE_PROXY_TENSORMAP)
		has |= TENSORMAP;
	if (a->proxy == RACE_PROXY_TEXTURE || b->proxy == RACE_PROXY_TEXTURE)
		has |= TEXTURE;
	if (!*b->func && !(any & RACE_SIDE_HOST))
		has |= SINGLE;
	if (a->grid == b->grid &&
	    (a->access == RACE_ACCESS_NC_LOAD || b->access == RACE_ACCESS_NC_LOAD))
		has |= LOADS_READ_ONLY;
	has |= a->stream && b->stream ? KNOWN_STREAMS : 0;
	has |= any & RACE_SIDE_FREES ? FREES : 0;
	has |= both & RACE_SIDE_GRAPH ? GRAPH : 0;
	has |= both & RACE_SIDE_WRITES ? BOTH_WRITE : 0;
	has |= has_one_stream(f) && a->grid != b->grid ? ONE_STREAM : 0;
	has |= is_one_place(a, b) ? ONE_PLACE : 0;
	return has;
}

static uint64_t traits_of(const struct race_finding *f)
{
	bool is_possible = f->cls == RACE_CLASS_POSSIBLE;
	uint64_t has = f->sides ? traits_of_pair(f) : SINGLE;

	if (!f->sides && f->access == RACE_ACCESS_COPY)
		has |= COPY;
	if (!f->sides && f->transfer)
		has |= TRANSFER;
	if (!f->sides && race_space_is_host(f->space))
		has |= HOST_SPACE;
	if (has & SINGLE && f->update)
		has |= HALF_UPDATE;
	if (is_shared(f->space))
		has |= SHARED;
	if (f->space == RACE_SPACE_SHARED_CLUSTER)
		has |= IN_CLUSTER;
	if (f->space == RACE_SPACE_TENSOR)
		has |= TENSOR;
	if (f->cls == RACE_CLASS_VOLATILE)
		has |= VOLATILE;
	if (f->count > 1 && !f->apart)
		has |= SEVERAL;
	if (f->cls == RACE_CLASS_SEED)
		has |= SEED;
	if (is_possible && !f->transfer)
		has |= INVENTED;
	return has;
}

/* What is missing by iGUARD's kind. */
static uint32_t missing_of_kind(enum race_kind k)
{
	switch (k) {
	case RACE_KIND_IGUARD_RELEASE:
		return M(RELEASE);
	case RACE_KIND_IGUARD_ACQUIRE:
		return M(ACQUIRE);
	case RACE_KIND_IGUARD_FENCE:
		return M(FENCE_SCOPE);
	default:
		return 0;
	}
}

/* hirace and iguard meet the earlier access in memory: where the later one is a copy, and the
 * earlier one none, the copy didn't wait for it. */
static uint32_t missing_of_order(const struct race_finding *f)
{
	bool is_in_order =
		race_keeps(f->kind) == RACE_KEEPS_WORD || race_keeps(f->kind) == RACE_KEEPS_ENTRY;

	if (!is_in_order || !f->sides || !f->sides[1].line ||
	    !(f->sides[0].flags & RACE_SIDE_ASYNC) || f->sides[1].flags & RACE_SIDE_ASYNC)
		return 0;
	return f->sides[0].flags & RACE_SIDE_WRITES ? M(REFILL) : M(READY);
}

uint32_t race_missing_of(const struct race_finding *f)
{
	uint32_t all = f->missing | missing_of_kind(f->kind) | missing_of_order(f);

	return all & (~all + 1);
}

const char *race_missing_words(const struct race_finding *f)
{
	static const char *const words[RACE_APART_COUNT] = {
		[RACE_APART_LANES] = "no __syncwarp() between",
		[RACE_APART_WARPS] = "no barrier of the block between",
		[RACE_APART_CLUSTER] = "no barrier of the cluster between",
		[RACE_APART_STREAM] = "no griddepcontrol.wait between",
		[RACE_APART_LAUNCHES] = "no order of the launches",
	};
	uint32_t missing = race_missing_of(f);
	const char *text = missing ? missing_words[__builtin_ctz(missing)] : "";

	if (!*text && are_apart(f))
		text = words[widest(f)];
	return text && *text ? text : "nothing orders the two";
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The function that does an update in one atomic step. */
static const char *atomic_of(enum race_update u)
{
	static const char *const functions[] = {
		[RACE_UPDATE_ADD] = "atomicAdd()", [RACE_UPDATE_MIN] = "atomicMin()",
		[RACE_UPDATE_MAX] = "atomicMax()", [RACE_UPDATE_AND] = "atomicAnd()",
		[RACE_UPDATE_OR] = "atomicOr()",   [RACE_UPDATE_XOR] = "atomicXor()",
	};

	return u < BASE_COUNTOF(functions) && functions[u] ? functions[u]
							   : "a loop with atomicCAS()";
}

static const char *where_of(enum race_apart apart)
{
	static const char *const words[RACE_APART_COUNT] = {
		[RACE_APART_LANES] = "in the same block",
		[RACE_APART_WARPS] = "in the same block",
		[RACE_APART_CLUSTER] = "in another block of the cluster",
		[RACE_APART_BLOCKS] = "in another block",
		[RACE_APART_STREAM] = "in another launch on the same device",
		[RACE_APART_LAUNCHES] = "in another launch on the same device",
		[RACE_APART_DEVICES] = "on another device",
		[RACE_APART_HOST] = "on another device, or the host's",
	};

	return words[apart];
}

static enum race_scope scope_for(enum race_apart apart)
{
	return apart <= RACE_APART_WARPS      ? RACE_SCOPE_CTA
	       : apart == RACE_APART_CLUSTER  ? RACE_SCOPE_CLUSTER
	       : apart <= RACE_APART_LAUNCHES ? RACE_SCOPE_GPU
					      : RACE_SCOPE_SYS;
}

static const char *fence_for(enum race_apart apart)
{
	return apart <= RACE_APART_WARPS      ? "__threadfence_block()"
	       : apart <= RACE_APART_LAUNCHES ? "__threadfence()"
					      : "__threadfence_system()";
}

/* Two strong accesses, of which one doesn't reach the other's thread. */
static bool is_scope_small(const struct race_finding *f, enum race_apart apart)
{
	const struct race_side *s = f->sides;

	return has_both(f) && s[0].strength != RACE_WEAK && s[1].strength != RACE_WEAK &&
	       f->cls == RACE_CLASS_RACE && race_is_kept_pair(f->kind) &&
	       (s[0].scope < scope_for(apart) || s[1].scope < scope_for(apart));
}

/* Whose scope is too small. */
static const char *who_of(const struct race_finding *f, enum race_apart apart)
{
	enum race_scope need = scope_for(apart);
	bool first = f->sides[0].scope < need, second = f->sides[1].scope < need;

	return first && second ? "both accesses"
	       : second	       ? "the second access"
			       : "the first access";
}

static const char *sizes_of(struct base_arena *a, const struct race_finding *f)
{
	unsigned one = f->sides[0].bytes, two = f->sides[1].bytes;

	if (one == two)
		return base_printf(a,
				   "both access %u bytes, but not the same ones: let them begin at "
				   "one address",
				   one);
	return base_printf(
		a,
		"one accesses %u bytes, the other %u: access the location with one type everywhere",
		one, two);
}

/* The words for a name in braces. */
static const char *word_of(struct base_arena *a, const struct race_finding *f,
			   enum race_apart apart, const char *name, size_t n)
{
	static const char *const scopes[] = {".cta", ".cta", ".cluster", ".gpu", ".sys"};
	if (!strncmp(name, "atomic", n))
		return atomic_of(update_of(f));
	if (!strncmp(name, "fence", n))
		return fence_for(apart);
	if (!strncmp(name, "scope", n))
		return scopes[scope_for(apart)];
	if (!strncmp(name, "where", n))
		return where_of(apart);
	if (!f->sides)
		return "";
	return !strncmp(name, "who", n) ? who_of(f, apart) : sizes_of(a, f);
}

static const char *filled(struct base_arena *a, const struct race_finding *f, enum race_apart apart,
			  const char *text)
{
	const char *out = "";

	for (const char *open = strchr(text, '{'); open; open = strchr(text, '{')) {
		size_t n = strcspn(open, "}") - 1;
		out = base_printf(a, "%s%.*s%s", out, (int)(open - text), text,
				  word_of(a, f, apart, open + 1, n));
		text = open + n + 2;
	}
	return base_printf(a, "%s%s", out, text);
}

const char *race_advice(struct base_arena *a, const struct race_finding *f)
{
	enum race_apart apart = are_apart(f) ? widest(f) : RACE_APART_COUNT;
	uint32_t missing = race_missing_of(f);
	uint64_t has = traits_of(f);
	uint64_t kind = 1ull << (is_scope_small(f, apart) ? RACE_KIND_SCOPE : f->kind % 64u);
	const char *text = "";

	if (f->kind == RACE_KIND_NONE || f->kind >= RACE_KIND_COUNT)
		return "update Collider.";
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		const struct row *r = &rows[i];
		if ((!r->kinds || r->kinds & kind) && (!r->missing || r->missing & missing) &&
		    (!r->apart || r->apart >> apart & 1) && !(r->has & ~has)) {
			text = r->text;
			break;
		}
	}
	return filled(a, f, apart, text);
}
