/*
 * finding.c - names of kinds and classes, and the lists that results consist of.
 *
 * Each name appears once, in a table indexed by its enum: JSON, suppressions and options all use
 * it. The lists are short (kernels, notes, opcodes of a program) and searched linearly; findings
 * are merged by their readers, which hash.
 */
#include "race/race.h"

#include <string.h>

static const char *const class_names[RACE_CLASS_COUNT] = {
	[RACE_CLASS_RACE] = "data-race",
	[RACE_CLASS_VOLATILE] = "volatile-conflict",
	[RACE_CLASS_READ_ONLY] = "read-only-changed",
	[RACE_CLASS_SEED] = "cas-seed",
	[RACE_CLASS_POSSIBLE] = "possible",
	[RACE_CLASS_UNDECIDED] = "undecided",
	[RACE_CLASS_LOCKSTEP] = "needs-lockstep",
};
static const char *const access_names[] = {
	[RACE_ACCESS_LOAD] = "load",	   [RACE_ACCESS_STORE] = "store",
	[RACE_ACCESS_NC_LOAD] = "nc-load", [RACE_ACCESS_ATOMIC] = "atomic",
	[RACE_ACCESS_COPY] = "copy",	   [RACE_ACCESS_TRANSFER] = "host-copy",
	[RACE_ACCESS_PRODUCT] = "product",
};
static const char *const space_names[] = {
	[RACE_SPACE_GENERIC] = "generic",     [RACE_SPACE_GLOBAL] = "global",
	[RACE_SPACE_SHARED] = "shared",	      [RACE_SPACE_SHARED_CLUSTER] = "shared-cluster",
	[RACE_SPACE_MANAGED] = "managed",     [RACE_SPACE_PINNED] = "pinned",
	[RACE_SPACE_SYSTEM] = "system",	      [RACE_SPACE_TENSOR] = "tensor",
	[RACE_SPACE_REGISTERS] = "registers",
};
static const char *const why_names[] = {
	[RACE_WHY_UNKNOWN_OPCODE] = "unknown-opcode",
	[RACE_WHY_UNSUPPORTED] = "unsupported",
	[RACE_WHY_PRIVATE] = "private",
	[RACE_WHY_DEAD] = "dead",
	[RACE_WHY_KERNEL_AS_IT_WAS] = "kernel-as-it-was",
	[RACE_WHY_STRONG] = "strong",
	[RACE_WHY_ORDERS] = "orders",
	[RACE_WHY_PROVEN] = "proven",
	[RACE_WHY_PROVEN_WITHIN] = "proven-within",
	[RACE_WHY_PROVEN_GLOBAL] = "proven-global",
	[RACE_WHY_PROVEN_ALONE] = "proven-alone",
	[RACE_WHY_NOT_ASKED] = "not-asked",
	[RACE_WHY_UNDISTURBED] = "undisturbed",
	[RACE_WHY_MEANT] = "meant",
	[RACE_WHY_EXITS] = "exits",
	[RACE_WHY_LOOKED_AT] = "looked-at",
};
static const char *const agent_names[] = {
	[RACE_AGENT_NONE] = "none",	    [RACE_AGENT_ATTACHED] = "attached",
	[RACE_AGENT_NO_CUPTI] = "no-cupti", [RACE_AGENT_BUSY] = "busy",
	[RACE_AGENT_FAILED] = "failed",
};
static const char *const memory_names[] = {
	[RACE_MEMORY_UNKNOWN] = "unknown",	 [RACE_MEMORY_SHARED] = "shared",
	[RACE_MEMORY_VARIABLE] = "variable",	 [RACE_MEMORY_DEVICE] = "device",
	[RACE_MEMORY_MANAGED] = "managed",	 [RACE_MEMORY_HOST] = "host",
	[RACE_MEMORY_REGISTERED] = "registered", [RACE_MEMORY_HEAP] = "heap",
	[RACE_MEMORY_TENSOR] = "tensor",
};
static const char *const update_names[] = {
	[RACE_UPDATE_NONE] = "none", [RACE_UPDATE_ADD] = "add",	    [RACE_UPDATE_MIN] = "min",
	[RACE_UPDATE_MAX] = "max",   [RACE_UPDATE_AND] = "and",	    [RACE_UPDATE_OR] = "or",
	[RACE_UPDATE_XOR] = "xor",   [RACE_UPDATE_OTHER] = "other", [RACE_UPDATE_CHECK] = "check",
};
static const char *const may_names[] = {[RACE_MAY_NOTHING] = "nothing",
#define RACE_MAY_NAME(id, name, text) [RACE_MAY_##id] = name,
					RACE_MAYS(RACE_MAY_NAME)};
static const char *const may_texts[] = {[RACE_MAY_NOTHING] =
						"something that the detector doesn't follow",
#define RACE_MAY_TEXT(id, name, text) [RACE_MAY_##id] = text,
					RACE_MAYS(RACE_MAY_TEXT)};
RACE_STATIC_ASSERT(BASE_COUNTOF(memory_names) == RACE_MEMORY_TENSOR + 1, "a name per memory");
RACE_STATIC_ASSERT(BASE_COUNTOF(update_names) == RACE_UPDATE_CHECK + 1, "a name per update");
RACE_STATIC_ASSERT(BASE_COUNTOF(access_names) == RACE_ACCESS_PRODUCT + 1, "a name per access");
RACE_STATIC_ASSERT(BASE_COUNTOF(space_names) == RACE_SPACE_REGISTERS + 1, "per space");
RACE_STATIC_ASSERT(BASE_COUNTOF(why_names) == RACE_WHY_LOOKED_AT + 1, "a name per reason");
RACE_STATIC_ASSERT(BASE_COUNTOF(agent_names) == RACE_AGENT_FAILED + 1, "a name per state");

static const char *name_of(const char *const *names, size_t n, unsigned i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

/* ---- names ---------------------------------------------------------------- */

const char *race_kind_name(unsigned kind)
{
	return kind < RACE_KIND_COUNT && race_kinds[kind].name ? race_kinds[kind].name : "unknown";
}

const char *race_class_name(unsigned cls)
{
	return name_of(class_names, BASE_COUNTOF(class_names), cls);
}

const char *race_access_name(unsigned access)
{
	return name_of(access_names, BASE_COUNTOF(access_names), access);
}

const char *race_space_name(unsigned space)
{
	return name_of(space_names, BASE_COUNTOF(space_names), space);
}

const char *race_why_name(unsigned why)
{
	return name_of(why_names, BASE_COUNTOF(why_names), why);
}

const char *race_agent_name(unsigned agent_state)
{
	return name_of(agent_names, BASE_COUNTOF(agent_names), agent_state);
}

const char *race_memory_name(unsigned memory)
{
	return name_of(memory_names, BASE_COUNTOF(memory_names), memory);
}

const char *race_update_name(unsigned update)
{
	return name_of(update_names, BASE_COUNTOF(update_names), update);
}

const char *race_may_name(unsigned may)
{
	return name_of(may_names, BASE_COUNTOF(may_names), may);
}

const char *race_may_text(unsigned may)
{
	return may_texts[may < RACE_MAY_COUNT ? may : RACE_MAY_NOTHING];
}

unsigned race_kind_parse(const char *name)
{
	for (unsigned i = 0; i < RACE_KIND_COUNT; i++)
		if (race_kinds[i].name && !strcmp(race_kinds[i].name, name))
			return i;
	return RACE_KIND_NONE;
}

/* ---- classes --------------------------------------------------------------- */

enum race_class race_classify(unsigned kind, unsigned record_flags, unsigned site_flags)
{
	if (kind < RACE_KIND_COUNT && race_kinds[kind].cls != RACE_CLASS_RACE)
		return race_kinds[kind].cls;
	/* A load that nvcc moved above its condition reads what the source never reads; it is the
	 * program's own read only if the value was used. */
	if (kind == RACE_KIND_SPECULATED_READ && !(record_flags & RACE_REC_USED))
		return RACE_CLASS_POSSIBLE;
	if (site_flags & RACE_SITE_VOLATILE)
		return RACE_CLASS_VOLATILE;
	/* The other side isn't known: an atomic where the program is right. */
	if (RACE_SITE_SEED(site_flags) &&
	    (kind == RACE_KIND_CLOBBERED_READ || kind == RACE_KIND_SPECULATED_READ))
		return RACE_CLASS_SEED;
	return RACE_CLASS_RACE;
}

/* ---- text ------------------------------------------------------------------- */

const char *race_text(struct base_arena *a, const char *s, size_t n)
{
	n = n ? strnlen(s, n) : 0;
	char *out = base_strndup(a, s, n);

	for (size_t i = 0; i < n;) {
		size_t len = base_utf8_length((const unsigned char *)out + i, n - i);
		if (!len)
			out[i] = '?';
		else if (len == 1 && ((unsigned char)out[i] < 0x20 || out[i] == 0x7f))
			out[i] = ' ';
		i += len ? len : 1;
	}
	return out;
}

/* ---- lists ------------------------------------------------------------------- */

static bool context_is_equal(const struct race_context *a, const struct race_context *b)
{
	return a->pid == b->pid && a->context == b->context && a->device == b->device &&
	       !strcmp(a->device_name, b->device_name);
}

/* Returns an array with room for one more element; grows at the powers of two. */
static void *array_room(struct base_arena *a, void *v, size_t n, size_t elem)
{
	if (n && (n & (n - 1)))
		return v;
	void *p = base_alloc(a, (n ? n * 2 : 1) * elem);
	if (n)
		memcpy(p, v, n * elem);
	return p;
}

void race_seen_add(struct base_arena *a, struct race_finding *f, const struct race_context *c)
{
	for (size_t i = 0; i < f->nseen; i++)
		if (context_is_equal(&f->seen[i], c))
			return;
	f->seen = array_room(a, f->seen, f->nseen, sizeof(*f->seen));
	f->seen[f->nseen++] = *c;
}

void race_site_count(struct base_arena *a, struct race_finding *f,
		     const struct race_finding_site *s)
{
	for (size_t i = 0; i < f->nsites; i++) {
		if (f->sites[i].table == s->table && f->sites[i].site == s->site) {
			f->sites[i].count += s->count;
			return;
		}
	}
	f->sites = array_room(a, f->sites, f->nsites, sizeof(*f->sites));
	f->sites[f->nsites++] = *s;
}

void race_skip_add(struct race_results *r, const struct race_skip *s)
{
	for (size_t i = 0; i < r->skips.n; i++) {
		struct race_skip *old = &r->skips.v[i];
		if (old->why == s->why && !strcmp(old->what, s->what) &&
		    !strcmp(old->func, s->func)) {
			old->count += s->count;
			return;
		}
	}
	base_vec_push(&r->skips, *s);
}

void race_kernel_add(struct race_results *r, const struct race_kernel *k)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_kernel *old = &r->kernels.v[i];
		if (old->is_instrumented == k->is_instrumented && !strcmp(old->name, k->name)) {
			old->launches += k->launches;
			old->started += k->started;
			old->checked += k->checked;
			old->last = k->last > old->last ? k->last : old->last;
			old->first = !old->first || (k->first && k->first < old->first)
					     ? k->first
					     : old->first;
			old->why |= k->why;
			old->proven += k->proven;
			old->left += k->left;
			old->sampled += k->sampled;
			return;
		}
	}
	base_vec_push(&r->kernels, *k);
}

void race_note_add(struct race_results *r, const char *s, size_t n)
{
	const char *text = race_text(&r->arena, s, n);

	for (size_t i = 0; i < r->notes.n; i++)
		if (!strcmp(r->notes.v[i], text))
			return;
	base_vec_push(&r->notes, text);
}

void race_plain_add(struct race_results *r, const char *s, size_t n)
{
	const char *text = race_text(&r->arena, s, n);

	for (size_t i = 0; i < r->plain.n; i++)
		if (!strcmp(r->plain.v[i], text))
			return;
	base_vec_push(&r->plain, text);
}

void race_context_add(struct race_results *r, const struct race_context *c)
{
	for (size_t i = 0; i < r->contexts.n; i++)
		if (context_is_equal(&r->contexts.v[i], c))
			return;
	base_vec_push(&r->contexts, *c);
}

void race_results_free(struct race_results *r)
{
	base_vec_free(&r->findings);
	base_vec_free(&r->skips);
	base_vec_free(&r->kernels);
	base_vec_free(&r->gaps);
	base_vec_free(&r->beside_kernels);
	base_vec_free(&r->plain);
	base_vec_free(&r->notes);
	base_vec_free(&r->stops);
	base_vec_free(&r->origins);
	base_vec_free(&r->launched);
	base_vec_free(&r->contexts);
	base_vec_free(&r->coverage);
	base_arena_free(&r->arena);
	memset(r, 0, sizeof(*r));
}
