/*
 * flow_random.c - flow_demand on random functions, compared with executions of them.
 *
 *	flow_random PROGRAMS [FIRST]
 *
 * Program number N is made from N alone: blocks of loads, stores, moves, sums and selects, some
 * under guards, ended by random branches. Each is executed RUNS times; what setp computes is
 * random, but one answer in a run for conditions of values that stay as they are: %p4 and up have
 * one definition each, some of them in a loop, and some are one condition or its opposite. Of
 * "and" each operand masks the other one or doesn't, by chance. Every register carries the set of
 * the loads whose values are in it. A run that ends must have used each value of which flow_demand
 * says "sure", or whose use one of the listed statements has shown, and none of which it says
 * "dead". Used is what a store has stored.
 */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

enum {
	RUNS = 40,
	STEPS = 400,
	INSTANCES = 64,
	BLOCKS = 6,
	VALUES = 4,
	PREDS = 3,
	FIXED = 3,
	LOADS = 64
};

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
	if (draw(5) == 0)
		base_buf_printf(b, "@%s%%p%u ", draw(2) ? "!" : "", draw(PREDS + FIXED) + 1);
}

/* A predicate's only definition, of what stays as it is. */
static void put_fixed(struct base_buf *b, uint32_t p)
{
	static const char *const ops[] = {"eq", "ne", "lt", "ge"};

	base_buf_printf(b, "\tsetp.%s.s32 %%p%u, %%r9, %u;\n", ops[draw(4)], p, draw(2) + 1);
}

static void put_statement(struct base_buf *b)
{
	uint32_t x = draw(VALUES) + 1, y = draw(VALUES) + 1, z = draw(VALUES) + 1;

	base_buf_puts(b, "\t");
	put_guard(b);
	switch (draw(10)) {
	case 0:
	case 1:
	case 2:
		base_buf_printf(b, "ld.global.u32 %%r%u, [%%rd1];\n", x);
		break;
	case 3:
	case 4:
		base_buf_printf(b, "st.global.u32 [%%rd1], %%r%u;\n", x);
		break;
	case 5:
		base_buf_printf(b, "add.s32 %%r%u, %%r%u, %%r%u;\n", x, y, z);
		break;
	case 6:
		base_buf_printf(b, "mov.u32 %%r%u, %%r%u;\n", x, y);
		break;
	case 7:
		base_buf_printf(b, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", x, y, z,
				draw(PREDS + FIXED) + 1);
		break;
	case 8:
		base_buf_printf(b, "and.b32 %%r%u, %%r%u, %%r%u;\n", x, y, z);
		break;
	default:
		base_buf_printf(b, "setp.eq.s32 %%p%u, %%r9, 3;\n", draw(PREDS) + 1);
		break;
	}
}

static void make_program(struct base_buf *b)
{
	base_buf_puts(b, ".version 8.0\n.target sm_80\n.address_size 64\n"
			 ".visible .entry k(.param .u64 a)\n{\n\t.reg .pred %p<9>;\n"
			 "\t.reg .b32 %r<10>;\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [a];\n"
			 "\tmov.u32 %r9, %tid.x;\n");
	for (uint32_t i = 1; i <= PREDS; i++)
		base_buf_printf(b, "\tsetp.eq.s32 %%p%u, %%r9, %u;\n", i, i); /* 3: random */
	for (uint32_t i = 1; i <= VALUES; i++)
		base_buf_printf(b, "\tmov.u32 %%r%u, 0;\n", i);
	uint32_t home[FIXED]; /* the block of the definition; BLOCKS: before all others */
	for (uint32_t i = 0; i < FIXED; i++) {
		home[i] = draw(2) ? BLOCKS : draw(3);
		if (home[i] == BLOCKS)
			put_fixed(b, PREDS + 1 + i);
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		base_buf_printf(b, "$L%u:\n", i);
		for (uint32_t k = 0; k < FIXED; k++)
			if (home[k] == i)
				put_fixed(b, PREDS + 1 + k);
		for (uint32_t n = draw(5); n; n--)
			put_statement(b);
		/* Mostly forwards, so that most runs end. */
		uint32_t to = draw(4) ? i + 1 + draw(BLOCKS - i) : draw(BLOCKS);
		switch (draw(8)) {
		case 0:
			base_buf_printf(b, "\tbra.uni $L%u;\n", to);
			break;
		case 1:
			break;
		case 2:
			base_buf_printf(b, "\t@%%p%u exit;\n", draw(PREDS + FIXED) + 1);
			break;
		default:
			base_buf_printf(b, "\t@%s%%p%u bra $L%u;\n", draw(2) ? "!" : "",
					draw(PREDS + FIXED) + 1, to);
			break;
		}
	}
	base_buf_printf(b, "$L%u:\n\tret;\n}\n", BLOCKS);
}

/* ---- a run of it ----------------------------------------------------------------------------- */

struct load {
	const struct ptx_stmt *s;
	struct flow_demand_info d;
};

struct run {
	struct load *loads;
	uint32_t nloads;
	uint64_t taint[64]; /* by register: instances of loads */
	bool pred[64], is_defined[64];
	bool answer[2][4];	/* of "r9 == c" and "r9 < c" */
	bool is_open[3];	/* operand 1 and 2 of the statement at hand, if it is "and" */
	bool is_bad;		/* it has read a predicate before its definition */
	uint32_t of[INSTANCES]; /* its load */
	uint32_t n;
	int note[LOADS]; /* the last instance of a load, or -1 */
	uint64_t used, claimed;
};

static bool value_of_pred(struct run *r, uint32_t p)
{
	r->is_bad |= !r->is_defined[p];
	return r->pred[p];
}

static bool holds(struct run *r, const struct ptx_stmt *s)
{
	return s->pred == PTX_NO_REG || value_of_pred(r, s->pred) != s->is_pred_not;
}

static bool compare(const struct run *r, const struct ptx_stmt *s)
{
	int64_t c = s->ops[2].imm;

	if (c == 3)
		return draw(2);
	switch (s->form->mods[0]) {
	case PTX_MOD_EQ:
		return r->answer[0][c];
	case PTX_MOD_NE:
		return !r->answer[0][c];
	case PTX_MOD_LT:
		return r->answer[1][c];
	default:
		return !r->answer[1][c];
	}
}

static void claim(struct run *r, uint32_t i)
{
	if (r->note[i] >= 0)
		r->claimed |= 1ull << r->note[i];
}

static bool is_taken(const struct run *r, const struct flow_cond_use *c)
{
	return c->tried ? r->is_open[c->tried] : r->pred[c->pred] == c->sense;
}

/* What the answers say of control that comes to s. */
static void look(struct run *r, const struct ptx_stmt *s)
{
	for (uint32_t i = 0; i < r->nloads; i++) {
		const struct flow_demand_info *d = &r->loads[i].d;
		if (d->demand == FLOW_DEMAND_SELECT) {
			if (d->at == s && r->pred[d->pred] == d->sense)
				claim(r, i);
			continue;
		}
		for (uint32_t k = 0; k < d->nuses; k++)
			if (d->uses[k] == s && holds(r, s))
				claim(r, i);
		for (uint32_t k = 0; k < d->nconds; k++)
			if (d->conds[k].at == s && is_taken(r, &d->conds[k]))
				claim(r, i);
	}
}

static void load(struct run *r, const struct ptx_stmt *s)
{
	for (uint32_t i = 0; i < r->nloads; i++) {
		if (r->loads[i].s != s)
			continue;
		r->note[i] = -1;
		if (!holds(r, s))
			return;
		r->note[i] = (int)r->n;
		r->of[r->n] = i;
		r->taint[s->ops[0].reg] = 1ull << r->n++;
	}
}

static uint64_t value_of(const struct run *r, const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_REG ? r->taint[o->reg] : 0;
}

/* One register masks nothing of itself. */
static void draw_masks(struct run *r, const struct ptx_stmt *s)
{
	bool is_same =
		s->nops > 2 && s->ops[1].kind == PTX_OPND_REG && s->ops[1].reg == s->ops[2].reg;

	for (unsigned i = 1; i <= 2; i++)
		r->is_open[i] = is_same || draw(2);
}

static void step(struct run *r, const struct ptx_stmt *s)
{
	switch (s->form->op) {
	case PTX_OP_LD:
		load(r, s);
		return;
	case PTX_OP_ST:
		if (holds(r, s))
			r->used |= value_of(r, &s->ops[1]);
		return;
	case PTX_OP_ADD:
		if (holds(r, s))
			r->taint[s->ops[0].reg] = value_of(r, &s->ops[1]) | value_of(r, &s->ops[2]);
		return;
	case PTX_OP_AND:
		if (holds(r, s))
			r->taint[s->ops[0].reg] = (r->is_open[1] ? value_of(r, &s->ops[1]) : 0) |
						  (r->is_open[2] ? value_of(r, &s->ops[2]) : 0);
		return;
	case PTX_OP_MOV:
		if (holds(r, s))
			r->taint[s->ops[0].reg] = value_of(r, &s->ops[1]);
		return;
	case PTX_OP_SELP:
		if (holds(r, s))
			r->taint[s->ops[0].reg] =
				value_of(r, &s->ops[value_of_pred(r, s->ops[3].reg) ? 1 : 2]);
		return;
	case PTX_OP_SETP:
		if (holds(r, s)) {
			r->pred[s->ops[0].reg] = compare(r, s);
			r->is_defined[s->ops[0].reg] = true;
		}
		return;
	default:
		return;
	}
}

/* False: it doesn't end, loads too often, or reads what isn't defined. */
static bool execute(struct run *r, struct ptx_func *f)
{
	const struct ptx_stmt *s = f->first;

	memset(r->taint, 0, sizeof(r->taint));
	memset(r->note, -1, sizeof(r->note));
	memset(r->is_defined, 0, sizeof(r->is_defined));
	for (unsigned i = 0; i < 8; i++)
		r->answer[i / 4][i % 4] = draw(2);
	r->used = r->claimed = 0;
	r->n = 0;
	r->is_bad = false;
	for (unsigned i = 0; s && i < STEPS && r->n < INSTANCES && !r->is_bad; i++) {
		const struct ptx_stmt *next = s->next;
		if (s->kind == PTX_STMT_INST) {
			draw_masks(r, s);
			look(r, s);
			if (s->form->effects & PTX_EFF_BRANCH) {
				if (holds(r, s))
					next = ptx_target(s)->at;
			} else if (s->form->effects & PTX_EFF_EXIT) {
				if (holds(r, s))
					return !r->is_bad;
			} else {
				step(r, s);
			}
		}
		s = next;
	}
	return !s && !r->is_bad;
}

static const char *what_is_wrong(const struct run *r, uint32_t i)
{
	bool is_used = r->used >> i & 1, is_claimed = r->claimed >> i & 1;

	switch (r->loads[r->of[i]].d.demand) {
	case FLOW_DEMAND_SURE:
		return is_used ? NULL : "surely used, and isn't";
	case FLOW_DEMAND_DEAD:
		return is_used ? "dead, and is used" : NULL;
	default:
		return is_claimed && !is_used ? "shown as used, and isn't" : NULL;
	}
}

/* ---- all ----------------------------------------------------------------------------------- */

static void put_uses(const struct flow_demand_info *d)
{
	if (d->demand == FLOW_DEMAND_SELECT)
		fprintf(stderr, " line %u if %u is %u", d->at->line, d->pred, d->sense);
	for (uint32_t i = 0; i < d->nuses; i++)
		fprintf(stderr, " line %u", d->uses[i]->line);
	for (uint32_t i = 0; i < d->nconds; i++)
		fprintf(stderr, " line %u if %u is %u or operand %u counts", d->conds[i].at->line,
			d->conds[i].pred, d->conds[i].sense, d->conds[i].tried);
}

struct totals {
	uint64_t values, sure, claimed;
};

static bool check(uint64_t number, struct totals *t)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct base_buf text = {0};
	struct load loads[LOADS];
	struct run r = {.loads = loads};
	bool is_good = true;

	state = number * 0x9e3779b97f4a7c15ull + 1;
	make_program(&text);
	struct ptx_module *m = ptx_parse(&arena, "random.ptx", text.p, text.n, &sink);
	base_sink_print(&sink, stderr);
	struct ptx_func *f = NULL;
	if (m)
		ptx_each_item(m, it) f = it->kind == PTX_ITEM_FUNC ? it->func : f;
	if (!f)
		exit(2);
	struct flow *fl = flow_build(&arena, m, f);
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_LD ||
		    s->form->space != PTX_SPACE_GLOBAL || r.nloads == LOADS)
			continue;
		loads[r.nloads].s = s;
		flow_demand(fl, s, s->ops[0].reg, &loads[r.nloads++].d);
	}
	/* By chance one in 400,000 looks like code that nobody optimised: all its loads count. */
	unsigned runs = flow_is_unoptimised(fl) ? 0 : RUNS;
	for (unsigned n = 0; n < runs && is_good; n++) {
		if (!execute(&r, f))
			continue;
		for (uint32_t i = 0; i < r.n; i++) {
			const struct load *l = &loads[r.of[i]];
			const char *what = what_is_wrong(&r, i);
			t->values++;
			t->sure += l->d.demand == FLOW_DEMAND_SURE;
			t->claimed += r.claimed >> i & 1;
			if (!what)
				continue;
			fprintf(stderr, "program %llu, line %u: the value is %s; uses:",
				(unsigned long long)number, l->s->line, what);
			put_uses(&l->d);
			fprintf(stderr, "\n%.*s", (int)text.n, text.p);
			is_good = false;
			break;
		}
	}
	base_buf_free(&text);
	base_sink_free(&sink);
	base_arena_free(&arena);
	return is_good;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned bad = 0;
	struct totals t = {0};

	for (uint64_t i = first; i < first + n && bad < 5; i++)
		bad += !check(i, &t);
	printf("%llu programs, %llu values, %llu of them surely used, %llu shown, %u wrong\n",
	       (unsigned long long)n, (unsigned long long)t.values, (unsigned long long)t.sure,
	       (unsigned long long)t.claimed, bad);
	return bad || !t.sure || !t.claimed;
}
