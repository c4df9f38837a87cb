/*
 * define.c - what each state of HiRace's machine stands for, executable.
 *
 * The table isn't written by hand: generate.c runs through all histories of a small universe, asks
 * here for the state after each access, and finds that all histories of a state agree on the next
 * one. The names follow the published table, which keeps apart some states that no later verdict
 * can distinguish (BWSYNC from BSYNC, BSYNC-ATOM from BATOM).
 */
#include "shadow/define.h"

#define BIT(access) (1u << (access))
#define READS	    BIT(SHADOW_R)
#define PLAIN	    (BIT(SHADOW_R) | BIT(SHADOW_W))
#define ATOMICS	    (BIT(SHADOW_BA) | BIT(SHADOW_GA))

/* Reads never conflict; two atomics do if a scope doesn't reach the other thread (PTX 8.7.1). */
bool shadow_conflicts(enum shadow_access a, enum shadow_access b, bool is_same_block)
{
	if (a == SHADOW_R && b == SHADOW_R)
		return false;
	if (a >= SHADOW_BA && b >= SHADOW_BA)
		return !is_same_block && (a == SHADOW_BA || b == SHADOW_BA);
	return true;
}

static uint32_t conflicting(uint32_t kinds, enum shadow_access access,
			    enum shadow_relation relation)
{
	uint32_t found = 0;

	for (uint32_t k = 0; k < SHADOW_ACCESSES; k++)
		if (kinds & BIT(k) &&
		    shadow_conflicts((enum shadow_access)k, access, relation != SHADOW_GRID))
			found |= BIT(k);
	return found << 4 * relation;
}

static enum shadow_relation relation_of(uint32_t a, uint32_t b)
{
	if (a == b)
		return SHADOW_SELF;
	return a / 2 == b / 2 ? SHADOW_WARP : a / 4 == b / 4 ? SHADOW_BLOCK : SHADOW_GRID;
}

uint32_t shadow_history_races(const struct shadow_history *h, uint32_t thread,
			      enum shadow_access access)
{
	uint32_t found = 0;

	for (uint32_t t = 0; t < SHADOW_THREADS; t++)
		if (t != thread)
			found |= conflicting(h->thread[t], access, relation_of(t, thread));
	for (uint32_t w = 0; w < SHADOW_WARPS; w++)
		if (w != thread / 2)
			found |= conflicting(h->warp[w], access, relation_of(w * 2, thread));
	for (uint32_t b = 0; b < SHADOW_BLOCKS; b++)
		if (b != thread / 4)
			found |= conflicting(h->block[b], access, SHADOW_GRID);
	return found;
}

uint32_t shadow_history_ordered(const struct shadow_history *h, uint32_t thread,
				enum shadow_access access)
{
	return conflicting(h->thread[thread], access, SHADOW_SELF) |
	       conflicting(h->warp[thread / 2], access, SHADOW_WARP) |
	       conflicting(h->block[thread / 4], access, SHADOW_BLOCK);
}

/* Does an access of kind a conflict with all that each of `kinds` conflicts with? */
static bool conflicts_with_as_much(enum shadow_access a, uint32_t kinds)
{
	for (uint32_t k = 0; k < SHADOW_ACCESSES; k++)
		for (uint32_t other = 0; other < SHADOW_ACCESSES * 2 && kinds & BIT(k); other++) {
			enum shadow_access o = (enum shadow_access)(other / 2);

			if (shadow_conflicts((enum shadow_access)k, o, other & 1) &&
			    !shadow_conflicts(a, o, other & 1))
				return false;
		}
	return true;
}

/* What is ordered for a group of threads races outside it only. */
bool shadow_history_covers(const struct shadow_history *h, uint32_t thread,
			   enum shadow_access access)
{
	uint32_t inside = h->thread[thread] | h->warp[thread / 2] | h->block[thread / 4];

	for (uint32_t t = 0; t < SHADOW_THREADS; t++)
		if (t != thread && h->thread[t])
			return false;
	for (uint32_t w = 0; w < SHADOW_WARPS; w++)
		if (w != thread / 2 && h->warp[w])
			return false;
	for (uint32_t b = 0; b < SHADOW_BLOCKS; b++)
		if (b != thread / 4 && h->block[b])
			return false;
	return conflicts_with_as_much(access, inside);
}

void shadow_history_access(struct shadow_history *h, uint32_t thread, enum shadow_access access)
{
	h->thread[thread] |= (uint8_t)BIT(access);
}

void shadow_history_sync_warp(struct shadow_history *h, uint32_t warp)
{
	for (uint32_t t = warp * 2; t < warp * 2 + 2; t++) {
		h->warp[warp] |= h->thread[t];
		h->thread[t] = 0;
	}
}

void shadow_history_sync_block(struct shadow_history *h, uint32_t block)
{
	for (uint32_t w = block * 2; w < block * 2 + 2; w++) {
		shadow_history_sync_warp(h, w);
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

static struct view look(const struct shadow_history *h, uint32_t last)
{
	struct view v = {.own = h->thread[last],
			 .in_warp = h->warp[last / 2],
			 .in_block = h->block[last / 4]};

	for (uint32_t t = 0; t < SHADOW_THREADS; t++)
		if (t / 2 == last / 2)
			v.lanes |= t == last ? 0 : h->thread[t];
		else if (t / 4 == last / 4)
			v.warps |= h->thread[t] | h->warp[t / 2];
		else
			v.blocks |= h->thread[t] | h->warp[t / 2] | h->block[t / 4];
	return v;
}

static enum shadow_state reads_only(const struct view *v)
{
	if (v->blocks)
		return SHADOW_GREAD;
	if (v->warps)
		return SHADOW_BREAD;
	return v->lanes ? SHADOW_WREAD : SHADOW_READ;
}

static enum shadow_state atomics_only(const struct view *v, bool is_any_block_scope)
{
	if (v->blocks)
		return SHADOW_GATOM_G;
	if (v->warps)
		return is_any_block_scope ? SHADOW_BATOM_B : SHADOW_GATOM_B;
	if (v->lanes)
		return is_any_block_scope ? SHADOW_BATOM_W : SHADOW_GATOM_W;
	return is_any_block_scope ? SHADOW_BATOM : SHADOW_GATOM;
}

/* A read behind writes or atomics, all of which are ordered before it. */
static enum shadow_state read_last(const struct view *v)
{
	if (v->own & ~READS)
		return SHADOW_WRITE;
	if (v->in_warp & ~READS)
		return v->lanes ? SHADOW_MR_WSYNC : SHADOW_WSYNC;
	if (v->warps)
		return SHADOW_B_MR_BSYNC;
	if (v->lanes)
		return SHADOW_W_MR_BWSYNC;
	return v->in_warp ? SHADOW_BWSYNC : SHADOW_BSYNC;
}

/* An atomic behind plain accesses, all of which are ordered before it. */
static enum shadow_state atomic_last(const struct view *v)
{
	if (v->own & PLAIN)
		return SHADOW_WRITE;
	if (v->in_warp & PLAIN)
		return v->lanes ? SHADOW_WSYNC_ATOM_M : SHADOW_WSYNC_ATOM;
	if (v->warps)
		return SHADOW_BSYNC_ATOM_B;
	return v->lanes ? SHADOW_BSYNC_ATOM_W : SHADOW_BSYNC_ATOM;
}

enum shadow_state shadow_history_state(const struct shadow_history *h, uint32_t last,
				       enum shadow_access access)
{
	struct view v = look(h, last);
	uint32_t all = v.own | v.lanes | v.warps | v.blocks | v.in_warp | v.in_block;

	if (!(all & ~READS))
		return reads_only(&v);
	if (!(all & ~ATOMICS))
		return atomics_only(&v, (all & BIT(SHADOW_BA)) != 0);
	if (access == SHADOW_W)
		return SHADOW_WRITE;
	return access == SHADOW_R ? read_last(&v) : atomic_last(&v);
}
