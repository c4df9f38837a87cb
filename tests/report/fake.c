/*
 * fake.c - builds what tests read: a table, a shared file, records.
 */
#include "fake.h"
#include "race/file/shm_write.h"

#include <stdio.h>
#include <stdlib.h>

void fake_open(struct fake *f)
{
	f->bytes = RACE_SHM_HEAP + FAKE_HEAP;
	/* Regions are aligned to pages, as in the mapping. */
	f->map = aligned_alloc(4096, f->bytes);
	assert_non_null(f->map);
	memset(f->map, 0, f->bytes);
	f->head = (struct race_shm *)f->map;
	f->head->magic = RACE_SHM_MAGIC;
	f->head->version = RACE_SHM_VERSION;
	f->head->agent_state = RACE_AGENT_ATTACHED;
	f->head->heap_limit = FAKE_HEAP;
	f->head->nprocesses = 1;
	f->head->rdelay = 5000;
	f->head->wdelay = 1;
	f->head->sample = 1;
}

void fake_close(struct fake *f)
{
	free(f->map);
}

struct race_region *fake_region(struct fake *f, unsigned i)
{
	struct race_region *r = (struct race_region *)(f->map + RACE_SHM_REGION0) + i;

	if (f->head->nregions <= i)
		f->head->nregions = i + 1;
	r->state = RACE_REGION_CLOSED;
	r->pid = 100;
	r->context = i;
	strcpy(r->device_name, "Fake GPU");
	r->checked = 1000;
	r->launches = r->host_launches = 1;
	r->modules = 1;
	r->exact = 1;
	return r;
}

struct race_chunk *fake_chunk(struct fake *f, uint32_t kind, const void *payload, size_t n)
{
	struct race_chunk *c = (struct race_chunk *)(f->map + RACE_SHM_HEAP + f->head->heap_used);

	c->kind = kind;
	c->pid = 100;
	c->room = (uint32_t)((sizeof(*c) + n + 15) & ~(size_t)15);
	memcpy(c + 1, payload, n);
	c->bytes = (uint32_t)n;
	f->head->heap_used += c->room;
	return c;
}

void fake_kernel(struct fake *f, uint64_t launches, uint32_t instrumented, const char *name)
{
	struct {
		struct race_kernel_count k;
		char name[64];
	} c = {.k = {.count = launches, .instrumented = instrumented}};

	snprintf(c.name, sizeof(c.name), "%s", name);
	fake_chunk(f, RACE_CHUNK_KERNEL, &c, sizeof(c.k) + strlen(name));
}

static uint32_t str(struct race_site_builder *b, const char *s)
{
	return race_sites_string(b, s, strlen(s));
}

uint64_t fake_table(struct fake *f, void **blob, size_t *n)
{
	static const char *const text[SITE_COUNT] = {
		[SITE_READ] = "ld.shared.f32 %f1, [%r2+4];",
		[SITE_READ_SECOND] = "ld.shared.v2.f32 {%f3, %f4}, [%r2+8];",
		[SITE_STORE] = "st.global.u32 [%rd1], %r3;",
		[SITE_SPECULATED] = "ld.global.u64 %rd4, [%rd5];",
		[SITE_NC] = "ld.global.nc.u8 %rs1, [%rd6];",
		[SITE_NO_LINE] = "st.b128 [%rd7], %q1;",
		[SITE_VOLATILE] = "st.volatile.u16 [%rd8], %rs2;",
		[SITE_COPY_FROM] = "cp.async.cg.shared.global [%r1], [%rd1], 16;",
		[SITE_COPY_TO] = "cp.async.cg.shared.global [%r1], [%rd1], 16;",
	};
	struct race_site_builder *b = race_sites_new();
	uint32_t kernel = str(b, "_Z3sumPfPKfi"), file = str(b, "src/sum.cu");
	struct race_frame fr = {.func = str(b, "_Z6neighbPf"), .file = file, .line = 10, .col = 2};
	uint32_t frame = race_sites_frame(b, &fr);
	/* One by one: the order of initialisers is the compiler's, and it would be in the hash. */
	uint32_t bare = str(b, "bare");
	struct race_site s[SITE_COUNT] = {
		[SITE_READ] = {kernel, file, 4, 9, RACE_ACCESS_LOAD, RACE_SPACE_SHARED, 4, 1, 0,
			       frame, 0, 40},
		[SITE_READ_SECOND] = {kernel, file, 4, 9, RACE_ACCESS_LOAD, RACE_SPACE_SHARED, 4, 2,
				      0, frame, 0, 41},
		[SITE_STORE] = {kernel, file, 11, 2, RACE_ACCESS_STORE, RACE_SPACE_GLOBAL, 4, 1, 0,
				0, 0, 50},
		[SITE_SPECULATED] = {kernel, file, 12, 18, RACE_ACCESS_LOAD, RACE_SPACE_GLOBAL, 8,
				     1, RACE_SITE_SPECULATED, 0, 0, 60},
		[SITE_NC] = {kernel, file, 13, 11, RACE_ACCESS_NC_LOAD, RACE_SPACE_GLOBAL, 1, 1, 0,
			     0, 0, 70},
		[SITE_NO_LINE] = {bare, 0, 0, 0, RACE_ACCESS_STORE, RACE_SPACE_GENERIC, 16, 1, 0, 0,
				  0, 80},
		[SITE_VOLATILE] = {kernel, file, 14, 2, RACE_ACCESS_STORE, RACE_SPACE_GLOBAL, 2, 1,
				   RACE_SITE_VOLATILE, 0, 0, 90},
		[SITE_COPY_FROM] = {kernel, file, 11, 2, RACE_ACCESS_COPY, RACE_SPACE_GLOBAL, 4, 4,
				    0, 0, 0, 95},
		[SITE_COPY_TO] = {kernel, file, 11, 2, RACE_ACCESS_COPY, RACE_SPACE_SHARED, 4, 4, 0,
				  0, 0, 95},
	};
	uint64_t hash;
	size_t size;
	void *bytes;

	for (uint32_t i = 0; i < SITE_COUNT; i++) {
		s[i].text = str(b, text[i]);
		assert_int_equal(race_sites_add(b, &s[i]), i);
	}
	race_sites_unchecked(b, str(b, "tcgen05.foo"), RACE_WHY_UNKNOWN_OPCODE, 0, 3);
	race_sites_unchecked(b, str(b, "private"), RACE_WHY_PRIVATE, 0, 12);
	uint32_t big = str(b, "_Z3bigPi");
	race_sites_unchecked(b, str(b, "nothing fits 1024 threads"), RACE_WHY_KERNEL_AS_IT_WAS, big,
			     1);
	assert_true(race_sites_finish(b, "src/sum.cu", "sm_90", &bytes, &size, &hash));
	race_sites_free(b);
	if (f)
		fake_chunk(f, RACE_CHUNK_SITES, bytes, size)->hash = hash;
	if (blob) {
		*blob = bytes;
		*n = size;
	} else {
		free(bytes);
	}
	return hash;
}

struct race_record *fake_record(struct race_region *r, unsigned i, uint64_t table, uint32_t site,
				uint16_t kind, uint64_t count)
{
	struct race_record *rec = &r->records[i];

	*rec = (struct race_record){.table = table,
				    .site = site,
				    .kind = kind,
				    .address = 0x7bd5949ea0f0,
				    .was = {3},
				    .now = {7},
				    .width = 4,
				    .thread = {1, 24, 0},
				    .block = {82, 0, 0},
				    .count = count,
				    .valid = RACE_RECORD_VALID};
	return rec;
}

void fake_read(const struct fake *f, struct race_results *r)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(race_shm_read(f->map, f->bytes, r), 0);
}

char *fake_render(const struct race_results *r, const struct rep_options *opt)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	assert_int_equal(rep_render(r, opt, out), 0);
	fclose(out);
	return text;
}
