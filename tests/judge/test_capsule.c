/*
 * test_capsule.c - capsules as files: what is written is read, and whatever else is read is refused
 * in a few words, or is a capsule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "judge/format.h"
#include "judge/judge.h"

#define PAGE 4096u
#define BASE 0x200000000000ull

static uint8_t ones[PAGE], twos[PAGE];
static const uint8_t params[] = {0, 0, 0, 0, 0, 0x20, 0, 0};
static const uint64_t chosen[] = {0, 3, 6};

static void fill(struct judge_capsule *c)
{
	*c = (struct judge_capsule){.program = "./app 7",
				    .kernel = "_Z1kPi",
				    .number = 12,
				    .device = 1,
				    .sms = 132,
				    .seed = 5,
				    .model = CPU_MODEL_WEAK,
				    .grid = {8, 3, 1},
				    .block = {32, 2, 1},
				    .cluster = {2, 1, 1},
				    .shared = 1024,
				    .flags = JUDGE_COOPERATIVE,
				    .page = PAGE,
				    .params = params,
				    .nparam_bytes = sizeof(params),
				    .chosen = chosen,
				    .nchosen = 3};
	memset(ones, 1, sizeof(ones));
	memset(twos, 2, sizeof(twos));
	base_vec_push(&c->texts,
		      ((struct judge_text){.file = "a.ptx", .text = ".version 9.0", .bytes = 12}));
	base_vec_push(&c->memory, ((struct cpu_mem_info){.base = BASE, .bytes = 3 * PAGE + 100}));
	base_vec_push(&c->memory, ((struct cpu_mem_info){.base = BASE + (1 << 20),
							 .bytes = 64,
							 .kind = CPU_MEM_MODULE,
							 .is_heap = true}));
	base_vec_push(&c->pages, ((struct judge_page){BASE, PAGE, ones}));
	base_vec_push(&c->pages, ((struct judge_page){BASE + PAGE, PAGE, twos}));
	base_vec_push(&c->pages, ((struct judge_page){BASE + 2 * PAGE, PAGE, ones}));
	base_vec_push(&c->pages, ((struct judge_page){BASE + 3 * PAGE, 100, ones}));
	base_vec_push(&c->places, ((struct judge_place){0, 1, "level", BASE + (1 << 20), 64}));
	struct judge_texture t = {.handle = 3,
				  .t = {.address = BASE,
					.width = 16,
					.channels = 4,
					.bits = 32,
					.type = CPU_TEX_FLOAT,
					.is_array = true,
					.border = {0, 1, 2, 3}}};
	base_vec_push(&c->textures, t);
}

static void file_name(char *path, size_t n)
{
	snprintf(path, n, "/tmp/collider-capsule-%d", (int)getpid());
}

static void test_round(void **state)
{
	struct judge_capsule a, b;
	char path[64];

	(void)state;
	file_name(path, sizeof(path));
	fill(&a);
	assert_int_equal(judge_capsule_write(&a, path), 0);
	assert_null(judge_capsule_read(&b, path));
	unlink(path);
	assert_string_equal(b.program, a.program);
	assert_string_equal(b.kernel, a.kernel);
	assert_int_equal(b.number, 12);
	assert_int_equal(b.sms, 132);
	assert_int_equal(b.model, CPU_MODEL_WEAK);
	assert_memory_equal(b.grid, a.grid, sizeof(a.grid));
	assert_memory_equal(b.block, a.block, sizeof(a.block));
	assert_memory_equal(b.cluster, a.cluster, sizeof(a.cluster));
	assert_true(b.shared == 1024 && b.flags == JUDGE_COOPERATIVE && b.page == PAGE);
	assert_int_equal(b.nparam_bytes, sizeof(params));
	assert_memory_equal(b.params, params, sizeof(params));
	assert_int_equal(b.nchosen, 3);
	assert_memory_equal(b.chosen, chosen, sizeof(chosen));
	assert_int_equal(b.texts.n, 1);
	assert_string_equal(b.texts.v[0].text, ".version 9.0");
	assert_int_equal(b.memory.n, 2);
	assert_true(b.memory.v[1].is_heap && b.memory.v[1].kind == CPU_MEM_MODULE);
	assert_int_equal(b.pages.n, 4);
	assert_int_equal(b.pages.v[3].bytes, 100);
	assert_memory_equal(b.pages.v[1].data, twos, PAGE);
	/* Equal pages are there once. */
	assert_ptr_equal(b.pages.v[0].data, b.pages.v[2].data);
	assert_int_equal(b.places.v[0].nth, 1);
	assert_string_equal(b.places.v[0].name, "level");
	assert_int_equal(b.textures.n, 1);
	/* (Without the padding between the two parts.) */
	const struct cpu_texture *bt = &b.textures.v[0].t, *at = &a.textures.v[0].t;
	assert_int_equal(b.textures.v[0].handle, a.textures.v[0].handle);
	assert_memory_equal(bt, at, offsetof(struct cpu_texture, is_unit) + 1);
	assert_memory_equal(bt->border, at->border, sizeof(at->border));
	/* The number doesn't make it another launch; a byte of its memory does. */
	assert_int_equal(judge_capsule_sum(&a), judge_capsule_sum(&b));
	a.number++;
	assert_int_equal(judge_capsule_sum(&a), judge_capsule_sum(&b));
	twos[7]++;
	assert_true(judge_capsule_sum(&a) != judge_capsule_sum(&b));
	judge_capsule_free(&a);
	judge_capsule_free(&b);
}

/* A capsule's body, and a file made of some body. */
static uint8_t *body_of(size_t *n)
{
	struct judge_capsule c;
	struct judge_head h;
	char path[64], *data;
	size_t size;

	file_name(path, sizeof(path));
	fill(&c);
	assert_int_equal(judge_capsule_write(&c, path), 0);
	judge_capsule_free(&c);
	assert_int_equal(base_read_file(path, &data, &size), 0);
	unlink(path);
	memcpy(&h, data, sizeof(h));
	uint8_t *body = malloc(h.bytes);
	*n = ZSTD_decompress(body, h.bytes, data + sizeof(h), size - sizeof(h));
	assert_int_equal(*n, h.bytes);
	free(data);
	return body;
}

static const char *parse_body(const uint8_t *body, size_t n)
{
	struct judge_head h = {.magic = JUDGE_MAGIC,
			       .version = JUDGE_VERSION,
			       .bytes = n,
			       .sum = base_hash(body, n, BASE_FNV_INIT)};
	size_t room = sizeof(h) + ZSTD_compressBound(n);
	uint8_t *file = malloc(room);
	struct judge_capsule c;

	memcpy(file, &h, sizeof(h));
	size_t m = ZSTD_compress(file + sizeof(h), room - sizeof(h), body, n, 1);
	/* In a block of its very size, so that a sanitizer sees what is read beyond it. */
	uint8_t *exact = malloc(sizeof(h) + m);
	memcpy(exact, file, sizeof(h) + m);
	const char *why = judge_capsule_parse(&c, exact, sizeof(h) + m);
	/* What was read can be written. */
	if (!why)
		(void)judge_capsule_sum(&c);
	judge_capsule_free(&c);
	free(exact);
	free(file);
	return why;
}

static void test_cut(void **state)
{
	size_t n;
	uint8_t *body = body_of(&n);

	(void)state;
	assert_null(parse_body(body, n));
	for (size_t i = 0; i < n; i += i < 1024 ? 1 : 97)
		assert_non_null(parse_body(body, i));
	free(body);
}

/* Bodies with bytes changed: only their numbers can be wrong, and each is refused or taken. */
static void test_mutants(void **state)
{
	size_t n, refused = 0, taken = 0;
	uint8_t *body = body_of(&n);
	uint64_t rng = 7;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint8_t was[4];
		size_t at[4];
		for (unsigned i = 0; i < 4; i++) {
			rng = rng * 6364136223846793005ull + 1442695040888963407ull;
			/* Mostly the first bytes: the launch, not the contents of pages. */
			at[i] = (size_t)(rng >> 33) % (rng >> 20 & 7 ? 700 : n);
			was[i] = body[at[i]];
			body[at[i]] = rng >> 60 & 1 ? 0xff : (uint8_t)(rng >> 24);
		}
		*(parse_body(body, n) ? &refused : &taken) += 1;
		for (unsigned i = 4; i-- > 0;)
			body[at[i]] = was[i];
	}
	assert_true(refused > 500 && taken > 50);
	assert_null(parse_body(body, n));
	free(body);
}

static void test_other_files(void **state)
{
	struct judge_capsule c;
	struct judge_head h = {.magic = JUDGE_MAGIC, .version = JUDGE_VERSION + 1};

	(void)state;
	assert_non_null(judge_capsule_read(&c, "/nowhere/at/all"));
	assert_string_equal(judge_capsule_parse(&c, "", 0),
			    "not a capsule (collider run --capsules writes them)");
	assert_non_null(strstr(judge_capsule_parse(&c,
						   "\x7f"
						   "ELF and more",
						   13),
			       "not a capsule"));
	assert_string_equal(judge_capsule_parse(&c, &h, sizeof(h)),
			    "a capsule of another version of Collider");
	h.version = JUDGE_VERSION;
	assert_string_equal(judge_capsule_parse(&c, &h, 20), "cut off");
	assert_string_equal(judge_capsule_parse(&c, &h, sizeof(h)), "cut off or damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
