/*
 * jit_random.c - random programs as machine code, compared with the handlers.
 *
 *   jit_random COUNT [SEED]       from SEED on; with COUNT 0 it prints the program
 *
 * A program is a loop of instructions with a row in cpu/jit/rows.def and of some without, with
 * guards, branches that part warps, loads by registers of all shapes (at one address, side by side,
 * anyhow, now so and now so) and stores to the thread's own place; its registers begin with special
 * and random bits. It runs with --jit=verify, which compares each run of instructions, with on and
 * with off: memory and schedule must be the same. The kernel's name has the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cpu/cpu.h"
#include "ptx/ptx.h"

#define REGS   8u
#define BYTES  16384u /* that are read */
#define THREAD 512u   /* that a thread writes */

static uint64_t rng;

static uint32_t below(uint32_t n)
{
	return base_random_below(&rng, n);
}

/* ---- instructions ------------------------------------------------------------------ */

/* Opcode and operands: h, r, l registers of 16, 32 and 64 bits, f, d floats, p predicates; i: the
 * immediate of lop3. Several in a row have the same operands. */
static const char *const forms[][2] = {
	{"add.s32 sub.s32 mul.lo.s32 mul.hi.u32 mul.hi.s32 min.u32 min.s32 max.u32 max.s32 and.b32 "
	 "or.b32 xor.b32 shl.b32 shr.u32 shr.s32 rem.u32",
	 "rrr"},
	{"mad.lo.s32 shf.l.wrap.b32 shf.r.wrap.b32 shf.l.clamp.b32 shf.r.clamp.b32 prmt.b32 "
	 "bfe.u32",
	 "rrrr"},
	{"lop3.b32", "rrrri"},
	{"neg.s32 abs.s32 not.b32 mov.b32 popc.b32 clz.b32 cvt.s32.s8 cvt.u32.u8 cvt.s32.s16 "
	 "brev.b32",
	 "rr"},
	{"add.s64 sub.s64 mul.lo.s64 and.b64 or.b64 xor.b64", "lll"},
	{"mad.lo.s64", "llll"},
	{"neg.s64 not.b64 mov.b64", "ll"},
	{"shl.b64 shr.u64 shr.s64", "llr"},
	{"mul.wide.u32 mul.wide.s32", "lrr"},
	{"mad.wide.u32 mad.wide.s32", "lrrl"},
	{"add.s16 sub.s16 mul.lo.s16 min.u16 max.u16 and.b16 or.b16 xor.b16", "hhh"},
	{"not.b16 mov.b16", "hh"},
	{"and.pred or.pred xor.pred", "ppp"},
	{"not.pred mov.pred", "pp"},
	{"selp.b32", "rrrp"},
	{"selp.b64", "lllp"},
	{"selp.b16", "hhhp"},
	{"setp.eq.s32 setp.ne.s32 setp.lt.s32 setp.le.s32 setp.gt.u32 setp.ge.u32", "prr"},
	{"setp.eq.s64 setp.lt.s64 setp.ge.s64 setp.lt.u64", "pll"},
	{"setp.eq.s16 setp.lt.u16 setp.gt.u16", "phh"},
	{"setp.eq.f32 setp.lt.f32 setp.le.f32 setp.ne.f32 setp.num.f32 setp.geu.f32 "
	 "setp.lt.ftz.f32 "
	 "setp.equ.ftz.f32",
	 "pff"},
	{"setp.eq.f64 setp.lt.f64 setp.gt.f64 setp.neu.f64 setp.nan.f64", "pdd"},
	{"add.f32 sub.f32 mul.f32 add.ftz.f32 mul.ftz.f32 add.sat.f32 mul.ftz.sat.f32 div.rn.f32 "
	 "min.f32 max.f32 min.ftz.f32 max.ftz.f32 copysign.f32 div.approx.f32 div.full.f32 "
	 "div.approx.ftz.f32 mul.rz.f32 sub.ftz.f32",
	 "fff"},
	{"fma.rn.f32 fma.rn.ftz.f32 fma.rn.sat.f32 fma.rm.f32", "ffff"},
	{"abs.f32 neg.f32 abs.ftz.f32 neg.ftz.f32 mov.b32 sqrt.rn.f32 rcp.rn.f32 ex2.approx.f32 "
	 "lg2.approx.f32 rcp.approx.f32 sqrt.approx.f32 rsqrt.approx.f32 sin.approx.f32 "
	 "cos.approx.f32 ex2.approx.ftz.f32 lg2.approx.ftz.f32 rcp.approx.ftz.f32 "
	 "sqrt.approx.ftz.f32 rsqrt.approx.ftz.f32 sin.approx.ftz.f32 cos.approx.ftz.f32 "
	 "cvt.sat.f32.f32 cvt.rni.f32.f32 cvt.rmi.f32.f32 cvt.rpi.f32.f32 cvt.rzi.f32.f32 "
	 "tanh.approx.f32",
	 "ff"},
	{"add.f64 sub.f64 mul.f64 div.rn.f64", "ddd"},
	{"fma.rn.f64", "dddd"},
	{"mov.b32 cvt.rn.f32.s32 cvt.rn.f32.u32", "fr"},
	{"mov.b32 cvt.rni.s32.f32 cvt.rmi.s32.f32 cvt.rpi.s32.f32 cvt.rzi.s32.f32 cvt.rni.u32.f32 "
	 "cvt.rmi.u32.f32 cvt.rpi.u32.f32 cvt.rzi.u32.f32",
	 "rf"},
	{"mov.b64", "dl"},
	{"mov.b64", "ld"},
	{"cvt.rn.f64.s32", "dr"},
	{"cvt.f64.f32", "df"},
	{"cvt.rn.f32.f64", "fd"},
	{"cvt.u32.u16 cvt.s32.s16", "rh"},
	{"cvt.u16.u32 cvt.s16.s32", "hr"},
	{"cvt.u64.u16 cvt.s64.s16", "lh"},
	{"cvt.u64.u32 cvt.s64.s32", "lr"},
	{"cvt.u32.u64", "rl"},
	{"cvt.u16.u64", "hl"},
};

/* By address: %a0 at one address, %a1 and %a2 side by side by 4 and by 8 bytes, %a3 anyhow, %a4
 * side by side and further on each turn, %a5 at one address or side by side; %s0 to %s3 likewise in
 * shared memory. */
static const struct {
	const char *text;
	uint32_t apart, most;
} loads[] = {
	{"ld.global.u32 %%r%u, [%%a0+%u];", 4, 1024},
	{"ld.global.f32 %%f%u, [%%a1+%u];", 4, 1024},
	{"ld.global.nc.u32 %%r%u, [%%a3+%u];", 4, 1024},
	{"ld.global.u32 %%r%u, [%%a4+%u];", 4, 256},
	{"ld.global.f32 %%f%u, [%%a5+%u];", 4, 1024},
	{"ld.global.u64 %%l%u, [%%a0+%u];", 8, 1024},
	{"ld.global.f64 %%d%u, [%%a2+%u];", 8, 1024},
	{"ld.global.v2.u32 {%%r%u, %%r9}, [%%a0+%u];", 8, 1024},
	{"ld.global.v2.f32 {%%f%u, %%f9}, [%%a2+%u];", 8, 1024},
	{"ld.global.v4.f32 {%%f%u, %%f9, _, %%f8}, [%%a0+%u];", 16, 1024},
	{"ld.global.v2.u64 {%%l%u, %%l9}, [%%a0+%u];", 16, 1024},
	{"ld.global.u16 %%h%u, [%%a1+%u];", 4, 1024},
	{"ld.global.u16 %%h%u, [%%a4+%u];", 4, 256},
	{"ld.global.u16 %%h%u, [%%a5+%u];", 4, 256},
	{"ld.u32 %%r%u, [%%a6+%u];", 4, 256},
	{"ld.volatile.global.u32 %%r%u, [%%a1+%u];", 4, 1024},
	{"ld.shared.u32 %%r%u, [%%s0+%u];", 4, 256},
	{"ld.shared.f32 %%f%u, [%%s1+%u];", 4, 256},
	{"ld.shared.u64 %%l%u, [%%s2+%u];", 8, 256},
	{"ld.shared.f32 %%f%u, [%%s3+%u];", 4, 256},
	{"ld.shared.v4.u32 {%%r%u, %%r8, %%r9, _}, [%%s0+%u];", 16, 256},
	{"ld.shared.u32 %%r%u, [tile+%u];", 4, 1024},
};

static void operand(struct base_buf *b, char kind, bool is_source)
{
	static const char *const words[] = {"0",  "1",		"-1",	      "31",
					    "32", "0x7fffffff", "0x80000000", "12345"};
	static const char *const floats[] = {"0f00000000", "0f80000000", "0f3f800000", "0fbf000000",
					     "0f7f800000", "0fff800000", "0f7fc00001", "0f00000001",
					     "0f40490fdb", "0f7f7fffff"};

	if (kind == 'i')
		base_buf_printf(b, "%u", below(256));
	else if (is_source && (kind == 'r' || kind == 'f') && !below(5))
		base_buf_printf(b, "%s",
				kind == 'r' ? words[below(BASE_COUNTOF(words))]
					    : floats[below(BASE_COUNTOF(floats))]);
	else
		base_buf_printf(b, "%%%c%u", kind, below(REGS));
}

static void arithmetic(struct base_buf *b)
{
	uint32_t all = 0, at;
	const char *op = NULL;
	size_t n = 0, form = 0;

	for (size_t i = 0; i < BASE_COUNTOF(forms); i++)
		for (op = forms[i][0]; op; op = strchr(op + 1, ' '))
			all++;
	at = below(all);
	for (form = 0; form < BASE_COUNTOF(forms); form++) {
		for (op = forms[form][0]; op && at; op = strchr(op + 1, ' '))
			at--;
		if (op)
			break;
	}
	op += *op == ' ';
	n = strcspn(op, " ");
	base_buf_printf(b, "%.*s ", (int)n, op);
	for (const char *k = forms[form][1]; *k; k++) {
		base_buf_printf(b, "%s", k == forms[form][1] ? "" : ", ");
		operand(b, *k, k != forms[form][1]);
	}
	base_buf_printf(b, ";\n");
}

static void statement(struct base_buf *b, unsigned nloads)
{
	uint32_t i = below(100);

	if (i < nloads) {
		uint32_t k = below(BASE_COUNTOF(loads));
		/* The same places often: groups. */
		uint32_t most = below(2) ? loads[k].most : loads[k].apart * 8;
		base_buf_printf(b, "\t");
		base_buf_printf(b, loads[k].text, below(REGS),
				below(most / loads[k].apart) * loads[k].apart);
		base_buf_printf(b, "\n");
		return;
	}
	if (i > 96) {
		base_buf_printf(b, "\tst.shared.u32 [%%s4+%u], %%r%u;\n", below(4) * 512,
				below(REGS));
		return;
	}
	base_buf_printf(b, "\t");
	if (!below(8))
		base_buf_printf(b, "@%s%%p%u ", below(2) ? "!" : "", below(REGS));
	arithmetic(b);
}

static void program(struct base_buf *b, uint64_t seed)
{
	uint32_t n = 10 + below(120), label = 0, nloads = below(3) * 15, ends = UINT32_MAX;

	base_buf_printf(b,
			".version 8.0\n.target sm_80\n.address_size 64\n"
			".visible .entry k%" PRIu64 "(.param .u64 in, .param .u64 out)\n{\n"
			"\t.reg .pred %%p<10>;\n\t.reg .b16 %%h<10>;\n\t.reg .b32 %%r<10>, %%s<5>, "
			"%%t<4>;\n\t.reg .f32 %%f<10>;\n\t.reg .f64 %%d<10>;\n\t.reg .b64 %%l<10>, "
			"%%a<10>, %%b<4>;\n\t.shared .align 16 .b8 tile[4096];\n",
			seed);
	base_buf_printf(b, "\tld.param.u64 %%a0, [in];\n\tld.param.u64 %%b0, [out];\n"
			   "\tmov.u32 %%t0, %%tid.x;\n\tmul.wide.u32 %%b1, %%t0, 4;\n"
			   "\tadd.s64 %%a1, %%a0, %%b1;\n\tmov.u64 %%a4, %%a1;\n"
			   "\tadd.s64 %%a2, %%a1, %%b1;\n\tmul.lo.s32 %%t1, %%t0, 52;\n"
			   "\tand.b32 %%t1, %%t1, 1020;\n\tmul.wide.u32 %%b2, %%t1, 1;\n"
			   "\tadd.s64 %%a3, %%a0, %%b2;\n\tmov.u32 %%s0, tile;\n"
			   "\tshl.b32 %%t2, %%t0, 2;\n\tadd.s32 %%s1, %%s0, %%t2;\n"
			   "\tadd.s32 %%s2, %%s1, %%t2;\n\tadd.s32 %%s3, %%s0, %%t1;\n"
			   "\tadd.s32 %%s4, %%s1, 2048;\n\tmov.u64 %%a6, tile;\n"
			   "\tcvta.shared.u64 %%a6, %%a6;\n\tmov.u64 %%a5, %%a0;\n");
	for (unsigned i = 0; i < 16; i++)
		base_buf_printf(b,
				"\tld.global.u32 %%t3, [%%a1+%u];\n\tst.shared.u32 [%%s1+%u], "
				"%%t3;\n",
				i * 128, i * 128);
	base_buf_printf(b, "\tbar.sync 0;\n");
	for (unsigned i = 0; i < 10; i++)
		base_buf_printf(b,
				"\tld.global.u32 %%r%u, [%%a1+%u];\n\tld.global.f32 %%f%u, "
				"[%%a1+%u];\n\tld.global.u64 %%l%u, [%%a2+%u];\n\tld.global.f64 "
				"%%d%u, [%%a2+%u];\n\tcvt.u16.u32 %%h%u, %%r%u;\n\tsetp.lt.s32 "
				"%%p%u, %%r%u, 0;\n",
				i, i * 64, i, i * 64 + 2048, i, i * 64, i, i * 64 + 1024, i, i, i,
				i);
	base_buf_printf(b, "\tmov.u32 %%t3, 0;\nLOOP:\n");
	for (unsigned i = 0; i < n; i++) {
		if (i == ends) {
			base_buf_printf(b, "L%u:\n", label++);
			ends = UINT32_MAX;
		} else if (ends == UINT32_MAX && !below(40)) {
			ends = i + 1 + below(12);
			if (ends < n)
				base_buf_printf(b, "\t@%%p%u bra L%u;\n", below(REGS), label);
			else
				ends = UINT32_MAX;
		}
		statement(b, nloads);
	}
	base_buf_printf(b, "\tadd.s64 %%a4, %%a4, 16;\n\tadd.s32 %%t3, %%t3, 1;\n"
			   "\tand.b32 %%t1, %%t3, 31;\n\tsetp.eq.u32 %%p9, %%t1, 20;\n"
			   "\tselp.b64 %%a5, %%a1, %%a0, %%p9;\n"
			   "\tsetp.lt.u32 %%p8, %%t3, 100;\n\t@%%p8 bra LOOP;\n"
			   "\tmad.wide.u32 %%b0, %%t0, 512, %%b0;\n");
	for (unsigned i = 0; i < 10; i++)
		base_buf_printf(b,
				"\tst.global.u32 [%%b0+%u], %%r%u;\n\tst.global.f32 [%%b0+%u], "
				"%%f%u;\n\tst.global.u64 [%%b0+%u], %%l%u;\n\tst.global.f64 "
				"[%%b0+%u], %%d%u;\n\tst.global.u16 [%%b0+%u], %%h%u;\n\tselp.u32 "
				"%%t1, 1, 0, %%p%u;\n\tst.global.u32 [%%b0+%u], %%t1;\n",
				i * 4, i, 40 + i * 4, i, 80 + i * 8, i, 160 + i * 8, i, 240 + i * 4,
				i, i, 280 + i * 4);
	base_buf_printf(b, "\tret;\n}\n");
}

static uint32_t in[BYTES / 4];

/* ---- a run ------------------------------------------------------------------------------ */

/* Executes it, and returns the schedule's hash; `out` gets the threads' registers. */
static uint64_t run(const struct base_buf *text, uint64_t seed, unsigned threads, enum cpu_jit jit,
		    uint8_t *out)
{
	struct cpu_options opt = {.seed = seed, .threads = 1, .devices = 1, .jit = jit};
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *ptx = ptx_parse(&arena, "random.ptx", text->p, text->n, &sink);
	struct cpu_module *mod = m && ptx ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};
	size_t bytes = (size_t)threads * THREAD;
	char name[32];

	base_sink_print(&sink, stderr);
	if (!mod)
		exit(2);
	void *from = cpu_mem_alloc(m, 0, BYTES, CPU_MEM_DEVICE);
	void *to = cpu_mem_alloc(m, 0, bytes, CPU_MEM_DEVICE);
	memcpy(from, in, BYTES);
	memset(to, 0, bytes);
	const uint64_t params[2] = {(uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to};
	snprintf(name, sizeof(name), "k%" PRIu64, seed);
	w.launch.kernel = cpu_module_kernel(mod, name);
	for (unsigned i = 0; i < 3; i++)
		w.launch.grid[i] = w.launch.block[i] = 1;
	w.launch.block[0] = threads;
	w.launch.params = params;
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, &fault);
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
	cpu_fault_get(m, 0, &fault);
	if (!op || fault.kind != CPU_FAULT_NONE) {
		fprintf(stderr, "seed %" PRIu64 ": %s\n%.*s", seed, fault.text, (int)text->n,
			text->p);
		exit(2);
	}
	memcpy(out, to, bytes);
	uint64_t hash = cpu_schedule_hash(m);
	cpu_module_unload(mod);
	cpu_machine_free(m);
	base_arena_free(&arena);
	base_sink_free(&sink);
	return hash;
}

static void start(uint64_t seed)
{
	static const uint32_t special[] = {0,	       0x80000000, 1,	       0x807fffff,
					   0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
					   0x7fc00001, 0xffffffff, 0x00800000, 0x7f7fffff,
					   0x4f000000, 0x7ff00000, 0x7ff80000, 0x3ff00000};

	rng = seed;
	for (size_t i = 0; i < BASE_COUNTOF(in); i++)
		in[i] = below(2) ? special[below(BASE_COUNTOF(special))] : below(UINT32_MAX);
}

static bool check(uint64_t seed)
{
	static const unsigned sizes[] = {32, 64, 96, 40, 20};
	static const enum cpu_jit how[] = {CPU_JIT_VERIFY, CPU_JIT_ON, CPU_JIT_OFF};
	static uint8_t out[3][96 * THREAD];
	struct base_buf text = {0};
	uint64_t hash[3];

	start(seed);
	program(&text, seed);
	unsigned threads = sizes[below(BASE_COUNTOF(sizes))];
	for (unsigned i = 0; i < 3; i++)
		hash[i] = run(&text, seed, threads, how[i], out[i]);
	bool is_same = hash[0] == hash[2] && hash[1] == hash[2] &&
		       !memcmp(out[0], out[2], (size_t)threads * THREAD) &&
		       !memcmp(out[1], out[2], (size_t)threads * THREAD);
	if (!is_same)
		fprintf(stderr, "seed %" PRIu64 ": memory or schedule differ\n%.*s", seed,
			(int)text.n, text.p);
	base_buf_free(&text);
	return is_same;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned bad = 0;

	if (!count) {
		struct base_buf text = {0};
		start(seed);
		program(&text, seed);
		fwrite(text.p, 1, text.n, stdout);
		base_buf_free(&text);
		return 0;
	}
	for (uint64_t i = 0; i < count; i++)
		bad += !check(seed + i);
	printf("%" PRIu64 " programs, %u differ\n", count, bad);
	return bad != 0;
}
