/*
 * define.c - what each state of HiRace's machine stands for, executable.
 *
 * The table isn't written by hand: generate.c runs through all histories of a small universe, asks
 * here for the state after each access, and finds that all histories of a state agree on the next
 * one. The names follow the published table, which keeps apart some states that no later verdict
 * can distinguish (BWSYNC from BSYNC, BSYNC-ATOM from BATOM).
 */
#include "hirace/define.h"

#define BIT(access) (1u << (access))
#define READS	    BIT(HIRACE_R)
#define PLAIN	    (BIT(HIRACE_R) | BIT(HIRACE_W))
#define ATOMICS	    (BIT(HIRACE_BA) | BIT(HIRACE_GA))

/* Reads never conflict; two atomics do if a scope doesn't reach the other thread (PTX 8.7.1). */
bool hirace_conflicts(enum hirace_access a, enum hirace_access b, bool is_same_block)
{
	if (a == HIRACE_R && b == HIRACE_R)
		return false;
	if (a >= HIRACE_BA && b >= HIRACE_BA)
		return !is_same_block && (a == HIRACE_BA || b == HIRACE_BA);
	return true;
}

static uint32_t conflicting(uint32_t kinds, enum hirace_access access,
			    enum hirace_relation relation)
{
	uint32_t found = 0;

	for (uint32_t k = 0; k < HIRACE_ACCESSES; k++)
		if (kinds & BIT(k) &&
		    hirace_conflicts((enum hirace_access)k, access, relation != HIRACE_GRID))
			found |= BIT(k);
	return found << 4 * relation;
}

static enum hirace_relation relation_of(uint32_t a, uint32_t b)
{
	if (a == b)
		return HIRACE_SELF;
	return a / 2 == b / 2 ? HIRACE_WARP : a / 4 == b / 4 ? HIRACE_BLOCK : HIRACE_GRID;
}

uint32_t hirace_history_races(const struct hirace_history *h, uint32_t thread,
			      enum hirace_access access)
{
	uint32_t found = 0;

	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		if (t != thread)
			found |= conflicting(h->thread[t], access, relation_of(t, thread));
	for (uint32_t w = 0; w < HIRACE_WARPS; w++)
		if (w != thread / 2)
			found |= conflicting(h->warp[w], access, relation_of(w * 2, thread));
	for (uint32_t b = 0; b < HIRACE_BLOCKS; b++)
		if (b != thread / 4)
			found |= conflicting(h->block[b], access, HIRACE_GRID);
	return found;
}

uint32_t hirace_history_ordered(const struct hirace_history *h, uint32_t thread,
				enum hirace_access access)
{
	return conflicting(h->thread[thread], access, HIRACE_SELF) |
	       conflicting(h->warp[thread / 2], access, HIRACE_WARP) |
	       conflicting(h->block[thread / 4], access, HIRACE_BLOCK);
}

/* Does an access of kind a conflict with all that each of `kinds` conflicts with? */
static bool conflicts_with_as_much(enum hirace_access a, uint32_t kinds)
{
	for (uint32_t k = 0; k < HIRACE_ACCESSES; k++)
		for (uint32_t other = 0; other < HIRACE_ACCESSES * 2 && kinds & BIT(k); other++) {
			enum hirace_access o = (enum hirace_access)(other / 2);

			if (hirace_conflicts((enum hirace_access)k, o, other & 1) &&
			    !hirace_conflicts(a, o, other & 1))
				return false;
		}
	return true;
}

/* What is ordered for a group of threads races outside it only. */
bool hirace_history_covers(const struct hirace_history *h, uint32_t thread,
			   enum hirace_access access)
{
	uint32_t inside = h->thread[thread] | h->warp[thread / 2] | h->block[thread / 4];

	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		if (t != thread && h->thread[t])
			return false;
	for (uint32_t w = 0; w < HIRACE_WARPS; w++)
		if (w != thread / 2 && h->warp[w])
			return false;
	for (uint32_t b = 0; b < HIRACE_BLOCKS; b++)
		if (b != thread / 4 && h->block[b])
			return false;
	return conflicts_with_as_much(access, inside);
}

void hirace_history_access(struct hirace_history *h, uint32_t thread, enum hirace_access access)
{
	h->thread[thread] |= (uint8_t)BIT(access);
}

void hirace_history_sync_warp(struct hirace_history *h, uint32_t warp)
{
	for (uint32_t t = warp * 2; t < warp * 2 + 2; t++) {
		h->warp[warp] |= h->thread[t];
		h->thread[t] = 0;
	}
}

void hirace_history_sync_block(struct hirace_history *h, uint32_t block)
{
	for (uint32_t w = block * 2; w < block * 2 + 2; w++) {
		hirace_history_sync_warp(h, w);
		h->block[block] |= h->warp[w];
		h->warp[w] = 0;
	}
}

/* The history as the last thread sees it: the kinds that others have made, by what orders them. */
struct view {
	uint32_t own;	   /* by the last thread, ordered for itself only */
	uint32_t lanes;	   /* by other lanes of its warp, not ordered for the warp */
	uint32_t warps;	   /* by other warps of its block, not ordered for the block */
	uint32_t blocks;   /* by other blocks, and nothing orders these */
	uint32_t in_warp;  /* of its warp, ordered for the warp */
	uint32_t in_block; /* of its block, ordered for the block */
};

static struct view look(const struct hirace_history *h, uint32_t last)
{
	struct view v = {.own = h->thread[last],
			 .in_warp = h->warp[last / 2],
			 .in_block = h->block[last / 4]};

	for (uint32_t t = 0; t < HIRACE_THREADS; t++)
		if (t / 2 == last / 2)
			v.lanes |= t == last ? 0 : h->thread[t];
		else if (t / 4 == last / 4)
			v.warps |= h->thread[t] | h->warp[t / 2];
		else
			v.blocks |= h->thread[t] | h->warp[t / 2] | h->block[t / 4];
	return v;
}

static enum hirace_state reads_only(const struct view *v)
{
	if (v->blocks)
		return HIRACE_GREAD;
	if (v->warps)
		return HIRACE_BREAD;
	return v->lanes ? HIRACE_WREAD : HIRACE_READ;
}

static enum hirace_state atomics_only(const struct view *v, bool is_any_block_scope)
{
	if (v->blocks)
		return HIRACE_GATOM_G;
	if (v->warps)
		return is_any_block_scope ? HIRACE_BATOM_B : HIRACE_GATOM_B;
	if (v->lanes)
		return is_any_block_scope ? HIRACE_BATOM_W : HIRACE_GATOM_W;
	return is_any_block_scope ? HIRACE_BATOM : HIRACE_GATOM;
}

/* A read after writes or atomics, all of which are ordered before it. */
static enum hirace_state read_last(const struct view *v)
{
	if (v->own & ~READS)
		return HIRACE_WRITE;
	if (v->in_warp & ~READS)
		return v->lanes ? HIRACE_MR_WSYNC : HIRACE_WSYNC;
	if (v->warps)
		return HIRACE_B_MR_BSYNC;
	if (v->lanes)
		return HIRACE_W_MR_BWSYNC;
	return v->in_warp ? HIRACE_BWSYNC : HIRACE_BSYNC;
}

/* An atomic after plain accesses, all of which are ordered before it. */
static enum hirace_state atomic_last(const struct view *v)
{
	if (v->own & PLAIN)
		return HIRACE_WRITE;
	if (v->in_warp & PLAIN)
		return v->lanes ? HIRACE_WSYNC_ATOM_M : HIRACE_WSYNC_ATOM;
	if (v->warps)
		return HIRACE_BSYNC_ATOM_B;
	return v->lanes ? HIRACE_BSYNC_ATOM_W : HIRACE_BSYNC_ATOM;
}

enum hirace_state hirace_history_state(const struct hirace_history *h, uint32_t last,
				       enum hirace_access access)
{
	struct view v = look(h, last);
	uint32_t all = v.own | v.lanes | v.warps | v.blocks | v.in_warp | v.in_block;

	if (!(all & ~READS))
		return reads_only(&v);
	if (!(all & ~ATOMICS))
		return atomics_only(&v, (all & BIT(HIRACE_BA)) != 0);
	if (access == HIRACE_W)
		return HIRACE_WRITE;
	return access == HIRACE_R ? read_last(&v) : atomic_last(&v);
}
