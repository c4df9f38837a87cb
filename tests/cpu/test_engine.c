/*
 * test_engine.c - operations in order and side by side, replay, faults, several workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cpu/cpu.h"

static const char text[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	/* p[i] += v */
	".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
	"mad.lo.u32 %r2, %r3, %r4, %r2;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%d1], %r3;\nret;\n}\n"
	/* waits until p[0] is v, then p[1] = v + 1 */
	".visible .entry await(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"again:\nld.acquire.sys.global.u32 %r2, [%d1];\nsetp.ne.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nadd.u32 %r2, %r1, 1;\nst.global.u32 [%d1+4], %r2;\nret;\n}\n"
	/* all blocks meet at p[0] */
	".visible .entry meet(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"atom.add.acq_rel.gpu.global.u32 %r2, [%d1], 1;\n"
	"again:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.lt.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nret;\n}\n"
	".visible .entry stop(.param .u64 p, .param .u32 v)\n{\ntrap;\n}\n"
	/* lets its dependents go, then waits for p[0]; early: p[0] = v, waits, p[1] = p[2] */
	".visible .entry first(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\ngriddepcontrol.launch_dependents;\n"
	"again:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.ne.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nst.global.u32 [%d1+8], 9;\nret;\n}\n"
	".visible .entry early(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"st.release.gpu.global.u32 [%d1], %r1;\ngriddepcontrol.wait;\n"
	"ld.global.u32 %r2, [%d1+8];\nst.global.u32 [%d1+4], %r2;\nret;\n}\n"
	/* p[2048 + i] += v, then p[64 + p[0]++] = i */
	".visible .entry queue(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
	"mad.lo.u32 %r2, %r3, %r4, %r2;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d2, %d1, %d2;\n"
	"ld.global.u32 %r3, [%d2+8192];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%d2+8192], %r3;\n"
	"atom.global.add.u32 %r5, [%d1], 1;\nmul.wide.u32 %d2, %r5, 4;\nadd.u64 %d2, %d1, %d2;\n"
	"st.global.u32 [%d2+256], %r2;\nret;\n}\n"
	/* block b waits until p[0] is v - 1 - b, and makes it one more */
	".visible .entry backwards(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %ctaid.x;\n"
	"sub.u32 %r1, %r1, %r2;\nsub.u32 %r2, %r1, 1;\n"
	"again:\natom.global.cas.b32 %r3, [%d1], %r2, %r1;\nsetp.ne.u32 %p, %r3, %r2;\n"
	"@%p bra again;\nret;\n}\n"
	/* the same, but what it waits for is stored and read back, at p[64 + 2 * b], or beside */
	".visible .entry stored(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<7>;\n.reg .b64 %d<5>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %ctaid.x;\n"
	"mad.wide.u32 %d2, %r2, 8, %d1;\nsub.u32 %r1, %r1, %r2;\nsub.u32 %r2, %r1, 1;\n"
	"mov.u32 %r4, 0;\n"
	"again:\natom.global.cas.b32 %r3, [%d1], %r2, %r1;\nadd.u32 %r4, %r4, 4;\n"
	"and.b32 %r5, %r4, 4;\ncvt.u64.u32 %d3, %r5;\nadd.u64 %d3, %d2, %d3;\n"
	"st.global.u32 [%d3+256], %r3;\nld.global.u32 %r6, [%d3+256];\n"
	"setp.ne.u32 %p, %r6, %r2;\n@%p bra again;\nret;\n}\n"
	/* marks items, p[1] in all, and appends them; the loop's end is loaded each time */
	".visible .entry items(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<7>;\n.reg .b64 %d<5>;\n"
	"ld.param.u64 %d1, [p];\nmov.u32 %r2, %ctaid.x;\n"
	".reg .pred %q;\n"
	"again:\nld.global.u32 %r1, [%d1+4];\nsetp.ge.u32 %q, %r2, %r1;\n@%q bra done;\n"
	"mad.wide.u32 %d2, %r2, 4, %d1;\natom.global.cas.b32 %r3, [%d2+4096], 0, 1;\n"
	"setp.ne.u32 %p, %r3, 0;\n@%p bra next;\natom.global.add.u32 %r4, [%d1], 1;\n"
	"mad.wide.u32 %d2, %r4, 4, %d1;\nst.global.u32 [%d2+8192], %r2;\n"
	"next:\nadd.u32 %r2, %r2, 7;\nbra again;\ndone:\nret;\n}\n"
	/* v attempts that change nothing, in a loop that counts */
	".visible .entry attempts(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, 0;\n"
	"again:\natom.global.cas.b32 %r3, [%d1], 7, 8;\nadd.u32 %r2, %r2, 1;\n"
	"setp.lt.u32 %p, %r2, %r1;\n@%p bra again;\nmov.u32 %r1, %ctaid.x;\n"
	"mov.u32 %r2, %tid.x;\nmad.lo.u32 %r1, %r1, 64, %r2;\n"
	"mad.wide.u32 %d2, %r1, 4, %d1;\nst.global.u32 [%d2+256], %r3;\nret;\n}\n"
	/* each block but the first v takes a ticket n of p[0], and waits until the one before has
	 * made p[64 + n - 1] something; then p[64 + n] is one more */
	".visible .entry chain(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<5>;\n.shared .u32 n;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %tid.x;\n"
	"mov.u32 %r3, %ctaid.x;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra done;\n"
	"setp.ne.u32 %p2, %r2, 0;\n@%p2 bra all;\natom.global.add.u32 %r4, [%d1], 1;\n"
	"st.shared.u32 [n], %r4;\nall:\nbar.sync 0;\nld.shared.u32 %r5, [n];\n"
	"mad.wide.u32 %d2, %r5, 4, %d1;\nmov.u32 %r6, 0;\nsetp.eq.u32 %p3, %r5, 0;\n"
	"@%p3 bra last;\nagain:\nld.volatile.global.u32 %r6, [%d2+252];\n"
	"setp.eq.u32 %p3, %r6, 0;\n@%p3 bra again;\nlast:\nadd.u32 %r6, %r6, 1;\n"
	"st.volatile.global.u32 [%d2+256], %r6;\ndone:\nret;\n}\n"
	/* waits until p[1] is v, which another launch stores there */
	".visible .entry await_other(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"again:\nld.volatile.global.u32 %r2, [%d1+4];\nsetp.ne.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nret;\n}\n"
	/* in v turns, 8 KiB apart: a strong store of a number of the thread, and a weak load at
	 * 256 KiB from there; the sum of what is loaded is stored where the last turn stored */
	".visible .entry publish(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<7>;\n.reg .b64 %d<3>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %tid.x;\n"
	"mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r2, %r3, 32, %r2;\n"
	"mad.wide.u32 %d2, %r2, 4, %d1;\nmov.u32 %r4, 0;\nmov.u32 %r6, 0;\n"
	"again:\nst.volatile.global.u32 [%d2], %r2;\nld.global.u32 %r5, [%d2+262144];\n"
	"add.u32 %r6, %r6, %r5;\nadd.u64 %d2, %d2, 8192;\nadd.u32 %r4, %r4, 1;\n"
	"setp.lt.u32 %p, %r4, %r1;\n@%p bra again;\n"
	"st.volatile.global.u32 [%d2+-8192], %r6;\nret;\n}\n"
	/* v times, all threads: p[0] += 3 with p[0] loaded and stored weakly */
	".visible .entry racing(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<6>;\n.reg .b64 %d<2>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\nmov.u32 %r2, 0;\n"
	"again:\nld.global.u32 %r3, [%d1];\nadd.u32 %r4, %r3, 3;\nxor.b32 %r5, %r4, %r2;\n"
	"add.u32 %r5, %r5, %r3;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%d1], %r4;\n"
	"setp.lt.u32 %p, %r2, %r1;\n@%p bra again;\nst.global.u32 [%d1+4], %r5;\nret;\n}\n";

struct fixture {
	struct base_arena arena;
	struct cpu_machine *m;
	struct cpu_module *mod;
	uint32_t *p; /* 4096 words */
};

static void open_with(struct fixture *f, const struct cpu_options *opt)
{
	struct base_sink sink = {0};

	memset(f, 0, sizeof(*f));
	f->m = cpu_machine_new(opt);
	assert_non_null(f->m);
	struct ptx_module *ptx = ptx_parse(&f->arena, "engine.ptx", text, sizeof(text) - 1, &sink);
	assert_non_null(ptx);
	f->mod = cpu_module_load(f->m, 0, &ptx, 1, &sink);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	assert_non_null(f->mod);
	f->p = cpu_mem_alloc(f->m, 0, 4096 * 4, CPU_MEM_DEVICE);
	assert_non_null(f->p);
	memset(f->p, 0, 4096 * 4);
}

static void open_machine(struct fixture *f, uint64_t seed, unsigned threads)
{
	open_with(f, &(struct cpu_options){.seed = seed, .threads = threads, .devices = 1});
}

static void close_machine(struct fixture *f)
{
	cpu_module_unload(f->mod);
	cpu_mem_free(f->m, f->p);
	cpu_machine_free(f->m);
	base_arena_free(&f->arena);
}

static struct cpu_work kernel(struct fixture *f, const char *name, uint32_t grid, uint32_t block,
			      void *params, uint32_t value)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	uint64_t address = (uint64_t)(uintptr_t)f->p;

	memset(params, 0, 16);
	memcpy(params, &address, 8);
	memcpy((char *)params + 8, &value, 4);
	w.launch.kernel = cpu_module_kernel(f->mod, name);
	assert_non_null(w.launch.kernel);
	w.launch.grid[0] = grid;
	w.launch.block[0] = block;
	w.launch.grid[1] = w.launch.grid[2] = w.launch.block[1] = w.launch.block[2] = 1;
	w.launch.params = params;
	return w;
}

static struct cpu_op *launch(struct fixture *f, const char *name, uint32_t grid, uint32_t block,
			     uint32_t value, struct cpu_op *after)
{
	char params[16];
	struct cpu_work w = kernel(f, name, grid, block, params, value);
	struct cpu_op *op = cpu_submit(f->m, &w, &after, 1, NULL);

	assert_non_null(op);
	return op;
}

static void expect_fault(struct fixture *f, enum cpu_fault_kind kind)
{
	struct cpu_fault got;

	cpu_fault_get(f->m, 0, &got);
	if (got.kind != kind)
		print_message("%s\n", got.text);
	assert_int_equal(got.kind, kind);
}

static void chain_runs_in_order(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct fixture f;
		open_machine(&f, 5, threads);
		struct cpu_op *op = NULL;
		for (unsigned i = 0; i < 50; i++) {
			struct cpu_op *next = launch(&f, "add", 16, 256, 1, op);
			cpu_op_put(op);
			op = next;
		}
		cpu_op_wait(op);
		assert_true(cpu_op_query(op));
		assert_true(cpu_op_time(op) != 0);
		cpu_op_put(op);
		for (unsigned i = 0; i < 4096; i++)
			assert_int_equal(f.p[i], 50);
		expect_fault(&f, CPU_FAULT_NONE);
		close_machine(&f);
	}
}

static uint64_t hash_of(uint64_t seed)
{
	struct fixture f;
	open_machine(&f, seed, 1);
	struct cpu_op *a = launch(&f, "add", 16, 256, 1, NULL);
	struct cpu_op *b = launch(&f, "add", 16, 256, 1, NULL);
	struct cpu_stats st;

	cpu_wait_idle(f.m, UINT32_MAX);
	assert_true(cpu_op_query(a) && cpu_op_query(b));
	cpu_op_put(a);
	cpu_op_put(b);
	cpu_get_stats(f.m, &st);
	assert_int_equal(st.launches, 2);
	assert_int_equal(st.blocks, 32);
	assert_true(st.thread_insts >= 2 * 4096 * 10);
	uint64_t hash = cpu_schedule_hash(f.m);
	close_machine(&f);
	return hash;
}

static void same_seed_same_schedule(void **state)
{
	(void)state;
	assert_true(hash_of(7) == hash_of(7));
	assert_true(hash_of(7) != hash_of(8));
}

/* A kernel that waits for what a copy of another stream brings; and for a host function. */
static void set_word(void *arg)
{
	__atomic_store_n((uint32_t *)arg, 42, __ATOMIC_RELEASE);
}

static void streams_run_side_by_side(void **state)
{
	struct fixture f;
	uint32_t src[2] = {42, 0};

	(void)state;
	open_machine(&f, 1, 1);
	struct cpu_op *k = launch(&f, "await", 1, 32, 42, NULL);
	struct cpu_work copy = {.kind = CPU_WORK_COPY};
	copy.copy = (struct cpu_copy){.dst = (uint64_t)(uintptr_t)f.p,
				      .src = (uint64_t)(uintptr_t)src,
				      .width = 4,
				      .height = 1,
				      .depth = 1,
				      .is_taken = true};
	struct cpu_op *c = cpu_submit(f.m, &copy, NULL, 0, NULL);
	src[0] = 0; /* it has been copied */
	cpu_op_wait(k);
	assert_int_equal(f.p[1], 43);
	cpu_op_put(k);
	cpu_op_put(c);

	f.p[0] = f.p[1] = 0;
	k = launch(&f, "await", 1, 32, 42, NULL);
	struct cpu_work host = {.kind = CPU_WORK_HOST};
	host.host.fn = set_word;
	host.host.arg = f.p;
	c = cpu_submit(f.m, &host, NULL, 0, NULL);
	cpu_op_wait(k);
	assert_int_equal(f.p[1], 43);
	cpu_op_put(k);
	cpu_op_put(c);
	cpu_wait_idle(f.m, 0);
	close_machine(&f);
}

static struct cpu_op *launch_held(struct fixture *f, uint64_t ns, struct cpu_op *after)
{
	char params[16];
	struct cpu_work w = kernel(f, "add", 1, 1, params, 1);

	w.hold = ns;
	struct cpu_op *op = cpu_submit(f->m, &w, &after, 1, NULL);
	assert_non_null(op);
	return op;
}

/* A kernel that is held back starts later than others, but it does start: a kernel that waits for
 * it by spinning gets it, an idle device skips the time, its successors wait. */
static void held_kernels_come_later(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct fixture f;
		open_machine(&f, 3, threads);
		struct cpu_op *held = launch_held(&f, 20000000, NULL);
		struct cpu_op *other = launch(&f, "await", 1, 1, 1, NULL);
		cpu_op_wait(other);
		assert_int_equal(f.p[1], 2);
		cpu_op_wait(held);
		cpu_op_put(held);
		cpu_op_put(other);

		held = launch_held(&f, 20000000, NULL);
		struct cpu_op *next = launch(&f, "add", 1, 1, 1, held);
		other = launch(&f, "add", 1, 1, 0, NULL);
		cpu_op_wait(other);
		if (threads == 1) /* several have the host's clock */
			assert_false(cpu_op_time(held));
		cpu_op_wait(next);
		assert_true(cpu_op_time(held) <= cpu_op_time(next));
		assert_int_equal(f.p[0], 3);
		cpu_op_put(held);
		cpu_op_put(next);
		cpu_op_put(other);

		/* Nothing waits: what is held is freed with the machine. */
		cpu_op_put(launch_held(&f, 1000000000000, NULL));
		expect_fault(&f, CPU_FAULT_NONE);
		close_machine(&f);
	}
}

static void values_and_externals(void **state)
{
	struct fixture f;

	(void)state;
	open_machine(&f, 1, 1);
	struct cpu_work ext = {.kind = CPU_WORK_EXTERNAL};
	struct cpu_work wait = {.kind = CPU_WORK_WAIT_VALUE},
			write = {.kind = CPU_WORK_WRITE_VALUE};
	struct cpu_work fill = {.kind = CPU_WORK_FILL};

	wait.value.addr = write.value.addr = (uint64_t)(uintptr_t)f.p;
	wait.value.size = write.value.size = 4;
	wait.value.value = 5;
	wait.value.cmp = CPU_WAIT_GEQ;
	write.value.value = 6;
	fill.fill = (struct cpu_fill){.dst = (uint64_t)(uintptr_t)(f.p + 1),
				      .pitch = 16,
				      .width = 2,
				      .height = 3,
				      .depth = 1,
				      .value = 0xabcd,
				      .size = 4};
	struct cpu_op *e = cpu_submit(f.m, &ext, NULL, 0, NULL);
	struct cpu_op *w = cpu_submit(f.m, &wait, NULL, 0, NULL);
	struct cpu_op *fl = cpu_submit(f.m, &fill, &w, 1, NULL);
	struct cpu_op *wr = cpu_submit(f.m, &write, &e, 1, NULL);

	assert_false(cpu_op_query(fl));
	assert_false(cpu_op_query(w));
	cpu_op_finish(e);
	cpu_op_wait(fl);
	assert_true(cpu_op_query(e) && cpu_op_query(w) && cpu_op_query(wr));
	assert_int_equal(f.p[0], 6);
	assert_int_equal(f.p[1], 0xabcd);
	assert_int_equal(f.p[2], 0xabcd);
	assert_int_equal(f.p[3], 0);
	assert_int_equal(f.p[10], 0xabcd);
	cpu_op_put(e);
	cpu_op_put(w);
	cpu_op_put(fl);
	cpu_op_put(wr);
	close_machine(&f);
}

static void faults_are_sticky(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct fixture f;
		open_machine(&f, 3, threads);
		struct cpu_op *bad = launch(&f, "stop", 64, 64, 0, NULL);
		struct cpu_op *other = launch(&f, "meet", 8, 32, 1000000, NULL);
		struct cpu_op *later = launch(&f, "add", 16, 256, 1, bad);
		cpu_op_wait(later);
		cpu_op_wait(other); /* would never end */
		expect_fault(&f, CPU_FAULT_TRAP);
		assert_int_equal(f.p[100], 0);
		cpu_op_put(bad);
		cpu_op_put(other);
		cpu_op_put(later);
		cpu_fault_clear(f.m, 0);
		later = launch(&f, "add", 16, 256, 1, NULL);
		cpu_op_wait(later);
		cpu_op_put(later);
		assert_int_equal(f.p[100], 1);
		close_machine(&f);
	}
}

/* Where results of atomics are used, several threads leave what one leaves. */
static void atomics_come_in_order(void **state)
{
	static uint32_t one[4096];

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f,
			  &(struct cpu_options){
				  .seed = 3, .threads = threads, .apart_from = 1, .devices = 1});
		struct cpu_op *op = launch(&f, "queue", 24, 64, 7, NULL);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(f.p[0], 24 * 64);
		assert_int_equal(st.beside, threads > 1);
		assert_int_equal(st.taken_back, 0);
		if (threads == 1)
			memcpy(one, f.p, sizeof(one));
		assert_memory_equal(one, f.p, sizeof(one));
		close_machine(&f);
	}
}

/* Blocks that wait for later ones by atomics aren't executed in groups' order. */
static void waiting_blocks_run_together(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads *= 4) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f,
			  &(struct cpu_options){
				  .seed = 3, .threads = threads, .apart_from = 1, .devices = 1});
		struct cpu_op *op = launch(&f, "backwards", 40, 1, 40, NULL);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(f.p[0], 40);
		assert_int_equal(st.beside, 0);
		close_machine(&f);
	}
}

/* ... nor for long where that isn't seen in the text: then it goes on as other launches do. It is
 * the same with any number of threads. */
static void what_waits_is_opened(void **state)
{
	struct cpu_stats first = {0};
	uint64_t hash = 0;

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f, &(struct cpu_options){.seed = 3,
						    .threads = threads,
						    .apart_from = 1,
						    .apart_patience = 5000,
						    .devices = 1});
		for (unsigned i = 0; i < 2; i++) {
			f.p[0] = 0;
			struct cpu_op *op = launch(&f, "stored", 40, 1, 40, NULL);
			cpu_op_wait(op);
			cpu_op_put(op);
			assert_int_equal(f.p[0], 40);
		}
		cpu_get_stats(f.m, &st);
		assert_int_equal(st.beside, threads > 1);
		assert_int_equal(st.taken_back, threads > 1);
		if (threads == 1) {
			first = st;
			hash = cpu_schedule_hash(f.m);
			assert_true(st.warp_insts > 5000);
		}
		assert_int_equal(st.warp_insts, first.warp_insts);
		assert_int_equal(st.switches, first.switches);
		assert_int_equal(cpu_schedule_hash(f.m), hash);
		close_machine(&f);
	}
}

/* A loop whose end is loaded again in each turn doesn't wait for it. */
static void loaded_ends_are_no_waits(void **state)
{
	static uint32_t one[4096];

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f,
			  &(struct cpu_options){
				  .seed = 3, .threads = threads, .apart_from = 1, .devices = 1});
		f.p[1] = 500;
		struct cpu_op *op = launch(&f, "items", 24, 1, 0, NULL);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(f.p[0], 500);
		assert_int_equal(st.beside, threads > 1);
		assert_int_equal(st.taken_back, 0);
		if (threads == 1)
			memcpy(one, f.p, sizeof(one));
		assert_memory_equal(one, f.p, sizeof(one));
		close_machine(&f);
	}
}

/* So does a launch that waits for another one, which may begin then. */
static void other_launches_are_waited_for(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f, &(struct cpu_options){.seed = 3,
						    .threads = threads,
						    .apart_from = 1,
						    .apart_patience = 20000,
						    .devices = 1});
		struct cpu_op *op = launch(&f, "await_other", 3, 64, 7, NULL);
		struct cpu_op *other = launch(&f, "add", 1, 2, 7, NULL);
		cpu_op_wait(op);
		cpu_op_wait(other);
		cpu_op_put(op);
		cpu_op_put(other);
		cpu_get_stats(f.m, &st);
		assert_int_equal(f.p[1], 7);
		assert_int_equal(st.taken_back, threads > 1);
		close_machine(&f);
	}
}

/* Where the host may see what is stored strongly, nothing is executed that might be taken back. */
static void host_memory_keeps_one_thread(void **state)
{
	(void)state;
	for (unsigned kind = CPU_MEM_DEVICE; kind <= CPU_MEM_HOST; kind++) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f, &(struct cpu_options){
				      .seed = 3, .threads = 4, .apart_from = 1, .devices = 1});
		void *p = cpu_mem_alloc(f.m, 0, 64, (enum cpu_mem_kind)kind);
		assert_non_null(p);
		struct cpu_op *op = launch(&f, "chain", 10, 64, 0, NULL);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(st.beside, kind == CPU_MEM_DEVICE);
		assert_int_equal(f.p[64 + 9], 10);
		cpu_mem_free(f.m, p);
		close_machine(&f);
	}
}

/* Blocks that number themselves, and look back, are executed by several threads, unless some have
 * no number. */
static void tickets_are_numbers(void **state)
{
	(void)state;
	for (unsigned without = 0; without < 2; without++)
		for (unsigned threads = 1; threads <= 8; threads *= 2) {
			struct fixture f;
			struct cpu_stats st;
			open_with(&f, &(struct cpu_options){.seed = 3,
							    .threads = threads,
							    .apart_from = 1,
							    .devices = 1});
			struct cpu_op *op = launch(&f, "chain", 100, 64, without, NULL);
			cpu_op_wait(op);
			cpu_op_put(op);
			cpu_get_stats(f.m, &st);
			assert_int_equal(st.beside, threads > 1);
			assert_int_equal(st.taken_back, threads > 1 && without);
			assert_int_equal(f.p[0], 100 - without);
			for (unsigned i = 0; i < 100 - without; i++)
				assert_int_equal(f.p[64 + i], i + 1);
			close_machine(&f);
		}
}

/* A deadlock is looked for with one thread only. The time that an attempt takes passes meanwhile,
 * as it does else. */
static void attempts_take_time_when_looked_at(void **state)
{
	uint64_t time = 0, hash = 0;

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f,
			  &(struct cpu_options){
				  .seed = 3, .threads = threads, .apart_from = 1, .devices = 1});
		struct cpu_op *op = launch(&f, "attempts", 4, 64, 40000, NULL);
		cpu_op_wait(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(st.beside, threads > 1);
		assert_int_equal(st.taken_back, 0);
		if (threads == 1) {
			time = cpu_op_time(op);
			hash = cpu_schedule_hash(f.m);
		}
		assert_int_equal(cpu_op_time(op), time);
		assert_int_equal(cpu_schedule_hash(f.m), hash);
		cpu_op_put(op);
		close_machine(&f);
	}
}

/* What a group stores strongly before its turn is noted for later. A weak load beside it, from the
 * same register, takes the address of this turn of the loop all the same. */
static void loads_follow_strong_stores(void **state)
{
	enum { TURNS = 32, LANES = 2048, WORDS = TURNS * LANES };

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		char params[16];
		open_with(&f,
			  &(struct cpu_options){
				  .seed = 3, .threads = threads, .apart_from = 1, .devices = 1});
		uint32_t *p = cpu_mem_alloc(f.m, 0, 2 * WORDS * sizeof(*p), CPU_MEM_DEVICE);
		assert_non_null(p);
		for (uint32_t i = 0; i < WORDS; i++)
			p[WORDS + i] = i * i + 1;
		struct cpu_work w = kernel(&f, "publish", LANES / 32, 32, params, TURNS);
		memcpy(params, &p, sizeof(p));
		struct cpu_op *op = cpu_submit(f.m, &w, NULL, 0, NULL);
		assert_non_null(op);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(st.beside, threads > 1);
		assert_int_equal(st.taken_back, 0);
		for (uint32_t lane = 0; lane < LANES; lane++) {
			uint32_t sum = 0;
			for (uint32_t i = lane; i < WORDS; i += LANES)
				sum += p[WORDS + i];
			assert_int_equal(p[WORDS - LANES + lane], sum);
		}
		cpu_mem_free(f.m, p);
		close_machine(&f);
	}
}

/* What several workers load may change between a handler's load and that of machine code, where the
 * threads race: that is no difference between the two, and the launch is repeated by one worker. */
static void races_are_no_difference(void **state)
{
	uint32_t one[2] = {0};

	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct fixture f;
		struct cpu_stats st;
		open_with(&f, &(struct cpu_options){.seed = 3,
						    .threads = threads,
						    .apart_from = 1,
						    .jit = CPU_JIT_VERIFY,
						    .devices = 1});
		struct cpu_op *op = launch(&f, "racing", 64, 32, 300, NULL);
		cpu_op_wait(op);
		cpu_op_put(op);
		cpu_get_stats(f.m, &st);
		assert_int_equal(st.taken_back, threads > 1);
		if (threads == 1)
			memcpy(one, f.p, sizeof(one));
		assert_memory_equal(one, f.p, sizeof(one));
		close_machine(&f);
	}
}

static void cooperative_grids_are_resident(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct fixture f;
		char params[16];
		struct cpu_fault fault = {0};
		open_machine(&f, 3, threads);
		struct cpu_work w = kernel(&f, "meet", 64, 256, params, 64 * 256);
		w.launch.is_cooperative = true;
		struct cpu_op *op = cpu_submit(f.m, &w, NULL, 0, &fault);
		assert_non_null(op);
		cpu_op_wait(op);
		cpu_op_put(op);
		assert_int_equal(f.p[0], 64 * 256);
		w.launch.grid[0] = 100000;
		assert_null(cpu_submit(f.m, &w, NULL, 0, &fault));
		assert_int_equal(fault.kind, CPU_FAULT_ILLEGAL);
		close_machine(&f);
	}
}

static void programmatic_launches_come_early(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct fixture f;
		char params[16];
		open_machine(&f, 9, threads);
		struct cpu_op *a = launch(&f, "first", 4, 32, 7, NULL);
		struct cpu_work w = kernel(&f, "early", 1, 1, params, 7);
		w.launch.is_programmatic = true;
		struct cpu_op *b = cpu_submit(f.m, &w, &a, 1, NULL);
		assert_non_null(b);
		cpu_op_wait(b);
		assert_true(cpu_op_query(a));
		assert_int_equal(f.p[1], 9);
		cpu_op_put(a);
		cpu_op_put(b);
		close_machine(&f);
	}
}

/* Nothing waits: the engine's own thread goes on, and the run says that it can't be replayed. */
static void polling_ends(void **state)
{
	struct fixture f;
	struct cpu_stats st;

	(void)state;
	open_machine(&f, 9, 1);
	struct cpu_op *op = launch(&f, "add", 1, 32, 1, NULL);
	while (!__atomic_load_n(&f.p[31], __ATOMIC_ACQUIRE))
		;
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_get_stats(f.m, &st);
	assert_false(st.is_replayable);
	close_machine(&f);
}

static uint64_t my_ms(void)
{
	return base_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000000;
}

/* A program that is kept from running between a launch and its wait. Then it is busy for a moment,
 * in which the engine's own thread would go on if it went by the time of day. */
static int is_kept(void)
{
	struct fixture f;
	struct cpu_stats st;

	open_machine(&f, 9, 1);
	struct cpu_op *op = launch(&f, "add", 1, 32, 1, NULL);
	raise(SIGSTOP);
	for (uint64_t end = my_ms() + CPU_GRACE_MS / 8; my_ms() < end;)
		;
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_get_stats(f.m, &st);
	close_machine(&f);
	return st.is_replayable ? 0 : 7;
}

static void kept_program_is_replayable(void **state)
{
	struct timespec kept = {.tv_nsec = CPU_GRACE_MS / 3 * 1000000l};
	struct timespec given = {.tv_nsec = 2000000};
	int status;

	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(is_kept());
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	/* It gets far less of a processor than it asks for. */
	for (int i = 0; i < 8; i++) {
		kill(pid, SIGSTOP);
		nanosleep(&kept, NULL);
		kill(pid, SIGCONT);
		nanosleep(&given, NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* One whose call waits for something else than the device, as for a proof. */
static void paused_program_is_replayable(void **state)
{
	struct timespec pause = {.tv_nsec = CPU_GRACE_MS * 2 * 1000000l};
	struct fixture f;
	struct cpu_stats st;

	(void)state;
	open_machine(&f, 9, 1);
	struct cpu_op *op = launch(&f, "add", 1, 32, 1, NULL);
	cpu_grace_pause(f.m);
	nanosleep(&pause, NULL);
	cpu_grace_resume(f.m);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_get_stats(f.m, &st);
	assert_true(st.is_replayable);
	close_machine(&f);
}

/* Their twin: one that sleeps. */
static void sleep_ends(void **state)
{
	struct timespec pause = {.tv_nsec = 10000000};
	struct fixture f;
	struct cpu_stats st;

	(void)state;
	open_machine(&f, 9, 1);
	struct cpu_op *op = launch(&f, "add", 1, 32, 1, NULL);
	while (!__atomic_load_n(&f.p[31], __ATOMIC_ACQUIRE))
		nanosleep(&pause, NULL);
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_get_stats(f.m, &st);
	assert_false(st.is_replayable);
	close_machine(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_runs_in_order),
		cmocka_unit_test(same_seed_same_schedule),
		cmocka_unit_test(streams_run_side_by_side),
		cmocka_unit_test(held_kernels_come_later),
		cmocka_unit_test(values_and_externals),
		cmocka_unit_test(faults_are_sticky),
		cmocka_unit_test(atomics_come_in_order),
		cmocka_unit_test(waiting_blocks_run_together),
		cmocka_unit_test(what_waits_is_opened),
		cmocka_unit_test(loaded_ends_are_no_waits),
		cmocka_unit_test(tickets_are_numbers),
		cmocka_unit_test(other_launches_are_waited_for),
		cmocka_unit_test(host_memory_keeps_one_thread),
		cmocka_unit_test(attempts_take_time_when_looked_at),
		cmocka_unit_test(loads_follow_strong_stores),
		cmocka_unit_test(races_are_no_difference),
		cmocka_unit_test(cooperative_grids_are_resident),
		cmocka_unit_test(programmatic_launches_come_early),
		cmocka_unit_test(polling_ends),
		cmocka_unit_test(kept_program_is_replayable),
		cmocka_unit_test(paused_program_is_replayable),
		cmocka_unit_test(sleep_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
