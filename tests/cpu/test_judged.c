/*
 * test_judged.c - what a judge needs of the machine: chosen blocks, launches that are stopped,
 * memory that stands at another machine's addresses and comes page by page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "cpu/cpu.h"
#include "race/file/pair.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

static const char text[] = HEAD
	".visible .global .align 4 .u32 level;\n"
	".visible .global .align 8 .u64 chain = level;\n"
	/* p[block] = the grid's dimensions and the block's ids, as seen there */
	".visible .entry who(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\n"
	"mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %clusterid.x;\n"
	"mul.wide.u32 %d2, %r1, 16;\nadd.u64 %d1, %d1, %d2;\n"
	"st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+4], %r2;\nst.global.u32 [%d1+8], %r3;\n"
	"ret;\n}\n"
	/* every thread stores to p[0] */
	".visible .entry clash(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
	"st.global.u32 [%d1], %r1;\nret;\n}\n"
	/* all v blocks meet at p[0] */
	".visible .entry meet(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"atom.add.acq_rel.gpu.global.u32 %r2, [%d1], 1;\n"
	"again:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.lt.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nret;\n}\n"
	/* p[1] = ctaid, then counts for ever */
	".visible .entry count(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<5>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
	"st.global.u32 [%d1+4], %r1;\nmov.u32 %r2, 0;\n"
	"again:\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%d1+8], %r2;\nbra again;\n}\n"
	/* *chain += *p, where chain points to level */
	".visible .entry follow(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<5>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\n"
	"ld.global.u64 %d2, [chain];\nld.global.u32 %r2, [%d2];\nadd.u32 %r2, %r2, %r1;\n"
	"st.global.u32 [%d2], %r2;\nret;\n}\n"
	/* p[4096] = p[0] by a bulk copy of v bytes through shared memory */
	".visible .entry bulk(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"
	".shared .align 128 .b8 buf[8192];\n.shared .align 8 .b64 bar;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, buf;\nmov.u32 %r3, bar;\n"
	"mbarrier.init.shared.b64 [%r3], 1;\n"
	"mbarrier.arrive.expect_tx.shared.b64 %d2, [%r3], %r1;\n"
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], %r1, "
	"[%r3];\n"
	"again:\nmbarrier.test_wait.shared.b64 %p, [%r3], %d2;\n@!%p bra again;\n"
	"ld.shared.u32 %r4, [%r2];\nst.global.u32 [%d1+16384], %r4;\nret;\n}\n";

/* Where the other machine's memory lies. */
#define THERE	  0x300000000000ull
#define THERE_VAR 0x300100000000ull
#define PAGE	  4096u

struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
	uint32_t *p;
	unsigned npairs;
	uint32_t block[2]; /* of the last pair */
	unsigned nmissing, npages, nread;
	bool has[256]; /* pages that hold what the other machine's do */
	bool is_short; /* the pager has nothing but the first page */
};

static struct race_pair *on_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct fixture *f = arg;

	(void)bytes;
	f->npairs++;
	f->block[0] = pair->side[0].block[0];
	f->block[1] = pair->side[1].block[0];
	return NULL;
}

static void open_machine(struct fixture *f, const struct cpu_places *places)
{
	struct cpu_options opt = {.seed = 3,
				  .threads = 1,
				  .devices = 1,
				  .is_guest = true,
				  .oracle = CPU_ORACLE_PROGRAM};
	struct base_sink sink = {0};

	f->m = cpu_machine_new(&opt);
	assert_non_null(f->m);
	cpu_on_pair(f->m, on_pair, f);
	struct ptx_module *ptx = ptx_parse(&f->arena, "judged.ptx", text, sizeof(text) - 1, &sink);
	assert_non_null(ptx);
	f->mod = cpu_module_load_at(f->m, 0, &ptx, 1, places, &sink);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	assert_non_null(f->mod);
}

static void open_here(struct fixture *f)
{
	*f = (struct fixture){0};
	open_machine(f, NULL);
	f->p = cpu_mem_alloc(f->m, 0, 1 << 16, CPU_MEM_DEVICE);
	assert_non_null(f->p);
	memset(f->p, 0, 1 << 16);
}

static void close_machine(struct fixture *f)
{
	cpu_module_unload(f->mod);
	cpu_machine_free(f->m);
	base_arena_free(&f->arena);
}

struct shape {
	uint32_t blocks, cluster, value;
	const uint64_t *chosen;
	uint64_t nchosen;
};

static struct cpu_op *submit(struct fixture *f, const char *name, struct shape s,
			     struct cpu_fault *fault)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	unsigned char params[16] = {0};
	uint64_t p = (uint64_t)(uintptr_t)f->p;

	memcpy(params, &p, 8);
	memcpy(params + 8, &s.value, 4);
	w.launch = (struct cpu_launch){.kernel = cpu_module_kernel(f->mod, name),
				       .grid = {s.blocks, 1, 1},
				       .block = {1, 1, 1},
				       .cluster = {s.cluster, s.cluster ? 1 : 0, s.cluster ? 1 : 0},
				       .params = params,
				       .chosen = s.chosen,
				       .nchosen = s.nchosen};
	assert_non_null(w.launch.kernel);
	return cpu_submit(f->m, &w, NULL, 0, fault);
}

static enum cpu_end run(struct fixture *f, const char *name, struct shape s)
{
	struct cpu_op *op = submit(f, name, s, NULL);

	assert_non_null(op);
	cpu_op_wait(op);
	enum cpu_end how = cpu_op_how(op);
	cpu_op_put(op);
	return how;
}

static enum cpu_fault_kind fault_of(struct fixture *f)
{
	struct cpu_fault got;

	cpu_fault_get(f->m, 0, &got);
	return got.kind;
}

/* ---- chosen blocks ----------------------------------------------------------------------- */

static void test_chosen(void **state)
{
	static const uint64_t some[] = {0, 7, 4000000};
	struct cpu_stats st;
	struct fixture f;

	(void)state;
	open_here(&f);
	/* Ids and dimensions are the whole grid's; only these write. */
	f.p[4000000 % 4096] = 0;
	static const uint64_t few[] = {2, 9, 1000};
	assert_int_equal(run(&f, "who", (struct shape){1001, 0, 0, few, 3}), CPU_END_WHOLE);
	for (uint32_t b = 0; b < 1001; b++) {
		bool is_one = b == 2 || b == 9 || b == 1000;
		assert_int_equal(f.p[4 * b], is_one ? b : 0);
		assert_int_equal(f.p[4 * b + 1], is_one ? 1001 : 0);
	}
	/* Clusters are chosen whole. */
	memset(f.p, 0, 1 << 16);
	static const uint64_t third[] = {3};
	assert_int_equal(run(&f, "who", (struct shape){64, 4, 0, third, 1}), CPU_END_WHOLE);
	for (uint32_t b = 0; b < 64; b++)
		assert_int_equal(f.p[4 * b + 2], b / 4 == 3 ? 3 : 0);
	/* Reports name the blocks by the grid's numbers, and 5 million blocks don't fill the
	 * oracle. */
	assert_int_equal(run(&f, "clash", (struct shape){5000000, 0, 0, some, 3}), CPU_END_WHOLE);
	assert_true(f.npairs > 0);
	for (unsigned i = 0; i < 2; i++)
		assert_true(f.block[i] == 0 || f.block[i] == 7 || f.block[i] == 4000000);
	struct cpu_oracle_stats os;
	cpu_get_oracle_stats(f.m, &os);
	assert_false(os.is_full);
	cpu_get_stats(f.m, &st);
	assert_int_equal(st.blocks, 3 + 4 + 3);
	close_machine(&f);
}

static void test_refused(void **state)
{
	static const uint64_t twice[] = {1, 1}, beyond[] = {0, 8};
	struct cpu_fault fault;
	struct fixture f;

	(void)state;
	open_here(&f);
	assert_null(submit(&f, "who", (struct shape){8, 0, 0, twice, 2}, &fault));
	assert_null(submit(&f, "who", (struct shape){8, 0, 0, beyond, 2}, &fault));
	assert_null(submit(&f, "who", (struct shape){8, 0, 0, twice, 0}, &fault));
	assert_int_equal(fault.kind, CPU_FAULT_ILLEGAL);
	close_machine(&f);
}

/* ---- ends --------------------------------------------------------------------------------- */

static void test_waits(void **state)
{
	static const uint64_t half[] = {0, 1}, all[] = {0, 1, 2, 3};
	struct fixture f;

	(void)state;
	open_here(&f);
	/* Two of four never meet: that is a result, and the device goes on. */
	struct cpu_op *op = submit(&f, "meet", (struct shape){4, 0, 4, half, 2}, NULL);
	cpu_op_wait(op);
	assert_int_equal(cpu_op_how(op), CPU_END_WAITS);
	assert_non_null(strstr(cpu_op_why(op), "deadlock"));
	cpu_op_put(op);
	assert_int_equal(fault_of(&f), CPU_FAULT_NONE);
	f.p[0] = 0;
	assert_int_equal(run(&f, "meet", (struct shape){4, 0, 4, all, 4}), CPU_END_WHOLE);
	/* All that there are: a fault of the program. */
	f.p[0] = 0;
	assert_int_equal(run(&f, "meet", (struct shape){4, 0, 5, all, 4}), CPU_END_FAULT);
	assert_int_equal(fault_of(&f), CPU_FAULT_DEADLOCK);
	close_machine(&f);
}

static void test_stopped(void **state)
{
	struct fixture f;

	(void)state;
	open_here(&f);
	struct cpu_op *op = submit(&f, "count", (struct shape){2, 0, 0, NULL, 0}, NULL);
	assert_false(cpu_op_wait_for(op, 50));
	assert_int_equal(cpu_op_how(op), CPU_END_NOT);
	cpu_op_stop(op);
	cpu_op_wait(op);
	assert_int_equal(cpu_op_how(op), CPU_END_STOPPED);
	cpu_op_put(op);
	/* What was found until then is kept, and the device works. */
	assert_true(f.npairs > 0);
	assert_int_equal(fault_of(&f), CPU_FAULT_NONE);
	assert_int_equal(run(&f, "who", (struct shape){8, 0, 0, NULL, 0}), CPU_END_WHOLE);
	/* One that is stopped before it has begun. */
	op = submit(&f, "count", (struct shape){2, 0, 0, NULL, 0}, NULL);
	cpu_op_stop(op);
	cpu_op_wait(op);
	assert_int_equal(cpu_op_how(op), CPU_END_STOPPED);
	cpu_op_put(op);
	close_machine(&f);
}

/* Groups of 16 blocks, one for each multiprocessor, are stopped in their midst: by a race that one
 * worker's judge has seen, and by a fault. What comes after finds the multiprocessors free. */
static void test_taken_back(void **state)
{
	struct cpu_stats st;
	struct fixture f;

	(void)state;
	open_here(&f);
	assert_int_equal(run(&f, "clash", (struct shape){8192, 0, 0, NULL, 0}), CPU_END_WHOLE);
	assert_true(f.npairs > 0);
	cpu_get_stats(f.m, &st);
	assert_int_equal(st.blocks, 8192);
	/* Its last blocks store past the end. */
	assert_int_equal(run(&f, "who", (struct shape){8192, 0, 0, NULL, 0}), CPU_END_FAULT);
	assert_int_equal(fault_of(&f), CPU_FAULT_ADDRESS);
	cpu_fault_clear(f.m, 0);
	assert_int_equal(run(&f, "clash", (struct shape){64, 0, 0, NULL, 0}), CPU_END_WHOLE);
	close_machine(&f);
}

/* ---- memory of another machine --------------------------------------------------------------- */

static bool missing(void *arg, uint64_t addr)
{
	struct fixture *f = arg;
	struct cpu_mem_info at = {.base = THERE, .bytes = 100000, .kind = CPU_MEM_DEVICE};

	f->nmissing++;
	return addr >= THERE && addr < THERE + 100000 && cpu_mem_place(f->m, &at);
}

/* The other machine's words are 7. */
static bool touch(void *arg, uint64_t addr, uint64_t bytes, bool is_read)
{
	struct fixture *f = arg;

	f->npages++;
	f->nread += is_read;
	if (f->is_short && addr >= THERE + PAGE && addr < THERE_VAR)
		return false;
	assert_true(addr / PAGE == (addr + bytes - 1) / PAGE);
	if (addr < THERE_VAR && !f->has[(addr - THERE) / PAGE])
		for (uint64_t i = 0; i < bytes / 4; i++)
			((uint32_t *)(uintptr_t)addr)[i] = 7;
	if (addr < THERE_VAR)
		f->has[(addr - THERE) / PAGE] = true;
	return true;
}

static uint64_t variable(void *arg, unsigned part, const char *name, unsigned nth, uint64_t bytes)
{
	assert_int_equal(part + nth, 0);
	(void)arg;
	if (!strcmp(name, "level")) {
		assert_int_equal(bytes, 4);
		return THERE_VAR;
	}
	assert_string_equal(name, "chain");
	return THERE_VAR + 8;
}

static void *map_at(uint64_t at, size_t bytes)
{
	void *want = (void *)(uintptr_t)at;
	void *p = mmap(want, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	assert_true(p == want);
	return p;
}

static void open_there(struct fixture *f)
{
	const struct cpu_places places = {.variable = variable};
	struct cpu_pager pager = {.page = PAGE, .missing = missing, .touch = touch, .arg = f};
	struct cpu_mem_info vars = {.base = THERE_VAR, .bytes = 16, .kind = CPU_MEM_MODULE};
	struct cpu_mem_info more = {.base = THERE_VAR + 512, .bytes = 16};

	*f = (struct fixture){.p = map_at(THERE, 1 << 20)};
	uint64_t *v = map_at(THERE_VAR, PAGE);
	open_machine(f, &places);
	assert_true(cpu_mem_place(f->m, &vars) && cpu_mem_place(f->m, &more));
	assert_false(cpu_mem_place(f->m, &vars));
	/* As the other machine has them: not as initialised. */
	v[0] = 35;
	v[1] = THERE_VAR;
	cpu_set_pager(f->m, &pager);
}

static void close_there(struct fixture *f)
{
	close_machine(f);
	munmap((void *)(uintptr_t)THERE, 1 << 20);
	munmap((void *)(uintptr_t)THERE_VAR, PAGE);
}

static void test_places(void **state)
{
	uint64_t addr, bytes;
	struct fixture f;

	(void)state;
	open_there(&f);
	assert_true(cpu_module_symbol(f.mod, "level", &addr, &bytes));
	assert_true(addr == THERE_VAR && bytes == 4);
	assert_int_equal(run(&f, "follow", (struct shape){1, 0, 0, NULL, 0}), CPU_END_WHOLE);
	assert_int_equal(*(uint32_t *)(uintptr_t)THERE_VAR, 42);
	/* One allocation was missing; a page of it was read, and one of the variables, in which
	 * another allocation lies. */
	assert_int_equal(f.nmissing, 1);
	assert_int_equal(f.npages, 3);
	assert_int_equal(f.nread, 3);
	close_there(&f);
}

static void test_pages(void **state)
{
	struct fixture f;

	(void)state;
	open_there(&f);
	/* 16 bytes of each of 1,000 blocks: 4 pages, each asked for once, none read. */
	assert_int_equal(run(&f, "who", (struct shape){1000, 0, 0, NULL, 0}), CPU_END_WHOLE);
	assert_int_equal(f.npages, 4);
	assert_int_equal(f.nread, 0);
	assert_int_equal(f.p[4 * 999 + 3], 7);
	/* A copy that reads two of them says so, and writes a new one. */
	f.npages = 0;
	assert_int_equal(run(&f, "bulk", (struct shape){1, 0, 8192, NULL, 0}), CPU_END_WHOLE);
	assert_int_equal(f.nread, 2);
	assert_int_equal(f.npages, 3);
	assert_int_equal(f.p[4096], 0); /* ctaid of block 0 */
	close_there(&f);
}

static void test_unknown(void **state)
{
	struct fixture f;

	(void)state;
	open_there(&f);
	f.is_short = true;
	assert_int_equal(run(&f, "who", (struct shape){256, 0, 0, NULL, 0}), CPU_END_WHOLE);
	assert_int_equal(run(&f, "bulk", (struct shape){1, 0, 8192, NULL, 0}), CPU_END_FAULT);
	assert_int_equal(fault_of(&f), CPU_FAULT_UNKNOWN);
	close_there(&f);
	open_there(&f);
	f.p = (uint32_t *)(uintptr_t)(THERE + (1 << 20));
	assert_int_equal(run(&f, "who", (struct shape){1, 0, 0, NULL, 0}), CPU_END_FAULT);
	assert_int_equal(fault_of(&f), CPU_FAULT_ADDRESS);
	close_there(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_waits),	   cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_taken_back), cmocka_unit_test(test_places),
		cmocka_unit_test(test_pages),	   cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
