/*
 * test_pair.c - findings of the oracle: from chunks to text and JSON lines and back, and --verify.
 *
 * COLLIDER_UPDATE_GOLDEN=1 writes golden/pairs.* instead of comparing.
 */
#include "fake.h"

#include "race/file/pair.h"
#include "report/internal.h"

#include <stdlib.h>

static const char words[] =
	"\0_Z3sumPfPKfi\0src/sum.cu\0st.global.f32 [%rd1], %f1;\0copy on stream 3\0_Z6helperi\0"
	"_ZZ3sumPfPKfiE4tile";
enum { FUNC = 1, FILE_NAME = 14, TEXT = 25, HOST_TEXT = 52, HELPER = 69, TILE = 81 };

struct chunk {
	struct race_pair pair;
	struct race_frame frame;
	char strings[sizeof(words)];
};

static struct chunk pair_of(uint32_t kind)
{
	struct chunk c = {.pair = {.count = 7,
				   .address = 0x7f0000001000,
				   .kind = kind,
				   .memory = RACE_MEMORY_DEVICE,
				   .base = 0x7f0000000c00,
				   .bytes = 4096,
				   .nframes = 1,
				   .strings = sizeof(words)}};

	for (unsigned i = 0; i < 2; i++)
		c.pair.side[i] =
			(struct race_pair_side){.address = 0x7f0000001000,
						.grid = 1,
						.func = FUNC,
						.file = FILE_NAME,
						.text = TEXT,
						.kernel = FUNC,
						.line = i ? 11 : 9,
						.col = 3,
						.ptx_line = 40 + i,
						.bytes = 4,
						.thread = {32 * i, 0, 0},
						.warp = i,
						.block = {2, 0, 0},
						.access = i ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
						.space = RACE_SPACE_GLOBAL,
						.width = 4,
						.vec = 1,
						.flags = i ? RACE_SIDE_WRITES : RACE_SIDE_READS};
	c.frame = (struct race_frame){.func = HELPER, .file = FILE_NAME, .line = 16, .col = 9};
	memcpy(c.strings, words, sizeof(words));
	return c;
}

static void put(struct fake *f, const struct chunk *c)
{
	fake_chunk(f, RACE_CHUNK_PAIR, c, offsetof(struct chunk, strings) + sizeof(words));
}

/* One of each kind, and the sides that have words of their own. */
static void all_pairs(struct fake *f)
{
	struct race_oracle o = {.accesses = 12345,
				.kernel_accesses = 12000,
				.words = 100,
				.shadow_bytes = 3200,
				.clock_bytes = 640,
				.actors = 1024,
				.launches = 2};
	struct chunk c;

	fake_open(f);
	f->head->sample = RACE_SAMPLE_NEVER;
	fake_chunk(f, RACE_CHUNK_ORACLE, &o, sizeof(o));
	c = pair_of(RACE_KIND_UNORDERED);
	c.pair.side[0].nframes = 1;
	put(f, &c);
	c = pair_of(RACE_KIND_SCOPE);
	c.pair.side[0].strength = c.pair.side[1].strength = RACE_RELAXED;
	c.pair.side[0].scope = RACE_SCOPE_CTA;
	c.pair.side[1].scope = RACE_SCOPE_GPU;
	c.pair.side[1].block[0] = c.pair.side[1].cluster = 3;
	put(f, &c);
	put(f, &(struct chunk){0});
	c = pair_of(RACE_KIND_MIXED_SIZE);
	put(f, &c);
	c = pair_of(RACE_KIND_PROXY);
	c.pair.memory = RACE_MEMORY_SHARED;
	c.pair.name = TILE;
	c.pair.address = c.pair.side[0].address = c.pair.side[1].address = 0x410;
	c.pair.base = 0x400;
	c.pair.bytes = 1028;
	c.pair.owner[0] = 2;
	c.pair.side[1].access = RACE_ACCESS_COPY;
	c.pair.side[1].proxy = RACE_PROXY_ASYNC;
	c.pair.side[1].flags |= RACE_SIDE_ASYNC;
	put(f, &c);
	c = pair_of(RACE_KIND_READ_ONLY);
	c.pair.side[0].access = RACE_ACCESS_NC_LOAD;
	put(f, &c);
	c = pair_of(RACE_KIND_UNORDERED);
	c.pair.is_possible = 1;
	c.pair.side[0].line = 12;
	put(f, &c);
	c = pair_of(RACE_KIND_UNORDERED);
	c.pair.side[1] = (struct race_pair_side){.address = 0x7f0000001000,
						 .text = HOST_TEXT,
						 .access = RACE_ACCESS_COPY,
						 .space = RACE_SPACE_GLOBAL,
						 .flags = RACE_SIDE_HOST | RACE_SIDE_WRITES};
	put(f, &c);
}

static void compare(const char *got, const char *name)
{
	char path[512];
	char *want = NULL;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	if (getenv("COLLIDER_UPDATE_GOLDEN"))
		assert_int_equal(base_write_file(path, got, strlen(got)), 0);
	assert_int_equal(base_read_file(path, &want, &n), 0);
	if (strcmp(want, got))
		fail_msg("%s differs; it is now:\n%s", name, got);
	free(want);
}

static void golden(const struct race_results *r, const struct rep_options *opt, const char *name)
{
	char *got = fake_render(r, opt);

	compare(got, name);
	free(got);
}

static void pairs_as_text(void **state)
{
	struct rep_options opt = {.source_prefix = GOLDEN_DIR};
	struct race_results r;
	struct fake f;

	(void)state;
	all_pairs(&f);
	fake_read(&f, &r);
	assert_int_equal(r.damaged, 1); /* the empty chunk */
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_RACES);
	golden(&r, &opt, "pairs.txt");
	opt.format = REP_JSON;
	golden(&r, &opt, "pairs.jsonl");
	race_results_free(&r);
	fake_close(&f);
}

/* ---- what helps, case by case ---------------------------------------------------------- */

/* Side 0 reads unless it says otherwise, in thread 0; side 1 is a store elsewhere. */
struct advice {
	const char *name;
	enum race_kind kind;
	enum race_apart distance;
	bool is_shared, is_write; /* is_write: side 0 writes as well */
	bool is_code;		  /* a side of the host is a load of its code */
	unsigned flags[2];
	const char *text; /* PTX of side 1 */
	uint8_t proxy, strength[2], scope[2];
	enum race_update update[2];
	uint32_t bytes[2], line;
	uint64_t count; /* sightings; 0: one */
};

static const struct advice advices[] = {
	{.name = "one element counted by a block",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .update = {RACE_UPDATE_ADD, RACE_UPDATE_ADD}},
	{.name = "one element counted by blocks",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .update = {RACE_UPDATE_ADD, RACE_UPDATE_ADD}},
	{.name = "smallest of all",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .update = {RACE_UPDATE_MIN, RACE_UPDATE_MIN}},
	{.name = "an update that no atomic does",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .update = {RACE_UPDATE_OTHER, RACE_UPDATE_OTHER}},
	{.name = "read after write in a warp",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_LANES,
	 .is_shared = true},
	{.name = "read after write in a warp, the first of many pairs",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_LANES,
	 .is_shared = true,
	 .count = 99},
	{.name = "read after write in a block",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true},
	{.name = "read after write in a block, half of it an update",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .update = {RACE_UPDATE_NONE, RACE_UPDATE_ADD}},
	{.name = "shared memory of the cluster",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_CLUSTER,
	 .is_shared = true},
	{.name = "read after write between blocks",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS},
	{.name = "two blocks write, different lines",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .is_write = true},
	{.name = "one line writes in a block",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_LANES,
	 .is_shared = true,
	 .is_write = true,
	 .line = 9},
	{.name = "one line writes in two blocks",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .is_write = true,
	 .line = 9},
	{.name = "plain load beside an atomic",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_BLOCKS,
	 .strength = {RACE_WEAK, RACE_RELAXED},
	 .scope = {0, RACE_SCOPE_GPU}},
	{.name = "plain store beside an atomic",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .is_write = true,
	 .strength = {RACE_WEAK, RACE_RELAXED},
	 .scope = {0, RACE_SCOPE_GPU}},
	{.name = "mbarrier used before its init is seen",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .is_write = true,
	 .flags = {RACE_SIDE_MBARRIER, RACE_SIDE_MBARRIER},
	 .strength = {RACE_WEAK, RACE_RELAXED},
	 .scope = {0, RACE_SCOPE_SYS}},
	{.name = "cp.async not waited for",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_LANES,
	 .is_shared = true,
	 .flags = {0, RACE_SIDE_ASYNC},
	 .text = "cp.async.ca.shared.global [%r1], [%rd1], 4;"},
	{.name = "bulk copy to shared memory, mbarrier not waited for",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .flags = {0, RACE_SIDE_ASYNC},
	 .proxy = RACE_PROXY_ASYNC,
	 .text = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], ...;"},
	{.name = "bulk copy to global memory, group not waited for",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .flags = {0, RACE_SIDE_ASYNC},
	 .proxy = RACE_PROXY_ASYNC,
	 .text = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;"},
	{.name = "source of a bulk copy written again",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .is_write = true,
	 .flags = {0, RACE_SIDE_ASYNC | RACE_SIDE_READS},
	 .proxy = RACE_PROXY_ASYNC,
	 .text = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;"},
	{.name = "kernel and copy of the host",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_DEVICES,
	 .flags = {0, RACE_SIDE_HOST},
	 .text = "copy on stream 3"},
	{.name = "kernel and host code",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_DEVICES,
	 .flags = {0, RACE_SIDE_HOST | RACE_SIDE_READS},
	 .is_code = true,
	 .is_write = true,
	 .text = "load at app+0x1234"},
	{.name = "two launches of one device",
	 .kind = RACE_KIND_UNORDERED,
	 .distance = RACE_APART_LAUNCHES},
	{.name = "two devices", .kind = RACE_KIND_UNORDERED, .distance = RACE_APART_DEVICES},
	{.name = "scope cta, other block",
	 .kind = RACE_KIND_SCOPE,
	 .distance = RACE_APART_BLOCKS,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .scope = {RACE_SCOPE_CTA, RACE_SCOPE_GPU}},
	{.name = "scope cta, other block of the cluster",
	 .kind = RACE_KIND_SCOPE,
	 .distance = RACE_APART_CLUSTER,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .scope = {RACE_SCOPE_GPU, RACE_SCOPE_CTA}},
	{.name = "scope cta on both sides",
	 .kind = RACE_KIND_SCOPE,
	 .distance = RACE_APART_BLOCKS,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .scope = {RACE_SCOPE_CTA, RACE_SCOPE_CTA}},
	{.name = "scope cta, other launch",
	 .kind = RACE_KIND_SCOPE,
	 .distance = RACE_APART_LAUNCHES,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .scope = {RACE_SCOPE_CTA, RACE_SCOPE_GPU}},
	{.name = "scope gpu, other device",
	 .kind = RACE_KIND_SCOPE,
	 .distance = RACE_APART_DEVICES,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .scope = {RACE_SCOPE_GPU, RACE_SCOPE_GPU}},
	{.name = "4 and 8 bytes",
	 .kind = RACE_KIND_MIXED_SIZE,
	 .distance = RACE_APART_BLOCKS,
	 .strength = {RACE_RELAXED, RACE_RELAXED},
	 .bytes = {4, 8}},
	{.name = "no fence.proxy.async",
	 .kind = RACE_KIND_PROXY,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true,
	 .flags = {0, RACE_SIDE_ASYNC},
	 .proxy = RACE_PROXY_ASYNC},
	{.name = "no fence.proxy.tensormap",
	 .kind = RACE_KIND_PROXY,
	 .distance = RACE_APART_WARPS,
	 .flags = {0, RACE_SIDE_ASYNC},
	 .proxy = RACE_PROXY_TENSORMAP},
	{.name = "read-only load", .kind = RACE_KIND_READ_ONLY, .distance = RACE_APART_BLOCKS},
	{.name = "barrier counts",
	 .kind = RACE_KIND_BARRIER_COUNT,
	 .distance = RACE_APART_WARPS,
	 .is_shared = true},
};

static void advice_side(struct race_side *o, const struct advice *c, unsigned i)
{
	enum race_apart d = i ? c->distance : RACE_APART_LANES;
	unsigned def = i ? RACE_SIDE_WRITES : c->is_write ? RACE_SIDE_WRITES : RACE_SIDE_READS;

	if (c->flags[i] & (RACE_SIDE_READS | RACE_SIDE_WRITES))
		def = 0;
	*o = (struct race_side){.func = "f",
				.file = "f.cu",
				.line = c->line ? c->line : 9 + i,
				.space = c->is_shared ? RACE_SPACE_SHARED : RACE_SPACE_GLOBAL,
				.access = c->flags[i] & RACE_SIDE_HOST
						  ? c->is_code ? RACE_ACCESS_LOAD : RACE_ACCESS_COPY
						  : (enum race_access)0,
				.bytes = c->bytes[i] ? c->bytes[i] : 4,
				.text = i && c->text ? c->text : "",
				.warp = d == RACE_APART_WARPS,
				.block = {d == RACE_APART_CLUSTER || d == RACE_APART_BLOCKS, 0, 0},
				.cluster = d == RACE_APART_BLOCKS,
				.grid = d >= RACE_APART_LAUNCHES,
				.device = d == RACE_APART_DEVICES,
				.strength = (enum race_strength)c->strength[i],
				.scope = (enum race_scope)c->scope[i],
				.proxy = i ? (enum race_proxy)c->proxy : RACE_PROXY_GENERIC,
				.update = c->update[i],
				.flags = def | c->flags[i]};
}

static void advice_fits(void **state)
{
	struct base_arena a = {0};
	struct base_buf out = {0};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(advices); i++) {
		struct race_side sides[2];
		struct race_finding f = {.kind = advices[i].kind,
					 .sides = sides,
					 .count = advices[i].count ? advices[i].count : 1};
		advice_side(&sides[0], &advices[i], 0);
		advice_side(&sides[1], &advices[i], 1);
		base_buf_printf(&out, "== %s\n%s\n%s\n-> %s\n\n", advices[i].name,
				rep_pair_title(&f), rep_pair_sentence(&f), race_advice(&a, &f));
	}
	compare(out.p, "advice.txt");
	base_buf_free(&out);
	base_arena_free(&a);
}

/* The object that holds the address, in words. */
static void objects_in_words(void **state)
{
	static const struct {
		struct race_object object;
		const char *want;
	} cases[] = {
		{{.memory = RACE_MEMORY_UNKNOWN, .name = ""}, ""},
		{{.memory = RACE_MEMORY_SHARED,
		  .name = "sum(float*)::tile",
		  .base = 0x400,
		  .bytes = 1028,
		  .owner = {2, 1, 0}},
		 "byte 256 of tile (1,028 bytes), __shared__ of Block (2,1,0)"},
		{{.memory = RACE_MEMORY_SHARED, .name = "", .base = 0x400, .bytes = 2048},
		 "byte 256 of 2,048 bytes, __shared__ of Block (0,0,0)"},
		{{.memory = RACE_MEMORY_SHARED, .name = "", .owner = {2, 1, 0}},
		 "0x500 in the shared memory of Block (2,1,0)"},
		{{.memory = RACE_MEMORY_VARIABLE,
		  .name = "(anonymous namespace)::bins",
		  .base = 0x4f0,
		  .bytes = 64},
		 "byte 16 of bins (64 bytes), __device__"},
		{{.memory = RACE_MEMORY_MANAGED, .name = "bins", .base = 0x500, .bytes = 4},
		 "byte 0 of bins (4 bytes), __managed__"},
		{{.memory = RACE_MEMORY_DEVICE, .name = "", .base = 0x400, .bytes = 4096},
		 "byte 256 of 4,096 bytes from cudaMalloc at 0x400"},
		{{.memory = RACE_MEMORY_HEAP, .name = "", .base = 0x500, .bytes = 8},
		 "byte 0 of 8 bytes from malloc in a kernel at 0x500"},
		{{.memory = RACE_MEMORY_TENSOR, .name = "", .bytes = 262144, .owner = {2, 1, 0}},
		 "lane 64 of column 2, tensor memory of Block (2,1,0)"},
	};
	struct base_arena a = {0};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct race_finding f = {.met = cases[i].object, .first.address = 0x500};
		assert_string_equal(rep_object(&a, &f, false), cases[i].want);
	}
	base_arena_free(&a);
}

/* Read back, a saved report gives the same report. */
static void pairs_survive_saving(void **state)
{
	struct rep_options json = {.format = REP_JSON}, text = {0};
	struct race_results r, again = {0};
	struct base_sink sink = {0};
	struct fake f;

	(void)state;
	all_pairs(&f);
	fake_read(&f, &r);
	char *saved = fake_render(&r, &json);
	assert_int_equal(rep_json_parse("saved", saved, strlen(saved), &again, &sink), 0);
	char *want = fake_render(&r, &text), *got = fake_render(&again, &text);
	assert_string_equal(got, want);
	free(want);
	free(got);
	free(saved);
	race_results_free(&r);
	race_results_free(&again);
	fake_close(&f);
}

/* iguard saw a pair as three kinds, once with its sides exchanged: one finding, of the most
 * frequent kind. */
static void kinds_of_one_pair(void **state)
{
	static const struct {
		uint32_t kind, count, line;
	} seen[] = {{RACE_KIND_IGUARD_WARP, 5, 9},
		    {RACE_KIND_IGUARD_BLOCK, 30, 9},
		    {RACE_KIND_IGUARD_ACQUIRE, 7, 9},
		    {RACE_KIND_IGUARD_WARP, 3, 8}};
	struct rep_options json = {.format = REP_JSON}, text = {0};
	struct race_results r, again = {0};
	struct base_sink sink = {0};
	struct fake f;

	(void)state;
	fake_open(&f);
	for (size_t i = 0; i < BASE_COUNTOF(seen); i++) {
		struct chunk c = pair_of(seen[i].kind);
		c.pair.count = seen[i].count;
		c.pair.side[0].line = seen[i].line;
		if (i == 2) {
			struct race_pair_side first = c.pair.side[0];
			c.pair.side[0] = c.pair.side[1];
			c.pair.side[1] = first;
		}
		put(&f, &c);
	}
	fake_read(&f, &r);
	char *saved = fake_render(&r, &json);
	assert_int_equal(rep_json_parse("saved", saved, strlen(saved), &again, &sink), 0);
	assert_int_equal(again.findings.n, 2);
	assert_int_equal(again.findings.v[1].kind, RACE_KIND_IGUARD_BLOCK);
	assert_int_equal(again.findings.v[1].count, 42);
	for (unsigned i = 0; i < 2; i++) {
		char *got = fake_render(i ? &again : &r, &text);
		assert_non_null(strstr(got, "Occurrences  : 42; also as "));
		assert_non_null(strstr(got, "lanes of one warp without __syncwarp() (5)"));
		assert_non_null(strstr(got, "acquire half missing (7)"));
		assert_non_null(strstr(got, "Occurrences  : 3 "));
		free(got);
	}
	free(saved);
	race_results_free(&r);
	race_results_free(&again);
	fake_close(&f);
}

/* What orders two blocks orders two lanes, too: the widest of such kinds leads, however rare. */
static void the_widest_kind_leads(void **state)
{
	static const uint32_t kinds[] = {RACE_KIND_IGUARD_WARP, RACE_KIND_IGUARD_GRID,
					 RACE_KIND_IGUARD_BLOCK};
	struct rep_options text = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	for (uint32_t i = 0; i < BASE_COUNTOF(kinds); i++) {
		struct chunk c = pair_of(kinds[i]);
		c.pair.count = i == 1 ? 1 : 20;
		put(&f, &c);
	}
	fake_read(&f, &r);
	char *got = fake_render(&r, &text);
	assert_non_null(strstr(got, "RACE: threads of two blocks without synchronisation"));
	assert_non_null(strstr(got, "Occurrences  : 41; also as "));
	free(got);
	race_results_free(&r);
	fake_close(&f);
}

/* What hirace says of a line, without the earlier one or in another instance of a template, is in
 * iguard's finding of a pair with that line; what it says of a third line isn't. */
static void history_beside_guard(void **state)
{
	static const struct {
		uint32_t line, func, shown;
		bool has_second;
	} cases[] = {{9, FUNC, 1, false},  {11, FUNC, 1, false}, {12, FUNC, 2, false},
		     {9, HELPER, 1, true}, {11, FUNC, 1, true},	 {12, FUNC, 2, true}};
	struct rep_options json = {.format = REP_JSON};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct chunk g = pair_of(RACE_KIND_IGUARD_GRID), h = pair_of(RACE_KIND_HISTORY);
		struct race_results r, again = {0};
		struct base_sink sink = {0};
		struct fake f;
		h.pair.side[0].func = cases[i].func;
		h.pair.side[0].line = cases[i].line;
		h.pair.side[1].line = cases[i].line == 11 ? 9 : 11;
		if (!cases[i].has_second)
			h.pair.side[1].line = h.pair.side[1].file = 0;
		fake_open(&f);
		put(&f, &h);
		put(&f, &g);
		fake_read(&f, &r);
		char *saved = fake_render(&r, &json);
		assert_int_equal(rep_json_parse("saved", saved, strlen(saved), &again, &sink), 0);
		assert_int_equal(again.findings.n, cases[i].shown);
		free(saved);
		race_results_free(&r);
		race_results_free(&again);
		fake_close(&f);
	}
}

/* Nothing raced: clean because accesses were judged, not because none was re-read. */
static void judged_and_clean(void **state)
{
	struct race_oracle o = {.accesses = 5, .kernel_accesses = 3, .actors = 32, .launches = 1};
	struct rep_options opt = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o));
	fake_read(&f, &r);
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_CLEAN);
	assert_int_equal(race_completeness(&r), RACE_COMPLETE);
	race_results_free(&r);
	fake_close(&f);
}

/* Offsets and sizes that point outside of the chunk. */
static void damaged_pairs(void **state)
{
	struct chunk c = pair_of(RACE_KIND_UNORDERED);
	struct race_results r = {0};
	size_t n = offsetof(struct chunk, strings) + sizeof(words);

	(void)state;
	assert_false(race_pair_read(&r, &c, sizeof(c.pair) - 1, 100));
	c.pair.strings = UINT32_MAX;
	assert_false(race_pair_read(&r, &c, n, 100));
	c.pair.strings = sizeof(words);
	c.pair.nframes = UINT32_MAX;
	assert_false(race_pair_read(&r, &c, n, 100));
	c.pair.nframes = 1;
	c.pair.kind = RACE_KIND_CLOBBERED_READ;
	assert_false(race_pair_read(&r, &c, n, 100));
	c.pair.kind = RACE_KIND_UNORDERED;
	c.pair.side[0].file = UINT32_MAX;
	c.pair.side[0].frame = UINT32_MAX;
	c.pair.side[0].nframes = 2;
	assert_true(race_pair_read(&r, &c, n, 100));
	assert_string_equal(r.findings.v[0].file, "");
	assert_int_equal(r.findings.v[0].ninlined, 0);
	race_results_free(&r);
}

/* The finding of the store in line 11 beside one pair, whose second side is in line 11, too. Is it
 * confirmed? */
static bool confirms(const struct chunk *c, const char *text, uint32_t site)
{
	struct race_results r;
	struct fake f;
	size_t which;

	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	fake_record(fake_region(&f, 0), 0, h, site, RACE_KIND_LOST_UPDATE, 1);
	put(&f, c);
	fake_read(&f, &r);
	for (size_t i = 0; i < r.findings.n; i++) {
		struct race_finding *o = &r.findings.v[i];
		if (o->sides)
			o->sides[1].text = text;
		else if (*o->file) /* the table has the file's name its own way */
			o->file = "src/sum.cu";
	}
	bool is_confirmed = !race_unconfirmed(&r, &which, 1);
	race_results_free(&r);
	fake_close(&f);
	return is_confirmed;
}

#define OF_TABLE "st.global.u32 [%rd1], %r3;"
#define OTHER	 "st.global.u32 [%rd2], %r4;"
#define AT	 0x7bd5949ea0f0u /* fake_record's address */

/* Two accesses share a line, and only one races: the other one is not confirmed. */
static void verify_instructions(void **state)
{
	struct chunk c = pair_of(RACE_KIND_UNORDERED);

	(void)state;
	assert_true(confirms(&c, OF_TABLE, SITE_STORE));
	assert_true(confirms(&c, OF_TABLE "\n", SITE_STORE));
	assert_false(confirms(&c, OTHER, SITE_STORE));
	/* Another line. */
	c.pair.side[1].line = 12;
	assert_false(confirms(&c, OF_TABLE, SITE_STORE));
}

/* An access that the oracle keeps in place of the finding's: same line, direction and object. */
static void verify_by_object(void **state)
{
	struct chunk c = pair_of(RACE_KIND_UNORDERED);

	(void)state;
	c.pair.base = AT - 0xf0;
	c.pair.bytes = 0xf0;
	assert_false(confirms(&c, OTHER, SITE_STORE));
	c.pair.bytes = 0xf1;
	assert_true(confirms(&c, OTHER, SITE_STORE));
	c.pair.side[1].flags = RACE_SIDE_READS;
	assert_false(confirms(&c, OTHER, SITE_STORE));
	c.pair.side[1].flags = RACE_SIDE_WRITES;
	c.pair.memory = RACE_MEMORY_UNKNOWN;
	assert_true(confirms(&c, OTHER, SITE_STORE));
	c.pair.memory = RACE_MEMORY_DEVICE;
	/* An access without text is known by its line alone. */
	c.pair.bytes = 1;
	assert_true(confirms(&c, "", SITE_STORE));
}

/* Without lines: function and instruction. */
static void verify_without_lines(void **state)
{
	struct chunk c = pair_of(RACE_KIND_UNORDERED);

	(void)state;
	c.pair.side[1].line = 0;
	assert_false(confirms(&c, "st.b128 [%rd7], %q1;", SITE_NO_LINE));
	memcpy(c.strings + HELPER, "bare", 5);
	c.pair.side[1].func = HELPER;
	assert_true(confirms(&c, "st.b128 [%rd7], %q1;", SITE_NO_LINE));
	assert_false(confirms(&c, "st.b128 [%rd7+16], %q1;", SITE_NO_LINE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_as_text),	 cmocka_unit_test(pairs_survive_saving),
		cmocka_unit_test(judged_and_clean),	 cmocka_unit_test(damaged_pairs),
		cmocka_unit_test(verify_instructions),	 cmocka_unit_test(verify_by_object),
		cmocka_unit_test(verify_without_lines),	 cmocka_unit_test(advice_fits),
		cmocka_unit_test(objects_in_words),	 cmocka_unit_test(kinds_of_one_pair),
		cmocka_unit_test(the_widest_kind_leads), cmocka_unit_test(history_beside_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
