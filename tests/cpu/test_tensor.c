/*
 * test_tensor.c - tensor maps and tensor copies against a plain walk over the tensor.
 *
 * A kernel copies one box into shared memory, dumps the bytes as they lie there (swizzle and
 * all), copies the box back through a second map, and reduces through a third. The expected bytes
 * are computed element by element from the description; those of pixels (im2col) by stepping from
 * one to the next, and those of packed types bit by bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"

#define DUMP 16384u

/* One kernel for each rank and mode; @K is its name, @C the list of coordinates, @N the rank, @M
 * the mode of loads, @O their offsets, @S the mode of stores. */
static const char kernel_text[] =
	".visible .entry @K@N(.param .align 64 .b8 in[128], .param .align 64 .b8 out[128],\n"
	"  .param .align 64 .b8 sum[128], .param .u64 dump, .param .u32 bytes,\n"
	"  .param .align 4 .b8 at[20], .param .u32 stores, .param .align 2 .b8 off[6])\n"
	"{\n"
	"  .reg .pred p, done;\n"
	"  .reg .b32 t, s, b, n, v, c0, c1, c2, c3, c4, r;\n"
	"  .reg .b64 d, m, a, st;\n"
	"  .reg .b16 o0, o1, o2;\n"
	"  .shared .align 1024 .b8 box[16384];\n"
	"  .shared .align 8 .b64 bar;\n"
	"  ld.param.u32 c0, [at]; ld.param.u32 c1, [at+4]; ld.param.u32 c2, [at+8];\n"
	"  ld.param.u32 c3, [at+12]; ld.param.u32 c4, [at+16];\n"
	"  ld.param.u16 o0, [off]; ld.param.u16 o1, [off+2]; ld.param.u16 o2, [off+4];\n"
	"  ld.param.u64 d, [dump]; ld.param.u32 n, [bytes];\n"
	"  mov.u32 t, %tid.x; mov.u32 s, box; mov.u32 b, bar;\n"
	"  mov.u32 v, t;\n"
	"clear:\n"
	"  mad.lo.u32 r, v, 4, s; st.shared.u32 [r], 0xdeadbeef;\n"
	"  add.u32 v, v, 64; setp.lt.u32 p, v, 4096; @p bra clear;\n"
	"  fence.proxy.async.shared::cta;\n"
	"  setp.eq.u32 p, t, 0;\n"
	"  @p mbarrier.init.shared.b64 [b], 1;\n"
	"  @p fence.mbarrier_init.release.cluster;\n"
	"  bar.sync 0;\n"
	"  @!p bra wait;\n"
	"  mbarrier.arrive.expect_tx.shared.b64 st, [b], n;\n"
	"  mov.b64 m, in; cvta.param.u64 m, m;\n"
	"  cp.async.bulk.tensor.@Nd.shared::cluster.global.@M.mbarrier::complete_tx::bytes\n"
	"    [s], [m, {@C}], [b]@O;\n"
	"wait:\n"
	"  mbarrier.try_wait.parity.shared.b64 done, [b], 0;\n"
	"  @!done bra wait;\n"
	"  mov.u32 v, t;\n"
	"copy:\n"
	"  mad.lo.u32 r, v, 4, s; ld.shared.u32 c0, [r]; mul.wide.u32 a, v, 4; add.s64 a, a, d;\n"
	"  st.global.u32 [a], c0;\n"
	"  add.u32 v, v, 64; setp.lt.u32 done, v, 4096; @done bra copy;\n"
	"  bar.sync 0;\n"
	"  ld.param.u32 c0, [at];\n"
	"  ld.param.u32 n, [stores]; setp.ge.and.u32 p, n, 1, p;\n"
	"  @!p bra end;\n"
	"  mov.b64 m, out; cvta.param.u64 m, m;\n"
	"  cp.async.bulk.tensor.@Nd.global.shared::cta.@S.bulk_group [m, {@C}], [s];\n"
	"  setp.eq.u32 p, n, 2;\n"
	"  @!p bra commit;\n"
	"  mov.b64 m, sum; cvta.param.u64 m, m;\n"
	"  cp.reduce.async.bulk.tensor.@Nd.global.shared::cta.add.@S.bulk_group [m, {@C}], [s];\n"
	"commit:\n"
	"  cp.async.bulk.commit_group;\n"
	"  cp.async.bulk.wait_group 0;\n"
	"end:\n"
	"  ret;\n"
	"}\n";

struct params {
	_Alignas(64) uint8_t in[128], out[128], sum[128];
	uint64_t dump;
	uint32_t bytes;
	int32_t at[5];
	uint32_t stores; /* 1: the copy, 2: and the reduction */
	uint16_t off[3];
};

struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
};

/* "c0, c1" */
static void put_list(struct base_buf *text, const char *name, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		base_buf_printf(text, "%s%s%u", i ? ", " : "", name, i);
}

/* wide: CPU_TENSOR_WIDE_* of pixels */
static void put_kernel(struct base_buf *text, unsigned rank, bool is_pixels, unsigned wide)
{
	static const char *const names[] = {"pixels", "wide", "widest"};
	static const char *const modes[] = {"im2col", "im2col::w", "im2col::w::128"};

	for (const char *p = kernel_text; *p; p++) {
		if (*p != '@' || !strchr("KNCMOS", p[1])) {
			base_buf_put(text, p, 1);
			continue;
		}
		switch (*++p) {
		case 'K':
			base_buf_puts(text, is_pixels ? names[wide] : "tile");
			break;
		case 'N':
			base_buf_printf(text, "%u", rank);
			break;
		case 'C':
			put_list(text, "c", rank);
			break;
		case 'M':
			base_buf_puts(text, is_pixels ? modes[wide] : "tile");
			break;
		case 'S':
			base_buf_puts(text, is_pixels ? "im2col_no_offs" : "tile");
			break;
		default:
			if (!is_pixels)
				break;
			base_buf_puts(text, ", {");
			put_list(text, "o", wide ? 2 : rank - 2);
			base_buf_puts(text, "}");
		}
	}
}

static int set_up(void **state)
{
	static struct base_buf text;
	struct fixture *f = calloc(1, sizeof(*f));
	struct cpu_options opt = {.seed = 7, .threads = 1, .devices = 1};
	struct base_sink sink = {0};

	text.n = 0;
	base_buf_puts(&text, ".version 8.3\n.target sm_90\n.address_size 64\n");
	for (unsigned rank = 1; rank <= 5; rank++)
		put_kernel(&text, rank, false, 0);
	for (unsigned rank = 3; rank <= 5; rank++)
		for (unsigned wide = 0; wide < 3; wide++)
			put_kernel(&text, rank, true, wide);
	base_buf_put(&text, "", 1);
	f->m = cpu_machine_new(&opt);
	struct ptx_module *ptx = ptx_parse(&f->arena, "tile.ptx", text.p, text.n - 1, &sink);
	assert_non_null(ptx);
	f->mod = cpu_module_load(f->m, 0, &ptx, 1, &sink);
	base_sink_print(&sink, stderr);
	assert_non_null(f->mod);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	cpu_module_unload(f->mod);
	cpu_machine_free(f->m);
	base_arena_free(&f->arena);
	free(f);
	return 0;
}

/* ---- the reference ------------------------------------------------------------- */

static unsigned elem_bytes(uint32_t type)
{
	static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

	return bytes[type];
}

/* Calls fn for each element of the box: the byte offsets in the tensor (or -1) that it is loaded
 * from and stored to, and the one in the box. */
typedef void each_fn(int64_t from, int64_t to, uint32_t shared, void *arg);

static void walk(const struct cpu_tensormap_desc *d, const int32_t at[5], each_fn *fn, void *arg)
{
	unsigned size = elem_bytes(d->type);
	uint32_t n[5], j[5], pitch, span = d->swizzle ? 16u << d->swizzle : 0;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t step = i && i < d->rank ? d->element_strides[i] : 1;
		n[i] = i < d->rank ? (d->box[i] + step - 1) / step : 1;
	}
	pitch = n[0] * size > span ? n[0] * size : span;
	uint32_t row = 0;
	for (j[4] = 0; j[4] < n[4]; j[4]++)
		for (j[3] = 0; j[3] < n[3]; j[3]++)
			for (j[2] = 0; j[2] < n[2]; j[2]++)
				for (j[1] = 0; j[1] < n[1]; j[1]++, row++)
					for (j[0] = 0; j[0] < n[0]; j[0]++) {
						int64_t off = 0;
						bool is_in = true;
						for (unsigned i = 0; i < d->rank; i++) {
							int64_t step =
								i ? d->element_strides[i] : 1;
							int64_t c = at[i] + (int64_t)j[i] * step;
							is_in &= c >= 0 && c < (int64_t)d->dims[i];
							off += c * (int64_t)(i ? d->strides[i - 1]
									       : size);
						}
						uint32_t s = row * pitch + j[0] * size;
						/* The chunk's number in its span, by that of
						 * the 128-byte line. */
						if (span)
							s ^= (s / 128 % (span / 16)) * 16;
						fn(is_in ? off : -1, is_in ? off : -1, s, arg);
					}
}

/* The byte offset of an element, or -1. */
static int64_t offset_of(const struct cpu_tensormap_desc *d, const int32_t c[5])
{
	int64_t off = 0;

	for (unsigned i = 0; i < d->rank; i++) {
		if (c[i] < 0 || c[i] >= (int64_t)d->dims[i])
			return -1;
		off += c[i] * (int64_t)(i ? d->strides[i - 1] : elem_bytes(d->type));
	}
	return off;
}

/* The same for pixels. */
static void walk_pixels(const struct cpu_tensormap_desc *d, const int32_t at[5],
			const uint16_t offset[3], each_fn *fn, void *arg)
{
	uint32_t size = elem_bytes(d->type), span = d->swizzle ? 16u << d->swizzle : 0;
	uint32_t pitch = d->channels * size > span ? d->channels * size : span;
	int32_t c[5], moved[5];

	memcpy(c, at, sizeof(c));
	for (uint32_t row = 0; row < d->pixels; row++) {
		for (uint32_t j = 0; j < d->channels; j++) {
			uint32_t s = row * pitch + j * size;
			c[0] = at[0] + (int32_t)j;
			memcpy(moved, c, sizeof(c));
			for (unsigned i = 0; i + 2 < d->rank; i++)
				moved[i + 1] += offset[i];
			if (span)
				s ^= (s / 128 % (span / 16)) * 16;
			fn(offset_of(d, moved), offset_of(d, c), s, arg);
		}
		for (unsigned i = 1; i < d->rank; i++) {
			bool is_image = i == d->rank - 1;
			c[i] += is_image ? 1 : (int32_t)d->element_strides[i];
			if (is_image || c[i] <= (int32_t)d->dims[i] - 1 + d->upper[i - 1])
				break;
			c[i] = d->lower[i - 1];
		}
	}
}

/* One pixel of them: its channels into row `row`. */
static void walk_channels(const struct cpu_tensormap_desc *d, const int32_t pixel[5], uint32_t row,
			  each_fn *fn, void *arg)
{
	uint32_t size = elem_bytes(d->type), span = d->swizzle == 2 ? 64 : 128;
	uint32_t pitch = d->channels * size > span ? d->channels * size : span;
	int32_t c[5];

	memcpy(c, pixel, sizeof(c));
	for (uint32_t j = 0; j < d->channels; j++) {
		uint32_t s = row * pitch + j * size;
		c[0] = pixel[0] + (int32_t)j;
		if (d->swizzle == 4)
			s ^= (s / 128 % 4) * 32;
		else
			s ^= (s / 128 % (span / 16)) * 16;
		fn(offset_of(d, c), -1, s, arg);
	}
}

/* Rows of pixels at one height and depth; the halo after the last, or after each 32. */
static void walk_wide(const struct cpu_tensormap_desc *d, const int32_t at[5],
		      const uint16_t offset[3], each_fn *fn, void *arg)
{
	bool is_128 = d->wide == CPU_TENSOR_WIDE_W128;
	uint32_t n = is_128 ? 128 : d->pixels, row = 0;
	int32_t c[5], step = (int32_t)d->element_strides[1], image = (int32_t)d->rank - 1;
	int32_t left = d->lower[0] + offset[1];
	int32_t right = (int32_t)d->dims[1] - 1 + d->upper[0] + offset[1];

	memcpy(c, at, sizeof(c));
	c[1] += offset[1];
	for (uint32_t i = 0; i < n; i++) {
		walk_channels(d, c, row++, fn, arg);
		if (i == n - 1 || (is_128 && i % 32 == 31)) {
			int32_t h[5];
			memcpy(h, c, sizeof(h));
			for (unsigned k = 0; k < offset[0]; k++) {
				h[1] += step;
				walk_channels(d, h, row++, fn, arg);
			}
		}
		c[1] += step;
		if (c[1] > right) {
			c[1] = left;
			c[image]++;
		}
	}
}

/* ---- interleaved layouts, as an H100 has them ------------------------------------- */

static uint32_t slice_of(const struct cpu_tensormap_desc *d)
{
	return d->interleave == 2 ? 32 : 16;
}

/* A slice at these coordinates to its place in the box; -1 where it isn't stored. */
static void visit_slice(const struct cpu_tensormap_desc *d, const int32_t c[5], bool is_stored,
			uint32_t number, each_fn *fn, void *arg)
{
	uint32_t slice = slice_of(d), size = elem_bytes(d->type);
	int64_t off = (int64_t)c[0] * slice;
	bool is_in = true;

	for (unsigned i = 0; i < d->rank; i++) {
		is_in &= c[i] >= 0 && c[i] < (int64_t)d->dims[i];
		off += i ? c[i] * (int64_t)d->strides[i - 1] : 0;
	}
	for (uint32_t at = 0; at < slice; at += size) {
		uint32_t s = number * slice + at;
		if (d->swizzle)
			s ^= (s / 128 % 2) * 16;
		fn(is_in ? off + at : -1, is_in && is_stored ? off + at : -1, s, arg);
	}
}

/* W, H, D, one slice of channels, N. */
static void walk_slices(const struct cpu_tensormap_desc *d, const int32_t at[5], each_fn *fn,
			void *arg)
{
	uint32_t n[5] = {1, 1, 1, 1, 1}, j[5], number = 0;
	int32_t c[5] = {0};

	for (unsigned i = 0; i < d->rank; i++)
		n[i] = (d->box[i] + d->element_strides[i] - 1) / d->element_strides[i];
	n[d->rank - 2] = 1;
	for (j[4] = 0; j[4] < n[4]; j[4]++)
		for (j[3] = 0; j[3] < n[3]; j[3]++)
			for (j[2] = 0; j[2] < n[2]; j[2]++)
				for (j[1] = 0; j[1] < n[1]; j[1]++)
					for (j[0] = 0; j[0] < n[0]; j[0]++) {
						for (unsigned i = 0; i < d->rank; i++)
							c[i] = at[i] +
							       (int32_t)(j[i] *
									 d->element_strides[i]);
						visit_slice(d, c, true, number++, fn, arg);
					}
}

/* Pixels along W, H, D, then the next image. */
static void walk_pixel_slices(const struct cpu_tensormap_desc *d, const int32_t at[5],
			      const uint16_t offset[3], each_fn *fn, void *arg)
{
	int32_t c[5], moved[5];

	memcpy(c, at, sizeof(c));
	for (uint32_t number = 0; number < d->pixels; number++) {
		memcpy(moved, c, sizeof(c));
		for (unsigned i = 0; i + 2 < d->rank; i++)
			moved[i] += offset[i];
		visit_slice(d, moved, false, number, fn, arg);
		unsigned i = 0;
		for (; i + 2 < d->rank; i++) {
			c[i] += (int32_t)d->element_strides[i];
			if (c[i] <= (int32_t)d->dims[i] - 1 + d->upper[i])
				break;
			c[i] = d->lower[i];
		}
		if (i + 2 == d->rank)
			c[d->rank - 1]++;
	}
}

struct expected {
	const struct cpu_tensormap_desc *d;
	const uint8_t *tensor;
	uint8_t *box, *out;
	uint32_t *sum;
	uint32_t bytes;
};

static void expect_element(int64_t from, int64_t to, uint32_t shared, void *arg)
{
	struct expected *e = arg;
	unsigned size = elem_bytes(e->d->type);
	uint32_t v = 0;

	e->bytes += size;
	assert_true(shared + size <= DUMP);
	memset(e->box + shared, e->d->fill ? 0xff : 0, size);
	if (e->d->fill)
		e->box[shared + size - 1] = 0x7f;
	if (from >= 0)
		memcpy(e->box + shared, e->tensor + from, size);
	if (to < 0)
		return;
	memcpy(e->out + to, e->box + shared, size);
	if (size == 4)
		memcpy(&v, e->box + shared, 4);
	if (size == 4)
		e->sum[to / 4] += v;
}

/* ---- running -------------------------------------------------------------------- */

/* A tensor of each, and the dump of the box. */
struct memory {
	uint64_t bytes;
	uint8_t *tensor, *out, *dump;
	uint32_t *sum;
};

static uint64_t tensor_bytes(const struct cpu_tensormap_desc *d)
{
	return d->rank == 1 ? d->dims[0] * elem_bytes(d->type)
			    : d->dims[d->rank - 1] * d->strides[d->rank - 2];
}

static struct memory memory_new(struct fixture *f, const struct cpu_tensormap_desc *d)
{
	struct memory m = {.bytes = tensor_bytes(d)};

	m.tensor = cpu_mem_alloc(f->m, 0, m.bytes, CPU_MEM_DEVICE);
	m.out = cpu_mem_alloc(f->m, 0, m.bytes, CPU_MEM_DEVICE);
	m.sum = cpu_mem_alloc(f->m, 0, m.bytes, CPU_MEM_DEVICE);
	m.dump = cpu_mem_alloc(f->m, 0, DUMP, CPU_MEM_DEVICE);
	for (uint64_t i = 0; i < m.bytes; i++)
		m.tensor[i] = (uint8_t)(i * 7 + i / 251 + 1);
	memset(m.out, 0, m.bytes);
	for (uint64_t i = 0; i < m.bytes / 4; i++)
		m.sum[i] = (uint32_t)i;
	return m;
}

static void memory_free(struct fixture *f, struct memory *m)
{
	cpu_mem_free(f->m, m->tensor);
	cpu_mem_free(f->m, m->out);
	cpu_mem_free(f->m, m->sum);
	cpu_mem_free(f->m, m->dump);
}

static struct expected expected_new(const struct cpu_tensormap_desc *d, const struct memory *m)
{
	struct expected e = {.d = d, .tensor = m->tensor};

	e.box = malloc(DUMP);
	e.out = calloc(1, m->bytes);
	e.sum = malloc(m->bytes);
	memcpy(e.sum, m->sum, m->bytes);
	for (uint32_t i = 0; i < DUMP / 4; i++)
		memcpy(e.box + i * 4, &(uint32_t){0xdeadbeef}, 4);
	return e;
}

static void expected_free(struct expected *e)
{
	free(e->box);
	free(e->out);
	free(e->sum);
}

static void launch(struct fixture *f, struct cpu_tensormap_desc d, const struct memory *m,
		   struct params *p)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};
	char name[16];

	p->dump = (uint64_t)(uintptr_t)m->dump;
	d.address = (uint64_t)(uintptr_t)m->tensor;
	assert_null(cpu_tensormap_encode(&d, p->in));
	d.address = (uint64_t)(uintptr_t)m->out;
	assert_null(cpu_tensormap_encode(&d, p->out));
	d.address = (uint64_t)(uintptr_t)m->sum;
	assert_null(cpu_tensormap_encode(&d, p->sum));
	snprintf(name, sizeof(name), "%s%u",
		 d.wide == CPU_TENSOR_WIDE_W128 ? "widest"
		 : d.wide			? "wide"
		 : d.is_im2col			? "pixels"
						: "tile",
		 d.rank);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(f->mod, name),
				       .grid = {1, 1, 1},
				       .block = {64, 1, 1},
				       .params = p};
	struct cpu_op *op = cpu_submit(f->m, &w, NULL, 0, &fault);
	assert_non_null(op);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_fault_get(f->m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		fail_msg("%s", fault.text);
}

static void run_at(struct fixture *f, struct cpu_tensormap_desc d, const int32_t at[5],
		   const uint16_t off[3])
{
	struct memory m = memory_new(f, &d);
	struct expected e = expected_new(&d, &m);
	struct params p = {.stores = elem_bytes(d.type) == 4 ? 2 : 1};

	if (d.interleave && d.is_im2col)
		walk_pixel_slices(&d, at, off, expect_element, &e);
	else if (d.interleave)
		walk_slices(&d, at, expect_element, &e);
	else if (d.wide)
		walk_wide(&d, at, off, expect_element, &e);
	else if (d.is_im2col)
		walk_pixels(&d, at, off, expect_element, &e);
	else
		walk(&d, at, expect_element, &e);
	memcpy(p.at, at, sizeof(p.at));
	memcpy(p.off, off, sizeof(p.off));
	p.bytes = e.bytes;
	p.stores = d.wide || (d.interleave && d.is_im2col) ? 0 : p.stores;
	/* No store of a tile starts before the tensor. */
	for (unsigned i = 0; !d.is_im2col && i < d.rank; i++)
		p.stores = at[i] < 0 ? 0 : p.stores;
	launch(f, d, &m, &p);
	assert_memory_equal(m.dump, e.box, DUMP);
	if (p.stores)
		assert_memory_equal(m.out, e.out, m.bytes);
	if (p.stores && elem_bytes(d.type) == 4 && d.type <= 3)
		assert_memory_equal(m.sum, e.sum, m.bytes);
	expected_free(&e);
	memory_free(f, &m);
}

static void run(struct fixture *f, struct cpu_tensormap_desc d, const int32_t at[5])
{
	run_at(f, d, at, (uint16_t[3]){0});
}

#define U16 1u
#define U32 2u
#define F32 7u

static void test_tiles(void **state)
{
	struct cpu_tensormap_desc d1 = {
		.type = U32, .rank = 1, .dims = {100}, .box = {64}, .element_strides = {1}};
	struct cpu_tensormap_desc d2 = {.type = U32,
					.rank = 2,
					.dims = {40, 50},
					.strides = {160},
					.box = {16, 8},
					.element_strides = {1, 1}};
	struct cpu_tensormap_desc d3 = {.type = U32,
					.rank = 3,
					.dims = {20, 9, 7},
					.strides = {96, 960},
					.box = {8, 4, 3},
					.element_strides = {1, 2, 1}};
	struct cpu_tensormap_desc d5 = {.type = U32,
					.rank = 5,
					.dims = {8, 3, 4, 3, 2},
					.strides = {32, 96, 384, 1152},
					.box = {8, 2, 2, 2, 2},
					.element_strides = {1, 1, 1, 1, 1}};
	struct cpu_tensormap_desc d4 = {.type = U32,
					.rank = 4,
					.dims = {12, 5, 4, 3},
					.strides = {48, 240, 960},
					.box = {4, 3, 2, 3},
					.element_strides = {1, 1, 3, 2}};

	run(*state, d1, (int32_t[5]){16});
	run(*state, d2, (int32_t[5]){4, 3});
	run(*state, d3, (int32_t[5]){8, 1, 2});
	run(*state, d4, (int32_t[5]){4, 1, 0, 0});
	run(*state, d5, (int32_t[5]){0, 1, 1, 0, 0});
}

static void test_out_of_bounds(void **state)
{
	struct cpu_tensormap_desc d = {.type = U32,
				       .rank = 2,
				       .dims = {37, 21},
				       .strides = {160},
				       .box = {16, 8},
				       .element_strides = {1, 1}};
	struct cpu_tensormap_desc n = d;

	run(*state, d, (int32_t[5]){-4, -2});
	run(*state, d, (int32_t[5]){28, 18});
	run(*state, d, (int32_t[5]){100, 0});
	n.type = F32;
	n.fill = 1;
	run(*state, n, (int32_t[5]){-4, 17});
}

static void test_swizzles(void **state)
{
	for (uint32_t swizzle = 1; swizzle <= 3; swizzle++) {
		struct cpu_tensormap_desc d = {.type = U32,
					       .rank = 2,
					       .dims = {64, 64},
					       .strides = {256},
					       .box = {4u << swizzle, 32},
					       .element_strides = {1, 1},
					       .swizzle = swizzle};
		run(*state, d, (int32_t[5]){12, 5});
		d.box[0] /= 2; /* rows narrower than the span */
		run(*state, d, (int32_t[5]){12, 50});
	}
}

static void test_pixels(void **state)
{
	struct cpu_tensormap_desc d3 = {.type = U32,
					.rank = 3,
					.is_im2col = true,
					.dims = {16, 11, 5},
					.strides = {64, 704},
					.channels = 8,
					.pixels = 20,
					.lower = {-1},
					.upper = {-1},
					.element_strides = {1, 1, 1}};
	struct cpu_tensormap_desc d4 = {.type = U32,
					.rank = 4,
					.is_im2col = true,
					.dims = {16, 9, 7, 3},
					.strides = {64, 576, 4032},
					.channels = 8,
					.pixels = 64,
					.lower = {-1, -1},
					.upper = {-1, -1},
					.element_strides = {1, 1, 1, 1}};
	struct cpu_tensormap_desc d5 = {.type = U16,
					.rank = 5,
					.is_im2col = true,
					.dims = {16, 5, 4, 3, 2},
					.strides = {32, 160, 640, 1920},
					.channels = 16,
					.pixels = 100,
					.lower = {0, -1, 0},
					.upper = {-2, 0, -1},
					.element_strides = {1, 1, 1, 1, 1}};

	run_at(*state, d3, (int32_t[5]){4, 3, 1}, (uint16_t[3]){2});
	run_at(*state, d4, (int32_t[5]){12, 7, 4, 0}, (uint16_t[3]){0, 0});
	run_at(*state, d4, (int32_t[5]){8, -1, -1, 2}, (uint16_t[3]){2, 1}); /* beyond the last */
	d4.element_strides[1] = d4.element_strides[2] = 2;
	d4.swizzle = 1;
	run_at(*state, d4, (int32_t[5]){0, 5, 3, 1}, (uint16_t[3]){1, 1});
	run_at(*state, d5, (int32_t[5]){0, 1, 2, 1, 0}, (uint16_t[3]){2, 1, 1});
}

/* The ISA's examples of a halo and of offsets (5.5.5.3, 5.5.5.4), with fewer channels. */
static void test_wide(void **state)
{
	struct cpu_tensormap_desc d = {.type = U16,
				       .rank = 4,
				       .is_im2col = true,
				       .wide = CPU_TENSOR_WIDE_W,
				       .dims = {32, 7, 9, 24},
				       .strides = {64, 448, 4032},
				       .channels = 32,
				       .pixels = 100,
				       .swizzle = 2,
				       .element_strides = {1, 1, 1, 1}};
	struct cpu_tensormap_desc five = d;

	run_at(*state, d, (int32_t[5]){0, 3, 2, 7}, (uint16_t[3]){2, 0});
	d.wide = CPU_TENSOR_WIDE_W128;
	run_at(*state, d, (int32_t[5]){0, 3, 2, 3}, (uint16_t[3]){2, 0});
	d.wide = CPU_TENSOR_WIDE_W;
	d.lower[0] = -1;
	d.element_strides[1] = 2;
	run_at(*state, d, (int32_t[5]){0, -1, 2, 0}, (uint16_t[3]){1, 0});
	run_at(*state, d, (int32_t[5]){0, -1, 2, 0}, (uint16_t[3]){0, 1});
	d.upper[0] = -1;
	d.element_strides[1] = 3;
	d.swizzle = 4;
	run_at(*state, d, (int32_t[5]){0, -1, 2, 20}, (uint16_t[3]){0, 2}); /* beyond the last */
	five.rank = 5;
	five.dims[3] = 3;
	five.dims[4] = 6;
	five.strides[3] = 12096;
	five.element_strides[4] = 1;
	five.swizzle = 3;
	run_at(*state, five, (int32_t[5]){0, 5, 1, 2, 1}, (uint16_t[3]){3, 1});
}

static void test_interleaved(void **state)
{
	struct cpu_tensormap_desc d = {
		.type = U32,
		.rank = 4,
		.interleave = 1,
		.dims = {16, 6, 5, 3},
		.strides = {320, 1920, 9600},
		.box = {8, 2, 9, 2}, /* 9: there is one slice, all the same */
		.element_strides = {1, 1, 1, 1}};
	struct cpu_tensormap_desc d5 = {.type = U16,
					.rank = 5,
					.interleave = 2,
					.swizzle = 1,
					.dims = {6, 5, 4, 3, 2},
					.strides = {192, 960, 3840, 11520},
					.box = {16, 3, 2, 1, 2},
					.element_strides = {1, 1, 1, 1, 1}};
	struct cpu_tensormap_desc d3 = {.type = U16,
					.rank = 3,
					.interleave = 1,
					.dims = {16, 20, 4},
					.strides = {320, 6400},
					.box = {8, 20, 3},
					.element_strides = {1, 1, 1}};

	run(*state, d, (int32_t[5]){1, 2, 1, 1});
	run(*state, d, (int32_t[5]){12, 5, 2, 2}); /* over the far edges */
	run(*state, d, (int32_t[5]){-1, -1, 0, 0});
	run(*state, d, (int32_t[5]){0, 0, -1, 0}); /* all outside */
	run(*state, d, (int32_t[5]){0, 0, 5, 0});
	run(*state, d3, (int32_t[5]){9, 19, 1});
	run(*state, d5, (int32_t[5]){1, 1, 2, 2, 0});
	d.element_strides[0] = 2;
	run(*state, d, (int32_t[5]){3, 1, 4, 1});
	d5.element_strides[0] = 3;
	d5.element_strides[1] = 2;
	run(*state, d5, (int32_t[5]){1, 1, 2, 2, 0});
}

static void test_interleaved_pixels(void **state)
{
	struct cpu_tensormap_desc d = {.type = U16,
				       .rank = 4,
				       .is_im2col = true,
				       .interleave = 1,
				       .dims = {16, 20, 5, 4},
				       .strides = {320, 6400, 32000},
				       .channels = 16, /* there is one slice, all the same */
				       .pixels = 40,
				       .lower = {-1, -2},
				       .upper = {-8, -17},
				       .element_strides = {1, 1, 1, 1}};
	struct cpu_tensormap_desc d5 = d, d3 = d;

	run_at(*state, d, (int32_t[5]){-1, -2, 0, 0}, (uint16_t[3]){1, 2});
	run_at(*state, d, (int32_t[5]){3, 0, 4, 2}, (uint16_t[3]){0, 0});
	run_at(*state, d, (int32_t[5]){0, -1, -2, 0}, (uint16_t[3]){1, 2});
	d.element_strides[0] = 3;
	run_at(*state, d, (int32_t[5]){2, 0, 3, 1}, (uint16_t[3]){0, 1});
	d3.rank = 3;
	run_at(*state, d3, (int32_t[5]){1, 19, 1}, (uint16_t[3]){1});
	d5.rank = 5;
	d5.dims[4] = 2;
	d5.strides[3] = 128000;
	d5.element_strides[4] = 1;
	d5.lower[2] = -1;
	d5.upper[1] = -15;
	d5.interleave = 2;
	d5.swizzle = 1;
	run_at(*state, d5, (int32_t[5]){5, 1, 1, 3, 0}, (uint16_t[3]){1, 2, 1});
}

/* Each other line of 128 bytes has the halves of its chunks exchanged. */
static void test_flip(void **state)
{
	struct cpu_tensormap_desc d = {.type = U16,
				       .rank = 2,
				       .dims = {64, 32},
				       .strides = {128},
				       .box = {64, 20},
				       .element_strides = {1, 1},
				       .swizzle = 5};
	struct fixture *f = *state;
	struct memory m = memory_new(f, &d);
	struct params p = {.bytes = 128 * 20};

	p.at[1] = 3;
	launch(f, d, &m, &p);
	for (unsigned i = 0; i < 128 * 20; i++) {
		unsigned row = i / 128, at = i ^ (row & 3) * 32;
		if (row & 1)
			at ^= 8;
		assert_int_equal(m.dump[at], m.tensor[(row + 3) * 128 + i % 128]);
	}
	memory_free(f, &m);
}

/* ---- packed types ---------------------------------------------------------------- */

#define B4     13u
#define B4_GAP 14u
#define B6     15u

static unsigned bit(const uint8_t *p, uint64_t i)
{
	return p[i / 8] >> i % 8 & 1;
}

/* The box of a tensor of rank 2 with that many bits an element, in shared memory. */
static void expect_packed(const struct cpu_tensormap_desc *d, const int32_t at[2],
			  struct expected *e)
{
	unsigned bits = d->type == B6 ? 6 : 4;
	bool has_gaps = d->type != B4;
	uint32_t pitch = has_gaps ? d->box[0] : d->box[0] / 2;

	for (uint32_t row = 0; row < d->box[1]; row++) {
		uint8_t *to = e->box + row * pitch;
		int64_t y = at[1] + (int64_t)row;
		memset(to, 0, pitch);
		e->bytes += d->box[0] * bits / 8;
		for (uint32_t i = 0; i < d->box[0] * bits; i++) {
			uint64_t x = (uint32_t)at[0] + i / bits;
			uint32_t in = has_gaps ? i / (16 * bits) * 128 + i % (16 * bits) : i;
			if (y < 0 || y >= (int64_t)d->dims[1] || x >= d->dims[0])
				continue;
			uint64_t from =
				(uint64_t)y * d->strides[0] * 8 + (uint32_t)at[0] * bits + i;
			to[in / 8] |= (uint8_t)(bit(e->tensor, from) << in % 8);
		}
		/* A store takes, of 6 bits, the low ones of each byte. */
		for (uint32_t i = 0; i < d->box[0] * bits; i++) {
			uint64_t x = (uint32_t)at[0] + i / bits;
			uint64_t at_bit =
				(uint64_t)y * d->strides[0] * 8 + (uint32_t)at[0] * bits + i;
			if (y < 0 || y >= (int64_t)d->dims[1] || x >= d->dims[0])
				continue;
			unsigned v = bit(to, d->type == B6 ? i / 6 * 8 + i % 6 : i);
			e->out[at_bit / 8] |= (uint8_t)(v << at_bit % 8);
		}
	}
}

static void run_packed(struct fixture *f, struct cpu_tensormap_desc d, const int32_t at[2])
{
	struct memory m = memory_new(f, &d);
	struct expected e = expected_new(&d, &m);
	struct params p = {.stores = d.type == B4_GAP || at[1] < 0 ? 0 : 1};

	expect_packed(&d, at, &e);
	memcpy(p.at, at, 2 * sizeof(at[0]));
	p.bytes = e.bytes;
	launch(f, d, &m, &p);
	assert_memory_equal(m.dump, e.box, DUMP);
	if (p.stores)
		assert_memory_equal(m.out, e.out, m.bytes);
	expected_free(&e);
	memory_free(f, &m);
}

static void test_packed(void **state)
{
	struct cpu_tensormap_desc d = {.type = B4,
				       .rank = 2,
				       .dims = {384, 9},
				       .strides = {320},
				       .box = {64, 6},
				       .element_strides = {1, 1}};

	run_packed(*state, d, (int32_t[2]){34, 2});
	run_packed(*state, d, (int32_t[2]){350, 5});
	d.box[0] = 128;
	d.type = B4_GAP;
	run_packed(*state, d, (int32_t[2]){128, -2});
	d.type = B6;
	run_packed(*state, d, (int32_t[2]){0, 1});
	run_packed(*state, d, (int32_t[2]){256, 5});
}

static void test_encode(void **state)
{
	struct cpu_tensormap_desc good = {.type = U16,
					  .rank = 2,
					  .address = 0x10000,
					  .dims = {128, 64},
					  .strides = {256},
					  .box = {64, 32},
					  .element_strides = {1, 1},
					  .swizzle = 3};
	struct cpu_tensormap_desc d;
	uint8_t out[128];

	(void)state;
	assert_null(cpu_tensormap_encode(&good, out));
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		d = good;                                                                          \
		change;                                                                            \
		memset(out, 0x5a, sizeof(out));                                                    \
		assert_non_null(cpu_tensormap_encode(&d, out));                                    \
		for (unsigned i = 0; i < sizeof(out); i++)                                         \
			assert_int_equal(out[i], 0x5a);                                            \
	} while (0)
	REFUSED(d.address += 8);
	REFUSED(d.address = 0);
	REFUSED(d.rank = 0);
	REFUSED(d.rank = 6);
	REFUSED(d.type = 16);
	REFUSED(d.dims[1] = 0);
	REFUSED(d.dims[0] = (1ull << 32) + 1);
	REFUSED(d.strides[0] = 264);
	REFUSED(d.strides[0] = 1ull << 40);
	REFUSED(d.box[0] = 0);
	REFUSED(d.box[1] = 257);
	REFUSED(d.box[0] = 72); /* wider than the swizzle */
	REFUSED(d.box[0] = 12); /* 24 bytes */
	REFUSED(d.element_strides[1] = 9);
	REFUSED(d.element_strides[0] = 0);
	REFUSED(d.interleave = 1); /* rank 2 */
	REFUSED(d.interleave = 3);
	REFUSED((d.interleave = 1, d.rank = 3, d.dims[2] = 4, d.strides[1] = 1 << 14,
		 d.element_strides[2] = 1, d.box[2] = 1, d.box[0] = 4, d.swizzle = 0));
	REFUSED(d.swizzle = 7);
	REFUSED(d.fill = 1); /* integers have no NaN */
	REFUSED(d.l2 = 4);
	REFUSED(d.is_im2col = true);
	REFUSED((d.is_im2col = true, d.rank = 3, d.dims[2] = 4, d.strides[1] = 1 << 14,
		 d.element_strides[2] = 1, d.channels = 8, d.pixels = 8, d.upper[0] = -64));
	good.is_im2col = true;
	good.wide = CPU_TENSOR_WIDE_W;
	good.rank = 3;
	good.dims[2] = 4;
	good.strides[1] = 1 << 14;
	good.element_strides[2] = 1;
	good.channels = 64;
	good.pixels = 8;
	assert_null(cpu_tensormap_encode(&good, out));
	REFUSED(d.swizzle = 0);
	REFUSED(d.swizzle = 5);
	REFUSED(d.wide = 3);
	REFUSED(d.pixels = 0);
	REFUSED(d.upper[0] = -64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test_setup_teardown(test_tiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_out_of_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_swizzles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pixels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wide, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interleaved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interleaved_pixels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_packed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
