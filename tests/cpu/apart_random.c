/*
 * apart_random.c - random launches on one and on several workers: their results must be the same.
 *
 *   apart_random COUNT [SEED [right|verify|quick]]
 *                       from SEED on; with COUNT 0 it prints the program; right: none in which
 *                       blocks meet, for ThreadSanitizer; verify: machine code is executed both
 *                       ways; quick: small launches, interpreted by one thread, and by four with
 *                       machine code that is executed both ways
 *
 * A program has kernels whose blocks don't communicate (cpu/apart.c): loads and stores of all
 * widths at the thread's own place, beside it and anywhere, shared memory with barriers and atomics
 * whose results depend on the schedule, loops, branches that part warps, clocks; in half of the
 * programs updates of an array by red, of one kind, or of several, which don't leave the same in
 * any order, as those of floats; in a third of these results of atomics are used, exchanges and
 * compare-and-swaps among them. Half of those have queues: loops whose end is loaded again in each
 * turn claim items and append what they have claimed, in some to the end of their own loop; in some
 * a block waits for the last one by what it stores and reads back, and blocks take turns after few
 * instructions. A quarter of those that aren't judged number their blocks by an atomic and look
 * back by strong loads at what the block before has stored strongly; in some only half of the
 * blocks do so. Of three quarters of them the order of groups decides nearly all (apart_order.c).
 * In half of the programs blocks write what others access, so that the result depends
 * on the order; in some a thread leaves its array. Every second program is
 * judged by the oracle, and some of its launches don't wait for the one before. They run with 1, 2,
 * 4 and 8 threads: memory, faults, counts, the machine's clock and schedule, and what the oracle
 * found, in which order, must be the same. The count of launches that were taken back is printed:
 * with none of them, or with all, the test would say little, and fails. So it does where no program
 * that is judged has a race, or all have, or where in more than a twentieth one oracle for all
 * blocks finds races and workers' own ones don't, or the other way round.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart_order.h"
#include "base/base.h"
#include "base/random.h"
#include "cpu/cpu.h"
#include "ptx/ptx.h"
#include "race/file/pair.h"

#define WORDS	APART_WORDS
#define ARRAYS	4u /* read; each thread's own; updated; a queue */
#define KERNELS 2u
#define TURNS	4u /* launches */
#define REGS	6u

static uint64_t rng;

static uint32_t below(uint32_t n)
{
	return base_random_below(&rng, n);
}

static unsigned reg(void)
{
	return below(REGS);
}

/* ---- a program ------------------------------------------------------------------------------ */

struct program {
	struct base_buf text;
	bool is_racy; /* blocks write where others access */
	bool is_judged;
	bool has_order;	  /* shared memory is accessed by atomics only */
	bool has_fault;	  /* a thread leaves its array */
	bool has_results; /* of updates, which are used */
	bool has_queue;
	bool waits;			   /* the first block waits for the last one */
	unsigned patience;		   /* instructions until later blocks are let in; 0: many */
	bool looks_back, is_uneven, peeks; /* peeks: where blocks meet */
	bool has_order_only;		   /* apart_order.c */
	struct apart_order how;
	unsigned updates; /* the number of their kind, and 1; above ALIKE: any; 0: none */
	unsigned labels;
	struct {
		unsigned kernel, blocks, threads, rows, cluster;
		bool is_free; /* it doesn't wait for the one before */
	} launch[TURNS];
};

/* %i0 becomes a word's number for an access: a thread's own, or any. */
static void index_of(struct base_buf *b, bool is_own)
{
	if (is_own) {
		base_buf_printf(b, "\tmov.u32 %%i0, %%gid;\n");
		return;
	}
	switch (below(4)) {
	case 0:
		base_buf_printf(b, "\tadd.u32 %%i0, %%gid, %u;\n", below(64));
		break;
	case 1:
		base_buf_printf(b, "\tmad.lo.u32 %%i0, %%r%u, %u, %%gid;\n", reg(), below(64) * 2);
		break;
	case 2:
		base_buf_printf(b, "\tmov.u32 %%i0, %u;\n", below(WORDS));
		break;
	default:
		base_buf_printf(b, "\tmul.lo.u32 %%i0, %%gid, %u;\n", 1 + 2 * below(9));
	}
	base_buf_printf(b, "\tand.b32 %%i0, %%i0, %u;\n", WORDS - 2);
}

static const struct {
	const char *type;
	unsigned bytes;
	const char *regs;
} widths[] = {{"u8", 1, "%%r%u"},
	      {"s16", 2, "%%r%u"},
	      {"u32", 4, "%%r%u"},
	      {"u32", 4, "%%r%u"},
	      {"u64", 8, "%%l%u"}};

/* A load or store of array `a`; what is stored to is the thread's own, where nothing may race. */
static void access(struct program *p, const char *array, bool is_store, bool is_own)
{
	struct base_buf *b = &p->text;
	unsigned w = below(BASE_COUNTOF(widths));

	index_of(b, is_own);
	/* Of two words a thread has those in the array's other half, too. */
	if (is_own && widths[w].bytes == 8)
		w = 2;
	if (widths[w].bytes == 8)
		base_buf_printf(b, "\tand.b32 %%i0, %%i0, %u;\n", WORDS - 2);
	base_buf_printf(b, "\tmad.wide.u32 %%at, %%i0, 4, %%%s;\n\t%s%s.%s ", array,
			is_store ? "st" : "ld", below(3) ? ".global" : "", widths[w].type);
	if (is_store)
		base_buf_printf(b, "[%%at], ");
	base_buf_printf(b, widths[w].regs, below(REGS));
	base_buf_printf(b, "%s;\n", is_store ? "" : ", [%at]");
}

static const struct {
	const char *op, *regs;
} kinds[] = {{"add.u32", "%%r%u"}, {"max.s32", "%%r%u"}, {"xor.b32", "%%r%u"},
	     {"add.u64", "%%l%u"}, {"min.u64", "%%l%u"}, {"add.f32", "%%r%u"},
	     {"inc.u32", "%%r%u"}, {"add.f64", "%%l%u"}};
#define ALIKE (unsigned)BASE_COUNTOF(kinds)

/* An atomic of any word, whose result the thread uses. */
static void fetch(struct program *p)
{
	static const char *const ops[] = {"add.u32", "max.s32", "xor.b32", "exch.b32", "add.f32"};
	struct base_buf *b = &p->text;

	index_of(b, !below(3));
	base_buf_printf(b, "\tmad.wide.u32 %%at, %%i0, 4, %%sum;\n");
	if (below(3))
		base_buf_printf(b, "\tatom.global.%s %%r%u, [%%at], %%r%u;\n",
				ops[below(BASE_COUNTOF(ops))], reg(), reg());
	else
		base_buf_printf(b, "\tatom.relaxed.gpu.cas.b32 %%r%u, [%%at], %%r%u, %%r%u;\n",
				reg(), reg(), reg());
}

/* An atomic of any word, whose result nothing has: blocks may do that. Where that word is read or
 * written, too, the blocks meet. */
static void update(struct program *p)
{
	struct base_buf *b = &p->text;
	unsigned of = p->updates <= ALIKE ? p->updates - 1 : below(ALIKE);
	bool is_atom = below(2);

	index_of(b, !below(3));
	base_buf_printf(b,
			"\tand.b32 %%i0, %%i0, %u;\n\tmad.wide.u32 %%at, %%i0, 4, %%%s;\n"
			"\t%s%s%s.%s %s[%%at], ",
			WORDS - 2, "sum", is_atom ? "atom" : "red",
			p->is_racy && !below(8) ? ".relaxed.cta" : "", below(3) ? ".global" : "",
			kinds[of].op,
			!is_atom		   ? ""
			: kinds[of].regs[2] == 'r' ? "%none, "
						   : "%none2, ");
	base_buf_printf(b, kinds[of].regs, below(REGS));
	base_buf_printf(b, ";\n");
	if (p->is_racy && !below(4))
		base_buf_printf(b, "\tld.global.u32 %%r%u, [%%at];\n", reg());
	if (p->is_racy && !below(8))
		base_buf_printf(b, "\tst.global.u32 [%%at], %%r%u;\n", reg());
}

/* A loop of few turns that claims words of the third array, and appends their numbers to the queue:
 * [0] is how many there are, [1] and [2] are never written. Where blocks may meet the end of the
 * loop may be the queue's own. */
static void queue(struct program *p)
{
	struct base_buf *b = &p->text;
	unsigned label = p->labels++;
	bool is_own_end = p->is_racy && !below(3);

	base_buf_printf(b,
			"\tand.b32 %%q0, %%gid, 31;\nQ%u:\n\tld.global.u32 %%q1, [%%queue+%u];\n"
			"\tand.b32 %%q1, %%q1, 63;\n\tsetp.ge.u32 %%p2, %%q0, %%q1;\n"
			"\t@%%p2 bra E%u;\n\tmad.lo.u32 %%i0, %%q0, %u, %%gid;\n"
			"\tand.b32 %%i0, %%i0, %u;\n\tmad.wide.u32 %%at, %%i0, 4, %%sum;\n",
			label, is_own_end ? 0 : 4 + 4 * below(2), label, 1 + below(64),
			below(2) ? 255 : WORDS - 1);
	if (below(2))
		base_buf_printf(b, "\tld.global.u32 %%q2, [%%queue+4];\n"
				   "\tatom.global.cas.b32 %%q2, [%%at], 7, %%q2;\n"
				   "\tsetp.eq.u32 %%p3, %%q2, 7;\n");
	else
		base_buf_printf(b, "\tatom.global.or.b32 %%q2, [%%at], 0x40000000;\n"
				   "\tsetp.ge.u32 %%p3, %%q2, 0x40000000;\n");
	base_buf_printf(b,
			"\t@%%p3 bra N%u;\n\tatom.global.add.u32 %%q2, [%%queue], 1;\n"
			"\tsetp.ge.u32 %%p3, %%q2, %u;\n\t@%%p3 bra N%u;\n"
			"\tmad.wide.u32 %%at, %%q2, 4, %%queue;\n\tst.global.u32 [%%at+12], %%i0;\n"
			"N%u:\n\tadd.u32 %%q0, %%q0, %u;\n\tbra Q%u;\nE%u:\n",
			label, WORDS - 8, label, label, 1 + below(8), label, label);
}

/* The first block waits for the last one: for what an atomic returned, stored and read back at two
 * places in turn. */
static void wait_for_last(struct program *p)
{
	base_buf_printf(&p->text,
			"\tmov.u32 %%q0, %%tid.x;\n\tsetp.ne.u32 %%p2, %%q0, 0;\n\t@%%p2 bra W2;\n"
			"\tmov.u32 %%q0, %%nctaid.x;\n\tsub.u32 %%q0, %%q0, 1;\n"
			"\tmov.u32 %%q1, %%ctaid.x;\n\tsetp.ne.u32 %%p2, %%q0, %%q1;\n"
			"\t@%%p2 bra W0;\n\tatom.global.exch.b32 %%q2, [%%queue+%u], 1;\n"
			"W0:\n\tsetp.ne.u32 %%p2, %%q1, 0;\n\t@%%p2 bra W2;\n\tmov.u32 %%q0, 0;\n"
			"W1:\n\tatom.global.add.u32 %%q2, [%%queue+%u], 0;\n"
			"\txor.b32 %%q0, %%q0, 4;\n\tcvt.u64.u32 %%at, %%q0;\n"
			"\tadd.u64 %%at, %%at, %%queue;\n\tst.global.u32 [%%at+%u], %%q2;\n"
			"\tld.global.u32 %%q1, [%%at+%u];\n\tsetp.ne.u32 %%p2, %%q1, 1;\n"
			"\t@%%p2 bra W1;\nW2:\n",
			4 * (WORDS - 1), 4 * (WORDS - 1), 4 * (WORDS - 3), 4 * (WORDS - 3));
}

#define COUNTER APART_COUNTER
#define SLOTS	APART_SLOTS

/* %tk becomes the block's number. What it asks for a ticket has one definition: else it's none. */
static void take_ticket(struct program *p)
{
	base_buf_printf(&p->text, "\tmov.u32 %%th, %%tid.x;\n\tsetp.ne.u32 %%rest, %%th, 0;\n"
				  "\t@%%rest bra T0;\n");
	if (p->is_uneven)
		base_buf_printf(&p->text, "\tmov.u32 %%q1, %%ctaid.x;\n\tand.b32 %%q1, %%q1, 1;\n"
					  "\tsetp.eq.u32 %%p3, %%q1, 0;\n\t@%%p3 bra T0;\n");
	base_buf_printf(&p->text,
			"\tatom.global.add.u32 %%q1, [%%queue+%u], 1;\n"
			"\tst.shared.u32 [%%sm+256], %%q1;\n"
			"T0:\n\tbar.sync 0;\n\tld.shared.u32 %%tk, [%%sm+256];\n",
			COUNTER);
}

static void publish(struct program *p, unsigned more)
{
	base_buf_printf(&p->text,
			"\tand.b32 %%q0, %%tk, 1023;\n\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
			"\tadd.u32 %%q1, %%tk, %u;\n\tst.%s.global.u32 [%%at+%u], %%q1;\n",
			more, below(2) ? "volatile" : "relaxed.gpu", SLOTS);
}

/* Waits for the last word of the block before; the launch's first number is a parameter. */
static void look_back(struct program *p)
{
	struct base_buf *b = &p->text;

	if (p->is_uneven) {
		base_buf_printf(b, "\txor.b32 %%r0, %%r0, %%tk;\n");
		return;
	}
	publish(p, 1000);
	if (p->peeks)
		base_buf_printf(b,
				"\tld.global.u32 %%r1, [%%queue+%u];\n"
				"\txor.b32 %%r0, %%r0, %%r1;\n",
				below(2) ? COUNTER : SLOTS);
	/* What the next one has stored, if it has. */
	if (below(2))
		base_buf_printf(b,
				"\tadd.u32 %%q0, %%tk, 1;\n\tand.b32 %%q0, %%q0, 1023;\n"
				"\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
				"\tld.volatile.global.u32 %%q2, [%%at+%u];\n"
				"\txor.b32 %%r0, %%r0, %%q2;\n",
				SLOTS);
	base_buf_printf(b,
			"\tsetp.eq.u32 %%p2, %%tk, %%base;\n\t@%%p2 bra K1;\n"
			"\tsub.u32 %%q0, %%tk, 1;\n\tadd.u32 %%q1, %%q0, 500000;\n"
			"\tand.b32 %%q0, %%q0, 1023;\n\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
			"K0:\n\tld.%s.global.u32 %%q2, [%%at+%u];\n"
			"\tsetp.lt.u32 %%p3, %%q2, %%q1;\n\t@%%p3 bra K0;\n"
			"\txor.b32 %%r0, %%r0, %%q2;\nK1:\n",
			below(2) ? "volatile" : "relaxed.gpu", SLOTS);
	publish(p, 500000);
}

static void shared(struct program *p)
{
	struct base_buf *b = &p->text;

	base_buf_printf(b,
			"\tand.b32 %%i0, %%%s%u, 63;\n\tshl.b32 %%i0, %%i0, 2;\n"
			"\tadd.u32 %%i0, %%i0, %%sm;\n",
			"r", reg());
	if (p->has_order || below(2))
		base_buf_printf(b, "\tatom.shared.add.u32 %%r%u, [%%i0], %%r%u;\n", reg(), reg());
	else if (below(2))
		base_buf_printf(b, "\tst.shared.u32 [%%i0], %%r%u;\n", reg());
	else
		base_buf_printf(b, "\tld.shared.u32 %%r%u, [%%i0];\n", reg());
}

static void statements(struct program *p, unsigned n, unsigned depth);

static void branch(struct program *p, unsigned depth)
{
	unsigned label = p->labels++;

	base_buf_printf(&p->text,
			"\tand.b32 %%i1, %%r%u, %u;\n\tsetp.eq.u32 %%p0, %%i1, 0;\n"
			"\t@%%p0 bra L%u;\n",
			reg(), 1 + below(7), label);
	statements(p, 1 + below(4), depth + 1);
	base_buf_printf(&p->text, "L%u:\n", label);
}

static void loop(struct program *p, unsigned depth)
{
	unsigned label = p->labels++;

	base_buf_printf(&p->text, "\tmov.u32 %%n%u, 0;\nL%u:\n", depth, label);
	statements(p, 1 + below(4), depth + 1);
	base_buf_printf(&p->text,
			"\tadd.u32 %%n%u, %%n%u, 1;\n\tsetp.lt.u32 %%p1, %%n%u, %u;\n"
			"\t@%%p1 bra L%u;\n",
			depth, depth, depth, 2 + below(9), label);
}

static void statements(struct program *p, unsigned n, unsigned depth)
{
	struct base_buf *b = &p->text;

	while (n--) {
		switch (below(p->updates ? 14 : 12)) {
		case 12:
		case 13:
			if (p->has_queue && !below(3))
				queue(p);
			else if (p->has_results && below(2))
				fetch(p);
			else
				update(p);
			break;
		case 0:
		case 1:
			base_buf_printf(b, "\tmad.lo.u32 %%r%u, %%r%u, 1664525, %%r%u;\n", reg(),
					reg(), reg());
			break;
		case 2:
			base_buf_printf(b, "\txor.b32 %%r%u, %%r%u, %%gid;\n", reg(), reg());
			break;
		case 3:
		case 4:
			access(p, "in", false, false);
			break;
		case 5:
			access(p, "out", false, !p->is_racy || below(4));
			break;
		case 6:
		case 7:
			access(p, "out", true, !p->is_racy || below(8));
			break;
		case 8:
			shared(p);
			break;
		case 9:
			if (!depth)
				base_buf_printf(b, "\tbar.sync 0;\n");
			else
				base_buf_printf(b, "\tcvt.u64.u32 %%l%u, %%r%u;\n", reg(), reg());
			break;
		case 10:
			if (depth < 2)
				branch(p, depth);
			break;
		default:
			if (depth < 2)
				loop(p, depth);
			else if (!below(4))
				base_buf_printf(b, "\tmov.u32 %%r%u, %%clock;\n", reg());
		}
	}
}

static void kernel(struct program *p, unsigned number)
{
	struct base_buf *b = &p->text;

	base_buf_printf(
		b,
		".visible .entry k%u(.param .u64 a, .param .u64 b, .param .u64 c, "
		".param .u64 d, .param .u32 e)\n{\n"
		"\t.reg .b32 %%r<%u>, %%i<2>, %%n<3>, %%q<3>, %%gid, %%sm, %%t, %%none, "
		"%%tk, %%base, %%th;\n\t.reg .b64 %%l<%u>, %%none2, %%at, %%in, %%out, "
		"%%sum, %%queue;\n\t.reg .pred %%p<4>, %%rest;\n\t.shared .align 4 .b8 sm[260];\n"
		"\tld.param.u64 %%in, [a];\n\tld.param.u64 %%out, [b];\n"
		"\tld.param.u64 %%sum, [c];\n\tld.param.u64 %%queue, [d];\n"
		"\tld.param.u32 %%base, [e];\n"
		"\tmov.u32 %%sm, sm;\n\tmov.u32 %%gid, %%ctaid.x;\n\tmov.u32 %%t, "
		"%%ntid.x;\n\tmov.u32 %%i0, %%tid.x;\n\tmad.lo.u32 %%gid, %%gid, %%t, "
		"%%i0;\n",
		number, REGS, REGS);
	for (unsigned i = 0; i < REGS; i++)
		base_buf_printf(b, "\tadd.u32 %%r%u, %%gid, %u;\n\tcvt.u64.u32 %%l%u, %%r%u;\n", i,
				below(100), i, i);
	if (p->waits && (number || below(2)))
		wait_for_last(p);
	if (p->looks_back)
		take_ticket(p);
	statements(p, 6 + below(14), 0);
	if (p->looks_back)
		look_back(p);
	if (p->has_fault)
		base_buf_printf(b,
				"\tsetp.eq.u32 %%p0, %%gid, %u;\n\t@%%p0 st.global.u32 [%%in + "
				"-4096], %%gid;\n",
				below(2000));
	base_buf_printf(b, "\tmad.wide.u32 %%at, %%gid, 4, %%out;\n\tst.global.u32 [%%at], %%r0;\n"
			   "\tret;\n}\n");
}

/* Of programs in which blocks meet the machine's own threads race, too, as they are meant to. */
static bool only_right;
static bool is_quick;
static enum cpu_jit jit = CPU_JIT_ON;

/* Of blocks that take their numbers in other ways. */
static void shape(struct program *p, unsigned i)
{
	if (p->how.tickets == APART_CLUSTER) {
		p->launch[i].cluster = 2;
		p->launch[i].blocks += p->launch[i].blocks % 2;
	} else if (p->how.tickets == APART_ROWS || p->how.tickets == APART_LANES) {
		p->launch[i].threads = p->how.tickets == APART_ROWS ? 32 : 8;
		p->launch[i].rows = p->how.tickets == APART_ROWS ? 2 : 4;
	}
}

static void make(struct program *p, uint64_t seed)
{
	rng = seed;
	*p = (struct program){.is_racy = below(2) != 0,
			      .has_fault = !below(10),
			      .updates = below(2) ? 1 + below(ALIKE + 2) : 0};
	p->has_results = p->updates && !below(3);
	p->is_judged = seed & 1;
	p->has_queue = p->has_results && !p->is_judged && below(2);
	p->waits = p->has_queue && !below(4);
	p->has_order_only = !p->is_judged && below(4);
	if (!p->has_order_only && !p->is_judged && below(2)) {
		p->updates = p->updates ? p->updates : 1 + below(ALIKE + 2);
		p->has_results = p->has_queue = p->waits = true;
	}
	p->looks_back = !p->is_judged && !below(4);
	p->is_uneven = p->looks_back && !below(4);
	p->peeks = p->looks_back && !below(3) && !only_right;
	if (p->waits || (p->has_queue && !below(4)))
		p->patience = 1u << (8 + below(6));
	p->is_racy &= !only_right;
	p->has_order = p->is_judged && below(4);
	if (p->has_order_only)
		p->how = apart_order_draw(&rng, only_right);
	base_buf_printf(&p->text, ".version 7.8\n.target %s\n.address_size 64\n",
			p->how.tickets == APART_CLUSTER ? "sm_90" : "sm_80");
	for (unsigned i = 0; i < KERNELS; i++)
		if (p->has_order_only)
			apart_order_kernel(&p->how, &rng, &p->text, i);
		else
			kernel(p, i);
	for (unsigned i = 0; i < TURNS; i++) {
		p->launch[i].kernel = below(KERNELS);
		bool are_many = below(2); /* groups of several blocks */
		p->launch[i].blocks = are_many ? 130 + below(is_quick ? 50 : 350)
					       : 1 + below(is_quick ? 30 : 120);
		p->launch[i].threads = 8 + below(are_many ? 24 : is_quick ? 60 : 120);
		if (p->has_order_only && below(2)) /* of all lanes */
			p->launch[i].threads = 32 * (1 + below(2));
		p->launch[i].is_free = p->is_judged && !below(4);
		p->launch[i].rows = p->launch[i].cluster = 1;
		shape(p, i);
	}
}

/* ---- a run ---------------------------------------------------------------------------------- */

struct outcome {
	uint32_t memory[ARRAYS][WORDS];
	struct cpu_stats stats;
	uint64_t hash, time, judged, races, pairs; /* pairs: a hash of them */
	char fault[sizeof(((struct cpu_fault *)0)->text)];
};

static struct race_pair *on_pair(void *arg, const struct race_pair *p, size_t bytes)
{
	struct outcome *out = arg;
	uint64_t h = base_hash(&p->kind, sizeof(p->kind), out->pairs);

	(void)bytes;
	for (unsigned i = 0; i < 2; i++) {
		const struct race_pair_side *s = &p->side[i];
		const uint64_t what[] = {
			s->grid,	   s->ptx_line, s->bytes, s->access,
			s->flags,	   s->width,	s->space, (uint64_t)s->device,
			s->address & 0xfff};
		h = base_hash(what, sizeof(what), h);
		h = base_hash(s->thread, sizeof(s->thread), h);
		h = base_hash(s->block, sizeof(s->block), h);
	}
	out->pairs = h;
	out->races++;
	return NULL;
}

static void run_on(struct cpu_machine *m, struct cpu_module *mod, const struct program *p,
		   struct outcome *out)
{
	void *array[ARRAYS];
	struct cpu_op *op[TURNS + 1] = {NULL};
	struct cpu_fault fault = {0};

	/* Before an array lies nothing: a page between. */
	for (unsigned i = 0; i < ARRAYS; i++) {
		array[i] = cpu_mem_alloc(m, 0, sizeof(out->memory[i]), CPU_MEM_DEVICE);
		for (unsigned k = 0; k < WORDS; k++)
			((uint32_t *)array[i])[k] = k * 2654435761u + i;
	}
	((uint32_t *)array[3])[0] = ((uint32_t *)array[3])[WORDS - 2] = 0;
	memset((uint32_t *)array[3] + WORDS / 2, 0, 4096);
	uint64_t params[] = {(uint64_t)(uintptr_t)array[0], (uint64_t)(uintptr_t)array[1],
			     (uint64_t)(uintptr_t)array[2], (uint64_t)(uintptr_t)array[3], 0};
	uint32_t number = 0;
	for (unsigned i = 0; i < TURNS; i++) {
		struct cpu_work w = {.kind = CPU_WORK_KERNEL};
		char name[8];
		snprintf(name, sizeof(name), "k%u", p->launch[i].kernel);
		params[ARRAYS] = number;
		number += p->launch[i].blocks;
		w.launch =
			(struct cpu_launch){.kernel = cpu_module_kernel(mod, name),
					    .grid = {p->launch[i].blocks, 1, 1},
					    .block = {p->launch[i].threads, p->launch[i].rows, 1},
					    .params = params};
		bool waits = i && op[i] && !p->launch[i].is_free;
		op[i + 1] = cpu_submit(m, &w, &op[i], waits ? 1 : 0, &fault);
	}
	for (unsigned i = 1; i <= TURNS; i++) {
		if (!op[i])
			continue;
		cpu_op_wait(op[i]);
		out->time = cpu_op_time(op[i]);
		cpu_op_put(op[i]);
	}
	cpu_fault_get(m, 0, &fault);
	/* Where it is; what lies beside a machine's memory is another thing for the next one. */
	const char *where = strchr(fault.text, ';');
	snprintf(out->fault, sizeof(out->fault), "%s", where ? where : fault.text);
	for (unsigned i = 0; i < ARRAYS; i++)
		memcpy(out->memory[i], array[i], sizeof(out->memory[i]));
}

/* A way to run a program. is_whole: no launch is executed by groups of blocks. */
struct way {
	unsigned threads;
	enum cpu_jit jit;
	bool is_whole;
};

static void run(const struct program *p, uint64_t seed, const struct way *way, struct outcome *out)
{
	struct cpu_options opt = {.seed = seed,
				  .threads = way->threads,
				  .apart_from = way->is_whole ? UINT32_MAX : 1,
				  .apart_patience = p->patience,
				  .devices = 1,
				  .jit = way->jit,
				  .oracle = p->is_judged ? CPU_ORACLE_PROGRAM : CPU_ORACLE_OFF};
	struct cpu_oracle_stats oracle;
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *ptx = ptx_parse(&arena, "random.ptx", p->text.p, p->text.n, &sink);
	struct cpu_module *mod = m && ptx ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;

	memset(out, 0, sizeof(*out));
	base_sink_print(&sink, stderr);
	if (!mod)
		exit(2);
	cpu_on_pair(m, on_pair, out);
	run_on(m, mod, p, out);
	cpu_get_oracle_stats(m, &oracle);
	out->judged = oracle.accesses;
	cpu_get_stats(m, &out->stats);
	out->hash = cpu_schedule_hash(m);
	cpu_module_unload(mod);
	cpu_machine_free(m);
	base_arena_free(&arena);
	base_sink_free(&sink);
}

/* Launches that ran on several workers, and those of them that were taken back. */
static uint64_t nbeside, ntaken;
/* Programs that were judged, those of them with races, and those that have some only if one oracle
 * sees all blocks, in turns, or only if none does: addresses may depend on the schedule. */
static uint64_t njudged, nraced, nalone;

static const char *difference(const struct outcome *a, const struct outcome *b)
{
	if (memcmp(a->memory, b->memory, sizeof(a->memory)))
		return "memory";
	if (strcmp(a->fault, b->fault))
		return "faults";
	if (a->hash != b->hash)
		return "schedules";
	if (a->time != b->time)
		return "clocks";
	if (a->stats.warp_insts != b->stats.warp_insts ||
	    a->stats.thread_insts != b->stats.thread_insts ||
	    a->stats.switches != b->stats.switches || a->stats.blocks != b->stats.blocks)
		return "counts";
	if (a->races != b->races || a->pairs != b->pairs)
		return "races";
	if (a->judged != b->judged)
		return "judged accesses";
	return NULL;
}

static bool check(uint64_t seed)
{
	const struct way all[] = {
		{1, jit, false}, {2, jit, false}, {4, jit, false}, {8, jit, false}};
	const struct way two[] = {{1, CPU_JIT_OFF, false}, {4, CPU_JIT_VERIFY, false}};
	const struct way *ways = is_quick ? two : all;
	static struct outcome first, other;
	struct program p;
	bool is_same = true;

	make(&p, seed);
	for (unsigned i = 0; i < (is_quick ? BASE_COUNTOF(two) : BASE_COUNTOF(all)); i++) {
		run(&p, seed, &ways[i], i ? &other : &first);
		const char *what = i ? difference(&first, &other) : NULL;
		nbeside += i ? other.stats.beside : 0;
		ntaken += i ? other.stats.taken_back : 0;
		if (!what)
			continue;
		is_same = false;
		fprintf(stderr, "seed %" PRIu64 ": %s differ with %u threads%s%s\n%s%s\n", seed,
			what, ways[i].threads, p.is_racy ? ", racy" : "",
			p.has_fault ? ", faulty" : "", first.fault, other.fault);
	}
	njudged += p.is_judged;
	nraced += p.is_judged && first.races;
	if (p.is_judged && !is_quick) {
		run(&p, seed, &(struct way){1, jit, true}, &other);
		nalone += !first.races != !other.races;
	}
	base_buf_free(&p.text);
	return is_same;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned bad = 0;

	only_right = argc > 3 && !strcmp(argv[3], "right");
	is_quick = argc > 3 && !strcmp(argv[3], "quick");
	if (argc > 3 && !strcmp(argv[3], "verify"))
		jit = CPU_JIT_VERIFY;
	if (!count) {
		struct program p;
		make(&p, seed);
		fwrite(p.text.p, 1, p.text.n, stdout);
		base_buf_free(&p.text);
		return 0;
	}
	for (uint64_t i = 0; i < count; i++)
		bad += !check(seed + i);
	printf("%" PRIu64 " programs, %u differ; of %" PRIu64
	       " launches on several workers %" PRIu64 " were taken back\n",
	       count, bad, nbeside, ntaken);
	printf("%" PRIu64 " programs were judged, %" PRIu64 " have races"
	       "; in %" PRIu64 " it depends on the schedule\n",
	       njudged, nraced, nalone);
	if (njudged > 8 && (!nraced || nraced == njudged || nalone > 1 + njudged / 20))
		return 1;
	return bad || !nbeside || (!only_right && (!ntaken || ntaken == nbeside));
}
