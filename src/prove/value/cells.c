/*
 * cells.c - what each block leaves in registers with several definitions and in private memory.
 *
 * A block has a row of pages of cells. A page that a block doesn't change is the page of the block
 * before it, so that a large kernel with many private cells costs what its blocks write, not blocks
 * times cells. A block writes into pages of its own, which it keeps for the next turn: whoever
 * shares them is entered again after it, in reverse post-order.
 *
 * Misses: a loop that leaves a page as it was compares it cell by cell.
 * Costs: 16 bytes for each page of each block, 1 KiB for each page that is written or merged.
 */
#include "prove/value/private.h"
#include "prove/work.h"

#include <string.h>

#define UNDEFINED 0x40000000u

static struct ev_page nothing; /* is never written */

/* Does the kernel draw numbers: has it additions whose answers are taken? */
static bool has_draws(const struct ir *ir)
{
	for (size_t i = 0; i < ir->steps.n; i++)
		if (ir->steps.v[i].kind == IR_ASSUME && ir->steps.v[i].imm == IR_ASSUME_TICKET)
			return true;
	return false;
}

const bool *prove_ev_find_open(struct ev *e)
{
	const struct ir *ir = e->ir;
	bool *is_open = BASE_NEWN(e->arena, bool, ir->width.n + 1);

	e->keeps_undefined = has_draws(ir);
	for (uint32_t i = 0; i < ir->nrpo && e->keeps_undefined; i++) {
		const struct ir_block *x = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = x->first; k < x->first + x->n; k++)
			for (unsigned s = 0; s < 3; s++) {
				uint32_t r = ir->steps.v[k].src[s];
				if (r != IR_NONE && ir->ndefs[r] == 1)
					is_open[r] |= !prove_ir_dominates(ir, ir->def_block[r],
									  ir->rpo[i]);
			}
	}
	return is_open;
}

void prove_ev_make_cells(struct ev *e)
{
	const struct ir *ir = e->ir;

	e->npages = e->ncells / EV_PAGE + 1;
	e->in = BASE_NEWN(e->arena, struct ev_row, ir->blocks.n + 1);
	e->out = BASE_NEWN(e->arena, struct ev_row, ir->blocks.n + 1);
	for (uint32_t i = 0; i < ir->nrpo + ir->nloops; i++) {
		struct ev_row *r =
			i < ir->nrpo ? &e->out[ir->rpo[i]] : &e->in[ir->loops[i - ir->nrpo].header];
		r->page = BASE_NEWN(e->arena, struct ev_page *, e->npages);
		r->own = BASE_NEWN(e->arena, struct ev_page *, e->npages);
		for (uint32_t k = 0; k < e->npages; k++)
			r->page[k] = &nothing;
	}
}

/* The row's own page k, with what it shares so far. */
static struct ev_page *own_page(struct ev *e, struct ev_row *r, uint32_t k)
{
	if (r->page[k] == r->own[k])
		return r->own[k];
	if (!r->own[k])
		r->own[k] = base_alloc(e->arena, sizeof(*r->own[k]));
	*r->own[k] = *r->page[k];
	return r->page[k] = r->own[k];
}

void prove_ev_set_cell(struct ev *e, uint32_t block, uint32_t cell, struct ev_cell v)
{
	own_page(e, &e->out[block], cell / EV_PAGE)->cell[cell % EV_PAGE] = v;
}

static bool is_back_edge(const struct ev *e, uint32_t from, uint32_t to)
{
	return e->ir->blocks.v[from].rpo >= e->ir->blocks.v[to].rpo;
}

/* Is no loop left on the way? Then values are the same on both sides. */
static bool stays(const struct ev *e, uint32_t from, uint32_t to)
{
	uint32_t l = e->ir->blocks.v[from].loop;

	return l == IR_NONE || prove_ir_in_loop(&e->ir->loops[l], to);
}

/* What a register holds that some way to a block didn't write, or of which nothing is known. */
static const struct ex *undefined(struct ev *e, uint32_t b, uint32_t cell)
{
	uint32_t r = e->reg_of_cell[cell];

	return prove_ev_fresh(e, b, b, UNDEFINED | r, e->ir->width.v[r]);
}

/* One cell where edges meet: its values, chosen by the edges' conditions. */
static struct ev_cell merge_cell(struct ev *e, uint32_t b, uint32_t cell,
				 const struct ex *const *conds)
{
	const struct ir_block *x = &e->ir->blocks.v[b];
	struct ev_cell r = {NULL, 0};
	bool first = true, is_kept = e->keeps_undefined && cell < e->nregcells;

	for (uint32_t k = 0; k < x->npred; k++) {
		uint32_t p = x->pred[k];
		if (is_back_edge(e, p, b))
			continue;
		struct ev_cell c = prove_ev_cell(&e->out[p], cell);
		c.v = prove_ev_leave(e, c.v, p, b);
		if (first)
			r = c;
		else if (c.v == r.v && c.at == r.at)
			continue;
		else if (is_kept)
			r.v = prove_ev_choose(e, conds[k], c.v ? c.v : undefined(e, b, cell),
					      r.v ? r.v : undefined(e, b, cell));
		else if (!c.v || !r.v || c.at != r.at || c.v->w != r.v->w)
			r = (struct ev_cell){NULL, 0};
		else
			r.v = prove_ev_choose(e, conds[k], c.v, r.v);
		first = false;
		if (!r.v && !is_kept)
			return r;
	}
	return r;
}

/* The page that all blocks before b leave; NULL: they differ, or b's loop changes a cell of it. */
static struct ev_page *common_page(struct ev *e, uint32_t b, uint32_t loop, uint32_t k)
{
	const struct ir_block *x = &e->ir->blocks.v[b];
	struct ev_page *all = NULL;

	for (uint32_t i = 0; i < x->npred; i++) {
		uint32_t p = x->pred[i];
		if (is_back_edge(e, p, b))
			continue;
		struct ev_page *page = e->out[p].page[k];
		if ((all && page != all) || (page != &nothing && !stays(e, p, b)))
			return NULL;
		all = page;
	}
	return loop != IR_NONE && prove_ev_changes_page(e, loop, k) ? NULL : all;
}

/* All cells of a page, from what the blocks before b leave. */
static void merge_page(struct ev *e, uint32_t b, uint32_t loop, uint32_t k,
		       const struct ex *const *conds)
{
	struct ev_page *own = own_page(e, loop == IR_NONE ? &e->out[b] : &e->in[b], k);

	work_add(WORK_CELL, EV_PAGE);
	for (uint32_t i = 0; i < EV_PAGE && k * EV_PAGE + i < e->ncells; i++) {
		struct ev_cell v = merge_cell(e, b, k * EV_PAGE + i, conds);
		own->cell[i] =
			loop == IR_NONE ? v : prove_ev_header_cell(e, loop, k * EV_PAGE + i, v);
	}
}

void prove_ev_enter(struct ev *e, uint32_t b)
{
	const struct ir_block *x = &e->ir->blocks.v[b];
	const struct ex **conds = BASE_NEWN(e->arena, const struct ex *, x->npred + 1);
	uint32_t loop = IR_NONE;

	for (uint32_t k = 0; k < x->npred; k++) {
		uint32_t p = x->pred[k];
		if (is_back_edge(e, p, b))
			continue;
		const struct ex *t =
			prove_ex_and(e->pool, prove_ev_path(e, x->idom, p), prove_ev_edge(e, p, b));
		conds[k] = prove_ev_leave(e, t, p, b);
	}
	for (uint32_t l = 0; l < e->ir->nloops; l++)
		if (e->ir->loops[l].header == b)
			loop = l;
	struct ev_row *r = loop == IR_NONE ? &e->out[b] : &e->in[b];
	work_add(WORK_CELL, e->npages);
	for (uint32_t k = 0; k < e->npages; k++) {
		struct ev_page *same = x->rpo ? common_page(e, b, loop, k) : &nothing;
		if (same)
			r->page[k] = same;
		else
			merge_page(e, b, loop, k, conds);
	}
	if (loop != IR_NONE)
		memcpy(e->out[b].page, r->page, e->npages * sizeof(*r->page));
}
