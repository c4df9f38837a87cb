/*
 * apart_order.c - random kernels of which the order of groups of blocks decides what they leave.
 *
 * Blocks exchange values by a few flags: strong stores of all widths, strong loads, atomics whose
 * results are used, or select an address; at two addresses, by every second block in the other
 * order. Most blocks number themselves by an atomic, publish by strong stores, look back at the
 * block before and store data by their number; in some programs in ways that only look like it.
 * Loops store strongly and load what nothing writes by the same register. Some warps leave early.
 * Some blocks compute long before that, so that later ones come to it first. Nothing else is
 * accessed by two blocks, in half of the programs: such a launch isn't taken back, and whatever
 * comes in another order shows in memory.
 */
#include "apart_order.h"

#include "base/random.h"

#define REGS   6u
#define FLAGS  (4 * 3 * (APART_WORDS / 4)) /* in the queue's array: few */
#define NFLAGS 8u
#define WIDE   (FLAGS + 4096) /* ... of 16 bytes */
/* By a register that loops move on, by less than MOVED bytes: what is stored strongly, and what
 * nothing writes, in the queue's array. */
#define MOVED  4096u
#define STORED (FLAGS + 8192)
#define READ   (APART_SLOTS + 4096)

struct maker {
	const struct apart_order *o;
	uint64_t *rng;
	struct base_buf *b;
	unsigned labels, depth;
	bool only_stores; /* by which a block needn't wait */
};

static uint32_t below(struct maker *k, uint32_t n)
{
	return base_random_below(k->rng, n);
}

static unsigned reg(struct maker *k)
{
	return below(k, REGS);
}

/* %at becomes where a flag of `bytes` is: one of all, by block, by thread, or by a register. */
static void flag(struct maker *k, unsigned bytes)
{
	static const char *const by[] = {"%ctaid.x", "%tid.x", "%laneid"};
	unsigned at = bytes > 4 ? WIDE : FLAGS;

	switch (below(k, 3)) {
	case 0:
		base_buf_printf(k->b, "\tadd.u64 %%at, %%queue, %u;\n",
				at + bytes * below(k, NFLAGS));
		return;
	case 1:
		base_buf_printf(k->b, "\tmov.u32 %%i0, %s;\n", by[below(k, BASE_COUNTOF(by))]);
		break;
	default:
		base_buf_printf(k->b, "\tmov.u32 %%i0, %%r%u;\n", reg(k));
	}
	base_buf_printf(k->b,
			"\tand.b32 %%i0, %%i0, %u;\n\tmad.wide.u32 %%at, %%i0, %u, %%queue;\n"
			"\tadd.u64 %%at, %%at, %u;\n",
			NFLAGS - 1, bytes, at);
}

/* Who does it: all threads, or some. */
static const char *who(struct maker *k)
{
	static const char *const all[] = {"", "", "", "@%lead ", "@%some ", "@!%some "};

	return all[below(k, BASE_COUNTOF(all))];
}

static const char *strong(struct maker *k)
{
	static const char *const sems[] = {"volatile", "relaxed.gpu", "relaxed.sys"};

	return sems[below(k, BASE_COUNTOF(sems))];
}

static const char *space(struct maker *k)
{
	return below(k, 3) ? ".global" : "";
}

static void update(struct maker *k)
{
	static const char *const ops[] = {"add.u32", "max.u32", "inc.u32", "xor.b32", "add.f32"};

	flag(k, 4);
	base_buf_printf(k->b, "\tred%s.%s [%%at], %%r%u;\n", space(k),
			ops[below(k, BASE_COUNTOF(ops))], reg(k));
}

static void store(struct maker *k)
{
	static const struct {
		const char *type;
		unsigned bytes, n;
		char reg;
	} of[] = {{"u32", 4, 1, 'r'},	 {"u32", 4, 1, 'r'},	 {"u64", 8, 1, 'l'},
		  {"v2.u32", 8, 2, 'r'}, {"v4.u32", 16, 4, 'r'}, {"v2.u64", 16, 2, 'l'},
		  {"u16", 4, 1, 'h'},	 {"u8", 4, 1, 'r'}};
	unsigned w = below(k, BASE_COUNTOF(of));
	const char *by;

	flag(k, of[w].bytes);
	if (of[w].reg == 'l')
		base_buf_printf(k->b, "\tmul.wide.u32 %%l0, %%r%u, %%r%u;\n\tnot.b64 %%l1, %%l0;\n",
				reg(k), reg(k));
	if (of[w].reg == 'h')
		base_buf_printf(k->b, "\tcvt.u16.u32 %%h0, %%r%u;\n", reg(k));
	by = who(k);
	base_buf_printf(k->b, "\t%sst.%s%s.%s [%%at], ", by, strong(k), space(k), of[w].type);
	if (of[w].n == 1)
		base_buf_printf(k->b, "%%%c%u;\n", of[w].reg, of[w].reg == 'r' ? reg(k) : 0);
	else if (of[w].n == 2 && of[w].reg == 'l')
		base_buf_printf(k->b, "{%%l1, %%l0};\n");
	else if (of[w].n == 2)
		base_buf_printf(k->b, "{%%r%u, %%r%u};\n", reg(k), reg(k));
	else
		base_buf_printf(k->b, "{%%r%u, %%r%u, %%r%u, %%r%u};\n", reg(k), reg(k), reg(k),
				reg(k));
}

static void load(struct maker *k)
{
	unsigned to = reg(k), other = (to + 1) % REGS;

	if (below(k, 2)) {
		flag(k, 4);
		base_buf_printf(k->b, "\t%s", who(k));
		base_buf_printf(k->b, "ld.%s%s.u32 %%r%u, [%%at];\n", strong(k), space(k), to);
	} else if (!below(k, 3)) {
		flag(k, 8);
		base_buf_printf(k->b,
				"\tld.%s%s.u64 %%l0, [%%at];\n"
				"\tmov.b64 {%%r%u, %%r%u}, %%l0;\n",
				strong(k), space(k), to, other);
	} else {
		flag(k, 8u << below(k, 2));
		base_buf_printf(k->b, "\tld.%s%s.v2.u32 {%%r%u, %%r%u}, [%%at];\n", strong(k),
				space(k), to, other);
	}
}

/* %q2 becomes what it returned. */
static void fetch_at(struct maker *k)
{
	static const char *const ops[] = {"add.u32", "max.u32", "exch.b32", "inc.u32", "xor.b32"};
	unsigned op = below(k, BASE_COUNTOF(ops) + 1);

	if (op == BASE_COUNTOF(ops))
		base_buf_printf(k->b, "\tatom%s.cas.b32 %%q2, [%%at], %%r%u, %%r%u;\n", space(k),
				reg(k), reg(k));
	else
		base_buf_printf(k->b, "\tatom%s.%s %%q2, [%%at], %%r%u;\n", space(k), ops[op],
				reg(k));
}

static void fetch(struct maker *k)
{
	unsigned to = reg(k);

	flag(k, 4);
	fetch_at(k);
	base_buf_printf(k->b, "\tmad.lo.u32 %%r%u, %%r%u, 33, %%q2;\n", to, to);
}

/* What an atomic returns selects a word of the sums. */
static void select_word(struct maker *k)
{
	flag(k, 4);
	base_buf_printf(k->b,
			"\tatom.global.add.u32 %%q2, [%%at], %u;\n\tand.b32 %%q2, %%q2, 1023;\n"
			"\tmad.wide.u32 %%at, %%q2, 4, %%sum;\n",
			1 + below(k, 3));
	switch (below(k, k->o->rare == APART_WRITE ? 4 : 3)) {
	case 0:
		if (k->o->is_strong) {
			base_buf_printf(k->b, "\tst.%s.global.u32 [%%at], %%gid;\n", strong(k));
			break;
		}
		/* fall through */
	case 1:
		base_buf_printf(k->b, "\tatom.global.exch.b32 %%r%u, [%%at], %%gid;\n", reg(k));
		break;
	case 2:
		base_buf_printf(k->b,
				"\tmad.wide.u32 %%at, %%q2, 4, %%in;\n"
				"\tld.global.u32 %%r%u, [%%at];\n",
				reg(k));
		break;
	default:
		base_buf_printf(k->b, "\tst.global.u32 [%%at], %%gid;\n");
	}
}

/* Every second block comes to two words in the other order. */
static void opposite(struct maker *k)
{
	unsigned a = below(k, NFLAGS), to = reg(k), i;

	base_buf_printf(k->b, "\tmov.u32 %%i0, %%ctaid.x;\n\tand.b32 %%i0, %%i0, 1;\n"
			      "\txor.b32 %%i1, %%i0, 1;\n");
	for (i = 0; i < 2; i++) {
		base_buf_printf(k->b,
				"\tmad.wide.u32 %%at, %%i%u, %u, %%queue;\n"
				"\tadd.u64 %%at, %%at, %u;\n",
				i, 4 * (1 + below(k, NFLAGS - 1)), FLAGS + 4 * a);
		if (k->o->is_strong && !below(k, 3)) {
			base_buf_printf(k->b, "\tst.%s.global.u32 [%%at], %%gid;\n", strong(k));
		} else {
			fetch_at(k);
			base_buf_printf(k->b, "\tmad.lo.u32 %%r%u, %%r%u, 5, %%q2;\n", to, to);
		}
	}
}

/* The thread's own word, weak: by its number in the grid or, where blocks have one, by that. */
static void own(struct maker *k, bool is_store)
{
	base_buf_printf(k->b, "\tmad.wide.u32 %%at, %%mine, 4, %%out;\n");
	if (is_store)
		base_buf_printf(k->b, "\tst.global.u32 [%%at], %%r%u;\n", reg(k));
	else
		base_buf_printf(k->b, "\tld.global.u32 %%r%u, [%%at];\n", reg(k));
}

/* Strong accesses by a generic address may be of shared memory: they are at once what they do. */
static void shared(struct maker *k)
{
	base_buf_printf(k->b, "\tst.%s.u32 [%%mysm], %%r%u;\n\tld.shared.u32 %%r%u, [%%mysm32];\n",
			below(k, 2) ? "volatile" : "relaxed.gpu", reg(k), reg(k));
}

/* A strong store, or what comes in order as it does. */
static void put_strong(struct maker *k)
{
	if (k->o->is_strong)
		base_buf_printf(k->b, "\tst.%s.global.u32 [%%at], %%r%u;\n", strong(k), reg(k));
	else
		base_buf_printf(k->b, "\tatom.global.exch.b32 %%q2, [%%at], %%r%u;\n", reg(k));
}

static void meet(struct maker *k)
{
	const char *by = below(k, 2) ? "@%lead " : "";
	unsigned to = reg(k);

	switch (k->o->rare) {
	case APART_OWN_READ:
	case APART_OWN_WRITE:
		base_buf_printf(k->b,
				"\tand.b32 %%i0, %%gid, %u;\n"
				"\tmad.wide.u32 %%at, %%i0, 4, %%queue;\n",
				APART_WORDS / 2 - 1);
		put_strong(k);
		break;
	case APART_BOTH:
		base_buf_printf(k->b, "\tadd.u64 %%at, %%queue, %u;\n", FLAGS);
		put_strong(k);
		by = "";
		break;
	case APART_READ:
	case APART_WRITE:
		flag(k, 4);
		break;
	case APART_WEAK_WRITES:
	case APART_WEAK_READS:
		base_buf_printf(k->b,
				"\tsub.u32 %%i0, %%mine, %u;\n\tand.b32 %%i0, %%i0, %u;\n"
				"\tmad.wide.u32 %%at, %%i0, 4, %%out;\n",
				1 + below(k, 64), APART_WORDS - 1);
		break;
	default:
		base_buf_printf(k->b, "\tadd.u64 %%at, %%queue, %u;\n", APART_COUNTER);
	}
	switch (k->o->rare) {
	case APART_OWN_WRITE:
	case APART_WRITE:
	case APART_COUNT_WRITE:
	case APART_WEAK_WRITES:
		base_buf_printf(k->b, "\t%sst.global.u32 [%%at], %%r%u;\n", by, to);
		break;
	case APART_COUNT_STRONG:
		base_buf_printf(k->b, "\t%sld.volatile.global.u32 %%r%u, [%%at];\n", by, to);
		break;
	case APART_COUNT_UPDATE:
		base_buf_printf(k->b, "\t%satom.global.max.u32 %%r%u, [%%at], %%th;\n", by, to);
		break;
	default:
		base_buf_printf(k->b, "\t%sld.global.u32 %%r%u, [%%at];\n", by, to);
	}
}

/* Some blocks compute long: one in four, the first ones longest, or by chance. */
static void delay(struct maker *k)
{
	unsigned label = k->labels++;

	switch (below(k, 3)) {
	case 0:
		base_buf_printf(k->b,
				"\tmov.u32 %%q0, %%ctaid.x;\n\tand.b32 %%q0, %%q0, 3;\n"
				"\tsetp.eq.u32 %%p2, %%q0, %u;\n\tselp.b32 %%q0, %u, 1, %%p2;\n",
				below(k, 4), 64u << below(k, 6));
		break;
	case 1:
		base_buf_printf(k->b,
				"\tmov.u32 %%q0, %%nctaid.x;\n\tmov.u32 %%q1, %%ctaid.x;\n"
				"\tsub.u32 %%q0, %%q0, %%q1;\n\tshl.b32 %%q0, %%q0, %u;\n"
				"\tand.b32 %%q0, %%q0, 4095;\n",
				1 + below(k, 5));
		break;
	default:
		base_buf_printf(k->b,
				"\tmov.u32 %%q0, %%ctaid.x;\n\tmul.lo.u32 %%q0, %%q0, 2654435761;\n"
				"\tshr.u32 %%q0, %%q0, %u;\n",
				20 + below(k, 5));
	}
	base_buf_printf(k->b,
			"D%u:\n\tmad.lo.u32 %%r0, %%r0, 1664525, %%r1;\n\tsub.u32 %%q0, %%q0, 1;\n"
			"\tsetp.gt.s32 %%p2, %%q0, 0;\n\t@%%p2 bra D%u;\n",
			label, label);
}

/* So many stores that a group carries them out before its end, if it may; then what is there. */
static void fill(struct maker *k)
{
	unsigned label = k->labels++, to = reg(k);

	base_buf_printf(
		k->b,
		"\tmov.u32 %%q0, %u;\nF%u:\n\tadd.u32 %%i0, %%q0, %%th;\n"
		"\tand.b32 %%i0, %%i0, %u;\n\tmad.wide.u32 %%at, %%i0, 4, %%queue;\n"
		"\tadd.u32 %%i0, %%q0, %%r%u;\n\tst.%s.global.u32 [%%at+%u], %%i0;\n"
		"\tsub.u32 %%q0, %%q0, 1;\n\tsetp.ne.u32 %%p2, %%q0, 0;\n\t@%%p2 bra F%u;\n",
		1 + below(k, below(k, 2) ? 30 : 200), label, NFLAGS - 1, reg(k), strong(k), FLAGS,
		label);
	if (k->only_stores)
		return;
	base_buf_printf(k->b, "\tld.%s.global.v4.u32 {%%q0, %%q1, %%q2, %%i0}, [%%queue+%u];\n",
			strong(k), FLAGS + 16 * below(k, 2));
	for (unsigned i = 0; i < 3; i++)
		base_buf_printf(k->b, "\tmad.lo.u32 %%r%u, %%r%u, 3, %%q%u;\n", to, to, i);
}

/* ---- a strong store, and what is loaded beside it ------------------------------------------- */

static const struct wide {
	const char *type;
	unsigned bytes, n;
	char reg;
} wides[] = {{"u32", 4, 1, 'm'},    {"u32", 4, 1, 'm'},	    {"u64", 8, 1, 'l'},
	     {"v2.u32", 8, 2, 'm'}, {"v4.u32", 16, 4, 'm'}, {"v2.u64", 16, 2, 'l'}};

/* %b<number> becomes a place of the array: lanes side by side, at one address, or anyhow. */
static void place(struct maker *k, unsigned number, const char *array, const struct wide *w)
{
	static const char *const by[] = {"%th", "%th", "%laneid", "%ctaid.x", "%r0"};

	base_buf_printf(k->b,
			"\tmov.u32 %%i0, %s;\n\tand.b32 %%i0, %%i0, 63;\n"
			"\tmad.wide.u32 %%b%u, %%i0, %u, %%%s;\n",
			by[below(k, BASE_COUNTOF(by))], number, w->bytes, array);
}

/* The operand of an element for each of the type. */
static void elements(struct maker *k, const struct wide *w)
{
	for (unsigned i = 0; i < w->n; i++)
		base_buf_printf(k->b, "%s%%%c%u", i ? ", " : w->n > 1 ? "{" : "", w->reg, i);
	base_buf_printf(k->b, "%s", w->n > 1 ? "}" : "");
}

static void store_beside(struct maker *k, const struct wide *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->reg == 'l')
			base_buf_printf(k->b, "\tmul.wide.u32 %%l%u, %%r%u, %%r%u;\n", i, reg(k),
					reg(k));
		else
			base_buf_printf(k->b, "\tadd.u32 %%m%u, %%r%u, %%q0;\n", i, reg(k));
	base_buf_printf(k->b, "\t%s", who(k));
	base_buf_printf(k->b, "st.%s%s.%s [%%b0+%u], ", strong(k), space(k), w->type,
			STORED + w->bytes * below(k, 4));
	elements(k, w);
	base_buf_printf(k->b, ";\n");
}

/* By the register of the stores, or by another one. */
static void load_beside(struct maker *k, const struct wide *w, unsigned number, unsigned to)
{
	base_buf_printf(k->b, "\t%s", who(k));
	base_buf_printf(k->b, "ld%s%s.%s ", number && below(k, 2) ? ".global.nc" : "",
			number ? "" : space(k), w->type);
	elements(k, w);
	base_buf_printf(k->b, ", [%%b%u+%u];\n", number,
			(number ? 0 : READ) + w->bytes * below(k, 4));
	for (unsigned i = 0; i < w->n; i++) {
		if (w->reg == 'l')
			base_buf_printf(k->b, "\tcvt.u32.u64 %%m%u, %%l%u;\n", i, i);
		base_buf_printf(k->b, "\tmad.lo.u32 %%r%u, %%r%u, 3, %%m%u;\n", to, to, i);
	}
}

static void beside(struct maker *k)
{
	unsigned label = k->labels++, to = reg(k), step = 16 * (1 + below(k, 16));
	const struct wide *w = &wides[below(k, BASE_COUNTOF(wides))];
	const struct wide *other = below(k, 3) ? w : &wides[below(k, BASE_COUNTOF(wides))];

	place(k, 0, "queue", below(k, 3) ? w : &wides[BASE_COUNTOF(wides) - 1]);
	place(k, 1, "in", &wides[BASE_COUNTOF(wides) - 1]);
	if (w->bytes < other->bytes)
		other = w; /* so that it is aligned */
	base_buf_printf(k->b, "\tmov.u32 %%q0, 0;\nB%u:\n", label);
	store_beside(k, w);
	for (unsigned i = 1 + below(k, 4); i > 0; i--)
		if (below(k, 4))
			load_beside(k, other, !below(k, 3), to);
		else
			store_beside(k, w);
	if (below(k, 4))
		base_buf_printf(k->b, "\tadd.u64 %%b0, %%b0, %u;\n", step);
	if (below(k, 2))
		base_buf_printf(k->b, "\tadd.u64 %%b1, %%b1, %u;\n", step);
	_Static_assert(16 * (63 + 4 + 8 * 16) < MOVED, "the last turn");
	base_buf_printf(k->b,
			"\tadd.u32 %%q0, %%q0, 1;\n\tsetp.lt.u32 %%p2, %%q0, %u;\n"
			"\t@%%p2 bra B%u;\n",
			2 + below(k, 7), label);
}

/* Threads from a number on do no more. */
static void leave(struct maker *k)
{
	unsigned n = below(k, 2) ? 32 * (1 + below(k, 2)) : 1 + below(k, 63);

	base_buf_printf(k->b, "\tsetp.ge.u32 %%p2, %%th, %u;\n\t@%%p2 %s;\n", n,
			below(k, 2) ? "exit" : "bra END");
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(struct maker *k, unsigned n);

static void branch(struct maker *k)
{
	unsigned label = k->labels++;

	base_buf_printf(k->b,
			"\tand.b32 %%i1, %%r%u, %u;\n\tsetp.eq.u32 %%p0, %%i1, 0;\n"
			"\t@%%p0 bra L%u;\n",
			reg(k), 1 + below(k, 7), label);
	k->depth++;
	statements(k, 1 + below(k, 3));
	k->depth--;
	base_buf_printf(k->b, "L%u:\n", label);
}

static void loop(struct maker *k)
{
	unsigned label = k->labels++, depth = k->depth++;

	base_buf_printf(k->b, "\tmov.u32 %%n%u, 0;\nL%u:\n", depth, label);
	statements(k, 1 + below(k, 3));
	k->depth--;
	base_buf_printf(k->b,
			"\tadd.u32 %%n%u, %%n%u, 1;\n\tsetp.lt.u32 %%p1, %%n%u, %u;\n"
			"\t@%%p1 bra L%u;\n",
			depth, depth, depth, 2 + below(k, 3), label);
}

static void statements(struct maker *k, unsigned n)
{
	while (n--) {
		switch (below(k, k->o->rare >= APART_OWN_READ ? 17 : 16)) {
		case 0:
		case 1:
		case 2:
			if (k->o->is_strong)
				store(k);
			else
				update(k);
			break;
		case 3:
		case 4:
			if (k->o->is_strong)
				load(k);
			else
				fetch(k);
			break;
		case 5:
		case 6:
			fetch(k);
			break;
		case 7:
			select_word(k);
			break;
		case 8:
			opposite(k);
			break;
		case 9:
			own(k, true);
			break;
		case 10:
			own(k, false);
			break;
		case 11:
			if (k->o->is_strong && below(k, 2))
				shared(k);
			else if (k->o->is_strong && !k->depth && below(k, 2))
				fill(k);
			else if (k->o->is_strong)
				beside(k);
			break;
		case 12:
			update(k);
			break;
		case 13:
			delay(k);
			break;
		case 14:
			if (k->depth < 2)
				branch(k);
			break;
		case 15:
			if (k->depth < 2)
				loop(k);
			break;
		default:
			meet(k);
		}
	}
}

/* %tk becomes the block's number, of those in the launch. What it asks has one definition. */
static void take_ticket(struct maker *k)
{
	enum apart_tickets how = k->o->tickets;

	base_buf_printf(k->b,
			"\tmov.u32 %%q1, %%base;\n\tadd.u64 %%at, %%queue, %u;\n"
			"\tsetp.ne.u32 %%rest, %%th, 0;\n\t@%%rest bra T0;\n",
			APART_COUNTER);
	if (how == APART_HALF || how == APART_TWO)
		base_buf_printf(k->b, "\tmov.u32 %%q0, %%ctaid.x;\n\tand.b32 %%q0, %%q0, 1;\n"
				      "\tsetp.eq.u32 %%p3, %%q0, 0;\n");
	if (how == APART_HALF)
		base_buf_printf(k->b, "\t@%%p3 bra T0;\n");
	if (how == APART_TWO)
		base_buf_printf(k->b, "\t@%%p3 add.u64 %%at, %%queue, %u;\n", APART_COUNTER2);
	if (how == APART_WIDE)
		base_buf_printf(k->b, "\tatom.global.add.u64 %%l0, [%%at], 1;\n"
				      "\tcvt.u32.u64 %%q1, %%l0;\n");
	else
		base_buf_printf(k->b, "\tatom.global.add.u32 %%q1, [%%at], 1;\n");
	base_buf_printf(k->b, "\tst.shared.u32 [%%sm+1024], %%q1;\nT0:\n\tbar.sync 0;\n"
			      "\tld.shared.u32 %%tk, [%%sm+1024];\n\tsub.u32 %%tk, %%tk, %%base;\n"
			      "\txor.b32 %%r1, %%r1, %%tk;\n");
	/* Each block has another one: what it stores by that, no other block accesses. */
	if (how == APART_EACH || how == APART_WIDE || how == APART_CLUSTER)
		base_buf_printf(k->b, "\tmad.lo.u32 %%mine, %%tk, %%size, %%th;\n");
}

static void publish(struct maker *k, unsigned more)
{
	base_buf_printf(k->b,
			"\tand.b32 %%q0, %%tk, 1023;\n\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
			"\tadd.u32 %%q1, %%tk, %%base;\n\tadd.u32 %%q1, %%q1, %u;\n"
			"\tst.%s.global.u32 [%%at+%u], %%q1;\n",
			more, strong(k), APART_SLOTS);
}

/* Waits for the block before, and reads what others have published by now. */
static void look_back(struct maker *k)
{
	base_buf_printf(k->b,
			"\tsetp.eq.u32 %%p2, %%tk, 0;\n\t@%%p2 bra K1;\n\tsub.u32 %%q0, %%tk, 1;\n"
			"\tadd.u32 %%q1, %%q0, %%base;\n\tadd.u32 %%q1, %%q1, 500000;\n"
			"\tand.b32 %%q0, %%q0, 1023;\n\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
			"K0:\n\tld.%s.global.u32 %%q2, [%%at+%u];\n"
			"\tsetp.lt.u32 %%p3, %%q2, %%q1;\n\t@%%p3 bra K0;\n"
			"\txor.b32 %%r0, %%r0, %%q2;\nK1:\n",
			strong(k), APART_SLOTS);
	for (unsigned i = below(k, 3); i > 0; i--)
		base_buf_printf(k->b,
				"\tadd.u32 %%q0, %%tk, %u;\n\tand.b32 %%q0, %%q0, 1023;\n"
				"\tmad.wide.u32 %%at, %%q0, 4, %%queue;\n"
				"\tld.%s.global.u32 %%q2, [%%at+%u];\n"
				"\tmad.lo.u32 %%r1, %%r1, 7, %%q2;\n",
				below(k, 1024), strong(k), APART_SLOTS);
}

static void head(struct maker *k, unsigned number)
{
	base_buf_printf(
		k->b,
		".visible .entry k%u(.param .u64 a, .param .u64 b, .param .u64 c, "
		".param .u64 d, .param .u32 e)%s\n{\n"
		"\t.reg .b32 %%r<%u>, %%i<2>, %%n<3>, %%q<3>, %%gid, %%sm, %%th, %%tk, "
		"%%base, %%mine, %%mysm32, %%size, %%m<4>;\n\t.reg .b64 %%l<2>, %%at, %%in, "
		"%%out, %%sum, %%queue, %%mysm, %%b<2>;\n\t.reg .b16 %%h<1>;\n\t.reg .pred %%p<4>, "
		"%%lead, "
		"%%some, %%rest;\n"
		"\t.shared .align 8 .b8 sm[1032];\n"
		"\tld.param.u64 %%in, [a];\n\tld.param.u64 %%out, [b];\n"
		"\tld.param.u64 %%sum, [c];\n\tld.param.u64 %%queue, [d];\n"
		"\tld.param.u32 %%base, [e];\n\tmov.u32 %%sm, sm;\n"
		"\tmov.u32 %%gid, %%ctaid.x;\n\tmov.u32 %%size, %%ntid.x;\n"
		"\tmov.u32 %%th, %%tid.x;\n\tmad.lo.u32 %%gid, %%gid, %%size, %%th;\n"
		"\tmov.u32 %%mine, %%gid;\n\tsetp.eq.u32 %%lead, %%th, 0;\n"
		"\tsetp.lt.u32 %%some, %%th, %u;\n\tand.b32 %%mysm32, %%th, 255;\n"
		"\tmad.lo.u32 %%mysm32, %%mysm32, 4, %%sm;\n\tcvt.u64.u32 %%mysm, %%mysm32;\n"
		"\tcvta.shared.u64 %%mysm, %%mysm;\n\tst.shared.u32 [%%mysm32], 0;\n",
		number, k->o->tickets == APART_CLUSTER ? " .reqnctapercluster 2, 1, 1" : "", REGS,
		1 + below(k, 31));
	for (unsigned i = 0; i < REGS; i++)
		base_buf_printf(k->b, "\tadd.u32 %%r%u, %%gid, %u;\n", i, below(k, 100));
}

/* What a program has once, or not. */
static void rare(struct maker *k)
{
	switch (k->o->rare) {
	case APART_PLAIN:
		return;
	case APART_FAULT:
	case APART_END:
		base_buf_printf(k->b,
				"\tsetp.eq.u32 %%p0, %%gid, %u;\n"
				"\t@%%p0 st.relaxed.gpu.global.u32 [%%queue+%u], %%gid;\n",
				below(k, 500),
				k->o->rare == APART_FAULT ? FLAGS + 2 : 4 * APART_WORDS);
		break;
	case APART_SHARED:
		shared(k);
		break;
	default:
		meet(k);
	}
}

/* Most blocks only store: what they do is carried out when they have ended, mostly. */
static void store_only(struct maker *k)
{
	k->only_stores = true;
	for (unsigned i = 1 + below(k, 4); i > 0; i--)
		switch (below(k, 7)) {
		case 0:
			shared(k);
			break;
		case 1:
			fill(k);
			break;
		case 2:
		case 3:
			beside(k);
			break;
		default:
			store(k);
		}
	k->only_stores = false;
	base_buf_printf(k->b,
			"\tmov.u32 %%q0, %%ctaid.x;\n\tand.b32 %%q0, %%q0, %u;\n"
			"\tsetp.ne.u32 %%p2, %%q0, %u;\n\t@%%p2 bra END;\n",
			1 + 2 * below(k, 2), below(k, 2));
}

void apart_order_kernel(const struct apart_order *o, uint64_t *rng, struct base_buf *to,
			unsigned number)
{
	struct maker k = {.o = o, .rng = rng, .b = to};
	bool has_number = o->is_strong && (o->tickets == APART_EACH || o->tickets == APART_WIDE ||
					   o->tickets == APART_CLUSTER);

	head(&k, number);
	if (below(&k, 2))
		delay(&k);
	bool has_quiet = o->is_strong && !below(&k, 3);
	has_number &= !has_quiet;
	if (o->tickets)
		take_ticket(&k);
	if (!below(&k, 4))
		leave(&k);
	if (below(&k, 2))
		delay(&k);
	/* Before anything that a block waits for, mostly. */
	bool is_late = !below(&k, 4);
	if (!is_late)
		rare(&k);
	if (has_quiet)
		store_only(&k);
	if (has_number)
		publish(&k, 1000);
	if (below(&k, 2))
		statements(&k, 1 + below(&k, 6));
	if (has_number && below(&k, 4)) {
		look_back(&k);
		own(&k, true);
		publish(&k, 500000);
	}
	if (is_late)
		rare(&k);
	statements(&k, 2 + below(&k, 6));
	base_buf_printf(to, "END:\n");
	for (unsigned i = 1; i < REGS; i++)
		base_buf_printf(to, "\tmad.lo.u32 %%r0, %%r0, 31, %%r%u;\n", i);
	base_buf_printf(to, "\tmad.wide.u32 %%at, %%mine, 4, %%out;\n"
			    "\tst.global.u32 [%%at], %%r0;\n\tret;\n}\n");
}

struct apart_order apart_order_draw(uint64_t *rng, bool is_right)
{
	struct apart_order o = {.tickets = APART_EACH};

	if (base_random_below(rng, 4))
		o.tickets = (enum apart_tickets)base_random_below(rng, APART_TICKETS);
	o.is_strong = base_random_below(rng, 3) != 0;
	if (base_random_below(rng, 4))
		o.rare = (enum apart_rare)base_random_below(rng,
							    is_right ? APART_FAULT : APART_RARE);
	o.is_strong |= o.rare && o.rare < APART_OWN_READ;
	return o;
}
