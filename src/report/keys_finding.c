/*
 * keys_finding.c - the line of a finding as tables: each key, where its value is, what it means.
 */
#include "report/keys.h"

#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

static const char *ignored_name(unsigned i)
{
	return race_ignored_name((enum race_ignored)i);
}

static const char *strength_name(unsigned i)
{
	return rep_strength_name((enum race_strength)i);
}

static const char *scope_name(unsigned i)
{
	return rep_scope_name((enum race_scope)i);
}

static const char *proxy_name(unsigned i)
{
	return rep_proxy_name((enum race_proxy)i);
}

OF(kinds, race_kind_name, 1, RACE_KIND_COUNT);
OF(accesses, race_access_name, 0, RACE_ACCESS_PRODUCT + 1);
OF(spaces, race_space_name, 0, RACE_SPACE_REGISTERS + 1);
OF(memories, race_memory_name, 0, RACE_MEMORY_TENSOR + 1);
OF(updates, race_update_name, 0, RACE_UPDATE_CHECK + 1);
OF(missing, race_missing_name, 0, RACE_MISSING_COUNT);
OF(apart, race_apart_name, 0, RACE_APART_COUNT);
OF(ignored, ignored_name, 0, RACE_IGNORED_COUNT);
OF(strengths, strength_name, 0, RACE_SC + 1);
OF(scopes, scope_name, 0, RACE_SCOPE_SYS + 1);
OF(proxies, proxy_name, 0, RACE_PROXY_TEXTURE + 1);
static const struct rep_names may_order = {
	.id = "may_order", .of = race_may_name, .n = RACE_MAY_COUNT, .is_long = true};
const struct rep_names rep_class_names = {
	.id = "classes", .of = race_class_name, .first = 1, .n = RACE_CLASS_COUNT};

/* ---- its parts ------------------------------------------------------------------------------ */

#define S struct race_inlined
static const struct rep_key inlined_keys[] = {
	PLACE(func_shown, func, file, line, col),
	KEY("unsure", BOOL, is_unsure, "true where the compiler's lines lead to other calls, too",
	    IF_SET),
};
static REP_OBJECT(inlined, S);
#undef S

#define S struct race_first
static const struct rep_key first_keys[] = {
	KEY("thread", DIM, thread, NULL),
	KEY("block", DIM, block,
	    "of host code the first number of `thread` counts the host's threads (0: the main "
	    "one)"),
	KEY("address", HEX, address, "the byte where the two differ, or meet"),
	KEY("address_is_generic", BOOL, is_generic, "else it is one of the access's space"),
	KEY("width", NUMBER, width, "bytes that were compared"),
	KEY("was", HEX, was, NULL),
	KEY("now", HEX, now,
	    "the value loaded or stored, and the one found; with a width above 16 both are FNV-1a "
	    "sums of that many bytes from `address` on"),
	KEY("lanes", HEX, lanes, "mask of the lanes of a finding within a warp, else `\"0x0\"`"),
	KEY("grid", NUMBER, grid, "number of the launch"),
	KEY("sm", NUMBER, sm, "the multiprocessor"),
};
static REP_OBJECT(first, S);
#undef S

#define S struct race_finding_site
static const struct rep_key site_keys[] = {
	KEY("table", HEX, table, "hash of the site table"),
	KEY("site", NUMBER, site, "index in it"),
	KEY("ptx_line", NUMBER, ptx_line, "line of the module's PTX"),
	KEY("ptx", TEXT, text,
	    "the instruction; of host code the program's or library's file, and an offset in it"),
	KEY("count", NUMBER, count, "occurrences"),
};
static REP_OBJECT(site, S);
#undef S

#define S struct race_object
static const struct rep_key memory_keys[] = {
	KEY("kind", NAME, memory,
	    "`variable` of a module, `device` from cudaMalloc, `host` from cudaMallocHost, `heap` "
	    "from malloc in a kernel",
	    NAMES(memories)),
	KEY("name", TEXT, name, "the variable's, else `\"\"`"),
	KEY("base", HEX, base, NULL),
	KEY("bytes", NUMBER, bytes, "of the variable or allocation, 0: unknown"),
	KEY("block", DIM, owner, "of shared memory: whose"),
};
static REP_OBJECT(memory, S);
#undef S

#define S struct race_side
static const struct rep_key launch_keys[] = {
	PLACE(launched_shown, launched.func, launched.file, launched.line, launched.col),
};
static REP_OBJECT(launch, S);

static bool is_launched(const void *s)
{
	const struct race_side *side = s;

	return *side->launched.func || side->launched.line;
}

static bool has_stream(const void *s)
{
	return ((const struct race_side *)s)->stream;
}

static void stream_put(struct base_json *o, const char *key, const void *s)
{
	base_json_number(o, key, ((const struct race_side *)s)->stream - 1u);
}

static void stream_get(struct base_arena *a, const cJSON *v, void *s)
{
	uint64_t n = rep_number_get(v);

	(void)a;
	if (v)
		((struct race_side *)s)->stream = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX) + 1u;
}

static const struct rep_key side_keys[] = {
	PLACE(func_shown, func, file, line, col),
	KEY("inlined_at", LIST, inlined, "as in the finding", REP_COUNT(ninlined),
	    OF_OBJECT(inlined)),
	KEY("kernel", TEXT, kernel,
	    "the one that was launched, `\"\"` for an operation of the host"),
	{.name = "launched",
	 .form = REP_FORM_OBJECT,
	 .means = "on the CPU device, where it is known: the program's own call that launched the "
		  "kernel; without `-g` for host code the function only",
	 IF(is_launched),
	 OF_OBJECT(launch)},
	KEY("access", NAME, access, NULL, NAMES(accesses)),
	KEY("space", NAME, space, NULL, NAMES(spaces)),
	KEY("width", NUMBER, width, NULL),
	KEY("vector", NUMBER, vec, "as in the finding"),
	KEY("bytes", NUMBER, bytes, "of the whole access, 0: more than 2^32"),
	KEY("strength", NAME, strength, "`sc`: fences only", NAMES(strengths)),
	KEY("scope", NAME, scope, "of a strong access", NAMES(scopes)),
	KEY("proxy", NAME, proxy, "the way to memory", NAMES(proxies)),
	KEY("reads", FLAG, flags, NULL, .arg = RACE_SIDE_READS),
	KEY("writes", FLAG, flags, "an atomic does both", .arg = RACE_SIDE_WRITES),
	KEY("volatile", FLAG, flags, "the access is volatile", .arg = RACE_SIDE_VOLATILE),
	KEY("async", FLAG, flags, "an asynchronous copy of that thread", .arg = RACE_SIDE_ASYNC),
	KEY("host", FLAG, flags,
	    "a copy or fill of the host: no thread, and `ptx` says which: the function called, or "
	    "`copy`, `fill`, and the stream; its place is the call",
	    .arg = RACE_SIDE_HOST),
	KEY("graph", FLAG, flags, "a node of a CUDA graph", .arg = RACE_SIDE_GRAPH),
	KEY("frees", FLAG, flags, "with `host`: the memory is given up", .arg = RACE_SIDE_FREES),
	KEY("mbarrier", FLAG, flags, "an operation of an mbarrier", .arg = RACE_SIDE_MBARRIER),
	KEY("some_thread", FLAG, flags,
	    "where it is true: a thread other than `thread`, which was kept for several, is meant",
	    .arg = RACE_SIDE_SOME, IF_SET),
	KEY("thread", DIM, thread, NULL),
	KEY("block", DIM, block, "x, y, z"),
	KEY("address", HEX, address,
	    "of shared memory: as in PTX's `.shared` space, where the first variable lies at "
	    "0x400"),
	KEY("device", INT, device, "-1: the host"),
	KEY("grid", NUMBER, grid, "number of the launch"),
	KEY("cluster", NUMBER, cluster, "number in the grid"),
	KEY("warp", NUMBER, warp, "number in the block"),
	KEY("update", NAME, update,
	    "the access is the load or the store of `x += 1` or the like; `check`: of `if (x == 0) "
	    "x = 1`",
	    NAMES(updates)),
	MADE("stream", "{\"type\": \"integer\", \"minimum\": 0}", "its number, where it is known",
	     IF(has_stream), .put = stream_put, .get = stream_get),
	KEY("line_is_near", BOOL, is_near, "as in the finding"),
	KEY("ptx", TEXT, text, NULL),
	KEY("ptx_line", NUMBER, ptx_line, "the instruction, and its line in the module's PTX"),
};
static REP_OBJECT(side, S);
#undef S

#define S struct race_transfer_op
static const struct rep_key transfer_keys[] = {
	KEY("api", TEXT, api, "the function called"),
	KEY("module", TEXT, module, NULL),
	KEY("offset", HEX, offset, "the file that called it, and where"),
	KEY("stream", HEX, stream, "the stream's handle"),
	KEY("bytes", NUMBER, bytes, "of the operation"),
	KEY("at", NUMBER, at, "which of them changed"),
	KEY("origin", NUMBER, origin, "number of the call site, 0: none"),
};
static REP_OBJECT(transfer, S);
#undef S

#define S struct race_also
static const struct rep_key also_keys[] = {
	KEY("kind", NAME, kind, NULL, NAMES(kinds)),
	KEY("count", NUMBER, count, "within the finding's `count`"),
};
static REP_OBJECT(also, S);
#undef S

#define S struct race_line
static void demangled_put(struct base_json *o, const char *key, const void *s)
{
	struct base_arena a = {0};

	base_json_text(o, key, race_demangle(&a, ((const struct race_line *)s)->func));
	base_arena_free(&a);
}

static const struct rep_key line_keys[] = {
	MADE("function", "{\"type\": \"string\"}", NULL, .put = demangled_put),
	KEY("function_mangled", TEXT, func, NULL),
	KEY("file", TEXT, file, "as above"),
	KEY("line", NUMBER, line, NULL),
	KEY("column", NUMBER, col, "in the source"),
};
static REP_OBJECT(line, S);
#undef S

static bool has_sides(const void *s)
{
	return ((const struct rep_entry *)s)->f.sides;
}

static void counts_put(struct base_json *o, const char *key, const void *s)
{
	const struct rep_entry *e = s;

	base_json_bool(o, key, e->f.cls == RACE_CLASS_RACE && !e->ignored);
}

static bool has_functions(const void *s)
{
	return ((const struct rep_entry *)s)->nfunctions > 1;
}

static void functions_put(struct base_json *o, const char *key, const void *s)
{
	const struct rep_entry *e = s;

	base_json_array(o, key);
	for (size_t i = 0; i < e->nfunctions && i < REP_FUNCTIONS; i++)
		base_json_text(o, NULL, e->functions[i]);
	base_json_array_end(o);
}

/* Of a saved report; NULL: its own alone. */
static void functions_get(struct base_arena *a, const cJSON *v, void *s)
{
	struct race_finding *f = &((struct rep_entry *)s)->f;
	const cJSON *e;

	if (cJSON_GetArraySize(v))
		f->functions = BASE_NEWN(a, const char *, cJSON_GetArraySize(v));
	cJSON_ArrayForEach(e, v)
	{
		const char *name = cJSON_IsString(e) ? e->valuestring : "";
		f->functions[f->nfunctions++] = race_text(a, name, strlen(name));
	}
}

static void advice_put(struct base_json *o, const char *key, const void *s)
{
	struct base_arena a = {0};

	base_json_text(o, key, race_advice(&a, &((const struct rep_entry *)s)->f));
	base_arena_free(&a);
}

#define S struct rep_entry
static const struct rep_key finding_keys[] = {
	TYPE("finding"),
	KEY("class", NAME, f.cls, "how sure it is", NAMES(rep_class_names)),
	KEY("kind", NAME, f.kind, "([what they mean](soundness.md))", NAMES(kinds)),
	MADE("counts", "{\"type\": \"boolean\"}",
	     "counts for `--error-exitcode`: a data race that isn't ignored", .put = counts_put),
	KEY("ignored", NAME, ignored, "why the text report leaves it out; `known`: `--new-since`",
	    NAMES(ignored)),
	KEY("same_value", BOOL, f.is_same_value,
	    "where it is true: two unordered stores that left equal values in each sighting",
	    IF_SET),
	KEY("judged", TEXT, f.judged,
	    "by whom and of what, where that isn't the run of the program", IF_SET),
	KEY("may_order", NAME, f.may,
	    "of an undecided pair: what may order the two ([the "
	    "words](soundness.md#undecided-pairs))",
	    NAMES(may_order), IF_SET),
	PLACE(f.func_shown, f.func, f.file, f.line, f.col),
	KEY("inlined_at", LIST, f.inlined,
	    "inlined calls, innermost first: the inlined function, and the place of its call",
	    REP_COUNT(f.ninlined), OF_OBJECT(inlined)),
	MADE("functions", "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}",
	     "only where the same finding is in several functions or instances of a template: the "
	     "first 8 names",
	     IF(has_functions), .put = functions_put, .get = functions_get),
	KEY("launched", LIST, f.launched,
	    "kinds without sides: calls of the program that launched the kernel (up to 4 different "
	    "ones)",
	    REP_COUNT(f.nlaunched), OF_OBJECT(line), IF_SET),
	KEY("access", NAME, f.access,
	    "`copy`: one side of an asynchronous copy (`kind` clobbered-read is its source, "
	    "lost-update its destination); `host-copy`: a copy or fill of the host, see "
	    "`transfer`; "
	    "`product`: a wgmma",
	    NAMES(accesses)),
	KEY("space", NAME, f.space,
	    "`tensor` (addresses: a lane << 16 + a column), `registers` (of the thread; no "
	    "address); of host code `managed`, `pinned`, `system`",
	    NAMES(spaces)),
	KEY("width", NUMBER, f.width, NULL),
	KEY("vector", NUMBER, f.vec,
	    "bytes of an element and elements, of the widest access of the line"),
	KEY("volatile", BOOL, f.is_volatile, "the access is volatile"),
	KEY("line_is_near", BOOL, f.is_near,
	    "the instruction has no line; it is that of the nearest one"),
	KEY("update", NAME, f.update,
	    "of collide: the access is the load or the store of `x += 1` or the like, as in `side`",
	    NAMES(updates)),
	KEY("module", TEXT, f.module, NULL),
	KEY("target", TEXT, f.target, "the module's source and `sm_...`"),
	KEY("count", NUMBER, f.count, "occurrences"),
	KEY("count_is_lower_bound", BOOL, f.is_muted,
	    "a site stopped counting at 2^20: `count` or more"),
	KEY("fingerprint", PRINT, f.print,
	    "16 hex digits, the same for the same finding in another run, and after lines have "
	    "moved "
	    "([forms.md](forms.md))"),
	KEY("also", LIST, f.also,
	    "of iguard, where the same pair of lines was seen as other kinds, too; `kind` is the "
	    "most frequent one, where `inter-block` counts for `intra-block` and `its`, too, and "
	    "`intra-block` for `its`",
	    REP_COUNT(f.nalso), OF_OBJECT(also), IF_SET),
	KEY("missing", BITS, f.missing,
	    "of a pair, where it is known: what would have ordered the two "
	    "([missing.def](../src/race/layout/missing.def))",
	    NAMES(missing), IF_SET),
	KEY("apart", BITS, f.apart,
	    "of a pair, where it is known: how far apart the threads of its sightings were",
	    NAMES(apart), IF_SET),
	MADE("advice", "{\"type\": \"string\"}", "what usually helps, as the text report says it",
	     .put = advice_put),
	KEY("first", OBJECT, f.first, "a first sighting", OF_OBJECT(first)),
	KEY("memory", OBJECT, f.met,
	    "kinds with two sides: what holds the byte (`first.address`) that both access, as far "
	    "as it is known",
	    IF(has_sides), OF_OBJECT(memory)),
	KEY("side", POINTER, f.sides, NULL, IF(has_sides), OF_OBJECT(side)),
	KEY("second", POINTER, f.sides,
	    "kinds with two sides (all but those of collide): both accesses; `side` is the one "
	    "whose place the finding has",
	    .arg = 1, IF(has_sides), OF_OBJECT(side)),
	KEY("transfer", POINTER, f.transfer,
	    "with `host-copy` only. `kind` clobbered-read: its source changed, lost-update: its "
	    "destination; `thread` and `block` mean nothing",
	    IF_SET, OF_OBJECT(transfer)),
	KEY("sites", LIST, f.sites, "its PTX instructions", REP_COUNT(f.nsites), OF_OBJECT(site)),
	KEY("seen", LIST, f.seen, "contexts, as in the header", REP_COUNT(f.nseen),
	    OF_OBJECT(context)),
};
REP_OBJECT(finding, S);
#undef S
