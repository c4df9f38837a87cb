/*
 * graph.c - order, dominators, post-dominators and loops of a kernel's blocks (ir.h).
 *
 * src/flow answers these questions about one PTX function; here calls are spliced in, so they are
 * asked of the blocks that came out, with the same methods (Cooper, Harvey, Kennedy: "A simple,
 * fast dominance algorithm"). Exits and traps lead to one virtual block after all.
 *
 * Misses: a loop that is entered in more than one place is a problem, and the kernel isn't
 * analysed.
 */
#include "prove/ir.h"

#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

/* Some instruction of a block, to name its place. */
static const struct ptx_stmt *place(const struct ir *ir, const struct ir_block *b)
{
	return b->at || !b->n ? b->at : ir->steps.v[b->first].at;
}

static void find_order(struct ir *ir)
{
	uint32_t n = (uint32_t)ir->blocks.n, top = 0, count = 0;
	uint32_t *stack = BASE_NEWN(ir->arena, uint32_t, n + 1);
	uint32_t *next = BASE_NEWN(ir->arena, uint32_t, n + 1);
	uint32_t *post = BASE_NEWN(ir->arena, uint32_t, n + 1);

	stack[top++] = 0;
	ir->blocks.v[0].is_reached = true;
	while (top) {
		struct ir_block *b = &ir->blocks.v[stack[top - 1]];
		if (next[stack[top - 1]] < b->nsucc) {
			uint32_t s = b->succ[next[stack[top - 1]]++];
			if (!ir->blocks.v[s].is_reached) {
				ir->blocks.v[s].is_reached = true;
				stack[top++] = s;
			}
		} else {
			post[count++] = stack[--top];
		}
	}
	ir->rpo = BASE_NEWN(ir->arena, uint32_t, count);
	ir->nrpo = count;
	for (uint32_t i = 0; i < count; i++) {
		ir->rpo[i] = post[count - 1 - i];
		ir->blocks.v[ir->rpo[i]].rpo = i;
	}
}

static void find_preds(struct ir *ir)
{
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = 0; k < b->nsucc; k++)
			ir->blocks.v[b->succ[k]].npred++;
	}
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		b->pred = BASE_NEWN(ir->arena, uint32_t, b->npred + 1);
		b->npred = 0;
	}
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = 0; k < b->nsucc; k++) {
			struct ir_block *s = &ir->blocks.v[b->succ[k]];
			s->pred[s->npred++] = ir->rpo[i];
		}
	}
}

static void find_dominators(struct ir *ir)
{
	uint32_t n = ir->nrpo, used = 0, edges = 0;

	for (uint32_t i = 0; i < n; i++)
		edges += ir->blocks.v[ir->rpo[i]].npred;
	uint32_t *first = base_malloc(sizeof(*first) * (2 * n + 1u + edges));
	uint32_t *dom = first + n + 1, *from = dom + n;
	for (uint32_t i = 0; i < n; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		first[i] = used;
		for (uint32_t k = 0; k < b->npred; k++)
			from[used++] = ir->blocks.v[b->pred[k]].rpo;
	}
	first[n] = used;
	flow_find_dominators(n, first, from, dom);
	for (uint32_t i = 0; i < n; i++)
		ir->blocks.v[ir->rpo[i]].idom = dom[i] == UINT32_MAX ? IR_NONE : ir->rpo[dom[i]];
	free(first);
}

/* By block: can the thread's end be reached from it? */
static bool *find_ending(const struct ir *ir)
{
	bool *ends = base_zalloc(ir->arena, ir->blocks.n + 1), changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
			bool is = ends[ir->rpo[i]] || !b->nsucc;
			for (uint32_t k = 0; k < b->nsucc; k++)
				is |= ends[b->succ[k]];
			changed |= is != ends[ir->rpo[i]];
			ends[ir->rpo[i]] = is;
		}
	}
	return ends;
}

uint64_t *prove_ir_postdominators(const struct ir *ir, struct base_arena *a, uint32_t words,
				  const bool *is_there, const bool *is_end)
{
	uint32_t n = (uint32_t)ir->blocks.n;
	uint64_t *set = BASE_NEWN(a, uint64_t, (size_t)n * words);
	uint64_t *t = BASE_NEWN(a, uint64_t, words);
	bool changed = true;

	memset(set, 0xff, (size_t)n * words * sizeof(*set));
	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			uint32_t id = ir->rpo[i];
			const struct ir_block *b = &ir->blocks.v[id];
			if (is_there && !is_there[id])
				continue;
			memset(t, is_end[id] ? 0 : 0xff, words * sizeof(*t));
			for (uint32_t k = 0; k < b->nsucc && !is_end[id]; k++) {
				const uint64_t *after = set + (size_t)b->succ[k] * words;
				for (uint32_t w = 0; w < words; w++)
					t[w] &= !is_there || is_there[b->succ[k]] ? after[w]
										  : ~0ull;
			}
			t[id / 64] |= 1ull << (id % 64);
			if (memcmp(t, set + (size_t)id * words, words * sizeof(*t)) != 0) {
				memcpy(set + (size_t)id * words, t, words * sizeof(*t));
				changed = true;
			}
		}
	}
	return set;
}

/* A block from which a thread can't end (an endless loop) has none: everything would be one, itself
 * in a circle. */
static void find_postdominators(struct ir *ir)
{
	const bool *ends = find_ending(ir);
	uint32_t n = (uint32_t)ir->blocks.n, words = (n + 63) / 64;
	bool *is_end = BASE_NEWN(ir->arena, bool, n + 1u);

	for (uint32_t b = 0; b < n; b++)
		is_end[b] = !ir->blocks.v[b].nsucc;
	const uint64_t *set = prove_ir_postdominators(ir, ir->arena, words, NULL, is_end);
	unsigned *size = BASE_NEWN(ir->arena, unsigned, n + 1u);
	for (size_t i = 0; i < (size_t)n * words; i++)
		size[i / words] += (unsigned)__builtin_popcountll(set[i]);
	/* The nearest one is that with the most post-dominators of its own. */
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t id = ir->rpo[i], best = IR_NONE;
		unsigned most = 0;
		for (uint32_t p = 0; p < n && ends[id]; p++) {
			if (p == id || !ir->blocks.v[p].is_reached ||
			    !(set[(size_t)id * words + p / 64] >> (p % 64) & 1))
				continue;
			if (size[p] > most) {
				most = size[p];
				best = p;
			}
		}
		ir->blocks.v[id].ipdom = best;
	}
}

bool prove_ir_dominates(const struct ir *ir, uint32_t a, uint32_t b)
{
	while (ir->blocks.v[b].rpo > ir->blocks.v[a].rpo)
		b = ir->blocks.v[b].idom;
	return a == b;
}

/* ---- loops --------------------------------------------------------------------------- */

static void fill_body(struct ir *ir, struct ir_loop *l, uint32_t latch, uint32_t *stack)
{
	uint32_t top = 0;

	stack[top++] = latch;
	while (top) {
		uint32_t b = stack[--top];
		if (prove_ir_in_loop(l, b))
			continue;
		l->body[b / 64] |= 1ull << (b % 64);
		for (uint32_t k = 0; k < ir->blocks.v[b].npred; k++)
			stack[top++] = ir->blocks.v[b].pred[k];
	}
}

static void add_back_edge(struct ir *ir, uint32_t latch, uint32_t header, uint32_t *stack)
{
	uint32_t words = (uint32_t)(ir->blocks.n + 63) / 64;
	struct ir_loop *l = NULL;

	for (uint32_t i = 0; i < ir->nloops; i++)
		if (ir->loops[i].header == header)
			l = &ir->loops[i];
	if (!l) {
		l = &ir->loops[ir->nloops++];
		l->header = header;
		l->latch = latch;
		l->body = BASE_NEWN(ir->arena, uint64_t, words);
		l->body[header / 64] |= 1ull << (header % 64);
	} else {
		l->latch = IR_NONE;
	}
	fill_body(ir, l, latch, stack);
}

static uint32_t body_size(const struct ir *ir, const struct ir_loop *l)
{
	uint32_t c = 0;

	for (uint32_t w = 0; w < (ir->blocks.n + 63) / 64; w++)
		c += (uint32_t)__builtin_popcountll(l->body[w]);
	return c;
}

/* The innermost loop of each block, and of each loop the one around it. */
static void nest_loops(struct ir *ir)
{
	for (uint32_t b = 0; b < ir->blocks.n; b++)
		ir->blocks.v[b].loop = IR_NONE;
	for (uint32_t i = 0; i < ir->nloops; i++) {
		struct ir_loop *l = &ir->loops[i];
		uint32_t best = UINT32_MAX;
		l->parent = IR_NONE;
		for (uint32_t k = 0; k < ir->nloops; k++) {
			if (k == i || !prove_ir_in_loop(&ir->loops[k], l->header))
				continue;
			uint32_t size = body_size(ir, &ir->loops[k]);
			if (size > body_size(ir, l) && size < best) {
				best = size;
				l->parent = k;
			}
		}
	}
	for (uint32_t i = 0; i < ir->nloops; i++)
		for (uint32_t p = ir->loops[i].parent; p != IR_NONE; p = ir->loops[p].parent)
			ir->loops[i].depth++;
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		for (uint32_t i = 0; i < ir->nloops; i++) {
			uint32_t in = ir->blocks.v[b].loop;
			if (prove_ir_in_loop(&ir->loops[i], b) &&
			    (in == IR_NONE || ir->loops[in].depth < ir->loops[i].depth))
				ir->blocks.v[b].loop = i;
		}
	}
}

static void find_loops(struct ir *ir)
{
	uint32_t edges = 0;

	for (uint32_t i = 0; i < ir->nrpo; i++)
		edges += ir->blocks.v[ir->rpo[i]].npred;
	uint32_t *stack = BASE_NEWN(ir->arena, uint32_t, edges + ir->blocks.n + 1);
	ir->loops = BASE_NEWN(ir->arena, struct ir_loop, ir->nrpo + 1);
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = 0; k < b->nsucc; k++) {
			if (ir->blocks.v[b->succ[k]].rpo > b->rpo)
				continue;
			if (prove_ir_dominates(ir, b->succ[k], ir->rpo[i]))
				add_back_edge(ir, ir->rpo[i], b->succ[k], stack);
			else
				prove_ir_problem(ir, place(ir, &ir->blocks.v[b->succ[k]]),
						 "a loop that is entered in several places");
		}
	}
	nest_loops(ir);
}

/* A block from which nothing leads out has no post-dominator to speak of. */
static void refuse_endless(struct ir *ir)
{
	bool *leaves = BASE_NEWN(ir->arena, bool, ir->blocks.n), changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = ir->nrpo; i-- > 0;) {
			const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
			bool is = !b->nsucc;
			for (uint32_t k = 0; k < b->nsucc; k++)
				is |= leaves[b->succ[k]];
			changed |= is != leaves[ir->rpo[i]];
			leaves[ir->rpo[i]] = is;
		}
	}
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		if (!leaves[ir->rpo[i]]) {
			prove_ir_problem(ir, place(ir, &ir->blocks.v[ir->rpo[i]]),
					 "a loop that never ends");
			return;
		}
	}
}

static void forget_graph(struct ir *ir)
{
	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		struct ir_block *x = &ir->blocks.v[b];
		x->is_reached = false;
		x->npred = 0;
		x->rpo = x->idom = x->ipdom = x->loop = IR_NONE;
	}
	ir->nloops = ir->nrpo = 0;
}

bool prove_ir_prune(struct ir *ir, uint32_t b, bool taken)
{
	struct ir_block *x = &ir->blocks.v[b];

	if (x->end != IR_BRANCH)
		return false;
	x->succ[0] = x->succ[!taken];
	x->nsucc = 1;
	x->end = IR_JUMP;
	x->cond = IR_NONE;
	return true;
}

void prove_ir_graph(struct ir *ir)
{
	forget_graph(ir);
	find_order(ir);
	find_preds(ir);
	find_dominators(ir);
	find_postdominators(ir);
	find_loops(ir);
	refuse_endless(ir);
}
