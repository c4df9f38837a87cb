/*
 * flow_intervals.c - flow_is_undisturbed on random kernels, compared with executions of them.
 *
 *	flow_intervals PROGRAMS [FIRST]
 *
 * Program number N is made from N alone: blocks of loads and stores of shared memory, sums,
 * selects, comparisons and barriers, some under guards, ended by random branches; some branches
 * close loops that count. THREADS threads execute it RUNS times, each with a parameter that all
 * have alike, its own %tid.x, and values of its own wherever it loads. An access is before another
 * thread's if a barrier lies between in which both take part: one that has left takes part in none.
 * A load of which flow_is_undisturbed says yes must be ordered with every store of other threads,
 * in every run that ends.
 *
 * Prints how many loads are undisturbed, and how many more no run has shown to be disturbed.
 */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 24, STEPS = 200, THREADS = 4, BLOCKS = 6, VALUES = 4, PREDS = 3, ACCESSES = 64 };
enum { TID = 9, PARAM = 8, REGS = 32, NEVER = 1 << 20 };

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

/* ---- a program ----------------------------------------------------------------------------- */

static void put_guard(struct base_buf *b)
{
	if (draw(6) == 0)
		base_buf_printf(b, "@%s%%p%u ", draw(2) ? "!" : "", draw(PREDS) + 1);
}

/* A register: one of the values, the parameter, seldom the thread's number. */
static uint32_t source(void)
{
	uint32_t k = draw(8);

	return k == 0 ? TID : k < 3 ? PARAM : draw(VALUES) + 1;
}

static void put_statement(struct base_buf *b)
{
	uint32_t x = draw(VALUES) + 1;

	base_buf_puts(b, "\t");
	put_guard(b);
	switch (draw(12)) {
	case 0:
	case 1:
		base_buf_printf(b, "ld.shared.u32 %%r%u, [s];\n", x);
		break;
	case 2:
	case 3:
		base_buf_printf(b, "st.shared.u32 [s], %%r%u;\n", x);
		break;
	case 4:
	case 5:
		base_buf_puts(b, "bar.sync 0;\n");
		break;
	case 6:
		base_buf_printf(b, "barrier.cta.red.popc.u32 %%r%u, 0, %%p%u;\n", x,
				draw(PREDS) + 1);
		break;
	case 7:
		base_buf_printf(b, "add.s32 %%r%u, %%r%u, %u;\n", x, source(), draw(3));
		break;
	case 8:
		base_buf_printf(b, "mov.u32 %%r%u, %u;\n", x, draw(4));
		break;
	case 9:
		base_buf_printf(b, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", x, source(), source(),
				draw(PREDS) + 1);
		break;
	default:
		base_buf_printf(b, "setp.lt.s32 %%p%u, %%r%u, %u;\n", draw(PREDS) + 1, source(),
				draw(4));
		break;
	}
}

static void make_program(struct base_buf *b)
{
	base_buf_puts(b, ".version 8.0\n.target sm_80\n.address_size 64\n"
			 ".visible .entry k(.param .u32 n)\n{\n\t.shared .align 4 .b8 s[64];\n"
			 "\t.reg .pred %p<9>;\n\t.reg .b32 %r<10>;\n"
			 "\tld.param.u32 %r8, [n];\n\tmov.u32 %r9, %tid.x;\n");
	for (uint32_t i = 1; i <= PREDS; i++)
		base_buf_printf(b, "\tsetp.lt.s32 %%p%u, %%r%u, %u;\n", i, i == 1 ? TID : PARAM, i);
	for (uint32_t i = 1; i <= VALUES; i++)
		base_buf_printf(b, "\tmov.u32 %%r%u, 0;\n", i);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		base_buf_printf(b, "$L%u:\n", i);
		for (uint32_t n = draw(8); n; n--)
			put_statement(b);
		uint32_t to = draw(4) ? i + 1 + draw(BLOCKS - i) : draw(BLOCKS);
		switch (draw(8)) {
		case 0:
			base_buf_printf(b, "\tbra.uni $L%u;\n", to);
			break;
		case 1:
			break;
		case 2:
			base_buf_printf(b, "\t@%%p%u exit;\n", draw(PREDS) + 1);
			break;
		case 3:
		case 4:
			to = draw(i + 1);
			base_buf_printf(b,
					"\tadd.s32 %%r1, %%r1, 1;\n"
					"\tsetp.lt.s32 %%p3, %%r1, %u;\n\t@%%p3 bra $L%u;\n",
					1 + draw(3), to);
			break;
		default:
			base_buf_printf(b, "\t@%s%%p%u bra $L%u;\n", draw(2) ? "!" : "",
					draw(PREDS) + 1, to);
			break;
		}
	}
	base_buf_printf(b, "$L%u:\n\tret;\n}\n", BLOCKS);
}

/* ---- a run of it ----------------------------------------------------------------------------- */

struct access {
	const struct ptx_stmt *s;
	uint32_t phase; /* barriers before it */
};

struct thread {
	const struct ptx_stmt *at;
	uint32_t phase, left; /* left: the phase in which it left, or NEVER */
	int32_t tid, param;
	int32_t value[REGS];
	bool pred[REGS];
	struct access access[ACCESSES];
	uint32_t n, steps;
	const struct ptx_stmt *waits; /* at a barrier */
};

static int32_t value_of(const struct thread *t, const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_REG ? t->value[o->reg] : (int32_t)o->imm;
}

static bool is_guard_true(const struct thread *t, const struct ptx_stmt *s)
{
	return s->pred == PTX_NO_REG || t->pred[s->pred] != s->is_pred_not;
}

static void note(struct thread *t, const struct ptx_stmt *s)
{
	if (t->n < ACCESSES)
		t->access[t->n++] = (struct access){s, t->phase};
	else
		t->steps = STEPS;
}

/* Executes one statement. */
static void step(struct thread *t)
{
	const struct ptx_stmt *s = t->at;

	t->at = s->next;
	if (s->kind != PTX_STMT_INST || !is_guard_true(t, s))
		return;
	const struct ptx_opnd *o = s->ops;
	switch (s->form->op) {
	case PTX_OP_LD:
		t->value[o[0].reg] =
			s->form->space == PTX_SPACE_SHARED ? (int32_t)draw(4) : t->param;
		if (s->form->space == PTX_SPACE_SHARED)
			note(t, s);
		return;
	case PTX_OP_ST:
		note(t, s);
		return;
	case PTX_OP_ADD:
		t->value[o[0].reg] = value_of(t, &o[1]) + value_of(t, &o[2]);
		return;
	case PTX_OP_MOV:
		t->value[o[0].reg] = o[1].kind == PTX_OPND_SPECIAL ? t->tid : value_of(t, &o[1]);
		return;
	case PTX_OP_SELP:
		t->value[o[0].reg] = value_of(t, &o[t->pred[o[3].reg] ? 1 : 2]);
		return;
	case PTX_OP_SETP:
		t->pred[o[0].reg] = value_of(t, &o[1]) < value_of(t, &o[2]);
		return;
	case PTX_OP_BRA:
		t->at = ptx_target(s)->at;
		return;
	case PTX_OP_EXIT:
	case PTX_OP_RET:
		t->left = t->phase;
		return;
	default: /* a barrier */
		t->waits = s;
		return;
	}
}

/* All that are left wait: they go on together. */
static void pass_barrier(struct thread *all)
{
	int32_t sum = 0;

	for (struct thread *t = all; t < all + THREADS; t++)
		if (t->left == NEVER && t->waits->nops == 3)
			sum += t->pred[t->waits->ops[2].reg];
	for (struct thread *t = all; t < all + THREADS; t++) {
		if (t->left != NEVER)
			continue;
		if (t->waits->nops == 3)
			t->value[t->waits->ops[0].reg] = sum;
		t->waits = NULL;
		t->phase++;
	}
}

/* False: some thread didn't end. */
static bool run(const struct ptx_func *f, struct thread *all)
{
	int32_t n = (int32_t)draw(4);

	memset(all, 0, sizeof(*all) * THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		all[i].at = f->first;
		all[i].left = NEVER;
		all[i].tid = (int32_t)i;
		all[i].param = n;
	}
	for (;;) {
		uint32_t waiting = 0;
		for (struct thread *t = all; t < all + THREADS; t++) {
			while (t->left == NEVER && !t->waits) {
				if (++t->steps > STEPS)
					return false;
				step(t);
			}
			waiting += t->waits != NULL;
		}
		if (!waiting)
			return true;
		pass_barrier(all);
	}
}

/* Is a of thread t before what others do in this phase? */
static bool is_before(const struct thread *t, const struct access *a, uint32_t phase)
{
	return a->phase < phase && t->left > a->phase;
}

static bool is_disturbed(const struct thread *all, const struct thread *t, const struct access *a)
{
	for (const struct thread *u = all; u < all + THREADS; u++)
		for (uint32_t i = 0; u != t && i < u->n; i++) {
			const struct access *b = &u->access[i];
			if (b->s->form->op == PTX_OP_ST && !is_before(t, a, b->phase) &&
			    !is_before(u, b, a->phase))
				return true;
		}
	return false;
}

/* ---- all of it --------------------------------------------------------------------------- */

struct counts {
	uint64_t loads, undisturbed, unseen, ended;
};

/* The number of loads that are disturbed against what is said of them. */
static unsigned check_program(uint64_t number, struct counts *c)
{
	static struct thread all[THREADS];
	struct base_arena arena = {0};
	struct base_buf text = {0};
	struct base_sink sink = {0};
	unsigned wrong = 0;

	state = number * 0x9e3779b97f4a7c15u + 1;
	make_program(&text);
	struct ptx_module *m = ptx_parse(&arena, "random.ptx", text.p, text.n, &sink);
	if (!m || sink.errors) {
		base_sink_print(&sink, stderr);
		exit(2);
	}
	struct ptx_func *f = NULL;
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC)
			f = it->func;
	}
	bool *disturbed = base_calloc(text.n, sizeof(*disturbed)); /* by line */
	for (unsigned r = 0; r < RUNS; r++) {
		if (!run(f, all))
			continue;
		c->ended++;
		for (struct thread *t = all; t < all + THREADS; t++)
			for (uint32_t i = 0; i < t->n; i++)
				if (t->access[i].s->form->op == PTX_OP_LD)
					disturbed[t->access[i].s->line] |=
						is_disturbed(all, t, &t->access[i]);
	}
	struct flow *fl = flow_build(&arena, m, f);
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_LD ||
		    s->form->space != PTX_SPACE_SHARED)
			continue;
		bool is_quiet = flow_is_undisturbed(fl, s);
		c->loads++;
		c->undisturbed += is_quiet;
		c->unseen += !is_quiet && !disturbed[s->line];
		if (is_quiet && disturbed[s->line]) {
			wrong++;
			fprintf(stderr, "program %llu, line %u: disturbed\n%s",
				(unsigned long long)number, s->line, text.p);
		}
	}
	free(disturbed);
	base_buf_free(&text);
	base_sink_free(&sink);
	base_arena_free(&arena);
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct counts c = {0};
	unsigned wrong = 0;

	for (uint64_t i = 0; i < n && wrong < 5; i++)
		wrong += check_program(first + i, &c);
	printf("%llu loads of %llu programs, %llu runs: %llu undisturbed, %u of them wrong; of the "
	       "others no run disturbs %llu\n",
	       (unsigned long long)c.loads, (unsigned long long)n, (unsigned long long)c.ended,
	       (unsigned long long)c.undisturbed, wrong, (unsigned long long)c.unseen);
	return wrong || c.undisturbed * 100 < c.loads;
}
