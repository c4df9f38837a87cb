/*
 * test_tensor.c - tensor maps and tensor copies against a plain walk over the tensor.
 *
 * A kernel copies one box into shared memory, dumps the bytes as they lie there (swizzle and
 * all), copies the box back through a second map, and reduces through a third. The expected bytes
 * are computed element by element from the description.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"

#define DUMP 16384u

/* One kernel for each rank; @C is the list of coordinates, @N the rank. */
static const char kernel_text[] =
	".visible .entry tile@N(.param .align 64 .b8 in[128], .param .align 64 .b8 out[128],\n"
	"  .param .align 64 .b8 sum[128], .param .u64 dump, .param .u32 bytes,\n"
	"  .param .align 4 .b8 at[20], .param .u32 stores)\n"
	"{\n"
	"  .reg .pred p, done;\n"
	"  .reg .b32 t, s, b, n, v, c0, c1, c2, c3, c4, r;\n"
	"  .reg .b64 d, m, a, st;\n"
	"  .shared .align 1024 .b8 box[16384];\n"
	"  .shared .align 8 .b64 bar;\n"
	"  ld.param.u32 c0, [at]; ld.param.u32 c1, [at+4]; ld.param.u32 c2, [at+8];\n"
	"  ld.param.u32 c3, [at+12]; ld.param.u32 c4, [at+16];\n"
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
	"  cp.async.bulk.tensor.@Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes\n"
	"    [s], [m, {@C}], [b];\n"
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
	"  ld.param.u32 n, [stores]; setp.eq.and.u32 p, n, 1, p;\n"
	"  @!p bra end;\n"
	"  mov.b64 m, out; cvta.param.u64 m, m;\n"
	"  cp.async.bulk.tensor.@Nd.global.shared::cta.tile.bulk_group [m, {@C}], [s];\n"
	"  mov.b64 m, sum; cvta.param.u64 m, m;\n"
	"  cp.reduce.async.bulk.tensor.@Nd.global.shared::cta.add.tile.bulk_group [m, {@C}], [s];\n"
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
	uint32_t stores;
};

struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
};

static void put_kernel(struct base_buf *text, unsigned rank)
{
	for (const char *p = kernel_text; *p; p++) {
		if (p[0] == '@' && p[1] == 'N') {
			base_buf_printf(text, "%u", rank);
			p++;
		} else if (p[0] == '@' && p[1] == 'C') {
			for (unsigned i = 0; i < rank; i++)
				base_buf_printf(text, "%sc%u", i ? ", " : "", i);
			p++;
		} else {
			base_buf_put(text, p, 1);
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
		put_kernel(&text, rank);
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

/* Calls fn for each element of the box: its byte offset in the tensor (or -1) and in the box. */
typedef void each_fn(int64_t global, uint32_t shared, void *arg);

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
						fn(is_in ? off : -1, s, arg);
					}
}

struct expected {
	const struct cpu_tensormap_desc *d;
	const uint8_t *tensor;
	uint8_t *box, *out;
	uint32_t *sum;
	uint32_t bytes;
};

static void expect_element(int64_t global, uint32_t shared, void *arg)
{
	struct expected *e = arg;
	unsigned size = elem_bytes(e->d->type);

	e->bytes += size;
	assert_true(shared + size <= DUMP);
	if (global < 0) {
		memset(e->box + shared, e->d->fill ? 0xff : 0, size);
		if (e->d->fill)
			e->box[shared + size - 1] = 0x7f;
		return;
	}
	memcpy(e->box + shared, e->tensor + global, size);
	memcpy(e->out + global, e->tensor + global, size);
	if (size == 4) {
		uint32_t v;
		memcpy(&v, e->tensor + global, 4);
		e->sum[global / 4] += v;
	}
}

/* ---- running -------------------------------------------------------------------- */

static uint64_t tensor_bytes(const struct cpu_tensormap_desc *d)
{
	return d->rank == 1 ? d->dims[0] * elem_bytes(d->type)
			    : d->dims[d->rank - 1] * d->strides[d->rank - 2];
}

static void run(struct fixture *f, struct cpu_tensormap_desc d, const int32_t at[5])
{
	uint64_t bytes = tensor_bytes(&d);
	uint8_t *tensor = cpu_mem_alloc(f->m, 0, bytes, CPU_MEM_DEVICE);
	uint8_t *out = cpu_mem_alloc(f->m, 0, bytes, CPU_MEM_DEVICE);
	uint32_t *sum = cpu_mem_alloc(f->m, 0, bytes, CPU_MEM_DEVICE);
	uint8_t *dump = cpu_mem_alloc(f->m, 0, DUMP, CPU_MEM_DEVICE);
	struct expected e = {.d = &d, .tensor = tensor};
	struct params p = {.dump = (uint64_t)(uintptr_t)dump};
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};
	struct cpu_tensormap_desc to = d;
	char name[16];

	e.box = malloc(DUMP);
	e.out = calloc(1, bytes);
	e.sum = calloc(1, bytes);
	for (uint32_t i = 0; i < DUMP / 4; i++)
		memcpy(e.box + i * 4, &(uint32_t){0xdeadbeef}, 4);
	for (uint64_t i = 0; i < bytes; i++)
		tensor[i] = (uint8_t)(i * 7 + i / 251 + 1);
	memset(out, 0, bytes);
	for (uint64_t i = 0; i < bytes / 4; i++)
		sum[i] = e.sum[i] = (uint32_t)i;
	d.address = (uint64_t)(uintptr_t)tensor;
	assert_null(cpu_tensormap_encode(&d, p.in));
	to.address = (uint64_t)(uintptr_t)out;
	assert_null(cpu_tensormap_encode(&to, p.out));
	to.address = (uint64_t)(uintptr_t)sum;
	assert_null(cpu_tensormap_encode(&to, p.sum));
	walk(&d, at, expect_element, &e);
	memcpy(p.at, at, sizeof(p.at));
	p.bytes = e.bytes;
	p.stores = 1; /* no store starts before the tensor */
	for (unsigned i = 0; i < d.rank; i++)
		p.stores &= at[i] >= 0;
	snprintf(name, sizeof(name), "tile%u", d.rank);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(f->mod, name),
				       .grid = {1, 1, 1},
				       .block = {64, 1, 1},
				       .params = &p};
	struct cpu_op *op = cpu_submit(f->m, &w, NULL, 0, &fault);
	assert_non_null(op);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_fault_get(f->m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		fail_msg("%s", fault.text);
	assert_memory_equal(dump, e.box, DUMP);
	if (p.stores)
		assert_memory_equal(out, e.out, bytes);
	if (p.stores && elem_bytes(d.type) == 4 && d.type <= 3)
		assert_memory_equal(sum, e.sum, bytes);
	free(e.box);
	free(e.out);
	free(e.sum);
	cpu_mem_free(f->m, tensor);
	cpu_mem_free(f->m, out);
	cpu_mem_free(f->m, sum);
	cpu_mem_free(f->m, dump);
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

	run(*state, d, (int32_t[5]){-3, -2});
	run(*state, d, (int32_t[5]){30, 18});
	run(*state, d, (int32_t[5]){100, 0});
	n.type = F32;
	n.fill = 1;
	run(*state, n, (int32_t[5]){-3, 17});
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
	REFUSED(d.swizzle = 7);
	REFUSED(d.fill = 1); /* integers have no NaN */
	REFUSED(d.l2 = 4);
	REFUSED(d.is_im2col = true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test_setup_teardown(test_tiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_out_of_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_swizzles, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
