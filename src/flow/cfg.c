/*
 * cfg.c - blocks, edges, dominators, post-dominators and loop depth.
 *
 * Two walks over the body: the first counts blocks and numbers statements, the
 * second cuts them; edges are counted, then filled into two flat arrays.
 * Dominators follow Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm" (2001), on the graph and on its reverse with one virtual exit;
 * questions are answered in O(1) from intervals over the trees. All walks keep
 * their own stacks, so nesting costs memory and no C stack.
 *
 * A block from which no exit can be reached (an endless loop) post-dominates
 * nothing and is post-dominated by nothing but itself. A call of a function
 * that never returns is taken to return.
 * Costs: near-linear; the square where loops with several entries are nested.
 */
#include "flow/priv.h"

#include <stdlib.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------ */

static bool ends_block(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && (s->form->effects & (PTX_EFF_BRANCH | PTX_EFF_EXIT));
}

/* A label opens a block unless only labels and declarations came before it in this one. */
static void cut_blocks(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	uint32_t nstmts = 0, nblocks = 1;

	ptx_each_stmt(fl->f, s)
	{
		nstmts++;
		nblocks += s->kind == PTX_STMT_LABEL || ends_block(s);
	}
	pr->nstmts = nstmts;
	pr->stmt = base_alloc(fl->arena, sizeof(*pr->stmt) * (nstmts + 1u));
	pr->start = base_alloc(fl->arena, sizeof(*pr->start) * (nblocks + 1u));
	fl->blocks = BASE_NEWN(fl->arena, struct flow_block, nblocks);

	uint32_t n = 0, b = 0;
	bool has_inst = false, is_ended = false;
	pr->start[0] = 0;
	ptx_each_stmt(fl->f, s)
	{
		if (is_ended || (s->kind == PTX_STMT_LABEL && has_inst)) {
			pr->start[++b] = n;
			has_inst = false;
		}
		is_ended = ends_block(s);
		has_inst |= s->kind == PTX_STMT_INST;
		s->mark = b;
		pr->stmt[n++] = s;
	}
	fl->nblocks = b + 1;
	pr->start[fl->nblocks] = n;
	for (uint32_t i = 0; i < fl->nblocks; i++) {
		struct flow_block *bl = &fl->blocks[i];
		*bl = (struct flow_block){
			.id = i, .rpo = FLOW_NONE, .idom = FLOW_NONE, .ipdom = FLOW_NONE};
		if (pr->start[i] < pr->start[i + 1]) {
			bl->first = pr->stmt[pr->start[i]];
			bl->last = pr->stmt[pr->start[i + 1] - 1];
		}
	}
}

/* ---- edges --------------------------------------------------------------------- */

typedef void edge_fn(struct flow *fl, uint32_t from, uint32_t to, void *arg);

/* The .branchtargets list that a branch names, or NULL. */
static const struct ptx_stmt *branch_list(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++) {
		const struct ptx_label *l = flow_label_of(&s->ops[i]);
		if (l && l->at && l->at->kind == PTX_STMT_TARGETS)
			return l->at;
	}
	return NULL;
}

static void each_target(struct flow *fl, const struct ptx_stmt *s, uint32_t b, edge_fn *fn,
			void *arg)
{
	const struct ptx_label *one = ptx_target(s);
	if (one && one->at && one->at->kind == PTX_STMT_LABEL) {
		fn(fl, b, one->at->mark, arg);
		return;
	}
	const struct ptx_stmt *list = branch_list(s);
	if (list) {
		for (uint32_t i = 0; i < list->ntargets; i++) {
			const struct ptx_label *l = flow_label_of(&list->targets[i]);
			if (l && l->at)
				fn(fl, b, l->at->mark, arg);
		}
		return;
	}
	for (uint32_t i = 0; i < fl->priv->nstmts; i++) /* the targets are not known: any label */
		if (fl->priv->stmt[i]->kind == PTX_STMT_LABEL)
			fn(fl, b, fl->priv->stmt[i]->mark, arg);
}

static void each_edge(struct flow *fl, edge_fn *fn, void *arg)
{
	for (uint32_t b = 0; b < fl->nblocks; b++) {
		const struct ptx_stmt *s = fl->blocks[b].last;
		bool falls = true;
		if (s && s->kind == PTX_STMT_INST) {
			if (s->form->effects & PTX_EFF_BRANCH)
				each_target(fl, s, b, fn, arg);
			else if (s->form->effects & PTX_EFF_EXIT)
				fl->blocks[b].exits = true;
			falls = !ends_block(s) || s->pred != PTX_NO_REG;
		}
		if (falls && b + 1 < fl->nblocks)
			fn(fl, b, b + 1, arg);
		else if (falls)
			fl->blocks[b].exits = true; /* off the end of the body: a return */
	}
}

static void count_edge(struct flow *fl, uint32_t from, uint32_t to, void *arg)
{
	fl->blocks[from].nsucc++;
	fl->blocks[to].npred++;
	++*(uint32_t *)arg;
}

static void fill_edge(struct flow *fl, uint32_t from, uint32_t to, void *arg)
{
	(void)arg;
	struct flow_block *a = &fl->blocks[from], *b = &fl->blocks[to];
	for (uint32_t i = 0; i < a->nsucc; i++)
		if (a->succ[i] == to && a->nsucc < 8)
			return; /* both edges of a branch lead to the same block */
	a->succ[a->nsucc++] = to;
	b->pred[b->npred++] = from;
}

static void make_edges(struct flow *fl)
{
	uint32_t n = 0;
	each_edge(fl, count_edge, &n);
	uint32_t *succ = base_alloc(fl->arena, sizeof(*succ) * 2 * (n + 1u));
	uint32_t *pred = succ + n;
	for (uint32_t b = 0; b < fl->nblocks; b++) {
		struct flow_block *bl = &fl->blocks[b];
		bl->succ = succ;
		bl->pred = pred;
		succ += bl->nsucc;
		pred += bl->npred;
		bl->nsucc = bl->npred = 0;
	}
	each_edge(fl, fill_edge, NULL);
}

/* ---- orders ---------------------------------------------------------------------- */

/* Post-order from the entry; rpo[] and each block's place in it follow. */
static void number_blocks(struct flow *fl, uint32_t *stack)
{
	uint32_t *next = base_calloc(fl->nblocks, sizeof(*next));
	uint32_t sp = 0, left = fl->nblocks;

	fl->rpo = base_alloc(fl->arena, sizeof(*fl->rpo) * (fl->nblocks + 1u));
	stack[sp++] = 0;
	fl->blocks[0].rpo = 0; /* any number: seen */
	while (sp) {
		struct flow_block *b = &fl->blocks[stack[sp - 1]];
		if (next[b->id] < b->nsucc) {
			struct flow_block *t = &fl->blocks[b->succ[next[b->id]++]];
			if (t->rpo == FLOW_NONE) {
				t->rpo = 0;
				stack[sp++] = t->id;
			}
			continue;
		}
		fl->rpo[--left] = b->id;
		sp--;
	}
	fl->nrpo = fl->nblocks - left;
	memmove(fl->rpo, fl->rpo + left, sizeof(*fl->rpo) * fl->nrpo);
	for (uint32_t i = 0; i < fl->nrpo; i++)
		fl->blocks[fl->rpo[i]].rpo = i;
	free(next);
}

/* Post-order of the reversed graph from all exits; fills order[1..] (reversed, place 0 is the
 * virtual exit) and num[]; returns the count with the virtual exit. */
static uint32_t number_reverse(struct flow *fl, uint32_t *order, uint32_t *num, uint32_t *stack)
{
	uint32_t nb = fl->nblocks, left = nb + 1;
	uint32_t *next = base_calloc(nb, sizeof(*next));

	for (uint32_t root = 0; root < nb; root++) {
		uint32_t sp = 0;
		if (!fl->blocks[root].exits || fl->blocks[root].can_exit)
			continue;
		fl->blocks[root].can_exit = true;
		stack[sp++] = root;
		while (sp) {
			struct flow_block *b = &fl->blocks[stack[sp - 1]];
			if (next[b->id] == b->npred) {
				order[--left] = b->id;
				sp--;
				continue;
			}
			struct flow_block *t = &fl->blocks[b->pred[next[b->id]++]];
			if (!t->can_exit) {
				t->can_exit = true;
				stack[sp++] = t->id;
			}
		}
	}
	order[--left] = nb;
	uint32_t n = nb + 1 - left;
	memmove(order, order + left, sizeof(*order) * n);
	for (uint32_t i = 0; i < n; i++)
		num[order[i]] = i;
	free(next);
	return n;
}

/* ---- dominators ------------------------------------------------------------------- */

/* The nearest common ancestor of two nodes, all by their places in the order. */
static uint32_t common(const uint32_t *dom, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (a > b)
			a = dom[a];
		while (b > a)
			b = dom[b];
	}
	return a;
}

/* Intervals [in, out) of the tree's nodes, by place; parents come before children. */
static void number_tree(const uint32_t *dom, uint32_t n, uint32_t *in, uint32_t *out)
{
	uint32_t *size = base_calloc(n + 1u, sizeof(*size));
	for (uint32_t i = n; i-- > 1;)
		size[dom[i]] += ++size[i];
	in[0] = 0;
	out[0] = 1; /* next free number below this node, until the end */
	for (uint32_t i = 1; i < n; i++) {
		in[i] = out[dom[i]];
		out[dom[i]] += size[i];
		out[i] = in[i] + 1;
	}
	free(size);
}

/* One pass over the edges, or over those alone that lead on in the order. Has a dominator changed?
 */
static bool pass(uint32_t n, const uint32_t *first, const uint32_t *from, bool is_forward,
		 uint32_t *dom)
{
	bool is_changed = false;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t d = FLOW_NONE;
		for (uint32_t k = first[i]; k < first[i + 1]; k++) {
			uint32_t p = from[k];
			if (dom[p] != FLOW_NONE && (p < i || !is_forward))
				d = d == FLOW_NONE ? p : common(dom, p, d);
		}
		is_changed |= d != dom[i];
		dom[i] = d;
	}
	return is_changed;
}

/* Does each edge that leads back come from a node that its target dominates? Then the edges that
 * lead on decide all: a path that takes such an edge has passed its target before. */
static bool is_reducible(uint32_t n, const uint32_t *first, const uint32_t *from,
			 const uint32_t *dom)
{
	uint32_t *in = base_malloc(sizeof(*in) * 2 * (n + 1u)), *out = in + n + 1;
	bool is = true;

	for (uint32_t i = 1; i < n && is; i++)
		is = dom[i] != FLOW_NONE;
	if (is)
		number_tree(dom, n, in, out);
	for (uint32_t i = 0; i < n && is; i++)
		for (uint32_t k = first[i]; k < first[i + 1]; k++)
			is &= from[k] < i || (in[i] <= in[from[k]] && out[from[k]] <= out[i]);
	free(in);
	return is;
}

/* Until nothing changes, where there are loops of several entries: a walk up the tree for each edge
 * that leads back would cost the square of nested loops. */
void flow_find_dominators(uint32_t n, const uint32_t *first, const uint32_t *from, uint32_t *dom)
{
	for (uint32_t i = 0; i < n; i++)
		dom[i] = i ? FLOW_NONE : 0;
	pass(n, first, from, true, dom);
	if (is_reducible(n, first, from, dom))
		return;
	while (pass(n, first, from, false, dom))
		;
}

/* The edges into the blocks of an order, by their places; backward: from the end, which is place 0,
 * to where control leaves the function. */
static void find_dominators(const struct flow *fl, const uint32_t *order, const uint32_t *num,
			    uint32_t n, bool is_backward, uint32_t *dom)
{
	uint32_t edges = n;

	for (uint32_t i = 0; i < fl->nblocks; i++)
		edges += fl->blocks[i].nsucc;
	uint32_t *first = base_malloc(sizeof(*first) * (n + 1u + edges)), *from = first + n + 1;
	uint32_t used = 0;
	for (uint32_t i = 0; i < n; i++) {
		first[i] = used;
		if (!i)
			continue;
		const struct flow_block *b = &fl->blocks[order[i]];
		uint32_t count = is_backward ? b->nsucc : b->npred;
		if (is_backward && b->exits)
			from[used++] = 0;
		for (uint32_t k = 0; k < count; k++) {
			uint32_t p = num[is_backward ? b->succ[k] : b->pred[k]];
			if (p != FLOW_NONE)
				from[used++] = p;
		}
	}
	first[n] = used;
	flow_find_dominators(n, first, from, dom);
	free(first);
}

static void make_dominators(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	uint32_t nb = fl->nblocks;
	uint32_t *tmp = base_malloc(sizeof(*tmp) * 6 * (nb + 2u));
	uint32_t *dom = tmp, *in = dom + nb + 2, *out = in + nb + 2, *stack = out + nb + 2;
	uint32_t *order = stack + nb + 2, *num = order + nb + 2;
	uint32_t *keep = base_alloc(fl->arena, sizeof(*keep) * 4 * nb);

	memset(keep, 0, sizeof(*keep) * 4 * nb);
	pr->dom_in = keep;
	pr->dom_out = keep + nb;
	pr->pdom_in = keep + 2 * (size_t)nb;
	pr->pdom_out = keep + 3 * (size_t)nb;

	number_blocks(fl, stack);
	for (uint32_t b = 0; b < nb; b++)
		num[b] = fl->blocks[b].rpo;
	find_dominators(fl, fl->rpo, num, fl->nrpo, false, dom);
	number_tree(dom, fl->nrpo, in, out);
	for (uint32_t i = 0; i < fl->nrpo; i++) {
		uint32_t b = fl->rpo[i];
		fl->blocks[b].idom = i ? fl->rpo[dom[i]] : FLOW_NONE;
		pr->dom_in[b] = in[i];
		pr->dom_out[b] = out[i];
	}

	memset(num, 0xff, sizeof(*num) * (nb + 1u));
	uint32_t n = number_reverse(fl, order, num, stack);
	find_dominators(fl, order, num, n, true, dom);
	number_tree(dom, n, in, out);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t b = order[i];
		fl->blocks[b].ipdom = dom[i] ? order[dom[i]] : FLOW_NONE;
		pr->pdom_in[b] = in[i];
		pr->pdom_out[b] = out[i];
	}
	free(tmp);
}

/* The innermost loop that has been found around a block, by its header; itself: none yet. */
static uint32_t find_loop(uint32_t *in, uint32_t b)
{
	while (in[b] != b) {
		in[b] = in[in[b]];
		b = in[b];
	}
	return b;
}

/* From each header a walk back from its latches, inner loops first, which are one node from then
 * on: two natural loops of different headers are nested or have no block in common. */
static void find_loops(struct flow *fl, uint32_t *around, bool *is_header)
{
	uint32_t *stack = base_malloc(sizeof(*stack) * 2 * (fl->nblocks + 1u));
	uint32_t *in = stack + fl->nblocks + 1;

	for (uint32_t b = 0; b < fl->nblocks; b++)
		in[b] = b;
	for (uint32_t i = fl->nrpo; i-- > 0;) {
		uint32_t h = fl->rpo[i], at = h, sp = 0;
		for (bool is_first = true; is_first || sp; is_first = false) {
			at = is_first ? h : stack[--sp];
			for (uint32_t k = 0; k < fl->blocks[at].npred; k++) {
				uint32_t p = fl->blocks[at].pred[k], r = find_loop(in, p);
				if (fl->blocks[p].rpo == FLOW_NONE ||
				    (is_first && !flow_dominates(fl, h, p)))
					continue;
				is_header[h] = true;
				if (r == h)
					continue;
				in[r] = around[r] = h;
				stack[sp++] = r;
			}
		}
	}
	free(stack);
}

/* The loops that each block is in. */
static void count_loops(struct flow *fl)
{
	uint32_t *around = base_malloc(sizeof(*around) * (fl->nblocks + 1u));
	bool *is_header = base_calloc(fl->nblocks + 1u, sizeof(*is_header));

	memset(around, 0xff, sizeof(*around) * (fl->nblocks + 1u));
	find_loops(fl, around, is_header);
	for (uint32_t i = 0; i < fl->nrpo; i++) {
		uint32_t b = fl->rpo[i];
		fl->blocks[b].loop = is_header[b];
		if (around[b] != FLOW_NONE)
			fl->blocks[b].loop += fl->blocks[around[b]].loop;
	}
	free(around);
	free(is_header);
}

/* ---- places ------------------------------------------------------------------------- */

static int compare_spots(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct flow_spot *)a)->s;
	uintptr_t y = (uintptr_t)((const struct flow_spot *)b)->s;
	return (x > y) - (x < y);
}

/* All statements by address, for those that are not in text order in the arena's chunks. */
static uint32_t look_up_spot(const struct flow *fl, const struct ptx_stmt *s)
{
	struct flow_priv *pr = fl->priv;
	if (!pr->spots) {
		pr->spots = base_alloc(fl->arena, sizeof(*pr->spots) * (pr->nstmts + 1u));
		for (uint32_t i = 0; i < pr->nstmts; i++)
			pr->spots[i] = (struct flow_spot){pr->stmt[i], i};
		qsort(pr->spots, pr->nstmts, sizeof(*pr->spots), compare_spots);
	}
	struct flow_spot key = {s, 0};
	struct flow_spot *found = bsearch(&key, pr->spots, pr->nstmts, sizeof(key), compare_spots);
	return found ? found->at : FLOW_NONE;
}

/* The place of a statement that flow_build saw. The statements of a block mostly lie in the
 * arena in text order, so that a search by address finds most without the index. */
uint32_t flow_place(const struct flow *fl, const struct ptx_stmt *s)
{
	const struct flow_priv *pr = fl->priv;
	if (s->mark >= fl->nblocks)
		return FLOW_NONE;
	uint32_t lo = pr->start[s->mark], hi = pr->start[s->mark + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (pr->stmt[mid] == s)
			return mid;
		if ((uintptr_t)pr->stmt[mid] < (uintptr_t)s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return look_up_spot(fl, s);
}

/* ======================================================================== */

struct flow *flow_build(struct base_arena *arena, struct ptx_module *m, struct ptx_func *f)
{
	struct flow *fl = BASE_NEW(arena, struct flow);
	fl->arena = arena;
	fl->m = m;
	fl->f = f;
	fl->priv = BASE_NEW(arena, struct flow_priv);
	fl->priv->nregs = f->nregs;
	cut_blocks(fl);
	make_edges(fl);
	make_dominators(fl);
	count_loops(fl);
	return fl;
}

/* Does every path from the entry to b pass a? False where either can't be reached. */
bool flow_dominates(const struct flow *fl, uint32_t a, uint32_t b)
{
	const struct flow_priv *pr = fl->priv;
	return fl->blocks[a].rpo != FLOW_NONE && fl->blocks[b].rpo != FLOW_NONE &&
	       pr->dom_in[a] <= pr->dom_in[b] && pr->dom_out[b] <= pr->dom_out[a];
}

/* Does every path from b to an exit pass a? False where either has no way to an exit. */
bool flow_postdominates(const struct flow *fl, uint32_t a, uint32_t b)
{
	const struct flow_priv *pr = fl->priv;
	return fl->blocks[a].can_exit && fl->blocks[b].can_exit &&
	       pr->pdom_in[a] <= pr->pdom_in[b] && pr->pdom_out[b] <= pr->pdom_out[a];
}
