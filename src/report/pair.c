/*
 * pair.c - the phrases for two accesses that raced, as the oracle reports them.
 *
 * What was seen and why it is a race, by kind, space and type of the accesses; and the object that
 * the two accessed.
 */
#include "report/internal.h"

#include <string.h>

static bool is_async(const struct race_finding *f)
{
	return (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_ASYNC;
}

static bool is_product(const struct race_finding *f)
{
	return f->sides[0].access == RACE_ACCESS_PRODUCT ||
	       f->sides[1].access == RACE_ACCESS_PRODUCT;
}

/* Is it the initialisation of an mbarrier, and a copy that completes on it? */
static bool is_early_mbarrier(const struct race_finding *f)
{
	return is_async(f) && f->sides[0].flags & f->sides[1].flags & RACE_SIDE_MBARRIER &&
	       (f->sides[0].strength == RACE_WEAK) != (f->sides[1].strength == RACE_WEAK);
}

/* Did the copy come before the other access had to be over? */
static bool is_early(const struct race_finding *f)
{
	uint32_t missing = race_missing_of(f);

	return missing == 1u << RACE_MISSING_REFILL || missing == 1u << RACE_MISSING_READY;
}

static bool is_same_grid(const struct race_finding *f)
{
	return f->sides[0].grid == f->sides[1].grid;
}

bool rep_is_texture(const struct race_finding *f)
{
	return f->sides[0].proxy == RACE_PROXY_TEXTURE || f->sides[1].proxy == RACE_PROXY_TEXTURE;
}

const char *rep_scope_name(enum race_scope s)
{
	static const char *const names[] = {"none", "cta", "cluster", "gpu", "sys"};

	return (unsigned)s < BASE_COUNTOF(names) ? names[s] : "unknown";
}

const char *rep_strength_name(enum race_strength s)
{
	static const char *const names[] = {"weak",    "relaxed", "acquire",
					    "release", "acq_rel", "sc"};

	return (unsigned)s < BASE_COUNTOF(names) ? names[s] : "unknown";
}

const char *rep_proxy_name(enum race_proxy p)
{
	static const char *const names[] = {"generic", "async", "tensormap", "texture"};

	return (unsigned)p < BASE_COUNTOF(names) ? names[p] : "unknown";
}

const char *rep_pair_title(const struct race_finding *f)
{
	switch (f->kind) {
	case RACE_KIND_READ_ONLY:
		if (rep_is_texture(f))
			return "texture or surface read of memory that the same launch writes";
		return race_kinds[f->kind].title;
	default:
		return race_kinds[f->kind].title;
	case RACE_KIND_UNORDERED:
		if (is_product(f))
			return "matrix product that nothing orders with another access";
		if (is_early_mbarrier(f))
			return "copy that completes on an mbarrier that may not be initialised";
		if (is_async(f))
			return is_early(f) ? "asynchronous copy that came too early"
					   : "asynchronous copy that was not waited for";
		if ((f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_FREES)
			return "memory freed while it was still used";
		/* Either side may be the one that reads: operations of the host come second. */
		if (f->is_same_value)
			return "unordered writes of equal values";
		return f->sides[0].flags & RACE_SIDE_READS ||
				       !(f->sides[1].flags & RACE_SIDE_WRITES)
			       ? "unordered read and write"
			       : "unordered writes";
	}
}

const char *rep_pair_sentence(const struct race_finding *f)
{
	if (f->cls == RACE_CLASS_POSSIBLE && f->kind == RACE_KIND_WATCH && !f->sides[1].access)
		return "Nothing orders these two accesses, but the other one was gone before it "
		       "could\n"
		       "be named: it may be the first guess of a compare-and-swap loop, which an\n"
		       "atomic doesn't harm.";
	if (f->cls == RACE_CLASS_POSSIBLE && !race_is_kept_pair(f->kind) &&
	    f->kind != RACE_KIND_PRODUCT_FENCE)
		return "Nothing orders these two accesses, but the program may never use the value "
		       "that is\n"
		       "read: the compiler may have moved the load above its condition, or widened "
		       "it.";
	if (f->kind == RACE_KIND_WATCH && (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_HOST)
		return "While a thread of the kernel was between two points of synchronisation, "
		       "host code\n"
		       "accessed the same memory: nothing orders the two, and either may come "
		       "first.";
	switch (f->kind) {
	case RACE_KIND_READ_ONLY:
		if (rep_is_texture(f))
			return "This thread READ through a texture or surface what the same launch "
			       "had WRITTEN:\n"
			       "its path to memory is not kept coherent within a launch.";
		return race_kinds[f->kind].sentence;
	default:
		return race_kinds[f->kind].sentence;
	case RACE_KIND_UNORDERED:
		if (is_product(f))
			return "A matrix product reads and writes at any time from its issue to "
			       "the wait for it: what\n"
			       "it reads wasn't there for certain when it was issued, or is used "
			       "before it was waited for.";
		if (is_early_mbarrier(f))
			return "An asynchronous copy signals this mbarrier when it is done, and "
			       "nothing orders the\n"
			       "initialisation before that: the signal may be lost, or wait for "
			       "ever.";
		if (is_async(f) && is_early(f))
			return "An asynchronous copy was issued while another thread still "
			       "accessed the memory:\n"
			       "nothing orders that access before the copy.";
		if (is_async(f))
			return "An asynchronous copy is a thread of its own; nothing orders what "
			       "it "
			       "does\n"
			       "with the other access: its completion was not waited for, or not "
			       "by "
			       "this thread.";
		if ((f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_FREES)
			return "The host freed this memory (cudaFreeAsync), and nothing orders "
			       "that after\n"
			       "the access: in another schedule the memory may be gone, or "
			       "belong to another allocation.";
		if (!is_same_grid(f))
			return "The two accesses are in different launches or operations, and "
			       "nothing\n"
			       "(stream order, event, synchronisation) lets one wait for the "
			       "other.";
		if (f->cls == RACE_CLASS_VOLATILE && f->sides[0].warp == f->sides[1].warp)
			return "Lanes of one warp access this memory, volatile, and no "
			       "__syncwarp() stands "
			       "between:\n"
			       "lanes are scheduled independently, so either access may come "
			       "first.";
		if (f->is_same_value)
			return "Two threads WROTE the same value, and nothing orders the two: the "
			       "memory "
			       "model calls this\n"
			       "a race, too, though the result was the same each time.";
		if (f->sides[0].update && f->sides[1].update)
			return "Two threads load this element, change it and store it back, and "
			       "nothing orders\n"
			       "them: what one stores in between is lost.";
		return race_kinds[f->kind].sentence;
	}
}

/* "relaxed, scope gpu" */
const char *rep_side_order(struct base_arena *a, const struct race_side *s)
{
	const char *proxy = "";

	if (s->proxy != RACE_PROXY_GENERIC)
		proxy = base_printf(a, ", %s proxy", rep_proxy_name(s->proxy));
	if (s->strength == RACE_WEAK)
		return base_printf(a, "weak%s", proxy);
	return base_printf(a, "%s%s, scope %s%s", s->flags & RACE_SIDE_VOLATILE ? "volatile: " : "",
			   rep_strength_name(s->strength), rep_scope_name(s->scope), proxy);
}

/* "tile" of "sum(float*, int)::tile". */
static const char *short_name(const char *name)
{
	const char *last = name;

	for (const char *p = strstr(name, "::"); p; p = strstr(p + 2, "::"))
		last = p + 2;
	return strpbrk(last, ")>") ? name : last;
}

const char *rep_object(struct base_arena *a, const struct race_finding *f, bool is_long)
{
	static const char *const from[] = {
		[RACE_MEMORY_VARIABLE] = "of the module's variables",
		[RACE_MEMORY_DEVICE] = "from cudaMalloc",
		[RACE_MEMORY_MANAGED] = "from cudaMallocManaged",
		[RACE_MEMORY_HOST] = "from cudaMallocHost",
		[RACE_MEMORY_REGISTERED] = "of registered host memory",
		[RACE_MEMORY_HEAP] = "from malloc in a kernel",
	};
	const struct race_object *o = &f->met;
	const char *name = is_long ? o->name : short_name(o->name);
	unsigned long long at = f->first.address - o->base;
	const char *size = rep_count(a, o->bytes, "byte");

	if (o->memory == RACE_MEMORY_UNKNOWN || o->memory > RACE_MEMORY_TENSOR)
		return "";
	if (o->memory == RACE_MEMORY_TENSOR)
		return base_printf(a, "lane %llu of column %llu, tensor memory of Block (%u,%u,%u)",
				   at / 4 % 128, at / 512, o->owner[0], o->owner[1], o->owner[2]);
	if (o->memory == RACE_MEMORY_SHARED && !o->bytes)
		return base_printf(a, "0x%llx in the shared memory of Block (%u,%u,%u)", at,
				   o->owner[0], o->owner[1], o->owner[2]);
	if (o->memory == RACE_MEMORY_SHARED)
		return base_printf(a, "byte %llu of %s%s%s, __shared__ of Block (%u,%u,%u)", at,
				   *name ? base_printf(a, "%s (", name) : "", size,
				   *name ? ")" : "", o->owner[0], o->owner[1], o->owner[2]);
	if (*name)
		return base_printf(a, "byte %llu of %s (%s), %s", at, name, size,
				   o->memory == RACE_MEMORY_MANAGED ? "__managed__" : "__device__");
	return base_printf(a, "byte %llu of %s %s at 0x%llx", at, size, from[o->memory],
			   (unsigned long long)o->base);
}
