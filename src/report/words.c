/*
 * words.c - the phrases of the text report.
 *
 * The English for a finding's numbers: titles, one sentence that says what was seen, values by
 * width. What helps is in race/advice/advice.def.
 */
#include "report/internal.h"

#include <math.h>
#include <string.h>

/* A speculated read whose value was used is the program's own read. */
static enum race_kind kind_shown(const struct race_finding *f)
{
	if (f->kind == RACE_KIND_SPECULATED_READ && f->cls != RACE_CLASS_POSSIBLE)
		return RACE_KIND_CLOBBERED_READ;
	return f->kind;
}

static const struct race_kind_row *row_of(const struct race_finding *f)
{
	enum race_kind kind = kind_shown(f);

	return &race_kinds[(unsigned)kind < RACE_KIND_COUNT ? kind : RACE_KIND_NONE];
}

const char *rep_class_title(enum race_class cls)
{
	switch (cls) {
	case RACE_CLASS_RACE:
		return "DATA RACE";
	case RACE_CLASS_VOLATILE:
		return "UNORDERED VOLATILE CONFLICT";
	case RACE_CLASS_READ_ONLY:
		return "READ-ONLY LOAD OF CHANGING MEMORY";
	case RACE_CLASS_SEED:
		return "UNORDERED SEED OF A COMPARE-AND-SWAP LOOP";
	case RACE_CLASS_POSSIBLE:
		return "POSSIBLE RACE";
	case RACE_CLASS_UNDECIDED:
		return "UNDECIDED PAIR";
	case RACE_CLASS_LOCKSTEP:
		return "NEEDS LOCKSTEP";
	case RACE_CLASS_COUNT:
		break;
	}
	return "FINDING";
}

const char *rep_alarm_title(enum race_class cls)
{
	switch (cls) {
	case RACE_CLASS_VOLATILE:
		return "unordered volatile conflict";
	case RACE_CLASS_READ_ONLY:
		return "read-only load of changing memory";
	case RACE_CLASS_LOCKSTEP:
		return "race that lockstep hides";
	default:
		return "data race";
	}
}

const char *rep_kind_title(const struct race_finding *f)
{
	if (f->sides)
		return rep_pair_title(f);
	if (race_space_is_host(f->space))
		return f->kind == RACE_KIND_LOST_UPDATE ? "lost update in host code"
							: "clobbered read in host code";
	if (f->transfer)
		return rep_transfer_title(f);
	if (row_of(f)->title)
		return row_of(f)->title;
	return "unknown kind";
}

static const char *host_sentence(const struct race_finding *f)
{
	if (f->kind == RACE_KIND_LOST_UPDATE)
		return "Host code was about to WRITE, and the GPU or another thread of the host "
		       "wrote\n"
		       "there at the same time: nothing orders the two writes, so either may stay.";
	return "Host code READ a value, and the GPU or another thread of the host changed it "
	       "at\n"
	       "the same time: nothing orders the read and that write.";
}

/* The two sides of an asynchronous copy; NULL: not one of them. */
static const char *copy_sentence(const struct race_finding *f)
{
	if (f->access != RACE_ACCESS_COPY)
		return NULL;
	if (f->kind == RACE_KIND_CLOBBERED_READ)
		return "This asynchronous copy READ its source, and another thread changed it "
		       "meanwhile:\n"
		       "nothing orders the copy and that write.";
	if (f->kind == RACE_KIND_LOST_UPDATE)
		return "This asynchronous copy WROTE to its destination, and something else wrote\n"
		       "there at the same time: nothing orders the two.";
	return NULL;
}

const char *rep_kind_sentence(const struct race_finding *f)
{
	if (f->cls == RACE_CLASS_SEED)
		return "This plain load is the first guess of a compare-and-swap loop, and nothing "
		       "orders it "
		       "with an\n"
		       "atomic: a race by the memory model. A guess that is wrong makes the swap "
		       "fail, "
		       "which returns\n"
		       "the right value, so the loop ends right.";
	if (f->sides)
		return rep_pair_sentence(f);
	if (race_space_is_host(f->space))
		return host_sentence(f);
	if (f->transfer)
		return rep_transfer_sentence(f);
	if (copy_sentence(f))
		return copy_sentence(f);
	if (row_of(f)->sentence)
		return row_of(f)->sentence;
	return "This version of Collider doesn't know the kind.";
}

const char *rep_noun(struct base_arena *a, uint64_t n, const char *noun)
{
	size_t len = strlen(noun);
	char last = noun[len - 1], before = len > 1 ? noun[len - 2] : ' ';

	if (n == 1)
		return noun;
	if (last == 'y' && !strchr("aeiou", before))
		return base_printf(a, "%.*sies", (int)(len - 1), noun);
	if (strchr("sxz", last) || (last == 'h' && strchr("cs", before)))
		return base_printf(a, "%ses", noun);
	return base_printf(a, "%ss", noun);
}

const char *rep_count(struct base_arena *a, uint64_t n, const char *noun)
{
	return base_printf(a, "%s %s", rep_number(a, n), rep_noun(a, n, noun));
}

const char *rep_counter(struct base_arena *a, const struct race_results *r, enum race_counter_id id)
{
	return rep_count(a, race_counter_get(r, id), race_counters[id].noun);
}

const char *rep_number(struct base_arena *a, uint64_t n)
{
	char out[32];
	size_t at = sizeof(out) - 1;

	out[at] = 0;
	for (unsigned digits = 0; n || !digits; n /= 10) {
		if (digits && digits % 3 == 0)
			out[--at] = ',';
		out[--at] = (char)('0' + n % 10);
		digits++;
	}
	return base_strdup(a, out + at);
}

const char *rep_lanes(struct base_arena *a, uint32_t lanes)
{
	const char *text = "lanes ";
	const char *comma = "";

	for (unsigned i = 0; i < 32;) {
		if (!(lanes >> i & 1)) {
			i++;
			continue;
		}
		unsigned j = i;
		while (j < 31 && (lanes >> (j + 1) & 1))
			j++;
		text = j > i ? base_printf(a, "%s%s%u-%u", text, comma, i, j)
			     : base_printf(a, "%s%s%u", text, comma, i);
		comma = ", ";
		i = j + 1;
	}
	return text;
}

const char *rep_access_title(enum race_access access)
{
	switch (access) {
	case RACE_ACCESS_LOAD:
		return "load";
	case RACE_ACCESS_STORE:
		return "store";
	case RACE_ACCESS_NC_LOAD:
		return "read-only load";
	case RACE_ACCESS_ATOMIC:
		return "atomic";
	case RACE_ACCESS_COPY:
		return "asynchronous copy";
	case RACE_ACCESS_TRANSFER:
		return "operation of the host";
	case RACE_ACCESS_PRODUCT:
		return "matrix product";
	}
	return "access";
}

static const char *space_title(enum race_space space)
{
	switch (space) {
	case RACE_SPACE_GENERIC:
		return "memory";
	case RACE_SPACE_GLOBAL:
		return "global memory";
	case RACE_SPACE_SHARED:
		return "shared memory";
	case RACE_SPACE_SHARED_CLUSTER:
		return "shared memory of the cluster";
	case RACE_SPACE_MANAGED:
		return "managed memory";
	case RACE_SPACE_PINNED:
		return "pinned memory";
	case RACE_SPACE_SYSTEM:
		return "memory of the host";
	case RACE_SPACE_TENSOR:
		return "tensor memory";
	case RACE_SPACE_REGISTERS:
		return "registers";
	}
	return "memory";
}

const char *rep_access_text(struct base_arena *a, enum race_access access, enum race_space space,
			    uint32_t width, uint32_t vec)
{
	const char *many = "";

	if (access == RACE_ACCESS_COPY && !vec)
		return base_printf(a, "asynchronous bulk copy, %s", space_title(space));
	if (!width)
		return base_printf(a, "%s, %s", rep_access_title(access), space_title(space));
	if (vec > 1)
		many = base_printf(a, "%u x ", vec);
	return base_printf(a, "%s of %s%u byte%s, %s", rep_access_title(access), many, width,
			   width == 1 && vec <= 1 ? "" : "s", space_title(space));
}

const char *rep_apart_text(struct base_arena *a, const struct race_finding *f)
{
	static const char *const words[RACE_APART_COUNT] = {
		[RACE_APART_LANES] = "lanes of a warp",
		[RACE_APART_WARPS] = "warps of a block",
		[RACE_APART_CLUSTER] = "blocks of a cluster",
		[RACE_APART_BLOCKS] = "blocks",
		[RACE_APART_STREAM] = "launches in one stream",
		[RACE_APART_LAUNCHES] = "launches",
		[RACE_APART_DEVICES] = "devices",
		[RACE_APART_HOST] = "device and host",
	};
	const char *text = "";

	if (!(f->apart & (f->apart - 1)))
		return "";
	for (unsigned i = 0; i < RACE_APART_COUNT; i++)
		if (f->apart >> i & 1)
			text = base_printf(a, "%s%sbetween %s", text, *text ? ", " : "", words[i]);
	return text;
}

const char *rep_access(struct base_arena *a, const struct race_finding *f)
{
	return rep_access_text(a, f->access, f->space, f->width, f->vec);
}

/* ---- values --------------------------------------------------------------------- */

static double value_float(uint64_t bits, uint32_t width)
{
	float f;
	double d;
	uint32_t low = (uint32_t)bits;

	if (width == 4) {
		memcpy(&f, &low, sizeof(f));
		return (double)f;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* Is it a number that a program is likely to compute with? Small integers read as floats are
 * denormal. */
static bool float_is_likely(double d)
{
	return d == 0 || (isfinite(d) && fabs(d) >= 1e-12 && fabs(d) <= 1e15);
}

static const char *value_text(struct base_arena *a, const uint64_t v[2], uint32_t width,
			      bool as_float)
{
	if (width > 8)
		return base_printf(a, "0x%016llx%016llx", (unsigned long long)v[1],
				   (unsigned long long)v[0]);
	uint64_t low = width < 8 ? v[0] & ((1ull << (width * 8)) - 1) : v[0];
	if (as_float)
		return base_printf(a, "%.*g (0x%0*llx)", width == 4 ? 9 : 17,
				   value_float(low, width), (int)width * 2,
				   (unsigned long long)low);
	return base_printf(a, "%llu (0x%llx)", (unsigned long long)low, (unsigned long long)low);
}

const char *rep_values(struct base_arena *a, const struct race_finding *f)
{
	const struct race_first *o = &f->first;
	uint32_t width = o->width;

	if (!width)
		return "";
	if (width > 16)
		return base_printf(a, "FNV-1a sum of %u bytes was 0x%08llx, then 0x%08llx", width,
				   (unsigned long long)o->was[0], (unsigned long long)o->now[0]);
	/* The PTX type is not in the record; both values decide together, zero is neutral. */
	bool as_float = (width == 4 || width == 8) && (o->was[0] || o->now[0]) &&
			float_is_likely(value_float(o->was[0], width)) &&
			float_is_likely(value_float(o->now[0], width));
	const char *was = value_text(a, o->was, width, as_float);
	const char *now = value_text(a, o->now, width, as_float);
	const char *type = base_printf(a, "%s%u",
				       as_float	   ? "f"
				       : width > 8 ? "b"
						   : "u",
				       width * 8);

	if (race_space_is_host(f->space) && f->kind == RACE_KIND_LOST_UPDATE)
		return base_printf(a, "before the write found %s, then %s, as %s", was, now, type);
	switch (kind_shown(f)) {
	case RACE_KIND_LOST_UPDATE:
		return base_printf(a, "wrote %s, found %s, as %s", was, now, type);
	case RACE_KIND_INTRA_WARP:
		if (!strcmp(was, now))
			return base_printf(a, "one of the lanes wrote %s, as %s", was, type);
		return base_printf(a, "lanes wrote %s and %s, as %s", was, now, type);
	case RACE_KIND_INTRA_WARP_SAME:
		return base_printf(a, "all of them wrote %s, as %s", was, type);
	default:
		return base_printf(a, "read %s, found %s, as %s", was, now, type);
	}
}

/* ---- what helps ------------------------------------------------------------------------------ */

void rep_help_put(struct base_buf *out, const char *text, const char *unless)
{
	base_buf_printf(out, "    What usually helps%s:", unless);
	for (const char *lead = " "; *text; lead = "      ") {
		size_t n = strcspn(text, "\n");
		base_buf_printf(out, "%s%.*s\n", lead, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

void rep_proof_help_put(struct base_buf *out, const struct race_proof *k,
			const struct race_alarm *al)
{
	struct base_arena a = {0};
	const char *text = race_proof_helps(&a, k, al);

	if (*text)
		rep_help_put(out, text, "");
	base_arena_free(&a);
}
