/*
 * pending.c - which statements may use registers of a matrix product that isn't finished.
 *
 * From each wgmma.mma_async its accumulators and its registers of A are unfinished on all paths,
 * up to a wait for all groups after a commit, or to a statement that writes them. Before each
 * statement that uses such a register, decode.c puts a check, which asks at run time what its warp
 * has really under way. Registers of products have slots of their own for the whole function
 * (slots.c), as they are read and written at any time.
 *
 * The other half is wgmma.fence, which must stand between the last write of such a register and
 * the product: writes since the last fence are followed within a block; movs are none, since
 * compilers put them where they like. Where a function has no fence, any write before its first
 * product counts.
 *
 * Misses: a write without a fence in another block; registers that a caller's product uses, in a
 * function that is called; what a mov has copied (ptxas makes one register of the two).
 * Costs: nothing for functions without wgmma; else some passes over the function.
 */
#include "cpu/load/decode.h"
#include "cpu/wgmma.h"

#include <string.h>

struct pending {
	struct cpu_dec *d;
	size_t words;	/* of a set of registers */
	uint64_t *own;	/* registers of any product */
	uint64_t *in;	/* by block */
	uint64_t *now;	/* while a block is walked: unfinished, then those of no group yet */
	uint32_t block; /* whose statements are decoded */
	bool is_guarded;
	struct cpu_wgmma_check *check; /* being made; NULL: only walked */
	uint32_t *written; /* by register: pc, plus 1, of its last write since the last fence */
	bool has_fence, is_move;
	uint32_t unfenced; /* of the product that is decoded */
};

static void set(uint64_t *bits, uint32_t r)
{
	bits[r / 64] |= 1ull << r % 64;
}

static bool has(const uint64_t *bits, uint32_t r)
{
	return bits[r / 64] >> r % 64 & 1;
}

static bool is_product(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST &&
	       (s->form->op == PTX_OP_WGMMA_MMA_ASYNC || s->form->op == PTX_OP_WGMMA_MMA_ASYNC_SP);
}

/* Accumulators and registers of A. */
static void add_product(const struct ptx_func *f, uint64_t *bits, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < 2 && i < s->nops; i++)
		for (unsigned k = 0; s->ops[i].kind == PTX_OPND_VEC && k < s->ops[i].nsub; k++)
			if (s->ops[i].sub[k].kind == PTX_OPND_REG &&
			    s->ops[i].sub[k].reg < f->nregs)
				set(bits, s->ops[i].sub[k].reg);
}

static void touch(uint32_t reg, bool is_write, void *arg)
{
	struct pending *p = arg;

	if (reg >= p->d->f->nregs || !has(p->now, reg) || !has(p->own, reg) || !p->check)
		return;
	p->check->touch[p->check->n++] =
		(struct cpu_wgmma_touch){dec_reg_slot(p->d, reg, 0), is_write};
}

static void end_written(uint32_t reg, bool is_write, void *arg)
{
	struct pending *p = arg;

	if (is_write && reg < p->d->f->nregs && !p->is_guarded)
		p->now[reg / 64] &= ~(1ull << reg % 64);
}

static bool ends_all(const struct ptx_stmt *s)
{
	return s->form->op == PTX_OP_WGMMA_WAIT_GROUP && s->nops == 1 &&
	       s->ops[0].kind == PTX_OPND_INT && s->ops[0].imm == 0;
}

static void walk(struct pending *p, const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INST)
		return;
	if (is_product(s)) {
		add_product(p->d->f, p->now, s);
		add_product(p->d->f, p->now + p->words, s);
		return;
	}
	if (s->form->op == PTX_OP_WGMMA_COMMIT_GROUP)
		memset(p->now + p->words, 0, p->words * sizeof(*p->now));
	for (size_t w = 0; ends_all(s) && w < p->words; w++)
		p->now[w] &= p->now[p->words + w];
	p->is_guarded = s->pred != PTX_NO_REG;
	ptx_each_reg(s, end_written, p);
}

/* True: the block's successors have got more. */
static bool walk_block(struct pending *p, uint32_t b)
{
	const struct flow_block *bl = &p->d->fl->blocks[b];
	bool has_more = false;

	memcpy(p->now, p->in + b * 2 * p->words, 2 * p->words * sizeof(*p->now));
	for (struct ptx_stmt *s = bl->first; s; s = s == bl->last ? NULL : s->next)
		walk(p, s);
	for (uint32_t i = 0; i < bl->nsucc; i++) {
		uint64_t *to = p->in + bl->succ[i] * 2 * p->words;
		for (size_t w = 0; w < 2 * p->words; w++) {
			has_more = has_more || (p->now[w] & ~to[w]);
			to[w] |= p->now[w];
		}
	}
	return has_more;
}

/* ======================================================================== */

void dec_pending_find(struct cpu_dec *d)
{
	struct pending p = {.d = d, .words = d->f->nregs / 64u + 1u};
	bool has_more = false;

	ptx_each_stmt(d->f, s) has_more = has_more || is_product(s);
	if (!has_more)
		return;
	p.own = BASE_NEWN(&d->scratch, uint64_t, p.words);
	p.now = BASE_NEWN(&d->scratch, uint64_t, 2 * p.words);
	p.in = BASE_NEWN(&d->scratch, uint64_t, 2 * p.words * d->fl->nblocks);
	p.written = BASE_NEWN(&d->scratch, uint32_t, d->f->nregs + 1u);
	ptx_each_stmt(d->f, s)
	{
		if (is_product(s))
			add_product(d->f, p.own, s);
		p.has_fence = p.has_fence ||
			      (s->kind == PTX_STMT_INST && s->form->op == PTX_OP_WGMMA_FENCE);
	}
	while (has_more) {
		has_more = false;
		for (uint32_t i = 0; i < d->fl->nrpo; i++)
			has_more |= walk_block(&p, d->fl->rpo[i]);
	}
	d->pending = BASE_NEW(&d->scratch, struct pending);
	p.block = UINT32_MAX;
	*d->pending = p;
}

static void count(uint32_t reg, bool is_write, void *arg)
{
	(void)reg, (void)is_write;
	++*(uint32_t *)arg;
}

static void note_write(uint32_t reg, bool is_write, void *arg)
{
	struct pending *p = arg;

	if (is_write && reg < p->d->f->nregs && has(p->own, reg) && (!p->is_move || !p->has_fence))
		p->written[reg] = (uint32_t)p->d->code.n + 1;
}

static uint32_t last_write(const struct pending *p, const struct ptx_stmt *s)
{
	uint32_t last = 0;

	for (unsigned i = 0; i < 2 && i < s->nops; i++)
		for (unsigned k = 0; s->ops[i].kind == PTX_OPND_VEC && k < s->ops[i].nsub; k++) {
			const struct ptx_opnd *o = &s->ops[i].sub[k];
			if (o->kind == PTX_OPND_REG && o->reg < p->d->f->nregs &&
			    p->written[o->reg] > last)
				last = p->written[o->reg];
		}
	return last;
}

/* After the checks of s, before its code. */
static void follow_fence(struct pending *p, const struct ptx_stmt *s, bool is_first)
{
	if ((is_first && p->has_fence) || s->form->op == PTX_OP_WGMMA_FENCE)
		memset(p->written, 0, p->d->f->nregs * sizeof(*p->written));
	if (is_product(s)) {
		p->unfenced = last_write(p, s);
		return;
	}
	p->is_move = s->form->op == PTX_OP_MOV;
	ptx_each_reg(s, note_write, p);
}

uint32_t dec_unfenced(const struct cpu_dec *d)
{
	return d->pending ? d->pending->unfenced : 0;
}

void dec_pending_check(struct cpu_dec *d, const struct ptx_stmt *s)
{
	struct pending *p = d->pending;
	uint32_t n = 0;

	if (!p || s->mark >= d->fl->nblocks)
		return;
	bool is_first = p->block != s->mark;
	if (is_first) {
		p->block = s->mark;
		memcpy(p->now, p->in + s->mark * 2 * p->words, 2 * p->words * sizeof(*p->now));
	}
	if (!is_product(s) && s->form->op != PTX_OP_WGMMA_WAIT_GROUP) {
		ptx_each_reg(s, count, &n);
		p->check = cpu_dec_alloc(d, sizeof(*p->check) + n * sizeof(p->check->touch[0]));
		p->check->is_copy = s->form->op == PTX_OP_MOV;
		ptx_each_reg(s, touch, p);
		if (p->check->n) {
			struct cpu_inst in = dec_new_inst(d, s);
			in.fn = cpu_wgmma_touched;
			in.aux = p->check;
			dec_push(d, s, &in);
		}
		p->check = NULL;
	}
	follow_fence(p, s, is_first);
	walk(p, s);
}
